//! Floats of eight to eleven bits (E4M3, E5M2, E3M5, E4M6), small enough for exhaustive tests.

use crate::number::Number;

/// An IEEE-style float with `E` exponent bits and `M` fraction bits, stored as the f64 with its value.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Small<const E: i32, const M: i32>(f64);

const fn power(k: i32) -> f64 {
    f64::from_bits(((1023 + k) as u64) << 52)
}

impl<const E: i32, const M: i32> Small<E, M> {
    const BIAS: i32 = (1 << (E - 1)) - 1;
    /// The largest finite number.
    pub const MAX: f64 = (2.0 - power(-M)) * power(Self::BIAS);

    /// All finite numbers in ascending order, -0 before 0.
    pub fn all() -> Vec<Self> {
        let mut values = vec![];
        for exponent in 0..(1 << E) - 1 {
            for fraction in 0..1 << M {
                let value = if exponent == 0 {
                    fraction as f64 * power(1 - Self::BIAS - M)
                } else {
                    (1.0 + fraction as f64 * power(-M)) * power(exponent - Self::BIAS)
                };
                values.extend([Small(value), Small(-value)]);
            }
        }
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        values
    }

    fn round(value: f64) -> Self {
        if !value.is_finite() || value == 0.0 {
            return Small(value);
        }
        let exponent = ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023;
        let quantum = power(exponent.max(1 - Self::BIAS) - M);
        let rounded = (value / quantum).round_ties_even() * quantum;
        Small(if rounded.abs() > Self::MAX { f64::INFINITY.copysign(value) } else { rounded })
    }
}

// The f64 result is exact or, for a quotient, precise enough that double rounding is innocuous: 53 >= 2 * 7 + 2.
impl<const E: i32, const M: i32> Number for Small<E, M> {
    const INFINITY: Self = Small(f64::INFINITY);

    fn from_f64(value: f64) -> Self {
        Self::round(value)
    }
    fn to_f64(self) -> f64 {
        self.0
    }
    fn add(self, other: Self) -> Self {
        Self::round(self.0 + other.0)
    }
    fn sub(self, other: Self) -> Self {
        Self::round(self.0 - other.0)
    }
    fn mul(self, other: Self) -> Self {
        Self::round(self.0 * other.0)
    }
    fn div(self, other: Self) -> Self {
        Self::round(self.0 / other.0)
    }
    fn floor(self) -> Self {
        Self::round(self.0.floor())
    }
    fn sqrt(self) -> Self {
        Self::round(self.0.sqrt())
    }
    fn next_up(self) -> Self {
        let smallest = power(1 - Self::BIAS - M);
        if self.0 == 0.0 {
            return Small(smallest);
        }
        if !self.0.is_finite() {
            return Small(if self.0 < 0.0 { -Self::MAX } else { self.0 });
        }
        // Below a power of two the steps are half as wide.
        let exponent = ((self.0.to_bits() >> 52) & 0x7ff) as i32 - 1023;
        let quantum = power(exponent.max(1 - Self::BIAS) - M);
        let near = Small(self.0 + quantum / 2.0);
        let representable = self.0 < 0.0 && Self::round(near.0).0 == near.0;
        if representable { near } else { Self::round(self.0 + quantum) }
    }
}
