//! Output files: regular files are replaced atomically, links are followed, and other files are written to.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::process::{Command, Stdio};

use crate::program::{MACHINE, command, err, out, rejected, run};
use roofline_test_support::scratch;

fn plot(to: &str) -> std::process::Output {
    run(&["plot", MACHINE, "--svg", to])
}

#[test]
fn links_are_followed_and_permissions_kept() {
    let directory = scratch::directory("output-links");
    let (file, link, dangling) = (directory.join("a.svg"), directory.join("l.svg"), directory.join("d.svg"));
    fs::write(&file, "old").expect("written");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("set");
    symlink("a.svg", &link).expect("linked");
    symlink("new.svg", &dangling).expect("linked");
    for link in [&link, &dangling] {
        assert_eq!(plot(link.to_str().expect("text")).status.code(), Some(0));
        assert!(fs::symlink_metadata(link).expect("there").is_symlink(), "{}", link.display());
    }
    assert!(fs::read_to_string(&file).expect("read").starts_with("<svg"));
    assert_eq!(fs::metadata(&file).expect("there").permissions().mode() & 0o777, 0o640);
    assert!(fs::read_to_string(directory.join("new.svg")).expect("read").starts_with("<svg"));
    let circle = directory.join("c.svg");
    symlink("c.svg", &circle).expect("linked");
    assert_eq!(plot(circle.to_str().expect("text")).status.code(), Some(2));
    let left: Vec<_> =
        fs::read_dir(&directory).expect("read").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left.len(), 5, "temporary files remain: {left:?}");
}

#[test]
fn a_read_only_file_is_not_replaced() {
    let file = scratch::directory("output-read-only").join("a.svg");
    fs::write(&file, "old").expect("written");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).expect("set");
    // The superuser may write to read-only files.
    let writable = fs::OpenOptions::new().write(true).open(&file).is_ok();
    assert_eq!(plot(file.to_str().expect("text")).status.code(), Some(if writable { 0 } else { 2 }));
    assert_eq!(fs::read_to_string(&file).expect("read").starts_with("<svg"), writable);
}

#[test]
#[cfg(target_os = "linux")]
fn dev_stdout_is_standard_output_even_if_redirected_to_a_file() {
    let file = scratch::directory("output-stdout").join("a.svg");
    let shell = "exec \"$0\" plot \"$1\" --svg /dev/stdout > \"$2\"";
    let program = env!("CARGO_BIN_EXE_roofline");
    let status =
        Command::new("sh").args(["-c", shell, program, MACHINE]).arg(&file).status().expect("sh runs");
    assert!(status.success());
    let text = fs::read_to_string(&file).expect("read");
    assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"), "{text}");
}

#[test]
fn pipes_are_written_to_and_kept() {
    let pipe = scratch::directory("output-pipes").join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    let reader = Command::new("cat").arg(&pipe).stdout(Stdio::piped()).spawn().expect("cat runs");
    let output = command().args(["plot", MACHINE, "--svg"]).arg(&pipe).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&reader.wait_with_output().expect("cat ends")).starts_with("<svg"));
    assert!(fs::symlink_metadata(&pipe).expect("there").file_type().is_fifo());
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_device_is_an_error_and_is_kept() {
    let output = plot("/dev/full");
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("/dev/full: cannot write"), "{}", err(&output));
    assert!(fs::symlink_metadata("/dev/full").expect("there").file_type().is_char_device());
}

#[test]
fn calibrations_and_pages_of_contracts_follow_links_too() {
    let directory = scratch::directory("output-others");
    let runs = directory.join("runs.json");
    fs::write(&runs, include_str!("../fixtures/m2-ultra.json")).expect("written");
    let runs = runs.to_str().expect("text");
    for args in [&["calibrate", runs][..], &["contract", "doc", "roofline-model-v1"]] {
        let (target, link) = (directory.join(format!("{}.target", args[0])), directory.join(args[0]));
        symlink(&target, &link).expect("linked");
        let (to, link) = ([args, &["--output", link.to_str().expect("text")]].concat(), &link);
        assert_eq!(run(&to).status.code(), Some(0), "{to:?}");
        assert!(fs::symlink_metadata(link).expect("there").is_symlink(), "{to:?}");
        let dash = out(&run(&[args, &["--output", "-"]].concat()));
        assert!(!dash.is_empty() && dash == fs::read_to_string(&target).expect("read"), "{dash}");
        if cfg!(target_os = "linux") {
            rejected(&[args, &["--output", "/dev/full"]].concat(), "/dev/full: cannot write");
        }
    }
}
