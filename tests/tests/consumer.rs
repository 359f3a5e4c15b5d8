//! Builds crates outside of the workspace that use the macro.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// A copy of a consumer in a separate directory, with paths to this workspace.
struct Consumer {
    directory: PathBuf,
}

impl Consumer {
    fn copy(name: &str, as_name: &str) -> Self {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(as_name);
        let _ = std::fs::remove_dir_all(&directory);
        copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("consumers").join(name), &directory);
        let root = std::fs::canonicalize(ROOT).expect("the workspace");
        let manifest = std::fs::read_to_string(directory.join("Cargo.toml")).expect("a manifest");
        // Packages in the shared target directory need distinct names.
        let manifest = manifest.replace(&format!("name = \"{name}\""), &format!("name = \"{as_name}\""));
        let manifest = manifest.replace("../../..", &root.display().to_string().replace('\\', "/"));
        std::fs::write(directory.join("Cargo.toml"), manifest).expect("written");
        // The versions of the workspace, so that nothing is downloaded.
        std::fs::copy(root.join("Cargo.lock"), directory.join("Cargo.lock")).expect("copied");
        Consumer { directory }
    }

    fn write(&self, file: &str, text: &str) {
        std::fs::write(self.directory.join(file), text).expect("written");
    }

    fn cargo(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO"))
            .args(arguments)
            .arg("--offline")
            .current_dir(&self.directory)
            // All consumers share the build of the macro.
            .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("consumers"))
            .env_remove("RUSTFLAGS")
            .output()
            .expect("cargo runs")
    }
}

fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("made");
    for entry in std::fs::read_dir(from).expect("listed") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            if entry.file_name() != "target" {
                copy_tree(&entry.path(), &target);
            }
        } else {
            std::fs::copy(entry.path(), target).expect("copied");
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_crate_outside_the_workspace_computes_known_results() {
    let output = Consumer::copy("vectors", "known-answers").cargo(&["run", "--quiet"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).trim(), "vectors agree");
}

#[test]
fn a_strict_no_std_crate_builds_without_warnings() {
    let output = Consumer::copy("strict", "strict-build").cargo(&["build"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(!text(&output.stderr).contains("warning"), "{}", text(&output.stderr));
}

/// Writes a library of all shipped contracts that denies all warnings.
fn all_shipped(consumer: &Consumer, typed: bool) {
    let typed = if typed { ", typed" } else { "" };
    let calls = roofline_contracts::library::BUILT_IN.iter().map(|(file, _)| {
        let name = roofline_contracts::emit::rust::module_name(file.trim_end_matches(".yaml"));
        format!("roofline_macros::roofline_contract!(pub mod {name} = \"{file}\"{typed});\n")
    });
    let head = "//! All contracts.\n#![no_std]\n#![forbid(unsafe_code)]\n#![deny(warnings, missing_docs, unreachable_pub)]\n\
        #![deny(clippy::all, clippy::pedantic, clippy::nursery)]\n";
    consumer.write("src/lib.rs", &(head.to_owned() + &calls.collect::<String>()));
}

/// True if a tool is installed; prints a note otherwise.
fn is_installed(program: &str, arguments: &[&str]) -> bool {
    let answers = Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success());
    if !answers {
        eprintln!("NOT RUN: `{program} {}` failed", arguments.join(" "));
    }
    answers
}

#[test]
fn pedantic_clippy_accepts_the_strict_crate() {
    if !is_installed(env!("CARGO"), &["clippy", "--version"]) {
        return;
    }
    let strict = Consumer::copy("strict", "strict-clippy").cargo(&["clippy"]);
    assert!(strict.status.success(), "{}", text(&strict.stderr));
    let consumer = Consumer::copy("strict", "shipped-clippy");
    all_shipped(&consumer, false);
    let output = consumer.cargo(&["clippy"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn a_bare_metal_target_builds() {
    const TARGET: &str = "thumbv7em-none-eabihf";
    let printed = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    let library = printed.map(|output| text(&output.stdout).trim().to_owned()).unwrap_or_default();
    if library.is_empty() || !Path::new(&library).is_dir() {
        eprintln!("NOT RUN: {TARGET} is not installed; `rustup target add {TARGET}` installs it");
        return;
    }
    let output = Consumer::copy("strict", "bare-metal").cargo(&["build", "--target", TARGET]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn a_new_shadowing_file_rebuilds_a_crate_that_watches_its_directory() {
    let consumer = Consumer::copy("strict", "shadow");
    consumer.write("build.rs", "fn main() {\n    println!(\"cargo::rerun-if-changed=contracts\");\n}\n");
    let build = ["build", "--message-format=json"];
    assert!(consumer.cargo(&build).status.success());
    assert!(!rebuilt(&consumer.cargo(&build), "shadow"));
    let shipped = Path::new(ROOT).join("contracts/roofline-model-v1.yaml");
    let wrong =
        std::fs::read_to_string(shipped).expect("the contract").replace("unit: token/s", "unit: token");
    std::thread::sleep(std::time::Duration::from_millis(1100));
    std::fs::write(consumer.directory.join("contracts/roofline-model-v1.yaml"), wrong).expect("written");
    let output = consumer.cargo(&["build"]);
    assert!(!output.status.success(), "the shadowing file was not used");
    assert!(text(&output.stderr).contains("has the unit token/s, not token"), "{}", text(&output.stderr));
}

#[test]
fn every_shipped_contract_builds_in_a_strict_crate() {
    let consumer = Consumer::copy("strict", "shipped");
    all_shipped(&consumer, false);
    let output = consumer.cargo(&["build"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// True if cargo rebuilt the package.
fn rebuilt(output: &Output, package: &str) -> bool {
    assert!(output.status.success(), "{}", text(&output.stderr));
    let messages = text(&output.stdout);
    let artifacts: Vec<&str> =
        messages.lines().filter(|line| line.contains("\"reason\":\"compiler-artifact\"")).collect();
    let own: Vec<&&str> =
        artifacts.iter().filter(|line| line.contains(&format!("\"name\":\"{package}\""))).collect();
    assert_eq!(own.len(), 1, "{messages}");
    own[0].contains("\"fresh\":false")
}

#[test]
fn only_a_change_of_the_contract_rebuilds_the_consumer() {
    let consumer = Consumer::copy("strict", "rebuild");
    let build = ["build", "--message-format=json"];
    assert!(rebuilt(&consumer.cargo(&build), "rebuild"));
    assert!(!rebuilt(&consumer.cargo(&build), "rebuild"));
    let contract = consumer.directory.join("contracts/pipeline-v1.yaml");
    let before = std::fs::read_to_string(&contract).expect("the contract");
    std::thread::sleep(std::time::Duration::from_millis(1100));
    std::fs::write(&contract, before.replace("48 [B]", "64 [B]")).expect("written");
    assert!(rebuilt(&consumer.cargo(&build), "rebuild"));
}

#[test]
fn contract_errors_are_compile_errors_with_the_message_of_the_program() {
    let consumer = Consumer::copy("vectors", "mistakes");
    let contract = "metadata: {version: 1.0.0, description: x}\nquantities:\n  compute:\n    unit: Gflop/s\n    domain: '> 0'\nequations:\n  rate:\n    unit: flop/s\n    formula: compute\n  twice:\n    unit: Gflop/s\n    formula: 2 × compte\n";
    consumer.write("wrong.yaml", contract);
    consumer.write("src/main.rs", "roofline_macros::roofline_contract!(\"wrong.yaml\");\nfn main() {}\n");
    let output = consumer.cargo(&["build"]);
    assert!(!output.status.success());
    let shown = text(&output.stderr);
    let source = roofline_contracts::source::Source::from_bytes("wrong.yaml", contract.into()).expect("text");
    let compiled = roofline_contracts::compile(source);
    let diagnostics: Vec<String> = compiled.rendered(roofline_contracts::report::Severity::Error).collect();
    assert_eq!(diagnostics.len(), 2);
    for line in diagnostics.iter().flat_map(|diagnostic| diagnostic.lines()) {
        assert!(shown.contains(line.trim_end()), "missing `{line}` in\n{shown}");
    }
    assert!(shown.contains("wrong.yaml:9:14"), "{shown}");
    assert!(shown.contains("multiply by `1e9 [flop/Gflop]`"), "{shown}");
}

/// The output of a program that evaluates an expression with a typed contract, or its compile error.
fn typed(name: &str, file: &str, expression: &str) -> Result<String, String> {
    let consumer = Consumer::copy("vectors", name);
    consumer.write(
        "src/main.rs",
        &format!(
            "roofline_macros::roofline_contract!(mod model = \"{file}\", typed);
             use model::units::*;
             fn main() {{
                 println!(\"{{}}\", {expression});
             }}\n"
        ),
    );
    let output = consumer.cargo(&["run", "--quiet"]);
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

#[test]
fn swapped_arguments_and_wrong_scales_do_not_compile() {
    let ceiling = |name, given| {
        typed(
            name,
            "roofline-model-v1.yaml",
            &format!("const {{ model::bw_ceiling(PerToken(1.0), {given}) }}"),
        )
    };
    assert_eq!(ceiling("typed-right", "GbPerS(200.0), B(4e9)"), Ok("50 token/s\n".into()));
    let swapped = ceiling("typed-swapped", "B(4e9), GbPerS(200.0)").expect_err("a compile error");
    assert!(swapped.contains("expected `model::units::GbPerS`, found `model::units::B`"), "{swapped}");
    assert!(swapped.contains("expected `model::units::B`, found `model::units::GbPerS`"), "{swapped}");
    let scaled = typed(
        "typed-scaled",
        "transformer-v1.yaml",
        "model::decode_memory_time(B(0.0), GbPerS(200.0), Gb(4.0))",
    );
    let scaled = scaled.expect_err("a compile error");
    assert!(scaled.contains("expected `B`, found `Gb`"), "{scaled}");
}

#[test]
fn the_tour_shows_the_compile_error_of_swapped_arguments() {
    let page = std::fs::read_to_string(Path::new(ROOT).join("docs/contract.md")).expect("the page");
    let page = page.replace("\r\n", "\n");
    let block = |first: &str, has: &str| {
        let mut blocks = page.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix(first));
        blocks.find(|block| block.contains(has)).expect("the block")
    };
    let consumer = Consumer::copy("strict", "readme-typed");
    let contract =
        block("yaml\n", "my-model-v1").replace("weights / bandwidth", "weights / bandwidth * 1000 [ms/s]");
    consumer.write("my-model-v1.yaml", &contract);
    let right = block("rust\n", ", typed);");
    let (arguments, swapped) = ("Gb(4.0), GbPerS(200.0)", "GbPerS(200.0), Gb(4.0)");
    consumer.write("src/lib.rs", &format!("{right}const _: () = assert!(PASS.0 == 20.0);\n"));
    let output = consumer.cargo(&["build", "--quiet"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    consumer.write("src/lib.rs", &right.replace(arguments, swapped));
    let output = consumer.cargo(&["build", "--quiet"]);
    let (shown, said) = (block("text\n", "E0308"), text(&output.stderr));
    assert!(said.contains(shown), "the page shows\n{shown}but rustc prints\n{said}");
}

#[test]
fn a_profile_sets_typed_inputs() {
    let inputs = "model::Inputs::new(7e9.into(), 8.0.into(), 1.0.into(), 1.0.into())";
    let bandwidth = format!("{inputs}.with_device(&model::devices::A100_SXM_80GB).bandwidth");
    assert_eq!(typed("typed-profile", "roofline-model-v1.yaml", &bandwidth), Ok("2039 GB/s\n".into()));
}

#[test]
fn every_typed_contract_builds_in_a_strict_crate() {
    let consumer = Consumer::copy("strict", "shipped-typed");
    all_shipped(&consumer, true);
    let output = consumer.cargo(&["test", "--no-run"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn a_published_contract_is_one_error_that_suggests_the_import() {
    let consumer = Consumer::copy("vectors", "published");
    let published = Path::new(ROOT).join("contracts/tests/published/token-rate-v1.yaml");
    std::fs::copy(published, consumer.directory.join("token-rate-v1.yaml")).expect("copied");
    consumer
        .write("src/main.rs", "roofline_macros::roofline_contract!(\"token-rate-v1.yaml\");\nfn main() {}\n");
    let output = consumer.cargo(&["build"]);
    assert!(!output.status.success());
    let shown = text(&output.stderr);
    let errors: Vec<&str> =
        shown.lines().filter(|line| line.starts_with("error: token-rate-v1.yaml")).collect();
    assert_eq!(errors.len(), 1, "{shown}");
    assert!(errors[0].contains("`roofline contract import token-rate-v1.yaml`"), "{shown}");
}

#[test]
fn a_missing_contract_error_lists_the_searched_directories() {
    let consumer = Consumer::copy("vectors", "missing");
    consumer.write(
        "src/main.rs",
        "roofline_macros::roofline_contract!(\"roofline-model-v2.yaml\");\nfn main() {}\n",
    );
    let output = consumer.cargo(&["build"]);
    assert!(!output.status.success());
    assert!(
        text(&output.stderr).contains("did you mean `roofline-model-v1.yaml`?"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn the_build_fails_when_a_model_cannot_be_fast_enough() {
    let consumer = Consumer::copy("vectors", "too-slow");
    consumer.write(
        "src/main.rs",
        "roofline_macros::roofline_contract!(mod model = \"roofline-model-v1.yaml\");
         const RATE: f64 = match model::Inputs::new(70e9, 8.5, 400.0, 10400.0).evaluate() {
             Ok(outputs) => outputs.throughput_ceiling,
             Err(_) => panic!(\"outside the domain\"),
         };
         const _: () = assert!(RATE > 30.0, \"the model cannot reach 30 tokens per second\");
         fn main() {}\n",
    );
    let output = consumer.cargo(&["build"]);
    assert!(!output.status.success());
    assert!(
        text(&output.stderr).contains("the model cannot reach 30 tokens per second"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn the_library_does_not_build_dependencies_of_the_program() {
    let root = std::fs::canonicalize(ROOT).expect("the workspace");
    let arguments =
        ["tree", "-p", "roofline", "--no-default-features", "-e", "normal", "--prefix", "none", "--offline"];
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(root).output().expect("cargo runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let tree = text(&output.stdout);
    assert!(tree.contains("roofline-macros"), "{tree}");
    for package in ["clap", "indicatif", "prettyplease", "serde_json", "memmap2", "insta", "serde"] {
        assert!(
            !tree.lines().any(|line| line.starts_with(&format!("{package} v"))),
            "{package} is in\n{tree}"
        );
    }
}
