//! Sample points of domains: edge cases, values uniform over the bits, and large values. Deterministic for a seed.

use crate::contract::{Contract, Quantity};
use crate::domain::{Domain, MAX_INTEGER};
use crate::eval::Evaluator;
use crate::graph::{Id, Op};

/// A small deterministic generator (splitmix64).
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    #[allow(clippy::should_implement_trait, reason = "an endless generator, not an iterator")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below the bound; 0 if the bound is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// A random element; none if the slice is empty.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }
}

/// Maps numbers to consecutive integers in the same order; both zeros map to 0.
pub fn key(value: f64) -> i64 {
    let bits = value.to_bits() as i64;
    if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
}

/// The inverse of [`key`].
pub fn unkey(key: i64) -> f64 {
    f64::from_bits(if key < 0 { i64::MIN.wrapping_sub(key) } else { key } as u64)
}

/// The member of a domain at or near a value.
pub fn member(domain: &Domain, value: f64) -> Option<f64> {
    let value = if domain.integer { value.round() } else { value };
    let value = value.clamp(domain.low, domain.high);
    domain.contains(value).then_some(value)
}

/// The member of a domain that is `ulps` numbers (or integers) above the value.
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

/// A member of the domain, uniform over the bits, so that all magnitudes are equally likely.
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

/// A member of the domain, uniform over its width: mostly large, so that integers fill the significand.
pub fn linear(domain: &Domain, random: &mut Random) -> f64 {
    if let Some(&value) = random.pick(&domain.set) {
        return value;
    }
    let share = (random.next() >> 11) as f64 / MAX_INTEGER;
    let value = domain.low + (domain.high - domain.low) * share;
    member(domain, value).unwrap_or(domain.low)
}

/// A large member of the domain: uniform over its width, or near the upper limit of integers.
pub fn large(domain: &Domain, random: &mut Random) -> f64 {
    let value = linear(domain, random);
    if !domain.integer || !domain.set.is_empty() || random.below(2) == 0 {
        return value;
    }
    // The distance from the upper limit is uniform over the bits.
    let width = key(domain.high - value + 1.0) - key(1.0);
    let distance = unkey(key(1.0) + random.below(width as usize + 1) as i64).floor() - 1.0;
    member(domain, domain.high - distance).unwrap_or(value)
}

/// Edge cases: the limits and their neighbors, small and round numbers.
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

/// Moves points until the requirements of a contract hold.
#[derive(Clone, Debug)]
pub struct RequirementRepair<'a> {
    contract: &'a Contract,
    evaluator: Evaluator<'a>,
    /// The requirements, their quantities and the numbers in them.
    requirements: Vec<(Id, Vec<usize>, Vec<Id>)>,
    special: Vec<Vec<f64>>,
}

impl<'a> RequirementRepair<'a> {
    /// Maximum number of changed quantities per point.
    const ROUNDS: usize = 12;
    /// Maximum number of points tried for a witness.
    const WITNESSES: usize = 4000;

    /// Collects the requirements of a contract.
    pub fn new(contract: &'a Contract) -> Self {
        let (graph, required) = (&contract.graph, contract.required());
        let parts = |&id: &Id| {
            let cone = graph.cone(&[id], usize::MAX).unwrap_or_default();
            let quantity = |&id: &Id| if let Op::Quantity(index) = graph.op(id) { Some(index) } else { None };
            (id, cone.iter().filter_map(quantity).collect(), cone)
        };
        let special = if required.is_empty() {
            Vec::new()
        } else {
            contract.quantities.iter().map(|quantity| special(&quantity.domain)).collect()
        };
        let evaluator = Evaluator::new(graph, &required);
        RequirementRepair { contract, evaluator, requirements: required.iter().map(parts).collect(), special }
    }

    /// The number of violated requirements, and the first of them.
    fn unmet(&mut self, point: &[f64]) -> (usize, usize) {
        self.evaluator.run(point);
        let unmet = |(_, (id, ..)): &(usize, &(Id, Vec<usize>, Vec<Id>))| !self.evaluator.value(*id).truth();
        let mut unmet = self.requirements.iter().enumerate().filter(unmet).map(|(index, _)| index);
        let first = unmet.next();
        first.map_or((0, 0), |first| (1 + unmet.count(), first))
    }

    /// True if the point satisfies every requirement.
    pub fn meets(&mut self, point: &[f64]) -> bool {
        self.unmet(point).0 == 0
    }

    /// Changes one quantity after the other until every requirement holds; false if that fails.
    pub fn repair(&mut self, point: &mut [f64], random: &mut Random) -> bool {
        if self.requirements.is_empty() {
            return true;
        }
        for _ in 0..Self::ROUNDS {
            let (count, first) = self.unmet(point);
            if count == 0 {
                return true;
            }
            let (_, support, nodes) = &self.requirements[first];
            let Some(&quantity) = random.pick(support) else { return false };
            let domain = &self.contract.quantities[quantity].domain;
            // Try values of either side, where the two are equal, and random values.
            let mut candidates: Vec<f64> = (0..3)
                .filter_map(|_| member(domain, self.evaluator.value(*random.pick(nodes)?).number()))
                .collect();
            candidates.extend((0..3).filter_map(|_| random.pick(&self.special[quantity])));
            candidates.extend([uniform(domain, random), linear(domain, random), uniform(domain, random)]);
            let start = random.below(candidates.len());
            candidates.rotate_left(start);
            let before = point[quantity];
            let better = candidates.into_iter().find(|&value| {
                point[quantity] = value;
                self.unmet(point).0 < count
            });
            // Without progress, accept any change, as another one may depend on it.
            point[quantity] = better.unwrap_or(if random.below(2) == 0 { before } else { point[quantity] });
        }
        self.meets(point)
    }

    /// A point of the domains that satisfies every requirement, if one is found.
    pub fn witness(&mut self) -> Option<Vec<f64>> {
        let mut random = Random(0x7769_746e_6573_7300);
        let of = |quantity: &Quantity, random: &mut Random, round: usize| match quantity.default {
            Some(value) if round == 0 => value,
            _ if round == 0 => quantity.domain.low,
            _ if round.is_multiple_of(2) => linear(&quantity.domain, random),
            _ => uniform(&quantity.domain, random),
        };
        (0..Self::WITNESSES).find_map(|round| {
            let quantities = self.contract.quantities.iter();
            let mut point: Vec<f64> = quantities.map(|quantity| of(quantity, &mut random, round)).collect();
            self.repair(&mut point, &mut random).then_some(point)
        })
    }
}

/// Points that satisfy the requirements of a contract. Each value is special, uniform or large at random.
pub fn points(contract: &Contract, seed: u64) -> impl Iterator<Item = Vec<f64>> {
    let mut random = Random(seed);
    let special: Vec<Vec<f64>> =
        contract.quantities.iter().map(|quantity| special(&quantity.domain)).collect();
    let mut repair = RequirementRepair::new(contract);
    let any = std::iter::repeat_with(move || {
        let quantities = contract.quantities.iter().zip(&special);
        let value = |(quantity, special): (&Quantity, &Vec<f64>)| match random.pick(special) {
            Some(&value) if random.below(2) == 0 => value,
            _ if random.below(3) == 0 => large(&quantity.domain, &mut random),
            _ => uniform(&quantity.domain, &mut random),
        };
        let mut point: Vec<f64> = quantities.map(value).collect();
        repair.repair(&mut point, &mut random).then_some(point)
    });
    any.flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain(text: &str) -> Domain {
        Domain::parse(text).unwrap()
    }

    #[test]
    fn keys_are_consecutive_and_ordered() {
        let ordered = [-f64::MAX, -1.0, -f64::MIN_POSITIVE, 0.0, f64::MIN_POSITIVE, 1.0, 1.5, f64::MAX];
        assert!(ordered.windows(2).all(|pair| key(pair[0]) < key(pair[1])));
        assert!(ordered.iter().all(|&number| unkey(key(number)) == number));
        assert_eq!((key(0.0), key(-0.0), key(5e-324), key(-5e-324)), (0, 0, 1, -1));
        assert_eq!(key(1f64.next_up()) - key(1.0), 1);
    }

    #[test]
    fn the_member_at_a_value_is_the_nearest_limit_or_whole_number() {
        assert_eq!(member(&domain("[1, 5]"), 0.0), Some(1.0));
        assert_eq!(member(&domain("[1, 5]"), 2.5), Some(2.5));
        assert_eq!(member(&domain("[1, 5]"), 9.0), Some(5.0));
        assert_eq!(member(&domain("integer [1, 5]"), 2.4), Some(2.0));
        assert_eq!((member(&domain("{1, 4}"), 4.0), member(&domain("{1, 4}"), 2.0)), (Some(4.0), None));
    }

    #[test]
    fn the_next_member_is_larger_and_inside() {
        let one = |text: &str, value: f64, ulps: i64| next_member(&domain(text), value, ulps);
        assert_eq!(one("[1, 5]", 2.0, 1), Some(2f64.next_up()));
        assert_eq!(one("[1, 5]", 2.0, 2), Some(2f64.next_up().next_up()));
        assert_eq!(one("[-5, 5]", -2.0, 1), Some((-2f64).next_up()));
        assert_eq!(one("[1, 5]", 5.0, 1), None);
        assert_eq!(one("[1, 5]", 2.0, 0), None);
        assert_eq!(one("integer [1, 5]", 2.0, 3), Some(5.0));
        assert_eq!(one("integer [1, 5]", 2.0, 4), None);
        assert_eq!(
            (one("{1, 4, 9}", 1.0, 1), one("{1, 4, 9}", 4.0, 7), one("{1, 4, 9}", 9.0, 1)),
            (Some(4.0), Some(9.0), None)
        );
        assert_eq!(one(">= 0", f64::MAX, 1), None);
    }

    #[test]
    fn uniform_values_are_members_of_every_magnitude() {
        let mut random = Random(1);
        for text in ["[1e-300, 1e300]", "[-1, 1]", "integer [1, 1e9]", "{1, 2, 4}", "[3, 3]", "> 0"] {
            let domain = domain(text);
            let values: Vec<f64> = (0..2000).map(|_| uniform(&domain, &mut random)).collect();
            assert!(values.iter().all(|&value| domain.contains(value)), "{text}");
            let distinct =
                values.iter().map(|value| value.to_bits()).collect::<std::collections::BTreeSet<_>>();
            let wanted = if domain.set.is_empty() && domain.low < domain.high {
                1000
            } else {
                domain.set.len().max(1)
            };
            assert!(distinct.len() >= wanted, "{text}: {}", distinct.len());
        }
        let wide: Vec<f64> = (0..2000).map(|_| uniform(&domain("[1e-300, 1e300]"), &mut random)).collect();
        let small = wide.iter().filter(|&&value| value < 1.0).count();
        assert!((900..1100).contains(&small), "{small} of 2000 are below 1");
    }

    #[test]
    fn large_values_are_members_near_the_top_and_over_the_whole_width() {
        let mut random = Random(2);
        for text in
            ["[1e-300, 1e300]", "[-1, 1]", "integer [1, 1e9]", "{1, 2, 4}", "[3, 3]", "integer [5, 5]", "> 0"]
        {
            let domain = domain(text);
            assert!((0..2000).all(|_| domain.contains(large(&domain, &mut random))), "{text}");
        }
        let whole = domain("integer [1, 1e9]");
        let values: Vec<f64> = (0..2000).map(|_| large(&whole, &mut random)).collect();
        let count = |from: f64| values.iter().filter(|&&value| value >= from).count();
        assert!(count(1e9 - 100.0) > 100 && count(5e8) > 1200, "{} {}", count(1e9 - 100.0), count(5e8));
        assert!(count(1e8) < 2000, "small ones occur too");
    }

    #[test]
    fn special_values_are_limits_their_neighbors_and_round_numbers() {
        assert_eq!(special(&domain("{1, 2, 4}")), [1.0, 2.0, 4.0]);
        assert_eq!(special(&domain("integer [2, 9]")), [2.0, 9.0, 3.0, 7.0, 8.0]);
        let values = special(&domain("[-0.5, 0.5]"));
        assert_eq!(values[..2], [-0.5, 0.5]);
        assert!(values.iter().any(|value| value.to_bits() == (-0f64).to_bits()), "{values:?}");
        assert!(values.contains(&(-0.5f64).next_up()) && values.contains(&0.5f64.next_down()), "{values:?}");
        assert!(!values.contains(&1.0), "{values:?}");
    }
}
