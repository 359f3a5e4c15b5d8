//! Costs, ceilings and ideal times of each operation of a model file on a device.
//!
//! `operation-v1` defines the cost of one operation, and its sums are the totals of `transformer-v1`. `layer-roofline-v1` defines
//! rates of totals, utilization and advice. Models without tokens are in [`feed_forward`] and [`onnx`].

mod attention;
mod cnn;
mod convolution;
pub mod feed_forward;
pub mod llama_bench;
pub mod measure;
pub mod onnx;
mod report;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use self::report::{Device, ModelFile, Profile, Task};

use crate::predict::rate::{UNLIMITED, numbers_of};
use crate::predict::{
    DeviceProfile, Numbers, Precision, Rate, Unsupported, WeightPrecision, dense, makes_no_tokens, mean_rate,
    operation_totals, stored_bits, sum_operations,
};
use roofline_formulas::layer_roofline::{self, Recommendation};
use roofline_formulas::operation::{self, Inputs, Outputs};
use roofline_formulas::transformer;
use roofline_models::{Dtype, Kind, Model, Operation, Role, Runs, Tensor, Work};
use roofline_render::vocabulary::{Bound, Priority};
pub use roofline_render::vocabulary::{By, Phase};

/// Workload of a model that generates tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Workload {
    /// Batch size.
    pub batch: f64,
    /// Context length: cached tokens of each sequence during decode.
    pub context: f64,
    /// Prompt length, in tokens.
    pub prompt: f64,
    /// Bytes per element of the KV cache.
    pub cache_size: f64,
    /// Element type of the KV cache.
    pub cache: Numbers,
}

/// Cost of one or more operations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// FLOPs; a multiply-add counts as two.
    pub flops: f64,
    /// Minimum weight bytes read.
    pub weight_bytes: f64,
    /// Bytes of inputs and outputs, which only ideal figures include.
    pub activation_bytes: f64,
    /// Bytes of KV cache and recurrent state.
    pub cache_bytes: f64,
    /// Minimum memory traffic, in bytes.
    pub bytes: f64,
    /// Arithmetic intensity, in FLOP/byte.
    pub intensity: f64,
    /// Limiting resource of the ceiling.
    pub bound: Bound,
    /// Ceiling, in GFLOP/s.
    pub ceiling_gflop_s: f64,
    /// Minimum compute time, in s.
    pub compute_s: f64,
    /// Minimum time with weights from memory, in s; the sum for several operations.
    pub least_s: f64,
    /// Ideal memory traffic, in bytes, with activations and experts routed uniformly at random.
    pub ideal_bytes: f64,
    /// Ideal time, in s, with the ideal traffic and in the requested precision.
    pub ideal_s: f64,
    /// Share of the summed minimum times of all operations, 0 to 1.
    pub share: f64,
}

/// Operation with its costs.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Layer and role, or the name of the tensor.
    pub name: String,
    /// Layer; null outside the layers.
    pub layer: Option<u64>,
    /// Role in the model.
    pub role: Role,
    /// Kind of the role.
    pub kind: Kind,
    /// Type of the weights.
    pub dtype: Option<String>,
    /// Precision of the fastest units for its element type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// Peak of these units, in GFLOP/s; absent if not published, in which case the ceiling only uses the bandwidth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute_gflop_s: Option<f64>,
    /// Names of the tensors.
    pub tensors: Vec<String>,
    /// Parameters read, including those shared with the embedding by a tied head.
    pub parameters: f64,
    /// Cost of one decode step.
    pub decode: Option<Cost>,
    /// Cost of the prompt.
    pub prefill: Option<Cost>,
    /// Cost of one pass of the batch, for models without tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass: Option<Cost>,
    /// Reason if the cost is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undefined: Option<String>,
    /// Reason if the cost is only an upper bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<String>,
    /// Measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<measure::Measured>,
    /// Reason if a requested measurement is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_measured: Option<String>,
    /// Index into the model's operations.
    #[serde(skip)]
    pub operation: usize,
    /// Inputs of `operation-v1`, without those of the phase.
    #[serde(skip)]
    pub shape: Option<Inputs>,
    /// Rate for ideal figures, in GFLOP/s.
    #[serde(skip)]
    ideal_compute: f64,
    /// Bandwidth, in GB/s.
    #[serde(skip)]
    bandwidth: f64,
}

impl Entry {
    /// Returns the tensor name, or the entry's own name if it has no or several tensors.
    pub fn in_file(&self) -> &str {
        if let [tensor] = self.tensors.as_slice() { tensor } else { &self.name }
    }

    /// Returns the cost in a phase.
    pub fn cost(&self, phase: Phase) -> Option<&Cost> {
        match phase {
            Phase::Decode => self.decode.as_ref(),
            Phase::Prefill => self.prefill.as_ref(),
            Phase::Pass => self.pass.as_ref(),
        }
    }

    /// Returns the inputs of `operation-v1` in a phase at this context and prompt length.
    pub fn in_phase(&self, phase: Phase, context: f64, prompt: f64) -> Option<Inputs> {
        Some(in_phase(self.shape?, phase, self.role, (context, prompt)))
    }

    /// Returns FLOPs and compute rate (GFLOP/s) in a phase; `None` without FLOPs.
    pub fn rate(&self, phase: Phase) -> Option<(f64, f64)> {
        let flops = self.cost(phase)?.flops;
        (flops > 0.0).then(|| (flops, self.compute_gflop_s.unwrap_or(UNLIMITED)))
    }

    /// Returns the cost of one decode step, or of a pass for models without tokens.
    pub fn step(&self) -> Option<&Cost> {
        self.decode.as_ref().or(self.pass.as_ref())
    }
}

/// Total cost of all operations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Total {
    /// FLOPs.
    pub flops: f64,
    /// Minimum weight bytes read.
    pub weight_bytes: f64,
    /// Bytes of inputs and outputs, which only ideal figures include.
    pub activation_bytes: f64,
    /// Bytes of KV cache and recurrent state.
    pub cache_bytes: f64,
    /// Minimum memory traffic, in bytes.
    pub bytes: f64,
    /// Arithmetic intensity, in FLOP/byte.
    pub intensity: f64,
    /// Minimum time, in s; traffic and arithmetic of the whole model overlap.
    pub least_s: f64,
    /// Ceiling of the whole batch, in tokens or samples per second.
    pub ceiling_per_s: f64,
    /// Limiting resource of the ceiling.
    pub bound: Bound,
    /// Ideal memory traffic, in bytes, with activations and experts routed uniformly at random.
    pub ideal_bytes: f64,
    /// Ideal time, in s, with the ideal traffic, dispatch overhead, and in the requested precision.
    pub ideal_s: f64,
    /// Ideal speed, in tokens or samples per second.
    pub ideal_per_s: f64,
    /// Sum of the operations' minimum times, in s; traffic and arithmetic overlap only within each operation.
    pub in_sequence_s: f64,
}

/// Advice of the contract, with the operations it applies to.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Advice {
    /// Name in the contract.
    pub name: String,
    /// Urgency.
    pub priority: Priority,
    /// Recommended action.
    pub text: String,
    /// Number of operations.
    pub operations: usize,
    /// Name of the slowest operation, as in the model file.
    pub first: String,
    /// Names of all operations as in the model file, slowest first.
    #[serde(default)]
    pub names: Vec<String>,
    /// Layers as ranges, followed by operations outside the layers.
    #[serde(default)]
    pub layers: String,
    /// Share of the minimum time of all operations, 0 to 1.
    pub share: f64,
}

/// Costs of a model's operations on a device.
#[derive(Clone, Debug)]
pub struct Costs {
    /// Operations in execution order.
    pub entries: Vec<Entry>,
    /// Total of one decode step; `None` for encoders.
    pub decode: Option<Total>,
    /// Total of the prompt.
    pub prefill: Option<Total>,
    /// Total of a pass of the batch; `None` for models with tokens.
    pub pass: Option<Total>,
    /// Tensors that keep their type because their rows do not divide into the new format's blocks.
    pub kept: usize,
    /// Inputs of `operation-v1` that all operations share.
    pub common: Inputs,
}

/// Group of operations.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Common layer, kind or name.
    pub name: String,
    /// Number of operations.
    pub operations: usize,
    /// Number of operations of unknown cost.
    pub undefined: usize,
    /// Number of operations whose cost is only an upper bound.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub at_most: usize,
    /// Total of the known costs; null if there are none.
    pub cost: Option<Cost>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Row {
    /// Returns the minimum time, in s; 0 if unknown.
    pub fn least_s(&self) -> f64 {
        self.cost.map_or(0.0, |cost| cost.least_s)
    }
}

/// An input is outside a contract's domain.
#[derive(Clone, Debug, PartialEq)]
pub struct OutOfDomain(String);

impl fmt::Display for OutOfDomain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OutOfDomain {}

impl From<operation::OutOfDomain> for OutOfDomain {
    fn from(error: operation::OutOfDomain) -> OutOfDomain {
        OutOfDomain(error.to_string())
    }
}

impl From<layer_roofline::OutOfDomain> for OutOfDomain {
    fn from(error: layer_roofline::OutOfDomain) -> OutOfDomain {
        OutOfDomain(error.to_string())
    }
}

/// Contract and equation of each figure.
pub const SOURCES: &[(&str, &str)] = &[
    ("flops", "operation-v1 flops"),
    ("weight_bytes", "operation-v1 weight_bytes"),
    ("activation_bytes", "operation-v1 activation_bytes"),
    ("cache_bytes", "operation-v1 cache_bytes"),
    ("bytes", "operation-v1 bytes"),
    ("intensity", "operation-v1 arithmetic_intensity"),
    ("bound", "operation-v1 bound, layer-roofline-v1 pass_bound"),
    ("ceiling_gflop_s", "operation-v1 attainable"),
    ("compute_s", "operation-v1 compute_time"),
    ("least_s", "operation-v1 least_time"),
    ("ideal_bytes", "operation-v1 ideal_bytes"),
    ("ideal_s", "operation-v1 ideal_time, layer-roofline-v1 pass_time"),
    ("share", "operation-v1 share"),
    ("parameters", "operation-v1 stored_params"),
    ("ceiling_per_s", "layer-roofline-v1 pass_ceiling"),
    ("ideal_per_s", "layer-roofline-v1 pass_ideal"),
    ("measured.gb_s", "layer-roofline-v1 achieved_bandwidth"),
    ("measured.gflop_s", "layer-roofline-v1 achieved_compute"),
    ("measured.utilization", "layer-roofline-v1 utilization"),
    ("measured.band", "layer-roofline-v1 utilization_band"),
];

/// Returns the costs of a model's operations on a device, with all weights converted to `change` if it is given.
pub fn profile(
    model: &Model,
    target: &DeviceProfile,
    workload: &Workload,
    change: Option<Dtype>,
) -> Result<Costs, OutOfDomain> {
    let Workload { batch, context, prompt, cache_size, cache } = *workload;
    let overhead = target.overhead.unwrap_or(0.0);
    let common = Inputs { batch, cache_size, ..roofs(target) };
    // Check the workload against transformer-v1 first, so that errors use its names.
    let checked = transformer::Inputs {
        batch,
        context,
        prompt,
        cache_size,
        bandwidth: target.bandwidth,
        overhead,
        ..dense(1.0)
    };
    checked.evaluate().map_err(|error| OutOfDomain(error.to_string()))?;
    let tied = has_tied_head(model);
    let mut entries = Vec::new();
    for (index, operation) in model.architecture.operations.iter().enumerate() {
        if operation.work == Work::Unused {
            continue;
        }
        let mut entry = describe(model, operation, index, change);
        let kind = kind(model, operation, change, cache);
        entry.set_rates(target, kind);
        let costs = shape(model, operation, tied, change).and_then(|shape| {
            let shape = entry.at_device_rates(Inputs { batch, cache_size, ..shape });
            let cost = |phase| entry.cost_of(&in_phase(shape, phase, operation.role, (context, prompt)));
            Ok((shape, cost(Phase::Decode)?, cost(Phase::Prefill)?))
        });
        entry.at_most = operation
            .selected_tokens
            .filter(|chosen| (*chosen as f64) < context.max(prompt))
            .map(|chosen| format!("the indexer selects {chosen} tokens, but all are counted"));
        match costs {
            Err(reason) => entry.undefined = Some(reason),
            Ok((shape, decode, prefill)) => {
                entry.parameters = evaluate(&shape).map_or(0.0, |outputs| outputs.stored_params);
                entry.decode = operation.runs.in_decode().then_some(decode);
                entry.prefill = operation.runs.in_prefill().then_some(prefill);
                entry.shape = Some(shape);
            }
        }
        entries.push(entry);
    }
    let encoder = !model.architecture.generates_tokens;
    if encoder {
        entries.iter_mut().for_each(|entry| entry.decode = None);
    }
    let mut total = |phase, tokens: f64| total(&mut entries, phase, common, overhead, batch * tokens);
    let (decode, prefill) = (total(Phase::Decode, 1.0)?, total(Phase::Prefill, prompt)?);
    Ok(Costs { entries, decode, prefill, pass: None, kept: unconverted(model, change), common })
}

/// Returns the inputs of `transformer-v1` for a model file, summed over its tensors as in [`profile`], and its element types.
///
/// Workload and device are left at their defaults.
pub fn inputs(
    model: &Model,
    change: Option<Dtype>,
) -> Result<(transformer::Inputs, WeightPrecision), Unsupported> {
    if !model.architecture.generates_tokens {
        return Err(makes_no_tokens(&model.architecture.name));
    }
    let tied = has_tied_head(model);
    let parts = model.architecture.operations.iter().map(|operation| {
        let unused = operation.work == Work::Unused;
        let shape = if unused { Ok(operation.inputs(tied)) } else { shape(model, operation, tied, change) };
        let undefined =
            |reason| Unsupported(format!("the cost of {} is unknown: {reason}", operation.role.name()));
        Ok((operation, shape.map_err(undefined)?, kind(model, operation, change, Numbers::Half)))
    });
    sum_operations(parts, operation_totals)
}

/// Element type of the largest tensor, the cache or the state.
fn kind(model: &Model, operation: &Operation, change: Option<Dtype>, cache: Numbers) -> Numbers {
    match operation.work {
        Work::Attention(_) => cache,
        Work::State(_) => Numbers::Single,
        _ => match largest(model, operation) {
            Some(tensor) => numbers_of(changed(tensor, change)),
            None => numbers_of(change.unwrap_or(WITHOUT_TENSORS)),
        },
    }
}

fn largest<'a>(model: &'a Model, operation: &Operation) -> Option<&'a Tensor> {
    let tensors = operation.tensors.iter().filter_map(|index| model.tensors.get(*index));
    tensors.max_by_key(|tensor| tensor.bytes)
}

fn changed(tensor: &Tensor, change: Option<Dtype>) -> Dtype {
    change.filter(|change| fits(tensor, *change)).unwrap_or(tensor.dtype)
}

/// Number of matrices that keep their type.
fn unconverted(model: &Model, change: Option<Dtype>) -> usize {
    change.map_or(0, |change| {
        model
            .tensors
            .iter()
            .filter(|tensor| tensor.dims.len() > 1 && tensor.companion_of.is_none() && !fits(tensor, change))
            .count()
    })
}

fn has_tied_head(model: &Model) -> bool {
    model
        .architecture
        .operations
        .iter()
        .any(|operation| operation.role == Role::Head && operation.parameters == 0)
}

fn describe(model: &Model, operation: &Operation, index: usize, change: Option<Dtype>) -> Entry {
    let role = operation.role;
    let tensors = operation.tensors.iter().filter_map(|index| model.tensors.get(*index));
    let largest = largest(model, operation);
    let dtype = largest.map(|tensor| changed(tensor, change));
    Entry {
        name: match (operation.layer, largest) {
            // Operations without a known role are named after their tensor.
            (_, Some(tensor)) if operation.role == Role::Other => tensor.name.clone(),
            (Some(layer), _) => format!("{layer}.{role}"),
            (None, _) => role.to_string(),
        },
        layer: operation.layer,
        role,
        kind: role.kind(),
        dtype: dtype.map(|dtype| dtype.to_string()),
        precision: None,
        compute_gflop_s: None,
        tensors: tensors.map(|tensor| tensor.name.clone()).collect(),
        parameters: 0.0,
        decode: None,
        prefill: None,
        pass: None,
        undefined: None,
        at_most: None,
        measured: None,
        not_measured: None,
        operation: index,
        shape: None,
        ideal_compute: 1.0,
        bandwidth: 1.0,
    }
}

/// Returns the inputs of `operation-v1`, or the reason why the cost is unknown.
fn shape(model: &Model, operation: &Operation, tied: bool, change: Option<Dtype>) -> Result<Inputs, String> {
    match &operation.work {
        Work::Undefined { reason } => return Err(reason.clone()),
        Work::Convolution { .. } => return Err("the input size is not in the file".into()),
        _ => {}
    }
    let mut shape = operation.inputs(tied);
    if let Runs::Input { times } = operation.runs {
        shape.tokens = times as f64;
    }
    let parameters = evaluate(&shape)?.stored_params;
    if parameters > 0.0 {
        shape.bits_per_weight = bits(model, operation, parameters, change)
            .ok_or("a tensor is missing or has a type of unknown size")?;
    }
    Ok(shape)
}

fn evaluate(inputs: &Inputs) -> Result<Outputs, String> {
    inputs.evaluate().map_err(|error| error.to_string())
}

/// Bits per weight of an operation, as stored or converted.
fn bits(model: &Model, operation: &Operation, parameters: f64, change: Option<Dtype>) -> Option<f64> {
    if model.tensors.is_empty() {
        let (weights, bytes) = change.unwrap_or(WITHOUT_TENSORS).block()?;
        return stored_bits(bytes as f64, weights as f64).ok();
    }
    let mut bytes = 0u64;
    for index in &operation.tensors {
        let tensor = model.tensors.get(*index)?;
        bytes = bytes.checked_add(stored(tensor, change)?)?;
    }
    stored_bits(bytes as f64, parameters).ok()
}

/// Size of a tensor in bytes, as stored or converted.
fn stored(tensor: &Tensor, change: Option<Dtype>) -> Option<u64> {
    match change {
        // Separately stored scales are dropped by a conversion.
        Some(_) if tensor.companion_of.is_some() => Some(0),
        Some(change) if fits(tensor, change) => change.bytes(tensor.elements()),
        _ => tensor.bytes,
    }
}

/// Weight type of models given by their dimensions only.
pub const WITHOUT_TENSORS: Dtype = Dtype::Bf16;

/// Returns true if a tensor can be converted to a type. Vectors keep their type.
fn fits(tensor: &Tensor, change: Dtype) -> bool {
    match (tensor.dims.as_slice(), change.block()) {
        ([_, .., row], Some((block, _))) => row.is_multiple_of(block) && tensor.bytes.is_some(),
        _ => false,
    }
}

/// Inputs of an empty operation on the device, in 16 bits.
fn roofs(target: &DeviceProfile) -> Inputs {
    let compute = target.rate(Numbers::Half).compute();
    Inputs { bandwidth: target.bandwidth, compute, resident: target.caches, ..Inputs::new(1.0, 1.0) }
}

/// Applies a phase to an operation. Operations with their own token count or context keep them.
fn in_phase(shape: Inputs, phase: Phase, role: Role, (context, prompt): (f64, f64)) -> Inputs {
    let own = |shape: f64, given: f64| if shape > 1.0 { shape } else { given };
    // Cross-attention of a decoder attends to the encoded prompt.
    let seen = if role == Role::CrossAttention { prompt } else { context };
    match phase {
        Phase::Decode => Inputs { context: own(shape.context, seen), ..shape },
        Phase::Prefill if role.is_once_per_sequence() => Inputs { prefill: 1.0, ..shape },
        Phase::Prefill => Inputs { prefill: 1.0, tokens: own(shape.tokens, prompt), ..shape },
        Phase::Pass => shape,
    }
}

impl Entry {
    /// Sets the rates for an element type.
    fn set_rates(&mut self, target: &DeviceProfile, kind: Numbers) {
        let Rate { precision, gflop_s } = target.rate(kind);
        (self.precision, self.compute_gflop_s) = (Some(precision), gflop_s);
        self.ideal_compute = target.ideal_rate(kind).compute();
        self.bandwidth = target.bandwidth;
    }

    fn at_device_rates(&self, shape: Inputs) -> Inputs {
        let compute = self.compute_gflop_s.unwrap_or(UNLIMITED);
        Inputs { bandwidth: self.bandwidth, compute, ..shape }
    }

    fn cost_of(&self, inputs: &Inputs) -> Result<Cost, String> {
        let ceiling = evaluate(inputs)?;
        let ideal = evaluate(&Inputs { compute: self.ideal_compute, ..*inputs })?;
        Ok(Cost::from_outputs(&ceiling, ideal.ideal_time))
    }
}

impl Cost {
    fn from_outputs(outputs: &Outputs, ideal_s: f64) -> Cost {
        Cost {
            flops: outputs.flops,
            weight_bytes: outputs.weight_bytes,
            activation_bytes: outputs.activation_bytes,
            cache_bytes: outputs.cache_bytes,
            bytes: outputs.bytes,
            intensity: outputs.arithmetic_intensity,
            bound: outputs.bound.into(),
            ceiling_gflop_s: outputs.attainable,
            compute_s: outputs.compute_time,
            least_s: outputs.least_time,
            ideal_bytes: outputs.ideal_bytes,
            ideal_s,
            share: 0.0,
        }
    }

    /// Returns the share of `whole_time`, by the contract.
    fn share_of(&self, whole_time: f64, bandwidth: f64) -> Result<f64, OutOfDomain> {
        let alone = Inputs {
            other_flops: self.flops,
            other_bytes: self.bytes,
            compute: self.compute(),
            bandwidth,
            whole_time,
            ..Inputs::new(1.0, 1.0)
        };
        Ok(alone.evaluate()?.share)
    }

    /// Returns the compute rate, in GFLOP/s.
    fn compute(&self) -> f64 {
        mean_rate(self.flops / 1e9, self.compute_s, 1.0)
    }
}

/// Inputs of `layer-roofline-v1` for given totals.
pub(crate) fn pass_inputs(flops: f64, bytes: f64, bandwidth: f64, compute: f64) -> layer_roofline::Inputs {
    let none = layer_roofline::Inputs::new(1.0, 1.0);
    layer_roofline::Inputs { other_flops: flops, other_bytes: bytes, bandwidth, compute, ..none }
}

/// Sums a phase and sets the share of each operation. `results` is the number of tokens or samples produced.
fn total(
    entries: &mut [Entry],
    phase: Phase,
    common: Inputs,
    overhead: f64,
    results: f64,
) -> Result<Option<Total>, OutOfDomain> {
    let costs = || entries.iter().filter_map(|entry| Some((entry, entry.cost(phase)?)));
    if costs().next().is_none() {
        return Ok(None);
    }
    let sum = |figure: fn(&Cost) -> f64| costs().map(|(_, cost)| figure(cost)).sum::<f64>();
    let (flops, bytes) = (sum(|cost| cost.flops), sum(|cost| cost.bytes));
    let in_sequence_s = sum(|cost| cost.least_s);
    let ideal_bytes = sum(|cost| cost.ideal_bytes);
    // Operations with different element types run on different units, one after the other.
    let compute = mean_rate(flops / 1e9, sum(|cost| cost.compute_s), common.compute);
    let pass = layer_roofline::Inputs {
        overhead,
        results,
        resident: common.resident,
        extra_bytes: (ideal_bytes - bytes).max(0.0),
        ..pass_inputs(flops, bytes, common.bandwidth, compute)
    };
    let total_outputs = pass.evaluate()?;
    let ideal_compute_s = costs().map(|(entry, cost)| cost.flops / 1e9 / entry.ideal_compute).sum::<f64>();
    let compute = mean_rate(flops / 1e9, ideal_compute_s, common.compute);
    let ideal = layer_roofline::Inputs { compute, ..pass }.evaluate()?;
    let total = Total {
        flops,
        weight_bytes: sum(|cost| cost.weight_bytes),
        activation_bytes: sum(|cost| cost.activation_bytes),
        cache_bytes: sum(|cost| cost.cache_bytes),
        bytes,
        intensity: total_outputs.arithmetic_intensity,
        least_s: total_outputs.least_time,
        ceiling_per_s: total_outputs.pass_ceiling,
        bound: total_outputs.pass_bound.into(),
        ideal_bytes,
        ideal_s: ideal.pass_time,
        ideal_per_s: ideal.pass_ideal,
        in_sequence_s,
    };
    set_shares(entries, phase, common.bandwidth, in_sequence_s)?;
    Ok(Some(total))
}

fn set_shares(
    entries: &mut [Entry],
    phase: Phase,
    bandwidth: f64,
    whole_time: f64,
) -> Result<(), OutOfDomain> {
    for entry in entries {
        let cost = match phase {
            Phase::Decode => &mut entry.decode,
            Phase::Prefill => &mut entry.prefill,
            Phase::Pass => &mut entry.pass,
        };
        if let Some(cost) = cost {
            cost.share = cost.share_of(whole_time, bandwidth)?;
        }
    }
    Ok(())
}

impl Costs {
    /// Returns the total of a phase.
    pub fn total(&self, phase: Phase) -> Option<&Total> {
        match phase {
            Phase::Decode => self.decode.as_ref(),
            Phase::Prefill => self.prefill.as_ref(),
            Phase::Pass => self.pass.as_ref(),
        }
    }

    /// Returns the rate of the units that perform most FLOPs of a phase.
    pub fn most(&self, phase: Phase) -> Option<Rate> {
        let mut rates: Vec<(Rate, f64)> = Vec::new();
        for entry in &self.entries {
            let (Some(cost), Some(precision)) = (entry.cost(phase), entry.precision) else { continue };
            let rate = Rate { precision, gflop_s: entry.compute_gflop_s };
            match rates.iter_mut().find(|(known, _)| *known == rate) {
                Some((_, flops)) => *flops += cost.flops,
                None => rates.push((rate, cost.flops)),
            }
        }
        rates.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(rate, _)| rate)
    }

    /// Returns the operations of unknown cost. With any, totals are bounds: FLOPs and bytes from below, speeds from above.
    pub fn undefined(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.undefined.is_some())
    }

    /// Returns the operations whose cost is only an upper bound. With any, totals are bounds: FLOPs and bytes from above, speeds
    /// from below.
    pub fn at_most(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.at_most.is_some())
    }

    /// Groups the operations, in execution order.
    pub fn rows(&self, by: By, phase: Phase, target: &DeviceProfile) -> Result<Vec<Row>, OutOfDomain> {
        let name = |entry: &Entry| match (by, entry.layer) {
            (By::Operation, _) => entry.name.clone(),
            (By::Layer, Some(layer)) => format!("layer {layer}"),
            // Operations without a known role form their own group.
            (By::Layer, None) if self.pass.is_some() || entry.role == Role::Other => entry.name.clone(),
            (By::Layer, None) => entry.role.to_string(),
            (By::Kind, _) => entry.kind.to_string(),
        };
        let mut rows: Vec<Row> = Vec::new();
        let mut places = std::collections::HashMap::new();
        for (index, entry) in self.entries.iter().enumerate() {
            let name = name(entry);
            // Operations with equal names are not merged.
            let apart = (by == By::Operation).then_some(index);
            let place = *places.entry((name.clone(), apart)).or_insert(rows.len());
            if place == rows.len() {
                rows.push(Row { name, operations: 0, undefined: 0, at_most: 0, cost: None });
            }
            let Some(row) = rows.get_mut(place) else { continue };
            row.operations += 1;
            row.undefined += usize::from(entry.undefined.is_some());
            row.at_most += usize::from(entry.at_most.is_some());
            row.cost = match (row.cost, entry.cost(phase)) {
                (Some(sum), Some(more)) => Some(sum_costs(&sum, more, target)?),
                (sum, more) => sum.or(more.copied()),
            };
        }
        Ok(rows)
    }

    /// Returns the contract's advice for a phase, most urgent first.
    pub fn advice(&self, phase: Phase, target: &DeviceProfile) -> Result<Vec<Advice>, OutOfDomain> {
        let mut found: Vec<(Recommendation, Vec<&Entry>)> = Vec::new();
        for entry in &self.entries {
            let Some(cost) = entry.cost(phase) else { continue };
            // Operations without weights move the cache.
            let cached = 8.0 * self.common.cache_size;
            let bits_per_weight = match &entry.shape {
                Some(shape) if entry.parameters > 0.0 => shape.bits_per_weight,
                _ => cached,
            };
            let cost = pass_inputs(cost.flops, cost.bytes, target.bandwidth, cost.compute());
            let inputs = layer_roofline::Inputs { bits_per_weight, ..cost };
            let outputs = inputs.evaluate()?;
            for advice in layer_roofline::recommendations(&inputs, &outputs).into_iter().flatten() {
                match found.iter_mut().find(|(known, _)| *known == advice) {
                    Some((_, entries)) => entries.push(entry),
                    None => found.push((advice, vec![entry])),
                }
            }
        }
        found.sort_by_key(|(advice, _)| advice.priority);
        let share = |entry: &Entry| entry.cost(phase).map_or(0.0, |cost| cost.share);
        let advice = found.into_iter().map(|(advice, mut entries)| {
            let layers = layers(&entries);
            entries.sort_by(|a, b| share(b).total_cmp(&share(a)));
            let names: Vec<String> = entries.iter().map(|entry| entry.in_file().to_owned()).collect();
            Advice {
                name: advice.name.to_owned(),
                priority: advice.priority.into(),
                text: advice.text.to_owned(),
                operations: entries.len(),
                first: names.first().cloned().unwrap_or_default(),
                names,
                layers,
                share: entries.iter().map(|entry| share(entry)).sum(),
            }
        });
        // Skip advice for operations that take hardly any time.
        Ok(advice.filter(|advice| advice.share >= MIN_ADVICE_SHARE).collect())
    }
}

/// Minimum share of the time for advice.
const MIN_ADVICE_SHARE: f64 = 0.01;

/// Formats layers as ranges, followed by the names of operations outside the layers.
fn layers(entries: &[&Entry]) -> String {
    let numbers: std::collections::BTreeSet<u64> = entries.iter().filter_map(|entry| entry.layer).collect();
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let ranges = ranges.into_iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    let outside = entries.iter().filter(|entry| entry.layer.is_none()).map(|entry| entry.name.clone());
    ranges.chain(outside).collect::<Vec<_>>().join(", ")
}

/// Sums two costs that are incurred one after the other.
fn sum_costs(a: &Cost, b: &Cost, target: &DeviceProfile) -> Result<Cost, OutOfDomain> {
    let compute_s = a.compute_s + b.compute_s;
    let compute = mean_rate((a.flops + b.flops) / 1e9, compute_s, 1.0);
    let whole = Inputs {
        other_flops: a.flops + b.flops,
        other_bytes: a.bytes + b.bytes,
        bandwidth: target.bandwidth,
        compute,
        ..Inputs::new(1.0, 1.0)
    };
    Ok(Cost {
        weight_bytes: a.weight_bytes + b.weight_bytes,
        activation_bytes: a.activation_bytes + b.activation_bytes,
        cache_bytes: a.cache_bytes + b.cache_bytes,
        compute_s,
        least_s: a.least_s + b.least_s,
        ideal_bytes: a.ideal_bytes + b.ideal_bytes,
        share: a.share + b.share,
        ..Cost::from_outputs(&whole.evaluate()?, a.ideal_s + b.ideal_s)
    })
}
