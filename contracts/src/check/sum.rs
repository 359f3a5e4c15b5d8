//! Sums over the rows of a profile table: resolves the table and the columns, and expands the terms.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::contract::{Contract, Entry, Field, FieldKind, Table, Value};
use crate::formula::{Formula, Sum};
use crate::report::{Diagnostic, Report, Rule};
use crate::source::{Span, Text, shorten};
use crate::suggest;
use crate::types::{self, Meaning, Place, Scope, Type};
use crate::unit::Unit;
use crate::yaml::Node;

use super::unchecked::UncheckedContract;

/// The columns of each table.
pub type Columns = BTreeMap<String, Vec<String>>;

/// The names of the columns of all tables in the file and in its dependencies; they are checked later.
pub fn columns(tables: &[(Text, Node)], dependencies: &[Arc<Contract>]) -> Columns {
    let names = |table: &Table| table.fields.iter().map(|field| field.name.clone()).collect::<Vec<_>>();
    let taken = dependencies.iter().rev().flat_map(|contract| &contract.profiles);
    let mut known: Columns = taken.map(|table| (table.name.clone(), names(table))).collect();
    for (name, node) in tables {
        let Node::Map(keys, _) = node else { continue };
        let own = keys.iter().find_map(|(key, value)| match value {
            Node::Map(fields, _) if key.value == "fields" => {
                Some(fields.iter().map(|(field, _)| field.value.clone()).collect())
            }
            Node::Text(extended) if key.value == "extends" => known.get(&extended.value).cloned(),
            _ => None,
        });
        known.insert(name.value.clone(), own.unwrap_or_default());
    }
    known
}

impl UncheckedContract {
    /// Expands every sum in this contract's own formulas.
    pub fn expand_sums(&mut self, report: &mut Report) {
        let UncheckedContract { tables, dependencies, scope, requires, equations, .. } = self;
        let taken = dependencies.iter().flat_map(|contract| &contract.profiles);
        let tables: Vec<&Table> = tables.iter().chain(taken).collect();
        let mut expand = |formula: &mut Formula, place: Place| {
            if formula.sums().next().is_none() {
                return;
            }
            match formula.expand_sums(|sum| rows(sum, place, &tables, scope, report)) {
                Ok(written) => *formula = written,
                Err(error) => report.add(error.into()),
            }
        };
        for requirement in requires {
            expand(&mut requirement.formula, Place::Requirement);
        }
        for equation in equations {
            expand(&mut equation.statement.formula, Place::Equation);
        }
        for classifier in &mut self.classifiers {
            for (_, condition, _) in &mut classifier.cases {
                condition.iter_mut().for_each(|condition| expand(condition, Place::Equation));
            }
        }
        for advice in &mut self.recommendations {
            expand(&mut advice.when, Place::Recommendation);
        }
        for obligation in &mut self.obligations {
            expand(&mut obligation.formula, Place::Obligation);
        }
    }
}

fn wrong(span: Span, message: String) -> Diagnostic {
    Diagnostic::error(span, message).rule(Rule::Formula)
}

/// The unit of a sum and the values of its columns, row by row; none if the sum has an error.
fn rows(
    sum: &Sum,
    place: Place,
    tables: &[&Table],
    scope: &Scope,
    report: &mut Report,
) -> Option<(Unit, Vec<BTreeMap<String, f64>>)> {
    let table = find(sum, tables, scope, report)?;
    let mut inner = scope.clone();
    let mut used: Vec<(usize, &Field)> = Vec::new();
    let mut complete = true;
    for (index, field) in table.fields.iter().enumerate() {
        let mention = sum.body.mentions().into_iter().find(|(name, _)| *name == field.name);
        let Some((_, span)) = mention else { continue };
        match field.kind {
            FieldKind::Number { unit, .. } => {
                inner.insert(&field.name, Meaning::Number(unit));
                used.push((index, field));
                complete &= is_given(table, index, field, span, report);
            }
            FieldKind::Text { .. } => {
                let message =
                    format!("column `{}` of table `{}` holds strings, not numbers", field.name, table.name);
                report.add(wrong(span, message).note(format!("numeric columns: {}", numbers(table))));
                inner.insert(&field.name, Meaning::Wrong);
                complete = false;
            }
        }
    }
    for (name, span) in sum.body.mentions() {
        if inner.get(name).is_some() || scope.incomplete {
            continue;
        }
        let message = format!("unknown column `{}` in table `{}`", shorten(name), table.name);
        let mut diagnostic = wrong(span, message);
        let columns = table.fields.iter().map(|field| field.name.as_str());
        if let Some(near) = suggest::closest(name, columns) {
            diagnostic = diagnostic.label(format!("did you mean `{near}`?"));
        }
        let columns = numbers(table);
        report.add(
            diagnostic.note(format!(
                "numeric columns: {columns}; any other name must be a quantity or an equation"
            )),
        );
        inner.insert(name, Meaning::Wrong);
        complete = false;
    }
    let unit = match types::check(&sum.body, place, &inner, report) {
        Type::Number(unit) => unit,
        Type::Zero => Unit::ONE,
        Type::Unknown => return None,
        other => {
            let message = format!("expected a number in a sum, found {}", other.what());
            report.add(
                wrong(sum.body.top().span, message).note("to count rows, write `if condition then 1 else 0`"),
            );
            return None;
        }
    };
    if table.entries.is_empty() {
        report.add(wrong(sum.table.1, format!("table `{}` has no rows to sum", table.name)));
    }
    let value = |entry: &Entry, index: usize| match entry.values[index] {
        Value::Number(value) => value,
        Value::Absent | Value::Text(_) => f64::NAN,
    };
    let row = |entry: &Entry| {
        used.iter().map(|(index, field)| (field.name.clone(), value(entry, *index))).collect()
    };
    (complete && !table.entries.is_empty()).then(|| (unit, table.entries.iter().map(row).collect()))
}

/// The table of a sum.
fn find<'t>(sum: &Sum, tables: &[&'t Table], scope: &Scope, report: &mut Report) -> Option<&'t Table> {
    let (name, span) = &sum.table;
    let found = tables.iter().find(|table| table.name == *name);
    if found.is_none() && !scope.incomplete {
        let diagnostic = match scope.get(name) {
            // The error in the table was reported.
            Some(Meaning::Table | Meaning::Wrong) => return None,
            Some(_) => wrong(*span, format!("`{name}` is not a profile table")),
            None => wrong(*span, format!("unknown profile table `{}`", shorten(name))),
        };
        let mut known: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
        known.dedup();
        let diagnostic = match suggest::closest(name, known.iter().copied()) {
            Some(near) => diagnostic.label(format!("did you mean `{near}`?")),
            None => diagnostic,
        };
        report.add(match known.is_empty() {
            true => {
                diagnostic.note("define it under `profiles`, here or in a contract listed in `depends_on`")
            }
            false => diagnostic.note(format!("expected one of: {}", known.join(", "))),
        });
    }
    found.copied()
}

fn numbers(table: &Table) -> String {
    let of_numbers = table.fields.iter().filter(|field| matches!(field.kind, FieldKind::Number { .. }));
    let names: Vec<&str> = of_numbers.map(|field| field.name.as_str()).collect();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

/// Checks that a row has a value for a column.
fn is_given(table: &Table, index: usize, field: &Field, span: Span, report: &mut Report) -> bool {
    let missing = table.entries.iter().find(|entry| entry.values[index] == Value::Absent);
    // A missing value of a required column is reported with the row.
    if let Some(entry) = missing.filter(|_| field.optional) {
        let message =
            format!("missing value of `{}` in row `{}` of table `{}`", field.name, entry.name, table.name);
        let diagnostic =
            wrong(span, message).note("a sum covers every row; add the value and make the field required");
        report.add(if table.origin.is_none() { diagnostic.and(entry.span, "this row") } else { diagnostic });
    }
    missing.is_none()
}
