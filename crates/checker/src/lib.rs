//! Checks certificates of proven obligations, and trusts no one who writes them.
//!
//! A certificate is a list of steps. Each names a rule, the facts it starts from and the fact it gives; the
//! checker computes that fact again and compares. Every rule is a family of lemmas of `verify/coq/Rules.v`, proven there
//! over Flocq's binary64. This crate depends on nothing, and shares no code with the prover.

// On the x87 numbers are rounded twice, which no rule allows for.
#[cfg(all(target_arch = "x86", not(target_feature = "sse2")))]
compile_error!("f64 is not IEEE-754 double precision on this target: build for one with SSE2");

/// Types of certificates, which are JSON where that is asked for.
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

pub use certificate::{Case, Certificate, Claim, Domain, Fact, Problem, Proof, Question, Step, VERSION};
pub use check::{Prepared, Refusal, check, is_ieee_754, prepared};
pub use graph::{Op, twins};
pub use rule::{Rule, conclude};

/// The rules as lemmas for Coq, with their proofs.
pub const RULES: &str = include_str!("../coq/Rules.v");
