//! Offload of layers or experts to host memory.

use serde::{Deserialize, Serialize};

use super::performance::{Amounts, amounts};
use super::{Layout, LayoutPerformance, ParallelError, Phase, Work};
use crate::predict::DeviceProfile;
use roofline_formulas::offload as offloading;

/// Part of the model that is offloaded to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    /// The faster of layers and experts, offloading as little as possible.
    Auto,
    /// All but this number of layers.
    Layers(u64),
    /// Routed experts of the layers that do not fit.
    Experts,
}

/// Split of a model between device and host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Placement {
    /// Layers, or layers whose experts, reside on the device.
    pub layers: u64,
    /// Layers of the model.
    pub of: u64,
    /// True if only experts are offloaded.
    pub experts_only: bool,
    /// True if the host computes its part during decode; otherwise its weights are transferred over the bus.
    pub computed: bool,
    /// Like `computed`, for prefill.
    pub prompt_computed: bool,
}

impl Placement {
    /// Describes the split, such as `20 of 32 layers on the device, the rest computed by the host`.
    pub fn name(&self) -> String {
        let Placement { layers, of, .. } = self;
        if layers == of {
            return format!("all {of} layers on the device");
        }
        let what = if self.experts_only { "experts of " } else { "" };
        let way = |computed: bool| if computed { "computed by the host" } else { "transferred over the bus" };
        let ways = match (self.computed, self.prompt_computed) {
            (decode, prompt) if decode == prompt => way(decode).to_owned(),
            (decode, prompt) => format!("{} ({} during prefill)", way(decode), way(prompt)),
        };
        format!("{what}{layers} of {of} layers on the device, the rest {ways}")
    }
}

/// Performance of a device with offload to its host.
#[derive(Clone, Debug, PartialEq)]
pub struct OffloadPerformance {
    /// Speeds, and the memory of the device.
    pub reached: LayoutPerformance,
    /// Split between device and host.
    pub placement: Placement,
    /// Host memory used, in GB.
    pub host_gb: f64,
    /// Missing host memory, in GB; `None` if the capacity is unknown.
    pub host_missing_gb: Option<f64>,
}

/// Bytes and FLOPs on both sides.
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

/// Returns the performance of a device with part of the model on its host.
///
/// `bus` is the bandwidth between them, in GB/s; if it is `None`, no weights are transferred.
pub fn offload(
    work: &Work,
    device: &DeviceProfile,
    host: &DeviceProfile,
    bus: Option<f64>,
    what: Offload,
) -> Result<OffloadPerformance, ParallelError> {
    if host.bandwidth > device.bandwidth {
        return Err(ParallelError(format!(
            "--offload: the memory of {} is faster than that of {}, so offloading gains nothing",
            host.name, device.name
        )));
    }
    let Some(capacity) = device.capacity else {
        return Err(ParallelError(format!(
            "{}: memory capacity unknown; pass memory=… to check the fit",
            device.name
        )));
    };
    let has_experts = work.inputs.expert_params > 0.0;
    match what {
        Offload::Experts if !has_experts => {
            Err(ParallelError("--offload experts: the model has no experts".into()))
        }
        Offload::Layers(layers) if layers as f64 > work.layers => {
            Err(ParallelError(format!("--offload {layers}: the model has only {} layers", work.layers)))
        }
        Offload::Layers(layers) => {
            evaluate_placement(work, (device, capacity), host, bus, (false, Some(layers as f64)))
        }
        Offload::Experts => evaluate_placement(work, (device, capacity), host, bus, (true, None)),
        Offload::Auto => {
            let layers = evaluate_placement(work, (device, capacity), host, bus, (false, None))?;
            if !has_experts {
                return Ok(layers);
            }
            let experts = evaluate_placement(work, (device, capacity), host, bus, (true, None))?;
            let better = (experts.reached.fits() == Some(true)) >= (layers.reached.fits() == Some(true))
                && experts.reached.decode_ideal >= layers.reached.decode_ideal;
            Ok(if better { experts } else { layers })
        }
    }
}

fn evaluate_placement(
    work: &Work,
    (device, capacity): (&DeviceProfile, f64),
    host: &DeviceProfile,
    bus: Option<f64>,
    (experts_only, layers): (bool, Option<f64>),
) -> Result<OffloadPerformance, ParallelError> {
    let of = |phase| -> Result<_, ParallelError> {
        Ok((amounts(work.inputs, work, device, phase)?, amounts(work.inputs, work, host, phase)?))
    };
    let (decode, decode_host) = of(Phase::Decode)?;
    let [least, ideal] = &decode;
    let all = least.stored.0 + least.stored.1 + ideal.cache;
    let (kept, parts) =
        if experts_only { (least.stored.0 + ideal.cache, least.stored.1) } else { (0.0, all) };
    let evaluate = |amounts: &Amounts, host: &Amounts, share: f64| -> Result<_, ParallelError> {
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
    let decode_likely = evaluate(ideal, &decode_host[1], share)?;
    let (prompt, prompt_host) = of(Phase::Prefill)?;
    let prompt_least = evaluate(&prompt[0], &prompt_host[0], share)?;
    let prompt_likely = evaluate(&prompt[1], &prompt_host[1], share)?;
    let device_gb = (kept + share * parts) / 1e9;
    let host_gb = (1.0 - share) * parts / 1e9;
    let (tokens, prompt_tokens) = (least.tokens, prompt[0].tokens);
    let computed = |outputs: &offloading::Outputs| outputs.computed_time <= outputs.unhidden_time;
    Ok(OffloadPerformance {
        reached: LayoutPerformance {
            layout: Layout { tensor: 1, pipeline: 1, experts: 1, copies: 1 },
            device_gb,
            spare_gb: Some(capacity - device_gb),
            step_least_time: decode_least.least_time,
            step_time: decode_likely.ideal_time,
            decode_ceiling: tokens / decode_least.least_time,
            decode_ideal: tokens / decode_likely.ideal_time,
            prompt_least_time: prompt_least.least_time,
            prompt_time: prompt_likely.ideal_time,
            prefill_ceiling: prompt_tokens / prompt_least.least_time,
            prefill_ideal: prompt_tokens / prompt_likely.ideal_time,
            message_share: 0.0,
            shares: Vec::new(),
        },
        placement: Placement {
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
