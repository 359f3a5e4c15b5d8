//! Output of results: common formats, files, charts and the terminal.

pub mod annotation;
pub mod charts;
pub mod file;
pub mod rust;
pub mod terminal;

use std::cell::RefCell;
use std::io::Write;

use clap::ValueEnum;
use clap::builder::{MapValueParser, PossibleValuesParser, TypedValueParser, ValueParserFactory};

use crate::chart::terminal::Canvas;
use crate::cli::Failure;
use crate::report::{Report, Table, wrap};
use roofline_render::display_width::columns;

/// Output formats of every command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Text for the terminal
    #[default]
    Text,
    /// One JSON document with a `schema` field
    Json,
    /// Comma-separated values of the main table
    Csv,
    /// GitHub-flavored Markdown
    Md,
}

/// A common output format, or one of a single command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice<Own> {
    /// A common format.
    Shared(Format),
    /// A format of the command.
    Own(Own),
}

impl<Own> Default for Choice<Own> {
    fn default() -> Self {
        Choice::Shared(Format::default())
    }
}

impl<Own: ValueEnum + Clone + Send + Sync + 'static> ValueParserFactory for Choice<Own> {
    type Parser = MapValueParser<PossibleValuesParser, fn(String) -> Choice<Own>>;

    fn value_parser() -> Self::Parser {
        let names = Format::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let own = Own::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        PossibleValuesParser::new(names.chain(own)).map(|name| {
            let own = Own::from_str(&name, false).map(Choice::Own).ok();
            Format::from_str(&name, false).ok().map(Choice::Shared).or(own).unwrap_or_default()
        })
    }
}

/// Prints the result on standard output.
pub fn print(report: &impl Report, format: Format) -> Result<(), Failure> {
    print_on(report, format, &terminal::canvas(false))
}

/// Prints the result on standard output, with charts in text drawn on this canvas.
pub fn print_on(report: &impl Report, format: Format, canvas: &Canvas) -> Result<(), Failure> {
    let text = match format {
        Format::Text => wrapped_text(report, canvas),
        Format::Json => serde_json::to_string_pretty(report)? + "\n",
        Format::Csv => report.tables().first().map(Table::csv).unwrap_or_default(),
        Format::Md => report.markdown(),
    };
    write(text.as_bytes())
}

/// Collected output of a command.
#[derive(Default)]
pub struct Collected {
    /// Standard output.
    pub printed: Vec<u8>,
    /// Lines of standard error.
    pub said: Vec<String>,
}

thread_local! {
    /// Output of this thread during [`collect`].
    static COLLECTED: RefCell<Option<Collected>> = const { RefCell::new(None) };
}

/// Collects the output of this thread while `work` runs.
pub fn collect<T>(work: impl FnOnce() -> T) -> (T, Collected) {
    COLLECTED.set(Some(Collected::default()));
    let result = work();
    (result, COLLECTED.take().unwrap_or_default())
}

/// Writes to standard output, unless the output is collected. A closed pipe is not an error.
pub fn write(bytes: &[u8]) -> Result<(), Failure> {
    let collected =
        COLLECTED.with_borrow_mut(|collected| collected.as_mut().map(|all| all.printed.extend(bytes)));
    if collected.is_some() {
        return Ok(());
    }
    match std::io::stdout().lock().write_all(bytes) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Prints a line on standard error, unless the output is collected.
pub fn log(line: &str) {
    let collected =
        COLLECTED.with_borrow_mut(|collected| collected.as_mut().map(|all| all.said.push(line.to_owned())));
    if collected.is_none() {
        eprintln!("{line}");
    }
}

/// Returns the text of a report with sentences wrapped to the width of the terminal. Tables and source code are not wrapped.
fn wrapped_text<R: Report>(report: &R, canvas: &Canvas) -> String {
    let text = report.text(canvas);
    let Some(limit) = canvas.limit.filter(|_| !R::SOURCE) else { return text };
    let sentence = |line: &str| columns(line) > limit && !line.starts_with(' ') && !line.contains("  ");
    let fold = |line: &str| if sentence(line) { wrap(line, limit) } else { line.to_owned() };
    text.split('\n').map(fold).collect::<Vec<_>>().join("\n")
}
