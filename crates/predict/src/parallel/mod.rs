//! Models on several devices, with host offload, and for many users.
//!
//! The formulas are those of the contracts `parallel-v1`, `collective-v1`, `offload-v1`, `serving-v1`, `speculation-v1` and
//! `cost-v1`, with the totals of `transformer-v1`.
//!
//! Ceilings assume that communication overlaps with memory traffic and arithmetic, ideal figures that it does not. Neither
//! models queueing, scheduling or tail latency.

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

use crate::predict::WeightPrecision;
use roofline_formulas::transformer::Inputs;
use roofline_formulas::{
    collective, cost, offload as offloading, parallel, serving, speculation, transformer,
};

pub use layout::{Layout, LayoutConstraints};
pub use offload::{Offload, OffloadPerformance, Placement, offload};
pub use performance::{LayoutPerformance, Phase, StageShare, reach};
pub use report::{Alternative, Plan, Row};
pub use serve::{ServingPerformance, Users, serve};
pub use set::{DeviceSet, Group, MAX_DEVICES};
pub use speculative::{DraftModel, SpeculativeDecoding};

/// Model and workload, with the sizes that determine messages and stages.
#[derive(Clone, Debug)]
pub struct Work {
    /// Dimensions and workload, as inputs of `transformer-v1`.
    pub inputs: Inputs,
    /// Element types of the weights and the cache.
    pub stored: WeightPrecision,
    /// Hidden size; 0 if unknown, in which case messages take no time.
    pub hidden: f64,
    /// Number of layers; 1 if unknown, which excludes pipeline parallelism.
    pub layers: f64,
    /// Attention heads, an upper bound for tensor parallelism; 0 if unknown.
    pub heads: u64,
    /// Latency of a message in ideal figures, in µs.
    pub start: f64,
}

/// An input is outside a contract's domain, or no layout exists.
#[derive(Clone, Debug, PartialEq)]
pub struct ParallelError(pub String);

impl fmt::Display for ParallelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParallelError {}

macro_rules! from_contracts {
    ($($contract:ident),*) => {
        $(
            impl From<$contract::OutOfDomain> for ParallelError {
                fn from(error: $contract::OutOfDomain) -> Self {
                    ParallelError(error.to_string())
                }
            }
        )*
    };
}

from_contracts!(collective, cost, offloading, parallel, serving, speculation, transformer);
