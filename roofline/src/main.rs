//! The `roofline` program, implemented in [`roofline::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    roofline::cli::run(std::env::args_os())
}
