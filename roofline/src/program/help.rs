//! Help beside the definitions of `cli`: commands by what people want to do, examples, and what manual pages say of exit codes,
//! variables and files.

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

/// Commands by what people want to do; every command is in one of the lists.
pub const TASKS: [(&str, &[&str]); 5] = [
    (
        "Will a model run, and how fast",
        &["predict", "choose", "plan", "devices", "models", "evidence", "calibrate"],
    ),
    ("Measure this machine, and code on it", &["machine", "bench", "profile"]),
    ("Draw and compare what was measured", &["plot", "gate"]),
    (
        "Write and prove contracts",
        &["check", "fmt", "prove", "eval", "expand", "diff", "doc", "import", "contracts"],
    ),
    ("The program itself", &["schema", "completions", "man", "help"]),
];

/// Examples of the program and of each command, as their help shows them: a command line, and below it what it is for.
const EXAMPLES: &str = include_str!("examples.txt");

/// How the program exits.
pub const EXITS: [(&str, &str); 3] = [
    ("0", "everything asked for was done, and every check held"),
    ("1", "a check, a requirement or a gate did not hold, or could not be told"),
    ("2", "wrong use or bad input; nothing is half written"),
];

/// Variables that it reads.
pub const ENVIRONMENT: [(&str, &str); 7] = [
    ("ROOFLINE_MACHINE", "a saved machine to take in place of measuring this one"),
    ("NO_COLOR", "no colours if it is set and not empty; a pipe and TERM=dumb get none either"),
    ("CLICOLOR_FORCE", "colours in a pipe too, if it is set, not empty and not 0"),
    (
        "COLUMNS",
        "the width of tables and charts where standard output is no terminal; tables in a pipe are as wide as they are without it",
    ),
    ("LC_ALL, LC_CTYPE, LANG", "whether anything but ASCII can be shown"),
    ("XDG_CACHE_HOME", "where measurements are kept"),
    ("XDG_CONFIG_HOME", "where devices of your own are found"),
];

/// Files that it keeps and reads.
pub const FILES: [(&str, &str); 2] = [
    (
        "~/.cache/roofline",
        "measurements of this machine by processor, threads, size of the buffers and version, and what `calibrate` found; \
         `roofline machine --clear-cache` forgets them, --refresh measures again, --no-cache neither reads nor writes them",
    ),
    ("~/.config/roofline/devices.yaml", "devices of your own, in the contract language"),
];

/// The examples of a command, or of the program under the name `roofline`.
fn shown(command: &str) -> String {
    let behind = EXAMPLES.lines().skip_while(|line| *line != command).skip(1);
    let lines: Vec<&str> = behind.take_while(|line| line.starts_with(' ')).collect();
    format!("Examples:\n{}", lines.join("\n"))
}

/// The command lines of these examples, and what each is for.
pub fn examples(command: &str) -> Vec<(String, String)> {
    let shown = shown(command);
    let lines: Vec<&str> = shown.lines().skip(1).map(str::trim).collect();
    lines.chunks_exact(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())).collect()
}

/// The definitions of the command line with their help.
pub fn program() -> Command {
    let program = Cli::command();
    let width = TASKS.iter().flat_map(|(_, names)| names.iter()).map(|name| name.len()).max().unwrap_or(0);
    let mut lists = String::new();
    for (task, names) in TASKS {
        lists += &format!("{task}:\n");
        for name in names {
            let about = program.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
            let about = about.unwrap_or_else(|| "Print this message or the help of a command".into());
            // The first clause says enough where commands are chosen.
            let end = [": ", "; ", ", "].iter().filter_map(|mark| about.find(mark)).min();
            let about = about[..end.unwrap_or(about.len())].trim_end_matches('.');
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

/// The same for completions: what is chosen from a list that the program knows has its values. They are suggestions; parsing
/// takes other spellings, files and figures too.
pub fn completed() -> Command {
    let devices: Vec<&str> = std::iter::once("this").chain(ALL.iter().map(|device| device.name)).collect();
    let formats: Vec<&str> = formats::ALL.iter().map(|format| format.name).collect();
    let stored: Vec<&str> = formats.iter().copied().chain(Mix::names()).collect();
    let contracts: Vec<&str> =
        library::BUILT_IN.iter().filter_map(|(file, _)| file.strip_suffix(".yaml")).collect();
    // They are asked for once, by a program that ends then.
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

    /// The words of a line as a shell takes them; quotes are single.
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
    fn every_command_is_in_one_list_and_has_examples() {
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
    fn every_example_is_a_line_that_the_program_takes() {
        let commands: Vec<&str> = EXAMPLES.lines().filter(|line| !line.starts_with(' ')).collect();
        for (name, (line, _)) in
            commands.iter().flat_map(|name| examples(name).into_iter().map(move |one| (*name, one)))
        {
            let matches = program().try_get_matches_from(words(&line));
            let taken = matches.and_then(|matches| Cli::from_arg_matches(&matches));
            assert!(taken.is_ok(), "{line}: {:?}", taken.err());
            let command = format!("roofline {name}");
            assert!(name == "roofline" || line.starts_with(&command), "{line} is no example of {name}");
        }
    }
}
