//! Threads that stay: a matrix-vector product takes microseconds, starting a thread tens of them.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, Thread};

use crate::isa::Isa;

/// How often a waiting thread looks again before it sleeps: some tens of microseconds,
/// longer than the gap between two products of a model, and short enough to leave the core to others.
const SPINS: usize = 2_000;

/// An instruction set and the threads to use it with. The thread that calls is one of them.
pub struct Team {
    isa: Isa,
    workers: Vec<JoinHandle<()>>,
    shared: Arc<Shared>,
}

struct Shared {
    /// The work of this round; `None` ends the workers.
    job: Mutex<Option<Job>>,
    /// Counts the rounds; a worker starts when it changes.
    round: AtomicUsize,
    /// Workers still busy in this round.
    busy: AtomicUsize,
    /// A worker's share of the work panicked.
    panicked: AtomicBool,
    /// Allows one round at a time.
    running: Mutex<()>,
}

#[derive(Clone)]
struct Job {
    work: &'static (dyn Fn(usize) + Sync),
    caller: Thread,
}

impl Team {
    /// A team of `threads` threads (at least one), the caller included.
    pub fn new(isa: Isa, threads: usize) -> std::io::Result<Team> {
        Team::with_setup(isa, threads, |_| ())
    }

    /// A team whose threads, all but the caller, first run `setup` with their index.
    pub fn with_setup(
        isa: Isa,
        threads: usize,
        setup: impl Fn(usize) + Send + Sync + 'static,
    ) -> std::io::Result<Team> {
        let setup = Arc::new(setup);
        let mut team = Team::single(isa);
        for index in 1..threads {
            let (shared, setup) = (Arc::clone(&team.shared), Arc::clone(&setup));
            let name = format!("roofline-{index}");
            team.workers.push(std::thread::Builder::new().name(name).spawn(move || {
                setup(index);
                shared.serve(index);
            })?);
        }
        Ok(team)
    }

    /// The caller alone.
    pub fn single(isa: Isa) -> Team {
        let shared = Shared {
            job: Mutex::new(None),
            round: AtomicUsize::new(0),
            busy: AtomicUsize::new(0),
            panicked: AtomicBool::new(false),
            running: Mutex::new(()),
        };
        Team { isa, workers: Vec::new(), shared: Arc::new(shared) }
    }

    /// The instruction set its kernels use.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// How many threads it has, the caller included.
    pub fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// The rows that thread `index` of `threads` takes: shares follow each other, and the last ones are a row longer where
    /// the rows don't divide evenly.
    pub fn share(rows: usize, threads: usize, index: usize) -> Range<usize> {
        let (length, left) = (rows / threads, rows % threads);
        let start = |index: usize| length * index + index.saturating_sub(threads - left);
        start(index)..start(index + 1)
    }

    /// Runs `work` once on each thread, with the thread's index, and waits for all.
    pub fn run(&self, work: impl Fn(usize) + Sync) {
        if self.workers.is_empty() {
            return work(0);
        }
        let _one_at_a_time = self.shared.running.lock().unwrap_or_else(PoisonError::into_inner);
        let work: &(dyn Fn(usize) + Sync) = &work;
        // SAFETY: only the lifetime changes. No worker keeps the reference after it has counted itself out
        // of `busy`, and this function does not return or unwind before `busy` is zero (see below).
        let work: &'static (dyn Fn(usize) + Sync) = unsafe { std::mem::transmute(work) };
        self.shared.start(Some(Job { work, caller: std::thread::current() }), &self.workers);
        let own = catch_unwind(AssertUnwindSafe(|| work(0)));
        wait_until(|| self.shared.busy.load(Ordering::Acquire) == 0);
        let panicked = self.shared.panicked.swap(false, Ordering::Relaxed);
        if let Err(panic) = own {
            resume_unwind(panic);
        }
        assert!(!panicked, "a thread of the team panicked");
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.shared.start(None, &self.workers);
        for worker in self.workers.drain(..) {
            // A worker catches the panics of its work; there is nothing else it could report.
            let _ = worker.join();
        }
    }
}

impl Shared {
    fn start(&self, job: Option<Job>, workers: &[JoinHandle<()>]) {
        *self.job.lock().unwrap_or_else(PoisonError::into_inner) = job;
        self.busy.store(workers.len(), Ordering::Relaxed);
        self.round.fetch_add(1, Ordering::Release);
        for worker in workers {
            worker.thread().unpark();
        }
    }

    fn serve(&self, index: usize) {
        let mut last = 0;
        loop {
            wait_until(|| self.round.load(Ordering::Acquire) != last);
            last = last.wrapping_add(1);
            let Some(job) = self.job.lock().unwrap_or_else(PoisonError::into_inner).clone() else { return };
            let Job { work, caller } = job;
            if catch_unwind(AssertUnwindSafe(|| work(index))).is_err() {
                self.panicked.store(true, Ordering::Relaxed);
            }
            self.busy.fetch_sub(1, Ordering::Release);
            caller.unpark();
        }
    }
}

/// Spins for a while, then sleeps until unparked; whoever makes `done` true unparks this thread after.
fn wait_until(done: impl Fn() -> bool) {
    for _ in 0..SPINS {
        if done() {
            return;
        }
        std::hint::spin_loop();
    }
    while !done() {
        std::thread::park();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_does_its_share_in_every_round() {
        let team = Team::new(Isa::SCALAR, 3).unwrap();
        let counts = [const { AtomicUsize::new(0) }; 3];
        for round in 1..=200 {
            team.run(|index| {
                counts[index].fetch_add(1, Ordering::Relaxed);
            });
            assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == round));
        }
    }

    #[test]
    fn a_panic_in_any_thread_reaches_the_caller_and_the_team_goes_on() {
        let team = Team::new(Isa::SCALAR, 2).unwrap();
        for bad in 0..2 {
            let run = catch_unwind(AssertUnwindSafe(|| team.run(|index| assert_ne!(index, bad))));
            assert!(run.is_err());
        }
        let done = AtomicUsize::new(0);
        team.run(|_| {
            done.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(done.into_inner(), 2);
    }
}
