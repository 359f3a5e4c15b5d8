//! Errors of the readers, with the file, the location in it and the problem.

use std::fmt;
use std::path::{Path, PathBuf};

/// Error of opening a model.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("{}: {source}", .file.display())]
    Io {
        /// Path of the file.
        file: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The content violates the file format.
    #[error("{}: {fault}", .file.display())]
    Malformed {
        /// Path of the file.
        file: PathBuf,
        /// Location and description of the violation.
        fault: FormatError,
    },
}

impl Error {
    pub(super) fn io(file: &Path) -> impl FnOnce(std::io::Error) -> Error {
        let file = file.to_owned();
        move |source| Error::Io { file, source }
    }

    pub(super) fn malformed(file: &Path) -> impl FnOnce(FormatError) -> Error {
        let file = file.to_owned();
        move |fault| Error::Malformed { file, fault }
    }
}

/// Violation of a file format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatError {
    /// Location in the file.
    pub location: Location,
    /// Description of the problem and of the accepted content.
    pub message: String,
}

/// Location in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// The file as a whole.
    File,
    /// Byte offset from the start of the file.
    Byte(u64),
    /// Metadata key, or field of a JSON document.
    Field(String),
}

impl FormatError {
    pub(super) fn file(message: impl Into<String>) -> FormatError {
        FormatError { location: Location::File, message: message.into() }
    }

    pub(super) fn byte(offset: usize, message: impl Into<String>) -> FormatError {
        FormatError { location: Location::Byte(offset as u64), message: message.into() }
    }

    pub(super) fn field(name: impl Into<String>, message: impl Into<String>) -> FormatError {
        FormatError { location: Location::Field(name.into()), message: message.into() }
    }

    pub(super) fn context(self, context: impl fmt::Display) -> FormatError {
        FormatError { message: format!("{context}: {}", self.message), ..self }
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.location {
            Location::File => write!(f, "{}", self.message),
            Location::Byte(offset) => write!(f, "at byte {offset}: {}", self.message),
            Location::Field(name) => write!(f, "`{name}`: {}", self.message),
        }
    }
}

impl std::error::Error for FormatError {}

/// Escapes and truncates a name from a file for a message.
pub(super) fn quoted(name: &str) -> String {
    const MAX_CHARS: usize = 80;
    match name.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{:?}...", &name[..end]),
        None => format!("{name:?}"),
    }
}

/// `1 tensor`, `2 tensors`.
pub(super) fn format_count(count: usize) -> String {
    if count == 1 { "1 tensor".to_owned() } else { format!("{count} tensors") }
}
