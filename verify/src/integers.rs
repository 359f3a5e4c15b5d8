//! Properties of the test for integers in generated code, a round trip through i64, compared with the bits of the format.

use crate::values::Values;

/// Beyond this, every f64 is an integer; domains do not exceed it.
const MAX_INTEGER: f64 = 9_007_199_254_740_992.0;

/// True if the fraction bits of a number are zero.
fn is_whole(value: f64) -> bool {
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32 - 1023;
    value == 0.0 || exponent >= 52 || (exponent >= 0 && bits << (12 + exponent) == 0)
}

/// A conversion to an integer and back preserves a number if and only if it is an integer.
pub fn integers_survive_a_round_trip<V: Values>(values: &mut V) {
    let mut value = f64::from_bits(values.bits());
    // Random bits are rarely in the range of numbers with a fraction.
    if !cfg!(kani) && values.bits() & 1 == 1 {
        value = (values.below(1 << 40) as f64 - 1e9) / 4.0;
    }
    let whole = is_whole(value);
    values.cover(whole && value < -1.0);
    if value.abs() <= MAX_INTEGER {
        assert!((value as i64 as f64 == value) == whole, "the round trip does not match the fraction bits");
    } else {
        assert!(whole, "a number this large has a fraction");
    }
}

drive! {
    integers_survive_a_round_trip unwind 2;
}
