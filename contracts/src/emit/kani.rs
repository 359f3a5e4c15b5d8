//! The properties of a contract in Rust: plain functions, driven by Kani and by tests.
//!
//! In a crate that uses the contract, `cargo kani` proves them for all values, and `cargo test` runs them at corners and
//! at points uniform over the bits.

use std::collections::BTreeSet;

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::rust::{Translator, docs, ident, number, operand_value};
use super::units::Units;
use crate::contract::{Classifier, Contract, Obligation, Operand};
use crate::formula::Formula;
use crate::names::camel;
use crate::prove::property::{Cover, Property, Value, choice, property};
use crate::range::ranges;

/// Number of test points per property.
const TEST_POINTS: usize = 1000;

/// A function that checks a property, and the attributes of its harness.
struct PropertyFunction {
    name: String,
    /// The message if the property does not hold.
    message: String,
    function: TokenStream,
    attributes: TokenStream,
    /// True if it skips values that violate a requirement.
    assumes: bool,
}

/// `mod properties` and `mod proofs`; empty if the contract has no property.
pub(super) fn modules(contract: &Contract, units: &Units) -> TokenStream {
    let properties = property_functions(contract, units);
    if properties.is_empty() {
        return TokenStream::new();
    }
    let functions = properties.iter().map(|property| &property.function);
    let names: Vec<_> = properties.iter().map(|property| ident(&property.name)).collect();
    let messages: Vec<_> = properties.iter().map(|property| &property.message).collect();
    let attributes = properties.iter().map(|property| &property.attributes);
    let points = Literal::usize_unsuffixed(TEST_POINTS);
    // Only properties with requirements have assumptions.
    let assumes = properties.iter().any(|property| property.assumes);
    let [declared, sampled, symbolic] = [
        quote! {
            /// Returns false if values that violate the condition must be skipped.
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
        /// Properties as functions that return true if they hold; the driver chooses the values.
        #[doc(hidden)]
        pub mod properties {
            #[allow(unused_imports)]
            use super::*;
            /// The source of a property's values.
            pub trait Values {
                /// Any number from `low` to `high`.
                fn real(&mut self, low: f64, high: f64) -> f64;
                /// Any integer from `low` to `high`.
                fn whole(&mut self, low: i64, high: i64) -> f64;
                /// Any member of the set.
                fn member(&mut self, set: &[f64]) -> f64;
                /// Any number from `low` to `high`; for a model checker, only those with eight significant bits.
                fn short_real(&mut self, low: f64, high: f64) -> f64;
                /// Any integer from `low` to `high`; for a model checker, only those with eight significant bits.
                fn short_whole(&mut self, low: i64, high: i64) -> f64;
                /// Any f64, including NaN and infinities; tests often use a value from `inside`.
                fn anything(&mut self, inside: impl Fn(&mut Self) -> f64) -> f64;
                /// The condition must be true for some values.
                fn cover(&mut self, condition: bool);
                #declared
            }
            #(#functions)*
            #[cfg(test)]
            #[allow(unnameable_test_items)]
            mod tests {
                /// Corners, and points uniform over the range and over the bits; deterministic.
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
                /// Maps numbers to consecutive integers in the same order.
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
                        // Small numbers are as likely as large ones.
                        let any = self.between(low, high);
                        let shift = self.next() % 64;
                        let small = any >> shift;
                        (if low <= small && small <= high { small } else { any }) as f64
                    }
                    fn member(&mut self, set: &[f64]) -> f64 {
                        set[(self.next() % set.len() as u64) as usize]
                    }
                    fn short_real(&mut self, low: f64, high: f64) -> f64 {
                        self.real(low, high)
                    }
                    fn short_whole(&mut self, low: i64, high: i64) -> f64 {
                        self.whole(low, high)
                    }
                    fn anything(&mut self, inside: impl Fn(&mut Self) -> f64) -> f64 {
                        let inside = inside(self);
                        match self.next() % 128 {
                            0 => f64::from_bits(self.next()),
                            1 => f64::from_bits(inside.to_bits().wrapping_add(1)),
                            2 => f64::from_bits(inside.to_bits().wrapping_sub(1)),
                            3 => f64::NAN,
                            _ => inside,
                        }
                    }
                    fn cover(&mut self, condition: bool) {
                        self.covered |= condition;
                    }
                    #sampled
                }
                fn run(property: fn(&mut Samples) -> bool, message: &str) {
                    let mut samples = Samples { state: 0, round: 0, covered: false };
                    while samples.round < #points {
                        assert!(property(&mut samples), "{}", message);
                        samples.round += 1;
                    }
                    assert!(samples.covered, "no test point satisfies the cover condition of the property");
                }
                #(#[test] fn #names() { run(super::#names::<Samples>, #messages); })*
            }
        }
        #[cfg(kani)]
        pub(crate) mod proofs {
            /// Symbolic values; `playback` of the compiler reads them back from a counterexample.
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
                fn short_real(&mut self, low: f64, high: f64) -> f64 {
                    let bits: u32 = kani::any();
                    let value = f64::from_bits(((bits >> 12) as u64) << 44);
                    kani::assume(low <= value && value <= high);
                    value
                }
                fn short_whole(&mut self, low: i64, high: i64) -> f64 {
                    let (digits, places): (i8, u8) = (kani::any(), kani::any());
                    kani::assume(places <= 45);
                    let value = (digits as i64) << places;
                    kani::assume(low <= value && value <= high);
                    value as f64
                }
                fn anything(&mut self, _: impl Fn(&mut Self) -> f64) -> f64 {
                    kani::any()
                }
                fn cover(&mut self, condition: bool) {
                    kani::cover!(condition, "the property is not vacuous");
                }
                #symbolic
            }
            #(
                #[kani::proof]
                #attributes
                pub(crate) fn #names() {
                    kani::assert(super::properties::#names(&mut Symbolic), #messages);
                }
            )*
        }
    }
}

/// Converts Kani's concrete playback to one number for each of the property's values. The bytes are those of each
/// `kani::any()` of the harness, in order. None if they do not match this property.
pub fn playback(property: &Property, bytes: &[Vec<u8>]) -> Option<Vec<f64>> {
    /// The next value, as a number of `width` bytes.
    fn next<'a>(bytes: &mut impl Iterator<Item = &'a Vec<u8>>, width: usize) -> Option<u64> {
        let bytes = bytes.next().filter(|bytes| bytes.len() == width)?;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }
    let mut bytes = bytes.iter();
    let mut values = Vec::new();
    for Value { domain, short, .. } in &property.values {
        values.push(match (domain.set.as_slice(), domain.integer, *short) {
            ([], false, false) => f64::from_bits(next(&mut bytes, 8)?),
            ([], false, true) => f64::from_bits(next(&mut bytes, 4)? >> 12 << 44),
            ([], true, false) => next(&mut bytes, 8)?.cast_signed() as f64,
            ([], true, true) => {
                let (digits, places) = (next(&mut bytes, 1)? as u8, next(&mut bytes, 1)?);
                i64::from(digits.cast_signed()).checked_shl(places as u32)? as f64
            }
            (set, ..) => *set.get(usize::try_from(next(&mut bytes, 8)?).ok()?)?,
        });
    }
    Some(values)
}

/// Returns a test with these values, which fails if the property does not hold; paste it where the generated module is in
/// scope.
pub fn playback_test(
    contract: &Contract,
    obligation: &Obligation,
    property: &Property,
    values: &[f64],
) -> TokenStream {
    let name = ident(&function_name(&obligation.id));
    let given = property.values.iter().zip(values).map(|(value, at)| {
        let bits = Literal::u64_unsuffixed(at.to_bits());
        bound(contract, &value.name, &quote!(f64::from_bits(#bits)))
    });
    let calls = calls(contract, &Units::Plain, property, &TokenStream::new());
    let claim = translator(&obligation.formula).whole();
    quote! {
        #[test]
        fn #name() {
            #(#given)*
            #calls
            assert!(#claim);
        }
    }
}

/// The name of the function and of the harness for an obligation, whose id may be a keyword.
pub fn function_name(id: &str) -> String {
    let name = id.replace('-', "_");
    if crate::names::is_keyword(&name) { format!("{name}_") } else { name }
}

/// The properties of obligations that a model checker can decide, of classifiers and of domains, in this order.
fn property_functions(contract: &Contract, units: &Units) -> Vec<PropertyFunction> {
    let ranges = ranges(contract);
    let id = &contract.metadata.id;
    let mut taken = BTreeSet::new();
    let mut free = |mut name: String| {
        while !taken.insert(name.clone()) {
            name.push('_');
        }
        name
    };
    let mut found = Vec::new();
    for obligation in &contract.obligations {
        let Ok(property) = property(contract, &ranges, obligation) else { continue };
        let name = free(function_name(&obligation.id));
        let solver = obligation.kani_solver.as_ref().map(|solver| {
            let solver = ident(solver);
            quote!(#[kani::solver(#solver)])
        });
        let unwind = obligation.kani_unwind.map(|unwind| {
            let unwind = Literal::u32_unsuffixed(unwind);
            quote!(#[kani::unwind(#unwind)])
        });
        found.push(PropertyFunction {
            message: format!("obligation `{}` of {id}: {}", obligation.id, obligation.formula),
            function: obligation_function(contract, units, &name, obligation, &property),
            attributes: quote!(#solver #unwind),
            assumes: !property.requires.is_empty(),
            name,
        });
    }
    for (index, classifier) in contract.classifiers.iter().enumerate() {
        let Ok(property) = choice(contract, &ranges, index) else { continue };
        let name = free(format!("{}_is_the_first_case_that_holds", classifier.name));
        found.push(PropertyFunction {
            message: format!("classifier `{}` of {id} chooses the first case that holds", classifier.name),
            function: choice_function(contract, units, &name, classifier, &property),
            attributes: TokenStream::new(),
            assumes: false,
            name,
        });
    }
    // The type of an enumeration guarantees that its case is valid.
    let enumerated = contract.quantities.iter().any(|quantity| !quantity.cases.is_empty());
    if !contract.quantities.is_empty() && !enumerated {
        let name = free("inputs_are_accepted_inside_their_domains_only".to_owned());
        found.push(PropertyFunction {
            message: format!("`evaluate` of {id} accepts exactly the inputs inside their domains"),
            function: domains_function(contract, &name),
            attributes: TokenStream::new(),
            assumes: false,
            name,
        });
    }
    found
}

fn obligation_function(
    contract: &Contract,
    units: &Units,
    name: &str,
    obligation: &Obligation,
    property: &Property,
) -> TokenStream {
    let name = ident(name);
    let (given, claim, translator) =
        (given(contract, property), &obligation.formula, translator(&obligation.formula));
    let requires = property.requires.iter().map(|&index| {
        let condition = self::translator(&contract.requires[index].expression.formula).whole();
        quote! {
            if !_values.assume(#condition) {
                return true;
            }
        }
    });
    let calls = calls(contract, units, property, &quote!(super::));
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
    let doc = docs(&[obligation.doc.clone(), format!("`{claim}`")]);
    let claim = translator.whole();
    quote! {
        #doc
        pub fn #name<V: Values>(_values: &mut V) -> bool {
            #given
            #(#requires)*
            #calls
            _values.cover(#cover);
            #claim
        }
    }
}

/// The property that a classifier chooses the first case whose condition holds.
fn choice_function(
    contract: &Contract,
    units: &Units,
    name: &str,
    classifier: &Classifier,
    property: &Property,
) -> TokenStream {
    let (given, calls) = (given(contract, property), calls(contract, units, property, &quote!(super::)));
    let (name, class, kind) = (ident(name), ident(&classifier.name), ident(&camel(&classifier.name)));
    let mut before: Vec<TokenStream> = Vec::new();
    let mut arms = TokenStream::new();
    for case in &classifier.cases {
        let variant = ident(&case.variant);
        let holds = case.condition.as_ref().map(|condition| {
            let condition = translator(&condition.formula).whole();
            quote!((#condition))
        });
        let all = before.iter().map(|condition| quote!(!#condition)).chain(holds.clone());
        let all: Vec<TokenStream> = all.collect();
        let all = if all.is_empty() { quote!(true) } else { quote!(#(#all)&&*) };
        arms.extend(quote!(#kind::#variant => #all,));
        before.extend(holds);
    }
    let doc = docs(&[format!("`{}` chooses the first case that holds.", classifier.name)]);
    quote! {
        #doc
        pub fn #name<V: Values>(_values: &mut V) -> bool {
            #given
            #calls
            _values.cover(true);
            match #class { #arms }
        }
    }
}

/// The property that `evaluate` enforces the domains and requirements. It tests for integers like `accepted`; that test
/// is proven once for all contracts.
fn domains_function(contract: &Contract, name: &str) -> TokenStream {
    let name = ident(name);
    let names: Vec<_> = contract.quantities.iter().map(|quantity| ident(&quantity.name)).collect();
    let draws = contract.quantities.iter().map(|quantity| {
        let inside = drawn(&Value { domain: quantity.domain.clone(), ..Value::default() });
        let name = ident(&quantity.name);
        quote!(let #name = _values.anything(|_values| #inside);)
    });
    let inside = contract.quantities.iter().zip(&names).map(|(quantity, name)| {
        let domain = &quantity.domain;
        if !domain.set.is_empty() {
            let members = domain.set.iter().map(|member| number(*member));
            return quote!([#(#members),*].contains(&#name));
        }
        let (low, high) = (number(domain.low), number(domain.high));
        let whole = domain.integer.then(|| quote!(&& #name as i64 as f64 == #name));
        quote!((#low..=#high).contains(&#name) #whole)
    });
    let met = contract.requires.iter().map(|requirement| {
        let condition = translator(&requirement.expression.formula).whole();
        quote!(&& (#condition))
    });
    quote! {
        /// Inputs are accepted if and only if each lies in its domain and every requirement holds.
        pub fn #name<V: Values>(_values: &mut V) -> bool {
            #(#draws)*
            let inside = #(#inside)&&*;
            _values.cover(inside);
            super::Inputs::from_array([#(#names),*]).accepted() == (inside #(#met)*)
        }
    }
}

/// `let name = ...;` for each symbolic value.
fn given(contract: &Contract, property: &Property) -> TokenStream {
    let values = property.values.iter().map(|value| bound(contract, &value.name, &drawn(value)));
    values.collect()
}

/// `let name = ...;`, converted to the case if the quantity is an enumeration.
fn bound(contract: &Contract, name: &str, value: &TokenStream) -> TokenStream {
    let named = contract.quantity(name).is_some_and(|index| !contract.quantities[index].cases.is_empty());
    let (kind, name) = (ident(&camel(name)), ident(name));
    if named { quote!(let #name = #kind::ALL[#value as usize];) } else { quote!(let #name = #value;) }
}

/// `let name = name(...);` for each equation and classifier to call in `module`.
fn calls(contract: &Contract, units: &Units, property: &Property, module: &TokenStream) -> TokenStream {
    let equations = property.equations.iter().map(|&index| {
        let equation = &contract.equations[index];
        let (name, arguments) =
            (ident(&equation.name), arguments(contract, units, &equation.expression.operands));
        let value = units.bare(quote!(#module #name(#arguments)));
        quote!(let #name = #value;)
    });
    let classifiers = property.classifiers.iter().map(|&index| {
        let classifier = &contract.classifiers[index];
        let (name, arguments) = (ident(&classifier.name), arguments(contract, units, &classifier.operands));
        quote!(let #name = #module #name(#arguments);)
    });
    equations.chain(classifiers).collect()
}

/// A translator for formulas over local variables.
fn translator(formula: &Formula) -> Translator<'_> {
    fn local(name: &str) -> TokenStream {
        let name = ident(name);
        quote!(#name)
    }
    Translator { formula, name: &local, class: &local }
}

/// The arguments of a call, as local variables named after the operands.
fn arguments(contract: &Contract, units: &Units, operands: &[(String, Operand)]) -> TokenStream {
    let values = operands.iter().map(|(name, operand)| {
        let name = ident(name);
        operand_value(contract, *operand, units, quote!(#name))
    });
    quote!(#(#values),*)
}

/// The expression that draws a value.
fn drawn(value: &Value) -> TokenStream {
    let domain = &value.domain;
    if !domain.set.is_empty() {
        let members = domain.set.iter().map(|member| number(*member));
        quote!(_values.member(&[#(#members),*]))
    } else if domain.integer {
        let (low, high) = (domain.low as i64, domain.high as i64);
        let (low, high) = (Literal::i64_unsuffixed(low.abs()), Literal::i64_unsuffixed(high.abs()));
        let sign = |negative: bool| negative.then(|| quote!(-));
        let (minus_low, minus_high) = (sign(domain.low < 0.0), sign(domain.high < 0.0));
        let method = ident(if value.short { "short_whole" } else { "whole" });
        quote!(_values.#method(#minus_low #low, #minus_high #high))
    } else {
        let (low, high) = (number(domain.low), number(domain.high));
        let method = ident(if value.short { "short_real" } else { "real" });
        quote!(_values.#method(#low, #high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(integer: bool, set: Vec<f64>, short: bool) -> Value {
        let mut value = Value { name: "x".to_owned(), short, ..Value::default() };
        (value.domain.integer, value.domain.set) = (integer, set);
        value
    }

    #[test]
    fn playback_reads_the_values_that_the_harness_drew() {
        let values = vec![
            value(false, Vec::new(), false),
            value(true, Vec::new(), false),
            value(false, vec![16.0, 32.0], false),
            value(false, Vec::new(), true),
            value(true, Vec::new(), true),
        ];
        let property = Property {
            values,
            requires: vec![],
            equations: vec![],
            classifiers: vec![],
            cover: Cover::Reached,
        };
        let mut bytes = vec![
            1.5f64.to_le_bytes().to_vec(),
            (-7i64).to_le_bytes().to_vec(),
            1u64.to_le_bytes().to_vec(),
            // 1.25, whose low bits a short value omits.
            (0x3ff4_0fffu32).to_le_bytes().to_vec(),
            vec![(-3i8).cast_unsigned()],
            vec![4],
        ];
        assert_eq!(playback(&property, &bytes), Some(vec![1.5, -7.0, 32.0, 1.25, -48.0]));
        bytes.pop();
        assert_eq!(playback(&property, &bytes), None, "a value is missing");
    }
}
