//! Mistakes in a contract: collected, never thrown, and shown with the line they are on.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::source::{Source, Span};

/// How bad a mistake is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The contract is not usable.
    Error,
    /// The contract works; something in it is probably not meant.
    Warning,
}

/// What a mistake breaks: stable words for tools that sort, count or silence mistakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// The file can be read, and is YAML in the part of YAML that contracts use.
    File,
    /// Every key is known, none is missing, every value has its shape.
    Structure,
    /// Names can stand in generated code, and no two are the same.
    Name,
    /// Units exist and agree.
    Unit,
    /// Domains hold values, and values stay inside them.
    Domain,
    /// Formulas parse and mean something.
    Formula,
    /// Every case of a classifier can be chosen, and one always is.
    Classifier,
    /// Profiles are complete and meet the rules of their table.
    Profile,
    /// The contracts that this one depends on are there and fit.
    Dependency,
    /// Obligations hold.
    Obligation,
    /// Everything that is declared is used.
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

    /// The word for it.
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

    /// What it asks for, in one sentence.
    pub fn doc(self) -> &'static str {
        match self {
            Rule::File => {
                "A contract is a file that can be read: one YAML document without anchors, aliases, tags and repeated keys."
            }
            Rule::Structure => "Every key is known, none is missing, and every value has its shape.",
            Rule::Name => "Names can stand in generated code, and no two are the same.",
            Rule::Unit => "Units exist, and both sides of a sum, comparison or equation have the same.",
            Rule::Domain => "Domains hold values, defaults lie inside them, and no divisor can be zero.",
            Rule::Formula => "Formulas parse, name what exists, and no equation uses itself.",
            Rule::Classifier => "Every case of a classifier can be chosen, and one always is.",
            Rule::Profile => "Profiles are complete and meet the rules of their table.",
            Rule::Dependency => {
                "The contracts that this one depends on are there, valid and of a version it allows."
            }
            Rule::Obligation => "Obligations are proven, or tested where the contract asks for no more.",
            Rule::Unused => "Everything that is declared is used.",
        }
    }
}

/// One mistake and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// How bad it is.
    pub severity: Severity,
    /// What it breaks.
    pub rule: Rule,
    /// The place.
    pub span: Span,
    /// What is wrong, in one lower-case sentence.
    pub message: String,
    /// What is under the caret; empty for none.
    pub label: String,
    /// Other places that matter.
    pub others: Vec<(Span, String)>,
    /// What is allowed, what to do.
    pub notes: Vec<String>,
}

impl Mistake {
    /// A mistake that makes the contract unusable; one of structure unless [`rule`](Mistake::rule) says otherwise.
    pub fn error(span: Span, message: impl Into<String>) -> Self {
        let (label, others, notes) = Default::default();
        let (severity, rule) = (Severity::Error, Rule::Structure);
        Mistake { severity, rule, span, message: message.into(), label, others, notes }
    }

    /// Says what it breaks.
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rule = rule;
        self
    }

    /// Something that is probably not meant.
    pub fn warning(span: Span, message: impl Into<String>) -> Self {
        Mistake { severity: Severity::Warning, ..Self::error(span, message) }
    }

    /// Adds the text under the caret.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Adds what is allowed, or what to do.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Adds these, if there are any.
    pub fn notes(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }

    /// Adds another place.
    pub fn and(mut self, span: Span, label: impl Into<String>) -> Self {
        self.others.push((span, label.into()));
        self
    }

    /// The mistake as people read it: `file:line:column: error: ...`, the line, a caret, the notes.
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

/// The most mistakes that one report holds. People fix the first ones first, and a file made by a machine can
/// have any number.
const MAX_MISTAKES: usize = 100;

/// Collects mistakes. Dropping it unread is a bug, so it has to be [finished](Report::finish).
#[derive(Debug, Default)]
pub struct Report {
    mistakes: Vec<Mistake>,
    left_out: usize,
    finished: bool,
}

impl Report {
    /// An empty report.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a mistake and goes on.
    pub fn add(&mut self, mistake: Mistake) {
        if self.is_full() {
            self.left_out += 1;
        } else {
            self.mistakes.push(mistake);
        }
    }

    /// Adds a mistake that the same typo may make at many places: after the first, only the place.
    pub fn add_once(&mut self, mistake: Mistake) {
        /// More places than this help nobody.
        const PLACES: usize = 4;
        match self.mistakes.iter_mut().find(|known| known.message == mistake.message) {
            Some(first) if first.others.len() < PLACES => {
                first.others.push((mistake.span, "and here".into()))
            }
            Some(_) => {}
            None => self.add(mistake),
        }
    }

    /// Whether further mistakes are only counted, so that nobody needs to search for a suggestion.
    pub fn is_full(&self) -> bool {
        self.mistakes.len() >= MAX_MISTAKES
    }

    /// Whether any mistake makes the contract unusable.
    pub fn has_errors(&self) -> bool {
        self.left_out > 0 || self.mistakes.iter().any(|mistake| mistake.severity == Severity::Error)
    }

    /// All mistakes in the order of the file.
    pub fn finish(mut self) -> Vec<Mistake> {
        self.finished = true;
        let mut mistakes = std::mem::take(&mut self.mistakes);
        mistakes.sort_by_key(|mistake| (mistake.span, mistake.severity));
        mistakes.dedup();
        if let (Some(last), 1..) = (mistakes.last_mut(), self.left_out) {
            last.notes.push(format!("{} more mistakes are not shown; fix these first", self.left_out));
        }
        mistakes
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        if !self.finished && !std::thread::panicking() {
            debug_assert!(self.mistakes.is_empty(), "a report was dropped unread: {:?}", self.mistakes);
        }
    }
}
