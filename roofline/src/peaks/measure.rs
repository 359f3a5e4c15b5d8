//! Measures the roofs: runs every setting in turn, again and again, drops the slower half each round, and
//! keeps the best. Interleaving matters: on a shared machine the speed changes while one looks.

use std::hint::black_box;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::buffer::{Buffer, HUGE_PAGE};
use super::system::{Cache, System, pin};
use super::{Level, Peak, PeaksError, Placement, Roofs, Setting, Spread};
use crate::contracts::hardware;
use crate::isa::Isa;
use crate::kernels::{self, Streams, Team};

/// What moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Movement {
    Read,
    Copy,
    Triad,
}

impl Movement {
    /// Arrays it walks, each counted once: STREAM's convention, without the reads that a plain store causes.
    fn arrays(self) -> usize {
        match self {
            Movement::Read => 1,
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
        say("caches");
        let mut levels = Vec::new();
        for level in levels_to_measure(&plan.system.caches, plan.threads) {
            levels.push(field.level(level, plan.budget / 20)?);
        }
        say("arithmetic");
        let f32_peak = field
            .arithmetic(plan.budget / 8, |isa| kernels::fma_peak(isa, black_box(200_000), black_box(0.5)).1);
        let int8 = field
            .arithmetic(plan.budget / 8, |isa| kernels::int8_peak(isa, black_box(200_000), black_box(3)).1);
        let int4 = field
            .arithmetic(plan.budget / 8, |isa| kernels::int4_peak(isa, black_box(1_600), black_box(3)).1);
        drop(field);
        say("placement");
        let read = other_placements(plan, Movement::Read, read)?;
        let copy = other_placements(plan, Movement::Copy, copy)?;
        let triad = other_placements(plan, Movement::Triad, triad)?;
        Ok(Roofs {
            threads: plan.threads,
            ridge: ridge(f32_peak.spread.best, read.spread.best),
            read_gb_s: read.spread.best,
            copy_gb_s: copy.spread.best,
            triad_gb_s: triad.spread.best,
            f32_gflops: f32_peak.spread.best,
            int8_gops: int8.spread.best,
            int4_gops: Some(int4.spread.best),
            read,
            copy,
            triad,
            f32: f32_peak.spread,
            int8: int8.spread,
            int4: Some(int4.spread),
            levels,
        })
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
    team: Team,
    /// Buffers with normal and with huge pages; made when first needed.
    buffers: [Option<Buffer>; 2],
}

impl<'a> TeamAndMemory<'a> {
    fn new(plan: &'a Plan<'a>, placement: Placement) -> Result<Self, PeaksError> {
        let cpus = cpus(placement, &plan.system.cpus, plan.threads);
        let own = cpus.first().cloned().unwrap_or_default();
        let team = Team::with_setup(plan.isa, plan.threads, move |index| {
            if let Some(cpus) = cpus.get(index).filter(|cpus| !cpus.is_empty()) {
                pin(cpus);
            }
        })
        .map_err(PeaksError::Threads)?;
        if !own.is_empty() {
            pin(&own);
        }
        Ok(TeamAndMemory { plan, team, buffers: [None, None] })
    }

    /// Each thread's part of the buffer, touched first by that thread.
    fn memory(&mut self, huge_pages: bool) -> Result<(&Team, Vec<Part<'_>>), PeaksError> {
        let team = &self.team;
        let slot = &mut self.buffers[usize::from(huge_pages)];
        let new = slot.is_none();
        let buffer = match slot {
            Some(buffer) => buffer,
            None => slot.insert(Buffer::new(self.plan.size, huge_pages)?),
        };
        let share = share(buffer.len(), team.threads());
        let parts: Vec<_> = buffer.chunks_mut(share).take(team.threads()).map(Mutex::new).collect();
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
        let peak = best_of(settings, budget, |setting| match self.memory(setting.huge_pages) {
            Ok((team, parts)) => {
                let bytes = Mutex::new(0);
                let start = Instant::now();
                team.run(|index| with(&parts, index, |part| add(&bytes, movement.run(isa, part, setting))));
                total(bytes) / start.elapsed().as_secs_f64() / 1e9
            }
            Err(error) => {
                failed = Some(error);
                0.0
            }
        });
        failed.map_or(Ok(peak), Err)
    }

    fn level(&mut self, (level, bytes): (u32, usize), budget: Duration) -> Result<Level, PeaksError> {
        let mut best = |movement: Movement| -> Result<Spread, PeaksError> {
            let isa = self.plan.isa;
            let huge_pages = self.plan.system.huge_pages;
            let (team, parts) = self.memory(huge_pages)?;
            // Long enough that starting the threads does not count.
            let passes = ((16 << 20) / bytes).clamp(1, 1 << 12);
            let peak = best_of(movement.settings_in_cache(huge_pages), budget, |setting| {
                let moved = Mutex::new(0);
                let start = Instant::now();
                team.run(|index| {
                    with(&parts, index, |part| {
                        let length = (bytes / 4).min(part.len());
                        let sum = (0..passes).map(|_| movement.run(isa, &mut part[..length], setting)).sum();
                        add(&moved, sum);
                    });
                });
                total(moved) / start.elapsed().as_secs_f64() / 1e9
            });
            Ok(peak.spread)
        };
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

    fn arithmetic(&self, budget: Duration, work: impl Fn(Isa) -> u64 + Sync) -> Peak {
        let isa = self.plan.isa;
        best_of(vec![Setting::PLAIN], budget, |_| {
            let operations = Mutex::new(0);
            let start = Instant::now();
            self.team.run(|_| add(&operations, work(isa)));
            total(operations) / start.elapsed().as_secs_f64() / 1e9
        })
    }
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

/// The setting with the best single run. All are tried in turn; after each round but the first the slower
/// half is dropped, and the last few go on until the time is up.
fn best_of(settings: Vec<Setting>, budget: Duration, mut run: impl FnMut(Setting) -> f64) -> Peak {
    const LAST: usize = 3;
    const RUNS: usize = 5;
    let deadline = Instant::now() + budget;
    let mut field: Vec<(Setting, Vec<f64>)> =
        settings.into_iter().map(|setting| (setting, Vec::new())).collect();
    let best = |runs: &[f64]| runs.iter().copied().fold(0.0, f64::max);
    for round in 0.. {
        for (at, (setting, runs)) in field.iter_mut().enumerate() {
            if Instant::now() >= deadline && (round, at) != (0, 0) {
                break;
            }
            runs.push(run(*setting));
        }
        field.sort_by(|(_, a), (_, b)| best(b).total_cmp(&best(a)));
        if round > 0 {
            field.truncate(LAST.max(field.len().div_ceil(2)));
        }
        if Instant::now() >= deadline {
            break;
        }
    }
    let (setting, mut runs) = field.into_iter().next().unwrap_or((Setting::PLAIN, Vec::new()));
    while runs.len() < RUNS {
        runs.push(run(setting));
    }
    Peak { setting, spread: Spread::of(&mut runs) }
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

    #[test]
    fn the_search_finds_the_best_setting_and_keeps_its_runs() {
        let mut calls = 0;
        let peak = best_of(settings(), Duration::from_millis(500), |setting| {
            calls += 1;
            std::thread::sleep(Duration::from_micros(20));
            if setting.streams == 6 && setting.prefetch == 512 && !setting.huge_pages { 30.0 } else { 10.0 }
        });
        assert_eq!((peak.setting.streams, peak.setting.prefetch, peak.setting.huge_pages), (6, 512, false));
        assert_eq!(peak.spread.best, 30.0);
        assert!(peak.spread.runs >= 5 && calls > settings().len());
    }

    #[test]
    fn a_slow_machine_still_gets_an_answer_from_as_few_runs_as_can_be() {
        let mut calls = 0;
        let peak = best_of(settings(), Duration::from_millis(1), |_| {
            calls += 1;
            std::thread::sleep(Duration::from_millis(2));
            5.0
        });
        assert_eq!((peak.spread.best, peak.spread.median), (5.0, 5.0));
        assert_eq!(calls, 5);
    }

    #[test]
    fn every_movement_counts_the_bytes_of_its_arrays() {
        let mut memory = vec![1f32; 1 << 20];
        for (movement, arrays) in [(Movement::Read, 1), (Movement::Copy, 2), (Movement::Triad, 3)] {
            for setting in movement.settings(false) {
                let bytes = movement.run(Isa::detect(), &mut memory, setting) as usize;
                assert!(bytes <= 4 << 20 && bytes > (4 << 20) * 8 / 10, "{movement:?} {bytes}");
                assert_eq!(bytes % (4 * arrays), 0);
            }
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
