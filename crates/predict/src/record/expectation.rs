//! The speed to expect, from rows alike. Each row of the record says which share of both peaks an engine reached beside a
//! fixed cost for each layer; the contract `expectation-v1` has the formulas. A question is answered by the shares of
//! the rows nearest to it, and not at all where there are none.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::ceiling::{Verdict, judge};
use super::engine::Engine;
use super::question::{Question, Setting};
use super::table::{Row, rows};
use roofline_formulas::expectation::Inputs;
use roofline_formulas::hardware::devices::Device;

/// One row as the fit sees it.
pub(super) struct Sample {
    /// The row.
    pub row: &'static Row,
    /// Its device.
    pub device: &'static Device,
    /// What it answers.
    pub question: Question,
}

/// The rows of the record that speeds are expected from.
pub(super) fn samples() -> &'static [Sample] {
    static SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(|| {
        let judged = rows().iter().zip(judge(rows()));
        let sampled = judged.filter_map(|(row, verdict)| match verdict {
            Verdict::Possible(beside) => {
                let question = Question::of_row(row, &beside)?;
                Some(Sample { row, device: beside.device, question })
            }
            _ => None,
        });
        sampled.collect()
    });
    &SAMPLES
}

/// A row farther than this says nothing.
const TOO_FAR: f64 = 6.0;
/// Fewer rows than this make no band.
const FEWEST: usize = 3;
/// Costs of a layer that are tried, in µs.
const COSTS: [f64; 10] = [0.0, 5.0, 10.0, 20.0, 30.0, 40.0, 60.0, 80.0, 120.0, 160.0];
/// A share of both peaks that nobody reaches.
const FULL: f64 = 0.95;
/// How much wider than the rows a band of decoding and of prompts is, as a power of e, at no distance and again for each
/// unit of it; a test finds them anew.
pub(super) const MARGINS: [f64; 2] = [0.035, 0.114];

/// What rows alike make of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// A tenth of rows alike is slower, in token/s.
    pub low: f64,
    /// As many are slower as faster.
    pub middle: f64,
    /// A tenth is faster.
    pub high: f64,
}

/// The speed to expect, and what it comes from.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The engine.
    pub engine: Engine,
    /// The speeds.
    pub band: Band,
    /// How many rows count, as if all counted the same.
    pub rows: f64,
    /// How near the nearest is: 1 for the same setting, a half where one trait differs, 0 for none.
    pub nearness: f64,
    /// The nearest row.
    pub nearest: &'static Row,
    /// Share of both peaks in the middle.
    pub share: f64,
    /// Fixed cost of a layer, in µs.
    pub layer_cost: f64,
}

/// Why nothing is expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Silence {
    /// The record has no device of this kind, and no engine was named.
    #[error("the record has no rows of devices of this kind")]
    Device,
    /// The record has too few rows of the engine.
    #[error("the record has fewer than {FEWEST} such rows of {0}")]
    Engine(Engine),
    /// No row of the engine is near.
    #[error("no row of {0} is near")]
    Far(Engine),
    /// There is nothing that the time could be a share of.
    #[error("nobody publishes an arithmetic peak of the device")]
    Arithmetic,
    /// A figure is outside of what the contract takes.
    #[error("{0}")]
    OutOfDomain(String),
}

/// The speed to expect of a row, whatever speed it claims; none where the record has nothing like it.
pub fn expect(row: &Row) -> Option<Expected> {
    let question = Question::of_row(row, &row.beside().ok()?)?;
    Fit::of_the_record(&question).ok()?.answer(&question).ok()
}

/// The speed to expect of a prediction: of reading its prompt, or of decoding.
pub fn expect_of(setting: &Setting<'_>, engine: Engine, prefill: bool) -> Result<Expected, Silence> {
    let question = Question::of_setting(setting, engine, prefill).ok_or(Silence::Arithmetic)?;
    Fit::of_the_record(&question)?.answer(&question)
}

/// What rows of one engine and phase have in common.
pub(super) struct Fit {
    /// The rows, each with the share of both peaks that it reached.
    pub rows: Vec<(&'static Sample, f64)>,
    /// Fixed cost of a layer, in µs.
    pub layer_cost: f64,
    /// See [`MARGINS`].
    margin: f64,
}

/// The weight of rows around a question.
pub(super) struct Around {
    /// How far the nearest is.
    pub closest: f64,
    nearest: &'static Sample,
    /// Shares in order, each with its weight.
    pub shares: Vec<(f64, f64)>,
}

impl Fit {
    /// What the whole record says of the engine and phase of a question.
    fn of_the_record(question: &Question) -> Result<&'static Fit, Silence> {
        static FITS: LazyLock<BTreeMap<(Engine, bool), Fit>> = LazyLock::new(|| {
            let mut pools: BTreeMap<(Engine, bool), Vec<&Sample>> = BTreeMap::new();
            for sample in samples() {
                let Question { engine, prefill, .. } = &sample.question;
                pools.entry((engine.clone(), *prefill)).or_default().push(sample);
            }
            let fit = |(key, pool): ((Engine, bool), Vec<&'static Sample>)| {
                let margin = MARGINS[usize::from(key.1)];
                (key, Fit::new(&pool, margin))
            };
            pools.into_iter().map(fit).collect()
        });
        let key = (question.engine.clone(), question.prefill);
        FITS.get(&key).ok_or(Silence::Engine(key.0))
    }

    /// The fit of these rows, all of one engine and phase.
    pub fn new(pool: &[&'static Sample], margin: f64) -> Fit {
        let layer_cost = layer_cost(pool);
        let share = |sample: &&'static Sample| Some((*sample, observed(sample, layer_cost)?));
        Fit { rows: pool.iter().filter_map(share).collect(), layer_cost, margin }
    }

    /// The rows around a question, but for those that are kept back.
    pub fn around(
        &self,
        question: &Question,
        kept: impl Fn(&'static Sample) -> bool,
    ) -> Result<Around, Silence> {
        let rows = self.rows.iter().filter(|(sample, _)| kept(sample));
        let near: Vec<(f64, &Sample, f64)> =
            rows.map(|(sample, share)| (question.distance(&sample.question), *sample, *share)).collect();
        if near.len() < FEWEST {
            return Err(Silence::Engine(question.engine.clone()));
        }
        let nearest = near.iter().min_by(|a, b| a.0.total_cmp(&b.0));
        let &(closest, nearest, _) = nearest
            .filter(|(distance, ..)| *distance <= TOO_FAR)
            .ok_or_else(|| Silence::Far(question.engine.clone()))?;
        let mut shares: Vec<(f64, f64)> =
            near.iter().map(|(distance, _, share)| (*share, (closest - distance).exp())).collect();
        shares.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(Around { closest, nearest, shares })
    }

    /// What the rows say.
    pub fn answer(&self, question: &Question) -> Result<Expected, Silence> {
        let Around { closest, nearest, shares } = self.around(question, |_| true)?;
        let layer_cost = self.layer_cost;
        let (sum, squares) =
            shares.iter().fold((0.0, 0.0), |(sum, squares), (_, w)| (sum + w, squares + w * w));
        let margin = (self.margin * (1.0 + closest)).exp();
        let speed = |share: f64| {
            question.speed(share, layer_cost).map_err(|error| Silence::OutOfDomain(error.to_string()))
        };
        let share = quantile(&shares, 0.5);
        let band = Band {
            low: speed(quantile(&shares, LOW) / margin)?,
            middle: speed(share)?,
            high: speed(quantile(&shares, HIGH) * margin)?,
        };
        Ok(Expected {
            engine: question.engine.clone(),
            band,
            rows: sum * sum / squares,
            nearness: 1.0 / (1.0 + closest),
            nearest: nearest.row,
            share,
            layer_cost,
        })
    }
}

/// The ends of a band.
pub(super) const LOW: f64 = 0.1;
pub(super) const HIGH: f64 = 0.9;

/// The value that this part of the weight lies below; the values are in order.
pub(super) fn quantile(values: &[(f64, f64)], part: f64) -> f64 {
    let total: f64 = values.iter().map(|(_, weight)| weight).sum();
    let mut before: Option<(f64, f64)> = None;
    let mut sum = 0.0;
    for &(value, weight) in values {
        let at = (sum + weight / 2.0) / total;
        if at >= part {
            return match before {
                Some((low, from)) if at > from => low + (value - low) * (part - from) / (at - from),
                _ => value,
            };
        }
        sum += weight;
        before = Some((value, at));
    }
    values.last().map_or(0.0, |(value, _)| *value)
}

/// The share of both peaks that a row reached beside a fixed cost of each layer.
fn observed(sample: &Sample, layer_cost: f64) -> Option<f64> {
    Some(Inputs { layer_cost, ..sample.question.inputs }.evaluate().ok()?.observed_share)
}

/// The fixed cost of a layer that makes the shares of one device and format the most alike; of a prompt, none.
fn layer_cost(pool: &[&'static Sample]) -> f64 {
    let single = |sample: &&&'static Sample| {
        let Question { batch, devices, prefill, .. } = sample.question;
        batch == 1.0 && devices == 1.0 && !prefill
    };
    let single: Vec<&Sample> = pool.iter().filter(single).copied().collect();
    let mut groups: BTreeMap<(&str, bool, &str), Vec<&Sample>> = BTreeMap::new();
    for sample in &single {
        let Question { place, format, .. } = &sample.question;
        groups.entry((&place.name, place.on_cpu, format)).or_default().push(sample);
    }
    groups.retain(|_, samples| samples.len() >= FEWEST);
    let spread = |cost: f64| {
        let mut sum = 0.0;
        for samples in groups.values() {
            let mut shares: Vec<f64> =
                samples.iter().filter_map(|sample| Some(observed(sample, cost)?.ln())).collect();
            shares.sort_by(f64::total_cmp);
            let middle = shares.get(shares.len() / 2).copied().unwrap_or_default();
            sum += shares.iter().map(|share| (share - middle).abs()).sum::<f64>();
        }
        // A cost that leaves a row no time for its work makes its share whole, and alike for nothing.
        let full = single.iter().filter(|sample| observed(sample, cost).is_some_and(|share| share > FULL));
        sum + 10.0 * full.count() as f64
    };
    COSTS.into_iter().min_by(|a, b| spread(*a).total_cmp(&spread(*b))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Row {
        let head = "device,engine,backend,model,quant,phase,test,context,batch,tokens_per_s\n";
        super::super::read(&format!("{head}{text}\n")).unwrap().remove(0)
    }

    #[test]
    fn what_is_expected_lies_within_its_ceiling() {
        let mut answered = 0;
        for row in rows().iter().step_by(7) {
            let Some(Expected { band: Band { low, middle, high }, rows, nearness, .. }) = expect(row) else {
                continue;
            };
            let ceiling = row.beside().unwrap().ceiling();
            assert!(0.0 < low && low <= middle && middle <= high, "{row:?}");
            assert!(high <= ceiling * 1.000001, "{}: {high} of {ceiling}", row.line);
            assert!(rows >= 1.0 && (0.0..=1.0).contains(&nearness));
            answered += 1;
        }
        assert!(answered > 200, "{answered}");
    }

    #[test]
    fn nothing_is_said_where_the_record_says_nothing() {
        assert!(expect(&asked("RTX 4090,nobody's engine,CUDA,Llama-2-7B,Q4_0,tg,tg128,64,1,1")).is_none());
        assert!(expect(&asked("RTX 4090,vLLM,Vulkan,Llama-2-7B,Q4_0,tg,tg128,64,1,1")).is_none());
        assert!(expect(&asked("RTX 4090,llama.cpp,CUDA,Llama-2-7B,Q4_0,serving,x,64,max,1")).is_none());
        assert!(expect(&asked("RTX 4090,llama.cpp,CUDA,Llama-2-7B,Q4_0,tg,tg128,64,1,1")).is_some());
    }

    #[test]
    fn a_quantile_lies_between_the_values_around_it() {
        let values = [(1.0, 1.0), (2.0, 1.0), (4.0, 2.0)];
        assert_eq!(quantile(&values, 0.0), 1.0);
        assert_eq!(quantile(&values, 1.0), 4.0);
        assert_eq!(quantile(&values, 0.25), 1.5);
        assert_eq!(quantile(&[(3.0, 1.0)], 0.9), 3.0);
    }

    #[test]
    fn a_layer_leaves_time_for_the_work_of_every_row() {
        let decoding = |sample: &&Sample| sample.question.engine.to_string() == "llama.cpp-cuda";
        let single = |question: &Question| question.batch == 1.0 && question.devices == 1.0;
        let decoding =
            |sample: &&Sample| decoding(sample) && !sample.question.prefill && single(&sample.question);
        let pool: Vec<&Sample> = samples().iter().filter(decoding).collect();
        let cost = layer_cost(&pool);
        assert!(cost > 0.0);
        for sample in pool {
            let share = observed(sample, cost).unwrap();
            assert!(share < 1.0, "{} {}: {share}", sample.row.line, sample.row.device);
        }
    }
}
