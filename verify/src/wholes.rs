//! Properties of how generated code tells whole numbers: by the way to an integer and back, against the bits of the format.

use crate::values::Values;

/// Beyond this every f64 is whole, and no domain reaches so far.
const LARGEST: f64 = 9_007_199_254_740_992.0;

/// Whether a number has no fraction, from its bits: those below the unit are 0.
fn is_whole(value: f64) -> bool {
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32 - 1023;
    value == 0.0 || exponent >= 52 || (exponent >= 0 && bits << (12 + exponent) == 0)
}

/// A number comes back from an integer exactly where it has no fraction.
pub fn what_comes_back_from_an_integer_is_whole<V: Values>(values: &mut V) {
    let mut value = f64::from_bits(values.bits());
    // Random bits are rarely near the numbers that may have a fraction.
    if !cfg!(kani) && values.bits() & 1 == 1 {
        value = (values.below(1 << 40) as f64 - 1e9) / 4.0;
    }
    let whole = is_whole(value);
    values.cover(whole && value < -1.0);
    if value.abs() <= LARGEST {
        assert!(
            (value as i64 as f64 == value) == whole,
            "a number with a fraction came back, or one without did not"
        );
    } else {
        assert!(whole, "a number this large has a fraction");
    }
}

drive! {
    what_comes_back_from_an_integer_is_whole unwind 2;
}
