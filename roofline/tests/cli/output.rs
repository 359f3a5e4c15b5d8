//! Where outputs go: regular files appear whole, links are followed, and what is no regular file is written to, never replaced.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::process::{Command, Stdio};

use crate::program::{MACHINE, command, err, out, printed, refused, run};
use crate::scratch;

fn plot(to: &str) -> std::process::Output {
    run(&["plot", MACHINE, "--svg", to])
}

#[test]
fn a_dash_is_standard_output_and_has_it_alone() {
    let output = plot("-");
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let shown = out(&output);
    assert!(shown.starts_with("<svg") && shown.trim_end().ends_with("</svg>"), "{shown}");
    refused(&["plot", MACHINE, "--svg", "-", "--html", "-"], "only one of them");
}

#[test]
fn links_are_followed_and_permissions_stay() {
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
    assert_eq!(left.len(), 5, "no part is left: {left:?}");
}

#[test]
fn pipes_are_written_to_and_stay_pipes() {
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
fn a_full_device_is_an_error_and_stays_a_device() {
    let output = plot("/dev/full");
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("/dev/full: can't be written"), "{}", err(&output));
    assert!(fs::symlink_metadata("/dev/full").expect("there").file_type().is_char_device());
}

#[test]
fn source_is_printed_as_it_is_however_narrow_the_terminal() {
    for args in [&["contracts", "hardware-v1"][..], &["expand", "hardware-v1.yaml"]] {
        let narrow = command().args(args).env("COLUMNS", "40").output().expect("it starts");
        assert_eq!(out(&narrow), printed(args));
    }
}
