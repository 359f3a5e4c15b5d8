//! The constants of one machine and engine, from runs of the user: shares of bandwidth and arithmetic and fixed costs, as the
//! contract `expectation-v1` has them, with how well the runs determine them. What they do not determine is refused, with what
//! to run in addition.

use roofline_render::chart::terminal::Canvas;
use serde::{Deserialize, Serialize};

use super::ceiling::Uncovered;
use super::engine::Engine;
use super::format;
use super::least_squares::{Solution, solve};
use super::model::{self, Shape};
use super::question::{Question, Setting};
use super::table::{Phase, Row};
use crate::predict::{Expectation, ExpectedFrom, ExpectedSpeed, Stored, Target, predict};
use roofline_formulas::expectation::{CONTRACT, Inputs, OutOfDomain};
use roofline_formulas::hardware::devices::Device;
use roofline_formulas::transformer;
use roofline_render::number::{figure, maybe, percent};
use roofline_render::report::{Report, Saved, Schema, Table};

/// An error of the runs may grow this much in a constant.
const WORST_CONDITION: f64 = 12.0;
/// A run may be off this much when the constants come from the others.
const WORST_ERROR: f64 = 0.3;
/// No band is narrower, as a part of the speed.
const NARROWEST: f64 = 0.05;

/// The dimensions of a model that ran.
#[derive(Clone, Debug)]
pub struct Dimensions {
    /// Its name.
    pub name: String,
    /// The contract's inputs for one sequence of one token.
    pub inputs: transformer::Inputs,
    /// Its layers.
    pub layers: f64,
    /// All parameters, by which a run is known to be of it.
    pub parameters: f64,
}

/// One run of the user.
#[derive(Clone, Debug)]
pub struct Run {
    /// What ran: the model, its format and the test.
    pub name: String,
    /// Whether a prompt was read.
    pub prefill: bool,
    /// The work, the figures of the device, and the measured rate.
    inputs: Inputs,
}

impl Run {
    /// A row of `llama-bench` on a device; the dimensions of its model are among those given, or known by its parameters or its
    /// name. None where a prompt was read behind another one, which is not part of the contract.
    pub fn of_row(
        row: &Row,
        given: &[Dimensions],
        target: &Target,
        device: Option<&'static Device>,
    ) -> Result<Option<Run>, Uncovered> {
        let prefill = row.phase == Phase::Prefill;
        if prefill && row.depth > 0.0 {
            return Ok(None);
        }
        let known = || model::of(&row.model).ok_or_else(|| Uncovered::Model(row.model.clone()));
        let shape = match given.iter().find(|one| Some(one.parameters) == row.parameters) {
            Some(Dimensions { name, inputs, layers, .. }) => {
                Shape { name: name.clone(), inputs: *inputs, layers: *layers, unused: 0.0 }
            }
            None => match row.parameters.and_then(model::with_parameters) {
                Some(shape) => shape.clone(),
                None => known()?.clone(),
            },
        };
        let (bits, numbers) = format::of(&row.format).ok_or_else(|| Uncovered::Format(row.format.clone()))?;
        let prediction = predict(row.step(&shape, bits)?, &Stored::all(numbers), target)?;
        let (model, layers, format) = (shape.name.as_str(), shape.layers, row.format.as_str());
        let setting = Setting { target, device, model, layers, format, prediction: &prediction };
        let question = Question::of_setting(&setting, Engine::of(row, device), prefill);
        let name = format!("{model} {format} {}", row.test);
        Ok(question.map(|question| {
            let inputs = Inputs { measured: row.tokens_per_s, ..question.at_its_peak() };
            Run { name, prefill, inputs }
        }))
    }

    /// A product that moves and computes so much in so many seconds on a machine with these figures.
    pub fn of_product(name: &str, amounts: (f64, f64), seconds: f64, gb_s: f64, gflop_s: f64) -> Run {
        let inputs = Inputs::new(1.0, amounts.0, amounts.1, gb_s, gflop_s);
        let inputs = Inputs { layers: 1.0, serial: 1.0, measured: 1.0 / seconds, ..inputs };
        Run { name: name.to_owned(), prefill: false, inputs }
    }

    /// The parts of the measured time that each constant is multiplied with: moving, arithmetic, layers, and the step itself.
    fn row(&self) -> Result<[f64; 4], OutOfDomain> {
        let outputs = self.inputs.evaluate()?;
        let time = self.inputs.tokens / self.inputs.measured;
        let microseconds = 1e-6 / time;
        let compute = outputs.compute_time / time;
        Ok([outputs.likely_move_time / time, compute, self.inputs.layers * microseconds, microseconds])
    }
}

/// The constants of a machine and an engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Which schema this document follows.
    pub schema: Schema<Self>,
    /// The contract that the constants are of, and its version.
    pub contract: String,
    /// The device that ran.
    pub device: String,
    /// Its bandwidth at the time, in GB/s, which the share is of.
    pub bandwidth_gb_s: f64,
    /// The engine, and what it runs on.
    pub engine: String,
    /// Builds of the engine, as the runs say them.
    pub builds: Vec<String>,
    /// The day it was made.
    pub date: String,
    /// Share of the bandwidth that is reached.
    pub bandwidth_share: f64,
    /// Share of the arithmetic peak that is reached; null where no prompt was read.
    pub compute_share: Option<f64>,
    /// Fixed cost of a layer, in µs.
    pub layer_cost_us: f64,
    /// Fixed cost of a step, in µs; null where the runs do not tell it from the layers'.
    pub step_cost_us: Option<f64>,
    /// How much an error of the runs may grow in a constant.
    pub condition: f64,
    /// Half the width of a band, as a part of the speed: how far the runs were off when they were left out, or at least a
    /// twentieth.
    pub spread: f64,
    /// The runs.
    pub runs: Vec<CalibratedRun>,
    /// What is not determined, and what to run for it.
    pub missing: Vec<String>,
}

/// A run beside what the constants make of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CalibratedRun {
    /// What ran.
    pub run: String,
    /// What was measured, in steps or products per second times their tokens.
    pub measured_tokens_per_s: f64,
    /// What the constants make of it.
    pub fitted_tokens_per_s: f64,
    /// How far off it is when the constants come from the other runs, as a part of it; null where those determine none.
    pub left_out_error: Option<f64>,
}

/// Where and by what the runs were made.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The device.
    pub device: String,
    /// Its bandwidth, in GB/s.
    pub bandwidth: f64,
    /// The engine.
    pub engine: String,
    /// Its builds.
    pub builds: Vec<String>,
    /// The day.
    pub date: String,
    /// How many of what a run counts as layers make a layer of a model: 1, or more where runs are single products.
    pub parts: f64,
}

/// Constants: bandwidth, arithmetic, layer, step.
const ALL: [bool; 4] = [true; 4];
const WITHOUT_STEP: [bool; 4] = [true, true, true, false];
const WITHOUT_PROMPTS: [bool; 4] = [true, false, true, false];
/// No share is above the whole, and no cost below zero.
const LEAST: [f64; 4] = [1.0, 1.0, 0.0, 0.0];

/// The runs as a system of equations.
struct System(Vec<[f64; 4]>);

impl System {
    fn new(runs: &[Run]) -> Result<System, String> {
        let rows: Result<Vec<[f64; 4]>, OutOfDomain> = runs.iter().map(Run::row).collect();
        let rows = rows.map_err(|error| error.to_string())?;
        if let Some((run, _)) = runs.iter().zip(&rows).find(|(_, row)| row[0].max(row[1]) > 1.0) {
            return Err(format!("{}: faster than the device can be; say which one ran with --on", run.name));
        }
        match runs.iter().filter(|run| !run.prefill).count() {
            0 => Err(format!("no run of decoding; {ANOTHER_MODEL}")),
            1 => Err(format!("one run of decoding; {ANOTHER_MODEL}")),
            _ => Ok(System(rows)),
        }
    }

    /// The part of a run's measured time that constants make.
    fn made(&self, values: &[f64; 4], index: usize) -> f64 {
        self.0[index].iter().zip(values).map(|(a, b)| a * b).sum()
    }

    /// How far a run is off when the constants come from the others; none if those determine none.
    fn left_out(&self, used: [bool; 4], index: usize) -> Option<f64> {
        let mut others = self.0.clone();
        others.remove(index);
        let solution =
            solve(&others, used, LEAST).filter(|solution| solution.condition <= WORST_CONDITION)?;
        Some((1.0 / self.made(&solution.values, index) - 1.0).abs())
    }

    fn solved(&self, used: [bool; 4]) -> Option<([bool; 4], Solution<4>)> {
        let needed = used.iter().filter(|used| **used).count();
        let solution = solve(&self.0, used, LEAST)?;
        let determined = self.0.len() > needed && solution.condition <= WORST_CONDITION;
        // The cost of a step is told from that of layers only where any one run may be left out.
        let told = || used != ALL || (0..self.0.len()).all(|index| self.left_out(used, index).is_some());
        (determined && told()).then_some((used, solution))
    }

    /// The constants that the runs determine, and which of them those are.
    fn constants(&self, prompts: bool) -> Result<([bool; 4], Solution<4>), String> {
        let tried = if prompts { [ALL, WITHOUT_STEP] } else { [WITHOUT_PROMPTS; 2] };
        tried.into_iter().find_map(|used| self.solved(used)).ok_or_else(|| {
            match solve(&self.0, tried[1], LEAST).map(|solution| solution.condition) {
                Some(condition) if condition > WORST_CONDITION => format!(
                    "the runs do not tell bandwidth and the cost of a layer apart (condition {}, at most {WORST_CONDITION}); \
                     {ANOTHER_MODEL}",
                    figure(condition)
                ),
                _ => format!("{} runs are too few; {ANOTHER_MODEL}", self.0.len()),
            }
        })
    }
}

impl CalibratedRun {
    /// How far it is off, fitted or left out, as a part of the speed.
    fn off(&self) -> f64 {
        let fitted = (self.fitted_tokens_per_s / self.measured_tokens_per_s - 1.0).abs();
        self.left_out_error.unwrap_or(0.0).max(fitted)
    }
}

impl Calibration {
    /// The constants that the runs determine; why and what to run in addition where they determine none.
    pub fn new(origin: Origin, runs: &[Run]) -> Result<Calibration, String> {
        let system = System::new(runs)?;
        let (used, Solution { values, condition }) = system.constants(runs.iter().any(|run| run.prefill))?;
        let run = |(index, run): (usize, &Run)| CalibratedRun {
            run: run.name.clone(),
            measured_tokens_per_s: run.inputs.measured,
            fitted_tokens_per_s: run.inputs.measured / system.made(&values, index),
            left_out_error: system.left_out(used, index),
        };
        let each: Vec<CalibratedRun> = runs.iter().enumerate().map(run).collect();
        let worst = each.iter().max_by(|a, b| a.off().total_cmp(&b.off()));
        if let Some(run) = worst.filter(|run| run.off() > WORST_ERROR) {
            return Err(format!(
                "{} is off by {} when the constants come from the runs, at most {} is taken; run it again, run models in one \
                 format only, or {ANOTHER_MODEL}",
                run.run,
                percent(Some(run.off())),
                percent(Some(WORST_ERROR))
            ));
        }
        let spread = each.iter().map(CalibratedRun::off).fold(NARROWEST, f64::max);
        let missing = [
            (used[1], "share of the arithmetic: no prompt was read; run llama-bench with -p 512 too"),
            (
                used[3],
                "cost of a step, which counts as that of layers: run models with other numbers of layers",
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

    /// What the constants make of a prediction.
    pub fn expect(&self, setting: &Setting<'_>) -> Expectation {
        let Some(engine) = Engine::named(&self.engine) else { return Expectation::default() };
        let mut missing = Vec::new();
        let mut speed = |prefill: bool| {
            let question = Question::of_setting(setting, engine.clone(), prefill)?;
            if prefill && self.compute_share.is_none() {
                missing.push("prefill: no prompt was read when it was calibrated".to_owned());
                return None;
            }
            let asked = Inputs {
                bandwidth_share: self.bandwidth_share,
                compute_share: self.compute_share.unwrap_or(1.0),
                layer_cost: self.layer_cost_us,
                step_cost: self.step_cost_us.unwrap_or(0.0),
                ..question.at_its_peak()
            };
            match asked.evaluate() {
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
    /// The engine that ran, on a device of the registry or a machine that was measured.
    pub fn engine_on(&self, device: Option<&Device>) -> Engine {
        Engine::of(self, device)
    }
}

/// What tells bandwidth and fixed costs apart.
const ANOTHER_MODEL: &str =
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
                "arithmetic share",
                self.compute_share.map_or("not determined".into(), |share| percent(Some(share))),
            ),
            ("cost of a layer", unit(Some(self.layer_cost_us), " us")),
            ("cost of a step", unit(self.step_cost_us, " us")),
            ("condition", figure(self.condition)),
            ("band", format!("+- {}", percent(Some(self.spread)))),
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
        let headings = ["run", "measured", "fitted", "off when left out"];
        vec![Table::new(title, &["constant", "value"], rows), Table::new("Runs", &headings, runs)]
    }

    fn text(&self, canvas: &Canvas) -> String {
        let tables =
            self.tables().iter().map(|table| table.fitted(canvas, &[])).collect::<Vec<_>>().join("\n");
        let missing: String = self.missing.iter().map(|line| format!("not determined: {line}\n")).collect();
        let builds = if self.builds.is_empty() {
            String::new()
        } else {
            format!(", build {}", self.builds.join(", "))
        };
        format!("{tables}\n{missing}made {}{builds}\n", self.date)
    }
}

impl Saved for Calibration {
    fn validate(&self) -> Result<(), String> {
        let share = |value: f64| value > 0.0 && value <= 1.0;
        let cost = |value: f64| (0.0..=1e6).contains(&value);
        if Engine::named(&self.engine).is_none() {
            return Err(format!(
                "`engine` is {:?}; it is a program and what it runs on, such as llama.cpp-cuda",
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
        if fine { Ok(()) } else { Err("a share lies outside of 0 to 1, or a cost below 0".into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs of models with so many bytes and layers, on 1000 GB/s and 100 TFLOP/s, with known constants.
    fn runs(models: &[(f64, f64)], prompts: bool, off: f64) -> Vec<Run> {
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
                    known.evaluate().unwrap().expected * if index == 0 && !prefill { off } else { 1.0 };
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
    fn the_constants_that_made_the_runs_are_found() {
        let found = Calibration::new(origin(), &runs(&SIZES, true, 1.0)).unwrap();
        assert!((found.bandwidth_share - 0.8).abs() < 1e-6, "{found:?}");
        assert!((found.compute_share.unwrap() - 0.4).abs() < 1e-6, "{found:?}");
        assert!((found.layer_cost_us - 20.0).abs() < 1e-3, "{found:?}");
        assert!(found.condition <= WORST_CONDITION && found.spread == NARROWEST, "{found:?}");
        let back = Calibration::from_json(&serde_json::to_string(&found).unwrap()).unwrap();
        assert_eq!(back, found);
    }

    #[test]
    fn runs_that_do_not_determine_the_constants_are_refused_with_what_to_run() {
        for (models, off, says) in [
            (&SIZES[..1], 1.0, "one run of decoding; run `llama-bench"),
            (&[(4e9, 32.0), (4.2e9, 32.0)][..], 1.0, "do not tell bandwidth and the cost of a layer apart"),
            (&SIZES[..], 0.3, "is off by"),
            (&SIZES[..], 100.0, "faster than the device can be"),
        ] {
            let why = Calibration::new(origin(), &runs(models, true, off)).unwrap_err();
            assert!(why.contains(says), "{why}");
        }
        assert!(Calibration::new(origin(), &[]).unwrap_err().contains("no run of decoding"));
    }

    #[test]
    fn without_prompts_the_share_of_arithmetic_is_not_determined() {
        let found = Calibration::new(origin(), &runs(&SIZES, false, 1.0)).unwrap();
        assert_eq!((found.compute_share, found.step_cost_us), (None, None));
        assert!(found.missing[0].contains("-p 512"), "{:?}", found.missing);
        assert!((found.bandwidth_share - 0.8).abs() < 0.05, "{found:?}");
    }
}
