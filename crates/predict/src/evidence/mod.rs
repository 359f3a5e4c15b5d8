//! Published speeds of language models with their sources. Each row is checked against its ceiling; comparable rows yield the expected
//! speed.
//!
//! ```
//! use roofline_predict::evidence::{self, Verdict};
//!
//! let rows = evidence::rows();
//! let judged = evidence::judge(rows);
//! let impossible = judged.iter().filter(|verdict| matches!(verdict, Verdict::Impossible(_)));
//! // A single run, which its source marks as suspect.
//! assert_eq!(impossible.count(), 2);
//! ```

mod calibration;
mod ceiling;
mod device;
mod engine;
#[cfg(test)]
mod evaluation;
mod expectation;
mod format;
mod least_squares;
mod model;
#[cfg(test)]
mod page;
mod report;
mod similarity;
mod table;
#[cfg(test)]
mod tests;

pub use crate::csv::Mistake;
pub use calibration::{CalibratedRun, Calibration, Dimensions, Origin, Run};
pub use ceiling::{RowWithCeiling, Uncovered, Verdict, judge};
pub use device::find as find_device;
pub use engine::{Engine, EngineChoice};
pub use expectation::{Expected, ExpectedRange, NoExpectation, expect, expect_prediction};
pub use report::{Evidence, EvidenceRow, Finding};
pub use similarity::Setting;
pub use table::{Phase, Row, read, read_llama_bench, rows};
