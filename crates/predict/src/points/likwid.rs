//! What `likwid-bench` prints: a block for each run, with the counts of all its threads.

use super::{Counted, Own, number};
use crate::csv::Mistake;

/// What every run starts with.
pub(super) const TITLE: &str = "LIKWID MICRO BENCHMARK";

pub(super) fn parse(text: &str) -> Result<Vec<Own>, Mistake> {
    let mut found: Vec<(String, Counted)> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let Some((name, value)) = line.split_once(':') else { continue };
        let (name, value) = (name.trim(), value.trim());
        if name == "Test" {
            found.push((value.to_owned(), Counted::default()));
            continue;
        }
        let Some((_, counted)) = found.last_mut() else { continue };
        let place = match name {
            "Time" => &mut counted.seconds,
            "Number of Flops" => &mut counted.flops,
            "Data volume (Byte)" => &mut counted.bytes,
            _ => continue,
        };
        *place = Some(number(value.trim_end_matches("sec").trim(), name, at + 1)?);
    }
    let own = |(name, counted): &(String, Counted)| Own::counted(name, *counted);
    found.iter().map(own).collect::<Result<_, _>>().map_err(|what| Mistake { line: 0, what })
}
