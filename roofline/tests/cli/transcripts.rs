//! Runs the `console` blocks of the README and of `docs/`, and the cases in `cases/`. With `UPDATE_DOCS=1`, which
//! `cargo xtask docs` sets, they are rewritten instead of compared.
//!
//! A page of the documentation is one session, on the machine `docs/machine.json`. A case is a `##` section of
//! `cases/TOPIC.md`, with the files of the page before its first section, on the machine `tests/fixtures/machine.json`.
//! Next to the directory of each session are links: `../roofline` to this checkout, `../contracts`, `../fixtures` to
//! `tests/fixtures`, and `../models` to `tests/models/fixtures`.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use roofline_test_support::transcript::{Checked, Session, check, link, parallel, sections};

use crate::program::commands;

/// The root of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Starts a session in an empty directory of this name, on a saved machine.
fn session(name: &str, machine: &str) -> Session {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("transcripts").join(name);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).expect("the directory can be created");
    let directory = fs::canonicalize(directory).expect("the file exists");
    let parent = directory.parent().expect("the directory has a parent");
    let tests = root().join("roofline/tests");
    let [fixtures, models] = ["fixtures", "models/fixtures"].map(|path| tests.join(path));
    let checkout = ("roofline", root());
    link(
        parent,
        &[checkout, ("contracts", root().join("contracts")), ("fixtures", fixtures), ("models", models)],
    );

    let program = Path::new(env!("CARGO_BIN_EXE_roofline"));
    let binaries = program.parent().expect("the program is in a directory").display();
    let path = format!("{binaries}:{}", std::env::var("PATH").unwrap_or_default());
    let mut variables: Vec<(OsString, OsString)> = vec![
        ("PATH".into(), path.into()),
        ("LANG".into(), "C.UTF-8".into()),
        ("COLUMNS".into(), "100".into()),
        ("HOME".into(), directory.clone().into()),
        ("ROOFLINE_MACHINE".into(), fs::canonicalize(root().join(machine)).expect("the file exists").into()),
        // Crates of the pages share a target directory, and are built offline.
        ("CARGO_TARGET_DIR".into(), Path::new(env!("CARGO_TARGET_TMPDIR")).join("consumers").into()),
        ("CARGO_NET_OFFLINE".into(), "true".into()),
        // Hides the repository of this checkout from git.
        ("GIT_CEILING_DIRECTORIES".into(), parent.into()),
    ];
    for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"] {
        variables.push((name.into(), "reader".into()));
    }
    for name in ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
        variables.push((name.into(), "reader@example.invalid".into()));
    }
    for (name, usual) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        let home = || Some(Path::new(&std::env::var_os("HOME")?).join(usual).into());
        variables.extend(std::env::var_os(name).or_else(home).map(|value| (name.into(), value)));
    }
    Session { directory, variables, separate_stderr: false }
}

/// Compares a file with its expected content, or rewrites it.
#[track_caller]
fn settle(path: &Path, text: &str, checked: Checked) {
    if std::env::var_os("UPDATE_DOCS").is_none() {
        let differences = checked.differences.join("\n");
        assert!(differences.is_empty(), "{differences}\n`cargo xtask docs` rewrites {}", path.display());
    } else if checked.page != text {
        fs::write(path, checked.page).expect("a page is written");
    }
}

/// Returns the paths of all documentation pages, relative to the root.
fn pages() -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("README.md")];
    let mut directories = vec![PathBuf::from("docs")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(root().join(&directory)).expect("the documentation is there") {
            let entry = entry.expect("a directory can be read");
            let path = directory.join(entry.file_name());
            if entry.file_type().expect("a file has a type").is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn console_blocks_of_the_documentation_are_current() {
    let checked = parallel(&pages(), |page| {
        let name = page.display().to_string();
        let session = session(&format!("docs/{}", name.replace('/', "-")), "docs/machine.json");
        let path = root().join(page);
        let text = fs::read_to_string(&path).expect("a page can be read");
        if text.contains("```toml Cargo.toml") {
            // Uses the versions of this workspace, so that nothing is fetched.
            let lock = session.directory.join("Cargo.lock");
            fs::copy(root().join("Cargo.lock"), lock).expect("it can be copied");
        }
        let checked = check(&name, 1, &text, &session);
        (path, text, checked)
    });
    for (path, text, checked) in checked {
        settle(&path, &text, checked);
    }
}

#[test]
fn every_command_has_a_page() {
    for command in commands() {
        let page = format!("docs/commands/{command}.md");
        assert!(root().join(&page).exists(), "{page} is missing");
        let index = fs::read_to_string(root().join("docs/commands/README.md")).expect("the file exists");
        assert!(index.contains(&format!("[{command}]({command}.md)")), "{command} is not in the index");
    }
}

/// Runs the sections of `cases/TOPIC.md`.
#[track_caller]
fn cases(topic: &str) {
    let name = format!("roofline/tests/cli/cases/{topic}.md");
    let path = root().join(&name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    let sections = sections(&text);
    let (_, shared) = &sections[0];
    assert!(!shared.contains("```console"), "{name}: a command before the first section");
    let checked = parallel(&sections, |(line, section)| {
        let mut session = session(&format!("{topic}/{line}"), "roofline/tests/fixtures/machine.json");
        session.separate_stderr = true;
        check(&name, 1, shared, &session);
        check(&name, line + 1, section, &session)
    });
    let page = checked.iter().map(|one| one.page.as_str()).collect();
    let differences = checked.into_iter().flat_map(|one| one.differences).collect();
    settle(&path, &text, Checked { page, differences });
}

/// Defines a test for each topic.
macro_rules! topics {
    ($($topic:ident)*) => {
        mod topic {
            $(#[test] fn $topic() { super::cases(stringify!($topic)); })*
        }

        #[test]
        fn every_topic_has_a_test() {
            let mut files: Vec<String> = (fs::read_dir(root().join("roofline/tests/cli/cases")).expect("the file exists"))
                .map(|entry| entry.expect("listed").path().with_extension("").file_name().expect("a name").display().to_string())
                .collect();
            files.sort();
            assert_eq!(files, [$(stringify!($topic)),*]);
        }
    };
}

topics! {
    bench
    calibrate
    check
    choose
    devices
    diff
    doc
    eval
    evidence
    expand
    expected
    first
    fmt
    gate
    import
    machine
    on
    output
    plan
    plot
    predict
    profile
    prove
    schema
    shell
}
