//! Q5_K: 256 weights of 5 bits with a 6-bit scale and minimum per 32 weights, and f16 scales for both. The high bits of the weights
//! are stored separately.

use super::{BlockFormat, BlockQ8K, Scale, block, unpack_scales_and_minima};

block! {
    /// 256 weights in 176 bytes.
    BlockQ5K, "q5_k", 256, 176, BlockQ8K, {
        d: [u8; 2],
        dmin: [u8; 2],
        scales: [u8; 12],
        qh: [u8; 32],
        qs: [u8; 128],
    }
}

impl BlockFormat for BlockQ5K {
    const BITS: u32 = 5;
    const HAS_MINIMA: bool = true;

    #[inline(always)]
    fn codes(&self, codes: &mut [u8]) {
        // Each 32 bytes hold two groups of 32 weights.
        for (at, codes) in codes.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            let bytes = &self.qs[at / 2 * 32..];
            for ((code, byte), high) in codes.iter_mut().zip(bytes).zip(&self.qh) {
                *code = byte >> (at % 2 * 4) & 15 | (high >> at & 1) << 4;
            }
        }
    }

    #[inline(always)]
    fn group_scales(&self, scales: &mut [i16]) {
        let [unpacked, _] = unpack_scales_and_minima(&self.scales);
        for (to, scale) in scales.iter_mut().zip(unpacked) {
            *to = i16::from(scale);
        }
    }

    #[inline(always)]
    fn group_minima(&self, minima: &mut [i16]) {
        let [_, unpacked] = unpack_scales_and_minima(&self.scales);
        for (to, minimum) in minima.iter_mut().zip(unpacked) {
            *to = i16::from(minimum);
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

    impl BlockKernel<BlockQ8K> for BlockQ5K {
        #[target_feature(enable = "avx2,fma,f16c")]
        #[inline]
        unsafe fn product<D: Dot>(&self, x: &BlockQ8K) -> [__m256i; 2] {
            let [scales, minima] = unpack_scales_and_minima(&self.scales);
            let (scales, low_bits, high_bit) =
                (broadcast_scales(scales), _mm256_set1_epi8(15), _mm256_set1_epi8(16));
            let mut qh = load_i8x32(&self.qh);
            let mut sums = [_mm256_setzero_si256(); 2];
            for quarter in 0..4 {
                let bytes = load_i8x32(&self.qs.as_chunks().0[quarter]);
                let low = [
                    _mm256_and_si256(bytes, low_bits),
                    _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), low_bits),
                ];
                let high = [_mm256_slli_epi16::<4>(qh), _mm256_slli_epi16::<3>(qh)];
                qh = _mm256_srli_epi16::<2>(qh);
                for part in 0..2 {
                    let x = load_i8x32(&x.qs.as_chunks().0[2 * quarter + part]);
                    let qs = _mm256_or_si256(low[part], _mm256_and_si256(high[part], high_bit));
                    let products = _mm256_maddubs_epi16(qs, x);
                    sums[part] = dot_words::<D>(sums[part], products, scales[2 * quarter + part]);
                }
            }
            [_mm256_add_epi32(sums[0], sums[1]), dot_minima(minima, &x.bsums)]
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::*;
    use crate::neon::*;

    impl BlockKernel<BlockQ8K> for BlockQ5K {
        #[target_feature(enable = "neon")]
        #[inline]
        unsafe fn product<const DOTPROD: bool>(&self, x: &BlockQ8K) -> [int32x4_t; 2] {
            let [scales, minima] = unpack_scales_and_minima(&self.scales);
            let qh = load_pair(&self.qh);
            let mut sum = vdupq_n_s32(0);
            for (at, scale) in scales.into_iter().enumerate() {
                let bytes = load_pair(&self.qs.as_chunks().0[at / 2]);
                let (shift, place) = (vdupq_n_s8(-((at % 2 * 4) as i8)), vdupq_n_s8(4 - at as i8));
                let qs = [0, 1].map(|half| {
                    let low = vandq_u8(vshlq_u8(bytes[half], shift), vdupq_n_u8(15));
                    let high = vandq_u8(vshlq_u8(qh[half], place), vdupq_n_u8(16));
                    vreinterpretq_s8_u8(vorrq_u8(low, high))
                });
                let products = dot::<DOTPROD>(qs, load_pair_i8(&x.qs.as_chunks().0[at]));
                sum = vmlaq_n_s32(sum, products, i32::from(scale));
            }
            [sum, dot_minima(minima, &x.bsums)]
        }
    }
}
