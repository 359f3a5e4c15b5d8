//! The workflow of the code host runs exactly the parts of `.ci/run`.

use std::collections::BTreeSet;
use std::path::Path;

use serde_yaml::Value;

fn root(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the commands of a job, expanded by its matrix.
fn commands(job: &Value) -> Vec<String> {
    let steps = job["steps"].as_sequence().expect("a job has steps");
    let runs = steps.iter().filter_map(|step| step["run"].as_str());
    let parts = job["strategy"]["matrix"]["part"].as_sequence();
    let Some(parts) = parts else { return runs.map(str::to_owned).collect() };
    let parts = parts.iter().map(|part| part.as_str().expect("a part is a word"));
    parts.flat_map(|part| runs.clone().map(|run| run.replace("${{ matrix.part }}", part))).collect()
}

#[test]
fn the_workflow_runs_each_part_of_ci_exactly_once() {
    let script = root(".ci/run");
    let (_, list) = script.split_once("\nparts=(").expect("the script lists its parts");
    let (list, _) = list.split_once(')').expect("the list ends");
    let known: BTreeSet<&str> = list.split(' ').collect();
    assert!(known.contains("tests") && known.contains("memory"), "{known:?}");

    let workflow: Value = serde_yaml::from_str(&root(".github/workflows/ci.yml")).expect("YAML");
    let mut called = BTreeSet::new();
    for (name, job) in workflow["jobs"].as_mapping().expect("jobs") {
        assert!(job["runs-on"].is_string(), "{name:?} has no runner");
        for command in commands(job) {
            for part in command.strip_prefix(".ci/run").into_iter().flat_map(str::split_whitespace) {
                assert!(known.contains(part), "{name:?}: {part} is not a part of .ci/run");
                assert!(called.insert(part.to_owned()), "{part} is run by two jobs");
            }
        }
    }
    assert_eq!(called.iter().map(String::as_str).collect::<BTreeSet<_>>(), known);
}

#[cfg(unix)]
#[test]
fn an_unknown_part_is_rejected_before_any_part_runs() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.ci/run");
    let output =
        std::process::Command::new(script).args(["format", "frobnicate"]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    assert!(
        String::from_utf8_lossy(&output.stderr)
            .contains("unknown part frobnicate; expected one of format locks lint")
    );
}
