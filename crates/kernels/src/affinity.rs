//! CPU affinity of the workers.
//!
//! The scheduler may wake a worker on the CPU of the thread that called the pool: the two threads alternate, so neither looks busy.
//! They would then run one after the other for milliseconds instead of in parallel.

/// The CPU a worker last ran on.
#[derive(Default)]
pub(super) struct Affinity {
    #[cfg(target_os = "linux")]
    linux: linux::Affinity,
}

impl Affinity {
    /// Records the current CPU. Called by the worker.
    pub(super) fn record_cpu(&self) {
        #[cfg(target_os = "linux")]
        self.linux.record_cpu();
    }

    /// Excludes the caller's CPU from the worker's affinity mask if the worker last ran there. Called before waking the worker.
    pub(super) fn avoid_caller_cpu(&self) {
        #[cfg(target_os = "linux")]
        self.linux.avoid_caller_cpu();
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::sync::atomic::{AtomicI32, Ordering};

    #[derive(Default)]
    pub(super) struct Affinity {
        /// Kernel thread id of the worker; 0 before it has started.
        thread: AtomicI32,
        cpu: AtomicI32,
    }

    impl Affinity {
        pub(super) fn record_cpu(&self) {
            if self.thread.load(Ordering::Relaxed) == 0 {
                // SAFETY: `gettid` has no arguments and always succeeds.
                self.thread.store(unsafe { libc::gettid() }, Ordering::Relaxed);
            }
            self.cpu.store(current_cpu(), Ordering::Relaxed);
        }

        pub(super) fn avoid_caller_cpu(&self) {
            let (thread, cpu) = (self.thread.load(Ordering::Relaxed), current_cpu());
            if thread == 0 || cpu < 0 || self.cpu.load(Ordering::Relaxed) != cpu {
                return;
            }
            // SAFETY: a `cpu_set_t` is an array of integers, for which all zeros is a valid value.
            let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
            // SAFETY: the size passed is that of `set`; thread 0 is the calling thread.
            if unsafe { libc::sched_getaffinity(0, size_of_val(&set), &mut set) } != 0 {
                return;
            }
            // SAFETY: `cpu` is not negative, and the macro checks the upper bound.
            unsafe { libc::CPU_CLR(cpu as usize, &mut set) };
            // SAFETY: `CPU_COUNT` only reads `set`.
            if unsafe { libc::CPU_COUNT(&set) } > 0 {
                // SAFETY: the size passed is that of `set`. If the thread has ended, the call fails, which is harmless.
                unsafe { libc::sched_setaffinity(thread, size_of_val(&set), &set) };
            }
        }
    }

    /// The CPU running the calling thread; negative if the system does not report it.
    fn current_cpu() -> i32 {
        // SAFETY: `sched_getcpu` has no arguments.
        unsafe { libc::sched_getcpu() }
    }
}
