//! Predictions as a result: what a model can reach on devices, and at the points of a sweep.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Expectation, ExpectedSpeed, Prediction, Stored, Target, crossing, predict, with_bits};
use crate::metric::{self, Metric};
use roofline_formulas::transformer::{CONTRACT, Inputs, OutOfDomain, Outputs};
use roofline_render::chart::terminal::Canvas;
use roofline_render::chart::{Chart, Point, Roof};
use roofline_render::number::{GB_PER_S, GFLOP_PER_S, figure, maybe, short};
use roofline_render::report::{Better, Checked, Figure, Report, Saved, Schema, Table, Text, facts};
use roofline_render::text::file_name;
use roofline_render::word::{Bound, Feasibility, Precision};

/// A longer sweep belongs to a program that uses the library.
pub const MOST_POINTS: usize = 10_000;

/// What the details of a point are called: its ceiling,
pub const CEILING: &str = "ceiling, token/s";
/// its estimate,
pub const ESTIMATE: &str = "estimate, token/s";
/// and the speed to expect, which holds only as it was asked.
pub const EXPECTED: &str = "expected, token/s";

/// The results that a device may have no figure for.
const ENERGY: &str = "token_energy";
const ARITHMETIC: &str = "compute_ceiling";

/// The results that depend on the precision that was asked for.
const ESTIMATES: [&str; 5] =
    ["decode_estimated_time", "decode_estimate", ENERGY, "time_to_first_token", "prefill_estimate"];

/// What ceilings hold for, as a sentence: numbers in these formats, so many tokens of a pass over the weights, and so many bytes
/// that may stay in caches. Without a cache, samples go through a stack of layers.
pub fn ceilings_hold_for(weights: &str, cache: Option<&str>, tokens_per_pass: f64, kept: f64) -> String {
    let (numbers, moved) = match cache {
        Some(cache) => (format!("weights in {weights} and a cache in {cache}"), "weights and cache"),
        None => (format!("weights in {weights}"), "weights"),
    };
    let pass = match cache {
        None => "each batch".to_owned(),
        Some(_) if tokens_per_pass > 1.0 => {
            format!("{tokens_per_pass} tokens of each sequence, all accepted")
        }
        Some(_) => "each token of a sequence".to_owned(),
    };
    let kept = if kept > 0.0 {
        format!(" but for the {} MB that caches hold", figure(kept / 1e6))
    } else {
        String::new()
    };
    format!(
        "Ceilings: no program that multiplies {numbers} exactly, product by product with activations of 8 bits or more, is faster \
         with one pass over the weights for {pass}; {moved} come from memory{kept}."
    )
}

/// What is said where nobody knows how fast some numbers are multiplied.
pub const MEMORY_ALONE: &str =
    "Where the peak of the units is not known, ceilings and estimates are those of the memory alone.";

/// The same for predictions.
fn ceilings(quant: &str, cache: &str, inputs: &Inputs, targets: &[Target], known: bool) -> String {
    let kept = targets.iter().map(|target| target.caches).fold(0.0, f64::max);
    let hold = ceilings_hold_for(quant, Some(cache), inputs.tokens_per_pass, kept);
    if known { hold } else { format!("{hold} {MEMORY_ALONE}") }
}

/// What the estimates assume, as a sentence.
fn estimates(inputs: &Inputs, targets: &[Target]) -> String {
    let mut assumed = vec!["inputs and outputs move through memory too".to_owned()];
    if inputs.expert_params > 0.0 {
        assumed.push("experts are chosen with the same chance, and a prompt reads as many as it can".into());
    }
    if inputs.compute_efficiency < 1.0 || inputs.bandwidth_efficiency < 1.0 {
        let (compute, bandwidth) = (inputs.compute_efficiency, inputs.bandwidth_efficiency);
        assumed.push(format!("{compute} of the arithmetic and {bandwidth} of the bandwidth are reached"));
    }
    if inputs.overhead > 0.0 || targets.iter().any(|target| target.overhead.is_some()) {
        assumed.push("each step is dispatched".into());
    }
    format!("Estimates: {}.", assumed.join("; "))
}

/// What a model can reach on devices.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Predicted {
    /// Which schema this document follows.
    pub schema: Schema<Self>,
    /// The contract that the figures come from, and its version.
    pub contract: String,
    /// The model.
    pub model: Subject,
    /// What it is asked to do.
    pub workload: Workload,
    /// What the ceilings hold for.
    pub ceilings: String,
    /// What the estimates assume.
    pub estimates: String,
    /// Where the expected speeds come from, and why some are missing; empty where none was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<String>,
    /// The input that a sweep varies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swept: Option<Swept>,
    /// The input that a second sweep varies across the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub across: Option<Swept>,
    /// A prediction for each device, and for each point of a sweep.
    pub predictions: Vec<Entry>,
    /// Where decoding changes its bound in a sweep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// Every equation with the numbers of the first prediction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub explanation: Vec<Line>,
    /// What --require asked for.
    pub requirements: Vec<Checked>,
    /// The unit of each input and result, as the contract says it.
    pub units: BTreeMap<String, String>,
    /// What one should know about these figures.
    pub warnings: Vec<String>,
    /// The columns that were asked for, in place of the usual ones.
    #[serde(skip)]
    pub shown: Option<Table>,
}

/// The model.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// Its name, or its file.
    pub name: String,
    /// Where its dimensions come from.
    pub source: String,
    /// All parameters.
    pub parameters: f64,
    /// Parameters that one token uses.
    pub active_parameters: f64,
    /// The format of its weights.
    pub quant: String,
    /// Bits that one parameter takes on average.
    pub bits_per_weight: f64,
    /// The longest context, in tokens; null if not known.
    pub context_length: Option<u64>,
}

/// What the model is asked to do.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Sequences that are computed together.
    pub batch: f64,
    /// Tokens of each sequence in the cache.
    pub context: f64,
    /// Tokens of the prompt.
    pub prompt: f64,
    /// Tokens of each sequence that one pass over the weights makes: 1, or one more than a draft that is accepted.
    pub tokens_per_pass: f64,
    /// Share of the arithmetic peak that an estimate takes to be reached, 0 to 1.
    pub compute_efficiency: f64,
    /// Share of the bandwidth that an estimate takes to be reached, 0 to 1.
    pub bandwidth_efficiency: f64,
    /// The format of the cache.
    pub cache: String,
    /// Bytes of one cached number.
    pub cache_bytes_per_element: f64,
    /// Tokens of each answer, where users ask: the batch is their number then, and the prompt is theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<f64>,
}

impl Workload {
    /// What these inputs ask, with a cache in this format.
    pub fn new(inputs: &Inputs, cache: &str) -> Workload {
        Workload {
            batch: inputs.batch,
            context: inputs.context,
            prompt: inputs.prompt,
            tokens_per_pass: inputs.tokens_per_pass,
            compute_efficiency: inputs.compute_efficiency,
            bandwidth_efficiency: inputs.bandwidth_efficiency,
            cache: cache.to_owned(),
            cache_bytes_per_element: inputs.cache_size,
            output: None,
        }
    }
}

/// An input that a sweep can vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are the inputs'")]
pub enum Swept {
    Batch,
    Context,
    Prompt,
    Efficiency,
    Bits,
}

/// One model on one device, at one point of a sweep.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The device.
    pub device: String,
    /// The fastest of its units that multiply the weights exactly.
    pub precision: Precision,
    /// The precision that the estimates were asked for in; absent where they have the same units as the ceilings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate_precision: Option<Precision>,
    /// The value of what a sweep varies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<f64>,
    /// The value of what a second sweep varies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub across: Option<f64>,
    /// The rate of the units for the weights in GFLOP/s; null where nobody publishes it, and the ceilings are those of the
    /// memory alone.
    pub compute_gflop_s: Option<f64>,
    /// Kinds of numbers that are multiplied and whose rate nobody publishes: they take no time in the ceilings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_known: Vec<String>,
    /// Its memory bandwidth in GB/s.
    pub bandwidth_gb_s: f64,
    /// Its memory in GB; null if not known.
    pub capacity_gb: Option<f64>,
    /// Its power in W; null if not known.
    pub tdp_w: Option<f64>,
    /// Whether the model fits in its memory; null if that is not known.
    pub fits: Option<bool>,
    /// What the ceiling of decoding comes from: memory or compute.
    pub decode_bound: Bound,
    /// What the ceiling of the prompt comes from: memory or compute.
    pub prefill_bound: Bound,
    /// Every input of the contract that is known, under its name there.
    #[serde(default)]
    pub inputs: BTreeMap<String, f64>,
    /// Every result of the contract under its name there; null where the device has no figure for it.
    pub results: BTreeMap<String, Option<f64>>,
    /// The speed to expect, with an engine; absent where nobody asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expectation>,
    /// Where the device's figures come from.
    pub source: String,
}

/// Where decoding changes its bound in a sweep.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The device.
    pub device: String,
    /// The value of what a second sweep varies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub across: Option<f64>,
    /// The first value with the new bound.
    pub from: f64,
    /// The bound before.
    pub before: Bound,
    /// The bound from there on.
    pub after: Bound,
}

/// An equation with the numbers put in.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// The equation.
    pub name: String,
    /// Its formula.
    pub formula: String,
    /// The formula with the numbers put in.
    pub numbers: String,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// File and line of the contract.
    pub place: String,
}

impl Swept {
    /// All of them.
    pub const ALL: [Swept; 5] = [Swept::Batch, Swept::Context, Swept::Prompt, Swept::Efficiency, Swept::Bits];

    /// The word.
    pub fn name(self) -> &'static str {
        match self {
            Swept::Batch => "batch",
            Swept::Context => "context",
            Swept::Prompt => "prompt",
            Swept::Efficiency => "efficiency",
            Swept::Bits => "bits",
        }
    }

    /// The inputs with this value.
    pub fn set(self, inputs: Inputs, value: f64) -> Inputs {
        match self {
            Swept::Batch => Inputs { batch: value, ..inputs },
            Swept::Context => Inputs { context: value, ..inputs },
            Swept::Prompt => Inputs { prompt: value, ..inputs },
            Swept::Efficiency => Inputs { compute_efficiency: value, ..inputs },
            Swept::Bits => with_bits(inputs, value),
        }
    }
}

/// An input, and the values it takes.
pub type Sweep<'a> = (Swept, &'a [f64]);

/// A point of sweeps.
#[derive(Clone, Copy)]
struct Place {
    at: Option<f64>,
    across: Option<f64>,
}

impl Predicted {
    /// Predicts the model on each device: at each of the ascending values of a sweep, and that at each of those of a second one.
    /// `expect` returns the expected speed for a prediction on the device at an index.
    pub fn new<E: From<OutOfDomain>>(
        model: Subject,
        (inputs, stored): (Inputs, &Stored),
        cache: &str,
        targets: &[Target],
        [sweep, second]: [Option<Sweep<'_>>; 2],
        mut expect: impl FnMut(usize, &Prediction) -> Result<Expectation, E>,
    ) -> Result<Predicted, E> {
        let mut predictions = Vec::new();
        let mut changes = Vec::new();
        let lines: Vec<(Option<f64>, Inputs)> = match second {
            None => vec![(None, inputs)],
            Some((swept, values)) => {
                values.iter().map(|value| (Some(*value), swept.set(inputs, *value))).collect()
            }
        };
        for (index, target) in targets.iter().enumerate() {
            let mut predicted = |at, across, inputs: Inputs| {
                let prediction = predict(inputs, stored, target)?;
                let expected = Some(expect(index, &prediction)?);
                predictions.push(Entry { expected, ..Entry::new(target, Place { at, across }, &prediction) });
                Ok::<Bound, E>(prediction.outputs.decode_bound.into())
            };
            for &(across, inputs) in &lines {
                let Some((swept, values)) = sweep else {
                    predicted(None, across, inputs)?;
                    continue;
                };
                let mut last: Option<(f64, Bound)> = None;
                for &value in values {
                    let after = predicted(Some(value), across, swept.set(inputs, value))?;
                    if let Some((previous, before)) = last
                        && before != after
                    {
                        let bound = |value: f64| {
                            let point = predict(swept.set(inputs, value), stored, target).ok()?;
                            Some(point.outputs.decode_bound)
                        };
                        let device = target.name.clone();
                        let from = crossing(previous, value, bound);
                        changes.extend(from.map(|from| Change { device, across, from, before, after }));
                    }
                    last = Some((value, after));
                }
            }
        }
        let parameters =
            |name: &str| predictions.first().and_then(|first: &Entry| first.result(name)).unwrap_or(0.0);
        let quant = model.quant.clone();
        Ok(Predicted {
            schema: Schema::new(),
            contract: format!("{} {}", CONTRACT.id, CONTRACT.version),
            model: Subject {
                parameters: parameters("total_params"),
                active_parameters: parameters("active_params"),
                bits_per_weight: 8.0 * parameters("weight_bytes") / parameters("total_params"),
                ..model
            },
            workload: Workload::new(&inputs, cache),
            ceilings: {
                let known = predictions.iter().all(|entry| entry.not_known.is_empty());
                ceilings(&quant, cache, &inputs, targets, known)
            },
            estimates: estimates(&inputs, targets),
            expectations: Vec::new(),
            swept: sweep.map(|(swept, _)| swept),
            across: second.map(|(swept, _)| swept),
            predictions,
            changes,
            explanation: Vec::new(),
            requirements: Vec::new(),
            units: NAMES.iter().map(|name| ((*name).to_owned(), Self::unit(name).to_owned())).collect(),
            warnings: Vec::new(),
            shown: None,
        })
    }

    /// Whether there are several devices.
    fn several(&self) -> bool {
        self.predictions.iter().any(|entry| entry.device != self.predictions[0].device)
    }

    /// A figure of the work, or the first and the last value where a sweep varies it.
    fn ends(&self, of: Swept, value: f64) -> String {
        let at = |entry: &Entry| match of {
            of if self.swept == Some(of) => entry.at,
            of if self.across == Some(of) => entry.across,
            _ => None,
        };
        let values = || self.predictions.iter().filter_map(at);
        let (least, most) = (values().reduce(f64::min), values().reduce(f64::max));
        match least.zip(most) {
            Some((least, most)) if least < most => format!("{least} to {most}"),
            Some((only, _)) => only.to_string(),
            None => value.to_string(),
        }
    }

    fn main(&self) -> Table {
        let mut headings = vec!["device", "units"];
        headings.extend([self.across, self.swept].into_iter().flatten().map(Swept::name));
        headings.extend([
            "fits",
            "weights_gb",
            "cache_gb",
            "total_gb",
            "decode_ceiling",
            "decode_ceiling_from",
            "decode_estimate",
            "prefill_ceiling",
            "prefill_ceiling_from",
            "prefill_estimate",
            "first_token_estimate_s",
            "j_per_token_estimate",
        ]);
        let expected = self.predictions.iter().any(|entry| entry.expected().is_some());
        if expected {
            headings.extend(Expectation::NAMES);
            headings.push("engine");
        }
        let rows = self.predictions.iter().map(|entry| {
            let units = entry.compute_gflop_s.map_or("not known".to_owned(), |_| entry.precision.to_string());
            let mut row = vec![entry.device.clone(), units];
            row.extend([entry.across, entry.at].into_iter().flatten().map(|at| at.to_string()));
            row.extend([
                entry.fits.map_or("-", |fits| if fits { "yes" } else { "no" }).to_owned(),
                entry.gigabytes("weight_bytes"),
                entry.gigabytes("cache_bytes"),
                entry.gigabytes("footprint"),
                maybe(entry.result("decode_ceiling")),
                entry.decode_bound.to_string(),
                maybe(entry.result("decode_estimate")),
                maybe(entry.result("prefill_ceiling")),
                entry.prefill_bound.to_string(),
                maybe(entry.result("prefill_estimate")),
                maybe(entry.result("time_to_first_token")),
                maybe(entry.result(ENERGY)),
            ]);
            if expected {
                row.extend(Expectation::NAMES.map(|name| maybe(entry.figure(name))));
                let engine = entry.expected().and_then(Expectation::engine);
                row.push(engine.unwrap_or("-").to_owned());
            }
            row
        });
        Table::new("", &headings, rows)
    }

    /// What is swept.
    fn axes(&self) -> impl Iterator<Item = Swept> {
        [self.swept, self.across].into_iter().flatten()
    }

    /// The device, and the point of the sweeps.
    pub fn place(&self, entry: &Entry) -> String {
        let values = [entry.at, entry.across].into_iter().flatten();
        let at = self.axes().zip(values).map(|(swept, value)| format!(" {}={value}", swept.name()));
        entry.device.clone() + &at.collect::<String>()
    }

    /// Two sweeps for people: a table of ceilings for each device, one sweep down and the other across.
    fn grids(&self, canvas: &Canvas) -> String {
        let [down, across] = [self.swept, self.across].map(|swept| swept.map_or("", Swept::name));
        let mut out = String::new();
        for entries in self.predictions.chunk_by(|one, other| one.device == other.device) {
            let mut columns: Vec<f64> = entries.iter().filter_map(|entry| entry.across).collect();
            columns.dedup();
            let mut lines: Vec<f64> = entries.iter().filter_map(|entry| entry.at).collect();
            lines.sort_by(f64::total_cmp);
            lines.dedup();
            let mut headings = vec![format!("{down} \\ {across}")];
            headings.extend(columns.iter().map(f64::to_string));
            for (phase, name) in [("decode", "decode_ceiling"), ("prefill", "prefill_ceiling")] {
                let cell = |at: f64, across: f64| {
                    let here = |entry: &&Entry| entry.at == Some(at) && entry.across == Some(across);
                    let entry = entries.iter().find(here)?;
                    let speed = maybe(entry.result(name));
                    Some(if entry.fits == Some(false) { format!("({speed})") } else { speed })
                };
                let speeds = || entries.iter().map(|entry| entry.result(name));
                // What neither sweep changes needs no table.
                if phase == "prefill" && speeds().all(|speed| Some(speed) == speeds().next()) {
                    continue;
                }
                let rows = lines.iter().map(|at| {
                    let cells = columns.iter().map(|across| cell(*at, *across).unwrap_or_default());
                    std::iter::once(at.to_string()).chain(cells).collect()
                });
                let title = format!("{}: {phase}, ceiling in token/s", entries[0].device);
                let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
                out += &format!("\n{}", Table::new(title, &headings, rows).fitted(canvas, &[]));
            }
        }
        if self.predictions.iter().any(|entry| entry.fits == Some(false)) {
            out += "What is in parentheses does not fit.\n";
        }
        out
    }

    /// The main table with headings that fit on a terminal, and each band in one column.
    fn narrow(&self) -> Table {
        let mut table = self.main();
        if let Some(first) = table.headings.iter().position(|heading| *heading == Expectation::NAMES[0]) {
            table.headings.splice(first.., ["expected decode", "expected prefill"].map(str::to_owned));
            for (row, entry) in table.rows.iter_mut().zip(&self.predictions) {
                let band = |of: fn(&Expectation) -> Option<&ExpectedSpeed>| {
                    entry.expected().and_then(of).map_or("-".to_owned(), ExpectedSpeed::band)
                };
                row.splice(first.., [band(|one| one.decode.as_ref()), band(|one| one.prefill.as_ref())]);
            }
        }
        for heading in &mut table.headings {
            let short = match heading.as_str() {
                "weights_gb" => "weights",
                "cache_gb" => "KV",
                "total_gb" => "GB",
                "decode_ceiling" => "decode ceiling",
                "decode_ceiling_from" => "from",
                "decode_estimate" => "estimate",
                "prefill_ceiling" => "prefill ceiling",
                "prefill_ceiling_from" => "from",
                "prefill_estimate" => "estimate",
                "first_token_estimate_s" => "first s, estimate",
                "j_per_token_estimate" => "J/tok, estimate",
                _ => continue,
            };
            *heading = short.to_owned();
        }
        table
    }

    /// One prediction for people: what it is, then what it means.
    fn single(&self, entry: &Entry, canvas: &Canvas) -> String {
        let gb = |name: &str| format!("{} GB", entry.gigabytes(name));
        let rate = |name: &str| format!("{} tok/s", maybe(entry.result(name)));
        let fits = match (entry.fits, entry.capacity_gb) {
            (Some(true), Some(capacity)) => format!("fits in {} GB", figure(capacity)),
            (Some(false), Some(capacity)) => format!("does not fit in {} GB", figure(capacity)),
            _ => "the device's memory is not known".to_owned(),
        };
        let Workload { batch, context, prompt, .. } = self.workload;
        let bits = format!("{} bits per parameter", figure(self.model.bits_per_weight));
        let bandwidth = format!("{} {GB_PER_S}", figure(entry.bandwidth_gb_s));
        let compute = match entry.compute_gflop_s {
            Some(compute) => format!("{} {GFLOP_PER_S} in {}", figure(compute), entry.precision),
            None => entry.not_known.join(", "),
        };
        let estimate =
            entry.estimate_precision.map_or("estimate".to_owned(), |asked| format!("estimate in {asked}"));
        let first = |name: &str| format!("{} s", maybe(entry.result(name)));
        let energy = entry.result(ENERGY).map_or("-".into(), |joule| format!("{} J/token", figure(joule)));
        let power = entry.tdp_w.map(|watt| format!("estimate at {} W", figure(watt)));
        let mut rows = vec![
            ("weights", gb("weight_bytes"), bits),
            ("KV cache", gb("cache_bytes"), format!("{batch} x {context} tokens in {}", self.workload.cache)),
            ("footprint", gb("footprint"), fits),
            ("decode, ceiling", rate("decode_ceiling"), entry.decode_bound.held_back().to_owned()),
            ("  of the memory", rate("bandwidth_ceiling"), bandwidth),
            ("  of the arithmetic", rate("compute_ceiling"), compute),
            ("decode", rate("decode_estimate"), estimate.clone()),
            ("prefill, ceiling", rate("prefill_ceiling"), entry.prefill_bound.held_back().to_owned()),
            ("prefill", rate("prefill_estimate"), estimate.clone()),
            (
                "first token, at least",
                first("prefill_least_time"),
                format!("after a prompt of {prompt} tokens"),
            ),
            ("first token", first("time_to_first_token"), estimate),
            ("energy", energy, power.unwrap_or_else(|| "the device's power is not published".into())),
        ];
        let expected = entry.expected();
        for (before, name, speed) in [
            ("first token, at least", "prefill, expected", expected.and_then(|one| one.prefill.as_ref())),
            ("prefill, ceiling", "decode, expected", expected.and_then(|one| one.decode.as_ref())),
        ] {
            let place = rows.iter().position(|(row, ..)| *row == before).unwrap_or(rows.len());
            let row = speed
                .map(|speed| (name, format!("{} tok/s", figure(speed.middle_tokens_per_s)), speed.origin()));
            rows.splice(place..place, row);
        }
        facts(&rows, canvas)
    }

    fn explained(&self) -> Table {
        let rows = self.explanation.iter().map(|line| {
            let Line { name, formula, numbers, value, unit, place } = line.clone();
            vec![name, formula, numbers, short(value), unit, place]
        });
        Table::new("Equations", &["equation", "formula", "with_numbers", "value", "unit", "place"], rows)
    }
}

impl Entry {
    fn new(target: &Target, Place { at, across }: Place, prediction: &Prediction) -> Entry {
        let Prediction { inputs, outputs, estimate, rates, token_energy, fits, .. } = prediction;
        let array = |outputs: &Outputs| Outputs::NAMES.into_iter().zip(outputs.to_array());
        let mut results: BTreeMap<String, Option<f64>> = array(outputs)
            .zip(array(estimate))
            .map(|((name, ceiling), (_, estimate))| {
                (name.to_owned(), Some(if ESTIMATES.contains(&name) { estimate } else { ceiling }))
            })
            .collect();
        results.insert(ENERGY.to_owned(), *token_energy);
        let known = prediction.knows_arithmetic();
        if !known {
            results.insert(ARITHMETIC.to_owned(), None);
        }
        let published = |name: &str| match name {
            "capacity" => target.capacity.is_some(),
            "tdp" => target.tdp.is_some(),
            _ => true,
        };
        let named = Inputs::NAMES.into_iter().zip(inputs.to_array());
        let mut not_known: Vec<String> = Vec::new();
        for word in rates.iter().filter(|(_, rate)| rate.gflop_s.is_none()).map(|(_, rate)| rate.to_string())
        {
            if !not_known.contains(&word) {
                not_known.push(word);
            }
        }
        Entry {
            device: target.name.clone(),
            precision: rates.first().map_or(Precision::Fp16, |(_, rate)| rate.precision),
            estimate_precision: target.asked.map(|(precision, _)| precision),
            at,
            across,
            compute_gflop_s: known.then_some(inputs.compute),
            not_known,
            bandwidth_gb_s: target.bandwidth,
            capacity_gb: target.capacity,
            tdp_w: target.tdp,
            fits: *fits,
            decode_bound: outputs.decode_bound.into(),
            prefill_bound: outputs.prefill_bound.into(),
            inputs: named
                .filter(|(name, _)| published(name))
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            results,
            expected: None,
            source: target.source.to_string(),
        }
    }

    /// The result of this name, where the device has what it takes.
    pub fn result(&self, name: &str) -> Option<f64> {
        self.results.get(name).copied().flatten()
    }

    /// What is expected, where anything is.
    pub fn expected(&self) -> Option<&Expectation> {
        self.expected.as_ref().filter(|expected| expected.is_known())
    }

    /// The input, result or expected speed of this name, where there is one.
    pub fn figure(&self, name: &str) -> Option<f64> {
        let input = || self.inputs.get(name).copied();
        let expected = || self.expected.as_ref()?.figure(name);
        input().or_else(|| self.result(name)).or_else(expected)
    }

    fn gigabytes(&self, name: &str) -> String {
        maybe(self.result(name).map(|bytes| bytes / 1e9))
    }

    fn points(&self, several: bool, roof: Option<usize>) -> [Point; 2] {
        let at = match (self.at, self.across) {
            (Some(at), Some(across)) => format!(" at {at}, {across}"),
            (at, _) => at.map(|at| format!(" at {at}")).unwrap_or_default(),
        };
        let device = if several { format!(" on {}", self.device) } else { String::new() };
        let expected = |group: &str| {
            let expected = self.expected.as_ref()?;
            let speed = if group == "decode" { &expected.decode } else { &expected.prefill };
            speed.as_ref().map(|speed| (EXPECTED.to_owned(), speed.band()))
        };
        let point = |group: &str, bound| Point {
            name: format!("{group}{at}{device}"),
            group: group.to_owned(),
            intensity_flop_byte: self.result(&format!("{group}_intensity")),
            performance_gflop_s: self.result(&format!("{group}_performance")),
            share: None,
            whole: 0,
            bound,
            roof,
            details: vec![
                (CEILING.into(), maybe(self.result(&format!("{group}_ceiling")))),
                (ESTIMATE.into(), maybe(self.result(&format!("{group}_estimate")))),
            ]
            .into_iter()
            .chain(expected(group))
            .collect(),
        };
        [point("decode", self.decode_bound), point("prefill", self.prefill_bound)]
    }
}

/// Columns of a narrow table that the others can do without, the least important first.
const LEAST: [&str; 10] = [
    "weights",
    "KV",
    "units",
    "J/tok, estimate",
    "estimate",
    "estimate",
    "from",
    "first s, estimate",
    "expected prefill",
    "prefill ceiling",
];

/// The names of all inputs, then those of all results.
const NAMES: [&str; Inputs::NAMES.len() + Outputs::NAMES.len()] = {
    let mut names = [""; Inputs::NAMES.len() + Outputs::NAMES.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = match at.checked_sub(Inputs::NAMES.len()) {
            None => Inputs::NAMES[at],
            Some(at) => Outputs::NAMES[at],
        };
        at += 1;
    }
    names
};

/// The names of all figures: inputs, results, and speeds to expect.
const FIGURES: [&str; NAMES.len() + Expectation::NAMES.len()] = {
    let mut names = [""; NAMES.len() + Expectation::NAMES.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = match at.checked_sub(NAMES.len()) {
            None => NAMES[at],
            Some(at) => Expectation::NAMES[at],
        };
        at += 1;
    }
    names
};

impl Report for Predicted {
    const SCHEMA: &'static str = "roofline.predict/2";
    const FIGURES: &'static [&'static str] = &FIGURES;
    const TEXTS: &'static [&'static str] =
        &["device", "precision", "decode_bound", "prefill_bound", "feasibility"];
    const TRUTHS: &'static [&'static str] = &["fits"];

    fn unit(name: &str) -> &'static str {
        metric::unit(name)
    }

    fn text(&self, canvas: &Canvas) -> String {
        let model = &self.model;
        let active = if model.active_parameters < 0.9 * model.parameters {
            format!(", {} for each token", figure(model.active_parameters))
        } else {
            String::new()
        };
        let mut out =
            format!("{}: {} parameters{active}, {}\n", model.name, figure(model.parameters), model.quant);
        out += &match self.predictions.as_slice() {
            [entry] if self.shown.is_none() => {
                format!("on {} ({})\n\n{}", entry.device, entry.source, self.single(entry, canvas))
            }
            _ if self.shown.is_none() && self.across.is_some() => self.grids(canvas),
            _ => format!("\n{}", self.shown.clone().unwrap_or_else(|| self.narrow()).fitted(canvas, &LEAST)),
        };
        for Change { device, across, from, before, after } in &self.changes {
            let name = self.swept.map(Swept::name).unwrap_or_default();
            let second = self.across.zip(*across);
            let second = second.map(|(swept, value)| format!(" at {} {value}", swept.name()));
            let second = second.unwrap_or_default();
            out += &format!(
                "{device}{second}: decoding is {before}-bound below {name} {from} and {after}-bound from there\n"
            );
        }
        for Line { name, formula, numbers, value, unit, place } in &self.explanation {
            let unit = if unit == "1" { String::new() } else { format!(" {unit}") };
            out +=
                &format!("\n{name} = {formula}\n    = {numbers}\n    = {}{unit}    {place}\n", short(*value));
        }
        out += &format!("\n{}\n{}\n", self.ceilings, self.estimates);
        out.extend(self.expectations.iter().map(|line| format!("{line}\n")));
        out
    }

    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.shown.clone().unwrap_or_else(|| self.main())];
        if !self.explanation.is_empty() {
            tables.push(self.explained());
        }
        tables
    }

    fn figures(&self) -> Vec<Figure> {
        let parts = self.several() || self.swept.is_some();
        let mut figures = Vec::new();
        for entry in &self.predictions {
            let place = self.place(entry);
            let inputs = entry.inputs.iter().map(|(name, value)| (name, Some(*value)));
            let results = entry.results.iter().map(|(name, value)| (name, *value));
            for (name, value) in inputs.chain(results) {
                let metric = metric::METRICS.iter().find(|metric| metric.name == name);
                let (label, better) =
                    metric.map_or((name.as_str(), Better::Neither), |metric| (metric.label, metric.better));
                let unit = self.units.get(name).cloned().unwrap_or_default();
                let label = format!("{label}, {place}");
                let figure = value.map(|value| Figure::new(name.clone(), label, unit, better, value));
                figures.extend(figure.map(|figure| if parts { figure.of(&place) } else { figure }));
            }
            for name in Expectation::NAMES {
                let Metric { label, unit, better, .. } = metric::by_name(name);
                let label = format!("{label}, {place}");
                let value = entry.expected.as_ref().and_then(|expected| expected.figure(name));
                let figure = value.map(|value| Figure::new(name, label, unit, better, value));
                figures.extend(figure.map(|figure| if parts { figure.of(&place) } else { figure }));
            }
        }
        figures
    }

    fn texts(&self) -> Vec<Text> {
        let parts = self.several() || self.swept.is_some();
        let of = |entry: &Entry| {
            let place = if parts { self.place(entry) } else { String::new() };
            let fits = entry.fits.map(|fits| if fits { Feasibility::Fits } else { Feasibility::TooLarge });
            [
                Some(Text::new("device", &entry.device)),
                Some(Text::new("precision", entry.precision)),
                Some(Text::new("decode_bound", entry.decode_bound)),
                Some(Text::new("prefill_bound", entry.prefill_bound)),
                fits.map(|fits| Text::new("feasibility", fits)),
                entry.fits.map(|fits| Text::truth("fits", fits)),
            ]
            .into_iter()
            .flatten()
            .map(move |text| text.of(&place))
        };
        self.predictions.iter().flat_map(of).collect()
    }

    fn setting(&self) -> Vec<(&'static str, String)> {
        let mut devices: Vec<String> =
            self.predictions.iter().map(|entry| format!("{} in {}", entry.device, entry.precision)).collect();
        devices.dedup();
        let Workload { batch, context, prompt, .. } = self.workload;
        vec![
            ("the model", self.model.name.clone()),
            ("the format of the weights", self.model.quant.clone()),
            ("the batch", batch.to_string()),
            ("the context", context.to_string()),
            ("the prompt", prompt.to_string()),
            ("the format of the cache", self.workload.cache.clone()),
            ("the tokens of a pass", self.workload.tokens_per_pass.to_string()),
            ("the sweep", self.axes().map(Swept::name).collect::<Vec<_>>().join(", ")),
            ("the devices", devices.join(", ")),
        ]
    }

    /// All predictions under the roofs of their devices: for each a point for decoding and one for the prompt.
    fn chart(&self) -> Option<Chart> {
        let mut roofs: Vec<Roof> = Vec::new();
        for entry in &self.predictions {
            if roofs.iter().all(|roof| roof.group != entry.device) {
                roofs.push(Roof {
                    name: format!("{}, {}", entry.device, entry.precision),
                    group: entry.device.clone(),
                    bandwidth_gb_s: Some(entry.bandwidth_gb_s),
                    compute_gflop_s: entry.compute_gflop_s,
                    curve: Vec::new(),
                });
            }
        }
        let points = self.predictions.iter().flat_map(|entry| {
            let roof = roofs.iter().position(|roof| roof.group == entry.device);
            entry.points(roofs.len() > 1, roof)
        });
        let points = points.collect();
        let Workload { batch, context, prompt, .. } = self.workload;
        // Of several devices the table says more.
        let expected = match self.predictions.as_slice() {
            [only] => only.expected(),
            _ => None,
        };
        let phases =
            expected.into_iter().flat_map(|one| [("decode", &one.decode), ("prefill", &one.prefill)]);
        let expected: String = phases
            .filter_map(|(phase, speed)| {
                Some(format!("; {phase} expected {} token/s", speed.as_ref()?.band()))
            })
            .collect();
        Some(Chart {
            title: format!("{}, {}", file_name(&self.model.name), self.model.quant),
            subtitle: format!(
                "ceilings: batch {}, {} tokens in the cache, a prompt of {} tokens{expected}",
                self.ends(Swept::Batch, batch),
                self.ends(Swept::Context, context),
                self.ends(Swept::Prompt, prompt),
            ),
            roofs,
            points,
        })
    }

    fn notes(&self) -> Vec<String> {
        let sentences = [&self.ceilings, &self.estimates].into_iter().chain(&self.expectations);
        sentences.chain(&self.warnings).cloned().collect()
    }
}

impl Saved for Predicted {
    fn validate(&self) -> Result<(), String> {
        if self.predictions.is_empty() || self.predictions.len() > MOST_POINTS {
            let found = self.predictions.len();
            return Err(format!("`predictions` has {found} entries; there must be 1 to {MOST_POINTS}"));
        }
        for (index, entry) in self.predictions.iter().enumerate() {
            let known = |name: &&str| [ENERGY, ARITHMETIC].contains(name) || entry.result(name).is_some();
            if let Some(name) = Outputs::NAMES.iter().find(|name| !known(name)) {
                return Err(format!(
                    "`predictions[{index}].results` has no `{name}`: it was made with {}, and this program reads those of {} {}",
                    self.contract, CONTRACT.id, CONTRACT.version
                ));
            }
        }
        Ok(())
    }
}
