//! Counters in `pmc_perf.csv` of `rocprof-compute profile`: a row per dispatch. Dispatches of the same kernel are summed.

use super::{Counters, KernelMeasurement, Sums, number_in};
use crate::csv::{Csv, Mistake};

/// Column with the name of the kernel, in newer and older versions.
pub(super) const KERNEL: [&str; 2] = ["Kernel_Name", "KernelName"];
const START: [&str; 2] = ["Start_Timestamp", "BeginNs"];
const END: [&str; 2] = ["End_Timestamp", "EndNs"];

/// Lanes per wavefront.
const LANES: f64 = 64.0;
/// Operations per count of matrix instructions.
const MATRIX_OPERATIONS: f64 = 512.0;

pub(super) fn parse(table: &Csv) -> Result<Vec<KernelMeasurement>, Mistake> {
    let mut sums = Sums::default();
    for row in &table.rows {
        let Some(kernel) = KERNEL.iter().find_map(|name| table.field(row, name)) else { continue };
        let number = |name: &str| number_in(table, row, name);
        let either = |names: [&str; 2]| -> Result<Option<f64>, Mistake> {
            Ok(number(names[0])?.or(number(names[1])?))
        };
        let seconds = either(START)?.zip(either(END)?).map(|(start, end)| (end - start) * 1e-9);
        sums.add(kernel, Counters { flops: operations(&number)?, bytes: bytes(&number)?, seconds });
    }
    sums.kernels()
}

/// Sums the operations of vector and matrix instructions; `None` without counters.
fn operations(number: &dyn Fn(&str) -> Result<Option<f64>, Mistake>) -> Result<Option<f64>, Mistake> {
    let mut all = None;
    let mut add = |count: Option<f64>, each: f64| {
        if let Some(count) = count {
            all = Some(all.unwrap_or(0.0) + each * count);
        }
    };
    for width in ["F16", "F32", "F64"] {
        for (kind, each) in [("ADD", 1.0), ("MUL", 1.0), ("TRANS", 1.0), ("FMA", 2.0)] {
            add(number(&format!("SQ_INSTS_VALU_{kind}_{width}"))?, LANES * each);
        }
    }
    for width in ["F8", "F16", "BF16", "F32", "F64"] {
        add(number(&format!("SQ_INSTS_VALU_MFMA_MOPS_{width}"))?, MATRIX_OPERATIONS);
    }
    Ok(all)
}

/// Returns the bytes between L2 cache and memory: requests of 32 and 64 bytes, and of 128 bytes if bubbles are counted.
fn bytes(number: &dyn Fn(&str) -> Result<Option<f64>, Mistake>) -> Result<Option<f64>, Mistake> {
    let either = |tail: &str| -> Result<Option<f64>, Mistake> {
        Ok(number(&format!("TCC_EA0_{tail}"))?.or(number(&format!("TCC_EA_{tail}"))?))
    };
    let (Some(reads), Some(writes)) = (either("RDREQ_sum")?, either("WRREQ_sum")?) else { return Ok(None) };
    let (short, long) = (either("RDREQ_32B_sum")?.unwrap_or(0.0), number("TCC_BUBBLE_sum")?.unwrap_or(0.0));
    let wide = either("WRREQ_64B_sum")?.unwrap_or(0.0);
    let read = 32.0 * short + 128.0 * long + 64.0 * (reads - short - long);
    let written = 64.0 * wide + 32.0 * (writes - wide);
    Ok(Some(read + written))
}
