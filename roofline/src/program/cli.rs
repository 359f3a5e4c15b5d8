//! Definitions of the command line, nothing else.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};

use crate::bench::Kernel;
use crate::kernels::Multiplied;
use crate::peaks::Effort;
use crate::points::Own;
use crate::program::device::{Files, Measuring, On, size};
use crate::program::expected::Expecting;
use crate::program::many::Many;
use crate::program::output::picture::Wanted;
use crate::program::output::{Choice, Format};
use crate::program::select::Select;
use roofline_render::written;

/// How fast can this model go on this machine, what holds it back, and how far is the code from that
/// ceiling?
///
/// Without a command: measures this machine quickly, draws its roofline and places two well-known models on it; keeps nothing.
#[derive(Debug, Parser)]
#[command(name = "roofline", version, about, args_conflicts_with_subcommands = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub first: First,
}

/// Arguments of the first run, which needs none.
#[derive(Debug, Args)]
pub struct First {
    /// Buffers beyond the caches.
    #[arg(long, hide = true, value_name = "BYTES", value_parser = size)]
    pub size: Option<usize>,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    #[command(flatten)]
    pub pictures: Wanted,
}

/// What the program can do; one file in `command` each.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check contracts: names, units, domains; every mistake at its place.
    Check(Check),
    /// Format contract files canonically; comments stay, and no meaning changes.
    Fmt(Fmt),
    /// Import contracts of the published provable-contracts format, and report what became of each item.
    Import(Import),
    /// Prove every obligation, or find inputs that refute it.
    Prove(Prove),
    /// Print the Rust module that `roofline_contract!` generates.
    Expand(Expand),
    /// Compute everything a contract says at one point.
    Eval(Eval),
    /// Say what a change of a contract means: what is different, the version it demands, its effect on predictions.
    Diff(Diff),
    /// Write the documentation of a contract: formulas, tables, and a verdict for each obligation.
    Doc(Doc),
    /// List the contracts that ship with the program, or show one.
    Contracts(Contracts),
    /// Measure this machine and draw its roofline.
    Machine(Machine),
    /// Run the kernels at the shapes of real models beside the measured roofs.
    Bench(Bench),
    /// Predict what a model reaches on devices: memory, tokens per second, energy.
    Predict(Predict),
    /// Choose a device for a model: those that hold it and are fast enough, and what the others are short of.
    Choose(Choose),
    /// Plan a server: the cheapest sets of devices that do what is wanted, the layout of each, and what the others are short of.
    Plan(Plan),
    /// List the known devices with their figures and sources.
    Devices(Devices),
    /// List the models that are known by name.
    Models(Models),
    /// Show published speeds beside their ceilings, or check a list of your own.
    Evidence(Evidence),
    /// Find the constants of a machine and an engine from your own runs, for speeds to expect of it.
    Calibrate(Calibrate),
    /// Profile a model file: what each operation costs on a device, and the ceiling in tokens per second.
    Profile(Profile),
    /// Draw saved results or kernels of your own under roofs: several in one chart.
    Plot(Plot),
    /// Compare a run with a saved one, and exit with 1 when something got worse.
    Gate(Gate),
    /// Print the JSON Schema of a command's JSON output, or of the contract language.
    Schema(Schema),
    /// Print a script that completes commands and options in a shell.
    Completions(Completions),
    /// Print the manual page of the program or of one command, for `man`.
    Man(Man),
}

#[derive(Debug, Args)]
pub struct Completions {
    /// The shell.
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub struct Man {
    /// The command; all of them when there is none.
    pub command: Option<String>,
}

#[derive(Debug, Args)]
pub struct Check {
    /// Contract files, or names of built-in contracts.
    #[arg(required = true, value_name = "CONTRACT")]
    pub contracts: Vec<String>,
    /// How to print the result.
    #[arg(long, default_value = "text")]
    pub format: Choice<CheckFormat>,
}

#[derive(Debug, Args)]
pub struct Fmt {
    /// Contract files; `-` reads one from standard input and prints it.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Change nothing; exit with 1 and name the files that are not in canonical form.
    #[arg(long)]
    pub check: bool,
}

#[derive(Debug, Args)]
pub struct Import {
    /// Contracts in the published format.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Write each contract to this directory; without it there is only the report.
    #[arg(long, short, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// How to print the report.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct Prove {
    /// Contract files, or names of built-in contracts.
    #[arg(required = true, value_name = "CONTRACT")]
    pub contracts: Vec<String>,
    /// Print the rules of every proof.
    #[arg(long)]
    pub trace: bool,
    /// Change each equation and classifier in small ways, and report the changes that no obligation notices.
    #[arg(long)]
    pub mutants: bool,
    /// Write each obligation as SMT-LIB, and run z3, cvc5 or bitwuzla on it if one is on the PATH.
    #[arg(long, value_name = "DIR")]
    pub smt: Option<PathBuf>,
    /// Write each contract's proofs as a certificate.
    #[arg(long, value_name = "DIR")]
    pub certificates: Option<PathBuf>,
    /// Check the certificates in this directory instead of making them.
    #[arg(long, value_name = "DIR")]
    pub check_certificates: Option<PathBuf>,
    /// Write each obligation as a theorem for Coq, and run coqc on them if it is on the PATH.
    #[arg(long, value_name = "DIR")]
    pub coq: Option<PathBuf>,
    /// Keep verdicts, each with the hash of what it is about; one whose text has changed counts as not run.
    #[arg(long, value_name = "FILE")]
    pub ledger: Option<PathBuf>,
    /// Import the result of `cargo kani --export-json FILE`.
    #[arg(long, value_name = "FILE")]
    pub kani_json: Option<PathBuf>,
    /// What the same run printed with `-Z concrete-playback --concrete-playback=print`: the values at which it failed.
    #[arg(long, value_name = "FILE", requires = "kani_json")]
    pub kani_log: Option<PathBuf>,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct Expand {
    /// A contract file, or the name of a built-in contract.
    #[arg(value_name = "CONTRACT")]
    pub contract: String,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct Eval {
    /// A contract file, or the name of a built-in contract.
    #[arg(value_name = "CONTRACT")]
    pub contract: String,
    /// Set a quantity, or a measured value to compare with its ceiling.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Set the quantities that this profile has, such as `devices.h100_sxm`.
    #[arg(long, value_name = "TABLE.ENTRY")]
    pub profile: Option<String>,
    #[command(flatten)]
    pub devices: On,
    #[command(flatten)]
    pub measuring: Measuring,
    /// Exit with 1 unless this holds, such as 'throughput_ceiling >= 30'; `help` lists the names; may be repeated.
    #[arg(long, value_name = "CONDITION")]
    pub require: Vec<String>,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct Diff {
    /// OLD and NEW, as files or names of built-in contracts; with --git the paths to look at, everything by default.
    #[arg(value_name = "CONTRACT")]
    pub contracts: Vec<String>,
    /// Compare every contract of this repository with its version of this revision.
    #[arg(long, value_name = "REVISION", allow_hyphen_values = true)]
    pub git: Option<String>,
    /// Show this many of the predictions that change; JSON has all.
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    pub top: usize,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct Doc {
    /// A contract file, or the name of a built-in contract.
    #[arg(value_name = "CONTRACT")]
    pub contract: String,
    /// What to write it in.
    #[arg(long, value_enum, default_value_t = DocFormat::Md)]
    pub format: DocFormat,
    /// The file; standard output if not given.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// What documentation is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum DocFormat {
    /// GitHub-flavoured Markdown.
    Md,
    /// One HTML page that needs nothing else.
    Html,
}

#[derive(Debug, Args)]
pub struct Contracts {
    /// Show the file of this contract.
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct Machine {
    /// Forget every saved measurement and do nothing else.
    #[arg(long)]
    pub clear_cache: bool,
    /// Exit with 1 unless this holds, such as 'read_gb_s >= 30 and single_f32_gflops > 90'; `help` lists the names; may be repeated.
    #[arg(long, value_name = "CONDITION")]
    pub require: Vec<String>,
    /// Only these multiply-adds, beside f32 and int8, which every machine has; the result is not kept.
    #[arg(long, value_parser = one_of(&Multiplied::ALL, Multiplied::name), value_delimiter = ',', value_name = "TYPE")]
    pub types: Vec<Multiplied>,
    /// Runs of each setting before those that count; the result is not kept.
    #[arg(long, value_name = "RUNS", default_value_t = 0, value_parser = runs(0))]
    pub warm_up: usize,
    /// Runs of each setting, however long they take, in place of as many as there is time for; the result is not kept.
    #[arg(long, value_name = "RUNS", value_parser = runs(1))]
    pub steps: Option<usize>,
    #[command(flatten)]
    pub measuring: Measuring,
    /// How to print the roofs.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    #[command(flatten)]
    pub pictures: Wanted,
}

/// A parser of the names of these values.
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

/// A number of runs from the least on.
fn runs(least: u64) -> impl TypedValueParser<Value = usize> {
    clap::value_parser!(u64).range(least..=Effort::MOST as u64).map(|runs| runs as usize)
}

#[derive(Debug, Args)]
pub struct Bench {
    /// Only these weights; by default q8_0, q4_k, q6_k, f16, bf16 and f32.
    #[arg(long, visible_alias = "type", value_parser = one_of(Kernel::ALL, Kernel::name), value_delimiter = ',', value_name = "TYPE")]
    pub kernel: Vec<Kernel>,
    /// Matrices of these rows and columns, such as 32768x8192, instead of those of known models.
    #[arg(long, value_delimiter = ',', value_name = "ROWSxCOLUMNS")]
    pub shape: Vec<crate::bench::Shape>,
    /// Only products whose name contains this, such as `8B` or `lm_head q8_0`.
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// Exit with 1 unless this holds for every product, such as 'utilization >= 0.9'; `help` lists the names; may be repeated.
    #[arg(long, value_name = "CONDITION")]
    pub require: Vec<String>,
    #[command(flatten)]
    pub measuring: Measuring,
    /// How to print the results.
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
    /// Operations of one inference, beside --params: of a model that makes no tokens, such as 8.2e9 for an image classifier. Latency,
    /// throughput, energy and memory are those of inference-latency-v1.
    #[arg(long, value_name = "NUMBER", requires = "params", conflicts_with_all = ["model", "sweep", "explain", "users", "offload", "all_devices"])]
    pub flops: Option<f64>,
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
    /// How to print the result.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    #[command(flatten)]
    pub pictures: Wanted,
}

/// Arguments of `choose`: those of `predict`, but for what makes no sense here.
#[derive(Debug, Args)]
#[command(mut_arg("sweep", |arg| arg.hide(true)), mut_arg("explain", |arg| arg.hide(true)), mut_arg("require", |arg| arg.hide(true)))]
#[command(mut_arg("flops", |arg| arg.hide(true)))]
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
#[command(mut_arg("flops", |arg| arg.hide(true)), mut_arg("require", |arg| arg.hide(true)))]
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
    /// Only rows whose device, model, engine or backend contains this.
    #[arg(value_name = "TEXT")]
    pub filter: Option<String>,
    /// Check the rows of this file in place of the record: CSV with a line of headings, or what `llama-bench -o json` printed.
    /// Exits with 1 when one is impossible.
    #[arg(long, value_name = "FILE", conflicts_with = "filter")]
    pub check: Option<PathBuf>,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    #[command(flatten)]
    pub pictures: Wanted,
}

#[derive(Debug, Args)]
pub struct Calibrate {
    /// What `llama-bench -o json` printed, of one or more models; or one result of `roofline bench --format json`.
    #[arg(required = true, value_name = "RESULT.json")]
    pub results: Vec<PathBuf>,
    /// A model that ran, by its file or name, where its name in the results says too little; may be repeated.
    #[arg(long, value_name = "MODEL")]
    pub model: Vec<String>,
    #[command(flatten)]
    pub devices: On,
    /// Keep the constants in this file, in place of beside the saved machine, for `--calibrated=FILE`; - is standard output, in
    /// place of the table.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub measuring: Measuring,
    /// How to print the constants.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct Devices {
    /// Only those whose name, alias, vendor, kind or architecture contains this.
    #[arg(value_name = "TEXT")]
    pub filter: Option<String>,
    #[command(flatten)]
    pub files: Files,
    #[command(flatten)]
    pub select: Select,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct Models {
    /// Only those whose name or family contains this.
    #[arg(value_name = "TEXT")]
    pub filter: Option<String>,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct Profile {
    /// A GGUF, SafeTensors, APR or ONNX file, a directory with a model, an index.json or a config.json.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Accept a file that ends before its weights do: its headers say enough.
    #[arg(long, conflicts_with = "measure")]
    pub headers_only: bool,
    #[command(flatten)]
    pub devices: On,
    /// What a row of the table is.
    #[arg(long, value_enum, default_value_t = By::Layer)]
    pub by: By,
    /// The part of the work that the table shows: one token, or the prompt.
    #[arg(long, value_enum, default_value_t = Phase::Decode)]
    pub phase: Phase,
    /// Show only the rows that take the most time.
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
    /// What if the matrices were stored in this type, such as q4_k, or in a mix of llama.cpp, such as q4_k_m.
    #[arg(long = "as", value_name = "TYPE")]
    pub change: Option<String>,
    /// Run a whole token with the stored weights, attention over a cache of --context tokens included; with --prompt or --batch as many
    /// as these say.
    #[arg(long, conflicts_with = "change")]
    pub measure: bool,
    /// Measure only operations whose name this regular expression finds, such as `ffn_(up|down)$`.
    #[arg(long, value_name = "REGEX", requires = "measure")]
    pub ops: Option<String>,
    /// The input of a network of convolutions, which no file records: 3x224x224. Sizes go on from layer to layer. What is different
    /// about some of them is said by name, as REGEX=64x56x56/STRIDE/PADDING/DILATION/EXTRA or without a size as REGEX=/2/1, with a t
    /// before the stride of a transposed one; the last that matches wins. For an ONNX file the whole shape of an input that it
    /// leaves open: NAME=1x3x224x224.
    #[arg(long, value_name = "[REGEX=]SIZE")]
    pub input: Vec<String>,
    /// Put what `llama-bench -o json` measured beside the ceilings.
    #[arg(long, value_name = "RESULT.json", conflicts_with = "change")]
    pub llama_bench: Option<PathBuf>,
    /// Accept results of `llama-bench` even if they are for another model.
    #[arg(long, requires = "llama_bench")]
    pub any_model: bool,
    #[command(flatten)]
    pub expecting: Expecting,
    /// Print figures only, no advice.
    #[arg(long)]
    pub no_advice: bool,
    /// The precision of the estimates' arithmetic: fp32, tf32, fp16, bf16, fp8, fp4, int8 or int4; ceilings take the fastest
    /// units that multiply the weights.
    #[arg(long, value_name = "PRECISION")]
    pub precision: Option<String>,
    /// Exit with 1 unless this holds, such as `decode_ceiling >= 30`, or for each measured operation `utilization >= 0.8`;
    /// `help` lists the names.
    #[arg(long, value_name = "CONDITION")]
    pub require: Vec<String>,
    #[command(flatten)]
    pub measuring: Measuring,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    #[command(flatten)]
    pub pictures: Wanted,
}

/// What a row of a profile is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum By {
    /// Each operation of each layer.
    Op,
    /// Each layer; what is outside the layers by its role.
    Layer,
    /// Each part of the model: attention, feed-forward, head.
    Kind,
}

/// The part of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Phase {
    /// One token for each sequence.
    Decode,
    /// The whole prompt of each sequence.
    Prefill,
}

#[derive(Debug, Args)]
pub struct Plot {
    /// Saved JSON results, or a contract that has a roof.
    #[arg(required_unless_present_any = ["on", "point", "points"], value_name = "RESULT.json|CONTRACT.yaml")]
    pub results: Vec<PathBuf>,
    /// Set a quantity of a contract, or what was measured of one of its roofs.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// A kernel of your own, such as 'my kernel=0.25 [flop/B],12.3 [Gflop/s]', under the roofs of --on, or of this machine; figures
    /// are told by their units, flop/B, Gflop/s, GB/s or s; may be repeated. It adds to the kernel of the same name in --points.
    #[arg(long, value_name = "NAME=FIGURES", value_parser = Own::written)]
    pub point: Vec<Own>,
    /// Kernels that were measured elsewhere: a CSV file with name and flop_per_byte, gflop_s, gb_s, seconds, flops or bytes; the
    /// directory target/criterion; the output of likwid-bench, of a Google benchmark as JSON, of `ncu --csv`, or pmc_perf.csv of
    /// rocprof-compute; may be repeated.
    #[arg(long, value_name = "FILE")]
    pub points: Vec<PathBuf>,
    /// The title of the chart.
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    #[command(flatten)]
    pub devices: On,
    #[command(flatten)]
    pub measuring: Measuring,
    /// How to print the chart.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    #[command(flatten)]
    pub pictures: Wanted,
}

#[derive(Debug, Args)]
pub struct Gate {
    /// A saved machine, bench, profile or prediction, or kernels that another tool measured, as `plot --points` takes them.
    #[arg(value_name = "BASELINE.json")]
    pub baseline: PathBuf,
    /// What to compare it with; without it, what was measured is measured again with the same settings.
    #[arg(value_name = "NEW.json")]
    pub new: Option<PathBuf>,
    /// The loss that is tolerated, besides the measured noise.
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = part)]
    pub threshold: f64,
    /// The noise above which neither a loss nor its absence can be told, which fails; 40 % if not given, and the threshold where
    /// figures are compared beside references.
    #[arg(long, value_name = "PERCENT", value_parser = part)]
    pub noise: Option<f64>,
    /// Compare figures as they are, even if a reference load ran beside them on both sides.
    #[arg(long)]
    pub absolute: bool,
    /// Compare even if the machine, the model or the settings differ.
    #[arg(long)]
    pub across: bool,
    /// How to print the result.
    #[arg(long, default_value = "text")]
    pub format: Choice<ForCi>,
}

#[derive(Debug, Args)]
pub struct Schema {
    /// The schema, such as `machine`, `roofline.machine/1` or `contract`; a list of all when there is none.
    pub name: Option<String>,
    /// How to print the list.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// The formats that code hosts show beside the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum CheckFormat {
    /// SARIF 2.1.0, for code scanning and editors.
    Sarif,
    /// Workflow commands that GitHub shows beside the line.
    Github,
}

/// The formats that continuous integration reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ForCi {
    /// Workflow commands that GitHub shows with the run.
    Github,
    /// JUnit XML, a test case for each figure.
    Junit,
}

/// Reads `5%` or `0.05`, up to the whole.
fn part(text: &str) -> Result<f64, &'static str> {
    let value = written::share(text).ok().filter(|value| (0.0..=1.0).contains(value));
    value.ok_or("write 5% or 0.05; at most 100%")
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
