//! Inputs that refute a claim: in decimal, as exact bits, and as a test.

use std::fmt;

use crate::contract::{Claim, Contract, Obligation};
use crate::formula::{Binary, Formula, Function, Kind, NodeId};
use crate::names;

/// Inputs at which a claim is false.
#[derive(Clone, Debug, PartialEq)]
pub struct Counterexample {
    /// The relevant quantities.
    pub inputs: Vec<Input>,
    /// For a claim of monotonicity: the larger value of the quantity, by position.
    pub other: Option<(usize, f64)>,
    /// The compared expressions: text, value, and for monotonicity the value at the other point.
    pub values: Vec<(String, f64, Option<f64>)>,
    /// True if the compared values differ only by rounding.
    pub by_rounding: bool,
}

/// One quantity of a counterexample.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Its position in the contract.
    pub quantity: usize,
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// The case, if the quantity is an enumeration.
    pub case: Option<String>,
}

/// A number in decimal and as its bits.
struct Exact(f64);

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} (0x{:016x})", self.0, self.0.to_bits())
    }
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, input) in self.inputs.iter().enumerate() {
            let end = if i == 0 { "" } else { "\n" };
            write!(f, "{end}{} = ", input.name)?;
            match &input.case {
                Some(case) => write!(f, "{case}")?,
                None => write!(f, "{}", Exact(input.value))?,
            }
            if let Some((_, larger)) = self.other.filter(|(quantity, _)| *quantity == input.quantity) {
                write!(f, ", then {}", Exact(larger))?;
            }
        }
        for (text, value, other) in &self.values {
            write!(f, "\n{text} = {}", Exact(*value))?;
            if let Some(other) = other {
                write!(f, ", then {}", Exact(*other))?;
            }
        }
        Ok(())
    }
}

/// True if two numbers differ, but only by rounding.
pub(super) fn differ_by_rounding(a: f64, b: f64) -> bool {
    a != b && (a - b).abs() <= SUGGESTED_TOLERANCE * a.abs().max(b.abs())
}

/// The tolerance to suggest for a claim that fails only by rounding.
pub(super) const SUGGESTED_TOLERANCE: f64 = 1e-12;

impl Counterexample {
    /// Returns a test that fails for these inputs; paste it where the generated module is in scope.
    pub fn test(&self, contract: &Contract, obligation: &Obligation) -> String {
        let value = |quantity: usize| {
            let at = self.inputs.iter().find(|input| input.quantity == quantity).map(|input| input.value);
            let quantity = &contract.quantities[quantity];
            at.or(quantity.default).unwrap_or(quantity.domain.low)
        };
        let name = obligation.id.replace('-', "_");
        let mut text = format!("#[test]\nfn {name}() {{\n    let inputs = Inputs {{\n");
        for (index, quantity) in contract.quantities.iter().enumerate() {
            let (value, name) = (value(index), &quantity.name);
            if let Some(case) = quantity.cases.get(value as usize) {
                text += &format!("        {name}: {},\n", case_path(name, case));
                continue;
            }
            text += &format!("        {name}: f64::from_bits(0x{:016x}), // {value:?}\n", value.to_bits());
        }
        text += "    };\n";
        let formula = &obligation.formula;
        let evaluate = |inputs: &str| format!("{inputs}.evaluate().unwrap()");
        match (obligation.claim, &formula.nodes[formula.root].kind, self.other) {
            (
                Claim::Monotone { increasing, quantity, within, .. },
                Kind::Monotone { of, .. },
                Some((_, larger)),
            ) => {
                let name = &contract.quantities[quantity].name;
                text += &format!(
                    "    let larger = Inputs {{ {name}: f64::from_bits(0x{:016x}), ..inputs }};",
                    larger.to_bits()
                );
                text += &format!(" // {larger:?}\n");
                let value =
                    |inputs: &str, outputs: &str| Rust { contract, formula, inputs, outputs }.text(*of);
                let (first, second) = (value("inputs", "outputs"), value("larger", "later"));
                if first.contains("outputs.") {
                    text += &format!(
                        "    let (outputs, later) = ({}, {});\n",
                        evaluate("inputs"),
                        evaluate("larger")
                    );
                }
                let (first, second) = if increasing { (first, second) } else { (second, first) };
                text += &match within {
                    0.0 => format!("    assert!({first} <= {second});\n"),
                    _ => format!("    assert!({});\n", at_most(&first, &second, within)),
                };
            }
            _ => {
                let claim =
                    Rust { contract, formula, inputs: "inputs", outputs: "outputs" }.text(formula.root);
                if claim.contains("outputs.") {
                    text += &format!("    let outputs = {};\n", evaluate("inputs"));
                }
                text += &format!("    assert!({claim});\n");
            }
        }
        text + "}\n"
    }
}

/// A case of an enumeration or a classifier in the generated Rust.
fn case_path(name: &str, case: &str) -> String {
    format!("{}::{}", names::camel(name), names::variant(case).unwrap_or_default())
}

/// `a <= b` up to a relative tolerance.
fn at_most(a: &str, b: &str, tolerance: f64) -> String {
    format!("{a} <= {b} + ({b}).abs() * {tolerance:?}")
}

/// A formula as an expression over the generated `Inputs` and `Outputs`.
struct Rust<'a> {
    contract: &'a Contract,
    formula: &'a Formula,
    inputs: &'a str,
    outputs: &'a str,
}

impl Rust<'_> {
    fn text(&self, id: NodeId) -> String {
        let part = |id: NodeId| {
            let text = self.text(id);
            if text.contains(' ') && !text.ends_with('}') { format!("({text})") } else { text }
        };
        match &self.formula.nodes[id].kind {
            Kind::Number { value, .. } => format!("{value:?}"),
            Kind::Name(name) if self.contract.quantity(name).is_some() => format!("{}.{name}", self.inputs),
            Kind::Name(name) => format!("{}.{name}", self.outputs),
            Kind::Quote(text) => format!("{text:?}"),
            Kind::Negate(a) => format!("-{}", part(*a)),
            Kind::Not(a) => format!("!{}", part(*a)),
            Kind::Binary(operator, a, b) => {
                let (a, b) = (part(*a), part(*b));
                match operator {
                    Binary::And => format!("{a} && {b}"),
                    Binary::Or => format!("{a} || {b}"),
                    Binary::Implies => format!("!{a} || {b}"),
                    Binary::Iff => format!("{a} == {b}"),
                    other => format!("{a} {} {b}", other.symbol()),
                }
            }
            Kind::Within(operator, a, b, within) => {
                let (a, b) = (part(*a), part(*b));
                match operator {
                    Binary::LessEqual => at_most(&a, &b, *within),
                    Binary::GreaterEqual => at_most(&b, &a, *within),
                    _ => format!("{} && {}", at_most(&a, &b, *within), at_most(&b, &a, *within)),
                }
            }
            Kind::Power(a, exponent) => {
                let product = vec![part(*a); exponent.unsigned_abs() as usize].join(" * ");
                match exponent {
                    0 => "1.0".into(),
                    1.. => product,
                    _ => format!("1.0 / ({product})"),
                }
            }
            Kind::Call(Function::Finite, arguments) => {
                format!("{}.is_finite()", arguments.first().map(|&a| part(a)).unwrap_or_default())
            }
            Kind::Call(function, arguments) => {
                let mut values = arguments.iter().map(|&a| self.text(a));
                let first = values.next().unwrap_or_default();
                match function {
                    Function::Min | Function::Max | Function::Pow | Function::Mod => {
                        values.fold(first, |a, b| match function {
                            Function::Pow => format!("(0..({b}) as u32).fold(1.0, |x, _| x * ({a}))"),
                            Function::Mod => format!("(({a}) - ({b}) * (({a}) / ({b})).floor())"),
                            other => format!("f64::{}({a}, {b})", other.name()),
                        })
                    }
                    other => format!("({first}).{}()", other.name()),
                }
            }
            Kind::If(c, a, b) => {
                format!("if {} {{ {} }} else {{ {} }}", self.text(*c), self.text(*a), self.text(*b))
            }
            Kind::Is(name, case, _) => {
                let of = if self.contract.quantity(name).is_some() { self.inputs } else { self.outputs };
                format!("{of}.{name} == {}", case_path(name, case))
            }
            Kind::Substitute(name, replaced) => {
                let fields: Vec<String> = replaced
                    .iter()
                    .map(|(quantity, _, by)| {
                        let cases =
                            self.contract.quantity(quantity).map(|q| &self.contract.quantities[q].cases);
                        match &self.formula.nodes[*by].kind {
                            Kind::Name(case) if cases.is_some_and(|cases| cases.contains(case)) => {
                                format!("{quantity}: {}", case_path(quantity, case))
                            }
                            _ => format!("{quantity}: {}", self.text(*by)),
                        }
                    })
                    .collect();
                format!("Inputs {{ {}, ..{} }}.evaluate().unwrap().{name}", fields.join(", "), self.inputs)
            }
            Kind::Monotone { of, .. } => self.text(*of),
            kind @ Kind::Sum(_) => kind.parts().into_iter().map(part).collect::<Vec<_>>().join(" + "),
        }
    }
}
