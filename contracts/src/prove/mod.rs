//! Verdicts: each obligation of a contract is proven, refuted, or named as neither.
//!
//! Proofs are [certificates](crate::certify). Obligations without one go to the falsifier, which looks for a point where they
//! fail.

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
use crate::report::{Mistake, Rule};

/// What ran, and what it came to.
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
    /// The innermost goal that could not be shown, where neither a proof nor a counterexample was found.
    pub missing: Option<String>,
}

/// Looks for a point where an obligation is false.
pub fn refute(contract: &Contract, obligation: &Obligation) -> (Option<Counterexample>, usize) {
    let search = falsify::falsify(contract, obligation);
    (search.counterexample, search.points)
}

/// The verdict of an obligation, given whether the checker accepts a certificate of it.
pub(crate) fn proof(contract: &Contract, obligation: &Obligation, accepted: bool) -> Proof {
    let id = obligation.id.clone();
    if accepted {
        let vacuous = !obligation.vacuous && !falsify::speaks(contract, obligation);
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

/// The mistake that a verdict is, if it is one.
pub fn mistake(contract: &Contract, obligation: &Obligation, proof: &Proof) -> Option<Mistake> {
    let (id, formal) = (&obligation.id, &obligation.formula);
    let mut mistake = match (proof.verdict, &proof.counterexample) {
        (Verdict::Refuted, Some(counterexample)) => Mistake::error(
            obligation.span,
            format!("obligation `{id}` is false: {formal}"),
        )
        .label("false for the inputs below")
        .note(counterexample.to_string())
        .note(format!("to see it fail:\n{}", counterexample.test(contract, obligation)))
        .notes(counterexample.by_rounding.then(|| {
            let tolerance = counterexample::SUGGESTED;
            format!(
                "a rounding breaks it: `within {tolerance:e}` at the end of the comparison allows for that"
            )
        })),
        (Verdict::Refuted | Verdict::Unknown, _) => {
            let tried = match proof.points {
                0 => "no point satisfies what it assumes: it may say nothing".to_owned(),
                points => format!("true at all {points} points tried, but that is no proof"),
            };
            Mistake::error(obligation.span, format!("obligation `{id}` is neither proven nor refuted: {formal}"))
                .note(tried)
                .notes(proof.missing.clone())
                .note(
                    "narrow a domain, leave room for rounding, or say `assurance: tested` to be content with tests",
                )
        }
        (Verdict::Vacuous, _) => {
            let message = format!("obligation `{id}` is about no point of the domains: {formal}");
            return Some(
                Mistake::warning(obligation.span, message)
                    .rule(Rule::Obligation)
                    .note("it is true only because its premise, or what it substitutes, is never possible")
                    .note("widen a domain or change the claim; `vacuous: allowed` says that it is meant so"),
            );
        }
        _ => return None,
    };
    if !obligation.if_fails.is_empty() {
        mistake = mistake.note(format!("what it would mean: {}", obligation.if_fails));
    }
    Some(mistake.rule(Rule::Obligation))
}
