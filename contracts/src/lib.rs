//! Performance models written once, as YAML contracts, and the compiler that reads them.

pub mod contract;
pub mod domain;
pub mod eval;
pub mod formula;
pub mod graph;
pub mod report;
pub mod source;
pub mod suggest;
pub mod unit;
