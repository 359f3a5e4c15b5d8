//! Predicted, profiled and expected speeds of models on devices.

pub mod choose;
mod csv;
pub mod device;
pub mod metric;
pub mod parallel;
pub mod points;
pub mod predict;
pub mod profile;
pub mod record;
