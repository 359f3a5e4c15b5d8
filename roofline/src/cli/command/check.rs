//! `roofline contract check`: diagnostics of contracts.

use roofline_contracts::report::{Rule, Severity};
use roofline_contracts::{Compiled, Compiler};
use schemars::JsonSchema;
use serde::Serialize;

use crate::chart::terminal::Canvas;
use crate::cli::output::annotation::{self, Annotation, Region};
use crate::cli::output::{self, Choice};
use crate::cli::{Exit, Failure, args, contract};
use crate::report::{Report, Schema, Table, wrap};

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
    /// `true` if there are no errors.
    valid: bool,
    /// Contents of a valid contract.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<Summary>,
    /// Errors and warnings.
    diagnostics: Vec<Diagnostic>,
    #[serde(skip)]
    exit: Exit,
}

/// The number of elements in a valid contract.
#[derive(Debug, Serialize, JsonSchema)]
struct Summary {
    /// Name of the contract.
    id: String,
    /// Version of the contract.
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
struct Diagnostic {
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
pub fn run(args: &args::Check) -> Result<Exit, Failure> {
    let mut compiler = Compiler::default();
    let files: Vec<File> = args
        .contracts
        .iter()
        .map(|name| match contract::compiled(name, &mut compiler) {
            Ok(compiled) => file(name, &compiled),
            Err(Failure(message)) => {
                let diagnostic = Diagnostic {
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
                let (file, diagnostics) = (name.clone(), vec![diagnostic]);
                File { file, valid: false, summary: None, diagnostics, exit: Exit::BadInput }
            }
        })
        .collect();
    let exit = files.iter().map(|file| file.exit).max().unwrap_or(Exit::Fine);
    let checked = Checked { schema: Schema::new(), files };
    match args.format {
        Choice::Shared(format) => output::print(&checked, format)?,
        Choice::Own(args::CheckFormat::Github) => {
            let commands: String = checked.annotations().iter().map(annotation::github).collect();
            output::write(commands.as_bytes())?;
        }
        Choice::Own(args::CheckFormat::Sarif) => {
            let log =
                annotation::sarif(&Rule::ALL.map(|rule| (rule.word(), rule.doc())), &checked.annotations());
            output::write((serde_json::to_string_pretty(&log)? + "\n").as_bytes())?;
        }
    }
    Ok(exit)
}

fn file(name: &str, compiled: &Compiled) -> File {
    let diagnostics = compiled.diagnostics.iter().map(|diagnostic| {
        let (line, column) = compiled.source.position(diagnostic.span.start);
        let (end_line, end_column) = compiled.source.position(diagnostic.span.end.max(diagnostic.span.start));
        let severity = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        Diagnostic {
            severity,
            rule: diagnostic.rule.word(),
            line,
            column,
            end_line,
            end_column,
            message: diagnostic.message.clone(),
            notes: diagnostic.notes.clone(),
            rendered: diagnostic.render(&compiled.source),
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
    File {
        file: name.to_owned(),
        valid: summary.is_some(),
        summary,
        diagnostics: diagnostics.collect(),
        exit,
    }
}

impl Checked {
    fn annotations(&self) -> Vec<Annotation<'_>> {
        let pairs = self
            .files
            .iter()
            .flat_map(|file| file.diagnostics.iter().map(move |diagnostic| (file, diagnostic)));
        pairs
            .map(|(file, diagnostic)| {
                let Diagnostic { line, column, end_line, end_column, .. } = *diagnostic;
                let region = Region { line, column, end_line, end_column };
                let notes: String = diagnostic.notes.iter().map(|note| format!("\n{note}")).collect();
                Annotation {
                    level: diagnostic.severity,
                    rule: diagnostic.rule,
                    file: &file.file,
                    region: (line > 0).then_some(region),
                    message: diagnostic.message.clone() + &notes,
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
            for diagnostic in &file.diagnostics {
                out += &format!("{}\n\n", diagnostic.rendered);
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
                    out += &canvas.limit.map_or(line.clone(), |limit| wrap(&line, limit));
                    out.push('\n');
                }
                None => {
                    let errors =
                        file.diagnostics.iter().filter(|diagnostic| diagnostic.severity == "error").count();
                    let plural = if errors == 1 { "" } else { "s" };
                    out += &format!("{}: invalid, {errors} error{plural}\n", file.file);
                }
            }
        }
        out
    }

    fn tables(&self) -> Vec<Table> {
        let rows = self.files.iter().flat_map(|file| {
            file.diagnostics.iter().map(|diagnostic| {
                let (line, column) = (diagnostic.line.to_string(), diagnostic.column.to_string());
                vec![
                    file.file.clone(),
                    line,
                    column,
                    diagnostic.severity.to_owned(),
                    diagnostic.message.clone(),
                ]
            })
        });
        let headings = ["file", "line", "column", "severity", "message"].map(str::to_owned).to_vec();
        vec![Table { title: "Diagnostics".into(), headings, rows: rows.collect() }]
    }
}
