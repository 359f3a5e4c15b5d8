//! Working on contracts as files: their canonical form, contracts of another format brought over, and mutants that
//! show what the obligations miss. Nothing here is needed to compile one, so it stands behind the feature `authoring`.

mod comment;
pub mod format;
pub mod import;
pub mod mutant;
