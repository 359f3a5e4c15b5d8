//! The program, command by command, as its users run it; and its pages, schemas and saved results.

#![allow(missing_docs, reason = "tests")]

mod bench;
mod calibrate;
mod choose;
mod contract_schema;
mod devices;
mod diff;
mod doc;
mod eval;
mod evaluate;
mod evidence;
mod expand;
mod expected;
mod first;
mod fmt;
mod gate;
mod import;
mod machine;
mod many;
mod on;
mod output;
mod plot;
mod predict;
mod profile;
mod program;
mod prove;
mod published;
mod saved;
mod schema;
mod shell;
mod transcripts;
mod workflow;
