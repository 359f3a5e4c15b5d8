//! Generic CSV tables with a column `name` and columns of figures or counts.

use super::{Counters, KernelMeasurement, number_in};
use crate::csv::{Csv, Mistake, Row};

/// Headings in addition to `name`: figures, then counts.
const HEADINGS: [&str; 6] = ["flop_per_byte", "gflop_s", "gb_s", "seconds", "flops", "bytes"];

pub(super) fn parse(table: &Csv) -> Result<Vec<KernelMeasurement>, Mistake> {
    if !table.has("name") || !HEADINGS.iter().any(|name| table.has(name)) {
        let what = format!(
            "unknown format; expected the output of a profiler, or columns `name` and at least one of {}",
            HEADINGS.join(", ")
        );
        return Err(Mistake { line: table.headings.line, what });
    }
    table.rows.iter().map(|row| kernel(table, row)).collect()
}

fn kernel(table: &Csv, row: &Row) -> Result<KernelMeasurement, Mistake> {
    let Some(name) = table.field(row, "name") else {
        return Err(Mistake { line: row.line, what: "missing name".into() });
    };
    let number = |heading: &str| number_in(table, row, heading);
    let seconds = number("seconds")?;
    let counters = Counters { flops: number("flops")?, bytes: number("bytes")?, seconds };
    let above_zero = |value: Option<f64>| value.filter(|value| *value > 0.0);
    let mut own = KernelMeasurement {
        name: name.to_owned(),
        intensity: above_zero(number("flop_per_byte")?),
        gflop_s: above_zero(number("gflop_s")?),
        gb_s: above_zero(number("gb_s")?),
        ..KernelMeasurement::default()
    };
    own.fill(
        &KernelMeasurement::from_counters(name, counters).map_err(|what| Mistake { line: row.line, what })?,
    );
    Ok(own)
}
