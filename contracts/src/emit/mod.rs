//! From a checked contract to other languages. Nothing here can fail, and nothing depends on hashing: the same
//! contract gives the same text on every run.

pub mod javascript;
pub mod kani;
pub mod rust;
pub mod types;
mod units;
