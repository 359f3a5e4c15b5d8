//! The kernels at the shapes of real models, beside the measured roofs.

use std::hint::black_box;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::{Arena, Machine, PeaksError, Roofs, Spread};
use roofline_formulas::layer_roofline::{self as contract, Inputs, Outputs};
use roofline_kernels::isa::{Isa, IsaError};
use roofline_kernels::{self as kernels, Arithmetic, KernelError, Streams};
use roofline_render::chart::terminal::Canvas;
use roofline_render::chart::{Chart, Point, Roof};
use roofline_render::number::{FLOP_PER_BYTE, GB_PER_S, GFLOP_PER_S, SECONDS};
use roofline_render::paired::Paired;
use roofline_render::report::{Better, Figure, Report, Saved, Schema, Table};
use roofline_render::word::{Band, Bound, WHY_NOT_ALL};

/// A byte that makes ordinary numbers of every type: 0.0115 as f32 and bf16, 1.06 as f16, 60 as a quant.
const PATTERN: u8 = 0x3c;

/// The products of one token through a layer, and the output head: Llama 3.2 1B and Llama 3.1 8B.
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

/// Columns of the matrices that are made to fit a cache level.
const COLUMNS: usize = 2048;

/// The formats that are run unless others are asked for: those that most files have.
const USUAL: [Kernel; 6] = [Kernel::Q8_0, Kernel::Q4K, Kernel::Q6K, Kernel::F16, Kernel::Bf16, Kernel::F32];

/// What weights are stored in.
pub use roofline_kernels::WeightFormat as Kernel;

/// Bytes of one weight, its part of the scales included.
fn weight_size(kernel: Kernel) -> f64 {
    let (weights, bytes) = kernel.block();
    bytes as f64 / weights as f64
}

/// The arithmetic roof that a product stands under.
fn compute_roof(kernel: Kernel, roofs: &Roofs) -> f64 {
    match kernel.arithmetic() {
        Arithmetic::Int8 => roofs.int8_gops,
        Arithmetic::Int4 => roofs.int4_gops.unwrap_or(roofs.int8_gops),
        Arithmetic::F32 => roofs.f32_gflops,
    }
}

/// Rows and columns of a matrix, written as `32768x8192`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows of the matrix; one output each.
    pub rows: usize,
    /// Columns of the matrix; one activation each.
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
            _ => Err("rows and columns, each at least 1, are written as 32768x8192".to_owned()),
        }
    }
}

/// Where the weights are when a product starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Home {
    /// Beyond the caches.
    Memory,
    /// The first cache.
    L1,
    /// The second cache.
    L2,
    /// The third cache.
    L3,
}

impl Home {
    fn of(level: u32) -> Option<Home> {
        [(1, Home::L1), (2, Home::L2), (3, Home::L3)]
            .into_iter()
            .find(|(known, _)| *known == level)
            .map(|(_, home)| home)
    }

    fn name(self) -> &'static str {
        match self {
            Home::Memory => "memory",
            Home::L1 => "L1",
            Home::L2 => "L2",
            Home::L3 => "L3",
        }
    }

    /// The bandwidth roof, if it was measured.
    fn roof(self, roofs: &Roofs) -> Option<f64> {
        let level = |wanted| roofs.levels.iter().find(|level| Home::of(level.level) == Some(wanted));
        if self == Home::Memory { Some(roofs.read_gb_s) } else { level(self).map(|level| level.read_gb_s) }
    }
}

/// One product to run.
#[derive(Clone, Debug)]
struct Case {
    name: String,
    kernel: Kernel,
    rows: usize,
    columns: usize,
    home: Home,
}

impl Case {
    fn bytes(&self) -> usize {
        (weight_size(self.kernel) * self.rows as f64 * self.columns as f64) as usize
    }
}

/// What was measured of a product, and what follows from it.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Product {
    /// The product.
    pub name: String,
    /// What its weights are stored in.
    pub kernel: Kernel,
    /// Rows of the matrix.
    pub rows: usize,
    /// Columns of the matrix.
    pub columns: usize,
    /// Where the weights are.
    pub home: Home,
    /// Seconds of one product: the best and the median.
    pub seconds: f64,
    /// Seconds of the median run.
    pub median_seconds: f64,
    /// How many runs.
    pub runs: usize,
    /// Reading the same bytes, in turn with the product; absent in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Paired>,
    /// Bytes moved over the best time, in GB/s.
    pub gb_s: f64,
    /// Operations over the best time, in GFLOP/s.
    pub gflop_s: f64,
    /// Operations for each byte, in FLOP/byte.
    pub intensity: f64,
    /// The bandwidth it stands under, in GB/s.
    pub roof_gb_s: f64,
    /// The arithmetic peak it stands under, in GFLOP/s.
    pub roof_gflop_s: f64,
    /// What no implementation exceeds at this intensity, in GFLOP/s.
    pub attainable_gflop_s: f64,
    /// What holds it back: memory or compute.
    pub bound: Bound,
    /// Share of the attainable that was reached, 0 to 1; above 1 on an unsteady machine.
    pub utilization: f64,
    /// How good that is.
    pub band: Band,
    /// What to do about it.
    pub advice: Vec<String>,
}

/// Products of a matrix and a vector beside the roofs of the machine.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Bench {
    /// Which schema this document follows.
    pub schema: Schema<Self>,
    /// The processor's name.
    pub cpu: String,
    /// The instruction set of the kernels.
    pub isa: String,
    /// How many threads.
    pub threads: usize,
    /// Measured in a hurry.
    #[serde(default)]
    pub quick: bool,
    /// Only products whose name contains this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
    /// The products.
    pub rows: Vec<Product>,
    /// What one should know about these figures.
    pub notes: Vec<String>,
}

/// What to run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Only these weights; the usual ones when empty.
    pub kernels: Vec<Kernel>,
    /// These shapes instead of those of known models.
    pub shapes: Vec<Shape>,
    /// Only products whose name contains this.
    pub only: Option<String>,
    /// In a few seconds, less exactly.
    pub quick: bool,
}

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// No product has such a name.
    #[error("--only {only:?} matches no product; some are {}", SHAPES.map(|(name, ..)| name).join(", "))]
    NoProduct {
        /// What was asked for.
        only: String,
    },
    /// A figure outside the contract.
    #[error("{product}: {reason}")]
    OutOfDomain {
        /// The product.
        product: String,
        /// Which figure.
        reason: String,
    },
    /// A kernel refused its input.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// No memory or no threads.
    #[error(transparent)]
    Peaks(#[from] PeaksError),
    /// The instruction set is not there.
    #[error(transparent)]
    Isa(#[from] IsaError),
}

fn cases(machine: &Machine, options: &Options) -> Result<Vec<Case>, KernelError> {
    let kernels = if options.kernels.is_empty() { &USUAL } else { options.kernels.as_slice() };
    let mut cases = Vec::new();
    for &kernel in kernels {
        for shape in &options.shapes {
            let (Shape { rows, columns }, (multiple, _)) = (*shape, kernel.block());
            if !columns.is_multiple_of(multiple) {
                return Err(KernelError::NotMultiple { what: "columns", multiple, found: columns });
            }
            cases.push(Case { name: shape.to_string(), kernel, rows, columns, home: Home::Memory });
        }
        if !options.shapes.is_empty() {
            continue;
        }
        for (name, rows, columns) in SHAPES {
            cases.push(Case { name: name.to_owned(), kernel, rows, columns, home: Home::Memory });
        }
        let row = weight_size(kernel) * COLUMNS as f64;
        for level in &machine.all.levels {
            // As much as the roof of this level was measured with.
            let rows = (level.bytes * machine.threads) as f64 / row;
            if let Some(home) = Home::of(level.level).filter(|home| *home != Home::L1)
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
            home: Home::Memory,
        });
    }
    if let Some(only) = &options.only {
        cases.retain(|case| format!("{} {}", case.name, case.kernel.name()).contains(only));
    }
    Ok(cases)
}

/// How often [`Bench::measure`] tells what comes now.
pub fn count(machine: &Machine, options: &Options) -> usize {
    1 + cases(machine, options).map_or(0, |cases| cases.len())
}

impl Bench {
    /// Runs the kernels. `progress` is told what comes now.
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
        progress("making weights");
        let largest = cases.iter().map(Case::bytes).max().unwrap_or(0);
        // Shapes smaller than the cache walk through copies, so that each product finds its weights in memory.
        let arena = Arena::new(isa, machine.threads, largest.max(machine.size), PATTERN)?;
        if arena.is_short() {
            bench.notes.push(format!("only {} MiB of memory could be used", arena.bytes().len() >> 20));
        }
        let budget = Duration::from_millis(if options.quick { 30 } else { 150 });
        for case in cases {
            progress(&format!("{} {}", case.name, case.kernel.name()));
            if case.bytes() > arena.bytes().len() {
                bench.notes.push(format!("{} {} was not run: too large", case.name, case.kernel.name()));
                continue;
            }
            match case.home.roof(&machine.all) {
                Some(roof) => {
                    let setting = machine.all.read.setting;
                    let streams = Streams { count: setting.streams, prefetch: setting.prefetch };
                    let Timed { spread, read_gb_s, beside } = time(&arena, &case, budget, streams)?;
                    // The roof may have been measured while the machine was busier than now.
                    let roof = roof.max(read_gb_s);
                    let compute = compute_roof(case.kernel, &machine.all);
                    bench.rows.push(Product { beside, ..Product::new(&case, spread, roof, compute)? });
                }
                None => {
                    bench.notes.push(format!("{}: no roof was measured for {}", case.name, case.home.name()))
                }
            }
        }
        bench.explain();
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
            notes: machine.doubts(),
        }
    }

    fn explain(&mut self) {
        self.notes.extend(self.impossible());
    }

    /// What was measured above its ceiling, with the likely cause and what to run.
    pub fn impossible(&self) -> Option<String> {
        let above = self.rows.iter().filter(|row| row.utilization > 1.0).count();
        (above > 0).then(|| {
            format!(
                "impossible: {above} product(s) above 100 %, faster than reading the same bytes, before and beside them: the \
                 roofs were measured on a busy machine; measure again with `roofline machine --refresh`"
            )
        })
    }

    /// What its weights were stored in.
    pub fn kernels(&self) -> Vec<Kernel> {
        let has = |kernel: &Kernel| self.rows.iter().any(|row| row.kernel == *kernel);
        Kernel::ALL.iter().copied().filter(has).collect()
    }

    /// The shapes that were asked for.
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

    /// Every product under the roof that it was compared with.
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
            // Each product has read its roof again; the highest is the roof of them all.
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
            whole: 0,
            bound: self.bound,
            roof: Some(roof),
            details: vec![
                ("weights in".to_owned(), self.home.name().to_owned()),
                ("shape".to_owned(), format!("{} x {}", self.rows, self.columns)),
                ("GB/s".to_owned(), format!("{:.1}", self.gb_s)),
                ("of the roof".to_owned(), format!("{:.0} %, {}", 100.0 * self.utilization, self.band)),
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
            beside: None,
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

    /// The time is what is compared; the rest follows from it and from the roofs.
    fn figures(&self) -> Vec<Figure> {
        let of = format!("{} {}", self.name, self.kernel.name());
        let label = format!("{of}, {}", self.home.name());
        let one = |name, unit, better, value| Figure::new(name, &label, unit, better, value).of(&of);
        let seconds = one("seconds", SECONDS, Better::Lower, self.seconds);
        vec![
            Figure { beside: self.beside, ..seconds.between(self.seconds, self.median_seconds) },
            one("utilization", "1", Better::Neither, self.utilization),
            one("gb_s", GB_PER_S, Better::Neither, self.gb_s),
            one("gflop_s", GFLOP_PER_S, Better::Neither, self.gflop_s),
            one("intensity", FLOP_PER_BYTE, Better::Neither, self.intensity),
            one("attainable_gflop_s", GFLOP_PER_S, Better::Neither, self.attainable_gflop_s),
        ]
    }
}

/// What was measured of one product.
struct Timed {
    /// Its seconds.
    spread: Spread,
    /// The best GB/s of reading the same bytes in turn with it.
    read_gb_s: f64,
    /// The product beside that reading.
    beside: Option<Paired>,
}

fn time(arena: &Arena, case: &Case, budget: Duration, streams: Streams) -> Result<Timed, BenchError> {
    const RUNS: usize = 7;
    /// The noise beside the reading at which enough is known, and how many times the budget may be spent to get there.
    const ENOUGH: (f64, u32) = (0.03, 8);
    let bytes = case.bytes();
    // Copies stay aligned, and only memory-sized cases move on to the next one.
    let distance = bytes.next_multiple_of(64);
    let copies = if case.home == Home::Memory { (arena.bytes().len() / distance).max(1) } else { 1 };
    let mut x = vec![0f32; case.columns];
    for (at, x) in x.iter_mut().enumerate() {
        *x = (at % 17) as f32 / 16.0 - 0.5;
    }
    let mut out = vec![0f32; case.rows];
    arena.with_team(|team| -> Result<Timed, BenchError> {
        let mut seconds = Vec::new();
        let mut rounds = Vec::new();
        let mut read_gb_s = 0f64;
        let mut copy = 0;
        let mut batch = 1;
        let first = Instant::now();
        let known = |rounds: &[(f64, f64)]| Paired::of(rounds).is_some_and(|beside| beside.noise <= ENOUGH.0);
        while seconds.len() < RUNS
            || first.elapsed() < budget
            || (first.elapsed() < budget * ENOUGH.1 && !known(&rounds))
        {
            let start = Instant::now();
            for _ in 0..batch {
                let weights = &arena.bytes()[copy * distance..][..bytes];
                case.kernel.matrix(weights, case.rows, case.columns)?.matvec(team, &x, &mut out)?;
                copy = (copy + 1) % copies;
            }
            let elapsed = start.elapsed().as_secs_f64();
            // A clock reading and the start of a round must not count.
            if elapsed < 1e-3 && seconds.is_empty() {
                batch *= 2;
                continue;
            }
            seconds.push(elapsed / batch as f64);
            let start = Instant::now();
            for _ in 0..batch {
                let source = &arena.floats()[copy * distance / 4..][..bytes / 4];
                let share = (source.len() / team.threads()).max(1);
                team.run(|index| {
                    if let Some(share) = source.chunks(share).nth(index) {
                        black_box(kernels::read(team.isa(), share, streams));
                    }
                });
                copy = (copy + 1) % copies;
            }
            // A clock that stands still is no time at all; the contract wants some.
            let time = start.elapsed().as_secs_f64().max(1e-9);
            rounds.push((elapsed, time));
            let read = Inputs { other_bytes: (batch * bytes) as f64, time, ..Inputs::new(1.0, 1.0) };
            read_gb_s = read_gb_s.max(read.evaluate().map_or(0.0, |outputs| outputs.achieved_bandwidth));
        }
        seconds.sort_by(f64::total_cmp);
        let spread = Spread { best: seconds[0], median: seconds[seconds.len() / 2], runs: seconds.len() };
        // A round may be many products; the reference is told for one, as the time is.
        let beside = Paired::of(&rounds);
        let beside = beside.map(|beside| Paired { reference: beside.reference / batch as f64, ..beside });
        Ok(Timed { spread, read_gb_s, beside })
    })?
}

/// Columns that the others can do without, the least important first.
const LEAST: [&str; 5] = ["bound", FLOP_PER_BYTE, "shape", GFLOP_PER_S, "median +%"];

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
        let mut text = format!("{}, {}, {} thread(s)\n\n", self.cpu, self.isa, self.threads);
        text +=
            &self.tables().iter().map(|table| table.fitted(canvas, &LEAST)).collect::<Vec<_>>().join("\n");
        text += &format!("100 % is out of reach: {WHY_NOT_ALL}\n");
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
            Table::new("Products of a matrix and a vector", &headings, rows),
            Table::new("Advice", &["products", "what to do"], advice),
        ]
    }
}

impl Saved for Bench {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Saved times under the roofs of a saved machine.
    fn replayed(saved: &str) -> Bench {
        let machine =
            Machine::from_json(include_str!("../../../roofline/tests/fixtures/machine.json")).unwrap();
        let mut bench = Bench::empty(&machine, &Options::default());
        for product in Bench::from_json(saved).unwrap().rows {
            let Product { name, kernel, rows, columns, home, seconds, median_seconds, runs, beside, .. } =
                product;
            let case = Case { name, kernel, rows, columns, home };
            let spread = Spread { best: seconds, median: median_seconds, runs };
            let (roof, compute) = (home.roof(&machine.all).unwrap(), compute_roof(kernel, &machine.all));
            bench.rows.push(Product { beside, ..Product::new(&case, spread, roof, compute).unwrap() });
        }
        bench.explain();
        bench
    }

    #[test]
    fn every_product_gets_its_utilization_band_and_advice() {
        let bench = replayed(include_str!("../../../roofline/tests/fixtures/bench.json"));
        let json = serde_json::to_string(&bench).unwrap();
        assert_eq!(serde_json::to_string(&replayed(&json)).unwrap(), json);
        let canvas = Canvas { columns: 80, rows: 20, unicode: true, colour: false, limit: None };
        insta::assert_snapshot!(bench.text(&canvas));
    }
}
