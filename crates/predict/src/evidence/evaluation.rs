//! Cross-validation of the expected speeds. The overhead per layer and the margins of the ranges are fitted again without the held-out
//! rows.

use std::collections::{BTreeMap, BTreeSet};

use super::engine::Engine;
use super::expectation::{ExpectedRange, Fit, HIGH, LOW, MARGINS, Sample, quantile, samples};
use super::similarity::Processor;

/// Rows that are held out when the speed of a row is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldOut {
    /// The model on this device; devices with a single model have no expected speed.
    ModelOnDevice,
    /// The model on every device.
    Model,
    /// All models on this device.
    Device,
}

impl HeldOut {
    pub const ALL: [HeldOut; 3] = [HeldOut::ModelOnDevice, HeldOut::Model, HeldOut::Device];

    pub fn name(self) -> &'static str {
        match self {
            HeldOut::ModelOnDevice => "the model on this device",
            HeldOut::Model => "the model everywhere",
            HeldOut::Device => "the device",
        }
    }

    /// Returns the key that rows which are held out together share.
    fn key(self, group: Group) -> (Option<(&'static str, bool)>, Option<&'static str>) {
        match self {
            HeldOut::ModelOnDevice => (Some(group.device), Some(group.model)),
            HeldOut::Model => (None, Some(group.model)),
            HeldOut::Device => (Some(group.device), None),
        }
    }
}

/// Accuracy of the expected speeds for held-out rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    pub held_out: HeldOut,
    pub prefill: bool,
    /// Number of held-out rows.
    pub rows: usize,
    /// Number of rows without an expected speed.
    pub refused: usize,
    /// Median error of the middle of the range, relative to the measured speed.
    pub median_error: f64,
    /// Share of the ranges that contain the measured speed.
    pub inside: f64,
    /// Median ratio of the high end to the low end of the range.
    pub width: f64,
}

/// Number of folds; the margin for each is fitted to the others.
const FOLDS: usize = 5;

/// Evaluates decode and prefill.
pub fn evaluate(held_out: HeldOut) -> Vec<Accuracy> {
    [false, true].map(|prefill| evaluate_phase(held_out, prefill)).to_vec()
}

fn evaluate_phase(held_out: HeldOut, prefill: bool) -> Accuracy {
    let all: Vec<&'static Sample> =
        samples().iter().filter(|sample| sample.features.prefill == prefill).collect();
    let key = |sample: &'static Sample| held_out.key(Group::for_sample(sample));
    let groups: BTreeSet<_> = all.iter().map(|sample| key(sample)).collect();
    let folds: BTreeMap<_, usize> =
        groups.into_iter().enumerate().map(|(index, group)| (group, index % FOLDS)).collect();
    let fold = |sample: &'static Sample| folds.get(&key(sample)).copied().unwrap_or_default();
    let margins: Vec<f64> = (0..FOLDS)
        .map(|one| margin(&all.iter().copied().filter(|sample| fold(sample) != one).collect::<Vec<_>>()))
        .collect();
    // Rows with equal key and engine share a fit.
    let mut fits: BTreeMap<(_, &Engine), Fit> = BTreeMap::new();
    let mut predictions: Vec<(f64, ExpectedRange)> = Vec::new();
    for &sample in &all {
        let engine = &sample.features.engine;
        let fit = fits.entry((key(sample), engine)).or_insert_with(|| {
            let remaining = |other: &&'static Sample| key(other) != key(sample);
            let same_engine = |other: &&'static Sample| other.features.engine == *engine;
            let pool: Vec<&Sample> = all.iter().copied().filter(same_engine).filter(remaining).collect();
            Fit::new(&pool, margins[fold(sample)])
        });
        // Except when devices are held out, the device must occur in the remaining rows.
        if held_out == HeldOut::Device || fit.knows(&sample.features.processor) {
            let expected = fit.expect(&sample.features).ok();
            predictions.extend(expected.map(|expected| (sample.row.tokens_per_s, expected.range)));
        }
    }
    let within = predictions.iter().filter(|(speed, range)| (range.low..=range.high).contains(speed)).count();
    Accuracy {
        held_out,
        prefill,
        rows: all.len(),
        refused: all.len() - predictions.len(),
        median_error: median(predictions.iter().map(|(speed, range)| (range.middle / speed - 1.0).abs())),
        inside: within as f64 / predictions.len().max(1) as f64,
        width: median(predictions.iter().map(|(_, range)| range.high / range.low)),
    }
}

/// DeviceProfile share of held-out rows inside their ranges: above 80 %, so that at least 80 % remain for rows that the margins were not
/// fitted to.
const TARGET_COVERAGE: f64 = 0.85;

impl Fit {
    /// Returns whether the fit contains rows of this device.
    fn knows(&self, processor: &Processor) -> bool {
        let same = |sample: &Sample| {
            let known = &sample.features.processor;
            known.name == processor.name && known.on_cpu == processor.on_cpu
        };
        self.rows.iter().any(|(sample, _)| same(sample))
    }

    /// Returns the margin that each row requires when its model on its device is held out.
    fn required_margins(&self) -> impl Iterator<Item = f64> {
        self.rows.iter().filter_map(|(sample, share)| {
            let own = Group::for_sample(sample);
            let neighborhood =
                self.neighborhood(&sample.features, |other| Group::for_sample(other) != own).ok()?;
            let (low, high) = (quantile(&neighborhood.shares, LOW), quantile(&neighborhood.shares, HIGH));
            // Shares are limited to 1, so a row may require more than the ratio of its share to the end of the range.
            let speed = |share: f64| sample.features.speed(share, self.layer_cost).unwrap_or(0.0);
            let covers = |margin: f64| {
                let within = speed(low * (-margin).exp())..=speed(high * margin.exp());
                within.contains(&sample.row.tokens_per_s)
            };
            let minimum = (low / share).max(share / high).ln().max(0.0);
            let candidates = (0..100).map(|step| minimum + 0.01 * f64::from(step));
            let margin = candidates.into_iter().find(|margin| covers(margin + 1e-9)).unwrap_or(f64::INFINITY);
            Some(margin / (1.0 + neighborhood.closest))
        })
    }
}

/// Returns the margin that reaches [`TARGET_COVERAGE`] for rows of one phase.
fn margin(pool: &[&'static Sample]) -> f64 {
    let mut engines: BTreeMap<&Engine, Vec<&'static Sample>> = BTreeMap::new();
    for sample in pool {
        engines.entry(&sample.features.engine).or_default().push(sample);
    }
    let mut margins: Vec<f64> = engines
        .values()
        .flat_map(|pool| Fit::new(pool, 0.0).required_margins().collect::<Vec<_>>())
        .collect();
    margins.sort_by(f64::total_cmp);
    let rank = (margins.len() as f64 * TARGET_COVERAGE).ceil() as usize;
    margins.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

/// Device and model of a row, by which rows are held out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    /// Name of the device, and whether its CPU runs the model.
    device: (&'static str, bool),
    model: &'static str,
}

impl Group {
    fn for_sample(sample: &'static Sample) -> Group {
        Group {
            device: (sample.device.name, sample.features.processor.on_cpu),
            model: &sample.features.model,
        }
    }
}

/// Returns the median; NaN for no values.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[test]
fn ranges_cover_80_percent_on_known_devices() {
    let [decode, prefill] = evaluate(HeldOut::ModelOnDevice)[..] else { panic!("two phases") };
    for (found, error) in [(decode, 0.12), (prefill, 0.20)] {
        assert!(found.median_error <= error, "{found:?}");
        assert!(found.inside >= 0.8, "{found:?}");
        assert!(found.rows - found.refused > 300, "{found:?}");
    }
}

#[test]
fn the_margins_match_the_published_results() {
    let found = [false, true].map(|prefill| {
        let pool: Vec<&Sample> =
            samples().iter().filter(|sample| sample.features.prefill == prefill).collect();
        (margin(&pool) * 1000.0).ceil() / 1000.0
    });
    assert_eq!(found, MARGINS);
}
