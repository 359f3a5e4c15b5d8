//! Quantities as they are read: the inputs, each with a unit, a domain and perhaps a default.

use crate::contract::Quantity;
use crate::domain::Domain;
use crate::formula;
use crate::report::{Mistake, Report, Rule};
use crate::schema;
use crate::source::Text;
use crate::unit::Unit;
use crate::yaml::Node;

use super::reader::Fields;

/// Reads one quantity.
pub fn read(key: &Text, node: &Node, report: &mut Report) -> Option<Quantity> {
    let what = format!("quantity `{}`", key.value);
    let fields = Fields::read(node, key.span, &what, schema::QUANTITY, &[], report)?;
    let unit_text = fields.text("unit", report);
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
        report.add(Mistake::error(span, message).rule(Rule::Domain));
    }
    Some(Quantity {
        name: key.value.clone(),
        unit,
        unit_text: unit_text.map(|text| text.value.trim().to_owned()).unwrap_or_default(),
        domain,
        default: default.map(|(value, _)| value),
        doc: fields.string("doc", report),
        origin: None,
        span: key.span,
    })
}
