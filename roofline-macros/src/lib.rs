//! `roofline_contract!`: the shell around the contract compiler.
//!
//! It knows the path literal, the manifest directory and the span; everything else is
//! `roofline-contracts`.
