//! Model files: what the readers make of good, odd and hostile ones, checked against other readers and
//! against operations worked out by hand.

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
