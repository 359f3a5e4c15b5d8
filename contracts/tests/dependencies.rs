//! Contracts with dependencies: imported items, and all errors.

use std::path::{Path, PathBuf};

use roofline_contracts::contract::{Contract, Table};
use roofline_contracts::report::Severity;
use roofline_contracts::source::Source;
use roofline_contracts::{Compiled, Compiler, compile_in, eval, library};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dependencies")
}

fn compiled(name: &str) -> Compiled {
    let file = format!("{name}.yaml");
    let source = Source::read(&directory().join(&file), &file).expect("the fixture can be read");
    compile_in(source, Some(&directory()))
}

fn contract(name: &str) -> Contract {
    let compiled = compiled(name);
    let shown: Vec<String> = compiled.diagnostics.iter().map(|m| m.render(&compiled.source)).collect();
    compiled.contract.unwrap_or_else(|| panic!("{}", shown.join("\n")))
}

fn only_error(name: &str) -> String {
    let compiled = compiled(name);
    let mut errors: Vec<String> = compiled.rendered(Severity::Error).collect();
    assert_eq!(errors.len(), 1, "{name}: {errors:#?}");
    errors.remove(0)
}

#[test]
fn a_contract_imports_the_names_in_its_formulas_and_their_operands() {
    let user = contract("user-v1");
    let quantities: Vec<(&str, Option<&str>)> =
        user.quantities.iter().map(|q| (q.name.as_str(), q.origin.as_deref())).collect();
    assert_eq!(quantities, [("rounds", None), ("size", Some("base-v1")), ("speed", Some("base-v1"))]);
    let equations: Vec<&str> = user.equations.iter().map(|equation| equation.name.as_str()).collect();
    assert_eq!(equations, ["total", "duration", "twice"]);
    assert_eq!(user.classifiers[0].name, "pace");
    assert_eq!(user.profiles[0].name, "links");
    assert_eq!(user.obligations.len(), 1, "obligations stay where they are proven");
    let outputs = eval::evaluate(&user, &[3.0, 10.0, 5.0]).expect("inside the domains");
    assert_eq!(outputs.equations, [12.0, 2.0, 4.0]);
    assert_eq!(outputs.recommendations, [0], "a classifier of a dependency can be used");
}

#[test]
fn an_error_in_a_dependency_is_not_repeated_by_its_users() {
    let error = only_error("on-broken-and-uses-it");
    assert!(error.contains("`broken-v1` has an error"), "{error}");
}

#[test]
fn requirements_are_imported_with_their_inputs() {
    let user = contract("queue-user-v1");
    let names: Vec<&str> = user.quantities.iter().map(|quantity| quantity.name.as_str()).collect();
    assert_eq!(names, ["arrival", "middle", "service"]);
    let required: Vec<(String, Option<&str>)> = (user.requires.iter())
        .map(|requirement| (requirement.expression.formula.to_string(), requirement.origin.as_deref()))
        .collect();
    let home = Some("bounded-v1");
    assert_eq!(required, [("arrival < middle".to_owned(), home), ("middle <= service".to_owned(), home)]);
    assert!(eval::evaluate(&user, &[1.0, 2.0, 3.0]).is_ok());
    assert_eq!(eval::evaluate(&user, &[3.0, 2.0, 3.0]).unwrap_err().unmet, ["arrival < middle"]);
}

#[test]
fn an_item_imported_on_two_paths_is_one_item() {
    let user = contract("second-user-v1");
    assert_eq!(user.equations.iter().filter(|equation| equation.name == "duration").count(), 1);
    let origins: Vec<&str> = user.closure().iter().map(|c| c.metadata.id.as_str()).collect();
    assert_eq!(origins, ["base-v1", "user-v1"]);
    let total = user.equation("total").expect("an imported equation");
    assert_eq!(user.home(total.origin.as_deref()).metadata.id, "user-v1");
}

#[test]
fn all_read_files_are_tracked_for_rebuilds() {
    let files = compiled("second-user-v1").files;
    let names: Vec<_> = files.iter().filter_map(|file| file.file_name()?.to_str()).collect();
    assert_eq!(names, ["base-v1.yaml", "user-v1.yaml"]);
}

#[test]
fn every_dependency_error_is_reported_at_its_place() {
    for (name, expected) in [
        ("missing", "missing.yaml:4:16: error: base-v2.yaml: contract not found; searched "),
        ("too-old", "too-old.yaml:4:16: error: `base-v1` has version 1.2.0, which does not match `^1.3`"),
        ("conflict", "conflict.yaml:4:30: error: `base-v1` has version 1.2.0, which does not match `^2.0`"),
        ("no-version", "no-version.yaml:4:16: error: missing version requirement for `base-v1`"),
        ("wrong-version", "wrong-version.yaml:4:16: error: invalid version requirement `latest`"),
        ("twice-the-same", "twice-the-same.yaml:4:30: error: duplicate dependency `base-v1`"),
        ("itself", "itself.yaml:4:16: error: cyclic dependency: itself -> itself"),
        (
            "on-broken",
            "on-broken.yaml:4:16: error: `broken-v1` has an error: broken-v1.yaml:10:18: error: unknown name",
        ),
        (
            "on-misnamed",
            "on-misnamed.yaml:4:16: error: misnamed-v1.yaml has the id `another-v1`; expected `misnamed-v1`",
        ),
        (
            "ambiguous",
            "ambiguous.yaml:7:14: error: ambiguous name `duration`: both `base-v1` and `other-v1` define it",
        ),
        ("shadowed", "shadowed.yaml:11:14: error: `duration` of `base-v1` uses `speed` of that contract"),
        ("wrong-unit", "wrong-unit.yaml:7:14: error: `half` has the unit s, not B"),
    ] {
        let error = only_error(name);
        assert!(error.starts_with(expected), "{name}: {error}");
    }
}

#[test]
fn a_version_conflict_names_the_other_requirement() {
    assert!(only_error("conflict").contains("`user-v1` requires `base-v1 ^1.1`"));
}

#[test]
fn a_cycle_is_shown_as_a_path() {
    let error = only_error("cycle-a");
    assert!(error.contains("cyclic dependency: cycle-a -> cycle-b -> cycle-a"), "{error}");
}

#[test]
fn a_compiler_shares_built_in_dependencies_but_never_files() {
    let mut compiler = Compiler::default();
    let built_in = |name: &str| library::built_in(name).expect("a built-in contract");
    let mut hardware = |directory: Option<&Path>| {
        let compiled = compiler.compile_in(built_in("roofline-model-v1"), directory);
        let contract = compiled.contract.expect("the contract is valid");
        (compiled.files.len(), contract.dependencies[0].clone())
    };
    let (_, first) = hardware(None);
    let (files, second) = hardware(None);
    assert_eq!(files, 0);
    assert!(std::sync::Arc::ptr_eq(&first, &second), "compiled twice");

    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiler-shares");
    std::fs::create_dir_all(&directory).expect("the test directory can be created");
    let text = built_in("hardware-v1").text.replacen("\n  version: 2.", "\n  version: 2.9", 1);
    std::fs::write(directory.join("hardware-v1.yaml"), text).expect("a file can be written");
    let (files, local) = hardware(Some(&directory));
    assert_eq!(files, 1);
    assert!(local.metadata.version.minor >= 90, "{}", local.metadata.version);
}

#[test]
fn an_extended_table_has_the_fields_and_rules_of_the_base() {
    let contract = contract("extends");
    let table = contract.table("my_devices").expect("its own table");
    let registry = contract.dependencies[0].table("devices").expect("the registry");
    let names = |table: &Table| table.fields.iter().map(|field| field.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(table), names(registry));
    assert_eq!(table.rules.len(), registry.rules.len());
    assert_eq!((table.entries.len(), table.entries[0].name.as_str()), (1, "my_box"));
}

#[test]
fn errors_in_an_extended_table_are_reported_at_their_place() {
    let broken = compiled("extends-broken");
    let errors: Vec<String> = broken.rendered(Severity::Error).collect();
    let found = |text: &str| errors.iter().any(|error| error.contains(text));
    assert!(found("extends-broken.yaml:18:9: error: unknown key `speed` in profile `my_box`"), "{errors:#?}");
    assert!(
        found("extends-broken.yaml:9:7: error: profile `my_box` violates the rule `compute-is-16-bit`"),
        "{errors:#?}"
    );
    assert!(found("violates the rule `capacity-in-gb`"), "{errors:#?}");
    assert!(only_error("extends-nothing").contains("unknown table `gadgets`"));
    assert!(only_error("extends-with-fields").contains("`fields` cannot be combined with `extends`"));
}
