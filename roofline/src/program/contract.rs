//! Opening a contract by path or built-in name, as every command that takes one does.

use std::path::Path;

use roofline_contracts::contract::Contract;
use roofline_contracts::report::Severity;
use roofline_contracts::{Compiled, compile_in, library};

use super::Failure;

/// Compiles the contract of this path or built-in name; only a file that can't be read is a failure. What it depends
/// on is looked for beside it.
pub fn compiled(name: &str) -> Result<Compiled, Failure> {
    let found = library::find(name, Some(Path::new(".")))?;
    Ok(compile_in(found.source, found.path.as_deref().and_then(Path::parent)))
}

/// The contract of this path or built-in name. Warnings go to stderr; mistakes are the failure.
pub fn open(name: &str) -> Result<Contract, Failure> {
    let compiled = compiled(name)?;
    for warning in compiled.rendered(Severity::Warning) {
        eprintln!("{warning}");
    }
    match &compiled.contract {
        Some(contract) => Ok(contract.clone()),
        None => {
            let errors: Vec<String> = compiled.rendered(Severity::Error).collect();
            Err(Failure(format!("{name} is not a valid contract\n\n{}", errors.join("\n\n"))))
        }
    }
}
