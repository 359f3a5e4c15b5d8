//! Runs every example and checks its output.

use std::process::{Command, Output};

fn run(program: &str, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).output().expect("the example starts")
}

fn printed(program: &str, arguments: &[&str]) -> String {
    let output = run(program, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn a_custom_contract_is_evaluated_and_rejects_invalid_inputs() {
    let shown = printed(env!("CARGO_BIN_EXE_contract"), &[]);
    let (pass, rejected) = shown.split_once('\n').expect("two lines");
    // 8.5 GB / 57 GB/s.
    assert_eq!(pass, "one pass over the weights takes 149.1 ms");
    assert!(rejected.starts_with("rejected: bandwidth = 0 is outside its domain"), "{rejected}");
}

#[test]
fn the_kernels_agree_with_the_scalar_kernel() {
    let shown = printed(env!("CARGO_BIN_EXE_kernels"), &[]);
    // 34 bytes per block of 32 weights.
    assert!(shown.contains(&format!(": 256 rows, {} KB\n", 256 * 1024 / 32 * 34 / 1000)), "{shown}");
    assert!(shown.ends_with("is below 1e-5: true\n"), "{shown}");
}

#[test]
fn a_prediction_has_the_ceilings_of_the_program() {
    let shown = printed(env!("CARGO_BIN_EXE_predict"), &[]);
    assert_eq!(shown, "raspberry-pi-5: 2.01 tok/s, memory-bound\nh100-sxm: 393.62 tok/s, memory-bound\n");
}

#[test]
fn a_model_file_is_listed_and_other_files_are_errors() {
    let program = env!("CARGO_BIN_EXE_model_file");
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../roofline/tests/models/fixtures");
    let shown = printed(program, &[&format!("{fixtures}/llama.gguf")]);
    assert!(shown.contains(" tensors, ") && shown.contains("  0 attn_q"), "{shown}");
    for (arguments, expected) in [
        (vec![], "expected a GGUF, SafeTensors or APR file"),
        (vec![concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")], "not a model file"),
    ] {
        let output = run(program, &arguments);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && message.contains(expected), "{message}");
    }
}
