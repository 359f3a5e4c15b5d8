//! `roofline predict`: what a model can reach on devices, with the formulas on demand.

pub mod chart;

use std::collections::BTreeMap;
use std::path::Path;

use roofline_contracts::contract::{Contract, Operand, Value};
use roofline_contracts::formula::{self, Kind};
use roofline_contracts::{check_in, library, suggest};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value as Json};

use crate::chart::Chart;
use crate::chart::html::WhatIf;
use crate::chart::terminal::Canvas;
use crate::contracts::hardware::devices::{ALL as DEVICES, Device};
use crate::contracts::quantization::formats;
use crate::contracts::transformer::{DecodeBound, Inputs, Outputs};
use crate::model::{Hyper, Model, by_name};
use crate::number::{figure, maybe};
use crate::predict::{self, NoPeak, Precision, Prediction, Target};
use crate::program::command::models;
use crate::program::command::predict::chart::Saved;
use crate::program::name::normal;
use crate::program::output::picture::{Page, Pictures};
use crate::program::require;
use crate::program::{Exit, Failure, cli, device, what_if};
use crate::report::{Checked, Report, Schema, Table};

/// The contract that predictions come from.
const CONTRACT: &str = "transformer-v1";
/// A longer sweep belongs to a program that uses the library.
const MOST_POINTS: usize = 10_000;
/// Tokens in the cache and in the prompt when nobody says how many.
const CONTEXT: f64 = 4096.0;
const PROMPT: f64 = 512.0;

/// What a requirement can name beside the contract's numbers.
const TEXTS: [&str; 5] = ["device", "precision", "decode_bound", "prefill_bound", "feasibility"];

/// What a model can reach on devices.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Predicted {
    /// Which schema this document follows.
    schema: Schema<Self>,
    /// The contract that the figures come from, and its version.
    contract: String,
    /// The model.
    model: Subject,
    /// What it is asked to do.
    workload: Workload,
    /// A prediction for each device, and for each point of a sweep.
    predictions: Vec<Entry>,
    /// Where decoding changes its bound in a sweep.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<Change>,
    /// Every equation with the numbers of the first prediction.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    explanation: Vec<Line>,
    /// What --require asked for.
    requirements: Vec<Checked>,
    /// The unit of each result.
    units: Map<String, Json>,
    /// What one should know about these figures.
    warnings: Vec<String>,
    /// The input that a sweep varies.
    #[serde(skip)]
    swept: Option<String>,
}

/// The model.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Subject {
    /// Its name, or its file.
    name: String,
    /// Where its dimensions come from.
    source: String,
    /// All parameters.
    parameters: f64,
    /// Parameters that one token uses.
    active_parameters: f64,
    /// The format of its weights.
    quant: String,
    /// Bits that one parameter takes.
    bits_per_weight: f64,
    /// The longest context, in tokens; null if not known.
    context_length: Option<u64>,
}

/// What the model is asked to do.
#[derive(Debug, Serialize, JsonSchema)]
struct Workload {
    /// Sequences that are computed together.
    batch: f64,
    /// Tokens of each sequence in the cache.
    context: f64,
    /// Tokens of the prompt.
    prompt: f64,
    /// Share of the arithmetic peak that is reached, 0 to 1.
    compute_efficiency: f64,
    /// Share of the bandwidth that is reached, 0 to 1.
    bandwidth_efficiency: f64,
    /// Bytes of one cached number.
    cache_bytes_per_element: f64,
}

/// One model on one device, at one point of a sweep.
#[derive(Debug, Serialize, JsonSchema)]
struct Entry {
    /// The device.
    device: String,
    /// The precision of its arithmetic.
    precision: &'static str,
    /// The value of what a sweep varies.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<f64>,
    /// Its arithmetic peak in GFLOP/s.
    compute_gflop_s: f64,
    /// Its memory bandwidth in GB/s.
    bandwidth_gb_s: f64,
    /// Its memory in GB; null if not known.
    capacity_gb: Option<f64>,
    /// Its power in W; null if not known.
    tdp_w: Option<f64>,
    /// Whether the model fits in its memory; null if that is not known.
    fits: Option<bool>,
    /// What holds decoding back: Memory, Compute or Overhead.
    decode_bound: &'static str,
    /// What holds the prompt back: Memory, Compute or Overhead.
    prefill_bound: &'static str,
    /// Every result of the contract under its name there; null where the device has no figure for it.
    results: Map<String, Json>,
    /// Where the device's figures come from.
    source: String,
    #[serde(skip)]
    prediction: Prediction,
}

/// Where decoding changes its bound in a sweep.
#[derive(Debug, Serialize, JsonSchema)]
struct Change {
    /// The device.
    device: String,
    /// The first value with the new bound.
    from: f64,
    /// The bound before.
    before: &'static str,
    /// The bound from there on.
    after: &'static str,
}

/// An equation with the numbers put in.
#[derive(Debug, Serialize, JsonSchema)]
struct Line {
    /// The equation.
    name: String,
    /// Its formula.
    formula: String,
    /// The formula with the numbers put in.
    numbers: String,
    /// Its value.
    value: f64,
    /// Its unit.
    unit: String,
    /// File and line of the contract.
    place: String,
}

/// Predicts, and exits with 1 when a requirement does not hold.
pub fn run(args: &cli::Predict) -> Result<Exit, Failure> {
    let numbers: Vec<&str> = Inputs::NAMES.into_iter().chain(Outputs::NAMES).collect();
    let gates = require::parse(&args.require, &numbers, &TEXTS)?;
    let pictures = Pictures::open(&args.pictures)?;
    let mut warnings = Vec::new();
    let (mut subject, inputs) = subject(args, &mut warnings)?;
    let inputs = workload(args, inputs, &subject, &mut warnings)?;
    subject.bits_per_weight = inputs.bits_per_weight;
    let targets = targets(args, &mut warnings)?;
    let sweep = args.sweep.as_deref().map(Sweep::parse).transpose()?;
    let points = targets.len() * sweep.as_ref().map_or(1, |sweep| sweep.values.len());
    if points > MOST_POINTS {
        return Err(Failure(format!("{points} predictions; at most {MOST_POINTS} are made at once")));
    }
    let mut predictions = Vec::new();
    let mut changes = Vec::new();
    for target in &targets {
        let Some(sweep) = &sweep else {
            predictions.push(entry(target, None, predict::predict(inputs, target)?));
            continue;
        };
        let at = |value: f64| predict::predict(sweep.set(inputs, value), target);
        for &value in &sweep.values {
            predictions.push(entry(target, Some(value), at(value)?));
        }
        for pair in sweep.values.windows(2) {
            let bound = |value: f64| at(value).ok().map(|prediction| prediction.outputs.decode_bound);
            if let (Some(from), Some(before), Some(after)) =
                (predict::crossing(pair[0], pair[1], bound), bound(pair[0]), bound(pair[1]))
            {
                let (before, after) = (before.name(), after.name());
                changes.push(Change { device: target.name.clone(), from, before, after });
            }
        }
    }
    if let Some(first) = predictions.first() {
        let outputs = first.prediction.outputs;
        (subject.parameters, subject.active_parameters) = (outputs.total_params, outputs.active_params);
    }
    let several = targets.len() > 1;
    let mut requirements = Vec::new();
    for entry in &predictions {
        let mut of = if several { entry.device.clone() } else { String::new() };
        if let (Some(sweep), Some(at)) = (&sweep, entry.at) {
            of = format!("{} {}={at}", entry.device, sweep.name);
        }
        requirements.extend(require::check(&gates, &of, &entry.named()));
    }
    let source = library::built_in(CONTRACT).and_then(|source| check_in(source, None).contract);
    let contract = source.ok_or_else(|| Failure(format!("{CONTRACT}: the built-in contract is damaged")))?;
    let units = contract.equations.iter().map(|e| (e.name.clone(), Json::from(e.unit_text.clone())));
    let explanation = match predictions.first().filter(|_| args.explain) {
        Some(first) => explain(&contract, &first.prediction),
        None => Vec::new(),
    };
    if args.explain && predictions.len() > 1 {
        warnings.push("the explanation is that of the first prediction".into());
    }
    let report = Predicted {
        schema: Schema::new(),
        contract: format!("{CONTRACT} {}", contract.metadata.version),
        model: subject,
        workload: Workload {
            batch: inputs.batch,
            context: inputs.context,
            prompt: inputs.prompt,
            compute_efficiency: inputs.compute_efficiency,
            bandwidth_efficiency: inputs.bandwidth_efficiency,
            cache_bytes_per_element: inputs.cache_size,
        },
        predictions,
        changes,
        explanation,
        requirements,
        units: units.collect(),
        warnings,
        swept: sweep.map(|sweep| sweep.name),
    };
    for warning in &report.warnings {
        eprintln!("warning: {warning}");
    }
    let chart = || report.chart();
    let page = || Ok(Page { chart: chart()?, what_if: report.what_if()? });
    pictures.show_with(&report, &chart()?, args.format, false, page)?;
    Ok(require::exit(&report.requirements))
}

/// The model that was asked for, and its dimensions as the contract takes them.
fn subject(args: &cli::Predict, warnings: &mut Vec<String>) -> Result<(Subject, Inputs), Failure> {
    let named = |name: String, source: String, context_length, inputs: Inputs| {
        let subject = Subject {
            name,
            source,
            parameters: 0.0,
            active_parameters: 0.0,
            quant: args.quant.clone().unwrap_or_else(|| "f16".into()),
            bits_per_weight: inputs.bits_per_weight,
            context_length,
        };
        Ok((subject, inputs))
    };
    match (&args.model, args.params) {
        (Some(_), Some(_)) => Err(Failure("give a model or --params, not both".into())),
        (None, None) => {
            Err(Failure("name a model, or give --params; `roofline models` lists the known ones".into()))
        }
        (None, Some(params)) => {
            warnings.push(
                "only the number of parameters is known: no KV cache, no attention, no activations".into(),
            );
            named(format!("{params} parameters"), "--params".into(), None, predict::dense(params))
        }
        (Some(name), None) => {
            let known = by_name(&normal(name));
            if let Some(known) = known {
                let hyper = Hyper::of_known(known).map_err(|fault| Failure(format!("{name}: {fault}")))?;
                let source = format!("{}, as of {}", known.source, known.as_of);
                return named(known.name.into(), source, hyper.context_length, predict::inputs(&hyper)?);
            }
            let path = Path::new(name);
            if !path.exists() {
                return Err(models::unknown(name));
            }
            let model = if args.headers_only { Model::open_headers(path) } else { Model::open(path) }?;
            warnings.extend(model.warnings.iter().cloned());
            let mut inputs = predict::inputs_of(&model.architecture)?;
            let stored = model.bytes().filter(|bytes| *bytes > 0 && args.quant.is_none());
            let (mut subject, _) =
                named(name.clone(), name.clone(), model.architecture.context_length, inputs)?;
            if let Some(bytes) = stored {
                inputs.bits_per_weight = predict::stored_bits(bytes as f64, model.parameters() as f64)?;
                subject.quant = "as stored".into();
            }
            Ok((subject, inputs))
        }
    }
}

/// The block format of this name; `fp16` is `f16`.
fn format(name: &str, flag: &str) -> Result<&'static formats::Format, Failure> {
    let wanted = normal(name);
    let short =
        wanted.strip_prefix('f').and_then(|rest| rest.strip_prefix('p')).map(|bits| format!("f{bits}"));
    formats::by_name(short.as_deref().unwrap_or(&wanted)).ok_or_else(|| {
        let known: Vec<&str> = formats::ALL.iter().map(|format| format.name).collect();
        let near = suggest::closest(&wanted, known.iter().copied());
        let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        Failure(format!("{flag} {name}: no such format; {near}there are {}", known.join(", ")))
    })
}

/// The inputs with everything that the arguments say about the work.
fn workload(
    args: &cli::Predict,
    mut inputs: Inputs,
    subject: &Subject,
    warnings: &mut Vec<String>,
) -> Result<Inputs, Failure> {
    if let Some(quant) = &args.quant {
        inputs.bits_per_weight = predict::bits_per_weight(format(quant, "--quant")?)?;
    }
    let cache = format(&args.cache, "--cache")?;
    inputs.cache_size = predict::bytes_per_number(cache)?;
    inputs.batch = args.batch;
    let longest = subject.context_length.map(|tokens| tokens as f64);
    (inputs.context, inputs.prompt) = lengths(args.context, args.prompt, longest, warnings);
    inputs.compute_efficiency = args.efficiency;
    inputs.bandwidth_efficiency = args.bandwidth_efficiency;
    inputs.overhead = args.overhead.unwrap_or(0.0);
    Ok(inputs)
}

/// Tokens in the cache and in the prompt, for a model that was made for this many.
pub fn lengths(
    context: Option<f64>,
    prompt: Option<f64>,
    longest: Option<f64>,
    warnings: &mut Vec<String>,
) -> (f64, f64) {
    let context = context.unwrap_or_else(|| longest.map_or(CONTEXT, |longest| longest.min(CONTEXT)));
    if let Some(longest) = longest.filter(|longest| context > *longest) {
        warnings.push(format!(
            "a context of {context} is longer than the {longest} tokens that the model was made for"
        ));
    }
    (context, prompt.unwrap_or_else(|| context.min(PROMPT)))
}

/// The precision of this name.
pub fn precision(name: &str) -> Result<Precision, Failure> {
    Precision::by_name(&normal(name)).ok_or_else(|| {
        let known = Precision::ALL.map(Precision::name).join(", ");
        Failure(format!("--precision {name}: no such precision; there are {known}"))
    })
}

fn targets(args: &cli::Predict, warnings: &mut Vec<String>) -> Result<Vec<Target>, Failure> {
    let precision = args.precision.as_deref().map(precision).transpose()?;
    let names: Vec<&str> = if args.all_devices {
        let has_peak = |device: &&Device| precision.is_some() || device.compute.is_some();
        let names: Vec<&str> = DEVICES.iter().filter(has_peak).map(|device| device.name).collect();
        if names.len() < DEVICES.len() {
            let count = DEVICES.len() - names.len();
            warnings.push(format!("left out: {count} devices whose 16-bit peak nobody publishes"));
        }
        names
    } else {
        args.on.iter().map(String::as_str).collect()
    };
    if names.is_empty() {
        let list = "`roofline devices` lists them";
        return Err(Failure(format!(
            "say which device with --on DEVICE, --on this or --all-devices; {list}"
        )));
    }
    let mut found = Vec::new();
    for name in names {
        let target: Box<dyn Fn(Option<Precision>) -> Result<Target, NoPeak>> = if name == "this" {
            let machine = device::this(&args.measuring)?;
            Box::new(move |precision| Target::measured(&machine, precision))
        } else {
            let device = device::find(name)?;
            Box::new(move |precision| Target::of(device, precision))
        };
        match target(precision) {
            Ok(target) => found.push(target),
            Err(lacks) if args.allow_fallback => {
                let target = target(None)?;
                warnings.push(format!("{lacks}; its {} peak stands in", target.precision));
                found.push(target);
            }
            // Among all devices those that lack the precision are simply not candidates.
            Err(lacks) if args.all_devices => warnings.push(format!("left out: {lacks}")),
            Err(lacks) => {
                let hint = "--allow-fallback takes the peak that models usually run at";
                return Err(Failure(format!("{lacks}; {hint}")));
            }
        }
    }
    if found.is_empty() {
        return Err(Failure("no device has a peak for this precision".into()));
    }
    Ok(found)
}

/// The values that one input takes, in ascending order.
struct Sweep {
    name: String,
    values: Vec<f64>,
}

impl Sweep {
    const NAMES: [&str; 5] = ["batch", "context", "prompt", "efficiency", "bits"];

    /// Parses `batch=1,2,4..64`: single values, and ranges that double from one end to the other.
    fn parse(text: &str) -> Result<Sweep, Failure> {
        let wrong = |why: String| Failure(format!("--sweep {text}: {why}"));
        let (name, list) = text.split_once('=').ok_or_else(|| wrong("write NAME=1,2,4..64".into()))?;
        if !Sweep::NAMES.contains(&name) {
            return Err(wrong(format!("`{name}` can't be swept; {} can", Sweep::NAMES.join(", "))));
        }
        let number = |text: &str| match text.trim().parse::<f64>() {
            Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
            _ => Err(wrong(format!("`{}` is not a number above zero", text.trim()))),
        };
        let mut values = Vec::new();
        for part in list.split(',') {
            match part.split_once("..") {
                None => values.push(number(part)?),
                Some((low, high)) => {
                    let (mut value, high) = (number(low)?, number(high)?);
                    while value <= high && values.len() <= MOST_POINTS {
                        values.push(value);
                        value *= 2.0;
                    }
                }
            }
        }
        if values.is_empty() || values.len() > MOST_POINTS {
            return Err(wrong(format!("a sweep has 1 to {MOST_POINTS} values")));
        }
        values.sort_by(f64::total_cmp);
        values.dedup();
        Ok(Sweep { name: name.to_owned(), values })
    }

    fn set(&self, inputs: Inputs, value: f64) -> Inputs {
        match self.name.as_str() {
            "batch" => Inputs { batch: value, ..inputs },
            "context" => Inputs { context: value, ..inputs },
            "prompt" => Inputs { prompt: value, ..inputs },
            "efficiency" => Inputs { compute_efficiency: value, ..inputs },
            _ => Inputs { bits_per_weight: value, ..inputs },
        }
    }
}

fn entry(target: &Target, at: Option<f64>, prediction: Prediction) -> Entry {
    let outputs = prediction.outputs;
    let mut results: Map<String, Json> = Outputs::NAMES
        .iter()
        .zip(outputs.to_array())
        .map(|(name, value)| ((*name).to_owned(), value.into()))
        .collect();
    if prediction.token_energy.is_none() {
        results.insert("token_energy".into(), Json::Null);
    }
    Entry {
        device: target.name.clone(),
        precision: target.precision.name(),
        at,
        compute_gflop_s: target.compute,
        bandwidth_gb_s: target.bandwidth,
        capacity_gb: target.capacity,
        tdp_w: target.tdp,
        fits: prediction.fits,
        decode_bound: outputs.decode_bound.name(),
        prefill_bound: outputs.prefill_bound.name(),
        results,
        source: target.source.clone(),
        prediction,
    }
}

impl Entry {
    /// Everything that a requirement may name.
    fn named(&self) -> BTreeMap<&'static str, Value> {
        let (inputs, outputs) = (&self.prediction.inputs, &self.prediction.outputs);
        let numbers =
            Inputs::NAMES.iter().zip(inputs.to_array()).chain(Outputs::NAMES.iter().zip(outputs.to_array()));
        let mut named: BTreeMap<&'static str, Value> =
            numbers.map(|(name, value)| (*name, Value::Number(value))).collect();
        let maybe = |value: Option<f64>| value.map_or(Value::Absent, Value::Number);
        named.insert("token_energy", maybe(self.prediction.token_energy));
        named.insert("capacity", maybe(self.capacity_gb));
        named.insert("tdp", maybe(self.tdp_w));
        let feasibility = self.fits.map(|_| outputs.feasibility.name());
        let texts = [
            Some(self.device.as_str()),
            Some(self.precision),
            Some(self.decode_bound),
            Some(self.prefill_bound),
            feasibility,
        ];
        let text = |text: Option<&str>| text.map_or(Value::Absent, |text| Value::Text(text.to_owned()));
        named.extend(TEXTS.into_iter().zip(texts.map(text)));
        named
    }
}

/// Every equation in the order in which it is computed, with the numbers put in.
fn explain(contract: &Contract, prediction: &Prediction) -> Vec<Line> {
    let numbers: BTreeMap<&str, f64> = (Inputs::NAMES.iter().copied().zip(prediction.inputs.to_array()))
        .chain(Outputs::NAMES.iter().copied().zip(prediction.outputs.to_array()))
        .collect();
    // The widths of one layer are summed over all layers before they come here.
    let of_layers =
        |name: &str| matches!(name, "layer_width" | "latent_width" | "layer_mixing" | "latent_mixing");
    let line = |&index: &usize| {
        let equation = &contract.equations[index];
        let known = equation.expression.operands.iter().all(|(name, operand)| match operand {
            Operand::Quantity(quantity) => {
                let origin = contract.quantities[*quantity].origin.as_deref();
                !(origin.is_none() && name == "tdp" && prediction.token_energy.is_none())
            }
            Operand::Equation(_) => true,
        });
        if of_layers(&equation.name) || !known {
            return None;
        }
        let home = contract.home(equation.origin.as_deref());
        let parsed = &equation.expression.formula;
        let mut names: Vec<(usize, usize, &str)> = parsed
            .nodes
            .iter()
            .filter_map(|node| match &node.kind {
                Kind::Name(name) => Some((node.span.start, node.span.end, name.as_str())),
                _ => None,
            })
            .collect();
        names.sort_unstable();
        let top = parsed.top().span;
        let (mut text, mut at) = (String::new(), top.start);
        for (start, end, name) in names {
            text += home.source.text.get(at..start).unwrap_or_default();
            text += &numbers.get(name).map_or_else(|| name.to_owned(), |value| short(*value));
            at = end;
        }
        text += home.source.text.get(at..top.end).unwrap_or_default();
        Some(Line {
            name: equation.name.clone(),
            formula: parsed.to_string(),
            numbers: text,
            value: numbers.get(equation.name.as_str()).copied()?,
            unit: equation.unit_text.clone(),
            place: home.line(equation.span),
        })
    };
    contract.order.iter().filter_map(line).collect()
}

/// A number that is short enough for a formula and still exact enough to follow it.
fn short(value: f64) -> String {
    let exact = formula::number(value);
    // Six digits are read, not copied; JSON has them all.
    let rounded = || format!("{value:.5e}").parse().map_or(exact.clone(), formula::number);
    if exact.len() <= 9 { exact.clone() } else { rounded() }
}

/// Bytes as GB.
fn gigabytes(bytes: f64) -> String {
    figure(bytes / 1e9)
}

impl Predicted {
    fn chart(&self) -> Result<Chart, Failure> {
        let saved: Saved = serde_json::from_value(serde_json::to_value(self)?)?;
        Ok(saved.chart())
    }

    /// Sliders for batch, context and prompt; none where a sweep has moved them already.
    fn what_if(&self) -> Result<Option<WhatIf>, Failure> {
        if self.swept.is_some() {
            return Ok(None);
        }
        let inputs: Vec<Inputs> = self.predictions.iter().map(|entry| entry.prediction.inputs).collect();
        let device = self.predictions.first().filter(|_| inputs.len() > 1);
        what_if::predictions(self.model.context_length, device.map(|entry| entry.device.as_str()), &inputs)
    }

    fn main(&self) -> Table {
        let mut headings = vec!["device", "precision"];
        headings.extend(self.swept.as_deref());
        headings.extend([
            "fits",
            "weights_gb",
            "cache_gb",
            "total_gb",
            "bandwidth_ceiling",
            "compute_ceiling",
            "decode_tokens_per_s",
            "prefill_tokens_per_s",
            "time_to_first_token_s",
            "j_per_token",
            "decode_bound",
            "prefill_bound",
        ]);
        let row = |entry: &Entry| {
            let outputs = &entry.prediction.outputs;
            let mut row = vec![entry.device.clone(), entry.precision.to_owned()];
            row.extend(entry.at.map(formula::number));
            row.extend([
                entry.fits.map_or("-", |fits| if fits { "yes" } else { "no" }).to_owned(),
                gigabytes(outputs.weight_bytes),
                gigabytes(outputs.cache_bytes),
                gigabytes(outputs.footprint),
                figure(outputs.bandwidth_ceiling),
                figure(outputs.compute_ceiling),
                figure(outputs.decode_tokens_per_s),
                figure(outputs.prefill_tokens_per_s),
                figure(outputs.time_to_first_token),
                maybe(entry.prediction.token_energy),
                entry.decode_bound.to_owned(),
                entry.prefill_bound.to_owned(),
            ]);
            row
        };
        Table {
            title: String::new(),
            headings: headings.into_iter().map(str::to_owned).collect(),
            rows: self.predictions.iter().map(row).collect(),
        }
    }

    /// The main table with headings that fit on a terminal.
    fn narrow(&self) -> Table {
        let mut table = self.main();
        for heading in &mut table.headings {
            let short = match heading.as_str() {
                "weights_gb" => "weights",
                "cache_gb" => "KV",
                "total_gb" => "GB",
                "bandwidth_ceiling" => "bw tok/s",
                "compute_ceiling" => "flop tok/s",
                "decode_tokens_per_s" => "decode",
                "prefill_tokens_per_s" => "prefill",
                "time_to_first_token_s" => "first s",
                "j_per_token" => "J/tok",
                "decode_bound" => "bound",
                "prefill_bound" => "prefill bound",
                _ => continue,
            };
            *heading = short.to_owned();
        }
        table
    }

    /// One prediction for people: what it is, then what it means.
    fn single(&self, entry: &Entry) -> String {
        let outputs = &entry.prediction.outputs;
        let gb = |bytes: f64| format!("{} GB", gigabytes(bytes));
        let fits = match (entry.fits, entry.capacity_gb) {
            (Some(true), Some(capacity)) => format!("fits in {} GB", figure(capacity)),
            (Some(false), Some(capacity)) => format!("does not fit in {} GB", figure(capacity)),
            _ => "the device's memory is not known".to_owned(),
        };
        let rows = [
            (
                "weights",
                gb(outputs.weight_bytes),
                format!("{} bits a parameter", figure(self.model.bits_per_weight)),
            ),
            (
                "KV cache",
                gb(outputs.cache_bytes),
                format!("{} x {} tokens", self.workload.batch, self.workload.context),
            ),
            ("footprint", gb(outputs.footprint), fits),
            (
                "bandwidth ceiling",
                rate(outputs.bandwidth_ceiling),
                format!("{} GB/s", figure(entry.bandwidth_gb_s)),
            ),
            (
                "compute ceiling",
                rate(outputs.compute_ceiling),
                format!("{} Gflop/s in {}", figure(entry.compute_gflop_s), entry.precision),
            ),
            ("decode", rate(outputs.decode_tokens_per_s), because(entry.decode_bound)),
            ("prefill", rate(outputs.prefill_tokens_per_s), because(entry.prefill_bound)),
            (
                "first token",
                format!("{} s", figure(outputs.time_to_first_token)),
                format!("after a prompt of {} tokens", self.workload.prompt),
            ),
            (
                "energy",
                entry
                    .prediction
                    .token_energy
                    .map_or("-".into(), |joule| format!("{} J/token", figure(joule))),
                entry.tdp_w.map_or("the device's power is not published".into(), |watt| {
                    format!("{} W", figure(watt))
                }),
            ),
        ];
        let width = |column: fn(&(&str, String, String)) -> usize| rows.iter().map(column).max().unwrap_or(0);
        let (first, second) = (width(|row| row.0.len()), width(|row| row.1.len()));
        rows.iter().map(|(name, value, note)| format!("{name:<first$}  {value:>second$}  {note}\n")).collect()
    }

    fn explained(&self) -> Table {
        let rows = self.explanation.iter().map(|line| {
            vec![
                line.name.clone(),
                line.formula.clone(),
                line.numbers.clone(),
                short(line.value),
                line.unit.clone(),
                line.place.clone(),
            ]
        });
        let headings = ["equation", "formula", "with_numbers", "value", "unit", "place"];
        Table {
            title: "Equations".into(),
            headings: headings.map(str::to_owned).to_vec(),
            rows: rows.collect(),
        }
    }
}

fn rate(value: f64) -> String {
    format!("{} tok/s", figure(value))
}

/// What holds it back, in words.
pub fn because(bound: &str) -> String {
    match bound {
        _ if bound == DecodeBound::Memory.name() => "held back by memory".into(),
        _ if bound == DecodeBound::Compute.name() => "held back by arithmetic".into(),
        _ => "held back by dispatch".into(),
    }
}

impl Report for Predicted {
    const SCHEMA: &'static str = "roofline.predict/1";

    fn text(&self, _: &Canvas) -> String {
        let model = &self.model;
        let active = if model.active_parameters < 0.9 * model.parameters {
            format!(", {} for a token", figure(model.active_parameters))
        } else {
            String::new()
        };
        let mut out =
            format!("{}: {} parameters{active}, {}\n", model.name, figure(model.parameters), model.quant);
        out += &match self.predictions.as_slice() {
            [entry] => format!("on {} ({})\n\n{}", entry.device, entry.source, self.single(entry)),
            _ => format!("\n{}", self.narrow().text()),
        };
        for change in &self.changes {
            let name = self.swept.as_deref().unwrap_or_default();
            out += &format!(
                "{}: from {name} {} on decoding is bound by {}, before by {}\n",
                change.device, change.from, change.after, change.before
            );
        }
        for line in &self.explanation {
            let unit = if line.unit == "1" { String::new() } else { format!(" {}", line.unit) };
            out += &format!(
                "\n{} = {}\n    = {}\n    = {}{unit}    {}\n",
                line.name,
                line.formula,
                line.numbers,
                short(line.value),
                line.place
            );
        }
        out
    }

    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.main()];
        if !self.explanation.is_empty() {
            tables.push(self.explained());
        }
        tables
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_lists_values_and_doubles_ranges() {
        let values = |text: &str| Sweep::parse(text).map(|sweep| sweep.values).map_err(|failure| failure.0);
        assert_eq!(values("batch=1,2,4..64"), Ok(vec![1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]));
        assert_eq!(values("context=8,1,8"), Ok(vec![1.0, 8.0]));
        for (text, expected) in [
            ("batch", "write NAME=1,2,4..64"),
            ("speed=1", "`speed` can't be swept"),
            ("batch=1,x", "`x` is not a number above zero"),
            ("batch=0", "`0` is not a number above zero"),
            ("batch=nan", "`nan` is not a number above zero"),
            ("batch=8..4", "a sweep has 1 to"),
        ] {
            let error = values(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
