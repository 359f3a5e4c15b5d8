//! Snapshots of the diagnostics of every kind of error.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use roofline_contracts::compile;
use roofline_contracts::report::Severity;
use roofline_contracts::source::Source;

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

fn fixtures() -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(directory("rejected")).expect("the fixtures are there");
    let mut found: Vec<(String, PathBuf)> = entries
        .map(|entry| entry.expect("a directory entry").path())
        .map(|path| (path.file_stem().expect("a name").to_string_lossy().into_owned(), path))
        .collect();
    found.sort();
    found
}

/// Fixtures whose errors are only warnings.
const WARNINGS: [&str; 2] = ["obligation-vacuous", "quantity-unused"];

#[test]
fn every_rejected_fixture_has_its_message() {
    let fixtures = fixtures();
    assert!(fixtures.len() >= 30, "only {} fixtures", fixtures.len());
    for (name, path) in &fixtures {
        let source = Source::read(path, &format!("{name}.yaml")).expect("readable");
        let compiled = compile(source);
        let shown: Vec<String> =
            compiled.diagnostics.iter().map(|diagnostic| diagnostic.render(&compiled.source)).collect();
        if !WARNINGS.contains(&name.as_str()) {
            assert!(compiled.contract.is_none(), "{name} was accepted");
        }
        assert!(!shown.is_empty(), "{name} has no message");
        insta::assert_snapshot!(name.as_str(), shown.join("\n\n"));
    }
}

#[test]
fn every_snapshot_belongs_to_a_fixture() {
    let fixtures: BTreeSet<String> =
        fixtures().into_iter().map(|(name, _)| format!("diagnostics__{name}.snap")).collect();
    for entry in std::fs::read_dir(directory("snapshots")).expect("the snapshots are there") {
        let name = entry.expect("a directory entry").file_name().to_string_lossy().into_owned();
        if name.starts_with("diagnostics__") && name.ends_with(".snap") {
            assert!(fixtures.contains(&name), "{name} has no fixture");
        }
    }
}

#[test]
fn all_errors_of_a_contract_are_reported_at_once() {
    let path = directory("rejected").join("many-mistakes.yaml");
    let compiled = compile(Source::read(&path, "many-mistakes.yaml").expect("readable"));
    let errors = compiled.rendered(Severity::Error).count();
    assert!(errors >= 4, "{errors} errors");
}
