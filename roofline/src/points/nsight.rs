//! What Nsight Compute prints with `ncu --csv`: a row for each metric of each launch, or with `--page raw` a row for each launch
//! below one of units. The launches of a kernel are added up.

use super::{Columns, Counted, Own, Sums, number};
use crate::csv::{Mistake, Record};

/// The column that tells its tables from others.
pub(super) const KERNEL: &str = "Kernel Name";

const TIME: &str = "gpu__time_duration.sum";
const BYTES: &str = "dram__bytes.sum";
/// Instructions and the operations of one: a multiply-add is two.
const OPERATIONS: [(&str, f64); 9] = [
    ("smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 1.0),
    ("smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", 1.0),
    ("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 2.0),
    ("smsp__sass_thread_inst_executed_op_dadd_pred_on.sum", 1.0),
    ("smsp__sass_thread_inst_executed_op_dmul_pred_on.sum", 1.0),
    ("smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", 2.0),
    ("smsp__sass_thread_inst_executed_op_hadd_pred_on.sum", 1.0),
    ("smsp__sass_thread_inst_executed_op_hmul_pred_on.sum", 1.0),
    ("smsp__sass_thread_inst_executed_op_hfma_pred_on.sum", 2.0),
];

pub(super) fn parse(columns: &Columns, rows: &[Record]) -> Result<Vec<Own>, Mistake> {
    let mut sums = Sums::default();
    if columns.has("Metric Name") {
        for row in rows {
            let field = |name| columns.text(row, name);
            if let (Some(kernel), Some(metric), Some(value)) =
                (field(KERNEL), field("Metric Name"), field("Metric Value"))
            {
                sums.add(kernel, counted(metric, field("Metric Unit"), value, row.line)?);
            }
        }
        return sums.kernels();
    }
    // The first row has units and no kernel.
    let (units, rows) = match rows.split_first() {
        Some((first, rest)) if columns.text(first, KERNEL).is_none() => (Some(first), rest),
        _ => (None, rows),
    };
    for row in rows {
        let Some(kernel) = columns.text(row, KERNEL) else { continue };
        for metric in [TIME, BYTES].into_iter().chain(OPERATIONS.map(|(name, _)| name)) {
            if let Some(value) = columns.text(row, metric) {
                let unit = units.and_then(|units| columns.text(units, metric));
                sums.add(kernel, counted(metric, unit, value, row.line)?);
            }
        }
    }
    sums.kernels()
}

/// What one metric of one launch counts; nothing for a metric that no roofline needs.
fn counted(metric: &str, unit: Option<&str>, value: &str, line: usize) -> Result<Counted, Mistake> {
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
    } else if metric == BYTES {
        counted.bytes =
            read(&[("byte", 1.0), ("Kbyte", 1e3), ("Mbyte", 1e6), ("Gbyte", 1e9), ("Tbyte", 1e12)])?;
    } else if let Some((_, operations)) = OPERATIONS.iter().find(|(name, _)| *name == metric) {
        counted.flops = Some(number(value, metric, line)? * operations);
    }
    Ok(counted)
}
