//! Relative error by counting roundings: a node as a sum of monomials in opaque nodes, each with an interval of
//! coefficients that holds the exact factor and every rounding on the way.
//!
//! One rounding to a normal number multiplies by some 1 + d with |d| <= u; sums never lose bits below the normal
//! numbers; operations on whole numbers below 2^53 and scalings by powers of two lose nothing.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::graph::{Graph, Id, IdMap, Op};
use crate::number::Number;
use crate::range::Range;

/// The most monomials, and factors in a monomial, that are followed.
const MAX_TERMS: usize = 16;
/// How deep a node is expanded.
const MAX_DEPTH: usize = 64;

/// Opaque nodes and their powers.
type Monomial = Vec<(Id, i32)>;

/// `value = sum of c_i * monomial_i` for some `c_i` within their intervals; each monomial once, in order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Form {
    terms: Vec<(Monomial, Interval)>,
}

/// Numbers from `low` to `high`, of which one is meant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interval {
    pub low: f64,
    pub high: f64,
}

/// Widens a rounded result unless it is known to be exact.
fn outward(value: f64, exact: bool) -> Interval {
    // Below this an error term could itself vanish.
    let exact = exact && (value == 0.0 || value.abs() > 1e-250);
    if exact {
        Interval { low: value, high: value }
    } else {
        Interval { low: value.next_down(), high: value.next_up() }
    }
}

fn hull(parts: &[Interval]) -> Interval {
    let low = parts.iter().map(|part| part.low).fold(f64::INFINITY, f64::min);
    let high = parts.iter().map(|part| part.high).fold(f64::NEG_INFINITY, f64::max);
    Interval { low, high }
}

impl Interval {
    fn corners(self, other: Interval, of: impl Fn(f64, f64) -> Interval) -> Interval {
        hull(&[
            of(self.low, other.low),
            of(self.low, other.high),
            of(self.high, other.low),
            of(self.high, other.high),
        ])
    }

    /// A single number.
    pub fn point(value: f64) -> Interval {
        Interval { low: value, high: value }
    }

    /// Zero and nothing else.
    pub fn is_zero(self) -> bool {
        self.low == 0.0 && self.high == 0.0
    }

    pub fn add(self, other: Interval) -> Interval {
        for (nothing, sum) in [(self, other), (other, self)] {
            if nothing.is_zero() {
                return sum;
            }
        }
        let add = |a: f64, b: f64| {
            let sum = a + b;
            let back = sum - a;
            outward(sum, (a - (sum - back)) + (b - back) == 0.0)
        };
        Interval { low: add(self.low, other.low).low, high: add(self.high, other.high).high }
    }

    pub fn mul(self, other: Interval) -> Interval {
        self.corners(other, |a, b| {
            let vanished = a * b == 0.0 && a != 0.0 && b != 0.0;
            outward(a * b, !vanished && a.mul_add(b, -(a * b)) == 0.0)
        })
    }

    pub fn div(self, other: Interval) -> Interval {
        self.corners(other, |a, b| {
            // What is left of a small dividend could itself vanish.
            let vanished = a != 0.0 && (a / b == 0.0 || a.abs() < 1e-250);
            outward(a / b, !vanished && (a / b).mul_add(b, -a) == 0.0)
        })
    }

    fn neg(self) -> Interval {
        Interval { low: -self.high, high: -self.low }
    }

    pub fn usable(self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }
}

/// The monomials of two forms, each once and in order, with the coefficients that they have there.
fn merged<'a>(x: &'a Form, y: &'a Form) -> impl Iterator<Item = (&'a Monomial, Interval, Interval)> {
    const NONE: Interval = Interval { low: 0.0, high: 0.0 };
    let (mut left, mut right) = (x.terms.iter().peekable(), y.terms.iter().peekable());
    std::iter::from_fn(move || {
        let order = match (left.peek(), right.peek()) {
            (Some((a, _)), Some((b, _))) => a.cmp(b),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return None,
        };
        let (first, second) = match order {
            Ordering::Less => (left.next(), None),
            Ordering::Equal => (left.next(), right.next()),
            Ordering::Greater => (None, right.next()),
        };
        let (monomial, _) = first.or(second)?;
        let of = |term: Option<&(Monomial, Interval)>| term.map_or(NONE, |(_, interval)| *interval);
        Some((monomial, of(first), of(second)))
    })
}

/// A number that `y - x` never falls below: each monomial's difference at the limits of what it is made of.
fn slack<F: Number>(basis: Basis<'_, F>, x: &Form, y: &Form) -> Option<f64> {
    let mut least = Interval { low: 0.0, high: 0.0 };
    for (monomial, over, under) in merged(x, y) {
        let mut value = under.add(over.neg());
        for &(id, power) in monomial {
            let range = basis.range(id);
            let factor = Interval { low: range.low.to_f64(), high: range.high.to_f64() };
            if power < 0 && range.has_zero() {
                return None;
            }
            for _ in 0..power.unsigned_abs() {
                value = if power > 0 { value.mul(factor) } else { value.div(factor) };
            }
        }
        least = least.add(value);
        if !least.usable() {
            return None;
        }
    }
    Some(least.low)
}

/// The forms found so far.
#[derive(Default)]
pub(super) struct Forms {
    known: IdMap<Id, Option<Rc<Form>>>,
    /// Whether a value is at most another, and whether it is less, at every point.
    compared: IdMap<(Id, Id), [bool; 2]>,
}

/// What the forms of a graph are built from.
#[derive(Clone, Copy)]
pub(super) struct Basis<'a, F> {
    pub graph: &'a Graph,
    pub ranges: &'a [Range<F>],
    /// Nodes whose finite values are whole numbers.
    pub whole: &'a [bool],
}

impl<F: Number> Basis<'_, F> {
    pub fn range(&self, id: Id) -> Range<F> {
        self.ranges[id.index()]
    }

    /// Its finite values are whole numbers.
    pub fn is_whole(&self, id: Id) -> bool {
        self.whole[id.index()]
    }

    /// The smallest and the largest size of a value.
    pub fn size(&self, id: Id) -> (f64, f64) {
        let range = self.range(id);
        let (low, high) = (range.low.to_f64().abs(), range.high.to_f64().abs());
        (if range.has_zero() { 0.0 } else { low.min(high) }, low.max(high))
    }

    /// Whole operands and a result among the whole numbers that are all representable.
    pub fn whole_step(&self, id: Id, a: Id, b: Id) -> bool {
        let range = self.range(id);
        let small = range.low.to_f64() > -F::MAX_WHOLE && range.high.to_f64() < F::MAX_WHOLE;
        small && self.whole[a.index()] && self.whole[b.index()]
    }

    pub fn power_of_two(&self, id: Id) -> Option<f64> {
        match self.graph.op(id) {
            Op::Number(bits) => {
                let value = F::of(f64::from_bits(bits)).to_f64();
                (value.is_normal() && value.to_bits() << 12 == 0).then_some(value.abs())
            }
            _ => None,
        }
    }

    /// A factor of a power of two loses nothing unless the result is below the normal numbers.
    pub fn scaling(&self, id: Id, factor: Option<f64>) -> bool {
        factor.is_some_and(|f| self.range(id).normal() || f >= 1.0 && self.range(id).finite())
    }
}

impl Form {
    fn opaque(id: Id) -> Form {
        let one = Interval { low: 1.0, high: 1.0 };
        Form { terms: vec![(vec![(id, 1)], one)] }
    }

    fn constant(value: f64) -> Form {
        let point = Interval { low: value, high: value };
        Form { terms: if value == 0.0 { vec![] } else { vec![(Monomial::new(), point)] } }
    }

    fn plus(&self, other: &Form, sign: f64) -> Option<Form> {
        let signed = |interval: Interval| if sign < 0.0 { interval.neg() } else { interval };
        let sum = |(monomial, a, b): (&Monomial, Interval, Interval)| (monomial.clone(), a.add(signed(b)));
        Form { terms: merged(self, other).map(sum).collect() }.usable()
    }

    fn times(&self, other: &Form) -> Option<Form> {
        let mut product = Form { terms: vec![] };
        for (a, x) in &self.terms {
            for (b, y) in &other.terms {
                let term = Form { terms: vec![(joined(a, b, 1), x.mul(*y))] };
                product = product.plus(&term, 1.0)?;
            }
        }
        Some(product)
    }

    /// Divides by a single monomial whose coefficient cannot be 0.
    fn over(&self, other: &Form) -> Option<Form> {
        let [(divisor, by)] = other.terms.as_slice() else { return None };
        if by.low <= 0.0 && by.high >= 0.0 {
            return None;
        }
        let quotient =
            |(monomial, interval): &(Monomial, Interval)| (joined(monomial, divisor, -1), interval.div(*by));
        let mut terms: Vec<(Monomial, Interval)> = self.terms.iter().map(quotient).collect();
        terms.sort_by(|(a, _), (b, _)| a.cmp(b));
        Form { terms }.usable()
    }

    fn divides_by(&self, id: Id) -> bool {
        self.terms
            .iter()
            .any(|(monomial, _)| monomial.iter().any(|&(factor, power)| factor == id && power < 0))
    }

    fn rounded<F: Number>(mut self) -> Option<Form> {
        let error = Interval { low: 1.0 - F::ROUNDOFF, high: (1.0 + F::ROUNDOFF).next_up() };
        for (_, interval) in &mut self.terms {
            *interval = interval.mul(error);
        }
        self.usable()
    }

    fn usable(self) -> Option<Form> {
        let usable =
            |(monomial, interval): &(Monomial, Interval)| monomial.len() <= MAX_TERMS && interval.usable();
        (self.terms.len() <= MAX_TERMS && self.terms.iter().all(usable)).then_some(self)
    }
}

fn joined(a: &Monomial, b: &Monomial, sign: i32) -> Monomial {
    let mut powers: BTreeMap<Id, i32> = a.iter().copied().collect();
    for &(id, power) in b {
        *powers.entry(id).or_insert(0) += sign * power;
    }
    powers.into_iter().filter(|&(_, power)| power != 0).collect()
}

/// Whether `x <= y`, and whether `x < y`, at every point.
fn compare<F: Number>(basis: Basis<'_, F>, x: &Form, y: &Form) -> [bool; 2] {
    let apart = slack(basis, x, y);
    let (mut at_most, mut larger) = (true, false);
    for (monomial, over, under) in merged(x, y) {
        let equal = over.low == over.high && over == under;
        let nonnegative = monomial.iter().all(|&(id, _)| basis.range(id).at_least(0.0));
        at_most &= equal || nonnegative && over.high <= under.low;
        if !at_most {
            break;
        }
        let positive = monomial.iter().all(|&(id, _)| basis.range(id).positive());
        larger |= positive && over.high < under.low;
    }
    let ranges = |limit: fn(f64) -> bool| apart.is_some_and(limit);
    [at_most || ranges(|least| least >= 0.0), at_most && larger || ranges(|least| least > 0.0)]
}

impl Forms {
    fn of<F: Number>(&mut self, basis: Basis<'_, F>, id: Id, depth: usize) -> Option<Rc<Form>> {
        if let Some(known) = self.known.get(&id) {
            return known.clone();
        }
        let range = basis.range(id);
        if depth > MAX_DEPTH || !range.finite() {
            return None;
        }
        let built = if range.low == range.high { Some(Form::constant(range.low.to_f64())) } else { None };
        let built = built.or_else(|| self.build(basis, id, depth + 1));
        let form = Rc::new(built.unwrap_or_else(|| Form::opaque(id)));
        self.known.insert(id, Some(form.clone()));
        Some(form)
    }

    fn build<F: Number>(&mut self, basis: Basis<'_, F>, id: Id, depth: usize) -> Option<Form> {
        let settle = |form: Form, exact: bool| if exact { Some(form) } else { form.rounded::<F>() };
        match basis.graph.op(id) {
            Op::Neg(a) => Form::constant(0.0).plus(&*self.of(basis, a, depth)?, -1.0),
            Op::Add(a, b) => {
                let sum = self.of(basis, a, depth)?.plus(&*self.of(basis, b, depth)?, 1.0)?;
                settle(sum, basis.whole_step(id, a, b))
            }
            Op::Sub(a, b) => {
                let sum = self.of(basis, a, depth)?.plus(&*self.of(basis, b, depth)?, -1.0)?;
                settle(sum, basis.whole_step(id, a, b))
            }
            Op::Mul(a, b) => {
                let factor = basis.power_of_two(a).or(basis.power_of_two(b));
                let exact = basis.whole_step(id, a, b) || basis.scaling(id, factor);
                if !exact && !basis.range(id).normal() {
                    return None;
                }
                let (x, y) = (self.of(basis, a, depth)?, self.of(basis, b, depth)?);
                // A sum that one side was divided by cancels as a whole, not term by term.
                let product = if x.divides_by(b) {
                    x.times(&Form::opaque(b))?
                } else if y.divides_by(a) {
                    Form::opaque(a).times(&y)?
                } else {
                    x.times(&y)?
                };
                settle(product, exact)
            }
            Op::Div(a, b) => {
                let exact = basis.scaling(id, basis.power_of_two(b).map(|factor| 1.0 / factor));
                if !exact && !basis.range(id).normal() {
                    return None;
                }
                let (over, under) = (self.of(basis, a, depth)?, self.of(basis, b, depth)?);
                let quotient = over.over(&under).or_else(|| over.over(&Form::opaque(b)))?;
                settle(quotient, exact)
            }
            Op::Abs(a) if basis.range(a).at_least(0.0) => Some((*self.of(basis, a, depth)?).clone()),
            _ => None,
        }
    }

    /// `x <= y` at every point, or `x < y` if `strict`: no monomial's coefficient in x can exceed that in y.
    pub fn at_most<F: Number>(&mut self, basis: Basis<'_, F>, x: Id, y: Id, strict: bool) -> bool {
        if let Some(known) = self.compared.get(&(x, y)) {
            return known[usize::from(strict)];
        }
        let found = match (self.of(basis, x, 0), self.of(basis, y, 0)) {
            (Some(x), Some(y)) => compare(basis, &x, &y),
            _ => [false; 2],
        };
        self.compared.insert((x, y), found);
        found[usize::from(strict)]
    }

    /// `x <= y` at every point where `c <= d`: x is to c as y is to d, with room for the roundings.
    /// With a tolerance, `x <= y + y * tolerance`.
    pub fn at_most_given<F: Number>(
        &mut self,
        basis: Basis<'_, F>,
        [x, y, c, d]: [Id; 4],
        tolerance: f64,
    ) -> bool {
        let whole_size = basis.size(y).0 * tolerance / 2.0;
        let mut single = |id: Id| {
            let form = self.of(basis, id, 0)?;
            let [(monomial, interval)] = form.terms.as_slice() else { return None };
            let positive = monomial.iter().all(|&(id, _)| basis.range(id).positive());
            (positive && interval.low > 0.0).then(|| (monomial.clone(), *interval))
        };
        let (Some(x), Some(y), Some(c), Some(d)) = (single(x), single(y), single(c), single(d)) else {
            return false;
        };
        joined(&x.0, &c.0, -1) == joined(&y.0, &d.0, -1) && {
            let limit = if tolerance == 0.0 {
                y.1.low
            } else {
                // What computing the tolerance loses; a product with it that vanishes is worth nothing.
                let kept = 1.0 - 4.0 * F::ROUNDOFF + tolerance * (1.0 - 8.0 * F::ROUNDOFF);
                if whole_size > F::SMALLEST_NORMAL.to_f64() {
                    y.1.low * kept * (1.0 - 1e-15)
                } else {
                    y.1.low
                }
            };
            x.1.div(c.1).mul(d.1).high <= limit
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Interval;

    #[test]
    fn a_quotient_is_exact_only_where_its_error_can_be_seen() {
        let point = |value: f64| Interval { low: value, high: value };
        assert_eq!(point(3.0).div(point(4.0)), point(0.75));
        for (a, b) in [(1.0, 3.0), (1e-310, 3e-310), (1e-300, 3e-300)] {
            let quotient = point(a).div(point(b));
            assert!(quotient.low < quotient.high, "{a} / {b}: {quotient:?}");
        }
    }
}
