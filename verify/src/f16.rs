//! Properties of f16, the type of block scales: the conversions of the crate `half` match the definition of the format.

use half::f16;

use crate::values::Values;

/// The f32 with the value of a finite f16, from its three fields: an exponent of 0 means a multiple of 2^-24, any other
/// exponent is rebiased.
fn widened(bits: u16) -> f32 {
    let (sign, exponent, fraction) = (bits >> 15, bits >> 10 & 31, bits & 0x3ff);
    let magnitude = match exponent {
        0 => f32::from(fraction) * f32::from_bits((127 - 24) << 23),
        _ => f32::from_bits(u32::from(exponent + 127 - 15) << 23 | u32::from(fraction) << 13),
    };
    if sign == 1 { -magnitude } else { magnitude }
}

/// Every f16 converts to the f32 with the same value, including subnormal numbers, infinities and NaN.
pub fn f16_converts_to_the_same_f32<V: Values>(values: &mut V) {
    let bits = values.bits() as u16;
    let wide = f16::from_bits(bits).to_f32();
    values.cover(bits & 0x7c00 == 0 && bits & 0x3ff != 0);
    if bits & 0x7c00 != 0x7c00 {
        assert!(wide.to_bits() == widened(bits).to_bits(), "a finite f16 changed its value");
    } else if bits & 0x3ff == 0 {
        let infinity = if bits >> 15 == 1 { f32::NEG_INFINITY } else { f32::INFINITY };
        assert!(wide == infinity, "an infinite f16 changed its value");
    } else {
        assert!(wide.is_nan(), "NaN became a number");
    }
}

/// Converting an f16 other than NaN to f32 and back returns the same bits.
pub fn f16_survives_a_round_trip<V: Values>(values: &mut V) {
    let bits = values.bits() as u16;
    let number = bits & 0x7c00 != 0x7c00 || bits & 0x3ff == 0;
    values.cover(number && bits & 0x7c00 == 0);
    if number {
        let back = f16::from_f32(f16::from_bits(bits).to_f32()).to_bits();
        assert!(back == bits, "a round trip changed an f16");
    }
}

drive! {
    f16_converts_to_the_same_f32 unwind 4;
    f16_survives_a_round_trip unwind 4;
}
