//! The import of published contracts: formal parts compile and hold, and the report lists the rest.

use roofline_contracts::authoring::format::format;
use roofline_contracts::authoring::import::{Imported, Outcome, import};
use roofline_contracts::contract::Verdict;
use roofline_contracts::source::Source;
use roofline_contracts::{compile, report::Severity};

fn imported(name: &str, text: &str) -> Imported {
    import(&Source::from_bytes(name, text.as_bytes().to_vec()).expect("text")).expect("YAML")
}

/// Asserts that the contract compiles, is in canonical form, and that every obligation was checked.
fn assert_sound(imported: &Imported) {
    let source = Source::from_bytes(&format!("{}.yaml", imported.id), imported.contract.clone().into_bytes());
    let source = source.expect("text");
    let compiled = compile(source.clone());
    let errors: Vec<String> = compiled.rendered(Severity::Error).collect();
    assert!(errors.is_empty(), "{}\n{}", errors.join("\n"), imported.contract);
    let contract = compiled.contract.expect("a valid contract");
    assert!(contract.obligations.iter().all(|one| matches!(one.verdict, Verdict::Proven | Verdict::Tested)));
    assert_eq!(format(&source).expect("laid out"), imported.contract);
    let mut informal = imported.items.iter().filter(|item| item.outcome == Outcome::Informal);
    assert!(informal.clone().count() <= contract.informal.len());
    assert!(informal.all(|item| !item.note.is_empty()), "an item without a reason");
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
fn scalar_formulas_are_imported_with_domains_and_obligations() {
    let imported = imported("token-rate-v1.yaml", include_str!("published/token-rate-v1.yaml"));
    assert_sound(&imported);
    insta::assert_snapshot!("token_rate_contract", imported.contract);
    insta::assert_snapshot!("token_rate_report", report(&imported));
}

#[test]
fn vectors_and_sums_stay_informal_with_a_reason() {
    let imported = imported("vectors-v1.yaml", include_str!("published/vectors-v1.yaml"));
    assert_sound(&imported);
    insta::assert_snapshot!("vectors_contract", imported.contract);
    insta::assert_snapshot!("vectors_report", report(&imported));
}

/// Every scalar of a document, with its path.
fn scalars(place: &str, value: &serde_yaml::Value, found: &mut Vec<(String, String)>) {
    use serde_yaml::Value;
    match value {
        Value::Null => {}
        Value::String(text) => found.push((place.to_owned(), text.clone())),
        Value::Sequence(list) => {
            list.iter().enumerate().for_each(|(at, one)| scalars(&format!("{place}[{at}]"), one, found));
        }
        Value::Mapping(map) => map.iter().for_each(|(key, one)| {
            let key = key.as_str().expect("keys are texts");
            let place = if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") };
            scalars(&place, one, found);
        }),
        other => {
            found.push((place.to_owned(), serde_yaml::to_string(other).expect("a scalar").trim().to_owned()))
        }
    }
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Asserts that every scalar of the published text is represented, formally or verbatim.
fn assert_nothing_lost(published: &str, imported: &Imported) {
    let mut source = Vec::new();
    scalars("", &serde_yaml::from_str(published).expect("YAML"), &mut source);
    let mut ours = Vec::new();
    scalars("", &serde_yaml::from_str(&imported.contract).expect("YAML"), &mut ours);
    let ours: Vec<String> = ours.into_iter().map(|(_, text)| squeezed(&text)).collect();
    for (place, text) in source.iter().filter(|(_, text)| !text.trim().is_empty()) {
        let formal = imported.items.iter().any(|item| {
            let is_formal = matches!(item.outcome, Outcome::Formal | Outcome::Proven | Outcome::Tested);
            // The item of an obligation represents its claim; its other scalars must be kept verbatim.
            is_formal && (item.place == *place || format!("{}.formal", item.place) == *place)
        });
        let number = |word: &str| word.trim_matches([';', ':', ',']).parse::<f64>().ok();
        let same_number = |own: &String| own.split_whitespace().any(|word| number(word) == number(text));
        let found = ours.iter().any(|own| own.contains(&squeezed(text)))
            || number(text).is_some() && ours.iter().any(same_number);
        assert!(
            formal || found || place == "metadata.version",
            "{place}: lost {text}\n{}",
            imported.contract
        );
    }
}

#[test]
fn no_text_of_a_published_contract_is_lost() {
    for (name, text) in [
        ("token-rate-v1.yaml", include_str!("published/token-rate-v1.yaml")),
        ("vectors-v1.yaml", include_str!("published/vectors-v1.yaml")),
        ("conflict-v1.yaml", include_str!("published/conflict-v1.yaml")),
        ("functions-v1.yaml", include_str!("published/functions-v1.yaml")),
        ("grades-v1.yaml", include_str!("published/grades-v1.yaml")),
    ] {
        let imported = imported(name, text);
        assert_sound(&imported);
        assert_nothing_lost(text, &imported);
    }
}

#[test]
fn conflicting_units_are_reported_and_other_units_kept() {
    let imported = imported("conflict-v1.yaml", include_str!("published/conflict-v1.yaml"));
    insta::assert_snapshot!("conflict_contract", imported.contract);
    let places: Vec<&str> = imported.conflicts.iter().map(|(place, _)| place.as_str()).collect();
    assert_eq!(places, ["equations.bound.formula", "equations.arithmetic.formula"]);
}

#[test]
fn heads_calls_bars_bands_and_monotonicity_become_formal() {
    let imported = imported("functions-v1.yaml", include_str!("published/functions-v1.yaml"));
    insta::assert_snapshot!("functions_contract", imported.contract);
    let imported = self::imported("grades-v1.yaml", include_str!("published/grades-v1.yaml"));
    insta::assert_snapshot!("grades_contract", imported.contract);
}

#[test]
fn files_in_other_formats_are_rejected() {
    for (text, why) in [
        ("version: 1\nbindings: [{contract: a}]", "not a published contract"),
        ("{}", "found nothing"),
        ("metadata: {version: 1.0.0}\nquantities: {a: {unit: s}}", "belongs to the contract language"),
        ("equations: {a: {formula: a = 1, unit: s}}", "belongs to the contract language"),
        ("equations: {}\nobligations: []", "belongs to the contract language"),
    ] {
        let refused = import(&Source::from_bytes("x.yaml", text.into()).expect("text")).expect_err(text);
        assert!(refused[0].message.contains(why), "{text}: {}", refused[0].message);
    }
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
        "metadata: {version: one, description: '', references: [{a: b}]}\nequations: {}",
    ] {
        assert_sound(&imported("any-v1.yaml", text));
    }
}

#[test]
fn only_invalid_yaml_is_rejected() {
    for text in ["a: [", "- a list", "a: 1\na: 2", ""] {
        assert!(import(&Source::from_bytes("x.yaml", text.into()).expect("text")).is_err(), "{text}");
    }
}
