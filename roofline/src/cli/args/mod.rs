//! Definitions of the command line, nothing else.

mod contract;
mod device;
mod measure;
mod parallel;
mod predict;

use clap::{Args, Parser, Subcommand};

pub use contract::*;
pub use device::*;
pub use measure::*;
pub use parallel::{Draft, Offloading};
pub use predict::*;

use crate::cli::output::Format;
use crate::cli::output::charts::ChartArgs;

/// How fast can this model run on this machine, what is the bottleneck, and how close is the code to the limit?
///
/// Without a command: measure this machine quickly, draw its roofline and show models on it. Nothing is saved.
#[derive(Debug, Parser)]
#[command(name = "roofline", version, about, args_conflicts_with_subcommands = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub first: First,
}

/// Arguments of the first run, which needs none.
#[derive(Debug, Args)]
pub struct First {
    /// Size of the buffers in memory
    #[arg(long, hide = true, value_name = "BYTES", value_parser = size)]
    pub size: Option<usize>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    #[command(flatten)]
    pub pictures: ChartArgs,
}

/// The subcommands; each has a file in `command`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Predict speed, memory and energy of a model, on this machine or other devices
    Predict(Box<Predict>),
    /// Profile the operations of a model file, predicted or measured
    Profile(Profile),
    /// Find devices that fit a model and are fast enough
    Choose(Choose),
    /// Find the cheapest sets of devices that serve a model
    Plan(Plan),
    /// Measure this machine and draw its roofline
    Machine(Machine),
    /// Benchmark the kernels at real model shapes against the measured roofs
    Bench(Bench),
    /// Draw saved results, kernels or contracts as a roofline chart
    Plot(Plot),
    /// Compare results with a baseline and exit with 1 on a regression
    Gate(Gate),
    /// Calibrate expected speeds with runs on your machine
    Calibrate(Calibrate),
    /// Compare published speeds with their ceilings, or check your own
    Evidence(Evidence),
    /// List the known devices
    Devices(Devices),
    /// List the models known by name
    Models(Models),
    /// Check, prove, evaluate, compare and document contracts
    Contract(Contract),
    /// Print the JSON Schema of an output or of the contract language
    #[command(hide = true)]
    Schema(Schema),
    /// Print a completion script for a shell
    #[command(hide = true)]
    Completions(Completions),
    /// Print a manual page
    #[command(hide = true)]
    Man(Man),
}

#[derive(Debug, Args)]
pub struct Completions {
    /// Shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub struct Man {
    /// Command, such as `predict` or `contract check` [default: the program]
    pub command: Vec<String>,
}

#[derive(Debug, Args)]
pub struct Schema {
    /// Schema, such as `machine`, `roofline.machine/1` or `contract` [default: list all]
    pub name: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}
