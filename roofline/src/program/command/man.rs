//! `roofline man`: manual pages from the same definitions that parse the arguments.

use clap::CommandFactory;
use clap_mangen::Man;

use crate::program::{Exit, Failure, cli, output};

/// Prints the page.
pub fn run(args: &cli::Man) -> Result<Exit, Failure> {
    let mut program = cli::Cli::command();
    // Gives each command its full name and the options that all share.
    program.build();
    let page = match &args.command {
        None => Man::new(program),
        Some(name) => match program.find_subcommand(name) {
            Some(command) => Man::new(command.clone()),
            None => {
                let names: Vec<&str> = program.get_subcommands().map(|command| command.get_name()).collect();
                return Err(Failure(format!(
                    "there is no command named {name:?}; there are {}",
                    names.join(", ")
                )));
            }
        },
    };
    let mut roff = Vec::new();
    page.render(&mut roff)?;
    output::write(&roff)?;
    Ok(Exit::Fine)
}
