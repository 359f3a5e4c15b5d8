//! Thread pool and memory for benchmarks, set up as for the roofs: pinned threads and huge pages that are
//! first touched by the threads that use them.

use std::sync::Mutex;

use super::buffer::Buffer;
use super::measure::{cpus, on_separate_thread, share, with};
use super::system::{System, pin};
use super::{MachineError, Placement};
use roofline_kernels::ThreadPool;
use roofline_kernels::isa::Isa;

/// Pinned thread pool, and memory filled with one byte.
pub struct Arena {
    pool: ThreadPool,
    buffer: Buffer,
    /// CPUs of the first thread.
    first: Vec<usize>,
    short: bool,
}

impl Arena {
    /// Allocates `bytes` of memory, at most a quarter of the free memory, and fills it with `pattern`.
    ///
    /// # Errors
    ///
    /// Fails if memory or threads are unavailable.
    pub fn new(isa: Isa, threads: usize, bytes: usize, pattern: u8) -> Result<Arena, MachineError> {
        let system = System::detect();
        let max = system.free_memory.map_or(bytes, |free| free / 4);
        let mut buffer = Buffer::new(bytes.min(max), system.huge_pages)?;
        let places = cpus(Placement::Packed, &system.cpus, threads);
        let first = places.first().cloned().unwrap_or_default();
        let pool = ThreadPool::with_setup(isa, threads, move |index| {
            if let Some(place) = places.get(index) {
                pin(place);
            }
        })
        .map_err(MachineError::Threads)?;
        let parts: Vec<_> = buffer.chunks_mut(share(bytes.min(max) / 4, threads)).map(Mutex::new).collect();
        let value = f32::from_ne_bytes([pattern; 4]);
        pool.run(|index| {
            for part in (index..parts.len()).step_by(threads) {
                with(&parts, part, |part| part.fill(value));
            }
        });
        drop(parts);
        Ok(Arena { pool, buffer, first, short: bytes > max })
    }

    /// Returns true if there is less memory than requested.
    pub fn is_short(&self) -> bool {
        self.short
    }

    /// Returns the memory as bytes.
    pub fn bytes(&self) -> &[u8] {
        self.buffer.bytes()
    }

    /// Returns the memory as `f32` values.
    pub fn floats(&self) -> &[f32] {
        &self.buffer
    }

    /// Runs `work` on a thread that is pinned like the first thread of the pool.
    ///
    /// # Errors
    ///
    /// Fails if the thread cannot be started.
    pub fn with_pool<T: Send>(&self, work: impl FnOnce(&ThreadPool) -> T + Send) -> Result<T, MachineError> {
        on_separate_thread(|| {
            pin(&self.first);
            work(&self.pool)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arenas_are_filled_and_their_threads_run() {
        let arena = Arena::new(Isa::SCALAR, 2, 5 << 20, 0x3c).unwrap();
        assert!(arena.bytes().len() >= 5 << 20 && arena.bytes().iter().all(|byte| *byte == 0x3c));
        assert_eq!(arena.with_pool(|pool| pool.threads()).unwrap(), 2);
    }
}
