//! The converted contract. It is checked and proven repeatedly; items that fail are dropped with a reason, until the rest
//! compiles.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::unit::{self, Proposal, Wanted};
use super::{Item, Outcome, Pending, push_note, statement};
use crate::authoring::format::{format, quoted};
use crate::certify;
use crate::compile::check_in;
use crate::contract::Verdict;
use crate::formula::{Binary, Function, Kind};
use crate::report::Severity;
use crate::source::Source;
use crate::unit::Unit;

/// Names that every generated module defines.
pub const RESERVED_ITEMS: [&str; 3] = ["recommendations", "proofs", "properties"];

/// An equation.
#[derive(Clone, Debug, Default)]
pub struct Equation {
    /// Its name.
    pub name: String,
    /// The measured value, if the equation is a bound.
    pub measured: Option<String>,
    /// The right side.
    pub formula: String,
    /// Documentation.
    pub doc: String,
    /// Its path in the published contract.
    pub place: String,
    /// The reason that it was dropped.
    pub dropped: Option<String>,
}

/// A classifier by bands of a value.
#[derive(Clone, Debug)]
pub struct Classifier {
    /// Its name.
    pub name: String,
    /// The value that it classifies.
    pub of: String,
    /// Names with their lower limits, ascending; the first has none.
    pub bands: Vec<(String, Option<f64>)>,
    /// The reason that it was dropped.
    pub dropped: Option<String>,
}

/// An obligation.
#[derive(Clone, Debug, Default)]
pub struct Obligation {
    /// Its name.
    pub id: String,
    /// The claim.
    pub formal: String,
    /// Documentation.
    pub doc: String,
    /// The consequence of a failure.
    pub if_fails: String,
    /// Setting of the harness.
    pub solver: Option<String>,
    /// Setting of the harness.
    pub unwind: Option<u32>,
    /// Its verification state.
    pub state: State,
}

/// The verification state of an obligation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Not checked yet.
    #[default]
    Open,
    /// Proven over the whole domain.
    Proven,
    /// True at this number of tested points.
    Tested(usize),
    /// Already checked by this bound.
    Bound(String),
    /// Dropped, with the reason.
    Dropped(String),
}

/// The contract.
#[derive(Clone, Debug, Default)]
pub struct ConvertedContract {
    /// Its name.
    pub id: String,
    /// Its version.
    pub version: String,
    /// Its description.
    pub description: String,
    /// The sources of its formulas.
    pub references: Vec<String>,
    /// Domains by name.
    pub domains: BTreeMap<String, String>,
    /// The equations.
    pub equations: Vec<Equation>,
    /// The classifiers.
    pub classifiers: Vec<Classifier>,
    /// The obligations.
    pub obligations: Vec<Obligation>,
    /// Documentation: path, text and the reason that it is not formal.
    pub informal: Vec<(String, String, String)>,
    /// Proposed units that contradict formulas.
    pub dropped_units: Vec<String>,
    /// Contradictory units in the published contract: path and description.
    pub conflicts: Vec<(String, String)>,
    units: BTreeMap<String, Proposal>,
    /// Quantities with a proposed domain.
    proposed: BTreeSet<String>,
}

/// A part of the rendered contract.
#[derive(Clone, Copy, Debug)]
enum Part {
    Quantity(usize),
    Equation(usize),
    Classifier(usize),
    Obligation(usize),
}

/// Prefix of the diagnostic for a divisor that can be zero.
const DIVISOR_MESSAGE: &str = "division by";

/// Prefix of the reason for a refuted claim.
const REFUTED_PREFIX: &str = "false in floating point";

impl ConvertedContract {
    /// Checks and proves until the rest compiles. Returns the names of its quantities and equations.
    pub fn settle(&mut self, codomain_units: &BTreeMap<String, String>) -> BTreeSet<String> {
        loop {
            while self.find_units(codomain_units) {}
            if !self.drop_what_fails(false) {
                break;
            }
        }
        self.compare_codomains(codomain_units);
        for equation in self.equations.iter().filter(|equation| equation.dropped.is_none()) {
            let Some(measured) = &equation.measured else { continue };
            let bound = format!("{measured} <= {}", equation.formula);
            for obligation in self.obligations.iter_mut().filter(|obligation| obligation.formal == bound) {
                obligation.state = State::Bound(equation.name.clone());
            }
        }
        for obligation in &mut self.obligations {
            if let Some(formal) = unit::with_units(&obligation.formal, &self.units) {
                obligation.formal = formal;
            }
        }
        while self.drop_what_fails(true) {}
        self.prove();
        self.propose_bounds();
        let equations = self.alive().map(|at| self.equations[at].name.clone());
        equations.chain(self.quantities()).collect()
    }

    fn alive(&self) -> impl Iterator<Item = usize> {
        (0..self.equations.len()).filter(|&at| self.equations[at].dropped.is_none())
    }

    /// Names that are used but not defined by equations, in the order of their use.
    fn quantities(&self) -> Vec<String> {
        let equations: BTreeSet<&str> = self.alive().map(|at| self.equations[at].name.as_str()).collect();
        let mut found: Vec<String> = Vec::new();
        for at in self.alive() {
            let Some(formula) = statement::expression(&self.equations[at].formula) else { continue };
            for name in formula.names() {
                if !equations.contains(name) && !found.iter().any(|known| known == name) {
                    found.push(name.to_owned());
                }
            }
        }
        found
    }

    /// The equations in an order in which each follows those it uses.
    fn order(&self) -> Vec<usize> {
        let mut left: Vec<usize> = self.alive().collect();
        let mut order = Vec::new();
        while !left.is_empty() {
            let waits = |at: usize| {
                let formula = statement::expression(&self.equations[at].formula);
                let names: Vec<String> = formula.iter().flat_map(|f| f.names()).map(str::to_owned).collect();
                left.iter().any(|&other| names.contains(&self.equations[other].name))
            };
            // The checker reports cycles.
            let next = left.iter().position(|&at| !waits(at)).unwrap_or(0);
            order.push(left.remove(next));
        }
        order
    }

    /// Infers units; true if an equation had to be dropped.
    fn find_units(&mut self, codomain_units: &BTreeMap<String, String>) -> bool {
        let quantities = self.quantities();
        let quantities: Vec<&str> = quantities.iter().map(String::as_str).collect();
        let order = self.order();
        let wanted: Vec<Wanted<'_>> = (order.iter())
            .map(|&at| {
                let Equation { name, formula, .. } = &self.equations[at];
                let unit =
                    codomain_units.get(name).cloned().or_else(|| unit::proposed(name).map(str::to_owned));
                Wanted { name, formula, unit }
            })
            .collect();
        let units = unit::infer(&quantities, &wanted);
        (self.units, self.dropped_units) = (units.of, units.dropped);
        let conflict = !units.conflicts.is_empty();
        for (name, why) in units.conflicts {
            let Some(equation) = self.equations.iter_mut().find(|equation| equation.name == name) else {
                continue;
            };
            self.conflicts.push((equation.place.clone(), why.clone()));
            equation.dropped = Some(format!("inconsistent units: {why}"));
        }
        for equation in &mut self.equations {
            if let Some(formula) = units.formulas.get(&equation.name) {
                equation.formula.clone_from(formula);
            }
        }
        conflict
    }

    /// Records codomains whose unit differs from that of the formula.
    fn compare_codomains(&mut self, codomain_units: &BTreeMap<String, String>) {
        for at in self.alive().collect::<Vec<_>>() {
            let Equation { name, place, .. } = &self.equations[at];
            let (Some(said), Some(found)) = (codomain_units.get(name), self.units.get_mut(name)) else {
                continue;
            };
            let (said_unit, found_unit) = (Unit::parse(said), Unit::parse(&found.unit));
            // Dimensionless numbers and rates of unnamed counts are compatible with any unit.
            let uncounted = Unit::parse(&said.replace("token", "1"));
            if said_unit == found_unit || uncounted == found_unit || found.unit == "1" {
                continue;
            }
            let why = format!("the codomain of `{name}` is in {said}, but its formula is in {}", found.unit);
            found.why = format!("conflict: {why}");
            self.conflicts.push((place.clone(), why));
        }
    }

    /// Proposes bounded domains if they make unproven obligations provable.
    fn propose_bounds(&mut self) {
        let proven = |converted: &ConvertedContract| {
            converted.obligations.iter().filter(|obligation| obligation.state == State::Proven).count()
        };
        let open = |obligation: &Obligation| match &obligation.state {
            State::Tested(_) => true,
            State::Dropped(why) => why.starts_with(REFUTED_PREFIX),
            State::Open | State::Proven | State::Bound(_) => false,
        };
        if !self.obligations.iter().any(open) {
            return;
        }
        let mut bounded = self.clone();
        for name in self.quantities() {
            let domain = match self.domains.get(&name).map(String::as_str) {
                None => "[-1e15, 1e15]",
                Some("integer > 0") => "integer [1, 1e15]",
                Some("integer >= 0") => "integer [0, 1e15]",
                Some("> 0") => "[1e-15, 1e15]",
                Some(">= 0") => "[0, 1e15]",
                Some(_) => continue,
            };
            bounded.domains.insert(name.clone(), domain.to_owned());
            bounded.proposed.insert(name);
        }
        for obligation in bounded.obligations.iter_mut().filter(|obligation| open(obligation)) {
            obligation.state = State::Open;
        }
        bounded.prove();
        let lost = self
            .obligations
            .iter()
            .zip(&bounded.obligations)
            .any(|(before, after)| before.state != after.state && !open(before));
        if !lost && proven(&bounded) > proven(self) {
            *self = bounded;
        }
    }

    fn source(&self, text: String) -> Source {
        Source { name: format!("{}.yaml", self.id), text, sha256: String::new() }
    }

    /// Drops every part with an error; true if there was one.
    fn drop_what_fails(&mut self, with_obligations: bool) -> bool {
        let (text, parts) = self.render(with_obligations);
        let compiled = check_in(self.source(text), None);
        let mut changed = false;
        for diagnostic in
            compiled.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error)
        {
            let part =
                parts.iter().find(|(range, _)| range.contains(&diagnostic.span.start)).map(|(_, part)| *part);
            let why = diagnostic.message.clone();
            changed = true;
            match part {
                Some(Part::Equation(at)) if why.contains(DIVISOR_MESSAGE) && self.propose_positive(at) => {}
                Some(Part::Equation(at)) => self.equations[at].dropped = Some(why),
                Some(Part::Classifier(at)) => self.classifiers[at].dropped = Some(why),
                Some(Part::Obligation(at)) => self.obligations[at].state = State::Dropped(why),
                Some(Part::Quantity(at)) => {
                    let name = self.quantities().get(at).cloned().unwrap_or_default();
                    self.give_up(&name, &why);
                }
                None => self.give_up_all(with_obligations, &why),
            }
        }
        changed
    }

    /// Proposes positive domains for divisors without a domain; true if there was any.
    fn propose_positive(&mut self, at: usize) -> bool {
        let Some(formula) = statement::expression(&self.equations[at].formula) else { return false };
        let quantities = self.quantities();
        let mut proposed = false;
        for name in formula.names() {
            if quantities.iter().any(|known| known == name) && !self.domains.contains_key(name) {
                self.domains.insert(name.to_owned(), "> 0".into());
                self.proposed.insert(name.to_owned());
                proposed = true;
            }
        }
        proposed
    }

    /// Drops the domain of an invalid quantity or, without a domain, everything that uses it.
    fn give_up(&mut self, name: &str, why: &str) {
        if self.domains.remove(name).is_some() {
            return;
        }
        for equation in &mut self.equations {
            let uses = statement::expression(&equation.formula)
                .is_some_and(|formula| formula.names().contains(&name));
            if uses && equation.dropped.is_none() {
                equation.dropped = Some(why.to_owned());
            }
        }
    }

    fn give_up_all(&mut self, obligations: bool, why: &str) {
        for obligation in &mut self.obligations {
            if obligation.state == State::Open {
                obligation.state = State::Dropped(why.to_owned());
            }
        }
        for equation in self.equations.iter_mut().filter(|_| !obligations) {
            equation.dropped.get_or_insert_with(|| why.to_owned());
        }
    }

    /// Sets the state of each obligation: proven, tested by the falsifier, or dropped.
    fn prove(&mut self) {
        let (text, _) = self.render(true);
        let Some(contract) = check_in(self.source(text), None).contract else { return };
        for proof in certify::judge(&contract) {
            let Some(obligation) = self.obligations.iter_mut().find(|known| known.id == proof.id) else {
                continue;
            };
            obligation.state = match (proof.verdict, &proof.counterexample) {
                (Verdict::Proven, _) => State::Proven,
                (Verdict::Refuted, Some(found)) => {
                    let lines: Vec<String> =
                        found.to_string().lines().map(|line| line.trim().to_owned()).collect();
                    State::Dropped(format!("{REFUTED_PREFIX}: {}", lines.join("; ")))
                }
                _ if proof.points > 0 => State::Tested(proof.points),
                _ => State::Dropped("neither proven nor tested: no point satisfies its assumptions".into()),
            };
        }
    }

    /// Sets the outcome of an item.
    pub fn judge(&self, pending: &Pending, item: &mut Item) {
        let folded = item.outcome == Outcome::Folded;
        let mut notes: Vec<String> = Vec::new();
        let mut why: Vec<String> = Vec::new();
        for &at in &pending.equations {
            let equation = &self.equations[at];
            match &equation.dropped {
                None => notes.push(format!("equation `{}`", equation.name)),
                Some(dropped) => why.push(format!("`{}`: {dropped}", equation.name)),
            }
        }
        let mut outcome = if pending.equations.is_empty() { Outcome::Proven } else { Outcome::Formal };
        for &at in &pending.obligations {
            let obligation = &self.obligations[at];
            let id = &obligation.id;
            match &obligation.state {
                _ if folded && !matches!(obligation.state, State::Dropped(_) | State::Open) => {
                    notes.push(format!("part of `{id}`"));
                }
                State::Proven => notes.push(format!("`{id}`: {}", obligation.formal)),
                State::Tested(points) => {
                    outcome = Outcome::Tested;
                    notes.push(format!(
                        "`{id}`: {}; true at {points} tested points, not proven",
                        obligation.formal
                    ));
                }
                State::Bound(equation) => {
                    outcome = Outcome::Folded;
                    notes.push(format!("already checked by the bound `{equation}`"));
                }
                State::Dropped(_) if folded => {
                    why.push(format!("its obligation could not be made formal: {}", obligation.formal))
                }
                State::Dropped(dropped) => why.push(format!("{}: {dropped}", obligation.formal)),
                State::Open => why.push(format!("{}: not run", obligation.formal)),
            }
        }
        for &at in &pending.classifiers {
            let classifier = &self.classifiers[at];
            match &classifier.dropped {
                None => notes.push(format!("classifier `{}` of `{}`", classifier.name, classifier.of)),
                Some(dropped) => why.push(format!("`{}`: {dropped}", classifier.name)),
            }
            outcome = Outcome::Formal;
        }
        let is_domain =
            pending.equations.is_empty() && pending.obligations.is_empty() && pending.classifiers.is_empty();
        if !why.is_empty() {
            // If any part is dropped, the text is kept as documentation; a parsed domain remains.
            if item.outcome != Outcome::Formal {
                item.outcome = Outcome::Informal;
            }
            notes = why;
        } else if !is_domain && item.outcome == Outcome::Informal {
            item.outcome = outcome;
        }
        for note in notes {
            push_note(&mut item.note, &note);
        }
        if !pending.ignored.is_empty() && item.outcome != Outcome::Informal {
            push_note(&mut item.note, &format!("ignored: \"{}\"", pending.ignored.join("\", \"")));
        }
    }

    /// The units of the kept names: name, unit, reason.
    pub fn unit_report(&self) -> Vec<(String, String, String)> {
        let equations = self.alive().map(|at| self.equations[at].name.clone());
        let names = self.quantities().into_iter().chain(equations);
        names
            .filter_map(|name| {
                let proposal = self.units.get(&name)?;
                Some((name, proposal.unit.clone(), proposal.why.clone()))
            })
            .collect()
    }

    /// The contract as a file.
    pub fn canonical(&self, from: &str) -> String {
        let from: String = from.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let header = format!(
            "# Imported from {from}. Review the proposed units. Entries under `informal` are not checked.\n"
        );
        let source = self.source(header + &self.render(true).0);
        format(&source).unwrap_or(source.text)
    }

    fn unit(&self, name: &str) -> String {
        let none = Proposal { unit: "1".into(), why: "no unit known".into() };
        let Proposal { unit, why } = self.units.get(name).unwrap_or(&none);
        format!("    unit: {}  # {why}\n", text(unit))
    }

    /// Renders the contract and returns the range of bytes of each part.
    fn render(&self, with_obligations: bool) -> (String, Vec<(Range<usize>, Part)>) {
        let mut parts = Vec::new();
        let mut out = format!(
            "metadata:\n  version: {}\n  description: {}\n",
            text(&self.version),
            text(&self.description)
        );
        if !self.references.is_empty() {
            out += "  references:\n";
            out.extend(self.references.iter().map(|reference| format!("    - {}\n", text(reference))));
        }
        let quantities = self.quantities();
        if !quantities.is_empty() {
            out += "quantities:\n";
        }
        for (at, name) in quantities.iter().enumerate() {
            let start = out.len();
            out += &format!("  {name}:\n{}", self.unit(name));
            if let Some(domain) = self.domains.get(name) {
                let proposed = if self.proposed.contains(name) { "  # proposed; review it" } else { "" };
                out += &format!("    domain: {}{proposed}\n", text(domain));
            }
            parts.push((start..out.len(), Part::Quantity(at)));
        }
        if self.alive().next().is_some() {
            out += "equations:\n";
        }
        for at in self.alive() {
            let equation = &self.equations[at];
            let start = out.len();
            let left = match &equation.measured {
                Some(measured) => format!("{measured} <= "),
                None => format!("{} = ", equation.name),
            };
            out += &format!("  {}:\n    formula: {}\n", equation.name, text(&(left + &equation.formula)));
            out += &self.unit(&equation.name);
            if !equation.doc.is_empty() {
                out += &format!("    doc: {}\n", text(&equation.doc));
            }
            parts.push((start..out.len(), Part::Equation(at)));
        }
        let computed: BTreeSet<&str> = self.alive().map(|at| self.equations[at].name.as_str()).collect();
        let classifies = |classifier: &Classifier| {
            with_obligations && classifier.dropped.is_none() && computed.contains(classifier.of.as_str())
        };
        if self.classifiers.iter().any(classifies) {
            out += "classifiers:\n";
        }
        for (at, classifier) in self.classifiers.iter().enumerate().filter(|(_, one)| classifies(one)) {
            let start = out.len();
            out += &classifier.render();
            parts.push((start..out.len(), Part::Classifier(at)));
        }
        let stays =
            |obligation: &Obligation| !matches!(obligation.state, State::Bound(_) | State::Dropped(_));
        if with_obligations && self.obligations.iter().any(stays) {
            out += "obligations:\n";
            for (at, obligation) in
                self.obligations.iter().enumerate().filter(|(_, obligation)| stays(obligation))
            {
                let start = out.len();
                out += &obligation.render();
                parts.push((start..out.len(), Part::Obligation(at)));
            }
        }
        if !self.informal.is_empty() {
            out += "informal:\n";
        }
        for (about, words, why) in &self.informal {
            out +=
                &format!("  - about: {}\n    text: {}\n    why: {}\n", text(about), text(words), text(why));
        }
        (out, parts)
    }
}

impl Classifier {
    fn render(&self) -> String {
        let mut out = format!("  {}:\n    of: {}\n    cases:\n", self.name, self.of);
        for (name, least) in self.bands.iter().rev() {
            let condition = least.map_or_else(|| "otherwise".into(), |least| text(&format!(">= {least}")));
            out += &format!("      - {name}: {condition}\n");
        }
        out
    }
}

impl Obligation {
    fn render(&self) -> String {
        let mut out =
            format!("  - id: {}\n    type: {}\n    formal: {}\n", self.id, self.kind(), text(&self.formal));
        if let State::Tested(_) = self.state {
            out += "    assurance: tested\n";
        }
        for (key, value) in [("doc", &self.doc), ("if_fails", &self.if_fails)] {
            if !value.is_empty() {
                out += &format!("    {key}: {}\n", text(value));
            }
        }
        let solver = self.solver.as_ref().map(|solver| format!("solver: {solver}"));
        let unwind = self.unwind.map(|unwind| format!("unwind: {unwind}"));
        let kani: Vec<String> = solver.into_iter().chain(unwind).collect();
        if !kani.is_empty() {
            out += &format!("    kani: {{{}}}\n", kani.join(", "));
        }
        out
    }

    /// The kind of obligation that matches its shape.
    fn kind(&self) -> &'static str {
        match statement::expression(&self.formal).map(|formula| formula.top().kind.clone()) {
            Some(Kind::Monotone { .. }) => "monotonicity",
            Some(Kind::Call(Function::Finite, _)) => "finiteness",
            Some(Kind::Binary(Binary::Equal | Binary::Iff, ..) | Kind::Within(Binary::Equal, ..)) => {
                "equivalence"
            }
            Some(Kind::Binary(operator, ..) | Kind::Within(operator, ..)) if operator.is_comparison() => {
                "bound"
            }
            _ => "invariant",
        }
    }
}

/// A text in quotes, on one line.
fn text(value: &str) -> String {
    quoted(value.trim(), false, true)
}
