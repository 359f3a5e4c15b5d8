//! Reports of benchmark results compared with their ceilings.

use roofline_formulas::spelled;
use serde::{Deserialize, Serialize};

use super::ceiling::{Verdict, judge};
use super::device::words;
use super::expectation::{Expected, expect};
use super::table::{Phase, Row};
use crate::device::display_name;
use crate::predict::{ExpectedFrom, ExpectedSpeed};
use roofline_render::chart::terminal::Canvas;
use roofline_render::chart::{Chart, Point, Roof};
use roofline_render::format::{figure, maybe, percent};
use roofline_render::report::{Report, Schema, Table};
use roofline_render::vocabulary::Bound;

/// Verdict on a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The speed does not exceed the ceiling.
    Possible,
    /// The speed exceeds the ceiling.
    Impossible,
    /// The row is from the same run as an impossible one.
    Doubtful,
    /// The row has no ceiling.
    Uncovered,
}

spelled!(Finding {
    Possible = "possible",
    Impossible = "impossible",
    Doubtful = "doubtful",
    Uncovered = "uncovered",
});

impl From<Expected> for ExpectedSpeed {
    fn from(expected: Expected) -> Self {
        ExpectedSpeed {
            engine: expected.engine.to_string(),
            from: ExpectedFrom::Record,
            low_tokens_per_s: expected.range.low,
            middle_tokens_per_s: expected.range.middle,
            high_tokens_per_s: expected.range.high,
            rows: expected.rows,
            nearness: expected.nearness,
        }
    }
}

/// A benchmark result with its ceiling.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvidenceRow {
    /// Line of its file, or index among the tests of `llama-bench`, from 1.
    pub line: usize,
    /// Device name in the source.
    pub device: String,
    /// Device of the registry that the ceiling is computed for; null without a ceiling.
    pub registry_device: Option<String>,
    /// Number of devices.
    pub devices: f64,
    /// Inference engine.
    pub engine: String,
    /// Backend of the engine.
    pub backend: String,
    /// Model name in the source.
    pub model: String,
    /// Known model that the ceiling is computed for; null without a ceiling.
    pub known_model: Option<String>,
    /// Weight format in the source.
    pub format: String,
    /// Measured phase.
    pub phase: Phase,
    /// Test name in the source.
    pub test: String,
    /// Batch size; null for the maximum that fits.
    pub batch: Option<f64>,
    /// Context length in tokens; null if it is not stated.
    pub context: Option<f64>,
    /// Measured speed, in tokens per second.
    pub tokens_per_s: f64,
    /// Ceiling for the same work, in tokens per second; null if there is none.
    pub ceiling_tokens_per_s: Option<f64>,
    /// Measured speed divided by the ceiling; null without a ceiling.
    pub share: Option<f64>,
    /// Resource that limits the ceiling.
    pub bound: Bound,
    /// True if the arithmetic peak is known; otherwise the ceiling is the memory roof alone.
    pub arithmetic_known: bool,
    /// Verdict on the row.
    pub finding: Finding,
    /// Reason why the row has no ceiling; null if it has one.
    pub reason: Option<String>,
    /// URL of the source; may be empty.
    pub source: String,
    /// True if the source is primary, not a transcription.
    pub primary: bool,
    /// Arithmetic intensity in FLOP/B; null without a ceiling.
    pub intensity_flop_byte: Option<f64>,
    /// Arithmetic rate at the measured speed, in GFLOP/s; null without a ceiling.
    pub gflop_s: Option<f64>,
    /// Expected speed for the same work, for rows of a user; absent without comparable results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<ExpectedSpeed>,
}

impl EvidenceRow {
    fn new(row: &Row, verdict: &Verdict) -> EvidenceRow {
        let compared = verdict.compared();
        let finding = match verdict {
            Verdict::Possible(_) => Finding::Possible,
            Verdict::Impossible(_) => Finding::Impossible,
            Verdict::Doubtful(_) => Finding::Doubtful,
            Verdict::Uncovered(_) => Finding::Uncovered,
        };
        let reason = match verdict {
            Verdict::Uncovered(reason) => Some(reason.to_string()),
            _ => None,
        };
        let bound = compared.map_or(Bound::Undefined, |compared| {
            if compared.outputs.move_time > compared.outputs.compute_time {
                Bound::Memory
            } else {
                Bound::Compute
            }
        });
        EvidenceRow {
            line: row.line,
            device: row.device.clone(),
            registry_device: compared.map(|compared| display_name(compared.device.name)),
            devices: row.devices,
            engine: row.engine.clone(),
            backend: row.backend.clone(),
            model: row.model.clone(),
            known_model: compared.map(|compared| compared.model.to_owned()),
            format: row.format.clone(),
            phase: row.phase,
            test: row.test.clone(),
            batch: row.batch,
            context: row.context,
            tokens_per_s: row.tokens_per_s,
            ceiling_tokens_per_s: compared.map(|compared| compared.ceiling()),
            share: compared.map(|compared| compared.share()),
            bound,
            arithmetic_known: compared.is_some_and(|compared| compared.arithmetic),
            finding,
            reason,
            source: row.source.clone(),
            primary: row.primary,
            intensity_flop_byte: compared.map(|compared| compared.outputs.intensity),
            gflop_s: compared.map(|compared| compared.outputs.measured_performance),
            expected: None,
        }
    }

    /// Tests if the device, the model or the engine contains these normalized words.
    fn matches(&self, filter: &str) -> bool {
        let names = [&self.device, &self.engine, &self.backend, &self.model];
        let known = [&self.registry_device, &self.known_model];
        let named = names.into_iter().chain(known.into_iter().flatten());
        named.map(|name| words(name)).any(|name| name.contains(filter))
    }
}

/// Benchmark results compared with their ceilings.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Schema of the document.
    pub schema: Schema<Self>,
    /// Filter by device, model or engine, or the file of the rows; empty for all published results.
    pub of: String,
    /// True if the rows are from a file of the user instead of the published results.
    pub checked: bool,
    /// Rows, the closest to their ceilings first.
    pub rows: Vec<EvidenceRow>,
}

/// Deciles and median of the shares of a group.
pub(super) struct Spread {
    pub low: f64,
    pub middle: f64,
    pub high: f64,
}

/// Computes the spread of the shares; `None` if there are none.
pub(super) fn spread(mut shares: Vec<f64>) -> Option<Spread> {
    shares.sort_by(f64::total_cmp);
    let at = |fraction: f64| {
        shares.get((fraction * (shares.len().checked_sub(1)?) as f64).round() as usize).copied()
    };
    Some(Spread { low: at(0.1)?, middle: at(0.5)?, high: at(0.9)? })
}

impl Evidence {
    /// Compares the rows whose device, model, engine or backend contains the words of the filter; an empty filter matches all rows.
    pub fn from_rows(rows: &[Row], filter: &str) -> Evidence {
        let normalized = words(filter);
        let mut found = Evidence::compare(rows, filter, false);
        found.rows.retain(|row| row.matches(&normalized));
        found
    }

    /// Compares the rows of a user's file and adds their expected speeds.
    pub fn check(rows: &[Row], file: &str) -> Evidence {
        Evidence::compare(rows, file, true)
    }

    fn compare(rows: &[Row], of: &str, checked: bool) -> Evidence {
        let verdicts = judge(rows);
        let judged = rows.iter().zip(&verdicts).map(|(row, verdict)| EvidenceRow {
            expected: checked.then(|| expect(row)).flatten().map(ExpectedSpeed::from),
            ..EvidenceRow::new(row, verdict)
        });
        let mut rows: Vec<EvidenceRow> = judged.collect();
        let order = |row: &EvidenceRow| row.share.unwrap_or(-1.0);
        rows.sort_by(|a, b| order(b).total_cmp(&order(a)).then(a.line.cmp(&b.line)));
        Evidence { schema: Schema::new(), of: of.to_owned(), checked, rows }
    }

    /// Counts the rows with a verdict.
    pub fn count(&self, finding: Finding) -> usize {
        self.rows.iter().filter(|row| row.finding == finding).count()
    }

    fn summary(&self) -> String {
        let total = self.rows.len();
        let of = if self.of.is_empty() { "published results".to_owned() } else { self.of.clone() };
        let mut out = format!("{of}: {total} result{}", if total == 1 { "" } else { "s" });
        let counts = [
            (Finding::Possible, "within the ceiling"),
            (Finding::Impossible, "above the ceiling"),
            (Finding::Doubtful, "from the same run as one above the ceiling"),
            (Finding::Uncovered, "without a ceiling"),
        ];
        for (finding, words) in counts {
            let count = self.count(finding);
            if count > 0 {
                out += &format!(", {count} {words}");
            }
        }
        out.push('\n');
        if let Some(Spread { low, middle, high, .. }) = spread(self.shares()) {
            let [low, middle, high] = [low, middle, high].map(|share| percent(Some(share)));
            out += &format!("share of the ceiling: 10th percentile {low}, median {middle}, ");
            out += &format!("90th percentile {high}\n");
        }
        out
    }

    fn shares(&self) -> Vec<f64> {
        self.rows.iter().filter(|row| row.finding == Finding::Possible).filter_map(|row| row.share).collect()
    }
}

/// Maximum number of rows in a terminal.
const MAX_SHOWN: usize = 20;

impl Report for Evidence {
    const SCHEMA: &'static str = "roofline.evidence/1";

    fn tables(&self) -> Vec<Table> {
        let headings = [
            "device", "devices", "engine", "backend", "model", "format", "test", "batch", "measured",
            "ceiling", "share", "bound", "finding", "source",
        ];
        let row = |row: &EvidenceRow| {
            vec![
                row.device.clone(),
                row.devices.to_string(),
                row.engine.clone(),
                row.backend.clone(),
                row.model.clone(),
                row.format.clone(),
                format!("{} {}", row.phase.name(), row.test),
                row.batch.map_or("max".to_owned(), |batch| batch.to_string()),
                figure(row.tokens_per_s),
                maybe(row.ceiling_tokens_per_s),
                percent(row.share),
                row.bound.name().to_owned(),
                row.reason.clone().unwrap_or_else(|| row.finding.name().to_owned()),
                row.source.clone(),
            ]
        };
        let title = "Tokens per second, measured and ceiling";
        let mut table = Table::new(title, &headings, self.rows.iter().map(row));
        if self.checked {
            let at = headings.len() - 1;
            let expected = ["expected low", "expected middle", "expected high"];
            table.headings.splice(at..at, expected.map(str::to_owned));
            for (cells, row) in table.rows.iter_mut().zip(&self.rows) {
                let of = |speed: fn(&ExpectedSpeed) -> f64| maybe(row.expected.as_ref().map(speed));
                let band =
                    [of(|e| e.low_tokens_per_s), of(|e| e.middle_tokens_per_s), of(|e| e.high_tokens_per_s)];
                cells.splice(at..at, band);
            }
        }
        vec![table]
    }

    fn text(&self, canvas: &Canvas) -> String {
        let mut out = self.summary() + "\n";
        let shown: Vec<EvidenceRow> = match self.checked {
            // All rows of a user's file are shown.
            true => self.rows.clone(),
            false => self.rows.iter().take(MAX_SHOWN).cloned().collect(),
        };
        let left = self.rows.len() - shown.len();
        let mut table = Evidence { rows: shown, ..self.clone() }.tables().remove(0);
        // URLs are too long for a terminal; the other formats contain them.
        table.headings.pop();
        for row in &mut table.rows {
            row.pop();
        }
        out += &table.render_within(canvas, &[]);
        if left > 0 {
            out += &format!("and {left} more; --format csv prints all rows with their sources\n");
        }
        for row in self.rows.iter().filter(|row| row.finding == Finding::Impossible && self.checked) {
            let over = row.share.unwrap_or_default();
            out += &format!(
                "\nline {}: {} {} {} at {} tok/s exceeds the ceiling of {} tok/s ({}) by a factor of {}\n",
                row.line,
                row.device,
                row.model,
                row.format,
                figure(row.tokens_per_s),
                maybe(row.ceiling_tokens_per_s),
                row.bound.describe(),
                figure(over)
            );
        }
        for row in &self.rows {
            if let Some(expected) = &row.expected {
                out += &format!(
                    "\nline {}: expected {} tok/s with {}, range {}–{} ({} comparable results, closest match {})\n",
                    row.line,
                    figure(expected.middle_tokens_per_s),
                    expected.engine,
                    figure(expected.low_tokens_per_s),
                    figure(expected.high_tokens_per_s),
                    figure(expected.rows),
                    percent(Some(expected.nearness))
                );
            }
        }
        out
    }

    fn chart(&self) -> Option<Chart> {
        let mut devices: Vec<&str> = Vec::new();
        for row in &self.rows {
            if let Some(device) = row.registry_device.as_deref()
                && !devices.contains(&device)
                && devices.len() < 8
            {
                devices.push(device);
            }
        }
        let roofs = devices.iter().filter_map(|name| {
            let device = roofline_formulas::hardware::devices::by_name(name)?;
            Some(Roof {
                name: (*name).to_owned(),
                group: (*name).to_owned(),
                bandwidth_gb_s: Some(device.bandwidth),
                compute_gflop_s: super::format::fastest(device),
                curve: Vec::new(),
            })
        });
        let points = self.rows.iter().filter_map(|row| {
            let device = row.registry_device.as_deref()?;
            let roof = devices.iter().position(|name| *name == device)?;
            Some(Point {
                name: format!("{} {} {}", row.model, row.format, row.test),
                group: row.phase.name().to_owned(),
                intensity_flop_byte: row.intensity_flop_byte,
                performance_gflop_s: row.gflop_s.map(|rate| rate / row.devices),
                share: None,
                total_id: 0,
                bound: row.bound,
                roof: Some(roof),
                details: vec![
                    ("device".into(), row.device.clone()),
                    ("engine".into(), format!("{} {}", row.engine, row.backend)),
                    ("tokens/s".into(), figure(row.tokens_per_s)),
                    ("share of the ceiling".into(), percent(row.share)),
                    ("source".into(), row.source.clone()),
                ],
            })
        });
        let of = if self.of.is_empty() { "All results" } else { &self.of };
        Some(Chart {
            title: format!("{of}: measured speeds and roofs"),
            subtitle: format!("{} results", self.rows.len()),
            roofs: roofs.collect(),
            points: points.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows;
    use super::*;

    #[test]
    fn rows_are_filtered_by_device_model_and_engine() {
        for (filter, min_rows) in
            [("rtx-4090", 100), ("llama_3_1_8b", 200), ("vLLM", 190), ("metal", 380), ("", 1746)]
        {
            let found = Evidence::from_rows(rows(), filter);
            assert!(found.rows.len() >= min_rows, "{filter}: {}", found.rows.len());
        }
        assert!(Evidence::from_rows(rows(), "no such thing").rows.is_empty());
    }

    #[test]
    fn evidence_round_trips_through_json() {
        let evidence = Evidence::from_rows(rows(), "rtx_4090");
        let text = serde_json::to_string(&evidence).unwrap();
        let back: Evidence = serde_json::from_str(&text).unwrap();
        assert_eq!(back.tables(), evidence.tables());
    }
}
