//! The table of Kani harnesses in docs/PROOFS.md.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{read, root, write as write_file};

const BEGIN: &str = "<!-- kani: begin -->\n";
const END: &str = "<!-- kani: end -->";
const HEADINGS: &str = "| harness | verdict | seconds | solver |\n|---|---|---|---|\n";

/// The page with the table split into rows.
pub struct Page {
    path: PathBuf,
    before: String,
    after: String,
    /// The versions of the tools.
    tools: String,
    /// One line per harness.
    rows: BTreeMap<String, String>,
}

impl Page {
    pub fn read() -> Result<Page, String> {
        let path = root().join("docs/PROOFS.md");
        let text = read(&path)?;
        let parts = text.split_once(BEGIN).and_then(|(before, rest)| {
            let (table, after) = rest.split_once(END)?;
            let tools = table.lines().next()?.split_once(" harnesses, ")?.1;
            Some((before, table, after, tools))
        });
        let (before, table, after, tools) =
            parts.ok_or_else(|| format!("{}: missing table between {BEGIN}and {END}", path.display()))?;
        let row =
            |line: &str| Some((line.strip_prefix("| `")?.split_once('`')?.0.to_owned(), line.to_owned()));
        let rows = table.lines().filter_map(row).collect();
        let [before, after, tools] = [before, after, tools].map(str::to_owned);
        Ok(Page { path, before, after, tools, rows })
    }

    pub fn harnesses(&self) -> impl Iterator<Item = &str> {
        self.rows.keys().map(String::as_str)
    }

    /// The harnesses without a verdict.
    pub fn not_run(&self) -> Vec<&str> {
        let rows = self.rows.iter().filter(|(harness, row)| **row == not_run(harness));
        rows.map(|(harness, _)| harness.as_str()).collect()
    }

    /// Lists a harness without a verdict.
    pub fn reset(&mut self, harness: &str) {
        self.rows.insert(harness.to_owned(), not_run(harness));
    }

    pub fn remove(&mut self, harness: &str) {
        self.rows.remove(harness);
    }

    pub fn save(&self) -> Result<(), String> {
        let Page { path, before, after, tools, rows } = self;
        write_file(path, &format!("{before}{BEGIN}{}{END}{after}", table(tools, rows)))
    }
}

fn not_run(harness: &str) -> String {
    format!("| `{harness}` | not run | - | - |")
}

fn module(harness: &str) -> &str {
    harness.split("::").next().unwrap_or_default()
}

fn table(tools: &str, rows: &BTreeMap<String, String>) -> String {
    let lines: String = rows.values().map(|row| format!("{row}\n")).collect();
    format!("{} harnesses, {tools}\n\n{HEADINGS}{lines}", rows.len())
}

/// A run of Kani.
struct Run {
    tools: String,
    rows: BTreeMap<String, String>,
    /// The harnesses that failed or are vacuous.
    failed: Vec<String>,
}

impl Run {
    fn read(file: &Path) -> Result<Run, String> {
        let name = file.display();
        let document: Value = serde_json::from_str(&read(file)?)
            .map_err(|error| format!("{name}: not a result of `cargo kani --export-json`: {error}"))?;
        let run = Run::new(&document);
        if run.rows.is_empty() { Err(format!("{name}: no harness ran")) } else { Ok(run) }
    }

    fn new(document: &Value) -> Run {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let solvers: BTreeMap<String, String> = list(&document["cbmc"])
            .iter()
            .map(|harness| (word(&harness["harness_id"]), word(&harness["configuration"]["solver"])))
            .collect();
        let (kani, cbmc) = (word(&document["metadata"]["kani_version"]), word(&document["tools"]["cbmc"]));
        let mut run =
            Run { tools: format!("Kani {kani}, CBMC {cbmc}:"), rows: BTreeMap::new(), failed: Vec::new() };
        for result in list(&document["verification_results"]["results"]) {
            let harness = word(&result["harness_id"]);
            let mutant = module(&harness) == "mutants";
            let verified = result["status"] == "Success";
            let uncovered = list(&result["checks"])
                .iter()
                .any(|check| check["category"] == "cover" && check["status"] != "Satisfied");
            let verdict = match (verified, uncovered, mutant) {
                // A mutant may panic before it reaches the subject of the property.
                (true, _, true) => "refuted (expected)",
                (true, false, false) => "verified",
                (true, true, false) => "vacuous",
                (false, ..) => "not verified",
            };
            let seconds = result["duration_ms"].as_f64().unwrap_or(f64::NAN) / 1000.0;
            let solver = solvers.get(&harness).map_or("-", String::as_str);
            let row = format!("| `{harness}` | {verdict} | {seconds:.1} | {solver} |");
            if !verified || (uncovered && !mutant) {
                run.failed.push(harness.clone());
            }
            run.rows.insert(harness, row);
        }
        run
    }

    fn passed(&self) -> Result<(), String> {
        match self.failed.as_slice() {
            [] => Ok(()),
            failed => Err(format!("not verified, or cover not reached: {}", failed.join(", "))),
        }
    }
}

/// Prints the table of a run; an error if a harness failed.
pub fn print(file: &Path) -> Result<(), String> {
    let run = Run::read(file)?;
    print!("{}", table(&run.tools, &run.rows));
    run.passed()
}

/// Writes the table of a run into the page, unless a harness failed. The rows of modules that did not run stay.
pub fn write(file: &Path) -> Result<(), String> {
    let run = Run::read(file)?;
    run.passed()?;
    let mut page = Page::read()?;
    let ran: BTreeSet<&str> = run.rows.keys().map(|harness| module(harness)).collect();
    page.rows.retain(|harness, _| !ran.contains(module(harness)));
    page.tools.clone_from(&run.tools);
    page.rows.extend(run.rows);
    page.save()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_harness_whose_cover_was_not_reached_fails() {
        let result = |harness: &str, cover: &str| {
            json!({"harness_id": harness, "status": "Success", "duration_ms": 1200,
                "checks": [{"category": "cover", "status": cover}]})
        };
        let results = json!([
            result("a::proofs::x", "Satisfied"),
            result("a::proofs::y", "Unreachable"),
            result("mutants::z", "Unreachable")
        ]);
        let run = Run::new(&json!({"verification_results": {"results": results}}));
        assert_eq!(run.failed, ["a::proofs::y"]);
        assert_eq!(run.rows["a::proofs::x"], "| `a::proofs::x` | verified | 1.2 | - |");
        assert_eq!(run.rows["mutants::z"], "| `mutants::z` | refuted (expected) | 1.2 | - |");
    }

    #[test]
    fn a_page_that_is_read_and_written_stays_the_same() {
        let page = Page::read().expect("the page has a table");
        let text = read(&page.path).expect("it can be read");
        let Page { before, after, tools, rows, .. } = &page;
        assert_eq!(text, format!("{before}{BEGIN}{}{END}{after}", table(tools, rows)));
    }
}
