//! On which processor a worker sits. A system may wake it on that of the thread which called, since both sleep by turns and neither
//! looks busy: they would then work one after the other for milliseconds.

/// The place of one worker.
#[derive(Default)]
pub(super) struct Seat {
    #[cfg(target_os = "linux")]
    linux: linux::Seat,
}

impl Seat {
    /// The worker notes where it is.
    pub(super) fn note(&self) {
        #[cfg(target_os = "linux")]
        self.linux.note();
    }

    /// The thread that calls sends the worker, which sleeps or is about to, elsewhere if it sat here.
    pub(super) fn clear(&self) {
        #[cfg(target_os = "linux")]
        self.linux.clear();
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::sync::atomic::{AtomicI32, Ordering};

    #[derive(Default)]
    pub(super) struct Seat {
        /// The worker's number in the system; 0 before it has started.
        thread: AtomicI32,
        processor: AtomicI32,
    }

    impl Seat {
        pub(super) fn note(&self) {
            if self.thread.load(Ordering::Relaxed) == 0 {
                // SAFETY: it takes nothing and always succeeds.
                self.thread.store(unsafe { libc::gettid() }, Ordering::Relaxed);
            }
            self.processor.store(here(), Ordering::Relaxed);
        }

        pub(super) fn clear(&self) {
            let (thread, here) = (self.thread.load(Ordering::Relaxed), here());
            if thread == 0 || here < 0 || self.processor.load(Ordering::Relaxed) != here {
                return;
            }
            // SAFETY: a `cpu_set_t` is an array of integers, for which zeros are a value.
            let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
            // SAFETY: the set is as long as is said; 0 is the thread that calls.
            if unsafe { libc::sched_getaffinity(0, size_of_val(&set), &mut set) } != 0 {
                return;
            }
            // SAFETY: a processor of this system is in the set; the macro checks its bounds.
            unsafe { libc::CPU_CLR(here as usize, &mut set) };
            // SAFETY: it only counts.
            if unsafe { libc::CPU_COUNT(&set) } > 0 {
                // SAFETY: as above; a thread that has ended is an error that nobody has to know of.
                unsafe { libc::sched_setaffinity(thread, size_of_val(&set), &set) };
            }
        }
    }

    /// The processor that runs this; negative where the system does not tell.
    fn here() -> i32 {
        // SAFETY: it takes nothing.
        unsafe { libc::sched_getcpu() }
    }
}
