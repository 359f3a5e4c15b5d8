//! Sources of values for properties: symbolic under Kani, corners and random bits in a test.

/// A source of values.
pub trait Values {
    /// Any 64 bits.
    fn bits(&mut self) -> u64;
    /// Requires that the condition is true for some values; otherwise the property is vacuous.
    fn cover(&mut self, condition: bool);

    /// Any number below `bound`, which is not 0.
    fn below(&mut self, bound: u64) -> u64;

    /// Any number from `low` to `high`; for a model checker, only those with four significant bits, so that it can show that
    /// two equal computations have equal results.
    fn short(&mut self, low: f64, high: f64) -> f64;

    /// Any bytes.
    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.bits() as u8)
    }
}

/// Corners, then random bits; deterministic.
#[cfg(test)]
pub struct Samples {
    state: u64,
    round: usize,
    covered: bool,
}

#[cfg(test)]
impl Values for Samples {
    fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let random = z ^ (z >> 31);
        match (self.round < 200, random % 5) {
            (true, 0) => 0,
            (true, 1) => u64::MAX,
            (true, 2) => 0x7f7f_7f7f_7f7f_7f7f,
            (true, 3) => 0x8080_8080_8080_8080,
            _ => z.rotate_left(17) ^ random,
        }
    }

    fn cover(&mut self, condition: bool) {
        self.covered |= condition;
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.bits() % bound
    }

    fn short(&mut self, low: f64, high: f64) -> f64 {
        let part = (self.bits() >> 11) as f64 / (1u64 << 53) as f64;
        (low + (high - low) * part).clamp(low, high)
    }
}

/// Runs a property at many points.
#[cfg(test)]
pub fn sample(property: fn(&mut Samples)) {
    let mut samples = Samples { state: 0, round: 0, covered: false };
    while samples.round < 5000 {
        property(&mut samples);
        samples.round += 1;
    }
    assert!(samples.covered, "no test point satisfies the cover condition of the property");
}

/// Symbolic values.
#[cfg(kani)]
pub struct Symbolic;

#[cfg(kani)]
impl Values for Symbolic {
    fn bits(&mut self) -> u64 {
        kani::any()
    }

    fn cover(&mut self, condition: bool) {
        kani::cover!(condition, "the property is not vacuous");
    }

    fn below(&mut self, bound: u64) -> u64 {
        let value: u64 = kani::any();
        // A mask is cheaper for a model checker than an assumption.
        if bound.is_power_of_two() {
            return value & (bound - 1);
        }
        kani::assume(value < bound);
        value
    }

    fn short(&mut self, low: f64, high: f64) -> f64 {
        let bits: u32 = kani::any();
        let value = f64::from_bits(u64::from(bits >> 17) << 49);
        kani::assume(low <= value && value <= high);
        value
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        kani::any()
    }
}
