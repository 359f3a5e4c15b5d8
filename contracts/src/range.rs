//! One pass over the graph that bounds every node: the smallest and largest value it can have, and whether it can be NaN.
//!
//! Correctly rounded operations are monotone in each operand, so evaluating the same operation at the corners of
//! its operands' ranges gives bounds that no rounding can cross. Operands are taken as independent of each other.

use crate::contract::Quantity;
use crate::graph::{Graph, Id, Op};
use crate::number::{Number, pow};

/// The values a node can have. A condition is a number here: false is 0, true is 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range<F = f64> {
    /// No value is smaller; may be negative infinity.
    pub low: F,
    /// No value is larger; may be infinity.
    pub high: F,
    /// The value may be NaN; the limits speak of the other values.
    pub nan: bool,
}

impl<F: Number> Range<F> {
    /// From the smallest to the largest value.
    pub fn new(low: F, high: F) -> Self {
        Range { low, high, nan: false }
    }

    /// A single value.
    pub fn point(value: f64) -> Self {
        Range::new(F::of(value), F::of(value))
    }

    /// A condition that is always this.
    pub fn truth(value: bool) -> Self {
        Range::point(if value { 1.0 } else { 0.0 })
    }

    /// A condition of which nothing is known.
    pub fn undecided() -> Self {
        Range::new(F::of(0.0), F::of(1.0))
    }

    fn anything(nan: bool) -> Self {
        Range { low: F::INFINITY.neg(), high: F::INFINITY, nan }
    }

    /// The condition's value, if it has only one.
    pub fn decided(&self) -> Option<bool> {
        (self.low == self.high).then(|| self.low != F::of(0.0))
    }

    /// Zero, of either sign, is within the limits.
    pub fn has_zero(&self) -> bool {
        self.low <= F::of(0.0) && F::of(0.0) <= self.high
    }

    /// Neither infinite nor NaN.
    pub fn finite(&self) -> bool {
        !self.nan && self.low.is_finite() && self.high.is_finite()
    }

    /// No value is below.
    pub fn at_least(&self, limit: f64) -> bool {
        !self.nan && self.low >= F::of(limit)
    }

    /// No value is above.
    pub fn at_most(&self, limit: f64) -> bool {
        !self.nan && self.high <= F::of(limit)
    }

    /// Every value is greater than zero.
    pub fn positive(&self) -> bool {
        !self.nan && self.low > F::of(0.0)
    }

    /// Finite, of one sign, and strictly larger in magnitude than the smallest normal number: then rounding is
    /// relative, and commutes with powers of two.
    pub fn normal(&self) -> bool {
        self.finite() && (self.low > F::SMALLEST_NORMAL || self.high < F::SMALLEST_NORMAL.neg())
    }

    fn has_infinity(&self) -> bool {
        !self.low.is_finite() || !self.high.is_finite()
    }

    fn hull(self, other: Self) -> Self {
        let nan = self.nan || other.nan;
        Range { low: least(self.low, other.low), high: most(self.high, other.high), nan }
    }

    fn with_nan(self, nan: bool) -> Self {
        Range { nan: self.nan || nan, ..self }
    }
}

fn least<F: Number>(a: F, b: F) -> F {
    if b < a { b } else { a }
}

fn most<F: Number>(a: F, b: F) -> F {
    if b > a { b } else { a }
}

/// The hull of the corners. A corner that is NaN (0 * inf, inf / inf) counts as 0, which its neighbours reach.
fn corners<F: Number>(a: Range<F>, b: Range<F>, of: impl Fn(F, F) -> F) -> Range<F> {
    let corner = |a, b| {
        let value = of(a, b);
        if value.is_nan() { F::of(0.0) } else { value }
    };
    let [p, q, r, s] =
        [corner(a.low, b.low), corner(a.low, b.high), corner(a.high, b.low), corner(a.high, b.high)];
    Range::new(least(least(p, q), least(r, s)), most(most(p, q), most(r, s)))
}

fn sum<F: Number>(a: Range<F>, b: Range<F>) -> Range<F> {
    let (low, high) = (a.low.add(b.low), a.high.add(b.high));
    let clash = |x: F, y: F| !x.is_finite() && !y.is_finite();
    let nan = clash(a.low, b.high) && a.low < b.high || clash(a.high, b.low) && b.low < a.high;
    Range {
        low: if low.is_nan() { F::INFINITY.neg() } else { low },
        high: if high.is_nan() { F::INFINITY } else { high },
        nan: nan || a.nan || b.nan,
    }
}

fn negated<F: Number>(a: Range<F>) -> Range<F> {
    Range { low: a.high.neg(), high: a.low.neg(), nan: a.nan }
}

/// The range of one operation from those of its operands.
pub(super) fn step<F: Number>(
    op: Op,
    at: impl Fn(Id) -> Range<F>,
    quantity: impl Fn(usize) -> Range<F>,
) -> Range<F> {
    let compare = |a: Id, b: Id, surely: bool, never: bool| {
        let nan = at(a).nan || at(b).nan;
        if never {
            Range::truth(false)
        } else if surely && !nan {
            Range::truth(true)
        } else {
            Range::undecided()
        }
    };
    match op {
        Op::Number(bits) => {
            let value = f64::from_bits(bits);
            if value.is_nan() { Range::anything(true) } else { Range::point(value) }
        }
        Op::Quantity(index) => quantity(index),
        Op::Neg(a) => negated(at(a)),
        Op::Add(a, b) => sum(at(a), at(b)),
        Op::Sub(a, b) if a == b && at(a).finite() => Range::point(0.0),
        Op::Sub(a, b) => sum(at(a), negated(at(b))),
        Op::Mul(a, b) => {
            let (x, y) = (at(a), at(b));
            let nan = x.has_zero() && y.has_infinity() || y.has_zero() && x.has_infinity();
            let product = corners(x, y, F::mul).with_nan(x.nan || y.nan);
            if a != b {
                return product.with_nan(nan);
            }
            // A square: its own corner at zero.
            let (p, q) = (x.low.mul(x.low), x.high.mul(x.high));
            let low = if x.has_zero() { F::of(0.0) } else { least(p, q) };
            Range { low, high: most(p, q), nan: x.nan }
        }
        Op::Div(a, b) => {
            let (x, y) = (at(a), at(b));
            let nan = x.nan || y.nan || x.has_infinity() && y.has_infinity();
            if y.has_zero() {
                return Range::anything(nan || x.has_zero());
            }
            if a == b && x.finite() {
                return Range::point(1.0);
            }
            corners(x, y, F::div).with_nan(nan)
        }
        // `if a < b { a } else { b }` is b when either is NaN.
        Op::Min(a, b) => {
            let (x, y) = (at(a), at(b));
            let high = if x.nan { y.high } else { least(x.high, y.high) };
            Range { low: least(x.low, y.low), high, nan: y.nan }
        }
        Op::Max(a, b) => {
            let (x, y) = (at(a), at(b));
            let low = if x.nan { y.low } else { most(x.low, y.low) };
            Range { low, high: most(x.high, y.high), nan: y.nan }
        }
        Op::Floor(a) => Range { low: at(a).low.floor(), high: at(a).high.floor(), nan: at(a).nan },
        Op::Ceil(a) => Range { low: at(a).low.ceil(), high: at(a).high.ceil(), nan: at(a).nan },
        Op::Pow(a, b) => {
            let (x, y) = (at(a), at(b));
            // For a base of at least 0 the power is monotone in the base, and in the exponent on each side of 1.
            let power = if x.low >= F::of(0.0) {
                corners(x, y, pow)
            } else {
                let size = Range::new(F::of(0.0), most(x.low.neg(), x.high));
                let bound = corners(size, y, pow);
                Range::new(bound.high.neg(), bound.high)
            };
            let power = if y.nan { power.hull(Range::point(1.0)) } else { power };
            power.with_nan(x.nan)
        }
        Op::If(c, a, b) => match at(c).decided() {
            Some(true) => at(a),
            Some(false) => at(b),
            None => at(a).hull(at(b)),
        },
        Op::Bool(value) => Range::truth(value),
        Op::Less(a, b) => compare(a, b, at(a).high < at(b).low, a == b || at(a).low >= at(b).high),
        Op::LessEqual(a, b) => compare(a, b, a == b || at(a).high <= at(b).low, at(a).low > at(b).high),
        Op::Equal(a, b) => {
            let (x, y) = (at(a), at(b));
            let same = a == b || x.low == x.high && y.low == y.high && x.low == y.low;
            compare(a, b, same, x.low > y.high || x.high < y.low)
        }
        Op::And(a, b) => Range::new(least(at(a).low, at(b).low), least(at(a).high, at(b).high)),
        Op::Or(a, b) => Range::new(most(at(a).low, at(b).low), most(at(a).high, at(b).high)),
        Op::Not(a) => Range::new(F::of(1.0).sub(at(a).high), F::of(1.0).sub(at(a).low)),
        Op::Iff(a, b) => match (at(a).decided(), at(b).decided()) {
            _ if a == b => Range::truth(true),
            (Some(x), Some(y)) => Range::truth(x == y),
            _ => Range::undecided(),
        },
        Op::Finite(a) => {
            let x = at(a);
            if x.finite() {
                Range::truth(true)
            } else if x.low == F::INFINITY || x.high == F::INFINITY.neg() {
                Range::truth(false)
            } else {
                Range::undecided()
            }
        }
    }
}

/// The range of every node, given those of the quantities.
pub(super) fn all<F: Number>(graph: &Graph, quantities: &[Range<F>]) -> Vec<Range<F>> {
    let mut ranges: Vec<Range<F>> = Vec::with_capacity(graph.ops().len());
    for &op in graph.ops() {
        let range = step(op, |id| ranges[id.index()], |index| quantities[index]);
        ranges.push(range);
    }
    ranges
}

/// The range of every node of the graph, by its index.
pub fn ranges(graph: &Graph, quantities: &[Quantity]) -> Vec<Range> {
    let domains: Vec<Range> = quantities.iter().map(|q| Range::new(q.domain.low, q.domain.high)).collect();
    all(graph, &domains)
}
