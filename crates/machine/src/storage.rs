//! Reading and saving of result files, with a size limit, atomic writes and schema detection.

use std::env;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;

/// Maximum size of a saved result in MiB.
const MAX_MIB: u64 = 64;

/// Returns the directory of roofline for a purpose: below an environment variable on Windows, below the home directory on
/// macOS, and elsewhere below an environment variable or the home directory. `None` if the variables are not set.
pub fn user_directory(windows: &str, macos: &str, variable: &str, below_home: &str) -> Option<PathBuf> {
    let from = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = if cfg!(windows) {
        from(windows)
    } else if cfg!(target_os = "macos") {
        from("HOME").map(|home| home.join(macos))
    } else {
        from(variable).or_else(|| from("HOME").map(|home| home.join(below_home)))
    };
    base.map(|base| base.join("roofline"))
}

/// Reads a text file of at most 64 MiB.
///
/// # Errors
///
/// Fails if the file cannot be read, is too large or not valid UTF-8.
pub fn read(path: &Path) -> io::Result<String> {
    read_up_to(MAX_MIB, path)
}

/// Reads a text file of at most `mib` MiB, so that endless devices cannot exhaust the memory.
///
/// # Errors
///
/// Fails if the file cannot be read, is too large or not valid UTF-8.
pub fn read_up_to(mib: u64, path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take((mib << 20) + 1).read_to_string(&mut text)?;
    if text.len() as u64 > mib << 20 {
        let message = format!("larger than {mib} MiB; not a saved roofline result");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(text)
}

/// Writes a file atomically, through a temporary file in the same directory.
///
/// # Errors
///
/// Fails if the directory or file cannot be written.
pub fn save(path: &Path, text: &str) -> io::Result<()> {
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        fs::create_dir_all(directory)?;
    }
    let temporary = path.with_extension(format!("{}.part", std::process::id()));
    let result = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, path));
    if result.is_err() {
        // Report the first error only.
        let _ = fs::remove_file(&temporary);
    }
    result
}

#[derive(Deserialize)]
struct Head {
    schema: String,
}

/// Reads a saved result and returns its schema and text.
///
/// # Errors
///
/// Fails if the file cannot be read or has no schema.
pub fn read_result(path: &Path) -> Result<(String, String), String> {
    let text = read(path).map_err(|error| error.to_string())?;
    Ok((schema(&text)?, text))
}

/// Returns the schema of a saved result.
///
/// # Errors
///
/// Fails if `text` is not a JSON object with a `schema`.
pub fn schema(text: &str) -> Result<String, String> {
    let head: Head = serde_json::from_str(text)
        .map_err(|error| format!("{error}; expected a JSON object with a \"schema\""))?;
    Ok(head.schema)
}

/// Returns true for JSON output of Google Benchmark.
pub fn is_google_benchmark(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Benchmarks {
        #[serde(rename = "benchmarks")]
        _benchmarks: IgnoredAny,
    }
    serde_json::from_str::<Benchmarks>(text).is_ok()
}

/// Returns the error message for a schema that is not among the known ones. `done` describes the action, such as `drawn`.
pub fn unsupported_schema(schema: &str, known: &[&str], done: &str) -> String {
    let parts = |schema: &str| -> Option<(String, u32)> {
        let (name, version) = schema.rsplit_once('/')?;
        Some((name.to_owned(), version.parse().ok()?))
    };
    let newer = known.iter().find(|known| {
        let (known, found) = (parts(known), parts(schema));
        known.zip(found).is_some_and(|(known, found)| known.0 == found.0 && known.1 < found.1)
    });
    match newer {
        Some(known) => format!("unsupported schema {schema:?}, newer than {known}; update roofline"),
        None => format!("schema {schema:?} cannot be {done}; expected one of {}", known.join(", ")),
    }
}
