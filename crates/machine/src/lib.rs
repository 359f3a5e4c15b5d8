//! The measured limits of this machine: how fast memory moves and how fast it calculates, for one thread
//! and for all, with the settings that reached it. Measured once and kept on disk.

mod arena;
pub mod bench;
mod buffer;
pub mod date;
pub mod document;
mod energy;
mod measure;
mod report;
mod store;
mod system;
mod topology;

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, io};

use serde::{Deserialize, Serialize};

use roofline_kernels::FmaType;
use roofline_kernels::isa::{Isa, IsaError};
use roofline_render::number::{self, threads};
use roofline_render::report::{Saved, Schema};

pub use arena::Arena;
pub use energy::Energy;
pub use energy::{Counters, Meter};
pub use store::{clear, directory};
pub use system::free_memory;
pub use system::{Beyond, Cache, parse_size};
pub use topology::Topology;

/// Names a file with a saved machine to take instead of measuring, so that whatever builds on a machine
/// can be run again with the same figures.
pub const SAVED: &str = "ROOFLINE_MACHINE";

/// Best and median this far apart make a warning: something else was running.
const UNSTEADY: f64 = 1.25;

/// A measurement older than this, in days, is doubted.
const OLD: i64 = 30;

/// A larger share of the processors at work before a measurement makes it doubtful.
const BUSY: f64 = 0.125;

/// A machine and its roofs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Machine {
    /// Which schema this document follows.
    pub schema: Schema<Self>,
    /// The version that measured it.
    pub version: String,
    /// The processor's name.
    pub cpu: String,
    /// The instruction set of the kernels.
    pub isa: String,
    /// How many threads `all` means.
    pub threads: usize,
    /// The data caches, the nearest first; empty when the system does not tell.
    pub caches: Vec<Cache>,
    /// How the processors are made up; absent when the system does not tell, and in measurements of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<Topology>,
    /// Bytes of memory that the machine has, or its container may take; none when the system does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<usize>,
    /// The day of the measurement in UTC, as `2026-11-17`; absent in those of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Share of all processors' time that went to other work right before the measurement, 0 to 1; absent where the system
    /// does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// Instructions of the processor that the kernels don't use: with some, roofs of arithmetic are lower bounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beyond: Vec<Beyond>,
    /// Measured in a hurry.
    pub quick: bool,
    /// What else was asked of the measurement; absent when nothing was.
    #[serde(default, skip_serializing_if = "Effort::is_ordinary")]
    pub effort: Effort,
    /// Bytes of the buffers beyond the caches.
    pub size: usize,
    /// Roofs of one thread.
    pub single: Roofs,
    /// Roofs of all threads.
    pub all: Roofs,
    /// With SMT, roofs of one thread a core: as if it were off. Absent without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_a_core: Option<OneACore>,
    /// Reading from each memory node by the processors of each, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeRead>,
    /// What reading and multiplying take, where the counters may be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
    /// What the data sheet would say, as far as the system tells.
    pub theory: Theory,
    /// What one should know about these figures.
    pub notes: Vec<String>,
}

/// The limits for some number of threads. The figures are the best of all runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Roofs {
    /// How many threads.
    pub threads: usize,
    /// Reading from memory, GB/s.
    pub read_gb_s: f64,
    /// Copying in memory, read and write both counted, GB/s.
    pub copy_gb_s: f64,
    /// `a = b + s * c` in memory, three arrays counted, GB/s.
    pub triad_gb_s: f64,
    /// Writing to memory, GB/s; absent in measurements of older versions, as all that may be absent here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_gb_s: Option<f64>,
    /// f32 multiply-adds, two operations each, GFLOP/s.
    pub f32_gflops: f64,
    /// Byte multiply-adds into 32-bit sums, two operations each, Gop/s.
    pub int8_gops: f64,
    /// Multiply-adds of a byte and a number of fewer than 8 bits, some of which add up in 16 bits, two operations each, Gop/s;
    /// absent in measurements of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub int4_gops: Option<f64>,
    /// The intensity in FLOP/byte at which reading and f32 take the same time.
    pub ridge: f64,
    /// How `read_gb_s` was reached.
    pub read: Peak,
    /// How `copy_gb_s` was reached.
    pub copy: Peak,
    /// How `triad_gb_s` was reached.
    pub triad: Peak,
    /// How `write_gb_s` was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<Peak>,
    /// The runs behind `f32_gflops`.
    pub f32: Spread,
    /// The runs behind `int8_gops`.
    pub int8: Spread,
    /// The runs behind `int4_gops`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub int4: Option<Spread>,
    /// Each kind of multiply-add that the processor has instructions for, with the one that won.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arithmetic: Vec<Computed>,
    /// Cycles a second of each thread while all run, in GHz, as additions count them that wait for each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_ghz: Option<f64>,
    /// The clock that the system told during the multiply-adds, in GHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_clock_ghz: Option<f64>,
    /// The same within the caches.
    pub levels: Vec<Level>,
    /// Reading again and again, from what fits the nearest cache to what fits none: the steps between the caches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweep: Vec<WorkingSet>,
}

/// A roof of arithmetic and the instruction that reached it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Computed {
    /// What is multiplied.
    pub numbers: FmaType,
    /// The instruction, and the registers it works on.
    pub instruction: String,
    /// Operations a second, two for a multiply-add, in GFLOP/s or Gop/s.
    pub gop_s: f64,
    /// The runs behind it.
    pub spread: Spread,
}

/// Reading what each thread has of one size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkingSet {
    /// Bytes of each thread.
    pub bytes: usize,
    /// All threads together, GB/s.
    pub read_gb_s: f64,
}

/// Roofs of one thread a core.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OneACore {
    /// How many threads.
    pub threads: usize,
    /// Reading from memory, GB/s.
    pub read_gb_s: f64,
    /// f32 multiply-adds, GFLOP/s.
    pub f32_gflops: f64,
}

/// Reading from one memory node by the processors of one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeRead {
    /// The node whose processors read.
    pub processors: usize,
    /// The node whose processors touched the memory first, so that it lies there.
    pub memory: usize,
    /// GB/s.
    pub read_gb_s: f64,
}

impl Roofs {
    /// The runs behind each roof.
    fn spreads(&self) -> impl Iterator<Item = (&'static str, Spread)> {
        let always = [
            ("read", self.read.spread),
            ("copy", self.copy.spread),
            ("triad", self.triad.spread),
            ("f32", self.f32),
            ("int8", self.int8),
        ];
        let known = |numbers: &FmaType| ["f32", "int8", "int4"].contains(&numbers.name());
        let more = self.arithmetic.iter().filter(move |one| !known(&one.numbers));
        let more = more.map(|one| (one.numbers.name(), one.spread));
        always.into_iter().chain(self.int4.map(|spread| ("int4", spread))).chain(more)
    }

    /// The roof of a kind of multiply-add, where it has instructions of its own.
    pub fn computed(&self, numbers: FmaType) -> Option<&Computed> {
        self.arithmetic.iter().find(|one| one.numbers == numbers)
    }

    /// Those whose runs are far apart.
    fn unsteady(&self) -> impl Iterator<Item = (&'static str, Spread)> {
        self.spreads().filter(|(_, spread)| spread.is_unsteady())
    }
}

/// The highest that any number of threads reached, each with that number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Best {
    /// Reading from memory, GB/s.
    pub read_gb_s: Reached,
    /// f32 multiply-adds, GFLOP/s.
    pub f32_gflops: Reached,
    /// Byte multiply-adds into 32-bit sums, Gop/s.
    pub int8_gops: Reached,
    /// Multiply-adds of a byte and fewer than 8 bits into 16-bit sums, Gop/s; none in measurements of older versions.
    pub int4_gops: Option<Reached>,
    /// f16 multiply-adds, GFLOP/s; none where there are no instructions for them.
    pub f16_gflops: Option<Reached>,
    /// bf16 multiply-adds, GFLOP/s; none where there are no instructions for them.
    pub bf16_gflops: Option<Reached>,
}

/// A roof and the threads that reached it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reached {
    /// The roof.
    pub value: f64,
    /// How many threads.
    pub threads: usize,
}

/// The limits within one cache level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// 1 is the nearest.
    pub level: u32,
    /// What one thread walked.
    pub bytes: usize,
    /// Reading, GB/s.
    pub read_gb_s: f64,
    /// Copying, GB/s.
    pub copy_gb_s: f64,
    /// Triad, GB/s.
    pub triad_gb_s: f64,
    /// The runs behind `read_gb_s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Spread>,
    /// The runs behind `copy_gb_s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<Spread>,
    /// The runs behind `triad_gb_s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub triad: Option<Spread>,
}

/// The setting that won and its runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Peak {
    /// How memory was walked.
    pub setting: Setting,
    /// How much the runs differ.
    pub spread: Spread,
}

/// How memory is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Streams of each thread.
    pub streams: usize,
    /// Bytes of software prefetch; 0 for none.
    pub prefetch: usize,
    /// Stores that pass the cache by.
    pub streaming_stores: bool,
    /// Huge pages.
    pub huge_pages: bool,
    /// Where the threads ran.
    pub placement: Placement,
}

/// Where the threads run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Placement {
    /// Pinned to the first processors.
    Packed,
    /// Pinned, as far apart as possible.
    Spread,
    /// Where the system likes.
    Free,
}

/// How much the runs of one setting differ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// The best run.
    pub best: f64,
    /// The median run.
    pub median: f64,
    /// How many runs.
    pub runs: usize,
}

impl Spread {
    /// Sorts the runs.
    fn of(runs: &mut [f64]) -> Spread {
        runs.sort_by(f64::total_cmp);
        Spread {
            best: runs.last().copied().unwrap_or(0.0),
            median: runs.get(runs.len() / 2).copied().unwrap_or(0.0),
            runs: runs.len(),
        }
    }

    /// Best and median are so far apart that something else must have been running.
    pub fn is_unsteady(&self) -> bool {
        self.best > UNSTEADY * self.median
    }
}

/// Limits on paper, as far as the system tells them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Theory {
    /// The clock the system tells, in GHz.
    pub clock_ghz: Option<f64>,
    /// f32 GFLOP/s of one thread at that clock, with two vector multiply-adds a cycle.
    pub single_f32_gflops: Option<f64>,
    /// The same for all threads.
    pub all_f32_gflops: Option<f64>,
    /// What the memory modules add up to, in GB/s.
    pub memory_gb_s: Option<f64>,
}

/// What is measured and how often, where that is not left to the time there is. Such a measurement is shown and never kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Effort {
    /// The only multiply-adds that are measured beside f32 and int8, which every machine has; all when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<FmaType>,
    /// Runs of each setting before those that count.
    pub warm_up: usize,
    /// Runs of each setting; none for as many as there is time for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<usize>,
}

impl Effort {
    /// The most runs of a setting, before those that count or of them.
    pub const MOST: usize = 1000;

    /// Nothing is asked for.
    pub fn is_ordinary(&self) -> bool {
        *self == Effort::default()
    }

    /// Whether a kind of multiply-add is measured.
    fn has(&self, kind: FmaType) -> bool {
        let always = matches!(kind, FmaType::F32 | FmaType::Int8);
        always || self.types.is_empty() || self.types.contains(&kind)
    }

    /// The arguments that ask for it.
    pub fn arguments(&self) -> Vec<String> {
        let types: Vec<&str> = self.types.iter().map(|kind| kind.name()).collect();
        let types = (!types.is_empty()).then(|| format!("--types={}", types.join(",")));
        let warm_up = (self.warm_up > 0).then(|| format!("--warm-up={}", self.warm_up));
        let steps = self.steps.map(|steps| format!("--steps={steps}"));
        [types, warm_up, steps].into_iter().flatten().collect()
    }
}

/// How to measure.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// In a few seconds, less exact.
    pub quick: bool,
    /// Measure even if there is a saved measurement.
    pub refresh: bool,
    /// Neither read nor write saved measurements.
    pub no_cache: bool,
    /// How many threads; as many as can run at once when not given.
    pub threads: Option<usize>,
    /// Bytes of the buffers beyond the caches; from the caches when not given.
    pub size: Option<usize>,
    /// The instruction set; the best one when not given.
    pub isa: Option<Isa>,
    /// What is measured and how often.
    pub effort: Effort,
}

/// Why a machine could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum PeaksError {
    /// The system gave no memory.
    #[error(
        "no memory: {:.1} MiB of buffers were wanted; free some or set a smaller --size", *wanted as f64 / 1048576.0
    )]
    Memory {
        /// Bytes.
        wanted: usize,
    },
    /// The buffers asked for would take too much.
    #[error(
        "--size of {:.1} MiB is more than an eighth of the free memory; at most {:.1} MiB can be used now",
        *wanted as f64 / 1048576.0, *most as f64 / 1048576.0
    )]
    Size {
        /// Bytes asked for.
        wanted: usize,
        /// Bytes allowed.
        most: usize,
    },
    /// A number of threads that cannot be.
    #[error("--threads {found}: must be from 1 to {}", MOST_THREADS)]
    ThreadCount {
        /// What was asked for.
        found: usize,
    },
    /// The system gave no threads.
    #[error("cannot start threads: {0}")]
    Threads(#[source] io::Error),
    /// A saved machine that cannot be used.
    #[error("{}: {reason}", path.display())]
    Saved {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The instruction set is not there.
    #[error(transparent)]
    Isa(#[from] IsaError),
}

const MOST_THREADS: usize = 4096;

/// What a measurement depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    cpu: String,
    isa: String,
    threads: usize,
    size: usize,
    quick: bool,
    version: String,
}

impl Options {
    /// About how long a measurement takes.
    pub fn duration(&self) -> Duration {
        /// Searches of each set of threads, in budgets, with the memory that they touch first.
        const SEARCHES: f64 = 4.5;
        let sets = if self.threads == Some(1) { 1.0 } else { 2.0 };
        self.budget().mul_f64(SEARCHES * sets)
    }

    /// How long one search may take.
    fn budget(&self) -> Duration {
        Duration::from_millis(if self.quick { 320 } else { 2000 })
    }
}

impl Machine {
    fn key(&self) -> Key {
        Key {
            cpu: self.cpu.clone(),
            isa: self.isa.clone(),
            threads: self.threads,
            size: self.size,
            quick: self.quick,
            version: self.version.clone(),
        }
    }

    /// The highest roofs, of one thread or of all: on a busy machine more threads may reach less.
    pub fn best(&self) -> Best {
        let of = |figure: fn(&Roofs) -> f64| {
            let reached = |roofs: &Roofs| Reached { value: figure(roofs), threads: roofs.threads };
            let (single, all) = (reached(&self.single), reached(&self.all));
            if single.value > all.value { single } else { all }
        };
        Best {
            read_gb_s: of(|roofs| roofs.read_gb_s),
            f32_gflops: of(|roofs| roofs.f32_gflops),
            int8_gops: of(|roofs| roofs.int8_gops),
            // Numbers of fewer bits are bytes too.
            int4_gops: self
                .all
                .int4_gops
                .map(|_| of(|roofs| roofs.int4_gops.unwrap_or(0.0).max(roofs.int8_gops))),
            f16_gflops: Some(of(|roofs| roofs.computed(FmaType::F16).map_or(0.0, |one| one.gop_s)))
                .filter(|roof| roof.value > 0.0),
            bf16_gflops: Some(of(|roofs| roofs.computed(FmaType::Bf16).map_or(0.0, |one| one.gop_s)))
                .filter(|roof| roof.value > 0.0),
        }
    }

    /// Bytes of all caches of these threads together, in which weights may stay from one pass to the next.
    pub fn cache_bytes(&self) -> f64 {
        let all = |cache: &Cache| cache.bytes as f64 * self.threads.div_ceil(cache.shared_by.max(1)) as f64;
        self.caches.iter().map(all).sum()
    }

    /// What to know before one builds on these roofs: a line where they may be too low, and one where arithmetic surely is.
    pub fn doubts(&self) -> Vec<String> {
        self.doubts_on(date::today())
    }

    /// The same on a day.
    fn doubts_on(&self, today: i64) -> Vec<String> {
        let mut reasons = Vec::new();
        let age = self.date.as_deref().and_then(date::read).map(|day| today.saturating_sub(day));
        if let Some(days) = age.filter(|days| *days > OLD) {
            reasons.push(format!("they are {days} days old"));
        }
        if let Some(load) = self.load.filter(|load| *load > BUSY) {
            reasons.push(format!("{:.0} % of the processors were busy before", 100.0 * load));
        }
        for roofs in sets(&self.single, &self.all) {
            // Nothing is built on copying.
            let used = |name: &&str| !["copy", "triad"].contains(name);
            let unsteady: Vec<&str> = roofs.unsteady().map(|(name, _)| name).filter(used).collect();
            if !unsteady.is_empty() {
                let (names, threads) = (unsteady.join(", "), threads(roofs.threads));
                reasons.push(format!("the runs of {names} with {threads} differ a lot"));
            }
        }
        let mut doubts = Vec::new();
        if !reasons.is_empty() {
            let reasons = reasons.join("; ");
            doubts.push(format!(
                "the measured roofs may be too low, and are no ceilings then: {reasons}; measure again with \
                 `roofline machine --refresh`"
            ));
        }
        let last = self.caches.iter().map(|cache| cache.bytes).max().unwrap_or(0);
        if self.size < 2 * last {
            doubts.push(format!(
                "the roofs of memory may be those of a cache, and too high: buffers of {} are less than twice the last cache of {}",
                number::size(self.size),
                number::size(last)
            ));
        }
        if !self.beyond.is_empty() {
            let names: Vec<&str> = self.beyond.iter().map(|beyond| beyond.name()).collect();
            doubts.push(format!(
                "the arithmetic roof is a lower bound, and no ceiling: this processor has {}, which the kernels don't use",
                names.join(", ")
            ));
        }
        doubts
    }

    /// This machine: the saved measurement if there is one, else a new one. `progress` is told what is
    /// being measured.
    pub fn this(options: &Options, progress: impl FnMut(&str) + Send) -> Result<Machine, PeaksError> {
        if let Some(path) = env::var_os(SAVED).map(PathBuf::from) {
            return Machine::saved(&path);
        }
        let system = system::System::detect();
        let (key, mut notes) = key(options, &system)?;
        let kept = !options.no_cache && options.effort.is_ordinary();
        let directory = if kept { directory() } else { None };
        let path = directory.map(|directory| store::path(&directory, &key));
        if let Some(path) = path.as_ref().filter(|_| !options.refresh) {
            match store::load(path, &key) {
                // Memory is asked for, not measured: it may have changed since.
                store::Lookup::Found(machine) if machine.all.arithmetic.is_empty() => {
                    notes.push("the saved measurement was replaced: an older version made it".to_owned());
                }
                store::Lookup::Found(machine) => {
                    return Ok(Machine { memory_bytes: system.memory, ..*machine });
                }
                store::Lookup::Absent => {}
                store::Lookup::Damaged(reason) => {
                    notes.push(format!("the saved measurement {} was replaced: {reason}", path.display()));
                }
            }
        }
        let machine = measure(options, &system, key, notes, progress)?;
        if let Some(path) = path {
            // A read-only home is no reason to throw the measurement away.
            if let Err(error) = store::save(&path, &machine) {
                let mut machine = machine;
                machine.notes.push(format!("the measurement was not saved: {}: {error}", path.display()));
                return Ok(machine);
            }
        }
        Ok(machine)
    }

    /// This machine as it was measured before with these options, or as [`SAVED`] names it; never measures, never writes.
    pub fn remembered(options: &Options) -> Result<Option<Machine>, PeaksError> {
        if let Some(path) = env::var_os(SAVED) {
            return Machine::saved(Path::new(&path)).map(Some);
        }
        let system = system::System::detect();
        let (key, _) = key(options, &system)?;
        let found = directory().map(|directory| store::load(&store::path(&directory, &key), &key));
        Ok(match found {
            Some(store::Lookup::Found(machine)) => Some(Machine { memory_bytes: system.memory, ..*machine }),
            _ => None,
        })
    }

    /// A machine from a JSON file.
    pub fn saved(path: &Path) -> Result<Machine, PeaksError> {
        let wrong = |reason: String| PeaksError::Saved { path: path.to_owned(), reason };
        let text = document::read(path).map_err(|error| wrong(error.to_string()))?;
        Machine::from_json(&text).and_then(Machine::whole).map_err(wrong)
    }

    /// The same where every type was measured. Without one of them, another would stand in for it that is no ceiling.
    pub fn whole(self) -> Result<Machine, String> {
        if self.effort.types.is_empty() {
            return Ok(self);
        }
        let measured = self.effort.arguments().join(" ");
        Err(format!(
            "measured with {measured}, so roofs are missing that others would stand in for; \
             measure without --types to build on it"
        ))
    }

    /// Its JSON form.
    pub fn to_json(&self) -> String {
        // Numbers, strings and lists of them always have a JSON form.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

/// What to measure, and what was decided on the way.
fn key(options: &Options, system: &system::System) -> Result<(Key, Vec<String>), PeaksError> {
    let mut notes = Vec::new();
    let mib = |bytes: usize| bytes as f64 / 1_048_576.0;
    let available = system.cpus.len().max(system.parallelism);
    let threads = options.threads.unwrap_or(system.parallelism);
    if !(1..=MOST_THREADS).contains(&threads) {
        return Err(PeaksError::ThreadCount { found: threads });
    }
    if options.threads.is_none() && system.parallelism < system.cpus.len() {
        notes.push(format!(
            "a CPU quota leaves {} of {} processors; measured with {threads} threads",
            system.parallelism,
            system.cpus.len()
        ));
    }
    if threads > available {
        notes.push(format!("{threads} threads share {available} processors: `all` is not faster for it"));
    }
    if !system.huge_pages {
        notes.push("no huge pages here; measured with normal ones".to_owned());
    }
    if system.caches.is_empty() {
        notes.push(format!("the system tells no cache sizes; {:.0} MiB assumed", mib(system.last_cache())));
    }
    let enough = 8 * system.last_cache();
    // Buffers with normal and with huge pages exist at the same time.
    let most = system.free_memory.map(|free| free / 8);
    if let (Some(wanted), Some(most)) = (options.size, most)
        && wanted > most
    {
        return Err(PeaksError::Size { wanted, most });
    }
    let size = options.size.unwrap_or_else(|| most.map_or(enough, |most| enough.min(most)));
    let size = size.max(threads * buffer::HUGE_PAGE);
    if size < enough {
        notes.push(format!(
            "buffers of {:.0} MiB are less than eight times the last cache ({:.0} MiB): part of the data may stay cached",
            mib(size),
            mib(system.last_cache())
        ));
    }
    let key = Key {
        cpu: system.cpu.clone(),
        isa: options.isa.unwrap_or_else(Isa::detect).name().to_owned(),
        threads,
        size,
        quick: options.quick,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    Ok((key, notes))
}

fn measure(
    options: &Options,
    system: &system::System,
    key: Key,
    mut notes: Vec<String>,
    mut progress: impl FnMut(&str) + Send,
) -> Result<Machine, PeaksError> {
    let isa = options.isa.unwrap_or_else(Isa::detect);
    let load = system::load();
    let budget = options.budget();
    let effort = &options.effort;
    let plan = |threads| measure::Plan { isa, system, threads, size: key.size, budget, effort };
    let mut roofs = |threads| measure::roofs(&plan(threads), &mut progress);
    let single = roofs(1)?;
    let all = if key.threads == 1 { single.clone() } else { roofs(key.threads)? };
    progress("cores, nodes, energy");
    let plan = plan(key.threads);
    let one_a_core = measure::one_a_core(&plan, all.read.setting)?;
    let nodes = measure::nodes(&plan, &system.groups.nodes, all.read.setting)?;
    let energy = match Counters::here() {
        Ok(counters) => {
            measure::energy(&plan, &counters, all.read.setting)?.ok_or("a counter stopped".into())
        }
        Err(reason) => Err(reason),
    };
    notes.extend(energy.as_ref().err().map(|reason| format!("energy is not measured: {reason}")));
    let theory = theory(system, isa, key.threads);
    notes.extend(observations(&single, &all, &theory));
    Ok(Machine {
        schema: Schema::new(),
        version: key.version,
        cpu: key.cpu,
        isa: key.isa,
        threads: key.threads,
        caches: system.caches.clone(),
        topology: system.groups.topology(),
        memory_bytes: system.memory,
        date: Some(date::written(date::today())),
        load,
        beyond: Beyond::all(isa, &system.features),
        quick: key.quick,
        effort: effort.clone(),
        size: key.size,
        single,
        all,
        one_a_core,
        nodes,
        energy: energy.ok(),
        theory,
        notes,
    })
}

/// Two vector multiply-adds a cycle: 256 bits wide with AVX2, 128 with NEON. Scalar code promises nothing, and of wider vectors
/// some processors do one a cycle and some two.
fn theory(system: &system::System, isa: Isa, threads: usize) -> Theory {
    let flops_a_cycle = match isa {
        wide if wide.includes("avx512") || wide.includes("sve") => None,
        wide if wide.includes("avx2") => Some(32.0),
        wide if wide.includes("neon") => Some(16.0),
        _ => None,
    };
    let single = system.clock_ghz.zip(flops_a_cycle).map(|(clock, flops)| clock * flops);
    let cores = threads.min(system.cpus.len().max(1)) as f64;
    Theory {
        clock_ghz: system.clock_ghz,
        single_f32_gflops: single,
        all_f32_gflops: single.map(|single| single * cores),
        memory_gb_s: system.memory_gb_s,
    }
}

/// The two measurements, once when there is only one.
fn sets<'a>(single: &'a Roofs, all: &'a Roofs) -> Vec<&'a Roofs> {
    if single.threads == all.threads { vec![all] } else { vec![single, all] }
}

/// What a reader of these figures should be told.
fn observations(single: &Roofs, all: &Roofs, theory: &Theory) -> Vec<String> {
    let mut notes = Vec::new();
    for roofs in sets(single, all) {
        let threads = threads(roofs.threads);
        for (name, spread) in roofs.unsteady() {
            notes.push(format!(
                "{name} with {threads} is unsteady, best {:.1} and median {:.1}: is something else running?",
                spread.best, spread.median
            ));
        }
    }
    if let (Some(paper), Some(clock)) = (theory.single_f32_gflops, theory.clock_ghz)
        && single.f32_gflops > paper
    {
        notes.push(format!(
            "f32 reaches {:.0} % of what {clock:.2} GHz allows ({paper:.0} GFLOP/s a thread): that is the base clock, and it ran faster",
            100.0 * single.f32_gflops / paper
        ));
    }
    if let Some(paper) = theory.memory_gb_s
        && all.read_gb_s > paper
    {
        notes.push(format!(
            "reading reaches {:.1} GB/s, more than the memory modules have ({paper:.1} GB/s): part of the data came from a cache",
            all.read_gb_s
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        Machine::from_json(include_str!("../../../roofline/tests/fixtures/machine.json")).unwrap()
    }

    #[test]
    fn the_roof_is_the_highest_that_any_number_of_threads_reached_with_that_number() {
        let mut machine = machine();
        let best = machine.best();
        assert_eq!(best.read_gb_s, Reached { value: machine.all.read_gb_s, threads: 2 });
        // Measured with two threads while something else ran.
        (machine.all.read_gb_s, machine.all.int8_gops, machine.all.int4_gops) = (7.96, 20.0, Some(30.0));
        let best = machine.best();
        assert_eq!(best.read_gb_s, Reached { value: machine.single.read_gb_s, threads: 1 });
        assert_eq!(best.f32_gflops, Reached { value: machine.all.f32_gflops, threads: 2 });
        assert_eq!(best.int4_gops, machine.single.int4_gops.map(|value| Reached { value, threads: 1 }));
        // Numbers of fewer bits go the way of bytes where that is faster.
        machine.all.int8_gops = 5000.0;
        assert_eq!(machine.best().int4_gops, Some(Reached { value: 5000.0, threads: 2 }));
    }

    #[test]
    fn what_is_old_busy_or_noisy_is_doubted_in_one_line_with_what_to_run() {
        let day = date::read("2026-11-17").unwrap();
        let quiet = Machine { date: Some("2026-10-18".into()), load: Some(0.02), ..machine() };
        assert_eq!(quiet.doubts_on(day), [""; 0], "thirty days are not old");
        assert_eq!(quiet.doubts_on(day - 100), [""; 0], "nor is tomorrow");
        let only = |machine: &Machine, today| {
            let mut doubts = machine.doubts_on(today);
            assert_eq!(doubts.len(), 1, "{doubts:?}");
            doubts.remove(0)
        };
        let old = only(&quiet, day + 1);
        assert!(
            old.contains("they are 31 days old;") && old.contains("`roofline machine --refresh`"),
            "{old}"
        );
        let mut bad = Machine { load: Some(0.4), ..quiet };
        bad.all.read.spread.median = bad.all.read.spread.best / 2.0;
        bad.all.int4 = Some(Spread { best: 570.0, median: 300.0, runs: 5 });
        let bad = only(&bad, day + 100);
        let reasons = [
            "they are 130 days old",
            "40 % of the processors were busy before",
            "the runs of read, int4 with 2 threads differ a lot",
        ];
        assert!(bad.contains(&reasons.join("; ")), "{bad}");
    }

    #[test]
    fn arithmetic_is_no_ceiling_where_the_processor_has_instructions_beyond_the_kernels() {
        let machine = Machine { beyond: vec![Beyond::Avx512, Beyond::Amx], ..machine() };
        let doubts = machine.doubts_on(0);
        assert!(doubts[0].starts_with("the arithmetic roof is a lower bound, and no ceiling"), "{doubts:?}");
        assert!(doubts[0].contains("this processor has AVX-512, AMX"), "{doubts:?}");
    }
}
