//! The keys of the contract language, once: what each section may hold, in the order in which it is laid out, and what
//! it means.
//!
//! The reader refuses every other key, and the messages, the canonical form and the editor schema are made from these
//! tables.

/// What a key's value looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Free text.
    Text,
    /// A name of lower-case letters, digits, `-` and `_`.
    Id,
    /// A semantic version.
    Version,
    /// A number, perhaps with a unit.
    Number,
    /// A number, perhaps with a unit, or one of the names of an enumeration.
    Value,
    /// A whole number from 1 to this.
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
    /// A mapping from entry names to the table's own fields and `source`, `as_of`, `doc`, `allow`.
    Entries,
}

/// A key of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// The key.
    pub name: &'static str,
    /// It may not be left out.
    pub required: bool,
    /// What its value looks like.
    pub shape: Shape,
    /// What it means.
    pub doc: &'static str,
}

const fn key(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key { name, required: false, shape, doc }
}

const fn required(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key { name, required: true, shape, doc }
}

const DOC: Key = key("doc", Shape::Text, "what it is, for the generated documentation");

/// The whole contract.
pub const CONTRACT: &[Key] = &[
    required("metadata", Shape::Section(METADATA), "what the contract is"),
    key("quantities", Shape::Named(QUANTITY), "the inputs"),
    key(
        "requires",
        Shape::Formulas,
        "relations between the inputs that every point meets: `arrival < service`",
    ),
    key("equations", Shape::Named(EQUATION), "what is computed from them"),
    key("classifiers", Shape::Named(CLASSIFIER), "ordered choices between named cases"),
    key("profiles", Shape::Named(TABLE), "typed tables of known devices, formats, models"),
    key("recommendations", Shape::Named(RECOMMENDATION), "advice and when it applies"),
    key("obligations", Shape::List(OBLIGATION), "what must hold over all values of the domains"),
    key("informal", Shape::List(INFORMAL), "what is only said: documentation that nothing checks"),
];

/// `metadata`
pub const METADATA: &[Key] = &[
    key("id", Shape::Id, "the contract's name; the file's stem if left out"),
    required("version", Shape::Version, "a semantic version, `1.0.0`"),
    required("description", Shape::Text, "what the contract models"),
    key("references", Shape::Texts, "where the formulas come from"),
    key(
        "depends_on",
        Shape::Texts,
        "contracts whose names this one uses, each with the version it needs: `hardware-v1 ^1.0`",
    ),
];

/// An entry of `quantities`
pub const QUANTITY: &[Key] = &[
    key("unit", Shape::Unit, "the unit, `GB/s`; `1` for a plain number; a number needs one"),
    key("domain", Shape::Domain, "the values it may take; every finite number if left out"),
    key("one_of", Shape::Texts, "the names it may be, in place of a unit: formulas ask `precision is fp8`"),
    key("default", Shape::Value, "the value when none is given"),
    DOC,
];

/// An entry of `equations`
pub const EQUATION: &[Key] = &[
    required(
        "formula",
        Shape::Formula,
        "`name = expression`, `measured <= expression`, or just an expression",
    ),
    required("unit", Shape::Unit, "the unit of the result"),
    DOC,
];

/// An entry of `classifiers`
pub const CLASSIFIER: &[Key] = &[
    DOC,
    key("of", Shape::Text, "the quantity or equation that cases such as `>= 0.9` are about"),
    required("cases", Shape::Cases, "the cases in order; the last one is `otherwise`"),
];

/// An entry of `profiles`
pub const TABLE: &[Key] = &[
    DOC,
    key(
        "extends",
        Shape::Text,
        "a table of a contract that this one depends on, whose fields and rules are meant; in place of `fields` and `rules`",
    ),
    key("fields", Shape::Named(FIELD), "the columns"),
    key("rules", Shape::List(RULE), "conditions that every entry must meet"),
    required("entries", Shape::Entries, "the rows"),
];

/// An entry of a table's `fields`
pub const FIELD: &[Key] = &[
    key("type", Shape::Word(&["number", "text"]), "what it holds; a number if left out"),
    key("unit", Shape::Unit, "the unit; that of the quantity with the same name if left out"),
    key(
        "domain",
        Shape::Domain,
        "the values it may take; that of the quantity with the same name if left out",
    ),
    key("one_of", Shape::Texts, "the texts it may be"),
    key("optional", Shape::Flag, "an entry may leave it out"),
    DOC,
];

/// An entry of a table's `rules`
pub const RULE: &[Key] = &[
    required("id", Shape::Id, "its name"),
    required(
        "check",
        Shape::Formula,
        "a condition over the fields; it is passed over where one of them is absent",
    ),
    required("doc", Shape::Text, "the mistake it finds"),
];

/// What every row of a table may have beside the table's fields
pub const ENTRY: &[Key] = &[
    DOC,
    required("source", Shape::Text, "where the figures come from"),
    required("as_of", Shape::Date, "the day they were taken"),
    key("allow", Shape::NamedTexts, "rules that do not apply here, each with the reason"),
];

/// An entry of `recommendations`
pub const RECOMMENDATION: &[Key] = &[
    required("when", Shape::Formula, "the condition"),
    required("priority", Shape::Word(PRIORITIES), "how urgent it is"),
    required("text", Shape::Text, "what to do"),
];

/// An entry of `obligations`
pub const OBLIGATION: &[Key] = &[
    required("id", Shape::Id, "its name, such as `throughput-bounded`"),
    required("type", Shape::Word(KINDS), "what kind of claim it is; fixes the shape of `formal`"),
    required("formal", Shape::Formula, "the claim"),
    key("assurance", Shape::Word(&["proven", "tested"]), "`tested`: tests are enough; proven if left out"),
    key("vacuous", Shape::Word(&["allowed"]), "`allowed`: the claim may be about no point of the domains"),
    key("if_fails", Shape::Text, "what a failure would mean"),
    key("kani", Shape::Section(KANI), "settings for the Kani harness"),
    DOC,
];

/// An entry of `informal`
pub const INFORMAL: &[Key] = &[
    key("about", Shape::Text, "what it is about, or where it comes from"),
    required("text", Shape::Text, "what is said"),
    key("why", Shape::Text, "why it is not formal"),
];

/// The words for `priority` of a recommendation.
pub const PRIORITIES: &[&str] = &["high", "medium", "low"];

/// The words for `type` of an obligation.
pub const KINDS: &[&str] = &["bound", "invariant", "monotonicity", "equivalence", "finiteness", "scaling"];

/// The largest loop bound of a harness.
pub const MAX_UNWIND: u32 = 10_000;

/// `kani` of an obligation
pub const KANI: &[Key] = &[
    key("solver", Shape::Word(&["minisat", "cadical", "kissat"]), "the solver, if not Kani's default"),
    key("unwind", Shape::Count(MAX_UNWIND), "the loop bound"),
];
