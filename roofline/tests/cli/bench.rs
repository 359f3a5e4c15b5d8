//! `roofline bench` as its users run it: saved times under a saved machine where the figures matter, and
//! one real product where only the way there does.

use std::process::Output;

use crate::program::{BENCH, MACHINE, err, file, out, run};

fn bench(args: &[&str]) -> Output {
    run(&[&["bench"], args].concat())
}

#[test]
fn every_product_gets_its_utilization_band_and_advice() {
    let output = bench(&["--replay", BENCH]);
    assert!(output.status.success(), "{}", err(&output));
    insta::assert_snapshot!(out(&output));
}

#[test]
fn json_reads_back_as_the_same_times() {
    let json = out(&bench(&["--replay", BENCH, "--format", "json"]));
    let found: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(found["schema"], "roofline.bench/1");
    let again = file("bench-again.json", &json);
    assert_eq!(out(&bench(&["--replay", &again, "--format", "json"])), json);
}

#[test]
fn a_requirement_that_is_met_ends_with_0_one_that_is_not_with_1_and_says_where() {
    assert_eq!(bench(&["--replay", BENCH, "--require", "utilization >= 0.2"]).status.code(), Some(0));
    let output = bench(&["--replay", BENCH, "--require", "utilization >= 0.9"]);
    assert_eq!(output.status.code(), Some(1));
    let error = err(&output);
    assert!(error.contains("8B down_proj q8_0: not met: utilization >= 0.9 (utilization = 0."), "{error}");
    assert!(!error.contains("8B lm_head"), "{error}");
}

#[test]
fn wrong_arguments_say_what_is_allowed() {
    let cases: [(&[&str], &str); 9] = [
        (&["--replay", BENCH, "--require", "speed > 1"], "unknown name `speed`"),
        (&["--require", "utilization"], "the condition must be a condition, not a number"),
        (&["--only", "70B"], "matches no product; some are 1B q_proj"),
        (&["--kernel", "q9_k"], "[possible values: q8_0, f16, bf16, f32, q4_0, q4_1, q5_0, q5_1, q2_k,"),
        (&["--shape", "32768"], "rows and columns, each at least 1, are written as 32768x8192"),
        (&["--shape", "0x256"], "each at least 1"),
        (&["--shape", "4x288", "--type", "q4_k"], "columns: 288 is not a multiple of 256"),
        (&["--replay", MACHINE], "machine.json: schema is `roofline.machine/1`, not `roofline.bench/1`"),
        (&["--replay", "/nowhere.json"], "/nowhere.json: No such file"),
    ];
    for (args, message) in cases {
        let output = bench(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let error = err(&output);
        assert!(error.contains(message), "{args:?}: {error}");
    }
}

#[test]
fn a_real_product_is_measured() {
    let output = bench(&["--quick", "--only", "1B k_proj", "--kernel", "q8_0,f32", "--format", "json"]);
    assert!(output.status.success(), "{}", err(&output));
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

#[test]
fn a_shape_of_ones_own_is_measured_in_every_format() {
    let output = bench(&[
        "--quick",
        "--shape",
        "64x256",
        "--type",
        "q4_k,q6_k,iq4_xs,mxfp4,nvfp4",
        "--format",
        "json",
    ]);
    assert!(output.status.success(), "{}", err(&output));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = found["rows"].as_array().unwrap();
    let kernels: Vec<_> = rows.iter().map(|row| row["kernel"].as_str().unwrap()).collect();
    assert_eq!(kernels, ["q4_k", "q6_k", "iq4_xs", "mxfp4", "nvfp4"]);
    for row in rows {
        assert_eq!(
            (&row["name"], &row["rows"], &row["columns"]),
            (&"64 x 256".into(), &64.into(), &256.into())
        );
        assert!(row["gb_s"].as_f64().unwrap() > 0.0, "{row}");
    }
}
