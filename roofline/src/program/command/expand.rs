//! `roofline expand`: the Rust that the macro generates, formatted.

use proc_macro2::{Ident, Span};
use roofline_contracts::emit::rust::{module, module_name};
use schemars::JsonSchema;
use serde::Serialize;

use crate::chart::terminal::Canvas;
use crate::program::output;
use crate::program::{Exit, Failure, cli, contract};
use crate::report::{Report, Schema, Table};

/// The generated module.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Expansion {
    /// Which schema this document follows.
    schema: Schema<Self>,
    /// The name of the contract.
    contract: String,
    /// SHA-256 of the file.
    sha256: String,
    /// The module, formatted.
    rust: String,
}

/// Prints the module of a contract.
pub fn run(args: &cli::Expand) -> Result<Exit, Failure> {
    let contract = contract::open(&args.contract)?;
    let name = module_name(&contract.metadata.id);
    let name = syn::parse_str::<Ident>(&name).unwrap_or_else(|_| Ident::new("contract", Span::call_site()));
    let rust = prettyplease::unparse(&syn::parse2(module(&contract, &quote_pub(), &name, &[]))?);
    let (id, sha256) = (contract.metadata.id.clone(), contract.source.sha256.clone());
    output::print(&Expansion { schema: Schema::new(), contract: id, sha256, rust }, args.format)?;
    Ok(Exit::Fine)
}

fn quote_pub() -> proc_macro2::TokenStream {
    [proc_macro2::TokenTree::from(Ident::new("pub", Span::call_site()))].into_iter().collect()
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
