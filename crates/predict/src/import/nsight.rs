//! Output of Nsight Compute with `ncu --csv`: a row per metric and launch, or with `--page raw` a row of units and a row per launch.
//! Launches of the same kernel are summed.

use super::{Counters, KernelMeasurement, Sums, number};
use crate::csv::{Csv, Mistake};

/// Column that identifies tables of Nsight Compute.
pub(super) const KERNEL: &str = "Kernel Name";

const TIME: &str = "gpu__time_duration.sum";
const BYTES: &str = "dram__bytes.sum";
/// Bytes by direction, used if the sum was not collected.
const DIRECTIONS: [&str; 2] = ["dram__bytes_read.sum", "dram__bytes_write.sum"];
/// Thread instructions and their number of operations; a multiply-add counts as two.
const OPERATIONS: [(&str, f64); 9] = [
    ("fadd", 1.0),
    ("fmul", 1.0),
    ("ffma", 2.0),
    ("dadd", 1.0),
    ("dmul", 1.0),
    ("dfma", 2.0),
    ("hadd", 1.0),
    ("hmul", 1.0),
    ("hfma", 2.0),
];

pub(super) fn parse(table: &Csv) -> Result<Vec<KernelMeasurement>, Mistake> {
    let mut sums = Sums::default();
    if table.has("Metric Name") {
        let metrics: Vec<&str> =
            table.rows.iter().filter_map(|row| table.field(row, "Metric Name")).collect();
        let selection = MetricSelection::new(&metrics);
        for row in &table.rows {
            let field = |name| table.field(row, name);
            if let (Some(kernel), Some(metric), Some(value)) =
                (field(KERNEL), field("Metric Name"), field("Metric Value"))
            {
                sums.add(kernel, selection.counters(metric, field("Metric Unit"), value, row.line)?);
            }
        }
        return sums.kernels();
    }
    let selection =
        MetricSelection::new(&table.headings.fields.iter().map(String::as_str).collect::<Vec<_>>());
    // The first row contains units instead of a kernel.
    let (units, rows) = match table.rows.split_first() {
        Some((first, rest)) if table.field(first, KERNEL).is_none() => (Some(first), rest),
        _ => (None, table.rows.as_slice()),
    };
    for row in rows {
        let Some(kernel) = table.field(row, KERNEL) else { continue };
        for metric in table.headings.fields.iter().map(String::as_str) {
            if let Some(value) = table.field(row, metric) {
                let unit = units.and_then(|units| table.field(units, metric));
                sums.add(kernel, selection.counters(metric, unit, value, row.line)?);
            }
        }
    }
    sums.kernels()
}

/// Selects among redundant metrics of a file.
struct MetricSelection {
    /// True if the sum of bytes is used instead of the bytes by direction.
    sum: bool,
    /// Prefix of instruction counters: of SM partitions if available, otherwise of the SM.
    unit: &'static str,
}

impl MetricSelection {
    /// Creates the selection for the metrics of a file.
    fn new(metrics: &[&str]) -> MetricSelection {
        let partitions =
            metrics.iter().any(|metric| metric.starts_with("smsp__sass_thread_inst_executed_op_"));
        MetricSelection { sum: metrics.contains(&BYTES), unit: if partitions { "smsp__" } else { "sm__" } }
    }

    /// Returns the operations per count; `None` for other metrics.
    fn operations(&self, metric: &str) -> Option<f64> {
        let name = metric.strip_prefix(self.unit)?.strip_prefix("sass_thread_inst_executed_op_")?;
        let name = name.strip_suffix("_pred_on.sum")?;
        OPERATIONS.iter().find(|(known, _)| *known == name).map(|(_, operations)| *operations)
    }

    /// Converts a metric of a launch to counters; irrelevant metrics yield none.
    fn counters(
        &self,
        metric: &str,
        unit: Option<&str>,
        value: &str,
        line: usize,
    ) -> Result<Counters, Mistake> {
        let read = |units: &[(&str, f64)]| {
            let unit = unit.unwrap_or(units[0].0);
            let known = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
            let factor = known.map(|(_, factor)| *factor).ok_or_else(|| {
                let names: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
                Mistake {
                    line,
                    what: format!("unknown unit {unit:?} of {metric}; expected one of {}", names.join(", ")),
                }
            })?;
            Ok(Some(number(value, metric, line)? * factor))
        };
        let mut counters = Counters::default();
        if metric == TIME {
            counters.seconds = read(&[
                ("ns", 1e-9),
                ("nsecond", 1e-9),
                ("us", 1e-6),
                ("usecond", 1e-6),
                ("ms", 1e-3),
                ("msecond", 1e-3),
                ("s", 1.0),
                ("second", 1.0),
            ])?;
        } else if metric == BYTES || (!self.sum && DIRECTIONS.contains(&metric)) {
            counters.bytes =
                read(&[("byte", 1.0), ("Kbyte", 1e3), ("Mbyte", 1e6), ("Gbyte", 1e9), ("Tbyte", 1e12)])?;
        } else if let Some(operations) = self.operations(metric) {
            counters.flops = Some(number(value, metric, line)? * operations);
        }
        Ok(counters)
    }
}
