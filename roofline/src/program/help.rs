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

/// A command line, and what it is for.
type Example = (&'static str, &'static str);

/// Examples of the program as a whole.
const FIRST: [Example; 4] = [
    ("roofline", "measure this machine in a few seconds and draw its roofline"),
    ("roofline predict my-model.gguf", "what a model file can reach here, and what to expect"),
    (
        "roofline choose llama-3.1-8b --quant q4_k_m --at-least '20 token/s'",
        "which devices hold a model and are fast enough",
    ),
    (
        "roofline plot --point 'my kernel=0.25 [flop/B],12.3 [Gflop/s]'",
        "a kernel of your own under the roofs of this machine",
    ),
];

/// Examples of each command.
const EXAMPLES: [(&str, &[Example]); 24] = [
    (
        "predict",
        &[
            ("roofline predict my-model.gguf", "a model file on this machine"),
            (
                "roofline predict llama-3.1-8b --quant q4_k_m --on rtx-4090,h100-sxm",
                "a known model on two devices",
            ),
            (
                "roofline predict --params 8b --quant q8_0 --on 'bandwidth=256GB/s,compute=59TFLOP/s,memory=128GB'",
                "figures of your own",
            ),
            (
                "roofline predict llama-3.1-8b --on h100-sxm --sweep batch=1..64",
                "where decoding becomes compute-bound",
            ),
            (
                "roofline predict llama-3.1-8b --on t4 --require 'fits and decode_ceiling >= 30 [token/s]'",
                "exit with 1 unless it holds",
            ),
        ],
    ),
    (
        "choose",
        &[
            (
                "roofline choose llama-3.1-8b --quant q4_k_m --at-least '20 token/s'",
                "devices that do, and what the others are short of",
            ),
            (
                "roofline choose llama-3.1-70b --quant q4_k_m --where 'price < 2000' --sort price",
                "within a budget, the cheapest first",
            ),
        ],
    ),
    (
        "plan",
        &[(
            "roofline plan llama-3.1-70b --quant fp8 --users 32 --at-least '1000 token/s'",
            "the cheapest sets of devices for 32 users",
        )],
    ),
    (
        "devices",
        &[
            ("roofline devices rtx", "those whose name contains rtx"),
            (
                "roofline devices --where 'memory >= 24 [GB]' --sort bandwidth --columns memory,bandwidth,price",
                "figures that you choose",
            ),
        ],
    ),
    ("models", &[("roofline models llama", "known models with their dimensions")]),
    (
        "evidence",
        &[
            ("roofline evidence 4090", "published speeds of a device beside their ceilings"),
            ("roofline evidence --check results.csv", "exit with 1 when a claimed speed is impossible"),
        ],
    ),
    (
        "calibrate",
        &[("roofline calibrate run.json", "what to expect of this machine, from runs of llama-bench")],
    ),
    (
        "machine",
        &[
            (
                "roofline machine --html roofline.html",
                "measure thoroughly, keep it, and explore it in a browser",
            ),
            (
                "roofline machine --quick --no-cache --format json",
                "a reference beside a job of continuous integration",
            ),
            ("roofline machine --clear-cache", "forget what was measured"),
        ],
    ),
    (
        "bench",
        &[(
            "roofline bench --only lm_head --kernel q8_0",
            "one product beside the roofs, and beside reading its bytes",
        )],
    ),
    (
        "profile",
        &[
            ("roofline profile my-model.gguf --by kind", "where the time of one token goes"),
            (
                "roofline profile my-model.gguf --measure --format csv",
                "its weights through the kernels, operation by operation",
            ),
            (
                "roofline profile my-model.gguf --llama-bench run.json",
                "what llama-bench measured, beside the ceilings",
            ),
            ("roofline profile my-model.gguf --as q4_k_m --on rtx-4090", "what another format would do"),
        ],
    ),
    (
        "plot",
        &[
            (
                "roofline plot --point 'my kernel=0.25 [flop/B],12.3 [Gflop/s]'",
                "where the data of a kernel come from",
            ),
            (
                "roofline plot --points target/criterion --svg kernels.svg",
                "what criterion measured, as a picture",
            ),
            ("roofline plot machine.json bench.json --html page.html", "saved results in one page"),
        ],
    ),
    (
        "gate",
        &[
            (
                "roofline gate main.json now.json --format github",
                "exit with 1 when something got worse, with annotations",
            ),
            ("roofline gate main.json", "measure again with the settings of main.json, and compare"),
            (
                "roofline gate main-benchmarks.json benchmarks.json",
                "two runs of Google benchmarks, criterion, likwid-bench …",
            ),
        ],
    ),
    ("check", &[("roofline check my-model-v1.yaml", "every mistake at its place")]),
    ("fmt", &[("roofline fmt --check my-model-v1.yaml", "exit with 1 unless it is in canonical form")]),
    (
        "prove",
        &[("roofline prove my-model-v1.yaml --mutants", "prove it, and find what no obligation notices")],
    ),
    (
        "eval",
        &[(
            "roofline eval roofline-model-v1 --on h100-sxm --set total_params=7e9 --set bits_per_weight=4",
            "every equation at one point",
        )],
    ),
    ("expand", &[("roofline expand roofline-model-v1", "the Rust that the macro generates")]),
    ("diff", &[("roofline diff --git main", "what a change of contracts means")]),
    (
        "doc",
        &[(
            "roofline doc roofline-model-v1 --format html --output model.html",
            "a page of formulas and verdicts",
        )],
    ),
    (
        "import",
        &[(
            "roofline import old-contract.yaml --output contracts",
            "from the published provable-contracts format",
        )],
    ),
    ("contracts", &[("roofline contracts transformer-v1", "the text of a contract that ships")]),
    ("schema", &[("roofline schema machine", "the JSON Schema of `roofline machine --format json`")]),
    (
        "completions",
        &[("roofline completions bash", "a script for ~/.local/share/bash-completion/completions/roofline")],
    ),
    ("man", &[("roofline man gate", "a manual page, for `man ./roofline-gate.1`")]),
];

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

/// The examples of a command; those of the program for its own name.
pub fn examples(command: &str) -> &'static [Example] {
    EXAMPLES.iter().find(|(name, _)| *name == command).map_or(&FIRST, |(_, examples)| examples)
}

/// The definitions of the command line with their help.
pub fn program() -> Command {
    let mut program = Cli::command();
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
    program = program.help_template(template).after_help(shown(&FIRST));
    for (name, examples) in EXAMPLES {
        program = program.mut_subcommand(name, |command| command.after_help(shown(examples)));
    }
    program
}

fn shown(examples: &[Example]) -> String {
    let lines: Vec<String> = examples.iter().map(|(line, what)| format!("  {line}\n      {what}")).collect();
    format!("Examples:\n{}", lines.join("\n"))
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
            assert!(EXAMPLES.iter().any(|(of, _)| of == name), "{name} has no examples");
        }
        assert_eq!(TASKS.iter().map(|(_, names)| names.len()).sum::<usize>(), names.len() + 1, "and help");
    }

    #[test]
    fn every_example_is_a_line_that_the_program_takes() {
        let all = EXAMPLES
            .iter()
            .flat_map(|(name, examples)| examples.iter().map(move |example| (*name, example.0)));
        for (name, line) in all.chain(FIRST.map(|(line, _)| ("", line))) {
            let matches = program().try_get_matches_from(words(line));
            let taken = matches.and_then(|matches| Cli::from_arg_matches(&matches));
            assert!(taken.is_ok(), "{line}: {:?}", taken.err());
            assert!(
                line.starts_with(&format!("roofline {name}")) || name.is_empty(),
                "{line} is no example of {name}"
            );
        }
    }
}
