//! Arguments of `predict`, `choose` and `plan`.

use std::path::PathBuf;

use clap::Args;

use super::device::{Measuring, On};
use super::parallel::{Offloading, Serving, Sharding, Speculation};
use crate::cli::output::Format;
use crate::cli::output::charts::ChartArgs;
use crate::cli::select::Select;
use roofline_render::parse;

/// Ends the heading of the options before; a heading applies to all options that follow.
const DEFAULT_HEADING: Option<&str> = None;

/// A model, its workload and the devices.
#[derive(Debug, Args)]
pub struct Work {
    /// Model: a known name, a model file, or a config.json
    #[arg(value_name = "MODEL")]
    pub model: Option<String>,
    #[command(flatten)]
    pub devices: On,
    /// Quantization of the weights: a format such as q8_0, fp8 or nf4, or a mix such as q4_k_m [default: that of the file, or f16]
    #[arg(long, value_name = "FORMAT")]
    pub quant: Option<String>,
    /// Context length in tokens, such as 8192 or 32k [default: 4096, or the maximum of the model if that is shorter]
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true, value_parser = parse::tokens)]
    pub context: Option<f64>,
    /// Prompt length in tokens [default: 512]
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true, value_parser = parse::tokens)]
    pub prompt: Option<f64>,
    /// Batch size: number of sequences processed together
    #[arg(long, value_name = "NUMBER", default_value_t = 1.0, allow_negative_numbers = true)]
    pub batch: f64,
    /// KV cache type
    #[arg(long, value_name = "FORMAT", default_value = "f16")]
    pub cache: String,
    /// Number of parameters instead of a model, such as 8b
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, value_parser = parse::parameters)]
    pub params: Option<f64>,
    /// Accept a truncated model file if its headers are complete
    #[arg(long)]
    pub headers_only: bool,
    #[command(flatten)]
    pub ideal: Ideal,
    #[command(flatten)]
    pub measuring: Measuring,
}

/// Assumptions of the ideal figures.
#[derive(Debug, Args)]
#[command(next_help_heading = "Ideal figures")]
pub struct Ideal {
    /// Arithmetic precision: fp32, tf32, fp16, bf16, fp8, fp4, int8 or int4 [default: the fastest that can multiply the weights]
    #[arg(long, value_name = "PRECISION")]
    pub precision: Option<String>,
    /// Use the units of the ceiling if a device has no peak for --precision
    #[arg(long)]
    pub allow_fallback: bool,
    /// Share of the peak compute rate that the code reaches, such as 80%
    #[arg(long, value_name = "SHARE", default_value = "1", allow_negative_numbers = true, value_parser = parse::share)]
    pub efficiency: f64,
    /// Share of the bandwidth that the code reaches, such as 80%
    #[arg(long, value_name = "SHARE", default_value = "1", allow_negative_numbers = true, value_parser = parse::share)]
    pub bandwidth_efficiency: f64,
    /// Dispatch overhead per step in microseconds
    #[arg(long, value_name = "MICROSECONDS", allow_negative_numbers = true)]
    pub overhead: Option<f64>,
}

/// The engine of expected speeds.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Expected speeds")]
pub struct Expecting {
    /// Engine, such as llama.cpp-cuda or vllm; `help` lists all [default: the most measured engine on similar devices]
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<String>,
    /// Use the saved calibration of the device, or that of FILE, instead of published measurements
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub calibrated: Option<Option<PathBuf>>,
}

/// Several devices, users and speculative decoding.
#[derive(Debug, Args)]
pub struct Parallel {
    #[command(flatten)]
    pub sharding: Sharding,
    #[command(flatten)]
    pub serving: Serving,
    #[command(flatten)]
    pub speculation: Speculation,
}

#[derive(Debug, Args)]
pub struct Predict {
    #[command(flatten)]
    pub work: Work,
    #[command(flatten, next_help_heading = DEFAULT_HEADING)]
    pub select: Select,
    /// Exit with 1 unless the condition holds, such as 'fits and decode_ceiling >= 30 [token/s]'; `help` lists the names
    #[arg(long, value_name = "CONDITION")]
    pub require: Vec<String>,
    /// Vary batch, context, prompt, efficiency or bits, such as `batch=1,2,4..64`, where `..` doubles; give it twice for a grid.
    /// With --users, vary users
    #[arg(long, value_name = "NAME=VALUES")]
    pub sweep: Vec<String>,
    /// Show every equation with its numbers
    #[arg(long)]
    pub explain: bool,
    /// Also show the ideal figures: roofline times without losses, which --explain shows too
    #[arg(long = "ideal")]
    pub show_ideal: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    #[command(flatten)]
    pub pictures: ChartArgs,
    #[command(flatten)]
    pub expecting: Expecting,
    #[command(flatten)]
    pub parallel: Parallel,
    #[command(flatten)]
    pub offloading: Offloading,
}

#[derive(Debug, Args)]
pub struct Choose {
    /// Minimum decode speed that the ceiling allows, such as '20 token/s'
    #[arg(long, value_name = "SPEED", default_value = "0 token/s", allow_negative_numbers = true, value_parser = token_rate)]
    pub min_speed: f64,
    #[command(flatten)]
    pub select: Select,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    #[command(flatten)]
    pub pictures: ChartArgs,
    #[command(flatten)]
    pub work: Work,
    #[command(flatten)]
    pub speculation: Speculation,
    #[command(flatten)]
    pub expecting: Expecting,
}

#[derive(Debug, Args)]
pub struct Plan {
    /// Minimum ideal speed of all users together, such as '2000 token/s'
    #[arg(long, value_name = "SPEED", default_value = "0 token/s", allow_negative_numbers = true, value_parser = token_rate)]
    pub min_speed: f64,
    /// Maximum number of devices per set; 1 to 8 and then powers of two are tried
    #[arg(long, value_name = "NUMBER", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub max_devices: u64,
    /// Consider only devices for which the condition holds, such as 'memory >= 24 [GB]'; `help` lists the names
    #[arg(long = "where", value_name = "CONDITION")]
    pub conditions: Vec<String>,
    /// Condition that a set must meet, such as 'token_time <= 50 [ms/token]'; `help` lists the names
    #[arg(long, value_name = "CONDITION")]
    pub require: Vec<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    #[command(flatten)]
    pub work: Work,
    #[command(flatten)]
    pub parallel: Parallel,
}

/// Parses `20 token/s` or `20`.
fn token_rate(text: &str) -> Result<f64, String> {
    let rate = parse::in_unit(text, "token/s")?;
    if rate >= 0.0 { Ok(rate) } else { Err(format!("`{text}` is below zero")) }
}
