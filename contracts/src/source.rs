//! A contract's text, and places in it.
//!
//! [`Source::read`] is the only function of the compiler that accesses the file system.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Maximum size of a contract file, enough for ten thousand equations.
pub const MAX_BYTES: u64 = 4 << 20;

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

/// The text of a contract and its display name.
#[derive(Clone, Debug)]
pub struct Source {
    /// The path or name that messages show.
    pub name: String,
    /// The text, without a byte order mark.
    pub text: String,
    /// SHA-256 of the unmodified bytes, in lower-case hexadecimal.
    pub sha256: String,
}

impl Source {
    /// Reads a file; messages refer to it as `name`.
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

    /// Creates a source from the bytes of a file.
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

    /// Line and column (in characters) of a byte, both counted from 1.
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

    /// The whole text as one scalar, for formulas outside of a contract.
    pub fn whole(&self) -> Text {
        let span = Span { start: 0, end: self.text.len() };
        Text { value: self.text.clone(), span, plain: false, block: false, origin: Origin::Verbatim(0) }
    }
}

/// The greatest character boundary that is not beyond `byte`.
pub(crate) fn floor_boundary(text: &str, byte: usize) -> usize {
    let mut at = byte.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// An error reading a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// The requested path or name.
    pub name: String,
    /// The cause.
    pub kind: ReadErrorKind,
}

/// The cause of a read error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadErrorKind {
    /// The file does not exist.
    Missing,
    /// The name matches no contract on the search path.
    Nowhere {
        /// The searched directory, if any.
        directory: Option<PathBuf>,
        /// A built-in contract with a similar name.
        near: Option<String>,
    },
    /// The path is a directory.
    Directory,
    /// The operating system reported an error.
    Unreadable(String),
    /// The file has more than [`MAX_BYTES`].
    TooLarge,
    /// The file is not UTF-8.
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
                write!(f, "{name}: contract not found; searched ")?;
                if let Some(directory) = directory.as_ref().map(|directory| directory.display()) {
                    write!(f, "{directory}, {directory}/contracts and ")?;
                }
                write!(f, "the built-in contracts")?;
                match near {
                    Some(near) => write!(f, "; did you mean `{near}`?"),
                    None => Ok(()),
                }
            }
            ReadErrorKind::Directory => {
                write!(f, "{name}: is a directory; expected a contract file such as {name}/model-v1.yaml")
            }
            ReadErrorKind::Unreadable(why) => write!(f, "{name}: cannot read the file: {why}"),
            ReadErrorKind::TooLarge => {
                write!(f, "{name}: file too large; a contract may have at most {} MiB", MAX_BYTES >> 20)
            }
            ReadErrorKind::NotUtf8 { line, byte } => {
                write!(f, "{name}:{line}: invalid UTF-8 at byte {byte}; save the file as UTF-8")
            }
        }
    }
}

impl std::error::Error for ReadError {}

/// A scalar: its value, and for each byte of the value its place in the source.
#[derive(Clone, Debug)]
pub struct Text {
    /// The value after YAML's processing of quotes, escapes and folds.
    pub value: String,
    /// The place of the scalar, including quotes.
    pub span: Span,
    /// Written without quotes, so that it may be a number.
    pub plain: bool,
    /// Written as a block, after `|` or `>`.
    pub block: bool,
    pub(crate) origin: Origin,
}

/// The mapping from the bytes of a scalar's value to the source.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// The value equals the source from this byte.
    Verbatim(usize),
    /// The source offset of each byte, if escapes, folds or indentation were removed.
    Mapped(Vec<u32>),
}

impl Text {
    /// The place of a range of the value's bytes in the source.
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

/// The character of a text that begins at a byte; nothing at its end.
pub(crate) fn character_at(text: &str, start: usize) -> Range<usize> {
    start..start + text[start..].chars().next().map_or(0, char::len_utf8)
}

/// The last character of a text: the place of the caret if something is missing at its end.
pub(crate) fn last_character(text: &str) -> Range<usize> {
    text.char_indices().next_back().map_or(0, |(at, _)| at)..text.len()
}

/// A name for messages, truncated if it is long.
pub fn shorten(name: &str) -> String {
    const MAX_SHOWN: usize = 60;
    match name.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}
