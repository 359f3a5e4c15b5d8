//! `roofline expand` as its users run it.

use crate::program::{command, err, file, json, out, run};

#[test]
fn expand_prints_rust_and_nothing_for_a_broken_contract() {
    let output = run(&["expand", "roofline-model-v1"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(out(&output).contains("pub const fn bw_ceiling("));
    assert_eq!(json(&["expand", "roofline-model-v1"])["schema"], "roofline.expand/1");
    let path = file("broken.yaml", b"metadata: {version: 1, description: x}\n");
    let output = run(&["expand", &path]);
    assert_eq!(output.status.code(), Some(2));
    assert!(out(&output).is_empty());
    assert!(
        err(&output).contains("broken.yaml:1:21: error: `1` is not a semantic version"),
        "{}",
        err(&output)
    );
}

#[test]
fn without_rustfmt_the_module_is_printed_with_a_note() {
    let output = command().env("PATH", "").args(["expand", "roofline-model-v1"]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(0));
    assert!(out(&output).contains("pub const fn bw_ceiling ("));
    assert_eq!(err(&output), "note: `rustfmt` cannot be run, so the Rust is not formatted\n");
}
