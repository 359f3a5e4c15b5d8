//! Points of a domain: where things tend to break, and uniform over the bits. The same seed gives the same points.

use crate::contract::Contract;
use crate::domain::Domain;

/// A small deterministic generator (splitmix64).
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    #[allow(clippy::should_implement_trait, reason = "it never ends, and is no iterator")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below the bound, or 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// One of these, if there are any.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }
}

/// Numbers in order, as integers without gaps; both zeros are 0.
pub fn key(value: f64) -> i64 {
    let bits = value.to_bits() as i64;
    if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
}

/// The number of a key.
pub fn unkey(key: i64) -> f64 {
    f64::from_bits(if key < 0 { i64::MIN.wrapping_sub(key) } else { key } as u64)
}

/// The member of a domain at or near a value.
pub fn member(domain: &Domain, value: f64) -> Option<f64> {
    let value = if domain.integer { value.round() } else { value };
    let value = value.clamp(domain.low, domain.high);
    domain.contains(value).then_some(value)
}

/// The next larger member of a domain, `ulps` numbers or whole numbers further on.
pub fn next_member(domain: &Domain, value: f64, ulps: i64) -> Option<f64> {
    let next = if !domain.set.is_empty() {
        *domain.set.iter().find(|&&member| member > value)?
    } else if domain.integer {
        value + ulps as f64
    } else {
        unkey(key(value).saturating_add(ulps))
    };
    (next > value && domain.contains(next)).then_some(next)
}

/// A member of the domain, uniform over the bits, so that every magnitude is as likely.
pub fn uniform(domain: &Domain, random: &mut Random) -> f64 {
    if let Some(&value) = random.pick(&domain.set) {
        return value;
    }
    let (low, high) = (key(domain.low), key(domain.high));
    let width = (high as i128 - low as i128 + 1) as u128;
    let offset = (random.next() as u128 % width) as i128;
    let value = unkey((low as i128 + offset) as i64);
    member(domain, value).unwrap_or(domain.low)
}

/// Values where things tend to break: the limits and their neighbours, small and round numbers.
pub fn special(domain: &Domain) -> Vec<f64> {
    if !domain.set.is_empty() {
        return domain.set.clone();
    }
    let mut values = vec![domain.low, domain.high];
    for round in [0.0, -0.0, 1.0, 2.0, 3.0, 7.0, 10.0, 0.1, 0.5, 1.5, 1e3, 1e9, -1.0, 4096.0, 1.0 / 3.0] {
        values.push(round);
    }
    let step = if domain.integer {
        [domain.low + 1.0, domain.high - 1.0]
    } else {
        [domain.low.next_up(), domain.high.next_down()]
    };
    values.extend(step);
    let mut members: Vec<f64> = Vec::new();
    for value in values {
        if domain.contains(value) && !members.iter().any(|there| there.to_bits() == value.to_bits()) {
            members.push(value);
        }
    }
    members
}

/// Points of a contract's domains: each quantity is now one of the special values, now any.
pub fn points(contract: &Contract, seed: u64) -> impl Iterator<Item = Vec<f64>> {
    let mut random = Random(seed);
    let special: Vec<Vec<f64>> =
        contract.quantities.iter().map(|quantity| special(&quantity.domain)).collect();
    std::iter::repeat_with(move || {
        let quantities = contract.quantities.iter().zip(&special);
        let value = |(quantity, special): (&crate::contract::Quantity, &Vec<f64>)| match random.pick(special)
        {
            Some(&value) if random.below(2) == 0 => value,
            _ => uniform(&quantity.domain, &mut random),
        };
        quantities.map(value).collect()
    })
}
