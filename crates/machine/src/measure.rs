//! Measurement of the roofs: runs all settings in turn, drops the slower half after each round, and keeps
//! the best. Interleaving is essential on shared machines, whose speed changes over time.

use std::hint::black_box;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::buffer::{Buffer, HUGE_PAGE};
use super::energy::{Counters, Energy};
use super::system::{CPUS, Cache, System, pin, reported_clock_ghz};
use super::{
    Computed, Level, MachineError, NodeRead, Peak, Placement, Roofs, RunPolicy, Setting, Spread, WithoutSmt,
    WorkingSet,
};
use roofline_formulas::hardware;
use roofline_kernels::isa::Isa;
use roofline_kernels::{self as kernels, FmaType, MultiplyAdd, Streams, ThreadPool};

/// Memory kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Movement {
    Read,
    Write,
    Copy,
    Triad,
}

impl Movement {
    /// Number of arrays, each counted once as in STREAM, without the read-for-ownership of plain stores.
    fn arrays(self) -> usize {
        match self {
            Movement::Read | Movement::Write => 1,
            Movement::Copy => 2,
            Movement::Triad => 3,
        }
    }

    /// Runs the kernel once over the memory of a thread and returns the number of bytes moved.
    fn run(self, isa: Isa, memory: &mut [f32], setting: Setting) -> u64 {
        let streams = Streams { count: setting.streams, prefetch: setting.prefetch };
        let length = kernels::stream::distance(memory.len(), 4, self.arrays(), 32);
        let (target, rest) = memory.split_at_mut(length);
        let (a, b) = rest.split_at(length.min(rest.len()));
        let result = match (self, setting.streaming_stores) {
            (Movement::Read, _) => {
                black_box(kernels::read(isa, target, streams));
                Ok(())
            }
            (Movement::Write, false) => {
                kernels::fill(isa, target, 1.0, streams);
                Ok(())
            }
            (Movement::Write, true) => {
                kernels::fill_streaming(isa, target, 1.0, streams);
                Ok(())
            }
            (Movement::Copy, false) => kernels::copy(isa, target, a, streams),
            (Movement::Copy, true) => kernels::copy_streaming(isa, target, a, streams),
            (Movement::Triad, false) => kernels::triad(isa, target, a, &b[..length], 0.5, streams),
            (Movement::Triad, true) => kernels::triad_streaming(isa, target, a, &b[..length], 0.5, streams),
        };
        debug_assert!(result.is_ok());
        (4 * length * self.arrays()) as u64
    }

    fn settings(self, huge_pages: bool) -> Vec<Setting> {
        let pages: &[bool] = if huge_pages { &[true, false] } else { &[false] };
        // The most promising settings come first, in case the time runs out.
        let streams: &[usize] =
            if self == Movement::Read { &[4, 3, 5, 6, 2, 8, 7, 1] } else { &[1, 2, 4, 3] };
        let prefetches: &[usize] = if self == Movement::Read { &[0, 512, 256, 1024] } else { &[0, 512] };
        let stores: &[bool] = if self == Movement::Read { &[false] } else { &[true, false] };
        let mut settings = Vec::new();
        for &prefetch in prefetches {
            for &streams in streams {
                for &huge_pages in pages {
                    for &streaming_stores in stores {
                        let placement = Placement::Packed;
                        settings.push(Setting { streams, prefetch, streaming_stores, huge_pages, placement });
                    }
                }
            }
        }
        settings
    }

    /// Settings for caches: only the number of streams varies, with huge pages if available and plain stores.
    fn settings_in_cache(self, huge_pages: bool) -> Vec<Setting> {
        [1, 2, 4]
            .map(|streams| Setting {
                streams,
                prefetch: 0,
                streaming_stores: false,
                huge_pages,
                placement: Placement::Packed,
            })
            .to_vec()
    }
}

/// Parameters of a measurement.
pub(super) struct Plan<'a> {
    pub isa: Isa,
    pub system: &'a System,
    pub threads: usize,
    /// Size of the memory buffers of all threads in bytes.
    pub size: usize,
    /// Time budget of a full search; smaller searches take a fraction.
    pub budget: Duration,
    pub effort: &'a RunPolicy,
}

/// Measures all roofs for a number of threads. `progress` receives a description of each step.
pub(super) fn roofs(plan: &Plan, mut progress: impl FnMut(&str) + Send) -> Result<Roofs, MachineError> {
    let threads = if plan.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", plan.threads) };
    let mut step = |name: &str| progress(&format!("{name}, {threads}"));
    on_separate_thread(|| {
        let mut workers = Workers::new(plan, Placement::Packed)?;
        step("read");
        let read = workers.search(Movement::Read, plan.budget)?;
        step("copy");
        let copy = workers.search(Movement::Copy, plan.budget * 6 / 10)?;
        step("triad");
        let triad = workers.search(Movement::Triad, plan.budget * 6 / 10)?;
        step("write");
        let write = workers.search(Movement::Write, plan.budget * 3 / 10)?;
        step("caches");
        let mut levels = Vec::new();
        for level in levels_to_measure(&plan.system.caches, plan.threads) {
            levels.push(workers.level(level, plan.budget / 20)?);
        }
        step("working sets");
        let sweep = workers.sweep(plan.budget / 200)?;
        step("arithmetic");
        let kinds = FmaType::ALL.into_iter().filter(|kind| plan.effort.includes(*kind));
        let arithmetic: Vec<Computed> =
            kinds.filter_map(|kind| workers.arithmetic(kind, plan.budget / 10)).collect();
        let reported_clock_ghz = reported_clock_ghz(Path::new(CPUS), &workers.cpus);
        let clock_ghz = workers.clock(plan.budget / 50);
        drop(workers);
        step("placement");
        let read = other_placements(plan, Movement::Read, read)?;
        let copy = other_placements(plan, Movement::Copy, copy)?;
        let triad = other_placements(plan, Movement::Triad, triad)?;
        let write = other_placements(plan, Movement::Write, write)?;
        let spread = |kind: FmaType| arithmetic.iter().find(|one| one.numbers == kind).map(|one| one.spread);
        // The scalar kernels support both, so neither is missing.
        let [f32, int8] = [FmaType::F32, FmaType::Int8]
            .map(|kind| spread(kind).unwrap_or(Spread { best: 0.0, median: 0.0, runs: 0 }));
        let int4 = spread(FmaType::Int4);
        Ok(Roofs {
            threads: plan.threads,
            ridge: ridge(f32.best, read.spread.best),
            read_gb_s: read.spread.best,
            copy_gb_s: copy.spread.best,
            triad_gb_s: triad.spread.best,
            write_gb_s: Some(write.spread.best),
            f32_gflops: f32.best,
            int8_gops: int8.best,
            int4_gops: int4.map(|spread| spread.best),
            read,
            copy,
            triad,
            write: Some(write),
            f32,
            int8,
            int4,
            arithmetic,
            clock_ghz,
            reported_clock_ghz,
            levels,
            sweep,
        })
    })?
}

/// Measures roofs with one thread per core; `None` without SMT.
pub(super) fn without_smt(plan: &Plan, setting: Setting) -> Result<Option<WithoutSmt>, MachineError> {
    let Some(cpus) = plan.system.groups.one_per_core().filter(|cpus| cpus.len() < plan.threads) else {
        return Ok(None);
    };
    let threads = cpus.len();
    on_separate_thread(|| {
        let mut workers = Workers::on(plan, cpus.into_iter().map(|cpu| vec![cpu]).collect())?;
        let read = workers.try_settings(Movement::Read, vec![setting], plan.budget / 5)?;
        let f32 = workers.arithmetic(FmaType::F32, plan.budget / 10);
        let f32_gflops = f32.map_or(0.0, |one| one.gop_s);
        Ok(Some(WithoutSmt { threads, read_gb_s: read.spread.best, f32_gflops }))
    })?
}

/// Maximum number of NUMA nodes to measure, since the time is quadratic in it.
const MAX_NODES: usize = 8;

/// Measures the read bandwidth between all pairs of NUMA nodes. Memory is first touched by the CPUs of its node.
pub(super) fn nodes(
    plan: &Plan,
    nodes: &[(usize, Vec<usize>)],
    setting: Setting,
) -> Result<Vec<NodeRead>, MachineError> {
    if nodes.len() < 2 {
        return Ok(Vec::new());
    }
    let nodes = &nodes[..nodes.len().min(MAX_NODES)];
    let pool_on = |cpus: &[usize]| {
        let cpus = cpus.iter().take(plan.threads).map(|cpu| vec![*cpu]).collect();
        Workers::on(plan, cpus)
    };
    on_separate_thread(|| {
        let mut reads = Vec::new();
        for (memory, near) in nodes {
            let mut buffer = Buffer::new(plan.size, setting.huge_pages)?;
            let owners = pool_on(near)?.pool;
            let parts = parts(&mut buffer, owners.threads());
            owners.run(|index| with(&parts, index, |part| part.fill(1.0)));
            drop((parts, owners));
            for (processors, cpus) in nodes {
                let pool = pool_on(cpus)?.pool;
                let parts = self::parts(&mut buffer, pool.threads());
                let (_, spread) = best_of(vec![()], plan.search(plan.budget / 32), |()| {
                    timed(&pool, |index, moved| {
                        with(&parts, index, |part| add(moved, Movement::Read.run(plan.isa, part, setting)));
                    })
                });
                reads.push(NodeRead { processors: *processors, memory: *memory, read_gb_s: spread.best });
            }
        }
        Ok(reads)
    })?
}

/// Measures the energy of reading and arithmetic with all threads; `None` if a counter becomes unreadable.
pub(super) fn energy(
    plan: &Plan,
    counters: &Counters,
    setting: Setting,
) -> Result<Option<Energy>, MachineError> {
    on_separate_thread(|| {
        let mut workers = Workers::new(plan, Placement::Packed)?;
        let spent = |work: &mut dyn FnMut() -> f64| {
            let (start, before, mut amount) = (Instant::now(), counters.now()?, 0.0);
            while start.elapsed() < plan.budget / 4 {
                amount += work();
            }
            let (joules, seconds) =
                (counters.joules(&before, &counters.now()?)?, start.elapsed().as_secs_f64());
            Some((joules * 1e9 / amount, joules / seconds)).filter(|(each, _)| each.is_finite())
        };
        let (pool, parts) = workers.memory(setting.huge_pages)?;
        let read = spent(&mut || {
            counted(pool, |index, moved| {
                with(&parts, index, |part| add(moved, Movement::Read.run(plan.isa, part, setting)));
            })
        });
        drop(parts);
        let (single, _) = loops(plan.isa, FmaType::F32);
        let multiplied = single.last().and_then(|one| {
            let operands = one.operands();
            let rounds = rounds(one, &operands);
            spent(&mut || {
                counted(&workers.pool, |_, done| add(done, black_box(one.run(rounds, &operands)).1))
            })
        });
        let both = read.zip(multiplied);
        Ok(both.map(|((read_nj_byte, read_watts), (f32_nj_flop, f32_watts))| Energy {
            read_nj_byte,
            f32_nj_flop,
            read_watts,
            f32_watts,
        }))
    })?
}

/// Runs `work` on a new thread. The first worker of a thread pool is the calling thread, and it is pinned.
pub(super) fn on_separate_thread<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, MachineError> {
    std::thread::scope(|scope| match std::thread::Builder::new().spawn_scoped(scope, work) {
        Ok(handle) => Ok(handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))),
        Err(error) => Err(MachineError::Threads(error)),
    })
}

/// Returns the CPUs of each thread.
pub(super) fn cpus(placement: Placement, allowed: &[usize], threads: usize) -> Vec<Vec<usize>> {
    (0..threads)
        .map(|thread| {
            let index = match placement {
                Placement::Packed => thread,
                Placement::Spread => thread * allowed.len() / threads,
                Placement::Free => return allowed.to_vec(),
            };
            allowed.get(index % allowed.len().max(1)).copied().into_iter().collect()
        })
        .collect()
}

/// Tries the fastest setting with other placements.
fn other_placements(plan: &Plan, movement: Movement, winner: Peak) -> Result<Peak, MachineError> {
    let allowed = &plan.system.cpus;
    let mut best = winner;
    for placement in [Placement::Spread, Placement::Free] {
        let same = cpus(placement, allowed, plan.threads) == cpus(Placement::Packed, allowed, plan.threads);
        if allowed.is_empty() || same {
            continue;
        }
        let mut workers = Workers::new(plan, placement)?;
        let setting = Setting { placement, ..winner.setting };
        let peak = workers.try_settings(movement, vec![setting], plan.budget / 12)?;
        if peak.spread.best > best.spread.best {
            best = peak;
        }
    }
    Ok(best)
}

/// Returns the cache levels to measure, with the working set per thread: half of its share of the cache to
/// avoid evictions. Levels are skipped unless the working set is more than twice the previous cache.
fn levels_to_measure(caches: &[Cache], threads: usize) -> Vec<(u32, usize)> {
    let mut before = 0;
    let mut levels = Vec::new();
    for cache in caches {
        let bytes = cache.bytes / cache.shared_by.min(threads).max(1) / 2;
        if bytes > 2 * before {
            levels.push((cache.level, bytes));
        }
        before = cache.bytes;
    }
    levels
}

/// Memory of one thread.
type Part<'a> = Mutex<&'a mut [f32]>;

/// Pinned thread pool with the memory that its threads have first touched.
struct Workers<'a> {
    plan: &'a Plan<'a>,
    pool: ThreadPool,
    cpus: Vec<usize>,
    /// Buffers with normal and with huge pages, allocated on first use.
    buffers: [Option<Buffer>; 2],
}

impl<'a> Workers<'a> {
    fn new(plan: &'a Plan<'a>, placement: Placement) -> Result<Self, MachineError> {
        Workers::on(plan, cpus(placement, &plan.system.cpus, plan.threads))
    }

    /// Starts a thread for each list of CPUs and pins it to them.
    fn on(plan: &'a Plan<'a>, cpus: Vec<Vec<usize>>) -> Result<Self, MachineError> {
        let own = cpus.first().cloned().unwrap_or_default();
        let all = cpus.concat();
        let pool = ThreadPool::with_setup(plan.isa, cpus.len(), move |index| {
            if let Some(cpus) = cpus.get(index).filter(|cpus| !cpus.is_empty()) {
                pin(cpus);
            }
        })
        .map_err(MachineError::Threads)?;
        if !own.is_empty() {
            pin(&own);
        }
        Ok(Workers { plan, pool, cpus: all, buffers: [None, None] })
    }

    /// Returns the part of the buffer of each thread, first touched by that thread.
    fn memory(&mut self, huge_pages: bool) -> Result<(&ThreadPool, Vec<Part<'_>>), MachineError> {
        let pool = &self.pool;
        let slot = &mut self.buffers[usize::from(huge_pages)];
        let new = slot.is_none();
        let buffer = match slot {
            Some(buffer) => buffer,
            None => slot.insert(Buffer::new(self.plan.size, huge_pages)?),
        };
        let parts = parts(buffer, pool.threads());
        if new {
            pool.run(|index| with(&parts, index, |part| part.fill(1.0)));
        }
        Ok((pool, parts))
    }

    fn search(&mut self, movement: Movement, budget: Duration) -> Result<Peak, MachineError> {
        self.try_settings(movement, movement.settings(self.plan.system.huge_pages), budget)
    }

    fn try_settings(
        &mut self,
        movement: Movement,
        settings: Vec<Setting>,
        budget: Duration,
    ) -> Result<Peak, MachineError> {
        let isa = self.plan.isa;
        // First touch of the memory is not part of the search.
        for setting in &settings {
            self.memory(setting.huge_pages)?;
        }
        let mut first_error = None;
        let search = self.plan.search(budget);
        let (setting, spread) = best_of(settings, search, |setting| match self.memory(setting.huge_pages) {
            Ok((pool, parts)) => timed(pool, |index, bytes| {
                with(&parts, index, |part| add(bytes, movement.run(isa, part, setting)));
            }),
            Err(error) => {
                first_error = Some(error);
                0.0
            }
        });
        first_error.map_or(Ok(Peak { setting, spread }), Err)
    }

    /// Measures a kernel on a working set of `bytes` per thread.
    fn within(
        &mut self,
        movement: Movement,
        bytes: usize,
        min_runs: usize,
        budget: Duration,
    ) -> Result<Spread, MachineError> {
        let isa = self.plan.isa;
        let huge_pages = self.plan.system.huge_pages;
        let search = Search { min_runs, ..self.plan.search(budget) };
        let (pool, parts) = self.memory(huge_pages)?;
        // Enough passes to amortize the start of the threads.
        let passes = ((16 << 20) / bytes.max(1)).clamp(1, 1 << 12);
        let settings = movement.settings_in_cache(huge_pages);
        let (_, spread) = best_of(settings, search, |setting| {
            timed(pool, |index, moved| {
                with(&parts, index, |part| {
                    let length = (bytes / 4).min(part.len());
                    add(moved, (0..passes).map(|_| movement.run(isa, &mut part[..length], setting)).sum());
                });
            })
        });
        Ok(spread)
    }

    fn level(&mut self, (level, bytes): (u32, usize), budget: Duration) -> Result<Level, MachineError> {
        let mut best = |movement: Movement| self.within(movement, bytes, 5, budget);
        let (read, copy, triad) = (best(Movement::Read)?, best(Movement::Copy)?, best(Movement::Triad)?);
        Ok(Level {
            level,
            bytes,
            read_gb_s: read.best,
            copy_gb_s: copy.best,
            triad_gb_s: triad.best,
            read: Some(read),
            copy: Some(copy),
            triad: Some(triad),
        })
    }

    /// Measures the read bandwidth of working sets up to the size of the buffer.
    fn sweep(&mut self, budget: Duration) -> Result<Vec<WorkingSet>, MachineError> {
        let max = self.plan.size / self.plan.threads;
        let sets = working_sets(max).into_iter().map(|bytes| {
            let spread = self.within(Movement::Read, bytes, 1, budget)?;
            Ok(WorkingSet { bytes, read_gb_s: spread.best })
        });
        sets.collect()
    }

    /// Measures the compute roof of an element type; `None` if the CPU has no instruction for it.
    fn arithmetic(&self, kind: FmaType, budget: Duration) -> Option<Computed> {
        let (loops, operands) = loops(self.plan.isa, kind);
        if loops.is_empty() {
            return None;
        }
        let rounds: Vec<usize> =
            loops.iter().zip(&operands).map(|(one, operands)| rounds(one, operands)).collect();
        let (winner, spread) = best_of((0..loops.len()).collect(), self.plan.search(budget), |at| {
            let (one, operands, rounds) = (&loops[at], &operands[at], rounds[at]);
            timed(&self.pool, |_, done| add(done, black_box(one.run(black_box(rounds), operands)).1))
        });
        let instruction = loops.get(winner)?.instruction().to_owned();
        Some(Computed { numbers: kind, instruction, gop_s: spread.best, spread })
    }

    /// Measures the clock per thread in GHz while all threads run; `None` if unsupported.
    fn clock(&self, budget: Duration) -> Option<f64> {
        kernels::dependent_additions(1)?;
        let (_, spread) = best_of(vec![()], self.plan.search(budget), |()| {
            timed(&self.pool, |_, done| add(done, kernels::dependent_additions(10_000).unwrap_or(0)))
        });
        Some(spread.best / self.pool.threads() as f64).filter(|ghz| *ghz > 0.0)
    }
}

/// Returns a number of rounds that takes at least a millisecond, to amortize the start of the threads.
fn rounds(one: &MultiplyAdd, operands: &kernels::Operands) -> usize {
    const MAX_ROUNDS: usize = 1 << 22;
    let mut rounds = 512;
    while rounds < MAX_ROUNDS {
        let start = Instant::now();
        black_box(one.run(black_box(rounds), operands));
        if start.elapsed() >= Duration::from_millis(1) {
            break;
        }
        rounds *= 2;
    }
    rounds
}

/// Returns the kernels for an element type with their operands. Scalar kernels are excluded if there are others; int8 kernels also
/// count for int4.
fn loops(isa: Isa, kind: FmaType) -> (Vec<MultiplyAdd>, Vec<kernels::Operands>) {
    let fits = |one: &MultiplyAdd| {
        one.fma_type() == kind || (kind == FmaType::Int4 && one.fma_type() == FmaType::Int8)
    };
    let mut loops: Vec<MultiplyAdd> = kernels::multiply_adds(isa).filter(fits).collect();
    if loops.iter().any(|one| one.instruction() != MultiplyAdd::SCALAR) {
        loops.retain(|one| one.instruction() != MultiplyAdd::SCALAR);
    }
    let operands = loops.iter().map(MultiplyAdd::operands).collect();
    (loops, operands)
}

/// Returns working set sizes from 4 KiB to `max`, two per doubling.
fn working_sets(max: usize) -> Vec<usize> {
    let doublings = (0..usize::BITS - 13).map(|doubling| 4096 << doubling);
    let sizes = doublings.flat_map(|bytes: usize| [bytes, bytes / 2 * 3]);
    sizes.take_while(|bytes| *bytes < max).chain([max]).collect()
}

/// Runs work once on each thread and returns the total amount that it counts.
fn counted(pool: &ThreadPool, work: impl Fn(usize, &Mutex<u64>) + Sync) -> f64 {
    let done = Mutex::new(0);
    pool.run(|index| work(index, &done));
    total(done)
}

/// Runs work once on each thread and returns its rate in billions per second.
fn timed(pool: &ThreadPool, work: impl Fn(usize, &Mutex<u64>) + Sync) -> f64 {
    let start = Instant::now();
    let done = counted(pool, work);
    done / start.elapsed().as_secs_f64() / 1e9
}

/// Splits a buffer into a part per thread.
fn parts(buffer: &mut Buffer, threads: usize) -> Vec<Part<'_>> {
    let share = share(buffer.len(), threads);
    buffer.chunks_mut(share).take(threads).map(Mutex::new).collect()
}

/// Returns the number of elements per thread: whole huge pages if possible, so that threads do not share
/// pages.
pub(super) fn share(length: usize, threads: usize) -> usize {
    let (page, even) = (HUGE_PAGE / 4, length / threads);
    if even >= page { even / page * page } else { even.max(1) }
}

pub(super) fn with(parts: &[Part], index: usize, work: impl FnOnce(&mut [f32])) {
    if let Some(part) = parts.get(index) {
        work(&mut part.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

fn add(sum: &Mutex<u64>, value: u64) {
    *sum.lock().unwrap_or_else(PoisonError::into_inner) += value;
}

fn total(sum: Mutex<u64>) -> f64 {
    sum.into_inner().unwrap_or_else(PoisonError::into_inner) as f64
}

/// Limits of a search for the fastest setting.
#[derive(Clone, Copy)]
struct Search {
    budget: Duration,
    /// Minimum number of runs of the fastest setting.
    min_runs: usize,
    /// Warm-up runs per setting.
    warm_up: usize,
    /// Exact number of runs per setting; `None` to use the time budget.
    steps: Option<usize>,
}

impl Plan<'_> {
    fn search(&self, budget: Duration) -> Search {
        Search { budget, min_runs: 5, warm_up: self.effort.warm_up, steps: self.effort.steps }
    }
}

/// Finds the setting with the best single run. All settings run in turn; after each round but the first,
/// the slower half is dropped, until the time is up.
///
/// # Panics
///
/// Panics if `settings` is empty.
fn best_of<S: Copy>(settings: Vec<S>, search: Search, mut run: impl FnMut(S) -> f64) -> (S, Spread) {
    const MIN_SETTINGS: usize = 3;
    for setting in settings.iter().flat_map(|setting| std::iter::repeat_n(*setting, search.warm_up)) {
        run(setting);
    }
    let deadline = Instant::now() + search.budget;
    let is_done = |rounds: usize| match search.steps {
        Some(steps) => rounds >= steps,
        None => Instant::now() >= deadline,
    };
    let first = settings[0];
    let mut candidates: Vec<(S, Vec<f64>)> =
        settings.into_iter().map(|setting| (setting, Vec::new())).collect();
    let best = |runs: &[f64]| runs.iter().copied().fold(0.0, f64::max);
    for round in 0.. {
        for (at, (setting, runs)) in candidates.iter_mut().enumerate() {
            if is_done(round) && (round, at) != (0, 0) {
                break;
            }
            runs.push(run(*setting));
        }
        candidates.sort_by(|(_, a), (_, b)| best(b).total_cmp(&best(a)));
        if round > 0 && search.steps.is_none() {
            candidates.truncate(MIN_SETTINGS.max(candidates.len().div_ceil(2)));
        }
        if is_done(round + 1) {
            break;
        }
    }
    let (setting, mut runs) = candidates.into_iter().next().unwrap_or((first, Vec::new()));
    while runs.len() < search.steps.unwrap_or(search.min_runs) {
        runs.push(run(setting));
    }
    (setting, Spread::from_runs(&mut runs))
}

/// Returns the ridge point in FLOP/byte; 0 if the roofs are outside the domain of the contract.
fn ridge(compute: f64, bandwidth: f64) -> f64 {
    let machine = hardware::Inputs { compute, bandwidth };
    machine.evaluate().map_or(0.0, |outputs| outputs.ridge_point)
}
#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Vec<Setting> {
        Movement::Read.settings(true)
    }

    fn search(milliseconds: u64) -> Search {
        let budget = Duration::from_millis(milliseconds);
        Search { budget, min_runs: 5, warm_up: 0, steps: None }
    }

    #[test]
    fn steps_set_the_number_of_runs_after_warm_up() {
        let mut calls = std::collections::BTreeMap::new();
        let wanted = Search { warm_up: 2, steps: Some(3), ..search(0) };
        let (setting, spread) = best_of(vec![1, 2, 3, 4, 5, 6, 7, 8], wanted, |setting| {
            let call = calls.entry(setting).or_insert(0);
            *call += 1;
            // Warm-up runs are the fastest, but are not counted.
            if *call <= 2 { 1000.0 } else { f64::from(setting * 10 + *call) }
        });
        assert_eq!(calls.into_values().collect::<Vec<_>>(), [5; 8]);
        assert_eq!((setting, spread), (8, Spread { best: 85.0, median: 84.0, runs: 3 }));
    }

    #[test]
    fn the_search_finds_the_fastest_setting() {
        let mut calls = 0;
        let (setting, spread) = best_of(settings(), search(500), |setting| {
            calls += 1;
            std::thread::sleep(Duration::from_micros(20));
            if setting.streams == 6 && setting.prefetch == 512 && !setting.huge_pages { 30.0 } else { 10.0 }
        });
        assert_eq!((setting.streams, setting.prefetch, setting.huge_pages), (6, 512, false));
        assert_eq!(spread.best, 30.0);
        assert!(spread.runs >= 5 && calls > settings().len());
    }

    #[test]
    fn slow_machines_get_a_result_from_the_minimum_number_of_runs() {
        let mut calls = 0;
        let (_, spread) = best_of(settings(), search(1), |_| {
            calls += 1;
            std::thread::sleep(Duration::from_millis(2));
            5.0
        });
        assert_eq!((spread.best, spread.median), (5.0, 5.0));
        assert_eq!(calls, 5);
    }

    #[test]
    fn every_movement_counts_the_bytes_of_its_arrays() {
        let mut memory = vec![1f32; 1 << 20];
        for (movement, arrays) in
            [(Movement::Read, 1), (Movement::Write, 1), (Movement::Copy, 2), (Movement::Triad, 3)]
        {
            for setting in movement.settings(false) {
                let bytes = movement.run(Isa::detect(), &mut memory, setting) as usize;
                assert!(bytes <= 4 << 20 && bytes > (4 << 20) * 8 / 10, "{movement:?} {bytes}");
                assert_eq!(bytes % (4 * arrays), 0);
            }
        }
    }

    fn plan<'a>(system: &'a System, effort: &'a RunPolicy) -> Plan<'a> {
        let budget = Duration::from_millis(2);
        Plan { isa: Isa::detect(), system, threads: 2, size: 8 << 20, budget, effort }
    }

    #[test]
    fn all_pairs_of_numa_nodes_are_measured() {
        let (system, effort) = (System::detect(), RunPolicy::default());
        let setting = Movement::Read.settings(false)[0];
        assert_eq!(nodes(&plan(&system, &effort), &[(0, vec![0])], setting).unwrap(), []);
        // Two nodes with the same CPU, to test the order of the pairs.
        let cpu = system.cpus.first().copied().into_iter().collect::<Vec<_>>();
        let found = nodes(&plan(&system, &effort), &[(0, cpu.clone()), (3, cpu)], setting).unwrap();
        let pairs: Vec<_> = found.iter().map(|read| (read.memory, read.processors)).collect();
        assert_eq!(pairs, [(0, 0), (0, 3), (3, 0), (3, 3)]);
        assert!(found.iter().all(|read| read.read_gb_s > 0.0), "{found:?}");
    }

    #[test]
    fn working_sets_grow_up_to_the_buffer_size() {
        assert_eq!(working_sets(20_000), [4096, 6144, 8192, 12_288, 16_384, 20_000]);
        assert_eq!(working_sets(4096), [4096]);
        assert!(working_sets(usize::MAX >> 1).windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn int4_uses_int8_kernels_and_scalar_kernels_are_a_fallback() {
        let (scalar, _) = loops(Isa::SCALAR, FmaType::F32);
        assert_eq!(scalar.iter().map(MultiplyAdd::instruction).collect::<Vec<_>>(), [MultiplyAdd::SCALAR]);
        for isa in &Isa::available()[1..] {
            let (narrow, _) = loops(*isa, FmaType::Int4);
            assert!(narrow.iter().any(|one| one.fma_type() == FmaType::Int8), "{isa}");
            assert!(narrow.iter().all(|one| one.instruction() != MultiplyAdd::SCALAR), "{isa}");
        }
    }

    #[test]
    fn placements_pin_threads_to_allowed_cpus() {
        assert_eq!(cpus(Placement::Packed, &[2, 3, 6, 7], 2), [[2], [3]]);
        assert_eq!(cpus(Placement::Spread, &[2, 3, 6, 7], 2), [[2], [6]]);
        assert_eq!(cpus(Placement::Packed, &[2, 3], 3), [[2], [3], [2]]);
        assert_eq!(cpus(Placement::Free, &[2, 3], 1), [[2, 3]]);
        assert_eq!(cpus(Placement::Packed, &[], 2), [[0usize; 0], []]);
    }

    #[test]
    fn cache_levels_of_similar_size_are_skipped() {
        let cache = |level, bytes, shared_by| Cache { level, bytes, shared_by };
        let caches = [cache(1, 32 << 10, 1), cache(2, 512 << 10, 1), cache(3, 32 << 20, 2)];
        assert_eq!(levels_to_measure(&caches, 1), [(1, 16 << 10), (2, 256 << 10), (3, 16 << 20)]);
        assert_eq!(levels_to_measure(&caches, 2), [(1, 16 << 10), (2, 256 << 10), (3, 8 << 20)]);
        let tight = [cache(1, 32 << 10, 1), cache(2, 2 << 20, 1), cache(3, 16 << 20, 64)];
        assert_eq!(levels_to_measure(&tight, 64).len(), 2);
        assert!(levels_to_measure(&[], 4).is_empty());
    }
}
