//! Weights without a pattern, in huge pages where there are any.

use half::{bf16, f16};
use llama_cpp_sys_2 as ggml;
use roofline::kernels::{BlockMxfp4, Matrix, Weight};

/// A format that ggml has too.
pub trait Stored: Weight {
    /// Its number.
    const GGML: ggml::ggml_type;

    /// Makes ordinary weights of any bytes.
    fn tame(block: &mut [u8], state: u64);
}

/// Block formats with f16 scales at these places.
#[macro_export]
macro_rules! impl_stored {
    ($($type:ty, $ggml:ident, $places:expr;)*) => {$(
        impl $crate::weights::Stored for $type {
            const GGML: ggml::ggml_type = ggml::$ggml;

            fn tame(block: &mut [u8], state: u64) {
                for place in $places {
                    let scale = f16::from_f32(0.001 + (state >> 40 & 7) as f32 * 0.0001);
                    block[place..place + 2].copy_from_slice(&scale.to_le_bytes());
                }
            }
        }
    )*};
}

impl Stored for BlockMxfp4 {
    const GGML: ggml::ggml_type = ggml::GGML_TYPE_MXFP4;

    fn tame(block: &mut [u8], state: u64) {
        block[0] = 120 + (state >> 40 & 3) as u8;
    }
}

/// A number between -1 and 1.
fn unit(state: u64) -> f32 {
    (state >> 40) as f32 / (1 << 23) as f32 - 1.0
}

impl Stored for f16 {
    const GGML: ggml::ggml_type = ggml::GGML_TYPE_F16;

    fn tame(block: &mut [u8], state: u64) {
        block.copy_from_slice(&f16::from_f32(unit(state)).to_le_bytes());
    }
}

impl Stored for bf16 {
    const GGML: ggml::ggml_type = ggml::GGML_TYPE_BF16;

    fn tame(block: &mut [u8], state: u64) {
        block.copy_from_slice(&bf16::from_f32(unit(state)).to_le_bytes());
    }
}

impl Stored for f32 {
    const GGML: ggml::ggml_type = ggml::GGML_TYPE_F32;

    fn tame(block: &mut [u8], state: u64) {
        block.copy_from_slice(&unit(state).to_le_bytes());
    }
}

/// A matrix of weights.
pub struct Weights<T: 'static> {
    bytes: &'static mut [u8],
    data: &'static [T],
    pub rows: usize,
    pub columns: usize,
}

impl<T: Stored> Weights<T> {
    pub fn new(rows: usize, columns: usize) -> Weights<T> {
        let length = rows * columns / T::WEIGHTS * size_of::<T>();
        let layout = layout(length);
        // SAFETY: the size is not zero. The memory lives until this is dropped.
        let start = unsafe { std::alloc::alloc_zeroed(layout) };
        assert!(!start.is_null(), "no memory for {length} bytes");
        // SAFETY: the range was allocated above; the advice changes no content.
        unsafe { libc::madvise(start.cast(), length, libc::MADV_HUGEPAGE) };
        // SAFETY: all bytes are zeros, and nothing else refers to them.
        let bytes = unsafe { std::slice::from_raw_parts_mut(start, length) };
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state
        };
        for block in bytes.chunks_mut(size_of::<T>()) {
            for few in block.chunks_mut(4) {
                let any = (next() >> 32).to_le_bytes();
                few.copy_from_slice(&any[..few.len()]);
            }
            T::tame(block, next());
        }
        // SAFETY: the bytes are initialized and live as long as this, which changes them no more.
        let data = unsafe { std::slice::from_raw_parts(start, length) };
        let data = Matrix::<T>::from_bytes(data, rows, columns).expect("aligned to pages").data();
        Weights { bytes, data, rows, columns }
    }

    pub fn data(&self) -> &[T] {
        self.data
    }

    pub fn matrix(&self) -> Matrix<'_, T> {
        Matrix::new(self.data, self.rows, self.columns).expect("the shape it was made with")
    }

    pub fn bytes(&self) -> usize {
        size_of_val(self.data)
    }

    pub fn floats(&self) -> &[f32] {
        // SAFETY: aligned to pages, and any bytes are floats.
        unsafe { std::slice::from_raw_parts(self.data.as_ptr().cast(), self.bytes() / 4) }
    }
}

fn layout(length: usize) -> std::alloc::Layout {
    std::alloc::Layout::from_size_align(length, 2 << 20).expect("a small alignment")
}

impl<T> Drop for Weights<T> {
    fn drop(&mut self) {
        let layout = layout(self.bytes.len());
        // SAFETY: allocated in `new` with this layout; nothing borrows it any more.
        unsafe { std::alloc::dealloc(self.bytes.as_mut_ptr(), layout) };
    }
}
