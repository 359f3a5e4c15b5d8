//! The equations and classifiers of a contract as JavaScript functions, for pages that compute without a server. JavaScript
//! numbers are f64 and its operators round like those of Rust, so results are bit-identical.

use std::fmt::Write;

use super::rust::module_name;
use crate::contract::{Contract, Expression};
use crate::formula::{self, Binary, Formula, Function, Kind, NodeId};

/// Returns a JavaScript constant with the contract's [`module_name`]: an object with a function for each equation, which
/// takes its direct operands in the order of [`operands`](crate::contract::Expression::operands), and a function for each
/// classifier, which takes its [`operands`](crate::contract::Classifier::operands) and returns the name of the case.
///
/// `$within(name, value)` returns false if the value is outside the quantity's domain, and true for all other names; the
/// values of an enumeration are its names. `$unmet(values)` lists the requirements, as the contract writes them, that an
/// object of quantities violates, and skips requirements on missing quantities.
pub fn module(contract: &Contract) -> String {
    let mut functions = String::new();
    for equation in &contract.equations {
        let body = Translator(&equation.expression.formula).whole();
        let parameters = parameters(equation.expression.operands.iter().map(|operand| &operand.0));
        function(&mut functions, &equation.name, &parameters, &format!("return {body};"));
    }
    for classifier in &contract.classifiers {
        let parameters = parameters(classifier.operands.iter().map(|operand| &operand.0));
        let mut body = String::new();
        for case in &classifier.cases {
            // Writing to a string cannot fail.
            let _ = match &case.condition {
                Some(condition) => {
                    write!(
                        body,
                        "if ({}) return \"{}\"; ",
                        Translator(&condition.formula).whole(),
                        case.variant
                    )
                }
                None => write!(body, "return \"{}\";", case.variant),
            };
        }
        function(&mut functions, &classifier.name, &parameters, &body);
    }
    within(&mut functions, contract);
    unmet(&mut functions, contract);
    let equations = contract.equations.iter().map(|equation| &equation.name);
    let names = parameters(equations.chain(contract.classifiers.iter().map(|classifier| &classifier.name)));
    let module = module_name(&contract.metadata.id);
    format!(
        "const {module} = (() => {{\n{HELPERS}{functions}return {{ $within, $unmet, {names} }};\n}})();\n"
    )
}

/// Writes a table of all domains and its lookup function.
fn within(out: &mut String, contract: &Contract) {
    let mut domains = String::new();
    for quantity in &contract.quantities {
        let domain = &quantity.domain;
        if !quantity.cases.is_empty() {
            let _ = write!(domains, "{:?}: [{:?}], ", quantity.name, quantity.cases);
            continue;
        }
        let set: Vec<String> = domain.set.iter().map(|value| format!("{value:e}")).collect();
        let set = if set.is_empty() { "null".to_owned() } else { format!("[{}]", set.join(", ")) };
        let (low, high) = (domain.low, domain.high);
        let _ = write!(domains, "{:?}: [{low:e}, {high:e}, {}, {set}], ", quantity.name, domain.integer);
    }
    let _ = writeln!(out, "const $domains = {{ {domains}}};");
    out.push_str(
        "function $within(name, value) { if (!Object.hasOwn($domains, name)) return true; \
         const [low, high, integer, set] = $domains[name]; if (Array.isArray(low)) return low.includes(value); \
         return low <= value && value <= high && (!integer || value % 1 === 0) && (set === null || set.includes(value)); }\n",
    );
}

/// Writes a table of all requirements and the function that checks them.
fn unmet(out: &mut String, contract: &Contract) {
    let mut table = String::new();
    for requirement in &contract.requires {
        let Expression { formula, operands, .. } = &requirement.expression;
        let names: Vec<String> = operands.iter().map(|(name, _)| format!("{name:?}")).collect();
        let (text, names) = (formula.to_string(), names.join(", "));
        let (parameters, body) =
            (parameters(operands.iter().map(|(name, _)| name)), Translator(formula).whole());
        let _ = write!(table, "[{text:?}, [{names}], ({parameters}) => {body}], ");
    }
    let _ = writeln!(out, "const $requires = [{table}];");
    out.push_str(
        "function $unmet(values) { return $requires.filter(([, names, meets]) => \
         names.every((name) => Object.hasOwn(values, name)) && !meets(...names.map((name) => values[name])))\
         .map(([text]) => text); }\n",
    );
}

/// The JavaScript name of a quantity, an equation or a classifier: its own name, with a `$` appended to reserved words.
pub fn name(name: &str) -> String {
    if RESERVED.contains(&name) { format!("{name}$") } else { name.to_owned() }
}

const RESERVED: &[&str] = &[
    "arguments",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "undefined",
    "var",
    "void",
    "while",
    "with",
    "yield",
];

/// Helper functions. Their names contain a `$`, which names in contracts cannot.
const HELPERS: &str = "\
const $min = (a, b) => (a < b ? a : b);
const $max = (a, b) => (a > b ? a : b);
const $mod = (a, b) => a - b * Math.floor(a / b);
const $power = (base, times) => { let product = base; while (--times > 0) product *= base; return product; };
const $pow = (base, exponent) => { let product = 1; for (let left = Math.min(Math.trunc(exponent), 65536); left > 0; left--) product *= base; return product; };
";

fn parameters<'a>(names: impl Iterator<Item = &'a String>) -> String {
    names.map(|operand| name(operand)).collect::<Vec<_>>().join(", ")
}

fn function(out: &mut String, called: &str, parameters: &str, body: &str) {
    let _ = writeln!(out, "function {}({parameters}) {{ {body} }}", name(called));
}

/// Translates a formula. All operands except atoms are parenthesized, which avoids precedence errors; readability does
/// not matter here.
struct Translator<'a>(&'a Formula);

impl Translator<'_> {
    fn whole(&self) -> String {
        self.bare(self.0.root)
    }

    fn node(&self, id: NodeId) -> String {
        let text = self.bare(id);
        match self.0.nodes[id].kind {
            Kind::Name(_) | Kind::Call(..) => text,
            Kind::Number { value, .. } if value.is_sign_positive() => text,
            Kind::Number { .. }
            | Kind::Negate(_)
            | Kind::Not(_)
            | Kind::Binary(..)
            | Kind::Within(..)
            | Kind::Power(..)
            | Kind::If(..)
            | Kind::Is(..)
            | Kind::Quote(_)
            | Kind::Substitute(..)
            | Kind::Sum(_)
            | Kind::Monotone { .. } => format!("({text})"),
        }
    }

    fn bare(&self, id: NodeId) -> String {
        match &self.0.nodes[id].kind {
            Kind::Number { value, .. } => formula::number(*value),
            Kind::Name(operand) => name(operand),
            Kind::Negate(a) => format!("-{}", self.node(*a)),
            Kind::Not(a) => format!("!{}", self.node(*a)),
            Kind::Binary(operator, a, b) => {
                let (a, b) = (self.node(*a), self.node(*b));
                let symbol = match operator {
                    Binary::Equal | Binary::Iff => "===",
                    Binary::NotEqual => "!==",
                    Binary::And => "&&",
                    Binary::Or => "||",
                    Binary::Implies => return format!("!{a} || {b}"),
                    Binary::Add
                    | Binary::Subtract
                    | Binary::Multiply
                    | Binary::Divide
                    | Binary::Less
                    | Binary::LessEqual
                    | Binary::Greater
                    | Binary::GreaterEqual => operator.symbol(),
                };
                format!("{a} {symbol} {b}")
            }
            Kind::Power(_, 0) => "1".into(),
            Kind::Power(a, exponent) => {
                let product = match exponent.unsigned_abs() {
                    1 => self.node(*a),
                    times => format!("$power({}, {times})", self.bare(*a)),
                };
                if *exponent > 0 { product } else { format!("1 / {product}") }
            }
            Kind::Call(function, arguments) => {
                let mut values = arguments.iter().map(|id| self.bare(*id));
                let first = values.next().unwrap_or_default();
                match function {
                    Function::Min | Function::Max | Function::Pow | Function::Mod => {
                        values.fold(first, |left, right| format!("${}({left}, {right})", function.name()))
                    }
                    Function::Floor | Function::Ceil | Function::Sqrt | Function::Abs => {
                        format!("Math.{}({first})", function.name())
                    }
                    Function::Finite => format!("Number.isFinite({first})"),
                    // The type checker rejects it in everything that becomes a function.
                    Function::Given => String::new(),
                }
            }
            Kind::If(c, a, b) => format!("{} ? {} : {}", self.node(*c), self.node(*a), self.node(*b)),
            Kind::Is(classifier, variant, _) => format!("{} === \"{variant}\"", name(classifier)),
            kind @ Kind::Sum(_) => {
                kind.parts().into_iter().map(|term| self.node(term)).collect::<Vec<_>>().join(" + ")
            }
            Kind::Quote(_) | Kind::Within(..) | Kind::Substitute(..) | Kind::Monotone { .. } => String::new(),
        }
    }
}
