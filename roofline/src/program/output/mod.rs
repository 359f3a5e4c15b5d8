//! How results leave the program: the formats that every command offers, files, pictures and the terminal.

pub mod annotation;
pub mod file;
pub mod picture;
pub mod rust;
pub mod terminal;

use std::cell::RefCell;
use std::io::Write;

use clap::ValueEnum;
use clap::builder::{MapValueParser, PossibleValuesParser, TypedValueParser, ValueParserFactory};

use crate::chart::terminal::Canvas;
use crate::program::Failure;
use crate::report::{Report, Table, broken};
use roofline_render::text::columns;

/// The formats every command offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people at a terminal.
    #[default]
    Text,
    /// One JSON document with a `schema` field.
    Json,
    /// Comma-separated values of the main table.
    Csv,
    /// GitHub-flavoured Markdown.
    Md,
}

/// A format that every command offers, or one of a command's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice<Own> {
    /// One that every command offers.
    Shared(Format),
    /// One of the command's own.
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

/// The same, with a canvas for the chart in its text.
pub fn print_on(report: &impl Report, format: Format, canvas: &Canvas) -> Result<(), Failure> {
    let text = match format {
        Format::Text => text_of(report, canvas),
        Format::Json => serde_json::to_string_pretty(report)? + "\n",
        Format::Csv => report.tables().first().map(Table::csv).unwrap_or_default(),
        Format::Md => report.markdown(),
    };
    write(text.as_bytes())
}

/// What a command prints and says, where somebody collects it.
#[derive(Default)]
pub struct Collected {
    /// What goes to standard output.
    pub printed: Vec<u8>,
    /// The lines that go to standard error.
    pub said: Vec<String>,
}

thread_local! {
    /// What this thread prints and says, while somebody collects it.
    static COLLECTED: RefCell<Option<Collected>> = const { RefCell::new(None) };
}

/// Does something, and collects what this thread prints and says meanwhile.
pub fn collect<T>(work: impl FnOnce() -> T) -> (T, Collected) {
    COLLECTED.set(Some(Collected::default()));
    let done = work();
    (done, COLLECTED.take().unwrap_or_default())
}

/// Writes to standard output, or to whoever collects. A reader that has seen enough, such as `head`, is no mistake.
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

/// Says a line on standard error, or to whoever collects.
pub fn say(line: &str) {
    let collected =
        COLLECTED.with_borrow_mut(|collected| collected.as_mut().map(|all| all.said.push(line.to_owned())));
    if collected.is_none() {
        eprintln!("{line}");
    }
}

/// The text with its sentences broken between words where the terminal is narrower. What has columns of its own, which stand
/// apart by spaces, stays as it is, and so does source.
fn text_of<R: Report>(report: &R, canvas: &Canvas) -> String {
    let text = report.text(canvas);
    let Some(limit) = canvas.limit.filter(|_| !R::SOURCE) else { return text };
    let sentence = |line: &str| columns(line) > limit && !line.starts_with(' ') && !line.contains("  ");
    let fold = |line: &str| if sentence(line) { broken(line, limit) } else { line.to_owned() };
    text.split('\n').map(fold).collect::<Vec<_>>().join("\n")
}
