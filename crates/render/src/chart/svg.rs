//! The chart as an SVG picture with exact coordinates: readable on paper and on screens, light or dark, by eye and by screen
//! reader, without scripts or anything from elsewhere.

use std::fmt::Write;

use super::layout::{Anchor, Frame, Label, Layout, Mark, Spot, TEXT, width};
use super::{Bound, Chart, Log, Point};
use crate::number;
use crate::text::{cut, escape};

/// The size of the picture in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// From left to right.
    pub width: f64,
    /// From top to bottom, legend included.
    pub height: f64,
}

impl Default for Size {
    fn default() -> Self {
        Size { width: 960.0, height: 640.0 }
    }
}

/// A picture smaller than this has no room for its own axes.
const SMALLEST: Size = Size { width: 360.0, height: 320.0 };
/// Air beside the plot; the labels of its axis stand in the left one.
const LEFT: f64 = 74.0;
const RIGHT: f64 = 28.0;
/// Kinds that have a colour of their own.
const COLOURS: usize = 8;
/// Names and kinds longer than this are cut.
const LONGEST: usize = 60;

/// The look of the chart, which the page shares.
pub(super) const STYLE: &str = include_str!("svg.css");

/// The chart in this size; never smaller than its axes need.
pub fn draw(chart: &Chart, size: Size) -> String {
    let size = Size { width: size.width.max(SMALLEST.width), height: size.height.max(SMALLEST.height) };
    let mut legend = Legend::new(chart, size.width);
    let mut layout = arrange(chart, size, &legend);
    if !layout.unplaced().is_empty() {
        // What found no room along its line gets a line below, which moves everything else.
        legend.notes.push(Note::default());
        layout = arrange(chart, size, &legend);
        let texts = layout.unplaced();
        let text = if texts.is_empty() { String::new() } else { format!("Also: {}", texts.join("; ")) };
        legend.notes.pop();
        legend.notes.push(Note { text, whole: texts.join("\n") });
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

/// The plot above the legend and right of the labels of its axis.
fn arrange(chart: &Chart, size: Size, legend: &Legend) -> Layout {
    let top = if chart.subtitle.is_empty() { 48.0 } else { 68.0 };
    let bottom = 70.0 + legend.height();
    let (width, height) = (size.width - LEFT - RIGHT, (size.height - top - bottom).max(100.0));
    Layout::new(chart, Frame::upright(LEFT, top, width, height))
}

/// A coordinate with as many digits as a pixel needs.
fn px(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// What stands below the axes: kinds, bounds, and what could not be drawn, broken into lines.
struct Legend {
    lines: Vec<Vec<LegendLine>>,
    notes: Vec<Note>,
}

struct LegendLine {
    class: String,
    bound: Option<Bound>,
    text: String,
}

/// A line of text, and all of it for whoever points at it.
#[derive(Default)]
struct Note {
    text: String,
    whole: String,
}

const ENTRY_AIR: f64 = 40.0;

impl Legend {
    fn new(chart: &Chart, width_of_page: f64) -> Legend {
        let kinds = chart.kinds();
        let mut entries: Vec<LegendLine> = kinds
            .iter()
            .take(COLOURS)
            .enumerate()
            .filter(|(_, kind)| !kind.is_empty())
            .map(|(index, kind)| LegendLine {
                class: format!("k{index}"),
                bound: None,
                text: cut(kind, 28, true),
            })
            .collect();
        if kinds.len() > COLOURS {
            let more = number::count(kinds.len() - COLOURS);
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
            let size = width(&entry.text, TEXT) + ENTRY_AIR;
            match lines.last_mut() {
                Some(line) if size <= room => line.push(entry),
                _ => {
                    lines.push(vec![entry]);
                    room = width_of_page - LEFT - RIGHT;
                }
            }
            room -= size;
        }
        let nowhere: Vec<&Point> = chart.points.iter().filter(|point| point.place().is_none()).collect();
        let mut notes = Vec::new();
        if !nowhere.is_empty() {
            let names = |most: usize, each: usize| {
                nowhere
                    .iter()
                    .take(most)
                    .map(|point| cut(&point.name, each, true))
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            let count = number::count(nowhere.len());
            let text =
                format!("Not drawn, no intensity or performance above zero: {count} ({})", names(20, 40));
            notes.push(Note { text, whole: names(500, LONGEST) });
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
        let most = |pixels: f64, each: f64| (pixels / each) as usize;
        let (columns, rows) = (most(plot.width, 64.0), most(plot.height, 34.0));
        // Lines closer than a few pixels would be a grey area.
        let airy = |axis: &Log, pixels: f64, most: usize| {
            let minors = axis.minors(most);
            if minors.len() as f64 * 4.0 < pixels { minors } else { Vec::new() }
        };
        let (l, r, t, b) = (px(left), px(right), px(top), px(bottom));
        for (class, ticks) in [
            ("minor", airy(&layout.intensity, plot.width, columns)),
            ("major", layout.intensity.decades(columns)),
        ] {
            let path: String = ticks.iter().map(|tick| format!("M{} {t}V{b}", x(tick.value))).collect();
            self.add(format_args!(r#"<path class="grid {class}" d="{path}"/>"#));
        }
        for (class, ticks) in [
            ("minor", airy(&layout.performance, plot.height, rows)),
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
            px(plot.centre.x),
            px(bottom + 42.0)
        ));
        self.add(format_args!(
            r#"<text class="caption" transform="translate(20 {}) rotate(-90)" text-anchor="middle">Performance, GFLOP/s</text>"#,
            px(plot.centre.y)
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
            // Groups are told apart by their dashes.
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
        let Spot { x, y } = label.frame.centre;
        let turn = label.frame.turn.to_degrees();
        let (anchor, x) = match label.anchor {
            Anchor::Start => ("start", label.frame.left()),
            Anchor::Middle => ("middle", x),
            Anchor::End => ("end", label.frame.right()),
        };
        let place = if turn == 0.0 {
            format!(r#"x="{}" y="{}""#, px(x), px(y))
        } else {
            format!(r#"transform="translate({} {}) rotate({})""#, px(x), px(y), px(turn))
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
            Some(index) if *index < COLOURS => format!("k{index}"),
            _ => "kx".into(),
        };
        // Leaders first, so that they run below every mark.
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
                x += width(&entry.text, TEXT) + ENTRY_AIR;
            }
            y += 20.0;
        }
        for note in &legend.notes {
            let room = ((size.width - LEFT - RIGHT) / (TEXT * 0.64)) as usize;
            self.add(format_args!(
                r#"<text class="note" x="{LEFT}" y="{}" dy="0.35em"><title>{}</title>{}</text>"#,
                px(y),
                escape(&note.whole),
                escape(&cut(&note.text, room, true))
            ));
            y += 20.0;
        }
    }
}

/// A mark's shape tells its bound, so that it needs no colour.
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
    let mut lines = vec![cut(&chart.full_name(roof), LONGEST, true)];
    let figures = [(roof.bandwidth_gb_s, "GB/s"), (roof.compute_gflop_s, "GFLOP/s")];
    lines.extend(
        figures.iter().filter_map(|(value, unit)| Some(format!("{} {unit}", number::figure((*value)?)))),
    );
    lines.extend(
        chart.ridge_of(roof).map(|ridge| format!("ridge {} FLOP/byte", number::figure(ridge.intensity))),
    );
    lines.join("\n")
}

/// What is shown to whoever points at a mark: its first point in full, the names of some more.
fn mark_title(chart: &Chart, mark: &Mark) -> String {
    const MORE: usize = 8;
    let mut points = mark.points.iter().filter_map(|point| chart.points.get(*point));
    let mut lines = Vec::new();
    if let Some(point) = points.next() {
        lines.push(cut(&point.name, LONGEST, true));
        if !point.group.is_empty() {
            lines.push(cut(&point.group, LONGEST, true));
        }
        lines.push(format!("{} FLOP/byte", number::maybe(point.intensity_flop_byte)));
        lines.push(format!("{} GFLOP/s", number::maybe(point.performance_gflop_s)));
        lines.extend(point.share.map(|share| format!("{} of the time", number::percent(Some(share)))));
        lines.push(match point.bound {
            Bound::Undefined => "bound undefined".into(),
            bound => format!("{}-bound", bound.name()),
        });
        let details = point.details.iter().take(20);
        lines.extend(
            details.map(|(key, value)| format!("{}: {}", cut(key, LONGEST, true), cut(value, LONGEST, true))),
        );
    }
    let left = mark.points.len().saturating_sub(1);
    if left > 0 {
        let share = chart.share(&mark.points);
        let together = share.map(|share| format!(", together {} of the time", number::percent(Some(share))));
        lines.push(format!("and {} more here{}:", number::count(left), together.unwrap_or_default()));
        lines.extend(points.by_ref().take(MORE).map(|point| cut(&point.name, LONGEST, true)));
        if left > MORE {
            lines.push("…".into());
        }
    }
    lines.join("\n")
}

/// The chart in words.
fn describe(chart: &Chart) -> String {
    let drawn = chart.points.iter().filter(|point| point.place().is_some()).count();
    let mut text = format!(
        "Log-log roofline chart with {} roofs and {} operations; {} more are not drawn.",
        chart.roofs.len(),
        number::count(drawn),
        number::count(chart.points.len() - drawn)
    );
    for roof in chart.roofs.iter().take(12) {
        text += &format!(" Roof {}.", roof_title(chart, roof).replace('\n', ", "));
    }
    let mut order: Vec<&Point> = chart.points.iter().filter(|point| point.place().is_some()).collect();
    order.sort_by(|a, b| b.weight().total_cmp(&a.weight()));
    for point in order.into_iter().take(12) {
        text += &format!(
            " {}: {} FLOP/byte, {} GFLOP/s, bound {}.",
            cut(&point.name, LONGEST, true),
            number::maybe(point.intensity_flop_byte),
            number::maybe(point.performance_gflop_s),
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
    fn names_from_files_stay_text() {
        let svg = draw(&sample::hostile(), Size::default());
        assert!(svg.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
        assert!(!svg.contains("<script") && !svg.contains("<img"));
        assert!(!svg.contains(|c: char| c.is_control() && c != '\n'));
    }

    #[test]
    fn charts_without_points_or_roofs_and_of_any_size_are_drawn() {
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
    fn long_names_do_not_make_long_pictures() {
        assert!(draw(&sample::hostile(), Size::default()).len() < 60_000);
    }

    #[test]
    fn roofs_without_room_for_their_label_are_named_below() {
        let size = Size { width: 360.0, height: 320.0 };
        assert!(draw(&sample::crowd(), size).contains(">Also: "));
    }
}
