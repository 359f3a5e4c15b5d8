//! Where a property takes its values from: anything at all under Kani, corners and random bits in a test.

/// A source of values.
pub trait Values {
    /// Any 64 bits.
    fn bits(&mut self) -> u64;
    /// This must be true for some values, or the property is about nothing.
    fn cover(&mut self, condition: bool);

    /// Any number below `bound`, which is not 0.
    fn below(&mut self, bound: u64) -> u64;

    /// Any number from `low` to `high`; to a model checker one of four significant bits, so that it can tell that what is
    /// computed twice is the same.
    fn short(&mut self, low: f64, high: f64) -> f64;

    /// Any bytes.
    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.bits() as u8)
    }
}

/// Corners first, then random bits; always the same ones.
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
    assert!(samples.covered, "no point reached what the property is about");
}

/// Any value at all.
#[cfg(kani)]
pub struct Symbolic;

#[cfg(kani)]
impl Values for Symbolic {
    fn bits(&mut self) -> u64 {
        kani::any()
    }

    fn cover(&mut self, condition: bool) {
        kani::cover!(condition, "what the property is about can happen");
    }

    fn below(&mut self, bound: u64) -> u64 {
        let value: u64 = kani::any();
        // Bits that are known to be 0 cost a model checker nothing; those that it must find out do.
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
