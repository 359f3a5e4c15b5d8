//! How fast can this model run on this machine, what is the bottleneck, and how close is the code to the limit?
//!
//! A facade: the crates below `crates/` do the work. Without default features it is the macro, the shipped contracts and
//! the kernels; the feature `models` adds model files, predictions and charts; `cli`, the default, the command line.

#[cfg(feature = "cli")]
pub mod cli;

pub use roofline_formulas as contracts;
pub use roofline_kernels::{self as kernels, isa};
#[cfg(feature = "models")]
pub use {
    roofline_machine::{self as machine, bench},
    roofline_models as model,
    roofline_predict::{choose, device, evidence, import, metric, parallel, predict, profile},
    roofline_render::{chart, reference, report, vocabulary},
};

pub use roofline_macros::roofline_contract;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
