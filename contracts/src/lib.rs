#![doc = include_str!("../LANGUAGE.md")]

#[cfg(feature = "authoring")]
pub mod authoring;
pub mod check;
pub mod condition;
pub mod contract;
pub mod domain;
pub mod emit;
pub mod eval;
pub mod formula;
pub mod graph;
pub mod library;
mod load;
pub mod prove;
pub mod report;
pub mod sample;
pub mod schema;
pub mod source;
pub mod suggest;
pub mod unit;
pub mod version;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::Contract;
use library::Find;
use load::Loader;
use prove::Proof;
use report::{Mistake, Report, Severity};
use source::Source;

/// What came of compiling a contract.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The contract; none if a mistake makes it unusable.
    pub contract: Option<Contract>,
    /// Every mistake and warning, in the order of the file.
    pub mistakes: Vec<Mistake>,
    /// The text, to show mistakes with.
    pub source: Source,
    /// The files of the contracts it depends on; the built-in ones have none.
    pub files: Vec<PathBuf>,
    /// One for each obligation, if it came to proofs.
    pub proofs: Vec<Proof>,
}

impl Compiled {
    /// Every mistake of one severity as people read it.
    pub fn rendered(&self, severity: Severity) -> impl Iterator<Item = String> {
        let of_severity = self.mistakes.iter().filter(move |mistake| mistake.severity == severity);
        of_severity.map(|mistake| mistake.render(&self.source))
    }

    /// Proves every obligation and writes the verdicts down.
    fn prove(&mut self) {
        let Some(mut contract) = self.contract.take() else { return };
        self.proofs = prove::prove(&contract);
        for (obligation, proof) in contract.obligations.iter().zip(&self.proofs) {
            self.mistakes.extend(prove::mistake(&contract, obligation, proof));
        }
        self.mistakes.sort_by_key(|mistake| mistake.span.start);
        for (obligation, proof) in contract.obligations.iter_mut().zip(&self.proofs) {
            obligation.verdict = proof.verdict;
        }
        let usable = self.proofs.iter().all(|proof| proof.verdict.acceptable());
        self.contract = usable.then_some(contract);
    }
}

/// Compiles a contract: reads it, checks names, units and domains, and proves every obligation. Collects every
/// mistake; an obligation that is false or undecided is one. What it depends on is looked for among the built-in
/// contracts.
pub fn compile(source: Source) -> Compiled {
    compile_in(source, None)
}

/// The same for a contract of this directory: what it depends on is first looked for there.
pub fn compile_in(source: Source, directory: Option<&Path>) -> Compiled {
    Compiler::default().compile_in(source, directory)
}

/// Compiles one contract after the other, and the built-in contracts that they depend on only once.
#[derive(Debug, Default)]
pub struct Compiler {
    built_in: BTreeMap<String, Arc<Contract>>,
}

impl Compiler {
    /// As [`compile_in`].
    pub fn compile_in(&mut self, source: Source, directory: Option<&Path>) -> Compiled {
        let find = |file: &str| library::find(file, directory);
        let mut loader = Loader::new(&find);
        loader.proves = true;
        loader.lasting = std::mem::take(&mut self.built_in);
        let compiled = compile_with(source, &mut loader);
        self.built_in = loader.lasting;
        Compiled { files: loader.files, ..compiled }
    }
}

/// The first half of [`compile_in`]: everything but the proofs.
pub fn check_in(source: Source, directory: Option<&Path>) -> Compiled {
    check_from(source, &|file| library::find(file, directory))
}

/// The same for a contract whose dependencies are found by `find`.
pub fn check_from(source: Source, find: Find<'_>) -> Compiled {
    let mut loader = Loader::new(find);
    let compiled = compile_with(source, &mut loader);
    Compiled { files: loader.files, ..compiled }
}

fn compile_with(source: Source, loader: &mut Loader<'_>) -> Compiled {
    let mut report = Report::new();
    let contract = check::check(source.clone(), loader, &mut report).filter(|_| !report.has_errors());
    let mistakes = report.finish();
    let mut compiled = Compiled { contract, mistakes, source, files: Vec::new(), proofs: Vec::new() };
    if loader.proves {
        compiled.prove();
    }
    compiled
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
