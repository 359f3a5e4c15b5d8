//! `roofline bench`: the kernels at the shapes of real models, against the measured roofs.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use half::{bf16, f16};
use roofline_contracts::contract::Value;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::chart::terminal::Canvas;
use crate::chart::{Bound, Chart, Point, Roof};
use crate::contracts::layer_roofline::{self as contract, Inputs, Outputs};
use crate::document;
use crate::isa::Isa;
use crate::kernels::{self, BlockQ8_0, Matrix, Streams, Team, Weight};
use crate::peaks::{Arena, Machine, Roofs, Spread};
use crate::program::output::picture::Pictures;
use crate::program::output::terminal::Progress;
use crate::program::require::{self, Gate};
use crate::program::{Exit, Failure, cli, device};
use crate::report::{Report, Schema, Table};

/// The name of the JSON form.
pub const SCHEMA: &str = Bench::SCHEMA;

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

/// What weights are stored in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Kernel {
    /// Blocks of 32 bytes with an f16 scale; activations are quantized too.
    Q8_0,
    /// Half precision.
    F16,
    /// bfloat16.
    Bf16,
    /// Single precision.
    F32,
}

impl Kernel {
    const ALL: [Kernel; 4] = [Kernel::Q8_0, Kernel::F16, Kernel::Bf16, Kernel::F32];

    fn name(self) -> &'static str {
        match self {
            Kernel::Q8_0 => BlockQ8_0::NAME,
            Kernel::F16 => f16::NAME,
            Kernel::Bf16 => bf16::NAME,
            Kernel::F32 => f32::NAME,
        }
    }

    /// Bytes of one weight, its part of the scale included.
    fn weight_size(self) -> f64 {
        match self {
            Kernel::Q8_0 => BlockQ8_0::BYTES as f64 / BlockQ8_0::WEIGHTS as f64,
            Kernel::F16 | Kernel::Bf16 => 2.0,
            Kernel::F32 => 4.0,
        }
    }

    /// The arithmetic roof it stands under.
    fn compute_roof(self, roofs: &Roofs) -> f64 {
        if self == Kernel::Q8_0 { roofs.int8_gops } else { roofs.f32_gflops }
    }
}

/// Where the weights are when a product starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Home {
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

    fn word(self) -> &'static str {
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
        (self.kernel.weight_size() * (self.rows * self.columns) as f64) as usize
    }
}

/// What was measured of a case, and what follows from it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Row {
    /// The product.
    name: String,
    /// What its weights are stored in.
    kernel: Kernel,
    /// Rows of the matrix.
    rows: usize,
    /// Columns of the matrix.
    columns: usize,
    /// Where the weights are.
    home: Home,
    /// Seconds of one product: the best and the median.
    seconds: f64,
    /// Seconds of the median run.
    median_seconds: f64,
    /// How many runs.
    runs: usize,
    /// Bytes moved over the best time, in GB/s.
    gb_s: f64,
    /// Operations over the best time, in GFLOP/s.
    gflop_s: f64,
    /// Operations for each byte, in FLOP/byte.
    intensity: f64,
    /// The bandwidth it stands under, in GB/s.
    roof_gb_s: f64,
    /// The arithmetic peak it stands under, in GFLOP/s.
    roof_gflop_s: f64,
    /// What no implementation exceeds at this intensity, in GFLOP/s.
    attainable_gflop_s: f64,
    /// What holds it back: memory or compute.
    bound: String,
    /// Share of the attainable that was reached, 0 to 1; above 1 on an unsteady machine.
    utilization: f64,
    /// How good that is.
    band: String,
    /// What to do about it.
    advice: Vec<String>,
}

/// Products of a matrix and a vector beside the roofs of the machine.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bench {
    /// Which schema this document follows.
    schema: Schema<Self>,
    /// The processor's name.
    cpu: String,
    /// The instruction set of the kernels.
    isa: String,
    /// How many threads.
    threads: usize,
    /// Measured in a hurry.
    #[serde(default)]
    quick: bool,
    /// Only products whose name contains this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    only: Option<String>,
    /// The products.
    rows: Vec<Row>,
    /// What one should know about these figures.
    notes: Vec<String>,
}

/// What `--require` can name.
const RESULTS: [&str; 6] = ["utilization", "gb_s", "gflop_s", "intensity", "attainable_gflop_s", "seconds"];

/// Runs the kernels, or takes an earlier run's times, and says how near the roofs they come.
pub fn run(args: &cli::Bench) -> Result<Exit, Failure> {
    let gates = require::parse(&args.require, &RESULTS, &[])?;
    let pictures = Pictures::open(&args.pictures)?;
    let machine = device::this(&args.measuring)?;
    let mut bench = Bench {
        schema: Schema::new(),
        cpu: machine.cpu.clone(),
        isa: machine.isa.clone(),
        threads: machine.threads,
        quick: args.measuring.quick,
        only: args.only.clone(),
        rows: Vec::new(),
        notes: Vec::new(),
    };
    match &args.replay {
        Some(path) => bench.replay(path, &machine)?,
        None => bench.measure(args, &machine)?,
    }
    bench.explain();
    pictures.show(&bench, args.format, false)?;
    Ok(bench.gate(&gates))
}

fn cases(machine: &Machine, kernels: &[Kernel], only: Option<&str>) -> Vec<Case> {
    let kernels = if kernels.is_empty() { &Kernel::ALL } else { kernels };
    let mut cases = Vec::new();
    for &kernel in kernels {
        for (name, rows, columns) in SHAPES {
            cases.push(Case { name: name.to_owned(), kernel, rows, columns, home: Home::Memory });
        }
        let row = kernel.weight_size() * COLUMNS as f64;
        for level in &machine.all.levels {
            // As much as the roof of this level was measured with.
            let rows = (level.bytes * machine.threads) as f64 / row;
            if let Some(home) = Home::of(level.level).filter(|home| *home != Home::L1)
                && rows >= machine.threads as f64
            {
                cases.push(Case {
                    name: format!("fits {}", home.word()),
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
    cases.retain(|case| {
        only.is_none_or(|only| format!("{} {}", case.name, case.kernel.name()).contains(only))
    });
    cases
}

impl Bench {
    fn measure(&mut self, args: &cli::Bench, machine: &Machine) -> Result<(), Failure> {
        let cases = cases(machine, &args.kernel, args.only.as_deref());
        if cases.is_empty() {
            return Err(Failure(format!(
                "--only {:?} matches no product; some are {}",
                args.only.as_deref().unwrap_or_default(),
                SHAPES.map(|(name, ..)| name).join(", ")
            )));
        }
        let isa = Isa::named(&machine.isa)?;
        let progress = Progress::new();
        progress.say("making weights");
        let largest = cases.iter().map(Case::bytes).max().unwrap_or(0);
        // Shapes smaller than the cache walk through copies, so that each product finds its weights in memory.
        let arena = Arena::new(isa, machine.threads, largest.max(machine.size), PATTERN)?;
        if arena.is_short() {
            self.notes.push(format!("only {} MiB of memory could be used", arena.bytes().len() >> 20));
        }
        let budget = Duration::from_millis(if args.measuring.quick { 30 } else { 150 });
        for case in cases {
            progress.say(&format!("{} {}", case.name, case.kernel.name()));
            if case.bytes() > arena.bytes().len() {
                self.notes.push(format!("{} {} was not run: too large", case.name, case.kernel.name()));
                continue;
            }
            match case.home.roof(&machine.all) {
                Some(roof) => {
                    let setting = machine.all.read.setting;
                    let streams = Streams { count: setting.streams, prefetch: setting.prefetch };
                    let (spread, beside) = time(&arena, &case, budget, streams)?;
                    // The roof may have been measured while the machine was busier than now.
                    let roof = roof.max(beside);
                    self.rows.push(Row::new(&case, spread, roof, case.kernel.compute_roof(&machine.all))?);
                }
                None => {
                    self.notes.push(format!("{}: no roof was measured for {}", case.name, case.home.word()))
                }
            }
        }
        Ok(())
    }

    /// The times of an earlier run under this machine's roofs.
    fn replay(&mut self, path: &Path, machine: &Machine) -> Result<(), Failure> {
        let wrong = |reason: String| Failure(format!("{}: {reason}", path.display()));
        let text = document::read(path).map_err(|error| wrong(error.to_string()))?;
        for row in Bench::from_json(&text).map_err(wrong)?.rows {
            let Row { name, kernel, rows, columns, home, seconds, median_seconds, runs, .. } = row;
            let case = Case { name, kernel, rows, columns, home };
            let spread = Spread { best: seconds, median: median_seconds, runs };
            let roof =
                home.roof(&machine.all).ok_or_else(|| wrong(format!("no roof for {}", home.word())))?;
            self.rows.push(Row::new(&case, spread, roof, kernel.compute_roof(&machine.all))?);
        }
        Ok(())
    }

    fn explain(&mut self) {
        let above = self.rows.iter().filter(|row| row.utilization > 1.0).count();
        if above > 0 {
            self.notes.push(format!(
                "{above} product(s) above 100 %: faster than reading the same bytes, before and beside them: the runs of a \
                 busy machine differ; `roofline machine --refresh` measures the roofs again"
            ));
        }
    }

    fn gate(&self, gates: &[Gate]) -> Exit {
        let mut checked = Vec::new();
        for row in &self.rows {
            let of = format!("{} {}", row.name, row.kernel.name());
            checked.extend(require::check(gates, &of, &row.results()));
        }
        require::exit(&checked)
    }

    /// Results from their JSON form.
    pub fn from_json(text: &str) -> Result<Bench, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// The processor, the instruction set and the number of threads.
    pub fn setting(&self) -> (&str, &str, usize) {
        (&self.cpu, &self.isa, self.threads)
    }

    /// The arguments that run it again.
    pub fn arguments(&self) -> Vec<String> {
        let mut kernels: Vec<&str> = Vec::new();
        for name in self.rows.iter().map(|row| row.kernel.name()) {
            if !kernels.contains(&name) {
                kernels.push(name);
            }
        }
        let mut arguments = vec!["bench".to_owned(), format!("--kernel={}", kernels.join(","))];
        arguments.extend(self.only.iter().map(|only| format!("--only={only}")));
        arguments.extend(self.quick.then(|| "--quick".to_owned()));
        arguments.push(format!("--isa={}", self.isa));
        arguments.push(format!("--threads={}", self.threads));
        arguments
    }

    /// The name of each product, and its best and its median seconds.
    pub fn times(&self) -> impl Iterator<Item = (String, f64, f64)> {
        let name = |row: &Row| format!("{} {}, {}", row.name, row.kernel.name(), row.home.word());
        self.rows.iter().map(move |row| (name(row), row.seconds, row.median_seconds))
    }

    /// Every product under the roof that it was compared with.
    pub fn roofline(&self) -> Chart {
        let total: f64 = self.rows.iter().map(|row| row.seconds).sum();
        let mut roofs: Vec<Roof> = Vec::new();
        let mut points = Vec::new();
        for row in &self.rows {
            let roof = Roof {
                name: row.home.word().to_owned(),
                group: if row.kernel == Kernel::Q8_0 { "int8" } else { "f32" }.to_owned(),
                bandwidth_gb_s: Some(row.roof_gb_s),
                compute_gflop_s: Some(row.roof_gflop_s),
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

impl Row {
    fn point(&self, total: f64, roof: usize) -> Point {
        Point {
            name: format!("{} {}", self.name, self.kernel.name()),
            group: self.kernel.name().to_owned(),
            intensity_flop_byte: Some(self.intensity),
            performance_gflop_s: Some(self.gflop_s),
            share: Some(self.seconds / total),
            bound: if self.bound == "memory" { Bound::Memory } else { Bound::Compute },
            roof: Some(roof),
            details: vec![
                ("weights in".to_owned(), self.home.word().to_owned()),
                ("shape".to_owned(), format!("{} x {}", self.rows, self.columns)),
                ("GB/s".to_owned(), format!("{:.1}", self.gb_s)),
                ("of the roof".to_owned(), format!("{:.0} %, {}", 100.0 * self.utilization, self.band)),
            ],
        }
    }

    fn new(case: &Case, spread: Spread, bandwidth: f64, compute: f64) -> Result<Row, Failure> {
        let (rows, columns) = (case.rows as f64, case.columns as f64);
        let flops = contract::dense_flops(1.0, columns, rows);
        let bytes = contract::dense_bytes(case.kernel.weight_size(), 4.0, 1.0, columns, rows);
        let inputs = Inputs { time: spread.best, bandwidth, compute, ..Inputs::new(flops, bytes, 1.0, 1.0) };
        let outputs: Outputs =
            inputs.evaluate().map_err(|error| Failure(format!("{}: {error}", case.name)))?;
        let advice = contract::recommendations(&inputs, &outputs);
        Ok(Row {
            name: case.name.clone(),
            kernel: case.kernel,
            rows: case.rows,
            columns: case.columns,
            home: case.home,
            seconds: spread.best,
            median_seconds: spread.median,
            runs: spread.runs,
            gb_s: outputs.achieved_bandwidth,
            gflop_s: outputs.achieved_compute,
            intensity: outputs.arithmetic_intensity,
            roof_gb_s: bandwidth,
            roof_gflop_s: compute,
            attainable_gflop_s: outputs.attainable,
            bound: match outputs.bound {
                contract::Bound::Memory => "memory",
                contract::Bound::Compute => "compute",
            }
            .to_owned(),
            utilization: outputs.utilization,
            band: match outputs.utilization_band {
                contract::UtilizationBand::NearOptimal => "near optimal",
                contract::UtilizationBand::Good => "good",
                contract::UtilizationBand::Improvable => "room for improvement",
                contract::UtilizationBand::Poor => "inefficient",
            }
            .to_owned(),
            advice: advice.iter().flatten().map(|advice| advice.text.to_owned()).collect(),
        })
    }

    fn results(&self) -> BTreeMap<&'static str, Value> {
        let figures = [
            self.utilization,
            self.gb_s,
            self.gflop_s,
            self.intensity,
            self.attainable_gflop_s,
            self.seconds,
        ];
        RESULTS.into_iter().zip(figures.map(Value::Number)).collect()
    }
}

/// Seconds of one product, and the best GB/s of reading the same bytes in turn with it.
fn time(arena: &Arena, case: &Case, budget: Duration, streams: Streams) -> Result<(Spread, f64), Failure> {
    match case.kernel {
        Kernel::Q8_0 => time_with(arena, case, budget, streams, |team, weights, x, out| {
            let x = kernels::quantized_q8_0(team.isa(), x)?;
            kernels::matvec_q8_0_q8_0(team, weights, &x, out)
        }),
        Kernel::F16 => time_with(arena, case, budget, streams, kernels::matvec_f16),
        Kernel::Bf16 => time_with(arena, case, budget, streams, kernels::matvec_bf16),
        Kernel::F32 => time_with(arena, case, budget, streams, kernels::matvec_f32),
    }
}

fn time_with<T: Weight>(
    arena: &Arena,
    case: &Case,
    budget: Duration,
    streams: Streams,
    product: impl Fn(&Team, Matrix<T>, &[f32], &mut [f32]) -> Result<(), kernels::KernelError> + Sync,
) -> Result<(Spread, f64), Failure> {
    const RUNS: usize = 7;
    let bytes = Matrix::<T>::length(case.rows, case.columns)? * size_of::<T>();
    // Copies stay aligned, and only memory-sized cases move on to the next one.
    let distance = bytes.next_multiple_of(64);
    let copies = if case.home == Home::Memory { (arena.bytes().len() / distance).max(1) } else { 1 };
    let mut x = vec![0f32; case.columns];
    for (at, x) in x.iter_mut().enumerate() {
        *x = (at % 17) as f32 / 16.0 - 0.5;
    }
    let mut out = vec![0f32; case.rows];
    arena.with_team(|team| -> Result<(Spread, f64), Failure> {
        let mut seconds = Vec::new();
        let mut beside = 0f64;
        let mut copy = 0;
        let mut batch = 1;
        let deadline = Instant::now() + budget;
        while seconds.len() < RUNS || Instant::now() < deadline {
            let start = Instant::now();
            for _ in 0..batch {
                let weights = &arena.bytes()[copy * distance..][..bytes];
                product(team, Matrix::from_bytes(weights, case.rows, case.columns)?, &x, &mut out)?;
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
            beside = beside
                .max(contract::achieved_bandwidth((batch * bytes) as f64, start.elapsed().as_secs_f64()));
        }
        seconds.sort_by(f64::total_cmp);
        let spread = Spread { best: seconds[0], median: seconds[seconds.len() / 2], runs: seconds.len() };
        Ok((spread, beside))
    })?
}

impl Report for Bench {
    const SCHEMA: &'static str = "roofline.bench/1";

    fn chart(&self) -> Option<Chart> {
        Some(self.roofline())
    }

    fn text(&self, _: &Canvas) -> String {
        let mut text = format!("{}, {}, {} thread(s)\n\n", self.cpu, self.isa, self.threads);
        text += &self.tables().iter().map(Table::text).collect::<Vec<_>>().join("\n");
        text.extend(self.notes.iter().map(|note| format!("note: {note}\n")));
        text
    }

    fn tables(&self) -> Vec<Table> {
        let rows = self.rows.iter().map(|row| {
            vec![
                row.name.clone(),
                row.kernel.name().to_owned(),
                format!("{} x {}", row.rows, row.columns),
                row.home.word().to_owned(),
                format!("{:.1}", row.gb_s),
                format!("{:.1}", row.gflop_s),
                format!("{:.2}", row.intensity),
                format!("{:.1}", row.roof_gb_s),
                row.bound.clone(),
                format!("{:.1}", 100.0 * row.utilization),
                row.band.clone(),
                format!("{:.1}", 100.0 * (row.median_seconds / row.seconds - 1.0)),
            ]
        });
        let headings = [
            "product",
            "weights",
            "shape",
            "from",
            "GB/s",
            "GFLOP/s",
            "FLOP/B",
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
        let advice = advice.into_iter().map(|(text, count)| vec![count.to_string(), text]).collect();
        vec![
            Table {
                title: "Products of a matrix and a vector".to_owned(),
                headings: headings.map(str::to_owned).to_vec(),
                rows: rows.collect(),
            },
            Table {
                title: "Advice".to_owned(),
                headings: ["products", "what to do"].map(str::to_owned).to_vec(),
                rows: advice,
            },
        ]
    }
}
