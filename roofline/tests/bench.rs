//! `roofline bench` as its users run it: saved times under a saved machine where the figures matter, and
//! one real product where only the way there does.

use std::path::Path;
use std::process::Output;

use assert_cmd::Command;

const MACHINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/machine.json");
const TIMES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/bench.json");

fn bench(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roofline"));
    command.env_clear().env("LANG", "C.UTF-8").env("ROOFLINE_MACHINE", MACHINE);
    command.arg("bench").args(args).output().expect("the program starts")
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("UTF-8")
}

#[test]
fn every_product_gets_its_utilization_band_and_advice() {
    let output = bench(&["--replay", TIMES]);
    assert!(output.status.success(), "{}", text(output.stderr));
    insta::assert_snapshot!(text(output.stdout));
}

#[test]
fn json_reads_back_as_the_same_times() {
    let json = text(bench(&["--replay", TIMES, "--format", "json"]).stdout);
    let found: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(found["schema"], "roofline.bench/1");
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = directory.join("bench-again.json");
    std::fs::write(&path, &json).unwrap();
    assert_eq!(text(bench(&["--replay", path.to_str().unwrap(), "--format", "json"]).stdout), json);
}

#[test]
fn a_requirement_that_is_met_ends_with_0_one_that_is_not_with_1_and_says_where() {
    assert_eq!(bench(&["--replay", TIMES, "--require", "utilization >= 0.2"]).status.code(), Some(0));
    let output = bench(&["--replay", TIMES, "--require", "utilization >= 0.9"]);
    assert_eq!(output.status.code(), Some(1));
    let error = text(output.stderr);
    assert!(error.contains("8B down_proj q8_0: not met: utilization >= 0.9 (utilization = 0."), "{error}");
    assert!(!error.contains("8B lm_head"), "{error}");
}

#[test]
fn wrong_arguments_say_what_is_allowed() {
    let cases: [(&[&str], &str); 6] = [
        (&["--replay", TIMES, "--require", "speed > 1"], "unknown name `speed`"),
        (&["--require", "utilization"], "the condition must be a condition, not a number"),
        (&["--only", "70B"], "matches no product; some are 1B q_proj"),
        (&["--kernel", "q2_k"], "[possible values: q8_0, f16, bf16, f32]"),
        (&["--replay", MACHINE], "machine.json: unknown field"),
        (&["--replay", "/nowhere.json"], "/nowhere.json: No such file"),
    ];
    for (args, message) in cases {
        let output = bench(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let error = text(output.stderr);
        assert!(error.contains(message), "{args:?}: {error}");
    }
}

#[test]
fn a_real_product_is_measured() {
    let output = bench(&["--quick", "--only", "1B k_proj", "--kernel", "q8_0,f32", "--format", "json"]);
    assert!(output.status.success(), "{}", text(output.stderr));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = found["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert!(row["gb_s"].as_f64().unwrap() > 0.0 && row["runs"].as_u64().unwrap() >= 7, "{row}");
        assert_eq!(
            (&row["rows"], &row["columns"], &row["bound"]),
            (&512.into(), &2048.into(), &"memory".into())
        );
    }
}
