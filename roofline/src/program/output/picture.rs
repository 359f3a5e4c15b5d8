//! Charts beside a result: files, opened before the work starts, so that a path that can't be written costs no measurement, and put
//! in place only when whole; and the terminal.

use std::path::PathBuf;

use crate::chart::html::{self, WhatIf};
use crate::chart::terminal::{Canvas, draw};
use crate::chart::{Chart, svg};
use crate::program::output::file::Unfinished;
use crate::program::output::terminal;
use crate::program::output::{self, Format};
use crate::program::{Failure, cli};

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
