//! Tests of the model readers with valid, unusual and hostile files, compared with other readers and
//! with operations worked out by hand.

#![allow(missing_docs, reason = "tests")]

mod apr;
mod cases;
mod checks;
mod config;
mod corpus;
mod gguf;
mod mix;
mod onnx;
mod open;
mod oracles;
mod packed;
mod predicted;
mod refuted;
mod safetensors;
