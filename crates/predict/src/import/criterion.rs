//! Output of criterion in `target/criterion`: a directory `new` per benchmark with its statistics and throughput.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Counters, KernelMeasurement};
use crate::csv::Mistake;
use roofline_machine::storage;

/// Maximum depth of directories; criterion nests group, function and parameter.
const MAX_DEPTH: usize = 8;

#[derive(Deserialize)]
struct Benchmark {
    full_id: String,
    #[serde(default)]
    throughput: Option<Throughput>,
}

/// Throughput per iteration. Elements are ignored, because their number of operations is unknown.
#[derive(Deserialize)]
enum Throughput {
    Bytes(u64),
    BytesDecimal(u64),
    Elements(#[expect(dead_code, reason = "required for deserialization")] u64),
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

/// Reads all benchmarks below a directory, sorted by name.
pub(super) fn read(directory: &Path) -> Result<Vec<KernelMeasurement>, Mistake> {
    let mut found = Vec::new();
    walk(directory, MAX_DEPTH, &mut found)?;
    if found.is_empty() {
        return Err(file_error(
            "no criterion benchmarks in this directory; expected a directory such as target/criterion",
        ));
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn walk(directory: &Path, depth: usize, found: &mut Vec<KernelMeasurement>) -> Result<(), Mistake> {
    let new = directory.join("new");
    if new.join("benchmark.json").is_file() {
        found.push(kernel(&new)?);
    }
    let below = fs::read_dir(directory).map_err(file_error)?;
    for entry in below {
        let path = entry.map_err(file_error)?.path();
        // Symbolic links may form a cycle.
        let nested = path.is_dir() && !path.is_symlink();
        if nested && depth > 0 && !["new", "base", "report", "change"].iter().any(|name| path.ends_with(name))
        {
            walk(&path, depth - 1, found)?;
        }
    }
    Ok(())
}

fn kernel(new: &Path) -> Result<KernelMeasurement, Mistake> {
    let Benchmark { full_id, throughput } = read_json(new.join("benchmark.json"))?;
    let Estimates { median, median_abs_dev } = read_json(new.join("estimates.json"))?;
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
    let own = KernelMeasurement::from_counters(&full_id, Counters { flops: None, bytes, seconds })
        .map_err(file_error)?;
    let noise = median_abs_dev.map(|deviation| deviation.point_estimate / median.point_estimate);
    Ok(KernelMeasurement { noise: noise.filter(|noise| noise.is_finite()), ..own })
}

fn read_json<T: for<'de> Deserialize<'de>>(path: PathBuf) -> Result<T, Mistake> {
    let error_in = |reason: String| file_error(format!("{}: {reason}", path.display()));
    let text = storage::read(&path).map_err(|error| error_in(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| error_in(error.to_string()))
}

fn file_error(what: impl ToString) -> Mistake {
    Mistake { line: 0, what: what.to_string() }
}
