//! Runs of the program, by default on a saved machine.

use std::process::{Command, Output};

use serde_json::Value;

use roofline_test_support::scratch;

/// A saved machine with 45 GB/s, 200 GFLOP/s and 380 Gop/s, so that tests do not measure.
pub const MACHINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/machine.json");
/// A saved result of `roofline bench`.
pub const BENCH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/bench.json");
/// Published results of an M2 Ultra, in the format of `llama-bench -o json`.
pub const RUNS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/m2-ultra.json");
/// A contract with every kind of item.
pub const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/diff/base.yaml");
/// A small `config.json`.
pub const CONFIG: &str = r#"{"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 256,
    "max_position_embeddings": 2048}"#;

/// Returns the program with a fixed environment, except for `PATH`.
pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roofline"));
    command.env_clear().env("LANG", "C.UTF-8").env("ROOFLINE_MACHINE", MACHINE);
    command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command
}

pub fn run(args: &[&str]) -> Output {
    command().args(args).output().expect("the program starts")
}

pub fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

pub fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

/// Returns the standard output of a successful run.
pub fn printed(args: &[&str]) -> String {
    let output = run(args);
    assert!(output.status.success(), "{args:?}: {}", err(&output));
    out(&output)
}

/// Returns the JSON document of a run with any exit code.
pub fn json(args: &[&str]) -> Value {
    let output = run(&[args, &["--format", "json"]].concat());
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{args:?}: {error}: {}{}", out(&output), err(&output)))
}

/// Checks that a run fails with exit code 2 and prints only a message that contains `text`.
pub fn rejected(args: &[&str], text: &str) {
    let output = run(args);
    let message = err(&output);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {message}");
    assert!(message.contains(text), "{args:?}: {message}");
    assert!(output.stdout.is_empty(), "{args:?}: {}", out(&output));
}

/// Creates a file in a directory of its name.
pub fn file(name: &str, bytes: impl AsRef<[u8]>) -> String {
    let path = scratch::files(name, &[(name, bytes.as_ref())]).join(name);
    path.to_str().expect("a plain path").to_owned()
}

/// Returns the commands in the help of the program, except `help`.
pub fn commands() -> Vec<String> {
    let help = printed(&["--help"]);
    let (_, list) = help.split_once("Usage:").expect("help contains the usage");
    let (list, _) = list.split_once("Options:").expect("help lists options after commands");
    let command =
        |line: &&str| line.starts_with("  ") && line[2..].starts_with(|c: char| c.is_ascii_lowercase());
    let lines = list.lines().filter(command);
    let names = lines.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    let names: Vec<String> = names.map(str::to_owned).collect();
    assert!(names.iter().any(|name| name == "machine"), "{names:?}");
    names
}
