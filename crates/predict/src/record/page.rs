//! `docs/EVIDENCE.md` and its picture, from the record alone.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::report::{Evaluation, Evidence, EvidenceRow, Finding, Spread};
use super::table::{Phase, rows};
use roofline_render::chart::Log;
use roofline_render::number::{figure, maybe, percent};
use roofline_render::report::{Report, Table};

/// Groups with fewer rows are not listed.
const FEWEST: usize = 5;
/// Rows nearest to their ceilings that are listed.
const NEAREST: usize = 15;

/// The page.
pub fn page() -> String {
    let all = Evidence::of(rows(), "");
    let count = |finding| all.count(finding);
    let sources: std::collections::BTreeSet<&str> = all.rows.iter().map(|row| row.source.as_str()).collect();
    let devices: std::collections::BTreeSet<&str> = all.rows.iter().map(|row| row.device.as_str()).collect();
    let mut out = String::from("# The evidence\n\n");
    let _ = writeln!(
        out,
        "A ceiling is proven from its contract; that the contract is true of the world is tested here: {} published speeds of \
         {} devices from {} addresses, each beside the ceiling of its work. `roofline evidence` shows the rows, `cargo test` \
         fails when one is above its ceiling, and this page is written by `cargo xtask evidence`.\n",
        all.rows.len(),
        devices.len(),
        sources.len()
    );
    out += "| rows | what they are |\n|---|---|\n";
    for (finding, words) in [
        (Finding::Possible, "within their ceiling"),
        (Finding::Impossible, "above their ceiling; their source got them wrong"),
        (Finding::Doubtful, "of the same run as one of these"),
        (Finding::Uncovered, "without a ceiling, by the reasons below"),
    ] {
        let _ = writeln!(out, "| {} | {words} |", count(finding));
    }
    let memory_only = all.rows.iter().filter(|row| row.share.is_some() && !row.arithmetic_known).count();
    let _ = writeln!(
        out,
        "\nOf {memory_only} rows the ceiling is that of memory alone, because nobody publishes the peak of the units that \
         multiply their format.\n\n![measured against the ceiling](EVIDENCE.svg)\n"
    );
    out += "## Rows without a ceiling\n\n";
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for row in &all.rows {
        if let Some(reason) = &row.reason {
            *reasons.entry(reason.clone()).or_default() += 1;
        }
    }
    out += &Table::new(
        "",
        &["rows", "reason"],
        reasons.into_iter().map(|(reason, count)| vec![count.to_string(), reason]),
    )
    .markdown();
    out += "\n## Rows above their ceiling\n\n";
    out +=
        &listed(all.rows.iter().filter(|row| matches!(row.finding, Finding::Impossible | Finding::Doubtful)));
    out += "\n## Rows nearest to their ceiling\n\n";
    out += &listed(all.rows.iter().filter(|row| row.finding == Finding::Possible).take(NEAREST));
    let _ = writeln!(
        out,
        "\n## Shares of the ceiling\n\nBy engine, backend, phase and format, where there are {FEWEST} rows or more. Low ends \
         are fast devices with small models, long contexts and layers that are split over devices.\n"
    );
    let spreads = all.groups().into_iter().filter(|(_, spread)| spread.rows >= FEWEST);
    let cells = spreads.map(|(mut key, Spread { rows, low, middle, high, most })| {
        key.push(rows.to_string());
        key.extend([low, middle, high, most].map(|share| percent(Some(share))));
        key
    });
    let headings =
        ["engine", "backend", "phase", "format", "rows", "lowest tenth", "middle", "highest tenth", "most"];
    out += &Table::new("", &headings, cells).markdown();
    out += "\n## How good the expectation is\n\nFor each row what is named was kept back, and the row was asked for. What is found from \
        the record was found anew without it: the cost of a layer from all rows that remain, and the margins of the bands from the \
        other four of five parts of the record, in which rows that are kept back together stay together. How far two rows lie apart \
        is not fitted: each trait that differs counts one, and so does each size that is e times the other. Where the device must be \
        known, rows of a device that ran one model only are refused. A refusal is neither right nor wrong. `just evaluate` prints \
        this table.\n\n";
    let mut table = Evaluation::of_the_record().tables().remove(0);
    table.title.clear();
    out += &table.markdown();
    out
}

fn listed<'a>(rows: impl Iterator<Item = &'a EvidenceRow>) -> String {
    let cells = rows.map(|row| {
        vec![
            format!("{} x {}", row.devices, row.device),
            format!("{} {}", row.engine, row.backend),
            format!("{} {}", row.model, row.format),
            format!("{} {}", row.phase.name(), row.test),
            figure(row.tokens_per_s),
            maybe(row.ceiling_tokens_per_s),
            percent(row.share),
            format!("[source]({})", row.source),
        ]
    });
    let headings = ["device", "engine", "model", "test", "measured", "ceiling", "share", ""];
    Table::new("", &headings, cells).markdown()
}

/// Measured speeds against ceilings, both logarithmic, as an SVG picture: nothing lies above the diagonal.
pub fn picture() -> String {
    const SIDE: f64 = 640.0;
    const EDGE: f64 = 60.0;
    let all = Evidence::of(rows(), "");
    let points: Vec<(&EvidenceRow, f64)> =
        all.rows.iter().filter_map(|row| Some((row, row.ceiling_tokens_per_s?))).collect();
    let axis = Log::around(points.iter().flat_map(|(row, ceiling)| [row.tokens_per_s, *ceiling]));
    let x = |value: f64| EDGE + axis.at(value) * (SIDE - 2.0 * EDGE);
    let y = |value: f64| SIDE - x(value);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {SIDE} {SIDE}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{SIDE}\" height=\"{SIDE}\" fill=\"#fff\"/>\n"
    );
    let (low, high) = (axis.low(), axis.high());
    let mut decade = 10f64.powf(low.log10().ceil());
    while decade <= high {
        let (across, up) = (x(decade), y(decade));
        let label = figure(decade);
        let (near, far) = (EDGE, SIDE - EDGE);
        let _ = writeln!(
            out,
            "<path d=\"M{across:.1} {near}V{far}M{near} {up:.1}H{far}\" stroke=\"#ddd\"/>\
             <text x=\"{across:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>\
             <text x=\"{:.1}\" y=\"{up:.1}\" text-anchor=\"end\">{label}</text>",
            far + 18.0,
            near - 6.0
        );
        decade *= 10.0;
    }
    for (row, ceiling) in &points {
        let colour = match (row.finding, row.phase) {
            (Finding::Impossible, _) => "#c00",
            (_, Phase::Prefill) => "#d95f02",
            (_, Phase::Decode) => "#1b6ca8",
            (_, Phase::Serving | Phase::Speculative) => "#2a8a4a",
        };
        let _ = writeln!(
            out,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"2\" fill=\"{colour}\" fill-opacity=\"0.5\"/>",
            x(*ceiling),
            y(row.tokens_per_s)
        );
    }
    let _ = writeln!(
        out,
        "<path d=\"M{:.1} {:.1}L{:.1} {:.1}\" stroke=\"#000\"/>\n\
         <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">ceiling, tokens/s</text>\n\
         <text x=\"14\" y=\"{:.1}\" text-anchor=\"middle\" transform=\"rotate(-90 14 {:.1})\">measured, tokens/s</text>\n\
         <text x=\"{:.1}\" y=\"24\" text-anchor=\"middle\">decode <tspan fill=\"#1b6ca8\">●</tspan> prefill \
         <tspan fill=\"#d95f02\">●</tspan> serving and speculation <tspan fill=\"#2a8a4a\">●</tspan> impossible \
         <tspan fill=\"#c00\">●</tspan></text>\n</svg>",
        x(low),
        y(low),
        x(high),
        y(high),
        SIDE / 2.0,
        SIDE - 16.0,
        SIDE / 2.0,
        SIDE / 2.0,
        SIDE / 2.0
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_has_a_point_for_every_row_with_a_ceiling() {
        let covered = Evidence::of(rows(), "").rows.iter().filter(|row| row.share.is_some()).count();
        let picture = picture();
        assert_eq!(picture.matches("<circle").count(), covered);
        assert!(!picture.contains("NaN") && picture.ends_with("</svg>\n"));
    }
}
