//! Snapshots of the generated Rust, to review changes of a contract or the compiler: a contract with every feature of the
//! language and `roofline-model-v1` in full, and only the formulas of the other shipped contracts. `translation.rs` covers
//! the rest of their expansion.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use roofline_contracts::contract::Contract;
use roofline_contracts::emit::rust::{module, module_name, typed_module};
use roofline_contracts::library::{BUILT_IN, built_in};
use roofline_contracts::source::Source;
use roofline_contracts::{compile, compile_in};

/// The shipped contract whose snapshot is complete.
const IN_FULL: &str = "roofline-model-v1.yaml";

fn ident(name: &str) -> Ident {
    Ident::new(name, Span::call_site())
}

fn shipped(file: &str) -> Contract {
    compile(built_in(file).expect("built in")).contract.expect("a valid contract")
}

fn kitchen_sink() -> Contract {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/contracts");
    let file = "kitchen-sink-v1.yaml";
    let source = Source::read(&directory.join(file), file).expect("the contract is there");
    let compiled = compile_in(source, Some(&directory));
    let errors: Vec<String> =
        compiled.diagnostics.iter().map(|error| error.render(&compiled.source)).collect();
    compiled.contract.unwrap_or_else(|| panic!("{}", errors.join("\n")))
}

fn pretty(items: Vec<syn::Item>) -> String {
    prettyplease::unparse(&syn::File { shebang: None, frontmatter: None, attrs: Vec::new(), items })
}

fn parsed(tokens: TokenStream) -> syn::ItemMod {
    syn::parse2(tokens).expect("the expansion is one module")
}

/// The module of a contract, without those of its dependencies.
fn alone(contract: &Contract) -> syn::ItemMod {
    let reused: Vec<_> = (contract.closure().iter())
        .map(|dependency| ident(&module_name(&dependency.metadata.id)))
        .map(|dependency| (dependency.clone(), quote!(super::super::#dependency)))
        .collect();
    parsed(module(contract, &quote!(pub), &ident(&module_name(&contract.metadata.id)), &reused))
}

fn items(module: syn::ItemMod) -> Vec<syn::Item> {
    module.content.map(|(_, items)| items).unwrap_or_default()
}

/// The items of a module and of its nested modules.
fn flattened(module: syn::ItemMod) -> Vec<syn::Item> {
    let inside = |item| match item {
        syn::Item::Mod(module) => flattened(module),
        other => vec![other],
    };
    items(module).into_iter().flat_map(inside).collect()
}

/// The shipped contracts with formulas, except [`IN_FULL`].
fn with_formulas() -> impl Iterator<Item = (&'static str, Contract)> {
    let others = BUILT_IN.iter().map(|(file, _)| *file).filter(|file| *file != IN_FULL);
    others
        .map(|file| (file, shipped(file)))
        .filter(|(_, contract)| !(contract.equations.is_empty() && contract.classifiers.is_empty()))
}

/// `name: unit = formula` or the cases of a classifier, each followed by the generated function.
fn formulas(contract: &Contract) -> String {
    let mut functions = items(alone(contract)).into_iter().filter_map(|item| match item {
        syn::Item::Fn(function) => Some(function),
        _ => None,
    });
    // Helpers come first, then the equations, then the classifiers.
    let mut function = |name: &str| {
        let mut found =
            functions.find(|function| function.sig.ident == name).expect("each formula is a function");
        found.attrs.clear();
        pretty(vec![syn::Item::Fn(found)])
    };
    let mut text = String::new();
    for equation in contract.equations.iter().filter(|equation| equation.origin.is_none()) {
        let bound = equation.bounds.as_ref().map(|measured| format!("{measured} <= ")).unwrap_or_default();
        let formula = &equation.expression.formula;
        let _ = writeln!(text, "// {}: {} = {bound}{formula}", equation.name, equation.unit_text);
        text += &function(&equation.name);
    }
    for classifier in contract.classifiers.iter().filter(|classifier| classifier.origin.is_none()) {
        for case in &classifier.cases {
            let condition = case.condition.as_ref().map(|condition| condition.formula.to_string());
            let condition = condition.as_deref().unwrap_or("otherwise");
            let _ = writeln!(text, "// {} is {}: {condition}", classifier.name, case.variant);
        }
        text += &function(&classifier.name);
    }
    text
}

#[test]
fn every_language_feature_expands_to_the_reviewed_rust() {
    let contract = kitchen_sink();
    let tokens = module(&contract, &quote!(pub), &ident("kitchen_sink_v1"), &[]);
    insta::assert_snapshot!("kitchen-sink-v1.yaml", pretty(vec![syn::Item::Mod(parsed(tokens))]));
}

/// Contains only items that differ from the expansion without unit types.
#[test]
fn types_for_units_expand_to_the_reviewed_rust() {
    let contract = kitchen_sink();
    let texts = |tokens| flattened(parsed(tokens)).into_iter().map(|item| pretty(vec![item]));
    let name = ident("kitchen_sink_v1");
    let plain: BTreeSet<String> = texts(module(&contract, &quote!(pub), &name, &[])).collect();
    let typed = texts(typed_module(&contract, &quote!(pub), &name, &[]));
    insta::assert_snapshot!("typed", typed.filter(|item| !plain.contains(item)).collect::<String>());
}

#[test]
fn the_roofline_model_expands_to_the_reviewed_rust() {
    insta::assert_snapshot!(IN_FULL, pretty(vec![syn::Item::Mod(alone(&shipped(IN_FULL)))]));
}

#[test]
fn every_shipped_formula_becomes_the_reviewed_function() {
    for (file, contract) in with_formulas() {
        insta::assert_snapshot!(file, formulas(&contract));
    }
}

#[test]
fn the_expansion_is_deterministic() {
    for (file, _) in BUILT_IN {
        let expansion = || pretty(vec![syn::Item::Mod(alone(&shipped(file)))]);
        assert_eq!(expansion(), expansion(), "{file}");
    }
}

#[test]
fn every_snapshot_belongs_to_a_contract() {
    let wanted: BTreeSet<String> = (with_formulas().map(|(file, _)| file))
        .chain([IN_FULL, "kitchen-sink-v1.yaml", "typed"])
        .map(|file| format!("expansion__{file}.snap"))
        .collect();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    for entry in std::fs::read_dir(directory).expect("the snapshots are there") {
        let name = entry.expect("a directory entry").file_name().to_string_lossy().into_owned();
        let reviewed = name.starts_with("expansion__") && name.ends_with(".snap");
        assert!(!reviewed || wanted.contains(&name), "{name} has no contract");
    }
}
