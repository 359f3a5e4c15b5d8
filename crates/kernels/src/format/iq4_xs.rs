//! IQ4_XS: 256 weights of 4 bits with the codebook of IQ4_NL, a 6-bit scale with offset 32 per 32 weights, and an f16 scale.

use super::{BlockFormat, BlockQ8K, IQ4_CODEBOOK, IQ4_CODEBOOK_BIASED, Scale, block, unpack_nibbles};

block! {
    /// 256 weights in 136 bytes.
    BlockIq4Xs, "iq4_xs", 256, 136, BlockQ8K, {
        d: [u8; 2],
        scales_h: [u8; 2],
        scales_l: [u8; 4],
        qs: [u8; 128],
    }
}

impl BlockIq4Xs {
    /// Unpacks the eight group scales, whose low four and high two bits are stored separately.
    #[inline(always)]
    fn unpack_scales(&self) -> [i16; 8] {
        let (low, high) = (u32::from_le_bytes(self.scales_l), u16::from_le_bytes(self.scales_h));
        let mut scales = [0; 8];
        for (at, scale) in scales.iter_mut().enumerate() {
            *scale = (low >> (4 * at) & 15) as i16 + 16 * (high >> (2 * at) & 3) as i16 - 32;
        }
        scales
    }
}

impl BlockFormat for BlockIq4Xs {
    const BITS: u32 = 8;
    const CODEBOOK: Option<&'static [u8; 16]> = Some(&IQ4_CODEBOOK_BIASED);
    const OFFSET: u8 = 128;

    #[inline(always)]
    fn codes(&self, codes: &mut [u8]) {
        for (codes, bytes) in codes.as_chunks_mut::<32>().0.iter_mut().zip(self.qs.as_chunks::<16>().0) {
            unpack_nibbles(bytes, codes);
        }
    }

    #[inline(always)]
    fn group_scales(&self, scales: &mut [i16]) {
        scales.copy_from_slice(&self.unpack_scales());
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

    impl BlockKernel<BlockQ8K> for BlockIq4Xs {
        #[target_feature(enable = "avx2,fma,f16c")]
        #[inline]
        unsafe fn product<D: Dot>(&self, x: &BlockQ8K) -> [__m256i; 2] {
            let scales = self.unpack_scales();
            let mut sums = [_mm256_setzero_si256(); 2];
            for (at, bytes) in self.qs.as_chunks().0.iter().enumerate() {
                let x = load_i8x32(&x.qs.as_chunks().0[at]);
                let products = signed_products(lookup(&IQ4_CODEBOOK, load_nibbles(bytes)), x);
                sums[at % 2] = dot_words::<D>(sums[at % 2], products, _mm256_set1_epi16(scales[at]));
            }
            [_mm256_add_epi32(sums[0], sums[1]), _mm256_setzero_si256()]
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::*;
    use crate::neon::*;

    impl BlockKernel<BlockQ8K> for BlockIq4Xs {
        #[target_feature(enable = "neon")]
        #[inline]
        unsafe fn product<const DOTPROD: bool>(&self, x: &BlockQ8K) -> [int32x4_t; 2] {
            let mut sum = vdupq_n_s32(0);
            for (at, (bytes, scale)) in self.qs.as_chunks().0.iter().zip(self.unpack_scales()).enumerate() {
                let qs = load_nibbles(bytes).map(|qs| lookup(&IQ4_CODEBOOK, qs));
                let products = dot::<DOTPROD>(qs, load_pair_i8(&x.qs.as_chunks().0[at]));
                sum = vmlaq_n_s32(sum, products, i32::from(scale));
            }
            [sum, vdupq_n_s32(0)]
        }
    }
}
