//! Sliders for a page: the equations of the contracts as JavaScript, with their domains, and for each operation what they are
//! called with.

use std::collections::BTreeMap;

use crate::chart::equations::Equations;
use crate::chart::html::{Memory, Operation, Recipe, RoofRecipe, Shown, Slider, Subject, Summary, WhatIf};
use crate::contracts::quantization::formats;
use crate::contracts::{operation, transformer};
use crate::model::Role;
use crate::predict::{CEILING, ESTIMATE, EXPECTED, Workload, bits_per_weight, dense};
use crate::profile::Phase;
use crate::program::Failure;

const TRANSFORMER: &str = "transformer-v1";
const LAYER: &str = "layer-roofline-v1";

/// Names and values of what equations are called with.
type Values = BTreeMap<String, f64>;

/// What a part of the work is called in `transformer-v1`.
struct Names {
    /// Operations with the weights of the layers, with those of the head, and against the cache.
    flops: [&'static str; 3],
    /// Bytes that are moved at least.
    bytes: &'static str,
    /// Seconds of all operations together.
    time: &'static str,
    /// Tokens per second.
    speed: &'static str,
    /// Operations for each byte, operations per second, and what holds it back.
    point: [&'static str; 3],
    /// How long it is: the quantity that a slider moves beside the batch.
    length: &'static str,
}

/// One token for each sequence.
const DECODE: Names = Names {
    flops: ["decode_matrix_flops", "decode_head_flops", "decode_attention_flops"],
    bytes: "decode_bytes",
    time: "decode_least_time",
    speed: "decode_ceiling",
    point: ["decode_intensity", "decode_performance", "decode_bound"],
    length: "context",
};

/// The prompt.
const PREFILL: Names = Names {
    flops: ["prefill_matrix_flops", "prefill_head_flops", "prefill_attention_flops"],
    bytes: "prefill_bytes",
    time: "prefill_least_time",
    speed: "prefill_ceiling",
    point: ["prefill_intensity", "prefill_performance", "prefill_bound"],
    length: "prompt",
};

/// Which sum of `transformer-v1` the operations of a part go into; each sum has a rate of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The weights of the layers.
    Matrix,
    /// The head.
    Head,
    /// The cache.
    Attention,
}

impl Part {
    /// All of them.
    pub const ALL: [Part; 3] = [Part::Matrix, Part::Head, Part::Attention];

    /// The part of an operation.
    pub fn of(role: Role) -> Part {
        match role {
            Role::Head => Part::Head,
            Role::Attention | Role::CrossAttention => Part::Attention,
            _ => Part::Matrix,
        }
    }
}

/// An operation that moves.
pub struct Moving {
    /// Its place among the points.
    pub point: usize,
    /// What the contract is asked about it.
    pub inputs: operation::Inputs,
    /// Whether the length of the cache or of the prompt is the same to it.
    pub fixed: bool,
    /// The sum that it is part of.
    pub part: Part,
}

/// Sliders over the operations of a model. `asked` is the whole without its operations, `longest` the most tokens that the
/// model was made for.
pub fn operations(
    phase: Phase,
    asked: &transformer::Inputs,
    longest: Option<u64>,
    operations: &[Moving],
) -> Result<WhatIf, Failure> {
    let names = if phase == Phase::Prefill { &PREFILL } else { &DECODE };
    let length = if phase == Phase::Prefill { asked.prompt } else { asked.context };
    let (model, layers) = (equations(TRANSFORMER)?, equations(LAYER)?);
    let length_of = if phase == Phase::Prefill { "tokens" } else { "context" };
    let everywhere = [("batch", "batch"), ("bandwidth", "bandwidth"), ("compute", "compute"), (BITS, BITS)];
    let grows = [(length_of, names.length), ("cache_size", "cache_size")];
    let all: Vec<_> = everywhere.into_iter().chain(grows).collect();
    let recipes = [all.as_slice(), &everywhere].into_iter().flat_map(|moves| {
        let of = |sum: &'static str| Recipe {
            sums: named(&[(sum, "flops")]),
            ..recipe(&layers, Some(named(moves)))
        };
        names.flops.map(of)
    });
    let recipes = recipes.collect();
    // The recipes of what moves in every way come first, one for each part.
    let recipe_of = |each: &Moving| each.part as usize + usize::from(each.fixed) * Part::ALL.len();
    let (inputs, operations) = moving(asked.bandwidth, operations, recipe_of);
    let [matrix, head, attention] = names.flops;
    let mut sliders = sliders(names, asked.batch, length, longest);
    sliders.extend(figures(asked.bandwidth, asked.compute));
    sliders.push(around(&model, "cache_size", asked.cache_size));
    let computes = ["compute", "head_compute", "attention_compute"].map(|rate| (rate, "compute"));
    let same = ["batch", names.length, "bandwidth", "cache_size"].map(|quantity| (quantity, quantity));
    Ok(WhatIf {
        module: [model.script.as_str(), &layers.script].concat(),
        sliders,
        recipes,
        operations,
        roofs: vec![roof(&layers)],
        summary: Some(Summary {
            inputs: values(transformer::Inputs::NAMES, asked.to_array()),
            sums: named(&[(names.bytes, "bytes")]),
            steps: model.steps(&[names.speed], &[matrix, head, attention, names.bytes]),
            moves: Some(named(&[&computes[..], &same[..]].concat())),
            shown: vec![
                shown("ceiling, tokens per second", names.speed, ""),
                shown("least time", names.time, "s"),
            ],
            ..Summary::default()
        }),
        inputs,
    })
}

/// Sliders for the batch and the device over the layers of a stack. `resident` bytes may stay in caches.
pub fn layers(
    batch: f64,
    resident: f64,
    (bandwidth, compute): (f64, f64),
    operations: &[Moving],
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
            sums: named(&[("compute_time", "compute_time"), ("bytes", "bytes")]),
            steps: layers.steps(&["pass_ceiling"], &["compute_time", "bytes"]),
            moves: Some(named(&[("results", "batch"), ("bandwidth", "bandwidth")])),
            shown: vec![
                shown("ceiling, samples per second", "pass_ceiling", ""),
                shown("least time", "least_time", "s"),
            ],
            ..Summary::default()
        }),
        inputs,
    })
}

/// What an operation calls its bits of a weight.
const BITS: &str = "bits_per_weight";

/// Sliders for the device and the formats of a model's operations, each of which has its own rate and its own bits.
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
        each("compute", "compute of all units", "GFLOP/s", spread(compute)),
        each(BITS, "bits a weight, of all", "", bits),
    ]
}

/// How the height of a roof and its ridge follow from its own figures.
fn roof(layers: &Equations) -> RoofRecipe {
    // So many operations on one byte, as the chart draws it.
    let byte = operation::Inputs { other_bytes: 1.0, ..operation::Inputs::new(1.0, 1.0) };
    RoofRecipe {
        steps: layers.steps(&["attainable", "ridge_point"], &[]),
        inputs: values(operation::Inputs::NAMES, byte.to_array()),
        moves: Some(named(&[("bandwidth", "bandwidth"), ("compute", "compute")])),
        moved: "other_flops".into(),
        height: "attainable".into(),
        ridge: Some("ridge_point".into()),
        ..RoofRecipe::default()
    }
}

/// What all operations have in common, said once, and each with the rest.
fn moving(
    bandwidth: f64,
    operations: &[Moving],
    recipe: impl Fn(&Moving) -> usize,
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

/// Sliders over predictions: two points for each, decoding and the prompt, with everything that went into it. Those over the work
/// move all of them, the others the device that is chosen.
pub fn predictions(
    longest: Option<u64>,
    workload: &Workload,
    predictions: &[(&str, &Values)],
) -> Result<Option<WhatIf>, Failure> {
    let Some((_, first)) = predictions.first() else { return Ok(None) };
    let (model, layers) = (equations(TRANSFORMER)?, equations(LAYER)?);
    let part = |names: &Names, estimate: &str| {
        let [intensity, performance, bound] = names.point;
        let results = [names.speed, estimate, "feasibility"];
        Recipe {
            steps: model.steps(&[&names.point[..], &results].concat(), &[]),
            intensity: intensity.to_owned(),
            performance: performance.to_owned(),
            bound: Some(bound.to_owned()),
            details: vec![shown(CEILING, names.speed, ""), shown(ESTIMATE, estimate, "")],
            stale: vec![EXPECTED.to_owned()],
            ..Recipe::default()
        }
    };
    let Workload { batch, context, prompt, .. } = *workload;
    let mut sliders = sliders(&DECODE, batch, context, longest);
    sliders.extend(self::sliders(&PREFILL, batch, prompt, longest).into_iter().skip(1));
    let more: Vec<Slider> = transformer::Inputs::NAMES
        .iter()
        .filter(|name| sliders.iter().all(|slider| slider.quantity != **name))
        .filter(|name| predictions.iter().any(|(_, inputs)| matters(&model, name, inputs)))
        .map(|name| match first.get(*name) {
            // What all devices have in common is of the work.
            Some(value) if predictions.iter().all(|(_, inputs)| inputs.get(*name) == Some(value)) => {
                around(&model, name, *value)
            }
            _ => Slider { stops: Vec::new(), start: None, ..around(&model, name, 1.0) },
        })
        .collect();
    sliders.extend(more);
    // Said once; and what a device does not publish, nothing follows from.
    let common: Values = (first.iter())
        .filter(|(name, value)| predictions.iter().all(|(_, inputs)| inputs.get(*name) == Some(value)))
        .map(|(name, value)| (name.clone(), *value))
        .collect();
    let own = |inputs: &Values| -> Values {
        let own = inputs.iter().filter(|(name, _)| !common.contains_key(*name));
        own.map(|(name, value)| (name.clone(), *value)).collect()
    };
    let of = |point: usize, recipe: usize, inputs: &Values| Operation { point, recipe, inputs: own(inputs) };
    let gigabytes = |label: &str, result: &str| Shown { per: Some(1e9), ..shown(label, result, "GB") };
    let memory = Memory {
        parts: vec![
            gigabytes("weights", "weight_bytes"),
            gigabytes("KV cache", "cache_bytes"),
            gigabytes("state", "state_bytes"),
            gigabytes("activations", "activation_bytes"),
        ],
        whole: gigabytes("footprint, estimate", "footprint"),
        capacity: shown("memory", "capacity", "GB"),
        too_large: ("feasibility".into(), "TooLarge".into()),
    };
    let shown = vec![
        shown("decode, ceiling", DECODE.speed, "token/s"),
        shown("decode, estimate", "decode_estimate", "token/s"),
        shown("prefill, ceiling", PREFILL.speed, "token/s"),
        shown("prefill, estimate", "prefill_estimate", "token/s"),
        shown("first token, at least", PREFILL.time, "s"),
        shown("first token, estimate", "time_to_first_token", "s"),
        shown("energy, estimate", "token_energy", "J/token"),
    ];
    let drawn = memory.parts.iter().chain([&memory.whole]).chain(&shown).map(|one| one.result.as_str());
    let results: Vec<&str> = drawn.chain(["feasibility"]).collect();
    let subjects = predictions
        .iter()
        .enumerate()
        .map(|(index, (device, _))| Subject { name: (*device).to_owned(), operation: 2 * index });
    Ok(Some(WhatIf {
        module: [model.script.as_str(), &layers.script].concat(),
        sliders,
        recipes: vec![part(&DECODE, "decode_estimate"), part(&PREFILL, "prefill_estimate")],
        operations: predictions
            .iter()
            .enumerate()
            .flat_map(|(index, (_, inputs))| [of(2 * index, 0, inputs), of(2 * index + 1, 1, inputs)])
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

/// The equations of a shipped contract.
pub fn equations(id: &str) -> Result<Equations, Failure> {
    Equations::built_in(id).ok_or_else(|| Failure(format!("{id}: not among the contracts of pages")))
}

/// What an operation may reach.
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

fn named(names: &[(&str, &str)]) -> BTreeMap<String, String> {
    names.iter().map(|(name, of)| ((*name).to_owned(), (*of).to_owned())).collect()
}

fn values<const N: usize>(names: [&str; N], values: [f64; N]) -> Values {
    names.iter().map(|name| (*name).to_owned()).zip(values).collect()
}

/// The batch, and how long the cache or the prompt is.
fn sliders(names: &Names, batch: f64, length: f64, longest: Option<u64>) -> Vec<Slider> {
    let longest = longest.map_or(131_072.0, |tokens| tokens as f64);
    vec![slider("batch", "batch", batch, 1024.0), slider(names.length, names.length, length, longest)]
}

/// Powers of two up to `most`, the start and the end among them.
pub fn slider(quantity: &str, label: &str, start: f64, most: f64) -> Slider {
    let mut stops: Vec<f64> =
        (0..31).map(|power| f64::from(1u32 << power)).filter(|stop| *stop <= most).collect();
    stops.extend([start, most.max(start)]);
    stops.sort_by(f64::total_cmp);
    stops.dedup();
    let (quantity, label) = (quantity.to_owned(), label.to_owned());
    Slider { quantity, label, stops, start: Some(start), ..Slider::default() }
}

/// A quantity of a contract around the value it has, folded away.
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

/// Whether anything changes when a slider moves the quantity to one of its ends.
fn matters(model: &Equations, name: &str, inputs: &Values) -> bool {
    let Some(&start) = inputs.get(name).filter(|value| **value > 0.0) else { return false };
    let stops = around(model, name, start).stops;
    let at = |value: f64| {
        let mut values = dense(1.0).to_array();
        for (place, known) in values.iter_mut().zip(transformer::Inputs::NAMES) {
            *place = if known == name { value } else { *inputs.get(known).unwrap_or(place) };
        }
        transformer::Inputs::from_array(values).evaluate().ok()
    };
    let now = at(start);
    [stops.first(), stops.last()].into_iter().flatten().any(|stop| at(*stop) != now)
}

/// Values around one, from a sixteenth of it to sixteen times as much, with digits that can be read.
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
