//! Output of `roofline completions` and `roofline man`.

use crate::program::{commands, out, run};

#[test]
fn completion_scripts_contain_every_command() {
    let commands = commands();
    assert!(commands.len() > 3, "{commands:?}");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = run(&["completions", shell]);
        let script = out(&output);
        assert!(output.status.success());
        for command in &commands {
            assert!(script.contains(command), "{command} is missing in {shell}");
        }
    }
}

#[test]
fn the_program_and_each_command_have_a_manual_page() {
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
fn completion_scripts_contain_devices_models_and_formats() {
    for shell in ["bash", "zsh", "fish"] {
        let script = out(&run(&["completions", shell]));
        for known in ["h100-sxm", "q4_k_m", "neon-dotprod", "bf16", "llama.cpp-cuda"] {
            assert!(script.contains(known), "{known} is missing in {shell}");
        }
    }
    for known in ["llama-3.1-8b", "transformer-v1"] {
        assert!(out(&run(&["completions", "bash"])).contains(known), "{known}");
    }
}
