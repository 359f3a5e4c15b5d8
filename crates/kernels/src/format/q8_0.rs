//! The Q8_0 block as ggml's files store it, and slices of it over plain bytes.

use half::f16;

use super::{Activation, Format, Quantized, Scale};
use crate::isa::Isa;
use crate::matrix::{self, sealed};
use crate::{KernelError, Matrix, Team, Weight, panel};

/// 32 weights in 34 bytes: one f16 scale, little endian, then 32 signed bytes. The weight is
/// `scale * quant`. Alignment 1, so that a block can lie anywhere in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct BlockQ8_0 {
    scale: [u8; 2],
    /// The 32 quants.
    pub quants: [i8; 32],
}

impl BlockQ8_0 {
    /// Bytes of a block.
    pub const BYTES: usize = size_of::<BlockQ8_0>();
    /// A block of zeros.
    pub const ZERO: BlockQ8_0 = BlockQ8_0 { scale: [0; 2], quants: [0; 32] };

    /// A block with this scale and these quants.
    pub const fn new(scale: f16, quants: [i8; 32]) -> Self {
        BlockQ8_0 { scale: scale.to_le_bytes(), quants }
    }

    /// The factor that turns quants into weights.
    pub const fn scale(&self) -> f16 {
        f16::from_le_bytes(self.scale)
    }

    /// The blocks that these bytes of a file hold.
    pub fn from_bytes(bytes: &[u8]) -> Result<&[BlockQ8_0], KernelError> {
        matrix::cast(bytes)
    }

    /// The bytes of these blocks, as a file holds them.
    pub fn to_bytes(blocks: &[BlockQ8_0]) -> &[u8] {
        // SAFETY: `repr(C)` of two byte arrays: no padding, every byte is initialized, and the slice
        // covers exactly the memory of `blocks` for as long as it is borrowed.
        unsafe { std::slice::from_raw_parts(blocks.as_ptr().cast(), size_of_val(blocks)) }
    }
}

const _: () = assert!(BlockQ8_0::BYTES == 34 && align_of::<BlockQ8_0>() == 1);

// SAFETY: byte arrays one after the other, without padding.
unsafe impl sealed::Bytes for BlockQ8_0 {}

impl Weight for BlockQ8_0 {
    type X = BlockQ8_0;
    const WEIGHTS: usize = 32;
    const NAME: &'static str = "q8_0";

    fn rows(isa: Isa, weights: &[BlockQ8_0], x: &[BlockQ8_0], out: &mut [f32]) {
        crate::block_rows(isa, weights, x, out);
    }

    fn columns(
        team: &Team,
        weights: Matrix<BlockQ8_0>,
        x: &[f32],
        columns: usize,
        out: &mut [f32],
    ) -> Result<(), KernelError> {
        panel::blocks(team, weights, x, columns, out)
    }
}

impl Format for BlockQ8_0 {
    const BITS: u32 = 8;
    const OFFSET: u8 = 128;

    #[inline(always)]
    fn numbers(&self, numbers: &mut [u8]) {
        for (number, quant) in numbers.iter_mut().zip(self.quants) {
            *number = quant as u8 ^ 128;
        }
    }

    #[inline(always)]
    fn scales(&self) -> [Scale; 2] {
        [Scale::half(self.scale), Scale::ZERO]
    }
}

impl Activation for BlockQ8_0 {
    const COUNT: usize = 32;
    const ZERO: BlockQ8_0 = BlockQ8_0::ZERO;

    fn quantize(isa: Isa, blocks: &mut [BlockQ8_0], values: &[f32]) {
        crate::quantize_blocks_q8_0(isa, blocks, values);
    }
}

impl Quantized for BlockQ8_0 {
    fn quants(&self) -> &[i8] {
        &self.quants
    }

    #[inline(always)]
    fn scale(&self) -> Scale {
        Scale::half(self.scale)
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::*;
    use crate::avx2::*;

    impl Vector<BlockQ8_0> for BlockQ8_0 {
        #[target_feature(enable = "avx2,fma,f16c")]
        #[inline]
        unsafe fn product<D: Dot>(&self, x: &BlockQ8_0) -> [__m256i; 2] {
            let products = if D::ALL_BITS {
                let numbers = _mm256_xor_si256(load_bytes(&self.quants), _mm256_set1_epi8(i8::MIN));
                dot_less::<D>(numbers, 128, load_bytes(&x.quants))
            } else {
                // A weight of -128 and an activation of -128 are both possible: widened, every byte is exact.
                let ([a, b], [c, d]) = (widen(&self.quants), widen(&x.quants));
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

    impl Vector<BlockQ8_0> for BlockQ8_0 {
        #[target_feature(enable = "neon")]
        #[inline]
        unsafe fn product<const DOTPROD: bool>(&self, x: &BlockQ8_0) -> [int32x4_t; 2] {
            [dot::<DOTPROD>(quants_of(self), quants_of(x)), vdupq_n_s32(0)]
        }
    }
}
