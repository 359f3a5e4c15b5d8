//! Reasoning over real numbers: a node is a quotient of polynomials in nonnegative variables, and roundings are interval coefficients.
//! Facts are read in order; each adds knowledge about one node.

use std::collections::BTreeMap;
use std::mem;

use crate::certificate::Fact;
use crate::graph::Op;

type Interval = (f64, f64);
/// A sum of terms. The key is the sorted list of variables of a term, the value the interval of its coefficient.
type Polynomial = BTreeMap<Vec<usize>, Interval>;

/// Maximum number of terms of a polynomial.
const MAX_TERMS: usize = 200;
/// Maximum number of variables of a term.
const MAX_FACTORS: usize = 12;
/// Relative error of one rounding, as a factor.
const ROUNDING: Interval = (1.0 - f64::EPSILON / 2.0, 1.0 + f64::EPSILON);
/// Absolute error of one rounding of a result that may be subnormal.
const UNDERFLOW: Interval = (-5e-324, 5e-324);
/// 2^53: every integer of smaller magnitude is an f64.
pub(crate) const MAX_INTEGER: f64 = 9_007_199_254_740_992.0;

fn outward(value: f64, exact: bool) -> Interval {
    if exact { (value, value) } else { (value.next_down(), value.next_up()) }
}

fn plus(x: Interval, y: Interval) -> Interval {
    let sum = |a: f64, b: f64| {
        let back = a + b - a;
        outward(a + b, (a - (a + b - back)) + (b - back) == 0.0)
    };
    (sum(x.0, y.0).0, sum(x.1, y.1).1)
}

fn times(x: Interval, y: Interval) -> Interval {
    let product = |a: f64, b: f64| {
        let exact_error = a == 0.0 || b == 0.0 || (a * b).abs() > 1e-250;
        outward(a * b, exact_error && a.mul_add(b, -(a * b)) == 0.0)
    };
    let all = [product(x.0, y.0), product(x.0, y.1), product(x.1, y.0), product(x.1, y.1)];
    let low = all.iter().fold(f64::INFINITY, |low, part| low.min(part.0));
    (low, all.iter().fold(f64::NEG_INFINITY, |high, part| high.max(part.1)))
}

fn constant(value: f64) -> Quotient {
    let polynomial = |value: f64| Polynomial::from([(Vec::new(), (value, value))]);
    Quotient { over: polynomial(value), under: polynomial(1.0) }
}

/// Computes `x + y * scale * by`, where `by` is a product of variables.
fn sum(mut x: Polynomial, y: &Polynomial, scale: Interval, by: &[usize]) -> Option<Polynomial> {
    for (factors, &coefficient) in y {
        let mut factors = [by, factors].concat();
        factors.sort_unstable();
        let entry = x.entry(factors).or_insert((0.0, 0.0));
        *entry = plus(*entry, times(coefficient, scale));
    }
    x.retain(|_, limits| *limits != (0.0, 0.0));
    let usable = |(factors, limits): (&Vec<usize>, &Interval)| {
        factors.len() <= MAX_FACTORS && limits.0.is_finite() && limits.1.is_finite()
    };
    (x.len() <= MAX_TERMS && x.iter().all(usable)).then_some(x)
}

fn product(x: &Polynomial, y: &Polynomial) -> Option<Polynomial> {
    x.iter().try_fold(Polynomial::new(), |all, (factors, &scale)| sum(all, y, scale, factors))
}

/// A quotient with a positive divisor.
#[derive(Clone)]
struct Quotient {
    over: Polynomial,
    under: Polynomial,
}

impl Quotient {
    fn plus(&self, other: &Quotient, sign: f64) -> Option<Quotient> {
        let (left, right) = (product(&self.over, &other.under)?, product(&other.over, &self.under)?);
        let under = product(&self.under, &other.under)?;
        Some(Quotient { over: sum(left, &right, (sign, sign), &[])?, under })
    }
}

struct Value {
    range: Interval,
    /// Exact result of the last operation.
    before: Quotient,
    /// Result after rounding.
    after: Quotient,
}

/// Knowledge about nodes, derived from facts.
pub(crate) struct Values<'a> {
    nodes: &'a [Op],
    known: BTreeMap<usize, Value>,
    whole: Vec<usize>,
    /// Upper bound of each variable.
    variables: Vec<Interval>,
}

impl<'a> Values<'a> {
    pub fn new(nodes: &'a [Op], facts: &[Fact]) -> Option<Self> {
        let mut values = Values { nodes, known: BTreeMap::new(), whole: Vec::new(), variables: Vec::new() };
        facts.iter().try_for_each(|&fact| values.read(fact))?;
        Some(values)
    }

    fn read(&mut self, fact: Fact) -> Option<()> {
        match fact {
            Fact::Whole(node) => self.whole.push(node),
            Fact::Range(node, low, high) => {
                // The first range anchors the node at its lower bound unless its operation is known; the same range again anchors it at its
                // upper bound.
                let before =
                    self.known.get_mut(&node).map(|value| mem::replace(&mut value.range, (low, high)));
                let value = before.is_none().then(|| self.operation(node, (low, high))).flatten();
                match (value, before) {
                    (Some(value), _) => drop(self.known.insert(node, value)),
                    (_, None) => {
                        self.anchor(node, (low, high), &constant(low), if low < high { 1.0 } else { 0.0 })?
                    }
                    (_, Some(range)) if range == (low, high) => {
                        self.anchor(node, range, &constant(high), -1.0)?
                    }
                    _ => {}
                }
            }
            Fact::Le(a, b) | Fact::Lt(a, b) => {
                let (node, near, sign) = match self.known.get(&a) {
                    Some(less) => (b, less.after.clone(), 1.0),
                    None => (a, self.known.get(&b)?.after.clone(), -1.0),
                };
                self.anchor(node, (f64::NEG_INFINITY, f64::INFINITY), &near, sign)?;
            }
            _ => return None,
        }
        Some(())
    }

    /// Defines the node as `near` plus or minus a new variable.
    fn anchor(&mut self, node: usize, range: Interval, near: &Quotient, sign: f64) -> Option<()> {
        let over = Polynomial::from([(vec![self.variables.len()], (sign, sign))]);
        let width = (range.1 - range.0).next_up();
        self.variables.push((width, width));
        let after = near.plus(&Quotient { over, ..constant(1.0) }, 1.0)?;
        self.known.insert(node, Value { range, before: after.clone(), after });
        Some(())
    }

    /// Returns the value of a node whose range is known.
    fn get(&self, node: usize) -> Option<&Value> {
        self.known.get(&node).filter(|value| value.range.0.is_finite())
    }

    /// Computes a node from its operands, if their values are known.
    fn operation(&self, node: usize, range: Interval) -> Option<Value> {
        let exact = |value: Quotient| Some(Value { range, before: value.clone(), after: value });
        match *self.nodes.get(node)? {
            Op::Neg(a) => exact(constant(0.0).plus(&self.get(a)?.after, -1.0)?),
            Op::Abs(a) if self.get(a)?.range.0 >= 0.0 => exact(self.get(a)?.after.clone()),
            op @ (Op::Add(a, b) | Op::Sub(a, b) | Op::Mul(a, b) | Op::Div(a, b)) => {
                let (x, y) = (&self.get(a)?.after, &self.get(b)?.after);
                let value = match op {
                    Op::Add(..) => x.plus(y, 1.0)?,
                    Op::Sub(..) => x.plus(y, -1.0)?,
                    Op::Mul(..) => {
                        Quotient { over: product(&x.over, &y.over)?, under: product(&x.under, &y.under)? }
                    }
                    _ if self.get(b)?.range.0 <= 0.0 => return None,
                    _ => Quotient { over: product(&x.over, &y.under)?, under: product(&x.under, &y.over)? },
                };
                let whole = self.whole.contains(&a) && self.whole.contains(&b) && !matches!(op, Op::Div(..));
                let exactly = whole && range.0 > -MAX_INTEGER && range.1 < MAX_INTEGER;
                let is_sum = matches!(op, Op::Add(..) | Op::Sub(..));
                if exactly { exact(value) } else { rounded(value, range, is_sum) }
            }
            _ => None,
        }
    }

    /// Returns true if an order or a range follows. Rounding preserves the order of exact results, but not strict order.
    pub fn shows(&self, wanted: Fact) -> Option<bool> {
        Some(match wanted {
            Fact::Le(a, b) => self.has_sign(&self.get(b)?.before.plus(&self.get(a)?.before, -1.0)?, false),
            Fact::Lt(a, b) => self.has_sign(&self.get(b)?.after.plus(&self.get(a)?.after, -1.0)?, true),
            Fact::Range(node, low, high) if low.is_finite() && high.is_finite() => {
                let value = &self.get(node)?.before;
                let (above, below) = (value.plus(&constant(low), -1.0)?, constant(high).plus(value, -1.0)?);
                self.has_sign(&above, false) && self.has_sign(&below, false)
            }
            _ => false,
        })
    }

    /// Returns true if a value is never negative (`strictly`: always positive), taking every negative term at its largest magnitude.
    fn has_sign(&self, of: &Quotient, strictly: bool) -> bool {
        let mut bound = (0.0, 0.0);
        for (factors, &(low, _)) in of.over.iter().filter(|(all, limits)| all.is_empty() || limits.0 < 0.0) {
            bound = plus(bound, factors.iter().fold((low, low), |x, &y| times(x, self.variables[y])));
        }
        if strictly { bound.0 > 0.0 } else { bound.0 >= 0.0 }
    }
}

/// Applies one rounding. Subnormal sums are exact.
fn rounded(before: Quotient, range: Interval, is_sum: bool) -> Option<Value> {
    let mut over = sum(Polynomial::new(), &before.over, ROUNDING, &[])?;
    if !is_sum && range.0 <= f64::MIN_POSITIVE && range.1 >= -f64::MIN_POSITIVE {
        over = sum(over, &before.under, UNDERFLOW, &[])?;
    }
    let after = Quotient { over, under: before.under.clone() };
    Some(Value { range, before, after })
}
