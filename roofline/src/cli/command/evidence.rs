//! `roofline evidence`: published benchmarks, or benchmarks of a file, compared with their ceilings.

use std::path::Path;

use crate::cli::output::charts::Charts;
use crate::cli::{About, Exit, Failure, args};
use crate::evidence::{self, Evidence, Finding, Row};
use roofline_machine::storage;

/// Shows published benchmarks, or checks those of a file. Exits with 1 if a checked one exceeds its ceiling.
pub fn run(args: &args::Evidence) -> Result<Exit, Failure> {
    let pictures = Charts::open(&args.pictures)?;
    let evidence = match &args.check {
        Some(path) => Evidence::check(&read(path)?, &path.display().to_string()),
        None => Evidence::from_rows(evidence::rows(), args.filter.as_deref().unwrap_or_default()),
    };
    if evidence.rows.is_empty() {
        let filter = args.filter.as_deref().unwrap_or_default();
        let unknown = "unknown device, model, engine or backend; `roofline evidence` lists all benchmarks";
        return Err(Failure(format!("{filter}: {unknown}")));
    }
    pictures.show(&evidence, args.format, false)?;
    let impossible = args.check.is_some() && evidence.count(Finding::Impossible) > 0;
    Ok(if impossible { Exit::Failed } else { Exit::Fine })
}

fn read(path: &Path) -> Result<Vec<Row>, Failure> {
    let name = path.display();
    let text = storage::read(path).about(&name)?;
    let rows = match text.trim_start().starts_with(['[', '{']) {
        true => evidence::read_llama_bench(&text),
        false => evidence::read(&text),
    };
    let rows = rows.map_err(|error| Failure(format!("{name}:{error}")))?;
    if rows.is_empty() {
        return Err(Failure(format!(
            "{name}: missing benchmarks; expected CSV rows or the output of `llama-bench -o json`"
        )));
    }
    Ok(rows)
}
