//! The command line: one file per command, definitions in `cli`, shared output in `output`.

mod annotation;
mod bench;
mod check;
mod cli;
mod completions;
mod contract;
pub mod contract_schema;
mod contracts;
mod devices;
mod diff;
mod doc;
mod eval;
mod expand;
mod first;
mod fmt;
mod gate;
mod import;
mod input;
mod kani_result;
mod ledger;
mod machine;
mod man;
mod models;
mod output;
mod pattern;
mod picture;
mod plot;
mod predict;
mod predict_chart;
mod profile;
mod profile_chart;
mod progress;
mod prove;
mod require;
mod saved;
mod schema;
mod solver;
mod terminal;
mod what_if;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

/// How the program ends. The numbers are part of its interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything asked for was done and every check held.
    Fine = 0,
    /// A check or a gate did not hold.
    Failed = 1,
    /// Wrong use or bad input.
    BadInput = 2,
}

/// Why a command could not do what it was asked: the message for stderr, without a trailing newline.
/// It always ends the program with [`Exit::BadInput`].
#[derive(Debug)]
pub struct Failure(pub String);

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure(error.to_string())
    }
}

/// Runs the program with these arguments (the first is the program's name).
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let exit = match cli::Cli::try_parse_from(args) {
        Ok(cli) => dispatch(cli).unwrap_or_else(|Failure(message)| {
            eprintln!("error: {message}");
            Exit::BadInput
        }),
        Err(error) => {
            // Help and version are not mistakes: clap prints them to stdout and they end with 0.
            let exit = if error.use_stderr() { Exit::BadInput } else { Exit::Fine };
            // Nothing is left to tell when the terminal is gone.
            let _ = error.print();
            exit
        }
    };
    ExitCode::from(exit as u8)
}

fn dispatch(cli: cli::Cli) -> Result<Exit, Failure> {
    let Some(command) = cli.command else { return first::run(&cli.first) };
    match command {
        cli::Command::Check(args) => check::run(&args),
        cli::Command::Prove(args) => prove::run(&args),
        cli::Command::Expand(args) => expand::run(&args),
        cli::Command::Fmt(args) => fmt::run(&args),
        cli::Command::Import(args) => import::run(&args),
        cli::Command::Eval(args) => eval::run(&args),
        cli::Command::Diff(args) => diff::run(&args),
        cli::Command::Doc(args) => doc::run(&args),
        cli::Command::Contracts(args) => contracts::run(&args),
        cli::Command::Bench(args) => bench::run(&args),
        cli::Command::Machine(args) => machine::run(&args),
        cli::Command::Predict(args) => predict::run(&args),
        cli::Command::Devices(args) => devices::run(&args),
        cli::Command::Models(args) => models::run(&args),
        cli::Command::Profile(args) => profile::run(&args),
        cli::Command::Plot(args) => plot::run(&args),
        cli::Command::Gate(args) => gate::run(&args),
        cli::Command::Schema(args) => schema::run(&args),
        cli::Command::Completions(args) => completions::run(&args),
        cli::Command::Man(args) => man::run(&args),
    }
}
