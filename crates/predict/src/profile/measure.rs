//! Measures the operations of a model file: matrix products and attention on the stored weights.
//!
//! All operations run in execution order, pass by pass, so that a model larger than the caches is read from memory each time.

use std::collections::HashMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::attention::Attention;
use super::convolution::Convolution;
use super::{Entry, OutOfDomain, Phase, Total, Workload, evaluate, pass_inputs};
use crate::predict::stored_bits;
use roofline_formulas::layer_roofline;
use roofline_formulas::operation::{Inputs, Outputs};
use roofline_kernels::isa::{Isa, IsaError};
use roofline_kernels::{
    self as kernels, Arithmetic, DynMatrix, KernelError, Matrix, Streams, ThreadPool, WeightFormat,
};
use roofline_machine::{Counters, Machine, Meter, free_memory};
use roofline_models::{self as model, Dtype, Format, Model, Tensor};
use roofline_render::reference::RelativeToReference;
use roofline_render::vocabulary::Band;

/// Bytes per activation.
const ACTIVATION: f64 = 4.0;
/// Reason for operations without a weight matrix.
pub const NO_PRODUCT: &str = "not a matrix product";
/// Reason for operations that do not run in the measured phase.
pub const NOT_NOW: &str = "not part of the measured phase";
/// Maximum bytes of weights copied because of their alignment in the file.
const MAX_COPIED_BYTES: usize = 1 << 30;
/// Minimum and maximum number of passes after the first.
const PASS_LIMITS: (usize, usize) = (3, 40);
/// Interval between runs of the reference load.
const REFERENCE_EVERY: Duration = Duration::from_millis(20);

/// Measurement of an operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// Median time of all passes but the first, in s.
    pub median_s: f64,
    /// Minimum time, in s.
    pub best_s: f64,
    /// Maximum time, in s.
    pub worst_s: f64,
    /// Number of passes, without the first.
    pub runs: usize,
    /// Time of the first pass, in s; it may read the weights from disk.
    pub first_s: f64,
    /// True if the first pass waited for the disk; null if the system does not report it.
    pub first_from_disk: Option<bool>,
    /// Achieved bandwidth at the median, in GB/s.
    pub gb_s: f64,
    /// Achieved compute rate at the median, in GFLOP/s.
    pub gflop_s: f64,
    /// Utilization of the binding roof, 0 to 1.
    pub utilization: f64,
    /// Rating of the utilization.
    pub band: Band,
    /// Minimum time for the same bytes and FLOPs, in s.
    pub least_s: f64,
    /// Median minus minimum time, in s.
    pub residual_s: f64,
    /// True if the weights were copied beforehand because of their alignment in the file.
    pub copied: bool,
    /// Number of tokens multiplied at once.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub columns: usize,
}

fn one() -> usize {
    1
}

fn is_one(columns: &usize) -> bool {
    *columns == 1
}

/// Work to be measured of a model with tokens.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredWork<'a> {
    /// Decode or prefill.
    pub phase: Phase,
    /// Batch size and lengths.
    pub workload: &'a Workload,
    /// KV cache type.
    pub cache: &'a str,
}

impl MeasuredWork<'_> {
    /// Maximum number of tokens at once, which bounds the memory of activations.
    pub const MAX_TOKENS: usize = 4096;

    /// Returns the number of tokens in a pass.
    pub fn tokens(&self) -> f64 {
        let each = if self.phase == Phase::Prefill { self.workload.prompt } else { 1.0 };
        each * self.workload.batch
    }
}

/// Passes over all measured operations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Passes {
    /// Median time of a pass without the first, in s.
    pub median_s: f64,
    /// Minimum time, in s.
    pub best_s: f64,
    /// Number of passes, without the first.
    pub runs: usize,
    /// Comparison with a reference load, interleaved with the operations.
    pub reference: Option<RelativeToReference>,
    /// Energy of a pass, in J; absent if the energy counters cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joules: Option<f64>,
}

impl Passes {
    /// Summarizes the times of each pass and its reference, in s, and the energy of all passes.
    fn from_rounds(rounds: &[(f64, f64)], joules: Option<f64>) -> Option<Passes> {
        let mut times: Vec<f64> = rounds.iter().map(|round| round.0).collect();
        times.sort_by(f64::total_cmp);
        let (best_s, median_s) = (*times.first()?, *times.get(times.len() / 2)?);
        let joules = joules.map(|joules| joules / times.len() as f64);
        Some(Passes {
            median_s,
            best_s,
            runs: times.len(),
            reference: RelativeToReference::from_rounds(rounds),
            joules,
        })
    }
}

/// End-to-end measurement of a token or prompt: every product and all attention.
///
/// Embedding lookups, norms, rotary embeddings, activation functions, residual sums and sampling are not included.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EndToEnd {
    /// Decode or prefill.
    pub phase: Phase,
    /// Number of tokens in a pass.
    pub tokens: f64,
    /// Median time of a pass, in s.
    pub median_s: f64,
    /// Minimum time, in s.
    pub best_s: f64,
    /// Speed at the median, in token/s; comparable to tg or pp of llama-bench.
    pub tokens_per_s: f64,
    /// Speed of the fastest pass, in token/s.
    pub best_tokens_per_s: f64,
    /// Share of attention in the time, 0 to 1.
    pub attention: f64,
    /// Energy per token, in J; absent if the energy counters cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joules_per_token: Option<f64>,
    /// Ceiling, in token/s; absent if only bounds are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling_tokens_per_s: Option<f64>,
    /// Share of the ceiling reached at the median, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
}

impl EndToEnd {
    /// Combines the operations of all passes; `None` if any was not measured. Pass a `ceiling` only if it is not just a bound.
    pub fn new(
        entries: &[Entry],
        passes: &Passes,
        through: &MeasuredWork,
        ceiling: Option<&Total>,
    ) -> Option<EndToEnd> {
        let outside = |entry: &Entry| matches!(entry.not_measured.as_deref(), Some(NO_PRODUCT | NOT_NOW));
        if entries.iter().any(|entry| entry.measured.is_none() && !outside(entry)) {
            return None;
        }
        let time = |wanted: fn(&Entry) -> bool| -> f64 {
            let measured = entries.iter().filter(|entry| wanted(entry));
            measured.filter_map(|entry| Some(entry.measured.as_ref()?.median_s)).sum()
        };
        let tokens = through.tokens();
        let tokens_per_s = tokens / passes.median_s;
        let ceiling_tokens_per_s = ceiling.map(|total| total.ceiling_per_s);
        Some(EndToEnd {
            phase: through.phase,
            tokens,
            median_s: passes.median_s,
            best_s: passes.best_s,
            tokens_per_s,
            best_tokens_per_s: tokens / passes.best_s,
            attention: time(|entry| entry.role.reads_cache()) / time(|_| true),
            joules_per_token: passes.joules.map(|joules| joules / tokens),
            ceiling_tokens_per_s,
            share: ceiling_tokens_per_s.map(|ceiling| tokens_per_s / ceiling),
        })
    }
}

/// Reference load that reads uncached memory, one part at a time.
struct Reference {
    memory: Vec<f32>,
    part: usize,
    next: usize,
    streams: Streams,
}

impl Reference {
    fn new(machine: &Machine) -> Reference {
        /// Minimum and maximum size, in bytes, and the size of one part.
        const SIZE_LIMITS: (usize, usize) = (16 << 20, 1 << 30);
        const PART_BYTES: usize = 64 << 20;
        let largest = machine.caches.iter().map(|cache| cache.bytes).max().unwrap_or(0);
        let setting = machine.all.read.setting;
        let bytes = (2 * largest).clamp(SIZE_LIMITS.0, SIZE_LIMITS.1);
        Reference {
            memory: vec![1.0; bytes / size_of::<f32>()],
            part: bytes.min(PART_BYTES) / size_of::<f32>(),
            next: 0,
            streams: Streams { count: setting.streams, prefetch: setting.prefetch },
        }
    }

    /// Reads the next part and returns the time, in s.
    fn run(&mut self, team: &ThreadPool) -> f64 {
        if self.next + self.part > self.memory.len() {
            self.next = 0;
        }
        let memory = &self.memory[self.next..][..self.part];
        self.next += self.part;
        let start = Instant::now();
        let share = memory.len().div_ceil(team.threads());
        team.run(|index| {
            if let Some(part) = memory.chunks(share).nth(index) {
                black_box(kernels::read(team.isa(), part, self.streams));
            }
        });
        start.elapsed().as_secs_f64()
    }
}

/// Nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// Starting threads failed.
    #[error("cannot start threads: {0}")]
    Threads(#[from] std::io::Error),
    /// The machine was measured with an instruction set that is not available.
    #[error(transparent)]
    Isa(#[from] IsaError),
    /// A kernel rejected its input.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// An input is outside a contract's domain.
    #[error(transparent)]
    OutOfDomain(#[from] OutOfDomain),
}

/// Measures the entries selected by `wanted` for about `budget` and stores the results in them.
///
/// Models without tokens pass `None` for `through` and run one sample. `progress` receives the pass and the maximum number of
/// passes.
pub fn measure(
    model: &Model,
    entries: &mut [Entry],
    machine: &Machine,
    through: Option<MeasuredWork>,
    budget: Duration,
    wanted: impl Fn(&Entry) -> bool,
    mut progress: impl FnMut(usize, usize),
) -> Result<Option<Passes>, MeasureError> {
    let mut copies = Copies::default();
    for entry in entries.iter_mut().filter(|entry| wanted(entry)) {
        let now = through.is_none_or(|through| entry.cost(through.phase).is_some());
        let reason =
            if now { copies.add(model, entry.operation).err() } else { Some(entry.not_measured_reason()) };
        entry.not_measured = reason;
    }
    let mut jobs = Vec::new();
    // Weights are memory-mapped, so caches may use free memory.
    let mut free_bytes = free_memory().map_or(usize::MAX, |free| free / 2);
    for place in 0..entries.len() {
        let shared_kv_heads = through.and_then(|through| shared_kv_heads(entries, place, &through));
        let Some(entry) = entries.get_mut(place).filter(|one| wanted(one) && one.not_measured.is_none())
        else {
            continue;
        };
        match copies.job(model, entry, through.as_ref(), shared_kv_heads, free_bytes) {
            Ok(job) => {
                free_bytes = free_bytes.saturating_sub(job.cache_bytes());
                jobs.push(Job { place, ..job });
            }
            Err(reason) => entry.not_measured = Some(reason),
        }
    }
    let team = ThreadPool::new(Isa::from_name(&machine.isa)?, machine.threads)?;
    let widest =
        |side: fn(&Step) -> usize| jobs.iter().flat_map(|job| &job.steps).map(side).max().unwrap_or(0);
    let mut runner = Runner {
        team,
        x: (0..widest(|step| step.numbers_in())).map(|at| (at % 17) as f32 / 16.0 - 0.5).collect(),
        out: vec![0.0; widest(|step| step.numbers_out())],
    };
    if jobs.is_empty() {
        return Ok(None);
    }
    for step in jobs.iter_mut().flat_map(|job| &mut job.steps) {
        if let Work::Attention(attention) = &mut step.work {
            attention.fill(&runner.team, &runner.x)?;
        }
    }
    let mut reference = Reference::new(machine);
    let mut rounds = Vec::new();
    let mut meter = Meter::new(Counters::detect().ok());
    let start = Instant::now();
    for pass in 0..=PASS_LIMITS.1 {
        if pass > PASS_LIMITS.0 && start.elapsed() > budget {
            break;
        }
        progress(pass, PASS_LIMITS.1);
        let mut references: Vec<f64> = Vec::new();
        let mut last = None;
        for job in &mut jobs {
            if last.is_none_or(|last: Instant| last.elapsed() > REFERENCE_EVERY) {
                meter.stop();
                references.push(reference.run(&runner.team));
                last = Some(Instant::now());
                if pass > 0 {
                    meter.start();
                }
            }
            job.route(pass);
            let faults = if pass == 0 { major_faults() } else { None };
            let start = Instant::now();
            for step in &mut job.steps {
                runner.run(step)?;
            }
            let seconds = start.elapsed().as_secs_f64();
            if pass > 0 {
                job.times.push(seconds);
            } else {
                let disk = faults.zip(major_faults()).map(|(before, after)| after > before);
                job.first = Some((seconds, disk));
            }
        }
        meter.stop();
        if pass > 0 {
            let pass_time = jobs.iter().filter_map(|job| job.times.last()).sum();
            rounds.push((pass_time, references.iter().sum::<f64>() / references.len() as f64));
        }
    }
    for job in &mut jobs {
        let measured = job.finish(machine)?;
        if let Some(entry) = entries.get_mut(job.place) {
            entry.measured = measured;
        }
    }
    Ok(Passes::from_rounds(&rounds, meter.joules()))
}

impl Entry {
    /// Returns why an operation without cost in the phase is not measured.
    fn not_measured_reason(&self) -> String {
        self.undefined.clone().unwrap_or_else(|| NOT_NOW.to_owned())
    }
}

/// KV heads of the earlier layer whose cache this layer reuses (cross-layer KV sharing).
fn shared_kv_heads(entries: &[Entry], place: usize, through: &MeasuredWork) -> Option<f64> {
    let shape =
        |entry: &Entry| entry.in_phase(through.phase, through.workload.context, through.workload.prompt);
    let own = shape(entries.get(place)?)?;
    let before = entries.get(..place)?.iter().rev().filter_map(shape).filter(|shape| shape.kv_heads > 0.0);
    let alike = |shape: &Inputs| (shape.key_length, shape.window) == (own.key_length, own.window);
    before.into_iter().find(alike).map(|shape| shape.kv_heads)
}

/// Operation with its steps and times.
struct Job<'a> {
    place: usize,
    steps: Vec<Step<'a>>,
    /// Expert routing, if steps are experts.
    routing: Option<Routing>,
    /// Minimum bytes moved in any pass.
    bytes: f64,
    times: Vec<f64>,
    first: Option<(f64, Option<bool>)>,
}

/// Random expert routing: uniform, different in each pass, and equal for all operations of a layer.
struct Routing {
    layer: u64,
    used: usize,
    tokens: usize,
}

impl Routing {
    /// Returns the number of tokens routed to each expert.
    fn loads(&self, experts: usize, pass: usize) -> Vec<usize> {
        let mut random = SplitMix64((pass as u64) << 32 | self.layer);
        let (mut order, mut loads): (Vec<usize>, _) = ((0..experts).collect(), vec![0; experts]);
        for _ in 0..self.tokens {
            for at in 0..self.used.min(experts) {
                order.swap(at, at + random.below(experts - at));
                if let Some(load) = order.get(at).and_then(|expert| loads.get_mut(*expert)) {
                    *load += 1;
                }
            }
        }
        loads
    }
}

/// Deterministic random numbers (SplitMix64).
struct SplitMix64(u64);

impl SplitMix64 {
    fn below(&mut self, max: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(mixed ^ mixed >> 31) * max as u128) >> 64) as usize
    }
}

impl<'a> Job<'a> {
    fn new(steps: Vec<Step<'a>>, routing: Option<Routing>) -> Job<'a> {
        Job { place: 0, steps, routing, bytes: f64::INFINITY, times: Vec::new(), first: None }
    }

    /// Routing the tokens of a pass.
    fn route(&mut self, pass: usize) {
        if let Some(routing) = &self.routing {
            let loads = routing.loads(self.steps.len(), pass);
            for (step, load) in self.steps.iter_mut().zip(loads) {
                step.columns = load;
            }
        }
        let run = self.steps.iter().filter(|step| step.columns > 0);
        self.bytes = self.bytes.min(run.map(|step| step.bytes).sum());
    }

    fn cache_bytes(&self) -> usize {
        let bytes = |step: &Step| if let Work::Attention(one) = &step.work { one.bytes() } else { 0 };
        self.steps.iter().map(bytes).sum()
    }

    fn finish(&mut self, machine: &Machine) -> Result<Option<Measured>, OutOfDomain> {
        let roofs = machine.best();
        self.times.sort_by(f64::total_cmp);
        let (Some(best), Some(worst)) = (self.times.first(), self.times.last()) else { return Ok(None) };
        let (Some(median), Some(first)) = (self.times.get(self.times.len() / 2), self.first) else {
            return Ok(None);
        };
        let flops: f64 = self.steps.iter().map(|step| step.flops * step.columns as f64).sum();
        let compute = self.steps.iter().map(|step| match step.arithmetic {
            Arithmetic::Int8 => roofs.int8_gops.value,
            Arithmetic::Int4 => roofs.int4_gops.unwrap_or(roofs.int8_gops).value,
            Arithmetic::F32 => roofs.f32_gflops.value,
        });
        let compute = compute.fold(f64::MIN_POSITIVE, f64::max);
        let inputs = layer_roofline::Inputs {
            // The contract requires a positive time, even with a coarse clock.
            time: median.max(1e-9),
            ..pass_inputs(flops, self.bytes, roofs.read_gb_s.value, compute)
        };
        let outputs = inputs.evaluate().map_err(OutOfDomain::from)?;
        let max_columns = self.steps.iter().map(|step| step.columns).max().unwrap_or(1);
        Ok(Some(Measured {
            median_s: *median,
            best_s: *best,
            worst_s: *worst,
            runs: self.times.len(),
            first_s: first.0,
            first_from_disk: first.1,
            gb_s: outputs.achieved_bandwidth,
            gflop_s: outputs.achieved_compute,
            utilization: outputs.utilization,
            band: outputs.utilization_band.into(),
            least_s: outputs.least_time,
            residual_s: median - outputs.least_time,
            copied: self.steps.iter().any(|step| step.copied),
            columns: self.routing.as_ref().map_or(max_columns, |routing| routing.tokens),
        }))
    }
}

/// Thread pool with input and output buffers.
struct Runner {
    team: ThreadPool,
    x: Vec<f32>,
    out: Vec<f32>,
}

impl Runner {
    fn run(&mut self, step: &mut Step) -> Result<(), KernelError> {
        let x = self.x.get(..step.numbers_in()).unwrap_or_default();
        let out = self.out.get_mut(..step.numbers_out()).unwrap_or_default();
        match (&mut step.work, step.columns) {
            (_, 0) => return Ok(()),
            (Work::Convolution(convolution), _) => convolution.run(&self.team, x, out)?,
            (Work::Attention(attention), _) => attention.run(&self.team, x, out)?,
            (Work::Product(matrix), 1) => matrix.matvec(&self.team, x, out)?,
            (Work::Product(matrix), columns) => matrix.matmul(&self.team, x, columns, out)?,
        }
        black_box(&self.out);
        Ok(())
    }
}

/// One kernel call with its cost.
struct Step<'a> {
    work: Work<'a>,
    /// Tokens or samples at once; 0 for experts without tokens.
    columns: usize,
    arithmetic: Arithmetic,
    /// FLOPs per token or sample.
    flops: f64,
    /// Minimum bytes moved for all tokens.
    bytes: f64,
    copied: bool,
}

enum Work<'a> {
    Product(Box<dyn DynMatrix + 'a>),
    Convolution(Box<Convolution<'a>>),
    Attention(Box<Attention>),
}

impl Step<'_> {
    fn numbers_in(&self) -> usize {
        match &self.work {
            Work::Product(product) => product.columns().saturating_mul(self.columns),
            Work::Convolution(convolution) => convolution.numbers_in(),
            Work::Attention(attention) => attention.numbers_in(),
        }
    }

    fn numbers_out(&self) -> usize {
        match &self.work {
            Work::Product(product) => product.rows().saturating_mul(self.columns),
            Work::Convolution(convolution) => convolution.numbers_out(),
            Work::Attention(attention) => attention.numbers_out(),
        }
    }
}

fn kind(dtype: Dtype) -> Option<WeightFormat> {
    WeightFormat::from_name(&dtype.to_string())
}

/// Returns the cost of a product for one token.
fn cost(matrix: &dyn DynMatrix) -> Result<Outputs, String> {
    let (rows, columns) = (matrix.rows() as f64, matrix.columns() as f64);
    let bits_per_weight =
        stored_bits(matrix.bytes() as f64, rows * columns).map_err(|error| error.to_string())?;
    evaluate(&Inputs {
        dense_params: rows * columns,
        in_features: columns,
        out_features: rows,
        bits_per_weight,
        activation_size: ACTIVATION,
        ..Inputs::new(1.0, 1.0)
    })
}

/// Aligned copies of weights with their start offsets, by tensor index.
#[derive(Default)]
struct Copies {
    copies: HashMap<usize, (Vec<u8>, usize)>,
    bytes: usize,
}

impl Copies {
    /// Copies the misaligned matrices of an operation, up to a total size.
    fn add(&mut self, model: &Model, operation: usize) -> Result<(), String> {
        let Some(operation) = model.architecture.operations.get(operation) else { return Ok(()) };
        for index in &operation.tensors {
            let Some(tensor) = model.tensors.get(*index).filter(|tensor| tensor.dims.len() > 1) else {
                continue;
            };
            let (Some(bytes), Some(alignment)) =
                (model.data(tensor), kind(tensor.dtype).map(WeightFormat::alignment))
            else {
                continue;
            };
            if bytes.as_ptr().addr().is_multiple_of(alignment) || self.copies.contains_key(index) {
                continue;
            }
            if self.bytes.saturating_add(bytes.len()) > MAX_COPIED_BYTES {
                let max_mib = MAX_COPIED_BYTES >> 20;
                return Err(format!(
                    "misaligned in the file (multiple of {alignment} required), and at most {max_mib} MiB are copied"
                ));
            }
            self.bytes += bytes.len();
            let mut copy = vec![0; bytes.len() + alignment];
            let start = copy.as_ptr().align_offset(alignment).min(alignment);
            if let Some(target) = copy.get_mut(start..start + bytes.len()) {
                target.copy_from_slice(bytes);
            }
            self.copies.insert(*index, (copy, start));
        }
        Ok(())
    }

    /// Returns the bytes of a tensor, and true if they are a copy.
    fn data<'a>(&'a self, model: &'a Model, index: usize, tensor: &Tensor) -> Option<(&'a [u8], bool)> {
        match self.copies.get(&index) {
            Some((copy, start)) => {
                let length = usize::try_from(tensor.bytes?).ok()?;
                Some((copy.get(*start..start.checked_add(length)?)?, true))
            }
            None => Some((model.data(tensor)?, false)),
        }
    }

    /// Prepares the measurement of an operation, or returns why no kernel supports it.
    fn job<'a>(
        &'a self,
        model: &'a Model,
        entry: &Entry,
        through: Option<&MeasuredWork>,
        shared_kv_heads: Option<f64>,
        free_bytes: usize,
    ) -> Result<Job<'a>, String> {
        let Some(operation) = model.architecture.operations.get(entry.operation) else {
            return Err("not part of the model".into());
        };
        let shape = through.and_then(|through| {
            entry.in_phase(through.phase, through.workload.context, through.workload.prompt)
        });
        let tokens = shape.map_or(1.0, |shape| shape.tokens * shape.batch);
        if tokens > MeasuredWork::MAX_TOKENS as f64 {
            return Err(format!(
                "{tokens} tokens at once exceed the maximum of {}",
                MeasuredWork::MAX_TOKENS
            ));
        }
        let tokens = tokens as usize;
        let (routing, weights) = match operation.work {
            model::Work::Attention(_) => {
                let (shape, through) = shape.zip(through).ok_or(NO_PRODUCT)?;
                return attention(entry, &shape, through, shared_kv_heads, free_bytes)
                    .map(|step| Job::new(vec![step], None));
            }
            model::Work::State(_) => return Err("no kernel for recurrent states".into()),
            model::Work::Product { .. } | model::Work::Convolution { .. } => (None, None),
            model::Work::Experts { rows, cols, used, .. } => {
                let (layer, used) =
                    (operation.layer.unwrap_or(0), usize::try_from(used).unwrap_or(usize::MAX));
                (Some(Routing { layer, used, tokens }), Some(rows.saturating_mul(cols)))
            }
            _ => return Err(NO_PRODUCT.into()),
        };
        if matches!(model.format, Format::Gguf { big_endian: true, .. }) == cfg!(target_endian = "little") {
            return Err("stored in the other byte order".into());
        }
        let mut out = Vec::new();
        for index in &operation.tensors {
            // Biases are negligible.
            let Some(tensor) = model.tensors.get(*index).filter(|tensor| tensor.dims.len() > 1) else {
                continue;
            };
            // Biases of experts form a matrix of another size.
            let matches_expert = |elements: u64| tensor.elements().is_multiple_of(elements.max(1));
            if weights.is_some_and(|elements| !matches_expert(elements)) {
                continue;
            }
            let (bytes, copied) = self.data(model, *index, tensor).ok_or_else(|| missing(tensor))?;
            let size = |dim: u64| usize::try_from(dim).map_err(|_| "too large for this machine".to_owned());
            if let model::Work::Convolution { outputs, .. } = operation.work {
                let taps = tensor.elements() / outputs.max(1);
                out.push(convolution(entry, tensor.dtype, bytes, size(outputs)?, size(taps)?, copied)?);
                continue;
            }
            let (count, rows, columns) = match *tensor.dims.as_slice() {
                [rows, columns] => (1, size(rows)?, size(columns)?),
                [count, rows, columns] => (size(count)?, size(rows)?, size(columns)?),
                _ => return Err(format!("{} dimensions", tensor.dims.len())),
            };
            for matrix in bytes.chunks_exact((bytes.len() / count.max(1)).max(1)).take(count) {
                let kind = kind(tensor.dtype).ok_or_else(|| format!("no kernel for {}", tensor.dtype))?;
                let matrix = kind.matrix(matrix, rows, columns).map_err(|error| error.to_string())?;
                let Outputs { flops, bytes, .. } = cost(&*matrix)?;
                let arithmetic = kind.arithmetic();
                out.push(Step {
                    work: Work::Product(matrix),
                    columns: tokens,
                    arithmetic,
                    flops,
                    bytes,
                    copied,
                });
            }
        }
        if out.is_empty() { Err("the file has no weights for it".into()) } else { Ok(Job::new(out, routing)) }
    }
}

/// Prepares attention over its own cache.
fn attention<'a>(
    entry: &Entry,
    shape: &Inputs,
    through: &MeasuredWork,
    shared_kv_heads: Option<f64>,
    free_bytes: usize,
) -> Result<Step<'a>, String> {
    if let Some(reason) = &entry.at_most {
        return Err(reason.clone());
    }
    let attention = Attention::new(shape, through.cache, shared_kv_heads, free_bytes)?;
    let columns = attention.columns();
    let Outputs { flops, bytes, .. } = evaluate(shape)?;
    Ok(Step {
        work: Work::Attention(Box::new(attention)),
        columns,
        arithmetic: Arithmetic::F32,
        flops: flops / columns as f64,
        bytes,
        copied: false,
    })
}

/// Prepares a convolution of one sample.
fn convolution<'a>(
    entry: &Entry,
    dtype: Dtype,
    bytes: &'a [u8],
    outputs: usize,
    taps: usize,
    copied: bool,
) -> Result<Step<'a>, String> {
    if dtype != Dtype::F32 {
        return Err(format!("no kernel for convolutions in {dtype}"));
    }
    let shape = entry.shape.ok_or_else(|| entry.undefined.clone().unwrap_or_default())?;
    let shape = Inputs { batch: 1.0, ..shape };
    let Outputs { flops, bytes: moved, .. } = evaluate(&shape)?;
    let weights = Matrix::from_bytes(bytes, outputs, taps).map_err(|error| error.to_string())?;
    Ok(Step {
        work: Work::Convolution(Box::new(Convolution::new(weights, &shape)?)),
        columns: 1,
        arithmetic: Arithmetic::F32,
        flops,
        bytes: moved,
        copied,
    })
}

fn missing(tensor: &Tensor) -> String {
    match tensor.bytes {
        Some(_) => "the file ends before the weights".into(),
        None => format!("type {} of unknown size", tensor.dtype),
    }
}

/// Returns the number of major page faults of this process, on Linux.
fn major_faults() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The process name in parentheses may contain spaces; the count is the tenth runner after it.
    stat.rsplit_once(')')?.1.split_whitespace().nth(9)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routing_is_uniform_and_changes_with_each_pass() {
        let one = Routing { layer: 3, used: 4, tokens: 1 };
        let loads = one.loads(64, 1);
        assert_eq!((loads.iter().sum::<usize>(), loads.iter().max()), (4, Some(&1)));
        assert_eq!(loads, one.loads(64, 1), "all operations of a layer share the routing");
        assert_ne!(loads, one.loads(64, 2));
        assert_ne!(loads, Routing { layer: 4, ..one }.loads(64, 1));
        let many = Routing { layer: 0, used: 2, tokens: 1000 }.loads(8, 1);
        assert_eq!(many.iter().sum::<usize>(), 2000);
        assert!(many.iter().all(|load| (180..320).contains(load)), "uniform load: {many:?}");
        assert_eq!(Routing { layer: 0, used: 9, tokens: 2 }.loads(3, 0), [2, 2, 2]);
    }
}
