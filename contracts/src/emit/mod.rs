//! Code generation from a checked contract. It cannot fail and is deterministic: a contract yields identical text on
//! every run.

pub mod javascript;
pub mod kani;
pub mod rust;
pub mod types;
mod units;
