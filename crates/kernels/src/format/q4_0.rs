//! Q4_0: 32 weights of 4 bits with offset 8 and an f16 scale.

use super::{BlockFormat, BlockQ8_0, Scale, block, unpack_nibbles};

block! {
    /// 32 weights in 18 bytes.
    BlockQ4_0, "q4_0", 32, 18, BlockQ8_0, {
        d: [u8; 2],
        qs: [u8; 16],
    }
}

impl BlockFormat for BlockQ4_0 {
    const BITS: u32 = 4;
    const OFFSET: u8 = 8;

    #[inline(always)]
    fn codes(&self, codes: &mut [u8]) {
        unpack_nibbles(&self.qs, codes);
    }

    #[inline(always)]
    fn block_scales(&self) -> [Scale; 2] {
        [Scale::from_f16_bytes(self.d), Scale::ZERO]
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::*;
    use crate::avx2::*;

    impl BlockKernel<BlockQ8_0> for BlockQ4_0 {
        #[target_feature(enable = "avx2,fma,f16c")]
        #[inline]
        unsafe fn product<D: Dot>(&self, x: &BlockQ8_0) -> [__m256i; 2] {
            let x = load_i8x32(&x.qs);
            [dot_minus_offset::<D>(load_nibbles(&self.qs), 8, x), _mm256_setzero_si256()]
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::*;
    use crate::neon::*;

    impl BlockKernel<BlockQ8_0> for BlockQ4_0 {
        #[target_feature(enable = "neon")]
        #[inline]
        unsafe fn product<const DOTPROD: bool>(&self, x: &BlockQ8_0) -> [int32x4_t; 2] {
            let qs = load_nibbles(&self.qs).map(|qs| vsubq_s8(qs, vdupq_n_s8(8)));
            [dot::<DOTPROD>(qs, load_qs(x)), vdupq_n_s32(0)]
        }
    }
}
