//! From bytes to a tree of YAML values that know where they stand.
//!
//! The only stage that touches the disk is [`Source::read`]. Aliases, tags, directives and second
//! documents are refused: a contract says what it means once, in place.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use granit_parser::{Event, Parser, ScalarStyle};

use crate::report::{Mistake, Report, Rule};

/// The largest contract that is read. Large enough for ten thousand equations.
pub const MAX_BYTES: u64 = 4 << 20;
/// The most values a contract may hold; bounds the memory of the tree.
const MAX_NODES: usize = 400_000;
/// How deep values may stand inside each other. The language itself needs five levels.
const MAX_NESTING: usize = 32;

/// A range of bytes in a source text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The bytes from `range.start` to `range.end`.
    pub fn new(range: Range<usize>) -> Self {
        Span { start: range.start, end: range.end }
    }
}

/// A contract's text and the name under which people know it.
#[derive(Clone, Debug)]
pub struct Source {
    /// The path or name as messages show it.
    pub name: String,
    /// The text, without a byte order mark.
    pub text: String,
    /// SHA-256 of the bytes as they were read, in lower-case hexadecimal.
    pub sha256: String,
}

impl Source {
    /// Reads a file; `name` is what messages call it.
    pub fn read(path: &Path, name: &str) -> Result<Self, ReadError> {
        let wrap = |kind| ReadError { name: name.to_owned(), kind };
        let of_io = |error: std::io::Error| {
            wrap(match error.kind() {
                ErrorKind::NotFound => ReadErrorKind::Missing,
                ErrorKind::IsADirectory => ReadErrorKind::Directory,
                _ => ReadErrorKind::Unreadable(error.to_string()),
            })
        };
        let file = File::open(path).map_err(of_io)?;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(of_io)?;
        Self::from_bytes(name, bytes)
    }

    /// Takes bytes that were read elsewhere.
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Self, ReadError> {
        let wrap = |kind| ReadError { name: name.to_owned(), kind };
        if bytes.len() as u64 > MAX_BYTES {
            return Err(wrap(ReadErrorKind::TooLarge));
        }
        let sha256 = hmac_sha256::Hash::hash(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let text = String::from_utf8(bytes).map_err(|error| {
            let upto = error.utf8_error().valid_up_to();
            let line = 1 + error.as_bytes()[..upto].iter().filter(|&&byte| byte == b'\n').count();
            wrap(ReadErrorKind::NotUtf8 { line, byte: upto })
        })?;
        let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
        Ok(Source { name: name.to_owned(), text, sha256 })
    }

    /// Line and column (in characters) of a byte, both from 1.
    pub fn position(&self, byte: usize) -> (usize, usize) {
        let before = &self.text[..floor_boundary(&self.text, byte)];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = 1 + before.bytes().filter(|&byte| byte == b'\n').count();
        (line, 1 + before[line_start..].chars().count())
    }

    /// `name:line:column` of a span's start.
    pub fn place(&self, span: Span) -> String {
        let (line, column) = self.position(span.start);
        format!("{}:{line}:{column}", self.name)
    }

    /// The whole text as one scalar, for formulas that stand outside a contract.
    pub fn whole(&self) -> Text {
        let span = Span { start: 0, end: self.text.len() };
        Text { value: self.text.clone(), span, plain: false, block: false, origin: Origin::Verbatim(0) }
    }

    /// Parses the text into a tree. Mistakes go to the report; `None` when nothing is usable.
    pub fn tree(&self, report: &mut Report) -> Option<Node> {
        Builder { source: self, nodes: 0 }.document(report)
    }
}

/// The greatest character boundary that is not beyond `byte`.
fn floor_boundary(text: &str, byte: usize) -> usize {
    let mut at = byte.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Why a contract could not be read at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// The path or name as it was asked for.
    pub name: String,
    /// What went wrong.
    pub kind: ReadErrorKind,
}

/// The ways in which reading fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadErrorKind {
    /// There is no such file.
    Missing,
    /// No file of this name where contracts are looked for.
    Nowhere {
        /// The directory of the crate that asked, if it was one.
        directory: Option<PathBuf>,
        /// A built-in contract with a similar name.
        near: Option<String>,
    },
    /// It is a directory.
    Directory,
    /// The system refuses.
    Unreadable(String),
    /// More than [`MAX_BYTES`].
    TooLarge,
    /// Bytes that are not UTF-8.
    NotUtf8 {
        /// The line of the first bad byte.
        line: usize,
        /// The offset of the first bad byte.
        byte: usize,
    },
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = &self.name;
        match &self.kind {
            ReadErrorKind::Missing => write!(f, "{name}: no such file"),
            ReadErrorKind::Nowhere { directory, near } => {
                write!(f, "{name}: no such contract; looked ")?;
                if let Some(directory) = directory.as_ref().map(|directory| directory.display()) {
                    write!(f, "in {directory}, in {directory}/contracts and ")?;
                }
                write!(f, "among the built-in ones")?;
                match near {
                    Some(near) => write!(f, "; did you mean `{near}`?"),
                    None => Ok(()),
                }
            }
            ReadErrorKind::Directory => {
                write!(f, "{name}: is a directory; name a contract file in it, such as {name}/model-v1.yaml")
            }
            ReadErrorKind::Unreadable(why) => write!(f, "{name}: cannot be read: {why}"),
            ReadErrorKind::TooLarge => {
                write!(f, "{name}: larger than {} MiB, the most a contract may have", MAX_BYTES >> 20)
            }
            ReadErrorKind::NotUtf8 { line, byte } => {
                write!(f, "{name}:{line}: not UTF-8 (byte {byte} of the file); save the file as UTF-8")
            }
        }
    }
}

impl std::error::Error for ReadError {}

/// A scalar: its value, and for each byte of the value the place it came from.
#[derive(Clone, Debug)]
pub struct Text {
    /// The value after YAML's own processing.
    pub value: String,
    /// Where the scalar stands, quotes included.
    pub span: Span,
    /// Written without quotes, so that it may be a number.
    pub plain: bool,
    /// Written as a block, after `|` or `>`.
    pub block: bool,
    origin: Origin,
}

#[derive(Clone, Debug)]
enum Origin {
    /// The value stands in the source letter for letter from this byte on.
    Verbatim(usize),
    /// Escapes, folding or indentation were undone: the source offset of each byte.
    Mapped(Vec<u32>),
}

impl Text {
    /// Where a range of the value's bytes stands in the source.
    pub fn at(&self, range: Range<usize>) -> Span {
        let place = |byte: usize| match &self.origin {
            Origin::Verbatim(start) => start + byte,
            Origin::Mapped(offsets) => offsets.get(byte).map_or(self.span.end, |&at| at as usize),
        };
        let last = self.value.get(range.clone()).and_then(|part| part.chars().next_back());
        let end = match (&self.origin, last) {
            (Origin::Mapped(_), Some(last)) => place(range.end - last.len_utf8()) + last.len_utf8(),
            _ => place(range.end),
        };
        let start = place(range.start);
        Span { start, end: end.max(start) }
    }
}

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
    /// Where the value stands.
    pub fn span(&self) -> Span {
        match self {
            Node::Text(text) => text.span,
            Node::List(_, span) | Node::Map(_, span) => *span,
        }
    }

    /// What it is, for messages.
    pub fn what(&self) -> &'static str {
        match self {
            Node::Text(text) if text.plain && text.value.is_empty() => "nothing",
            Node::Text(_) => "a text",
            Node::List(..) => "a list",
            Node::Map(..) => "a mapping",
        }
    }
}

struct Builder<'a> {
    source: &'a Source,
    nodes: usize,
}

/// A collection whose end has not come yet.
enum Open {
    List(Vec<Node>, Span),
    Map(Vec<(Text, Node)>, Option<Text>, Span),
}

impl Builder<'_> {
    fn document(&mut self, report: &mut Report) -> Option<Node> {
        match self.events(report) {
            Ok(root) => root,
            Err(mistake) => {
                report.add(mistake.rule(Rule::File));
                None
            }
        }
    }

    fn events(&mut self, report: &mut Report) -> Result<Option<Node>, Box<Mistake>> {
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
                let allowed = if what.contains("nest") || what.contains("limit") {
                    format!("; a contract nests at most {MAX_NESTING} levels")
                } else {
                    String::new()
                };
                Box::new(Mistake::error(Span { start: at, end }, format!("not valid YAML: {what}{allowed}")))
            })?;
            let span = Span::new(span.byte_range().unwrap_or(0..0));
            let node = match event {
                Event::DocumentStart(..) => {
                    documents += 1;
                    if documents > 1 {
                        return Err(Box::new(Mistake::error(span, "a second document starts here").note(
                            "a contract is one YAML document in one file; remove `---` or split the file",
                        )));
                    }
                    continue;
                }
                Event::Alias(_) | Event::UnresolvedAlias(_) => {
                    return Err(Box::new(
                        Mistake::error(span, "aliases are not part of the contract language")
                            .note("write the value in place"),
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
                        Mistake::error(span, format!("{what} are not part of the contract language"))
                            .note("write the plain value"),
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
                return Err(Box::new(Mistake::error(
                    span,
                    format!("more than {MAX_NODES} values, the most a contract may have"),
                )));
            }
            match open.last_mut() {
                None => root = Some(node),
                Some(Open::List(items, _)) => items.push(node),
                Some(Open::Map(pairs, key, _)) => match (key.take(), node) {
                    (None, Node::Text(text)) => *key = Some(text),
                    (None, node) => {
                        return Err(Box::new(Mistake::error(
                            node.span(),
                            format!("a key must be a name, not {}", node.what()),
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
                Mistake::error(Span { start: 0, end: end.min(1) }, "the contract is empty")
                    .note("the smallest contract has `metadata` with a version, one of `quantities`, and `equations`"),
            ));
        }
        Ok(root)
    }

    fn join(&self, start: Span, end: Span) -> Span {
        // A block collection ends where the next token starts; leave out the white space before it.
        let text = &self.source.text;
        let end = end.end.max(end.start).min(text.len());
        let trimmed = text[..end].trim_end().len();
        Span { start: start.start, end: trimmed.max(start.end) }
    }

    /// Aligns a cooked scalar with the source it came from.
    fn text(&self, value: &str, style: ScalarStyle, span: Span) -> Text {
        let raw = &self.source.text[span.start..span.end];
        let plain = style == ScalarStyle::Plain;
        // The parser says `~` for a value that is not there.
        let value = if plain && raw.is_empty() { "" } else { value };
        // The header of a block scalar is not part of its span.
        let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        let body = usize::from(matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted));
        let origin = if raw.get(body..).is_some_and(|rest| rest.starts_with(value)) {
            Origin::Verbatim(span.start + body)
        } else {
            Origin::Mapped(align(value, raw, body, style, span.start))
        };
        Text { value: value.to_owned(), span: self.trim(span, block), plain, block, origin }
    }

    /// A block scalar's span reaches to the next token; people mean its text.
    fn trim(&self, span: Span, block: bool) -> Span {
        if !block {
            return span;
        }
        let length = self.source.text[span.start..span.end].trim_end().len();
        Span { start: span.start, end: span.start + length }
    }
}

/// The source offset of each byte of `value`, and of its end.
///
/// Cooked and raw text differ by escapes, doubled quotes and by white space at line breaks; letters
/// never change places, so one walk over both is enough.
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
            // A folded line break: the white space is skipped before the next letter.
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
    let letter = rest.chars().nth(1).map_or(0, char::len_utf8);
    1 + letter + digits
}

/// Reports every key that stands twice in one mapping.
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
                            Mistake::error(
                                key.span,
                                format!("the key `{}` stands twice", shorten(&key.value)),
                            )
                            .and(first, "first here")
                            .rule(Rule::File),
                        );
                    }
                    pending.push(value);
                }
            }
        }
    }
}

/// The letter of a text that begins at a byte; nothing at its end.
pub(crate) fn letter_at(text: &str, start: usize) -> Range<usize> {
    start..start + text[start..].chars().next().map_or(0, char::len_utf8)
}

/// The last letter of a text: where the caret stands when something is missing at its end.
pub(crate) fn last_letter(text: &str) -> Range<usize> {
    text.char_indices().next_back().map_or(0, |(at, _)| at)..text.len()
}

/// A name as messages show it: whole if it is short, else its beginning.
pub fn shorten(name: &str) -> String {
    const MOST: usize = 60;
    match name.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}
