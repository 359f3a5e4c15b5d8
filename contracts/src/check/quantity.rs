//! Reading of quantities: the inputs, each with a unit and a domain or with named cases, and optionally a default.

use crate::contract::Quantity;
use crate::domain::Domain;
use crate::formula;
use crate::names::{self, Names, Style};
use crate::report::{Diagnostic, Report, Rule};
use crate::schema;
use crate::source::{Text, shorten};
use crate::unit::Unit;
use crate::yaml::Node;

use super::reader::Fields;

/// Reads one quantity.
pub fn read(key: &Text, node: &Node, report: &mut Report) -> Option<Quantity> {
    let what = format!("quantity `{}`", key.value);
    let fields = Fields::read(node, key.span, &what, schema::QUANTITY, &[], report)?;
    if fields.node("one_of").is_some() {
        return enumeration(key, &fields, report);
    }
    let unit_text = fields.text("unit", report);
    if fields.node("unit").is_none() {
        let doc = schema::QUANTITY.iter().find(|key| key.name == "unit").map_or("", |key| key.doc);
        report.add(
            Diagnostic::error(key.span, format!("missing `unit` in {what}")).note(format!("`unit`: {doc}")),
        );
    }
    let unit = unit_text.and_then(|text| Unit::read(text, report));
    let domain = match fields.text("domain", report) {
        Some(text) => Domain::read(text, report),
        None => Some(Domain::default()),
    };
    let (unit, domain) = (unit?, domain?);
    let default = fields.number("default", unit, report);
    if let Some((value, span)) = default
        && !domain.contains(value)
    {
        let message = format!("the default {} is outside the domain {domain}", formula::number(value));
        report.add(Diagnostic::error(span, message).rule(Rule::Domain));
    }
    Some(Quantity {
        name: key.value.clone(),
        unit,
        unit_text: unit_text.map(|text| text.value.trim().to_owned()).unwrap_or_default(),
        domain,
        cases: Vec::new(),
        default: default.map(|(value, _)| value),
        doc: fields.string("doc", report),
        origin: None,
        span: key.span,
    })
}

/// Reads an enumeration.
fn enumeration(key: &Text, fields: &Fields<'_>, report: &mut Report) -> Option<Quantity> {
    for (name, _) in ["unit", "domain"].iter().filter_map(|name| fields.entry(name)) {
        let message = format!("`{}` cannot be combined with `one_of`", name.value);
        let note = "numbers have a unit and a domain, enumerations have `one_of`; remove one of the two";
        report.add(Diagnostic::error(name.span, message).note(note));
    }
    let texts = fields.texts("one_of", report);
    let mut variants = Names::default();
    for text in &texts {
        names::check(text, Style::Case, "a case", report);
        let variant = names::variant(&text.value).unwrap_or_default();
        variants.claim_as(&variant, text.span, &format!("`{}`", shorten(&text.value)), &[], report);
    }
    if texts.len() < 2 {
        report.add(Diagnostic::error(key.span, format!("quantity `{}` needs at least two cases", key.value)));
    }
    let cases: Vec<String> = texts.iter().map(|text| text.value.clone()).collect();
    let default = fields.text("default", report).and_then(|text| {
        let found = cases.iter().position(|case| *case == text.value);
        if found.is_none() {
            let message = format!("unknown case `{}` of `{}`", shorten(&text.value), key.value);
            report.add(
                Diagnostic::error(text.span, message)
                    .rule(Rule::Domain)
                    .note(format!("expected one of: {}", cases.join(", "))),
            );
        }
        found.map(|index| index as f64)
    });
    Some(Quantity {
        name: key.value.clone(),
        unit: Unit::ONE,
        unit_text: String::new(),
        domain: Domain::cases(&cases),
        cases,
        default,
        doc: fields.string("doc", report),
        origin: None,
        span: key.span,
    })
}
