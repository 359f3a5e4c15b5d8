#![no_main]

use std::process::ExitCode;
use std::sync::LazyLock;

#[path = "../../roofline/tests/cli/saved/checks.rs"]
mod checks;

/// Directory for input files, in memory if possible.
static DIRECTORY: LazyLock<std::path::PathBuf> = LazyLock::new(|| {
    let memory = std::path::PathBuf::from("/dev/shm");
    let parent = if memory.is_dir() { memory } else { std::env::temp_dir() };
    let directory = parent.join(format!("roofline-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("temporary directory is writable");
    directory
});

fn exit(args: &[&str]) -> u8 {
    let code = roofline::cli::run(["roofline"].iter().chain(args).map(Into::into));
    let known = (0..=2).find(|known| code == ExitCode::from(*known));
    known.expect("exit code is 0, 1 or 2")
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::saved(data, &DIRECTORY, exit));
