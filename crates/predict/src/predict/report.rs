//! Results of `predict`: a model on devices, optionally at the points of one or two sweeps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    DeviceProfile, Expectation, ExpectedSpeed, Prediction, WeightPrecision, crossing, predict, with_bits,
};
use crate::metric::{self, Metric};
use roofline_formulas::transformer::{CONTRACT, Inputs, OutOfDomain, Outputs};
use roofline_render::chart::terminal::Canvas;
use roofline_render::chart::{Chart, Point, Roof};
use roofline_render::display_width::file_name;
use roofline_render::format::{GB_PER_S, GFLOP_PER_S, figure, maybe, percent, short};
use roofline_render::report::{Better, Checked, Figure, Report, Saved, Schema, Table, Text, facts};
use roofline_render::vocabulary::{Bound, Feasibility, Precision};

/// Maximum number of predictions in one result.
pub const MAX_PREDICTIONS: usize = 10_000;

/// Detail of a chart point: the ceiling.
pub const CEILING: &str = "ceiling, token/s";
/// Detail of a chart point: the ideal.
pub const IDEAL: &str = "ideal, token/s";
/// Detail of a chart point: the expected range, valid for the unmodified workload only.
pub const EXPECTED: &str = "expected, token/s";

/// Results that are null if the device lacks the figure they depend on.
const ENERGY: &str = "token_energy";
const COMPUTE_CEILING: &str = "compute_ceiling";

/// Results that depend on the requested precision.
const IN_REQUESTED_PRECISION: [&str; 5] =
    ["decode_ideal_time", "decode_ideal", ENERGY, "time_to_first_token", "prefill_ideal"];

/// Returns the sentence that states what the ceilings are bounds for.
///
/// `cache` is the KV cache type; `None` for models without tokens. `cached_bytes` is the size of caches that can hold weights
/// between passes.
pub fn ceiling_statement(
    weights: &str,
    cache: Option<&str>,
    tokens_per_pass: f64,
    cached_bytes: f64,
) -> String {
    let weights = match weights {
        "as stored" => "the weights as stored".to_owned(),
        format => format!("weights in {format}"),
    };
    let read = match cache {
        Some(cache) => format!("{weights} and a KV cache in {cache}"),
        None => weights,
    };
    let pass = match cache {
        None => "batch".to_owned(),
        Some(_) if tokens_per_pass > 1.0 => format!("{tokens_per_pass} tokens (all drafts accepted)"),
        Some(_) => "token".to_owned(),
    };
    let cached = match cached_bytes {
        bytes if bytes > 0.0 => format!(" Up to {} MB of weights stay in CPU caches.", figure(bytes / 1e6)),
        _ => String::new(),
    };
    format!(
        "Ceiling: upper bound for any implementation that reads {read} from memory once per {pass} and multiplies them \
         exactly with activations of at least 8 bits.{cached}"
    )
}

/// Note for ceilings without a known compute peak.
pub const UNKNOWN_COMPUTE_PEAK: &str =
    "Without a known compute peak, ceilings and ideal figures only use the memory bandwidth.";

fn ceilings(quant: &str, cache: &str, inputs: &Inputs, targets: &[DeviceProfile], known: bool) -> String {
    let cached = targets.iter().map(|target| target.caches).fold(0.0, f64::max);
    let hold = ceiling_statement(quant, Some(cache), inputs.tokens_per_pass, cached);
    if known { hold } else { format!("{hold} {UNKNOWN_COMPUTE_PEAK}") }
}

/// Returns the assumptions of the ideal figures.
fn ideal_assumptions(inputs: &Inputs, targets: &[DeviceProfile]) -> String {
    let mut out = "Ideal: roofline time in which memory traffic includes activations.".to_owned();
    if inputs.expert_params > 0.0 {
        out += " Experts are routed uniformly at random, and a prompt activates every expert it can.";
    }
    if inputs.compute_efficiency < 1.0 || inputs.bandwidth_efficiency < 1.0 {
        let (compute, bandwidth) = (inputs.compute_efficiency, inputs.bandwidth_efficiency);
        let [compute, bandwidth] = [compute, bandwidth].map(|share| percent(Some(share)));
        out += &format!(" Code reaches {compute} of peak compute and {bandwidth} of the bandwidth.");
    }
    if inputs.overhead > 0.0 || targets.iter().any(|target| target.overhead.is_some()) {
        out += " Each step includes the dispatch overhead.";
    }
    out
}

/// Predictions for a model on devices.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Predicted {
    /// Schema of this document.
    pub schema: Schema<Self>,
    /// Contract of the figures, with its version.
    pub contract: String,
    /// Model.
    pub model: Subject,
    /// Workload.
    pub workload: Workload,
    /// Statement of the ceilings' validity.
    pub ceilings: String,
    /// Assumptions of the ideal figures.
    pub ideal_assumptions: String,
    /// Origin of the expected speeds, and reasons for missing ones; empty if none were requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<String>,
    /// Input varied by the sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swept: Option<SweptInput>,
    /// Input varied by the second sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub across: Option<SweptInput>,
    /// One prediction per device and sweep point.
    pub predictions: Vec<Entry>,
    /// Points of a sweep at which decode changes its bound.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// Equations with the values of the first prediction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub explanation: Vec<Line>,
    /// Results of the conditions given with --require.
    pub requirements: Vec<Checked>,
    /// Unit of each input and result, in contract notation.
    pub units: BTreeMap<String, String>,
    /// Caveats about these figures.
    pub warnings: Vec<String>,
    /// Table with the selected columns; `None` for the default columns.
    #[serde(skip)]
    pub shown: Option<Table>,
    /// Shows the ideal figures in the text too; other formats always have them.
    #[serde(skip)]
    pub show_ideal: bool,
}

/// Model of a result.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// Name or file.
    pub name: String,
    /// Origin of the dimensions.
    pub source: String,
    /// Number of parameters.
    pub parameters: f64,
    /// Parameters that one token uses.
    pub active_parameters: f64,
    /// Quantization format or mix of the weights.
    pub quant: String,
    /// Mean bits per weight, scales included.
    pub bits_per_weight: f64,
    /// Maximum context length, in tokens; null if unknown.
    pub context_length: Option<u64>,
}

/// Workload of a prediction.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Batch size.
    pub batch: f64,
    /// Context length: cached tokens of each sequence.
    pub context: f64,
    /// Prompt length, in tokens.
    pub prompt: f64,
    /// Tokens per sequence and pass over the weights: 1, or 1 plus the accepted draft tokens.
    pub tokens_per_pass: f64,
    /// Share of the compute peak assumed by the ideal figures, 0 to 1.
    pub compute_efficiency: f64,
    /// Share of the bandwidth assumed by the ideal figures, 0 to 1.
    pub bandwidth_efficiency: f64,
    /// KV cache type.
    pub cache: String,
    /// Bytes per element of the KV cache.
    pub cache_bytes_per_element: f64,
    /// Output tokens of each request; absent without --users. If present, `batch` is the number of users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<f64>,
}

impl Workload {
    /// Returns the workload of these inputs with a KV cache of this type.
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

/// Input that a sweep can vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are the inputs'")]
pub enum SweptInput {
    Batch,
    Context,
    Prompt,
    Efficiency,
    Bits,
}

/// Prediction for one model on one device, at one point of a sweep.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Name of the device.
    pub device: String,
    /// Precision of the fastest units that multiply the weights exactly.
    pub precision: Precision,
    /// Precision of the ideal figures; absent if it is that of the ceilings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ideal_precision: Option<Precision>,
    /// Value of the swept input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<f64>,
    /// Value of the second swept input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub across: Option<f64>,
    /// Peak for the weights' element type, in GFLOP/s; null if not published, in which case ceilings only use the bandwidth.
    pub compute_gflop_s: Option<f64>,
    /// Peaks that are unknown; ceilings assume that these operations take no time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_peaks: Vec<String>,
    /// Memory bandwidth, in GB/s.
    pub bandwidth_gb_s: f64,
    /// Memory capacity, in GB; null if unknown.
    pub capacity_gb: Option<f64>,
    /// Power, in W; null if unknown.
    pub tdp_w: Option<f64>,
    /// True if the model fits into memory; null if the capacity is unknown.
    pub fits: Option<bool>,
    /// Limiting resource of the decode ceiling: memory or compute.
    pub decode_bound: Bound,
    /// Limiting resource of the prefill ceiling: memory or compute.
    pub prefill_bound: Bound,
    /// Known inputs of the contract, by name.
    #[serde(default)]
    pub inputs: BTreeMap<String, f64>,
    /// Results of the contract, by name; null if the device lacks the figure.
    pub results: BTreeMap<String, Option<f64>>,
    /// Expected speed; absent if not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expectation>,
    /// Origin of the device's figures.
    pub source: String,
}

/// Point of a sweep at which decode changes its bound.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Name of the device.
    pub device: String,
    /// Value of the second swept input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub across: Option<f64>,
    /// First value with the new bound.
    pub from: f64,
    /// Bound below `from`.
    pub before: Bound,
    /// Bound at `from` and above.
    pub after: Bound,
}

/// Equation with values substituted.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Name of the equation.
    pub name: String,
    /// Formula.
    pub formula: String,
    /// Formula with the values substituted.
    pub numbers: String,
    /// Result.
    pub value: f64,
    /// Unit of the result.
    pub unit: String,
    /// File and line in the contract.
    pub place: String,
}

impl SweptInput {
    /// Every input that a sweep can vary.
    pub const ALL: [SweptInput; 5] = [
        SweptInput::Batch,
        SweptInput::Context,
        SweptInput::Prompt,
        SweptInput::Efficiency,
        SweptInput::Bits,
    ];

    /// Returns the name as spelled on the command line.
    pub fn name(self) -> &'static str {
        match self {
            SweptInput::Batch => "batch",
            SweptInput::Context => "context",
            SweptInput::Prompt => "prompt",
            SweptInput::Efficiency => "efficiency",
            SweptInput::Bits => "bits",
        }
    }

    /// Returns the inputs with this input set to `value`.
    pub fn set(self, inputs: Inputs, value: f64) -> Inputs {
        match self {
            SweptInput::Batch => Inputs { batch: value, ..inputs },
            SweptInput::Context => Inputs { context: value, ..inputs },
            SweptInput::Prompt => Inputs { prompt: value, ..inputs },
            SweptInput::Efficiency => Inputs { compute_efficiency: value, ..inputs },
            SweptInput::Bits => with_bits(inputs, value),
        }
    }
}

/// Swept input with its ascending values.
pub type Sweep<'a> = (SweptInput, &'a [f64]);

#[derive(Clone, Copy)]
struct SweepPoint {
    at: Option<f64>,
    across: Option<f64>,
}

impl Predicted {
    /// Predicts the model on each device, at each point of up to two sweeps.
    ///
    /// `expect` returns the expected speed for a prediction on the device at an index.
    pub fn new<E: From<OutOfDomain>>(
        model: Subject,
        (inputs, stored): (Inputs, &WeightPrecision),
        cache: &str,
        targets: &[DeviceProfile],
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
                predictions
                    .push(Entry { expected, ..Entry::new(target, SweepPoint { at, across }, &prediction) });
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
                let known = predictions.iter().all(|entry| entry.unknown_peaks.is_empty());
                ceilings(&quant, cache, &inputs, targets, known)
            },
            ideal_assumptions: ideal_assumptions(&inputs, targets),
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
            show_ideal: false,
        })
    }

    fn several(&self) -> bool {
        self.predictions.iter().any(|entry| entry.device != self.predictions[0].device)
    }

    /// Formats a workload value, or its range in a sweep.
    fn range(&self, of: SweptInput, value: f64) -> String {
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
        let mut headings = vec!["device", "precision"];
        headings.extend([self.across, self.swept].into_iter().flatten().map(SweptInput::name));
        headings.extend([
            "fits",
            "weights_gb",
            "cache_gb",
            "total_gb",
            "decode_ceiling",
            "decode_bound",
            "decode_ideal",
            "prefill_ceiling",
            "prefill_bound",
            "prefill_ideal",
            "ttft_ideal_s",
            "j_per_token_ideal",
        ]);
        let expected = self.predictions.iter().any(|entry| entry.expected().is_some());
        if expected {
            headings.extend(Expectation::NAMES);
            headings.push("engine");
        }
        let rows = self.predictions.iter().map(|entry| {
            let precision =
                entry.compute_gflop_s.map_or("unknown".to_owned(), |_| entry.precision.to_string());
            let mut row = vec![entry.device.clone(), precision];
            row.extend([entry.across, entry.at].into_iter().flatten().map(|at| at.to_string()));
            row.extend([
                entry.fits.map_or("-", |fits| if fits { "yes" } else { "no" }).to_owned(),
                entry.gigabytes("weight_bytes"),
                entry.gigabytes("cache_bytes"),
                entry.gigabytes("footprint"),
                maybe(entry.result("decode_ceiling")),
                entry.decode_bound.to_string(),
                maybe(entry.result("decode_ideal")),
                maybe(entry.result("prefill_ceiling")),
                entry.prefill_bound.to_string(),
                maybe(entry.result("prefill_ideal")),
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

    fn axes(&self) -> impl Iterator<Item = SweptInput> {
        [self.swept, self.across].into_iter().flatten()
    }

    /// Returns the device name, followed by the values of swept inputs.
    pub fn place(&self, entry: &Entry) -> String {
        let values = [entry.at, entry.across].into_iter().flatten();
        let at = self.axes().zip(values).map(|(swept, value)| format!(" {}={value}", swept.name()));
        entry.device.clone() + &at.collect::<String>()
    }

    /// Renders two sweeps as one table of ceilings per device and phase.
    fn grids(&self, canvas: &Canvas) -> String {
        let [down, across] = [self.swept, self.across].map(|swept| swept.map_or("", SweptInput::name));
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
                // Decode sweeps do not change prefill, so its table would be constant.
                if phase == "prefill" && speeds().all(|speed| Some(speed) == speeds().next()) {
                    continue;
                }
                let rows = lines.iter().map(|at| {
                    let cells = columns.iter().map(|across| cell(*at, *across).unwrap_or_default());
                    std::iter::once(at.to_string()).chain(cells).collect()
                });
                let title = format!("{}: {phase}, ceiling in token/s", entries[0].device);
                let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
                out += &format!("\n{}", Table::new(title, &headings, rows).render_within(canvas, &[]));
            }
        }
        if self.predictions.iter().any(|entry| entry.fits == Some(false)) {
            out += "Values in parentheses exceed device memory.\n";
        }
        out
    }

    /// Returns the main table with short headings and one column per expected range.
    fn terminal_table(&self) -> Table {
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
                "decode_bound" => "bound",
                "decode_ideal" => "ideal",
                "prefill_ceiling" => "prefill ceiling",
                "prefill_bound" => "bound",
                "prefill_ideal" => "ideal",
                "ttft_ideal_s" => "TTFT s, ideal",
                "j_per_token_ideal" => "J/tok, ideal",
                _ => continue,
            };
            *heading = short.to_owned();
        }
        if !self.show_ideal {
            table = table.select_columns(|_, heading| !is_ideal(heading));
        }
        table
    }

    fn single(&self, entry: &Entry, canvas: &Canvas) -> String {
        let gb = |name: &str| format!("{} GB", entry.gigabytes(name));
        let rate = |name: &str| format!("{} tok/s", maybe(entry.result(name)));
        let fits = match (entry.fits, entry.capacity_gb) {
            (Some(true), Some(capacity)) => format!("fits in {} GB", figure(capacity)),
            (Some(false), Some(capacity)) => format!("does not fit in {} GB", figure(capacity)),
            _ => "memory capacity unknown".to_owned(),
        };
        let Workload { batch, context, prompt, .. } = self.workload;
        let bits = format!("{} bits per weight", figure(self.model.bits_per_weight));
        let bandwidth = format!("{} {GB_PER_S}", figure(entry.bandwidth_gb_s));
        let compute = match entry.compute_gflop_s {
            Some(compute) => format!("{} {GFLOP_PER_S} in {}", figure(compute), entry.precision),
            None => entry.unknown_peaks.join(", "),
        };
        let ideal = entry.ideal_precision.map_or(String::new(), |precision| format!("in {precision}"));
        let first = |name: &str| format!("{} s", maybe(entry.result(name)));
        let energy = entry.result(ENERGY).map_or("-".into(), |joule| format!("{} J/token", figure(joule)));
        let power = entry.tdp_w.map(|watt| format!("at {} W", figure(watt)));
        let mut rows = vec![
            ("weights", gb("weight_bytes"), bits),
            ("KV cache", gb("cache_bytes"), format!("{batch} × {context} tokens in {}", self.workload.cache)),
            ("footprint", gb("footprint"), fits),
            ("decode, ceiling", rate("decode_ceiling"), entry.decode_bound.describe().to_owned()),
            ("  memory roof", rate("bandwidth_ceiling"), bandwidth),
            ("  compute roof", rate("compute_ceiling"), compute),
            ("decode, ideal", rate("decode_ideal"), ideal.clone()),
            ("prefill, ceiling", rate("prefill_ceiling"), entry.prefill_bound.describe().to_owned()),
            ("prefill, ideal", rate("prefill_ideal"), ideal.clone()),
            ("TTFT, lower bound", first("prefill_least_time"), format!("prompt of {prompt} tokens")),
            ("TTFT, ideal", first("time_to_first_token"), ideal),
            ("energy, ideal", energy, power.unwrap_or_else(|| "device power not published".into())),
        ];
        let expected = entry.expected();
        for (before, name, speed) in [
            ("TTFT, lower bound", "prefill, expected", expected.and_then(|one| one.prefill.as_ref())),
            ("prefill, ceiling", "decode, expected", expected.and_then(|one| one.decode.as_ref())),
        ] {
            let place = rows.iter().position(|(row, ..)| *row == before).unwrap_or(rows.len());
            let row = speed
                .map(|speed| (name, format!("{} tok/s", figure(speed.middle_tokens_per_s)), speed.origin()));
            rows.splice(place..place, row);
        }
        rows.retain(|(name, ..)| self.show_ideal || !is_ideal(name));
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
    fn new(target: &DeviceProfile, SweepPoint { at, across }: SweepPoint, prediction: &Prediction) -> Entry {
        let Prediction { inputs, outputs, ideal, rates, token_energy, fits, .. } = prediction;
        let array = |outputs: &Outputs| Outputs::NAMES.into_iter().zip(outputs.to_array());
        let mut results: BTreeMap<String, Option<f64>> = array(outputs)
            .zip(array(ideal))
            .map(|((name, ceiling), (_, ideal))| {
                (name.to_owned(), Some(if IN_REQUESTED_PRECISION.contains(&name) { ideal } else { ceiling }))
            })
            .collect();
        results.insert(ENERGY.to_owned(), *token_energy);
        let known = prediction.knows_arithmetic();
        if !known {
            results.insert(COMPUTE_CEILING.to_owned(), None);
        }
        let published = |name: &str| match name {
            "capacity" => target.capacity.is_some(),
            "tdp" => target.tdp.is_some(),
            _ => true,
        };
        let named = Inputs::NAMES.into_iter().zip(inputs.to_array());
        let mut unknown_peaks: Vec<String> = Vec::new();
        for word in rates.iter().filter(|(_, rate)| rate.gflop_s.is_none()).map(|(_, rate)| rate.to_string())
        {
            if !unknown_peaks.contains(&word) {
                unknown_peaks.push(word);
            }
        }
        Entry {
            device: target.name.clone(),
            precision: rates.first().map_or(Precision::Fp16, |(_, rate)| rate.precision),
            ideal_precision: target.asked.map(|(precision, _)| precision),
            at,
            across,
            compute_gflop_s: known.then_some(inputs.compute),
            unknown_peaks,
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

    /// Returns a result by name; `None` if the device lacks the figure it depends on.
    pub fn result(&self, name: &str) -> Option<f64> {
        self.results.get(name).copied().flatten()
    }

    /// Returns the expected speeds, if any are known.
    pub fn expected(&self) -> Option<&Expectation> {
        self.expected.as_ref().filter(|expected| expected.is_known())
    }

    /// Returns an input, result or expected speed by name.
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
            total_id: 0,
            bound,
            roof,
            details: vec![
                (CEILING.into(), maybe(self.result(&format!("{group}_ceiling")))),
                (IDEAL.into(), maybe(self.result(&format!("{group}_ideal")))),
            ]
            .into_iter()
            .chain(expected(group))
            .collect(),
        };
        [point("decode", self.decode_bound), point("prefill", self.prefill_bound)]
    }
}

/// Formats a number of parameters, such as `8.03 B`.
pub(crate) fn parameters(count: f64) -> String {
    match count {
        999.5e9.. => format!("{} T", figure(count / 1e12)),
        999.5e6.. => format!("{} B", figure(count / 1e9)),
        999_500.0.. => format!("{} M", figure(count / 1e6)),
        _ => figure(count),
    }
}

/// Returns whether a row or column of the text is an ideal figure.
fn is_ideal(name: &str) -> bool {
    name.split([' ', ',']).any(|word| word == "ideal")
}

/// Columns of the narrow table that may be hidden, least important first.
const HIDDEN_FIRST: [&str; 10] = [
    "weights",
    "KV",
    "precision",
    "J/tok, ideal",
    "ideal",
    "ideal",
    "bound",
    "TTFT s, ideal",
    "expected prefill",
    "prefill ceiling",
];

/// Names of all inputs and results of the contract.
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

/// Names of all figures: inputs, results and expected speeds.
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
            format!(" ({} active)", parameters(model.active_parameters))
        } else {
            String::new()
        };
        let mut out =
            format!("{}: {} parameters{active}, {}\n", model.name, parameters(model.parameters), model.quant);
        out += &match self.predictions.as_slice() {
            [entry] if self.shown.is_none() => {
                format!("on {} ({})\n\n{}", entry.device, entry.source, self.single(entry, canvas))
            }
            _ if self.shown.is_none() && self.across.is_some() => self.grids(canvas),
            _ => format!(
                "\n{}",
                self.shown
                    .clone()
                    .unwrap_or_else(|| self.terminal_table())
                    .render_within(canvas, &HIDDEN_FIRST)
            ),
        };
        for Change { device, across, from, before, after } in &self.changes {
            let name = self.swept.map(SweptInput::name).unwrap_or_default();
            let second = self.across.zip(*across);
            let second = second.map(|(swept, value)| format!(" at {} {value}", swept.name()));
            let second = second.unwrap_or_default();
            out += &format!(
                "{device}{second}: decode is {before}-bound below {name} {from} and {after}-bound from {from} up\n"
            );
        }
        for Line { name, formula, numbers, value, unit, place } in &self.explanation {
            let unit = if unit == "1" { String::new() } else { format!(" {unit}") };
            out +=
                &format!("\n{name} = {formula}\n    = {numbers}\n    = {}{unit}    {place}\n", short(*value));
        }
        out += &format!("\n{}\n", self.ceilings);
        if self.show_ideal {
            out += &format!("{}\n", self.ideal_assumptions);
        }
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
            ("the weight format", self.model.quant.clone()),
            ("the batch size", batch.to_string()),
            ("the context length", context.to_string()),
            ("the prompt length", prompt.to_string()),
            ("the KV cache type", self.workload.cache.clone()),
            ("the tokens per pass", self.workload.tokens_per_pass.to_string()),
            ("the sweep", self.axes().map(SweptInput::name).collect::<Vec<_>>().join(", ")),
            ("the devices", devices.join(", ")),
        ]
    }

    /// All predictions under the roofs of their devices, with one point for decode and one for prefill.
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
        // The table shows the ranges of several devices.
        let expected = match self.predictions.as_slice() {
            [only] => only.expected(),
            _ => None,
        };
        let phases =
            expected.into_iter().flat_map(|one| [("decode", &one.decode), ("prefill", &one.prefill)]);
        let expected: String = phases
            .filter_map(|(phase, speed)| Some(format!("; {phase} expected {} tok/s", speed.as_ref()?.band())))
            .collect();
        Some(Chart {
            title: format!("{}, {}", file_name(&self.model.name), self.model.quant),
            subtitle: format!(
                "ceilings at batch size {}, context {} tokens, prompt {} tokens{expected}",
                self.range(SweptInput::Batch, batch),
                self.range(SweptInput::Context, context),
                self.range(SweptInput::Prompt, prompt),
            ),
            roofs,
            points,
        })
    }

    fn notes(&self) -> Vec<String> {
        let sentences = [&self.ceilings, &self.ideal_assumptions].into_iter().chain(&self.expectations);
        sentences.chain(&self.warnings).cloned().collect()
    }
}

impl Saved for Predicted {
    fn validate(&self) -> Result<(), String> {
        if self.predictions.is_empty() || self.predictions.len() > MAX_PREDICTIONS {
            let found = self.predictions.len();
            return Err(format!("predictions: found {found} entries; expected 1 to {MAX_PREDICTIONS}"));
        }
        for (index, entry) in self.predictions.iter().enumerate() {
            let known =
                |name: &&str| [ENERGY, COMPUTE_CEILING].contains(name) || entry.result(name).is_some();
            if let Some(name) = Outputs::NAMES.iter().find(|name| !known(name)) {
                return Err(format!(
                    "predictions[{index}].results: missing `{name}`; the result was made with {}, expected {} {}",
                    self.contract, CONTRACT.id, CONTRACT.version
                ));
            }
        }
        Ok(())
    }
}
