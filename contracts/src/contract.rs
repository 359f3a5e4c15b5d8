//! A checked contract: every name resolved, every unit right, every formula in the graph.
//!
//! Made by [`check`](crate::check) only; evaluation, proofs and code generation read it and cannot fail.

use std::fmt;
use std::sync::Arc;

use crate::domain::Domain;
use crate::formula::Formula;
use crate::graph::{Graph, Id};
use crate::source::{Source, Span};
use crate::unit::Unit;

/// A checked contract.
#[derive(Clone, Debug)]
pub struct Contract {
    /// The text it came from.
    pub source: Source,
    /// What it is called, its version and description.
    pub metadata: Metadata,
    /// The contracts it depends on.
    pub dependencies: Vec<Arc<Contract>>,
    /// The inputs; its own first, then those it takes from its dependencies.
    pub quantities: Vec<Quantity>,
    /// What every point meets; its own first, then those that come with quantities of its dependencies.
    pub requires: Vec<Requirement>,
    /// The equations in the order of the file, then those it takes from its dependencies.
    pub equations: Vec<Equation>,
    /// Positions in `equations`, such that each comes after those it uses.
    pub order: Vec<usize>,
    /// The classifiers.
    pub classifiers: Vec<Classifier>,
    /// The profile tables.
    pub profiles: Vec<Table>,
    /// The advice.
    pub recommendations: Vec<Recommendation>,
    /// What must hold.
    pub obligations: Vec<Obligation>,
    /// What is only said; its verdict is [informal](Verdict::Informal).
    pub informal: Vec<Informal>,
    /// What everything means.
    pub graph: Graph,
}

/// What a contract says of itself.
#[derive(Clone, Debug)]
pub struct Metadata {
    /// The name; the file's stem unless the contract says otherwise.
    pub id: String,
    /// A semantic version.
    pub version: semver::Version,
    /// What the contract models.
    pub description: String,
    /// Where its formulas come from.
    pub references: Vec<String>,
}

/// An input.
#[derive(Clone, Debug)]
pub struct Quantity {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// The unit as the contract writes it.
    pub unit_text: String,
    /// The values it may take; for an enumeration the numbers of its cases.
    pub domain: Domain,
    /// The names of its values, if they have names: the first is 0 to the interpreter, the next 1.
    pub cases: Vec<String>,
    /// The value it has when none is given.
    pub default: Option<f64>,
    /// What it is.
    pub doc: String,
    /// The contract it was taken from; none for this one's own.
    pub origin: Option<String>,
    /// The key in the file.
    pub span: Span,
}

impl Quantity {
    /// A value as people read it: the name of the case, or the number.
    pub fn show(&self, value: f64) -> String {
        let case = self.cases.get(value as usize).filter(|_| self.domain.contains(value));
        case.cloned().unwrap_or_else(|| crate::formula::number(value))
    }

    /// The number of a case.
    pub fn case(&self, name: &str) -> Option<f64> {
        self.cases.iter().position(|case| case == name).map(|index| index as f64)
    }
}

/// A relation between inputs that every point meets: proofs assume it, and evaluation refuses a point that does not.
#[derive(Clone, Debug)]
pub struct Requirement {
    /// The condition, over quantities only.
    pub expression: Expression,
    /// The contract it was taken from; none for this one's own.
    pub origin: Option<String>,
}

/// What an expression uses directly. Ordered as parameters are: quantities, then equations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operand {
    /// A quantity, by position.
    Quantity(usize),
    /// An equation, by position.
    Equation(usize),
}

/// An expression: as it was written, and as it is computed.
#[derive(Clone, Debug)]
pub struct Expression {
    /// The syntax tree.
    pub formula: Formula,
    /// The names it mentions and what they are: quantities, then equations, each in the order of the contract that
    /// the expression was written in.
    pub operands: Vec<(String, Operand)>,
    /// The node in the graph.
    pub id: Id,
}

/// A formula with a name.
#[derive(Clone, Debug)]
pub struct Equation {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// The unit as the contract writes it.
    pub unit_text: String,
    /// The right side.
    pub expression: Expression,
    /// The measured value that the right side bounds, if the equation is a bound.
    pub bounds: Option<String>,
    /// What it is.
    pub doc: String,
    /// The contract it was taken from; none for this one's own.
    pub origin: Option<String>,
    /// The key in the file.
    pub span: Span,
}

/// An ordered choice.
#[derive(Clone, Debug)]
pub struct Classifier {
    /// Its name.
    pub name: String,
    /// The cases; the last has no condition.
    pub cases: Vec<Case>,
    /// What its conditions mention, in the order of [`Expression::operands`].
    pub operands: Vec<(String, Operand)>,
    /// What it decides.
    pub doc: String,
    /// The contract it was taken from; none for this one's own.
    pub origin: Option<String>,
    /// The key in the file.
    pub span: Span,
}

/// One case of a classifier.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name of the outcome.
    pub variant: String,
    /// The condition; none for `otherwise`.
    pub condition: Option<Expression>,
    /// The node that tells whether this case is the one chosen.
    pub chosen: Id,
    /// The key in the file.
    pub span: Span,
}

/// A table of profiles.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// What it lists.
    pub doc: String,
    /// The columns.
    pub fields: Vec<Field>,
    /// What every row must meet.
    pub rules: Vec<TableRule>,
    /// The rows.
    pub entries: Vec<Entry>,
    /// The contract it was taken from; none for this one's own.
    pub origin: Option<String>,
    /// The key in the file.
    pub span: Span,
}

/// A condition that every row of a table meets, unless the row says why not.
#[derive(Clone, Debug)]
pub struct TableRule {
    /// Its name.
    pub id: String,
    /// The mistake it finds.
    pub doc: String,
    /// The condition.
    pub check: Formula,
    /// The condition in the file; none for a rule of another contract's table.
    pub span: Option<Span>,
}

/// A column of a profile table.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: FieldKind,
    /// An entry may leave it out.
    pub optional: bool,
    /// The quantity of the same name that it sets, by position.
    pub quantity: Option<usize>,
    /// What it is.
    pub doc: String,
}

/// What a column holds.
#[derive(Clone, Debug)]
pub enum FieldKind {
    /// A number.
    Number {
        /// Its unit.
        unit: Unit,
        /// The unit as the contract writes it.
        unit_text: String,
        /// The values it may take.
        domain: Domain,
    },
    /// A text.
    Text {
        /// The texts it may be; any if empty.
        one_of: Vec<String>,
    },
}

/// A row of a profile table.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// One value for each field of the table.
    pub values: Vec<Value>,
    /// Where the figures come from.
    pub source: String,
    /// The day they were taken, as `YYYY-MM-DD`.
    pub as_of: String,
    /// What it is.
    pub doc: String,
    /// The key in the file.
    pub span: Span,
}

/// A value of a profile entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Left out.
    Absent,
    /// A number in the field's unit.
    Number(f64),
    /// A text.
    Text(String),
}

/// How urgent a recommendation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Do it first.
    High,
    /// Do it next.
    Medium,
    /// Do it when there is time.
    Low,
}

impl Priority {
    /// All of them, the most urgent first.
    pub const ALL: [Priority; 3] = [Priority::High, Priority::Medium, Priority::Low];

    /// The word in a contract.
    pub const fn word(self) -> &'static str {
        match self {
            Priority::High => "high",
            Priority::Medium => "medium",
            Priority::Low => "low",
        }
    }
}

/// Advice and when it applies.
#[derive(Clone, Debug)]
pub struct Recommendation {
    /// Its name.
    pub name: String,
    /// When it applies.
    pub when: Expression,
    /// How urgent it is.
    pub priority: Priority,
    /// What to do.
    pub text: String,
    /// The key in the file.
    pub span: Span,
}

/// The kinds of obligation; each fixes the shape that `formal` has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObligationKind {
    /// A comparison of two values.
    Bound,
    /// Any condition.
    Invariant,
    /// `x increasing in q` or `x decreasing in q`.
    Monotonicity,
    /// `a == b` or `a iff b`.
    Equivalence,
    /// `finite(x)`.
    Finiteness,
    /// A comparison with a substitution.
    Scaling,
}

impl ObligationKind {
    /// All of them.
    pub const ALL: [ObligationKind; 6] = [
        ObligationKind::Bound,
        ObligationKind::Invariant,
        ObligationKind::Monotonicity,
        ObligationKind::Equivalence,
        ObligationKind::Finiteness,
        ObligationKind::Scaling,
    ];

    /// The word in a contract.
    pub const fn word(self) -> &'static str {
        match self {
            ObligationKind::Bound => "bound",
            ObligationKind::Invariant => "invariant",
            ObligationKind::Monotonicity => "monotonicity",
            ObligationKind::Equivalence => "equivalence",
            ObligationKind::Finiteness => "finiteness",
            ObligationKind::Scaling => "scaling",
        }
    }
}

/// What an obligation claims, over all values of the domains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Claim {
    /// The condition is true at every point.
    Always(Id),
    /// The number never moves against the direction when only the quantity grows.
    Monotone {
        /// The number.
        of: Id,
        /// Never falls, else never rises.
        increasing: bool,
        /// The quantity, by position.
        quantity: usize,
        /// How far it may move against it, relative to where it gets; 0 for not at all.
        within: f64,
    },
}

/// A statement that nothing checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Informal {
    /// What it is about, or where it comes from; empty for none.
    pub about: String,
    /// What is said.
    pub text: String,
    /// Why it is not formal; empty for none.
    pub why: String,
}

/// What is known of an obligation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// True at every point of the domain: the checker accepts a certificate of it.
    Proven,
    /// False at a point of the domain.
    Refuted,
    /// True at every point that was tried, which is all the contract asks for.
    Tested,
    /// Proven, but about no point that could be found: its premise is never true.
    Vacuous,
    /// Prose, which nothing checks.
    Informal,
    /// Neither proven nor refuted.
    Unknown,
    /// Nothing ran.
    NotRun,
}

impl Verdict {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Proven => "proven",
            Verdict::Refuted => "refuted",
            Verdict::Tested => "tested",
            Verdict::Vacuous => "vacuous",
            Verdict::Informal => "informal",
            Verdict::Unknown => "unknown",
            Verdict::NotRun => "not run",
        }
    }

    /// A contract with this verdict compiles.
    pub fn acceptable(self) -> bool {
        !matches!(self, Verdict::Refuted | Verdict::Unknown)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What is enough for an obligation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Assurance {
    /// A certificate that the checker accepts.
    #[default]
    Proven,
    /// Tests.
    Tested,
}

/// Something that must hold.
#[derive(Clone, Debug)]
pub struct Obligation {
    /// Its name.
    pub id: String,
    /// Its kind.
    pub kind: ObligationKind,
    /// What it means.
    pub doc: String,
    /// The claim as it was written.
    pub formula: Formula,
    /// The names it mentions.
    pub operands: Vec<(String, Operand)>,
    /// The claim in the graph.
    pub claim: Claim,
    /// Values that stand in for quantities somewhere in the claim: the claim is about points where each of
    /// them lies in the quantity's domain.
    pub substituted: Vec<(usize, Id)>,
    /// The requirements with the same quantities replaced: the claim is about points where they hold too.
    pub assumed: Vec<Id>,
    /// True where the claim says nothing, because its premise is false; none for a claim about every point. Where
    /// something is substituted it says nothing outside the domains either.
    pub silent: Option<Id>,
    /// The claim may be about no point at all.
    pub vacuous: bool,
    /// What must be known of it for the contract to compile.
    pub assurance: Assurance,
    /// What a failure would mean.
    pub if_fails: String,
    /// The solver for Kani, if not its default.
    pub kani_solver: Option<String>,
    /// Loop bound for Kani.
    pub kani_unwind: Option<u32>,
    /// What is known of it; [`compile`](crate::compile) writes it down.
    pub verdict: Verdict,
    /// The `formal` value in the file.
    pub span: Span,
}

impl Contract {
    /// The position of a quantity.
    pub fn quantity(&self, name: &str) -> Option<usize> {
        self.quantities.iter().position(|quantity| quantity.name == name)
    }

    /// The nodes of the requirements.
    pub fn required(&self) -> Vec<Id> {
        self.requires.iter().map(|requirement| requirement.expression.id).collect()
    }

    /// The equation of this name.
    pub fn equation(&self, name: &str) -> Option<&Equation> {
        self.equations.iter().find(|equation| equation.name == name)
    }

    /// The profile table of this name.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.profiles.iter().find(|table| table.name == name)
    }

    /// Every contract it depends on, directly or not, each once and after those it depends on itself.
    pub fn closure(&self) -> Vec<&Contract> {
        fn visit<'a>(contract: &'a Contract, found: &mut Vec<&'a Contract>) {
            for dependency in &contract.dependencies {
                if !found.iter().any(|known| known.metadata.id == dependency.metadata.id) {
                    visit(dependency, found);
                    found.push(dependency);
                }
            }
        }
        let mut found = Vec::new();
        visit(self, &mut found);
        found
    }

    /// The contract that an item was taken from: itself for its own.
    pub fn home(&self, origin: Option<&str>) -> &Contract {
        let of_origin = |origin| self.closure().into_iter().find(|known| known.metadata.id == origin);
        origin.and_then(of_origin).unwrap_or(self)
    }

    /// `file:line` of a place in the contract.
    pub fn line(&self, span: Span) -> String {
        format!("{}:{}", self.source.name, self.source.position(span.start).0)
    }
}
