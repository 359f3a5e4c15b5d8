//! How results leave the program: one serde struct per command, four formats that read only it.

pub mod annotation;
pub mod file;
pub mod picture;
pub mod terminal;

use std::io::Write;

use clap::ValueEnum;
use clap::builder::{MapValueParser, PossibleValuesParser, TypedValueParser, ValueParserFactory};
use comfy_table::{ContentArrangement, Table as Grid, presets};
use serde::Serialize;

use crate::program::Failure;

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

/// A rectangular part of a result, as text cells.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// What the table shows; empty for none.
    pub title: String,
    /// Column headings.
    pub headings: Vec<String>,
    /// Rows, each as long as `headings`.
    pub rows: Vec<Vec<String>>,
}

/// A command's result: serialized as it is for JSON, through its tables for CSV and Markdown.
pub trait Report: Serialize {
    /// The full text for a terminal.
    fn text(&self) -> String;
    /// The tables behind it; the first is the main one, which CSV prints.
    fn tables(&self) -> Vec<Table>;
    /// The Markdown; the tables unless a command has something better to say there.
    fn markdown(&self) -> String {
        self.tables().iter().map(Table::markdown).collect::<Vec<_>>().join("\n")
    }
}

/// The report in the format asked for, ending in a newline.
pub fn render(report: &impl Report, format: Format) -> Result<String, Failure> {
    Ok(match format {
        Format::Text => report.text(),
        Format::Json => serde_json::to_string_pretty(report)? + "\n",
        Format::Csv => report.tables().first().map(Table::csv).unwrap_or_default(),
        Format::Md => report.markdown(),
    })
}

/// Prints the report on standard output.
pub fn print(report: &impl Report, format: Format) -> Result<(), Failure> {
    write(render(report, format)?.as_bytes())
}

/// Writes to standard output. A reader that has seen enough, such as `head`, is no mistake.
pub fn write(bytes: &[u8]) -> Result<(), Failure> {
    match std::io::stdout().lock().write_all(bytes) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// The text in lines of no more than so many columns, broken between words; a longer word stands alone.
pub fn wrap(text: &str, columns: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if used > 0 && used + 1 + width > columns {
            out.push('\n');
            used = 0;
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out += word;
        used += width;
    }
    out + "\n"
}

impl Table {
    /// The table with aligned columns for a terminal.
    pub fn text(&self) -> String {
        let mut grid = Grid::new();
        grid.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        grid.set_header(&self.headings);
        for row in &self.rows {
            grid.add_row(row);
        }
        let body: String = grid.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        if self.title.is_empty() { body } else { format!("{}\n{body}", self.title) }
    }

    /// RFC 4180, with a heading line.
    pub fn csv(&self) -> String {
        let quote = |cell: &String| {
            if cell.contains([',', '"', '\n', '\r']) {
                format!("\"{}\"", cell.replace('"', "\"\""))
            } else {
                cell.clone()
            }
        };
        let line = |cells: &Vec<String>| cells.iter().map(quote).collect::<Vec<_>>().join(",") + "\r\n";
        std::iter::once(&self.headings).chain(&self.rows).map(line).collect()
    }

    /// A GitHub-flavoured Markdown table under its title.
    pub fn markdown(&self) -> String {
        let escape = |cell: &String| cell.replace('|', "\\|").replace('\n', " ");
        let line = |cells: &Vec<String>| {
            format!("| {} |\n", cells.iter().map(escape).collect::<Vec<_>>().join(" | "))
        };
        let mut out = if self.title.is_empty() { String::new() } else { format!("### {}\n\n", self.title) };
        out += &line(&self.headings);
        out += &format!("|{}\n", "---|".repeat(self.headings.len()));
        out.extend(self.rows.iter().map(line));
        out
    }
}
