//! `roofline import`: contracts of the published provable-contracts format, with a report on every item.

use std::path::Path;

use roofline_contracts::authoring::import::{Imported, Outcome, import};
use roofline_contracts::source::Source;
use schemars::JsonSchema;
use serde::Serialize;

use crate::chart::terminal::Canvas;
use crate::program::output;
use crate::program::output::file::{Unfinished, create_directory};
use crate::program::{Exit, Failure, cli};
use crate::report::{Report, Schema, Table};

/// Contracts that were imported, and what became of each item.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ImportReport {
    /// Which schema this document follows.
    schema: Schema<Self>,
    /// The files, in the order of the command line.
    files: Vec<File>,
}

/// A contract that was imported.
#[derive(Debug, Serialize, JsonSchema)]
struct File {
    /// The published contract.
    file: String,
    /// The name of ours.
    id: String,
    /// Where the contract was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    written: Option<String>,
    /// How many items came to what.
    counts: Vec<Count>,
    /// Every item of the published contract.
    items: Vec<Item>,
    /// Names that could not stay.
    renamed: Vec<Renamed>,
    /// Units, with where they come from.
    units: Vec<Unit>,
    /// Proposals of units that formulas contradict.
    dropped_units: Vec<String>,
    /// Units that the published contract itself contradicts.
    conflicts: Vec<Conflict>,
    /// The contract in our language.
    contract: String,
}

/// How many items came to something.
#[derive(Debug, Serialize, JsonSchema)]
struct Count {
    /// formal, proven, tested, folded, informal or metadata.
    outcome: &'static str,
    /// How many.
    items: usize,
}

/// An item of a published contract.
#[derive(Debug, Serialize, JsonSchema)]
struct Item {
    /// Its path in the file.
    place: String,
    /// Its line.
    line: usize,
    /// formal, proven, tested, folded, informal or metadata.
    outcome: &'static str,
    /// What it says.
    text: String,
    /// What it became, or why it is not formal.
    note: String,
}

/// A name that could not stay.
#[derive(Debug, Serialize, JsonSchema)]
struct Renamed {
    /// As published.
    published: String,
    /// Ours.
    name: String,
}

/// A unit and where it comes from.
#[derive(Debug, Serialize, JsonSchema)]
struct Unit {
    /// The quantity or equation.
    name: String,
    /// Its unit.
    unit: String,
    /// Why this one.
    why: String,
}

/// Units that the published contract itself contradicts.
#[derive(Debug, Serialize, JsonSchema)]
struct Conflict {
    /// The path of the formula in the file.
    place: String,
    /// What is wrong.
    what: String,
}

/// Imports every file. All are read before anything is written.
pub fn run(args: &cli::Import) -> Result<Exit, Failure> {
    let mut files = Vec::new();
    for path in &args.files {
        let name = path.to_string_lossy();
        let source = Source::read(path, &name)?;
        let imported = import(&source).map_err(|mistakes| {
            let shown: Vec<String> = mistakes.iter().map(|mistake| mistake.render(&source)).collect();
            Failure(format!("{name} can't be imported\n\n{}", shown.join("\n\n")))
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
                "{} and {} would both become {}",
                other.file,
                file.file,
                path.display()
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
        Unfinished::open(&path)?.finish(&file.contract)?;
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
                let arrow = if item.outcome == Outcome::Informal.word() { "because" } else { "->" };
                out += &format!("    {arrow} {}\n", item.note);
            }
            if !file.renamed.is_empty() {
                out += "\nnames\n";
                out.extend(
                    file.renamed.iter().map(|one| format!("    {} is now {}\n", one.published, one.name)),
                );
            }
            if !file.units.is_empty() {
                out += "\nunits\n";
                out.extend(
                    file.units.iter().map(|one| format!("    {}: {} ({})\n", one.name, one.unit, one.why)),
                );
            }
            if !file.dropped_units.is_empty() {
                out += "\nproposals that formulas contradict\n";
                out.extend(file.dropped_units.iter().map(|one| format!("    {one}\n")));
            }
            if !file.conflicts.is_empty() {
                out += "\nunits that contradict each other in the published contract\n";
                out.extend(file.conflicts.iter().map(|one| format!("    {}: {}\n", one.place, one.what)));
            }
            out += "\n";
            match &file.written {
                Some(path) => out += &format!("written: {path}\n"),
                None => out += &format!("not written; --output DIR writes {}.yaml\n", file.id),
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
                headings: headings(&["line", "item", "outcome", "text", "what it became, or why not"]),
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
