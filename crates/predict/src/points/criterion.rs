//! What criterion leaves below `target/criterion`: for each benchmark a directory `new` with its estimates and its throughput.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Counted, Own};
use crate::csv::Mistake;
use roofline_machine::document;

/// Criterion nests group, function and parameter; nobody nests deeper than this.
const DEEPEST: usize = 8;

#[derive(Deserialize)]
struct Benchmark {
    full_id: String,
    #[serde(default)]
    throughput: Option<Throughput>,
}

/// What one iteration works on. Elements are no operations: nobody says how many each takes.
#[derive(Deserialize)]
enum Throughput {
    Bytes(u64),
    BytesDecimal(u64),
    Elements(#[expect(dead_code, reason = "named so that it is read")] u64),
    ElementsAndBytes { bytes: u64 },
    Bits(u64),
}

#[derive(Deserialize)]
struct Estimates {
    median: Estimate,
    median_abs_dev: Option<Estimate>,
}

#[derive(Deserialize)]
struct Estimate {
    /// Nanoseconds.
    point_estimate: f64,
}

/// Every benchmark below a directory, in the order of their names.
pub(super) fn read(directory: &Path) -> Result<Vec<Own>, Mistake> {
    let mut found = Vec::new();
    walk(directory, DEEPEST, &mut found)?;
    if found.is_empty() {
        return Err(whole("no benchmark of criterion is in this directory; it is usually target/criterion"));
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn walk(directory: &Path, depth: usize, found: &mut Vec<Own>) -> Result<(), Mistake> {
    let new = directory.join("new");
    if new.join("benchmark.json").is_file() {
        found.push(one(&new)?);
    }
    let below = fs::read_dir(directory).map_err(whole)?;
    for entry in below {
        let path = entry.map_err(whole)?.path();
        // A link may lead in a circle.
        let nested = path.is_dir() && !path.is_symlink();
        if nested && depth > 0 && !["new", "base", "report", "change"].iter().any(|name| path.ends_with(name))
        {
            walk(&path, depth - 1, found)?;
        }
    }
    Ok(())
}

fn one(new: &Path) -> Result<Own, Mistake> {
    let Benchmark { full_id, throughput } = json(new.join("benchmark.json"))?;
    let Estimates { median, median_abs_dev } = json(new.join("estimates.json"))?;
    let seconds = Some(median.point_estimate * 1e-9);
    let bytes = match throughput {
        Some(
            Throughput::Bytes(bytes)
            | Throughput::BytesDecimal(bytes)
            | Throughput::ElementsAndBytes { bytes },
        ) => Some(bytes as f64),
        Some(Throughput::Bits(bits)) => Some(bits as f64 / 8.0),
        Some(Throughput::Elements(_)) | None => None,
    };
    let own = Own::counted(&full_id, Counted { flops: None, bytes, seconds }).map_err(whole)?;
    let noise = median_abs_dev.map(|deviation| deviation.point_estimate / median.point_estimate);
    Ok(Own { noise: noise.filter(|noise| noise.is_finite()), ..own })
}

fn json<T: for<'de> Deserialize<'de>>(path: PathBuf) -> Result<T, Mistake> {
    let wrong = |reason: String| whole(format!("{}: {reason}", path.display()));
    let text = document::read(&path).map_err(|error| wrong(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))
}

fn whole(what: impl ToString) -> Mistake {
    Mistake { line: 0, what: what.to_string() }
}
