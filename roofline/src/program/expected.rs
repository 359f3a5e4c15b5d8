//! `--engine` and `--calibrated`: the speed to expect beside what can be reached, and what is said of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::contracts::hardware::devices::Device;
use crate::peaks;
use crate::predict::{Expectation, ExpectedSpeed, Prediction, Target};
use crate::program::cli::Expecting;
use crate::program::{About, Failure, output};
use crate::record::{Calibration, Engine, EngineChoice, Setting, Silence, expect_of};
use crate::report::{Saved, Table};
use roofline_machine::document;

/// What speeds are expected of, once it is read.
#[derive(Debug, Default)]
pub struct Expecter {
    engine: EngineChoice,
    /// The engine as it was named.
    named: Option<String>,
    calibrated: Option<Calibrated>,
}

/// Where constants come from.
#[derive(Debug)]
enum Calibrated {
    /// One file for all devices.
    File(Box<Calibration>),
    /// Those that are kept, by the device.
    Kept,
}

/// The start of the names of the files that constants are kept in.
const KEPT: &str = "calibration-";

/// Where the constants of a device and an engine are kept; none where the platform does not say.
pub fn kept(device: &str, engine: &str) -> Option<PathBuf> {
    Some(peaks::directory()?.join(format!("{KEPT}{}-{}.json", plain(device), plain(engine))))
}

fn plain(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c.to_ascii_lowercase() } else { '-' };
    name.chars().map(plain).collect()
}

/// The constants in a file.
fn read(path: &Path) -> Result<Calibration, Failure> {
    let wrong = |why: String| Failure(format!("{}: {why}", path.display()));
    let text = document::read(path).map_err(|error| wrong(error.to_string()))?;
    Calibration::from_json(&text).map_err(|why| wrong(format!("no result of `roofline calibrate`: {why}")))
}

/// The constants that are kept for a device, with an engine of this name where one was named.
fn find(device: &str, engine: Option<&str>) -> Result<Calibration, Failure> {
    let none = || {
        Failure(format!(
            "--calibrated: nothing is kept for {device}; run `roofline calibrate` with results of it"
        ))
    };
    let directory = peaks::directory().ok_or_else(none)?;
    let mut found = Vec::new();
    for entry in fs::read_dir(&directory).map_err(|_| none())? {
        let path = entry.about(directory.display())?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with(KEPT) && name.ends_with(".json") {
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
            Err(Failure(format!("--calibrated: {device} is calibrated for {engines}; --engine says which")))
        }
    }
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
        let parsed = self
            .engine
            .as_deref()
            .map(|text| EngineChoice::parse(text).about(format_args!("--engine {text}")));
        let calibrated = match &self.calibrated {
            None => None,
            Some(None) => Some(Calibrated::Kept),
            Some(Some(path)) => Some(Calibrated::File(Box::new(read(path)?))),
        };
        // Constants may be those of an engine that the record has no rows of.
        let engine = if calibrated.is_some() { None } else { parsed.transpose()? };
        Ok(Expecter { engine: engine.unwrap_or_default(), named: self.engine.clone(), calibrated })
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

/// What constants make of a prediction on the device that they are of.
fn of_constants(constants: &Calibration, setting: &Setting<'_>) -> Result<Expectation, Failure> {
    let Target { name, bandwidth, .. } = setting.target;
    if constants.device != *name {
        let other = &constants.device;
        return Err(Failure(format!("--calibrated: the constants are those of {other}, not of {name}")));
    }
    let (now, then) = (*bandwidth, constants.bandwidth_gb_s);
    if (now / then - 1.0).abs() > SAME {
        return Err(Failure(format!(
            "--calibrated: {name} had {then} GB/s when it was calibrated, and has {now} now; calibrate again"
        )));
    }
    Ok(constants.expect(setting))
}

/// Nothing, for this reason.
pub fn missing(why: Failure) -> Expectation {
    Expectation { missing: vec![why.0], ..Expectation::default() }
}

/// A bandwidth that was measured again may differ this much.
const SAME: f64 = 0.1;

/// Where the constants of a file come from.
fn told(constants: &Calibration) -> String {
    let Calibration { engine, date, runs, builds, .. } = constants;
    let builds = if builds.is_empty() { String::new() } else { format!(", build {}", builds.join(", ")) };
    let runs = runs.len();
    format!(
        "Expected: calibrated {date} with {runs} runs of {engine}{builds}; the band is as wide as runs were off that were left out."
    )
}

impl Expecter {
    /// What is expected of a prediction on a device, which may be one of the registry.
    pub fn expect(
        &self,
        model: &ModelTraits<'_>,
        target: &Target,
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
                Calibrated::Kept => find(&target.name, self.named.as_deref())?,
            };
            return of_constants(&constants, setting);
        }
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
        Ok(Expectation { decode: decode.ok(), prefill: prefill.ok(), missing })
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
            out.push(match &self.calibrated {
                Some(Calibrated::File(constants)) => told(constants),
                Some(Calibrated::Kept) => {
                    format!("Expected: calibrated for {engines}; the band is as wide as runs were off that were left out.")
                }
                None => format!(
                    "Expected: eight of ten rows alike of the record lie in the band, with {engines}{default}."
                ),
            });
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
