//! The part of `cargo xtask lint` that finds phrases which the style guide replaces, in all texts of the project.
//!
//! `xtask/prose.txt` lists justified uses as `PATH: TEXT OF THE LINE`.

use std::process::Command;

use regex_lite::Regex;

use crate::{read, root};

/// A phrase and its replacement.
const RULES: &[(&str, &str)] = &[
    (r"\bheld back\b|\bholds? (it|them) back\b", "memory-bound, compute-bound, or the limiting resource"),
    (r"\bfor want of\b", "because … is missing"),
    (r"\b([Nn]o|[Ss]ome|[Aa]ny)body\b", "name the actor, or use the passive"),
    (r"\bbeside\b", "next to, compared with, in addition to"),
    (r"\b(is|are|was|were) no [a-z]", "is not a, has no"),
    (r", and no [a-z]", "not"),
    (r"\bmend(s|ed|ing)?\b", "fix"),
    (r"\b(rows|those|ones|devices|speeds) alike\b", "comparable results"),
    (r"\b(so|as) many (of|as|tokens|devices|bytes)\b", "up to N, at most N"),
    (r"^\s*//[/!] (What|Whether|How|The same)\b", "lead with the noun or the verb"),
];

/// Extensions of files with text.
const ENDINGS: [&str; 9] = [".rs", ".md", ".yaml", ".yml", ".py", ".pyi", ".txt", ".toml", ".js"];

/// Reports every line with a phrase that is not listed in the exceptions.
pub fn run() -> Result<(), String> {
    let root = root();
    let allowed = read(&root.join("xtask/prose.txt"))?;
    let rules: Vec<(Regex, &str)> = RULES
        .iter()
        .map(|(pattern, instead)| Ok((Regex::new(pattern).map_err(|error| error.to_string())?, *instead)))
        .collect::<Result<_, String>>()?;
    let listed = Command::new("git")
        .args(["ls-files"])
        .current_dir(&root)
        .output()
        .map_err(|error| format!("git ls-files: {error}"))?;
    let listed = String::from_utf8_lossy(&listed.stdout);
    let mut found = Vec::new();
    for path in listed.lines().filter(|path| has_text(path)) {
        for (number, line) in read(&root.join(path))?.lines().enumerate() {
            // "There is no" is idiomatic, unlike "it is no".
            let checked = line.replace("here is no ", "").replace("here are no ", "");
            let Some((_, instead)) = rules.iter().find(|(rule, _)| rule.is_match(&checked)) else { continue };
            if !allowed.lines().any(|allowed| allowed == format!("{path}: {}", line.trim())) {
                found.push(format!("{path}:{}: {}\n    instead: {instead}", number + 1, line.trim()));
            }
        }
    }
    match found.as_slice() {
        [] => Ok(()),
        found => Err(format!("{}\n{} lines differ from STYLE.md", found.join("\n"), found.len())),
    }
}

/// Excludes fixtures, which are third-party texts, and the rules themselves.
fn has_text(path: &str) -> bool {
    let own = !path.contains("/fixtures/") && !path.contains("/corpus/") && !path.starts_with("xtask/");
    own && path != "STYLE.md" && ENDINGS.iter().any(|ending| path.ends_with(ending))
}
