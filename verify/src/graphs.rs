//! Properties of the translation: the function of an equation, which is written from its formula, gives the bits of
//! the graph that proofs and interpreter read. `build.rs` writes them from the graphs of the small contracts.
#![allow(clippy::excessive_precision, clippy::double_parens, reason = "written by a program")]

use crate::values::Values;

include!(concat!(env!("OUT_DIR"), "/graphs.rs"));
