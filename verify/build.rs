//! Writes `translation.rs`: for each equation of the small contracts, a property that its generated function, which is derived
//! from the syntax tree, is bit-identical to its graph, which proofs and the interpreter use.

use std::collections::BTreeMap;
use std::fmt::Write;

use roofline_contracts::contract::{Contract, Operand};
use roofline_contracts::formula::{Function, Kind};
use roofline_contracts::graph::build::Lowering;
use roofline_contracts::graph::{Graph, Id, Op};
use roofline_contracts::library::built_in;
use roofline_contracts::range::ranges;

/// The small contracts and their modules in this crate.
const CONTRACTS: [(&str, &str); 2] =
    [("roofline-model-v1.yaml", "roofline_model"), ("quantization-v1.yaml", "quantization")];

/// Maximum number of rounded products that a model checker can prove equal; tests cover larger equations at random points.
const MAX_PRODUCTS: usize = 2;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let (mut properties, mut driven) = (String::new(), String::new());
    for (file, module) in CONTRACTS {
        let contract = built_in(file).and_then(|source| roofline_contracts::compile(source).contract);
        let contract = contract.unwrap_or_else(|| panic!("{file} does not compile"));
        for equation in 0..contract.equations.len() {
            if let Some(property) = property(&contract, equation, module) {
                properties += &property;
                let _ = writeln!(
                    driven,
                    "    {module}_{}_matches_its_graph unwind 4;",
                    contract.equations[equation].name
                );
            }
        }
    }
    let directory = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let text = format!("{properties}drive! {{\n{driven}}}\n");
    std::fs::write(std::path::Path::new(&directory).join("translation.rs"), text)
        .expect("the file can be written");
}

/// The property of an equation; none if it is a constant, or if loops, casts or too many products exceed a model checker.
fn property(contract: &Contract, index: usize, module: &str) -> Option<String> {
    let equation = &contract.equations[index];
    let expression = &equation.expression;
    let stops = |kind: &Kind| {
        matches!(kind, Kind::Call(Function::Floor | Function::Ceil | Function::Pow, _) | Kind::Power(..))
    };
    if equation.origin.is_some()
        || expression.operands.is_empty()
        || expression.formula.nodes.iter().any(|node| stops(&node.kind))
    {
        return None;
    }
    let ranges = ranges(contract);
    let mut graph = Graph::default();
    let mut values = BTreeMap::new();
    let mut text = format!(
        "/// `{name}` of {id} is bit-identical to its graph.\npub fn {module}_{name}_matches_its_graph<V: Values>(values: &mut V) {{\n",
        name = equation.name,
        id = contract.metadata.id,
    );
    for (position, (name, operand)) in expression.operands.iter().enumerate() {
        let (low, high) = match *operand {
            Operand::Quantity(index) => {
                let domain = &contract.quantities[index].domain;
                (domain.low, domain.high)
            }
            Operand::Equation(index) => {
                let range = ranges[contract.equations[index].expression.id.index()];
                (range.low, range.high)
            }
        };
        if !(low.is_finite() && high.is_finite()) {
            return None;
        }
        values.insert(name.clone(), graph.add(Op::Quantity(position)));
        let _ = writeln!(text, "    let {name} = values.short({low:?}, {high:?});");
    }
    let mut lowering = Lowering {
        graph: &mut graph,
        values: &values,
        classes: &BTreeMap::new(),
        quantities: &BTreeMap::new(),
        substituted: Vec::new(),
    };
    let root = lowering.lower(&expression.formula);
    let products = |id: &&Id| matches!(graph.op(**id), Op::Mul(..) | Op::Div(..));
    if graph.cone(&[root], usize::MAX)?.iter().filter(products).count() > MAX_PRODUCTS {
        return None;
    }
    let names: Vec<&str> = expression.operands.iter().map(|(name, _)| name.as_str()).collect();
    let _ = writeln!(text, "    let function = crate::{module}::{}({});", equation.name, names.join(", "));
    for id in graph.cone(&[root], usize::MAX)? {
        let _ = writeln!(text, "    let n{} = {};", id.index(), operation(graph.op(id), &names)?);
    }
    let _ = writeln!(
        text,
        "    values.cover(function.is_finite());\n    assert!(function.to_bits() == n{}.to_bits(), \"`{}` of {} differs from its graph\");\n}}",
        root.index(),
        equation.name,
        contract.metadata.id,
    );
    Some(text)
}

/// An operation in Rust.
fn operation(op: Op, names: &[&str]) -> Option<String> {
    let binary = |a: Id, symbol: &str, b: Id| format!("n{} {symbol} n{}", a.index(), b.index());
    let choice = |a: Id, symbol: &str, b: Id| {
        format!("if n{a} {symbol} n{b} {{ n{a} }} else {{ n{b} }}", a = a.index(), b = b.index())
    };
    Some(match op {
        Op::Number(bits) => format!("f64::from_bits({bits})"),
        Op::Quantity(position) => names[position].to_owned(),
        Op::Neg(a) => format!("-n{}", a.index()),
        Op::Add(a, b) => binary(a, "+", b),
        Op::Sub(a, b) => binary(a, "-", b),
        Op::Mul(a, b) => binary(a, "*", b),
        Op::Div(a, b) => binary(a, "/", b),
        Op::Min(a, b) => choice(a, "<", b),
        Op::Max(a, b) => choice(a, ">", b),
        Op::If(c, a, b) => format!("if n{} {{ n{} }} else {{ n{} }}", c.index(), a.index(), b.index()),
        Op::Bool(value) => value.to_string(),
        Op::Less(a, b) => binary(a, "<", b),
        Op::LessEqual(a, b) => binary(a, "<=", b),
        Op::Equal(a, b) => binary(a, "==", b),
        Op::And(a, b) => binary(a, "&", b),
        Op::Or(a, b) => binary(a, "|", b),
        Op::Not(a) => format!("!n{}", a.index()),
        _ => return None,
    })
}
