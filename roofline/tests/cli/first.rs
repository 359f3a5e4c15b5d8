//! `roofline` without a command.

use serde_json::Value;

use crate::program::{command, err, out, printed};
use roofline_test_support::scratch::directory;

#[test]
fn the_suggested_commands_exist() {
    let shown = printed(&[]);
    let (_, next) = shown.rsplit_once("Next:\n").expect("commands are suggested");
    let commands: Vec<&str> = next.lines().filter_map(|line| line.trim().strip_prefix("roofline ")).collect();
    assert_eq!(commands.len(), 3, "{next}");
    for command in commands {
        let args: Vec<&str> = command.split_whitespace().collect();
        let help = printed(&[args[0], "--help"]);
        for option in args.iter().filter(|arg| arg.starts_with("--")) {
            assert!(help.contains(option), "{option} is not in {help}");
        }
    }
}

#[test]
fn every_terminal_width_is_supported() {
    let first = |variable: &str, value: &str, args: &[&str]| {
        let output = command().env(variable, value).args(args).output().expect("the program starts");
        assert!(output.status.success(), "{}", err(&output));
        out(&output)
    };
    for columns in ["0", "1", "31", "32", "60", "120", "100000", "wide", "-5"] {
        for args in [&[][..], &["--ascii"]] {
            let shown = first("COLUMNS", columns, args);
            assert!(shown.contains("Next:\n") && shown.contains("q4_k"), "{columns}: {shown}");
            assert!(args.is_empty() || shown.is_ascii(), "{columns}: {shown}");
        }
    }
    assert!(first("LANG", "C", &[]).is_ascii());
}

#[test]
fn the_machine_is_measured_and_nothing_is_saved() {
    let home = directory("first-home");
    let home = home.to_str().unwrap();
    let mut command = command();
    command.env_remove("ROOFLINE_MACHINE").env("HOME", home).env("XDG_CACHE_HOME", home);
    let output = command.args(["--size", "16MiB", "--format", "json"]).output().expect("the program starts");
    assert!(output.status.success(), "{}", err(&output));
    let shown: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&shown["schema"], &shown["machine"]["quick"]), (&"roofline.first/2".into(), &true.into()));
    assert_eq!(std::fs::read_dir(home).unwrap().count(), 0);
}
