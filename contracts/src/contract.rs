//! A checked contract: names resolved, units checked, formulas lowered into the graph.
//!
//! Only [`check`](crate::check) constructs it. Evaluation, proofs and code generation cannot fail on it.

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
    /// Id, version and description.
    pub metadata: Metadata,
    /// The contracts it depends on.
    pub dependencies: Vec<Arc<Contract>>,
    /// The inputs: its own first, then those imported from dependencies.
    pub quantities: Vec<Quantity>,
    /// Requirements on the inputs: its own first, then those of imported quantities.
    pub requires: Vec<Requirement>,
    /// The equations: its own in the order of the file, then imported ones.
    pub equations: Vec<Equation>,
    /// Positions in `equations` in an order in which each equation follows those it uses.
    pub order: Vec<usize>,
    /// The classifiers.
    pub classifiers: Vec<Classifier>,
    /// The profile tables.
    pub profiles: Vec<Table>,
    /// The advice.
    pub recommendations: Vec<Recommendation>,
    /// The claims to prove.
    pub obligations: Vec<Obligation>,
    /// Unchecked statements; their verdict is [informal](Verdict::Informal).
    pub informal: Vec<Informal>,
    /// The expression graph that all formulas share.
    pub graph: Graph,
}

/// The metadata of a contract.
#[derive(Clone, Debug)]
pub struct Metadata {
    /// The name; defaults to the file stem.
    pub id: String,
    /// A semantic version.
    pub version: semver::Version,
    /// A description of the model.
    pub description: String,
    /// Sources of the formulas.
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
    /// The allowed values; for an enumeration, the indices of its cases.
    pub domain: Domain,
    /// The cases of an enumeration, evaluated as their indices; empty for a number.
    pub cases: Vec<String>,
    /// The default value.
    pub default: Option<f64>,
    /// The documentation; empty for none.
    pub doc: String,
    /// The contract it was imported from; none for its own.
    pub origin: Option<String>,
    /// The key in the file.
    pub span: Span,
}

impl Quantity {
    /// Formats a value: the name of the case, or the number.
    pub fn show(&self, value: f64) -> String {
        let case = self.cases.get(value as usize).filter(|_| self.domain.contains(value));
        case.cloned().unwrap_or_else(|| crate::formula::number(value))
    }

    /// The number of a case.
    pub fn case(&self, name: &str) -> Option<f64> {
        self.cases.iter().position(|case| case == name).map(|index| index as f64)
    }
}

/// A relation between inputs. Proofs assume it, and evaluation rejects points that violate it.
#[derive(Clone, Debug)]
pub struct Requirement {
    /// The condition, over quantities only.
    pub expression: Expression,
    /// The contract it was imported from; none for its own.
    pub origin: Option<String>,
}

/// A direct operand of an expression. Ordered like parameters: quantities before equations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operand {
    /// A quantity, by position.
    Quantity(usize),
    /// An equation, by position.
    Equation(usize),
}

/// An expression: its syntax tree and its node in the graph.
#[derive(Clone, Debug)]
pub struct Expression {
    /// The syntax tree.
    pub formula: Formula,
    /// The names in it and their meaning: quantities, then equations, each in the order of the contract that
    /// defines the expression.
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
    /// The documentation; empty for none.
    pub doc: String,
    /// The contract it was imported from; none for its own.
    pub origin: Option<String>,
    /// The key in the file.
    pub span: Span,
}

/// An ordered choice between named cases.
#[derive(Clone, Debug)]
pub struct Classifier {
    /// Its name.
    pub name: String,
    /// The cases; the last has no condition.
    pub cases: Vec<Case>,
    /// Operands of its conditions, in the order of [`Expression::operands`].
    pub operands: Vec<(String, Operand)>,
    /// The documentation; empty for none.
    pub doc: String,
    /// The contract it was imported from; none for its own.
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
    /// The condition node that is true if this case is chosen.
    pub chosen: Id,
    /// The key in the file.
    pub span: Span,
}

/// A table of profiles.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// The documentation; empty for none.
    pub doc: String,
    /// The columns.
    pub fields: Vec<Field>,
    /// Conditions that every row must satisfy.
    pub rules: Vec<TableRule>,
    /// The rows.
    pub entries: Vec<Entry>,
    /// The contract it was imported from; none for its own.
    pub origin: Option<String>,
    /// The key in the file.
    pub span: Span,
}

/// A condition that every row of a table must satisfy, unless the row lists an exception with its reason.
#[derive(Clone, Debug)]
pub struct TableRule {
    /// Its name.
    pub id: String,
    /// The error it detects.
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
    /// The type of its values.
    pub kind: FieldKind,
    /// True if entries may omit it.
    pub optional: bool,
    /// The position of the quantity with the same name, which it sets.
    pub quantity: Option<usize>,
    /// The documentation; empty for none.
    pub doc: String,
}

/// The type of a column.
#[derive(Clone, Debug)]
pub enum FieldKind {
    /// A number.
    Number {
        /// Its unit.
        unit: Unit,
        /// The unit as the contract writes it.
        unit_text: String,
        /// The allowed values.
        domain: Domain,
    },
    /// A text.
    Text {
        /// The allowed texts; any if empty.
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
    /// The source of the figures.
    pub source: String,
    /// The day the figures were taken, as `YYYY-MM-DD`.
    pub as_of: String,
    /// The documentation; empty for none.
    pub doc: String,
    /// The key in the file.
    pub span: Span,
}

/// A value of a profile entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Omitted.
    Absent,
    /// A number in the field's unit.
    Number(f64),
    /// A text.
    Text(String),
}

/// Urgency of a recommendation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// High urgency.
    High,
    /// Medium urgency.
    Medium,
    /// Low urgency.
    Low,
}

impl Priority {
    /// All priorities, the most urgent first.
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

/// Advice and the condition under which it applies.
#[derive(Clone, Debug)]
pub struct Recommendation {
    /// Its name.
    pub name: String,
    /// The condition under which it applies.
    pub when: Expression,
    /// Its urgency.
    pub priority: Priority,
    /// The advice.
    pub text: String,
    /// The key in the file.
    pub span: Span,
}

/// The kinds of obligation; each fixes the shape of `formal`.
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
    /// All kinds.
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

/// The claim of an obligation about all values of the domains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Claim {
    /// The condition is true at every point.
    Always(Id),
    /// The value never moves against the direction as the quantity grows and all else is fixed.
    Monotone {
        /// The node of the value.
        of: Id,
        /// True for increasing, false for decreasing; both weak.
        increasing: bool,
        /// The quantity, by position.
        quantity: usize,
        /// Relative tolerance against the direction; 0 for none.
        within: f64,
    },
}

/// An unchecked statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Informal {
    /// The subject or source; empty for none.
    pub about: String,
    /// The statement.
    pub text: String,
    /// The reason it is not formal; empty for none.
    pub why: String,
}

/// The result of checking an obligation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// True at every point of the domain: the checker accepted a certificate.
    Proven,
    /// False at a point of the domain.
    Refuted,
    /// True at every point tried; the contract accepts tests.
    Tested,
    /// Proven, but its premise is false at every point tried.
    Vacuous,
    /// Prose, not checked.
    Informal,
    /// Neither proven nor refuted.
    Unknown,
    /// Not checked yet.
    NotRun,
}

impl Verdict {
    /// The lowercase name of the verdict.
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

    /// True if a contract with this verdict compiles.
    pub fn acceptable(self) -> bool {
        !matches!(self, Verdict::Refuted | Verdict::Unknown)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The evidence that an obligation requires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Assurance {
    /// A certificate that the checker accepts.
    #[default]
    Proven,
    /// Tests.
    Tested,
}

/// A claim that must hold over the domains.
#[derive(Clone, Debug)]
pub struct Obligation {
    /// Its name.
    pub id: String,
    /// Its kind.
    pub kind: ObligationKind,
    /// The documentation; empty for none.
    pub doc: String,
    /// The claim as written.
    pub formula: Formula,
    /// The names in it.
    pub operands: Vec<(String, Operand)>,
    /// The claim in the graph.
    pub claim: Claim,
    /// Values substituted for quantities in the claim: the claim covers points where each of them lies in the
    /// quantity's domain.
    pub substituted: Vec<(usize, Id)>,
    /// The requirements with the same substitutions: the claim covers points where they hold too.
    pub assumed: Vec<Id>,
    /// True at points where the claim is vacuous because its premise is false; none for a claim about every point.
    /// With a substitution, the claim is also vacuous outside the domains.
    pub vacuous_when: Option<Id>,
    /// True if a vacuous claim is accepted.
    pub vacuous: bool,
    /// The evidence required for the contract to compile.
    pub assurance: Assurance,
    /// The consequence of a failure; empty for none.
    pub if_fails: String,
    /// The solver for Kani; none for its default.
    pub kani_solver: Option<String>,
    /// Loop bound for Kani.
    pub kani_unwind: Option<u32>,
    /// The verdict; set by [`compile`](crate::compile).
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

    /// All direct and indirect dependencies, each once and after its own dependencies.
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

    /// The contract that an item was imported from; this contract for its own items.
    pub fn home(&self, origin: Option<&str>) -> &Contract {
        let of_origin = |origin| self.closure().into_iter().find(|known| known.metadata.id == origin);
        origin.and_then(of_origin).unwrap_or(self)
    }

    /// `file:line` of a place in the contract.
    pub fn line(&self, span: Span) -> String {
        format!("{}:{}", self.source.name, self.source.position(span.start).0)
    }
}
