//! Generates the JavaScript of the contracts that HTML pages evaluate, with its calls and quantities.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use quote::quote;
use roofline_contracts::contract::Contract;
use roofline_contracts::emit::{javascript, rust};
use roofline_contracts::{check_in, library};

/// Contracts that HTML pages evaluate.
const CONTRACTS: [&str; 5] =
    ["collective-v1", "layer-roofline-v1", "parallel-v1", "serving-v1", "transformer-v1"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let mut arms = quote! {};
    for id in CONTRACTS {
        let source = library::built_in(id).ok_or_else(|| format!("{id}: unknown built-in contract"))?;
        let contract =
            check_in(source, None).contract.ok_or_else(|| format!("{id}: the contract does not compile"))?;
        let equations = equations(&contract);
        arms.extend(quote! { #id => #equations, });
    }
    let code = quote! {
        impl Equations {
            /// Equations of a shipped contract; `None` if pages do not use it.
            pub fn built_in(id: &str) -> Option<Equations> {
                Some(match id {
                    #arms
                    _ => return None,
                })
            }
        }
    };
    fs::write(Path::new(&env::var("OUT_DIR")?).join("equations.rs"), code.to_string())?;
    Ok(())
}

fn equations(contract: &Contract) -> proc_macro2::TokenStream {
    let script = javascript::module(contract);
    let module = rust::module_name(&contract.metadata.id);
    let equations = contract.order.iter().map(|index| &contract.equations[*index]);
    let equations = equations.map(|one| (&one.name, &one.expression.operands));
    let classifiers = contract.classifiers.iter().map(|one| (&one.name, &one.operands));
    let calls = equations.chain(classifiers).map(|(name, operands)| {
        let function = format!("{module}.{}", javascript::name(name));
        let operands = operands.iter().map(|(operand, _)| operand);
        quote! { call(#name, #function, &[#(#operands),*]) }
    });
    let quantities = contract.quantities.iter().map(|one| {
        let (name, unit, domain) = (&one.name, &one.unit_text, &one.domain);
        let (integer, low, high, set) = (domain.integer, domain.low, domain.high, &domain.set);
        quote! { quantity(#name, #unit, #integer, (#low, #high), &[#(#set),*]) }
    });
    quote! {
        Equations { script: #script.to_owned(), calls: vec![#(#calls),*], quantities: vec![#(#quantities),*] }
    }
}
