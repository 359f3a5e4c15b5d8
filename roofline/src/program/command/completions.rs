//! `roofline completions`: for whatever commands there are, in the shells that clap knows.

use clap::CommandFactory;

use crate::program::{Exit, Failure, cli, output};

/// Prints the script.
pub fn run(args: &cli::Completions) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli::Cli::command(), "roofline", &mut script);
    output::write(&script)?;
    Ok(Exit::Fine)
}
