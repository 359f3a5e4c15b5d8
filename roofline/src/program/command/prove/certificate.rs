//! Certificates: proofs that an independent checker accepts, as files, and as theorems that Coq accepts.

use std::path::Path;
use std::process::{Command, Stdio};

use roofline_checker::{Certificate, RULES, Refusal, check};
use roofline_contracts::certify::{certify, coq, judged, problem};
use roofline_contracts::contract::Contract;
use roofline_contracts::prove::{Proof, prove};

use crate::program::Failure;
use crate::program::output::file::Unfinished;

/// The certificate of a contract, and what the checker says of it.
pub struct Certified {
    certificate: Certificate,
    verdicts: Vec<Result<(), Refusal>>,
}

impl Certified {
    /// Makes a certificate, or reads the one in a directory.
    pub fn new(contract: &Contract, directory: Option<&Path>) -> Result<Certified, Failure> {
        let id = &contract.metadata.id;
        let certificate = match directory {
            Some(directory) => read(&directory.join(file_name(id)))?,
            None => certify(contract),
        };
        let verdicts = check(&problem(contract), &certificate)
            .map_err(|refusal| Failure(format!("{id}: the certificate is refused: {refusal}")));
        // Whether it is wrong as a whole or in one proof, nothing that is refused counts.
        let verdicts = match (verdicts, directory) {
            (Ok(verdicts), _) => verdicts,
            (Err(failure), Some(_)) => {
                eprintln!("{}", failure.0);
                let refusal = Refusal { step: Vec::new(), message: failure.0 };
                contract.obligations.iter().map(|_| Err(refusal.clone())).collect()
            }
            (Err(failure), None) => return Err(failure),
        };
        Ok(Certified { certificate, verdicts })
    }

    /// What the checker says of the obligation at a position: its word, and whether that is no refusal.
    pub fn verdict(&self, position: usize, id: &str) -> (&'static str, bool) {
        let present = self.certificate.proofs.iter().any(|proof| proof.id == id);
        match self.verdicts.get(position) {
            Some(Ok(())) => ("proven", true),
            Some(Err(_)) if present => ("refused", false),
            _ => ("no certificate", true),
        }
    }

    /// The verdicts of the obligations.
    pub fn judged(&self, contract: &Contract) -> Vec<Proof> {
        let accepted: Vec<bool> = self.verdicts.iter().map(Result::is_ok).collect();
        judged(contract, prove(contract), &accepted)
    }

    /// Why a proof is refused.
    pub fn refusals(&self) -> impl Iterator<Item = String> {
        let about = self.certificate.about.obligations.iter().zip(&self.verdicts);
        about.filter_map(|(question, verdict)| {
            let present = self.certificate.proofs.iter().any(|proof| proof.id == question.id);
            let refusal = verdict.as_ref().err().filter(|_| present)?;
            Some(format!("{}: {}: refused: {refusal}", self.certificate.about.contract, question.id))
        })
    }

    /// Writes the certificate.
    pub fn write(&self, directory: &Path) -> Result<(), Failure> {
        let text = serde_json::to_string(&self.certificate)
            .map_err(|error| Failure(format!("the certificate can't be written: {error}")))?;
        Unfinished::open(&directory.join(file_name(&self.certificate.about.contract)))?.finish(&(text + "\n"))
    }

    /// Writes the theorems and lets Coq check them, if it is there; whether it accepts them.
    pub fn theorems(&self, contract: &Contract, directory: &Path) -> Result<Option<bool>, Failure> {
        let file = format!("{}.v", contract.metadata.id.replace('-', "_"));
        let text = coq::theorems(contract, &self.certificate);
        Unfinished::open(&directory.join(&file))?.finish(&text)?;
        let rules = directory.join("Rules.v");
        let compiled = directory.join("Rules.vo").exists();
        if !compiled || std::fs::read_to_string(&rules).is_ok_and(|there| there != RULES) {
            Unfinished::open(&rules)?.finish(RULES)?;
            match coqc(directory, "Rules.v") {
                Some(true) => {}
                other => return Ok(other),
            }
        }
        Ok(coqc(directory, &file))
    }
}

/// Whether Coq accepts a file; none if there is no Coq.
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
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
    serde_json::from_str(&text).map_err(|error| wrong(&format!("no certificate: {error}")))
}
