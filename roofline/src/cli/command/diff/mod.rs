//! `roofline contract diff`: semantic changes of a contract, the required version, and the effect on predictions.

mod compare;
mod effect;
mod git;
mod step;
mod values;

use roofline_contracts::certify;
use roofline_contracts::contract::Contract;
use roofline_contracts::library::{self, Found};
use roofline_contracts::prove::Proof;
use roofline_contracts::report::Severity;
use roofline_contracts::source::{ReadError, Source};
use roofline_contracts::{Compiled, check_from};
use schemars::JsonSchema;
use serde::Serialize;

use crate::chart::terminal::Canvas;
use crate::cli::command::doc::plain;
use crate::cli::output;
use crate::cli::{Exit, Failure, args, contract};
use crate::report::{Report, Schema, Table};
use compare::{Change, Detail, Proven, compare};
use effect::{ChangedPrediction, Effect, Outcome, Side, effect};
use git::Repository;
use roofline_render::format::figure;
use step::Step;
use values::Example;

/// Differences between contracts.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Diffed {
    /// Schema of this document.
    schema: Schema<Self>,
    /// Revision compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<String>,
    /// `true` if every version is sufficient and every contract holds.
    fine: bool,
    /// Compared contracts.
    contracts: Vec<ContractDiff>,
    /// Changed YAML files that are not contracts.
    skipped: Vec<String>,
    #[serde(skip)]
    top: usize,
}

/// A contract before and after.
#[derive(Debug, Serialize, JsonSchema)]
struct ContractDiff {
    /// Path of the file.
    file: String,
    /// Name of the contract.
    id: String,
    /// Status: changed, unchanged, added, removed or invalid.
    status: &'static str,
    /// Old version; null if the contract was added.
    before: Option<Revision>,
    /// New version; null if the contract was removed.
    after: Option<Revision>,
    /// Changes by item.
    changes: Vec<Change>,
    /// Version that the changes require.
    #[serde(skip_serializing_if = "Option::is_none")]
    requirement: Option<VersionRequirement>,
    /// Problems of the new version.
    problems: Vec<String>,
    /// Effect on predictions.
    #[serde(skip_serializing_if = "Option::is_none")]
    effect: Option<Effect>,
    /// Reason for a missing effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_effect: Option<String>,
}

/// Identity of a version.
#[derive(Debug, Serialize, JsonSchema)]
struct Revision {
    /// Version number.
    version: String,
    /// SHA-256 of the file.
    sha256: String,
}

/// Version that the changes require, and the version of the contract.
#[derive(Debug, Serialize, JsonSchema)]
struct VersionRequirement {
    /// Step: major, minor or patch; null if nothing changed.
    step: Option<&'static str>,
    /// Lowest sufficient version.
    minimum: String,
    /// Version of the contract.
    stated: String,
    /// `true` if the version of the contract is sufficient.
    sufficient: bool,
}

impl VersionRequirement {
    fn new(old: &Contract, new: &Contract, changes: &[Change]) -> VersionRequirement {
        let (before, stated) = (&old.metadata.version, &new.metadata.version);
        let step = changes.iter().map(|change| change.step).max();
        let minimum = step.map_or(before.clone(), |step| step.next(before));
        let sufficient = *stated >= minimum;
        VersionRequirement {
            step: step.map(Step::word),
            minimum: minimum.to_string(),
            stated: stated.to_string(),
            sufficient,
        }
    }
}

/// Compares contracts. Exits with 1 if a version is insufficient or a contract no longer holds.
pub fn run(args: &args::Diff) -> Result<Exit, Failure> {
    let (contracts, skipped) = match (&args.git, &args.contracts[..]) {
        (Some(revision), paths) => revisions(revision, paths)?,
        (None, [old, new]) => (vec![files(old, new)?], Vec::new()),
        (None, _) => {
            return Err(Failure("missing contracts; expected OLD and NEW, or --git REVISION".into()));
        }
    };
    let fine = contracts.iter().all(ContractDiff::is_fine);
    let revision = args.git.clone();
    let report = Diffed { schema: Schema::new(), revision, fine, contracts, skipped, top: args.top };
    output::print(&report, args.format)?;
    Ok(if fine { Exit::Fine } else { Exit::Failed })
}

fn files(old: &str, new: &str) -> Result<ContractDiff, Failure> {
    let (before, old_directory) = contract::checked(old)?;
    let (after, new_directory) = contract::checked(new)?;
    let find_old = |name: &str| library::find(name, old_directory.as_deref());
    let find_new = |name: &str| library::find(name, new_directory.as_deref());
    let (old, after) =
        (Side { contract: &before, find: &find_old }, Side { contract: &after, find: &find_new });
    Ok(ContractDiff::new(new, &old, &after))
}

/// Compares every changed contract with the revision, and returns the YAML files that are not contracts.
fn revisions(revision: &str, paths: &[String]) -> Result<(Vec<ContractDiff>, Vec<String>), Failure> {
    let repository = Repository::open(revision)?;
    let mut found: Vec<ContractDiff> = Vec::new();
    let mut skipped = Vec::new();
    for file in repository.changed(paths)? {
        let find_old = |name: &str| repository.find_before(&file, name);
        let find_new = |name: &str| repository.find_after(&file, name);
        let old = checked(repository.before(&file), &find_old);
        let new = checked(repository.after(&file), &find_new);
        let diff = match (old, new) {
            (Ok(Some(old)), Ok(Some(new))) => {
                let (old, new) =
                    (Side { contract: &old, find: &find_old }, Side { contract: &new, find: &find_new });
                ContractDiff::new(&file, &old, &new)
            }
            (Ok(Some(old)), Ok(None)) => ContractDiff::unpaired(&file, &old, "removed"),
            (Ok(Some(old)), Err(problems)) => {
                ContractDiff { problems, ..ContractDiff::unpaired(&file, &old, "invalid") }
            }
            (Ok(None) | Err(_), Ok(Some(new))) => ContractDiff::unpaired(&file, &new, "added"),
            (Ok(None) | Err(_), Ok(None) | Err(_)) => {
                skipped.push(file);
                continue;
            }
        };
        found.push(diff);
    }
    for at in 1..found.len() {
        let (earlier, later) = found.split_at_mut(at);
        let Some(diff) = later.first_mut() else { break };
        if let Some(same) = earlier.iter().find(|known| known.effect.is_some() && known.effect == diff.effect)
        {
            diff.no_effect = Some(format!("included in the effect of {}", same.id));
            diff.effect = None;
        }
    }
    Ok((found, skipped))
}

/// Checks the contract of a file that may not exist, and returns its errors if it is invalid.
fn checked(
    source: Result<Option<Source>, Failure>,
    find: &dyn Fn(&str) -> Result<Found, ReadError>,
) -> Result<Option<Contract>, Vec<String>> {
    let Some(source) = source.map_err(|Failure(message)| vec![message])? else { return Ok(None) };
    let compiled: Compiled = check_from(source, find);
    let errors = compiled.rendered(Severity::Error).collect();
    compiled.contract.map(Some).ok_or(errors)
}

impl ContractDiff {
    fn new(file: &str, old: &Side<'_>, new: &Side<'_>) -> ContractDiff {
        let (before, after) = (old.contract, new.contract);
        let proofs: [Vec<Proof>; 2] = [certify::judge(before), certify::judge(after)];
        let [old_proofs, new_proofs] = &proofs;
        let changes = compare(
            Proven { contract: before, proofs: old_proofs },
            Proven { contract: after, proofs: new_proofs },
        );
        let broken = (new_proofs.iter().filter(|proof| !proof.verdict.acceptable()))
            .map(|proof| format!("obligation {}: {}", proof.id, proof.verdict));
        let problems = broken.collect();
        let (effect, no_effect) = if changes.is_empty() {
            (None, Some("no changes".into()))
        } else {
            match effect(old, new) {
                Ok(effect) => (Some(effect), None),
                Err(reason) => (None, Some(reason)),
            }
        };
        ContractDiff {
            file: file.to_owned(),
            id: after.metadata.id.clone(),
            status: if changes.is_empty() { "unchanged" } else { "changed" },
            before: Some(Revision::new(before)),
            after: Some(Revision::new(after)),
            requirement: Some(VersionRequirement::new(before, after, &changes)),
            changes,
            problems,
            effect,
            no_effect,
        }
    }

    /// Creates the entry of a contract with a single version.
    fn unpaired(file: &str, contract: &Contract, status: &'static str) -> ContractDiff {
        let revision = Some(Revision::new(contract));
        let (before, after) = if status == "added" { (None, revision) } else { (revision, None) };
        ContractDiff {
            file: file.to_owned(),
            id: contract.metadata.id.clone(),
            status,
            before,
            after,
            changes: Vec::new(),
            requirement: None,
            problems: Vec::new(),
            effect: None,
            no_effect: None,
        }
    }

    fn is_fine(&self) -> bool {
        self.status != "invalid"
            && self.problems.is_empty()
            && self.requirement.as_ref().is_none_or(|requirement| requirement.sufficient)
    }

    fn versions(&self) -> String {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => format!("{} -> {}", before.version, after.version),
            (Some(only), None) | (None, Some(only)) => only.version.clone(),
            (None, None) => String::new(),
        }
    }

    /// Summarizes the version requirement in one line.
    fn verdict(&self) -> String {
        match (&self.requirement, self.status) {
            (_, "added") => "added".into(),
            (_, "removed") => "removed".into(),
            (_, "invalid") => "no longer a valid contract".into(),
            (None, _) => String::new(),
            (Some(VersionRequirement { step, minimum, stated, sufficient }), _) => match (step, sufficient) {
                (None, true) => "no semantic changes".into(),
                (None, false) => format!("no semantic changes, but the version is lower than {minimum}"),
                (Some(step), true) => {
                    format!("{step} change, requires {minimum} or later; {stated} is sufficient")
                }
                (Some(step), false) => {
                    format!("{step} change, requires {minimum} or later; {stated} is insufficient")
                }
            },
        }
    }

    fn counts(&self) -> String {
        let count = |step: Step| self.changes.iter().filter(|change| change.step == step).count();
        let steps = [Step::Major, Step::Minor, Step::Patch];
        let counts = steps
            .iter()
            .filter(|step| count(**step) > 0)
            .map(|step| format!("{} {}", count(*step), step.word()));
        counts.collect::<Vec<_>>().join(", ")
    }
}

impl Revision {
    fn new(contract: &Contract) -> Revision {
        Revision { version: contract.metadata.version.to_string(), sha256: contract.source.sha256.clone() }
    }
}

fn percent(change: f64) -> String {
    match 100.0 * change {
        percent if !percent.is_finite() => "-".into(),
        0.0 => "0 %".into(),
        percent if percent.abs() >= 0.95 => format!("{percent:+.1} %"),
        percent if percent.abs() >= 0.0095 => format!("{percent:+.2} %"),
        percent => format!("{percent:+.0e} %"),
    }
}

impl Example {
    fn text(&self) -> String {
        let at: Vec<String> = self.at.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let at = if at.is_empty() { String::new() } else { format!(" at {}", at.join(", ")) };
        format!("{} instead of {}{at}", self.after, self.before)
    }
}

impl Change {
    fn text(&self) -> String {
        let mut out = format!("{:<5}  {} {} {}\n", self.step.word(), self.section, self.name, self.kind);
        for detail in &self.details {
            out += &detail.text();
        }
        out
    }
}

impl Detail {
    fn text(&self) -> String {
        let aspect = if self.what.is_empty() { String::new() } else { format!("{}: ", self.what) };
        let note = if self.note.is_empty() { String::new() } else { format!(" ({})", self.note) };
        let long = self.before.len() + self.after.len() > 72;
        let values = match (self.before.as_str(), self.after.as_str()) {
            (before, after) if before == after => format!("same text, {}", self.note),
            ("", after) if self.what.is_empty() || !note.is_empty() => format!("{after}{note}"),
            ("", after) => format!("{after} (added)"),
            (before, "") => {
                format!("{before}{}", if note.is_empty() { " (removed)".to_owned() } else { note })
            }
            (before, after) if long => {
                format!("{before}\n           -> {after}\n           {}", note.trim_start())
            }
            (before, after) => format!("{before} -> {after}{note}"),
        };
        let mut out = format!("       {aspect}{}\n", values.trim_end());
        for example in &self.points {
            out += &format!("           {}\n", example.text());
        }
        out
    }
}

impl Effect {
    fn sentence(&self) -> String {
        let mut out =
            format!("{} of {} predictions with {} changed", self.changed, self.predictions, self.contract);
        let count =
            |test: &dyn Fn(&ChangedPrediction) -> bool| self.rows.iter().filter(|row| test(row)).count();
        let failed =
            |outcome: &Option<Outcome>| outcome.as_ref().is_some_and(|outcome| outcome.error.is_some());
        for (count, kind) in [
            (count(&|row| row.before.is_none()), "added"),
            (count(&|row| row.after.is_none()), "removed"),
            (count(&|row| failed(&row.after) && !failed(&row.before)), "outside the domains now"),
            (self.bounds_changed, "with another bound"),
        ] {
            if count > 0 {
                out += &format!(", {count} {kind}");
            }
        }
        out
    }

    fn movements(&self) -> Table {
        let headings = ["figure", "unit", "lowest", "median", "highest"];
        let rows = self.summary.iter().map(|movement| {
            let figures = [movement.lowest, movement.median, movement.highest].map(percent);
            [movement.name.clone(), movement.unit.clone()].into_iter().chain(figures).collect()
        });
        Table::new("", &headings, rows)
    }

    fn largest(&self, top: usize) -> Table {
        let headings = [&["model", "device", "weights"], self.figures, self.bounds].concat();
        let rows = self.rows.iter().take(top).map(|row| {
            let numbers = self.figures.iter().map(|name| row.figure(name));
            let head = [row.model.clone(), row.device.clone(), row.format.clone()];
            head.into_iter().chain(numbers).chain(self.bounds.iter().map(|name| row.bound(name))).collect()
        });
        Table::new("", &headings, rows)
    }
}

impl ChangedPrediction {
    fn figure(&self, name: &str) -> String {
        let number = |outcome: &Option<Outcome>| {
            let value = outcome.as_ref().and_then(|outcome| outcome.numbers.get(name).copied());
            value.map_or_else(|| "-".to_owned(), figure)
        };
        match (self.change(name), &self.before, &self.after) {
            (_, None, after) => format!("{} (added)", number(after)),
            (_, before, None) => format!("{} (removed)", number(before)),
            (Some(0.0), _, after) => number(after),
            (Some(change), before, after) => {
                format!("{} -> {} ({})", number(before), number(after), percent(change))
            }
            (None, before, after) => format!("{} -> {}", number(before), number(after)),
        }
    }

    /// Returns the bound, with the old one if it differs, or the reason for a missing prediction.
    fn bound(&self, name: &str) -> String {
        let text = |outcome: &Outcome| match &outcome.error {
            Some(reason) => reason.clone(),
            None => outcome.bounds.get(name).cloned().unwrap_or_else(|| "-".into()),
        };
        match (self.before.as_ref().map(text), self.after.as_ref().map(text)) {
            (Some(before), Some(after)) if before != after => format!("{before} -> {after}"),
            (before, after) => after.or(before).unwrap_or_default(),
        }
    }
}

impl Report for Diffed {
    const SCHEMA: &'static str = "roofline.diff/1";

    fn text(&self, _: &Canvas) -> String {
        let mut out = String::new();
        if self.contracts.is_empty() {
            out += "no contract changed\n";
        }
        for contract in &self.contracts {
            out += &format!("{} {}: {}\n", contract.id, contract.versions(), contract.verdict());
            for problem in &contract.problems {
                out += &format!("\n{problem}\n");
            }
            if !contract.changes.is_empty() {
                out += "\n";
            }
            for change in &contract.changes {
                out += &change.text();
            }
            match (&contract.effect, &contract.no_effect) {
                (Some(effect), _) if effect.changed > 0 => {
                    out += &format!("\nEffect: {}\n", effect.sentence());
                    if !effect.summary.is_empty() {
                        out += &effect.movements().text();
                    }
                    out += &format!("\nLargest changes ({}):\n", self.top.min(effect.changed));
                    out += &effect.largest(self.top).text();
                }
                (Some(effect), _) => {
                    out += &format!("\nEffect: none on {} predictions\n", effect.predictions)
                }
                (None, Some(reason)) if contract.status == "changed" => {
                    out += &format!("\nEffect: none: {reason}\n")
                }
                _ => {}
            }
            out += "\n";
        }
        if !self.skipped.is_empty() {
            out += &format!("skipped, not contracts: {}\n", self.skipped.join(", "));
        }
        out.trim_end().to_owned() + "\n"
    }

    fn tables(&self) -> Vec<Table> {
        let headings = ["contract", "step", "section", "name", "change", "aspect", "before", "after", "note"];
        let rows = self.contracts.iter().flat_map(|contract| {
            contract.changes.iter().flat_map(move |change| {
                let head =
                    [contract.id.as_str(), change.step.word(), change.section, &change.name, change.kind];
                let row =
                    move |tail: [&str; 4]| head.iter().chain(&tail).map(|cell| (*cell).to_owned()).collect();
                let none = change.details.is_empty().then(|| row([""; 4]));
                let details = change.details.iter();
                none.into_iter().chain(
                    details
                        .map(move |detail| row([&detail.what, &detail.before, &detail.after, &detail.note])),
                )
            })
        });
        vec![Table::new("", &headings, rows)]
    }

    fn markdown(&self) -> String {
        let mut out = format!("### Contracts: {}\n\n", if self.fine { "passed" } else { "**failed**" });
        if self.contracts.is_empty() {
            return out + "No contract changed.\n";
        }
        let rows = self.contracts.iter().map(|contract| {
            let mark = if contract.is_fine() { "" } else { "**✗** " };
            vec![
                code(&contract.id),
                contract.versions(),
                contract.counts(),
                format!("{mark}{}", contract.verdict()),
            ]
        });
        out += &Table::new("", &["contract", "version", "changes", "required version"], rows).markdown();
        for contract in &self.contracts {
            for problem in &contract.problems {
                out += &format!("\n```text\n{}\n```\n", problem.replace("```", "'''"));
            }
            if let Some(effect) = contract.effect.as_ref().filter(|effect| effect.changed > 0) {
                out += &format!("\n**{}**: {}.\n\n", contract.id, effect.sentence());
                if !effect.summary.is_empty() {
                    out += &effect.movements().markdown();
                }
            } else if let Some(effect) = &contract.effect {
                out += &format!("\n**{}**: no effect on {} predictions.\n", contract.id, effect.predictions);
            } else if let Some(reason) = contract.no_effect.as_ref().filter(|_| contract.status == "changed")
            {
                out += &format!("\n**{}**: no effect: {reason}.\n", contract.id);
            }
            out += &contract.folded(self.top);
        }
        if !self.skipped.is_empty() {
            let files: Vec<String> = self.skipped.iter().map(|file| code(file)).collect();
            out += &format!("\nSkipped, not contracts: {}\n", files.join(", "));
        }
        out
    }
}

impl ContractDiff {
    /// Returns the details, folded.
    fn folded(&self, top: usize) -> String {
        let mut out = String::new();
        let mut fold = |summary: String, body: &str| {
            out += &format!(
                "\n<details><summary>{}</summary>\n\n{body}\n</details>\n",
                roofline_render::display_width::escape(&summary)
            );
        };
        if !self.changes.is_empty() {
            let rows = self.changes.iter().flat_map(|change| {
                let item = format!("{} {} {}", change.section, code(&change.name), change.kind);
                let none = change.details.is_empty().then(|| {
                    let empty = [""; 3].map(str::to_owned);
                    [change.step.word().to_owned(), item.clone()].into_iter().chain(empty).collect()
                });
                let details = change.details.iter().map(move |detail| {
                    let aspect = match detail.what.as_str() {
                        "" => item.clone(),
                        aspect => format!("{item}: {aspect}"),
                    };
                    let same = detail.before == detail.after;
                    let after = if same { "same text".to_owned() } else { code(&detail.after) };
                    let points = detail.points.iter().map(|point| format!("<br>{}", code(&point.text())));
                    let note = plain(&detail.note) + &points.collect::<String>();
                    vec![detail.step.word().to_owned(), aspect, code(&detail.before), after, note]
                });
                none.into_iter().chain(details)
            });
            let table = Table::new("", &["step", "item", "before", "after", "note"], rows);
            fold(format!("{}: {} changes", self.id, self.changes.len()), &table.markdown());
        }
        if let Some(effect) = self.effect.as_ref().filter(|effect| effect.changed > 0) {
            let shown = top.min(effect.changed);
            fold(
                format!("{}: largest {shown} of {} changed predictions", self.id, effect.changed),
                &effect.largest(top).markdown(),
            );
        }
        out
    }
}

/// Formats text as code in a Markdown table.
fn code(text: &str) -> String {
    match text {
        "" => String::new(),
        text if text.contains('`') => plain(text),
        text => format!("`{text}`"),
    }
}
