//! Replay of the fuzzer's corpus of saved results.

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
fn damaged_results_are_handled() {
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
fn an_endless_file_is_rejected() {
    let endless = "/dev/zero";
    for args in [
        &["plot", endless][..],
        &["gate", endless],
        &["contract", "prove", "roofline-model-v1", "--ledger", endless],
        &["profile", "no-such-model.gguf", "--llama-bench", endless],
    ] {
        assert_eq!(exit(args), 2, "{args:?}");
    }
    let output =
        command().env("ROOFLINE_MACHINE", endless).arg("machine").output().expect("the program starts");
    let message = err(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("/dev/zero: larger than 64 MiB"), "{message}");
}

#[cfg(unix)]
#[test]
fn an_endless_certificate_is_rejected() {
    let directory = scratch::directory("prove-endless");
    let place = directory.to_str().expect("a plain path");
    let file = directory.join("hardware-v1.certificate.json");
    let rejected = |reason: &str| {
        crate::program::rejected(
            &["contract", "prove", "hardware-v1", "--check-certificates", place],
            reason,
        );
        std::fs::remove_file(&file).expect("removed");
    };
    std::fs::File::create(&file).and_then(|file| file.set_len(1 << 40)).expect("a sparse file");
    rejected("hardware-v1.certificate.json: larger than 64 MiB");
    std::os::unix::fs::symlink("/dev/zero", &file).expect("a link");
    rejected("hardware-v1.certificate.json: not a regular file");
    assert!(std::process::Command::new("mkfifo").arg(&file).status().expect("runs").success());
    rejected("hardware-v1.certificate.json: not a regular file");
}
