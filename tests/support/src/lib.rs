//! Shared by the tests and benchmarks of the workspace: model files made in memory, directories for them, and an allocator
//! that counts.

#![allow(missing_docs, reason = "test support")]

pub mod graph;
pub mod memory;
pub mod scratch;
#[cfg(feature = "models")]
pub mod small;
#[cfg(feature = "models")]
pub mod writer;
