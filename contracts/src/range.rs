//! Range analysis: one pass over the graph computes the smallest and largest value of every node, and if it can be NaN.
//!
//! Correctly rounded operations are monotone in each operand, so evaluating an operation at the corners of its operands'
//! ranges yields sound bounds. Operands are treated as independent, except if a condition orders them or if a divisor
//! would otherwise seem to reach zero.

use crate::contract::{Contract, Quantity};
use crate::graph::{Graph, Id, IdMap, Op};
use crate::number::{Number, pow};

/// The possible values of a node. Conditions are numbers here: false is 0, true is 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range<F = f64> {
    /// The lower limit; may be negative infinity.
    pub low: F,
    /// The upper limit; may be infinity.
    pub high: F,
    /// True if the value may be NaN; the limits bound the other values.
    pub nan: bool,
}

impl<F: Number> Range<F> {
    /// The range from the smallest to the largest value.
    pub fn new(low: F, high: F) -> Self {
        Range { low, high, nan: false }
    }

    /// The range of a single value.
    pub fn point(value: f64) -> Self {
        Range::new(F::from_f64(value), F::from_f64(value))
    }

    /// The range of a condition with this value.
    pub fn truth(value: bool) -> Self {
        Range::point(if value { 1.0 } else { 0.0 })
    }

    /// The range of an undecided condition.
    pub fn undecided() -> Self {
        Range::new(F::from_f64(0.0), F::from_f64(1.0))
    }

    fn anything(nan: bool) -> Self {
        Range { low: F::INFINITY.neg(), high: F::INFINITY, nan }
    }

    /// The value of the condition, if it is decided.
    pub fn decided(&self) -> Option<bool> {
        (self.low == self.high).then(|| self.low != F::from_f64(0.0))
    }

    /// True if zero, of either sign, is within the limits.
    pub fn has_zero(&self) -> bool {
        self.low <= F::from_f64(0.0) && F::from_f64(0.0) <= self.high
    }

    /// True if no value is infinite or NaN.
    pub fn finite(&self) -> bool {
        !self.nan && self.low.is_finite() && self.high.is_finite()
    }

    /// True if no value is below the limit.
    pub fn at_least(&self, limit: f64) -> bool {
        !self.nan && self.low >= F::from_f64(limit)
    }

    /// True if every value is greater than zero.
    pub fn positive(&self) -> bool {
        !self.nan && self.low > F::from_f64(0.0)
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

    /// The intersection of both ranges.
    fn meet(self, other: Self) -> Self {
        let nan = self.nan && other.nan;
        Range { low: most(self.low, other.low), high: least(self.high, other.high), nan }
    }

    /// True if the range has no value.
    pub fn empty(&self) -> bool {
        !self.nan && self.high < self.low
    }

    /// Narrows the range of a node to points where the facts hold.
    pub fn narrowed(mut self, id: Id, op: Op, facts: &[Fact], at: impl Fn(Id) -> Range<F>) -> Self {
        let (zero, one) = (F::from_f64(0.0), F::from_f64(1.0));
        for &Fact(a, b, strict) in facts {
            let above = |limit: F| if strict { limit.next_up() } else { limit };
            let below = |limit: F| if strict { limit.next_down() } else { limit };
            if id == a {
                self.high = least(self.high, below(at(b).high));
            }
            if id == b {
                self.low = most(self.low, above(at(a).low));
            }
            // NaN is unordered.
            self.nan &= id != a && id != b;
            // With subnormal numbers, distinct numbers have a nonzero difference.
            if op == Op::Sub(b, a) {
                self.low = most(self.low, above(zero));
            }
            if op == Op::Sub(a, b) {
                self.high = least(self.high, below(zero));
            }
            let divides = |x: Range<F>, y: Range<F>| x.finite() && y.finite() && y.positive();
            if op == Op::Div(a, b) && divides(at(a), at(b)) {
                // By the order rule, neighbors differ by more than half a unit in the last place of their quotient.
                self.high = least(self.high, below(one));
            }
            if op == Op::Div(b, a) && divides(at(b), at(a)) {
                self.low = most(self.low, above(one));
            }
        }
        self
    }
}

/// `a <= b`, or `a < b` if the flag is set, for two nodes that are not NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fact(pub Id, pub Id, pub bool);

/// The facts that follow from the truth or falsehood of a condition.
pub fn facts<F: Number>(graph: &Graph, ranges: &[Range<F>], condition: Id, truth: bool) -> Vec<Fact> {
    let mut found = Vec::new();
    let mut pending = vec![(condition, truth)];
    while let Some((id, truth)) = pending.pop() {
        let range = |id: Id| ranges[id.index()];
        // The opposite of a false comparison holds only if neither side is NaN.
        let ordered = |a: Id, b: Id| !range(a).nan && !range(b).nan;
        match graph.op(id) {
            Op::Less(a, b) if truth => found.push(Fact(a, b, true)),
            Op::Less(a, b) if ordered(a, b) => found.push(Fact(b, a, false)),
            Op::LessEqual(a, b) if truth => found.push(Fact(a, b, false)),
            Op::LessEqual(a, b) if ordered(a, b) => found.push(Fact(b, a, true)),
            Op::Equal(a, b) if truth => found.extend([Fact(a, b, false), Fact(b, a, false)]),
            Op::Equal(a, b) if ordered(a, b) && range(a).high <= range(b).low => found.push(Fact(a, b, true)),
            Op::Equal(a, b) if ordered(a, b) && range(b).high <= range(a).low => found.push(Fact(b, a, true)),
            Op::Not(a) => pending.push((a, !truth)),
            Op::And(a, b) if truth => pending.extend([(a, true), (b, true)]),
            Op::Or(a, b) if !truth => pending.extend([(a, false), (b, false)]),
            _ => {}
        }
    }
    found
}

/// Maximum number of facts derived from requirements.
const MAX_FACTS: usize = 256;

/// The facts that follow from true conditions, including chains: `a < b` and `b <= c` yield `a < c`.
pub fn all_facts<F: Number>(graph: &Graph, ranges: &[Range<F>], conditions: &[Id]) -> Vec<Fact> {
    let mut found: Vec<Fact> = Vec::new();
    for fact in conditions.iter().flat_map(|&id| facts(graph, ranges, id, true)) {
        if !found.contains(&fact) {
            found.push(fact);
        }
    }
    let mut at = 0;
    while let Some(&Fact(a, b, strict)) = found.get(at) {
        at += 1;
        let chained: Vec<Fact> = (found.iter())
            .flat_map(|&Fact(c, d, also)| {
                let strict = strict || also;
                [
                    (b == c && a != d).then_some(Fact(a, d, strict)),
                    (d == a && c != b).then_some(Fact(c, b, strict)),
                ]
            })
            .flatten()
            .collect();
        for fact in chained {
            if !found.contains(&fact) && found.len() < MAX_FACTS {
                found.push(fact);
            }
        }
    }
    found
}

/// Maximum number of nodes whose ranges are recomputed per query.
const MAX_CONE: usize = 200;
/// Maximum number of parts of a domain when bounding a divisor away from zero.
const MAX_PARTS: usize = 16;

/// The range of a node at points where the facts hold and some quantities lie in a part of their domains; none if no such
/// point exists.
fn restricted<F: Number>(
    graph: &Graph,
    ranges: &[Range<F>],
    root: Id,
    facts: &[Fact],
    parts: &[(Id, Range<F>)],
) -> Option<Range<F>> {
    let old = |id: Id| ranges[id.index()];
    let roots: Vec<Id> = facts.iter().flat_map(|fact| [fact.0, fact.1]).chain([root]).collect();
    let Some(cone) = graph.cone(&roots, MAX_CONE) else { return Some(old(root)) };
    let mut new: IdMap<Id, Range<F>> = IdMap::default();
    for id in cone {
        let at = |id: Id| new.get(&id).copied().unwrap_or_else(|| old(id));
        let op = graph.op(id);
        let computed = match op {
            Op::Quantity(_) => {
                (parts.iter()).find(|(part, _)| *part == id).map_or(old(id), |(_, range)| *range)
            }
            // The cost of a power is its exponent.
            Op::Pow(..) => old(id),
            _ => step(op, at, |_| old(id)),
        };
        let range = computed.meet(old(id)).narrowed(id, op, facts, at);
        if range.empty() {
            return None;
        }
        new.insert(id, range);
    }
    new.get(&root).copied()
}

/// The range of a node at points where the facts hold; none if no such point exists.
pub fn under<F: Number>(graph: &Graph, ranges: &[Range<F>], root: Id, facts: &[Fact]) -> Option<Range<F>> {
    restricted(graph, ranges, root, facts, &[])
}

/// The range of a node, computed on parts of one quantity's domain, which are bisected until no part reaches zero; none if
/// that fails.
///
/// An expression that uses a quantity twice, such as `s + (1 - s) / n`, has a narrower range on each part.
fn in_parts<F: Number>(graph: &Graph, ranges: &[Range<F>], root: Id, facts: &[Fact]) -> Option<Range<F>> {
    let quantities = graph.cone(&[root], MAX_CONE)?.into_iter().filter(|&id| {
        let range = ranges[id.index()];
        matches!(graph.op(id), Op::Quantity(_)) && range.finite() && range.low < range.high
    });
    for quantity in quantities {
        let (mut pending, mut hull, mut parts) = (vec![ranges[quantity.index()]], None::<Range<F>>, 0);
        while let Some(part) = pending.pop() {
            parts += 1;
            let range = restricted(graph, ranges, root, facts, &[(quantity, part)]);
            let middle = part.low.add(part.high.sub(part.low).div(F::from_f64(2.0)));
            if range.is_some_and(|range| range.nan || range.has_zero()) {
                if parts > MAX_PARTS || !(part.low < middle && middle < part.high) {
                    hull = None;
                    break;
                }
                pending.extend([Range::new(part.low, middle), Range::new(middle, part.high)]);
            } else if let Some(range) = range {
                hull = Some(hull.map_or(range, |hull| hull.hull(range)));
            }
        }
        // The hull of parts on both sides of zero contains zero.
        if let Some(hull) = hull.filter(|hull| !hull.has_zero()) {
            return Some(hull);
        }
    }
    None
}

/// The range of a divisor at points where the facts hold, narrowed until it excludes zero, if possible.
pub fn divisor<F: Number>(graph: &Graph, ranges: &[Range<F>], id: Id, facts: &[Fact]) -> Range<F> {
    let whole = ranges[id.index()];
    if !whole.has_zero() || whole.low == whole.high {
        return whole;
    }
    let range = under(graph, ranges, id, facts).unwrap_or(Range::point(1.0));
    if range.has_zero() { in_parts(graph, ranges, id, facts).unwrap_or(range) } else { range }
}

fn least<F: Number>(a: F, b: F) -> F {
    if b < a { b } else { a }
}

fn most<F: Number>(a: F, b: F) -> F {
    if b > a { b } else { a }
}

/// The hull of the corners. A NaN corner (0 * inf, inf / inf) counts as 0, which adjacent points reach.
fn corners<F: Number>(a: Range<F>, b: Range<F>, of: impl Fn(F, F) -> F) -> Range<F> {
    let corner = |a, b| {
        let value = of(a, b);
        if value.is_nan() { F::from_f64(0.0) } else { value }
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
fn step<F: Number>(op: Op, at: impl Fn(Id) -> Range<F>, quantity: impl Fn(usize) -> Range<F>) -> Range<F> {
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
            // A square has its minimum at zero.
            let (p, q) = (x.low.mul(x.low), x.high.mul(x.high));
            let low = if x.has_zero() { F::from_f64(0.0) } else { least(p, q) };
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
        // `if a < b { a } else { b }` is b if either is NaN.
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
        Op::Sqrt(a) => {
            let x = at(a);
            let zero = F::from_f64(0.0);
            Range {
                low: most(x.low, zero).sqrt(),
                high: most(x.high, zero).sqrt(),
                nan: x.nan || x.low < zero,
            }
        }
        Op::Abs(a) => {
            let x = at(a);
            let (p, q) = (x.low.abs(), x.high.abs());
            Range {
                low: if x.has_zero() { F::from_f64(0.0) } else { least(p, q) },
                high: most(p, q),
                nan: x.nan,
            }
        }
        Op::Pow(a, b) => {
            let (x, y) = (at(a), at(b));
            // For a base of at least 0 the power is monotone in the base, and in the exponent on each side of 1.
            let power = if x.low >= F::from_f64(0.0) {
                corners(x, y, pow)
            } else {
                let size = Range::new(F::from_f64(0.0), most(x.low.neg(), x.high));
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
        Op::Not(a) => Range::new(F::from_f64(1.0).sub(at(a).high), F::from_f64(1.0).sub(at(a).low)),
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

/// Maximum number of passes that narrow ranges by requirements; a chain `a < b`, `b < c` takes one per link.
const MAX_ROUNDS: usize = 4;

/// The range of every node at points where all of `required` holds, given the ranges of the quantities.
pub(super) fn all<F: Number>(graph: &Graph, quantities: &[Range<F>], required: &[Id]) -> Vec<Range<F>> {
    let mut ranges = pass(graph, quantities, &[], &[]);
    for _ in 0..if required.is_empty() { 0 } else { MAX_ROUNDS } {
        let facts = all_facts(graph, &ranges, required);
        let narrower = pass(graph, quantities, &ranges, &facts);
        if narrower == ranges {
            break;
        }
        ranges = narrower;
    }
    ranges
}

/// The facts about nodes before an index.
fn earlier(facts: &[Fact], index: usize) -> Vec<Fact> {
    facts.iter().copied().filter(|fact| fact.0.index() < index && fact.1.index() < index).collect()
}

/// The range of every node at points where the facts hold; `wider` are known ranges, if any.
fn pass<F: Number>(
    graph: &Graph,
    quantities: &[Range<F>],
    wider: &[Range<F>],
    facts: &[Fact],
) -> Vec<Range<F>> {
    let mut ranges: Vec<Range<F>> = Vec::with_capacity(graph.ops().len());
    for (index, &op) in graph.ops().iter().enumerate() {
        if let Op::Div(_, by) = op {
            ranges[by.index()] = divisor(graph, &ranges, by, &earlier(facts, index));
        }
        let mut range = match op {
            Op::If(c, a, b) if ranges[c.index()].decided().is_none() => {
                choice(graph, &ranges, &earlier(facts, index), [c, a, b])
            }
            _ => step(op, |id| ranges[id.index()], |index| quantities[index]),
        };
        if let Some(&known) = wider.get(index) {
            let at = |id: Id| ranges.get(id.index()).copied().unwrap_or_else(|| wider[id.index()]);
            range = range.meet(known).narrowed(graph.id(index), op, facts, at);
        }
        ranges.push(range);
    }
    ranges
}

/// The range of `if c { a } else { b }`: each branch is bounded only at points where it is taken.
fn choice<F: Number>(graph: &Graph, ranges: &[Range<F>], known: &[Fact], [c, a, b]: [Id; 3]) -> Range<F> {
    let branch = |id: Id, truth: bool| {
        let range = ranges[id.index()];
        let facts = || [known, &facts(graph, ranges, c, truth)].concat();
        if range.finite() { Some(range) } else { under(graph, ranges, id, &facts()) }
    };
    match (branch(a, true), branch(b, false)) {
        (Some(x), Some(y)) => x.hull(y),
        (Some(range), None) | (None, Some(range)) => range,
        (None, None) => ranges[a.index()].hull(ranges[b.index()]),
    }
}

/// The range of every node of the graph, by index.
pub fn ranges(contract: &Contract) -> Vec<Range> {
    let domain = |quantity: &Quantity| Range::new(quantity.domain.low, quantity.domain.high);
    let domains: Vec<Range> = contract.quantities.iter().map(domain).collect();
    all(&contract.graph, &domains, &contract.required())
}
