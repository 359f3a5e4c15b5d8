//! Curves over buffer sizes on a logarithmic axis, such as read bandwidth by working set, which shows the cache levels.

use std::fmt::Write;

use super::svg::STYLE;
use super::terminal::Canvas;
use crate::display_width::escape;
use crate::format::{figure, size};

/// Values by size in bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// Title.
    pub title: String,
    /// Unit of the values.
    pub unit: &'static str,
    /// Named lines of (size in bytes, value), sorted by size.
    pub lines: Vec<(String, Vec<(usize, f64)>)>,
}

/// Size of the picture and margins of the plot, in pixels.
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 28.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 34.0;
/// Rows of bars in a terminal.
const ROWS: usize = 7;

impl Sweep {
    fn highest(&self) -> f64 {
        let values = self.lines.iter().flat_map(|(_, points)| points).map(|(_, value)| *value);
        values.filter(|value| value.is_finite()).fold(f64::MIN_POSITIVE, f64::max)
    }

    /// Renders the curve as SVG.
    pub fn svg(&self) -> String {
        let sizes = || self.lines.iter().flat_map(|(_, points)| points).map(|(bytes, _)| *bytes);
        let (min, max) = (sizes().min().unwrap_or(1).max(1), sizes().max().unwrap_or(2).max(2));
        let (from, to) = ((min as f64).log2(), (max as f64).log2().max((min as f64).log2() + 1.0));
        let highest = self.highest();
        let (plot, bottom) = (WIDTH - LEFT - RIGHT, HEIGHT - BOTTOM);
        let x = |bytes: usize| LEFT + (((bytes.max(1) as f64).log2() - from) / (to - from)).min(1.0) * plot;
        let y = |value: f64| bottom - (value / highest).clamp(0.0, 1.0) * (bottom - TOP);
        let title = escape(&self.title);
        let mut out = String::new();
        // Writing to a string can't fail.
        let _ = write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             role=\"img\" aria-label=\"{title}\" class=\"roofline curve\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
             <rect width=\"100%\" height=\"100%\" class=\"paper\"/>\n\
             <text x=\"{LEFT}\" y=\"24\" class=\"caption\">{title}</text>\n"
        );
        for quarter in 0..=4 {
            let value = highest * f64::from(quarter) / 4.0;
            let (height, label) = (y(value), if quarter == 0 { "0".to_owned() } else { figure(value) });
            let _ = writeln!(
                out,
                "<path class=\"grid major\" d=\"M{LEFT} {height:.1}H{:.1}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" class=\"tick\">{label}</text>",
                WIDTH - RIGHT,
                LEFT - 8.0,
                height + 4.0
            );
        }
        for doubling in (from.ceil() as u32..=to as u32).filter(|doubling| doubling.is_multiple_of(2)) {
            let bytes = 1usize << doubling;
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" class=\"tick\">{}</text>",
                x(bytes),
                bottom + 18.0,
                size(bytes)
            );
        }
        for (at, (name, points)) in self.lines.iter().enumerate() {
            let places: Vec<String> =
                points.iter().map(|(bytes, value)| format!("{:.1} {:.1}", x(*bytes), y(*value))).collect();
            let (group, name) = (if at == 0 { "first" } else { "g1" }, escape(name));
            let _ = writeln!(
                out,
                "<g class=\"roof {group}\"><title>{name}</title><path d=\"M{}\"/></g>",
                places.join("L")
            );
            if let Some((bytes, value)) = points.first() {
                let (left, height) = (x(*bytes) + 4.0, y(*value) - 6.0);
                let _ = writeln!(
                    out,
                    "<text x=\"{left:.1}\" y=\"{height:.1}\" class=\"along\">{name}, {}</text>",
                    escape(self.unit)
                );
            }
        }
        out + "</svg>\n"
    }

    /// Appends the curve below an SVG picture of the same width and the given height.
    pub fn below(&self, picture: &str, height: f64) -> String {
        let total = height + HEIGHT;
        let inner = self.svg().replacen("<svg ", &format!("<svg y=\"{height}\" "), 1);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {total}\" width=\"{WIDTH}\" height=\"{total}\">\n\
             {picture}{inner}</svg>\n"
        )
    }

    /// Renders the first line as bars for a terminal, with one bar per size; every line ends with a newline.
    pub fn text(&self, canvas: &Canvas) -> String {
        let Some((name, points)) = self.lines.first().filter(|(_, points)| !points.is_empty()) else {
            return String::new();
        };
        let blocks: &[char] =
            if canvas.unicode { &['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] } else { &['#'] };
        let (highest, steps) = (self.highest(), blocks.len());
        let width = if 2 * points.len() + 10 <= canvas.columns { 2 } else { 1 };
        let mut out = format!("{}, {name}, {}\n", self.title, self.unit);
        for row in (0..ROWS).rev() {
            let label = if row == ROWS - 1 { figure(highest) } else { String::new() };
            let bar = |value: f64| {
                let eighths = (value / highest * (ROWS * steps) as f64).round() as usize;
                match eighths.saturating_sub(row * steps).min(steps) {
                    0 => ' ',
                    filled => blocks[filled - 1],
                }
            };
            let bars: String =
                points.iter().flat_map(|(_, value)| std::iter::repeat_n(bar(*value), width)).collect();
            let _ = writeln!(out, "{label:>7} {}", bars.trim_end());
        }
        let mut labels = String::new();
        for (at, (bytes, _)) in points.iter().enumerate() {
            if bytes.is_power_of_two() && labels.len() < at * width + usize::from(at == 0) {
                labels += &format!("{}{} ", " ".repeat(at * width - labels.len()), size(*bytes));
            }
        }
        let _ = writeln!(out, "{:>7} {}", "", labels.trim_end());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve() -> Sweep {
        let points =
            |peak: f64| (12..24).map(|at| (1 << at, if at < 18 { peak } else { peak / 4.0 })).collect();
        let lines = vec![("2 threads".to_owned(), points(200.0)), ("1 <thread>".to_owned(), points(100.0))];
        Sweep { title: "Reading & again".into(), unit: "GB/s", lines }
    }

    #[test]
    fn cache_levels_are_steps_of_the_line() {
        let picture = curve().svg();
        assert!(picture.contains("Reading &amp; again") && picture.contains("1 &lt;thread&gt;"), "{picture}");
        let lines: Vec<&str> = picture.split("<path d=\"M").skip(1).collect();
        assert_eq!(lines.len(), 2);
        let heights: Vec<f64> = lines[0].split('"').next().unwrap().split('L').map(height).collect();
        assert_eq!(
            (heights.len(), heights[0], heights[11]),
            (12, TOP, HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) / 4.0)
        );
        assert!(picture.contains(">4 KiB<") && picture.contains(">4 MiB<"), "{picture}");
    }

    fn height(place: &str) -> f64 {
        place.split(' ').nth(1).unwrap().parse().unwrap()
    }

    #[test]
    fn two_pictures_are_combined_into_one() {
        let both = curve().below("<svg></svg>\n", 540.0);
        assert!(both.starts_with("<svg ") && both.contains("viewBox=\"0 0 960 800\""), "{both}");
        assert!(both.contains("<svg y=\"540\" "), "{both}");
        assert_eq!((both.matches("<svg").count(), both.matches("</svg>").count()), (3, 3));
    }

    #[test]
    fn bars_follow_the_curve_in_unicode_and_ascii() {
        let canvas = Canvas { columns: 80, rows: 20, unicode: true, color: false, limit: None };
        let text = curve().text(&canvas);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "Reading & again, 2 threads, GB/s");
        assert_eq!(lines[1], format!("    200 {}", "█".repeat(12)));
        assert_eq!(lines[7].chars().filter(|c| *c == '█').count(), 24);
        assert!(lines[8].trim_start().starts_with("4 KiB"), "{text}");
        let plain = curve().text(&Canvas { unicode: false, columns: 20, ..canvas });
        assert!(plain.is_ascii() && plain.contains("######"), "{plain}");
        assert_eq!(Sweep { lines: Vec::new(), ..curve() }.text(&canvas), "");
    }
}
