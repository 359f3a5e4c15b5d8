//! Report of a machine: figures, tables and a chart of its roofs.

use super::{Machine, Peak, Placement, Roofs, RunPolicy, Spread, date, sets};
use roofline_kernels::FmaType;
use roofline_render::chart::sweep::Sweep;
use roofline_render::chart::terminal::{Canvas, draw};
use roofline_render::chart::{Chart, Roof};
use roofline_render::format::{FLOP_PER_BYTE, GB_PER_S, GFLOP_PER_S, GHZ, GOP_PER_S, size, threads};
use roofline_render::report::{Better, Figure, Report, Saved, Table, Text};

impl Report for Machine {
    const SCHEMA: &'static str = "roofline.machine/1";
    const FIGURES: &'static [&'static str] = &[
        "read_gb_s",
        "copy_gb_s",
        "triad_gb_s",
        "write_gb_s",
        "f64_gflops",
        "f32_gflops",
        "f16_gflops",
        "bf16_gflops",
        "int8_gops",
        "int4_gops",
        "clock_ghz",
        "ridge",
        "single_read_gb_s",
        "single_copy_gb_s",
        "single_triad_gb_s",
        "single_write_gb_s",
        "single_f64_gflops",
        "single_f32_gflops",
        "single_f16_gflops",
        "single_bf16_gflops",
        "single_int8_gops",
        "single_int4_gops",
        "single_clock_ghz",
        "single_ridge",
    ];
    const TEXTS: &'static [&'static str] = &["cpu", "isa"];

    fn unit(name: &str) -> &'static str {
        match name.trim_start_matches("single_") {
            "f64_gflops" | "f32_gflops" | "f16_gflops" | "bf16_gflops" => GFLOP_PER_S,
            "clock_ghz" => GHZ,
            "int8_gops" | "int4_gops" => GOP_PER_S,
            "ridge" => FLOP_PER_BYTE,
            _ => GB_PER_S,
        }
    }

    fn text(&self, canvas: &Canvas) -> String {
        let notes = self.all_notes().map(|note| format!("note: {note}\n")).collect::<String>();
        let chart = draw(&self.roofline(), canvas);
        let sweep = self.sweep().map_or(String::new(), |sweep| sweep.text(canvas));
        // Columns to drop on narrow terminals.
        let optional = ["runs", "median", "stores", "pages"];
        let tables =
            self.tables().iter().map(|table| table.render_within(canvas, &optional)).collect::<Vec<_>>();
        let parts = [chart, sweep, tables.join("\n"), notes];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }

    fn tables(&self) -> Vec<Table> {
        let tables = [self.roofs(), self.settings(), self.instructions(), self.node_reads(), self.details()];
        tables.into_iter().filter(|table| !table.rows.is_empty()).collect()
    }

    fn figures(&self) -> Vec<Figure> {
        // With one thread both measurements are the same; compare only one of them.
        let better = if self.threads == 1 { Better::Neither } else { Better::Higher };
        self.single
            .figures("single_", better)
            .into_iter()
            .chain(self.all.figures("", Better::Higher))
            .collect()
    }

    fn texts(&self) -> Vec<Text> {
        vec![Text::new("cpu", &self.cpu), Text::new("isa", &self.isa)]
    }

    fn setting(&self) -> Vec<(&'static str, String)> {
        vec![
            ("the processor", self.cpu.clone()),
            ("the instruction set", self.isa.clone()),
            ("the number of threads", self.threads.to_string()),
            ("the size of the buffers", self.size.to_string()),
            ("--quick", self.quick.to_string()),
            ("the types, warm-up runs or steps", self.effort.arguments().join(" ")),
        ]
    }

    fn chart(&self) -> Option<Chart> {
        Some(self.roofline())
    }

    fn sweep(&self) -> Option<Sweep> {
        let line = |roofs: &&Roofs| {
            let points = roofs.sweep.iter().map(|set| (set.bytes, set.read_gb_s)).collect();
            (threads(roofs.threads), points)
        };
        let mut sets = sets(&self.single, &self.all);
        sets.reverse();
        let lines = sets.iter().filter(|roofs| !roofs.sweep.is_empty()).map(line).collect::<Vec<_>>();
        let title = "Read bandwidth by working set per thread".to_owned();
        (!lines.is_empty()).then_some(Sweep { title, unit: GB_PER_S, lines })
    }

    fn notes(&self) -> Vec<String> {
        self.all_notes().chain(self.roof_warnings()).collect()
    }
}

impl Saved for Machine {
    fn validate(&self) -> Result<(), String> {
        for (name, roofs) in [("single", &self.single), ("all", &self.all)] {
            let mut figures = roofs.figures("", Better::Higher).into_iter();
            if let Some(invalid) = figures.find(|figure| !(figure.value.is_finite() && figure.value > 0.0)) {
                return Err(format!(
                    "`{name}.{}`: expected a number above zero, found {}",
                    invalid.name, invalid.value
                ));
            }
        }
        let sweeps = [&self.single.sweep, &self.all.sweep].into_iter().flatten().map(|set| set.read_gb_s);
        let nodes = self.nodes.iter().map(|read| read.read_gb_s);
        if let Some(invalid) = sweeps.chain(nodes).find(|value| !(value.is_finite() && *value > 0.0)) {
            return Err(format!("`read_gb_s`: expected a number above zero, found {invalid}"));
        }
        if let Some(date) = self.date.as_ref().filter(|date| date::parse(date).is_none()) {
            return Err(format!("`date`: invalid date {date:?}; expected one like 2026-11-17"));
        }
        let RunPolicy { warm_up, steps, .. } = self.effort;
        let max = RunPolicy::MAX_RUNS;
        if warm_up > max || steps.is_some_and(|steps| !(1..=max).contains(&steps)) {
            return Err(format!("`effort`: expected at most {max} warm-up runs and 1 to {max} steps"));
        }
        if let Some(load) = self.load.filter(|load| !(0.0..=1.0).contains(load)) {
            return Err(format!("`load`: expected a number from 0 to 1, found {load}"));
        }
        Ok(())
    }
}

/// Optional element types, with the names of their figures.
const OPTIONAL_TYPES: [(FmaType, &str); 3] =
    [(FmaType::F64, "f64_gflops"), (FmaType::F16, "f16_gflops"), (FmaType::Bf16, "bf16_gflops")];

impl Roofs {
    /// Returns all figures, with prefixed names.
    fn figures(&self, prefix: &str, better: Better) -> Vec<Figure> {
        let threads = threads(self.threads);
        let one = |name: &str, label: &str, unit, better, value, spread: Option<Spread>| {
            let figure =
                Figure::new(format!("{prefix}{name}"), format!("{label}, {threads}"), unit, better, value);
            spread.map_or(figure.clone(), |spread| figure.between(spread.best, spread.median))
        };
        let moved =
            |name: &str, label: &str, value, spread| one(name, label, GB_PER_S, better, value, spread);
        let mut figures = vec![
            moved("read_gb_s", "memory read", self.read_gb_s, Some(self.read.spread)),
            moved("copy_gb_s", "memory copy", self.copy_gb_s, Some(self.copy.spread)),
            moved("triad_gb_s", "memory triad", self.triad_gb_s, Some(self.triad.spread)),
        ];
        let write = self.write.map(|peak| peak.spread);
        figures.extend(self.write_gb_s.map(|value| moved("write_gb_s", "memory write", value, write)));
        for level in &self.levels {
            let moved = |kernel: &str, value, spread| {
                let (name, label) =
                    (format!("l{}_{kernel}_gb_s", level.level), format!("L{} {kernel}", level.level));
                moved(&name, &label, value, spread)
            };
            figures.extend([
                moved("read", level.read_gb_s, level.read),
                moved("copy", level.copy_gb_s, level.copy),
                moved("triad", level.triad_gb_s, level.triad),
            ]);
        }
        for (numbers, name) in OPTIONAL_TYPES {
            let figure = self.computed(numbers).map(|found| {
                let label = format!("{numbers} multiply-add");
                one(name, &label, GFLOP_PER_S, better, found.gop_s, Some(found.spread))
            });
            figures.extend(figure);
        }
        let (f32, int8) = (Some(self.f32), Some(self.int8));
        figures.extend([
            one("f32_gflops", "f32 multiply-add", GFLOP_PER_S, better, self.f32_gflops, f32),
            one("int8_gops", "int8 multiply-add", GOP_PER_S, better, self.int8_gops, int8),
        ]);
        figures.extend(
            self.int4_gops
                .map(|roof| one("int4_gops", "int4 multiply-add", GOP_PER_S, better, roof, self.int4)),
        );
        figures
            .extend(self.clock_ghz.map(|clock| one("clock_ghz", "clock", GHZ, Better::Neither, clock, None)));
        figures.push(one("ridge", "ridge", FLOP_PER_BYTE, Better::Neither, self.ridge, None));
        figures
    }
}

impl Machine {
    fn roofs(&self) -> Table {
        let sets = sets(&self.single, &self.all);
        let figures: Vec<Vec<Figure>> = sets.iter().map(|roofs| roofs.figures("", Better::Higher)).collect();
        let rows = self.all.figures("", Better::Higher).into_iter().map(|figure| {
            let label = figure.label.rsplit_once(',').map_or(figure.label.as_str(), |(label, _)| label);
            let values = figures.iter().map(|set| set.iter().find(|other| other.name == figure.name));
            let cells =
                values.map(|found| found.map_or("-".to_owned(), |found| format!("{:.1}", found.value)));
            [label.to_owned(), figure.unit.to_string()].into_iter().chain(cells).collect()
        });
        let threads: Vec<String> = sets.iter().map(|roofs| threads(roofs.threads)).collect();
        let headings: Vec<&str> =
            ["roof", "unit"].into_iter().chain(threads.iter().map(String::as_str)).collect();
        Table::new("Roofs", &headings, rows)
    }

    fn settings(&self) -> Table {
        let mut rows = Vec::new();
        for roofs in sets(&self.single, &self.all) {
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
            rows.extend(roofs.write.map(|peak| moving("write", peak)));
            // Newer measurements have a separate table for arithmetic.
            for (name, spread) in roofs.spreads().skip(3).filter(|_| roofs.arithmetic.is_empty()) {
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
        Table::new("Fastest settings", &headings, rows)
    }

    /// Instruction that reached each compute roof.
    fn instructions(&self) -> Table {
        let sets = sets(&self.single, &self.all);
        let rows = sets.iter().flat_map(|roofs| {
            roofs.arithmetic.iter().map(|one| {
                let (name, instruction) = (one.numbers.name().to_owned(), one.instruction.clone());
                let (best, median) = (format!("{:.1}", one.spread.best), format!("{:.1}", one.spread.median));
                vec![name, threads(roofs.threads), instruction, best, median, one.spread.runs.to_string()]
            })
        });
        let headings = ["roof", "threads", "instruction", "best", "median", "runs"];
        Table::new("Fastest instructions", &headings, rows)
    }

    /// Read bandwidth between NUMA nodes: rows are CPUs, columns are memory.
    fn node_reads(&self) -> Table {
        let mut memories: Vec<usize> = self.nodes.iter().map(|read| read.memory).collect();
        let mut processors: Vec<usize> = self.nodes.iter().map(|read| read.processors).collect();
        for numbers in [&mut memories, &mut processors] {
            numbers.sort_unstable();
            numbers.dedup();
        }
        let rows = processors.iter().map(|processors| {
            let read = |memory: &usize| {
                let found =
                    self.nodes.iter().find(|read| (read.processors, read.memory) == (*processors, *memory));
                found.map_or("-".to_owned(), |read| format!("{:.1}", read.read_gb_s))
            };
            std::iter::once(format!("node {processors}")).chain(memories.iter().map(read)).collect()
        });
        let names: Vec<String> = memories.iter().map(|memory| format!("memory of node {memory}")).collect();
        let headings: Vec<&str> =
            std::iter::once("CPUs of").chain(names.iter().map(String::as_str)).collect();
        Table::new("Read bandwidth between NUMA nodes, GB/s", &headings, rows)
    }

    /// Energy, reported clocks and roofs of one thread per core.
    fn details(&self) -> Table {
        let mut rows = Vec::new();
        let mut row = |property: &str, value: f64, unit: &str| {
            rows.push(vec![property.to_owned(), unit.to_owned(), roofline_render::format::figure(value)]);
        };
        if let Some(one) = self.without_smt {
            let threads = format!("one thread per core, {}", threads(one.threads));
            row(&format!("memory read, {threads}"), one.read_gb_s, GB_PER_S);
            row(&format!("f32 multiply-add, {threads}"), one.f32_gflops, GFLOP_PER_S);
        }
        for roofs in sets(&self.single, &self.all) {
            if let Some(clock) = roofs.reported_clock_ghz {
                row(&format!("clock reported by the system, {}", threads(roofs.threads)), clock, GHZ);
            }
        }
        if let Some(energy) = self.energy {
            row("energy per byte read from memory", energy.read_nj_byte, "nJ");
            row("energy per f32 operation", energy.f32_nj_flop, "nJ");
            row("power while reading memory", energy.read_watts, "W");
            row("power during f32 arithmetic", energy.f32_watts, "W");
        }
        Table::new("Other measurements", &["property", "unit", "value"], rows)
    }

    fn topology_note(&self) -> Option<String> {
        let topology = self.topology.as_ref()?;
        let count = |number: usize, noun: &str| {
            if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
        };
        let smt = match topology.threads_per_core {
            0 | 1 => "no SMT".to_owned(),
            threads => format!("{threads} threads per core"),
        };
        let (cores, sockets) = (count(topology.cores, "core"), count(topology.sockets, "socket"));
        Some(format!("topology: {sockets}, {cores}, {smt}, {}", count(topology.nodes, "NUMA node")))
    }

    /// Chart of the roofs without points.
    fn roofline(&self) -> Chart {
        let roofs = |roofs: &Roofs| {
            let group = threads(roofs.threads);
            let memory = Roof {
                name: "memory, f32".to_owned(),
                group: group.clone(),
                bandwidth_gb_s: Some(roofs.read_gb_s),
                compute_gflop_s: Some(roofs.f32_gflops),
                curve: Vec::new(),
            };
            let integers = [("int8", Some(roofs.int8_gops)), ("int4", roofs.int4_gops)];
            let integers = integers.into_iter().filter_map(|(name, roof)| {
                Some(Roof { name: format!("memory, {name}"), compute_gflop_s: Some(roof?), ..memory.clone() })
            });
            let more = OPTIONAL_TYPES.into_iter().filter_map(|(numbers, _)| {
                let compute = roofs.computed(numbers)?.gop_s;
                let name = format!("memory, {numbers}");
                Some(Roof { name, compute_gflop_s: Some(compute), ..memory.clone() })
            });
            let integers: Vec<Roof> = integers.chain(more).collect();
            let levels = roofs.levels.iter().rev().map(|level| Roof {
                name: format!("L{}, read", level.level),
                group: group.clone(),
                bandwidth_gb_s: Some(level.read_gb_s),
                compute_gflop_s: None,
                curve: Vec::new(),
            });
            std::iter::once(memory).chain(integers).chain(levels).collect::<Vec<_>>()
        };
        let mut all = roofs(&self.all);
        if self.threads > 1 {
            all.extend(roofs(&self.single).into_iter().take(1));
        }
        Chart { title: self.cpu.clone(), subtitle: self.subtitle(), roofs: all, points: Vec::new() }
    }

    /// Date, restrictions, topology and the notes of the measurement.
    fn all_notes(&self) -> impl Iterator<Item = String> {
        let date = self.date.iter().map(|date| match self.load {
            Some(load) => format!("measured on {date} at {:.0} % CPU load by other processes", 100.0 * load),
            None => format!("measured on {date}"),
        });
        let effort = (!self.effort.is_default()).then(|| {
            format!("measured with {}; the result is not cached", self.effort.arguments().join(" "))
        });
        date.chain(effort).chain(self.topology_note()).chain(self.notes.iter().cloned())
    }

    fn subtitle(&self) -> String {
        let caches = self.caches.iter().map(|cache| format!("L{} {}", cache.level, size(cache.bytes)));
        let parts = [self.isa.clone(), threads(self.threads)].into_iter().chain(caches);
        parts.chain([format!("buffers {}", size(self.size))]).collect::<Vec<_>>().join(", ")
    }
}
