//! Arguments of the commands that measure, profile and compare.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::device::{Files, Measuring, On};
use super::predict::Expecting;
use crate::bench::Kernel;
use crate::cli::output::charts::ChartArgs;
use crate::cli::output::{Choice, Format};
use crate::cli::select::Select;
use crate::import::KernelMeasurement;
use crate::kernels::FmaType;
use crate::machine::RunPolicy;
use roofline_render::parse;

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
    /// Number of measured runs per setting [default: limited by the time budget]; the result is not saved
    #[arg(long, value_name = "RUNS", value_parser = runs(1))]
    pub steps: Option<usize>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    #[command(flatten)]
    pub pictures: ChartArgs,
    #[command(flatten)]
    pub measuring: Measuring,
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
    clap::value_parser!(u64).range(least..=RunPolicy::MAX_RUNS as u64).map(|runs| runs as usize)
}

#[derive(Debug, Args)]
pub struct Bench {
    /// Quantization formats [default: q8_0, q4_k, q6_k, f16, bf16, f32]
    #[arg(long = "quant", value_parser = one_of(Kernel::ALL, Kernel::name), value_delimiter = ',', value_name = "FORMAT")]
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
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    #[command(flatten)]
    pub pictures: ChartArgs,
    #[command(flatten)]
    pub measuring: Measuring,
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
    pub pictures: ChartArgs,
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
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    #[command(flatten)]
    pub measuring: Measuring,
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
    /// Accept a truncated model file if its headers are complete
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
    /// Context length in tokens, such as 8192 or 32k [default: 4096, or the maximum of the model if that is shorter]
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true, value_parser = parse::tokens)]
    pub context: Option<f64>,
    /// Prompt length in tokens [default: 512]
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true, value_parser = parse::tokens)]
    pub prompt: Option<f64>,
    /// KV cache type
    #[arg(long, value_name = "FORMAT", default_value = "f16")]
    pub cache: String,
    /// Batch size: number of sequences processed together
    #[arg(long, value_name = "NUMBER", default_value_t = 1.0, allow_negative_numbers = true)]
    pub batch: f64,
    /// Profile as if the weights were in this quantization format or mix, such as q4_k or q4_k_m
    #[arg(long, value_name = "FORMAT")]
    pub quant: Option<String>,
    /// Run one pass with the stored weights, including attention over --context tokens; --prompt and --batch set its size
    #[arg(long, conflicts_with = "quant")]
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
    #[arg(long, value_name = "RESULT.json", conflicts_with = "quant")]
    pub llama_bench: Option<PathBuf>,
    /// Accept `llama-bench` results of another model
    #[arg(long, requires = "llama_bench")]
    pub any_model: bool,
    /// Omit advice
    #[arg(long)]
    pub no_advice: bool,
    /// Arithmetic precision of the ideal figures: fp32, tf32, fp16, bf16, fp8, fp4, int8 or int4 [default: the fastest that can
    /// multiply the weights]
    #[arg(long, value_name = "PRECISION")]
    pub precision: Option<String>,
    /// Exit with 1 unless the condition holds, such as `decode_ceiling >= 30`, or `utilization >= 0.8` for measured operations;
    /// `help` lists the names
    #[arg(long, value_name = "CONDITION")]
    pub require: Vec<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    #[command(flatten)]
    pub pictures: ChartArgs,
    #[command(flatten)]
    pub expecting: Expecting,
    #[command(flatten)]
    pub measuring: Measuring,
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
    #[arg(long, value_name = "NAME=FIGURES", value_parser = KernelMeasurement::parse)]
    pub point: Vec<KernelMeasurement>,
    /// Draw kernels measured by other tools: CSV with name and flop_per_byte, gflop_s, gb_s, seconds, flops or bytes; the directory
    /// target/criterion; output of likwid-bench, Google Benchmark (JSON), `ncu --csv`, or pmc_perf.csv of rocprof-compute
    #[arg(long, value_name = "FILE")]
    pub points: Vec<PathBuf>,
    /// Title of the chart
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    #[command(flatten)]
    pub devices: On,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    #[command(flatten)]
    pub pictures: ChartArgs,
    #[command(flatten)]
    pub measuring: Measuring,
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
    let value = parse::share(text).ok().filter(|value| (0.0..=1.0).contains(value));
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
