//! Q5_0: 32 weights of five bits, less sixteen, and one f16 scale. The fifth bits are kept together.

use super::{BlockQ8_0, Format, Scale, block, fifth_bits, nibbles};

block! {
    /// 32 weights in 22 bytes.
    BlockQ5_0, "q5_0", 32, 22, BlockQ8_0, {
        scale: [u8; 2],
        fifths: [u8; 4],
        quants: [u8; 16],
    }
}

impl Format for BlockQ5_0 {
    const BITS: u32 = 5;
    const OFFSET: u8 = 16;

    #[inline(always)]
    fn numbers(&self, numbers: &mut [u8]) {
        nibbles(&self.quants, numbers);
        fifth_bits(self.fifths, numbers);
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

    impl Vector<BlockQ8_0> for BlockQ5_0 {
        #[target_feature(enable = "avx2,fma,f16c")]
        #[inline]
        unsafe fn product<D: Dot>(&self, x: &BlockQ8_0) -> [__m256i; 2] {
            let x = load_bytes(&x.quants);
            let quants = _mm256_or_si256(load_nibbles(&self.quants), spread_fifths(self.fifths));
            [dot_less::<D>(quants, 16, x), _mm256_setzero_si256()]
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::*;
    use crate::neon::*;

    impl Vector<BlockQ8_0> for BlockQ5_0 {
        #[target_feature(enable = "neon")]
        #[inline]
        unsafe fn product<const DOTPROD: bool>(&self, x: &BlockQ8_0) -> [int32x4_t; 2] {
            let (low, fifths) = (load_nibbles(&self.quants), spread_fifths(self.fifths));
            let quants = [vorrq_s8(low[0], fifths[0]), vorrq_s8(low[1], fifths[1])];
            let quants = quants.map(|quants| vsubq_s8(quants, vdupq_n_s8(16)));
            [dot::<DOTPROD>(quants, quants_of(x)), vdupq_n_s32(0)]
        }
    }
}
