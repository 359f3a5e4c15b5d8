//! Expected figures of a case, and the report of differences.

use std::collections::BTreeMap;
use std::fmt::Debug;

use roofline::contracts::hardware::devices::H100_SXM;
use roofline::model::{Basis, Head, Layer, Model, Operation, Role, Runs, Work};
use roofline::predict::{self, DeviceProfile, Numbers};
use roofline::profile::{Costs, Total, Workload, feed_forward, inputs, profile};
use serde::Deserialize;

use super::figure::{Figure, Names};
use super::operations::{layers, lines, matches, stored, streamed};
use crate::predicted;

/// Absent fields are not checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Expect {
    /// Part of the error for the file.
    pub error: Option<String>,
    /// Name of the architecture.
    name: Option<String>,
    /// `family`, for which dimensions and tensors must agree and each tensor belongs to one operation, or `declared`.
    basis: Option<String>,
    files: Option<usize>,
    parameters: Option<Figure>,
    /// Published parameters, to the given digits.
    billions: Option<String>,
    bytes: Option<Figure>,
    /// Bytes of weights that all operations read per token.
    streamed: Option<Figure>,
    context_length: Option<u64>,
    generates_tokens: Option<bool>,
    /// True if there is an output head.
    has_head: Option<bool>,
    /// All warnings.
    warnings: Option<Vec<String>>,
    /// Parts of warnings.
    #[serde(default)]
    warns: Vec<String>,
    /// Texts that no warning may contain.
    #[serde(default)]
    never_warns: Vec<String>,
    summary: Option<BTreeMap<String, String>>,
    /// Lines of `operations.rs`.
    operations: Option<Vec<String>>,
    /// Reasons of all operations of unknown cost.
    undefined: Option<Vec<String>>,
    /// Layer and role of attention and state operations, marked if their cost is undefined.
    memory: Option<Vec<String>>,
    windows: Option<Windows>,
    dimensions: Option<ExpectedDimensions>,
    inputs: Option<Inputs>,
    costs: Option<Step>,
    states: Option<States>,
    #[serde(default)]
    profiles: Vec<Profile>,
    pass: Option<Stack>,
    /// Executions per input of the operations with these tensors.
    #[serde(default)]
    runs: BTreeMap<String, u64>,
}

/// Windows of all layers with attention.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Windows {
    layers: usize,
    /// Windows of the first layers, repeated.
    repeat: Option<Vec<Option<u64>>>,
    /// Number of leading layers with a KV cache of their own; all by default.
    own: Option<usize>,
}

/// Dimensions of a known family.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ExpectedDimensions {
    vocab: Option<u64>,
    tied: Option<bool>,
    layers: Option<usize>,
    causal: Option<bool>,
    active_params: Option<Figure>,
    /// Active parameters, to the given digits.
    active_billions: Option<String>,
    /// Elements of the state of each layer, repeated; 0 for none.
    states: Option<Vec<Figure>>,
    /// Indexes of layers with attention.
    attends: Option<Vec<usize>>,
    /// Lines of `operations::layers`.
    each: Option<Vec<String>>,
}

/// Inputs of a prediction from the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Inputs {
    /// Part of the error for a prediction; empty for any error.
    error: Option<String>,
    full_width: Option<Figure>,
    state_width: Option<Figure>,
    /// Parameters of all products of a token.
    params: Option<Figure>,
}

/// Costs of a token, at contexts and prompts of 4096 and 32768 tokens.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    /// Parameters of all products of a token, including the head.
    active: Figure,
    /// Parameters of the head.
    head: Figure,
    /// Elements cached per token by all layers without a window.
    cached: Figure,
    /// Multiply-adds of attention per token pair in these layers.
    mixed: Figure,
    /// Layers with a window.
    window: Option<Window>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Window {
    tokens: u64,
    cached: Figure,
    mixed: Figure,
}

/// Costs of a recurrent model, at contexts of 4096 and 32768 tokens.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct States {
    /// Parameters of all products of a token, including the head.
    active: Figure,
    /// Elements of all states.
    elements: Figure,
    /// Floating-point operations of all states.
    flops: Figure,
    /// Elements cached per token.
    cached: Figure,
    /// Multiply-adds of attention per token pair.
    mixed: Figure,
}

/// Profile at pairs of context and prompt length, which calculations may refer to.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Profile {
    at: Vec<(u64, u64)>,
    decodes: Option<bool>,
    decode: Option<Pass>,
    prefill: Option<Pass>,
    /// Operations of unknown cost, with reasons.
    undefined: Option<BTreeMap<String, String>>,
    /// Operations whose cost is an upper bound, with reasons.
    at_most: Option<BTreeMap<String, String>>,
    /// Floating-point operations of each attention in prefill.
    attention_flops: Option<Vec<Figure>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Pass {
    flops: Option<Figure>,
    weight_bytes: Option<Figure>,
    cache_bytes: Option<Figure>,
}

/// Costs of one pass of a model without tokens, such as a vision encoder.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stack {
    #[serde(flatten)]
    total: Pass,
    /// First tensors of operations of unknown cost.
    #[serde(default)]
    undefined: Vec<String>,
}

/// Differences of all cases.
#[derive(Default)]
pub struct Report {
    case: String,
    failures: Vec<String>,
}

impl Report {
    pub fn begin(&mut self, case: &str) {
        self.case = case.to_owned();
    }

    pub fn fail(&mut self, field: &str, problem: String) {
        self.failures.push(format!("{}: {field}: {problem}", self.case));
    }

    pub fn text(&self) -> String {
        self.failures.join("\n")
    }

    #[track_caller]
    pub fn finish(&self) {
        assert!(self.failures.is_empty(), "{} figures differ:\n{}", self.failures.len(), self.text());
    }

    fn equal<T: PartialEq + Debug>(&mut self, field: &str, found: T, expected: T) {
        if found != expected {
            self.fail(field, format!("{found:?} where {expected:?} is expected"));
        }
    }

    fn given<T: PartialEq + Debug>(&mut self, field: &str, found: T, expected: Option<T>) {
        if let Some(expected) = expected {
            self.equal(field, found, expected);
        }
    }

    fn figure(&mut self, field: &str, found: f64, expected: Option<&Figure>, names: &Names) {
        if let Some(expected) = expected.filter(|expected| !expected.fits(found, names)) {
            self.fail(field, format!("{found} where {} is expected", expected.value(names)));
        }
    }

    fn billions(&mut self, field: &str, found: f64, expected: Option<&String>) {
        let Some(expected) = expected else { return };
        let digits = expected.split_once('.').map_or(0, |(_, digits)| digits.len());
        self.equal(field, &format!("{:.digits$}", found / 1e9), expected);
    }

    fn lines(&mut self, field: &str, found: &[String], expected: Option<&Vec<String>>) {
        if let Some(expected) = expected.filter(|expected| !matches(found, expected)) {
            self.fail(field, format!("{found:#?} where {expected:#?} is expected"));
        }
    }

    /// Compares with a relative error of 0.001, because elementwise vectors may or may not be counted.
    fn close(&mut self, field: &str, found: f64, expected: i128) {
        self.figure(field, found, Some(&Figure::Calculation(format!("~{expected}"))), &Names::new());
    }

    pub fn contains(&mut self, field: &str, found: &str, expected: Option<&str>) {
        if !expected.is_some_and(|expected| found.contains(expected)) {
            self.fail(field, format!("{found:?}, expected {expected:?}"));
        }
    }
}

const CONTEXTS: [u64; 2] = [4096, 32768];

impl Expect {
    pub fn check(&self, model: &Model, names: &Names, report: &mut Report) {
        let architecture = &model.architecture;
        if let (Some(stored), false) = (names.get("stored"), model.tensors.is_empty()) {
            report.equal("parameters", i128::from(model.parameters()), *stored);
        }
        report.figure("parameters", model.parameters() as f64, self.parameters.as_ref(), names);
        report.billions("billions", model.parameters() as f64, self.billions.as_ref());
        let bytes = model.bytes().map_or(f64::NAN, |bytes| bytes as f64);
        report.figure("bytes", bytes, self.bytes.as_ref(), names);
        let read = architecture.operations.iter().filter_map(|each| streamed(model, each)).sum::<u64>();
        report.figure("streamed", read as f64, self.streamed.as_ref(), names);
        report.given("name", &architecture.name, self.name.as_ref());
        report.given("files", model.files.len(), self.files);
        report.given("context-length", architecture.context_length, self.context_length.map(Some));
        report.given("generates-tokens", architecture.generates_tokens, self.generates_tokens);
        let has_head = architecture.operations.iter().any(|each| each.role == Role::Head);
        report.given("has-head", has_head, self.has_head);
        let summary = model.summary.iter().cloned().collect();
        report.given("summary", &summary, self.summary.as_ref());
        self.check_warnings(model, report);
        self.check_basis(model, report);
        self.check_operations(model, report);
        if let Some(windows) = &self.windows {
            windows.check(model, report);
        }
        if let Some(dimensions) = &self.dimensions {
            dimensions.check(model, names, report);
        }
        if let Some(inputs) = &self.inputs {
            inputs.check(model, names, report);
        }
        if let Some(costs) = &self.costs {
            costs.check(model, names, report);
        }
        if let Some(states) = &self.states {
            states.check(model, names, report);
        }
        for profile in &self.profiles {
            profile.check(model, names, report);
        }
        if let Some(pass) = &self.pass {
            pass.check(model, names, report);
        }
        for (tensor, times) in &self.runs {
            let of = |each: &&Operation| model.tensors[each.tensors[0]].name == *tensor;
            let found = architecture.operations.iter().find(of).map(|each| each.runs);
            report.equal(&format!("runs of {tensor}"), found, Some(Runs::Input { times: *times }));
        }
    }

    fn check_warnings(&self, model: &Model, report: &mut Report) {
        report.given("warnings", &model.warnings, self.warnings.as_ref());
        let all = model.warnings.join("\n");
        for part in &self.warns {
            report.contains("warns", &all, Some(part));
        }
        for part in self.never_warns.iter().filter(|part| all.contains(part.as_str())) {
            report.fail("never-warns", format!("{all:?} has {part:?}"));
        }
    }

    fn check_basis(&self, model: &Model, report: &mut Report) {
        let basis = match model.architecture.basis {
            Basis::Family => "family",
            Basis::Declared => "declared",
            Basis::Tensors => "tensors",
        };
        report.given("basis", basis, self.basis.as_deref());
        if let (Some("family"), Some(model_dims)) = (self.basis.as_deref(), &model.architecture.model_dims) {
            report.equal("parameters of the dimensions", model_dims.parameters(), model.parameters());
            let all = &model.architecture.operations;
            let all = all.iter().map(|each| stored(model, each).unwrap_or(0)).sum::<u64>();
            let again = if model_dims.head == Head::Tied { model.tensors[0].bytes.unwrap() } else { 0 };
            report.equal("bytes of all operations", all, model.bytes().unwrap() + again);
        }
    }

    fn check_operations(&self, model: &Model, report: &mut Report) {
        let operations = &model.architecture.operations;
        report.lines("operations", &lines(model), self.operations.as_ref());
        let reasons = operations.iter().filter_map(|each| match &each.work {
            Work::Undefined { reason } => Some(reason.clone()),
            _ => None,
        });
        report.given("undefined", &reasons.collect(), self.undefined.as_ref());
        let memory =
            operations.iter().filter(|each| matches!(each.role, Role::State | Role::Attention)).map(|each| {
                let undefined = if matches!(each.work, Work::Undefined { .. }) { " undefined" } else { "" };
                let layer = each.layer.map_or("-".to_owned(), |layer| layer.to_string());
                format!("{layer} {}{undefined}", each.role.name())
            });
        report.given("memory", &memory.collect(), self.memory.as_ref());
    }
}

impl Windows {
    fn check(&self, model: &Model, report: &mut Report) {
        let attention = model.architecture.operations.iter().filter_map(|each| match &each.work {
            Work::Attention(attention) => Some((attention.window, attention.kv_heads > 0)),
            _ => None,
        });
        let (windows, own): (Vec<Option<u64>>, Vec<bool>) = attention.unzip();
        let expected = (0..self.layers).map(|layer| layer < self.own.unwrap_or(self.layers)).collect();
        report.equal("own keys and values", own, expected);
        let Some(repeat) = &self.repeat else { return };
        let expected: Vec<_> = repeat.iter().copied().cycle().take(self.layers).collect();
        if let Some(model_dims) = &model.architecture.model_dims {
            let stated =
                model_dims.layers.iter().map(|layer| layer.attention.and_then(|attention| attention.window));
            report.equal("windows of the dimensions", stated.collect(), expected.clone());
        }
        report.equal("windows", windows, expected);
    }
}

impl ExpectedDimensions {
    fn check(&self, model: &Model, names: &Names, report: &mut Report) {
        let Some(model_dims) = &model.architecture.model_dims else {
            return report.fail("dimensions", "none".to_owned());
        };
        report.given("vocab", model_dims.vocab, self.vocab);
        report.given("tied", model_dims.head == Head::Tied, self.tied);
        report.given("layers", model_dims.layers.len(), self.layers);
        if let Some(causal) = self.causal {
            let all = model_dims.layers.iter().all(|layer| layer.attention.unwrap().causal == causal);
            report.equal("every layer as causal", all, true);
        }
        report.lines("each", &layers(model_dims), self.each.as_ref());
        let state = |layer: &Layer| layer.recurrence.as_ref().map_or(0, |each| each.state.elements.into());
        if let Some(expected) = &self.states {
            let expected = expected.iter().map(|figure| figure.value(names)).cycle();
            let found: Vec<i128> = model_dims.layers.iter().map(state).collect();
            report.equal("states", &found, &expected.take(found.len()).collect());
        }
        let attends =
            (0..model_dims.layers.len()).filter(|index| model_dims.layers[*index].attention.is_some());
        report.given("attends", &attends.collect(), self.attends.as_ref());
        if self.active_params.is_some() || self.active_billions.is_some() {
            let found = predict::inputs(model_dims).unwrap().evaluate().unwrap().active_params;
            report.figure("active-params", found, self.active_params.as_ref(), names);
            report.billions("active-billions", found, self.active_billions.as_ref());
        }
    }
}

impl Inputs {
    fn check(&self, model: &Model, names: &Names, report: &mut Report) {
        match inputs(model, None) {
            Ok(_) if self.error.is_some() => report.fail("inputs.error", "none".to_owned()),
            Ok((found, _)) => {
                report.figure("full-width", found.full_width, self.full_width.as_ref(), names);
                report.figure("state-width", found.state_width, self.state_width.as_ref(), names);
                report.figure("params", found.dense_params + found.head_params, self.params.as_ref(), names);
            }
            Err(error) => report.contains("inputs.error", &error.to_string(), self.error.as_deref()),
        }
    }
}

/// Profiles one sequence and checks that a prediction from the same file agrees.
fn profiled(model: &Model, context: u64, prompt: u64) -> Costs {
    let target = DeviceProfile::from_device(&H100_SXM, None).unwrap();
    let (context, prompt) = (context as f64, prompt as f64);
    let workload = |batch| Workload { batch, context, prompt, cache_size: 2.0, cache: Numbers::Half };
    for batch in [1.0, 32.0] {
        predicted::assert_is_profiled(model, &target, &workload(batch));
    }
    profile(model, &target, &workload(1.0), None).unwrap()
}

impl Step {
    fn check(&self, model: &Model, names: &Names, report: &mut Report) {
        let undefined = |work: &Work| matches!(work, Work::Undefined { .. });
        let undefined: Vec<_> =
            model.architecture.operations.iter().filter(|each| undefined(&each.work)).collect();
        report.equal("undefined operations", undefined, vec![]);
        let of = |figure: &Figure| figure.value(names);
        let (active, head, cached, mixed) =
            (of(&self.active), of(&self.head), of(&self.cached), of(&self.mixed));
        let (window, windowed_cached, windowed_mixed) = match &self.window {
            Some(window) => (window.tokens.into(), of(&window.cached), of(&window.mixed)),
            None => (i128::MAX, 0, 0),
        };
        for tokens in CONTEXTS {
            let profile = profiled(model, tokens, tokens);
            let decode = profile.decode.unwrap();
            let context = i128::from(tokens);
            let seen = context.min(window);
            let cache = 2 * (cached * context + windowed_cached * seen);
            report.equal(&format!("cache of {context} tokens"), decode.cache_bytes, cache as f64);
            let flops = 2 * (active + mixed * context + windowed_mixed * seen);
            report.close(&format!("decode flops at {context}"), decode.flops, flops);
            let pairs = |seen: i128| seen * (seen + 1) / 2 + (context - seen) * seen;
            let matrices = (active - head) * context + head;
            let flops = 2 * (matrices + mixed * pairs(context) + windowed_mixed * pairs(seen));
            report.close(&format!("prefill flops at {context}"), profile.prefill.unwrap().flops, flops);
        }
    }
}

impl States {
    fn check(&self, model: &Model, names: &Names, report: &mut Report) {
        let of = |figure: &Figure| figure.value(names);
        let kept = model.architecture.operations.iter().map(|each| match each.work {
            Work::State(state) => state.elements,
            _ => 0,
        });
        let elements = of(&self.elements);
        report.equal("elements of all states", i128::from(kept.sum::<u64>()), elements);
        for tokens in CONTEXTS {
            let decode = profiled(model, tokens, 1).decode.unwrap();
            let context = i128::from(tokens);
            // Only the KV cache grows with the context; states are read and written in 32 bits.
            let cache = 2 * of(&self.cached) * context + 2 * 4 * elements;
            report.equal(&format!("cache of {context} tokens"), decode.cache_bytes, cache as f64);
            let flops = 2 * of(&self.active) + of(&self.flops) + 2 * of(&self.mixed) * context;
            report.close(&format!("decode flops at {context}"), decode.flops, flops);
        }
    }
}

impl Profile {
    fn check(&self, model: &Model, names: &Names, report: &mut Report) {
        for &(context, prompt) in &self.at {
            let costs = profiled(model, context, prompt);
            let mut names = names.clone();
            names.extend([("context".to_owned(), context.into()), ("prompt".to_owned(), prompt.into())]);
            let at = format!("at {context}/{prompt}");
            report.given(&format!("decodes {at}"), costs.decode.is_some(), self.decodes);
            for (phase, expected, found) in
                [("decode", &self.decode, &costs.decode), ("prefill", &self.prefill, &costs.prefill)]
            {
                match (expected, found) {
                    (Some(expected), Some(found)) => {
                        expected.check(&format!("{phase} {at}"), found, &names, report)
                    }
                    (Some(_), None) => report.fail(&format!("{phase} {at}"), "none".to_owned()),
                    (None, _) => {}
                }
            }
            let undefined =
                costs.undefined().map(|entry| (entry.name.clone(), entry.undefined.clone().unwrap()));
            report.given(&format!("undefined {at}"), &undefined.collect(), self.undefined.as_ref());
            let at_most = costs.at_most().map(|entry| (entry.name.clone(), entry.at_most.clone().unwrap()));
            report.given(&format!("at-most {at}"), &at_most.collect(), self.at_most.as_ref());
            if let Some(expected) = &self.attention_flops {
                let attention = costs.entries.iter().filter(|entry| entry.role == Role::Attention);
                let found: Vec<f64> = attention.map(|entry| entry.prefill.unwrap().flops).collect();
                let expected: Vec<f64> = expected.iter().map(|figure| figure.value(&names) as f64).collect();
                report.equal(&format!("attention-flops {at}"), found, expected);
            }
        }
    }
}

impl Stack {
    fn check(&self, model: &Model, names: &Names, report: &mut Report) {
        let target = DeviceProfile::from_device(&H100_SXM, None).unwrap();
        let costs = |batch| feed_forward::profile(model, &target, batch, None, None, |_| None).unwrap();
        let one = costs(1.0);
        report.equal("a stack", feed_forward::is_feed_forward(model), true);
        let undefined: Vec<&String> = one.undefined().map(|entry| &entry.tensors[0]).collect();
        report.equal("undefined", undefined, self.undefined.iter().collect());
        let (pass, two) = (one.pass.unwrap(), costs(2.0).pass.unwrap());
        self.total.check("pass", &pass, names, report);
        report.equal("two samples", (two.flops, two.weight_bytes), (2.0 * pass.flops, pass.weight_bytes));
    }
}

impl Pass {
    fn check(&self, phase: &str, found: &Total, names: &Names, report: &mut Report) {
        report.figure(&format!("{phase} flops"), found.flops, self.flops.as_ref(), names);
        report.figure(
            &format!("{phase} weight-bytes"),
            found.weight_bytes,
            self.weight_bytes.as_ref(),
            names,
        );
        report.figure(&format!("{phase} cache-bytes"), found.cache_bytes, self.cache_bytes.as_ref(), names);
    }
}
