//! The proof rules. Each is a family of lemmas in `coq/Rules.v`, one for each operation and combination of premises that [`conclude`]
//! accepts: `Operation` covers `add_range`, `mul_range`, `if_known_true` and others, `Monotone` covers `add_le`, `div_turn` and others. The
//! rule, operations and premises of a step determine the lemma; `contracts/src/certify/coq.rs` emits its name. Constants such as `true`
//! need no lemma.
//!
//! All rules rest on one fact: correctly rounded operations are monotone, so a bound that is a float survives rounding.

use crate::certificate::{Domain, Fact};
use crate::graph::Op;
use crate::real::{MAX_INTEGER, Values};

data! {
    /// Justification of a proof step.
    #[derive(Copy, Eq, PartialOrd, Ord, Hash)]
    pub enum Rule {
        /// Range of an operation from the ranges of its operands. A quantity is within its domain, corners bound products, quotients and
        /// powers, a square is not negative, and an `if` has the range of both branches or of the selected one.
        Operation,
        /// Intersection of two ranges of a node.
        Meet,
        /// A wider range.
        Widen,
        /// A range narrowed by an order: of a node, of a difference or of a quotient.
        Narrow,
        /// Different floats are at least as far apart as adjacent ones.
        Gap,
        /// Order of nodes with disjoint ranges.
        Apart,
        /// Reflexivity and transitivity of orders; `a < b` implies `a <= b`.
        Trans,
        /// Monotonicity of rounded operations.
        Monotone,
        /// Bounds of a min, max or `if` from bounds of both branches; two `if`s with the same condition.
        Choice,
        /// Order of an operation and one of its operands: a min is at most each operand, adding a nonnegative value does not decrease.
        Beside,
        /// Orders and ranges proven over the reals, with bounds on the rounding errors.
        Reals,
        /// Operations whose result is an integer.
        Whole,
        /// Range of an integer, rounded inward to integers.
        Inward,
        /// `floor(a / b) * b <= a <= ceil(a / b) * b` and `a - floor(a / b) * b < b`, over integers.
        Multiple,
        /// Value of a comparison from the order, and of `and`, `or`, `not` and `iff` from their operands; a node with a range is finite.
        Decide,
        /// Order from the value of a comparison.
        Order,
        /// Operands of a decided `and`, `or` or `not`; if an `or` is true and one operand false, the other is true.
        Part,
        /// Ratio of a node to itself or to an equal node (2^0), or of two constants (a power of two).
        Ratio,
        /// Exact multiplication or division by a power of two.
        RatioScale,
        /// Transitivity and symmetry of ratios: `a = 2^j b = 2^(j + k) c`, and `b = 2^-k a`.
        RatioTrans,
        /// Ratio of two results of an operation from the ratios of their operands.
        RatioOf,
        /// Order of a value and its multiple.
        RatioLe,
        /// An empty range, or contradictory orders or conditions.
        Contradiction,
        /// A conclusion that holds in every case.
        Cases,
    }
}

use Fact::{Absurd, Holds, Le, Lt, Range, Ratio, Whole};

fn corners(x: (f64, f64), y: (f64, f64), of: impl Fn(f64, f64) -> f64) -> Option<(f64, f64)> {
    let values = [of(x.0, y.0), of(x.0, y.1), of(x.1, y.0), of(x.1, y.1)];
    let finite = values.iter().all(|value| value.is_finite());
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    finite.then(|| (low, values.iter().copied().fold(f64::NEG_INFINITY, f64::max)))
}

fn power(base: f64, exponent: f64) -> f64 {
    (0..exponent.clamp(0.0, 65536.0) as u32).fold(1.0, |product, _| product * base)
}

/// Returns `k` if the value is `2^k`.
fn power_of_two(value: f64) -> Option<i32> {
    let bits = value.to_bits();
    (value.is_normal() && value > 0.0 && bits << 12 == 0).then(|| (bits >> 52) as i32 - 1023)
}

/// True if all values are normal, so that the rounding error is relative.
fn normal(low: f64, high: f64) -> bool {
    low > f64::MIN_POSITIVE || high < -f64::MIN_POSITIVE
}

/// Returns the conclusion of a rule, or `None` if the rule does not apply to the premises `from`.
///
/// `wanted` selects the nodes, the kind of order and the value of a condition. Its bounds are read only by the rules [`Rule::Widen`] and
/// [`Rule::Reals`].
pub fn conclude(nodes: &[Op], domains: &[Domain], rule: Rule, from: &[Fact], wanted: Fact) -> Option<Fact> {
    let op = |node: usize| nodes.get(node).copied();
    // Nodes of the conclusion.
    let (n, m) = match wanted {
        Range(n, ..) | Holds(n, _) | Whole(n) => (n, n),
        Le(n, m) | Lt(n, m) | Ratio(n, m, _) => (n, m),
        Absurd => (usize::MAX, usize::MAX),
    };
    let strict = matches!(wanted, Lt(..));
    let range = |low: f64, high: f64| (low.is_finite() && high.is_finite()).then_some(Range(n, low, high));
    let hull = |bounds: Option<(f64, f64)>| bounds.and_then(|(low, high)| range(low, high));
    let le = |applies: bool| (applies && !strict).then_some(Le(n, m));
    let lt = |applies: bool| (applies && strict).then_some(Lt(n, m));
    let order = |applies: bool, strictly: bool| le(applies).or(lt(strictly));
    let truth = |value: bool| Some(Holds(n, value));
    let ratio = |k: i32| Some(Ratio(n, m, k));
    // True if a node is a commutative operation on two others, in either order.
    let either = |x: usize, of: fn(usize, usize) -> Op, a, b| [of(a, b), of(b, a)].map(Some).contains(&op(x));
    let (sum, product) = (|x, a, b| either(x, Op::Add, a, b), |x, a, b| either(x, Op::Mul, a, b));
    let chosen = |node: usize, (c, value): (usize, bool), a: usize| match op(node) {
        Some(Op::If(d, p, q)) => d == c && a == if value { p } else { q },
        _ => false,
    };
    let starts_strict = matches!(from.first(), Some(Lt(..)));
    match (rule, from) {
        (Rule::Operation, []) => match op(n)? {
            Op::Quantity(index) => domains.get(index).and_then(|domain| range(domain.low, domain.high)),
            Op::Number(value) => range(value, value),
            Op::Bool(value) => truth(value),
            _ => None,
        },
        (Rule::Operation, &[Range(a, l, h)]) if op(n)?.operands().iter().all(|&x| x == a) => match op(n)? {
            Op::Neg(_) => range(-h, -l),
            Op::Floor(_) => range(l.floor(), h.floor()),
            Op::Ceil(_) => range(l.ceil(), h.ceil()),
            Op::Sqrt(_) if l >= 0.0 => range(l.sqrt(), h.sqrt()),
            Op::Abs(_) => range(l.max(-h).max(0.0), h.max(-l)),
            Op::Mul(..) if l <= 0.0 && 0.0 <= h => range(0.0, (l * l).max(h * h)),
            Op::Mul(..) => range((l * l).min(h * h), (l * l).max(h * h)),
            _ => None,
        },
        (Rule::Operation, &[Range(a, l, h), Range(b, k, g)]) if op(n)?.operands().ends_with(&[a, b]) => {
            match op(n)? {
                Op::Add(..) => range(l + k, h + g),
                Op::Sub(..) => range(l - g, h - k),
                Op::Mul(..) => hull(corners((l, h), (k, g), |x, y| x * y)),
                Op::Div(..) if k > 0.0 || g < 0.0 => hull(corners((l, h), (k, g), |x, y| x / y)),
                Op::Min(..) => range(l.min(k), h.min(g)),
                Op::Max(..) => range(l.max(k), h.max(g)),
                Op::Pow(..) if l >= 0.0 && k >= 0.0 => hull(corners((l, h), (k, g), power)),
                Op::If(..) => range(l.min(k), h.max(g)),
                _ => None,
            }
        }
        (Rule::Operation, &[Holds(c, value), Range(a, l, h)]) if chosen(n, (c, value), a) => range(l, h),
        (Rule::Meet, &[Range(a, l, h), Range(b, k, g)]) if a == n && b == n => range(l.max(k), h.min(g)),
        (Rule::Widen, &[Range(a, l, h)]) => match wanted {
            Range(_, low, high) if a == n && low <= l && h <= high => range(low, high),
            _ => None,
        },
        (Rule::Narrow, &[Le(a, b) | Lt(a, b), Range(x, l, h), Range(y, k, g)]) if (x, y) == (a, b) => {
            let (low, high) = if starts_strict { (l.next_up(), g.next_down()) } else { (l, g) };
            if n == a { range(l, h.min(high)) } else { range(k.max(low), g).filter(|_| n == b) }
        }
        (Rule::Narrow, &[Le(a, b) | Lt(a, b), Range(d, l, h)]) if d == n => {
            let min = if starts_strict { f64::from_bits(1) } else { 0.0 };
            match op(n)? {
                Op::Sub(p, q) if (p, q) == (b, a) => range(l.max(min), h),
                Op::Sub(p, q) if (p, q) == (a, b) => range(l, h.min(-min)),
                _ => None,
            }
        }
        (Rule::Narrow, &[Le(a, b) | Lt(a, b), Range(x, k, _), Range(d, l, h)]) if d == n && k > 0.0 => {
            let max = if starts_strict { 1.0_f64.next_down() } else { 1.0 };
            match op(n)? {
                Op::Div(p, q) if p == q && (a, b, x) == (p, p, p) => range(1.0, 1.0),
                Op::Div(p, q) if (p, q) == (a, b) && x == b => range(l, h.min(max)),
                Op::Div(p, q) if (p, q) == (b, a) && x == a && max == 1.0 => range(l.max(1.0), h),
                _ => None,
            }
        }
        (Rule::Gap, &[Lt(a, b), Range(x, k, _), Range(d, l, h)]) if x == b && d == n && k > 0.0 => {
            range(l.max(k - k.next_down()), h).filter(|_| op(n) == Some(Op::Sub(b, a)))
        }
        (Rule::Trans, &[Range(a, ..)]) => le(n == a && m == a),
        (Rule::Apart, &[Range(a, _, h), Range(b, k, _)]) if (n, m) == (a, b) => order(h <= k, h < k),
        (Rule::Trans, &[Le(a, b) | Lt(a, b), Le(c, d) | Lt(c, d)]) if b == c && (n, m) == (a, d) => {
            order(true, from.iter().any(|fact| matches!(fact, Lt(..))))
        }
        (Rule::Trans, &[Lt(a, b)]) => le((n, m) == (a, b)),
        (Rule::Monotone, &[Le(p, q)]) => match (op(n)?, op(m)?) {
            (Op::Neg(a), Op::Neg(b)) => le((a, b) == (q, p)),
            (Op::Floor(a), Op::Floor(b)) | (Op::Ceil(a), Op::Ceil(b)) => le((a, b) == (p, q)),
            _ => None,
        },
        (Rule::Monotone, &[Le(p, q), Range(t, k, _)]) if t == p && k >= 0.0 => {
            le(op(n)? == Op::Sqrt(p) && op(m)? == Op::Sqrt(q))
        }
        (Rule::Monotone, &[Le(p, r), Range(q, k, g), Range(x, ..), Range(y, ..)]) if (x, y) == (n, m) => {
            match (op(n)?, op(m)?) {
                (Op::Mul(..), _) => le(g <= 0.0 && product(n, r, q) && product(m, p, q)),
                (Op::Div(a, b), Op::Div(c, d)) => {
                    le((b, d) == (q, q) && ((a, c) == (p, r) && k > 0.0 || (a, c) == (r, p) && g < 0.0))
                }
                (Op::Pow(a, e), Op::Pow(b, f)) if e == f => le((a, b) == (p, r) && q == p && k >= 0.0),
                (Op::Pow(a, e), Op::Pow(b, f)) if (a, b) == (q, q) => {
                    le(k >= 0.0 && g <= 1.0 && (e, f) == (r, p) || k >= 1.0 && (e, f) == (p, r))
                }
                _ => None,
            }
        }
        (Rule::Monotone, &[Le(p, r), Le(q, s), Range(x, ..), Range(y, ..)]) if (x, y) == (n, m) => {
            let difference = op(n)? == Op::Sub(p, s) && op(m)? == Op::Sub(r, q);
            le(op(n)? == Op::Add(p, q) && sum(m, r, s) || difference)
        }
        (
            Rule::Monotone,
            &[Le(p, r), Le(q, s), Range(t, k, _), Range(u, l, _), Range(x, ..), Range(y, ..)],
        ) => {
            let products = product(n, p, q) && product(m, r, s) && (t, u) == (q, r) && k >= 0.0 && l >= 0.0;
            let quotients = op(n)? == Op::Div(p, s) && op(m)? == Op::Div(r, q);
            le((x, y) == (n, m) && (products || quotients && (t, u) == (r, q) && k >= 0.0 && l > 0.0))
        }
        (Rule::Choice, &[Le(a, x), Le(b, y)]) => match (op(n)?, op(m)?) {
            (Op::If(c, p, q), Op::If(d, t, u)) if c == d && (p, q, t, u) == (a, b, x, y) => le(true),
            (Op::Max(p, q) | Op::If(_, p, q), _) if (p, q, x, y) == (a, b, m, m) => le(true),
            (_, Op::Min(p, q) | Op::If(_, p, q)) => le((p, q, a, b) == (x, y, n, n)),
            _ => None,
        },
        (Rule::Beside, &[Holds(c, value), Range(a, ..)]) => {
            le(m == a && chosen(n, (c, value), a) || n == a && chosen(m, (c, value), a))
        }
        (Rule::Beside, &[Range(p, l, _)]) => {
            let below = n == p && (op(m)? == Op::Ceil(p) || op(m)? == Op::Abs(p));
            le(below || m == p && (op(n)? == Op::Floor(p) || op(n)? == Op::Abs(p) && l >= 0.0))
        }
        (Rule::Beside, &[Range(p, ..), Whole(w)]) if w == p => {
            le(op(m)? == Op::Floor(p) && n == p || op(n)? == Op::Ceil(p) && m == p)
        }
        (Rule::Beside, &[Range(a, ..), Range(b, ..)]) => {
            let below = op(n)? == Op::Min(a, b) && (m == a || m == b);
            le(below || op(m)? == Op::Max(a, b) && (n == a || n == b))
        }
        (Rule::Beside, &[Range(p, k, g), Range(c, l, h), Range(x, ..)]) => {
            let sides = |shrinks: bool, grows: bool| {
                (k >= 0.0 && shrinks || g <= 0.0 && grows, k >= 0.0 && grows || g <= 0.0 && shrinks)
            };
            let (down, up) = match op(x)? {
                Op::Add(..) if sum(x, p, c) => (h <= 0.0, l >= 0.0),
                Op::Sub(a, b) if (a, b) == (p, c) => (l >= 0.0, h <= 0.0),
                Op::Mul(..) if product(x, p, c) => sides(l >= 0.0 && h <= 1.0, l >= 1.0),
                Op::Div(a, b) if (a, b) == (p, c) => sides(l >= 1.0, l > 0.0 && h <= 1.0),
                // A power and its base, with an exponent of at least 1.
                Op::Pow(a, b) if (a, b, l) == (p, c, 1.0) && h == 1.0 => (true, true),
                Op::Pow(a, b) if (a, b) == (p, c) && l >= 1.0 => (k >= 0.0 && g <= 1.0, k >= 1.0),
                _ => return None,
            };
            le((n, m) == (x, p) && down || (n, m) == (p, x) && up)
        }
        (Rule::Reals, facts) => Values::new(nodes, facts)?.shows(wanted)?.then_some(wanted),
        (Rule::Whole, facts) => {
            let whole = match (op(n)?, facts) {
                (Op::Quantity(index), []) => domains.get(index)?.whole,
                (Op::Number(value), []) => value.is_finite() && value == value.floor(),
                (_, &[Le(a, b), Le(c, d), Whole(y)]) => (a, b, c, d) == (n, y, y, n),
                (Op::Floor(a) | Op::Ceil(a), &[Range(x, ..)]) => x == a,
                (Op::Neg(a) | Op::Abs(a), &[Whole(x)]) => x == a,
                (Op::Min(a, b) | Op::Max(a, b) | Op::If(_, a, b), &[Whole(x), Whole(y)]) => (x, y) == (a, b),
                (Op::Add(a, b) | Op::Sub(a, b) | Op::Mul(a, b), &[Whole(x), Whole(y), Range(r, l, h)]) => {
                    (x, y, r) == (a, b, n) && l > -MAX_INTEGER && h < MAX_INTEGER
                }
                _ => false,
            };
            whole.then_some(Whole(n))
        }
        (Rule::Inward, &[Whole(a), Range(b, l, h)]) if a == n && b == n => range(l.ceil(), h.floor()),
        (
            Rule::Multiple,
            &[Whole(a), Whole(b), Range(c, l, h), Range(d, k, g), Range(q, ..), Range(x, ..), ..],
        ) => {
            let small = (c, d) == (a, b) && l >= 0.0 && h < MAX_INTEGER && k > 0.0 && g <= MAX_INTEGER;
            let fits = small && op(q)? == Op::Div(a, b);
            let part = |of: Op| nodes.iter().position(|&op| op == of).is_some_and(|part| product(x, part, b));
            let down = fits && part(Op::Floor(q));
            match from[6..] {
                [] => le((n, m) == (a, x) && fits && part(Op::Ceil(q)) || (n, m) == (x, a) && down),
                [Range(y, ..)] => lt((n, m) == (y, b) && down && op(y)? == Op::Sub(a, x)),
                _ => None,
            }
        }
        (Rule::Decide, facts) => match (op(n)?, facts) {
            (Op::Less(a, b), &[Lt(x, y)]) if (x, y) == (a, b) => truth(true),
            (Op::Less(a, b), &[Le(y, x)]) if (x, y) == (a, b) => truth(false),
            (Op::LessEqual(a, b), &[Le(x, y)]) if (x, y) == (a, b) => truth(true),
            (Op::LessEqual(a, b), &[Lt(y, x)]) if (x, y) == (a, b) => truth(false),
            (Op::Equal(a, b), &[Le(x, y), Le(z, w)]) if (x, y, z, w) == (a, b, b, a) => truth(true),
            (Op::Equal(a, b), &[Lt(x, y)]) if (x, y) == (a, b) || (x, y) == (b, a) => truth(false),
            (Op::And(a, b), &[Holds(x, true), Holds(y, true)]) if (x, y) == (a, b) => truth(true),
            (Op::And(a, b), &[Holds(x, false)]) if x == a || x == b => truth(false),
            (Op::Or(a, b), &[Holds(x, false), Holds(y, false)]) if (x, y) == (a, b) => truth(false),
            (Op::Or(a, b), &[Holds(x, true)]) if x == a || x == b => truth(true),
            (Op::Not(a), &[Holds(x, value)]) if x == a => truth(!value),
            (Op::Iff(a, b), &[Holds(x, v), Holds(y, w)]) if (x, y) == (a, b) => truth(v == w),
            (Op::Iff(a, b), []) if a == b => truth(true),
            (Op::Finite(a), &[Range(x, ..)]) if x == a => truth(true),
            _ => None,
        },
        (Rule::Order, &[Holds(c, value), Range(x, ..), Range(y, ..)]) => match (op(c)?, value) {
            (Op::Less(a, b), true) if (a, b, n, m) == (x, y, x, y) => lt(true),
            (Op::Less(a, b), false) if (a, b, n, m) == (x, y, y, x) => le(true),
            (Op::LessEqual(a, b), true) if (a, b, n, m) == (x, y, x, y) => le(true),
            (Op::LessEqual(a, b), false) if (a, b, n, m) == (x, y, y, x) => lt(true),
            (Op::Equal(a, b), true) if (a, b) == (x, y) => le((n, m) == (x, y) || (n, m) == (y, x)),
            _ => None,
        },
        (Rule::Part, &[Holds(c, true), Holds(x, false)]) if either(c, Op::Or, x, n) => truth(true),
        (Rule::Part, &[Holds(c, value)]) => match (op(c)?, value) {
            (Op::And(a, b), true) | (Op::Or(a, b), false) if n == a || n == b => truth(value),
            (Op::Not(a), _) if n == a => truth(!value),
            _ => None,
        },
        (Rule::Ratio, &[Range(a, ..)]) if (n, m) == (a, a) => ratio(0),
        (Rule::Ratio, &[Le(a, b), Le(c, d)]) if (a, b) == (d, c) && (n, m) == (a, b) => ratio(0),
        (Rule::Ratio, &[Range(x, a, l), Range(y, b, k)]) if (x, y) == (n, m) && a == l && b == k => {
            let exact = normal(a, a) && normal(b, b) && a / b * b == a;
            power_of_two(a / b).filter(|_| exact).and_then(ratio)
        }
        (Rule::RatioScale, &[Range(x, ..), Range(c, u, v), Range(y, l, h)]) if (n, m) == (y, x) && u == v => {
            let k = match op(n)? {
                Op::Mul(..) if product(n, x, c) => power_of_two(u)?,
                Op::Div(p, q) if (p, q) == (x, c) => -power_of_two(u)?,
                _ => return None,
            };
            ratio(k).filter(|_| k >= 0 || normal(l, h))
        }
        (Rule::RatioTrans, &[Ratio(a, b, j), Ratio(c, d, k)]) if (n, m, b) == (a, d, c) => {
            ratio(j.checked_add(k)?)
        }
        (Rule::RatioTrans, &[Ratio(a, b, k)]) if (n, m) == (b, a) => ratio(k.checked_neg()?),
        (Rule::RatioOf, &[Ratio(p, q, k)]) if op(n)? == Op::Neg(p) && op(m)? == Op::Neg(q) => ratio(k),
        (Rule::RatioOf, &[Ratio(p, r, j), Ratio(q, s, k)]) if j == k => match (op(n)?, op(m)?) {
            (Op::Min(a, b), Op::Min(c, d)) | (Op::Max(a, b), Op::Max(c, d)) => {
                ratio(k).filter(|_| (a, b, c, d) == (p, q, r, s))
            }
            _ => None,
        },
        (Rule::RatioOf, &[Ratio(p, r, j), Ratio(q, s, k), Range(x, l, h), Range(y, t, u)]) => {
            let (same, alike) = ((x, y) == (n, m), normal(l, h) && normal(t, u));
            let power = match op(n)? {
                Op::Add(a, b) if (a, b, j) == (p, q, k) && sum(m, r, s) => return ratio(j).filter(|_| same),
                Op::Sub(a, b) if (a, b, j) == (p, q, k) && op(m)? == Op::Sub(r, s) => {
                    return ratio(j).filter(|_| same);
                }
                Op::Mul(a, b) if (a, b) == (p, q) && product(m, r, s) => j.checked_add(k)?,
                Op::Div(a, b) if (a, b) == (p, q) && op(m)? == Op::Div(r, s) => j.checked_sub(k)?,
                _ => return None,
            };
            ratio(power).filter(|_| same && (power == 0 || alike))
        }
        (Rule::RatioLe, &[Ratio(a, b, k), Range(c, l, h)]) if c == b && (n, m) == (a, b) => {
            let weak = k == 0 || k < 0 && l >= 0.0 || k > 0 && h <= 0.0;
            order(weak, k < 0 && l > 0.0 || k > 0 && h < 0.0)
        }
        (Rule::Contradiction, &[Range(_, l, h)]) if l > h => Some(Absurd),
        (Rule::Contradiction, &[Lt(a, b), Le(c, d) | Lt(c, d)]) if (a, b) == (d, c) => Some(Absurd),
        (Rule::Contradiction, &[Holds(c, true), Holds(d, false)]) if c == d => Some(Absurd),
        _ => None,
    }
}
