//! The device that a command was given: one of the table by its name, or this machine, measured.

use clap::Args;

use crate::contracts::hardware::devices::{ALL, Device, by_name};
use crate::isa::Isa;
use crate::peaks::{Machine, Options, parse_size};
use crate::program::Failure;
use crate::program::name::{normal, unknown_name};
use crate::program::output::terminal::Progress;

/// How this machine is measured.
#[derive(Debug, Args)]
pub struct Measuring {
    /// Measure in a few seconds, less exactly.
    #[arg(long)]
    pub quick: bool,
    /// Measure again even if this machine was measured before.
    #[arg(long)]
    pub refresh: bool,
    /// Neither read nor write saved measurements.
    #[arg(long)]
    pub no_cache: bool,
    /// Threads to measure with besides one; by default as many as can run at once.
    #[arg(long, value_name = "COUNT")]
    pub threads: Option<usize>,
    /// Buffers beyond the caches, such as 512MiB; by default eight times the last cache.
    #[arg(long, value_name = "BYTES", value_parser = size)]
    pub size: Option<usize>,
    /// Instruction set to use: scalar, avx2, neon or neon-dotprod; by default the best one.
    #[arg(long, value_name = "NAME")]
    pub isa: Option<String>,
}

/// Reads a size such as `512MiB`.
pub fn size(text: &str) -> Result<usize, &'static str> {
    parse_size(text).ok_or("a size is a number and B, KiB, MiB or GiB, such as 512MiB")
}

/// This machine, as these arguments want it measured.
pub fn this(args: &Measuring) -> Result<Machine, Failure> {
    let progress = Progress::new();
    Ok(Machine::this(&options(args)?, |what| progress.say(&format!("measuring {what}")))?)
}

/// What the arguments mean.
pub fn options(args: &Measuring) -> Result<Options, Failure> {
    Ok(Options {
        quick: args.quick,
        refresh: args.refresh,
        no_cache: args.no_cache,
        threads: args.threads,
        size: args.size,
        isa: args.isa.as_deref().map(Isa::named).transpose()?,
    })
}

/// The device of this name.
pub fn find(name: &str) -> Result<&'static Device, Failure> {
    by_name(&normal(name)).ok_or_else(|| unknown(name))
}

/// A name that is not in the table.
pub fn unknown(name: &str) -> Failure {
    unknown_name(name, "device", "roofline devices", ALL.iter().map(|device| device.name))
}
