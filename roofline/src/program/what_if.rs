//! Sliders for a page: the equations of the contracts as JavaScript, and for each operation what they are called with.

use std::collections::BTreeMap;

use roofline_contracts::contract::Contract;
use roofline_contracts::emit::javascript;
use roofline_contracts::{check_in, library};

use crate::chart::html::{Operation, Recipe, Shown, Slider, Step, Summary, WhatIf};
use crate::contracts::{layer_roofline as layer, transformer};
use crate::program::Failure;

const TRANSFORMER: &str = "transformer-v1";
const LAYER: &str = "layer-roofline-v1";
const LATENCY: &str = "inference-latency-v1";

/// Names and values of what equations are called with.
type Values = BTreeMap<String, f64>;

/// What a part of the work is called in `transformer-v1`.
pub struct Names {
    /// Operations and bytes.
    pub amounts: [&'static str; 2],
    /// Seconds of all operations together.
    pub time: &'static str,
    /// Tokens per second.
    pub speed: &'static str,
    /// How long it is: the quantity that a slider moves beside the batch, and the word for it.
    pub length: [&'static str; 2],
}

/// One token for each sequence.
pub const DECODE: Names = Names {
    amounts: ["decode_flops", "decode_bytes"],
    time: "decode_time",
    speed: "decode_tokens_per_s",
    length: ["context", "context"],
};

/// The prompt.
pub const PREFILL: Names = Names {
    amounts: ["prefill_flops", "prefill_bytes"],
    time: "time_to_first_token",
    speed: "prefill_tokens_per_s",
    length: ["prompt", "prompt"],
};

/// Sliders over the operations of a model: each with its place among the points and its inputs. `asked` is the whole without its
/// operations, `longest` the most tokens that the model was made for.
pub fn operations(
    names: &Names,
    asked: &transformer::Inputs,
    longest: Option<u64>,
    operations: &[(usize, transformer::Inputs)],
) -> Result<WhatIf, Failure> {
    let (model, layers) = (contract(TRANSFORMER)?, contract(LAYER)?);
    let [flops, bytes] = names.amounts;
    let amounts = renamed(Step::all(&model, &names.amounts, &[]), &[(flops, "flops"), (bytes, "bytes")]);
    let common = values(transformer::Inputs::NAMES, asked.to_array());
    let speed = Step::all(&model, &[names.speed], &names.amounts);
    Ok(WhatIf {
        module: javascript::module(&model) + &javascript::module(&layers),
        sliders: sliders(names, asked, longest),
        bandwidth: "bandwidth".into(),
        compute: "compute".into(),
        recipes: vec![recipe(amounts, &layers)],
        operations: operations
            .iter()
            .map(|(point, inputs)| {
                let mut own = values(transformer::Inputs::NAMES, inputs.to_array());
                // What all have in common is said once.
                own.retain(|name, value| common.get(name) != Some(value));
                Operation { point: *point, recipe: 0, inputs: own }
            })
            .collect(),
        summary: Some(Summary {
            inputs: BTreeMap::new(),
            sums: BTreeMap::from([
                (flops.to_owned(), "flops".to_owned()),
                (bytes.to_owned(), "bytes".to_owned()),
            ]),
            steps: speed,
            shown: vec![shown("tokens per second", names.speed, ""), shown("time", names.time, "s")],
        }),
        inputs: common,
    })
}

/// A slider for the batch over the layers of a stack: each with its place, whether it is a convolution, and its inputs. `overhead`
/// is the time to dispatch a pass, in µs.
pub fn layers(
    batch: f64,
    overhead: f64,
    operations: &[(usize, bool, layer::Inputs)],
) -> Result<WhatIf, Failure> {
    let (layers, latency) = (contract(LAYER)?, contract(LATENCY)?);
    let amounts = |flops: &'static str, bytes: &'static str| {
        let steps = Step::all(&layers, &[flops, bytes], &[]);
        recipe(renamed(steps, &[(flops, "flops"), (bytes, "bytes")]), &layers)
    };
    let common = values(layer::Inputs::NAMES, layer::Inputs::new(0.0, 0.0, 1.0, 1.0).to_array());
    let whole = Step::all(&layers, &["least_time"], &[]);
    let latency = (Step::all(&latency, &["throughput"], &["roof_time"]), latency);
    Ok(WhatIf {
        module: javascript::module(&layers) + &javascript::module(&latency.1),
        sliders: vec![slider("batch", "batch", batch, 1024.0)],
        bandwidth: "bandwidth".into(),
        compute: "compute".into(),
        recipes: vec![
            amounts("dense_flops", "dense_bytes"),
            amounts("convolution_flops", "convolution_bytes"),
        ],
        operations: operations
            .iter()
            .map(|(point, convolution, inputs)| {
                let mut own = values(layer::Inputs::NAMES, inputs.to_array());
                own.retain(|name, value| common.get(name) != Some(value));
                Operation { point: *point, recipe: usize::from(*convolution), inputs: own }
            })
            .collect(),
        summary: Some(Summary {
            inputs: BTreeMap::from([("overhead".to_owned(), overhead)]),
            sums: BTreeMap::from(
                [("flops", "flops"), ("bytes", "bytes")].map(|(a, b)| (a.to_owned(), b.to_owned())),
            ),
            steps: whole
                .into_iter()
                .map(|step| if step.result == "least_time" { step.named("roof_time") } else { step })
                .chain(latency.0)
                .collect(),
            shown: vec![shown("samples per second", "throughput", ""), shown("time", "latency", "s")],
        }),
        inputs: common,
    })
}

/// Sliders over predictions: two points for each, decoding and the prompt, with everything that went into it. What is shown in
/// words is that of the first, with the name of its device where there are several.
pub fn predictions(
    longest: Option<u64>,
    device: Option<&str>,
    predictions: &[transformer::Inputs],
) -> Result<Option<WhatIf>, Failure> {
    let Some(first) = predictions.first() else { return Ok(None) };
    let (model, layers) = (contract(TRANSFORMER)?, contract(LAYER)?);
    let part = |names: &Names, intensity: &str, bound: &str| {
        let [flops, bytes] = names.amounts;
        let steps = Step::all(&model, &[flops, bytes, names.time, intensity, bound], &[]);
        let rename = |name: String| match name.as_str() {
            "flops" => flops.to_owned(),
            "time" => names.time.to_owned(),
            _ => name,
        };
        let speed = Step::all(&layers, &["achieved_compute"], &[])
            .into_iter()
            .map(|step| Step { arguments: step.arguments.into_iter().map(rename).collect(), ..step });
        Recipe {
            steps: steps.into_iter().chain(speed).collect(),
            intensity: intensity.to_owned(),
            performance: "achieved_compute".into(),
            time: None,
            bound: Some(bound.to_owned()),
        }
    };
    let common = values(transformer::Inputs::NAMES, first.to_array());
    let own = |inputs: &transformer::Inputs| values(transformer::Inputs::NAMES, inputs.to_array());
    let mut sliders = sliders(&DECODE, first, longest);
    sliders.extend(self::sliders(&PREFILL, first, longest).into_iter().skip(1));
    let on = device.map(|device| format!(" on {device}")).unwrap_or_default();
    let on_first = |label: &str, result, unit| shown(&format!("{label}{on}"), result, unit);
    let results = [DECODE.speed, PREFILL.speed, PREFILL.time, "cache_bytes", "footprint"];
    let of = |point: usize, recipe: usize, inputs: &transformer::Inputs| Operation {
        point,
        recipe,
        inputs: own(inputs),
    };
    Ok(Some(WhatIf {
        module: javascript::module(&model) + &javascript::module(&layers),
        sliders,
        // Each prediction has the figures of its own device.
        bandwidth: "chosen_bandwidth".into(),
        compute: "chosen_compute".into(),
        recipes: vec![
            part(&DECODE, "decode_intensity", "decode_bound"),
            part(&PREFILL, "prefill_intensity", "prefill_bound"),
        ],
        operations: predictions
            .iter()
            .enumerate()
            .flat_map(|(index, inputs)| [of(2 * index, 0, inputs), of(2 * index + 1, 1, inputs)])
            .collect(),
        summary: Some(Summary {
            inputs: BTreeMap::new(),
            sums: BTreeMap::new(),
            steps: Step::all(&model, &results, &[]),
            shown: vec![
                on_first("decode", DECODE.speed, "token/s"),
                on_first("prefill", PREFILL.speed, "token/s"),
                on_first("first token", PREFILL.time, "s"),
                Shown { per: Some(1e9), ..shown("KV cache", "cache_bytes", "GB") },
                Shown { per: Some(1e9), ..shown("footprint", "footprint", "GB") },
            ],
        }),
        inputs: common,
    }))
}

fn contract(name: &str) -> Result<Contract, Failure> {
    let source = library::built_in(name).and_then(|source| check_in(source, None).contract);
    source.ok_or_else(|| Failure(format!("{name}: the built-in contract is damaged")))
}

/// What a layer of these amounts may reach.
fn recipe(amounts: Vec<Step>, layers: &Contract) -> Recipe {
    Recipe {
        steps: amounts
            .into_iter()
            .chain(Step::all(layers, &["attainable", "least_time", "bound"], &[]))
            .collect(),
        intensity: "arithmetic_intensity".into(),
        performance: "attainable".into(),
        time: Some("least_time".into()),
        bound: Some("bound".into()),
    }
}

fn renamed(steps: Vec<Step>, names: &[(&str, &str)]) -> Vec<Step> {
    let rename = |step: Step| match names.iter().find(|(name, _)| *name == step.result) {
        Some((_, new)) => step.named(new),
        None => step,
    };
    steps.into_iter().map(rename).collect()
}

fn values<const N: usize>(names: [&str; N], values: [f64; N]) -> Values {
    names.iter().map(|name| (*name).to_owned()).zip(values).collect()
}

/// The batch, and how long the cache or the prompt is.
fn sliders(names: &Names, asked: &transformer::Inputs, longest: Option<u64>) -> Vec<Slider> {
    let [quantity, label] = names.length;
    let length = if quantity == "prompt" { asked.prompt } else { asked.context };
    let longest = longest.map_or(131_072.0, |tokens| tokens as f64);
    vec![slider("batch", "batch", asked.batch, 1024.0), slider(quantity, label, length, longest)]
}

/// Powers of two up to `most`, the start and the end among them.
fn slider(quantity: &str, label: &str, start: f64, most: f64) -> Slider {
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
