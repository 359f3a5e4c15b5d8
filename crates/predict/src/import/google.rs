//! Output of Google Benchmark with `--benchmark_format=json`. Bytes are set by `SetBytesProcessed`; operations are a rate counter
//! named `FLOPS`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{Counters, KernelMeasurement};
use crate::csv::Mistake;

/// Names of counters for operations per second, with their factors.
const FLOPS: [(&str, f64); 8] = [
    ("FLOPS", 1.0),
    ("FLOPs", 1.0),
    ("flops", 1.0),
    ("FLOP/s", 1.0),
    ("GFLOPS", 1e9),
    ("GFLOPs", 1e9),
    ("gflops", 1e9),
    ("GFLOP/s", 1e9),
];

#[derive(Deserialize)]
struct Output {
    /// Fields of each benchmark, including user-defined counters.
    benchmarks: Vec<BTreeMap<String, Value>>,
}

/// A run in the output.
struct Run<'a>(&'a BTreeMap<String, Value>);

impl<'a> Run<'a> {
    fn text(&self, key: &str) -> Option<&'a str> {
        self.0.get(key)?.as_str()
    }

    /// Returns a positive number.
    fn number(&self, key: &str) -> Option<f64> {
        self.0.get(key)?.as_f64().filter(|value| value.is_finite() && *value > 0.0)
    }

    fn failed(&self) -> bool {
        self.0.get("error_occurred").and_then(Value::as_bool).unwrap_or(false)
    }
}

pub(super) fn parse(text: &str) -> Result<Vec<KernelMeasurement>, Mistake> {
    let Output { benchmarks } = serde_json::from_str(text).map_err(|error| Mistake {
        line: error.line().max(1),
        what: format!("invalid output of Google Benchmark: {error}"),
    })?;
    let all: Vec<Run> = benchmarks.iter().map(Run).filter(|run| !run.failed()).collect();
    let mut order: Vec<&str> = Vec::new();
    let mut runs: BTreeMap<&str, Vec<&Run>> = BTreeMap::new();
    for run in &all {
        let Some(name) = run.text("run_name").or(run.text("name")) else {
            return Err(Mistake {
                line: 1,
                what: "invalid output of Google Benchmark: missing `name`".into(),
            });
        };
        if !runs.contains_key(name) {
            order.push(name);
        }
        runs.entry(name).or_default().push(run);
    }
    let own = |name: &&str| kernel(name, runs.get(name).map_or(&[], Vec::as_slice)).transpose();
    order.iter().filter_map(own).collect::<Result<_, _>>().map_err(|what| Mistake { line: 0, what })
}

/// Returns the median of the repetitions and their variation; `None` for entries that are not runs, such as a fitted complexity.
fn kernel(name: &str, runs: &[&Run]) -> Result<Option<KernelMeasurement>, String> {
    let aggregate =
        |wanted: &str| runs.iter().find(|run| run.text("aggregate_name") == Some(wanted)).copied();
    let time = |run: &Run| run.number("real_time");
    let mut single: Vec<&Run> =
        runs.iter().filter(|run| run.text("aggregate_name").is_none()).copied().collect();
    single.sort_by(|a, b| time(a).unwrap_or(0.0).total_cmp(&time(b).unwrap_or(0.0)));
    let Some(run) = aggregate("median").or_else(|| single.get(single.len() / 2).copied()) else {
        return Ok(None);
    };
    let unit = match run.text("time_unit") {
        Some("s") => 1.0,
        Some("ms") => 1e-3,
        Some("us") => 1e-6,
        Some("ns") | None => 1e-9,
        Some(other) => {
            return Err(format!("{name}: unknown `time_unit` {other:?}; expected ns, us, ms or s"));
        }
    };
    let seconds = time(run).map(|time| time * unit);
    // Rates refer to CPU time, unless the name of the benchmark selects another clock. Counts are divided by the wall time.
    let by_real_time = name.split('/').any(|part| part == "real_time" || part == "manual_time");
    let clock =
        if by_real_time { seconds } else { run.number("cpu_time").map(|time| time * unit).or(seconds) };
    let count = |rate: Option<f64>| rate.zip(clock).map(|(rate, clock)| rate * clock);
    let flops = FLOPS.iter().find_map(|(key, each)| run.number(key).map(|rate| rate * each));
    let counters = Counters { flops: count(flops), bytes: count(run.number("bytes_per_second")), seconds };
    let deviation = aggregate("stddev").and_then(time).map(|time| time * unit);
    let noise = deviation.zip(seconds).map(|(deviation, seconds)| deviation / seconds);
    Ok(Some(KernelMeasurement { noise, ..KernelMeasurement::from_counters(name, counters)? }))
}
