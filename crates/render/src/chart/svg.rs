//! Renders charts as self-contained SVG for print, light and dark screens, and screen readers.

use std::fmt::Write;

use super::layout::{Anchor, Frame, Label, Layout, Mark, Spot, TEXT, width};
use super::{Bound, Chart, Log, Point};
use crate::display_width::{cut, escape};
use crate::format;

/// Size of a picture in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Width in pixels.
    pub width: f64,
    /// Height in pixels, including the legend.
    pub height: f64,
}

impl Default for Size {
    fn default() -> Self {
        Size { width: 960.0, height: 640.0 }
    }
}

/// Minimum size, which has room for the axes.
const MIN_SIZE: Size = Size { width: 360.0, height: 320.0 };
/// Margins of the plot; the left one contains the labels of the axis.
const LEFT: f64 = 74.0;
const RIGHT: f64 = 28.0;
/// Number of kinds with a distinct color.
const COLORS: usize = 8;
/// Maximum length of names and kinds.
const MAX_TEXT: usize = 60;

/// Style sheet, shared with HTML pages.
pub(super) const STYLE: &str = include_str!("svg.css");

/// Renders the chart as SVG; the size is increased to the minimum if necessary.
pub fn draw(chart: &Chart, size: Size) -> String {
    let size = Size { width: size.width.max(MIN_SIZE.width), height: size.height.max(MIN_SIZE.height) };
    let mut legend = Legend::new(chart, size.width);
    let mut layout = arrange(chart, size, &legend);
    if !layout.unplaced().is_empty() {
        // Labels without room along their roofs move to a note below, which changes the layout.
        legend.notes.push(Note::default());
        layout = arrange(chart, size, &legend);
        let texts = layout.unplaced();
        let text = if texts.is_empty() { String::new() } else { format!("Also: {}", texts.join("; ")) };
        legend.notes.pop();
        legend.notes.push(Note { text, full: texts.join("\n") });
    }
    let mut page = Page { out: String::new() };
    page.open(chart, size);
    page.axes(&layout);
    page.roofs(chart, &layout);
    page.marks(chart, &layout);
    page.words(&layout);
    page.legend(&legend, size);
    page.out += "</svg>\n";
    page.out
}

/// Lays out the plot above the legend.
fn arrange(chart: &Chart, size: Size, legend: &Legend) -> Layout {
    let top = if chart.subtitle.is_empty() { 48.0 } else { 68.0 };
    let bottom = 70.0 + legend.height();
    let (width, height) = (size.width - LEFT - RIGHT, (size.height - top - bottom).max(100.0));
    Layout::new(chart, Frame::upright(LEFT, top, width, height))
}

/// Formats a coordinate with at most two decimals.
fn px(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Legend below the axes: kinds, bounds and operations that are not drawn.
struct Legend {
    lines: Vec<Vec<LegendLine>>,
    notes: Vec<Note>,
}

struct LegendLine {
    class: String,
    bound: Option<Bound>,
    text: String,
}

/// A line of text, and the full text for its tooltip.
#[derive(Default)]
struct Note {
    text: String,
    full: String,
}

const ENTRY_GAP: f64 = 40.0;

impl Legend {
    fn new(chart: &Chart, width_of_page: f64) -> Legend {
        let kinds = chart.kinds();
        let mut entries: Vec<LegendLine> = kinds
            .iter()
            .take(COLORS)
            .enumerate()
            .filter(|(_, kind)| !kind.is_empty())
            .map(|(index, kind)| LegendLine {
                class: format!("k{index}"),
                bound: None,
                text: cut(kind, 28, true),
            })
            .collect();
        if kinds.len() > COLORS {
            let more = format::count(kinds.len() - COLORS);
            entries.push(LegendLine { class: "kx".into(), bound: None, text: format!("{more} more kinds") });
        }
        for bound in [Bound::Memory, Bound::Compute, Bound::Overhead, Bound::Undefined] {
            if chart.points.iter().any(|point| point.bound == bound && point.place().is_some()) {
                let text = if bound == Bound::Undefined {
                    "bound undefined".into()
                } else {
                    format!("{}-bound", bound.name())
                };
                entries.push(LegendLine { class: "shape".into(), bound: Some(bound), text });
            }
        }
        let mut lines: Vec<Vec<LegendLine>> = Vec::new();
        let mut room = 0.0;
        for entry in entries {
            let size = width(&entry.text, TEXT) + ENTRY_GAP;
            match lines.last_mut() {
                Some(line) if size <= room => line.push(entry),
                _ => {
                    lines.push(vec![entry]);
                    room = width_of_page - LEFT - RIGHT;
                }
            }
            room -= size;
        }
        let undrawn: Vec<&Point> = chart.points.iter().filter(|point| point.place().is_none()).collect();
        let mut notes = Vec::new();
        if !undrawn.is_empty() {
            let names = |max_names: usize, max_length: usize| {
                undrawn
                    .iter()
                    .take(max_names)
                    .map(|point| cut(&point.name, max_length, true))
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            let count = format::count(undrawn.len());
            let text =
                format!("Not drawn (no positive intensity or performance): {count} ({})", names(20, 40));
            notes.push(Note { text, full: names(500, MAX_TEXT) });
        }
        Legend { lines, notes }
    }

    fn height(&self) -> f64 {
        (self.lines.len() + self.notes.len()) as f64 * 20.0
    }
}

struct Page {
    out: String,
}

impl Page {
    fn add(&mut self, text: std::fmt::Arguments) {
        // Writing to a string can't fail.
        let _ = self.out.write_fmt(text);
        self.out.push('\n');
    }

    fn open(&mut self, chart: &Chart, size: Size) {
        let (w, h) = (px(size.width), px(size.height));
        let title = escape(&cut(&chart.title, 200, true));
        self.add(format_args!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" role="img" aria-labelledby="roofline-title roofline-desc" class="roofline">"#
        ));
        self.add(format_args!(r#"<title id="roofline-title">{title}</title>"#));
        self.add(format_args!(r#"<desc id="roofline-desc">{}</desc>"#, escape(&describe(chart))));
        self.add(format_args!("<style>\n{STYLE}</style>"));
        self.add(format_args!(r#"<rect class="paper" width="{w}" height="{h}"/>"#));
        let room = |size_of_text: f64| ((size.width - LEFT - RIGHT) / (size_of_text * 0.62)) as usize;
        self.add(format_args!(
            r#"<text class="title" x="{LEFT}" y="32">{}</text>"#,
            escape(&cut(&chart.title, room(18.0), true))
        ));
        if !chart.subtitle.is_empty() {
            self.add(format_args!(
                r#"<text class="subtitle" x="{LEFT}" y="52">{}</text>"#,
                escape(&cut(&chart.subtitle, room(12.0), true))
            ));
        }
    }

    fn axes(&mut self, layout: &Layout) {
        let plot = &layout.plot;
        let (left, right, top, bottom) = (plot.left(), plot.right(), plot.top(), plot.bottom());
        let x = |value: f64| px(left + layout.intensity.at(value) * plot.width);
        let y = |value: f64| px(bottom - layout.performance.at(value) * plot.height);
        let max_ticks = |pixels: f64, spacing: f64| (pixels / spacing) as usize;
        let (columns, rows) = (max_ticks(plot.width, 64.0), max_ticks(plot.height, 34.0));
        // Minor lines that are too close would merge into a gray area.
        let minors = |axis: &Log, pixels: f64, max_ticks: usize| {
            let minors = axis.minors(max_ticks);
            if minors.len() as f64 * 4.0 < pixels { minors } else { Vec::new() }
        };
        let (l, r, t, b) = (px(left), px(right), px(top), px(bottom));
        for (class, ticks) in [
            ("minor", minors(&layout.intensity, plot.width, columns)),
            ("major", layout.intensity.decades(columns)),
        ] {
            let path: String = ticks.iter().map(|tick| format!("M{} {t}V{b}", x(tick.value))).collect();
            self.add(format_args!(r#"<path class="grid {class}" d="{path}"/>"#));
        }
        for (class, ticks) in [
            ("minor", minors(&layout.performance, plot.height, rows)),
            ("major", layout.performance.decades(rows)),
        ] {
            let path: String = ticks.iter().map(|tick| format!("M{l} {}H{r}", y(tick.value))).collect();
            self.add(format_args!(r#"<path class="grid {class}" d="{path}"/>"#));
        }
        self.add(format_args!(r#"<path class="axis" d="M{l} {t}V{b}H{r}"/>"#));
        for tick in layout.intensity.decades(columns) {
            let (x, y, label) = (x(tick.value), px(bottom + 19.0), tick.label(true));
            self.add(format_args!(
                r#"<text class="tick" x="{x}" y="{y}" text-anchor="middle">{label}</text>"#
            ));
        }
        for tick in layout.performance.decades(rows) {
            let (x, y, label) = (px(left - 9.0), y(tick.value), tick.label(true));
            self.add(format_args!(
                r#"<text class="tick" x="{x}" y="{y}" dy="0.35em" text-anchor="end">{label}</text>"#
            ));
        }
        self.add(format_args!(
            r#"<text class="caption" x="{}" y="{}" text-anchor="middle">Arithmetic intensity, FLOP/byte</text>"#,
            px(plot.center.x),
            px(bottom + 42.0)
        ));
        self.add(format_args!(
            r#"<text class="caption" transform="translate(20 {}) rotate(-90)" text-anchor="middle">Performance, GFLOP/s</text>"#,
            px(plot.center.y)
        ));
    }

    fn roofs(&mut self, chart: &Chart, layout: &Layout) {
        if let Some(ridge) = layout.ridge {
            let (x, y, bottom) = (px(ridge.x), px(ridge.y), px(layout.plot.bottom()));
            self.add(format_args!(r#"<path class="border" d="M{x} {y}V{bottom}"/>"#));
        }
        // The first roof is drawn last, on top.
        for (index, beam) in layout.beams.iter().enumerate().rev() {
            let Some(roof) = chart.roofs.get(beam.roof) else { continue };
            let path: Vec<String> =
                beam.path.iter().map(|spot| format!("{} {}", px(spot.x), px(spot.y))).collect();
            let first = if index == 0 { " first" } else { "" };
            // Groups differ in their dash pattern.
            let group = chart.group_of(roof) % 3;
            self.add(format_args!(r#"<g class="roof g{group}{first}">"#));
            self.add(format_args!("<title>{}</title>", escape(&roof_title(chart, roof))));
            if let [start, rest @ ..] = &path[..] {
                self.add(format_args!(r#"<path d="M{start}L{}"/>"#, rest.join(" ")));
            }
            if beam.path.len() == 3
                && let Some(bend) = beam.path.get(1)
            {
                self.add(format_args!(r#"<circle cx="{}" cy="{}" r="3"/>"#, px(bend.x), px(bend.y)));
            }
            for label in &beam.labels {
                self.label(label, "along");
            }
            self.add(format_args!("</g>"));
        }
    }

    fn label(&mut self, label: &Label, class: &str) {
        let Spot { x, y } = label.frame.center;
        let angle = label.frame.angle.to_degrees();
        let (anchor, x) = match label.anchor {
            Anchor::Start => ("start", label.frame.left()),
            Anchor::Middle => ("middle", x),
            Anchor::End => ("end", label.frame.right()),
        };
        let place = if angle == 0.0 {
            format!(r#"x="{}" y="{}""#, px(x), px(y))
        } else {
            format!(r#"transform="translate({} {}) rotate({})""#, px(x), px(y), px(angle))
        };
        self.add(format_args!(
            r#"<text class="{class}" {place} dy="0.35em" text-anchor="{anchor}">{}</text>"#,
            escape(&label.text)
        ));
    }

    fn words(&mut self, layout: &Layout) {
        for label in &layout.words {
            self.label(label, "word");
        }
    }

    fn marks(&mut self, chart: &Chart, layout: &Layout) {
        let kinds: std::collections::BTreeMap<&str, usize> =
            chart.kinds().into_iter().enumerate().map(|(index, kind)| (kind, index)).collect();
        let class = |point: &Point| match kinds.get(point.group.as_str()) {
            Some(index) if *index < COLORS => format!("k{index}"),
            _ => "kx".into(),
        };
        // Leader lines are drawn below the marks.
        for (from, to) in layout.marks.iter().filter_map(|mark| mark.label.as_ref()?.leader) {
            self.add(format_args!(
                r#"<path class="leader" d="M{} {}L{} {}"/>"#,
                px(from.x),
                px(from.y),
                px(to.x),
                px(to.y)
            ));
        }
        for mark in &layout.marks {
            let Some(first) = mark.points.first().and_then(|point| chart.points.get(*point)) else {
                continue;
            };
            self.add(format_args!(
                r#"<g class="mark {}"><title>{}</title>{}</g>"#,
                class(first),
                escape(&mark_title(chart, mark)),
                shape(first.bound, mark.at, mark.radius)
            ));
        }
        for label in layout.marks.iter().filter_map(|mark| mark.label.as_ref()) {
            self.label(label, "name");
        }
    }

    fn legend(&mut self, legend: &Legend, size: Size) {
        let mut y = size.height - legend.height() - 4.0;
        for line in &legend.lines {
            let mut x = LEFT + 6.0;
            for entry in line {
                let at = Spot { x, y };
                let shape = shape(entry.bound.unwrap_or(Bound::Memory), at, 5.0);
                self.add(format_args!(r#"<g class="mark {}">{shape}</g>"#, entry.class));
                self.add(format_args!(
                    r#"<text class="entry" x="{}" y="{}" dy="0.35em">{}</text>"#,
                    px(x + 12.0),
                    px(y),
                    escape(&entry.text)
                ));
                x += width(&entry.text, TEXT) + ENTRY_GAP;
            }
            y += 20.0;
        }
        for note in &legend.notes {
            let room = ((size.width - LEFT - RIGHT) / (TEXT * 0.64)) as usize;
            self.add(format_args!(
                r#"<text class="note" x="{LEFT}" y="{}" dy="0.35em"><title>{}</title>{}</text>"#,
                px(y),
                escape(&note.full),
                escape(&cut(&note.text, room, true))
            ));
            y += 20.0;
        }
    }
}

/// Draws a mark; its shape depends on the bound, so that the bound is visible without color.
fn shape(bound: Bound, at: Spot, radius: f64) -> String {
    let Spot { x, y } = at;
    match bound {
        Bound::Memory => format!(r#"<circle cx="{}" cy="{}" r="{}"/>"#, px(x), px(y), px(radius)),
        Bound::Compute => {
            let side = radius * 0.9;
            format!(
                r#"<rect x="{}" y="{}" width="{2}" height="{2}"/>"#,
                px(x - side),
                px(y - side),
                px(2.0 * side)
            )
        }
        Bound::Overhead => {
            let d = radius * 1.15;
            format!(
                r#"<path d="M{} {}L{} {}L{} {}Z"/>"#,
                px(x),
                px(y - d),
                px(x + d),
                px(y + d),
                px(x - d),
                px(y + d)
            )
        }
        Bound::Undefined => {
            let d = radius * 1.15;
            format!(
                r#"<path d="M{} {}L{} {}L{} {}L{} {}Z"/>"#,
                px(x),
                px(y - d),
                px(x + d),
                px(y),
                px(x),
                px(y + d),
                px(x - d),
                px(y)
            )
        }
    }
}

fn roof_title(chart: &Chart, roof: &super::Roof) -> String {
    let mut lines = vec![cut(&chart.full_name(roof), MAX_TEXT, true)];
    let figures = [(roof.bandwidth_gb_s, "GB/s"), (roof.compute_gflop_s, "GFLOP/s")];
    lines.extend(
        figures.iter().filter_map(|(value, unit)| Some(format!("{} {unit}", format::figure((*value)?)))),
    );
    lines.extend(
        chart.ridge_of(roof).map(|ridge| format!("ridge {} FLOP/byte", format::figure(ridge.intensity))),
    );
    lines.join("\n")
}

/// Returns the tooltip of a mark: all details of its first point and the names of some others.
fn mark_title(chart: &Chart, mark: &Mark) -> String {
    const MAX_NAMES: usize = 8;
    let mut points = mark.points.iter().filter_map(|point| chart.points.get(*point));
    let mut lines = Vec::new();
    if let Some(point) = points.next() {
        lines.push(cut(&point.name, MAX_TEXT, true));
        if !point.group.is_empty() {
            lines.push(cut(&point.group, MAX_TEXT, true));
        }
        lines.push(format!("{} FLOP/byte", format::maybe(point.intensity_flop_byte)));
        lines.push(format!("{} GFLOP/s", format::maybe(point.performance_gflop_s)));
        lines.extend(point.share.map(|share| format!("{} of the time", format::percent(Some(share)))));
        lines.push(match point.bound {
            Bound::Undefined => "bound undefined".into(),
            bound => format!("{}-bound", bound.name()),
        });
        let details = point.details.iter().take(20);
        lines.extend(
            details
                .map(|(key, value)| format!("{}: {}", cut(key, MAX_TEXT, true), cut(value, MAX_TEXT, true))),
        );
    }
    let left = mark.points.len().saturating_sub(1);
    if left > 0 {
        let share = chart.share(&mark.points);
        let total = share.map(|share| format!(", {} of the time in total", format::percent(Some(share))));
        lines.push(format!("and {} more here{}:", format::count(left), total.unwrap_or_default()));
        lines.extend(points.by_ref().take(MAX_NAMES).map(|point| cut(&point.name, MAX_TEXT, true)));
        if left > MAX_NAMES {
            lines.push("…".into());
        }
    }
    lines.join("\n")
}

/// Describes the chart for screen readers.
fn describe(chart: &Chart) -> String {
    let drawn = chart.points.iter().filter(|point| point.place().is_some()).count();
    let mut text = format!(
        "Log-log roofline chart with {} roofs and {} operations; {} more are not drawn.",
        chart.roofs.len(),
        format::count(drawn),
        format::count(chart.points.len() - drawn)
    );
    for roof in chart.roofs.iter().take(12) {
        text += &format!(" Roof {}.", roof_title(chart, roof).replace('\n', ", "));
    }
    let mut order: Vec<&Point> = chart.points.iter().filter(|point| point.place().is_some()).collect();
    order.sort_by(|a, b| b.weight().total_cmp(&a.weight()));
    for point in order.into_iter().take(12) {
        text += &format!(
            " {}: {} FLOP/byte, {} GFLOP/s, bound {}.",
            cut(&point.name, MAX_TEXT, true),
            format::maybe(point.intensity_flop_byte),
            format::maybe(point.performance_gflop_s),
            point.bound.name()
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn the_chart_of_a_small_model() {
        insta::assert_snapshot!(draw(&sample::model(), Size::default()));
    }

    #[test]
    fn names_are_escaped() {
        let svg = draw(&sample::hostile(), Size::default());
        assert!(svg.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
        assert!(!svg.contains("<script") && !svg.contains("<img"));
        assert!(!svg.contains(|c: char| c.is_control() && c != '\n'));
    }

    #[test]
    fn empty_charts_and_extreme_sizes_are_drawn() {
        let full = sample::model();
        let one = Chart { roofs: Vec::new(), points: full.points[..1].to_vec(), ..Chart::default() };
        for chart in [full, one, Chart::default(), sample::hostile()] {
            for (width, height) in [(0.0, 0.0), (360.0, 320.0), (f64::NAN, -1.0), (4000.0, 3000.0)] {
                let svg = draw(&chart, Size { width, height });
                assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            }
        }
    }

    #[test]
    fn long_names_are_shortened() {
        assert!(draw(&sample::hostile(), Size::default()).len() < 60_000);
    }

    #[test]
    fn labels_without_room_move_below_the_plot() {
        let size = Size { width: 360.0, height: 320.0 };
        assert!(draw(&sample::crowd(), size).contains(">Also: "));
    }
}
