//! Transcripts: Markdown pages whose `console` blocks are run and compared with what the commands print.
//!
//! ````text
//! ```yaml small.yaml
//! content of the file `small.yaml`, for the following commands
//! ```
//!
//! ```console
//! $ roofline contract check small.yaml \
//! > --format json | jq -c '.files[0].path'
//! "small.yaml"
//! $ roofline contract check missing.yaml
//! [stderr]
//! error: [..]
//! [exit code 2]
//! ```
//! ````
//!
//! Commands are run by `sh`, and a line that ends in `\` continues after `> `. `...` matches any lines except the markers for
//! standard error and the exit code, `[..]` matches any part of a line, and `[CWD]` is the directory of the session. A
//! filter after the last `| jq -c` is applied by this module, see [`crate::filter`]: `jq` is not needed, and the exit code
//! remains that of the command. A YAML block named `.gguf`, `.safetensors` or `.onnx` describes a model file of zeros, see
//! [`crate::file`]. A block whose content contains fences needs a longer fence.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{file, filter};

const STDERR: &str = "[stderr]";
const EXIT: &str = "[exit code";
const SIGNAL: &str = "[ended by a signal]";

/// The place and the environment of a transcript's commands.
pub struct Session {
    pub directory: PathBuf,
    /// The complete environment.
    pub variables: Vec<(OsString, OsString)>,
    /// Prints standard error after a line `[stderr]` instead of interleaved with the output.
    pub separate_stderr: bool,
}

impl Session {
    /// Runs a command and returns its output, with a line for an exit code other than 0.
    pub fn run(&self, command: &str) -> Vec<String> {
        let (command, filter) = match command.rsplit_once("| jq -c ") {
            Some((command, filter)) => (command, Some(filter.trim().trim_matches('\''))),
            None => (command, None),
        };
        let script = if self.separate_stderr { command } else { &format!("{{ {command}\n}} 2>&1") };
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).current_dir(&self.directory).env_clear();
        let output = shell.envs(self.variables.iter().cloned()).output().expect("sh starts");
        let mut lines = match filter {
            Some(filter) => filter::lines(filter, &output.stdout),
            None => lines(&output.stdout),
        };
        if self.separate_stderr && !output.stderr.is_empty() {
            lines.push(STDERR.to_owned());
            lines.extend(self::lines(&output.stderr));
        }
        match output.status.code() {
            Some(0) => {}
            Some(code) => lines.push(format!("{EXIT} {code}]")),
            None => lines.push(SIGNAL.to_owned()),
        }
        let here = self.directory.display().to_string();
        lines.iter().map(|line| line.replace(&here, "[CWD]")).collect()
    }

    /// Writes the file of a block.
    fn write(&self, name: &str, lines: &[String]) {
        let path = self.directory.join(name);
        fs::create_dir_all(path.parent().expect("a parent directory")).expect("the directory can be created");
        let text = lines.join("\n") + "\n";
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("gguf" | "safetensors" | "onnx") => file::write(&path, &text),
            _ => fs::write(path, text).expect("the file can be written"),
        }
    }
}

fn lines(bytes: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(bytes).replace('\r', "").lines().map(str::to_owned).collect()
}

/// The corrected page and the differences.
#[derive(Debug, PartialEq)]
pub struct Checked {
    pub page: String,
    pub differences: Vec<String>,
}

/// Runs a page as one session. `first` is the number of its first line in the file `name`.
pub fn check(name: &str, first: usize, page: &str, session: &Session) -> Checked {
    let (mut written, mut differences) = (Vec::new(), Vec::new());
    for part in parse(page) {
        match part {
            Part::Prose(lines) => written.extend(lines),
            Part::File { name, lines, fence, info } => {
                session.write(&name, &lines);
                written.push(format!("{fence}{info}"));
                written.extend(lines);
                written.push(fence);
            }
            Part::Console { line, fence, steps } => {
                written.push(format!("{fence}console"));
                for Step { command, expected } in steps {
                    let found = session.run(&command);
                    let merged = merge(&expected, &found);
                    assert!(
                        !merged.iter().any(|line| line.starts_with(&fence)),
                        "{name}:{}: the output has {fence}; use a longer fence",
                        first + line
                    );
                    if merged != expected {
                        differences.push(format!(
                            "{name}:{}: $ {command}\n--- expected\n{}\n--- printed\n{}\n",
                            first + line,
                            expected.join("\n"),
                            found.join("\n")
                        ));
                    }
                    written.push(format!("$ {}", command.replace('\n', "\n> ")));
                    written.extend(merged);
                }
                written.push(fence);
            }
        }
    }
    Checked { page: written.join("\n") + "\n", differences }
}

/// Splits a page at `##` headings and returns the parts with the numbers of their first lines.
pub fn sections(page: &str) -> Vec<(usize, String)> {
    let mut sections = vec![(0, String::new())];
    let mut fence: Option<&str> = None;
    for (number, line) in page.lines().enumerate() {
        match fence {
            Some(open) if line == open => fence = None,
            None if line.starts_with("```") => fence = Some(opening(line).0),
            None if line.starts_with("## ") => sections.push((number, String::new())),
            _ => {}
        }
        let (_, section) = sections.last_mut().expect("a section");
        *section += line;
        section.push('\n');
    }
    sections
}

/// Applies a function to all items, in parallel on all CPUs.
pub fn parallel<T: Sync, R: Send>(items: &[T], apply: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work = || {
        let numbers = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        let items = numbers.map_while(|number| Some((number, items.get(number)?)));
        items.map(|(number, item)| (number, apply(item))).collect::<Vec<_>>()
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let mut results = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no worker panics")).collect::<Vec<_>>()
    });
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

struct Step {
    command: String,
    expected: Vec<String>,
}

enum Part {
    Prose(Vec<String>),
    File { name: String, lines: Vec<String>, fence: String, info: String },
    Console { line: usize, fence: String, steps: Vec<Step> },
}

/// The backticks at the start of a line, and the rest.
fn opening(line: &str) -> (&str, &str) {
    line.split_at(line.len() - line.trim_start_matches('`').len())
}

fn parse(page: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let (fence, info) = opening(line);
        if fence.len() < 3 {
            match parts.last_mut() {
                Some(Part::Prose(prose)) => prose.push(line.to_owned()),
                _ => parts.push(Part::Prose(vec![line.to_owned()])),
            }
            continue;
        }
        let body: Vec<String> =
            lines.by_ref().map(|(_, line)| line.to_owned()).take_while(|line| line != fence).collect();
        let (fence, info) = (fence.to_owned(), info.to_owned());
        parts.push(match info.split_once(' ') {
            Some((_, name)) => Part::File { name: name.trim().to_owned(), lines: body, fence, info },
            None if info == "console" => Part::Console { line: number + 1, fence, steps: steps(&body) },
            None => Part::Prose([vec![line.to_owned()], body, vec![fence]].concat()),
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
            (.., None) => panic!("expected `$ command` at the start of a console block, found {line:?}"),
        }
    }
    steps
}

/// A step of the cheapest alignment of two texts.
#[derive(Clone, Copy)]
enum Move {
    End,
    /// `...` matches no further lines.
    Close,
    /// `...` matches the next line.
    Skip,
    Pair,
    Remove,
    Insert,
}

/// The found lines, with the wildcards of the expected lines where these still match; the expected lines if all match.
fn merge(expected: &[String], found: &[String]) -> Vec<String> {
    if !expected.iter().any(|line| line == "..." || line.contains("[..]")) {
        return found.to_vec();
    }
    let (rows, columns) = (expected.len() + 1, found.len() + 1);
    let mut best = vec![(0.0, Move::End); rows * columns];
    for i in (0..rows).rev() {
        for j in (0..columns).rev() {
            let cost = |i: usize, j: usize| best[i * columns + j].0;
            let (more, left) = (i + 1 < rows, j + 1 < columns);
            let moves = if more && expected[i] == "..." {
                let skip = left && !is_marker(&found[j]);
                [Some((cost(i + 1, j), Move::Close)), skip.then(|| (cost(i, j + 1), Move::Skip)), None]
            } else {
                let difference = || 4.0 * difference(&expected[i], &found[j]);
                [
                    (more && left).then(|| (cost(i + 1, j + 1) + difference(), Move::Pair)),
                    more.then(|| (cost(i + 1, j) + 3.9, Move::Remove)),
                    left.then(|| (cost(i, j + 1) + 2.0, Move::Insert)),
                ]
            };
            let cheapest = moves.into_iter().flatten().min_by(|(a, _), (b, _)| f64::total_cmp(a, b));
            best[i * columns + j] = cheapest.unwrap_or((0.0, Move::End));
        }
    }
    let (mut i, mut j, mut merged) = (0, 0, Vec::new());
    loop {
        let (line, rows, skipped) = match best[i * columns + j].1 {
            Move::End => return merged,
            Move::Close => (Some(&expected[i]), 1, 0),
            Move::Skip => (None, 0, 1),
            Move::Pair if matches_line(&expected[i], &found[j]) => (Some(&expected[i]), 1, 1),
            Move::Pair => (Some(&found[j]), 1, 1),
            Move::Remove => (None, 1, 0),
            Move::Insert => (Some(&found[j]), 0, 1),
        };
        merged.extend(line.cloned());
        (i, j) = (i + rows, j + skipped);
    }
}

/// True for markers of standard error and exit codes, which `...` does not match.
fn is_marker(line: &str) -> bool {
    line == STDERR || line == SIGNAL || line.starts_with(EXIT)
}

/// True if a line matches the expected one with its wildcards `[..]`.
fn matches_line(expected: &str, found: &str) -> bool {
    let Some((first, rest)) = expected.split_once("[..]") else { return expected == found };
    let Some(mut found) = found.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split("[..]").collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some((_, behind)) = found.split_once(part) else { return false };
        found = behind;
    }
    found.ends_with(last)
}

/// The distance of two lines: 0 for a match, 1 without a common word.
fn difference(expected: &str, found: &str) -> f64 {
    if matches_line(expected, found) {
        return 0.0;
    }
    let mut others: Vec<&str> = found.split_whitespace().collect();
    let (count, total) = (others.len(), expected.split_whitespace().count());
    for word in expected.split_whitespace() {
        if let Some(place) = others.iter().position(|other| *other == word) {
            others.swap_remove(place);
        }
    }
    let common = (count - others.len()) as f64;
    // Positive for lines that differ.
    1.0 - 0.99 * 2.0 * common / (count + total).max(1) as f64
}

/// Creates links to these targets next to the session directories, so that paths are identical on all machines.
#[cfg(unix)]
pub fn link(directory: &Path, targets: &[(&str, PathBuf)]) {
    fs::create_dir_all(directory).expect("the directory can be created");
    for (name, target) in targets {
        // Another test may create it concurrently.
        let _ =
            std::os::unix::fs::symlink(fs::canonicalize(target).expect("it exists"), directory.join(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(test: &str) -> Session {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Session {
            directory: crate::scratch::directory(test),
            variables: vec![("PATH".into(), path)],
            separate_stderr: true,
        }
    }

    #[test]
    fn a_page_that_differs_is_reported_and_rewritten() {
        let right = "# Title\n\n```yaml a.txt\nhello\n```\n\n```console\n$ cat a.txt\nhello\n$ exit 3\n[exit code 3]\n```\n";
        let session = session("transcript-differs");
        let checked = check("right", 1, right, &session);
        assert_eq!(checked, Checked { page: right.to_owned(), differences: vec![] });
        let wrong = right.replace("cat a.txt\nhello", "cat a.txt\ngoodbye");
        let checked = check("wrong", 1, &wrong, &session);
        assert_eq!(checked.page, right);
        assert_eq!(checked.differences.len(), 1);
        assert!(checked.differences[0].starts_with("wrong:8: $ cat a.txt"), "{:?}", checked.differences);
    }

    #[test]
    fn long_commands_and_standard_error_are_shown() {
        let page = "````console\n$ echo one \\\n> two; echo three >&2\none two\n[stderr]\nthree\n$ echo '```'\n```\n````\n";
        let checked = check("long", 1, page, &session("transcript-long"));
        assert_eq!(checked, Checked { page: page.to_owned(), differences: vec![] });
    }

    #[test]
    fn wildcards_match_lines_and_survive_other_changes() {
        let merged = |expected: &str, found: &str| {
            let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
            merge(&lines(expected), &lines(found)).join("\n")
        };
        for (expected, found) in [
            ("a\n...\nd", "a\nb\nc\nd"),
            ("...", ""),
            ("a\n...", "a"),
            ("a [..] c[..]", "a b d c"),
            ("[..]", ""),
        ] {
            let found = if found.is_empty() && expected == "[..]" { "x" } else { found };
            assert_eq!(merged(expected, found), expected, "{found}");
        }
        for (expected, found, rewritten) in [
            ("a\n...\nd", "a\nb\nc", "a\n..."),
            ("a", "a\nb", "a\nb"),
            ("...\nd", "d\ne", "...\nd\ne"),
            ("one two\n...\nold last line", "one 2\nx\ny\nnew last line", "one 2\n...\nnew last line"),
            ("a\n...", "a\nb\n[exit code 2]", "a\n...\n[exit code 2]"),
            ("in [..] ms\ncount: 1", "in 7 ms\ncount: 2", "in [..] ms\ncount: 2"),
        ] {
            assert_eq!(merged(expected, found), rewritten, "{expected}");
        }
    }

    #[test]
    fn headings_outside_of_blocks_divide_a_page() {
        let page = "# T\n\n## A\n\n```console\n$ x\n## B\n```\n## C\n";
        let expected = [(0, "# T\n\n"), (2, "## A\n\n```console\n$ x\n## B\n```\n"), (8, "## C\n")];
        assert_eq!(sections(page), expected.map(|(line, text)| (line, text.to_owned())));
    }
}
