//! The shipped contracts, the modules of `verify` that prove them, and their Kani harnesses.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::quote;
use roofline_contracts::check_in;
use roofline_contracts::contract::Contract;
use roofline_contracts::emit::rust::{items, module_name};
use roofline_contracts::library::{BUILT_IN, built_in};

use crate::{read, root};

/// A shipped contract.
pub struct Shipped {
    pub contract: Contract,
    /// The module of `verify` that contains it; none if it has no properties.
    pub module: Option<String>,
}

impl Shipped {
    pub fn id(&self) -> &str {
        &self.contract.metadata.id
    }

    /// The names of its Kani harnesses.
    pub fn harnesses(&self) -> BTreeSet<String> {
        let reused: Vec<_> = (self.contract.closure().iter())
            .map(|dependency| Ident::new(&module_name(&dependency.metadata.id), Span::call_site()))
            .map(|dependency| (dependency.clone(), quote!(super::#dependency)))
            .collect();
        proofs(items(&self.contract, &reused))
    }
}

/// The functions of the module `proofs`.
fn proofs(items: TokenStream) -> BTreeSet<String> {
    let tokens: Vec<TokenTree> = items.into_iter().collect();
    let is = |token: &TokenTree, word: &str| matches!(token, TokenTree::Ident(ident) if ident == word);
    let module = tokens.windows(3).find_map(|window| match window {
        [keyword, name, TokenTree::Group(group)]
            if is(keyword, "mod") && is(name, "proofs") && group.delimiter() == Delimiter::Brace =>
        {
            Some(group.stream())
        }
        _ => None,
    });
    let tokens: Vec<TokenTree> = module.into_iter().flatten().collect();
    let functions = tokens.windows(2).filter(|pair| is(&pair[0], "fn"));
    functions.map(|pair| pair[1].to_string()).collect()
}

/// Compiles all shipped contracts; an error lists the diagnostics of the first invalid one.
pub fn shipped() -> Result<Vec<Shipped>, String> {
    let calls = read(&root().join("verify/src/lib.rs"))?;
    let modules: Vec<(&str, &str)> = calls
        .lines()
        .filter_map(|line| line.split_once("pub mod ")?.1.split_once(" = \""))
        .filter_map(|(module, rest)| Some((module, rest.split_once('"')?.0)))
        .collect();
    let mut found = Vec::new();
    for (file, _) in BUILT_IN {
        let source = built_in(file).ok_or_else(|| format!("contracts/{file}: cannot be read"))?;
        let checked = check_in(source, None);
        let Some(contract) = checked.contract else {
            let errors: Vec<String> =
                checked.diagnostics.iter().map(|error| error.render(&checked.source)).collect();
            return Err(format!("contracts/{file}: invalid contract\n{}", errors.join("\n")));
        };
        let module =
            modules.iter().find(|(_, called)| called == file).map(|(module, _)| (*module).to_owned());
        found.push(Shipped { contract, module });
    }
    Ok(found)
}
