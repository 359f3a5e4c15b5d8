//! Charts beside a result: files, opened before the work starts, so that a path that can't be written costs no measurement, and put
//! in place only when whole; and the terminal.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::output::{self, Format};
use super::{Failure, cli, terminal};
use crate::chart::html::{self, WhatIf};
use crate::chart::terminal::{Canvas, draw};
use crate::chart::{Chart, svg};

/// Where a command was asked to draw.
pub struct Pictures {
    svg: Option<Unfinished>,
    html: Option<Unfinished>,
    terminal: Option<Canvas>,
}

/// What a page shows, where it shows more than the picture.
pub struct Page {
    /// The chart with every operation.
    pub chart: Chart,
    /// What can be moved.
    pub what_if: Option<WhatIf>,
}

impl Pictures {
    /// Opens every file asked for, beside its final place.
    pub fn open(args: &cli::Pictures) -> Result<Pictures, Failure> {
        let open = |path: &Option<PathBuf>| path.as_deref().map(Unfinished::open).transpose();
        let terminal = args.chart.then(|| terminal::canvas(args.ascii));
        Ok(Pictures { svg: open(&args.svg)?, html: open(&args.html)?, terminal })
    }

    /// Draws the chart wherever it was asked for. In the terminal it stands before a result as text, unless that has its own.
    pub fn draw(self, chart: &Chart, format: Format, own: bool) -> Result<(), Failure> {
        self.draw_with(chart, format, own, || Ok(Page { chart: chart.clone(), what_if: None }))
    }

    /// The same with a page that shows more than the picture; it is made only when it is wanted.
    pub fn draw_with(
        self,
        chart: &Chart,
        format: Format,
        own: bool,
        page: impl FnOnce() -> Result<Page, Failure>,
    ) -> Result<(), Failure> {
        if let Some(file) = self.svg {
            file.finish(&svg::draw(chart, svg::Size::default()))?;
        }
        if let Some(file) = self.html {
            let Page { chart, what_if } = page()?;
            file.finish(&html::draw(&chart, what_if.as_ref()))?;
        }
        match (self.terminal, format) {
            (Some(canvas), Format::Text) if !own => {
                output::write(format!("{}\n", draw(chart, &canvas)).as_bytes())?;
            }
            (Some(canvas), Format::Json | Format::Csv | Format::Md) => eprint!("{}", draw(chart, &canvas)),
            _ => {}
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
