//! Parses the text of a contract into a tree of YAML values with their places.
//!
//! Aliases, tags, directives and multiple documents are rejected: a contract states everything once, in place.

use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle};

use crate::report::{Diagnostic, Report, Rule};
use crate::source::{Origin, Source, Span, Text, floor_boundary, shorten};

/// Maximum number of values in a contract; bounds the memory of the tree.
const MAX_NODES: usize = 400_000;
/// Maximum nesting depth of values. The language itself needs five levels.
const MAX_NESTING: usize = 32;

/// A YAML value.
#[derive(Clone, Debug)]
pub enum Node {
    /// A scalar.
    Text(Text),
    /// A sequence.
    List(Vec<Node>, Span),
    /// A mapping with its keys in the order of the file.
    Map(Vec<(Text, Node)>, Span),
}

impl Node {
    /// The place of the value.
    pub fn span(&self) -> Span {
        match self {
            Node::Text(text) => text.span,
            Node::List(_, span) | Node::Map(_, span) => *span,
        }
    }

    /// The description used in diagnostics.
    pub fn what(&self) -> &'static str {
        match self {
            Node::Text(text) if text.plain && text.value.is_empty() => "nothing",
            Node::Text(_) => "a string",
            Node::List(..) => "a list",
            Node::Map(..) => "a mapping",
        }
    }
}

/// Parses the text into a tree. Errors go to the report; `None` when nothing is usable.
pub fn tree(source: &Source, report: &mut Report) -> Option<Node> {
    Builder { source, nodes: 0 }.document(report)
}

struct Builder<'a> {
    source: &'a Source,
    nodes: usize,
}

/// A collection that is still open.
enum Open {
    List(Vec<Node>, Span),
    Map(Vec<(Text, Node)>, Option<Text>, Span),
}

impl Builder<'_> {
    fn document(&mut self, report: &mut Report) -> Option<Node> {
        match self.events(report) {
            Ok(root) => root,
            Err(diagnostic) => {
                report.add(diagnostic.rule(Rule::File));
                None
            }
        }
    }

    fn events(&mut self, report: &mut Report) -> Result<Option<Node>, Box<Diagnostic>> {
        let options = granit_parser::options! {
            emit_unresolved_aliases: true,
            disallow_directives: true,
            emit_comments: false,
            flow_nesting_limit: MAX_NESTING,
            block_nesting_limit: MAX_NESTING,
        };
        let text = self.source.text.as_str();
        let mut open: Vec<Open> = Vec::new();
        let mut root = None;
        let mut documents = 0;
        for next in Parser::new_from_str_with_options(text, options) {
            let (event, span) = next.map_err(|error| {
                let at = error.marker().byte_offset().unwrap_or(0).min(text.len());
                let end = text[floor_boundary(text, at)..].chars().next().map_or(at, |c| at + c.len_utf8());
                let what = error.info();
                if let Some(value) = unquoted(text, floor_boundary(text, at)) {
                    let shown = shorten(&text[value.start..value.end]);
                    let quote = if shown.contains('"') { '\'' } else { '"' };
                    return Box::new(
                        Diagnostic::error(value, "this value must be quoted in YAML")
                            .note(format!("write `{quote}{shown}{quote}`")),
                    );
                }
                let allowed = if what.contains("nest") || what.contains("limit") {
                    format!("; at most {MAX_NESTING} levels of nesting are allowed")
                } else {
                    String::new()
                };
                Box::new(Diagnostic::error(Span { start: at, end }, format!("invalid YAML: {what}{allowed}")))
            })?;
            let span = Span::new(span.byte_range().unwrap_or(0..0));
            let node = match event {
                Event::DocumentStart(..) => {
                    documents += 1;
                    if documents > 1 {
                        return Err(Box::new(
                            Diagnostic::error(span, "expected a single YAML document, found a second one")
                                .note("remove `---` or split the file"),
                        ));
                    }
                    continue;
                }
                Event::Alias(_) | Event::UnresolvedAlias(_) => {
                    return Err(Box::new(
                        Diagnostic::error(span, "YAML aliases are not supported in contracts")
                            .note("repeat the value instead"),
                    ));
                }
                Event::Scalar(_, _, anchor, ref tag)
                | Event::SequenceStart(_, anchor, ref tag)
                | Event::MappingStart(_, anchor, ref tag)
                    if anchor != 0 || tag.is_some() =>
                {
                    let (what, mark) = if anchor != 0 { ("anchors", '&') } else { ("tags", '!') };
                    let before = text[..span.start].trim_end();
                    let start = before.rfind(mark).unwrap_or(span.start);
                    let span = Span { start, end: before.len().max(start) };
                    return Err(Box::new(
                        Diagnostic::error(span, format!("YAML {what} are not supported in contracts"))
                            .note("remove it and keep the value"),
                    ));
                }
                Event::Scalar(value, style, ..) => Node::Text(self.text(&value, style, span)),
                Event::SequenceStart(..) => {
                    open.push(Open::List(Vec::new(), span));
                    continue;
                }
                Event::MappingStart(..) => {
                    open.push(Open::Map(Vec::new(), None, span));
                    continue;
                }
                Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                    Some(Open::List(items, start)) => Node::List(items, self.join(start, span)),
                    Some(Open::Map(pairs, _, start)) => Node::Map(pairs, self.join(start, span)),
                    None => continue,
                },
                _ => continue,
            };
            self.nodes += 1;
            if self.nodes > MAX_NODES {
                return Err(Box::new(Diagnostic::error(
                    span,
                    format!("too many values; a contract may have at most {MAX_NODES}"),
                )));
            }
            match open.last_mut() {
                None => root = Some(node),
                Some(Open::List(items, _)) => items.push(node),
                Some(Open::Map(pairs, key, _)) => match (key.take(), node) {
                    (None, Node::Text(text)) => *key = Some(text),
                    (None, node) => {
                        return Err(Box::new(Diagnostic::error(
                            node.span(),
                            format!("expected a name as the key, found {}", node.what()),
                        )));
                    }
                    (Some(name), node) => pairs.push((name, node)),
                },
            }
        }
        match &root {
            Some(Node::Text(text)) if text.plain && text.value.is_empty() => root = None,
            Some(node) => find_duplicates(node, report),
            None => {}
        }
        if root.is_none() {
            let end = text.len();
            return Err(Box::new(
                Diagnostic::error(Span { start: 0, end: end.min(1) }, "the contract is empty")
                    .note("a minimal contract has `metadata`, `quantities` and `equations`"),
            ));
        }
        Ok(root)
    }

    fn join(&self, start: Span, end: Span) -> Span {
        // A block collection ends at the next token; exclude the white space before it.
        let text = &self.source.text;
        let end = end.end.max(end.start).min(text.len());
        let trimmed = text[..end].trim_end().len();
        Span { start: start.start, end: trimmed.max(start.end) }
    }

    /// Aligns a cooked scalar with the source it came from.
    fn text(&self, value: &str, style: ScalarStyle, span: Span) -> Text {
        let raw = &self.source.text[span.start..span.end];
        let plain = style == ScalarStyle::Plain;
        // The parser returns `~` for a missing value.
        let value = if plain && raw.is_empty() { "" } else { value };
        // The span of a block scalar excludes its header.
        let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        let body = usize::from(matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted));
        let origin = if raw.get(body..).is_some_and(|rest| rest.starts_with(value)) {
            Origin::Verbatim(span.start + body)
        } else {
            Origin::Mapped(align(value, raw, body, style, span.start))
        };
        Text { value: value.to_owned(), span: self.trim(span, block), plain, block, origin }
    }

    /// The span without trailing white space; the parser's span of a block scalar extends to the next token.
    fn trim(&self, span: Span, block: bool) -> Span {
        if !block {
            return span;
        }
        let length = self.source.text[span.start..span.end].trim_end().len();
        Span { start: span.start, end: span.start + length }
    }
}

/// Finds the unquoted value that caused a syntax error here: a value on this line that starts with a YAML indicator or
/// contains `: `, or an interval such as `[0, 1)`, whose bracket the parser considers open.
fn unquoted(text: &str, at: usize) -> Option<Span> {
    /// Maximum number of lines between an interval that is open on the right and the error.
    const LINES: usize = 4;
    let mut end = text[at..].find('\n').map_or(text.len(), |length| at + length);
    for back in 0..LINES {
        let start = text[..end].rfind('\n').map_or(0, |newline| newline + 1);
        let line = &text[start..end];
        if let Some(found) = half_open(line).or_else(|| if back == 0 { indicated(line) } else { None }) {
            return Some(Span { start: start + found.start, end: start + found.end });
        }
        end = start.checked_sub(1)?;
    }
    None
}

/// An unquoted interval that starts with `[` and ends with `)`.
fn half_open(line: &str) -> Option<Range<usize>> {
    let close = line.find(')')?;
    let open = line[..close].rfind('[')?;
    let mut limits = line[open + 1..close].split(',').map(|limit| limit.trim().parse::<f64>());
    let numbers = matches!((limits.next(), limits.next(), limits.next()), (Some(Ok(_)), Some(Ok(_)), None));
    (numbers && !line[..open].ends_with(['"', '\''])).then_some(open..close + 1)
}

/// The value in `key: value`, `- key: value` or `key: {key: value}`, if it needs quotes.
fn indicated(line: &str) -> Option<Range<usize>> {
    let (_, value) = line.split_once(": ")?;
    let value = value.split(" #").next()?.trim();
    // The header of a block scalar also starts with an indicator, followed only by chomping and indentation.
    let block = |value: &str| {
        value.strip_prefix(['>', '|']).is_some_and(|rest| rest.trim_start_matches(['-', '+']).is_empty())
    };
    let taken = |value: &&str| value.starts_with(['>', '|', '%', '@', '`']) && !block(value);
    let found = if value.starts_with('{') {
        let values = value.split(": ").skip(1).filter_map(|part| part.split([',', '}']).next());
        values.map(str::trim).find(taken)?
    } else {
        Some(value)
            .filter(|value| taken(value) || value.contains(": ") && !value.starts_with(['"', '\'', '[']))?
    };
    let start = found.as_ptr() as usize - line.as_ptr() as usize;
    Some(start..start + found.len())
}

/// The source offset of each byte of `value`, and of its end.
///
/// Cooked and raw text differ by escapes, doubled quotes and white space at line breaks; the order of characters is
/// the same, so one pass over both is enough.
fn align(value: &str, raw: &str, body: usize, style: ScalarStyle, base: usize) -> Vec<u32> {
    let mut offsets = Vec::with_capacity(value.len() + 1);
    let mut at = body;
    for wanted in value.chars() {
        if !wanted.is_whitespace() {
            let rest = &raw[at..];
            at += rest.len() - rest.trim_start().len();
        }
        offsets.resize(offsets.len() + wanted.len_utf8(), (base + at) as u32);
        let rest = &raw[at..];
        let step = match rest.chars().next() {
            Some('\\') if style == ScalarStyle::DoubleQuoted => escape_length(rest),
            Some('\'') if style == ScalarStyle::SingleQuoted && rest.starts_with("''") => 2,
            Some(found) if found == wanted => found.len_utf8(),
            // A folded line break: the white space is skipped before the next character.
            _ => 0,
        };
        at = (at + step).min(raw.len());
    }
    offsets.push((base + at) as u32);
    offsets
}

fn escape_length(rest: &str) -> usize {
    let digits = match rest.as_bytes().get(1) {
        Some(b'x') => 2,
        Some(b'u') => 4,
        Some(b'U') => 8,
        _ => 0,
    };
    let character = rest.chars().nth(1).map_or(0, char::len_utf8);
    1 + character + digits
}

/// Reports duplicate keys of a mapping.
fn find_duplicates(root: &Node, report: &mut Report) {
    let mut pending = vec![root];
    while let Some(node) = pending.pop() {
        match node {
            Node::Text(_) => {}
            Node::List(items, _) => pending.extend(items),
            Node::Map(pairs, _) => {
                let mut seen = std::collections::BTreeMap::new();
                for (key, value) in pairs {
                    if let Some(first) = seen.insert(key.value.as_str(), key.span) {
                        report.add(
                            Diagnostic::error(key.span, format!("duplicate key `{}`", shorten(&key.value)))
                                .and(first, "first defined here")
                                .rule(Rule::File),
                        );
                    }
                    pending.push(value);
                }
            }
        }
    }
}
