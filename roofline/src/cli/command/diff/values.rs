//! Equality of the values of two versions of a contract: by normalization, else at points of their common domains.

use std::collections::BTreeMap;

use roofline_contracts::contract::{Classifier, Contract};
use roofline_contracts::domain::Domain;
use roofline_contracts::eval::{Evaluator, Value};
use roofline_contracts::formula::number;
use roofline_contracts::graph::{Graph, Id, Op};
use roofline_contracts::sample::{Random, RequirementRepair, special, uniform};
use schemars::JsonSchema;
use serde::Serialize;

/// Number of points at which formulas are compared.
pub const POINTS: usize = 4096;
/// Seed, so that the points are the same in every run.
const SEED: u64 = 0x0d1f_f000;
/// Number of points shown for a difference.
const EXAMPLES: usize = 3;
/// Maximum relative difference that counts as rounding.
const ROUNDING: f64 = 1e-12;

/// An expression in one of the versions.
#[derive(Clone, Copy)]
pub enum Probe<'a> {
    /// A number or a condition.
    Node(Id),
    /// A classifier.
    Class(&'a Classifier),
}

impl Probe<'_> {
    fn roots(self) -> Vec<Id> {
        match self {
            Probe::Node(id) => vec![id],
            Probe::Class(classifier) => classifier.cases.iter().map(|case| case.chosen).collect(),
        }
    }

    fn answer<'c>(self, evaluator: &Evaluator<'_>) -> Answer<'c>
    where
        Self: 'c,
    {
        match self {
            Probe::Node(id) => match evaluator.value(id) {
                Value::Number(value) => Answer::Number(value),
                Value::Bool(truth) => Answer::Word(if truth { "true" } else { "false" }),
            },
            Probe::Class(classifier) => {
                let chosen = classifier.cases.iter().find(|case| evaluator.value(case.chosen).truth());
                Answer::Word(chosen.map_or("", |case| case.variant.as_str()))
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Answer<'a> {
    Number(f64),
    Word(&'a str),
}

impl Answer<'_> {
    /// Returns 0 for equal answers, the relative difference of numbers, or 1 for different words.
    fn distance(self, other: Answer<'_>) -> f64 {
        match (self, other) {
            (Answer::Number(a), Answer::Number(b)) if a == b || (a.is_nan() && b.is_nan()) => 0.0,
            (Answer::Number(a), Answer::Number(b)) => {
                let relative = (a - b).abs() / a.abs().max(b.abs());
                if relative.is_nan() { f64::INFINITY } else { relative }
            }
            (a, b) => f64::from(u8::from(a != b)),
        }
    }

    fn text(self) -> String {
        match self {
            Answer::Number(value) => number(value),
            Answer::Word(word) => word.to_owned(),
        }
    }
}

/// Outcome of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Equal after normalization.
    Same,
    /// Equal at every tested point.
    Equal,
    /// Equal up to rounding, with the largest relative difference.
    Rounding(f64),
    /// Different: number of points, and the points with the largest differences.
    Different(usize, Worst),
    /// The domains are disjoint.
    Nowhere,
}

/// Largest differences, with the indices of their points.
pub type Worst = [(f64, usize); EXAMPLES];

/// A point at which two versions differ.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Example {
    /// Relevant quantities that do not have their default.
    pub at: BTreeMap<String, String>,
    /// Value of the old version.
    pub before: String,
    /// Value of the new version.
    pub after: String,
    /// |after - before| / max(|after|, |before|); 1 for a class.
    pub difference: f64,
}

/// Common points of both versions, and their formulas in one graph.
pub struct Space<'a> {
    old: &'a Contract,
    new: &'a Contract,
    names: Vec<&'a str>,
    domains: Vec<Domain>,
    defaults: Vec<Option<f64>>,
    points: Vec<Vec<f64>>,
    old_index: Vec<usize>,
    new_index: Vec<usize>,
    normal: Normal,
}

impl<'a> Space<'a> {
    /// Prepares a comparison; `renamed` maps old names of quantities to new ones.
    pub fn new(old: &'a Contract, new: &'a Contract, renamed: &BTreeMap<&str, &'a str>) -> Self {
        let mut names: Vec<&str> = new.quantities.iter().map(|quantity| quantity.name.as_str()).collect();
        let mut domains: Vec<Domain> =
            new.quantities.iter().map(|quantity| quantity.domain.clone()).collect();
        let mut defaults: Vec<Option<f64>> = new.quantities.iter().map(|quantity| quantity.default).collect();
        let mut shared = vec![false; names.len()];
        let mut empty = false;
        let mut old_index = Vec::new();
        for quantity in &old.quantities {
            let name = renamed.get(quantity.name.as_str()).copied().unwrap_or(&quantity.name);
            match names.iter().position(|known| *known == name) {
                Some(index) => {
                    match common(&domains[index], &quantity.domain) {
                        Some(domain) => domains[index] = domain,
                        None => empty = true,
                    }
                    defaults[index] = [defaults[index], quantity.default]
                        .into_iter()
                        .flatten()
                        .find(|value| domains[index].contains(*value));
                    shared[index] = true;
                    old_index.push(index);
                }
                None => {
                    old_index.push(names.len());
                    names.push(name);
                    domains.push(quantity.domain.clone());
                    defaults.push(quantity.default);
                    shared.push(false);
                }
            }
        }
        let new_index: Vec<usize> = (0..new.quantities.len()).collect();
        let (mut before, mut after) = (RequirementRepair::new(old), RequirementRepair::new(new));
        let mut meets = |point: &[f64]| {
            before.meets(&project(point, &old_index)) && after.meets(&project(point, &new_index))
        };
        let points = if empty { Vec::new() } else { points(&domains, &defaults, &shared, &mut meets) };
        let mut normal = Normal::default();
        normal.old = normal.image(&old.graph, &old_index);
        normal.new = normal.image(&new.graph, &new_index);
        Space { old, new, names, domains, defaults, points, old_index, new_index, normal }
    }

    /// Returns the normal form of a node. Nodes with equal normal forms compute equal values.
    pub fn normal(&self, old: bool, id: Id) -> Option<Id> {
        let image = if old { &self.normal.old } else { &self.normal.new };
        image.get(id.index()).copied()
    }

    /// Returns `true` if two nodes are equal after normalization.
    pub fn same(&self, old: Id, new: Id) -> bool {
        self.normal(true, old) == self.normal(false, new)
    }

    /// Compares pairs of expressions.
    pub fn compare(&self, pairs: &[(Probe<'_>, Probe<'_>)]) -> Vec<Values> {
        let equal = |(old, new): &(Probe<'_>, Probe<'_>)| match (old, new) {
            (Probe::Node(old), Probe::Node(new)) => self.same(*old, *new),
            (Probe::Class(old), Probe::Class(new)) => {
                old.cases.len() == new.cases.len()
                    && old
                        .cases
                        .iter()
                        .zip(&new.cases)
                        .all(|(old, new)| old.variant == new.variant && self.same(old.chosen, new.chosen))
            }
            _ => false,
        };
        let same: Vec<bool> = pairs.iter().map(equal).collect();
        let open: Vec<usize> = (0..pairs.len()).filter(|&index| !same[index]).collect();
        let roots = |side: fn(&(Probe<'_>, Probe<'_>)) -> Vec<Id>| -> Vec<Id> {
            open.iter().flat_map(|&index| side(&pairs[index])).collect()
        };
        let mut old = Evaluator::new(&self.old.graph, &roots(|pair| pair.0.roots()));
        let mut new = Evaluator::new(&self.new.graph, &roots(|pair| pair.1.roots()));
        // For each pair: the number of different points, and the worst one of every third.
        let mut found = vec![(0, [(0.0, 0); EXAMPLES]); pairs.len()];
        for (at, point) in self.points.iter().enumerate() {
            old.run(&project(point, &self.old_index));
            new.run(&project(point, &self.new_index));
            for &index in &open {
                let (before, after) = &pairs[index];
                let distance = before.answer(&old).distance(after.answer(&new));
                if distance > 0.0 {
                    let (count, worst) = &mut found[index];
                    *count += 1;
                    let slot = &mut worst[at % EXAMPLES];
                    if distance > slot.0 {
                        *slot = (distance, at);
                    }
                }
            }
        }
        let verdict = |(index, (count, worst)): (usize, (usize, Worst))| {
            let max = worst.iter().fold(0.0f64, |max, (distance, _)| max.max(*distance));
            match (same[index], self.points.is_empty(), count) {
                (true, ..) => Values::Same,
                (_, true, _) => Values::Nowhere,
                (.., 0) => Values::Equal,
                _ if max <= ROUNDING => Values::Rounding(max),
                _ => Values::Different(count, worst),
            }
        };
        found.into_iter().enumerate().map(verdict).collect()
    }

    /// Returns simplified points with the largest differences, largest first and without duplicates.
    pub fn examples(&self, pair: &(Probe<'_>, Probe<'_>), worst: &Worst) -> Vec<Example> {
        let (before, after) = pair;
        let mut old = Evaluator::new(&self.old.graph, &before.roots());
        let mut new = Evaluator::new(&self.new.graph, &after.roots());
        let mut answers = |point: &[f64]| {
            old.run(&project(point, &self.old_index));
            new.run(&project(point, &self.new_index));
            (before.answer(&old), after.answer(&new))
        };
        let relevant = self.relevant(before, after);
        let mut found: Vec<Example> = Vec::new();
        for &(distance, at) in worst {
            let Some(mut point) = self.points.get(at).filter(|_| distance > 0.0).cloned() else { continue };
            for &quantity in &relevant {
                let kept = point[quantity];
                let simpler = self.defaults[quantity].into_iter().chain([1.0, 2.0, 10.0, 1000.0]);
                for value in simpler.filter(|value| self.domains[quantity].contains(*value)) {
                    point[quantity] = value;
                    let (before, after) = answers(&point);
                    if before.distance(after) >= 0.99 * distance {
                        break;
                    }
                    point[quantity] = kept;
                }
            }
            let (before, after) = answers(&point);
            let unusual = relevant.iter().filter(|&&q| self.defaults[q] != Some(point[q]));
            let at = unusual.map(|&q| (self.names[q].to_owned(), number(point[q]))).collect();
            let difference = before.distance(after);
            let example = Example { at, before: before.text(), after: after.text(), difference };
            if !found.iter().any(|known| known.at == example.at) {
                found.push(example);
            }
        }
        found.sort_by(|a, b| b.difference.total_cmp(&a.difference));
        found
    }

    /// Returns the quantities that either side depends on.
    fn relevant(&self, before: &Probe<'_>, after: &Probe<'_>) -> Vec<usize> {
        let quantities = |graph: &Graph, roots: &[Id], index: &[usize]| -> Vec<usize> {
            let quantity = |id: Id| match graph.op(id) {
                Op::Quantity(quantity) => index.get(quantity).copied(),
                _ => None,
            };
            graph.reachable(roots).into_iter().filter_map(quantity).collect()
        };
        let mut relevant = quantities(&self.old.graph, &before.roots(), &self.old_index);
        relevant.extend(quantities(&self.new.graph, &after.roots(), &self.new_index));
        relevant.sort_unstable();
        relevant.dedup();
        relevant
    }
}

/// Returns the values of one contract's quantities at a point.
fn project(point: &[f64], index: &[usize]) -> Vec<f64> {
    index.iter().filter_map(|&at| point.get(at).copied()).collect()
}

/// Returns the intersection of two domains; `None` if it is empty.
fn common(a: &Domain, b: &Domain) -> Option<Domain> {
    let mut domain = a.clone();
    domain.integer |= b.integer;
    (domain.low, domain.high) = (a.low.max(b.low), a.high.min(b.high));
    if domain.integer {
        (domain.low, domain.high) = (domain.low.ceil(), domain.high.floor());
    }
    let set = if a.set.is_empty() { &b.set } else { &a.set };
    if !set.is_empty() {
        domain.set = set.iter().copied().filter(|value| a.contains(*value) && b.contains(*value)).collect();
        (domain.low, domain.high) = (*domain.set.first()?, *domain.set.last()?);
    }
    (domain.low <= domain.high).then_some(domain)
}

/// Returns `true` if every value of `inner` is in `outer`.
pub fn within(inner: &Domain, outer: &Domain) -> bool {
    if !inner.set.is_empty() {
        return inner.set.iter().all(|value| outer.contains(*value));
    }
    let single = inner.low == inner.high;
    if !outer.set.is_empty() {
        let few = inner.integer && inner.high - inner.low < outer.set.len() as f64;
        let whole = || {
            (0..outer.set.len()).map(|step| inner.low + step as f64).take_while(|value| *value <= inner.high)
        };
        return (single && outer.contains(inner.low)) || (few && whole().all(|value| outer.contains(value)));
    }
    outer.low <= inner.low
        && inner.high <= outer.high
        && (!outer.integer || inner.integer || (single && outer.contains(inner.low)))
}

/// Returns test points: the limits of the domains, then a mix of defaults, special and random values. Quantities of a single
/// version keep their default. Points that violate requirements are skipped; the result is empty if nearly all do.
fn points(
    domains: &[Domain],
    defaults: &[Option<f64>],
    shared: &[bool],
    meets: &mut dyn FnMut(&[f64]) -> bool,
) -> Vec<Vec<f64>> {
    let fixed = |index: usize| defaults[index].filter(|_| !shared[index]);
    let limit = |of: fn(&Domain) -> f64| -> Vec<f64> {
        domains.iter().enumerate().map(|(index, domain)| fixed(index).unwrap_or_else(|| of(domain))).collect()
    };
    let specials: Vec<Vec<f64>> = domains.iter().map(special).collect();
    let mut random = Random(SEED);
    let mut points = vec![limit(|domain| domain.low), limit(|domain| domain.high)];
    points.retain(|point| meets(point));
    for _ in 0..100 * POINTS {
        if points.len() == POINTS {
            return points;
        }
        let value = |(index, domain): (usize, &Domain)| {
            if let Some(value) = fixed(index) {
                return value;
            }
            match (random.below(4), random.pick(&specials[index]), defaults[index]) {
                (0, Some(&value), _) | (1, _, Some(value)) => value,
                _ => uniform(domain, &mut random),
            }
        };
        let point: Vec<f64> = domains.iter().enumerate().map(value).collect();
        if meets(&point) {
            points.push(point);
        }
    }
    Vec::new()
}

/// Both graphs in one, with formulas in normal form: commutative operands sorted, constants folded, multiplications by 1 removed,
/// and divisions by powers of two replaced by multiplications. All transformations are exact.
#[derive(Default)]
struct Normal {
    graph: Graph,
    old: Vec<Id>,
    new: Vec<Id>,
}

impl Normal {
    /// Returns the normal form of each node of a graph; `index` maps its quantities to common ones.
    fn image(&mut self, from: &Graph, index: &[usize]) -> Vec<Id> {
        let mut image: Vec<Id> = Vec::with_capacity(from.ops().len());
        for op in from.ops() {
            let op = match *op {
                Op::Quantity(quantity) => Op::Quantity(index.get(quantity).copied().unwrap_or(usize::MAX)),
                op => op.map(|id| image[id.index()]),
            };
            let id = self.simplify(op);
            image.push(id);
        }
        image
    }

    fn constant(&self, id: Id) -> Option<f64> {
        match self.graph.op(id) {
            Op::Number(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    fn simplify(&mut self, op: Op) -> Id {
        let known: Vec<Option<f64>> = op.operands().map(|id| self.constant(id)).collect();
        if let [Some(a), Some(b)] = known[..] {
            let value = match op {
                Op::Add(..) => Some(a + b),
                Op::Sub(..) => Some(a - b),
                Op::Mul(..) => Some(a * b),
                Op::Div(..) => Some(a / b),
                _ => None,
            };
            if let Some(value) = value {
                return self.graph.number(value);
            }
        }
        match op {
            Op::Mul(a, b) if self.constant(a) == Some(1.0) => b,
            Op::Mul(a, b) | Op::Div(a, b) if self.constant(b) == Some(1.0) => a,
            Op::Div(a, b) => match self.constant(b).filter(|value| power_of_two(*value)) {
                Some(value) => {
                    let inverse = self.graph.number(1.0 / value);
                    self.commute(Op::Mul, a, inverse)
                }
                None => self.graph.add(op),
            },
            Op::Neg(a) | Op::Not(a) => match (op, self.graph.op(a)) {
                (Op::Neg(_), Op::Neg(inner)) | (Op::Not(_), Op::Not(inner)) => inner,
                _ => self.graph.add(op),
            },
            Op::Mul(a, b) => self.commute(Op::Mul, a, b),
            Op::Add(a, b) => self.commute(Op::Add, a, b),
            Op::Equal(a, b) => self.commute(Op::Equal, a, b),
            Op::Iff(a, b) => self.commute(Op::Iff, a, b),
            Op::Min(..) | Op::Max(..) | Op::And(..) | Op::Or(..) => self.chain(op),
            _ => self.graph.add(op),
        }
    }

    fn commute(&mut self, make: fn(Id, Id) -> Op, a: Id, b: Id) -> Id {
        self.graph.add(make(a.min(b), a.max(b)))
    }

    /// Normalizes `min`, `max`, `and` and `or`, which are associative, commutative and idempotent.
    fn chain(&mut self, op: Op) -> Id {
        type Make = fn(Id, Id) -> Op;
        let parts = |op: Op| -> Option<(Make, [Id; 2])> {
            match op {
                Op::Min(a, b) => Some((Op::Min, [a, b])),
                Op::Max(a, b) => Some((Op::Max, [a, b])),
                Op::And(a, b) => Some((Op::And, [a, b])),
                Op::Or(a, b) => Some((Op::Or, [a, b])),
                _ => None,
            }
        };
        let Some((make, operands)) = parts(op) else { return self.graph.add(op) };
        let mut leaves = Vec::new();
        let mut pending = operands.to_vec();
        while let Some(id) = pending.pop() {
            match parts(self.graph.op(id)) {
                Some((other, inner)) if other(id, id) == make(id, id) => pending.extend(inner),
                _ => leaves.push(id),
            }
        }
        leaves.sort_unstable();
        leaves.dedup();
        let folded = leaves.into_iter().reduce(|left, right| self.graph.add(make(left, right)));
        folded.unwrap_or_else(|| self.graph.add(op))
    }
}

fn power_of_two(value: f64) -> bool {
    value.is_normal() && (1.0 / value).is_normal() && value.to_bits() & ((1 << 52) - 1) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use roofline_contracts::source::Source;

    fn contract(formula: &str, domain: &str) -> Contract {
        let text = format!(
            "metadata: {{version: 1.0.0, description: x}}\nquantities:\n  a: {{unit: \"1\", domain: \"{domain}\"}}\n  b: {{unit: \"1\", domain: \"[1, 10]\"}}\n  c: {{unit: \"1\", domain: \"[1, 10]\", default: 2}}\nequations:\n  x: {{formula: \"({formula}) + 0 * (a + b + c)\", unit: \"1\"}}\n"
        );
        let source = Source::from_bytes("x.yaml", text.into_bytes()).unwrap();
        roofline_contracts::check_in(source, None).contract.unwrap()
    }

    fn compare(old: &str, new: &str) -> Values {
        let (old, new) = (contract(old, "[1, 10]"), contract(new, "[1, 10]"));
        let space = Space::new(&old, &new, &BTreeMap::new());
        let node = |contract: &Contract| Probe::Node(contract.equations[0].expression.id);
        space.compare(&[(node(&old), node(&new))]).remove(0)
    }

    #[test]
    fn exact_transformations_are_equal_after_normalization() {
        for (old, new) in [
            ("a * b", "b * a"),
            ("a + b", "b + a"),
            ("a / 8", "a * 0.125"),
            ("a * (2 * 4)", "a * 8"),
            ("a * 1", "a / 1"),
            ("min(a, min(b, c))", "min(c, b, a)"),
            ("if a < b then a else b", "if b > a then a else b"),
            ("-(-a)", "a"),
        ] {
            assert_eq!(compare(old, new), Values::Same, "{old} and {new}");
        }
    }

    #[test]
    fn different_formulas_are_compared_at_points() {
        assert_eq!(compare("if a < b then a else b", "min(a, b)"), Values::Equal);
        assert!(matches!(compare("a * b * c", "a * (b * c)"), Values::Rounding(max) if max < 1e-15));
        assert!(matches!(compare("a * b", "a * b + 1"), Values::Different(POINTS, _)));
    }

    #[test]
    fn domains_are_compared_as_sets_of_values() {
        let domain = |text| Domain::parse(text).unwrap();
        for (inner, outer) in [
            ("[2, 3]", "[1, 4]"),
            ("integer [1, 3]", "[1, 3]"),
            ("{1, 2}", "integer [1, 3]"),
            ("integer [1, 2]", "{1, 2, 5}"),
            ("integer (0, 4)", "integer [1, 3]"),
        ] {
            assert!(within(&domain(inner), &domain(outer)), "{inner} in {outer}");
        }
        for (inner, outer) in [
            ("[1, 4]", "[2, 3]"),
            ("[1, 3]", "integer [1, 3]"),
            ("integer [1, 3]", "{1, 2, 5}"),
            ("{1, 2.5}", "integer [1, 3]"),
            ("[1, 2]", "{1, 2}"),
        ] {
            assert!(!within(&domain(inner), &domain(outer)), "{inner} in {outer}");
        }
        assert_eq!(common(&domain("[1, 2]"), &domain("[3, 4]")), None);
    }
}
