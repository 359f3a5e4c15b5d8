//! `docs/EVIDENCE.md` and its picture, made from the record and compared with it by a test.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::evaluation::{Evaluated, LeftOut, evaluate};
use super::report::{Evidence, EvidenceRow, Finding, Spread, spread};
use super::table::{Phase, rows};
use roofline_render::chart::Log;
use roofline_render::number::{figure, maybe, percent};
use roofline_render::report::Table;

/// Groups with fewer rows are not listed.
const FEWEST: usize = 5;
/// Rows nearest to their ceilings that are listed.
const NEAREST: usize = 15;

fn page() -> String {
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
    let groups = groups(&all).into_iter().filter(|(_, shares)| shares.len() >= FEWEST);
    let cells = groups.filter_map(|(mut key, shares)| {
        key.push(shares.len().to_string());
        let most = shares.iter().copied().fold(0.0, f64::max);
        let Spread { low, middle, high } = spread(shares)?;
        key.extend([low, middle, high, most].map(|share| percent(Some(share))));
        Some(key)
    });
    let headings =
        ["engine", "backend", "phase", "format", "rows", "lowest tenth", "middle", "highest tenth", "most"];
    out += &Table::new("", &headings, cells).markdown();
    out += "\n## How good the expectation is\n\nFor each row what is named was kept back, and the row was asked for. What is found from \
        the record was found anew without it: the cost of a layer from all rows that remain, and the margins of the bands from the \
        other four of five parts of the record, in which rows that are kept back together stay together. How far two rows lie apart \
        is not fitted: each trait that differs counts one, and so does each size that is e times the other. Where the device must be \
        known, rows of a device that ran one model only are refused. A refusal is neither right nor wrong.\n\n";
    let headings = ["kept back", "phase", "rows", "refused", "median error", "inside the band", "high / low"];
    let cells = |found: Evaluated| {
        vec![
            found.left_out.name().to_owned(),
            if found.prefill { Phase::Prefill } else { Phase::Decode }.name().to_owned(),
            found.rows.to_string(),
            percent(Some(found.refused as f64 / found.rows as f64)),
            percent(Some(found.median_error)),
            percent(Some(found.inside)),
            figure(found.width),
        ]
    };
    out += &Table::new("", &headings, LeftOut::ALL.into_iter().flat_map(evaluate).map(cells)).markdown();
    out
}

/// The shares of possible rows, by engine, backend, phase and format.
fn groups(evidence: &Evidence) -> BTreeMap<Vec<String>, Vec<f64>> {
    let mut groups: BTreeMap<Vec<String>, Vec<f64>> = BTreeMap::new();
    for row in evidence.rows.iter().filter(|row| row.finding == Finding::Possible) {
        let backend = row.backend.split(' ').next().unwrap_or_default().to_owned();
        let key = vec![row.engine.clone(), backend, row.phase.name().to_owned(), row.format.clone()];
        groups.entry(key).or_default().extend(row.share);
    }
    groups
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
fn picture() -> String {
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

#[test]
fn the_page_of_the_record_is_current() {
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for (name, made) in [("EVIDENCE.md", page()), ("EVIDENCE.svg", picture())] {
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(docs.join(name), &made).expect("the page can be written");
        }
        let kept = std::fs::read_to_string(docs.join(name)).expect("the page is there");
        assert!(kept == made, "docs/{name} is not current; `cargo xtask evidence` rewrites it");
    }
}

#[test]
fn the_picture_has_a_point_for_every_row_with_a_ceiling() {
    let covered = Evidence::of(rows(), "").rows.iter().filter(|row| row.share.is_some()).count();
    let picture = picture();
    assert_eq!(picture.matches("<circle").count(), covered);
    assert!(!picture.contains("NaN") && picture.ends_with("</svg>\n"));
}
