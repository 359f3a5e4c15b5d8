//! The proof search: ranges bottom-up from the quantities, orders top-down from the claim, and case splits on unknown orders.

use std::collections::BTreeSet;

use roofline_checker::{Claim, Domain, Fact, Op, Problem, ProofObligation, Rule, Step, conclude, prepare};

use super::points::Points;
use super::proof_builder::{Branch, FactId, ProofBuilder};
use crate::graph::IdMap;

/// Maximum number of orders tried per proof, and per case.
const MAX_STEPS: usize = 20_000;
const MAX_CASE_STEPS: usize = 6_000;
/// Maximum number of cases per proof.
const MAX_CASES: usize = 400;
/// Maximum depth of order reasoning.
const MAX_DEPTH: usize = 80;
/// Maximum nesting depth of cases.
const MAX_CASE_DEPTH: usize = 40;
/// Maximum number of nested assumptions for one order.
const MAX_CONDITIONS: usize = 2;

/// Undecided; the order of these two values, if any, would help.
type Undecided = Option<(usize, usize)>;

/// Facts that hold at every point of the current case.
#[derive(Clone, Default)]
pub(super) struct State {
    ranges: IdMap<usize, (f64, f64, FactId)>,
    orders: IdMap<(usize, usize, bool), Option<FactId>>,
    truths: IdMap<usize, (bool, FactId)>,
    /// Assumed orders: `a <= b`, or `a < b` if the flag is set.
    pub(super) assumed: Vec<(usize, usize, bool, FactId)>,
    /// Cache of the nodes that are integers.
    pub(super) wholes: IdMap<usize, Option<FactId>>,
    /// Disjunctions that hold, with no part known to hold.
    disjunctions: Vec<(usize, usize, FactId)>,
    /// The points of the case.
    pub(super) points: Vec<usize>,
}

/// The kinds of orders tried for a claim.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SearchEffort {
    /// Orders of rounded values.
    Rounded,
    /// Also orders of real numbers with a margin for rounding; the slowest.
    Real,
}

/// The innermost goal that the search could not prove.
#[derive(Clone, Debug)]
pub(super) enum Open {
    /// Rule out the case in which these facts hold.
    Case(Vec<Fact>),
    /// Prove this fact.
    Goal(Fact),
    /// Bound this node.
    Bound(usize),
    /// Determine the direction of a node; those of its operands are known, true for increasing.
    Direction(usize, Vec<(usize, bool)>),
}

/// A way to derive `a <= b`.
enum Way {
    /// A rule applied to orders and ranges.
    Rule(Rule, Vec<(usize, usize)>, Vec<usize>),
    /// `a <= p <= b`, the first order by a rule.
    Left(Vec<usize>, usize),
    /// `a <= p <= b`, the second order by a rule.
    Right(Vec<usize>, usize),
}

pub(super) struct Search<'a> {
    problem: &'a Problem,
    pub(super) nodes: Vec<Op>,
    pub(super) quantities: Vec<Domain>,
    draft: ProofBuilder,
    pub(super) state: State,
    pub(super) points: Points,
    pub(super) ratios: IdMap<(usize, usize), Option<(i32, FactId)>>,
    shared: Vec<FactId>,
    /// Number of shared facts.
    base: usize,
    needed: Vec<bool>,
    steps: usize,
    /// The step count at which the current case is abandoned.
    limit: usize,
    cases: usize,
    /// Number of conditions assumed for one order.
    conditions: usize,
    /// Number of anchor combinations tried.
    pub(super) tries: usize,
    /// True if real arithmetic is used for orders.
    reals: bool,
    /// True if real arithmetic is used to narrow ranges.
    tightens: bool,
    /// True if orders follow only from ranges and assumptions.
    shallow: bool,
    /// Number of orders assumed before the first case.
    outside: usize,
    /// The open goal of the last search, if it failed.
    pub(super) open: Option<Open>,
}

impl<'a> Search<'a> {
    /// Bounds every node of the contract.
    pub fn new(problem: &'a Problem) -> Self {
        let mut search = Search {
            problem,
            nodes: problem.nodes.clone(),
            quantities: problem.quantities.clone(),
            draft: ProofBuilder::default(),
            state: State::default(),
            points: Points::default(),
            ratios: IdMap::default(),
            shared: Vec::new(),
            base: 0,
            needed: Vec::new(),
            steps: 0,
            limit: MAX_STEPS,
            cases: 0,
            conditions: 0,
            tries: 0,
            reals: false,
            tightens: false,
            shallow: false,
            outside: 0,
            open: None,
        };
        search.draft.open();
        for node in 0..search.nodes.len() {
            search.bound(node);
        }
        search.shared = search.draft.close();
        search.base = search.draft.len();
        search
    }

    /// Searches for a proof; numbers below the number of shared facts refer to these.
    pub fn prove(&mut self, question: &ProofObligation) -> Option<Vec<Step>> {
        self.prove_with(question, SearchEffort::Rounded)
            .or_else(|| self.prove_with(question, SearchEffort::Real))
    }

    /// Searches for a proof with limited effort.
    pub fn prove_with(&mut self, question: &ProofObligation, effort: SearchEffort) -> Option<Vec<Step>> {
        let prepared = prepare(self.problem, question)?;
        let shared = self.state.clone();
        (self.nodes, self.quantities) = (prepared.nodes, prepared.quantities);
        let moved = match question.claim {
            Claim::Monotone { quantity, .. } => Some((quantity, self.quantities.len() - 1)),
            Claim::Always { .. } => None,
        };
        let facts: Vec<Fact> = prepared.assume.iter().copied().chain([prepared.goal]).collect();
        self.points = Points::new(&self.nodes, &self.cone(&facts), &self.quantities, moved);
        let assumed: Vec<FactId> = prepared.assume.iter().map(|&fact| self.draft.assume(fact)).collect();
        let mut place: IdMap<FactId, usize> = (0..self.base).map(|known| (known, known)).collect();
        place.extend(assumed.iter().enumerate().map(|(i, &known)| (known, self.base + i)));
        let mut proof = None;
        self.open = None;
        self.reals = effort == SearchEffort::Real;
        // Most claims depend only on the order of the values they name; choices inside these multiply the cases.
        for inside in [false, true] {
            (self.steps, self.limit, self.cases, self.tries) = (0, MAX_CASE_STEPS, 0, 0);
            (self.state, self.ratios) = (shared.clone(), IdMap::default());
            self.state.points = self.points.all();
            self.draft.open();
            // A condition implies an order only for bounded values.
            for node in self.cone(&prepared.assume) {
                if self.range(node).is_none() {
                    self.bound(node);
                }
            }
            for &known in &assumed {
                self.suppose(known);
            }
            let cone = self.cone(&[prepared.goal]);
            self.tightens = self.reals;
            let absurd = self.refine(&cone);
            self.tightens = false;
            self.outside = self.state.assumed.len();
            let end = if absurd.is_some() { None } else { self.reach(prepared.goal, &cone, inside, 0) };
            if let (None, Claim::Monotone { of, .. }, false) = (end, &question.claim, inside) {
                self.open = self.turn(*of, &prepared.twins).or(self.open.take());
            }
            let steps = self.draft.close();
            if let Some(end) = end {
                self.draft.needed(&[end], &mut self.needed);
                proof = Some(self.draft.emit_steps(
                    &steps,
                    &self.needed,
                    &mut place,
                    self.base + prepared.assume.len(),
                ));
                break;
            }
        }
        self.draft.forget(self.base);
        self.needed.truncate(self.base);
        (self.state, self.ratios) = (shared, IdMap::default());
        (self.nodes, self.quantities) = (self.problem.nodes.clone(), self.problem.quantities.clone());
        proof
    }

    /// Drops unneeded shared steps and renumbers the proofs.
    pub fn finish(mut self, mut proofs: Vec<(String, Vec<Step>)>) -> (Vec<Step>, Vec<(String, Vec<Step>)>) {
        self.needed.resize(self.base, false);
        let mut place = IdMap::default();
        let steps = self.draft.emit_steps(&self.shared, &self.needed, &mut place, 0);
        let renumber = |number: usize| {
            if number < self.base {
                place.get(&number).copied().unwrap_or(usize::MAX)
            } else {
                number - self.base + steps.len()
            }
        };
        for (_, proof) in &mut proofs {
            renumbered(proof, &renumber);
        }
        (steps, proofs)
    }

    pub(super) fn op(&self, node: usize) -> Op {
        self.nodes[node]
    }

    /// Applies a rule; none if it does not yield a fact about the nodes of `wanted`.
    pub(super) fn apply(&mut self, rule: Rule, from: &[FactId], wanted: Fact) -> Option<FactId> {
        let facts: Vec<Fact> = from.iter().map(|&known| self.draft.fact(known)).collect();
        let fact = conclude(&self.nodes, &self.quantities, rule, &facts, wanted)?;
        Some(self.draft.step(rule, from.to_vec(), fact, Vec::new()))
    }

    pub(super) fn fact(&self, known: FactId) -> Fact {
        self.draft.fact(known)
    }

    pub(super) fn range(&self, node: usize) -> Option<(f64, f64, FactId)> {
        self.state.ranges.get(&node).copied()
    }

    fn at_least(&self, node: usize, limit: f64) -> bool {
        self.range(node).is_some_and(|(low, ..)| low >= limit)
    }

    fn at_most(&self, node: usize, limit: f64) -> bool {
        self.range(node).is_some_and(|(_, high, _)| high <= limit)
    }

    fn positive(&self, node: usize) -> bool {
        self.range(node).is_some_and(|(low, ..)| low > 0.0)
    }

    pub(super) fn ranges(&self, nodes: &[usize]) -> Option<Vec<FactId>> {
        nodes.iter().map(|&node| Some(self.range(node)?.2)).collect()
    }

    /// The nodes in some facts and their operands, operands first.
    pub(super) fn cone(&self, facts: &[Fact]) -> Vec<usize> {
        let mut pending: Vec<usize> = Vec::new();
        for &fact in facts {
            match fact {
                Fact::Range(a, ..) | Fact::Holds(a, _) | Fact::Whole(a) => pending.push(a),
                Fact::Le(a, b) | Fact::Lt(a, b) | Fact::Ratio(a, b, _) => pending.extend([a, b]),
                Fact::Absurd => {}
            }
        }
        let mut seen = BTreeSet::new();
        while let Some(node) = pending.pop() {
            if seen.insert(node) {
                pending.extend(self.op(node).operands());
            }
        }
        // The copies for a second point also follow their operands.
        seen.into_iter().collect()
    }

    /// Assumes a fact.
    fn suppose(&mut self, known: FactId) {
        let fact = self.draft.fact(known);
        self.state.points.retain(|&point| self.points.holds(point, fact));
        match self.draft.fact(known) {
            Fact::Range(node, low, high) => {
                self.keep_range(node, (low, high, known));
            }
            Fact::Le(a, b) => self.state.assumed.push((a, b, false, known)),
            Fact::Lt(a, b) => self.state.assumed.push((a, b, true, known)),
            Fact::Holds(node, value) => {
                self.state.truths.insert(node, (value, known));
                self.read(node, value, known);
            }
            Fact::Ratio(..) | Fact::Whole(_) | Fact::Absurd => {}
        }
    }

    /// True if no sampled point contradicts the fact.
    fn plausible(&self, fact: Fact) -> bool {
        self.state.points.iter().all(|&point| self.points.holds(point, fact))
    }

    /// True if the quotient of two nodes is the same power of two at every sampled point.
    pub(super) fn in_one_ratio(&self, x: usize, y: usize) -> bool {
        let mut ratios = self.state.points.iter().filter_map(|&point| self.points.ratio(point, x, y));
        let Some(first) = ratios.next() else { return true };
        first > 0.0 && first.to_bits() << 12 == 0 && ratios.all(|ratio| ratio == first)
    }

    /// Derives orders and conditions from a decided condition.
    fn read(&mut self, node: usize, value: bool, known: FactId) {
        let parts: Vec<usize> = match self.op(node) {
            Op::Less(a, b) | Op::LessEqual(a, b) | Op::Equal(a, b) => {
                let Some(ranges) = self.ranges(&[a, b]) else { return };
                let from = [known, ranges[0], ranges[1]];
                for (x, y) in [(a, b), (b, a)] {
                    for wanted in [Fact::Lt(x, y), Fact::Le(x, y)] {
                        if let Some(order) = self.apply(Rule::Order, &from, wanted) {
                            self.suppose(order);
                            break;
                        }
                    }
                }
                return;
            }
            Op::And(a, b) if value => vec![a, b],
            Op::Or(a, b) if !value => vec![a, b],
            Op::Not(a) => vec![a],
            Op::Or(a, b) => {
                self.state.disjunctions.push((a, b, known));
                return;
            }
            _ => return,
        };
        for part in parts {
            if let Some(part) = self.apply(Rule::Part, &[known], Fact::Holds(part, value)) {
                self.suppose(part);
            }
        }
    }

    /// Intersects a range with the known one; true if it narrows it.
    pub(super) fn keep_range(&mut self, node: usize, new: (f64, f64, FactId)) -> bool {
        let Some(old) = self.range(node) else {
            self.state.ranges.insert(node, new);
            return true;
        };
        if old.0 >= new.0 && old.1 <= new.1 {
            return false;
        }
        let kept = if new.0 >= old.0 && new.1 <= old.1 {
            Some(new)
        } else {
            let known = self.apply(Rule::Meet, &[old.2, new.2], Fact::Range(node, 0.0, 0.0));
            known.and_then(|known| self.as_range(known))
        };
        kept.is_some_and(|kept| self.state.ranges.insert(node, kept).is_some())
    }

    fn as_range(&self, known: FactId) -> Option<(f64, f64, FactId)> {
        match self.draft.fact(known) {
            Fact::Range(_, low, high) => Some((low, high, known)),
            _ => None,
        }
    }

    /// Bounds a node by its operands; true if that narrows its range.
    fn bound(&mut self, node: usize) -> bool {
        let wanted = Fact::Range(node, 0.0, 0.0);
        let known = match self.op(node) {
            Op::Number(_) => self.apply(Rule::Operation, &[], wanted),
            Op::Quantity(_) => self.apply(Rule::Operation, &[], wanted),
            Op::Neg(a) => self.by_ranges(Rule::Operation, &[a], wanted),
            Op::Floor(a) => self.by_ranges(Rule::Operation, &[a], wanted),
            Op::Ceil(a) => self.by_ranges(Rule::Operation, &[a], wanted),
            Op::Sqrt(a) => self.by_ranges(Rule::Operation, &[a], wanted),
            Op::Abs(a) => self.by_ranges(Rule::Operation, &[a], wanted),
            Op::Add(a, b) => self.by_ranges(Rule::Operation, &[a, b], wanted),
            Op::Sub(a, b) => self.by_ranges(Rule::Operation, &[a, b], wanted),
            Op::Mul(a, b) if a == b => self.by_ranges(Rule::Operation, &[a], wanted),
            Op::Mul(a, b) => self.by_ranges(Rule::Operation, &[a, b], wanted),
            Op::Div(a, b) if self.is_part(a, b) && self.positive(b) => self.quotient(node, a, b),
            Op::Div(a, b) => self.by_ranges(Rule::Operation, &[a, b], wanted),
            Op::Min(a, b) => self.by_ranges(Rule::Operation, &[a, b], wanted),
            Op::Max(a, b) => self.by_ranges(Rule::Operation, &[a, b], wanted),
            Op::Pow(a, b) => self.by_ranges(Rule::Operation, &[a, b], wanted),
            Op::If(c, a, b) => self.bound_choice(node, c, a, b),
            _ => None,
        };
        match known.and_then(|known| self.as_range(known)) {
            Some(range) => self.keep_range(node, range) | self.inward(node),
            None => false,
        }
    }

    /// Rounds the limits of an integer's range inward to integers.
    fn inward(&mut self, node: usize) -> bool {
        let Some((low, high, known)) = self.range(node) else { return false };
        if low.floor() == low && high.floor() == high {
            return false;
        }
        let Some(whole) = self.whole(node) else { return false };
        let tight = self.apply(Rule::Inward, &[whole, known], Fact::Range(node, 0.0, 0.0));
        tight.and_then(|tight| self.as_range(tight)).is_some_and(|range| self.keep_range(node, range))
    }

    /// True if `a <= b` may follow from the operands.
    fn is_part(&self, a: usize, b: usize) -> bool {
        let made_of = |node: usize, part: usize| match self.op(node) {
            Op::Add(p, q) | Op::Min(p, q) | Op::Max(p, q) => p == part || q == part,
            Op::Sub(p, _) => p == part,
            _ => false,
        };
        a == b || made_of(a, b) || made_of(b, a)
    }

    /// The range of a quotient whose dividend is at most its divisor.
    fn quotient(&mut self, node: usize, a: usize, b: usize) -> Option<FactId> {
        let wanted = Fact::Range(node, 0.0, 0.0);
        let (quotient, range) = (self.by_ranges(Rule::Operation, &[a, b], wanted)?, self.range(b)?.2);
        match self.order(a, b, 0) {
            Some(order) => self.apply(Rule::Narrow, &[order, range, quotient], wanted),
            None => Some(quotient),
        }
    }

    fn by_ranges(&mut self, rule: Rule, nodes: &[usize], wanted: Fact) -> Option<FactId> {
        let from = self.ranges(nodes)?;
        self.apply(rule, &from, wanted)
    }

    fn bound_choice(&mut self, node: usize, c: usize, a: usize, b: usize) -> Option<FactId> {
        let wanted = Fact::Range(node, 0.0, 0.0);
        if let Some(value) = self.plainly(c)
            && let Some(&(_, known)) = self.state.truths.get(&c)
        {
            let range = self.range(if value { a } else { b })?;
            return self.apply(Rule::Operation, &[known, range.2], wanted);
        }
        if let Some(known) = self.by_ranges(Rule::Operation, &[a, b], wanted) {
            return Some(known);
        }
        // A branch may be finite only at points where it is taken.
        let mut ends = Vec::new();
        for (value, branch) in [(true, a), (false, b)] {
            let (end, case) = self.case(&[Fact::Holds(c, value)], |search| {
                let cone = search.cone(&[Fact::Holds(c, value), Fact::Range(branch, 0.0, 0.0)]);
                if let Some(absurd) = search.refine(&cone) {
                    return Some(absurd);
                }
                let (_, known) = search.state.truths.get(&c).copied()?;
                let range = search.range(branch)?;
                search.apply(Rule::Operation, &[known, range.2], wanted)
            })?;
            ends.push((end, case));
        }
        let bounds = ends.iter().filter_map(|&(end, _)| self.as_range(end));
        let (low, high) =
            bounds.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x.0), high.max(x.1)));
        let gives = Fact::Range(node, low, high);
        let mut cases = Vec::new();
        for (end, mut case) in ends {
            if self.draft.fact(end) != Fact::Absurd {
                // The last step of each case must yield the fact of the whole step.
                self.draft.open();
                case.end = self.apply(Rule::Widen, &[end], gives)?;
                case.steps.extend(self.draft.close());
            }
            cases.push(case);
        }
        (low <= high).then(|| self.draft.step(Rule::Cases, Vec::new(), gives, cases))
    }

    /// Searches for a fact under assumptions.
    fn case(
        &mut self,
        assume: &[Fact],
        find: impl FnOnce(&mut Self) -> Option<FactId>,
    ) -> Option<(FactId, Branch)> {
        let saved = (self.state.clone(), self.ratios.clone());
        self.draft.open();
        let assume: Vec<FactId> = assume.iter().map(|&fact| self.draft.assume(fact)).collect();
        // Failed goals may succeed under the new assumptions.
        self.state.orders.retain(|_, known| known.is_some());
        self.ratios.retain(|_, known| known.is_some());
        for &known in &assume {
            self.suppose(known);
        }
        let end = find(self);
        let steps = self.draft.close();
        (self.state, self.ratios) = saved;
        end.map(|end| (end, Branch { assume, steps, end }))
    }

    /// Recomputes ranges under the assumptions; returns the contradiction if no point satisfies them.
    fn refine(&mut self, cone: &[usize]) -> Option<FactId> {
        self.divide();
        let mut changed: BTreeSet<usize> = BTreeSet::new();
        for &node in cone {
            let op = self.op(node);
            let unknown = self.range(node).is_none();
            let mut new = (unknown || op.operands().iter().any(|operand| changed.contains(operand)))
                && self.bound(node);
            for i in 0..self.state.assumed.len() {
                let (a, b, strict, order) = self.state.assumed[i];
                if node == a || node == b {
                    new |= self.narrow(node, Rule::Narrow, order, &[a, b]);
                }
                match op {
                    Op::Sub(p, q) if (p, q) == (a, b) || (p, q) == (b, a) => {
                        new |= self.narrow(node, Rule::Narrow, order, &[node]);
                        new |= strict && self.narrow(node, Rule::Gap, order, &[b, node]);
                    }
                    Op::Div(p, q) if strict && (p, q) == (a, b) => {
                        new |= self.narrow(node, Rule::Narrow, order, &[q, node]);
                    }
                    Op::Div(p, q) if (p, q) == (a, b) || (p, q) == (b, a) => {
                        if let Some(order) = self.order(a, b, 0) {
                            new |= self.narrow(node, Rule::Narrow, order, &[q, node]);
                        }
                    }
                    _ => {}
                }
            }
            new |= self.inward(node) || self.tightens && self.tighten(node);
            if let Some((.., known)) = self.range(node).filter(|range| range.0 > range.1) {
                return self.apply(Rule::Contradiction, &[known], Fact::Absurd);
            }
            if new {
                changed.insert(node);
            }
        }
        None
    }

    /// Derives the remaining part of a disjunction if the other part is false.
    fn divide(&mut self) {
        for i in 0..self.state.disjunctions.len() {
            let (a, b, known) = self.state.disjunctions[i];
            for (part, rest) in [(a, b), (b, a)] {
                if self.state.truths.contains_key(&rest) || self.plainly(part) != Some(false) {
                    continue;
                }
                if let Some(&(_, not)) = self.state.truths.get(&part)
                    && let Some(left) = self.apply(Rule::Part, &[known, not], Fact::Holds(rest, true))
                {
                    self.suppose(left);
                }
            }
        }
    }

    fn narrow(&mut self, node: usize, rule: Rule, order: FactId, ranges: &[usize]) -> bool {
        let Some(ranges) = self.ranges(ranges) else { return false };
        let from: Vec<FactId> = [order].into_iter().chain(ranges).collect();
        let facts: Vec<Fact> = from.iter().map(|&known| self.draft.fact(known)).collect();
        let wanted = Fact::Range(node, 0.0, 0.0);
        let Some(fact @ Fact::Range(_, low, high)) =
            conclude(&self.nodes, &self.quantities, rule, &facts, wanted)
        else {
            return false;
        };
        let tells = self.range(node).is_none_or(|(l, h, _)| low > l || high < h);
        tells && {
            let known = self.draft.step(rule, from, fact, Vec::new());
            self.keep_range(node, (low, high, known))
        }
    }

    /// Proves a claim, by cases if necessary; records the innermost open case.
    fn reach(&mut self, goal: Fact, cone: &[usize], inside: bool, depth: usize) -> Option<FactId> {
        let found = self.in_cases(goal, cone, inside, depth);
        if found.is_none() && self.open.is_none() {
            let assumed = self.state.assumed[self.outside..].iter();
            let case: Vec<Fact> = assumed
                .map(|&(a, b, strict, _)| if strict { Fact::Lt(a, b) } else { Fact::Le(a, b) })
                .collect();
            let unbounded = cone.iter().find(|&&node| self.is_number(node) && self.range(node).is_none());
            self.open = Some(match unbounded {
                _ if !case.is_empty() => Open::Case(case),
                Some(&node) => Open::Bound(node),
                None => Open::Goal(goal),
            });
        }
        found
    }

    fn is_number(&self, node: usize) -> bool {
        use Op::*;
        !matches!(
            self.op(node),
            Bool(_) | Less(..) | LessEqual(..) | Equal(..) | And(..) | Or(..) | Not(_) | Iff(..) | Finite(_)
        )
    }

    /// The innermost node under `of` without a known direction whose operands have one; `twins` are the nodes at the
    /// second point.
    fn turn(&mut self, of: usize, twins: &[usize]) -> Option<Open> {
        self.limit = self.steps + MAX_CASE_STEPS;
        let mut node = of;
        self.direction(node, twins).is_none().then_some(())?;
        loop {
            let operands = self.op(node).operands();
            let moving: Vec<usize> =
                operands.into_iter().filter(|&x| twins[x] != x && self.range(x).is_some()).collect();
            match moving.iter().find(|&&x| self.direction(x, twins).is_none()) {
                Some(&inner) => node = inner,
                None => {
                    let known = moving.iter().filter_map(|&x| Some((x, self.direction(x, twins)?))).collect();
                    return Some(Open::Direction(node, known));
                }
            }
        }
    }

    /// The direction of a node in the quantity with a second value.
    fn direction(&mut self, node: usize, twins: &[usize]) -> Option<bool> {
        let twin = twins[node];
        if self.order(node, twin, 0).is_some() {
            Some(true)
        } else {
            self.order(twin, node, 0).map(|_| false)
        }
    }

    fn in_cases(&mut self, goal: Fact, cone: &[usize], inside: bool, depth: usize) -> Option<FactId> {
        self.cases += 1;
        self.limit = MAX_STEPS.min(self.steps + MAX_CASE_STEPS);
        if self.cases > MAX_CASES || depth > MAX_CASE_DEPTH {
            return None;
        }
        let undecided = match goal {
            Fact::Holds(condition, _) => match self.truth(condition, 0) {
                Ok((true, known)) => return Some(known),
                Ok((false, _)) => return self.contradiction(),
                Err(undecided) => undecided,
            },
            Fact::Le(a, b) => match self.order(a, b, 0) {
                Some(known) => return Some(known),
                None => Some((a, b)),
            },
            _ => None,
        };
        let Some((mut a, mut b)) = undecided else { return self.contradiction() };
        if inside {
            (a, b) = self.choice_under(a, b).unwrap_or((a, b));
        }
        if goal == Fact::Le(a, b) {
            return self.contradiction();
        }
        let ranges = self.ranges(&[a, b])?;
        let orders = [vec![Fact::Lt(a, b)], vec![Fact::Le(a, b), Fact::Le(b, a)], vec![Fact::Lt(b, a)]];
        let excluded = [self.order(b, a, 0), None, self.order(a, b, 0)];
        let mut cases = Vec::new();
        for (assume, excluded) in orders.iter().zip(excluded) {
            let (_, case) = self.case(assume, |search| {
                if let Some(opposite) = excluded {
                    let assumed = search.state.assumed.last().map(|assumed| assumed.3)?;
                    return search.apply(Rule::Contradiction, &[assumed, opposite], Fact::Absurd);
                }
                search.refine(cone).or_else(|| search.reach(goal, cone, inside, depth + 1))
            })?;
            cases.push(case);
        }
        Some(self.draft.step(Rule::Cases, ranges, goal, cases))
    }

    /// Derives a contradiction from the assumptions.
    fn contradiction(&mut self) -> Option<FactId> {
        for i in 0..self.state.assumed.len() {
            let (a, b, strict, known) = self.state.assumed[i];
            let opposite = if strict { self.order(b, a, 0) } else { self.strictly(b, a, 0) };
            if let Some(opposite) = opposite {
                let from = if strict { [known, opposite] } else { [opposite, known] };
                return self.apply(Rule::Contradiction, &from, Fact::Absurd);
            }
        }
        None
    }

    /// An undecided choice among the operands of two values.
    fn choice_under(&mut self, x: usize, y: usize) -> Option<(usize, usize)> {
        let mut pairs = Vec::new();
        // Prefer the outermost.
        for node in [x, y].into_iter().chain(self.cone(&[Fact::Le(x, y)]).into_iter().rev()) {
            if let Op::Min(a, b) | Op::Max(a, b) | Op::Less(a, b) | Op::LessEqual(a, b) | Op::Equal(a, b) =
                self.op(node)
            {
                pairs.push((a, b));
            }
        }
        pairs.into_iter().find(|&(a, b)| {
            self.ranges(&[a, b]).is_some()
                && self.strictly(a, b, 0).is_none()
                && self.strictly(b, a, 0).is_none()
                && !(self.order(a, b, 0).is_some() && self.order(b, a, 0).is_some())
        })
    }

    /// The value of a condition.
    pub(super) fn truth(&mut self, node: usize, depth: usize) -> Result<(bool, FactId), Undecided> {
        if let Some(&known) = self.state.truths.get(&node) {
            return Ok(known);
        }
        if depth > MAX_DEPTH {
            return Err(None);
        }
        let found = self.weigh(node, depth + 1)?;
        let Fact::Holds(_, value) = self.draft.fact(found) else { return Err(None) };
        self.state.truths.insert(node, (value, found));
        Ok((value, found))
    }

    /// The value of a condition, if ranges and assumptions decide it.
    pub(super) fn plainly(&mut self, node: usize) -> Option<bool> {
        let before = std::mem::replace(&mut self.shallow, true);
        let truth = self.truth(node, 0);
        self.shallow = before;
        truth.ok().map(|(value, _)| value)
    }

    fn weigh(&mut self, node: usize, depth: usize) -> Result<FactId, Undecided> {
        let wanted = Fact::Holds(node, true);
        let compare =
            |search: &mut Self, from: &[FactId]| search.apply(Rule::Decide, from, wanted).ok_or(None);
        match self.op(node) {
            Op::Bool(_) => self.apply(Rule::Operation, &[], wanted).ok_or(None),
            Op::Finite(a) => self.by_ranges(Rule::Decide, &[a], wanted).ok_or(None),
            Op::Less(a, b) | Op::LessEqual(a, b) | Op::Equal(a, b) if self.ranges(&[a, b]).is_none() => {
                Err(None)
            }
            Op::Less(a, b) => match self.strictly(a, b, 0).or_else(|| self.order(b, a, 0)) {
                Some(order) => compare(self, &[order]),
                None => Err(Some((a, b))),
            },
            Op::LessEqual(a, b) => match self.order(a, b, 0).or_else(|| self.strictly(b, a, 0)) {
                Some(order) => compare(self, &[order]),
                None => Err(Some((a, b))),
            },
            Op::Equal(a, b) => {
                if let Some(order) = self.strictly(a, b, 0).or_else(|| self.strictly(b, a, 0)) {
                    return compare(self, &[order]);
                }
                match (self.order(a, b, 0), self.order(b, a, 0)) {
                    (Some(order), Some(back)) => compare(self, &[order, back]),
                    _ => Err(Some((a, b))),
                }
            }
            Op::Not(a) => {
                let (_, known) = self.truth(a, depth)?;
                self.apply(Rule::Decide, &[known], wanted).ok_or(None)
            }
            Op::And(a, b) => self.both(a, b, false, wanted, depth),
            Op::Or(a, b) => self.both(a, b, true, wanted, depth),
            Op::Iff(a, b) if a == b => self.apply(Rule::Decide, &[], wanted).ok_or(None),
            Op::Iff(a, b) => {
                let (x, y) = (self.truth(a, depth), self.truth(b, depth));
                match (x, y) {
                    (Ok((_, x)), Ok((_, y))) => self.apply(Rule::Decide, &[x, y], wanted).ok_or(None),
                    (Err(Some(pair)), _) | (_, Err(Some(pair))) => Err(Some(pair)),
                    _ => Err(None),
                }
            }
            _ => Err(None),
        }
    }

    /// `a and b` or `a or b`; an operand with the value `decides` decides it.
    fn both(
        &mut self,
        a: usize,
        b: usize,
        decides: bool,
        wanted: Fact,
        depth: usize,
    ) -> Result<FactId, Undecided> {
        let (x, y) = (self.truth(a, depth), self.truth(b, depth));
        let from = match (x, y) {
            (Ok((value, x)), _) if value == decides => vec![x],
            (_, Ok((value, y))) if value == decides => vec![y],
            (Ok((_, x)), Ok((_, y))) => vec![x, y],
            (Err(Some(pair)), _) | (_, Err(Some(pair))) => return Err(Some(pair)),
            _ => return Err(None),
        };
        self.apply(Rule::Decide, &from, wanted).ok_or(None)
    }

    /// Proves `a <= b`.
    pub(super) fn order(&mut self, a: usize, b: usize, depth: usize) -> Option<FactId> {
        let (x, y) = (self.range(a)?, self.range(b)?);
        if let Some(&known) = self.state.orders.get(&(a, b, false)) {
            return known;
        }
        let wanted = Fact::Le(a, b);
        let quick = if a == b {
            self.apply(Rule::Trans, &[x.2], wanted)
        } else if x.1 <= y.0 {
            self.apply(Rule::Apart, &[x.2, y.2], wanted)
        } else if !self.plausible(wanted) {
            None
        } else if let Some(known) = self.assumed(a, b) {
            Some(known)
        } else if self.shallow {
            // Continue only with ranges and assumptions, the nearest first.
            return self.through_assumed(a, b, true, depth + 1);
        } else {
            self.steps += 1;
            if depth > MAX_DEPTH || self.steps > self.limit {
                return None;
            }
            // A goal in progress must not be used in its own proof.
            self.state.orders.insert((a, b, false), None);
            self.ordered(a, b, depth + 1)
        };
        self.state.orders.insert((a, b, false), quick);
        quick
    }

    fn assumed(&mut self, a: usize, b: usize) -> Option<FactId> {
        let found = self.state.assumed.iter().find(|&&(c, d, ..)| (a, b) == (c, d));
        let &(.., strict, known) = found?;
        if strict { self.apply(Rule::Trans, &[known], Fact::Le(a, b)) } else { Some(known) }
    }

    /// Proves `a <= c <= d <= b` with an assumption `c <= d`; with `near`, `c` is `a` or `d` is `b`.
    fn through_assumed(&mut self, a: usize, b: usize, near: bool, depth: usize) -> Option<FactId> {
        if depth > MAX_DEPTH {
            return None;
        }
        for i in 0..self.state.assumed.len() {
            let (c, d, _, known) = self.state.assumed[i];
            if near && c != a && d != b {
                continue;
            }
            let Some(before) = self.order(a, c, depth + self.assumed_depth()) else { continue };
            let Some(after) = self.order(d, b, depth + self.assumed_depth()) else { continue };
            let middle = self.apply(Rule::Trans, &[before, known], Fact::Le(a, d))?;
            return self.apply(Rule::Trans, &[middle, after], Fact::Le(a, b));
        }
        None
    }

    fn assumed_depth(&self) -> usize {
        if self.shallow { MAX_DEPTH / 3 } else { 0 }
    }

    fn ordered(&mut self, a: usize, b: usize, depth: usize) -> Option<FactId> {
        let wanted = Fact::Le(a, b);
        if let Some(known) = self.through_assumed(a, b, true, depth) {
            return Some(known);
        }
        if let Some(known) = self.around_one(a, b, depth).or_else(|| self.multiple(a, b)) {
            return Some(known);
        }
        for way in self.ways(a, b) {
            if let Some(known) = self.take(a, b, way, depth) {
                return Some(known);
            }
        }
        if let Some((_, ratio)) = self.ratio(a, b, 0) {
            let from = [ratio, self.range(b)?.2];
            if let Some(known) = self.apply(Rule::RatioLe, &from, wanted) {
                return Some(known);
            }
        }
        if let Some(known) = self.through_assumed(a, b, false, depth) {
            return Some(known);
        }
        if self.reals
            && let Some(known) = self.by_reals(wanted)
        {
            return Some(known);
        }
        self.by_condition(a, b, depth)
    }

    /// Proves `p / q <= 1 <= b` or `p - q <= 0 <= b` from `p <= q`, and vice versa.
    fn around_one(&mut self, a: usize, b: usize, depth: usize) -> Option<FactId> {
        let ((.., x), (low, .., y)) = (self.range(a)?, self.range(b)?);
        let high = self.range(a)?.1;
        let below = match self.op(a) {
            Op::Div(p, q) if low >= 1.0 && self.positive(q) => {
                let order = self.order(p, q, depth)?;
                let from = [order, self.range(q)?.2, x];
                self.apply(Rule::Narrow, &from, Fact::Range(a, 0.0, 0.0))
            }
            Op::Sub(p, q) if low >= 0.0 => {
                let order = self.order(p, q, depth)?;
                self.apply(Rule::Narrow, &[order, x], Fact::Range(a, 0.0, 0.0))
            }
            _ => None,
        };
        if let Some(below) = below {
            return self.apply(Rule::Apart, &[below, y], Fact::Le(a, b));
        }
        let above = match self.op(b) {
            Op::Div(p, q) if high <= 1.0 && self.positive(q) => {
                let order = self.order(q, p, depth)?;
                let from = [order, self.range(q)?.2, y];
                self.apply(Rule::Narrow, &from, Fact::Range(b, 0.0, 0.0))?
            }
            Op::Sub(p, q) if high <= 0.0 => {
                let order = self.order(q, p, depth)?;
                self.apply(Rule::Narrow, &[order, y], Fact::Range(b, 0.0, 0.0))?
            }
            _ => return None,
        };
        self.apply(Rule::Apart, &[x, above], Fact::Le(a, b))
    }

    /// Proves `a <= b` for both values of an undecided condition, if one side is an `if`.
    fn by_condition(&mut self, a: usize, b: usize, depth: usize) -> Option<FactId> {
        let condition = [a, b].into_iter().find_map(|node| match self.op(node) {
            Op::If(c, ..) if !self.state.truths.contains_key(&c) => Some(c),
            _ => None,
        })?;
        if self.conditions == MAX_CONDITIONS {
            return None;
        }
        let mut cases = Vec::new();
        self.conditions += 1;
        for value in [true, false] {
            let found = self.case(&[Fact::Holds(condition, value)], |search| {
                let cone = search.cone(&[Fact::Le(a, b), Fact::Holds(condition, value)]);
                search.refine(&cone).or_else(|| search.order(a, b, depth + 1))
            });
            cases.extend(found.map(|(_, case)| case));
        }
        self.conditions -= 1;
        (cases.len() == 2).then(|| self.draft.step(Rule::Cases, Vec::new(), Fact::Le(a, b), cases))
    }

    fn take(&mut self, a: usize, b: usize, way: Way, depth: usize) -> Option<FactId> {
        let wanted = Fact::Le(a, b);
        match way {
            Way::Rule(rule, orders, ranges) => {
                let ranges = self.ranges(&ranges)?;
                let mut from = Vec::new();
                for (x, y) in orders {
                    from.push(self.order(x, y, depth)?);
                }
                from.extend(ranges);
                self.apply(rule, &from, wanted)
            }
            Way::Left(ranges, p) => {
                let after = self.order(p, b, depth)?;
                let before = self.order_with_operand(&ranges, Fact::Le(a, p))?;
                self.apply(Rule::Trans, &[before, after], wanted)
            }
            Way::Right(ranges, p) => {
                let before = self.order(a, p, depth)?;
                let after = self.order_with_operand(&ranges, Fact::Le(p, b))?;
                self.apply(Rule::Trans, &[before, after], wanted)
            }
        }
    }

    /// The order of an operation and one of its operands; for an `if`, the condition and the chosen value are given.
    pub(super) fn order_with_operand(&mut self, nodes: &[usize], wanted: Fact) -> Option<FactId> {
        let Fact::Le(a, b) = wanted else { return None };
        let node = if nodes.last() == Some(&a) { b } else { a };
        let from = match self.op(node) {
            Op::If(c, ..) => vec![self.state.truths.get(&c)?.1, self.range(nodes[1])?.2],
            // The floor and the ceiling of an integer equal the integer.
            Op::Floor(x) if x == a => vec![self.range(x)?.2, self.whole(x)?],
            Op::Ceil(x) if x == b => vec![self.range(x)?.2, self.whole(x)?],
            _ => self.ranges(nodes)?,
        };
        self.apply(Rule::Beside, &from, wanted)
    }

    /// The derivations of `a <= b` from simpler orders that the ranges allow.
    fn ways(&mut self, a: usize, b: usize) -> Vec<Way> {
        use Way::{Left, Right, Rule as By};
        let mut ways = Vec::new();
        match (self.op(a), self.op(b)) {
            (Op::Neg(p), Op::Neg(q)) => ways.push(By(Rule::Monotone, vec![(q, p)], vec![])),
            (Op::Add(p, q), Op::Add(r, s)) => {
                ways.push(By(Rule::Monotone, vec![(p, r), (q, s)], vec![a, b]));
                ways.push(By(Rule::Monotone, vec![(p, s), (q, r)], vec![a, b]));
            }
            (Op::Sub(p, q), Op::Sub(r, s)) => ways.push(By(Rule::Monotone, vec![(p, r), (s, q)], vec![a, b])),
            (Op::Mul(p, q), Op::Mul(r, s)) => {
                for (p, q) in [(p, q), (q, p)] {
                    // p * q <= r * q <= r * s
                    for (r, s) in [(r, s), (s, r)] {
                        if self.at_least(q, 0.0) && self.at_least(r, 0.0) {
                            ways.push(By(Rule::Monotone, vec![(p, r), (q, s)], vec![q, r, a, b]));
                        }
                        if q == s && self.at_most(q, 0.0) {
                            ways.push(By(Rule::Monotone, vec![(r, p)], vec![q, a, b]));
                        }
                    }
                }
            }
            (Op::Div(p, q), Op::Div(r, s)) => {
                if q == s && self.positive(q) {
                    ways.push(By(Rule::Monotone, vec![(p, r)], vec![q, a, b]));
                }
                // p / q <= r / q <= r / s
                if self.positive(s) && self.at_least(r, 0.0) {
                    ways.push(By(Rule::Monotone, vec![(p, r), (s, q)], vec![r, s, a, b]));
                }
                if q == s && self.range(q).is_some_and(|range| range.1 < 0.0) {
                    ways.push(By(Rule::Monotone, vec![(r, p)], vec![q, a, b]));
                }
            }
            (Op::Floor(p), Op::Floor(q)) => ways.push(By(Rule::Monotone, vec![(p, q)], vec![])),
            (Op::Sqrt(p), Op::Sqrt(q)) => ways.push(By(Rule::Monotone, vec![(p, q)], vec![p])),
            (Op::Ceil(p), Op::Ceil(q)) => ways.push(By(Rule::Monotone, vec![(p, q)], vec![])),
            (Op::Pow(p, n), Op::Pow(q, m)) if n == m => {
                ways.push(By(Rule::Monotone, vec![(p, q)], vec![p, a, b]));
            }
            (Op::Pow(p, n), Op::Pow(q, m)) if p == q => {
                let (e, f) = if self.at_least(p, 1.0) { (n, m) } else { (m, n) };
                ways.push(By(Rule::Monotone, vec![(e, f)], vec![p, a, b]));
            }
            (Op::If(c, p, q), Op::If(d, r, s)) if c == d => {
                ways.push(By(Rule::Choice, vec![(p, r), (q, s)], vec![]));
            }
            _ => {}
        }
        match self.op(a) {
            Op::Min(p, q) => {
                ways.extend([Left(vec![p, q], q), Left(vec![p, q], p)]);
            }
            Op::Max(p, q) => ways.push(By(Rule::Choice, vec![(p, b), (q, b)], vec![])),
            Op::If(c, p, q) => match self.plainly(c) {
                Some(value) => {
                    let chosen = if value { p } else { q };
                    ways.push(Left(vec![c, chosen], chosen));
                }
                None => ways.push(By(Rule::Choice, vec![(p, b), (q, b)], vec![])),
            },
            Op::Pow(p, n) if self.at_least(n, 1.0) => ways.push(Left(vec![p, n, a], p)),
            Op::Floor(p) => ways.push(Left(vec![p], p)),
            Op::Ceil(p) if self.whole(p).is_some() => ways.push(Left(vec![p], p)),
            Op::Abs(p) if self.at_least(p, 0.0) => ways.push(Left(vec![p], p)),
            Op::Add(p, q) => {
                for (p, c) in [(p, q), (q, p)] {
                    if self.at_most(c, 0.0) {
                        ways.push(Left(vec![p, c, a], p));
                    }
                }
            }
            Op::Sub(p, c) if self.at_least(c, 0.0) => ways.push(Left(vec![p, c, a], p)),
            Op::Mul(p, q) => {
                ways.push(Left(vec![p, q, a], p));
                ways.push(Left(vec![q, p, a], q));
            }
            Op::Div(p, q) => ways.push(Left(vec![p, q, a], p)),
            _ => {}
        }
        match self.op(b) {
            Op::Max(p, q) => {
                ways.extend([Right(vec![p, q], q), Right(vec![p, q], p)]);
            }
            Op::Min(p, q) => ways.push(By(Rule::Choice, vec![(a, p), (a, q)], vec![])),
            Op::If(c, p, q) => match self.plainly(c) {
                Some(value) => {
                    let chosen = if value { p } else { q };
                    ways.push(Right(vec![c, chosen], chosen));
                }
                None => ways.push(By(Rule::Choice, vec![(a, p), (a, q)], vec![])),
            },
            Op::Pow(p, n) if self.at_least(n, 1.0) => ways.push(Right(vec![p, n, b], p)),
            Op::Ceil(p) => ways.push(Right(vec![p], p)),
            Op::Floor(p) if self.whole(p).is_some() => ways.push(Right(vec![p], p)),
            Op::Abs(p) => ways.push(Right(vec![p], p)),
            Op::Add(p, q) => {
                for (p, c) in [(p, q), (q, p)] {
                    if self.at_least(c, 0.0) {
                        ways.push(Right(vec![p, c, b], p));
                    }
                }
            }
            Op::Sub(p, c) if self.at_most(c, 0.0) => ways.push(Right(vec![p, c, b], p)),
            Op::Mul(p, q) => {
                ways.push(Right(vec![p, q, b], p));
                ways.push(Right(vec![q, p, b], q));
            }
            Op::Div(p, q) => ways.push(Right(vec![p, q, b], p)),
            _ => {}
        }
        ways
    }

    /// Proves `a < b`.
    fn strictly(&mut self, a: usize, b: usize, depth: usize) -> Option<FactId> {
        let (x, y) = (self.range(a)?, self.range(b)?);
        if let Some(&known) = self.state.orders.get(&(a, b, true)) {
            return known;
        }
        self.state.orders.insert((a, b, true), None);
        let wanted = Fact::Lt(a, b);
        let found = if x.1 < y.0 {
            self.apply(Rule::Apart, &[x.2, y.2], wanted)
        } else if !self.plausible(wanted) {
            None
        } else if self.shallow {
            let found = self.strictly_assumed(a, b, depth + 1);
            self.state.orders.remove(&(a, b, true));
            return found;
        } else {
            self.strictly_ordered(a, b, depth + 1)
        };
        self.state.orders.insert((a, b, true), found);
        found
    }

    /// Proves `a <= c < d <= b` with an assumption `c < d`.
    fn strictly_assumed(&mut self, a: usize, b: usize, depth: usize) -> Option<FactId> {
        for i in 0..self.state.assumed.len() {
            let (c, d, strict, known) = self.state.assumed[i];
            if !strict {
                continue;
            }
            let Some(before) = self.order(a, c, depth) else { continue };
            let Some(after) = self.order(d, b, depth) else { continue };
            let middle = self.apply(Rule::Trans, &[before, known], Fact::Lt(a, d))?;
            return self.apply(Rule::Trans, &[middle, after], Fact::Lt(a, b));
        }
        None
    }

    fn strictly_ordered(&mut self, a: usize, b: usize, depth: usize) -> Option<FactId> {
        let wanted = Fact::Lt(a, b);
        if let Some(known) = self.strictly_assumed(a, b, depth) {
            return Some(known);
        }
        if let Some((_, ratio)) = self.ratio(a, b, 0) {
            let from = [ratio, self.range(b)?.2];
            if let Some(known) = self.apply(Rule::RatioLe, &from, wanted) {
                return Some(known);
            }
        }
        if let Some(known) = self.remainder(a, b).or_else(|| self.below_one(a, b, depth)) {
            return Some(known);
        }
        if self.reals { self.by_reals(wanted) } else { None }
    }

    /// Proves `p / q < 1 <= b` from `p < q`.
    fn below_one(&mut self, a: usize, b: usize, depth: usize) -> Option<FactId> {
        let Op::Div(p, q) = self.op(a) else { return None };
        if !self.positive(q) || !self.at_least(b, 1.0) {
            return None;
        }
        let order = self.strictly(p, q, depth)?;
        let from = [order, self.range(q)?.2, self.range(a)?.2];
        let below = self.apply(Rule::Narrow, &from, Fact::Range(a, 0.0, 0.0))?;
        self.apply(Rule::Apart, &[below, self.range(b)?.2], Fact::Lt(a, b))
    }

    /// Proves `a - floor(a / b) * b < b`.
    fn remainder(&mut self, a: usize, b: usize) -> Option<FactId> {
        let Op::Sub(c, product) = self.op(a) else { return None };
        let Op::Mul(p, r) = self.op(product) else { return None };
        let Op::Floor(q) = self.op(if p == b { r } else { p }) else { return None };
        let from = [vec![self.whole(c)?, self.whole(b)?], self.ranges(&[c, b, q, product, a])?].concat();
        self.apply(Rule::Multiple, &from, Fact::Lt(a, b))
    }

    /// Proves `floor(c / l) * l <= c` or `c <= ceil(c / l) * l`.
    fn multiple(&mut self, a: usize, b: usize) -> Option<FactId> {
        for (product, c) in [(a, b), (b, a)] {
            let Op::Mul(p, r) = self.op(product) else { continue };
            for (part, l) in [(p, r), (r, p)] {
                let (Op::Floor(q) | Op::Ceil(q)) = self.op(part) else { continue };
                if self.op(q) != Op::Div(c, l) {
                    continue;
                }
                let from = [vec![self.whole(c)?, self.whole(l)?], self.ranges(&[c, l, q, product])?].concat();
                return self.apply(Rule::Multiple, &from, Fact::Le(a, b));
            }
        }
        None
    }
}

fn renumbered(steps: &mut [Step], renumber: &impl Fn(usize) -> usize) {
    for step in steps {
        for number in &mut step.from {
            *number = renumber(*number);
        }
        for case in &mut step.cases {
            renumbered(&mut case.steps, renumber);
        }
    }
}
