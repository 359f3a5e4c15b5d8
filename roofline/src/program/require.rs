//! `--require`: conditions over the names of a result, which make a command a gate.

use std::collections::BTreeMap;

use roofline_contracts::condition;
use roofline_contracts::contract::Value;
use roofline_contracts::formula::{Formula, number};
use schemars::JsonSchema;
use serde::Serialize;

use crate::program::{Exit, Failure};
use crate::report::Report;

/// A condition and whether it holds.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Checked {
    /// What it was asked of, such as a device; empty when there is only one result.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub of: String,
    /// The condition as it was written.
    pub condition: String,
    /// Whether it holds; none when a value that decides it is not known, which does not pass either.
    pub holds: Option<bool>,
    /// The values that it names.
    pub values: BTreeMap<String, String>,
}

/// A condition that has been read.
#[derive(Clone, Debug)]
pub struct Gate {
    text: String,
    formula: Formula,
}

impl Gate {
    /// Whether the condition names one of these.
    pub fn names_any(&self, names: &[&str]) -> bool {
        self.formula.names().iter().any(|name| names.contains(name))
    }
}

/// Reads conditions in the grammar of contracts, before any work is done: they may name these numbers, and texts, which are
/// compared with `==`: `decode_bound == "Memory"`.
pub fn parse(conditions: &[String], numbers: &[&str], texts: &[&str]) -> Result<Vec<Gate>, Failure> {
    let text = Value::Text(String::new());
    let texts = texts.iter().map(|name| (*name, &text));
    let known: BTreeMap<&str, &Value> =
        numbers.iter().map(|name| (*name, &Value::Absent)).chain(texts).collect();
    let gate = |text: &String| {
        let formula =
            condition::parse(text, &known).map_err(|error| Failure(format!("--require: {error}")))?;
        Ok(Gate { text: text.clone(), formula })
    };
    conditions.iter().map(gate).collect()
}

/// Reads conditions over what this kind of result has.
pub fn of<T: Report>(conditions: &[String]) -> Result<Vec<Gate>, Failure> {
    parse(conditions, T::FIGURES, T::TEXTS)
}

/// Checks conditions against a result. One that names figures of parts is asked of every part that has them.
pub fn check_report<T: Report>(gates: &[Gate], report: &T) -> Vec<Checked> {
    let figures = report.figures();
    let mut parts: Vec<&str> = vec![""];
    for figure in &figures {
        if !parts.contains(&figure.of.as_str()) {
            parts.push(&figure.of);
        }
    }
    let names = |part: &str| -> Vec<&str> {
        figures.iter().filter(|figure| figure.of == part).map(|figure| figure.name.as_ref()).collect()
    };
    let of_parts: Vec<&str> = parts.iter().skip(1).flat_map(|part| names(part)).collect();
    let mut checked = Vec::new();
    for part in parts {
        let known = figures.iter().filter(|figure| figure.of.is_empty() || figure.of == part);
        let mut values: BTreeMap<&str, Value> =
            T::FIGURES.iter().map(|name| (*name, Value::Absent)).collect();
        values.extend(known.map(|figure| (figure.name.as_ref(), Value::Number(figure.value))));
        values.extend(report.texts().into_iter().map(|(name, text)| (name, Value::Text(text))));
        let asked = |gate: &&Gate| {
            if part.is_empty() { !gate.names_any(&of_parts) } else { gate.names_any(&names(part)) }
        };
        let gates: Vec<Gate> = gates.iter().filter(asked).cloned().collect();
        checked.extend(check(&gates, part, &values));
    }
    checked
}

/// Checks conditions against the values of one result.
pub fn check(gates: &[Gate], of: &str, values: &BTreeMap<&str, Value>) -> Vec<Checked> {
    let known: BTreeMap<&str, &Value> = values.iter().map(|(name, value)| (*name, value)).collect();
    let one = |gate: &Gate| {
        let named = gate.formula.names().into_iter().filter_map(|name| {
            let shown = match known.get(name)? {
                Value::Number(value) => number(*value),
                Value::Text(text) => text.clone(),
                Value::Absent => "not known".to_owned(),
            };
            Some((name.to_owned(), shown))
        });
        Checked {
            of: of.to_owned(),
            condition: gate.text.clone(),
            holds: condition::holds(&gate.formula, &known),
            values: named.collect(),
        }
    };
    gates.iter().map(one).collect()
}

/// Says on standard error which conditions do not hold, and how the program ends.
pub fn exit(checked: &[Checked]) -> Exit {
    let mut exit = Exit::Fine;
    for gate in checked.iter().filter(|gate| gate.holds != Some(true)) {
        let values: Vec<String> =
            gate.values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let of = if gate.of.is_empty() { String::new() } else { format!("{}: ", gate.of) };
        eprintln!("{of}not met: {} ({})", gate.condition, values.join(", "));
        exit = Exit::Failed;
    }
    exit
}
