//! Mutants: contracts with one injected error, to find gaps in the obligations.
//!
//! A mutant is the text of the contract with one small edit and passes through the whole compiler. Most mutants fail the
//! unit check before their obligations are checked.

use crate::certify::first_failure;
use crate::compile::recheck;
use crate::contract::{Claim, Contract};
use crate::eval;
use crate::formula::{Binary, Formula, Function, Kind, NodeId};
use crate::graph::Id;
use crate::sample::{Random, RequirementRepair, large, special, uniform};
use crate::source::{Source, Span};

/// Number of points at which a mutant is compared with the contract.
const POINTS: usize = 2_000;

/// A contract with one edit.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// The place, `file:line:column`.
    pub place: String,
    /// The edit, such as `model_bytes: * to /`.
    pub change: String,
    text: String,
}

/// The outcome of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Rejected by the check of names, units or domains.
    Rejected,
    /// This obligation is refuted or unknown.
    Killed(String),
    /// The mutant computes the same values.
    Equivalent,
    /// The mutant computes other values, and every obligation still holds.
    Survived,
}

/// An edit: the replaced place, the new text and a description.
type Edit = (Span, String, String);

/// All mutants of a contract's own equations and classifiers.
pub fn mutants(contract: &Contract) -> Vec<Mutant> {
    let text = &contract.source.text;
    let mut edits: Vec<Edit> = Vec::new();
    for equation in contract.equations.iter().filter(|equation| equation.origin.is_none()) {
        formula_edits(text, &equation.name, &equation.expression.formula, &mut edits);
    }
    for classifier in contract.classifiers.iter().filter(|classifier| classifier.origin.is_none()) {
        for case in classifier.cases.iter().filter_map(|case| case.condition.as_ref()) {
            formula_edits(text, &classifier.name, &case.formula, &mut edits);
        }
        for pair in classifier.cases.windows(2) {
            let [first, second] = [pair[0].span, pair[1].span];
            let span = Span { start: first.start, end: second.end };
            let (Some(a), Some(b)) = (text.get(first.start..first.end), text.get(second.start..second.end))
            else {
                continue;
            };
            let Some(between) = text.get(first.end..second.start) else { continue };
            let change = format!("{}: {a} and {b} swapped", classifier.name);
            edits.push((span, format!("{b}{between}{a}"), change));
        }
    }
    let mutant = |(span, new, change): Edit| {
        let (before, after) = (text.get(..span.start)?, text.get(span.end..)?);
        let place = contract.source.place(span);
        Some(Mutant { place, change, text: format!("{before}{new}{after}") })
    };
    edits.into_iter().filter_map(mutant).collect()
}

fn formula_edits(text: &str, name: &str, formula: &Formula, edits: &mut Vec<Edit>) {
    let span = |id: NodeId| formula.nodes[id].span;
    let slice = |span: Span| text.get(span.start..span.end);
    let written = formula.nodes.iter().zip(formula.expanded_nodes()).filter(|(_, expanded)| !expanded);
    for (node, _) in written {
        match &node.kind {
            Kind::Sum(sum) => formula_edits(text, name, &sum.body, edits),
            Kind::Binary(operator, a, b) => {
                let gap = Span { start: span(*a).end, end: span(*b).start };
                let Some(between) = slice(gap) else { continue };
                for other in replacements(*operator) {
                    let Some((at, symbol)) = find_symbol(between, *operator) else { continue };
                    let mut new = between.to_owned();
                    new.replace_range(at..at + symbol.len(), other.symbol());
                    edits.push((gap, new, format!("{name}: {} to {}", operator.symbol(), other.symbol())));
                }
                if *operator == Binary::Multiply {
                    for (kept, dropped) in [(*a, *b), (*b, *a)] {
                        let (Some(new), Some(gone)) = (slice(span(kept)), slice(span(dropped))) else {
                            continue;
                        };
                        let whole = Span { start: span(*a).start, end: span(*b).end };
                        // Parentheses across the operator stay balanced only if both sides are removed.
                        if balanced(new) && slice(whole).is_some_and(balanced) {
                            edits.push((whole, new.to_owned(), format!("{name}: without the factor {gone}")));
                        }
                    }
                }
            }
            Kind::Number { value, .. } => {
                let Some(written) = slice(node.span) else { continue };
                let digits = written
                    .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '-')))
                    .unwrap_or(written.len());
                let new = format!("{}{}", crate::formula::number(value * 2.0), &written[digits..]);
                if written.starts_with(|c: char| c.is_ascii_digit() || c == '.') && *value != 0.0 {
                    edits.push((node.span, new, format!("{name}: {} doubled", &written[..digits])));
                }
            }
            Kind::Call(function @ (Function::Min | Function::Max), _) => {
                let (from, to) = if *function == Function::Min { ("min", "max") } else { ("max", "min") };
                if slice(node.span).is_some_and(|written| written.starts_with(from)) {
                    let word = Span { start: node.span.start, end: node.span.start + from.len() };
                    edits.push((word, to.to_owned(), format!("{name}: {from} to {to}")));
                }
            }
            Kind::Call(
                Function::Floor
                | Function::Ceil
                | Function::Pow
                | Function::Sqrt
                | Function::Abs
                | Function::Mod
                | Function::Finite
                | Function::Given,
                _,
            )
            | Kind::Within(..)
            | Kind::Name(_)
            | Kind::Quote(_)
            | Kind::Negate(_)
            | Kind::Not(_)
            | Kind::Power(..)
            | Kind::If(..)
            | Kind::Is(..)
            | Kind::Substitute(..)
            | Kind::Monotone { .. } => {}
        }
    }
}

fn replacements(operator: Binary) -> &'static [Binary] {
    match operator {
        Binary::Add => &[Binary::Subtract],
        Binary::Subtract => &[Binary::Add],
        Binary::Multiply => &[Binary::Divide],
        Binary::Divide => &[Binary::Multiply],
        Binary::Less => &[Binary::LessEqual, Binary::Greater],
        Binary::LessEqual => &[Binary::Less, Binary::GreaterEqual],
        Binary::Greater => &[Binary::GreaterEqual, Binary::Less],
        Binary::GreaterEqual => &[Binary::Greater, Binary::LessEqual],
        Binary::Equal | Binary::NotEqual | Binary::And | Binary::Or | Binary::Implies | Binary::Iff => &[],
    }
}

/// The operator between two operands, in any notation.
fn find_symbol(between: &str, operator: Binary) -> Option<(usize, &'static str)> {
    let spellings: &[&'static str] = match operator {
        Binary::Multiply => &["*", "×", "·"],
        Binary::Divide => &["/", "÷"],
        Binary::Subtract => &["-", "−"],
        Binary::LessEqual => &["<=", "≤"],
        Binary::GreaterEqual => &[">=", "≥"],
        Binary::Add => &["+"],
        Binary::Less => &["<"],
        Binary::Greater => &[">"],
        Binary::Equal => &["=="],
        Binary::NotEqual => &["!=", "≠"],
        Binary::And => &["and"],
        Binary::Or => &["or"],
        Binary::Implies => &["implies"],
        Binary::Iff => &["iff"],
    };
    spellings.iter().find_map(|symbol| between.find(symbol).map(|at| (at, *symbol)))
}

fn balanced(text: &str) -> bool {
    let mut open = 0i32;
    for character in text.chars() {
        open += match character {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        if open < 0 {
            return false;
        }
    }
    open == 0
}

impl Mutant {
    /// Compiles the mutant and proves the obligations that the edit affects.
    pub fn run(&self, contract: &Contract) -> Fate {
        let Ok(source) = Source::from_bytes(&contract.source.name, self.text.clone().into_bytes()) else {
            return Fate::Rejected;
        };
        let Some(mutated) = recheck(source, contract).contract else { return Fate::Rejected };
        if let Some(obligation) = first_failure(&mutated, &touched(contract, &mutated)) {
            return Fate::Killed(obligation);
        }
        if differs(contract, &mutated) { Fate::Survived } else { Fate::Equivalent }
    }
}

/// For each obligation of a mutant, true if its meaning differs from that in the contract.
fn touched(contract: &Contract, mutated: &Contract) -> Vec<bool> {
    let mut graph = contract.graph.clone();
    let mut ids: Vec<Id> = Vec::with_capacity(mutated.graph.ops().len());
    for op in mutated.graph.ops() {
        let op = op.map(|operand| ids[operand.index()]);
        ids.push(graph.add(op));
    }
    let moved = |id: &Id| ids[id.index()];
    let required: Vec<Id> = mutated.required().iter().map(moved).collect();
    let pairs = contract.obligations.iter().zip(&mutated.obligations);
    pairs
        .map(|(old, new)| {
            let claim = match new.claim {
                Claim::Always(condition) => Claim::Always(moved(&condition)),
                Claim::Monotone { of, increasing, quantity, within } => {
                    Claim::Monotone { of: moved(&of), increasing, quantity, within }
                }
            };
            let substituted: Vec<(usize, Id)> =
                new.substituted.iter().map(|(quantity, id)| (*quantity, moved(id))).collect();
            let assumed: Vec<Id> = new.assumed.iter().map(moved).collect();
            (claim, substituted, assumed) != (old.claim, old.substituted.clone(), old.assumed.clone())
                || required != contract.required()
        })
        .collect()
}

/// True if the results differ in any bit at a sampled point of the domain.
fn differs(contract: &Contract, mutated: &Contract) -> bool {
    let mut random = Random(0x6d75_7461_6e74);
    let mut repair = RequirementRepair::new(contract);
    let special: Vec<Vec<f64>> =
        contract.quantities.iter().map(|quantity| special(&quantity.domain)).collect();
    for round in 0..POINTS {
        let mut point: Vec<f64> = (contract.quantities.iter().zip(&special))
            .map(|(quantity, special)| match random.below(2) {
                0 if round % 2 == 0 => random.pick(special).copied().unwrap_or(quantity.domain.low),
                _ if round % 4 == 3 => large(&quantity.domain, &mut random),
                _ => uniform(&quantity.domain, &mut random),
            })
            .collect();
        repair.repair(&mut point, &mut random);
        let same = match (eval::evaluate(contract, &point), eval::evaluate(mutated, &point)) {
            (Ok(a), Ok(b)) => {
                let equal = |(x, y): (&f64, &f64)| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
                a.classes == b.classes && a.equations.iter().zip(&b.equations).all(equal)
            }
            (a, b) => a.is_err() && b.is_err(),
        };
        if !same {
            return true;
        }
    }
    false
}
