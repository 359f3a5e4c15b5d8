//! Reading of a YAML tree according to the tables of [`schema`](crate::schema): unknown, missing and malformed keys
//! are reported at their places.

use crate::report::{Diagnostic, Report, Rule};
use crate::schema::{Key, Shape};
use crate::source::{Span, Text, shorten};
use crate::suggest;
use crate::unit::Unit;
use crate::yaml::Node;

/// The keys of one mapping.
pub struct Fields<'a> {
    pairs: &'a [(Text, Node)],
    /// Reported misspellings and the keys they are read as, so that a typo causes only one error.
    misspelled: Vec<(&'a str, String)>,
}

/// The entries of a mapping; reports an error for anything else.
pub fn pairs<'a>(node: &'a Node, what: &str, report: &mut Report) -> Option<&'a [(Text, Node)]> {
    match node {
        Node::Map(pairs, _) => Some(pairs),
        // An empty section has no entries.
        Node::Text(text) if text.plain && text.value.is_empty() => Some(&[]),
        _ => {
            let message = format!("{what} must be a mapping, not {}", node.what());
            report.add(Diagnostic::error(node.span(), message).note("write `key: value` pairs below it"));
            None
        }
    }
}

/// The items of a list; reports an error for anything else.
pub fn list<'a>(node: &'a Node, what: &str, report: &mut Report) -> Option<&'a [Node]> {
    match node {
        Node::List(items, _) => Some(items),
        Node::Text(text) if text.plain && text.value.is_empty() => Some(&[]),
        _ => {
            let message = format!("{what} must be a list, not {}", node.what());
            report.add(Diagnostic::error(node.span(), message).note("write `- item` entries below it"));
            None
        }
    }
}

impl<'a> Fields<'a> {
    /// Reads a mapping with the given `keys`; `owner` is the place of its own key. `extra` keys are allowed
    /// too and left to the caller.
    pub fn read(
        node: &'a Node,
        owner: Span,
        what: &str,
        keys: &[Key],
        extra: &[&str],
        report: &mut Report,
    ) -> Option<Self> {
        let pairs = pairs(node, what, report)?;
        let known = || keys.iter().map(|key| key.name).chain(extra.iter().copied());
        let mut misspelled: Vec<(&str, String)> = Vec::new();
        for (name, _) in pairs {
            if !known().any(|key| key == name.value) {
                let mut diagnostic =
                    Diagnostic::error(name.span, format!("unknown key `{}` in {what}", shorten(&name.value)));
                if let Some(near) = suggest::closest(&name.value, known()) {
                    diagnostic = diagnostic.label(format!("did you mean `{near}`?"));
                    misspelled.push((&name.value, near.to_owned()));
                }
                report.add(
                    diagnostic.note(format!("expected one of: {}", known().collect::<Vec<_>>().join(", "))),
                );
            }
        }
        let fields = Fields { pairs, misspelled };
        for key in keys.iter().filter(|key| key.required && fields.entry(key.name).is_none()) {
            report.add(
                Diagnostic::error(owner, format!("missing `{}` in {what}", key.name))
                    .note(format!("`{}`: {}", key.name, key.doc)),
            );
        }
        Some(fields)
    }

    /// The key and value, if present.
    pub fn entry(&self, name: &str) -> Option<(&'a Text, &'a Node)> {
        let find = |name: &str| self.pairs.iter().find(|(key, _)| key.value == name);
        let meant = || self.misspelled.iter().find(|(_, meant)| meant == name).and_then(|(key, _)| find(key));
        find(name).or_else(meant).map(|(key, node)| (key, node))
    }

    /// The value, if present.
    pub fn node(&self, name: &str) -> Option<&'a Node> {
        self.entry(name).map(|(_, node)| node)
    }

    /// A non-empty text.
    pub fn text(&self, name: &str, report: &mut Report) -> Option<&'a Text> {
        text(self.node(name)?, &format!("`{name}`"), report)
    }

    /// The value of a text; empty if it is missing.
    pub fn string(&self, name: &str, report: &mut Report) -> String {
        self.text(name, report).map(|text| text.value.trim().to_owned()).unwrap_or_default()
    }

    /// A list of texts.
    pub fn texts(&self, name: &str, report: &mut Report) -> Vec<&'a Text> {
        let Some(node) = self.node(name) else { return Vec::new() };
        let what = format!("`{name}`");
        let items = list(node, &what, report).unwrap_or_default();
        items.iter().filter_map(|item| text(item, &what, report)).collect()
    }

    /// The values of a list of texts.
    pub fn strings(&self, name: &str, report: &mut Report) -> Vec<String> {
        self.texts(name, report).into_iter().map(|text| text.value.clone()).collect()
    }

    /// One of the words in the shape of the key.
    pub fn word(&self, keys: &[Key], name: &str, report: &mut Report) -> Option<&'static str> {
        let text = self.text(name, report)?;
        let key = keys.iter().find(|key| key.name == name)?;
        let Shape::Word(words) = key.shape else { return None };
        let found = words.iter().find(|word| **word == text.value);
        if found.is_none() {
            report.add(
                Diagnostic::error(
                    text.span,
                    format!("invalid value `{}` for `{name}`", shorten(&text.value)),
                )
                .note(format!("expected one of: {}", words.join(", "))),
            );
        }
        found.copied()
    }

    /// `true` or `false`.
    pub fn flag(&self, name: &str, report: &mut Report) -> bool {
        let Some(text) = self.text(name, report) else { return false };
        if !(text.plain && matches!(text.value.as_str(), "true" | "false")) {
            let message =
                format!("invalid value `{}` for `{name}`; expected `true` or `false`", shorten(&text.value));
            report.add(Diagnostic::error(text.span, message));
        }
        text.value == "true"
    }

    /// A number in this unit.
    pub fn number(&self, name: &str, unit: Unit, report: &mut Report) -> Option<(f64, Span)> {
        let text = self.text(name, report)?;
        Some((number(text, unit, report)?, text.span))
    }
}

/// A non-empty text; reports an error for anything else.
pub fn text<'a>(node: &'a Node, what: &str, report: &mut Report) -> Option<&'a Text> {
    match node {
        Node::Text(text) if !text.value.trim().is_empty() => Some(text),
        Node::Text(text) => {
            report.add(Diagnostic::error(text.span, format!("missing value for {what}")));
            None
        }
        Node::List(..) | Node::Map(..) => {
            let mut diagnostic =
                Diagnostic::error(node.span(), format!("{what} must be a string, not {}", node.what()));
            if let Some(domain) = unquoted_domain(node) {
                diagnostic = diagnostic.note(format!("write `\"{domain}\"`"));
            }
            report.add(diagnostic);
            None
        }
    }
}

/// An unquoted interval or set of numbers, which YAML parses as a list or a mapping.
fn unquoted_domain(node: &Node) -> Option<String> {
    let number = |text: &Text| text.value.parse::<f64>().is_ok().then(|| text.value.clone());
    let item = |item: &Node| if let Node::Text(text) = item { number(text) } else { None };
    let key = |(key, value): &(Text, Node)| number(key).filter(|_| value.what() == "nothing");
    match node {
        Node::Text(_) => None,
        Node::List(items, _) => {
            Some(format!("[{}]", items.iter().map(item).collect::<Option<Vec<_>>>()?.join(", ")))
        }
        Node::Map(pairs, _) => {
            Some(format!("{{{}}}", pairs.iter().map(key).collect::<Option<Vec<_>>>()?.join(", ")))
        }
    }
}

/// A number with an optional unit, `2039` or `2039 GB/s`; the unit must be exactly `wanted`.
pub fn number(text: &Text, wanted: Unit, report: &mut Report) -> Option<f64> {
    let value = text.value.as_str();
    let digits = value.trim_start_matches(['-', '+']);
    let length = match digits.find(char::is_whitespace) {
        Some(space) => value.len() - digits.len() + space,
        None => value.len(),
    };
    let (number, rest) = value.split_at(length);
    let parsed = match number.parse::<f64>() {
        Ok(parsed) if parsed.is_finite() && !number.contains(['n', 'N', 'i', 'I']) => parsed,
        Ok(_) | Err(_)
            if number.trim_start_matches(['-', '+', '.']).to_ascii_lowercase().starts_with("inf") =>
        {
            report.add(
                Diagnostic::error(text.span, "infinity is not allowed").note("expected a finite number"),
            );
            return None;
        }
        Err(_) if matches!(number.to_ascii_lowercase().as_str(), ".nan" | "nan") => {
            report.add(Diagnostic::error(text.span, "NaN is not allowed").note("expected a finite number"));
            return None;
        }
        Ok(_) => {
            let message = format!("`{}` is too large for an f64", shorten(number));
            report
                .add(Diagnostic::error(text.span, message).note("the largest finite value is about 1.8e308"));
            return None;
        }
        Err(_) => {
            let message = format!("invalid number `{}`", shorten(value));
            report.add(
                Diagnostic::error(text.span, message)
                    .note("expected a number with an optional unit, such as `2039` or `2039 GB/s`"),
            );
            return None;
        }
    };
    let unit_text = rest.trim();
    if unit_text.is_empty() {
        return Some(parsed);
    }
    let start = length + (rest.len() - rest.trim_start().len());
    match Unit::parse(unit_text) {
        Err(wrong) => {
            let span = text.at(start + wrong.range.start..start + wrong.range.end);
            report.add(Diagnostic::error(span, wrong.message).rule(Rule::Unit).note(wrong.note));
            None
        }
        Ok(unit) if unit == wanted => Some(parsed),
        Ok(unit) => {
            let span = text.at(start..start + unit_text.len());
            let mut diagnostic = unit.mismatch(wanted, span, "the value");
            if let Some(ratio) = unit.over(wanted).filter(|ratio| ratio.is_dimensionless()) {
                let right = parsed / ratio.conversion();
                diagnostic.message = format!("the value is in {unit}, not in {wanted}");
                diagnostic = diagnostic.note(format!("write `{} {wanted}`", crate::formula::number(right)));
            }
            report.add(diagnostic);
            None
        }
    }
}
