//! Q5_0: 32 weights of 5 bits with offset 16 and an f16 scale. The high bits are stored separately.

use super::{BlockFormat, BlockQ8_0, Scale, block, or_high_bits, unpack_nibbles};

block! {
    /// 32 weights in 22 bytes.
    BlockQ5_0, "q5_0", 32, 22, BlockQ8_0, {
        d: [u8; 2],
        qh: [u8; 4],
        qs: [u8; 16],
    }
}

impl BlockFormat for BlockQ5_0 {
    const BITS: u32 = 5;
    const OFFSET: u8 = 16;

    #[inline(always)]
    fn codes(&self, codes: &mut [u8]) {
        unpack_nibbles(&self.qs, codes);
        or_high_bits(self.qh, codes);
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

    impl BlockKernel<BlockQ8_0> for BlockQ5_0 {
        #[target_feature(enable = "avx2,fma,f16c")]
        #[inline]
        unsafe fn product<D: Dot>(&self, x: &BlockQ8_0) -> [__m256i; 2] {
            let x = load_i8x32(&x.qs);
            let qs = _mm256_or_si256(load_nibbles(&self.qs), expand_high_bits(self.qh));
            [dot_minus_offset::<D>(qs, 16, x), _mm256_setzero_si256()]
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::*;
    use crate::neon::*;

    impl BlockKernel<BlockQ8_0> for BlockQ5_0 {
        #[target_feature(enable = "neon")]
        #[inline]
        unsafe fn product<const DOTPROD: bool>(&self, x: &BlockQ8_0) -> [int32x4_t; 2] {
            let (low, qh) = (load_nibbles(&self.qs), expand_high_bits(self.qh));
            let qs = [vorrq_s8(low[0], qh[0]), vorrq_s8(low[1], qh[1])];
            let qs = qs.map(|qs| vsubq_s8(qs, vdupq_n_s8(16)));
            [dot::<DOTPROD>(qs, load_qs(x)), vdupq_n_s32(0)]
        }
    }
}
