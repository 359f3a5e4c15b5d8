//! Conditions over named values, some of which may be absent: the rules of profile tables, and gates on results.

use std::collections::BTreeMap;

use crate::contract::Value;
use crate::eval::{self, Evaluator};
use crate::formula::{Binary, Formula, Function, Kind};
use crate::graph::{Graph, Op};
use crate::lower::Lowering;
use crate::report::Report;
use crate::source::Source;
use crate::types::{self, Meaning, Place, Scope};
use crate::unit::Unit;

/// Parses a condition over these names, whose values are plain numbers or texts. The error is rendered, with the place.
pub fn parse(text: &str, names: &BTreeMap<&str, &Value>) -> Result<Formula, String> {
    let mut scope = Scope::default();
    for (name, value) in names {
        let meaning = match value {
            Value::Text(_) => Meaning::Text(Vec::new()),
            Value::Number(_) | Value::Absent => Meaning::Number(Unit::ONE),
        };
        scope.insert(name, meaning);
    }
    let source =
        Source::from_bytes("condition", text.as_bytes().to_vec()).map_err(|error| error.to_string())?;
    let mut report = Report::new();
    let formula = Formula::read(&source.whole(), &mut report);
    if let Some(formula) = &formula {
        types::check_condition(formula, Place::Rule, "the condition", &scope, &mut report);
    }
    match (report.finish().first(), formula) {
        (None, Some(formula)) => Ok(formula),
        (mistake, _) => Err(mistake.map(|mistake| mistake.render(&source)).unwrap_or_default()),
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Known<'a> {
    Number(f64),
    Text(&'a str),
    Truth(bool),
    /// There is no value, so the outcome is open.
    Absent,
}

/// Whether the condition is true; `None` when a value that decides it is absent.
pub fn holds(rule: &Formula, values: &BTreeMap<&str, &Value>) -> Option<bool> {
    let mut known: Vec<Known<'_>> = Vec::with_capacity(rule.nodes.len());
    for node in &rule.nodes {
        let value = match &node.kind {
            Kind::Quote(text) => Known::Text(text),
            Kind::Name(name) => match values.get(name.as_str()) {
                Some(Value::Number(value)) => Known::Number(*value),
                Some(Value::Text(text)) => Known::Text(text),
                Some(Value::Absent) | None => Known::Absent,
            },
            Kind::Call(Function::Given, arguments) => Known::Truth(known[arguments[0]] != Known::Absent),
            Kind::If(c, a, b) => match known[*c] {
                Known::Truth(true) => known[*a].clone(),
                Known::Truth(false) => known[*b].clone(),
                Known::Absent | Known::Number(_) | Known::Text(_) => Known::Absent,
            },
            Kind::Binary(operator, a, b) => match (operator, &known[*a], &known[*b]) {
                (Binary::Equal, Known::Text(a), Known::Text(b)) => Known::Truth(a == b),
                (Binary::NotEqual, Known::Text(a), Known::Text(b)) => Known::Truth(a != b),
                // One side can decide.
                (Binary::And, Known::Truth(false), _) | (Binary::And, _, Known::Truth(false)) => {
                    Known::Truth(false)
                }
                (Binary::Or, Known::Truth(true), _)
                | (Binary::Or | Binary::Implies, _, Known::Truth(true))
                | (Binary::Implies, Known::Truth(false), _) => Known::Truth(true),
                _ => computed(&node.kind, &known),
            },
            Kind::Number { .. } | Kind::Negate(_) | Kind::Not(_) | Kind::Power(..) | Kind::Call(..) => {
                computed(&node.kind, &known)
            }
            // The type checker keeps these out of rules.
            Kind::Is(..) | Kind::Substitute(..) | Kind::Monotone { .. } => Known::Absent,
        };
        known.push(value);
    }
    match known.get(rule.root) {
        Some(Known::Truth(value)) => Some(*value),
        _ => None,
    }
}

/// One operation on known values, lowered and interpreted as those of a contract are; absent if an operand is.
fn computed(kind: &Kind, known: &[Known<'_>]) -> Known<'static> {
    let operands = match kind {
        Kind::Negate(a) | Kind::Not(a) | Kind::Power(a, _) => vec![*a],
        Kind::Binary(_, a, b) => vec![*a, *b],
        Kind::Call(_, arguments) => arguments.clone(),
        Kind::Number { value, .. } => return Known::Number(*value),
        // These are no operations on known values.
        Kind::Name(_)
        | Kind::Quote(_)
        | Kind::If(..)
        | Kind::Is(..)
        | Kind::Substitute(..)
        | Kind::Monotone { .. } => return Known::Absent,
    };
    let (mut graph, none) = (Graph::default(), BTreeMap::new());
    // Only the places of operands are looked at.
    let mut ids = vec![graph.add(Op::Bool(false)); known.len()];
    for operand in operands {
        ids[operand] = match known[operand] {
            Known::Number(value) => graph.number(value),
            Known::Truth(value) => graph.add(Op::Bool(value)),
            Known::Text(_) | Known::Absent => return Known::Absent,
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
        eval::Value::Number(value) => Known::Number(value),
        eval::Value::Bool(value) => Known::Truth(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<Option<bool>, String> {
        let (rate, bound, absent) = (Value::Number(33.5), Value::Text("Memory".into()), Value::Absent);
        let values = BTreeMap::from([("rate", &rate), ("bound", &bound), ("energy", &absent)]);
        parse(text, &values).map(|condition| holds(&condition, &values))
    }

    #[test]
    fn a_condition_is_true_false_or_open() {
        assert_eq!(check("rate >= 30 and bound == \"Memory\""), Ok(Some(true)));
        assert_eq!(check("rate > 2 * 20"), Ok(Some(false)));
        assert_eq!(check("energy < 1"), Ok(None));
        assert_eq!(check("energy < 1 or rate > 1"), Ok(Some(true)));
        assert_eq!(check("not given(energy)"), Ok(Some(true)));
    }

    #[test]
    fn every_operator_means_what_it_means_in_a_contract() {
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
        let (plus, minus) = (Value::Number(0.0), Value::Number(-0.0));
        let values = BTreeMap::from([("plus", &plus), ("minus", &minus)]);
        // As `if a < b { a } else { b }`: of equal ones the second, whose sign the reciprocal shows.
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
            let condition = parse(text, &values).unwrap();
            assert_eq!(holds(&condition, &values), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_condition_says_why() {
        for (text, expected) in [
            ("rates >= 30", "condition:1:1: error: unknown name `rates`"),
            ("rate", "condition:1:1: error: the condition must be a condition"),
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
