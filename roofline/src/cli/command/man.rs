//! `roofline man`: manual pages, generated from the argument definitions.

use clap::Command;
use clap::builder::Resettable;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::cli::{Exit, Failure, args, help, output};

/// Prints the page.
pub fn run(args: &args::Man) -> Result<Exit, Failure> {
    let mut program = help::program();
    // Gives each command its full name and the options that all share.
    program.build();
    let mut command = &program;
    for name in &args.command {
        command = command.find_subcommand(name).ok_or_else(|| {
            let names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
            Failure(format!("{name}: unknown command; expected one of {}", names.join(", ")))
        })?;
    }
    let name = if args.command.is_empty() { "roofline".to_owned() } else { args.command.join(" ") };
    let (page, examples) = (Man::new(without_examples(command.clone())), help::examples(&name));
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
