//! Layout of the SVG picture, in pixels from the upper left corner: roofs, marks of coinciding points, and labels that overlap neither
//! each other nor foreign marks.

use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::{FRAC_PI_2, TAU};

use super::{Chart, Log, Place, Point};
use crate::display_width::{cut, shorten};
use crate::format;

/// Font size in pixels.
pub const TEXT: f64 = 12.0;
/// Line height in pixels.
const LINE: f64 = 15.0;
/// Maximum number of labeled points; the others have tooltips.
const MAX_LABELS: usize = 24;
/// Points within this distance share a mark.
const MERGE_DISTANCE: f64 = 8.0;

/// A position in the picture.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spot {
    pub x: f64,
    pub y: f64,
}

/// A rectangle, rotated around its center.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    pub center: Spot,
    pub width: f64,
    pub height: f64,
    /// Rotation in radians, clockwise.
    pub angle: f64,
}

/// Line from a mark to its label.
type Leader = (Spot, Spot);

/// A text with its frame and the line to the labeled mark.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    pub text: String,
    pub frame: Frame,
    pub anchor: Anchor,
    pub leader: Option<Leader>,
}

/// Alignment of a text in its frame, which is as wide as the widest font needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// Coinciding points, sorted by their share of the time.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    pub at: Spot,
    pub radius: f64,
    pub points: Vec<usize>,
    pub label: Option<Label>,
}

/// A roof in the picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Beam {
    /// Index of the roof.
    pub roof: usize,
    /// Ends and bend from left to right.
    pub path: Vec<Spot>,
    /// Labels along the path.
    pub labels: Vec<Label>,
    /// Texts without room for a label.
    pub unplaced: Vec<String>,
}

/// Layout of the plot area.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    pub plot: Frame,
    pub intensity: Log,
    pub performance: Log,
    pub beams: Vec<Beam>,
    pub marks: Vec<Mark>,
    /// Ridge point of the first roof.
    pub ridge: Option<Spot>,
    /// Labels at the bottom of the border below the ridge point.
    pub words: Vec<Label>,
}

impl Spot {
    fn toward(self, other: Spot, part: f64) -> Spot {
        Spot { x: self.x + part * (other.x - self.x), y: self.y + part * (other.y - self.y) }
    }

    fn distance(self, other: Spot) -> f64 {
        (self.x - other.x).hypot(self.y - other.y)
    }
}

impl Frame {
    /// Creates an upright rectangle from its upper left corner.
    pub fn upright(left: f64, top: f64, width: f64, height: f64) -> Frame {
        Frame { center: Spot { x: left + width / 2.0, y: top + height / 2.0 }, width, height, angle: 0.0 }
    }

    pub fn left(&self) -> f64 {
        self.center.x - self.width / 2.0
    }

    pub fn right(&self) -> f64 {
        self.center.x + self.width / 2.0
    }

    pub fn top(&self) -> f64 {
        self.center.y - self.height / 2.0
    }

    pub fn bottom(&self) -> f64 {
        self.center.y + self.height / 2.0
    }

    pub fn corners(&self) -> [Spot; 4] {
        let (sin, cos) = self.angle.sin_cos();
        [(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)].map(|(across, down)| {
            let (dx, dy) = (across * self.width, down * self.height);
            Spot { x: self.center.x + dx * cos - dy * sin, y: self.center.y + dx * sin + dy * cos }
        })
    }

    /// Tests if two rectangles overlap (separating axis theorem).
    pub fn overlaps(&self, other: &Frame) -> bool {
        let reach = |frame: &Frame| frame.width.hypot(frame.height) / 2.0;
        if self.center.distance(other.center) > reach(self) + reach(other) {
            return false;
        }
        let (mine, others) = (self.corners(), other.corners());
        [self.angle, self.angle + FRAC_PI_2, other.angle, other.angle + FRAC_PI_2].iter().all(|angle| {
            let (sin, cos) = angle.sin_cos();
            let reach = |corners: &[Spot; 4]| {
                let along = corners.map(|corner| corner.x * cos + corner.y * sin);
                (
                    along.into_iter().fold(f64::INFINITY, f64::min),
                    along.into_iter().fold(f64::NEG_INFINITY, f64::max),
                )
            };
            let (mine, others) = (reach(&mine), reach(&others));
            mine.1 > others.0 && others.1 > mine.0
        })
    }

    /// Tests if a rectangle is inside this upright rectangle.
    pub fn contains(&self, other: &Frame) -> bool {
        other.corners().iter().all(|corner| {
            (self.left()..=self.right()).contains(&corner.x)
                && (self.top()..=self.bottom()).contains(&corner.y)
        })
    }

    /// Tests if a line segment crosses the rectangle.
    pub fn crossed_by(&self, from: Spot, to: Spot) -> bool {
        let length = from.distance(to).max(0.01);
        let angle = (to.y - from.y).atan2(to.x - from.x);
        self.overlaps(&Frame { center: from.toward(to, 0.5), width: length, height: 0.01, angle })
    }

    /// Returns the point of this upright rectangle that is closest to `spot`.
    fn nearest(&self, spot: Spot) -> Spot {
        Spot { x: spot.x.clamp(self.left(), self.right()), y: spot.y.clamp(self.top(), self.bottom()) }
    }
}

/// Estimates the width of a text in pixels from above, for the widest of the common fonts.
pub fn width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        '\u{2066}'..='\u{2069}' => 0.0,
        'i' | 'j' | 'l' | 'I' | '\'' | '|' | '.' | ',' | ':' | ';' | ' ' | '/' | '·' => 0.34,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '-' | '!' | '"' | '`' => 0.42,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' | 'Q' | 'O' | '+' | '<' | '>' | '=' | '~' | '^' => 1.0,
        'A'..='Z' | '&' | '#' => 0.76,
        ' '..='~' => 0.64,
        c if unicode_width::UnicodeWidthChar::width(c) == Some(0) => 0.0,
        c if unicode_width::UnicodeWidthChar::width(c) == Some(2) => 1.4,
        _ => 0.8,
    };
    text.chars().map(em).sum::<f64>() * size
}

impl Layout {
    /// Lays out the chart in an upright rectangle.
    pub fn new(chart: &Chart, plot: Frame) -> Layout {
        let (intensity, performance) = chart.axes();
        let mut layout = Layout {
            plot,
            intensity,
            performance,
            beams: Vec::new(),
            marks: Vec::new(),
            ridge: None,
            words: Vec::new(),
        };
        let lines = chart.lines(intensity.low(), intensity.high());
        layout.ridge = lines.first().and_then(|line| line.ridge).map(|ridge| layout.spot(ridge));
        layout.marks = layout.merge_points(chart);
        layout.beams = lines
            .iter()
            .enumerate()
            .map(|(roof, line)| Beam {
                roof,
                path: line.vertices.iter().map(|place| layout.spot(*place)).collect(),
                labels: Vec::new(),
                unplaced: Vec::new(),
            })
            .collect();
        layout.border_words(chart);
        layout.label_beams(chart);
        layout.label_marks(chart);
        layout
    }

    /// Converts a position on the chart to pixels.
    pub fn spot(&self, place: Place) -> Spot {
        Spot {
            x: self.plot.left() + self.intensity.at(place.intensity) * self.plot.width,
            y: self.plot.bottom() - self.performance.at(place.performance) * self.plot.height,
        }
    }

    /// Iterates over all placed labels.
    pub fn labels(&self) -> impl Iterator<Item = &Label> {
        let beams = self.beams.iter().flat_map(|beam| &beam.labels);
        beams.chain(self.words.iter()).chain(self.marks.iter().filter_map(|mark| mark.label.as_ref()))
    }

    /// Returns the texts of roofs without room for a label.
    pub fn unplaced(&self) -> Vec<&str> {
        self.beams.iter().flat_map(|beam| &beam.unplaced).map(String::as_str).collect()
    }

    fn segments(&self) -> impl Iterator<Item = (Spot, Spot)> {
        self.beams.iter().flat_map(|beam| beam.path.windows(2)).filter_map(|pair| match pair {
            [from, to] => Some((*from, *to)),
            _ => None,
        })
    }

    fn merge_points(&self, chart: &Chart) -> Vec<Mark> {
        let mut order: Vec<(usize, &Point, Spot)> = chart
            .points
            .iter()
            .enumerate()
            .filter_map(|(index, point)| Some((index, point, self.spot(point.place()?))))
            .collect();
        order.sort_by(|a, b| b.1.weight().total_cmp(&a.1.weight()));
        let mut marks: Vec<Mark> = Vec::new();
        // Spatial index of the marks, so that each point is compared only with its neighbors.
        let mut squares = BTreeMap::<(i64, i64), Vec<usize>>::new();
        for (index, _, at) in order {
            let square = ((at.x / MERGE_DISTANCE) as i64, (at.y / MERGE_DISTANCE) as i64);
            let around = (-1..=1).flat_map(|dx| (-1..=1).map(move |dy| (square.0 + dx, square.1 + dy)));
            let mut near = around.filter_map(|square| squares.get(&square)).flatten();
            match near
                .find(|mark| marks.get(**mark).is_some_and(|mark| mark.at.distance(at) < MERGE_DISTANCE))
            {
                Some(mark) => marks[*mark].points.push(index),
                None => {
                    squares.entry(square).or_default().push(marks.len());
                    marks.push(Mark { at, radius: 0.0, points: vec![index], label: None });
                }
            }
        }
        for mark in &mut marks {
            // The area of a mark is proportional to its share of the time.
            mark.radius = 4.5 + 9.0 * chart.weight(&mark.points).clamp(0.0, 1.0).sqrt();
        }
        marks.sort_by(|a, b| b.radius.total_cmp(&a.radius));
        marks
    }

    /// Places the names of the bounds and the ridge point at the bottom of the plot.
    fn border_words(&mut self, chart: &Chart) {
        let (Some(ridge), Some(first)) =
            (self.ridge, chart.roofs.first().and_then(|roof| chart.ridge_of(roof)))
        else {
            return;
        };
        let top = self.plot.bottom() - LINE - 5.0;
        let figure = format!("ridge {}", format::figure(first.intensity));
        let (memory, compute) = ("memory-bound", "compute-bound");
        let left =
            |text: &str, x: f64| Frame::upright(x - 10.0 - width(text, TEXT), top, width(text, TEXT), LINE);
        let right = |text: &str, x: f64| Frame::upright(x + 10.0, top, width(text, TEXT), LINE);
        let above = Frame {
            center: Spot { y: top - LINE / 2.0 - 2.0, ..right(&figure, ridge.x).center },
            ..right(&figure, ridge.x)
        };
        let wanted = [
            (memory, left(memory, ridge.x), Anchor::End),
            (compute, right(compute, ridge.x), Anchor::Start),
            (&figure, above, Anchor::Start),
        ];
        for (text, frame, anchor) in wanted {
            if self.plot.contains(&frame) && !self.marks.iter().any(|mark| frame.overlaps(&mark.frame(2.0))) {
                self.words.push(Label { text: text.into(), frame, anchor, leader: None });
            }
        }
    }

    /// Places the figures of each roof along its slope and its flat part.
    fn label_beams(&mut self, chart: &Chart) {
        let mut labeled = BTreeSet::new();
        for index in 0..self.beams.len() {
            let Some(roof) = self.beams.get(index).and_then(|beam| chart.roofs.get(beam.roof)) else {
                continue;
            };
            let path = self.beams.get(index).map(|beam| beam.path.clone()).unwrap_or_default();
            let name = shorten(&chart.full_name(roof), 48, true);
            let slope = roof.bandwidth_gb_s.zip(path.first().copied().zip(path.get(1).copied()));
            let flat = roof.compute_gflop_s.zip(match path[..] {
                [.., from, to] => Some((from, to)),
                _ => None,
            });
            // A curved roof has no figures: its name is placed along its last segment.
            if let [.., from, to] = path[..]
                && roof.bandwidth_gb_s.is_none()
                && roof.compute_gflop_s.is_none()
            {
                let first = path.first().copied().zip(path.get(1).copied());
                let label = self.along(index, &name, from, to, 1.0);
                let label =
                    label.or_else(|| first.and_then(|(from, to)| self.along(index, &name, from, to, 0.4)));
                if let Some(beam) = self.beams.get_mut(index) {
                    beam.unplaced.extend(label.is_none().then(|| name.clone()));
                    beam.labels.extend(label);
                }
            }
            for (part, unit, (figure, (from, to))) in [(0.4, "GB/s", slope), (1.0, "GFLOP/s", flat)]
                .into_iter()
                .filter_map(|(part, unit, line)| Some((part, unit, line?)))
            {
                let figure = format!("{} {unit}", format::figure(figure));
                // Roofs that share a slope or a flat part are labeled once.
                if !labeled.insert((roof.group.clone(), figure.clone())) {
                    continue;
                }
                let texts = [format!("{name}  {figure}"), figure];
                let placed = texts.iter().find_map(|text| self.along(index, text, from, to, part));
                let Some(beam) = self.beams.get_mut(index) else { continue };
                match placed {
                    Some(label) => beam.labels.push(label),
                    None => beam.unplaced.extend(texts.into_iter().next()),
                }
            }
        }
    }

    /// Finds the best position for a text along a line, close to the fraction `part` of its length.
    fn along(&self, own: usize, text: &str, from: Spot, to: Spot, part: f64) -> Option<Label> {
        let angle = (to.y - from.y).atan2(to.x - from.x);
        let (sin, cos) = angle.sin_cos();
        let size = width(text, TEXT);
        let length = from.distance(to);
        let mut best: Option<(f64, Frame)> = None;
        // Keep the text between the ends of the line if the line is long enough.
        let spare = ((length - size) / 2.0 - 5.0).max(0.0) / length.max(1.0);
        for step in 0..=40 {
            for side in [-1.0, 1.0] {
                let middle = from.toward(to, 0.5 + spare * (f64::from(step) / 20.0 - 1.0));
                let offset = side * (LINE / 2.0 + 3.0);
                let center = Spot { x: middle.x - sin * offset, y: middle.y + cos * offset };
                let frame = Frame { center, width: size, height: LINE, angle };
                let blocked = self.labels().any(|label| label.frame.overlaps(&frame))
                    || self.marks.iter().any(|mark| mark.frame(1.0).overlaps(&frame));
                // Reject texts that are much longer than their line.
                if blocked || !self.plot.contains(&frame) || size > length + 60.0 {
                    continue;
                }
                let mut others =
                    self.beams.iter().filter(|beam| beam.roof != own).flat_map(|beam| beam.path.windows(2));
                if others.any(|pair| matches!(pair, [from, to] if frame.crossed_by(*from, *to))) {
                    continue;
                }
                let border = self
                    .ridge
                    .is_some_and(|ridge| frame.crossed_by(ridge, Spot { y: self.plot.bottom(), ..ridge }));
                let cost = (f64::from(step) / 40.0 - part).abs()
                    + if side > 0.0 { 0.15 } else { 0.0 }
                    + f64::from(u8::from(border));
                if best.is_none_or(|(lowest, _)| cost < lowest) {
                    best = Some((cost, frame));
                }
            }
        }
        let anchor = if angle == 0.0 { Anchor::End } else { Anchor::Middle };
        best.map(|(_, frame)| Label { text: text.into(), frame, anchor, leader: None })
    }

    /// Labels the marks with the largest shares of the time.
    fn label_marks(&mut self, chart: &Chart) {
        let mut order: Vec<usize> = (0..self.marks.len()).collect();
        let weight = |mark: &usize| self.marks.get(*mark).map_or(-1.0, |mark| chart.weight(&mark.points));
        order.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
        for index in order.into_iter().take(MAX_LABELS) {
            let Some(mark) = self.marks.get(index) else { continue };
            let Some(first) = mark.points.first().and_then(|point| chart.points.get(*point)) else {
                continue;
            };
            let mut text = cut(&first.name, 30, true);
            if mark.points.len() > 1 {
                text += &format!(" +{}", format::count(mark.points.len() - 1));
            }
            let label = self.next_to(index, text);
            if let Some(mark) = self.marks.get_mut(index) {
                mark.label = label;
            }
        }
    }

    /// Finds the best position for a label near a mark; `None` without enough room.
    fn next_to(&self, own: usize, text: String) -> Option<Label> {
        let mark = self.marks.get(own)?;
        let size = width(&text, TEXT);
        let mut best: Option<(f64, Frame, Option<Leader>)> = None;
        for distance in [4.0, 14.0, 26.0, 42.0, 62.0, 90.0, 130.0] {
            for step in 0..16 {
                let (sin, cos) = (f64::from(step) / 16.0 * TAU).sin_cos();
                let reach = mark.radius + distance;
                let center = Spot {
                    x: mark.at.x + cos * (reach + size / 2.0),
                    y: mark.at.y + sin * (reach + LINE / 2.0),
                };
                let frame = Frame { center, width: size, height: LINE, angle: 0.0 };
                let Some((cost, leader)) = self.cost(own, mark, frame) else { continue };
                // Prefer positions to the right, then to the left, then above and below.
                let cost = cost + distance / 16.0 + (1.0 - cos) * 0.3 + sin.abs() * 0.3;
                if best.as_ref().is_none_or(|(lowest, ..)| cost < *lowest) {
                    best = Some((cost, frame, leader));
                }
            }
        }
        best.map(|(_, frame, leader)| {
            let anchor = match mark.at.x {
                x if x <= frame.left() => Anchor::Start,
                x if x >= frame.right() => Anchor::End,
                _ => Anchor::Middle,
            };
            Label { text, frame, anchor, leader }
        })
    }

    /// Returns the cost of a position and its leader line; `None` if the position is blocked.
    fn cost(&self, own: usize, mark: &Mark, frame: Frame) -> Option<(f64, Option<Leader>)> {
        if !self.plot.contains(&frame) || frame.overlaps(&mark.frame(0.0)) {
            return None;
        }
        let end = frame.nearest(mark.at);
        let gap = mark.at.distance(end) - mark.radius;
        let leader =
            (gap > 9.0).then(|| (mark.at.toward(end, (mark.radius + 1.0) / (gap + mark.radius)), end));
        let mut cost = 0.0;
        for label in self.labels() {
            if label.frame.overlaps(&frame)
                || leader.is_some_and(|(from, to)| label.frame.crossed_by(from, to))
            {
                return None;
            }
            if label.leader.is_some_and(|(from, to)| frame.crossed_by(from, to)) {
                return None;
            }
            if let (Some((a, b)), Some((c, d))) = (leader, label.leader)
                && cross(a, b, c, d)
            {
                cost += 4.0;
            }
        }
        for other in self.marks.iter().enumerate().filter(|(index, _)| *index != own).map(|(_, other)| other)
        {
            if frame.overlaps(&other.frame(0.0)) {
                return None;
            }
            if let Some((from, to)) = leader
                && other.frame(0.0).crossed_by(from, to)
            {
                cost += 1.0;
            }
        }
        cost += self.segments().filter(|(from, to)| frame.crossed_by(*from, *to)).count() as f64 * 1.2;
        if self.ridge.is_some_and(|ridge| frame.crossed_by(ridge, Spot { y: self.plot.bottom(), ..ridge })) {
            cost += 0.8;
        }
        Some((cost, leader))
    }
}

impl Mark {
    /// Returns the square around the mark with a margin.
    pub fn frame(&self, margin: f64) -> Frame {
        let side = 2.0 * (self.radius + margin);
        Frame { center: self.at, width: side, height: side, angle: 0.0 }
    }
}

fn cross(a: Spot, b: Spot, c: Spot, d: Spot) -> bool {
    let side = |p: Spot, q: Spot, r: Spot| (q.x - p.x) * (r.y - p.y) - (q.y - p.y) * (r.x - p.x) > 0.0;
    side(a, b, c) != side(a, b, d) && side(c, d, a) != side(c, d, b)
}

#[cfg(test)]
mod tests {
    use std::ops::Sub;
    use std::sync::LazyLock;

    use super::super::sample;
    use super::*;

    static LAYOUTS: LazyLock<Vec<(Chart, Layout)>> = LazyLock::new(|| {
        let sizes = [(858.0, 470.0), (300.0, 200.0), (1500.0, 900.0)];
        let charts = [sample::model(), sample::machine(), sample::hostile(), sample::crowd()];
        let every = charts.into_iter().flat_map(move |chart| {
            sizes.map(|(width, height)| {
                let layout = Layout::new(&chart, Frame::upright(74.0, 68.0, width, height));
                (chart.clone(), layout)
            })
        });
        every.collect()
    });

    #[test]
    fn labels_overlap_neither_each_other_nor_marks() {
        for (_, layout) in LAYOUTS.iter() {
            let labels: Vec<&Label> = layout.labels().collect();
            for (index, label) in labels.iter().enumerate() {
                for other in &labels[index + 1..] {
                    assert!(!label.frame.overlaps(&other.frame), "{:?} and {:?}", label.text, other.text);
                }
            }
            for label in labels {
                for mark in &layout.marks {
                    assert!(!label.frame.overlaps(&mark.frame(0.0)), "{:?} hides a mark", label.text);
                }
            }
        }
    }

    #[test]
    fn leader_lines_do_not_cross_labels() {
        for (_, layout) in LAYOUTS.iter() {
            for (from, to) in layout.labels().filter_map(|label| label.leader) {
                let through = layout
                    .labels()
                    .find(|label| label.leader != Some((from, to)) && label.frame.crossed_by(from, to));
                assert_eq!(through, None);
            }
        }
    }

    #[test]
    fn marks_and_labels_are_inside_the_plot() {
        for (chart, layout) in LAYOUTS.iter() {
            let marked: usize = layout.marks.iter().map(|mark| mark.points.len()).sum();
            assert_eq!(marked, chart.points.iter().filter(|point| point.place().is_some()).count());
            for mark in &layout.marks {
                assert!(
                    layout.plot.contains(&Frame { width: 0.0, height: 0.0, ..mark.frame(0.0) }),
                    "{mark:?}"
                );
            }
            for label in layout.labels() {
                assert!(layout.plot.contains(&label.frame), "{:?}", label.text);
            }
        }
    }

    #[test]
    fn roofs_bend_at_their_ridge_point() {
        for (chart, layout) in LAYOUTS.iter() {
            for (beam, line) in layout.beams.iter().zip(chart.lines(1.0, 2.0)) {
                let [from, bend, to] = beam.path[..] else { continue };
                let ridge = layout.spot(line.ridge.expect("a bent line has a ridge point"));
                assert!(bend.distance(ridge) < 1e-9);
                assert_eq!(bend.y, to.y);
                // The slope is one decade per decade at every size.
                let decades = (bend.x - from.x) / layout.plot.width
                    * layout.intensity.high().log10().sub(layout.intensity.low().log10());
                let rise = (from.y - bend.y) / layout.plot.height
                    * layout.performance.high().log10().sub(layout.performance.low().log10());
                assert!((decades - rise).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn rotated_rectangles_overlap_if_they_share_area() {
        let square = Frame::upright(0.0, 0.0, 10.0, 10.0);
        let neighbor = Frame { center: Spot { x: 16.0, y: 5.0 }, width: 10.0, height: 10.0, angle: 0.0 };
        assert!(!square.overlaps(&neighbor));
        // Rotated by 45 degrees, its corner extends seven pixels to the left.
        assert!(square.overlaps(&Frame { angle: std::f64::consts::FRAC_PI_4, ..neighbor }));
        assert!(square.crossed_by(Spot { x: -5.0, y: 5.0 }, Spot { x: 15.0, y: 6.0 }));
        assert!(!square.crossed_by(Spot { x: -5.0, y: 5.0 }, Spot { x: 5.0, y: 16.0 }));
    }
}
