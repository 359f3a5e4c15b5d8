//! The devices that a command was given, and how this machine is measured when it is one of them.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::device::{self, Catalog, Chosen};
use crate::isa::Isa;
use crate::peaks::{Effort, Machine, Options, parse_size};
use crate::program::Failure;
use crate::program::output::terminal::Progress;

/// Which devices.
#[derive(Debug, Args)]
pub struct On {
    /// Devices: names such as rtx-4090, figures such as bandwidth=256GB/s,compute=59TFLOP/s,memory=128GB, a saved machine.json, or
    /// `this`, which is measured; several with commas or by repeating the flag.
    #[arg(long, value_name = "DEVICE")]
    pub on: Vec<String>,
    /// Where else devices are known from.
    #[command(flatten)]
    pub files: Files,
}

/// Files of devices.
#[derive(Debug, Args)]
pub struct Files {
    /// A file with devices of your own, in the contract language; may be repeated. devices.yaml in the configuration directory
    /// is always read.
    #[arg(long = "devices", value_name = "FILE.yaml")]
    pub devices: Vec<PathBuf>,
}

impl Files {
    /// The registry, the user's own file, and those that were named.
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
    /// The devices that were named; those of no flag are `otherwise`.
    pub fn chosen(&self, catalog: &Catalog, otherwise: &[&str]) -> Result<Vec<Chosen>, Failure> {
        // A comma may be part of a path.
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

/// How this machine is measured.
#[derive(Debug, Args)]
pub struct Measuring {
    /// Measure in a few seconds, less exactly.
    #[arg(long)]
    pub quick: bool,
    /// Measure again even if this machine was measured before.
    #[arg(long)]
    pub refresh: bool,
    /// Neither read nor write saved measurements.
    #[arg(long)]
    pub no_cache: bool,
    /// Threads to measure with besides one; by default as many as can run at once.
    #[arg(long, value_name = "COUNT")]
    pub threads: Option<usize>,
    /// Buffers beyond the caches, such as 512MiB; by default eight times the last cache.
    #[arg(long, value_name = "BYTES", value_parser = size)]
    pub size: Option<usize>,
    /// Instruction set to use, with those before it: scalar, avx2, avx512, avx-vnni, avx512-vnni, avx512-bf16, avx512-fp16, amx, or neon, neon-fp16, neon-dotprod, neon-i8mm, neon-bf16, sve; by default all there are.
    #[arg(long, value_name = "NAME")]
    pub isa: Option<String>,
}

/// Reads a size such as `512MiB`.
pub fn size(text: &str) -> Result<usize, &'static str> {
    parse_size(text).ok_or("a size is a number and B, KiB, MiB or GiB, such as 512MiB")
}

/// This machine, as these arguments want it measured.
pub fn this(args: &Measuring) -> Result<Machine, Failure> {
    measure(&options(args)?)
}

/// This machine, measured or remembered.
pub fn measure(options: &Options) -> Result<Machine, Failure> {
    // How long so many steps take is not known before.
    let progress = match options.effort.steps {
        Some(_) => Progress::new(),
        None => Progress::lasting(options.duration()),
    };
    Ok(Machine::this(options, |what| progress.say(&format!("measuring {what}")))?)
}

/// What the arguments mean.
pub fn options(args: &Measuring) -> Result<Options, Failure> {
    Ok(Options {
        quick: args.quick,
        refresh: args.refresh,
        no_cache: args.no_cache,
        threads: args.threads,
        size: args.size,
        isa: args.isa.as_deref().map(Isa::named).transpose()?,
        effort: Effort::default(),
    })
}
