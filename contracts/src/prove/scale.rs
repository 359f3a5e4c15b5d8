//! Powers of two: when one node is exactly another times 2^k, at every point.
//!
//! Scaling by a power of two commutes with rounding as long as no result leaves the normal numbers. The
//! smallest normal number itself is excluded: a result that rounds up to it from below lost bits there that its scaled twin kept.

use crate::graph::{Graph, Id, IdMap, Op};
use crate::number::Number;
use crate::range::Range;

/// How deep two expressions are compared.
const MAX_DEPTH: usize = 64;

/// The ratios found so far.
#[derive(Default)]
pub(super) struct Scales {
    known: IdMap<(Id, Id), Option<i32>>,
}

/// `k` where the value is `2^k`.
fn exponent(value: f64) -> Option<i32> {
    let bits = value.to_bits();
    let power = value.is_normal() && value > 0.0 && bits << 12 == 0;
    power.then(|| (bits >> 52) as i32 - 1023)
}

struct Search<'a, F> {
    known: &'a mut IdMap<(Id, Id), Option<i32>>,
    graph: &'a Graph,
    ranges: &'a [Range<F>],
}

impl Scales {
    /// `k` such that `x = 2^k * y` exactly, at every point where neither is NaN.
    pub fn ratio<F: Number>(&mut self, graph: &Graph, ranges: &[Range<F>], x: Id, y: Id) -> Option<i32> {
        Search { known: &mut self.known, graph, ranges }.ratio(x, y, 0)
    }
}

impl<F: Number> Search<'_, F> {
    fn range(&self, id: Id) -> Range<F> {
        self.ranges[id.index()]
    }

    fn constant(&self, id: Id) -> Option<f64> {
        match self.graph.op(id) {
            Op::Number(bits) => Some(F::of(f64::from_bits(bits)).to_f64()),
            _ => None,
        }
    }

    fn ratio(&mut self, x: Id, y: Id, depth: usize) -> Option<i32> {
        if x == y {
            return Some(0);
        }
        if let Some(&known) = self.known.get(&(x, y)) {
            return known;
        }
        if depth > MAX_DEPTH || self.range(x).nan || self.range(y).nan {
            return None;
        }
        let found = self.search(x, y, depth + 1);
        self.known.insert((x, y), found);
        found
    }

    fn search(&mut self, x: Id, y: Id, depth: usize) -> Option<i32> {
        if let (Some(a), Some(b)) = (self.constant(x), self.constant(y)) {
            // The quotient of equal significands is a power of two, and no other is, unless it was rounded.
            return if a == b {
                Some(0)
            } else {
                exponent(a / b).filter(|_| a / b * b == a && a.is_normal() && b.is_normal())
            };
        }
        let same = match (self.graph.op(x), self.graph.op(y)) {
            (Op::Neg(a), Op::Neg(b)) => self.ratio(a, b, depth),
            (Op::Mul(a, b), Op::Mul(c, d)) => (self.both(a, c, b, d, depth))
                .or_else(|| self.both(a, d, b, c, depth))
                .map(|(j, k)| j + k)
                .filter(|&k| self.rounds_alike(x, y, k)),
            // Equal zeros may differ in sign, and divide into opposite infinities.
            (Op::Div(a, b), Op::Div(c, d)) if b == d || !self.range(b).has_zero() => {
                (self.both(a, c, b, d, depth)).map(|(j, k)| j - k).filter(|&k| self.rounds_alike(x, y, k))
            }
            (Op::Add(a, b), Op::Add(c, d)) => {
                let equal = |&(j, k): &(i32, i32)| j == k;
                (self.both(a, c, b, d, depth).filter(equal))
                    .or_else(|| self.both(a, d, b, c, depth).filter(equal))
                    .map(|(k, _)| k)
                    .filter(|&k| self.sums_alike(x, y, k))
            }
            (Op::Sub(a, b), Op::Sub(c, d)) => (self.both(a, c, b, d, depth))
                .filter(|(j, k)| j == k)
                .map(|(k, _)| k)
                .filter(|&k| self.sums_alike(x, y, k)),
            (Op::Min(a, b), Op::Min(c, d)) | (Op::Max(a, b), Op::Max(c, d)) => {
                let equal = |&(j, k): &(i32, i32)| j == k;
                let ordered = [a, b, c, d].iter().all(|&id| !self.range(id).nan);
                (self.both(a, c, b, d, depth).filter(equal))
                    .or_else(|| self.both(a, d, b, c, depth).filter(equal))
                    .filter(|_| ordered)
                    .map(|(k, _)| k)
            }
            (Op::Abs(a), Op::Abs(b)) => self.ratio(a, b, depth),
            (Op::Sqrt(a), Op::Sqrt(b)) => (self.ratio(a, b, depth).filter(|k| k % 2 == 0))
                .map(|k| k / 2)
                .filter(|&k| self.rounds_alike(x, y, k)),
            (Op::Floor(a), Op::Floor(b)) | (Op::Ceil(a), Op::Ceil(b)) => {
                self.ratio(a, b, depth).filter(|&k| k == 0)
            }
            (Op::Pow(a, b), Op::Pow(c, d)) => {
                self.both(a, c, b, d, depth).filter(|&both| both == (0, 0)).map(|_| 0)
            }
            (Op::If(c, a, b), Op::If(d, e, f)) if self.same_truth(c, d, depth) => {
                self.both(a, e, b, f, depth).filter(|(j, k)| j == k).map(|(k, _)| k)
            }
            _ => None,
        };
        if same.is_some() {
            return same;
        }
        if let Some((inner, j)) = self.scaled(x)
            && let Some(k) = self.ratio(inner, y, depth)
        {
            return Some(k + j);
        }
        let (inner, j) = self.scaled(y)?;
        self.ratio(x, inner, depth).map(|k| k - j)
    }

    fn both(&mut self, a: Id, c: Id, b: Id, d: Id, depth: usize) -> Option<(i32, i32)> {
        Some((self.ratio(a, c, depth)?, self.ratio(b, d, depth)?))
    }

    /// Equal exact results round equally; scaled ones do among normal numbers.
    fn rounds_alike(&self, x: Id, y: Id, k: i32) -> bool {
        k == 0 || self.range(x).normal() && self.range(y).normal()
    }

    /// Sums never lose bits below the normal numbers, so only overflow can tell them apart.
    fn sums_alike(&self, x: Id, y: Id, k: i32) -> bool {
        k == 0 || self.range(x).finite() && self.range(y).finite()
    }

    /// `x` as `inner * 2^j`, where that multiplication or division is exact.
    fn scaled(&self, x: Id) -> Option<(Id, i32)> {
        let (inner, j) = match self.graph.op(x) {
            Op::Mul(a, b) => match (self.constant(a), self.constant(b)) {
                (_, Some(factor)) => (a, exponent(factor)?),
                (Some(factor), _) => (b, exponent(factor)?),
                _ => return None,
            },
            Op::Div(a, b) => (a, -exponent(self.constant(b)?)?),
            _ => return None,
        };
        let exact = self.range(x).normal() || j >= 0 && self.range(x).finite();
        exact.then_some((inner, j))
    }

    fn same_truth(&mut self, x: Id, y: Id, depth: usize) -> bool {
        if x == y {
            return true;
        }
        if depth > MAX_DEPTH {
            return false;
        }
        match (self.graph.op(x), self.graph.op(y)) {
            (Op::Less(a, b), Op::Less(c, d))
            | (Op::LessEqual(a, b), Op::LessEqual(c, d))
            | (Op::Equal(a, b), Op::Equal(c, d)) => {
                let ordered = [a, b, c, d].iter().all(|&id| !self.range(id).nan);
                ordered && self.both(a, c, b, d, depth + 1).is_some_and(|(j, k)| j == k)
            }
            (Op::And(a, b), Op::And(c, d))
            | (Op::Or(a, b), Op::Or(c, d))
            | (Op::Iff(a, b), Op::Iff(c, d)) => {
                self.same_truth(a, c, depth + 1) && self.same_truth(b, d, depth + 1)
            }
            (Op::Not(a), Op::Not(b)) => self.same_truth(a, b, depth + 1),
            _ => false,
        }
    }
}
