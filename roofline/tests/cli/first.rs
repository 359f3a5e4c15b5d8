//! `roofline` without a command, as a newcomer meets it.

use std::fs;
use std::process::Output;

use serde_json::Value;

use crate::program::{MACHINE, command, err, file, out, run};
use roofline_test_support::scratch::directory;

fn program(variables: &[(&str, &str)], args: &[&str]) -> Output {
    command().envs(variables.iter().copied()).args(args).output().expect("the program starts")
}

fn first(variables: &[(&str, &str)], args: &[&str]) -> String {
    let output = program(variables, args);
    assert!(output.status.success(), "{}", err(&output));
    out(&output)
}

#[test]
fn the_roofline_is_drawn_and_the_models_stand_on_it() {
    insta::assert_snapshot!(first(&[], &[]));
}

#[test]
fn it_ends_with_three_commands_that_the_program_has() {
    let shown = first(&[], &[]);
    let (_, next) = shown.rsplit_once("Next:\n").expect("there is a next step");
    let commands: Vec<&str> = next.lines().filter_map(|line| line.trim().strip_prefix("roofline ")).collect();
    assert_eq!(commands.len(), 3, "{next}");
    for command in commands {
        let args: Vec<&str> = command.split_whitespace().collect();
        let output = run(&[&args[..1], &["--help"]].concat());
        let help = out(&output);
        for option in args.iter().filter(|arg| arg.starts_with("--")) {
            assert!(help.contains(option), "{option} is not in {help}");
        }
    }
    assert!(first(&[("CARGO", "cargo")], &[]).contains("\n  cargo run --release -- profile MODEL.gguf\n"));
}

#[test]
fn the_figures_are_those_of_predict() {
    let shown: Value = serde_json::from_str(&first(&[], &["--format", "json"])).expect("JSON");
    let models = shown["models"].as_array().expect("a list");
    assert_eq!(models.len(), 4);
    for placed in models {
        let (model, weights) = (placed["model"].as_str().unwrap(), placed["weights"].as_str().unwrap());
        let args = ["predict", model, "--quant", weights, "--on", "this", "--format", "json"];
        let predicted: Value = serde_json::from_str(&first(&[], &args)).expect("JSON");
        let entry = &predicted["predictions"][0];
        assert_eq!(placed["decode"]["ceiling_tokens_per_s"], entry["results"]["decode_ceiling"]);
        assert_eq!(placed["prefill"]["ceiling_tokens_per_s"], entry["results"]["prefill_ceiling"]);
        let roof = if weights == "q8_0" { "int8" } else { "int4" };
        assert_eq!(entry["precision"], roof, "{weights}");
        assert_eq!(placed["decode"]["bound"], entry["decode_bound"]);
        assert_eq!(placed["fits"], entry["fits"]);
    }
}

#[test]
fn the_roof_of_bytes_is_no_ceiling_for_fewer_bits_and_a_lower_bound_is_none_at_all() {
    let saved = fs::read_to_string(MACHINE).expect("the fixture is there");
    let prefills = |name: &str, saved: String| {
        let shown = first(&[("ROOFLINE_MACHINE", &file(name, saved))], &["--format", "json"]);
        let shown: Value = serde_json::from_str(&shown).expect("JSON");
        let models = shown["models"].as_array().expect("a list").clone();
        models.iter().map(|placed| !placed["prefill"].is_null()).collect::<Vec<_>>()
    };
    // As older versions saved it.
    let mut older: Value = serde_json::from_str(&saved).unwrap();
    for set in ["single", "all"] {
        let roofs = older[set].as_object_mut().unwrap();
        assert!(roofs.remove("int4_gops").is_some() && roofs.remove("int4").is_some());
    }
    assert_eq!(prefills("first-older.json", older.to_string()), [true, false, true, false]);
    let beyond = saved.replacen("\"quick\"", "\"beyond\": [\"avx512\"], \"quick\"", 1);
    assert_eq!(prefills("first-beyond.json", beyond.clone()), [false; 4]);
    let shown = first(&[("ROOFLINE_MACHINE", &file("first-beyond.json", beyond))], &[("--ascii")]);
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        shown.contains("the arithmetic roof is a lower bound, and no ceiling: this processor has AVX-512")
    );
}

#[test]
fn a_machine_whose_memory_is_known_says_what_fits() {
    let saved = fs::read_to_string(MACHINE).expect("the fixture is there");
    let saved = saved.replacen("\"quick\"", "\"memory_bytes\": 8000000000, \"quick\"", 1);
    let path = file("first-memory.json", saved);
    let shown = first(&[("ROOFLINE_MACHINE", &path)], &["--format", "csv"]);
    let fits: Vec<&str> = shown.lines().skip(1).filter_map(|line| line.split(',').nth(3)).collect();
    assert_eq!(fits, ["yes", "yes", "no", "yes"]);
}

#[test]
fn every_width_of_terminal_gets_an_answer() {
    for columns in ["0", "1", "31", "32", "60", "120", "100000", "wide", "-5"] {
        for args in [&[][..], &["--ascii"]] {
            let shown = first(&[("COLUMNS", columns)], args);
            assert!(shown.contains("Next:\n") && shown.contains("q4_k"), "{columns}: {shown}");
            assert!(args.is_empty() || shown.is_ascii(), "{columns}: {shown}");
        }
    }
    assert!(first(&[("LANG", "C")], &[]).is_ascii());
}

#[test]
fn a_picture_is_written_where_it_was_asked_for() {
    let directory = directory("first-pictures");
    let (svg, html) = (directory.join("a.svg"), directory.join("a.html"));
    first(&[], &["--svg", svg.to_str().unwrap(), "--html", html.to_str().unwrap()]);
    assert!(fs::read_to_string(svg).unwrap().contains("llama_3_1_8b q4_k"));
    assert!(fs::read_to_string(html).unwrap().contains("llama_3_1_8b q4_k"));
}

#[test]
fn wrong_use_is_refused_before_anything_is_measured() {
    for (args, says) in [
        (&["--svg", "/no/such/place.svg"][..], "/no/such/place.svg: can't be written"),
        (&["--ascii", "machine"], "cannot be used with"),
        (&["--format", "xml"], "[possible values: text, json, csv, md]"),
        (&["nonsense"], "unrecognized subcommand"),
    ] {
        let output = program(&[("ROOFLINE_MACHINE", "/no/such/machine.json")], args);
        let error = err(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(error.contains(says), "{args:?}: {error}");
    }
}

#[test]
fn this_machine_is_measured_and_nothing_is_written() {
    let home = directory("first-home");
    let home = home.to_str().unwrap();
    let mut command = command();
    command.env_remove("ROOFLINE_MACHINE").env("HOME", home).env("XDG_CACHE_HOME", home);
    let output = command.args(["--size", "16MiB", "--format", "json"]).output().expect("the program starts");
    assert!(output.status.success(), "{}", err(&output));
    let shown: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&shown["schema"], &shown["machine"]["quick"]), (&"roofline.first/2".into(), &true.into()));
    assert_eq!(fs::read_dir(home).unwrap().count(), 0);
}
