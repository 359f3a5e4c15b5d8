//! Which way a node moves when one quantity grows and all others stay.
//!
//! Every rounded operation is monotone in each operand, with the direction that the other operand's sign gives,
//! so directions compose along the graph; rounding can make a value stand still but never turn it around.

use std::collections::BTreeSet;

use crate::graph::{Graph, Id, IdMap, Op};
use crate::number::Number;
use crate::range::{self, Range};

/// How a node moves; weak, so `Still` is both rising and falling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Does not change.
    Still,
    /// Never falls.
    Rises,
    /// Never rises.
    Falls,
    /// Not known.
    Unknown,
}

use Direction::{Falls, Rises, Still, Unknown};

impl Direction {
    /// Is it at least this?
    pub fn is(self, wanted: Direction) -> bool {
        self == wanted || self == Still
    }

    fn and(self, other: Direction) -> Direction {
        match (self, other) {
            (Still, x) | (x, Still) => x,
            (x, y) if x == y => x,
            _ => Unknown,
        }
    }

    fn turned(self) -> Direction {
        match self {
            Rises => Falls,
            Falls => Rises,
            other => other,
        }
    }

    /// The direction of `x * factor` or the like, by the sign of the factor.
    fn by_sign<F: Number>(self, factor: Range<F>) -> Direction {
        match self {
            Still => Still,
            _ if factor.at_least(0.0) => self,
            _ if factor.at_most(0.0) => self.turned(),
            _ => Unknown,
        }
    }
}

/// The directions found so far, by node and quantity.
#[derive(Default)]
pub(super) struct Directions {
    known: IdMap<(Id, usize), Direction>,
    /// Those that only the slope of the exact value gives.
    slopes: BTreeSet<(Id, usize)>,
}

impl Directions {
    /// The direction of a node in a quantity. `slope` is asked for a node that moves with operands that move apart; it is told
    /// which nodes do not move.
    pub fn of<F: Number>(
        &mut self,
        graph: &Graph,
        ranges: &[Range<F>],
        root: Id,
        quantity: usize,
        mut slope: impl FnMut(Id, &dyn Fn(Id) -> bool) -> Direction,
    ) -> Direction {
        let mut pending = vec![root];
        while let Some(&id) = pending.last() {
            if self.known.contains_key(&(id, quantity)) {
                pending.pop();
                continue;
            }
            let before = pending.len();
            pending.extend(graph.op(id).operands().filter(|&id| !self.known.contains_key(&(id, quantity))));
            if pending.len() == before {
                let mut direction = self.step(graph.op(id), id, ranges, quantity);
                let rounded = matches!(graph.op(id), Op::Add(..) | Op::Sub(..) | Op::Mul(..) | Op::Div(..));
                if direction == Unknown && rounded && !ranges[id.index()].nan {
                    direction = slope(id, &|id| self.get(id, quantity) == Still);
                    if direction != Unknown {
                        self.slopes.insert((id, quantity));
                    }
                }
                self.known.insert((id, quantity), direction);
            }
        }
        self.get(root, quantity)
    }

    /// Whether only the exact value told the direction.
    pub fn is_by_slope(&self, id: Id, quantity: usize) -> bool {
        self.slopes.contains(&(id, quantity))
    }

    /// The direction of a node that [`Directions::of`] has visited.
    pub fn get(&self, id: Id, quantity: usize) -> Direction {
        self.known.get(&(id, quantity)).copied().unwrap_or(Unknown)
    }

    fn step<F: Number>(&self, op: Op, id: Id, ranges: &[Range<F>], quantity: usize) -> Direction {
        let way = |id: Id| self.get(id, quantity);
        let range = |id: Id| ranges[id.index()];
        if op.operands().all(|id| way(id) == Still) {
            return if op == Op::Quantity(quantity) { Rises } else { Still };
        }
        // A NaN has no order, and neither has anything that moves because of it.
        // What is required may exclude it at the two points, but not at one that has an operand of each.
        let mixed = range::step(op, range, |_| range(id));
        if range(id).nan || mixed.nan || op.operands().any(|id| range(id).nan) {
            return Unknown;
        }
        match op {
            Op::Number(_) | Op::Bool(_) | Op::Quantity(_) => Still,
            Op::Neg(a) | Op::Not(a) => way(a).turned(),
            Op::Add(a, b) | Op::Min(a, b) | Op::Max(a, b) | Op::And(a, b) | Op::Or(a, b) => {
                way(a).and(way(b))
            }
            Op::Sub(a, b) => way(a).and(way(b).turned()),
            Op::Mul(a, b) => way(a).by_sign(range(b)).and(way(b).by_sign(range(a))),
            Op::Div(a, b) if range(b).has_zero() => {
                if way(b) == Still {
                    way(a).by_sign(range(b))
                } else {
                    Unknown
                }
            }
            Op::Div(a, b) => way(a).by_sign(range(b)).and(way(b).by_sign(range(a)).turned()),
            Op::Floor(a) | Op::Ceil(a) | Op::Sqrt(a) => way(a),
            Op::Abs(a) => way(a).by_sign(range(a)),
            Op::Pow(a, _) if !range(a).at_least(0.0) => Unknown,
            Op::Pow(a, b) => {
                let by_exponent = match way(b) {
                    Still => Still,
                    other if range(a).at_least(1.0) => other,
                    other if range(a).at_most(1.0) => other.turned(),
                    _ => Unknown,
                };
                way(a).and(by_exponent)
            }
            Op::If(c, a, b) => {
                let branches = way(a).and(way(b));
                let (x, y) = (range(a), range(b));
                match way(c) {
                    Still => branches,
                    // When the condition turns true the value jumps from b to a.
                    turning if y.high <= x.low => branches.and(turning),
                    turning if x.high <= y.low => branches.and(turning.turned()),
                    _ => Unknown,
                }
            }
            Op::Less(a, b) | Op::LessEqual(a, b) => way(a).turned().and(way(b)),
            Op::Equal(..) | Op::Iff(..) | Op::Finite(_) => Unknown,
        }
    }
}
