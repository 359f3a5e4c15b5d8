//! Predicted, profiled and expected speeds of models on devices.

pub mod choose;
mod csv;
pub mod device;
pub mod evidence;
pub mod import;
pub mod metric;
pub mod parallel;
pub mod predict;
pub mod profile;
