//! The commands that read contracts, run as a person would.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn roofline(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_roofline")).args(arguments).output().expect("the program runs")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(arguments: &[&str]) -> Value {
    let output = roofline(&[arguments, &["--format", "json"]].concat());
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", out(&output), err(&output)))
}

/// A file with this text, in a directory that the test owns.
fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).expect("written");
    path
}

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
    let output = roofline(&[&SEVEN[..], &["--set", "throughput=60"]].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(out(&output).contains("throughput = 60 is above its ceiling"), "{}", out(&output));
    let output = roofline(&[&SEVEN[..], &["--set", "throughput=40"]].concat());
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
        let output = roofline(&[&base[..], &arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(err(&output).contains(message), "{}", err(&output));
    }
    let mut outside = SEVEN.to_vec();
    outside[3] = "total_params=0";
    let output = roofline(&outside);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("total_params = 0 is outside its domain"), "{}", err(&output));
}

#[test]
fn a_requirement_on_an_evaluation_names_what_the_contract_names() {
    let require = |condition: &str| roofline(&[&SEVEN[..], &["--require", condition]].concat());
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
fn check_shows_mistakes_with_their_place_and_ends_with_two() {
    let text = "metadata: {version: 1.0.0, description: x}\nquantities:\n  compute: {unit: Gflop/s, domain: '> 0'}\nequations:\n  rate:\n    unit: flop/s\n    formula: compute\n";
    let path = file("scale.yaml", text.as_bytes());
    let output = roofline(&["check", &path.to_string_lossy()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        out(&output).contains("scale.yaml:7:14: error: `rate` is in Gflop/s, not in flop/s: off by 1e9"),
        "{}",
        out(&output)
    );
    let result = json(&["check", &path.to_string_lossy()]);
    assert_eq!(result["schema"], "roofline.check/1");
    assert_eq!(result["files"][0]["mistakes"][0]["line"], 7);
    assert_eq!(result["files"][0]["mistakes"][0]["column"], 14);
}

#[test]
fn every_shipped_contract_passes_check() {
    let listed = json(&["contracts"]);
    let ids: Vec<&str> = listed["contracts"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|entry| entry["id"].as_str())
        .collect();
    assert!(ids.contains(&"roofline-model-v1"));
    let output = roofline(&[&["check"], &ids[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", out(&output));
    let shown = roofline(&["contracts", "roofline-model-v1"]);
    assert!(out(&shown).contains("throughput <= min(bw_ceiling, compute_ceiling)"));
    assert_eq!(roofline(&["contracts", "roofline-model-v2"]).status.code(), Some(2));
}

#[test]
fn expand_prints_rust_and_nothing_for_a_broken_contract() {
    let output = roofline(&["expand", "roofline-model-v1"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(out(&output).contains("pub const fn bw_ceiling("));
    assert_eq!(json(&["expand", "roofline-model-v1"])["schema"], "roofline.expand/1");
    let path = file("broken.yaml", b"metadata: {version: 1, description: x}\n");
    let output = roofline(&["expand", &path.to_string_lossy()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(out(&output).is_empty());
    assert!(
        err(&output).contains("broken.yaml:1:21: error: `1` is not a semantic version"),
        "{}",
        err(&output)
    );
}

#[test]
fn files_that_cannot_be_contracts_end_with_two() {
    let directory = env!("CARGO_TARGET_TMPDIR");
    let latin = file("latin.yaml", b"metadata: \xe4\n").to_string_lossy().into_owned();
    let empty = file("empty.yaml", b"").to_string_lossy().into_owned();
    let bomb = file("bomb.yaml", b"a: &a [1]\nb: *a\n").to_string_lossy().into_owned();
    for (name, message) in [
        ("no-such-file.yaml", "no such contract"),
        (directory, "is a directory"),
        (&latin, "not UTF-8"),
        (&empty, "the contract is empty"),
        (&bomb, "anchors are not part"),
    ] {
        for command in ["check", "expand", "eval"] {
            let output = roofline(&[command, name]);
            assert_eq!(output.status.code(), Some(2), "{command} {name}");
            let shown = out(&output) + &err(&output);
            assert!(shown.contains(message), "{command} {name}: {shown}");
        }
    }
}

#[test]
fn wrong_use_ends_with_two_and_help_with_zero() {
    assert_eq!(roofline(&["check"]).status.code(), Some(2));
    assert_eq!(roofline(&["chekc"]).status.code(), Some(2));
    assert_eq!(roofline(&["--help"]).status.code(), Some(0));
    assert_eq!(roofline(&["--version"]).status.code(), Some(0));
}

#[test]
fn check_speaks_to_code_hosts_in_their_formats() {
    let wrong = "../contracts/tests/rejected/many-mistakes.yaml";
    let output = roofline(&["check", wrong, "roofline-model-v1", "--format", "github"]);
    assert_eq!(output.status.code(), Some(2));
    let first = format!(
        "::error file={wrong},line=9,endLine=9,col=11,endColumn=14,title=unit::unknown unit `GBs`%0A"
    );
    assert!(out(&output).starts_with(&first), "{}", out(&output));
    assert_eq!(out(&output).lines().count(), 4, "{}", out(&output));

    let output = roofline(&["check", wrong, "no such file.yaml", "--format", "sarif"]);
    assert_eq!(output.status.code(), Some(2));
    let log: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let results = run["results"].as_array().expect("results");
    assert_eq!(results.len(), 5);
    for result in results {
        let index = result["ruleIndex"].as_u64().expect("every rule is described") as usize;
        assert_eq!(run["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
    }
    let place = &results[0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], wrong);
    assert_eq!(
        place["region"],
        serde_json::json!({"startLine": 9, "startColumn": 11, "endLine": 9, "endColumn": 14})
    );
    let place = &results[4]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "no%20such%20file.yaml");
    assert!(place.get("region").is_none());

    let output = roofline(&["check", "roofline-model-v1", "--format", "github"]);
    assert_eq!((output.status.code(), out(&output).as_str()), (Some(0), ""));
}

fn fmt(arguments: &[&str], input: &str) -> Output {
    use std::io::Write;
    let mut child = Command::new(env!("CARGO_BIN_EXE_roofline"))
        .arg("fmt")
        .args(arguments)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program runs");
    child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("written");
    child.wait_with_output().expect("it ends")
}

#[test]
fn fmt_lays_files_out_once_and_check_changes_nothing() {
    let untidy = "# about\nquantities:\n    a: { domain: '[1,2]', unit: B }  # what\nmetadata: {description: x, version: 1.0.0}\n";
    let tidy = "metadata: {version: 1.0.0, description: x}\n\n# about\nquantities:\n  a: {unit: B, domain: \"[1, 2]\"}  # what\n";
    let path = file("fmt-untidy.yaml", untidy.as_bytes());
    let name = path.to_str().expect("text");
    let output = roofline(&["fmt", "--check", name]);
    assert_eq!((output.status.code(), out(&output)), (Some(1), format!("{name}\n")));
    assert_eq!(std::fs::read_to_string(&path).expect("read"), untidy);
    let output = roofline(&["fmt", name]);
    assert_eq!((output.status.code(), out(&output)), (Some(0), format!("{name}\n")));
    assert_eq!(std::fs::read_to_string(&path).expect("read"), tidy);
    let output = roofline(&["fmt", "--check", name]);
    assert_eq!((output.status.code(), out(&output)), (Some(0), String::new()));

    let output = fmt(&["-"], untidy);
    assert_eq!((output.status.code(), out(&output).as_str()), (Some(0), tidy));
    assert_eq!(fmt(&["--check", "-"], untidy).status.code(), Some(1));

    let broken = file("fmt-broken.yaml", b"a: [1\n");
    let broken = broken.to_str().expect("text");
    let output = roofline(&["fmt", broken, "no-such.yaml", name]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        err(&output).contains("not valid YAML") && err(&output).contains("no such file"),
        "{}",
        err(&output)
    );
    assert_eq!(std::fs::read_to_string(broken).expect("read"), "a: [1\n");
}

#[test]
fn import_writes_contracts_that_check_and_lists_what_is_informal() {
    let published = "../contracts/tests/published/token-rate-v1.yaml";
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("imported");
    let _ = std::fs::remove_dir_all(&directory);
    let to = directory.to_str().expect("text");
    let output = roofline(&["import", published, "-o", to]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    insta::assert_snapshot!("import_report", out(&output).replace(to, "DIR"));
    insta::assert_snapshot!("import_report_md", out(&roofline(&["import", published, "--format", "md"])));
    let contract = directory.join("token-rate-v1.yaml");
    let contract = contract.to_str().expect("text");
    assert_eq!(roofline(&["check", contract]).status.code(), Some(0));
    assert_eq!(roofline(&["fmt", "--check", contract]).status.code(), Some(0));
    let proven = json(&["prove", contract]);
    let verdicts = proven["contracts"][0]["obligations"].as_array().expect("obligations");
    assert!(!verdicts.is_empty() && verdicts.iter().all(|one| one["verdict"] == "proven"), "{verdicts:?}");
    let informal = proven["contracts"][0]["informal"].as_array().expect("informal");
    assert!(!informal.is_empty() && informal.iter().all(|one| one["verdict"] == "informal"));

    let again = roofline(&["import", published, "-o", to]);
    assert_eq!(again.status.code(), Some(2), "nothing is overwritten");
    assert!(err(&again).contains("is there already"), "{}", err(&again));
    let report = json(&["import", published]);
    assert_eq!(report["schema"], "roofline.import/1");
    let broken = file("import-broken.yaml", b"a: [");
    let output = roofline(&["import", broken.to_str().expect("text")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("not valid YAML"), "{}", err(&output));
}
