//! `roofline contract eval`: evaluation of a contract at one point, or with the attributes of several devices.

use std::collections::BTreeMap;

use roofline_contracts::condition::Value;
use roofline_contracts::contract::{Contract, Operand, Recommendation, Value as FieldValue};
use roofline_contracts::domain::Domain;
use roofline_contracts::{eval, formula};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value as Json};

use crate::chart::terminal::Canvas;
use crate::cli::conditions;
use crate::cli::name::near;
use crate::cli::output;
use crate::cli::{Exit, Failure, args, contract, device};
use crate::device::{ResolvedDevice, numbers_of};
use crate::predict::Numbers;
use crate::report::{Checked, Report, Schema, Table};

/// Values of a contract at one point. Keys of `inputs`, `outputs` and `classes` are names of the contract.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Evaluated {
    /// Schema of this document.
    schema: Schema<Self>,
    /// Name of the contract.
    contract: String,
    /// Version of the contract.
    version: String,
    /// SHA-256 of the file.
    sha256: String,
    /// Profile or device that set quantities.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
    /// Value of each quantity in its unit of `units`, or the name of a case.
    inputs: Map<String, Json>,
    /// Value of each equation in its unit of `units`.
    outputs: Map<String, Json>,
    /// Case of each classifier.
    classes: Map<String, Json>,
    /// Applicable recommendations.
    recommendations: Vec<Advice>,
    /// Measured values with their ceilings.
    measured: Vec<Measured>,
    /// Conditions of --require.
    requirements: Vec<Checked>,
    /// Unit of each quantity and equation.
    units: Map<String, Json>,
    #[serde(skip)]
    rows: Vec<Vec<String>>,
}

/// A recommendation.
#[derive(Debug, Serialize, JsonSchema)]
struct Advice {
    /// Name in the contract.
    name: String,
    /// Priority: high, medium or low.
    priority: &'static str,
    /// Text of the recommendation.
    text: String,
}

/// A measured value with its ceiling.
#[derive(Debug, Serialize, JsonSchema)]
struct Measured {
    /// Name of the measured value.
    name: String,
    /// Measured value, in the unit of the ceiling.
    value: f64,
    /// Value of the equation that bounds it.
    ceiling: f64,
    /// `true` if the value does not exceed the ceiling.
    within: bool,
    /// Bound, as in the contract.
    bound: String,
}

/// Evaluates the contract.
pub fn run(args: &args::Eval) -> Result<Exit, Failure> {
    let contract = contract::open_for_evaluation(&args.contract)?;
    let mut names = conditions::Names::default();
    for quantity in &contract.quantities {
        match quantity.cases.is_empty() {
            true => names.number(&quantity.name, &quantity.unit_text),
            false => names.text(&quantity.name, &quantity.cases),
        }
    }
    for equation in &contract.equations {
        names.number(&equation.name, &equation.unit_text);
    }
    for classifier in &contract.classifiers {
        let variants: Vec<String> = classifier.cases.iter().map(|case| case.variant.clone()).collect();
        names.text(&classifier.name, &variants);
    }
    if names.help(&args.require)? {
        return Ok(Exit::Fine);
    }
    let gates = names.parse("--require", &args.require)?;
    let chosen = args.devices.chosen(&args.devices.files.catalog()?, &[])?;
    if let [] | [_] = chosen.as_slice() {
        let report = evaluated(args, &contract, &gates, chosen.into_iter().next())?;
        output::print(&report, args.format)?;
        return Ok(report.exit());
    }
    let each = chosen.into_iter().map(|device| evaluated(args, &contract, &gates, Some(device)));
    let report = Several { schema: Schema::new(), evaluations: each.collect::<Result<_, _>>()? };
    output::print(&report, args.format)?;
    Ok(report.evaluations.iter().map(Evaluated::exit).max().unwrap_or(Exit::Fine))
}

/// Evaluates the contract at one point, with the attributes of a device if given.
fn evaluated(
    args: &args::Eval,
    contract: &Contract,
    gates: &[conditions::Gate],
    on: Option<ResolvedDevice>,
) -> Result<Evaluated, Failure> {
    let mut set = settings(&args.set, contract)?;
    let mut values: Vec<Option<f64>> = contract.quantities.iter().map(|quantity| quantity.default).collect();
    if let Some(profile) = &args.profile {
        apply_profile(contract, profile, &mut values)?;
    }
    let on = on.map(|device| apply_device(contract, args, device, &mut values)).transpose()?;
    for (value, quantity) in values.iter_mut().zip(&contract.quantities) {
        *value = set.remove(&quantity.name).or(*value);
    }
    let measurable =
        |name: &str| contract.equations.iter().find(|equation| equation.bounds.as_deref() == Some(name));
    if let Some(unknown) = set.keys().find(|name| measurable(name).is_none()) {
        return Err(unknown_name(contract, unknown));
    }
    // A missing optional attribute is unknown, and so is every value that depends on it.
    let mut unknown = vec![false; contract.quantities.len()];
    for (index, value) in values.iter_mut().enumerate().filter(|(_, value)| value.is_none()) {
        if is_optional(contract, index) {
            *value = somewhere(&contract.quantities[index].domain);
            unknown[index] = value.is_some();
        }
    }
    let point = complete(contract, &args.contract, &values)?;
    let outputs = eval::evaluate(contract, &point)?;
    let unknown = Unknown::new(contract, unknown);
    let lines = lines(contract, &point, &outputs, &unknown);
    let known = lines.iter().map(|line| (line.name, line.value.clone())).collect();
    let requirements = conditions::check(gates, on.as_deref().unwrap_or_default(), &known);
    let measured = (contract.equations.iter().zip(&outputs.equations).zip(&unknown.equations))
        .filter(|(_, unknown)| !**unknown)
        .filter_map(|((equation, &ceiling), _)| {
            let name = equation.bounds.clone()?;
            let value = set.get(&name).copied()?;
            let bound = format!("{name} <= {}", equation.expression.formula);
            Some(Measured { name, value, ceiling, within: value <= ceiling, bound })
        });
    let certain = |index: &&usize| !unknown.any(&contract.recommendations[**index].when.operands);
    let values_of = |kind: Kind| {
        let lines = lines.iter().filter(|line| line.kind == kind);
        lines.map(|line| (line.name.to_owned(), line.json())).collect()
    };
    let units = lines.iter().filter(|line| !line.unit.is_empty());
    Ok(Evaluated {
        schema: Schema::new(),
        contract: contract.metadata.id.clone(),
        version: contract.metadata.version.to_string(),
        sha256: contract.source.sha256.clone(),
        profile: on.or_else(|| args.profile.clone()),
        inputs: values_of(Kind::Input),
        outputs: values_of(Kind::Output),
        classes: values_of(Kind::Class),
        recommendations: (outputs.recommendations.iter().filter(certain))
            .map(|&index| {
                let Recommendation { name, priority, text, .. } = &contract.recommendations[index];
                Advice { name: name.clone(), priority: priority.word(), text: text.clone() }
            })
            .collect(),
        measured: measured.collect(),
        requirements,
        units: units.map(|line| (line.name.to_owned(), line.unit.into())).collect(),
        rows: lines.iter().map(Line::row).collect(),
    })
}

/// Returns a value for every quantity, or an error that names the missing ones.
fn complete(contract: &Contract, file: &str, values: &[Option<f64>]) -> Result<Vec<f64>, Failure> {
    let missing: Vec<&str> = (contract.quantities.iter().zip(values))
        .filter(|(_, value)| value.is_none())
        .map(|(quantity, _)| quantity.name.as_str())
        .collect();
    let Some(first) = missing.first() else { return Ok(values.iter().copied().flatten().collect()) };
    let tables: Vec<&str> = contract.profiles.iter().map(|table| table.name.as_str()).collect();
    let hint = match tables.as_slice() {
        [] => String::new(),
        tables => format!(", or pass an entry of {} with --profile", tables.join(", ")),
    };
    let missing = missing.join(", ");
    Err(Failure(format!("{file}: missing value for {missing}; pass --set {first}=VALUE{hint}")))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Input,
    Output,
    Class,
}

/// A value of the result.
struct Line<'a> {
    kind: Kind,
    name: &'a str,
    value: Value<'static>,
    /// Empty for values without a unit.
    unit: &'a str,
}

impl Line<'_> {
    fn json(&self) -> Json {
        match &self.value {
            Value::Number(value) => (*value).into(),
            Value::Text(text) => text.to_string().into(),
            Value::Truth(_) | Value::Absent => Json::Null,
        }
    }

    fn row(&self) -> Vec<String> {
        let kind = match self.kind {
            Kind::Input => "input",
            Kind::Output => "output",
            Kind::Class => "class",
        };
        let value = match &self.value {
            Value::Number(value) => formula::number(*value),
            Value::Text(text) => text.to_string(),
            Value::Truth(_) | Value::Absent => "unknown".to_owned(),
        };
        vec![kind.to_owned(), self.name.to_owned(), value, self.unit.to_owned()]
    }
}

/// Returns every quantity, equation and classifier with its value.
fn lines<'a>(
    contract: &'a Contract,
    point: &[f64],
    outputs: &eval::Outputs,
    unknown: &Unknown,
) -> Vec<Line<'a>> {
    let known = |value: Value<'static>, unknown: bool| if unknown { Value::Absent } else { value };
    let quantities = contract.quantities.iter().zip(point).zip(&unknown.quantities);
    let inputs = quantities.map(|((quantity, &value), &unknown)| {
        let value = match quantity.cases.is_empty() {
            true => Value::Number(value),
            false => Value::Text(quantity.show(value).into()),
        };
        let (name, unit) = (&quantity.name, &quantity.unit_text);
        Line { kind: Kind::Input, name, value: known(value, unknown), unit }
    });
    let equations = contract.equations.iter().zip(&outputs.equations).zip(&unknown.equations);
    let results = equations.map(|((equation, &value), &unknown)| Line {
        kind: Kind::Output,
        name: &equation.name,
        value: known(Value::Number(value), unknown),
        unit: &equation.unit_text,
    });
    let classifiers = contract.classifiers.iter().zip(&outputs.classes).zip(&unknown.classes);
    let classes = classifiers.map(|((classifier, &chosen), &unknown)| {
        let variant = Value::Text(classifier.cases[chosen].variant.clone().into());
        Line { kind: Kind::Class, name: &classifier.name, value: known(variant, unknown), unit: "" }
    });
    inputs.chain(results).chain(classes).collect()
}

/// Parses `--set`. A case is represented by its number.
pub fn settings(texts: &[String], contract: &Contract) -> Result<BTreeMap<String, f64>, Failure> {
    let mut found = BTreeMap::new();
    for text in texts {
        let (name, value) =
            text.split_once('=').ok_or_else(|| Failure(format!("--set {text}: expected NAME=VALUE")))?;
        let (name, value) = (name.trim(), value.trim());
        let named = contract.quantity(name).map(|index| &contract.quantities[index]);
        let number: f64 = match named.filter(|quantity| !quantity.cases.is_empty()) {
            Some(quantity) => quantity.case(value).ok_or_else(|| {
                let cases = quantity.cases.join(", ");
                Failure(format!("--set {text}: unknown case `{value}` of `{name}`; expected one of {cases}"))
            })?,
            None => value.parse().map_err(|_| Failure(format!("--set {text}: invalid number `{value}`")))?,
        };
        if found.insert(name.to_owned(), number).is_some() {
            return Err(Failure(format!("--set {text}: duplicate value for `{name}`")));
        }
    }
    Ok(found)
}

/// Marks values that are unknown because they depend on an unknown quantity.
struct Unknown {
    quantities: Vec<bool>,
    equations: Vec<bool>,
    classes: Vec<bool>,
}

impl Unknown {
    fn new(contract: &Contract, quantities: Vec<bool>) -> Unknown {
        let equations = vec![false; contract.equations.len()];
        let mut unknown = Unknown { quantities, equations, classes: Vec::new() };
        for &index in &contract.order {
            unknown.equations[index] = unknown.any(&contract.equations[index].expression.operands);
        }
        unknown.classes =
            contract.classifiers.iter().map(|classifier| unknown.any(&classifier.operands)).collect();
        unknown
    }

    fn any(&self, operands: &[(String, Operand)]) -> bool {
        operands.iter().any(|(_, operand)| match operand {
            Operand::Quantity(index) => self.quantities[*index],
            Operand::Equation(index) => self.equations[*index],
        })
    }
}

/// Returns `true` if the quantity is an optional field of a table.
fn is_optional(contract: &Contract, quantity: usize) -> bool {
    let fields = || contract.profiles.iter().flat_map(|table| &table.fields);
    fields().any(|field| field.optional && field.quantity == Some(quantity))
}

/// Returns a placeholder from the domain, for values that do not depend on it.
fn somewhere(domain: &Domain) -> Option<f64> {
    [1.0, domain.low, domain.high].into_iter().find(|value| domain.contains(*value))
}

/// Creates the error for an unknown name in `--set`.
pub fn unknown_name(contract: &Contract, name: &str) -> Failure {
    let quantities = contract.quantities.iter().map(|quantity| quantity.name.as_str());
    let known: Vec<&str> = quantities
        .chain(contract.equations.iter().filter_map(|equation| equation.bounds.as_deref()))
        .collect();
    let near = near(name, known.iter().copied());
    Failure(format!("--set {name}: unknown quantity; {near}expected one of {}", known.join(", ")))
}

/// Sets the quantities that are fields of a profile, given as `table.entry` or `entry`.
fn apply_profile(contract: &Contract, profile: &str, values: &mut [Option<f64>]) -> Result<(), Failure> {
    let names: Vec<String> = (contract.profiles.iter())
        .flat_map(|table| table.entries.iter().map(move |entry| format!("{}.{}", table.name, entry.name)))
        .collect();
    // The part before the point may also be the contract of the table, as in `hardware.h100_sxm`.
    let (prefix, name) = profile.split_once('.').unwrap_or(("", profile));
    let found = contract.profiles.iter().find_map(|table| {
        let id = table.origin.as_deref().unwrap_or(&contract.metadata.id);
        let family = id.rsplit_once("-v").map_or(id, |(family, _)| family);
        let entry = table.entries.iter().find(|entry| entry.name == name)?;
        ["", table.name.as_str(), id, family].contains(&prefix).then_some((table, entry))
    });
    let Some((table, entry)) = found else {
        let near = near(profile, names.iter().map(String::as_str));
        return Err(Failure(format!(
            "--profile {profile}: unknown profile; {near}expected one of {}",
            names.join(", ")
        )));
    };
    for (field, value) in table.fields.iter().zip(&entry.values) {
        match (field.quantity, value) {
            (Some(quantity), FieldValue::Number(number)) => values[quantity] = Some(*number),
            (Some(quantity), FieldValue::Text(case)) => {
                values[quantity] = contract.quantities[quantity].case(case)
            }
            _ => {}
        }
    }
    Ok(())
}

/// Sets the quantities that are attributes of the device, and returns the device's name.
fn apply_device(
    contract: &Contract,
    args: &args::Eval,
    device: ResolvedDevice,
    values: &mut [Option<f64>],
) -> Result<String, Failure> {
    let device = device.measured(|| device::this(&args.measuring))?;
    let target = device.target(None)?;
    let general = [
        ("bandwidth", Some(target.bandwidth)),
        ("compute", target.rate(Numbers::Half).gflop_s),
        ("capacity", target.capacity),
    ];
    let general = general.into_iter().filter_map(|(name, value)| Some((name, value?)));
    // Attributes of the registry override derived ones.
    let own: Vec<(&str, f64)> = match device {
        ResolvedDevice::Device(device) => numbers_of(device).collect(),
        _ => Vec::new(),
    };
    let figures = general.chain(own);
    let mut used = false;
    for (name, figure) in figures {
        if let Some(index) = contract.quantity(name) {
            values[index] = Some(figure);
            used = true;
        }
    }
    if !used {
        let id = &contract.metadata.id;
        return Err(Failure(format!(
            "--on {}: cannot apply a device; no quantity of {id} is a device attribute",
            target.name
        )));
    }
    Ok(target.name)
}

impl Evaluated {
    /// Returns the recommendations and the comparisons of measurements with ceilings.
    fn notes(&self) -> impl Iterator<Item = String> {
        let advice =
            self.recommendations.iter().map(|advice| format!("{}: {}", advice.priority, advice.text));
        let measured = self.measured.iter().map(|m| {
            let (value, ceiling) = (formula::number(m.value), formula::number(m.ceiling));
            if m.within {
                let share = 100.0 * m.value / m.ceiling;
                format!("{}: {value} is {share:.1} % of the ceiling {ceiling}", m.name)
            } else {
                format!(
                    "{}: {value} exceeds the ceiling {ceiling} ({}); check the measurement and the inputs",
                    m.name, m.bound
                )
            }
        });
        advice.chain(measured)
    }

    /// Returns exit code 1 if a requirement does not hold or a measurement exceeds its ceiling.
    fn exit(&self) -> Exit {
        let possible = self.measured.iter().all(|measured| measured.within);
        conditions::exit(&self.requirements).max(if possible { Exit::Fine } else { Exit::Failed })
    }
}

/// Values of a contract with the attributes of several devices.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Several {
    /// Schema of this document.
    schema: Schema<Self>,
    /// One evaluation per device.
    evaluations: Vec<Evaluated>,
}

impl Report for Several {
    const SCHEMA: &'static str = "roofline.evals/1";

    fn text(&self, canvas: &Canvas) -> String {
        let head = self.evaluations.first().map(|first| format!("{} {}\n", first.contract, first.version));
        let tables = self.tables().into_iter().map(|table| table.render_within(canvas, &[]));
        let notes = self.evaluations.iter().map(|each| {
            let on = each.profile.as_deref().unwrap_or_default();
            each.notes().map(|note| format!("{on}: {note}\n")).collect::<String>()
        });
        head.into_iter().chain(tables).chain(notes).collect()
    }

    fn tables(&self) -> Vec<Table> {
        let mut headings = vec!["", "name", "unit"];
        headings.extend(self.evaluations.iter().map(|each| each.profile.as_deref().unwrap_or_default()));
        let Some(first) = self.evaluations.first() else { return Vec::new() };
        let row = |(index, row): (usize, &Vec<String>)| {
            let mut cells = vec![row[0].clone(), row[1].clone(), row[3].clone()];
            cells.extend(self.evaluations.iter().map(|each| each.rows[index][2].clone()));
            cells
        };
        vec![Table::new("", &headings, first.rows.iter().enumerate().map(row))]
    }
}

impl Report for Evaluated {
    const SCHEMA: &'static str = "roofline.eval/1";

    fn text(&self, canvas: &Canvas) -> String {
        let mut out = format!("{} {}\n", self.contract, self.version);
        if let Some(profile) = &self.profile {
            out += &format!("profile {profile}\n");
        }
        for table in self.tables() {
            out += &table.render_within(canvas, &[]);
        }
        out.extend(self.notes().map(|note| note + "\n"));
        out
    }

    fn tables(&self) -> Vec<Table> {
        vec![Table::new("", &["", "name", "value", "unit"], self.rows.clone())]
    }
}
