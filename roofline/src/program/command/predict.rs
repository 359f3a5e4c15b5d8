//! `roofline predict`: what a model can reach on devices, with the formulas on demand.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use roofline_contracts::condition::Known;
use roofline_contracts::contract::Contract;
use roofline_contracts::formula::Kind;
use roofline_contracts::{check_in, library, suggest};

use crate::chart::bars::{Bar, Bars};
use crate::chart::html::{Page, WhatIf};
use crate::contracts::choice;
use crate::contracts::hardware::devices::Device;
use crate::contracts::quantization::formats;
use crate::contracts::transformer::{CONTRACT, Inputs};
use crate::device::Chosen;
use crate::model::{Hyper, Mix, Model, Operation, by_name};
use crate::predict::{
    self, Entry, Line, MOST_POINTS, Numbers, Precision, Predicted, Stored, Subject, Swept, Target, Workload,
};
use crate::profile;
use crate::program::command::eval;
use crate::program::command::models;
use crate::program::command::plan::question;
use crate::program::device::{Files, Measuring, On};
use crate::program::expected::{ModelTraits, missing};
use crate::program::name::normal;
use crate::program::output::picture::{self, Pictures};
use crate::program::select::Row;
use crate::program::{Exit, Failure, cli, device, output, require, select, what_if};
use crate::report::Report;
use roofline_render::number::short;
use roofline_render::text::file_name;
use roofline_render::written::tokens;

/// Dollars for each token per second, which the contract `choice-v1` computes.
const PRICE_PER_SPEED: &str = "price_per_speed";

/// Tokens in the cache and in the prompt when nobody says how many.
const CONTEXT: f64 = 4096.0;
const PROMPT: f64 = 512.0;

/// Predicts, and exits with 1 when a requirement does not hold.
pub fn run(args: &cli::Predict) -> Result<Exit, Failure> {
    if question::is_asked(args) {
        return question::run(args);
    }
    if let Some(flops) = args.flops {
        return inference(args, flops);
    }
    let names = require::Names::of::<Predicted>();
    if names.help(&args.require)? || args.expecting.help()? {
        return Ok(Exit::Fine);
    }
    let gates = names.parse("--require", &args.require)?;
    let mut names = names;
    select::device_names(&mut names);
    names.number(PRICE_PER_SPEED, "s/token");
    if args.select.help(&names)? {
        return Ok(Exit::Fine);
    }
    names.parse("--where", &args.select.conditions)?;
    let pictures = Pictures::open(&args.pictures)?;
    let (mut predicted, devices) = predicted(args)?;
    if args.select.is_asked() {
        let rows: Result<Vec<Row>, Failure> =
            predicted.predictions.iter().map(|entry| row(entry, &devices)).collect();
        let rows = rows?;
        let order = args.select.rows(&names, &rows)?;
        if order.is_empty() {
            output::say("no prediction meets --where");
            return Ok(Exit::Failed);
        }
        let kept: Vec<&Row> = order.iter().map(|&index| &rows[index]).collect();
        predicted.shown = args.select.table(&names, "device", &kept)?;
        predicted.predictions = order.iter().map(|&index| predicted.predictions[index].clone()).collect();
    }
    predicted.requirements = require::check_report(&gates, &predicted);
    for warning in &predicted.warnings {
        output::say(&format!("warning: {warning}"));
    }
    let bars = bars(&predicted);
    let page = || {
        let what_if = what_if(&predicted)?;
        Ok(Page { what_if, bars: bars.to_vec(), ..picture::page(&predicted) })
    };
    // More roofs than these are a tangle in one picture, and tokens per second by device say more.
    if bars[0].bars.len() > ROOFS && predicted.swept.is_none() {
        pictures.show_bars(&predicted, &bars[0], args.format, page)?;
    } else {
        let chart = predicted.chart().unwrap_or_default();
        pictures.show_with(&predicted, &chart, args.format, false, page)?;
    }
    Ok(require::exit(&predicted.requirements))
}

/// Of a model that makes no tokens: what `roofline eval inference-latency-v1` says of it, on the devices asked for.
fn inference(args: &cli::Predict, flops: f64) -> Result<Exit, Failure> {
    let size = predict::bytes_per_number(format(args.quant.as_deref().unwrap_or("f16"), "--quant")?)?;
    let set = [
        ("total_params", args.params.unwrap_or(1.0)),
        ("param_size", size),
        ("sample_flops", flops),
        ("batch", args.batch),
        ("efficiency", args.efficiency),
        ("overhead", args.overhead.unwrap_or(0.0)),
    ];
    let contract = "inference-latency-v1".to_owned();
    let On { on, files } = &args.devices;
    let on = if on.is_empty() { vec!["this".to_owned()] } else { on.clone() };
    let Measuring { quick, refresh, no_cache, threads, size, isa } = &args.measuring;
    eval::run(&cli::Eval {
        contract,
        set: set.iter().map(|(name, value)| format!("{name}={value}")).collect(),
        profile: None,
        devices: On { on, files: Files { devices: files.devices.clone() } },
        measuring: Measuring {
            quick: *quick,
            refresh: *refresh,
            no_cache: *no_cache,
            threads: *threads,
            size: *size,
            isa: isa.clone(),
        },
        require: args.require.clone(),
        format: args.format,
    })
}

/// What a condition or a column may say of a prediction: what the contract computes, and what the registry knows.
fn row(entry: &Entry, devices: &[&'static Device]) -> Result<Row, Failure> {
    let device = devices.iter().find(|device| device.name == entry.device);
    let mut row = device.map(|device| select::device_row(device)).unwrap_or_default();
    let value = |name: &str| entry.figure(name);
    for name in Predicted::FIGURES {
        row.insert(name, value(name).map_or(Known::Absent, Known::Number));
    }
    let text = |text: &dyn ToString| Known::Text(text.to_string().into());
    row.insert("device", text(&entry.device));
    row.insert("decode_bound", text(&entry.decode_bound));
    row.insert("prefill_bound", text(&entry.prefill_bound));
    row.insert("fits", entry.fits.map_or(Known::Absent, Known::Truth));
    let price = device.and_then(|device| device.launch_price_usd);
    if let (Some(price), Some(speed)) = (price, entry.result("decode_ceiling")) {
        let cost = choice::Inputs::new(price, speed, 0.0, 0.0).evaluate()?;
        row.insert(PRICE_PER_SPEED, Known::Number(cost.price_per_speed));
    }
    Ok(row)
}

/// The most roofs in one picture.
const ROOFS: usize = 8;

/// Tokens per second by device, and by the points of a sweep: of decoding, and of the prompt.
fn bars(predicted: &Predicted) -> [Bars; 2] {
    let Workload { batch, context, prompt, .. } = predicted.workload;
    let of = |decode: bool| {
        let result = if decode { "decode_ceiling" } else { "prefill_ceiling" };
        let bar = |(index, entry): (usize, &Entry)| Bar {
            name: predicted.place(entry),
            value: entry.result(result).unwrap_or(0.0),
            stressed: entry.fits != Some(false),
            band: entry.expected().and_then(|expected| expected.band(decode)),
            note: if entry.fits == Some(false) { "does not fit".into() } else { String::new() },
            point: Some(2 * index + usize::from(!decode)),
            ..Bar::default()
        };
        let mut bars: Vec<Bar> = predicted.predictions.iter().enumerate().map(bar).collect();
        if predicted.swept.is_none() {
            bars.sort_by(|a, b| b.value.total_cmp(&a.value));
        }
        let (part, work) = match decode {
            true => ("decoding", format!("{context} tokens in the cache")),
            false => ("the prompt", format!("{prompt} tokens")),
        };
        let model = file_name(&predicted.model.name);
        Bars {
            title: format!("{model}, {}: tokens per second by device", predicted.model.quant),
            subtitle: match predicted.swept {
                None => format!("ceilings of {part}, and what to expect as lines: batch {batch}, {work}"),
                Some(swept) => {
                    format!("ceilings of {part}, and what to expect as lines, by {}", swept.name())
                }
            },
            unit: "token/s".into(),
            result: Some(result.to_owned()),
            doubt: Some(("feasibility".into(), "TooLarge".into())),
            bars,
            ..Bars::default()
        }
    };
    [of(true), of(false)]
}

/// What is asked: a model and the work.
pub struct Asked {
    /// The model.
    pub subject: Subject,
    /// Its dimensions and the work, as the contract takes them.
    pub inputs: Inputs,
    /// How its numbers are stored.
    pub stored: Stored,
    /// Its layers; none where only the number of parameters is known.
    pub layers: Option<f64>,
}

/// What the arguments ask.
pub fn asked(args: &cli::Predict, warnings: &mut Vec<String>) -> Result<Asked, Failure> {
    let (subject, inputs, mut stored, layers) = subject(args, args.model.as_deref(), args.params, warnings)?;
    let inputs = workload(args, inputs, &mut stored, &subject, warnings)?;
    Ok(Asked { subject, inputs, stored, layers })
}

/// The predictions that the arguments ask for, and the devices of the registry among those they are for.
fn predicted(args: &cli::Predict) -> Result<(Predicted, Vec<&'static Device>), Failure> {
    let mut warnings = Vec::new();
    let expecter = args.expecting.read()?;
    let Asked { subject, inputs, stored, layers } = asked(args, &mut warnings)?;
    let found = targets(args, args.all_devices, &mut warnings)?;
    let entries: Vec<Option<&'static Device>> = found.iter().map(|(_, device)| *device).collect();
    let targets: Vec<Target> = found.into_iter().map(|(target, _)| target).collect();
    let sweeps = args.sweep.iter().map(|text| sweep(text)).collect::<Result<Vec<_>, _>>()?;
    let points: usize = sweeps.iter().map(|(_, values)| values.len()).product();
    if targets.len() * points > MOST_POINTS {
        let points = targets.len() * points;
        return Err(Failure(format!("{points} predictions; at most {MOST_POINTS} are made at once")));
    }
    let sweep_of = |index: usize| sweeps.get(index).map(|(swept, values)| (*swept, values.as_slice()));
    let axes = match sweeps.as_slice() {
        [] | [_] => [sweep_of(0), None],
        [one, other] if one.0 != other.0 => [sweep_of(0), sweep_of(1)],
        [one, _] => return Err(Failure(format!("--sweep: {} is swept twice", one.0.name()))),
        _ => return Err(Failure("--sweep: two inputs can be swept at once, and no more".into())),
    };
    let subject = match axes.into_iter().flatten().find(|(swept, _)| *swept == Swept::Bits) {
        Some((_, [bits])) => Subject { quant: format!("{bits} bits"), bits_per_weight: *bits, ..subject },
        Some(_) => Subject { quant: "bits as swept".into(), ..subject },
        None => subject,
    };
    let mut predicted = Predicted::new(subject, (inputs, &stored), &normal(&args.cache), &targets, axes)?;
    let (model, format) = (predicted.model.name.clone(), predicted.model.quant.clone());
    let work = ModelTraits { name: &model, format: &format, layers };
    let each = predicted.predictions.chunks_mut(points).zip(targets.iter().zip(&entries));
    for (chunk, (target, device)) in each {
        for entry in chunk {
            let places = axes.iter().flatten().zip([entry.at, entry.across].into_iter().flatten());
            let at = places.fold(inputs, |inputs, ((swept, _), value)| swept.set(inputs, value));
            let prediction = predict::predict(at, &stored, target)?;
            let expected = expecter.expect(&work, target, *device, &prediction);
            // Of several devices some may not be calibrated.
            let expected = if targets.len() > 1 { expected.unwrap_or_else(missing) } else { expected? };
            entry.expected = Some(expected);
        }
    }
    let expected = predicted.predictions.iter();
    let expected = expected.filter_map(|entry| Some((entry.device.as_str(), entry.expected.as_ref()?)));
    predicted.expectations = expecter.sentences(expected);
    if let Some(first) = predicted.predictions.first().filter(|_| args.explain) {
        let contract = library::built_in(CONTRACT.id).and_then(|source| check_in(source, None).contract);
        let contract =
            contract.ok_or_else(|| Failure(format!("{}: the built-in contract is damaged", CONTRACT.id)))?;
        predicted.explanation = explain(&contract, first);
        if predicted.predictions.len() > 1 {
            warnings.push("the explanation is that of the first prediction".into());
        }
    }
    for target in &targets {
        warnings.extend(target.doubts.iter().cloned());
    }
    predicted.warnings = warnings;
    Ok((predicted, entries.into_iter().flatten().collect()))
}

/// A model by its name or its number of parameters: its dimensions as the contract takes them, how its numbers are stored, and
/// its layers.
pub fn subject(
    args: &cli::Predict,
    model: Option<&str>,
    params: Option<f64>,
    warnings: &mut Vec<String>,
) -> Result<(Subject, Inputs, Stored, Option<f64>), Failure> {
    let named = |name: String, source: String, context_length| Subject {
        name,
        source,
        parameters: 0.0,
        active_parameters: 0.0,
        quant: args.quant.as_deref().map_or_else(|| "f16".into(), normal),
        bits_per_weight: 0.0,
        context_length,
    };
    let quant = args.quant.as_deref().map(|quant| written(quant, "--quant")).transpose()?;
    // What is known by its dimensions alone has all its weights in one format, or each kind of matrix in its own.
    let in_format = |subject: Subject, inputs: Inputs, operations: Option<&[Operation]>| {
        let layers = operations.map(layers);
        match (&quant, operations) {
            (Some(Written::Mix(mix)), Some(operations)) => {
                let (inputs, stored) = predict::inputs_in(mix, operations)?;
                Ok((subject, inputs, stored, layers))
            }
            (Some(written), _) => {
                let format = written.format().ok_or_else(|| {
                    Failure(format!(
                        "--quant {}: a mix gives each kind of matrix its own type, and of the model only the number of \
                         parameters is known; name one format, such as q4_k",
                        subject.quant
                    ))
                })?;
                let bits = predict::bits_per_weight(format)?;
                Ok((subject, predict::with_bits(inputs, bits), Stored::of(format), layers))
            }
            (None, _) => Ok((subject, inputs, Stored::all(Numbers::Half), layers)),
        }
    };
    match (model, params) {
        (Some(_), Some(_)) => Err(Failure("give a model or --params, not both".into())),
        (None, None) => {
            Err(Failure("name a model, or give --params; `roofline models` lists the known ones".into()))
        }
        (None, Some(params)) => {
            warnings.push(
                "only the number of parameters is known: no KV cache, no attention, no activations".into(),
            );
            let subject = named(format!("{params} parameters"), "--params".into(), None);
            in_format(subject, predict::dense(params), None)
        }
        (Some(name), None) => {
            let known = by_name(&normal(name));
            if let Some(known) = known {
                let hyper = Hyper::of_known(known).map_err(|fault| Failure(format!("{name}: {fault}")))?;
                let source = format!("{}, as of {}", known.source, known.as_of);
                let subject = named(known.name.into(), source, hyper.context_length);
                return in_format(subject, predict::inputs(&hyper)?, Some(&hyper.operations()));
            }
            let path = Path::new(name);
            if !path.exists() {
                return Err(models::unknown(name));
            }
            let model = if args.headers_only { Model::open_headers(path) } else { Model::open(path) }?;
            warnings.extend(model.warnings.iter().cloned());
            let mut subject = named(name.to_owned(), name.to_owned(), model.architecture.context_length);
            // The tensors of a file are what `profile` sees of it; a format takes the place of all of them.
            let model = match &quant {
                Some(Written::Mix(mix)) => model.mixed(mix),
                _ => model,
            };
            let (inputs, stored) = profile::inputs(&model, None)?;
            let mixed = matches!(quant, Some(Written::Mix(_))) && !model.tensors.is_empty();
            if !mixed && (quant.is_some() || model.bytes().is_none_or(|bytes| bytes == 0)) {
                return in_format(subject, inputs, Some(&model.architecture.operations));
            }
            if !mixed {
                subject.quant = "as stored".into();
            }
            Ok((subject, inputs, stored, Some(layers(&model.architecture.operations))))
        }
    }
}

/// How many layers the operations of a token belong to.
pub fn layers(operations: &[Operation]) -> f64 {
    let layers: BTreeSet<u64> = operations.iter().filter_map(|operation| operation.layer).collect();
    layers.len() as f64
}

/// What numbers are stored in: one format for all, or a mix of llama.cpp.
enum Written {
    Format(&'static formats::Format),
    Mix(&'static Mix),
}

impl Written {
    /// The one format that it names: a mix may have the name of its most frequent one.
    fn format(&self) -> Option<&'static formats::Format> {
        match self {
            Written::Format(format) => Some(format),
            Written::Mix(mix) => formats::by_name(mix.name),
        }
    }
}

/// What is called so, in any spelling; `fp16` and `half` are `f16`, `fp8` is `f8_e4m3`, `int8` is `i8`.
fn written(name: &str, flag: &str) -> Result<Written, Failure> {
    let wanted = normal(name);
    let meant = match wanted.as_str() {
        "half" | "fp16" | "float16" => "f16",
        "fp32" | "float32" => "f32",
        "bfloat16" => "bf16",
        "fp8" | "f8" | "fp8_e4m3" | "e4m3" => "f8_e4m3",
        "int8" => "i8",
        other => other,
    };
    if let Some(mix) = Mix::by_name(meant) {
        return Ok(Written::Mix(mix));
    }
    formats::by_name(meant).map(Written::Format).ok_or_else(|| {
        let known: Vec<&str> = formats::ALL.iter().map(|format| format.name).chain(Mix::names()).collect();
        let near = suggest::closest(&wanted, known.iter().copied());
        let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        Failure(format!("{flag} {name}: no such format; {near}there are {}", known.join(", ")))
    })
}

/// The one format of this name.
pub fn format(name: &str, flag: &str) -> Result<&'static formats::Format, Failure> {
    let format = written(name, flag)?.format();
    format.ok_or_else(|| Failure(format!("{flag} {name}: a cache has one format, and no mix")))
}

/// The inputs with everything that the arguments say about the work.
fn workload(
    args: &cli::Predict,
    mut inputs: Inputs,
    stored: &mut Stored,
    subject: &Subject,
    warnings: &mut Vec<String>,
) -> Result<Inputs, Failure> {
    let cache = format(&args.cache, "--cache")?;
    (inputs.cache_size, stored.cache) = (predict::bytes_per_number(cache)?, cache.numbers);
    inputs.tokens_per_pass = args.draft.as_ref().map_or(1.0, cli::Draft::tokens_per_pass);
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

/// The devices, each with its entry in the registry where it has one.
pub fn targets(
    args: &cli::Predict,
    all: bool,
    warnings: &mut Vec<String>,
) -> Result<Vec<(Target, Option<&'static Device>)>, Failure> {
    let precision = args.precision.as_deref().map(precision).transpose()?;
    let catalog = args.devices.files.catalog()?;
    let chosen: Vec<Chosen> = if all {
        catalog.devices().iter().map(|device| Chosen::Device(device)).collect()
    } else {
        args.devices.chosen(&catalog, &[])?
    };
    if chosen.is_empty() {
        let list = "`roofline devices` lists them";
        return Err(Failure(format!(
            "say which device with --on DEVICE, --on this or --all-devices; {list}"
        )));
    }
    let mut found = Vec::new();
    for device in chosen {
        let device = device.measured(|| device::this(&args.measuring))?;
        let entry = if let Chosen::Device(device) = &device { Some(*device) } else { None };
        match device.target(precision) {
            Ok(target) => found.push((target, entry)),
            Err(lacks) if args.allow_fallback => {
                let target = device.target(None)?;
                warnings.push(format!("{lacks}; its estimate takes the units of the ceiling"));
                found.push((target, entry));
            }
            // Among all devices those that lack the precision are simply not candidates.
            Err(lacks) if all => warnings.push(format!("left out: {lacks}")),
            Err(lacks) => {
                let hint = "--allow-fallback takes the units of the ceiling";
                return Err(Failure(format!("{lacks}; {hint}")));
            }
        }
    }
    if found.is_empty() {
        return Err(Failure("no device has a peak for this precision".into()));
    }
    Ok(found)
}

/// Parses `batch=1,2,4..64`.
fn sweep(text: &str) -> Result<(Swept, Vec<f64>), Failure> {
    let (name, values) = axis(text)?;
    let swept = Swept::ALL.into_iter().find(|swept| swept.name() == name).ok_or_else(|| {
        let more = if name == "users" { "; users need --users beside" } else { "" };
        let can = Swept::ALL.map(Swept::name).join(", ");
        Failure(format!("--sweep {text}: `{name}` can't be swept; {can} can{more}"))
    })?;
    Ok((swept, values))
}

/// A name and its values: single ones, and ranges that double from one end to the other. The values ascend.
pub fn axis(text: &str) -> Result<(&str, Vec<f64>), Failure> {
    let wrong = |why: String| Failure(format!("--sweep {text}: {why}"));
    let (name, list) = text.split_once('=').ok_or_else(|| wrong("write NAME=1,2,4..64".into()))?;
    let number = |text: &str| match text.trim().parse::<f64>().ok().or_else(|| tokens(text.trim()).ok()) {
        Some(value) if value.is_finite() && value > 0.0 => Ok(value),
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
    Ok((name, values))
}

/// Every equation in the order in which it is computed, with the numbers put in.
fn explain(contract: &Contract, entry: &Entry) -> Vec<Line> {
    let results = entry.results.iter().filter_map(|(name, value)| Some((name.as_str(), (*value)?)));
    let inputs = entry.inputs.iter().map(|(name, value)| (name.as_str(), *value));
    let numbers: BTreeMap<&str, f64> = inputs.chain(results).collect();
    let line = |&index: &usize| {
        let equation = &contract.equations[index];
        // What a device does not publish has no number, nor has what follows from it.
        let value = numbers.get(equation.name.as_str()).copied()?;
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
            value,
            unit: equation.unit_text.clone(),
            place: home.line(equation.span),
        })
    };
    contract.order.iter().filter_map(line).collect()
}

/// Sliders for every quantity; none where a sweep has moved one already.
fn what_if(predicted: &Predicted) -> Result<Option<WhatIf>, Failure> {
    if predicted.swept.is_some() {
        return Ok(None);
    }
    let each = predicted.predictions.iter().map(|entry| (entry.device.as_str(), &entry.inputs));
    what_if::predictions(predicted.model.context_length, &predicted.workload, &each.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_lists_values_and_doubles_ranges() {
        let values = |text: &str| sweep(text).map(|(_, values)| values).map_err(|failure| failure.0);
        assert_eq!(values("batch=1,2,4..64"), Ok(vec![1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]));
        assert_eq!(values("context=8,1,8"), Ok(vec![1.0, 8.0]));
        assert_eq!(values("context=1k..4k"), Ok(vec![1024.0, 2048.0, 4096.0]));
        for (text, expected) in [
            ("batch", "write NAME=1,2,4..64"),
            ("speed=1", "`speed` can't be swept"),
            ("users=1", "users need --users beside"),
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
