//! Q3_K: 256 weights of three bits, less four; every 16 of them have a scale of six bits, less 32. The third bits are kept apart.

use super::{BlockQ8K, Format, Scale, block};

block! {
    /// 256 weights in 110 bytes.
    BlockQ3K, "q3_k", 256, 110, BlockQ8K, {
        thirds: [u8; 32],
        quants: [u8; 64],
        parts: [u8; 12],
        scale: [u8; 2],
    }
}

impl BlockQ3K {
    /// The sixteen scales, 32 more than they are: four bits of each in the first eight bytes, two in the last four.
    #[inline(always)]
    fn raised_scales(&self) -> [u64; 2] {
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| self.parts[at + byte]));
        let (low, high) = (u64::from(word(0)) | u64::from(word(4)) << 32, u64::from(word(8)));
        let (four, two) = (0x0f0f_0f0f_0f0f_0f0f, 0x3030_3030_3030_3030);
        [low & four | (high << 4 | high << 34) & two, low >> 4 & four | (high | high << 30) & two]
    }

    /// The sixteen scales.
    #[inline(always)]
    fn group_scales(&self) -> [i8; 16] {
        let mut parts = [0; 16];
        let raised = self.raised_scales().map(u64::to_le_bytes);
        for (part, raised) in parts.iter_mut().zip(raised.as_flattened()) {
            *part = *raised as i8 - 32;
        }
        parts
    }
}

impl Format for BlockQ3K {
    const GROUP: usize = 16;
    const BITS: u32 = 3;
    const OFFSET: u8 = 4;

    #[inline(always)]
    fn numbers(&self, numbers: &mut [u8]) {
        for (at, numbers) in numbers.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            let bytes = &self.quants[at / 4 * 32..];
            for ((number, byte), third) in numbers.iter_mut().zip(bytes).zip(&self.thirds) {
                *number = byte >> (at % 4 * 2) & 3 | (third >> at & 1) << 2;
            }
        }
    }

    #[inline(always)]
    fn parts(&self, parts: &mut [i16]) {
        for (part, stored) in parts.iter_mut().zip(self.group_scales()) {
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

    impl Vector<BlockQ8K> for BlockQ3K {
        #[target_feature(enable = "avx2,fma,f16c")]
        #[inline]
        unsafe fn product<D: Dot>(&self, x: &BlockQ8K) -> [__m256i; 2] {
            // In registers: what is stored byte by byte is waited for when it is loaded as a whole.
            let [first, second] = self.raised_scales().map(|scales| scales as i64);
            let parts = _mm_sub_epi8(_mm_set_epi64x(second, first), _mm_set1_epi8(32));
            let scales = scales_of_pairs(parts);
            let (two, four) = (_mm256_set1_epi8(3), _mm256_set1_epi8(4));
            let thirds = load_bytes(&self.thirds);
            let mut sums = [_mm256_setzero_si256(); 2];
            for half in 0..2 {
                let bytes = load_bytes(&self.quants.as_chunks().0[half]);
                let quants = [
                    bytes,
                    _mm256_srli_epi16::<2>(bytes),
                    _mm256_srli_epi16::<4>(bytes),
                    _mm256_srli_epi16::<6>(bytes),
                ];
                let thirds =
                    if half == 0 { _mm256_slli_epi16::<2>(thirds) } else { _mm256_srli_epi16::<2>(thirds) };
                let thirds = [
                    thirds,
                    _mm256_srli_epi16::<1>(thirds),
                    _mm256_srli_epi16::<2>(thirds),
                    _mm256_srli_epi16::<3>(thirds),
                ];
                let scales = [
                    _mm256_shuffle_epi32::<0x00>(scales[half]),
                    _mm256_shuffle_epi32::<0x55>(scales[half]),
                    _mm256_shuffle_epi32::<0xaa>(scales[half]),
                    _mm256_shuffle_epi32::<0xff>(scales[half]),
                ];
                for part in 0..4 {
                    let x = load_bytes(&x.quants.as_chunks().0[4 * half + part]);
                    let quants = _mm256_or_si256(
                        _mm256_and_si256(quants[part], two),
                        _mm256_and_si256(thirds[part], four),
                    );
                    let products = _mm256_maddubs_epi16(quants, x);
                    sums[part % 2] = dot_words::<D>(sums[part % 2], products, scales[part]);
                }
            }
            let offset = _mm256_madd_epi16(_mm256_cvtepi8_epi16(parts), load_words(&x.sums));
            let sum = _mm256_add_epi32(sums[0], sums[1]);
            [_mm256_sub_epi32(sum, _mm256_slli_epi32::<2>(offset)), _mm256_setzero_si256()]
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::*;
    use crate::neon::*;

    impl Vector<BlockQ8K> for BlockQ3K {
        #[target_feature(enable = "neon")]
        #[inline]
        unsafe fn product<const DOTPROD: bool>(&self, x: &BlockQ8K) -> [int32x4_t; 2] {
            let mut sum = vdupq_n_s32(0);
            for (group, part) in self.group_scales().into_iter().enumerate() {
                let bytes = load_u8(&self.quants.as_chunks().0[group / 8 * 2 + group % 2]);
                let thirds = load_u8(&self.thirds.as_chunks().0[group % 2]);
                let low = vandq_u8(vshlq_u8(bytes, vdupq_n_s8(-((group % 8 / 2 * 2) as i8))), vdupq_n_u8(3));
                let high = vandq_u8(vshlq_u8(thirds, vdupq_n_s8(2 - (group / 2) as i8)), vdupq_n_u8(4));
                let quants = vsubq_s8(vreinterpretq_s8_u8(vorrq_u8(low, high)), vdupq_n_s8(4));
                let x = load_i8(&x.quants.as_chunks().0[group]);
                let products = multiply_add::<DOTPROD>(vdupq_n_s32(0), quants, x);
                sum = vmlaq_n_s32(sum, products, i32::from(part));
            }
            [sum, vdupq_n_s32(0)]
        }
    }
}
