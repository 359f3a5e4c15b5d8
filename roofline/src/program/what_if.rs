//! Sliders for a page: the equations of the contracts as JavaScript, with their domains, and for each operation what they are
//! called with.

use std::collections::BTreeMap;

use roofline_contracts::contract::Contract;
use roofline_contracts::emit::javascript;
use roofline_contracts::{check_in, library};

use crate::chart::html::{Operation, Recipe, Shown, Slider, Step, Summary, WhatIf};
use crate::contracts::{operation, transformer};
use crate::model::Role;
use crate::predict::{Workload, dense};
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
    let (model, layers) = (contract(TRANSFORMER)?, contract(LAYER)?);
    let length_of = if phase == Phase::Prefill { "tokens" } else { "context" };
    let all = moves(&[("batch", "batch"), (length_of, names.length)]);
    let recipes = [all, moves(&[("batch", "batch")])].into_iter().flat_map(|moves| {
        let of =
            |sum: &'static str| Recipe { sums: named(&[(sum, "flops")]), ..recipe(&layers, moves.clone()) };
        names.flops.map(of)
    });
    let recipes = recipes.collect();
    // The recipes of what moves in every way come first, one for each part.
    let recipe_of = |each: &Moving| each.part as usize + usize::from(each.fixed) * Part::ALL.len();
    let (inputs, operations) = moving(asked.bandwidth, operations, recipe_of);
    let [matrix, head, attention] = names.flops;
    Ok(WhatIf {
        module: javascript::module(&model) + &javascript::module(&layers),
        sliders: sliders(names, asked.batch, length, longest),
        // Each operation has the rate of its own numbers.
        bandwidth: "chosen_bandwidth".into(),
        compute: "chosen_compute".into(),
        recipes,
        operations,
        summary: Some(Summary {
            inputs: values(transformer::Inputs::NAMES, asked.to_array()),
            sums: named(&[(names.bytes, "bytes")]),
            steps: Step::all(&model, &[names.speed], &[matrix, head, attention, names.bytes]),
            moves: None,
            shown: vec![
                shown("ceiling, tokens per second", names.speed, ""),
                shown("least time", names.time, "s"),
            ],
        }),
        inputs,
    })
}

/// A slider for the batch over the layers of a stack. `resident` bytes may stay in caches.
pub fn layers(batch: f64, resident: f64, bandwidth: f64, operations: &[Moving]) -> Result<WhatIf, Failure> {
    let layers = contract(LAYER)?;
    let (inputs, operations) = moving(bandwidth, operations, |_| 0);
    Ok(WhatIf {
        module: javascript::module(&layers),
        sliders: vec![slider("batch", "batch", batch, 1024.0)],
        // Each operation has the rate of its own numbers.
        bandwidth: "chosen_bandwidth".into(),
        compute: "chosen_compute".into(),
        recipes: vec![recipe(&layers, None)],
        operations,
        summary: Some(Summary {
            inputs: BTreeMap::from([("bandwidth".to_owned(), bandwidth), ("resident".to_owned(), resident)]),
            sums: named(&[("compute_time", "compute_time"), ("bytes", "bytes")]),
            steps: Step::all(&layers, &["pass_ceiling"], &["compute_time", "bytes"]),
            moves: moves(&[("results", "batch")]),
            shown: vec![
                shown("ceiling, samples per second", "pass_ceiling", ""),
                shown("least time", "least_time", "s"),
            ],
        }),
        inputs,
    })
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

/// Sliders over predictions: two points for each, decoding and the prompt, with everything that went into it. What is shown in
/// words is that of the first, with the name of its device where there are several.
pub fn predictions(
    longest: Option<u64>,
    device: Option<&str>,
    workload: &Workload,
    predictions: &[&Values],
) -> Result<Option<WhatIf>, Failure> {
    let Some(first) = predictions.first() else { return Ok(None) };
    let model = contract(TRANSFORMER)?;
    let part = |names: &Names| {
        let [intensity, performance, bound] = names.point;
        Recipe {
            steps: Step::all(&model, &names.point, &[]),
            moves: None,
            intensity: intensity.to_owned(),
            performance: performance.to_owned(),
            time: None,
            bound: Some(bound.to_owned()),
            sums: BTreeMap::new(),
        }
    };
    let Workload { batch, context, prompt, .. } = *workload;
    let mut sliders = sliders(&DECODE, batch, context, longest);
    sliders.extend(self::sliders(&PREFILL, batch, prompt, longest).into_iter().skip(1));
    let on = device.map(|device| format!(" on {device}")).unwrap_or_default();
    let on_first = |label: &str, result, unit| shown(&format!("{label}{on}"), result, unit);
    let results = [DECODE.speed, PREFILL.speed, PREFILL.time, "cache_bytes", "footprint"];
    // What a device does not publish is asked for nowhere, but has a place among the inputs.
    let common = values(transformer::Inputs::NAMES, dense(1.0).to_array());
    let of =
        |point: usize, recipe: usize, inputs: &Values| Operation { point, recipe, inputs: inputs.clone() };
    Ok(Some(WhatIf {
        module: javascript::module(&model),
        sliders,
        // Each prediction has the figures of its own device.
        bandwidth: "chosen_bandwidth".into(),
        compute: "chosen_compute".into(),
        recipes: vec![part(&DECODE), part(&PREFILL)],
        operations: predictions
            .iter()
            .enumerate()
            .flat_map(|(index, inputs)| [of(2 * index, 0, inputs), of(2 * index + 1, 1, inputs)])
            .collect(),
        summary: Some(Summary {
            inputs: BTreeMap::new(),
            sums: BTreeMap::new(),
            steps: Step::all(&model, &results, &[]),
            moves: None,
            shown: vec![
                on_first("decode, ceiling", DECODE.speed, "token/s"),
                on_first("prefill, ceiling", PREFILL.speed, "token/s"),
                on_first("first token, at least", PREFILL.time, "s"),
                Shown { per: Some(1e9), ..shown("KV cache", "cache_bytes", "GB") },
                Shown { per: Some(1e9), ..shown("footprint", "footprint", "GB") },
            ],
        }),
        inputs: common.into_iter().chain((*first).clone()).collect(),
    }))
}

/// A built-in contract.
pub fn contract(name: &str) -> Result<Contract, Failure> {
    let source = library::built_in(name).and_then(|source| check_in(source, None).contract);
    source.ok_or_else(|| Failure(format!("{name}: the built-in contract is damaged")))
}

/// What an operation may reach.
fn recipe(layers: &Contract, moves: Option<BTreeMap<String, String>>) -> Recipe {
    Recipe {
        steps: Step::all(layers, &["attainable", "least_time", "bound"], &[]),
        moves,
        intensity: "arithmetic_intensity".into(),
        performance: "attainable".into(),
        time: Some("least_time".into()),
        bound: Some("bound".into()),
        sums: BTreeMap::new(),
    }
}

fn named(names: &[(&str, &str)]) -> BTreeMap<String, String> {
    names.iter().map(|(name, of)| ((*name).to_owned(), (*of).to_owned())).collect()
}

fn moves(names: &[(&str, &str)]) -> Option<BTreeMap<String, String>> {
    Some(named(names))
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
    Slider { quantity: quantity.to_owned(), label: label.to_owned(), stops, start }
}

fn shown(label: &str, result: &str, unit: &str) -> Shown {
    Shown { label: label.to_owned(), result: result.to_owned(), unit: unit.to_owned(), per: None }
}
