//! What a speed is asked of: the work of a step, and what else its speed depends on. Of two questions this module says how
//! far they lie apart.

use super::ceiling::{Beside, HIGHEST};
use super::engine::Engine;
use super::format::fastest;
use super::model::Family;
use super::table::{Phase, Row};
use crate::predict::rate::Peak;
use crate::predict::{Prediction, Target, mean_rate};
use roofline_formulas::expectation::{Inputs, OutOfDomain};
use roofline_formulas::hardware::devices::{Architecture, Device};
use roofline_formulas::transformer;

/// The work of a step, and what rows alike are near in.
#[derive(Clone, Debug)]
pub(super) struct Question {
    /// The program and what it runs on.
    pub engine: Engine,
    /// Whether a prompt is read.
    pub prefill: bool,
    /// Where it runs.
    pub place: Place,
    /// The model's name.
    pub model: String,
    /// The format of its weights.
    pub format: String,
    bits: f64,
    family: Family,
    /// How many devices.
    pub devices: f64,
    /// Sequences at once.
    pub batch: f64,
    context: f64,
    threads: Option<f64>,
    /// The peak of the format in GFLOP/s, of all devices that run together; the fastest of all where it is not published.
    pub peak: f64,
    /// Least time for one token of each sequence, in s.
    step_time: f64,
    /// Amounts, the figures that shares are of, and the measured rate where there is one.
    pub inputs: Inputs,
}

/// Where a step runs, as far as speeds differ.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    /// The device's name.
    pub name: String,
    /// Whether on a CPU, which may be that of a chip whose figures are those of its GPU.
    pub on_cpu: bool,
    bandwidth: f64,
    architecture: Option<Architecture>,
}

/// The peak that shares of arithmetic are of, in GFLOP/s: that of 16 bits for all formats, because engines reach much the
/// same rate with all of them.
fn reference(device: &Device) -> Option<f64> {
    [device.fp16, device.fp16_fast, device.bf16, device.fp32].into_iter().flatten().reduce(f64::max)
}

/// The same of a machine that was measured.
fn measured(target: &Target) -> Option<f64> {
    known(target.units.single)
}

fn known(peak: Peak) -> Option<f64> {
    match peak {
        Peak::Known(_, peak) | Peak::AtLeast(_, peak) => Some(peak),
        Peak::Unpublished | Peak::Absent => None,
    }
}

/// The fastest units of a machine that was measured.
fn highest(target: &Target) -> Option<f64> {
    [target.units.int8, target.units.half, target.units.single].into_iter().filter_map(known).reduce(f64::max)
}

/// Tokens that llama.cpp reads at once.
const AT_ONCE: f64 = 512.0;

/// A prediction, of which a speed is expected.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The device's figures.
    pub target: &'a Target,
    /// Its entry in the registry; none for a machine that was measured.
    pub device: Option<&'static Device>,
    /// The model's name.
    pub model: &'a str,
    /// The model's layers.
    pub layers: f64,
    /// The format of the weights.
    pub format: &'a str,
    /// What it can reach there.
    pub prediction: &'a Prediction,
}

impl Question {
    /// The question that a row answers; none where it is neither decoding nor reading a prompt, or where there is nothing that
    /// the time of a prompt could be a share of.
    pub fn of_row(row: &Row, beside: &Beside) -> Option<Question> {
        let prefill = match row.phase {
            Phase::Decode => false,
            Phase::Prefill => true,
            Phase::Serving | Phase::Speculative => return None,
        };
        let engine = Engine::of(row, Some(beside.device));
        // Layers that are split over devices run one device at a time.
        let split = engine.name == Engine::LLAMA_CPP && row.devices > 1.0;
        let together = if split { 1.0 } else { row.devices };
        let compute = match reference(beside.device) {
            Some(peak) => peak * together,
            None if prefill => return None,
            None => beside.inputs.compute,
        };
        let batch = row.batch?;
        let on_cpu = engine.backend == "cpu";
        let inputs = Inputs { bandwidth: beside.device.bandwidth * together, compute, ..beside.inputs };
        let question = Question {
            engine,
            prefill,
            place: Place {
                name: beside.device.name.to_owned(),
                on_cpu,
                bandwidth: beside.device.bandwidth,
                architecture: Some(beside.device.architecture),
            },
            model: beside.model.to_owned(),
            format: row.format.to_uppercase(),
            bits: beside.traits.bits,
            family: beside.traits.family,
            devices: row.devices,
            batch,
            context: if prefill { row.depth + row.prompt? } else { row.context.unwrap_or(0.0) },
            threads: row.backend.strip_prefix("CPU ").and_then(|rest| rest.split(' ').next()?.parse().ok()),
            peak: beside.inputs.compute / row.devices * together,
            step_time: beside.outputs.least_time / beside.inputs.tokens * batch,
            inputs,
        };
        question.likely(&beside.traits.step)
    }

    /// What is asked of a prediction; none where nothing is known of the device's arithmetic and a prompt is read.
    pub fn of_setting(setting: &Setting<'_>, engine: Engine, prefill: bool) -> Option<Question> {
        let Setting { target, device, prediction, .. } = setting;
        let (step, all) = (&prediction.inputs, &prediction.outputs);
        let (tokens, bytes, flops, busy, least_time) = if prefill {
            let times = (all.prefill_compute_time, all.prefill_least_time);
            (all.prompt_tokens, all.prefill_bytes, all.prefill_flops, times.0, times.1)
        } else {
            let times = (all.decode_compute_time, all.decode_least_time);
            (all.step_tokens, all.decode_bytes, all.decode_flops, times.0, times.1)
        };
        let known = prediction.knows_arithmetic().then(|| mean_rate(flops / 1e9, busy, HIGHEST));
        let published = || device.map_or_else(|| highest(target), fastest);
        let peak = known.or_else(published).unwrap_or(HIGHEST);
        let compute = match device.map_or_else(|| measured(target), reference) {
            Some(peak) => peak,
            None if prefill => return None,
            None => peak,
        };
        let on_cpu = engine.backend == "cpu";
        let question = Question {
            engine,
            prefill,
            place: Place {
                name: target.name.clone(),
                on_cpu,
                bandwidth: target.bandwidth,
                architecture: device.map(|device| device.architecture),
            },
            model: setting.model.to_owned(),
            format: setting.format.to_uppercase(),
            bits: step.dense_bits,
            family: Family::of(step),
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
        question.likely(step)
    }

    /// The same with the bytes that are likely to be moved beyond those that must be.
    fn likely(mut self, step: &transformer::Inputs) -> Option<Question> {
        // Weights that so many tokens read at once, each choosing its experts evenly.
        let read = |tokens: f64| {
            let step = transformer::Inputs { batch: tokens, context: 1.0, tokens_per_pass: 1.0, ..*step };
            let all = step.evaluate().ok()?;
            Some(all.decode_estimated_bytes - all.cache_bytes - all.state_bytes - all.activation_bytes)
        };
        let least = read(1.0)?;
        let tokens = self.inputs.tokens;
        let more = if self.prefill {
            let at_once = if self.engine.name == Engine::LLAMA_CPP { tokens.min(AT_ONCE) } else { tokens };
            read(at_once.min(65536.0))? * (tokens / at_once).max(1.0) - least
        } else {
            read(self.batch)? - least
        };
        self.inputs.more_bytes = more.max(0.0);
        self.inputs.serial = 1.0;
        Some(self)
    }

    /// Its inputs with the peak of its format, for shares of that.
    pub fn at_its_peak(&self) -> Inputs {
        let compute = if self.peak < HIGHEST { self.peak } else { self.inputs.compute };
        Inputs { compute, ..self.inputs }
    }

    /// The speed at a share of both peaks and a fixed cost of each layer, in token/s.
    pub fn speed(&self, share: f64, layer_cost: f64) -> Result<f64, OutOfDomain> {
        let bandwidth_share = share.clamp(1e-6, 1.0);
        let compute_share = (share * self.inputs.compute / self.peak).clamp(1e-6, 1.0);
        let asked = Inputs { bandwidth_share, compute: self.peak, compute_share, layer_cost, ..self.inputs };
        Ok(asked.evaluate()?.expected)
    }

    /// How far two lie apart: 1 for each trait that differs, and 1 for each size that is e times the other. Nothing of it was
    /// fitted.
    pub fn distance(&self, other: &Question) -> f64 {
        let ratio = |a: f64, b: f64| (a / b).ln().abs();
        let differs = |differs: bool| f64::from(u8::from(differs));
        let threads = |question: &Question| question.threads.unwrap_or(16.0);
        let mut far = differs(self.format != other.format)
            + differs(self.family != other.family)
            + differs(self.model != other.model)
            + ratio(self.bits, other.bits)
            + ratio(self.step_time, other.step_time)
            + ratio(self.batch, other.batch)
            + ratio(self.context + 256.0, other.context + 256.0)
            + ratio(self.devices, other.devices)
            + ratio(threads(self), threads(other));
        let (place, from) = (&self.place, &other.place);
        if place.name != from.name || place.on_cpu != from.on_cpu {
            far += 1.0 + ratio(place.bandwidth, from.bandwidth).min(1.0);
            far += differs(place.architecture != from.architecture);
        }
        far
    }
}
