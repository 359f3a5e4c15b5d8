//! Rows of published speeds beside their ceilings, as results of the program.

use roofline_formulas::spelled;
use serde::{Deserialize, Serialize};

use super::ceiling::{Verdict, judge};
use super::device::words;
use super::expectation::{Expected, expect};
use super::table::{Phase, Row};
use crate::predict::{ExpectedFrom, ExpectedSpeed};
use roofline_render::chart::terminal::Canvas;
use roofline_render::chart::{Chart, Point, Roof};
use roofline_render::number::{figure, maybe, percent};
use roofline_render::report::{Report, Schema, Table};
use roofline_render::word::Bound;

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Within its ceiling.
    Possible,
    /// Above its ceiling.
    Impossible,
    /// Of the same run as a row above its ceiling.
    Doubtful,
    /// It has no ceiling here.
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
            low_tokens_per_s: expected.band.low,
            middle_tokens_per_s: expected.band.middle,
            high_tokens_per_s: expected.band.high,
            rows: expected.rows,
            nearness: expected.nearness,
        }
    }
}

/// A published speed beside the ceiling of its work.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvidenceRow {
    /// The line of its file, from 1; of a list of tests the test.
    pub line: usize,
    /// The device as its source names it.
    pub device: String,
    /// The device of the registry whose figures were taken; null where there is none.
    pub registry_device: Option<String>,
    /// How many devices.
    pub devices: f64,
    /// The program that ran.
    pub engine: String,
    /// What it ran on.
    pub backend: String,
    /// The model as its source names it.
    pub model: String,
    /// The model whose dimensions were taken; null where there is none.
    pub known_model: Option<String>,
    /// The format of the weights as its source names it.
    pub format: String,
    /// What was measured.
    pub phase: Phase,
    /// The test as its source names it.
    pub test: String,
    /// Sequences at once; null for as many as fit.
    pub batch: Option<f64>,
    /// Tokens of each sequence in the cache; null where it is not said.
    pub context: Option<f64>,
    /// The published speed, in tokens per second.
    pub tokens_per_s: f64,
    /// The ceiling of the same work, in tokens per second; null where there is none.
    pub ceiling_tokens_per_s: Option<f64>,
    /// Share of the ceiling that was reached; null where there is none.
    pub share: Option<f64>,
    /// Which of the device's figures makes the ceiling.
    pub bound: Bound,
    /// Whether the ceiling knows the device's arithmetic; if not, memory alone makes it.
    pub arithmetic_known: bool,
    /// What the row is.
    pub finding: Finding,
    /// Why it has no ceiling; null where it has one.
    pub reason: Option<String>,
    /// Where it was published.
    pub source: String,
    /// Whether the source measured it itself.
    pub primary: bool,
    /// Operations for each byte that must be moved, in FLOP/B; null without a ceiling.
    pub intensity_flop_byte: Option<f64>,
    /// Operations per second at the published speed, in GFLOP/s; null without a ceiling.
    pub gflop_s: Option<f64>,
    /// The speed to expect of the same work, for rows of a user; absent where the record says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<ExpectedSpeed>,
}

impl EvidenceRow {
    fn of(row: &Row, verdict: &Verdict) -> EvidenceRow {
        let beside = verdict.beside();
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
        let bound = beside.map_or(Bound::Undefined, |beside| {
            if beside.outputs.move_time > beside.outputs.compute_time {
                Bound::Memory
            } else {
                Bound::Compute
            }
        });
        EvidenceRow {
            line: row.line,
            device: row.device.clone(),
            registry_device: beside.map(|beside| beside.device.name.to_owned()),
            devices: row.devices,
            engine: row.engine.clone(),
            backend: row.backend.clone(),
            model: row.model.clone(),
            known_model: beside.map(|beside| beside.model.to_owned()),
            format: row.format.clone(),
            phase: row.phase,
            test: row.test.clone(),
            batch: row.batch,
            context: row.context,
            tokens_per_s: row.tokens_per_s,
            ceiling_tokens_per_s: beside.map(|beside| beside.ceiling()),
            share: beside.map(|beside| beside.share()),
            bound,
            arithmetic_known: beside.is_some_and(|beside| beside.arithmetic),
            finding,
            reason,
            source: row.source.clone(),
            primary: row.primary,
            intensity_flop_byte: beside.map(|beside| beside.outputs.intensity),
            gflop_s: beside.map(|beside| beside.outputs.measured_performance),
            expected: None,
        }
    }

    /// Whether the device, the model or the engine contains these words.
    fn matches(&self, wanted: &str) -> bool {
        let names = [&self.device, &self.engine, &self.backend, &self.model];
        let known = [&self.registry_device, &self.known_model];
        let named = names.into_iter().chain(known.into_iter().flatten());
        named.map(|name| words(name)).any(|name| name.contains(wanted))
    }
}

/// Published speeds beside their ceilings.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Which schema this document follows.
    pub schema: Schema<Self>,
    /// Which rows these are: a device, a model or an engine, or the file they come from; empty for the whole record.
    pub of: String,
    /// Whether they are a user's own, in place of the record.
    pub checked: bool,
    /// The rows, the nearest to their ceilings first.
    pub rows: Vec<EvidenceRow>,
}

/// How shares of a group of rows are spread.
pub(super) struct Spread {
    pub low: f64,
    pub middle: f64,
    pub high: f64,
}

/// Deciles of these shares; none without any.
pub(super) fn spread(mut shares: Vec<f64>) -> Option<Spread> {
    shares.sort_by(f64::total_cmp);
    let at = |part: f64| shares.get((part * (shares.len().checked_sub(1)?) as f64).round() as usize).copied();
    Some(Spread { low: at(0.1)?, middle: at(0.5)?, high: at(0.9)? })
}

impl Evidence {
    /// The rows whose device, model, engine or backend contains the words; all of them without any.
    pub fn of(rows: &[Row], wanted: &str) -> Evidence {
        let normal = words(wanted);
        let mut found = Evidence::all(rows, wanted, false);
        found.rows.retain(|row| row.matches(&normal));
        found
    }

    /// A user's own rows.
    pub fn check(rows: &[Row], file: &str) -> Evidence {
        Evidence::all(rows, file, true)
    }

    fn all(rows: &[Row], of: &str, checked: bool) -> Evidence {
        let verdicts = judge(rows);
        let judged = rows.iter().zip(&verdicts).map(|(row, verdict)| EvidenceRow {
            expected: checked.then(|| expect(row)).flatten().map(ExpectedSpeed::from),
            ..EvidenceRow::of(row, verdict)
        });
        let mut rows: Vec<EvidenceRow> = judged.collect();
        let order = |row: &EvidenceRow| row.share.unwrap_or(-1.0);
        rows.sort_by(|a, b| order(b).total_cmp(&order(a)).then(a.line.cmp(&b.line)));
        Evidence { schema: Schema::new(), of: of.to_owned(), checked, rows }
    }

    /// How many rows are of a kind.
    pub fn count(&self, finding: Finding) -> usize {
        self.rows.iter().filter(|row| row.finding == finding).count()
    }

    fn summary(&self) -> String {
        let total = self.rows.len();
        let of = if self.of.is_empty() { "the record".to_owned() } else { self.of.clone() };
        let mut out = format!("{of}: {total} published speed{}", if total == 1 { "" } else { "s" });
        let counts = [
            (Finding::Possible, "within the ceiling"),
            (Finding::Impossible, "impossible"),
            (Finding::Doubtful, "of the same run as an impossible one"),
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
            out += &format!("share of the ceiling: {low} at the lowest tenth, {middle} in the middle, ");
            out += &format!("{high} at the highest tenth\n");
        }
        out
    }

    fn shares(&self) -> Vec<f64> {
        self.rows.iter().filter(|row| row.finding == Finding::Possible).filter_map(|row| row.share).collect()
    }
}

/// Rows that a terminal shows.
const SHOWN: usize = 20;

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
        let title = "Tokens per second, measured beside the ceiling";
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
            // Of a user's rows those that something is to be said of come first, and all are shown.
            true => self.rows.clone(),
            false => self.rows.iter().take(SHOWN).cloned().collect(),
        };
        let left = self.rows.len() - shown.len();
        let mut table = Evidence { rows: shown, ..self.clone() }.tables().remove(0);
        // Addresses are long; every other format has them.
        table.headings.pop();
        for row in &mut table.rows {
            row.pop();
        }
        out += &table.fitted(canvas, &[]);
        if left > 0 {
            out += &format!("and {left} more; --format csv has all rows with their addresses\n");
        }
        for row in self.rows.iter().filter(|row| row.finding == Finding::Impossible && self.checked) {
            let over = row.share.unwrap_or_default();
            out += &format!(
                "\nline {}: {} {} {} at {} tokens/s is impossible: {} times the ceiling of {}, which {} makes\n",
                row.line,
                row.device,
                row.model,
                row.format,
                figure(row.tokens_per_s),
                figure(over),
                maybe(row.ceiling_tokens_per_s),
                row.bound.name()
            );
        }
        for row in &self.rows {
            if let Some(expected) = &row.expected {
                out += &format!(
                    "\nline {}: {} is expected to reach {} tokens/s, {} to {} in eight of ten; from {} rows of the record, \
                     the nearest at {}\n",
                    row.line,
                    expected.engine,
                    figure(expected.middle_tokens_per_s),
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
                whole: 0,
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
        let of = if self.of.is_empty() { "The record" } else { &self.of };
        Some(Chart {
            title: format!("{of}: published speeds below the roofs"),
            subtitle: format!("{} rows", self.rows.len()),
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
    fn rows_are_found_by_device_model_and_engine() {
        for (wanted, least) in
            [("rtx-4090", 100), ("llama_3_1_8b", 200), ("vLLM", 190), ("metal", 380), ("", 1746)]
        {
            let found = Evidence::of(rows(), wanted);
            assert!(found.rows.len() >= least, "{wanted}: {}", found.rows.len());
        }
        assert!(Evidence::of(rows(), "no such thing").rows.is_empty());
    }

    #[test]
    fn what_is_said_of_a_row_survives_json() {
        let evidence = Evidence::of(rows(), "rtx_4090");
        let text = serde_json::to_string(&evidence).unwrap();
        let back: Evidence = serde_json::from_str(&text).unwrap();
        assert_eq!(back.tables(), evidence.tables());
    }
}
