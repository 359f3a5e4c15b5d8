//! Working on contracts as files: their canonical form, contracts imported from another format, and mutants that
//! show what the obligations miss. Nothing here is needed to compile one, so it is behind the feature `authoring`.

pub mod format;
pub mod import;
pub mod mutant;
mod trivia;
