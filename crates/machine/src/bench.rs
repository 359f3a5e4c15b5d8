//! Benchmarks of the kernels at the shapes of real models, compared with the measured roofs.

use std::hint::black_box;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::{Arena, Machine, MachineError, Roofs, Spread};
use roofline_formulas::layer_roofline::{self as contract, Inputs, Outputs};
use roofline_kernels::isa::{Isa, IsaError};
use roofline_kernels::{self as kernels, Arithmetic, KernelError, Streams};
use roofline_render::chart::terminal::Canvas;
use roofline_render::chart::{Chart, Point, Roof};
use roofline_render::format::{FLOP_PER_BYTE, GB_PER_S, GFLOP_PER_S, SECONDS, threads};
use roofline_render::reference::RelativeToReference;
use roofline_render::report::{Better, Figure, Report, Saved, Schema, Table};
use roofline_render::vocabulary::{Band, Bound, ROOF_LOSSES};

/// Fill byte that is an ordinary number in every type: 0.0115 as f32 and bf16, 1.06 as f16, 60 as int8.
const PATTERN: u8 = 0x3c;

/// Name, rows and columns of the matrices of a layer and of the output head: Llama 3.2 1B and Llama 3.1 8B.
const SHAPES: [(&str, usize, usize); 14] = [
    ("1B q_proj", 2048, 2048),
    ("1B k_proj", 512, 2048),
    ("1B v_proj", 512, 2048),
    ("1B o_proj", 2048, 2048),
    ("1B gate+up", 16384, 2048),
    ("1B down_proj", 2048, 8192),
    ("1B lm_head", 128256, 2048),
    ("8B q_proj", 4096, 4096),
    ("8B k_proj", 1024, 4096),
    ("8B v_proj", 1024, 4096),
    ("8B o_proj", 4096, 4096),
    ("8B gate+up", 28672, 4096),
    ("8B down_proj", 4096, 14336),
    ("8B lm_head", 128256, 4096),
];

/// Columns of the matrices that are sized for a cache level.
const COLUMNS: usize = 2048;

/// Default weight formats: the most common ones.
const DEFAULT_KERNELS: [Kernel; 6] =
    [Kernel::Q8_0, Kernel::Q4K, Kernel::Q6K, Kernel::F16, Kernel::Bf16, Kernel::F32];

/// Format of the weights.
pub use roofline_kernels::WeightFormat as Kernel;

/// Bytes per weight, including scales.
fn weight_size(kernel: Kernel) -> f64 {
    let (weights, bytes) = kernel.block();
    bytes as f64 / weights as f64
}

fn compute_roof(kernel: Kernel, roofs: &Roofs) -> f64 {
    match kernel.arithmetic() {
        Arithmetic::Int8 => roofs.int8_gops,
        Arithmetic::Int4 => roofs.int4_gops.unwrap_or(roofs.int8_gops),
        Arithmetic::F32 => roofs.f32_gflops,
    }
}

/// Shape of a matrix, written as `32768x8192`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows, one output each.
    pub rows: usize,
    /// Columns, one activation each.
    pub columns: usize,
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} x {}", self.rows, self.columns)
    }
}

impl std::str::FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Shape, String> {
        let sides = text.split_once('x').map(|(rows, columns)| (rows.trim().parse(), columns.trim().parse()));
        match sides {
            Some((Ok(rows), Ok(columns))) if rows > 0 && columns > 0 => Ok(Shape { rows, columns }),
            _ => Err("expected rows and columns like 32768x8192".to_owned()),
        }
    }
}

/// Memory level of the weights before a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MemoryLevel {
    /// Main memory.
    Memory,
    /// L1 cache.
    L1,
    /// L2 cache.
    L2,
    /// L3 cache.
    L3,
}

impl MemoryLevel {
    fn from_level(level: u32) -> Option<MemoryLevel> {
        [(1, MemoryLevel::L1), (2, MemoryLevel::L2), (3, MemoryLevel::L3)]
            .into_iter()
            .find(|(known, _)| *known == level)
            .map(|(_, home)| home)
    }

    fn name(self) -> &'static str {
        match self {
            MemoryLevel::Memory => "memory",
            MemoryLevel::L1 => "L1",
            MemoryLevel::L2 => "L2",
            MemoryLevel::L3 => "L3",
        }
    }

    /// Returns the read bandwidth of this level in GB/s, if it was measured.
    fn roof(self, roofs: &Roofs) -> Option<f64> {
        let level =
            |wanted| roofs.levels.iter().find(|level| MemoryLevel::from_level(level.level) == Some(wanted));
        if self == MemoryLevel::Memory {
            Some(roofs.read_gb_s)
        } else {
            level(self).map(|level| level.read_gb_s)
        }
    }
}

/// Product to measure.
#[derive(Clone, Debug)]
struct Case {
    name: String,
    kernel: Kernel,
    rows: usize,
    columns: usize,
    home: MemoryLevel,
}

impl Case {
    fn bytes(&self) -> usize {
        (weight_size(self.kernel) * self.rows as f64 * self.columns as f64) as usize
    }
}

/// Measurement of a matrix-vector product.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Product {
    /// Name of the product.
    pub name: String,
    /// Format of the weights.
    pub kernel: Kernel,
    /// Rows of the matrix.
    pub rows: usize,
    /// Columns of the matrix.
    pub columns: usize,
    /// Memory level of the weights.
    pub home: MemoryLevel,
    /// Time of the best run in seconds.
    pub seconds: f64,
    /// Time of the median run in seconds.
    pub median_seconds: f64,
    /// Number of runs.
    pub runs: usize,
    /// Comparison with interleaved reads of the same bytes; absent in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<RelativeToReference>,
    /// Bandwidth of the best run, GB/s.
    pub gb_s: f64,
    /// Rate of operations of the best run, GFLOP/s.
    pub gflop_s: f64,
    /// Arithmetic intensity, FLOP/byte.
    pub intensity: f64,
    /// Bandwidth roof, GB/s.
    pub roof_gb_s: f64,
    /// Compute roof, GFLOP/s.
    pub roof_gflop_s: f64,
    /// Ceiling at this arithmetic intensity, GFLOP/s.
    pub attainable_gflop_s: f64,
    /// Limiting resource: memory or compute.
    pub bound: Bound,
    /// Achieved share of the ceiling, 0 to 1; above 1 if the roofs were measured on a busy machine.
    pub utilization: f64,
    /// Rating of the utilization.
    pub band: Band,
    /// Recommendations.
    pub advice: Vec<String>,
}

/// Benchmark of matrix-vector products, compared with the roofs of the machine.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Bench {
    /// Schema of this document.
    pub schema: Schema<Self>,
    /// Name of the CPU.
    pub cpu: String,
    /// Instruction set of the kernels.
    pub isa: String,
    /// Number of threads.
    pub threads: usize,
    /// True for a quick, less exact measurement.
    #[serde(default)]
    pub quick: bool,
    /// Filter on the names of products.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
    /// Measured products.
    pub rows: Vec<Product>,
    /// Notes about the measurement.
    pub notes: Vec<String>,
}

/// Options of a benchmark.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Weight formats; empty for the most common ones.
    pub kernels: Vec<Kernel>,
    /// Shapes; empty for those of known models.
    pub shapes: Vec<Shape>,
    /// Restricts the products to those whose name contains this text.
    pub only: Option<String>,
    /// Measure in a few seconds, with lower accuracy.
    pub quick: bool,
}

/// Error of a benchmark.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// No product matches the filter.
    #[error("--only: no product matches {only:?}; expected part of a name such as {}", SHAPES.map(|(name, ..)| name).join(", "))]
    NoProduct {
        /// The filter.
        only: String,
    },
    /// A figure is outside the domain of the contract.
    #[error("{product}: {reason}")]
    OutOfDomain {
        /// Name of the product.
        product: String,
        /// Violated domain.
        reason: String,
    },
    /// A kernel rejected its input.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// Memory or threads are unavailable.
    #[error(transparent)]
    Peaks(#[from] MachineError),
    /// The instruction set is unknown or unavailable.
    #[error(transparent)]
    Isa(#[from] IsaError),
}

fn cases(machine: &Machine, options: &Options) -> Result<Vec<Case>, KernelError> {
    let kernels = if options.kernels.is_empty() { &DEFAULT_KERNELS } else { options.kernels.as_slice() };
    let mut cases = Vec::new();
    for &kernel in kernels {
        for shape in &options.shapes {
            let (Shape { rows, columns }, (multiple, _)) = (*shape, kernel.block());
            if !columns.is_multiple_of(multiple) {
                return Err(KernelError::NotMultiple { what: "columns", multiple, found: columns });
            }
            cases.push(Case { name: shape.to_string(), kernel, rows, columns, home: MemoryLevel::Memory });
        }
        if !options.shapes.is_empty() {
            continue;
        }
        for (name, rows, columns) in SHAPES {
            cases.push(Case { name: name.to_owned(), kernel, rows, columns, home: MemoryLevel::Memory });
        }
        let row = weight_size(kernel) * COLUMNS as f64;
        for level in &machine.all.levels {
            // The working set with which the roof of this level was measured.
            let rows = (level.bytes * machine.threads) as f64 / row;
            if let Some(home) = MemoryLevel::from_level(level.level).filter(|home| *home != MemoryLevel::L1)
                && rows >= machine.threads as f64
            {
                cases.push(Case {
                    name: format!("fits {}", home.name()),
                    kernel,
                    rows: rows as usize,
                    columns: COLUMNS,
                    home,
                });
            }
        }
        let rows = (machine.size as f64 / row) as usize;
        cases.push(Case {
            name: "fills memory".to_owned(),
            kernel,
            rows: rows.max(1),
            columns: COLUMNS,
            home: MemoryLevel::Memory,
        });
    }
    if let Some(only) = &options.only {
        cases.retain(|case| format!("{} {}", case.name, case.kernel.name()).contains(only));
    }
    Ok(cases)
}

/// Returns the number of progress messages of [`Bench::measure`].
pub fn count(machine: &Machine, options: &Options) -> usize {
    1 + cases(machine, options).map_or(0, |cases| cases.len())
}

impl Bench {
    /// Measures all products. `progress` receives a description of each step.
    ///
    /// # Errors
    ///
    /// Fails if no product matches the options, or memory or threads are unavailable.
    pub fn measure(
        machine: &Machine,
        options: &Options,
        mut progress: impl FnMut(&str),
    ) -> Result<Bench, BenchError> {
        let cases = cases(machine, options)?;
        if cases.is_empty() {
            return Err(BenchError::NoProduct { only: options.only.clone().unwrap_or_default() });
        }
        let mut bench = Bench::empty(machine, options);
        let isa = Isa::from_name(&machine.isa)?;
        progress("preparing weights");
        let largest = cases.iter().map(Case::bytes).max().unwrap_or(0);
        // Small matrices are copied, so that each product reads its weights from memory.
        let arena = Arena::new(isa, machine.threads, largest.max(machine.size), PATTERN)?;
        if arena.is_short() {
            bench.notes.push(format!("only {} MiB of memory were available", arena.bytes().len() >> 20));
        }
        let budget = Duration::from_millis(if options.quick { 30 } else { 150 });
        for case in cases {
            progress(&format!("{} {}", case.name, case.kernel.name()));
            if case.bytes() > arena.bytes().len() {
                bench.notes.push(format!(
                    "{} {} skipped: larger than the available memory",
                    case.name,
                    case.kernel.name()
                ));
                continue;
            }
            match case.home.roof(&machine.all) {
                Some(roof) => {
                    let setting = machine.all.read.setting;
                    let streams = Streams { count: setting.streams, prefetch: setting.prefetch };
                    let Timing { spread, read_gb_s, reference } = time(&arena, &case, budget, streams)?;
                    // The machine may have been busier when the roof was measured.
                    let roof = roof.max(read_gb_s);
                    let compute = compute_roof(case.kernel, &machine.all);
                    bench.rows.push(Product { reference, ..Product::new(&case, spread, roof, compute)? });
                }
                None => bench.notes.push(format!(
                    "{} skipped: no measured roof for {}",
                    case.name,
                    case.home.name()
                )),
            }
        }
        bench.notes.extend(bench.impossible());
        Ok(bench)
    }

    fn empty(machine: &Machine, options: &Options) -> Bench {
        Bench {
            schema: Schema::new(),
            cpu: machine.cpu.clone(),
            isa: machine.isa.clone(),
            threads: machine.threads,
            quick: options.quick,
            only: options.only.clone(),
            rows: Vec::new(),
            notes: machine.roof_warnings(),
        }
    }

    /// Returns a warning if products were faster than their ceiling.
    pub fn impossible(&self) -> Option<String> {
        let above = self.rows.iter().filter(|row| row.utilization > 1.0).count();
        (above > 0).then(|| {
            format!(
                "impossible: {above} of {} products exceed 100 % utilization, so the roofs were measured on a busy machine; \
                 re-measure with `roofline machine --refresh`",
                self.rows.len()
            )
        })
    }

    /// Returns the weight formats of the products.
    pub fn kernels(&self) -> Vec<Kernel> {
        let has = |kernel: &Kernel| self.rows.iter().any(|row| row.kernel == *kernel);
        Kernel::ALL.iter().copied().filter(has).collect()
    }

    /// Returns the custom shapes of the products.
    pub fn shapes(&self) -> Vec<Shape> {
        let mut shapes = Vec::new();
        for row in &self.rows {
            let shape = Shape { rows: row.rows, columns: row.columns };
            if row.name == shape.to_string() && !shapes.contains(&shape) {
                shapes.push(shape);
            }
        }
        shapes
    }

    /// Chart of all products and their roofs.
    fn roofline(&self) -> Chart {
        let total: f64 = self.rows.iter().map(|row| row.seconds).sum();
        let mut roofs: Vec<Roof> = Vec::new();
        let mut points = Vec::new();
        for row in &self.rows {
            let roof = Roof {
                name: row.home.name().to_owned(),
                group: match row.kernel.arithmetic() {
                    Arithmetic::Int8 => "int8",
                    Arithmetic::Int4 => "int4",
                    Arithmetic::F32 => "f32",
                }
                .to_owned(),
                bandwidth_gb_s: Some(row.roof_gb_s),
                compute_gflop_s: Some(row.roof_gflop_s),
                curve: Vec::new(),
            };
            // Reads are repeated for each product; the highest bandwidth is the roof of all of them.
            let same = |known: &Roof| known.name == roof.name && known.group == roof.group;
            let at = roofs.iter().position(same).unwrap_or(roofs.len());
            match roofs.get_mut(at) {
                Some(known) if known.bandwidth_gb_s < roof.bandwidth_gb_s => *known = roof,
                Some(_) => {}
                None => roofs.push(roof),
            }
            points.push(row.point(total, at));
        }
        Chart {
            title: self.cpu.clone(),
            subtitle: format!("{}, threads: {}", self.isa, self.threads),
            roofs,
            points,
        }
    }
}

impl Product {
    fn point(&self, total: f64, roof: usize) -> Point {
        Point {
            name: format!("{} {}", self.name, self.kernel.name()),
            group: self.kernel.name().to_owned(),
            intensity_flop_byte: Some(self.intensity),
            performance_gflop_s: Some(self.gflop_s),
            share: Some(self.seconds / total),
            total_id: 0,
            bound: self.bound,
            roof: Some(roof),
            details: vec![
                ("weights in".to_owned(), self.home.name().to_owned()),
                ("shape".to_owned(), format!("{} x {}", self.rows, self.columns)),
                ("GB/s".to_owned(), format!("{:.1}", self.gb_s)),
                ("utilization".to_owned(), format!("{:.0} %, {}", 100.0 * self.utilization, self.band)),
            ],
        }
    }

    fn new(case: &Case, spread: Spread, bandwidth: f64, compute: f64) -> Result<Product, BenchError> {
        let (rows, columns) = (case.rows as f64, case.columns as f64);
        let inputs = Inputs {
            dense_params: rows * columns,
            in_features: columns,
            out_features: rows,
            bits_per_weight: 8.0 * weight_size(case.kernel),
            activation_size: 4.0,
            time: spread.best,
            bandwidth,
            compute,
            ..Inputs::new(1.0, 1.0)
        };
        let outputs: Outputs = inputs.evaluate().map_err(|error| BenchError::OutOfDomain {
            product: case.name.clone(),
            reason: error.to_string(),
        })?;
        let advice = contract::recommendations(&inputs, &outputs);
        Ok(Product {
            name: case.name.clone(),
            kernel: case.kernel,
            rows: case.rows,
            columns: case.columns,
            home: case.home,
            seconds: spread.best,
            median_seconds: spread.median,
            runs: spread.runs,
            reference: None,
            gb_s: outputs.achieved_bandwidth,
            gflop_s: outputs.achieved_compute,
            intensity: outputs.arithmetic_intensity,
            roof_gb_s: bandwidth,
            roof_gflop_s: compute,
            attainable_gflop_s: outputs.attainable,
            bound: outputs.bound.into(),
            utilization: outputs.utilization,
            band: outputs.utilization_band.into(),
            advice: advice.iter().flatten().map(|advice| advice.text.to_owned()).collect(),
        })
    }

    /// Only the time is compared between results; the other figures follow from it and the roofs.
    fn figures(&self) -> Vec<Figure> {
        let product = format!("{} {}", self.name, self.kernel.name());
        let label = format!("{product}, {}", self.home.name());
        let one = |name, unit, better, value| Figure::new(name, &label, unit, better, value).of(&product);
        let seconds = one("seconds", SECONDS, Better::Lower, self.seconds);
        vec![
            Figure { reference: self.reference, ..seconds.between(self.seconds, self.median_seconds) },
            one("utilization", "1", Better::Neither, self.utilization),
            one("gb_s", GB_PER_S, Better::Neither, self.gb_s),
            one("gflop_s", GFLOP_PER_S, Better::Neither, self.gflop_s),
            one("intensity", FLOP_PER_BYTE, Better::Neither, self.intensity),
            one("attainable_gflop_s", GFLOP_PER_S, Better::Neither, self.attainable_gflop_s),
        ]
    }
}

/// Timing of one product.
struct Timing {
    /// Seconds per product.
    spread: Spread,
    /// Best bandwidth of interleaved reads of the same bytes.
    read_gb_s: f64,
    /// Time relative to these reads.
    reference: Option<RelativeToReference>,
}

fn time(arena: &Arena, case: &Case, budget: Duration, streams: Streams) -> Result<Timing, BenchError> {
    const MIN_RUNS: usize = 7;
    /// Measurement continues until the noise relative to the reference is below this limit.
    const MAX_NOISE: f64 = 0.03;
    /// Maximum time for noisy measurements, as a multiple of the budget.
    const MAX_BUDGETS: u32 = 8;
    let bytes = case.bytes();
    // Copies are aligned. Only products from memory alternate between copies.
    let distance = bytes.next_multiple_of(64);
    let copies = if case.home == MemoryLevel::Memory { (arena.bytes().len() / distance).max(1) } else { 1 };
    let mut x = vec![0f32; case.columns];
    for (at, x) in x.iter_mut().enumerate() {
        *x = (at % 17) as f32 / 16.0 - 0.5;
    }
    let mut out = vec![0f32; case.rows];
    arena.with_pool(|pool| -> Result<Timing, BenchError> {
        let mut seconds = Vec::new();
        let mut rounds = Vec::new();
        let mut read_gb_s = 0f64;
        let mut copy = 0;
        let mut batch = 1;
        let first = Instant::now();
        let is_precise = |rounds: &[(f64, f64)]| {
            RelativeToReference::from_rounds(rounds).is_some_and(|reference| reference.noise <= MAX_NOISE)
        };
        while seconds.len() < MIN_RUNS
            || first.elapsed() < budget
            || (first.elapsed() < budget * MAX_BUDGETS && !is_precise(&rounds))
        {
            let start = Instant::now();
            for _ in 0..batch {
                let weights = &arena.bytes()[copy * distance..][..bytes];
                case.kernel.matrix(weights, case.rows, case.columns)?.matvec(pool, &x, &mut out)?;
                copy = (copy + 1) % copies;
            }
            let elapsed = start.elapsed().as_secs_f64();
            // The overhead of clock reads and of starting a round must be negligible.
            if elapsed < 1e-3 && seconds.is_empty() {
                batch *= 2;
                continue;
            }
            seconds.push(elapsed / batch as f64);
            let start = Instant::now();
            for _ in 0..batch {
                let source = &arena.floats()[copy * distance / 4..][..bytes / 4];
                let share = (source.len() / pool.threads()).max(1);
                pool.run(|index| {
                    if let Some(share) = source.chunks(share).nth(index) {
                        black_box(kernels::read(pool.isa(), share, streams));
                    }
                });
                copy = (copy + 1) % copies;
            }
            // The contract requires a time above zero, but coarse clocks may not advance.
            let time = start.elapsed().as_secs_f64().max(1e-9);
            rounds.push((elapsed, time));
            let read = Inputs { other_bytes: (batch * bytes) as f64, time, ..Inputs::new(1.0, 1.0) };
            read_gb_s = read_gb_s.max(read.evaluate().map_or(0.0, |outputs| outputs.achieved_bandwidth));
        }
        seconds.sort_by(f64::total_cmp);
        let spread = Spread { best: seconds[0], median: seconds[seconds.len() / 2], runs: seconds.len() };
        // A round consists of several products; report the reference per product, like the time.
        let reference = RelativeToReference::from_rounds(&rounds);
        let reference = reference.map(|reference| RelativeToReference {
            reference: reference.reference / batch as f64,
            ..reference
        });
        Ok(Timing { spread, read_gb_s, reference })
    })?
}

/// Columns to drop on narrow terminals, least important first.
const OPTIONAL_COLUMNS: [&str; 5] = ["bound", FLOP_PER_BYTE, "shape", GFLOP_PER_S, "median +%"];

impl Report for Bench {
    const SCHEMA: &'static str = "roofline.bench/1";
    const FIGURES: &'static [&'static str] =
        &["utilization", "gb_s", "gflop_s", "intensity", "attainable_gflop_s", "seconds"];

    fn unit(name: &str) -> &'static str {
        match name {
            "gb_s" => GB_PER_S,
            "gflop_s" | "attainable_gflop_s" => GFLOP_PER_S,
            "intensity" => FLOP_PER_BYTE,
            "seconds" => SECONDS,
            _ => "1",
        }
    }

    fn figures(&self) -> Vec<Figure> {
        self.rows.iter().flat_map(Product::figures).collect()
    }

    fn setting(&self) -> Vec<(&'static str, String)> {
        vec![
            ("the processor", self.cpu.clone()),
            ("the instruction set", self.isa.clone()),
            ("the number of threads", self.threads.to_string()),
        ]
    }

    fn chart(&self) -> Option<Chart> {
        Some(self.roofline())
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn text(&self, canvas: &Canvas) -> String {
        let mut text = format!("{}, {}, {}\n\n", self.cpu, self.isa, threads(self.threads));
        text += &self
            .tables()
            .iter()
            .map(|table| table.render_within(canvas, &OPTIONAL_COLUMNS))
            .collect::<Vec<_>>()
            .join("\n");
        text += &format!("100 % is not attainable: {ROOF_LOSSES}\n");
        text.extend(self.notes.iter().map(|note| format!("note: {note}\n")));
        text
    }

    fn tables(&self) -> Vec<Table> {
        let rows = self.rows.iter().map(|row| {
            vec![
                row.name.clone(),
                row.kernel.name().to_owned(),
                format!("{} x {}", row.rows, row.columns),
                row.home.name().to_owned(),
                format!("{:.1}", row.gb_s),
                format!("{:.1}", row.gflop_s),
                format!("{:.2}", row.intensity),
                format!("{:.1}", row.roof_gb_s),
                row.bound.to_string(),
                format!("{:.1}", 100.0 * row.utilization),
                row.band.to_string(),
                format!("{:.1}", 100.0 * (row.median_seconds / row.seconds - 1.0)),
            ]
        });
        let headings = [
            "product",
            "weights",
            "shape",
            "from",
            GB_PER_S,
            GFLOP_PER_S,
            FLOP_PER_BYTE,
            "roof GB/s",
            "bound",
            "utilization %",
            "band",
            "median +%",
        ];
        let mut advice: Vec<(String, usize)> = Vec::new();
        for text in self.rows.iter().flat_map(|row| &row.advice) {
            match advice.iter_mut().find(|(known, _)| known == text) {
                Some((_, count)) => *count += 1,
                None => advice.push((text.clone(), 1)),
            }
        }
        let advice = advice.into_iter().map(|(text, count)| vec![count.to_string(), text]);
        vec![
            Table::new("Matrix-vector products", &headings, rows),
            Table::new("Advice", &["products", "recommendation"], advice),
        ]
    }
}

impl Saved for Bench {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recomputes a saved result with the roofs of a saved machine.
    fn replay(saved: &str) -> Bench {
        let machine =
            Machine::from_json(include_str!("../../../roofline/tests/fixtures/machine.json")).unwrap();
        let mut bench = Bench::empty(&machine, &Options::default());
        for product in Bench::from_json(saved).unwrap().rows {
            let Product {
                name, kernel, rows, columns, home, seconds, median_seconds, runs, reference, ..
            } = product;
            let case = Case { name, kernel, rows, columns, home };
            let spread = Spread { best: seconds, median: median_seconds, runs };
            let (roof, compute) = (home.roof(&machine.all).unwrap(), compute_roof(kernel, &machine.all));
            bench.rows.push(Product { reference, ..Product::new(&case, spread, roof, compute).unwrap() });
        }
        bench.notes.extend(bench.impossible());
        bench
    }

    #[test]
    fn every_product_gets_its_utilization_band_and_advice() {
        let bench = replay(include_str!("../../../roofline/tests/fixtures/bench.json"));
        let json = serde_json::to_string(&bench).unwrap();
        assert_eq!(serde_json::to_string(&replay(&json)).unwrap(), json);
        let canvas = Canvas { columns: 80, rows: 20, unicode: true, color: false, limit: None };
        insta::assert_snapshot!(bench.text(&canvas));
    }
}
