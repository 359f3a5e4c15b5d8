//! Throughput against latency of a server by number of users: as SVG, as text, and as an HTML page whose sliders evaluate the
//! contracts.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use super::html::{Slider, Step};
use super::terminal::Canvas;
use super::{Log, html, svg};
use crate::display_width::{columns, cut, escape};
use crate::format::figure;

const PAGE: &str = include_str!("curve.html");
const SCRIPT: &str = include_str!("curve.js");
/// Style of curves, in addition to the style of all charts.
const STYLE: &str = include_str!("curve.css");

/// Curves of several device sets.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Curves {
    /// Title.
    pub title: String,
    /// Line below the title: the workload and the objectives.
    pub subtitle: String,
    /// One curve per device set.
    pub lines: Vec<Curve>,
}

/// Throughput and latency of one device set by number of users.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Curve {
    /// Name of the device set.
    pub name: String,
    /// Spots in ascending order of users.
    pub spots: Vec<Spot>,
}

/// Throughput and latency for one number of users.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Spot {
    /// Number of users.
    pub users: f64,
    /// Best layout.
    pub layout: String,
    /// Ceiling: no layout is faster.
    pub ceiling: Pace,
    /// Ideal throughput and latency of the best layout.
    pub ideal: Pace,
    /// Ideal time to first token, in milliseconds.
    pub first_ms: f64,
    /// True if the objectives are met.
    pub enough: bool,
    /// True if this is the requested number of users.
    pub requested: bool,
}

/// Latency and throughput.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Pace {
    /// Time per output token of a user, in milliseconds.
    pub token_ms: f64,
    /// Throughput of all users, in tokens per second.
    pub rate: f64,
}

/// Data that a page needs to recompute the curves.
#[derive(Clone, Debug, Serialize)]
pub struct CurveModel {
    /// JavaScript that declares the modules of the equations.
    pub module: String,
    /// Calls of each contract, in order.
    pub steps: BTreeMap<&'static str, Vec<Step>>,
    /// Sliders for users, prompt length, output length and prompt reuse.
    pub sliders: Vec<Slider>,
    /// Hidden size of the model.
    pub hidden: f64,
    /// Number of layers.
    pub layers: f64,
    /// Fixed cost of a message for the ideal, in µs.
    pub start: f64,
    /// Sets of identical devices.
    pub sets: Vec<DeviceSetModel>,
}

/// A set of identical devices.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceSetModel {
    /// Index of the curve.
    pub line: usize,
    /// Number of devices.
    pub count: u64,
    /// Memory capacity of one device, in GB; null if unknown.
    pub capacity: Option<f64>,
    /// Interconnect bandwidth of one device in one direction, in GB/s; null if unknown.
    pub link: Option<f64>,
    /// Dispatch time of a step for the ideal, in seconds.
    pub dispatch: f64,
    /// Inputs of `transformer-v1` for the ceiling.
    pub least: BTreeMap<String, f64>,
    /// Inputs of `transformer-v1` for the ideal.
    pub likely: BTreeMap<String, f64>,
    /// Layouts of the model over the devices.
    pub layouts: Vec<LayoutModel>,
}

/// A layout of a model over devices.
#[derive(Clone, Debug, Serialize)]
pub struct LayoutModel {
    /// Description of the layout.
    pub name: String,
    /// Degree of tensor parallelism.
    pub tensor: u64,
    /// Number of pipeline stages.
    pub pipeline: u64,
    /// Degree of expert parallelism within a stage.
    pub experts: u64,
    /// Number of copies of the model.
    pub copies: u64,
}

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 600.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 28.0;
const TOP: f64 = 76.0;
/// Height below the plot for labels, caption and legend.
const BOTTOM: f64 = 78.0;
const LEGEND_LINE: f64 = 20.0;
/// Number of distinct colors.
const COLORS: usize = 8;

impl Curves {
    fn paces(&self) -> impl Iterator<Item = Pace> {
        self.lines.iter().flat_map(|line| &line.spots).flat_map(|spot| [spot.ceiling, spot.ideal])
    }

    /// Returns the axes in milliseconds and tokens per second, with a margin around the curves.
    fn axes(&self) -> (Log, Log) {
        let around = |value: f64| [value / 1.25, value * 1.25];
        let ms = Log::close(self.paces().flat_map(|pace| around(pace.token_ms)));
        (ms, Log::close(self.paces().flat_map(|pace| around(pace.rate))))
    }
}

/// Renders the curves as SVG.
pub fn svg(chart: &Curves) -> String {
    let height = HEIGHT + LEGEND_LINE * chart.lines.len().saturating_sub(1) as f64;
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    let (across, up) = chart.axes();
    let x = |ms: f64| LEFT + across.at(ms) * (right - LEFT);
    let y = |rate: f64| bottom - up.at(rate) * (bottom - TOP);
    let place = |pace: &Pace| format!("{:.1} {:.1}", x(pace.token_ms), y(pace.rate));
    let (title, subtitle) = (escape(&cut(&chart.title, 90, true)), escape(&cut(&chart.subtitle, 140, true)));
    let mut out = String::new();
    // Writing to a string can't fail.
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         role=\"img\" aria-label=\"{title}\" class=\"roofline\">\n<title>{title}</title>\n<desc>{}</desc>\n\
         <style>{}{STYLE}</style>\n<rect width=\"100%\" height=\"100%\" class=\"paper\"/>\n\
         <text x=\"{LEFT}\" y=\"32\" class=\"title\">{title}</text>\n<text x=\"{LEFT}\" y=\"52\" class=\"subtitle\">{subtitle}</text>\n",
        escape(&describe(chart)),
        svg::STYLE,
    );
    for tick in across.ticks() {
        let (class, x) = (tick.class(), x(tick.value));
        let _ = writeln!(out, "<path class=\"grid {class}\" d=\"M{x:.1} {TOP}V{bottom}\"/>");
        let _ = writeln!(
            out,
            "<text class=\"tick\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            bottom + 19.0,
            tick.text()
        );
    }
    for tick in up.ticks() {
        let (class, y) = (tick.class(), y(tick.value));
        let _ = writeln!(out, "<path class=\"grid {class}\" d=\"M{LEFT} {y:.1}H{right}\"/>");
        let _ = writeln!(
            out,
            "<text class=\"tick\" x=\"{}\" y=\"{y:.1}\" dy=\"0.35em\" text-anchor=\"end\">{}</text>",
            LEFT - 9.0,
            tick.text()
        );
    }
    let _ = write!(
        out,
        "<path class=\"axis\" d=\"M{LEFT} {TOP}V{bottom}H{right}\"/>\n\
         <text class=\"caption\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{ACROSS}</text>\n\
         <text class=\"caption\" transform=\"translate(20 {}) rotate(-90)\" text-anchor=\"middle\">{UP}</text>\n",
        (LEFT + right) / 2.0,
        bottom + 42.0,
        (TOP + bottom) / 2.0,
    );
    let mut dots = Vec::new();
    for (line, curve) in chart.lines.iter().enumerate() {
        let dot = |spot| Dot { line, spot, x: x(spot.ideal.token_ms), y: y(spot.ideal.rate), label: None };
        dots.extend(curve.spots.iter().map(dot));
    }
    label(&mut dots, (LEFT, right, bottom));
    for (index, line) in chart.lines.iter().enumerate() {
        let color = index % COLORS;
        for (class, of) in
            [("ceiling", (|spot| &spot.ceiling) as fn(&Spot) -> &Pace), ("ideal", |spot| &spot.ideal)]
        {
            let path: Vec<String> = line.spots.iter().map(|spot| place(of(spot))).collect();
            if !path.is_empty() {
                let _ = writeln!(out, "<path class=\"curve {class} s{color}\" d=\"M{}\"/>", path.join("L"));
            }
        }
        let dots = dots.iter().filter(|dot| dot.line == index);
        // The requested number of users is drawn last, on top.
        let (requested, others): (Vec<&Dot>, Vec<&Dot>) = dots.partition(|dot| dot.spot.requested);
        for Dot { spot, x, y, label, .. } in others.into_iter().chain(requested) {
            let kind = if spot.enough { "met" } else { "unmet" };
            let (size, requested) = if spot.requested { (6.5, " requested") } else { (4.0, "") };
            let _ = write!(
                out,
                "<g><title>{}</title><circle class=\"spot {kind} k{color} s{color}{requested}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{size}\"/>",
                escape(&describe_spot(&line.name, spot))
            );
            if let Some((x, y, anchor)) = label {
                let text = spot.label();
                let _ = write!(
                    out,
                    "<text class=\"users{requested}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
                );
            }
            out += "</g>\n";
        }
        let at = bottom + 66.0 + LEGEND_LINE * index as f64;
        let _ = writeln!(
            out,
            "<path class=\"curve ideal s{color}\" d=\"M{LEFT} {0:.1}h26\"/><text class=\"entry\" x=\"{1}\" y=\"{0:.1}\" dy=\"0.35em\">{2}, ideal</text>\
             <path class=\"curve ceiling s{color}\" d=\"M{3} {0:.1}h26\"/><text class=\"entry\" x=\"{4}\" y=\"{0:.1}\" dy=\"0.35em\">ceiling</text>",
            at,
            LEFT + 34.0,
            escape(&cut(&line.name, 60, true)),
            LEFT + 480.0,
            LEFT + 514.0,
        );
    }
    out + "</svg>\n"
}

/// A spot with its position in the picture.
struct Dot<'a> {
    line: usize,
    spot: &'a Spot,
    x: f64,
    y: f64,
    /// Position and text anchor of the label.
    label: Option<(f64, f64, &'static str)>,
}

impl Spot {
    fn label(&self) -> String {
        if self.requested { format!("{} users", self.users) } else { self.users.to_string() }
    }
}

/// Places labels without overlaps; the requested numbers of users come first.
fn label(dots: &mut [Dot<'_>], (left, right, bottom): (f64, f64, f64)) {
    let overlap = |a: &[f64; 4], b: &[f64; 4]| a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
    let mut taken: Vec<[f64; 4]> =
        dots.iter().map(|dot| [dot.x - 5.0, dot.y - 5.0, dot.x + 5.0, dot.y + 5.0]).collect();
    let mut order: Vec<usize> = (0..dots.len()).collect();
    order.sort_by_key(|index| !dots[*index].spot.requested);
    for index in order {
        let Dot { spot, x, y, .. } = dots[index];
        let width = spot.label().chars().count() as f64 * if spot.requested { 7.5 } else { 6.5 };
        let place = |above: bool, before: bool| {
            let (y, x) = (if above { y - 7.0 } else { y + 16.0 }, if before { x - 8.0 } else { x + 8.0 });
            let from = if before { x - width } else { x };
            ((x, y, if before { "end" } else { "start" }), [from, y - 10.0, from + width, y + 2.0])
        };
        let places = [place(false, false), place(true, true), place(true, false), place(false, true)];
        let free = |(_, area): &&((f64, f64, &'static str), [f64; 4])| {
            area[0] >= left
                && area[2] <= right
                && area[3] <= bottom
                && !taken.iter().any(|one| overlap(one, area))
        };
        if let Some((label, area)) = places.iter().find(free) {
            dots[index].label = Some(*label);
            taken.push(*area);
        }
    }
}

const ACROSS: &str = "time per output token, ms";
const UP: &str = "throughput of all users, token/s";

fn describe_spot(devices: &str, spot: &Spot) -> String {
    let Spot { users, layout, ceiling, ideal, first_ms, .. } = spot;
    format!(
        "{devices}, {users} users: {} token/s, {} ms per token, first token after {} ms (ideal, {layout}); ceiling {} token/s, \
         {} ms per token",
        figure(ideal.rate),
        figure(ideal.token_ms),
        figure(*first_ms),
        figure(ceiling.rate),
        figure(ceiling.token_ms),
    )
}

/// Describes the ends of the curves for screen readers.
fn describe(chart: &Curves) -> String {
    let ends = |line: &Curve| {
        let ends = line.spots.first().into_iter().chain(line.spots.last().filter(|_| line.spots.len() > 1));
        ends.map(|spot| describe_spot(&line.name, spot)).collect::<Vec<_>>().join("; ")
    };
    chart.lines.iter().map(ends).collect::<Vec<_>>().join(". ")
}

/// A labeled tick of an axis.
struct Mark {
    value: f64,
    major: bool,
}

impl Mark {
    fn class(&self) -> &'static str {
        if self.major { "major" } else { "minor" }
    }

    fn text(&self) -> String {
        let value = self.value;
        if (0.01..1e6).contains(&value) {
            let rounded = format!("{value:.2}");
            rounded.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            format!("{value:e}")
        }
    }
}

impl Log {
    /// Returns ticks at the powers of ten and, if the axis is short, at 2 and 5 times each.
    fn ticks(&self) -> Vec<Mark> {
        let major = self.decades(8).into_iter().map(|tick| Mark { value: tick.value, major: true });
        let between = self.minors(8).into_iter().filter(|tick| {
            let digit = tick.value / 10f64.powf(tick.value.log10().floor());
            (digit - 2.0).abs() < 1e-6 || (digit - 5.0).abs() < 1e-6
        });
        let short = self.high() / self.low() < 1e4;
        let between = between.filter(|_| short).map(|tick| Mark { value: tick.value, major: false });
        major.chain(between).collect()
    }
}

/// Number of rows of the plot in a terminal, and its minimum number of columns.
const ROWS: usize = 18;
const MIN_COLUMNS: usize = 40;

/// Renders the curves as text: an upper-case letter per device set for the ideal, the lower-case letter for the ceiling.
pub fn text(chart: &Curves, canvas: &Canvas) -> String {
    let mut out = String::new();
    for text in [&chart.title, &chart.subtitle] {
        if !text.is_empty() {
            out += &format!("{}\n", cut(text, canvas.columns.max(20), canvas.unicode));
        }
    }
    let (across, up) = chart.axes();
    let gutter = up.ticks().iter().map(|mark| columns(&mark.text())).max().unwrap_or(0) + 1;
    if canvas.columns >= MIN_COLUMNS + gutter {
        let (width, height) = (canvas.columns.min(200) - gutter - 1, ROWS);
        let mut cells = vec![vec![' '; width]; height];
        let cell = |pace: Pace| {
            let (x, y) = (across.at(pace.token_ms), 1.0 - up.at(pace.rate));
            let within = |part: f64, all: usize| ((part * all as f64).max(0.0) as usize).min(all - 1);
            (within(x, width), within(y, height))
        };
        let dot = if canvas.unicode { '·' } else { '.' };
        for (index, line) in chart.lines.iter().enumerate() {
            let letter = char::from(b'A' + (index % 26) as u8);
            for (glyph, of) in [
                (letter.to_ascii_lowercase(), (|spot| spot.ceiling) as fn(&Spot) -> Pace),
                (letter, |spot| spot.ideal),
            ] {
                for pair in line.spots.windows(2) {
                    let (from, to) = (of(&pair[0]), of(&pair[1]));
                    for step in 1..64 {
                        let part = f64::from(step) / 64.0;
                        let between = |from: f64, to: f64| from * (to / from).powf(part);
                        let rate = between(from.rate, to.rate);
                        let (x, y) = cell(Pace { token_ms: between(from.token_ms, to.token_ms), rate });
                        if cells[y][x] == ' ' {
                            cells[y][x] = dot;
                        }
                    }
                }
                for spot in &line.spots {
                    let (x, y) = cell(of(spot));
                    cells[y][x] = glyph;
                }
            }
        }
        for line in &chart.lines {
            for spot in line.spots.iter().filter(|spot| spot.requested) {
                let (x, y) = cell(spot.ideal);
                cells[y][x] = if canvas.unicode { '●' } else { '@' };
            }
        }
        let mut labels = vec![String::new(); height];
        for mark in up.ticks() {
            let row = ((1.0 - up.at(mark.value)) * height as f64) as usize;
            labels[row.min(height - 1)] = mark.text();
        }
        let (side, corner, floor) = if canvas.unicode { ('│', '└', '─') } else { ('|', '+', '-') };
        out += &format!("{UP}\n");
        for (label, row) in labels.iter().zip(&cells) {
            let line = format!("{label:>gutter$}{side}{}", row.iter().collect::<String>());
            out += &format!("{}\n", line.trim_end());
        }
        out += &format!("{:gutter$}{corner}{}\n", "", floor.to_string().repeat(width));
        let mut below = vec![' '; gutter + 1 + width];
        for mark in across.ticks() {
            let text: Vec<char> = mark.text().chars().collect();
            let at = gutter + 1 + ((across.at(mark.value) * width as f64) as usize).min(width - 1);
            let around = at.saturating_sub(1)..(at + text.len() + 1).min(below.len());
            if at + text.len() <= below.len() && below[around].iter().all(|cell| *cell == ' ') {
                below[at..at + text.len()].copy_from_slice(&text);
            }
        }
        out += &format!("{}\n", below.iter().collect::<String>().trim_end());
        let caption = columns(ACROSS).min(width);
        out += &format!("{:>1$}\n", ACROSS, gutter + 1 + width.midpoint(caption));
    }
    for (index, line) in chart.lines.iter().enumerate() {
        let letter = char::from(b'A' + (index % 26) as u8);
        let small = letter.to_ascii_lowercase();
        let requested = line.spots.iter().find(|spot| spot.requested);
        let mark = if canvas.unicode { '●' } else { '@' };
        let requested = requested.map(|spot| format!(", {mark} {} users", spot.users)).unwrap_or_default();
        let ends = match line.spots.as_slice() {
            [first, .., last] => format!(", {} to {} users", first.users, last.users),
            _ => String::new(),
        };
        out += &format!("{letter} {}: ideal{ends}{requested}; {small} ceiling\n", line.name);
    }
    out
}

#[derive(Serialize)]
struct Data<'a> {
    chart: &'a Curves,
    style: String,
    captions: [&'a str; 2],
    moving: Option<&'a CurveModel>,
}

/// Renders the curves as a self-contained HTML page; with `moving`, it has sliders.
pub fn page(chart: &Curves, moving: Option<&CurveModel>) -> String {
    let style = format!("{}{STYLE}", svg::STYLE);
    let data = Data { chart, style: style.clone(), captions: [ACROSS, UP], moving };
    // Plain data with string keys always serializes.
    let data = serde_json::to_string(&data).unwrap_or_default();
    html::fill(
        PAGE,
        &[
            // Only pages with equations need `eval`.
            ("eval", if moving.is_some() { " 'unsafe-eval'" } else { "" }),
            ("title", &escape(&cut(&chart.title, 200, true))),
            ("subtitle", &escape(&cut(&chart.subtitle, 400, true))),
            ("style", &style),
            ("picture", &svg(chart)),
            ("data", &html::embed(&data)),
            ("script", SCRIPT),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curves() -> Curves {
        let spot = |users: f64, requested| Spot {
            users,
            layout: "tensor 8".into(),
            ceiling: Pace { token_ms: 4.0 + users / 32.0, rate: users / (0.004 + users / 32_000.0) },
            ideal: Pace { token_ms: 8.0 + users / 8.0, rate: users / (0.008 + users / 8000.0) },
            first_ms: 60.0,
            enough: users < 100.0,
            requested,
        };
        let line = |name: &str| Curve {
            name: name.into(),
            spots: [1.0, 4.0, 16.0, 64.0, 256.0].map(|users| spot(users, users == 64.0)).to_vec(),
        };
        Curves {
            title: "a <model>".into(),
            subtitle: "prompts of 2048".into(),
            lines: vec![line("8x h100_sxm"), line("4x <b>")],
        }
    }

    #[test]
    fn pictures_show_and_describe_every_spot() {
        let picture = svg(&curves());
        assert_eq!(picture.matches("<circle").count(), 10);
        assert_eq!(picture.matches("class=\"curve ideal").count(), 4, "two curves and two legend entries");
        assert!(picture.contains(">64 users<") && picture.contains("spot unmet"), "{picture}");
        assert!(picture.contains("8x h100_sxm, 64 users: 4000 token/s, 16.0 ms per token"), "{picture}");
        assert!(picture.contains("a &lt;model&gt;") && !picture.contains("<b>"), "{picture}");
    }

    #[test]
    fn text_has_a_legend_and_respects_the_width() {
        for unicode in [true, false] {
            for wide in [30, 60, 100] {
                let canvas = Canvas { columns: wide, rows: 24, unicode, color: false, limit: None };
                let text = text(&curves(), &canvas);
                assert!(unicode || text.is_ascii(), "{text}");
                assert!(text.contains("A 8x h100_sxm: ideal, 1 to 256 users"), "{text}");
                let plot = text.lines().filter(|line| line.contains(['│', '|']));
                assert!(plot.clone().all(|line| columns(line) <= wide), "{text}");
                assert_eq!(plot.count(), if wide == 30 { 0 } else { ROWS });
            }
        }
    }

    #[test]
    fn empty_charts_are_drawn() {
        let canvas = Canvas { columns: 80, rows: 24, unicode: true, color: false, limit: None };
        for chart in [Curves::default(), Curves { lines: vec![Curve::default()], ..Curves::default() }] {
            assert!(svg(&chart).ends_with("</svg>\n"));
            assert!(!text(&chart, &canvas).is_empty());
            assert!(page(&chart, None).contains("</html>"));
        }
    }

    #[test]
    fn names_are_escaped_on_a_page() {
        let page = page(&curves(), None);
        assert!(!page.contains("<b>") && page.contains("\\u003cb\\u003e"), "{page}");
        assert!(!page.contains("unsafe-eval"));
    }
}
