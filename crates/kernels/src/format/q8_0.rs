//! Q8_0: 32 weights or activations of 8 bits with an f16 scale.

use half::f16;

use super::{Activation, BlockFormat, QuantizedActivation, Scale};
use crate::isa::Isa;
use crate::matrix::{self, sealed};
use crate::{KernelError, Matrix, ThreadPool, Weight, gemm};

/// 32 weights in 34 bytes: a little-endian f16 scale `d`, then 32 signed bytes `qs`. A weight is `d * q`. The alignment is 1, so that a
/// block can be at any offset of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct BlockQ8_0 {
    d: [u8; 2],
    /// Quantized values.
    pub qs: [i8; 32],
}

impl BlockQ8_0 {
    /// Size of a block in bytes.
    pub const BYTES: usize = size_of::<BlockQ8_0>();
    /// A block of zeros.
    pub const ZERO: BlockQ8_0 = BlockQ8_0 { d: [0; 2], qs: [0; 32] };

    /// Creates a block from a scale and quantized values.
    pub const fn new(scale: f16, qs: [i8; 32]) -> Self {
        BlockQ8_0 { d: scale.to_le_bytes(), qs }
    }

    /// The scale `d`.
    pub const fn scale(&self) -> f16 {
        f16::from_le_bytes(self.d)
    }

    /// Reinterprets bytes of a file as blocks.
    pub fn from_bytes(bytes: &[u8]) -> Result<&[BlockQ8_0], KernelError> {
        matrix::cast(bytes)
    }

    /// Reinterprets blocks as bytes of a file.
    pub fn to_bytes(blocks: &[BlockQ8_0]) -> &[u8] {
        // SAFETY: `BlockQ8_0` is `repr(C)` with two byte arrays, so it has no padding and every byte is initialized. The slice covers
        // exactly the memory of `blocks` for the same lifetime.
        unsafe { std::slice::from_raw_parts(blocks.as_ptr().cast(), size_of_val(blocks)) }
    }
}

const _: () = assert!(BlockQ8_0::BYTES == 34 && align_of::<BlockQ8_0>() == 1);

// SAFETY: two byte arrays without padding.
unsafe impl sealed::Pod for BlockQ8_0 {}

impl Weight for BlockQ8_0 {
    type X = BlockQ8_0;
    const WEIGHTS: usize = 32;
    const NAME: &'static str = "q8_0";

    fn matvec(isa: Isa, weights: &[BlockQ8_0], x: &[BlockQ8_0], out: &mut [f32]) {
        crate::matvec_blocks(isa, weights, x, out);
    }

    fn matmul(
        pool: &ThreadPool,
        weights: Matrix<BlockQ8_0>,
        x: &[f32],
        columns: usize,
        out: &mut [f32],
    ) -> Result<(), KernelError> {
        gemm::matmul_blocks(pool, weights, x, columns, out)
    }
}

impl BlockFormat for BlockQ8_0 {
    const BITS: u32 = 8;
    const OFFSET: u8 = 128;

    #[inline(always)]
    fn codes(&self, codes: &mut [u8]) {
        for (code, q) in codes.iter_mut().zip(self.qs) {
            *code = q as u8 ^ 128;
        }
    }

    #[inline(always)]
    fn block_scales(&self) -> [Scale; 2] {
        [Scale::from_f16_bytes(self.d), Scale::ZERO]
    }
}

impl Activation for BlockQ8_0 {
    const ACTIVATIONS: usize = 32;
    const ZERO: BlockQ8_0 = BlockQ8_0::ZERO;

    fn quantize(isa: Isa, blocks: &mut [BlockQ8_0], values: &[f32]) {
        crate::quantize_blocks_q8_0(isa, blocks, values);
    }
}

impl QuantizedActivation for BlockQ8_0 {
    fn qs(&self) -> &[i8] {
        &self.qs
    }

    #[inline(always)]
    fn scale(&self) -> Scale {
        Scale::from_f16_bytes(self.d)
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::*;
    use crate::avx2::*;

    impl BlockKernel<BlockQ8_0> for BlockQ8_0 {
        #[target_feature(enable = "avx2,fma,f16c")]
        #[inline]
        unsafe fn product<D: Dot>(&self, x: &BlockQ8_0) -> [__m256i; 2] {
            let products = if D::FULL_RANGE {
                let codes = _mm256_xor_si256(load_i8x32(&self.qs), _mm256_set1_epi8(i8::MIN));
                dot_minus_offset::<D>(codes, 128, load_i8x32(&x.qs))
            } else {
                // Both factors may be -128; widening is exact for every byte.
                let ([a, b], [c, d]) = (widen(&self.qs), widen(&x.qs));
                _mm256_add_epi32(_mm256_madd_epi16(a, c), _mm256_madd_epi16(b, d))
            };
            [products, _mm256_setzero_si256()]
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::*;
    use crate::neon::*;

    impl BlockKernel<BlockQ8_0> for BlockQ8_0 {
        #[target_feature(enable = "neon")]
        #[inline]
        unsafe fn product<const DOTPROD: bool>(&self, x: &BlockQ8_0) -> [int32x4_t; 2] {
            [dot::<DOTPROD>(load_qs(self), load_qs(x)), vdupq_n_s32(0)]
        }
    }
}
