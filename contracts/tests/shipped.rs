//! The contracts that ship are without errors and without warnings.

use roofline_contracts::certify::judge;
use roofline_contracts::compile;
use roofline_contracts::contract::{Assurance, Verdict};
use roofline_contracts::library::{BUILT_IN, built_in};

#[test]
fn every_shipped_contract_compiles_without_a_mistake_or_a_warning() {
    for (file, _) in BUILT_IN {
        let compiled = compile(built_in(file).expect("a shipped contract is text"));
        let shown: Vec<String> = compiled.diagnostics.iter().map(|m| m.render(&compiled.source)).collect();
        assert!(shown.is_empty(), "{}", shown.join("\n"));
        assert!(compiled.contract.is_some(), "{file}");
    }
}

#[test]
fn every_yaml_file_of_the_crate_is_shipped() {
    let directory = std::fs::read_dir(env!("CARGO_MANIFEST_DIR")).expect("the crate has a directory");
    let mut files: Vec<String> = directory
        .map(|file| file.expect("it can be listed").file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".yaml"))
        .collect();
    files.sort();
    assert_eq!(files, BUILT_IN.iter().map(|(file, _)| (*file).to_owned()).collect::<Vec<_>>());
}

#[test]
fn every_obligation_of_a_shipped_contract_is_proven() {
    for (file, _) in BUILT_IN {
        let contract = compile(built_in(file).expect("a shipped contract is text")).contract;
        let contract = contract.expect("a shipped contract has no mistakes");
        for (obligation, proof) in contract.obligations.iter().zip(judge(&contract)) {
            let wanted =
                if obligation.assurance == Assurance::Tested { Verdict::Tested } else { Verdict::Proven };
            assert_eq!(proof.verdict, wanted, "{file}: {}: {}", proof.id, obligation.formula);
        }
    }
}
