//! Charts of a result as files and in the terminal. Files are opened before the work starts, so that an unwritable path fails
//! before a measurement.

use std::path::PathBuf;

use clap::Args;

use crate::chart::bars::{self, Bars};
use crate::chart::curve::{self, CurveModel, Curves};
use crate::chart::html::{self, Page};
use crate::chart::terminal::{Canvas, draw};
use crate::chart::{Chart, svg};
use crate::cli::Failure;
use crate::cli::output::file::OutputFile;
use crate::cli::output::terminal;
use crate::cli::output::{self, Format};
use crate::report::Report;

/// Chart options of a command.
#[derive(Debug, Args)]
pub struct ChartArgs {
    /// Also draw the chart in the terminal; on standard error unless the format is text
    #[arg(long)]
    pub chart: bool,
    /// Write the chart as SVG; `-` writes it to standard output instead of the result
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write the chart as a self-contained HTML page; `-` writes it to standard output instead of the result
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Draw in the terminal with ASCII characters only
    #[arg(long)]
    pub ascii: bool,
}

/// Outputs of the chart of a command.
pub struct Charts {
    svg: Option<OutputFile>,
    html: Option<OutputFile>,
    /// `true` if a chart is written to standard output, instead of the result.
    alone: bool,
    /// `true` if the terminal shows the chart.
    chart: bool,
    canvas: Canvas,
}

/// Creates the page of a result with its chart, tables and notes.
pub fn page(report: &impl Report) -> Page {
    let chart = report.chart().unwrap_or_default();
    let more = report.sweep().map_or(String::new(), |sweep| sweep.svg());
    Page { chart, tables: report.tables(), notes: report.notes(), more, ..Page::default() }
}

impl Charts {
    /// Opens the output files.
    pub fn open(args: &ChartArgs) -> Result<Charts, Failure> {
        let open = |path: &Option<PathBuf>| path.as_deref().map(OutputFile::open).transpose();
        let canvas = terminal::canvas(args.ascii);
        if let (Some(svg), Some(html)) = (&args.svg, &args.html)
            && svg == html
        {
            let name = svg.display();
            return Err(Failure(format!("--svg {name} and --html {name}: expected different files")));
        }
        let (svg, html) = (open(&args.svg)?, open(&args.html)?);
        let to_stdout = |file: &Option<OutputFile>| file.as_ref().is_some_and(OutputFile::is_standard_output);
        Ok(Charts { alone: to_stdout(&svg) || to_stdout(&html), svg, html, chart: args.chart, canvas })
    }

    /// Writes the charts and prints the result. In text, the chart precedes the result unless `own` states that the text contains
    /// a chart.
    pub fn show(self, report: &impl Report, format: Format, own: bool) -> Result<(), Failure> {
        let chart = report.chart().unwrap_or_default();
        self.show_with(report, &chart, format, own, || Ok(page(report)))
    }

    /// Like [`Charts::show`], with a bar chart. `page` is called only if a page is written.
    pub fn show_bars(
        self,
        report: &impl Report,
        chart: &Bars,
        format: Format,
        page: impl FnOnce() -> Result<Page, Failure>,
    ) -> Result<(), Failure> {
        self.show_other(report, || bars::svg(chart), || Ok(html::draw(&page()?)), format)
    }

    /// Writes a chart other than a roofline, and prints the result.
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

    /// Like [`Charts::show`], with throughput-latency curves. With `moving`, the page recomputes them.
    pub fn show_curves(
        self,
        report: &impl Report,
        chart: &Curves,
        moving: Option<&CurveModel>,
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

    /// Like [`Charts::show`], with a page of its own, which is created only if it is written.
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
