//! How far the expectation is from rows that it was not shown. What is found from the record, the cost of a layer and the
//! margins of the bands, is found anew from the rows that remain.

use std::collections::{BTreeMap, BTreeSet};

use super::engine::Engine;
use super::expectation::{Band, Fit, HIGH, LOW, MARGINS, Sample, quantile, samples};
use super::question::Place;

/// What is kept back of the record before a row is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// The model of the row on its device; other models stay, and rows of devices with one model are refused.
    ModelOnDevice,
    /// The model of the row on every device.
    Model,
    /// The device of the row, with all models.
    Device,
}

impl LeftOut {
    pub const ALL: [LeftOut; 3] = [LeftOut::ModelOnDevice, LeftOut::Model, LeftOut::Device];

    pub fn name(self) -> &'static str {
        match self {
            LeftOut::ModelOnDevice => "the model on this device",
            LeftOut::Model => "the model everywhere",
            LeftOut::Device => "the device",
        }
    }

    /// What the rows that are kept back together have in common.
    fn kept_back(self, group: Group) -> (Option<(&'static str, bool)>, Option<&'static str>) {
        match self {
            LeftOut::ModelOnDevice => (Some(group.device), Some(group.model)),
            LeftOut::Model => (None, Some(group.model)),
            LeftOut::Device => (Some(group.device), None),
        }
    }
}

/// How expectations stand against rows that were kept back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluated {
    /// What was kept back.
    pub left_out: LeftOut,
    /// Whether prompts were read.
    pub prefill: bool,
    /// Rows that were asked for.
    pub rows: usize,
    /// Of these, how many were refused.
    pub refused: usize,
    /// Median distance of the middle from the measured speed, as a part of that.
    pub median_error: f64,
    /// Share of the answers whose band holds the measured speed.
    pub inside: f64,
    /// Median of the band's high end over its low end.
    pub width: f64,
}

/// Rows are put into so many parts; the margins of each come from the others.
const PARTS: usize = 5;

/// Asks for every row of the record without what is kept back for it.
pub fn evaluate(left: LeftOut) -> Vec<Evaluated> {
    [false, true].map(|prefill| asked(left, prefill)).to_vec()
}

fn asked(left: LeftOut, prefill: bool) -> Evaluated {
    let all: Vec<&'static Sample> =
        samples().iter().filter(|sample| sample.question.prefill == prefill).collect();
    let kept_back = |sample: &'static Sample| left.kept_back(Group::of(sample));
    let groups: BTreeSet<_> = all.iter().map(|sample| kept_back(sample)).collect();
    let parts: BTreeMap<_, usize> =
        groups.into_iter().enumerate().map(|(index, group)| (group, index % PARTS)).collect();
    let part = |sample: &'static Sample| parts.get(&kept_back(sample)).copied().unwrap_or_default();
    let margins: Vec<f64> = (0..PARTS)
        .map(|one| margin(&all.iter().copied().filter(|sample| part(sample) != one).collect::<Vec<_>>()))
        .collect();
    // Rows that keep the same rows back and ask for the same engine share what is found.
    let mut fits: BTreeMap<(_, &Engine), Fit> = BTreeMap::new();
    let mut answers: Vec<(f64, Band)> = Vec::new();
    for &sample in &all {
        let engine = &sample.question.engine;
        let fit = fits.entry((kept_back(sample), engine)).or_insert_with(|| {
            let apart = |other: &&'static Sample| kept_back(other) != kept_back(sample);
            let alike = |other: &&'static Sample| other.question.engine == *engine;
            let pool: Vec<&Sample> = all.iter().copied().filter(alike).filter(apart).collect();
            Fit::new(&pool, margins[part(sample)])
        });
        // A row of a device that nobody else ran is no row of a device that was seen.
        if left == LeftOut::Device || fit.knows(&sample.question.place) {
            let answer = fit.answer(&sample.question).ok();
            answers.extend(answer.map(|expected| (sample.row.tokens_per_s, expected.band)));
        }
    }
    let within = answers.iter().filter(|(speed, band)| (band.low..=band.high).contains(speed)).count();
    Evaluated {
        left_out: left,
        prefill,
        rows: all.len(),
        refused: all.len() - answers.len(),
        median_error: median(answers.iter().map(|(speed, band)| (band.middle / speed - 1.0).abs())),
        inside: within as f64 / answers.len().max(1) as f64,
        width: median(answers.iter().map(|(_, band)| band.high / band.low)),
    }
}

/// The part of rows that lie in their bands when they are kept back: somewhat more than the four fifths between p10 and p90,
/// so that as many are left of rows that no band was chosen on.
const INSIDE: f64 = 0.85;

impl Fit {
    /// Whether a row of this device is among them.
    fn knows(&self, place: &Place) -> bool {
        let same = |sample: &Sample| {
            let known = &sample.question.place;
            known.name == place.name && known.on_cpu == place.on_cpu
        };
        self.rows.iter().any(|(sample, _)| same(sample))
    }

    /// The margin that each row would have needed, of those that others than its own model on its device answer.
    fn needed(&self) -> impl Iterator<Item = f64> {
        self.rows.iter().filter_map(|(sample, share)| {
            let own = Group::of(sample);
            let around = self.around(&sample.question, |other| Group::of(other) != own).ok()?;
            let (low, high) = (quantile(&around.shares, LOW), quantile(&around.shares, HIGH));
            // No share is above the whole: a row may need more than the ratio of its share to that of the band's end.
            let speed = |share: f64| sample.question.speed(share, self.layer_cost).unwrap_or(0.0);
            let holds = |wider: f64| {
                let within = speed(low * (-wider).exp())..=speed(high * wider.exp());
                within.contains(&sample.row.tokens_per_s)
            };
            let least = (low / share).max(share / high).ln().max(0.0);
            let tried = (0..100).map(|step| least + 0.01 * f64::from(step));
            let wider = tried.into_iter().find(|wider| holds(wider + 1e-9)).unwrap_or(f64::INFINITY);
            Some(wider / (1.0 + around.closest))
        })
    }
}

/// The margin with which as many rows as wanted lie in their bands; rows of one phase, of any engines.
fn margin(pool: &[&'static Sample]) -> f64 {
    let mut engines: BTreeMap<&Engine, Vec<&'static Sample>> = BTreeMap::new();
    for sample in pool {
        engines.entry(&sample.question.engine).or_default().push(sample);
    }
    let mut needed: Vec<f64> =
        engines.values().flat_map(|pool| Fit::new(pool, 0.0).needed().collect::<Vec<_>>()).collect();
    needed.sort_by(f64::total_cmp);
    let place = (needed.len() as f64 * INSIDE).ceil() as usize;
    needed.get(place.saturating_sub(1)).copied().unwrap_or_default()
}

/// What rows are kept back by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    /// The device, and whether its CPU.
    device: (&'static str, bool),
    /// The model.
    model: &'static str,
}

impl Group {
    /// The group of a row.
    fn of(sample: &'static Sample) -> Group {
        Group { device: (sample.device.name, sample.question.place.on_cpu), model: &sample.question.model }
    }
}

/// The value in the middle; none of no values.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[test]
fn on_devices_seen_with_other_models_the_middle_is_near_and_four_of_five_lie_in_the_band() {
    let [decode, prefill] = evaluate(LeftOut::ModelOnDevice)[..] else { panic!("two phases") };
    for (found, error) in [(decode, 0.12), (prefill, 0.20)] {
        assert!(found.median_error <= error, "{found:?}");
        assert!(found.inside >= 0.8, "{found:?}");
        assert!(found.rows - found.refused > 300, "{found:?}");
    }
}

#[test]
fn the_margins_are_those_that_the_record_asks_for() {
    let found = [false, true].map(|prefill| {
        let pool: Vec<&Sample> =
            samples().iter().filter(|sample| sample.question.prefill == prefill).collect();
        (margin(&pool) * 1000.0).ceil() / 1000.0
    });
    assert_eq!(found, MARGINS);
}
