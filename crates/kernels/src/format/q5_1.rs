//! Q5_1: 32 weights of 5 bits with an f16 scale and an f16 minimum. The high bits are stored separately.

use super::{BlockFormat, BlockQ8_0, Scale, block, or_high_bits, unpack_nibbles};

block! {
    /// 32 weights in 24 bytes.
    BlockQ5_1, "q5_1", 32, 24, BlockQ8_0, {
        d: [u8; 2],
        m: [u8; 2],
        qh: [u8; 4],
        qs: [u8; 16],
    }
}

impl BlockFormat for BlockQ5_1 {
    const BITS: u32 = 5;
    const HAS_MINIMA: bool = true;

    #[inline(always)]
    fn codes(&self, codes: &mut [u8]) {
        unpack_nibbles(&self.qs, codes);
        or_high_bits(self.qh, codes);
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

    impl BlockKernel<BlockQ8_0> for BlockQ5_1 {
        #[target_feature(enable = "avx2,fma,f16c")]
        #[inline]
        unsafe fn product<D: Dot>(&self, x: &BlockQ8_0) -> [__m256i; 2] {
            let x = load_i8x32(&x.qs);
            let qs = _mm256_or_si256(load_nibbles(&self.qs), expand_high_bits(self.qh));
            [dot::<D>(qs, x), dot::<D>(_mm256_set1_epi8(1), x)]
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::*;
    use crate::neon::*;

    impl BlockKernel<BlockQ8_0> for BlockQ5_1 {
        #[target_feature(enable = "neon")]
        #[inline]
        unsafe fn product<const DOTPROD: bool>(&self, x: &BlockQ8_0) -> [int32x4_t; 2] {
            let (low, qh) = (load_nibbles(&self.qs), expand_high_bits(self.qh));
            let qs = [vorrq_s8(low[0], qh[0]), vorrq_s8(low[1], qh[1])];
            let x = load_qs(x);
            [dot::<DOTPROD>(qs, x), sum_bytes(x)]
        }
    }
}
