//! Operations of a number format for range analysis, generic so that tests can check tiny floats exhaustively.

/// A binary floating-point format with infinities, NaN and round to nearest even.
pub trait Number: Copy + PartialOrd + std::fmt::Debug {
    /// Positive infinity.
    const INFINITY: Self;

    /// The nearest number of the format.
    fn from_f64(value: f64) -> Self;
    /// The value, exactly.
    fn to_f64(self) -> f64;
    /// `self + other`, rounded.
    fn add(self, other: Self) -> Self;
    /// `self - other`, rounded.
    fn sub(self, other: Self) -> Self;
    /// `self * other`, rounded.
    fn mul(self, other: Self) -> Self;
    /// `self / other`, rounded.
    fn div(self, other: Self) -> Self;
    /// The largest integer that is not greater.
    fn floor(self) -> Self;
    /// The square root, rounded.
    fn sqrt(self) -> Self;
    /// The next larger number.
    fn next_up(self) -> Self;

    /// `-self`
    fn neg(self) -> Self {
        Self::from_f64(-self.to_f64())
    }
    /// The absolute value.
    fn abs(self) -> Self {
        Self::from_f64(self.to_f64().abs())
    }
    /// The next smaller number.
    fn next_down(self) -> Self {
        self.neg().next_up().neg()
    }
    /// The smallest integer that is not smaller.
    fn ceil(self) -> Self {
        self.neg().floor().neg()
    }
    /// True for NaN.
    fn is_nan(self) -> bool {
        self.to_f64().is_nan()
    }
    /// True if the value is neither infinite nor NaN.
    fn is_finite(self) -> bool {
        self.to_f64().is_finite()
    }
}

impl Number for f64 {
    const INFINITY: f64 = f64::INFINITY;

    fn from_f64(value: f64) -> f64 {
        value
    }
    fn to_f64(self) -> f64 {
        self
    }
    fn add(self, other: f64) -> f64 {
        self + other
    }
    fn sub(self, other: f64) -> f64 {
        self - other
    }
    fn mul(self, other: f64) -> f64 {
        self * other
    }
    fn div(self, other: f64) -> f64 {
        self / other
    }
    fn floor(self) -> f64 {
        f64::floor(self)
    }
    fn sqrt(self) -> f64 {
        f64::sqrt(self)
    }
    fn next_up(self) -> f64 {
        f64::next_up(self)
    }
}

/// Multiplies 1 by `base`, `exponent` times, like [`crate::eval::pow`].
pub fn pow<F: Number>(base: F, exponent: F) -> F {
    let mut product = F::from_f64(1.0);
    let mut left = exponent.to_f64().clamp(0.0, crate::graph::MAX_POW) as u32;
    while left > 0 {
        let next = product.mul(base);
        // A product that no longer changes has reached its limit: 0, 1 or an infinity. A zero may still change its sign.
        if next.to_f64().to_bits() == product.to_f64().to_bits() {
            break;
        }
        product = next;
        left -= 1;
    }
    product
}
