//! `roofline check`: diagnostics for contracts, all of them in one run.

use roofline_contracts::report::{Rule, Severity};
use roofline_contracts::{Compiled, Compiler};
use schemars::JsonSchema;
use serde::Serialize;

use crate::chart::terminal::Canvas;
use crate::program::output::annotation::{self, Annotation, Region};
use crate::program::output::{self, Choice};
use crate::program::{Exit, Failure, cli, contract};
use crate::report::{Report, Schema, Table, broken};

/// Diagnostics of several contracts.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Checked {
    /// Schema of this document.
    schema: Schema<Self>,
    /// The contracts, in the order of the arguments.
    files: Vec<File>,
}

/// A checked contract.
#[derive(Debug, Serialize, JsonSchema)]
struct File {
    /// Path, or name of a built-in contract.
    file: String,
    /// `true` without errors.
    valid: bool,
    /// Contents of a valid contract.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<Summary>,
    /// Errors and warnings.
    mistakes: Vec<Mistake>,
    #[serde(skip)]
    exit: Exit,
}

/// The number of elements in a valid contract.
#[derive(Debug, Serialize, JsonSchema)]
struct Summary {
    /// Its name.
    id: String,
    /// Its version.
    version: String,
    /// Number of quantities.
    quantities: usize,
    /// Number of equations.
    equations: usize,
    /// Number of classifiers.
    classifiers: usize,
    /// Number of rows in all profile tables.
    profiles: usize,
    /// Number of recommendations.
    recommendations: usize,
    /// Number of obligations.
    obligations: usize,
}

/// A diagnostic with its position.
#[derive(Debug, Serialize, JsonSchema)]
struct Mistake {
    /// `error` or `warning`.
    severity: &'static str,
    /// Identifier of the violated rule.
    rule: &'static str,
    /// First line, from 1; 0 for the file as a whole.
    line: usize,
    /// First column, from 1, in characters.
    column: usize,
    /// Last line.
    end_line: usize,
    /// One past the last column.
    end_column: usize,
    /// Message.
    message: String,
    /// Notes and remedies.
    notes: Vec<String>,
    #[serde(skip)]
    rendered: String,
}

/// Checks the contracts. Exits with 1 if an obligation is refuted or unknown, and with 2 if a file is not a valid contract; an
/// unreadable file is reported like a contract with one error.
pub fn run(args: &cli::Check) -> Result<Exit, Failure> {
    let mut compiler = Compiler::default();
    let files: Vec<File> = args
        .contracts
        .iter()
        .map(|name| match contract::compiled(name, &mut compiler) {
            Ok(compiled) => file(name, &compiled),
            Err(Failure(message)) => {
                let mistake = Mistake {
                    severity: "error",
                    rule: Rule::File.word(),
                    line: 0,
                    column: 0,
                    end_line: 0,
                    end_column: 0,
                    rendered: message.clone(),
                    message,
                    notes: vec![],
                };
                let (file, mistakes) = (name.clone(), vec![mistake]);
                File { file, valid: false, summary: None, mistakes, exit: Exit::BadInput }
            }
        })
        .collect();
    let exit = files.iter().map(|file| file.exit).max().unwrap_or(Exit::Fine);
    let checked = Checked { schema: Schema::new(), files };
    match args.format {
        Choice::Shared(format) => output::print(&checked, format)?,
        Choice::Own(cli::CheckFormat::Github) => {
            let commands: String = checked.annotations().iter().map(annotation::github).collect();
            output::write(commands.as_bytes())?;
        }
        Choice::Own(cli::CheckFormat::Sarif) => {
            let log =
                annotation::sarif(&Rule::ALL.map(|rule| (rule.word(), rule.doc())), &checked.annotations());
            output::write((serde_json::to_string_pretty(&log)? + "\n").as_bytes())?;
        }
    }
    Ok(exit)
}

fn file(name: &str, compiled: &Compiled) -> File {
    let mistakes = compiled.diagnostics.iter().map(|mistake| {
        let (line, column) = compiled.source.position(mistake.span.start);
        let (end_line, end_column) = compiled.source.position(mistake.span.end.max(mistake.span.start));
        let severity = match mistake.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        Mistake {
            severity,
            rule: mistake.rule.word(),
            line,
            column,
            end_line,
            end_column,
            message: mistake.message.clone(),
            notes: mistake.notes.clone(),
            rendered: mistake.render(&compiled.source),
        }
    });
    let summary = compiled.contract.as_ref().map(|contract| Summary {
        id: contract.metadata.id.clone(),
        version: contract.metadata.version.to_string(),
        quantities: contract.quantities.len(),
        equations: contract.equations.len(),
        classifiers: contract.classifiers.len(),
        profiles: contract.profiles.iter().map(|table| table.entries.len()).sum(),
        recommendations: contract.recommendations.len(),
        obligations: contract.obligations.len(),
    });
    let exit = match compiled.contract {
        Some(_) => Exit::Fine,
        None if compiled.has_failed_obligations() => Exit::Failed,
        None => Exit::BadInput,
    };
    File { file: name.to_owned(), valid: summary.is_some(), summary, mistakes: mistakes.collect(), exit }
}

impl Checked {
    fn annotations(&self) -> Vec<Annotation<'_>> {
        let pairs =
            self.files.iter().flat_map(|file| file.mistakes.iter().map(move |mistake| (file, mistake)));
        pairs
            .map(|(file, mistake)| {
                let Mistake { line, column, end_line, end_column, .. } = *mistake;
                let region = Region { line, column, end_line, end_column };
                let notes: String = mistake.notes.iter().map(|note| format!("\n{note}")).collect();
                Annotation {
                    level: mistake.severity,
                    rule: mistake.rule,
                    file: &file.file,
                    region: (line > 0).then_some(region),
                    message: mistake.message.clone() + &notes,
                }
            })
            .collect()
    }
}

impl Report for Checked {
    const SCHEMA: &'static str = "roofline.check/1";
    const SOURCE: bool = true;

    fn text(&self, canvas: &Canvas) -> String {
        let mut out = String::new();
        for file in &self.files {
            for mistake in &file.mistakes {
                out += &format!("{}\n\n", mistake.rendered);
            }
            match &file.summary {
                Some(s) => {
                    let line = format!(
                        "{}: valid, {} {}: {} quantities, {} equations, {} classifiers, {} profiles, {} recommendations, {} obligations",
                        file.file,
                        s.id,
                        s.version,
                        s.quantities,
                        s.equations,
                        s.classifiers,
                        s.profiles,
                        s.recommendations,
                        s.obligations
                    );
                    out += &canvas.limit.map_or(line.clone(), |limit| broken(&line, limit));
                    out.push('\n');
                }
                None => {
                    let errors = file.mistakes.iter().filter(|mistake| mistake.severity == "error").count();
                    let plural = if errors == 1 { "" } else { "s" };
                    out += &format!("{}: invalid, {errors} error{plural}\n", file.file);
                }
            }
        }
        out
    }

    fn tables(&self) -> Vec<Table> {
        let rows = self.files.iter().flat_map(|file| {
            file.mistakes.iter().map(|mistake| {
                let (line, column) = (mistake.line.to_string(), mistake.column.to_string());
                vec![file.file.clone(), line, column, mistake.severity.to_owned(), mistake.message.clone()]
            })
        });
        let headings = ["file", "line", "column", "severity", "message"].map(str::to_owned).to_vec();
        vec![Table { title: "Mistakes".into(), headings, rows: rows.collect() }]
    }
}
