//! Results of `choose`: devices that can run a model at a given speed, and the shortfall of the others.
//!
//! Speeds are ceilings, so an excluded device cannot reach the target, and a listed one may.

use serde::{Deserialize, Serialize};

use crate::predict::{DeviceProfile, Expectation, Prediction, Subject, parameters};
use roofline_formulas::choice;
use roofline_formulas::hardware::devices::Device;
use roofline_formulas::spelled;
use roofline_formulas::transformer::{self, Inputs};
use roofline_render::chart::bars::{Bar, Bars};
use roofline_render::chart::terminal::Canvas;
use roofline_render::display_width::file_name;
use roofline_render::format::{figure, maybe};
use roofline_render::report::{Better, Figure, Report, Saved, Schema, Table};
use roofline_render::vocabulary::Bound;

/// Maximum number of rows on a terminal.
const MAX_ROWS: usize = 25;
/// Search limits for the largest context length and batch size.
const MAX_CONTEXT: f64 = 16_777_216.0;
const MAX_BATCH: f64 = 65_536.0;

/// Devices for a model at a minimum decode speed.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Choice {
    /// Schema of this document.
    pub schema: Schema<Self>,
    /// Contracts of the figures, with their versions.
    pub contracts: Vec<String>,
    /// Model.
    pub model: Subject,
    /// Batch size.
    pub batch: f64,
    /// Context length, in tokens.
    pub context: f64,
    /// Prompt length, in tokens.
    pub prompt: f64,
    /// Minimum decode speed, in token/s.
    pub min_decode: f64,
    /// Suitable devices in the requested order, followed by devices that are too slow and devices that are too small.
    pub devices: Vec<Candidate>,
    /// Best suitable devices by price, memory and energy.
    pub best: BestDevices,
    /// Origin of the expected speeds, and reasons for missing ones; empty if none were requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<String>,
    /// Caveats about these figures.
    pub warnings: Vec<String>,
    /// Columns to show; empty for all that fit.
    #[serde(skip)]
    pub columns: Vec<&'static str>,
}

/// Best suitable device by each criterion; null if the figure is unknown for all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BestDevices {
    /// Lowest launch price.
    pub cheapest: Option<String>,
    /// Least memory.
    pub smallest: Option<String>,
    /// Least energy per token.
    pub most_efficient: Option<String>,
}

/// Device with its verdict for the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Candidate {
    /// Name of the device.
    pub device: String,
    /// Kind, such as gpu; null if the device is not in the registry.
    pub kind: Option<String>,
    /// Verdict; if several shortfalls apply, the first.
    pub verdict: Verdict,
    /// Ceiling of decode, in token/s.
    pub decode_ceiling: f64,
    /// Ceiling of prefill, in token/s.
    pub prefill_ceiling: f64,
    /// Limiting resource of the decode ceiling.
    pub decode_bound: Bound,
    /// Decode speed missing to the minimum, in token/s; 0 if it is reached.
    pub missing_decode: f64,
    /// Memory footprint of the model, in GB.
    pub footprint_gb: f64,
    /// Memory capacity, in GB; null if unknown.
    pub capacity_gb: Option<f64>,
    /// Missing memory, in GB; null if the capacity is unknown.
    pub missing_gb: Option<f64>,
    /// Largest context length that fits, in tokens; null if the capacity is unknown.
    pub largest_context: Option<f64>,
    /// Largest batch size that fits at the requested context length; null if the capacity is unknown.
    pub largest_batch: Option<f64>,
    /// Launch price, in USD; null if unknown.
    pub launch_price_usd: Option<f64>,
    /// Launch price per token/s of the decode ceiling, in USD; null if the price is unknown.
    pub usd_per_token_per_s: Option<f64>,
    /// Power, in W; null if unknown.
    pub tdp_w: Option<f64>,
    /// Energy per token at the ceiling, in J; null if the power is unknown.
    pub token_energy_j: Option<f64>,
    /// Expected speed; absent if not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expectation>,
    /// Origin of the device's figures.
    pub source: String,
}

/// Suitability of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The model fits, and the minimum speed is below the ceiling.
    Enough,
    /// Fast enough, but the memory capacity is unknown.
    Unknown,
    /// The model fits, but the minimum speed exceeds the ceiling.
    TooSlow,
    /// The model does not fit.
    TooSmall,
}

spelled! {
    Verdict {
        Enough = "enough",
        Unknown = "memory unknown",
        TooSlow = "too slow",
        TooSmall = "too small",
    }
}

/// Sort key of the suitable devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Lowest launch price first.
    Price,
    /// Least memory first.
    Memory,
    /// Least energy per token first.
    Energy,
    /// Lowest power first.
    Power,
    /// Highest decode ceiling first.
    Speed,
    /// Lowest price per token/s first.
    PricePerSpeed,
    /// Highest expected decode speed first.
    Expected,
}

spelled! {
    By {
        Price = "price",
        Memory = "memory",
        Energy = "energy",
        Power = "watts",
        Speed = "decode",
        PricePerSpeed = "usd_per_token_per_s",
        Expected = "expected_decode",
    }
}

impl By {
    /// Returns the value to sort by, ascending; infinity if it is unknown.
    fn key(self, candidate: &Candidate) -> f64 {
        let key = match self {
            By::Price => candidate.launch_price_usd,
            By::Memory => candidate.capacity_gb,
            By::Energy => candidate.token_energy_j,
            By::Power => candidate.tdp_w,
            By::Speed => Some(-candidate.decode_ceiling),
            By::PricePerSpeed => candidate.usd_per_token_per_s,
            By::Expected => candidate.expected_decode().map(|speed| -speed),
        };
        key.unwrap_or(f64::INFINITY)
    }
}

/// An input is outside a contract's domain.
#[derive(Clone, Debug, PartialEq)]
pub enum ChoiceError {
    /// Input of `transformer-v1`.
    Prediction(transformer::OutOfDomain),
    /// Input of `choice-v1`.
    Choice(choice::OutOfDomain),
}

impl std::fmt::Display for ChoiceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ChoiceError::Prediction(error) => error.fmt(f),
            ChoiceError::Choice(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ChoiceError {}

impl From<transformer::OutOfDomain> for ChoiceError {
    fn from(error: transformer::OutOfDomain) -> Self {
        ChoiceError::Prediction(error)
    }
}

impl From<choice::OutOfDomain> for ChoiceError {
    fn from(error: choice::OutOfDomain) -> Self {
        ChoiceError::Choice(error)
    }
}

impl Choice {
    /// Evaluates every device, given with its registry entry if it has one.
    ///
    /// `predict` returns the prediction for a device, `expect` the expected speed.
    pub fn new(
        model: Subject,
        inputs: Inputs,
        targets: &[(DeviceProfile, Option<&'static Device>)],
        at_least: f64,
        by: By,
        predict: impl Fn(Inputs, &DeviceProfile) -> Result<Prediction, transformer::OutOfDomain>,
        expect: impl Fn(&DeviceProfile, Option<&'static Device>, &Prediction) -> Option<Expectation>,
    ) -> Result<Choice, ChoiceError> {
        let mut devices = Vec::new();
        let mut parameters = (0.0, 0.0);
        let mut bits_per_weight = 0.0;
        for (target, device) in targets {
            let prediction = predict(inputs, target)?;
            parameters = (prediction.outputs.total_params, prediction.outputs.active_params);
            bits_per_weight = 8.0 * prediction.outputs.weight_bytes / prediction.outputs.total_params;
            let fits =
                |inputs: Inputs| predict(inputs, target).ok().and_then(|found| found.fits) == Some(true);
            let longest = model.context_length.map_or(MAX_CONTEXT, |tokens| tokens as f64);
            let context = largest(longest, |context| fits(Inputs { context, ..inputs }));
            let batch = largest(MAX_BATCH, |batch| fits(Inputs { batch, ..inputs }));
            let expected = expect(target, *device, &prediction);
            let candidate = Candidate::new(target, *device, &prediction, (context, batch), at_least)?;
            devices.push(Candidate { expected, ..candidate });
        }
        let order = |a: &Candidate, b: &Candidate| {
            let short = |one: &Candidate| match one.verdict {
                Verdict::Enough | Verdict::Unknown => by.key(one),
                Verdict::TooSlow => one.missing_decode,
                Verdict::TooSmall => one.missing_gb.unwrap_or(f64::INFINITY),
            };
            a.verdict.cmp(&b.verdict).then(short(a).total_cmp(&short(b))).then(a.device.cmp(&b.device))
        };
        devices.sort_by(order);
        let first = |by: By| {
            let enough =
                devices.iter().filter(|one| one.verdict == Verdict::Enough && by.key(one).is_finite());
            enough.min_by(|a, b| by.key(a).total_cmp(&by.key(b))).map(|one| one.device.clone())
        };
        let best = BestDevices {
            cheapest: first(By::Price),
            smallest: first(By::Memory),
            most_efficient: first(By::Energy),
        };
        let of = |id: &str, version: &str| format!("{id} {version}");
        Ok(Choice {
            schema: Schema::new(),
            contracts: vec![
                of(transformer::CONTRACT.id, transformer::CONTRACT.version),
                of(choice::CONTRACT.id, choice::CONTRACT.version),
            ],
            model: Subject {
                parameters: parameters.0,
                active_parameters: parameters.1,
                bits_per_weight,
                ..model
            },
            batch: inputs.batch,
            context: inputs.context,
            prompt: inputs.prompt,
            min_decode: at_least,
            devices,
            best,
            expectations: Vec::new(),
            warnings: Vec::new(),
            columns: Vec::new(),
        })
    }

    /// Returns the suitable devices.
    pub fn enough(&self) -> impl Iterator<Item = &Candidate> {
        self.devices.iter().filter(|one| one.verdict == Verdict::Enough)
    }

    /// Columns of the table.
    pub const COLUMNS: [&'static str; 14] = [
        "device",
        "kind",
        "verdict",
        "shortfall",
        "decode_ceiling",
        "expected_decode",
        "prefill_ceiling",
        "gb",
        "launch_usd",
        "usd_per_token_per_s",
        "w",
        "j_per_token",
        "largest_context",
        "largest_batch",
    ];

    fn table(&self, title: &str, rows: &[&Candidate]) -> Table {
        let rows = rows.iter().map(|one| {
            vec![
                one.device.clone(),
                one.kind.clone().unwrap_or_else(|| "-".into()),
                one.verdict.to_string(),
                one.shortfall(),
                figure(one.decode_ceiling),
                maybe(one.expected_decode()),
                figure(one.prefill_ceiling),
                maybe(one.capacity_gb),
                one.launch_price_usd.map_or("-".into(), |price| price.to_string()),
                maybe(one.usd_per_token_per_s),
                maybe(one.tdp_w),
                maybe(one.token_energy_j),
                one.largest_context.map_or("-".into(), |tokens| tokens.to_string()),
                one.largest_batch.map_or("-".into(), |batch| batch.to_string()),
            ]
        });
        let table = Table::new(title, &Choice::COLUMNS, rows);
        if self.columns.is_empty() {
            return table;
        }
        table.select_columns(|at, heading| at == 0 || self.columns.contains(&heading))
    }

    /// Returns bars of the decode ceilings of devices that fit the model, with the minimum speed as a line.
    pub fn bars(&self) -> Bars {
        let holds = self.devices.iter().filter(|one| one.verdict != Verdict::TooSmall);
        let mut bars: Vec<Bar> = holds
            .map(|one| Bar {
                name: one.device.clone(),
                value: one.decode_ceiling,
                emphasized: one.verdict == Verdict::Enough,
                band: one.expected.as_ref().and_then(|expected| expected.band(true)),
                note: one.launch_price_usd.map(|price| format!("{price} USD at launch")).unwrap_or_default(),
                ..Bar::default()
            })
            .collect();
        bars.sort_by(|a, b| b.value.total_cmp(&a.value));
        let Choice { batch, context, .. } = self;
        Bars {
            title: format!(
                "{}, {}: tokens per second by device",
                file_name(&self.model.name),
                self.model.quant
            ),
            subtitle: format!(
                "decode ceilings (bars) and expected ranges (lines): batch size {batch}, context {context} tokens"
            ),
            unit: "token/s".into(),
            line: Some(self.min_decode).filter(|wanted| *wanted > 0.0),
            bars,
            ..Bars::default()
        }
    }
}

impl Candidate {
    fn new(
        target: &DeviceProfile,
        device: Option<&Device>,
        prediction: &Prediction,
        (context, batch): (f64, f64),
        at_least: f64,
    ) -> Result<Candidate, ChoiceError> {
        let Prediction { outputs, token_energy, .. } = prediction;
        let price = device.and_then(|device| device.launch_price_usd);
        // Placeholders replace unknown figures; results that depend on them are dropped.
        let inputs = choice::Inputs {
            wanted_speed: at_least,
            ..choice::Inputs::new(
                price.unwrap_or(1.0),
                outputs.decode_ceiling,
                outputs.footprint,
                target.capacity.unwrap_or(0.0),
            )
        };
        let found = inputs.evaluate()?;
        let verdict = match (target.capacity, found.choice) {
            (Some(_), choice::Choice::TooSmall) => Verdict::TooSmall,
            _ if found.missing_speed > 0.0 => Verdict::TooSlow,
            (None, _) => Verdict::Unknown,
            (Some(_), _) => Verdict::Enough,
        };
        Ok(Candidate {
            device: target.name.clone(),
            kind: device.map(|device| device.kind.name().to_owned()),
            verdict,
            decode_ceiling: outputs.decode_ceiling,
            prefill_ceiling: outputs.prefill_ceiling,
            decode_bound: outputs.decode_bound.into(),
            missing_decode: found.missing_speed,
            footprint_gb: outputs.footprint / 1e9,
            capacity_gb: target.capacity,
            missing_gb: target.capacity.map(|_| found.missing_memory),
            largest_context: target.capacity.map(|_| context),
            largest_batch: target.capacity.map(|_| batch),
            launch_price_usd: price,
            usd_per_token_per_s: price.map(|_| found.price_per_speed),
            tdp_w: target.tdp,
            token_energy_j: *token_energy,
            expected: None,
            source: target.source.to_string(),
        })
    }

    fn expected_decode(&self) -> Option<f64> {
        Some(self.expected.as_ref()?.decode.as_ref()?.middle_tokens_per_s)
    }

    /// Returns the missing speed or memory.
    fn shortfall(&self) -> String {
        match self.verdict {
            Verdict::Enough => String::new(),
            Verdict::Unknown => "memory capacity unknown".into(),
            Verdict::TooSlow => format!("{} tok/s", figure(self.missing_decode)),
            Verdict::TooSmall => format!("{} GB", maybe(self.missing_gb)),
        }
    }
}

/// Returns the largest integer up to `max` that fits, or 0. `fits` must be monotonic.
fn largest(max: f64, fits: impl Fn(f64) -> bool) -> f64 {
    if fits(max) {
        return max;
    }
    let (mut low, mut high) = (0.0, max);
    while high - low > 1.0 {
        let middle = ((low + high) / 2.0_f64).floor();
        if fits(middle) { low = middle } else { high = middle }
    }
    low
}

impl Report for Choice {
    const SCHEMA: &'static str = "roofline.choose/1";

    fn tables(&self) -> Vec<Table> {
        vec![self.table("", &self.devices.iter().collect::<Vec<_>>())]
    }

    fn notes(&self) -> Vec<String> {
        self.expectations.iter().chain(&self.warnings).cloned().collect()
    }

    fn text(&self, canvas: &Canvas) -> String {
        let Choice { batch, context, .. } = self;
        let model = &self.model;
        let footprint = self.devices.first().map_or(0.0, |one| one.footprint_gb);
        let mut out = format!(
            "{}: {} parameters, {}; batch size {batch}, context {context} tokens: {} GB\n",
            model.name,
            parameters(model.parameters),
            model.quant,
            figure(footprint)
        );
        let enough: Vec<&Candidate> = self.enough().collect();
        let wanted = self.min_decode;
        out += &format!(
            "{} of {} devices fit the model and have a decode ceiling of at least {wanted} tok/s\n",
            enough.len(),
            self.devices.len()
        );
        let find = |name: &Option<String>| {
            let name = name.as_ref()?;
            self.devices.iter().find(|one| one.device == *name)
        };
        type Reason = fn(&Candidate) -> String;
        let best: [(&str, Option<&Candidate>, Reason); 3] = [
            ("cheapest", find(&self.best.cheapest), |one: &Candidate| {
                one.launch_price_usd.map_or(String::new(), |price| format!("{price} USD at launch"))
            }),
            ("smallest", find(&self.best.smallest), |one: &Candidate| {
                format!("{} GB", maybe(one.capacity_gb))
            }),
            ("most efficient", find(&self.best.most_efficient), |one: &Candidate| {
                format!("{} J/token", maybe(one.token_energy_j))
            }),
        ];
        for (what, one, why) in best {
            if let Some(one) = one {
                let speed = figure(one.decode_ceiling);
                out += &format!("{what:<14} {}, {}, {speed} tok/s\n", one.device, why(one));
            }
        }
        out.extend(self.expectations.iter().map(|line| format!("{line}\n")));
        let others: Vec<&Candidate> =
            self.devices.iter().filter(|one| one.verdict != Verdict::Enough).collect();
        for (title, rows) in [("Meet the target", enough), ("Fall short", others)] {
            if rows.is_empty() {
                continue;
            }
            let table = self.table(title, &rows[..rows.len().min(MAX_ROWS)]);
            // The title already states the verdict.
            let redundant = |heading: &str| match title {
                "Meet the target" => ["verdict", "shortfall"].contains(&heading),
                _ => false,
            };
            let mut table =
                table.select_columns(|_, heading| self.columns.contains(&heading) || !redundant(heading));
            for heading in &mut table.headings {
                *heading = heading.replace('_', " ");
            }
            const HIDDEN_FIRST: [&str; 6] =
                ["largest batch", "largest context", "kind", "usd per token s", "j per token", "prefill"];
            out += &format!("\n{}", table.render_within(canvas, &HIDDEN_FIRST));
            if rows.len() > MAX_ROWS {
                out += &format!(" and {} more (every row is in the JSON output)\n", rows.len() - MAX_ROWS);
            }
        }
        out
    }

    fn figures(&self) -> Vec<Figure> {
        let of = |one: &Candidate| {
            let label = format!("decode, {}", one.device);
            let speed = one.decode_ceiling;
            Figure::new("decode_ceiling", label, "token/s", Better::Higher, speed).of(&one.device)
        };
        self.devices.iter().map(of).collect()
    }
}

impl Saved for Choice {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::{Numbers, WeightPrecision, inputs, predict, with_bits};
    use roofline_formulas::hardware::devices::{H100_SXM, RASPBERRY_PI_5, RTX_4090, T4};
    use roofline_models::{ModelDims, by_name};

    fn choice(at_least: f64, by: By) -> Choice {
        let model_dims = ModelDims::from_known(by_name("llama_3_1_8b").unwrap()).unwrap();
        let inputs = Inputs { context: 8192.0, ..with_bits(inputs(&model_dims).unwrap(), 8.5) };
        let subject = Subject {
            name: "llama_3_1_8b".into(),
            source: String::new(),
            parameters: 0.0,
            active_parameters: 0.0,
            quant: "q8_0".into(),
            bits_per_weight: 8.5,
            context_length: model_dims.context_length,
        };
        let devices = [&T4, &H100_SXM, &RTX_4090, &RASPBERRY_PI_5];
        let targets: Vec<_> = devices
            .iter()
            .map(|device| (DeviceProfile::from_device(device, None).unwrap(), Some(*device)))
            .collect();
        let predict =
            |inputs, target: &DeviceProfile| predict(inputs, &WeightPrecision::all(Numbers::Half), target);
        Choice::new(subject, inputs, &targets, at_least, by, predict, |_, _, _| None).unwrap()
    }

    #[test]
    fn suitable_devices_come_first_and_the_others_state_their_shortfall() {
        let choice = choice(50.0, By::Speed);
        let order: Vec<(&str, Verdict)> =
            choice.devices.iter().map(|one| (one.device.as_str(), one.verdict)).collect();
        assert_eq!(
            order,
            [
                ("h100-sxm", Verdict::Enough),
                ("rtx-4090", Verdict::Enough),
                ("t4", Verdict::TooSlow),
                ("raspberry-pi-5", Verdict::TooSmall),
            ]
        );
        let [.., t4, pi] = choice.devices.as_slice() else { panic!() };
        assert!((t4.missing_decode - (50.0 - t4.decode_ceiling)).abs() < 1e-9);
        assert!((pi.missing_gb.unwrap() - (pi.footprint_gb - pi.capacity_gb.unwrap())).abs() < 1e-9);
        assert_eq!((pi.largest_context, pi.largest_batch), (Some(0.0), Some(0.0)));
        assert_eq!(choice.best.cheapest.as_deref(), Some("rtx-4090"), "the other price is unknown");
        assert_eq!(choice.best.smallest.as_deref(), Some("rtx-4090"));
    }

    #[test]
    fn the_largest_context_and_batch_are_tight() {
        let model_dims = ModelDims::from_known(by_name("llama_3_1_8b").unwrap()).unwrap();
        let inputs = Inputs { context: 8192.0, ..with_bits(inputs(&model_dims).unwrap(), 8.5) };
        let target = DeviceProfile::from_device(&T4, None).unwrap();
        let fits = |inputs: Inputs| {
            predict(inputs, &WeightPrecision::all(Numbers::Half), &target).unwrap().fits.unwrap()
        };
        let choice = choice(1.0, By::Price);
        let t4 = choice.devices.iter().find(|one| one.device == "t4").unwrap();
        let (context, batch) = (t4.largest_context.unwrap(), t4.largest_batch.unwrap());
        assert!(context > 8192.0 && batch > 1.0, "{context} {batch}");
        assert!(fits(Inputs { context, ..inputs }) && !fits(Inputs { context: context + 1.0, ..inputs }));
        assert!(fits(Inputs { batch, ..inputs }) && !fits(Inputs { batch: batch + 1.0, ..inputs }));
    }
}
