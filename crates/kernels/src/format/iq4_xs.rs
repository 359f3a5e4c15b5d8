//! IQ4_XS: 256 weights, each one of sixteen numbers as in IQ4_NL; every 32 of them have a scale of six bits, less 32.

use super::{BlockQ8K, Format, NONLINEAR, NONLINEAR_RAISED, Scale, block, nibbles};

block! {
    /// 256 weights in 136 bytes.
    BlockIq4Xs, "iq4_xs", 256, 136, BlockQ8K, {
        scale: [u8; 2],
        parts_high: [u8; 2],
        parts_low: [u8; 4],
        quants: [u8; 128],
    }
}

impl BlockIq4Xs {
    /// The eight scales: four bits of each in one place, two in another.
    #[inline(always)]
    fn group_scales(&self) -> [i16; 8] {
        let (low, high) = (u32::from_le_bytes(self.parts_low), u16::from_le_bytes(self.parts_high));
        let mut parts = [0; 8];
        for (at, part) in parts.iter_mut().enumerate() {
            *part = (low >> (4 * at) & 15) as i16 + 16 * (high >> (2 * at) & 3) as i16 - 32;
        }
        parts
    }
}

impl Format for BlockIq4Xs {
    const BITS: u32 = 8;
    const CHOICE: Option<&'static [u8; 16]> = Some(&NONLINEAR_RAISED);
    const OFFSET: u8 = 128;

    #[inline(always)]
    fn numbers(&self, numbers: &mut [u8]) {
        for (numbers, bytes) in
            numbers.as_chunks_mut::<32>().0.iter_mut().zip(self.quants.as_chunks::<16>().0)
        {
            nibbles(bytes, numbers);
        }
    }

    #[inline(always)]
    fn parts(&self, parts: &mut [i16]) {
        parts.copy_from_slice(&self.group_scales());
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

    impl Vector<BlockQ8K> for BlockIq4Xs {
        #[target_feature(enable = "avx2,fma,f16c")]
        #[inline]
        unsafe fn product<D: Dot>(&self, x: &BlockQ8K) -> [__m256i; 2] {
            let parts = self.group_scales();
            let mut sums = [_mm256_setzero_si256(); 2];
            for (at, bytes) in self.quants.as_chunks().0.iter().enumerate() {
                let x = load_bytes(&x.quants.as_chunks().0[at]);
                let products = signed_products(look_up(&NONLINEAR, load_nibbles(bytes)), x);
                sums[at % 2] = dot_words::<D>(sums[at % 2], products, _mm256_set1_epi16(parts[at]));
            }
            [_mm256_add_epi32(sums[0], sums[1]), _mm256_setzero_si256()]
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::*;
    use crate::neon::*;

    impl Vector<BlockQ8K> for BlockIq4Xs {
        #[target_feature(enable = "neon")]
        #[inline]
        unsafe fn product<const DOTPROD: bool>(&self, x: &BlockQ8K) -> [int32x4_t; 2] {
            let mut sum = vdupq_n_s32(0);
            for (at, (bytes, part)) in self.quants.as_chunks().0.iter().zip(self.group_scales()).enumerate() {
                let quants = load_nibbles(bytes).map(|quants| look_up(&NONLINEAR, quants));
                let products = dot::<DOTPROD>(quants, load_pair_i8(&x.quants.as_chunks().0[at]));
                sum = vmlaq_n_s32(sum, products, i32::from(part));
            }
            [sum, vdupq_n_s32(0)]
        }
    }
}
