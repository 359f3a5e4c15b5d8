//! Measured roofs of this machine: memory and cache bandwidth, and arithmetic rates, for one thread and
//! for all threads. Results are cached on disk.

mod arena;
pub mod bench;
mod buffer;
pub mod date;
mod energy;
mod measure;
mod report;
pub mod storage;
mod store;
mod system;
mod topology;

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, io};

use serde::{Deserialize, Serialize};

use roofline_kernels::FmaType;
use roofline_kernels::isa::{Isa, IsaError};
use roofline_render::format::{self, threads};
use roofline_render::report::{Saved, Schema};

pub use arena::Arena;
pub use energy::Energy;
pub use energy::{Counters, Meter};
pub use store::{clear, directory};
pub use system::free_memory;
pub use system::{Cache, UnusedIsa, parse_size};
pub use topology::Topology;

/// Environment variable with the path of a saved machine to use instead of a measurement, for
/// reproducible results.
pub const SAVED: &str = "ROOFLINE_MACHINE";

/// Maximum ratio of best to median run before a roof counts as unsteady.
const MAX_BEST_TO_MEDIAN: f64 = 1.25;

/// Maximum age of a measurement in days before it causes a warning.
const MAX_AGE_DAYS: i64 = 30;

/// Maximum CPU load before a measurement, 0 to 1, before it causes a warning.
const MAX_LOAD: f64 = 0.125;

/// Machine with its measured roofs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Machine {
    /// Schema of this document.
    pub schema: Schema<Self>,
    /// Version of roofline that measured it.
    pub version: String,
    /// Name of the CPU.
    pub cpu: String,
    /// Instruction set of the kernels.
    pub isa: String,
    /// Number of threads of `all`.
    pub threads: usize,
    /// Data caches, nearest first; empty if unknown.
    pub caches: Vec<Cache>,
    /// Sockets, cores and memory nodes; absent if unknown, and in measurements of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<Topology>,
    /// Memory of the machine, or limit of the container, in bytes; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<usize>,
    /// Date of the measurement in UTC, as `2026-11-17`; absent in measurements of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// CPU load by other processes right before the measurement, 0 to 1; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// Instruction sets of the CPU that the kernels do not use. If there are any, compute roofs are lower bounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unused_isa: Vec<UnusedIsa>,
    /// True for a quick, less exact measurement.
    pub quick: bool,
    /// Restrictions of the measurement; absent if there are none.
    #[serde(default, skip_serializing_if = "RunPolicy::is_default")]
    pub effort: RunPolicy,
    /// Size of the memory buffers in bytes.
    pub size: usize,
    /// Roofs of one thread.
    pub single: Roofs,
    /// Roofs of all threads.
    pub all: Roofs,
    /// Roofs of one thread per core; absent on machines without SMT.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_smt: Option<WithoutSmt>,
    /// Read bandwidth between NUMA nodes; empty on machines with a single node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeRead>,
    /// Energy of reading and of arithmetic; absent if the counters are not readable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
    /// Theoretical limits, as far as they are known.
    pub theory: Theory,
    /// Notes about the measurement.
    pub notes: Vec<String>,
}

/// Roofs for a number of threads. Figures are those of the best run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Roofs {
    /// Number of threads.
    pub threads: usize,
    /// Memory read bandwidth, GB/s.
    pub read_gb_s: f64,
    /// Memory copy bandwidth, counting reads and writes, GB/s.
    pub copy_gb_s: f64,
    /// Memory bandwidth of `a = b + s * c`, counting three arrays, GB/s.
    pub triad_gb_s: f64,
    /// Memory write bandwidth, GB/s. Optional fields are absent in measurements of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_gb_s: Option<f64>,
    /// Rate of f32 multiply-adds, two operations each, GFLOP/s.
    pub f32_gflops: f64,
    /// Rate of int8 multiply-adds with 32-bit accumulation, two operations each, Gop/s.
    pub int8_gops: f64,
    /// Rate of multiply-adds of int8 activations and narrower weights, some with 16-bit accumulation, two operations each, Gop/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub int4_gops: Option<f64>,
    /// Ridge point of memory reads and f32, FLOP/byte.
    pub ridge: f64,
    /// Setting and runs of `read_gb_s`.
    pub read: Peak,
    /// Setting and runs of `copy_gb_s`.
    pub copy: Peak,
    /// Setting and runs of `triad_gb_s`.
    pub triad: Peak,
    /// Setting and runs of `write_gb_s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<Peak>,
    /// Runs of `f32_gflops`.
    pub f32: Spread,
    /// Runs of `int8_gops`.
    pub int8: Spread,
    /// Runs of `int4_gops`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub int4: Option<Spread>,
    /// Compute roof of each element type that the CPU has multiply-add instructions for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arithmetic: Vec<Computed>,
    /// Clock per thread while all threads run, measured with dependent additions, GHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_ghz: Option<f64>,
    /// Clock that the operating system reported during the arithmetic measurements, GHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_clock_ghz: Option<f64>,
    /// Bandwidth of each cache level.
    pub levels: Vec<Level>,
    /// Read bandwidth by working set size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweep: Vec<WorkingSet>,
}

/// Compute roof and the instruction that reached it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Computed {
    /// Element type.
    pub numbers: FmaType,
    /// Instruction and register width.
    pub instruction: String,
    /// Rate of operations, two per multiply-add, GFLOP/s or Gop/s.
    pub gop_s: f64,
    /// Runs of this roof.
    pub spread: Spread,
}

/// Read bandwidth for a working set size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkingSet {
    /// Bytes per thread.
    pub bytes: usize,
    /// Read bandwidth of all threads, GB/s.
    pub read_gb_s: f64,
}

/// Roofs of one thread per core, on machines with SMT.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WithoutSmt {
    /// Number of threads.
    pub threads: usize,
    /// Memory read bandwidth, GB/s.
    pub read_gb_s: f64,
    /// Rate of f32 multiply-adds, GFLOP/s.
    pub f32_gflops: f64,
}

/// Read bandwidth between two NUMA nodes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeRead {
    /// Node whose CPUs read.
    pub processors: usize,
    /// Node whose memory is read.
    pub memory: usize,
    /// Read bandwidth, GB/s.
    pub read_gb_s: f64,
}

impl Roofs {
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

    /// Returns the compute roof of an element type, if the CPU has instructions for it.
    pub fn computed(&self, numbers: FmaType) -> Option<&Computed> {
        self.arithmetic.iter().find(|one| one.numbers == numbers)
    }

    fn unsteady(&self) -> impl Iterator<Item = (&'static str, Spread)> {
        self.spreads().filter(|(_, spread)| spread.is_unsteady())
    }
}

/// Highest roofs over all numbers of threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Best {
    /// Memory read bandwidth, GB/s.
    pub read_gb_s: Reached,
    /// Rate of f32 multiply-adds, GFLOP/s.
    pub f32_gflops: Reached,
    /// Rate of int8 multiply-adds, Gop/s.
    pub int8_gops: Reached,
    /// Rate of int8 by int4 multiply-adds, Gop/s; `None` for measurements of older versions.
    pub int4_gops: Option<Reached>,
    /// Rate of f16 multiply-adds, GFLOP/s; `None` without such instructions.
    pub f16_gflops: Option<Reached>,
    /// Rate of bf16 multiply-adds, GFLOP/s; `None` without such instructions.
    pub bf16_gflops: Option<Reached>,
}

/// Roof and the number of threads that reached it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reached {
    /// Value of the roof.
    pub value: f64,
    /// Number of threads.
    pub threads: usize,
}

/// Bandwidth of a cache level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Cache level; 1 is nearest to the core.
    pub level: u32,
    /// Working set per thread in bytes.
    pub bytes: usize,
    /// Read bandwidth, GB/s.
    pub read_gb_s: f64,
    /// Copy bandwidth, GB/s.
    pub copy_gb_s: f64,
    /// Triad bandwidth, GB/s.
    pub triad_gb_s: f64,
    /// Runs of `read_gb_s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Spread>,
    /// Runs of `copy_gb_s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<Spread>,
    /// Runs of `triad_gb_s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub triad: Option<Spread>,
}

/// Fastest setting and its runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Peak {
    /// Parameters of the kernel.
    pub setting: Setting,
    /// Statistics of the runs.
    pub spread: Spread,
}

/// Parameters of a memory kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Number of streams per thread.
    pub streams: usize,
    /// Software prefetch distance in bytes; 0 for none.
    pub prefetch: usize,
    /// True for stores that bypass the cache.
    pub streaming_stores: bool,
    /// True if the buffers use huge pages.
    pub huge_pages: bool,
    /// CPU affinity of the threads.
    pub placement: Placement,
}

/// CPU affinity of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Placement {
    /// Pinned to the first CPUs.
    Packed,
    /// Pinned as far apart as possible.
    Spread,
    /// Not pinned.
    Free,
}

/// Statistics of the runs of one setting.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// Best run.
    pub best: f64,
    /// Median run.
    pub median: f64,
    /// Number of runs.
    pub runs: usize,
}

impl Spread {
    /// Sorts `runs`.
    fn from_runs(runs: &mut [f64]) -> Spread {
        runs.sort_by(f64::total_cmp);
        Spread {
            best: runs.last().copied().unwrap_or(0.0),
            median: runs.get(runs.len() / 2).copied().unwrap_or(0.0),
            runs: runs.len(),
        }
    }

    /// Returns true if best and median differ so much that other processes probably interfered.
    pub fn is_unsteady(&self) -> bool {
        self.best > MAX_BEST_TO_MEDIAN * self.median
    }
}

/// Theoretical limits, as far as the system reports them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Theory {
    /// Clock that the system reports, GHz.
    pub clock_ghz: Option<f64>,
    /// Rate of f32 operations of one thread at that clock, with two vector multiply-adds per cycle, GFLOP/s.
    pub single_f32_gflops: Option<f64>,
    /// Rate of f32 operations of all threads, GFLOP/s.
    pub all_f32_gflops: Option<f64>,
    /// Total bandwidth of the memory modules, GB/s.
    pub memory_gb_s: Option<f64>,
}

/// Restrictions of a measurement to element types and numbers of runs. Restricted measurements are not cached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RunPolicy {
    /// Element types to measure in addition to f32 and int8, which are always measured; empty for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<FmaType>,
    /// Warm-up runs per setting.
    pub warm_up: usize,
    /// Measured runs per setting; absent to fill the time budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<usize>,
}

impl RunPolicy {
    /// Maximum number of warm-up runs and of measured runs per setting.
    pub const MAX_RUNS: usize = 1000;

    /// Returns true for an unrestricted measurement.
    pub fn is_default(&self) -> bool {
        *self == RunPolicy::default()
    }

    fn includes(&self, kind: FmaType) -> bool {
        let always = matches!(kind, FmaType::F32 | FmaType::Int8);
        always || self.types.is_empty() || self.types.contains(&kind)
    }

    /// Returns the equivalent command-line arguments.
    pub fn arguments(&self) -> Vec<String> {
        let types: Vec<&str> = self.types.iter().map(|kind| kind.name()).collect();
        let types = (!types.is_empty()).then(|| format!("--types={}", types.join(",")));
        let warm_up = (self.warm_up > 0).then(|| format!("--warm-up={}", self.warm_up));
        let steps = self.steps.map(|steps| format!("--steps={steps}"));
        [types, warm_up, steps].into_iter().flatten().collect()
    }
}

/// Options of a measurement.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Measure in a few seconds, with lower accuracy.
    pub quick: bool,
    /// Measure again even if there is a cached measurement.
    pub refresh: bool,
    /// Neither read nor write cached measurements.
    pub no_cache: bool,
    /// Number of threads; `None` for the available parallelism.
    pub threads: Option<usize>,
    /// Size of the memory buffers in bytes; `None` to derive it from the caches.
    pub size: Option<usize>,
    /// Instruction set; `None` for the best available.
    pub isa: Option<Isa>,
    /// Restrictions to element types and numbers of runs.
    pub effort: RunPolicy,
}

/// Error of measuring or loading a machine.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// Memory allocation failed.
    #[error(
        "cannot allocate {:.1} MiB of buffers; free memory or pass a smaller --size", *bytes as f64 / 1048576.0
    )]
    Memory {
        /// Requested size in bytes.
        bytes: usize,
    },
    /// The requested buffers exceed an eighth of the free memory.
    #[error(
        "--size: {:.1} MiB is more than an eighth of the free memory; expected at most {:.1} MiB",
        *bytes as f64 / 1048576.0, *max as f64 / 1048576.0
    )]
    Size {
        /// Requested size in bytes.
        bytes: usize,
        /// Maximum size in bytes.
        max: usize,
    },
    /// The number of threads is out of range.
    #[error("--threads: invalid number {found}; expected 1 to {}", MAX_THREADS)]
    ThreadCount {
        /// Requested number of threads.
        found: usize,
    },
    /// Threads could not be started.
    #[error("cannot start threads: {0}")]
    Threads(#[source] io::Error),
    /// A saved machine is unusable.
    #[error("{}: {reason}", path.display())]
    Saved {
        /// Path of the file.
        path: PathBuf,
        /// Description of the problem.
        reason: String,
    },
    /// The instruction set is unknown or unavailable.
    #[error(transparent)]
    Isa(#[from] IsaError),
}

const MAX_THREADS: usize = 4096;

/// Properties that identify a cached measurement.
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
    /// Estimates the duration of a measurement.
    pub fn duration(&self) -> Duration {
        /// Duration per number of threads, as a multiple of the search budget, including the first touch of memory.
        const SEARCHES: f64 = 4.5;
        let sets = if self.threads == Some(1) { 1.0 } else { 2.0 };
        self.budget().mul_f64(SEARCHES * sets)
    }

    /// Returns the time budget of one search.
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

    /// Returns the highest roofs of one or all threads. On a busy machine, all threads may reach less than one.
    pub fn best(&self) -> Best {
        let best = |figure: fn(&Roofs) -> f64| {
            let reached = |roofs: &Roofs| Reached { value: figure(roofs), threads: roofs.threads };
            let (single, all) = (reached(&self.single), reached(&self.all));
            if single.value > all.value { single } else { all }
        };
        Best {
            read_gb_s: best(|roofs| roofs.read_gb_s),
            f32_gflops: best(|roofs| roofs.f32_gflops),
            int8_gops: best(|roofs| roofs.int8_gops),
            // Narrower integers can use the int8 instructions.
            int4_gops: self
                .all
                .int4_gops
                .map(|_| best(|roofs| roofs.int4_gops.unwrap_or(0.0).max(roofs.int8_gops))),
            f16_gflops: Some(best(|roofs| roofs.computed(FmaType::F16).map_or(0.0, |one| one.gop_s)))
                .filter(|roof| roof.value > 0.0),
            bf16_gflops: Some(best(|roofs| roofs.computed(FmaType::Bf16).map_or(0.0, |one| one.gop_s)))
                .filter(|roof| roof.value > 0.0),
        }
    }

    /// Returns the total size in bytes of all caches of these threads, which may retain weights between passes.
    pub fn cache_bytes(&self) -> f64 {
        let all = |cache: &Cache| cache.bytes as f64 * self.threads.div_ceil(cache.shared_by.max(1)) as f64;
        self.caches.iter().map(all).sum()
    }

    /// Returns warnings for roofs that may be too low or too high to serve as ceilings.
    pub fn roof_warnings(&self) -> Vec<String> {
        self.roof_warnings_on(date::today())
    }

    fn roof_warnings_on(&self, today: i64) -> Vec<String> {
        let mut reasons = Vec::new();
        let age = self.date.as_deref().and_then(date::parse).map(|day| today.saturating_sub(day));
        if let Some(days) = age.filter(|days| *days > MAX_AGE_DAYS) {
            reasons.push(format!("the measurement is {days} days old"));
        }
        if let Some(load) = self.load.filter(|load| *load > MAX_LOAD) {
            reasons.push(format!("other processes used {:.0} % of the CPU time", 100.0 * load));
        }
        for roofs in sets(&self.single, &self.all) {
            // Copy and triad are not used as ceilings.
            let used = |name: &&str| !["copy", "triad"].contains(name);
            let unsteady: Vec<&str> = roofs.unsteady().map(|(name, _)| name).filter(used).collect();
            if !unsteady.is_empty() {
                let (names, threads) = (unsteady.join(", "), threads(roofs.threads));
                reasons.push(format!("runs of {names} varied by more than 25 % with {threads}"));
            }
        }
        let mut doubts = Vec::new();
        if !reasons.is_empty() {
            let reasons = reasons.join("; ");
            doubts.push(format!(
                "measured roofs may be too low to use as ceilings: {reasons}; re-measure with \
                 `roofline machine --refresh`"
            ));
        }
        let last = self.caches.iter().map(|cache| cache.bytes).max().unwrap_or(0);
        if self.size < 2 * last {
            doubts.push(format!(
                "memory roofs may be too high: buffers of {} are less than twice the last-level cache of {}; re-measure with a larger --size",
                format::size(self.size),
                format::size(last)
            ));
        }
        if !self.unused_isa.is_empty() {
            let names: Vec<&str> = self.unused_isa.iter().map(|beyond| beyond.name()).collect();
            doubts.push(format!(
                "the compute roof is only a lower bound: this CPU supports {}, which roofline has no kernels for",
                names.join(", ")
            ));
        }
        doubts
    }

    /// Returns this machine from the cache, or measures it. `progress` receives a description of each step.
    ///
    /// # Errors
    ///
    /// Fails if the options are invalid, or memory or threads are unavailable.
    pub fn this(options: &Options, progress: impl FnMut(&str) + Send) -> Result<Machine, MachineError> {
        if let Some(path) = env::var_os(SAVED).map(PathBuf::from) {
            return Machine::saved(&path);
        }
        let system = system::System::detect();
        let (key, mut notes) = key(options, &system)?;
        let cached = !options.no_cache && options.effort.is_default();
        let directory = if cached { directory() } else { None };
        let path = directory.map(|directory| store::path(&directory, &key));
        if let Some(path) = path.as_ref().filter(|_| !options.refresh) {
            match store::load(path, &key) {
                // The memory size is not measured and may have changed.
                store::Lookup::Found(machine) if machine.all.arithmetic.is_empty() => {
                    notes.push("replaced the cached measurement of an older version".to_owned());
                }
                store::Lookup::Found(machine) => {
                    return Ok(Machine { memory_bytes: system.memory, ..*machine });
                }
                store::Lookup::Absent => {}
                store::Lookup::Invalid(reason) => {
                    notes.push(format!(
                        "replaced the unusable cached measurement {}: {reason}",
                        path.display()
                    ));
                }
            }
        }
        let machine = measure(options, &system, key, notes, progress)?;
        if let Some(path) = path {
            // Keep the measurement even if the cache is not writable.
            if let Err(error) = store::save(&path, &machine) {
                let mut machine = machine;
                machine.notes.push(format!("cannot cache the measurement: {}: {error}", path.display()));
                return Ok(machine);
            }
        }
        Ok(machine)
    }

    /// Returns the cached measurement for these options, or the machine that [`SAVED`] names. Never measures or writes.
    ///
    /// # Errors
    ///
    /// Fails if the options are invalid or the file that [`SAVED`] names is unusable.
    pub fn cached(options: &Options) -> Result<Option<Machine>, MachineError> {
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

    /// Loads a machine from a JSON file.
    ///
    /// # Errors
    ///
    /// Fails if the file is not a complete saved machine.
    pub fn saved(path: &Path) -> Result<Machine, MachineError> {
        let wrong = |reason: String| MachineError::Saved { path: path.to_owned(), reason };
        let text = storage::read(path).map_err(|error| wrong(error.to_string()))?;
        Machine::from_json(&text).and_then(Machine::require_all_types).map_err(wrong)
    }

    /// Returns the machine if all element types were measured, since missing roofs cannot serve as ceilings.
    ///
    /// # Errors
    ///
    /// Fails if the measurement was restricted to some types.
    pub fn require_all_types(self) -> Result<Machine, String> {
        if self.effort.types.is_empty() {
            return Ok(self);
        }
        let measured = self.effort.arguments().join(" ");
        Err(format!("incomplete measurement with {measured}; re-measure without --types"))
    }

    /// Formats the machine as JSON.
    pub fn to_json(&self) -> String {
        // Serialization of numbers, strings and lists cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

/// Resolves the options to a cache key, with notes about limitations.
fn key(options: &Options, system: &system::System) -> Result<(Key, Vec<String>), MachineError> {
    let mut notes = Vec::new();
    let mib = |bytes: usize| bytes as f64 / 1_048_576.0;
    let available = system.cpus.len().max(system.parallelism);
    let threads = options.threads.unwrap_or(system.parallelism);
    if !(1..=MAX_THREADS).contains(&threads) {
        return Err(MachineError::ThreadCount { found: threads });
    }
    if options.threads.is_none() && system.parallelism < system.cpus.len() {
        notes.push(format!(
            "a CPU quota allows {} of {} CPUs; measured with {threads} threads",
            system.parallelism,
            system.cpus.len()
        ));
    }
    if threads > available {
        notes.push(format!("{threads} threads share {available} CPUs, which does not increase the roofs"));
    }
    if !system.huge_pages {
        notes.push("huge pages are unavailable; measured with normal pages".to_owned());
    }
    if system.caches.is_empty() {
        notes.push(format!("unknown cache sizes; assuming {:.0} MiB", mib(system.last_cache())));
    }
    let enough = 8 * system.last_cache();
    // Buffers with normal and with huge pages exist at the same time.
    let max = system.free_memory.map(|free| free / 8);
    if let (Some(bytes), Some(max)) = (options.size, max)
        && bytes > max
    {
        return Err(MachineError::Size { bytes, max });
    }
    let size = options.size.unwrap_or_else(|| max.map_or(enough, |max| enough.min(max)));
    let size = size.max(threads * buffer::HUGE_PAGE);
    if size < enough {
        notes.push(format!(
            "buffers of {:.0} MiB are less than eight times the last-level cache of {:.0} MiB, so part of the data may stay cached",
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
) -> Result<Machine, MachineError> {
    let isa = options.isa.unwrap_or_else(Isa::detect);
    let load = system::load();
    let budget = options.budget();
    let effort = &options.effort;
    let plan = |threads| measure::Plan { isa, system, threads, size: key.size, budget, effort };
    let mut roofs = |threads| measure::roofs(&plan(threads), &mut progress);
    let single = roofs(1)?;
    let all = if key.threads == 1 { single.clone() } else { roofs(key.threads)? };
    progress("cores, NUMA nodes, energy");
    let plan = plan(key.threads);
    let without_smt = measure::without_smt(&plan, all.read.setting)?;
    let nodes = measure::nodes(&plan, &system.groups.nodes, all.read.setting)?;
    let energy = match Counters::detect() {
        Ok(counters) => {
            measure::energy(&plan, &counters, all.read.setting)?.ok_or("a counter became unreadable".into())
        }
        Err(reason) => Err(reason),
    };
    notes.extend(energy.as_ref().err().map(|reason| format!("energy was not measured: {reason}")));
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
        date: Some(date::format(date::today())),
        load,
        unused_isa: UnusedIsa::unused(isa, &system.features),
        quick: key.quick,
        effort: effort.clone(),
        size: key.size,
        single,
        all,
        without_smt,
        nodes,
        energy: energy.ok(),
        theory,
        notes,
    })
}

/// Assumes two vector multiply-adds per cycle, of 256 bits with AVX2 and 128 bits with NEON. The rate of wider vectors differs
/// between CPUs, and that of scalar code is unknown.
fn theory(system: &system::System, isa: Isa, threads: usize) -> Theory {
    let flops_per_cycle = match isa {
        wide if wide.includes("avx512") || wide.includes("sve") => None,
        wide if wide.includes("avx2") => Some(32.0),
        wide if wide.includes("neon") => Some(16.0),
        _ => None,
    };
    let single = system.clock_ghz.zip(flops_per_cycle).map(|(clock, flops)| clock * flops);
    let cores = threads.min(system.cpus.len().max(1)) as f64;
    Theory {
        clock_ghz: system.clock_ghz,
        single_f32_gflops: single,
        all_f32_gflops: single.map(|single| single * cores),
        memory_gb_s: system.memory_gb_s,
    }
}

/// Returns the roofs of one and of all threads, without duplicates.
fn sets<'a>(single: &'a Roofs, all: &'a Roofs) -> Vec<&'a Roofs> {
    if single.threads == all.threads { vec![all] } else { vec![single, all] }
}

/// Returns notes about suspicious figures.
fn observations(single: &Roofs, all: &Roofs, theory: &Theory) -> Vec<String> {
    let mut notes = Vec::new();
    for roofs in sets(single, all) {
        let threads = threads(roofs.threads);
        for (name, spread) in roofs.unsteady() {
            notes.push(format!(
                "unsteady {name} with {threads} (best {:.1}, median {:.1}): other processes may be running",
                spread.best, spread.median
            ));
        }
    }
    if let (Some(limit), Some(clock)) = (theory.single_f32_gflops, theory.clock_ghz)
        && single.f32_gflops > limit
    {
        notes.push(format!(
            "f32 reaches {:.0} % of the limit at {clock:.2} GHz ({limit:.0} GFLOP/s per thread): the CPU ran above its base clock",
            100.0 * single.f32_gflops / limit
        ));
    }
    if let Some(limit) = theory.memory_gb_s
        && all.read_gb_s > limit
    {
        notes.push(format!(
            "read bandwidth of {:.1} GB/s exceeds that of the memory modules ({limit:.1} GB/s): part of the data came from a cache",
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
    fn best_roofs_are_the_highest_over_all_numbers_of_threads() {
        let mut machine = machine();
        let best = machine.best();
        assert_eq!(best.read_gb_s, Reached { value: machine.all.read_gb_s, threads: 2 });
        // Interference by another process during the measurement with two threads.
        (machine.all.read_gb_s, machine.all.int8_gops, machine.all.int4_gops) = (7.96, 20.0, Some(30.0));
        let best = machine.best();
        assert_eq!(best.read_gb_s, Reached { value: machine.single.read_gb_s, threads: 1 });
        assert_eq!(best.f32_gflops, Reached { value: machine.all.f32_gflops, threads: 2 });
        assert_eq!(best.int4_gops, machine.single.int4_gops.map(|value| Reached { value, threads: 1 }));
        // int4 uses the int8 instructions if they are faster.
        machine.all.int8_gops = 5000.0;
        assert_eq!(machine.best().int4_gops, Some(Reached { value: 5000.0, threads: 2 }));
    }

    #[test]
    fn old_busy_and_unsteady_measurements_cause_a_single_warning() {
        let day = date::parse("2026-11-17").unwrap();
        let quiet = Machine { date: Some("2026-10-18".into()), load: Some(0.02), ..machine() };
        assert_eq!(quiet.roof_warnings_on(day), [""; 0], "30 days are accepted");
        assert_eq!(quiet.roof_warnings_on(day - 100), [""; 0], "dates in the future are accepted");
        let only = |machine: &Machine, today| {
            let mut doubts = machine.roof_warnings_on(today);
            assert_eq!(doubts.len(), 1, "{doubts:?}");
            doubts.remove(0)
        };
        let old = only(&quiet, day + 1);
        assert!(
            old.contains("the measurement is 31 days old;") && old.contains("`roofline machine --refresh`"),
            "{old}"
        );
        let mut bad = Machine { load: Some(0.4), ..quiet };
        bad.all.read.spread.median = bad.all.read.spread.best / 2.0;
        bad.all.int4 = Some(Spread { best: 570.0, median: 300.0, runs: 5 });
        let bad = only(&bad, day + 100);
        let reasons = [
            "the measurement is 130 days old",
            "other processes used 40 % of the CPU time",
            "runs of read, int4 varied by more than 25 % with 2 threads",
        ];
        assert!(bad.contains(&reasons.join("; ")), "{bad}");
    }

    #[test]
    fn compute_roofs_are_lower_bounds_if_the_cpu_has_unused_instruction_sets() {
        let machine = Machine { unused_isa: vec![UnusedIsa::Avx512, UnusedIsa::Amx], ..machine() };
        let doubts = machine.roof_warnings_on(0);
        assert!(doubts[0].starts_with("the compute roof is only a lower bound"), "{doubts:?}");
        assert!(doubts[0].contains("this CPU supports AVX-512, AMX"), "{doubts:?}");
    }
}
