//! JSON documents of the program are valid for its schemas. Unlisted fields are rejected, so that documents and schemas cannot
//! diverge.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::{Value, json};

use crate::program::{BENCH, CONFIG, MACHINE, RUNS, command, err, printed};
use roofline_test_support::scratch;

const PUBLISHED: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../contracts/tests/published/token-rate-v1.yaml");

const CONTRACT: &str = "metadata:
  version: 1.0.0
  description: How long one pass over the weights takes
quantities:
  weights:
    unit: GB
    domain: \"[0.001, 1e5]\"
  bandwidth:
    unit: GB/s
    domain: \"[1, 1e5]\"
equations:
  pass_time:
    formula: weights / bandwidth * 1000 [ms/s]
    unit: ms
  speed_limit:
    formula: speed <= bandwidth
    unit: GB/s
obligations:
  - id: more-is-never-slower
    type: monotonicity
    formal: pass_time DIRECTION in bandwidth
";

/// A compiled schema of the program.
struct Schema {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Schema {
    fn new(directory: &Path, id: &str) -> Schema {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource("schema.json", json(directory, &["schema", id])).expect("a schema");
        let index =
            compiler.compile("schema.json", &mut schemas).unwrap_or_else(|error| panic!("{id}: {error}"));
        Schema { schemas, index }
    }

    fn check(&self, document: &Value) -> Result<(), String> {
        self.schemas.validate(document, self.index).map_err(|error| format!("{error:#}"))
    }
}

fn roofline(directory: &Path, args: &[&str]) -> Output {
    command().current_dir(directory).args(args).output().expect("the program starts")
}

fn json(directory: &Path, args: &[&str]) -> Value {
    let output = roofline(directory, args);
    let error = err(&output);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{args:?} does not print JSON: {error}"))
}

/// Creates a directory with the files that the commands read.
fn directory(name: &str) -> PathBuf {
    let path = scratch::directory(&format!("schema-{name}"));
    let write = |name: &str, text: &str| fs::write(path.join(name), text).expect("a file can be written");
    write("config.json", CONFIG);
    write("right-v1.yaml", &CONTRACT.replace("DIRECTION", "decreasing"));
    write("wrong-v1.yaml", &CONTRACT.replace("DIRECTION", "increasing"));
    write("unit-v1.yaml", &CONTRACT.replace("unit: ms", "unit: s"));
    let shipped = printed(&["contract", "list", "transformer-v1"]);
    let changed = shipped.replace("pass_weight_bytes + cache_bytes", "pass_weight_bytes + 2 * cache_bytes");
    assert_ne!(changed, shipped);
    write("transformer-v1.yaml", &changed);
    path
}

/// Commands that cover every schema.
const COMMANDS: [&[&str]; 31] = [
    &[],
    &["machine"],
    &["bench", "--quick", "--shape", "64x256", "--quant", "q8_0"],
    &["predict", "llama-3.1-8b", "--on", "this,h100-sxm", "--sweep", "batch=1..512"],
    &["predict", "config.json", "--on", "t4", "--explain", "--require", "decode_ceiling > 1"],
    &["predict", "--params", "7e9", "--on", "all"],
    &["profile", "config.json"],
    &["profile", "config.json", "--by", "op", "--quant", "q8_0", "--no-advice", "--on", "h100-sxm"],
    &["profile", "config.json", "--on", "t4,h100-sxm"],
    &["plot", MACHINE],
    &["plot", BENCH, MACHINE],
    &["contract", "prove", "roofline-model-v1"],
    &["contract", "prove", "wrong-v1.yaml"],
    &["contract", "prove", "right-v1.yaml", "--mutants"],
    &["contract", "check", "roofline-model-v1", "unit-v1.yaml", "nowhere.yaml"],
    &[
        "contract",
        "eval",
        "right-v1.yaml",
        "--set",
        "weights=8",
        "--set",
        "bandwidth=40",
        "--set",
        "speed=30",
    ],
    &[
        "contract",
        "eval",
        "layer-roofline-v1",
        "--set",
        "other_flops=1e9",
        "--set",
        "other_bytes=1e9",
        "--profile",
        "h100_sxm",
    ],
    &["contract", "expand", "right-v1.yaml"],
    &["choose", "llama-3.1-8b", "--quant", "q4_k_m", "--min-speed", "20 token/s"],
    &["plan", "llama-3.1-70b", "--quant", "q4_k_m", "--users", "4", "--on", "rtx-5090,h100-sxm"],
    &["devices"],
    &["calibrate", RUNS, "--output", "calibration.json"],
    &["evidence", "rtx-4090"],
    &["models"],
    &["contract", "list"],
    &["contract", "list", "roofline-model-v1"],
    &["contract", "diff", "transformer-v1", "transformer-v1.yaml"],
    &["gate", MACHINE, MACHINE],
    &["contract", "import", PUBLISHED],
    &[
        "contract",
        "eval",
        "roofline-model-v1",
        "--set",
        "total_params=7e9",
        "--set",
        "bits_per_weight=4",
        "--on",
        "t4,l4",
    ],
    &["schema"],
];

#[test]
fn every_schema_has_a_valid_document() {
    let directory = directory("documents");
    let listed = json(&directory, &["schema", "--format", "json"]);
    let ids = listed["schemas"].as_array().expect("a list").iter().map(|entry| entry["id"].as_str().unwrap());
    let mut without: BTreeSet<String> = ids.map(str::to_owned).collect();
    for command in COMMANDS {
        let document = json(&directory, &[command, &["--format", "json"]].concat());
        let id = document["schema"].as_str().unwrap_or_else(|| panic!("{command:?} has no schema"));
        let schema = Schema::new(&directory, id);
        if let Err(reason) = schema.check(&document) {
            panic!("roofline {}: {reason}", command.join(" "));
        }
        let mut more = document.clone();
        more["no_such_field"] = json!(1);
        assert!(schema.check(&more).is_err(), "{id} accepts unknown fields");
        let mut fewer = document.as_object().expect("an object").clone();
        fewer.remove("schema");
        assert!(schema.check(&fewer.into()).is_err(), "{id} accepts missing fields");
        without.remove(id);
    }
    // Certificates are written to files.
    roofline(&directory, &["contract", "prove", "right-v1.yaml", "--certificates", "certificates"]);
    let certificate =
        fs::read(directory.join("certificates/right-v1.certificate.json")).expect("it was written");
    let certificate: Value = serde_json::from_slice(&certificate).expect("JSON");
    assert_eq!(Schema::new(&directory, "roofline.certificate/1").check(&certificate), Ok(()));
    without.remove("roofline.certificate/1");
    assert!(without.is_empty(), "{without:?} have no document");
}

#[test]
fn the_chart_of_the_documentation_is_valid() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/commands/plot.md");
    let page = fs::read_to_string(page).expect("the page is readable");
    let (_, rest) = page.split_once("```json chart.json\n").expect("the page contains a chart");
    let chart: Value = serde_json::from_str(rest.split("```").next().expect("the block ends")).expect("JSON");
    assert_eq!(Schema::new(&directory("chart"), "chart").check(&chart), Ok(()));
}

#[test]
fn every_field_is_described() {
    let directory = directory("fields");
    let listed = json(&directory, &["schema", "--format", "json"]);
    for entry in listed["schemas"].as_array().expect("a list") {
        let id = entry["id"].as_str().expect("a text");
        let schema = json(&directory, &["schema", id]);
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        let mut undescribed_fields = Vec::new();
        undescribed(&schema, "", &mut undescribed_fields);
        assert!(undescribed_fields.is_empty(), "{id}: {undescribed_fields:?}");
    }
}

/// Collects fields without a description.
fn undescribed(schema: &Value, path: &str, found: &mut Vec<String>) {
    let described =
        |value: &Value| value.get("description").and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    // The description of a variant also covers its name.
    let variant = path.ends_with("/oneOf") && described(schema);
    if let Some(properties) = schema.get("properties").and_then(Value::as_object).filter(|_| !variant) {
        for (name, field) in properties {
            if !described(field) {
                found.push(format!("{path}/{name}"));
            }
        }
    }
    match schema {
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| undescribed(value, &format!("{path}/{key}"), found))
        }
        Value::Array(list) => list.iter().for_each(|value| undescribed(value, path, found)),
        _ => {}
    }
}
