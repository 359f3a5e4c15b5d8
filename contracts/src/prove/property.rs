//! Properties: obligations reduced to a size that a bit-precise model checker decides within seconds.
//!
//! A property calls the generated functions of the equations in the obligation; the operands of these equations become
//! symbolic values in their proven ranges. Operands are cut off only if the certificate search still proves the claim,
//! so a property implies the obligation and is never false.

use std::collections::{BTreeMap, BTreeSet};

use crate::certify;
use crate::contract::{Claim, Contract, Obligation, Operand};
use crate::domain::Domain;
use crate::eval::Evaluator;
use crate::formula::{Binary, Formula, Function, Kind};
use crate::graph::build::Lowering;
use crate::graph::{Graph, Id, Op};
use crate::range::Range;
use crate::sample::{Random, linear, uniform};

/// Maximum number of rounded products and quotients in a property.
const MAX_PRODUCTS: usize = 4;
/// Maximum number of levels of equations that a property calls.
const MAX_LEVELS: usize = 3;
/// Number of points sampled for a cover condition.
const COVER_POINTS: usize = 1000;
/// Minimum number of points that satisfy it, so that tests, which sample likewise, reach one.
const MIN_COVERED: usize = 20;

/// The symbolic values, the calls and the cover condition of a property.
#[derive(Clone, Debug)]
pub struct Property {
    /// The symbolic values.
    pub values: Vec<Value>,
    /// The requirements on these values, by position.
    pub requires: Vec<usize>,
    /// The equations to call, in order, by position.
    pub equations: Vec<usize>,
    /// The classifiers to call, by position.
    pub classifiers: Vec<usize>,
    /// The condition that must be reachable.
    pub cover: Cover,
}

/// A symbolic value in its domain.
#[derive(Clone, Debug, Default)]
pub struct Value {
    /// The quantity or equation.
    pub name: String,
    /// The allowed values.
    pub domain: Domain,
    /// True if the model checker is limited to values with few significant bits. It cannot show that two computations of a
    /// rounded product are equal, or bound a quotient by the order of its operands, unless the operands are short.
    pub short: bool,
}

/// A condition that shows that a property is not vacuous.
#[derive(Clone, Debug, PartialEq)]
pub enum Cover {
    /// This part of the obligation's formula.
    Part(usize),
    /// The equation chooses the first of its alternatives, which has this name.
    Takes(String, String),
    /// The two sides of the comparison differ.
    Differs(usize, usize),
    /// The end of the property is reached.
    Reached,
}

/// The property of an obligation, or the reason that a model checker cannot decide it.
///
/// `ranges` are those of the contract's graph.
pub fn property(
    contract: &Contract,
    ranges: &[Range],
    obligation: &Obligation,
) -> Result<Property, &'static str> {
    let Claim::Always(_) = obligation.claim else {
        return Err("monotonicity compares two rounded results, which model checkers cannot decide");
    };
    if !obligation.substituted.is_empty() {
        return Err("scaling compares two rounded results, which model checkers cannot decide");
    }
    let planner = Planner::new(contract, ranges, obligation);
    let mut called: BTreeSet<usize> = planner.tops();
    let mut reason = "the claim needs more equations than a model checker can handle";
    for _ in 0..MAX_LEVELS {
        match planner.plan(&called) {
            Ok(property) => return Ok(property),
            Err(why) => reason = why,
        }
        let below = planner.cut(&called);
        if below.is_empty() {
            break;
        }
        called.extend(below);
    }
    Err(reason)
}

/// The property that a classifier chooses the first case that holds, or the reason that a model checker cannot decide it.
///
/// `ranges` are those of the contract's graph.
pub fn choice(contract: &Contract, ranges: &[Range], classifier: usize) -> Result<Property, &'static str> {
    let chosen = &contract.classifiers[classifier];
    if chosen.origin.is_some() {
        return Err("it belongs to another contract");
    }
    let conditions = || chosen.cases.iter().filter_map(|case| Some(&case.condition.as_ref()?.formula));
    if conditions().any(|formula| formula.nodes.iter().any(|node| is_loop_or_cast(&node.kind))) {
        return Err("floor, ceil and powers need loops or casts, which model checkers handle poorly");
    }
    // Both the classifier and the property compute each condition.
    let short = conditions().any(|formula| formula.nodes.iter().any(|node| is_product(&node.kind)));
    let value = |(name, operand): &(String, Operand)| {
        let domain = domain(contract, ranges, *operand)?;
        Ok(Value { name: name.clone(), short: short && has_short_values(&domain), domain })
    };
    let values = chosen.operands.iter().map(value).collect::<Result<_, &'static str>>()?;
    let (equations, classifiers) = (Vec::new(), vec![classifier]);
    Ok(Property { values, requires: Vec::new(), equations, classifiers, cover: Cover::Reached })
}

/// The allowed values of an operand: its domain, or its proven range.
fn domain(contract: &Contract, ranges: &[Range], operand: Operand) -> Result<Domain, &'static str> {
    let index = match operand {
        Operand::Quantity(index) => return Ok(contract.quantities[index].domain.clone()),
        Operand::Equation(index) => index,
    };
    let range = ranges[contract.equations[index].expression.id.index()];
    if !range.finite() {
        return Err("an equation it depends on may not be finite");
    }
    let mut domain = Domain::default();
    (domain.low, domain.high) = (range.low, range.high);
    Ok(domain)
}

struct Planner<'a> {
    contract: &'a Contract,
    ranges: &'a [Range],
    obligation: &'a Obligation,
    /// The classifiers in the obligation.
    classifiers: Vec<usize>,
    /// The names in the claim and in its classifiers.
    named: Vec<(String, Operand)>,
}

impl<'a> Planner<'a> {
    fn new(contract: &'a Contract, ranges: &'a [Range], obligation: &'a Obligation) -> Self {
        let mentions = |name: &str| {
            let is = |kind: &Kind| matches!(kind, Kind::Is(classifier, ..) if classifier == name);
            obligation.formula.nodes.iter().any(|node| is(&node.kind))
        };
        let classifiers: Vec<usize> =
            (0..contract.classifiers.len()).filter(|&i| mentions(&contract.classifiers[i].name)).collect();
        let mut named = obligation.operands.clone();
        for &classifier in &classifiers {
            named.extend(contract.classifiers[classifier].operands.iter().cloned());
        }
        Planner { contract, ranges, obligation, classifiers, named }
    }

    /// The equations that an equation uses, excluding itself.
    fn under(&self, equation: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut pending = vec![equation];
        while let Some(equation) = pending.pop() {
            for (_, operand) in &self.contract.equations[equation].expression.operands {
                if let Operand::Equation(used) = operand
                    && found.insert(*used)
                {
                    pending.push(*used);
                }
            }
        }
        found
    }

    /// The equations in the claim on which no other equation or classifier in it depends.
    fn tops(&self) -> BTreeSet<usize> {
        let mut tops: BTreeSet<usize> = (self.obligation.operands.iter())
            .filter_map(
                |(_, operand)| if let Operand::Equation(index) = operand { Some(*index) } else { None },
            )
            .collect();
        for equation in tops.clone() {
            for used in self.under(equation) {
                tops.remove(&used);
            }
        }
        for &classifier in &self.classifiers {
            for (_, operand) in &self.contract.classifiers[classifier].operands {
                if let Operand::Equation(index) = operand {
                    tops.remove(index);
                }
            }
        }
        tops
    }

    /// The operands that are used but not called.
    fn used(&self, called: &BTreeSet<usize>) -> Vec<(String, Operand)> {
        let mut used = self.named.clone();
        for &equation in called {
            used.extend(self.contract.equations[equation].expression.operands.iter().cloned());
        }
        used
    }

    /// The equations that become symbolic values.
    fn cut(&self, called: &BTreeSet<usize>) -> BTreeSet<usize> {
        (self.used(called).iter())
            .filter_map(
                |(_, operand)| if let Operand::Equation(index) = operand { Some(*index) } else { None },
            )
            .filter(|index| !called.contains(index))
            .collect()
    }

    fn plan(&self, called: &BTreeSet<usize>) -> Result<Property, &'static str> {
        let contract = self.contract;
        let mut values: Vec<Value> = Vec::new();
        for (name, operand) in self.used(called) {
            if matches!(operand, Operand::Equation(index) if called.contains(&index)) {
                continue;
            }
            let domain = domain(contract, self.ranges, operand)?;
            if !values.iter().any(|known| known.name == name) {
                values.push(Value { name, domain, short: false });
            }
        }
        if values.is_empty() {
            return Err("it only involves constants");
        }
        let equations: Vec<usize> =
            contract.order.iter().copied().filter(|index| called.contains(index)).collect();
        if equations.is_empty() && self.classifiers.is_empty() {
            return Err("it does not call a generated function");
        }
        let formulas = (equations.iter().map(|&index| &contract.equations[index].expression.formula))
            .chain([&self.obligation.formula])
            .chain(self.classifiers.iter().flat_map(|&index| {
                contract.classifiers[index]
                    .cases
                    .iter()
                    .filter_map(|case| Some(&case.condition.as_ref()?.formula))
            }));
        // Products in the functions and the claim as written; the graph shares equal ones.
        let mut written = 0;
        for formula in formulas {
            if formula.nodes.iter().any(|node| is_loop_or_cast(&node.kind)) {
                return Err(
                    "floor, ceil, mod, roots and powers need loops or casts, which model checkers handle poorly",
                );
            }
            written += formula.nodes.iter().filter(|node| is_product(&node.kind)).count();
        }
        let known = |name: &str| values.iter().any(|value| value.name == name);
        let requires: Vec<usize> = (0..contract.requires.len())
            .filter(|&i| contract.requires[i].expression.operands.iter().all(|(name, _)| known(name)))
            .collect();
        let (graph, claim, parts) = self.lower(&values, &requires, &equations);
        let cone = graph.cone(&[claim], usize::MAX).unwrap_or_default();
        let different = products(&graph, &cone);
        if different > MAX_PRODUCTS {
            return Err("it has more rounded products than a model checker can handle");
        }
        if compares_products(&graph, &cone) {
            return Err("it compares two rounded results, which model checkers cannot decide");
        }
        if written > different || bounds_a_quotient(&graph, &cone) {
            for (index, value) in values.iter_mut().enumerate() {
                value.short = has_short_values(&value.domain) && feeds_a_product(&graph, &cone, index);
            }
        }
        if !certify::proves(&graph, values.iter().map(|value| &value.domain), &parts.required, claim) {
            return Err("the claim needs more equations than a model checker can handle");
        }
        let cover = self.cover(&values, &equations, &graph, &parts)?;
        Ok(Property { values, requires, equations, classifiers: self.classifiers.clone(), cover })
    }

    /// Lowers the claim over `values`, and returns the node of each part of its formula and of each name.
    fn lower(&self, values: &[Value], requires: &[usize], equations: &[usize]) -> (Graph, Id, Parts) {
        let contract = self.contract;
        let mut graph = Graph::default();
        let mut names: BTreeMap<String, Id> = BTreeMap::new();
        for (index, value) in values.iter().enumerate() {
            names.insert(value.name.clone(), graph.add(Op::Quantity(index)));
        }
        let quantities = BTreeMap::new();
        let mut classes: BTreeMap<String, Vec<(String, Id)>> = BTreeMap::new();
        for (name, id) in &names {
            let cases = contract.quantity(name).map(|index| contract.quantities[index].cases.as_slice());
            if let Some(cases) = cases.filter(|cases| !cases.is_empty()) {
                classes.insert(name.clone(), graph.cases(*id, cases));
            }
        }
        let parts_of = |graph: &mut Graph, formula: &Formula, names: &BTreeMap<String, Id>, classes: &_| {
            let mut lowering =
                Lowering { graph, values: names, classes, quantities: &quantities, substituted: Vec::new() };
            lowering.lower_all(formula)
        };
        let mut required = Vec::new();
        for &index in requires {
            let formula = &contract.requires[index].expression.formula;
            required.push(parts_of(&mut graph, formula, &names, &classes)[formula.root]);
        }
        for &index in equations {
            let equation = &contract.equations[index];
            let formula = &equation.expression.formula;
            let parts = parts_of(&mut graph, formula, &names, &classes);
            names.insert(equation.name.clone(), parts[formula.root]);
        }
        for &index in &self.classifiers {
            let classifier = &contract.classifiers[index];
            let mut none_before = graph.add(Op::Bool(true));
            let mut cases = Vec::new();
            for case in &classifier.cases {
                let chosen = match &case.condition {
                    None => none_before,
                    Some(condition) => {
                        let formula = &condition.formula;
                        let id = parts_of(&mut graph, formula, &names, &classes)[formula.root];
                        let not = graph.add(Op::Not(id));
                        let chosen = graph.add(Op::And(none_before, id));
                        none_before = graph.add(Op::And(none_before, not));
                        chosen
                    }
                };
                cases.push((case.variant.clone(), chosen));
            }
            classes.insert(classifier.name.clone(), cases);
        }
        let formula = &self.obligation.formula;
        let nodes = parts_of(&mut graph, formula, &names, &classes);
        let claim = nodes[formula.root];
        (graph, claim, Parts { nodes, names, required })
    }

    /// The first interesting condition that is true at some point.
    fn cover(
        &self,
        values: &[Value],
        equations: &[usize],
        graph: &Graph,
        parts: &Parts,
    ) -> Result<Cover, &'static str> {
        let formula = &self.obligation.formula;
        let mut graph = graph.clone();
        let mut candidates: Vec<(Cover, Id)> = Vec::new();
        if let Kind::Binary(Binary::Implies | Binary::Iff | Binary::Or, a, _) = formula.top().kind {
            candidates.push((Cover::Part(a), parts.nodes[a]));
        }
        for &index in equations {
            let equation = &self.contract.equations[index];
            let formula = &equation.expression.formula;
            if let Kind::Call(Function::Min | Function::Max, arguments) = &formula.top().kind
                && let Some(Kind::Name(first)) = arguments.first().map(|&first| &formula.nodes[first].kind)
            {
                let equal = graph.add(Op::Equal(parts.names[&equation.name], parts.names[first]));
                candidates.push((Cover::Takes(equation.name.clone(), first.clone()), equal));
            }
        }
        if let Kind::Binary(operator, a, b) = formula.top().kind
            && operator.is_comparison()
        {
            let equal = graph.add(Op::Equal(parts.nodes[a], parts.nodes[b]));
            candidates.push((Cover::Differs(a, b), graph.add(Op::Not(equal))));
        }
        let roots: Vec<Id> = candidates.iter().map(|(_, id)| *id).collect();
        let mut evaluator = Evaluator::new(&graph, &[&roots[..], &parts.required].concat());
        let mut random = Random(0x0063_6f76_6572);
        let mut seen = vec![0; candidates.len()];
        let mut met = 0;
        for round in 0..COVER_POINTS {
            let point: Vec<f64> =
                values.iter().map(|value| sample(&value.domain, round, &mut random)).collect();
            evaluator.run(&point);
            if !parts.required.iter().all(|&id| evaluator.value(id).truth()) {
                continue;
            }
            met += 1;
            for (seen, root) in seen.iter_mut().zip(&roots) {
                *seen += usize::from(evaluator.value(*root).truth());
            }
            // The first candidate takes precedence.
            if met >= MIN_COVERED && seen.first().is_none_or(|&seen| seen >= MIN_COVERED) {
                break;
            }
        }
        if met < MIN_COVERED {
            return Err("points that satisfy the requirements are too rare for tests");
        }
        let found = candidates.into_iter().zip(seen).find(|(_, seen)| *seen >= MIN_COVERED);
        Ok(found.map_or(Cover::Reached, |((cover, _), _)| cover))
    }
}

/// A value like those of the generated tests: a limit, or uniform over the range or over the bits.
fn sample(domain: &Domain, round: usize, random: &mut Random) -> f64 {
    match random.below(12) {
        0..4 if !domain.integer && domain.set.is_empty() => linear(domain, random),
        4..6 if round < 200 => domain.low,
        6..8 if round < 200 => domain.high,
        _ => uniform(domain, random),
    }
}

struct Parts {
    nodes: Vec<Id>,
    names: BTreeMap<String, Id>,
    required: Vec<Id>,
}

fn is_loop_or_cast(kind: &Kind) -> bool {
    matches!(
        kind,
        Kind::Call(Function::Floor | Function::Ceil | Function::Pow | Function::Sqrt | Function::Mod, _)
            | Kind::Power(..)
    )
}

/// True if a domain is wide enough for numbers with few significant bits.
fn has_short_values(domain: &Domain) -> bool {
    let (low, high) = (domain.low, domain.high);
    (low <= 0.0 && high >= 0.0) || (low > 0.0 && high >= 2.0 * low) || (high < 0.0 && low <= 2.0 * high)
}

fn is_product(kind: &Kind) -> bool {
    matches!(kind, Kind::Binary(Binary::Multiply | Binary::Divide, ..))
}

fn products(graph: &Graph, nodes: &[Id]) -> usize {
    nodes.iter().filter(|&&id| matches!(graph.op(id), Op::Mul(..) | Op::Div(..))).count()
}

/// The two sides of a comparison or a choice.
fn compared(op: Op) -> Option<(Id, Id)> {
    match op {
        Op::Less(a, b) | Op::LessEqual(a, b) | Op::Equal(a, b) | Op::Min(a, b) | Op::Max(a, b) => {
            Some((a, b))
        }
        _ => None,
    }
}

/// True if a comparison has a rounded product or quotient on one side and a product, quotient or rounded sum on the other,
/// or two sums on one side and a sum on the other: model checkers cannot decide the order of chained sums either.
fn compares_products(graph: &Graph, claim: &[Id]) -> bool {
    let has = |id: Id, wanted: fn(Op) -> bool| {
        graph.cone(&[id], usize::MAX).is_some_and(|nodes| nodes.iter().any(|&id| wanted(graph.op(id))))
    };
    let product = |op| matches!(op, Op::Mul(..) | Op::Div(..));
    let rounded = |op| matches!(op, Op::Mul(..) | Op::Div(..) | Op::Add(..) | Op::Sub(..));
    let sums = |id: Id| {
        let nodes = graph.cone(&[id], usize::MAX).unwrap_or_default();
        nodes.iter().filter(|&&id| matches!(graph.op(id), Op::Add(..) | Op::Sub(..))).count()
    };
    claim.iter().filter_map(|&id| compared(graph.op(id))).any(|(a, b)| {
        (has(a, product) && has(b, rounded))
            || (has(a, rounded) && has(b, product))
            || (sums(a) > 0 && sums(b) > 0 && sums(a) + sums(b) > 2)
    })
}

/// True if the operands of a quotient, or a quotient and its dividend, are compared and the divisor is not a constant.
fn bounds_a_quotient(graph: &Graph, claim: &[Id]) -> bool {
    let mut pairs = claim.iter().filter_map(|&id| compared(graph.op(id)));
    let quotient = |a: Id, b: Id| {
        let is = |id: &Id| matches!(graph.op(*id), Op::Div(x, y) if (x, y) == (a, b) || (y, x) == (a, b));
        claim.iter().any(is)
    };
    let constant = |id: Id| matches!(graph.op(id), Op::Number(_));
    let divides = |a: Id, b: Id| matches!(graph.op(a), Op::Div(x, y) if x == b && !constant(y));
    pairs.any(|(a, b)| quotient(a, b) || divides(a, b) || divides(b, a))
}

/// True if a product or quotient depends on this value.
fn feeds_a_product(graph: &Graph, claim: &[Id], value: usize) -> bool {
    claim.iter().filter(|&&id| matches!(graph.op(id), Op::Mul(..) | Op::Div(..))).any(|&id| {
        let nodes = graph.cone(&[id], usize::MAX).unwrap_or_default();
        nodes.iter().any(|&id| graph.op(id) == Op::Quantity(value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::range::ranges;
    use crate::source::Source;

    const HEAD: &str = "\
metadata: {version: 1.0.0, description: x}
quantities:
  size: {unit: B, domain: '[1, 1e20]'}
  capacity: {unit: GB, domain: '[0.001, 1e6]'}
  narrow: {unit: GB, domain: '[3, 3.001]'}
  share: {unit: '1', domain: '[0, 1]'}
  efficiency: {unit: '1', domain: '[0.1, 1]'}
equations:
  slowed: {formula: size / efficiency, unit: B}
  halved: {formula: size / 2, unit: B}
  more: {formula: size + size + size, unit: B}
  part: {formula: 'size / (capacity * 1e9 [B/GB])', unit: '1'}
  rest: {formula: size + size * share, unit: B}
classifiers:
  feasibility: {cases: [{Fits: 'size <= capacity * 1e9 [B/GB]'}, {TooLarge: otherwise}]}
  tight: {cases: [{Fits: 'size <= narrow * 1e9 [B/GB]'}, {TooLarge: otherwise}]}
obligations:
";

    /// The property of a claim, with the names of its short values.
    fn short(formal: &str) -> Result<Vec<String>, &'static str> {
        let text = format!("{HEAD}  - {{id: claim, type: invariant, formal: '{formal}'}}\n");
        let source = Source::from_bytes("x.yaml", text.into()).expect("text");
        let checked = crate::check_in(source, None);
        let contract = checked.contract.expect("a valid contract");
        let property = property(&contract, &ranges(&contract), &contract.obligations[0])?;
        Ok(property.values.into_iter().filter(|value| value.short).map(|value| value.name).collect())
    }

    #[test]
    fn repeated_products_have_short_operands() {
        assert_eq!(
            short("feasibility is Fits iff size <= capacity * 1e9 [B/GB]"),
            Ok(vec!["capacity".into()])
        );
        assert_eq!(short("part > 0"), Ok(vec![]));
    }

    #[test]
    fn quotients_compared_with_their_dividend_have_short_operands() {
        assert_eq!(short("slowed >= size"), Ok(vec!["size".into(), "efficiency".into()]));
        assert_eq!(short("slowed > 0"), Ok(vec![]));
        assert_eq!(short("halved <= size"), Ok(vec![]));
    }

    #[test]
    fn domains_without_short_numbers_are_not_reduced() {
        assert_eq!(short("tight is Fits iff size <= narrow * 1e9 [B/GB]"), Ok(vec![]));
    }

    #[test]
    fn comparisons_of_products_with_sums_are_rejected() {
        let reason = "it compares two rounded results, which model checkers cannot decide";
        assert_eq!(short("rest <= size + size"), Err(reason));
        assert_eq!(short("rest >= size"), Ok(vec![]));
        assert_eq!(short("more >= size + 1 [B]"), Err(reason));
    }

    #[test]
    fn classifiers_have_properties_with_short_operands_of_products() {
        let source = Source::from_bytes("x.yaml", format!("{HEAD}  []\n").into()).expect("text");
        let contract = crate::check_in(source, None).contract.expect("a valid contract");
        let ranges = ranges(&contract);
        let short = |classifier| {
            let property = choice(&contract, &ranges, classifier).expect("it has one");
            property.values.into_iter().map(|value| (value.name, value.short)).collect::<Vec<_>>()
        };
        assert_eq!(short(0), [("size".to_owned(), true), ("capacity".to_owned(), true)]);
        assert_eq!(short(1), [("size".to_owned(), true), ("narrow".to_owned(), false)]);
    }
}
