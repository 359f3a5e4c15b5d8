//! Layouts: tensor, pipeline, expert and data parallelism.

use serde::{Deserialize, Serialize};

use super::{DeviceSet, Work};

/// Sharding of a model over devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Layout {
    /// Tensor parallelism: devices that share each matrix.
    pub tensor: u64,
    /// Pipeline parallelism: number of stages.
    pub pipeline: u64,
    /// Expert parallelism: devices that share the routed experts of a stage.
    pub experts: u64,
    /// Data parallelism: copies of the model, each with its own sequences.
    pub copies: u64,
}

/// Degrees of parallelism that are given; `None` leaves a degree open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayoutConstraints {
    /// Tensor parallelism.
    pub tensor: Option<u64>,
    /// Pipeline stages.
    pub pipeline: Option<u64>,
    /// Expert parallelism.
    pub experts: Option<u64>,
}

impl Layout {
    /// Returns the number of devices per stage.
    pub fn stage(&self) -> u64 {
        self.tensor.max(self.experts)
    }

    /// Returns a short name, such as `tensor 4, pipeline 2`.
    pub fn name(&self) -> String {
        let parts = [
            ("tensor", self.tensor),
            ("experts", self.experts),
            ("pipeline", self.pipeline),
            ("copies", self.copies),
        ];
        let parts: Vec<String> =
            parts.iter().filter(|(_, ways)| *ways > 1).map(|(what, ways)| format!("{what} {ways}")).collect();
        if parts.is_empty() { "one device".into() } else { parts.join(", ") }
    }

    /// Returns the name with an explanation in parentheses.
    pub fn explained(&self) -> String {
        let parts = [
            (self.tensor, "devices share each matrix"),
            (self.experts, "devices share the experts of a stage"),
            (self.pipeline, "pipeline stages"),
            (self.copies, "copies of the model"),
        ];
        let parts: Vec<String> =
            parts.iter().filter(|(ways, _)| *ways > 1).map(|(ways, what)| format!("{ways} {what}")).collect();
        if parts.is_empty() { self.name() } else { format!("{} ({})", self.name(), parts.join(", ")) }
    }

    /// Returns every layout that uses all devices.
    ///
    /// Devices of different kinds share each matrix, or form the pipeline stages of a single copy. The error lists the violated
    /// constraints.
    pub fn all(set: &DeviceSet, work: &Work, fixed: LayoutConstraints) -> Result<Vec<Layout>, String> {
        let devices = set.devices();
        let layers = work.layers.max(1.0) as u64;
        let routed = if work.inputs.expert_params > 0.0 { work.inputs.experts as u64 } else { 1 };
        let mut found = Vec::new();
        let one_kind = set.groups.len() == 1;
        let widest = set.groups.iter().map(|group| group.count).max().unwrap_or(1);
        if !one_kind {
            found.push(Layout { tensor: devices, pipeline: 1, experts: 1, copies: 1 });
        }
        for tensor in divisors(if one_kind { devices } else { widest }) {
            if !one_kind {
                let stages = set.groups.iter().map(|group| group.count / gcd(tensor, group.count)).sum();
                found.push(Layout { tensor, pipeline: stages, experts: 1, copies: 1 });
                continue;
            }
            for pipeline in divisors(devices / tensor).filter(|stages| *stages <= layers) {
                let left = devices / pipeline;
                let ways = divisors(left).filter(|ways| {
                    *ways == 1 || (*ways <= routed && ways.is_multiple_of(tensor) && *ways > 1)
                });
                for experts in ways {
                    let layout = Layout { tensor, pipeline, experts, copies: 1 };
                    if left.is_multiple_of(layout.stage()) {
                        found.push(Layout { copies: left / layout.stage(), ..layout });
                    }
                }
            }
        }
        let batch = work.inputs.batch;
        found.retain(|layout| {
            let is = |wanted: Option<u64>, has: u64| wanted.is_none_or(|wanted| wanted == has);
            is(fixed.tensor, layout.tensor)
                && is(fixed.pipeline, layout.pipeline)
                && is(fixed.experts, layout.experts)
                && batch % layout.copies as f64 == 0.0
                && (work.heads == 0 || layout.tensor <= work.heads)
        });
        if found.is_empty() {
            let given =
                [("--tensor", fixed.tensor), ("--pipeline", fixed.pipeline), ("--experts", fixed.experts)];
            let given: Vec<String> =
                given.iter().filter_map(|(flag, ways)| Some(format!("{flag} {}", (*ways)?))).collect();
            let experts = match routed {
                1 => "the model has no experts to share".to_owned(),
                experts => format!("expert parallelism is at most {experts}"),
            };
            return Err(format!(
                "{}: no layout of {devices} devices, {layers} layers and batch size {batch} uses {}; the degrees must divide the \
                 number of devices, the copies must divide the batch size, tensor parallelism is at most the number of heads, and {experts}",
                set.name(),
                if given.is_empty() { "all devices".to_owned() } else { given.join(" ") }
            ));
        }
        Ok(found)
    }
}

fn divisors(number: u64) -> impl Iterator<Item = u64> {
    (1..=number).filter(move |ways| number.is_multiple_of(*ways))
}

pub(super) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
