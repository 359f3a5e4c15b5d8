//! Sliders of HTML pages: equations of contracts as JavaScript, their domains, and the inputs of each operation.

use std::collections::BTreeMap;

use crate::chart::equations::Equations;
use crate::chart::html::{Memory, Operation, Recipe, RoofRecipe, Shown, Slider, Subject, Summary, WhatIf};
use crate::cli::Failure;
use crate::contracts::quantization::formats;
use crate::contracts::{operation, transformer};
use crate::model::Role;
use crate::predict::{CEILING, EXPECTED, IDEAL, Workload, bits_per_weight, dense};
use crate::profile::Phase;

const TRANSFORMER: &str = "transformer-v1";
const LAYER: &str = "layer-roofline-v1";

/// Inputs of equations by name.
type Values = BTreeMap<String, f64>;

/// Names of the equations of a phase in `transformer-v1`.
struct PhaseNames {
    /// FLOPs with the weights of the layers, with those of the output head, and of attention.
    flops: [&'static str; 3],
    /// Minimum memory traffic in bytes.
    bytes: &'static str,
    /// Minimum time in seconds.
    time: &'static str,
    /// Tokens per second.
    speed: &'static str,
    /// Arithmetic intensity, performance and bound.
    point: [&'static str; 3],
    /// Length in tokens, which has a slider in addition to the batch.
    length: &'static str,
}

const DECODE: PhaseNames = PhaseNames {
    flops: ["decode_matrix_flops", "decode_head_flops", "decode_attention_flops"],
    bytes: "decode_bytes",
    time: "decode_least_time",
    speed: "decode_ceiling",
    point: ["decode_intensity", "decode_performance", "decode_bound"],
    length: "context",
};

const PREFILL: PhaseNames = PhaseNames {
    flops: ["prefill_matrix_flops", "prefill_head_flops", "prefill_attention_flops"],
    bytes: "prefill_bytes",
    time: "prefill_least_time",
    speed: "prefill_ceiling",
    point: ["prefill_intensity", "prefill_performance", "prefill_bound"],
    length: "prompt",
};

/// Sum of `transformer-v1` that an operation contributes to. Each sum has its own arithmetic rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Matrix products of the layers.
    Matrix,
    /// Output head.
    Head,
    /// Attention over the KV cache.
    Attention,
}

impl Part {
    /// All parts, in the order of [`Part`] as an index.
    pub const ALL: [Part; 3] = [Part::Matrix, Part::Head, Part::Attention];

    /// Returns the part of operations with this role.
    pub fn from_role(role: Role) -> Part {
        match role {
            Role::Head => Part::Head,
            Role::Attention | Role::CrossAttention => Part::Attention,
            _ => Part::Matrix,
        }
    }
}

/// An operation that sliders affect.
pub struct SliderTarget {
    /// Index of its point in the chart.
    pub point: usize,
    /// Inputs of `layer-roofline-v1`.
    pub inputs: operation::Inputs,
    /// `true` if it does not depend on the context or prompt length.
    pub fixed: bool,
    /// Sum that it contributes to.
    pub part: Part,
}

/// Creates sliders over the operations of a model. `whole` has the inputs of the phase, `max_tokens` is the context length of the
/// model.
pub fn operations(
    phase: Phase,
    whole: &transformer::Inputs,
    max_tokens: Option<u64>,
    operations: &[SliderTarget],
) -> Result<WhatIf, Failure> {
    let names = if phase == Phase::Prefill { &PREFILL } else { &DECODE };
    let length = if phase == Phase::Prefill { whole.prompt } else { whole.context };
    let (model, layers) = (equations(TRANSFORMER)?, equations(LAYER)?);
    let length_of = if phase == Phase::Prefill { "tokens" } else { "context" };
    let everywhere = [("batch", "batch"), ("bandwidth", "bandwidth"), ("compute", "compute"), (BITS, BITS)];
    let grows = [(length_of, names.length), ("cache_size", "cache_size")];
    let all: Vec<_> = everywhere.into_iter().chain(grows).collect();
    let recipes = [all.as_slice(), &everywhere].into_iter().flat_map(|moves| {
        let sum_recipe = |sum: &'static str| Recipe {
            sums: owned(&[(sum, "flops")]),
            ..recipe(&layers, Some(owned(moves)))
        };
        names.flops.map(sum_recipe)
    });
    let recipes = recipes.collect();
    // One recipe per part, first for operations that depend on the length, then for the others.
    let recipe_of = |each: &SliderTarget| each.part as usize + usize::from(each.fixed) * Part::ALL.len();
    let (inputs, operations) = moving(whole.bandwidth, operations, recipe_of);
    let [matrix, head, attention] = names.flops;
    let mut sliders = sliders(names, whole.batch, length, max_tokens);
    sliders.extend(figures(whole.bandwidth, whole.compute));
    sliders.push(around(&model, "cache_size", whole.cache_size));
    let computes = ["compute", "head_compute", "attention_compute"].map(|rate| (rate, "compute"));
    let same = ["batch", names.length, "bandwidth", "cache_size"].map(|quantity| (quantity, quantity));
    Ok(WhatIf {
        module: [model.script.as_str(), &layers.script].concat(),
        sliders,
        recipes,
        operations,
        roofs: vec![roof(&layers)],
        summary: Some(Summary {
            inputs: values(transformer::Inputs::NAMES, whole.to_array()),
            sums: owned(&[(names.bytes, "bytes")]),
            steps: model.steps(&[names.speed], &[matrix, head, attention, names.bytes]),
            moves: Some(owned(&[&computes[..], &same[..]].concat())),
            shown: vec![shown("ceiling (token/s)", names.speed, ""), shown("minimum time", names.time, "s")],
            ..Summary::default()
        }),
        inputs,
    })
}

/// Creates sliders for the batch and the device over the layers of a network. Up to `resident` bytes may stay in caches.
pub fn layers(
    batch: f64,
    resident: f64,
    (bandwidth, compute): (f64, f64),
    operations: &[SliderTarget],
) -> Result<WhatIf, Failure> {
    let layers = equations(LAYER)?;
    let (inputs, operations) = moving(bandwidth, operations, |_| 0);
    Ok(WhatIf {
        module: layers.script.clone(),
        sliders: [slider("batch", "batch", batch, 1024.0)]
            .into_iter()
            .chain(figures(bandwidth, compute))
            .collect(),
        recipes: vec![recipe(&layers, None)],
        operations,
        roofs: vec![roof(&layers)],
        summary: Some(Summary {
            inputs: BTreeMap::from([("bandwidth".to_owned(), bandwidth), ("resident".to_owned(), resident)]),
            sums: owned(&[("compute_time", "compute_time"), ("bytes", "bytes")]),
            steps: layers.steps(&["pass_ceiling"], &["compute_time", "bytes"]),
            moves: Some(owned(&[("results", "batch"), ("bandwidth", "bandwidth")])),
            shown: vec![
                shown("ceiling (sample/s)", "pass_ceiling", ""),
                shown("minimum time", "least_time", "s"),
            ],
            ..Summary::default()
        }),
        inputs,
    })
}

/// Quantity of `layer-roofline-v1` for the bits per weight.
const BITS: &str = "bits_per_weight";

/// Creates sliders for the device and the weight formats. Peaks and formats differ between operations, so their sliders have no
/// start value.
fn figures(bandwidth: f64, compute: f64) -> [Slider; 3] {
    let each = |quantity: &str, label: &str, unit: &str, stops| Slider {
        quantity: quantity.to_owned(),
        label: label.to_owned(),
        unit: unit.to_owned(),
        stops,
        start: None,
        folded: true,
    };
    let mut bits: Vec<f64> = formats::ALL.iter().filter_map(|format| bits_per_weight(format).ok()).collect();
    bits.sort_by(f64::total_cmp);
    bits.dedup();
    [
        Slider { start: Some(bandwidth), ..each("bandwidth", "bandwidth", "GB/s", spread(bandwidth)) },
        each("compute", "peak of all precisions", "GFLOP/s", spread(compute)),
        each(BITS, "bits per weight, all weights", "", bits),
    ]
}

/// Returns the recipe for the height and the ridge point of a roof.
fn roof(layers: &Equations) -> RoofRecipe {
    // With one byte, the number of operations is the arithmetic intensity.
    let byte = operation::Inputs { other_bytes: 1.0, ..operation::Inputs::new(1.0, 1.0) };
    RoofRecipe {
        steps: layers.steps(&["attainable", "ridge_point"], &[]),
        inputs: values(operation::Inputs::NAMES, byte.to_array()),
        moves: Some(owned(&[("bandwidth", "bandwidth"), ("compute", "compute")])),
        moved: "other_flops".into(),
        height: "attainable".into(),
        ridge: Some("ridge_point".into()),
        ..RoofRecipe::default()
    }
}

/// Splits the inputs of operations into common ones and those of each operation.
fn moving(
    bandwidth: f64,
    operations: &[SliderTarget],
    recipe: impl Fn(&SliderTarget) -> usize,
) -> (Values, Vec<Operation>) {
    let common = operation::Inputs { bandwidth, ..operation::Inputs::new(1.0, 1.0) };
    let common = values(operation::Inputs::NAMES, common.to_array());
    let each = operations.iter().map(|each| {
        let mut own = values(operation::Inputs::NAMES, each.inputs.to_array());
        own.retain(|name, value| common.get(name) != Some(value));
        Operation { point: each.point, recipe: recipe(each), inputs: own }
    });
    (common.clone(), each.collect())
}

/// Creates sliders over predictions, which have two points each: decode and prefill. Sliders of the workload affect every
/// prediction, the others only the selected device.
pub fn predictions(
    max_tokens: Option<u64>,
    workload: &Workload,
    predictions: &[(&str, &Values)],
) -> Result<Option<WhatIf>, Failure> {
    let Some((_, first)) = predictions.first() else { return Ok(None) };
    let (model, layers) = (equations(TRANSFORMER)?, equations(LAYER)?);
    let phase_recipe = |names: &PhaseNames, ideal: &str| {
        let [intensity, performance, bound] = names.point;
        let results = [names.speed, ideal, "feasibility"];
        Recipe {
            steps: model.steps(&[&names.point[..], &results].concat(), &[]),
            intensity: intensity.to_owned(),
            performance: performance.to_owned(),
            bound: Some(bound.to_owned()),
            details: vec![shown(CEILING, names.speed, ""), shown(IDEAL, ideal, "")],
            stale: vec![EXPECTED.to_owned()],
            ..Recipe::default()
        }
    };
    let Workload { batch, context, prompt, .. } = *workload;
    let mut sliders = sliders(&DECODE, batch, context, max_tokens);
    sliders.extend(self::sliders(&PREFILL, batch, prompt, max_tokens).into_iter().skip(1));
    let more: Vec<Slider> = transformer::Inputs::NAMES
        .iter()
        .filter(|name| sliders.iter().all(|slider| slider.quantity != **name))
        .filter(|name| predictions.iter().any(|(_, inputs)| matters(&model, name, inputs)))
        .map(|name| match first.get(*name) {
            // A value that all devices share belongs to the workload.
            Some(value) if predictions.iter().all(|(_, inputs)| inputs.get(*name) == Some(value)) => {
                around(&model, name, *value)
            }
            _ => Slider { stops: Vec::new(), start: None, ..around(&model, name, 1.0) },
        })
        .collect();
    sliders.extend(more);
    // Inputs without a published figure are absent.
    let common: Values = (first.iter())
        .filter(|(name, value)| predictions.iter().all(|(_, inputs)| inputs.get(*name) == Some(value)))
        .map(|(name, value)| (name.clone(), *value))
        .collect();
    let own = |inputs: &Values| -> Values {
        let own = inputs.iter().filter(|(name, _)| !common.contains_key(*name));
        own.map(|(name, value)| (name.clone(), *value)).collect()
    };
    let operation =
        |point: usize, recipe: usize, inputs: &Values| Operation { point, recipe, inputs: own(inputs) };
    let gigabytes = |label: &str, result: &str| Shown { per: Some(1e9), ..shown(label, result, "GB") };
    let memory = Memory {
        parts: vec![
            gigabytes("weights", "weight_bytes"),
            gigabytes("KV cache", "cache_bytes"),
            gigabytes("state", "state_bytes"),
            gigabytes("activations", "activation_bytes"),
        ],
        whole: gigabytes("footprint", "footprint"),
        capacity: shown("memory", "capacity", "GB"),
        too_large: ("feasibility".into(), "TooLarge".into()),
    };
    let shown = vec![
        shown("decode ceiling", DECODE.speed, "token/s"),
        shown("ideal decode", "decode_ideal", "token/s"),
        shown("prefill ceiling", PREFILL.speed, "token/s"),
        shown("ideal prefill", "prefill_ideal", "token/s"),
        shown("minimum TTFT", PREFILL.time, "s"),
        shown("ideal TTFT", "time_to_first_token", "s"),
        shown("ideal energy", "token_energy", "J/token"),
    ];
    let values = memory.parts.iter().chain([&memory.whole]).chain(&shown).map(|one| one.result.as_str());
    let results: Vec<&str> = values.chain(["feasibility"]).collect();
    let subjects = predictions
        .iter()
        .enumerate()
        .map(|(index, (device, _))| Subject { name: (*device).to_owned(), operation: 2 * index });
    Ok(Some(WhatIf {
        module: [model.script.as_str(), &layers.script].concat(),
        sliders,
        recipes: vec![phase_recipe(&DECODE, "decode_ideal"), phase_recipe(&PREFILL, "prefill_ideal")],
        operations: predictions
            .iter()
            .enumerate()
            .flat_map(|(index, (_, inputs))| {
                [operation(2 * index, 0, inputs), operation(2 * index + 1, 1, inputs)]
            })
            .collect(),
        roofs: vec![roof(&layers)],
        summary: Some(Summary {
            steps: model.steps(&results, &[]),
            subjects: subjects.collect(),
            shown,
            memory: Some(memory),
            ..Summary::default()
        }),
        inputs: common,
    }))
}

/// Returns the equations of a built-in contract as JavaScript.
pub fn equations(id: &str) -> Result<Equations, Failure> {
    Equations::built_in(id).ok_or_else(|| Failure(format!("{id}: unknown built-in contract")))
}

/// Returns the recipe for the attainable performance of an operation.
fn recipe(layers: &Equations, moves: Option<BTreeMap<String, String>>) -> Recipe {
    Recipe {
        steps: layers.steps(&["attainable", "least_time", "bound"], &[]),
        moves,
        intensity: "arithmetic_intensity".into(),
        performance: "attainable".into(),
        time: Some("least_time".into()),
        bound: Some("bound".into()),
        ..Recipe::default()
    }
}

fn owned(names: &[(&str, &str)]) -> BTreeMap<String, String> {
    names.iter().map(|(name, other)| ((*name).to_owned(), (*other).to_owned())).collect()
}

fn values<const N: usize>(names: [&str; N], values: [f64; N]) -> Values {
    names.iter().map(|name| (*name).to_owned()).zip(values).collect()
}

/// Creates the sliders for the batch and for the length.
fn sliders(names: &PhaseNames, batch: f64, length: f64, max_tokens: Option<u64>) -> Vec<Slider> {
    let max_tokens = max_tokens.map_or(131_072.0, |tokens| tokens as f64);
    vec![slider("batch", "batch", batch, 1024.0), slider(names.length, names.length, length, max_tokens)]
}

/// Creates a slider with powers of two up to `max`, `start` and `max` as stops.
pub fn slider(quantity: &str, label: &str, start: f64, max: f64) -> Slider {
    let mut stops: Vec<f64> =
        (0..31).map(|power| f64::from(1u32 << power)).filter(|stop| *stop <= max).collect();
    stops.extend([start, max.max(start)]);
    stops.sort_by(f64::total_cmp);
    stops.dedup();
    let (quantity, label) = (quantity.to_owned(), label.to_owned());
    Slider { quantity, label, stops, start: Some(start), ..Slider::default() }
}

/// Creates a folded slider around the value of a quantity.
pub fn around(equations: &Equations, quantity: &str, start: f64) -> Slider {
    let (mut stops, mut unit) = (vec![start], String::new());
    if let Some(known) = equations.quantity(quantity) {
        let whole = |stop: f64| if known.domain.integer { stop.round() } else { stop };
        stops.extend(spread(start).into_iter().map(whole).filter(|stop| known.domain.contains(*stop)));
        unit = if known.unit == "1" { String::new() } else { known.unit.clone() };
    }
    stops.sort_by(f64::total_cmp);
    stops.dedup();
    Slider { unit, stops, folded: true, ..slider(quantity, &quantity.replace('_', " "), start, start) }
}

/// Returns `true` if moving the quantity to an end of its slider changes the result.
fn matters(model: &Equations, name: &str, inputs: &Values) -> bool {
    let Some(&start) = inputs.get(name).filter(|value| **value > 0.0) else { return false };
    let stops = around(model, name, start).stops;
    let at = |changed: f64| {
        let mut values = dense(1.0).to_array();
        for (value, known) in values.iter_mut().zip(transformer::Inputs::NAMES) {
            *value = if known == name { changed } else { *inputs.get(known).unwrap_or(value) };
        }
        transformer::Inputs::from_array(values).evaluate().ok()
    };
    let now = at(start);
    [stops.first(), stops.last()].into_iter().flatten().any(|stop| at(*stop) != now)
}

/// Returns rounded values from 1/16 to 16 times `start`, and `start` itself.
fn spread(start: f64) -> Vec<f64> {
    let at = |quarter: i32| start * (f64::from(quarter) / 4.0).exp2();
    let round = |value: f64| format!("{value:.2e}").parse().unwrap_or(value);
    let mut stops: Vec<f64> =
        (-16..=16).filter(|quarter| *quarter != 0).map(|quarter| round(at(quarter))).collect();
    stops.push(start);
    stops.sort_by(f64::total_cmp);
    stops.dedup();
    stops
}

fn shown(label: &str, result: &str, unit: &str) -> Shown {
    Shown { label: label.to_owned(), result: result.to_owned(), unit: unit.to_owned(), per: None }
}
