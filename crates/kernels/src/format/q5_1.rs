//! Q5_1: 32 weights of five bits, one f16 scale and one f16 minimum. The fifth bits are kept together.

use super::{BlockQ8_0, Format, Scale, block, fifth_bits, nibbles};

block! {
    /// 32 weights in 24 bytes.
    BlockQ5_1, "q5_1", 32, 24, BlockQ8_0, {
        scale: [u8; 2],
        minimum: [u8; 2],
        fifths: [u8; 4],
        quants: [u8; 16],
    }
}

impl Format for BlockQ5_1 {
    const BITS: u32 = 5;
    const MINIMA: bool = true;

    #[inline(always)]
    fn numbers(&self, numbers: &mut [u8]) {
        nibbles(&self.quants, numbers);
        fifth_bits(self.fifths, numbers);
    }

    #[inline(always)]
    fn minima(&self, minima: &mut [i16]) {
        minima.fill(1);
    }

    #[inline(always)]
    fn scales(&self) -> [Scale; 2] {
        [Scale::half(self.scale), Scale::half(self.minimum)]
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::*;
    use crate::avx2::*;

    impl Vector<BlockQ8_0> for BlockQ5_1 {
        #[target_feature(enable = "avx2,fma,f16c")]
        #[inline]
        unsafe fn product<D: Dot>(&self, x: &BlockQ8_0) -> [__m256i; 2] {
            let x = load_bytes(&x.quants);
            let quants = _mm256_or_si256(load_nibbles(&self.quants), spread_fifths(self.fifths));
            [dot::<D>(quants, x), dot::<D>(_mm256_set1_epi8(1), x)]
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::*;
    use crate::neon::*;

    impl Vector<BlockQ8_0> for BlockQ5_1 {
        #[target_feature(enable = "neon")]
        #[inline]
        unsafe fn product<const DOTPROD: bool>(&self, x: &BlockQ8_0) -> [int32x4_t; 2] {
            let (low, fifths) = (load_nibbles(&self.quants), spread_fifths(self.fifths));
            let quants = [vorrq_s8(low[0], fifths[0]), vorrq_s8(low[1], fifths[1])];
            let x = quants_of(x);
            [dot::<DOTPROD>(quants, x), total(x)]
        }
    }
}
