//! Sample points of the domains: facts that are false at one of them need no proof attempt.

use roofline_checker::{Domain, Fact, Op};

use crate::number::pow;
use crate::sample::{Random, key, unkey};

/// Number of points.
const POINTS: usize = 40;

/// The values of nodes at sample points; conditions are 0 or 1.
#[derive(Default)]
pub(super) struct Points {
    values: Vec<Vec<f64>>,
}

impl Points {
    /// Samples the domains and evaluates some nodes; `moved` is a quantity and its second value, which is not smaller.
    pub fn new(nodes: &[Op], some: &[usize], quantities: &[Domain], moved: Option<(usize, usize)>) -> Points {
        let mut random = Random(0x706f_696e_7473);
        let values = (0..POINTS).map(|_| {
            let mut point: Vec<f64> = quantities.iter().map(|domain| member(domain, &mut random)).collect();
            if let Some((first, second)) = moved.filter(|&(first, second)| point[second] < point[first]) {
                point.swap(first, second);
            }
            evaluate(nodes, some, &point)
        });
        Points { values: values.collect() }
    }

    /// The numbers of all points.
    pub fn all(&self) -> Vec<usize> {
        (0..self.values.len()).collect()
    }

    /// The smallest and the largest value of a node at some points.
    pub fn limits(&self, points: &[usize], node: usize) -> (f64, f64) {
        let values = points.iter().map(|&point| self.values[point][node]);
        values
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
    }

    /// The quotient of two nodes at a point; none if either is 0 or not finite.
    pub fn ratio(&self, point: usize, x: usize, y: usize) -> Option<f64> {
        let (x, y) = (self.values[point][x], self.values[point][y]);
        (x.is_normal() && y.is_normal()).then_some(x / y)
    }

    /// False if the values at a point contradict a fact.
    pub fn holds(&self, point: usize, fact: Fact) -> bool {
        let at = |node: usize| self.values[point][node];
        match fact {
            Fact::Range(a, low, high) => low <= at(a) && at(a) <= high,
            Fact::Le(a, b) => at(a) <= at(b),
            Fact::Lt(a, b) => at(a) < at(b),
            Fact::Holds(a, value) => (at(a) != 0.0) == value,
            Fact::Ratio(a, b, k) => at(a) == at(b) * f64::powi(2.0, k),
            Fact::Whole(a) => at(a) == at(a).floor(),
            Fact::Absurd => false,
        }
    }
}

fn member(domain: &Domain, random: &mut Random) -> f64 {
    let value = match random.below(6) {
        0 => domain.low,
        1 => domain.high,
        2 => domain.low + (domain.high - domain.low) * ((random.next() >> 11) as f64 * f64::powi(2.0, -53)),
        _ => {
            let (low, high) = (key(domain.low) as i128, key(domain.high) as i128);
            unkey((low + (random.next() as i128) % (high - low + 1)) as i64)
        }
    };
    let value = if domain.whole { value.round() } else { value };
    value.clamp(domain.low, domain.high)
}

fn evaluate(nodes: &[Op], some: &[usize], point: &[f64]) -> Vec<f64> {
    let mut values = vec![f64::NAN; nodes.len()];
    for &node in some {
        let at = |node: usize| values[node];
        let truth = |value: bool| f64::from(u8::from(value));
        values[node] = match nodes[node] {
            Op::Number(value) => value,
            Op::Quantity(index) => point[index],
            Op::Neg(a) => -at(a),
            Op::Add(a, b) => at(a) + at(b),
            Op::Sub(a, b) => at(a) - at(b),
            Op::Mul(a, b) => at(a) * at(b),
            Op::Div(a, b) => at(a) / at(b),
            Op::Min(a, b) => {
                if at(a) < at(b) {
                    at(a)
                } else {
                    at(b)
                }
            }
            Op::Max(a, b) => {
                if at(a) > at(b) {
                    at(a)
                } else {
                    at(b)
                }
            }
            Op::Floor(a) => at(a).floor(),
            Op::Ceil(a) => at(a).ceil(),
            Op::Sqrt(a) => at(a).sqrt(),
            Op::Abs(a) => at(a).abs(),
            Op::Pow(a, b) => pow(at(a), at(b)),
            Op::If(c, a, b) => {
                if at(c) != 0.0 {
                    at(a)
                } else {
                    at(b)
                }
            }
            Op::Bool(value) => truth(value),
            Op::Less(a, b) => truth(at(a) < at(b)),
            Op::LessEqual(a, b) => truth(at(a) <= at(b)),
            Op::Equal(a, b) => truth(at(a) == at(b)),
            Op::And(a, b) => at(a).min(at(b)),
            Op::Or(a, b) => at(a).max(at(b)),
            Op::Not(a) => 1.0 - at(a),
            Op::Iff(a, b) => truth(at(a) == at(b)),
            Op::Finite(a) => truth(at(a).is_finite()),
        };
    }
    values
}
