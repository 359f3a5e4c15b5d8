//! The command line: argument definitions in `cli`, one file per command in `command`, and their shared parts.

mod args;
mod command;
mod conditions;
mod contract;
mod device;
mod expected;
mod help;
mod latency_curve;
mod name;
mod output;
mod request;
mod select;
mod sets;
mod sliders;

pub use command::schema::contract as contract_schema;

use std::error::Error;
use std::ffi::OsString;
use std::fmt::Display;
use std::process::ExitCode;

use clap::FromArgMatches;
use roofline_contracts::Compiler;
use roofline_contracts::contract::Contract;
use roofline_contracts::source::Source;

/// Exit codes; the numbers are part of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Success; every check holds.
    Fine = 0,
    /// A check or gate does not hold.
    Failed = 1,
    /// Invalid arguments or input.
    BadInput = 2,
}

/// The error of a command: the message for stderr, without a trailing newline. The program exits with [`Exit::BadInput`].
#[derive(Debug)]
pub struct Failure(pub String);

impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure(with_causes(&error))
    }
}

/// Returns the message of an error, followed by its causes unless the message contains them.
fn with_causes(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !message.contains(&text) {
            message += &format!(": {text}");
        }
        cause = error.source();
    }
    message
}

/// Prefixes an error with its file or flag.
trait About<T> {
    fn about(self, subject: impl Display) -> Result<T, Failure>;
}

impl<T, E: Into<Box<dyn Error>>> About<T> for Result<T, E> {
    fn about(self, subject: impl Display) -> Result<T, Failure> {
        self.map_err(|error| Failure(format!("{subject}: {}", with_causes(&*error.into()))))
    }
}

/// Runs the program; the first argument is its name.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    ExitCode::from(exit(args) as u8)
}

/// Like [`run`], for embedding programs.
pub fn exit(args: impl IntoIterator<Item = OsString>) -> Exit {
    match parsed(args) {
        Ok(cli) => dispatch(cli).unwrap_or_else(|Failure(message)| {
            eprintln!("error: {message}");
            Exit::BadInput
        }),
        Err(error) => {
            // clap reports help and version as errors for stdout.
            let exit = if error.use_stderr() { Exit::BadInput } else { Exit::Fine };
            // A failing write means that the terminal is gone.
            let _ = error.print();
            exit
        }
    }
}

/// The result of a command for an embedding program.
pub struct Called {
    /// Exit code.
    pub exit: Exit,
    /// Standard output.
    pub printed: Vec<u8>,
    /// Lines on standard error.
    pub said: Vec<String>,
}

/// Runs a command and collects its output; the first argument is the program's name.
pub fn call(args: impl IntoIterator<Item = OsString>) -> Result<Called, Failure> {
    let cli = parsed(args).map_err(|error| {
        let text = error.to_string();
        Failure(text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned())
    })?;
    let (exit, output::Collected { printed, said }) = output::collect(|| dispatch(cli));
    Ok(Called { exit: exit?, printed, said })
}

fn parsed(args: impl IntoIterator<Item = OsString>) -> Result<args::Cli, clap::Error> {
    let mut program = help::program();
    let matches = program.try_get_matches_from_mut(args)?;
    args::Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut program))
}

/// Opens a contract by path or built-in name, and returns it with the warnings about it.
pub fn contract(name: &str) -> Result<(Contract, Vec<String>), Failure> {
    let (contract, collected) = output::collect(|| contract::open_for_evaluation(name));
    Ok((contract?, collected.said))
}

/// Compiles the text of a contract.
pub fn parse_contract(text: &str) -> Result<Contract, Failure> {
    let source = Source::from_bytes("contract", text.as_bytes().to_vec())?;
    contract::valid("the text", Compiler::default().compile_in(source, None))
}

fn dispatch(cli: args::Cli) -> Result<Exit, Failure> {
    let Some(command) = cli.command else { return command::first::run(&cli.first) };
    match command {
        args::Command::Predict(args) => command::predict::run(&args),
        args::Command::Profile(args) => command::profile::run(&args),
        args::Command::Choose(args) => command::choose::run(&args),
        args::Command::Plan(args) => command::plan::run(&args),
        args::Command::Machine(args) => command::machine::run(&args),
        args::Command::Bench(args) => command::bench::run(&args),
        args::Command::Plot(args) => command::plot::run(&args),
        args::Command::Gate(args) => command::gate::run(&args),
        args::Command::Calibrate(args) => command::calibrate::run(&args),
        args::Command::Evidence(args) => command::evidence::run(&args),
        args::Command::Devices(args) => command::devices::run(&args),
        args::Command::Models(args) => command::models::run(&args),
        args::Command::Contract(args) => match args.command {
            args::ContractCommand::Check(args) => command::check::run(&args),
            args::ContractCommand::Fmt(args) => command::fmt::run(&args),
            args::ContractCommand::Prove(args) => command::prove::run(&args),
            args::ContractCommand::Eval(args) => command::eval::run(&args),
            args::ContractCommand::Expand(args) => command::expand::run(&args),
            args::ContractCommand::Diff(args) => command::diff::run(&args),
            args::ContractCommand::Doc(args) => command::doc::run(&args),
            args::ContractCommand::Import(args) => command::import::run(&args),
            args::ContractCommand::List(args) => command::contracts::run(&args),
        },
        args::Command::Schema(args) => command::schema::run(&args),
        args::Command::Completions(args) => command::completions::run(&args),
        args::Command::Man(args) => command::man::run(&args),
    }
}
