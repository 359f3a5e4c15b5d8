//! The Rust that each shipped contract becomes, as a snapshot to review when a contract or the compiler changes.

use std::collections::BTreeSet;
use std::path::Path;

use proc_macro2::{Ident, Span};
use quote::quote;
use roofline_contracts::compile;
use roofline_contracts::emit::rust::{module, module_name, typed_module};
use roofline_contracts::library::{BUILT_IN, built_in};

fn expansion(file: &str) -> String {
    let contract = compile(built_in(file).expect("built in")).contract.expect("a valid contract");
    let name = Ident::new(&module_name(&contract.metadata.id), Span::call_site());
    // Each dependency has a snapshot of its own.
    let reused: Vec<_> = (contract.closure().iter())
        .map(|dependency| Ident::new(&module_name(&dependency.metadata.id), Span::call_site()))
        .map(|dependency| (dependency.clone(), quote!(super::super::#dependency)))
        .collect();
    let tokens = module(&contract, &quote!(pub), &name, &reused);
    prettyplease::unparse(&syn::parse2(tokens).expect("the expansion is Rust"))
}

#[test]
fn every_shipped_contract_expands_to_the_reviewed_rust() {
    for (file, _) in BUILT_IN {
        insta::assert_snapshot!(*file, expansion(file));
    }
}

#[test]
fn a_typed_contract_expands_to_the_reviewed_rust() {
    let source = built_in("quantization-v1.yaml").expect("it is built in");
    let contract = compile(source).contract.expect("shipped contracts have no mistakes");
    let name = Ident::new("typed", Span::call_site());
    let tokens = typed_module(&contract, &quote!(pub), &name, &[]);
    insta::assert_snapshot!(
        "typed",
        prettyplease::unparse(&syn::parse2(tokens).expect("the expansion is Rust"))
    );
}

#[test]
fn the_expansion_is_the_same_on_every_run() {
    for (file, _) in BUILT_IN {
        assert_eq!(expansion(file), expansion(file), "{file}");
    }
}

#[test]
fn no_snapshot_is_left_without_its_contract() {
    let wanted: BTreeSet<String> = BUILT_IN
        .iter()
        .map(|(file, _)| *file)
        .chain(["typed"])
        .map(|file| format!("expansion__{file}.snap"))
        .collect();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    for entry in std::fs::read_dir(directory).expect("the snapshots are there") {
        let name = entry.expect("a directory entry").file_name().to_string_lossy().into_owned();
        assert!(!name.starts_with("expansion__") || wanted.contains(&name), "{name} belongs to no contract");
    }
}
