//! `roofline diff` as its users run it: two files, or a repository and one of its revisions.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::program::{command, err, out};
use roofline_test_support::scratch;

/// A contract with one of everything.
const BASE: &str = include_str!("../fixtures/diff/base.yaml");

fn roofline(directory: &Path, arguments: &[&str]) -> Output {
    command().current_dir(directory).arg("diff").args(arguments).output().expect("the program starts")
}

/// What is printed, with nothing said beside it.
fn printed(output: &Output) -> String {
    assert_eq!(err(output), "");
    out(output)
}

fn write(directory: &Path, file: &str, text: &str) {
    let path = directory.join(file);
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
    std::fs::write(path, text).expect("written");
}

/// The text with each first part replaced by the second.
fn edited(text: &str, edits: &[(&str, &str)]) -> String {
    let mut text = text.to_owned();
    for (from, to) in edits {
        assert!(text.contains(from), "{from} is not in the contract");
        text = text.replace(from, to);
    }
    text
}

/// What the program says of the base and its edited version.
fn diff(name: &str, edits: &[(&str, &str)], more: &[&str]) -> Output {
    let directory = scratch::directory(&format!("diff-{name}"));
    write(&directory, "old/base.yaml", BASE);
    write(&directory, "new/base.yaml", &edited(BASE, edits));
    roofline(&directory, &[&["old/base.yaml", "new/base.yaml"], more].concat())
}

/// A name, edits, the step they demand, and parts of what is said.
type Case = (&'static str, &'static [(&'static str, &'static str)], &'static str, &'static [&'static str]);

#[test]
fn each_kind_of_change_is_named_with_the_step_it_demands() {
    let cases: &[Case] = &[
        (
            "unit",
            &[("unit: GB/s", "unit: MB/s"), ("1e9 [B/GB]", "1e6 [B/MB]")],
            "major",
            &["unit: GB/s -> MB/s"],
        ),
        (
            "narrowed",
            &[("\"[1, 1000]\"", "\"[1, 500]\"")],
            "major",
            &["domain: [1, 1000] -> [1, 500] (narrowed)"],
        ),
        (
            "required",
            &[("equations:\n", "requires:\n  - bytes <= 1e9 [s] * bandwidth * 1e9 [B/GB]\n\nequations:\n")],
            "major",
            &[
                "requirement bytes <= 1e9 [s] * bandwidth * 1e9 [B/GB] added",
                "points that do not meet it are refused",
            ],
        ),
        (
            "widened",
            &[("\"[1, 1000]\"", "\"[1, 2000]\"")],
            "minor",
            &["domain: [1, 1000] -> [1, 2000] (widened)"],
        ),
        ("moved", &[("\"[1, 1000]\"", "\"[2, 2000]\"")], "major", &["some values are gone and some are new"]),
        (
            "rewritten-domain",
            &[("integer [1, 64]", "integer (0, 64.5]")],
            "patch",
            &["the same values, written otherwise"],
        ),
        (
            "default",
            &[("default: 2", "default: 4")],
            "major",
            &["default: 2 -> 4 (those who do not set it get another value)"],
        ),
        (
            "default-gone",
            &[("    default: 2\n", "")],
            "major",
            &["it changes the arguments of `Inputs::new`"],
        ),
        (
            "added-quantity",
            &[
                ("  batch:\n", "  extra: {unit: s, default: 0, domain: \"[0, 1]\"}\n  batch:\n"),
                ("bytes / 1e9 [B/GB] / bandwidth", "bytes / 1e9 [B/GB] / bandwidth + extra"),
            ],
            "major",
            &["minor  quantity extra added"],
        ),
        (
            "needed-quantity",
            &[
                ("  batch:\n", "  extra: {unit: s, domain: \"[0, 1]\"}\n  batch:\n"),
                ("bytes / 1e9 [B/GB] / bandwidth", "bytes / 1e9 [B/GB] / bandwidth + extra"),
            ],
            "major",
            &["major  quantity extra added", "everyone must give it"],
        ),
        (
            "renamed-quantity",
            &[("bandwidth", "memory_rate")],
            "major",
            &["quantity bandwidth -> memory_rate renamed"],
        ),
        (
            "order",
            &[
                ("  bytes:\n    unit: B\n    domain: \"[1, 1e12]\"\n    doc: Bytes that are moved.\n", ""),
                (
                    "  batch:\n",
                    "  bytes:\n    unit: B\n    domain: \"[1, 1e12]\"\n    doc: Bytes that are moved.\n  batch:\n",
                ),
            ],
            "major",
            &["quantity order changed", "arguments: bytes, bandwidth -> bandwidth, bytes"],
        ),
        (
            "same-formula",
            &[("formula: batch / time", "formula: batch * 1 / time")],
            "patch",
            &["equal after normalization"],
        ),
        (
            "equal-formula",
            &[("formula: max(time, floor_time)", "formula: if time > floor_time then time else floor_time")],
            "patch",
            &["equal on all 4096 points tried"],
        ),
        (
            "rounded-formula",
            &[("bytes / 1e9 [B/GB] / bandwidth", "bytes / bandwidth / 1e9 [B/GB]")],
            "patch",
            &["equal but for rounding: at most", "through time"],
        ),
        (
            "formula-turned",
            &[("formula: max(time, floor_time)", "formula: max(floor_time, time)")],
            "patch",
            &["equal after normalization"],
        ),
        (
            "arguments",
            &[
                ("  floor_time:\n    formula: 1e-6 [s]\n    unit: s\n", ""),
                ("equations:\n", "equations:\n  floor_time:\n    formula: 1e-6 [s]\n    unit: s\n"),
            ],
            "major",
            &["equation total_time changed", "arguments: time, floor_time -> floor_time, time"],
        ),
        (
            "quantities-turned",
            &[
                ("  bytes:\n    unit: B\n    domain: \"[1, 1e12]\"\n    doc: Bytes that are moved.\n", ""),
                (
                    "equations:\n",
                    "  bytes:\n    unit: B\n    domain: \"[1, 1e12]\"\n    doc: Bytes that are moved.\nequations:\n",
                ),
            ],
            "major",
            &["equation time changed", "arguments: bytes, bandwidth -> bandwidth, bytes"],
        ),
        (
            "different-formula",
            &[("formula: batch / time", "formula: batch / time / 2")],
            "major",
            &[
                "different at 4096 of 4096 points",
                "999999999.9999999 instead of 1999999999.9999998 at bandwidth = 1, bytes = 1",
            ],
        ),
        (
            "equation-unit",
            &[
                (
                    "  floor_time:\n    formula: 1e-6 [s]\n    unit: s",
                    "  floor_time:\n    formula: 1e-6 [s] * 1000 [ms/s]\n    unit: ms",
                ),
                ("max(time, floor_time)", "max(time, floor_time / 1000 [ms/s])"),
            ],
            "major",
            &["unit: s -> ms"],
        ),
        (
            "added-equation",
            &[("  rate:\n", "  double:\n    formula: 2 * time\n    unit: s\n  rate:\n")],
            "minor",
            &["equation double added"],
        ),
        (
            "removed-equation",
            &[
                ("  rate:\n    formula: batch / time\n    unit: 1/s\n", ""),
                ("rate > 0", "batch > 0"),
                ("rate >", "batch / time >"),
            ],
            "major",
            &["equation rate removed"],
        ),
        (
            "renamed-equation",
            &[("floor_time", "least_time")],
            "major",
            &["equation floor_time -> least_time renamed"],
        ),
        (
            "bound",
            &[("formula: batch / time", "formula: measured <= batch / time")],
            "minor",
            &["bounds: measured (the measured value that it bounds)"],
        ),
        (
            "condition",
            &[("Fast: rate > 10 [1/s]", "Fast: rate > 20 [1/s]")],
            "major",
            &["classifier speed changed", "Slow instead of Fast"],
        ),
        (
            "case",
            &[("      - Slow: otherwise", "      - Middle: rate > 1 [1/s]\n      - Slow: otherwise")],
            "major",
            &["cases: Fast, Slow -> Fast, Middle, Slow"],
        ),
        (
            "entry-value",
            &[("bandwidth: 100", "bandwidth: 120")],
            "major",
            &["entry machines.small changed", "bandwidth: 100 -> 120"],
        ),
        (
            "entry-figure-added",
            &[("        kind: cpu\n", "        kind: cpu\n        memory: 64\n")],
            "minor",
            &["memory: 64"],
        ),
        (
            "entry-added",
            &[(
                "      small:\n",
                "      large: {bandwidth: 900, kind: gpu, source: sheet, as_of: 2026-01-01}\n      small:\n",
            )],
            "minor",
            &["entry machines.large added", "sheet, as of 2026-01-01"],
        ),
        (
            "entry-renamed",
            &[("      small:\n", "      tiny:\n")],
            "major",
            &["entry machines.small -> machines.tiny renamed"],
        ),
        (
            "entry-source",
            &[("source: data sheet", "source: another sheet")],
            "patch",
            &["source: data sheet -> another sheet"],
        ),
        (
            "field",
            &[(
                "optional: true}",
                "optional: true}\n      cores: {unit: core, domain: \"integer > 0\", optional: true}",
            )],
            "minor",
            &["field machines.cores added"],
        ),
        (
            "field-type",
            &[("memory: {unit: GB,", "memory: {unit: GiB,")],
            "major",
            &["field machines.memory changed"],
        ),
        (
            "field-words",
            &[("one_of: [cpu, gpu]", "one_of: [cpu, gpu, npu]")],
            "major",
            &[
                "field machines.kind changed",
                "one of cpu, gpu -> one of cpu, gpu, npu (the generated type of the field changes)",
            ],
        ),
        (
            "field-any-text",
            &[("type: text, one_of: [cpu, gpu]", "type: text")],
            "major",
            &["one of cpu, gpu -> text (the generated type of the field changes)"],
        ),
        (
            "advice",
            &[("when: speed is Slow", "when: rate < 5 [1/s]")],
            "minor",
            &["recommendation hurry changed"],
        ),
        (
            "advice-text",
            &[("Move fewer bytes.", "Move less.")],
            "patch",
            &["text: Move fewer bytes. -> Move less."],
        ),
        ("advice-priority", &[("priority: high", "priority: low")], "minor", &["priority: high -> low"]),
        (
            "obligation-added",
            &[(
                "obligations:\n",
                "obligations:\n  - {id: time-finite, type: finiteness, formal: finite(time)}\n",
            )],
            "minor",
            &["obligation time-finite added", "finite(time) (proven)"],
        ),
        (
            "obligation-removed",
            &[("  - id: rate-positive\n    type: bound\n    formal: rate > 0\n", "")],
            "major",
            &["obligation rate-positive removed"],
        ),
        (
            "obligation-changed",
            &[("formal: rate > 0", "formal: rate >= 0")],
            "major",
            &["formal: rate > 0 -> rate >= 0 (another promise)"],
        ),
        (
            "obligation-turned",
            &[("formal: rate > 0", "formal: 0 < rate")],
            "patch",
            &["formal: rate > 0 -> 0 < rate (equal after normalization)"],
        ),
        (
            "doc",
            &[("doc: Bytes that are moved.", "doc: All bytes that are moved.")],
            "patch",
            &["doc: Bytes that are moved. -> All bytes that are moved."],
        ),
        (
            "description",
            &[("description: A sample", "description: Another sample")],
            "patch",
            &["description: A sample -> Another sample"],
        ),
    ];
    let mut complaints = Vec::new();
    for (name, edits, step, says) in cases {
        let output = diff(name, edits, &[]);
        let shown = printed(&output);
        let demanded = match *step {
            "major" => "major: it must be 2.0.0 or later, and is 1.0.0",
            "minor" => "minor: it must be 1.1.0 or later, and is 1.0.0",
            _ => "patch: it must be 1.0.1 or later, and is 1.0.0",
        };
        for part in [&[demanded], *says].concat() {
            if !shown.contains(part) {
                complaints.push(format!("{name}: {part} is missing:\n{shown}"));
            }
        }
        assert_eq!(output.status.code(), Some(1), "{name}");
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn a_new_name_is_said_once_and_not_again_by_those_who_use_it() {
    for (name, edit) in
        [("name-equation", ("floor_time", "least_time")), ("name-quantity", ("batch", "count"))]
    {
        let shown = printed(&diff(name, &[edit], &[]));
        assert_eq!(shown.matches("major ").count(), 1, "{shown}");
        assert!(!shown.contains("arguments") && !shown.contains("different"), "{shown}");
    }
}

#[test]
fn a_version_that_was_raised_enough_ends_well() {
    let widened = ("\"[1, 1000]\"", "\"[1, 2000]\"");
    for (version, code) in [("1.0.1", 1), ("1.1.0", 0), ("2.0.0", 0), ("0.9.0", 1)] {
        let output = diff("raised", &[widened, ("version: 1.0.0", &format!("version: {version}"))], &[]);
        assert_eq!(output.status.code(), Some(code), "{version}: {}", printed(&output));
    }
    let output = diff("same", &[("# A sample", "# Only a comment")], &[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(printed(&output).contains("nothing has changed that a contract says"));
}

#[test]
fn before_1_0_a_minor_version_announces_what_breaks_and_a_patch_what_is_added() {
    let directory = scratch::directory("diff-before-one");
    let old = edited(BASE, &[("version: 1.0.0", "version: 0.3.1")]);
    write(&directory, "old/base.yaml", &old);
    for (edit, version, code) in [
        (("default: 2", "default: 4"), "0.3.2", 1),
        (("default: 2", "default: 4"), "0.4.0", 0),
        (("\"[1, 1000]\"", "\"[1, 2000]\""), "0.3.2", 0),
    ] {
        let version = format!("version: {version}");
        write(&directory, "new/base.yaml", &edited(&old, &[edit, ("version: 0.3.1", &version)]));
        let output = roofline(&directory, &["old/base.yaml", "new/base.yaml"]);
        assert_eq!(output.status.code(), Some(code), "{version}: {}", printed(&output));
    }
}

#[test]
fn an_obligation_that_is_false_now_fails_whatever_the_version_says() {
    let edits = [("formal: rate > 0", "formal: rate > 1 [1/s]"), ("version: 1.0.0", "version: 2.0.0")];
    let output = diff("refuted", &edits, &[]);
    assert_eq!(output.status.code(), Some(1));
    let shown = printed(&output);
    assert!(shown.contains("obligation rate-positive is refuted"), "{shown}");
    assert!(shown.contains("verdict: proven -> refuted"), "{shown}");
}

#[test]
fn a_change_of_everything_reads_well() {
    let edits = [
        ("version: 1.0.0", "version: 1.1.0"),
        ("\"[1, 1000]\"", "\"[1, 500]\""),
        ("bytes / 1e9 [B/GB] / bandwidth", "bytes / 1e9 [B/GB] / bandwidth * 1.1"),
        ("bandwidth: 100", "bandwidth: 120"),
        ("Move fewer bytes.", "Move less."),
        ("formal: rate > 0", "formal: rate >= 0"),
    ];
    insta::assert_snapshot!("everything_text", printed(&diff("everything", &edits, &[])));
    insta::assert_snapshot!("everything_markdown", printed(&diff("everything", &edits, &["--format", "md"])));
    insta::assert_snapshot!("everything_csv", printed(&diff("everything", &edits, &["--format", "csv"])));
}

/// The shipped contracts in two directories, one file of the second edited.
fn shipped(name: &str, file: &str, edits: &[(&str, &str)], more: &[&str]) -> Output {
    let directory = scratch::directory(&format!("diff-{name}"));
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../contracts").join(file))
        .expect("read");
    write(&directory, &format!("old/{file}"), &text);
    write(&directory, &format!("new/{file}"), &edited(&text, edits));
    let (old, new) = (format!("old/{file}"), format!("new/{file}"));
    roofline(&directory, &[&[old.as_str(), new.as_str()], more].concat())
}

#[test]
fn the_effect_of_a_formula_is_seen_in_every_prediction_that_uses_it() {
    let edit = [(
        "decode_bytes = pass_weight_bytes + cache_bytes + state_bytes",
        "decode_bytes = pass_weight_bytes + 2 * cache_bytes + state_bytes",
    )];
    let shown = printed(&shipped("formula", "transformer-v1.yaml", &edit, &["--top", "4"]));
    insta::assert_snapshot!("the_effect_of_a_formula", shown);
    let output = shipped("formula-json", "transformer-v1.yaml", &edit, &["--format", "json"]);
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(result["schema"], "roofline.diff/1");
    assert_eq!(result["fine"], false);
    let effect = &result["contracts"][0]["effect"];
    let rows = effect["rows"].as_array().expect("rows");
    assert_eq!(effect["changed"], rows.len());
    let sizes: Vec<f64> = rows
        .iter()
        .map(|row| {
            let number = |side: &str| row[side]["numbers"]["decode_ceiling"].as_f64().expect("a number");
            number("before") / number("after")
        })
        .collect();
    assert!(sizes.is_sorted_by(|a, b| *a >= b * (1.0 - 1e-8)), "the largest change stands first");
}

/// The numbers before the change are those of `roofline predict`.
#[test]
fn the_interpreted_prediction_is_that_of_the_generated_code() {
    let edit = [(
        "decode_bytes = pass_weight_bytes + cache_bytes + state_bytes",
        "decode_bytes = pass_weight_bytes + 2 * cache_bytes + state_bytes",
    )];
    let output = shipped("interpreted", "transformer-v1.yaml", &edit, &["--format", "json"]);
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = result["contracts"][0]["effect"]["rows"].as_array().expect("rows").clone();
    for (model, device, format) in [
        ("deepseek_v3", "h100_sxm", "q4_k"),
        ("gemma_2_9b", "raspberry_pi_5", "q8_0"),
        ("llama_3_1_8b", "a100_sxm_80gb", "f16"),
    ] {
        let predict = ["predict", model, "--on", device, "--quant", format, "--format", "json"];
        let predicted = Command::new(env!("CARGO_BIN_EXE_roofline")).args(predict).output().expect("runs");
        let predicted: Value = serde_json::from_slice(&predicted.stdout).expect("JSON");
        let row = rows
            .iter()
            .find(|row| row["model"] == model && row["device"] == device && row["format"] == format)
            .unwrap_or_else(|| panic!("{model} on {device} has changed"));
        for phase in ["decode", "prefill"] {
            let (name, bound) = (format!("{phase}_ceiling"), format!("{phase}_bound"));
            let predicted = &predicted["predictions"][0];
            assert_eq!(row["before"]["numbers"][&name], predicted["results"][&name], "{model} {name}");
            let word = row["before"]["bounds"][&bound].as_str().expect("a word");
            assert_eq!(word.to_lowercase(), predicted[&bound], "{model}");
        }
    }
}

#[test]
fn the_effect_of_a_table_is_seen_where_its_entries_are_used() {
    let effect = |name: &str, file: &str, edits: &[(&str, &str)]| -> Value {
        let output = shipped(name, file, edits, &["--format", "json"]);
        let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        result["contracts"][0]["effect"].clone()
    };
    let all = |effect: &Value, key: &str, name: &str| {
        let rows = effect["rows"].as_array().expect("rows");
        assert!(!rows.is_empty() && rows.iter().all(|row| row[key] == name), "{effect}");
    };
    let device = [("bandwidth: 2765 GB/s", "bandwidth: 2700 GB/s")];
    all(&effect("device", "hardware-v1.yaml", &device), "device", "tpu_v5p");
    let model = [("      llama_3_1_8b:\n", "      llama_3_1_8b_renamed:\n")];
    let renamed = effect("model", "models-v1.yaml", &model);
    assert_eq!(renamed["rows"][0]["before"], Value::Null, "{renamed}");
    let format = [("block_bytes: 34 B", "block_bytes: 36 B")];
    all(&effect("format", "quantization-v1.yaml", &format), "format", "q8_0");
}

#[test]
fn the_other_families_of_predictions_have_effects_too() {
    for (name, file, edit, figure) in [
        (
            "ceiling",
            "roofline-model-v1.yaml",
            (
                "formula: throughput <= min(bw_ceiling, compute_ceiling)",
                "formula: throughput <= min(bw_ceiling, compute_ceiling) / 2",
            ),
            "throughput_ceiling",
        ),
        (
            "latency",
            "inference-latency-v1.yaml",
            (
                "formula: roof_time = max(compute_time, memory_time)",
                "formula: roof_time = compute_time + memory_time",
            ),
            "latency",
        ),
    ] {
        let shown = printed(&shipped(name, file, &[edit], &[]));
        assert!(shown.contains(figure) && shown.contains("predictions by"), "{shown}");
    }
    let layer =
        ("formula: ridge_point = compute / bandwidth", "formula: ridge_point = compute / bandwidth * 1");
    let shown = printed(&shipped("no-effect", "hardware-v1.yaml", &[layer], &[]));
    assert!(shown.contains("Effect: none, in"), "{shown}");
    let shown = printed(&diff("unread", &[("default: 2", "default: 4")], &[]));
    assert!(shown.contains("Effect: none: no prediction reads this contract"), "{shown}");
}

#[test]
fn a_narrowed_domain_refuses_predictions_and_they_stand_first() {
    let narrowed = [(
        "    domain: integer [1, 1e15]\n    doc: Parameters that every token uses",
        "    domain: integer [1, 1e10]\n    doc: Parameters that every token uses",
    )];
    let shown = printed(&shipped("refused", "transformer-v1.yaml", &narrowed, &["--top", "1"]));
    assert!(shown.contains("is outside its domain integer [1, 1e10]"), "{shown}");
}

fn git(directory: &Path, arguments: &[&str]) {
    let identity =
        ["-c", "user.name=test", "-c", "user.email=test@example.invalid", "-c", "commit.gpgsign=false"];
    let output = Command::new("git")
        .current_dir(directory)
        .args(identity)
        .args(arguments)
        .output()
        .expect("git is needed by this test");
    assert!(output.status.success(), "git {arguments:?}: {}", err(&output));
}

#[test]
fn every_contract_of_a_repository_is_compared_with_a_revision() {
    let directory = scratch::directory("diff-repository");
    git(&directory, &["init", "-q"]);
    write(&directory, "contracts/base.yaml", BASE);
    write(&directory, "contracts/gone.yaml", BASE);
    write(&directory, "contracts/broken.yaml", BASE);
    write(&directory, "other/list.yaml", "- a list\n");
    write(&directory, "other/same.yaml", BASE);
    git(&directory, &["add", "."]);
    git(&directory, &["commit", "-q", "-m", "first"]);
    write(&directory, "contracts/base.yaml", &edited(BASE, &[("default: 2", "default: 4")]));
    write(&directory, "contracts/new.yaml", BASE);
    write(
        &directory,
        "contracts/broken.yaml",
        &edited(BASE, &[("formula: batch / time", "formula: batch / tim")]),
    );
    write(&directory, "other/list.yaml", "- another list\n");
    std::fs::remove_file(directory.join("contracts/gone.yaml")).expect("removed");
    let output = roofline(&directory, &["--git", "HEAD"]);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!("a_repository", printed(&output));
    // From a directory further down, everything or only what was asked for.
    let below = directory.join("other");
    assert_eq!(printed(&roofline(&below, &["--git", "HEAD"])), printed(&output));
    let some = printed(&roofline(&below, &["--git", "HEAD", "../contracts/new.yaml"]));
    assert_eq!(some, "new 1.0.0: new\n");
    let none = roofline(&below, &["--git", "HEAD", "same.yaml"]);
    assert_eq!((printed(&none).as_str(), none.status.code()), ("no contract has changed\n", Some(0)));
}

#[test]
fn a_contract_of_a_revision_stands_on_those_of_that_revision() {
    let directory = scratch::directory("diff-dependencies");
    git(&directory, &["init", "-q"]);
    let user = "metadata: {version: 1.0.0, description: x, depends_on: [base ^1.0]}\nequations:\n  twice: {formula: 2 * rate, unit: 1/s}\n";
    write(&directory, "base.yaml", BASE);
    write(&directory, "user.yaml", user);
    git(&directory, &["add", "."]);
    git(&directory, &["commit", "-q", "-m", "first"]);
    write(
        &directory,
        "base.yaml",
        &edited(
            BASE,
            &[("formula: batch / time", "formula: batch / time / 2"), ("version: 1.0.0", "version: 1.5.0")],
        ),
    );
    write(&directory, "user.yaml", &user.replace("2 * rate", "rate * 2 "));
    let shown = printed(&roofline(&directory, &["--git", "HEAD", "user.yaml"]));
    assert!(shown.contains("dependency base changed"), "{shown}");
    assert!(shown.contains("equation twice changed"), "{shown}");
    assert!(shown.contains("different at"), "{shown}");
}

#[test]
fn wrong_use_is_refused_with_two() {
    let directory = scratch::directory("diff-wrong");
    write(&directory, "base.yaml", BASE);
    write(&directory, "broken.yaml", "metadata: 1\n");
    let refused = |arguments: &[&str], says: &str| {
        let output = roofline(&directory, arguments);
        let errors = err(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains(says), "{arguments:?}: {errors}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    };
    refused(&[], "name two contracts, OLD and NEW, or say --git REVISION");
    refused(&["base.yaml"], "name two contracts");
    refused(&["base.yaml", "base.yaml", "base.yaml"], "name two contracts");
    refused(&["base.yaml", "missing.yaml"], "missing.yaml");
    refused(&["base.yaml", "broken.yaml"], "broken.yaml is not a valid contract");
    git(&directory, &["init", "-q"]);
    refused(&["--git", "no-such-thing"], "has no such revision");
    refused(&["--git", "--help-me"], "has no such revision");
    refused(&["--git", ""], "has no such revision");
    git(&directory, &["add", "."]);
    git(&directory, &["commit", "-q", "-m", "first"]);
    refused(&["--git", "HEAD", "../outside"], "outside");
}

#[test]
fn no_repository_and_no_git_are_said_so() {
    // A directory that is surely in no repository.
    let directory = std::env::temp_dir();
    let mut command = command();
    command.current_dir(&directory).env("GIT_CEILING_DIRECTORIES", &directory);
    let output = command.args(["diff", "--git", "HEAD"]).output().expect("the program starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("not a git repository"));
    let output = command.env("PATH", "").output().expect("the program starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("the program `git` can't be run"));
}
