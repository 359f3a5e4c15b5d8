//! A figure beside a reference load that ran in turn with it. On a machine that others use too both slow down together, and
//! their ratio stays: it is what two runs are compared by.

use serde::{Deserialize, Serialize};

/// Standard deviations that the noise of a median covers: a true median lies outside once in a thousand times.
const SURE: f64 = 3.29;

/// What ran beside a figure, and the figure as a share of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Paired {
    /// The reference, in the figure's unit: the median of its rounds.
    pub reference: f64,
    /// The figure over the reference of the same round: the median of all rounds.
    pub ratio: f64,
    /// How far this median may be off, as a share of it.
    pub noise: f64,
}

impl Paired {
    /// Of rounds, each a figure and its reference, both finite and above zero; none without rounds.
    pub fn of(rounds: &[(f64, f64)]) -> Option<Paired> {
        let sorted = |of: fn(&(f64, f64)) -> f64| {
            let mut values: Vec<f64> = rounds.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let (ratios, references) =
            (sorted(|(figure, reference)| figure / reference), sorted(|round| round.1));
        let middle = rounds.len() / 2;
        let (ratio, reference) = (*ratios.get(middle)?, *references.get(middle)?);
        // The ranks between which the true median lies follow from the number of rounds alone, however the ratios are spread.
        let away = (SURE * (rounds.len() as f64).sqrt() / 2.0).ceil() as usize;
        let low = *ratios.get(middle.saturating_sub(away))?;
        let high = *ratios.get(middle.saturating_add(away).min(ratios.len() - 1))?;
        let noise = (high - ratio).max(ratio - low) / ratio;
        Some(Paired { reference, ratio, noise }).filter(|found| {
            [found.reference, found.ratio, found.noise].iter().all(|value| value.is_finite())
                && found.ratio > 0.0
                && found.reference > 0.0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_slows_both_down_leaves_the_ratio_and_its_noise_alone() {
        let steady: Vec<(f64, f64)> = (0..40).map(|at| (2.0 + f64::from(at % 3) / 100.0, 1.0)).collect();
        let disturbed: Vec<(f64, f64)> = steady
            .iter()
            .enumerate()
            .map(|(at, (figure, reference))| {
                let slower = if at % 2 == 0 { 4.0 } else { 1.0 };
                (slower * figure, slower * reference)
            })
            .collect();
        let (quiet, busy) = (Paired::of(&steady).unwrap(), Paired::of(&disturbed).unwrap());
        assert_eq!((quiet.ratio, quiet.noise), (busy.ratio, busy.noise));
        assert!((quiet.ratio - 2.01).abs() < 1e-12 && quiet.noise < 0.006, "{quiet:?}");
    }

    #[test]
    fn the_noise_covers_all_of_few_rounds_and_shrinks_with_more() {
        let rounds =
            |count: u32| (0..count).map(|at| (1.0 + f64::from(at * 7 % 11) / 100.0, 1.0)).collect::<Vec<_>>();
        let noise = |count| Paired::of(&rounds(count)).unwrap().noise;
        assert!(noise(5) >= 0.05, "{}", noise(5));
        assert!(noise(400) < 0.02, "{}", noise(400));
        assert!(Paired::of(&[]).is_none() && Paired::of(&[(1.0, 0.0)]).is_none());
    }
}
