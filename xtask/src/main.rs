//! Maintenance tasks of the project: `cargo xtask COMMAND`.

mod accept;
mod contracts;
mod fingerprints;
mod ledger;
mod lint;
mod proofs;
mod prose;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask accept            update every file that is derived from the contracts
cargo xtask docs              rewrite the output shown by the documentation and by roofline/tests/cli/cases
cargo xtask evidence          rewrite docs/EVIDENCE.md and its picture
cargo xtask kani FILE         print the table of the results of `cargo kani --export-json FILE`
cargo xtask kani FILE --write write it into docs/PROOFS.md; modules that did not run keep their rows
cargo xtask lint              check the rules for sources and prose that clippy cannot express";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["accept"] => accept::run(),
        ["docs"] => accept::docs(),
        ["evidence"] => accept::evidence(),
        ["lint"] => lint::run().and_then(|()| prose::run()),
        ["kani", file] => proofs::print(Path::new(file)),
        ["kani", file, "--write"] => proofs::write(Path::new(file)),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The directory of the workspace.
fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_owned()
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: cannot be read: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: cannot be written: {error}", path.display()))
}
