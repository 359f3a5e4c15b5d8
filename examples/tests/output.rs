//! Every example runs and prints what its readers are promised.

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
fn a_contract_of_ones_own_is_computed_while_compiling_and_refuses_what_is_outside() {
    let shown = printed(env!("CARGO_BIN_EXE_contract"), &[]);
    let (pass, refused) = shown.split_once('\n').expect("two lines");
    // 8.5 GB / 57 GB/s.
    assert_eq!(pass, "one pass over the weights takes 149.1 ms");
    assert!(refused.starts_with("refused: bandwidth = 0 is outside its domain"), "{refused}");
}

#[test]
fn the_kernels_agree_with_plain_rust() {
    let shown = printed(env!("CARGO_BIN_EXE_kernels"), &[]);
    // 34 bytes for each block of 32 weights.
    assert!(shown.contains(&format!(": 256 rows, {} KB\n", 256 * 1024 / 32 * 34 / 1000)), "{shown}");
    assert!(shown.ends_with("is below 1e-5: true\n"), "{shown}");
}

#[test]
fn a_prediction_is_the_one_of_the_program() {
    let shown = printed(env!("CARGO_BIN_EXE_predict"), &[]);
    assert_eq!(
        shown,
        "raspberry_pi_5: 2.01 tokens/s, held back by Memory\nh100_sxm: 393.62 tokens/s, held back by Memory\n"
    );
}

#[test]
fn a_model_file_is_listed_and_a_wrong_one_is_named() {
    let program = env!("CARGO_BIN_EXE_model_file");
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../roofline/tests/models/fixtures");
    let shown = printed(program, &[&format!("{fixtures}/llama.gguf")]);
    assert!(shown.contains(" tensors, ") && shown.contains("  0 attn_q"), "{shown}");
    for (arguments, says) in [
        (vec![], "name a GGUF, SafeTensors or APR file"),
        (vec![concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")], "not a model file"),
    ] {
        let output = run(program, &arguments);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && message.contains(says), "{message}");
    }
}
