//! The editor schema of the contract language: what ships passes it, and what the reader refuses fails it wherever a
//! schema can tell.

use std::path::{Path, PathBuf};

use boon::{Compiler, SchemaIndex, Schemas};
use roofline::program::contract_schema::json_schema;
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

    /// What is wrong with a file, as an editor would say it.
    fn mistakes(&self, path: &Path) -> Option<String> {
        let text = std::fs::read_to_string(path).expect("readable");
        // What is not YAML, or repeats a key, fails before a schema is asked.
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
fn the_published_schema_is_the_one_of_the_reader() {
    let published = std::fs::read_to_string(contracts().join("schema.json")).expect("it is published");
    let now = serde_json::to_string_pretty(&json_schema()).expect("JSON") + "\n";
    assert!(published == now, "run `cargo run -- schema contract > contracts/schema.json`");
}

#[test]
fn every_contract_that_ships_and_every_accepted_fixture_passes() {
    let validator = Validator::new();
    let mut checked = 0;
    for path in files(&contracts()).into_iter().chain(files(&contracts().join("tests/dependencies"))) {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if !["no-version.yaml"].contains(&name.as_str()) {
            assert_eq!(validator.mistakes(&path), None, "{name}");
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

/// What is wrong in these shows only to one who reads YAML with its anchors, formulas, or knows names, units, domains,
/// tables and proofs.
const BEYOND_A_SCHEMA: &[&str] = &[
    "anchor",
    "bad-conversion-binary",
    "bad-conversion-literal",
    "bad-conversion-of-two-units",
    "bound-check-clashes",
    "classifier-band-of-nothing",
    "classifier-case-unreachable",
    "classifier-not-a-condition",
    "classifier-used-as-number",
    "comparison-chained",
    "comparison-of-different-units",
    "conversion-as-a-product",
    "cycle",
    "default-in-another-unit",
    "default-outside-domain",
    "direction-in-an-equation",
    "direction-increases",
    "division-by-a-domain-with-zero",
    "division-by-a-range-with-zero",
    "division-by-zero",
    "division-wherever-it-stands",
    "domain-empty",
    "duplicate-key",
    "enumeration-as-a-number",
    "enumeration-has-no-order",
    "enumeration-unknown-case",
    "enumeration-with-a-unit",
    "equation-defines-another-name",
    "finite-outside-obligations",
    "formula-assignment-inside",
    "formula-block-scalar",
    "formula-capital-and",
    "formula-folded-first-line",
    "formula-folded-scalar",
    "formula-parenthesis",
    "formula-percent",
    "formula-quoted-after-multibyte",
    "function-arity",
    "function-transcendental",
    "function-written-out",
    "integer-domain-beyond-2-53",
    "min-of-different-scales",
    "names-clash",
    "names-clash-with-generated",
    "number-too-large",
    "number-too-large-in-formula",
    "number-wrong",
    "obligation-direction-in-an-equations-name",
    "obligation-does-not-parse",
    "obligation-false",
    "obligation-false-by-a-rounding",
    "obligation-not-a-condition",
    "obligation-of-the-wrong-shape",
    "obligation-substitution-unit",
    "obligation-twice",
    "obligation-unknown",
    "obligation-unknown-case",
    "obligation-unknown-name",
    "obligation-vacuous",
    "one-typo-name",
    "pow-exponent-unbounded",
    "profile-field-against-its-quantity",
    "profile-field-missing",
    "profile-field-unknown",
    "profile-field-without-unit",
    "profile-rule-after-a-doubled-quote",
    "profile-rule-broken",
    "profile-rule-divides-by-zero",
    "profile-rule-unknown-allowed",
    "profile-text-not-allowed",
    "profile-value-in-an-unknown-unit",
    "profile-value-in-another-scale",
    "profile-value-in-another-unit",
    "profile-value-outside-domain",
    "quantity-unused",
    "requires-a-division",
    "requires-a-unit",
    "requires-an-equation",
    "requires-impossible",
    "requires-more-than-a-profile",
    "requires-more-than-the-defaults",
    "root-of-a-negative-value",
    "root-of-an-odd-unit",
    "scale-mismatch",
    "scale-mismatch-bits",
    "scale-mismatch-bytes",
    "spellings-of-other-languages",
    "sum-divides-by-zero",
    "sum-in-a-sum",
    "sum-in-another-unit",
    "sum-of-a-missing-value",
    "sum-of-another-unit",
    "sum-of-conditions",
    "sum-of-different-units",
    "sum-of-no-column",
    "sum-of-texts",
    "sum-of-values",
    "sum-over-a-quantity",
    "sum-over-no-table",
    "sum-with-a-name-for-the-row",
    "tolerance-in-an-equation",
    "tolerance-of-a-strict-order",
    "tolerance-too-large",
    "type-is-a-keyword",
    "unit-exponents-too-large",
    "unit-mismatch",
    "unknown-function",
    "unknown-name",
    "unknown-name-far",
    "unknown-unit-in-literal",
];

#[test]
fn every_rejected_fixture_fails_unless_it_is_listed_as_beyond_a_schema() {
    let validator = Validator::new();
    let mut passed = Vec::new();
    for path in files(&contracts().join("tests/rejected")) {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if validator.mistakes(&path).is_none() {
            passed.push(name);
        }
    }
    passed.sort();
    assert_eq!(passed, BEYOND_A_SCHEMA);
}
