//! Runs the stored weights through the kernels: matrix times vector or, for prompts and batches, times many, and attention over a
//! cache, one operation after the other as the model does, pass by pass, so that a model larger than the caches comes from memory
//! every time.

use std::collections::HashMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::attention::Attention;
use super::convolution::Convolution;
use super::{Entry, OutOfDomain, Phase, Total, Workload, evaluate, passed};
use crate::predict::stored_bits;
use roofline_formulas::layer_roofline;
use roofline_formulas::operation::{Inputs, Outputs};
use roofline_kernels::isa::{Isa, IsaError};
use roofline_kernels::{
    self as kernels, Arithmetic, DynMatrix, KernelError, Matrix, Streams, ThreadPool, WeightFormat,
};
use roofline_machine::{Counters, Machine, Meter, free_memory};
use roofline_models::{self as model, Dtype, Format, Model, Tensor};
use roofline_render::paired::Paired;
use roofline_render::word::Band;

/// Bytes of one activation of the kernels.
const ACTIVATION: f64 = 4.0;
/// Why an operation without weights of its own, or with a vector of them, is not measured.
pub const NO_PRODUCT: &str = "no matrix product";
/// Why an operation that runs while a prompt is read, or only then not, is not measured.
pub const NOT_NOW: &str = "not part of the measured phase";
/// Bytes of weights that are copied at most, because they do not lie in the file as the kernels need them.
const MOST_COPIED: usize = 1 << 30;
/// Passes after the first, as far as the time allows: at least, and at most.
const PASSES: (usize, usize) = (3, 40);
/// How often the reference runs between operations.
const REFERENCE_EVERY: Duration = Duration::from_millis(20);

/// What was measured of an operation on one token, or on several at once, and what follows from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// Seconds: the median and the best of all passes but the first.
    pub median_s: f64,
    /// The best of them.
    pub best_s: f64,
    /// The worst of them.
    pub worst_s: f64,
    /// How many they are.
    pub runs: usize,
    /// Seconds of the first pass, which may find the weights on disk.
    pub first_s: f64,
    /// Whether the first pass waited for the disk; none where the system does not tell.
    pub first_from_disk: Option<bool>,
    /// Bytes per second of the median, in GB/s.
    pub gb_s: f64,
    /// Operations per second of the median, in GFLOP/s.
    pub gflop_s: f64,
    /// Share of the nearer roof of the machine.
    pub utilization: f64,
    /// How good that is.
    pub band: Band,
    /// The time that no implementation beats, for the same bytes and operations.
    pub least_s: f64,
    /// The median without that time.
    pub residual_s: f64,
    /// Whether the weights ran from a copy, because of where they lie in the file. The copy is made before and not timed.
    pub copied: bool,
    /// How many tokens were multiplied at once.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub columns: usize,
}

fn one() -> usize {
    1
}

fn is_one(columns: &usize) -> bool {
    *columns == 1
}

/// What goes through a model of tokens.
#[derive(Clone, Copy, Debug)]
pub struct Through<'a> {
    /// One token of each sequence, or all of their prompts.
    pub phase: Phase,
    /// How many, and how far they look back.
    pub workload: &'a Workload,
    /// The format of the cache.
    pub cache: &'a str,
}

impl Through<'_> {
    /// More tokens at once would need more memory for activations than for weights.
    pub const MOST: usize = 4096;

    /// How many tokens they are.
    pub fn tokens(&self) -> f64 {
        let each = if self.phase == Phase::Prefill { self.workload.prompt } else { 1.0 };
        each * self.workload.batch
    }
}

/// All measured operations one after the other, pass by pass.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Passes {
    /// Seconds of a pass: the median of all but the first.
    pub median_s: f64,
    /// The best of them.
    pub best_s: f64,
    /// How many they are.
    pub runs: usize,
    /// Reading memory, in turn with the operations.
    pub beside: Option<Paired>,
    /// Joules of a pass, as the processor counts them; absent where the counters can't be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joules: Option<f64>,
}

impl Passes {
    /// Of the seconds of each pass and of its reference, and the joules of all.
    fn of(rounds: &[(f64, f64)], joules: Option<f64>) -> Option<Passes> {
        let mut times: Vec<f64> = rounds.iter().map(|round| round.0).collect();
        times.sort_by(f64::total_cmp);
        let (best_s, median_s) = (*times.first()?, *times.get(times.len() / 2)?);
        let joules = joules.map(|joules| joules / times.len() as f64);
        Some(Passes { median_s, best_s, runs: times.len(), beside: Paired::of(rounds), joules })
    }
}

/// All that a token, or a prompt, meets: every product and all attention, one after the other. Not run are rows of the embedding,
/// norms, rotary positions, activation functions, sums and sampling.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Whole {
    /// One token for each sequence, or their prompts.
    pub phase: Phase,
    /// How many tokens they are.
    pub tokens: f64,
    /// Seconds: the median of the passes.
    pub median_s: f64,
    /// The best of them.
    pub best_s: f64,
    /// Tokens per second of the median: what llama.cpp calls tg, or pp, but for what is not run.
    pub tokens_per_s: f64,
    /// Tokens per second of the best pass.
    pub best_tokens_per_s: f64,
    /// The part of the time that attention takes.
    pub attention: f64,
    /// Joules of a token, as the processor counts them; absent where the counters can't be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joules_per_token: Option<f64>,
    /// The ceiling in tokens per second; absent where there are only bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling_tokens_per_s: Option<f64>,
    /// The share of the ceiling that the median reaches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
}

impl Whole {
    /// Of operations that were all measured, in these passes; none where one of them was not. The ceiling is a total that is no bound.
    pub fn of(
        entries: &[Entry],
        passes: &Passes,
        through: &Through,
        ceiling: Option<&Total>,
    ) -> Option<Whole> {
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
        Some(Whole {
            phase: through.phase,
            tokens,
            median_s: passes.median_s,
            best_s: passes.best_s,
            tokens_per_s,
            best_tokens_per_s: tokens / passes.best_s,
            attention: time(|entry| entry.role.looks_back()) / time(|_| true),
            joules_per_token: passes.joules.map(|joules| joules / tokens),
            ceiling_tokens_per_s,
            share: ceiling_tokens_per_s.map(|ceiling| tokens_per_s / ceiling),
        })
    }
}

/// A load beside the operations: it reads memory that no cache holds, one part after the other.
struct Reference {
    memory: Vec<f32>,
    part: usize,
    next: usize,
    streams: Streams,
}

impl Reference {
    fn new(machine: &Machine) -> Reference {
        /// Bytes, between these, that no cache holds; and as many as are read at once.
        const BYTES: (usize, usize) = (16 << 20, 1 << 30);
        const PART: usize = 64 << 20;
        let largest = machine.caches.iter().map(|cache| cache.bytes).max().unwrap_or(0);
        let setting = machine.all.read.setting;
        let bytes = (2 * largest).clamp(BYTES.0, BYTES.1);
        Reference {
            memory: vec![1.0; bytes / size_of::<f32>()],
            part: bytes.min(PART) / size_of::<f32>(),
            next: 0,
            streams: Streams { count: setting.streams, prefetch: setting.prefetch },
        }
    }

    /// Seconds to read the next part.
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

/// Why nothing could be measured at all.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// No threads.
    #[error("threads can't be started: {0}")]
    Threads(#[from] std::io::Error),
    /// The instruction set that the machine was measured with is not there.
    #[error(transparent)]
    Isa(#[from] IsaError),
    /// A kernel refused its input.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A figure outside the contract.
    #[error(transparent)]
    OutOfDomain(#[from] OutOfDomain),
}

/// Measures those of the entries that `wanted` names, for about this long, and notes the results in them. A stack of layers takes
/// one sample, and nothing is said of what goes through. `progress` is told the pass and how many there will be at most.
pub fn measure(
    model: &Model,
    entries: &mut [Entry],
    machine: &Machine,
    through: Option<Through>,
    budget: Duration,
    wanted: impl Fn(&Entry) -> bool,
    mut progress: impl FnMut(usize, usize),
) -> Result<Option<Passes>, MeasureError> {
    let mut copies = Copies::default();
    for entry in entries.iter_mut().filter(|entry| wanted(entry)) {
        let now = through.is_none_or(|through| entry.cost(through.phase).is_some());
        let reason = if now { copies.add(model, entry.operation).err() } else { Some(entry.not_now()) };
        entry.not_measured = reason;
    }
    let mut jobs = Vec::new();
    // Caches take memory that the weights, which lie in files, leave.
    let mut left = free_memory().map_or(usize::MAX, |free| free / 2);
    for place in 0..entries.len() {
        let lent = through.and_then(|through| lent(entries, place, &through));
        let Some(entry) = entries.get_mut(place).filter(|one| wanted(one) && one.not_measured.is_none())
        else {
            continue;
        };
        match copies.job(model, entry, through.as_ref(), lent, left) {
            Ok(job) => {
                left = left.saturating_sub(job.cache_bytes());
                jobs.push(Job { place, ..job });
            }
            Err(reason) => entry.not_measured = Some(reason),
        }
    }
    let team = ThreadPool::new(Isa::from_name(&machine.isa)?, machine.threads)?;
    let widest =
        |side: fn(&Step) -> usize| jobs.iter().flat_map(|job| &job.steps).map(side).max().unwrap_or(0);
    let mut field = Field {
        team,
        x: (0..widest(|step| step.numbers_in())).map(|at| (at % 17) as f32 / 16.0 - 0.5).collect(),
        out: vec![0.0; widest(|step| step.numbers_out())],
    };
    if jobs.is_empty() {
        return Ok(None);
    }
    for step in jobs.iter_mut().flat_map(|job| &mut job.steps) {
        if let Work::Attention(attention) = &mut step.work {
            attention.fill(&field.team, &field.x)?;
        }
    }
    let mut reference = Reference::new(machine);
    let mut rounds = Vec::new();
    let mut meter = Meter::new(Counters::here().ok());
    let start = Instant::now();
    for pass in 0..=PASSES.1 {
        if pass > PASSES.0 && start.elapsed() > budget {
            break;
        }
        progress(pass, PASSES.1);
        let mut references: Vec<f64> = Vec::new();
        let mut last = None;
        for job in &mut jobs {
            if last.is_none_or(|last: Instant| last.elapsed() > REFERENCE_EVERY) {
                meter.stop();
                references.push(reference.run(&field.team));
                last = Some(Instant::now());
                if pass > 0 {
                    meter.start();
                }
            }
            job.route(pass);
            let faults = if pass == 0 { major_faults() } else { None };
            let start = Instant::now();
            for step in &mut job.steps {
                field.run(step)?;
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
            let whole = jobs.iter().filter_map(|job| job.times.last()).sum();
            rounds.push((whole, references.iter().sum::<f64>() / references.len() as f64));
        }
    }
    for job in &mut jobs {
        let measured = job.finish(machine)?;
        if let Some(entry) = entries.get_mut(job.place) {
            entry.measured = measured;
        }
    }
    Ok(Passes::of(&rounds, meter.joules()))
}

impl Entry {
    /// Why it is not measured in a phase in which it costs nothing.
    fn not_now(&self) -> String {
        self.undefined.clone().unwrap_or_else(|| NOT_NOW.to_owned())
    }
}

/// Heads of keys and values of the layer before that one without any of its own looks at: the last one alike.
fn lent(entries: &[Entry], place: usize, through: &Through) -> Option<f64> {
    let shape =
        |entry: &Entry| entry.in_phase(through.phase, through.workload.context, through.workload.prompt);
    let own = shape(entries.get(place)?)?;
    let before = entries.get(..place)?.iter().rev().filter_map(shape).filter(|shape| shape.kv_heads > 0.0);
    let alike = |shape: &Inputs| (shape.key_length, shape.window) == (own.key_length, own.window);
    before.into_iter().find(alike).map(|shape| shape.kv_heads)
}

/// The steps of one operation.
struct Job<'a> {
    place: usize,
    steps: Vec<Step<'a>>,
    /// Where tokens choose some of the steps.
    routes: Option<Routes>,
    /// Bytes that are moved, the least of all passes.
    bytes: f64,
    times: Vec<f64>,
    first: Option<(f64, Option<bool>)>,
}

/// How tokens choose experts: by chance, each as likely as another, other ones in each pass, and the same in all operations of a layer.
struct Routes {
    layer: u64,
    used: usize,
    tokens: usize,
}

impl Routes {
    /// How many tokens choose each of so many experts.
    fn chosen(&self, experts: usize, pass: usize) -> Vec<usize> {
        let mut chance = Chance((pass as u64) << 32 | self.layer);
        let (mut order, mut loads): (Vec<usize>, _) = ((0..experts).collect(), vec![0; experts]);
        for _ in 0..self.tokens {
            for at in 0..self.used.min(experts) {
                order.swap(at, at + chance.below(experts - at));
                if let Some(load) = order.get(at).and_then(|expert| loads.get_mut(*expert)) {
                    *load += 1;
                }
            }
        }
        loads
    }
}

/// Numbers without a pattern, the same in every run (SplitMix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(mixed ^ mixed >> 31) * most as u128) >> 64) as usize
    }
}

impl<'a> Job<'a> {
    fn new(steps: Vec<Step<'a>>, routes: Option<Routes>) -> Job<'a> {
        Job { place: 0, steps, routes, bytes: f64::INFINITY, times: Vec::new(), first: None }
    }

    /// Chooses what runs in a pass.
    fn route(&mut self, pass: usize) {
        if let Some(routes) = &self.routes {
            let loads = routes.chosen(self.steps.len(), pass);
            for (step, load) in self.steps.iter_mut().zip(loads) {
                step.columns = load;
            }
        }
        let run = self.steps.iter().filter(|step| step.columns > 0);
        self.bytes = self.bytes.min(run.map(|step| step.bytes).sum());
    }

    /// Bytes of its cache.
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
            // A clock that stands still is no time at all; the contract wants some.
            time: median.max(1e-9),
            ..passed(flops, self.bytes, roofs.read_gb_s.value, compute)
        };
        let outputs = inputs.evaluate().map_err(OutOfDomain::from)?;
        let most = self.steps.iter().map(|step| step.columns).max().unwrap_or(1);
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
            columns: self.routes.as_ref().map_or(most, |routes| routes.tokens),
        }))
    }
}

/// Threads, and the vectors that go in and come out.
struct Field {
    team: ThreadPool,
    x: Vec<f32>,
    out: Vec<f32>,
}

impl Field {
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

/// What is run at once, and what it amounts to.
struct Step<'a> {
    work: Work<'a>,
    /// Tokens or samples at once; none where no token chooses it.
    columns: usize,
    arithmetic: Arithmetic,
    /// Operations for each of them.
    flops: f64,
    /// Bytes that are moved at least, for all of them.
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

/// The format that kernels know a type by.
fn kind(dtype: Dtype) -> Option<WeightFormat> {
    WeightFormat::from_name(&dtype.to_string())
}

/// What a product costs for a token.
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

/// Weights of tensors that do not lie in the file as the kernels need them: each with where it begins, by the tensor's index.
#[derive(Default)]
struct Copies {
    copies: HashMap<usize, (Vec<u8>, usize)>,
    bytes: usize,
}

impl Copies {
    /// Copies those matrices of an operation that lie where their kernel can't take them, unless they are too many.
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
            if self.bytes.saturating_add(bytes.len()) > MOST_COPIED {
                let most = MOST_COPIED >> 20;
                return Err(format!(
                    "lies at no multiple of {alignment} in the file, and no more than {most} MiB are copied"
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

    /// The bytes of a tensor, and whether they are a copy.
    fn data<'a>(&'a self, model: &'a Model, index: usize, tensor: &Tensor) -> Option<(&'a [u8], bool)> {
        match self.copies.get(&index) {
            Some((copy, start)) => {
                let length = usize::try_from(tensor.bytes?).ok()?;
                Some((copy.get(*start..start.checked_add(length)?)?, true))
            }
            None => Some((model.data(tensor)?, false)),
        }
    }

    /// What tokens or a sample meet in an operation, or why no kernel takes it.
    fn job<'a>(
        &'a self,
        model: &'a Model,
        entry: &Entry,
        through: Option<&Through>,
        lent: Option<f64>,
        left: usize,
    ) -> Result<Job<'a>, String> {
        let Some(operation) = model.architecture.operations.get(entry.operation) else {
            return Err("not part of the model".into());
        };
        let shape = through.and_then(|through| {
            entry.in_phase(through.phase, through.workload.context, through.workload.prompt)
        });
        let tokens = shape.map_or(1.0, |shape| shape.tokens * shape.batch);
        if tokens > Through::MOST as f64 {
            return Err(format!(
                "it meets {tokens} tokens at once, and no more than {} are measured",
                Through::MOST
            ));
        }
        let tokens = tokens as usize;
        let (routes, weights) = match operation.work {
            model::Work::Attention(_) => {
                let (shape, through) = shape.zip(through).ok_or(NO_PRODUCT)?;
                return attention(entry, &shape, through, lent, left).map(|step| Job::new(vec![step], None));
            }
            model::Work::State(_) => return Err("no kernel for a recurrent state".into()),
            model::Work::Product { .. } | model::Work::Convolution { .. } => (None, None),
            model::Work::Experts { rows, cols, used, .. } => {
                let (layer, used) =
                    (operation.layer.unwrap_or(0), usize::try_from(used).unwrap_or(usize::MAX));
                (Some(Routes { layer, used, tokens }), Some(rows.saturating_mul(cols)))
            }
            _ => return Err(NO_PRODUCT.into()),
        };
        if matches!(model.format, Format::Gguf { big_endian: true, .. }) == cfg!(target_endian = "little") {
            return Err("its numbers are stored in the other byte order".into());
        }
        let mut out = Vec::new();
        for index in &operation.tensors {
            // Biases are too small to tell.
            let Some(tensor) = model.tensors.get(*index).filter(|tensor| tensor.dims.len() > 1) else {
                continue;
            };
            // Biases of experts are a matrix, but not of this size.
            let of_one = |elements: u64| tensor.elements().is_multiple_of(elements.max(1));
            if weights.is_some_and(|elements| !of_one(elements)) {
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
        if out.is_empty() { Err("no weights in the file".into()) } else { Ok(Job::new(out, routes)) }
    }
}

/// Attention over a cache of its own.
fn attention<'a>(
    entry: &Entry,
    shape: &Inputs,
    through: &Through,
    lent: Option<f64>,
    left: usize,
) -> Result<Step<'a>, String> {
    if let Some(reason) = &entry.at_most {
        return Err(reason.clone());
    }
    let attention = Attention::new(shape, through.cache, lent, left)?;
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

/// A convolution of one sample.
fn convolution<'a>(
    entry: &Entry,
    dtype: Dtype,
    bytes: &'a [u8],
    outputs: usize,
    taps: usize,
    copied: bool,
) -> Result<Step<'a>, String> {
    if dtype != Dtype::F32 {
        return Err(format!("no kernel for a convolution in {dtype}"));
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
        Some(_) => "the file ends before its weights".into(),
        None => format!("the size of {} is not known", tensor.dtype),
    }
}

/// How often this process has waited for the disk to fill a page; Linux only.
fn major_faults() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name in parentheses may hold spaces; the tenth field after it is the number.
    stat.rsplit_once(')')?.1.split_whitespace().nth(9)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_chooses_as_many_experts_as_it_uses_and_others_in_another_pass() {
        let one = Routes { layer: 3, used: 4, tokens: 1 };
        let chosen = one.chosen(64, 1);
        assert_eq!((chosen.iter().sum::<usize>(), chosen.iter().max()), (4, Some(&1)));
        assert_eq!(chosen, one.chosen(64, 1), "all operations of a layer choose the same");
        assert_ne!(chosen, one.chosen(64, 2));
        assert_ne!(chosen, Routes { layer: 4, ..one }.chosen(64, 1));
        let many = Routes { layer: 0, used: 2, tokens: 1000 }.chosen(8, 1);
        assert_eq!(many.iter().sum::<usize>(), 2000);
        assert!(many.iter().all(|load| (180..320).contains(load)), "about as many each: {many:?}");
        assert_eq!(Routes { layer: 0, used: 9, tokens: 2 }.chosen(3, 0), [2, 2, 2]);
    }
}
