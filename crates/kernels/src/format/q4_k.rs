//! Q4_K: 256 weights of four bits; every 32 of them have a scale and a minimum of six bits each.

use super::{BlockQ8K, Format, Scale, block, six_bits};

block! {
    /// 256 weights in 144 bytes.
    BlockQ4K, "q4_k", 256, 144, BlockQ8K, {
        scale: [u8; 2],
        minimum: [u8; 2],
        parts: [u8; 12],
        quants: [u8; 128],
    }
}

impl Format for BlockQ4K {
    const BITS: u32 = 4;
    const MINIMA: bool = true;

    #[inline(always)]
    fn numbers(&self, numbers: &mut [u8]) {
        // Each 32 bytes hold twice 32 weights.
        for (at, numbers) in numbers.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            for (number, byte) in numbers.iter_mut().zip(&self.quants[at / 2 * 32..]) {
                *number = byte >> (at % 2 * 4) & 15;
            }
        }
    }

    #[inline(always)]
    fn parts(&self, parts: &mut [i16]) {
        let [scales, _] = six_bits(&self.parts);
        for (part, scale) in parts.iter_mut().zip(scales) {
            *part = i16::from(scale);
        }
    }

    #[inline(always)]
    fn minima(&self, minima: &mut [i16]) {
        let [_, parts] = six_bits(&self.parts);
        for (minimum, part) in minima.iter_mut().zip(parts) {
            *minimum = i16::from(part);
        }
    }

    #[inline(always)]
    fn scales(&self) -> [Scale; 2] {
        [Scale::half(self.scale), -Scale::half(self.minimum)]
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::*;
    use crate::avx2::*;

    impl Vector<BlockQ8K> for BlockQ4K {
        #[target_feature(enable = "avx2,fma,f16c")]
        #[inline]
        unsafe fn product<D: Dot>(&self, x: &BlockQ8K) -> [__m256i; 2] {
            let [scales, minima] = six_bits(&self.parts);
            let (scales, four) = (scales_of_eight(scales), _mm256_set1_epi8(15));
            let mut sums = [_mm256_setzero_si256(); 2];
            for quarter in 0..4 {
                let bytes = load_bytes(&self.quants.as_chunks().0[quarter]);
                let quants =
                    [_mm256_and_si256(bytes, four), _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), four)];
                for part in 0..2 {
                    let x = load_bytes(&x.quants.as_chunks().0[2 * quarter + part]);
                    let products = _mm256_maddubs_epi16(quants[part], x);
                    sums[part] = dot_words::<D>(sums[part], products, scales[2 * quarter + part]);
                }
            }
            [_mm256_add_epi32(sums[0], sums[1]), minima_of_eight(minima, &x.sums)]
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::*;
    use crate::neon::*;

    impl Vector<BlockQ8K> for BlockQ4K {
        #[target_feature(enable = "neon")]
        #[inline]
        unsafe fn product<const DOTPROD: bool>(&self, x: &BlockQ8K) -> [int32x4_t; 2] {
            let [scales, minima] = six_bits(&self.parts);
            let mut sum = vdupq_n_s32(0);
            for (at, scale) in scales.into_iter().enumerate() {
                let bytes = load_pair(&self.quants.as_chunks().0[at / 2]);
                let shift = vdupq_n_s8(-((at % 2 * 4) as i8));
                let quants =
                    bytes.map(|bytes| vreinterpretq_s8_u8(vandq_u8(vshlq_u8(bytes, shift), vdupq_n_u8(15))));
                let products = dot::<DOTPROD>(quants, load_pair_i8(&x.quants.as_chunks().0[at]));
                sum = vmlaq_n_s32(sum, products, i32::from(scale));
            }
            [sum, minima_of_eight(minima, &x.sums)]
        }
    }
}
