//! `roofline machine`: the roofs of this machine, measured or from the cache.

use crate::cli::output::{self, charts::Charts};
use crate::cli::{Exit, Failure, args, conditions, device};
use crate::machine::{self, Machine, Options, RunPolicy};

/// Measures this machine and prints its roofs.
pub fn run(args: &args::Machine) -> Result<Exit, Failure> {
    if args.clear_cache {
        let removed = machine::directory().map_or(Ok(0), |directory| machine::clear(&directory))?;
        output::write(format!("removed {removed} saved measurement(s)\n").as_bytes())?;
        return Ok(Exit::Fine);
    }
    let names = conditions::Names::for_report::<Machine>();
    if names.help(&args.require)? {
        return Ok(Exit::Fine);
    }
    let gates = names.parse("--require", &args.require)?;
    let pictures = Charts::open(&args.pictures)?;
    let effort = RunPolicy { types: args.types.clone(), warm_up: args.warm_up, steps: args.steps };
    let machine = device::measure(&Options { effort, ..device::options(&args.measuring)? })?;
    for doubt in machine.roof_warnings() {
        output::log(&format!("warning: {doubt}"));
    }
    pictures.show(&machine, args.format, true)?;
    Ok(conditions::exit(&conditions::check_report(&gates, &machine)))
}
