//! Verdicts: each obligation of a contract is proven, refuted or unknown.
//!
//! Proofs are [certificates](crate::certify). The falsifier searches for a counterexample to obligations without one.

#[cfg(test)]
mod claims;
mod counterexample;
mod falsify;
#[cfg(test)]
mod literature;
pub mod property;
pub mod smt;

pub use counterexample::{Counterexample, Input};
pub use falsify::POINTS;

use crate::contract::{Assurance, Contract, Obligation, Verdict};
use crate::report::{Diagnostic, Rule};

/// The result of checking one obligation.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// The obligation's name.
    pub id: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The source of the verdict: `certificate` or `falsifier`.
    pub method: &'static str,
    /// The inputs of a refutation.
    pub counterexample: Option<Counterexample>,
    /// The points that the falsifier evaluated.
    pub points: usize,
    /// The innermost open goal, if neither a proof nor a counterexample was found.
    pub missing: Option<String>,
}

/// Searches for a point where an obligation is false. Returns the number of points tried too.
pub fn refute(contract: &Contract, obligation: &Obligation) -> (Option<Counterexample>, usize) {
    let search = falsify::falsify(contract, obligation);
    (search.counterexample, search.points)
}

/// The verdict of an obligation; `accepted` is true if the checker accepted its certificate.
pub(crate) fn proof(contract: &Contract, obligation: &Obligation, accepted: bool) -> Proof {
    let id = obligation.id.clone();
    if accepted {
        let vacuous = !obligation.vacuous && !falsify::has_applicable_point(contract, obligation);
        let verdict = if vacuous { Verdict::Vacuous } else { Verdict::Proven };
        return Proof { id, verdict, method: "certificate", counterexample: None, points: 0, missing: None };
    }
    let (counterexample, points) = refute(contract, obligation);
    let verdict = match &counterexample {
        Some(_) => Verdict::Refuted,
        None if obligation.assurance == Assurance::Tested && points > 0 => Verdict::Tested,
        None => Verdict::Unknown,
    };
    Proof { id, verdict, method: "falsifier", counterexample, points, missing: None }
}

/// The diagnostic for a verdict, if the verdict is an error or a warning.
pub fn diagnostic(contract: &Contract, obligation: &Obligation, proof: &Proof) -> Option<Diagnostic> {
    let (id, formal) = (&obligation.id, &obligation.formula);
    let mut diagnostic = match (proof.verdict, &proof.counterexample) {
        (Verdict::Refuted, Some(counterexample)) => Diagnostic::error(
            obligation.span,
            format!("obligation `{id}` is false: {formal}"),
        )
        .label("false for the inputs below")
        .note(counterexample.to_string())
        .note(format!("failing test:\n{}", counterexample.test(contract, obligation)))
        .notes(counterexample.by_rounding.then(|| {
            let tolerance = counterexample::SUGGESTED_TOLERANCE;
            format!(
                "it fails only by rounding; append `within {tolerance:e}` to the comparison to allow for it"
            )
        })),
        (Verdict::Refuted | Verdict::Unknown, _) => {
            let tried = match proof.points {
                0 => "no point satisfies its assumptions, so it may be vacuous".to_owned(),
                points => format!("true at all {points} points tried, which is not a proof"),
            };
            Diagnostic::error(
                obligation.span,
                format!("obligation `{id}` is neither proven nor refuted: {formal}"),
            )
            .note(tried)
            .notes(proof.missing.clone())
            .note("narrow a domain, add a tolerance for rounding, or set `assurance: tested` to accept tests")
        }
        (Verdict::Vacuous, _) => {
            let message = format!("obligation `{id}` is vacuous: {formal}");
            return Some(
                Diagnostic::warning(obligation.span, message)
                    .rule(Rule::Obligation)
                    .note("no point of the domains satisfies its premise or substitution")
                    .note("widen a domain, change the claim, or set `vacuous: allowed` if this is intended"),
            );
        }
        _ => return None,
    };
    if !obligation.if_fails.is_empty() {
        diagnostic = diagnostic.note(format!("consequence: {}", obligation.if_fails));
    }
    Some(diagnostic.rule(Rule::Obligation))
}
