//! `roofline contract fmt`: contract files in their canonical form.

use std::io::Read;
use std::path::Path;

use roofline_contracts::authoring::format::format;
use roofline_contracts::source::{MAX_BYTES, Source};

use crate::cli::output::file::OutputFile;
use crate::cli::{Exit, Failure, args, output};

/// Formats the files. Invalid YAML is bad input, but does not stop the other files from being formatted.
pub fn run(args: &args::Fmt) -> Result<Exit, Failure> {
    let mut changed = String::new();
    let mut broken: Vec<String> = Vec::new();
    for path in &args.files {
        match one(path, args.check) {
            Ok(true) => changed += &format!("{}\n", path.display()),
            Ok(false) => {}
            Err(Failure(message)) => broken.push(message),
        }
    }
    output::write(changed.as_bytes())?;
    if !broken.is_empty() {
        return Err(Failure(broken.join("\n\nerror: ")));
    }
    Ok(if args.check && !changed.is_empty() { Exit::Failed } else { Exit::Fine })
}

/// Formats one file and returns `true` if it changed.
fn one(path: &Path, only_check: bool) -> Result<bool, Failure> {
    let from_stdin = path == Path::new("-");
    let source = if from_stdin { stdin()? } else { Source::read(path, &path.to_string_lossy())? };
    let text = format(&source).map_err(|diagnostics| {
        let shown: Vec<String> = diagnostics.iter().map(|diagnostic| diagnostic.render(&source)).collect();
        Failure(format!("{}: cannot format\n\n{}", source.name, shown.join("\n\n")))
    })?;
    if from_stdin && !only_check {
        output::write(text.as_bytes())?;
        return Ok(false);
    }
    // A byte order mark is part of the file, but not of its text: the bytes decide.
    let changed = Source::from_bytes(&source.name, text.clone().into_bytes())?.sha256 != source.sha256;
    if changed && !only_check {
        // Keeps symbolic links and permissions.
        let path = std::fs::canonicalize(path)?;
        let permissions = std::fs::metadata(&path)?.permissions();
        OutputFile::open(&path)?.finish(&text)?;
        std::fs::set_permissions(&path, permissions)?;
    }
    Ok(changed)
}

fn stdin() -> Result<Source, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(Source::from_bytes("<stdin>", bytes)?)
}
