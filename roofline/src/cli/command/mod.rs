//! One file, or folder, for each command: its result, how that reads as text and as tables, and `run`.

pub mod bench;
pub mod calibrate;
pub mod check;
pub mod choose;
pub mod completions;
pub mod contracts;
pub mod devices;
pub mod diff;
pub mod doc;
pub mod eval;
pub mod evidence;
pub mod expand;
pub mod first;
pub mod fmt;
pub mod gate;
pub mod import;
pub mod machine;
pub mod man;
pub mod models;
pub mod plan;
pub mod plot;
pub mod predict;
pub mod profile;
pub mod prove;
pub mod schema;
