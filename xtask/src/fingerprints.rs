//! `verify/fingerprints.txt`: for each shipped contract its version and the fingerprint of its meaning, and a fingerprint for each
//! harness that is not about an obligation. A version that is in the file has one meaning.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use roofline_contracts::fingerprint;

use crate::contracts::Shipped;
use crate::{read, root, write};

const FILE: &str = "verify/fingerprints.txt";
const HEAD: &str = "# Fingerprints of the shipped contracts, written by `cargo xtask accept`.\n";

/// The lines of the file: a fingerprint for each name.
pub type Fingerprints = BTreeMap<String, String>;

fn path() -> PathBuf {
    root().join(FILE)
}

fn parse(text: &str) -> Fingerprints {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.rsplit_once(' '))
        .map(|(name, hash)| (name.to_owned(), hash.to_owned()))
        .collect()
}

/// The name of a contract's line.
pub fn version(shipped: &Shipped) -> String {
    format!("{} {}", shipped.id(), shipped.contract.metadata.version)
}

/// What the file must say.
pub fn current(contracts: &[Shipped]) -> Fingerprints {
    let mut found = Fingerprints::new();
    for shipped in contracts {
        let contract = &shipped.contract;
        found.insert(version(shipped), fingerprint::contract(contract));
        for harness in shipped.harnesses() {
            let classifier =
                contract.classifiers.iter().find(|classifier| harness == chooses_first(&classifier.name));
            let fingerprint = match classifier {
                Some(classifier) => fingerprint::classifier(contract, classifier),
                None if harness == INPUTS => fingerprint::inputs(contract),
                None => continue,
            };
            found.insert(format!("{} {harness}", shipped.id()), fingerprint);
        }
    }
    found
}

const INPUTS: &str = "inputs_are_accepted_inside_their_domains_only";

fn chooses_first(classifier: &str) -> String {
    format!("{classifier}_is_the_first_case_that_holds")
}

/// What the file says.
pub fn recorded() -> Result<Fingerprints, String> {
    Ok(parse(&read(&path())?))
}

/// What the file said in the last commit; what it says now if there is no repository.
pub fn committed() -> Result<Fingerprints, String> {
    let output = Command::new("git").args(["show", &format!("HEAD:{FILE}")]).current_dir(root()).output();
    match output {
        Ok(output) if output.status.success() => Ok(parse(&String::from_utf8_lossy(&output.stdout))),
        _ => recorded(),
    }
}

/// Writes the file.
pub fn save(fingerprints: &Fingerprints) -> Result<(), String> {
    let lines: String = fingerprints.iter().map(|(name, hash)| format!("{name} {hash}\n")).collect();
    write(&path(), &(HEAD.to_owned() + &lines))
}

/// An error if a contract has another meaning than `known` says of the same version.
pub fn check_versions(contracts: &[Shipped], known: &Fingerprints) -> Result<(), String> {
    let changed = contracts.iter().filter(|shipped| {
        let recorded = known.get(&version(shipped));
        recorded.is_some_and(|recorded| *recorded != fingerprint::contract(&shipped.contract))
    });
    let changed: Vec<String> = changed
        .map(|shipped| {
            let version = &shipped.contract.metadata.version;
            format!(
                "contracts/{}.yaml: changed formula, domain or unit under version {version}",
                shipped.id()
            )
        })
        .collect();
    if changed.is_empty() { Ok(()) } else { Err(format!("{}; raise `metadata.version`", changed.join("\n"))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contracts::shipped;

    #[test]
    fn a_contract_with_another_meaning_has_another_version() {
        let contracts = shipped().expect("the shipped contracts have no mistakes");
        let recorded = recorded().expect("the file is there");
        check_versions(&contracts, &recorded).unwrap_or_else(|message| panic!("{message}"));
        assert!(recorded == current(&contracts), "{FILE} is not current; run `cargo xtask accept`");
    }

    #[test]
    fn a_changed_meaning_under_the_same_version_is_an_error() {
        let contracts = shipped().expect("the shipped contracts have no mistakes");
        let mut recorded = current(&contracts);
        assert_eq!(check_versions(&contracts, &recorded), Ok(()));
        recorded.insert(version(&contracts[0]), "another".to_owned());
        let message = check_versions(&contracts, &recorded).expect_err("another meaning");
        assert!(message.contains("raise `metadata.version`"), "{message}");
    }
}
