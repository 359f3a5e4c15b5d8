//! Conditions over named values, some of which may be absent: the rules of profile tables, and gates on results.

use std::collections::BTreeMap;

use crate::contract::Value;
use crate::formula::{Binary, Formula, Function, Kind};
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
enum Known {
    Number(f64),
    Text(String),
    Truth(bool),
    /// There is no value, so the outcome is open.
    Absent,
}

/// Whether the condition is true; `None` when a value that decides it is absent.
pub fn holds(rule: &Formula, values: &BTreeMap<&str, &Value>) -> Option<bool> {
    let mut known: Vec<Known> = Vec::with_capacity(rule.nodes.len());
    for node in &rule.nodes {
        let number = |id: &usize| match known[*id] {
            Known::Number(value) => Some(value),
            _ => None,
        };
        let truth = |id: &usize| match known[*id] {
            Known::Truth(value) => Some(value),
            _ => None,
        };
        let of_number = |value: Option<f64>| value.map_or(Known::Absent, Known::Number);
        let of_truth = |value: Option<bool>| value.map_or(Known::Absent, Known::Truth);
        let fold = |ids: &[usize], f: fn(f64, f64) -> f64| {
            let all: Option<Vec<f64>> = ids.iter().map(number).collect();
            of_number(all.and_then(|all| all.into_iter().reduce(f)))
        };
        let value = match &node.kind {
            Kind::Number { value, .. } => Known::Number(*value),
            Kind::Quote(text) => Known::Text(text.clone()),
            Kind::Name(name) => match values.get(name.as_str()) {
                Some(Value::Number(value)) => Known::Number(*value),
                Some(Value::Text(text)) => Known::Text(text.clone()),
                _ => Known::Absent,
            },
            Kind::Negate(a) => of_number(number(a).map(|a| -a)),
            Kind::Not(a) => of_truth(truth(a).map(|a| !a)),
            Kind::Power(a, exponent) => of_number(number(a).map(|a| {
                let power = crate::eval::pow(a, exponent.unsigned_abs().into());
                if *exponent < 0 { 1.0 / power } else { power }
            })),
            Kind::Call(function, arguments) => match function {
                Function::Given => Known::Truth(known[arguments[0]] != Known::Absent),
                Function::Floor => of_number(number(&arguments[0]).map(f64::floor)),
                Function::Ceil => of_number(number(&arguments[0]).map(f64::ceil)),
                Function::Min => fold(arguments, f64::min),
                Function::Max => fold(arguments, f64::max),
                Function::Pow => fold(arguments, crate::eval::pow),
                Function::Finite => Known::Absent,
            },
            Kind::If(c, a, b) => match truth(c) {
                Some(true) => known[*a].clone(),
                Some(false) => known[*b].clone(),
                None => Known::Absent,
            },
            Kind::Binary(operator, a, b) => {
                let (x, y) = (&known[*a], &known[*b]);
                let compare =
                    |f: fn(f64, f64) -> bool| of_truth(number(a).zip(number(b)).map(|(a, b)| f(a, b)));
                let equal = match (x, y) {
                    (Known::Absent, _) | (_, Known::Absent) => None,
                    _ => Some(x == y),
                };
                let or = |a: Option<bool>, b: Option<bool>| match (a, b) {
                    (Some(true), _) | (_, Some(true)) => Some(true),
                    (Some(false), Some(false)) => Some(false),
                    _ => None,
                };
                let not = |a: Option<bool>| a.map(|a| !a);
                match operator {
                    Binary::Add => fold(&[*a, *b], |a, b| a + b),
                    Binary::Subtract => fold(&[*a, *b], |a, b| a - b),
                    Binary::Multiply => fold(&[*a, *b], |a, b| a * b),
                    Binary::Divide => fold(&[*a, *b], |a, b| a / b),
                    Binary::Less => compare(|a, b| a < b),
                    Binary::LessEqual => compare(|a, b| a <= b),
                    Binary::Greater => compare(|a, b| a > b),
                    Binary::GreaterEqual => compare(|a, b| a >= b),
                    Binary::Equal => of_truth(equal),
                    Binary::NotEqual => of_truth(not(equal)),
                    Binary::And => of_truth(not(or(not(truth(a)), not(truth(b))))),
                    Binary::Or => of_truth(or(truth(a), truth(b))),
                    Binary::Implies => of_truth(or(not(truth(a)), truth(b))),
                    Binary::Iff => of_truth(equal),
                }
            }
            // The type checker keeps these out of rules, and `finite` too.
            Kind::Is(..) | Kind::Substitute(..) | Kind::Monotone { .. } => Known::Absent,
        };
        known.push(value);
    }
    match known.get(rule.root) {
        Some(Known::Truth(value)) => Some(*value),
        _ => None,
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
    fn what_is_not_a_condition_says_why() {
        for (text, expected) in [
            ("rates >= 30", "condition:1:1: error: unknown name `rates`"),
            ("rate", "condition:1:1: error: the condition must be a condition"),
            ("rate >= ", "condition:1:"),
            ("rate == \"Memory\"", "condition:1:"),
            ("", "condition:1:1: error:"),
            ("rate increasing in rate", "condition:1:1: error: a direction stands only in an obligation"),
        ] {
            let error = check(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
