//! The check of divisions: a divisor must not be zero, nor underflow to zero, at any point where the division is evaluated.

use std::collections::BTreeSet;

use crate::domain::Domain;
use crate::formula::{self, Binary, Formula, Function, Kind, NodeId};
use crate::graph::{Graph, Id, Op};
use crate::range::{self, Fact, Range};
use crate::report::{Diagnostic, Report, Rule};
use crate::source::Span;

/// A division or a square root in a formula.
pub struct Division {
    /// The divisor, or the argument of the root.
    of: Id,
    root: bool,
    /// True if it belongs to a row of a sum.
    row: bool,
    span: Span,
    /// The conditions under which it is evaluated, each with its truth value.
    conditions: Vec<(Id, bool)>,
}

/// Collects the divisions of a formula; `ids` are the graph nodes of its parts.
pub fn divisions(graph: &Graph, formula: &Formula, ids: &[Id]) -> Vec<Division> {
    let mut found = Vec::new();
    let expanded = formula.expanded_nodes();
    let mut pending: Vec<(NodeId, Vec<(Id, bool)>)> = vec![(formula.root, Vec::new())];
    while let Some((node, conditions)) = pending.pop() {
        let kind = &formula.nodes[node].kind;
        // Named values were checked at their definition, and substitutes stay in the quantity's domain.
        let part = match kind {
            Kind::Binary(_, _, part) | Kind::Power(part, _) => Some(*part),
            Kind::Call(Function::Sqrt, arguments) => Some(arguments[0]),
            Kind::Call(Function::Mod, arguments) => Some(arguments[1]),
            _ => None,
        };
        // The type checker reports a literal zero.
        let part =
            part.filter(|&part| expanded[part] || !matches!(formula.nodes[part].kind, Kind::Number { .. }));
        let (of, root) = match (kind, graph.op(ids[node])) {
            (_, Op::Div(_, divisor)) => (Some(divisor), false),
            (_, Op::Sqrt(value)) => (Some(value), true),
            (Kind::Call(Function::Mod, arguments), _) => (Some(ids[arguments[1]]), false),
            _ => (None, false),
        };
        if let (Some(part), Some(of)) = (part, of) {
            let conditions = conditions.clone();
            found.push(Division {
                of,
                root,
                row: expanded[part],
                span: formula.nodes[part].span,
                conditions,
            });
        }
        let with = |id: NodeId, truth: bool| {
            let mut conditions = conditions.clone();
            conditions.push((ids[id], truth));
            conditions
        };
        match kind {
            &Kind::If(c, a, b) => {
                pending.extend([(a, with(c, true)), (b, with(c, false)), (c, conditions)]);
            }
            &Kind::Binary(Binary::And | Binary::Implies, a, b) => {
                pending.extend([(b, with(a, true)), (a, conditions)]);
            }
            &Kind::Binary(Binary::Or, a, b) => pending.extend([(b, with(a, false)), (a, conditions)]),
            other => pending.extend(other.parts().into_iter().map(|part| (part, conditions.clone()))),
        }
    }
    found.sort_by_key(|division| division.span.start);
    found
}

/// Reports every divisor that can be zero where it is evaluated; `quantities` are names and domains, `required` are
/// conditions that hold at every point.
pub fn check(
    graph: &Graph,
    quantities: &[(&str, &Domain)],
    required: &[Id],
    divisions: &[Division],
    report: &mut Report,
) {
    if divisions.is_empty() {
        return;
    }
    let domains: Vec<Range> =
        quantities.iter().map(|(_, domain)| Range::new(domain.low, domain.high)).collect();
    let ranges = &range::all(graph, &domains, required);
    let always = range::all_facts(graph, ranges, required);
    let mut wrong: BTreeSet<usize> = BTreeSet::new();
    for Division { of, root, row, span, conditions } in divisions {
        // A sum has one division for each row.
        if wrong.contains(&span.start) {
            continue;
        }
        let never = |&(condition, truth): &(Id, bool)| ranges[condition.index()].decided() == Some(!truth);
        if conditions.iter().any(never) {
            continue;
        }
        let mut facts: Vec<Fact> = (conditions.iter())
            .flat_map(|&(condition, truth)| range::facts(graph, ranges, condition, truth))
            .collect();
        facts.extend(&always);
        if *root {
            let range = range::under(graph, ranges, *of, &facts);
            if let Some(range) = range.filter(|range| !range.at_least(0.0)) {
                let (low, high) = (formula::number(range.low), formula::number(range.high));
                let diagnostic = Diagnostic::error(*span, "square root of a value that can be negative")
                    .label(format!("ranges from {low} to {high} over the domains"))
                    .note("narrow the domains or guard it: `if x >= 0 then sqrt(x) else 0`");
                report.add(diagnostic.rule(Rule::Domain));
                wrong.insert(span.start);
            }
            continue;
        }
        let range = range::divisor(graph, ranges, *of, &facts);
        if !range.has_zero() {
            continue;
        }
        let named = match graph.op(*of) {
            Op::Quantity(index) => quantities.get(index).filter(|(_, domain)| domain.contains(0.0)),
            _ => None,
        };
        let diagnostic = match named {
            Some((name, domain)) => {
                Diagnostic::error(*span, format!("division by `{name}`, whose domain {domain} contains zero"))
                    .note(
                        "narrow the domain, for example to `> 0`, or guard the division: `if x > 0 then 1 / x else 0`",
                    )
            }
            None if *row => Diagnostic::error(*span, "a divisor in this sum can be zero for some row of the table")
                .note("guard the division: `if x > 0 then 1 / x else 0`"),
            None => {
                let (low, high) = (formula::number(range.low), formula::number(range.high));
                Diagnostic::error(*span, "the divisor can be zero")
                    .label(format!("ranges from {low} to {high} over the domains"))
                    .note("narrow the domains, bound it away from zero with `max`, or guard the division with `if`")
            }
        };
        report.add(diagnostic.rule(Rule::Domain));
        wrong.insert(span.start);
    }
}
