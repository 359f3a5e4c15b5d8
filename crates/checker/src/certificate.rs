//! What a certificate says: which contract, which facts, and by which rule each follows.

use crate::graph::Op;
use crate::rule::Rule;

/// The version of the format that this crate reads.
pub const VERSION: u32 = 3;

data! {
    /// The values a quantity may take.
    pub struct Domain {
        /// Its name in the contract.
        pub name: String,
        /// The smallest value.
        pub low: f64,
        /// The largest value.
        pub high: f64,
        /// Whole numbers only.
        pub whole: bool,
    }

    /// What an obligation says of the nodes.
    pub enum Claim {
        /// The condition is true wherever each of the given nodes has a value of a quantity's domain and what is required of the
        /// values in place of quantities holds.
        Always {
            /// The condition.
            condition: usize,
            /// Nodes and quantities.
            given: Vec<(usize, usize)>,
            /// Conditions on the given nodes.
            required: Vec<usize>,
        },
        /// The number never falls (or never rises) when the quantity grows and all others stay, but for a tolerance.
        Monotone {
            /// The number.
            of: usize,
            /// Never falls.
            increasing: bool,
            /// The quantity.
            quantity: usize,
            /// What it may miss, relative to the larger value; none if 0.
            within: f64,
        },
    }

    /// One obligation.
    pub struct Question {
        /// Its name in the contract.
        pub id: String,
        /// SHA-256 of the contract, of those it is built on, and of the claim.
        pub sha256: String,
        /// What it says.
        pub claim: Claim,
    }

    /// What there is to prove, made from the contract; a certificate repeats it.
    pub struct Problem {
        /// The contract's name.
        pub contract: String,
        /// SHA-256 of its file.
        pub sha256: String,
        /// What goes in.
        pub quantities: Vec<Domain>,
        /// What is computed, operands first.
        pub nodes: Vec<Op>,
        /// The conditions that every point meets.
        pub requires: Vec<usize>,
        /// What is claimed of it.
        pub obligations: Vec<Question>,
    }

    /// Something that holds at every point, or at every point of a case.
    #[derive(Copy)]
    pub enum Fact {
        /// The node is finite, at least the first number and at most the second.
        Range(usize, f64, f64),
        /// Both nodes are finite, and the first is at most the second.
        Le(usize, usize),
        /// Both nodes are finite, and the first is less than the second.
        Lt(usize, usize),
        /// The condition has this value.
        Holds(usize, bool),
        /// Both nodes are finite, and the first is exactly the second times this power of two.
        Ratio(usize, usize, i32),
        /// The node is finite, and a whole number.
        Whole(usize),
        /// There is no such point.
        Absurd,
    }

    /// A part of all points.
    pub struct Case {
        /// What holds there; the facts take the next numbers.
        pub assume: Vec<Fact>,
        /// What follows; the last step gives what the whole step gives, or that there is no such point.
        pub steps: Vec<Step>,
    }

    /// One step. Facts are numbered from 0: those of the contract, those that the obligation assumes, then one a step; the
    /// facts of a case are gone after it.
    pub struct Step {
        /// Why.
        pub rule: Rule,
        /// The numbers of the facts that the rule starts from.
        #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Vec::is_empty"))]
        pub from: Vec<usize>,
        /// The fact that follows.
        pub gives: Fact,
        /// What is shown case by case; empty for every other rule.
        #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Vec::is_empty"))]
        pub cases: Vec<Case>,
    }

    /// The proof of one obligation.
    pub struct Proof {
        /// The obligation.
        pub id: String,
        /// Its steps; the last gives the claim.
        pub steps: Vec<Step>,
    }

    /// Proofs of a contract's obligations.
    pub struct Certificate {
        /// Of this format.
        pub version: u32,
        /// What is proven.
        pub about: Problem,
        /// Steps that several proofs use.
        pub steps: Vec<Step>,
        /// One for each obligation that has one, in the order of the contract.
        pub proofs: Vec<Proof>,
    }
}
