//! One chart of roofs and points, and what draws it: [`terminal`], [`svg`], [`html`].
//! The model knows nothing of where its figures come from; every renderer reads only it.

pub mod bars;
pub mod curve;
pub mod equations;
pub mod html;
pub mod svg;
pub mod sweep;
pub mod terminal;

mod layout;
#[cfg(test)]
mod sample;
mod scale;

pub use crate::word::Bound;
pub use scale::Log;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use roofline_formulas::{hardware, operation};

/// A roofline chart: what can be reached, and what was reached or predicted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    /// What the chart shows.
    pub title: String,
    /// Machine, settings, date: one line below the title; empty for none.
    #[serde(default)]
    pub subtitle: String,
    /// The roofs, the most important first: renderers take its ridge as the border between the bounds.
    pub roofs: Vec<Roof>,
    /// The operations.
    pub points: Vec<Point>,
}

/// A limit of the machine. What a roof has no figure for, it takes from the highest of its group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Roof {
    /// What limits: `DRAM read`, `f32 FMA`.
    pub name: String,
    /// Roofs of one group hold together: `1 thread`, `all threads`, a machine's name.
    #[serde(default)]
    pub group: String,
    /// Bandwidth in GB/s: the slope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_gb_s: Option<f64>,
    /// Peak in GFLOP/s: the flat part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute_gflop_s: Option<f64>,
    /// Places in FLOP/byte and GFLOP/s from left to right, for a roof of another shape; straight between them on logarithmic axes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<(f64, f64)>,
}

/// An operation on the chart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// The operation, as its source names it.
    pub name: String,
    /// Its kind: `attention`, `feed-forward`, a kernel's family.
    #[serde(default)]
    pub group: String,
    /// FLOP/byte; absent when it has none.
    #[serde(default)]
    pub intensity_flop_byte: Option<f64>,
    /// GFLOP/s; absent when it is not known.
    #[serde(default)]
    pub performance_gflop_s: Option<f64>,
    /// Its part of the whole time, 0 to 1; absent when it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Which whole that is, where the chart shows several: parts of different ones don't add up.
    #[serde(default, skip_serializing_if = "is_first")]
    pub whole: usize,
    /// What holds it back.
    #[serde(default)]
    pub bound: Bound,
    /// The roof it is measured against, as a position among the chart's; absent when that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roof: Option<usize>,
    /// More to tell about it, in the order to show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<(String, String)>,
}

fn is_first(whole: &usize) -> bool {
    *whole == 0
}

/// A place on the chart: intensity in FLOP/byte and performance in GFLOP/s, both finite and above zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// FLOP/byte.
    pub intensity: f64,
    /// GFLOP/s.
    pub performance: f64,
}

/// A figure that a logarithmic axis can show.
fn drawable(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite() && *value > 0.0)
}

impl Point {
    /// Where it stands, unless one of its figures is missing, zero or not finite.
    pub fn place(&self) -> Option<Place> {
        Some(Place {
            intensity: drawable(self.intensity_flop_byte)?,
            performance: drawable(self.performance_gflop_s)?,
        })
    }

    /// Its part of the time, for ordering: what has none comes last.
    fn weight(&self) -> f64 {
        self.share.filter(|share| share.is_finite()).unwrap_or(-1.0)
    }
}

/// A roof as it is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Line<'a> {
    /// The roof it shows.
    pub roof: &'a Roof,
    /// Where it meets its own flat part or the highest one of its group.
    pub ridge: Option<Place>,
    /// Its ends from left to right, and the ridge between them when it bends; none when the roof has no
    /// figure to draw.
    pub vertices: Vec<Place>,
}

impl Chart {
    /// Several charts as one: what belongs to each carries its title.
    pub fn together(mut charts: Vec<Chart>) -> Chart {
        if charts.len() <= 1 {
            return charts.pop().unwrap_or_default();
        }
        let mut titles: Vec<String> = Vec::new();
        for chart in &charts {
            let again = titles
                .iter()
                .filter(|title| {
                    title.as_str() == chart.title || title.starts_with(&format!("{} (", chart.title))
                })
                .count();
            let number = if again == 0 { String::new() } else { format!(" ({})", again + 1) };
            titles.push(format!("{}{number}", chart.title));
        }
        let mut whole = Chart { title: titles.join(" | "), ..Chart::default() };
        let mut wholes = 0usize;
        for (title, Chart { roofs, points, .. }) in titles.into_iter().zip(charts) {
            let before = whole.roofs.len();
            let first = wholes;
            let has_roofs = !roofs.is_empty();
            whole.roofs.extend(roofs.into_iter().map(|roof| {
                let parts = [title.clone(), roof.group].into_iter().filter(|part| !part.is_empty());
                Roof { group: parts.collect::<Vec<_>>().join(", "), ..roof }
            }));
            whole.points.extend(points.into_iter().map(|mut point| {
                let kind = std::mem::replace(&mut point.group, title.clone());
                point.details.insert(0, ("kind".into(), kind));
                point.roof = has_roofs.then(|| before + point.roof.unwrap_or(0));
                point.whole = first.saturating_add(point.whole);
                wholes = wholes.max(point.whole.saturating_add(1));
                point
            }));
        }
        whole
    }

    /// The part of the time that some points take together; none where they are parts of different wholes.
    fn share(&self, points: &[usize]) -> Option<f64> {
        match self.shares(points).into_values().collect::<Vec<_>>()[..] {
            [share] => Some(share),
            _ => None,
        }
    }

    /// The same for ordering: the greatest part of any whole, and what has none comes last.
    fn weight(&self, points: &[usize]) -> f64 {
        self.shares(points).into_values().fold(-1.0, f64::max)
    }

    /// The part that some points take of each whole.
    fn shares(&self, points: &[usize]) -> BTreeMap<usize, f64> {
        let mut shares = BTreeMap::new();
        for point in points.iter().filter_map(|point| self.points.get(*point)) {
            if let Some(share) = point.share.filter(|share| share.is_finite()) {
                *shares.entry(point.whole).or_insert(0.0) += share;
            }
        }
        shares
    }

    /// The kinds of operation, in the order they first occur.
    fn kinds(&self) -> Vec<&str> {
        let mut seen = std::collections::BTreeSet::new();
        self.points.iter().map(|point| point.group.as_str()).filter(|kind| seen.insert(*kind)).collect()
    }

    /// The position of a roof's group among all groups, in the order they first occur.
    fn group_of(&self, roof: &Roof) -> usize {
        let mut seen = std::collections::BTreeSet::new();
        let mut groups = self.roofs.iter().map(|roof| &roof.group).filter(|group| seen.insert(*group));
        groups.position(|group| *group == roof.group).unwrap_or(0)
    }

    /// The highest figure of a roof's group, or of all roofs for one that is of no group: another machine's says nothing.
    fn highest(&self, group: &str, figure: impl Fn(&Roof) -> Option<f64>) -> Option<f64> {
        let highest = |within: &dyn Fn(&&Roof) -> bool| {
            self.roofs.iter().filter(within).filter_map(|roof| drawable(figure(roof))).reduce(f64::max)
        };
        let alone = group.is_empty();
        highest(&|roof| roof.group == group).or_else(|| highest(&|_| true).filter(|_| alone))
    }

    /// A roof's name, with its group where that tells it from others.
    fn full_name(&self, roof: &Roof) -> String {
        let alone = self.roofs.iter().all(|other| other.group == roof.group);
        if alone || roof.group.is_empty() || roof.name.contains(&roof.group) {
            roof.name.clone()
        } else {
            format!("{}, {}", roof.name, roof.group)
        }
    }

    /// A roof's own bandwidth, or the highest of its group.
    fn bandwidth(&self, roof: &Roof) -> Option<f64> {
        drawable(roof.bandwidth_gb_s).or_else(|| self.highest(&roof.group, |roof| roof.bandwidth_gb_s))
    }

    /// A roof's own peak, or the highest of its group.
    fn compute(&self, roof: &Roof) -> Option<f64> {
        drawable(roof.compute_gflop_s).or_else(|| self.highest(&roof.group, |roof| roof.compute_gflop_s))
    }

    /// Where a roof's slope and its flat part meet; of another shape, where it bends last.
    fn ridge_of(&self, roof: &Roof) -> Option<Place> {
        if !roof.curve.is_empty() {
            let places = roof.places();
            return places.len().checked_sub(2).filter(|bend| *bend > 0).map(|bend| places[bend]);
        }
        drawable(roof.bandwidth_gb_s).or(drawable(roof.compute_gflop_s))?;
        let (bandwidth, compute) = (self.bandwidth(roof)?, self.compute(roof)?);
        let ridge = hardware::Inputs { compute, bandwidth }.evaluate().ok()?.ridge_point;
        Some(Place { intensity: ridge, performance: compute })
    }

    /// The places where roofs bend or meet, in the order of the roofs.
    pub fn ridges(&self) -> impl Iterator<Item = Place> {
        self.roofs.iter().filter_map(|roof| self.ridge_of(roof))
    }

    /// Every roof as a line from one intensity to another.
    pub fn lines(&self, from: f64, to: f64) -> Vec<Line<'_>> {
        // An axis around the smallest or the largest numbers ends beyond them.
        let (from, to) = (from.max(f64::from_bits(1)), to.min(f64::MAX));
        self.roofs.iter().map(|roof| self.line(roof, from, to)).collect()
    }

    fn line<'a>(&self, roof: &'a Roof, from: f64, to: f64) -> Line<'a> {
        let ridge = self.ridge_of(roof);
        if !roof.curve.is_empty() {
            return Line { roof, ridge, vertices: within(&roof.places(), from, to) };
        }
        let mut vertices = Vec::new();
        if drawable(roof.bandwidth_gb_s).or(drawable(roof.compute_gflop_s)).is_some() {
            let (bandwidth, compute) = (self.bandwidth(roof), self.compute(roof));
            let at =
                |intensity| Some(Place { intensity, performance: height(bandwidth, compute, intensity)? });
            let end = ridge.map_or(to, |ridge| to.max(ridge.intensity));
            vertices.extend(at(ridge.map_or(from, |ridge| from.min(ridge.intensity))));
            // The ridge itself is taken as it is: multiplying back could miss it by a rounding.
            vertices.extend(ridge);
            vertices.extend(at(end));
        }
        vertices.retain(|place| drawable(Some(place.performance)).is_some());
        Line { roof, ridge, vertices }
    }

    /// The axes: intensity and performance, wide enough for every ridge and every point that can be drawn,
    /// with air around them.
    pub fn axes(&self) -> (Log, Log) {
        let places: Vec<Place> = self.points.iter().filter_map(Point::place).collect();
        let ridges: Vec<Place> = self.ridges().collect();
        // The value itself too: half or twice of it may be no number.
        let around = |value: f64, below: f64, above: f64| [value / below, value, value * above];
        let points = places.iter().flat_map(|place| around(place.intensity, 2.0, 2.0));
        let bends = ridges.iter().flat_map(|ridge| around(ridge.intensity, 20.0, 10.0));
        let intensity = Log::around(points.chain(bends));
        let lines = self.lines(intensity.low(), intensity.high());
        let ends = lines.iter().flat_map(|line| &line.vertices);
        let heights = places.iter().chain(ends).flat_map(|place| around(place.performance, 1.6, 1.8));
        let performance = Log::around(heights);
        (intensity, performance)
    }
}

impl Roof {
    /// The places of its curve that can be drawn, from left to right.
    fn places(&self) -> Vec<Place> {
        let place = |(intensity, performance): &(f64, f64)| {
            let (intensity, performance) = (drawable(Some(*intensity))?, drawable(Some(*performance))?);
            Some(Place { intensity, performance })
        };
        let mut places: Vec<Place> = self.curve.iter().filter_map(place).collect();
        places.sort_by(|a, b| a.intensity.total_cmp(&b.intensity));
        places
    }
}

/// The part of a curve between two intensities, straight between its places on logarithmic axes.
fn within(places: &[Place], from: f64, to: f64) -> Vec<Place> {
    let mut part: Vec<Place> = Vec::new();
    for pair in places.windows(2) {
        let &[a, b] = pair else { continue };
        let at = |intensity: f64| {
            let share = (intensity / a.intensity).ln() / (b.intensity / a.intensity).ln();
            let performance = a.performance * (b.performance / a.performance).powf(share);
            drawable(Some(performance)).map(|performance| Place { intensity, performance })
        };
        let (low, high) = (a.intensity.max(from), b.intensity.min(to));
        if low >= high {
            continue;
        }
        let start = if low == a.intensity { Some(a) } else { at(low) };
        let end = if high == b.intensity { Some(b) } else { at(high) };
        part.extend(start.filter(|start| part.last() != Some(start)));
        part.extend(end);
    }
    part
}

/// How high a roof is at an intensity; a group without one of the figures is bounded by the other alone. None where the
/// contract knows no such machine or operation.
fn height(bandwidth: Option<f64>, compute: Option<f64>, intensity: f64) -> Option<f64> {
    /// The highest peak that the contract takes.
    const HIGHEST: f64 = 1e12;
    let Some(bandwidth) = bandwidth else { return compute };
    // So many operations on one byte.
    let operation = operation::Inputs {
        other_flops: intensity,
        other_bytes: 1.0,
        bandwidth,
        compute: compute.unwrap_or(HIGHEST),
        ..operation::Inputs::new(1.0, 1.0)
    };
    Some(operation.evaluate().ok()?.attainable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slope_and_flat_part_meet_at_the_ridge() {
        let chart = sample::model();
        let lines = chart.lines(0.01, 1000.0);
        let [whole, _, slope] = &lines[..] else { panic!("three roofs, three lines") };
        for line in &lines {
            assert_eq!(line.vertices.len(), 3);
            assert_eq!(Some(line.vertices[1]), line.ridge);
            assert_eq!(line.vertices[2].performance, line.vertices[1].performance);
        }
        assert_eq!(whole.ridge, Some(Place { intensity: 193.6 / 36.5, performance: 193.6 }));
        // A bandwidth without a peak of its own bends at the highest peak of its group.
        assert_eq!(slope.ridge, Some(Place { intensity: 193.6 / 180.0, performance: 193.6 }));
    }

    #[test]
    fn every_point_and_every_ridge_is_inside_the_axes() {
        for chart in [sample::model(), sample::hostile()] {
            let (intensity, performance) = chart.axes();
            for place in chart.points.iter().filter_map(Point::place).chain(chart.ridges()) {
                assert!((0.0..=1.0).contains(&intensity.at(place.intensity)), "{place:?}");
                assert!((0.0..=1.0).contains(&performance.at(place.performance)), "{place:?}");
            }
        }
    }

    #[test]
    fn the_largest_and_the_smallest_numbers_have_a_place() {
        let point = |value| Point {
            intensity_flop_byte: Some(value),
            performance_gflop_s: Some(value),
            ..Point::default()
        };
        let roofs = sample::model().roofs;
        for values in [[f64::MIN_POSITIVE, f64::MAX], [5e-324, 5e-324], [f64::MAX, f64::MAX]] {
            let chart =
                Chart { points: values.map(point).to_vec(), roofs: roofs.clone(), ..Chart::default() };
            let (intensity, performance) = chart.axes();
            let places = chart.lines(intensity.low(), intensity.high());
            let mut places = places.iter().flat_map(|line| &line.vertices);
            assert!(places.all(|place| place.intensity.is_finite() && place.performance.is_finite()));
            for value in values {
                assert!(
                    (0.0..=1.0).contains(&intensity.at(value))
                        && (0.0..=1.0).contains(&performance.at(value))
                );
            }
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config::with_cases(64))]
        #[test]
        fn whatever_a_file_holds_every_renderer_draws_it(
            roofs in proptest::collection::vec((".*", ".*", any_figure(), any_figure()), 0..6),
            points in proptest::collection::vec((".*", ".*", any_figure(), any_figure(), any_figure()), 0..12),
            columns in 0usize..200,
            rows in 0usize..60,
        ) {
            let chart = Chart {
                title: points.first().map(|point| point.0.clone()).unwrap_or_default(),
                subtitle: String::new(),
                roofs: roofs
                    .into_iter()
                    .map(|(name, group, bandwidth_gb_s, compute_gflop_s)| Roof { name, group, bandwidth_gb_s, compute_gflop_s, curve: Vec::new() })
                    .collect(),
                points: points
                    .into_iter()
                    .map(|(name, group, intensity_flop_byte, performance_gflop_s, share)| Point {
                        name, group, intensity_flop_byte, performance_gflop_s, share, ..Point::default()
                    })
                    .collect(),
            };
            for unicode in [true, false] {
                let text = terminal::draw(&chart, &terminal::Canvas { columns, rows, unicode, colour: false, limit: None });
                proptest::prop_assert!(!text.contains(|c: char| c.is_control() && c != '\n'));
            }
            let picture = svg::draw(&chart, svg::Size::default());
            let coordinates = picture.split('"').skip(1).step_by(2).filter(|value| !value.contains("roofline"));
            for value in coordinates {
                proptest::prop_assert!(!value.contains("NaN") && !value.contains("inf"), "{}", value);
            }
            let page = html::Page { chart, ..html::Page::default() };
            proptest::prop_assert!(html::draw(&page).ends_with("</html>\n"));
        }
    }

    fn any_figure() -> impl proptest::strategy::Strategy<Value = Option<f64>> {
        proptest::option::of(proptest::num::f64::ANY)
    }

    #[test]
    fn a_roof_without_figures_has_no_line() {
        let chart = sample::hostile();
        let lines = chart.lines(0.1, 10.0);
        assert!(lines.iter().filter(|line| line.roof.group == "odd").all(|line| line.vertices.is_empty()));
    }

    #[test]
    fn charts_together_keep_every_roof_and_point_apart() {
        let one = sample::model();
        let other = Chart { title: "other".into(), ..sample::model() };
        let both = Chart::together(vec![one.clone(), other]);
        assert_eq!(both.roofs.len(), 2 * one.roofs.len());
        assert_eq!(both.points.len(), 2 * one.points.len());
        assert_eq!(both.full_name(&both.roofs[5]), "L3, other, 2 threads");
        let twins = Chart::together(vec![one.clone(), one.clone()]);
        assert_eq!(twins.title, "tiny-8L Q8_0, decode | tiny-8L Q8_0, decode (2)");
        assert_ne!(twins.roofs[0].group, twins.roofs[3].group);
        assert_eq!(both.points[one.points.len()].group, "other");
        // The same operation of both is no larger a part of the time than of one.
        assert_eq!(both.share(&[0]), one.share(&[0]));
        assert_eq!(both.share(&[0, one.points.len()]), None);
        assert_eq!(both.weight(&[0, one.points.len()]), one.weight(&[0]));
        assert_eq!(Chart::together(vec![one.clone()]), one);
    }

    #[test]
    fn a_chart_survives_json() {
        let chart = sample::model();
        let json = serde_json::to_string(&chart).expect("a chart is plain data");
        assert!(serde_json::from_str::<Chart>(&json).expect("what was written can be read") == chart);
    }
}
