//! Proofs: each obligation of a contract is proven, refuted, or named as neither.
//!
//! The structural prover reasons over every f64 value of the domains at once, by rules that rest on one fact:
//! correctly rounded operations are monotone. What it cannot prove goes to the falsifier, which looks for a point where it fails.

#[cfg(test)]
mod claims;
mod counterexample;
mod direction;
mod exact;
mod falsify;
#[cfg(test)]
mod literature;
mod order;
pub mod property;
mod roundoff;
mod scale;
#[cfg(test)]
mod small;
pub mod smt;
#[cfg(test)]
mod soundness;
mod structure;
mod trace;

pub use counterexample::{Counterexample, Input};
pub use falsify::POINTS;
pub use trace::Trace;

use crate::contract::{Assurance, Claim, Contract, Obligation, Verdict};
use crate::domain::Domain;
use crate::graph::Id;
use crate::range::Range;
use crate::report::{Mistake, Rule};
use structure::{Effort, Leaf, Monotone, Structure};

/// What ran, and what it came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// The obligation's name.
    pub id: String,
    /// The verdict.
    pub verdict: Verdict,
    /// What gave it: `structural` or `falsifier`.
    pub method: &'static str,
    /// The steps of a proof.
    pub trace: Trace,
    /// The inputs of a refutation.
    pub counterexample: Option<Counterexample>,
    /// The points that the falsifier evaluated.
    pub points: usize,
    /// What could not be shown, where neither a proof nor a counterexample was found.
    pub missing: Option<String>,
}

/// What the prover and the falsifier say of every obligation, in the order of the contract: *shown* at most, since nobody has
/// checked the prover. [`judge`](crate::certify::judge) gives the verdict.
pub fn prove(contract: &Contract) -> Vec<Proof> {
    let mut structure = structure(contract);
    contract.obligations.iter().map(|obligation| prove_one(contract, obligation, &mut structure)).collect()
}

/// The first of some obligations that keeps a contract from compiling; none if every one is proven, or says that tests are
/// enough and passes them.
pub fn first_failure(contract: &Contract, some: &[bool]) -> Option<String> {
    let mut structure = structure(contract);
    let mut asked = contract.obligations.iter().zip(some).filter(|(_, asked)| **asked);
    let failed = asked.find(|(obligation, _)| {
        structural(obligation, &mut structure, Effort::Plain).is_none()
            && (refute(contract, obligation).0.is_some()
                || obligation.assurance != Assurance::Tested
                    && structural(obligation, &mut structure, Effort::Exact).is_none())
    });
    failed.map(|(obligation, _)| obligation.id.clone())
}

fn structural(obligation: &Obligation, structure: &mut Structure<'_, f64>, effort: Effort) -> Option<Trace> {
    match obligation.claim {
        Claim::Always(claim) => {
            let given: Vec<(Id, Range)> = (obligation.substituted.iter())
                .map(|&(quantity, node)| (node, structure.domain(quantity)))
                .collect();
            structure.always(claim, &given, &obligation.assumed, effort)
        }
        Claim::Monotone { of, increasing, quantity, within } => {
            structure.monotone(Monotone { of, increasing, quantity, within }, effort)
        }
    }
}

/// Looks for a point where an obligation is false.
pub fn refute(contract: &Contract, obligation: &Obligation) -> (Option<Counterexample>, usize) {
    let search = falsify::falsify(contract, obligation);
    (search.counterexample, search.points)
}

fn prove_one(contract: &Contract, obligation: &Obligation, structure: &mut Structure<'_, f64>) -> Proof {
    let proven = |trace: Trace| {
        let about_nothing = !obligation.vacuous && !falsify::speaks(contract, obligation);
        Proof {
            id: obligation.id.clone(),
            verdict: if about_nothing { Verdict::Vacuous } else { Verdict::Shown },
            method: "structural",
            trace,
            counterexample: None,
            points: 0,
            missing: None,
        }
    };
    if let Some(trace) = structural(obligation, structure, Effort::Plain) {
        return proven(trace);
    }
    // A search takes less time than exact values, and most of what is not proven so far is false.
    let search = falsify::falsify(contract, obligation);
    if search.counterexample.is_none()
        && let Some(trace) = structural(obligation, structure, Effort::Exact)
    {
        return proven(trace);
    }
    let verdict = match &search.counterexample {
        Some(_) => Verdict::Refuted,
        None if obligation.assurance == Assurance::Tested && search.points > 0 => Verdict::Tested,
        None => Verdict::Unknown,
    };
    Proof {
        id: obligation.id.clone(),
        verdict,
        method: "falsifier",
        trace: Trace::default(),
        counterexample: search.counterexample,
        points: search.points,
        missing: structure.stuck.take().filter(|_| verdict == Verdict::Unknown).map(|stuck| {
            let printer = trace::Printer::new(contract);
            printer.stuck(&stuck)
        }),
    }
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
                .note(if proof.method == "structural" {
                    "say `assurance: shown` to be content with the prover's word"
                } else {
                    "narrow a domain, leave room for rounding, or say `assurance: tested` to be content with tests"
                })
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

fn structure(contract: &Contract) -> Structure<'_, f64> {
    Structure::new(&contract.graph, leaves(contract), contract.required())
}

fn leaf(domain: &Domain) -> Leaf<f64> {
    Leaf { range: Range::new(domain.low, domain.high), whole: domain.is_whole() }
}

fn leaves(contract: &Contract) -> Vec<Leaf<f64>> {
    contract.quantities.iter().map(|quantity| leaf(&quantity.domain)).collect()
}
