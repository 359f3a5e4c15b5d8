//! The documentation is run: every `console` block of the README and of `docs/` shows what the program prints. With `UPDATE_DOCS=1`,
//! which `cargo xtask docs` sets, the pages are rewritten instead of compared.
//!
//! A page is a session in a directory of its own, on the saved machine `docs/machine.json`. A block whose fence names a file, as in
//! `` ```yaml my-model-v1.yaml ``, is written there first; this checkout is `../roofline`, for crates that depend on it. Lines with `$` are run by `sh`, a line that ends in `\` goes on
//! after `>`, and an exit code that is not 0 is shown as `[exit code 1]`. A line `...` stands for any lines.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::commands;

/// The root of the workspace, where the pages are.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every page, by its path from the root.
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

/// A command of a page and what should follow it.
struct Step {
    command: String,
    expected: Vec<String>,
}

/// A part of a page.
enum Part {
    /// Lines that nothing is done with.
    Prose(Vec<String>),
    /// A file for the commands that follow, with its fences.
    File { name: String, lines: Vec<String>, all: Vec<String> },
    /// Commands, and the first line of the block in the page.
    Console { line: usize, steps: Vec<Step> },
}

fn parse(page: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(info) = line.strip_prefix("```").filter(|info| !info.is_empty()) else {
            match parts.last_mut() {
                Some(Part::Prose(prose)) => prose.push(line.to_owned()),
                _ => parts.push(Part::Prose(vec![line.to_owned()])),
            }
            continue;
        };
        let body: Vec<String> =
            lines.by_ref().map(|(_, line)| line.to_owned()).take_while(|line| line != "```").collect();
        let all = || [vec![line.to_owned()], body.clone(), vec!["```".to_owned()]].concat();
        parts.push(match info.split_once(' ') {
            Some((_, name)) => Part::File { name: name.trim().to_owned(), all: all(), lines: body },
            None if info == "console" => Part::Console { line: number + 1, steps: steps(&body) },
            None => Part::Prose(all()),
        });
    }
    parts
}

fn steps(lines: &[String]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in lines {
        let goes_on =
            steps.last().is_some_and(|step| step.expected.is_empty() && step.command.ends_with('\\'));
        match (line.strip_prefix("$ "), line.strip_prefix("> "), steps.last_mut()) {
            (Some(command), ..) => steps.push(Step { command: command.to_owned(), expected: Vec::new() }),
            (_, Some(more), Some(step)) if goes_on => step.command += &format!("\n{more}"),
            (.., Some(step)) => step.expected.push(line.clone()),
            (.., None) => panic!("a console block begins with `$ command`, not with {line:?}"),
        }
    }
    steps
}

/// What the command prints, in the page's directory.
fn run(command: &str, directory: &Path) -> Vec<String> {
    let program = Path::new(env!("CARGO_BIN_EXE_roofline"));
    let binaries = program.parent().expect("the program is in a directory").display();
    let output = Command::new("sh")
        .args(["-c", &format!("{{ {command}\n}} 2>&1")])
        .current_dir(directory)
        .env_clear()
        .env("PATH", format!("{binaries}:{}", std::env::var("PATH").unwrap_or_default()))
        .env("LANG", "C.UTF-8")
        .env("COLUMNS", "100")
        .env("HOME", directory)
        // Crates of the pages and of the tests share what they build, and fetch nothing.
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("consumers"))
        .env("CARGO_NET_OFFLINE", "true")
        .envs(["CARGO_HOME", "RUSTUP_HOME"].into_iter().filter_map(|name| Some((name, tools(name)?))))
        // A page is in no repository but the one it makes itself.
        .env("GIT_CEILING_DIRECTORIES", directory.parent().unwrap_or(directory))
        .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "reader")))
        .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "reader@example.invalid")))
        .env("ROOFLINE_MACHINE", fs::canonicalize(root().join("docs/machine.json")).expect("it is there"))
        .output()
        .expect("sh starts");
    let text = String::from_utf8(output.stdout).expect("UTF-8").replace('\r', "");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    match output.status.code() {
        Some(0) => {}
        Some(code) => lines.push(format!("[exit code {code}]")),
        None => lines.push("[ended by a signal]".to_owned()),
    }
    lines
}

/// Where cargo and rustup keep their things.
fn tools(name: &str) -> Option<PathBuf> {
    let usual = if name == "CARGO_HOME" { ".cargo" } else { ".rustup" };
    let home = || Some(Path::new(&std::env::var_os("HOME")?).join(usual));
    std::env::var_os(name).map(PathBuf::from).or_else(home)
}

/// A file of a page. A crate gets the versions of this workspace, so that nothing is fetched.
fn write(directory: &Path, name: &str, text: &str) {
    let path = directory.join(name);
    fs::create_dir_all(path.parent().expect("a file is in a directory")).expect("a directory can be made");
    fs::write(path, text).expect("a file can be written");
    if name == "Cargo.toml" {
        fs::copy(root().join("Cargo.lock"), directory.join("Cargo.lock")).expect("it can be copied");
    }
}

/// Whether the lines are the expected ones, where `...` stands for any number of lines.
fn matches(expected: &[String], found: &[String]) -> bool {
    match expected {
        [] => found.is_empty(),
        [first, rest @ ..] if first == "..." => {
            (0..=found.len()).any(|skipped| matches(rest, &found[skipped..]))
        }
        [first, rest @ ..] => found.first() == Some(first) && matches(rest, &found[1..]),
    }
}

/// Runs a page: the page as it should be, and a complaint for each step that differs.
fn check(name: &str, page: &str) -> (String, Vec<String>) {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("docs").join(name.replace('/', "-"));
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).expect("the test's own directory can be made");
    #[cfg(unix)]
    {
        // Made once; the next page finds it there.
        let checkout = fs::canonicalize(root()).expect("the workspace is there");
        let _ = std::os::unix::fs::symlink(checkout, directory.with_file_name("roofline"));
    }
    let (mut anew, mut complaints) = (Vec::new(), Vec::new());
    for part in parse(page) {
        match part {
            Part::Prose(lines) => anew.extend(lines),
            Part::File { name, lines, all } => {
                write(&directory, &name, &(lines.join("\n") + "\n"));
                anew.extend(all);
            }
            Part::Console { line, steps } => {
                anew.push("```console".to_owned());
                for Step { command, expected } in steps {
                    let found = run(&command, &directory);
                    anew.push(format!("$ {}", command.replace('\n', "\n> ")));
                    if matches(&expected, &found) {
                        anew.extend(expected);
                    } else {
                        complaints.push(format!(
                            "{name}:{line}: $ {command}\n--- the page has\n{}\n--- the program prints\n{}\n",
                            expected.join("\n"),
                            found.join("\n")
                        ));
                        anew.extend(found);
                    }
                }
                anew.push("```".to_owned());
            }
        }
    }
    (anew.join("\n") + "\n", complaints)
}

#[test]
fn every_page_shows_what_the_program_prints() {
    let update = std::env::var_os("UPDATE_DOCS").is_some();
    let mut complaints = Vec::new();
    for path in pages() {
        let page = fs::read_to_string(root().join(&path)).expect("a page can be read");
        let (anew, found) = check(&path.display().to_string(), &page);
        if update && anew != page {
            fs::write(root().join(&path), anew).expect("a page can be written");
        } else if !update {
            complaints.extend(found);
        }
    }
    assert!(complaints.is_empty(), "{}\n`cargo xtask docs` rewrites the pages", complaints.join("\n"));
}

#[test]
fn every_command_has_a_page() {
    for command in commands() {
        let page = format!("docs/commands/{command}.md");
        assert!(root().join(&page).exists(), "{page} is missing");
        let index = fs::read_to_string(root().join("docs/commands/README.md")).expect("it is there");
        assert!(index.contains(&format!("[{command}]({command}.md)")), "{command} is not in the index");
    }
}

#[test]
fn a_page_that_says_something_else_is_noticed_and_written_anew() {
    let right = "# Title\n\n```yaml a.txt\nhello\n```\n\n```console\n$ cat a.txt\nhello\n$ exit 3\n[exit code 3]\n```\n";
    assert_eq!(check("right", right), (right.to_owned(), vec![]));
    let wrong = right.replace("cat a.txt\nhello", "cat a.txt\ngoodbye");
    let (anew, complaints) = check("wrong", &wrong);
    assert_eq!(anew, right);
    assert_eq!(complaints.len(), 1);
    assert!(complaints[0].starts_with("wrong:7: $ cat a.txt"), "{}", complaints[0]);
}

#[test]
fn dots_stand_for_any_lines_and_for_nothing_else() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let same = |expected: &str, found: &str| matches(&lines(expected), &lines(found));
    assert!(same("a\n...\nd", "a\nb\nc\nd") && same("...", "") && same("a\n...", "a"));
    assert!(!same("a\n...\nd", "a\nb\nc") && !same("a", "a\nb") && !same("...\nd", "d\ne"));
}

#[test]
fn a_long_command_goes_on_in_the_next_line() {
    let page = "```console\n$ echo one \\\n> two\none two\n```\n";
    assert_eq!(check("long", page), (page.to_owned(), vec![]));
}
