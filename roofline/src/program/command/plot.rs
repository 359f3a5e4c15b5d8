//! `roofline plot`: charts from saved results, without measuring again.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::chart::terminal::{Canvas, draw};
use crate::chart::{Chart, SCHEMA};
use crate::peaks::{self, Machine};
use crate::program::command::bench::{self, Bench};
use crate::program::command::machine;
use crate::program::command::predict::chart as predict_chart;
use crate::program::command::profile::chart as profile_chart;
use crate::program::output::picture::Pictures;
use crate::program::output::terminal;
use crate::program::output::{self, Report, Table};
use crate::program::{Exit, Failure, cli, saved};

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
    schema: &'static str,
    /// The chart.
    chart: Chart,
    #[serde(skip)]
    canvas: Canvas,
}

impl Report for Drawing {
    fn text(&self) -> String {
        draw(&self.chart, &self.canvas)
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
    let canvas = terminal::canvas(args.pictures.ascii);
    let drawing = Drawing { schema: SCHEMA, chart: Chart::together(charts), canvas };
    pictures.draw(&drawing.chart, args.format, true)?;
    output::print(&drawing, args.format)?;
    Ok(Exit::Fine)
}

fn read(path: &Path) -> Result<Chart, Failure> {
    let (schema, text) = saved::read(path)?;
    match schema.as_str() {
        SCHEMA => {
            let Saved { chart, .. } = serde_json::from_str(&text)?;
            bounded(chart)
        }
        peaks::SCHEMA => Ok(machine::chart(&Machine::from_json(&text).map_err(Failure)?)),
        bench::SCHEMA => Ok(Bench::from_json(&text).map_err(Failure)?.chart()),
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
const DRAWN: [&str; 5] = [SCHEMA, peaks::SCHEMA, bench::SCHEMA, profile_chart::SCHEMA, predict_chart::SCHEMA];
