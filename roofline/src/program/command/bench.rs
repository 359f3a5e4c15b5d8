//! `roofline bench`: the kernels at the shapes of real models, beside the measured roofs.

use crate::bench::{Bench, Options, count};
use crate::program::output::picture::Pictures;
use crate::program::output::terminal::Progress;
use crate::program::{Exit, Failure, cli, device, require};
use crate::report::Saved;
use roofline_machine::document;

/// Runs the kernels, or takes an earlier run's times, and says how near the roofs they come.
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
    let bench = match &args.replay {
        Some(path) => {
            let wrong = |reason: String| Failure(format!("{}: {reason}", path.display()));
            let text = document::read(path).map_err(|error| wrong(error.to_string()))?;
            let saved = Bench::from_json(&text).map_err(wrong)?;
            Bench::replay(saved, &machine, &options).map_err(|error| wrong(error.to_string()))?
        }
        None => {
            let progress = Progress::counting(count(&machine, &options));
            Bench::measure(&machine, &options, |what| progress.step(what))?
        }
    };
    pictures.show(&bench, args.format, false)?;
    Ok(require::exit(&require::check_report(&gates, &bench)))
}
