//! Certificates: proofs of a contract's obligations in the rules of `roofline-checker`.
//!
//! Only the conversion to a [`problem`] is trusted. The search may miss a proof, and the checker rejects wrong proofs.

#[cfg(feature = "certificates")]
pub mod coq;
mod points;
mod proof_builder;
mod ratio;
mod real;
mod search;
#[cfg(test)]
mod small;
#[cfg(test)]
mod soundness;
pub(crate) mod trace;

use roofline_checker::{
    Certificate, CheckError, Claim, Domain, Op, Problem, Proof, ProofObligation, VERSION, check,
};

use crate::contract::{self, Assurance, Contract, Obligation, Verdict};
use crate::graph::{self, Graph, Id};
use crate::prove;
use search::{Search, SearchEffort};
use trace::Printer;

/// Converts a contract to the problem that its certificate must prove.
pub fn problem(contract: &Contract) -> Problem {
    let quantities = contract.quantities.iter().map(|quantity| domain(&quantity.name, &quantity.domain));
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
        ProofObligation { id: obligation.id.clone(), sha256: question(contract, obligation), claim }
    });
    Problem {
        contract: contract.metadata.id.clone(),
        sha256: contract.source.sha256.clone(),
        quantities: quantities.collect(),
        nodes: operations(&contract.graph),
        requires: contract.required().iter().map(|node| node.index()).collect(),
        obligations: obligations.collect(),
    }
}

/// SHA-256 of the contract, its dependencies and the claim. Proofs refer to graph nodes by number, which any change of a
/// text may change.
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

fn domain(name: &str, of: &crate::domain::Domain) -> Domain {
    Domain { name: name.to_owned(), low: of.low, high: of.high, whole: of.is_whole() }
}

fn operations(graph: &Graph) -> Vec<Op> {
    graph.ops().iter().map(|&op| operation(op)).collect()
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

/// Searches for a certificate of a contract, with a proof of each obligation for which one is found.
pub fn certify(contract: &Contract) -> Certificate {
    certificate(problem(contract))
}

fn certificate(about: Problem) -> Certificate {
    let mut search = Search::new(&about);
    let proofs: Vec<_> = (about.obligations.iter())
        .filter_map(|question| Some((question.id.clone(), search.prove(question)?)))
        .collect();
    let (steps, proofs) = search.finish(proofs);
    let proofs = proofs.into_iter().map(|(id, steps)| Proof { id, steps }).collect();
    Certificate { version: VERSION, about, steps, proofs }
}

/// The result of the checker for each obligation, in the order of the contract.
pub fn verdicts(contract: &Contract) -> Vec<Result<(), CheckError>> {
    checked(&certify(contract))
}

/// Checks a certificate against the problem that it names.
fn checked(certificate: &Certificate) -> Vec<Result<(), CheckError>> {
    let about = &certificate.about;
    let refused = |refusal: CheckError| about.obligations.iter().map(|_| Err(refusal.clone())).collect();
    check(about, certificate).unwrap_or_else(refused)
}

/// Proves or refutes every obligation, in the order of the contract. Only obligations with a certificate that the checker
/// accepts are *proven*.
pub fn judge(contract: &Contract) -> Vec<prove::Proof> {
    certified(contract).1
}

/// The certificate of a contract and the resulting verdicts.
pub fn certified(contract: &Contract) -> (Certificate, Vec<prove::Proof>) {
    let certificate = certify(contract);
    let accepted: Vec<bool> = checked(&certificate).iter().map(Result::is_ok).collect();
    (certificate, judged(contract, &accepted))
}

/// The verdicts; `accepted` is true for obligations whose certificate the checker accepted.
pub fn judged(contract: &Contract, accepted: &[bool]) -> Vec<prove::Proof> {
    let obligations = contract.obligations.iter().zip(accepted);
    let mut proofs: Vec<prove::Proof> =
        obligations.map(|(obligation, &accepted)| prove::proof(contract, obligation, accepted)).collect();
    let unknown: Vec<bool> = proofs.iter().map(|proof| proof.verdict == Verdict::Unknown).collect();
    for (proof, missing) in proofs.iter_mut().zip(open_goals(contract, &unknown)) {
        proof.missing = missing;
    }
    proofs
}

/// The open goals of some of the obligations, in words.
fn open_goals(contract: &Contract, some: &[bool]) -> Vec<Option<String>> {
    if !some.contains(&true) {
        return vec![None; some.len()];
    }
    let about = problem(contract);
    let mut search = Search::new(&about);
    let goal = |(question, &asked): (&ProofObligation, &bool)| {
        if !asked || search.prove(question).is_some() {
            return None;
        }
        Some(Printer::for_question(contract, &about, question)?.open(search.open.as_ref()?))
    };
    about.obligations.iter().zip(some).map(goal).collect()
}

/// The steps of the proof of an obligation, one per line; empty if the certificate has no proof of it.
pub fn trace(contract: &Contract, certificate: &Certificate, id: &str) -> Vec<String> {
    let about = &certificate.about;
    let proof = certificate.proofs.iter().find(|proof| proof.id == id);
    let question = about.obligations.iter().find(|question| question.id == id);
    let (Some(proof), Some(question)) = (proof, question) else { return Vec::new() };
    Printer::for_question(contract, about, question)
        .map(|printer| printer.steps(&certificate.steps, &proof.steps))
        .unwrap_or_default()
}

/// True if a condition can be proven from orders of rounded values, at every point of these domains that satisfies the
/// requirements.
pub(crate) fn proves<'a>(
    graph: &Graph,
    domains: impl Iterator<Item = &'a crate::domain::Domain>,
    required: &[Id],
    condition: Id,
) -> bool {
    let claim = Claim::Always { condition: condition.index(), given: Vec::new(), required: Vec::new() };
    let question = ProofObligation { id: String::new(), sha256: String::new(), claim };
    let about = Problem {
        contract: String::new(),
        sha256: String::new(),
        quantities: domains.map(|given| domain("", given)).collect(),
        nodes: operations(graph),
        requires: required.iter().map(|node| node.index()).collect(),
        obligations: Vec::new(),
    };
    Search::new(&about).prove(&question).is_some()
}

/// The first of some obligations that fails; none if each is proven, or tested if the contract accepts tests.
pub fn first_failure(contract: &Contract, some: &[bool]) -> Option<String> {
    let about = problem(contract);
    let mut search = Search::new(&about);
    let asked = about.obligations.iter().zip(&contract.obligations).zip(some).filter(|(_, asked)| **asked);
    let mut failed = asked.filter(|((question, obligation), _)| {
        // Searching a counterexample is faster than real arithmetic, and most remaining claims are false.
        search.prove_with(question, SearchEffort::Rounded).is_none()
            && (prove::refute(contract, obligation).0.is_some()
                || obligation.assurance != Assurance::Tested
                    && search.prove_with(question, SearchEffort::Real).is_none())
    });
    failed.next().map(|((question, _), _)| question.id.clone())
}
