//! Rules for the names in a contract: they become Rust identifiers, so they must be valid and must not clash.

use std::collections::BTreeMap;

use crate::formula::RESERVED;
use crate::report::{Diagnostic, Report, Rule};
use crate::source::{Span, Text, shorten};

/// Maximum length of a name, in bytes.
const MAX_NAME: usize = 64;

/// Rust's keywords, strict and reserved, of every edition.
const KEYWORDS: [&str; 53] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "Self",
    "static", "struct", "super", "trait", "true", "try", "type", "typeof", "union", "unsafe", "unsized",
    "use", "virtual", "where", "while", "yield",
];

/// Type names that every generated module defines.
const TYPES: [&str; 11] = [
    "Contract",
    "Domain",
    "Inputs",
    "Obligation",
    "OutOfDomain",
    "Outputs",
    "Priority",
    "Quantity",
    "Recommendation",
    "UnknownName",
    "Verdict",
];
/// Function and module names that every generated module defines.
const ITEMS: [&str; 3] = ["recommendations", "proofs", "properties"];

/// All Rust keywords.
pub fn keywords() -> &'static [&'static str] {
    &KEYWORDS
}

/// True for a Rust keyword.
pub fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

/// `snake_case` to `CamelCase`, for the type of a classifier or a table.
pub fn camel(name: &str) -> String {
    let capital = |word: &str| {
        let mut characters = word.chars();
        characters
            .next()
            .map(|first| first.to_ascii_uppercase())
            .into_iter()
            .chain(characters)
            .collect::<String>()
    };
    name.split('_').map(capital).collect()
}

/// Returns the English singular of a table name: `device` for `devices`. A singular name is returned unchanged.
pub fn singular(name: &str) -> String {
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    let without = |end: &str| name.strip_suffix(end).filter(|rest| !rest.is_empty() && !rest.ends_with('_'));
    if ends(&["ss", "us", "is", "series", "species"]) {
        return name.to_owned();
    }
    if let Some(stem) = without("ies").filter(|stem| stem.len() > 1) {
        return format!("{stem}y");
    }
    let hissing = ends(&["sses", "shes", "ches", "xes", "zzes"]);
    without(if hissing { "es" } else { "s" }).unwrap_or(name).to_owned()
}

/// Returns the Rust name of a text in `one_of`: its letters and digits in CamelCase. None if it has no letters or digits.
pub fn variant(text: &str) -> Option<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let name = camel(&words.collect::<Vec<_>>().join("_"));
    match name.chars().next() {
        None => None,
        Some(first) if first.is_ascii_digit() => Some(format!("_{name}")),
        Some(_) if is_keyword(&name) => Some(format!("{name}_")),
        Some(_) => Some(name),
    }
}

/// The naming convention of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `lower_case`: functions, fields, modules.
    Snake,
    /// `CamelCase`: the cases of a classifier.
    Camel,
    /// `lower-case-with-dashes`: obligations and rules.
    Kebab,
    /// Letters, digits and `_`: the cases of an enumeration, whose variants have derived names.
    Case,
}

/// Tests a character of a name.
type Allowed = fn(char) -> bool;

/// Reports an invalid name; `what` describes the named item.
pub fn check(name: &Text, style: Style, what: &str, report: &mut Report) -> bool {
    let value = name.value.as_str();
    let (first, rest, shape): (Allowed, Allowed, _) = match style {
        Style::Snake => (
            |c| c.is_ascii_lowercase(),
            |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_',
            "lowercase letters, digits and `_`, starting with a letter",
        ),
        Style::Camel => (
            |c| c.is_ascii_uppercase(),
            |c| c.is_ascii_alphanumeric(),
            "letters and digits, starting with an uppercase letter",
        ),
        Style::Kebab => (
            |c| c.is_ascii_lowercase(),
            |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_',
            "lowercase letters, digits, `-` and `_`, starting with a letter",
        ),
        Style::Case => (
            |c| c.is_ascii_alphabetic(),
            |c| c.is_ascii_alphanumeric() || c == '_',
            "letters, digits and `_`, starting with a letter",
        ),
    };
    let mut characters = value.chars();
    let diagnostic = if value.chars().count() > MAX_NAME {
        Diagnostic::error(name.span, format!("the name of {what} is longer than {MAX_NAME} characters"))
    } else if !(characters.next().is_some_and(first) && characters.all(rest)) {
        Diagnostic::error(name.span, format!("invalid name `{}` for {what}", shorten(value)))
            .note(format!("use {shape}"))
    } else if matches!(style, Style::Snake | Style::Camel) && is_keyword(value) {
        Diagnostic::error(name.span, format!("`{value}` is a Rust keyword and cannot be the name of {what}"))
            .note(format!("use `{value}_` or a longer word"))
    } else if style == Style::Snake && RESERVED.contains(&value) {
        Diagnostic::error(
            name.span,
            format!("`{value}` is reserved in formulas and cannot be the name of {what}"),
        )
    } else {
        return true;
    };
    report.add(diagnostic.rule(Rule::Name));
    false
}

/// Detects name conflicts in each namespace of the generated module.
#[derive(Debug, Default)]
pub struct Names {
    seen: BTreeMap<String, (Span, String)>,
}

impl Names {
    /// Claims the name for functions, fields and modules; false if it is taken.
    pub fn claim(&mut self, name: &Text, what: &str, report: &mut Report) -> bool {
        self.claim_as(&name.value, name.span, what, &ITEMS, report)
    }

    /// Claims the name for a module; `units` is reserved for typed modules.
    pub fn claim_module(&mut self, name: &Text, what: &str, report: &mut Report) -> bool {
        let taken = [&ITEMS[..], &["units"]].concat();
        self.claim_as(&name.value, name.span, what, &taken, report)
    }

    /// Claims the name of the type derived from this name.
    pub fn claim_type(&mut self, name: &Text, what: &str, report: &mut Report) -> bool {
        self.claim_as(&camel(&name.value), name.span, what, &TYPES, report)
    }

    /// Claims a derived name.
    pub fn claim_as(
        &mut self,
        name: &str,
        span: Span,
        what: &str,
        taken: &[&str],
        report: &mut Report,
    ) -> bool {
        if name == "Self" {
            let message = format!("{what} would be named `Self`, which is a Rust keyword");
            report.add(Diagnostic::error(span, message).rule(Rule::Name).note("rename it"));
        } else if taken.contains(&name) {
            let message =
                format!("{what} would be named `{name}`, which every generated module already defines");
            report.add(Diagnostic::error(span, message).rule(Rule::Name).note("rename it"));
        } else if let Some((first, other)) = self.seen.get(name) {
            let message = format!("name conflict: {other} and {what} would both be named `{name}`");
            report.add(Diagnostic::error(span, message).rule(Rule::Name).and(*first, "first used here"));
        } else {
            self.seen.insert(name.to_owned(), (span, what.to_owned()));
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_shared_types_are_reserved() {
        assert!(crate::emit::types::NAMES.iter().all(|name| TYPES.contains(name)));
    }

    #[test]
    fn an_entry_has_the_singular_of_the_table_name() {
        for (plural, one) in [
            ("devices", "device"),
            ("formats", "format"),
            ("models", "model"),
            ("gpu_classes", "gpu_class"),
            ("latencies", "latency"),
            ("boxes", "box"),
            ("batches", "batch"),
            ("sizes", "size"),
            ("phases", "phase"),
            ("hardware", "hardware"),
            ("bus", "bus"),
            ("chassis", "chassis"),
            ("class", "class"),
            ("series", "series"),
            ("s", "s"),
            ("x_s", "x_s"),
        ] {
            assert_eq!(singular(plural), one);
        }
    }

    #[test]
    fn texts_become_names_of_cases() {
        for (text, name) in [
            ("gpu", Some("Gpu")),
            ("qwen3_moe", Some("Qwen3Moe")),
            ("Q4 K-M", Some("Q4KM")),
            ("8-bit", Some("_8Bit")),
            ("self", Some("Self_")),
            ("+", None),
            ("", None),
        ] {
            assert_eq!(variant(text).as_deref(), name, "{text}");
        }
    }
}
