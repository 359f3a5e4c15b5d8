//! `roofline contract import`: import of contracts in the provable-contracts format, with a report on every item.

use std::path::Path;

use roofline_contracts::authoring::import::{Imported, Outcome, import};
use roofline_contracts::source::Source;
use schemars::JsonSchema;
use serde::Serialize;

use crate::chart::terminal::Canvas;
use crate::cli::output;
use crate::cli::output::file::{OutputFile, create_directory};
use crate::cli::{Exit, Failure, args};
use crate::report::{Report, Schema, Table};

/// Imported contracts with the outcome for each item.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ImportReport {
    /// Schema of this document.
    schema: Schema<Self>,
    /// Files in the order of the command line.
    files: Vec<File>,
}

/// An imported contract.
#[derive(Debug, Serialize, JsonSchema)]
struct File {
    /// The published contract.
    file: String,
    /// Name of the new contract.
    id: String,
    /// Path of the written contract.
    #[serde(skip_serializing_if = "Option::is_none")]
    written: Option<String>,
    /// Number of items per outcome.
    counts: Vec<Count>,
    /// Every item of the published contract.
    items: Vec<Item>,
    /// Renamed items.
    renamed: Vec<Renamed>,
    /// Units with their origin.
    units: Vec<Unit>,
    /// Proposed units that contradict a formula.
    dropped_units: Vec<String>,
    /// Contradictions between units in the published contract.
    conflicts: Vec<Conflict>,
    /// Text of the new contract.
    contract: String,
}

/// The number of items with an outcome.
#[derive(Debug, Serialize, JsonSchema)]
struct Count {
    /// formal, proven, tested, folded, informal or metadata.
    outcome: &'static str,
    /// Number of items.
    items: usize,
}

/// An item of a published contract.
#[derive(Debug, Serialize, JsonSchema)]
struct Item {
    /// Path in the file.
    place: String,
    /// Line in the file.
    line: usize,
    /// formal, proven, tested, folded, informal or metadata.
    outcome: &'static str,
    /// Text of the item.
    text: String,
    /// Result, or the reason why it is not formal.
    note: String,
}

/// A renamed item.
#[derive(Debug, Serialize, JsonSchema)]
struct Renamed {
    /// Published name.
    published: String,
    /// New name.
    name: String,
}

/// A unit with its origin.
#[derive(Debug, Serialize, JsonSchema)]
struct Unit {
    /// Quantity or equation.
    name: String,
    /// Unit of the quantity or equation.
    unit: String,
    /// Origin of the unit.
    why: String,
}

/// A contradiction between units in the published contract.
#[derive(Debug, Serialize, JsonSchema)]
struct Conflict {
    /// Path of the formula in the file.
    place: String,
    /// Message.
    what: String,
}

/// Imports the files. All of them are read before the first is written.
pub fn run(args: &args::Import) -> Result<Exit, Failure> {
    let mut files = Vec::new();
    for path in &args.files {
        let name = path.to_string_lossy();
        let source = Source::read(path, &name)?;
        let imported = import(&source).map_err(|diagnostics| {
            let shown: Vec<String> =
                diagnostics.iter().map(|diagnostic| diagnostic.render(&source)).collect();
            Failure(format!("{name}: cannot import\n\n{}", shown.join("\n\n")))
        })?;
        files.push(file(&name, imported));
    }
    if let Some(directory) = &args.output {
        write(directory, &mut files)?;
    }
    let sound = files.iter().all(|file| file.conflicts.is_empty());
    output::print(&ImportReport { schema: Schema::new(), files }, args.format)?;
    Ok(if sound { Exit::Fine } else { Exit::Failed })
}

fn write(directory: &Path, files: &mut [File]) -> Result<(), Failure> {
    create_directory(directory)?;
    let target = |file: &File| directory.join(format!("{}.yaml", file.id));
    for (index, file) in files.iter().enumerate() {
        if let Some(other) = files[..index].iter().find(|other| other.id == file.id) {
            let path = target(file);
            return Err(Failure(format!(
                "{}: duplicate contract; {} and {} have this name",
                path.display(),
                other.file,
                file.file
            )));
        }
        if target(file).exists() {
            let path = target(file);
            return Err(Failure(format!(
                "{}: already exists; move it away or choose another directory",
                path.display()
            )));
        }
    }
    for file in files {
        let path = target(file);
        OutputFile::open(&path)?.finish(&file.contract)?;
        file.written = Some(path.display().to_string());
    }
    Ok(())
}

fn file(name: &str, imported: Imported) -> File {
    let outcomes = [
        Outcome::Formal,
        Outcome::Proven,
        Outcome::Tested,
        Outcome::Folded,
        Outcome::Informal,
        Outcome::Metadata,
    ];
    let count = |outcome: Outcome| Count {
        outcome: outcome.word(),
        items: imported.items.iter().filter(|item| item.outcome == outcome).count(),
    };
    let counts = outcomes.map(count).into_iter().filter(|count| count.items > 0).collect();
    let item = |item: roofline_contracts::authoring::import::Item| Item {
        place: item.place,
        line: item.line,
        outcome: item.outcome.word(),
        text: item.text,
        note: item.note,
    };
    File {
        file: name.to_owned(),
        id: imported.id,
        written: None,
        counts,
        items: imported.items.into_iter().map(item).collect(),
        renamed: (imported.renamed.into_iter())
            .map(|(published, name)| Renamed { published, name })
            .collect(),
        units: (imported.units.into_iter()).map(|(name, unit, why)| Unit { name, unit, why }).collect(),
        dropped_units: imported.dropped_units,
        conflicts: (imported.conflicts.into_iter()).map(|(place, what)| Conflict { place, what }).collect(),
        contract: imported.contract,
    }
}

impl File {
    fn summary(&self) -> String {
        let counts: Vec<String> =
            self.counts.iter().map(|count| format!("{} {}", count.items, count.outcome)).collect();
        format!("{}: {} items: {}", self.file, self.items.len(), counts.join(", "))
    }
}

impl Report for ImportReport {
    const SCHEMA: &'static str = "roofline.import/1";
    const SOURCE: bool = true;

    fn text(&self, _: &Canvas) -> String {
        let mut out = String::new();
        for file in &self.files {
            out += &format!("{}\n\n", file.summary());
            for item in &file.items {
                out += &format!("{}:{}: {}: {}\n", file.file, item.line, item.place, item.outcome);
                for line in item.text.lines() {
                    out += &format!("    {line}\n");
                }
                let arrow = if item.outcome == Outcome::Informal.word() { "reason:" } else { "->" };
                out += &format!("    {arrow} {}\n", item.note);
            }
            if !file.renamed.is_empty() {
                out += "\nnames\n";
                out.extend(
                    file.renamed.iter().map(|one| format!("    {} renamed to {}\n", one.published, one.name)),
                );
            }
            if !file.units.is_empty() {
                out += "\nunits\n";
                out.extend(
                    file.units.iter().map(|one| format!("    {}: {} ({})\n", one.name, one.unit, one.why)),
                );
            }
            if !file.dropped_units.is_empty() {
                out += "\nproposed units that contradict a formula\n";
                out.extend(file.dropped_units.iter().map(|one| format!("    {one}\n")));
            }
            if !file.conflicts.is_empty() {
                out += "\ncontradictory units in the published contract\n";
                out.extend(file.conflicts.iter().map(|one| format!("    {}: {}\n", one.place, one.what)));
            }
            out += "\n";
            match &file.written {
                Some(path) => out += &format!("written: {path}\n"),
                None => out += &format!("not written; pass --output DIR to write {}.yaml\n", file.id),
            }
        }
        out
    }

    fn tables(&self) -> Vec<Table> {
        let headings = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let mut tables = Vec::new();
        for file in &self.files {
            let row = |item: &Item| {
                vec![
                    item.line.to_string(),
                    item.place.clone(),
                    item.outcome.to_owned(),
                    item.text.clone(),
                    item.note.clone(),
                ]
            };
            tables.push(Table {
                title: file.summary(),
                headings: headings(&["line", "item", "outcome", "text", "result or reason"]),
                rows: file.items.iter().map(row).collect(),
            });
            if !file.units.is_empty() {
                tables.push(Table {
                    title: "Units".into(),
                    headings: headings(&["name", "unit", "why"]),
                    rows: (file.units.iter())
                        .map(|unit| vec![unit.name.clone(), unit.unit.clone(), unit.why.clone()])
                        .collect(),
                });
            }
        }
        tables
    }
}
