//! `roofline contract expand`: the generated Rust module, formatted.

use proc_macro2::{Ident, LexError, Span, TokenStream, TokenTree};
use roofline_contracts::contract::Contract;
use roofline_contracts::emit::rust::{module, module_name};
use roofline_contracts::names::is_keyword;
use schemars::JsonSchema;
use serde::Serialize;

use crate::chart::terminal::Canvas;
use crate::cli::output::{self, rust};
use crate::cli::{Exit, Failure, args, contract};
use crate::report::{Report, Schema, Table};

/// The generated module.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Expansion {
    /// Schema of this document.
    schema: Schema<Self>,
    /// Name of the contract.
    contract: String,
    /// SHA-256 of the file.
    sha256: String,
    /// The module, formatted if `rustfmt` is installed.
    rust: String,
}

/// Prints the module of a contract.
pub fn run(args: &args::Expand) -> Result<Exit, Failure> {
    let contract = contract::open(&args.contract)?;
    let rust = rust::source(&module(&contract, &"pub".parse()?, &name(&contract)?, &[]));
    let (id, sha256) = (contract.metadata.id.clone(), contract.source.sha256.clone());
    output::print(&Expansion { schema: Schema::new(), contract: id, sha256, rust }, args.format)?;
    Ok(Exit::Fine)
}

/// Returns the name of the module, or `contract` if the file name is not a Rust identifier.
fn name(contract: &Contract) -> Result<Ident, LexError> {
    let name = module_name(&contract.metadata.id);
    let tokens: Vec<TokenTree> = name.parse::<TokenStream>()?.into_iter().collect();
    Ok(match tokens.as_slice() {
        [TokenTree::Ident(name)] if !is_keyword(&name.to_string()) => name.clone(),
        _ => Ident::new("contract", Span::call_site()),
    })
}

impl Report for Expansion {
    const SCHEMA: &'static str = "roofline.expand/1";
    const SOURCE: bool = true;

    fn text(&self, _: &Canvas) -> String {
        self.rust.clone()
    }

    fn tables(&self) -> Vec<Table> {
        let rows = self.rust.lines().map(|line| vec![line.to_owned()]).collect();
        vec![Table { title: self.contract.clone(), headings: vec!["rust".into()], rows }]
    }
}
