//! Throughput against latency: what all users of a server get together, and how long each of them waits for a token, for few
//! and for many of them. As a picture, in a terminal, and as a page whose sliders run the contracts' own JavaScript.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use super::html::{Slider, Step};
use super::terminal::Canvas;
use super::{Log, html, svg};
use crate::number::figure;
use crate::text::{columns, cut, escape};

const PAGE: &str = include_str!("curve.html");
const SCRIPT: &str = include_str!("curve.js");
/// What curves have beside the look of every chart, in pictures and on the page.
const STYLE: &str = include_str!("curve.css");

/// Curves of several sets of devices.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Curves {
    /// What they show.
    pub title: String,
    /// The work, and what is wanted.
    pub subtitle: String,
    /// One for each set.
    pub lines: Vec<Curve>,
}

/// What one set of devices gives to different numbers of users.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Curve {
    /// The devices.
    pub name: String,
    /// From few users to many.
    pub spots: Vec<Spot>,
}

/// What so many users get.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Spot {
    /// How many.
    pub users: f64,
    /// The layout.
    pub layout: String,
    /// What nothing exceeds.
    pub ceiling: Pace,
    /// The estimate.
    pub estimate: Pace,
    /// Estimate, the milliseconds to the first token.
    pub first_ms: f64,
    /// Whether it does what is wanted.
    pub enough: bool,
    /// Whether this is the number that was asked for.
    pub asked: bool,
}

/// How long each waits, and what all get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Pace {
    /// Milliseconds between two tokens of a user.
    pub token_ms: f64,
    /// Tokens per second of all users.
    pub rate: f64,
}

/// What a page needs to compute curves itself.
#[derive(Clone, Debug, Serialize)]
pub struct Moving {
    /// JavaScript that declares the modules of the equations.
    pub module: String,
    /// The calls of each contract, in order.
    pub steps: BTreeMap<&'static str, Vec<Step>>,
    /// Users, lengths of prompts and answers, and how much of a prompt is still there.
    pub sliders: Vec<Slider>,
    /// Numbers that a layer hands on for a token.
    pub hidden: f64,
    /// Layers.
    pub layers: f64,
    /// Fixed cost of a message in an estimate, in µs.
    pub start: f64,
    /// The sets of equal devices, by their place among the curves.
    pub sets: Vec<MovingSet>,
}

/// Equal devices.
#[derive(Clone, Debug, Serialize)]
pub struct MovingSet {
    /// Its place among the curves.
    pub line: usize,
    /// How many.
    pub count: u64,
    /// Memory of one, in GB; null where it is not known.
    pub capacity: Option<f64>,
    /// What the links of one carry in one direction, in GB/s; null where it is not known.
    pub link: Option<f64>,
    /// Seconds to dispatch a step in an estimate.
    pub dispatch: f64,
    /// What `transformer-v1` is asked with for a ceiling.
    pub least: BTreeMap<String, f64>,
    /// The same for an estimate.
    pub likely: BTreeMap<String, f64>,
    /// Ways to deal the model out.
    pub layouts: Vec<MovingLayout>,
}

/// A way to deal a model out.
#[derive(Clone, Debug, Serialize)]
pub struct MovingLayout {
    /// In words.
    pub name: String,
    /// Devices that share each matrix.
    pub tensor: u64,
    /// Stages.
    pub pipeline: u64,
    /// Devices that the experts of a stage are dealt over.
    pub experts: u64,
    /// Copies of the model.
    pub copies: u64,
}

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 600.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 28.0;
const TOP: f64 = 76.0;
/// Below the plot: labels, a caption, and the legend.
const BOTTOM: f64 = 78.0;
const LEGEND_LINE: f64 = 20.0;
/// Sets that have a colour of their own.
const COLOURS: usize = 8;

impl Curves {
    fn paces(&self) -> impl Iterator<Item = Pace> {
        self.lines.iter().flat_map(|line| &line.spots).flat_map(|spot| [spot.ceiling, spot.estimate])
    }

    /// The axes: milliseconds and tokens per second, with air around what is drawn.
    fn axes(&self) -> (Log, Log) {
        let around = |value: f64| [value / 1.25, value * 1.25];
        let ms = Log::close(self.paces().flat_map(|pace| around(pace.token_ms)));
        (ms, Log::close(self.paces().flat_map(|pace| around(pace.rate))))
    }
}

/// The curves as an SVG picture.
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
        escape(&described(chart)),
        svg::STYLE,
    );
    for tick in across.all() {
        let (class, x) = (tick.class(), x(tick.value));
        let _ = writeln!(out, "<path class=\"grid {class}\" d=\"M{x:.1} {TOP}V{bottom}\"/>");
        let _ = writeln!(
            out,
            "<text class=\"tick\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            bottom + 19.0,
            tick.text()
        );
    }
    for tick in up.all() {
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
        let dot =
            |spot| Dot { line, spot, x: x(spot.estimate.token_ms), y: y(spot.estimate.rate), label: None };
        dots.extend(curve.spots.iter().map(dot));
    }
    label(&mut dots, (LEFT, right, bottom));
    for (index, line) in chart.lines.iter().enumerate() {
        let colour = index % COLOURS;
        for (class, of) in
            [("ceiling", (|spot| &spot.ceiling) as fn(&Spot) -> &Pace), ("estimate", |spot| &spot.estimate)]
        {
            let path: Vec<String> = line.spots.iter().map(|spot| place(of(spot))).collect();
            if !path.is_empty() {
                let _ = writeln!(out, "<path class=\"curve {class} s{colour}\" d=\"M{}\"/>", path.join("L"));
            }
        }
        let dots = dots.iter().filter(|dot| dot.line == index);
        // The one that was asked for is drawn last.
        let (asked, others): (Vec<&Dot>, Vec<&Dot>) = dots.partition(|dot| dot.spot.asked);
        for Dot { spot, x, y, label, .. } in others.into_iter().chain(asked) {
            let kind = if spot.enough { "met" } else { "unmet" };
            let (size, asked) = if spot.asked { (6.5, " asked") } else { (4.0, "") };
            let _ = write!(
                out,
                "<g><title>{}</title><circle class=\"spot {kind} k{colour} s{colour}{asked}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{size}\"/>",
                escape(&told(&line.name, spot))
            );
            if let Some((x, y, anchor)) = label {
                let text = spot.label();
                let _ = write!(
                    out,
                    "<text class=\"users{asked}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
                );
            }
            out += "</g>\n";
        }
        let at = bottom + 66.0 + LEGEND_LINE * index as f64;
        let _ = writeln!(
            out,
            "<path class=\"curve estimate s{colour}\" d=\"M{LEFT} {0:.1}h26\"/><text class=\"entry\" x=\"{1}\" y=\"{0:.1}\" dy=\"0.35em\">{2}, estimate</text>\
             <path class=\"curve ceiling s{colour}\" d=\"M{3} {0:.1}h26\"/><text class=\"entry\" x=\"{4}\" y=\"{0:.1}\" dy=\"0.35em\">its ceiling</text>",
            at,
            LEFT + 34.0,
            escape(&cut(&line.name, 60, true)),
            LEFT + 480.0,
            LEFT + 514.0,
        );
    }
    out + "</svg>\n"
}

/// A spot where it is drawn.
struct Dot<'a> {
    line: usize,
    spot: &'a Spot,
    x: f64,
    y: f64,
    /// Where its label stands, and which end of it.
    label: Option<(f64, f64, &'static str)>,
}

impl Spot {
    fn label(&self) -> String {
        if self.asked { format!("{} users", self.users) } else { self.users.to_string() }
    }
}

/// Gives each dot a label where one finds room beside the dots and the other labels, those that were asked for first.
fn label(dots: &mut [Dot<'_>], (left, right, bottom): (f64, f64, f64)) {
    let overlap = |a: &[f64; 4], b: &[f64; 4]| a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
    let mut taken: Vec<[f64; 4]> =
        dots.iter().map(|dot| [dot.x - 5.0, dot.y - 5.0, dot.x + 5.0, dot.y + 5.0]).collect();
    let mut order: Vec<usize> = (0..dots.len()).collect();
    order.sort_by_key(|index| !dots[*index].spot.asked);
    for index in order {
        let Dot { spot, x, y, .. } = dots[index];
        let width = spot.label().chars().count() as f64 * if spot.asked { 7.5 } else { 6.5 };
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

const ACROSS: &str = "milliseconds between two tokens of a user";
const UP: &str = "tokens per second of all users";

/// One spot in words.
fn told(devices: &str, spot: &Spot) -> String {
    let Spot { users, layout, ceiling, estimate, first_ms, .. } = spot;
    format!(
        "{devices}, {users} users: {} token/s and {} ms a token, first after {} ms (estimates, {layout}); at most {} token/s, at \
         least {} ms",
        figure(estimate.rate),
        figure(estimate.token_ms),
        figure(*first_ms),
        figure(ceiling.rate),
        figure(ceiling.token_ms),
    )
}

/// The curves in words.
fn described(chart: &Curves) -> String {
    let ends = |line: &Curve| {
        let ends = line.spots.first().into_iter().chain(line.spots.last().filter(|_| line.spots.len() > 1));
        ends.map(|spot| told(&line.name, spot)).collect::<Vec<_>>().join("; ")
    };
    chart.lines.iter().map(ends).collect::<Vec<_>>().join(". ")
}

/// A mark on an axis with its text.
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
    /// Powers of ten, and between them 2 and 5 times each, or only the powers where the axis is long.
    fn all(&self) -> Vec<Mark> {
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

/// Rows of the plot in a terminal, and the least columns that it needs.
const ROWS: usize = 18;
const NARROWEST: usize = 40;

/// The curves as lines of text: a letter for each set, large where it is estimated to be, small at its ceilings.
pub fn text(chart: &Curves, canvas: &Canvas) -> String {
    let mut out = String::new();
    for text in [&chart.title, &chart.subtitle] {
        if !text.is_empty() {
            out += &format!("{}\n", cut(text, canvas.columns.max(20), canvas.unicode));
        }
    }
    let (across, up) = chart.axes();
    let gutter = up.all().iter().map(|mark| columns(&mark.text())).max().unwrap_or(0) + 1;
    if canvas.columns >= NARROWEST + gutter {
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
                (letter, |spot| spot.estimate),
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
            for spot in line.spots.iter().filter(|spot| spot.asked) {
                let (x, y) = cell(spot.estimate);
                cells[y][x] = if canvas.unicode { '●' } else { '@' };
            }
        }
        let mut labels = vec![String::new(); height];
        for mark in up.all() {
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
        for mark in across.all() {
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
        let asked = line.spots.iter().find(|spot| spot.asked);
        let mark = if canvas.unicode { '●' } else { '@' };
        let asked = asked.map(|spot| format!(", {mark} with {} users", spot.users)).unwrap_or_default();
        let ends = match line.spots.as_slice() {
            [first, .., last] => format!(", {} to {} users", first.users, last.users),
            _ => String::new(),
        };
        out += &format!("{letter} {}: estimate{ends}{asked}; {small} ceiling\n", line.name);
    }
    out
}

#[derive(Serialize)]
struct Data<'a> {
    chart: &'a Curves,
    style: String,
    captions: [&'a str; 2],
    moving: Option<&'a Moving>,
}

/// The curves as one HTML page that needs nothing else.
pub fn page(chart: &Curves, moving: Option<&Moving>) -> String {
    let style = format!("{}{STYLE}", svg::STYLE);
    let data = Data { chart, style: style.clone(), captions: [ACROSS, UP], moving };
    // Plain data with text keys: nothing in it can fail to become JSON.
    let data = serde_json::to_string(&data).unwrap_or_default();
    html::fill(
        PAGE,
        &[
            // Equations arrive as text; only a page that has some may turn text into functions.
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
        let spot = |users: f64, asked| Spot {
            users,
            layout: "tensor 8".into(),
            ceiling: Pace { token_ms: 4.0 + users / 32.0, rate: users / (0.004 + users / 32_000.0) },
            estimate: Pace { token_ms: 8.0 + users / 8.0, rate: users / (0.008 + users / 8000.0) },
            first_ms: 60.0,
            enough: users < 100.0,
            asked,
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
    fn a_picture_has_every_spot_with_what_it_says_and_the_one_that_was_asked_for() {
        let picture = svg(&curves());
        assert_eq!(picture.matches("<circle").count(), 10);
        assert_eq!(picture.matches("class=\"curve estimate").count(), 4, "two lines, two entries");
        assert!(picture.contains(">64 users<") && picture.contains("spot unmet"), "{picture}");
        assert!(picture.contains("8x h100_sxm, 64 users: 4000 token/s and 16.0 ms a token"), "{picture}");
        assert!(picture.contains("a &lt;model&gt;") && !picture.contains("<b>"), "{picture}");
    }

    #[test]
    fn a_terminal_shows_letters_and_a_legend_and_stays_within_its_columns() {
        for unicode in [true, false] {
            for wide in [30, 60, 100] {
                let canvas = Canvas { columns: wide, rows: 24, unicode, colour: false, limit: None };
                let text = text(&curves(), &canvas);
                assert!(unicode || text.is_ascii(), "{text}");
                assert!(text.contains("A 8x h100_sxm: estimate, 1 to 256 users"), "{text}");
                let plot = text.lines().filter(|line| line.contains(['│', '|']));
                assert!(plot.clone().all(|line| columns(line) <= wide), "{text}");
                assert_eq!(plot.count(), if wide == 30 { 0 } else { ROWS });
            }
        }
    }

    #[test]
    fn nothing_to_draw_is_still_a_picture() {
        let canvas = Canvas { columns: 80, rows: 24, unicode: true, colour: false, limit: None };
        for chart in [Curves::default(), Curves { lines: vec![Curve::default()], ..Curves::default() }] {
            assert!(svg(&chart).ends_with("</svg>\n"));
            assert!(!text(&chart, &canvas).is_empty());
            assert!(page(&chart, None).contains("</html>"));
        }
    }

    #[test]
    fn what_others_wrote_stays_text_on_a_page() {
        let page = page(&curves(), None);
        assert!(!page.contains("<b>") && page.contains("\\u003cb\\u003e"), "{page}");
        assert!(!page.contains("unsafe-eval"));
    }
}
