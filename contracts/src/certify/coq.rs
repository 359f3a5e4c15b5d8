//! Certificates as Coq theorems: a definition for each equation, the shared facts, and for each obligation its full
//! statement and a proof that applies the rules of `Rules.v` as the certificate does.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use roofline_checker::{
    Certificate, Claim, Domain, Fact, Goal, Op, Problem, Proof, ProofObligation, RULES, Rule, Step, prepare,
};

use crate::certify::problem;
use crate::contract::Contract;
use crate::formula::Kind;
use crate::graph::Id;

/// Reserved words of Coq.
const KEYWORDS: &[&str] = &[
    "Prop", "Set", "SProp", "Type", "as", "at", "cofix", "else", "end", "exists", "fix", "for", "forall",
    "fun", "if", "in", "let", "match", "return", "then", "where", "with", "by", "using", "true", "false",
];
/// Names that theorems and proofs use in addition to those of `Rules.v`.
const NAMES: &str =
    "bool andb orb negb nil cons conj proj1 proj2 eq_refl or_introl or_intror gs ws gaps_above";

/// Returns the file for `coqc`, which needs the compiled `Rules.v`.
///
/// The statements are derived from the contract, not from the certificate; Coq rejects wrong steps of the certificate.
pub fn theorems(contract: &Contract, certificate: &Certificate) -> String {
    Writer::new(contract, certificate).file()
}

struct Writer<'a> {
    contract: &'a Contract,
    about: Problem,
    certificate: &'a Certificate,
    /// The names of equations, quantities and obligations in the order of the contract.
    equations: Vec<String>,
    quantities: Vec<String>,
    theorems: Vec<String>,
    /// The quantities that each node depends on.
    under: Vec<BTreeSet<usize>>,
    /// The first equation whose value is this node.
    roots: BTreeMap<usize, usize>,
}

/// The nodes of a proof and their notation.
struct Scope {
    nodes: Vec<Op>,
    quantities: Vec<Domain>,
    /// Nodes that are applications of an equation.
    applied: BTreeMap<usize, String>,
    /// The number of shared facts.
    shared: usize,
}

impl<'a> Writer<'a> {
    fn new(contract: &'a Contract, certificate: &'a Certificate) -> Self {
        let mut taken: BTreeSet<String> =
            KEYWORDS.iter().copied().chain(NAMES.split(' ')).map(str::to_owned).collect();
        for line in RULES.lines() {
            let mut words = line.split_whitespace().filter(|word| *word != "#[global]");
            if matches!(
                words.next(),
                Some("Definition" | "Fixpoint" | "Lemma" | "Notation" | "Instance" | "Ltac")
            ) {
                taken.extend(words.next().map(str::to_owned));
            }
        }
        let equations = contract.equations.iter().map(|one| unused(&one.name, "", &mut taken)).collect();
        let quantities = contract.quantities.iter().map(|one| unused(&one.name, "", &mut taken)).collect();
        let of_obligations = contract.obligations.iter().map(|one| one.id.replace('-', "_"));
        let theorems = of_obligations.map(|id| unused(&id, "_holds", &mut taken)).collect();
        let about = problem(contract);
        let nodes = &about.nodes;
        let mut under: Vec<BTreeSet<usize>> = Vec::with_capacity(nodes.len());
        for &op in nodes {
            let mut found: BTreeSet<usize> = BTreeSet::new();
            if let Op::Quantity(index) = op {
                found.insert(index);
            }
            for operand in op.operands() {
                found.extend(&under[operand]);
            }
            under.push(found);
        }
        let mut roots = BTreeMap::new();
        for &equation in &contract.order {
            roots.entry(contract.equations[equation].expression.id.index()).or_insert(equation);
        }
        roots.retain(|&node, _| !matches!(nodes[node], Op::Quantity(_) | Op::Number(_)));
        Writer { contract, about, certificate, equations, quantities, theorems, under, roots }
    }

    fn quantity(&self, index: usize) -> String {
        self.quantities[index].clone()
    }

    fn file(&self) -> String {
        let about = &self.about;
        let mut out = format!(
            "(* Theorems of {}, SHA-256 {}.\n   Every f64 is rounded to nearest even after every operation; see Rules.v. *)\n\n",
            about.contract, about.sha256
        );
        out += "From Coq Require Import ZArith Bool.\nRequire Import Rules.\n\n";
        let whole = self.scope(None);
        // An equation may share nodes with one that does not name it, so operands come first, as in the graph.
        let mut order = self.contract.order.clone();
        order.sort_by_key(|&equation| self.contract.equations[equation].expression.id.index());
        for equation in order {
            out += &self.definition(equation, &whole);
        }
        out += "\nSection Contract.\n\n";
        for (index, domain) in about.quantities.iter().enumerate() {
            let _ = writeln!(out, "Variable {} : f64.", self.quantity(index));
            let _ = writeln!(out, "Hypothesis D{index} : {}.", membership(domain, &self.quantity(index)));
            if domain.whole {
                let _ = writeln!(out, "Hypothesis W{index} : {}.", wholeness(&self.quantity(index)));
            }
        }
        out += "\n";
        for position in 0..about.nodes.len() {
            let (kind, value) = (kind(about.nodes[position]), whole.defined(position, self));
            let _ = writeln!(out, "Definition n{position} : {kind} := {value}.");
        }
        out += "\n";
        for (number, step) in self.certificate.steps.iter().enumerate() {
            let _ = writeln!(out, "Lemma F{number} : {}.", whole.fact(step.gives, self));
            let facts: Vec<Fact> = self.certificate.steps[..number].iter().map(|step| step.gives).collect();
            let _ = writeln!(out, "Proof. {} Qed.", whole.proof(step, &facts, self));
        }
        let mut theorems = String::new();
        for proof in &self.certificate.proofs {
            let position = about.obligations.iter().position(|question| question.id == proof.id);
            let Some(position) = position else { continue };
            let Some(prepared) = prepare(about, &about.obligations[position]) else { continue };
            let (lemma, theorem) = self.theorem(position, proof, prepared);
            out += &lemma;
            theorems += &theorem;
        }
        format!("{out}\nEnd Contract.\n{theorems}")
    }

    /// The nodes of the contract, or of one obligation.
    fn scope(&self, question: Option<(&ProofObligation, Goal)>) -> Scope {
        let about = &self.about;
        let mut applied: BTreeMap<usize, String> = BTreeMap::new();
        let plain = |index: usize| self.quantity(index);
        for (&node, &equation) in &self.roots {
            applied.insert(node, self.application(equation, &plain));
        }
        let shared = self.certificate.steps.len();
        let Some((question, prepared)) = question else {
            let (nodes, quantities) = (about.nodes.clone(), about.quantities.clone());
            return Scope { nodes, quantities, applied, shared };
        };
        let mut scope = Scope { nodes: prepared.nodes, quantities: prepared.quantities, applied, shared };
        if let Claim::Monotone { quantity, .. } = question.claim {
            let second = self.second(quantity);
            let moved = |index: usize| if index == quantity { second.clone() } else { self.quantity(index) };
            for (&node, &equation) in &self.roots {
                if prepared.twins[node] != node {
                    scope.applied.insert(prepared.twins[node], self.application(equation, &moved));
                }
            }
        }
        for by in self.substitutions(&question.id) {
            let mut graph = self.contract.graph.clone();
            let argument = |index: usize| match by.iter().find(|(quantity, _)| *quantity == index) {
                Some((_, node)) => scope.shown(node.index(), self),
                None => self.quantity(index),
            };
            let mut images = Vec::new();
            for (&node, &equation) in &self.roots {
                let root = self.contract.equations[equation].expression.id;
                let image = graph.substitute(root, &by).index();
                if image < about.nodes.len() && image != node {
                    images.push((image, self.application(equation, &argument)));
                }
            }
            for (image, text) in images {
                scope.applied.entry(image).or_insert(text);
            }
        }
        scope
    }

    /// The substitutions of quantities in an obligation.
    fn substitutions(&self, id: &str) -> Vec<Vec<(usize, Id)>> {
        let Some(obligation) = self.contract.obligations.iter().find(|obligation| obligation.id == id) else {
            return Vec::new();
        };
        let mut left = obligation.substituted.as_slice();
        let mut found = Vec::new();
        for node in &obligation.formula.nodes {
            if let Kind::Substitute(_, replaced) = &node.kind {
                let (these, rest) = left.split_at(replaced.len().min(left.len()));
                found.push(these.to_vec());
                left = rest;
            }
        }
        found
    }

    fn second(&self, quantity: usize) -> String {
        format!("{}'", self.quantity(quantity))
    }

    fn application(&self, equation: usize, argument: &dyn Fn(usize) -> String) -> String {
        let node = self.contract.equations[equation].expression.id.index();
        let mut text = self.equations[equation].clone();
        for &quantity in &self.under[node] {
            let argument = argument(quantity);
            let _ = if argument.contains(' ') {
                write!(text, " ({argument})")
            } else {
                write!(text, " {argument}")
            };
        }
        text
    }

    fn definition(&self, equation: usize, scope: &Scope) -> String {
        let node = self.contract.equations[equation].expression.id.index();
        let quantities: Vec<String> = self.under[node].iter().map(|&index| self.quantity(index)).collect();
        let arguments =
            if quantities.is_empty() { String::new() } else { format!(" ({} : f64)", quantities.join(" ")) };
        let body = match self.roots.get(&node) {
            Some(&first) if first != equation => scope.shown(node, self),
            _ => scope.operation(node, &|operand| scope.atom(operand, self), self),
        };
        format!("Definition {}{arguments} : f64 :=\n  {body}.\n", self.equations[equation])
    }

    /// The lemma inside the section, and the theorem with its full statement.
    fn theorem(&self, position: usize, proof: &Proof, prepared: Goal) -> (String, String) {
        let about = &self.about;
        let (question, id) = (&about.obligations[position], &self.theorems[position]);
        let formal = &self.contract.obligations[position].formula;
        let (assume, goal) = (prepared.assume.clone(), prepared.goal);
        let scope = self.scope(Some((question, prepared)));
        let mut premises = Vec::new();
        let (mut opened, mut variable) = (String::new(), String::new());
        let first = scope.shared;
        let claim = match (&question.claim, goal) {
            (Claim::Monotone { quantity, .. }, Fact::Le(a, b)) => {
                let (domain, second) = (&about.quantities[*quantity], self.second(*quantity));
                variable = second.clone();
                premises.push(membership(domain, &second));
                opened += &format!("intros {second} D{}", about.quantities.len());
                if domain.whole {
                    premises.push(wholeness(&second));
                    opened += &format!(" W{}", about.quantities.len());
                }
                let named: Vec<Fact> = assume.iter().copied().chain([goal]).collect();
                let poses = scope.poses(&named, about.nodes.len(), self);
                if let Some(&Fact::Le(x, y)) = assume.first() {
                    premises.push(format!("le {} {second} = true", self.quantity(*quantity)));
                    let order = scope.fact(Fact::Le(x, y), self);
                    let ranges =
                        format!("(domain D{quantity} eq_refl) (domain D{} eq_refl)", about.quantities.len());
                    opened += &format!(
                        " G0.\n{poses}  assert (H{first} : {order}) by exact (order_less_equal_true G0 {ranges}).\n"
                    );
                } else {
                    opened += &format!(".\n{poses}");
                }
                format!("le {} {} = true", scope.atom(a, self), scope.atom(b, self))
            }
            (Claim::Always { condition, given, .. }, _) => {
                for (i, &(node, quantity)) in given.iter().enumerate() {
                    let number = first + i;
                    let domain = &about.quantities[quantity];
                    premises.push(membership(domain, &scope.atom(node, self)));
                    let fact = scope.fact(assume[i], self);
                    opened += &format!(
                        "intros G{i}. assert (H{number} : {fact}) by (refine (domain G{i} _); side).\n  "
                    );
                }
                format!("{} = true", scope.shown(*condition, self))
            }
            _ => return (String::new(), String::new()),
        };
        for (i, &fact) in assume.iter().enumerate() {
            let Fact::Holds(node, true) = fact else { continue };
            premises.push(format!("{} = true", scope.shown(node, self)));
            let (number, fact) = (first + i, scope.fact(fact, self));
            opened += &format!("  intros G{i}. assert (H{number} : {fact}) by exact G{i}.\n");
        }
        let mut facts: Vec<Fact> = self.certificate.steps.iter().map(|step| step.gives).collect();
        facts.extend(&assume);
        let mut script = scope.script(&proof.steps, &mut facts, "  ", self);
        let last = scope.reference(facts.len().saturating_sub(1));
        let last = if let Fact::Le(..) = goal { format!("(less_equal_true {last})") } else { last };
        // A comparison with an infinity may hold, so state that the operands are finite if a fact shows it.
        let (mut claim, mut end) = (claim, last);
        for node in scope.compared(goal).into_iter().rev() {
            if let Some(reason) = scope.finite(node, &facts) {
                claim = format!("finite {} = true /\\\n  {claim}", scope.atom(node, self));
                end = format!("(conj {reason} {end})");
            }
        }
        script += &format!("  exact {end}.\n");
        let variables =
            if variable.is_empty() { String::new() } else { format!("forall {variable} : f64, ") };
        let statement: Vec<String> = premises.iter().cloned().chain([claim.clone()]).collect();
        let mut named = about.requires.clone();
        let mut used: BTreeSet<usize> = BTreeSet::new();
        match &question.claim {
            Claim::Monotone { of, quantity, .. } => {
                named.push(*of);
                used.insert(*quantity);
            }
            Claim::Always { condition, given, required } => {
                named.extend(given.iter().map(|(node, _)| *node).chain([*condition]).chain(required.clone()));
            }
        }
        used.extend(named.iter().flat_map(|&node| self.under[node].iter().copied()));
        // Outside of the section, the lemma takes the hypotheses that it uses, in the order of the contract.
        let hypotheses = |index: usize| {
            let whole = about.quantities[index].whole.then(|| format!("W{index}"));
            [format!("D{index}")].into_iter().chain(whole)
        };
        let using: Vec<String> = used.iter().flat_map(|&index| hypotheses(index)).collect();
        let using = if using.is_empty() { String::new() } else { format!(" using {}", using.join(" ")) };
        let lemma = format!(
            "\nLemma Proof_of_{id} : {variables}{}.\nProof{using}.\n  {opened}{script}Qed.\n",
            statement.join(" -> ")
        );
        let mut theorem = format!("\n(* {formal} *)\nTheorem {id} :");
        let mut names: Vec<String> = used.iter().map(|&index| self.quantity(index)).collect();
        names.extend((!variable.is_empty()).then(|| variable.clone()));
        if !names.is_empty() {
            let _ = write!(theorem, " forall {} : f64,", names.join(" "));
        }
        for &index in &used {
            let domain = &about.quantities[index];
            let _ = write!(theorem, "\n  {} ->", membership(domain, &self.quantity(index)));
            if domain.whole {
                let _ = write!(theorem, "\n  {} ->", wholeness(&self.quantity(index)));
            }
        }
        for premise in &premises {
            let _ = write!(theorem, "\n  {premise} ->");
        }
        let assumed: Vec<String> = (0..premises.len()).map(|i| format!("G{i}")).collect();
        let (mut introduced, mut arguments) = (names, Vec::new());
        for &index in &used {
            introduced.extend(hypotheses(index));
            arguments.push(self.quantity(index));
            arguments.extend(hypotheses(index));
        }
        arguments.extend((!variable.is_empty()).then_some(variable));
        introduced.extend(assumed.clone());
        arguments.extend(assumed);
        let _ = write!(
            theorem,
            "\n  {claim}.\nProof. intros {}. exact (Proof_of_{id} {}). Qed.\n",
            introduced.join(" "),
            arguments.join(" ")
        );
        (lemma, theorem)
    }
}

impl Scope {
    /// The name of a node in the section.
    fn node(&self, position: usize) -> String {
        format!("n{position}")
    }

    fn reference(&self, number: usize) -> String {
        if number < self.shared { format!("F{number}") } else { format!("H{number}") }
    }

    /// The operation of a node; an arbitrary one if the node does not exist.
    fn op(&self, node: usize) -> Op {
        self.nodes.get(node).copied().unwrap_or(Op::Bool(false))
    }

    /// The values that a claim compares, except numbers and quantities.
    fn compared(&self, goal: Fact) -> BTreeSet<usize> {
        let (mut found, mut pending) = (BTreeSet::new(), Vec::new());
        match goal {
            Fact::Le(a, b) => found.extend([a, b]),
            Fact::Holds(condition, true) => pending.push(condition),
            _ => {}
        }
        while let Some(condition) = pending.pop() {
            match self.op(condition) {
                Op::And(a, b) | Op::Or(a, b) | Op::Iff(a, b) => pending.extend([a, b]),
                Op::Not(a) => pending.push(a),
                Op::Less(a, b) | Op::LessEqual(a, b) | Op::Equal(a, b) => found.extend([a, b]),
                _ => {}
            }
        }
        found.retain(|&node| !matches!(self.op(node), Op::Number(_) | Op::Quantity(_)));
        found
    }

    /// The proof that a node is finite.
    fn finite(&self, node: usize, facts: &[Fact]) -> Option<String> {
        facts.iter().enumerate().find_map(|(number, fact)| match *fact {
            Fact::Range(a, ..) | Fact::Le(a, _) | Fact::Lt(a, _) if a == node => {
                Some(format!("(proj1 {})", self.reference(number)))
            }
            Fact::Le(_, b) | Fact::Lt(_, b) if b == node => {
                Some(format!("(proj1 (proj2 {}))", self.reference(number)))
            }
            _ => None,
        })
    }

    /// A readable form of a node: an equation with its arguments, or an operation.
    fn shown(&self, position: usize, writer: &Writer<'_>) -> String {
        match self.applied.get(&position) {
            Some(text) => text.clone(),
            None => self.operation(position, &|operand| self.atom(operand, writer), writer),
        }
    }

    fn atom(&self, position: usize, writer: &Writer<'_>) -> String {
        let text = self.shown(position, writer);
        if text.contains(' ') { format!("({text})") } else { text }
    }

    /// The definition of a node: an equation, or an operation on other nodes.
    fn defined(&self, position: usize, writer: &Writer<'_>) -> String {
        match self.applied.get(&position) {
            Some(text) => text.clone(),
            None => self.operation(position, &|operand| self.node(operand), writer),
        }
    }

    fn operation(&self, position: usize, to: &dyn Fn(usize) -> String, writer: &Writer<'_>) -> String {
        let call = |name: &str, operands: &[usize]| {
            operands.iter().fold(name.to_owned(), |text, &operand| format!("{text} {}", to(operand)))
        };
        match self.op(position) {
            Op::Number(value) => format!("{} (* {value:?} *)", number(value)),
            Op::Quantity(index) if index < writer.contract.quantities.len() => writer.quantity(index),
            Op::Quantity(index) => {
                let moved =
                    writer.contract.quantities.iter().position(|q| q.name == self.quantities[index].name);
                writer.second(moved.unwrap_or(0))
            }
            Op::Neg(a) => call("neg", &[a]),
            Op::Add(a, b) => call("add", &[a, b]),
            Op::Sub(a, b) => call("sub", &[a, b]),
            Op::Mul(a, b) => call("mul", &[a, b]),
            Op::Div(a, b) => call("div", &[a, b]),
            Op::Min(a, b) => call("min", &[a, b]),
            Op::Max(a, b) => call("max", &[a, b]),
            Op::Floor(a) => call("floor", &[a]),
            Op::Ceil(a) => call("ceil", &[a]),
            Op::Sqrt(a) => call("sqrt", &[a]),
            Op::Abs(a) => call("abs", &[a]),
            Op::Pow(a, b) => call("pow", &[a, b]),
            Op::If(c, a, b) => format!("if {} then {} else {}", to(c), to(a), to(b)),
            Op::Bool(value) => value.to_string(),
            Op::Less(a, b) => call("lt", &[a, b]),
            Op::LessEqual(a, b) => call("le", &[a, b]),
            Op::Equal(a, b) => call("eq", &[a, b]),
            Op::And(a, b) => call("andb", &[a, b]),
            Op::Or(a, b) => call("orb", &[a, b]),
            Op::Not(a) => call("negb", &[a]),
            Op::Iff(a, b) => call("Bool.eqb", &[a, b]),
            Op::Finite(a) => call("finite", &[a]),
        }
    }

    /// The nodes of a second point that the facts need.
    fn poses(&self, facts: &[Fact], first: usize, writer: &Writer<'_>) -> String {
        let mut pending: Vec<usize> = facts
            .iter()
            .flat_map(|fact| match *fact {
                Fact::Le(a, b) => [a, b],
                Fact::Holds(a, _) => [a, a],
                _ => [0, 0],
            })
            .collect();
        let mut seen = BTreeSet::new();
        while let Some(node) = pending.pop() {
            if node >= first && seen.insert(node) {
                pending.extend(self.nodes[node].operands());
            }
        }
        seen.iter().fold(String::new(), |mut text, &node| {
            let _ = writeln!(
                text,
                "  pose (n{node} := {} : {}).",
                self.defined(node, writer),
                kind(self.nodes[node])
            );
            text
        })
    }

    fn fact(&self, fact: Fact, _: &Writer<'_>) -> String {
        match fact {
            Fact::Range(a, low, high) => {
                format!("Range {} ({}) ({})", self.node(a), number(low), number(high))
            }
            Fact::Le(a, b) => format!("Le {} {}", self.node(a), self.node(b)),
            Fact::Lt(a, b) => format!("Lt {} {}", self.node(a), self.node(b)),
            Fact::Holds(a, value) => format!("{} = {value}", self.node(a)),
            Fact::Ratio(a, b, k) => format!("Ratio {} {} ({k})", self.node(a), self.node(b)),
            Fact::Whole(a) => format!("Whole {}", self.node(a)),
            Fact::Absurd => "False".into(),
        }
    }

    /// Writes the steps as assertions and adds their facts.
    fn script(&self, steps: &[Step], facts: &mut Vec<Fact>, indent: &str, writer: &Writer<'_>) -> String {
        let mut out = String::new();
        for step in steps {
            let (number, fact) = (facts.len(), self.fact(step.gives, writer));
            let proof = self.proof_at(step, facts, indent, writer);
            let _ = writeln!(out, "{indent}assert (H{number} : {fact}). {{ {proof} }}");
            facts.push(step.gives);
        }
        out
    }

    fn proof(&self, step: &Step, facts: &[Fact], writer: &Writer<'_>) -> String {
        self.proof_at(step, &mut facts.to_vec(), "  ", writer)
    }

    fn proof_at(&self, step: &Step, facts: &mut Vec<Fact>, indent: &str, writer: &Writer<'_>) -> String {
        if step.rule != Rule::Cases {
            return self.by_rule(step, facts);
        }
        let number = facts.len();
        // A shared fact is `F`; inside its proof, facts are `H` as usual.
        let inner = Scope {
            nodes: self.nodes.clone(),
            quantities: self.quantities.clone(),
            applied: self.applied.clone(),
            shared: self.shared.min(number),
        };
        let from: Vec<String> = step.from.iter().map(|&number| self.reference(number)).collect();
        let mut out = match step.cases.first().and_then(|case| case.assume.first()) {
            Some(&Fact::Holds(condition, _)) => {
                format!("destruct (two_truths {}) as [H{number}|H{number}].", self.node(condition))
            }
            _ => format!(
                "destruct (three_orders {}) as [H{number}|[[H{number} H{}]|H{number}]].",
                from.join(" "),
                number + 1
            ),
        };
        for case in &step.cases {
            facts.extend(&case.assume);
            let deeper = format!("{indent}  ");
            let script = inner.script(&case.steps, facts, &deeper, writer);
            let last = inner.reference(facts.len() - 1);
            let end = match case.steps.last().map(|step| step.gives) {
                Some(Fact::Absurd) => format!("destruct {last}."),
                _ => format!("exact {last}."),
            };
            let _ = write!(out, "\n{indent}{{\n{script}{deeper}{end} }}");
            facts.truncate(number);
        }
        out
    }

    /// Nodes as quotients of polynomials, from the facts in order, and their consequences, as in the checker.
    fn reals(&self, step: &Step, facts: &[Fact]) -> String {
        let mut written = Reals::default();
        for &number in &step.from {
            let fact = facts.get(number).copied().unwrap_or(Fact::Absurd);
            written.read(self, fact, &self.reference(number));
        }
        written.end(step.gives)
    }

    /// Applies the lemma of a rule to the facts.
    fn by_rule(&self, step: &Step, facts: &[Fact]) -> String {
        // Facts that a wrong certificate omits are replaced by `Absurd`, which Coq rejects.
        let premises = step.from.iter().map(|&number| facts.get(number).copied().unwrap_or(Fact::Absurd));
        let from: Vec<Fact> = premises.collect();
        let at = |i: usize| from.get(i).copied().unwrap_or(Fact::Absurd);
        let names: Vec<String> = step.from.iter().map(|&number| self.reference(number)).collect();
        let names = names.join(" ");
        let op = |node: usize| self.op(node);
        let (n, m) = match step.gives {
            Fact::Range(n, ..) | Fact::Holds(n, _) | Fact::Whole(n) => (n, n),
            Fact::Le(n, m) | Fact::Lt(n, m) | Fact::Ratio(n, m, _) => (n, m),
            Fact::Absurd => (0, 0),
        };
        let strict = matches!(step.gives, Fact::Lt(..));
        let first = |fact: Fact| match fact {
            Fact::Range(a, ..) | Fact::Holds(a, _) | Fact::Whole(a) => a,
            Fact::Le(a, _) | Fact::Lt(a, _) | Fact::Ratio(a, ..) => a,
            Fact::Absurd => 0,
        };
        let side = |lemma: &str| format!("refine ({lemma} {names} _); side.");
        let plain = |lemma: &str| format!("exact ({lemma} {names}).");
        // The order of the operands of a sum or product.
        let turned = |node: usize, left: usize| match op(node) {
            Op::Add(a, _) | Op::Mul(a, _) if a == left => "(or_introl eq_refl)",
            _ => "(or_intror eq_refl)",
        };
        let ordered = |lemma: &str, pairs: &[(usize, usize)]| {
            let ways: Vec<&str> = pairs.iter().map(|&(node, left)| turned(node, left)).collect();
            format!("refine ({lemma} {names} {} _); side.", ways.join(" "))
        };
        let premise = |i: usize| match at(i) {
            Fact::Le(a, b) | Fact::Lt(a, b) | Fact::Ratio(a, b, _) => (a, b),
            other => (first(other), first(other)),
        };
        // A condition without a fact must be named.
        let conditional = |lemma: &str, node: usize| match op(node) {
            Op::If(c, ..) => format!("{lemma} (c := {})", self.node(c)),
            _ => lemma.to_owned(),
        };
        let below = |base: &str, down: bool| format!("{base}_{}", if down { "below" } else { "above" });
        let strict_first = matches!(from.first(), Some(Fact::Lt(..)));
        let low = |i: usize| match at(i) {
            Fact::Range(_, low, _) => low,
            _ => f64::NEG_INFINITY,
        };
        let (positive, at_least_one) = (|i: usize| low(i) > 0.0, |i: usize| low(i) >= 1.0);
        let made_of = |op: Op, operand: usize| op.operands().contains(&operand);
        let word = |fact: Fact| if matches!(fact, Fact::Lt(..)) { "lt" } else { "le" };
        let strictly = |lemma: String| if strict_first { format!("{lemma}_strict") } else { lemma };
        match step.rule {
            Rule::Operation => match (op(n), from.as_slice()) {
                (Op::Quantity(index), _) => format!("refine (domain D{index} _); side."),
                (Op::Number(_), _) => "refine (constant_range _); side.".into(),
                (Op::Bool(_), _) => "reflexivity.".into(),
                (Op::Neg(_), _) => side("neg_range"),
                (Op::Add(..), _) => side("add_range"),
                (Op::Sub(..), _) => side("sub_range"),
                (Op::Mul(..), [_]) => side("square_range"),
                (Op::Mul(..), _) => side("mul_range"),
                (Op::Div(..), _) => side("div_range"),
                (Op::Min(..), _) => side("min_range"),
                (Op::Max(..), _) => side("max_range"),
                (Op::Floor(_), _) => side("floor_range"),
                (Op::Ceil(_), _) => side("ceil_range"),
                (Op::Sqrt(_), _) => side("sqrt_range"),
                (Op::Abs(_), _) => side("abs_range"),
                (Op::Pow(..), [Fact::Range(_, _, high), _]) if *high <= 1.0 => side("pow_range_small"),
                (Op::Pow(..), _) => side("pow_range"),
                // The facts do not contain the other value.
                (Op::If(_, _, b), [Fact::Holds(_, true), _]) => {
                    plain(&format!("if_known_true (y := {})", self.node(b)))
                }
                (Op::If(_, a, _), [Fact::Holds(..), _]) => {
                    plain(&format!("if_known_false (x := {})", self.node(a)))
                }
                _ => side(&conditional("if_range", n)),
            },
            Rule::Meet => side("meet"),
            Rule::Widen => side("widen"),
            Rule::Narrow => match (op(n), from.len()) {
                (Op::Sub(p, _), 2) => side(&strictly(below("difference", p == premise(0).0))),
                (Op::Div(p, q), _) if first(at(2)) == n && n != premise(0).1 && p == q => {
                    side("quotient_itself")
                }
                (Op::Div(p, _), _) if first(at(2)) == n && n != premise(0).1 => {
                    side(&strictly(below("quotient", p == premise(0).0)))
                }
                _ => side(&strictly(
                    if premise(0).0 == n { "narrow_first" } else { "narrow_second" }.to_owned(),
                )),
            },
            Rule::Gap => side("gap"),
            Rule::Apart => side(if strict { "apart_lt" } else { "apart_le" }),
            Rule::Trans => match from.as_slice() {
                [Fact::Range(..)] => plain("refl"),
                [_] => plain("weak"),
                _ => {
                    let exact = plain(&format!("trans_{}_{}", word(at(0)), word(at(1))));
                    let loose = !strict && from.iter().any(|fact| matches!(fact, Fact::Lt(..)));
                    if loose { format!("apply weak. {exact}") } else { exact }
                }
            },
            Rule::Monotone => match (op(n), from.len()) {
                (Op::Neg(_), _) => plain("neg_le"),
                (Op::Floor(_), _) => plain("floor_le"),
                (Op::Ceil(_), _) => plain("ceil_le"),
                (Op::Sqrt(_), _) => side("sqrt_le"),
                (Op::Add(..), _) => plain(match op(m) {
                    Op::Add(r, s) if (r, s) == (premise(0).1, premise(1).1) => "add_le",
                    _ => "add_le_swapped",
                }),
                (Op::Sub(..), _) => plain("sub_le"),
                (Op::Mul(..), 4) => ordered("mul_turn", &[(n, premise(0).1), (m, premise(0).0)]),
                (Op::Mul(..), _) => ordered("mul_le", &[(n, premise(0).0), (m, premise(0).1)]),
                (Op::Div(p, _), 4) => {
                    side(if p == premise(0).0 && positive(1) { "div_by" } else { "div_turn" })
                }
                (Op::Div(..), _) => side("div_le"),
                (Op::Pow(p, e), _) => side(match op(m) {
                    Op::Pow(_, f) if e == f => "pow_le",
                    _ if e == premise(0).0 && first(at(1)) == p && at_least_one(1) => "pow_more",
                    _ => "pow_less",
                }),
                _ => String::new(),
            },
            Rule::Choice => match (op(n), op(m), premise(0)) {
                (Op::If(c, p, _), Op::If(d, t, _), (a, x)) if c == d && (p, t) == (a, x) => {
                    plain(&conditional("if_if", n))
                }
                (Op::Max(p, _), _, (a, x)) if p == a && x == m => plain("max_le"),
                (Op::If(_, p, _), _, (a, x)) if p == a && x == m => plain(&conditional("if_le", n)),
                (_, Op::Min(..), _) => plain("le_min"),
                _ => plain(&conditional("le_if", m)),
            },
            Rule::Beside => {
                // The operation is on one side, the other value on the other side.
                let (down, node) = if made_of(op(n), m) && !(made_of(op(m), n) && first(at(0)) == n) {
                    (true, n)
                } else {
                    (false, m)
                };
                let operand = if down { m } else { n };
                match op(node) {
                    Op::If(_, a, b) => {
                        let value = matches!(at(0), Fact::Holds(_, true));
                        let other = if value {
                            format!("(y := {})", self.node(b))
                        } else {
                            format!("(x := {})", self.node(a))
                        };
                        plain(&format!("{} {other}", below(&format!("chosen_{value}"), down)))
                    }
                    Op::Min(a, _) => plain(if operand == a { "min_le_first" } else { "min_le_second" }),
                    Op::Max(a, _) => plain(if operand == a { "max_ge_first" } else { "max_ge_second" }),
                    Op::Floor(_) => plain(if down { "floor_below" } else { "floor_whole" }),
                    Op::Ceil(_) => plain(if down { "ceil_whole" } else { "ceil_above" }),
                    Op::Abs(_) if down => side("abs_below"),
                    Op::Abs(_) => plain("abs_above"),
                    Op::Add(..) => ordered(&below("add_sign", down), &[(node, first(at(0)))]),
                    Op::Sub(..) => side(&below("sub_sign", down)),
                    Op::Mul(..) => ordered(&below("mul_one", down), &[(node, first(at(0)))]),
                    Op::Div(..) => side(&below("div_one", down)),
                    _ if matches!(at(1), Fact::Range(_, 1.0, 1.0)) => {
                        let names: Vec<String> =
                            step.from.iter().take(2).map(|&i| self.reference(i)).collect();
                        format!("exact ({} {}).", below("pow_itself", down), names.join(" "))
                    }
                    _ => side(&below("pow_once", down)),
                }
            }
            Rule::Reals => self.reals(step, facts),
            Rule::Whole => match (op(n), from.as_slice()) {
                (_, [Fact::Le(..), ..]) => plain("whole_equal"),
                (Op::Quantity(index), _) => format!("refine (whole_domain D{index} W{index} _); side."),
                (Op::Number(_), _) => "refine (whole_constant _); side.".into(),
                (Op::Floor(_), _) => plain("whole_floor"),
                (Op::Ceil(_), _) => plain("whole_ceil"),
                (Op::Neg(_), _) => plain("whole_neg"),
                (Op::Abs(_), _) => plain("whole_abs"),
                (Op::Min(..), _) => plain("whole_min"),
                (Op::Max(..), _) => plain("whole_max"),
                (Op::Add(..), _) => side("whole_add"),
                (Op::Sub(..), _) => side("whole_sub"),
                (Op::Mul(..), _) => side("whole_mul"),
                _ => plain(&conditional("whole_if", n)),
            },
            Rule::Inward => side("inward"),
            Rule::Multiple => {
                let (product, b) = (first(at(5)), first(at(1)));
                let way = match op(product) {
                    Op::Mul(_, r) if r == b => "(or_introl eq_refl)",
                    _ => "(or_intror eq_refl)",
                };
                let lemma = if strict { "remainder".to_owned() } else { below("multiple", n == product) };
                format!("refine ({lemma} {names} {way} _); side.")
            }
            Rule::Decide => plain(match (op(n), step.gives, from.as_slice()) {
                (Op::Less(..), Fact::Holds(_, true), _) => "less_true",
                (Op::Less(..), ..) => "less_false",
                (Op::LessEqual(..), Fact::Holds(_, true), _) => "less_equal_true",
                (Op::LessEqual(..), ..) => "less_equal_false",
                (Op::Equal(..), Fact::Holds(_, true), _) => "equal_true",
                (Op::Equal(a, _), _, &[Fact::Lt(x, _)]) if a == x => "equal_false_below",
                (Op::Equal(..), ..) => "equal_false_above",
                (Op::And(..), Fact::Holds(_, true), _) => "and_true",
                (Op::And(a, _), _, &[x]) if first(x) == a => "and_false_first",
                (Op::And(..), ..) => "and_false_second",
                (Op::Or(..), Fact::Holds(_, false), _) => "or_false",
                (Op::Or(a, _), _, &[x]) if first(x) == a => "or_true_first",
                (Op::Or(..), ..) => "or_true_second",
                (Op::Not(_), Fact::Holds(_, true), _) => "not_false",
                (Op::Not(_), ..) => "not_true",
                (Op::Finite(_), ..) => "finite_true",
                (_, _, []) => "iff_same",
                _ => "iff_known",
            }),
            Rule::Order => plain(match (op(first(at(0))), at(0)) {
                (Op::Less(..), Fact::Holds(_, true)) => "order_less_true",
                (Op::Less(..), _) => "order_less_false",
                (Op::LessEqual(..), Fact::Holds(_, true)) => "order_less_equal_true",
                (Op::LessEqual(..), _) => "order_less_equal_false",
                (Op::Equal(a, _), _) if a == n => "order_equal_below",
                _ => "order_equal_above",
            }),
            Rule::Part if from.len() == 2 => plain(match op(first(at(0))) {
                Op::Or(a, _) if a == first(at(1)) => "rest_first",
                _ => "rest_second",
            }),
            Rule::Part => plain(match (op(first(at(0))), at(0)) {
                (Op::And(a, _), _) if a == n => "part_and_first",
                (Op::And(..), _) => "part_and_second",
                (Op::Or(a, _), _) if a == n => "part_or_first",
                (Op::Or(..), _) => "part_or_second",
                (_, Fact::Holds(_, true)) => "part_not_true",
                _ => "part_not_false",
            }),
            Rule::Ratio => match (from.as_slice(), step.gives) {
                ([Fact::Le(..), _], _) => plain("ratio_equal"),
                ([_, _], Fact::Ratio(_, _, k)) => {
                    format!("refine (ratio_constant (k := ({k})) {names} _); side.")
                }
                _ => plain("ratio_refl"),
            },
            Rule::RatioScale => match (op(n), step.gives) {
                (Op::Mul(..), _) => ordered("ratio_scale_mul", &[(n, m)]),
                (_, Fact::Ratio(_, _, k)) => {
                    format!("refine (ratio_scale_div (k := ({})) {names} _); side.", k.wrapping_neg())
                }
                _ => String::new(),
            },
            Rule::RatioTrans => side(if from.len() == 2 { "ratio_trans" } else { "ratio_flip" }),
            Rule::RatioOf => match op(n) {
                Op::Neg(_) => plain("ratio_neg"),
                Op::Add(..) => plain(match op(m) {
                    Op::Add(r, s) if (r, s) == (premise(0).1, premise(1).1) => "ratio_add",
                    _ => "ratio_add_swapped",
                }),
                Op::Sub(..) => plain("ratio_sub"),
                Op::Mul(..) => ordered("ratio_mul", &[(n, premise(0).0), (m, premise(0).1)]),
                Op::Div(..) => side("ratio_div"),
                Op::Min(..) => plain("ratio_min"),
                _ => plain("ratio_max"),
            },
            Rule::RatioLe => side(if strict { "ratio_lt" } else { "ratio_le" }),
            Rule::Contradiction => match from.as_slice() {
                [Fact::Range(..)] => side("empty"),
                [Fact::Holds(..), _] => plain("clash_truth"),
                [_, Fact::Lt(..)] => plain("clash_lt"),
                _ => plain("clash_le"),
            },
            Rule::Cases => String::new(),
        }
    }
}

/// A node as a real number: the names of its quotient, of the fact that it is its value, and of the fact that it rounds
/// another; its range and the fact of the range.
struct Real {
    quotient: String,
    is: String,
    rounds: Option<String>,
    range: (f64, f64),
    bounded: String,
}

#[derive(Default)]
struct Reals {
    known: BTreeMap<usize, Real>,
    whole: BTreeMap<usize, String>,
    /// The variables, their limits, and the facts that they are not negative.
    gaps: Vec<String>,
    bounds: Vec<String>,
    above: Vec<String>,
    lines: String,
    count: usize,
}

impl Reals {
    /// Adds a quotient and the fact that it is the value of a node.
    fn add(
        &mut self,
        node: usize,
        quotient: &str,
        by: &str,
        range: ((f64, f64), String),
        rounds: Option<String>,
    ) {
        let count = self.count;
        self.count += 1;
        let _ = write!(
            self.lines,
            " pose (Q{count} := {quotient}). assert (V{count} : Is gs Q{count} n{node}). {{ {by} }}"
        );
        let (quotient, is) = (format!("Q{count}"), format!("V{count}"));
        self.known.insert(node, Real { quotient, is, rounds, range: range.0, bounded: range.1 });
    }

    fn gap(&mut self, larger: &str, smaller: &str, bound: &str, by: String) -> usize {
        self.gaps.push(format!("({larger}, {smaller}, {bound})"));
        self.bounds.push(format!("({bound})"));
        self.above.push(by);
        self.gaps.len() - 1
    }

    fn read(&mut self, scope: &Scope, fact: Fact, name: &str) {
        match fact {
            Fact::Whole(node) => drop(self.whole.insert(node, name.to_owned())),
            Fact::Range(node, low, high) => {
                let range = ((low, high), name.to_owned());
                let (l, h) = (format!("({})", number(low)), format!("({})", number(high)));
                let width = format!("width {l} {h}");
                if let Some(real) = self.known.get_mut(&node) {
                    if real.range != (low, high) {
                        (real.range, real.bounded) = range;
                        return;
                    }
                    let i = self.gap(&h, &format!("n{node}"), &width, format!("gap_high {name}"));
                    let by = format!("exact (is_high (g := gs) (i := {i}) (w := {width}) eq_refl).");
                    self.add(node, &format!("qsub (qnum {h}) (qvar {i})"), &by, range, None);
                } else if !self.operation(scope, node, (low, high), name) {
                    if low == high {
                        let by = format!("exact (is_number {name}).");
                        self.add(node, &format!("qnum {l}"), &by, range, None);
                    } else {
                        let i = self.gap(&format!("n{node}"), &l, &width, format!("gap_low {name}"));
                        let by = format!("exact (is_low (g := gs) (i := {i}) (w := {width}) eq_refl).");
                        self.add(node, &format!("qadd (qnum {l}) (qvar {i})"), &by, range, None);
                    }
                }
            }
            Fact::Le(a, b) | Fact::Lt(a, b) => {
                let lemma = if matches!(fact, Fact::Le(..)) { "gap_le" } else { "gap_lt" };
                let i = self.gap(&format!("n{b}"), &format!("n{a}"), "None", format!("{lemma} {name}"));
                let range = ((f64::NEG_INFINITY, f64::INFINITY), String::new());
                let (node, near, way, sum) = match self.known.get(&a) {
                    Some(less) => (b, less, "above", "qadd"),
                    None => match self.known.get(&b) {
                        Some(more) => (a, more, "below", "qsub"),
                        None => return,
                    },
                };
                let quotient = format!("{sum} {} (qvar {i})", near.quotient);
                let by = format!("exact (is_{way} (g := gs) (i := {i}) (w := None) eq_refl {}).", near.is);
                self.add(node, &quotient, &by, range, None);
            }
            _ => {}
        }
    }

    /// Adds a node as its operation on known operands, if the checker does so; returns true if added.
    fn operation(&mut self, scope: &Scope, node: usize, range: (f64, f64), name: &str) -> bool {
        let get = |operand: usize| self.known.get(&operand).filter(|real| real.range.0.is_finite());
        let bounds = (range, name.to_owned());
        let (a, b) = match scope.op(node) {
            Op::Neg(a) | Op::Abs(a) => (a, a),
            Op::Add(a, b) | Op::Sub(a, b) | Op::Mul(a, b) | Op::Div(a, b) => (a, b),
            _ => return false,
        };
        let (Some(x), Some(y)) = (get(a), get(b)) else { return false };
        let pair = format!("{} {}", x.quotient, y.quotient);
        let values = format!("{} {}", x.is, y.is);
        let (word, is_sum) = match scope.op(node) {
            Op::Neg(_) => {
                let (quotient, by) = (format!("qneg {}", x.quotient), format!("exact (is_neg {}).", x.is));
                self.add(node, &quotient, &by, bounds, None);
                return true;
            }
            Op::Abs(_) => {
                if x.range.0 < 0.0 {
                    return false;
                }
                let (quotient, by) =
                    (x.quotient.clone(), format!("refine (is_abs {} {} _); side.", x.is, x.bounded));
                self.add(node, &quotient, &by, bounds, None);
                return true;
            }
            Op::Add(..) => ("add", true),
            Op::Sub(..) => ("sub", true),
            Op::Mul(..) => ("mul", false),
            _ if y.range.0 > 0.0 => ("div", false),
            _ => return false,
        };
        let limit = 9_007_199_254_740_992.0;
        if word != "div"
            && let (Some(x), Some(y)) = (self.whole.get(&a), self.whole.get(&b))
            && range.0 > -limit
            && range.1 < limit
        {
            let by = format!("refine (is_{word}_whole {values} {x} {y} {name} _); side.");
            self.add(node, &format!("q{word} {pair}"), &by, bounds, None);
            return true;
        }
        let rounds = format!("P{}", self.count);
        let by = match word {
            "div" => format!("refine (rounds_div {values} {} {name} _); side.", y.bounded),
            "mul" => format!("exact (rounds_mul {values} {name})."),
            _ => format!("exact (rounds_{word} {values} {} {} {name}).", x.bounded, y.bounded),
        };
        let summed = format!("exact (is_{word} {values} {} {} {name}).", x.bounded, y.bounded);
        let _ = write!(self.lines, " assert ({rounds} : Rounds gs (q{word} {pair}) n{node}). {{ {by} }}");
        let normal = range.0 > f64::MIN_POSITIVE || range.1 < -f64::MIN_POSITIVE;
        let (quotient, by) = match (is_sum, normal) {
            (true, _) => ("qround", summed),
            (_, true) => ("qround", format!("refine (is_rounded {rounds} {name} _); side.")),
            _ => ("qround_small", format!("exact (is_rounded_small {rounds}).")),
        };
        self.add(node, &format!("{quotient} (q{word} {pair})"), &by, bounds, Some(rounds));
        true
    }

    /// The complete proof of a fact.
    fn end(&self, gives: Fact) -> String {
        let list = |items: &[String]| {
            items.iter().rev().fold("nil".to_owned(), |rest, item| format!("(cons {item} {rest})"))
        };
        let above = self.above.iter().rev().fold("no_gap".to_owned(), |rest, by| format!("({by} {rest})"));
        let rounds = |node: usize| match self.known.get(&node) {
            Some(Real { rounds: Some(rounds), .. }) => rounds.clone(),
            Some(real) => format!("(rounds_itself {})", real.is),
            None => String::new(),
        };
        let of = |node: usize| {
            self.known
                .get(&node)
                .map_or((String::new(), String::new()), |real| (real.is.clone(), real.bounded.clone()))
        };
        let last = match gives {
            Fact::Le(a, b) => {
                format!("reals_le gaps_above eq_refl {} {} {} {}", rounds(a), rounds(b), of(a).1, of(b).1)
            }
            Fact::Lt(a, b) => {
                format!("reals_lt gaps_above eq_refl {} {} {} {}", of(a).0, of(b).0, of(a).1, of(b).1)
            }
            Fact::Range(a, ..) => format!("reals_range gaps_above eq_refl {} {}", rounds(a), of(a).1),
            _ => String::new(),
        };
        let last = last.replacen("eq_refl", "(eq_refl : bounds_of gs = ws)", 1);
        format!(
            "pose (gs := {}). pose (ws := {}). assert (gaps_above : Gaps gs). {{ exact {above}. }}{} refine ({last} _); side.",
            list(&self.gaps),
            list(&self.bounds),
            self.lines
        )
    }
}

/// A fresh name; `end` is the first suffix to try if the name is taken.
fn unused(name: &str, end: &str, taken: &mut BTreeSet<String>) -> String {
    let is_taken = |name: &str| {
        let numbered = name.len() > 1
            && name.starts_with(['n', 'F', 'D', 'W', 'H', 'G'])
            && name[1..].chars().all(|c| c.is_ascii_digit());
        numbered || taken.contains(name)
    };
    let mut found = name.to_owned();
    if is_taken(&found) {
        found += end;
    }
    while is_taken(&found) {
        found.push('_');
    }
    taken.insert(found.clone());
    found
}

fn kind(op: Op) -> &'static str {
    match op {
        Op::Bool(_)
        | Op::Less(..)
        | Op::LessEqual(..)
        | Op::Equal(..)
        | Op::And(..)
        | Op::Or(..)
        | Op::Not(_)
        | Op::Iff(..)
        | Op::Finite(_) => "bool",
        _ => "f64",
    }
}

fn membership(domain: &Domain, value: &str) -> String {
    let (low, high) = (domain.low, domain.high);
    format!("between ({} (* {low:?} *)) ({} (* {high:?} *)) {value}", number(low), number(high))
}

fn wholeness(value: &str) -> String {
    format!("whole {value} = true")
}

/// A finite number as `num m e`, which is exactly m * 2^e. Constants are never -0, which formulas and tables express as the
/// negation of 0; limits and facts do not distinguish zeros.
fn number(value: f64) -> String {
    if value == 0.0 {
        return "num 0 0".into();
    }
    let bits = value.abs().to_bits();
    let (exponent, fraction) = ((bits >> 52) as i64, bits & ((1 << 52) - 1));
    let (mut mantissa, mut power) =
        if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) };
    while mantissa % 2 == 0 {
        mantissa /= 2;
        power += 1;
    }
    let mantissa = if value < 0.0 { format!("(-{mantissa})") } else { mantissa.to_string() };
    let power = if power < 0 { format!("({power})") } else { power.to_string() };
    format!("num {mantissa} {power}")
}
