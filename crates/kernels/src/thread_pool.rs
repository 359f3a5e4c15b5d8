//! Thread pool with persistent workers: a matrix-vector product takes microseconds, starting a thread takes tens of them.
//!
//! On a busy machine a worker may be descheduled for milliseconds. [`ThreadPool::for_each`] therefore assigns items statically, so that
//! a thread touches the same memory on every call, and lets idle threads steal items. A worker that wakes up after all items are taken
//! is not waited for.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, Thread};

use super::affinity::Affinity;
use crate::isa::Isa;

/// Polls before a waiting thread parks. This takes tens of microseconds: longer than the gap between two products of a model, short
/// enough to release the core soon.
const SPINS: usize = 2_000;

/// A thread pool for kernels of one instruction set. The calling thread does a share of the work.
pub struct ThreadPool {
    isa: Isa,
    workers: Vec<Worker>,
    shared: Arc<Shared>,
}

struct Worker {
    handle: JoinHandle<()>,
    /// None if the setup function pins the worker.
    affinity: Option<Arc<Affinity>>,
}

struct Shared {
    state: Mutex<State>,
    /// Copy of `state.round` that workers poll without the lock.
    round: AtomicUsize,
    /// Workers that must finish before the round ends.
    busy: AtomicUsize,
    /// A worker panicked in this round.
    panicked: AtomicBool,
    /// Serializes rounds.
    running: Mutex<()>,
}

struct State {
    round: usize,
    task: Task,
}

#[derive(Clone)]
enum Task {
    /// No work, or no longer any.
    None,
    /// Every worker runs the job and is waited for.
    All(Job),
    /// Workers that wake up in time run the job.
    Some(Job),
    /// The workers exit.
    Exit,
}

#[derive(Clone)]
struct Job {
    work: &'static (dyn Fn(usize) + Sync),
    caller: Thread,
}

impl ThreadPool {
    /// Creates a pool of `threads` threads (at least one), including the caller.
    pub fn new(isa: Isa, threads: usize) -> std::io::Result<ThreadPool> {
        ThreadPool::with_workers(isa, threads, true, |_| ())
    }

    /// Like [`ThreadPool::new`], but each worker first runs `setup` with its index, for example to pin itself to a CPU.
    pub fn with_setup(
        isa: Isa,
        threads: usize,
        setup: impl Fn(usize) + Send + Sync + 'static,
    ) -> std::io::Result<ThreadPool> {
        ThreadPool::with_workers(isa, threads, false, setup)
    }

    fn with_workers(
        isa: Isa,
        threads: usize,
        avoid_caller: bool,
        setup: impl Fn(usize) + Send + Sync + 'static,
    ) -> std::io::Result<ThreadPool> {
        let setup = Arc::new(setup);
        let mut pool = ThreadPool::single(isa);
        for index in 1..threads {
            let (shared, setup) = (Arc::clone(&pool.shared), Arc::clone(&setup));
            let affinity = avoid_caller.then(Arc::<Affinity>::default);
            let own = affinity.clone();
            let name = format!("roofline-{index}");
            let handle = std::thread::Builder::new().name(name).spawn(move || {
                setup(index);
                shared.serve(index, own.as_deref());
            })?;
            pool.workers.push(Worker { handle, affinity });
        }
        Ok(pool)
    }

    /// Creates a pool that runs everything on the calling thread.
    pub fn single(isa: Isa) -> ThreadPool {
        let shared = Shared {
            state: Mutex::new(State { round: 0, task: Task::None }),
            round: AtomicUsize::new(0),
            busy: AtomicUsize::new(0),
            panicked: AtomicBool::new(false),
            running: Mutex::new(()),
        };
        ThreadPool { isa, workers: Vec::new(), shared: Arc::new(shared) }
    }

    /// Instruction set used by the kernels.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Number of threads, including the caller.
    pub fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// Range of rows assigned to thread `index` of `threads`. Shares are contiguous and in order; if the rows do not divide evenly, the
    /// last shares are one row longer.
    pub fn share(rows: usize, threads: usize, index: usize) -> Range<usize> {
        let (length, left) = (rows / threads, rows % threads);
        let start = |index: usize| length * index + index.saturating_sub(threads - left);
        start(index)..start(index + 1)
    }

    /// Runs `work` once on each thread with the thread's index and waits for all of them.
    ///
    /// # Panics
    ///
    /// Panics if `work` panics on any thread.
    pub fn run(&self, work: impl Fn(usize) + Sync) {
        self.run_round(&work, Task::All);
    }

    /// Runs `work` once on every item. Thread `i` of `n` starts with the `i`th of `n` equal shares and then steals from the others.
    ///
    /// # Panics
    ///
    /// Panics if `work` panics on any thread.
    pub fn for_each<T: Send>(&self, items: Vec<T>, work: impl Fn(T) + Sync) {
        if self.workers.is_empty() {
            return items.into_iter().for_each(work);
        }
        let threads = self.threads();
        let shares: Vec<(Range<usize>, AtomicUsize)> = (0..threads)
            .map(|index| ThreadPool::share(items.len(), threads, index))
            .map(|share| (share.clone(), AtomicUsize::new(share.start)))
            .collect();
        let items: Vec<Mutex<Option<T>>> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
        let take = |(share, next): &(Range<usize>, AtomicUsize)| {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let item = items.get(at).filter(|_| share.contains(&at))?;
            item.lock().unwrap_or_else(PoisonError::into_inner).take()
        };
        let work = |index: usize| {
            for share in shares.iter().cycle().skip(index).take(threads) {
                while let Some(item) = take(share) {
                    work(item);
                }
            }
        };
        self.run_round(&work, Task::Some);
    }

    fn run_round(&self, work: &(dyn Fn(usize) + Sync), task: fn(Job) -> Task) {
        if self.workers.is_empty() {
            return work(0);
        }
        let _one_at_a_time = self.shared.running.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: only the lifetime changes. A worker takes the reference only while `state` holds it and drops it before it
        // decrements `busy`. This function removes it from `state` and neither returns nor unwinds before `busy` is zero (see
        // below).
        let work: &'static (dyn Fn(usize) + Sync) = unsafe { std::mem::transmute(work) };
        self.shared.start(task(Job { work, caller: std::thread::current() }), &self.workers);
        let own = catch_unwind(AssertUnwindSafe(|| work(0)));
        let closed = {
            let mut state = self.shared.state();
            // Workers that are waited for may not have taken the job yet.
            let closed = !matches!(state.task, Task::All(_));
            if closed {
                state.task = Task::None;
            }
            closed
        };
        wait_until(|| self.shared.busy.load(Ordering::Acquire) == 0);
        if !closed {
            self.shared.state().task = Task::None;
        }
        let panicked = self.shared.panicked.swap(false, Ordering::Relaxed);
        if let Err(panic) = own {
            resume_unwind(panic);
        }
        assert!(!panicked, "a worker of the thread pool panicked");
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.shared.start(Task::Exit, &self.workers);
        for worker in self.workers.drain(..) {
            // A worker catches panics of its work, so `join` has no error to report.
            let _ = worker.handle.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self, task: Task, workers: &[Worker]) {
        let mut state = self.state();
        let awaited = if matches!(task, Task::All(_)) { workers.len() } else { 0 };
        self.busy.store(awaited, Ordering::Relaxed);
        *state = State { round: state.round.wrapping_add(1), task };
        self.round.store(state.round, Ordering::Release);
        drop(state);
        for worker in workers {
            if let Some(affinity) = &worker.affinity {
                affinity.avoid_caller_cpu();
            }
            worker.handle.thread().unpark();
        }
    }

    fn serve(&self, index: usize, affinity: Option<&Affinity>) {
        let mut last = 0;
        loop {
            if let Some(affinity) = affinity {
                affinity.record_cpu();
            }
            wait_until(|| self.round.load(Ordering::Acquire) != last);
            let Job { work, caller } = {
                let state = self.state();
                last = state.round;
                match state.task.clone() {
                    Task::None => continue,
                    Task::Exit => return,
                    Task::All(job) => job,
                    Task::Some(job) => {
                        // Under the lock, so that a caller that removes the job sees this worker as busy.
                        self.busy.fetch_add(1, Ordering::Relaxed);
                        job
                    }
                }
            };
            if catch_unwind(AssertUnwindSafe(|| work(index))).is_err() {
                self.panicked.store(true, Ordering::Relaxed);
            }
            self.busy.fetch_sub(1, Ordering::Release);
            caller.unpark();
        }
    }
}

/// Spins, then parks, until `done` returns true. The thread that makes `done` true must unpark this one afterwards.
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
    fn run_calls_every_thread_in_every_round() {
        let pool = ThreadPool::new(Isa::SCALAR, 3).unwrap();
        let counts = [const { AtomicUsize::new(0) }; 3];
        for round in 1..=200 {
            pool.run(|index| {
                counts[index].fetch_add(1, Ordering::Relaxed);
            });
            assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == round));
        }
    }

    #[test]
    fn for_each_visits_every_item_once() {
        let pool = ThreadPool::new(Isa::SCALAR, 3).unwrap();
        for count in (0..20).chain([1000]) {
            let seen: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
            // Alternate both kinds of rounds: a late worker must not mistake the next round for its own.
            pool.for_each((0..count).collect(), |item: usize| {
                seen[item].fetch_add(1, Ordering::Relaxed);
            });
            assert!(seen.iter().all(|count| count.load(Ordering::Relaxed) == 1));
            let rounds = AtomicUsize::new(0);
            pool.run(|_| {
                rounds.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(rounds.into_inner(), 3);
        }
    }

    #[test]
    fn for_each_propagates_panics() {
        let pool = ThreadPool::new(Isa::SCALAR, 2).unwrap();
        let run =
            catch_unwind(AssertUnwindSafe(|| pool.for_each(vec![1, 2, 3, 4], |item| assert_ne!(item, 3))));
        assert!(run.is_err());
    }

    #[test]
    fn run_propagates_panics_and_the_pool_stays_usable() {
        let pool = ThreadPool::new(Isa::SCALAR, 2).unwrap();
        for bad in 0..2 {
            let run = catch_unwind(AssertUnwindSafe(|| pool.run(|index| assert_ne!(index, bad))));
            assert!(run.is_err());
        }
        let done = AtomicUsize::new(0);
        pool.run(|_| {
            done.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(done.into_inner(), 2);
    }
}
