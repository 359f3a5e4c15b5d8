//! IQ4_NL: 32 weights of 4 bits, which index a non-linear codebook, with an f16 scale.

use super::{BlockFormat, BlockQ8_0, IQ4_CODEBOOK, IQ4_CODEBOOK_BIASED, Scale, block, unpack_nibbles};

block! {
    /// 32 weights in 18 bytes.
    BlockIq4Nl, "iq4_nl", 32, 18, BlockQ8_0, {
        d: [u8; 2],
        qs: [u8; 16],
    }
}

impl BlockFormat for BlockIq4Nl {
    const BITS: u32 = 8;
    const CODEBOOK: Option<&'static [u8; 16]> = Some(&IQ4_CODEBOOK_BIASED);
    const OFFSET: u8 = 128;

    #[inline(always)]
    fn codes(&self, codes: &mut [u8]) {
        unpack_nibbles(&self.qs, codes);
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

    impl BlockKernel<BlockQ8_0> for BlockIq4Nl {
        #[target_feature(enable = "avx2,fma,f16c")]
        #[inline]
        unsafe fn product<D: Dot>(&self, x: &BlockQ8_0) -> [__m256i; 2] {
            let (codes, x) = (load_nibbles(&self.qs), load_i8x32(&x.qs));
            let products = if D::FULL_RANGE {
                dot_minus_offset::<D>(lookup(&IQ4_CODEBOOK_BIASED, codes), 128, x)
            } else {
                add_pairs(signed_products(lookup(&IQ4_CODEBOOK, codes), x))
            };
            [products, _mm256_setzero_si256()]
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::*;
    use crate::neon::*;

    impl BlockKernel<BlockQ8_0> for BlockIq4Nl {
        #[target_feature(enable = "neon")]
        #[inline]
        unsafe fn product<const DOTPROD: bool>(&self, x: &BlockQ8_0) -> [int32x4_t; 2] {
            let qs = load_nibbles(&self.qs).map(|qs| lookup(&IQ4_CODEBOOK, qs));
            [dot::<DOTPROD>(qs, load_qs(x)), vdupq_n_s32(0)]
        }
    }
}
