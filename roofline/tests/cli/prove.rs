//! `roofline prove`, run as a person would.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::program::{command, err, out, run};
use roofline_test_support::scratch::directory;

/// A contract with one equation and this claim about it.
fn contract(path: &Path, formal: &str) -> String {
    let text = format!(
        "metadata: {{id: small, version: 1.0.0, description: test}}\nquantities:\n  x: {{unit: '1', domain: '[1, 10]'}}\nequations:\n  half: {{formula: x / 2, unit: '1'}}\nobligations:\n  - {{id: claim, type: bound, formal: {formal}}}\n"
    );
    std::fs::write(path, text).expect("written");
    path.to_str().expect("a plain path").to_owned()
}

#[test]
fn every_shipped_contract_is_proven_and_says_by_what() {
    let output = run(&["prove", "roofline-model-v1", "layer-roofline-v1", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(result["schema"], "roofline.prove/1");
    for contract in result["contracts"].as_array().expect("contracts") {
        for obligation in contract["obligations"].as_array().expect("obligations") {
            assert_eq!(obligation["verdict"], "proven", "{obligation}");
            assert_eq!(obligation["method"], "certificate");
            assert!(!obligation["trace"].as_array().expect("a trace").is_empty(), "{obligation}");
        }
    }
}

#[test]
fn a_false_claim_fails_with_its_inputs_and_a_test() {
    let path = contract(&directory("prove-false").join("small.yaml"), "half > 1");
    let output = run(&["prove", &path]);
    assert_eq!(output.status.code(), Some(1));
    let shown = out(&output);
    assert!(shown.contains("x = 1.0 (0x3ff0000000000000)"), "{shown}");
    assert!(shown.contains("#[test]\n    fn claim() {"), "{shown}");
    assert!(shown.contains("assert!(outputs.half > 1.0);"), "{shown}");
    let output = run(&["prove", &path, "--format", "json"]);
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let claim = &result["contracts"][0]["obligations"][0];
    assert_eq!(claim["verdict"], "refuted");
    assert_eq!(claim["counterexample"]["inputs"][0]["bits"], "0x3ff0000000000000");
}

#[test]
fn what_rests_on_a_refuted_contract_is_not_proven() {
    let directory = directory("prove-dependency");
    contract(&directory.join("small.yaml"), "half > 1");
    let path = directory.join("user.yaml");
    let user = "metadata: {id: user, version: 1.0.0, description: test, depends_on: [small ^1.0]}\nequations:\n  quarter: {formula: half / 2, unit: '1'}\nobligations:\n  - {id: claim, type: bound, formal: quarter > 0}\n";
    std::fs::write(&path, user).expect("written");
    for command in ["check", "prove"] {
        let output = run(&[command, path.to_str().expect("a plain path")]);
        let said = format!("{}{}", out(&output), err(&output));
        assert_ne!(output.status.code(), Some(0), "{command}: {said}");
        assert!(said.contains("obligation `claim` is false: half > 1"), "{command}: {said}");
    }
    contract(&directory.join("small.yaml"), "half > 0");
    assert_eq!(run(&["prove", path.to_str().expect("a plain path")]).status.code(), Some(0));
}

#[test]
fn a_contract_that_says_too_little_leaves_a_mutant_alive() {
    let path = contract(&directory("prove-mutants").join("small.yaml"), "half > 0");
    let output = run(&["prove", "--mutants", &path]);
    assert_eq!(output.status.code(), Some(1));
    assert!(out(&output).contains("half: / to *"), "{}", out(&output));
    let path = contract(&directory("prove-mutants").join("small.yaml"), "half * 2 == x");
    assert_eq!(run(&["prove", "--mutants", &path]).status.code(), Some(0));
}

#[test]
fn a_changed_contract_makes_a_verdict_stale() {
    let directory = directory("prove-ledger");
    let (ledger, kani) = (directory.join("ledger.json"), directory.join("kani.json"));
    let (ledger, kani_path) = (ledger.to_str().expect("plain"), kani.to_str().expect("plain"));
    let verified = json!({"metadata": {"kani_version": "0.67.0"}, "results": [{
        "harness_id": "small::proofs::claim", "status": "Success",
        "checks": [{"category": "cover", "status": "Satisfied"}],
    }]});
    std::fs::write(&kani, verified.to_string()).expect("written");
    let path = contract(&directory.join("small.yaml"), "half > 0");
    let kani_layer = |output: &Output| {
        let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        result["contracts"][0]["obligations"][0]["layers"]["kani"].as_str().expect("a word").to_owned()
    };
    let first = run(&["prove", &path, "--ledger", ledger, "--kani-json", kani_path, "--format", "json"]);
    assert_eq!((first.status.code(), kani_layer(&first).as_str()), (Some(0), "verified"));
    let again = run(&["prove", &path, "--ledger", ledger, "--format", "json"]);
    assert_eq!((again.status.code(), kani_layer(&again).as_str()), (Some(0), "verified"));
    contract(&directory.join("small.yaml"), "half > 0.25");
    let changed = run(&["prove", &path, "--ledger", ledger, "--format", "json"]);
    assert_eq!((changed.status.code(), kani_layer(&changed).as_str()), (Some(1), "not run (stale)"));
}

#[test]
fn what_kani_refutes_is_shown_with_its_values_and_a_test() {
    let directory = directory("prove-kani");
    let file = |name: &str, text: &str| {
        let path = directory.join(name);
        std::fs::write(&path, text).expect("written");
        path.to_str().expect("plain").to_owned()
    };
    let path = contract(&directory.join("small.yaml"), "half > 0");
    let refuted = json!({"metadata": {"kani_version": "0.67.0"}, "results": [{
        "harness_id": "small::proofs::claim", "status": "Failure",
        "checks": [{"category": "assertion", "status": "Failure", "description": "obligation `claim` of small: half > 0"}],
    }]});
    let kani = file("kani.json", &refuted.to_string());
    let output = run(&["prove", &path, "--kani-json", &kani]);
    assert_eq!(output.status.code(), Some(1));
    let shown = out(&output);
    assert!(
        shown.contains("claim: refuted by Kani, in small::proofs::claim\n    obligation `claim` of small"),
        "{shown}"
    );
    assert!(
        shown.contains("cargo kani --harness small::proofs::claim --exact -Z concrete-playback"),
        "{shown}"
    );

    // 1.5, as `cargo kani` prints it.
    let log = "```\n/// Test generated for harness `small::proofs::claim` \n///\n/// Check for `assertion`: \"x\"\n\n\
               #[test]\nfn kani_concrete_playback_claim_1() {\n    let concrete_vals: Vec<Vec<u8>> = vec![\n        // 1.5\n\
               \x20       vec![0, 0, 0, 0, 0, 0, 248, 63],\n    ];\n    kani::concrete_playback_run(concrete_vals, claim);\n}\n```\n";
    let log = file("kani.log", log);
    let output = run(&["prove", &path, "--kani-json", &kani, "--kani-log", &log]);
    assert_eq!(output.status.code(), Some(1));
    let shown = out(&output);
    assert!(shown.contains("    x = 1.5 (0x3ff8000000000000)\n"), "{shown}");
    let test = "    #[test]\n    fn claim() {\n        let x = f64::from_bits(0x3ff8000000000000); // 1.5\n        \
                let half = half(x);\n        assert!(half > 0.0);\n    }\n";
    assert!(shown.contains(test), "{shown}");
    let output = run(&["prove", &path, "--kani-json", &kani, "--kani-log", &log, "--format", "json"]);
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let claim = &result["contracts"][0]["obligations"][0];
    assert_eq!(claim["layers"]["kani"], "refuted");
    assert_eq!(claim["counterexample"]["inputs"][0]["bits"], "0x3ff8000000000000");

    let empty = file("empty.log", "nothing");
    let output = run(&["prove", &path, "--kani-json", &kani, "--kani-log", &empty]);
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
    assert!(err(&output).contains("empty.log: has no values of a failed check"), "{}", err(&output));
}

#[test]
fn scripts_for_solvers_are_written_and_a_missing_solver_is_said() {
    let directory = directory("prove-smt");
    let output = command()
        .args(["prove", "roofline-model-v1", "--smt", directory.to_str().expect("plain")])
        .env("PATH", &directory)
        .output()
        .expect("the program runs");
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(err(&output).contains("not run: none of z3, cvc5, bitwuzla is on the PATH"));
    let script = directory.join("roofline-model-v1.throughput-within-bandwidth.exact.smt2");
    let script = std::fs::read_to_string(script).expect("written");
    assert!(script.contains("(set-logic QF_FP)") && script.ends_with("(check-sat)\n"), "{script}");
    assert!(script.contains("(ite (fp.lt "), "min is a choice, not fp.min: {script}");
}

#[test]
fn bad_input_is_named_and_ends_with_2() {
    let directory = directory("prove-bad");
    let broken = directory.join("broken.json");
    std::fs::write(&broken, "{").expect("written");
    let broken = broken.to_str().expect("plain");
    for arguments in [
        vec!["prove", "no-such-contract"],
        vec!["prove"],
        vec!["prove", "roofline-model-v1", "--kani-json", broken],
        vec!["prove", "roofline-model-v1", "--kani-json", "no-such-file.json"],
        vec!["prove", "roofline-model-v1", "--ledger", broken],
        vec!["prove", "roofline-model-v1", "--smt", broken],
    ] {
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", err(&output));
        assert!(!output.stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_certificate_is_accepted_as_written_and_refused_when_changed() {
    let directory = directory("prove-certificates");
    let place = directory.to_str().expect("a plain path");
    let written = run(&["prove", "hardware-v1", "--certificates", place]);
    assert_eq!(written.status.code(), Some(0));
    let file = directory.join("hardware-v1.certificate.json");
    let text = std::fs::read_to_string(&file).expect("a certificate");
    let check = || run(&["prove", "hardware-v1", "--check-certificates", place, "--format", "json"]);
    let checker = |output: &Output| {
        let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let obligations = result["contracts"][0]["obligations"].as_array().expect("a list").clone();
        obligations
            .iter()
            .map(|one| one["layers"]["checker"].as_str().expect("a word").to_owned())
            .collect::<Vec<_>>()
    };
    let as_written = check();
    assert_eq!(as_written.status.code(), Some(0));
    assert!(checker(&as_written).iter().all(|word| word == "proven"));
    // A proof of one claim for another, another contract, and no certificate at all.
    std::fs::write(
        &file,
        text.replace("\"ridge-point-finite\",\"steps\"", "\"ridge-point-positive\",\"steps\""),
    )
    .expect("written");
    assert_eq!(check().status.code(), Some(1));
    std::fs::write(&file, text.replacen("\"version\":3", "\"version\":2", 1)).expect("written");
    let other = check();
    assert_eq!(other.status.code(), Some(1));
    assert!(checker(&other).iter().all(|word| word == "refused"), "{:?}", checker(&other));
    std::fs::write(&file, "{}").expect("written");
    let none = check();
    assert_eq!(none.status.code(), Some(2));
    assert!(err(&none).contains("hardware-v1.certificate.json"), "{}", err(&none));
}

#[cfg(unix)]
#[test]
fn a_certificate_that_never_ends_is_refused_before_it_fills_the_memory() {
    let directory = directory("prove-endless");
    let place = directory.to_str().expect("a plain path");
    let file = directory.join("hardware-v1.certificate.json");
    let refused = |why: &str| {
        let output = run(&["prove", "hardware-v1", "--check-certificates", place]);
        assert_eq!(output.status.code(), Some(2), "{}", err(&output));
        let message = err(&output);
        assert!(message.contains("hardware-v1.certificate.json") && message.contains(why), "{message}");
        std::fs::remove_file(&file).expect("removed");
    };
    std::fs::File::create(&file).and_then(|file| file.set_len(1 << 40)).expect("a sparse file");
    refused("longer than 64 MiB");
    std::os::unix::fs::symlink("/dev/zero", &file).expect("a link");
    refused("not a regular file");
    assert!(std::process::Command::new("mkfifo").arg(&file).status().expect("runs").success());
    refused("not a regular file");
}

#[test]
fn a_table_has_the_obligations_of_every_contract() {
    let output = run(&["prove", "hardware-v1", "quantization-v1", "--format", "csv"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(text.matches("contract,obligation").count(), 1, "{text}");
    assert!(text.contains("\nhardware-v1,") && text.contains("\nquantization-v1,"), "{text}");
}

#[test]
fn a_certificate_that_is_wrong_as_a_whole_is_refused_once_and_names_no_file() {
    let directory = directory("prove-elsewhere");
    let place = directory.to_str().expect("a plain path");
    run(&["prove", "hardware-v1", "--certificates", place]);
    let file = directory.join("hardware-v1.certificate.json");
    let text = std::fs::read_to_string(&file).expect("a certificate");
    let elsewhere = text.replacen("\"contract\":\"hardware-v1\"", "\"contract\":\"../elsewhere\"", 1);
    assert_ne!(text, elsewhere);
    std::fs::write(&file, elsewhere).expect("written");
    let copies = directory.join("copies");
    let copies_place = copies.to_str().expect("a plain path");
    let output =
        run(&["prove", "hardware-v1", "--check-certificates", place, "--certificates", copies_place]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(err(&output).matches("refused").count(), 1, "{}", err(&output));
    assert!(copies.join("hardware-v1.certificate.json").exists());
    assert!(!directory.join("elsewhere.certificate.json").exists());
}

#[cfg(unix)]
#[test]
fn coq_without_flocq_is_bad_input_and_no_verdict() {
    let directory = directory("prove-flocq");
    let tool = directory.join("coqc");
    std::fs::write(&tool, "#!/bin/sh\nexit 1\n").expect("written");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&tool, executable).expect("set");
    let output = command()
        .args(["prove", "hardware-v1", "--coq", directory.join("theorems").to_str().expect("plain")])
        .env("PATH", &directory)
        .output()
        .expect("the program runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("libcoq-flocq"), "{}", err(&output));
}

#[test]
fn a_theorem_for_coq_has_the_full_statement() {
    let directory = directory("prove-coq");
    let output = command()
        .args(["prove", "hardware-v1", "--coq", directory.to_str().expect("plain")])
        .env("PATH", &directory)
        .output()
        .expect("the program runs");
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(err(&output).contains("Coq: not run"), "{}", err(&output));
    let theorems = std::fs::read_to_string(directory.join("hardware_v1.v")).expect("theorems");
    for part in [
        "Definition ridge_point (bandwidth compute : f64) : f64 :=\n  div compute bandwidth.",
        "Theorem ridge_point_grows_with_compute : forall bandwidth compute compute' : f64,",
        "finite (ridge_point bandwidth compute) = true /\\\n  finite (ridge_point bandwidth compute') = true /\\\n  \
         le (ridge_point bandwidth compute) (ridge_point bandwidth compute') = true.",
    ] {
        assert!(theorems.contains(part), "{part}");
    }
    let rules = std::fs::read_to_string(directory.join("Rules.v")).expect("rules");
    assert!(!rules.contains("Admitted") && !rules.contains("Axiom"));
}
