//! `roofline profile`: cost of each operation of a model file on a device, and its ceilings.

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
use crate::cli::expected::{ModelTraits, missing};
use crate::cli::output::charts::{self, Charts};
use crate::cli::output::terminal::Progress;
use crate::cli::request;
use crate::cli::sliders::{self, Part, SliderTarget};
use crate::cli::{Exit, Failure, args, conditions, device, output};
use crate::contracts::transformer;
use crate::device::ResolvedDevice;
use crate::machine::Machine;
use crate::model::{Basis, Dtype, Format, Model, Operation, QuantMix, Role, Work};
use crate::predict::{
    DeviceProfile, Numbers, Prediction, UNKNOWN_COMPUTE_PEAK, bytes_per_number, ceiling_statement, dense,
    harmonic_mean_rate, predict as reached,
};
use crate::profile::llama_bench::{Compared, compare};
use crate::profile::measure::{EndToEnd, MeasuredWork, NO_PRODUCT, NOT_NOW, Passes, measure};
use crate::profile::{
    self, By, Costs, Device, Entry, ModelFile, Phase, Profile, SOURCES, Task, WITHOUT_TENSORS, Workload,
    feed_forward,
};
use crate::report::{Report, Schema};
use roofline_machine::storage;
use roofline_render::format::figure;

/// Profiles the file. Exits with 1 if a requirement does not hold.
pub fn run(args: &args::Profile) -> Result<Exit, Failure> {
    if conditions::Names::for_report::<Profile>().help(&args.require)? || args.expecting.help()? {
        return Ok(Exit::Fine);
    }
    let pictures = Charts::open(&args.pictures)?;
    let chosen = chosen(args)?;
    let [chosen] = chosen.as_slice() else {
        let report = Profiles::new(chosen.iter().map(|chosen| profiled(args, chosen)))?;
        pictures.show(&report, args.format, false)?;
        return Ok(report.exit());
    };
    let report = profiled(args, chosen)?;
    let chart = report.chart().unwrap_or_default();
    let page = || {
        let what_if = sliders(&report)?;
        Ok(Page { chart: report.page(), what_if, bars: report.bars(), ..charts::page(&report) })
    };
    pictures.show_with(&report, &chart, args.format, true, page)?;
    Ok(conditions::exit(&report.requirements))
}

/// Returns the devices of the arguments; this machine by default.
pub fn chosen(args: &args::Profile) -> Result<Vec<ResolvedDevice>, Failure> {
    args.devices.chosen(&args.devices.files.catalog()?, &["this"])
}

/// Profiles the file on one device.
pub fn profiled(args: &args::Profile, chosen: &ResolvedDevice) -> Result<Profile, Failure> {
    let gates = conditions::Names::for_report::<Profile>().parse("--require", &args.require)?;
    let measured = [Profile::MEASURED, Profile::MEASURED_TEXTS].concat();
    if !args.measure && gates.iter().any(|gate| gate.contains_any(&measured)) {
        let names = measured.join(", ");
        return Err(Failure(format!("--require: cannot check measured values ({names}) without --measure")));
    }
    let expecter = args.expecting.read()?;
    let precision = args.precision.as_deref().map(request::precision).transpose()?;
    let ops = args.ops.as_deref().map(|text| pattern::parse("--ops", text)).transpose()?;
    // A mix may have the name of a type.
    let mix = args.quant.as_deref().and_then(QuantMix::by_name);
    let change = match args.quant.as_deref() {
        Some(name) if mix.is_some() => Dtype::from_name(name),
        name => name.map(dtype).transpose()?,
    };
    if args.top == Some(0) {
        return Err(Failure("--top 0: expected at least 1".into()));
    }
    if args.measure && !matches!(chosen, ResolvedDevice::This) {
        return Err(Failure(format!(
            "--measure: cannot measure on {}; expected --on this",
            args.devices.on.join(",")
        )));
    }
    let model = if args.headers_only { Model::open_headers(&args.file) } else { Model::open(&args.file) }?;
    let (model, change) = match mix {
        Some(mix) if !model.tensors.is_empty() => (model.requantized(mix), None),
        Some(mix) if change.is_none() => {
            return Err(Failure(format!(
                "--quant {}: a quantization mix requires tensors; the file has only dimensions",
                mix.name
            )));
        }
        _ => (model, change),
    };
    if model.architecture.operations.is_empty() && model.graph.is_none() {
        return Err(Failure(format!("{}: missing tensors and dimensions", args.file.display())));
    }
    let is_feed_forward = feed_forward::is_feed_forward(&model) || model.graph.is_some();
    check_flags(args, is_feed_forward)?;
    if model.graph.is_some() && (args.measure || args.quant.is_some()) {
        let flag = if args.measure { "--measure" } else { "--quant" };
        return Err(Failure(format!("{flag}: not supported for ONNX files, whose weights are not read")));
    }
    let sizes = if model.graph.is_none() { input::parse(&args.input)? } else { Vec::new() };
    let mut warnings = model.warnings.clone();
    let chosen = chosen.clone().measured(|| device::this(&args.measuring))?;
    let target = chosen.target(precision)?;
    let phase = match args.phase {
        args::Phase::Decode => Phase::Decode,
        args::Phase::Prefill => Phase::Prefill,
    };
    let by = match args.by {
        args::By::Op => By::Operation,
        args::By::Layer => By::Layer,
        args::By::Kind => By::Kind,
    };
    let (task, workload, mut costs) = if let Some(graph) = &model.graph {
        let shapes = input::shapes(&args.input)?;
        let inferred = graph.infer(&shapes, args.batch as u64).map_err(|fault| Failure(fault.to_string()))?;
        if args.batch != 1.0 && inferred.batch as f64 != args.batch {
            let batch = inferred.batch;
            return Err(Failure(format!(
                "--batch {}: cannot change the batch; the inputs of the file have a batch of {batch}",
                args.batch
            )));
        }
        let costs = profile::onnx::profile(&model, &inferred, &target)?;
        (Task::samples(inferred.batch as f64, args.input.clone()), None, costs)
    } else if is_feed_forward {
        let batch = args.batch;
        let find = |name: &str| input::find(&sizes, name);
        let costs = feed_forward::profile(&model, &target, batch, change, input::network(&sizes), find)?;
        check_sizes(&sizes, &costs, &model, &mut warnings)?;
        (Task::samples(batch, args.input.clone()), None, costs)
    } else {
        let (workload, cache) = workload(args, &model, &mut warnings)?;
        let costs = profile::profile(&model, &target, &workload, change)?;
        (Task::tokens(&workload, cache), Some(workload), costs)
    };
    warn(&costs, &model, change, &mut warnings);
    let cache = task.cache.clone().unwrap_or_default();
    let (mut passes, mut whole) = (None, None);
    if let ResolvedDevice::Saved { machine, .. } = &chosen
        && args.measure
    {
        let through = through(args, &costs, workload.as_ref(), &cache, phase)?;
        passes =
            run_kernels(args, ops.as_ref(), &model, machine, through, &mut costs.entries, &mut warnings)?;
        whole = passes.zip(through).and_then(|(passes, through)| {
            let bounds = costs.undefined().chain(costs.at_most()).next().is_some();
            let ceiling = costs.total(through.phase).filter(|_| !bounds);
            EndToEnd::new(&costs.entries, &passes, &through, ceiling)
        });
    }
    let llama_bench = match (&args.llama_bench, workload) {
        (Some(path), Some(workload)) => read_llama_bench(path, args.any_model, &model, &target, &workload)?,
        _ => Vec::new(),
    };
    let phase = if is_feed_forward {
        Phase::Pass
    } else if costs.total(phase).is_none() && costs.prefill.is_some() {
        warnings.push("the model does not generate tokens; figures are those of prefill".into());
        Phase::Prefill
    } else {
        phase
    };
    warnings.extend(target.doubts.iter().cloned());
    let peak = costs.most(phase).unwrap_or_else(|| target.rate(Numbers::Half));
    let mut rows = costs.rows(by, phase, &target)?;
    if let Some(top) = args.top {
        rows.sort_by(|a, b| b.least_s().total_cmp(&a.least_s()));
        rows.truncate(top);
    }
    let advice = if args.no_advice { None } else { Some(costs.advice(phase, &target)?) };
    let subject = subject(args, &model, is_feed_forward);
    let expected = workload.map(|workload| {
        let device = if let ResolvedDevice::Device(device) = &chosen { Some(*device) } else { None };
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
    let ceilings = ceiling_conditions(&subject, &task, &costs, &target);
    let mut report = Profile {
        schema: Schema::new(),
        model: subject,
        device: Device {
            name: target.name,
            precision: peak.precision,
            compute_gflop_s: peak.gflop_s,
            ideal_precision: target.asked.map(|(precision, _)| precision),
            bandwidth_gb_s: target.bandwidth,
            cache_bytes: target.caches,
            overhead_us: target.overhead,
            source: target.source,
        },
        workload: task,
        phase,
        decode: costs.decode,
        prefill: costs.prefill,
        pass: costs.pass,
        expected,
        expectations,
        operations: costs.entries,
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
    let mut requirements = conditions::check_report(&gates, &report);
    // A total that is only a bound does not decide a requirement; the reason replaces its value.
    for (name, value) in requirements.iter_mut().flat_map(|checked| &mut checked.values) {
        if let Some(reason) = report.undecided(name) {
            *value = format!("unknown: {reason}");
        }
    }
    report.requirements = requirements;
    for warning in &report.warnings {
        output::log(&format!("warning: {warning}"));
    }
    Ok(report)
}

/// Predicts the model as `roofline predict` does, for its expected speed.
fn predicted(
    model: &Model,
    change: Option<Dtype>,
    workload: &Workload,
    target: &DeviceProfile,
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
        let known: Vec<String> = types.chain(QuantMix::names().map(str::to_owned)).collect();
        let lower = name.to_lowercase();
        let near = suggest::closest(&lower, known.iter().map(String::as_str));
        let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        Failure(format!("--quant {name}: unknown format; {near}expected one of {}", known.join(", ")))
    })
}

/// Returns the workload and the cache type.
fn workload(
    args: &args::Profile,
    model: &Model,
    warnings: &mut Vec<String>,
) -> Result<(Workload, &'static str), Failure> {
    let cache = request::format(&args.cache, "--cache")?;
    let max_tokens = model.architecture.context_length.map(|tokens| tokens as f64);
    let (context, prompt) = request::lengths(args.context, args.prompt, max_tokens, warnings);
    let cache_size = bytes_per_number(cache)?;
    Ok((Workload { batch: args.batch, context, prompt, cache_size, cache: cache.numbers }, cache.name))
}

/// Rejects flags that do not apply to this kind of model.
fn check_flags(args: &args::Profile, is_feed_forward: bool) -> Result<(), Failure> {
    let tokens = "only applies to models that take tokens; this model takes samples";
    let inapplicable = [
        (is_feed_forward && args.context.is_some(), "--context", tokens),
        (is_feed_forward && args.prompt.is_some(), "--prompt", tokens),
        (is_feed_forward && args.llama_bench.is_some(), "--llama-bench", tokens),
        (
            !is_feed_forward && !args.input.is_empty(),
            "--input",
            "only applies to convolutional networks; this model takes tokens",
        ),
    ];
    match inapplicable.iter().find(|(set, ..)| *set) {
        Some((_, flag, reason)) => Err(Failure(format!("{flag}: {reason}"))),
        None => Ok(()),
    }
}

/// Checks the sizes, and warns about assumed and missing ones.
fn check_sizes(
    sizes: &[input::InputSize],
    costs: &Costs,
    model: &Model,
    warnings: &mut Vec<String>,
) -> Result<(), Failure> {
    let operation = |entry: &Entry| model.architecture.operations.get(entry.operation);
    let convolutions: Vec<(&Entry, &Operation)> = costs
        .entries
        .iter()
        .filter_map(|entry| Some((entry, operation(entry)?)))
        .filter(|(_, operation)| matches!(operation.work, Work::Convolution { .. }))
        .collect();
    let names: Vec<(&str, &Operation)> =
        convolutions.iter().map(|(entry, operation)| (entry.name.as_str(), *operation)).collect();
    input::check(sizes, &names)?;
    if sizes.iter().any(|sized| sized.input.stride.is_none() || sized.input.padding.is_none()) {
        warnings.push(
            "input sizes are propagated from layer to layer, without pooling; unless --input sets them, stride 1 and same padding are \
             assumed, and a stride of half the kernel for transposed convolutions"
                .into(),
        );
    }
    if let Some((entry, operation)) = convolutions.iter().find(|(entry, _)| entry.pass.is_none()) {
        let first = input::shape(&entry.name, operation);
        warnings
            .push(format!("the cost of convolutions depends on the input size; pass --input, e.g. {first}"));
    }
    Ok(())
}

/// Returns the work to measure: prefill if requested or if the model does not generate tokens, else one decode step.
fn through<'a>(
    args: &args::Profile,
    costs: &Costs,
    workload: Option<&'a Workload>,
    cache: &'a str,
    phase: Phase,
) -> Result<Option<MeasuredWork<'a>>, Failure> {
    let Some(workload) = workload else { return Ok(None) };
    let prompt = phase == Phase::Prefill || args.prompt.is_some() || costs.decode.is_none();
    let through =
        MeasuredWork { phase: if prompt { Phase::Prefill } else { Phase::Decode }, workload, cache };
    let tokens = through.tokens();
    if tokens > MeasuredWork::MAX_TOKENS as f64 {
        return Err(Failure(format!(
            "--measure: {tokens} tokens at once exceed the maximum of {}; pass a smaller --prompt or --batch",
            MeasuredWork::MAX_TOKENS
        )));
    }
    Ok(Some(through))
}

/// Measures the selected operations, and warns about unmeasured ones.
fn run_kernels(
    args: &args::Profile,
    ops: Option<&Regex>,
    model: &Model,
    machine: &Machine,
    through: Option<MeasuredWork>,
    entries: &mut [Entry],
    warnings: &mut Vec<String>,
) -> Result<Option<Passes>, Failure> {
    let selected = |entry: &Entry| ops.is_none_or(|ops| ops.is_match(&entry.name));
    if !entries.iter().any(selected) {
        let names: Vec<&str> = entries.iter().take(8).map(|entry| entry.name.as_str()).collect();
        let text = ops.map(Regex::as_str).unwrap_or_default();
        return Err(Failure(format!(
            "--ops {text}: matches no operation; expected a match of names such as {}",
            names.join(", ")
        )));
    }
    let budget = Duration::from_secs(if args.measuring.quick { 2 } else { 10 });
    let progress = Progress::with_duration(budget);
    let passes = measure(model, entries, machine, through, budget, selected, |pass, max| {
        progress.message(&format!("running the operations, pass {pass} of up to {max}"));
    })?;
    let unexpected = |entry: &&Entry| {
        entry.not_measured.as_deref().is_some_and(|reason| ![NO_PRODUCT, NOT_NOW].contains(&reason))
    };
    let failed = entries.iter().filter(unexpected).count();
    if let Some(Entry { name, not_measured: Some(reason), .. }) = entries.iter().find(unexpected) {
        warnings.push(format!("{failed} operation(s) not measured (first: {name}: {reason})"));
    }
    let copied: Vec<&Entry> = entries
        .iter()
        .filter(|entry| entry.measured.as_ref().is_some_and(|measured| measured.copied))
        .collect();
    if let Some(first) = copied.first() {
        let bytes: f64 = copied.iter().filter_map(|entry| Some(entry.step()?.weight_bytes)).sum();
        warnings.push(format!(
            "{} operation(s) ran from copies of their weights ({} MB), which are not aligned in the file (first: {})",
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
            "the measured weights are less than twice as large as the caches, so they may be read faster than from memory".into(),
        );
    }
    Ok(passes)
}

fn read_llama_bench(
    path: &Path,
    any_model: bool,
    model: &Model,
    target: &DeviceProfile,
    workload: &Workload,
) -> Result<Vec<Compared>, Failure> {
    let wrong = |reason: String| Failure(format!("{}: {reason}", path.display()));
    let text = storage::read(path).map_err(|error| wrong(error.to_string()))?;
    compare(&text, model, target, workload, any_model).map_err(|error| wrong(error.to_string()))
}

fn warn(costs: &Costs, model: &Model, change: Option<Dtype>, warnings: &mut Vec<String>) {
    let undefined = costs.undefined().count();
    if let Some(first) = costs.undefined().next() {
        let reason = first.undefined.as_deref().unwrap_or_default();
        let name = &first.name;
        warnings.push(format!(
            "{undefined} operation(s) have unknown cost and are excluded, so totals are only bounds (first: {name}: {reason})"
        ));
    }
    let upper = costs.at_most().count();
    if let Some(first) = costs.at_most().next() {
        let reason = first.at_most.as_deref().unwrap_or_default();
        let name = &first.name;
        warnings.push(format!(
            "{upper} operation(s) may cost less than counted, so totals are only bounds (first: {name}: {reason})"
        ));
    }
    if model.tensors.is_empty() && change.is_none() {
        let assumed = WITHOUT_TENSORS;
        warnings.push(format!("the file contains no weights; assuming {assumed} (change with --quant)"));
    }
    if costs.kept > 0 {
        let kept = costs.kept;
        warnings.push(format!(
            "{kept} tensor(s) keep their format because their rows are not a multiple of the block size"
        ));
    }
}

fn subject(args: &args::Profile, model: &Model, is_feed_forward: bool) -> ModelFile {
    let mut types: BTreeMap<Dtype, u64> = BTreeMap::new();
    for tensor in &model.tensors {
        *types.entry(tensor.dtype).or_default() += tensor.bytes.unwrap_or(0);
    }
    let mut types: Vec<(Dtype, u64)> = types.into_iter().collect();
    types.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let architecture = match model.architecture.basis {
        Basis::Family | Basis::Declared => model.architecture.name.clone(),
        Basis::Tensors if is_feed_forward => "feed-forward network".to_owned(),
        Basis::Tensors => format!("{} (inferred from tensors)", model.architecture.name),
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

/// Returns the conditions under which the ceilings hold; empty if totals are only bounds.
fn ceiling_conditions(subject: &ModelFile, task: &Task, costs: &Costs, target: &DeviceProfile) -> String {
    if costs.undefined().chain(costs.at_most()).next().is_some() {
        return String::new();
    }
    let types =
        || if subject.types.is_empty() { WITHOUT_TENSORS.to_string() } else { subject.types.join(", ") };
    let weights = subject.change.clone().unwrap_or_else(types);
    let conditions = ceiling_statement(&weights, task.cache.as_deref(), 1.0, target.caches);
    let unknown = |entry: &Entry| entry.precision.is_some() && entry.compute_gflop_s.is_none();
    if costs.entries.iter().any(unknown) {
        format!("{conditions} {UNKNOWN_COMPUTE_PEAK}")
    } else {
        conditions
    }
}

/// Creates sliders for the workload and the device; `None` if operations were measured.
fn sliders(profile: &Profile) -> Result<Option<WhatIf>, Failure> {
    if profile.measured().next().is_some() {
        return Ok(None);
    }
    let Device { bandwidth_gb_s: bandwidth, cache_bytes: resident, .. } = profile.device;
    let Task { batch, context, prompt, cache_size, .. } = profile.workload;
    let target = |(point, entry): (usize, &Entry)| {
        entry.cost(profile.phase)?;
        let inputs = match context.zip(prompt) {
            Some((context, prompt)) => entry.in_phase(profile.phase, context, prompt)?,
            None => entry.shape?,
        };
        // Cross-attention depends on the prompt; operations with a fixed length on neither.
        let fixed = match profile.phase {
            Phase::Prefill => entry.role.is_once_per_sequence() || entry.shape?.tokens > 1.0,
            _ => entry.role == Role::CrossAttention || entry.shape?.context > 1.0,
        };
        Some(SliderTarget { point, inputs, fixed, part: Part::from_role(entry.role) })
    };
    let targets: Vec<SliderTarget> = profile.operations.iter().enumerate().filter_map(target).collect();
    let (Some(context), Some(prompt), Some(cache_size)) = (context, prompt, cache_size) else {
        let compute = profile.device.compute_gflop_s.unwrap_or(dense(1.0).compute);
        return sliders::layers(batch, resident, (bandwidth, compute), &targets).map(Some);
    };
    // Each part has the rate of its own precision, as in `predict`.
    let rate = |part: Part| {
        let entries = profile.operations.iter().filter(|entry| Part::from_role(entry.role) == part);
        let rates: Vec<(f64, f64)> = entries.filter_map(|entry| entry.rate(profile.phase)).collect();
        harmonic_mean_rate(&rates)
    };
    let default = dense(1.0);
    let [compute, head_compute, attention_compute] = Part::ALL.map(rate);
    let whole = transformer::Inputs {
        batch,
        context,
        prompt,
        cache_size,
        bandwidth,
        resident,
        compute: compute.unwrap_or(default.compute),
        head_compute: head_compute.unwrap_or(default.head_compute),
        attention_compute: attention_compute.unwrap_or(default.attention_compute),
        ..default
    };
    sliders::operations(profile.phase, &whole, profile.model.context_length, &targets).map(Some)
}
