//! Charts written to files: opened before the work starts, so that a path that can't be written costs no measurement, and put in
//! place only when whole.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::{Failure, cli};
use crate::chart::html::{self, WhatIf};
use crate::chart::{Chart, svg};

/// The files a command was asked to draw to.
pub struct Pictures {
    svg: Option<Unfinished>,
    html: Option<Unfinished>,
}

impl Pictures {
    /// Opens every file asked for, beside its final place.
    pub fn open(args: &cli::Pictures) -> Result<Pictures, Failure> {
        let open = |path: &Option<PathBuf>| path.as_deref().map(Unfinished::open).transpose();
        Ok(Pictures { svg: open(&args.svg)?, html: open(&args.html)? })
    }

    /// Draws the chart to every file; the page gets sliders when there is something to move.
    pub fn draw(self, chart: &Chart, what_if: Option<&WhatIf>) -> Result<(), Failure> {
        if let Some(file) = self.svg {
            file.finish(&svg::draw(chart, svg::Size::default()))?;
        }
        if let Some(file) = self.html {
            file.finish(&html::draw(chart, what_if))?;
        }
        Ok(())
    }
}

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
