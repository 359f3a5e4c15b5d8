//! `roofline bench`: the kernels at the shapes of real models, compared with the measured roofs.

use crate::bench::{Bench, Options, count};
use crate::cli::output::charts::Charts;
use crate::cli::output::terminal::Progress;
use crate::cli::{Exit, Failure, args, conditions, device};

/// Runs the kernels and compares them with the roofs.
pub fn run(args: &args::Bench) -> Result<Exit, Failure> {
    let names = conditions::Names::for_report::<Bench>();
    if names.help(&args.require)? {
        return Ok(Exit::Fine);
    }
    let gates = names.parse("--require", &args.require)?;
    let pictures = Charts::open(&args.pictures)?;
    let machine = device::this(&args.measuring)?;
    let options = Options {
        kernels: args.kernel.clone(),
        shapes: args.shape.clone(),
        only: args.only.clone(),
        quick: args.measuring.quick,
    };
    let progress = Progress::with_steps(count(&machine, &options));
    let bench = Bench::measure(&machine, &options, |what| progress.step(what))?;
    drop(progress);
    pictures.show(&bench, args.format, false)?;
    Ok(conditions::exit(&conditions::check_report(&gates, &bench)))
}
