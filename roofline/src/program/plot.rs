//! `roofline plot`: charts from saved results, without measuring again.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::bench::{self, Bench};
use super::output::{self, Report, Table};
use super::picture::Pictures;
use super::{Exit, Failure, cli, machine, terminal};
use crate::chart::terminal::{Canvas, draw};
use crate::chart::{Chart, SCHEMA};
use crate::peaks::{self, Machine};

/// No result is this long; a file that is was not written by this program.
const LONGEST: u64 = 64 << 20;
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

/// What all results have.
#[derive(Deserialize)]
struct Head {
    schema: String,
}

/// A chart and where its text goes.
#[derive(Serialize)]
struct Drawing {
    schema: &'static str,
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
    pictures.draw(&drawing.chart, None)?;
    output::print(&drawing, args.format)?;
    Ok(Exit::Fine)
}

fn read(path: &Path) -> Result<Chart, Failure> {
    let mut text = String::new();
    File::open(path)?.take(LONGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        return Err(Failure(format!("longer than {} MiB, so it is no saved result", LONGEST >> 20)));
    }
    let Head { schema } = serde_json::from_str(&text)
        .map_err(|error| Failure(format!("{error}; a saved result is a JSON object with a \"schema\"")))?;
    match schema.as_str() {
        SCHEMA => {
            let Saved { chart, .. } = serde_json::from_str(&text)?;
            if chart.roofs.len() > ROOFS || chart.points.len() > POINTS {
                return Err(Failure(format!("a chart has at most {ROOFS} roofs and {POINTS} points")));
            }
            Ok(chart)
        }
        peaks::SCHEMA => Ok(machine::chart(&Machine::from_json(&text).map_err(Failure)?)),
        bench::SCHEMA => Ok(Bench::from_json(&text).map_err(Failure)?.saved_chart()),
        other => Err(refuse(other)),
    }
}

/// What can be drawn.
const DRAWN: [&str; 3] = [SCHEMA, peaks::SCHEMA, bench::SCHEMA];

fn refuse(schema: &str) -> Failure {
    let parts = |schema: &str| -> Option<(String, u32)> {
        let (name, version) = schema.rsplit_once('/')?;
        Some((name.to_owned(), version.parse().ok()?))
    };
    let newer = DRAWN.iter().find(|known| {
        let (known, found) = (parts(known), parts(schema));
        known.zip(found).is_some_and(|(known, found)| known.0 == found.0 && known.1 < found.1)
    });
    Failure(match newer {
        Some(known) => format!("schema {schema:?} is newer than this program, which reads {known}"),
        None => format!("schema {schema:?} can't be drawn; {} can", DRAWN.join(", ")),
    })
}
