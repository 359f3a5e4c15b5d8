//! `roofline check` and `contracts` as their users run them, and what every command says of a file that is no contract.

use serde_json::Value;

use crate::program::{err, file, json, out, run};

#[test]
fn check_shows_mistakes_with_their_place_and_ends_with_two() {
    let text = "metadata: {version: 1.0.0, description: x}\nquantities:\n  compute: {unit: Gflop/s, domain: '> 0'}\nequations:\n  rate:\n    unit: flop/s\n    formula: compute\n";
    let path = file("scale.yaml", text);
    let output = run(&["check", &path]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        out(&output).contains("scale.yaml:7:14: error: `rate` is in Gflop/s, not in flop/s: off by 1e9"),
        "{}",
        out(&output)
    );
    let result = json(&["check", &path]);
    assert_eq!(result["schema"], "roofline.check/1");
    assert_eq!(result["files"][0]["mistakes"][0]["line"], 7);
    assert_eq!(result["files"][0]["mistakes"][0]["column"], 14);
}

#[test]
fn check_exits_with_one_for_a_claim_that_fails_and_with_two_for_what_is_no_contract() {
    let rejected = |name: &str| format!("../contracts/tests/rejected/{name}.yaml");
    let holds = "roofline-model-v1".to_owned();
    let refuted = rejected("obligation-false");
    let undecided = rejected("obligation-unknown");
    let misshapen = rejected("obligation-of-the-wrong-shape");
    for (files, code, message) in [
        (&[&holds][..], 0, "roofline-model-v1: valid"),
        (&[&refuted], 1, "is false"),
        (&[&undecided], 1, "is neither proven nor refuted"),
        (&[&holds, &refuted], 1, "roofline-model-v1: valid"),
        (&[&misshapen], 2, "an obligation of type"),
        (&[&refuted, &misshapen], 2, "is false"),
    ] {
        let arguments: Vec<&str> =
            ["check"].into_iter().chain(files.iter().map(|file| file.as_str())).collect();
        let output = run(&arguments);
        assert!(out(&output).contains(message), "{files:?}: {}", out(&output));
        assert_eq!(output.status.code(), Some(code), "{files:?}: {}", out(&output));
    }
}

#[test]
fn a_published_contract_is_told_from_ours_and_import_is_named() {
    let published = "../contracts/tests/published/token-rate-v1.yaml";
    for command in ["check", "expand", "eval"] {
        let output = run(&[command, published]);
        assert_eq!(output.status.code(), Some(2), "{command}");
        let shown = out(&output) + &err(&output);
        assert!(shown.contains(&format!("`roofline import {published}` reads it")), "{command}: {shown}");
        assert_eq!(shown.matches(": error: ").count(), 1, "{command}: {shown}");
    }
    let first = out(&run(&["check", published]));
    let expected = format!("{published}:36:1: error: a contract in the published provable-contracts format");
    assert!(first.starts_with(&expected), "{first}");
    // Without a section of its own the format shows in its equations; a slip in a contract of ours is not taken for it.
    let equations = file(
        "equations.yaml",
        "metadata: {version: 1.0.0}\nequations:\n  y: {formula: y = 2 * x, codomain: y > 0}\n",
    );
    assert!(
        out(&run(&["check", &equations])).contains("equations.yaml:3:27: error: a contract in the published")
    );
    let ours = file(
        "ours.yaml",
        "metadata: {version: 1.0.0, description: x}\nquantities:\n  x: {unit: '1'}\nequations:\n  y: {unit: '1', formula: 2 * x, codomain: y > 0}\n",
    );
    assert!(out(&run(&["check", &ours])).contains("unknown key `codomain`"));
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
    let output = run(&[&["check"], &ids[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", out(&output));
    let shown = run(&["contracts", "roofline-model-v1"]);
    assert!(out(&shown).contains("throughput <= min(bw_ceiling, compute_ceiling)"));
    assert_eq!(run(&["contracts", "roofline-model-v2"]).status.code(), Some(2));
}

#[test]
fn files_that_cannot_be_contracts_end_with_two() {
    let directory = env!("CARGO_TARGET_TMPDIR");
    let latin = file("latin.yaml", b"metadata: \xe4\n");
    let empty = file("empty.yaml", b"");
    let bomb = file("bomb.yaml", b"a: &a [1]\nb: *a\n");
    for (name, message) in [
        ("no-such-file.yaml", "no such contract"),
        (directory, "is a directory"),
        (&latin, "not UTF-8"),
        (&empty, "the contract is empty"),
        (&bomb, "anchors are not part"),
    ] {
        for command in ["check", "expand", "eval"] {
            let output = run(&[command, name]);
            assert_eq!(output.status.code(), Some(2), "{command} {name}");
            let shown = out(&output) + &err(&output);
            assert!(shown.contains(message), "{command} {name}: {shown}");
        }
    }
}

#[test]
fn check_speaks_to_code_hosts_in_their_formats() {
    let wrong = "../contracts/tests/rejected/many-mistakes.yaml";
    let output = run(&["check", wrong, "roofline-model-v1", "--format", "github"]);
    assert_eq!(output.status.code(), Some(2));
    let first = format!(
        "::error file={wrong},line=9,endLine=9,col=11,endColumn=14,title=unit::unknown unit `GBs`%0A"
    );
    assert!(out(&output).starts_with(&first), "{}", out(&output));
    assert_eq!(out(&output).lines().count(), 4, "{}", out(&output));

    let output = run(&["check", wrong, "no such file.yaml", "--format", "sarif"]);
    assert_eq!(output.status.code(), Some(2));
    let log: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(log["version"], "2.1.0");
    let logged = &log["runs"][0];
    let results = logged["results"].as_array().expect("results");
    assert_eq!(results.len(), 5);
    for result in results {
        let index = result["ruleIndex"].as_u64().expect("every rule is described") as usize;
        assert_eq!(logged["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
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

    let output = run(&["check", "roofline-model-v1", "--format", "github"]);
    assert_eq!((output.status.code(), out(&output).as_str()), (Some(0), ""));
}

#[test]
fn wrong_use_ends_with_two_and_help_with_zero() {
    assert_eq!(run(&["check"]).status.code(), Some(2));
    assert_eq!(run(&["chekc"]).status.code(), Some(2));
    assert_eq!(run(&["--help"]).status.code(), Some(0));
    assert_eq!(run(&["--version"]).status.code(), Some(0));
}
