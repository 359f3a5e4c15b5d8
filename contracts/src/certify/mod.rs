//! Certificates: a contract's obligations with proofs in the rules of `roofline-checker`.
//!
//! Nothing here is trusted. The search may miss a proof; one that is wrong is refused by the checker, which sees the
//! contract only as the [`problem`] that is made of it.

#[cfg(feature = "certificates")]
pub mod coq;
mod draft;
mod points;
mod ratio;
mod real;
mod search;

use roofline_checker::{Certificate, Claim, Domain, Op, Problem, Proof, Question, Refusal, VERSION, check};

use crate::contract::{self, Assurance, Contract, Obligation, Verdict};
use crate::graph;
use crate::prove;
use search::Search;

/// What a certificate of the contract must be about.
pub fn problem(contract: &Contract) -> Problem {
    let quantities = contract.quantities.iter().map(|quantity| {
        let domain = &quantity.domain;
        Domain { name: quantity.name.clone(), low: domain.low, high: domain.high, whole: domain.is_whole() }
    });
    let obligations = contract.obligations.iter().map(|obligation| {
        let claim = match obligation.claim {
            contract::Claim::Always(condition) => Claim::Always {
                condition: condition.index(),
                given: obligation.substituted.iter().map(|&(q, node)| (node.index(), q)).collect(),
                required: obligation.assumed.iter().map(|node| node.index()).collect(),
            },
            contract::Claim::Monotone { of, increasing, quantity, within } => {
                Claim::Monotone { of: of.index(), increasing, quantity, within }
            }
        };
        Question { id: obligation.id.clone(), sha256: question(contract, obligation), claim }
    });
    Problem {
        contract: contract.metadata.id.clone(),
        sha256: contract.source.sha256.clone(),
        quantities: quantities.collect(),
        nodes: contract.graph.ops().iter().map(|&op| operation(op)).collect(),
        requires: contract.required().iter().map(|node| node.index()).collect(),
        obligations: obligations.collect(),
    }
}

/// SHA-256 of the texts of the contract, of those it depends on, and of the claim: a proof names nodes of the graph by number,
/// which any other text may change.
fn question(contract: &Contract, obligation: &Obligation) -> String {
    let mut hash = hmac_sha256::Hash::new();
    let closure = contract.closure();
    let files = std::iter::once(&contract.source).chain(closure.iter().map(|contract| &contract.source));
    for text in files
        .map(|source| source.sha256.clone())
        .chain([obligation.id.clone(), obligation.formula.to_string()])
    {
        hash.update(text.as_bytes());
        hash.update([0]);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn operation(op: graph::Op) -> Op {
    match op {
        graph::Op::Number(bits) => Op::Number(f64::from_bits(bits)),
        graph::Op::Quantity(index) => Op::Quantity(index),
        graph::Op::Bool(value) => Op::Bool(value),
        graph::Op::Neg(a) => Op::Neg(a.index()),
        graph::Op::Floor(a) => Op::Floor(a.index()),
        graph::Op::Ceil(a) => Op::Ceil(a.index()),
        graph::Op::Sqrt(a) => Op::Sqrt(a.index()),
        graph::Op::Abs(a) => Op::Abs(a.index()),
        graph::Op::Not(a) => Op::Not(a.index()),
        graph::Op::Finite(a) => Op::Finite(a.index()),
        graph::Op::Add(a, b) => Op::Add(a.index(), b.index()),
        graph::Op::Sub(a, b) => Op::Sub(a.index(), b.index()),
        graph::Op::Mul(a, b) => Op::Mul(a.index(), b.index()),
        graph::Op::Div(a, b) => Op::Div(a.index(), b.index()),
        graph::Op::Min(a, b) => Op::Min(a.index(), b.index()),
        graph::Op::Max(a, b) => Op::Max(a.index(), b.index()),
        graph::Op::Pow(a, b) => Op::Pow(a.index(), b.index()),
        graph::Op::Less(a, b) => Op::Less(a.index(), b.index()),
        graph::Op::LessEqual(a, b) => Op::LessEqual(a.index(), b.index()),
        graph::Op::Equal(a, b) => Op::Equal(a.index(), b.index()),
        graph::Op::And(a, b) => Op::And(a.index(), b.index()),
        graph::Op::Or(a, b) => Op::Or(a.index(), b.index()),
        graph::Op::Iff(a, b) => Op::Iff(a.index(), b.index()),
        graph::Op::If(c, a, b) => Op::If(c.index(), a.index(), b.index()),
    }
}

/// The certificate of a contract: a proof for each obligation for which one is found.
pub fn certify(contract: &Contract) -> Certificate {
    let about = problem(contract);
    let mut search = Search::new(&about);
    let proofs: Vec<_> = (about.obligations.iter())
        .filter_map(|question| Some((question.id.clone(), search.prove(question)?)))
        .collect();
    let (steps, proofs) = search.finish(proofs);
    let proofs = proofs.into_iter().map(|(id, steps)| Proof { id, steps }).collect();
    Certificate { version: VERSION, about, steps, proofs }
}

/// What the checker says of each obligation of the contract, in its order.
pub fn verdicts(contract: &Contract) -> Vec<Result<(), Refusal>> {
    let refused = |refusal: Refusal| contract.obligations.iter().map(|_| Err(refusal.clone())).collect();
    check(&problem(contract), &certify(contract)).unwrap_or_else(refused)
}

/// Proves or refutes every obligation, in the order of the contract. Only what the checker accepts is *proven*.
pub fn judge(contract: &Contract) -> Vec<prove::Proof> {
    let accepted: Vec<bool> = verdicts(contract).iter().map(Result::is_ok).collect();
    judged(contract, prove::prove(contract), &accepted)
}

/// The verdicts, from what the prover says of each obligation and whether the checker accepts a certificate of it.
pub fn judged(contract: &Contract, mut proofs: Vec<prove::Proof>, accepted: &[bool]) -> Vec<prove::Proof> {
    for ((proof, obligation), &accepted) in proofs.iter_mut().zip(&contract.obligations).zip(accepted) {
        match (proof.verdict, accepted) {
            (Verdict::Shown | Verdict::Tested, true) => proof.verdict = Verdict::Proven,
            (Verdict::Unknown, true) => (proof.verdict, proof.missing) = (Verdict::Proven, None),
            // The prover may be wrong.
            (Verdict::Shown | Verdict::Vacuous, false) => {
                (proof.counterexample, proof.points) = prove::refute(contract, obligation);
                proof.verdict = match (&proof.counterexample, obligation.assurance) {
                    (Some(_), _) => Verdict::Refuted,
                    (None, Assurance::Shown) => Verdict::Shown,
                    (None, Assurance::Tested) if proof.points > 0 => Verdict::Tested,
                    (None, _) => Verdict::Unknown,
                };
                if proof.verdict == Verdict::Unknown {
                    let missing = "the prover shows it, but no certificate of it passes the checker";
                    proof.missing = Some(missing.to_owned());
                }
            }
            _ => {}
        }
    }
    proofs
}
