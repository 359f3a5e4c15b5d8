//! Cache of measured machines on disk.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::{Key, Machine};
use crate::storage;
use roofline_render::report::Saved;

/// Returns the cache directory of roofline; `None` if the platform does not define one.
pub fn directory() -> Option<PathBuf> {
    storage::user_directory("LOCALAPPDATA", "Library/Caches", "XDG_CACHE_HOME", ".cache")
}

/// Result of a cache lookup.
pub(super) enum Lookup {
    Found(Box<Machine>),
    Absent,
    /// The file is not a valid measurement of this machine, for this reason.
    Invalid(String),
}

/// Returns the path of the cached machine with this key.
pub(super) fn path(directory: &Path, key: &Key) -> PathBuf {
    let quick = if key.quick { "-quick" } else { "" };
    let name = format!("{}-{}-{}t-{}b{quick}-{}", key.cpu, key.isa, key.threads, key.size, key.version);
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c.to_ascii_lowercase() } else { '-' };
    directory.join(format!("machine-{}.json", name.chars().map(plain).collect::<String>()))
}

pub(super) fn load(path: &Path, key: &Key) -> Lookup {
    let text = match storage::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Lookup::Absent,
        Err(error) => return Lookup::Invalid(error.to_string()),
    };
    match Machine::from_json(&text) {
        Ok(machine) if machine.key() == *key => Lookup::Found(Box::new(machine)),
        Ok(_) => Lookup::Invalid("it describes another machine".to_owned()),
        Err(error) => Lookup::Invalid(error),
    }
}

pub(super) fn save(path: &Path, machine: &Machine) -> io::Result<()> {
    storage::save(path, &machine.to_json())
}

/// Removes all cached machines and returns their number.
///
/// # Errors
///
/// Fails if the directory cannot be read or a file cannot be removed.
pub fn clear(directory: &Path) -> io::Result<usize> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    let mut removed = 0;
    for entry in entries {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("machine-") {
            fs::remove_file(entry.path())?;
            removed += 1;
        }
    }
    Ok(removed)
}
