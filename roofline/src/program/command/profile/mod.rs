//! `roofline profile`: what each operation of a model file costs on a device, and the ceiling in tokens per second.

mod input;
mod pattern;
mod several;

pub use several::Profiles;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use regex_lite::Regex;
use roofline_contracts::suggest;

use crate::chart::html::{Page, WhatIf};
use crate::contracts::transformer;
use crate::device::Chosen;
use crate::model::{Basis, Dtype, Format, Mix, Model, Operation, Role, Work};
use crate::peaks::Machine;
use crate::predict::{
    MEMORY_ALONE, Numbers, Prediction, Target, bytes_per_number, ceilings_hold_for, dense,
    one_after_the_other, predict as reached,
};
use crate::profile::llama_bench::{Compared, compare};
use crate::profile::measure::{NO_PRODUCT, NOT_NOW, Passes, Through, Whole, measure};
use crate::profile::{
    self, By, Costs, Device, Entry, ModelFile, Phase, Profile, SOURCES, Task, WITHOUT_TENSORS, Workload,
    stack,
};
use crate::program::expected::{ModelTraits, missing};
use crate::program::output::picture::{self, Pictures};
use crate::program::output::terminal::Progress;
use crate::program::request;
use crate::program::what_if::{self, Moving, Part};
use crate::program::{Exit, Failure, cli, device, output, require};
use crate::report::{Report, Schema};
use roofline_machine::document;
use roofline_render::number::figure;

/// Profiles the file, and exits with 1 when a requirement does not hold.
pub fn run(args: &cli::Profile) -> Result<Exit, Failure> {
    if require::Names::of::<Profile>().help(&args.require)? || args.expecting.help()? {
        return Ok(Exit::Fine);
    }
    let pictures = Pictures::open(&args.pictures)?;
    let chosen = chosen(args)?;
    let [chosen] = chosen.as_slice() else {
        let report = Profiles::new(chosen.iter().map(|chosen| profiled(args, chosen)))?;
        pictures.show(&report, args.format, false)?;
        return Ok(report.exit());
    };
    let report = profiled(args, chosen)?;
    let chart = report.chart().unwrap_or_default();
    let page = || {
        let what_if = moved(&report)?;
        Ok(Page { chart: report.page(), what_if, bars: report.bars(), ..picture::page(&report) })
    };
    pictures.show_with(&report, &chart, args.format, true, page)?;
    Ok(require::exit(&report.requirements))
}

/// The devices that the arguments name; this machine if they name none.
pub fn chosen(args: &cli::Profile) -> Result<Vec<Chosen>, Failure> {
    args.devices.chosen(&args.devices.files.catalog()?, &["this"])
}

/// The profile that the arguments ask for, on one device.
pub fn profiled(args: &cli::Profile, chosen: &Chosen) -> Result<Profile, Failure> {
    let gates = require::Names::of::<Profile>().parse("--require", &args.require)?;
    let measured = [Profile::MEASURED, Profile::MEASURED_TEXTS].concat();
    if !args.measure && gates.iter().any(|gate| gate.names_any(&measured)) {
        let names = measured.join(", ");
        return Err(Failure(format!("--require: {names} are known only with --measure")));
    }
    let expecter = args.expecting.read()?;
    let precision = args.precision.as_deref().map(request::precision).transpose()?;
    let ops = args.ops.as_deref().map(|text| pattern::parse("--ops", text)).transpose()?;
    // A mix may have the name of a type.
    let mix = args.quant.as_deref().and_then(Mix::by_name);
    let change = match args.quant.as_deref() {
        Some(name) if mix.is_some() => Dtype::from_name(name),
        name => name.map(dtype).transpose()?,
    };
    if args.top == Some(0) {
        return Err(Failure("--top 0: at least one row is shown".into()));
    }
    if args.measure && !matches!(chosen, Chosen::This) {
        return Err(Failure(format!("--measure runs on this machine, not on {}", args.devices.on.join(","))));
    }
    let model = if args.headers_only { Model::open_headers(&args.file) } else { Model::open(&args.file) }?;
    let (model, change) = match mix {
        Some(mix) if !model.tensors.is_empty() => (model.mixed(mix), None),
        Some(mix) if change.is_none() => {
            return Err(Failure(format!(
                "--as {}: a mix needs tensors, and there are only dimensions",
                mix.name
            )));
        }
        _ => (model, change),
    };
    if model.architecture.operations.is_empty() && model.graph.is_none() {
        return Err(Failure(format!("{}: no tensors, and no dimensions either", args.file.display())));
    }
    let is_stack = stack::is_stack(&model) || model.graph.is_some();
    refuse(args, is_stack)?;
    if model.graph.is_some() && (args.measure || args.quant.is_some()) {
        let flag = if args.measure { "--measure" } else { "--as" };
        return Err(Failure(format!("{flag}: the weights of an ONNX file are not read")));
    }
    let sizes = if model.graph.is_none() { input::parse(&args.input)? } else { Vec::new() };
    let mut warnings = model.warnings.clone();
    let chosen = chosen.clone().measured(|| device::this(&args.measuring))?;
    let target = chosen.target(precision)?;
    let phase = match args.phase {
        cli::Phase::Decode => Phase::Decode,
        cli::Phase::Prefill => Phase::Prefill,
    };
    let by = match args.by {
        cli::By::Op => By::Operation,
        cli::By::Layer => By::Layer,
        cli::By::Kind => By::Kind,
    };
    let (task, workload, mut found) = if let Some(graph) = &model.graph {
        let shapes = input::shapes(&args.input)?;
        let inferred = graph.infer(&shapes, args.batch as u64).map_err(|fault| Failure(fault.to_string()))?;
        if args.batch != 1.0 && inferred.batch as f64 != args.batch {
            let batch = inferred.batch;
            return Err(Failure(format!("--batch {}: the inputs have a batch of {batch}", args.batch)));
        }
        let found = profile::graph::profile(&model, &inferred, &target)?;
        (Task::samples(inferred.batch as f64, args.input.clone()), None, found)
    } else if is_stack {
        let batch = args.batch;
        let find = |name: &str| input::find(&sizes, name);
        let found = stack::profile(&model, &target, batch, change, input::network(&sizes), find)?;
        check_sizes(&sizes, &found, &model, &mut warnings)?;
        (Task::samples(batch, args.input.clone()), None, found)
    } else {
        let (workload, cache) = workload(args, &model, &mut warnings)?;
        let found = profile::profile(&model, &target, &workload, change)?;
        (Task::tokens(&workload, cache), Some(workload), found)
    };
    warn(&found, &model, change, &mut warnings);
    let cache = task.cache.clone().unwrap_or_default();
    let (mut passes, mut whole) = (None, None);
    if let Chosen::Saved { machine, .. } = &chosen
        && args.measure
    {
        let through = through(args, &found, workload.as_ref(), &cache, phase)?;
        passes =
            run_kernels(args, ops.as_ref(), &model, machine, through, &mut found.entries, &mut warnings)?;
        whole = passes.zip(through).and_then(|(passes, through)| {
            let bounds = found.undefined().chain(found.at_most()).next().is_some();
            let ceiling = found.total(through.phase).filter(|_| !bounds);
            Whole::of(&found.entries, &passes, &through, ceiling)
        });
    }
    let llama_bench = match (&args.llama_bench, workload) {
        (Some(path), Some(workload)) => beside(path, args.any_model, &model, &target, &workload)?,
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
    warnings.extend(target.doubts.iter().cloned());
    let most = found.most(phase).unwrap_or_else(|| target.rate(Numbers::Half));
    let mut rows = found.rows(by, phase, &target)?;
    if let Some(top) = args.top {
        rows.sort_by(|a, b| b.least_s().total_cmp(&a.least_s()));
        rows.truncate(top);
    }
    let advice = if args.no_advice { None } else { Some(found.advice(phase, &target)?) };
    let subject = subject(args, &model, is_stack);
    let expected = workload.map(|workload| {
        let device = if let Chosen::Device(device) = &chosen { Some(*device) } else { None };
        let format = subject.change.as_ref().or(subject.types.first()).map_or("", String::as_str);
        let layers = Some(request::layers(&model.architecture.operations));
        let work = ModelTraits { name: &model.architecture.name, format, layers };
        match predicted(&model, change, &workload, &target) {
            Ok(prediction) => expecter.expect(&work, &target, device, &prediction),
            Err(why) => Ok(missing(why)),
        }
    });
    let expected = expected.transpose()?;
    let expectations = expecter.sentences(expected.iter().map(|expected| (target.name.as_str(), expected)));
    let ceilings = holds_for(&subject, &task, &found, &target);
    let mut report = Profile {
        schema: Schema::new(),
        model: subject,
        device: Device {
            name: target.name,
            precision: most.precision,
            compute_gflop_s: most.gflop_s,
            estimate_precision: target.asked.map(|(precision, _)| precision),
            bandwidth_gb_s: target.bandwidth,
            cache_bytes: target.caches,
            overhead_us: target.overhead,
            source: target.source,
        },
        workload: task,
        phase,
        decode: found.decode,
        prefill: found.prefill,
        pass: found.pass,
        expected,
        expectations,
        operations: found.entries,
        by,
        rows,
        top: args.top,
        passes,
        whole,
        llama_bench,
        advice,
        ceilings,
        requirements: Vec::new(),
        warnings,
        sources: SOURCES.iter().map(|(figure, source)| ((*figure).into(), (*source).into())).collect(),
    };
    report.warnings.extend(report.impossible());
    let mut requirements = require::check_report(&gates, &report);
    // A total that is a bound does not decide, and the reason is told.
    for (name, value) in requirements.iter_mut().flat_map(|checked| &mut checked.values) {
        if let Some(reason) = report.undecided(name) {
            *value = format!("not known: {reason}");
        }
    }
    report.requirements = requirements;
    for warning in &report.warnings {
        output::say(&format!("warning: {warning}"));
    }
    Ok(report)
}

/// The model as `roofline predict` sees it, whose rows of the record an expectation comes from.
fn predicted(
    model: &Model,
    change: Option<Dtype>,
    workload: &Workload,
    target: &Target,
) -> Result<Prediction, Failure> {
    let (inputs, mut stored) = profile::inputs(model, change)?;
    let Workload { batch, context, prompt, cache_size, cache } = *workload;
    stored.cache = cache;
    let inputs = transformer::Inputs { batch, context, prompt, cache_size, ..inputs };
    Ok(reached(inputs, &stored, target)?)
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

/// What the model is asked to do, and the format of its cache.
fn workload(
    args: &cli::Profile,
    model: &Model,
    warnings: &mut Vec<String>,
) -> Result<(Workload, &'static str), Failure> {
    let cache = request::format(&args.cache, "--cache")?;
    let longest = model.architecture.context_length;
    let longest = longest.map(|tokens| tokens as f64);
    let (context, prompt) = request::lengths(args.context, args.prompt, longest, warnings);
    let cache_size = bytes_per_number(cache)?;
    Ok((Workload { batch: args.batch, context, prompt, cache_size, cache: cache.numbers }, cache.name))
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
    found: &Costs,
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
            "convolutions: sizes go from layer to layer; a stride of 1 and a padding that keeps the size are assumed where --input \
             does not say otherwise, a stride of half its kernel where it is transposed, and no pooling between them"
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

/// What is measured: a prompt where one is asked for or the model makes no tokens, else one token of each sequence.
fn through<'a>(
    args: &cli::Profile,
    found: &Costs,
    workload: Option<&'a Workload>,
    cache: &'a str,
    phase: Phase,
) -> Result<Option<Through<'a>>, Failure> {
    let Some(workload) = workload else { return Ok(None) };
    let prompt = phase == Phase::Prefill || args.prompt.is_some() || found.decode.is_none();
    let through = Through { phase: if prompt { Phase::Prefill } else { Phase::Decode }, workload, cache };
    let tokens = through.tokens();
    if tokens > Through::MOST as f64 {
        return Err(Failure(format!(
            "--measure takes at most {} tokens at once, not {tokens}; give a smaller --prompt or --batch",
            Through::MOST
        )));
    }
    Ok(Some(through))
}

/// Measures the operations asked for.
fn run_kernels(
    args: &cli::Profile,
    ops: Option<&Regex>,
    model: &Model,
    machine: &Machine,
    through: Option<Through>,
    entries: &mut [Entry],
    warnings: &mut Vec<String>,
) -> Result<Option<Passes>, Failure> {
    let wanted = |entry: &Entry| ops.is_none_or(|ops| ops.is_match(&entry.name));
    if !entries.iter().any(wanted) {
        let names: Vec<&str> = entries.iter().take(8).map(|entry| entry.name.as_str()).collect();
        let text = ops.map(Regex::as_str).unwrap_or_default();
        return Err(Failure(format!(
            "--ops {text}: there is no operation with such a name; some are {}",
            names.join(", ")
        )));
    }
    let budget = Duration::from_secs(if args.measuring.quick { 2 } else { 10 });
    let progress = Progress::lasting(budget);
    let passes = measure(model, entries, machine, through, budget, wanted, |pass, most| {
        progress.say(&format!("running the weights, pass {pass} of at most {most}"));
    })?;
    let told = |entry: &&Entry| {
        entry.not_measured.as_deref().is_some_and(|reason| ![NO_PRODUCT, NOT_NOW].contains(&reason))
    };
    let failed = entries.iter().filter(told).count();
    if let Some(Entry { name, not_measured: Some(reason), .. }) = entries.iter().find(told) {
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
    Ok(passes)
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

fn warn(found: &Costs, model: &Model, change: Option<Dtype>, warnings: &mut Vec<String>) {
    let undefined = found.undefined().count();
    if let Some(first) = found.undefined().next() {
        let reason = first.undefined.as_deref().unwrap_or_default();
        let name = &first.name;
        warnings.push(format!(
            "{undefined} operation(s) are undefined and missing from the totals, which are bounds and no ceilings then; the first is {name}: {reason}"
        ));
    }
    let most = found.at_most().count();
    if let Some(first) = found.at_most().next() {
        let reason = first.at_most.as_deref().unwrap_or_default();
        let name = &first.name;
        warnings.push(format!(
            "{most} operation(s) may cost less than is counted, and the totals are bounds and no ceilings then; the first is {name}: {reason}"
        ));
    }
    if model.tensors.is_empty() && change.is_none() {
        let assumed = WITHOUT_TENSORS;
        warnings.push(format!("no weights in the file: {assumed} is assumed; set another with --quant"));
    }
    if found.kept > 0 {
        let kept = found.kept;
        warnings.push(format!("{kept} tensor(s) keep their type: their rows do not fill its blocks"));
    }
}

fn subject(args: &cli::Profile, model: &Model, is_stack: bool) -> ModelFile {
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
    ModelFile {
        file: args.file.display().to_string(),
        format: match model.format {
            Format::Gguf { .. } => "GGUF",
            Format::SafeTensors => "SafeTensors",
            Format::Onnx => "ONNX",
            Format::Apr => "APR",
            Format::Config => "config.json",
        }
        .to_owned(),
        architecture,
        parameters: model.parameters(),
        bytes: model.bytes().filter(|_| !model.tensors.is_empty()),
        types: types.into_iter().map(|(dtype, _)| dtype.to_string()).collect(),
        change: args.quant.as_ref().map(|name| name.to_uppercase()),
        context_length: model.architecture.context_length,
        facts: model.summary.clone(),
    }
}

/// What the ceilings of a profile hold for; empty where something is undefined or may cost less, and totals are bounds.
fn holds_for(subject: &ModelFile, task: &Task, found: &Costs, target: &Target) -> String {
    if found.undefined().chain(found.at_most()).next().is_some() {
        return String::new();
    }
    let types =
        || if subject.types.is_empty() { WITHOUT_TENSORS.to_string() } else { subject.types.join(", ") };
    let weights = subject.change.clone().unwrap_or_else(types);
    let hold = ceilings_hold_for(&weights, task.cache.as_deref(), 1.0, target.caches);
    let unknown = |entry: &Entry| entry.precision.is_some() && entry.compute_gflop_s.is_none();
    if found.entries.iter().any(unknown) { format!("{hold} {MEMORY_ALONE}") } else { hold }
}

/// Sliders for the batch and the context or the prompt; none over measured operations.
fn moved(profile: &Profile) -> Result<Option<WhatIf>, Failure> {
    if profile.measured().next().is_some() {
        return Ok(None);
    }
    let Device { bandwidth_gb_s: bandwidth, cache_bytes: resident, .. } = profile.device;
    let Task { batch, context, prompt, cache_size, .. } = profile.workload;
    let moving = |(point, entry): (usize, &Entry)| {
        entry.cost(profile.phase)?;
        let inputs = match context.zip(prompt) {
            Some((context, prompt)) => entry.in_phase(profile.phase, context, prompt)?,
            None => entry.shape?,
        };
        // What a decoder sees of its encoder follows the prompt, and what has a length of its own follows nothing.
        let fixed = match profile.phase {
            Phase::Prefill => entry.role.meets_one_token() || entry.shape?.tokens > 1.0,
            _ => entry.role == Role::CrossAttention || entry.shape?.context > 1.0,
        };
        Some(Moving { point, inputs, fixed, part: Part::of(entry.role) })
    };
    let parts: Vec<Moving> = profile.operations.iter().enumerate().filter_map(moving).collect();
    let (Some(context), Some(prompt), Some(cache_size)) = (context, prompt, cache_size) else {
        let compute = profile.device.compute_gflop_s.unwrap_or(dense(1.0).compute);
        return what_if::layers(batch, resident, (bandwidth, compute), &parts).map(Some);
    };
    // Each part at the rate of its own numbers, as `predict` has it.
    let rate = |part: Part| {
        let entries = profile.operations.iter().filter(|entry| Part::of(entry.role) == part);
        let rates: Vec<(f64, f64)> = entries.filter_map(|entry| entry.rate(profile.phase)).collect();
        one_after_the_other(&rates)
    };
    let none = dense(1.0);
    let [compute, head_compute, attention_compute] = Part::ALL.map(rate);
    let asked = transformer::Inputs {
        batch,
        context,
        prompt,
        cache_size,
        bandwidth,
        resident,
        compute: compute.unwrap_or(none.compute),
        head_compute: head_compute.unwrap_or(none.head_compute),
        attention_compute: attention_compute.unwrap_or(none.attention_compute),
        ..none
    };
    what_if::operations(profile.phase, &asked, profile.model.context_length, &parts).map(Some)
}
