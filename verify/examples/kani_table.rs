//! The table of docs/PROOFS.md from what `cargo kani --export-json` wrote: `kani_table FILE` prints it, `kani_table FILE PAGE`
//! writes it into the page, where modules that did not run keep their rows.
//! Fails where a harness was not verified, or where what it is about could not happen.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use serde_json::Value;

/// What surrounds the table in a page.
const BEGIN: &str = "<!-- kani: begin -->\n";
const END: &str = "<!-- kani: end -->";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, page @ ..] = arguments.as_slice() else {
        eprintln!("kani_table FILE [PAGE]");
        return ExitCode::from(2);
    };
    match run(file, page.first().map(String::as_str)) {
        Ok(failed) if failed.is_empty() => ExitCode::SUCCESS,
        Ok(failed) => {
            for harness in failed {
                eprintln!("{harness}: not verified, or its cover was not reached");
            }
            ExitCode::FAILURE
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

/// The harnesses that failed. A page is written only if there are none.
fn run(file: &str, page: Option<&str>) -> Result<Vec<String>, String> {
    let read =
        |path: &str| std::fs::read_to_string(path).map_err(|error| format!("{path}: can't be read: {error}"));
    let document: Value = serde_json::from_str(&read(file)?)
        .map_err(|error| format!("{file}: is not a result of `cargo kani --export-json`: {error}"))?;
    let (mut rows, failed) = rows(&document);
    if rows.is_empty() {
        return Err(format!("{file}: has no harness"));
    }
    let Some(page) = page else {
        print!("{}", table(&document, &rows));
        return Ok(failed);
    };
    let text = read(page)?;
    let ((before, rest), after) = (text.split_once(BEGIN))
        .and_then(|(before, rest)| Some(((before, rest), rest.split_once(END)?.1)))
        .ok_or_else(|| format!("{page}: has no place for the table"))?;
    let module = |harness: &str| harness.split("::").next().unwrap_or_default().to_owned();
    let ran: BTreeSet<String> = rows.keys().map(|harness| module(harness)).collect();
    for line in rest.lines().take_while(|line| *line != END) {
        if let Some((harness, _)) = line.strip_prefix("| `").and_then(|line| line.split_once('`'))
            && !ran.contains(&module(harness))
        {
            rows.insert(harness.to_owned(), line.to_owned());
        }
    }
    if failed.is_empty() {
        let text = format!("{before}{BEGIN}{}{END}{after}", table(&document, &rows));
        std::fs::write(page, text).map_err(|error| format!("{page}: can't be written: {error}"))?;
    }
    Ok(failed)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or("-")
}

/// A line for each harness that ran, and those that failed.
fn rows(document: &Value) -> (BTreeMap<String, String>, Vec<String>) {
    let solvers: BTreeMap<&str, &str> = list(&document["cbmc"])
        .iter()
        .map(|harness| (word(&harness["harness_id"]), word(&harness["configuration"]["solver"])))
        .collect();
    let (mut rows, mut failed) = (BTreeMap::new(), Vec::new());
    for result in list(&document["verification_results"]["results"]) {
        let harness = word(&result["harness_id"]);
        let mutant = harness.starts_with("mutants::");
        let verified = result["status"] == "Success";
        let uncovered = list(&result["checks"])
            .iter()
            .any(|check| check["category"] == "cover" && check["status"] != "Satisfied");
        // A mutant may panic before it gets to what the property is about.
        if !verified || (uncovered && !mutant) {
            failed.push(harness.to_owned());
        }
        let verdict = match (verified, uncovered, mutant) {
            (true, _, true) => "refuted, as it must be",
            (true, false, false) => "verified",
            (true, true, false) => "about nothing",
            (false, ..) => "not verified",
        };
        let seconds = result["duration_ms"].as_f64().unwrap_or(f64::NAN) / 1000.0;
        let solver = solvers.get(harness).unwrap_or(&"-");
        rows.insert(harness.to_owned(), format!("| `{harness}` | {verdict} | {seconds:.1} | {solver} |"));
    }
    (rows, failed)
}

fn table(document: &Value, rows: &BTreeMap<String, String>) -> String {
    let (kani, cbmc) = (word(&document["metadata"]["kani_version"]), word(&document["tools"]["cbmc"]));
    let mut text = format!("{} harnesses, Kani {kani}, CBMC {cbmc}:\n\n", rows.len());
    text += "| harness | verdict | seconds | solver |\n|---|---|---|---|\n";
    for row in rows.values() {
        text += row;
        text.push('\n');
    }
    text
}
