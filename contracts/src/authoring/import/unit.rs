//! Units proposed from names such as `effective_bandwidth_GB_s`, kept only if the formulas agree with them.

use std::collections::{BTreeMap, BTreeSet};

use crate::contract::Operand;
use crate::report::Report;
use crate::types::{self, Meaning, Place, Scope, Type};
use crate::unit::Unit;

use super::statement;

/// Endings of names; an ending that contains another comes first.
const ENDINGS: [(&str, &str); 33] = [
    ("bits_per_weight", "bit/param"),
    ("bytes_per_weight", "B/param"),
    ("bytes_per_param", "B/param"),
    ("bytes_per_element", "B/element"),
    ("flops_per_token", "flop/token"),
    ("ops_per_token", "flop/token"),
    ("ops_per_param", "flop/param/token"),
    ("tokens_per_second", "token/s"),
    ("tokens_per_s", "token/s"),
    ("_gb_s", "GB/s"),
    ("_gbps", "GB/s"),
    ("_tb_s", "TB/s"),
    ("_mb_s", "MB/s"),
    ("gflops", "Gflop/s"),
    ("tflops", "Tflop/s"),
    ("_gib", "GiB"),
    ("_mib", "MiB"),
    ("_gb", "GB"),
    ("_mb", "MB"),
    ("_kb", "kB"),
    ("bytes", "B"),
    ("_bits", "bit"),
    ("flops", "flop"),
    ("params", "param"),
    ("parameters", "param"),
    ("tokens", "token"),
    ("_ms", "ms"),
    ("_us", "us"),
    ("_ns", "ns"),
    ("_seconds", "s"),
    ("_watts", "W"),
    ("_joules", "J"),
    ("_ghz", "GHz"),
];

/// The unit that a name suggests.
pub fn proposed(name: &str) -> Option<&'static str> {
    ENDINGS
        .iter()
        .find(|(ending, _)| name == ending.trim_start_matches('_') || name.ends_with(ending))
        .map(|(_, unit)| *unit)
}

/// The unit in a remark such as `(tokens/second)`.
pub fn remarked(remark: &str) -> Option<String> {
    let words = |text: &str| match text.trim().to_lowercase().as_str() {
        "tokens" | "token" | "tok" => Some("token"),
        "second" | "seconds" | "sec" | "s" => Some("s"),
        "bytes" | "byte" => Some("B"),
        "flops" | "flop" => Some("flop"),
        "milliseconds" | "ms" => Some("ms"),
        "joules" => Some("J"),
        "watts" => Some("W"),
        _ => None,
    };
    let parts: Option<Vec<&str>> = remark.split('/').map(words).collect();
    parts.map(|parts| parts.join("/")).filter(|text| Unit::parse(text).is_ok())
}

/// A unit and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The unit as contracts write it.
    pub unit: String,
    /// The reason for this unit.
    pub why: String,
}

/// An equation whose unit is inferred.
pub struct Wanted<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its right side.
    pub formula: &'a str,
    /// The unit that its name or its codomain suggests.
    pub unit: Option<String>,
}

/// Inferred units, and formulas with units added to their conversion factors.
#[derive(Debug, Default)]
pub struct Units {
    /// Units by name.
    pub of: BTreeMap<String, Proposal>,
    /// Changed right sides.
    pub formulas: BTreeMap<String, String>,
    /// The reasons for dropped proposals.
    pub dropped: Vec<String>,
    /// Equations with contradictory published units, and a description.
    pub conflicts: Vec<(String, String)>,
}

/// Units of counts, which formulas may mix with dimensionless numbers.
const COUNTS: [&str; 10] = [
    "param",
    "token",
    "B",
    "bit",
    "flop",
    "bit/param",
    "B/param",
    "B/element",
    "flop/token",
    "flop/param/token",
];

/// Infers units of these quantities and equations, the latter in the order of their use. If a formula contradicts rates,
/// times or sizes in names, the conflict is recorded and the other units are kept; if it contradicts only counts, all
/// its operands become dimensionless.
pub fn infer(quantities: &[&str], equations: &[Wanted<'_>]) -> Units {
    let mut plain: BTreeSet<String> = BTreeSet::new();
    let mut dropped = Vec::new();
    loop {
        match attempt(quantities, equations, &plain) {
            Ok(units) => return Units { dropped, ..units },
            Err((at, why)) => {
                let before = plain.len();
                let mut affected = plain.clone();
                depends_on(equations, at, &mut affected);
                let measured = |name: &str| proposed(name).is_some_and(|unit| !COUNTS.contains(&unit));
                if why.mismatch && affected.iter().any(|name| !plain.contains(name) && measured(name)) {
                    let conflicts = vec![(equations[at].name.to_owned(), why.text)];
                    return Units { conflicts, dropped, ..Units::default() };
                }
                dropped.push(format!("{}: {}", equations[at].name, why.text));
                plain = affected;
                if plain.len() == before {
                    // No proposal is left to drop; the checker reports the error.
                    let of = |name: &str| (name.to_owned(), none());
                    let all = quantities.iter().copied().chain(equations.iter().map(|wanted| wanted.name));
                    return Units { of: all.map(of).collect(), dropped, ..Units::default() };
                }
            }
        }
    }
}

/// The reason that an equation has no unit.
struct UnitFailure {
    text: String,
    /// True if its operands have incompatible units.
    mismatch: bool,
}

fn none() -> Proposal {
    Proposal { unit: "1".into(), why: "no unit known".into() }
}

/// Collects the equation and everything that it uses, directly or not.
fn depends_on(equations: &[Wanted<'_>], at: usize, found: &mut BTreeSet<String>) {
    let mut pending = vec![at];
    while let Some(at) = pending.pop() {
        found.insert(equations[at].name.to_owned());
        let Some(formula) = statement::expression(equations[at].formula) else { continue };
        for name in formula.names() {
            if found.insert(name.to_owned()) {
                pending.extend(equations.iter().position(|wanted| wanted.name == name));
            }
        }
    }
}

fn attempt(
    quantities: &[&str],
    equations: &[Wanted<'_>],
    plain: &BTreeSet<String>,
) -> Result<Units, (usize, UnitFailure)> {
    let mut units = Units::default();
    let mut scope = Scope::default();
    let add = |units: &mut Units, scope: &mut Scope, name: &str, unit: Unit, proposal: Proposal| {
        scope.insert(name, Meaning::Value(Operand::Quantity(0), unit, None));
        units.of.insert(name.to_owned(), proposal);
    };
    for name in quantities {
        let named = proposed(name).filter(|_| !plain.contains(*name));
        let proposal = named
            .map_or_else(none, |unit| Proposal { unit: unit.into(), why: "proposed from the name".into() });
        add(&mut units, &mut scope, name, Unit::parse(&proposal.unit).unwrap_or_default(), proposal);
    }
    for (at, wanted) in equations.iter().enumerate() {
        let target = wanted.unit.as_deref().filter(|_| !plain.contains(wanted.name));
        let target = target.and_then(|text| Some((text, Unit::parse(text).ok()?)));
        let computed = unit_of(wanted.formula, &scope);
        let named = |unit: &Unit| Unit::parse(&unit.to_string()) == Ok(*unit);
        let suggested = |text: &str, more: &str| Proposal {
            unit: text.into(),
            why: format!("proposed from the name{more}"),
        };
        let converted = |fits: &dyn Fn(&Unit) -> bool| {
            let candidates = annotated(wanted.formula).into_iter();
            let mut units = candidates.filter_map(|formula| Some((unit_of(&formula, &scope).ok()?, formula)));
            units.find(|(unit, _)| fits(unit))
        };
        let (unit, proposal) = if let Some((text, target)) = target
            && computed == Ok(target)
        {
            (target, suggested(text, ""))
        } else if let Some((text, target)) = target
            && let Some((_, formula)) = converted(&|unit| *unit == target)
        {
            units.formulas.insert(wanted.name.to_owned(), formula);
            (target, suggested(text, ", as are the units of its conversion factors"))
        } else {
            let unit = match &computed {
                Ok(unit) if named(unit) => *unit,
                _ => match converted(&named) {
                    Some((unit, formula)) => {
                        units.formulas.insert(wanted.name.to_owned(), formula);
                        unit
                    }
                    None => {
                        let why = match computed {
                            Ok(unit) => UnitFailure {
                                text: format!(
                                    "its formula has the unit {unit}, which cannot be written in a contract"
                                ),
                                mismatch: false,
                            },
                            Err(text) => UnitFailure { text, mismatch: true },
                        };
                        return Err((at, why));
                    }
                },
            };
            let why = match target {
                Some((text, _)) => format!("from its formula; its name or codomain suggests {text}"),
                None if unit == Unit::ONE => "no unit known".into(),
                None => "from its formula".into(),
            };
            (unit, Proposal { unit: unit.to_string(), why })
        };
        add(&mut units, &mut scope, wanted.name, unit, proposal);
    }
    Ok(units)
}

fn unit_of(formula: &str, scope: &Scope) -> Result<Unit, String> {
    let Some(formula) = statement::expression(formula) else { return Ok(Unit::ONE) };
    let mut report = Report::new();
    let found = types::check(&formula, Place::Equation, scope, &mut report);
    let diagnostics = report.finish();
    match (found, diagnostics.first()) {
        (_, Some(diagnostic)) => Err(diagnostic.message.clone()),
        (Type::Number(unit), None) => Ok(unit),
        _ => Ok(Unit::ONE),
    }
}

/// A claim whose bare numbers take the unit of the value they are compared with; none if that does not help.
pub fn with_units(claim: &str, units: &BTreeMap<String, Proposal>) -> Option<String> {
    let mut scope = Scope::default();
    for (name, proposal) in units {
        let unit = Unit::parse(&proposal.unit).unwrap_or_default();
        scope.insert(name, Meaning::Value(Operand::Quantity(0), unit, None));
    }
    let fits = |claim: &str| {
        let mut report = Report::new();
        if let Some(formula) = statement::expression(claim) {
            types::check(&formula, Place::Obligation, &scope, &mut report);
        }
        report.finish().is_empty()
    };
    if fits(claim) {
        return None;
    }
    let formula = statement::expression(claim)?;
    let known =
        formula.names().into_iter().filter_map(|name| units.get(name)).map(|proposal| proposal.unit.as_str());
    let candidates: BTreeSet<&str> = known.filter(|unit| *unit != "1").collect();
    candidates.into_iter().find_map(|unit| {
        let mut out = String::new();
        let mut at = 0;
        for (start, end) in words(claim) {
            let bare = claim[start..end].parse::<f64>().is_ok_and(|value| value != 0.0);
            out += &claim[at..end];
            if bare && claim[start..].starts_with(|c: char| c.is_ascii_digit()) {
                out += &format!(" [{unit}]");
            }
            at = end;
        }
        out += &claim[at..];
        fits(&out).then_some(out)
    })
}

/// Variants of the formula with units on one or two bare numbers that are conversion factors.
fn annotated(formula: &str) -> Vec<String> {
    let once = annotated_once(formula);
    let twice: Vec<String> = once.iter().flat_map(|formula| annotated_once(formula)).collect();
    once.into_iter().chain(twice).collect()
}

fn annotated_once(formula: &str) -> Vec<String> {
    let factors = |value: f64| -> &[&str] {
        match value {
            8.0 => &["bit/B"],
            1e3 => &["B/kB", "ms/s", "MB/GB"],
            1e6 => &["B/MB", "us/s", "flop/Mflop"],
            1e9 => &["B/GB", "flop/Gflop", "ns/s"],
            1e12 => &["B/TB", "flop/Tflop"],
            1024.0 => &["B/KiB", "MiB/GiB"],
            1_048_576.0 => &["B/MiB"],
            1_073_741_824.0 => &["B/GiB"],
            _ => &[],
        }
    };
    let mut found = Vec::new();
    for (start, end) in words(formula) {
        let rest = formula[end..].trim_start();
        if let Ok(value) = formula[start..end].parse::<f64>()
            && !rest.starts_with('[')
            && !rest.starts_with('^')
        {
            // Among equivalent factors, prefer one with units from the formula.
            let mut units = factors(value).to_vec();
            units.sort_by_key(|unit| unit.contains("flop") != formula.contains("flop"));
            for unit in units {
                found.push(format!("{} [{unit}]{}", &formula[..end], &formula[end..]));
            }
        }
    }
    found
}

/// Names and numbers of a formula, as byte ranges; units in brackets are skipped.
pub fn words(formula: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(character) = formula[at..].chars().next() {
        let rest = &formula[at..];
        let length = if character == '[' {
            at += rest.find(']').map_or(rest.len(), |end| end + 1);
            continue;
        } else if character.is_ascii_digit() || character == '.' {
            let mantissa = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
            let exponent = rest[mantissa..].strip_prefix(['e', 'E']).map_or(0, |tail| {
                let sign = usize::from(tail.starts_with(['-', '+']));
                let digits = tail[sign..].find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len() - sign);
                if digits > 0 { 1 + sign + digits } else { 0 }
            });
            mantissa + exponent
        } else if character.is_alphabetic() || character == '_' {
            rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len())
        } else {
            at += character.len_utf8();
            continue;
        };
        found.push((at, at + length));
        at += length;
    }
    found
}
