//! Q4_1: 32 weights of 4 bits with an f16 scale and an f16 minimum.

use super::{BlockFormat, BlockQ8_0, Scale, block, unpack_nibbles};

block! {
    /// 32 weights in 20 bytes.
    BlockQ4_1, "q4_1", 32, 20, BlockQ8_0, {
        d: [u8; 2],
        m: [u8; 2],
        qs: [u8; 16],
    }
}

impl BlockFormat for BlockQ4_1 {
    const BITS: u32 = 4;
    const HAS_MINIMA: bool = true;

    #[inline(always)]
    fn codes(&self, codes: &mut [u8]) {
        unpack_nibbles(&self.qs, codes);
    }

    #[inline(always)]
    fn group_minima(&self, minima: &mut [i16]) {
        minima.fill(1);
    }

    #[inline(always)]
    fn block_scales(&self) -> [Scale; 2] {
        [Scale::from_f16_bytes(self.d), Scale::from_f16_bytes(self.m)]
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::*;
    use crate::avx2::*;

    impl BlockKernel<BlockQ8_0> for BlockQ4_1 {
        #[target_feature(enable = "avx2,fma,f16c")]
        #[inline]
        unsafe fn product<D: Dot>(&self, x: &BlockQ8_0) -> [__m256i; 2] {
            let x = load_i8x32(&x.qs);
            [dot::<D>(load_nibbles(&self.qs), x), dot::<D>(_mm256_set1_epi8(1), x)]
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::*;
    use crate::neon::*;

    impl BlockKernel<BlockQ8_0> for BlockQ4_1 {
        #[target_feature(enable = "neon")]
        #[inline]
        unsafe fn product<const DOTPROD: bool>(&self, x: &BlockQ8_0) -> [int32x4_t; 2] {
            let x = load_qs(x);
            [dot::<DOTPROD>(load_nibbles(&self.qs), x), sum_bytes(x)]
        }
    }
}
