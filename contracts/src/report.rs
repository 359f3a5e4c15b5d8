//! Diagnostics for contract authors, collected in a report and rendered with their source lines.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::source::{Source, Span};

/// Severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The contract is not usable.
    Error,
    /// The contract is usable, but part of it is probably unintended.
    Warning,
}

/// The violated rule: stable names by which tools can sort, count or suppress diagnostics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// The file is readable and uses only the subset of YAML that contracts allow.
    File,
    /// Keys are known and complete, and values have the expected shape.
    Structure,
    /// Names are valid identifiers in generated code and unique.
    Name,
    /// Units exist and match.
    Unit,
    /// Domains are not empty, and values lie inside them.
    Domain,
    /// Formulas parse, and their names exist.
    Formula,
    /// Every case of a classifier is reachable, and the cases are exhaustive.
    Classifier,
    /// Profiles are complete and meet the rules of their table.
    Profile,
    /// Dependencies exist and have a matching version.
    Dependency,
    /// Obligations hold.
    Obligation,
    /// Every declared quantity and exception is used.
    Unused,
}

impl Rule {
    /// All rules.
    pub const ALL: [Rule; 11] = [
        Rule::File,
        Rule::Structure,
        Rule::Name,
        Rule::Unit,
        Rule::Domain,
        Rule::Formula,
        Rule::Classifier,
        Rule::Profile,
        Rule::Dependency,
        Rule::Obligation,
        Rule::Unused,
    ];

    /// The lowercase name, stable across releases.
    pub fn word(self) -> &'static str {
        match self {
            Rule::File => "file",
            Rule::Structure => "structure",
            Rule::Name => "name",
            Rule::Unit => "unit",
            Rule::Domain => "domain",
            Rule::Formula => "formula",
            Rule::Classifier => "classifier",
            Rule::Profile => "profile",
            Rule::Dependency => "dependency",
            Rule::Obligation => "obligation",
            Rule::Unused => "unused",
        }
    }

    /// A one-sentence description of the rule.
    pub fn doc(self) -> &'static str {
        match self {
            Rule::File => {
                "A contract is a readable file with one YAML document, without anchors, aliases, tags or duplicate keys."
            }
            Rule::Structure => "Keys are known and complete, and values have the expected shape.",
            Rule::Name => "Names are valid identifiers in generated code and unique.",
            Rule::Unit => "Units exist, and both sides of a sum, comparison or equation have the same unit.",
            Rule::Domain => "Domains are not empty, defaults lie inside them, and divisors cannot be zero.",
            Rule::Formula => "Formulas parse, their names exist, and equations are not cyclic.",
            Rule::Classifier => "Every case of a classifier is reachable, and the cases are exhaustive.",
            Rule::Profile => "Profiles are complete and meet the rules of their table.",
            Rule::Dependency => "Dependencies exist, are valid and have a matching version.",
            Rule::Obligation => "Obligations are proven, or tested if the contract accepts tests.",
            Rule::Unused => "Every declared quantity and exception is used.",
        }
    }
}

/// An error or warning with its place in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its severity.
    pub severity: Severity,
    /// The violated rule.
    pub rule: Rule,
    /// The place.
    pub span: Span,
    /// The problem, as one lowercase sentence without a period.
    pub message: String,
    /// The label under the caret; empty for none.
    pub label: String,
    /// Related places with their labels.
    pub others: Vec<(Span, String)>,
    /// Accepted values and remedies.
    pub notes: Vec<String>,
}

impl Diagnostic {
    /// An error; its rule is [`Rule::Structure`] unless [`rule`](Diagnostic::rule) sets another.
    pub fn error(span: Span, message: impl Into<String>) -> Self {
        let (label, others, notes) = Default::default();
        let (severity, rule) = (Severity::Error, Rule::Structure);
        Diagnostic { severity, rule, span, message: message.into(), label, others, notes }
    }

    /// Sets the violated rule.
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rule = rule;
        self
    }

    /// A warning; its rule is [`Rule::Structure`] unless [`rule`](Diagnostic::rule) sets another.
    pub fn warning(span: Span, message: impl Into<String>) -> Self {
        Diagnostic { severity: Severity::Warning, ..Self::error(span, message) }
    }

    /// Adds the text under the caret.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Adds a note with accepted values or a remedy.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Adds several notes.
    pub fn notes(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }

    /// Adds a related place.
    pub fn and(mut self, span: Span, label: impl Into<String>) -> Self {
        self.others.push((span, label.into()));
        self
    }

    /// Renders `file:line:column: error: ...` with the source line, a caret and the notes.
    pub fn render(&self, source: &Source) -> String {
        let (level, word) = match self.severity {
            Severity::Error => (Level::ERROR, "error"),
            Severity::Warning => (Level::WARNING, "warning"),
        };
        let clamp = |span: Span| {
            let end = span.end.min(source.text.len());
            span.start.min(end)..end
        };
        let mut snippet = Snippet::source(source.text.as_str()).annotation(
            AnnotationKind::Primary.span(clamp(self.span)).label(if self.label.is_empty() {
                None
            } else {
                Some(&*self.label)
            }),
        );
        for (span, label) in &self.others {
            snippet = snippet.annotation(AnnotationKind::Context.span(clamp(*span)).label(&**label));
        }
        let mut group = Group::with_level(level).element(snippet);
        for note in &self.notes {
            group = group.element(Level::HELP.message(&**note));
        }
        let shown = Renderer::plain().render(&[group]);
        format!("{}: {word}: {}\n{shown}", source.place(self.span), self.message)
    }
}

/// Maximum number of diagnostics in a report; generated files can contain any number of errors.
const MAX_DIAGNOSTICS: usize = 100;

/// Collects diagnostics. It must be [finished](Report::finish); dropping it unread is a bug.
#[derive(Debug, Default)]
pub struct Report {
    diagnostics: Vec<Diagnostic>,
    left_out: usize,
    finished: bool,
}

impl Report {
    /// An empty report.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a diagnostic.
    pub fn add(&mut self, diagnostic: Diagnostic) {
        if self.is_full() {
            self.left_out += 1;
        } else {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Adds a diagnostic, or only its place if one with the same message exists.
    pub fn add_once(&mut self, diagnostic: Diagnostic) {
        /// Maximum number of additional places.
        const PLACES: usize = 4;
        match self.diagnostics.iter_mut().find(|known| known.message == diagnostic.message) {
            Some(first) if first.others.len() < PLACES => {
                first.others.push((diagnostic.span, "also here".into()))
            }
            Some(_) => {}
            None => self.add(diagnostic),
        }
    }

    /// True if further diagnostics are only counted, so that computing suggestions is pointless.
    pub fn is_full(&self) -> bool {
        self.diagnostics.len() >= MAX_DIAGNOSTICS
    }

    /// True if any diagnostic is an error.
    pub fn has_errors(&self) -> bool {
        self.left_out > 0 || self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Returns all diagnostics in source order.
    pub fn finish(mut self) -> Vec<Diagnostic> {
        self.finished = true;
        let mut diagnostics = std::mem::take(&mut self.diagnostics);
        diagnostics.sort_by_key(|diagnostic| (diagnostic.span, diagnostic.severity));
        diagnostics.dedup();
        if let (Some(last), 1..) = (diagnostics.last_mut(), self.left_out) {
            last.notes.push(format!("{} more errors not shown; fix these first", self.left_out));
        }
        diagnostics
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        if !self.finished && !std::thread::panicking() {
            debug_assert!(self.diagnostics.is_empty(), "a report was dropped unread: {:?}", self.diagnostics);
        }
    }
}
