#![doc = include_str!("../LANGUAGE.md")]

#[cfg(feature = "authoring")]
pub mod authoring;
pub mod certify;
pub mod check;
mod compile;
pub mod condition;
pub mod contract;
pub mod domain;
pub mod emit;
pub mod eval;
pub mod fingerprint;
pub mod formula;
pub mod graph;
pub mod library;

pub mod names;
mod number;
pub mod prove;
pub mod range;
pub mod report;
pub mod sample;
pub mod schema;
pub mod source;
pub mod suggest;
pub mod types;
pub mod unit;
pub mod yaml;

pub use compile::{Compiled, Compiler, check_from, check_in, check_on_proven, compile, compile_in, recheck};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
