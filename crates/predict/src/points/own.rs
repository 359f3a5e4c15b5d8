//! A table of one's own: `name` and figures or counts, each in a column with one of these headings.

use super::{Counted, Own, number_in};
use crate::csv::{Csv, Mistake, Row};

/// The headings, besides the name: figures, then counts that figures follow from.
const HEADINGS: [&str; 6] = ["flop_per_byte", "gflop_s", "gb_s", "seconds", "flops", "bytes"];

pub(super) fn parse(table: &Csv) -> Result<Vec<Own>, Mistake> {
    if !table.has("name") || !HEADINGS.iter().any(|name| table.has(name)) {
        let (last, first) = (HEADINGS[5], HEADINGS[..5].join(", "));
        let what = format!(
            "there is no column \"name\" with {first} or {last}, nor is it the output of a known tool"
        );
        return Err(Mistake { line: table.headings.line, what });
    }
    table.rows.iter().map(|row| one(table, row)).collect()
}

fn one(table: &Csv, row: &Row) -> Result<Own, Mistake> {
    let Some(name) = table.field(row, "name") else {
        return Err(Mistake { line: row.line, what: "no name".into() });
    };
    let number = |heading: &str| number_in(table, row, heading);
    let seconds = number("seconds")?;
    let counted = Counted { flops: number("flops")?, bytes: number("bytes")?, seconds };
    let above_zero = |value: Option<f64>| value.filter(|value| *value > 0.0);
    let mut own = Own {
        name: name.to_owned(),
        intensity: above_zero(number("flop_per_byte")?),
        gflop_s: above_zero(number("gflop_s")?),
        gb_s: above_zero(number("gb_s")?),
        ..Own::default()
    };
    own.fill(&Own::counted(name, counted).map_err(|what| Mistake { line: row.line, what })?);
    Ok(own)
}
