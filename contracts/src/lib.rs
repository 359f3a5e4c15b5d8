//! Performance models written once, as YAML contracts, and the compiler that reads them.

pub mod check;
pub mod contract;
pub mod domain;
pub mod emit;
pub mod eval;
pub mod formula;
pub mod graph;
pub mod library;
pub mod prove;
pub mod report;
pub mod schema;
pub mod source;
pub mod suggest;
pub mod unit;

use contract::Contract;
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
}

impl Compiled {
    /// Every mistake of one severity as people read it.
    pub fn rendered(&self, severity: Severity) -> impl Iterator<Item = String> {
        let of_severity = self.mistakes.iter().filter(move |mistake| mistake.severity == severity);
        of_severity.map(|mistake| mistake.render(&self.source))
    }
}

/// Compiles a contract: reads it, checks names, units and domains. Collects every mistake.
pub fn compile(source: Source) -> Compiled {
    let mut report = Report::new();
    let contract = check::check(source.clone(), &mut report).filter(|_| !report.has_errors());
    Compiled { contract, mistakes: report.finish(), source }
}
