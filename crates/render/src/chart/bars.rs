//! Bar charts, the longest bar first, which compare many devices better than their roofs would.

use std::fmt::Write;

use serde::Serialize;

use super::svg::STYLE;
use crate::display_width::{cut, escape};
use crate::format::figure;

/// A bar chart.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Bars {
    /// Title.
    pub title: String,
    /// Line below the title, such as the conditions.
    pub subtitle: String,
    /// Unit of the values.
    pub unit: String,
    /// Reference value, drawn as a line across the bars.
    pub line: Option<f64>,
    /// Result of the page's equations that replaces the values when a slider changes.
    pub result: Option<String>,
    /// Classifier and the answer for which a bar is faded when a slider changes.
    pub fade_if: Option<(String, String)>,
    /// Bars from top to bottom.
    pub bars: Vec<Bar>,
}

/// A bar of a [`Bars`] chart.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Bar {
    /// Label of the bar.
    pub name: String,
    /// Length of the bar in the unit of the chart.
    pub value: f64,
    /// True if the bar has the accent color.
    pub emphasized: bool,
    /// Expected range, drawn as a line in the bar.
    pub band: Option<(f64, f64)>,
    /// Measured value, drawn inside the bar.
    pub measured: Option<f64>,
    /// Text after the value; may be empty.
    pub note: String,
    /// Index of the corresponding point of the page.
    pub point: Option<usize>,
}

/// Layout in pixels: height of a row, widths of names and figures, height of the header.
const ROW: f64 = 22.0;
const NAMES: f64 = 250.0;
const FIGURES: f64 = 240.0;
const HEAD: f64 = 64.0;
const WIDTH: f64 = 960.0;
/// Maximum length of names and notes.
const MAX_TEXT: usize = 34;
/// Line of the expected range, for light and dark backgrounds.
const BAND: &str = "fill=\"none\" stroke=\"#d1560c\" stroke-width=\"3\"";
/// Outline that separates the expected range from the bar.
const HALO: &str = "fill=\"none\" stroke=\"#ffffff\" stroke-width=\"5\"";

/// Renders the bars as SVG; the height depends on their number.
pub fn svg(chart: &Bars) -> String {
    let height = HEAD + ROW * chart.bars.len() as f64 + 24.0;
    let longest = chart.bars.iter().map(|bar| bar.value).chain(chart.line).fold(f64::MIN_POSITIVE, f64::max);
    let room = WIDTH - NAMES - FIGURES;
    let length = |value: f64| (value / longest * room).clamp(1.0, room);
    let (title, subtitle) = (escape(&cut(&chart.title, 100, true)), escape(&cut(&chart.subtitle, 120, true)));
    let mut out = String::new();
    // Writing to a string can't fail.
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         role=\"img\" aria-label=\"{title}\" class=\"roofline\">\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n<rect width=\"100%\" height=\"100%\" class=\"paper\"/>\n\
         <text x=\"16\" y=\"26\" class=\"title\">{title}</text>\n\
         <text x=\"16\" y=\"46\" class=\"subtitle\">{subtitle}</text>\n"
    );
    for (index, bar) in chart.bars.iter().enumerate() {
        let y = HEAD + ROW * index as f64;
        let (width, class) = (length(bar.value), if bar.emphasized { "k0" } else { "kx" });
        let name = escape(&cut(&bar.name, MAX_TEXT, true));
        let text = format!("{} {}", figure(bar.value), chart.unit);
        let note = if bar.note.is_empty() { String::new() } else { format!(", {}", bar.note) };
        let expected = |(low, high): (f64, f64)| format!(", expected {}–{}", figure(low), figure(high));
        let expected = bar.band.map(expected).unwrap_or_default();
        // The title contains the expected range, so a note takes precedence.
        let more = if note.is_empty() { &expected } else { &note };
        let caption = escape(&cut(&format!("{text}{more}"), MAX_TEXT, true));
        let middle = y + 3.0 + (ROW - 7.0) / 2.0;
        let line = |(low, high): (f64, f64)| {
            let (from, to) = (NAMES + length(low), NAMES + length(high));
            let path = format!("<path d=\"M{from:.1} {middle:.1}H{to:.1}\"");
            format!("{path} {HALO}/>{path} {BAND}/>")
        };
        let band = bar.band.map(line).unwrap_or_default();
        let _ = writeln!(
            out,
            "<g><title>{name}: {}{}{expected}</title><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" class=\"entry\">{name}</text>\
             <rect x=\"{NAMES}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\" class=\"{class}\"/>{band}\
             <text x=\"{:.1}\" y=\"{:.1}\" class=\"entry\">{caption}</text></g>",
            escape(&text),
            escape(&note),
            NAMES - 8.0,
            y + 14.0,
            y + 3.0,
            ROW - 7.0,
            NAMES + width + 8.0,
            y + 14.0,
        );
    }
    if let Some(line) = chart.line {
        let x = NAMES + length(line);
        let bottom = HEAD + ROW * chart.bars.len() as f64;
        let _ = writeln!(
            out,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{bottom:.1}\" class=\"border\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" class=\"entry\">{} {}</text>",
            HEAD - 4.0,
            bottom + 16.0,
            figure(line),
            escape(&chart.unit),
        );
    }
    out + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bars() -> Bars {
        let bar =
            |name: &str, value, emphasized| Bar { name: name.into(), value, emphasized, ..Bar::default() };
        Bars {
            title: "a <model>".into(),
            subtitle: "ceilings".into(),
            unit: "token/s".into(),
            line: Some(20.0),
            bars: vec![bar("fast", 200.0, true), bar("slow & \"old\"", 10.0, false), bar("none", 0.0, false)],
            ..Bars::default()
        }
    }

    #[test]
    fn bars_are_proportional_to_their_values() {
        let picture = svg(&bars());
        let widths: Vec<f64> = picture
            .split("<rect x=")
            .skip(1)
            .map(|rest| rest.split("width=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap())
            .collect();
        assert_eq!(widths, [470.0, 23.5, 1.0]);
        assert!(picture.contains("20.0 token/s") && picture.contains("x1=\"297.0\""), "{picture}");
    }

    #[test]
    fn the_expected_range_is_a_line_in_the_bar() {
        let mut chart = bars();
        assert!(!svg(&chart).contains(BAND));
        chart.bars[0].band = Some((50.0, 100.0));
        let picture = svg(&chart);
        assert!(picture.contains(&format!("<path d=\"M367.5 74.5H485.0\" {BAND}/>")), "{picture}");
        assert!(picture.contains("expected 50.0–100</title>"), "{picture}");
    }

    #[test]
    fn names_are_escaped() {
        let picture = svg(&bars());
        assert!(picture.contains("a &lt;model&gt;") && picture.contains("slow &amp; "), "{picture}");
    }
}
