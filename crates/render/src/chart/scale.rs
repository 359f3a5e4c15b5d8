//! The logarithmic axis that all renderers share.

use crate::number;

/// A logarithmic axis between two values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Log {
    /// Decimal logarithms of the ends.
    from: f64,
    to: f64,
}

/// A mark on an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tick {
    /// Where it stands.
    pub value: f64,
    /// The power of ten it marks, for a mark that carries a label.
    pub decade: Option<i32>,
}

/// An axis is never shorter than this, in decades.
const SHORTEST: f64 = 2.0;

impl Log {
    /// The axis that holds all these values; two decades around one when there is none.
    pub fn around(values: impl Iterator<Item = f64>) -> Log {
        Log::with(values, SHORTEST)
    }

    /// The same with less air: an axis that may be as short as a decade.
    pub fn close(values: impl Iterator<Item = f64>) -> Log {
        Log::with(values, 1.0)
    }

    fn with(values: impl Iterator<Item = f64>, shortest: f64) -> Log {
        let (from, to) = values
            .filter(|value| value.is_finite() && *value > 0.0)
            .map(f64::log10)
            .fold(None, |ends: Option<(f64, f64)>, value| {
                Some(ends.map_or((value, value), |(from, to)| (from.min(value), to.max(value))))
            })
            .unwrap_or((0.0, 0.0));
        let missing = ((shortest - (to - from)) / 2.0).max(0.0);
        Log { from: from - missing, to: to + missing }
    }

    /// The lowest value on the axis.
    pub fn low(&self) -> f64 {
        10f64.powf(self.from)
    }

    /// The highest value on the axis.
    pub fn high(&self) -> f64 {
        10f64.powf(self.to)
    }

    /// Where a value above zero stands: 0 at the low end, 1 at the high end, beyond when it is outside.
    pub fn at(&self, value: f64) -> f64 {
        (value.log10() - self.from) / (self.to - self.from)
    }

    /// The value that stands at a fraction of the axis.
    pub fn value(&self, fraction: f64) -> f64 {
        10f64.powf(self.from + fraction * (self.to - self.from))
    }

    /// The powers of ten on the axis, thinned out evenly to no more than `most`.
    pub fn decades(&self, most: usize) -> Vec<Tick> {
        let step = self.step(most);
        let decades =
            (self.from.ceil() as i32..=self.to.floor() as i32).filter(|decade| decade.rem_euclid(step) == 0);
        self.inside(decades.map(|decade| Tick { value: power_of_ten(decade), decade: Some(decade) }))
    }

    /// The lines between the powers of ten: 2 to 9 times each, or the powers left out when the axis is too
    /// long to label each of them.
    pub fn minors(&self, most: usize) -> Vec<Tick> {
        let step = self.step(most);
        let decades = self.from.floor() as i32..=self.to.ceil() as i32;
        let values: Vec<f64> = if step == 1 {
            decades
                .flat_map(|decade| (2..10).map(move |times| f64::from(times) * power_of_ten(decade)))
                .collect()
        } else {
            decades.filter(|decade| decade.rem_euclid(step) != 0).map(power_of_ten).collect()
        };
        self.inside(values.into_iter().map(|value| Tick { value, decade: None }))
    }

    fn inside(&self, ticks: impl Iterator<Item = Tick>) -> Vec<Tick> {
        ticks.filter(|tick| (0.0..=1.0).contains(&self.at(tick.value))).collect()
    }

    fn step(&self, most: usize) -> i32 {
        let decades = (self.to.floor() - self.from.ceil()) as i32 + 1;
        let most = most.clamp(1, 1000) as i32;
        (1..).find(|step| decades <= most * step).unwrap_or(1)
    }
}

/// Exact wherever there is such a number; multiplying would round.
fn power_of_ten(decade: i32) -> f64 {
    format!("1e{decade}").parse().unwrap_or(f64::NAN)
}

impl Tick {
    /// The text at the mark; empty for a line without one.
    pub fn label(&self, unicode: bool) -> String {
        self.decade.map(|decade| number::decade(decade, unicode)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_maps_its_ends_to_0_and_1_and_back() {
        let axis = Log::around([0.5, 2000.0].into_iter());
        for (value, fraction) in [(0.5, 0.0), (2000.0, 1.0)] {
            assert!((axis.at(value) - fraction).abs() < 1e-12);
            assert!((axis.value(fraction) / value - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn an_axis_without_values_or_with_one_still_has_two_decades() {
        assert_eq!(Log::around(std::iter::empty()), Log { from: -1.0, to: 1.0 });
        assert_eq!(Log::around([100.0].into_iter()), Log { from: 1.0, to: 3.0 });
        assert_eq!(
            Log::around([f64::NAN, 0.0, -1.0, f64::INFINITY].into_iter()),
            Log { from: -1.0, to: 1.0 }
        );
    }

    #[test]
    fn there_are_never_more_labels_than_asked_for() {
        for (low, high) in [(1e-6, 1e6), (f64::MIN_POSITIVE, f64::MAX), (0.5, 20.0)] {
            let axis = Log::around([low, high].into_iter());
            for most in [1, 2, 3, 7, 20] {
                let decades = axis.decades(most);
                assert!(decades.len() <= most, "{} labels on {axis:?}", decades.len());
                assert!(!decades.is_empty(), "no label on {axis:?} when {most} are allowed");
                assert!(axis.minors(most).len() <= 9 * 620);
            }
        }
    }

    #[test]
    fn minor_lines_are_the_multiples_within_a_decade() {
        let axis = Log::around([1.0, 100.0].into_iter());
        let minors: Vec<f64> = axis.minors(5).iter().map(|tick| tick.value).collect();
        assert_eq!(
            minors,
            [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0]
        );
    }
}
