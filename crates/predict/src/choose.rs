//! Which device for a model: those that hold it and are fast enough, what the others are short of, and how far each would
//! carry. Speeds are ceilings: a device that is left out can't do it, one that is listed may.

use serde::{Deserialize, Serialize};

use crate::predict::{Expectation, Prediction, Subject, Target};
use roofline_formulas::choice;
use roofline_formulas::hardware::devices::Device;
use roofline_formulas::spelled;
use roofline_formulas::transformer::{self, Inputs};
use roofline_render::chart::bars::{Bar, Bars};
use roofline_render::chart::terminal::Canvas;
use roofline_render::number::{figure, maybe};
use roofline_render::report::{Better, Figure, Report, Saved, Schema, Table};
use roofline_render::text::file_name;
use roofline_render::word::Bound;

/// Rows of a table on a terminal; the other formats have all.
const SHOWN: usize = 25;
/// The longest context and the largest batch that are tried.
const LONGEST: f64 = 16_777_216.0;
const LARGEST: f64 = 65_536.0;

/// Devices for a model at a speed.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Choice {
    /// Which schema this document follows.
    pub schema: Schema<Self>,
    /// The contracts that the figures come from, and their versions.
    pub contracts: Vec<String>,
    /// The model.
    pub model: Subject,
    /// Sequences that are computed together.
    pub batch: f64,
    /// Tokens of each sequence in the cache.
    pub context: f64,
    /// Tokens of the prompt.
    pub prompt: f64,
    /// Tokens per second that are wanted while decoding.
    pub min_decode: f64,
    /// Those that do first, in the order asked for; then those that are too slow and those that are too small.
    pub devices: Vec<Candidate>,
    /// The cheapest, the one with the least memory and the one with the least energy a token, of those that do.
    pub best: Best,
    /// Where the expected speeds come from, and why some are missing; empty where none was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<String>,
    /// What one should know about these figures.
    pub warnings: Vec<String>,
    /// The columns of its table that are shown; all there are, or there is room for, if empty.
    #[serde(skip)]
    pub columns: Vec<&'static str>,
}

/// The first of those that do, by what a buyer may care for; null where no figure decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Best {
    /// With the lowest price.
    pub cheapest: Option<String>,
    /// With the least memory that is enough.
    pub smallest: Option<String>,
    /// With the least energy for a token.
    pub most_frugal: Option<String>,
}

/// A device that may be chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Candidate {
    /// Its name.
    pub device: String,
    /// What kind it is, such as gpu; null for one that is not of the registry.
    pub kind: Option<String>,
    /// Whether it does what is wanted, and what it lacks first if not.
    pub verdict: Verdict,
    /// The ceiling of decoding, in tokens per second.
    pub decode_ceiling: f64,
    /// The ceiling of reading a prompt, in tokens per second.
    pub prefill_ceiling: f64,
    /// What holds decoding back.
    pub decode_bound: Bound,
    /// Tokens per second that it is short of.
    pub missing_decode: f64,
    /// What the model takes, in GB.
    pub footprint_gb: f64,
    /// Its memory in GB; null if not known.
    pub capacity_gb: Option<f64>,
    /// Memory that it is short of, in GB; null if its memory is not known.
    pub missing_gb: Option<f64>,
    /// The most tokens of context that fit beside the weights; null if its memory is not known.
    pub largest_context: Option<f64>,
    /// The most sequences of the context asked for that fit; null if its memory is not known.
    pub largest_batch: Option<f64>,
    /// What the vendor asked for at the launch, in US dollars; null if not known.
    pub launch_price_usd: Option<f64>,
    /// US dollars for each token per second; null if the price is not known.
    pub usd_per_token_per_s: Option<f64>,
    /// Power in W; null if not known.
    pub tdp_w: Option<f64>,
    /// Energy of a token at the ceiling, in J; null if the power is not known.
    pub token_energy_j: Option<f64>,
    /// The speed to expect, with an engine; absent where nobody asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expectation>,
    /// Where its figures come from.
    pub source: String,
}

/// Whether a device does what is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It does.
    Enough,
    /// It is fast enough, but its memory is not known.
    Unknown,
    /// It holds the model and is too slow.
    TooSlow,
    /// It does not hold the model.
    TooSmall,
}

spelled! {
    Verdict {
        Enough = "enough",
        Unknown = "memory not known",
        TooSlow = "too slow",
        TooSmall = "too small",
    }
}

/// What the devices that do are ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The lowest price first.
    Price,
    /// The least memory first.
    Memory,
    /// The least energy for a token first.
    Energy,
    /// The lowest power first.
    Power,
    /// The fastest first.
    Speed,
    /// The fewest dollars for each token per second first.
    PricePerSpeed,
    /// The fastest to expect first.
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
    /// What is compared; the smaller comes first, and what is not known last.
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

/// Why a choice can't be made: an input lies outside the domain of a contract.
#[derive(Clone, Debug, PartialEq)]
pub enum ChoiceError {
    /// Of `transformer-v1`.
    Prediction(transformer::OutOfDomain),
    /// Of `choice-v1`.
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
    /// Tries every device, each with its entry in the registry where it has one. `predict` says what the model reaches.
    pub fn new(
        model: Subject,
        inputs: Inputs,
        targets: &[(Target, Option<&'static Device>)],
        at_least: f64,
        by: By,
        predict: impl Fn(Inputs, &Target) -> Result<Prediction, transformer::OutOfDomain>,
        expect: impl Fn(&Target, Option<&'static Device>, &Prediction) -> Option<Expectation>,
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
            let longest = model.context_length.map_or(LONGEST, |tokens| tokens as f64);
            let context = largest(longest, |context| fits(Inputs { context, ..inputs }));
            let batch = largest(LARGEST, |batch| fits(Inputs { batch, ..inputs }));
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
        let best =
            Best { cheapest: first(By::Price), smallest: first(By::Memory), most_frugal: first(By::Energy) };
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

    /// Those that do what is wanted.
    pub fn enough(&self) -> impl Iterator<Item = &Candidate> {
        self.devices.iter().filter(|one| one.verdict == Verdict::Enough)
    }

    /// The columns of its table.
    pub const COLUMNS: [&'static str; 14] = [
        "device",
        "kind",
        "verdict",
        "short_of",
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
                one.short_of(),
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
        table.only(|at, heading| at == 0 || self.columns.contains(&heading))
    }

    /// The bars of those that hold the model, and how fast it was to be.
    pub fn bars(&self) -> Bars {
        let holds = self.devices.iter().filter(|one| one.verdict != Verdict::TooSmall);
        let mut bars: Vec<Bar> = holds
            .map(|one| Bar {
                name: one.device.clone(),
                value: one.decode_ceiling,
                stressed: one.verdict == Verdict::Enough,
                band: one.expected.as_ref().and_then(|expected| expected.band(true)),
                note: one.launch_price_usd.map(|price| format!("USD {price} at launch")).unwrap_or_default(),
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
                "ceilings of decoding, and what to expect as lines: batch {batch}, {context} tokens in the cache"
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
        target: &Target,
        device: Option<&Device>,
        prediction: &Prediction,
        (context, batch): (f64, f64),
        at_least: f64,
    ) -> Result<Candidate, ChoiceError> {
        let Prediction { outputs, token_energy, .. } = prediction;
        let price = device.and_then(|device| device.launch_price_usd);
        // What is not known is filled in with something, and what follows from it is left out.
        let asked = choice::Inputs {
            wanted_speed: at_least,
            ..choice::Inputs::new(
                price.unwrap_or(1.0),
                outputs.decode_ceiling,
                outputs.footprint,
                target.capacity.unwrap_or(0.0),
            )
        };
        let found = asked.evaluate()?;
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

    /// The middle of the speed to expect while decoding.
    fn expected_decode(&self) -> Option<f64> {
        Some(self.expected.as_ref()?.decode.as_ref()?.middle_tokens_per_s)
    }

    /// What it lacks, in words.
    fn short_of(&self) -> String {
        match self.verdict {
            Verdict::Enough => String::new(),
            Verdict::Unknown => "its memory is not known".into(),
            Verdict::TooSlow => format!("{} token/s", figure(self.missing_decode)),
            Verdict::TooSmall => format!("{} GB", maybe(self.missing_gb)),
        }
    }
}

/// The largest whole number up to `most` that fits, 0 if not even 1 does: what fits with more fits with less.
fn largest(most: f64, fits: impl Fn(f64) -> bool) -> f64 {
    if fits(most) {
        return most;
    }
    let (mut low, mut high) = (0.0, most);
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
            "{}: {} parameters, {}; batch {batch}, {context} tokens in the cache: {} GB\n",
            model.name,
            figure(model.parameters),
            model.quant,
            figure(footprint)
        );
        let enough: Vec<&Candidate> = self.enough().collect();
        let wanted = self.min_decode;
        out += &format!(
            "{} of {} devices hold it and may reach {wanted} token/s; speeds are ceilings\n",
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
                one.launch_price_usd.map_or(String::new(), |price| format!("USD {price} at launch"))
            }),
            ("smallest", find(&self.best.smallest), |one: &Candidate| {
                format!("{} GB", maybe(one.capacity_gb))
            }),
            ("most frugal", find(&self.best.most_frugal), |one: &Candidate| {
                format!("{} J/token", maybe(one.token_energy_j))
            }),
        ];
        for (what, one, why) in best {
            if let Some(one) = one {
                let speed = figure(one.decode_ceiling);
                out += &format!("{what:<12} {}, {}, {speed} token/s\n", one.device, why(one));
            }
        }
        out.extend(self.expectations.iter().map(|line| format!("{line}\n")));
        let others: Vec<&Candidate> =
            self.devices.iter().filter(|one| one.verdict != Verdict::Enough).collect();
        for (title, rows) in [("These do", enough), ("These do not", others)] {
            if rows.is_empty() {
                continue;
            }
            let table = self.table(title, &rows[..rows.len().min(SHOWN)]);
            // The heading above the table says it already.
            let told = |heading: &str| match title {
                "These do" => ["verdict", "short_of"].contains(&heading),
                _ => false,
            };
            let mut table = table.only(|_, heading| self.columns.contains(&heading) || !told(heading));
            for heading in &mut table.headings {
                *heading = heading.replace('_', " ");
            }
            const LEAST: [&str; 6] =
                ["largest batch", "largest context", "kind", "usd per token s", "j per token", "prefill"];
            out += &format!("\n{}", table.fitted(canvas, &LEAST));
            if rows.len() > SHOWN {
                out += &format!(" and {} more, which the other formats list\n", rows.len() - SHOWN);
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
    use crate::predict::{Numbers, Stored, inputs, predict, with_bits};
    use roofline_formulas::hardware::devices::{H100_SXM, RASPBERRY_PI_5, RTX_4090, T4};
    use roofline_models::{Hyper, by_name};

    fn choice(at_least: f64, by: By) -> Choice {
        let hyper = Hyper::of_known(by_name("llama_3_1_8b").unwrap()).unwrap();
        let inputs = Inputs { context: 8192.0, ..with_bits(inputs(&hyper).unwrap(), 8.5) };
        let subject = Subject {
            name: "llama_3_1_8b".into(),
            source: String::new(),
            parameters: 0.0,
            active_parameters: 0.0,
            quant: "q8_0".into(),
            bits_per_weight: 8.5,
            context_length: hyper.context_length,
        };
        let devices = [&T4, &H100_SXM, &RTX_4090, &RASPBERRY_PI_5];
        let targets: Vec<_> =
            devices.iter().map(|device| (Target::of(device, None).unwrap(), Some(*device))).collect();
        let predict = |inputs, target: &Target| predict(inputs, &Stored::all(Numbers::Half), target);
        Choice::new(subject, inputs, &targets, at_least, by, predict, |_, _, _| None).unwrap()
    }

    #[test]
    fn those_that_do_come_first_and_the_others_say_what_they_lack() {
        let choice = choice(50.0, By::Speed);
        let order: Vec<(&str, Verdict)> =
            choice.devices.iter().map(|one| (one.device.as_str(), one.verdict)).collect();
        assert_eq!(
            order,
            [
                ("h100_sxm", Verdict::Enough),
                ("rtx_4090", Verdict::Enough),
                ("t4", Verdict::TooSlow),
                ("raspberry_pi_5", Verdict::TooSmall),
            ]
        );
        let [.., t4, pi] = choice.devices.as_slice() else { panic!() };
        assert!((t4.missing_decode - (50.0 - t4.decode_ceiling)).abs() < 1e-9);
        assert!((pi.missing_gb.unwrap() - (pi.footprint_gb - pi.capacity_gb.unwrap())).abs() < 1e-9);
        assert_eq!((pi.largest_context, pi.largest_batch), (Some(0.0), Some(0.0)));
        assert_eq!(choice.best.cheapest.as_deref(), Some("rtx_4090"), "nobody prints the price of the other");
        assert_eq!(choice.best.smallest.as_deref(), Some("rtx_4090"));
    }

    #[test]
    fn the_largest_context_and_batch_fit_and_one_more_does_not() {
        let hyper = Hyper::of_known(by_name("llama_3_1_8b").unwrap()).unwrap();
        let inputs = Inputs { context: 8192.0, ..with_bits(inputs(&hyper).unwrap(), 8.5) };
        let target = Target::of(&T4, None).unwrap();
        let fits =
            |inputs: Inputs| predict(inputs, &Stored::all(Numbers::Half), &target).unwrap().fits.unwrap();
        let choice = choice(1.0, By::Price);
        let t4 = choice.devices.iter().find(|one| one.device == "t4").unwrap();
        let (context, batch) = (t4.largest_context.unwrap(), t4.largest_batch.unwrap());
        assert!(context > 8192.0 && batch > 1.0, "{context} {batch}");
        assert!(fits(Inputs { context, ..inputs }) && !fits(Inputs { context: context + 1.0, ..inputs }));
        assert!(fits(Inputs { batch, ..inputs }) && !fits(Inputs { batch: batch + 1.0, ..inputs }));
    }
}
