//! Arguments for several devices, a host with its memory, a draft model and concurrent users.

use clap::Args;

use crate::parallel::Offload;
use roofline_render::parse;

/// Parallelism over the devices of a set.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Several devices")]
pub struct Sharding {
    /// Tensor parallelism: number of devices that share each matrix [default: the fastest layout]
    #[arg(long, value_name = "DEVICES", value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub tensor: Option<u64>,
    /// Pipeline parallelism: number of stages that share the layers [default: the fastest layout]
    #[arg(long, value_name = "STAGES", value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub pipeline: Option<u64>,
    /// Expert parallelism: number of devices that share the routed experts of a stage [default: the fastest layout]
    #[arg(long, value_name = "DEVICES", value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub experts: Option<u64>,
    /// Interconnect bandwidth per device in one direction, such as 56GB/s [default: from the data sheet]
    #[arg(long, value_name = "GB/s", value_parser = link)]
    pub link: Option<f64>,
    /// Start-up time of a message between devices in microseconds, for the ideal; 15 was measured on eight H100
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 15.0, allow_negative_numbers = true)]
    pub message_cost: f64,
}

/// Concurrent users of a server.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Serving")]
pub struct Serving {
    /// Number of concurrent users
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..=65_536))]
    pub users: Option<u64>,
    /// Prompt length of each request in tokens [default: 1024]
    #[arg(long, value_name = "TOKENS", requires = "users", allow_negative_numbers = true, value_parser = parse::tokens)]
    pub input: Option<f64>,
    /// Answer length of each request in tokens [default: 256]
    #[arg(long, value_name = "TOKENS", requires = "users", allow_negative_numbers = true, value_parser = parse::tokens)]
    pub output: Option<f64>,
    /// Share of each prompt found in the prefix cache, such as 50%
    #[arg(long, value_name = "SHARE", requires = "users", allow_negative_numbers = true, value_parser = parse::share)]
    pub reuse: Option<f64>,
}

/// Speculative decoding.
#[derive(Debug, Args)]
#[command(next_help_heading = "Speculative decoding")]
pub struct Speculation {
    /// Number of drafted tokens per pass, all assumed accepted, or a draft model (see --accept and --drafts)
    #[arg(long, value_name = "TOKENS|MODEL", allow_negative_numbers = true, value_parser = draft)]
    pub draft: Option<Draft>,
    /// Acceptance rate of a token of the draft model, such as 0.75
    #[arg(long, value_name = "SHARE", requires = "draft", allow_negative_numbers = true, value_parser = parse::share)]
    pub accept: Option<f64>,
    /// Number of tokens that the draft model proposes per pass
    #[arg(long, value_name = "TOKENS", requires = "draft", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub drafts: u64,
}

/// Weights in the memory of the host.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Offload")]
pub struct Offloading {
    /// Weights that stay on the device: `auto` for as many layers as fit, a number of layers, or `experts` to offload only routed
    /// experts
    #[arg(long, value_name = "auto|LAYERS|experts", value_parser = offload)]
    pub offload: Option<Offload>,
    /// Host: a CPU such as epyc-9654, or its figures such as bandwidth=83GB/s,memory=192GB
    #[arg(long, value_name = "DEVICE", requires = "offload")]
    pub host: Option<String>,
    /// Bandwidth between host and device in one direction, such as 63GB/s [default: PCIe of the device]
    #[arg(long, value_name = "GB/s", requires = "offload", value_parser = link)]
    pub bus: Option<f64>,
}

/// The source of drafted tokens.
#[derive(Clone, Debug, PartialEq)]
pub enum Draft {
    /// This number of tokens per pass, from an unspecified source.
    Tokens(f64),
    /// A model, by name or file.
    Model(String),
}

impl Speculation {
    /// Returns the maximum number of tokens per pass if only the number of drafted tokens is given.
    pub fn tokens_per_pass(&self) -> f64 {
        if let Some(Draft::Tokens(tokens)) = self.draft { tokens + 1.0 } else { 1.0 }
    }
}

/// Parses a number of tokens or the name of a model; text that starts like a number is a number.
fn draft(text: &str) -> Result<Draft, String> {
    let number = text.trim_start_matches(['-', '+', '.']).starts_with(|c: char| c.is_ascii_digit());
    if number { Ok(Draft::Tokens(parse::tokens(text)?)) } else { Ok(Draft::Model(text.to_owned())) }
}

fn offload(text: &str) -> Result<Offload, String> {
    match text {
        "auto" => Ok(Offload::Auto),
        "experts" => Ok(Offload::Experts),
        layers => layers
            .parse()
            .map(Offload::Layers)
            .map_err(|_| "expected `auto`, `experts` or a number of layers that stay on the device".into()),
    }
}

/// Parses a bandwidth above zero.
fn link(text: &str) -> Result<f64, String> {
    let rate = parse::in_unit(text, "GB/s")?;
    if rate > 0.0 { Ok(rate) } else { Err(format!("`{text}` is not above zero")) }
}
