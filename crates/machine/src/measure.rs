//! Measures the roofs: runs every setting in turn, again and again, drops the slower half each round, and
//! keeps the best. Interleaving matters: on a shared machine the speed changes while one looks.

use std::hint::black_box;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::buffer::{Buffer, HUGE_PAGE};
use super::energy::{Counters, Energy};
use super::system::{CPUS, Cache, System, pin, told_clock_ghz};
use super::{
    Computed, Effort, Level, NodeRead, OneACore, Peak, PeaksError, Placement, Roofs, Setting, Spread,
    WorkingSet,
};
use roofline_formulas::hardware;
use roofline_kernels::isa::Isa;
use roofline_kernels::{self as kernels, FmaType, MultiplyAdd, Streams, ThreadPool};

/// What moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Movement {
    Read,
    Write,
    Copy,
    Triad,
}

impl Movement {
    /// Arrays it walks, each counted once: STREAM's convention, without the reads that a plain store causes.
    fn arrays(self) -> usize {
        match self {
            Movement::Read | Movement::Write => 1,
            Movement::Copy => 2,
            Movement::Triad => 3,
        }
    }

    /// Runs it once over a thread's memory and returns the bytes that count.
    fn run(self, isa: Isa, memory: &mut [f32], setting: Setting) -> u64 {
        let streams = Streams { count: setting.streams, prefetch: setting.prefetch };
        let length = kernels::stream::distance(memory.len(), 4, self.arrays(), 32);
        let (target, rest) = memory.split_at_mut(length);
        let (a, b) = rest.split_at(length.min(rest.len()));
        let done = match (self, setting.streaming_stores) {
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
        debug_assert!(done.is_ok());
        (4 * length * self.arrays()) as u64
    }

    fn settings(self, huge_pages: bool) -> Vec<Setting> {
        let pages: &[bool] = if huge_pages { &[true, false] } else { &[false] };
        // The likely winners first, should the time run out.
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

    /// Within a cache only streams matter: huge pages where there are any, and stores that stay.
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

/// What to measure with.
pub(super) struct Plan<'a> {
    pub isa: Isa,
    pub system: &'a System,
    pub threads: usize,
    /// Bytes of the buffers beyond the caches, all threads together.
    pub size: usize,
    /// How long one search may take; a part of it for the smaller ones.
    pub budget: Duration,
    pub effort: &'a Effort,
}

/// Measures everything for this number of threads. `progress` is told what comes next.
pub(super) fn roofs(plan: &Plan, mut progress: impl FnMut(&str) + Send) -> Result<Roofs, PeaksError> {
    let word = if plan.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", plan.threads) };
    let mut say = |what: &str| progress(&format!("{what}, {word}"));
    on_a_thread_of_its_own(|| {
        let mut field = TeamAndMemory::new(plan, Placement::Packed)?;
        say("read");
        let read = field.search(Movement::Read, plan.budget)?;
        say("copy");
        let copy = field.search(Movement::Copy, plan.budget * 6 / 10)?;
        say("triad");
        let triad = field.search(Movement::Triad, plan.budget * 6 / 10)?;
        say("write");
        let write = field.search(Movement::Write, plan.budget * 3 / 10)?;
        say("caches");
        let mut levels = Vec::new();
        for level in levels_to_measure(&plan.system.caches, plan.threads) {
            levels.push(field.level(level, plan.budget / 20)?);
        }
        say("working sets");
        let sweep = field.sweep(plan.budget / 200)?;
        say("arithmetic");
        let kinds = FmaType::ALL.into_iter().filter(|kind| plan.effort.has(*kind));
        let arithmetic: Vec<Computed> =
            kinds.filter_map(|kind| field.arithmetic(kind, plan.budget / 10)).collect();
        let told_clock_ghz = told_clock_ghz(Path::new(CPUS), &field.cpus);
        let clock_ghz = field.clock(plan.budget / 50);
        drop(field);
        say("placement");
        let read = other_placements(plan, Movement::Read, read)?;
        let copy = other_placements(plan, Movement::Copy, copy)?;
        let triad = other_placements(plan, Movement::Triad, triad)?;
        let write = other_placements(plan, Movement::Write, write)?;
        let spread = |kind: FmaType| arithmetic.iter().find(|one| one.numbers == kind).map(|one| one.spread);
        // Plain Rust has both, so there is always one.
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
            told_clock_ghz,
            levels,
            sweep,
        })
    })?
}

/// The roofs of one thread a core, where cores have several and all are used.
pub(super) fn one_a_core(plan: &Plan, setting: Setting) -> Result<Option<OneACore>, PeaksError> {
    let Some(cpus) = plan.system.groups.one_a_core().filter(|cpus| cpus.len() < plan.threads) else {
        return Ok(None);
    };
    let threads = cpus.len();
    on_a_thread_of_its_own(|| {
        let mut field = TeamAndMemory::on(plan, cpus.into_iter().map(|cpu| vec![cpu]).collect())?;
        let read = field.try_settings(Movement::Read, vec![setting], plan.budget / 5)?;
        let f32 = field.arithmetic(FmaType::F32, plan.budget / 10);
        let f32_gflops = f32.map_or(0.0, |one| one.gop_s);
        Ok(Some(OneACore { threads, read_gb_s: read.spread.best, f32_gflops }))
    })?
}

/// The most nodes that are measured against each other: the time grows with their square.
const MOST_NODES: usize = 8;

/// Reading from each node's memory, first touched by its own processors, by those of each node.
pub(super) fn nodes(
    plan: &Plan,
    nodes: &[(usize, Vec<usize>)],
    setting: Setting,
) -> Result<Vec<NodeRead>, PeaksError> {
    if nodes.len() < 2 {
        return Ok(Vec::new());
    }
    let nodes = &nodes[..nodes.len().min(MOST_NODES)];
    let team_on = |cpus: &[usize]| {
        let cpus = cpus.iter().take(plan.threads).map(|cpu| vec![*cpu]).collect();
        TeamAndMemory::on(plan, cpus)
    };
    on_a_thread_of_its_own(|| {
        let mut reads = Vec::new();
        for (memory, near) in nodes {
            let mut buffer = Buffer::new(plan.size, setting.huge_pages)?;
            let owners = team_on(near)?.team;
            let parts = parts(&mut buffer, owners.threads());
            owners.run(|index| with(&parts, index, |part| part.fill(1.0)));
            drop((parts, owners));
            for (processors, cpus) in nodes {
                let team = team_on(cpus)?.team;
                let parts = self::parts(&mut buffer, team.threads());
                let (_, spread) = best_of(vec![()], plan.search(plan.budget / 32), |()| {
                    timed(&team, |index, moved| {
                        with(&parts, index, |part| add(moved, Movement::Read.run(plan.isa, part, setting)));
                    })
                });
                reads.push(NodeRead { processors: *processors, memory: *memory, read_gb_s: spread.best });
            }
        }
        Ok(reads)
    })?
}

/// What reading and multiplying take with all threads; none where a counter stops answering.
pub(super) fn energy(
    plan: &Plan,
    counters: &Counters,
    setting: Setting,
) -> Result<Option<Energy>, PeaksError> {
    on_a_thread_of_its_own(|| {
        let mut field = TeamAndMemory::new(plan, Placement::Packed)?;
        let spent = |work: &mut dyn FnMut() -> f64| {
            let (start, before, mut amount) = (Instant::now(), counters.now()?, 0.0);
            while start.elapsed() < plan.budget / 4 {
                amount += work();
            }
            let (joules, seconds) =
                (counters.joules(&before, &counters.now()?)?, start.elapsed().as_secs_f64());
            Some((joules * 1e9 / amount, joules / seconds)).filter(|(each, _)| each.is_finite())
        };
        let (team, parts) = field.memory(setting.huge_pages)?;
        let read = spent(&mut || {
            counted(team, |index, moved| {
                with(&parts, index, |part| add(moved, Movement::Read.run(plan.isa, part, setting)));
            })
        });
        drop(parts);
        let (single, _) = loops(plan.isa, FmaType::F32);
        let multiplied = single.last().and_then(|one| {
            let operands = one.operands();
            let rounds = rounds(one, &operands);
            spent(&mut || counted(&field.team, |_, done| add(done, black_box(one.run(rounds, &operands)).1)))
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

/// The first thread of a team is the one that calls; it is pinned, so it must not be the caller's own.
pub(super) fn on_a_thread_of_its_own<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, PeaksError> {
    std::thread::scope(|scope| match std::thread::Builder::new().spawn_scoped(scope, work) {
        Ok(handle) => Ok(handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))),
        Err(error) => Err(PeaksError::Threads(error)),
    })
}

/// Which CPU each thread keeps to.
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

/// Tries the winner where the threads run elsewhere.
fn other_placements(plan: &Plan, movement: Movement, winner: Peak) -> Result<Peak, PeaksError> {
    let allowed = &plan.system.cpus;
    let mut best = winner;
    for placement in [Placement::Spread, Placement::Free] {
        let same = cpus(placement, allowed, plan.threads) == cpus(Placement::Packed, allowed, plan.threads);
        if allowed.is_empty() || same {
            continue;
        }
        let mut field = TeamAndMemory::new(plan, placement)?;
        let setting = Setting { placement, ..winner.setting };
        let peak = field.try_settings(movement, vec![setting], plan.budget / 12)?;
        if peak.spread.best > best.spread.best {
            best = peak;
        }
    }
    Ok(best)
}

/// The caches worth measuring and how much of each one thread takes: half of its share, so that nothing
/// else pushes it out, and more than twice what the level before holds.
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

/// What one thread works on.
type Part<'a> = Mutex<&'a mut [f32]>;

/// A team where it runs, and the memory its threads have touched.
struct TeamAndMemory<'a> {
    plan: &'a Plan<'a>,
    team: ThreadPool,
    /// Where its threads may run.
    cpus: Vec<usize>,
    /// Buffers with normal and with huge pages; made when first needed.
    buffers: [Option<Buffer>; 2],
}

impl<'a> TeamAndMemory<'a> {
    fn new(plan: &'a Plan<'a>, placement: Placement) -> Result<Self, PeaksError> {
        TeamAndMemory::on(plan, cpus(placement, &plan.system.cpus, plan.threads))
    }

    /// A thread for each list of processors, which it keeps to.
    fn on(plan: &'a Plan<'a>, cpus: Vec<Vec<usize>>) -> Result<Self, PeaksError> {
        let own = cpus.first().cloned().unwrap_or_default();
        let all = cpus.concat();
        let team = ThreadPool::with_setup(plan.isa, cpus.len(), move |index| {
            if let Some(cpus) = cpus.get(index).filter(|cpus| !cpus.is_empty()) {
                pin(cpus);
            }
        })
        .map_err(PeaksError::Threads)?;
        if !own.is_empty() {
            pin(&own);
        }
        Ok(TeamAndMemory { plan, team, cpus: all, buffers: [None, None] })
    }

    /// Each thread's part of the buffer, touched first by that thread.
    fn memory(&mut self, huge_pages: bool) -> Result<(&ThreadPool, Vec<Part<'_>>), PeaksError> {
        let team = &self.team;
        let slot = &mut self.buffers[usize::from(huge_pages)];
        let new = slot.is_none();
        let buffer = match slot {
            Some(buffer) => buffer,
            None => slot.insert(Buffer::new(self.plan.size, huge_pages)?),
        };
        let parts = parts(buffer, team.threads());
        if new {
            team.run(|index| with(&parts, index, |part| part.fill(1.0)));
        }
        Ok((team, parts))
    }

    fn search(&mut self, movement: Movement, budget: Duration) -> Result<Peak, PeaksError> {
        self.try_settings(movement, movement.settings(self.plan.system.huge_pages), budget)
    }

    fn try_settings(
        &mut self,
        movement: Movement,
        settings: Vec<Setting>,
        budget: Duration,
    ) -> Result<Peak, PeaksError> {
        let isa = self.plan.isa;
        // Touching the memory is not part of the search.
        for setting in &settings {
            self.memory(setting.huge_pages)?;
        }
        let mut failed = None;
        let search = self.plan.search(budget);
        let (setting, spread) = best_of(settings, search, |setting| match self.memory(setting.huge_pages) {
            Ok((team, parts)) => timed(team, |index, bytes| {
                with(&parts, index, |part| add(bytes, movement.run(isa, part, setting)));
            }),
            Err(error) => {
                failed = Some(error);
                0.0
            }
        });
        failed.map_or(Ok(Peak { setting, spread }), Err)
    }

    /// How fast a movement is within what each thread has of so many bytes.
    fn within(
        &mut self,
        movement: Movement,
        bytes: usize,
        least: usize,
        budget: Duration,
    ) -> Result<Spread, PeaksError> {
        let isa = self.plan.isa;
        let huge_pages = self.plan.system.huge_pages;
        let search = Search { least, ..self.plan.search(budget) };
        let (team, parts) = self.memory(huge_pages)?;
        // Long enough that starting the threads does not count.
        let passes = ((16 << 20) / bytes.max(1)).clamp(1, 1 << 12);
        let settings = movement.settings_in_cache(huge_pages);
        let (_, spread) = best_of(settings, search, |setting| {
            timed(team, |index, moved| {
                with(&parts, index, |part| {
                    let length = (bytes / 4).min(part.len());
                    add(moved, (0..passes).map(|_| movement.run(isa, &mut part[..length], setting)).sum());
                });
            })
        });
        Ok(spread)
    }

    fn level(&mut self, (level, bytes): (u32, usize), budget: Duration) -> Result<Level, PeaksError> {
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

    /// Reading within working sets from the smallest to all the memory there is, two to each doubling.
    fn sweep(&mut self, budget: Duration) -> Result<Vec<WorkingSet>, PeaksError> {
        let most = self.plan.size / self.plan.threads;
        let sets = working_sets(most).into_iter().map(|bytes| {
            let spread = self.within(Movement::Read, bytes, 1, budget)?;
            Ok(WorkingSet { bytes, read_gb_s: spread.best })
        });
        sets.collect()
    }

    /// The roof of a kind of multiply-add; none where the processor has no instruction for it.
    fn arithmetic(&self, kind: FmaType, budget: Duration) -> Option<Computed> {
        let (loops, operands) = loops(self.plan.isa, kind);
        if loops.is_empty() {
            return None;
        }
        let rounds: Vec<usize> =
            loops.iter().zip(&operands).map(|(one, operands)| rounds(one, operands)).collect();
        let (winner, spread) = best_of((0..loops.len()).collect(), self.plan.search(budget), |at| {
            let (one, operands, rounds) = (&loops[at], &operands[at], rounds[at]);
            timed(&self.team, |_, done| add(done, black_box(one.run(black_box(rounds), operands)).1))
        });
        let instruction = loops.get(winner)?.instruction().to_owned();
        Some(Computed { numbers: kind, instruction, gop_s: spread.best, spread })
    }

    /// Cycles a second of each thread while all run; none where they can't be counted.
    fn clock(&self, budget: Duration) -> Option<f64> {
        kernels::dependent_additions(1)?;
        let (_, spread) = best_of(vec![()], self.plan.search(budget), |()| {
            timed(&self.team, |_, done| add(done, kernels::dependent_additions(10_000).unwrap_or(0)))
        });
        Some(spread.best / self.team.threads() as f64).filter(|ghz| *ghz > 0.0)
    }
}

/// So many rounds of a loop of multiply-adds that they take a millisecond or more: what starts them does not count then.
fn rounds(one: &MultiplyAdd, operands: &kernels::Operands) -> usize {
    const MOST: usize = 1 << 22;
    let mut rounds = 512;
    while rounds < MOST {
        let start = Instant::now();
        black_box(one.run(black_box(rounds), operands));
        if start.elapsed() >= Duration::from_millis(1) {
            break;
        }
        rounds *= 2;
    }
    rounds
}

/// The loops for a kind of number, without the plain ones where there are others, each with its operands. Numbers of fewer than
/// eight bits are bytes too.
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

/// Sizes from 4 KiB on, two to each doubling, and the largest.
fn working_sets(most: usize) -> Vec<usize> {
    let doublings = (0..usize::BITS - 13).map(|doubling| 4096 << doubling);
    let sizes = doublings.flat_map(|bytes: usize| [bytes, bytes / 2 * 3]);
    sizes.take_while(|bytes| *bytes < most).chain([most]).collect()
}

/// Runs work that counts what it did once on each thread: how much it was.
fn counted(team: &ThreadPool, work: impl Fn(usize, &Mutex<u64>) + Sync) -> f64 {
    let done = Mutex::new(0);
    team.run(|index| work(index, &done));
    total(done)
}

/// The same, in billions a second.
fn timed(team: &ThreadPool, work: impl Fn(usize, &Mutex<u64>) + Sync) -> f64 {
    let start = Instant::now();
    let done = counted(team, work);
    done / start.elapsed().as_secs_f64() / 1e9
}

/// A thread's part of a buffer, for each thread.
fn parts(buffer: &mut Buffer, threads: usize) -> Vec<Part<'_>> {
    let share = share(buffer.len(), threads);
    buffer.chunks_mut(share).take(threads).map(Mutex::new).collect()
}

/// How many of `length` f32 each thread gets: whole pages where there are enough, so that no page is
/// touched by two.
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

/// How long to search among settings, and how often each runs.
#[derive(Clone, Copy)]
struct Search {
    budget: Duration,
    /// So many runs of the winner, whatever time they take.
    least: usize,
    /// Runs of each setting before those that count.
    warm_up: usize,
    /// So many runs of every setting, in place of those that the time allows.
    steps: Option<usize>,
}

impl Plan<'_> {
    fn search(&self, budget: Duration) -> Search {
        Search { budget, least: 5, warm_up: self.effort.warm_up, steps: self.effort.steps }
    }
}

/// The setting with the best single run. All are tried in turn; after each round but the first the slower
/// half is dropped, and the last few go on until the time is up. There must be at least one.
fn best_of<S: Copy>(settings: Vec<S>, search: Search, mut run: impl FnMut(S) -> f64) -> (S, Spread) {
    const LAST: usize = 3;
    for setting in settings.iter().flat_map(|setting| std::iter::repeat_n(*setting, search.warm_up)) {
        run(setting);
    }
    let deadline = Instant::now() + search.budget;
    let over = |rounds: usize| match search.steps {
        Some(steps) => rounds >= steps,
        None => Instant::now() >= deadline,
    };
    let first = settings[0];
    let mut field: Vec<(S, Vec<f64>)> = settings.into_iter().map(|setting| (setting, Vec::new())).collect();
    let best = |runs: &[f64]| runs.iter().copied().fold(0.0, f64::max);
    for round in 0.. {
        for (at, (setting, runs)) in field.iter_mut().enumerate() {
            if over(round) && (round, at) != (0, 0) {
                break;
            }
            runs.push(run(*setting));
        }
        field.sort_by(|(_, a), (_, b)| best(b).total_cmp(&best(a)));
        if round > 0 && search.steps.is_none() {
            field.truncate(LAST.max(field.len().div_ceil(2)));
        }
        if over(round + 1) {
            break;
        }
    }
    let (setting, mut runs) = field.into_iter().next().unwrap_or((first, Vec::new()));
    while runs.len() < search.steps.unwrap_or(search.least) {
        runs.push(run(setting));
    }
    (setting, Spread::of(&mut runs))
}

/// Where arithmetic and memory take the same time; zero where no machine is measured, which the contract has no ridge for.
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
        Search { budget, least: 5, warm_up: 0, steps: None }
    }

    #[test]
    fn steps_run_every_setting_so_often_after_a_warm_up_that_does_not_count() {
        let mut calls = std::collections::BTreeMap::new();
        let wanted = Search { warm_up: 2, steps: Some(3), ..search(0) };
        let (setting, spread) = best_of(vec![1, 2, 3, 4, 5, 6, 7, 8], wanted, |setting| {
            let call = calls.entry(setting).or_insert(0);
            *call += 1;
            // The fastest run is one of the warm-up.
            if *call <= 2 { 1000.0 } else { f64::from(setting * 10 + *call) }
        });
        assert_eq!(calls.into_values().collect::<Vec<_>>(), [5; 8]);
        assert_eq!((setting, spread), (8, Spread { best: 85.0, median: 84.0, runs: 3 }));
    }

    #[test]
    fn the_search_finds_the_best_setting_and_keeps_its_runs() {
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
    fn a_slow_machine_still_gets_an_answer_from_as_few_runs_as_can_be() {
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

    fn plan<'a>(system: &'a System, effort: &'a Effort) -> Plan<'a> {
        let budget = Duration::from_millis(2);
        Plan { isa: Isa::detect(), system, threads: 2, size: 8 << 20, budget, effort }
    }

    #[test]
    fn memory_of_each_node_is_read_from_each_and_one_node_is_no_matrix() {
        let (system, effort) = (System::detect(), Effort::default());
        let setting = Movement::Read.settings(false)[0];
        assert_eq!(nodes(&plan(&system, &effort), &[(0, vec![0])], setting).unwrap(), []);
        // Two nodes of the same processor: where the memory lies does not matter here, who reads what does.
        let cpu = system.cpus.first().copied().into_iter().collect::<Vec<_>>();
        let found = nodes(&plan(&system, &effort), &[(0, cpu.clone()), (3, cpu)], setting).unwrap();
        let pairs: Vec<_> = found.iter().map(|read| (read.memory, read.processors)).collect();
        assert_eq!(pairs, [(0, 0), (0, 3), (3, 0), (3, 3)]);
        assert!(found.iter().all(|read| read.read_gb_s > 0.0), "{found:?}");
    }

    #[test]
    fn working_sets_grow_from_the_nearest_cache_to_all_of_the_memory() {
        assert_eq!(working_sets(20_000), [4096, 6144, 8192, 12_288, 16_384, 20_000]);
        assert_eq!(working_sets(4096), [4096]);
        assert!(working_sets(usize::MAX >> 1).windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn narrow_numbers_may_take_the_way_of_bytes_and_plain_loops_only_stand_in() {
        let (scalar, _) = loops(Isa::SCALAR, FmaType::F32);
        assert_eq!(scalar.iter().map(MultiplyAdd::instruction).collect::<Vec<_>>(), [MultiplyAdd::SCALAR]);
        for isa in &Isa::available()[1..] {
            let (narrow, _) = loops(*isa, FmaType::Int4);
            assert!(narrow.iter().any(|one| one.fma_type() == FmaType::Int8), "{isa}");
            assert!(narrow.iter().all(|one| one.instruction() != MultiplyAdd::SCALAR), "{isa}");
        }
    }

    #[test]
    fn placements_pin_each_thread_to_a_processor_it_may_use() {
        assert_eq!(cpus(Placement::Packed, &[2, 3, 6, 7], 2), [[2], [3]]);
        assert_eq!(cpus(Placement::Spread, &[2, 3, 6, 7], 2), [[2], [6]]);
        assert_eq!(cpus(Placement::Packed, &[2, 3], 3), [[2], [3], [2]]);
        assert_eq!(cpus(Placement::Free, &[2, 3], 1), [[2, 3]]);
        assert_eq!(cpus(Placement::Packed, &[], 2), [[0usize; 0], []]);
    }

    #[test]
    fn a_level_is_measured_only_when_it_is_clearly_larger_than_the_one_before() {
        let cache = |level, bytes, shared_by| Cache { level, bytes, shared_by };
        let caches = [cache(1, 32 << 10, 1), cache(2, 512 << 10, 1), cache(3, 32 << 20, 2)];
        assert_eq!(levels_to_measure(&caches, 1), [(1, 16 << 10), (2, 256 << 10), (3, 16 << 20)]);
        assert_eq!(levels_to_measure(&caches, 2), [(1, 16 << 10), (2, 256 << 10), (3, 8 << 20)]);
        let tight = [cache(1, 32 << 10, 1), cache(2, 2 << 20, 1), cache(3, 16 << 20, 64)];
        assert_eq!(levels_to_measure(&tight, 64).len(), 2);
        assert!(levels_to_measure(&[], 4).is_empty());
    }
}
