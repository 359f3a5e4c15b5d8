//! Measured machines on disk, so that one measurement serves many commands.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::{Key, Machine};
use crate::document;
use roofline_render::report::Saved;

/// Where the platform keeps caches; none when it does not say.
pub fn directory() -> Option<PathBuf> {
    document::user_directory("LOCALAPPDATA", "Library/Caches", "XDG_CACHE_HOME", ".cache")
}

/// What the cache had.
pub(super) enum Lookup {
    /// This machine, measured before.
    Found(Box<Machine>),
    /// Nothing.
    Absent,
    /// A file that is no machine, or not this one.
    Damaged(String),
}

/// The file for this key.
pub(super) fn path(directory: &Path, key: &Key) -> PathBuf {
    let quick = if key.quick { "-quick" } else { "" };
    let name = format!("{}-{}-{}t-{}b{quick}-{}", key.cpu, key.isa, key.threads, key.size, key.version);
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c.to_ascii_lowercase() } else { '-' };
    directory.join(format!("machine-{}.json", name.chars().map(plain).collect::<String>()))
}

pub(super) fn load(path: &Path, key: &Key) -> Lookup {
    let text = match document::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Lookup::Absent,
        Err(error) => return Lookup::Damaged(error.to_string()),
    };
    match Machine::from_json(&text) {
        Ok(machine) if machine.key() == *key => Lookup::Found(Box::new(machine)),
        Ok(_) => Lookup::Damaged("it is about another machine".to_owned()),
        Err(error) => Lookup::Damaged(error),
    }
}

/// Keeps a machine in a file.
pub(super) fn save(path: &Path, machine: &Machine) -> io::Result<()> {
    document::save(path, &machine.to_json())
}

/// Removes every measured machine and says how many there were.
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
