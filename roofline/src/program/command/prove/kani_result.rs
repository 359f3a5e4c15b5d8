//! The result of a Kani run, as `cargo kani --export-json` writes it.

use std::path::Path;

use roofline_contracts::contract::Verdict;
use roofline_contracts::emit::kani::function_name;
use roofline_contracts::emit::rust::module_name;
use serde_json::Value;

use crate::document;
use crate::program::Failure;

/// Kani lists every check of every harness.
const LONGEST_MIB: u64 = 1024;

/// The harnesses that ran.
#[derive(Debug)]
pub struct KaniRun {
    /// Kani and its version.
    pub tool: String,
    harnesses: Vec<(Vec<String>, Verdict)>,
}

impl KaniRun {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<KaniRun, Failure> {
        let text = document::read_up_to(LONGEST_MIB, path)
            .map_err(|error| Failure(format!("{}: can't be read: {error}", path.display())))?;
        let document: Value = serde_json::from_str(&text)
            .map_err(|error| Failure(format!("{}: is not JSON: {error}", path.display())))?;
        let mut run = KaniRun { tool: "kani".into(), harnesses: Vec::new() };
        run.collect(&document);
        if run.harnesses.is_empty() {
            let message = "has no harness results; write it with `cargo kani --export-json FILE`";
            return Err(Failure(format!("{}: {message}", path.display())));
        }
        Ok(run)
    }

    /// Harness results are wherever an object has a `harness_id`, a `status` and `checks`.
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
                        let path = id.split("::").map(str::to_owned).collect();
                        self.harnesses.push((path, verdict(status, checks)));
                    }
                    pending.extend(fields.values());
                }
                _ => {}
            }
        }
    }

    /// What became of an obligation's harness; none if it did not run.
    pub fn result(&self, contract: &str, obligation: &str) -> Option<Verdict> {
        let (function, module) = (function_name(obligation), module_name(contract));
        let found = self.harnesses.iter().find(|(path, _)| match path.as_slice() {
            [.., of, proofs, name] => {
                // A module may be called after the contract with or without its version.
                let same =
                    *of == module || module.strip_prefix(of.as_str()).is_some_and(|v| v.starts_with("_v"));
                same && proofs == "proofs" && *name == function
            }
            _ => false,
        });
        found.map(|(_, verdict)| *verdict)
    }
}

/// A success counts only if what must be reachable was reached.
fn verdict(status: &str, checks: &[Value]) -> Verdict {
    let text = |check: &Value, key: &str| {
        check.get(key).and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase()
    };
    let mut covers = checks.iter().filter(|check| text(check, "category") == "cover");
    let covered = covers.all(|check| text(check, "status") == "satisfied");
    if !status.eq_ignore_ascii_case("success") {
        let failed = checks.iter().any(|check| text(check, "status") == "failure");
        return if failed { Verdict::Refuted } else { Verdict::Unknown };
    }
    if covered { Verdict::Proven } else { Verdict::Unknown }
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
                "checks": [{ "category": "cover", "status": cover }, { "category": "assertion", "status": status }],
            }] },
        });
        let mut run = KaniRun { tool: String::new(), harnesses: Vec::new() };
        run.collect(&document);
        run
    }

    #[test]
    fn a_success_counts_only_with_its_cover() {
        let result = |run: KaniRun| run.result("roofline-model-v1", "bw-ceiling-positive");
        assert_eq!(run("Success", "Satisfied").tool, "kani 0.67.0");
        assert_eq!(result(run("Success", "Satisfied")), Some(Verdict::Proven));
        assert_eq!(result(run("Success", "Unsatisfiable")), Some(Verdict::Unknown));
        assert_eq!(result(run("Failure", "Satisfied")), Some(Verdict::Refuted));
    }

    #[test]
    fn a_harness_of_another_contract_or_obligation_says_nothing() {
        let run = run("Success", "Satisfied");
        assert_eq!(run.result("layer-roofline-v1", "bw-ceiling-positive"), None);
        assert_eq!(run.result("roofline-model-v1", "bw-ceiling-finite"), None);
    }
}
