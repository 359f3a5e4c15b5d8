//! The device registry refuses the mistakes that are usual in such lists: each file in `devices/` is one entry with
//! one of them.

use std::collections::BTreeSet;
use std::path::Path;

use roofline_contracts::compile;
use roofline_contracts::report::Severity;
use roofline_contracts::source::Source;

const REGISTRY: &str = include_str!("../hardware-v1.yaml");

/// The errors of the registry with one more entry.
fn errors_with(entry: &str) -> Vec<String> {
    let entry: String = entry.lines().skip(1).map(|line| format!("      {line}\n")).collect();
    let (before, after) = REGISTRY.split_once("\nobligations:").expect("the registry has obligations");
    let text = format!("{before}{entry}\nobligations:{after}");
    let source = Source::from_bytes("hardware-v1.yaml", text.into_bytes()).expect("the registry is text");
    let compiled = compile(source);
    compiled.mistakes.iter().filter(|m| m.severity == Severity::Error).map(|m| m.message.clone()).collect()
}

fn mistakes() -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/devices");
    let mut found: Vec<(String, String)> = std::fs::read_dir(directory)
        .expect("the fixtures are there")
        .map(|file| {
            let path = file.expect("the fixtures can be listed").path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).expect("a fixture can be read"))
        })
        .collect();
    found.sort();
    found
}

fn rules() -> BTreeSet<&'static str> {
    let (_, rules) = REGISTRY.split_once("\n    rules:").expect("the registry has rules");
    let (rules, _) = rules.split_once("\n    entries:").expect("entries follow the rules");
    rules.lines().filter_map(|line| line.trim().strip_prefix("- id: ")).collect()
}

#[test]
fn every_usual_mistake_is_refused_by_its_own_rule() {
    for (name, entry) in mistakes() {
        let expected = match name.as_str() {
            "no-source" => "profile `mistake` has no `source`".to_owned(),
            "no-date" => "profile `mistake` has no `as_of`".to_owned(),
            "gib-as-gb" => "the value is in GiB, not in GB".to_owned(),
            rule => format!("profile `mistake` breaks the rule `{rule}`"),
        };
        let errors = errors_with(&entry);
        assert!(errors.len() == 1 && errors[0].starts_with(&expected), "{name}: {errors:#?}");
    }
}

#[test]
fn every_rule_of_the_registry_has_a_mistake_that_only_it_refuses() {
    let fixtures: BTreeSet<String> = mistakes().into_iter().map(|(name, _)| name).collect();
    let without: Vec<&str> = rules().into_iter().filter(|rule| !fixtures.contains(*rule)).collect();
    assert_eq!(without, Vec::<&str>::new());
}

#[test]
fn an_entry_without_a_mistake_is_accepted() {
    let entry = "# A device of the future.\nfuture:\n  vendor: nvidia\n  kind: gpu\n  architecture: blackwell\n  \
                 fp32: 75000 Gflop/s\n  compute: 75000 Gflop/s\n  bandwidth: 8000 GB/s\n  source: a data sheet\n  as_of: 2026-11-01\n";
    assert_eq!(errors_with(entry), Vec::<String>::new());
}
