//! The record: published speeds of language models, each with its address, and what they say of our figures. A row is
//! put beside the ceiling of its work, which no row may exceed; from rows alike comes the speed to expect.
//!
//! ```
//! use roofline_predict::record::{self, Verdict};
//!
//! let rows = record::rows();
//! let judged = record::judge(rows);
//! let impossible = judged.iter().filter(|verdict| matches!(verdict, Verdict::Impossible(_)));
//! // One run of one source, which its own notes call wrong.
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
#[cfg(test)]
mod many;
mod model;
#[cfg(test)]
mod page;
mod question;
mod report;
mod table;

pub use crate::csv::Mistake;
pub use calibration::{CalibratedRun, Calibration, Dimensions, Origin, Run};
pub use ceiling::{Beside, Uncovered, Verdict, judge};
pub use device::of as device_of;
pub use engine::{Engine, EngineChoice};
pub use expectation::{Band, Expected, Silence, expect, expect_of};
pub use question::Setting;
pub use report::{Evidence, EvidenceRow, Finding};
pub use table::{Phase, Row, read, read_llama_bench, rows};
