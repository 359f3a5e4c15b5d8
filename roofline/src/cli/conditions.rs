//! `--require` and `--where`: conditions on the figures of a result, with units, in the language of contracts.

use std::collections::{BTreeMap, BTreeSet};

use roofline_contracts::condition::{Condition, Value};
use roofline_contracts::formula::number;
use roofline_contracts::types::{Meaning, Scope};
use roofline_contracts::unit::Unit;

use crate::cli::{Exit, Failure, output};
use crate::report::{Checked, Report, Table, TextValue};

/// Conditions on a model that does not fit in memory do not hold, except conditions about the fit.
const FITS: &str = "fits";
const ABOUT_FITTING: [&str; 4] = [FITS, "feasibility", "footprint", "capacity"];

/// Aliases with their names.
const ALIASES: [(&str, &str); 10] = [
    ("decode", "decode_ceiling"),
    ("prefill", "prefill_ceiling"),
    ("watts", "tdp"),
    ("power", "tdp"),
    ("price", "launch_price_usd"),
    ("memory", "capacity"),
    ("energy", "token_energy"),
    ("expected", "expected_decode"),
    ("year", "launch_year"),
    ("link", "interconnect_bandwidth"),
];

/// Hint for conditions without unit brackets.
const UNITS: &str = "\n  = help: write units in brackets, such as `50 [ms/token]`; without a unit, a number has the unit of the other side; \
                     `help` lists the names and their units";

/// Returns `true` if a number is followed by a word, as in `50 ms`.
fn bare_unit(text: &str) -> bool {
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let unit = words.peek().is_some_and(|next| next.starts_with(|c: char| c.is_alphabetic()));
        let joins = |next: &&str| ["and", "or", "implies", "iff"].contains(next);
        if word.parse::<f64>().is_ok() && unit && !words.peek().is_some_and(joins) {
            return true;
        }
    }
    false
}

/// Names in conditions.
#[derive(Clone, Debug, Default)]
pub struct Names {
    scope: Scope,
    /// Name and unit or type.
    listed: Vec<[String; 2]>,
}

impl Names {
    /// Returns the names of a report.
    pub fn for_report<T: Report>() -> Names {
        let mut names = Names::default();
        for name in T::FIGURES {
            names.number(name, T::unit(name));
        }
        for name in T::TEXTS {
            names.text(name, &[]);
        }
        for name in T::TRUTHS {
            names.truth(name);
        }
        names
    }

    /// Adds a number with its unit.
    pub fn number(&mut self, name: &str, unit: &str) {
        let meaning = Meaning::Number(Unit::parse(unit).unwrap_or(Unit::ONE));
        self.add(name, meaning, if unit == "1" { "number" } else { unit });
    }

    /// Adds a text; `one_of` lists its values, or is empty if any text is possible.
    pub fn text(&mut self, name: &str, one_of: &[String]) {
        let kind =
            if one_of.is_empty() { "text".to_owned() } else { format!("one of {}", one_of.join(", ")) };
        self.add(name, Meaning::Text(one_of.to_vec()), &kind);
    }

    /// Adds a truth value.
    pub fn truth(&mut self, name: &str) {
        self.add(name, Meaning::Truth, "true or false");
    }

    fn add(&mut self, name: &str, meaning: Meaning, unit_or_type: &str) {
        if self.scope.get(name).is_none() {
            self.scope.insert(name, meaning);
            self.listed.push([name.to_owned(), unit_or_type.to_owned()]);
        }
    }

    /// Resolves a name or an alias.
    pub fn resolve<'n>(&self, name: &'n str) -> Option<&'n str> {
        if self.scope.get(name).is_some() { Some(name) } else { self.alias_target(name) }
    }

    fn alias_target(&self, alias: &str) -> Option<&'static str> {
        let name = ALIASES.iter().find(|(known, _)| *known == alias).map(|(_, name)| *name);
        name.filter(|name| self.scope.get(alias).is_none() && self.scope.get(name).is_some())
    }

    /// Returns all names and aliases.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        let aliases =
            ALIASES.iter().map(|(alias, _)| *alias).filter(|alias| self.alias_target(alias).is_some());
        self.listed.iter().map(|[name, _]| name.as_str()).chain(aliases)
    }

    /// Parses the conditions of a flag.
    pub fn parse(&self, flag: &str, conditions: &[String]) -> Result<Vec<Gate>, Failure> {
        let mut scope = self.scope.clone();
        for (alias, name) in ALIASES {
            if let Some(meaning) = self.scope.get(name) {
                scope.insert_new(alias, meaning.clone());
            }
        }
        let gate = |text: &String| {
            let condition = Condition::parse(text, &scope).map_err(|error| {
                let hint = match &error {
                    error if error.contains("unknown name") => "; `help` lists the names",
                    error if error.contains("different units") => UNITS,
                    error if error.contains("expected an operator") && bare_unit(text) => UNITS,
                    _ => "",
                };
                Failure(format!("{flag}: {error}{hint}"))
            })?;
            Ok(Gate { text: text.clone(), condition: condition.renamed(|name| self.alias_target(name)) })
        };
        conditions.iter().map(gate).collect()
    }

    /// Prints every name with its unit and returns `true` if one of the conditions is `help`.
    pub fn help(&self, conditions: &[String]) -> Result<bool, Failure> {
        let help = conditions.iter().any(|condition| condition.trim() == "help");
        if help {
            let aliases = |name: &str| {
                let aliases = ALIASES
                    .iter()
                    .filter(|(alias, target)| *target == name && self.scope.get(alias).is_none());
                aliases.map(|(alias, _)| *alias).collect::<Vec<_>>().join(", ")
            };
            let rows = self.listed.iter().map(|[name, unit]| vec![name.clone(), unit.clone(), aliases(name)]);
            output::write(Table::new("", &["name", "unit", "aliases"], rows).text().as_bytes())?;
        }
        Ok(help)
    }
}

/// A parsed condition.
#[derive(Clone, Debug)]
pub struct Gate {
    text: String,
    condition: Condition,
}

impl Gate {
    /// Returns the text of the condition.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns `true` if the condition contains one of the names.
    pub fn contains_any(&self, names: &[&str]) -> bool {
        self.condition.names().iter().any(|name| names.contains(name))
    }

    /// Evaluates the condition; `None` if it depends on an unknown value.
    pub fn holds(&self, values: &BTreeMap<&str, Value<'static>>) -> Option<bool> {
        let too_large = values.get(FITS) == Some(&Value::Truth(false));
        if too_large && !self.contains_any(&ABOUT_FITTING) {
            Some(false)
        } else {
            self.condition.holds(values)
        }
    }
}

/// Returns the values of a report as a whole, and of each of its parts in order.
pub fn values<T: Report>(report: &T) -> (BTreeMap<&'static str, Value<'static>>, Vec<Part>) {
    let numbers = report.figures().into_iter().map(|figure| {
        let name = T::FIGURES.iter().find(|name| **name == figure.name);
        (figure.of, name.copied(), Value::Number(figure.value))
    });
    let texts = report.texts().into_iter().map(|text| {
        let value = match text.value {
            TextValue::Truth(truth) => Value::Truth(truth),
            TextValue::Words(words) => Value::Text(words.into()),
        };
        (text.of, Some(text.name), value)
    });
    let absent = [T::FIGURES, T::TEXTS, T::TRUTHS].concat().into_iter().map(|name| (name, Value::Absent));
    let mut whole: BTreeMap<&'static str, Value<'static>> = absent.collect();
    let mut parts: Vec<Part> = Vec::new();
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
    (whole, parts)
}

/// Name of a part, and its own values.
pub type Part = (String, Vec<(&'static str, Value<'static>)>);

/// Checks conditions against a report. A condition on a value of parts is checked for each part.
pub fn check_report<T: Report>(gates: &[Gate], report: &T) -> Vec<Checked> {
    if gates.is_empty() {
        return Vec::new();
    }
    let (whole, parts) = values(report);
    let of_parts: BTreeSet<&str> =
        parts.iter().flat_map(|(_, known)| known.iter().map(|(name, _)| *name)).collect();
    let of_parts: Vec<&str> = of_parts.into_iter().collect();
    let (gates_of_parts, gates): (Vec<Gate>, Vec<Gate>) =
        gates.iter().cloned().partition(|gate| gate.contains_any(&of_parts));
    let mut checked = check(&gates, "", &whole);
    for (of, known) in parts {
        let mut values = whole.clone();
        values.extend(known);
        checked.extend(check(&gates_of_parts, &of, &values));
    }
    checked
}

/// Checks conditions against values; `of` is the name of the part, or empty.
pub fn check(gates: &[Gate], of: &str, values: &BTreeMap<&str, Value<'static>>) -> Vec<Checked> {
    let one = |gate: &Gate| {
        let mut names = gate.condition.names();
        if values.get(FITS) == Some(&Value::Truth(false)) && !gate.contains_any(&ABOUT_FITTING) {
            names.push(FITS);
        }
        let shown = names.into_iter().filter_map(|name| {
            let text = match values.get(name)? {
                Value::Number(value) => number(*value),
                Value::Text(text) => text.to_string(),
                Value::Truth(truth) => truth.to_string(),
                Value::Absent => "unknown".to_owned(),
            };
            Some((name.to_owned(), text))
        });
        Checked {
            of: of.to_owned(),
            condition: gate.text.clone(),
            holds: gate.holds(values),
            values: shown.collect(),
        }
    };
    gates.iter().map(one).collect()
}

/// Reports the conditions that do not hold on standard error, and returns the exit code.
pub fn exit(checked: &[Checked]) -> Exit {
    let mut exit = Exit::Fine;
    for gate in checked.iter().filter(|gate| gate.holds != Some(true)) {
        let values: Vec<String> =
            gate.values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let of = if gate.of.is_empty() { String::new() } else { format!("{}: ", gate.of) };
        output::log(&format!("{of}not met: {} ({})", gate.condition, values.join(", ")));
        exit = Exit::Failed;
    }
    exit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Bench;
    use crate::machine::Machine;
    use crate::predict::Predicted;
    use crate::profile::Profile;

    fn units<T: Report>() {
        for name in T::FIGURES {
            assert!(Unit::parse(T::unit(name)).is_ok(), "{} {name}: {}", T::SCHEMA, T::unit(name));
        }
    }

    #[test]
    fn figures_in_conditions_have_units_that_parse() {
        units::<Machine>();
        units::<Bench>();
        units::<Predicted>();
        units::<Profile>();
        assert_eq!((Profile::unit("context"), Profile::unit("decode_flops")), ("token", "flop"));
        assert_eq!((Machine::unit("single_int8_gops"), Machine::unit("read_gb_s")), ("Gop/s", "GB/s"));
    }

    #[test]
    fn speeds_of_a_model_that_does_not_fit_meet_no_condition() {
        let names = Names::for_report::<Predicted>();
        let gate = |text: &str| names.parse("--require", &[text.to_owned()]).unwrap().remove(0);
        let values = |fits| {
            BTreeMap::from([
                ("fits", Value::Truth(fits)),
                ("decode_ceiling", Value::Number(40.0)),
                ("footprint", Value::Number(20e9)),
                ("capacity", Value::Number(16.0)),
            ])
        };
        let fast = gate("decode_ceiling >= 5 [token/s]");
        assert_eq!((fast.holds(&values(true)), fast.holds(&values(false))), (Some(true), Some(false)));
        assert_eq!(gate("not fits and decode_ceiling >= 5").holds(&values(false)), Some(true));
        assert_eq!(gate("footprint <= 2 * capacity").holds(&values(false)), Some(true));
        assert_eq!(check(&[fast], "", &values(false))[0].values["fits"], "false");
    }
}
