//! Requirements: relations between inputs, which everything else may assume if some point satisfies all of them.

use crate::contract::{Contract, Requirement, Table, Value};
use crate::eval::Evaluator;
use crate::formula::Formula;
use crate::report::{Diagnostic, Report, Rule};
use crate::sample::RequirementRepair;
use crate::source::Span;

use super::reader::Fields;

/// Maximum number of requirements of a contract.
const MAX_REQUIREMENTS: usize = 64;

/// A requirement with unresolved names.
pub struct UncheckedRequirement {
    pub formula: Formula,
    /// The contract it was imported from.
    pub origin: Option<String>,
}

/// Reads all requirements.
pub fn read(top: &Fields<'_>, report: &mut Report) -> Vec<UncheckedRequirement> {
    let texts = top.texts("requires", report);
    if let Some(text) = texts.get(MAX_REQUIREMENTS) {
        let message = format!("too many requirements; a contract may have at most {MAX_REQUIREMENTS}");
        report.add(Diagnostic::error(text.span, message).note("combine some of them with `and`"));
    }
    let formulas = texts.into_iter().take(MAX_REQUIREMENTS).filter_map(|text| Formula::read(text, report));
    formulas.map(|formula| UncheckedRequirement { formula, origin: None }).collect()
}

/// Reports unsatisfiable requirements, and defaults and profiles that violate requirements.
pub fn check(contract: &Contract, report: &mut Report) {
    let Some(first) = contract.requires.first() else { return };
    let own = contract.requires.iter().find(|requirement| requirement.origin.is_none()).unwrap_or(first);
    let span = match own.origin {
        None => own.expression.formula.top().span,
        // An imported requirement has no place in this file.
        Some(_) => Span { start: 0, end: contract.source.text.lines().next().map_or(0, str::len) },
    };
    if RequirementRepair::new(contract).witness().is_none() {
        let texts: Vec<String> =
            contract.requires.iter().map(|r| format!("`{}`", r.expression.formula)).collect();
        let message = match texts.as_slice() {
            [one] => format!("found no point of the domains that satisfies the requirement {one}"),
            many => format!("found no point of the domains that satisfies all of {}", many.join(", ")),
        };
        report.add(
            Diagnostic::error(span, message).rule(Rule::Domain).note("widen a domain or relax a requirement"),
        );
        return;
    }
    for requirement in contract.requires.iter().filter(|requirement| requirement.origin.is_none()) {
        let default = |quantity: usize| contract.quantities[quantity].default;
        if let Some(values) = unmet(contract, requirement, default) {
            let message = format!("the defaults violate this requirement: {values}");
            report.add(
                Diagnostic::error(requirement.expression.formula.top().span, message).rule(Rule::Domain),
            );
        }
    }
    for table in contract.profiles.iter().filter(|table| table.origin.is_none()) {
        check_table(contract, table, report);
    }
}

fn check_table(contract: &Contract, table: &Table, report: &mut Report) {
    for entry in &table.entries {
        let value = |quantity: usize| {
            let set =
                table.fields.iter().zip(&entry.values).find(|(field, _)| field.quantity == Some(quantity));
            match set? {
                (_, Value::Number(value)) => Some(*value),
                (_, Value::Text(case)) => contract.quantities[quantity].case(case),
                (_, Value::Absent) => None,
            }
        };
        for requirement in &contract.requires {
            if let Some(values) = unmet(contract, requirement, value) {
                let formula = &requirement.expression.formula;
                let message =
                    format!("profile `{}` violates the requirement `{formula}`: {values}", entry.name);
                let mut diagnostic = Diagnostic::error(entry.span, message).rule(Rule::Profile);
                if requirement.origin.is_none() {
                    diagnostic = diagnostic.and(formula.top().span, "required here");
                }
                report.add(diagnostic);
            }
        }
    }
}

/// The values that violate a requirement; none if a value is missing.
fn unmet(
    contract: &Contract,
    requirement: &Requirement,
    value: impl Fn(usize) -> Option<f64>,
) -> Option<String> {
    let mut point = vec![f64::NAN; contract.quantities.len()];
    let mut shown = Vec::new();
    for (name, _) in &requirement.expression.operands {
        let quantity = contract.quantity(name)?;
        point[quantity] = value(quantity)?;
        shown.push(format!("{name} = {}", contract.quantities[quantity].show(point[quantity])));
    }
    let id = requirement.expression.id;
    let met = Evaluator::new(&contract.graph, &[id]).run(&point).value(id).truth();
    (!met).then(|| shown.join(", "))
}
