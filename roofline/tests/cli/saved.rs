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

#[cfg(unix)]
#[test]
fn a_certificate_that_never_ends_is_refused_before_it_fills_the_memory() {
    let directory = scratch::directory("prove-endless");
    let place = directory.to_str().expect("a plain path");
    let file = directory.join("hardware-v1.certificate.json");
    let refused = |why: &str| {
        crate::program::refused(&["prove", "hardware-v1", "--check-certificates", place], why);
        std::fs::remove_file(&file).expect("removed");
    };
    std::fs::File::create(&file).and_then(|file| file.set_len(1 << 40)).expect("a sparse file");
    refused("hardware-v1.certificate.json: longer than 64 MiB");
    std::os::unix::fs::symlink("/dev/zero", &file).expect("a link");
    refused("hardware-v1.certificate.json: not a regular file");
    assert!(std::process::Command::new("mkfifo").arg(&file).status().expect("runs").success());
    refused("hardware-v1.certificate.json: not a regular file");
}
