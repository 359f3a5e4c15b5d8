//! Support for tests and benchmarks: model files built in memory or described in YAML, scratch directories, transcripts of
//! commands, and an allocator that measures peak memory.

#![allow(missing_docs, reason = "test support")]

#[cfg(feature = "transcripts")]
pub mod file;
#[cfg(feature = "transcripts")]
mod filter;
pub mod graph;
pub mod memory;
#[cfg(feature = "transcripts")]
pub mod network;
pub mod scratch;
#[cfg(feature = "models")]
pub mod small;
#[cfg(feature = "transcripts")]
pub mod transcript;
#[cfg(feature = "models")]
pub mod writer;
