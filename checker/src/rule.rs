//! The rules, each a lemma of `verify/coq/Rules.v` of the same name.
//!
//! All rest on one fact: correctly rounded operations are monotone, and a bound that is a number survives rounding.

use crate::certificate::{Domain, Fact};
use crate::graph::Op;

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Why a fact follows from others.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
        #[cfg_attr(feature = "json", serde(rename_all = "kebab-case"))]
        pub enum Rule { $($(#[$doc])* $name,)* }

        impl Rule {
            /// Every rule.
            pub const ALL: &[Rule] = &[$(Rule::$name,)*];
        }
    };
}

rules! {
    /// A quantity is in its domain.
    Domain,
    /// A number is itself; a truth value is itself.
    Constant,
    /// The range of `-a`.
    Neg,
    /// The range of `a + b`.
    Add,
    /// The range of `a - b`.
    Sub,
    /// The range of `a * b`: its corners.
    Mul,
    /// The range of `a * a`: never negative.
    Square,
    /// The range of `a / b`, where b is not zero: its corners.
    Div,
    /// The range of `min(a, b)`.
    Min,
    /// The range of `max(a, b)`.
    Max,
    /// The range of `floor(a)`.
    Floor,
    /// The range of `ceil(a)`.
    Ceil,
    /// The range of `sqrt(a)`, a not negative.
    Sqrt,
    /// The range of `abs(a)`.
    Abs,
    /// The range of `pow(a, b)`, a not negative: its corners.
    Pow,
    /// The range of `if c then a else b`: that of both.
    If,
    /// The range of `if c then a else b` where c is known: that of one.
    IfKnown,
    /// Two ranges of one node: what they share.
    Meet,
    /// A wider range.
    Widen,
    /// A range that an order with another node narrows.
    Narrow,
    /// The sign of a difference of ordered values.
    Difference,
    /// Values that differ are as far apart as neighbours.
    Gap,
    /// A quotient of ordered values is on one side of 1.
    Quotient,
    /// `a <= a`
    Refl,
    /// Ranges that do not overlap.
    Apart,
    /// `a <= b <= c`
    Trans,
    /// `a <= b` where `a < b`.
    Weak,
    /// `-q <= -p` where `p <= q`.
    NegLe,
    /// Rounded sums are monotone.
    AddLe,
    /// Rounded differences are monotone.
    SubLe,
    /// Rounded products are monotone.
    MulLe,
    /// A factor that is not positive turns the order.
    MulTurn,
    /// Rounded quotients are monotone.
    DivLe,
    /// Division by the same positive number keeps the order.
    DivBy,
    /// Division by the same negative number turns it.
    DivTurn,
    /// A dividend that is not positive grows with its divisor.
    DivNeg,
    /// Floors are monotone.
    FloorLe,
    /// Ceilings are monotone.
    CeilLe,
    /// Square roots are monotone.
    SqrtLe,
    /// Powers of bases that are not negative are monotone in the base.
    PowLe,
    /// A min is at most each of its values.
    MinLe,
    /// A max is at least each of its values.
    MaxGe,
    /// What is at most both is at most the min.
    LeMin,
    /// What is at least both is at least the max.
    MaxLe,
    /// What is at least both is at least the if.
    IfLe,
    /// What is at most both is at most the if.
    LeIf,
    /// Two ifs with one condition.
    IfIf,
    /// An if whose condition is known is the chosen value.
    Chosen,
    /// A floor is at most its value.
    FloorBelow,
    /// A ceiling is at least its value.
    CeilAbove,
    /// A magnitude is at least its value.
    AbsAbove,
    /// A magnitude is at most its value, where that is not negative.
    AbsBelow,
    /// `a / b * b` and `a` times a number that leaves room for the roundings.
    Undo,
    /// Adding nothing negative, or nothing positive.
    AddSign,
    /// Subtracting nothing negative, or nothing positive.
    SubSign,
    /// A factor on one side of 1.
    MulOne,
    /// A divisor on one side of 1.
    DivOne,
    /// A comparison is decided by the order.
    Compare,
    /// A comparison that is decided tells the order.
    Order,
    /// `and`, `or`, `not` or `iff` of decided conditions.
    Connective,
    /// The parts of a decided `and`, `or` or `not`.
    Part,
    /// What has a range is finite.
    Finite,
    /// A node is itself times 2^0.
    RatioRefl,
    /// Two numbers whose quotient is a power of two.
    RatioConstant,
    /// Multiplication or division by a power of two that loses nothing.
    RatioScale,
    /// `a = 2^j b = 2^(j + k) c`
    RatioTrans,
    /// `b = 2^-k a`
    RatioFlip,
    /// Equal values: at most each other.
    RatioEqual,
    /// Ratios of negations.
    RatioNeg,
    /// Ratios of sums.
    RatioAdd,
    /// Ratios of differences.
    RatioSub,
    /// Ratios of products.
    RatioMul,
    /// Ratios of quotients.
    RatioDiv,
    /// Ratios of minima.
    RatioMin,
    /// Ratios of maxima.
    RatioMax,
    /// The order of a value and its multiple.
    RatioLe,
    /// Ranges that are empty, orders or conditions that contradict each other.
    Contradiction,
    /// What holds in every case.
    Cases,
}

use Fact::{Absurd, Holds, Le, Lt, Range, Ratio};

fn hull(values: &[f64]) -> Option<(f64, f64)> {
    let finite = values.iter().all(|value| value.is_finite());
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    finite.then(|| (low, values.iter().copied().fold(f64::NEG_INFINITY, f64::max)))
}

fn corners(x: (f64, f64), y: (f64, f64), of: impl Fn(f64, f64) -> f64) -> Option<(f64, f64)> {
    hull(&[of(x.0, y.0), of(x.0, y.1), of(x.1, y.0), of(x.1, y.1)])
}

fn power(base: f64, exponent: f64) -> f64 {
    (0..exponent.clamp(0.0, 65536.0) as u32).fold(1.0, |product, _| product * base)
}

/// More than three roundings come to, relative to a value: 2^-50.
const ROUNDINGS: f64 = 4.0 * f64::EPSILON;

/// `k` where the value is `2^k`.
fn power_of_two(value: f64) -> Option<i32> {
    let bits = value.to_bits();
    (value.is_normal() && value > 0.0 && bits << 12 == 0).then(|| (bits >> 52) as i32 - 1023)
}

/// Larger in magnitude than the smallest normal number: rounding is relative.
fn normal(low: f64, high: f64) -> bool {
    low > f64::MIN_POSITIVE || high < -f64::MIN_POSITIVE
}

/// The fact of a rule; of `wanted` only the nodes, the order asked for and the value of a condition are read.
pub(crate) fn conclusion(
    nodes: &[Op],
    quantities: &[Domain],
    rule: Rule,
    from: &[Fact],
    wanted: Fact,
) -> Option<Fact> {
    let op = |node: usize| nodes.get(node).copied();
    // The nodes that the conclusion is about.
    let (n, m) = match wanted {
        Range(n, ..) | Holds(n, _) => (n, n),
        Le(n, m) | Lt(n, m) | Ratio(n, m, _) => (n, m),
        Absurd => (usize::MAX, usize::MAX),
    };
    let strict = matches!(wanted, Lt(..));
    let range = |bounds: Option<(f64, f64)>| bounds.map(|(low, high)| Range(n, low, high));
    let le = |applies: bool| (applies && !strict).then_some(Le(n, m));
    let order = |applies: bool, strictly: bool| match (strict, applies, strictly) {
        (false, true, _) => Some(Le(n, m)),
        (true, _, true) => Some(Lt(n, m)),
        _ => None,
    };
    let truth = |value: bool| Some(Holds(n, value));
    match (rule, from) {
        (Rule::Domain, []) => match op(n)? {
            Op::Quantity(index) => range(quantities.get(index).map(|domain| (domain.low, domain.high))),
            _ => None,
        },
        (Rule::Constant, []) => match op(n)? {
            Op::Number(value) => range(Some((value, value))),
            Op::Bool(value) => truth(value),
            _ => None,
        },
        (Rule::Neg, &[Range(a, l, h)]) if op(n)? == Op::Neg(a) => range(Some((-h, -l))),
        (Rule::Floor, &[Range(a, l, h)]) if op(n)? == Op::Floor(a) => range(Some((l.floor(), h.floor()))),
        (Rule::Ceil, &[Range(a, l, h)]) if op(n)? == Op::Ceil(a) => range(Some((l.ceil(), h.ceil()))),
        (Rule::Sqrt, &[Range(a, l, h)]) if op(n)? == Op::Sqrt(a) && l >= 0.0 => {
            range(Some((l.sqrt(), h.sqrt())))
        }
        (Rule::Abs, &[Range(a, l, h)]) if op(n)? == Op::Abs(a) => {
            range(Some((l.max(-h).max(0.0), h.max(-l))))
        }
        (Rule::Square, &[Range(a, l, h)]) if op(n)? == Op::Mul(a, a) => {
            let (p, q) = (l * l, h * h);
            let low = if l <= 0.0 && 0.0 <= h { 0.0 } else { p.min(q) };
            range(Some((low, p.max(q))))
        }
        (Rule::Add | Rule::Sub | Rule::Mul | Rule::Div | Rule::Min | Rule::Max | Rule::Pow, &[x, y]) => {
            let (Range(a, l, h), Range(b, k, g)) = (x, y) else { return None };
            match (rule, op(n)?) {
                (Rule::Add, Op::Add(p, q)) if (p, q) == (a, b) => range(Some((l + k, h + g))),
                (Rule::Sub, Op::Sub(p, q)) if (p, q) == (a, b) => range(Some((l - g, h - k))),
                (Rule::Mul, Op::Mul(p, q)) if (p, q) == (a, b) => {
                    range(corners((l, h), (k, g), |x, y| x * y))
                }
                (Rule::Div, Op::Div(p, q)) if (p, q) == (a, b) && (k > 0.0 || g < 0.0) => {
                    range(corners((l, h), (k, g), |x, y| x / y))
                }
                (Rule::Min, Op::Min(p, q)) if (p, q) == (a, b) => range(Some((l.min(k), h.min(g)))),
                (Rule::Max, Op::Max(p, q)) if (p, q) == (a, b) => range(Some((l.max(k), h.max(g)))),
                (Rule::Pow, Op::Pow(p, q)) if (p, q) == (a, b) && l >= 0.0 && k >= 0.0 => {
                    range(corners((l, h), (k, g), power))
                }
                _ => None,
            }
        }
        (Rule::If, &[Range(a, l, h), Range(b, k, g)]) => match op(n)? {
            Op::If(_, p, q) if (p, q) == (a, b) => range(Some((l.min(k), h.max(g)))),
            _ => None,
        },
        (Rule::IfKnown, &[Holds(c, value), Range(a, l, h)]) => match op(n)? {
            Op::If(d, p, q) if d == c && a == if value { p } else { q } => range(Some((l, h))),
            _ => None,
        },
        (Rule::Meet, &[Range(a, l, h), Range(b, k, g)]) if a == n && b == n => {
            range(Some((l.max(k), h.min(g))))
        }
        (Rule::Widen, &[Range(a, l, h)]) => match wanted {
            Range(_, low, high) if a == n && low <= l && h <= high => Some(wanted),
            _ => None,
        },
        (Rule::Narrow, &[Le(a, b) | Lt(a, b), Range(x, l, h), Range(y, k, g)]) if (x, y) == (a, b) => {
            let strict = matches!(from[0], Lt(..));
            let (low, high) = if strict { (l.next_up(), g.next_down()) } else { (l, g) };
            if n == a { range(Some((l, h.min(high)))) } else { range((n == b).then(|| (k.max(low), g))) }
        }
        (Rule::Difference, &[Le(a, b) | Lt(a, b), Range(d, l, h)]) if d == n => {
            let least = if matches!(from[0], Lt(..)) { f64::from_bits(1) } else { 0.0 };
            match op(n)? {
                Op::Sub(p, q) if (p, q) == (b, a) => range(Some((l.max(least), h))),
                Op::Sub(p, q) if (p, q) == (a, b) => range(Some((l, h.min(-least)))),
                _ => None,
            }
        }
        (Rule::Gap, &[Lt(a, b), Range(x, k, _), Range(d, l, h)]) if x == b && d == n && k > 0.0 => {
            range((op(n)? == Op::Sub(b, a)).then(|| (l.max(k - k.next_down()), h)))
        }
        (Rule::Quotient, &[Le(a, b) | Lt(a, b), Range(x, k, _), Range(d, l, h)]) if d == n && k > 0.0 => {
            let most = if matches!(from[0], Lt(..)) { 1.0_f64.next_down() } else { 1.0 };
            match op(n)? {
                Op::Div(p, q) if p == q && (a, b, x) == (p, p, p) => range(Some((1.0, 1.0))),
                Op::Div(p, q) if (p, q) == (a, b) && x == b => range(Some((l, h.min(most)))),
                Op::Div(p, q) if (p, q) == (b, a) && x == a && most == 1.0 => range(Some((l.max(1.0), h))),
                _ => None,
            }
        }
        (Rule::Refl, &[Range(a, ..)]) => le(n == a && m == a),
        (Rule::Apart, &[Range(a, _, h), Range(b, k, _)]) if (n, m) == (a, b) => order(h <= k, h < k),
        (Rule::Trans, &[Le(a, b) | Lt(a, b), Le(c, d) | Lt(c, d)]) if b == c && (n, m) == (a, d) => {
            order(true, from.iter().any(|fact| matches!(fact, Lt(..))))
        }
        (Rule::Weak, &[Lt(a, b)]) => le((n, m) == (a, b)),
        (Rule::NegLe, &[Le(p, q)]) => le(op(n)? == Op::Neg(q) && op(m)? == Op::Neg(p)),
        (Rule::AddLe, &[Le(p, r), Le(q, s), Range(x, ..), Range(y, ..)]) if (x, y) == (n, m) => {
            le(op(n)? == Op::Add(p, q) && (op(m)? == Op::Add(r, s) || op(m)? == Op::Add(s, r)))
        }
        (Rule::SubLe, &[Le(p, r), Le(s, q), Range(x, ..), Range(y, ..)]) if (x, y) == (n, m) => {
            le(op(n)? == Op::Sub(p, q) && op(m)? == Op::Sub(r, s))
        }
        (Rule::MulLe, &[Le(p, r), Le(q, s), Range(t, k, _), Range(u, l, _), Range(x, ..), Range(y, ..)])
            if (t, u, x, y) == (q, r, n, m) && k >= 0.0 && l >= 0.0 =>
        {
            le((op(n)? == Op::Mul(p, q) || op(n)? == Op::Mul(q, p))
                && (op(m)? == Op::Mul(r, s) || op(m)? == Op::Mul(s, r)))
        }
        (Rule::MulTurn, &[Le(r, p), Range(q, _, g), Range(x, ..), Range(y, ..)])
            if (x, y) == (n, m) && g <= 0.0 =>
        {
            le((op(n)? == Op::Mul(p, q) || op(n)? == Op::Mul(q, p))
                && (op(m)? == Op::Mul(r, q) || op(m)? == Op::Mul(q, r)))
        }
        (Rule::DivLe, &[Le(p, r), Le(s, q), Range(t, k, _), Range(u, l, _), Range(x, ..), Range(y, ..)])
            if (t, u, x, y) == (r, s, n, m) && k >= 0.0 && l > 0.0 =>
        {
            le(op(n)? == Op::Div(p, q) && op(m)? == Op::Div(r, s))
        }
        (Rule::DivBy, &[Le(p, r), Range(q, k, _), Range(x, ..), Range(y, ..)])
            if (x, y) == (n, m) && k > 0.0 =>
        {
            le(op(n)? == Op::Div(p, q) && op(m)? == Op::Div(r, q))
        }
        (Rule::DivTurn, &[Le(r, p), Range(q, _, g), Range(x, ..), Range(y, ..)])
            if (x, y) == (n, m) && g < 0.0 =>
        {
            le(op(n)? == Op::Div(p, q) && op(m)? == Op::Div(r, q))
        }
        (Rule::DivNeg, &[Le(q, s), Range(p, _, h), Range(t, k, _), Range(x, ..), Range(y, ..)])
            if (t, x, y) == (q, n, m) && h <= 0.0 && k > 0.0 =>
        {
            le(op(n)? == Op::Div(p, q) && op(m)? == Op::Div(p, s))
        }
        (Rule::FloorLe, &[Le(p, q)]) => le(op(n)? == Op::Floor(p) && op(m)? == Op::Floor(q)),
        (Rule::CeilLe, &[Le(p, q)]) => le(op(n)? == Op::Ceil(p) && op(m)? == Op::Ceil(q)),
        (Rule::SqrtLe, &[Le(p, q), Range(t, k, _)]) if t == p && k >= 0.0 => {
            le(op(n)? == Op::Sqrt(p) && op(m)? == Op::Sqrt(q))
        }
        (Rule::PowLe, &[Le(p, q), Range(t, k, _), Range(x, ..), Range(y, ..)])
            if (t, x, y) == (p, n, m) && k >= 0.0 =>
        {
            match (op(n)?, op(m)?) {
                (Op::Pow(a, e), Op::Pow(b, f)) => le((a, b) == (p, q) && e == f),
                _ => None,
            }
        }
        (Rule::MinLe, &[Range(a, ..), Range(b, ..)]) => le(op(n)? == Op::Min(a, b) && (m == a || m == b)),
        (Rule::MaxGe, &[Range(a, ..), Range(b, ..)]) => le(op(m)? == Op::Max(a, b) && (n == a || n == b)),
        (Rule::LeMin, &[Le(x, a), Le(y, b)]) => le(op(m)? == Op::Min(a, b) && x == n && y == n),
        (Rule::MaxLe, &[Le(a, x), Le(b, y)]) => le(op(n)? == Op::Max(a, b) && x == m && y == m),
        (Rule::IfLe, &[Le(a, x), Le(b, y)]) => match op(n)? {
            Op::If(_, p, q) => le((p, q, x, y) == (a, b, m, m)),
            _ => None,
        },
        (Rule::LeIf, &[Le(x, a), Le(y, b)]) => match op(m)? {
            Op::If(_, p, q) => le((p, q, x, y) == (a, b, n, n)),
            _ => None,
        },
        (Rule::IfIf, &[Le(a, r), Le(b, s)]) => match (op(n)?, op(m)?) {
            (Op::If(c, p, q), Op::If(d, t, u)) => le(c == d && (p, q, t, u) == (a, b, r, s)),
            _ => None,
        },
        (Rule::Chosen, &[Holds(c, value), Range(a, ..)]) => {
            let chosen = |node: usize| match op(node) {
                Some(Op::If(d, p, q)) => d == c && a == if value { p } else { q },
                _ => false,
            };
            le(m == a && chosen(n) || n == a && chosen(m))
        }
        (Rule::FloorBelow, &[Range(p, ..)]) => le(op(n)? == Op::Floor(p) && m == p),
        (Rule::CeilAbove, &[Range(p, ..)]) => le(op(m)? == Op::Ceil(p) && n == p),
        (Rule::AbsAbove, &[Range(p, ..)]) => le(op(m)? == Op::Abs(p) && n == p),
        (Rule::AbsBelow, &[Range(p, l, _)]) => le(op(n)? == Op::Abs(p) && m == p && l >= 0.0),
        (
            Rule::Undo,
            &[Range(a, l, _), Range(b, k, _), Range(q, r, _), Range(x, u, _), Range(c, v, w), Range(y, t, _)],
        ) if l > 0.0 && k > 0.0 && v == w && [r, u, t].iter().all(|&low| low > f64::MIN_POSITIVE) => {
            let again = op(x)? == Op::Mul(q, b) || op(x)? == Op::Mul(b, q);
            let scaled = op(y)? == Op::Mul(a, c) || op(y)? == Op::Mul(c, a);
            let room = (n, m) == (x, y) && v >= 1.0 + ROUNDINGS || (n, m) == (y, x) && v <= 1.0 - ROUNDINGS;
            le(op(q)? == Op::Div(a, b) && again && scaled && room)
        }
        (Rule::AddSign, &[Range(p, ..), Range(c, l, h), Range(x, ..)]) => {
            let sum = op(x)? == Op::Add(p, c) || op(x)? == Op::Add(c, p);
            le(sum && ((n, m) == (p, x) && l >= 0.0 || (n, m) == (x, p) && h <= 0.0))
        }
        (Rule::SubSign, &[Range(p, ..), Range(c, l, h), Range(x, ..)]) => {
            le(op(x)? == Op::Sub(p, c) && ((n, m) == (x, p) && l >= 0.0 || (n, m) == (p, x) && h <= 0.0))
        }
        (Rule::MulOne, &[Range(p, k, g), Range(c, l, h), Range(x, ..)]) => {
            let product = op(x)? == Op::Mul(p, c) || op(x)? == Op::Mul(c, p);
            let (shrinks, grows) = (l >= 0.0 && h <= 1.0, l >= 1.0);
            let down = k >= 0.0 && shrinks || g <= 0.0 && grows;
            let up = k >= 0.0 && grows || g <= 0.0 && shrinks;
            le(product && ((n, m) == (x, p) && down || (n, m) == (p, x) && up))
        }
        (Rule::DivOne, &[Range(p, k, g), Range(c, l, h), Range(x, ..)]) => {
            let (shrinks, grows) = (l >= 1.0, l > 0.0 && h <= 1.0);
            let down = k >= 0.0 && shrinks || g <= 0.0 && grows;
            let up = k >= 0.0 && grows || g <= 0.0 && shrinks;
            le(op(x)? == Op::Div(p, c) && ((n, m) == (x, p) && down || (n, m) == (p, x) && up))
        }
        (Rule::Compare, facts) => match (op(n)?, facts) {
            (Op::Less(a, b), &[Lt(x, y)]) if (x, y) == (a, b) => truth(true),
            (Op::Less(a, b), &[Le(y, x)]) if (x, y) == (a, b) => truth(false),
            (Op::LessEqual(a, b), &[Le(x, y)]) if (x, y) == (a, b) => truth(true),
            (Op::LessEqual(a, b), &[Lt(y, x)]) if (x, y) == (a, b) => truth(false),
            (Op::Equal(a, b), &[Le(x, y), Le(z, w)]) if (x, y, z, w) == (a, b, b, a) => truth(true),
            (Op::Equal(a, b), &[Lt(x, y)]) if (x, y) == (a, b) || (x, y) == (b, a) => truth(false),
            _ => None,
        },
        (Rule::Order, &[Holds(c, value), Range(x, ..), Range(y, ..)]) => match (op(c)?, value) {
            (Op::Less(a, b), true) if (a, b, n, m) == (x, y, x, y) => order(false, true),
            (Op::Less(a, b), false) if (a, b, n, m) == (x, y, y, x) => le(true),
            (Op::LessEqual(a, b), true) if (a, b, n, m) == (x, y, x, y) => le(true),
            (Op::LessEqual(a, b), false) if (a, b, n, m) == (x, y, y, x) => order(false, true),
            (Op::Equal(a, b), true) if (a, b) == (x, y) => le((n, m) == (x, y) || (n, m) == (y, x)),
            _ => None,
        },
        (Rule::Connective, facts) => match (op(n)?, facts) {
            (Op::And(a, b), &[Holds(x, true), Holds(y, true)]) if (x, y) == (a, b) => truth(true),
            (Op::And(a, b), &[Holds(x, false)]) if x == a || x == b => truth(false),
            (Op::Or(a, b), &[Holds(x, false), Holds(y, false)]) if (x, y) == (a, b) => truth(false),
            (Op::Or(a, b), &[Holds(x, true)]) if x == a || x == b => truth(true),
            (Op::Not(a), &[Holds(x, value)]) if x == a => truth(!value),
            (Op::Iff(a, b), &[Holds(x, v), Holds(y, w)]) if (x, y) == (a, b) => truth(v == w),
            (Op::Iff(a, b), []) if a == b => truth(true),
            _ => None,
        },
        (Rule::Part, &[Holds(c, value)]) => match (op(c)?, value) {
            (Op::And(a, b), true) | (Op::Or(a, b), false) if n == a || n == b => truth(value),
            (Op::Not(a), _) if n == a => truth(!value),
            _ => None,
        },
        (Rule::Finite, &[Range(a, ..)]) if op(n)? == Op::Finite(a) => truth(true),
        (Rule::RatioRefl, &[Range(a, ..)]) if (n, m) == (a, a) => Some(Ratio(a, a, 0)),
        (Rule::RatioConstant, &[Range(x, a, l), Range(y, b, k)]) if (x, y) == (n, m) && a == l && b == k => {
            let exact = normal(a, a) && normal(b, b) && a / b * b == a;
            power_of_two(a / b).filter(|_| exact).map(|k| Ratio(n, m, k))
        }
        (Rule::RatioScale, &[Range(x, ..), Range(c, u, v), Range(y, l, h)]) if (n, m) == (y, x) && u == v => {
            let k = match op(n)? {
                Op::Mul(p, q) if (p, q) == (x, c) || (p, q) == (c, x) => power_of_two(u)?,
                Op::Div(p, q) if (p, q) == (x, c) => -power_of_two(u)?,
                _ => return None,
            };
            (k >= 0 || normal(l, h)).then_some(Ratio(n, m, k))
        }
        (Rule::RatioTrans, &[Ratio(a, b, j), Ratio(c, d, k)]) if b == c && (n, m) == (a, d) => {
            j.checked_add(k).map(|k| Ratio(n, m, k))
        }
        (Rule::RatioFlip, &[Ratio(a, b, k)]) if (n, m) == (b, a) => k.checked_neg().map(|k| Ratio(n, m, k)),
        (Rule::RatioEqual, &[Le(a, b), Le(c, d)]) if (a, b) == (d, c) && (n, m) == (a, b) => {
            Some(Ratio(n, m, 0))
        }
        (Rule::RatioNeg, &[Ratio(p, q, k)]) if op(n)? == Op::Neg(p) && op(m)? == Op::Neg(q) => {
            Some(Ratio(n, m, k))
        }
        (
            Rule::RatioAdd | Rule::RatioSub | Rule::RatioMul | Rule::RatioDiv,
            &[Ratio(p, r, j), Ratio(q, s, k), Range(x, l, h), Range(y, t, u)],
        ) if (x, y) == (n, m) => {
            let alike = normal(l, h) && normal(t, u);
            let swapped = |a: Op, b: Op| op(m) == Some(a) || op(m) == Some(b);
            match (rule, op(n)?) {
                (Rule::RatioAdd, Op::Add(a, b)) if (a, b) == (p, q) && j == k => {
                    swapped(Op::Add(r, s), Op::Add(s, r)).then_some(Ratio(n, m, j))
                }
                (Rule::RatioSub, Op::Sub(a, b)) if (a, b) == (p, q) && j == k => {
                    (op(m)? == Op::Sub(r, s)).then_some(Ratio(n, m, j))
                }
                (Rule::RatioMul, Op::Mul(a, b)) if (a, b) == (p, q) => {
                    let k = j.checked_add(k).filter(|&k| k == 0 || alike)?;
                    swapped(Op::Mul(r, s), Op::Mul(s, r)).then_some(Ratio(n, m, k))
                }
                (Rule::RatioDiv, Op::Div(a, b)) if (a, b) == (p, q) && op(m)? == Op::Div(r, s) => {
                    j.checked_sub(k).filter(|&k| k == 0 || alike).map(|k| Ratio(n, m, k))
                }
                _ => None,
            }
        }
        (Rule::RatioMin | Rule::RatioMax, &[Ratio(p, r, j), Ratio(q, s, k)]) if j == k => {
            let same = match (rule, op(n)?, op(m)?) {
                (Rule::RatioMin, Op::Min(a, b), Op::Min(c, d)) => (a, b, c, d) == (p, q, r, s),
                (Rule::RatioMax, Op::Max(a, b), Op::Max(c, d)) => (a, b, c, d) == (p, q, r, s),
                _ => false,
            };
            same.then_some(Ratio(n, m, k))
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
