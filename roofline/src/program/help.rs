//! Help in addition to the argument definitions in `cli`: commands grouped by task, examples, and the sections of manual pages on
//! exit codes, variables and files.

use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory};
use roofline_contracts::library;

use crate::contracts::hardware::devices::ALL;
use crate::contracts::quantization::formats;
use crate::isa;
use crate::model::{KNOWN, Mix};
use crate::program::cli::Cli;
use crate::record::Engine;
use crate::word::Precision;

/// Commands grouped by task; each command is in one group.
pub const TASKS: [(&str, &[&str]); 5] = [
    ("Predict and buy", &["predict", "choose", "plan", "devices", "models", "evidence", "calibrate"]),
    ("Measure", &["machine", "bench", "profile"]),
    ("Plot and compare", &["plot", "gate"]),
    ("Contracts", &["check", "fmt", "prove", "eval", "expand", "diff", "doc", "import", "contracts"]),
    ("Shell integration", &["schema", "completions", "man", "help"]),
];

/// Examples for the program and for each command: a command line, followed by its purpose.
const EXAMPLES: &str = include_str!("examples.txt");

/// Exit codes.
pub const EXITS: [(&str, &str); 3] = [
    ("0", "success; every check holds"),
    ("1", "a check, requirement or gate does not hold or is inconclusive"),
    ("2", "invalid arguments or input; no file is partially written"),
];

/// Environment variables.
pub const ENVIRONMENT: [(&str, &str); 7] = [
    ("ROOFLINE_MACHINE", "saved machine to use instead of measuring this one"),
    ("NO_COLOR", "disables colors if set and not empty; output to a pipe and TERM=dumb has none"),
    ("CLICOLOR_FORCE", "enables colors in a pipe if set, not empty and not 0"),
    (
        "COLUMNS",
        "width of tables and charts if standard output is not a terminal; without it, tables have their full width",
    ),
    ("LC_ALL, LC_CTYPE, LANG", "character set of the output: UTF-8 or ASCII"),
    ("XDG_CACHE_HOME", "directory of saved measurements"),
    ("XDG_CONFIG_HOME", "directory of devices.yaml"),
];

/// Files read and written.
pub const FILES: [(&str, &str); 2] = [
    (
        "~/.cache/roofline",
        "measurements of this machine by CPU, threads, buffer size and version, and calibrations; delete them with \
         `roofline machine --clear-cache`, ignore them with --refresh or --no-cache",
    ),
    ("~/.config/roofline/devices.yaml", "additional devices, in the contract language"),
];

/// Returns the examples of a command, or of the program for the name `roofline`.
fn shown(command: &str) -> String {
    let behind = EXAMPLES.lines().skip_while(|line| *line != command).skip(1);
    let lines: Vec<&str> = behind.take_while(|line| line.starts_with(' ')).collect();
    format!("Examples:\n{}", lines.join("\n"))
}

/// Returns the command lines of the examples, each with its purpose.
pub fn examples(command: &str) -> Vec<(String, String)> {
    let shown = shown(command);
    let lines: Vec<&str> = shown.lines().skip(1).map(str::trim).collect();
    lines.chunks_exact(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())).collect()
}

/// Returns the command line definitions with grouped commands and examples.
pub fn program() -> Command {
    let program = Cli::command();
    let width = TASKS.iter().flat_map(|(_, names)| names.iter()).map(|name| name.len()).max().unwrap_or(0);
    let mut lists = String::new();
    for (task, names) in TASKS {
        lists += &format!("{task}:\n");
        for name in names {
            let about = program.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
            let about = about.unwrap_or_else(|| "Print this message or the help of a command".into());
            lists += &format!("  {name:width$}  {about}\n");
        }
        lists.push('\n');
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{lists}Options:\n{{options}}{{after-help}}"
    );
    program.help_template(template).after_help(shown("roofline")).mut_subcommands(|command| {
        let examples = shown(command.get_name());
        command.after_help(examples)
    })
}

/// Returns the definitions for completions, which suggest known devices, models, formats and contracts. Parsing accepts other
/// values too.
pub fn completed() -> Command {
    let devices: Vec<&str> = std::iter::once("this").chain(ALL.iter().map(|device| device.name)).collect();
    let formats: Vec<&str> = formats::ALL.iter().map(|format| format.name).collect();
    let stored: Vec<&str> = formats.iter().copied().chain(Mix::names()).collect();
    let contracts: Vec<&str> =
        library::BUILT_IN.iter().filter_map(|(file, _)| file.strip_suffix(".yaml")).collect();
    // Leaked once, shortly before the program exits.
    let engines = Engine::all().into_keys().map(|engine| &*engine.to_string().leak()).collect();
    let known: [(&str, Vec<&'static str>); 11] = [
        ("on", devices.clone()),
        ("host", devices),
        ("quant", stored.clone()),
        ("change", stored),
        ("cache", formats),
        ("precision", Precision::ALL.iter().map(|precision| precision.name()).collect()),
        ("isa", isa::NAMES.to_vec()),
        ("engine", engines),
        ("model", KNOWN.iter().map(|model| model.name).collect()),
        ("contract", contracts.clone()),
        ("contracts", contracts),
    ];
    let mut program = program();
    let commands: Vec<String> =
        program.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    for command in commands {
        program = program.mut_subcommand(&command, |mut command| {
            for (id, values) in &known {
                if command.get_arguments().any(|arg| arg.get_id() == id) {
                    let parser = PossibleValuesParser::new(values.clone());
                    command = command.mut_arg(id, |arg| arg.value_parser(parser));
                }
            }
            command
        });
    }
    program
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches;

    /// Splits a line like a shell; only single quotes are supported.
    fn words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quoted = false;
        for character in line.chars() {
            match character {
                '\'' => quoted = !quoted,
                ' ' if !quoted => words.push(String::new()),
                other => words.last_mut().unwrap().push(other),
            }
        }
        words
    }

    #[test]
    fn every_command_is_in_one_group_and_has_examples() {
        let names: Vec<String> =
            program().get_subcommands().map(|command| command.get_name().to_owned()).collect();
        for name in &names {
            let lists = TASKS.iter().filter(|(_, names)| names.contains(&name.as_str())).count();
            assert_eq!(lists, 1, "{name}");
            assert!(!examples(name).is_empty(), "{name} has no examples");
        }
        assert_eq!(TASKS.iter().map(|(_, names)| names.len()).sum::<usize>(), names.len() + 1, "and help");
    }

    #[test]
    fn every_example_parses() {
        let commands: Vec<&str> = EXAMPLES.lines().filter(|line| !line.starts_with(' ')).collect();
        for (name, (line, _)) in
            commands.iter().flat_map(|name| examples(name).into_iter().map(move |one| (*name, one)))
        {
            let matches = program().try_get_matches_from(words(&line));
            let taken = matches.and_then(|matches| Cli::from_arg_matches(&matches));
            assert!(taken.is_ok(), "{line}: {:?}", taken.err());
            let command = format!("roofline {name}");
            assert!(name == "roofline" || line.starts_with(&command), "{line} is not an example of {name}");
        }
    }
}
