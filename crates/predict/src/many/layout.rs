//! How a model is dealt out over devices.

use serde::{Deserialize, Serialize};

use super::{Set, Work};

/// How a model is dealt out over devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Layout {
    /// Devices that share each matrix.
    pub tensor: u64,
    /// Stages that the layers are dealt over.
    pub pipeline: u64,
    /// Devices that the routed experts of a stage are dealt over.
    pub experts: u64,
    /// Copies of the whole model, each with sequences of its own.
    pub copies: u64,
}

/// What somebody says about the layout; the rest is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fixed {
    /// Devices that share each matrix.
    pub tensor: Option<u64>,
    /// Stages.
    pub pipeline: Option<u64>,
    /// Devices that experts are dealt over.
    pub experts: Option<u64>,
}

impl Layout {
    /// Devices of one stage.
    pub fn stage(&self) -> u64 {
        self.tensor.max(self.experts)
    }

    /// In words: `tensor 4, pipeline 2`.
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

    /// The name, and what it means.
    pub fn explained(&self) -> String {
        let parts = [
            (self.tensor, "devices share each matrix"),
            (self.experts, "devices of a stage share the experts"),
            (self.pipeline, "stages of layers follow each other"),
            (self.copies, "copies answer different sequences"),
        ];
        let parts: Vec<String> =
            parts.iter().filter(|(ways, _)| *ways > 1).map(|(ways, what)| format!("{ways} {what}")).collect();
        if parts.is_empty() { self.name() } else { format!("{} ({})", self.name(), parts.join(", ")) }
    }

    /// Every layout of this work over these devices that leaves none idle. Devices of different kinds all share each matrix, or
    /// are stages of one copy. An error says what does not go together.
    pub fn all(set: &Set, work: &Work, fixed: Fixed) -> Result<Vec<Layout>, String> {
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
            let said =
                [("--tensor", fixed.tensor), ("--pipeline", fixed.pipeline), ("--experts", fixed.experts)];
            let said: Vec<String> =
                said.iter().filter_map(|(flag, ways)| Some(format!("{flag} {}", (*ways)?))).collect();
            let experts = match routed {
                1 => "there are no experts to deal out".to_owned(),
                experts => format!("no more devices than its {experts} experts share those"),
            };
            return Err(format!(
                "{}: no layout of {devices} devices, {layers} layers and a batch of {batch} has {}; the ways must divide the \
                 devices, the copies that are left the batch, no more devices than heads share a matrix, and {experts}",
                set.name(),
                if said.is_empty() { "all of them at work".to_owned() } else { said.join(" ") }
            ));
        }
        Ok(found)
    }
}

fn divisors(number: u64) -> impl Iterator<Item = u64> {
    (1..=number).filter(move |ways| number.is_multiple_of(*ways))
}

/// The greatest common divisor.
pub(super) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
