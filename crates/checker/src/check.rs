//! Checks a certificate and stops at the first invalid step of each proof.

use std::fmt;

use crate::certificate::{
    Case, Certificate, Claim, Domain, Fact, Problem, Proof, ProofObligation, Step, VERSION,
};
use crate::graph::{Op, twins};
use crate::rule::{Rule, conclude};

/// Maximum nesting depth of cases.
const MAX_DEPTH: usize = 64;

/// Reason why a certificate or proof is rejected.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckError {
    /// Positions of the invalid step, from the outermost list of steps to the innermost; empty if no single step is at fault.
    pub step: Vec<usize>,
    /// Description of the problem.
    pub message: String,
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place: Vec<String> = self.step.iter().map(usize::to_string).collect();
        let place = if place.is_empty() { String::new() } else { format!("step {}: ", place.join(".")) };
        write!(f, "{place}{}", self.message)
    }
}

impl std::error::Error for CheckError {}

impl CheckError {
    fn new(message: impl Into<String>) -> CheckError {
        CheckError { step: Vec::new(), message: message.into() }
    }

    fn at(mut self, position: usize) -> CheckError {
        self.step.insert(0, position);
        self
    }
}

/// Proof goal of one obligation.
pub struct Goal {
    /// Nodes of the contract, followed by those of a second point, if any.
    pub nodes: Vec<Op>,
    /// Quantities of the contract, followed by that of a second point, if any.
    pub quantities: Vec<Domain>,
    /// Assumptions in addition to the domains.
    pub assume: Vec<Fact>,
    /// Copy of each node at the second point, if any.
    pub twins: Vec<usize>,
    /// Fact to prove.
    pub goal: Fact,
}

/// Derives the proof goal of an obligation, or `None` if the claim refers to missing nodes or quantities.
///
/// Monotonicity is a claim about two points: if the quantity at the first point is at most that at the second, so is the node.
pub fn prepare(problem: &Problem, question: &ProofObligation) -> Option<Goal> {
    let (mut nodes, mut quantities) = (problem.nodes.clone(), problem.quantities.clone());
    let mut assume = Vec::new();
    match &question.claim {
        Claim::Always { condition, given, required } => {
            for &(node, quantity) in given {
                let domain = problem.quantities.get(quantity)?;
                assume.push(Fact::Range(node, domain.low, domain.high));
            }
            assume.extend(problem.requires.iter().chain(required).map(|&node| Fact::Holds(node, true)));
            let (twins, goal) = (Vec::new(), Fact::Holds(*condition, true));
            Some(Goal { nodes, quantities, assume, twins, goal })
        }
        &Claim::Monotone { of, increasing, quantity, within } => {
            quantities.push(quantities.get(quantity)?.clone());
            let twins = twins(&mut nodes, quantity, quantities.len() - 1);
            let other = *twins.get(of)?;
            let (less, mut more) = if increasing { (of, other) } else { (other, of) };
            if within != 0.0 {
                let next = nodes.len();
                nodes.extend([Op::Abs(more), Op::Number(within)]);
                nodes.extend([Op::Mul(next, next + 1), Op::Add(more, next + 2)]);
                more = next + 3;
            }
            let moved = nodes.iter().position(|&op| op == Op::Quantity(quantity));
            assume.extend(moved.map(|node| Fact::Le(node, twins[node])));
            for &node in &problem.requires {
                assume.push(Fact::Holds(node, true));
                let second = *twins.get(node)?;
                assume.extend((second != node).then_some(Fact::Holds(second, true)));
            }
            Some(Goal { nodes, quantities, assume, twins, goal: Fact::Le(less, more) })
        }
    }
}

/// Checks the proof of each obligation, in the order of the contract.
///
/// # Errors
///
/// Returns an error for the whole certificate if it does not match the problem or if a shared step is invalid.
pub fn check(
    problem: &Problem,
    certificate: &Certificate,
) -> Result<Vec<Result<(), CheckError>>, CheckError> {
    if !is_ieee_754() {
        return Err(CheckError::new(
            "f64 arithmetic is not IEEE-754: subnormal numbers are flushed or rounding differs",
        ));
    }
    let mut left = problem.obligations.iter();
    let known = |proof: &Proof| left.any(|question| question.id == proof.id);
    let same = certificate.version == VERSION && certificate.about == *problem;
    let same = same && signs(&certificate.about) == signs(problem);
    if !same || !certificate.proofs.iter().all(known) {
        let message = "its version, problem statement or proof order does not match the contract";
        return Err(CheckError::new(message));
    }
    let mut shared = Vec::new();
    let context = Context { nodes: &problem.nodes, quantities: &problem.quantities };
    context.check_steps(&certificate.steps, &mut shared, 0)?;
    let verdict = |question: &ProofObligation| {
        let proof = certificate.proofs.iter().find(|proof| proof.id == question.id);
        let proof = proof.ok_or_else(|| CheckError::new("missing proof"))?;
        let absent = || CheckError::new("the claim refers to a missing node or quantity");
        let prepared = prepare(problem, question).ok_or_else(absent)?;
        let mut facts = [shared.as_slice(), &prepared.assume].concat();
        let (nodes, quantities) = (&prepared.nodes, &prepared.quantities);
        let last = Context { nodes, quantities }.check_steps(&proof.steps, &mut facts, 0)?;
        if last == Some(prepared.goal) {
            Ok(())
        } else {
            Err(CheckError::new("the last step does not conclude the claim"))
        }
    };
    Ok(problem.obligations.iter().map(verdict).collect())
}

/// Signs of all numbers of a problem. They distinguish zeros, which compare equal.
fn signs(problem: &Problem) -> Vec<bool> {
    let numbers = problem.nodes.iter().map(|op| if let Op::Number(value) = *op { value } else { 1.0 });
    let limits = problem.quantities.iter().flat_map(|domain| [domain.low, domain.high]);
    let within =
        |one: &ProofObligation| if let Claim::Monotone { within, .. } = one.claim { within } else { 1.0 };
    numbers.chain(limits).chain(problem.obligations.iter().map(within)).map(f64::is_sign_negative).collect()
}

/// Returns true if f64 arithmetic matches the rules: one rounding per operation, and subnormal numbers are not flushed.
pub fn is_ieee_754() -> bool {
    let [smallest, one, half] = [f64::from_bits(1), 1.0, f64::EPSILON / 2.0].map(std::hint::black_box);
    let subnormals = smallest > 0.0 && f64::MIN_POSITIVE * std::hint::black_box(0.5) > 0.0;
    subnormals && one + half == 1.0 && one + half.next_up() > 1.0
}

struct Context<'a> {
    nodes: &'a [Op],
    quantities: &'a [Domain],
}

impl Context<'_> {
    /// Checks the steps in order, appends their conclusions to `facts` and returns the last one.
    fn check_steps(
        &self,
        steps: &[Step],
        facts: &mut Vec<Fact>,
        depth: usize,
    ) -> Result<Option<Fact>, CheckError> {
        for (position, step) in steps.iter().enumerate() {
            self.check_step(step, facts, depth).map_err(|error| error.at(position))?;
            facts.push(step.gives);
        }
        Ok(steps.last().map(|step| step.gives))
    }

    fn check_step(&self, step: &Step, facts: &mut Vec<Fact>, depth: usize) -> Result<(), CheckError> {
        let from: Option<Vec<Fact>> = step.from.iter().map(|&number| facts.get(number).copied()).collect();
        let from = from.ok_or_else(|| CheckError::new("a premise refers to a missing fact"))?;
        if step.rule == Rule::Cases {
            return self.check_cases(step, &from, facts, depth);
        }
        if !step.cases.is_empty() {
            return Err(CheckError::new("the rule takes no cases"));
        }
        match conclude(self.nodes, self.quantities, step.rule, &from, step.gives) {
            Some(fact) if fact == step.gives => Ok(()),
            found => Err(CheckError::new(format!(
                "rule {:?} concludes {found:?} instead of {:?}",
                step.rule, step.gives
            ))),
        }
    }

    fn check_cases(
        &self,
        step: &Step,
        from: &[Fact],
        facts: &mut Vec<Fact>,
        depth: usize,
    ) -> Result<(), CheckError> {
        if depth > MAX_DEPTH {
            return Err(CheckError::new("cases are nested too deeply"));
        }
        let assumed: Vec<&[Fact]> = step.cases.iter().map(|case| case.assume.as_slice()).collect();
        let complete = match (from, assumed.as_slice()) {
            // Trichotomy of finite numbers.
            (&[Fact::Range(a, ..), Fact::Range(b, ..)], [less, equal, greater]) => {
                **less == [Fact::Lt(a, b)]
                    && **equal == [Fact::Le(a, b), Fact::Le(b, a)]
                    && **greater == [Fact::Lt(b, a)]
            }
            ([], &[&[Fact::Holds(c, true)], &[Fact::Holds(d, false)]]) => c == d && c < self.nodes.len(),
            _ => false,
        };
        if !complete {
            return Err(CheckError::new("the cases do not cover every point"));
        }
        let before = facts.len();
        for (position, Case { assume, steps }) in step.cases.iter().enumerate() {
            facts.extend(assume);
            let last = self.check_steps(steps, facts, depth + 1).map_err(|error| error.at(position));
            facts.truncate(before);
            if last.clone()? != Some(step.gives) && last? != Some(Fact::Absurd) {
                return Err(
                    CheckError::new("the case does not end in the conclusion of the step").at(position)
                );
            }
        }
        Ok(())
    }
}
