//! Generates `docs/EVIDENCE.md` and its picture; a test checks that they are current.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::evaluation::{Accuracy, HeldOut, evaluate};
use super::report::{Evidence, EvidenceRow, Finding, Spread, spread};
use super::table::{Phase, rows};
use roofline_render::chart::Log;
use roofline_render::format::{figure, maybe, percent};
use roofline_render::report::Table;

/// Minimum number of results of a listed group.
const MIN_ROWS: usize = 5;
/// Number of listed results closest to their ceilings.
const MAX_LISTED: usize = 15;

fn page() -> String {
    let all = Evidence::from_rows(rows(), "");
    let count = |finding| all.count(finding);
    let sources: std::collections::BTreeSet<&str> = all.rows.iter().map(|row| row.source.as_str()).collect();
    let devices: std::collections::BTreeSet<&str> = all.rows.iter().map(|row| row.device.as_str()).collect();
    let mut out = String::from("# Evidence\n\n");
    let _ = writeln!(
        out,
        "Ceilings are proven from their contracts. This page tests the contracts against reality: {} published speeds of \
         {} devices from {} sources, each compared with the ceiling for the same work. `roofline evidence` lists the \
         results, `cargo test` fails if a valid result is above its ceiling, and `cargo xtask evidence` writes this \
         page.\n",
        all.rows.len(),
        devices.len(),
        sources.len()
    );
    out += "| results | finding |\n|---|---|\n";
    for (finding, words) in [
        (Finding::Possible, "within the ceiling"),
        (Finding::Impossible, "above the ceiling; the source is wrong"),
        (Finding::Doubtful, "from the same run as one above the ceiling"),
        (Finding::Uncovered, "without a ceiling, for the reasons below"),
    ] {
        let _ = writeln!(out, "| {} | {words} |", count(finding));
    }
    let memory_only = all.rows.iter().filter(|row| row.share.is_some() && !row.arithmetic_known).count();
    let _ = writeln!(
        out,
        "\nFor {memory_only} results the ceiling is the memory roof alone, because the peak of the units \
         that multiply their format is not published.\n\n![measured speed against ceiling](EVIDENCE.svg)\n"
    );
    out += "## Results without a ceiling\n\n";
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for row in &all.rows {
        if let Some(reason) = &row.reason {
            *reasons.entry(reason.clone()).or_default() += 1;
        }
    }
    out += &Table::new(
        "",
        &["results", "reason"],
        reasons.into_iter().map(|(reason, count)| vec![count.to_string(), reason]),
    )
    .markdown();
    out += "\n## Results above the ceiling\n\n";
    out +=
        &list(all.rows.iter().filter(|row| matches!(row.finding, Finding::Impossible | Finding::Doubtful)));
    out += "\n## Results closest to the ceiling\n\n";
    out += &list(all.rows.iter().filter(|row| row.finding == Finding::Possible).take(MAX_LISTED));
    let _ = writeln!(
        out,
        "\n## Share of the ceiling\n\nBy engine, backend, phase and format, for groups of at least {MIN_ROWS} results. The low shares are from small \
         models on fast devices, long contexts, and layers that are split over devices.\n"
    );
    let groups = groups(&all).into_iter().filter(|(_, shares)| shares.len() >= MIN_ROWS);
    let cells = groups.filter_map(|(mut key, shares)| {
        key.push(shares.len().to_string());
        let most = shares.iter().copied().fold(0.0, f64::max);
        let Spread { low, middle, high } = spread(shares)?;
        key.extend([low, middle, high, most].map(|share| percent(Some(share))));
        Some(key)
    });
    let headings = [
        "engine",
        "backend",
        "phase",
        "format",
        "results",
        "10th percentile",
        "median",
        "90th percentile",
        "maximum",
    ];
    out += &Table::new("", &headings, cells).markdown();
    out += "\n## Accuracy of the expected speeds\n\nEach result is predicted without the held-out data: the overhead per layer is fitted to all remaining results, \
        and the margins of the range to the other four of five parts of the data, in which results that are held out \
        together stay together. The distance between two results is not fitted: each property that differs counts one, \
        and so does each factor of e between sizes. If the device must be known, devices with a single model have no \
        expected speed. Results without an expected speed count neither as right nor as wrong.\n\n";
    let headings =
        ["held out", "phase", "results", "no expected speed", "median error", "in the range", "high / low"];
    let cells = |found: Accuracy| {
        vec![
            found.held_out.name().to_owned(),
            if found.prefill { Phase::Prefill } else { Phase::Decode }.name().to_owned(),
            found.rows.to_string(),
            percent(Some(found.refused as f64 / found.rows as f64)),
            percent(Some(found.median_error)),
            percent(Some(found.inside)),
            figure(found.width),
        ]
    };
    out += &Table::new("", &headings, HeldOut::ALL.into_iter().flat_map(evaluate).map(cells)).markdown();
    out
}

/// Groups the shares of possible rows by engine, backend, phase and format.
fn groups(evidence: &Evidence) -> BTreeMap<Vec<String>, Vec<f64>> {
    let mut groups: BTreeMap<Vec<String>, Vec<f64>> = BTreeMap::new();
    for row in evidence.rows.iter().filter(|row| row.finding == Finding::Possible) {
        let backend = row.backend.split(' ').next().unwrap_or_default().to_owned();
        let key = vec![row.engine.clone(), backend, row.phase.name().to_owned(), row.format.clone()];
        groups.entry(key).or_default().extend(row.share);
    }
    groups
}

fn list<'a>(rows: impl Iterator<Item = &'a EvidenceRow>) -> String {
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

/// Draws measured speeds against ceilings on logarithmic axes; valid results are not above the diagonal.
fn picture() -> String {
    const SIDE: f64 = 640.0;
    const MARGIN: f64 = 60.0;
    let all = Evidence::from_rows(rows(), "");
    let points: Vec<(&EvidenceRow, f64)> =
        all.rows.iter().filter_map(|row| Some((row, row.ceiling_tokens_per_s?))).collect();
    let axis = Log::around(points.iter().flat_map(|(row, ceiling)| [row.tokens_per_s, *ceiling]));
    let x = |value: f64| MARGIN + axis.at(value) * (SIDE - 2.0 * MARGIN);
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
        let (near, far) = (MARGIN, SIDE - MARGIN);
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
        let color = match (row.finding, row.phase) {
            (Finding::Impossible, _) => "#c00",
            (_, Phase::Prefill) => "#d95f02",
            (_, Phase::Decode) => "#1b6ca8",
            (_, Phase::Serving | Phase::Speculative) => "#2a8a4a",
        };
        let _ = writeln!(
            out,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"2\" fill=\"{color}\" fill-opacity=\"0.5\"/>",
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
         <tspan fill=\"#d95f02\">●</tspan> serving and speculative decoding <tspan fill=\"#2a8a4a\">●</tspan> above the ceiling \
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
fn the_page_is_current() {
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for (name, made) in [("EVIDENCE.md", page()), ("EVIDENCE.svg", picture())] {
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(docs.join(name), &made).expect("the page is writable");
        }
        let current = std::fs::read_to_string(docs.join(name)).expect("the page exists");
        assert!(current == made, "docs/{name} is not current; `cargo xtask evidence` rewrites it");
    }
}

#[test]
fn the_picture_has_a_point_for_each_row_with_a_ceiling() {
    let covered = Evidence::from_rows(rows(), "").rows.iter().filter(|row| row.share.is_some()).count();
    let picture = picture();
    assert_eq!(picture.matches("<circle").count(), covered);
    assert!(!picture.contains("NaN") && picture.ends_with("</svg>\n"));
}
