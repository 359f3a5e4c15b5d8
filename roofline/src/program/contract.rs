//! Opening a contract by path or built-in name, as every command that takes one does.

use std::path::{Path, PathBuf};

use roofline_contracts::contract::{Contract, Verdict};
use roofline_contracts::report::Severity;
use roofline_contracts::{Compiled, Compiler, check_on_proven, library};

use crate::program::{Failure, output};

/// Compiles the contract of this path or built-in name; only a file that can't be read is a failure. What it depends
/// on is looked for beside it.
pub fn compiled(name: &str, compiler: &mut Compiler) -> Result<Compiled, Failure> {
    let found = library::find(name, Some(Path::new(".")))?;
    Ok(compiler.compile_in(found.source, found.path.as_deref().and_then(Path::parent)))
}

/// The contract of this path or built-in name. Warnings go to stderr; mistakes are the failure.
pub fn open(name: &str) -> Result<Contract, Failure> {
    let compiled = compiled(name, &mut Compiler::default())?;
    for warning in compiled.rendered(Severity::Warning) {
        output::say(&warning);
    }
    valid(name, compiled)
}

/// The contract to compute with. A claim that is false is a mistake as in [`open`]; one that is neither proven nor
/// refuted is no reason not to compute, and a note on stderr names it.
pub fn open_to_compute(name: &str) -> Result<Contract, Failure> {
    let compiled = compiled(name, &mut Compiler::default())?;
    let undecided: Vec<&str> = (compiled.proofs.iter())
        .filter(|proof| proof.verdict == Verdict::Unknown)
        .map(|proof| proof.id.as_str())
        .collect();
    let refuted = compiled.proofs.iter().any(|proof| proof.verdict == Verdict::Refuted);
    if undecided.is_empty() || refuted {
        return open(name);
    }
    output::say(&format!(
        "{name}: note: neither proven nor refuted: {}; `roofline prove {name}` says more",
        undecided.join(", ")
    ));
    Ok(checked(name)?.0)
}

/// The contract, checked but not proven, though what it depends on is, and the directory it is in.
pub fn checked(name: &str) -> Result<(Contract, Option<PathBuf>), Failure> {
    let found = library::find(name, Some(Path::new(".")))?;
    let directory = found.path.as_deref().and_then(Path::parent).map(Path::to_owned);
    let contract = valid(name, check_on_proven(found.source, directory.as_deref()))?;
    Ok((contract, directory))
}

/// The contract, or its mistakes.
pub fn valid(name: &str, compiled: Compiled) -> Result<Contract, Failure> {
    let errors: Vec<String> = compiled.rendered(Severity::Error).collect();
    let mistakes = || Failure(format!("{name} is not a valid contract\n\n{}", errors.join("\n\n")));
    compiled.contract.ok_or_else(mistakes)
}
