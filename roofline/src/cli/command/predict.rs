//! `roofline predict`: ceiling, ideal and expected speed of a model on devices.

use std::collections::BTreeMap;

use roofline_contracts::condition::Value;
use roofline_contracts::contract::Contract;
use roofline_contracts::formula::Kind;
use roofline_contracts::{check_in, library};

use crate::chart::bars::{Bar, Bars};
use crate::chart::html::{Page, WhatIf};
use crate::cli::expected::{Expecter, ModelTraits, missing};
use crate::cli::name::normalize;
use crate::cli::output::charts::{self, Charts};
use crate::cli::request::{Request, resolve, sweep, targets};
use crate::cli::select::Row;
use crate::cli::{Exit, Failure, args, conditions, output, select, sets, sliders};
use crate::contracts::choice;
use crate::contracts::hardware::devices::Device;
use crate::contracts::transformer::CONTRACT;
use crate::device::display_name;
use crate::metric;
use crate::predict::{
    DeviceProfile, Entry, Line, MAX_PREDICTIONS, Predicted, Prediction, Subject, SweptInput, Workload,
};
use crate::report::Report;
use roofline_render::display_width::file_name;
use roofline_render::format::short;

/// Price per decode speed, computed by the contract `choice-v1`.
const PRICE_PER_SPEED: &str = "usd_per_token_per_s";

/// Predicts, and exits with 1 if a requirement does not hold.
pub fn run(args: &args::Predict) -> Result<Exit, Failure> {
    if sets::is_asked(args) {
        return sets::run(args);
    }
    let names = conditions::Names::for_report::<Predicted>();
    if names.help(&args.require)? || args.expecting.help()? {
        return Ok(Exit::Fine);
    }
    let gates = names.parse("--require", &args.require)?;
    let mut names = names;
    select::add_device_names(&mut names);
    names.number(PRICE_PER_SPEED, metric::unit(PRICE_PER_SPEED));
    if args.select.help(&names)? {
        return Ok(Exit::Fine);
    }
    names.parse("--where", &args.select.conditions)?;
    let pictures = Charts::open(&args.pictures)?;
    let expecter = args.expecting.read()?;
    let (mut predicted, devices) = predicted(args, &expecter)?;
    if args.select.is_set() {
        let rows: Result<Vec<Row>, Failure> =
            predicted.predictions.iter().map(|entry| row(entry, &devices)).collect();
        let rows = rows?;
        let order = args.select.rows(&names, &rows)?;
        if order.is_empty() {
            output::log("no prediction meets --where");
            return Ok(Exit::Failed);
        }
        let kept: Vec<&Row> = order.iter().map(|&index| &rows[index]).collect();
        predicted.shown = args.select.table(&names, "device", &kept)?;
        predicted.predictions = order.iter().map(|&index| predicted.predictions[index].clone()).collect();
    }
    let expected = predicted.predictions.iter();
    let expected = expected.filter_map(|entry| Some((entry.device.as_str(), entry.expected.as_ref()?)));
    predicted.expectations = expecter.sentences(expected);
    predicted.requirements = conditions::check_report(&gates, &predicted);
    for warning in &predicted.warnings {
        output::log(&format!("warning: {warning}"));
    }
    let bars = bars(&predicted);
    let page = || {
        let what_if = what_if(&predicted)?;
        Ok(Page { what_if, bars: bars.to_vec(), ..charts::page(&predicted) })
    };
    // A roofline chart of many devices is unreadable; bars of tokens per second are not.
    if bars[0].bars.len() > MAX_ROOFS && predicted.swept.is_none() {
        pictures.show_bars(&predicted, &bars[0], args.format, page)?;
    } else {
        let chart = predicted.chart().unwrap_or_default();
        pictures.show_with(&predicted, &chart, args.format, false, page)?;
    }
    Ok(conditions::exit(&predicted.requirements))
}

/// Returns the names that conditions and columns can use: the figures of a prediction and the attributes of its device.
fn row(entry: &Entry, devices: &[&'static Device]) -> Result<Row, Failure> {
    let device = devices.iter().find(|device| display_name(device.name) == entry.device);
    let mut row = device.map(|device| select::device_row(device)).unwrap_or_default();
    let value = |name: &str| entry.figure(name);
    for name in Predicted::FIGURES {
        row.insert(name, value(name).map_or(Value::Absent, Value::Number));
    }
    let text = |text: &dyn ToString| Value::Text(text.to_string().into());
    row.insert("device", text(&entry.device));
    row.insert("decode_bound", text(&entry.decode_bound));
    row.insert("prefill_bound", text(&entry.prefill_bound));
    row.insert("fits", entry.fits.map_or(Value::Absent, Value::Truth));
    let price = device.and_then(|device| device.launch_price_usd);
    if let (Some(price), Some(speed)) = (price, entry.result("decode_ceiling")) {
        let cost = choice::Inputs::new(price, speed, 0.0, 0.0).evaluate()?;
        row.insert(PRICE_PER_SPEED, Value::Number(cost.price_per_speed));
    }
    Ok(row)
}

/// Maximum number of roofs in a chart.
const MAX_ROOFS: usize = 8;

/// Returns decode and prefill speeds in tokens/s by device or by the points of a sweep.
fn bars(predicted: &Predicted) -> [Bars; 2] {
    let Workload { batch, context, prompt, .. } = predicted.workload;
    let of = |decode: bool| {
        let result = if decode { "decode_ceiling" } else { "prefill_ceiling" };
        let bar = |(index, entry): (usize, &Entry)| Bar {
            name: predicted.place(entry),
            value: entry.result(result).unwrap_or(0.0),
            emphasized: entry.fits != Some(false),
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
            true => ("decode", format!("context {context}")),
            false => ("prefill", format!("prompt {prompt}")),
        };
        let model = file_name(&predicted.model.name);
        Bars {
            title: format!("{model}, {}: tokens per second by device", predicted.model.quant),
            subtitle: match predicted.swept {
                None => format!("{part} ceilings (bars) and expected ranges (lines): batch {batch}, {work}"),
                Some(swept) => {
                    format!("{part} ceilings (bars) and expected ranges (lines) by {}", swept.name())
                }
            },
            unit: "token/s".into(),
            result: Some(result.to_owned()),
            fade_if: Some(("feasibility".into(), "TooLarge".into())),
            bars,
            ..Bars::default()
        }
    };
    [of(true), of(false)]
}

/// Returns the predictions, and those of their devices that are in the registry.
fn predicted(
    args: &args::Predict,
    expecter: &Expecter,
) -> Result<(Predicted, Vec<&'static Device>), Failure> {
    let mut warnings = Vec::new();
    let Request { subject, inputs, stored, layers } =
        resolve(&args.work, args.parallel.speculation.tokens_per_pass(), &mut warnings)?;
    let found = targets(&args.work, "this", &mut warnings)?;
    let entries: Vec<Option<&'static Device>> = found.iter().map(|(_, device)| *device).collect();
    let targets: Vec<DeviceProfile> = found.into_iter().map(|(target, _)| target).collect();
    let sweeps = args.sweep.iter().map(|text| sweep(text)).collect::<Result<Vec<_>, _>>()?;
    let points: usize = sweeps.iter().map(|(_, values)| values.len()).product();
    if targets.len() * points > MAX_PREDICTIONS {
        let points = targets.len() * points;
        return Err(Failure(format!("{points} predictions requested; expected at most {MAX_PREDICTIONS}")));
    }
    let sweep_of = |index: usize| sweeps.get(index).map(|(swept, values)| (*swept, values.as_slice()));
    let axes = match sweeps.as_slice() {
        [] | [_] => [sweep_of(0), None],
        [one, other] if one.0 != other.0 => [sweep_of(0), sweep_of(1)],
        [one, _] => return Err(Failure(format!("--sweep: {} is given twice", one.0.name()))),
        _ => return Err(Failure("--sweep: expected at most two inputs".into())),
    };
    let subject = match axes.into_iter().flatten().find(|(swept, _)| *swept == SweptInput::Bits) {
        Some((_, [bits])) => Subject { quant: format!("{bits} bits"), bits_per_weight: *bits, ..subject },
        Some(_) => Subject { quant: "swept bits".into(), ..subject },
        None => subject,
    };
    let (model, format) = (subject.name.clone(), subject.quant.clone());
    let work = ModelTraits { name: &model, format: &format, layers };
    let expect = |index: usize, prediction: &Prediction| {
        let expected = expecter.expect(&work, &targets[index], entries[index], prediction);
        // Some of several devices may have no calibration.
        if targets.len() > 1 { Ok(expected.unwrap_or_else(missing)) } else { expected }
    };
    let cache = normalize(&args.work.cache);
    let mut predicted = Predicted::new(subject, (inputs, &stored), &cache, &targets, axes, expect)?;
    if let Some(first) = predicted.predictions.first().filter(|_| args.explain) {
        let contract = library::built_in(CONTRACT.id).and_then(|source| check_in(source, None).contract);
        let contract = contract
            .ok_or_else(|| Failure(format!("{}: the built-in contract does not compile", CONTRACT.id)))?;
        predicted.explanation = explain(&contract, first);
        if predicted.predictions.len() > 1 {
            warnings.push("--explain shows the first prediction only".into());
        }
    }
    for target in &targets {
        warnings.extend(target.doubts.iter().cloned());
    }
    predicted.show_ideal = args.show_ideal || args.explain;
    predicted.warnings = warnings;
    Ok((predicted, entries.into_iter().flatten().collect()))
}

/// Returns every equation in the order of evaluation, with its numbers.
fn explain(contract: &Contract, entry: &Entry) -> Vec<Line> {
    let results = entry.results.iter().filter_map(|(name, value)| Some((name.as_str(), (*value)?)));
    let inputs = entry.inputs.iter().map(|(name, value)| (name.as_str(), *value));
    let numbers: BTreeMap<&str, f64> = inputs.chain(results).collect();
    let line = |&index: &usize| {
        let equation = &contract.equations[index];
        // Equations that depend on an unpublished figure have no value.
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

/// Returns sliders for every quantity, except for sweeps.
fn what_if(predicted: &Predicted) -> Result<Option<WhatIf>, Failure> {
    if predicted.swept.is_some() {
        return Ok(None);
    }
    let each = predicted.predictions.iter().map(|entry| (entry.device.as_str(), &entry.inputs));
    sliders::predictions(predicted.model.context_length, &predicted.workload, &each.collect::<Vec<_>>())
}
