//! Fingerprints depend only on the meaning of a contract: rows of tables, prose and layout do not affect them; a formula or a
//! domain affects exactly those that depend on it.

use std::collections::{BTreeMap, BTreeSet};

use roofline_contracts::check_from;
use roofline_contracts::contract::Contract;
use roofline_contracts::fingerprint;
use roofline_contracts::library::{BUILT_IN, Found, find};
use roofline_contracts::source::Source;

/// The shipped contracts by name, with one replacement in one file.
fn shipped_with(edited: &str, from: &str, to: &str) -> BTreeMap<&'static str, Contract> {
    let source = |file: &str| {
        let mut source = find(file, None)?.source;
        if file == edited {
            assert_eq!(source.text.matches(from).count(), 1, "{edited} has `{from}` once");
            source = Source::from_bytes(file, source.text.replace(from, to).into_bytes())?;
        }
        Ok(Found { source, path: None })
    };
    let contract = |file: &str| {
        let compiled = check_from(source(file).expect("a shipped contract").source, &source);
        let shown: Vec<String> = compiled.diagnostics.iter().map(|m| m.render(&compiled.source)).collect();
        compiled.contract.unwrap_or_else(|| panic!("{}", shown.join("\n")))
    };
    BUILT_IN.iter().map(|&(file, _)| (file, contract(file))).collect()
}

/// The fingerprints of all obligations, classifiers and inputs.
fn fingerprints(contracts: &BTreeMap<&'static str, Contract>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for contract in contracts.values() {
        let id = &contract.metadata.id;
        for obligation in &contract.obligations {
            let known = found.insert(
                format!("{id} obligation {}", obligation.id),
                fingerprint::obligation(contract, obligation),
            );
            assert_eq!(known, None, "{id}: {}", obligation.id);
        }
        for classifier in &contract.classifiers {
            let key = format!("{id} classifier {}", classifier.name);
            found.insert(key, fingerprint::classifier(contract, classifier));
        }
        found.insert(format!("{id} inputs"), fingerprint::inputs(contract));
    }
    found
}

/// The keys whose fingerprint changes.
fn changed(edited: &str, from: &str, to: &str) -> Vec<String> {
    let (before, after) =
        (fingerprints(&shipped_with("", "", "")), fingerprints(&shipped_with(edited, from, to)));
    assert_eq!(before.len(), after.len());
    before.into_iter().filter(|(key, value)| after[key] != *value).map(|(key, _)| key).collect()
}

fn contract_fingerprint(edited: &str, from: &str, to: &str) -> [String; 2] {
    [shipped_with("", "", ""), shipped_with(edited, from, to)]
        .map(|contracts| fingerprint::contract(&contracts[edited]))
}

const DEVICE: &str = "    entries:\n      # NVIDIA GeForce.\n      some_new_gpu: {vendor: other, kind: other, market: other, architecture: other, \
                      bandwidth: 256, fp16: 59000, compute: 59000, capacity: 128, source: a test, as_of: 2026-01-01}\n";

#[test]
fn a_new_device_changes_no_fingerprint() {
    let edit = ("hardware-v1.yaml", "    entries:\n      # NVIDIA GeForce.\n", DEVICE);
    assert_eq!(changed(edit.0, edit.1, edit.2), [""; 0]);
    let [before, after] = contract_fingerprint(edit.0, edit.1, edit.2);
    assert_eq!(before, after);
}

#[test]
fn prose_and_notation_change_no_fingerprint() {
    let edit = (
        "offload-v1.yaml",
        "bus_time = host_bytes / (bus * 1e9 [B/GB])",
        "host_bytes/(bus * 1000000000 [B/GB])",
    );
    assert_eq!(changed(edit.0, edit.1, edit.2), [""; 0]);
}

#[test]
fn a_formula_changes_exactly_the_dependent_fingerprints() {
    let edit = ("offload-v1.yaml", "host_bytes / (bus * 1e9 [B/GB])", "2 * host_bytes / (bus * 1e9 [B/GB])");
    let wanted = [
        "offload-v1 classifier way",
        "offload-v1 obligation a-faster-bus-is-never-slower",
        "offload-v1 obligation an-ideal-is-never-faster-than-the-least",
        "offload-v1 obligation an-ideal-takes-the-better-way",
        "offload-v1 obligation computed-classified",
        "offload-v1 obligation least-time-finite",
        "offload-v1 obligation more-on-the-host-is-never-faster",
        "offload-v1 obligation never-faster-than-all-on-the-device",
        "offload-v1 obligation streaming-is-never-faster-than-all-on-the-device",
        "offload-v1 obligation with-nothing-on-the-host-nothing-is-sent",
        "offload-v1 obligation worked-streamed",
        "offload-v1 obligation worked-unhidden",
    ];
    assert_eq!(changed(edit.0, edit.1, edit.2), wanted);
    let [before, after] = contract_fingerprint(edit.0, edit.1, edit.2);
    assert_ne!(before, after);
}

#[test]
fn a_domain_changes_exactly_the_dependent_fingerprints() {
    let edit = ("offload-v1.yaml", "domain: \"[0.001, 1e6]\"", "domain: \"[0.01, 1e6]\"");
    let wanted = [
        "offload-v1 inputs",
        "offload-v1 obligation layers-not-negative",
        "offload-v1 obligation more-memory-holds-no-fewer-layers",
        "offload-v1 obligation no-more-layers-than-there-are",
        "offload-v1 obligation worked-layers",
    ];
    assert_eq!(changed(edit.0, edit.1, edit.2), wanted);
    let [before, after] = contract_fingerprint(edit.0, edit.1, edit.2);
    assert_ne!(before, after);
}

#[test]
fn a_domain_of_a_dependency_changes_dependent_fingerprints() {
    let edit = ("hardware-v1.yaml", "domain: \"[1e-6, 1e9]\"", "domain: \"[1e-6, 1e8]\"");
    let changed = changed(edit.0, edit.1, edit.2);
    let contracts: BTreeSet<&str> = changed.iter().filter_map(|key| key.split(' ').next()).collect();
    let with_bandwidth = [
        "expectation-v1",
        "hardware-v1",
        "inference-latency-v1",
        "layer-roofline-v1",
        "offload-v1",
        "operation-v1",
        "parallel-v1",
        "roofline-model-v1",
        "transformer-v1",
    ];
    assert_eq!(contracts, with_bandwidth.into());
    assert!(!changed.contains(&"offload-v1 obligation layers-not-negative".to_owned()));
}

#[test]
fn a_row_of_a_summed_table_changes_dependent_fingerprints() {
    let text = include_str!("language/layers-v1.yaml");
    let contract = |text: &str| {
        let source = Source::from_bytes("layers-v1.yaml", text.as_bytes().to_vec()).expect("a text");
        check_from(source, &|file| find(file, None)).contract.expect("a valid contract")
    };
    let (before, after) = (contract(text), contract(&text.replace("count: 31", "count: 30")));
    assert_ne!(fingerprint::contract(&before), fingerprint::contract(&after));
    for (old, new) in before.obligations.iter().zip(&after.obligations) {
        let [old, new] = [fingerprint::obligation(&before, old), fingerprint::obligation(&after, new)];
        assert_ne!(old, new);
    }
    let renamed = contract(&text.replace("kind: sparse", "kind: other"));
    assert_eq!(fingerprint::contract(&before), fingerprint::contract(&renamed));
}
