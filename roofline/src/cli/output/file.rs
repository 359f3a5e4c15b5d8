//! Output files. Regular files are replaced atomically; standard output, pipes and devices are written to.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::cli::output;
use crate::cli::{About, Failure};

/// Names of standard output. The second is a link: if it leads to a file, replacing the file would lose other output.
const STANDARD_OUTPUT: [&str; 2] = ["-", "/dev/stdout"];

/// More links count as a cycle.
const MAX_LINKS: usize = 40;

/// An output that is not yet written. A new file gets its name when it is complete, and is removed if it never is.
pub struct OutputFile {
    path: PathBuf,
    target: Target,
}

enum Target {
    /// A regular file, written under a temporary name first.
    File {
        temporary: PathBuf,
        path: PathBuf,
        file: File,
    },
    /// A pipe or a device.
    Stream(File),
    StandardOutput,
}

impl OutputFile {
    /// Checks that the file can be written.
    pub fn open(path: &Path) -> Result<OutputFile, Failure> {
        let target = open(path).map_err(|error| cannot_write(path, &error))?;
        Ok(OutputFile { path: path.to_owned(), target })
    }

    /// Returns `true` for standard output, which then contains nothing else.
    pub fn is_standard_output(&self) -> bool {
        matches!(self.target, Target::StandardOutput)
    }

    /// Writes the text and moves the file into place.
    pub fn finish(mut self, text: &str) -> Result<(), Failure> {
        let written = match &mut self.target {
            Target::File { temporary, path, file } => {
                file.write_all(text.as_bytes()).and_then(|()| fs::rename(temporary, path))
            }
            Target::Stream(file) => file.write_all(text.as_bytes()),
            Target::StandardOutput => return output::write(text.as_bytes()),
        };
        written.map_err(|error| cannot_write(&self.path, &error))
    }
}

/// Creates a directory and its parents.
pub fn create_directory(path: &Path) -> Result<(), Failure> {
    fs::create_dir_all(path).about(format_args!("{}: cannot create the directory", path.display()))
}

fn cannot_write(path: &Path, reason: &io::Error) -> Failure {
    Failure(format!("{}: cannot write: {reason}", path.display()))
}

fn open(path: &Path) -> io::Result<Target> {
    if STANDARD_OUTPUT.iter().any(|name| path == Path::new(name)) {
        return Ok(Target::StandardOutput);
    }
    let existing = match fs::metadata(path) {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if existing.as_ref().is_some_and(Metadata::is_dir) {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory"));
    }
    if existing.as_ref().is_some_and(|metadata| !metadata.is_file()) {
        return OpenOptions::new().write(true).open(path).map(Target::Stream);
    }
    if existing.is_some() {
        // Renaming over the file would bypass its write permission.
        OpenOptions::new().write(true).open(path)?;
    }
    let path = follow_links(path)?;
    let Some(name) = path.file_name() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "missing file name"));
    };
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}.part", std::process::id()));
    let temporary = path.with_file_name(temporary);
    let file = File::create(&temporary)?;
    let target = Target::File { temporary, path, file };
    if let (Some(metadata), Target::File { file, .. }) = (existing, &target) {
        // Keeps the permissions of the replaced file if possible.
        let _ = file.set_permissions(metadata.permissions());
    }
    Ok(target)
}

/// Follows symbolic links, even to a file that does not exist.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        if !fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_symlink()) {
            return Ok(path);
        }
        let link = fs::read_link(&path)?;
        path = path.parent().unwrap_or(Path::new("")).join(link);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "cycle of symbolic links"))
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Target::File { temporary, .. } = &self.target {
            // Fails after a rename, when there is nothing to remove.
            let _ = fs::remove_file(temporary);
        }
    }
}
