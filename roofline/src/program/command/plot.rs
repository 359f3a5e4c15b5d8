//! `roofline plot`: charts from saved results, without measuring again, and of contracts.

mod contract;

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bench::Bench;
use crate::chart::html::Page;
use crate::chart::terminal::{Canvas, draw};
use crate::chart::{Chart, Roof};
use crate::document;
use crate::peaks::Machine;
use crate::predict::{Numbers, Predicted, Target};
use crate::profile::Profile;
use crate::program::output::picture::Pictures;
use crate::program::{Exit, Failure, cli, device};
use crate::report::{Report, Saved, Schema, Table};

/// More than anyone could tell apart.
const ROOFS: usize = 200;
const POINTS: usize = 100_000;

/// A chart of roofs and points.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drawing {
    /// Which schema this document follows.
    schema: Schema<Self>,
    /// The chart.
    chart: Chart,
}

impl Report for Drawing {
    const SCHEMA: &'static str = "roofline.chart/1";

    fn chart(&self) -> Option<Chart> {
        Some(self.chart.clone())
    }

    fn text(&self, canvas: &Canvas) -> String {
        draw(&self.chart, canvas)
    }

    fn tables(&self) -> Vec<Table> {
        let figure = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        let points = self.chart.points.iter().map(|point| {
            vec![
                point.name.clone(),
                point.group.clone(),
                figure(point.intensity_flop_byte),
                figure(point.performance_gflop_s),
                figure(point.share),
                point.bound.name().to_owned(),
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
        let operations = ["name", "kind", "flop_per_byte", "gflop_s", "share", "bound"];
        vec![
            Table::new("Operations", &operations, points),
            Table::new("Roofs", &["name", "group", "gb_s", "gflop_s"], roofs),
        ]
    }
}

impl Saved for Drawing {}

/// Reads the results, draws them together.
pub fn run(args: &cli::Plot) -> Result<Exit, Failure> {
    let pictures = Pictures::open(&args.pictures)?;
    let (mut charts, mut contracts, mut moved) = (Vec::new(), 0, None);
    for path in &args.results {
        if path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
            let (chart, what_if) = contract::drawn(&path.to_string_lossy(), &args.set)?;
            charts.push(chart);
            (contracts, moved) = (contracts + 1, what_if);
            continue;
        }
        charts.push(read(path).map_err(|reason| Failure(format!("{}: {reason}", path.display())))?);
    }
    if contracts == 0 && !args.set.is_empty() {
        return Err(Failure("--set belongs to a contract, and none is drawn".into()));
    }
    let chosen = args.devices.chosen(&args.devices.files.catalog()?, &[])?;
    if !chosen.is_empty() {
        let mut roofs = Vec::new();
        for device in chosen {
            roofs.push(roof(&device.measured(|| device::this(&args.measuring))?.target(None)?));
        }
        charts.push(Chart { roofs, ..Chart::default() });
    }
    let drawing = Drawing { schema: Schema::new(), chart: Chart::together(charts) };
    // Sliders move one contract that is alone.
    let what_if = moved.filter(|_| args.results.len() == 1 && args.devices.on.is_empty());
    let page = || Ok(Page { chart: drawing.chart.clone(), what_if, ..Page::default() });
    pictures.show_with(&drawing, &drawing.chart, args.format, true, page)?;
    Ok(Exit::Fine)
}

/// The roof of a device for numbers of 16 bits.
fn roof(target: &Target) -> Roof {
    let rate = target.rate(Numbers::Half);
    Roof {
        name: format!("{}, {}", target.name, rate.precision),
        group: target.name.clone(),
        bandwidth_gb_s: Some(target.bandwidth),
        compute_gflop_s: rate.gflop_s,
        curve: Vec::new(),
    }
}

fn read(path: &Path) -> Result<Chart, String> {
    let (schema, text) = document::read_result(path)?;
    let chart = match schema.as_str() {
        Drawing::SCHEMA => drawn::<Drawing>(&text)?,
        Machine::SCHEMA => drawn::<Machine>(&text)?,
        Bench::SCHEMA => drawn::<Bench>(&text)?,
        Profile::SCHEMA => drawn::<Profile>(&text)?,
        Predicted::SCHEMA => drawn::<Predicted>(&text)?,
        other => return Err(document::refuse(other, &DRAWN, "drawn")),
    };
    if chart.roofs.len() > ROOFS || chart.points.len() > POINTS {
        return Err(format!("a chart has at most {ROOFS} roofs and {POINTS} points"));
    }
    Ok(chart)
}

fn drawn<T: Saved>(text: &str) -> Result<Chart, String> {
    Ok(T::from_json(text)?.chart().unwrap_or_default())
}

/// What can be drawn.
const DRAWN: [&str; 5] =
    [Drawing::SCHEMA, Machine::SCHEMA, Bench::SCHEMA, Profile::SCHEMA, Predicted::SCHEMA];
