//! IQ4_NL: 32 weights, each one of sixteen numbers that lie closer together near zero, and one f16 scale.

use super::{BlockQ8_0, Format, NONLINEAR, NONLINEAR_RAISED, Scale, block, nibbles};

block! {
    /// 32 weights in 18 bytes.
    BlockIq4Nl, "iq4_nl", 32, 18, BlockQ8_0, {
        scale: [u8; 2],
        quants: [u8; 16],
    }
}

impl Format for BlockIq4Nl {
    const BITS: u32 = 8;
    const CHOICE: Option<&'static [u8; 16]> = Some(&NONLINEAR_RAISED);
    const OFFSET: u8 = 128;

    #[inline(always)]
    fn numbers(&self, numbers: &mut [u8]) {
        nibbles(&self.quants, numbers);
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

    impl Vector<BlockQ8_0> for BlockIq4Nl {
        #[target_feature(enable = "avx2,fma,f16c")]
        #[inline]
        unsafe fn product<D: Dot>(&self, x: &BlockQ8_0) -> [__m256i; 2] {
            let (numbers, x) = (load_nibbles(&self.quants), load_bytes(&x.quants));
            let products = if D::ALL_BITS {
                dot_less::<D>(look_up(&NONLINEAR_RAISED, numbers), 128, x)
            } else {
                pairs(signed_products(look_up(&NONLINEAR, numbers), x))
            };
            [products, _mm256_setzero_si256()]
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::*;
    use crate::neon::*;

    impl Vector<BlockQ8_0> for BlockIq4Nl {
        #[target_feature(enable = "neon")]
        #[inline]
        unsafe fn product<const DOTPROD: bool>(&self, x: &BlockQ8_0) -> [int32x4_t; 2] {
            let quants = load_nibbles(&self.quants).map(|quants| look_up(&NONLINEAR, quants));
            [dot::<DOTPROD>(quants, quants_of(x)), vdupq_n_s32(0)]
        }
    }
}
