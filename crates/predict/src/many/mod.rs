//! A model on several devices, beside a host's memory, or for many users. The formulas are those of the contracts
//! `parallel-v1`, `collective-v1`, `offload-v1`, `serving-v1`, `speculation-v1` and `cost-v1`; the amounts that they share out
//! are those of `transformer-v1`. This module puts devices and layouts into their inputs.
//!
//! A ceiling takes messages to be hidden behind reading and arithmetic, an estimate takes them to follow. Queues,
//! schedulers and the tails of latency are in neither.

mod layout;
mod offload;
mod performance;
mod report;
mod serve;
mod set;
mod speculative;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::predict::Stored;
use roofline_formulas::transformer::Inputs;
use roofline_formulas::{
    collective, cost, offload as offloading, parallel, serving, speculation, transformer,
};

pub use layout::{Fixed, Layout};
pub use offload::{Held, Offload, Offloaded, offload};
pub use performance::{Phase, Reached, StageShare, reach};
pub use report::{Plan, Row, Way};
pub use serve::{Served, Users, serve};
pub use set::{Group, MOST_DEVICES, Set};
pub use speculative::{Draft, Drafting};

/// What a model is asked to do, and the sizes that messages and stages have.
#[derive(Clone, Debug)]
pub struct Work {
    /// Its dimensions and the work, as `transformer-v1` takes them.
    pub inputs: Inputs,
    /// How its numbers are stored.
    pub stored: Stored,
    /// Numbers that a layer hands on for a token; 0 where it is not known, and messages take no time.
    pub hidden: f64,
    /// Layers; 1 where it is not known, and nothing is dealt out by them.
    pub layers: f64,
    /// Attention heads, which no more devices than these can share; 0 where it is not known.
    pub heads: u64,
    /// Fixed cost of a message in an estimate, in µs.
    pub start: f64,
}

/// A figure outside of what a contract takes.
#[derive(Clone, Debug, PartialEq)]
pub struct ManyError(pub String);

impl fmt::Display for ManyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ManyError {}

macro_rules! from_contracts {
    ($($contract:ident),*) => {
        $(
            impl From<$contract::OutOfDomain> for ManyError {
                fn from(error: $contract::OutOfDomain) -> Self {
                    ManyError(error.to_string())
                }
            }
        )*
    };
}

from_contracts!(collective, cost, offloading, parallel, serving, speculation, transformer);
