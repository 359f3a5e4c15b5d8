//! Runs the stored weights through the kernels: matrix times vector or, for prompts and batches, times many, one operation after
//! the other as the model does, pass by pass, so that a model larger than the caches comes from memory every time.

use std::collections::HashMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::convolution::Convolution;
use super::{Entry, OutOfDomain, evaluate, passed};
use crate::contracts::layer_roofline;
use crate::contracts::operation::{Inputs, Outputs};
use crate::isa::{Isa, IsaError};
use crate::kernels::{self, Arithmetic, KernelError, Kind, Matrix, Stored, Streams, Team};
use crate::model::{self, Dtype, Format, Model, Tensor};
use crate::paired::Paired;
use crate::peaks::Machine;
use crate::predict::stored_bits;
use crate::word::Band;

/// Bytes of one activation of the kernels.
const ACTIVATION: f64 = 4.0;
/// Why an operation without weights of its own, or with a vector of them, is not measured.
pub const NO_PRODUCT: &str = "no matrix product";
/// Bytes of weights that are copied at most, because they do not lie in the file as the kernels need them.
const MOST_COPIED: usize = 1 << 30;
/// Passes after the first, as far as the time allows: at least, and at most.
const PASSES: (usize, usize) = (3, 40);
/// How often the reference runs between operations.
const REFERENCE_EVERY: Duration = Duration::from_millis(20);

/// What was measured of an operation on one token, or on several at once, and what follows from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "program", derive(schemars::JsonSchema))]
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

/// Tokens that go through the model at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Through every product but those that meet one token of a sequence.
    pub tokens: usize,
    /// Through those: as many as there are sequences.
    pub sequences: usize,
}

impl Columns {
    /// One token of one sequence.
    pub const ONE: Columns = Columns { tokens: 1, sequences: 1 };
    /// More at once would need more memory for activations than for weights.
    pub const MOST: usize = 4096;
}

/// All measured operations one after the other, pass by pass.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "program", derive(schemars::JsonSchema))]
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
}

impl Passes {
    /// Of the seconds of each pass and of its reference.
    fn of(rounds: &[(f64, f64)]) -> Option<Passes> {
        let mut times: Vec<f64> = rounds.iter().map(|round| round.0).collect();
        times.sort_by(f64::total_cmp);
        let (best_s, median_s) = (*times.first()?, *times.get(times.len() / 2)?);
        Some(Passes { median_s, best_s, runs: times.len(), beside: Paired::of(rounds) })
    }
}

/// A load beside the operations: it reads memory that no cache holds.
struct Reference {
    memory: Vec<f32>,
    streams: Streams,
}

impl Reference {
    fn new(machine: &Machine) -> Reference {
        /// Bytes, between these, that no cache holds.
        const BYTES: (usize, usize) = (16 << 20, 128 << 20);
        let largest = machine.caches.iter().map(|cache| cache.bytes).max().unwrap_or(0);
        let setting = machine.all.read.setting;
        Reference {
            memory: vec![1.0; (2 * largest).clamp(BYTES.0, BYTES.1) / size_of::<f32>()],
            streams: Streams { count: setting.streams, prefetch: setting.prefetch },
        }
    }

    /// Seconds to read it once.
    fn run(&self, team: &Team) -> f64 {
        let start = Instant::now();
        let share = self.memory.len().div_ceil(team.threads());
        team.run(|index| {
            if let Some(part) = self.memory.chunks(share).nth(index) {
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

/// Measures those of the entries that `wanted` names, for about this long, and notes the results in them. `progress` is told the
/// pass and how many there will be at most.
pub fn measure(
    model: &Model,
    entries: &mut [Entry],
    machine: &Machine,
    columns: Columns,
    budget: Duration,
    wanted: impl Fn(&Entry) -> bool,
    mut progress: impl FnMut(usize, usize),
) -> Result<Option<Passes>, MeasureError> {
    let mut copies = Copies::default();
    for entry in entries.iter_mut().filter(|entry| wanted(entry)) {
        if let Err(reason) = copies.add(model, entry.operation) {
            entry.not_measured = Some(reason);
        }
    }
    let mut jobs = Vec::new();
    let wanted = |entry: &Entry| wanted(entry) && entry.not_measured.is_none();
    for (place, entry) in entries.iter_mut().enumerate().filter(|(_, entry)| wanted(entry)) {
        match copies.steps(model, entry, columns) {
            Ok(steps) => jobs.push(Job { place, steps, times: Vec::new(), first: None }),
            Err(reason) => entry.not_measured = Some(reason),
        }
    }
    let team = Team::new(Isa::named(&machine.isa)?, machine.threads)?;
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
    let reference = Reference::new(machine);
    let mut rounds = Vec::new();
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
                references.push(reference.run(&field.team));
                last = Some(Instant::now());
            }
            let faults = if pass == 0 { major_faults() } else { None };
            let start = Instant::now();
            for step in &job.steps {
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
    Ok(Passes::of(&rounds))
}

/// The steps of one operation.
struct Job<'a> {
    place: usize,
    steps: Vec<Step<'a>>,
    times: Vec<f64>,
    first: Option<(f64, Option<bool>)>,
}

impl Job<'_> {
    fn finish(&mut self, machine: &Machine) -> Result<Option<Measured>, OutOfDomain> {
        let roofs = machine.best();
        self.times.sort_by(f64::total_cmp);
        let (Some(best), Some(worst)) = (self.times.first(), self.times.last()) else { return Ok(None) };
        let (Some(median), Some(first)) = (self.times.get(self.times.len() / 2), self.first) else {
            return Ok(None);
        };
        let sum = |amount: fn(&Step) -> f64| self.steps.iter().map(amount).sum::<f64>();
        let compute = self.steps.iter().map(|step| match step.arithmetic {
            Arithmetic::Bytes => roofs.int8_gops.value,
            Arithmetic::Narrow => roofs.int4_gops.unwrap_or(roofs.int8_gops).value,
            Arithmetic::Floats => roofs.f32_gflops.value,
        });
        let compute = compute.fold(f64::MIN_POSITIVE, f64::max);
        let inputs = layer_roofline::Inputs {
            // A clock that stands still is no time at all; the contract wants some.
            time: median.max(1e-9),
            ..passed(sum(|step| step.flops), sum(|step| step.bytes), roofs.read_gb_s.value, compute)
        };
        let outputs = inputs.evaluate().map_err(OutOfDomain::from)?;
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
            columns: self.steps.iter().map(|step| step.columns).max().unwrap_or(1),
        }))
    }
}

/// Threads, and the vectors that go in and come out.
struct Field {
    team: Team,
    x: Vec<f32>,
    out: Vec<f32>,
}

impl Field {
    fn run(&mut self, step: &Step) -> Result<(), KernelError> {
        let x = self.x.get(..step.numbers_in()).unwrap_or_default();
        let out = self.out.get_mut(..step.numbers_out()).unwrap_or_default();
        let columns = step.columns;
        match &step.work {
            Work::Convolution(convolution) => convolution.run(&self.team, x, out)?,
            Work::Product(matrix) if columns == 1 => matrix.vector(&self.team, x, out)?,
            Work::Product(matrix) => matrix.vectors(&self.team, x, columns, out)?,
        }
        black_box(&self.out);
        Ok(())
    }
}

/// What is run at once, and what it amounts to for one token or sample.
struct Step<'a> {
    work: Work<'a>,
    columns: usize,
    arithmetic: Arithmetic,
    flops: f64,
    bytes: f64,
    copied: bool,
}

enum Work<'a> {
    Product(Box<dyn Stored + 'a>),
    Convolution(Box<Convolution<'a>>),
}

impl Step<'_> {
    fn numbers_in(&self) -> usize {
        match &self.work {
            Work::Product(product) => product.columns().saturating_mul(self.columns),
            Work::Convolution(convolution) => convolution.numbers_in(),
        }
    }

    fn numbers_out(&self) -> usize {
        match &self.work {
            Work::Product(product) => product.rows().saturating_mul(self.columns),
            Work::Convolution(convolution) => convolution.numbers_out(),
        }
    }
}

/// The format that kernels know a type by.
fn kind(dtype: Dtype) -> Option<Kind> {
    Kind::from_name(&dtype.to_string())
}

/// What a product costs for so many tokens at once.
fn cost(matrix: &dyn Stored, tokens: usize) -> Result<Outputs, String> {
    let (rows, columns) = (matrix.rows() as f64, matrix.columns() as f64);
    let bits_per_weight =
        stored_bits(matrix.bytes() as f64, rows * columns).map_err(|error| error.to_string())?;
    evaluate(&Inputs {
        dense_params: rows * columns,
        in_features: columns,
        out_features: rows,
        bits_per_weight,
        activation_size: ACTIVATION,
        batch: tokens as f64,
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
                (model.data(tensor), kind(tensor.dtype).map(Kind::alignment))
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

    /// What a token or a sample meets in an operation, or why no kernel takes it.
    fn steps<'a>(
        &'a self,
        model: &'a Model,
        entry: &Entry,
        columns: Columns,
    ) -> Result<Vec<Step<'a>>, String> {
        let Some(operation) = model.architecture.operations.get(entry.operation) else {
            return Err("not part of the model".into());
        };
        let used = match operation.work {
            model::Work::Product { .. } | model::Work::Convolution { .. } => None,
            model::Work::Experts { used, .. } => Some(usize::try_from(used).unwrap_or(usize::MAX)),
            _ => return Err(NO_PRODUCT.into()),
        };
        let tokens = if entry.role.meets_one_token() { columns.sequences } else { columns.tokens };
        if used.is_some() && tokens > 1 {
            return Err("which experts several tokens choose is not known; one token is measured".into());
        }
        if matches!(model.format, Format::Gguf { big_endian: true, .. }) == cfg!(target_endian = "little") {
            return Err("its numbers are stored in the other byte order".into());
        }
        let mut out = Vec::new();
        for index in &operation.tensors {
            // Biases are too small to tell.
            let Some(tensor) = model.tensors.get(*index).filter(|tensor| tensor.dims.len() > 1) else {
                continue;
            };
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
                if used.is_some_and(|used| out.len() >= used) {
                    break;
                }
                let kind = kind(tensor.dtype).ok_or_else(|| format!("no kernel for {}", tensor.dtype))?;
                let matrix = kind.matrix(matrix, rows, columns).map_err(|error| error.to_string())?;
                let Outputs { flops, bytes, .. } = cost(&*matrix, tokens)?;
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
        if out.is_empty() { Err("no weights in the file".into()) } else { Ok(out) }
    }
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
        arithmetic: Arithmetic::Floats,
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
