//! Conditions over named values, some of which may be absent: rules of profile tables and conditions on results.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::contract;
use crate::eval::{self, Evaluator};
use crate::formula::{Binary, Formula, Function, Kind};
use crate::graph::build::Lowering;
use crate::graph::{Graph, Op};
use crate::report::Report;
use crate::source::Source;
use crate::types::{self, Place, Scope, Type};
use crate::unit::Unit;

/// A condition on results, in the grammar of contracts. A bare number takes the unit of the value it is compared with,
/// and units of the same dimension are converted.
#[derive(Clone, Debug)]
pub struct Condition {
    formula: Formula,
    /// The unit of each node's value; none for bare numbers and for values that are not numbers.
    units: Vec<Option<Unit>>,
}

impl Condition {
    /// Parses a condition over these names. The error is rendered, with its place in the text.
    pub fn parse(text: &str, names: &Scope) -> Result<Condition, String> {
        let source =
            Source::from_bytes("condition", text.as_bytes().to_vec()).map_err(|error| error.to_string())?;
        let mut report = Report::new();
        let formula = Formula::read(&source.whole(), &mut report);
        let types = formula.as_ref().map(|formula| {
            types::check_condition(formula, Place::Gate, "the expression", names, &mut report)
        });
        let unit = |found: &Type| match found {
            Type::Number(unit) => Some(*unit),
            Type::Zero | Type::Truth | Type::Text | Type::Unknown => None,
        };
        match (report.finish().first(), formula, types) {
            (None, Some(formula), Some(types)) => {
                Ok(Condition { formula, units: types.iter().map(unit).collect() })
            }
            (diagnostic, ..) => {
                Err(diagnostic.map(|diagnostic| diagnostic.render(&source)).unwrap_or_default())
            }
        }
    }

    /// Renames some names of the condition.
    #[must_use]
    pub fn renamed<'n>(mut self, other: impl Fn(&str) -> Option<&'n str>) -> Condition {
        for node in &mut self.formula.nodes {
            if let Kind::Name(name) = &mut node.kind
                && let Some(other) = other(name)
            {
                other.clone_into(name);
            }
        }
        self
    }

    /// The names in the condition.
    pub fn names(&self) -> Vec<&str> {
        self.formula.names()
    }

    /// Evaluates the condition; `None` if a deciding value is absent. Numbers are in the units of the scope it was parsed in.
    pub fn holds<'a>(&'a self, values: &BTreeMap<&str, Value<'a>>) -> Option<bool> {
        let value = |name: &str| values.get(name).cloned().unwrap_or(Value::Absent);
        truth(&self.formula, &self.units, value)
    }
}

/// The value of a name in a condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// A number.
    Number(f64),
    /// A text.
    Text(Cow<'a, str>),
    /// True or false.
    Truth(bool),
    /// No value; the outcome is unknown.
    Absent,
}

impl<'a> From<&'a contract::Value> for Value<'a> {
    fn from(value: &'a contract::Value) -> Value<'a> {
        match value {
            contract::Value::Number(value) => Value::Number(*value),
            contract::Value::Text(text) => Value::Text(Cow::Borrowed(text)),
            contract::Value::Absent => Value::Absent,
        }
    }
}

/// Evaluates a table rule, whose units are consistent; `None` if a deciding value is absent.
pub fn holds<'a>(rule: &'a Formula, values: &BTreeMap<&str, &'a contract::Value>) -> Option<bool> {
    truth(rule, &[], |name| values.get(name).map_or(Value::Absent, |value| Value::from(*value)))
}

/// `value` in another unit of the same dimension.
fn converted<'a>(value: &Value<'a>, from: Option<Unit>, to: Option<Unit>) -> Value<'a> {
    match (value, from, to) {
        (Value::Number(value), Some(from), Some(to)) if from != to => {
            Value::Number(from.over(to).map_or(*value, |ratio| value / ratio.conversion()))
        }
        _ => value.clone(),
    }
}

/// If `units` is empty, all numbers are in consistent units.
fn truth<'a>(rule: &'a Formula, units: &[Option<Unit>], named: impl Fn(&str) -> Value<'a>) -> Option<bool> {
    let unit = |id: usize| units.get(id).copied().flatten();
    // All of these are converted to the unit of the first that has one.
    let common = |operands: &[usize]| operands.iter().find_map(|&id| unit(id));
    let mut known: Vec<Value<'_>> = Vec::with_capacity(rule.nodes.len());
    for node in &rule.nodes {
        let value = match &node.kind {
            Kind::Quote(text) => Value::Text(Cow::Borrowed(text)),
            Kind::Name(name) => named(name),
            Kind::Call(Function::Given, arguments) => Value::Truth(known[arguments[0]] != Value::Absent),
            Kind::If(c, a, b) => {
                let chosen = match known[*c] {
                    Value::Truth(true) => *a,
                    Value::Truth(false) => *b,
                    Value::Absent | Value::Number(_) | Value::Text(_) => {
                        known.push(Value::Absent);
                        continue;
                    }
                };
                converted(&known[chosen], unit(chosen), common(&[*a, *b]))
            }
            Kind::Call(Function::Min | Function::Max, operands) if common(operands).is_some() => {
                computed(&node.kind, &known, |id| converted(&known[id], unit(id), common(operands)))
            }
            Kind::Binary(operator, a, b) => match (operator, &known[*a], &known[*b]) {
                (Binary::Equal, Value::Text(a), Value::Text(b)) => Value::Truth(a == b),
                (Binary::NotEqual, Value::Text(a), Value::Text(b)) => Value::Truth(a != b),
                // One known side may decide.
                (Binary::And, Value::Truth(false), _) | (Binary::And, _, Value::Truth(false)) => {
                    Value::Truth(false)
                }
                (Binary::Or, Value::Truth(true), _)
                | (Binary::Or | Binary::Implies, _, Value::Truth(true))
                | (Binary::Implies, Value::Truth(false), _) => Value::Truth(true),
                (Binary::Multiply | Binary::Divide, ..) => {
                    let product = computed(&node.kind, &known, |id| known[id].clone());
                    let raw = match (unit(*a), unit(*b)) {
                        (Some(a), Some(b)) if *operator == Binary::Multiply => a.times(b),
                        (Some(a), Some(b)) => a.over(b),
                        _ => None,
                    };
                    let plain = raw.filter(|raw| raw.is_dimensionless());
                    converted(&product, plain, Some(Unit::ONE))
                }
                _ => {
                    let common = common(&[*a, *b]);
                    computed(&node.kind, &known, |id| converted(&known[id], unit(id), common))
                }
            },
            Kind::Number { .. } | Kind::Negate(_) | Kind::Not(_) | Kind::Power(..) | Kind::Call(..) => {
                computed(&node.kind, &known, |id| known[id].clone())
            }
            // The type checker rejects these in rules.
            Kind::Within(..) | Kind::Is(..) | Kind::Substitute(..) | Kind::Monotone { .. } | Kind::Sum(_) => {
                Value::Absent
            }
        };
        known.push(value);
    }
    match known.get(rule.root) {
        Some(Value::Truth(value)) => Some(*value),
        _ => None,
    }
}

/// One operation on known values, lowered and interpreted like those of a contract; absent if an operand is absent. `value`
/// returns an operand in the unit that the operation expects.
fn computed<'a>(kind: &Kind, known: &[Value<'a>], value: impl Fn(usize) -> Value<'a>) -> Value<'static> {
    let operands = match kind {
        Kind::Negate(a) | Kind::Not(a) | Kind::Power(a, _) => vec![*a],
        Kind::Binary(_, a, b) => vec![*a, *b],
        Kind::Call(_, arguments) => arguments.clone(),
        Kind::Number { value, .. } => return Value::Number(*value),
        // These are not operations on known values.
        Kind::Name(_)
        | Kind::Quote(_)
        | Kind::If(..)
        | Kind::Within(..)
        | Kind::Is(..)
        | Kind::Substitute(..)
        | Kind::Sum(_)
        | Kind::Monotone { .. } => return Value::Absent,
    };
    let (mut graph, none) = (Graph::default(), BTreeMap::new());
    // Only the positions of the operands matter.
    let mut ids = vec![graph.add(Op::Bool(false)); known.len()];
    for operand in operands {
        ids[operand] = match value(operand) {
            Value::Number(value) => graph.number(value),
            Value::Truth(value) => graph.add(Op::Bool(value)),
            Value::Text(_) | Value::Absent => return Value::Absent,
        };
    }
    let (classes, quantities) = (BTreeMap::new(), BTreeMap::new());
    let mut lowering = Lowering {
        graph: &mut graph,
        values: &none,
        classes: &classes,
        quantities: &quantities,
        substituted: Vec::new(),
    };
    let id = lowering.node(kind, &ids);
    match Evaluator::new(&graph, &[id]).run(&[]).value(id) {
        eval::Value::Number(value) => Value::Number(value),
        eval::Value::Bool(value) => Value::Truth(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Meaning;

    fn check_in(
        text: &str,
        names: Vec<(&'static str, Meaning, Value<'static>)>,
    ) -> Result<Option<bool>, String> {
        let mut scope = Scope::default();
        let mut values = BTreeMap::new();
        for (name, meaning, value) in names {
            scope.insert(name, meaning);
            values.insert(name, value);
        }
        Condition::parse(text, &scope).map(|condition| condition.holds(&values))
    }

    fn check(text: &str) -> Result<Option<bool>, String> {
        let number = || Meaning::Number(Unit::ONE);
        check_in(
            text,
            vec![
                ("rate", number(), Value::Number(33.5)),
                ("bound", Meaning::Text(Vec::new()), Value::Text("Memory".into())),
                ("energy", number(), Value::Absent),
            ],
        )
    }

    /// A model of 13 GB on a device of 16 GB that generates 40 tokens per second.
    fn on_device(text: &str) -> Result<Option<bool>, String> {
        let number = |unit| Meaning::Number(Unit::parse(unit).unwrap());
        check_in(
            text,
            vec![
                ("footprint", number("B"), Value::Number(13e9)),
                ("capacity", number("GB"), Value::Number(16.0)),
                ("rate", number("token/s"), Value::Number(40.0)),
                ("batch", number("1"), Value::Number(8.0)),
                ("fits", Meaning::Truth, Value::Truth(true)),
                ("tdp", number("W"), Value::Absent),
            ],
        )
    }

    #[test]
    fn units_of_one_dimension_are_converted_and_a_bare_number_takes_the_unit_of_the_other_side() {
        for yes in [
            "footprint <= capacity",
            "capacity >= footprint",
            "footprint <= 14 [GB] and footprint >= 12 [GiB]",
            "footprint <= 14e9 and capacity <= 16",
            "rate >= 5 [token/s] and rate >= 2400 [token/min] and rate >= 40",
            "rate > 2 * 15",
            "footprint / capacity <= 0.82 and footprint / capacity >= 81 [%]",
            "capacity - footprint == 3",
            "capacity - footprint >= 2.9 [GB]",
            "min(capacity, footprint) == 13",
            "(if fits then footprint else capacity) == 13e9",
            "fits and rate >= 20",
            "not fits implies rate >= 1000",
            "batch == 8 and batch * 2 == 16",
            "rate * 2 >= 80",
            "1 / rate <= 0.025",
            "rate * 1 [s/token] == 40",
            "fits iff footprint <= capacity",
        ] {
            assert_eq!(on_device(yes), Ok(Some(true)), "{yes}");
        }
        assert_eq!(on_device("tdp <= 300 [W] or rate >= 50"), Ok(None));
        for (wrong, expected) in [
            ("rate >= 5 [GB]", "different units: token/s and GB"),
            ("footprint <= rate", "different units"),
            ("rate + footprint > 0", "different units"),
            ("fits >= 1", "expected a number, found a condition"),
            ("rate", "must be a condition"),
            ("foot <= 1", "unknown name `foot`"),
        ] {
            let error = on_device(wrong).unwrap_err();
            assert!(error.contains(expected), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_condition_is_true_false_or_unknown() {
        assert_eq!(check("rate >= 30 and bound == \"Memory\""), Ok(Some(true)));
        assert_eq!(check("rate > 2 * 20"), Ok(Some(false)));
        assert_eq!(check("energy < 1"), Ok(None));
        assert_eq!(check("energy < 1 or rate > 1"), Ok(Some(true)));
        assert_eq!(check("not given(energy)"), Ok(Some(true)));
    }

    #[test]
    fn every_operator_evaluates_as_in_a_contract() {
        for yes in [
            "rate == 33.5",
            "not rate != 33.5",
            "bound != \"Compute\"",
            "rate - 3.5 == 30 and rate + 0.5 == 34",
            "rate * 2 == 67 and rate / 2 == 16.75",
            "-rate < 0",
            "rate^2 == rate * rate and rate^-1 == 1 / rate and rate^0 == 1",
            "floor(rate) == 33 and ceil(rate) == 34",
            "min(rate, 40, 50) == rate and max(rate, 1, 2) == rate",
            "given(rate) and not given(energy)",
            "rate > 33 and rate >= 33.5 and rate < 34 and rate <= 33.5",
            "(if rate > 33 then 1 else 2) == 1",
            "(if rate < 33 then 1 else 2) == 2",
            "rate < 1 implies rate < 0",
            "rate > 1 implies rate > 0",
            "rate > 1 iff bound == \"Memory\"",
            "energy < 1 implies rate > 1",
            "not (energy < 1 and rate < 1)",
        ] {
            assert_eq!(check(yes), Ok(Some(true)), "{yes}");
            assert_eq!(check(&format!("not ({yes})")), Ok(Some(false)), "{yes}");
        }
        for open in [
            "energy == 1",
            "energy != 1",
            "1 == energy",
            "energy + 1 > 0",
            "energy < 1 and rate > 1",
            "energy < 1 or rate < 1",
            "rate > 1 implies energy < 1",
            "(if energy < 1 then 1 else 1) == 1",
            "(energy < 1) iff (rate > 1)",
            "min(energy, rate) > 0",
        ] {
            assert_eq!(check(open), Ok(None), "{open}");
        }
    }

    #[test]
    fn zeros_of_both_signs_compare_as_in_a_contract() {
        let zero = |name, value| (name, Meaning::Number(Unit::ONE), Value::Number(value));
        let zeros = || vec![zero("plus", 0.0), zero("minus", -0.0)];
        // Like `if a < b { a } else { b }`: the second of two equal values, whose sign the reciprocal shows.
        for (text, expected) in [
            ("1 / min(plus, minus) < 0", true),
            ("1 / min(minus, plus) > 0", true),
            ("1 / max(plus, minus) < 0", true),
            ("1 / max(minus, plus) > 0", true),
            ("1 / min(plus, minus, plus) > 0", true),
            ("plus == minus", true),
            ("1 / -plus < 0", true),
            ("1 / ceil(minus) < 0", true),
        ] {
            assert_eq!(check_in(text, zeros()), Ok(Some(expected)), "{text}");
        }
    }

    #[test]
    fn invalid_conditions_are_errors() {
        for (text, expected) in [
            ("rates >= 30", "condition:1:1: error: unknown name `rates`"),
            ("rate", "condition:1:1: error: the expression must be a condition"),
            ("rate >= ", "condition:1:"),
            ("rate == \"Memory\"", "condition:1:"),
            ("", "condition:1:1: error:"),
            ("rate increasing in rate", "condition:1:1: error: a direction is allowed only in an obligation"),
        ] {
            let error = check(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
