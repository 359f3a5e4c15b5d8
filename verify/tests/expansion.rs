//! The generated Rust, as snapshots to review when a contract or the compiler changes: one contract with every feature of
//! the language and `roofline-model-v1` in full, and the formulas alone of the other shipped contracts. `translation.rs`
//! guards the rest of their expansion.

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

/// The shipped contract that is reviewed in full.
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
    let mistakes: Vec<String> =
        compiled.diagnostics.iter().map(|mistake| mistake.render(&compiled.source)).collect();
    compiled.contract.unwrap_or_else(|| panic!("{}", mistakes.join("\n")))
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

/// The items of a module and of those in it.
fn flattened(module: syn::ItemMod) -> Vec<syn::Item> {
    let inside = |item| match item {
        syn::Item::Mod(module) => flattened(module),
        other => vec![other],
    };
    items(module).into_iter().flat_map(inside).collect()
}

/// The shipped contracts that have formulas, apart from the one in full.
fn with_formulas() -> impl Iterator<Item = (&'static str, Contract)> {
    let others = BUILT_IN.iter().map(|(file, _)| *file).filter(|file| *file != IN_FULL);
    others
        .map(|file| (file, shipped(file)))
        .filter(|(_, contract)| !(contract.equations.is_empty() && contract.classifiers.is_empty()))
}

/// `name: unit = formula` or the cases of a classifier, each followed by the function that it becomes.
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

/// The items that are the same without types for units are in the snapshot of the plain expansion.
#[test]
fn types_for_units_expand_to_the_reviewed_rust() {
    let contract = kitchen_sink();
    let of = |tokens| flattened(parsed(tokens)).into_iter().map(|item| pretty(vec![item]));
    let name = ident("kitchen_sink_v1");
    let plain: BTreeSet<String> = of(module(&contract, &quote!(pub), &name, &[])).collect();
    let typed = of(typed_module(&contract, &quote!(pub), &name, &[]));
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
fn the_expansion_is_the_same_on_every_run() {
    for (file, _) in BUILT_IN {
        let expansion = || pretty(vec![syn::Item::Mod(alone(&shipped(file)))]);
        assert_eq!(expansion(), expansion(), "{file}");
    }
}

#[test]
fn no_snapshot_is_left_without_its_contract() {
    let wanted: BTreeSet<String> = (with_formulas().map(|(file, _)| file))
        .chain([IN_FULL, "kitchen-sink-v1.yaml", "typed"])
        .map(|file| format!("expansion__{file}.snap"))
        .collect();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    for entry in std::fs::read_dir(directory).expect("the snapshots are there") {
        let name = entry.expect("a directory entry").file_name().to_string_lossy().into_owned();
        let reviewed = name.starts_with("expansion__") && name.ends_with(".snap");
        assert!(!reviewed || wanted.contains(&name), "{name} belongs to no contract");
    }
}
