//! Q6_K: 256 weights of 6 bits with offset 32, an 8-bit scale per 16 weights, and an f16 scale. The low four and high two bits of the
//! weights are stored separately.

use super::{BlockFormat, BlockQ8K, Scale, block};

block! {
    /// 256 weights in 210 bytes.
    BlockQ6K, "q6_k", 256, 210, BlockQ8K, {
        ql: [u8; 128],
        qh: [u8; 64],
        scales: [i8; 16],
        d: [u8; 2],
    }
}

impl BlockFormat for BlockQ6K {
    const GROUP: usize = 16;
    const BITS: u32 = 6;
    const OFFSET: u8 = 32;

    #[inline(always)]
    fn codes(&self, codes: &mut [u8]) {
        for (at, codes) in codes.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            // In each half of the block, the first 64 weights are the low nibbles of 64 bytes, the other 64 the high nibbles.
            let (half, part) = (at / 4, at % 4);
            let low = &self.ql[64 * half + part % 2 * 32..];
            let high = &self.qh[32 * half..];
            for ((code, low), high) in codes.iter_mut().zip(low).zip(high) {
                *code = low >> (part / 2 * 4) & 15 | (high >> (2 * part) & 3) << 4;
            }
        }
    }

    #[inline(always)]
    fn group_scales(&self, scales: &mut [i16]) {
        for (to, scale) in scales.iter_mut().zip(self.scales) {
            *to = i16::from(scale);
        }
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

    impl BlockKernel<BlockQ8K> for BlockQ6K {
        #[target_feature(enable = "avx2,fma,f16c")]
        #[inline]
        unsafe fn product<D: Dot>(&self, x: &BlockQ8K) -> [__m256i; 2] {
            let group_scales = load_i8x16(&self.scales);
            let scales = pair_scales(group_scales);
            let (low_bits, high_bits) = (_mm256_set1_epi8(15), _mm256_set1_epi8(48));
            let mut sums = [_mm256_setzero_si256(); 2];
            for half in 0..2 {
                let low = self.ql.as_chunks().0;
                let low = [load_i8x32(&low[2 * half]), load_i8x32(&low[2 * half + 1])];
                let high = load_i8x32(&self.qh.as_chunks().0[half]);
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
                    let x = load_i8x32(&x.qs.as_chunks().0[4 * half + part]);
                    let qs = _mm256_or_si256(
                        _mm256_and_si256(low[part], low_bits),
                        _mm256_and_si256(high[part], high_bits),
                    );
                    let products = _mm256_maddubs_epi16(qs, x);
                    sums[part % 2] = dot_words::<D>(sums[part % 2], products, scales[part]);
                }
            }
            let offset = _mm256_madd_epi16(_mm256_cvtepi8_epi16(group_scales), load_i16x16(&x.bsums));
            let sum = _mm256_add_epi32(sums[0], sums[1]);
            [_mm256_sub_epi32(sum, _mm256_slli_epi32::<5>(offset)), _mm256_setzero_si256()]
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::*;
    use crate::neon::*;

    impl BlockKernel<BlockQ8K> for BlockQ6K {
        #[target_feature(enable = "neon")]
        #[inline]
        unsafe fn product<const DOTPROD: bool>(&self, x: &BlockQ8K) -> [int32x4_t; 2] {
            let mut sum = vdupq_n_s32(0);
            for (group, scale) in self.scales.into_iter().enumerate() {
                let (half, quarter, side) = (group / 8, group % 8 / 2, group % 2);
                let low = load_u8(&self.ql.as_chunks().0[4 * half + quarter % 2 * 2 + side]);
                let high = load_u8(&self.qh.as_chunks().0[2 * half + side]);
                let low = vandq_u8(vshlq_u8(low, vdupq_n_s8(-((quarter / 2 * 4) as i8))), vdupq_n_u8(15));
                let high = vandq_u8(vshlq_u8(high, vdupq_n_s8(4 - 2 * quarter as i8)), vdupq_n_u8(48));
                let qs = vsubq_s8(vreinterpretq_s8_u8(vorrq_u8(low, high)), vdupq_n_s8(32));
                let x = load_i8(&x.qs.as_chunks().0[group]);
                let products = multiply_add::<DOTPROD>(vdupq_n_s32(0), qs, x);
                sum = vmlaq_n_s32(sum, products, i32::from(scale));
            }
            [sum, vdupq_n_s32(0)]
        }
    }
}
