//! `roofline devices`: the known devices with their attributes and sources.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::chart::terminal::Canvas;
use crate::cli::conditions::Names;
use crate::cli::output;
use crate::cli::select::{self, Row};
use crate::cli::{Exit, Failure, args};
use crate::contracts::hardware::devices::Device;
use crate::device::{display_name, numbers_of};
use crate::predict::Precision;
use crate::report::{Report, Schema, Table};
use roofline_render::format::{GB_PER_S, GFLOP_PER_S, figure, maybe};

/// Known devices.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeviceList {
    /// Schema of this document.
    schema: Schema<Self>,
    /// Devices, in the order of `--sort`.
    devices: Vec<ListedDevice>,
    #[serde(skip)]
    full: bool,
    /// Table of `--columns`.
    #[serde(skip)]
    selected: Option<Table>,
    /// Sources of the attributes of a single device.
    #[serde(skip)]
    origins: Table,
}

/// A known device.
#[derive(Debug, Serialize, JsonSchema)]
struct ListedDevice {
    /// Name of the device.
    name: String,
    /// Description of the device.
    description: &'static str,
    /// Vendor.
    vendor: &'static str,
    /// Kind, such as gpu.
    kind: &'static str,
    /// Market, such as consumer.
    market: &'static str,
    /// Architecture.
    architecture: &'static str,
    /// Other names, separated by commas; null if there are none.
    aliases: Option<&'static str>,
    /// Launch year; null if unknown.
    launch_year: Option<f64>,
    /// Launch price in US dollars; null if unknown.
    launch_price_usd: Option<f64>,
    /// Dense peak in GFLOP/s for each supported precision.
    peaks_gflop_s: Vec<(&'static str, f64)>,
    /// Memory bandwidth in GB/s.
    bandwidth_gb_s: f64,
    /// Memory capacity in GB; null if unknown.
    capacity_gb: Option<f64>,
    /// Fastest interconnect to devices of the same kind; null if none or unknown.
    interconnect: Option<&'static str>,
    /// Bandwidth of the interconnect in one direction, in GB/s; null if unknown.
    interconnect_gb_s: Option<f64>,
    /// Power in W; null if not published.
    tdp_w: Option<f64>,
    /// Attributes derived from published ones, with the ratio; null if all are published.
    derived: Option<&'static str>,
    /// Source of the attributes.
    source: &'static str,
    /// Date on which the source was read.
    as_of: &'static str,
}

/// Lists the devices whose name, vendor, kind, market, architecture or aliases contain the filter. A single device is shown with
/// all attributes.
pub fn run(args: &args::Devices) -> Result<Exit, Failure> {
    let catalog = args.files.catalog()?;
    let mut found = match &args.filter {
        Some(text) => catalog.matching(text),
        None => catalog.devices().to_vec(),
    };
    if let (true, Some(text)) = (found.is_empty(), &args.filter) {
        found = vec![catalog.find(text)?];
    }
    let full = found.len() == 1 && !args.select.is_set();
    let mut names = Names::default();
    select::add_device_names(&mut names);
    if args.select.help(&names)? {
        return Ok(Exit::Fine);
    }
    let rows: Vec<Row> = found.iter().map(|device| select::device_row(device)).collect();
    let order = args.select.rows(&names, &rows)?;
    let selected: Vec<&Row> = order.iter().map(|&index| &rows[index]).collect();
    let selected = args.select.table(&names, "name", &selected)?;
    let devices: Vec<ListedDevice> = order.iter().map(|&index| listing(found[index])).collect();
    if devices.is_empty() {
        output::log("--where: no device meets the condition");
        return Ok(Exit::Failed);
    }
    let origins = if full { origins(found[0]) } else { Table::default() };
    output::print(&DeviceList { schema: Schema::new(), devices, full, selected, origins }, args.format)?;
    Ok(Exit::Fine)
}

/// Returns a table of the attributes of a device with their sources: published, or derived by a ratio.
fn origins(device: &Device) -> Table {
    let units: BTreeMap<&str, &str> = Device::NUMBERS.iter().copied().collect();
    let clauses = || device.derived.into_iter().flat_map(|text| text.split([';', ',']));
    let rows = numbers_of(device).map(|(name, value)| {
        let derived =
            clauses().find(|clause| clause.split('=').next().is_some_and(|field| field.trim() == name));
        let source =
            derived.map_or_else(|| device.source.to_owned(), |ratio| format!("derived: {}", ratio.trim()));
        let unit = units.get(name).filter(|unit| **unit != "1").copied().unwrap_or_default();
        vec![name.to_owned(), value.to_string(), unit.to_owned(), source]
    });
    Table::new("", &["attribute", "value", "unit", "source"], rows)
}

fn listing(device: &Device) -> ListedDevice {
    let peaks = Precision::with_peak(device)
        .filter_map(|precision| Some((precision.name(), precision.peak(device)?)));
    ListedDevice {
        name: display_name(device.name),
        description: device.doc,
        vendor: device.vendor.name(),
        kind: device.kind.name(),
        market: device.market.name(),
        architecture: device.architecture.name(),
        aliases: device.aliases,
        launch_year: device.launch_year,
        launch_price_usd: device.launch_price_usd,
        peaks_gflop_s: peaks.collect(),
        bandwidth_gb_s: device.bandwidth,
        capacity_gb: device.capacity,
        interconnect: device.interconnect.map(|link| link.name()),
        interconnect_gb_s: device.interconnect_bandwidth,
        tdp_w: device.tdp,
        derived: device.derived,
        source: device.source,
        as_of: device.as_of,
    }
}

impl ListedDevice {
    fn peak(&self, precision: Precision) -> Option<f64> {
        self.peaks_gflop_s.iter().find(|(name, _)| *name == precision.name()).map(|(_, peak)| *peak)
    }
}

/// Columns to hide on narrow terminals, in this order.
const OPTIONAL_COLUMNS: [&str; 6] = ["tf32", "bf16", "fp32", "int4", "kind", "fp4"];

impl Report for DeviceList {
    const SCHEMA: &'static str = "roofline.devices/1";

    fn text(&self, canvas: &Canvas) -> String {
        let tables: String =
            self.tables().iter().map(|table| table.render_within(canvas, &OPTIONAL_COLUMNS)).collect();
        match self.devices.as_slice() {
            [device] if self.full => {
                let year = device.launch_year.map(|year| format!(", {year}")).unwrap_or_default();
                let about =
                    format!("{} ({}, {}{year})", device.description, device.vendor, device.architecture);
                let derived = device.derived.map(|ratios| format!("derived: {ratios}\n"));
                format!(
                    "{about}\n{tables}\n{}\nsource: {}, as of {}\n{}",
                    self.origins.render_within(canvas, &[]),
                    device.source,
                    device.as_of,
                    derived.unwrap_or_default()
                )
            }
            _ => tables,
        }
    }

    fn tables(&self) -> Vec<Table> {
        if let Some(selected) = &self.selected {
            return vec![selected.clone()];
        }
        let precisions = Precision::ALL;
        let headings = ["device", "kind"]
            .into_iter()
            .chain(precisions.iter().map(|precision| precision.name()))
            .chain(["GB/s", "GB", "W"]);
        let row = |device: &ListedDevice| {
            let mut row = vec![device.name.clone(), device.kind.to_owned()];
            row.extend(precisions.iter().map(|precision| maybe(device.peak(*precision))));
            row.extend([figure(device.bandwidth_gb_s), maybe(device.capacity_gb), maybe(device.tdp_w)]);
            row
        };
        vec![Table {
            title: format!("Dense peaks in {GFLOP_PER_S}, bandwidth in {GB_PER_S}, memory in GB, power in W"),
            headings: headings.map(str::to_owned).collect(),
            rows: self.devices.iter().map(row).collect(),
        }]
    }
}
