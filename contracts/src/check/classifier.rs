//! Reading of classifiers: ordered cases, the last of which is `otherwise`.

use crate::contract::Case;
use crate::formula::Formula;
use crate::graph::{Graph, Id, Op};
use crate::names::{self, Names, Style};
use crate::report::{Diagnostic, Report, Rule};
use crate::schema;
use crate::source::{Span, Text};
use crate::yaml::Node;

use super::reader::{self, Fields};
use super::unchecked::Origin;

/// A classifier with unresolved names.
pub struct UncheckedClassifier {
    pub name: String,
    /// Variant, condition (none for `otherwise`) and place.
    pub cases: Vec<(String, Option<Formula>, Span)>,
    pub doc: String,
    pub origin: Option<Origin>,
    pub span: Span,
}

/// Reads one classifier.
pub fn read(key: &Text, node: &Node, report: &mut Report) -> Option<UncheckedClassifier> {
    let what = format!("classifier `{}`", key.value);
    let fields = Fields::read(node, key.span, &what, schema::CLASSIFIER, &[], report)?;
    let subject = fields.text("of", report);
    let doc = fields.string("doc", report);
    let items = fields.node("cases").and_then(|node| reader::list(node, "`cases`", report))?;
    let mut cases: Vec<(String, Option<Formula>, Span)> = Vec::new();
    let mut seen = Names::default();
    for (i, item) in items.iter().enumerate() {
        let Node::Map(pairs, span) = item else {
            report.add(
                Diagnostic::error(item.span(), "expected a case of the form `- Variant: condition`")
                    .rule(Rule::Classifier),
            );
            continue;
        };
        let [(variant, condition)] = pairs.as_slice() else {
            report.add(
                Diagnostic::error(*span, "expected one variant per case: `- Variant: condition`")
                    .rule(Rule::Classifier),
            );
            continue;
        };
        if !names::check(variant, Style::Camel, "a case", report) {
            continue;
        }
        seen.claim_as(&variant.value, variant.span, "this case", &[], report);
        let Some(text) = reader::text(condition, &format!("the case `{}`", variant.value), report) else {
            continue;
        };
        let last = i + 1 == items.len();
        if text.value.trim() == "otherwise" {
            if !last {
                report.add(
                    Diagnostic::error(text.span, "`otherwise` must be the last case")
                        .rule(Rule::Classifier)
                        .label("the cases after it are unreachable"),
                );
            }
            cases.push((variant.value.clone(), None, variant.span));
            continue;
        }
        if last {
            report.add(
                Diagnostic::error(text.span, format!("the last case of {what} must be `otherwise`"))
                    .rule(Rule::Classifier)
                    .note("without it some values have no class; end with `- Variant: otherwise`"),
            );
        }
        let starts_with_comparison = text.value.trim_start().starts_with(['<', '>', '=', '!', '≤', '≥', '≠']);
        let parsed = match subject {
            Some(subject) => Formula::parse_band(text, &subject.value),
            None if starts_with_comparison => {
                report.add(
                    Diagnostic::error(
                        text.span,
                        "this case starts with a comparison, but the classifier has no `of`",
                    )
                    .rule(Rule::Classifier)
                    .note("add `of: name` to the classifier or write the full condition"),
                );
                continue;
            }
            None => Formula::parse(text),
        };
        match parsed {
            Ok(formula) => cases.push((variant.value.clone(), Some(formula), variant.span)),
            Err(error) => report.add(error.into()),
        }
    }
    if items.len() < 2 {
        let message = format!("{what} needs at least two cases");
        report.add(Diagnostic::error(key.span, message).rule(Rule::Classifier));
    }
    Some(UncheckedClassifier { name: key.value.clone(), cases, doc, origin: None, span: key.span })
}

/// Reports cases that are unreachable because an earlier case holds whenever they do.
pub fn check_reachable(
    graph: &Graph,
    id: Id,
    before: &[Case],
    variant: &str,
    span: Span,
    report: &mut Report,
) {
    for earlier in before {
        let Some(condition) = &earlier.condition else { continue };
        if implies(graph, id, condition.id) {
            report.add(
                Diagnostic::error(span, format!("unreachable case `{variant}`"))
                    .rule(Rule::Classifier)
                    .and(earlier.span, format!("this case holds whenever `{variant}` does")),
            );
            return;
        }
    }
}

/// True if comparison `a` of a value with a number implies comparison `b` of the same value. Deliberately incomplete:
/// it finds repeated conditions and bands in the wrong order.
fn implies(graph: &Graph, a: Id, b: Id) -> bool {
    if a == b {
        return true;
    }
    let number = |id: Id| match graph.op(id) {
        Op::Number(bits) => Some(f64::from_bits(bits)),
        _ => None,
    };
    // (value, limit, is a lower limit, strict)
    let side = |id: Id| match graph.op(id) {
        Op::Less(x, y) => {
            number(x).map(|n| (y, n, true, true)).or_else(|| number(y).map(|n| (x, n, false, true)))
        }
        Op::LessEqual(x, y) => {
            number(x).map(|n| (y, n, true, false)).or_else(|| number(y).map(|n| (x, n, false, false)))
        }
        _ => None,
    };
    let (Some((x, m, lower, strict)), Some((y, n, also_lower, also_strict))) = (side(a), side(b)) else {
        return false;
    };
    let inside = if lower { m > n } else { m < n };
    x == y && lower == also_lower && (inside || (m == n && (strict || !also_strict)))
}
