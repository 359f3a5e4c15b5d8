//! Contracts of an earlier revision, read with `git`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use roofline_contracts::library::{self, Found};
use roofline_contracts::source::{ReadError, Source};

use crate::cli::{About, Failure};

/// A repository at a revision.
pub struct Repository {
    top: PathBuf,
    commit: String,
    /// YAML files of the revision.
    files: BTreeSet<String>,
}

/// Runs git in a directory and returns its standard output, or the first line of its error.
fn git(directory: &Path, arguments: &[&str]) -> Result<Vec<u8>, String> {
    let run = Command::new("git").arg("-C").arg(directory).args(arguments).output();
    let output = run.map_err(|error| format!("cannot run `git`: {error}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let error = String::from_utf8_lossy(&output.stderr);
    Err(error.lines().next().unwrap_or("git failed").trim_start_matches("fatal: ").to_owned())
}

/// Splits a list of file names separated by zero bytes. Names that are not UTF-8 are skipped.
fn names(list: &[u8]) -> impl Iterator<Item = String> {
    let name = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok().filter(|name| !name.is_empty());
    list.split(|byte| *byte == 0).filter_map(name)
}

fn is_yaml(name: &str) -> bool {
    name.ends_with(".yaml") || name.ends_with(".yml")
}

impl Repository {
    /// Opens the repository of the working directory at a revision.
    pub fn open(revision: &str) -> Result<Repository, Failure> {
        let here = Path::new(".");
        let wrong = |message: String| Failure(format!("--git {revision}: {message}"));
        let top = git(here, &["rev-parse", "--show-toplevel"]).map_err(wrong)?;
        let top = PathBuf::from(String::from_utf8_lossy(&top).trim_end_matches(['\r', '\n']));
        let commit = format!("{revision}^{{commit}}");
        let commit = git(here, &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit])
            .map_err(|_| Failure(format!("--git {revision}: unknown revision of {}", top.display())))?;
        let commit = String::from_utf8_lossy(&commit).trim().to_owned();
        let list = git(&top, &["ls-tree", "-r", "-z", "--name-only", &commit]).map_err(wrong)?;
        let files = names(&list).filter(|name| is_yaml(name)).collect();
        Ok(Repository { top, commit, files })
    }

    /// Returns the changed YAML files under these paths, or all changed ones, relative to the top of the repository.
    pub fn changed(&self, paths: &[String]) -> Result<Vec<String>, Failure> {
        let paths: Vec<&str> =
            if paths.is_empty() { vec![":/"] } else { paths.iter().map(String::as_str).collect() };
        let list = |arguments: &[&str]| {
            let arguments = [arguments, &["--"], &paths].concat();
            git(Path::new("."), &arguments).about("git")
        };
        let different = list(&["diff", "-z", "--no-renames", "--no-relative", "--name-only", &self.commit])?;
        let untracked = list(&["ls-files", "-z", "--others", "--exclude-standard", "--full-name"])?;
        let changed: BTreeSet<String> =
            names(&different).chain(names(&untracked)).filter(|name| is_yaml(name)).collect();
        Ok(changed.into_iter().collect())
    }

    /// Reads the old version of a file; `None` if it did not exist.
    pub fn before(&self, file: &str) -> Result<Option<Source>, Failure> {
        if !self.files.contains(file) {
            return Ok(None);
        }
        let object = format!("{}:{file}", self.commit);
        let bytes = git(&self.top, &["cat-file", "blob", &object]).about(file)?;
        Ok(Some(Source::from_bytes(file, bytes)?))
    }

    /// Reads the new version of a file; `None` if it does not exist.
    pub fn after(&self, file: &str) -> Result<Option<Source>, Failure> {
        let path = self.top.join(file);
        Ok(if path.is_file() { Some(Source::read(&path, file)?) } else { None })
    }

    /// Finds the old version of a dependency of a file: in its directory, in the subdirectory `contracts`, or built in.
    pub fn find_before(&self, file: &str, name: &str) -> Result<Found, ReadError> {
        let directory = file.rsplit_once('/').map_or(String::new(), |(directory, _)| format!("{directory}/"));
        for candidate in [format!("{directory}{name}"), format!("{directory}contracts/{name}")] {
            if let Ok(Some(source)) = self.before(&candidate) {
                return Ok(Found { source, path: None });
            }
        }
        library::find(name, None)
    }

    /// Finds the new version of a dependency of a file.
    pub fn find_after(&self, file: &str, name: &str) -> Result<Found, ReadError> {
        library::find(name, self.top.join(file).parent())
    }
}
