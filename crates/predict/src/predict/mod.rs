//! Predictions for a model on a device, by the formulas of the contract `transformer-v1`.
//!
//! This module fills the contract's inputs with model dimensions, quantization formats and device peaks.
//!
//! ```
//! use roofline_formulas::hardware::devices::H100_SXM;
//! use roofline_models::{ModelDims, by_name};
//! use roofline_predict::predict::{Numbers, WeightPrecision, DeviceProfile, inputs, predict};
//!
//! let model = ModelDims::from_known(by_name("llama_3_1_8b").unwrap()).unwrap();
//! let target = DeviceProfile::from_device(&H100_SXM, None).unwrap();
//! // One sequence with 8192 tokens in the KV cache; 16-bit weights and cache.
//! let inputs = roofline_formulas::transformer::Inputs { context: 8192.0, ..inputs(&model).unwrap() };
//! let prediction = predict(inputs, &WeightPrecision::all(Numbers::Half), &target).unwrap();
//! assert_eq!(prediction.outputs.cache_bytes, (1u64 << 30) as f64);
//! assert!(prediction.outputs.decode_ceiling > 150.0);
//! ```

mod expected;
pub mod rate;
mod report;

use std::fmt;

use crate::device::display_name;
use roofline_formulas::hardware::devices::Device;
use roofline_formulas::operation;
use roofline_formulas::quantization::{self, formats::Format};
use roofline_formulas::transformer::{self, Feasibility, Inputs, OutOfDomain, Outputs};
use roofline_machine::Machine;
use roofline_models::{Attention, Head, ModelDims, Operation, QuantMix, Role, Runs, Work};
use roofline_render::format::threads;
use serde::{Deserialize, Serialize};

pub use expected::{Expectation, ExpectedFrom, ExpectedSpeed};
pub use rate::{Numbers, Rate, Units};
pub(crate) use report::parameters;
pub use report::{
    CEILING, Change, EXPECTED, Entry, IDEAL, Line, MAX_PREDICTIONS, Predicted, Subject, Sweep, SweptInput,
    UNKNOWN_COMPUTE_PEAK, Workload, ceiling_statement,
};
pub use roofline_render::vocabulary::Precision;

/// Peaks and capacities of a device, published or measured.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceProfile {
    /// Name of the registry, such as `rtx_4090`, or `this`.
    pub name: String,
    /// Peak rates per precision.
    pub units: Units,
    /// Precision requested for the ideal figures, with its peak in GFLOP/s.
    pub asked: Option<(Precision, f64)>,
    /// Memory bandwidth, in GB/s.
    pub bandwidth: f64,
    /// Memory capacity, in GB.
    pub capacity: Option<f64>,
    /// Bytes of the caches, which can hold weights between passes; 0 if unknown.
    pub caches: f64,
    /// Number of threads of the measurement; `None` for published figures.
    pub threads: Option<f64>,
    /// Power, in W.
    pub tdp: Option<f64>,
    /// Dispatch overhead per step, in µs.
    pub overhead: Option<f64>,
    /// Origin of the figures.
    pub source: FigureSource,
    /// Caveats about the figures, as sentences for warnings.
    pub doubts: Vec<String>,
}

/// Origin of a device's figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FigureSource {
    /// Published by the vendor or another source.
    Published {
        /// Address or title of the source.
        by: String,
        /// Date on which the source was read, as `2026-11-17`.
        as_of: String,
    },
    /// Measured by roofline.
    Measured {
        /// Date in UTC, as `2026-11-17`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        date: Option<String>,
        /// CPU name reported by the operating system.
        cpu: String,
        /// Number of threads that reached the bandwidth.
        memory_threads: usize,
    },
}

impl FigureSource {
    /// Returns true for measured roofs, and false for published peaks.
    pub fn is_measured(&self) -> bool {
        matches!(self, FigureSource::Measured { .. })
    }
}

impl fmt::Display for FigureSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FigureSource::Published { by, as_of } => write!(f, "{by}, as of {as_of}"),
            FigureSource::Measured { date, cpu, memory_threads } => {
                f.write_str("measured")?;
                if let Some(date) = date {
                    write!(f, " on {date}")?;
                }
                write!(f, ", {cpu}, memory with {}", threads(*memory_threads))
            }
        }
    }
}

/// The device has no peak for the requested precision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingPeak {
    /// Name of the device.
    pub device: String,
    /// Requested precision.
    pub precision: Precision,
    /// Precisions with a peak.
    pub has: Vec<Precision>,
}

impl fmt::Display for MissingPeak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has: Vec<&str> = self.has.iter().map(|precision| precision.name()).collect();
        let has = if has.is_empty() { "none".to_owned() } else { has.join(", ") };
        write!(f, "{} has no peak for {}; known peaks: {has}", self.device, self.precision)
    }
}

impl std::error::Error for MissingPeak {}

impl DeviceProfile {
    /// Returns the published figures of a device. `precision` applies to the ideal figures only; ceilings use the fastest
    /// units for each element type.
    pub fn from_device(device: &Device, precision: Option<Precision>) -> Result<DeviceProfile, MissingPeak> {
        let asked = match precision {
            Some(precision) => {
                let lacks = || MissingPeak {
                    device: display_name(device.name),
                    precision,
                    has: Precision::with_peak(device).collect(),
                };
                Some((precision, precision.peak(device).ok_or_else(lacks)?))
            }
            None => None,
        };
        Ok(DeviceProfile {
            name: display_name(device.name),
            units: Units::from_device(device),
            asked,
            bandwidth: device.bandwidth,
            capacity: device.capacity,
            caches: 0.0,
            threads: None,
            tdp: device.tdp,
            overhead: device.overhead,
            source: FigureSource::Published { by: device.source.to_owned(), as_of: device.as_of.to_owned() },
            doubts: Vec::new(),
        })
    }

    /// Returns the measured roofs of a machine, each at its best number of threads. The power is unknown.
    pub fn from_machine(
        machine: &Machine,
        precision: Option<Precision>,
    ) -> Result<DeviceProfile, MissingPeak> {
        let roofs = machine.best();
        let asked = match precision {
            None => None,
            Some(Precision::Fp32) => Some((Precision::Fp32, roofs.f32_gflops.value)),
            Some(Precision::Int8) => Some((Precision::Int8, roofs.int8_gops.value)),
            Some(precision) => match roofs.int4_gops.filter(|_| precision == Precision::Int4) {
                Some(roof) => Some((Precision::Int4, roof.value)),
                None => {
                    let mut has = vec![Precision::Fp32, Precision::Int8];
                    has.extend(roofs.int4_gops.map(|_| Precision::Int4));
                    return Err(MissingPeak { device: "this".into(), precision, has });
                }
            },
        };
        Ok(DeviceProfile {
            name: "this".to_owned(),
            units: Units::from_machine(machine),
            asked,
            bandwidth: roofs.read_gb_s.value,
            capacity: machine.memory_bytes.map(|bytes| bytes as f64 / 1e9),
            caches: machine.cache_bytes(),
            threads: Some(machine.threads as f64),
            tdp: None,
            overhead: None,
            source: FigureSource::Measured {
                date: machine.date.clone(),
                cpu: machine.cpu.clone(),
                memory_threads: roofs.read_gb_s.threads,
            },
            doubts: machine.roof_warnings(),
        })
    }

    /// Returns the peak rate for an element type, as used by ceilings.
    pub fn rate(&self, kind: Numbers) -> Rate {
        self.units.rate(kind)
    }

    /// Returns the rate used by ideal figures, which accept a lower bound of the peak.
    pub(crate) fn ideal_rate(&self, kind: Numbers) -> Rate {
        let asked = self.asked.map(|(precision, peak)| Rate { precision, gflop_s: Some(peak) });
        asked.unwrap_or_else(|| self.units.ideal_rate(kind))
    }
}

/// Element types of a model, weighted by the FLOPs per token computed in each.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightPrecision {
    /// FLOPs per token of all weights except the output head.
    pub body: Vec<(Numbers, f64)>,
    /// FLOPs per token of the output head.
    pub head: Vec<(Numbers, f64)>,
    /// Element type of the KV cache.
    pub cache: Numbers,
}

impl WeightPrecision {
    /// All weights in one element type, with a 16-bit KV cache.
    pub fn all(kind: Numbers) -> WeightPrecision {
        WeightPrecision { body: vec![(kind, 1.0)], head: vec![(kind, 1.0)], cache: Numbers::Half }
    }

    /// All weights in one quantization format, with a 16-bit KV cache.
    pub fn from_format(format: &Format) -> WeightPrecision {
        WeightPrecision::all(format.numbers)
    }

    /// Returns the distinct element types: body first, then head, then cache.
    pub fn kinds(&self) -> Vec<Numbers> {
        let mut kinds: Vec<Numbers> = Vec::new();
        for kind in self.body.iter().chain(&self.head).map(|(kind, _)| *kind).chain([self.cache]) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        kinds
    }

    /// Returns the element type with most of the body's FLOPs.
    pub fn most(&self) -> Numbers {
        let most = self.body.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        most.map_or(Numbers::Half, |(kind, _)| *kind)
    }

    fn add(parts: &mut Vec<(Numbers, f64)>, kind: Numbers, flops: f64) {
        match parts.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, sum)) => *sum += flops,
            None => parts.push((kind, flops)),
        }
    }
}

/// Returns the mean rate of operations in several element types that run one after the other, in GFLOP/s.
fn mean_element_rate(parts: &[(Numbers, f64)], rate: impl Fn(Numbers) -> Rate) -> f64 {
    let parts: Vec<(f64, f64)> = parts.iter().map(|(kind, flops)| (*flops, rate(*kind).compute())).collect();
    harmonic_mean_rate(&parts).unwrap_or(rate::UNLIMITED)
}

/// Returns the FLOP-weighted harmonic mean of rates, given as `(flops, rate)`; `None` if there are none.
///
/// Equal rates are returned exactly, without rounding.
pub fn harmonic_mean_rate(parts: &[(f64, f64)]) -> Option<f64> {
    let (_, first) = *parts.first()?;
    if parts.iter().all(|(_, rate)| *rate == first) {
        return Some(first);
    }
    let flops: f64 = parts.iter().map(|(flops, _)| flops).sum();
    Some(mean_rate(flops, parts.iter().map(|(flops, rate)| flops / rate).sum(), first))
}

/// Returns a rate within the contracts' domain, or `otherwise` if it is zero or undefined.
pub(crate) fn mean_rate(gflop: f64, seconds: f64, otherwise: f64) -> f64 {
    let rate = gflop / seconds;
    if rate.is_finite() && rate > 0.0 { rate.min(rate::UNLIMITED) } else { otherwise }
}

/// A model that `transformer-v1` does not describe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported(pub String);

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unsupported {}

/// Per-token totals of an operation.
pub struct OperationTotals {
    /// Elements added to the KV cache.
    pub cache_width: f64,
    /// FLOPs for each attended token.
    pub mixing: f64,
    /// Elements of inputs and outputs.
    pub activation_width: f64,
    /// Parameters used.
    pub token_params: f64,
}

pub(crate) fn operation_totals(shape: operation::Inputs) -> Result<OperationTotals, Unsupported> {
    let operation::Outputs { cache_width, mixing, activation_width, token_params, .. } =
        shape.evaluate().map_err(|error| Unsupported(error.to_string()))?;
    Ok(OperationTotals { cache_width, mixing, activation_width, token_params })
}

/// Returns the contract's inputs for a model: one sequence of one token and 16-bit weights.
///
/// The device figures are placeholders (1 GB/s and 1 GFLOP/s) that [`predict`] replaces.
pub fn inputs(model_dims: &ModelDims) -> Result<Inputs, Unsupported> {
    inputs_with_totals(model_dims, operation_totals)
}

/// Like [`inputs`], with the operation totals of another version of `operation-v1`.
pub fn inputs_with_totals(
    model_dims: &ModelDims,
    totals: impl Fn(operation::Inputs) -> Result<OperationTotals, Unsupported>,
) -> Result<Inputs, Unsupported> {
    if !model_dims.generates_tokens() {
        return Err(makes_no_tokens(&model_dims.architecture));
    }
    let operations = model_dims.operations();
    let tied = model_dims.head == Head::Tied;
    let parts = operations.iter().map(|operation| Ok((operation, operation.inputs(tied), Numbers::Half)));
    Ok(sum_operations(parts, totals)?.0)
}

/// Returns the inputs and element types of a model stored in a quantization mix.
pub fn inputs_for_mix(
    mix: &QuantMix,
    operations: &[Operation],
) -> Result<(Inputs, WeightPrecision), Unsupported> {
    let tied = operations.iter().any(|one| one.role == Role::Head && one.parameters == 0);
    let parts = operations.iter().zip(mix.storage_of(operations)).map(|(operation, written)| {
        let mut shape = operation.inputs(tied);
        if written.parameters > 0 {
            let bits = stored_bits(written.bytes as f64, written.parameters as f64);
            shape.bits_per_weight = bits.map_err(|error| Unsupported(error.to_string()))?;
        }
        Ok((operation, shape, rate::numbers_of(written.dtype)))
    });
    sum_operations(parts, operation_totals)
}

pub(crate) fn makes_no_tokens(architecture: &str) -> Unsupported {
    Unsupported(format!("{architecture} is an encoder; it does not generate tokens"))
}

/// Sums operations, each given with its shape and the element type of its weights.
pub(crate) fn sum_operations<'a>(
    operations: impl Iterator<Item = Result<(&'a Operation, operation::Inputs, Numbers), Unsupported>>,
    totals: impl Fn(operation::Inputs) -> Result<OperationTotals, Unsupported>,
) -> Result<(Inputs, WeightPrecision), Unsupported> {
    let mut inputs = dense(0.0);
    let mut stored = WeightPrecision { body: Vec::new(), head: Vec::new(), cache: Numbers::Half };
    let (mut experts, mut window) = (None, None);
    // Total bits per group of parameters.
    let [mut dense_bits, mut head_bits, mut expert_bits, mut lookup_bits] = [0.0; 4];
    for part in operations {
        let (operation, shape, kind) = part?;
        let unsupported = match operation.work {
            Work::Unused => continue,
            _ if operation.selected_tokens.is_some() => {
                return Err(Unsupported(
                    "sparse attention with an indexer is not supported; `roofline profile` reports bounds"
                        .into(),
                ));
            }
            Work::Undefined { ref reason } => {
                return Err(Unsupported(format!(
                    "the cost of {} is unknown: {reason}",
                    operation.role.name()
                )));
            }
            // A vision or audio encoder does not run for text tokens.
            _ if matches!(operation.runs, Runs::Input { .. }) => {
                let params = shape.dense_params + shape.expert_params + shape.lookup_params;
                inputs.lookup_params += params;
                lookup_bits += params * shape.bits_per_weight;
                continue;
            }
            _ if operation.runs != Runs::Token => Some("encoder-decoder models are"),
            Work::Experts { count, used, .. } => (*experts.get_or_insert((count, used)) != (count, used))
                .then_some("layers with different numbers of experts are"),
            Work::Attention(Attention { window: Some(tokens), latent, .. }) => {
                let differs = *window.get_or_insert(tokens) != tokens;
                let windowed = latent.map(|_| "a sliding window over a latent cache is");
                differs.then_some("layers with different window sizes are").or(windowed)
            }
            _ => None,
        };
        if let Some(what) = unsupported {
            return Err(Unsupported(format!("{what} not supported; `roofline profile` reports the ceiling")));
        }
        let bits = shape.bits_per_weight;
        let OperationTotals { cache_width, mixing, activation_width, token_params } = totals(shape)?;
        inputs.lookup_params += shape.lookup_params;
        lookup_bits += shape.lookup_params * bits;
        let flops = 2.0 * token_params + shape.state_work;
        if operation.role == Role::Head {
            inputs.head_params += shape.dense_params;
            head_bits += shape.dense_params * bits;
            inputs.head_width += activation_width;
            WeightPrecision::add(&mut stored.head, kind, flops);
            continue;
        }
        inputs.expert_params += shape.expert_params;
        expert_bits += shape.expert_params * bits;
        inputs.dense_params += shape.dense_params;
        dense_bits += shape.dense_params * bits;
        inputs.activation_width += activation_width;
        inputs.state_width += shape.state_width;
        inputs.state_work += shape.state_work;
        if flops > 0.0 {
            WeightPrecision::add(&mut stored.body, kind, flops);
        }
        match operation.work {
            Work::Experts { .. } => {
                (inputs.experts, inputs.experts_used) = (shape.experts, shape.experts_used);
            }
            Work::Attention(Attention { window: Some(_), .. }) => {
                inputs.window = shape.window;
                inputs.window_width += cache_width;
                inputs.window_mixing += mixing;
            }
            Work::Attention(_) => {
                inputs.full_width += cache_width;
                inputs.full_mixing += mixing;
                inputs.prompt_mixing += totals(operation::Inputs { prefill: 1.0, ..shape })?.mixing;
            }
            _ => {}
        }
    }
    let mean = |bits: f64, params: f64, otherwise: f64| if params > 0.0 { bits / params } else { otherwise };
    inputs.dense_bits = mean(dense_bits, inputs.dense_params, inputs.dense_bits);
    inputs.head_bits = mean(head_bits, inputs.head_params, inputs.head_bits);
    inputs.expert_bits = mean(expert_bits, inputs.expert_params, inputs.expert_bits);
    inputs.lookup_bits = mean(lookup_bits, inputs.lookup_params, inputs.lookup_bits);
    Ok((inputs, stored))
}

/// Returns the inputs with all weights at `bits` bits per weight.
pub fn with_bits(inputs: Inputs, bits: f64) -> Inputs {
    Inputs { dense_bits: bits, head_bits: bits, expert_bits: bits, lookup_bits: bits, ..inputs }
}

/// Returns the contract's inputs for a dense model of which only the number of parameters is known, without a KV cache.
pub fn dense(params: f64) -> Inputs {
    Inputs::new(params, 1.0, 1.0)
}

/// Returns the bits per weight of a block format, scales included.
pub fn bits_per_weight(format: &Format) -> Result<f64, quantization::OutOfDomain> {
    Ok(evaluate_format(format)?.bits_per_weight)
}

/// Returns the bytes per element of a block format, scales included.
pub fn bytes_per_number(format: &Format) -> Result<f64, quantization::OutOfDomain> {
    Ok(evaluate_format(format)?.row_bytes)
}

fn evaluate_format(format: &Format) -> Result<quantization::Outputs, quantization::OutOfDomain> {
    let inputs = quantization::Inputs { row_weights: 1.0, ..quantization::Inputs::new(1.0, 1.0) };
    inputs.with_format(format).evaluate()
}

/// Returns the mean bits per weight of `weights` weights stored in `bytes` bytes.
pub fn stored_bits(bytes: f64, weights: f64) -> Result<f64, quantization::OutOfDomain> {
    let stored = quantization::Inputs {
        stored_bytes: bytes,
        stored_weights: weights,
        ..quantization::Inputs::new(1.0, 1.0)
    };
    Ok(stored.evaluate()?.stored_bits)
}

/// Result of a prediction for one model on one device.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Inputs of the ceilings.
    pub inputs: Inputs,
    /// Outputs with the ceilings.
    pub outputs: Outputs,
    /// Inputs of the ideal figures.
    pub ideal_inputs: Inputs,
    /// Outputs with the ideal figures, in the requested precision.
    ///
    /// If the device's power or memory is unknown, `token_energy` and `feasibility` are meaningless here; use
    /// [`token_energy`](Self::token_energy) and [`fits`](Self::fits).
    pub ideal: Outputs,
    /// Compute rate per element type, the type of most weights first.
    pub rates: Vec<(Numbers, Rate)>,
    /// Ideal energy per token, in J; `None` if the device's power is unknown.
    pub token_energy: Option<f64>,
    /// True if the model fits into memory; `None` if the capacity is unknown.
    pub fits: Option<bool>,
}

impl Prediction {
    /// Returns false if the compute peak for the weights is unknown, so that ceilings only use the memory bandwidth.
    pub fn knows_arithmetic(&self) -> bool {
        self.rates.first().is_some_and(|(_, rate)| rate.gflop_s.is_some())
    }
}

/// Evaluates the contract for a model on a device. A nonzero `overhead` of the inputs takes precedence over the device's.
pub fn predict(
    inputs: Inputs,
    stored: &WeightPrecision,
    target: &DeviceProfile,
) -> Result<Prediction, OutOfDomain> {
    let with = |rate: &dyn Fn(Numbers) -> Rate| Inputs {
        compute: mean_element_rate(&stored.body, rate),
        head_compute: mean_element_rate(&stored.head, rate),
        attention_compute: rate(stored.cache).compute(),
        bandwidth: target.bandwidth,
        resident: target.caches,
        capacity: target.capacity.unwrap_or(inputs.capacity),
        tdp: target.tdp.unwrap_or(inputs.tdp),
        overhead: if inputs.overhead > 0.0 {
            inputs.overhead
        } else {
            target.overhead.unwrap_or(inputs.overhead)
        },
        ..inputs
    };
    let inputs = with(&|kind| target.rate(kind));
    let outputs = inputs.evaluate()?;
    let ideal_inputs = with(&|kind| target.ideal_rate(kind));
    let ideal = ideal_inputs.evaluate()?;
    let most = stored.most();
    let mut rates: Vec<(Numbers, Rate)> =
        stored.kinds().into_iter().map(|kind| (kind, target.rate(kind))).collect();
    rates.sort_by_key(|(kind, _)| *kind != most);
    let fits = target.capacity.map(|_| outputs.feasibility == Feasibility::Fits);
    let token_energy = target.tdp.map(|_| ideal.token_energy);
    Ok(Prediction { inputs, outputs, ideal_inputs, ideal, rates, token_energy, fits })
}

/// Finds the smallest integer above `low` at which decode has the bound it has at `high`, by bisection; `None` if the
/// bounds are equal.
pub fn crossing(
    low: f64,
    high: f64,
    mut bound: impl FnMut(f64) -> Option<transformer::DecodeBound>,
) -> Option<f64> {
    let (mut low, mut high) = (low, high);
    let (before, after) = (bound(low)?, bound(high)?);
    if before == after {
        return None;
    }
    while high - low > 1.0 {
        let middle = ((low + high) / 2.0).floor();
        if bound(middle)? == before { low = middle } else { high = middle }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use roofline_formulas::hardware::devices::{self};
    use roofline_formulas::quantization::formats;
    use roofline_formulas::transformer::DecodeBound;
    use roofline_models::by_name;

    fn model(name: &str) -> Inputs {
        inputs(&ModelDims::from_known(by_name(name).unwrap()).unwrap()).unwrap()
    }

    fn on(inputs: Inputs, device: &Device) -> Outputs {
        predict(
            inputs,
            &WeightPrecision::all(Numbers::Half),
            &DeviceProfile::from_device(device, None).unwrap(),
        )
        .unwrap()
        .outputs
    }

    const GIB: f64 = (1u64 << 30) as f64;

    #[test]
    fn parameters_of_every_known_model_add_up() {
        for known in roofline_models::KNOWN_MODELS {
            let model_dims = ModelDims::from_known(known).unwrap();
            let outputs = on(inputs(&model_dims).unwrap(), &devices::H100_SXM);
            assert_eq!(outputs.total_params, model_dims.parameters() as f64, "{}", known.name);
        }
    }

    #[test]
    fn the_cache_of_llama_3_1_8b_at_8192_tokens_is_one_gibibyte() {
        let inputs = Inputs { context: 8192.0, ..model("llama_3_1_8b") };
        assert_eq!(on(inputs, &devices::H100_SXM).cache_bytes, GIB);
    }

    #[test]
    fn the_cache_of_llama_2_7b_at_4096_tokens_is_two_gibibytes() {
        let inputs = Inputs { context: 4096.0, ..model("llama_2_7b") };
        assert_eq!(on(inputs, &devices::H100_SXM).cache_bytes, 2.0 * GIB);
    }

    #[test]
    fn every_second_layer_of_gemma_2_keeps_no_more_than_its_window() {
        // 42 layers, 8 KV heads of 256 elements for K and V, 2 bytes each: 8192 bytes per layer and token.
        let inputs = Inputs { context: 8192.0, ..model("gemma_2_9b") };
        assert_eq!(on(inputs, &devices::H100_SXM).cache_bytes, 8192.0 * (21.0 * 8192.0 + 21.0 * 4096.0));
        let short = Inputs { context: 1000.0, ..inputs };
        assert_eq!(on(short, &devices::H100_SXM).cache_bytes, 8192.0 * 42.0 * 1000.0);
    }

    #[test]
    fn deepseek_v3_caches_one_latent_vector_for_all_heads() {
        // 512 + 64 elements of 2 bytes in each of 61 layers.
        let inputs = Inputs { context: 1000.0, ..model("deepseek_v3") };
        assert_eq!(on(inputs, &devices::H200_SXM).cache_bytes, 61.0 * 576.0 * 2.0 * 1000.0);
    }

    #[test]
    fn a_token_of_mixtral_uses_12_9_of_46_7_billion_parameters() {
        let outputs = on(model("mixtral_8x7b"), &devices::H100_SXM);
        assert_eq!((outputs.total_params / 1e8).round(), 467.0);
        assert_eq!((outputs.active_params / 1e8).round(), 129.0);
    }

    #[test]
    fn active_parameters_match_the_names_of_the_models() {
        let active = |name: &str| on(model(name), &devices::H100_SXM).active_params;
        assert_eq!((active("qwen3_30b_a3b") / 1e8).round(), 34.0);
        assert_eq!((active("deepseek_v3") / 1e9).round(), 38.0);
    }

    #[test]
    fn ceilings_read_the_experts_of_one_token_and_ideals_read_the_mean() {
        let inputs = model("mixtral_8x7b");
        let weights =
            |experts: f64| (inputs.dense_params + inputs.head_params + inputs.expert_params * experts) * 2.0;
        let one = on(inputs, &devices::H100_SXM);
        assert_eq!(one.pass_weight_bytes, weights(0.25));
        // With 2 of 8 experts per token, four tokens miss 0.75^4 of them on average; all may choose the same two.
        let four = on(Inputs { batch: 4.0, ..inputs }, &devices::H100_SXM);
        assert_eq!(four.untouched_share, 0.75 * 0.75 * 0.75 * 0.75);
        assert_eq!(four.pass_weight_bytes, weights(0.25));
        let moved = four.cache_bytes + four.activation_bytes;
        assert_eq!(four.decode_ideal_bytes, weights(1.0 - four.untouched_share) + moved);
    }

    #[test]
    fn decoding_is_worked_out_by_hand_for_llama_2_7b_on_an_a100() {
        let q8 = bits_per_weight(&formats::Q8_0).unwrap();
        let inputs = Inputs { context: 1024.0, ..with_bits(model("llama_2_7b"), q8) };
        let outputs = on(inputs, &devices::A100_SXM_80GB);
        // All weights except the embedding table: 6738415616 - 32000 x 4096 parameters at 8.5 bits.
        let weights = (6_738_415_616.0 - 131_072_000.0) * 8.5 / 8.0;
        assert_eq!(outputs.pass_weight_bytes, weights);
        let cache = 524_288.0 * 1024.0;
        assert_eq!(outputs.cache_bytes, cache);
        let seconds = (weights + cache) / 2039e9;
        assert!((outputs.decode_least_time / seconds - 1.0).abs() < 1e-12);
        assert_eq!(outputs.decode_bound, DecodeBound::Memory);
        // 2 x 32 layers x 32 heads x 256 elements for each cached token.
        assert_eq!(outputs.decode_attention_flops, 524_288.0 * 1024.0);
    }

    #[test]
    fn a_prompt_is_worked_out_by_hand_for_tinyllama_on_a_t4() {
        let inputs = Inputs { prompt: 512.0, ..model("tinyllama_1_1b") };
        let outputs = on(inputs, &devices::T4);
        // 2 x (parameters without embedding and head) x 512, and the head once.
        let matrix = 2.0 * (1_100_048_384.0 - 2.0 * 65_536_000.0) * 512.0 + 2.0 * 65_536_000.0;
        assert_eq!(outputs.prefill_matrix_flops + outputs.prefill_head_flops, matrix);
        // 22 layers x 2 x 32 heads x 128 elements for each of 512 x 513 / 2 pairs.
        assert_eq!(outputs.prefill_attention_flops, 180_224.0 * 131_328.0);
        let seconds = (matrix + 180_224.0 * 131_328.0) / 65e12;
        assert!((outputs.prefill_least_time / seconds - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_missing_peak_is_an_error_with_the_known_precisions() {
        let error = DeviceProfile::from_device(&devices::A100_SXM_80GB, Some(Precision::Fp8)).unwrap_err();
        let expected = "a100-sxm-80gb has no peak for fp8; known peaks: fp32, tf32, fp16, bf16, int8, int4";
        assert_eq!(error.to_string(), expected);
    }

    fn rate(device: &Device, kind: Numbers) -> (Precision, Option<f64>) {
        let Rate { precision, gflop_s } = DeviceProfile::from_device(device, None).unwrap().rate(kind);
        (precision, gflop_s)
    }

    #[test]
    fn each_element_type_uses_the_fastest_units_that_support_it() {
        let published = |device: &Device, precision: Precision| (precision, precision.peak(device));
        let expected = |device, kind, precision| {
            assert_eq!(rate(device, kind), published(device, precision), "{} {kind:?}", device.name);
        };
        for kind in [Numbers::Narrow, Numbers::Bytes] {
            expected(&devices::RTX_4090, kind, Precision::Int8);
            expected(&devices::RASPBERRY_PI_5, kind, Precision::Int8);
            // RDNA 3 has no faster int8 than fp16, and Maxwell has only fp32.
            expected(&devices::STRIX_HALO_RYZEN_AI_MAX_395, kind, Precision::Fp16);
            expected(&devices::TESLA_M40_24GB, kind, Precision::Fp32);
            expected(&devices::APPLE_M2_ULTRA, kind, Precision::Fp32);
        }
        expected(&devices::B200_HGX, Numbers::Fp4, Precision::Fp4);
        expected(&devices::RTX_4090, Numbers::Fp4, Precision::Int8);
        expected(&devices::RTX_3090, Numbers::Fp4, Precision::Int8);
        expected(&devices::H200_SXM, Numbers::Fp8, Precision::Fp8);
        expected(&devices::A100_SXM_80GB, Numbers::Fp8, Precision::Fp16);
        expected(&devices::A100_SXM_80GB, Numbers::Half, Precision::Fp16);
        // A GeForce is fastest with FP16 accumulation.
        assert_eq!(rate(&devices::RTX_4090, Numbers::Half), (Precision::Fp16, devices::RTX_4090.fp16_fast));
    }

    #[test]
    fn units_without_a_published_peak_set_no_ceiling() {
        // A DGX Spark has 8-bit and 16-bit units without published peaks; neither FP32 nor FP4 may replace them.
        for (kind, precision) in [
            (Numbers::Bytes, Precision::Int8),
            (Numbers::Half, Precision::Fp16),
            (Numbers::Single, Precision::Fp16),
        ] {
            assert_eq!(rate(&devices::DGX_SPARK_GB10, kind), (precision, None));
        }
        assert_eq!(rate(&devices::DGX_SPARK_GB10, Numbers::Fp4).1, devices::DGX_SPARK_GB10.fp4);
        // The matrix units of an M5 and the boost clocks of these devices are not published.
        assert_eq!(rate(&devices::APPLE_M5_10C, Numbers::Half).1, None);
        assert_eq!(rate(&devices::EPYC_9654, Numbers::Bytes).1, None);
        assert_eq!(rate(&devices::RTX_2060_6GB, Numbers::Half).1, None);
        let target = DeviceProfile::from_device(&devices::DGX_SPARK_GB10, None).unwrap();
        let prediction =
            predict(model("llama_2_7b"), &WeightPrecision::from_format(&formats::Q8_0), &target).unwrap();
        assert!(!prediction.knows_arithmetic());
        let memory = prediction.outputs.bandwidth_ceiling;
        assert_eq!(prediction.outputs.decode_ceiling, memory, "only memory limits decode");
        assert_eq!(prediction.rates[0].1.to_string(), "unknown (no published or measured int8 peak)");
    }

    #[test]
    fn every_rate_is_a_published_peak_or_unknown() {
        for device in devices::ALL {
            for &kind in Numbers::ALL {
                let (precision, gflop_s) = rate(device, kind);
                let Some(gflop_s) = gflop_s else { continue };
                let published =
                    [precision.peak(device), device.fp16_fast.filter(|_| precision == Precision::Fp16)];
                assert!(
                    published.contains(&Some(gflop_s)) || device.boost_clock.is_some(),
                    "{} {kind:?}",
                    device.name
                );
            }
        }
    }

    #[test]
    fn a_requested_precision_changes_the_ideal_and_not_the_ceiling() {
        let target = |precision| DeviceProfile::from_device(&devices::H100_SXM, precision).unwrap();
        let inputs = Inputs { prompt: 4096.0, ..model("llama_3_1_8b") };
        let on = |precision| {
            predict(inputs, &WeightPrecision::from_format(&formats::Q8_0), &target(precision)).unwrap()
        };
        let (plain, slow) = (on(None), on(Some(Precision::Fp32)));
        assert_eq!(plain.outputs, slow.outputs);
        assert!(slow.ideal.prefill_ideal < plain.ideal.prefill_ideal / 10.0);
    }

    /// Published speeds that refuted earlier versions of the ceilings.
    #[test]
    fn published_speeds_are_below_their_ceilings() {
        let q4 = |name: &str| with_bits(model(name), bits_per_weight(&formats::Q4_0).unwrap());
        let q8 = |name: &str| with_bits(model(name), bits_per_weight(&formats::Q8_0).unwrap());
        let on = |inputs: Inputs, kind: Numbers, device: &Device| {
            predict(inputs, &WeightPrecision::all(kind), &DeviceProfile::from_device(device, None).unwrap())
                .unwrap()
                .outputs
        };
        let prompt = Inputs { prompt: 512.0, ..q4("llama_2_7b") };
        // Prompts of Llama 2 7B in Q4_0: llama.cpp discussion 15013.
        assert!(on(prompt, Numbers::Narrow, &devices::RTX_4090).prefill_ceiling > 14_770.0);
        assert!(on(prompt, Numbers::Narrow, &devices::RTX_3090).prefill_ceiling > 5560.0);
        // All 16 or 32 sequences of Qwen3 30B A3B in Q8_0 may use the same experts.
        let step = |batch| Inputs { batch, context: 528.0, ..q8("qwen3_30b_a3b") };
        for batch in [16.0, 32.0] {
            let outputs = on(step(batch), Numbers::Bytes, &devices::DGX_SPARK_GB10);
            assert_eq!(
                outputs.pass_weight_bytes,
                on(step(1.0), Numbers::Bytes, &devices::DGX_SPARK_GB10).pass_weight_bytes
            );
            assert!(outputs.decode_ceiling > 1.2 * outputs.decode_ideal);
        }
        // A prompt of one token moves the same bytes as a decode step without cached tokens.
        let one = Inputs { context: 1.0, prompt: 1.0, ..q8("qwen3_30b_a3b") };
        let outputs = on(one, Numbers::Bytes, &devices::DGX_SPARK_GB10);
        assert_eq!(outputs.prefill_bytes, outputs.decode_bytes);
        // An 8-bit cache takes half the memory of a 16-bit cache.
        let cached = |cache_size| Inputs { batch: 256.0, context: 2048.0, cache_size, ..q8("llama_3_1_8b") };
        let [half, whole] =
            [1.0, 2.0].map(|size| on(cached(size), Numbers::Fp8, &devices::H100_SXM).cache_bytes);
        assert_eq!(2.0 * half, whole);
    }

    #[test]
    fn accepted_drafts_yield_several_tokens_per_pass() {
        let inputs = model("llama_3_1_8b");
        let one = on(inputs, &devices::H100_SXM);
        let four = on(Inputs { tokens_per_pass: 4.0, ..inputs }, &devices::H100_SXM);
        assert_eq!(four.decode_bytes, one.decode_bytes);
        assert_eq!(four.decode_ceiling, 4.0 * one.decode_ceiling);
    }

    #[test]
    fn unknown_power_and_memory_stay_unknown() {
        let target = DeviceProfile::from_device(&devices::GRAVITON3, None).unwrap();
        let prediction = predict(model("llama_2_7b"), &WeightPrecision::all(Numbers::Half), &target).unwrap();
        assert_eq!((prediction.token_energy, prediction.fits), (None, None));
    }

    #[test]
    fn the_batch_size_at_which_decode_becomes_compute_bound_is_found() {
        let inputs = Inputs { context: 1.0, ..model("llama_2_7b") };
        let bound = |batch: f64| Some(on(Inputs { batch, ..inputs }, &devices::H100_SXM).decode_bound);
        let batch = crossing(1.0, 65536.0, bound).unwrap();
        assert_eq!(bound(batch - 1.0), Some(DecodeBound::Memory));
        assert_eq!(bound(batch), Some(DecodeBound::Compute));
    }

    #[test]
    fn out_of_domain_errors_name_the_quantity() {
        let target = DeviceProfile::from_device(&devices::T4, None).unwrap();
        for (inputs, name) in [
            (Inputs { batch: 0.0, ..model("llama_2_7b") }, "batch"),
            (Inputs { context: f64::NAN, ..model("llama_2_7b") }, "context"),
            (Inputs { prompt: 1.5, ..model("llama_2_7b") }, "prompt"),
            (with_bits(model("llama_2_7b"), f64::INFINITY), "dense_bits"),
            (dense(-1.0), "dense_params"),
        ] {
            let refusal = predict(inputs, &WeightPrecision::all(Numbers::Half), &target).unwrap_err();
            let outside: Vec<&str> = refusal.outside().map(|(quantity, _)| quantity.name).collect();
            assert_eq!(outside.first(), Some(&name));
        }
    }

    #[test]
    fn an_encoder_is_not_supported() {
        let config =
            br#"{"model_type": "bert", "hidden_size": 768, "num_attention_heads": 12, "vocab_size": 30522,
            "num_hidden_layers": 12, "intermediate_size": 3072, "max_position_embeddings": 512}"#;
        let model_dims = roofline_models::readers::config(config).unwrap().unwrap();
        assert_eq!(
            inputs(&model_dims).unwrap_err().to_string(),
            "bert is an encoder; it does not generate tokens"
        );
    }
}
