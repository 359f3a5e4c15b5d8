//! Results of a Kani run: the file of `cargo kani --export-json`, and the values printed with `--concrete-playback=print`, which the
//! file does not contain.

use std::collections::BTreeMap;
use std::path::Path;

use roofline_contracts::contract::Verdict;
use roofline_contracts::emit::kani::function_name;
use roofline_contracts::emit::rust::module_name;
use serde_json::Value;

use crate::cli::{About, Failure};
use roofline_machine::storage;

/// Maximum size of a result, which contains every check of every harness.
const MAX_MIB: u64 = 1024;

/// Results of the harnesses.
#[derive(Debug)]
pub struct KaniRun {
    /// Kani and its version.
    pub tool: String,
    harnesses: Vec<Harness>,
    /// Bytes of each value of the first failed check, by harness.
    playback: BTreeMap<String, Vec<Vec<u8>>>,
}

/// The result of a harness.
#[derive(Debug)]
pub struct Harness {
    /// Path of the harness in the crate.
    pub path: String,
    /// Verdict of the harness.
    pub verdict: Verdict,
    /// Descriptions of the failed checks.
    pub failed: Vec<String>,
}

/// Returns the name of a verdict of Kani.
pub fn word(verdict: Verdict) -> &'static str {
    if verdict == Verdict::Proven { "verified" } else { verdict.word() }
}

impl KaniRun {
    /// Reads the exported results and, if given, the log of the run.
    pub fn read(path: &Path, log: Option<&Path>) -> Result<KaniRun, Failure> {
        let text = read(path)?;
        let document: Value =
            serde_json::from_str(&text).about(format_args!("{}: is not JSON", path.display()))?;
        let mut run = KaniRun { tool: "kani".into(), harnesses: Vec::new(), playback: BTreeMap::new() };
        run.collect(&document);
        if run.harnesses.is_empty() {
            let message = "missing harness results; write the file with `cargo kani --export-json FILE`";
            return Err(Failure(format!("{}: {message}", path.display())));
        }
        if let Some(path) = log {
            run.playback = playback(&read(path)?);
            if run.playback.is_empty() && run.harnesses.iter().any(|harness| !harness.failed.is_empty()) {
                let message = "missing values of a failed check; print them with `cargo kani -Z concrete-playback \
                               --concrete-playback=print`";
                return Err(Failure(format!("{}: {message}", path.display())));
            }
        }
        Ok(run)
    }

    /// Collects results: objects with a `harness_id`, a `status` and `checks`, at any depth.
    fn collect(&mut self, value: &Value) {
        let mut pending = vec![value];
        while let Some(value) = pending.pop() {
            match value {
                Value::Array(items) => pending.extend(items),
                Value::Object(fields) => {
                    if let Some(version) = fields.get("kani_version").and_then(Value::as_str) {
                        self.tool = format!("kani {version}");
                    }
                    let id = fields.get("harness_id").and_then(Value::as_str);
                    let status = fields.get("status").and_then(Value::as_str);
                    let checks = fields.get("checks").and_then(Value::as_array);
                    if let (Some(id), Some(status), Some(checks)) = (id, status, checks) {
                        let failed = checks.iter().filter(|check| text(check, "status") == "failure");
                        let failed = failed.map(|check| text(check, "description")).collect();
                        let verdict = verdict(status, checks);
                        self.harnesses.push(Harness { path: id.to_owned(), verdict, failed });
                    }
                    pending.extend(fields.values());
                }
                _ => {}
            }
        }
    }

    /// Returns the result of an obligation's harness, or `None` if it did not run.
    pub fn result(&self, contract: &str, obligation: &str) -> Option<&Harness> {
        let (function, module) = (function_name(obligation), module_name(contract));
        self.harnesses.iter().find(|harness| match *harness.path.split("::").collect::<Vec<_>>() {
            [.., parent, "proofs", name] => {
                // The module's name may omit the version of the contract.
                let same = parent == module
                    || module.strip_prefix(parent).is_some_and(|rest| rest.starts_with("_v"));
                same && name == function
            }
            _ => false,
        })
    }

    /// Returns the bytes of each value of the first failed check, if the log contains them.
    pub fn playback(&self, harness: &Harness) -> Option<&[Vec<u8>]> {
        self.playback.get(&harness.path).map(Vec::as_slice)
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    storage::read_up_to(MAX_MIB, path).about(format_args!("{}: cannot read", path.display()))
}

fn text(check: &Value, key: &str) -> String {
    let text = check.get(key).and_then(Value::as_str).unwrap_or_default();
    if key == "description" { text.trim_matches('"').to_owned() } else { text.to_ascii_lowercase() }
}

/// Returns the verdict. A success without all cover statements satisfied is unknown.
fn verdict(status: &str, checks: &[Value]) -> Verdict {
    let mut covers = checks.iter().filter(|check| text(check, "category") == "cover");
    let covered = covers.all(|check| text(check, "status") == "satisfied");
    if !status.eq_ignore_ascii_case("success") {
        let failed = checks.iter().any(|check| text(check, "status") == "failure");
        return if failed { Verdict::Refuted } else { Verdict::Unknown };
    }
    if covered { Verdict::Proven } else { Verdict::Unknown }
}

/// Parses the values of the first failed check of each harness; generated tests of cover statements are skipped.
fn playback(log: &str) -> BTreeMap<String, Vec<Vec<u8>>> {
    let mut found: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
    for part in log.split("/// Test generated for harness `").skip(1) {
        let Some((harness, rest)) = part.split_once('`') else { continue };
        let Some((head, rest)) = rest.split_once("= vec![") else { continue };
        if head.contains("Check for `cover`") || found.contains_key(harness) {
            continue;
        }
        let Some((values, _)) = rest.split_once("];") else { continue };
        let lines = values.lines().filter_map(|line| line.trim().strip_prefix("vec![")?.strip_suffix("],"));
        let bytes = |line: &str| line.split(',').filter_map(|byte| byte.trim().parse::<u8>().ok()).collect();
        let bytes = lines.map(bytes);
        found.insert(harness.to_owned(), bytes.collect());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(status: &str, cover: &str) -> KaniRun {
        let document = serde_json::json!({
            "metadata": { "kani_version": "0.67.0" },
            "verification_results": { "results": [{
                "harness_id": "roofline_model::proofs::bw_ceiling_positive",
                "status": status,
                "checks": [
                    { "category": "cover", "status": cover },
                    { "category": "assertion", "status": status, "description": "\"overflow\"" },
                ],
            }] },
        });
        let mut run = KaniRun { tool: String::new(), harnesses: Vec::new(), playback: BTreeMap::new() };
        run.collect(&document);
        run
    }

    #[test]
    fn a_success_counts_only_with_its_cover() {
        let result =
            |run: KaniRun| run.result("roofline-model-v1", "bw-ceiling-positive").map(|found| found.verdict);
        assert_eq!(run("Success", "Satisfied").tool, "kani 0.67.0");
        assert_eq!(result(run("Success", "Satisfied")), Some(Verdict::Proven));
        assert_eq!(result(run("Success", "Unsatisfiable")), Some(Verdict::Unknown));
        assert_eq!(result(run("Failure", "Satisfied")), Some(Verdict::Refuted));
    }

    #[test]
    fn harnesses_of_other_contracts_or_obligations_are_ignored() {
        let run = run("Success", "Satisfied");
        assert!(run.result("layer-roofline-v1", "bw-ceiling-positive").is_none());
        assert!(run.result("roofline-model-v1", "bw-ceiling-finite").is_none());
    }

    #[test]
    fn failed_checks_have_their_descriptions() {
        let run = run("Failure", "Satisfied");
        let found = run.result("roofline-model-v1", "bw-ceiling-positive").expect("it ran");
        assert_eq!(found.failed, ["overflow"]);
    }

    #[test]
    fn values_are_those_of_the_first_check_except_covers() {
        let block = |check: &str, first: u8| {
            format!(
                "```\n/// Test generated for harness `a::proofs::b` \n///\n/// Check for `{check}`: \"x\"\n\n#[test]\n\
                 fn f() {{\n    let concrete_vals: Vec<Vec<u8>> = vec![\n        // 1\n        vec![{first}, 2],\n    \
                     // 2\n        vec![7],\n    ];\n}}\n```\n"
            )
        };
        let log = block("cover", 1) + &block("assertion", 3) + &block("assertion", 4);
        assert_eq!(playback(&log), BTreeMap::from([("a::proofs::b".to_owned(), vec![vec![3, 2], vec![7]])]));
    }
}
