//! Everything the structural prover knows of a graph: ranges once for all nodes, the rest when it is asked for.

use std::collections::BTreeSet;

use super::direction::{Direction, Directions};
pub(super) use super::exact::Monotone;
use super::exact::{Choices, Exacts};
use super::order::Order;
use super::roundoff::{Basis, Forms};
use super::scale::Scales;
use super::trace::{Step, Stuck, Trace};
use crate::graph::{Graph, Id, IdMap, Op};
use crate::number::Number;
use crate::range::{self, Fact, Range};

/// The most quantities and nodes of a value whose range is looked for at its corners.
const MAX_SUPPORT: usize = 4;
const MAX_TIGHT: usize = 40;
/// The most nodes of a claim whose ranges are narrowed.
const MAX_SHARP: usize = 300;

/// What a quantity of the graph can be.
#[derive(Clone, Debug)]
pub(super) struct Leaf<F> {
    pub range: Range<F>,
    /// Only whole numbers.
    pub whole: bool,
}

/// How much is tried for a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effort {
    /// The rules that take no time.
    Plain,
    /// Exact values too.
    Exact,
}

pub(super) struct Structure<'g, F> {
    pub graph: &'g Graph,
    leaves: Vec<Leaf<F>>,
    ranges: Vec<Range<F>>,
    /// Conditions that every point meets; the ranges have taken note of them.
    pub required: Vec<Id>,
    whole: Vec<bool>,
    directions: Directions,
    scales: Scales,
    forms: Forms,
    exacts: Exacts,
    /// The nodes whose ranges have been narrowed by exact values.
    sharp: BTreeSet<Id>,
    /// Where the last claim that was not proven got stuck.
    pub stuck: Option<Stuck>,
}

impl<'g, F: Number> Structure<'g, F> {
    /// What there is to know of a graph at the points where all of `required` is true.
    pub fn new(graph: &'g Graph, leaves: Vec<Leaf<F>>, required: Vec<Id>) -> Self {
        let domains: Vec<Range<F>> = leaves.iter().map(|leaf| leaf.range).collect();
        let ranges = range::all(graph, &domains, &required);
        let mut whole: Vec<bool> = Vec::with_capacity(graph.ops().len());
        for &op in graph.ops() {
            let at = |id: Id| whole[id.index()];
            let value = match op {
                Op::Number(bits) => F::of(f64::from_bits(bits)).to_f64() % 1.0 == 0.0,
                Op::Quantity(index) => leaves[index].whole,
                Op::Neg(a) | Op::Abs(a) => at(a),
                Op::Add(a, b) | Op::Sub(a, b) | Op::Mul(a, b) | Op::Min(a, b) | Op::Max(a, b) => {
                    at(a) && at(b)
                }
                Op::If(_, a, b) => at(a) && at(b),
                Op::Pow(a, _) => at(a),
                Op::Floor(_) | Op::Ceil(_) => true,
                _ => false,
            };
            whole.push(value);
        }
        let (directions, scales, forms, exacts) = Default::default();
        let sharp = BTreeSet::new();
        Structure {
            graph,
            leaves,
            ranges,
            required,
            whole,
            directions,
            scales,
            forms,
            exacts,
            sharp,
            stuck: None,
        }
    }

    /// Ranges by monotonicity, of the nodes under a claim: what depends on a quantity in two places, but moves one way with each
    /// quantity, has its limits where they have theirs; what is linear in each has them at some corner.
    fn sharpen(&mut self, claim: Id) {
        let Some(cone) = self.cone(claim, MAX_SHARP) else { return };
        // Directions that were not known may be now.
        self.directions = Directions::default();
        let mut support: IdMap<Id, BTreeSet<usize>> = IdMap::default();
        let mut changed: BTreeSet<Id> = BTreeSet::new();
        for id in cone {
            let op = self.graph.op(id);
            let all: BTreeSet<usize> = match op {
                Op::Quantity(quantity) => BTreeSet::from([quantity]),
                _ => op.operands().flat_map(|operand| support[&operand].iter().copied()).collect(),
            };
            let before = self.range(id);
            if op.operands().any(|operand| changed.contains(&operand)) {
                let new = range::step(op, |id| self.ranges[id.index()], |index| self.leaves[index].range);
                self.ranges[id.index()] = new.within(before);
            }
            if let Op::Div(a, b) | Op::Sub(a, b) | Op::Mul(a, b) | Op::Add(a, b) = op
                && a != b
                && all.len() <= MAX_SUPPORT
                && !support[&a].is_disjoint(&support[&b])
                && before.finite()
                && self.sharp.insert(id)
                && let Some(new) = self.corners(id, &all).or_else(|| self.limits(id))
            {
                self.ranges[id.index()] = new.within(self.range(id));
            }
            if self.range(id) != before {
                changed.insert(id);
            }
            support.insert(id, all);
        }
        if !changed.is_empty() {
            // What was found with wider ranges is true, but less than can be found now.
            (self.directions, self.exacts) = Default::default();
        }
    }

    /// The range of a node from its exact value.
    fn limits(&mut self, id: Id) -> Option<Range<F>> {
        let basis = Basis { graph: self.graph, ranges: &self.ranges, whole: &self.whole };
        let (low, high) = self.exacts.limits(basis, id)?;
        Some(Range::new(F::of(low).next_down().next_down(), F::of(high).next_up().next_up()))
    }

    /// The range of a node that moves one way with each of these quantities.
    fn corners(&mut self, id: Id, support: &BTreeSet<usize>) -> Option<Range<F>> {
        // A corner may not meet what is required, and then says nothing of points that do.
        let cone = self.cone(id, MAX_TIGHT).filter(|_| self.required.is_empty())?;
        let mut rises = Vec::new();
        for &quantity in support {
            match self.direction(id, quantity, Effort::Exact) {
                Direction::Still => {}
                Direction::Rises => rises.push((quantity, true)),
                Direction::Falls => rises.push((quantity, false)),
                Direction::Unknown => return None,
            }
        }
        let at = |upper: bool| {
            let mut values: IdMap<Id, Range<F>> = IdMap::default();
            for &node in &cone {
                let domain = |quantity: usize| {
                    let range = self.leaves[quantity].range;
                    let rising =
                        rises.iter().find(|(known, _)| *known == quantity).map(|(_, rising)| *rising);
                    match rising {
                        Some(rising) if rising == upper => Range::new(range.high, range.high),
                        Some(_) => Range::new(range.low, range.low),
                        None => range,
                    }
                };
                let value = range::step(self.graph.op(node), |id| values[&id], domain);
                values.insert(node, value.within(self.ranges[node.index()]));
            }
            values[&id]
        };
        let (least, most) = (at(false), at(true));
        (!least.nan && !most.nan).then(|| Range::new(least.low, most.high))
    }

    pub fn range(&self, id: Id) -> Range<F> {
        self.ranges[id.index()]
    }

    /// Its finite values are whole numbers.
    pub fn whole(&self, id: Id) -> bool {
        self.whole[id.index()]
    }

    pub fn domain(&self, quantity: usize) -> Range<F> {
        self.leaves[quantity].range
    }

    /// `k` such that `x = 2^k * y` at every point.
    pub fn ratio(&mut self, x: Id, y: Id) -> Option<i32> {
        self.scales.ratio(self.graph, &self.ranges, x, y)
    }

    /// `x <= y` (or `x < y`) by counting roundings.
    pub fn within(&mut self, x: Id, y: Id, strict: bool) -> bool {
        let basis = Basis { graph: self.graph, ranges: &self.ranges, whole: &self.whole };
        self.forms.at_most(basis, x, y, strict)
    }

    /// `x <= y` wherever `c <= d`, by counting roundings.
    pub fn within_given(&mut self, x: Id, y: Id, c: Id, d: Id, tolerance: f64) -> bool {
        let basis = Basis { graph: self.graph, ranges: &self.ranges, whole: &self.whole };
        self.forms.at_most_given(basis, [x, y, c, d], tolerance)
    }

    /// Asks the exact values, where choices are made.
    pub fn exact<T>(&mut self, choices: Choices, ask: impl Fn(&mut Exacts, Basis<'_, F>) -> T) -> T {
        let basis = Basis { graph: self.graph, ranges: &self.ranges, whole: &self.whole };
        // What is known without choices is kept.
        if choices.is_empty() {
            ask(&mut self.exacts, basis)
        } else {
            ask(&mut Exacts::chosen(choices), basis)
        }
    }

    /// The nodes under `root`, itself included, operands first; none if there are more than `most`.
    pub fn cone(&self, root: Id, most: usize) -> Option<Vec<Id>> {
        self.graph.cone(&[root], most)
    }

    /// What conditions say of the order of values where they are all true.
    pub fn facts(&self, conditions: &[Id]) -> Vec<Fact> {
        range::all_facts(self.graph, &self.ranges, conditions)
    }

    /// The steps by which the condition is true at every point where the given nodes are within their ranges and what is
    /// assumed is true, beside what is required.
    pub fn always(
        &mut self,
        claim: Id,
        given: &[(Id, Range<F>)],
        assumed: &[Id],
        effort: Effort,
    ) -> Option<Trace> {
        if effort == Effort::Exact {
            self.sharpen(claim);
        }
        match Order::new(self, claim, given, assumed, effort).prove() {
            Ok(trace) => Some(trace),
            Err(facts) => {
                self.stuck = facts.map(Stuck::Case);
                None
            }
        }
    }

    /// The steps by which the number never moves against the direction when the quantity grows.
    pub fn monotone(&mut self, claim: Monotone, effort: Effort) -> Option<Trace> {
        let Monotone { of, increasing, quantity, within } = claim;
        if effort == Effort::Exact {
            self.sharpen(of);
        }
        let wanted = if increasing { Direction::Rises } else { Direction::Falls };
        let found = self.direction(of, quantity, effort);
        if self.range(of).nan {
            return None;
        }
        let mut trace = Trace::default();
        if !found.is(wanted) {
            self.stuck = self.turns(of, quantity);
        }
        if !found.is(wanted) && effort == Effort::Plain {
            return None;
        }
        if !found.is(wanted) {
            let basis = Basis { graph: self.graph, ranges: &self.ranges, whole: &self.whole };
            let still = |id: Id| self.directions.get(id, quantity) == Direction::Still;
            let facts = range::all_facts(self.graph, &self.ranges, &self.required);
            self.exacts.monotone(basis, claim, &facts, still)?;
            trace.say(0, Step::Slope { id: of, rises: increasing, quantity, within: within > 0.0 });
            return Some(trace);
        }
        let mut pending = vec![of];
        let mut seen = BTreeSet::new();
        while let Some(id) = pending.pop() {
            let direction = self.directions.get(id, quantity);
            if self.directions.is_by_slope(id, quantity) {
                let rises = direction == Direction::Rises;
                trace.say(0, Step::Slope { id, rises, quantity, within: false });
                continue;
            }
            let moves = matches!(direction, Direction::Rises | Direction::Falls);
            if !moves || self.graph.op(id) == Op::Quantity(quantity) || !seen.insert(id) {
                continue;
            }
            let signs = (self.graph.op(id).operands())
                .filter(|_| matches!(self.graph.op(id), Op::Mul(..) | Op::Div(..) | Op::Pow(..)))
                .filter_map(|operand| Some((operand, self.sign(operand)?)))
                .collect();
            trace.say(0, Step::Moves { id, rises: direction == Direction::Rises, quantity, signs });
            if trace.is_full() {
                break;
            }
            pending.extend(self.graph.op(id).operands());
        }
        if trace.is_empty() {
            let still = found == Direction::Still;
            trace.say(0, if still { Step::Still(of, quantity) } else { Step::Is(of, quantity) });
        }
        Some(trace)
    }

    /// The deepest node whose direction is not known though those of its operands are.
    fn turns(&self, of: Id, quantity: usize) -> Option<Stuck> {
        let unknown = |id: &Id| self.directions.get(*id, quantity) == Direction::Unknown;
        let mut id = Some(of).filter(unknown)?;
        while let Some(operand) = self.graph.op(id).operands().find(unknown) {
            id = operand;
        }
        let way = |id: Id| match self.directions.get(id, quantity) {
            Direction::Rises => Some((id, "never falls")),
            Direction::Falls => Some((id, "never rises")),
            _ => None,
        };
        Some(Stuck::Turn(id, quantity, self.graph.op(id).operands().filter_map(way).collect()))
    }

    /// Which way a node moves as a quantity grows.
    fn direction(&mut self, of: Id, quantity: usize, effort: Effort) -> Direction {
        let basis = Basis { graph: self.graph, ranges: &self.ranges, whole: &self.whole };
        let exacts = &mut self.exacts;
        let facts = if effort == Effort::Plain {
            vec![]
        } else {
            range::all_facts(self.graph, &self.ranges, &self.required)
        };
        self.directions.of(self.graph, &self.ranges, of, quantity, |id, still| {
            if effort == Effort::Plain {
                return Direction::Unknown;
            }
            let mut slope = |increasing: bool| {
                let claim = Monotone { of: id, increasing, quantity, within: 0.0 };
                exacts.monotone(basis, claim, &facts, still).is_some()
            };
            if slope(true) {
                Direction::Rises
            } else if slope(false) {
                Direction::Falls
            } else {
                Direction::Unknown
            }
        })
    }

    /// What the range says of a value against zero.
    fn sign(&self, id: Id) -> Option<&'static str> {
        let range = self.range(id);
        match self.graph.op(id) {
            Op::Number(_) => None,
            _ if range.positive() => Some("> 0"),
            _ if range.at_least(0.0) => Some(">= 0"),
            _ if range.high < F::of(0.0) => Some("< 0"),
            _ if range.at_most(0.0) => Some("<= 0"),
            _ => None,
        }
    }
}
