//! `roofline import` as its users run it.

use crate::program::{err, file, json, out, run};
use roofline_test_support::scratch;

#[test]
fn import_writes_contracts_that_check_and_lists_what_is_informal() {
    let published = "../contracts/tests/published/token-rate-v1.yaml";
    let directory = scratch::directory("imported").join("to");
    let to = directory.to_str().expect("text");
    let output = run(&["import", published, "-o", to]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    insta::assert_snapshot!("report", out(&output).replace(to, "DIR"));
    insta::assert_snapshot!("report_md", out(&run(&["import", published, "--format", "md"])));
    let contract = directory.join("token-rate-v1.yaml");
    let contract = contract.to_str().expect("text");
    assert_eq!(run(&["check", contract]).status.code(), Some(0));
    assert_eq!(run(&["fmt", "--check", contract]).status.code(), Some(0));
    let proven = json(&["prove", contract]);
    let verdicts = proven["contracts"][0]["obligations"].as_array().expect("obligations");
    assert!(!verdicts.is_empty() && verdicts.iter().all(|one| one["verdict"] == "proven"), "{verdicts:?}");
    let informal = proven["contracts"][0]["informal"].as_array().expect("informal");
    assert!(!informal.is_empty() && informal.iter().all(|one| one["verdict"] == "informal"));

    let again = run(&["import", published, "-o", to]);
    assert_eq!(again.status.code(), Some(2), "nothing is overwritten");
    assert!(err(&again).contains("already exists"), "{}", err(&again));
    let report = json(&["import", published]);
    assert_eq!(report["schema"], "roofline.import/1");
    let output = run(&["import", &file("import-broken.yaml", "a: [")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("not valid YAML"), "{}", err(&output));
}

#[test]
fn a_conflict_of_units_exits_with_1_and_another_file_with_2() {
    let output = run(&["import", "../contracts/tests/published/conflict-v1.yaml"]);
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    let told = "equations.bound.formula: the values of `min` have different units, 1/s and Gtoken/s";
    assert!(out(&output).contains(told), "{}", out(&output));
    let report = json(&["import", "../contracts/tests/published/conflict-v1.yaml"]);
    assert_eq!(report["files"][0]["conflicts"][0]["place"], "equations.bound.formula");

    for (name, text, why) in [
        ("registry.yaml", "version: 1\nbindings: []\n", "a registry or another file"),
        ("ours.yaml", "quantities: {a: {unit: s}}\n", "`roofline check` reads the file"),
    ] {
        let output = run(&["import", &file(name, text)]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(err(&output).contains(why), "{}", err(&output));
    }
}
