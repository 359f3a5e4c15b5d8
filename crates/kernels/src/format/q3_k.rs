//! Q3_K: 256 weights of 3 bits with offset 4, a 6-bit scale with offset 32 per 16 weights, and an f16 scale. The high bits of the
//! weights are stored separately.

use super::{BlockFormat, BlockQ8K, Scale, block};

block! {
    /// 256 weights in 110 bytes.
    BlockQ3K, "q3_k", 256, 110, BlockQ8K, {
        hmask: [u8; 32],
        qs: [u8; 64],
        scales: [u8; 12],
        d: [u8; 2],
    }
}

impl BlockQ3K {
    /// The sixteen group scales plus 32. The low four bits are in the first eight bytes, the high two in the last four.
    #[inline(always)]
    fn biased_scales(&self) -> [u64; 2] {
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| self.scales[at + byte]));
        let (low, high) = (u64::from(word(0)) | u64::from(word(4)) << 32, u64::from(word(8)));
        let (four, two) = (0x0f0f_0f0f_0f0f_0f0f, 0x3030_3030_3030_3030);
        [low & four | (high << 4 | high << 34) & two, low >> 4 & four | (high | high << 30) & two]
    }

    /// The sixteen group scales.
    #[inline(always)]
    fn unpack_scales(&self) -> [i8; 16] {
        let mut scales = [0; 16];
        let biased = self.biased_scales().map(u64::to_le_bytes);
        for (scale, biased) in scales.iter_mut().zip(biased.as_flattened()) {
            *scale = *biased as i8 - 32;
        }
        scales
    }
}

impl BlockFormat for BlockQ3K {
    const GROUP: usize = 16;
    const BITS: u32 = 3;
    const OFFSET: u8 = 4;

    #[inline(always)]
    fn codes(&self, codes: &mut [u8]) {
        for (at, codes) in codes.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            let bytes = &self.qs[at / 4 * 32..];
            for ((code, byte), high) in codes.iter_mut().zip(bytes).zip(&self.hmask) {
                *code = byte >> (at % 4 * 2) & 3 | (high >> at & 1) << 2;
            }
        }
    }

    #[inline(always)]
    fn group_scales(&self, scales: &mut [i16]) {
        for (to, scale) in scales.iter_mut().zip(self.unpack_scales()) {
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

    impl BlockKernel<BlockQ8K> for BlockQ3K {
        #[target_feature(enable = "avx2,fma,f16c")]
        #[inline]
        unsafe fn product<D: Dot>(&self, x: &BlockQ8K) -> [__m256i; 2] {
            // In registers, to avoid a store-forwarding stall.
            let [first, second] = self.biased_scales().map(|scales| scales as i64);
            let group_scales = _mm_sub_epi8(_mm_set_epi64x(second, first), _mm_set1_epi8(32));
            let scales = pair_scales(group_scales);
            let (low_bits, high_bit) = (_mm256_set1_epi8(3), _mm256_set1_epi8(4));
            let hmask = load_i8x32(&self.hmask);
            let mut sums = [_mm256_setzero_si256(); 2];
            for half in 0..2 {
                let bytes = load_i8x32(&self.qs.as_chunks().0[half]);
                let qs = [
                    bytes,
                    _mm256_srli_epi16::<2>(bytes),
                    _mm256_srli_epi16::<4>(bytes),
                    _mm256_srli_epi16::<6>(bytes),
                ];
                let hmask =
                    if half == 0 { _mm256_slli_epi16::<2>(hmask) } else { _mm256_srli_epi16::<2>(hmask) };
                let hmask = [
                    hmask,
                    _mm256_srli_epi16::<1>(hmask),
                    _mm256_srli_epi16::<2>(hmask),
                    _mm256_srli_epi16::<3>(hmask),
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
                        _mm256_and_si256(qs[part], low_bits),
                        _mm256_and_si256(hmask[part], high_bit),
                    );
                    let products = _mm256_maddubs_epi16(qs, x);
                    sums[part % 2] = dot_words::<D>(sums[part % 2], products, scales[part]);
                }
            }
            let offset = _mm256_madd_epi16(_mm256_cvtepi8_epi16(group_scales), load_i16x16(&x.bsums));
            let sum = _mm256_add_epi32(sums[0], sums[1]);
            [_mm256_sub_epi32(sum, _mm256_slli_epi32::<2>(offset)), _mm256_setzero_si256()]
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::*;
    use crate::neon::*;

    impl BlockKernel<BlockQ8K> for BlockQ3K {
        #[target_feature(enable = "neon")]
        #[inline]
        unsafe fn product<const DOTPROD: bool>(&self, x: &BlockQ8K) -> [int32x4_t; 2] {
            let mut sum = vdupq_n_s32(0);
            for (group, scale) in self.unpack_scales().into_iter().enumerate() {
                let bytes = load_u8(&self.qs.as_chunks().0[group / 8 * 2 + group % 2]);
                let hmask = load_u8(&self.hmask.as_chunks().0[group % 2]);
                let low = vandq_u8(vshlq_u8(bytes, vdupq_n_s8(-((group % 8 / 2 * 2) as i8))), vdupq_n_u8(3));
                let high = vandq_u8(vshlq_u8(hmask, vdupq_n_s8(2 - (group / 2) as i8)), vdupq_n_u8(4));
                let qs = vsubq_s8(vreinterpretq_s8_u8(vorrq_u8(low, high)), vdupq_n_s8(4));
                let x = load_i8(&x.qs.as_chunks().0[group]);
                let products = multiply_add::<DOTPROD>(vdupq_n_s32(0), qs, x);
                sum = vmlaq_n_s32(sum, products, i32::from(scale));
            }
            [sum, vdupq_n_s32(0)]
        }
    }
}
