//! `roofline fmt` as its users run it.

use std::io::Write;
use std::process::{Output, Stdio};

use crate::program::{command, err, file, out, run};

fn fmt(arguments: &[&str], input: &str) -> Output {
    let mut child = command()
        .arg("fmt")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("written");
    child.wait_with_output().expect("it ends")
}

#[test]
fn fmt_lays_files_out_once_and_check_changes_nothing() {
    let untidy = "# about\nquantities:\n    a: { domain: '[1,2]', unit: B }  # what\nmetadata: {description: x, version: 1.0.0}\n";
    let tidy = "metadata: {version: 1.0.0, description: x}\n\n# about\nquantities:\n  a: {unit: B, domain: \"[1, 2]\"}  # what\n";
    let name = &file("fmt-untidy.yaml", untidy);
    let output = run(&["fmt", "--check", name]);
    assert_eq!((output.status.code(), out(&output)), (Some(1), format!("{name}\n")));
    assert_eq!(std::fs::read_to_string(name).expect("read"), untidy);
    let output = run(&["fmt", name]);
    assert_eq!((output.status.code(), out(&output)), (Some(0), format!("{name}\n")));
    assert_eq!(std::fs::read_to_string(name).expect("read"), tidy);
    let output = run(&["fmt", "--check", name]);
    assert_eq!((output.status.code(), out(&output)), (Some(0), String::new()));

    let output = fmt(&["-"], untidy);
    assert_eq!((output.status.code(), out(&output).as_str()), (Some(0), tidy));
    assert_eq!(fmt(&["--check", "-"], untidy).status.code(), Some(1));

    let broken = &file("fmt-broken.yaml", "a: [1\n");
    let output = run(&["fmt", broken, "no-such.yaml", name]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        err(&output).contains("not valid YAML") && err(&output).contains("no such file"),
        "{}",
        err(&output)
    );
    assert_eq!(std::fs::read_to_string(broken).expect("read"), "a: [1\n");
}
