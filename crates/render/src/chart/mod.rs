//! Roofline charts: the data model, which all renderers ([`terminal`], [`svg`], [`html`]) share and which is independent of the
//! source of the figures.

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

pub use crate::vocabulary::Bound;
pub use scale::Log;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use roofline_formulas::{hardware, operation};

/// A roofline chart: roofs, and measured or predicted operations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    /// Title of the chart.
    pub title: String,
    /// Line below the title, such as machine, settings and date; may be empty.
    #[serde(default)]
    pub subtitle: String,
    /// Roofs, the most important first: its ridge point separates memory-bound from compute-bound.
    pub roofs: Vec<Roof>,
    /// Operations.
    pub points: Vec<Point>,
}

/// A limit of the machine. A missing bandwidth or peak is taken from the highest roof of the group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Roof {
    /// Limiting resource: `DRAM read`, `f32 FMA`.
    pub name: String,
    /// Group of roofs: `1 thread`, `all threads`, a machine's name.
    #[serde(default)]
    pub group: String,
    /// Bandwidth in GB/s: the sloped part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_gb_s: Option<f64>,
    /// Peak in GFLOP/s: the flat part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute_gflop_s: Option<f64>,
    /// Points in FLOP/byte and GFLOP/s from left to right for a curved roof, interpolated linearly on logarithmic axes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<(f64, f64)>,
}

/// An operation on the chart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Name of the operation in its source.
    pub name: String,
    /// Kind of operation: `attention`, `feed-forward`, a kernel family.
    #[serde(default)]
    pub group: String,
    /// Arithmetic intensity in FLOP/byte; absent if undefined.
    #[serde(default)]
    pub intensity_flop_byte: Option<f64>,
    /// Performance in GFLOP/s; absent if unknown.
    #[serde(default)]
    pub performance_gflop_s: Option<f64>,
    /// Share of the total time, 0 to 1; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Identifies the total that `share` refers to; shares of different totals are not added.
    #[serde(default, skip_serializing_if = "is_first")]
    pub total_id: usize,
    /// Limiting resource.
    #[serde(default)]
    pub bound: Bound,
    /// Index of the roof that the point is compared with; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roof: Option<usize>,
    /// Further details as pairs of label and text, in display order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<(String, String)>,
}

fn is_first(total_id: &usize) -> bool {
    *total_id == 0
}

/// A position on the chart; both coordinates are finite and positive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Arithmetic intensity in FLOP/byte.
    pub intensity: f64,
    /// Performance in GFLOP/s.
    pub performance: f64,
}

/// Filters values that a logarithmic axis can show.
fn drawable(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite() && *value > 0.0)
}

impl Point {
    /// Returns the position, or `None` if a coordinate is missing, not positive or not finite.
    pub fn place(&self) -> Option<Place> {
        Some(Place {
            intensity: drawable(self.intensity_flop_byte)?,
            performance: drawable(self.performance_gflop_s)?,
        })
    }

    /// Sort key: the share of the time; points without a share come last.
    fn weight(&self) -> f64 {
        self.share.filter(|share| share.is_finite()).unwrap_or(-1.0)
    }
}

/// A roof as a line on the chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Line<'a> {
    /// The roof that the line represents.
    pub roof: &'a Roof,
    /// Ridge point, with the peak of the roof or the highest peak of its group.
    pub ridge: Option<Place>,
    /// Ends of the line from left to right, with the ridge point between them; empty if the roof has no drawable figure.
    pub vertices: Vec<Place>,
}

impl Chart {
    /// Merges several charts; roofs and points are labeled with the title of their chart.
    pub fn together(mut charts: Vec<Chart>) -> Chart {
        if charts.len() <= 1 {
            return charts.pop().unwrap_or_default();
        }
        let mut titles: Vec<String> = Vec::new();
        for chart in &charts {
            let duplicates = titles
                .iter()
                .filter(|title| {
                    title.as_str() == chart.title || title.starts_with(&format!("{} (", chart.title))
                })
                .count();
            let number = if duplicates == 0 { String::new() } else { format!(" ({})", duplicates + 1) };
            titles.push(format!("{}{number}", chart.title));
        }
        let mut merged = Chart { title: titles.join(" | "), ..Chart::default() };
        let mut totals = 0usize;
        for (title, Chart { roofs, points, .. }) in titles.into_iter().zip(charts) {
            let before = merged.roofs.len();
            let first = totals;
            let has_roofs = !roofs.is_empty();
            merged.roofs.extend(roofs.into_iter().map(|roof| {
                let parts = [title.clone(), roof.group].into_iter().filter(|part| !part.is_empty());
                Roof { group: parts.collect::<Vec<_>>().join(", "), ..roof }
            }));
            merged.points.extend(points.into_iter().map(|mut point| {
                let kind = std::mem::replace(&mut point.group, title.clone());
                point.details.insert(0, ("kind".into(), kind));
                point.roof = has_roofs.then(|| before + point.roof.unwrap_or(0));
                point.total_id = first.saturating_add(point.total_id);
                totals = totals.max(point.total_id.saturating_add(1));
                point
            }));
        }
        merged
    }

    /// Sums the shares of some points; `None` if they refer to different totals.
    fn share(&self, points: &[usize]) -> Option<f64> {
        match self.shares(points).into_values().collect::<Vec<_>>()[..] {
            [share] => Some(share),
            _ => None,
        }
    }

    /// Sort key of some points: the largest sum of shares of one total; points without a share come last.
    fn weight(&self, points: &[usize]) -> f64 {
        self.shares(points).into_values().fold(-1.0, f64::max)
    }

    /// Sums the shares of some points by total.
    fn shares(&self, points: &[usize]) -> BTreeMap<usize, f64> {
        let mut shares = BTreeMap::new();
        for point in points.iter().filter_map(|point| self.points.get(*point)) {
            if let Some(share) = point.share.filter(|share| share.is_finite()) {
                *shares.entry(point.total_id).or_insert(0.0) += share;
            }
        }
        shares
    }

    /// Returns the kinds of operation in order of first occurrence.
    fn kinds(&self) -> Vec<&str> {
        let mut seen = std::collections::BTreeSet::new();
        self.points.iter().map(|point| point.group.as_str()).filter(|kind| seen.insert(*kind)).collect()
    }

    /// Returns the index of a roof's group in order of first occurrence.
    fn group_of(&self, roof: &Roof) -> usize {
        let mut seen = std::collections::BTreeSet::new();
        let mut groups = self.roofs.iter().map(|roof| &roof.group).filter(|group| seen.insert(*group));
        groups.position(|group| *group == roof.group).unwrap_or(0)
    }

    /// Returns the highest figure of a group, or of all roofs if the group is empty.
    fn highest(&self, group: &str, figure: impl Fn(&Roof) -> Option<f64>) -> Option<f64> {
        let highest = |within: &dyn Fn(&&Roof) -> bool| {
            self.roofs.iter().filter(within).filter_map(|roof| drawable(figure(roof))).reduce(f64::max)
        };
        let ungrouped = group.is_empty();
        highest(&|roof| roof.group == group).or_else(|| highest(&|_| true).filter(|_| ungrouped))
    }

    /// Returns a roof's name, with its group if the chart has several groups.
    fn full_name(&self, roof: &Roof) -> String {
        let one_group = self.roofs.iter().all(|other| other.group == roof.group);
        if one_group || roof.group.is_empty() || roof.name.contains(&roof.group) {
            roof.name.clone()
        } else {
            format!("{}, {}", roof.name, roof.group)
        }
    }

    /// Returns a roof's bandwidth, or the highest of its group.
    fn bandwidth(&self, roof: &Roof) -> Option<f64> {
        drawable(roof.bandwidth_gb_s).or_else(|| self.highest(&roof.group, |roof| roof.bandwidth_gb_s))
    }

    /// Returns a roof's peak, or the highest of its group.
    fn compute(&self, roof: &Roof) -> Option<f64> {
        drawable(roof.compute_gflop_s).or_else(|| self.highest(&roof.group, |roof| roof.compute_gflop_s))
    }

    /// Returns the ridge point of a roof; for a curved roof, its last bend.
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

    /// Iterates over the ridge points in the order of the roofs.
    pub fn ridges(&self) -> impl Iterator<Item = Place> {
        self.roofs.iter().filter_map(|roof| self.ridge_of(roof))
    }

    /// Returns every roof as a line between two intensities.
    pub fn lines(&self, from: f64, to: f64) -> Vec<Line<'_>> {
        // The ends of an axis around extreme values may overflow or underflow.
        let (from, to) = (from.max(f64::from_bits(1)), to.min(f64::MAX));
        self.roofs.iter().map(|roof| self.line(roof, from, to)).collect()
    }

    fn line<'a>(&self, roof: &'a Roof, from: f64, to: f64) -> Line<'a> {
        let ridge = self.ridge_of(roof);
        if !roof.curve.is_empty() {
            return Line { roof, ridge, vertices: clip(&roof.places(), from, to) };
        }
        let mut vertices = Vec::new();
        if drawable(roof.bandwidth_gb_s).or(drawable(roof.compute_gflop_s)).is_some() {
            let (bandwidth, compute) = (self.bandwidth(roof), self.compute(roof));
            let at =
                |intensity| Some(Place { intensity, performance: height(bandwidth, compute, intensity)? });
            let end = ridge.map_or(to, |ridge| to.max(ridge.intensity));
            vertices.extend(at(ridge.map_or(from, |ridge| from.min(ridge.intensity))));
            // Use the ridge point itself: recomputing it could differ by rounding.
            vertices.extend(ridge);
            vertices.extend(at(end));
        }
        vertices.retain(|place| drawable(Some(place.performance)).is_some());
        Line { roof, ridge, vertices }
    }

    /// Returns the axes of intensity and performance, with a margin around every ridge point and drawable point.
    pub fn axes(&self) -> (Log, Log) {
        let places: Vec<Place> = self.points.iter().filter_map(Point::place).collect();
        let ridges: Vec<Place> = self.ridges().collect();
        // Include the value itself, because its half or double may not be finite.
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
    /// Returns the drawable points of the curve from left to right.
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

/// Clips a curve to a range of intensities, interpolating linearly on logarithmic axes.
fn clip(places: &[Place], from: f64, to: f64) -> Vec<Place> {
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

/// Returns the height of a roof at an intensity; a missing bandwidth or peak does not limit. `None` outside the domain of the contract.
fn height(bandwidth: Option<f64>, compute: Option<f64>, intensity: f64) -> Option<f64> {
    /// Upper end of the contract's domain.
    const MAX_PEAK: f64 = 1e12;
    let Some(bandwidth) = bandwidth else { return compute };
    // An operation with `intensity` FLOP on one byte.
    let operation = operation::Inputs {
        other_flops: intensity,
        other_bytes: 1.0,
        bandwidth,
        compute: compute.unwrap_or(MAX_PEAK),
        ..operation::Inputs::new(1.0, 1.0)
    };
    Some(operation.evaluate().ok()?.attainable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roofs_bend_at_the_ridge_point() {
        let chart = sample::model();
        let lines = chart.lines(0.01, 1000.0);
        let [full, _, slope] = &lines[..] else { panic!("three roofs, three lines") };
        for line in &lines {
            assert_eq!(line.vertices.len(), 3);
            assert_eq!(Some(line.vertices[1]), line.ridge);
            assert_eq!(line.vertices[2].performance, line.vertices[1].performance);
        }
        assert_eq!(full.ridge, Some(Place { intensity: 193.6 / 36.5, performance: 193.6 }));
        // A roof without a peak uses the highest peak of its group.
        assert_eq!(slope.ridge, Some(Place { intensity: 193.6 / 180.0, performance: 193.6 }));
    }

    #[test]
    fn points_and_ridge_points_are_inside_the_axes() {
        for chart in [sample::model(), sample::hostile()] {
            let (intensity, performance) = chart.axes();
            for place in chart.points.iter().filter_map(Point::place).chain(chart.ridges()) {
                assert!((0.0..=1.0).contains(&intensity.at(place.intensity)), "{place:?}");
                assert!((0.0..=1.0).contains(&performance.at(place.performance)), "{place:?}");
            }
        }
    }

    #[test]
    fn extreme_values_are_inside_the_axes() {
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
        fn every_renderer_accepts_arbitrary_input(
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
                let text = terminal::draw(&chart, &terminal::Canvas { columns, rows, unicode, color: false, limit: None });
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
    fn roofs_without_figures_have_no_line() {
        let chart = sample::hostile();
        let lines = chart.lines(0.1, 10.0);
        assert!(lines.iter().filter(|line| line.roof.group == "odd").all(|line| line.vertices.is_empty()));
    }

    #[test]
    fn merged_charts_keep_their_roofs_and_points_distinct() {
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
        // Shares of different charts are not added.
        assert_eq!(both.share(&[0]), one.share(&[0]));
        assert_eq!(both.share(&[0, one.points.len()]), None);
        assert_eq!(both.weight(&[0, one.points.len()]), one.weight(&[0]));
        assert_eq!(Chart::together(vec![one.clone()]), one);
    }

    #[test]
    fn charts_round_trip_through_json() {
        let chart = sample::model();
        let json = serde_json::to_string(&chart).expect("charts are serializable");
        assert!(serde_json::from_str::<Chart>(&json).expect("the JSON is valid") == chart);
    }
}
