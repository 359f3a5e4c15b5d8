//! Files that appear whole or not at all, and what is no regular file: standard output, pipes and devices, which are written to and
//! never replaced.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::program::output;
use crate::program::{About, Failure};

/// What stands for standard output. The second is a link to it: where that is a file, replacing the file would lose what else is
/// printed.
const STANDARD_OUTPUT: [&str; 2] = ["-", "/dev/stdout"];

/// Links that are followed before they count as a circle.
const MOST_LINKS: usize = 40;

/// A file that gets its name when it is complete, and vanishes when it never is.
pub struct Unfinished {
    path: PathBuf,
    target: Target,
}

enum Target {
    /// A regular file, written beside its place first.
    Beside {
        part: PathBuf,
        place: PathBuf,
        file: File,
    },
    /// A pipe or a device.
    Stream(File),
    StandardOutput,
}

impl Unfinished {
    /// Makes sure that the file can be written.
    pub fn open(path: &Path) -> Result<Unfinished, Failure> {
        let target = open(path).map_err(|error| refused(path, &error))?;
        Ok(Unfinished { path: path.to_owned(), target })
    }

    /// Whether it is standard output, which then belongs to it alone.
    pub fn is_standard_output(&self) -> bool {
        matches!(self.target, Target::StandardOutput)
    }

    /// Writes the text and gives the file its name.
    pub fn finish(mut self, text: &str) -> Result<(), Failure> {
        let done = match &mut self.target {
            Target::Beside { part, place, file } => {
                file.write_all(text.as_bytes()).and_then(|()| fs::rename(part, place))
            }
            Target::Stream(file) => file.write_all(text.as_bytes()),
            Target::StandardOutput => return output::write(text.as_bytes()),
        };
        done.map_err(|error| refused(&self.path, &error))
    }
}

/// Creates a directory and those above it.
pub fn create_directory(path: &Path) -> Result<(), Failure> {
    fs::create_dir_all(path).about(format_args!("{}: cannot be created", path.display()))
}

fn refused(path: &Path, reason: &io::Error) -> Failure {
    Failure(format!("{}: can't be written: {reason}", path.display()))
}

fn open(path: &Path) -> io::Result<Target> {
    if STANDARD_OUTPUT.iter().any(|name| path == Path::new(name)) {
        return Ok(Target::StandardOutput);
    }
    let there = match fs::metadata(path) {
        Ok(there) => Some(there),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if there.as_ref().is_some_and(Metadata::is_dir) {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
    }
    if there.as_ref().is_some_and(|there| !there.is_file()) {
        return OpenOptions::new().write(true).open(path).map(Target::Stream);
    }
    if there.is_some() {
        // Who may not write to a file may not replace it either.
        OpenOptions::new().write(true).open(path)?;
    }
    let place = followed(path)?;
    let Some(name) = place.file_name() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it has no file name"));
    };
    let mut part = std::ffi::OsString::from(".");
    part.push(name);
    part.push(format!(".{}.part", std::process::id()));
    let part = place.with_file_name(part);
    let file = File::create(&part)?;
    let target = Target::Beside { part, place, file };
    if let (Some(there), Target::Beside { file, .. }) = (there, &target) {
        // What the new file replaces keeps its permissions; where that is refused, the new file's own stand.
        let _ = file.set_permissions(there.permissions());
    }
    Ok(target)
}

/// The place that a path stands for, behind all links, also where nothing is there yet.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut place = path.to_owned();
    for _ in 0..MOST_LINKS {
        if !fs::symlink_metadata(&place).is_ok_and(|there| there.is_symlink()) {
            return Ok(place);
        }
        let link = fs::read_link(&place)?;
        place = place.parent().unwrap_or(Path::new("")).join(link);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "its links lead in a circle"))
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Target::Beside { part, .. } = &self.target {
            // After a rename there is nothing left to remove.
            let _ = fs::remove_file(part);
        }
    }
}
