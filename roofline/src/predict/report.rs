//! Predictions as a result: what a model can reach on devices, and at the points of a sweep.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Prediction, Target, crossing, predict};
use crate::chart::terminal::Canvas;
use crate::chart::{Chart, Point, Roof};
use crate::contracts::transformer::{CONTRACT, Inputs, OutOfDomain, Outputs};
use crate::contracts::transformer_unit;
use crate::number::{GB_PER_S, GFLOP_PER_S, figure, maybe, short};
use crate::report::{Better, Checked, Figure, Report, Saved, Schema, Table, Text};
use crate::text::file_name;
use crate::word::{Bound, Feasibility, Precision};

/// A longer sweep belongs to a program that uses the library.
pub const MOST_POINTS: usize = 10_000;

/// The only result that a device may have no figure for.
const ENERGY: &str = "token_energy";

/// What a model can reach on devices.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "program", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Predicted {
    /// Which schema this document follows.
    pub schema: Schema<Self>,
    /// The contract that the figures come from, and its version.
    pub contract: String,
    /// The model.
    pub model: Subject,
    /// What it is asked to do.
    pub workload: Workload,
    /// The input that a sweep varies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swept: Option<Swept>,
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
}

/// The model.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "program", derive(schemars::JsonSchema))]
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
    /// Bits that one parameter takes.
    pub bits_per_weight: f64,
    /// The longest context, in tokens; null if not known.
    pub context_length: Option<u64>,
}

/// What the model is asked to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "program", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Workload {
    /// Sequences that are computed together.
    pub batch: f64,
    /// Tokens of each sequence in the cache.
    pub context: f64,
    /// Tokens of the prompt.
    pub prompt: f64,
    /// Share of the arithmetic peak that is reached, 0 to 1.
    pub compute_efficiency: f64,
    /// Share of the bandwidth that is reached, 0 to 1.
    pub bandwidth_efficiency: f64,
    /// Bytes of one cached number.
    pub cache_bytes_per_element: f64,
}

/// An input that a sweep can vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "program", derive(schemars::JsonSchema))]
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
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "program", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Entry {
    /// The device.
    pub device: String,
    /// The precision of its arithmetic.
    pub precision: Precision,
    /// The value of what a sweep varies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<f64>,
    /// Its arithmetic peak in GFLOP/s.
    pub compute_gflop_s: f64,
    /// Its memory bandwidth in GB/s.
    pub bandwidth_gb_s: f64,
    /// Its memory in GB; null if not known.
    pub capacity_gb: Option<f64>,
    /// Its power in W; null if not known.
    pub tdp_w: Option<f64>,
    /// Whether the model fits in its memory; null if that is not known.
    pub fits: Option<bool>,
    /// What holds decoding back: memory, compute or overhead.
    pub decode_bound: Bound,
    /// What holds the prompt back: memory, compute or overhead.
    pub prefill_bound: Bound,
    /// Every input of the contract that is known, under its name there.
    #[serde(default)]
    pub inputs: BTreeMap<String, f64>,
    /// Every result of the contract under its name there; null where the device has no figure for it.
    pub results: BTreeMap<String, Option<f64>>,
    /// Where the device's figures come from.
    pub source: String,
}

/// Where decoding changes its bound in a sweep.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "program", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Change {
    /// The device.
    pub device: String,
    /// The first value with the new bound.
    pub from: f64,
    /// The bound before.
    pub before: Bound,
    /// The bound from there on.
    pub after: Bound,
}

/// An equation with the numbers put in.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "program", derive(schemars::JsonSchema))]
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
            Swept::Bits => Inputs { bits_per_weight: value, ..inputs },
        }
    }
}

impl Predicted {
    /// Predicts the model on each device, at each of the ascending values of a sweep.
    pub fn new(
        model: Subject,
        inputs: Inputs,
        targets: &[Target],
        sweep: Option<(Swept, &[f64])>,
    ) -> Result<Predicted, OutOfDomain> {
        let mut predictions = Vec::new();
        let mut changes = Vec::new();
        for target in targets {
            let Some((swept, values)) = sweep else {
                predictions.push(Entry::new(target, None, &predict(inputs, target)?));
                continue;
            };
            let at = |value: f64| predict(swept.set(inputs, value), target);
            for &value in values {
                predictions.push(Entry::new(target, Some(value), &at(value)?));
            }
            for pair in values.windows(2) {
                let bound = |value: f64| at(value).ok().map(|prediction| prediction.outputs.decode_bound);
                if let (Some(from), Some(before), Some(after)) =
                    (crossing(pair[0], pair[1], bound), bound(pair[0]), bound(pair[1]))
                {
                    let (before, after) = (before.into(), after.into());
                    changes.push(Change { device: target.name.clone(), from, before, after });
                }
            }
        }
        let parameters =
            |name: &str| predictions.first().and_then(|first: &Entry| first.result(name)).unwrap_or(0.0);
        Ok(Predicted {
            schema: Schema::new(),
            contract: format!("{} {}", CONTRACT.id, CONTRACT.version),
            model: Subject {
                parameters: parameters("total_params"),
                active_parameters: parameters("active_params"),
                bits_per_weight: inputs.bits_per_weight,
                ..model
            },
            workload: Workload {
                batch: inputs.batch,
                context: inputs.context,
                prompt: inputs.prompt,
                compute_efficiency: inputs.compute_efficiency,
                bandwidth_efficiency: inputs.bandwidth_efficiency,
                cache_bytes_per_element: inputs.cache_size,
            },
            swept: sweep.map(|(swept, _)| swept),
            predictions,
            changes,
            explanation: Vec::new(),
            requirements: Vec::new(),
            units: NAMES.iter().map(|name| ((*name).to_owned(), Self::unit(name).to_owned())).collect(),
            warnings: Vec::new(),
        })
    }

    /// Whether there are several devices.
    fn several(&self) -> bool {
        self.predictions.iter().any(|entry| entry.device != self.predictions[0].device)
    }

    fn main(&self) -> Table {
        let mut headings = vec!["device", "precision"];
        headings.extend(self.swept.map(Swept::name));
        headings.extend([
            "fits",
            "weights_gb",
            "cache_gb",
            "total_gb",
            "bandwidth_ceiling",
            "compute_ceiling",
            "decode_tokens_per_s",
            "prefill_tokens_per_s",
            "time_to_first_token_s",
            "j_per_token",
            "decode_bound",
            "prefill_bound",
        ]);
        let rows = self.predictions.iter().map(|entry| {
            let mut row = vec![entry.device.clone(), entry.precision.to_string()];
            row.extend(self.swept.map(|_| entry.at.map(|at| at.to_string()).unwrap_or_default()));
            row.extend([
                entry.fits.map_or("-", |fits| if fits { "yes" } else { "no" }).to_owned(),
                entry.gigabytes("weight_bytes"),
                entry.gigabytes("cache_bytes"),
                entry.gigabytes("footprint"),
                maybe(entry.result("bandwidth_ceiling")),
                maybe(entry.result("compute_ceiling")),
                maybe(entry.result("decode_tokens_per_s")),
                maybe(entry.result("prefill_tokens_per_s")),
                maybe(entry.result("time_to_first_token")),
                maybe(entry.result(ENERGY)),
                entry.decode_bound.to_string(),
                entry.prefill_bound.to_string(),
            ]);
            row
        });
        Table::new("", &headings, rows)
    }

    /// The main table with headings that fit on a terminal.
    fn narrow(&self) -> Table {
        let mut table = self.main();
        for heading in &mut table.headings {
            let short = match heading.as_str() {
                "weights_gb" => "weights",
                "cache_gb" => "KV",
                "total_gb" => "GB",
                "bandwidth_ceiling" => "bw tok/s",
                "compute_ceiling" => "flop tok/s",
                "decode_tokens_per_s" => "decode",
                "prefill_tokens_per_s" => "prefill",
                "time_to_first_token_s" => "first s",
                "j_per_token" => "J/tok",
                "decode_bound" => "bound",
                "prefill_bound" => "prefill bound",
                _ => continue,
            };
            *heading = short.to_owned();
        }
        table
    }

    /// One prediction for people: what it is, then what it means.
    fn single(&self, entry: &Entry) -> String {
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
        let compute = format!("{} {GFLOP_PER_S} in {}", figure(entry.compute_gflop_s), entry.precision);
        let first = format!("{} s", maybe(entry.result("time_to_first_token")));
        let energy = entry.result(ENERGY).map_or("-".into(), |joule| format!("{} J/token", figure(joule)));
        let power = entry.tdp_w.map(|watt| format!("{} W", figure(watt)));
        let rows = [
            ("weights", gb("weight_bytes"), bits),
            ("KV cache", gb("cache_bytes"), format!("{batch} x {context} tokens")),
            ("footprint", gb("footprint"), fits),
            ("bandwidth ceiling", rate("bandwidth_ceiling"), bandwidth),
            ("compute ceiling", rate("compute_ceiling"), compute),
            ("decode", rate("decode_tokens_per_s"), entry.decode_bound.held_back().to_owned()),
            ("prefill", rate("prefill_tokens_per_s"), entry.prefill_bound.held_back().to_owned()),
            ("first token", first, format!("after a prompt of {prompt} tokens")),
            ("energy", energy, power.unwrap_or_else(|| "the device's power is not published".into())),
        ];
        let width = |column: fn(&(&str, String, String)) -> usize| rows.iter().map(column).max().unwrap_or(0);
        let (first, second) = (width(|row| row.0.len()), width(|row| row.1.len()));
        rows.iter().map(|(name, value, note)| format!("{name:<first$}  {value:>second$}  {note}\n")).collect()
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
    fn new(target: &Target, at: Option<f64>, prediction: &Prediction) -> Entry {
        let Prediction { inputs, outputs, token_energy, fits } = prediction;
        let named = Outputs::NAMES.into_iter().zip(outputs.to_array());
        let mut results: BTreeMap<String, Option<f64>> =
            named.map(|(name, value)| (name.to_owned(), Some(value))).collect();
        results.insert(ENERGY.to_owned(), *token_energy);
        let known = |name: &str| match name {
            "capacity" => target.capacity.is_some(),
            "tdp" => target.tdp.is_some(),
            _ => true,
        };
        let named = Inputs::NAMES.into_iter().zip(inputs.to_array());
        Entry {
            device: target.name.clone(),
            precision: target.precision,
            at,
            compute_gflop_s: target.compute,
            bandwidth_gb_s: target.bandwidth,
            capacity_gb: target.capacity,
            tdp_w: target.tdp,
            fits: *fits,
            decode_bound: outputs.decode_bound.into(),
            prefill_bound: outputs.prefill_bound.into(),
            inputs: named
                .filter(|(name, _)| known(name))
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            results,
            source: target.source.clone(),
        }
    }

    /// The result of this name, where the device has what it takes.
    pub fn result(&self, name: &str) -> Option<f64> {
        self.results.get(name).copied().flatten()
    }

    fn gigabytes(&self, name: &str) -> String {
        maybe(self.result(name).map(|bytes| bytes / 1e9))
    }

    /// The device, and the point of a sweep.
    fn place(&self, swept: Option<Swept>) -> String {
        match (swept, self.at) {
            (Some(swept), Some(at)) => format!("{} {}={at}", self.device, swept.name()),
            _ => self.device.clone(),
        }
    }

    fn points(&self, several: bool, roof: Option<usize>) -> [Point; 2] {
        let at = self.at.map(|at| format!(" at {at}")).unwrap_or_default();
        let device = if several { format!(" on {}", self.device) } else { String::new() };
        let point = |group: &str, bound| Point {
            name: format!("{group}{at}{device}"),
            group: group.to_owned(),
            intensity_flop_byte: self.result(&format!("{group}_intensity")),
            performance_gflop_s: self.result(&format!("{group}_performance")),
            share: None,
            bound,
            roof,
            details: vec![("token/s".into(), maybe(self.result(&format!("{group}_tokens_per_s"))))],
        };
        [point("decode", self.decode_bound), point("prefill", self.prefill_bound)]
    }
}

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

impl Report for Predicted {
    const SCHEMA: &'static str = "roofline.predict/1";
    const FIGURES: &'static [&'static str] = &NAMES;
    const TEXTS: &'static [&'static str] =
        &["device", "precision", "decode_bound", "prefill_bound", "feasibility"];
    const TRUTHS: &'static [&'static str] = &["fits"];

    fn unit(name: &str) -> &'static str {
        transformer_unit(name).unwrap_or("1")
    }

    fn text(&self, _: &Canvas) -> String {
        let model = &self.model;
        let active = if model.active_parameters < 0.9 * model.parameters {
            format!(", {} for each token", figure(model.active_parameters))
        } else {
            String::new()
        };
        let mut out =
            format!("{}: {} parameters{active}, {}\n", model.name, figure(model.parameters), model.quant);
        out += &match self.predictions.as_slice() {
            [entry] => format!("on {} ({})\n\n{}", entry.device, entry.source, self.single(entry)),
            _ => format!("\n{}", self.narrow().text()),
        };
        for Change { device, from, before, after } in &self.changes {
            let name = self.swept.map(Swept::name).unwrap_or_default();
            out += &format!(
                "{device}: decoding is {before}-bound below {name} {from} and {after}-bound from there\n"
            );
        }
        for Line { name, formula, numbers, value, unit, place } in &self.explanation {
            let unit = if unit == "1" { String::new() } else { format!(" {unit}") };
            out +=
                &format!("\n{name} = {formula}\n    = {numbers}\n    = {}{unit}    {place}\n", short(*value));
        }
        out
    }

    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.main()];
        if !self.explanation.is_empty() {
            tables.push(self.explained());
        }
        tables
    }

    fn figures(&self) -> Vec<Figure> {
        let parts = self.several() || self.swept.is_some();
        let mut figures = Vec::new();
        for entry in &self.predictions {
            let place = entry.place(self.swept);
            let inputs = entry.inputs.iter().map(|(name, value)| (name, Some(*value)));
            let results = entry.results.iter().map(|(name, value)| (name, *value));
            for (name, value) in inputs.chain(results) {
                // The speed of the prompt follows from the time to the first token.
                let (label, better) = match name.as_str() {
                    "decode_tokens_per_s" => ("decode", Better::Higher),
                    "time_to_first_token" => ("first token", Better::Lower),
                    "footprint" => ("footprint", Better::Lower),
                    ENERGY => ("energy", Better::Lower),
                    other => (other, Better::Neither),
                };
                let unit = self.units.get(name).cloned().unwrap_or_default();
                let label = format!("{label}, {place}");
                let figure = value.map(|value| Figure::new(name.clone(), label, unit, better, value));
                figures.extend(figure.map(|figure| if parts { figure.of(&place) } else { figure }));
            }
        }
        figures
    }

    fn texts(&self) -> Vec<Text> {
        let parts = self.several() || self.swept.is_some();
        let of = |entry: &Entry| {
            let place = if parts { entry.place(self.swept) } else { String::new() };
            let fits = entry.fits.map(|fits| if fits { Feasibility::Fits } else { Feasibility::TooLarge });
            [
                Some(Text::new("device", &entry.device)),
                Some(Text::new("precision", entry.precision)),
                Some(Text::new("decode_bound", entry.decode_bound)),
                Some(Text::new("prefill_bound", entry.prefill_bound)),
                fits.map(|fits| Text::new("feasibility", fits)),
                entry.fits.map(|fits| Text::new("fits", fits)),
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
            ("the sweep", self.swept.map(Swept::name).unwrap_or_default().to_owned()),
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
                    compute_gflop_s: Some(entry.compute_gflop_s),
                });
            }
        }
        let points = self.predictions.iter().flat_map(|entry| {
            let roof = roofs.iter().position(|roof| roof.group == entry.device);
            entry.points(roofs.len() > 1, roof)
        });
        let points = points.collect();
        let Workload { batch, context, prompt, .. } = self.workload;
        Some(Chart {
            title: format!("{}, {}", file_name(&self.model.name), self.model.quant),
            subtitle: format!(
                "predicted: batch {batch}, {context} tokens in the cache, a prompt of {prompt} tokens"
            ),
            roofs,
            points,
        })
    }
}

impl Saved for Predicted {
    fn validate(&self) -> Result<(), String> {
        if self.predictions.is_empty() || self.predictions.len() > MOST_POINTS {
            let found = self.predictions.len();
            return Err(format!("`predictions` has {found} entries; there must be 1 to {MOST_POINTS}"));
        }
        for (index, entry) in self.predictions.iter().enumerate() {
            let known = |name: &&str| *name == ENERGY || entry.result(name).is_some();
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
