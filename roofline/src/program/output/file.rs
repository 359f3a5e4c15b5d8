//! Files that appear whole or not at all.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::program::Failure;

/// A file that gets its name when it is complete, and vanishes when it never is.
pub struct Unfinished {
    path: PathBuf,
    part: PathBuf,
    file: File,
}

impl Unfinished {
    /// Makes sure that the file can be written.
    pub fn open(path: &Path) -> Result<Unfinished, Failure> {
        let refuse = |reason: &dyn std::fmt::Display| {
            Failure(format!("{}: can't be written: {reason}", path.display()))
        };
        if path.is_dir() {
            return Err(refuse(&"it is a directory"));
        }
        let Some(name) = path.file_name() else { return Err(refuse(&"it has no file name")) };
        let mut part = std::ffi::OsString::from(".");
        part.push(name);
        part.push(format!(".{}.part", std::process::id()));
        let part = path.with_file_name(part);
        let file = File::create(&part).map_err(|error| refuse(&error))?;
        Ok(Unfinished { path: path.to_owned(), part, file })
    }

    /// Writes the text and gives the file its name.
    pub fn finish(mut self, text: &str) -> Result<(), Failure> {
        let done =
            self.file.write_all(text.as_bytes()).and_then(|()| std::fs::rename(&self.part, &self.path));
        done.map_err(|error| Failure(format!("{}: can't be written: {error}", self.path.display())))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // After a rename there is nothing left to remove.
        let _ = std::fs::remove_file(&self.part);
    }
}
