//! Exact values: a node as a quotient of polynomials in opaque nodes, and how far the rounded value can be from it.
//!
//! Three theorems. Rounding is monotone, so two values that are each one rounding of an exact value are in the order of
//! those. A value is at most another if the exact ones are, with room for every rounding on the way. A value moves as its
//! exact one does, whose derivative has one sign, up to the roundings. A polynomial is not negative where all its coefficients
//! are in variables that are not: what lies above its lower limit, or above another value, or between two limits.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::roundoff::{Basis, Interval};
use crate::graph::{Id, IdMap, Op};
use crate::number::Number;
use crate::range::Fact;

/// The most terms of a polynomial, and factors of a term.
const MAX_TERMS: usize = 120;
const MAX_DEGREE: usize = 10;
/// The most variables of a polynomial whose corners are tried.
const MAX_CORNERS: usize = 5;
/// How deep a node is expanded.
const MAX_DEPTH: usize = 40;
/// The largest constant power that is multiplied out.
const MAX_POWER: f64 = 8.0;
/// Makes a computed bound of an error certain.
const UPWARD: f64 = 1.0 + 1e-9;

/// A sum of products: each product, as its factors in order, with its coefficient.
#[derive(Clone, Debug, PartialEq)]
struct Polynomial(BTreeMap<Vec<Id>, Interval>);

impl Polynomial {
    fn constant(value: f64) -> Self {
        let terms =
            if value == 0.0 { BTreeMap::new() } else { BTreeMap::from([(vec![], Interval::point(value))]) };
        Polynomial(terms)
    }

    fn variable(id: Id) -> Self {
        Polynomial(BTreeMap::from([(vec![id], Interval::point(1.0))]))
    }

    fn limited(self) -> Option<Self> {
        let small = self.0.len() <= MAX_TERMS && self.0.keys().all(|factors| factors.len() <= MAX_DEGREE);
        (small && self.0.values().all(|coefficient| coefficient.usable())).then_some(self)
    }

    fn add(&mut self, factors: Vec<Id>, coefficient: Interval) {
        let sum = self.0.get(&factors).map_or(coefficient, |there| there.add(coefficient));
        if sum.is_zero() {
            self.0.remove(&factors);
        } else {
            self.0.insert(factors, sum);
        }
    }

    fn plus(&self, other: &Self, scale: Interval) -> Option<Self> {
        let mut sum = self.clone();
        if scale.is_zero() {
            return Some(sum);
        }
        for (factors, &coefficient) in &other.0 {
            sum.add(factors.clone(), coefficient.mul(scale));
        }
        sum.limited()
    }

    fn times(&self, other: &Self) -> Option<Self> {
        let mut product = Polynomial(BTreeMap::new());
        for (a, &x) in &self.0 {
            for (b, &y) in &other.0 {
                let mut factors = [a.as_slice(), b].concat();
                factors.sort_unstable();
                product.add(factors, x.mul(y));
            }
            if product.0.len() > MAX_TERMS {
                return None;
            }
        }
        product.limited()
    }

    fn power(&self, times: usize) -> Option<Self> {
        (0..times).try_fold(Polynomial::constant(1.0), |product, _| product.times(self))
    }

    fn degree(&self, id: Id) -> usize {
        self.0.keys().map(|factors| factors.iter().filter(|&&factor| factor == id).count()).max().unwrap_or(0)
    }

    fn variables(&self) -> Vec<Id> {
        let mut found: Vec<Id> = self.0.keys().flatten().copied().collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The polynomial with `id` replaced by `over / under`, times `under` to the power of its degree.
    fn replace(&self, id: Id, over: &Self, under: &Self) -> Option<Self> {
        let degree = self.degree(id);
        let mut whole = Polynomial(BTreeMap::new());
        for (factors, &coefficient) in &self.0 {
            let power = factors.iter().filter(|&&factor| factor == id).count();
            let rest = factors.iter().copied().filter(|&factor| factor != id).collect();
            let rest = Polynomial(BTreeMap::from([(rest, coefficient)]));
            let part = rest.times(&over.power(power)?)?.times(&under.power(degree - power)?)?;
            whole = whole.plus(&part, Interval::point(1.0))?;
        }
        Some(whole)
    }

    fn derivative(&self, id: Id) -> Option<Self> {
        let mut whole = Polynomial(BTreeMap::new());
        for (factors, &coefficient) in &self.0 {
            let power = factors.iter().filter(|&&factor| factor == id).count();
            let Some(at) = factors.iter().position(|&factor| factor == id) else { continue };
            let mut rest = factors.clone();
            rest.remove(at);
            whole.add(rest, coefficient.mul(Interval::point(power as f64)));
        }
        whole.limited()
    }

    /// The smallest and the largest value. What is linear in each variable has them where each is at a limit.
    fn limits<F: Number>(&self, basis: Basis<'_, F>) -> Option<Interval> {
        let variables = self.variables();
        if variables.len() > MAX_CORNERS || variables.iter().any(|&id| self.degree(id) > 1) {
            return None;
        }
        let mut found: Option<Interval> = None;
        for corner in 0..1_usize << variables.len() {
            let mut sum = Interval::point(0.0);
            for (factors, &coefficient) in &self.0 {
                let value = factors.iter().fold(coefficient, |product, id| {
                    let upper =
                        variables.iter().position(|known| known == id).is_some_and(|i| corner >> i & 1 == 1);
                    let range = basis.range(*id);
                    product.mul(Interval::point(if upper { range.high } else { range.low }.to_f64()))
                });
                sum = sum.add(value);
            }
            found = Some(
                found.map_or(sum, |all| Interval { low: all.low.min(sum.low), high: all.high.max(sum.high) }),
            );
        }
        found.filter(|all| all.usable())
    }

    /// No coefficient is negative; `strict`: and one is positive whose factors all are.
    fn has_signs(&self, strict: bool, positive: &[Id]) -> bool {
        let lasting = |(factors, coefficient): (&Vec<Id>, &Interval)| {
            coefficient.low > 0.0 && factors.iter().all(|id| positive.contains(id))
        };
        self.0.values().all(|coefficient| coefficient.low >= 0.0) && (!strict || self.0.iter().any(lasting))
    }
}

/// What is known of the value that would be computed without rounding.
#[derive(Clone, Debug)]
struct Exact {
    over: Polynomial,
    /// Positive at every point.
    under: Polynomial,
    /// The rounded value is at most `relative` times the exact one, plus `absolute`, away from it.
    relative: f64,
    absolute: f64,
    /// The exact value is never negative.
    nonnegative: bool,
    /// The rounded value is zero or at least as large as this.
    least: f64,
    /// The rounded value is the exact one rounded, at most once.
    once: bool,
}

impl Exact {
    /// The exact value is never smaller, nor larger.
    fn limits<F: Number>(&self, basis: Basis<'_, F>) -> Option<Interval> {
        let (over, under) = (self.over.limits(basis)?, self.under.limits(basis)?);
        (under.low > 0.0).then(|| over.div(under))
    }

    fn is_exact(&self) -> bool {
        self.relative == 0.0 && self.absolute == 0.0
    }
}

/// The exact values found so far, and what they were compared to.
#[derive(Default)]
pub(super) struct Exacts {
    known: IdMap<Id, Option<Rc<Exact>>>,
    choices: Choices,
    compared: IdMap<(Id, Id), [bool; 2]>,
}

/// `a <= b` of two opaque nodes, or `a < b`.
pub(super) type Facts<'a> = &'a [Fact];

/// A number that never moves against a direction as a quantity grows, up to a tolerance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Monotone {
    pub of: Id,
    pub increasing: bool,
    pub quantity: usize,
    pub within: f64,
}

/// A comparison up to a relative tolerance: `of <= to + abs(to) * tolerance`.
#[derive(Clone, Copy)]
pub(super) struct Tolerant {
    pub of: Id,
    pub to: Id,
    pub tolerance: f64,
}

/// What `min`, `max` and `if` nodes are where the facts hold.
pub(super) type Choices = IdMap<Id, Id>;

impl Exacts {
    /// The exact values where choices are made.
    pub fn chosen(choices: Choices) -> Self {
        Exacts { choices, ..Exacts::default() }
    }

    fn of<F: Number>(&mut self, basis: Basis<'_, F>, id: Id, depth: usize) -> Option<Rc<Exact>> {
        if let Some(known) = self.known.get(&id) {
            return known.clone();
        }
        if depth > MAX_DEPTH || !basis.range(id).finite() {
            return None;
        }
        let bounded = |exact: &Exact| exact.relative.is_finite() && exact.absolute.is_finite();
        let exact = self.build(basis, id, depth + 1).filter(bounded).unwrap_or_else(|| opaque(basis, id));
        let exact = Some(Rc::new(exact));
        self.known.insert(id, exact.clone());
        exact
    }

    fn build<F: Number>(&mut self, basis: Basis<'_, F>, id: Id, depth: usize) -> Option<Exact> {
        let range = basis.range(id);
        if range.low == range.high {
            return None;
        }
        if let Some(&chosen) = self.choices.get(&id) {
            return Some((*self.of(basis, chosen, depth)?).clone());
        }
        match basis.graph.op(id) {
            Op::Neg(a) => {
                let a = self.of(basis, a, depth)?;
                let over = Polynomial::constant(0.0).plus(&a.over, Interval::point(-1.0))?;
                Some(Exact { over, nonnegative: false, ..(*a).clone() })
            }
            Op::Abs(a) if basis.range(a).at_least(0.0) => Some((*self.of(basis, a, depth)?).clone()),
            op @ (Op::Add(a, b) | Op::Sub(a, b)) => {
                let (x, y) = (self.of(basis, a, depth)?, self.of(basis, b, depth)?);
                sum(basis, id, [a, b], &x, &y, matches!(op, Op::Add(..)))
            }
            Op::Mul(a, b) => {
                let (x, y) = (self.of(basis, a, depth)?, self.of(basis, b, depth)?);
                let factor = basis.power_of_two(a).or(basis.power_of_two(b));
                let lossless = basis.whole_step(id, a, b) || basis.scaling(id, factor);
                let rounding = if lossless { 0.0 } else { F::ROUNDOFF };
                let lost = if lossless || range.normal() { 0.0 } else { tiny::<F>() };
                let sizes = [basis.size(a).1, basis.size(b).1];
                multiplied(&x, &y, sizes, a == b, Losses { rounding, lost })
            }
            Op::Div(a, b) => {
                let (x, y) = (self.of(basis, a, depth)?, self.of(basis, b, depth)?);
                let lossless = basis.scaling(id, basis.power_of_two(b).map(|factor| 1.0 / factor));
                quotient(basis, id, b, &x, &y, lossless)
            }
            Op::Pow(a, n) => {
                let times = basis.range(n);
                let fixed = times.low == times.high && times.high.to_f64() <= MAX_POWER;
                let base = self.of(basis, a, depth)?;
                if !fixed || times.low.to_f64() < 1.0 || !basis.range(a).at_least(0.0) {
                    return None;
                }
                let mut power = (*base).clone();
                for _ in 1..times.low.to_f64() as usize {
                    // No partial product is larger than this, whatever its roundings.
                    let large = basis.size(a).1.max(1.0).powi(MAX_POWER as i32) * 4.0;
                    let losses = Losses { rounding: F::ROUNDOFF, lost: tiny::<F>() };
                    power = multiplied(&power, &base, [large, basis.size(a).1], false, losses)?;
                }
                Some(power)
            }
            _ => None,
        }
    }

    /// `x <= y` at every point that satisfies the facts, or `x < y` if `strict`.
    pub fn at_most<F: Number>(
        &mut self,
        basis: Basis<'_, F>,
        [x, y]: [Id; 2],
        facts: Facts<'_>,
        strict: bool,
    ) -> bool {
        if facts.is_empty()
            && let Some(known) = self.compared.get(&(x, y))
        {
            return known[usize::from(strict)];
        }
        let found = match (self.of(basis, x, 0), self.of(basis, y, 0)) {
            (Some(x), Some(y)) => [false, true].map(|strict| compare(basis, &x, &y, facts, strict).is_some()),
            _ => [false; 2],
        };
        if facts.is_empty() {
            self.compared.insert((x, y), found);
        }
        found[usize::from(strict)]
    }

    /// `of <= to + abs(to) * tolerance` at every point that satisfies the facts: the exact values are in this order, and every
    /// rounding is within the tolerance.
    pub fn tolerates<F: Number>(
        &mut self,
        basis: Basis<'_, F>,
        claim: Tolerant,
        facts: Facts<'_>,
    ) -> Option<()> {
        let (x, y) = (self.of(basis, claim.of, 0)?, self.of(basis, claim.to, 0)?);
        let order = cross(&x, &y)?;
        let kept = x.nonnegative || x.relative == 0.0;
        let enough = enough(basis, &x, &y, claim.to, claim.tolerance);
        (kept && y.nonnegative && enough && nonnegative(basis, &order, facts, false)).then_some(())
    }

    /// `a <= p - u` exactly, all three exact: then `a <= p - q` of every q that is at most u, rounded.
    pub fn leaves<F: Number>(
        &mut self,
        basis: Basis<'_, F>,
        [a, p, u]: [Id; 3],
        facts: Facts<'_>,
    ) -> Option<()> {
        let [a, p, u] = [self.of(basis, a, 0)?, self.of(basis, p, 0)?, self.of(basis, u, 0)?];
        let one = Polynomial::constant(1.0);
        let exact = [&a, &p, &u].into_iter().all(|value| value.is_exact() && value.under == one);
        let less = Interval::point(-1.0);
        let rest = p.over.plus(&u.over, less)?.plus(&a.over, less)?;
        (exact && nonnegative(basis, &rest, facts, false)).then_some(())
    }

    /// Limits of a rounded value, from those of the exact one.
    pub fn limits<F: Number>(&mut self, basis: Basis<'_, F>, id: Id) -> Option<(f64, f64)> {
        let exact = self.of(basis, id, 0)?;
        let limits = exact.limits(basis)?;
        let away = |limit: f64| (limit.abs() * exact.relative + exact.absolute) * UPWARD;
        (exact.relative < 0.5).then(|| (limits.low - away(limits.low), limits.high + away(limits.high)))
    }

    /// The value never moves against the direction as the quantity grows, by more than `within` times where it gets.
    /// `still` tells that a node does not depend on the quantity; the facts hold at both points, and so between them.
    pub fn monotone<F: Number>(
        &mut self,
        basis: Basis<'_, F>,
        claim: Monotone,
        facts: Facts<'_>,
        still: impl Fn(Id) -> bool,
    ) -> Option<()> {
        let Monotone { of, increasing, quantity, within } = claim;
        let exact = self.of(basis, of, 0)?;
        let variables = [exact.over.variables(), exact.under.variables()].concat();
        let moving = |id: Id| basis.graph.op(id) == Op::Quantity(quantity);
        let variable = *variables.iter().find(|&&id| moving(id))?;
        if !variables.into_iter().all(|id| moving(id) || still(id)) {
            return None;
        }
        let (over, under) = (&exact.over, &exact.under);
        let rise = over.derivative(variable)?.times(under)?;
        let slope = rise.plus(&under.derivative(variable)?.times(over)?, Interval::point(-1.0))?;
        let sign = if increasing { 1.0 } else { -1.0 };
        let slope = Polynomial::constant(0.0).plus(&slope, Interval::point(sign))?;
        // Between two points of the domain the divisor must not vanish either.
        if !nonnegative(basis, &slope, facts, false) || !nonnegative(basis, under, facts, true) {
            return None;
        }
        if exact.once {
            return Some(());
        }
        let enough = enough(basis, &exact, &exact, of, within);
        (exact.nonnegative && within > 0.0 && enough).then_some(())
    }
}

/// Whether `x <= y` of the exact values, y not negative, makes `x <= y + abs(y) * tolerance` of the rounded ones; y is that of
/// `id`.
///
/// The rounded x is at most x (1 + r) + a, and the rounded y at least y (1 - s) - b.
fn enough<F: Number>(basis: Basis<'_, F>, x: &Exact, y: &Exact, id: Id, tolerance: f64) -> bool {
    let (r, s) = (x.relative * UPWARD, y.relative * UPWARD);
    let absolute = x.absolute + y.absolute;
    let (size, _) = basis.size(id);
    // Without absolute errors an exact zero is computed as zero.
    let size = if absolute == 0.0 { size.max(y.least) } else { size };
    let limits = y.limits(basis).map_or(0.0, |limits| limits.low);
    let least = ((size - y.absolute) / (1.0 + s)).max(limits);
    // (1 - s) (1 + tolerance) >= 1 + r, with the two roundings of computing the tolerance.
    let tolerance = tolerance * (1.0 - 2.0 * F::ROUNDOFF);
    let room = tolerance - (s + 2.0 * F::ROUNDOFF) * (1.0 + tolerance) - r;
    let small = absolute * (2.0 + tolerance) + 4.0 * tiny::<F>();
    r < 0.5 && s < 0.5 && least * room > small * UPWARD
}

/// The sign of `y - x`: a polynomial that has it at every point.
fn cross(x: &Exact, y: &Exact) -> Option<Polynomial> {
    let less = Interval::point(-1.0);
    if x.under == y.under {
        y.over.plus(&x.over, less)
    } else {
        y.over.times(&x.under)?.plus(&x.over.times(&y.under)?, less)
    }
}

/// The distance of the smallest numbers.
fn tiny<F: Number>() -> f64 {
    F::SMALLEST_NORMAL.to_f64() * 2.0 * F::ROUNDOFF
}

/// The relative error of a product of two values: (1 + a) (1 + b) - 1, which 1 + a would swallow.
fn both(a: f64, b: f64) -> f64 {
    (a + b + a * b) * UPWARD
}

fn opaque<F: Number>(basis: Basis<'_, F>, id: Id) -> Exact {
    let range = basis.range(id);
    let over = if range.low == range.high {
        Polynomial::constant(range.low.to_f64())
    } else {
        Polynomial::variable(id)
    };
    let least = if basis.is_whole(id) { basis.size(id).0.max(1.0) } else { basis.size(id).0 };
    Exact {
        over,
        under: Polynomial::constant(1.0),
        relative: 0.0,
        absolute: 0.0,
        nonnegative: range.at_least(0.0),
        least,
        once: true,
    }
}

/// The largest size of the exact value, from that of the rounded one.
fn largest(size: f64, exact: &Exact) -> Option<f64> {
    (exact.relative < 0.5).then(|| (size + exact.absolute) / (1.0 - exact.relative) * UPWARD)
}

fn sum<F: Number>(
    basis: Basis<'_, F>,
    id: Id,
    [a, b]: [Id; 2],
    x: &Exact,
    y: &Exact,
    added: bool,
) -> Option<Exact> {
    let sign = Interval::point(if added { 1.0 } else { -1.0 });
    let (over, under) = if x.under == y.under {
        (x.over.plus(&y.over, sign)?, x.under.clone())
    } else {
        (x.over.times(&y.under)?.plus(&y.over.times(&x.under)?, sign)?, x.under.times(&y.under)?)
    };
    let once = x.is_exact() && y.is_exact();
    let (mut relative, mut absolute) = (0.0, x.absolute + y.absolute);
    if added && x.nonnegative && y.nonnegative {
        relative = x.relative.max(y.relative);
    } else if !once {
        absolute += largest(basis.size(a).1, x)? * x.relative + largest(basis.size(b).1, y)? * y.relative;
    }
    if !basis.whole_step(id, a, b) {
        (relative, absolute) = (both(relative, F::ROUNDOFF), absolute * (1.0 + F::ROUNDOFF) * UPWARD);
    }
    // A rounded sum has the sign of the exact one where that is all the error there is.
    let keeps_sign = once || absolute == 0.0 && relative < 1.0;
    let nonnegative = added && x.nonnegative && y.nonnegative || keeps_sign && basis.range(id).at_least(0.0);
    let constant = |id: Id| {
        let range = basis.range(id);
        if range.low == range.high { range.low.to_f64().abs() } else { 0.0 }
    };
    let least = if basis.is_whole(id) {
        1.0
    } else if added && x.nonnegative && y.nonnegative {
        x.least.min(y.least)
    } else {
        // Next to a constant numbers are no closer than a rounding of it.
        constant(a).max(constant(b)) * F::ROUNDOFF / 2.0
    };
    Some(Exact { over, under, relative, absolute, nonnegative, least: least.max(basis.size(id).0), once })
}

/// What one product loses.
#[derive(Clone, Copy)]
struct Losses {
    /// Relative to it; 0 if it is exact.
    rounding: f64,
    /// Below the normal numbers; 0 if it is never there.
    lost: f64,
}

/// The product of two values whose rounded ones are no larger than the sizes.
fn multiplied(x: &Exact, y: &Exact, sizes: [f64; 2], square: bool, losses: Losses) -> Option<Exact> {
    let Losses { rounding, lost } = losses;
    let (over, under) = (x.over.times(&y.over)?, x.under.times(&y.under)?);
    let (first, second) = (largest(sizes[0], x)?, largest(sizes[1], y)?);
    let relative = both(both(x.relative, y.relative), rounding);
    let crossed = x.absolute * second * (1.0 + y.relative)
        + y.absolute * first * (1.0 + x.relative)
        + x.absolute * y.absolute;
    // A product that cannot be so small loses nothing below the normal numbers.
    let least = x.least * y.least * (1.0 - 2.0 * rounding);
    let small = lost > 0.0 && least <= lost / rounding;
    let lost = if small { lost } else { 0.0 };
    let exact = x.is_exact() && y.is_exact();
    Some(Exact {
        over,
        under,
        relative,
        absolute: (crossed * (1.0 + rounding) + lost) * UPWARD,
        nonnegative: x.nonnegative && y.nonnegative || square,
        least: if small { 0.0 } else { least },
        once: exact,
    })
}

fn quotient<F: Number>(
    basis: Basis<'_, F>,
    id: Id,
    b: Id,
    x: &Exact,
    y: &Exact,
    lossless: bool,
) -> Option<Exact> {
    let range = basis.range(b);
    let (least, most) = basis.size(b);
    if range.has_zero() {
        return None;
    }
    // The exact divisor is at least this far from zero, on the same side.
    let floor = (least - y.absolute) / (1.0 + y.relative) / UPWARD;
    let divisor = (y.relative + y.absolute / floor) * UPWARD;
    if !(floor > 0.0 && divisor < 0.5) {
        return None;
    }
    let positive = range.positive();
    let sign = Interval::point(if positive { 1.0 } else { -1.0 });
    let none = Polynomial::constant(0.0);
    let over = none.plus(&x.over.times(&y.under)?, sign)?;
    let under = none.plus(&x.under.times(&y.over)?, sign)?;
    let rounding = if lossless { 0.0 } else { F::ROUNDOFF };
    let smallest = if most > 0.0 { x.least / most * (1.0 - 2.0 * F::ROUNDOFF) / UPWARD } else { 0.0 };
    let normal = lossless || basis.range(id).normal() || smallest > F::SMALLEST_NORMAL.to_f64();
    let exact = x.is_exact() && y.is_exact();
    let relative = both((x.relative + divisor) / (1.0 - divisor), rounding);
    let absolute =
        x.absolute / (floor * (1.0 - divisor)) * (1.0 + rounding) + if normal { 0.0 } else { tiny::<F>() };
    Some(Exact {
        over,
        under,
        relative,
        absolute: absolute * UPWARD,
        nonnegative: x.nonnegative && positive,
        least: if normal { smallest } else { 0.0 },
        once: exact,
    })
}

/// Whether `x <= y`, by exact values that are rounded once, or that leave room for every rounding.
fn compare<F: Number>(
    basis: Basis<'_, F>,
    x: &Exact,
    y: &Exact,
    facts: Facts<'_>,
    strict: bool,
) -> Option<()> {
    let lossless = x.is_exact() && y.is_exact();
    if (lossless || !strict && x.once && y.once) && nonnegative(basis, &cross(x, y)?, facts, strict) {
        return Some(());
    }
    let bounded = |exact: &Exact| exact.nonnegative || exact.relative == 0.0;
    if lossless || !bounded(x) || !bounded(y) || y.relative >= 0.5 {
        return None;
    }
    let (left, right) = if x.under == y.under {
        (x.over.clone(), y.over.clone())
    } else {
        (x.over.times(&y.under)?, y.over.times(&x.under)?)
    };
    let upper = Interval::point(1.0).add(Interval::point(x.relative * UPWARD)).high;
    let lower = Interval::point(1.0).add(Interval::point(-y.relative * UPWARD)).low;
    let nothing = Polynomial::constant(0.0);
    let mut room = (nothing.plus(&right, Interval::point(lower))?).plus(&left, Interval::point(-upper))?;
    let absolute = (x.absolute + y.absolute) * UPWARD;
    if absolute > 0.0 {
        let under = if x.under == y.under { x.under.clone() } else { x.under.times(&y.under)? };
        room = room.plus(&under, Interval::point(-absolute))?;
    }
    nonnegative(basis, &room, facts, strict).then_some(())
}

/// Whether a polynomial is never negative where its variables are in their ranges and the facts hold; with `strict`,
/// whether it is positive.
fn nonnegative<F: Number>(
    basis: Basis<'_, F>,
    polynomial: &Polynomial,
    facts: Facts<'_>,
    strict: bool,
) -> bool {
    if polynomial.has_signs(strict, &[])
        && polynomial.variables().iter().all(|&id| basis.range(id).at_least(0.0))
    {
        return true;
    }
    let shifted = |between: bool| {
        let mut now = polynomial.clone();
        let one = Polynomial::constant(1.0);
        let (mut above, mut positive): (Vec<Id>, Vec<Id>) = Default::default();
        for &Fact(low, high, apart) in facts {
            // high = low + what it is above it; each value is above one other at most, and no circle is closed.
            if !above.contains(&high) && !above.contains(&low) && low != high {
                let equal = facts.contains(&Fact(high, low, false));
                let more = if equal { 0.0 } else { 1.0 };
                let sum =
                    Polynomial::variable(low).plus(&Polynomial::variable(high), Interval::point(more))?;
                now = now.replace(high, &sum, &one)?;
                above.push(high);
                positive.extend(apart.then_some(high));
            }
        }
        for id in now.variables() {
            if above.contains(&id) {
                continue;
            }
            let range = basis.range(id);
            let (low, high) = (Polynomial::constant(range.low.to_f64()), range.high.to_f64());
            let variable = Polynomial::variable(id);
            if between && high <= 1.0 {
                // From low to high as the variable goes from nothing to any size.
                let over = low.plus(&variable, Interval::point(high))?;
                now = now.replace(id, &over, &one.plus(&variable, Interval::point(1.0))?)?;
            } else {
                now = now.replace(id, &low.plus(&variable, Interval::point(1.0))?, &one)?;
            }
        }
        Some((now, positive))
    };
    let found = |between: bool| {
        shifted(between).is_some_and(|(polynomial, positive)| polynomial.has_signs(strict, &positive))
    };
    // At the upper limit itself a strict order could be lost.
    found(false) || !strict && found(true)
}
