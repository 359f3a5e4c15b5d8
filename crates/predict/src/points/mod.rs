//! Kernels of somebody's own: what other tools measured of them, or their author says. One reader for each tool; what its
//! figures come to is the business of `layer-roofline-v1`.

mod criterion;
mod google;
mod likwid;
mod nsight;
mod own;
mod rocprof;

use std::collections::BTreeMap;
use std::path::Path;

use crate::csv::{Csv, Mistake, Row};
use roofline_formulas::{layer_roofline, operation};
use roofline_machine::document;
use roofline_render::chart::Point;
use roofline_render::number::{FLOP_PER_BYTE, GB_PER_S, GFLOP_PER_S, SECONDS, figure, percent};
use roofline_render::report::{Better, Figure};
use roofline_render::word::Bound;
use roofline_render::written;

/// More than anyone could tell apart.
const MOST: usize = 10_000;

/// A kernel, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Own {
    /// Its name.
    pub name: String,
    /// Operations for each byte, in FLOP/byte.
    pub intensity: Option<f64>,
    /// What it reached, in GFLOP/s.
    pub gflop_s: Option<f64>,
    /// The bytes it moved a second, in GB/s.
    pub gb_s: Option<f64>,
    /// Seconds of one run.
    pub seconds: Option<f64>,
    /// How far its runs lie apart, as a share.
    pub noise: Option<f64>,
}

/// What a tool counted of a kernel; what it did not count is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counted {
    flops: Option<f64>,
    bytes: Option<f64>,
    seconds: Option<f64>,
}

impl Own {
    /// What follows from counts.
    fn counted(name: &str, counted: Counted) -> Result<Own, String> {
        let known = |value: Option<f64>| value.filter(|value| *value > 0.0);
        let (flops, bytes, seconds) = (known(counted.flops), known(counted.bytes), known(counted.seconds));
        let inputs = layer_roofline::Inputs {
            other_flops: flops.unwrap_or(0.0),
            other_bytes: bytes.unwrap_or(0.0),
            time: seconds.unwrap_or(1.0),
            ..layer_roofline::Inputs::new(1.0, 1.0)
        };
        let outputs = inputs.evaluate().map_err(|error| format!("{name}: {error}"))?;
        Ok(Own {
            name: name.to_owned(),
            intensity: flops.and(bytes).map(|_| outputs.arithmetic_intensity),
            gflop_s: flops.and(seconds).map(|_| outputs.achieved_compute),
            gb_s: bytes.and(seconds).map(|_| outputs.achieved_bandwidth),
            seconds,
            noise: None,
        })
    }

    /// A kernel as it is written by hand: `NAME=0.25 [flop/B],12.3 [Gflop/s]`, with figures in any order, each told by its unit.
    pub fn written(text: &str) -> Result<Own, String> {
        const HOW: &str = "write NAME=0.25 [flop/B],12.3 [Gflop/s]";
        let Some((name, figures)) = text.rsplit_once('=') else {
            return Err(format!("`{text}` has no `=`; {HOW}"));
        };
        if name.trim().is_empty() {
            return Err(format!("`{text}` names no kernel; {HOW}"));
        }
        let mut own = Own { name: name.trim().to_owned(), ..Own::default() };
        for text in figures.split(',') {
            // A number alone would be taken for any of them.
            let bare = text.trim().parse::<f64>().is_ok();
            let units = [("flop/B", 0), ("Gflop/s", 1), ("GB/s", 2), ("s", 3)];
            let found = units.iter().find_map(|(unit, at)| Some((written::in_unit(text, unit).ok()?, at)));
            let Some((value, at)) = found.filter(|_| !bare) else {
                return Err(format!("`{}` is no figure in flop/B, Gflop/s, GB/s or s; {HOW}", text.trim()));
            };
            if !(value.is_finite() && value > 0.0) {
                return Err(format!("`{}` must be above zero", text.trim()));
            }
            let place = [&mut own.intensity, &mut own.gflop_s, &mut own.gb_s, &mut own.seconds];
            if let Some(place) = place.into_iter().nth(*at)
                && place.replace(value).is_some()
            {
                return Err(format!("`{text}` is there twice; {HOW}"));
            }
        }
        Ok(own)
    }

    /// Whether nothing but its name is known.
    fn is_empty(&self) -> bool {
        let Own { name: _, intensity, gflop_s, gb_s, seconds, noise: _ } = self;
        [intensity, gflop_s, gb_s, seconds].iter().all(|figure| figure.is_none())
    }

    /// What this one does not say, from another of the same name.
    pub fn fill(&mut self, other: &Own) {
        let Own { intensity, gflop_s, gb_s, seconds, noise, .. } = *other;
        self.intensity = self.intensity.or(intensity);
        self.gflop_s = self.gflop_s.or(gflop_s);
        self.gb_s = self.gb_s.or(gb_s);
        self.seconds = self.seconds.or(seconds);
        self.noise = self.noise.or(noise);
    }

    /// The figure that two runs are compared by: the time, or else a speed.
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

    /// Its place on a chart, under the roof at this position, on the side of these roofs' ridge that it is on.
    pub fn point(&self, roof: Option<usize>, levels: Option<&Levels>) -> Point {
        let detail = |name: &str, unit: &str, value: Option<f64>| {
            value.map(|value| (name.to_owned(), format!("{} {unit}", figure(value))))
        };
        let details = [detail("bandwidth", GB_PER_S, self.gb_s), detail("time", SECONDS, self.seconds)];
        Point {
            name: self.name.clone(),
            group: "own kernels".to_owned(),
            intensity_flop_byte: self.intensity,
            performance_gflop_s: self.gflop_s,
            bound: levels.and_then(|levels| levels.bound(self)).unwrap_or_default(),
            roof,
            details: details.into_iter().flatten().collect(),
            ..Point::default()
        }
    }
}

/// Roofs of a device that a kernel may stand under.
#[derive(Clone, Debug, PartialEq)]
pub struct Levels {
    /// The device.
    pub device: String,
    /// What data come from and its GB/s, memory first, then the caches, the nearest last.
    pub bandwidths: Vec<(String, f64)>,
    /// Copying in memory, read and write both counted, in GB/s, where it was measured: it may exceed reading.
    pub copy_gb_s: Option<f64>,
    /// The arithmetic peak in GFLOP/s.
    pub gflop_s: Option<f64>,
}

impl Levels {
    /// Where a kernel stands among the roofs, and what that says of its data; none where its place is not known.
    pub fn sentence(&self, own: &Own) -> Option<String> {
        let Some((intensity, reached)) = own.intensity.zip(own.gflop_s) else {
            return self.of_bytes(own);
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
                    "{head}: above the {above} roof, under the {name} roof: its data come from {name}"
                ),
                (None, Bound::Compute) => {
                    let share = percent(self.gflop_s.map(|peak| reached / peak));
                    format!("{head}: {share} of the arithmetic roof, which is the nearer one")
                }
                (None, _) => {
                    let share = percent(Some(reached / attainable));
                    format!("{head}: {share} of the {name} roof, which is the nearer one")
                }
            });
        }
        Some(format!(
            "{head}: above every roof: its operations, bytes or time are counted otherwise than the roofs, or the roofs are too low"
        ))
    }

    /// The same of a kernel of which only the bytes are known: it has no place on the chart, but a share of each bandwidth.
    fn of_bytes(&self, own: &Own) -> Option<String> {
        let reached = own.gb_s?;
        let head = format!("{}: {} {GB_PER_S} on {}", own.name, figure(reached), self.device);
        let under = self.bandwidths.iter().position(|(_, bandwidth)| reached <= *bandwidth);
        let Some((at, (name, bandwidth))) = under.and_then(|at| Some((at, self.bandwidths.get(at)?))) else {
            return Some(format!(
                "{head}: above the bandwidth of every level: its bytes or time are counted otherwise, or the roofs are too low"
            ));
        };
        let above = at.checked_sub(1).and_then(|before| self.bandwidths.get(before));
        // A kernel that copies may be faster than one that reads, and take nothing from a cache.
        if let (Some(copy), Some((above, _))) = (self.copy_gb_s, above)
            && at == 1
            && reached <= copy
        {
            let share = percent(Some(reached / copy));
            return Some(format!(
                "{head}: more than {above} gives to a read, {share} of a copy there: it copies, or its data come from {name}"
            ));
        }
        Some(match above {
            Some((above, _)) => {
                format!("{head}: more than {above} gives, less than {name}: its data come from {name}")
            }
            None => format!("{head}: {} of what {name} gives", percent(Some(reached / bandwidth))),
        })
    }

    /// What holds a kernel back that takes its data from memory; none where its intensity is not known.
    fn bound(&self, own: &Own) -> Option<Bound> {
        let (_, bandwidth) = self.bandwidths.first()?;
        Some(self.attainable(own.intensity?, *bandwidth)?.1)
    }

    /// What can be reached at an intensity, and what holds it back.
    fn attainable(&self, intensity: f64, bandwidth: f64) -> Option<(f64, Bound)> {
        /// The highest peak that the contract takes.
        const HIGHEST: f64 = 1e12;
        let inputs = operation::Inputs {
            other_flops: intensity,
            other_bytes: 1.0,
            bandwidth,
            compute: self.gflop_s.unwrap_or(HIGHEST),
            ..operation::Inputs::new(1.0, 1.0)
        };
        let outputs = inputs.evaluate().ok()?;
        Some((outputs.attainable, outputs.bound.into()))
    }
}

/// The kernels of a file, or of a directory that criterion left.
pub fn read(path: &Path) -> Result<Vec<Own>, String> {
    if path.is_dir() {
        return named(path, criterion::read(path));
    }
    let text = document::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    read_text(path, &text)
}

/// The kernels of a file that was read already.
pub fn read_text(path: &Path, text: &str) -> Result<Vec<Own>, String> {
    named(path, parse(text))
}

/// The kernels that were found in a file, if there are any that say something. A mistake without a line is one of the whole file.
fn named(path: &Path, found: Result<Vec<Own>, Mistake>) -> Result<Vec<Own>, String> {
    let found = match found {
        Ok(found) => found,
        Err(Mistake { line: 0, what }) => return Err(format!("{}: {what}", path.display())),
        Err(mistake) => return Err(format!("{}:{mistake}", path.display())),
    };
    match found.len() {
        0 => Err(format!("{}: no kernels", path.display())),
        _ if found.iter().all(Own::is_empty) => Err(format!(
            "{}: none of its kernels has a time, bytes or operations; `roofline plot --help` says what is read",
            path.display()
        )),
        count if count > MOST => Err(format!("{}: {count} kernels; there may be {MOST}", path.display())),
        _ => Ok(found),
    }
}

/// The kernels of a text, in whichever of the formats it is.
pub fn parse(text: &str) -> Result<Vec<Own>, Mistake> {
    if text.trim_start().starts_with('{') {
        return google::parse(text);
    }
    if text.contains(likwid::TITLE) {
        return likwid::parse(text);
    }
    // A profiler says what it does before its table starts, and the program that it runs prints among it. Such lines are left
    // empty, so that the others keep their numbers.
    let quoted = text.lines().any(|line| line.starts_with("\"ID\","));
    let foreign = |line: &str| line.starts_with("==") || (quoted && !line.starts_with('"'));
    let table: Vec<&str> = text.lines().map(|line| if foreign(line) { "" } else { line }).collect();
    let table = Csv::read(&table.join("\n"))?;
    if table.headings.fields.is_empty() {
        return Err(Mistake { line: 1, what: "nothing in it".into() });
    }
    if table.has(nsight::KERNEL) {
        nsight::parse(&table)
    } else if rocprof::KERNEL.iter().any(|name| table.has(name)) {
        rocprof::parse(&table)
    } else {
        own::parse(&table)
    }
}

/// A number of a table, perhaps with commas between thousands; none if the column or the field is missing.
fn number_in(table: &Csv, row: &Row, name: &str) -> Result<Option<f64>, Mistake> {
    table.field(row, name).map(|text| number(text, name, row.line)).transpose()
}

/// A number that is finite and not below zero, with a point before its decimals.
fn number(text: &str, name: &str, line: usize) -> Result<f64, Mistake> {
    let plain = if text.contains(',') { without_commas(text) } else { Some(text.to_owned()) };
    let value = plain.and_then(|text| text.parse::<f64>().ok());
    value.filter(|value| value.is_finite() && *value >= 0.0).ok_or_else(|| Mistake {
        line,
        what: format!(
            "{name} is {text:?}; it must be a number, not below zero, with a point before decimals; commas stand between thousands"
        ),
    })
}

/// A number whose commas stand between thousands; some languages put one before decimals, which would make it a thousand times as much.
fn without_commas(text: &str) -> Option<String> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let mut groups = whole.split(',');
    let digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let first = groups.next().filter(|first| (1..=3).contains(&first.len()) && digits(first));
    let right = first.is_some() && groups.all(|group| group.len() == 3 && digits(group));
    (right && !decimals.contains(',')).then(|| text.replace(',', ""))
}

/// Runs of kernels, added up by name in the order they first occur.
#[derive(Default)]
struct Sums {
    order: Vec<String>,
    counts: BTreeMap<String, Counted>,
}

impl Sums {
    fn add(&mut self, name: &str, more: Counted) {
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

    fn kernels(&self) -> Result<Vec<Own>, Mistake> {
        let own = |name: &String| Own::counted(name, self.counts.get(name).copied().unwrap_or_default());
        self.order.iter().map(own).collect::<Result<_, _>>().map_err(|what| Mistake { line: 0, what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../roofline/tests/fixtures/points");

    fn fixture(name: &str) -> Vec<Own> {
        read(&Path::new(FIXTURES).join(name)).unwrap()
    }

    fn near(found: Option<f64>, expected: f64) -> bool {
        found.is_some_and(|found| (found / expected - 1.0).abs() < 1e-9)
    }

    #[test]
    fn a_kernel_is_written_with_its_units_in_any_order() {
        let own = Own::written("my kernel=0.25 [flop/B],12.3 [Gflop/s]").unwrap();
        assert_eq!((own.name.as_str(), own.intensity, own.gflop_s), ("my kernel", Some(0.25), Some(12.3)));
        let own = Own::written("a=b=12300 Mflop/s, 1 GB/s").unwrap();
        assert_eq!((own.name.as_str(), own.gflop_s, own.gb_s), ("a=b", Some(12.3), Some(1.0)));
        for (text, says) in [
            ("axpy", "has no `=`"),
            ("=1 [GB/s]", "names no kernel"),
            ("a=1", "is no figure in flop/B"),
            ("a=1 [token/s]", "is no figure in flop/B"),
            ("a=0 [GB/s]", "above zero"),
            ("a=1 [GB/s],2 [GB/s]", "twice"),
        ] {
            let error = Own::written(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn every_tool_is_read() {
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

        // Its rates are those of 558 us of the processor, while 910 us passed; a run that failed and a fitted complexity are left out.
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

        // Bytes by their way, instructions of whole multiprocessors, and a program that prints among it.
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
    fn what_can_not_be_read_is_told_with_its_line() {
        for (text, line, says) in [
            ("", 1, "nothing in it"),
            (
                "name,speed\na,1\n",
                1,
                "there is no column \"name\" with flop_per_byte, gflop_s, gb_s, seconds, flops or bytes",
            ),
            ("name,gflop_s\na,fast\n", 2, "gflop_s is \"fast\""),
            ("name,gflop_s\n,1\n", 2, "no name"),
            ("{\"benchmarks\": 1}", 1, "not the output of a Google benchmark"),
            ("{}", 1, "not the output of a Google benchmark"),
            ("Kernel Name,Metric Name,Metric Unit,Metric Value\na,dram__bytes.sum,furlong,1\n", 2, "furlong"),
            ("name,gb_s\na,\"9,00\"\n", 2, "gb_s is \"9,00\""),
            ("name,gb_s\na,\"1.234,5\"\n", 2, "a point before decimals"),
        ] {
            let mistake = parse(text).unwrap_err();
            assert!(mistake.line == line && mistake.what.contains(says), "{text}: {mistake}");
        }
    }

    #[test]
    fn a_sentence_says_where_the_data_come_from() {
        let bandwidths = [("memory", 40.0), ("L3", 150.0), ("L2", 200.0)];
        let levels = Levels {
            device: "this".into(),
            bandwidths: bandwidths.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            copy_gb_s: Some(55.0),
            gflop_s: Some(200.0),
        };
        let sentence = |text: &str| levels.sentence(&Own::written(text).unwrap());
        let says = |text: &str, end: &str| {
            let found = sentence(text).unwrap();
            assert!(found.ends_with(end), "{found}");
        };
        says(
            "a=0.25 [flop/B],12.3 [Gflop/s]",
            "above the memory roof, under the L3 roof: its data come from L3",
        );
        says("a=0.25 [flop/B],40 [Gflop/s]", "above the L3 roof, under the L2 roof: its data come from L2");
        says("a=0.25 [flop/B],5 [Gflop/s]", "50 % of the memory roof, which is the nearer one");
        says("a=100 [flop/B],150 [Gflop/s]", "75 % of the arithmetic roof, which is the nearer one");
        says("a=100 [flop/B],250 [Gflop/s]", "or the roofs are too low");
        says("a=12 [GB/s]", "a: 12.0 GB/s on this: 30 % of what memory gives");
        says(
            "a=44 [GB/s]",
            "more than memory gives to a read, 80 % of a copy there: it copies, or its data come from L3",
        );
        says("a=56 [GB/s]", "more than memory gives, less than L3: its data come from L3");
        says("a=160 [GB/s]", "more than L3 gives, less than L2: its data come from L2");
        says("a=400 [GB/s]", "or the roofs are too low");
        assert_eq!(sentence("a=12 [s]"), None);
        let point = |text: &str| Own::written(text).unwrap().point(None, Some(&levels)).bound;
        assert_eq!(
            ["a=1 [flop/B]", "a=9 [flop/B]", "a=1 [s]"].map(point),
            [Bound::Memory, Bound::Compute, Bound::Undefined]
        );
    }
}
