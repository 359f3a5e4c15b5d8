//! User-supplied kernel measurements, from profilers, benchmarks or the command line. There is one reader per tool; `layer-roofline-v1`
//! derives the figures.

mod criterion;
mod csv;
mod google;
mod likwid;
mod nsight;
mod rocprof;

use std::collections::BTreeMap;
use std::path::Path;

use crate::csv::{Csv, Mistake, Row};
use roofline_formulas::{layer_roofline, operation};
use roofline_machine::storage;
use roofline_render::chart::Point;
use roofline_render::format::{FLOP_PER_BYTE, GB_PER_S, GFLOP_PER_S, SECONDS, figure, percent};
use roofline_render::parse;
use roofline_render::report::{Better, Figure};
use roofline_render::vocabulary::Bound;

/// Maximum number of kernels in a file.
const MAX_KERNELS: usize = 10_000;

/// Known figures of a kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelMeasurement {
    /// Name of the kernel.
    pub name: String,
    /// Arithmetic intensity, in FLOP/byte.
    pub intensity: Option<f64>,
    /// Achieved performance, in GFLOP/s.
    pub gflop_s: Option<f64>,
    /// Achieved bandwidth, in GB/s.
    pub gb_s: Option<f64>,
    /// Time of a run, in s.
    pub seconds: Option<f64>,
    /// Relative variation between runs.
    pub noise: Option<f64>,
}

/// Counters of a tool; `None` if the tool did not count.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counters {
    flops: Option<f64>,
    bytes: Option<f64>,
    seconds: Option<f64>,
}

impl KernelMeasurement {
    /// Derives the figures from counters.
    fn from_counters(name: &str, counters: Counters) -> Result<KernelMeasurement, String> {
        let known = |value: Option<f64>| value.filter(|value| *value > 0.0);
        let (flops, bytes, seconds) = (known(counters.flops), known(counters.bytes), known(counters.seconds));
        let inputs = layer_roofline::Inputs {
            other_flops: flops.unwrap_or(0.0),
            other_bytes: bytes.unwrap_or(0.0),
            time: seconds.unwrap_or(1.0),
            ..layer_roofline::Inputs::new(1.0, 1.0)
        };
        let outputs = inputs.evaluate().map_err(|error| format!("{name}: {error}"))?;
        Ok(KernelMeasurement {
            name: name.to_owned(),
            intensity: flops.and(bytes).map(|_| outputs.arithmetic_intensity),
            gflop_s: flops.and(seconds).map(|_| outputs.achieved_compute),
            gb_s: bytes.and(seconds).map(|_| outputs.achieved_bandwidth),
            seconds,
            noise: None,
        })
    }

    /// Parses `NAME=0.25 [flop/B],12.3 [Gflop/s]`; units identify the figures, in any order.
    ///
    /// # Errors
    /// Describes the invalid part and the accepted form.
    pub fn parse(text: &str) -> Result<KernelMeasurement, String> {
        const FORM: &str = "expected NAME=FIGURES such as axpy=0.25 [flop/B],12.3 [Gflop/s]";
        let Some((name, figures)) = text.rsplit_once('=') else {
            return Err(format!("missing `=` in `{text}`; {FORM}"));
        };
        if name.trim().is_empty() {
            return Err(format!("missing kernel name in `{text}`; {FORM}"));
        }
        let mut own = KernelMeasurement { name: name.trim().to_owned(), ..KernelMeasurement::default() };
        for text in figures.split(',') {
            // A number without a unit would be ambiguous.
            let bare = text.trim().parse::<f64>().is_ok();
            let units = [("flop/B", 0), ("Gflop/s", 1), ("GB/s", 2), ("s", 3)];
            let found = units.iter().find_map(|(unit, at)| Some((parse::in_unit(text, unit).ok()?, at)));
            let Some((value, at)) = found.filter(|_| !bare) else {
                return Err(format!(
                    "invalid figure `{}`; expected a number in flop/B, Gflop/s, GB/s or s",
                    text.trim()
                ));
            };
            if !(value.is_finite() && value > 0.0) {
                return Err(format!("invalid figure `{}`; expected a positive number", text.trim()));
            }
            let fields = [&mut own.intensity, &mut own.gflop_s, &mut own.gb_s, &mut own.seconds];
            if let Some(field) = fields.into_iter().nth(*at)
                && field.replace(value).is_some()
            {
                return Err(format!("duplicate figure `{}`; expected at most one per unit", text.trim()));
            }
        }
        Ok(own)
    }

    /// Returns whether all figures are unknown.
    fn is_empty(&self) -> bool {
        let KernelMeasurement { name: _, intensity, gflop_s, gb_s, seconds, noise: _ } = self;
        [intensity, gflop_s, gb_s, seconds].iter().all(|figure| figure.is_none())
    }

    /// Fills unknown figures from another measurement of the kernel.
    pub fn fill(&mut self, other: &KernelMeasurement) {
        let KernelMeasurement { intensity, gflop_s, gb_s, seconds, noise, .. } = *other;
        self.intensity = self.intensity.or(intensity);
        self.gflop_s = self.gflop_s.or(gflop_s);
        self.gb_s = self.gb_s.or(gb_s);
        self.seconds = self.seconds.or(seconds);
        self.noise = self.noise.or(noise);
    }

    /// Returns the figure for comparing two runs: the time, or otherwise the performance or the bandwidth.
    pub fn figure(&self) -> Option<Figure> {
        let time = self.seconds.map(|value| ("seconds", SECONDS, Better::Lower, value));
        let speed = |name, unit, value: Option<f64>| value.map(|value| (name, unit, Better::Higher, value));
        let speed = speed("gflop_s", GFLOP_PER_S, self.gflop_s).or(speed("gb_s", GB_PER_S, self.gb_s));
        let (name, unit, better, value) = time.or(speed)?;
        Some(Figure {
            noise: self.noise,
            ..Figure::new(name, &self.name, unit, better, value).of(&self.name)
        })
    }

    /// Converts the kernel to a point under the roof with this index; `levels` determines its bound.
    pub fn point(&self, roof: Option<usize>, levels: Option<&Levels>) -> Point {
        let detail = |name: &str, unit: &str, value: Option<f64>| {
            value.map(|value| (name.to_owned(), format!("{} {unit}", figure(value))))
        };
        let details = [detail("bandwidth", GB_PER_S, self.gb_s), detail("time", SECONDS, self.seconds)];
        Point {
            name: self.name.clone(),
            group: "user kernels".to_owned(),
            intensity_flop_byte: self.intensity,
            performance_gflop_s: self.gflop_s,
            bound: levels.and_then(|levels| levels.bound(self)).unwrap_or_default(),
            roof,
            details: details.into_iter().flatten().collect(),
            ..Point::default()
        }
    }
}

/// Roofs of a device, by memory level.
#[derive(Clone, Debug, PartialEq)]
pub struct Levels {
    /// Name of the device.
    pub device: String,
    /// Memory levels with their bandwidth in GB/s: memory first, then the caches, L1 last.
    pub bandwidths: Vec<(String, f64)>,
    /// Copy bandwidth of the memory in GB/s, reads plus writes, if it was measured; may exceed the read bandwidth.
    pub copy_gb_s: Option<f64>,
    /// Compute roof in GFLOP/s.
    pub gflop_s: Option<f64>,
}

impl Levels {
    /// Describes a kernel relative to the roofs; `None` if its performance and bandwidth are unknown.
    pub fn sentence(&self, own: &KernelMeasurement) -> Option<String> {
        let Some((intensity, reached)) = own.intensity.zip(own.gflop_s) else {
            return self.bandwidth_sentence(own);
        };
        let (at, speed) = (figure(intensity), figure(reached));
        let head = format!("{}: {speed} {GFLOP_PER_S} at {at} {FLOP_PER_BYTE} on {}", own.name, self.device);
        let mut above: Option<&str> = None;
        for (name, bandwidth) in &self.bandwidths {
            let (attainable, bound) = self.attainable(intensity, *bandwidth)?;
            if reached > attainable {
                above = Some(name);
                continue;
            }
            return Some(match (above, bound) {
                (Some(above), _) => format!(
                    "{head}: above the {above} roof and below the {name} roof, so its data come from {name}"
                ),
                (None, Bound::Compute) => {
                    let share = percent(self.gflop_s.map(|peak| reached / peak));
                    format!("{head}: {share} of the compute roof (the binding one)")
                }
                (None, _) => {
                    let share = percent(Some(reached / attainable));
                    format!("{head}: {share} of the {name} roof (the binding one)")
                }
            });
        }
        Some(format!(
            "{head}: above every roof; check the counts of FLOP, bytes and time, or re-measure the roofs"
        ))
    }

    /// Describes a kernel of which only the bandwidth is known.
    fn bandwidth_sentence(&self, own: &KernelMeasurement) -> Option<String> {
        let reached = own.gb_s?;
        let head = format!("{}: {} {GB_PER_S} on {}", own.name, figure(reached), self.device);
        let under = self.bandwidths.iter().position(|(_, bandwidth)| reached <= *bandwidth);
        let Some((at, (name, bandwidth))) = under.and_then(|at| Some((at, self.bandwidths.get(at)?))) else {
            return Some(format!(
                "{head}: above the bandwidth of every level; check the counts of bytes and time, or re-measure the roofs"
            ));
        };
        let above = at.checked_sub(1).and_then(|before| self.bandwidths.get(before));
        // A copy kernel may exceed the read bandwidth without using a cache.
        if let (Some(copy), Some((above, _))) = (self.copy_gb_s, above)
            && at == 1
            && reached <= copy
        {
            let share = percent(Some(reached / copy));
            return Some(format!(
                "{head}: above the read bandwidth of {above}, {share} of its copy bandwidth: a copy kernel, or its data come from {name}"
            ));
        }
        Some(match above {
            Some((above, _)) => {
                format!(
                    "{head}: above the bandwidth of {above} and below that of {name}, so its data come from {name}"
                )
            }
            None => format!("{head}: {} of the {name} bandwidth", percent(Some(reached / bandwidth))),
        })
    }

    /// Returns the bound of a kernel with data from memory; `None` if its intensity is unknown.
    fn bound(&self, own: &KernelMeasurement) -> Option<Bound> {
        let (_, bandwidth) = self.bandwidths.first()?;
        Some(self.attainable(own.intensity?, *bandwidth)?.1)
    }

    /// Returns the attainable performance in GFLOP/s at an intensity, and the bound.
    fn attainable(&self, intensity: f64, bandwidth: f64) -> Option<(f64, Bound)> {
        /// Upper end of the contract's domain.
        const MAX_PEAK: f64 = 1e12;
        let inputs = operation::Inputs {
            other_flops: intensity,
            other_bytes: 1.0,
            bandwidth,
            compute: self.gflop_s.unwrap_or(MAX_PEAK),
            ..operation::Inputs::new(1.0, 1.0)
        };
        let outputs = inputs.evaluate().ok()?;
        Some((outputs.attainable, outputs.bound.into()))
    }
}

/// Reads the kernels of a file, or of the output directory of criterion.
///
/// # Errors
/// Returns the path and the problem if the file is unreadable, invalid or without figures.
pub fn read(path: &Path) -> Result<Vec<KernelMeasurement>, String> {
    if path.is_dir() {
        return check(path, criterion::read(path));
    }
    let text = storage::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    read_text(path, &text)
}

/// Parses the kernels in the text of a file; `path` is for messages only.
///
/// # Errors
/// Returns the path and the problem if the text is invalid or without figures.
pub fn read_text(path: &Path, text: &str) -> Result<Vec<KernelMeasurement>, String> {
    check(path, parse(text))
}

/// Adds the path to errors and rejects files without figures. Line 0 denotes the whole file.
fn check(
    path: &Path,
    found: Result<Vec<KernelMeasurement>, Mistake>,
) -> Result<Vec<KernelMeasurement>, String> {
    let found = match found {
        Ok(found) => found,
        Err(Mistake { line: 0, what }) => return Err(format!("{}: {what}", path.display())),
        Err(mistake) => return Err(format!("{}:{mistake}", path.display())),
    };
    match found.len() {
        0 => Err(format!("{}: empty; expected at least one kernel", path.display())),
        _ if found.iter().all(KernelMeasurement::is_empty) => Err(format!(
            "{}: missing figures; expected a time, bytes or operations for at least one kernel (see `roofline plot --help`)",
            path.display()
        )),
        count if count > MAX_KERNELS => {
            Err(format!("{}: too many kernels ({count}); expected at most {MAX_KERNELS}", path.display()))
        }
        _ => Ok(found),
    }
}

/// Detects the format of a text and parses its kernels.
///
/// # Errors
/// Returns the line and the problem.
pub fn parse(text: &str) -> Result<Vec<KernelMeasurement>, Mistake> {
    if text.trim_start().starts_with('{') {
        return google::parse(text);
    }
    if text.contains(likwid::TITLE) {
        return likwid::parse(text);
    }
    // Profilers and the profiled program print other lines before and within the table. These are blanked, so that line numbers stay
    // valid.
    let quoted = text.lines().any(|line| line.starts_with("\"ID\","));
    let foreign = |line: &str| line.starts_with("==") || (quoted && !line.starts_with('"'));
    let table: Vec<&str> = text.lines().map(|line| if foreign(line) { "" } else { line }).collect();
    let table = Csv::read(&table.join("\n"))?;
    if table.headings.fields.is_empty() {
        return Err(Mistake {
            line: 1,
            what: "empty file; expected the output of a profiler or a CSV table".into(),
        });
    }
    if table.has(nsight::KERNEL) {
        nsight::parse(&table)
    } else if rocprof::KERNEL.iter().any(|name| table.has(name)) {
        rocprof::parse(&table)
    } else {
        csv::parse(&table)
    }
}

/// Parses a number in a table; `None` if the column or the field is missing.
fn number_in(table: &Csv, row: &Row, name: &str) -> Result<Option<f64>, Mistake> {
    table.field(row, name).map(|text| number(text, name, row.line)).transpose()
}

/// Parses a finite non-negative number with optional thousands separators.
fn number(text: &str, name: &str, line: usize) -> Result<f64, Mistake> {
    let plain = if text.contains(',') { without_commas(text) } else { Some(text.to_owned()) };
    let value = plain.and_then(|text| text.parse::<f64>().ok());
    value.filter(|value| value.is_finite() && *value >= 0.0).ok_or_else(|| Mistake {
        line,
        what: format!(
            "invalid `{name}` {text:?}; expected a non-negative number with a decimal point and optional commas between thousands"
        ),
    })
}

/// Removes thousands separators. Returns `None` if a comma could be a decimal separator, as in some locales.
fn without_commas(text: &str) -> Option<String> {
    let (integer, decimals) = text.split_once('.').unwrap_or((text, ""));
    let mut groups = integer.split(',');
    let digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let first = groups.next().filter(|first| (1..=3).contains(&first.len()) && digits(first));
    let valid = first.is_some() && groups.all(|group| group.len() == 3 && digits(group));
    (valid && !decimals.contains(',')).then(|| text.replace(',', ""))
}

/// Sums of counters by kernel, in order of first occurrence.
#[derive(Default)]
struct Sums {
    order: Vec<String>,
    counts: BTreeMap<String, Counters>,
}

impl Sums {
    fn add(&mut self, name: &str, more: Counters) {
        if !self.counts.contains_key(name) {
            self.order.push(name.to_owned());
        }
        let sum = self.counts.entry(name.to_owned()).or_default();
        let plus = |sum: &mut Option<f64>, more: Option<f64>| {
            if let Some(more) = more {
                *sum = Some(sum.unwrap_or(0.0) + more);
            }
        };
        plus(&mut sum.flops, more.flops);
        plus(&mut sum.bytes, more.bytes);
        plus(&mut sum.seconds, more.seconds);
    }

    fn kernels(&self) -> Result<Vec<KernelMeasurement>, Mistake> {
        let own = |name: &String| {
            KernelMeasurement::from_counters(name, self.counts.get(name).copied().unwrap_or_default())
        };
        self.order.iter().map(own).collect::<Result<_, _>>().map_err(|what| Mistake { line: 0, what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../roofline/tests/fixtures/points");

    fn fixture(name: &str) -> Vec<KernelMeasurement> {
        read(&Path::new(FIXTURES).join(name)).unwrap()
    }

    fn near(found: Option<f64>, expected: f64) -> bool {
        found.is_some_and(|found| (found / expected - 1.0).abs() < 1e-9)
    }

    #[test]
    fn units_identify_the_figures_of_a_kernel() {
        let own = KernelMeasurement::parse("my kernel=0.25 [flop/B],12.3 [Gflop/s]").unwrap();
        assert_eq!((own.name.as_str(), own.intensity, own.gflop_s), ("my kernel", Some(0.25), Some(12.3)));
        let own = KernelMeasurement::parse("a=b=12300 Mflop/s, 1 GB/s").unwrap();
        assert_eq!((own.name.as_str(), own.gflop_s, own.gb_s), ("a=b", Some(12.3), Some(1.0)));
        for (text, expected) in [
            ("axpy", "missing `=`"),
            ("=1 [GB/s]", "missing kernel name"),
            ("a=1", "expected a number in flop/B"),
            ("a=1 [token/s]", "expected a number in flop/B"),
            ("a=0 [GB/s]", "expected a positive number"),
            ("a=1 [GB/s],2 [GB/s]", "duplicate figure"),
        ] {
            let error = KernelMeasurement::parse(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn the_output_of_every_tool_is_parsed() {
        let own = fixture("own.csv");
        assert_eq!(
            own.iter().map(|own| own.name.as_str()).collect::<Vec<_>>(),
            ["axpy", "stencil, 7 points"]
        );
        assert!(
            near(own[0].intensity, 2.0 / 12.0) && near(own[0].gflop_s, 4.0) && near(own[0].gb_s, 24.0),
            "{own:?}"
        );
        assert_eq!((own[1].intensity, own[1].gflop_s), (Some(0.5), Some(11.0)));

        let likwid = fixture("likwid-bench.txt");
        assert_eq!(likwid.len(), 2);
        assert_eq!(likwid[0].name, "triad_avx");
        assert!(near(likwid[0].intensity, 2_559_967_232.0 / 40_959_475_712.0), "{likwid:?}");
        assert!(near(likwid[0].gb_s, 40.959_475_712 / 2.180_656), "{likwid:?}");
        assert_eq!(
            (likwid[1].name.as_str(), likwid[1].intensity, likwid[1].gflop_s),
            ("load_avx", None, None)
        );

        // Rates refer to 558 µs of CPU time, while the wall time is 910 µs. Failed runs and fitted complexities are skipped.
        let google = fixture("google-benchmark.json");
        assert_eq!(
            google.iter().map(|own| own.name.as_str()).collect::<Vec<_>>(),
            ["BM_axpy/1048576", "BM_cx/8"]
        );
        let (bytes, time) = (12.0 * 1_048_576.0, 909.728_407_691_983_1e-6);
        assert!(near(google[0].seconds, time) && near(google[0].gb_s, bytes / time / 1e9), "{google:?}");
        assert!(near(google[0].gflop_s, bytes / 6.0 / time / 1e9), "{google:?}");
        assert!(near(google[0].noise, 95.490_688_583_147_46 / 909.728_407_691_983_1), "{google:?}");
        assert_eq!(google[1].intensity, None);

        for name in ["nsight-compute.csv", "nsight-compute-raw.csv"] {
            let nsight = fixture(name);
            assert_eq!(nsight.len(), 2, "{name}");
            assert_eq!(nsight[0].name, "axpy(int, float, const float *, float *)");
            assert!(near(nsight[0].gb_s, 2.0 * 12.582_912e6 / 32e-6 / 1e9), "{name}: {nsight:?}");
            assert!(near(nsight[0].intensity, 2.0 * 1_048_576.0 / 12.582_912e6), "{name}: {nsight:?}");
        }

        // Separate bytes for reads and writes, instructions per multiprocessor, and output of the profiled program.
        let text = "hello\n==PROF== Connected\n\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\
            \"0\",\"k\",\"dram__bytes_read.sum\",\"Kbyte\",\"2,000.5\"\n\
            \"0\",\"k\",\"dram__bytes_write.sum\",\"byte\",\"500\"\nbye, \"k\"\n\
            \"0\",\"k\",\"dram__bytes.sum.per_second\",\"Gbyte/s\",\"9\"\n\
            \"0\",\"k\",\"gpu__time_duration.sum\",\"usecond\",\"10\"\n\
            \"0\",\"k\",\"sm__sass_thread_inst_executed_op_dfma_pred_on.sum\",\"\",\"2001000\"\n";
        let nsight = parse(text).unwrap();
        assert!(near(nsight[0].intensity, 2.0) && near(nsight[0].gb_s, 200.1), "{nsight:?}");

        let rocprof = fixture("rocprof-compute.csv");
        assert_eq!(rocprof.len(), 2);
        assert!(near(rocprof[0].gflop_s, 64.0 * 2.0 * 32_768.0 / 10e-6 / 1e9), "{rocprof:?}");
        assert!(near(rocprof[0].gb_s, (64.0 * 131_072.0 + 64.0 * 65_536.0) / 10e-6 / 1e9), "{rocprof:?}");
        assert!(near(rocprof[1].gflop_s, 512.0 * 1e6 / 20e-6 / 1e9), "{rocprof:?}");

        let criterion = fixture("criterion");
        assert_eq!(
            criterion.iter().map(|own| own.name.as_str()).collect::<Vec<_>>(),
            ["axpy/1048576", "parse", "scan/64"]
        );
        assert!(near(criterion[0].seconds, 524_288e-9) && near(criterion[0].gb_s, 24.0), "{criterion:?}");
        assert!(criterion[1].gb_s.is_none() && criterion[1].noise.is_some(), "{criterion:?}");
        assert!(near(criterion[2].gb_s, 4.096), "{criterion:?}");
    }

    #[test]
    fn parse_errors_state_the_line() {
        for (text, line, expected) in [
            ("", 1, "empty file"),
            (
                "name,speed\na,1\n",
                1,
                "expected the output of a profiler, or columns `name` and at least one of flop_per_byte, gflop_s, gb_s, seconds, flops, bytes",
            ),
            ("name,gflop_s\na,fast\n", 2, "invalid `gflop_s` \"fast\""),
            ("name,gflop_s\n,1\n", 2, "missing name"),
            ("{\"benchmarks\": 1}", 1, "invalid output of Google Benchmark"),
            ("{}", 1, "invalid output of Google Benchmark"),
            ("Kernel Name,Metric Name,Metric Unit,Metric Value\na,dram__bytes.sum,furlong,1\n", 2, "furlong"),
            ("name,gb_s\na,\"9,00\"\n", 2, "invalid `gb_s` \"9,00\""),
            ("name,gb_s\na,\"1.234,5\"\n", 2, "a decimal point"),
        ] {
            let mistake = parse(text).unwrap_err();
            assert!(mistake.line == line && mistake.what.contains(expected), "{text}: {mistake}");
        }
    }

    #[test]
    fn sentences_state_the_origin_of_the_data() {
        let bandwidths = [("memory", 40.0), ("L3", 150.0), ("L2", 200.0)];
        let levels = Levels {
            device: "this".into(),
            bandwidths: bandwidths.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            copy_gb_s: Some(55.0),
            gflop_s: Some(200.0),
        };
        let sentence = |text: &str| levels.sentence(&KernelMeasurement::parse(text).unwrap());
        let check = |text: &str, end: &str| {
            let found = sentence(text).unwrap();
            assert!(found.ends_with(end), "{found}");
        };
        check(
            "a=0.25 [flop/B],12.3 [Gflop/s]",
            "above the memory roof and below the L3 roof, so its data come from L3",
        );
        check(
            "a=0.25 [flop/B],40 [Gflop/s]",
            "above the L3 roof and below the L2 roof, so its data come from L2",
        );
        check("a=0.25 [flop/B],5 [Gflop/s]", "50 % of the memory roof (the binding one)");
        check("a=100 [flop/B],150 [Gflop/s]", "75 % of the compute roof (the binding one)");
        check("a=100 [flop/B],250 [Gflop/s]", "or re-measure the roofs");
        check("a=12 [GB/s]", "a: 12.0 GB/s on this: 30 % of the memory bandwidth");
        check(
            "a=44 [GB/s]",
            "above the read bandwidth of memory, 80 % of its copy bandwidth: a copy kernel, or its data come from L3",
        );
        check("a=56 [GB/s]", "above the bandwidth of memory and below that of L3, so its data come from L3");
        check("a=160 [GB/s]", "above the bandwidth of L3 and below that of L2, so its data come from L2");
        check("a=400 [GB/s]", "or re-measure the roofs");
        assert_eq!(sentence("a=12 [s]"), None);
        let point = |text: &str| KernelMeasurement::parse(text).unwrap().point(None, Some(&levels)).bound;
        assert_eq!(
            ["a=1 [flop/B]", "a=9 [flop/B]", "a=1 [s]"].map(point),
            [Bound::Memory, Bound::Compute, Bound::Undefined]
        );
    }
}
