//! `--engine` and `--calibrated`: the speed to expect beside what can be reached, and what is said of it.

use std::collections::BTreeMap;

use clap::Args;

use crate::contracts::hardware::devices::Device;
use crate::predict::{Expectation, ExpectedSpeed, Prediction, Target};
use crate::program::{Failure, output};
use crate::record::{Engine, EngineChoice, Setting, Silence, expect_of};
use crate::report::Table;

/// What speeds are expected of.
#[derive(Debug, Default, Args)]
pub struct Expecting {
    /// The engine that speeds are expected of, such as llama.cpp-cuda or vllm; `help` lists those of the record. If not given, what
    /// most such devices were measured with.
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<String>,
}

/// What speeds are expected of, once it is read.
#[derive(Debug, Default)]
pub struct Expecter {
    engine: EngineChoice,
}

/// What is missing of one part only starts with its name.
const DECODE: &str = "decode";
const PREFILL: &str = "prefill";

impl Expecting {
    /// Prints the engines of the record, if that is what is asked for in place of one.
    pub fn help(&self) -> Result<bool, Failure> {
        let asked = self.engine.as_deref().is_some_and(|engine| engine.trim() == "help");
        if asked {
            let rows = Engine::all().into_iter().map(|(engine, [decode, prefill])| {
                vec![engine.to_string(), decode.to_string(), prefill.to_string()]
            });
            let table = Table::new("", &["engine", "decode rows", "prefill rows"], rows);
            output::write(table.text().as_bytes())?;
        }
        Ok(asked)
    }

    /// What the arguments mean.
    pub fn read(&self) -> Result<Expecter, Failure> {
        let parsed = self.engine.as_deref().map(|text| {
            EngineChoice::parse(text).map_err(|error| Failure(format!("--engine {text}: {error}")))
        });
        Ok(Expecter { engine: parsed.transpose()?.unwrap_or_default() })
    }
}

/// A model, as far as a speed depends on it beside the prediction.
#[derive(Clone, Copy, Debug)]
pub struct ModelTraits<'a> {
    /// Its name.
    pub name: &'a str,
    /// The format of its weights.
    pub format: &'a str,
    /// Its layers, where they are known.
    pub layers: Option<f64>,
}

impl Expecter {
    /// What is expected of a prediction on a device, which may be one of the registry.
    pub fn expect(
        &self,
        model: &ModelTraits<'_>,
        target: &Target,
        device: Option<&'static Device>,
        prediction: &Prediction,
    ) -> Expectation {
        let nothing = |why: &str| Expectation { missing: vec![why.to_owned()], ..Expectation::default() };
        let Some(layers) = model.layers else {
            return nothing("only the number of parameters is known");
        };
        let (model, format) = (model.name, model.format);
        let setting = Setting { target, device, model, layers, format, prediction };
        let setting = &setting;
        if prediction.inputs.tokens_per_pass > 1.0 {
            return nothing("the record has no drafted tokens that rows alike could be told by");
        }
        let Some(engine) = self.engine.on(device) else {
            return nothing(&Silence::Device.to_string());
        };
        let speed = |prefill| expect_of(setting, engine.clone(), prefill).map(ExpectedSpeed::from);
        let (decode, prefill) = (speed(false), speed(true));
        let missing = match (&decode, &prefill) {
            (Err(one), Err(other)) if one == other => vec![one.to_string()],
            _ => {
                let why = |phase: &str, why: &Silence| format!("{phase}: {why}");
                let decode = decode.as_ref().err().map(|silence| why(DECODE, silence));
                decode
                    .into_iter()
                    .chain(prefill.as_ref().err().map(|silence| why(PREFILL, silence)))
                    .collect()
            }
        };
        Expectation { decode: decode.ok(), prefill: prefill.ok(), missing }
    }

    /// What one should know of these: where they come from, and why some are missing.
    pub fn sentences<'a>(
        &self,
        expected: impl Iterator<Item = (&'a str, &'a Expectation)> + Clone,
    ) -> Vec<String> {
        let mut engines: Vec<&str> = expected.clone().filter_map(|(_, one)| one.engine()).collect();
        engines.sort_unstable();
        engines.dedup();
        let mut out = Vec::new();
        if !engines.is_empty() {
            let default = if self.engine.is_default() {
                ", which most such devices were measured with (--engine names another)"
            } else {
                ""
            };
            let engines = engines.join(" or ");
            out.push(format!(
                "Expected: eight of ten rows alike of the record lie in the band, with {engines}{default}."
            ));
        }
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (device, one) in expected {
            for why in &one.missing {
                let devices = reasons.entry(why).or_default();
                if devices.last() != Some(&device) {
                    devices.push(device);
                }
            }
        }
        for (why, devices) in reasons {
            let of = match devices.as_slice() {
                [] => String::new(),
                [one] => one.to_string(),
                [_, _] | [_, _, _] => devices.join(", "),
                _ => format!("{} devices", devices.len()),
            };
            let part = [DECODE, PREFILL].into_iter().find_map(|phase| {
                Some((format!(" of {phase}"), why.strip_prefix(phase)?.strip_prefix(": ")?))
            });
            let (phase, why) = part.unwrap_or_else(|| (String::new(), why));
            out.push(format!("Nothing is expected{phase} on {of}: {why}."));
        }
        out
    }
}
