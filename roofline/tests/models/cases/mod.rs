//! Model files as data: each case of `cases/*.yaml` states the keys and tensors of a file and the figures that were worked
//! out for it by hand. `stored` in a calculation is the number of elements of all tensors, `bytes` their bytes, and the
//! names of `where` are the case's own.

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
    /// The type of matrices that do not say theirs.
    matrices: String,
    /// Values that cases refer to.
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

/// A directory for the files of a case.
fn place(name: &str) -> PathBuf {
    directory(&format!("case-{}", name.replace(|next: char| !next.is_alphanumeric(), "-")))
}

/// A table of cases with its merges applied.
pub fn table<T: DeserializeOwned>(text: &str) -> T {
    let mut table: Value = serde_yaml::from_str(text).expect("a table of cases is YAML");
    // Merged mappings may themselves have been merged from others.
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

/// Checks every case of a table, and names the cases and figures that differ.
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

/// The model of a case of one of these tables, in files of another test.
pub fn model(table: &str, name: &str, test: &str) -> Model {
    let case = cases(table).into_iter().find(|case| case.name == name).expect("a case of this name");
    Model::open(&case.file.write(&place(test), name, &case.matrices)[0]).expect("a file of this case")
}

pub const DECODERS: &str = include_str!("decoders.yaml");
pub const ENCODERS: &str = include_str!("encoders.yaml");

#[test]
fn dense_decoders_cost_as_worked_out() {
    check(include_str!("dense.yaml"));
}

#[test]
fn decoders_cost_as_worked_out() {
    check(DECODERS);
}

#[test]
fn families_have_the_operations_worked_out() {
    check(include_str!("families.yaml"));
}

#[test]
fn encoders_cost_as_worked_out() {
    check(ENCODERS);
}

#[test]
fn packed_files_have_the_weights_they_stand_for() {
    check(include_str!("packed.yaml"));
}

#[test]
fn configurations_have_the_dimensions_published() {
    check(include_str!("configs.yaml"));
}

#[test]
fn a_wrong_figure_is_reported_with_its_case_and_name() {
    let text = "matrices: BF16\ncases:\n  newfangled:\n    keys: {block_count: 1}\n    tensors: [{output.weight: [2, 3]}]\n    \
                expect: {bytes: 2 * stored + 1}\n";
    let mut report = Report::default();
    let case = &cases(text)[0];
    report.begin(&case.name);
    case.check(&mut report);
    assert!(report.text().contains("newfangled: bytes: 12 where 13 is expected"), "{}", report.text());
}
