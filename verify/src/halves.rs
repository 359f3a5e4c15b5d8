//! Properties of half precision, which block scales are stored in: the conversions of the crate `half` against the
//! format's definition.

use half::f16;

use crate::values::Values;

/// The f32 with the value of a finite half, from its three fields: an exponent of 0 means a multiple of 2^-24, any
/// other moves to the bias of f32.
fn widened(bits: u16) -> f32 {
    let (sign, exponent, fraction) = (bits >> 15, bits >> 10 & 31, bits & 0x3ff);
    let magnitude = match exponent {
        0 => f32::from(fraction) * f32::from_bits((127 - 24) << 23),
        _ => f32::from_bits(u32::from(exponent + 127 - 15) << 23 | u32::from(fraction) << 13),
    };
    if sign == 1 { -magnitude } else { magnitude }
}

/// A finite half becomes the f32 of the same value, also below the normal numbers; infinities and NaN stay what they are.
pub fn a_half_becomes_the_f32_of_its_value<V: Values>(values: &mut V) {
    let bits = values.bits() as u16;
    let wide = f16::from_bits(bits).to_f32();
    values.cover(bits & 0x7c00 == 0 && bits & 0x3ff != 0);
    if bits & 0x7c00 != 0x7c00 {
        assert!(wide.to_bits() == widened(bits).to_bits(), "a finite half became another value");
    } else if bits & 0x3ff == 0 {
        let infinity = if bits >> 15 == 1 { f32::NEG_INFINITY } else { f32::INFINITY };
        assert!(wide == infinity, "an infinite half became another value");
    } else {
        assert!(wide.is_nan(), "a half that is no number became one");
    }
}

/// A half that is a number survives the way to f32 and back.
pub fn a_half_comes_back_from_f32<V: Values>(values: &mut V) {
    let bits = values.bits() as u16;
    let number = bits & 0x7c00 != 0x7c00 || bits & 0x3ff == 0;
    values.cover(number && bits & 0x7c00 == 0);
    if number {
        let back = f16::from_f32(f16::from_bits(bits).to_f32()).to_bits();
        assert!(back == bits, "a half did not come back from f32");
    }
}

drive! {
    a_half_becomes_the_f32_of_its_value unwind 4;
    a_half_comes_back_from_f32 unwind 4;
}
