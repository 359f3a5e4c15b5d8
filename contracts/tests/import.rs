//! Contracts of the published format come over: what becomes formal compiles and holds, and the report says the rest.

use roofline_contracts::authoring::format::format;
use roofline_contracts::authoring::import::{Imported, Outcome, import};
use roofline_contracts::contract::Verdict;
use roofline_contracts::source::Source;
use roofline_contracts::{compile, report::Severity};

fn imported(name: &str, text: &str) -> Imported {
    import(&Source::from_bytes(name, text.as_bytes().to_vec()).expect("text")).expect("YAML")
}

/// The contract compiles, is in canonical form, and has no obligation that did not run.
fn assert_sound(imported: &Imported) {
    let source = Source::from_bytes(&format!("{}.yaml", imported.id), imported.contract.clone().into_bytes());
    let source = source.expect("text");
    let compiled = compile(source.clone());
    let errors: Vec<String> = compiled.rendered(Severity::Error).collect();
    assert!(errors.is_empty(), "{}\n{}", errors.join("\n"), imported.contract);
    let contract = compiled.contract.expect("it compiles");
    assert!(contract.obligations.iter().all(|one| matches!(one.verdict, Verdict::Proven | Verdict::Tested)));
    assert_eq!(format(&source).expect("laid out"), imported.contract);
    let informal = imported.items.iter().filter(|item| item.outcome == Outcome::Informal);
    assert_eq!(informal.clone().count(), contract.informal.len());
    assert!(informal.clone().all(|item| !item.note.is_empty()), "an item without a reason");
}

fn report(imported: &Imported) -> String {
    let mut out: String = (imported.items.iter())
        .map(|item| {
            format!(
                "{} (line {}): {}: {}\n    {}\n",
                item.place,
                item.line,
                item.outcome.word(),
                item.text,
                item.note
            )
        })
        .collect();
    out += &format!(
        "renamed: {:?}\nunits: {:#?}\ndropped: {:?}\n",
        imported.renamed, imported.units, imported.dropped_units
    );
    out
}

#[test]
fn scalar_formulas_come_over_with_their_domains_and_obligations() {
    let imported = imported("token-rate-v1.yaml", include_str!("published/token-rate-v1.yaml"));
    assert_sound(&imported);
    insta::assert_snapshot!("token_rate_contract", imported.contract);
    insta::assert_snapshot!("token_rate_report", report(&imported));
}

#[test]
fn vectors_and_sums_stay_documentation_and_say_why() {
    let imported = imported("vectors-v1.yaml", include_str!("published/vectors-v1.yaml"));
    assert_sound(&imported);
    insta::assert_snapshot!("vectors_contract", imported.contract);
    insta::assert_snapshot!("vectors_report", report(&imported));
}

#[test]
fn prose_never_fails_and_never_becomes_a_proof() {
    for text in [
        "equations: {a: {formula: nothing to see, domain: here, invariants: [either, 'or: there']}}",
        "equations: {a: {formula: a = a + 1, domain: a > 0}}",
        "equations: {a: {formula: a = b; b = a}}",
        "equations: {in: {formula: in = min * 2}, a: {formula: 'a = 1/0'}}",
        "equations: text\nproof_obligations: more text\nmetadata: [1, 2]",
        "proof_obligations: [{property: P, formal: 1 > 2}, {formal: x > 0}, {}, 3]",
        "kani_harnesses: [{obligation: P, bound: -3, solver: magic}]\nfalsification_tests: [{rule: ''}, []]",
        "equations: {a: {formula: a = b / c, domain: 'b > 0, c > 0'}}\nproof_obligations: [{property: p, formal: a > 0}]",
        "equations: {α: {formula: 'α = β × 2', domain: 'β ∈ [0, 1]', codomain: 'α ∈ [0, 2]'}}",
        "metadata: {version: one, description: '', references: [{a: b}]}",
        "{}",
    ] {
        assert_sound(&imported("any-v1.yaml", text));
    }
}

#[test]
fn only_broken_yaml_is_refused() {
    for text in ["a: [", "- a list", "a: 1\na: 2", ""] {
        assert!(import(&Source::from_bytes("x.yaml", text.into()).expect("text")).is_err(), "{text}");
    }
}
