//! `roofline contract doc`: documentation of a contract, generated from its text and the verdicts of the prover.

mod html;
mod markdown;
mod page;

use roofline_contracts::certify;

use crate::cli::output::file::OutputFile;
use crate::cli::{Exit, Failure, args, contract, output};

pub use markdown::plain;

/// Writes the documentation to standard output or to a file.
pub fn run(args: &args::Doc) -> Result<Exit, Failure> {
    let file = args.output.as_deref().map(OutputFile::open).transpose()?;
    let (contract, _) = contract::checked(&args.contract)?;
    let (certificate, proofs) = certify::certified(&contract);
    let blocks = page::page(&contract, &certificate, &proofs);
    let text = match args.format {
        args::DocFormat::Md => markdown::write(&blocks),
        args::DocFormat::Html => html::write(&contract.metadata.id, &blocks),
    };
    match file {
        Some(file) => file.finish(&text)?,
        None => output::write(text.as_bytes())?,
    }
    Ok(Exit::Fine)
}
