//! SMT solvers on the PATH, as an independent check of the verdicts.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cli::{About, Failure};

/// Time limit per script in seconds. Claims that compare rounded products do not terminate.
const SECONDS: u32 = 5;

/// An installed solver.
#[derive(Debug)]
pub struct Solver {
    program: PathBuf,
    name: &'static str,
    /// Name and version.
    pub version: String,
}

/// The answer of a solver to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// No counterexample exists.
    Agrees,
    /// A counterexample exists.
    Disagrees,
    /// Timeout, or the lemmas do not suffice.
    Undecided,
}

impl Answer {
    pub fn name(self) -> &'static str {
        match self {
            Answer::Agrees => "proven",
            Answer::Disagrees => "refuted",
            Answer::Undecided => "undecided",
        }
    }
}

impl Solver {
    /// Supported solvers, in order of preference.
    pub const NAMES: [&'static str; 3] = ["z3", "cvc5", "bitwuzla"];

    /// Finds a solver on the PATH.
    pub fn find() -> Option<Solver> {
        let path = std::env::var_os("PATH")?;
        for name in Solver::NAMES {
            let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
            let programs = std::env::split_paths(&path).map(|directory| directory.join(&file));
            for program in programs.filter(|program| program.is_file()) {
                let Ok(output) = Command::new(&program).arg("--version").stdin(Stdio::null()).output() else {
                    continue;
                };
                let text = String::from_utf8_lossy(&output.stdout);
                let line = text.lines().next().unwrap_or_default().trim();
                let version = if line.contains(name) { line.to_owned() } else { format!("{name} {line}") };
                return Some(Solver { program, name, version });
            }
        }
        None
    }

    /// Runs a script. If `weaker` states that the script approximates rounded operations, a model is not a counterexample.
    pub fn run(&self, script: &Path, weaker: bool) -> Result<Answer, Failure> {
        let limit = match self.name {
            "z3" => format!("-T:{SECONDS}"),
            "cvc5" => format!("--tlimit={SECONDS}000"),
            _ => format!("--time-limit={SECONDS}000"),
        };
        let output = Command::new(&self.program).arg(limit).arg(script).stdin(Stdio::null()).output();
        let output = output.about(format_args!("{}: cannot run", self.program.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        if text.contains("(error") {
            let message = text.lines().find(|line| line.contains("(error")).unwrap_or_default().to_owned();
            return Err(Failure(format!(
                "{}: {} rejects the script: {message}",
                script.display(),
                self.version
            )));
        }
        Ok(match text.lines().map(str::trim).find(|line| matches!(*line, "sat" | "unsat")) {
            Some("unsat") => Answer::Agrees,
            Some("sat") if !weaker => Answer::Disagrees,
            _ => Answer::Undecided,
        })
    }
}
