#![no_main]

#[path = "../../roofline/tests/models/checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::onnx(data));
