//! `roofline bench` as its users run it; the figures themselves are tested in `crates/machine`.

use std::process::Output;

use crate::program::{err, run};

fn bench(args: &[&str]) -> Output {
    run(&[&["bench"], args].concat())
}

#[test]
fn a_requirement_that_is_met_ends_with_0_one_that_is_not_with_1_and_says_where() {
    let required =
        |condition: &str| bench(&["--quick", "--shape", "64x256", "--type", "q8_0", "--require", condition]);
    assert_eq!(required("utilization > 0").status.code(), Some(0));
    let output = required("utilization >= 1e9");
    assert_eq!(output.status.code(), Some(1));
    let error = err(&output);
    assert!(error.contains("64 x 256 q8_0: not met: utilization >= 1e9 (utilization = "), "{error}");
}

#[test]
fn wrong_arguments_say_what_is_allowed() {
    let cases: [(&[&str], &str); 7] = [
        (&["--require", "speed > 1"], "unknown name `speed`"),
        (&["--require", "utilization"], "the condition must be a condition, not a number"),
        (&["--only", "70B"], "matches no product; some are 1B q_proj"),
        (&["--kernel", "q9_k"], "[possible values: q8_0, f16, bf16, f32, q4_0, q4_1, q5_0, q5_1, q2_k,"),
        (&["--shape", "32768"], "rows and columns, each at least 1, are written as 32768x8192"),
        (&["--shape", "0x256"], "each at least 1"),
        (&["--shape", "4x288", "--type", "q4_k"], "columns: 288 is not a multiple of 256"),
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
