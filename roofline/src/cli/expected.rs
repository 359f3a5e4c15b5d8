//! Expected speeds of predictions, with `--engine` and `--calibrated`, and the notes about them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::args::Expecting;
use crate::cli::{About, Failure, output};
use crate::contracts::hardware::devices::Device;
use crate::evidence::{Calibration, Engine, EngineChoice, NoExpectation, Setting, expect_prediction};
use crate::machine;
use crate::predict::{DeviceProfile, Expectation, ExpectedSpeed, Prediction};
use crate::report::{Saved, Table};
use roofline_machine::storage;

/// Resolved options for expected speeds.
#[derive(Debug, Default)]
pub struct Expecter {
    engine: EngineChoice,
    /// Engine as given on the command line.
    named: Option<String>,
    calibrated: Option<Calibrated>,
}

/// Source of a calibration.
#[derive(Debug)]
enum Calibrated {
    /// One file for all devices.
    File(Box<Calibration>),
    /// The saved calibration of each device.
    Saved,
}

/// Prefix of the names of saved calibrations.
const FILE_PREFIX: &str = "calibration-";

/// Returns the path of the saved calibration of a device and an engine, or `None` if the platform has no cache directory.
pub fn saved_path(device: &str, engine: &str) -> Option<PathBuf> {
    Some(machine::directory()?.join(format!(
        "{FILE_PREFIX}{}-{}.json",
        file_name_part(device),
        file_name_part(engine)
    )))
}

fn file_name_part(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c.to_ascii_lowercase() } else { '-' };
    name.chars().map(plain).collect()
}

/// Reads a calibration.
fn read(path: &Path) -> Result<Calibration, Failure> {
    let wrong = |why: String| Failure(format!("{}: {why}", path.display()));
    let text = storage::read(path).map_err(|error| wrong(error.to_string()))?;
    Calibration::from_json(&text).map_err(|why| wrong(format!("not a result of `roofline calibrate`: {why}")))
}

/// Finds the saved calibration of a device, of the given engine if any.
fn find(device: &str, engine: Option<&str>) -> Result<Calibration, Failure> {
    let none = || {
        Failure(format!(
            "--calibrated: no saved calibration of {device}; create one with `roofline calibrate`"
        ))
    };
    let directory = machine::directory().ok_or_else(none)?;
    let mut found = Vec::new();
    for entry in fs::read_dir(&directory).map_err(|_| none())? {
        let path = entry.about(directory.display())?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with(FILE_PREFIX) && name.ends_with(".json") {
            let one = read(&path)?;
            let wanted = engine.is_none_or(|engine| one.engine.starts_with(engine));
            found.extend((one.device == device && wanted).then_some(one));
        }
    }
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(none()),
        _ => {
            let engines: Vec<&str> = found.iter().map(|one| one.engine.as_str()).collect();
            let engines = engines.join(", ");
            Err(Failure(format!(
                "--calibrated: {device} has calibrations for {engines}; select one with --engine"
            )))
        }
    }
}

/// Prefixes of the reasons that concern one phase.
const DECODE: &str = "decode";
const PREFILL: &str = "prefill";

impl Expecting {
    /// Prints the engines with published measurements if `--engine help` was given.
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

    /// Resolves the arguments.
    pub fn read(&self) -> Result<Expecter, Failure> {
        let parsed = self
            .engine
            .as_deref()
            .map(|text| EngineChoice::parse(text).about(format_args!("--engine {text}")));
        let calibrated = match &self.calibrated {
            None => None,
            Some(None) => Some(Calibrated::Saved),
            Some(Some(path)) => Some(Calibrated::File(Box::new(read(path)?))),
        };
        // A calibration can be of an engine without published measurements.
        let engine = if calibrated.is_some() { None } else { parsed.transpose()? };
        Ok(Expecter { engine: engine.unwrap_or_default(), named: self.engine.clone(), calibrated })
    }
}

/// Properties of a model that expected speeds depend on in addition to the prediction.
#[derive(Clone, Copy, Debug)]
pub struct ModelTraits<'a> {
    pub name: &'a str,
    /// Quantization format of the weights.
    pub format: &'a str,
    /// Number of layers, if known.
    pub layers: Option<f64>,
}

/// Applies a calibration to a prediction on the device that it was made on.
fn from_calibration(constants: &Calibration, setting: &Setting<'_>) -> Result<Expectation, Failure> {
    let DeviceProfile { name, bandwidth, .. } = setting.target;
    if constants.device != *name {
        let other = &constants.device;
        return Err(Failure(format!("--calibrated: the calibration is of {other}, not of {name}")));
    }
    let (now, then) = (*bandwidth, constants.bandwidth_gb_s);
    if (now / then - 1.0).abs() > BANDWIDTH_TOLERANCE {
        return Err(Failure(format!(
            "--calibrated: {name} was calibrated with {then} GB/s but has {now} GB/s now; run `roofline calibrate` again"
        )));
    }
    Ok(constants.expect(setting))
}

/// Returns the absence of expected speeds for this reason.
pub fn missing(why: Failure) -> Expectation {
    Expectation { missing: vec![why.0], ..Expectation::default() }
}

/// Relative difference between two measurements of the same bandwidth.
const BANDWIDTH_TOLERANCE: f64 = 0.1;

/// Describes the source of a calibration.
fn describe(constants: &Calibration) -> String {
    let Calibration { engine, date, runs, builds, .. } = constants;
    let builds = if builds.is_empty() { String::new() } else { format!(", build {}", builds.join(", ")) };
    let runs = runs.len();
    format!(
        "Expected: calibrated on {date} with {runs} runs of {engine}{builds}; the range is the error on held-out runs."
    )
}

impl Expecter {
    /// Returns the expected speeds of a prediction; `device` is the entry of the registry, if any.
    pub fn expect(
        &self,
        model: &ModelTraits<'_>,
        target: &DeviceProfile,
        device: Option<&'static Device>,
        prediction: &Prediction,
    ) -> Result<Expectation, Failure> {
        let nothing = |why: &str| Ok(Expectation { missing: vec![why.to_owned()], ..Expectation::default() });
        let Some(layers) = model.layers else {
            return nothing("only the number of parameters is known");
        };
        let (model, format) = (model.name, model.format);
        let setting = Setting { target, device, model, layers, format, prediction };
        let setting = &setting;
        if let Some(calibrated) = &self.calibrated {
            let constants = match calibrated {
                Calibrated::File(constants) => *constants.clone(),
                Calibrated::Saved => find(&target.name, self.named.as_deref())?,
            };
            return from_calibration(&constants, setting);
        }
        if prediction.inputs.tokens_per_pass > 1.0 {
            return nothing("no published results with speculative decoding");
        }
        let Some(engine) = self.engine.on(device) else {
            return nothing(&NoExpectation::Device.to_string());
        };
        let speed = |prefill| expect_prediction(setting, engine.clone(), prefill).map(ExpectedSpeed::from);
        let (decode, prefill) = (speed(false), speed(true));
        let missing = match (&decode, &prefill) {
            (Err(one), Err(other)) if one == other => vec![one.to_string()],
            _ => {
                let why = |phase: &str, why: &NoExpectation| format!("{phase}: {why}");
                let decode = decode.as_ref().err().map(|silence| why(DECODE, silence));
                decode
                    .into_iter()
                    .chain(prefill.as_ref().err().map(|silence| why(PREFILL, silence)))
                    .collect()
            }
        };
        Ok(Expectation { decode: decode.ok(), prefill: prefill.ok(), missing })
    }

    /// Returns at most two notes: the source of the expected speeds, and the reasons for missing ones.
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
                ", the most common for this kind of device; change it with --engine"
            } else {
                ""
            };
            let engines = joined(&engines);
            out.push(match &self.calibrated {
                Some(Calibrated::File(constants)) => describe(constants),
                Some(Calibrated::Saved) => {
                    format!("Expected: calibrated for {engines}; the range is the error on held-out runs.")
                }
                None => format!(
                    "Expected: 80 % of comparable published results are in this range (engine: {engines}{default})."
                ),
            });
        }
        out.extend(missing_note(expected));
        out
    }
}

/// Joins names with commas and a final "or".
fn joined(names: &[&str]) -> String {
    match names {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        names => names.concat(),
    }
}

/// Maximum number of devices and of reasons in a note.
const MAX_NAMED: usize = 3;

/// Returns one note about the devices without expected speeds.
fn missing_note<'a>(expected: impl Iterator<Item = (&'a str, &'a Expectation)>) -> Option<String> {
    let mut devices: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut affected: Vec<&str> = Vec::new();
    for (device, one) in expected.filter(|(_, one)| !one.missing.is_empty()) {
        if !affected.contains(&device) {
            affected.push(device);
        }
        for reason in &one.missing {
            let of = devices.entry(reason).or_default();
            if of.last() != Some(&device) {
                of.push(device);
            }
        }
    }
    let mut reasons: Vec<(&str, usize)> = devices.iter().map(|(reason, of)| (*reason, of.len())).collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let several = affected.len() > 1 && reasons.len() > 1;
    let listed: Vec<String> = reasons
        .iter()
        .take(MAX_NAMED)
        .map(|(reason, count)| if several { format!("{reason} ({count})") } else { (*reason).to_owned() })
        .collect();
    let on = match affected.as_slice() {
        [] => return None,
        names if names.len() <= MAX_NAMED => names.join(", "),
        names => format!("{} devices", names.len()),
    };
    let more = if reasons.len() > MAX_NAMED { "; …" } else { "" };
    Some(format!("No expected speed on {on}: {}{more}.", listed.join("; ")))
}
