//! Reading of formal and informal obligations; the prover decides if they are true.

use crate::contract::{Assurance, Informal, ObligationKind};
use crate::formula::{Binary, Formula, Function, Kind};
use crate::report::{Diagnostic, Report, Rule};
use crate::schema;
use crate::source::Text;
use crate::unit::Unit;
use crate::yaml::Node;

use super::reader::{self, Fields};

/// An obligation with unresolved names.
pub struct UncheckedObligation {
    pub id: String,
    pub kind: ObligationKind,
    pub formula: Formula,
    pub doc: String,
    pub vacuous: bool,
    pub assurance: Assurance,
    pub if_fails: String,
    pub kani_solver: Option<String>,
    pub kani_unwind: Option<u32>,
}

/// Reads one obligation.
pub fn read(id: &Text, keys: &Fields<'_>, report: &mut Report) -> Option<UncheckedObligation> {
    let kind = keys.word(schema::OBLIGATION, "type", report);
    let kind = ObligationKind::ALL.into_iter().find(|known| Some(known.word()) == kind);
    let formula = keys.text("formal", report).and_then(|text| Formula::read(text, report));
    let assurance = match keys.word(schema::OBLIGATION, "assurance", report) {
        Some("tested") => Assurance::Tested,
        _ => Assurance::Proven,
    };
    let vacuous = keys.word(schema::OBLIGATION, "vacuous", report) == Some("allowed");
    let mut kani_solver = None;
    let mut kani_unwind = None;
    if let Some((key, node)) = keys.entry("kani")
        && let Some(kani) = Fields::read(node, key.span, "`kani`", schema::KANI, &[], report)
    {
        kani_solver = kani.word(schema::KANI, "solver", report).map(str::to_owned);
        kani_unwind = kani.number("unwind", Unit::ONE, report).and_then(|(value, span)| {
            let fits = value % 1.0 == 0.0 && (1.0..=f64::from(schema::MAX_UNWIND)).contains(&value);
            if !fits {
                let message =
                    format!("invalid `unwind`; expected an integer from 1 to {}", schema::MAX_UNWIND);
                report.add(Diagnostic::error(span, message));
            }
            fits.then_some(value as u32)
        });
    }
    let doc = keys.string("doc", report);
    let if_fails = keys.string("if_fails", report);
    Some(UncheckedObligation {
        id: id.value.clone(),
        kind: kind?,
        formula: formula?,
        doc,
        vacuous,
        assurance,
        if_fails,
        kani_solver,
        kani_unwind,
    })
}

/// Reads the informal statements.
pub fn informal(top: &Fields<'_>, report: &mut Report) -> Vec<Informal> {
    let items = top.node("informal").and_then(|node| reader::list(node, "`informal`", report));
    let read = |item: &Node| {
        let keys = Fields::read(item, item.span(), "an informal statement", schema::INFORMAL, &[], report)?;
        let [about, text, why] = ["about", "text", "why"].map(|key| keys.string(key, report));
        Some(Informal { about, text, why })
    };
    items.unwrap_or_default().iter().filter_map(read).collect()
}

/// Checks that the formula has the shape that the kind of the obligation promises.
pub fn check_shape(obligation: &UncheckedObligation, report: &mut Report) {
    let top = &obligation.formula.top().kind;
    let comparison =
        matches!(top, Kind::Binary(operator, ..) | Kind::Within(operator, ..) if operator.is_comparison());
    let substitutes = obligation.formula.nodes.iter().any(|node| matches!(node.kind, Kind::Substitute(..)));
    let (fits, shape) = match obligation.kind {
        ObligationKind::Bound => (comparison, "a comparison such as `x > 0` or `x <= y`"),
        ObligationKind::Monotonicity => {
            (matches!(top, Kind::Monotone { .. }), "`x increasing in q` or `x decreasing in q`")
        }
        ObligationKind::Equivalence => {
            let same = matches!(
                top,
                Kind::Binary(Binary::Equal | Binary::Iff, ..) | Kind::Within(Binary::Equal, ..)
            );
            (same, "`a == b` or `a iff b`")
        }
        ObligationKind::Finiteness => (matches!(top, Kind::Call(Function::Finite, _)), "`finite(x)`"),
        ObligationKind::Scaling => {
            (comparison && substitutes, "a comparison with a substitution, `f(q: 2 * q) == f / 2`")
        }
        ObligationKind::Invariant => (!matches!(top, Kind::Monotone { .. }), "a condition"),
    };
    if !fits {
        let kind = obligation.kind.word();
        report.add(
            Diagnostic::error(
                obligation.formula.top().span,
                format!("an obligation of type `{kind}` must be {shape}"),
            )
            .rule(Rule::Obligation)
            .note("change `type` or the formula"),
        );
    }
}
