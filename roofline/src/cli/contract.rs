//! Opening a contract by path or built-in name.

use std::path::{Path, PathBuf};

use roofline_contracts::contract::{Contract, Verdict};
use roofline_contracts::report::Severity;
use roofline_contracts::{Compiled, Compiler, check_on_proven, library};

use crate::cli::{Failure, output};

/// Compiles a contract. Dependencies are searched in its directory. Fails only if a file cannot be read.
pub fn compiled(name: &str, compiler: &mut Compiler) -> Result<Compiled, Failure> {
    let found = library::find(name, Some(Path::new(".")))?;
    Ok(compiler.compile_in(found.source, found.path.as_deref().and_then(Path::parent)))
}

/// Opens a valid and proven contract, and prints warnings on standard error.
pub fn open(name: &str) -> Result<Contract, Failure> {
    let compiled = compiled(name, &mut Compiler::default())?;
    for warning in compiled.rendered(Severity::Warning) {
        output::log(&warning);
    }
    valid(name, compiled)
}

/// Opens a contract for evaluation. Refuted obligations are errors as in [`open`]; undecided ones cause a note on standard
/// error.
pub fn open_for_evaluation(name: &str) -> Result<Contract, Failure> {
    let compiled = compiled(name, &mut Compiler::default())?;
    let undecided: Vec<&str> = (compiled.proofs.iter())
        .filter(|proof| proof.verdict == Verdict::Unknown)
        .map(|proof| proof.id.as_str())
        .collect();
    let refuted = compiled.proofs.iter().any(|proof| proof.verdict == Verdict::Refuted);
    if undecided.is_empty() || refuted {
        return open(name);
    }
    output::log(&format!(
        "{name}: note: neither proven nor refuted: {}; see `roofline contract prove {name}`",
        undecided.join(", ")
    ));
    Ok(checked(name)?.0)
}

/// Opens a contract without proving its own obligations, and returns it with its directory.
pub fn checked(name: &str) -> Result<(Contract, Option<PathBuf>), Failure> {
    let found = library::find(name, Some(Path::new(".")))?;
    let directory = found.path.as_deref().and_then(Path::parent).map(Path::to_owned);
    let contract = valid(name, check_on_proven(found.source, directory.as_deref()))?;
    Ok((contract, directory))
}

/// Returns the contract, or an error with all diagnostics.
pub fn valid(name: &str, compiled: Compiled) -> Result<Contract, Failure> {
    let errors: Vec<String> = compiled.rendered(Severity::Error).collect();
    let invalid = || Failure(format!("{name}: invalid contract\n\n{}", errors.join("\n\n")));
    compiled.contract.ok_or_else(invalid)
}
