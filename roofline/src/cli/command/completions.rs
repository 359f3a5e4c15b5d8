//! `roofline completions`: completion scripts for the shells that clap supports.

use crate::cli::{Exit, Failure, args, help, output};

/// Prints the script.
pub fn run(args: &args::Completions) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut help::completed(), "roofline", &mut script);
    output::write(&script)?;
    Ok(Exit::Fine)
}
