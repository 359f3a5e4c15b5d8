//! Definitions of the command line, nothing else.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};

use crate::bench::Kernel;
use crate::kernels::FmaType;
use crate::peaks::Effort;
use crate::points::Own;
use crate::program::device::{Files, Measuring, On, size};
use crate::program::expected::Expecting;
use crate::program::many::Many;
use crate::program::output::picture::Wanted;
use crate::program::output::{Choice, Format};
use crate::program::select::Select;
use roofline_render::written;

/// How fast can this model run on this machine, what is the bottleneck, and how close is the code to the limit?
///
/// Without a command: measure this machine quickly, draw its roofline and show models on it. Nothing is saved.
#[derive(Debug, Parser)]
#[command(name = "roofline", version, about, args_conflicts_with_subcommands = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub first: First,
}

/// Arguments of the first run, which needs none.
#[derive(Debug, Args)]
pub struct First {
    /// Size of the buffers in memory
    #[arg(long, hide = true, value_name = "BYTES", value_parser = size)]
    pub size: Option<usize>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    #[command(flatten)]
    pub pictures: Wanted,
}

/// The subcommands; each has a file in `command`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check names, units, domains and obligations of contracts
    Check(Check),
    /// Format contract files
    Fmt(Fmt),
    /// Import contracts from the provable-contracts format
    Import(Import),
    /// Prove the obligations of contracts, or find counterexamples
    Prove(Prove),
    /// Print the Rust module that `roofline_contract!` generates
    Expand(Expand),
    /// Evaluate the equations of a contract
    Eval(Eval),
    /// Compare two versions of a contract: semantics, required version, effect on predictions
    Diff(Diff),
    /// Document a contract: formulas, tables, verdicts
    Doc(Doc),
    /// List the built-in contracts, or print one
    Contracts(Contracts),
    /// Measure this machine and draw its roofline
    Machine(Machine),
    /// Benchmark the kernels at real model shapes against the measured roofs
    Bench(Bench),
    /// Predict memory, speed and energy of a model on devices
    Predict(Predict),
    /// Find devices that fit a model and are fast enough
    Choose(Choose),
    /// Find the cheapest sets of devices that serve a model
    Plan(Plan),
    /// List the known devices
    Devices(Devices),
    /// List the models known by name
    Models(Models),
    /// Compare published speeds with their ceilings, or check your own
    Evidence(Evidence),
    /// Calibrate expected speeds with runs on your machine
    Calibrate(Calibrate),
    /// Profile the operations of a model file, predicted or measured
    Profile(Profile),
    /// Draw saved results, kernels or contracts as a roofline chart
    Plot(Plot),
    /// Compare results with a baseline and exit with 1 on a regression
    Gate(Gate),
    /// Print the JSON Schema of an output or of the contract language
    Schema(Schema),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Print a manual page
    Man(Man),
}

#[derive(Debug, Args)]
pub struct Completions {
    /// Shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub struct Man {
    /// Command; without it, the page of the program
    pub command: Option<String>,
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
    #[command(flatten)]
    pub measuring: Measuring,
    /// Exit with 1 unless the condition holds, such as 'throughput_ceiling >= 30'; `help` lists the names
    #[arg(long, value_name = "CONDITION")]
    pub require: Vec<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
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
pub struct Contracts {
    /// Print this contract
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct Machine {
    /// Delete saved measurements and exit
    #[arg(long)]
    pub clear_cache: bool,
    /// Exit with 1 unless the condition holds, such as 'read_gb_s >= 30'; `help` lists the names
    #[arg(long, value_name = "CONDITION")]
    pub require: Vec<String>,
    /// Measure only these types in addition to f32 and int8; the result is not saved
    #[arg(long, value_parser = one_of(&FmaType::ALL, FmaType::name), value_delimiter = ',', value_name = "TYPE")]
    pub types: Vec<FmaType>,
    /// Number of warm-up runs per setting; the result is not saved
    #[arg(long, value_name = "RUNS", default_value_t = 0, value_parser = runs(0))]
    pub warm_up: usize,
    /// Number of measured runs per setting [default: as many as fit the time budget]; the result is not saved
    #[arg(long, value_name = "RUNS", value_parser = runs(1))]
    pub steps: Option<usize>,
    #[command(flatten)]
    pub measuring: Measuring,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    #[command(flatten)]
    pub pictures: Wanted,
}

/// Parses the name of one of `all`.
fn one_of<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let names = PossibleValuesParser::new(all.iter().map(|one| name(*one)));
    names.try_map(move |found| {
        let known = all.iter().find(|one| name(**one) == found);
        known.copied().ok_or("not one of the possible values")
    })
}

/// Parses a number of runs of at least `least`.
fn runs(least: u64) -> impl TypedValueParser<Value = usize> {
    clap::value_parser!(u64).range(least..=Effort::MOST as u64).map(|runs| runs as usize)
}

#[derive(Debug, Args)]
pub struct Bench {
    /// Quantization formats [default: q8_0, q4_k, q6_k, f16, bf16, f32]
    #[arg(long, visible_alias = "type", value_parser = one_of(Kernel::ALL, Kernel::name), value_delimiter = ',', value_name = "TYPE")]
    pub kernel: Vec<Kernel>,
    /// Matrix shapes, such as 32768x8192 [default: shapes of known models]
    #[arg(long, value_delimiter = ',', value_name = "ROWSxCOLUMNS")]
    pub shape: Vec<crate::bench::Shape>,
    /// Run only products whose name contains this text, such as `8B` or `lm_head q8_0`
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// Exit with 1 unless the condition holds for every product, such as 'utilization >= 0.9'; `help` lists the names
    #[arg(long, value_name = "CONDITION")]
    pub require: Vec<String>,
    #[command(flatten)]
    pub measuring: Measuring,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    #[command(flatten)]
    pub pictures: Wanted,
}

#[derive(Debug, Args)]
pub struct Predict {
    /// A model known by name, a config.json, or a model file.
    #[arg(value_name = "MODEL")]
    pub model: Option<String>,
    /// Accept a file that ends before its weights do: its headers say enough.
    #[arg(long)]
    pub headers_only: bool,
    /// A number of parameters, in place of a model, such as 8b.
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, value_parser = written::parameters)]
    pub params: Option<f64>,
    #[command(flatten)]
    pub devices: On,
    /// All known devices.
    #[arg(long, conflicts_with = "on")]
    pub all_devices: bool,
    /// The format of the weights, such as q8_0, q4_k_m, fp8, nf4 or f16; f16, or that of the file, if not given.
    #[arg(long, value_name = "FORMAT")]
    pub quant: Option<String>,
    /// The format of the KV cache.
    #[arg(long, value_name = "FORMAT", default_value = "f16")]
    pub cache: String,
    /// Sequences that are computed together.
    #[arg(long, value_name = "NUMBER", default_value_t = 1.0, allow_negative_numbers = true)]
    pub batch: f64,
    /// Tokens drafted for each pass over the weights, of which the ceiling takes all to be accepted; or the model that drafts
    /// them, as many as --drafts says.
    #[arg(long, value_name = "TOKENS or MODEL", allow_negative_numbers = true, value_parser = draft)]
    pub draft: Option<Draft>,
    /// Tokens of each sequence in the cache, such as 8192 or 32k; 4096 if not given, or the model's longest context.
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true, value_parser = written::tokens)]
    pub context: Option<f64>,
    /// Tokens of the prompt; 512 if not given.
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true, value_parser = written::tokens)]
    pub prompt: Option<f64>,
    /// The precision of the estimates' arithmetic: fp32, tf32, fp16, bf16, fp8, fp4, int8 or int4; ceilings take the fastest
    /// units that multiply the weights.
    #[arg(long, value_name = "PRECISION")]
    pub precision: Option<String>,
    /// Where a device lacks the precision, take the units of the ceiling for the estimate.
    #[arg(long)]
    pub allow_fallback: bool,
    /// Share of the arithmetic peak that an estimate takes the code to reach, such as 80%.
    #[arg(long, value_name = "SHARE", default_value = "1", allow_negative_numbers = true, value_parser = written::share)]
    pub efficiency: f64,
    /// Share of the bandwidth that an estimate takes the code to reach, such as 80%.
    #[arg(long, value_name = "SHARE", default_value = "1", allow_negative_numbers = true, value_parser = written::share)]
    pub bandwidth_efficiency: f64,
    /// Microseconds to dispatch one step, in an estimate.
    #[arg(long, value_name = "MICROSECONDS", allow_negative_numbers = true)]
    pub overhead: Option<f64>,
    /// Vary batch, context, prompt, efficiency or bits: `batch=1,2,4..64`, where `..` doubles; twice for two of them, one across
    /// the other. With --users, vary users.
    #[arg(long, value_name = "NAME=VALUES")]
    pub sweep: Vec<String>,
    /// Show every equation with its numbers filled in.
    #[arg(long)]
    pub explain: bool,
    #[command(flatten)]
    pub expecting: Expecting,
    #[command(flatten)]
    pub many: Many,
    #[command(flatten)]
    pub select: Select,
    /// Exit with 1 unless this holds, such as 'fits and decode_ceiling >= 30 [token/s]'; `help` lists the names.
    #[arg(long, value_name = "CONDITION")]
    pub require: Vec<String>,
    #[command(flatten)]
    pub measuring: Measuring,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    #[command(flatten)]
    pub pictures: Wanted,
}

/// Arguments of `choose`: those of `predict`, but for what makes no sense here.
#[derive(Debug, Args)]
#[command(mut_arg("sweep", |arg| arg.hide(true)), mut_arg("explain", |arg| arg.hide(true)), mut_arg("require", |arg| arg.hide(true)))]
#[command(mut_arg("chart", |arg| arg.hide(true)), mut_arg("ascii", |arg| arg.hide(true)))]
pub struct Choose {
    /// The speed that decoding must be able to reach, such as '20 token/s'.
    #[arg(long, value_name = "SPEED", default_value = "0 token/s", allow_negative_numbers = true, value_parser = token_rate)]
    pub at_least: f64,
    #[command(flatten)]
    pub predict: Predict,
}

/// Arguments of `plan`: those of `predict`, but for what makes no sense here.
#[derive(Debug, Args)]
#[command(mut_arg("sweep", |arg| arg.hide(true)), mut_arg("explain", |arg| arg.hide(true)), mut_arg("offload", |arg| arg.hide(true)))]
#[command(mut_arg("columns", |arg| arg.hide(true)), mut_arg("sort", |arg| arg.hide(true)), mut_arg("host", |arg| arg.hide(true)))]
#[command(mut_arg("require", |arg| arg.hide(true)))]
#[command(mut_arg("chart", |arg| arg.hide(true)), mut_arg("ascii", |arg| arg.hide(true)))]
#[command(mut_arg("svg", |arg| arg.hide(true)), mut_arg("html", |arg| arg.hide(true)))]
pub struct Plan {
    /// The speed of all users together that a set must be estimated to reach, such as '2000 token/s'.
    #[arg(long, value_name = "SPEED", default_value = "0 token/s", allow_negative_numbers = true, value_parser = token_rate)]
    pub at_least: f64,
    /// Sets of 1 to 8, 16, 32 and so on up to so many devices are tried.
    #[arg(long, value_name = "NUMBER", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub most_devices: u64,
    #[command(flatten)]
    pub predict: Predict,
}

/// What a draft is made with.
#[derive(Clone, Debug, PartialEq)]
pub enum Draft {
    /// So many tokens, whoever makes them.
    Tokens(f64),
    /// A model.
    Model(String),
}

impl Draft {
    /// Tokens that a pass makes at most, where only their number is given.
    pub fn tokens_per_pass(&self) -> f64 {
        if let Draft::Tokens(tokens) = self { tokens + 1.0 } else { 1.0 }
    }
}

/// A text that begins like a number is one.
fn draft(text: &str) -> Result<Draft, String> {
    let number = text.trim_start_matches(['-', '+', '.']).starts_with(|c: char| c.is_ascii_digit());
    if number { Ok(Draft::Tokens(written::tokens(text)?)) } else { Ok(Draft::Model(text.to_owned())) }
}

/// Reads `20 token/s` and `20`.
fn token_rate(text: &str) -> Result<f64, String> {
    let rate = written::in_unit(text, "token/s")?;
    if rate >= 0.0 { Ok(rate) } else { Err(format!("`{text}` is below zero")) }
}

#[derive(Debug, Args)]
pub struct Evidence {
    /// Show only rows whose device, model, engine or backend contains this text
    #[arg(value_name = "TEXT")]
    pub filter: Option<String>,
    /// Check the rows of this file instead: CSV with headings, or output of `llama-bench -o json`. Exits with 1 if a row is
    /// impossible
    #[arg(long, value_name = "FILE", conflicts_with = "filter")]
    pub check: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    #[command(flatten)]
    pub pictures: Wanted,
}

#[derive(Debug, Args)]
pub struct Calibrate {
    /// Output of `llama-bench -o json`, or of `roofline bench --format json`
    #[arg(required = true, value_name = "RESULT.json")]
    pub results: Vec<PathBuf>,
    /// Model of the runs, by file or name, if the results do not identify it
    #[arg(long, value_name = "MODEL")]
    pub model: Vec<String>,
    #[command(flatten)]
    pub devices: On,
    /// Write the calibration to this file for `--calibrated=FILE`, or `-` for standard output [default: next to the saved machine]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub measuring: Measuring,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct Devices {
    /// Show only devices whose name, alias, vendor, kind or architecture contains this text
    #[arg(value_name = "TEXT")]
    pub filter: Option<String>,
    #[command(flatten)]
    pub files: Files,
    #[command(flatten)]
    pub select: Select,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct Models {
    /// Show only models whose name or family contains this text
    #[arg(value_name = "TEXT")]
    pub filter: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct Profile {
    /// GGUF, SafeTensors, APR or ONNX file, model directory, index.json or config.json
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Accept a file that ends before its weights do: its headers say enough.
    #[arg(long, conflicts_with = "measure")]
    pub headers_only: bool,
    #[command(flatten)]
    pub devices: On,
    /// Group the rows of the table
    #[arg(long, value_enum, default_value_t = By::Layer)]
    pub by: By,
    /// Phase shown in the table
    #[arg(long, value_enum, default_value_t = Phase::Decode)]
    pub phase: Phase,
    /// Maximum number of rows, slowest first
    #[arg(long, value_name = "NUMBER")]
    pub top: Option<usize>,
    /// Tokens of each sequence in the cache, such as 8192 or 32k; 4096 if not given, or the model's longest context.
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true, value_parser = written::tokens)]
    pub context: Option<f64>,
    /// Tokens of the prompt; 512 if not given.
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true, value_parser = written::tokens)]
    pub prompt: Option<f64>,
    /// The format of the KV cache.
    #[arg(long, value_name = "FORMAT", default_value = "f16")]
    pub cache: String,
    /// Sequences that are computed together.
    #[arg(long, value_name = "NUMBER", default_value_t = 1.0, allow_negative_numbers = true)]
    pub batch: f64,
    /// Profile as if the weights were in this quantization format or mix, such as q4_k or q4_k_m
    #[arg(long = "as", value_name = "TYPE")]
    pub change: Option<String>,
    /// Run one pass with the stored weights, including attention over --context tokens; --prompt and --batch set its size
    #[arg(long, conflicts_with = "change")]
    pub measure: bool,
    /// Measure only operations whose name matches this regular expression, such as `ffn_(up|down)$`
    #[arg(long, value_name = "REGEX", requires = "measure")]
    pub ops: Option<String>,
    /// Input shape of a convolutional network, such as 3x224x224, or of an ONNX input, such as NAME=1x3x224x224. Override single
    /// layers with REGEX=64x56x56/STRIDE/PADDING/DILATION/EXTRA or REGEX=/2/1; a `t` before the stride marks a transposed
    /// convolution; the last match wins
    #[arg(long, value_name = "[REGEX=]SIZE")]
    pub input: Vec<String>,
    /// Compare `llama-bench -o json` results with the ceilings
    #[arg(long, value_name = "RESULT.json", conflicts_with = "change")]
    pub llama_bench: Option<PathBuf>,
    /// Accept `llama-bench` results of another model
    #[arg(long, requires = "llama_bench")]
    pub any_model: bool,
    #[command(flatten)]
    pub expecting: Expecting,
    /// Omit advice
    #[arg(long)]
    pub no_advice: bool,
    /// The precision of the estimates' arithmetic: fp32, tf32, fp16, bf16, fp8, fp4, int8 or int4; ceilings take the fastest
    /// units that multiply the weights.
    #[arg(long, value_name = "PRECISION")]
    pub precision: Option<String>,
    /// Exit with 1 unless the condition holds, such as `decode_ceiling >= 30`, or `utilization >= 0.8` for measured operations;
    /// `help` lists the names
    #[arg(long, value_name = "CONDITION")]
    pub require: Vec<String>,
    #[command(flatten)]
    pub measuring: Measuring,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    #[command(flatten)]
    pub pictures: Wanted,
}

/// Row grouping of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum By {
    /// One row per operation
    Op,
    /// One row per layer, and per operation outside the layers
    Layer,
    /// One row per part of the model: attention, feed-forward, head
    Kind,
}

/// Phase of inference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Phase {
    /// One token per sequence
    Decode,
    /// The whole prompt of each sequence
    Prefill,
}

#[derive(Debug, Args)]
pub struct Plot {
    /// Saved JSON results, or a contract with a roofline
    #[arg(required_unless_present_any = ["on", "point", "points"], value_name = "RESULT.json|CONTRACT.yaml")]
    pub results: Vec<PathBuf>,
    /// Set a quantity of the contract, or a measured value
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Draw a kernel, such as 'my kernel=0.25 [flop/B],12.3 [Gflop/s]'; figures are in flop/B, Gflop/s, GB/s or s, and extend a
    /// kernel of the same name in --points
    #[arg(long, value_name = "NAME=FIGURES", value_parser = Own::written)]
    pub point: Vec<Own>,
    /// Draw kernels measured by other tools: CSV with name and flop_per_byte, gflop_s, gb_s, seconds, flops or bytes; the directory
    /// target/criterion; output of likwid-bench, Google Benchmark (JSON), `ncu --csv`, or pmc_perf.csv of rocprof-compute
    #[arg(long, value_name = "FILE")]
    pub points: Vec<PathBuf>,
    /// Title of the chart
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    #[command(flatten)]
    pub devices: On,
    #[command(flatten)]
    pub measuring: Measuring,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    #[command(flatten)]
    pub pictures: Wanted,
}

#[derive(Debug, Args)]
pub struct Gate {
    /// Saved machine, bench, profile or prediction, or measurements in a format of `plot --points`
    #[arg(value_name = "BASELINE.json")]
    pub baseline: PathBuf,
    /// Result to compare [default: measure again with the settings of the baseline]
    #[arg(value_name = "NEW.json")]
    pub new: Option<PathBuf>,
    /// Tolerated loss in addition to the measured noise
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = part)]
    pub threshold: f64,
    /// Noise above which a comparison is inconclusive and fails [default: 40 %, or the threshold for results with a reference
    /// load]
    #[arg(long, value_name = "PERCENT", value_parser = part)]
    pub noise: Option<f64>,
    /// Compare absolute values even if both results have a reference load
    #[arg(long)]
    pub absolute: bool,
    /// Compare results of different machines, models or settings
    #[arg(long)]
    pub across: bool,
    /// Output format
    #[arg(long, default_value = "text")]
    pub format: Choice<ForCi>,
}

#[derive(Debug, Args)]
pub struct Schema {
    /// Schema, such as `machine`, `roofline.machine/1` or `contract` [default: list all]
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

/// Additional output formats of `gate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ForCi {
    /// GitHub workflow commands, shown as annotations
    Github,
    /// JUnit XML with one test case per figure
    Junit,
}

/// Parses a share of at most 1: `5%` or `0.05`.
fn part(text: &str) -> Result<f64, &'static str> {
    let value = written::share(text).ok().filter(|value| (0.0..=1.0).contains(value));
    value.ok_or("expected a share of at most 100 %, such as 5% or 0.05")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage_or_a_fraction() {
        assert_eq!(
            ["5%", " 2.5 % ", "0.05", "0", "100%"].map(|text| part(text).unwrap()),
            [0.05, 0.025, 0.05, 0.0, 1.0]
        );
        for text in ["", "%", "5", "-1%", "101%", "nan", "nan%", "inf", "five"] {
            assert!(part(text).is_err(), "{text}");
        }
    }
}
