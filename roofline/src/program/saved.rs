//! Saved results as they come back: a JSON document that says which command wrote it, and in which version.

use std::path::Path;

use serde::Deserialize;

use crate::document;
use crate::program::Failure;

/// What all results have.
#[derive(Deserialize)]
struct Head {
    schema: String,
}

/// The text of a saved result and its schema.
pub fn read(path: &Path) -> Result<(String, String), Failure> {
    let text = document::read(path)?;
    let Head { schema } = serde_json::from_str(&text)
        .map_err(|error| Failure(format!("{error}; a saved result is a JSON object with a \"schema\"")))?;
    Ok((schema, text))
}

/// Why a schema is not among the known ones: it is newer, or of something that can't be `done`, such as `drawn`.
pub fn refuse(schema: &str, known: &[&str], done: &str) -> Failure {
    let parts = |schema: &str| -> Option<(String, u32)> {
        let (name, version) = schema.rsplit_once('/')?;
        Some((name.to_owned(), version.parse().ok()?))
    };
    let newer = known.iter().find(|known| {
        let (known, found) = (parts(known), parts(schema));
        known.zip(found).is_some_and(|(known, found)| known.0 == found.0 && known.1 < found.1)
    });
    Failure(match newer {
        Some(known) => format!("schema {schema:?} is newer than this program, which reads {known}"),
        None => format!("schema {schema:?} can't be {done}; {} can", known.join(", ")),
    })
}
