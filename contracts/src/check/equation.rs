//! Reading of equations: a name, a unit and a formula.

use crate::formula::Statement;
use crate::report::{Diagnostic, Report, Rule};
use crate::schema;
use crate::source::{Span, Text, shorten};
use crate::unit::Unit;
use crate::yaml::Node;

use super::reader::Fields;
use super::unchecked::Origin;
use crate::names::Names;

/// An equation with unresolved names.
pub struct UncheckedEquation {
    pub name: String,
    pub unit: Unit,
    pub unit_text: String,
    pub statement: Statement,
    pub doc: String,
    pub origin: Option<Origin>,
    pub span: Span,
}

/// Reads one equation.
pub fn read(key: &Text, node: &Node, names: &mut Names, report: &mut Report) -> Option<UncheckedEquation> {
    let what = format!("equation `{}`", key.value);
    let fields = Fields::read(node, key.span, &what, schema::EQUATION, &[], report)?;
    let unit_text = fields.text("unit", report);
    let unit = unit_text.and_then(|text| Unit::read(text, report));
    let doc = fields.string("doc", report);
    let text = fields.text("formula", report)?;
    let statement = Statement::parse(text).map_err(|error| report.add(error.into())).ok()?;
    match &statement.left {
        Some((left, span)) if statement.bound => {
            if *left == key.value {
                let message =
                    format!("the measured value of a bound cannot have the name of the equation, `{left}`");
                report.add(
                    Diagnostic::error(*span, message)
                        .rule(Rule::Name)
                        .note("the equation names the ceiling; write `measured <= ...`"),
                );
            }
            names.claim_as(&format!("{left}_within"), *span, "the check function of this bound", &[], report);
        }
        Some((left, span)) if *left != key.value => {
            let message =
                format!("the formula defines `{}`, but the equation is named `{}`", shorten(left), key.value);
            report.add(
                Diagnostic::error(*span, message)
                    .rule(Rule::Name)
                    .and(key.span, "the equation")
                    .note("use the same name or omit the left-hand side"),
            );
        }
        Some(_) | None => {}
    }
    Some(UncheckedEquation {
        name: key.value.clone(),
        unit: unit?,
        unit_text: unit_text.map(|text| text.value.trim().to_owned()).unwrap_or_default(),
        statement,
        doc,
        origin: None,
        span: key.span,
    })
}
