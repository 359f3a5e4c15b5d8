//! Figures relative to a reference load that ran in alternation. On a shared machine both slow down together, so their ratio is
//! stable and is used to compare two runs.

use serde::{Deserialize, Serialize};

/// Standard deviations of a two-sided 99.9 % confidence interval.
const Z_99_9: f64 = 3.29;

/// A reference load and the ratio of a figure to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RelativeToReference {
    /// Median of the reference over all rounds, in the figure's unit.
    pub reference: f64,
    /// Median over all rounds of the figure divided by the reference of its round.
    pub ratio: f64,
    /// Uncertainty of the ratio, as a share of it.
    pub noise: f64,
}

impl RelativeToReference {
    /// Computes the ratio from rounds of (figure, reference). Returns `None` without rounds or if a value is not positive and finite.
    pub fn from_rounds(rounds: &[(f64, f64)]) -> Option<RelativeToReference> {
        let sorted = |of: fn(&(f64, f64)) -> f64| {
            let mut values: Vec<f64> = rounds.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let (ratios, references) =
            (sorted(|(figure, reference)| figure / reference), sorted(|round| round.1));
        let middle = rounds.len() / 2;
        let (ratio, reference) = (*ratios.get(middle)?, *references.get(middle)?);
        // The confidence interval of a median is a range of ranks that depends only on the number of rounds, not on the distribution.
        let ranks = (Z_99_9 * (rounds.len() as f64).sqrt() / 2.0).ceil() as usize;
        let low = *ratios.get(middle.saturating_sub(ranks))?;
        let high = *ratios.get(middle.saturating_add(ranks).min(ratios.len() - 1))?;
        let noise = (high - ratio).max(ratio - low) / ratio;
        Some(RelativeToReference { reference, ratio, noise }).filter(|found| {
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
    fn a_common_slowdown_does_not_change_the_ratio() {
        let steady: Vec<(f64, f64)> = (0..40).map(|at| (2.0 + f64::from(at % 3) / 100.0, 1.0)).collect();
        let disturbed: Vec<(f64, f64)> = steady
            .iter()
            .enumerate()
            .map(|(at, (figure, reference))| {
                let slower = if at % 2 == 0 { 4.0 } else { 1.0 };
                (slower * figure, slower * reference)
            })
            .collect();
        let (quiet, busy) = (
            RelativeToReference::from_rounds(&steady).unwrap(),
            RelativeToReference::from_rounds(&disturbed).unwrap(),
        );
        assert_eq!((quiet.ratio, quiet.noise), (busy.ratio, busy.noise));
        assert!((quiet.ratio - 2.01).abs() < 1e-12 && quiet.noise < 0.006, "{quiet:?}");
    }

    #[test]
    fn the_noise_shrinks_with_the_number_of_rounds() {
        let rounds =
            |count: u32| (0..count).map(|at| (1.0 + f64::from(at * 7 % 11) / 100.0, 1.0)).collect::<Vec<_>>();
        let noise = |count| RelativeToReference::from_rounds(&rounds(count)).unwrap().noise;
        assert!(noise(5) >= 0.05, "{}", noise(5));
        assert!(noise(400) < 0.02, "{}", noise(400));
        assert!(
            RelativeToReference::from_rounds(&[]).is_none()
                && RelativeToReference::from_rounds(&[(1.0, 0.0)]).is_none()
        );
    }
}
