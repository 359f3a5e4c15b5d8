//! Results of `profile`: cost, ceilings, measurements and advice for each operation of a model.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::feed_forward;
use super::llama_bench::Compared;
use super::measure::{EndToEnd, Measured, Passes};
use super::{Advice, Cost, Entry, Row, Total, Workload};
use crate::predict::{CEILING, Expectation, ExpectedSpeed, FigureSource, parameters as format_parameters};
use roofline_formulas::transformer_unit;
use roofline_render::chart::bars::{Bar, Bars};
use roofline_render::chart::terminal::{Canvas, draw};
use roofline_render::chart::{Chart, Point, Roof};
use roofline_render::display_width::file_name;
use roofline_render::format::{GB_PER_S, GFLOP_PER_S, SECONDS, figure, maybe, percent};
use roofline_render::reference::RelativeToReference;
use roofline_render::report::{Better, Checked, Figure, Report, Saved, Schema, Table, Text, joined};
use roofline_render::vocabulary::{Bound, By, Phase, Precision, ROOF_LOSSES};

/// Operations that are not part of a measured token or prompt.
const NOT_MEASURED: &str =
    "embedding lookups, norms, rotary embeddings, activation functions, residual sums and sampling";

/// Default number of rows on a terminal.
const DEFAULT_ROWS: usize = 24;

/// Cost of each operation of a model file on a device.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Schema of this document.
    pub schema: Schema<Self>,
    /// Model file.
    pub model: ModelFile,
    /// Device.
    pub device: Device,
    /// Workload.
    pub workload: Task,
    /// Phase shown in `rows`.
    pub phase: Phase,
    /// Total of one decode step; null for encoders.
    pub decode: Option<Total>,
    /// Total of the whole prompt; null if there is none.
    pub prefill: Option<Total>,
    /// Total of one pass of the batch, for models without tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass: Option<Total>,
    /// Expected speed; absent for models without tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expectation>,
    /// Origin of the expected speeds, and reasons for missing ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<String>,
    /// All operations.
    pub operations: Vec<Entry>,
    /// Grouping of `rows`.
    #[serde(default)]
    pub by: By,
    /// Groups of operations.
    pub rows: Vec<Row>,
    /// Number of rows requested with --top, slowest first; absent for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top: Option<usize>,
    /// Passes over all measured operations; absent without measurements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<Passes>,
    /// End-to-end measurement of a token or prompt; absent unless every operation of it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<EndToEnd>,
    /// Results of llama-bench, with their ceilings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub llama_bench: Vec<Compared>,
    /// Advice; absent with --no-advice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<Vec<Advice>>,
    /// Statement of the ceilings' validity; absent if some costs are unknown or upper bounds, so that totals are only bounds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ceilings: String,
    /// Results of the conditions given with --require.
    #[serde(default)]
    pub requirements: Vec<Checked>,
    /// Caveats about these figures.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Contract and equation of each figure.
    #[serde(default)]
    pub sources: BTreeMap<String, String>,
}

/// Workload of a profile: tokens, or samples of a model without tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Batch size.
    pub batch: f64,
    /// Context length, in tokens; absent for models without tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<f64>,
    /// Prompt length, in tokens; absent for models without tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<f64>,
    /// Bytes per element of the KV cache; absent for models without tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_size: Option<f64>,
    /// KV cache type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<String>,
    /// Input sizes of convolutions, as given with --input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input: Vec<String>,
}

/// Model file of a profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    /// Path.
    pub file: String,
    /// File format.
    pub format: String,
    /// Architecture.
    pub architecture: String,
    /// Number of parameters.
    pub parameters: u64,
    /// Size of all weights, in bytes; null if unknown.
    pub bytes: Option<u64>,
    /// Types of the weights, ordered by size, largest first.
    pub types: Vec<String>,
    /// Type that replaces the stored types.
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// Context length of the training, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_length: Option<u64>,
    /// Metadata of the file, as names and values.
    pub facts: Vec<(String, String)>,
}

/// Device of a profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Name.
    pub name: String,
    /// Precision of the units that perform most operations.
    pub precision: Precision,
    /// Peak of these units, in GFLOP/s; null if not published, in which case ceilings only use the bandwidth.
    pub compute_gflop_s: Option<f64>,
    /// Precision of the ideal figures; absent if it is that of the ceilings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ideal_precision: Option<Precision>,
    /// Memory bandwidth, in GB/s.
    pub bandwidth_gb_s: f64,
    /// Bytes of the caches, which ceilings assume to hold weights between passes; 0 if unknown.
    #[serde(default)]
    pub cache_bytes: f64,
    /// Dispatch overhead per step, in µs; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overhead_us: Option<f64>,
    /// Origin of the figures.
    pub source: FigureSource,
}

impl Device {
    /// Returns the identity for `gate`: the CPU of a measured device, or the name and source of a published one.
    fn identity(&self) -> String {
        match &self.source {
            FigureSource::Measured { cpu, .. } => cpu.clone(),
            published => format!("{} ({published})", self.name),
        }
    }
}

impl Task {
    /// Returns the workload of a model that generates tokens.
    pub fn tokens(workload: &Workload, cache: &str) -> Task {
        let Workload { batch, context, prompt, cache_size, .. } = *workload;
        Task {
            batch,
            context: Some(context),
            prompt: Some(prompt),
            cache_size: Some(cache_size),
            cache: Some(cache.to_owned()),
            input: Vec::new(),
        }
    }

    /// Returns the workload of a model without tokens.
    pub fn samples(batch: f64, input: Vec<String>) -> Task {
        Task { batch, context: None, prompt: None, cache_size: None, cache: None, input }
    }
}

impl Profile {
    /// Figures that are totals over all operations, as named by the contracts.
    pub const TOTALS: &'static [&'static str] = &[
        "decode_flops",
        "decode_weight_bytes",
        "activation_bytes",
        "cache_bytes",
        "decode_bytes",
        "decode_least_time",
        "decode_ceiling",
        "decode_ideal",
        "prefill_flops",
        "prefill_weight_bytes",
        "prefill_bytes",
        "prefill_least_time",
        "prefill_ceiling",
        "prefill_ideal",
        "pass_ceiling",
        "pass_ideal",
    ];
    /// Figures of measurements: of each operation, then of a token or prompt.
    pub const MEASURED: &'static [&'static str] = &[
        "time",
        "least_time",
        "achieved_bandwidth",
        "achieved_compute",
        "utilization",
        "decode_measured",
        "decode_share",
        "prefill_measured",
        "prefill_share",
    ];
    /// Texts of the whole model.
    const MODEL_TEXTS: &'static [&'static str] = &["device", "precision", "decode_bound", "prefill_bound"];
    /// Texts of each measured operation.
    pub const MEASURED_TEXTS: &'static [&'static str] = &["operation", "utilization_band"];

    /// Returns the first operation of unknown cost, with the reason. Totals without it are only bounds.
    pub fn undefined(&self) -> Option<(String, String)> {
        let one = |entry: &Entry| Some((entry.name.clone(), entry.undefined.clone()?));
        self.operations.iter().find_map(one)
    }

    /// Returns the first operation whose cost is only an upper bound, with the reason.
    fn at_most(&self) -> Option<(String, String)> {
        let one = |entry: &Entry| Some((entry.name.clone(), entry.at_most.clone()?));
        self.operations.iter().find_map(one)
    }

    /// Returns why a condition on this figure is undecided: it is a total, and only a bound.
    pub fn undecided(&self, name: &str) -> Option<String> {
        if !Self::TOTALS.contains(&name) {
            return None;
        }
        let undefined =
            self.undefined().map(|(name, reason)| format!("the cost of {name} is unknown: {reason}"));
        let most = self.at_most().filter(|_| !name.ends_with("_ideal"));
        undefined.or_else(|| {
            most.map(|(name, reason)| format!("the cost of {name} is only an upper bound: {reason}"))
        })
    }

    /// Returns the measured operations.
    pub fn measured(&self) -> impl Iterator<Item = (&Entry, &Measured)> {
        self.operations.iter().filter_map(|entry| Some((entry, entry.measured.as_ref()?)))
    }

    /// Returns a message for each measurement above its ceiling, with the likely cause and the remedy.
    pub fn impossible(&self) -> Vec<String> {
        let mut found = Vec::new();
        let weights = |entry: &Entry| entry.step().map_or(0.0, |cost| cost.weight_bytes);
        let all: f64 = self.measured().map(|(entry, _)| weights(entry)).sum();
        let above: Vec<(&Entry, &Measured)> =
            self.measured().filter(|(_, measured)| measured.best_s < measured.least_s).collect();
        // Weights that fit into the caches are not read from memory.
        if let Some((first, measured)) = above.first().filter(|_| all > self.device.cache_bytes) {
            let (best, least) = (figure(measured.best_s * 1e6), figure(measured.least_s * 1e6));
            found.push(format!(
                "impossible: {} operations took less than their least time (first: {}, {best} µs, at least {least} µs): the machine was \
                 busy while the roofs were measured, or weights stayed in caches; measure again with --refresh",
                above.len(),
                first.name
            ));
        }
        let cause = if self.device.source.is_measured() {
            "the machine was busy while the roofs were measured, or weights, cache type or draft model differ; re-measure with \
             --refresh, or set --as and --cache"
        } else {
            "device, weights, cache type or draft model differ; set --on, --as and --cache"
        };
        // Operations above their ceilings already explain the whole.
        let above = self.whole.as_ref().filter(|_| found.is_empty()).and_then(|whole| {
            let ceiling = whole.ceiling_tokens_per_s.filter(|ceiling| whole.best_tokens_per_s > *ceiling)?;
            let (phase, [speed, ceiling]) = (whole.phase, [whole.best_tokens_per_s, ceiling].map(figure));
            Some(format!(
                "impossible: {phase} reached {speed} tok/s, above the ceiling of {ceiling}: the machine was busy while the roofs were \
                 measured; measure again with --refresh"
            ))
        });
        found.extend(above);
        for test in &self.llama_bench {
            let above = test.ceiling_tokens_per_s.filter(|ceiling| test.tokens_per_s > *ceiling);
            found.extend(above.map(|ceiling| {
                let (speed, ceiling) = (figure(test.tokens_per_s), figure(ceiling));
                format!(
                    "impossible: llama-bench {} reached {speed} tok/s, above the ceiling of {ceiling}: {cause}",
                    test.test
                )
            }));
        }
        found
    }

    /// Returns the interactive chart of all operations, or of the measured ones if there are any.
    pub fn page(&self) -> Chart {
        let roofs = self.roofs();
        let operation = |entry: &Entry| {
            let mut point = point(&entry.name, entry.kind.name(), entry.cost(self.phase));
            // Each point belongs to the roof of its units.
            let own =
                |roof: &Roof| entry.precision.is_some() && roof.compute_gflop_s == entry.compute_gflop_s;
            point.roof = Some(roofs.iter().position(own).unwrap_or(0));
            point.details.extend(entry.dtype.iter().map(|dtype| ("type".to_owned(), dtype.clone())));
            // Omit a tensor name that equals the operation's.
            let tensor = entry.tensors.first().filter(|tensor| **tensor != entry.name);
            point.details.extend(tensor.map(|tensor| ("tensor".to_owned(), tensor.clone())));
            point
        };
        self.chart_of(|| self.operations.iter().map(operation).collect())
    }

    /// Draws the measured operations, or `ceilings` if nothing was measured.
    fn chart_of(&self, ceilings: impl FnOnce() -> Vec<Point>) -> Chart {
        let measured: Vec<Point> = self
            .measured()
            .map(|(entry, measured)| Point {
                intensity_flop_byte: Some(measured.gflop_s / measured.gb_s),
                performance_gflop_s: Some(measured.gflop_s),
                share: None,
                details: vec![("utilization".into(), percent(Some(measured.utilization)))],
                ..point(&entry.name, entry.kind.name(), entry.step())
            })
            .collect();
        let Device { name, source, .. } = &self.device;
        let points = if measured.is_empty() { ceilings() } else { measured.clone() };
        Chart {
            title: format!("{}, {} on {name}", file_name(&self.model.file), self.model.architecture),
            subtitle: match (measured.is_empty(), self.phase) {
                (false, _) => format!("measured on {}, {source}", self.at_once()),
                (true, Phase::Pass) => format!("ceilings of a pass, {source}"),
                (true, phase) => {
                    let expected = self.speeds().find(|(of, _)| *of == phase);
                    let expected = expected.map(|(_, speed)| format!("; expected {} tok/s", speed.band()));
                    format!("ceilings of {phase}, {source}{}", expected.unwrap_or_default())
                }
            },
            roofs: self.roofs(),
            points: points
                .into_iter()
                .chain(self.end_to_end_point())
                .chain(self.llama_bench_points())
                .collect(),
        }
    }

    /// Point of the measured token or prompt.
    fn end_to_end_point(&self) -> Option<Point> {
        let whole = self.whole.as_ref()?;
        let total = if whole.phase == Phase::Prefill { self.prefill } else { self.decode }?;
        Some(Point {
            intensity_flop_byte: Some(total.intensity),
            performance_gflop_s: Some(total.flops / whole.median_s / 1e9),
            bound: total.bound,
            details: vec![
                ("measured, token/s".into(), figure(whole.tokens_per_s)),
                (CEILING.into(), maybe(whole.ceiling_tokens_per_s)),
                ("of the ceiling".into(), percent(whole.share)),
            ],
            ..point(&format!("{}, measured", whole.phase), "whole", None)
        })
    }

    /// Points of the llama-bench tests that have a ceiling.
    fn llama_bench_points(&self) -> impl Iterator<Item = Point> {
        self.llama_bench.iter().filter_map(|test| {
            let (gb_s, gflop_s) = (test.gb_s?, test.gflop_s?);
            let total = if test.decodes() { &self.decode } else { &self.prefill };
            Some(Point {
                intensity_flop_byte: Some(gflop_s / gb_s),
                performance_gflop_s: Some(gflop_s),
                bound: total.as_ref().map_or(Bound::Undefined, |total| total.bound),
                details: vec![
                    ("measured, token/s".into(), figure(test.tokens_per_s)),
                    (CEILING.into(), maybe(test.ceiling_tokens_per_s)),
                    ("of the ceiling".into(), percent(test.share)),
                ],
                ..point(&format!("llama-bench {}", test.test), "llama-bench", None)
            })
        })
    }

    /// Returns bars of decode and prefill ceilings with expected ranges and llama-bench results.
    pub fn bars(&self) -> Vec<Bars> {
        let of = |phase: Phase, total: Option<&Total>| {
            let total = total?;
            let decode = phase == Phase::Decode;
            let task = &self.workload;
            let tests = self.llama_bench.iter().filter(|test| test.decodes() == decode);
            let tests = tests.filter_map(|test| {
                Some(Bar {
                    name: format!("llama-bench {}", test.test),
                    value: test.ceiling_tokens_per_s?,
                    measured: Some(test.tokens_per_s),
                    note: format!("measured {}, {}", figure(test.tokens_per_s), percent(test.share)),
                    emphasized: true,
                    ..Bar::default()
                })
            });
            let measured = self.whole.as_ref().filter(|whole| whole.phase == phase);
            let ceiling = Bar {
                name: phase.to_string(),
                value: total.ceiling_per_s,
                band: self.expected.as_ref().and_then(|expected| expected.band(decode)),
                measured: measured.map(|whole| whole.tokens_per_s),
                note: measured.map_or_else(String::new, |whole| {
                    format!("measured {}, {}", figure(whole.tokens_per_s), percent(whole.share))
                }),
                emphasized: true,
                ..Bar::default()
            };
            let work = match decode {
                true => format!("context {} tokens", maybe(task.context)),
                false => format!("prompt {} tokens", maybe(task.prompt)),
            };
            Some(Bars {
                title: format!("{}: tokens per second", file_name(&self.model.file)),
                subtitle: format!("{phase} ceiling at batch size {}, {work}", task.batch),
                unit: "token/s".into(),
                bars: std::iter::once(ceiling).chain(tests).collect(),
                ..Bars::default()
            })
        };
        let defined = self.undefined().is_none();
        let phases = [(Phase::Decode, &self.decode), (Phase::Prefill, &self.prefill)];
        phases
            .into_iter()
            .filter(|_| defined)
            .filter_map(|(phase, total)| of(phase, total.as_ref()))
            .collect()
    }

    /// Returns one roof per distinct peak, the units of most operations first.
    fn roofs(&self) -> Vec<Roof> {
        let roof = |precision: Precision, compute_gflop_s| Roof {
            name: format!("memory, {precision}"),
            group: self.device.name.clone(),
            bandwidth_gb_s: Some(self.device.bandwidth_gb_s),
            compute_gflop_s,
            curve: Vec::new(),
        };
        let mut roofs = vec![roof(self.device.precision, self.device.compute_gflop_s)];
        for entry in
            self.operations.iter().filter(|entry| entry.cost(self.phase).is_some_and(|cost| cost.flops > 0.0))
        {
            let known = entry.precision.zip(entry.compute_gflop_s);
            if let Some((precision, peak)) = known
                && roofs.iter().all(|roof| roof.compute_gflop_s != Some(peak))
            {
                roofs.push(roof(precision, Some(peak)));
            }
        }
        roofs
    }

    /// Returns the number of tokens or samples measured at once.
    fn tokens_at_once(&self) -> usize {
        self.measured().map(|(_, measured)| measured.columns).max().unwrap_or(1)
    }

    fn at_once(&self) -> String {
        match self.tokens_at_once() {
            1 => format!("one {}", self.unit()),
            columns => format!("{columns} {}s at once", self.unit()),
        }
    }

    fn unit(&self) -> &'static str {
        if self.phase == Phase::Pass { "sample" } else { "token" }
    }

    /// Figures and texts of each measured operation. Duplicate names get a number, so that conditions apply to each.
    fn operation_figures(&self) -> (Vec<Figure>, Vec<Text>) {
        let (mut figures, mut texts) = (Vec::new(), Vec::new());
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        for (entry, measured) in self.measured() {
            let count = seen.entry(&entry.name).or_default();
            *count += 1;
            let of = if *count > 1 { format!("{} #{count}", entry.name) } else { entry.name.clone() };
            let one = |name, unit, better, value| Figure::new(name, &of, unit, better, value).of(&of);
            // Only the time is compared; everything else follows from it and the roofs.
            figures.extend([
                one("time", SECONDS, Better::Lower, measured.median_s)
                    .between(measured.best_s, measured.median_s),
                one("least_time", SECONDS, Better::Neither, measured.least_s),
                one("achieved_bandwidth", GB_PER_S, Better::Neither, measured.gb_s),
                one("achieved_compute", GFLOP_PER_S, Better::Neither, measured.gflop_s),
                one("utilization", "1", Better::Neither, measured.utilization),
            ]);
            texts.extend([
                Text::new("operation", &entry.name).of(&of),
                Text::new("utilization_band", measured.band).of(&of),
            ]);
        }
        (figures, texts)
    }

    /// Figures of the measured token or prompt.
    fn end_to_end_figures(&self) -> Vec<Figure> {
        let Some(whole) = &self.whole else { return Vec::new() };
        let (speed, share) = match whole.phase {
            Phase::Prefill => ("prefill_measured", "prefill_share"),
            Phase::Decode | Phase::Pass => ("decode_measured", "decode_share"),
        };
        let label = format!("{}, measured", whole.phase);
        let measured = Figure::new(speed, label, "token/s", Better::Higher, whole.tokens_per_s);
        // The reference is a time; convert it to a speed.
        let reference = self.passes.and_then(|passes| passes.reference).map(|time| RelativeToReference {
            reference: whole.tokens / time.reference,
            ratio: 1.0 / time.ratio,
            noise: time.noise,
        });
        let measured = Figure { reference, ..measured.between(whole.tokens_per_s, whole.best_tokens_per_s) };
        let label = format!("{}, measured, of the ceiling", whole.phase);
        let share = whole.share.map(|value| Figure::new(share, label, "1", Better::Neither, value));
        std::iter::once(measured).chain(share).collect()
    }

    /// Describes the measured token or prompt.
    fn end_to_end_sentence(&self) -> Option<String> {
        let whole = self.whole.as_ref()?;
        let (what, name) = match whole.phase {
            Phase::Prefill => ("The whole prompt was measured", "pp"),
            Phase::Decode | Phase::Pass => ("A whole token was measured", "tg"),
        };
        let ceiling = whole.ceiling_tokens_per_s.zip(whole.share).map(|(ceiling, share)| {
            format!(", {} of the ceiling of {} tok/s", percent(Some(share)), figure(ceiling))
        });
        let energy = whole.joules_per_token.map(|joules| format!(", {} J/token", figure(joules)));
        let experts = if self.operations.iter().any(|entry| entry.role.is_routed()) {
            " Experts are routed at random, differently in each pass."
        } else {
            ""
        };
        Some(format!(
            "{what}, with every product and attention: {} tok/s (comparable to {name} of llama-bench){}{}. Attention takes {} of the \
             time.{experts} Not included: {NOT_MEASURED}.",
            figure(whole.tokens_per_s),
            ceiling.unwrap_or_default(),
            energy.unwrap_or_default(),
            percent(Some(whole.attention)),
        ))
    }

    fn end_to_end_table(&self) -> Option<Table> {
        let whole = self.whole.as_ref()?;
        let headings = [
            "phase",
            "tokens_per_s",
            "best",
            "ceiling",
            "share",
            "time_ms",
            "j_per_token",
            "attention",
            "cache",
            "context",
        ];
        let row = vec![
            whole.phase.to_string(),
            figure(whole.tokens_per_s),
            figure(whole.best_tokens_per_s),
            maybe(whole.ceiling_tokens_per_s),
            percent(whole.share),
            figure(whole.median_s * 1e3),
            maybe(whole.joules_per_token),
            percent(Some(whole.attention)),
            self.workload.cache.clone().unwrap_or_default(),
            maybe(if whole.phase == Phase::Prefill { self.workload.prompt } else { self.workload.context }),
        ];
        Some(Table::new("Measured end to end", &headings, [row]))
    }

    fn table(&self, rows: &[&Row]) -> Table {
        let headings = [
            self.by.name(),
            "operations",
            "mflop",
            "weights_mb",
            "activations_mb",
            "cache_mb",
            "flop_per_byte",
            "bound",
            "least_us",
            "ideal_us",
            "share",
        ];
        let row = |row: &&Row| {
            let (least, most) = (row.undefined > 0, row.at_most > 0);
            let sure = !least && !most;
            let of = |value: fn(&Cost) -> f64, unit: f64| match row.cost {
                Some(cost) => bounded(value(&cost) / unit, least, most),
                None => maybe(None),
            };
            vec![
                row.name.clone(),
                row.operations.to_string(),
                of(|cost| cost.flops, 1e6),
                of(|cost| cost.weight_bytes, 1e6),
                of(|cost| cost.activation_bytes, 1e6),
                of(|cost| cost.cache_bytes, 1e6),
                maybe(row.cost.filter(|_| sure).map(|cost| cost.intensity)),
                row.cost.filter(|_| sure).map_or(Bound::Undefined, |cost| cost.bound).to_string(),
                of(|cost| cost.least_s, 1e-6),
                of(|cost| cost.ideal_s, 1e-6),
                percent(row.cost.map(|cost| cost.share)),
            ]
        };
        let title = match self.phase {
            Phase::Decode => "One decode step",
            Phase::Prefill => "Prefill of the prompt",
            Phase::Pass => "One pass of the batch",
        };
        Table::new(title, &headings, rows.iter().map(row))
    }

    fn totals(&self) -> Table {
        // Operations of unknown cost can only add work, and upper bounds can only exceed it, so the totals are one-sided bounds
        // and ideal figures are hidden.
        let (gap, over) = (self.undefined().is_some(), self.at_most().is_some());
        let cost = |value: f64| bounded(value, gap, over);
        let rate = |value: f64| bounded(value, over, gap);
        let sure = !gap && !over;
        let row = |(phase, total): (Phase, &Total)| {
            vec![
                phase.to_string(),
                rate(total.ceiling_per_s),
                if sure { total.bound } else { Bound::Undefined }.to_string(),
                if gap { "-".to_owned() } else { figure(total.ideal_per_s) },
                cost(total.least_s),
                cost(total.flops / 1e9),
                cost(total.bytes / 1e9),
                if sure { figure(total.intensity) } else { "-".to_owned() },
            ]
        };
        let phases =
            [(Phase::Decode, &self.decode), (Phase::Prefill, &self.prefill), (Phase::Pass, &self.pass)];
        let rows = phases.iter().filter_map(|(phase, total)| Some(row((*phase, total.as_ref()?))));
        let unit = if self.phase == Phase::Pass { "samples_per_s" } else { "tokens_per_s" };
        let (ceiling, ideal) = (format!("ceiling_{unit}"), format!("ideal_{unit}"));
        let headings = ["phase", &ceiling, "bound", &ideal, "least_s", "gflop", "gb", "flop_per_byte"];
        Table::new(if sure { "Ceilings and ideal speeds" } else { "Bounds" }, &headings, rows)
    }

    /// Lines with the expected speeds, their origin, and reasons for missing ones.
    fn expectation_lines(&self) -> String {
        let speeds = self.speeds().map(|(phase, speed)| {
            let middle = figure(speed.middle_tokens_per_s);
            format!("{phase}, expected: {middle} tok/s, {}\n", speed.origin())
        });
        speeds.chain(self.expectations.iter().map(|line| format!("{line}\n"))).collect()
    }

    fn speeds(&self) -> impl Iterator<Item = (Phase, &ExpectedSpeed)> {
        let expected = self.expected.iter();
        expected
            .flat_map(|one| [(Phase::Decode, one.decode.as_ref()), (Phase::Prefill, one.prefill.as_ref())])
            .filter_map(|(phase, speed)| Some((phase, speed?)))
    }

    /// Table of the measured operations, slowest first.
    fn measured_table(&self) -> Option<Table> {
        let mut found: Vec<(&Entry, &Measured)> = self.measured().collect();
        if found.is_empty() {
            return None;
        }
        found.sort_by(|a, b| b.1.median_s.total_cmp(&a.1.median_s));
        let row = |(entry, measured): &(&Entry, &Measured)| {
            vec![
                entry.name.clone(),
                entry.tensors.join(" "),
                entry.dtype.clone().unwrap_or_default(),
                figure(measured.median_s * 1e6),
                format!("{}..{}", figure(measured.best_s * 1e6), figure(measured.worst_s * 1e6)),
                measured.runs.to_string(),
                figure(measured.least_s * 1e6),
                figure(measured.residual_s * 1e6),
                figure(measured.gb_s),
                figure(measured.gflop_s),
                percent(Some(measured.utilization)),
                measured.band.to_string(),
                figure(measured.first_s * 1e6),
                match measured.first_from_disk {
                    Some(true) => "disk",
                    Some(false) => "page cache",
                    None => "-",
                }
                .to_owned(),
            ]
        };
        let headings = [
            "operation",
            "tensor",
            "type",
            "median_us",
            "range_us",
            "runs",
            "least_us",
            "residual_us",
            "gb_s",
            "gflop_s",
            "utilization",
            "band",
            "first_us",
            "first_from",
        ];
        Some(Table::new(format!("Measured on {}", self.at_once()), &headings, found.iter().map(row)))
    }

    /// Sentence on the sum of all measured operations.
    fn measured_sentence(&self) -> String {
        let (time, ideal) =
            self.measured().fold((0.0, 0.0), |sum, (_, each)| (sum.0 + each.median_s, sum.1 + each.least_s));
        let tokens = self.tokens_at_once();
        let (unit, speed) = match tokens {
            1 => (format!("per {}", self.unit()), String::new()),
            _ => (format!("for {}", self.at_once()), format!(", {} tok/s", figure(tokens as f64 / time))),
        };
        format!(
            "{} measured operations: {} ms {unit}{speed}, at least {} ms ({} of the ceiling; 100 % is out of reach: {ROOF_LOSSES})\n",
            self.measured().count(),
            figure(time * 1e3),
            figure(ideal * 1e3),
            percent(Some(ideal / time))
        )
    }

    fn llama_bench_table(&self) -> Option<Table> {
        let row = |point: &Compared| {
            vec![
                point.test.clone(),
                point.threads.map_or("-".into(), |threads| threads.to_string()),
                figure(point.tokens_per_s),
                figure(point.deviation),
                maybe(point.ceiling_tokens_per_s),
                percent(point.share),
                maybe(point.gb_s),
                maybe(point.gflop_s),
            ]
        };
        let headings =
            ["test", "threads", "tokens_per_s", "deviation", "ceiling", "share", "gb_s", "gflop_s"];
        let rows = || self.llama_bench.iter().map(row);
        (!self.llama_bench.is_empty())
            .then(|| Table::new("llama-bench compared with the ceilings", &headings, rows()))
    }

    fn advice_table(&self) -> Option<Table> {
        let advice = self.advice.as_ref().filter(|advice| !advice.is_empty())?;
        let row = |advice: &Advice| {
            vec![
                advice.priority.to_string(),
                percent(Some(advice.share)),
                advice.operations.to_string(),
                advice.first.clone(),
                advice.layers.clone(),
                advice.text.clone(),
            ]
        };
        let headings = ["priority", "share", "operations", "first", "layers", "advice"];
        Some(Table::new("Advice", &headings, advice.iter().map(row)))
    }

    /// Heading lines: file, device and workload.
    fn head(&self) -> String {
        let ModelFile { file, format, architecture, parameters, bytes, types, change, .. } = &self.model;
        let size = bytes.map(|bytes| format!(", {} GB", figure(bytes as f64 / 1e9))).unwrap_or_default();
        let types = match (change, types.as_slice()) {
            (Some(change), _) => format!(", as {change}"),
            (None, []) => String::new(),
            (None, types) => format!(", {}", types.join(" ")),
        };
        let parameters = format_parameters(*parameters as f64);
        let Device { name, source, precision, bandwidth_gb_s, compute_gflop_s, ideal_precision, .. } =
            &self.device;
        let bandwidth = figure(*bandwidth_gb_s);
        let compute = match compute_gflop_s {
            Some(compute) => format!("{} {GFLOP_PER_S} in {precision}", figure(*compute)),
            None => format!("compute peak unknown (no published {precision} peak)"),
        };
        let ideal = ideal_precision.map(|precision| format!("; ideal in {precision}")).unwrap_or_default();
        let Task { batch, context, prompt, cache, .. } = &self.workload;
        let work = match context.zip(*prompt) {
            Some((context, prompt)) => {
                let cache = cache.as_deref().unwrap_or("f16");
                format!("context {context} tokens in a {cache} KV cache, prompt {prompt} tokens")
            }
            None => format!("{}-byte activations", feed_forward::ACTIVATION),
        };
        format!(
            "{file}: {format} {architecture}, {parameters} parameters{size}{types}\n\
             on {name} ({source}): {bandwidth} {GB_PER_S}, {compute}{ideal}\n\
             batch size {batch}, {work}\n"
        )
    }
}

impl Report for Profile {
    const SCHEMA: &'static str = "roofline.profile/3";
    const FIGURES: &'static [&'static str] =
        &joined::<34>(&[&["batch", "context", "prompt"], &Expectation::NAMES, Self::TOTALS, Self::MEASURED]);
    const TEXTS: &'static [&'static str] = &joined::<6>(&[Self::MODEL_TEXTS, Self::MEASURED_TEXTS]);

    fn unit(name: &str) -> &'static str {
        match name {
            "pass_ceiling" | "pass_ideal" => "1/s",
            name if Expectation::NAMES.contains(&name) => "token/s",
            "decode_weight_bytes" | "prefill_weight_bytes" => "B",
            "time" | "least_time" => SECONDS,
            "achieved_bandwidth" => GB_PER_S,
            "achieved_compute" => GFLOP_PER_S,
            "decode_measured" | "prefill_measured" => "token/s",
            _ => transformer_unit(name).unwrap_or("1"),
        }
    }

    fn figures(&self) -> Vec<Figure> {
        let Task { batch, context, prompt, .. } = self.workload;
        let known = |name, label: &str, unit, value: Option<f64>| {
            let value = value.filter(|_| self.undecided(name).is_none())?;
            Some(Figure::new(name, label, unit, Better::Neither, value))
        };
        // Bounds keep a separate name, so that `gate` compares them and conditions do not accept them.
        let ceiling = |name: &'static str, label: &str, unit, value: Option<f64>| {
            let (name, label) = match (self.undefined(), self.at_most()) {
                (Some(_), _) => {
                    (format!("{name}_of_defined").into(), format!("{label}, known operations only"))
                }
                (None, Some(_)) => (format!("{name}_as_counted").into(), format!("{label}, lower bound")),
                (None, None) => (Cow::Borrowed(name), label.to_owned()),
            };
            // Roofs measured together with a run are its references, not its figures.
            let measured_together =
                self.device.source.is_measured() && (self.passes.is_some() || !self.llama_bench.is_empty());
            let better = if measured_together { Better::Neither } else { Better::Higher };
            Some(Figure::new(name, label, unit, better, value?))
        };
        let decode = |of: fn(&Total) -> f64| self.decode.as_ref().map(of);
        let prefill = |of: fn(&Total) -> f64| self.prefill.as_ref().map(of);
        let totals = [
            ceiling("decode_ceiling", "decode, ceiling", "token/s", decode(|total| total.ceiling_per_s)),
            ceiling("prefill_ceiling", "prefill, ceiling", "token/s", prefill(|total| total.ceiling_per_s)),
            ceiling("pass_ceiling", "pass, ceiling", "1/s", self.pass.map(|pass| pass.ceiling_per_s)),
            known("decode_ideal", "decode, ideal", "token/s", decode(|total| total.ideal_per_s)),
            known("prefill_ideal", "prefill, ideal", "token/s", prefill(|total| total.ideal_per_s)),
            known("pass_ideal", "pass, ideal", "1/s", self.pass.map(|pass| pass.ideal_per_s)),
            known("batch", "batch", "1", Some(batch)),
            known("context", "context", "token", context),
            known("prompt", "prompt", "token", prompt),
            known("decode_flops", "decode, operations", "FLOP", decode(|total| total.flops)),
            known("decode_weight_bytes", "decode, weights", "B", decode(|total| total.weight_bytes)),
            known("activation_bytes", "decode, activations", "B", decode(|total| total.activation_bytes)),
            known("cache_bytes", "decode, cache", "B", decode(|total| total.cache_bytes)),
            known("decode_bytes", "decode, bytes", "B", decode(|total| total.bytes)),
            known("decode_least_time", "decode, least time", SECONDS, decode(|total| total.least_s)),
            known("prefill_flops", "prefill, operations", "FLOP", prefill(|total| total.flops)),
            known("prefill_weight_bytes", "prefill, weights", "B", prefill(|total| total.weight_bytes)),
            known("prefill_bytes", "prefill, bytes", "B", prefill(|total| total.bytes)),
            known("prefill_least_time", "prefill, least time", SECONDS, prefill(|total| total.least_s)),
        ];
        let expected = Expectation::NAMES.iter().filter_map(|name| {
            let value = self.expected.as_ref()?.figure(name)?;
            Some(Figure::new(*name, *name, "token/s", Better::Neither, value))
        });
        // Results of other programs can be compared by `gate`, but not used in conditions.
        let tests = self.llama_bench.iter().map(|test| {
            let threads = test.threads.map(|threads| format!(", threads: {threads}")).unwrap_or_default();
            let label = format!("llama-bench {}{threads}", test.test);
            let speed = test.tokens_per_s;
            let figure = Figure::new("tokens_per_s", &label, "token/s", Better::Higher, speed).of(&label);
            let noise = Some(test.deviation / speed).filter(|noise| noise.is_finite());
            // If the roofs were measured with the run, the ceiling is its reference.
            let reference =
                test.ceiling_tokens_per_s.zip(test.share).filter(|_| self.device.source.is_measured());
            let reference = reference.zip(noise).map(|((reference, ratio), noise)| RelativeToReference {
                reference,
                ratio,
                noise,
            });
            Figure { noise, reference, ..figure }
        });
        // Without an end-to-end speed, the time of the measured operations is compared.
        let passes = self.passes.filter(|_| self.whole.is_none()).map(|passes| {
            let time =
                Figure::new("pass_time", "all measured operations", SECONDS, Better::Lower, passes.median_s);
            Figure { reference: passes.reference, ..time.between(passes.best_s, passes.median_s) }
        });
        totals
            .into_iter()
            .flatten()
            .chain(expected)
            .chain(self.operation_figures().0)
            .chain(passes)
            .chain(self.end_to_end_figures())
            .chain(tests)
            .collect()
    }

    fn texts(&self) -> Vec<Text> {
        let sure = self.undefined().is_none() && self.at_most().is_none();
        let bound =
            |name, total: &Option<Total>| total.filter(|_| sure).map(|total| Text::new(name, total.bound));
        [
            Some(Text::new("device", &self.device.name)),
            Some(Text::new("precision", self.device.precision)),
            bound("decode_bound", &self.decode),
            bound("prefill_bound", &self.prefill),
        ]
        .into_iter()
        .flatten()
        .chain(self.operation_figures().1)
        .collect()
    }

    fn setting(&self) -> Vec<(&'static str, String)> {
        let Profile { model, device, workload, .. } = self;
        let maybe = |tokens: Option<f64>| tokens.map(|tokens| tokens.to_string()).unwrap_or_default();
        vec![
            ("the architecture", model.architecture.clone()),
            ("the number of parameters", model.parameters.to_string()),
            ("the device", device.identity()),
            ("the precision", device.precision.to_string()),
            ("the weight type", model.change.clone().unwrap_or_default()),
            ("the batch size", workload.batch.to_string()),
            ("the context length", maybe(workload.context)),
            ("the prompt length", maybe(workload.prompt)),
            ("the KV cache type", workload.cache.clone().unwrap_or_default()),
            ("the input size", workload.input.join(" ")),
        ]
    }

    fn notes(&self) -> Vec<String> {
        let expected = self.expectation_lines().lines().map(str::to_owned).collect::<Vec<_>>();
        let ceilings = (!self.ceilings.is_empty()).then(|| self.ceilings.clone());
        ceilings
            .into_iter()
            .chain(self.end_to_end_sentence())
            .chain(expected)
            .chain(self.warnings.iter().cloned())
            .collect()
    }

    fn chart(&self) -> Option<Chart> {
        // Operations without FLOPs cannot be placed in the chart.
        let rows = || self.rows.iter().filter(|row| row.cost.is_none_or(|cost| cost.flops > 0.0));
        let ceiling = |row: &Row| point(&row.name, self.phase.name(), row.cost.as_ref());
        Some(self.chart_of(|| rows().map(ceiling).collect()))
    }

    fn text(&self, canvas: &Canvas) -> String {
        let mut shown: Vec<&Row> = self.rows.iter().collect();
        if self.top.is_none() && shown.len() > DEFAULT_ROWS {
            shown.sort_by(|a, b| b.least_s().total_cmp(&a.least_s()));
            shown.truncate(DEFAULT_ROWS);
        }
        // Totals are empty if all costs are unknown.
        let totals = self.totals();
        let totals = match totals.rows.is_empty() {
            true => String::new(),
            false => totals.render_within(canvas, &["gflop", "gb", "flop_per_byte", "least_s"]),
        };
        let holds = if self.ceilings.is_empty() { String::new() } else { format!("{}\n", self.ceilings) };
        let mut parts = vec![self.head()];
        parts.extend([totals, holds, self.expectation_lines()].into_iter().filter(|part| !part.is_empty()));
        parts.push(
            self.table(&shown)
                .render_within(canvas, &["operations", "activations_mb", "cache_mb", "ideal_us", "mflop"]),
        );
        if shown.len() < self.rows.len() {
            let all = self.rows.len();
            parts.push(format!("{} slowest of {all} rows shown; pass --top N for more\n", shown.len()));
        }
        if let Some(mut table) = self.measured_table() {
            table.rows.truncate(self.top.unwrap_or(DEFAULT_ROWS));
            let hidden_first =
                ["first_from", "first_us", "tensor", "runs", "range_us", "residual_us", "type", "gflop_s"];
            parts.extend([table.render_within(canvas, &hidden_first), self.measured_sentence()]);
        }
        parts.extend(self.end_to_end_sentence().map(|line| format!("{line}\n")));
        parts.extend(
            self.llama_bench_table()
                .map(|table| table.render_within(canvas, &["gflop_s", "gb_s", "threads"])),
        );
        parts.extend(self.chart().map(|chart| draw(&chart, canvas)));
        parts.extend(self.advice_table().map(|table| table.render_within(canvas, &["operations"])));
        parts.join("\n")
    }

    fn tables(&self) -> Vec<Table> {
        let rows: Vec<&Row> = self.rows.iter().collect();
        let expected = self.speeds().next().map(|_| {
            let headings = ["phase", "low", "expected_tokens_per_s", "high", "engine", "rows", "nearness"];
            let rows = self.speeds().map(|(phase, speed)| {
                let [low, middle, high] =
                    [speed.low_tokens_per_s, speed.middle_tokens_per_s, speed.high_tokens_per_s].map(figure);
                let nearness = percent(Some(speed.nearness));
                vec![phase.to_string(), low, middle, high, speed.engine.clone(), figure(speed.rows), nearness]
            });
            Table::new("Expected", &headings, rows)
        });
        // Measurements come first.
        let measured =
            [self.measured_table(), self.end_to_end_table(), self.llama_bench_table()].into_iter().flatten();
        let more = [expected, self.advice_table()].into_iter().flatten();
        measured.chain([self.table(&rows), self.totals()]).chain(more).collect()
    }
}

impl Saved for Profile {}

/// Formats a figure that may be exceeded or undercut; `-` if both.
fn bounded(value: f64, larger: bool, smaller: bool) -> String {
    match (larger, smaller) {
        (false, false) => figure(value),
        (true, false) => format!("> {}", figure(value)),
        (false, true) => format!("< {}", figure(value)),
        (true, true) => "-".to_owned(),
    }
}

fn point(name: &str, group: &str, cost: Option<&Cost>) -> Point {
    Point {
        name: name.to_owned(),
        group: group.to_owned(),
        intensity_flop_byte: cost.map(|cost| cost.intensity),
        performance_gflop_s: cost.map(|cost| cost.ceiling_gflop_s),
        share: cost.map(|cost| cost.share),
        bound: cost.map_or(Bound::Undefined, |cost| cost.bound),
        roof: Some(0),
        ..Point::default()
    }
}
