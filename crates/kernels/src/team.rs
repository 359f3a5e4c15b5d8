//! Threads that stay: a matrix-vector product takes microseconds, starting a thread tens of them.
//!
//! On a busy machine a thread may be away for milliseconds. Work that comes in parts is therefore shared out in advance, so that
//! a thread meets the same part of memory every time, and who is done takes over parts of others. A thread that comes only when
//! nothing is left is not waited for.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, Thread};

use super::seat::Seat;
use crate::isa::Isa;

/// How often a waiting thread looks again before it sleeps: some tens of microseconds,
/// longer than the gap between two products of a model, and short enough to leave the core to others.
const SPINS: usize = 2_000;

/// An instruction set and the threads to use it with. The thread that calls is one of them.
pub struct Team {
    isa: Isa,
    workers: Vec<Worker>,
    shared: Arc<Shared>,
}

struct Worker {
    handle: JoinHandle<()>,
    /// None where the setup says where it sits.
    seat: Option<Arc<Seat>>,
}

struct Shared {
    /// The work of this round.
    state: Mutex<State>,
    /// Counts the rounds; a worker looks at the state when it changes.
    round: AtomicUsize,
    /// Workers still busy in this round, or still awaited.
    busy: AtomicUsize,
    /// A worker's share of the work panicked.
    panicked: AtomicBool,
    /// Allows one round at a time.
    running: Mutex<()>,
}

struct State {
    /// Which round it is.
    round: usize,
    task: Task,
}

#[derive(Clone)]
enum Task {
    /// Nothing, or nothing any more.
    None,
    /// Every worker does it, and is awaited.
    All(Job),
    /// Workers that come in time do it.
    Some(Job),
    /// The workers end.
    End,
}

#[derive(Clone)]
struct Job {
    work: &'static (dyn Fn(usize) + Sync),
    caller: Thread,
}

impl Team {
    /// A team of `threads` threads (at least one), the caller included.
    pub fn new(isa: Isa, threads: usize) -> std::io::Result<Team> {
        Team::make(isa, threads, true, |_| ())
    }

    /// A team whose threads, all but the caller, first run `setup` with their index. It may say on which processor they run.
    pub fn with_setup(
        isa: Isa,
        threads: usize,
        setup: impl Fn(usize) + Send + Sync + 'static,
    ) -> std::io::Result<Team> {
        Team::make(isa, threads, false, setup)
    }

    fn make(
        isa: Isa,
        threads: usize,
        seated: bool,
        setup: impl Fn(usize) + Send + Sync + 'static,
    ) -> std::io::Result<Team> {
        let setup = Arc::new(setup);
        let mut team = Team::single(isa);
        for index in 1..threads {
            let (shared, setup) = (Arc::clone(&team.shared), Arc::clone(&setup));
            let seat = seated.then(Arc::<Seat>::default);
            let own = seat.clone();
            let name = format!("roofline-{index}");
            let handle = std::thread::Builder::new().name(name).spawn(move || {
                setup(index);
                shared.serve(index, own.as_deref());
            })?;
            team.workers.push(Worker { handle, seat });
        }
        Ok(team)
    }

    /// The caller alone.
    pub fn single(isa: Isa) -> Team {
        let shared = Shared {
            state: Mutex::new(State { round: 0, task: Task::None }),
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
        self.round(&work, Task::All);
    }

    /// Runs `work` on every item, once. Thread `i` of `n` begins with the `i`th of `n` equal shares of the items, and then takes
    /// over what is left of the others'.
    pub fn each<T: Send>(&self, items: Vec<T>, work: impl Fn(T) + Sync) {
        if self.workers.is_empty() {
            return items.into_iter().for_each(work);
        }
        let threads = self.threads();
        let shares: Vec<(Range<usize>, AtomicUsize)> = (0..threads)
            .map(|index| Team::share(items.len(), threads, index))
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
        self.round(&work, Task::Some);
    }

    /// One round of work on the workers and on the thread that calls.
    fn round(&self, work: &(dyn Fn(usize) + Sync), task: fn(Job) -> Task) {
        if self.workers.is_empty() {
            return work(0);
        }
        let _one_at_a_time = self.shared.running.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: only the lifetime changes. A worker takes the reference only while the state holds it, and keeps it no longer
        // than it counts itself as busy; this function takes it from the state and does not return or unwind before `busy` is
        // zero (see below).
        let work: &'static (dyn Fn(usize) + Sync) = unsafe { std::mem::transmute(work) };
        self.shared.start(task(Job { work, caller: std::thread::current() }), &self.workers);
        let own = catch_unwind(AssertUnwindSafe(|| work(0)));
        let closed = {
            let mut state = self.shared.state();
            // Workers that are awaited still have to find it.
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
        assert!(!panicked, "a thread of the team panicked");
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.shared.start(Task::End, &self.workers);
        for worker in self.workers.drain(..) {
            // A worker catches the panics of its work; there is nothing else it could report.
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
            if let Some(seat) = &worker.seat {
                seat.clear();
            }
            worker.handle.thread().unpark();
        }
    }

    fn serve(&self, index: usize, seat: Option<&Seat>) {
        let mut last = 0;
        loop {
            if let Some(seat) = seat {
                seat.note();
            }
            wait_until(|| self.round.load(Ordering::Acquire) != last);
            let Job { work, caller } = {
                let state = self.state();
                last = state.round;
                match state.task.clone() {
                    Task::None => continue,
                    Task::End => return,
                    Task::All(job) => job,
                    Task::Some(job) => {
                        // While the state is held: who takes the job from it finds this worker busy.
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
    fn every_item_is_worked_on_once_whoever_comes() {
        let team = Team::new(Isa::SCALAR, 3).unwrap();
        for count in (0..20).chain([1000]) {
            let seen: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
            // Rounds of both kinds in turn: a worker that comes late must not take the next round for its own.
            team.each((0..count).collect(), |item: usize| {
                seen[item].fetch_add(1, Ordering::Relaxed);
            });
            assert!(seen.iter().all(|count| count.load(Ordering::Relaxed) == 1));
            let rounds = AtomicUsize::new(0);
            team.run(|_| {
                rounds.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(rounds.into_inner(), 3);
        }
    }

    #[test]
    fn a_panic_over_an_item_reaches_the_caller() {
        let team = Team::new(Isa::SCALAR, 2).unwrap();
        let run = catch_unwind(AssertUnwindSafe(|| team.each(vec![1, 2, 3, 4], |item| assert_ne!(item, 3))));
        assert!(run.is_err());
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
