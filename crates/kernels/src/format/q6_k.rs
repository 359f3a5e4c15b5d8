//! Q6_K: 256 weights of six bits, less 32; every 16 of them have a scale of eight bits. Four bits of each lie in one place, two
//! in another.

use super::{BlockQ8K, Format, Scale, block};

block! {
    /// 256 weights in 210 bytes.
    BlockQ6K, "q6_k", 256, 210, BlockQ8K, {
        low: [u8; 128],
        high: [u8; 64],
        parts: [i8; 16],
        scale: [u8; 2],
    }
}

impl Format for BlockQ6K {
    const GROUP: usize = 16;
    const BITS: u32 = 6;
    const OFFSET: u8 = 32;

    #[inline(always)]
    fn numbers(&self, numbers: &mut [u8]) {
        for (at, numbers) in numbers.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            // Of each half, the first two 32 are the low halves of 64 bytes, the others the high ones.
            let (half, part) = (at / 4, at % 4);
            let low = &self.low[64 * half + part % 2 * 32..];
            let high = &self.high[32 * half..];
            for ((number, low), high) in numbers.iter_mut().zip(low).zip(high) {
                *number = low >> (part / 2 * 4) & 15 | (high >> (2 * part) & 3) << 4;
            }
        }
    }

    #[inline(always)]
    fn parts(&self, parts: &mut [i16]) {
        for (part, stored) in parts.iter_mut().zip(self.parts) {
            *part = i16::from(stored);
        }
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

    impl Vector<BlockQ8K> for BlockQ6K {
        #[target_feature(enable = "avx2,fma,f16c")]
        #[inline]
        unsafe fn product<D: Dot>(&self, x: &BlockQ8K) -> [__m256i; 2] {
            let parts = load_half(&self.parts);
            let scales = scales_of_pairs(parts);
            let (four, two) = (_mm256_set1_epi8(15), _mm256_set1_epi8(48));
            let mut sums = [_mm256_setzero_si256(); 2];
            for half in 0..2 {
                let low = self.low.as_chunks().0;
                let low = [load_bytes(&low[2 * half]), load_bytes(&low[2 * half + 1])];
                let high = load_bytes(&self.high.as_chunks().0[half]);
                let low = [low[0], low[1], _mm256_srli_epi16::<4>(low[0]), _mm256_srli_epi16::<4>(low[1])];
                let high = [
                    _mm256_slli_epi16::<4>(high),
                    _mm256_slli_epi16::<2>(high),
                    high,
                    _mm256_srli_epi16::<2>(high),
                ];
                let scales = [
                    _mm256_shuffle_epi32::<0x00>(scales[half]),
                    _mm256_shuffle_epi32::<0x55>(scales[half]),
                    _mm256_shuffle_epi32::<0xaa>(scales[half]),
                    _mm256_shuffle_epi32::<0xff>(scales[half]),
                ];
                for part in 0..4 {
                    let x = load_bytes(&x.quants.as_chunks().0[4 * half + part]);
                    let quants =
                        _mm256_or_si256(_mm256_and_si256(low[part], four), _mm256_and_si256(high[part], two));
                    let products = _mm256_maddubs_epi16(quants, x);
                    sums[part % 2] = dot_words::<D>(sums[part % 2], products, scales[part]);
                }
            }
            let offset = _mm256_madd_epi16(_mm256_cvtepi8_epi16(parts), load_words(&x.sums));
            let sum = _mm256_add_epi32(sums[0], sums[1]);
            [_mm256_sub_epi32(sum, _mm256_slli_epi32::<5>(offset)), _mm256_setzero_si256()]
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::*;
    use crate::neon::*;

    impl Vector<BlockQ8K> for BlockQ6K {
        #[target_feature(enable = "neon")]
        #[inline]
        unsafe fn product<const DOTPROD: bool>(&self, x: &BlockQ8K) -> [int32x4_t; 2] {
            let mut sum = vdupq_n_s32(0);
            for (group, part) in self.parts.into_iter().enumerate() {
                let (half, quarter, side) = (group / 8, group % 8 / 2, group % 2);
                let low = load_u8(&self.low.as_chunks().0[4 * half + quarter % 2 * 2 + side]);
                let high = load_u8(&self.high.as_chunks().0[2 * half + side]);
                let low = vandq_u8(vshlq_u8(low, vdupq_n_s8(-((quarter / 2 * 4) as i8))), vdupq_n_u8(15));
                let high = vandq_u8(vshlq_u8(high, vdupq_n_s8(4 - 2 * quarter as i8)), vdupq_n_u8(48));
                let quants = vsubq_s8(vreinterpretq_s8_u8(vorrq_u8(low, high)), vdupq_n_s8(32));
                let x = load_i8(&x.quants.as_chunks().0[group]);
                let products = multiply_add::<DOTPROD>(vdupq_n_s32(0), quants, x);
                sum = vmlaq_n_s32(sum, products, i32::from(part));
            }
            [sum, vdupq_n_s32(0)]
        }
    }
}
