//! `verify/fingerprints.txt`: the version and the fingerprint of each shipped contract, and a fingerprint of each harness that
//! does not belong to an obligation. A recorded version must not change its fingerprint.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use roofline_contracts::fingerprint;

use crate::contracts::Shipped;
use crate::{read, root, write};

const FILE: &str = "verify/fingerprints.txt";
const HEAD: &str = "# Fingerprints of the shipped contracts, written by `cargo xtask accept`.\n";

/// Fingerprints by name, one per line of the file.
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

/// The fingerprints of the current contracts.
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

/// The fingerprints in the file.
pub fn recorded() -> Result<Fingerprints, String> {
    Ok(parse(&read(&path())?))
}

/// The fingerprints in the last commit; those in the file without a repository.
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

/// Returns an error if the fingerprint of a version differs from that in `known`.
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
    fn the_recorded_fingerprints_are_current() {
        let contracts = shipped().expect("valid contracts");
        let recorded = recorded().expect("a readable file");
        check_versions(&contracts, &recorded).unwrap_or_else(|message| panic!("{message}"));
        assert!(recorded == current(&contracts), "{FILE} is stale; run `cargo xtask accept`");
    }

    #[test]
    fn a_changed_meaning_under_the_same_version_is_an_error() {
        let contracts = shipped().expect("valid contracts");
        let mut recorded = current(&contracts);
        assert_eq!(check_versions(&contracts, &recorded), Ok(()));
        recorded.insert(version(&contracts[0]), "another".to_owned());
        let message = check_versions(&contracts, &recorded).expect_err("a changed meaning");
        assert!(message.contains("raise `metadata.version`"), "{message}");
    }
}
