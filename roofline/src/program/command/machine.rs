//! `roofline machine`: the roofs of this machine, measured or remembered.

use std::collections::BTreeMap;

use roofline_contracts::contract::Value;
use serde::Serialize;

use crate::chart::terminal::{Canvas, draw};
use crate::chart::{Chart, Roof};
use crate::peaks::{self, Machine, Peak, Placement, Roofs, Spread};
use crate::program::output::picture::Pictures;
use crate::program::output::terminal;
use crate::program::output::{self, Report, Table};
use crate::program::require;
use crate::program::{Exit, Failure, cli, device};

#[derive(Serialize)]
#[serde(transparent)]
struct Measured {
    machine: Machine,
    #[serde(skip)]
    canvas: Canvas,
}

/// Measures this machine and prints its roofs.
pub fn run(args: &cli::Machine) -> Result<Exit, Failure> {
    if args.clear_cache {
        let removed = peaks::directory().map_or(Ok(0), |directory| peaks::clear(&directory))?;
        println!("{removed} saved measurement(s) removed");
        return Ok(Exit::Fine);
    }
    let gates = require::parse(&args.require, &RESULTS.concat(), &TEXTS)?;
    let pictures = Pictures::open(&args.pictures)?;
    let machine = device::this(&args.measuring)?;
    let checked = require::check(&gates, "", &results(&machine));
    pictures.draw(&chart(&machine), args.format, true)?;
    output::print(&Measured { machine, canvas: terminal::canvas(args.pictures.ascii) }, args.format)?;
    Ok(require::exit(&checked))
}

/// What `--require` can name: the roofs of all threads and of one, and texts.
const RESULTS: [[&str; 6]; 2] = [
    ["read_gb_s", "copy_gb_s", "triad_gb_s", "f32_gflops", "int8_gops", "ridge"],
    [
        "single_read_gb_s",
        "single_copy_gb_s",
        "single_triad_gb_s",
        "single_f32_gflops",
        "single_int8_gops",
        "single_ridge",
    ],
];
const TEXTS: [&str; 2] = ["cpu", "isa"];

fn results(machine: &Machine) -> BTreeMap<&'static str, Value> {
    let mut values: BTreeMap<&'static str, Value> = BTreeMap::new();
    for (names, roofs) in RESULTS.into_iter().zip([&machine.all, &machine.single]) {
        values.extend(names.into_iter().zip(roofs.figures().map(Value::Number)));
    }
    let texts = [&machine.cpu, &machine.isa].map(|text| Value::Text(text.clone()));
    values.extend(TEXTS.into_iter().zip(texts));
    values
}

/// The machine's roofs as a chart without points.
pub fn chart(machine: &Machine) -> Chart {
    let roofs = |roofs: &Roofs| {
        let group = threads(roofs.threads);
        let memory = Roof {
            name: "memory, read".to_owned(),
            group: group.clone(),
            bandwidth_gb_s: Some(roofs.read_gb_s),
            compute_gflop_s: Some(roofs.f32_gflops),
        };
        let levels = roofs.levels.iter().rev().map(|level| Roof {
            name: format!("L{}, read", level.level),
            group: group.clone(),
            bandwidth_gb_s: Some(level.read_gb_s),
            compute_gflop_s: None,
        });
        std::iter::once(memory).chain(levels).collect::<Vec<_>>()
    };
    let mut all = roofs(&machine.all);
    if machine.threads > 1 {
        all.extend(roofs(&machine.single).into_iter().take(1));
    }
    Chart { title: machine.cpu.clone(), subtitle: subtitle(machine), roofs: all, points: Vec::new() }
}

fn subtitle(machine: &Machine) -> String {
    let caches = machine.caches.iter().map(|cache| format!("L{} {}", cache.level, size(cache.bytes)));
    let parts = [machine.isa.clone(), threads(machine.threads)].into_iter().chain(caches);
    parts.chain([format!("buffers {}", size(machine.size))]).collect::<Vec<_>>().join(", ")
}

/// A number of threads, in words.
pub fn threads(count: usize) -> String {
    if count == 1 { "1 thread".to_owned() } else { format!("{count} threads") }
}

fn size(bytes: usize) -> String {
    let (unit, shift) = if bytes >= 1 << 20 { ("MiB", 20) } else { ("KiB", 10) };
    let value = bytes as f64 / f64::from(1u32 << shift);
    if value.fract() == 0.0 { format!("{value:.0} {unit}") } else { format!("{value:.1} {unit}") }
}

impl Measured {
    /// The two measurements, once when there is only one.
    fn sets(&self) -> Vec<&Roofs> {
        if self.machine.threads == 1 {
            vec![&self.machine.all]
        } else {
            vec![&self.machine.single, &self.machine.all]
        }
    }

    fn roofs(&self) -> Table {
        let sets = self.sets();
        let row = |name: &str, unit: &str, value: &dyn Fn(&Roofs) -> Option<f64>| {
            let cells =
                sets.iter().map(|roofs| value(roofs).map_or("-".to_owned(), |value| format!("{value:.1}")));
            [name.to_owned(), unit.to_owned()].into_iter().chain(cells).collect::<Vec<_>>()
        };
        let mut rows = vec![
            row("memory read", "GB/s", &|roofs| Some(roofs.read_gb_s)),
            row("memory copy", "GB/s", &|roofs| Some(roofs.copy_gb_s)),
            row("memory triad", "GB/s", &|roofs| Some(roofs.triad_gb_s)),
        ];
        for cache in &self.machine.caches {
            let level = |roofs: &Roofs| roofs.levels.iter().find(|level| level.level == cache.level).cloned();
            let name = |what: &str| format!("L{} {what}", cache.level);
            rows.push(row(&name("read"), "GB/s", &|roofs| Some(level(roofs)?.read_gb_s)));
            rows.push(row(&name("copy"), "GB/s", &|roofs| Some(level(roofs)?.copy_gb_s)));
            rows.push(row(&name("triad"), "GB/s", &|roofs| Some(level(roofs)?.triad_gb_s)));
        }
        rows.push(row("f32 multiply-add", "GFLOP/s", &|roofs| Some(roofs.f32_gflops)));
        rows.push(row("int8 multiply-add", "Gop/s", &|roofs| Some(roofs.int8_gops)));
        rows.push(row("ridge", "FLOP/B", &|roofs| Some(roofs.ridge)));
        let headings = ["roof", "unit"].map(str::to_owned).into_iter();
        let headings = headings.chain(sets.iter().map(|roofs| threads(roofs.threads))).collect();
        Table { title: "Roofs".to_owned(), headings, rows }
    }

    fn settings(&self) -> Table {
        let mut rows = Vec::new();
        for roofs in self.sets() {
            let figures = |spread: Spread| {
                [format!("{:.1}", spread.best), format!("{:.1}", spread.median), spread.runs.to_string()]
            };
            let moving = |name: &str, peak: Peak| {
                let setting = peak.setting;
                let how = [
                    setting.streams.to_string(),
                    if setting.prefetch == 0 { "-".to_owned() } else { format!("{} B", setting.prefetch) },
                    if setting.streaming_stores { "streaming" } else { "plain" }.to_owned(),
                    if setting.huge_pages { "huge" } else { "normal" }.to_owned(),
                    match setting.placement {
                        Placement::Packed => "pinned",
                        Placement::Spread => "pinned apart",
                        Placement::Free => "free",
                    }
                    .to_owned(),
                ];
                let name = [name.to_owned(), threads(roofs.threads)];
                name.into_iter().chain(how).chain(figures(peak.spread)).collect::<Vec<_>>()
            };
            rows.extend([
                moving("read", roofs.read),
                moving("copy", roofs.copy),
                moving("triad", roofs.triad),
            ]);
            for (name, spread) in [("f32", roofs.f32), ("int8", roofs.int8)] {
                let start = [name.to_owned(), threads(roofs.threads)].into_iter();
                let none = std::iter::repeat_n("-".to_owned(), 5);
                rows.push(start.chain(none).chain(figures(spread)).collect());
            }
        }
        let headings = [
            "roof",
            "threads",
            "streams",
            "prefetch",
            "stores",
            "pages",
            "placement",
            "best",
            "median",
            "runs",
        ];
        Table { title: "Settings that won".to_owned(), headings: headings.map(str::to_owned).to_vec(), rows }
    }
}

impl Report for Measured {
    fn text(&self) -> String {
        let notes = self.machine.notes.iter().map(|note| format!("note: {note}\n")).collect::<String>();
        let chart = draw(&chart(&self.machine), &self.canvas);
        [chart, self.roofs().text(), self.settings().text(), notes]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("\n")
    }

    fn tables(&self) -> Vec<Table> {
        vec![self.roofs(), self.settings()]
    }
}
