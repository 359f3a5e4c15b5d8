//! Q2_K: 256 weights of 2 bits with a 4-bit scale and minimum per 16 weights, and f16 scales for both.

use super::{BlockFormat, BlockQ8K, Scale, block};

block! {
    /// 256 weights in 84 bytes.
    BlockQ2K, "q2_k", 256, 84, BlockQ8K, {
        scales: [u8; 16],
        qs: [u8; 64],
        d: [u8; 2],
        dmin: [u8; 2],
    }
}

impl BlockFormat for BlockQ2K {
    const GROUP: usize = 16;
    const BITS: u32 = 2;
    const HAS_MINIMA: bool = true;

    #[inline(always)]
    fn codes(&self, codes: &mut [u8]) {
        // Each 32 bytes hold four groups of 32 weights.
        for (at, codes) in codes.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            for (code, byte) in codes.iter_mut().zip(&self.qs[at / 4 * 32..]) {
                *code = byte >> (at % 4 * 2) & 3;
            }
        }
    }

    #[inline(always)]
    fn group_scales(&self, scales: &mut [i16]) {
        for (scale, packed) in scales.iter_mut().zip(self.scales) {
            *scale = i16::from(packed & 15);
        }
    }

    #[inline(always)]
    fn group_minima(&self, minima: &mut [i16]) {
        for (minimum, packed) in minima.iter_mut().zip(self.scales) {
            *minimum = i16::from(packed >> 4);
        }
    }

    #[inline(always)]
    fn block_scales(&self) -> [Scale; 2] {
        [Scale::from_f16_bytes(self.d), -Scale::from_f16_bytes(self.dmin)]
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::*;
    use crate::avx2::*;

    impl BlockKernel<BlockQ8K> for BlockQ2K {
        #[target_feature(enable = "avx2,fma,f16c")]
        #[inline]
        unsafe fn product<D: Dot>(&self, x: &BlockQ8K) -> [__m256i; 2] {
            let (mask, packed) = (_mm256_set1_epi8(3), load_i8x16(&self.scales));
            let scales = pair_scales(_mm_and_si128(packed, _mm_set1_epi8(15)));
            let minima = _mm_and_si128(_mm_srli_epi16::<4>(packed), _mm_set1_epi8(15));
            let mut sums = [_mm256_setzero_si256(); 2];
            for half in 0..2 {
                let bytes = load_i8x32(&self.qs.as_chunks().0[half]);
                let qs = [
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
                    let x = load_i8x32(&x.qs.as_chunks().0[4 * half + part]);
                    let products = _mm256_maddubs_epi16(_mm256_and_si256(qs[part], mask), x);
                    sums[part % 2] = dot_words::<D>(sums[part % 2], products, scales[part]);
                }
            }
            let minima = _mm256_madd_epi16(_mm256_cvtepu8_epi16(minima), load_i16x16(&x.bsums));
            [_mm256_add_epi32(sums[0], sums[1]), minima]
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::*;
    use crate::neon::*;

    impl BlockKernel<BlockQ8K> for BlockQ2K {
        #[target_feature(enable = "neon")]
        #[inline]
        unsafe fn product<const DOTPROD: bool>(&self, x: &BlockQ8K) -> [int32x4_t; 2] {
            let (mut sum, mut minima) = (vdupq_n_s32(0), 0);
            for (group, (packed, total)) in self.scales.iter().zip(x.bsums).enumerate() {
                let bytes = load_u8(&self.qs.as_chunks().0[group / 8 * 2 + group % 2]);
                let shift = vdupq_n_s8(-((group % 8 / 2 * 2) as i8));
                let qs = vreinterpretq_s8_u8(vandq_u8(vshlq_u8(bytes, shift), vdupq_n_u8(3)));
                let x = load_i8(&x.qs.as_chunks().0[group]);
                let products = multiply_add::<DOTPROD>(vdupq_n_s32(0), qs, x);
                sum = vmlaq_n_s32(sum, products, i32::from(packed & 15));
                minima += i32::from(packed >> 4) * i32::from(total);
            }
            [sum, in_lane_0(minima)]
        }
    }
}
