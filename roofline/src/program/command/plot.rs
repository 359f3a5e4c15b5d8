//! `roofline plot`: charts from saved results, without measuring again.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::chart::terminal::{Canvas, draw};
use crate::chart::{Chart, SCHEMA};
use crate::peaks::Machine;
use crate::program::command::bench::{self, Bench};
use crate::program::command::predict::chart as predict_chart;
use crate::program::command::profile::chart as profile_chart;
use crate::program::output::picture::Pictures;
use crate::program::{Exit, Failure, cli, saved};
use crate::report::{Report, Saved as _, Schema, Table};

/// More than anyone could tell apart.
const ROOFS: usize = 200;
const POINTS: usize = 100_000;

/// A saved chart.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    #[serde(rename = "schema")]
    _schema: String,
    chart: Chart,
}

/// A chart of roofs and points.
#[derive(Serialize, JsonSchema)]
pub struct Drawing {
    /// Which schema this document follows.
    schema: Schema<Self>,
    /// The chart.
    chart: Chart,
}

impl Report for Drawing {
    fn chart(&self) -> Option<Chart> {
        Some(self.chart.clone())
    }

    const SCHEMA: &'static str = "roofline.chart/1";

    fn text(&self, canvas: &Canvas) -> String {
        draw(&self.chart, canvas)
    }

    fn tables(&self) -> Vec<Table> {
        let figure = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        let headings = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let points = self.chart.points.iter().map(|point| {
            vec![
                point.name.clone(),
                point.group.clone(),
                figure(point.intensity_flop_byte),
                figure(point.performance_gflop_s),
                figure(point.share),
                point.bound.word().to_owned(),
            ]
        });
        let roofs = self.chart.roofs.iter().map(|roof| {
            vec![
                roof.name.clone(),
                roof.group.clone(),
                figure(roof.bandwidth_gb_s),
                figure(roof.compute_gflop_s),
            ]
        });
        vec![
            Table {
                title: "Operations".into(),
                headings: headings(&["name", "kind", "flop_per_byte", "gflop_s", "share", "bound"]),
                rows: points.collect(),
            },
            Table {
                title: "Roofs".into(),
                headings: headings(&["name", "group", "gb_s", "gflop_s"]),
                rows: roofs.collect(),
            },
        ]
    }
}

/// Reads the results, draws them together.
pub fn run(args: &cli::Plot) -> Result<Exit, Failure> {
    let pictures = Pictures::open(&args.pictures)?;
    let mut charts = Vec::new();
    for path in &args.results {
        charts
            .push(read(path).map_err(|Failure(message)| Failure(format!("{}: {message}", path.display())))?);
    }
    let drawing = Drawing { schema: Schema::new(), chart: Chart::together(charts) };
    pictures.show(&drawing, args.format, true)?;
    Ok(Exit::Fine)
}

fn read(path: &Path) -> Result<Chart, Failure> {
    let (schema, text) = saved::read(path)?;
    match schema.as_str() {
        SCHEMA => {
            let Saved { chart, .. } = serde_json::from_str(&text)?;
            bounded(chart)
        }
        Machine::SCHEMA => Ok(Machine::from_json(&text).map_err(Failure)?.chart().unwrap_or_default()),
        bench::SCHEMA => Ok(Bench::from_json(&text).map_err(Failure)?.roofline()),
        profile_chart::SCHEMA => {
            let profile: profile_chart::Saved = serde_json::from_str(&text)?;
            bounded(profile.chart())
        }
        predict_chart::SCHEMA => {
            let predicted: predict_chart::Saved = serde_json::from_str(&text)?;
            bounded(predicted.chart())
        }
        other => Err(saved::refuse(other, &DRAWN, "drawn")),
    }
}

fn bounded(chart: Chart) -> Result<Chart, Failure> {
    if chart.roofs.len() > ROOFS || chart.points.len() > POINTS {
        return Err(Failure(format!("a chart has at most {ROOFS} roofs and {POINTS} points")));
    }
    Ok(chart)
}

/// What can be drawn.
const DRAWN: [&str; 5] =
    [SCHEMA, Machine::SCHEMA, bench::SCHEMA, profile_chart::SCHEMA, predict_chart::SCHEMA];
