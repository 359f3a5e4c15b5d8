//! Performance models written once, as YAML contracts, and the compiler that reads them.

pub mod check;
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
pub mod schema;
pub mod source;
pub mod suggest;
pub mod unit;
pub mod version;

use std::path::{Path, PathBuf};

use contract::Contract;
use load::Loader;
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
}

impl Compiled {
    /// Every mistake of one severity as people read it.
    pub fn rendered(&self, severity: Severity) -> impl Iterator<Item = String> {
        let of_severity = self.mistakes.iter().filter(move |mistake| mistake.severity == severity);
        of_severity.map(|mistake| mistake.render(&self.source))
    }
}

/// Compiles a contract: reads it, checks names, units and domains. Collects every mistake. What it depends on is
/// looked for among the built-in contracts.
pub fn compile(source: Source) -> Compiled {
    compile_in(source, None)
}

/// The same for a contract of this directory: what it depends on is first looked for there.
pub fn compile_in(source: Source, directory: Option<&Path>) -> Compiled {
    let mut loader = Loader::new(directory);
    let compiled = compile_with(source, &mut loader);
    Compiled { files: loader.files, ..compiled }
}

fn compile_with(source: Source, loader: &mut Loader) -> Compiled {
    let mut report = Report::new();
    let contract = check::check(source.clone(), loader, &mut report).filter(|_| !report.has_errors());
    Compiled { contract, mistakes: report.finish(), source, files: Vec::new() }
}
