//! How fast can this model go on this machine, what holds it back, and how far is the code from
//! that ceiling?

#[cfg(feature = "models")]
pub mod bench;
#[cfg(feature = "models")]
pub mod chart;
pub mod contracts;
#[cfg(feature = "models")]
pub mod device;
#[cfg(feature = "models")]
mod document;
pub mod isa;
pub mod kernels;
#[cfg(feature = "models")]
pub mod model;
#[cfg(feature = "models")]
mod number;
#[cfg(feature = "models")]
pub mod peaks;
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
