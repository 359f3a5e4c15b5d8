//! Features that determine the speed of a step, and the distance between the features of two results.

use super::ceiling::{MAX_COMPUTE, RowWithCeiling};
use super::engine::Engine;
use super::format::fastest;
use super::model::Family;
use super::table::{Phase, Row};
use crate::predict::rate::Peak;
use crate::predict::{DeviceProfile, Prediction, mean_rate};
use roofline_formulas::expectation::{Inputs, OutOfDomain};
use roofline_formulas::hardware::devices::{Architecture, Device};
use roofline_formulas::transformer;

/// Features of a step and its work.
#[derive(Clone, Debug)]
pub(super) struct Features {
    /// Engine and backend.
    pub engine: Engine,
    pub prefill: bool,
    pub processor: Processor,
    pub model: String,
    /// Quantization format of the weights, in upper case.
    pub format: String,
    bits: f64,
    family: Family,
    /// Number of devices.
    pub devices: f64,
    pub batch: f64,
    context: f64,
    threads: Option<f64>,
    /// Peak for the format in GFLOP/s, of all devices that work concurrently; the highest peak if it is not published.
    pub peak: f64,
    /// Minimum time for one token of each sequence, in s.
    step_time: f64,
    /// Amounts, reference peaks of the shares, and the measured rate if there is one.
    pub inputs: Inputs,
}

/// Features of the device.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Processor {
    pub name: String,
    /// True if the CPU runs the step, possibly on a chip that the registry describes by its GPU.
    pub on_cpu: bool,
    bandwidth: f64,
    architecture: Option<Architecture>,
}

/// Returns the reference for shares of compute, in GFLOP/s: the 16-bit peak for all formats, because engines reach similar rates with
/// all of them.
fn reference_peak(device: &Device) -> Option<f64> {
    [device.fp16, device.fp16_fast, device.bf16, device.fp32].into_iter().flatten().reduce(f64::max)
}

fn known(peak: Peak) -> Option<f64> {
    match peak {
        Peak::Known(_, peak) | Peak::AtLeast(_, peak) => Some(peak),
        Peak::Unpublished | Peak::Absent => None,
    }
}

/// Returns the highest measured roof of a machine, in GFLOP/s.
fn highest_roof(target: &DeviceProfile) -> Option<f64> {
    [target.units.int8, target.units.half, target.units.single].into_iter().filter_map(known).reduce(f64::max)
}

/// Batch size of a prompt in llama.cpp, in tokens.
const BATCH_TOKENS: f64 = 512.0;

/// A prediction for which a speed is expected.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// Bandwidth and peaks of the device.
    pub target: &'a DeviceProfile,
    /// Entry in the registry; `None` for a measured machine.
    pub device: Option<&'static Device>,
    /// Name of the model.
    pub model: &'a str,
    /// Number of layers.
    pub layers: f64,
    /// Quantization format of the weights.
    pub format: &'a str,
    /// Predicted amounts and times.
    pub prediction: &'a Prediction,
}

impl Features {
    /// Returns the features of a row; `None` for phases other than decode and prefill, and for prefill without a published peak.
    pub fn from_row(row: &Row, compared: &RowWithCeiling) -> Option<Features> {
        let prefill = match row.phase {
            Phase::Decode => false,
            Phase::Prefill => true,
            Phase::Serving | Phase::Speculative => return None,
        };
        let engine = Engine::for_row(row, Some(compared.device));
        // With a layer split, one device works at a time.
        let split = engine.name == Engine::LLAMA_CPP && row.devices > 1.0;
        let concurrent = if split { 1.0 } else { row.devices };
        let compute = match reference_peak(compared.device) {
            Some(peak) => peak * concurrent,
            None if prefill => return None,
            None => compared.inputs.compute,
        };
        let batch = row.batch?;
        let on_cpu = engine.backend == "cpu";
        let inputs = Inputs { bandwidth: compared.device.bandwidth * concurrent, compute, ..compared.inputs };
        let features = Features {
            engine,
            prefill,
            processor: Processor {
                name: compared.device.name.to_owned(),
                on_cpu,
                bandwidth: compared.device.bandwidth,
                architecture: Some(compared.device.architecture),
            },
            model: compared.model.to_owned(),
            format: row.format.to_uppercase(),
            bits: compared.traits.bits,
            family: compared.traits.family,
            devices: row.devices,
            batch,
            context: if prefill { row.depth + row.prompt? } else { row.context.unwrap_or(0.0) },
            threads: row.backend.strip_prefix("CPU ").and_then(|rest| rest.split(' ').next()?.parse().ok()),
            peak: compared.inputs.compute / row.devices * concurrent,
            step_time: compared.outputs.least_time / compared.inputs.tokens * batch,
            inputs,
        };
        features.with_likely_bytes(&compared.traits.step)
    }

    /// Returns the features of a prediction; `None` for prefill if no peak of the device is known.
    pub fn for_setting(setting: &Setting<'_>, engine: Engine, prefill: bool) -> Option<Features> {
        let Setting { target, device, prediction, .. } = setting;
        let (step, all) = (&prediction.inputs, &prediction.outputs);
        let (tokens, bytes, flops, busy, least_time) = if prefill {
            let times = (all.prefill_compute_time, all.prefill_least_time);
            (all.prompt_tokens, all.prefill_bytes, all.prefill_flops, times.0, times.1)
        } else {
            let times = (all.decode_compute_time, all.decode_least_time);
            (all.step_tokens, all.decode_bytes, all.decode_flops, times.0, times.1)
        };
        let mean = prediction.knows_arithmetic().then(|| mean_rate(flops / 1e9, busy, MAX_COMPUTE));
        let published = || device.map_or_else(|| highest_roof(target), fastest);
        let peak = mean.or_else(published).unwrap_or(MAX_COMPUTE);
        let compute = match device.map_or_else(|| known(target.units.single), reference_peak) {
            Some(peak) => peak,
            None if prefill => return None,
            None => peak,
        };
        let on_cpu = engine.backend == "cpu";
        let features = Features {
            engine,
            prefill,
            processor: Processor {
                name: device.map_or_else(|| target.name.clone(), |device| device.name.to_owned()),
                on_cpu,
                bandwidth: target.bandwidth,
                architecture: device.map(|device| device.architecture),
            },
            model: super::model::id(setting.model).to_owned(),
            format: setting.format.to_uppercase(),
            bits: step.dense_bits,
            family: Family::from_inputs(step),
            devices: 1.0,
            batch: step.batch,
            context: if prefill { step.prompt } else { step.context },
            threads: target.threads,
            peak,
            step_time: least_time / tokens * step.batch,
            inputs: Inputs {
                layers: setting.layers,
                ..Inputs::new(tokens, bytes, flops, target.bandwidth, compute)
            },
        };
        features.with_likely_bytes(step)
    }

    /// Adds the bytes that engines move beyond the minimum.
    fn with_likely_bytes(mut self, step: &transformer::Inputs) -> Option<Features> {
        // Weight bytes of a pass over this many tokens with uniformly routed experts.
        let weight_bytes = |tokens: f64| {
            let step = transformer::Inputs { batch: tokens, context: 1.0, tokens_per_pass: 1.0, ..*step };
            let all = step.evaluate().ok()?;
            Some(all.decode_ideal_bytes - all.cache_bytes - all.state_bytes - all.activation_bytes)
        };
        let minimum = weight_bytes(1.0)?;
        let tokens = self.inputs.tokens;
        let more = if self.prefill {
            let batch_tokens =
                if self.engine.name == Engine::LLAMA_CPP { tokens.min(BATCH_TOKENS) } else { tokens };
            weight_bytes(batch_tokens.min(65536.0))? * (tokens / batch_tokens).max(1.0) - minimum
        } else {
            weight_bytes(self.batch)? - minimum
        };
        self.inputs.more_bytes = more.max(0.0);
        self.inputs.serial = 1.0;
        Some(self)
    }

    /// Returns the inputs with the peak for the format as the reference of shares.
    pub fn inputs_at_peak(&self) -> Inputs {
        let compute = if self.peak < MAX_COMPUTE { self.peak } else { self.inputs.compute };
        Inputs { compute, ..self.inputs }
    }

    /// Returns the speed in token/s for a share of both peaks and an overhead per layer in µs.
    pub fn speed(&self, share: f64, layer_cost: f64) -> Result<f64, OutOfDomain> {
        let bandwidth_share = share.clamp(1e-6, 1.0);
        let compute_share = (share * self.inputs.compute / self.peak).clamp(1e-6, 1.0);
        let inputs = Inputs { bandwidth_share, compute: self.peak, compute_share, layer_cost, ..self.inputs };
        Ok(inputs.evaluate()?.expected)
    }

    /// Returns the distance: 1 for each categorical feature that differs, and 1 for each factor of e between sizes. The weights are not
    /// fitted.
    pub fn distance(&self, other: &Features) -> f64 {
        let ratio = |a: f64, b: f64| (a / b).ln().abs();
        let differs = |differs: bool| f64::from(u8::from(differs));
        let threads = |features: &Features| features.threads.unwrap_or(16.0);
        let mut distance = differs(self.format != other.format)
            + differs(self.family != other.family)
            + differs(self.model != other.model)
            + ratio(self.bits, other.bits)
            + ratio(self.step_time, other.step_time)
            + ratio(self.batch, other.batch)
            + ratio(self.context + 256.0, other.context + 256.0)
            + ratio(self.devices, other.devices)
            + ratio(threads(self), threads(other));
        let (mine, others) = (&self.processor, &other.processor);
        if mine.name != others.name || mine.on_cpu != others.on_cpu {
            distance += 1.0 + ratio(mine.bandwidth, others.bandwidth).min(1.0);
            distance += differs(mine.architecture != others.architecture);
        }
        distance
    }
}
