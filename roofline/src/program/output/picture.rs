//! Charts beside a result: files, opened before the work starts, so that a path that can't be written costs no measurement, and put
//! in place only when whole; and the terminal.

use std::path::PathBuf;

use clap::Args;

use crate::chart::bars::{self, Bars};
use crate::chart::curve::{self, Curves, Moving};
use crate::chart::html::{self, Page};
use crate::chart::terminal::{Canvas, draw};
use crate::chart::{Chart, svg};
use crate::program::Failure;
use crate::program::output::file::Unfinished;
use crate::program::output::terminal;
use crate::program::output::{self, Format};
use crate::report::Report;

/// How and where a command draws its chart.
#[derive(Debug, Args)]
pub struct Wanted {
    /// Draw the chart in the terminal too; on standard error unless the format is text.
    #[arg(long)]
    pub chart: bool,
    /// Write the chart as an SVG picture; - is standard output, in place of the result.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write the chart as one HTML page that needs nothing else; - is standard output, in place of the result.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Draw in the terminal with ASCII only.
    #[arg(long)]
    pub ascii: bool,
}

/// Where a command was asked to draw.
pub struct Pictures {
    svg: Option<Unfinished>,
    html: Option<Unfinished>,
    /// Whether a picture has standard output for itself.
    alone: bool,
    /// Whether the terminal shows the chart too.
    chart: bool,
    canvas: Canvas,
}

/// The page of a result: its chart, its tables and what one should know.
pub fn page(report: &impl Report) -> Page {
    let chart = report.chart().unwrap_or_default();
    let more = report.sweep().map_or(String::new(), |sweep| sweep.svg());
    Page { chart, tables: report.tables(), notes: report.notes(), more, ..Page::default() }
}

impl Pictures {
    /// Opens every file asked for, beside its final place.
    pub fn open(args: &Wanted) -> Result<Pictures, Failure> {
        let open = |path: &Option<PathBuf>| path.as_deref().map(Unfinished::open).transpose();
        let canvas = terminal::canvas(args.ascii);
        if let (Some(svg), Some(html)) = (&args.svg, &args.html)
            && svg == html
        {
            let name = svg.display();
            return Err(Failure(format!("--svg {name} and --html {name}: each needs a place of its own")));
        }
        let (svg, html) = (open(&args.svg)?, open(&args.html)?);
        let taken = |file: &Option<Unfinished>| file.as_ref().is_some_and(Unfinished::is_standard_output);
        Ok(Pictures { alone: taken(&svg) || taken(&html), svg, html, chart: args.chart, canvas })
    }

    /// Draws the result wherever that was asked for, and prints it. In the terminal its chart stands before a result as text,
    /// unless that has its own.
    pub fn show(self, report: &impl Report, format: Format, own: bool) -> Result<(), Failure> {
        let chart = report.chart().unwrap_or_default();
        self.show_with(report, &chart, format, own, || Ok(page(report)))
    }

    /// Bars in place of a roofline; the page is made only when it is wanted.
    pub fn show_bars(
        self,
        report: &impl Report,
        chart: &Bars,
        format: Format,
        page: impl FnOnce() -> Result<Page, Failure>,
    ) -> Result<(), Failure> {
        self.show_other(report, || bars::svg(chart), || Ok(html::draw(&page()?)), format)
    }

    /// A picture and a page that are no roofline; each is drawn only when it is wanted.
    fn show_other(
        self,
        report: &impl Report,
        svg: impl FnOnce() -> String,
        html: impl FnOnce() -> Result<String, Failure>,
        format: Format,
    ) -> Result<(), Failure> {
        if let Some(file) = self.svg {
            file.finish(&svg())?;
        }
        if let Some(file) = self.html {
            file.finish(&html()?)?;
        }
        if self.alone {
            return Ok(());
        }
        output::print_on(report, format, &self.canvas)
    }

    /// Curves of throughput against latency; the page computes them again where it can.
    pub fn show_curves(
        self,
        report: &impl Report,
        chart: &Curves,
        moving: Option<&Moving>,
        format: Format,
    ) -> Result<(), Failure> {
        if self.chart && !self.alone {
            let text = curve::text(chart, &self.canvas);
            match format {
                Format::Text => output::write(format!("{text}\n").as_bytes())?,
                Format::Json | Format::Csv | Format::Md => eprint!("{text}"),
            }
        }
        self.show_other(report, || curve::svg(chart), || Ok(curve::page(chart, moving)), format)
    }

    /// The same with a page that shows more than the picture; it is made only when it is wanted.
    pub fn show_with(
        self,
        report: &impl Report,
        chart: &Chart,
        format: Format,
        own: bool,
        page: impl FnOnce() -> Result<Page, Failure>,
    ) -> Result<(), Failure> {
        if let Some(file) = self.svg {
            let size = svg::Size::default();
            let picture = svg::draw(chart, size);
            file.finish(&report.sweep().map_or(picture.clone(), |sweep| sweep.below(&picture, size.height)))?;
        }
        if let Some(file) = self.html {
            file.finish(&html::draw(&page()?))?;
        }
        if self.alone {
            return Ok(());
        }
        if self.chart {
            match format {
                Format::Text if own => {}
                Format::Text => output::write(format!("{}\n", draw(chart, &self.canvas)).as_bytes())?,
                Format::Json | Format::Csv | Format::Md => eprint!("{}", draw(chart, &self.canvas)),
            }
        }
        output::print_on(report, format, &self.canvas)
    }
}
