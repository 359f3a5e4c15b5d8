//! Definitions of the command line, nothing else.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::output::Format;

/// How fast can this model go on this machine, what holds it back, and how far is the code from that
/// ceiling?
#[derive(Debug, Parser)]
#[command(name = "roofline", version, about, arg_required_else_help = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What the program can do; one file in this directory each.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Draw saved results again, several in one chart.
    Plot(Plot),
}

/// Arguments of `plot`.
#[derive(Debug, Args)]
pub struct Plot {
    /// Saved JSON results.
    #[arg(required = true, value_name = "RESULT.json")]
    pub results: Vec<PathBuf>,
    /// How to print the chart.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Where else to draw.
    #[command(flatten)]
    pub pictures: Pictures,
}

/// How and where a command draws its chart.
#[derive(Debug, Args)]
pub struct Pictures {
    /// Write the chart as an SVG picture.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write the chart as one HTML page that needs nothing else.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Draw in the terminal with ASCII only.
    #[arg(long)]
    pub ascii: bool,
}
