//! The editor schema of the contract language accepts the built-in contracts, and rejects invalid ones as far as a schema can.

use std::path::{Path, PathBuf};

use boon::{Compiler, SchemaIndex, Schemas};
use roofline::cli::contract_schema::json_schema;
use serde_json::Value;

fn contracts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../contracts")
}

struct Validator {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Validator {
    fn new() -> Validator {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource("contract.json", json_schema()).expect("a schema");
        let index = compiler.compile("contract.json", &mut schemas).expect("a schema of draft 2020-12");
        Validator { schemas, index }
    }

    /// Returns the schema violation of a file, if any.
    fn violation(&self, path: &Path) -> Option<String> {
        let text = std::fs::read_to_string(path).expect("readable");
        // Invalid YAML and duplicate keys fail before validation.
        let value: Value = match serde_yaml::from_str(&text) {
            Ok(value) => value,
            Err(error) => return Some(error.to_string()),
        };
        self.schemas.validate(&value, self.index).err().map(|error| format!("{error:#}"))
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = (std::fs::read_dir(directory).expect("the directory is there"))
        .map(|entry| entry.expect("listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    found.sort();
    found
}

#[test]
fn the_published_schema_is_current() {
    let published = std::fs::read_to_string(contracts().join("schema.json")).expect("it is published");
    let now = serde_json::to_string_pretty(&json_schema()).expect("JSON") + "\n";
    assert!(published == now, "run `cargo run -- schema contract > contracts/schema.json`");
}

#[test]
fn built_in_contracts_and_accepted_fixtures_are_valid() {
    let validator = Validator::new();
    let mut checked = 0;
    for path in files(&contracts()).into_iter().chain(files(&contracts().join("tests/dependencies"))) {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if !["no-version.yaml"].contains(&name.as_str()) {
            assert_eq!(validator.violation(&path), None, "{name}");
            checked += 1;
        }
    }
    assert!(checked > 15, "only {checked} contracts");
    let manual = include_str!("../../../contracts/LANGUAGE.md");
    let example =
        manual.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let value: Value = serde_yaml::from_str(example).expect("YAML");
    assert!(validator.schemas.validate(&value, validator.index).is_ok(), "the example of the manual");
}

/// Rejected contracts that the schema accepts, because their errors are in anchors, formulas, names, units, domains, tables or
/// proofs.
const BEYOND_A_SCHEMA: &str = include_str!("../fixtures/beyond-a-schema.txt");

#[test]
fn rejected_fixtures_are_invalid_unless_listed() {
    let validator = Validator::new();
    let mut passed = Vec::new();
    for path in files(&contracts().join("tests/rejected")) {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if validator.violation(&path).is_none() {
            passed.push(name);
        }
    }
    passed.sort();
    assert_eq!(passed, BEYOND_A_SCHEMA.lines().collect::<Vec<_>>());
}
