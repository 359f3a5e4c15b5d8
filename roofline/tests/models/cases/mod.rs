//! Model files as data: each case of `cases/*.yaml` contains the keys and tensors of a file, and figures worked
//! out by hand. In calculations, `stored` is the number of elements of all tensors, `bytes` their size, and the
//! names of `where` are defined by the case.

mod expect;
pub mod figure;
mod operations;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use roofline::model::Model;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_yaml::{Mapping, Value};

use roofline_test_support::file::File;
use roofline_test_support::scratch::directory;

use expect::{Expect, Report};
use figure::Names;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    /// Default type of matrices.
    matrices: String,
    /// Values for YAML aliases.
    #[serde(default, rename = "shared")]
    _shared: Value,
    cases: Mapping,
}

struct Case {
    name: String,
    matrices: String,
    file: File,
    names: Names,
    expect: Expect,
}

impl Case {
    fn new(name: String, matrices: &str, mut parts: Mapping) -> Result<Case, serde_yaml::Error> {
        let expect = parts.remove("expect").unwrap_or_default();
        let own = parts.remove("where").unwrap_or(Value::Mapping(Mapping::new()));
        let file: File = serde_yaml::from_value(Value::Mapping(parts))?;
        let (elements, bytes) = file.stored(matrices);
        let mut names = Names::from([("bytes".into(), bytes.into())]);
        names.extend((!file.packed).then(|| ("stored".to_owned(), elements.into())));
        figure::define(&mut names, serde_yaml::from_value(own)?)?;
        Ok(Case { name, matrices: matrices.to_owned(), file, names, expect: serde_yaml::from_value(expect)? })
    }

    fn check(&self, report: &mut Report) {
        for path in self.file.write(&place(&self.name), &self.name, &self.matrices) {
            match (Model::open(path), &self.expect.error) {
                (Ok(model), None) => self.expect.check(&model, &self.names, report),
                (Ok(_), Some(expected)) => report.fail("error", format!("none, expected {expected:?}")),
                (Err(error), expected) => report.contains("error", &error.to_string(), expected.as_deref()),
            }
        }
    }
}

/// Returns the directory for the files of a case.
fn place(name: &str) -> PathBuf {
    directory(&format!("case-{}", name.replace(|next: char| !next.is_alphanumeric(), "-")))
}

/// Parses a table of cases and applies its YAML merges.
pub fn table<T: DeserializeOwned>(text: &str) -> T {
    let mut table: Value = serde_yaml::from_str(text).expect("a table of cases is YAML");
    // Merged mappings may contain merges themselves.
    loop {
        let before = table.clone();
        table.apply_merge().expect("`<<` names a mapping");
        if table == before {
            break;
        }
    }
    serde_yaml::from_value(table).unwrap_or_else(|error| panic!("a table of cases: {error}"))
}

fn cases(text: &str) -> Vec<Case> {
    let Table { matrices, cases, .. } = table(text);
    let case = |(name, parts): (Value, Value)| {
        let name = name.as_str().expect("a case has a name").to_owned();
        let parts = serde_yaml::from_value(parts);
        parts
            .and_then(|parts| Case::new(name.clone(), &matrices, parts))
            .unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    cases.into_iter().map(case).collect()
}

/// Checks every case of a table and reports all differences.
#[track_caller]
fn check(text: &str) {
    let mut report = Report::default();
    for case in cases(text) {
        report.begin(&case.name);
        if catch_unwind(AssertUnwindSafe(|| case.check(&mut report))).is_err() {
            report.fail("panic", "the message is above".to_owned());
        }
    }
    report.finish();
}

/// Opens the model of a case in the directory of another test.
pub fn model(table: &str, name: &str, test: &str) -> Model {
    let case = cases(table).into_iter().find(|case| case.name == name).expect("a case of this name");
    Model::open(&case.file.write(&place(test), name, &case.matrices)[0]).expect("a file of this case")
}

pub const DECODERS: &str = include_str!("decoders.yaml");
pub const ENCODERS: &str = include_str!("encoders.yaml");

#[test]
fn dense_decoders_have_the_expected_costs() {
    check(include_str!("dense.yaml"));
}

#[test]
fn decoders_have_the_expected_costs() {
    check(DECODERS);
}

#[test]
fn families_have_the_expected_operations() {
    check(include_str!("families.yaml"));
}

#[test]
fn encoders_have_the_expected_costs() {
    check(ENCODERS);
}

#[test]
fn packed_files_have_the_unpacked_weights() {
    check(include_str!("packed.yaml"));
}

#[test]
fn configurations_have_the_published_dimensions() {
    check(include_str!("configs.yaml"));
}

#[test]
fn differences_are_reported_with_case_and_figure() {
    let text = "matrices: BF16\ncases:\n  newfangled:\n    keys: {block_count: 1}\n    tensors: [{output.weight: [2, 3]}]\n    \
                expect: {bytes: 2 * stored + 1}\n";
    let mut report = Report::default();
    let case = &cases(text)[0];
    report.begin(&case.name);
    case.check(&mut report);
    assert!(report.text().contains("newfangled: bytes: 12 where 13 is expected"), "{}", report.text());
}
