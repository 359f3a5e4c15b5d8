//! Certificate format: the problem, the facts and the rule behind each fact.

use crate::graph::Op;
use crate::rule::Rule;

/// Supported version of the certificate format.
pub const VERSION: u32 = 3;

data! {
    /// Domain of a quantity.
    pub struct Domain {
        /// Name in the contract.
        pub name: String,
        /// Smallest value.
        pub low: f64,
        /// Largest value.
        pub high: f64,
        /// True if the values are integers.
        pub whole: bool,
    }

    /// Claim of an obligation about the nodes.
    pub enum Claim {
        /// The condition is true whenever each given node is within the domain of its quantity and the requirements hold.
        Always {
            /// The condition.
            condition: usize,
            /// Pairs of a node and the quantity whose domain it is in.
            given: Vec<(usize, usize)>,
            /// Conditions on the given nodes.
            required: Vec<usize>,
        },
        /// The node is monotone in one quantity, up to a tolerance.
        Monotone {
            /// The node.
            of: usize,
            /// True if increasing, false if decreasing.
            increasing: bool,
            /// The quantity.
            quantity: usize,
            /// Tolerance relative to the larger value; 0 for none.
            within: f64,
        },
    }

    /// An obligation to prove.
    pub struct ProofObligation {
        /// Name in the contract.
        pub id: String,
        /// SHA-256 of the contract, its base contracts and the claim.
        pub sha256: String,
        /// The claim.
        pub claim: Claim,
    }

    /// Problem statement derived from the contract and repeated in the certificate.
    pub struct Problem {
        /// Name of the contract.
        pub contract: String,
        /// SHA-256 of the contract file.
        pub sha256: String,
        /// Input quantities.
        pub quantities: Vec<Domain>,
        /// Operations; operands precede their users.
        pub nodes: Vec<Op>,
        /// Conditions that hold at every point.
        pub requires: Vec<usize>,
        /// Obligations of the contract.
        pub obligations: Vec<ProofObligation>,
    }

    /// A statement that holds at every point, or at every point of a case.
    #[derive(Copy)]
    pub enum Fact {
        /// The node is finite and within the bounds, inclusive.
        Range(usize, f64, f64),
        /// Both nodes are finite, and the first is at most the second.
        Le(usize, usize),
        /// Both nodes are finite, and the first is less than the second.
        Lt(usize, usize),
        /// The condition has this value.
        Holds(usize, bool),
        /// Both nodes are finite, and the first is exactly the second times this power of two.
        Ratio(usize, usize, i32),
        /// The node is a finite integer.
        Whole(usize),
        /// Contradiction: there is no such point.
        Absurd,
    }

    /// A case of a case distinction.
    pub struct Case {
        /// Assumptions of the case, which take the next fact numbers.
        pub assume: Vec<Fact>,
        /// Steps of the case. The last one has the conclusion of the enclosing step, or a contradiction.
        pub steps: Vec<Step>,
    }

    /// A proof step. Facts are numbered from 0: first the shared steps, then the assumptions of the obligation, then one per step. Facts of a
    /// case go out of scope after it.
    pub struct Step {
        /// Rule that justifies the step.
        pub rule: Rule,
        /// Numbers of the premises.
        #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Vec::is_empty"))]
        pub from: Vec<usize>,
        /// The conclusion.
        pub gives: Fact,
        /// Cases of `Rule::Cases`; empty for every other rule.
        #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Vec::is_empty"))]
        pub cases: Vec<Case>,
    }

    /// Proof of one obligation.
    pub struct Proof {
        /// Name of the obligation.
        pub id: String,
        /// Steps; the last one concludes the claim.
        pub steps: Vec<Step>,
    }

    /// Proofs of a contract's obligations.
    pub struct Certificate {
        /// Version of the format.
        pub version: u32,
        /// Problem statement.
        pub about: Problem,
        /// Steps that several proofs use.
        pub steps: Vec<Step>,
        /// Proofs in the order of the obligations, which may lack some.
        pub proofs: Vec<Proof>,
    }
}
