//! Arguments of `roofline contract`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::device::{Measuring, On};
use crate::cli::output::{Choice, Format};

#[derive(Debug, Args)]
pub struct Contract {
    #[command(subcommand)]
    pub command: ContractCommand,
}

/// The subcommands of `contract`; each has a file in `command`.
#[derive(Debug, Subcommand)]
pub enum ContractCommand {
    /// Check names, units, domains and obligations
    Check(Check),
    /// Format contract files
    Fmt(Fmt),
    /// Prove the obligations, or find counterexamples
    Prove(Prove),
    /// Evaluate the equations
    Eval(Eval),
    /// Print the Rust module that `roofline_contract!` generates
    Expand(Expand),
    /// Compare two versions: semantics, required version, effect on predictions
    Diff(Diff),
    /// Write a page with the formulas, tables and verdicts
    Doc(Doc),
    /// Convert contracts from the provable-contracts format
    Import(Import),
    /// List the built-in contracts, or print one
    List(List),
}

#[derive(Debug, Args)]
pub struct Check {
    /// Contract files, or names of built-in contracts
    #[arg(required = true, value_name = "CONTRACT")]
    pub contracts: Vec<String>,
    /// Output format
    #[arg(long, default_value = "text")]
    pub format: Choice<CheckFormat>,
}

#[derive(Debug, Args)]
pub struct Fmt {
    /// Contract files, or `-` to format standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// List unformatted files and exit with 1, without writing
    #[arg(long)]
    pub check: bool,
}

#[derive(Debug, Args)]
pub struct Import {
    /// Contracts in the provable-contracts format
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Write the contracts to this directory [default: report only]
    #[arg(long, short, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct Prove {
    /// Contract files, or names of built-in contracts
    #[arg(required = true, value_name = "CONTRACT")]
    pub contracts: Vec<String>,
    /// Print the steps of every proof
    #[arg(long)]
    pub trace: bool,
    /// Mutate equations and classifiers, and report mutants that no obligation detects
    #[arg(long)]
    pub mutants: bool,
    /// Write obligations as SMT-LIB, and run z3, cvc5 or bitwuzla if installed
    #[arg(long, value_name = "DIR")]
    pub smt: Option<PathBuf>,
    /// Write a certificate per contract
    #[arg(long, value_name = "DIR")]
    pub certificates: Option<PathBuf>,
    /// Check the certificates in this directory instead of searching for proofs
    #[arg(long, value_name = "DIR")]
    pub check_certificates: Option<PathBuf>,
    /// Write obligations as Coq theorems, and run coqc if installed
    #[arg(long, value_name = "DIR")]
    pub coq: Option<PathBuf>,
    /// Record verdicts in this file, keyed on the meaning of each obligation
    #[arg(long, value_name = "FILE")]
    pub ledger: Option<PathBuf>,
    /// Import the result of `cargo kani --export-json FILE`
    #[arg(long, value_name = "FILE")]
    pub kani_json: Option<PathBuf>,
    /// Output of the same run with `-Z concrete-playback --concrete-playback=print`, for counterexamples
    #[arg(long, value_name = "FILE", requires = "kani_json")]
    pub kani_log: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct Expand {
    /// Contract file, or name of a built-in contract
    #[arg(value_name = "CONTRACT")]
    pub contract: String,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct Eval {
    /// Contract file, or name of a built-in contract
    #[arg(value_name = "CONTRACT")]
    pub contract: String,
    /// Set a quantity, or a measured value to compare with its ceiling
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Set quantities from a table row, such as `devices.h100_sxm`
    #[arg(long, value_name = "TABLE.ENTRY")]
    pub profile: Option<String>,
    #[command(flatten)]
    pub devices: On,
    /// Exit with 1 unless the condition holds, such as 'throughput_ceiling >= 30'; `help` lists the names
    #[arg(long, value_name = "CONDITION")]
    pub require: Vec<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    #[command(flatten)]
    pub measuring: Measuring,
}

#[derive(Debug, Args)]
pub struct Diff {
    /// OLD and NEW contract; with --git, the paths to compare [default: all]
    #[arg(value_name = "CONTRACT")]
    pub contracts: Vec<String>,
    /// Compare the contracts of this repository with a revision
    #[arg(long, value_name = "REVISION", allow_hyphen_values = true)]
    pub git: Option<String>,
    /// Maximum number of changed predictions to show; JSON has all of them
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    pub top: usize,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct Doc {
    /// Contract file, or name of a built-in contract
    #[arg(value_name = "CONTRACT")]
    pub contract: String,
    /// Output format
    #[arg(long, value_enum, default_value_t = DocFormat::Md)]
    pub format: DocFormat,
    /// Output file [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Formats of contract documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum DocFormat {
    /// GitHub-flavored Markdown
    Md,
    /// Self-contained HTML page
    Html,
}

#[derive(Debug, Args)]
pub struct List {
    /// Print this contract
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Additional output formats of `check`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum CheckFormat {
    /// SARIF 2.1.0, for code scanning and editors
    Sarif,
    /// GitHub workflow commands, shown as annotations
    Github,
}
