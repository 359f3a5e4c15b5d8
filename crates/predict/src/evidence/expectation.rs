//! Expected speeds from comparable results. Each published result yields the share of both peaks that an engine reached, apart from
//! a fixed overhead per layer (contract `expectation-v1`). The expected range is the weighted distribution of the shares of
//! comparable results.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::ceiling::{Verdict, judge};
use super::engine::Engine;
use super::similarity::{Features, Setting};
use super::table::{Row, rows};
use roofline_formulas::expectation::Inputs;
use roofline_formulas::hardware::devices::Device;

/// A row with its features.
pub(super) struct Sample {
    pub row: &'static Row,
    pub device: &'static Device,
    pub features: Features,
}

/// Returns the published results that expected speeds are based on.
pub(super) fn samples() -> &'static [Sample] {
    static SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(|| {
        let judged = rows().iter().zip(judge(rows()));
        let sampled = judged.filter_map(|(row, verdict)| match verdict {
            Verdict::Possible(compared) => {
                let features = Features::from_row(row, &compared)?;
                Some(Sample { row, device: compared.device, features })
            }
            _ => None,
        });
        sampled.collect()
    });
    &SAMPLES
}

/// Maximum distance of the closest comparable result.
const MAX_DISTANCE: f64 = 6.0;
/// Minimum number of results for an expected range.
const MIN_ROWS: usize = 3;
/// Candidates for the overhead per layer, in µs.
const COSTS: [f64; 10] = [0.0, 5.0, 10.0, 20.0, 30.0, 40.0, 60.0, 80.0, 120.0, 160.0];
/// Shares of both peaks above this are implausible.
const MAX_SHARE: f64 = 0.95;
/// Margins of the range for decode and prefill: natural logarithm of the factor per unit of (1 + distance). A test fits them again.
pub(super) const MARGINS: [f64; 2] = [0.035, 0.114];

/// Expected range of a speed, in token/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedRange {
    /// 10th percentile of comparable results, minus the margin.
    pub low: f64,
    /// Median of comparable results.
    pub middle: f64,
    /// 90th percentile of comparable results, plus the margin.
    pub high: f64,
}

/// Expected speed with its origin.
#[derive(Clone, Debug)]
pub struct Expected {
    /// Engine of the comparable results.
    pub engine: Engine,
    /// Expected range of the speed.
    pub range: ExpectedRange,
    /// Effective number of comparable results.
    pub rows: f64,
    /// Similarity of the closest match: 1 for equal features, 0.5 if one feature differs.
    pub nearness: f64,
    /// Closest match.
    pub nearest: &'static Row,
    /// Median share of both peaks.
    pub share: f64,
    /// Overhead per layer, in µs.
    pub layer_cost: f64,
}

/// Reason for a missing expected speed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoExpectation {
    /// Without a selected engine: devices of this kind have no published results.
    #[error("no published results for devices of this kind")]
    Device,
    /// There are too few results of the engine.
    #[error("fewer than {MIN_ROWS} published results of {0}")]
    Engine(Engine),
    /// No result of the engine is comparable.
    #[error("no comparable results of {0}")]
    Far(Engine),
    /// The arithmetic peak of the device is not published.
    #[error("no published arithmetic peak of the device")]
    Arithmetic,
    /// A value is outside the domain of the contract.
    #[error("{0}")]
    OutOfDomain(String),
}

/// Returns the expected speed for the work of a row, independent of its measured speed; `None` without comparable results.
pub fn expect(row: &Row) -> Option<Expected> {
    let features = Features::from_row(row, &row.with_ceiling().ok()?)?;
    Fit::for_features(&features).ok()?.expect(&features).ok()
}

/// Returns the expected prefill or decode speed for a prediction.
///
/// # Errors
/// Returns the reason for a missing expected speed.
pub fn expect_prediction(
    setting: &Setting<'_>,
    engine: Engine,
    prefill: bool,
) -> Result<Expected, NoExpectation> {
    let features = Features::for_setting(setting, engine, prefill).ok_or(NoExpectation::Arithmetic)?;
    Fit::for_features(&features)?.expect(&features)
}

/// Shares and overhead of the results of one engine and phase.
pub(super) struct Fit {
    /// Results with their shares of both peaks.
    pub rows: Vec<(&'static Sample, f64)>,
    /// Overhead per layer, in µs.
    pub layer_cost: f64,
    /// See [`MARGINS`].
    margin: f64,
}

/// Comparable results with their weights.
pub(super) struct Neighborhood {
    /// Distance of the closest match.
    pub closest: f64,
    nearest: &'static Sample,
    /// Sorted shares with their weights.
    pub shares: Vec<(f64, f64)>,
}

impl Fit {
    /// Returns the fit to all published results of the engine and phase.
    fn for_features(features: &Features) -> Result<&'static Fit, NoExpectation> {
        static FITS: LazyLock<BTreeMap<(Engine, bool), Fit>> = LazyLock::new(|| {
            let mut pools: BTreeMap<(Engine, bool), Vec<&Sample>> = BTreeMap::new();
            for sample in samples() {
                let Features { engine, prefill, .. } = &sample.features;
                pools.entry((engine.clone(), *prefill)).or_default().push(sample);
            }
            let fit = |(key, pool): ((Engine, bool), Vec<&'static Sample>)| {
                let margin = MARGINS[usize::from(key.1)];
                (key, Fit::new(&pool, margin))
            };
            pools.into_iter().map(fit).collect()
        });
        let key = (features.engine.clone(), features.prefill);
        FITS.get(&key).ok_or(NoExpectation::Engine(key.0))
    }

    /// Fits results of one engine and phase.
    pub fn new(pool: &[&'static Sample], margin: f64) -> Fit {
        let layer_cost = layer_cost(pool);
        let share = |sample: &&'static Sample| Some((*sample, observed_share(sample, layer_cost)?));
        Fit { rows: pool.iter().filter_map(share).collect(), layer_cost, margin }
    }

    /// Returns the comparable results that satisfy a predicate.
    pub fn neighborhood(
        &self,
        features: &Features,
        included: impl Fn(&'static Sample) -> bool,
    ) -> Result<Neighborhood, NoExpectation> {
        let rows = self.rows.iter().filter(|(sample, _)| included(sample));
        let near: Vec<(f64, &Sample, f64)> =
            rows.map(|(sample, share)| (features.distance(&sample.features), *sample, *share)).collect();
        if near.len() < MIN_ROWS {
            return Err(NoExpectation::Engine(features.engine.clone()));
        }
        let nearest = near.iter().min_by(|a, b| a.0.total_cmp(&b.0));
        let &(closest, nearest, _) = nearest
            .filter(|(distance, ..)| *distance <= MAX_DISTANCE)
            .ok_or_else(|| NoExpectation::Far(features.engine.clone()))?;
        let mut shares: Vec<(f64, f64)> =
            near.iter().map(|(distance, _, share)| (*share, (closest - distance).exp())).collect();
        shares.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(Neighborhood { closest, nearest, shares })
    }

    /// Returns the expected speed.
    pub fn expect(&self, features: &Features) -> Result<Expected, NoExpectation> {
        let Neighborhood { closest, nearest, shares } = self.neighborhood(features, |_| true)?;
        let layer_cost = self.layer_cost;
        let (sum, squares) =
            shares.iter().fold((0.0, 0.0), |(sum, squares), (_, w)| (sum + w, squares + w * w));
        let margin = (self.margin * (1.0 + closest)).exp();
        let speed = |share: f64| {
            features.speed(share, layer_cost).map_err(|error| NoExpectation::OutOfDomain(error.to_string()))
        };
        let share = quantile(&shares, 0.5);
        let range = ExpectedRange {
            low: speed(quantile(&shares, LOW) / margin)?,
            middle: speed(share)?,
            high: speed(quantile(&shares, HIGH) * margin)?,
        };
        Ok(Expected {
            engine: features.engine.clone(),
            range,
            rows: sum * sum / squares,
            nearness: 1.0 / (1.0 + closest),
            nearest: nearest.row,
            share,
            layer_cost,
        })
    }
}

/// Quantiles of the ends of an expected range.
pub(super) const LOW: f64 = 0.1;
pub(super) const HIGH: f64 = 0.9;

/// Returns the weighted quantile of sorted (value, weight) pairs, interpolated linearly.
pub(super) fn quantile(values: &[(f64, f64)], fraction: f64) -> f64 {
    let total: f64 = values.iter().map(|(_, weight)| weight).sum();
    let mut before: Option<(f64, f64)> = None;
    let mut sum = 0.0;
    for &(value, weight) in values {
        let at = (sum + weight / 2.0) / total;
        if at >= fraction {
            return match before {
                Some((low, from)) if at > from => low + (value - low) * (fraction - from) / (at - from),
                _ => value,
            };
        }
        sum += weight;
        before = Some((value, at));
    }
    values.last().map_or(0.0, |(value, _)| *value)
}

/// Returns the share of both peaks that a row reached, given the overhead per layer.
fn observed_share(sample: &Sample, layer_cost: f64) -> Option<f64> {
    Some(Inputs { layer_cost, ..sample.features.inputs }.evaluate().ok()?.observed_share)
}

/// Fits the overhead per layer, which minimizes the spread of shares per device and format; 0 for prefill.
fn layer_cost(pool: &[&'static Sample]) -> f64 {
    let single = |sample: &&&'static Sample| {
        let Features { batch, devices, prefill, .. } = sample.features;
        batch == 1.0 && devices == 1.0 && !prefill
    };
    let single: Vec<&Sample> = pool.iter().filter(single).copied().collect();
    let mut groups: BTreeMap<(&str, bool, &str), Vec<&Sample>> = BTreeMap::new();
    for sample in &single {
        let Features { processor, format, .. } = &sample.features;
        groups.entry((&processor.name, processor.on_cpu, format)).or_default().push(sample);
    }
    groups.retain(|_, samples| samples.len() >= MIN_ROWS);
    let spread = |cost: f64| {
        let mut sum = 0.0;
        for samples in groups.values() {
            let mut shares: Vec<f64> =
                samples.iter().filter_map(|sample| Some(observed_share(sample, cost)?.ln())).collect();
            shares.sort_by(f64::total_cmp);
            let middle = shares.get(shares.len() / 2).copied().unwrap_or_default();
            sum += shares.iter().map(|share| (share - middle).abs()).sum::<f64>();
        }
        // Penalize an overhead that leaves too little time for the work, because it makes shares implausibly high and similar.
        let full = single
            .iter()
            .filter(|sample| observed_share(sample, cost).is_some_and(|share| share > MAX_SHARE));
        sum + 10.0 * full.count() as f64
    };
    COSTS.into_iter().min_by(|a, b| spread(*a).total_cmp(&spread(*b))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str) -> Row {
        let head = "device,engine,backend,model,quant,phase,test,context,batch,tokens_per_s\n";
        super::super::read(&format!("{head}{text}\n")).unwrap().remove(0)
    }

    #[test]
    fn expected_speeds_do_not_exceed_their_ceilings() {
        let mut expected = 0;
        for row in rows().iter().step_by(7) {
            let Some(Expected { range: ExpectedRange { low, middle, high }, rows, nearness, .. }) =
                expect(row)
            else {
                continue;
            };
            let ceiling = row.with_ceiling().unwrap().ceiling();
            assert!(0.0 < low && low <= middle && middle <= high, "{row:?}");
            assert!(high <= ceiling * 1.000001, "{}: {high} exceeds {ceiling}", row.line);
            assert!(rows >= 1.0 && (0.0..=1.0).contains(&nearness));
            expected += 1;
        }
        assert!(expected > 200, "{expected}");
    }

    #[test]
    fn results_without_comparable_ones_have_no_expected_speed() {
        assert!(expect(&row("RTX 4090,unknown engine,CUDA,Llama-2-7B,Q4_0,tg,tg128,64,1,1")).is_none());
        assert!(expect(&row("RTX 4090,vLLM,Vulkan,Llama-2-7B,Q4_0,tg,tg128,64,1,1")).is_none());
        assert!(expect(&row("RTX 4090,llama.cpp,CUDA,Llama-2-7B,Q4_0,serving,x,64,max,1")).is_none());
        assert!(expect(&row("RTX 4090,llama.cpp,CUDA,Llama-2-7B,Q4_0,tg,tg128,64,1,1")).is_some());
    }

    #[test]
    fn quantiles_are_interpolated() {
        let values = [(1.0, 1.0), (2.0, 1.0), (4.0, 2.0)];
        assert_eq!(quantile(&values, 0.0), 1.0);
        assert_eq!(quantile(&values, 1.0), 4.0);
        assert_eq!(quantile(&values, 0.25), 1.5);
        assert_eq!(quantile(&[(3.0, 1.0)], 0.9), 3.0);
    }

    #[test]
    fn the_overhead_leaves_time_for_the_work() {
        let decoding = |sample: &&Sample| sample.features.engine.to_string() == "llama.cpp-cuda";
        let single = |features: &Features| features.batch == 1.0 && features.devices == 1.0;
        let decoding =
            |sample: &&Sample| decoding(sample) && !sample.features.prefill && single(&sample.features);
        let pool: Vec<&Sample> = samples().iter().filter(decoding).collect();
        let cost = layer_cost(&pool);
        assert!(cost > 0.0);
        for sample in pool {
            let share = observed_share(sample, cost).unwrap();
            assert!(share < 1.0, "{} {}: {share}", sample.row.line, sample.row.device);
        }
    }
}
