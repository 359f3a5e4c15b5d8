//! `roofline profile`: what each operation of a model file costs on a device, and the ceiling in tokens per second.

pub mod chart;
mod input;
mod pattern;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use regex_lite::Regex;
use roofline_contracts::contract::Value;
use roofline_contracts::suggest;
use schemars::JsonSchema;
use serde::Serialize;

use crate::chart::html::WhatIf;
use crate::chart::terminal::{Canvas, draw};
use crate::contracts::transformer;
use crate::document;
use crate::isa::Isa;
use crate::model::{Basis, Dtype, Format, Mix, Model, Operation, Role, Work};
use crate::number::{figure, maybe, percent};
use crate::peaks::Machine;
use crate::predict::{Target, dense};
use crate::profile::llama_bench::{Compared, compare};
use crate::profile::measure::{Measured, NO_PRODUCT, measure};
use crate::profile::stack::{self, Pass};
use crate::profile::{self, Advice, By, Entry, Phase, Profile, Row, SOURCES, Total, Workload};
use crate::program::command::predict;
use crate::program::command::profile::chart::{Saved, bound};
use crate::program::output::picture::{Page, Pictures};
use crate::program::output::terminal::Progress;
use crate::program::require::{self, Gate};
use crate::program::what_if::{self, Moving};
use crate::program::{Exit, Failure, cli, device};
use crate::report::{Checked, Report, Schema, Table};

/// Rows that a terminal shows when nobody says how many.
const ROWS: usize = 24;
/// Bytes of one number in the KV cache.
const CACHE_SIZE: f64 = 2.0;

/// What each operation of a model file costs on a device.
#[derive(Serialize, JsonSchema)]
pub struct Profiled {
    /// Which schema this document follows.
    schema: Schema<Self>,
    /// The model file.
    model: Subject,
    /// The device.
    device: Device,
    /// What the model is asked to do.
    workload: Asked,
    /// The part of the work that `rows` shows.
    phase: Phase,
    /// One token for each sequence; null where the model makes none.
    decode: Option<Total>,
    /// The whole prompt; null where there is none.
    prefill: Option<Total>,
    /// All samples through all layers, for a stack of layers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pass: Option<Pass>,
    /// Every operation.
    operations: Vec<Entry>,
    /// Operations put together as --by says.
    rows: Vec<Row>,
    /// What llama-bench measured, beside the ceilings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    llama_bench: Vec<Compared>,
    /// What to do about it; absent with --no-advice.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<Vec<Advice>>,
    /// What --require asked for.
    requirements: Vec<Checked>,
    /// What one should know about these figures.
    warnings: Vec<String>,
    /// The contract and the equation behind each figure.
    sources: BTreeMap<&'static str, &'static str>,
    /// Time to dispatch a step, in µs.
    #[serde(skip)]
    overhead: f64,
    /// Tokens that the model was made for.
    #[serde(skip)]
    longest: Option<u64>,
    #[serde(skip)]
    by: By,
    #[serde(skip)]
    top: Option<usize>,
}

/// What the model is asked to do.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(untagged)]
enum Asked {
    /// A model that makes tokens.
    Tokens(Workload),
    /// A stack of layers, and how many samples go through it together.
    Samples {
        /// Samples that are computed together.
        batch: f64,
        /// The sizes that convolutions were given, as they were written.
        input: Vec<String>,
    },
}

/// The model file.
#[derive(Serialize, JsonSchema)]
struct Subject {
    /// Its path.
    file: String,
    /// Its format.
    format: &'static str,
    /// Its architecture.
    architecture: String,
    /// All parameters.
    parameters: u64,
    /// Bytes of all weights; null if not known.
    bytes: Option<u64>,
    /// The types of the weights, the one with the most bytes first.
    types: Vec<String>,
    /// The type that takes their place.
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    change: Option<String>,
    /// Names and values that the file says of itself.
    facts: Vec<(String, String)>,
}

/// The device.
#[derive(Serialize, JsonSchema)]
struct Device {
    /// Its name.
    name: String,
    /// The precision of its arithmetic.
    precision: &'static str,
    /// Its arithmetic peak in GFLOP/s.
    compute_gflop_s: f64,
    /// Its memory bandwidth in GB/s.
    bandwidth_gb_s: f64,
    /// Where its figures come from.
    source: String,
}

/// What a requirement can name of the whole model, with the contract's words.
const NUMBERS: [&str; 16] = [
    "batch",
    "context",
    "prompt",
    "decode_flops",
    "decode_weight_bytes",
    "activation_bytes",
    "cache_bytes",
    "decode_bytes",
    "decode_time",
    "decode_tokens_per_s",
    "prefill_flops",
    "prefill_weight_bytes",
    "prefill_bytes",
    "time_to_first_token",
    "prefill_tokens_per_s",
    "throughput",
];
/// Those of them that every operation has a part in.
const TOTALS: &[&str] = NUMBERS.split_at(3).1;
const TEXTS: [&str; 4] = ["device", "precision", "decode_bound", "prefill_bound"];
/// What it can name of each measured operation.
const MEASURED: [&str; 5] = ["time", "least_time", "achieved_bandwidth", "achieved_compute", "utilization"];
const MEASURED_TEXTS: [&str; 2] = ["operation", "utilization_band"];

/// Profiles the file, and exits with 1 when a requirement does not hold.
pub fn run(args: &cli::Profile) -> Result<Exit, Failure> {
    let pictures = Pictures::open(&args.pictures)?;
    let report = profiled(args)?;
    let page = || Ok(Page { chart: report.saved()?.page(), what_if: report.what_if()? });
    pictures.show_with(&report, &report.saved()?.chart(), args.format, true, page)?;
    Ok(require::exit(&report.requirements))
}

/// The profile that the arguments ask for.
pub fn profiled(args: &cli::Profile) -> Result<Profiled, Failure> {
    let numbers = [&NUMBERS[..], &MEASURED].concat();
    let gates = require::parse(&args.require, &numbers, &[&TEXTS[..], &MEASURED_TEXTS].concat())?;
    let of_operations = [&MEASURED[..], &MEASURED_TEXTS].concat();
    let (each, whole): (Vec<Gate>, Vec<Gate>) =
        gates.into_iter().partition(|gate| gate.names_any(&of_operations));
    if !each.is_empty() && !args.measure {
        let names = of_operations.join(", ");
        return Err(Failure(format!("--require: {names} are known only with --measure")));
    }
    let precision = args.precision.as_deref().map(predict::precision).transpose()?;
    let sizes = input::parse(&args.input)?;
    let ops = args.ops.as_deref().map(|text| pattern::parse("--ops", text)).transpose()?;
    let mix = args.change.as_deref().and_then(Mix::by_name);
    let change = args.change.as_deref().filter(|_| mix.is_none()).map(dtype).transpose()?;
    if args.top == Some(0) {
        return Err(Failure("--top 0: at least one row is shown".into()));
    }
    if args.measure && args.on != "this" {
        return Err(Failure(format!("--measure runs on this machine, not on {}", args.on)));
    }
    let model = if args.headers_only { Model::open_headers(&args.file) } else { Model::open(&args.file) }?;
    let model = match mix {
        Some(mix) if model.tensors.is_empty() => {
            return Err(Failure(format!(
                "--as {}: a mix needs tensors, and there are only dimensions",
                mix.name
            )));
        }
        Some(mix) => model.mixed(mix),
        None => model,
    };
    if model.architecture.operations.is_empty() {
        return Err(Failure(format!("{}: no tensors, and no dimensions either", args.file.display())));
    }
    let is_stack = stack::is_stack(&model);
    refuse(args, is_stack)?;
    let mut warnings = model.warnings.clone();
    let machine = if args.on == "this" { Some(device::this(&args.measuring)?) } else { None };
    let target = match &machine {
        Some(machine) => Target::measured(machine, precision)?,
        None => Target::of(device::find(&args.on)?, precision)?,
    };
    let phase = match args.phase {
        cli::Phase::Decode => Phase::Decode,
        cli::Phase::Prefill => Phase::Prefill,
    };
    let by = match args.by {
        cli::By::Op => By::Operation,
        cli::By::Layer => By::Layer,
        cli::By::Kind => By::Kind,
    };
    let (asked, mut found) = if is_stack {
        let batch = args.batch;
        let find = |name: &str, operation: &Operation| input::find(&sizes, name, operation);
        let found = stack::profile(&model, &target, batch, change, find)?;
        check_sizes(&sizes, &found, &model, &mut warnings)?;
        (Asked::Samples { batch, input: args.input.clone() }, found)
    } else {
        let workload = workload(args, &model, &mut warnings);
        (Asked::Tokens(workload), profile::profile(&model, &target, &workload, change)?)
    };
    warn(&found, &model, change, &mut warnings);
    if let Some(machine) = machine.filter(|_| args.measure) {
        run_kernels(args, ops.as_ref(), &model, &machine, &mut found.entries, &mut warnings)?;
    }
    let llama_bench = match (&args.llama_bench, &asked) {
        (Some(path), Asked::Tokens(workload)) => beside(path, args.any_model, &model, &target, workload)?,
        _ => Vec::new(),
    };
    let phase = if is_stack {
        Phase::Pass
    } else if found.total(phase).is_none() && found.prefill.is_some() {
        warnings.push("the model makes no tokens one by one; the figures are those of a prompt".into());
        Phase::Prefill
    } else {
        phase
    };
    let mut rows = found.rows(by, phase, &target)?;
    if let Some(top) = args.top {
        let time = |row: &Row| row.cost.map_or(0.0, |cost| cost.ideal_s);
        rows.sort_by(|a, b| time(b).total_cmp(&time(a)));
        rows.truncate(top);
    }
    let advice = if args.no_advice { None } else { Some(found.advice(phase, &target)?) };
    let mut report = Profiled {
        schema: Schema::new(),
        model: subject(args, &model, is_stack),
        device: Device {
            name: target.name,
            precision: target.precision.name(),
            compute_gflop_s: target.compute,
            bandwidth_gb_s: target.bandwidth,
            source: target.source,
        },
        workload: asked,
        phase,
        decode: found.decode,
        prefill: found.prefill,
        pass: found.pass,
        operations: found.entries,
        rows,
        llama_bench,
        advice,
        requirements: Vec::new(),
        warnings,
        sources: SOURCES.iter().copied().collect(),
        overhead: target.overhead.unwrap_or(0.0),
        longest: model.architecture.context_length,
        by,
        top: args.top,
    };
    report.requirements = report.check(&whole, &each);
    for warning in &report.warnings {
        eprintln!("warning: {warning}");
    }
    Ok(report)
}

fn dtype(name: &str) -> Result<Dtype, Failure> {
    Dtype::from_name(name).ok_or_else(|| {
        let types = Dtype::all().map(|dtype| dtype.to_string().to_lowercase());
        let known: Vec<String> = types.chain(Mix::names().map(str::to_owned)).collect();
        let wanted = name.to_lowercase();
        let near = suggest::closest(&wanted, known.iter().map(String::as_str));
        let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        Failure(format!("--as {name}: no such type or mix; {near}there are {}", known.join(", ")))
    })
}

fn workload(args: &cli::Profile, model: &Model, warnings: &mut Vec<String>) -> Workload {
    let longest = model.architecture.context_length;
    let longest = longest.map(|tokens| tokens as f64);
    let (context, prompt) = predict::lengths(args.context, args.prompt, longest, warnings);
    Workload { batch: args.batch, context, prompt, cache_size: CACHE_SIZE }
}

/// Refuses what means nothing for this kind of model.
fn refuse(args: &cli::Profile, is_stack: bool) -> Result<(), Failure> {
    let tokens = "a stack of layers takes samples, not tokens";
    let wrong = [
        (is_stack && args.context.is_some(), "--context", tokens),
        (is_stack && args.prompt.is_some(), "--prompt", tokens),
        (is_stack && args.llama_bench.is_some(), "--llama-bench", tokens),
        (
            !is_stack && !args.input.is_empty(),
            "--input",
            "the model takes tokens, and is no stack of convolutions",
        ),
    ];
    match wrong.iter().find(|(given, ..)| *given) {
        Some((_, flag, reason)) => Err(Failure(format!("{flag}: {reason}"))),
        None => Ok(()),
    }
}

/// Refuses sizes that no convolution takes, and tells what is assumed or missing of the others.
fn check_sizes(
    sizes: &[input::Sized],
    found: &Profile,
    model: &Model,
    warnings: &mut Vec<String>,
) -> Result<(), Failure> {
    let of = |entry: &Entry| model.architecture.operations.get(entry.operation);
    let convolutions: Vec<(&Entry, &Operation)> = found
        .entries
        .iter()
        .filter_map(|entry| Some((entry, of(entry)?)))
        .filter(|(_, operation)| matches!(operation.work, Work::Convolution { .. }))
        .collect();
    let names: Vec<(&str, &Operation)> =
        convolutions.iter().map(|(entry, operation)| (entry.name.as_str(), *operation)).collect();
    input::check(sizes, &names)?;
    if sizes.iter().any(|sized| sized.input.stride.is_none() || sized.input.padding.is_none()) {
        warnings.push(
            "convolutions: a stride of 1, a padding that keeps the size and one group of channels are assumed where --input does \
             not say otherwise, and no pooling between them"
                .into(),
        );
    }
    if let Some((entry, operation)) = convolutions.iter().find(|(entry, _)| entry.pass.is_none()) {
        let first = input::shape(&entry.name, operation);
        warnings.push(format!(
            "what convolutions cost depends on their input: give it with --input, here {first}"
        ));
    }
    Ok(())
}

/// Measures the operations asked for.
fn run_kernels(
    args: &cli::Profile,
    ops: Option<&Regex>,
    model: &Model,
    machine: &Machine,
    entries: &mut [Entry],
    warnings: &mut Vec<String>,
) -> Result<(), Failure> {
    let wanted = |entry: &Entry| ops.is_none_or(|ops| ops.is_match(&entry.name));
    if !entries.iter().any(wanted) {
        let names: Vec<&str> = entries.iter().take(8).map(|entry| entry.name.as_str()).collect();
        let text = ops.map(Regex::as_str).unwrap_or_default();
        return Err(Failure(format!(
            "--ops {text}: there is no operation with such a name; some are {}",
            names.join(", ")
        )));
    }
    let isa = Isa::named(&machine.isa)?;
    let budget = Duration::from_secs(if args.measuring.quick { 2 } else { 10 });
    let progress = Progress::new();
    measure(model, entries, machine, isa, budget, wanted, |pass, most| {
        progress.say(&format!("running the weights, pass {pass} of at most {most}"));
    })?;
    let count = |reason: fn(&str) -> bool| {
        entries.iter().filter(|entry| entry.not_measured.as_deref().is_some_and(reason)).count()
    };
    let failed = count(|reason| reason != NO_PRODUCT);
    let first = entries.iter().find(|entry| entry.not_measured.as_deref().is_some_and(|r| r != NO_PRODUCT));
    if let Some(Entry { name, not_measured: Some(reason), .. }) = first {
        warnings.push(format!("{failed} operation(s) are not measured, the first {name}: {reason}"));
    }
    let copied: Vec<&Entry> = entries
        .iter()
        .filter(|entry| entry.measured.as_ref().is_some_and(|measured| measured.copied))
        .collect();
    if let Some(first) = copied.first() {
        let bytes: f64 = copied.iter().filter_map(|entry| Some(entry.step()?.weight_bytes)).sum();
        warnings.push(format!(
            "{} operation(s) ran from copies of their weights, {} MB, because the kernels can't take them from where they lie in \
             the file, the first {}",
            copied.len(),
            figure(bytes / 1e6),
            first.name
        ));
    }
    let weights: f64 = entries
        .iter()
        .filter(|entry| entry.measured.is_some())
        .filter_map(|entry| Some(entry.step()?.weight_bytes))
        .sum();
    let cache = machine.caches.iter().map(|cache| cache.bytes).max().unwrap_or(0);
    if weights > 0.0 && weights < 2.0 * cache as f64 {
        warnings.push(
            "the measured weights are not much larger than the caches, which may make them faster than memory".into(),
        );
    }
    Ok(())
}

fn beside(
    path: &Path,
    any_model: bool,
    model: &Model,
    target: &Target,
    workload: &Workload,
) -> Result<Vec<Compared>, Failure> {
    let wrong = |reason: String| Failure(format!("{}: {reason}", path.display()));
    let text = document::read(path).map_err(|error| wrong(error.to_string()))?;
    compare(&text, model, target, workload, any_model).map_err(|error| wrong(error.to_string()))
}

fn warn(found: &Profile, model: &Model, change: Option<Dtype>, warnings: &mut Vec<String>) {
    let undefined = found.undefined().count();
    if let Some(first) = found.undefined().next() {
        let reason = first.undefined.as_deref().unwrap_or_default();
        let name = &first.name;
        warnings.push(format!(
            "{undefined} operation(s) are undefined and missing from the totals, which are bounds and no ceilings then, the first {name}: {reason}"
        ));
    }
    if model.tensors.is_empty() && change.is_none() {
        let assumed = profile::WITHOUT_TENSORS;
        warnings.push(format!("no weights in the file: {assumed} is assumed; --as says otherwise"));
    }
    if found.kept > 0 {
        let kept = found.kept;
        warnings.push(format!("{kept} tensor(s) keep their type: their rows do not fill its blocks"));
    }
}

fn subject(args: &cli::Profile, model: &Model, is_stack: bool) -> Subject {
    let mut types: BTreeMap<Dtype, u64> = BTreeMap::new();
    for tensor in &model.tensors {
        *types.entry(tensor.dtype).or_default() += tensor.bytes.unwrap_or(0);
    }
    let mut types: Vec<(Dtype, u64)> = types.into_iter().collect();
    types.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let architecture = match model.architecture.basis {
        Basis::Family | Basis::Stated => model.architecture.name.clone(),
        Basis::Tensors if is_stack => "stack of layers".to_owned(),
        Basis::Tensors => format!("{} (by its tensors)", model.architecture.name),
    };
    Subject {
        file: args.file.display().to_string(),
        format: match model.format {
            Format::Gguf { .. } => "GGUF",
            Format::SafeTensors => "SafeTensors",
            Format::Apr => "APR",
            Format::Config => "config.json",
        },
        architecture,
        parameters: model.parameters(),
        bytes: model.bytes().filter(|_| !model.tensors.is_empty()),
        types: types.into_iter().map(|(dtype, _)| dtype.to_string()).collect(),
        change: args.change.as_ref().map(|name| name.to_uppercase()),
        facts: model.summary.clone(),
    }
}

impl Profiled {
    /// The result as it would be read back: charts are drawn from that alone.
    fn saved(&self) -> Result<Saved, Failure> {
        Ok(serde_json::from_value(serde_json::to_value(self)?)?)
    }

    /// Sliders for the batch and the context or the prompt; none over measured operations.
    fn what_if(&self) -> Result<Option<WhatIf>, Failure> {
        if self.operations.iter().any(|entry| entry.measured.is_some()) {
            return Ok(None);
        }
        let entries = self.operations.iter().enumerate();
        let moving = |(point, entry): (usize, &Entry)| {
            let last_only = entry.role == Role::Head.name();
            let inputs = match &self.workload {
                Asked::Tokens(workload) => entry.in_phase(self.phase, workload)?,
                Asked::Samples { .. } => entry.shape?,
            };
            Some(Moving { point, inputs, last_only })
        };
        match &self.workload {
            Asked::Samples { batch, .. } => {
                let layers: Vec<Moving> = entries.filter_map(moving).collect();
                let machine = (self.device.bandwidth_gb_s, self.device.compute_gflop_s);
                what_if::layers(*batch, self.overhead, machine, &layers).map(Some)
            }
            Asked::Tokens(workload) => {
                let Workload { batch, context, prompt, cache_size } = *workload;
                let asked = transformer::Inputs {
                    batch,
                    context,
                    prompt,
                    cache_size,
                    overhead: self.overhead,
                    bandwidth: self.device.bandwidth_gb_s,
                    compute: self.device.compute_gflop_s,
                    ..dense(1.0)
                };
                let parts: Vec<Moving> = entries.filter_map(moving).collect();
                what_if::operations(self.phase, &asked, self.longest, &parts).map(Some)
            }
        }
    }

    /// Checks what was required of the whole model, and of each measured operation.
    fn check(&self, whole: &[Gate], each: &[Gate]) -> Vec<Checked> {
        let values = self.named();
        let mut checked = require::check(whole, "", &values);
        // A total without one of its parts is a bound: it does not decide, and the reason is told.
        let undefined =
            self.operations.iter().find_map(|entry| Some((&entry.name, entry.undefined.as_ref()?)));
        if let Some((name, reason)) = undefined {
            let totals = checked.iter_mut().flat_map(|checked| &mut checked.values);
            for (_, value) in totals.filter(|(name, _)| TOTALS.contains(&name.as_str())) {
                *value = format!("not known: {name} is undefined, {reason}");
            }
        }
        for entry in &self.operations {
            let Some(measured) = &entry.measured else { continue };
            let numbers =
                [measured.median_s, measured.ideal_s, measured.gb_s, measured.gflop_s, measured.utilization];
            let texts = [entry.name.as_str(), measured.band].map(|text| Value::Text(text.to_owned()));
            let mut values = values.clone();
            values.extend(MEASURED.into_iter().zip(numbers.map(Value::Number)));
            values.extend(MEASURED_TEXTS.into_iter().zip(texts));
            checked.extend(require::check(each, &entry.name, &values));
        }
        if self.operations.iter().all(|entry| entry.measured.is_none()) {
            // What nothing is known of does not hold.
            let names = MEASURED.into_iter().chain(MEASURED_TEXTS);
            let unknown = values.into_iter().chain(names.map(|name| (name, Value::Absent))).collect();
            checked.extend(require::check(each, "", &unknown));
        }
        checked
    }

    /// The figures of the whole model, as a requirement names them.
    fn named(&self) -> BTreeMap<&'static str, Value> {
        let (batch, context, prompt) = match &self.workload {
            Asked::Tokens(Workload { batch, context, prompt, .. }) => (*batch, Some(*context), Some(*prompt)),
            Asked::Samples { batch, .. } => (*batch, None, None),
        };
        let whole = self.operations.iter().all(|entry| entry.undefined.is_none());
        let (decode, prefill) = (self.decode.filter(|_| whole), self.prefill.filter(|_| whole));
        let of = |total: Option<Total>, figure: fn(&Total) -> f64| total.as_ref().map(figure);
        let numbers: [Option<f64>; NUMBERS.len()] = [
            Some(batch),
            context,
            prompt,
            of(decode, |total| total.flops),
            of(decode, |total| total.weight_bytes),
            of(decode, |total| total.activation_bytes),
            of(decode, |total| total.cache_bytes),
            of(decode, |total| total.bytes),
            of(decode, |total| total.time_s),
            of(decode, |total| total.tokens_per_s),
            of(prefill, |total| total.flops),
            of(prefill, |total| total.weight_bytes),
            of(prefill, |total| total.bytes),
            of(prefill, |total| total.time_s),
            of(prefill, |total| total.tokens_per_s),
            self.pass.filter(|_| whole).map(|pass| pass.samples_per_s),
        ];
        let texts = [
            Some(self.device.name.as_str()),
            Some(self.device.precision),
            decode.map(|total| total.bound),
            prefill.map(|total| total.bound),
        ];
        let number = |value: Option<f64>| value.map_or(Value::Absent, Value::Number);
        let text = |text: Option<&str>| text.map_or(Value::Absent, |text| Value::Text(text.to_owned()));
        NUMBERS.into_iter().zip(numbers.map(number)).chain(TEXTS.into_iter().zip(texts.map(text))).collect()
    }

    fn table(&self, rows: &[&Row]) -> Table {
        let what = match self.by {
            By::Operation => "operation",
            By::Layer => "layer",
            By::Kind => "kind",
        };
        let headings = [
            what,
            "operations",
            "mflop",
            "weights_mb",
            "activations_mb",
            "cache_mb",
            "flop_per_byte",
            "bound",
            "ideal_us",
            "share",
        ];
        let row = |row: &&Row| {
            let of = |value: fn(&profile::Cost) -> f64, unit: f64| maybe(row.cost.map(|c| value(&c) / unit));
            vec![
                row.name.clone(),
                row.operations.to_string(),
                of(|cost| cost.flops, 1e6),
                of(|cost| cost.weight_bytes, 1e6),
                of(|cost| cost.activation_bytes, 1e6),
                of(|cost| cost.cache_bytes, 1e6),
                of(|cost| cost.intensity, 1.0),
                row.cost.map_or("undefined", |cost| bound(cost.bound).name()).to_owned(),
                of(|cost| cost.ideal_s, 1e-6),
                percent(row.cost.map(|cost| cost.share)),
            ]
        };
        let title = match self.phase {
            Phase::Decode => "One step of decode",
            Phase::Prefill => "The prompt",
            Phase::Pass => "One pass of the batch",
        };
        Table {
            title: title.into(),
            headings: headings.map(str::to_owned).to_vec(),
            rows: rows.iter().map(row).collect(),
        }
    }

    fn totals(&self) -> Table {
        let headings = ["phase", "tokens_per_s", "bound", "time_s", "gflop", "gb", "flop_per_byte"];
        let row = |name: &str, total: &Total| {
            vec![
                name.to_owned(),
                figure(total.tokens_per_s),
                total.bound.to_lowercase(),
                figure(total.time_s),
                figure(total.flops / 1e9),
                figure(total.bytes / 1e9),
                figure(total.intensity),
            ]
        };
        let phases = [("decode", &self.decode), ("prefill", &self.prefill)];
        let mut rows: Vec<Vec<String>> =
            phases.iter().filter_map(|(name, total)| Some(row(name, total.as_ref()?))).collect();
        let mut headings = headings.map(str::to_owned).to_vec();
        if let (Some(pass), Some(speed)) = (&self.pass, headings.get_mut(1)) {
            "samples_per_s".clone_into(speed);
            rows.push(vec![
                "pass".into(),
                figure(pass.samples_per_s),
                pass.bound.to_lowercase(),
                figure(pass.time_s),
                figure(pass.flops / 1e9),
                figure(pass.bytes / 1e9),
                figure(pass.intensity),
            ]);
        }
        Table { title: "Ceilings".into(), headings, rows }
    }

    /// What was measured, the longest first.
    fn measured(&self) -> Option<Table> {
        let mut found: Vec<(&Entry, &Measured)> =
            self.operations.iter().filter_map(|entry| Some((entry, entry.measured.as_ref()?))).collect();
        if found.is_empty() {
            return None;
        }
        found.sort_by(|a, b| b.1.median_s.total_cmp(&a.1.median_s));
        let row = |(entry, measured): &(&Entry, &Measured)| {
            vec![
                entry.name.clone(),
                entry.dtype.clone().unwrap_or_default(),
                figure(measured.median_s * 1e6),
                format!("{}..{}", figure(measured.best_s * 1e6), figure(measured.worst_s * 1e6)),
                measured.runs.to_string(),
                figure(measured.ideal_s * 1e6),
                figure(measured.residual_s * 1e6),
                figure(measured.gb_s),
                figure(measured.gflop_s),
                percent(Some(measured.utilization)),
                measured.band.to_owned(),
                figure(measured.first_s * 1e6),
                match measured.first_from_disk {
                    Some(true) => "disk",
                    Some(false) => "page cache",
                    None => "-",
                }
                .to_owned(),
            ]
        };
        let headings = [
            "operation",
            "type",
            "median_us",
            "range_us",
            "runs",
            "ideal_us",
            "residual_us",
            "gb_s",
            "gflop_s",
            "utilization",
            "band",
            "first_us",
            "first_from",
        ];
        Some(Table {
            title: format!("Measured on one {}", self.unit()),
            headings: headings.map(str::to_owned).to_vec(),
            rows: found.iter().map(row).collect(),
        })
    }

    /// What goes through the model.
    fn unit(&self) -> &'static str {
        match self.workload {
            Asked::Tokens(_) => "token",
            Asked::Samples { .. } => "sample",
        }
    }

    /// All measured operations, one after the other.
    fn chain(&self) -> String {
        let found = || self.operations.iter().filter_map(|entry| entry.measured.as_ref());
        let (time, ideal) =
            found().fold((0.0, 0.0), |sum, each| (sum.0 + each.median_s, sum.1 + each.ideal_s));
        format!(
            "{} measured operations: {} ms a {}, at least {} ms; {} of the ceiling\n",
            found().count(),
            figure(time * 1e3),
            self.unit(),
            figure(ideal * 1e3),
            percent(Some(ideal / time))
        )
    }

    fn compared(&self) -> Option<Table> {
        if self.llama_bench.is_empty() {
            return None;
        }
        let row = |point: &Compared| {
            vec![
                point.test.clone(),
                point.threads.map_or("-".into(), |threads| threads.to_string()),
                figure(point.tokens_per_s),
                figure(point.deviation),
                maybe(point.ceiling_tokens_per_s),
                percent(point.share),
                maybe(point.gb_s),
                maybe(point.gflop_s),
            ]
        };
        let headings =
            ["test", "threads", "tokens_per_s", "deviation", "ceiling", "share", "gb_s", "gflop_s"];
        Some(Table {
            title: "llama-bench beside the ceilings".into(),
            headings: headings.map(str::to_owned).to_vec(),
            rows: self.llama_bench.iter().map(row).collect(),
        })
    }

    fn advised(&self) -> Option<Table> {
        let advice = self.advice.as_ref().filter(|advice| !advice.is_empty())?;
        let row = |advice: &Advice| {
            vec![
                advice.priority.to_owned(),
                percent(Some(advice.share)),
                advice.operations.to_string(),
                advice.first.clone(),
                advice.text.to_owned(),
            ]
        };
        let headings = ["priority", "share", "operations", "first", "advice"];
        Some(Table {
            title: "Advice".into(),
            headings: headings.map(str::to_owned).to_vec(),
            rows: advice.iter().map(row).collect(),
        })
    }
}

impl Report for Profiled {
    const SCHEMA: &'static str = "roofline.profile/1";

    fn text(&self, canvas: &Canvas) -> String {
        let model = &self.model;
        let size =
            model.bytes.map(|bytes| format!(", {} GB", figure(bytes as f64 / 1e9))).unwrap_or_default();
        let types = match (&model.change, model.types.as_slice()) {
            (Some(change), _) => format!(", as {change}"),
            (None, []) => String::new(),
            (None, types) => format!(", {}", types.join(" ")),
        };
        let parameters = figure(model.parameters as f64);
        let device = &self.device;
        let work = match &self.workload {
            Asked::Tokens(Workload { batch, context, prompt, .. }) => {
                format!("batch {batch}, {context} tokens in the cache, a prompt of {prompt}")
            }
            Asked::Samples { batch, .. } => {
                format!("batch {batch}, inputs and outputs of {} bytes a number", stack::ACTIVATION)
            }
        };
        let head = format!(
            "{}: {} {}, {parameters} parameters{size}{types}\n\
             on {} ({}): {} GB/s, {} Gflop/s in {}\n\
             {work}\n",
            model.file,
            model.format,
            model.architecture,
            device.name,
            device.source,
            figure(device.bandwidth_gb_s),
            figure(device.compute_gflop_s),
            device.precision,
        );
        let all: Vec<&Row> = self.rows.iter().collect();
        let shown = if self.top.is_none() && all.len() > ROWS {
            let mut most = all.clone();
            let time = |row: &Row| row.cost.map_or(0.0, |cost| cost.ideal_s);
            most.sort_by(|a, b| time(b).total_cmp(&time(a)));
            most.truncate(ROWS);
            most
        } else {
            all.clone()
        };
        let mut parts = vec![head, self.totals().text(), self.table(&shown).text()];
        if shown.len() < all.len() {
            let rest = format!("the {} largest of {}; --top shows more\n", shown.len(), all.len());
            parts.push(rest);
        }
        if let Some(mut table) = self.measured() {
            table.rows.truncate(self.top.unwrap_or(ROWS));
            parts.extend([table.text(), self.chain()]);
        }
        parts.extend(self.compared().map(|table| table.text()));
        parts.extend(self.saved().ok().map(|saved| draw(&saved.chart(), canvas)));
        parts.extend(self.advised().map(|table| table.text()));
        parts.join("\n")
    }

    fn tables(&self) -> Vec<Table> {
        let rows: Vec<&Row> = self.rows.iter().collect();
        let mut tables = vec![self.table(&rows), self.totals()];
        tables.extend([self.measured(), self.compared(), self.advised()].into_iter().flatten());
        tables
    }
}
