//! Replay of the fuzzing corpus.

use std::path::PathBuf;

use crate::checks;

fn replay(target: &str, check: fn(&[u8])) {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/models/corpus").join(target);
    let mut inputs = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        check(&std::fs::read(entry.unwrap().path()).unwrap());
        inputs += 1;
    }
    assert!(inputs > 10, "{target} has {inputs} inputs");
}

#[test]
fn gguf_corpus_passes_the_checks() {
    replay("gguf", checks::gguf);
}

#[test]
fn safetensors_corpus_passes_the_checks() {
    replay("safetensors", checks::safetensors);
}

#[test]
fn apr_corpus_passes_the_checks() {
    replay("apr", checks::apr);
}

#[test]
fn config_corpus_passes_the_checks() {
    replay("config", checks::config);
}

#[test]
fn fixtures_pass_the_checks() {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/models/fixtures");
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        for check in [checks::gguf, checks::safetensors, checks::apr, checks::config] {
            check(&bytes);
        }
    }
}
