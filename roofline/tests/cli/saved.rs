//! Saved results that a fuzzer found, or would begin with: none of them does harm.

mod checks;

use std::path::Path;

use crate::program::{command, err, run};
use roofline_test_support::scratch;

fn exit(args: &[&str]) -> u8 {
    let output = run(args);
    let code = output.status.code().and_then(|code| u8::try_from(code).ok());
    code.unwrap_or_else(|| panic!("{}", err(&output)))
}

#[test]
fn saved_results_do_no_harm() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/saved/corpus");
    let directory = scratch::directory("saved");
    let mut inputs = 0;
    for entry in std::fs::read_dir(corpus).unwrap() {
        checks::saved(&std::fs::read(entry.unwrap().path()).unwrap(), &directory, exit);
        inputs += 1;
    }
    assert!(inputs >= 8, "{inputs} inputs");
}

#[cfg(unix)]
#[test]
fn a_file_without_an_end_is_refused() {
    let endless = "/dev/zero";
    for args in [
        &["plot", endless][..],
        &["gate", endless],
        &["prove", "roofline-model-v1", "--ledger", endless],
        &["profile", "no-such-model.gguf", "--llama-bench", endless],
    ] {
        assert_eq!(exit(args), 2, "{args:?}");
    }
    let output =
        command().env("ROOFLINE_MACHINE", endless).arg("machine").output().expect("the program starts");
    let said = err(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("/dev/zero: longer than 64 MiB"), "{said}");
}
