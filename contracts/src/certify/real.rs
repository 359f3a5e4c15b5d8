//! Orders and ranges by real arithmetic: selects the facts for the checker and the anchor of each value.

use std::collections::{BTreeSet, VecDeque};

use roofline_checker::{Fact, Op, Rule, conclude};

use super::proof_builder::FactId;
use super::search::Search;

/// Maximum number of nodes that a comparison expands, and of its values with an anchor.
const MAX_NODES: usize = 60;
const MAX_VALUES: usize = 8;
/// Depths to which values are expanded, tried in order.
const LEVELS: [usize; 4] = [2, 3, 5, 40];
/// A large upper limit, used if only the lower limit matters.
const MAX_MAGNITUDE: f64 = 1e307;
/// Maximum number of anchor combinations tried per proof.
const MAX_TRIES: usize = 500;

/// The anchor from which a value is expressed as a non-negative offset.
#[derive(Clone, Copy, Debug)]
enum Anchor {
    /// Zero, which the widened range includes.
    Zero(FactId, FactId),
    /// Its lower limit.
    Below(FactId),
    /// Its upper limit.
    Above(FactId),
    /// Another node with a known order to it.
    Near(usize, FactId),
}

impl Search<'_> {
    /// Proves `a <= b`, `a < b` or a range from facts about their operands.
    pub(super) fn by_reals(&mut self, wanted: Fact) -> Option<FactId> {
        let roots: Vec<usize> = match wanted {
            Fact::Le(a, b) | Fact::Lt(a, b) => vec![a, b],
            Fact::Range(a, ..) => vec![a],
            _ => return None,
        };
        let mut before = Vec::new();
        for level in LEVELS {
            let values = self.values_under(&roots, level).unwrap_or_default();
            if !values.is_empty() && values != before {
                let found = self.by_values(&roots, &values, wanted);
                if found.is_some() {
                    return found;
                }
                before = values;
            }
        }
        None
    }

    fn by_values(&mut self, roots: &[usize], values: &[usize], wanted: Fact) -> Option<FactId> {
        let mut anchors = Vec::new();
        for &value in values {
            anchors.push((value, self.anchors(value)?));
        }
        let first = vec![0; anchors.len()];
        let from_end = |back: usize| anchors.iter().map(|(_, all)| all.len().saturating_sub(back)).collect();
        // Use the default anchors, then change one value at a time.
        let ways: [Vec<usize>; 4] = [first, from_end(2), from_end(1), from_end(3)];
        let mut tried = BTreeSet::new();
        for flip in [false, true] {
            for way in &ways {
                let flips = anchors
                    .iter()
                    .enumerate()
                    .flat_map(|(i, (_, all))| (0..all.len()).map(move |to| (i, to)));
                for (at, to) in flips.take(if flip { usize::MAX } else { 1 }) {
                    let mut choice = way.clone();
                    if flip {
                        choice[at] = to;
                    }
                    if !tried.insert(choice.clone()) {
                        continue;
                    }
                    self.tries += 1;
                    if self.tries > MAX_TRIES {
                        return None;
                    }
                    if let Some(found) = self.try_reals(roots, &anchors, &choice, wanted) {
                        return Some(found);
                    }
                }
            }
        }
        None
    }

    fn try_reals(
        &mut self,
        roots: &[usize],
        anchors: &[(usize, Vec<Anchor>)],
        choice: &[usize],
        wanted: Fact,
    ) -> Option<FactId> {
        let chosen = |node: usize| {
            let at = anchors.iter().position(|(value, _)| *value == node)?;
            Some(anchors[at].1[choice[at]])
        };
        let mut given = Vec::new();
        let mut done = BTreeSet::new();
        for &root in roots {
            self.give(root, &chosen, &mut given, &mut done, &mut BTreeSet::new())?;
        }
        let facts: Vec<Fact> = given.iter().map(|&known| self.fact(known)).collect();
        conclude(&self.nodes, &self.quantities, Rule::Reals, &facts, wanted)?;
        self.apply(Rule::Reals, &given, wanted)
    }

    /// Adds the facts about a node, after those about its operands and its anchor.
    fn give(
        &mut self,
        node: usize,
        chosen: &dyn Fn(usize) -> Option<Anchor>,
        given: &mut Vec<FactId>,
        done: &mut BTreeSet<usize>,
        open: &mut BTreeSet<usize>,
    ) -> Option<()> {
        if done.contains(&node) {
            return Some(());
        }
        if !open.insert(node) {
            return None;
        }
        match chosen(node) {
            Some(Anchor::Zero(wide, range)) => given.extend([wide, range]),
            Some(Anchor::Below(range)) => given.push(range),
            Some(Anchor::Above(range)) => given.extend([range, range]),
            Some(Anchor::Near(other, order)) => {
                self.give(other, chosen, given, done, open)?;
                given.extend([order, self.range(node)?.2]);
            }
            None => {
                let (low, high, range) = self.range(node)?;
                if low != high {
                    for operand in self.op(node).operands() {
                        self.give(operand, chosen, given, done, open)?;
                    }
                    if let Op::Add(a, b) | Op::Sub(a, b) | Op::Mul(a, b) = self.op(node)
                        && let (Some(a), Some(b)) = (self.whole(a), self.whole(b))
                    {
                        given.extend([a, b]);
                    }
                }
                given.push(range);
            }
        }
        done.insert(node);
        Some(())
    }

    /// The values from which some nodes are computed; none if real arithmetic adds nothing to ranges.
    fn values_under(&mut self, roots: &[usize], level: usize) -> Option<Vec<usize>> {
        let mut values = Vec::new();
        let (mut seen, mut again) = (BTreeSet::new(), false);
        let mut pending: VecDeque<(usize, usize)> = roots.iter().map(|&root| (root, 0)).collect();
        while let Some((node, depth)) = pending.pop_front() {
            let (low, high, _) = self.range(node)?;
            let op = self.op(node);
            let fixed = low == high;
            if !seen.insert(node) {
                again |= !fixed;
                continue;
            }
            if seen.len() > MAX_NODES {
                return None;
            }
            if fixed {
                continue;
            }
            let mut add = |node: usize| pending.push_back((node, depth + 1));
            if is_arithmetic(op) && depth < level {
                op.operands().into_iter().for_each(&mut add);
                continue;
            }
            values.push(node);
            match op {
                _ if depth >= level => continue,
                Op::Min(a, b) | Op::Max(a, b) => [a, b].into_iter().for_each(&mut add),
                Op::Floor(a) | Op::Ceil(a) => add(a),
                Op::If(c, a, b) => {
                    if let Some(value) = self.plainly(c) {
                        add(if value { a } else { b });
                    }
                }
                _ => {}
            }
            for &(c, d, ..) in &self.state.assumed {
                let other = if c == node { d } else { c };
                if (c == node || d == node)
                    && self.op(other).operands().is_empty() | is_arithmetic(self.op(other))
                {
                    add(other);
                }
            }
        }
        values.sort_unstable();
        (again && values.len() <= MAX_VALUES).then_some(values)
    }

    /// The possible anchors of a value, the most useful first.
    fn anchors(&mut self, value: usize) -> Option<Vec<Anchor>> {
        let mut anchors = Vec::new();
        for i in 0..self.state.assumed.len() {
            let (c, d, _, known) = self.state.assumed[i];
            if c == value && d != value {
                anchors.push(Anchor::Near(d, known));
            } else if d == value && c != value {
                anchors.push(Anchor::Near(c, known));
            }
        }
        let mut near = |search: &mut Self, from: &[usize], order: Fact, other: usize| {
            let known = search.order_with_operand(from, order);
            anchors.extend(known.map(|known| Anchor::Near(other, known)));
        };
        match self.op(value) {
            Op::Max(a, b) => {
                near(self, &[a, b], Fact::Le(a, value), a);
                near(self, &[a, b], Fact::Le(b, value), b);
            }
            Op::Min(a, b) => {
                near(self, &[a, b], Fact::Le(value, a), a);
                near(self, &[a, b], Fact::Le(value, b), b);
            }
            Op::Floor(a) => near(self, &[a], Fact::Le(value, a), a),
            Op::Ceil(a) => near(self, &[a], Fact::Le(a, value), a),
            Op::If(c, a, b) => {
                if let Some(truth) = self.plainly(c) {
                    let chosen = if truth { a } else { b };
                    near(self, &[c, chosen], Fact::Le(chosen, value), chosen);
                    near(self, &[c, chosen], Fact::Le(value, chosen), chosen);
                }
            }
            _ => {}
        }
        let (low, high, known) = self.range(value)?;
        if low > 0.0 {
            let wide = self.apply(Rule::Widen, &[known], Fact::Range(value, 0.0, high))?;
            anchors.push(Anchor::Zero(wide, known));
        }
        anchors.extend([Anchor::Below(known), Anchor::Above(known)]);
        Some(anchors)
    }

    /// Narrows the range of a difference or quotient of correlated operands towards its range at the sample points.
    pub(super) fn tighten(&mut self, node: usize) -> bool {
        let (Op::Sub(a, b) | Op::Div(a, b) | Op::Add(a, b)) = self.op(node) else { return false };
        let Some((low, high, _)) = self.range(node) else { return false };
        let (under, other) = (self.cone(&[Fact::Range(a, 0.0, 0.0)]), self.cone(&[Fact::Range(b, 0.0, 0.0)]));
        let quantity = |node: &&usize| matches!(self.op(**node), Op::Quantity(_));
        if !under.iter().filter(quantity).any(|node| other.contains(node)) {
            return false;
        }
        let mut changed = false;
        let (least, most) = self.points.limits(&self.state.points, node);
        for (l, h) in [(least, high), (low, most)] {
            let tells = l > low + (high - low).abs() * 1e-3
                || l > 0.0 && low <= 0.0
                || h < high - (high - low).abs() * 1e-3;
            if !tells || l > h || l.is_nan() || h.is_nan() {
                continue;
            }
            if let Some(found) = self.by_reals(Fact::Range(node, l, h)) {
                changed |= self.keep_range(node, (l, h, found));
            }
        }
        // A divisor only needs to be bounded away from zero, with a margin for rounding.
        let divides = |op: &Op| matches!(op, Op::Div(_, divisor) if *divisor == node);
        if least > 0.0
            && self.range(node).is_some_and(|(low, ..)| low < f64::MIN_POSITIVE)
            && self.nodes.iter().any(divides)
        {
            let (l, h) = (least / 2.0, MAX_MAGNITUDE);
            if let Some(found) = self.by_reals(Fact::Range(node, l, h)) {
                changed |= self.keep_range(node, (l, h, found));
            }
        }
        changed
    }

    /// Proves that a node is an integer.
    pub(super) fn whole(&mut self, node: usize) -> Option<FactId> {
        if let Some(&known) = self.state.wholes.get(&node) {
            return known;
        }
        let from = match self.op(node) {
            Op::Quantity(_) | Op::Number(_) => Some(vec![]),
            Op::Floor(a) | Op::Ceil(a) => self.ranges(&[a]),
            Op::Neg(a) | Op::Abs(a) => self.whole(a).map(|a| vec![a]),
            // A division by 1.
            Op::Div(a, b) if self.range(b).is_some_and(|(low, high, _)| (low, high) == (1.0, 1.0)) => {
                let from = self.ranges(&[a, b, node]);
                from.and_then(|from| {
                    let below = self.apply(Rule::Beside, &from, Fact::Le(node, a))?;
                    Some(vec![below, self.apply(Rule::Beside, &from, Fact::Le(a, node))?, self.whole(a)?])
                })
            }
            Op::Min(a, b) | Op::Max(a, b) | Op::If(_, a, b) => self.both_whole(a, b),
            Op::Add(a, b) | Op::Sub(a, b) | Op::Mul(a, b) => {
                let range = self.range(node).map(|range| range.2);
                range.and_then(|range| Some([self.both_whole(a, b)?, vec![range]].concat()))
            }
            _ => None,
        };
        let known = from.and_then(|from| self.apply(Rule::Whole, &from, Fact::Whole(node)));
        self.state.wholes.insert(node, known);
        known
    }

    fn both_whole(&mut self, a: usize, b: usize) -> Option<Vec<FactId>> {
        Some(vec![self.whole(a)?, self.whole(b)?])
    }
}

fn is_arithmetic(op: Op) -> bool {
    matches!(op, Op::Neg(_) | Op::Abs(_) | Op::Add(..) | Op::Sub(..) | Op::Mul(..) | Op::Div(..))
}
