//! Arguments that select devices and control measurements of this machine.

use std::path::PathBuf;

use clap::Args;

use crate::machine::parse_size;

/// Devices given on the command line.
#[derive(Debug, Args)]
pub struct On {
    /// Devices, separated by commas: names such as rtx-4090, sets such as '2x rtx-4090', figures such as
    /// bandwidth=256GB/s,compute=59TFLOP/s,memory=128GB, a saved machine.json, `this` or `all`
    #[arg(long, value_name = "DEVICE")]
    pub on: Vec<String>,
    #[command(flatten)]
    pub files: Files,
}

/// Device files in addition to the registry.
#[derive(Debug, Args)]
pub struct Files {
    /// Read additional devices from this file (also read: devices.yaml in the configuration directory)
    #[arg(long = "device-file", value_name = "FILE.yaml")]
    pub device_files: Vec<PathBuf>,
}

/// Options for measuring this machine.
#[derive(Debug, Args)]
#[command(next_help_heading = "Measurement of this machine")]
pub struct Measuring {
    /// Measure in a few seconds, less accurately
    #[arg(long)]
    pub quick: bool,
    /// Ignore the saved measurement of this machine
    #[arg(long)]
    pub refresh: bool,
    /// Neither read nor write saved measurements
    #[arg(long)]
    pub no_cache: bool,
    /// Number of threads for the parallel roofs [default: all available CPUs]
    #[arg(long, value_name = "COUNT")]
    pub threads: Option<usize>,
    /// Size of the buffers in memory, such as 512MiB [default: eight times the last-level cache]
    #[arg(long, value_name = "BYTES", value_parser = size)]
    pub size: Option<usize>,
    /// Limit the instruction set: scalar, avx2, avx512, avx-vnni, avx512-vnni, avx512-bf16, avx512-fp16, amx, or neon, neon-fp16,
    /// neon-dotprod, neon-i8mm, neon-bf16, sve [default: all supported]
    #[arg(long, value_name = "NAME")]
    pub isa: Option<String>,
}

/// Parses a size such as `512MiB`.
pub fn size(text: &str) -> Result<usize, &'static str> {
    parse_size(text).ok_or("expected a size in B, KiB, MiB or GiB, such as 512MiB")
}
