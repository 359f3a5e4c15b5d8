//! Saved results that a fuzzer found, or would begin with: none of them does harm.

mod checks;

use std::path::{Path, PathBuf};

use assert_cmd::Command;

fn exit(args: &[&str]) -> u8 {
    let output =
        Command::new(env!("CARGO_BIN_EXE_roofline")).args(args).output().expect("the program starts");
    let code = output.status.code().and_then(|code| u8::try_from(code).ok());
    code.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&path).expect("the test's own directory can be made");
    path
}

#[test]
fn saved_results_do_no_harm() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/saved/corpus");
    let directory = directory("saved");
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
    let mut command = Command::new(env!("CARGO_BIN_EXE_roofline"));
    let output =
        command.env("ROOFLINE_MACHINE", endless).arg("machine").output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("/dev/zero: longer than 64 MiB"), "{said}");
}
