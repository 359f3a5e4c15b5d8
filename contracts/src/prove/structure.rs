//! Everything the structural prover knows of a graph: ranges once for all nodes, the rest when it is asked for.

use std::collections::BTreeSet;

use super::direction::{Direction, Directions};
use super::order::Order;
use super::roundoff::{Basis, Forms};
use super::scale::Scales;
use crate::graph::{Graph, Id, IdMap, Op};
use crate::number::Number;
use crate::range::{self, Range};

/// How deep an expression without a name is printed.
const SHOWN_DEPTH: usize = 4;
/// How many lines a trace has at most.
const MAX_LINES: usize = 40;

/// What a quantity of the graph can be.
#[derive(Clone, Debug)]
pub(super) struct Leaf<F> {
    pub name: String,
    pub range: Range<F>,
    /// Only whole numbers.
    pub whole: bool,
}

pub(super) struct Structure<'g, F> {
    pub graph: &'g Graph,
    leaves: Vec<Leaf<F>>,
    names: IdMap<Id, String>,
    ranges: Vec<Range<F>>,
    whole: Vec<bool>,
    directions: Directions,
    scales: Scales,
    forms: Forms,
}

impl<'g, F: Number> Structure<'g, F> {
    pub fn new(graph: &'g Graph, leaves: Vec<Leaf<F>>, names: IdMap<Id, String>) -> Self {
        let domains: Vec<Range<F>> = leaves.iter().map(|leaf| leaf.range).collect();
        let ranges = range::all(graph, &domains);
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
        Structure { graph, leaves, names, ranges, whole, directions, scales, forms }
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

    /// The rules by which the condition is true at every point where the given nodes are within their ranges.
    pub fn always(&mut self, claim: Id, given: &[(Id, Range<F>)]) -> Option<Vec<String>> {
        let mut trace = Order::new(self, claim, given).prove()?;
        shorten(&mut trace);
        Some(trace)
    }

    /// The rules by which the number never moves against the direction when the quantity grows.
    pub fn monotone(&mut self, of: Id, increasing: bool, quantity: usize) -> Option<Vec<String>> {
        let wanted = if increasing { Direction::Rises } else { Direction::Falls };
        let found = self.directions.of(self.graph, &self.ranges, of, quantity);
        if !found.is(wanted) || self.range(of).nan {
            return None;
        }
        let variable = &self.leaves[quantity].name;
        let mut trace = Vec::new();
        let mut pending = vec![of];
        let mut seen = BTreeSet::new();
        while let Some(id) = pending.pop() {
            let word = match self.directions.get(id, quantity) {
                Direction::Rises => "never falls",
                Direction::Falls => "never rises",
                _ => continue,
            };
            if self.graph.op(id) == Op::Quantity(quantity) || !seen.insert(id) || trace.len() > MAX_LINES {
                continue;
            }
            let (name, formula) = (self.show(id), self.formula(id));
            let signs: Vec<String> = (self.graph.op(id).operands())
                .filter(|_| matches!(self.graph.op(id), Op::Mul(..) | Op::Div(..) | Op::Pow(..)))
                .filter_map(|operand| self.sign(operand))
                .collect();
            let meaning = if name == formula { String::new() } else { format!(" = {formula}") };
            let signs =
                if signs.is_empty() { String::new() } else { format!(", as {}", signs.join(" and ")) };
            trace.push(format!("{name}{meaning} {word} as {variable} grows{signs}"));
            pending.extend(self.graph.op(id).operands());
        }
        if trace.is_empty() {
            let name = self.show(of);
            let stands = found == Direction::Still;
            trace.push(if stands {
                format!("{name} does not depend on {variable}")
            } else {
                format!("{name} is {variable}")
            });
        }
        shorten(&mut trace);
        Some(trace)
    }

    fn sign(&self, id: Id) -> Option<String> {
        let range = self.range(id);
        let name = self.show(id);
        match self.graph.op(id) {
            Op::Number(_) => None,
            _ if range.positive() => Some(format!("{name} > 0")),
            _ if range.at_least(0.0) => Some(format!("{name} >= 0")),
            _ if range.high < F::of(0.0) => Some(format!("{name} < 0")),
            _ if range.at_most(0.0) => Some(format!("{name} <= 0")),
            _ => None,
        }
    }

    /// A node as people read it: its name, or its formula.
    pub fn show(&self, id: Id) -> String {
        self.print(id, SHOWN_DEPTH, true)
    }

    fn formula(&self, id: Id) -> String {
        self.print(id, SHOWN_DEPTH, false)
    }

    fn print(&self, id: Id, depth: usize, by_name: bool) -> String {
        if let Some(name) = self.names.get(&id).filter(|_| by_name) {
            return name.clone();
        }
        if depth == 0 {
            return "...".into();
        }
        let inner = |id: Id| {
            let text = self.print(id, depth - 1, true);
            let atomic = text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
            if atomic || text.ends_with(')') && !text.starts_with('(') && !text.contains(' ') {
                text
            } else {
                format!("({text})")
            }
        };
        let plain = |id: Id| self.print(id, depth - 1, true);
        match self.graph.op(id) {
            Op::Number(bits) => format!("{:?}", f64::from_bits(bits)),
            Op::Quantity(index) => self.leaves[index].name.clone(),
            Op::Neg(a) => format!("-{}", inner(a)),
            Op::Add(a, b) => format!("{} + {}", inner(a), inner(b)),
            Op::Sub(a, b) => format!("{} - {}", inner(a), inner(b)),
            Op::Mul(a, b) => format!("{} * {}", inner(a), inner(b)),
            Op::Div(a, b) => format!("{} / {}", inner(a), inner(b)),
            Op::Min(a, b) => format!("min({}, {})", plain(a), plain(b)),
            Op::Max(a, b) => format!("max({}, {})", plain(a), plain(b)),
            Op::Floor(a) => format!("floor({})", plain(a)),
            Op::Ceil(a) => format!("ceil({})", plain(a)),
            Op::Pow(a, b) => format!("pow({}, {})", plain(a), plain(b)),
            Op::If(c, a, b) => format!("if {} then {} else {}", plain(c), plain(a), plain(b)),
            Op::Bool(value) => value.to_string(),
            Op::Less(a, b) => format!("{} < {}", inner(a), inner(b)),
            Op::LessEqual(a, b) => format!("{} <= {}", inner(a), inner(b)),
            Op::Equal(a, b) => format!("{} == {}", inner(a), inner(b)),
            Op::And(a, b) => format!("{} and {}", inner(a), inner(b)),
            Op::Or(a, b) => format!("{} or {}", inner(a), inner(b)),
            Op::Not(a) => format!("not {}", inner(a)),
            Op::Iff(a, b) => format!("{} iff {}", inner(a), inner(b)),
            Op::Finite(a) => format!("finite({})", plain(a)),
        }
    }
}

fn shorten(trace: &mut Vec<String>) {
    if trace.len() > MAX_LINES {
        let more = trace.len() - MAX_LINES;
        trace.truncate(MAX_LINES);
        trace.push(format!("... and {more} more steps"));
    }
}
