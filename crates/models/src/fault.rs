//! Why a model could not be read: which file, which place in it, what was found and what is allowed.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why a model could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("{}: {source}", .file.display())]
    Io {
        /// The file it refused to give.
        file: PathBuf,
        /// What it said.
        source: std::io::Error,
    },
    /// The content is not what the format allows.
    #[error("{}: {fault}", .file.display())]
    Malformed {
        /// The file with the mistake.
        file: PathBuf,
        /// The place and the mistake.
        fault: Fault,
    },
}

impl Error {
    pub(super) fn io(file: &Path) -> impl FnOnce(std::io::Error) -> Error {
        let file = file.to_owned();
        move |source| Error::Io { file, source }
    }

    pub(super) fn malformed(file: &Path) -> impl FnOnce(Fault) -> Error {
        let file = file.to_owned();
        move |fault| Error::Malformed { file, fault }
    }
}

/// One mistake in a file's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where it is.
    pub place: Place,
    /// What is wrong there and what is allowed.
    pub what: String,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    File,
    /// A byte, counted from 0.
    Byte(u64),
    /// A metadata key or a field of a JSON document.
    Field(String),
}

impl Fault {
    pub(super) fn file(what: impl Into<String>) -> Fault {
        Fault { place: Place::File, what: what.into() }
    }

    pub(super) fn byte(offset: usize, what: impl Into<String>) -> Fault {
        Fault { place: Place::Byte(offset as u64), what: what.into() }
    }

    pub(super) fn field(name: impl Into<String>, what: impl Into<String>) -> Fault {
        Fault { place: Place::Field(name.into()), what: what.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::File => write!(f, "{}", self.what),
            Place::Byte(offset) => write!(f, "at byte {offset}: {}", self.what),
            Place::Field(name) => write!(f, "`{name}`: {}", self.what),
        }
    }
}

impl std::error::Error for Fault {}

/// A name from a file, made safe and short enough for a message.
pub(super) fn quoted(name: &str) -> String {
    const LONGEST: usize = 80;
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}...", &name[..end]),
        None => format!("{name:?}"),
    }
}
