//! Reading of recommendations: a condition and the advice if it holds.

use crate::contract::Priority;
use crate::formula::Formula;
use crate::report::Report;
use crate::schema;
use crate::source::{Span, Text};
use crate::yaml::Node;

use super::reader::Fields;

/// A recommendation with unresolved names.
pub struct UncheckedRecommendation {
    pub name: String,
    pub when: Formula,
    pub priority: Priority,
    pub text: String,
    pub span: Span,
}

/// Reads one recommendation.
pub fn read(key: &Text, node: &Node, report: &mut Report) -> Option<UncheckedRecommendation> {
    let what = format!("recommendation `{}`", key.value);
    let fields = Fields::read(node, key.span, &what, schema::RECOMMENDATION, &[], report)?;
    let when = fields.text("when", report).and_then(|text| Formula::read(text, report));
    let priority = fields.word(schema::RECOMMENDATION, "priority", report);
    let priority = Priority::ALL.into_iter().find(|known| Some(known.word()) == priority);
    let text = fields.string("text", report);
    Some(UncheckedRecommendation {
        name: key.value.clone(),
        when: when?,
        priority: priority?,
        text,
        span: key.span,
    })
}
