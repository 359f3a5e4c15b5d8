//! `--require`: conditions over the names of a result, which make a command a gate.

use std::collections::BTreeMap;

use roofline_contracts::condition;
use roofline_contracts::contract::Value;
use serde::Serialize;

use super::{Exit, Failure};

/// A condition and whether it holds.
#[derive(Clone, Debug, Serialize)]
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

/// Refuses conditions that can't be read, or that name something else than these results, before any work is done.
pub fn parse(conditions: &[String], names: &[&str]) -> Result<(), Failure> {
    let known: BTreeMap<&str, &Value> = names.iter().map(|name| (*name, &Value::Absent)).collect();
    for text in conditions {
        condition::parse(text, &known).map_err(|error| Failure(format!("--require: {error}")))?;
    }
    Ok(())
}

/// Checks conditions, written in the grammar of contracts, against named values. Texts are compared with `==`:
/// `decode_bound == "Memory"`.
pub fn check(
    conditions: &[String],
    of: &str,
    values: &BTreeMap<&str, Value>,
) -> Result<Vec<Checked>, Failure> {
    let known: BTreeMap<&str, &Value> = values.iter().map(|(name, value)| (*name, value)).collect();
    let one = |text: &String| {
        let formula =
            condition::parse(text, &known).map_err(|error| Failure(format!("--require: {error}")))?;
        let named = formula.names().into_iter().filter_map(|name| {
            let shown = match known.get(name)? {
                Value::Number(value) => roofline_contracts::formula::number(*value),
                Value::Text(text) => text.clone(),
                Value::Absent => "not known".to_owned(),
            };
            Some((name.to_owned(), shown))
        });
        let values = named.collect();
        let holds = condition::holds(&formula, &known);
        Ok(Checked { of: of.to_owned(), condition: text.clone(), holds, values })
    };
    conditions.iter().map(one).collect()
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
