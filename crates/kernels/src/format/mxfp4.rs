//! MXFP4: 32 floats of four bits (E2M1), and a power of two as their scale (E8M0). Twice such a float is a whole number, so the
//! numbers here are doubled and the scale is halved.

use super::{BlockQ8_0, Format, Scale, block, nibbles, raised};

/// The sixteen floats, doubled.
pub(super) const DOUBLED: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];
/// The same, as numbers without a sign: twelve more.
pub(super) const RAISED: [u8; 16] = raised(DOUBLED, 12);

block! {
    /// 32 weights in 17 bytes.
    BlockMxfp4, "mxfp4", 32, 17, BlockQ8_0, {
        exponent: u8,
        quants: [u8; 16],
    }
}

impl Format for BlockMxfp4 {
    const BITS: u32 = 5;
    const CHOICE: Option<&'static [u8; 16]> = Some(&RAISED);
    const OFFSET: u8 = 12;

    #[inline(always)]
    fn numbers(&self, numbers: &mut [u8]) {
        nibbles(&self.quants, numbers);
    }

    /// Half of `2^(exponent - 127)`: the two smallest are no normal numbers.
    #[inline(always)]
    fn scales(&self) -> [Scale; 2] {
        let exponent = u32::from(self.exponent);
        let bits = if exponent < 2 { 0x0020_0000 << exponent } else { (exponent - 1) << 23 };
        [Scale::Single(f32::from_bits(bits)), Scale::ZERO]
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::*;
    use crate::avx2::*;

    impl Vector<BlockQ8_0> for BlockMxfp4 {
        #[target_feature(enable = "avx2,fma,f16c")]
        #[inline]
        unsafe fn product<D: Dot>(&self, x: &BlockQ8_0) -> [__m256i; 2] {
            let numbers = look_up(&RAISED, load_nibbles(&self.quants));
            [dot_less::<D>(numbers, 12, load_bytes(&x.quants)), _mm256_setzero_si256()]
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::*;
    use crate::neon::*;

    impl Vector<BlockQ8_0> for BlockMxfp4 {
        #[target_feature(enable = "neon")]
        #[inline]
        unsafe fn product<const DOTPROD: bool>(&self, x: &BlockQ8_0) -> [int32x4_t; 2] {
            let quants = load_nibbles(&self.quants).map(|quants| look_up(&DOUBLED, quants));
            [dot::<DOTPROD>(quants, quants_of(x)), vdupq_n_s32(0)]
        }
    }
}
