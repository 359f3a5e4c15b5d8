//! `cargo kani` proves the contracts of a crate outside of the workspace that calls the macro. Skipped without Kani, unless
//! `ROOFLINE_EXPECT_KANI` is set.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use roofline_contracts::emit::rust::items;
use roofline_contracts::library::built_in;

/// The first contract of the README, with the corrected unit.
const OWN: &str = "\
metadata: {version: 1.0.0, description: Time of one pass over the weights}
quantities:
  weights: {unit: GB, domain: '[0.001, 1e5]'}
  bandwidth: {unit: GB/s, domain: '[1, 1e5]'}
equations:
  pass_time: {formula: 'weights / bandwidth * 1000 [ms/s]', unit: ms}
classifiers:
  speed:
    cases:
      - Fast: bandwidth >= 100 [GB/s]
      - Slow: otherwise
obligations:
  - {id: pass-time-positive, type: bound, formal: pass_time > 0}
  - {id: fast-classified, type: equivalence, formal: 'speed is Fast iff bandwidth >= 100 [GB/s]'}
";

/// Creates a crate in a separate directory; none without Kani.
fn consumer(name: &str, library: &str) -> Option<PathBuf> {
    let found = Command::new("cargo").args(["kani", "--version"]).output();
    if !found.is_ok_and(|output| output.status.success()) {
        assert!(std::env::var_os("ROOFLINE_EXPECT_KANI").is_none(), "cargo kani is not installed");
        eprintln!("not run: cargo kani is not installed");
        return None;
    }
    let root =
        std::fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).expect("the workspace");
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(directory.join("src")).expect("made");
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [dependencies]\nroofline-macros = {{ path = \"{}\" }}\n[workspace]\n",
        root.join("roofline-macros").display()
    );
    for (file, text) in
        [("Cargo.toml", manifest.as_str()), ("my-model-v1.yaml", OWN), ("src/lib.rs", library)]
    {
        std::fs::write(directory.join(file), text).expect("written");
    }
    // The versions of the workspace, so that nothing is downloaded.
    std::fs::copy(root.join("Cargo.lock"), directory.join("Cargo.lock")).expect("copied");
    Some(directory)
}

fn kani(directory: &Path, arguments: &[&str]) -> Output {
    Command::new("cargo")
        .arg("kani")
        .args(arguments)
        .current_dir(directory)
        .env("CARGO_NET_OFFLINE", "true")
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("kani-consumers"))
        // Kani uses another compiler than this test.
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("RUSTFLAGS")
        .output()
        .expect("cargo kani runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn cargo_kani_proves_the_contracts_of_a_crate() {
    let library = "//! A shipped and a custom contract.\n#![no_std]\n\
                   roofline_macros::roofline_contract!(\"roofline-model-v1.yaml\");\n\
                   roofline_macros::roofline_contract!(\"my-model-v1.yaml\");\n";
    let Some(directory) = consumer("kani-proves", library) else { return };
    let output = kani(&directory, &[]);
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}{}", text(&output.stderr));
    assert!(said.contains(" 0 failures"), "{said}");
    for harness in [
        "roofline_model_v1::proofs::throughput_within_bandwidth",
        "my_model_v1::proofs::pass_time_positive",
        "my_model_v1::proofs::fast_classified",
        "my_model_v1::proofs::speed_is_the_first_case_that_holds",
        "my_model_v1::proofs::inputs_are_accepted_inside_their_domains_only",
    ] {
        assert!(said.contains(&format!("Checking harness {harness}...")), "{harness} did not run:\n{said}");
    }
    assert!(!said.contains("placeholder message"), "a message is not static:\n{said}");
    assert!(said.contains("obligation `pass-time-positive` of my-model-v1: pass_time > 0"), "{said}");
}

/// The generated module of a contract with one change.
fn mutant(from: &str, to: &str) -> String {
    let contract =
        roofline_contracts::compile(built_in("roofline-model-v1.yaml").expect("a built-in contract"));
    let items = items(&contract.contract.expect("a valid contract"), &[]).to_string();
    assert_eq!(items.matches(from).count(), 1, "expected `{from}` once");
    let items = items.replace(from, to);
    format!("//! A mutant.\n#[allow(warnings)]\npub mod roofline_model_v1 {{\n{items}\n}}\n")
}

#[test]
fn a_mutant_is_refuted_with_its_obligation_and_its_values() {
    let (from, to) = ("{ _min (bw_ceiling , compute_ceiling) }", "{ bw_ceiling }");
    let Some(directory) = consumer("kani-refutes", &mutant(from, to)) else { return };
    let harness = "roofline_model_v1::proofs::throughput_within_compute";
    let arguments = ["--harness", harness, "--exact", "-Z", "concrete-playback", "--concrete-playback=print"];
    let output = kani(&directory, &arguments);
    let said = text(&output.stdout);
    assert!(!output.status.success(), "{said}");
    assert!(
        said.contains("Failed Checks: obligation `throughput-within-compute` of roofline-model-v1: "),
        "{said}"
    );
    assert!(said.contains(&format!("/// Test generated for harness `{harness}`")), "{said}");
}
