//! Content of the documentation of a contract, independent of the format.

use roofline_checker::Certificate;
use roofline_contracts::certify::trace;
use roofline_contracts::contract::{Contract, Equation, Expression, FieldKind, Table, Value};
use roofline_contracts::formula::number;
use roofline_contracts::prove::Proof;

/// A block of the documentation.
pub enum Block {
    /// A heading with its level, 1 to 3.
    Heading(u8, Vec<Inline>),
    /// Paragraph.
    Text(Vec<Inline>),
    /// Bulleted list.
    List(Vec<Vec<Inline>>),
    /// Table: headings and rows of cells.
    Grid(Vec<&'static str>, Vec<Vec<Vec<Inline>>>),
    /// Displayed formula.
    Formula(String),
    /// Summary with lines that are folded away.
    Folded(Vec<Inline>, Vec<String>),
}

/// An inline element.
#[derive(Clone)]
pub enum Inline {
    /// Plain text.
    Text(String),
    /// Name or formula, as in the contract.
    Code(String),
    /// Verdict of the prover.
    Verdict(&'static str),
}

fn text(text: impl Into<String>) -> Vec<Inline> {
    vec![Inline::Text(text.into())]
}

fn code(text: impl Into<String>) -> Vec<Inline> {
    vec![Inline::Code(text.into())]
}

/// Returns a name, followed by the contract that defines it.
fn with_origin(name: &str, origin: Option<&str>) -> Vec<Inline> {
    let mut parts = code(name);
    parts.extend(origin.map(|origin| Inline::Text(format!(" from {origin}"))));
    parts
}

/// Documents a contract; `proofs` has one proof per obligation.
pub fn page(contract: &Contract, certificate: &Certificate, proofs: &[Proof]) -> Vec<Block> {
    let mut blocks = Vec::new();
    front(contract, &mut blocks);
    quantities(contract, &mut blocks);
    equations(contract, &mut blocks);
    classifiers(contract, &mut blocks);
    for table in contract.profiles.iter().filter(|table| table.origin.is_none()) {
        profile(table, &mut blocks);
    }
    recommendations(contract, &mut blocks);
    obligations(contract, certificate, proofs, &mut blocks);
    blocks
}

fn front(contract: &Contract, blocks: &mut Vec<Block>) {
    let metadata = &contract.metadata;
    blocks.push(Block::Heading(1, text(format!("{} {}", metadata.id, metadata.version))));
    blocks.push(Block::Text(text(sentence(&metadata.description))));
    if !contract.dependencies.is_empty() {
        let mut line = text("It depends on ");
        for (at, dependency) in contract.dependencies.iter().enumerate() {
            if at > 0 {
                line.extend(text(", "));
            }
            line.extend(code(&dependency.metadata.id));
            line.extend(text(format!(" {}", dependency.metadata.version)));
        }
        line.extend(text("."));
        blocks.push(Block::Text(line));
    }
    if !metadata.references.is_empty() {
        blocks.push(Block::Heading(2, text("References")));
        blocks.push(Block::List(metadata.references.iter().map(text).collect()));
    }
}

fn sentence(text: &str) -> String {
    if text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}

fn quantities(contract: &Contract, blocks: &mut Vec<Block>) {
    if contract.quantities.is_empty() {
        return;
    }
    blocks.push(Block::Heading(2, text("Quantities")));
    let row = |quantity: &roofline_contracts::contract::Quantity| {
        vec![
            with_origin(&quantity.name, quantity.origin.as_deref()),
            code(&quantity.unit_text),
            code(quantity.domain.to_string()),
            quantity.default.map_or_else(Vec::new, |value| code(quantity.show(value))),
            text(&quantity.doc),
        ]
    };
    let rows = contract.quantities.iter().map(row).collect();
    blocks.push(Block::Grid(vec!["name", "unit", "domain", "default", "description"], rows));
    if contract.requires.is_empty() {
        return;
    }
    blocks.push(Block::Heading(2, text("Requirements")));
    blocks.push(Block::Text(text("Inputs must meet these conditions; everything below assumes them.")));
    for requirement in &contract.requires {
        blocks.push(Block::Formula(requirement.expression.formula.to_string()));
    }
}

fn equations(contract: &Contract, blocks: &mut Vec<Block>) {
    if contract.equations.is_empty() {
        return;
    }
    blocks.push(Block::Heading(2, text("Equations")));
    for equation in &contract.equations {
        blocks.push(Block::Heading(3, with_origin(&equation.name, equation.origin.as_deref())));
        if !equation.doc.is_empty() {
            blocks.push(Block::Text(text(&equation.doc)));
        }
        let measured = equation.bounds.as_ref().map_or(String::new(), |measured| format!("{measured} <= "));
        let formula = &equation.expression.formula;
        blocks.push(Block::Formula(format!("{measured}{} = {formula}", equation.name)));
        blocks.push(Block::Text(facts(equation)));
    }
}

fn facts(equation: &Equation) -> Vec<Inline> {
    let mut line = text("Unit: ");
    line.extend(code(&equation.unit_text));
    for (at, (name, _)) in equation.expression.operands.iter().enumerate() {
        line.extend(text(if at == 0 { "; computed from " } else { ", " }));
        line.extend(code(name));
    }
    if let Some(measured) = &equation.bounds {
        line.extend(text("; upper bound of the measured "));
        line.extend(code(measured));
    }
    line.extend(text("."));
    line
}

fn classifiers(contract: &Contract, blocks: &mut Vec<Block>) {
    if contract.classifiers.is_empty() {
        return;
    }
    blocks.push(Block::Heading(2, text("Classifiers")));
    blocks.push(Block::Text(text("The first case that holds is chosen.")));
    for classifier in &contract.classifiers {
        blocks.push(Block::Heading(3, with_origin(&classifier.name, classifier.origin.as_deref())));
        if !classifier.doc.is_empty() {
            blocks.push(Block::Text(text(&classifier.doc)));
        }
        let condition = |condition: &Option<Expression>| match condition {
            Some(condition) => code(condition.formula.to_string()),
            None => text("otherwise"),
        };
        let rows = classifier.cases.iter().map(|case| vec![code(&case.variant), condition(&case.condition)]);
        blocks.push(Block::Grid(vec!["case", "when"], rows.collect()));
    }
}

fn profile(table: &Table, blocks: &mut Vec<Block>) {
    let mut heading = text("Profiles: ");
    heading.extend(code(&table.name));
    blocks.push(Block::Heading(2, heading));
    if !table.doc.is_empty() {
        blocks.push(Block::Text(text(&table.doc)));
    }
    let kind = |kind: &FieldKind| match kind {
        FieldKind::Number { unit_text, .. } => code(unit_text),
        FieldKind::Text { .. } => text("text"),
    };
    let allowed = |kind: &FieldKind| match kind {
        FieldKind::Number { domain, .. } => code(domain.to_string()),
        FieldKind::Text { one_of } => text(one_of.join(", ")),
    };
    let fields = table.fields.iter().map(|field| {
        let optional = if field.optional { "optional" } else { "" };
        vec![code(&field.name), kind(&field.kind), allowed(&field.kind), text(optional), text(&field.doc)]
    });
    blocks.push(Block::Grid(vec!["field", "unit", "allowed", "", "description"], fields.collect()));
    let entry = |entry: &roofline_contracts::contract::Entry| {
        let values = table.fields.iter().zip(&entry.values).filter_map(|(field, value)| {
            let value = match (value, &field.kind) {
                (Value::Absent, _) => return None,
                (Value::Text(text), _) => text.clone(),
                (Value::Number(value), FieldKind::Number { unit_text, .. }) if unit_text != "1" => {
                    format!("{} {unit_text}", number(*value))
                }
                (Value::Number(value), _) => number(*value),
            };
            Some(format!("{} {value}", field.name))
        });
        let values: Vec<String> = values.collect();
        let source = format!("{}, as of {}", entry.source, entry.as_of);
        vec![code(&entry.name), text(values.join("; ")), text(source), text(&entry.doc)]
    };
    let rows = table.entries.iter().map(entry);
    blocks.push(Block::Grid(vec!["entry", "figures", "source", "description"], rows.collect()));
}

fn recommendations(contract: &Contract, blocks: &mut Vec<Block>) {
    if contract.recommendations.is_empty() {
        return;
    }
    blocks.push(Block::Heading(2, text("Recommendations")));
    let rows = contract.recommendations.iter().map(|advice| {
        vec![
            code(&advice.name),
            text(advice.priority.word()),
            code(advice.when.formula.to_string()),
            text(&advice.text),
        ]
    });
    blocks.push(Block::Grid(vec!["name", "priority", "when", "recommendation"], rows.collect()));
}

fn obligations(contract: &Contract, certificate: &Certificate, proofs: &[Proof], blocks: &mut Vec<Block>) {
    if contract.obligations.is_empty() {
        return;
    }
    blocks.push(Block::Heading(2, text("Obligations")));
    let about = "Each claim covers every f64 in the domains; verdicts are those of ";
    blocks.push(Block::Text([text(about), code("roofline contract prove"), text(".")].concat()));
    let pairs = || contract.obligations.iter().zip(proofs);
    let rows = pairs().map(|(obligation, proof)| {
        let fails = match obligation.if_fails.as_str() {
            "" => String::new(),
            meaning => format!("If it fails: {}", sentence(meaning)),
        };
        let meaning = [obligation.doc.as_str(), &fails].join(" ");
        vec![
            code(&obligation.id),
            code(obligation.formula.to_string()),
            vec![Inline::Verdict(proof.verdict.word())],
            text(meaning.trim()),
        ]
    });
    blocks.push(Block::Grid(vec!["id", "claim", "verdict", "meaning"], rows.collect()));
    blocks.push(Block::Heading(3, text("Proofs and counterexamples")));
    for (obligation, proof) in pairs() {
        let mut summary = code(&obligation.id);
        summary.extend(text(format!(": {}, ", proof.verdict)));
        let lines = match &proof.counterexample {
            Some(counterexample) => counterexample.to_string().lines().map(str::to_owned).collect(),
            None if proof.method == "certificate" => trace(contract, certificate, &proof.id),
            None => vec![format!("{} points tested", proof.points)],
        };
        summary.extend(text(proof.method));
        blocks.push(Block::Folded(summary, lines));
    }
}
