//! The decision procedure: comparisons of opaque values, joined by min, max, if, and, or, not, iff.
//!
//! A claim is evaluated with three truth values. Where it hangs on the order of two values, each order that the
//! ranges, the facts assumed so far and the monotonicity of rounding leave open is assumed in turn. It is proven when it is true in every
//! case. Values are first taken as they are named, then looked into. Steps are counted, so an undecidable claim ends as unknown in bounded time.

use std::collections::BTreeSet;

use super::exact::{Choices, Tolerant};
use super::structure::{Effort, Structure};
use super::trace::{self, Limits, Step, Trace};
use crate::graph::{Id, IdMap, Op};
use crate::number::Number;
use crate::range::{self, Fact, Range};

/// The most steps of comparison for one claim.
const MAX_STEPS: usize = 6000;
/// The most cases for one claim.
const MAX_CASES: usize = 600;
/// How deep two expressions are compared, and cases nested.
const MAX_DEPTH: usize = 48;
/// The most nodes whose ranges are computed anew under assumptions.
const MAX_CONE: usize = 2000;
/// The largest power whose range is: it takes as many steps as its exponent.
const MAX_POWER: f64 = 256.0;

/// The most comparisons of exact values for one claim, for one case of it, and how deep they are.
const MAX_EXACT: usize = 400;
const CASE_EXACT: usize = 24;
const EXACT_DEPTH: usize = 4;
pub(super) const EXACT: &str =
    "their exact values are in this order, with room for every rounding that is between them";

pub(super) const TOLERATES: &str =
    "their exact values are in this order, and every rounding is within the tolerance";
pub(super) const LEAVES: &str = "what is subtracted leaves at least as much";
/// The most nodes that are looked at for choices.
const MAX_CHOICES: usize = 200;

const LESS: u8 = 1;
const EQUAL: u8 = 2;
const GREATER: u8 = 4;

/// Why one value is at most another.
#[derive(Clone, Default)]
struct Reason {
    rule: Option<&'static str>,
    premises: Vec<(Id, Id)>,
}

/// Undecided: the order of these two values would help, if any would.
type Undecided = Option<(Id, Id)>;

pub(super) struct Order<'p, 'g, F> {
    structure: &'p mut Structure<'g, F>,
    /// What the requirements say of the order of values, then what the cases assume.
    facts: Vec<Fact>,
    /// The requirements themselves: where one is false, there is nothing to prove.
    required: Vec<Id>,
    /// Nodes of which the claim speaks only where they are in a range.
    given: &'p [(Id, Range<F>)],
    claim: Id,
    /// The nodes under the claim; found when they are needed first, as most claims never do.
    cone: Option<Vec<Id>>,
    refined: IdMap<Id, Range<F>>,
    known: IdMap<(Id, Id), Reason>,
    strict: IdMap<(Id, Id), &'static str>,
    truths: IdMap<Id, Result<bool, Undecided>>,
    /// The values that are compared are not looked into.
    opaque: bool,
    steps: usize,
    cases: usize,
    effort: Effort,
    /// The first case that was neither true nor impossible.
    stuck: Option<Vec<Fact>>,
    /// How many comparisons of exact values this case, and those after it, have left.
    exact: usize,
    exact_left: usize,
    trace: Trace,
}

impl<'p, 'g, F: Number> Order<'p, 'g, F> {
    pub fn new(
        structure: &'p mut Structure<'g, F>,
        claim: Id,
        given: &'p [(Id, Range<F>)],
        assumed: &[Id],
        effort: Effort,
    ) -> Self {
        let required = [&structure.required, assumed].concat();
        let facts = structure.facts(&required);
        Order {
            structure,
            facts,
            required,
            given,
            claim,
            cone: None,
            refined: IdMap::default(),
            known: IdMap::default(),
            strict: IdMap::default(),
            truths: IdMap::default(),
            opaque: true,
            steps: 0,
            cases: 0,
            effort,
            stuck: None,
            exact: 0,
            exact_left: MAX_EXACT,
            trace: Trace::default(),
        }
    }

    /// The trace of a proof that the condition is true at every point.
    /// Otherwise the case that could not be excluded, if one was looked at.
    pub fn prove(mut self) -> Result<Trace, Option<Vec<Fact>>> {
        // A claim about no point at all proves nothing.
        let bound = !self.given.is_empty() || !self.facts.is_empty();
        if bound && !self.refine() {
            return Err(None);
        }
        // Most claims hang on the order of the values they name alone; choices inside those only multiply the cases.
        for opaque in [true, false] {
            if opaque && self.effort == Effort::Exact {
                continue;
            }
            self.opaque = opaque;
            (self.steps, self.cases) = (0, 0);
            self.stuck = None;
            if self.holds(self.claim, 0) {
                return Ok(self.trace);
            }
            self.trace.clear();
            self.known.clear();
            self.strict.clear();
            self.truths.clear();
        }
        Err(self.stuck.filter(|facts| !facts.is_empty()))
    }

    fn range(&self, id: Id) -> Range<F> {
        self.refined.get(&id).copied().unwrap_or_else(|| self.structure.range(id))
    }

    fn holds(&mut self, claim: Id, depth: usize) -> bool {
        self.cases += 1;
        if self.cases > MAX_CASES || depth > MAX_DEPTH {
            return false;
        }
        // Each case has its share of what the claim has left.
        let share = self.exact_left.min(CASE_EXACT);
        (self.exact, self.exact_left) = (share, self.exact_left - share);
        let mut undecided = None;
        for i in 0..self.required.len() {
            match self.truth(self.required[i], depth, 0) {
                Ok(true) => {}
                Ok(false) => {
                    self.trace.say(depth, Step::Settled("cannot occur: a requirement is not met"));
                    return true;
                }
                Err(pair) => undecided = undecided.or(pair),
            }
        }
        let (a, b) = match self.truth(claim, depth, 0) {
            Ok(true) => {
                if depth > 0 && self.trace.in_new_case() {
                    self.trace.say(depth, Step::Settled("true by what is assumed"));
                }
                return true;
            }
            Err(Some(pair)) => pair,
            Ok(false) | Err(None) => {
                let impossible = self.contradiction();
                if impossible {
                    let how = "cannot occur: the assumptions contradict each other";
                    self.trace.say(depth, Step::Settled(how));
                    return true;
                }
                // The claim hangs on no other order, but perhaps a requirement does.
                let Some(pair) = undecided else {
                    if self.stuck.is_none() {
                        self.stuck = Some(self.facts.clone());
                    }
                    return false;
                };
                pair
            }
        };
        let open = self.relation(a, b);
        let known = std::mem::take(&mut self.known);
        let refined = self.refined.clone();
        self.strict.clear();
        self.truths.clear();
        let mut proven = true;
        for (order, word) in [(LESS, "<"), (EQUAL, "=="), (GREATER, ">")] {
            if open & order == 0 || !proven {
                continue;
            }
            let facts: &[Fact] = match order {
                LESS => &[Fact(a, b, true)],
                EQUAL => &[Fact(a, b, false), Fact(b, a, false)],
                _ => &[Fact(b, a, true)],
            };
            self.trace.say(depth, Step::Case(a, word, b));
            let before = self.facts.len();
            self.facts.extend(facts);
            self.known.clear();
            if self.refine() {
                proven = self.holds(claim, depth + 1);
            } else {
                self.trace.say(depth + 1, Step::Settled("cannot occur: the ranges exclude it"));
            }
            self.facts.truncate(before);
            self.refined.clone_from(&refined);
            self.strict.clear();
            self.truths.clear();
        }
        self.known = known;
        proven
    }

    /// Whether the opposite of a fact follows from the others.
    fn contradiction(&mut self) -> bool {
        let saved = (std::mem::take(&mut self.known), std::mem::take(&mut self.refined));
        let mut found = false;
        for i in 0..self.facts.len() {
            let fact @ Fact(a, b, strict) = self.facts.remove(i);
            found |= if strict { self.at_most(b, a, 0) } else { self.below(b, a) };
            self.known.clear();
            self.strict.clear();
            self.facts.insert(i, fact);
        }
        (self.known, self.refined) = saved;
        found
    }

    /// Ranges under the facts; false if no point satisfies them.
    fn refine(&mut self) -> bool {
        let cone = self.cone.take();
        let cone = cone.unwrap_or_else(|| self.structure.cone(self.claim, MAX_CONE).unwrap_or_default());
        let possible = self.refine_all(&cone);
        self.cone = Some(cone);
        possible
    }

    fn refine_all(&mut self, cone: &[Id]) -> bool {
        for &id in cone {
            let op = self.structure.graph.op(id);
            if !self.touched(id, op) {
                continue;
            }
            let mut new = match op {
                Op::Pow(_, exponent) if self.range(exponent).high > F::of(MAX_POWER) => self.range(id),
                _ => range::step(op, |id| self.range(id), |index| self.structure.domain(index)),
            };
            if let Op::Less(a, b) | Op::LessEqual(a, b) | Op::Equal(a, b) = op {
                let order = self.assumed(a, b);
                let wanted = match op {
                    Op::Less(..) => LESS,
                    Op::LessEqual(..) => LESS | EQUAL,
                    _ => EQUAL,
                };
                if order & wanted == 0 {
                    new = Range::truth(false);
                } else if order & !wanted == 0 && !self.range(a).nan && !self.range(b).nan {
                    new = Range::truth(true);
                }
            }
            let old = self.range(id);
            new.nan &= old.nan;
            new.low = if new.low < old.low { old.low } else { new.low };
            new.high = if new.high > old.high { old.high } else { new.high };
            for (_, range) in self.given.iter().filter(|(node, _)| *node == id) {
                new.low = if new.low < range.low { range.low } else { new.low };
                new.high = if new.high > range.high { range.high } else { new.high };
                new.nan = false;
            }
            new = new.narrowed(id, op, &self.facts, |id| self.range(id));
            if new.low <= new.high {
                if new != old {
                    self.refined.insert(id, new);
                }
            } else if !new.nan {
                return false;
            }
        }
        true
    }

    /// Whether anything that is assumed can change the range of a node: an operand's range, or a word about the node.
    fn touched(&self, id: Id, op: Op) -> bool {
        let compared = match op {
            Op::Less(a, b) | Op::LessEqual(a, b) | Op::Equal(a, b) => {
                self.assumed(a, b) != LESS | EQUAL | GREATER
            }
            _ => false,
        };
        compared
            || op.operands().any(|operand| self.refined.contains_key(&operand))
            || self.facts.iter().any(|&Fact(a, b, _)| {
                // What is said of two values is said of their difference and quotient.
                id == a
                    || id == b
                    || matches!(op, Op::Sub(p, q) | Op::Div(p, q) if (p, q) == (a, b) || (p, q) == (b, a))
            })
            || self.given.iter().any(|&(node, _)| id == node)
    }

    /// The orders of two values that the facts alone leave open.
    fn assumed(&self, a: Id, b: Id) -> u8 {
        let mut open = LESS | EQUAL | GREATER;
        for &Fact(x, y, strict) in &self.facts {
            if (x, y) == (a, b) {
                open &= if strict { LESS } else { LESS | EQUAL };
            }
            if (x, y) == (b, a) {
                open &= if strict { GREATER } else { GREATER | EQUAL };
            }
        }
        open
    }

    fn truth(&mut self, id: Id, depth: usize, level: usize) -> Result<bool, Undecided> {
        if let Some(value) = self.range(id).decided() {
            self.account(id, depth);
            return Ok(value);
        }
        if let Some(&known) = self.truths.get(&id) {
            return known;
        }
        if level > MAX_DEPTH {
            return Err(None);
        }
        let truth = self.weigh(id, depth, level + 1);
        self.truths.insert(id, truth);
        truth
    }

    fn weigh(&mut self, id: Id, depth: usize, level: usize) -> Result<bool, Undecided> {
        match self.structure.graph.op(id) {
            Op::Less(a, b) => self.atom(a, b, LESS, depth, level),
            Op::LessEqual(a, b) => self.atom(a, b, LESS | EQUAL, depth, level),
            Op::Equal(a, b) => self.atom(a, b, EQUAL, depth, level),
            Op::Not(a) => self.truth(a, depth, level).map(|value| !value),
            Op::And(a, b) => self.both(a, b, false, depth, level),
            Op::Or(a, b) => self.both(a, b, true, depth, level),
            Op::Iff(a, b) => {
                let (x, y) = (self.truth(a, depth, level), self.truth(b, depth, level));
                match (x, y) {
                    (Ok(x), Ok(y)) => Ok(x == y),
                    (Err(Some(pair)), _) | (_, Err(Some(pair))) => Err(Some(pair)),
                    _ => Err(None),
                }
            }
            _ => Err(None),
        }
    }

    /// Writes down the ranges that decide a condition.
    fn account(&mut self, id: Id, depth: usize) {
        let mut pending = vec![id];
        let mut seen = BTreeSet::new();
        while let Some(id) = pending.pop() {
            let Some(value) = self.range(id).decided() else { continue };
            if !seen.insert(id) {
                continue;
            }
            let op = self.structure.graph.op(id);
            let step = match op {
                Op::Less(a, b) | Op::LessEqual(a, b) | Op::Equal(a, b) if a == b => {
                    Step::Said(id, value, "both are the same value")
                }
                Op::Less(a, b) | Op::LessEqual(a, b) | Op::Equal(a, b) => {
                    if self.assumed(a, b) != LESS | EQUAL | GREATER {
                        continue;
                    }
                    Step::Decided(id, value, self.limits([a, b]))
                }
                Op::Finite(a) => Step::Decided(id, value, self.limits([a])),
                Op::Iff(a, b) if a == b => Step::Said(id, value, "both are the same condition"),
                Op::Bool(_) => Step::Said(id, value, "it says so"),
                _ => {
                    pending.extend(op.operands());
                    continue;
                }
            };
            self.trace.say(depth, step);
        }
    }

    /// `a and b` (or `a or b`), which one operand alone decides if it has the value `decides`.
    fn both(&mut self, a: Id, b: Id, decides: bool, depth: usize, level: usize) -> Result<bool, Undecided> {
        let x = self.truth(a, depth, level);
        if x == Ok(decides) {
            return x;
        }
        let y = self.truth(b, depth, level);
        match (x, y) {
            (_, Ok(value)) if value == decides => Ok(decides),
            (Ok(_), Ok(_)) => Ok(!decides),
            (Err(Some(pair)), _) | (_, Err(Some(pair))) => Err(Some(pair)),
            _ => Err(None),
        }
    }

    fn atom(&mut self, a: Id, b: Id, wanted: u8, depth: usize, level: usize) -> Result<bool, Undecided> {
        if self.range(a).nan || self.range(b).nan {
            return Err(None);
        }
        if let Some(value) = self.compare(a, b, wanted, depth) {
            return Ok(value);
        }
        if self.opaque {
            return Err(Some((a, b)));
        }
        let (x, y) = (self.resolve(a, depth, level)?, self.resolve(b, depth, level)?);
        if (x, y) != (a, b)
            && let Some(value) = self.compare(x, y, wanted, depth)
        {
            return Ok(value);
        }
        Err(Some(self.inner_choice(x, y).unwrap_or((x, y))))
    }

    fn compare(&mut self, a: Id, b: Id, wanted: u8, depth: usize) -> Option<bool> {
        let open = self.relation(a, b);
        let value = match (open & wanted, open & !wanted) {
            (0, _) => false,
            (_, 0) => true,
            _ => return None,
        };
        self.explain(a, b, depth);
        Some(value)
    }

    /// The value that a min, max or if is, under the facts.
    fn resolve(&mut self, id: Id, depth: usize, level: usize) -> Result<Id, Undecided> {
        if level > MAX_DEPTH {
            return Ok(id);
        }
        match self.structure.graph.op(id) {
            op @ (Op::Min(a, b) | Op::Max(a, b)) => {
                let (x, y) = (self.resolve(a, depth, level + 1)?, self.resolve(b, depth, level + 1)?);
                if self.range(x).nan || self.range(y).nan {
                    return Ok(id);
                }
                let first = if matches!(op, Op::Min(..)) { LESS } else { GREATER };
                match self.relation(x, y) {
                    open if open & !(first | EQUAL) == 0 => Ok(x),
                    open if open & first == 0 => Ok(y),
                    _ => Err(Some((x, y))),
                }
            }
            Op::If(c, a, b) => {
                let branch = if self.truth(c, depth, level + 1)? { a } else { b };
                self.resolve(branch, depth, level + 1)
            }
            _ => Ok(id),
        }
    }

    /// A choice inside the arithmetic of two values that the facts do not settle.
    fn inner_choice(&mut self, x: Id, y: Id) -> Option<(Id, Id)> {
        let mut found = BTreeSet::new();
        for root in [x, y] {
            for id in self.structure.cone(root, 200)? {
                let pair = match self.structure.graph.op(id) {
                    Op::Min(a, b) | Op::Max(a, b) => (a, b),
                    Op::Less(a, b) | Op::LessEqual(a, b) | Op::Equal(a, b) => (a, b),
                    _ => continue,
                };
                found.insert(pair);
            }
        }
        found.into_iter().find(|&(a, b)| {
            let ordered = !self.range(a).nan && !self.range(b).nan;
            ordered && self.relation(a, b).count_ones() > 1
        })
    }

    /// The orders of two values, neither NaN, that are not excluded.
    fn relation(&mut self, a: Id, b: Id) -> u8 {
        if a == b {
            return EQUAL;
        }
        let mut open = self.assumed(a, b);
        if self.at_most(a, b, 0) {
            open &= LESS | EQUAL;
        }
        if open != LESS && self.at_most(b, a, 0) {
            open &= GREATER | EQUAL;
        }
        if open & LESS != 0 && self.below(a, b) {
            open &= LESS;
        }
        if open & GREATER != 0 && self.below(b, a) {
            open &= GREATER;
        }
        open
    }

    fn below(&mut self, a: Id, b: Id) -> bool {
        let rule = self.strictly(a, b);
        if let Some(rule) = rule {
            self.strict.insert((a, b), rule);
        }
        rule.is_some()
    }

    /// Why `a < b` at every point that satisfies the facts.
    fn strictly(&mut self, a: Id, b: Id) -> Option<&'static str> {
        let (x, y) = (self.range(a), self.range(b));
        if x.high < y.low {
            return Some("their ranges are apart");
        }
        for i in 0..self.facts.len() {
            let Fact(c, d, strict) = self.facts[i];
            if strict && self.at_most(a, c, 0) && self.at_most(d, b, 0) {
                return Some("through what is assumed");
            }
        }
        let ratio = self.structure.ratio(a, b);
        if ratio.is_some_and(|k| k < 0 && y.positive() || k > 0 && y.high < F::of(0.0)) {
            return Some("the first is a smaller power of two times the second");
        }
        let divides = |p: Range<F>, c: Range<F>| p.finite() && c.finite() && c.positive();
        // Neighbouring numbers differ by more than half a unit in the last place of their quotient, and exactly
        // by their difference: a strict order survives both roundings.
        match self.structure.graph.op(a) {
            Op::Div(p, c)
                if y.low >= F::of(1.0) && divides(self.range(p), self.range(c)) && self.below(p, c) =>
            {
                return Some("x / y < 1 where x < y");
            }
            Op::Sub(p, c) if y.low >= F::of(0.0) && self.below(p, c) => return Some("x - y < 0 where x < y"),
            _ => {}
        }
        match self.structure.graph.op(b) {
            Op::Div(p, c)
                if x.high <= F::of(1.0) && divides(self.range(p), self.range(c)) && self.below(c, p) =>
            {
                return Some("x / y > 1 where y < x");
            }
            Op::Sub(p, c) if x.high <= F::of(0.0) && self.below(c, p) => {
                return Some("x - y > 0 where y < x");
            }
            _ => {}
        }
        if self.steps_past(a, b) {
            return Some("the addend is at least the distance to the next number");
        }
        if self.structure.within(a, b, true) {
            return Some("their exact ratio leaves room for every rounding");
        }
        self.exactly(a, b, 0, true).then_some(EXACT)
    }

    /// `b = a + c` where c is at least the distance from any a to the next number.
    fn steps_past(&self, a: Id, b: Id) -> bool {
        let Op::Add(p, q) = self.structure.graph.op(b) else { return false };
        let Some(step) = (if p == a { Some(q) } else { (q == a).then_some(p) }) else { return false };
        let (x, step) = (self.range(a), self.range(step));
        let (low, high) = (x.low.to_f64().abs(), x.high.to_f64().abs());
        let largest = low.max(high);
        // Two units of relative error of the largest number are at least its distance to the next.
        x.finite()
            && self.range(b).finite()
            && step.low.to_f64() >= largest * 2.0 * F::ROUNDOFF
            && step.low.to_f64() > 0.0
            && step.low.to_f64() >= F::SMALLEST_NORMAL.to_f64() * 2.0 * F::ROUNDOFF
    }

    /// `a <= b` at every point that satisfies the facts.
    fn at_most(&mut self, a: Id, b: Id, depth: usize) -> bool {
        if self.range(a).nan || self.range(b).nan {
            return false;
        }
        if a == b || self.range(a).high <= self.range(b).low {
            return true;
        }
        if let Some(reason) = self.known.get(&(a, b)) {
            return reason.rule.is_some();
        }
        self.steps += 1;
        if depth > MAX_DEPTH || self.steps > MAX_STEPS {
            return false;
        }
        // While it is being proven, a claim is no reason for itself.
        self.known.insert((a, b), Reason::default());
        match self.reason(a, b, depth + 1) {
            Some(reason) => {
                self.known.insert((a, b), reason);
                true
            }
            None => false,
        }
    }

    fn all_at_most(&mut self, premises: &[(Id, Id)], depth: usize) -> bool {
        premises.iter().all(|&(a, b)| self.at_most(a, b, depth))
    }

    fn reason(&mut self, a: Id, b: Id, depth: usize) -> Option<Reason> {
        if self.assumed(a, b) & GREATER == 0 {
            return Some(Reason { rule: Some("assumed"), premises: vec![] });
        }
        // What the claim itself compares comes first, before its parts use up what there is of comparisons of exact values.
        if depth == 1
            && let Some(reason) = self.by_exact_values(a, b, depth)
        {
            return Some(reason);
        }
        for (rule, premises) in self.candidates(a, b) {
            if self.all_at_most(&premises, depth) {
                return Some(Reason { rule: Some(rule), premises });
            }
        }
        let y = self.range(b);
        let ratio = self.structure.ratio(a, b);
        if ratio.is_some_and(|k| k == 0 || k < 0 && y.at_least(0.0) || k > 0 && y.at_most(0.0)) {
            return Some(Reason {
                rule: Some("the first is the second times a power of two, exactly"),
                premises: vec![],
            });
        }
        if self.structure.within(a, b, false) {
            return Some(Reason {
                rule: Some("their exact ratio leaves room for every rounding"),
                premises: vec![],
            });
        }
        for i in 0..self.facts.len() {
            let Fact(c, d, _) = self.facts[i];
            if self.structure.within_given(a, b, c, d, 0.0) {
                let rule = "what is assumed, times the same factor, leaves room for every rounding";
                return Some(Reason { rule: Some(rule), premises: vec![(c, d)] });
            }
            let premises = vec![(a, c), (d, b)];
            if (a, b) != (c, d) && self.all_at_most(&premises, depth) {
                return Some(Reason { rule: Some("through what is assumed"), premises });
            }
        }
        if depth == 1 { None } else { self.by_exact_values(a, b, depth) }
    }

    fn by_exact_values(&mut self, a: Id, b: Id, depth: usize) -> Option<Reason> {
        if self.effort == Effort::Plain {
            return None;
        }
        if self.exactly(a, b, depth, false) {
            return Some(Reason { rule: Some(EXACT), premises: vec![] });
        }
        if let Op::Sub(p, q) = self.structure.graph.op(b)
            && let Some(upper) = self.shrunk(q)
            && self.leaves(a, p, upper)
        {
            return Some(Reason { rule: Some(LEAVES), premises: vec![(q, upper)] });
        }
        let claim = self.tolerant(a, b)?;
        self.tolerates(claim, depth).then(|| Reason { rule: Some(TOLERATES), premises: vec![] })
    }

    /// The comparison that `a <= b` is, where b is something and a tolerance.
    fn tolerant(&self, a: Id, b: Id) -> Option<Tolerant> {
        let graph = self.structure.graph;
        let Op::Add(to, room) = graph.op(b) else { return None };
        let Op::Mul(size, share) = graph.op(room) else { return None };
        let Op::Number(bits) = graph.op(share) else { return None };
        let tolerance = F::of(f64::from_bits(bits)).to_f64();
        let fits = graph.op(size) == Op::Abs(to) && tolerance > 0.0 && tolerance < 1.0;
        (fits && self.range(to).finite() && self.range(b).finite()).then_some(Tolerant {
            of: a,
            to,
            tolerance,
        })
    }

    /// A comparison up to a tolerance, which grows with what it is relative to: so it is that of a choice's values.
    fn tolerates(&mut self, claim: Tolerant, depth: usize) -> bool {
        let Tolerant { of, to, tolerance } = claim;
        if depth > MAX_DEPTH {
            return false;
        }
        if self.exact > 0 {
            self.exact -= 1;
            let (facts, choices) = (self.facts.clone(), self.choices(&[of, to]));
            if self.structure.exact(choices, |exacts, basis| exacts.tolerates(basis, claim, &facts)).is_some()
            {
                return true;
            }
        }
        if self.range(of).finite() && self.range(to).finite() && self.at_most(of, to, depth) {
            return true;
        }
        // A choice is one of its values at every point; the limit grows with what is not negative.
        let graph = self.structure.graph;
        let parts = [
            match graph.op(to) {
                Op::Min(p, q) => Some(([(of, p), (of, q)], true)),
                Op::Max(p, q) if self.range(to).at_least(0.0) => Some(([(of, p), (of, q)], false)),
                _ => None,
            },
            match graph.op(of) {
                Op::Min(p, q) => Some(([(p, to), (q, to)], false)),
                Op::Max(p, q) => Some(([(p, to), (q, to)], true)),
                _ => None,
            },
        ];
        for (pairs, all) in parts.into_iter().flatten() {
            let mut one = |(of, to): (Id, Id)| self.tolerates(Tolerant { of, to, tolerance }, depth + 1);
            let shown = if all { pairs.into_iter().all(&mut one) } else { pairs.into_iter().any(&mut one) };
            if shown {
                return true;
            }
        }
        for i in 0..self.facts.len() {
            let Fact(c, d, _) = self.facts[i];
            if self.structure.within_given(of, to, c, d, tolerance) {
                return true;
            }
        }
        false
    }

    /// What a product or quotient cannot exceed.
    fn shrunk(&self, id: Id) -> Option<Id> {
        let range = |id: Id| self.range(id);
        let share = |id: Id| range(id).at_least(0.0) && range(id).at_most(1.0);
        match self.structure.graph.op(id) {
            Op::Mul(p, q) if share(q) && range(p).at_least(0.0) => Some(p),
            Op::Mul(p, q) if share(p) && range(q).at_least(0.0) => Some(q),
            Op::Div(p, q) if range(q).at_least(1.0) && range(p).at_least(0.0) => Some(p),
            _ => None,
        }
    }

    fn leaves(&mut self, a: Id, p: Id, upper: Id) -> bool {
        if self.exact == 0 || ![a, p, upper].iter().all(|&id| self.range(id).finite()) {
            return false;
        }
        self.exact -= 1;
        let facts = self.facts.clone();
        let choices = Choices::default();
        self.structure.exact(choices, |exacts, basis| exacts.leaves(basis, [a, p, upper], &facts)).is_some()
    }

    /// What the choices under these values are, as far as orders tell that need no exact values.
    fn choices(&mut self, roots: &[Id]) -> Choices {
        let graph = self.structure.graph;
        let mut found = Choices::default();
        let left = std::mem::take(&mut self.exact);
        for id in graph.cone(roots, MAX_CHOICES).unwrap_or_default() {
            let chosen = match graph.op(id) {
                op @ (Op::Min(a, b) | Op::Max(a, b)) if !self.range(a).nan && !self.range(b).nan => {
                    let order = self.relation(a, b);
                    let (less, more) = (order & GREATER == 0, order & LESS == 0);
                    let (first, second) = if matches!(op, Op::Min(..)) { (less, more) } else { (more, less) };
                    if first { Some(a) } else { second.then_some(b) }
                }
                Op::If(c, a, b) => self.range(c).decided().map(|truth| if truth { a } else { b }),
                _ => None,
            };
            found.extend(chosen.map(|chosen| (id, chosen)));
        }
        self.exact = left;
        found
    }

    /// `a <= b` (or `a < b`) by exact values. They take time, so only the first comparisons of a claim are looked at so.
    fn exactly(&mut self, a: Id, b: Id, depth: usize, strict: bool) -> bool {
        if self.effort == Effort::Plain || depth > EXACT_DEPTH || self.exact == 0 {
            return false;
        }
        self.exact -= 1;
        let (facts, choices) = (self.facts.clone(), self.choices(&[a, b]));
        self.structure.exact(choices, |exacts, basis| exacts.at_most(basis, [a, b], &facts, strict))
    }

    /// The ways in which `a <= b` follows from simpler comparisons; ranges decide which apply.
    fn candidates(&self, a: Id, b: Id) -> Vec<(&'static str, Vec<(Id, Id)>)> {
        let mut ways: Vec<(&'static str, Vec<(Id, Id)>)> = Vec::new();
        let range = |id: Id| self.range(id);
        let finite = |ids: &[Id]| ids.iter().all(|&id| range(id).finite());
        let (x, y) = (self.structure.graph.op(a), self.structure.graph.op(b));
        match (x, y) {
            (Op::Neg(p), Op::Neg(q)) => ways.push(("a negation turns the order", vec![(q, p)])),
            (Op::Add(p, q), Op::Add(r, s)) => {
                ways.push(("rounded sums are monotone", vec![(p, r), (q, s)]));
                ways.push(("rounded sums are monotone", vec![(p, s), (q, r)]));
            }
            (Op::Sub(p, q), Op::Sub(r, s)) => {
                ways.push(("rounded differences are monotone", vec![(p, r), (s, q)]));
            }
            (Op::Mul(p, q), Op::Mul(r, s)) => {
                let rule = "rounded products are monotone";
                for (p, q) in [(p, q), (q, p)] {
                    // p * q <= r * q <= r * s
                    if finite(&[p, q, r, s]) && range(q).at_least(0.0) && range(r).at_least(0.0) {
                        ways.push((rule, vec![(p, r), (q, s)]));
                    }
                    if finite(&[p, q, r, s]) && q == s && range(q).at_most(0.0) {
                        ways.push((rule, vec![(r, p)]));
                    }
                    if finite(&[p, q, r, s]) && p == r && range(p).at_most(0.0) {
                        ways.push((rule, vec![(s, q)]));
                    }
                }
            }
            (Op::Div(p, q), Op::Div(r, s)) if finite(&[p, q, r, s]) => {
                let rule = "rounded quotients are monotone";
                // p / q <= r / q <= r / s
                if range(q).positive() && range(s).positive() && range(r).at_least(0.0) {
                    ways.push((rule, vec![(p, r), (s, q)]));
                }
                if q == s && range(q).positive() {
                    ways.push((rule, vec![(p, r)]));
                }
                if q == s && range(q).high < F::of(0.0) {
                    ways.push((rule, vec![(r, p)]));
                }
                if p == r && range(p).at_most(0.0) && range(q).positive() && range(s).positive() {
                    ways.push((rule, vec![(q, s)]));
                }
            }
            (Op::Floor(p), Op::Floor(q)) | (Op::Ceil(p), Op::Ceil(q)) => {
                ways.push(("rounding to whole numbers is monotone", vec![(p, q)]));
            }
            (Op::Sqrt(p), Op::Sqrt(q)) => ways.push(("roots are monotone", vec![(p, q)])),
            (Op::Pow(p, n), Op::Pow(q, m)) => {
                if n == m && range(p).at_least(0.0) {
                    ways.push(("powers are monotone in the base", vec![(p, q)]));
                }
                if p == q && range(p).at_least(1.0) {
                    ways.push(("powers of a base of at least 1 are monotone", vec![(n, m)]));
                }
            }
            _ => {}
        }
        self.left(a, b, x, &mut ways);
        self.right(a, b, y, &mut ways);
        if let Some((c, rounded_up)) = self.multiple(b)
            && rounded_up
        {
            ways.push(("a whole number rounded up to a multiple", vec![(a, c)]));
        }
        if let Some((c, rounded_up)) = self.multiple(a)
            && !rounded_up
        {
            ways.push(("a whole number rounded down to a multiple", vec![(c, b)]));
        }
        ways
    }

    /// `c` where the node is `ceil(c / l) * l` or `floor(c / l) * l`, in whole numbers that are all in the format.
    ///
    /// A quotient of such numbers that is not whole is too far from one to be rounded to it.
    fn multiple(&self, id: Id) -> Option<(Id, bool)> {
        let graph = self.structure.graph;
        let Op::Mul(p, q) = graph.op(id) else { return None };
        [(p, q), (q, p)].into_iter().find_map(|(count, l)| {
            let (quotient, rounded_up) = match graph.op(count) {
                Op::Ceil(quotient) => (quotient, true),
                Op::Floor(quotient) => (quotient, false),
                _ => return None,
            };
            let Op::Div(c, by) = graph.op(quotient) else { return None };
            let (value, step) = (self.range(c), self.range(l));
            let small = value.at_least(0.0) && value.high.to_f64() < F::MAX_WHOLE;
            let whole = self.structure.whole(c) && self.structure.whole(l);
            (by == l && small && whole && step.finite() && step.at_least(1.0)).then_some((c, rounded_up))
        })
    }

    /// Ways that look at the smaller side only.
    fn left(&self, _a: Id, b: Id, x: Op, ways: &mut Vec<(&'static str, Vec<(Id, Id)>)>) {
        let range = |id: Id| self.range(id);
        let (one, y) = (F::of(1.0), range(b));
        match x {
            Op::Min(p, q) => {
                ways.push(("a min is at most each of its values", vec![(q, b)]));
                ways.push(("a min is at most each of its values", vec![(p, b)]));
            }
            Op::Max(p, q) => ways.push(("a max is one of its values", vec![(p, b), (q, b)])),
            Op::If(c, p, q) => match range(c).decided() {
                Some(chosen) => {
                    ways.push(("the condition is settled", vec![(if chosen { p } else { q }, b)]))
                }
                None => ways.push(("an if is one of its values", vec![(p, b), (q, b)])),
            },
            Op::Floor(p) => ways.push(("a floor is at most its value", vec![(p, b)])),
            Op::Ceil(p) if self.structure.whole(b) => {
                ways.push((
                    "a whole number is at least a ceiling where it is at least its value",
                    vec![(p, b)],
                ));
            }
            Op::Pow(p, n) if range(p).at_least(0.0) && range(p).at_most(1.0) && range(n).at_least(1.0) => {
                ways.push(("a power cannot enlarge what is at most 1", vec![(p, b)]));
            }
            Op::Abs(p) if range(p).at_least(0.0) => {
                ways.push(("a size without a sign to lose", vec![(p, b)]))
            }
            Op::Add(p, q) => {
                for (p, c) in [(p, q), (q, p)] {
                    if range(c).at_most(0.0) {
                        ways.push(("adding nothing positive", vec![(p, b)]));
                    }
                }
            }
            Op::Sub(p, c) => {
                if range(c).at_least(0.0) {
                    ways.push(("subtracting nothing negative", vec![(p, b)]));
                }
                if y.low >= F::of(0.0) {
                    ways.push(("x - y <= 0 where x <= y", vec![(p, c)]));
                }
            }
            Op::Mul(p, q) => {
                for (p, c) in [(p, q), (q, p)] {
                    let (value, factor) = (range(p), range(c));
                    let shrinks = value.at_least(0.0) && factor.at_least(0.0) && factor.at_most(1.0);
                    let sinks = value.at_most(0.0) && factor.at_least(1.0);
                    if value.finite() && factor.finite() && (shrinks || sinks) {
                        ways.push(("the factor cannot enlarge it", vec![(p, b)]));
                    }
                }
            }
            Op::Div(p, c) => {
                let (value, divisor) = (range(p), range(c));
                let shrinks = value.at_least(0.0) && divisor.at_least(1.0);
                let sinks = value.at_most(0.0) && divisor.positive() && divisor.at_most(1.0);
                if value.finite() && divisor.finite() && (shrinks || sinks) {
                    ways.push(("the divisor cannot enlarge it", vec![(p, b)]));
                }
                if value.finite() && divisor.finite() && divisor.positive() && y.low >= one {
                    ways.push(("x / y <= y / y = 1 where x <= y", vec![(p, c)]));
                }
            }
            _ => {}
        }
    }

    /// Ways that look at the larger side only.
    fn right(&self, a: Id, _b: Id, y: Op, ways: &mut Vec<(&'static str, Vec<(Id, Id)>)>) {
        let range = |id: Id| self.range(id);
        let (one, x) = (F::of(1.0), range(a));
        match y {
            Op::Max(p, q) => {
                ways.push(("a max is at least each of its values", vec![(a, q)]));
                ways.push(("a max is at least each of its values", vec![(a, p)]));
            }
            Op::Min(p, q) => ways.push(("a min is one of its values", vec![(a, p), (a, q)])),
            Op::If(c, p, q) => match range(c).decided() {
                Some(chosen) => {
                    ways.push(("the condition is settled", vec![(a, if chosen { p } else { q })]))
                }
                None => ways.push(("an if is one of its values", vec![(a, p), (a, q)])),
            },
            Op::Ceil(p) => ways.push(("a ceiling is at least its value", vec![(a, p)])),
            Op::Floor(p) if self.structure.whole(a) => {
                ways.push(("a whole number is at most a floor where it is at most its value", vec![(a, p)]));
            }
            Op::Pow(p, n) if range(p).at_least(1.0) && range(n).at_least(1.0) => {
                ways.push(("a power cannot reduce what is at least 1", vec![(a, p)]));
            }
            Op::Abs(p) => ways.push(("a size is at least its value", vec![(a, p)])),
            Op::Add(p, q) => {
                for (p, c) in [(p, q), (q, p)] {
                    if range(c).at_least(0.0) {
                        ways.push(("adding nothing negative", vec![(a, p)]));
                    }
                }
            }
            Op::Sub(p, c) => {
                if range(c).at_most(0.0) {
                    ways.push(("subtracting nothing positive", vec![(a, p)]));
                }
                if x.high <= F::of(0.0) {
                    ways.push(("x - y >= 0 where y <= x", vec![(c, p)]));
                }
            }
            Op::Mul(p, q) => {
                for (p, c) in [(p, q), (q, p)] {
                    let (value, factor) = (range(p), range(c));
                    let grows = value.at_least(0.0) && factor.at_least(1.0);
                    let rises = value.at_most(0.0) && factor.at_least(0.0) && factor.at_most(1.0);
                    if value.finite() && factor.finite() && (grows || rises) {
                        ways.push(("the factor cannot reduce it", vec![(a, p)]));
                    }
                }
            }
            Op::Div(p, c) => {
                let (value, divisor) = (range(p), range(c));
                let grows = value.at_least(0.0) && divisor.positive() && divisor.at_most(1.0);
                let rises = value.at_most(0.0) && divisor.at_least(1.0);
                if value.finite() && divisor.finite() && (grows || rises) {
                    ways.push(("the divisor cannot reduce it", vec![(a, p)]));
                }
                if value.finite() && divisor.finite() && divisor.positive() && x.high <= one {
                    ways.push(("x / y >= y / y = 1 where y <= x", vec![(c, p)]));
                }
            }
            _ => {}
        }
    }

    fn limits(&self, ids: impl IntoIterator<Item = Id>) -> Limits {
        trace::limits(self.structure.graph, ids, |id| self.range(id))
    }

    /// Writes down why two values stand in the order found.
    fn explain(&mut self, a: Id, b: Id, depth: usize) {
        if self.assumed(a, b).count_ones() == 1 || a == b {
            return;
        }
        let (x, y) = (self.range(a), self.range(b));
        if x.high < y.low || y.high < x.low {
            let limits = self.limits([a, b]);
            return self.trace.say(depth, Step::Ranges(limits));
        }
        for (p, q) in [(a, b), (b, a)] {
            if let Some(rule) = self.strict.get(&(p, q)).copied() {
                return self.trace.say(depth, Step::Ordered(p, "<", q, rule));
            }
        }
        let mut pending = vec![(a, b), (b, a)];
        let mut seen = BTreeSet::new();
        while let Some((p, q)) = pending.pop() {
            if p == q || !seen.insert((p, q)) {
                continue;
            }
            if self.range(p).high <= self.range(q).low {
                let limits = self.limits([p, q]);
                self.trace.say(depth, Step::Ranges(limits));
            } else if let Some(Reason { rule: Some(rule), premises }) = self.known.get(&(p, q)).cloned() {
                self.trace.say(depth, Step::Ordered(p, "<=", q, rule));
                pending.extend(premises);
            }
        }
    }
}
