//! How far the expectation is from rows that it was not shown.

use super::expectation::{Key, left_out};

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
    /// All of them.
    pub const ALL: [LeftOut; 3] = [LeftOut::ModelOnDevice, LeftOut::Model, LeftOut::Device];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            LeftOut::ModelOnDevice => "the model on this device",
            LeftOut::Model => "the model everywhere",
            LeftOut::Device => "the device",
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

/// Asks for every row of the record without what is kept back for it.
pub fn evaluate(left: LeftOut) -> Vec<Evaluated> {
    let apart = move |asked: &Key, other: &Key| match left {
        LeftOut::ModelOnDevice => asked == other,
        LeftOut::Model => asked.model == other.model,
        LeftOut::Device => asked.device == other.device,
    };
    let answers = left_out(apart, left != LeftOut::Device);
    [false, true]
        .into_iter()
        .map(|prefill| {
            let asked: Vec<_> = answers.iter().filter(|row| row.prefill == prefill).collect();
            let answered: Vec<_> =
                asked.iter().filter_map(|row| Some((row.measured, row.expected.as_ref()?.band))).collect();
            let median = |mut values: Vec<f64>| {
                values.sort_by(f64::total_cmp);
                values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
            };
            let within =
                answered.iter().filter(|(speed, band)| (band.low..=band.high).contains(speed)).count();
            Evaluated {
                left_out: left,
                prefill,
                rows: asked.len(),
                refused: asked.len() - answered.len(),
                median_error: median(
                    answered.iter().map(|(speed, band)| (band.middle / speed - 1.0).abs()).collect(),
                ),
                inside: within as f64 / answered.len().max(1) as f64,
                width: median(answered.iter().map(|(_, band)| band.high / band.low).collect()),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_devices_seen_with_other_models_the_middle_is_near_and_four_of_five_lie_in_the_band() {
        let [decode, prefill] = evaluate(LeftOut::ModelOnDevice)[..] else { panic!("two phases") };
        for (found, error) in [(decode, 0.12), (prefill, 0.20)] {
            assert!(found.median_error <= error, "{found:?}");
            assert!(found.inside >= 0.8, "{found:?}");
            assert!(found.rows - found.refused > 300, "{found:?}");
        }
    }
}
