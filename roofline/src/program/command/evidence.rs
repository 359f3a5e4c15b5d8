//! `roofline evidence`: published speeds compared with their ceilings, those of the record or a user's own.

use std::path::Path;

use crate::program::output::picture::Pictures;
use crate::program::{About, Exit, Failure, cli};
use crate::record::{self, Evidence, Finding, Row};
use roofline_machine::document;

/// Shows or checks rows.
pub fn run(args: &cli::Evidence) -> Result<Exit, Failure> {
    let pictures = Pictures::open(&args.pictures)?;
    let evidence = match &args.check {
        Some(path) => Evidence::check(&read(path)?, &path.display().to_string()),
        None => Evidence::of(record::rows(), args.filter.as_deref().unwrap_or_default()),
    };
    if evidence.rows.is_empty() {
        let wanted = args.filter.as_deref().unwrap_or_default();
        let nothing = "no row of the record has such a device, model, engine or backend";
        return Err(Failure(format!("{wanted}: {nothing}; `roofline evidence` lists all")));
    }
    pictures.show(&evidence, args.format, false)?;
    let impossible = args.check.is_some() && evidence.count(Finding::Impossible) > 0;
    Ok(if impossible { Exit::Failed } else { Exit::Fine })
}

fn read(path: &Path) -> Result<Vec<Row>, Failure> {
    let name = path.display();
    let text = document::read(path).about(&name)?;
    let rows = match text.trim_start().starts_with(['[', '{']) {
        true => record::read_llama_bench(&text),
        false => record::read(&text),
    };
    let rows = rows.map_err(|mistake| Failure(format!("{name}:{mistake}")))?;
    if rows.is_empty() {
        return Err(Failure(format!("{name}: no rows")));
    }
    Ok(rows)
}
