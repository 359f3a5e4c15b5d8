//! `--require`: conditions over the names of a result, which make a command a gate.

use std::collections::{BTreeMap, BTreeSet};

use roofline_contracts::condition;
use roofline_contracts::contract::Value;
use roofline_contracts::formula::{Formula, number};

use crate::program::{Exit, Failure};
use crate::report::{Checked, Report};

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
/// compared with `==`: `decode_bound == "memory"`.
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

/// Checks conditions against a result. One that names something that parts have is asked of every part.
pub fn check_report<T: Report>(gates: &[Gate], report: &T) -> Vec<Checked> {
    if gates.is_empty() {
        return Vec::new();
    }
    let numbers = report.figures().into_iter().map(|figure| {
        let name = T::FIGURES.iter().find(|name| **name == figure.name);
        (figure.of, name.copied(), Value::Number(figure.value))
    });
    let texts = report.texts().into_iter().map(|text| (text.of, Some(text.name), Value::Text(text.value)));
    let absent = T::FIGURES.iter().chain(T::TEXTS).map(|name| (*name, Value::Absent));
    let mut whole: BTreeMap<&str, Value> = absent.collect();
    // The parts in their order.
    let mut parts: Vec<(String, Vec<(&str, Value)>)> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (of, name, value) in numbers.chain(texts) {
        let Some(name) = name else { continue };
        if of.is_empty() {
            whole.insert(name, value);
            continue;
        }
        let place = *places.entry(of.clone()).or_insert_with(|| {
            parts.push((of, Vec::new()));
            parts.len() - 1
        });
        parts[place].1.push((name, value));
    }
    let of_parts: BTreeSet<&str> =
        parts.iter().flat_map(|(_, known)| known.iter().map(|(name, _)| *name)).collect();
    let of_parts: Vec<&str> = of_parts.into_iter().collect();
    let (gates_of_parts, gates): (Vec<Gate>, Vec<Gate>) =
        gates.iter().cloned().partition(|gate| gate.names_any(&of_parts));
    let mut checked = check(&gates, "", &whole);
    for (of, known) in parts {
        let mut values = whole.clone();
        values.extend(known);
        checked.extend(check(&gates_of_parts, &of, &values));
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
