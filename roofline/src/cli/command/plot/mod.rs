//! `roofline plot`: charts of saved results, kernels and contracts.

mod contract;

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bench::Bench;
use crate::chart::html::Page;
use crate::chart::terminal::{Canvas, draw};
use crate::chart::{Chart, Roof};
use crate::cli::output::charts::Charts;
use crate::cli::{Exit, Failure, args, device};
use crate::device::ResolvedDevice;
use crate::import::{self, KernelMeasurement, Levels};
use crate::machine::Machine;
use crate::predict::{DeviceProfile, Numbers, Predicted};
use crate::profile::Profile;
use crate::report::{Report, Saved, Schema, Table};
use crate::vocabulary::ROOF_LOSSES;
use roofline_machine::storage;

/// Limits of a chart.
const MAX_ROOFS: usize = 200;
const MAX_POINTS: usize = 100_000;

/// A chart of roofs and points.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drawing {
    /// Schema of this document.
    schema: Schema<Self>,
    /// Roofs and points.
    chart: Chart,
    /// Comparison of each imported kernel with the roofs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sentences: Vec<String>,
}

impl Report for Drawing {
    const SCHEMA: &'static str = "roofline.chart/1";

    fn chart(&self) -> Option<Chart> {
        Some(self.chart.clone())
    }

    fn text(&self, canvas: &Canvas) -> String {
        let notes: String = self.notes().iter().map(|note| format!("{note}\n")).collect();
        let gap = if notes.is_empty() { "" } else { "\n" };
        format!("{}{gap}{notes}", draw(&self.chart, canvas))
    }

    fn notes(&self) -> Vec<String> {
        let why = (!self.sentences.is_empty()).then(|| format!("100 % cannot be reached: {ROOF_LOSSES}"));
        self.sentences.iter().cloned().chain(why).collect()
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
        let operations = ["name", "kind", "FLOP/byte", "GFLOP/s", "utilization", "bound"];
        vec![
            Table::new("Operations", &operations, points),
            Table::new("Roofs", &["name", "group", "GB/s", "GFLOP/s"], roofs),
        ]
    }
}

impl Saved for Drawing {}

/// Reads the results and draws them in one chart.
pub fn run(args: &args::Plot) -> Result<Exit, Failure> {
    let pictures = Charts::open(&args.pictures)?;
    let (mut charts, mut contracts, mut sliders, mut levels) = (Vec::new(), 0, None, Vec::new());
    for path in &args.results {
        if path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
            let (chart, what_if) = contract::draw(&path.to_string_lossy(), &args.set)?;
            charts.push(chart);
            (contracts, sliders) = (contracts + 1, what_if);
            continue;
        }
        let (chart, machine) =
            read(path).map_err(|reason| Failure(format!("{}: {reason}", path.display())))?;
        charts.push(chart);
        levels.extend(machine.map(|machine| machine_levels(&machine.cpu, &machine)));
    }
    if contracts == 0 && !args.set.is_empty() {
        return Err(Failure("--set: requires a contract to draw".into()));
    }
    let kernels = kernels(args)?;
    // Imported kernels are compared with this machine by default.
    let default: &[&str] = if kernels.is_empty() || !charts.is_empty() { &[] } else { &["this"] };
    let chosen = args.devices.chosen(&args.devices.files.catalog()?, default)?;
    let mut roofs = Vec::new();
    for device in chosen {
        let device = device.measured(|| device::this(&args.measuring))?;
        let target = device.target(None)?;
        match &device {
            ResolvedDevice::Saved { machine, .. } if !kernels.is_empty() => {
                roofs.extend(machine.chart().unwrap_or_default().roofs);
                levels.push(machine_levels(&target.name, machine));
            }
            _ => {
                roofs.push(roof(&target));
                levels.push(device_levels(&target));
            }
        }
    }
    let sentences: Vec<String> = kernels
        .iter()
        .flat_map(|kernel| levels.iter().filter_map(|levels| levels.sentence(kernel)))
        .collect();
    if !roofs.is_empty() || !kernels.is_empty() {
        let first = if roofs.is_empty() { None } else { Some(0) };
        let points = kernels.iter().map(|kernel| kernel.point(first, levels.first())).collect();
        let title = if kernels.is_empty() { "" } else { "Imported kernels" };
        charts.push(Chart { title: title.to_owned(), roofs, points, ..Chart::default() });
    }
    let mut chart = Chart::together(charts);
    if let Some(title) = &args.title {
        chart.title.clone_from(title);
    }
    let drawing = Drawing { schema: Schema::new(), chart, sentences };
    // Sliders require a single contract and nothing else.
    let single = args.results.len() == 1 && args.devices.on.is_empty() && kernels.is_empty();
    let what_if = sliders.filter(|_| single);
    let notes = drawing.notes();
    let page = || Ok(Page { chart: drawing.chart.clone(), notes, what_if, ..Page::default() });
    pictures.show_with(&drawing, &drawing.chart, args.format, true, page)?;
    Ok(Exit::Fine)
}

/// Returns the imported kernels. Values of `--point` complete the kernel of the same name in a file.
fn kernels(args: &args::Plot) -> Result<Vec<KernelMeasurement>, Failure> {
    let mut all: Vec<KernelMeasurement> = Vec::new();
    for path in &args.points {
        all.extend(import::read(path).map_err(Failure)?);
    }
    for point in &args.point {
        match all.iter_mut().find(|kernel| kernel.name == point.name) {
            Some(kernel) => kernel.fill(point),
            None => all.push(point.clone()),
        }
    }
    Ok(all)
}

/// Returns the roofs of a machine, measured with all threads.
fn machine_levels(name: &str, machine: &Machine) -> Levels {
    let caches = machine.all.levels.iter().rev().map(|level| (format!("L{}", level.level), level.read_gb_s));
    Levels {
        device: name.to_owned(),
        bandwidths: std::iter::once(("memory".to_owned(), machine.all.read_gb_s)).chain(caches).collect(),
        copy_gb_s: Some(machine.all.copy_gb_s),
        gflop_s: Some(machine.all.f32_gflops),
    }
}

/// Returns the published roofs of a device.
fn device_levels(target: &DeviceProfile) -> Levels {
    Levels {
        device: target.name.clone(),
        bandwidths: vec![("memory".to_owned(), target.bandwidth)],
        copy_gb_s: None,
        gflop_s: target.rate(Numbers::Half).gflop_s,
    }
}

/// Returns the roof of a device for 16-bit precision.
fn roof(target: &DeviceProfile) -> Roof {
    let rate = target.rate(Numbers::Half);
    Roof {
        name: format!("{}, {}", target.name, rate.precision),
        group: target.name.clone(),
        bandwidth_gb_s: Some(target.bandwidth),
        compute_gflop_s: rate.gflop_s,
        curve: Vec::new(),
    }
}

/// Reads the chart of a saved result, and the machine if the result is one.
fn read(path: &Path) -> Result<(Chart, Option<Machine>), String> {
    let (schema, text) = storage::read_result(path)?;
    let mut machine = None;
    let chart = match schema.as_str() {
        Drawing::SCHEMA => chart::<Drawing>(&text)?,
        Machine::SCHEMA => machine.insert(Machine::from_json(&text)?).chart().unwrap_or_default(),
        Bench::SCHEMA => chart::<Bench>(&text)?,
        Profile::SCHEMA => chart::<Profile>(&text)?,
        Predicted::SCHEMA => chart::<Predicted>(&text)?,
        other => return Err(storage::unsupported_schema(other, &DRAWABLE, "drawn")),
    };
    if chart.roofs.len() > MAX_ROOFS || chart.points.len() > MAX_POINTS {
        return Err(format!(
            "too many roofs or points; expected at most {MAX_ROOFS} roofs and {MAX_POINTS} points"
        ));
    }
    Ok((chart, machine))
}

fn chart<T: Saved>(text: &str) -> Result<Chart, String> {
    Ok(T::from_json(text)?.chart().unwrap_or_default())
}

/// Schemas of results with a chart.
const DRAWABLE: [&str; 5] =
    [Drawing::SCHEMA, Machine::SCHEMA, Bench::SCHEMA, Profile::SCHEMA, Predicted::SCHEMA];
