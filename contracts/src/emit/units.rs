//! Number types of the generated Rust: f64 or, with `typed`, a newtype for each unit, so that a value in another unit or
//! scale does not compile. The newtypes are `repr(transparent)` and have no runtime cost.

use std::collections::BTreeMap;

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::rust::{docs, ident};
use crate::contract::{Contract, FieldKind};
use crate::unit::Unit;

/// The representation of numbers.
pub(super) enum Units {
    /// As f64.
    Plain,
    /// As newtypes in the module `units`, with the name and the text of each unit.
    Typed(BTreeMap<Unit, (String, String)>),
}

impl Units {
    /// Newtypes for the units of the contract and its dependencies, named after the first text of each unit.
    pub fn typed(contract: &Contract) -> Units {
        let mut names: BTreeMap<Unit, (String, String)> = BTreeMap::new();
        let mut add = |unit: Unit, text: &str| {
            if !names.contains_key(&unit) {
                let taken = |name: &String| names.values().any(|(known, _)| known == name);
                // GB and Gb differ only in case.
                let spelled = [name(text, true), name(text, false)].into_iter();
                let numbered = (2..).map(|count| format!("{}{count}", name(text, false)));
                let free = spelled.chain(numbered).find(|name| !taken(name)).unwrap_or_default();
                names.insert(unit, (free, text.to_owned()));
            }
        };
        for contract in contract.closure().into_iter().chain([contract]) {
            let numbers = contract.quantities.iter().filter(|quantity| quantity.cases.is_empty());
            numbers.for_each(|quantity| add(quantity.unit, &quantity.unit_text));
            contract.equations.iter().for_each(|equation| add(equation.unit, &equation.unit_text));
            for field in contract.profiles.iter().flat_map(|table| &table.fields) {
                if let FieldKind::Number { unit, unit_text, .. } = &field.kind {
                    add(*unit, unit_text);
                }
            }
        }
        Units::Typed(names)
    }

    fn name(&self, unit: Unit) -> Option<Ident> {
        match self {
            Units::Plain => None,
            Units::Typed(names) => names.get(&unit).map(|(name, _)| ident(name)),
        }
    }

    /// The type of a number.
    pub fn kind(&self, unit: Unit) -> TokenStream {
        self.name(unit).map_or(quote!(f64), |name| quote!(units::#name))
    }

    /// Wraps an f64 expression in the type of this unit.
    pub fn wrap(&self, unit: Unit, value: TokenStream) -> TokenStream {
        self.name(unit).map_or(value.clone(), |name| quote!(units::#name(#value)))
    }

    /// Converts a number to an f64.
    pub fn bare(&self, value: TokenStream) -> TokenStream {
        match self {
            Units::Plain => value,
            Units::Typed(_) => quote!(#value.0),
        }
    }

    /// The import of the newtypes in a nested module.
    pub fn import(&self) -> TokenStream {
        match self {
            Units::Plain => TokenStream::new(),
            Units::Typed(_) => quote!(
                use super::units;
            ),
        }
    }

    /// The module of the newtypes.
    pub fn module(&self) -> TokenStream {
        let Units::Typed(names) = self else { return TokenStream::new() };
        let mut sorted: Vec<&(String, String)> = names.values().collect();
        sorted.sort();
        let types = sorted.into_iter().map(|(name, text)| {
            let (name, doc) = (ident(name), docs(&[format!("A number in `{text}`.")]));
            let shown =
                if text == "1" { "{}".to_owned() } else { format!("{{}} {}", text.replace(['{', '}'], "")) };
            quote! {
                #doc
                #[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
                #[repr(transparent)]
                pub struct #name(pub f64);
                impl ::core::fmt::Display for #name {
                    fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                        ::core::write!(f, #shown, self.0)
                    }
                }
                impl ::core::convert::From<f64> for #name {
                    fn from(value: f64) -> Self {
                        #name(value)
                    }
                }
                impl ::core::convert::From<#name> for f64 {
                    fn from(value: #name) -> f64 {
                        value.0
                    }
                }
            }
        });
        quote! {
            /// A type for each unit of the contract.
            pub mod units {
                #(#types)*
            }
        }
    }
}

/// The Rust name of a unit, such as `GbPerS` for `GB/s`; `fold` lowers all but the first character of a word.
fn name(text: &str, fold: bool) -> String {
    let mut out = String::new();
    let mut start = true;
    for character in text.chars() {
        match character {
            '/' => out += "Per",
            '-' => out += "Neg",
            '%' => out += "Percent",
            'µ' | 'μ' => out.push(if start { 'U' } else { 'u' }),
            'Ω' => out += "Ohm",
            c if c.is_ascii_alphanumeric() && start => out.push(c.to_ascii_uppercase()),
            c if c.is_ascii_alphanumeric() => out.push(if fold { c.to_ascii_lowercase() } else { c }),
            _ => {}
        }
        start = !character.is_alphanumeric();
    }
    // `1/s` is `PerS`, and `1` is `One`.
    match out.strip_prefix('1') {
        Some("") => "One".to_owned(),
        Some(rest) if rest.starts_with("Per") => rest.to_owned(),
        _ if out.is_empty() || out.starts_with(|c: char| c.is_ascii_digit()) => format!("Unit{out}"),
        _ => out,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_have_distinct_names() {
        for (text, folded, exact) in [
            ("GB/s", "GbPerS", "GBPerS"),
            ("token/s", "TokenPerS", "TokenPerS"),
            ("1", "One", "One"),
            ("1/s", "PerS", "PerS"),
            ("token*token", "TokenToken", "TokenToken"),
            ("flop/token/token", "FlopPerTokenPerToken", "FlopPerTokenPerToken"),
            ("s^-2", "SNeg2", "SNeg2"),
            ("µs", "Us", "Us"),
            ("%", "Percent", "Percent"),
        ] {
            assert_eq!((name(text, true).as_str(), name(text, false).as_str()), (folded, exact), "{text}");
        }
    }
}
