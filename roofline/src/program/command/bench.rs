//! `roofline bench`: the kernels at the shapes of real models, compared with the measured roofs.

use crate::bench::{Bench, Options, count};
use crate::program::output::picture::Pictures;
use crate::program::output::terminal::Progress;
use crate::program::{Exit, Failure, cli, device, require};

/// Runs the kernels and compares them with the roofs.
pub fn run(args: &cli::Bench) -> Result<Exit, Failure> {
    let names = require::Names::of::<Bench>();
    if names.help(&args.require)? {
        return Ok(Exit::Fine);
    }
    let gates = names.parse("--require", &args.require)?;
    let pictures = Pictures::open(&args.pictures)?;
    let machine = device::this(&args.measuring)?;
    let options = Options {
        kernels: args.kernel.clone(),
        shapes: args.shape.clone(),
        only: args.only.clone(),
        quick: args.measuring.quick,
    };
    let progress = Progress::counting(count(&machine, &options));
    let bench = Bench::measure(&machine, &options, |what| progress.step(what))?;
    drop(progress);
    pictures.show(&bench, args.format, false)?;
    Ok(require::exit(&require::check_report(&gates, &bench)))
}
