//! Arguments that select devices, and the measurement of this machine.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::device::{self, Catalog, Chosen};
use crate::isa::Isa;
use crate::peaks::{Effort, Machine, Options, parse_size};
use crate::program::Failure;
use crate::program::output::terminal::Progress;

/// Devices given on the command line.
#[derive(Debug, Args)]
pub struct On {
    /// Devices: names such as rtx-4090, figures such as bandwidth=256GB/s,compute=59TFLOP/s,memory=128GB, a saved machine.json, or
    /// `this`; separated by commas
    #[arg(long, value_name = "DEVICE")]
    pub on: Vec<String>,
    #[command(flatten)]
    pub files: Files,
}

/// Device files in addition to the registry.
#[derive(Debug, Args)]
pub struct Files {
    /// Read additional devices from a contract file, besides devices.yaml in the configuration directory
    #[arg(long = "devices", value_name = "FILE.yaml")]
    pub devices: Vec<PathBuf>,
}

impl Files {
    /// Returns the registry, extended by the user's file and the given files.
    pub fn catalog(&self) -> Result<Catalog, Failure> {
        let mut catalog = Catalog::built_in();
        let own = device::configuration().filter(|path| path.exists());
        for path in own.iter().chain(&self.devices) {
            catalog.add_file(path)?;
        }
        Ok(catalog)
    }
}

impl On {
    /// Resolves the given devices, or `otherwise` if none is given.
    pub fn chosen(&self, catalog: &Catalog, otherwise: &[&str]) -> Result<Vec<Chosen>, Failure> {
        // A path may contain a comma.
        let parts = |text: &String| {
            if Path::new(text).is_file() { vec![text.clone()] } else { device::split(text) }
        };
        let mut wanted: Vec<String> = self.on.iter().flat_map(parts).collect();
        if wanted.is_empty() {
            wanted = otherwise.iter().map(|&name| name.to_owned()).collect();
        }
        let mut chosen = Vec::new();
        for text in wanted {
            chosen.push(catalog.choose(&text)?);
        }
        Ok(chosen)
    }
}

/// Options for measuring this machine.
#[derive(Debug, Args)]
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
    /// Limit the instruction set: scalar, avx2, avx512, avx-vnni, avx512-vnni, avx512-bf16, avx512-fp16, amx, or neon, neon-fp16, neon-dotprod, neon-i8mm, neon-bf16, sve; by default all supported ones
    #[arg(long, value_name = "NAME")]
    pub isa: Option<String>,
}

/// Parses a size such as `512MiB`.
pub fn size(text: &str) -> Result<usize, &'static str> {
    parse_size(text).ok_or("expected a size in B, KiB, MiB or GiB, such as 512MiB")
}

/// Measures this machine, or reads the saved measurement.
pub fn this(args: &Measuring) -> Result<Machine, Failure> {
    measure(&options(args)?)
}

/// Measures this machine with a progress bar, or reads the saved measurement.
pub fn measure(options: &Options) -> Result<Machine, Failure> {
    // The duration of a fixed number of steps is unknown in advance.
    let progress = match options.effort.steps {
        Some(_) => Progress::new(),
        None => Progress::lasting(options.duration()),
    };
    Ok(Machine::this(options, |what| progress.say(&format!("measuring {what}")))?)
}

pub fn options(args: &Measuring) -> Result<Options, Failure> {
    Ok(Options {
        quick: args.quick,
        refresh: args.refresh,
        no_cache: args.no_cache,
        threads: args.threads,
        size: args.size,
        isa: args.isa.as_deref().map(Isa::from_name).transpose()?,
        effort: Effort::default(),
    })
}
