//! Random weights, in huge pages if available.

use half::{bf16, f16};
use llama_cpp_sys_2 as ggml;
use roofline::kernels::{BlockMxfp4, Matrix, Weight};

/// A weight format that ggml also supports.
pub trait GgmlFormat: Weight {
    /// ggml's type number.
    const GGML: ggml::ggml_type;

    /// Sets the scales of a block of random bytes, or the whole value of a float, to an ordinary magnitude.
    fn set_scales(block: &mut [u8], state: u64);
}

/// Implements [`GgmlFormat`] for block formats with f16 scales at the given offsets.
#[macro_export]
macro_rules! impl_ggml_format {
    ($($type:ty, $ggml:ident, $offsets:expr;)*) => {$(
        impl $crate::weights::GgmlFormat for $type {
            const GGML: ggml::ggml_type = ggml::$ggml;

            fn set_scales(block: &mut [u8], state: u64) {
                for offset in $offsets {
                    let scale = f16::from_f32(0.001 + (state >> 40 & 7) as f32 * 0.0001);
                    block[offset..offset + 2].copy_from_slice(&scale.to_le_bytes());
                }
            }
        }
    )*};
}

impl GgmlFormat for BlockMxfp4 {
    const GGML: ggml::ggml_type = ggml::GGML_TYPE_MXFP4;

    fn set_scales(block: &mut [u8], state: u64) {
        block[0] = 120 + (state >> 40 & 3) as u8;
    }
}

/// Maps random bits to a float between -1 and 1.
fn unit(state: u64) -> f32 {
    (state >> 40) as f32 / (1 << 23) as f32 - 1.0
}

impl GgmlFormat for f16 {
    const GGML: ggml::ggml_type = ggml::GGML_TYPE_F16;

    fn set_scales(block: &mut [u8], state: u64) {
        block.copy_from_slice(&f16::from_f32(unit(state)).to_le_bytes());
    }
}

impl GgmlFormat for bf16 {
    const GGML: ggml::ggml_type = ggml::GGML_TYPE_BF16;

    fn set_scales(block: &mut [u8], state: u64) {
        block.copy_from_slice(&bf16::from_f32(unit(state)).to_le_bytes());
    }
}

impl GgmlFormat for f32 {
    const GGML: ggml::ggml_type = ggml::GGML_TYPE_F32;

    fn set_scales(block: &mut [u8], state: u64) {
        block.copy_from_slice(&unit(state).to_le_bytes());
    }
}

/// A matrix of random weights.
pub struct Weights<T: 'static> {
    bytes: &'static mut [u8],
    data: &'static [T],
    pub rows: usize,
    pub columns: usize,
}

impl<T: GgmlFormat> Weights<T> {
    pub fn new(rows: usize, columns: usize) -> Weights<T> {
        let length = rows * columns / T::WEIGHTS * size_of::<T>();
        let layout = layout(length);
        // SAFETY: the size is not zero. `Drop` frees the memory.
        let start = unsafe { std::alloc::alloc_zeroed(layout) };
        assert!(!start.is_null(), "cannot allocate {length} bytes");
        // SAFETY: the range was allocated above; the advice does not change its contents.
        unsafe { libc::madvise(start.cast(), length, libc::MADV_HUGEPAGE) };
        // SAFETY: all bytes are initialized with zeros, and there is no other reference to them.
        let bytes = unsafe { std::slice::from_raw_parts_mut(start, length) };
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state
        };
        for block in bytes.chunks_mut(size_of::<T>()) {
            for chunk in block.chunks_mut(4) {
                let random = (next() >> 32).to_le_bytes();
                chunk.copy_from_slice(&random[..chunk.len()]);
            }
            T::set_scales(block, next());
        }
        // SAFETY: the bytes are initialized, live as long as `self` and are not modified any more.
        let data = unsafe { std::slice::from_raw_parts(start, length) };
        let data = Matrix::<T>::from_bytes(data, rows, columns).expect("memory is page-aligned").data();
        Weights { bytes, data, rows, columns }
    }

    pub fn data(&self) -> &[T] {
        self.data
    }

    pub fn matrix(&self) -> Matrix<'_, T> {
        Matrix::new(self.data, self.rows, self.columns).expect("shape was checked in new")
    }

    pub fn bytes(&self) -> usize {
        size_of_val(self.data)
    }

    pub fn floats(&self) -> &[f32] {
        // SAFETY: the memory is page-aligned, and any bytes are valid floats.
        unsafe { std::slice::from_raw_parts(self.data.as_ptr().cast(), self.bytes() / 4) }
    }
}

fn layout(length: usize) -> std::alloc::Layout {
    std::alloc::Layout::from_size_align(length, 2 << 20).expect("alignment is a power of two")
}

impl<T> Drop for Weights<T> {
    fn drop(&mut self) {
        let layout = layout(self.bytes.len());
        // SAFETY: allocated in `new` with this layout and no longer borrowed.
        unsafe { std::alloc::dealloc(self.bytes.as_mut_ptr(), layout) };
    }
}
