//! Working on contracts as files: their canonical form, their editor schema, and contracts of another format brought
//! over. Nothing here is needed to compile one, so it stands behind the feature `authoring`.

mod comment;
pub mod format;
pub mod import;
