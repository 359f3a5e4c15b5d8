//! Help in addition to the argument definitions in `cli`: commands grouped by task, examples, and the sections of manual pages on
//! exit codes, variables and files.

use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory};
use roofline_contracts::library;

use crate::cli::args::Cli;
use crate::contracts::hardware::devices::ALL;
use crate::contracts::quantization::formats;
use crate::device::display_name;
use crate::evidence::Engine;
use crate::isa;
use crate::model::{self, KNOWN_MODELS, QuantMix};
use crate::vocabulary::Precision;

/// Commands grouped by task. The list of the program shows them; those that are not in it are for scripts.
pub const TASKS: [(&str, &[&str]); 5] = [
    ("Predict", &["predict", "profile", "models", "devices"]),
    ("Buy", &["choose", "plan"]),
    ("Measure", &["machine", "bench", "calibrate"]),
    ("Compare", &["plot", "gate", "evidence"]),
    ("Contracts", &["contract", "help"]),
];

/// Options that `-h` shows; `--help` shows all. Commands that are not listed show all options in both.
const SHORT: [(&str, &[&str]); 8] = [
    (
        "predict",
        &["on", "quant", "context", "prompt", "batch", "conditions", "require", "sweep", "explain", "format"],
    ),
    (
        "profile",
        &["on", "quant", "by", "phase", "top", "context", "measure", "llama_bench", "require", "format"],
    ),
    (
        "choose",
        &["on", "quant", "context", "batch", "min_speed", "conditions", "sort", "columns", "format", "html"],
    ),
    (
        "plan",
        &[
            "on",
            "quant",
            "users",
            "input",
            "output",
            "min_speed",
            "max_devices",
            "conditions",
            "require",
            "format",
        ],
    ),
    (
        "machine",
        &["quick", "refresh", "no_cache", "threads", "require", "format", "chart", "svg", "html", "isa"],
    ),
    ("bench", &["kernel", "shape", "only", "require", "quick", "threads", "format", "chart", "svg", "html"]),
    ("calibrate", &["model", "on", "output", "format"]),
    ("plot", &["on", "set", "point", "points", "title", "format", "svg", "html", "ascii"]),
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
        let name = command.get_name().to_owned();
        let command = match SHORT.iter().find(|(listed, _)| *listed == name) {
            Some((_, short)) => command.mut_args(|arg| {
                let hidden = !arg.is_positional() && !short.contains(&arg.get_id().as_str());
                arg.hide_short_help(hidden)
            }),
            None => command,
        };
        if name == "contract" {
            return command.mut_subcommands(|command| {
                let examples = shown(&format!("contract {}", command.get_name()));
                command.after_help(examples)
            });
        }
        command.after_help(shown(&name))
    })
}

/// Returns the definitions for completions, which suggest known devices, models, formats and contracts. Parsing accepts other
/// values too.
pub fn completed() -> Command {
    // Leaked once, shortly before the program exits.
    let leak = |name: String| -> &'static str { name.leak() };
    let names = ALL.iter().map(|device| leak(display_name(device.name)));
    let devices: Vec<&str> = ["this", "all"].into_iter().chain(names).collect();
    let formats: Vec<&str> = formats::ALL.iter().map(|format| format.name).collect();
    let stored: Vec<&str> = formats.iter().copied().chain(QuantMix::names()).collect();
    let contracts: Vec<&str> =
        library::BUILT_IN.iter().filter_map(|(file, _)| file.strip_suffix(".yaml")).collect();
    let engines = Engine::all().into_keys().map(|engine| &*engine.to_string().leak()).collect();
    let known: [(&str, Vec<&'static str>); 10] = [
        ("on", devices.clone()),
        ("host", devices),
        ("quant", stored),
        ("cache", formats),
        ("precision", Precision::ALL.iter().map(|precision| precision.name()).collect()),
        ("isa", isa::NAMES.to_vec()),
        ("engine", engines),
        ("model", KNOWN_MODELS.iter().map(|model| leak(model::display_name(model.name))).collect()),
        ("contract", contracts.clone()),
        ("contracts", contracts),
    ];
    let suggest = |command: Command| {
        command.mut_args(|arg| match known.iter().find(|(id, _)| arg.get_id() == id) {
            Some((_, values)) => arg.value_parser(PossibleValuesParser::new(values.clone())),
            None => arg,
        })
    };
    program().mut_subcommands(|command| suggest(command).mut_subcommands(suggest))
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
    fn every_command_has_examples_and_a_group_unless_it_is_hidden() {
        for command in program().get_subcommands().filter(|command| command.get_name() != "contract") {
            let name = command.get_name();
            let lists = TASKS.iter().filter(|(_, names)| names.contains(&name)).count();
            assert_eq!(lists, usize::from(!command.is_hide_set()), "{name}");
            assert!(!examples(name).is_empty(), "{name} has no examples");
        }
        let program = program();
        let contract = program.find_subcommand("contract").unwrap();
        for command in contract.get_subcommands() {
            let name = format!("contract {}", command.get_name());
            assert!(!examples(&name).is_empty(), "{name} has no examples");
        }
    }

    #[test]
    fn short_help_shows_at_most_ten_options_that_exist() {
        let program = program();
        for (name, short) in SHORT {
            let command = program.find_subcommand(name).unwrap();
            let ids: Vec<&str> = command.get_arguments().map(|arg| arg.get_id().as_str()).collect();
            assert!(short.len() <= 10, "{name}");
            assert!(short.iter().all(|id| ids.contains(id)), "{name}: {short:?} of {ids:?}");
        }
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
