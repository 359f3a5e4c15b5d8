//! The `roofline` program, implemented in [`roofline::program`].

use std::process::ExitCode;

fn main() -> ExitCode {
    roofline::program::run(std::env::args_os())
}
