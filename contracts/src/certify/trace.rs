//! Readable proofs and open goals, rendered on demand.

use roofline_checker::{Claim, Fact, Op, Problem, ProofObligation, Rule, Step, prepare};

use super::operations;
use super::search::Open;
use crate::contract::Contract;
use crate::graph::IdMap;

/// Maximum depth at which an unnamed expression is printed.
const MAX_DEPTH: usize = 4;
/// Maximum number of lines of a trace.
const MAX_LINES: usize = 40;

/// Prints nodes by their names in the contract. Values at the second point of a direction have a prime.
pub(crate) struct Printer {
    nodes: Vec<Op>,
    names: IdMap<usize, String>,
    quantities: Vec<String>,
    /// The assumptions of the obligation.
    assume: Vec<Fact>,
    /// The name of the quantity with a second value.
    moved: String,
}

impl Printer {
    /// Prints nodes of the contract's graph.
    pub fn new(contract: &Contract) -> Printer {
        let mut names: IdMap<usize, String> = IdMap::default();
        for equation in &contract.equations {
            names.entry(equation.expression.id.index()).or_insert_with(|| equation.name.clone());
        }
        let quantities = contract.quantities.iter().map(|quantity| quantity.name.clone()).collect();
        let (nodes, assume, moved) = (operations(&contract.graph), Vec::new(), String::new());
        Printer { nodes, names, quantities, assume, moved }
    }

    /// Prints the nodes of one obligation's proof.
    pub(super) fn for_question(
        contract: &Contract,
        about: &Problem,
        question: &ProofObligation,
    ) -> Option<Printer> {
        let prepared = prepare(about, question)?;
        let mut printer = Printer::new(contract);
        for (node, &twin) in prepared.twins.iter().enumerate().filter(|&(node, &twin)| twin != node) {
            let name = printer.names.get(&node).map(|name| format!("{name}'"));
            printer.names.extend(name.map(|name| (twin, name)));
        }
        if let Claim::Monotone { quantity, .. } = question.claim {
            printer.moved.clone_from(printer.quantities.get(quantity)?);
            printer.quantities.push(format!("{}'", printer.moved));
        }
        (printer.nodes, printer.assume) = (prepared.nodes, prepared.assume);
        Some(printer)
    }

    /// The steps of a proof, one per line; `shared` are the preceding shared steps.
    pub(super) fn steps(&self, shared: &[Step], steps: &[Step]) -> Vec<String> {
        let mut facts: Vec<Fact> = shared.iter().map(|step| step.gives).collect();
        facts.extend(&self.assume);
        let assumed = self.assume.iter().map(|&fact| format!("{}: assumed", self.fact(fact)));
        let mut lines: Vec<String> = assumed.collect();
        let mut needed = vec![false; shared.len()];
        mark(steps, &mut needed);
        for (position, step) in shared.iter().enumerate().rev() {
            if needed[position] {
                mark(std::slice::from_ref(step), &mut needed);
            }
        }
        for (position, step) in shared.iter().enumerate().filter(|&(position, _)| needed[position]) {
            self.walk(std::slice::from_ref(step), &mut facts[..position].to_vec(), 0, &mut lines);
        }
        self.walk(steps, &mut facts, 0, &mut lines);
        if lines.is_empty()
            && let Some(step) = steps.last()
        {
            let from = step.from.iter().filter_map(|&number| facts.get(number).copied());
            lines.push(format!("{}: {}", self.fact(step.gives), self.reason(step, from)));
        }
        if lines.len() > MAX_LINES {
            let more = lines.len() - MAX_LINES;
            lines.truncate(MAX_LINES);
            lines.push(format!("... and {more} more steps"));
        }
        lines
    }

    fn walk(&self, steps: &[Step], facts: &mut Vec<Fact>, depth: usize, lines: &mut Vec<String>) {
        let indent = "  ".repeat(depth);
        for step in steps {
            let before = facts.len();
            for case in &step.cases {
                let equal = matches!(case.assume[..], [Fact::Le(..), Fact::Le(..)]);
                let assumed = match case.assume.first() {
                    Some(&Fact::Le(a, b)) if equal => format!("{} == {}", self.show(a), self.show(b)),
                    Some(&fact) => self.fact(fact),
                    None => continue,
                };
                lines.push(format!("{indent}case {assumed}:"));
                facts.extend(&case.assume);
                self.walk(&case.steps, facts, depth + 1, lines);
                facts.truncate(before);
            }
            // A chain in which all other links are `a <= a` repeats a fact.
            let repeated = step.from.iter().any(|&number| facts.get(number) == Some(&step.gives));
            if step.cases.is_empty() && !repeated && self.is_telling(step) {
                let from = step.from.iter().filter_map(|&number| facts.get(number).copied());
                lines.push(format!("{indent}{}: {}", self.fact(step.gives), self.reason(step, from)));
            }
            facts.push(step.gives);
        }
    }

    /// True if a step needs a line. Ranges of operations are shown where they are used, and a comparison follows from an order
    /// that has its own line.
    fn is_telling(&self, step: &Step) -> bool {
        match (step.rule, step.gives) {
            (Rule::Operation | Rule::Meet | Rule::Widen | Rule::Whole, _) => false,
            (Rule::Trans, Fact::Le(a, b)) => a != b,
            (Rule::Decide, Fact::Holds(node, _)) => {
                !matches!(self.op(node), Op::Less(..) | Op::LessEqual(..) | Op::Equal(..))
            }
            _ => true,
        }
    }

    /// The rule of a step and the ranges it depends on.
    fn reason(&self, step: &Step, from: impl Iterator<Item = Fact>) -> String {
        let depends = |node: usize| match (step.rule, step.gives) {
            (Rule::Apart | Rule::Decide, _) => true,
            (Rule::Trans | Rule::Choice, _) => false,
            (_, Fact::Le(a, b) | Fact::Lt(a, b)) => {
                let chosen = |node| matches!(self.op(node), Op::Min(..) | Op::Max(..) | Op::If(..));
                ![a, b].contains(&node) && !chosen(a) && !chosen(b)
            }
            (_, Fact::Range(about, ..)) => node != about,
            _ => true,
        };
        let ranges: Vec<String> = from
            .filter(|fact| match *fact {
                Fact::Range(node, ..) => !matches!(self.op(node), Op::Number(_)) && depends(node),
                _ => false,
            })
            .map(|fact| self.fact(fact))
            .collect();
        let rule = self.rule(step);
        if ranges.is_empty() { rule.to_owned() } else { format!("{rule}, as {}", ranges.join(" and ")) }
    }

    fn rule(&self, step: &Step) -> &'static str {
        match step.rule {
            Rule::Operation => "from its operands",
            Rule::Meet => "the intersection of two ranges",
            Rule::Widen => "a wider range",
            Rule::Narrow => "an inequality narrows its range",
            Rule::Gap => "distinct values are at least one ulp apart",
            Rule::Apart => "the ranges do not overlap",
            Rule::Trans => "transitivity",
            Rule::Monotone => match step.gives {
                Fact::Le(a, _) => monotone(self.op(a)),
                _ => "rounded operations are monotone",
            },
            Rule::Choice => "true for every value that can be chosen",
            Rule::Beside => match step.gives {
                Fact::Le(a, b) => self.operand_reason(a, b),
                _ => "an operation and its operand",
            },
            Rule::Reals => "true over the reals, with a margin for rounding",
            Rule::Whole => "an integer",
            Rule::Inward => "the range of an integer ends at integers",
            Rule::Multiple => "an integer rounded to a multiple",
            Rule::Decide => "decided by its parts",
            Rule::Order => "the comparison is decided",
            Rule::Part => "part of a decided condition",
            Rule::Ratio | Rule::RatioScale | Rule::RatioTrans | Rule::RatioOf => {
                "exact scaling by a power of two"
            }
            Rule::RatioLe => "a power of two times the same value",
            Rule::Contradiction => "a contradiction",
            Rule::Cases => "true in every case",
        }
    }

    /// The order of an operation and one of its operands.
    fn operand_reason(&self, a: usize, b: usize) -> &'static str {
        let (low, high) = (self.op(a), self.op(b));
        match (low, high) {
            (Op::Min(p, q), _) if [p, q].contains(&b) => "min is at most each of its arguments",
            (_, Op::Max(p, q)) if [p, q].contains(&a) => "max is at least each of its arguments",
            (Op::Floor(p), _) if p == b => "floor is at most its argument",
            (_, Op::Ceil(p)) if p == a => "ceil is at least its argument",
            (Op::Ceil(p), _) if p == b => "ceil of an integer is the integer",
            (_, Op::Floor(p)) if p == a => "floor of an integer is the integer",
            (_, Op::Abs(p)) if p == a => "abs is at least its argument",
            (Op::Abs(p), _) if p == b => "abs of a non-negative value is the value",
            (Op::If(_, p, q), _) if [p, q].contains(&b) => "the condition is decided",
            (_, Op::If(_, p, q)) if [p, q].contains(&a) => "the condition is decided",
            (_, Op::Add(p, q)) if [p, q].contains(&a) => "adding a non-negative value",
            (Op::Add(p, q), _) if [p, q].contains(&b) => "adding a non-positive value",
            (Op::Sub(p, _), _) if p == b => "subtracting a non-negative value",
            (_, Op::Sub(p, _)) if p == a => "subtracting a non-positive value",
            (Op::Mul(p, q), _) if [p, q].contains(&b) => "the factor cannot increase it",
            (_, Op::Mul(p, q)) if [p, q].contains(&a) => "the factor cannot decrease it",
            (Op::Div(p, _), _) if p == b => "the divisor cannot increase it",
            (_, Op::Div(p, _)) if p == a => "the divisor cannot decrease it",
            (Op::Pow(..), _) | (_, Op::Pow(..)) => "a power stays on the same side of 1",
            _ => "an operation and its operand",
        }
    }

    /// Describes the open goal of a search.
    pub(super) fn open(&self, open: &Open) -> String {
        match open {
            Open::Case(facts) => {
                let mut orders: Vec<String> = Vec::new();
                for &fact in facts {
                    let order = match fact {
                        Fact::Le(a, b) if facts.contains(&Fact::Le(b, a)) => {
                            format!("{} == {}", self.show(a.min(b)), self.show(a.max(b)))
                        }
                        fact => self.fact(fact),
                    };
                    if !orders.contains(&order) {
                        orders.push(order);
                    }
                }
                format!("could not rule out: {}", orders.join(" and "))
            }
            &Open::Goal(fact) => format!("could not prove: {}", self.fact(fact)),
            &Open::Bound(node) => format!("could not bound: {}", self.show(node)),
            Open::Direction(node, operands) => {
                let way = |&(node, up): &(usize, bool)| {
                    format!("{} {}", self.show(node), if up { "never decreases" } else { "never increases" })
                };
                let ways: Vec<String> = operands.iter().map(way).collect();
                let given = if ways.is_empty() {
                    String::new()
                } else {
                    format!(", given that {}", ways.join(" and "))
                };
                format!("could not determine the direction of {} in {}{given}", self.show(*node), self.moved)
            }
        }
    }

    fn fact(&self, fact: Fact) -> String {
        match fact {
            Fact::Range(node, low, high) if low == high => format!("{} is {low:?}", self.show(node)),
            Fact::Range(node, low, high) => format!("{} is in [{low:?}, {high:?}]", self.show(node)),
            Fact::Le(a, b) => format!("{} <= {}", self.show(a), self.show(b)),
            Fact::Lt(a, b) => format!("{} < {}", self.show(a), self.show(b)),
            Fact::Holds(node, true) => self.show(node),
            Fact::Holds(node, false) => format!("not {}", self.inner(node, MAX_DEPTH)),
            Fact::Ratio(a, b, 0) => format!("{} == {}", self.show(a), self.show(b)),
            Fact::Ratio(a, b, power) => {
                format!("{} == 2^{power} * {}", self.show(a), self.inner(b, MAX_DEPTH))
            }
            Fact::Whole(node) => format!("{} is an integer", self.show(node)),
            Fact::Absurd => "impossible".to_owned(),
        }
    }

    fn op(&self, node: usize) -> Op {
        self.nodes.get(node).copied().unwrap_or(Op::Bool(false))
    }

    /// The name of a node, or its formula.
    pub fn show(&self, node: usize) -> String {
        self.print(node, MAX_DEPTH)
    }

    fn inner(&self, node: usize, depth: usize) -> String {
        let text = self.print(node, depth);
        let atomic = text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '\''));
        if atomic || text.ends_with(')') && !text.starts_with('(') && !text.contains(' ') {
            text
        } else {
            format!("({text})")
        }
    }

    fn print(&self, node: usize, depth: usize) -> String {
        if let Some(name) = self.names.get(&node) {
            return name.clone();
        }
        let Some(depth) = depth.checked_sub(1) else { return "...".to_owned() };
        let (inner, plain) = (|node| self.inner(node, depth), |node| self.print(node, depth));
        match self.op(node) {
            Op::Number(value) => format!("{value:?}"),
            Op::Quantity(index) => self.quantities.get(index).cloned().unwrap_or_default(),
            Op::Neg(a) => format!("-{}", inner(a)),
            Op::Add(a, b) => format!("{} + {}", inner(a), inner(b)),
            Op::Sub(a, b) => format!("{} - {}", inner(a), inner(b)),
            Op::Mul(a, b) => format!("{} * {}", inner(a), inner(b)),
            Op::Div(a, b) => format!("{} / {}", inner(a), inner(b)),
            Op::Min(a, b) => format!("min({}, {})", plain(a), plain(b)),
            Op::Max(a, b) => format!("max({}, {})", plain(a), plain(b)),
            Op::Floor(a) => format!("floor({})", plain(a)),
            Op::Ceil(a) => format!("ceil({})", plain(a)),
            Op::Sqrt(a) => format!("sqrt({})", plain(a)),
            Op::Abs(a) => format!("abs({})", plain(a)),
            Op::Pow(a, b) => format!("pow({}, {})", plain(a), plain(b)),
            Op::If(c, a, b) => format!("if {} then {} else {}", plain(c), plain(a), plain(b)),
            Op::Bool(value) => value.to_string(),
            Op::Less(a, b) => format!("{} < {}", inner(a), inner(b)),
            Op::LessEqual(a, b) => format!("{} <= {}", inner(a), inner(b)),
            Op::Equal(a, b) => format!("{} == {}", inner(a), inner(b)),
            Op::And(a, b) => format!("{} and {}", inner(a), inner(b)),
            Op::Or(a, b) => format!("{} or {}", inner(a), inner(b)),
            Op::Not(a) => format!("not {}", inner(a)),
            Op::Iff(a, b) => format!("{} iff {}", inner(a), inner(b)),
            Op::Finite(a) => format!("finite({})", plain(a)),
        }
    }
}

/// Marks the shared steps on which these depend.
fn mark(steps: &[Step], needed: &mut [bool]) {
    for step in steps {
        for &number in &step.from {
            if let Some(needed) = needed.get_mut(number) {
                *needed = true;
            }
        }
        step.cases.iter().for_each(|case| mark(&case.steps, needed));
    }
}

fn monotone(op: Op) -> &'static str {
    match op {
        Op::Neg(_) => "negation reverses the order",
        Op::Add(..) => "rounded sums are monotone",
        Op::Sub(..) => "rounded differences are monotone",
        Op::Mul(..) => "rounded products are monotone",
        Op::Div(..) => "rounded quotients are monotone",
        Op::Floor(_) | Op::Ceil(_) => "rounding to integers is monotone",
        Op::Sqrt(_) => "square roots are monotone",
        Op::Pow(..) => "powers are monotone",
        _ => "rounded operations are monotone",
    }
}
