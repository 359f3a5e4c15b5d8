//! Definitions of the command line, nothing else.

use clap::{Parser, Subcommand};

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
pub enum Command {}
