//! A model partly in the memory of the host.

use serde::{Deserialize, Serialize};

use super::performance::{Amounts, amounts};
use super::{Layout, ManyError, Phase, Reached, Work};
use crate::predict::Target;
use roofline_formulas::offload as offloading;

/// What is left to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    /// As little as fits, whichever way is faster.
    Auto,
    /// All layers but so many.
    Layers(u64),
    /// The routed experts of the layers that do not fit; all else stays on the device.
    Experts,
}

/// What the device holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Held {
    /// Layers that the device holds, or layers whose experts it holds.
    pub layers: u64,
    /// Layers of the model.
    pub of: u64,
    /// Whether only experts are left to the host.
    pub experts_only: bool,
    /// Whether the host multiplies its part itself when tokens are made; otherwise it is sent over the bus.
    pub computed: bool,
    /// The same when a prompt is read.
    pub prompt_computed: bool,
}

impl Held {
    /// In words.
    pub fn name(&self) -> String {
        let Held { layers, of, .. } = self;
        if layers == of {
            return format!("all {of} layers on it, nothing on the host");
        }
        let what = if self.experts_only { "experts of " } else { "" };
        let way = |computed: bool| if computed { "multiplied by the host" } else { "sent over the bus" };
        let ways = match (self.computed, self.prompt_computed) {
            (decode, prompt) if decode == prompt => way(decode).to_owned(),
            (decode, prompt) => format!("{}, for prompts {}", way(decode), way(prompt)),
        };
        format!("{what}{layers} of {of} layers on it, the rest {ways}")
    }
}

/// What a device reaches with the help of its host.
#[derive(Clone, Debug, PartialEq)]
pub struct Offloaded {
    /// What it reaches, and what the device takes.
    pub reached: Reached,
    /// What it holds.
    pub held: Held,
    /// Memory of the host that is taken, in GB.
    pub host_gb: f64,
    /// Memory that the host is short of, in GB; none where it is not known.
    pub host_missing_gb: Option<f64>,
}

/// Bytes and operations of both sides.
struct Sides {
    device: (f64, f64),
    host: (f64, f64),
}

fn sides(amounts: &Amounts, share: f64, experts_only: bool) -> Sides {
    let left = 1.0 - share;
    let bytes = amounts.dense + amounts.expert + amounts.cache;
    let host = if experts_only {
        (left * amounts.expert, left * amounts.expert_flops)
    } else {
        (left * bytes, left * amounts.flops)
    };
    Sides { device: (bytes - host.0, amounts.flops - host.1), host }
}

/// What a device reaches with some of the model on its host. The bus is in GB/s; nothing is sent where it is not known.
pub fn offload(
    work: &Work,
    device: &Target,
    host: &Target,
    bus: Option<f64>,
    what: Offload,
) -> Result<Offloaded, ManyError> {
    if host.bandwidth > device.bandwidth {
        return Err(ManyError(format!(
            "the memory of {} is faster than that of {}: nothing is gained by leaving it to the host",
            host.name, device.name
        )));
    }
    let Some(capacity) = device.capacity else {
        return Err(ManyError(format!(
            "the memory of {} is not known, so nobody knows what fits",
            device.name
        )));
    };
    let has_experts = work.inputs.expert_params > 0.0;
    match what {
        Offload::Experts if !has_experts => {
            Err(ManyError("the model has no experts to leave to the host".into()))
        }
        Offload::Layers(layers) if layers as f64 > work.layers => {
            Err(ManyError(format!("--offload {layers}: the model has {} layers", work.layers)))
        }
        Offload::Layers(layers) => held(work, (device, capacity), host, bus, (false, Some(layers as f64))),
        Offload::Experts => held(work, (device, capacity), host, bus, (true, None)),
        Offload::Auto => {
            let layers = held(work, (device, capacity), host, bus, (false, None))?;
            if !has_experts {
                return Ok(layers);
            }
            let experts = held(work, (device, capacity), host, bus, (true, None))?;
            let better = (experts.reached.fits() == Some(true)) >= (layers.reached.fits() == Some(true))
                && experts.reached.decode_estimate >= layers.reached.decode_estimate;
            Ok(if better { experts } else { layers })
        }
    }
}

fn held(
    work: &Work,
    (device, capacity): (&Target, f64),
    host: &Target,
    bus: Option<f64>,
    (experts_only, layers): (bool, Option<f64>),
) -> Result<Offloaded, ManyError> {
    let of = |phase| -> Result<_, ManyError> {
        Ok((amounts(work.inputs, work, device, phase)?, amounts(work.inputs, work, host, phase)?))
    };
    let (decode, decode_host) = of(Phase::Decode)?;
    let [least, likely] = &decode;
    let all = least.stored.0 + least.stored.1 + likely.cache;
    let (kept, parts) =
        if experts_only { (least.stored.0 + likely.cache, least.stored.1) } else { (0.0, all) };
    let evaluate = |amounts: &Amounts, host: &Amounts, share: f64| -> Result<_, ManyError> {
        let Sides { device, host: left } = sides(amounts, share, experts_only);
        let inputs = offloading::Inputs {
            device_flops: device.1.max(0.0),
            host_flops: left.1,
            layers: work.layers,
            layer_bytes: (parts / work.layers).max(1.0),
            kept_bytes: kept,
            capacity,
            ..offloading::Inputs::new(
                device.0,
                left.0,
                host.bandwidth,
                host.compute.min(amounts.compute),
                bus.unwrap_or(1e-6),
                amounts.bandwidth,
                amounts.compute,
            )
        };
        Ok(inputs.evaluate()?)
    };
    let fitting = evaluate(least, &decode_host[0], 1.0)?.fitting_layers;
    let layers = layers.unwrap_or(fitting);
    let share = layers / work.layers;
    let decode_least = evaluate(least, &decode_host[0], share)?;
    let decode_likely = evaluate(likely, &decode_host[1], share)?;
    let (prompt, prompt_host) = of(Phase::Prefill)?;
    let prompt_least = evaluate(&prompt[0], &prompt_host[0], share)?;
    let prompt_likely = evaluate(&prompt[1], &prompt_host[1], share)?;
    let device_gb = (kept + share * parts) / 1e9;
    let host_gb = (1.0 - share) * parts / 1e9;
    let (tokens, prompt_tokens) = (least.tokens, prompt[0].tokens);
    let computed = |outputs: &offloading::Outputs| outputs.computed_time <= outputs.unhidden_time;
    Ok(Offloaded {
        reached: Reached {
            layout: Layout { tensor: 1, pipeline: 1, experts: 1, copies: 1 },
            device_gb,
            spare_gb: Some(capacity - device_gb),
            step_least_time: decode_least.least_time,
            step_time: decode_likely.estimated_time,
            decode_ceiling: tokens / decode_least.least_time,
            decode_estimate: tokens / decode_likely.estimated_time,
            prompt_least_time: prompt_least.least_time,
            prompt_time: prompt_likely.estimated_time,
            prefill_ceiling: prompt_tokens / prompt_least.least_time,
            prefill_estimate: prompt_tokens / prompt_likely.estimated_time,
            message_share: 0.0,
            shares: Vec::new(),
        },
        held: Held {
            layers: layers as u64,
            of: work.layers as u64,
            experts_only,
            computed: computed(&decode_likely),
            prompt_computed: computed(&prompt_likely),
        },
        host_gb,
        host_missing_gb: host.capacity.map(|capacity| (host_gb - capacity).max(0.0)),
    })
}
