#![no_main]

#[path = "../../contracts/tests/corpus/checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::domain(data));
