//! `roofline eval` as its users run it.

use crate::program::{err, file, json, out, run};

const SEVEN: [&str; 10] = [
    "eval",
    "roofline-model-v1",
    "--set",
    "total_params=7e9",
    "--set",
    "bits_per_weight=4",
    "--set",
    "bandwidth=200",
    "--set",
    "compute=5000",
];

#[test]
fn eval_gives_the_known_answers() {
    let result = json(&SEVEN);
    assert_eq!(result["schema"], "roofline.eval/1");
    assert_eq!(result["contract"], "roofline-model-v1");
    assert_eq!(result["outputs"]["model_bytes"], 3.5e9);
    let rate = |name: &str| result["outputs"][name].as_f64().expect("a number");
    assert!((rate("bw_ceiling") - 57.142857).abs() < 1e-6);
    assert!((rate("compute_ceiling") - 357.142857).abs() < 1e-6);
    assert_eq!(rate("throughput_ceiling"), rate("bw_ceiling"));
    assert_eq!(result["classes"]["bottleneck"], "Bandwidth");
    let small = [
        "eval",
        "roofline-model-v1",
        "--set",
        "total_params=1000",
        "--set",
        "bits_per_weight=32",
        "--set",
        "bandwidth=1000",
        "--set",
        "compute=1",
    ];
    assert_eq!(json(&small)["classes"]["bottleneck"], "Compute");
}

#[test]
fn a_measurement_above_its_ceiling_ends_with_one_and_says_why() {
    let output = run(&[&SEVEN[..], &["--set", "throughput=60"]].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(out(&output).contains("throughput = 60 is above its ceiling"), "{}", out(&output));
    let output = run(&[&SEVEN[..], &["--set", "throughput=40"]].concat());
    assert_eq!(output.status.code(), Some(0));
    assert!(out(&output).contains("70.0 % of its ceiling"), "{}", out(&output));
}

#[test]
fn eval_says_what_is_missing_unknown_or_outside() {
    let base = ["eval", "roofline-model-v1"];
    for (arguments, message) in [
        (vec![], "no value for total_params"),
        (vec!["--set", "total_parms=1"], "did you mean `total_params`?"),
        (vec!["--set", "total_params"], "write NAME=VALUE"),
        (vec!["--set", "total_params=x"], "`x` is not a number"),
        (vec!["--set", "total_params=1", "--set", "total_params=2"], "is set twice"),
        (vec!["--profile", "devices.h100"], "no such profile"),
    ] {
        let output = run(&[&base[..], &arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(err(&output).contains(message), "{}", err(&output));
    }
    let mut outside = SEVEN.to_vec();
    outside[3] = "total_params=0";
    let output = run(&outside);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("total_params = 0 is outside its domain"), "{}", err(&output));
}

#[test]
fn a_requirement_on_an_evaluation_names_what_the_contract_names() {
    let require = |condition: &str| run(&[&SEVEN[..], &["--require", condition]].concat());
    assert_eq!(require("throughput_ceiling >= 57 and bottleneck == \"Bandwidth\"").status.code(), Some(0));
    let missed = require("throughput_ceiling >= 58");
    assert_eq!(missed.status.code(), Some(1));
    assert!(
        err(&missed).contains("not met: throughput_ceiling >= 58 (throughput_ceiling = 57."),
        "{}",
        err(&missed)
    );
    let unknown = require("speed > 1");
    assert_eq!(unknown.status.code(), Some(2));
    assert!(out(&unknown).is_empty() && err(&unknown).contains("unknown name `speed`"), "{}", err(&unknown));
}

#[test]
fn a_profile_is_named_by_its_table_its_contract_or_alone() {
    let profile = |name: &str| {
        json(&[
            "eval",
            "roofline-model-v1",
            "--set",
            "total_params=7e9",
            "--set",
            "bits_per_weight=4",
            "--profile",
            name,
        ])
    };
    let wanted = profile("devices.h100_sxm");
    assert_eq!(wanted["inputs"]["bandwidth"], 3350.0);
    for name in ["hardware.h100_sxm", "hardware-v1.h100_sxm", "h100_sxm"] {
        assert_eq!(profile(name)["outputs"], wanted["outputs"], "{name}");
    }
}

#[test]
fn a_claim_that_nothing_decides_is_no_reason_not_to_compute_but_a_false_one_is() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../contracts/tests/rejected");
    let undecided = format!("{directory}/obligation-unknown.yaml");
    let output = run(&["eval", &undecided, "--set", "x=1", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let result: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
    assert_eq!(result["outputs"]["curve"], 1.0);
    assert!(err(&output).contains("neither proven nor refuted: a-root-is-undone"), "{}", err(&output));
    let refuted = run(&["eval", &format!("{directory}/obligation-false.yaml")]);
    assert_eq!(refuted.status.code(), Some(2), "{}", err(&refuted));
    assert!(err(&refuted).contains("is false"), "{}", err(&refuted));
}

#[test]
fn a_case_is_set_by_its_name_or_by_a_profile_and_refused_with_all_of_them() {
    let contract = concat!(env!("CARGO_MANIFEST_DIR"), "/../contracts/tests/language/precision-v1.yaml");
    let set = ["--set", "params=1e9", "--set", "bandwidth=100", "--set", "kind=gpu"];
    let evaluated = json(&[&["eval", contract], &set[..], &["--set", "precision=int4"]].concat());
    assert_eq!(
        (&evaluated["inputs"]["precision"], &evaluated["outputs"]["bytes"]),
        (&"int4".into(), &5e8.into())
    );
    let profiled = json(&["eval", contract, "--set", "params=1e9", "--profile", "server"]);
    assert_eq!(
        (&profiled["inputs"]["precision"], &profiled["inputs"]["kind"]),
        (&"fp8".into(), &"gpu".into())
    );
    let wrong = run(&[&["eval", contract], &set[..], &["--set", "precision=fp4"]].concat());
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        err(&wrong).contains("`fp4` is no case of `precision`, which is one of fp16, fp8, int4"),
        "{}",
        err(&wrong)
    );
    let unmet =
        run(&["eval", contract, "--set", "params=1e9", "--profile", "laptop", "--set", "precision=fp8"]);
    assert_eq!(unmet.status.code(), Some(2));
    assert!(
        err(&unmet).contains("the requirement precision is fp8 implies kind is gpu is not met"),
        "{}",
        err(&unmet)
    );
}

#[test]
fn a_name_by_which_editors_know_contracts_is_no_part_of_the_contract() {
    let contract = include_str!("../../../contracts/roofline-model-v1.yaml");
    let path = file("speed-v1.roofline.yaml", contract);
    let mut args: Vec<&str> = SEVEN.to_vec();
    args[1] = &path;
    assert_eq!(json(&args)["contract"], "speed-v1");
}
