//! Tools for authors of contracts: the formatter, the import from the published format, and mutants that reveal gaps in
//! the obligations. The compiler does not need them, so they are behind the feature `authoring`.

pub mod format;
pub mod import;
pub mod mutant;
mod trivia;
