#![no_main]

use std::process::ExitCode;
use std::sync::LazyLock;

#[path = "../../roofline/tests/cli/saved/checks.rs"]
mod checks;

/// In memory where the system has such a place: every input is written to a file.
static DIRECTORY: LazyLock<std::path::PathBuf> = LazyLock::new(|| {
    let memory = std::path::PathBuf::from("/dev/shm");
    let place = if memory.is_dir() { memory } else { std::env::temp_dir() };
    let directory = place.join(format!("roofline-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a temporary directory can be made");
    directory
});

fn exit(args: &[&str]) -> u8 {
    let code = roofline::program::run(["roofline"].iter().chain(args).map(Into::into));
    let known = (0..=2).find(|known| code == ExitCode::from(*known));
    known.expect("the program ends with 0, 1 or 2")
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::saved(data, &DIRECTORY, exit));
