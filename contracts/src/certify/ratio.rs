//! Powers of two: nodes that are exactly 2^k times another node.

use roofline_checker::{Fact, Op, Rule};

use super::proof_builder::FactId;
use super::search::Search;

/// Maximum depth at which two expressions are compared.
const MAX_DEPTH: usize = 64;

impl Search<'_> {
    /// Finds `k` and the fact that `x = 2^k y`.
    pub(super) fn ratio(&mut self, x: usize, y: usize, depth: usize) -> Option<(i32, FactId)> {
        if let Some(&known) = self.ratios.get(&(x, y)) {
            return known;
        }
        if depth > MAX_DEPTH || self.range(x).is_none() || self.range(y).is_none() {
            return None;
        }
        self.ratios.insert((x, y), None);
        if !self.in_one_ratio(x, y) {
            return None;
        }
        let found = self.find_ratio(x, y, depth + 1);
        self.ratios.insert((x, y), found);
        found
    }

    fn ratio_step(&mut self, rule: Rule, from: &[FactId], x: usize, y: usize) -> Option<(i32, FactId)> {
        let known = self.apply(rule, from, Fact::Ratio(x, y, 0))?;
        match self.fact(known) {
            Fact::Ratio(_, _, k) => Some((k, known)),
            _ => None,
        }
    }

    fn find_ratio(&mut self, x: usize, y: usize, depth: usize) -> Option<(i32, FactId)> {
        if x == y {
            let range = self.range(x)?;
            return self.ratio_step(Rule::Ratio, &[range.2], x, y);
        }
        let same = match (self.op(x), self.op(y)) {
            (Op::Number(_), Op::Number(_)) => {
                let ranges = self.ranges(&[x, y])?;
                return self.ratio_step(Rule::Ratio, &ranges, x, y);
            }
            (Op::Neg(a), Op::Neg(b)) => {
                let (_, ratio) = self.ratio(a, b, depth)?;
                self.ratio_step(Rule::RatioOf, &[ratio], x, y)
            }
            (Op::Mul(a, b), Op::Mul(c, d)) => (self.ratio_of_two([x, y], [(a, c), (b, d)], depth))
                .or_else(|| self.ratio_of_two([x, y], [(a, d), (b, c)], depth)),
            (Op::Add(a, b), Op::Add(c, d)) => (self.ratio_of_two([x, y], [(a, c), (b, d)], depth))
                .or_else(|| self.ratio_of_two([x, y], [(a, d), (b, c)], depth)),
            (Op::Div(a, b), Op::Div(c, d)) => self.ratio_of_two([x, y], [(a, c), (b, d)], depth),
            (Op::Sub(a, b), Op::Sub(c, d)) => self.ratio_of_two([x, y], [(a, c), (b, d)], depth),
            (Op::Min(a, b), Op::Min(c, d)) => self.ratio_of_two([x, y], [(a, c), (b, d)], depth),
            (Op::Max(a, b), Op::Max(c, d)) => self.ratio_of_two([x, y], [(a, c), (b, d)], depth),
            _ => None,
        };
        if same.is_some() {
            return same;
        }
        if let Some((inner, scale)) = self.scaled(x)
            && let Some((_, rest)) = self.ratio(inner, y, depth)
        {
            return self.ratio_step(Rule::RatioTrans, &[scale, rest], x, y);
        }
        let (inner, scale) = self.scaled(y)?;
        let (_, rest) = self.ratio(x, inner, depth)?;
        let (_, back) = self.ratio_step(Rule::RatioTrans, &[scale], inner, y)?;
        self.ratio_step(Rule::RatioTrans, &[rest, back], x, y)
    }

    fn ratio_of_two(
        &mut self,
        [x, y]: [usize; 2],
        pairs: [(usize, usize); 2],
        depth: usize,
    ) -> Option<(i32, FactId)> {
        let (_, first) = self.ratio(pairs[0].0, pairs[0].1, depth)?;
        let (_, second) = self.ratio(pairs[1].0, pairs[1].1, depth)?;
        let mut from = vec![first, second];
        if !matches!(self.op(x), Op::Min(..) | Op::Max(..)) {
            from.extend(self.ranges(&[x, y])?);
        }
        self.ratio_step(Rule::RatioOf, &from, x, y)
    }

    /// `x` as `inner * 2^j`.
    fn scaled(&mut self, x: usize) -> Option<(usize, FactId)> {
        let (inner, factor) = match self.op(x) {
            Op::Mul(a, b) if matches!(self.op(b), Op::Number(_)) => (a, b),
            Op::Mul(a, b) if matches!(self.op(a), Op::Number(_)) => (b, a),
            Op::Div(a, b) => (a, b),
            _ => return None,
        };
        let from = self.ranges(&[inner, factor, x])?;
        self.ratio_step(Rule::RatioScale, &from, x, inner).map(|(_, known)| (inner, known))
    }
}
