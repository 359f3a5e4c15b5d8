//! The rules of the device registry detect common errors: each file in `devices/` is an entry with one error, and
//! `devices/wrong.csv` lists wrong figures from other sources, which replace those of the registry.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use roofline_contracts::compile;
use roofline_contracts::report::Severity;
use roofline_contracts::source::Source;

const REGISTRY: &str = include_str!("../hardware-v1.yaml");
const WRONG: &str = include_str!("devices/wrong.csv");

/// The registry before the entries, the entries, and the rest.
fn parts() -> (&'static str, &'static str, &'static str) {
    let (before, rest) = REGISTRY.split_once("\n    entries:\n").expect("the registry has entries");
    let (entries, after) = rest.split_once("\nobligations:").expect("obligations follow the entries");
    (before, entries, after)
}

/// The errors of the registry with this as its only entry.
fn errors_of(entry: &str) -> Vec<String> {
    let (before, _, after) = parts();
    let text = format!("{before}\n    entries:\n{entry}\nobligations:{after}");
    let source = Source::from_bytes("hardware-v1.yaml", text.into_bytes()).expect("the registry is text");
    let compiled = compile(source);
    compiled.diagnostics.iter().filter(|m| m.severity == Severity::Error).map(|m| m.message.clone()).collect()
}

/// A fixture, indented like an entry, without its first line, which describes the error.
fn indented(fixture: &str) -> String {
    fixture.lines().skip(1).map(|line| format!("      {line}\n")).collect()
}

fn diagnostics() -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/devices");
    let mut found: Vec<(String, String)> = std::fs::read_dir(directory)
        .expect("the fixtures are there")
        .map(|file| file.expect("the fixtures can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .map(|path| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).expect("a fixture can be read"))
        })
        .collect();
    found.sort();
    found
}

fn rules() -> BTreeSet<&'static str> {
    let (_, rules) = parts().0.split_once("\n    rules:").expect("the registry has rules");
    rules.lines().filter_map(|line| line.trim().strip_prefix("- id: ")).collect()
}

/// The lines of the entry of this name.
fn entry(name: &str) -> Vec<String> {
    let head = format!("      {name}:");
    let mut lines = parts().1.lines().skip_while(|line| *line != head);
    let first = lines.next().unwrap_or_else(|| panic!("the registry has no {name}"));
    let rest = lines.take_while(|line| line.starts_with("        "));
    std::iter::once(first).chain(rest).map(str::to_owned).collect()
}

/// The entry with some figures replaced by `field=value` pairs.
fn entry_with(name: &str, figures: &str) -> String {
    let mut lines = entry(name);
    for figure in figures.split(' ') {
        let (field, value) = figure.split_once('=').expect("field=value");
        let key = format!("        {field}: ");
        let line = format!("{key}{value}");
        match lines.iter_mut().find(|line| line.starts_with(&key)) {
            Some(old) => *old = line,
            None => lines.push(line),
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn every_common_error_is_detected_by_its_rule() {
    for (name, entry) in diagnostics() {
        let expected = match name.as_str() {
            "no-source" => "missing `source` in profile `mistake`".to_owned(),
            "no-date" => "missing `as_of` in profile `mistake`".to_owned(),
            "gib-as-gb" => "the value is in GiB, not in GB".to_owned(),
            rule => format!("profile `mistake` violates the rule `{rule}`"),
        };
        let errors = errors_of(&indented(&entry));
        assert!(errors.len() == 1 && errors[0].starts_with(&expected), "{name}: {errors:#?}");
    }
}

#[test]
fn every_rule_has_an_error_that_only_it_detects() {
    let fixtures: BTreeSet<String> = diagnostics().into_iter().map(|(name, _)| name).collect();
    let without: Vec<&str> = rules().into_iter().filter(|rule| !fixtures.contains(*rule)).collect();
    assert_eq!(without, Vec::<&str>::new());
}

#[test]
fn a_correct_entry_is_accepted() {
    let entry = "# A device of the future.\nfuture:\n  vendor: nvidia\n  kind: gpu\n  market: data_center\n  architecture: \
                 blackwell\n  launch_year: 2030\n  fp32: 75000 Gflop/s\n  compute: 75000 Gflop/s\n  bandwidth: 8000 GB/s\n  \
                 source: a data sheet\n  as_of: 2026-11-01\n";
    assert_eq!(errors_of(&indented(entry)), Vec::<String>::new());
}

#[test]
fn wrong_figures_are_detected_or_listed_with_a_reason() {
    // For each row of the list, true if its figures are rejected.
    let mut refused: BTreeMap<u32, bool> = BTreeMap::new();
    for line in WRONG.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let [row, device, figures, _, expected, why_none] = cells[..] else { panic!("six cells: {line}") };
        let expected: Vec<&str> = expected.split(' ').filter(|rule| *rule != "-").collect();
        assert_eq!(
            expected.is_empty(),
            !why_none.is_empty(),
            "a reason is required if and only if no rule applies: {line}"
        );
        // Rows about devices outside of the registry are skipped.
        if device != "-" {
            let right = errors_of(&(entry(device).join("\n") + "\n"));
            assert_eq!(right, Vec::<String>::new(), "{device} without the change");
            let found = errors_of(&entry_with(device, figures));
            let broken: Vec<&str> = found
                .iter()
                .map(|error| {
                    error.split("violates the rule `").nth(1).and_then(|rest| rest.split('`').next())
                })
                .map(|rule| rule.unwrap_or_else(|| panic!("not a rule: {found:#?}")))
                .collect();
            assert_eq!(broken, expected, "{line}");
        }
        *refused.entry(row.parse().expect("a number")).or_insert(true) &= !expected.is_empty();
    }
    let caught = refused.values().filter(|refused| **refused).count();
    assert_eq!((caught, refused.len()), (97, 110));
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guide-device.md");
    let guide = std::fs::read_to_string(guide).expect("the guide is there");
    assert!(guide.contains(&format!("The rules reject {caught} of {} such figures", refused.len())));
}
