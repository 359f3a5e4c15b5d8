//! The program as its users run it: started the same way in every test, on a saved machine unless a test says otherwise.

use std::process::{Command, Output};

use serde_json::Value;

use roofline_test_support::scratch;

/// A saved machine, so that no test measures this one by accident: 45 GB/s, 200 GFLOP/s, 380 Gop/s.
pub const MACHINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/machine.json");
/// Saved times of the kernels.
pub const BENCH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/bench.json");
/// Published speeds of an M2 Ultra, as `llama-bench -o json` prints them.
pub const RUNS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/m2-ultra.json");
/// A contract with one of everything.
pub const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/diff/base.yaml");
/// The fields of a small `config.json`.
pub const CONFIG: &str = r#"{"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 256,
    "max_position_embeddings": 2048}"#;

/// The program in an environment that is the same everywhere; what it calls is on the path.
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

/// What is printed by a run that must end well.
pub fn printed(args: &[&str]) -> String {
    let output = run(args);
    assert!(output.status.success(), "{args:?}: {}", err(&output));
    out(&output)
}

/// The JSON document of a run, however it ends.
pub fn json(args: &[&str]) -> Value {
    let output = run(&[args, &["--format", "json"]].concat());
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{args:?}: {error}: {}{}", out(&output), err(&output)))
}

/// Bad input or wrong use: nothing but a message with these words, and exit code 2.
pub fn refused(args: &[&str], says: &str) {
    let output = run(args);
    let message = err(&output);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {message}");
    assert!(message.contains(says), "{args:?}: {message}");
    assert!(output.stdout.is_empty(), "{args:?}: {}", out(&output));
}

/// A file in a directory that is named after it.
pub fn file(name: &str, bytes: impl AsRef<[u8]>) -> String {
    let path = scratch::files(name, &[(name, bytes.as_ref())]).join(name);
    path.to_str().expect("a plain path").to_owned()
}

/// The commands that the program itself lists, without `help`.
pub fn commands() -> Vec<String> {
    let help = printed(&["--help"]);
    let (_, list) = help.split_once("Usage:").expect("help says how it is used");
    let (list, _) = list.split_once("Options:").expect("help lists the commands, then the options");
    let command =
        |line: &&str| line.starts_with("  ") && line[2..].starts_with(|c: char| c.is_ascii_lowercase());
    let lines = list.lines().filter(command);
    let names = lines.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    let names: Vec<String> = names.map(str::to_owned).collect();
    assert!(names.iter().any(|name| name == "machine"), "{names:?}");
    names
}
