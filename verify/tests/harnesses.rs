//! Compares the harnesses of this crate with the table in docs/PROOFS.md and the ledger of the shipped contracts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::quote;
use roofline_contracts::contract::Contract;
use roofline_contracts::emit::kani::function_name;
use roofline_contracts::emit::rust::{items, module_name};
use roofline_contracts::fingerprint;
use roofline_contracts::library::built_in;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
}

fn macros(text: &str) -> impl Iterator<Item = (String, TokenStream)> {
    let file = syn::parse_file(text).expect("a source file");
    file.items.into_iter().filter_map(|item| match item {
        syn::Item::Macro(call) => Some((call.mac.path.segments.last()?.ident.to_string(), call.mac.tokens)),
        _ => None,
    })
}

/// The first name of each entry of `drive!` or `refuted!`.
fn entries(tokens: TokenStream) -> Vec<String> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    tokens
        .split(|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ';'))
        .filter_map(|entry| entry.first().map(ToString::to_string))
        .collect()
}

/// The contracts that `verify` proves, by module.
fn contracts() -> BTreeMap<String, Contract> {
    let calls = macros(include_str!("../src/lib.rs")).filter(|(name, _)| name == "roofline_contract");
    let contract = |(_, tokens): (String, TokenStream)| {
        // `pub mod NAME = "FILE"`, followed by reused modules.
        let tokens: Vec<String> = tokens.into_iter().map(|token| token.to_string()).collect();
        let source = built_in(tokens[4].trim_matches('"')).expect("a shipped contract");
        let contract = roofline_contracts::check_in(source, None).contract;
        (tokens[2].clone(), contract.expect("a valid contract"))
    };
    calls.map(contract).collect()
}

/// The functions in the module `proofs` of a contract's expansion.
fn contract_harnesses(contract: &Contract) -> BTreeSet<String> {
    let reused: Vec<_> = (contract.closure().iter())
        .map(|dependency| Ident::new(&module_name(&dependency.metadata.id), Span::call_site()))
        .map(|dependency| (dependency.clone(), quote!(super::#dependency)))
        .collect();
    let file: syn::File = syn::parse2(items(contract, &reused)).expect("the expansion is Rust");
    let proofs = file.items.into_iter().find_map(|item| match item {
        syn::Item::Mod(module) if module.ident == "proofs" => Some(module.content?.1),
        _ => None,
    });
    let functions = proofs.into_iter().flatten().filter_map(|item| match item {
        syn::Item::Fn(function) => Some(function.sig.ident.to_string()),
        _ => None,
    });
    functions.collect()
}

/// All harnesses, by their names in Kani.
fn harnesses() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let written = std::fs::read_dir(source).expect("the sources are there");
    let generated = PathBuf::from(concat!(env!("OUT_DIR"), "/translation.rs"));
    for path in written.map(|entry| entry.expect("a directory entry").path()).chain([generated]) {
        let module = path.file_stem().expect("a file").to_string_lossy().into_owned();
        for (name, tokens) in macros(&read(&path)) {
            let inside = match name.as_str() {
                "drive" => "proofs::",
                "refuted" => "",
                _ => continue,
            };
            found.extend(entries(tokens).iter().map(|name| format!("{module}::{inside}{name}")));
        }
    }
    for (module, contract) in contracts() {
        found.extend(contract_harnesses(&contract).iter().map(|name| format!("{module}::proofs::{name}")));
    }
    found
}

/// The verdicts of the table, by harness.
fn table() -> BTreeMap<String, String> {
    let page = read(root().join("docs/PROOFS.md"));
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    rows.map(|(harness, rest)| {
        let verdict = rest.split(" | ").next().unwrap_or_default();
        (harness.to_owned(), verdict.to_owned())
    })
    .collect()
}

#[test]
fn the_table_lists_exactly_the_harnesses() {
    let (harnesses, table) = (harnesses(), table());
    let listed: BTreeSet<String> = table.keys().cloned().collect();
    let missing: Vec<&String> = harnesses.difference(&listed).collect();
    let removed: Vec<&String> = listed.difference(&harnesses).collect();
    let remedy = "`cargo xtask accept` lists them as not run, `.ci/kani ledger MODULE` runs them";
    assert!(
        missing.is_empty() && removed.is_empty(),
        "missing in docs/PROOFS.md: {missing:?}; no longer existing: {removed:?}; {remedy}"
    );
}

#[test]
fn verified_harnesses_have_a_current_verdict_in_the_ledger() {
    let ledger = root().join("roofline/src/cli/command/prove/shipped.json");
    let ledger: Value = serde_json::from_str(&read(ledger)).expect("the ledger is JSON");
    let entries: BTreeSet<[&str; 3]> = (ledger["entries"].as_array().expect("a list").iter())
        .map(|entry| {
            ["contract", "obligation", "fingerprint"].map(|key| entry[key].as_str().expect("a text"))
        })
        .collect();
    let (harnesses, table) = (harnesses(), table());
    let mut known = 0;
    for (module, contract) in contracts() {
        for obligation in &contract.obligations {
            let harness = format!("{module}::proofs::{}", function_name(&obligation.id));
            if !harnesses.contains(&harness) {
                continue;
            }
            let fingerprint = fingerprint::obligation(&contract, obligation);
            let recorded = entries.contains(&[contract.metadata.id.as_str(), &obligation.id, &fingerprint]);
            known += usize::from(recorded);
            let listed = table.get(&harness).is_some_and(|verdict| verdict == "verified");
            assert_eq!(recorded, listed, "{harness}: recorded in the ledger, verified in the table");
        }
    }
    assert_eq!(known, entries.len(), "the ledger has stale verdicts; `cargo xtask accept` drops them");
}
