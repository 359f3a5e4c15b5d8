//! Logarithmic axes, shared by all renderers.

use crate::format;

/// A logarithmic axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Log {
    /// Decimal logarithms of the ends.
    from: f64,
    to: f64,
}

/// A tick of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tick {
    /// Position in the unit of the axis.
    pub value: f64,
    /// Power of ten of a labeled tick.
    pub decade: Option<i32>,
}

/// Minimum length of an axis in decades.
const MIN_DECADES: f64 = 2.0;

impl Log {
    /// Creates an axis of at least two decades that includes all positive finite values; around 1 if there are none.
    pub fn around(values: impl Iterator<Item = f64>) -> Log {
        Log::with_min_decades(values, MIN_DECADES)
    }

    /// Creates an axis like [`Log::around`] of at least one decade.
    pub fn close(values: impl Iterator<Item = f64>) -> Log {
        Log::with_min_decades(values, 1.0)
    }

    fn with_min_decades(values: impl Iterator<Item = f64>, min_decades: f64) -> Log {
        let (from, to) = values
            .filter(|value| value.is_finite() && *value > 0.0)
            .map(f64::log10)
            .fold(None, |ends: Option<(f64, f64)>, value| {
                Some(ends.map_or((value, value), |(from, to)| (from.min(value), to.max(value))))
            })
            .unwrap_or((0.0, 0.0));
        let missing = ((min_decades - (to - from)) / 2.0).max(0.0);
        Log { from: from - missing, to: to + missing }
    }

    /// Returns the lowest value on the axis.
    pub fn low(&self) -> f64 {
        10f64.powf(self.from)
    }

    /// Returns the highest value on the axis.
    pub fn high(&self) -> f64 {
        10f64.powf(self.to)
    }

    /// Maps a positive value to its position: 0 at the low end, 1 at the high end, outside this range if it is off the axis.
    pub fn at(&self, value: f64) -> f64 {
        (value.log10() - self.from) / (self.to - self.from)
    }

    /// Returns the value at a position; the inverse of [`Log::at`].
    pub fn value(&self, fraction: f64) -> f64 {
        10f64.powf(self.from + fraction * (self.to - self.from))
    }

    /// Returns the powers of ten on the axis, thinned evenly to at most `max_ticks`.
    pub fn decades(&self, max_ticks: usize) -> Vec<Tick> {
        let step = self.step(max_ticks);
        let decades =
            (self.from.ceil() as i32..=self.to.floor() as i32).filter(|decade| decade.rem_euclid(step) == 0);
        self.inside(decades.map(|decade| Tick { value: power_of_ten(decade), decade: Some(decade) }))
    }

    /// Returns the minor ticks: multiples from 2 to 9 of each power of ten, or the powers that [`Log::decades`] omits.
    pub fn minors(&self, max_ticks: usize) -> Vec<Tick> {
        let step = self.step(max_ticks);
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

    fn step(&self, max_ticks: usize) -> i32 {
        let decades = (self.to.floor() - self.from.ceil()) as i32 + 1;
        let max_ticks = max_ticks.clamp(1, 1000) as i32;
        (1..).find(|step| decades <= max_ticks * step).unwrap_or(1)
    }
}

/// Parsed instead of computed, because `powi` may round.
fn power_of_ten(decade: i32) -> f64 {
    format!("1e{decade}").parse().unwrap_or(f64::NAN)
}

impl Tick {
    /// Returns the label; empty for a minor tick.
    pub fn label(&self, unicode: bool) -> String {
        self.decade.map(|decade| format::decade(decade, unicode)).unwrap_or_default()
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
    fn axes_have_at_least_two_decades() {
        assert_eq!(Log::around(std::iter::empty()), Log { from: -1.0, to: 1.0 });
        assert_eq!(Log::around([100.0].into_iter()), Log { from: 1.0, to: 3.0 });
        assert_eq!(
            Log::around([f64::NAN, 0.0, -1.0, f64::INFINITY].into_iter()),
            Log { from: -1.0, to: 1.0 }
        );
    }

    #[test]
    fn the_number_of_labels_respects_the_limit() {
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
    fn minor_ticks_are_the_multiples_within_a_decade() {
        let axis = Log::around([1.0, 100.0].into_iter());
        let minors: Vec<f64> = axis.minors(5).iter().map(|tick| tick.value).collect();
        assert_eq!(
            minors,
            [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0]
        );
    }
}
