//! Properties of the translation: the generated function of an equation is bit-identical to the graph that proofs and the
//! interpreter use. `build.rs` generates them from the graphs of the small contracts.
#![allow(clippy::excessive_precision, clippy::double_parens, reason = "generated code")]

use crate::values::Values;

include!(concat!(env!("OUT_DIR"), "/translation.rs"));
