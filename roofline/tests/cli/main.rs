//! Tests of the program: commands, documentation, schemas and saved results.

#![allow(missing_docs, reason = "tests")]

mod bench;
mod contract_schema;
mod diff;
mod doc;
mod first;
mod machine;
mod output;
mod predict;
mod profile;
mod program;
mod published;
mod saved;
mod schema;
mod shell;
mod transcripts;
mod workflow;
