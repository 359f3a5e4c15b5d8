//! Documents that are read whole before anything is known of them: results that this program or another one saved.

use std::env;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;

/// No result of this program is this long, in MiB.
const LONGEST: u64 = 64;

/// The program's directory among those that the platform has for a purpose: named by a variable on Windows, below the home
/// directory on macOS, and elsewhere named by a variable or below the home directory. None when it does not say.
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

/// The text of a file.
pub fn read(path: &Path) -> io::Result<String> {
    read_up_to(LONGEST, path)
}

/// The text of a file of at most so many MiB: neither a wrong file nor a device that never ends fills the memory.
pub fn read_up_to(mib: u64, path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take((mib << 20) + 1).read_to_string(&mut text)?;
    if text.len() as u64 > mib << 20 {
        let message = format!("longer than {mib} MiB, so it is no saved result");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(text)
}

/// Writes beside the file and renames, so that nobody ever reads half of it.
pub fn save(path: &Path, text: &str) -> io::Result<()> {
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        fs::create_dir_all(directory)?;
    }
    let beside = path.with_extension(format!("{}.part", std::process::id()));
    let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // The error that matters is the first one.
        let _ = fs::remove_file(&beside);
    }
    written
}

/// What all results have.
#[derive(Deserialize)]
struct Head {
    schema: String,
}

/// The schema of a saved result, and its text.
pub fn read_result(path: &Path) -> Result<(String, String), String> {
    let text = read(path).map_err(|error| error.to_string())?;
    Ok((schema(&text)?, text))
}

/// The schema that the JSON of a saved result names.
pub fn schema(text: &str) -> Result<String, String> {
    let head: Head = serde_json::from_str(text)
        .map_err(|error| format!("{error}; a saved result is a JSON object with a \"schema\""))?;
    Ok(head.schema)
}

/// Whether a text is JSON that Google Benchmark wrote.
pub fn is_google_benchmark(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Benchmarks {
        #[serde(rename = "benchmarks")]
        _benchmarks: IgnoredAny,
    }
    serde_json::from_str::<Benchmarks>(text).is_ok()
}

/// Why a schema is not among the known ones: it is newer, or of something that can't be `done`, such as `drawn`.
pub fn refuse(schema: &str, known: &[&str], done: &str) -> String {
    let parts = |schema: &str| -> Option<(String, u32)> {
        let (name, version) = schema.rsplit_once('/')?;
        Some((name.to_owned(), version.parse().ok()?))
    };
    let newer = known.iter().find(|known| {
        let (known, found) = (parts(known), parts(schema));
        known.zip(found).is_some_and(|(known, found)| known.0 == found.0 && known.1 < found.1)
    });
    match newer {
        Some(known) => format!("schema {schema:?} is newer than this program, which reads {known}"),
        None => format!("schema {schema:?} can't be {done}; {} can", known.join(", ")),
    }
}
