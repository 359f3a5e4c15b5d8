//! Memory for measurements: mapped directly, with or without huge pages, and not touched before the thread
//! that uses it.

use std::ops::{Deref, DerefMut};

use super::MachineError;

/// Size of a huge page in bytes; buffers are multiples of it.
pub(super) const HUGE_PAGE: usize = 2 << 20;

/// Zeroed f32 values at a multiple of [`HUGE_PAGE`].
pub(super) struct Buffer {
    #[cfg(unix)]
    map: (*mut libc::c_void, usize),
    #[cfg(not(unix))]
    #[expect(dead_code, reason = "it owns the memory that `start` points into")]
    storage: Vec<f32>,
    start: *mut f32,
    length: usize,
}

// SAFETY: the buffer owns its memory, as a `Vec` does.
unsafe impl Send for Buffer {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Allocates `bytes` of memory, rounded up to whole huge pages.
    #[cfg(unix)]
    pub fn new(bytes: usize, huge: bool) -> Result<Buffer, MachineError> {
        let out_of_memory = || MachineError::Memory { bytes };
        let length = bytes.checked_next_multiple_of(HUGE_PAGE).ok_or_else(out_of_memory)?;
        let mapped = length.checked_add(HUGE_PAGE).ok_or_else(out_of_memory)?;
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new private mapping at an address that the kernel chooses affects no other memory.
        let map = unsafe { libc::mmap(std::ptr::null_mut(), mapped, protection, flags, -1, 0) };
        if map == libc::MAP_FAILED {
            return Err(out_of_memory());
        }
        let start = map.wrapping_byte_add(map.align_offset(HUGE_PAGE).min(HUGE_PAGE)).cast::<f32>();
        #[cfg(target_os = "linux")]
        {
            let advice = if huge { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
            // SAFETY: `start .. start + length` is inside the mapping above, and the advice does not change
            // its content. A failure leaves the pages unchanged.
            unsafe { libc::madvise(start.cast(), length, advice) };
        }
        #[cfg(not(target_os = "linux"))]
        let _ = huge;
        Ok(Buffer { map: (map, mapped), start, length: length / 4 })
    }

    /// Allocates `bytes` of memory, rounded up to whole huge pages.
    #[cfg(not(unix))]
    pub fn new(bytes: usize, _: bool) -> Result<Buffer, MachineError> {
        let out_of_memory = || MachineError::Memory { bytes };
        let length = bytes.checked_next_multiple_of(HUGE_PAGE).ok_or_else(out_of_memory)? / 4;
        let mut storage: Vec<f32> = Vec::new();
        storage.try_reserve_exact(length).map_err(|_| out_of_memory())?;
        storage.resize(length, 0.0);
        let start = storage.as_mut_ptr();
        Ok(Buffer { storage, start, length })
    }
}

impl Buffer {
    /// Returns the memory as bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the bytes of `length` initialized f32, borrowed from `self`.
        unsafe { std::slice::from_raw_parts(self.start.cast(), 4 * self.length) }
    }
}

impl Deref for Buffer {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        // SAFETY: `new` created `length` zeroed values at `start`, which live as long as `self`.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        // SAFETY: as above, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.length) }
    }
}

#[cfg(unix)]
impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: address and length are those of the mapping that `new` created, and nothing borrows it any more.
        unsafe { libc::munmap(self.map.0, self.map.1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_zeroed_aligned_and_writable() {
        for huge in [false, true] {
            let mut buffer = Buffer::new(3 << 20, huge).unwrap();
            assert_eq!(buffer.len() * 4, 4 << 20);
            assert!(cfg!(not(unix)) || buffer.as_ptr().addr().is_multiple_of(HUGE_PAGE));
            assert!(buffer.iter().all(|value| *value == 0.0));
            buffer.fill(1.0);
            assert_eq!(buffer.iter().sum::<f32>(), buffer.len() as f32);
        }
    }

    #[test]
    fn out_of_memory_errors_contain_the_requested_size() {
        for bytes in [usize::MAX, usize::MAX / 2, 1 << 60] {
            assert!(
                matches!(Buffer::new(bytes, false), Err(MachineError::Memory { bytes: found }) if found == bytes)
            );
        }
    }
}
