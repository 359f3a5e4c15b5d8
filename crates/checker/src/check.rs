//! Walks through a certificate and stops at the first wrong step.

use std::fmt;

use crate::certificate::{Case, Certificate, Claim, Domain, Fact, Problem, Proof, Question, Step, VERSION};
use crate::graph::{Op, twins};
use crate::rule::{Rule, conclude};

/// How deep cases are nested at most.
const MAX_DEPTH: usize = 64;

/// Why a certificate is not accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The positions of the wrong step, from the outermost list of steps to the innermost; empty if it is no step's fault.
    pub step: Vec<usize>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place: Vec<String> = self.step.iter().map(usize::to_string).collect();
        let place = if place.is_empty() { String::new() } else { format!("step {}: ", place.join(".")) };
        write!(f, "{place}{}", self.message)
    }
}

impl std::error::Error for Refusal {}

impl Refusal {
    fn new(message: impl Into<String>) -> Refusal {
        Refusal { step: Vec::new(), message: message.into() }
    }

    fn at(mut self, position: usize) -> Refusal {
        self.step.insert(0, position);
        self
    }
}

/// What one obligation's proof is about: nodes, quantities, what is assumed, and the fact to reach.
pub struct Prepared {
    /// Those of the contract; those of a second point come after them.
    pub nodes: Vec<Op>,
    /// Those of the contract; that of a second point comes after them.
    pub quantities: Vec<Domain>,
    /// What is assumed beside the domains.
    pub assume: Vec<Fact>,
    /// The copy of each node at the second point, if there is one.
    pub twins: Vec<usize>,
    /// What is to be shown.
    pub goal: Fact,
}

/// The nodes and the goal of an obligation.
///
/// A direction is a claim about two points: where a quantity is at most its second value, so is what depends on it.
pub fn prepared(problem: &Problem, question: &Question) -> Option<Prepared> {
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
            Some(Prepared { nodes, quantities, assume, twins, goal })
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
            Some(Prepared { nodes, quantities, assume, twins, goal: Fact::Le(less, more) })
        }
    }
}

/// Whether each obligation's proof is right, in the order of the contract; an error if the certificate as a whole is about
/// something else, or if a step that it shares is wrong.
pub fn check(problem: &Problem, certificate: &Certificate) -> Result<Vec<Result<(), Refusal>>, Refusal> {
    if !is_ieee_754() {
        return Err(Refusal::new("f64 is not IEEE-754 here: subnormal numbers vanish, or roundings differ"));
    }
    let mut left = problem.obligations.iter();
    let known = |proof: &Proof| left.any(|question| question.id == proof.id);
    let same = certificate.version == VERSION && certificate.about == *problem;
    let same = same && signs(&certificate.about) == signs(problem);
    if !same || !certificate.proofs.iter().all(known) {
        let message = "it is of another version, about something else than the contract, or in another order";
        return Err(Refusal::new(message));
    }
    let mut shared = Vec::new();
    let context = Context { nodes: &problem.nodes, quantities: &problem.quantities };
    context.walk(&certificate.steps, &mut shared, 0)?;
    let verdict = |question: &Question| {
        let proof = certificate.proofs.iter().find(|proof| proof.id == question.id);
        let proof = proof.ok_or_else(|| Refusal::new("there is no proof"))?;
        let absent = || Refusal::new("the claim names what is not there");
        let prepared = prepared(problem, question).ok_or_else(absent)?;
        let mut facts = [shared.as_slice(), &prepared.assume].concat();
        let (nodes, quantities) = (&prepared.nodes, &prepared.quantities);
        let last = Context { nodes, quantities }.walk(&proof.steps, &mut facts, 0)?;
        if last == Some(prepared.goal) { Ok(()) } else { Err(Refusal::new("the last step is not the claim")) }
    };
    Ok(problem.obligations.iter().map(verdict).collect())
}

/// The signs of a problem's numbers, in which zeros differ that are equal.
fn signs(of: &Problem) -> Vec<bool> {
    let numbers = of.nodes.iter().map(|op| if let Op::Number(value) = *op { value } else { 1.0 });
    let limits = of.quantities.iter().flat_map(|domain| [domain.low, domain.high]);
    let within = |one: &Question| if let Claim::Monotone { within, .. } = one.claim { within } else { 1.0 };
    numbers.chain(limits).chain(of.obligations.iter().map(within)).map(f64::is_sign_negative).collect()
}

/// Whether arithmetic is as the rules take it to be: every operation rounded once, subnormal numbers kept.
pub fn is_ieee_754() -> bool {
    let [least, one, half] = [f64::from_bits(1), 1.0, f64::EPSILON / 2.0].map(std::hint::black_box);
    let kept = least > 0.0 && f64::MIN_POSITIVE * std::hint::black_box(0.5) > 0.0;
    kept && one + half == 1.0 && one + half.next_up() > 1.0
}

struct Context<'a> {
    nodes: &'a [Op],
    quantities: &'a [Domain],
}

impl Context<'_> {
    /// Checks the steps in order and adds their facts; the last of them.
    fn walk(&self, steps: &[Step], facts: &mut Vec<Fact>, depth: usize) -> Result<Option<Fact>, Refusal> {
        for (position, step) in steps.iter().enumerate() {
            self.step(step, facts, depth).map_err(|refusal| refusal.at(position))?;
            facts.push(step.gives);
        }
        Ok(steps.last().map(|step| step.gives))
    }

    fn step(&self, step: &Step, facts: &mut Vec<Fact>, depth: usize) -> Result<(), Refusal> {
        let from: Option<Vec<Fact>> = step.from.iter().map(|&number| facts.get(number).copied()).collect();
        let from = from.ok_or_else(|| Refusal::new("it starts from a fact that is not there"))?;
        if step.rule == Rule::Cases {
            return self.cases(step, &from, facts, depth);
        }
        if !step.cases.is_empty() {
            return Err(Refusal::new("it has cases, but its rule has none"));
        }
        match conclude(self.nodes, self.quantities, step.rule, &from, step.gives) {
            Some(fact) if fact == step.gives => Ok(()),
            found => Err(Refusal::new(format!("{:?} gives {found:?} here, not {:?}", step.rule, step.gives))),
        }
    }

    fn cases(&self, step: &Step, from: &[Fact], facts: &mut Vec<Fact>, depth: usize) -> Result<(), Refusal> {
        if depth > MAX_DEPTH {
            return Err(Refusal::new("cases are nested too deep"));
        }
        let assumed: Vec<&[Fact]> = step.cases.iter().map(|case| case.assume.as_slice()).collect();
        let complete = match (from, assumed.as_slice()) {
            // Two finite numbers are in one of three orders.
            (&[Fact::Range(a, ..), Fact::Range(b, ..)], [less, equal, greater]) => {
                **less == [Fact::Lt(a, b)]
                    && **equal == [Fact::Le(a, b), Fact::Le(b, a)]
                    && **greater == [Fact::Lt(b, a)]
            }
            ([], &[&[Fact::Holds(c, true)], &[Fact::Holds(d, false)]]) => c == d && c < self.nodes.len(),
            _ => false,
        };
        if !complete {
            return Err(Refusal::new("the cases do not cover every point"));
        }
        let before = facts.len();
        for (position, Case { assume, steps }) in step.cases.iter().enumerate() {
            facts.extend(assume);
            let last = self.walk(steps, facts, depth + 1).map_err(|refusal| refusal.at(position));
            facts.truncate(before);
            if last.clone()? != Some(step.gives) && last? != Some(Fact::Absurd) {
                return Err(Refusal::new("the case does not end in what the step gives").at(position));
            }
        }
        Ok(())
    }
}
