//! Certificates as files for the independent checker, and as theorems for Coq.

use std::path::Path;
use std::process::{Command, Stdio};

use roofline_checker::{Certificate, CheckError, RULES, check};
use roofline_contracts::certify::{self, certify, coq, judged, problem};
use roofline_contracts::contract::Contract;
use roofline_contracts::prove::Proof;

use crate::cli::Failure;
use crate::cli::output;
use crate::cli::output::file::{OutputFile, create_directory};
use roofline_machine::storage;

/// The certificate of a contract with the verdict of the checker.
pub struct Certified {
    certificate: Certificate,
    verdicts: Vec<Result<(), CheckError>>,
    /// `true` if the certificate is about this contract, so that at most single proofs are refused.
    whole: bool,
}

impl Certified {
    /// Searches for a certificate, or reads the one in a directory.
    pub fn new(contract: &Contract, directory: Option<&Path>) -> Result<Certified, Failure> {
        let id = &contract.metadata.id;
        let (certificate, checked) = match directory {
            Some(directory) => {
                let certificate = read(&directory.join(file_name(id)))?;
                let checked = check(&problem(contract), &certificate);
                (certificate, checked)
            }
            None => {
                let certificate = certify(contract);
                let checked = check(&certificate.about, &certificate);
                (certificate, checked)
            }
        };
        let verdicts = match checked {
            Ok(verdicts) => verdicts,
            Err(refusal) => {
                let message = format!("{id}: the certificate is refused: {refusal}");
                if directory.is_none() {
                    return Err(Failure(message));
                }
                // A certificate for another contract refutes all of its proofs.
                output::log(&message);
                let verdicts = contract.obligations.iter().map(|_| Err(refusal.clone())).collect();
                return Ok(Certified { certificate, verdicts, whole: false });
            }
        };
        Ok(Certified { certificate, verdicts, whole: true })
    }

    /// Returns the verdict of the checker on the obligation at `position`, and `false` if it is a refusal.
    pub fn verdict(&self, position: usize, id: &str) -> (&'static str, bool) {
        let present = self.certificate.proofs.iter().any(|proof| proof.id == id);
        match self.verdicts.get(position) {
            Some(Ok(())) => ("proven", true),
            Some(Err(_)) if present => ("refused", false),
            _ => ("no certificate", true),
        }
    }

    /// Returns the proofs of the obligations, with the verdicts of the checker.
    pub fn judged(&self, contract: &Contract) -> Vec<Proof> {
        let accepted: Vec<bool> = self.verdicts.iter().map(Result::is_ok).collect();
        judged(contract, &accepted)
    }

    /// Returns the steps of a proof, or the goal that remains open.
    pub fn trace(&self, contract: &Contract, proof: &Proof) -> Vec<String> {
        match proof.method {
            "certificate" => certify::trace(contract, &self.certificate, &proof.id),
            _ => proof.missing.iter().cloned().collect(),
        }
    }

    /// Returns the reasons of single refusals; a refusal of the whole certificate was reported by `new`.
    pub fn refusals(&self) -> impl Iterator<Item = String> {
        let about = self.certificate.about.obligations.iter().zip(&self.verdicts);
        about.filter(|_| self.whole).filter_map(|(question, verdict)| {
            let present = self.certificate.proofs.iter().any(|proof| proof.id == question.id);
            let refusal = verdict.as_ref().err().filter(|_| present)?;
            Some(format!("{}: {}: refused: {refusal}", self.certificate.about.contract, question.id))
        })
    }

    /// Writes the certificate to a directory.
    pub fn write(&self, contract: &Contract, directory: &Path) -> Result<(), Failure> {
        let text = serde_json::to_string(&self.certificate)
            .map_err(|error| Failure(format!("cannot write the certificate: {error}")))?;
        OutputFile::open(&directory.join(file_name(&contract.metadata.id)))?.finish(&(text + "\n"))
    }

    /// Writes the theorems next to the rules and returns the verdict of Coq, if it is installed.
    pub fn theorems(&self, contract: &Contract, coq: &Coq<'_>) -> Result<Option<bool>, Failure> {
        let file = format!("{}.v", contract.metadata.id.replace('-', "_"));
        let text = coq::theorems(contract, &self.certificate);
        OutputFile::open(&coq.directory.join(&file))?.finish(&text)?;
        Ok(if coq.runs { coqc(coq.directory, &file) } else { None })
    }
}

/// The directory for theorems, and the availability of Coq.
pub struct Coq<'a> {
    directory: &'a Path,
    runs: bool,
}

impl<'a> Coq<'a> {
    /// Writes and compiles the rules, because older objects may stem from other rules or another Coq.
    pub fn new(directory: &'a Path) -> Result<Coq<'a>, Failure> {
        create_directory(directory)?;
        let rules = directory.join("Rules.v");
        OutputFile::open(&rules)?.finish(RULES)?;
        let accepted = coqc(directory, "Rules.v");
        if accepted == Some(false) {
            let message = "coqc rejects the rules; install Flocq 4 (Debian package libcoq-flocq)";
            return Err(Failure(format!("{}: {message}", rules.display())));
        }
        if accepted.is_none() {
            output::log("Coq: not run: cannot find coqc on the PATH");
        }
        Ok(Coq { directory, runs: accepted.is_some() })
    }
}

/// Returns the verdict of Coq on a file, or `None` without Coq.
fn coqc(directory: &Path, file: &str) -> Option<bool> {
    let mut command = Command::new("coqc");
    let status = command.args(["-q", file]).current_dir(directory).stdin(Stdio::null()).status();
    status.ok().map(|status| status.success())
}

fn file_name(id: &str) -> String {
    format!("{id}.certificate.json")
}

fn read(path: &Path) -> Result<Certificate, Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure(format!("{}: {error}", path.display()));
    // Checked before opening, because opening a pipe blocks until it has a writer.
    if !std::fs::metadata(path).map_err(|error| wrong(&error))?.is_file() {
        return Err(wrong(&"not a regular file"));
    }
    let text = storage::read(path).map_err(|error| wrong(&error))?;
    serde_json::from_str(&text).map_err(|error| wrong(&format!("invalid certificate: {error}")))
}
