//! MXFP4: 32 E2M1 floats of 4 bits with a power-of-two scale (E8M0). Twice an E2M1 float is an integer, so the codebook is doubled and
//! the scale halved.

use super::{BlockFormat, BlockQ8_0, Scale, biased, block, unpack_nibbles};

/// The sixteen E2M1 values, doubled.
pub(super) const E2M1_CODEBOOK: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];
/// [`E2M1_CODEBOOK`] plus 12, as unsigned bytes.
pub(super) const E2M1_CODEBOOK_BIASED: [u8; 16] = biased(E2M1_CODEBOOK, 12);

block! {
    /// 32 weights in 17 bytes.
    BlockMxfp4, "mxfp4", 32, 17, BlockQ8_0, {
        e: u8,
        qs: [u8; 16],
    }
}

impl BlockFormat for BlockMxfp4 {
    const BITS: u32 = 5;
    const CODEBOOK: Option<&'static [u8; 16]> = Some(&E2M1_CODEBOOK_BIASED);
    const OFFSET: u8 = 12;

    #[inline(always)]
    fn codes(&self, codes: &mut [u8]) {
        unpack_nibbles(&self.qs, codes);
    }

    /// Half of `2^(e - 127)`; the two smallest results are subnormal.
    #[inline(always)]
    fn block_scales(&self) -> [Scale; 2] {
        let exponent = u32::from(self.e);
        let bits = if exponent < 2 { 0x0020_0000 << exponent } else { (exponent - 1) << 23 };
        [Scale::F32(f32::from_bits(bits)), Scale::ZERO]
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::*;
    use crate::avx2::*;

    impl BlockKernel<BlockQ8_0> for BlockMxfp4 {
        #[target_feature(enable = "avx2,fma,f16c")]
        #[inline]
        unsafe fn product<D: Dot>(&self, x: &BlockQ8_0) -> [__m256i; 2] {
            let codes = lookup(&E2M1_CODEBOOK_BIASED, load_nibbles(&self.qs));
            [dot_minus_offset::<D>(codes, 12, load_i8x32(&x.qs)), _mm256_setzero_si256()]
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::*;
    use crate::neon::*;

    impl BlockKernel<BlockQ8_0> for BlockMxfp4 {
        #[target_feature(enable = "neon")]
        #[inline]
        unsafe fn product<const DOTPROD: bool>(&self, x: &BlockQ8_0) -> [int32x4_t; 2] {
            let qs = load_nibbles(&self.qs).map(|qs| lookup(&E2M1_CODEBOOK, qs));
            [dot::<DOTPROD>(qs, load_qs(x)), vdupq_n_s32(0)]
        }
    }
}
