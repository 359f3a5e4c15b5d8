//! The Rust module of a contract: const functions, profile constants, classifiers, inputs and outputs.
//!
//! The generated code depends only on `::core`, does not allocate and contains no unsafe code. Equations become
//! functions of their direct operands, bit-identical to [`eval`](crate::eval).

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::quote;

use super::types;
use super::units::Units;
use crate::contract::{
    Classifier, Contract, Equation, Field, FieldKind, Operand, Priority, Quantity, Table, Value, Verdict,
};
use crate::domain::Domain;
use crate::formula::{self, Binary, Formula, Function, Kind, NodeId};
use crate::names::{camel, singular, variant};

/// A module that was generated elsewhere and replaces that of a dependency: its name and its path, relative to the
/// module of the contract.
pub type Reused = (Ident, TokenStream);

/// The contract's own items. `modules` is the path of the modules of its dependencies.
fn own_items(contract: &Contract, modules: &TokenStream, units: &Units) -> TokenStream {
    let taken = |origin: &Option<String>, items: &[Ident]| {
        let module = ident(&module_name(origin.as_ref()?));
        Some(quote!(#(#[doc(inline)] pub use #modules::#module::#items;)*))
    };
    let named = contract.quantities.iter().filter(|quantity| !quantity.cases.is_empty()).map(|quantity| {
        let items = [ident(&camel(&quantity.name))];
        taken(&quantity.origin, &items).unwrap_or_else(|| self::named(contract, quantity))
    });
    let equations = contract.equations.iter().map(|equation| {
        let mut items = vec![ident(&equation.name)];
        items.extend(equation.bounds.as_ref().map(|measured| ident(&format!("{measured}_within"))));
        taken(&equation.origin, &items).unwrap_or_else(|| self::equation(contract, equation, units))
    });
    let classifiers = contract.classifiers.iter().map(|classifier| {
        let items = [ident(&classifier.name), ident(&camel(&classifier.name))];
        taken(&classifier.origin, &items).unwrap_or_else(|| self::classifier(contract, classifier, units))
    });
    let tables = contract.profiles.iter().map(|table| {
        taken(&table.origin, &[ident(&table.name)]).unwrap_or_else(|| self::table(contract, table, units))
    });
    let parts = [
        about(contract),
        helpers(contract),
        named.collect(),
        equations.collect(),
        classifiers.collect(),
        inputs(contract, units),
        outputs(contract, units),
        tables.collect(),
        recommendations(contract, units),
        obligations(contract),
        super::kani::modules(contract, units),
    ];
    parts.into_iter().collect()
}

/// Returns the items of the contract's module and the modules of all dependencies, without the enclosing `mod`. Shared
/// types come from the module that is reused as `types`, else from the first reused module; without reused modules they
/// are defined here.
pub fn items(contract: &Contract, reused: &[Reused]) -> TokenStream {
    items_in(contract, reused, &Units::Plain)
}

fn items_in(contract: &Contract, reused: &[Reused], units: &Units) -> TokenStream {
    let elsewhere = reused.iter().find(|(name, _)| name == types::KEY).or(reused.first());
    let inside = types::taken(&quote!(super));
    let dependencies = contract.closure().into_iter().map(|dependency| {
        let name = ident(&module_name(&dependency.metadata.id));
        let import = units.import();
        match reused.iter().find(|(known, _)| *known == name) {
            Some((_, path)) => quote!(pub use #path as #name;),
            None => {
                let own = own_items(dependency, &quote!(super), units);
                enclose(dependency, &quote!(pub), &name, quote!(#inside #import #own))
            }
        }
    });
    let mut items = elsewhere.map_or_else(types::defined, |(_, path)| types::taken(path));
    items.extend(dependencies);
    items.extend(units.module());
    items.extend(own_items(contract, &quote!(self), units));
    items
}

/// Returns `pub mod name { ... }` with the items, and attributes that suppress lints of strict crates.
pub fn module(contract: &Contract, visibility: &TokenStream, name: &Ident, reused: &[Reused]) -> TokenStream {
    enclose(contract, visibility, name, items(contract, reused))
}

/// Like [`module`], with a type for each unit instead of f64. Contains the modules of all dependencies, because they share
/// these types; only `types` can be reused.
pub fn typed_module(
    contract: &Contract,
    visibility: &TokenStream,
    name: &Ident,
    reused: &[Reused],
) -> TokenStream {
    enclose(contract, visibility, name, items_in(contract, reused, &Units::typed(contract)))
}

fn enclose(contract: &Contract, visibility: &TokenStream, name: &Ident, items: TokenStream) -> TokenStream {
    let doc = docs(&[
        contract.metadata.description.clone(),
        format!("Generated from `{}`, version {}.", file(contract), contract.metadata.version),
    ]);
    quote! {
        #doc
        #[allow(unused, nonstandard_style, double_negations, unexpected_cfgs, unreachable_pub, clippy::all, clippy::pedantic, clippy::nursery)]
        #visibility mod #name {
            #items
        }
    }
}

/// The default module name of a contract: its id with `_` for `-`.
pub fn module_name(id: &str) -> String {
    id.replace('-', "_")
}

fn file(contract: &Contract) -> &str {
    contract.source.name.rsplit(['/', '\\']).next().unwrap_or_default()
}

pub(super) fn ident(name: &str) -> Ident {
    Ident::new(name, Span::call_site())
}

/// `#[doc]` lines; paragraphs are separated by an empty line, and empty paragraphs are dropped.
pub(super) fn docs(paragraphs: &[String]) -> TokenStream {
    let mut lines: Vec<String> = Vec::new();
    for paragraph in paragraphs.iter().filter(|paragraph| !paragraph.trim().is_empty()) {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(paragraph.lines().map(str::to_owned));
    }
    let lines = lines.iter().map(|line| if line.is_empty() { String::new() } else { format!(" {line}") });
    quote! { #(#[doc = #lines])* }
}

/// Escapes brackets, which would become links.
fn prose(text: &str) -> String {
    text.replace('[', "\\[").replace(']', "\\]")
}

/// A finite number as a Rust literal that parses to the same f64.
pub(super) fn number(value: f64) -> TokenStream {
    let text = formula::number(value.abs());
    let text = if text.contains(['.', 'e']) { text } else { format!("{text}.0") };
    let literal: Literal = text.parse().unwrap_or_else(|_| Literal::f64_unsuffixed(value.abs()));
    if value.is_sign_negative() { quote!(-#literal) } else { quote!(#literal) }
}

fn about(contract: &Contract) -> TokenStream {
    let meta = &contract.metadata;
    let (id, version, description, sha256) =
        (&meta.id, meta.version.to_string(), &meta.description, &contract.source.sha256);
    quote! {
        /// The contract this module was generated from.
        pub const CONTRACT: Contract =
            Contract { id: #id, version: #version, description: #description, sha256: #sha256 };
    }
}

/// The private functions that this contract's formulas need. Names in contracts cannot begin with `_`.
fn helpers(contract: &Contract) -> TokenStream {
    let equations = contract.equations.iter().filter(|equation| equation.origin.is_none());
    let classifiers = contract.classifiers.iter().filter(|classifier| classifier.origin.is_none());
    let formulas: Vec<&Formula> = equations
        .map(|equation| &equation.expression.formula)
        .chain(
            classifiers
                .flat_map(|c| c.cases.iter().filter_map(|case| Some(&case.condition.as_ref()?.formula))),
        )
        .chain(contract.recommendations.iter().map(|advice| &advice.when.formula))
        .chain(contract.obligations.iter().map(|obligation| &obligation.formula))
        .collect();
    let calls = |wanted: Function| {
        formulas.iter().any(|formula| {
            formula
                .nodes
                .iter()
                .any(|node| matches!(node.kind, Kind::Call(function, _) if function == wanted))
        })
    };
    let tolerances =
        formulas.iter().any(|formula| formula.nodes.iter().any(|node| matches!(node.kind, Kind::Within(..))));
    let powers = formulas.iter().any(|formula| {
        formula.nodes.iter().any(|node| matches!(node.kind, Kind::Power(base, _) if !is_atom(formula, base)))
    });
    let mut helpers = TokenStream::new();
    if calls(Function::Min) {
        helpers.extend(quote! {
            #[inline]
            const fn _min(a: f64, b: f64) -> f64 {
                if a < b { a } else { b }
            }
        });
    }
    if calls(Function::Max) {
        helpers.extend(quote! {
            #[inline]
            const fn _max(a: f64, b: f64) -> f64 {
                if a > b { a } else { b }
            }
        });
    }
    if calls(Function::Floor) || calls(Function::Ceil) || calls(Function::Mod) {
        // `f64::floor` is neither const nor in core at the oldest supported compiler.
        helpers.extend(quote! {
            #[inline]
            const fn _truncate(x: f64) -> f64 {
                // From 2^52, every f64 is an integer; the sign of -0 is kept.
                if x.abs() < 4503599627370496.0 { (x as i64 as f64).copysign(x) } else { x }
            }
        });
    }
    if calls(Function::Floor) || calls(Function::Mod) {
        helpers.extend(quote! {
            #[inline]
            const fn _floor(x: f64) -> f64 {
                let whole = _truncate(x);
                if whole > x { whole - 1.0 } else { whole }
            }
        });
    }
    if calls(Function::Ceil) {
        helpers.extend(quote! {
            #[inline]
            const fn _ceil(x: f64) -> f64 {
                let whole = _truncate(x);
                if whole < x { whole + 1.0 } else { whole }
            }
        });
    }
    if calls(Function::Mod) {
        helpers.extend(quote! {
            #[inline]
            const fn _mod(a: f64, b: f64) -> f64 {
                a - b * _floor(a / b)
            }
        });
    }
    if calls(Function::Sqrt) {
        // `f64::sqrt` is neither const nor in core.
        helpers.extend(quote! {
            const fn _sqrt(x: f64) -> f64 {
                if x < 0.0 {
                    return f64::NAN;
                }
                if x == 0.0 || !x.is_finite() {
                    return x;
                }
                let fraction = x.to_bits() & 0xf_ffff_ffff_ffff;
                let exponent = (x.to_bits() >> 52) as i32;
                // x = whole * 2^(power - 1075), where whole has 53 bits.
                let (whole, power) = if exponent == 0 {
                    let shift = fraction.leading_zeros() - 11;
                    (fraction << shift, 1 - shift as i32)
                } else {
                    (fraction | 1 << 52, exponent)
                };
                // Make the power of two even and the root 54 bits wide, one more than the result has.
                let shift = if power % 2 == 0 { 55 } else { 54 };
                let square = (whole as u128) << shift;
                let mut root = 0;
                let mut bit = 1 << 53;
                while bit > 0 {
                    let larger: u128 = root | bit;
                    if larger * larger <= square {
                        root = larger;
                    }
                    bit >>= 1;
                }
                // The extra bit decides the rounding, because no root lies exactly halfway.
                let rounded = (root >> 1) as u64 + (root & 1) as u64;
                let power = (power - 1075 - shift) / 2 + 1 + 1075;
                f64::from_bits(((power as u64) << 52) + (rounded - (1 << 52)))
            }
        });
    }
    if tolerances {
        helpers.extend(quote! {
            #[inline]
            const fn _at_most(a: f64, b: f64, tolerance: f64) -> bool {
                a <= b + b.abs() * tolerance
            }
        });
    }
    if calls(Function::Pow) {
        helpers.extend(quote! {
            const fn _pow(base: f64, exponent: f64) -> f64 {
                let mut product = 1.0;
                // The domain limits the exponent to 0 to 65536; the cast bounds the loop for any other value.
                let mut left = if exponent > 65536.0 { 65536 } else { exponent as u32 };
                while left > 0 {
                    product *= base;
                    left -= 1;
                }
                product
            }
        });
    }
    if powers {
        helpers.extend(quote! {
            const fn _power(base: f64, exponent: u32) -> f64 {
                let mut product = base;
                let mut done = 1;
                while done < exponent {
                    product *= base;
                    done += 1;
                }
                product
            }
        });
    }
    helpers
}

fn is_atom(formula: &Formula, id: NodeId) -> bool {
    matches!(formula.nodes[id].kind, Kind::Name(_) | Kind::Number { .. })
}

/// Precedence levels of Rust, used to omit redundant parentheses.
mod level {
    pub const ANY: u8 = 0;
    pub const OR: u8 = 1;
    pub const AND: u8 = 2;
    pub const COMPARE: u8 = 3;
    pub const ADD: u8 = 4;
    pub const MULTIPLY: u8 = 5;
    pub const UNARY: u8 = 6;
    pub const ATOM: u8 = 7;
}

/// Translates formulas; `name` translates quantities and equations, `class` the results of classifiers.
pub(super) struct Translator<'a> {
    pub formula: &'a Formula,
    pub name: &'a dyn Fn(&str) -> TokenStream,
    pub class: &'a dyn Fn(&str) -> TokenStream,
}

impl Translator<'_> {
    /// The formula.
    pub fn whole(&self) -> TokenStream {
        self.part(self.formula.root)
    }

    /// A node of the formula and its operands.
    pub fn part(&self, id: NodeId) -> TokenStream {
        self.node(id, level::ANY)
    }

    fn node(&self, id: NodeId, least: u8) -> TokenStream {
        let (tokens, own) = self.bare(id);
        if own < least { quote!((#tokens)) } else { tokens }
    }

    fn bare(&self, id: NodeId) -> (TokenStream, u8) {
        match &self.formula.nodes[id].kind {
            Kind::Number { value, .. } => (number(*value), level::ATOM),
            Kind::Name(name) => ((self.name)(name), level::ATOM),
            Kind::Negate(a) => {
                let a = self.node(*a, level::UNARY);
                (quote!(-#a), level::UNARY)
            }
            Kind::Not(a) => {
                let a = self.node(*a, level::UNARY);
                (quote!(!#a), level::UNARY)
            }
            Kind::Binary(operator, a, b) => self.binary(*operator, *a, *b),
            Kind::Within(operator, a, b, within) => {
                let (a, b) = (self.node(*a, level::ANY), self.node(*b, level::ANY));
                let within = number(*within);
                match operator {
                    Binary::LessEqual => (quote!(_at_most(#a, #b, #within)), level::ATOM),
                    Binary::GreaterEqual => (quote!(_at_most(#b, #a, #within)), level::ATOM),
                    _ => (quote!(_at_most(#a, #b, #within) && _at_most(#b, #a, #within)), level::AND),
                }
            }
            Kind::Power(a, exponent) => self.power(*a, *exponent),
            Kind::Call(function, arguments) => self.call(*function, arguments),
            Kind::If(c, a, b) => {
                let (c, a, b) =
                    (self.node(*c, level::ANY), self.node(*a, level::ANY), self.node(*b, level::ANY));
                // At the start of a statement, an `if` would end the expression, so it is parenthesized.
                (quote!(if #c { #a } else { #b }), level::ANY)
            }
            Kind::Is(name, variant, _) => {
                let (value, case) = ((self.class)(name), case_path(name, variant));
                (quote!(::core::matches!(#value, #case)), level::ATOM)
            }
            kind @ Kind::Sum(_) => {
                let level = |index| if index == 0 { level::ADD } else { level::MULTIPLY };
                let terms = kind.parts().into_iter().enumerate();
                let terms = terms.map(|(index, term)| self.node(term, level(index)));
                (quote!(#(#terms)+*), level::ADD)
            }
            // The type checker rejects these in everything that becomes a function.
            Kind::Quote(_) | Kind::Substitute(..) | Kind::Monotone { .. } => (quote!(), level::ATOM),
        }
    }

    fn binary(&self, operator: Binary, a: NodeId, b: NodeId) -> (TokenStream, u8) {
        let infix = |symbol: TokenStream, own: u8, left: u8| {
            let (a, b) = (self.node(a, left), self.node(b, own + 1));
            (quote!(#a #symbol #b), own)
        };
        // Rust does not chain comparisons either, so the left side is parenthesized too.
        let compare = |symbol: TokenStream| infix(symbol, level::COMPARE, level::COMPARE + 1);
        match operator {
            Binary::Add => infix(quote!(+), level::ADD, level::ADD),
            Binary::Subtract => infix(quote!(-), level::ADD, level::ADD),
            Binary::Multiply => infix(quote!(*), level::MULTIPLY, level::MULTIPLY),
            Binary::Divide => infix(quote!(/), level::MULTIPLY, level::MULTIPLY),
            Binary::Less => compare(quote!(<)),
            Binary::LessEqual => compare(quote!(<=)),
            Binary::Greater => compare(quote!(>)),
            Binary::GreaterEqual => compare(quote!(>=)),
            Binary::Equal | Binary::Iff => compare(quote!(==)),
            Binary::NotEqual => compare(quote!(!=)),
            Binary::And => infix(quote!(&&), level::AND, level::AND),
            Binary::Or => infix(quote!(||), level::OR, level::OR),
            Binary::Implies => {
                let (a, b) = (self.node(a, level::UNARY), self.node(b, level::AND));
                (quote!(!#a || #b), level::OR)
            }
        }
    }

    fn power(&self, base: NodeId, exponent: i32) -> (TokenStream, u8) {
        if exponent == 0 {
            return (number(1.0), level::ATOM);
        }
        let times = exponent.unsigned_abs();
        let (product, own) = if times == 1 {
            (self.node(base, level::MULTIPLY), level::MULTIPLY)
        } else if is_atom(self.formula, base) {
            let factor = self.node(base, level::UNARY);
            let product = (1..times).fold(factor.clone(), |product, _| quote!(#product * #factor));
            (product, level::MULTIPLY)
        } else {
            let (base, times) = (self.node(base, level::ANY), Literal::u32_unsuffixed(times));
            (quote!(_power(#base, #times)), level::ATOM)
        };
        if exponent > 0 {
            (product, own)
        } else {
            let product = if own == level::ATOM { product } else { quote!((#product)) };
            (quote!(1.0 / #product), level::MULTIPLY)
        }
    }

    fn call(&self, function: Function, arguments: &[NodeId]) -> (TokenStream, u8) {
        let name = ident(&format!("_{}", function.name()));
        let mut values = arguments.iter().map(|id| self.node(*id, level::ANY));
        let first = values.next().unwrap_or_default();
        let tokens = match function {
            Function::Min | Function::Max | Function::Pow | Function::Mod => {
                values.fold(first, |left, right| quote!(#name(#left, #right)))
            }
            Function::Floor | Function::Ceil | Function::Sqrt => quote!(#name(#first)),
            Function::Abs => quote!(f64::abs(#first)),
            Function::Finite => quote!((#first).is_finite()),
            Function::Given => quote!(),
        };
        (tokens, level::ATOM)
    }
}

/// `Kind::Case` of a classifier or an enumeration.
pub(super) fn case_path(name: &str, case: &str) -> TokenStream {
    let (kind, case) = (ident(&camel(name)), ident(&variant(case).unwrap_or_default()));
    quote!(#kind::#case)
}

/// The type of a quantity.
fn quantity_kind(quantity: &Quantity, units: &Units) -> TokenStream {
    if quantity.cases.is_empty() {
        return units.kind(quantity.unit);
    }
    let kind = ident(&camel(&quantity.name));
    quote!(#kind)
}

/// The type of an operand.
fn operand_kind(contract: &Contract, operand: Operand, units: &Units) -> TokenStream {
    match operand {
        Operand::Quantity(index) => quantity_kind(&contract.quantities[index], units),
        Operand::Equation(index) => units.kind(contract.equations[index].unit),
    }
}

/// Wraps an f64 variable with the operand's name; an enumeration already has its type.
pub(super) fn operand_value(
    contract: &Contract,
    operand: Operand,
    units: &Units,
    value: TokenStream,
) -> TokenStream {
    match operand {
        Operand::Quantity(index) if !contract.quantities[index].cases.is_empty() => value,
        Operand::Quantity(index) => units.wrap(contract.quantities[index].unit, value),
        Operand::Equation(index) => units.wrap(contract.equations[index].unit, value),
    }
}

/// The enum of an enumeration.
fn named(contract: &Contract, quantity: &Quantity) -> TokenStream {
    let kind = ident(&camel(&quantity.name));
    let case =
        |name: &String| Some(Case { variant: variant(name)?, name: name.clone(), doc: format!(" `{name}`") });
    let cases: Vec<Case> = quantity.cases.iter().filter_map(case).collect();
    let doc =
        docs(&[prose(&quantity.doc), format!("From `{}`, `quantities.{}`.", file(contract), quantity.name)]);
    let enumeration = enumeration(&doc, &kind, &cases, &quote!(UnknownName));
    quote! {
        #enumeration
        impl #kind {
            /// The case with this number, counted from 0 in the order of the contract.
            pub const fn from_number(number: f64) -> ::core::option::Option<Self> {
                let mut i = 0;
                while i < Self::ALL.len() {
                    if i as f64 == number {
                        return ::core::option::Option::Some(Self::ALL[i]);
                    }
                    i += 1;
                }
                ::core::option::Option::None
            }
        }
    }
}

fn unit_of(contract: &Contract, operand: Operand) -> (&str, Option<&Domain>) {
    match operand {
        Operand::Quantity(index) => {
            let quantity = &contract.quantities[index];
            (&quantity.unit_text, Some(&quantity.domain))
        }
        Operand::Equation(index) => (&contract.equations[index].unit_text, None),
    }
}

/// One line per operand: its unit, and its domain or its equation.
fn operand_docs(contract: &Contract, operands: &[(String, Operand)]) -> String {
    let line = |(name, operand): &(String, Operand)| {
        let (unit, domain) = unit_of(contract, *operand);
        match domain {
            Some(domain) if unit.is_empty() => format!("- `{name}`: {domain}"),
            Some(domain) => format!("- `{name}`: `{unit}`, in `{domain}`"),
            None => format!("- `{name}`: `{unit}`, the equation of this name"),
        }
    };
    operands.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn equation(contract: &Contract, equation: &Equation, units: &Units) -> TokenStream {
    let name = ident(&equation.name);
    let operands = &equation.expression.operands;
    let parameters: Vec<Ident> = operands.iter().map(|(name, _)| ident(name)).collect();
    let formula = &equation.expression.formula;
    let value = |name: &str| units.bare(bare_name(name));
    let body = units.wrap(equation.unit, Translator { formula, name: &value, class: &bare_name }.whole());
    let kinds: Vec<TokenStream> =
        operands.iter().map(|(_, operand)| operand_kind(contract, *operand, units)).collect();
    let kind = units.kind(equation.unit);
    let doc = docs(&[
        prose(&equation.doc),
        format!("`{} = {formula}`, in `{}`.", equation.name, equation.unit_text),
        operand_docs(contract, operands),
        format!("From `{}`, `equations.{}`.", file(contract), equation.name),
    ]);
    let mut tokens = quote! {
        #doc
        #[inline]
        pub const fn #name(#(#parameters: #kinds),*) -> #kind {
            #body
        }
    };
    if let Some(measured) = &equation.bounds {
        let (check, value) = (ident(&format!("{measured}_within")), ident(measured));
        // An operand of the right side may have the name of the measured value.
        let rest = parameters.iter().zip(&kinds).filter(|(parameter, _)| **parameter != value);
        let (rest, rest_kinds): (Vec<&Ident>, Vec<&TokenStream>) = rest.unzip();
        let (measured_value, ceiling) =
            (units.bare(quote!(#value)), units.bare(quote!(#name(#(#parameters),*))));
        let doc = docs(&[
            format!("True if a measured `{measured}` is possible: `{measured} <= {formula}`."),
            "If false, the measurement or an input of the ceiling is wrong.".into(),
            format!("From `{}`, `equations.{}`.", file(contract), equation.name),
        ]);
        tokens.extend(quote! {
            #doc
            #[inline]
            pub const fn #check(#value: #kind #(, #rest: #rest_kinds)*) -> bool {
                #measured_value <= #ceiling
            }
        });
    }
    tokens
}

fn bare_name(name: &str) -> TokenStream {
    let name = ident(name);
    quote!(#name)
}

/// An enum with its list of cases and conversions to and from their names; `error` is the path of `UnknownName`.
fn enumeration(doc: &TokenStream, kind: &Ident, cases: &[Case], error: &TokenStream) -> TokenStream {
    let variants: Vec<Ident> = cases.iter().map(|case| ident(&case.variant)).collect();
    let docs = cases.iter().map(|case| &case.doc);
    let names: Vec<&String> = cases.iter().map(|case| &case.name).collect();
    quote! {
        #doc
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum #kind {
            #(#[doc = #docs] #variants,)*
        }
        impl #kind {
            /// All cases, in the order of the contract.
            pub const ALL: &'static [#kind] = &[#(#kind::#variants),*];
            /// The name of the case, as the contract writes it.
            pub const fn name(self) -> &'static str {
                match self {
                    #(#kind::#variants => #names,)*
                }
            }
        }
        impl ::core::fmt::Display for #kind {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.pad(self.name())
            }
        }
        impl ::core::str::FromStr for #kind {
            type Err = #error;
            fn from_str(name: &str) -> ::core::result::Result<Self, #error> {
                match name {
                    #(#names => ::core::result::Result::Ok(#kind::#variants),)*
                    _ => ::core::result::Result::Err(#error { allowed: &[#(#names),*] }),
                }
            }
        }
    }
}

/// One case of an enum.
struct Case {
    variant: String,
    name: String,
    doc: String,
}

fn classifier(contract: &Contract, classifier: &Classifier, units: &Units) -> TokenStream {
    let kind = ident(&camel(&classifier.name));
    let function = ident(&classifier.name);
    let operands = &classifier.operands;
    let parameters = operands.iter().map(|(name, _)| ident(name));
    let kinds = operands.iter().map(|(_, operand)| operand_kind(contract, *operand, units));
    let value = |name: &str| units.bare(bare_name(name));
    let cases = classifier.cases.iter().map(|case| Case {
        variant: case.variant.clone(),
        name: case.variant.clone(),
        doc: match &case.condition {
            Some(condition) => format!(" `{}`", condition.formula),
            None => " Otherwise.".into(),
        },
    });
    let cases: Vec<Case> = cases.collect();
    let mut body = TokenStream::new();
    for case in &classifier.cases {
        let variant = ident(&case.variant);
        match &case.condition {
            Some(condition) => {
                let condition =
                    Translator { formula: &condition.formula, name: &value, class: &bare_name }.whole();
                body.extend(quote!(if #condition { #kind::#variant } else));
            }
            None => body.extend(quote!({ #kind::#variant })),
        }
    }
    let origin = format!("From `{}`, `classifiers.{}`.", file(contract), classifier.name);
    let doc = docs(&[prose(&classifier.doc), origin.clone()]);
    let function_doc = docs(&[prose(&classifier.doc), operand_docs(contract, operands), origin]);
    let enumeration = enumeration(&doc, &kind, &cases, &quote!(UnknownName));
    quote! {
        #enumeration
        #function_doc
        #[inline]
        pub const fn #function(#(#parameters: #kinds),*) -> #kind {
            #body
        }
    }
}

fn quantity_docs(quantity: &Quantity) -> TokenStream {
    let default = quantity
        .default
        .map(|value| format!(", {} if not given", formula::number(value)))
        .unwrap_or_default();
    let what = match quantity.cases.is_empty() {
        true => format!("In `{}`, `{}`{default}.", quantity.unit_text, quantity.domain),
        false => "One of the quantity's cases.".into(),
    };
    docs(&[prose(&quantity.doc), what])
}

/// The condition that a value lies in a domain; false for NaN and infinities.
fn within(domain: &Domain, value: &TokenStream) -> TokenStream {
    if !domain.set.is_empty() {
        let members = domain.set.iter().map(|member| number(*member));
        return quote!((#(#value == #members)||*));
    }
    let (low, high) = (number(domain.low), number(domain.high));
    let range = quote!(#value >= #low && #value <= #high);
    // Integers of a domain fit in an i64; Kani has no exact remainder.
    if domain.integer { quote!((#range && #value as i64 as f64 == #value)) } else { quote!((#range)) }
}

fn inputs(contract: &Contract, units: &Units) -> TokenStream {
    let names: Vec<Ident> = contract.quantities.iter().map(|quantity| ident(&quantity.name)).collect();
    let field_docs = contract.quantities.iter().map(quantity_docs);
    let required = contract.quantities.iter().zip(&names).filter(|(quantity, _)| quantity.default.is_none());
    let (required, required_kinds): (Vec<&Ident>, Vec<TokenStream>) =
        required.map(|(quantity, name)| (name, quantity_kind(quantity, units))).unzip();
    let kinds = contract.quantities.iter().map(|quantity| quantity_kind(quantity, units));
    let bare =
        contract.quantities.iter().zip(&names).map(|(quantity, name)| match quantity.cases.is_empty() {
            true => units.bare(quote!(self.#name)),
            false => quote!(self.#name as usize as f64),
        });
    let bare: Vec<TokenStream> = bare.collect();
    let initial = contract.quantities.iter().zip(&names).map(|(quantity, name)| match quantity.default {
        Some(value) if !quantity.cases.is_empty() => {
            let case = case_path(&quantity.name, &quantity.show(value));
            quote!(#name: #case)
        }
        Some(value) => {
            let value = units.wrap(quantity.unit, number(value));
            quote!(#name: #value)
        }
        None => quote!(#name),
    });
    let own = |name: &str| units.bare(class_of_self(name));
    let met = contract.requires.iter().map(|requirement| {
        Translator { formula: &requirement.expression.formula, name: &own, class: &class_of_self }.whole()
    });
    let met: Vec<TokenStream> = met.collect();
    let numbers = contract.quantities.iter().zip(&bare).filter(|(quantity, _)| quantity.cases.is_empty());
    let inside = numbers.map(|(quantity, value)| within(&quantity.domain, value));
    let accepted: Vec<TokenStream> = inside.chain(met.iter().map(|met| quote!((#met)))).collect();
    let check = (!accepted.is_empty()).then(|| {
        quote! {
            if !self.accepted() {
                return ::core::result::Result::Err(self.refused());
            }
        }
    });
    let accepted = if accepted.is_empty() { quote!(true) } else { quote!(#(#accepted)&&*) };
    let requirements = Literal::usize_unsuffixed(met.len());
    let requires = contract.requires.iter().map(|requirement| requirement.expression.formula.to_string());
    let described = contract.quantities.iter().map(description);
    let argument = |(name, operand): &(String, Operand)| {
        let name = ident(name);
        match operand {
            Operand::Quantity(_) => quote!(self.#name),
            Operand::Equation(_) => quote!(#name),
        }
    };
    let equations = contract.order.iter().map(|&index| {
        let equation = &contract.equations[index];
        let (name, arguments) = (ident(&equation.name), equation.expression.operands.iter().map(argument));
        quote!(let #name = #name(#(#arguments),*);)
    });
    let classes = contract.classifiers.iter().map(|classifier| {
        let (name, arguments) = (ident(&classifier.name), classifier.operands.iter().map(argument));
        quote!(let #name = #name(#(#arguments),*);)
    });
    let results = output_names(contract);
    let out_of_domain = out_of_domain(names.len(), &met);
    let count = Literal::usize_unsuffixed(names.len());
    let texts = contract.quantities.iter().map(|quantity| &quantity.name);
    let unit_texts = contract.quantities.iter().map(|quantity| &quantity.unit_text);
    let values = contract.quantities.iter().enumerate().map(|(index, quantity)| {
        let index = Literal::usize_unsuffixed(index);
        if quantity.cases.is_empty() {
            return units.wrap(quantity.unit, quote!(values[#index]));
        }
        let kind = ident(&camel(&quantity.name));
        quote! {
            match #kind::from_number(values[#index]) {
                ::core::option::Option::Some(case) => case,
                ::core::option::Option::None => return ::core::option::Option::None,
            }
        }
    });
    let whole = quote!(Inputs { #(#names: #values),* });
    let from_array = if contract.quantities.iter().all(|quantity| quantity.cases.is_empty()) {
        quote! {
            /// One value for each of [`NAMES`](Self::NAMES).
            pub const fn from_array(values: [f64; #count]) -> Self {
                #whole
            }
        }
    } else {
        quote! {
            /// One value for each of [`NAMES`](Self::NAMES). For an enumeration, it is the number of a case, from 0; none if
            /// the case does not exist.
            pub const fn from_array(values: [f64; #count]) -> ::core::option::Option<Self> {
                ::core::option::Option::Some(#whole)
            }
        }
    };
    let profiles = contract.profiles.iter().filter_map(|table| {
        let bound: Vec<&Field> = table.fields.iter().filter(|field| field.quantity.is_some()).collect();
        if bound.is_empty() {
            return None;
        }
        let one = singular(&table.name);
        let (method, module, kind) = (ident(&format!("with_{one}")), ident(&table.name), ident(&camel(&one)));
        let set = bound.iter().map(|field| {
            let name = ident(&field.name);
            if field.optional {
                quote!(#name: match profile.#name { ::core::option::Option::Some(value) => value, ::core::option::Option::None => self.#name })
            } else {
                quote!(#name: profile.#name)
            }
        });
        let names = bound.iter().map(|field| format!("`{}`", field.name)).collect::<Vec<_>>().join(", ");
        let doc = format!(" These inputs with {names} of this profile.");
        let rest = if bound.len() < contract.quantities.len() { quote!(, ..self) } else { quote!() };
        Some(quote! {
            #[doc = #doc]
            pub const fn #method(self, profile: &#module::#kind) -> Self {
                Inputs { #(#set),* #rest }
            }
        })
    });
    quote! {
        /// One value for each quantity of the contract.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Inputs {
            #(#field_docs pub #names: #kinds,)*
        }
        impl Inputs {
            /// Creates inputs from the quantities without a default, in the order of the contract; the others have their default.
            pub const fn new(#(#required: #required_kinds),*) -> Self {
                Inputs { #(#initial),* }
            }
            /// The names of the quantities, in the order of the contract.
            pub const NAMES: [&'static str; #count] = [#(#texts),*];
            /// Their units, as the contract writes them.
            pub const UNITS: [&'static str; #count] = [#(#unit_texts),*];
            /// The descriptions of [`NAMES`](Self::NAMES).
            pub const QUANTITIES: [Quantity; #count] = [#(#described),*];
            /// The relations that must hold between inputs, as the contract writes them.
            pub const REQUIRES: [&'static str; #requirements] = [#(#requires),*];
            #from_array
            /// One value for each of [`NAMES`](Self::NAMES).
            pub const fn to_array(&self) -> [f64; #count] {
                [#(#bare),*]
            }
            #(#profiles)*
            /// True if every value lies in its domain and every requirement holds.
            pub const fn accepted(&self) -> bool {
                #accepted
            }
            /// Checks all domains and requirements, then computes all equations and classifiers.
            pub const fn evaluate(self) -> ::core::result::Result<Outputs, OutOfDomain> {
                #check
                #(#equations)*
                #(#classes)*
                ::core::result::Result::Ok(Outputs { #(#results),* })
            }
        }
        #out_of_domain
    }
}

/// `self.name`.
fn class_of_self(name: &str) -> TokenStream {
    let name = ident(name);
    quote!(self.#name)
}

/// A quantity as data.
fn description(quantity: &Quantity) -> TokenStream {
    let Quantity { name, unit_text, domain, doc, .. } = quantity;
    // The numbers of an enumeration are those of its cases.
    let default = match quantity.default {
        Some(value) => {
            let value = number(value);
            quote!(::core::option::Option::Some(#value))
        }
        None => quote!(::core::option::Option::None),
    };
    let (text, low, high, integer) =
        (domain.to_string(), number(domain.low), number(domain.high), domain.integer);
    let members = domain.set.iter().map(|member| number(*member));
    let domain =
        quote!(Domain { text: #text, low: #low, high: #high, integer: #integer, members: &[#(#members),*] });
    quote!(Quantity { name: #name, unit: #unit_text, domain: #domain, default: #default, doc: #doc })
}

/// Maximum number of values in an error, which must stay small to be returned by value.
const MAX_ERROR_VALUES: usize = 8;

/// The error of `evaluate`, and the slow path that collects all violations.
fn out_of_domain(quantities: usize, met: &[TokenStream]) -> TokenStream {
    let [words, kept, count, requirements] =
        [quantities.div_ceil(64), quantities.min(MAX_ERROR_VALUES), quantities, met.len()]
            .map(Literal::usize_unsuffixed);
    quote! {
        impl Inputs {
            #[cold]
            const fn refused(self) -> OutOfDomain {
                let (all, mut outside, mut values) = (self.to_array(), [0; #words], [0.0; #kept]);
                let (mut i, mut count) = (0, 0);
                while i < #count {
                    if !Self::QUANTITIES[i].domain.contains(all[i]) {
                        outside[i / 64] |= 1 << (i % 64);
                        if count < #kept {
                            values[count] = all[i];
                        }
                        count += 1;
                    }
                    i += 1;
                }
                OutOfDomain { outside, values, unmet: [#(count == 0 && !(#met)),*] }
            }
        }
        /// The error for rejected inputs: all values outside their domains or, if there are none, all violated requirements.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct OutOfDomain {
            outside: [u64; #words],
            values: [f64; #kept],
            unmet: [bool; #requirements],
        }
        impl OutOfDomain {
            /// The quantities whose values are outside their domains, in the order of the contract. Only the first ones have
            /// their values.
            pub fn outside(&self) -> impl ::core::iter::Iterator<Item = (&'static Quantity, ::core::option::Option<f64>)> + '_ {
                const QUANTITIES: &[Quantity] = &Inputs::QUANTITIES;
                let found = QUANTITIES.iter().enumerate().filter(|(i, _)| self.outside[i / 64] >> (i % 64) & 1 == 1);
                found.enumerate().map(|(at, (_, quantity))| (quantity, self.values.get(at).copied()))
            }
            /// The violated requirements, as the contract writes them.
            pub fn unmet(&self) -> impl ::core::iter::Iterator<Item = &'static str> + '_ {
                Inputs::REQUIRES.into_iter().zip(self.unmet).filter(|(_, unmet)| *unmet).map(|(text, _)| text)
            }
        }
        impl ::core::fmt::Display for OutOfDomain {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let mut between = "";
                for (quantity, value) in self.outside() {
                    ::core::write!(f, "{between}{}", quantity.name)?;
                    if let ::core::option::Option::Some(value) = value {
                        ::core::write!(f, " = {value}")?;
                    }
                    ::core::write!(f, " is outside its domain {}", quantity.domain.text)?;
                    between = "; ";
                }
                for text in self.unmet() {
                    ::core::write!(f, "{between}the inputs violate the requirement {text}")?;
                    between = "; ";
                }
                ::core::result::Result::Ok(())
            }
        }
        impl ::core::error::Error for OutOfDomain {}
    }
}

fn output_names(contract: &Contract) -> Vec<Ident> {
    let equations = contract.equations.iter().map(|equation| ident(&equation.name));
    equations.chain(contract.classifiers.iter().map(|classifier| ident(&classifier.name))).collect()
}

fn outputs(contract: &Contract, units: &Units) -> TokenStream {
    let count = Literal::usize_unsuffixed(contract.equations.len());
    let texts = contract.equations.iter().map(|equation| &equation.name);
    let unit_texts = contract.equations.iter().map(|equation| &equation.unit_text);
    let bare = contract.equations.iter().map(|equation| {
        let name = ident(&equation.name);
        units.bare(quote!(self.#name))
    });
    let equations = contract.equations.iter().map(|equation| {
        let name = ident(&equation.name);
        let doc = docs(&[prose(&equation.doc), format!("In `{}`.", equation.unit_text)]);
        let kind = units.kind(equation.unit);
        quote!(#doc pub #name: #kind,)
    });
    let classes = contract.classifiers.iter().map(|classifier| {
        let (name, kind) = (ident(&classifier.name), ident(&camel(&classifier.name)));
        let doc = docs(&[prose(&classifier.doc), "One of the classifier's cases.".into()]);
        quote!(#doc pub #name: #kind,)
    });
    quote! {
        /// All results of the contract.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Outputs {
            #(#equations)*
            #(#classes)*
        }
        impl Outputs {
            /// The names of the equations, in the order of the contract.
            pub const NAMES: [&'static str; #count] = [#(#texts),*];
            /// Their units, as the contract writes them.
            pub const UNITS: [&'static str; #count] = [#(#unit_texts),*];
            /// One value for each of [`NAMES`](Self::NAMES).
            pub const fn to_array(&self) -> [f64; #count] {
                [#(#bare),*]
            }
        }
    }
}

fn table(contract: &Contract, table: &Table, units: &Units) -> TokenStream {
    let (module, kind) = (ident(&table.name), ident(&camel(&singular(&table.name))));
    let names: Vec<Ident> = table.fields.iter().map(|field| ident(&field.name)).collect();
    let fields = table.fields.iter().zip(&names).map(|(field, name)| {
        let doc = match &field.kind {
            FieldKind::Number { unit_text, domain, .. } => format!("In `{unit_text}`, `{domain}`."),
            FieldKind::Text { one_of } if one_of.is_empty() => String::new(),
            FieldKind::Text { one_of } => format!("One of `{}`.", one_of.join("`, `")),
        };
        let (doc, plain) = (docs(&[prose(&field.doc), doc]), field_type(field, units));
        let kind = if field.optional { quote!(::core::option::Option<#plain>) } else { plain };
        quote!(#doc pub #name: #kind,)
    });
    let import = units.import();
    let words = table.fields.iter().filter(|field| field.quantity.is_none()).filter_map(|field| {
        let FieldKind::Text { one_of } = &field.kind else { return None };
        let case = |text: &String| {
            Some(Case { variant: variant(text)?, name: text.clone(), doc: format!(" `{text}`") })
        };
        let cases: Vec<Case> = one_of.iter().filter_map(case).collect();
        let doc = docs(&[
            prose(&field.doc),
            format!("From `{}`, `profiles.{}.fields.{}`.", file(contract), table.name, field.name),
        ]);
        let kind = ident(&camel(&field.name));
        (!cases.is_empty()).then(|| enumeration(&doc, &kind, &cases, &quote!(super::UnknownName)))
    });
    let constants: Vec<Ident> =
        table.entries.iter().map(|entry| ident(&entry.name.to_ascii_uppercase())).collect();
    let entries = table.entries.iter().zip(&constants).map(|(entry, constant)| {
        let values = table.fields.iter().zip(&names).zip(&entry.values).map(|((field, name), value)| {
            let plain = match value {
                Value::Absent => return quote!(#name: ::core::option::Option::None),
                Value::Number(value) => match &field.kind {
                    FieldKind::Number { unit, .. } => units.wrap(*unit, number(*value)),
                    FieldKind::Text { .. } => number(*value),
                },
                Value::Text(text) => match word(field, text) {
                    Some(case) => quote!(#case),
                    None => quote!(#text),
                },
            };
            if field.optional { quote!(#name: ::core::option::Option::Some(#plain)) } else { quote!(#name: #plain) }
        });
        let (text, about, source, as_of) = (&entry.name, &entry.doc, &entry.source, &entry.as_of);
        let doc = docs(&[prose(about), prose(&format!("Source: {source}, as of {as_of}."))]);
        quote! {
            #doc
            pub const #constant: #kind = #kind { name: #text, doc: #about, #(#values,)* source: #source, as_of: #as_of };
        }
    });
    let access = table_access(table, &kind, units);
    let doc = docs(&[prose(&table.doc), format!("From `{}`, `profiles.{}`.", file(contract), table.name)]);
    quote! {
        #doc
        pub mod #module {
            #import
            #doc
            #[derive(Clone, Copy, Debug, PartialEq)]
            pub struct #kind {
                /// The name in the contract.
                pub name: &'static str,
                /// The documentation; empty for none.
                pub doc: &'static str,
                #(#fields)*
                /// The source of the figures.
                pub source: &'static str,
                /// The day the figures were taken.
                pub as_of: &'static str,
            }
            #(#words)*
            #access
            #(#entries)*
            /// All entries, in the order of the contract.
            pub const ALL: &[#kind] = &[#(#constants),*];
            /// The entry with this name.
            pub const fn by_name(name: &str) -> ::core::option::Option<&'static #kind> {
                let wanted = name.as_bytes();
                let mut i = 0;
                while i < ALL.len() {
                    let known = ALL[i].name.as_bytes();
                    let mut same = known.len() == wanted.len();
                    let mut j = 0;
                    while same && j < known.len() {
                        same = known[j] == wanted[j];
                        j += 1;
                    }
                    if same {
                        return ::core::option::Option::Some(&ALL[i]);
                    }
                    i += 1;
                }
                ::core::option::Option::None
            }
        }
    }
}

/// Returns the Rust type of a field's value.
fn field_type(field: &Field, units: &Units) -> TokenStream {
    match &field.kind {
        FieldKind::Number { unit, .. } => units.kind(*unit),
        FieldKind::Text { one_of } if one_of.is_empty() => quote!(&'static str),
        FieldKind::Text { .. } => {
            let kind = ident(&camel(&field.name));
            // A field that sets an enumeration has its type.
            let above = field.quantity.map(|_| quote!(super::));
            quote!(#above #kind)
        }
    }
}

/// Emits the lists of fields, the constructor of an entry with unknown optional values, and access to values by name.
fn table_access(table: &Table, kind: &Ident, units: &Units) -> TokenStream {
    let (mut numbers, mut texts) = (Vec::new(), Vec::new());
    let (mut read, mut write, mut read_text, mut write_text) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut parameters, mut values) = (Vec::new(), Vec::new());
    for field in &table.fields {
        let (text, name, plain) = (&field.name, ident(&field.name), field_type(field, units));
        let value = if field.optional { quote!(value) } else { quote!(self.#name) };
        let optional = |value: TokenStream| match field.optional {
            true => quote!(self.#name.map(|value| #value)),
            false => quote!(::core::option::Option::Some(#value)),
        };
        match &field.kind {
            FieldKind::Number { unit, unit_text, .. } => {
                numbers.push(quote!((#text, #unit_text)));
                let number = optional(units.bare(value));
                let wrapped = units.wrap(*unit, quote!(number));
                let wrapped =
                    if field.optional { quote!(::core::option::Option::Some(#wrapped)) } else { wrapped };
                read.push(quote!(#text => #number,));
                write.push(quote!(#text => self.#name = #wrapped,));
            }
            FieldKind::Text { one_of } => {
                texts.push(text);
                let value = if one_of.is_empty() { value } else { quote!(#value.name()) };
                let value = optional(value);
                read_text.push(quote!(#text => #value,));
                let (open, close) = if one_of.is_empty() {
                    (quote!(), quote!(text))
                } else {
                    let known =
                        quote!(let ::core::result::Result::Ok(known) = text.parse() else { return false };);
                    (known, quote!(known))
                };
                let close = if field.optional { quote!(::core::option::Option::Some(#close)) } else { close };
                write_text.push(quote!(#text => { #open self.#name = #close; }));
            }
        }
        if field.optional {
            values.push(quote!(#name: ::core::option::Option::None));
        } else {
            parameters.push(quote!(#name: #plain));
            values.push(quote!(#name));
        }
    }
    let writer = (!numbers.is_empty()).then(|| {
        quote! {
            /// Sets the number of this name, in the unit of the contract; returns whether there is one. The domain is not checked.
            pub fn set_number(&mut self, name: &str, number: f64) -> bool {
                match name {
                    #(#write)*
                    _ => return false,
                }
                true
            }
        }
    });
    quote! {
        impl #kind {
            /// Names and units of the numbers, in the order of the contract.
            pub const NUMBERS: &'static [(&'static str, &'static str)] = &[#(#numbers),*];
            /// Names of the texts.
            pub const TEXTS: &'static [&'static str] = &["name", #(#texts,)* "source", "as_of"];
            /// Returns an entry without documentation, source and optional values.
            #[allow(clippy::too_many_arguments, reason = "the number of fields follows from the contract")]
            pub const fn new(name: &'static str, #(#parameters),*) -> Self {
                #kind { name, doc: "", #(#values,)* source: "", as_of: "" }
            }
            /// Returns the number of this name, in the unit of the contract.
            pub fn number(&self, name: &str) -> ::core::option::Option<f64> {
                match name {
                    #(#read)*
                    _ => ::core::option::Option::None,
                }
            }
            #writer
            /// Returns the text of this name; enumerations have the spelling of the contract.
            pub fn text(&self, name: &str) -> ::core::option::Option<&'static str> {
                match name {
                    "name" => ::core::option::Option::Some(self.name),
                    #(#read_text)*
                    "source" => ::core::option::Option::Some(self.source),
                    "as_of" => ::core::option::Option::Some(self.as_of),
                    _ => ::core::option::Option::None,
                }
            }
            /// Sets the text of this name; returns false if there is none, or if an enumeration does not have the value.
            pub fn set_text(&mut self, name: &str, text: &'static str) -> bool {
                match name {
                    "name" => self.name = text,
                    "doc" => self.doc = text,
                    #(#write_text)*
                    "source" => self.source = text,
                    "as_of" => self.as_of = text,
                    _ => return false,
                }
                true
            }
        }
    }
}

/// The case of a text in `one_of`; none for a free text.
fn word(field: &Field, text: &str) -> Option<TokenStream> {
    let FieldKind::Text { one_of } = &field.kind else { return None };
    let (above, case) = (field.quantity.map(|_| quote!(super::)), case_path(&field.name, text));
    (!one_of.is_empty()).then(|| quote!(#above #case))
}

fn recommendations(contract: &Contract, units: &Units) -> TokenStream {
    if contract.recommendations.is_empty() {
        return TokenStream::new();
    }
    let mut sorted: Vec<_> = contract.recommendations.iter().collect();
    sorted.sort_by_key(|advice| advice.priority);
    let count = Literal::usize_unsuffixed(sorted.len());
    let class = |name: &str| {
        let from = if contract.quantity(name).is_some() { quote!(inputs) } else { quote!(outputs) };
        let name = ident(name);
        quote!(#from.#name)
    };
    let name = |name: &str| units.bare(class(name));
    let steps = sorted.iter().map(|advice| {
        let when = Translator { formula: &advice.when.formula, name: &name, class: &class }.whole();
        let (text, about) = (&advice.name, &advice.text);
        let priority = ident(match advice.priority {
            Priority::High => "High",
            Priority::Medium => "Medium",
            Priority::Low => "Low",
        });
        quote! {
            if #when {
                found[count] = ::core::option::Option::Some(Recommendation {
                    name: #text,
                    priority: Priority::#priority,
                    text: #about,
                });
                count += 1;
            }
        }
    });
    let doc = docs(&[
        "The advice that applies, most urgent first; the rest of the array is `None`.".into(),
        format!("From `{}`, `recommendations`.", file(contract)),
    ]);
    quote! {
        #doc
        #[allow(unused_variables, unused_assignments)]
        pub const fn recommendations(inputs: &Inputs, outputs: &Outputs) -> [::core::option::Option<Recommendation>; #count] {
            let mut found = [::core::option::Option::None; #count];
            let mut count = 0;
            #(#steps)*
            found
        }
    }
}

fn obligations(contract: &Contract) -> TokenStream {
    let entries = contract.obligations.iter().map(|obligation| {
        let (id, formal, doc) = (&obligation.id, obligation.formula.to_string(), &obligation.doc);
        let kind = obligation.kind.word();
        let verdict = match obligation.verdict {
            Verdict::Proven => quote!(Proven),
            Verdict::Tested => quote!(Tested),
            // A contract with a refuted or vacuous obligation does not compile; the others are not decided.
            Verdict::Refuted | Verdict::Vacuous | Verdict::Informal | Verdict::Unknown | Verdict::NotRun => {
                quote!(NotRun)
            }
        };
        quote!(Obligation { id: #id, kind: #kind, formal: #formal, doc: #doc, verdict: Verdict::#verdict })
    });
    quote! {
        /// The obligations of the contract and their verdicts.
        pub const OBLIGATIONS: &[Obligation] = &[#(#entries),*];
    }
}
