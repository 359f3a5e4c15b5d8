//! Q4_0: 32 weights of four bits, less eight, and one f16 scale.

use super::{BlockQ8_0, Format, Scale, block, nibbles};

block! {
    /// 32 weights in 18 bytes.
    BlockQ4_0, "q4_0", 32, 18, BlockQ8_0, {
        scale: [u8; 2],
        quants: [u8; 16],
    }
}

impl Format for BlockQ4_0 {
    const BITS: u32 = 4;
    const OFFSET: u8 = 8;

    #[inline(always)]
    fn numbers(&self, numbers: &mut [u8]) {
        nibbles(&self.quants, numbers);
    }

    #[inline(always)]
    fn scales(&self) -> [Scale; 2] {
        [Scale::half(self.scale), Scale::ZERO]
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::*;
    use crate::avx2::*;

    impl Vector<BlockQ8_0> for BlockQ4_0 {
        #[target_feature(enable = "avx2,fma,f16c")]
        #[inline]
        unsafe fn product<D: Dot>(&self, x: &BlockQ8_0) -> [__m256i; 2] {
            let x = load_bytes(&x.quants);
            [dot_less::<D>(load_nibbles(&self.quants), 8, x), _mm256_setzero_si256()]
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::*;
    use crate::neon::*;

    impl Vector<BlockQ8_0> for BlockQ4_0 {
        #[target_feature(enable = "neon")]
        #[inline]
        unsafe fn product<const DOTPROD: bool>(&self, x: &BlockQ8_0) -> [int32x4_t; 2] {
            let quants = load_nibbles(&self.quants).map(|quants| vsubq_s8(quants, vdupq_n_s8(8)));
            [dot::<DOTPROD>(quants, quants_of(x)), vdupq_n_s32(0)]
        }
    }
}
