//! The keys of the contract language: one table per section, in canonical order.
//!
//! The reader rejects any other key. Diagnostics, the formatter and the editor schema are derived from these tables.

/// The form of a key's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Free text.
    Text,
    /// A name of lower-case letters, digits, `-` and `_`.
    Id,
    /// A semantic version.
    Version,
    /// A number with an optional unit.
    Number,
    /// A number with an optional unit, or a case of an enumeration.
    Value,
    /// An integer from 1 to this limit.
    Count(u32),
    /// `true` or `false`.
    Flag,
    /// A list of texts.
    Texts,
    /// A unit.
    Unit,
    /// A domain.
    Domain,
    /// A formula.
    Formula,
    /// A list of formulas.
    Formulas,
    /// A date, `YYYY-MM-DD`.
    Date,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A mapping with these keys.
    Section(&'static [Key]),
    /// A mapping from free names to mappings with these keys.
    Named(&'static [Key]),
    /// A list of mappings with these keys.
    List(&'static [Key]),
    /// A list of single-key mappings from a variant to its condition.
    Cases,
    /// A mapping from free names to texts.
    NamedTexts,
    /// A mapping from entry names to the table's fields and `source`, `as_of`, `doc` and `allow`.
    Entries,
}

/// A key of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// The key as a contract writes it.
    pub name: &'static str,
    /// True if the section is invalid without it.
    pub required: bool,
    /// The form of its value.
    pub shape: Shape,
    /// One clause without a period, shown in diagnostics and editors.
    pub doc: &'static str,
}

const fn key(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key { name, required: false, shape, doc }
}

const fn required(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key { name, required: true, shape, doc }
}

const DOC: Key = key("doc", Shape::Text, "description for the generated documentation");

/// The whole contract.
pub const CONTRACT: &[Key] = &[
    required("metadata", Shape::Section(METADATA), "id, version and description of the contract"),
    key("quantities", Shape::Named(QUANTITY), "the inputs of the model"),
    key(
        "requires",
        Shape::Formulas,
        "relations between inputs that always hold, such as `arrival < service`",
    ),
    key("equations", Shape::Named(EQUATION), "the formulas computed from the inputs"),
    key("classifiers", Shape::Named(CLASSIFIER), "ordered choices between named cases"),
    key("profiles", Shape::Named(TABLE), "typed tables, for example of devices, formats or models"),
    key("recommendations", Shape::Named(RECOMMENDATION), "advice and the conditions under which it applies"),
    key("obligations", Shape::List(OBLIGATION), "claims that must hold over the whole domain"),
    key("informal", Shape::List(INFORMAL), "statements that are documented but not checked"),
];

/// `metadata`
pub const METADATA: &[Key] = &[
    key("id", Shape::Id, "the name of the contract; defaults to the file stem"),
    required("version", Shape::Version, "a semantic version such as `1.0.0`"),
    required("description", Shape::Text, "what the contract models"),
    key("references", Shape::Texts, "sources of the formulas"),
    key(
        "depends_on",
        Shape::Texts,
        "contracts whose names this one uses, with version requirements: `hardware-v1 ^1.0`",
    ),
];

/// An entry of `quantities`
pub const QUANTITY: &[Key] = &[
    key("unit", Shape::Unit, "the unit, such as `GB/s`; `1` for a plain number; required for numbers"),
    key("domain", Shape::Domain, "the allowed values; defaults to every finite number"),
    key(
        "one_of",
        Shape::Texts,
        "the cases of an enumeration, instead of a unit: formulas test `precision is fp8`",
    ),
    key("default", Shape::Value, "the default value"),
    DOC,
];

/// An entry of `equations`
pub const EQUATION: &[Key] = &[
    required("formula", Shape::Formula, "`name = expression`, `measured <= expression` or an expression"),
    required("unit", Shape::Unit, "the unit of the result"),
    DOC,
];

/// An entry of `classifiers`
pub const CLASSIFIER: &[Key] = &[
    DOC,
    key("of", Shape::Text, "the quantity or equation that cases such as `>= 0.9` compare"),
    required("cases", Shape::Cases, "the cases in order; the last is `otherwise`"),
];

/// An entry of `profiles`
pub const TABLE: &[Key] = &[
    DOC,
    key(
        "extends",
        Shape::Text,
        "a table of a dependency whose fields and rules are used instead of `fields` and `rules`",
    ),
    key("fields", Shape::Named(FIELD), "the columns"),
    key("rules", Shape::List(RULE), "conditions that every entry must satisfy"),
    required("entries", Shape::Entries, "the rows"),
];

/// An entry of a table's `fields`
pub const FIELD: &[Key] = &[
    key("type", Shape::Word(&["number", "text"]), "the type of the values; defaults to number"),
    key("unit", Shape::Unit, "the unit; defaults to that of the quantity with the same name"),
    key("domain", Shape::Domain, "the allowed values; defaults to those of the quantity with the same name"),
    key("one_of", Shape::Texts, "the allowed texts"),
    key("optional", Shape::Flag, "whether entries may omit it"),
    DOC,
];

/// An entry of a table's `rules`
pub const RULE: &[Key] = &[
    required("id", Shape::Id, "the name of the rule"),
    required(
        "check",
        Shape::Formula,
        "a condition over the fields; skipped for entries that lack one of them",
    ),
    required("doc", Shape::Text, "the error it detects"),
];

/// Keys of every row of a table, in addition to its fields
pub const ENTRY: &[Key] = &[
    DOC,
    required("source", Shape::Text, "the source of the figures"),
    required("as_of", Shape::Date, "the day the figures were taken"),
    key("allow", Shape::NamedTexts, "rules that do not apply to this entry, each with a reason"),
];

/// An entry of `recommendations`
pub const RECOMMENDATION: &[Key] = &[
    required("when", Shape::Formula, "the condition under which it applies"),
    required("priority", Shape::Word(PRIORITIES), "the urgency"),
    required("text", Shape::Text, "the advice"),
];

/// An entry of `obligations`
pub const OBLIGATION: &[Key] = &[
    required("id", Shape::Id, "the name, such as `throughput-bounded`"),
    required("type", Shape::Word(KINDS), "the kind of claim, which determines the form of `formal`"),
    required("formal", Shape::Formula, "the claim"),
    key(
        "assurance",
        Shape::Word(&["proven", "tested"]),
        "`tested` accepts tests instead of a proof; defaults to `proven`",
    ),
    key(
        "vacuous",
        Shape::Word(&["allowed"]),
        "`allowed` permits a claim that applies to no point of the domains",
    ),
    key("if_fails", Shape::Text, "the consequence of a failure"),
    key("kani", Shape::Section(KANI), "settings for the Kani harness"),
    DOC,
];

/// An entry of `informal`
pub const INFORMAL: &[Key] = &[
    key("about", Shape::Text, "the subject or source of the statement"),
    required("text", Shape::Text, "the statement"),
    key("why", Shape::Text, "the reason it is not formal"),
];

/// Values of `priority` of a recommendation.
pub const PRIORITIES: &[&str] = &["high", "medium", "low"];

/// Values of `type` of an obligation.
pub const KINDS: &[&str] = &["bound", "invariant", "monotonicity", "equivalence", "finiteness", "scaling"];

/// The largest loop bound of a Kani harness.
pub const MAX_UNWIND: u32 = 10_000;

/// `kani` of an obligation
pub const KANI: &[Key] = &[
    key("solver", Shape::Word(&["minisat", "cadical", "kissat"]), "the solver; defaults to that of Kani"),
    key("unwind", Shape::Count(MAX_UNWIND), "the loop bound"),
];
