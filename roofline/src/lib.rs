//! How fast can this model go on this machine, what holds it back, and how far is the code from
//! that ceiling?

// Contracts are proven for IEEE-754 double precision; on the x87 numbers are rounded twice.
#[cfg(all(target_arch = "x86", not(target_feature = "sse2")))]
compile_error!("f64 is not IEEE-754 double precision on this target: build for one with SSE2");

#[cfg(feature = "models")]
pub mod bench;
#[cfg(feature = "models")]
pub mod chart;
#[cfg(feature = "models")]
pub mod choose;
pub mod contracts;
#[cfg(feature = "models")]
mod csv;
#[cfg(feature = "models")]
pub mod device;
#[cfg(feature = "models")]
mod document;
pub mod isa;
pub mod kernels;
#[cfg(feature = "models")]
pub mod many;
#[cfg(feature = "models")]
pub mod model;
#[cfg(feature = "models")]
mod number;
#[cfg(feature = "models")]
pub mod paired;
#[cfg(feature = "models")]
pub mod peaks;
#[cfg(feature = "models")]
pub mod points;
#[cfg(feature = "models")]
pub mod predict;
#[cfg(feature = "models")]
pub mod profile;
#[cfg(feature = "program")]
pub mod program;
#[cfg(feature = "models")]
pub mod record;
#[cfg(feature = "models")]
pub mod report;
#[cfg(feature = "models")]
mod text;
#[cfg(feature = "models")]
pub mod word;
#[cfg(feature = "models")]
mod written;

pub use roofline_macros::roofline_contract;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
