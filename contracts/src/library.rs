//! The contracts that ship with this crate, and the lookup of a contract by name.

use std::path::{Path, PathBuf};

use crate::source::{ReadError, ReadErrorKind, Source};
use crate::suggest;

/// The contracts inside the crate: file name and text.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("choice-v1.yaml", include_str!("../choice-v1.yaml")),
    ("collective-v1.yaml", include_str!("../collective-v1.yaml")),
    ("cost-v1.yaml", include_str!("../cost-v1.yaml")),
    ("expectation-v1.yaml", include_str!("../expectation-v1.yaml")),
    ("hardware-v1.yaml", include_str!("../hardware-v1.yaml")),
    ("inference-latency-v1.yaml", include_str!("../inference-latency-v1.yaml")),
    ("layer-roofline-v1.yaml", include_str!("../layer-roofline-v1.yaml")),
    ("models-v1.yaml", include_str!("../models-v1.yaml")),
    ("offload-v1.yaml", include_str!("../offload-v1.yaml")),
    ("operation-v1.yaml", include_str!("../operation-v1.yaml")),
    ("parallel-v1.yaml", include_str!("../parallel-v1.yaml")),
    ("quantization-v1.yaml", include_str!("../quantization-v1.yaml")),
    ("roofline-model-v1.yaml", include_str!("../roofline-model-v1.yaml")),
    ("serving-v1.yaml", include_str!("../serving-v1.yaml")),
    ("speculation-v1.yaml", include_str!("../speculation-v1.yaml")),
    ("transformer-v1.yaml", include_str!("../transformer-v1.yaml")),
];

/// A contract and the file it came from; none for a built-in one.
#[derive(Clone, Debug)]
pub struct Found {
    /// The text.
    pub source: Source,
    /// The file, for rebuild tracking.
    pub path: Option<PathBuf>,
}

/// Finds the file of a contract by its name: [`find`] in a directory, or another source of contracts.
pub type Find<'a> = &'a dyn Fn(&str) -> Result<Found, ReadError>;

/// The built-in contract of this file name, with or without `.yaml`.
pub fn built_in(name: &str) -> Option<Source> {
    let (file, text) =
        BUILT_IN.iter().find(|(file, _)| *file == name || file.strip_suffix(".yaml") == Some(name))?;
    Source::from_bytes(file, text.as_bytes().to_vec()).ok()
}

/// Finds a contract for a crate: in its own directory, in its `contracts/` directory, among the built-in contracts.
/// Without a directory only the built-in contracts are searched.
pub fn find(name: &str, directory: Option<&Path>) -> Result<Found, ReadError> {
    for relative in [PathBuf::from(name), Path::new("contracts").join(name)] {
        let Some(path) = directory.map(|directory| directory.join(&relative)) else { break };
        match Source::read(&path, &relative.to_string_lossy()) {
            Ok(source) => return Ok(Found { source, path: Some(path) }),
            Err(ReadError { kind: ReadErrorKind::Missing, .. }) => {}
            Err(other) => return Err(other),
        }
    }
    match built_in(name) {
        Some(source) => Ok(Found { source, path: None }),
        None => {
            let near = suggest::closest(name, BUILT_IN.iter().map(|(file, _)| *file)).map(str::to_owned);
            let kind = ReadErrorKind::Nowhere { directory: directory.map(Path::to_owned), near };
            Err(ReadError { name: name.to_owned(), kind })
        }
    }
}
