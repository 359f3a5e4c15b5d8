//! The falsifier: searches for a point of the domain where a claim is false, and simplifies it.
//!
//! It tries corners, their neighboring floats and integers; then points uniform over the bits, and large points; then points
//! at which a comparison in the claim changes its result, found by bisection over the bits. The budget is in steps, not in
//! time, so the search is deterministic.

use super::counterexample::{Counterexample, Input, differ_by_rounding};
use crate::certify::trace::Printer;
use crate::contract::{Claim, Contract, Obligation};
use crate::domain::Domain;
use crate::eval::Evaluator;
use crate::graph::{Id, MAX_POW, Op};
use crate::sample::{Random, RequirementRepair, key, large, member, next_member, special, uniform, unkey};

/// Number of points tried per claim.
pub const POINTS: usize = 20_000;
/// Number of edges searched for.
const EDGES: usize = 400;
/// Maximum number of operations per stage of the search; the cost of a power is its exponent.
const STEPS: usize = 20_000_000;

/// The result of a search for a counterexample.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchResult {
    /// The counterexample; none if the search found none.
    pub counterexample: Option<Counterexample>,
    /// Number of points, or pairs of points, at which the claim was evaluated.
    pub points: usize,
}

struct CounterexampleSearch<'a> {
    contract: &'a Contract,
    obligation: &'a Obligation,
    claim: Claim,
    /// The quantities that the claim depends on.
    support: Vec<usize>,
    special: Vec<Vec<f64>>,
    evaluator: Evaluator<'a>,
    /// Moves points until the requirements hold.
    repair: RequirementRepair<'a>,
    /// Conditions under which the claim applies to a point.
    assumed: Vec<Id>,
    /// Numbers and comparisons under the claim.
    numbers: Vec<Id>,
    /// Number of nodes evaluated per point.
    nodes: usize,
    comparisons: Vec<Id>,
    /// The exponents of powers under the claim.
    exponents: Vec<Id>,
    random: Random,
    points: usize,
    /// The remaining operations of this stage.
    steps: usize,
}

/// A violation of a claim: a point, and for monotonicity the larger value of the quantity.
type Violation = (Vec<f64>, Option<f64>);

/// True if the search finds a point, or a pair of points, to which the claim applies.
pub fn has_applicable_point(contract: &Contract, obligation: &Obligation) -> bool {
    let varied = match obligation.claim {
        Claim::Monotone { quantity, .. } => Some(&contract.quantities[quantity].domain),
        Claim::Always(_) => None,
    };
    let moves = varied.is_none_or(|domain| domain.low < domain.high);
    // A point at which the claim is not vacuous refutes `vacuous_when`.
    let applies = |id: Id| CounterexampleSearch::new(contract, obligation, Claim::Always(id)).run().is_some();
    moves && obligation.vacuous_when.is_none_or(applies)
}

/// Searches for a counterexample to an obligation.
pub fn falsify(contract: &Contract, obligation: &Obligation) -> SearchResult {
    let mut search = CounterexampleSearch::new(contract, obligation, obligation.claim);
    let failure = search.run();
    let counterexample = failure.map(|failure| {
        let simple = search.shrink(failure);
        search.report(&simple)
    });
    SearchResult { counterexample, points: search.points }
}

impl<'a> CounterexampleSearch<'a> {
    fn new(contract: &'a Contract, obligation: &'a Obligation, claim: Claim) -> Self {
        let (root, varied) = match claim {
            Claim::Always(id) => (id, None),
            Claim::Monotone { of, quantity, .. } => (of, Some(quantity)),
        };
        let assumed = [&contract.required(), &obligation.assumed[..]].concat();
        let mut roots = vec![root];
        roots.extend(obligation.substituted.iter().map(|(_, id)| *id));
        roots.extend(&assumed);
        let graph = &contract.graph;
        let cone = graph.cone(&roots, usize::MAX).unwrap_or_default();
        let is_comparison =
            |id: &Id| matches!(graph.op(*id), Op::Less(..) | Op::LessEqual(..) | Op::Equal(..));
        let mut support: Vec<usize> = (cone.iter())
            .filter_map(|&id| if let Op::Quantity(index) = graph.op(id) { Some(index) } else { None })
            .chain(varied)
            .collect();
        support.sort_unstable();
        support.dedup();
        let numbers = cone.iter().copied().filter(|&id| {
            !is_comparison(&id)
                && !matches!(
                    graph.op(id),
                    Op::Bool(_) | Op::And(..) | Op::Or(..) | Op::Not(_) | Op::Iff(..) | Op::Finite(_)
                )
        });
        CounterexampleSearch {
            contract,
            obligation,
            claim,
            special: (contract.quantities.iter().enumerate())
                .map(|(i, quantity)| if support.contains(&i) { special(&quantity.domain) } else { vec![] })
                .collect(),
            support,
            evaluator: Evaluator::new(graph, &roots),
            repair: RequirementRepair::new(contract),
            assumed,
            numbers: numbers.collect(),
            nodes: cone.len(),
            comparisons: cone.iter().copied().filter(is_comparison).collect(),
            exponents: (cone.iter())
                .filter_map(|&id| if let Op::Pow(_, exponent) = graph.op(id) { Some(exponent) } else { None })
                .collect(),
            random: Random(0x0072_6f6f_666c_696e),
            points: 0,
            steps: STEPS,
        }
    }

    fn domain(&self, quantity: usize) -> &Domain {
        &self.contract.quantities[quantity].domain
    }

    /// Evaluates all nodes at a point and counts the operations.
    fn run_at(&mut self, point: &[f64]) {
        self.evaluator.run(point);
        let powers = self.exponents.iter().map(|&id| self.evaluator.value(id).number().clamp(0.0, MAX_POW));
        let taken = powers.fold(self.nodes, |sum, power| sum + power as usize);
        self.steps = self.steps.saturating_sub(taken);
    }

    /// The claim at a point: true, false, or none if it does not apply.
    fn holds(&mut self, point: &[f64]) -> Option<bool> {
        self.run_at(point);
        let inside = (self.obligation.substituted.iter())
            .all(|&(q, id)| self.contract.quantities[q].domain.contains(self.evaluator.value(id).number()))
            && self.assumed.iter().all(|&id| self.evaluator.value(id).truth());
        match self.claim {
            _ if !inside => None,
            Claim::Always(id) => Some(self.evaluator.value(id).truth()),
            Claim::Monotone { .. } => Some(true),
        }
    }

    /// The claim at a pair of points that differ in one quantity.
    fn moves(&mut self, point: &[f64], larger: f64) -> Option<bool> {
        let Claim::Monotone { of, increasing, quantity, within } = self.claim else { return None };
        self.holds(point)?;
        let first = self.evaluator.value(of).number();
        let mut moved = point.to_vec();
        moved[quantity] = larger;
        self.holds(&moved)?;
        let second = self.evaluator.value(of).number();
        let (less, more) = if increasing { (first, second) } else { (second, first) };
        Some(less <= more || less <= more + more.abs() * within)
    }

    fn fails(&mut self, (point, larger): &Violation) -> bool {
        let holds = match larger {
            None => self.holds(point),
            Some(larger) => self.moves(point, *larger),
        };
        self.points += usize::from(holds.is_some());
        holds == Some(false)
    }

    /// Tries a point; for monotonicity, it and some larger values of the quantity.
    fn attempt(&mut self, point: &[f64]) -> Option<Violation> {
        let Claim::Monotone { quantity, .. } = self.claim else {
            let failure = (point.to_vec(), None);
            return self.fails(&failure).then_some(failure);
        };
        let domain = self.domain(quantity).clone();
        let near =
            [1, 2, 1 + self.random.below(64) as i64].map(|ulps| next_member(&domain, point[quantity], ulps));
        let far = uniform(&domain, &mut self.random);
        let round = self.random.pick(&self.special[quantity]).copied();
        for larger in near.into_iter().chain([Some(far), round]).flatten() {
            let (low, high) =
                if larger < point[quantity] { (larger, point[quantity]) } else { (point[quantity], larger) };
            let mut start = point.to_vec();
            start[quantity] = low;
            let failure = (start, Some(high));
            if self.fails(&failure) {
                return Some(failure);
            }
        }
        None
    }

    fn run(&mut self) -> Option<Violation> {
        let mut point: Vec<f64> = (self.contract.quantities.iter())
            .map(|quantity| quantity.default.unwrap_or(quantity.domain.low))
            .collect();
        self.repair.repair(&mut point, &mut self.random);
        if let Some(found) = self.attempt(&point) {
            return Some(found);
        }
        let combinations: usize =
            self.support.iter().fold(1, |count, &q| usize::saturating_mul(count, self.special[q].len()));
        for mut index in 0..combinations.min(POINTS / 4) {
            for i in 0..self.support.len() {
                let quantity = self.support[i];
                let values = &self.special[quantity];
                // Too many for an exhaustive search; sample them.
                let at = if combinations > POINTS / 4 {
                    self.random.below(values.len())
                } else {
                    index % values.len()
                };
                point[quantity] = values[at];
                index /= values.len();
            }
            self.repair.repair(&mut point, &mut self.random);
            if let Some(found) = self.attempt(&point) {
                return Some(found);
            }
            if self.steps == 0 {
                break;
            }
        }
        self.steps = STEPS;
        for round in 0..POINTS / 2 {
            for i in 0..self.support.len() {
                let quantity = self.support[i];
                let domain = &self.contract.quantities[quantity].domain;
                point[quantity] = match self.random.below(4) {
                    0 if round % 2 == 1 => {
                        self.random.pick(&self.special[quantity]).copied().unwrap_or(point[quantity])
                    }
                    _ if round % 4 == 2 => large(domain, &mut self.random),
                    _ => uniform(domain, &mut self.random),
                };
            }
            self.repair.repair(&mut point, &mut self.random);
            if let Some(found) = self.attempt(&point).or_else(|| self.copied(&mut point)) {
                return Some(found);
            }
            if self.steps == 0 {
                break;
            }
        }
        self.steps = STEPS;
        for _ in 0..EDGES {
            if let Some(found) = self.edge(&mut point) {
                return Some(found);
            }
            if self.steps == 0 {
                break;
            }
        }
        None
    }

    /// Sets one quantity to the value of some node at this point, so that equalities occur.
    fn copied(&mut self, point: &mut [f64]) -> Option<Violation> {
        let quantity = *self.random.pick(&self.support)?;
        let node = *self.random.pick(&self.numbers)?;
        let value = self.evaluator.value(node).number();
        point[quantity] = member(self.domain(quantity), value)?;
        self.attempt(point)
    }

    /// Moves one quantity to where a comparison changes, and tries adjacent points.
    fn edge(&mut self, point: &mut [f64]) -> Option<Violation> {
        let comparison = *self.random.pick(&self.comparisons)?;
        let quantity = *self.random.pick(&self.support)?;
        for i in 0..self.support.len() {
            let other = self.support[i];
            point[other] = uniform(&self.contract.quantities[other].domain, &mut self.random);
        }
        let domain = self.domain(quantity).clone();
        if !domain.set.is_empty() {
            return None;
        }
        let mut at = |search: &mut Self, value: f64| {
            point[quantity] = value;
            search.run_at(point);
            search.evaluator.value(comparison).truth()
        };
        let (mut low, mut high) = (domain.low, domain.high);
        let start = at(self, low);
        if at(self, high) == start {
            return None;
        }
        loop {
            let (a, b) = (key(low), key(high));
            let middle = ((a as i128 + b as i128) >> 1) as i64;
            let Some(value) = member(&domain, unkey(middle)).filter(|&value| low < value && value < high)
            else {
                break;
            };
            if at(self, value) == start {
                low = value;
            } else {
                high = value;
            }
        }
        for steps in -2..=2i64 {
            let near =
                if domain.integer { low + steps as f64 } else { unkey(key(low).saturating_add(steps)) };
            if let Some(value) = member(&domain, near) {
                point[quantity] = value;
                self.repair.repair(point, &mut self.random);
                let found = self.attempt(point);
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }

    /// Replaces values by simpler ones as long as the claim still fails.
    fn shrink(&mut self, mut failure: Violation) -> Violation {
        let varied = match self.claim {
            Claim::Monotone { quantity, .. } => Some(quantity),
            Claim::Always(_) => None,
        };
        for _ in 0..4 {
            let before = failure.clone();
            for i in 0..self.support.len() {
                let quantity = self.support[i];
                let domain = self.domain(quantity).clone();
                let current = failure.0[quantity];
                let mut candidates = self.special[quantity].clone();
                candidates.extend(self.contract.quantities[quantity].default);
                candidates.extend(shorter(current));
                candidates.retain(|&value| domain.contains(value) && weight(value) < weight(current));
                candidates.sort_by_key(|&value| weight(value));
                for value in candidates {
                    let mut simpler = failure.clone();
                    simpler.0[quantity] = value;
                    // Keep the order of the pair.
                    let ordered = Some(quantity) != varied || simpler.1.is_none_or(|larger| value < larger);
                    if ordered && self.fails(&simpler) {
                        failure = simpler;
                        break;
                    }
                }
            }
            if let (Some(quantity), Some(larger)) = (varied, failure.1) {
                let domain = self.domain(quantity).clone();
                let mut candidates = self.special[quantity].clone();
                candidates.extend(shorter(larger));
                candidates
                    .retain(|&v| domain.contains(v) && v > failure.0[quantity] && weight(v) < weight(larger));
                candidates.sort_by_key(|&value| weight(value));
                for value in candidates {
                    let simpler = (failure.0.clone(), Some(value));
                    if self.fails(&simpler) {
                        failure = simpler;
                        break;
                    }
                }
            }
            if failure == before {
                break;
            }
        }
        failure
    }

    fn report(&mut self, (point, larger): &Violation) -> Counterexample {
        let inputs = (self.support.iter())
            .map(|&quantity| {
                let (of, value) = (&self.contract.quantities[quantity], point[quantity]);
                let case = (!of.cases.is_empty()).then(|| of.show(value));
                Input { quantity, name: of.name.clone(), value, case }
            })
            .collect();
        let printer = Printer::new(self.contract);
        let mut shown: Vec<Id> = match self.claim {
            Claim::Monotone { of, .. } => vec![of],
            Claim::Always(id) => compared(self.contract, id),
        };
        shown.retain(|&id| !matches!(self.contract.graph.op(id), Op::Number(_) | Op::Quantity(_)));
        self.evaluator.run(point);
        let graph = &self.contract.graph;
        let mut by_rounding = match self.claim {
            Claim::Monotone { .. } => false,
            Claim::Always(id) => comparisons(self.contract, id).into_iter().any(|id| match graph.op(id) {
                Op::LessEqual(a, b) | Op::Equal(a, b) => {
                    let [a, b] = [a, b].map(|id| self.evaluator.value(id).number());
                    !self.evaluator.value(id).truth() && differ_by_rounding(a, b)
                }
                _ => false,
            }),
        };
        let first: Vec<f64> = shown.iter().map(|&id| self.evaluator.value(id).number()).collect();
        let mut other = None;
        if let (Claim::Monotone { quantity, .. }, Some(larger)) = (self.claim, larger) {
            let mut moved = point.clone();
            moved[quantity] = *larger;
            self.evaluator.run(&moved);
            other = Some((quantity, *larger));
            let moved = |id: &Id| self.evaluator.value(*id).number();
            by_rounding = shown.first().is_some_and(|id| differ_by_rounding(first[0], moved(id)));
        }
        let values = (shown.iter().zip(first))
            .map(|(&id, value)| {
                (printer.show(id.index()), value, other.map(|_| self.evaluator.value(id).number()))
            })
            .collect();
        Counterexample { inputs, other, values, by_rounding }
    }
}

/// The comparisons and finiteness tests of a condition, in order.
fn comparisons(contract: &Contract, claim: Id) -> Vec<Id> {
    let mut found = Vec::new();
    let mut pending = vec![claim];
    while let Some(id) = pending.pop() {
        match contract.graph.op(id) {
            Op::Less(..) | Op::LessEqual(..) | Op::Equal(..) | Op::Finite(_) => found.push(id),
            Op::And(a, b) | Op::Or(a, b) | Op::Iff(a, b) => pending.extend([b, a]),
            Op::Not(a) => pending.push(a),
            _ => {}
        }
    }
    found
}

/// The numbers that a condition compares, in order, each once and without their operands.
fn compared(contract: &Contract, claim: Id) -> Vec<Id> {
    let mut found = Vec::new();
    for id in comparisons(contract, claim) {
        for operand in contract.graph.op(id).operands() {
            if !found.contains(&operand) {
                found.push(operand);
            }
        }
    }
    found
}

/// Complexity of a number for a reader; smaller is simpler.
fn weight(value: f64) -> (usize, bool, u64) {
    (format!("{value:e}").len(), value < 0.0, value.abs().to_bits())
}

/// Variants of the number with fewer digits.
fn shorter(value: f64) -> Vec<f64> {
    (0..16).filter_map(|digits| format!("{value:.digits$e}").parse().ok()).collect()
}
