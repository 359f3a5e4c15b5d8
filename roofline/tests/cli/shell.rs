//! `roofline completions` and `roofline man` as shells and readers get them.

use crate::program::{commands, err, out, run};

#[test]
fn every_shell_completes_every_command() {
    let commands = commands();
    assert!(commands.len() > 3, "{commands:?}");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = run(&["completions", shell]);
        let script = out(&output);
        assert!(output.status.success());
        for command in &commands {
            assert!(script.contains(command), "{shell} does not know {command}");
        }
    }
    assert_eq!(run(&["completions", "command.com"]).status.code(), Some(2));
}

#[test]
fn the_manual_has_a_page_for_the_program_and_for_each_command() {
    let page = out(&run(&["man"]));
    assert!(page.contains(".TH roofline 1"), "{page}");
    for command in commands() {
        assert!(page.contains(&format!("roofline\\-{command}(1)")), "{command} is not in {page}");
        let output = run(&["man", &command]);
        assert!(output.status.success());
        let page = out(&output);
        assert!(
            page.contains(".SH NAME\nroofline\\-") && page.contains(&command.replace('-', "\\-")),
            "{page}"
        );
    }
}

#[test]
fn completions_know_devices_models_and_formats() {
    for shell in ["bash", "zsh", "fish"] {
        let script = out(&run(&["completions", shell]));
        for known in ["h100_sxm", "q4_k_m", "neon-dotprod", "bf16", "llama.cpp-cuda"] {
            assert!(script.contains(known), "{shell} does not know {known}");
        }
    }
    for known in ["llama_3_1_8b", "transformer-v1"] {
        assert!(out(&run(&["completions", "bash"])).contains(known), "{known}");
    }
}

#[test]
fn help_has_commands_by_task_and_examples_and_the_manual_its_usual_sections() {
    let help = out(&run(&["--help"]));
    for part in ["Will a model run, and how fast:", "Write and prove contracts:", "Examples:\n  roofline\n"] {
        assert!(help.contains(part), "{part}: {help}");
    }
    assert!(out(&run(&["gate", "--help"])).contains("Examples:\n  roofline gate main.json now.json"));
    for page in [out(&run(&["man"])), out(&run(&["man", "plot"]))] {
        let sections = [".SH EXAMPLES", ".SH \"EXIT STATUS\"", ".SH ENVIRONMENT", ".SH FILES"];
        assert!(sections.iter().all(|section| page.contains(section)), "{page}");
    }
}

#[test]
fn a_command_without_a_page_is_refused_with_the_commands_there_are() {
    let output = run(&["man", "nonsense"]);
    let text = err(&output);
    assert_eq!(output.status.code(), Some(2));
    assert!(text.contains("\"nonsense\"") && text.contains("plot"), "{text}");
}
