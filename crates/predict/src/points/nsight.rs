//! What Nsight Compute prints with `ncu --csv`: a row for each metric of each launch, or with `--page raw` a row for each launch
//! below one of units. The launches of a kernel are added up.

use super::{Counted, Own, Sums, number};
use crate::csv::{Csv, Mistake};

/// The column that tells its tables from others.
pub(super) const KERNEL: &str = "Kernel Name";

const TIME: &str = "gpu__time_duration.sum";
const BYTES: &str = "dram__bytes.sum";
/// The same bytes by their way, where nobody asked for their sum.
const WAYS: [&str; 2] = ["dram__bytes_read.sum", "dram__bytes_write.sum"];
/// Instructions of threads and the operations of one: a multiply-add is two.
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

pub(super) fn parse(table: &Csv) -> Result<Vec<Own>, Mistake> {
    let mut sums = Sums::default();
    if table.has("Metric Name") {
        let metrics: Vec<&str> =
            table.rows.iter().filter_map(|row| table.field(row, "Metric Name")).collect();
        let taken = Taken::of(&metrics);
        for row in &table.rows {
            let field = |name| table.field(row, name);
            if let (Some(kernel), Some(metric), Some(value)) =
                (field(KERNEL), field("Metric Name"), field("Metric Value"))
            {
                sums.add(kernel, taken.counted(metric, field("Metric Unit"), value, row.line)?);
            }
        }
        return sums.kernels();
    }
    let taken = Taken::of(&table.headings.fields.iter().map(String::as_str).collect::<Vec<_>>());
    // The first row has units and no kernel.
    let (units, rows) = match table.rows.split_first() {
        Some((first, rest)) if table.field(first, KERNEL).is_none() => (Some(first), rest),
        _ => (None, table.rows.as_slice()),
    };
    for row in rows {
        let Some(kernel) = table.field(row, KERNEL) else { continue };
        for metric in table.headings.fields.iter().map(String::as_str) {
            if let Some(value) = table.field(row, metric) {
                let unit = units.and_then(|units| table.field(units, metric));
                sums.add(kernel, taken.counted(metric, unit, value, row.line)?);
            }
        }
    }
    sums.kernels()
}

/// Which metrics are taken where a file has several that say the same.
struct Taken {
    /// The bytes as one sum, or else by their way.
    sum: bool,
    /// What counts instructions: the quarters of a multiprocessor, or else the whole.
    unit: &'static str,
}

impl Taken {
    /// Of a file with these metrics.
    fn of(metrics: &[&str]) -> Taken {
        let quarters = metrics.iter().any(|metric| metric.starts_with("smsp__sass_thread_inst_executed_op_"));
        Taken { sum: metrics.contains(&BYTES), unit: if quarters { "smsp__" } else { "sm__" } }
    }

    /// The operations of one count of this metric; none if it counts none, or none that are taken.
    fn operations(&self, metric: &str) -> Option<f64> {
        let name = metric.strip_prefix(self.unit)?.strip_prefix("sass_thread_inst_executed_op_")?;
        let name = name.strip_suffix("_pred_on.sum")?;
        OPERATIONS.iter().find(|(known, _)| *known == name).map(|(_, operations)| *operations)
    }

    /// What one metric of one launch counts; nothing for a metric that no roofline needs.
    fn counted(
        &self,
        metric: &str,
        unit: Option<&str>,
        value: &str,
        line: usize,
    ) -> Result<Counted, Mistake> {
        let read = |units: &[(&str, f64)]| {
            let unit = unit.unwrap_or(units[0].0);
            let known = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
            let factor = known.map(|(_, factor)| *factor).ok_or_else(|| {
                let names: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
                Mistake { line, what: format!("{metric} is in {unit:?}; it must be in {}", names.join(", ")) }
            })?;
            Ok(Some(number(value, metric, line)? * factor))
        };
        let mut counted = Counted::default();
        if metric == TIME {
            counted.seconds = read(&[
                ("ns", 1e-9),
                ("nsecond", 1e-9),
                ("us", 1e-6),
                ("usecond", 1e-6),
                ("ms", 1e-3),
                ("msecond", 1e-3),
                ("s", 1.0),
                ("second", 1.0),
            ])?;
        } else if metric == BYTES || (!self.sum && WAYS.contains(&metric)) {
            counted.bytes =
                read(&[("byte", 1.0), ("Kbyte", 1e3), ("Mbyte", 1e6), ("Gbyte", 1e9), ("Tbyte", 1e12)])?;
        } else if let Some(operations) = self.operations(metric) {
            counted.flops = Some(number(value, metric, line)? * operations);
        }
        Ok(counted)
    }
}
