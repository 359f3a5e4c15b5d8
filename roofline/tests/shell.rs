//! `roofline completions` and `roofline man` as shells and readers get them.

use assert_cmd::Command;

fn run(args: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_roofline")).args(args).output().expect("the program starts")
}

/// The commands that the program itself lists.
fn commands() -> Vec<String> {
    let help = String::from_utf8(run(&["--help"]).stdout).expect("UTF-8");
    let (_, list) = help.split_once("Commands:\n").expect("help lists the commands");
    let lines = list.lines().take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn every_shell_completes_every_command() {
    let commands = commands();
    assert!(commands.len() > 3, "{commands:?}");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = run(&["completions", shell]);
        let script = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(output.status.success());
        for command in &commands {
            assert!(script.contains(command), "{shell} does not know {command}");
        }
    }
    assert_eq!(run(&["completions", "command.com"]).status.code(), Some(2));
}

#[test]
fn the_manual_has_a_page_for_the_program_and_for_each_command() {
    let page = String::from_utf8(run(&["man"]).stdout).expect("UTF-8");
    assert!(page.contains(".TH roofline 1"), "{page}");
    for command in commands() {
        assert!(page.contains(&format!("roofline\\-{command}(1)")), "{command} is not in {page}");
        let output = run(&["man", &command]);
        assert!(output.status.success());
        let page = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(
            page.contains(".SH NAME\nroofline\\-") && page.contains(&command.replace('-', "\\-")),
            "{page}"
        );
    }
}

#[test]
fn a_command_without_a_page_is_refused_with_the_commands_there_are() {
    let output = run(&["man", "nonsense"]);
    let text = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2));
    assert!(text.contains("\"nonsense\"") && text.contains("plot"), "{text}");
}
