//! Everything the structural prover knows of a graph: ranges once for all nodes, the rest when it is asked for.

use std::collections::BTreeSet;

use super::direction::{Direction, Directions};
use super::order::Order;
use super::roundoff::{Basis, Forms};
use super::scale::Scales;
use super::trace::{Step, Trace};
use crate::graph::{Graph, Id, Op};
use crate::number::Number;
use crate::range::{self, Fact, Range};

/// What a quantity of the graph can be.
#[derive(Clone, Debug)]
pub(super) struct Leaf<F> {
    pub range: Range<F>,
    /// Only whole numbers.
    pub whole: bool,
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
                Op::Neg(a) => at(a),
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
        let (directions, scales, forms) = Default::default();
        Structure { graph, leaves, ranges, required, whole, directions, scales, forms }
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
    pub fn within_given(&mut self, x: Id, y: Id, c: Id, d: Id) -> bool {
        let basis = Basis { graph: self.graph, ranges: &self.ranges, whole: &self.whole };
        self.forms.at_most_given(basis, [x, y, c, d])
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
    pub fn always(&mut self, claim: Id, given: &[(Id, Range<F>)], assumed: &[Id]) -> Option<Trace> {
        Order::new(self, claim, given, assumed).prove()
    }

    /// The steps by which the number never moves against the direction when the quantity grows.
    pub fn monotone(&mut self, of: Id, increasing: bool, quantity: usize) -> Option<Trace> {
        let wanted = if increasing { Direction::Rises } else { Direction::Falls };
        let found = self.directions.of(self.graph, &self.ranges, of, quantity);
        if !found.is(wanted) || self.range(of).nan {
            return None;
        }
        let mut trace = Trace::default();
        let mut pending = vec![of];
        let mut seen = BTreeSet::new();
        while let Some(id) = pending.pop() {
            let direction = self.directions.get(id, quantity);
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
