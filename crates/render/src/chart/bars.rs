//! Bars by name, the longest first: what a buyer wants to see, where many roofs in one picture would be a tangle.

use std::fmt::Write;

use serde::Serialize;

use super::svg::STYLE;
use crate::number::figure;
use crate::text::{cut, escape};

/// A chart of bars.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Bars {
    /// What it shows.
    pub title: String,
    /// Under which conditions.
    pub subtitle: String,
    /// The unit of the values.
    pub unit: String,
    /// A value that all are compared with.
    pub line: Option<f64>,
    /// What a page's equations call the value of a bar, where its sliders move it.
    pub result: Option<String>,
    /// The classifier that tells which bars stand back once they have moved, and its answer there.
    pub doubt: Option<(String, String)>,
    /// The bars, from top to bottom.
    pub bars: Vec<Bar>,
}

/// A bar.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Bar {
    /// Whose it is.
    pub name: String,
    /// How long it is.
    pub value: f64,
    /// Whether it stands out.
    pub stressed: bool,
    /// The ends of what is expected, drawn as a line within the bar.
    pub band: Option<(f64, f64)>,
    /// What was measured, drawn inside the bar.
    pub measured: Option<f64>,
    /// What else there is to say.
    pub note: String,
    /// The point of the same page that it belongs to.
    pub point: Option<usize>,
}

/// Pixels: a bar with its air, the names, the figures behind the bars, and the head.
const ROW: f64 = 22.0;
const NAMES: f64 = 250.0;
const FIGURES: f64 = 240.0;
const HEAD: f64 = 64.0;
const WIDTH: f64 = 960.0;
/// Names and notes longer than this are cut.
const LONGEST: usize = 34;
/// How what is expected is drawn, on light and dark paper.
const BAND: &str = "fill=\"none\" stroke=\"#d1560c\" stroke-width=\"3\"";
/// What makes it stand out from its bar.
const HALO: &str = "fill=\"none\" stroke=\"#ffffff\" stroke-width=\"5\"";

/// The bars as an SVG picture as high as it needs to be.
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
        let (width, class) = (length(bar.value), if bar.stressed { "k0" } else { "kx" });
        let name = escape(&cut(&bar.name, LONGEST, true));
        let text = format!("{} {}", figure(bar.value), chart.unit);
        let note = if bar.note.is_empty() { String::new() } else { format!(", {}", bar.note) };
        let expected = |(low, high): (f64, f64)| format!(", expected {} to {}", figure(low), figure(high));
        let expected = bar.band.map(expected).unwrap_or_default();
        // A note goes before what is expected, which the title has too.
        let more = if note.is_empty() { &expected } else { &note };
        let told = escape(&cut(&format!("{text}{more}"), LONGEST, true));
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
             <text x=\"{:.1}\" y=\"{:.1}\" class=\"entry\">{told}</text></g>",
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
        let bar = |name: &str, value, stressed| Bar { name: name.into(), value, stressed, ..Bar::default() };
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
    fn a_bar_is_as_long_as_its_share_of_the_longest() {
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
    fn what_is_expected_is_a_line_from_one_end_of_its_band_to_the_other() {
        let mut chart = bars();
        assert!(!svg(&chart).contains(BAND));
        chart.bars[0].band = Some((50.0, 100.0));
        let picture = svg(&chart);
        assert!(picture.contains(&format!("<path d=\"M367.5 74.5H485.0\" {BAND}/>")), "{picture}");
        assert!(picture.contains("expected 50.0 to 100</title>"), "{picture}");
    }

    #[test]
    fn what_others_wrote_stays_text() {
        let picture = svg(&bars());
        assert!(picture.contains("a &lt;model&gt;") && picture.contains("slow &amp; "), "{picture}");
    }
}
