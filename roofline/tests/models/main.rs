//! Model files: what the readers make of good, odd and hostile ones, checked against other readers and
//! against operations worked out by hand.

#![allow(missing_docs, reason = "tests")]

mod apr;
mod checks;
mod config;
mod corpus;
mod decoders;
mod encoders;
mod families;
mod gguf;
mod graph;
mod mix;
mod onnx;
mod open;
mod oracles;
mod packed;
mod predicted;
mod refuted;
mod safetensors;
mod scratch;
#[allow(dead_code, reason = "profiles need a whole model, the readers its parts")]
mod small;
mod writer;
