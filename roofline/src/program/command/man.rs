//! `roofline man`: manual pages, generated from the argument definitions.

use clap::Command;
use clap::builder::Resettable;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::program::{Exit, Failure, cli, help, output};

/// Prints the page.
pub fn run(args: &cli::Man) -> Result<Exit, Failure> {
    let mut program = help::program();
    // Gives each command its full name and the options that all share.
    program.build();
    let (page, examples) = match &args.command {
        None => (Man::new(without_examples(program)), help::examples("roofline")),
        Some(name) => match program.find_subcommand(name) {
            Some(command) => (Man::new(without_examples(command.clone())), help::examples(name)),
            None => {
                let names: Vec<&str> = program.get_subcommands().map(|command| command.get_name()).collect();
                return Err(Failure(format!(
                    "{name}: unknown command; expected one of {}",
                    names.join(", ")
                )));
            }
        },
    };
    let mut out = Vec::new();
    page.render(&mut out)?;
    let examples: Vec<_> = examples.iter().map(|(line, what)| (line.as_str(), what.as_str())).collect();
    let lists: [(&str, &[(&str, &str)]); 4] = [
        ("EXAMPLES", &examples),
        ("EXIT STATUS", &help::EXITS),
        ("ENVIRONMENT", &help::ENVIRONMENT),
        ("FILES", &help::FILES),
    ];
    for (title, entries) in lists {
        let mut section = Roff::new();
        section.control("SH", [title]);
        for (term, what) in entries {
            section.control("TP", []).text([bold(*term)]).text([roman(*what)]);
        }
        out.extend(section.to_roff().bytes());
    }
    output::write(&out)?;
    Ok(Exit::Fine)
}

/// Examples have a section of their own.
fn without_examples(command: Command) -> Command {
    command.after_help(Resettable::Reset)
}
