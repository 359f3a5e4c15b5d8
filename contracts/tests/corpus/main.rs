//! Replays the fuzzing corpus: crashes found earlier, and seeds.

mod checks;

use std::fs;
use std::path::{Path, PathBuf};

fn directory(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Runs a check on every file of a directory.
fn replay(path: &str, check: fn(&[u8])) {
    let files: Vec<PathBuf> =
        fs::read_dir(directory(path)).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!files.is_empty(), "{path} is empty");
    for file in files.iter().filter(|file| file.is_file()) {
        check(&fs::read(file).unwrap());
    }
}

#[test]
fn contracts_pass_the_checks() {
    replay("tests/corpus/contract", checks::contract);
}

#[test]
fn shipped_and_rejected_contracts_pass_the_same_checks() {
    for (_, text) in roofline_contracts::library::BUILT_IN {
        checks::contract(text.as_bytes());
    }
    replay("tests/rejected", checks::contract);
}

#[test]
fn formulas_pass_the_checks() {
    replay("tests/corpus/formula", checks::formula);
}

#[test]
fn units_pass_the_checks() {
    replay("tests/corpus/unit", checks::unit);
}

#[test]
fn domains_pass_the_checks() {
    replay("tests/corpus/domain", checks::domain);
}
