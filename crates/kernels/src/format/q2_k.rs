//! Q2_K: 256 weights of two bits; every 16 of them have a scale and a minimum of four bits each.

use super::{BlockQ8K, Format, Scale, block};

block! {
    /// 256 weights in 84 bytes.
    BlockQ2K, "q2_k", 256, 84, BlockQ8K, {
        parts: [u8; 16],
        quants: [u8; 64],
        scale: [u8; 2],
        minimum: [u8; 2],
    }
}

impl Format for BlockQ2K {
    const GROUP: usize = 16;
    const BITS: u32 = 2;
    const MINIMA: bool = true;

    #[inline(always)]
    fn numbers(&self, numbers: &mut [u8]) {
        // Each 32 bytes hold four times 32 weights.
        for (at, numbers) in numbers.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            for (number, byte) in numbers.iter_mut().zip(&self.quants[at / 4 * 32..]) {
                *number = byte >> (at % 4 * 2) & 3;
            }
        }
    }

    #[inline(always)]
    fn parts(&self, parts: &mut [i16]) {
        for (part, stored) in parts.iter_mut().zip(self.parts) {
            *part = i16::from(stored & 15);
        }
    }

    #[inline(always)]
    fn minima(&self, minima: &mut [i16]) {
        for (minimum, part) in minima.iter_mut().zip(self.parts) {
            *minimum = i16::from(part >> 4);
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

    impl Vector<BlockQ8K> for BlockQ2K {
        #[target_feature(enable = "avx2,fma,f16c")]
        #[inline]
        unsafe fn product<D: Dot>(&self, x: &BlockQ8K) -> [__m256i; 2] {
            let (two, parts) = (_mm256_set1_epi8(3), load_half(&self.parts));
            let scales = scales_of_pairs(_mm_and_si128(parts, _mm_set1_epi8(15)));
            let minima = _mm_and_si128(_mm_srli_epi16::<4>(parts), _mm_set1_epi8(15));
            let mut sums = [_mm256_setzero_si256(); 2];
            for half in 0..2 {
                let bytes = load_bytes(&self.quants.as_chunks().0[half]);
                let quants = [
                    bytes,
                    _mm256_srli_epi16::<2>(bytes),
                    _mm256_srli_epi16::<4>(bytes),
                    _mm256_srli_epi16::<6>(bytes),
                ];
                let scales = [
                    _mm256_shuffle_epi32::<0x00>(scales[half]),
                    _mm256_shuffle_epi32::<0x55>(scales[half]),
                    _mm256_shuffle_epi32::<0xaa>(scales[half]),
                    _mm256_shuffle_epi32::<0xff>(scales[half]),
                ];
                for part in 0..4 {
                    let x = load_bytes(&x.quants.as_chunks().0[4 * half + part]);
                    let products = _mm256_maddubs_epi16(_mm256_and_si256(quants[part], two), x);
                    sums[part % 2] = dot_words::<D>(sums[part % 2], products, scales[part]);
                }
            }
            let minima = _mm256_madd_epi16(_mm256_cvtepu8_epi16(minima), load_words(&x.sums));
            [_mm256_add_epi32(sums[0], sums[1]), minima]
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::*;
    use crate::neon::*;

    impl Vector<BlockQ8K> for BlockQ2K {
        #[target_feature(enable = "neon")]
        #[inline]
        unsafe fn product<const DOTPROD: bool>(&self, x: &BlockQ8K) -> [int32x4_t; 2] {
            let (mut sum, mut minima) = (vdupq_n_s32(0), 0);
            for (group, (part, total)) in self.parts.iter().zip(x.sums).enumerate() {
                let bytes = load_u8(&self.quants.as_chunks().0[group / 8 * 2 + group % 2]);
                let shift = vdupq_n_s8(-((group % 8 / 2 * 2) as i8));
                let quants = vreinterpretq_s8_u8(vandq_u8(vshlq_u8(bytes, shift), vdupq_n_u8(3)));
                let x = load_i8(&x.quants.as_chunks().0[group]);
                let products = multiply_add::<DOTPROD>(vdupq_n_s32(0), quants, x);
                sum = vmlaq_n_s32(sum, products, i32::from(part & 15));
                minima += i32::from(part >> 4) * i32::from(total);
            }
            [sum, single(minima)]
        }
    }
}
