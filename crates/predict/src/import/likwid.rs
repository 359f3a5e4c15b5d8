//! Output of `likwid-bench`: a block per run with the counts of all threads.

use super::{Counters, KernelMeasurement, number};
use crate::csv::Mistake;

/// First line of every run.
pub(super) const TITLE: &str = "LIKWID MICRO BENCHMARK";

pub(super) fn parse(text: &str) -> Result<Vec<KernelMeasurement>, Mistake> {
    let mut found: Vec<(String, Counters)> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let Some((name, value)) = line.split_once(':') else { continue };
        let (name, value) = (name.trim(), value.trim());
        if name == "Test" {
            found.push((value.to_owned(), Counters::default()));
            continue;
        }
        let Some((_, counters)) = found.last_mut() else { continue };
        let place = match name {
            "Time" => &mut counters.seconds,
            "Number of Flops" => &mut counters.flops,
            "Data volume (Byte)" => &mut counters.bytes,
            _ => continue,
        };
        *place = Some(number(value.trim_end_matches("sec").trim(), name, at + 1)?);
    }
    let own = |(name, counters): &(String, Counters)| KernelMeasurement::from_counters(name, *counters);
    found.iter().map(own).collect::<Result<_, _>>().map_err(|what| Mistake { line: 0, what })
}
