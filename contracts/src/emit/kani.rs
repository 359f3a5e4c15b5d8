//! The properties of a contract in Rust: once as plain functions, driven by Kani and by tests.
//!
//! `cargo kani` in any crate that uses the contract proves them for all values; `cargo test` there runs the same
//! functions on corners and on points uniform over the bits.

use std::collections::BTreeSet;

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::rust::{Translator, docs, ident, number, operand_value};
use super::units::Units;
use crate::contract::{Contract, Obligation, Operand};
use crate::domain::Domain;
use crate::names::camel;
use crate::prove::property::{Cover, Property, property};
use crate::range::ranges;

/// How many points a test tries for each property.
const TEST_POINTS: usize = 1000;

/// `mod properties` and `mod proofs`; nothing if the contract has no property.
pub(super) fn modules(contract: &Contract, units: &Units) -> TokenStream {
    let ranges = ranges(contract);
    let mut taken = BTreeSet::new();
    let mut properties: Vec<(String, &Obligation, Property)> = Vec::new();
    for obligation in &contract.obligations {
        if let Ok(property) = property(contract, &ranges, obligation) {
            let mut name = function_name(&obligation.id);
            while !taken.insert(name.clone()) {
                name.push('_');
            }
            properties.push((name, obligation, property));
        }
    }
    if properties.is_empty() {
        return TokenStream::new();
    }
    let functions = properties
        .iter()
        .map(|(name, obligation, property)| function(contract, units, name, obligation, property));
    let names: Vec<_> = properties.iter().map(|(name, ..)| ident(name)).collect();
    let harnesses = properties.iter().map(|(name, obligation, _)| {
        let name = ident(name);
        let solver = obligation.kani_solver.as_ref().map(|solver| {
            let solver = ident(solver);
            quote!(#[kani::solver(#solver)])
        });
        let unwind = obligation.kani_unwind.map(|unwind| {
            let unwind = Literal::u32_unsuffixed(unwind);
            quote!(#[kani::unwind(#unwind)])
        });
        quote! {
            #[kani::proof]
            #solver
            #unwind
            fn #name() {
                super::properties::#name(&mut Symbolic);
            }
        }
    });
    let points = Literal::usize_unsuffixed(TEST_POINTS);
    // Only a property of quantities that are bound to each other assumes something.
    let assumes = properties.iter().any(|(.., property)| !property.requires.is_empty());
    let [declared, sampled, symbolic] = [
        quote! {
            /// Whether values that do not meet this are passed over; false for those.
            fn assume(&mut self, condition: bool) -> bool;
        },
        quote! {
            fn assume(&mut self, condition: bool) -> bool {
                condition
            }
        },
        quote! {
            fn assume(&mut self, condition: bool) -> bool {
                kani::assume(condition);
                true
            }
        },
    ]
    .map(|method| assumes.then_some(method));
    quote! {
        /// Obligations as functions that panic where they do not hold; what drives them chooses the values.
        #[doc(hidden)]
        pub mod properties {
            #[allow(unused_imports)]
            use super::*;
            /// Where a property takes its values from.
            pub trait Values {
                /// Any number from `low` to `high`.
                fn real(&mut self, low: f64, high: f64) -> f64;
                /// Any whole number from `low` to `high`.
                fn whole(&mut self, low: i64, high: i64) -> f64;
                /// Any of these.
                fn member(&mut self, set: &[f64]) -> f64;
                /// This must be true for some values.
                fn cover(&mut self, condition: bool);
                #declared
            }
            #(#functions)*
            #[cfg(test)]
            #[allow(unnameable_test_items)]
            mod tests {
                /// Corners, points uniform over the range and over the bits; always the same ones.
                struct Samples {
                    state: u64,
                    round: usize,
                    covered: bool,
                }
                impl Samples {
                    fn next(&mut self) -> u64 {
                        self.state = self.state.wrapping_add(0x9e3779b97f4a7c15);
                        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
                        let z = (z ^ (z >> 27)).wrapping_mul(0x94d049bb133111eb);
                        z ^ (z >> 31)
                    }
                    fn between(&mut self, low: i64, high: i64) -> i64 {
                        let choice = self.next();
                        match choice % 4 {
                            0 if self.round < 200 => low,
                            1 if self.round < 200 => high,
                            _ => {
                                let width = (high as i128 - low as i128 + 1) as u128;
                                (low as i128 + (self.next() as u128 % width) as i128) as i64
                            }
                        }
                    }
                }
                /// The numbers in order, as integers without gaps.
                fn key(value: f64) -> i64 {
                    let bits = value.to_bits() as i64;
                    if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
                }
                impl super::Values for Samples {
                    fn real(&mut self, low: f64, high: f64) -> f64 {
                        if self.next() % 3 == 0 {
                            let part = (self.next() >> 11) as f64 / 9007199254740992.0;
                            let value = low + (high - low) * part;
                            return if low <= value && value <= high { value } else { low };
                        }
                        let at = self.between(key(low), key(high));
                        f64::from_bits(if at < 0 { i64::MIN.wrapping_sub(at) } else { at } as u64)
                    }
                    fn whole(&mut self, low: i64, high: i64) -> f64 {
                        // Small numbers as often as large ones.
                        let any = self.between(low, high);
                        let shift = self.next() % 64;
                        let small = any >> shift;
                        (if low <= small && small <= high { small } else { any }) as f64
                    }
                    fn member(&mut self, set: &[f64]) -> f64 {
                        set[(self.next() % set.len() as u64) as usize]
                    }
                    fn cover(&mut self, condition: bool) {
                        self.covered |= condition;
                    }
                    #sampled
                }
                fn run(property: fn(&mut Samples)) {
                    let mut samples = Samples { state: 0, round: 0, covered: false };
                    while samples.round < #points {
                        property(&mut samples);
                        samples.round += 1;
                    }
                    assert!(samples.covered, "no point reached what the property is about");
                }
                #(#[test] fn #names() { run(super::#names::<Samples>); })*
            }
        }
        #[cfg(kani)]
        mod proofs {
            /// Any value at all.
            struct Symbolic;
            impl super::properties::Values for Symbolic {
                fn real(&mut self, low: f64, high: f64) -> f64 {
                    let value: f64 = kani::any();
                    kani::assume(low <= value && value <= high);
                    value
                }
                fn whole(&mut self, low: i64, high: i64) -> f64 {
                    let value: i64 = kani::any();
                    kani::assume(low <= value && value <= high);
                    value as f64
                }
                fn member(&mut self, set: &[f64]) -> f64 {
                    let index: usize = kani::any();
                    kani::assume(index < set.len());
                    set[index]
                }
                fn cover(&mut self, condition: bool) {
                    kani::cover!(condition, "what the property is about can happen");
                }
                #symbolic
            }
            #(#harnesses)*
        }
    }
}

/// The name of the function and of the harness; an obligation's id may be a keyword.
pub fn function_name(id: &str) -> String {
    let name = id.replace('-', "_");
    if crate::names::is_keyword(&name) { format!("{name}_") } else { name }
}

fn function(
    contract: &Contract,
    units: &Units,
    name: &str,
    obligation: &Obligation,
    property: &Property,
) -> TokenStream {
    let name = ident(name);
    let values = property.values.iter().map(|(name, domain)| {
        let value = value(domain);
        let named = contract.quantity(name).is_some_and(|index| !contract.quantities[index].cases.is_empty());
        let (kind, name) = (ident(&camel(name)), ident(name));
        if named { quote!(let #name = #kind::ALL[#value as usize];) } else { quote!(let #name = #value;) }
    });
    let local = |name: &str| {
        let name = ident(name);
        quote!(#name)
    };
    let requires = property.requires.iter().map(|&index| {
        let formula = &contract.requires[index].expression.formula;
        let condition = Translator { formula, name: &local, class: &local }.whole();
        quote! {
            if !_values.assume(#condition) {
                return;
            }
        }
    });
    let equations = property.equations.iter().map(|&index| {
        let equation = &contract.equations[index];
        let (name, arguments) =
            (ident(&equation.name), arguments(contract, units, &equation.expression.operands));
        let value = units.bare(quote!(super::#name(#arguments)));
        quote!(let #name = #value;)
    });
    let classifiers = property.classifiers.iter().map(|&index| {
        let classifier = &contract.classifiers[index];
        let (name, arguments) = (ident(&classifier.name), arguments(contract, units, &classifier.operands));
        quote!(let #name = super::#name(#arguments);)
    });
    let translator = Translator { formula: &obligation.formula, name: &local, class: &local };
    let claim = translator.whole();
    let cover = match &property.cover {
        Cover::Part(part) => translator.part(*part),
        Cover::Takes(equation, value) => {
            let (equation, value) = (ident(equation), ident(value));
            quote!(#equation == #value)
        }
        Cover::Differs(a, b) => {
            let (a, b) = (translator.part(*a), translator.part(*b));
            quote!((#a) != (#b))
        }
        Cover::Reached => quote!(true),
    };
    let formal = obligation.formula.to_string();
    let doc = docs(&[obligation.doc.clone(), format!("`{formal}`")]);
    quote! {
        #doc
        pub fn #name<V: Values>(_values: &mut V) {
            #(#values)*
            #(#requires)*
            #(#equations)*
            #(#classifiers)*
            _values.cover(#cover);
            ::core::assert!(#claim, #formal);
        }
    }
}

/// The arguments of a call: the values have the names of the operands.
fn arguments(contract: &Contract, units: &Units, operands: &[(String, Operand)]) -> TokenStream {
    let values = operands.iter().map(|(name, operand)| {
        let name = ident(name);
        operand_value(contract, *operand, units, quote!(#name))
    });
    quote!(#(#values),*)
}

/// How a value of a domain is asked for.
fn value(domain: &Domain) -> TokenStream {
    if !domain.set.is_empty() {
        let members = domain.set.iter().map(|member| number(*member));
        quote!(_values.member(&[#(#members),*]))
    } else if domain.integer {
        let (low, high) = (domain.low as i64, domain.high as i64);
        let (low, high) = (Literal::i64_unsuffixed(low.abs()), Literal::i64_unsuffixed(high.abs()));
        let sign = |negative: bool| negative.then(|| quote!(-));
        let (minus_low, minus_high) = (sign(domain.low < 0.0), sign(domain.high < 0.0));
        quote!(_values.whole(#minus_low #low, #minus_high #high))
    } else {
        let (low, high) = (number(domain.low), number(domain.high));
        quote!(_values.real(#low, #high))
    }
}
