//! A team and memory for the kernels under test, set up as the roofs were measured: pinned threads, huge
//! pages, first touched by the threads that use them.

use std::sync::Mutex;

use super::buffer::Buffer;
use super::measure::{cpus, on_a_thread_of_its_own, share, with};
use super::system::{System, pin};
use super::{PeaksError, Placement};
use roofline_kernels::ThreadPool;
use roofline_kernels::isa::Isa;

/// Threads that keep their place, and memory filled with one byte.
pub struct Arena {
    team: ThreadPool,
    buffer: Buffer,
    /// Where the first thread of the team belongs.
    first: Vec<usize>,
    short: bool,
}

impl Arena {
    /// `bytes` of memory, but never more than a quarter of what is free, all of it `pattern`.
    pub fn new(isa: Isa, threads: usize, bytes: usize, pattern: u8) -> Result<Arena, PeaksError> {
        let system = System::detect();
        let most = system.free_memory.map_or(bytes, |free| free / 4);
        let mut buffer = Buffer::new(bytes.min(most), system.huge_pages)?;
        let places = cpus(Placement::Packed, &system.cpus, threads);
        let first = places.first().cloned().unwrap_or_default();
        let team = ThreadPool::with_setup(isa, threads, move |index| {
            if let Some(place) = places.get(index) {
                pin(place);
            }
        })
        .map_err(PeaksError::Threads)?;
        let parts: Vec<_> = buffer.chunks_mut(share(bytes.min(most) / 4, threads)).map(Mutex::new).collect();
        let value = f32::from_ne_bytes([pattern; 4]);
        team.run(|index| {
            for part in (index..parts.len()).step_by(threads) {
                with(&parts, part, |part| part.fill(value));
            }
        });
        drop(parts);
        Ok(Arena { team, buffer, first, short: bytes > most })
    }

    /// Less memory than was asked for.
    pub fn is_short(&self) -> bool {
        self.short
    }

    /// The memory.
    pub fn bytes(&self) -> &[u8] {
        self.buffer.bytes()
    }

    /// The same memory as numbers.
    pub fn floats(&self) -> &[f32] {
        &self.buffer
    }

    /// Runs `work` on the first thread of the team, where it belongs.
    pub fn with_team<T: Send>(&self, work: impl FnOnce(&ThreadPool) -> T + Send) -> Result<T, PeaksError> {
        on_a_thread_of_its_own(|| {
            pin(&self.first);
            work(&self.team)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arena_is_filled_and_its_team_runs() {
        let arena = Arena::new(Isa::SCALAR, 2, 5 << 20, 0x3c).unwrap();
        assert!(arena.bytes().len() >= 5 << 20 && arena.bytes().iter().all(|byte| *byte == 0x3c));
        assert_eq!(arena.with_team(|team| team.threads()).unwrap(), 2);
    }
}
