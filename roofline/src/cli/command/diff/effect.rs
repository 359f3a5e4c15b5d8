//! Effect of a change on predictions: every known model on every known device, evaluated with the formulas and tables of both
//! versions.

use std::cell::RefCell;
use std::collections::BTreeMap;

use roofline_contracts::check_from;
use roofline_contracts::contract::{Contract, Entry, Value};
use roofline_contracts::eval::Evaluator;
use roofline_contracts::library::{self, Found};
use roofline_contracts::source::ReadError;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::request::lengths;
use crate::contracts::operation;
use crate::contracts::quantization::formats;
use crate::contracts::transformer::Inputs;
use crate::device::from_entry;
use crate::model::ModelDims;
use crate::predict::{Numbers, OperationTotals, Units, inputs_with_totals};

/// Weight formats of the predictions, in addition to changed ones.
const FORMATS: [&str; 3] = ["f16", "q8_0", "q4_k"];

/// Equations and classifiers of a contract for predictions.
struct Family {
    numbers: &'static [&'static str],
    classes: &'static [&'static str],
}

const TRANSFORMER: Family =
    Family { numbers: &["decode_ceiling", "prefill_ceiling"], classes: &["decode_bound", "prefill_bound"] };
const FAMILIES: [Family; 3] = [
    TRANSFORMER,
    Family { numbers: &["throughput_ceiling"], classes: &["bottleneck"] },
    Family { numbers: &["throughput", "latency"], classes: &["bottleneck"] },
];

/// One version of a contract with its dependencies.
pub struct Side<'a> {
    /// Changed contract.
    pub contract: &'a Contract,
    /// Finds other contracts of this version.
    pub find: &'a dyn Fn(&str) -> Result<Found, ReadError>,
}

/// Effect of a change on predictions.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct Effect {
    /// Contract that computes the figures.
    pub contract: String,
    /// Number of combinations of models, devices and formats.
    pub predictions: usize,
    /// Number of changed predictions.
    pub changed: usize,
    /// Number of predictions with another bound.
    pub bounds_changed: usize,
    /// Compared equations.
    pub figures: &'static [&'static str],
    /// Compared classifiers.
    pub bounds: &'static [&'static str],
    /// Statistics of each figure over the changed predictions.
    pub summary: Vec<Movement>,
    /// Changed predictions, largest change first.
    pub rows: Vec<ChangedPrediction>,
}

/// Statistics of the change of a figure.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct Movement {
    /// Name of the equation.
    pub name: String,
    /// Unit of the equation.
    pub unit: String,
    /// Minimum of `after / before - 1`.
    pub lowest: f64,
    /// Median of `after / before - 1`.
    pub median: f64,
    /// Maximum of `after / before - 1`.
    pub highest: f64,
}

/// A prediction that changed.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct ChangedPrediction {
    /// Name of the model.
    pub model: String,
    /// Name of the device.
    pub device: String,
    /// Weight format.
    pub format: String,
    /// Old result; null if model, device or format was added.
    pub before: Option<Outcome>,
    /// New result; null if model, device or format was removed.
    pub after: Option<Outcome>,
}

/// Result of a prediction, or the reason for a missing one.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Outcome {
    /// Values by equation.
    pub numbers: BTreeMap<&'static str, f64>,
    /// Bounds by classifier.
    pub bounds: BTreeMap<&'static str, String>,
    /// Reason for a missing result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl ChangedPrediction {
    /// Returns `after / before - 1` of a figure.
    pub fn change(&self, name: &str) -> Option<f64> {
        let number = |outcome: &Option<Outcome>| outcome.as_ref()?.numbers.get(name).copied();
        let (before, after) = number(&self.before).zip(number(&self.after))?;
        Some(if before == after { 0.0 } else { after / before - 1.0 })
    }

    /// Returns the size of the change for sorting; infinite if a result exists in one version only.
    fn size(&self) -> f64 {
        let names = |outcome: &Option<Outcome>| -> Vec<&str> {
            outcome.iter().flat_map(|outcome| outcome.numbers.keys().copied()).collect()
        };
        let (before, after) = (names(&self.before), names(&self.after));
        if before != after {
            return f64::INFINITY;
        }
        let size = |name: &str| self.change(name).map_or(0.0, |change| (1.0 + change).ln().abs());
        // Ignores rounding, so that such differences do not affect the order.
        (before.into_iter().map(size).fold(0.0, f64::max) * 1e9).round()
    }

    /// Returns `true` if the bound changed.
    fn bound_changed(&self) -> bool {
        matches!((&self.before, &self.after), (Some(before), Some(after)) if before.bounds != after.bounds)
    }
}

/// Computes the effect of a change, or returns the reason that it has none.
pub fn effect(old: &Side<'_>, new: &Side<'_>) -> Result<Effect, String> {
    let own = |side: &Side<'_>, name: &str| {
        side.contract.profiles.iter().any(|table| table.name == name && table.origin.is_none())
    };
    let either = |test: &dyn Fn(&Side<'_>) -> bool| test(old) || test(new);
    let of_family = |family: &Family| {
        either(&|side| {
            let equation =
                |name: &&str| side.contract.equation(name).is_some_and(|equation| equation.origin.is_none());
            let class =
                |name: &&str| side.contract.classifiers.iter().any(|classifier| classifier.name == **name);
            family.numbers.iter().all(equation) && family.classes.iter().all(class)
        })
    };
    let own_family = FAMILIES.iter().find(|family| of_family(family));
    let feeds = |table: &str| either(&|side| own(side, table));
    let slots = Slots {
        formulas: own_family.is_some(),
        operations: either(&|side| side.contract.metadata.id == "operation-v1"),
        devices: feeds("devices"),
        models: feeds("models"),
        formats: feeds("formats"),
    };
    if !(slots.formulas || slots.operations || slots.devices || slots.models || slots.formats) {
        return Err("no prediction uses this contract".into());
    }
    let family = own_family.unwrap_or(&TRANSFORMER);
    let (old, new) = (World::build(old, &slots)?, World::build(new, &slots)?);
    Ok(compare(family, &old, &new))
}

/// Parts of predictions that the contract provides; other contracts provide the rest.
struct Slots {
    formulas: bool,
    operations: bool,
    devices: bool,
    models: bool,
    formats: bool,
}

/// Inputs of predictions in one version.
struct World {
    formulas: Contract,
    devices: Vec<(String, Named)>,
    models: Vec<(String, Named)>,
    formats: Vec<(String, Named)>,
    /// Arithmetic units of each device.
    units: Vec<Units>,
    /// Element kind of each format.
    kinds: Vec<Numbers>,
}

type Named = BTreeMap<String, f64>;

impl World {
    fn build(side: &Side<'_>, slots: &Slots) -> Result<World, String> {
        // Dependencies on the changed contract use this version of it.
        let file = format!("{}.yaml", side.contract.metadata.id);
        let find = |name: &str| {
            if name == file {
                Ok(Found { source: side.contract.source.clone(), path: None })
            } else {
                (side.find)(name)
            }
        };
        let open = |own: bool, name: &str| -> Result<Contract, String> {
            if own {
                return Ok(side.contract.clone());
            }
            let found =
                find(name).or_else(|_| library::find(name, None)).map_err(|error| error.to_string())?;
            check_from(found.source, &find)
                .contract
                .ok_or_else(|| format!("{name}: invalid with this version of its dependencies"))
        };
        let formulas = open(slots.formulas, "transformer-v1.yaml")?;
        // Inputs of models depend on the formulas of operations.
        let operations = open(slots.operations, "operation-v1.yaml")?;
        let hardware = open(slots.devices, "hardware-v1.yaml")?;
        let devices = numbers(&hardware, "devices");
        let entries = hardware.table("devices").into_iter();
        let units = entries.flat_map(|table| table.entries.iter().map(|entry| from_entry(table, entry)));
        let units = units.map(Units::from_device).collect();
        let models = models(&open(slots.models, "models-v1.yaml")?, &operations);
        let quantization = open(slots.formats, "quantization-v1.yaml")?;
        let formats = bits_of_formats(&quantization);
        let kinds = formats.iter().map(|(name, _)| kind(&quantization, name)).collect();
        Ok(World { formulas, devices, models, formats, units, kinds })
    }

    /// Predicts a model on a device with a weight format; `None` if one of them does not exist.
    fn outcome(
        &self,
        predictor: &mut Predictor<'_>,
        model: &str,
        device: &str,
        format: &str,
    ) -> Option<Outcome> {
        let find = |list: &[(String, Named)], name: &str| list.iter().position(|(known, _)| known == name);
        let (device, format) = (find(&self.devices, device)?, find(&self.formats, format)?);
        let (model, weights) = (&self.models[find(&self.models, model)?].1, &self.formats[format].1);
        let mut rates = Named::new();
        // Formulas with a rate per part use the peaks of the precisions instead of the device's single peak.
        let by_part = |name: &str| self.formulas.quantities.iter().any(|quantity| quantity.name == name);
        if by_part("attention_compute") {
            let rate = |kind| self.units[device].rate(kind).compute();
            let weights = rate(self.kinds[format]);
            let parts =
                [("compute", weights), ("head_compute", weights), ("attention_compute", rate(Numbers::Half))];
            rates.extend(parts.map(|(name, rate)| (name.to_owned(), rate)));
        }
        Some(predictor.outcome([&rates, &self.devices[device].1, weights, model]))
    }
}

/// Returns the element kind of a format; versions without this field use the current one.
fn kind(contract: &Contract, format: &str) -> Numbers {
    let declared = || {
        let table = contract.table("formats")?;
        let field = table.fields.iter().position(|field| field.name == "numbers")?;
        let entry = table.entries.iter().find(|entry| entry.name == format)?;
        match entry.values.get(field) {
            Some(Value::Text(text)) => text.parse().ok(),
            _ => None,
        }
    };
    declared().or_else(|| Some(formats::by_name(format)?.numbers)).unwrap_or(Numbers::Half)
}

/// Returns the numbers of an entry by field.
fn figures(fields: &[roofline_contracts::contract::Field], entry: &Entry) -> Named {
    let figure = |(field, value): (&roofline_contracts::contract::Field, &Value)| match value {
        Value::Number(value) => Some((field.name.clone(), *value)),
        _ => None,
    };
    fields.iter().zip(&entry.values).filter_map(figure).collect()
}

fn numbers(contract: &Contract, table: &str) -> Vec<(String, Named)> {
    let Some(table) = contract.table(table) else { return Vec::new() };
    table.entries.iter().map(|entry| (entry.name.clone(), figures(&table.fields, entry))).collect()
}

/// Returns the contract's inputs for each model that the formulas support.
fn models(contract: &Contract, operations: &Contract) -> Vec<(String, Named)> {
    let Some(table) = contract.table("models") else { return Vec::new() };
    let formulas = ["cache_width", "mixing", "activation_width", "token_params"]
        .map(|name| Formula::new(operations, name));
    let text = |entry: &Entry, name: &str| {
        let at = table.fields.iter().position(|field| field.name == name)?;
        match entry.values.get(at) {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        }
    };
    let model = |entry: &Entry| {
        let fields = figures(&table.fields, entry);
        let tied = text(entry, "embeddings").as_deref() == Some("tied");
        let numbers = fields.iter().map(|(name, value)| (name.as_str(), *value));
        let model_dims = ModelDims::from_fields(&text(entry, "model_type")?, tied, numbers).ok()?;
        let inputs = inputs_with_totals(&model_dims, |shape| Ok(operation_totals(&formulas, shape))).ok()?;
        let max_tokens = model_dims.context_length.map(|tokens| tokens as f64);
        let (context, prompt) = lengths(None, None, max_tokens, &mut Vec::new());
        let inputs = Inputs { context, prompt, ..inputs };
        let outputs = inputs.evaluate().ok()?;
        let mut named: Named = Inputs::NAMES
            .iter()
            .zip(inputs.to_array())
            .map(|(name, value)| ((*name).to_owned(), value))
            .collect();
        named.insert("total_params".into(), outputs.total_params);
        named.insert("sample_flops".into(), outputs.decode_flops);
        Some((entry.name.clone(), named))
    };
    table.entries.iter().filter_map(model).collect()
}

/// Returns bits and bytes per weight of each format, according to the contract's formulas.
fn bits_of_formats(contract: &Contract) -> Vec<(String, Named)> {
    let format = |(name, mut figures): (String, Named)| {
        figures.insert("row_weights".into(), 1.0);
        let compute = |equation: &str| Formula::new(contract, equation)?.evaluate(&figures).ok();
        let bits = compute("bits_per_weight")?;
        let size = compute("row_bytes")?;
        let all = ["bits_per_weight", "dense_bits", "head_bits", "expert_bits", "lookup_bits"];
        let bits = all.into_iter().map(|name| (name.to_owned(), bits));
        Some((name, bits.chain([("param_size".to_owned(), size)]).collect()))
    };
    numbers(contract, "formats").into_iter().filter_map(format).collect()
}

/// An evaluator for one equation of a contract.
struct Formula<'a> {
    contract: &'a Contract,
    id: roofline_contracts::graph::Id,
    evaluator: RefCell<Evaluator<'a>>,
}

impl<'a> Formula<'a> {
    fn new(contract: &'a Contract, name: &str) -> Option<Formula<'a>> {
        let id = contract.equation(name)?.expression.id;
        Some(Formula { contract, id, evaluator: RefCell::new(Evaluator::new(&contract.graph, &[id])) })
    }

    /// Evaluates the equation; unused quantities may be missing.
    fn evaluate(&self, values: &Named) -> Result<f64, String> {
        let value = |quantity: &roofline_contracts::contract::Quantity| {
            values.get(&quantity.name).copied().or(quantity.default).unwrap_or(quantity.domain.low)
        };
        let point: Vec<f64> = self.contract.quantities.iter().map(value).collect();
        Ok(self.evaluator.borrow_mut().run(&point).value(self.id).number())
    }
}

/// Returns the totals of an operation in one version. Missing formulas yield NaN, which is outside every domain.
fn operation_totals(formulas: &[Option<Formula<'_>>; 4], shape: operation::Inputs) -> OperationTotals {
    let names = operation::Inputs::NAMES.iter().map(|name| (*name).to_owned());
    let values: Named = names.zip(shape.to_array()).collect();
    let [cache_width, mixing, activation_width, token_params] = formulas.each_ref().map(|formula| {
        formula.as_ref().and_then(|formula| formula.evaluate(&values).ok()).unwrap_or(f64::NAN)
    });
    OperationTotals { cache_width, mixing, activation_width, token_params }
}

/// Predicts with the formulas of one version.
struct Predictor<'a> {
    contract: &'a Contract,
    family: &'a Family,
    evaluator: Evaluator<'a>,
}

impl<'a> Predictor<'a> {
    fn new(contract: &'a Contract, family: &'a Family) -> Predictor<'a> {
        let numbers = family.numbers.iter().filter_map(|name| Some(contract.equation(name)?.expression.id));
        let classes = (contract
            .classifiers
            .iter()
            .filter(|classifier| family.classes.contains(&classifier.name.as_str())))
        .flat_map(|classifier| classifier.cases.iter().map(|case| case.chosen));
        let roots: Vec<_> = numbers.chain(classes).collect();
        Predictor { contract, family, evaluator: Evaluator::new(&contract.graph, &roots) }
    }

    fn outcome(&mut self, inputs: [&Named; 4]) -> Outcome {
        let mut outcome = Outcome { numbers: BTreeMap::new(), bounds: BTreeMap::new(), error: None };
        let mut point = Vec::with_capacity(self.contract.quantities.len());
        for quantity in &self.contract.quantities {
            let input = inputs.iter().find_map(|named| named.get(&quantity.name).copied());
            match input.or(quantity.default) {
                Some(value) if quantity.domain.contains(value) => point.push(value),
                Some(value) => {
                    outcome.error = Some(format!(
                        "{} = {value} is outside the domain {}",
                        quantity.name, quantity.domain
                    ));
                    return outcome;
                }
                None => {
                    outcome.error = Some(format!("missing value for `{}`", quantity.name));
                    return outcome;
                }
            }
        }
        self.evaluator.run(&point);
        for name in self.family.numbers {
            if let Some(equation) = self.contract.equation(name) {
                outcome.numbers.insert(name, self.evaluator.value(equation.expression.id).number());
            }
        }
        for name in self.family.classes {
            let classifier = self.contract.classifiers.iter().find(|classifier| classifier.name == *name);
            let chosen = classifier.and_then(|classifier| {
                classifier.cases.iter().find(|case| self.evaluator.value(case.chosen).truth())
            });
            if let Some(case) = chosen {
                outcome.bounds.insert(name, case.variant.clone());
            }
        }
        outcome
    }
}

/// Returns the names of both versions, in the order of the new one.
fn union<'a>(old: &'a [(String, Named)], new: &'a [(String, Named)]) -> Vec<&'a str> {
    let known = |name: &str| new.iter().any(|(known, _)| known == name);
    let gone = old.iter().map(|(name, _)| name.as_str()).filter(|name| !known(name));
    new.iter().map(|(name, _)| name.as_str()).chain(gone).collect()
}

fn compare(family: &Family, old: &World, new: &World) -> Effect {
    let find = |list: &'_ [(String, Named)], name: &str| list.iter().position(|(known, _)| known == name);
    let formats: Vec<&str> = (union(&old.formats, &new.formats).into_iter())
        .filter(|name| {
            let definition = |world: &World| {
                find(&world.formats, name).map(|at| (world.formats[at].1.clone(), world.kinds[at]))
            };
            FORMATS.contains(name) || definition(old) != definition(new)
        })
        .collect();
    let mut before = Predictor::new(&old.formulas, family);
    let mut after = Predictor::new(&new.formulas, family);
    let mut rows: Vec<ChangedPrediction> = Vec::new();
    let mut predictions = 0;
    for model in union(&old.models, &new.models) {
        for device in union(&old.devices, &new.devices) {
            for format in &formats {
                let row = ChangedPrediction {
                    model: model.to_owned(),
                    device: device.to_owned(),
                    format: (*format).to_owned(),
                    before: old.outcome(&mut before, model, device, format),
                    after: new.outcome(&mut after, model, device, format),
                };
                predictions += 1;
                if row.before != row.after {
                    rows.push(row);
                }
            }
        }
    }
    rows.sort_by(|a, b| b.size().total_cmp(&a.size()));
    let movement = |name: &&'static str| {
        let mut changes: Vec<f64> = rows.iter().filter_map(|row| row.change(name)).collect();
        changes.sort_by(f64::total_cmp);
        let equation = new.formulas.equation(name).or_else(|| old.formulas.equation(name));
        Some(Movement {
            name: (*name).to_owned(),
            unit: equation.map(|equation| equation.unit_text.clone()).unwrap_or_default(),
            lowest: *changes.first()?,
            median: changes[changes.len() / 2],
            highest: *changes.last()?,
        })
    };
    Effect {
        contract: format!("{} {}", new.formulas.metadata.id, new.formulas.metadata.version),
        predictions,
        changed: rows.len(),
        figures: family.numbers,
        bounds: family.classes,
        bounds_changed: rows.iter().filter(|row| row.bound_changed()).count(),
        summary: family.numbers.iter().filter_map(movement).collect(),
        rows,
    }
}
