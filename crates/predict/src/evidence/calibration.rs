//! Calibration of a machine and engine from runs of the user: fits the shares of bandwidth and compute and the fixed overheads of
//! `expectation-v1`. Constants that the runs do not determine are rejected with advice on additional runs.

use roofline_render::chart::terminal::Canvas;
use serde::{Deserialize, Serialize};

use super::ceiling::Uncovered;
use super::engine::Engine;
use super::format;
use super::least_squares::{Solution, solve};
use super::model::{self, Shape};
use super::similarity::{Features, Setting};
use super::table::{Phase, Row};
use crate::predict::{DeviceProfile, Expectation, ExpectedFrom, ExpectedSpeed, WeightPrecision, predict};
use roofline_formulas::expectation::{CONTRACT, Inputs, OutOfDomain};
use roofline_formulas::hardware::devices::Device;
use roofline_formulas::transformer;
use roofline_render::format::{figure, maybe, percent};
use roofline_render::report::{Report, Saved, Schema, Table};

/// Maximum condition number, which bounds the amplification of measurement errors.
const MAX_CONDITION: f64 = 12.0;
/// Maximum error of a held-out run.
const MAX_ERROR: f64 = 0.3;
/// Minimum relative half-width of an expected range.
const MIN_SPREAD: f64 = 0.05;

/// Dimensions of a measured model.
#[derive(Clone, Debug)]
pub struct Dimensions {
    /// Name of the model.
    pub name: String,
    /// Inputs of the contract for one sequence of one token.
    pub inputs: transformer::Inputs,
    /// Number of layers.
    pub layers: f64,
    /// Exact number of parameters, by which runs are matched to the model.
    pub parameters: f64,
}

/// A measured run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Model, weight format and test.
    pub name: String,
    /// True if the run measures prefill.
    pub prefill: bool,
    /// Amounts, figures of the device, and the measured rate.
    inputs: Inputs,
}

impl Run {
    /// Converts a row of `llama-bench`. The model is looked up in `given`, then by its number of parameters, then by its name. Returns
    /// `None` for prefill after other tokens, which the contract does not describe.
    ///
    /// # Errors
    /// Returns an error if the model or the format is unknown.
    pub fn from_row(
        row: &Row,
        given: &[Dimensions],
        target: &DeviceProfile,
        device: Option<&'static Device>,
    ) -> Result<Option<Run>, Uncovered> {
        let prefill = row.phase == Phase::Prefill;
        if prefill && row.depth > 0.0 {
            return Ok(None);
        }
        let known = || model::find(&row.model).ok_or_else(|| Uncovered::Model(row.model.clone()));
        let shape = match given.iter().find(|one| Some(one.parameters) == row.parameters) {
            Some(Dimensions { name, inputs, layers, .. }) => {
                Shape { name: name.clone(), inputs: *inputs, layers: *layers, unused: 0.0 }
            }
            None => match row.parameters.and_then(model::find_by_parameters) {
                Some(shape) => shape.clone(),
                None => known()?.clone(),
            },
        };
        let (bits, numbers) =
            format::parse(&row.format).ok_or_else(|| Uncovered::Format(row.format.clone()))?;
        let prediction = predict(row.step(&shape, bits)?, &WeightPrecision::all(numbers), target)?;
        let (model, layers, format) = (shape.name.as_str(), shape.layers, row.format.as_str());
        let setting = Setting { target, device, model, layers, format, prediction: &prediction };
        let features = Features::for_setting(&setting, Engine::for_row(row, device), prefill);
        let name = format!("{model} {format} {}", row.test);
        Ok(features.map(|features| {
            let inputs = Inputs { measured: row.tokens_per_s, ..features.inputs_at_peak() };
            Run { name, prefill, inputs }
        }))
    }

    /// Creates a run from a measured matrix product: amounts in bytes and FLOP, its time, and the roofs of the machine.
    pub fn from_product(name: &str, amounts: (f64, f64), seconds: f64, gb_s: f64, gflop_s: f64) -> Run {
        let inputs = Inputs::new(1.0, amounts.0, amounts.1, gb_s, gflop_s);
        let inputs = Inputs { layers: 1.0, serial: 1.0, measured: 1.0 / seconds, ..inputs };
        Run { name: name.to_owned(), prefill: false, inputs }
    }

    /// Returns the coefficients of the constants (data movement, compute, layers, step) as shares of the measured time.
    fn coefficients(&self) -> Result<[f64; 4], OutOfDomain> {
        let outputs = self.inputs.evaluate()?;
        let time = self.inputs.tokens / self.inputs.measured;
        let microseconds = 1e-6 / time;
        let compute = outputs.compute_time / time;
        Ok([outputs.likely_move_time / time, compute, self.inputs.layers * microseconds, microseconds])
    }
}

/// Calibration constants of a machine and an engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Schema of the document.
    pub schema: Schema<Self>,
    /// Contract of the constants and its version.
    pub contract: String,
    /// Measured device.
    pub device: String,
    /// Bandwidth of the device in GB/s, to which the share refers.
    pub bandwidth_gb_s: f64,
    /// Engine with its backend.
    pub engine: String,
    /// Builds of the engine.
    pub builds: Vec<String>,
    /// Date of the calibration.
    pub date: String,
    /// Achieved share of the bandwidth.
    pub bandwidth_share: f64,
    /// Achieved share of the arithmetic peak; null without prefill runs.
    pub compute_share: Option<f64>,
    /// Overhead per layer, in µs.
    pub layer_cost_us: f64,
    /// Overhead per step, in µs; null if the runs do not separate it from the overhead per layer.
    pub step_cost_us: Option<f64>,
    /// Condition number: the maximum amplification of measurement errors.
    pub condition: f64,
    /// Relative half-width of the expected range: the largest error on held-out runs, at least 0.05.
    pub spread: f64,
    /// Calibration runs.
    pub runs: Vec<CalibratedRun>,
    /// Constants that are not determined, with advice on additional runs.
    pub missing: Vec<String>,
}

/// A calibration run with its fitted speed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CalibratedRun {
    /// Name of the run.
    pub run: String,
    /// Measured speed in tokens per second; for matrix products, products per second.
    pub measured_tokens_per_s: f64,
    /// Speed that the constants predict.
    pub fitted_tokens_per_s: f64,
    /// Relative error when the constants are fitted to the other runs; null if those do not determine the constants.
    pub left_out_error: Option<f64>,
}

/// Device and engine of the runs.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Name of the device.
    pub device: String,
    /// Bandwidth in GB/s.
    pub bandwidth: f64,
    /// Engine with its backend.
    pub engine: String,
    /// Builds of the engine.
    pub builds: Vec<String>,
    /// Date of the calibration.
    pub date: String,
    /// Number of run layers per model layer: 1, or more if the runs are single matrix products.
    pub parts: f64,
}

/// Fitted constants: bandwidth, compute, layer overhead, step overhead.
const ALL: [bool; 4] = [true; 4];
const WITHOUT_STEP: [bool; 4] = [true, true, true, false];
const WITHOUT_PROMPTS: [bool; 4] = [true, false, true, false];
/// Lower bounds: inverse shares are at least 1, overheads at least 0.
const MIN_VALUES: [f64; 4] = [1.0, 1.0, 0.0, 0.0];

/// The runs as a linear system.
struct System(Vec<[f64; 4]>);

impl System {
    fn new(runs: &[Run]) -> Result<System, String> {
        let rows: Result<Vec<[f64; 4]>, OutOfDomain> = runs.iter().map(Run::coefficients).collect();
        let rows = rows.map_err(|error| error.to_string())?;
        if let Some((run, _)) = runs.iter().zip(&rows).find(|(_, row)| row[0].max(row[1]) > 1.0) {
            return Err(format!(
                "{}: faster than the ceiling of the device; select the measured device with --on",
                run.name
            ));
        }
        match runs.iter().filter(|run| !run.prefill).count() {
            0 => Err(format!("missing decode runs; {MORE_RUNS}")),
            1 => Err(format!("only one decode run; {MORE_RUNS}")),
            _ => Ok(System(rows)),
        }
    }

    /// Returns the fitted time of a run divided by its measured time.
    fn time_ratio(&self, values: &[f64; 4], index: usize) -> f64 {
        self.0[index].iter().zip(values).map(|(a, b)| a * b).sum()
    }

    /// Returns the relative error of a run when the constants are fitted to the others; `None` if those do not determine them.
    fn held_out_error(&self, used: [bool; 4], index: usize) -> Option<f64> {
        let mut others = self.0.clone();
        others.remove(index);
        let solution =
            solve(&others, used, MIN_VALUES).filter(|solution| solution.condition <= MAX_CONDITION)?;
        Some((1.0 / self.time_ratio(&solution.values, index) - 1.0).abs())
    }

    fn solve(&self, used: [bool; 4]) -> Option<([bool; 4], Solution<4>)> {
        let unknowns = used.iter().filter(|used| **used).count();
        let solution = solve(&self.0, used, MIN_VALUES)?;
        let determined = self.0.len() > unknowns && solution.condition <= MAX_CONDITION;
        // The step overhead is accepted only if the constants stay determined without any single run.
        let separable =
            || used != ALL || (0..self.0.len()).all(|index| self.held_out_error(used, index).is_some());
        (determined && separable()).then_some((used, solution))
    }

    /// Fits the constants and returns them with the mask of those that the runs determine.
    fn constants(&self, prompts: bool) -> Result<([bool; 4], Solution<4>), String> {
        let candidates = if prompts { [ALL, WITHOUT_STEP] } else { [WITHOUT_PROMPTS; 2] };
        candidates.into_iter().find_map(|used| self.solve(used)).ok_or_else(|| {
            match solve(&self.0, candidates[1], MIN_VALUES).map(|solution| solution.condition) {
                Some(condition) if condition > MAX_CONDITION => format!(
                    "cannot separate bandwidth and layer overhead (condition number {}, maximum {MAX_CONDITION}); {MORE_RUNS}",
                    figure(condition)
                ),
                _ => format!("too few runs ({}); {MORE_RUNS}", self.0.len()),
            }
        })
    }
}

impl CalibratedRun {
    /// Returns the larger of the fitted and the held-out error, relative to the speed.
    fn error(&self) -> f64 {
        let fitted = (self.fitted_tokens_per_s / self.measured_tokens_per_s - 1.0).abs();
        self.left_out_error.unwrap_or(0.0).max(fitted)
    }
}

impl Calibration {
    /// Fits the constants to the runs.
    ///
    /// # Errors
    /// Explains why the runs do not determine the constants, with advice on additional runs.
    pub fn new(origin: Origin, runs: &[Run]) -> Result<Calibration, String> {
        let system = System::new(runs)?;
        let (used, Solution { values, condition }) = system.constants(runs.iter().any(|run| run.prefill))?;
        let run = |(index, run): (usize, &Run)| CalibratedRun {
            run: run.name.clone(),
            measured_tokens_per_s: run.inputs.measured,
            fitted_tokens_per_s: run.inputs.measured / system.time_ratio(&values, index),
            left_out_error: system.held_out_error(used, index),
        };
        let each: Vec<CalibratedRun> = runs.iter().enumerate().map(run).collect();
        let worst = each.iter().max_by(|a, b| a.error().total_cmp(&b.error()));
        if let Some(run) = worst.filter(|run| run.error() > MAX_ERROR) {
            return Err(format!(
                "{}: the fit deviates by {}, more than {}; repeat the run, use models in a single format, or {MORE_RUNS}",
                run.run,
                percent(Some(run.error())),
                percent(Some(MAX_ERROR))
            ));
        }
        let spread = each.iter().map(CalibratedRun::error).fold(MIN_SPREAD, f64::max);
        let missing = [
            (used[1], "compute share: no prefill runs; also run llama-bench with -p 512"),
            (
                used[3],
                "step overhead, which is included in the layer overhead: run models with different numbers of layers",
            ),
        ];
        let missing =
            missing.into_iter().filter(|(used, _)| !used).map(|(_, what)| what.to_owned()).collect();
        Ok(Calibration {
            schema: Schema::new(),
            contract: format!("{} {}", CONTRACT.id, CONTRACT.version),
            device: origin.device,
            bandwidth_gb_s: origin.bandwidth,
            engine: origin.engine,
            builds: origin.builds,
            date: origin.date,
            bandwidth_share: 1.0 / values[0],
            compute_share: used[1].then(|| 1.0 / values[1]),
            layer_cost_us: values[2] * origin.parts,
            step_cost_us: used[3].then_some(values[3]),
            condition,
            spread,
            runs: each,
            missing,
        })
    }

    /// Returns the expected speeds for a prediction.
    pub fn expect(&self, setting: &Setting<'_>) -> Expectation {
        let Some(engine) = Engine::parse(&self.engine) else { return Expectation::default() };
        let mut missing = Vec::new();
        let mut speed = |prefill: bool| {
            let features = Features::for_setting(setting, engine.clone(), prefill)?;
            if prefill && self.compute_share.is_none() {
                missing.push("prefill: the calibration has no prefill runs".to_owned());
                return None;
            }
            let inputs = Inputs {
                bandwidth_share: self.bandwidth_share,
                compute_share: self.compute_share.unwrap_or(1.0),
                layer_cost: self.layer_cost_us,
                step_cost: self.step_cost_us.unwrap_or(0.0),
                ..features.inputs_at_peak()
            };
            match inputs.evaluate() {
                Ok(outputs) => Some(ExpectedSpeed {
                    engine: self.engine.clone(),
                    from: ExpectedFrom::Calibration,
                    low_tokens_per_s: outputs.expected / (1.0 + self.spread),
                    middle_tokens_per_s: outputs.expected,
                    high_tokens_per_s: (outputs.expected * (1.0 + self.spread)).min(outputs.ceiling),
                    rows: self.runs.len() as f64,
                    nearness: 1.0,
                }),
                Err(error) => {
                    missing.push(error.to_string());
                    None
                }
            }
        };
        let (decode, prefill) = (speed(false), speed(true));
        Expectation { decode, prefill, missing }
    }
}

impl Row {
    /// Returns the engine of the row on a device of the registry, or on a measured machine for `None`.
    pub fn engine_on(&self, device: Option<&Device>) -> Engine {
        Engine::for_row(self, device)
    }
}

/// Advice on runs that separate bandwidth and overheads.
const MORE_RUNS: &str =
    "run `llama-bench -p 512 -n 128 -o json` on two or three models of very different sizes in one format";

impl Report for Calibration {
    const SCHEMA: &'static str = "roofline.calibration/1";

    fn tables(&self) -> Vec<Table> {
        let unit = |value: Option<f64>, unit: &str| {
            value.map_or("not determined".into(), |_| format!("{}{unit}", maybe(value)))
        };
        let rows = [
            ("bandwidth share", percent(Some(self.bandwidth_share))),
            (
                "compute share",
                self.compute_share.map_or("not determined".into(), |share| percent(Some(share))),
            ),
            ("layer overhead", unit(Some(self.layer_cost_us), " us")),
            ("step overhead", unit(self.step_cost_us, " us")),
            ("condition number", figure(self.condition)),
            ("expected range", format!("± {}", percent(Some(self.spread)))),
        ];
        let rows = rows.map(|(name, value)| vec![name.to_owned(), value]);
        let title = format!("{} on {}", self.engine, self.device);
        let runs = self.runs.iter().map(|run| {
            vec![
                run.run.clone(),
                figure(run.measured_tokens_per_s),
                figure(run.fitted_tokens_per_s),
                percent(run.left_out_error),
            ]
        });
        let headings = ["run", "measured", "fitted", "held-out error"];
        vec![Table::new(title, &["constant", "value"], rows), Table::new("Runs", &headings, runs)]
    }

    fn text(&self, canvas: &Canvas) -> String {
        let tables =
            self.tables().iter().map(|table| table.render_within(canvas, &[])).collect::<Vec<_>>().join("\n");
        let missing: String = self.missing.iter().map(|line| format!("not determined: {line}\n")).collect();
        let builds = if self.builds.is_empty() {
            String::new()
        } else {
            format!(", build {}", self.builds.join(", "))
        };
        format!("{tables}\n{missing}calibrated {}{builds}\n", self.date)
    }
}

impl Saved for Calibration {
    fn validate(&self) -> Result<(), String> {
        let share = |value: f64| value > 0.0 && value <= 1.0;
        let cost = |value: f64| (0.0..=1e6).contains(&value);
        if Engine::parse(&self.engine).is_none() {
            return Err(format!(
                "invalid `engine` {:?}; expected an engine with its backend, such as llama.cpp-cuda",
                self.engine
            ));
        }
        let fine = share(self.bandwidth_share)
            && self.compute_share.is_none_or(share)
            && cost(self.layer_cost_us)
            && self.step_cost_us.is_none_or(cost)
            && !self.runs.is_empty()
            && (0.0..=1.0).contains(&self.spread)
            && self.bandwidth_gb_s > 0.0;
        if fine {
            Ok(())
        } else {
            Err("invalid constants; expected shares from 0 to 1 and overheads of at least 0".into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates runs of models given by (bytes, layers) on 1000 GB/s and 100 TFLOP/s with known constants.
    fn runs(models: &[(f64, f64)], prompts: bool, factor: f64) -> Vec<Run> {
        let mut out = Vec::new();
        for (index, (bytes, layers)) in models.iter().enumerate() {
            for prefill in [false, true].into_iter().filter(|prefill| prompts || !prefill) {
                let tokens = if prefill { 512.0 } else { 1.0 };
                let work = Inputs::new(tokens, *bytes, 4.0 * bytes * tokens, 1000.0, 100_000.0);
                let known = Inputs {
                    layers: *layers,
                    serial: 1.0,
                    bandwidth_share: 0.8,
                    compute_share: 0.4,
                    layer_cost: 20.0,
                    ..work
                };
                let measured =
                    known.evaluate().unwrap().expected * if index == 0 && !prefill { factor } else { 1.0 };
                let inputs = Inputs { layers: *layers, serial: 1.0, measured, ..work };
                out.push(Run { name: format!("{bytes} {prefill}"), prefill, inputs });
            }
        }
        out
    }

    fn origin() -> Origin {
        let text = |text: &str| text.to_owned();
        Origin {
            device: text("rtx_4090"),
            bandwidth: 1000.0,
            engine: text("llama.cpp-cuda"),
            builds: vec![text("b1")],
            date: text("2026-11-17"),
            parts: 1.0,
        }
    }

    const SIZES: [(f64, f64); 3] = [(1e9, 16.0), (4.5e9, 32.0), (40e9, 80.0)];

    #[test]
    fn exact_runs_yield_their_constants() {
        let found = Calibration::new(origin(), &runs(&SIZES, true, 1.0)).unwrap();
        assert!((found.bandwidth_share - 0.8).abs() < 1e-6, "{found:?}");
        assert!((found.compute_share.unwrap() - 0.4).abs() < 1e-6, "{found:?}");
        assert!((found.layer_cost_us - 20.0).abs() < 1e-3, "{found:?}");
        assert!(found.condition <= MAX_CONDITION && found.spread == MIN_SPREAD, "{found:?}");
        let back = Calibration::from_json(&serde_json::to_string(&found).unwrap()).unwrap();
        assert_eq!(back, found);
    }

    #[test]
    fn insufficient_runs_are_rejected_with_advice() {
        for (models, factor, expected) in [
            (&SIZES[..1], 1.0, "only one decode run; run `llama-bench"),
            (&[(4e9, 32.0), (4.2e9, 32.0)][..], 1.0, "cannot separate bandwidth and layer overhead"),
            (&SIZES[..], 0.3, "the fit deviates by"),
            (&SIZES[..], 100.0, "faster than the ceiling of the device"),
        ] {
            let why = Calibration::new(origin(), &runs(models, true, factor)).unwrap_err();
            assert!(why.contains(expected), "{why}");
        }
        assert!(Calibration::new(origin(), &[]).unwrap_err().contains("missing decode runs"));
    }

    #[test]
    fn decode_runs_do_not_determine_the_compute_share() {
        let found = Calibration::new(origin(), &runs(&SIZES, false, 1.0)).unwrap();
        assert_eq!((found.compute_share, found.step_cost_us), (None, None));
        assert!(found.missing[0].contains("-p 512"), "{:?}", found.missing);
        assert!((found.bandwidth_share - 0.8).abs() < 0.05, "{found:?}");
    }
}
