//! The device that a command was given: one of the table by its name, or this machine, measured.

use crate::contracts::hardware::devices::{ALL, Device, by_name};
use crate::isa::Isa;
use crate::peaks::{Machine, Options};
use crate::program::name::{normal, unknown_name};
use crate::program::output::terminal::Progress;
use crate::program::{Failure, cli};

/// This machine, as these arguments want it measured.
pub fn this(args: &cli::Measuring) -> Result<Machine, Failure> {
    let progress = Progress::new();
    Ok(Machine::this(&options(args)?, |what| progress.say(&format!("measuring {what}")))?)
}

/// What the arguments mean.
pub fn options(args: &cli::Measuring) -> Result<Options, Failure> {
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
