//! Independent checker for proof certificates.
//!
//! A certificate is a list of steps. Each step names a rule, its premises and its conclusion; the checker recomputes the conclusion and
//! compares. Every rule is a family of lemmas in `coq/Rules.v`, proven over Flocq's binary64. This crate has no dependencies and shares
//! no code with the prover.

// The x87 rounds twice, which invalidates the rules.
#[cfg(all(target_arch = "x86", not(target_feature = "sse2")))]
compile_error!("f64 is not IEEE-754 double precision on this target; use a target with SSE2");

/// Defines certificate types, serializable with the `json` feature.
macro_rules! data {
    ($($item:item)*) => { $(
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
        #[cfg_attr(feature = "json", serde(rename_all = "kebab-case", deny_unknown_fields))]
        $item
    )* };
}

mod certificate;
mod check;
mod graph;
mod real;
mod rule;

pub use certificate::{
    Case, Certificate, Claim, Domain, Fact, Problem, Proof, ProofObligation, Step, VERSION,
};
pub use check::{CheckError, Goal, check, is_ieee_754, prepare};
pub use graph::{Op, twins};
pub use rule::{Rule, conclude};

/// Coq source of the rules: lemmas and proofs.
pub const RULES: &str = include_str!("../coq/Rules.v");
