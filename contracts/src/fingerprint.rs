//! Fingerprints of meaning: SHA-256 of computations and claims, independent of their notation.
//!
//! Prose, layout, the notation of numbers and table rows that no formula sums do not affect a fingerprint.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Display, Write};

use crate::contract::{
    Claim, Classifier, Contract, Expression, FieldKind, Obligation, Operand, Table, Value,
};
use crate::domain::Domain;
use crate::formula::{Formula, Kind};
use crate::graph::{Id, Op};

/// Fingerprint of an obligation: the claim, the graph and the generated functions it depends on, the domains of their
/// quantities and the requirements on these.
pub fn obligation(contract: &Contract, obligation: &Obligation) -> String {
    let mut roots: Vec<Id> = obligation.substituted.iter().map(|&(_, node)| node).collect();
    roots.extend(obligation.assumed.iter().chain(&obligation.vacuous_when));
    let (of, direction) = match obligation.claim {
        Claim::Always(node) => (node, String::new()),
        Claim::Monotone { of, increasing, quantity, within } => {
            (of, format!("{increasing} {} {:016x}", contract.quantities[quantity].name, within.to_bits()))
        }
    };
    roots.push(of);
    let mentions = |classifier: &&Classifier| {
        let is = |kind: &Kind| matches!(kind, Kind::Is(name, ..) if *name == classifier.name);
        obligation.formula.nodes.iter().any(|node| is(&node.kind))
    };
    let classifiers: Vec<&Classifier> = contract.classifiers.iter().filter(mentions).collect();
    let mut meaning = Meaning::new(contract, roots, &obligation.operands, &classifiers);
    meaning.line("claim", &[&obligation.id, &obligation.kind.word(), &meaning.node(of), &direction]);
    for &(quantity, node) in &obligation.substituted {
        meaning.line("substituted", &[&contract.quantities[quantity].name, &meaning.node(node)]);
    }
    for &node in &obligation.assumed {
        meaning.line("assumed", &[&meaning.node(node)]);
    }
    meaning.sha256()
}

/// Fingerprint of a classifier: its cases and their dependencies.
pub fn classifier(contract: &Contract, classifier: &Classifier) -> String {
    Meaning::new(contract, Vec::new(), &[], &[classifier]).sha256()
}

/// Fingerprint of the inputs: names, domains and requirements.
pub fn inputs(contract: &Contract) -> String {
    let all: Vec<(String, Operand)> = (contract.quantities.iter().enumerate())
        .map(|(index, quantity)| (quantity.name.clone(), Operand::Quantity(index)))
        .collect();
    Meaning::new(contract, Vec::new(), &all, &[]).sha256()
}

/// Fingerprint of a contract's own items: quantities, requirements, equations, classifiers, recommendations, obligations
/// and the columns of tables. It must not change without a new version of the contract.
pub fn contract(contract: &Contract) -> String {
    let mut text = Lines::default();
    for quantity in contract.quantities.iter().filter(|quantity| quantity.origin.is_none()) {
        let default = quantity.default.map(f64::to_bits);
        let cases = quantity.cases.join(" ");
        text.line(
            "quantity",
            &[&quantity.name, &quantity.unit, &values(&quantity.domain), &cases, &format!("{default:?}")],
        );
    }
    for requirement in contract.requires.iter().filter(|requirement| requirement.origin.is_none()) {
        text.line("requirement", &[&written(contract, &requirement.expression.formula)]);
    }
    for equation in contract.equations.iter().filter(|equation| equation.origin.is_none()) {
        let bounds = equation.bounds.as_deref().unwrap_or_default();
        text.line(
            "equation",
            &[&equation.name, &equation.unit, &bounds, &written(contract, &equation.expression.formula)],
        );
    }
    for classifier in contract.classifiers.iter().filter(|classifier| classifier.origin.is_none()) {
        for case in &classifier.cases {
            let condition = |expression: &Expression| written(contract, &expression.formula);
            let condition = case.condition.as_ref().map(condition).unwrap_or_default();
            text.line("case", &[&classifier.name, &case.variant, &condition]);
        }
    }
    for recommendation in &contract.recommendations {
        let when = written(contract, &recommendation.when.formula);
        text.line("recommendation", &[&recommendation.name, &recommendation.priority.word(), &when]);
    }
    for obligation in &contract.obligations {
        text.line(
            "obligation",
            &[&obligation.id, &obligation.kind.word(), &written(contract, &obligation.formula)],
        );
    }
    for table in contract.profiles.iter().filter(|table| table.origin.is_none()) {
        for field in &table.fields {
            let kind = match &field.kind {
                FieldKind::Number { unit, domain, .. } => format!("{unit} {}", values(domain)),
                FieldKind::Text { one_of } => format!("text {}", one_of.join(" ")),
            };
            text.line("column", &[&table.name, &field.name, &field.optional, &kind]);
        }
    }
    text.sha256()
}

/// The values of a domain, independent of its notation.
fn values(domain: &Domain) -> String {
    let bits = |value: f64| format!("{:016x}", value.to_bits());
    let set: Vec<String> = domain.set.iter().map(|&value| bits(value)).collect();
    format!("{} {} {} {{{}}}", domain.integer, bits(domain.low), bits(domain.high), set.join(" "))
}

/// The canonical form of a formula, with the columns of its sums.
fn written(contract: &Contract, formula: &Formula) -> String {
    let mut text = formula.to_string();
    for sum in formula.sums() {
        let names = sum.body.names();
        if let Some(table) = contract.table(&sum.table.0) {
            let _ = write!(text, "; {}", summed(table, &names));
        }
    }
    text
}

/// The values of the named columns of a table, row by row.
fn summed(table: &Table, names: &[&str]) -> String {
    let columns: Vec<usize> =
        (0..table.fields.len()).filter(|&index| names.contains(&table.fields[index].name.as_str())).collect();
    let value = |value: &Value| match value {
        Value::Absent => "absent".to_owned(),
        Value::Number(number) => format!("{:016x}", number.to_bits()),
        Value::Text(text) => text.clone(),
    };
    let row =
        |values: &[Value]| columns.iter().map(|&index| value(&values[index])).collect::<Vec<_>>().join(" ");
    table.entries.iter().map(|entry| row(&entry.values)).collect::<Vec<_>>().join(", ")
}

/// Lines of words, joined by separators that do not occur in words.
#[derive(Default)]
struct Lines(Vec<String>);

impl Lines {
    fn line(&mut self, what: &str, words: &[&dyn Display]) {
        let words: String = words.iter().map(|word| format!("\0{word}")).collect();
        self.0.push(format!("{what}{words}"));
    }

    fn sha256(&self) -> String {
        sha256(&self.0.join("\n"))
    }
}

fn sha256(text: &str) -> String {
    hmac_sha256::Hash::hash(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The meaning of a part of a contract. Nodes are identified by a hash over their operands and lines are unordered, so the
/// position of a node or an item in the contract does not matter.
struct Meaning {
    nodes: BTreeMap<Id, String>,
    lines: Lines,
}

impl Meaning {
    /// Collects everything that the nodes, the operands and the classifiers depend on.
    fn new(
        contract: &Contract,
        mut roots: Vec<Id>,
        operands: &[(String, Operand)],
        classifiers: &[&Classifier],
    ) -> Meaning {
        let mut pending: Vec<Operand> = (operands.iter())
            .chain(classifiers.iter().flat_map(|classifier| &classifier.operands))
            .map(|&(_, operand)| operand)
            .collect();
        let (mut quantities, mut equations) = (BTreeSet::new(), BTreeSet::new());
        while let Some(operand) = pending.pop() {
            match operand {
                Operand::Quantity(index) => drop(quantities.insert(index)),
                Operand::Equation(index) if equations.insert(index) => {
                    let expression = &contract.equations[index].expression;
                    roots.push(expression.id);
                    pending.extend(expression.operands.iter().map(|&(_, operand)| operand));
                }
                Operand::Equation(_) => {}
            }
        }
        roots.extend(classifiers.iter().flat_map(|classifier| &classifier.cases).map(|case| case.chosen));
        quantities.extend(quantities_under(contract, &roots));
        let required = binding(contract, &mut quantities);
        roots.extend(&required);

        let mut meaning = Meaning { nodes: BTreeMap::new(), lines: Lines::default() };
        for id in contract.graph.reachable(&roots) {
            let op = contract.graph.op(id);
            let text = match op {
                Op::Quantity(index) => format!("Quantity {}", contract.quantities[index].name),
                Op::Number(_) | Op::Bool(_) => format!("{op:?}"),
                _ => {
                    let name = format!("{op:?}");
                    let operands: Vec<String> = op.operands().map(|operand| meaning.node(operand)).collect();
                    format!("{} {}", name.split('(').next().unwrap_or_default(), operands.join(" "))
                }
            };
            meaning.nodes.insert(id, sha256(&text));
        }
        for &index in &quantities {
            let quantity = &contract.quantities[index];
            meaning.line("quantity", &[&quantity.name, &values(&quantity.domain), &quantity.cases.join(" ")]);
        }
        for node in required {
            meaning.line("required", &[&meaning.node(node)]);
        }
        for &index in &equations {
            let equation = &contract.equations[index];
            meaning.line("equation", &[&equation.name, &meaning.node(equation.expression.id)]);
        }
        for classifier in classifiers {
            for case in &classifier.cases {
                meaning.line("case", &[&classifier.name, &case.variant, &meaning.node(case.chosen)]);
            }
        }
        meaning
    }

    fn node(&self, id: Id) -> String {
        self.nodes[&id].clone()
    }

    fn line(&mut self, what: &str, words: &[&dyn Display]) {
        self.lines.line(what, words);
    }

    fn sha256(mut self) -> String {
        self.lines.0.sort_unstable();
        self.lines.sha256()
    }
}

fn quantities_under(contract: &Contract, roots: &[Id]) -> BTreeSet<usize> {
    let nodes = contract.graph.reachable(roots).into_iter();
    nodes
        .filter_map(|id| match contract.graph.op(id) {
            Op::Quantity(index) => Some(index),
            _ => None,
        })
        .collect()
}

/// Returns the requirements on these quantities and adds the other quantities in those requirements.
fn binding(contract: &Contract, quantities: &mut BTreeSet<usize>) -> Vec<Id> {
    let mut required: Vec<(Id, BTreeSet<usize>)> =
        contract.required().into_iter().map(|id| (id, quantities_under(contract, &[id]))).collect();
    let mut found = Vec::new();
    while let Some(position) = required.iter().position(|(_, bound)| !bound.is_disjoint(quantities)) {
        let (id, bound) = required.remove(position);
        quantities.extend(bound);
        found.push(id);
    }
    found
}
