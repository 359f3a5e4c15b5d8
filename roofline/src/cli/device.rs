//! The devices given on the command line, and the measurement of this machine.

use std::path::Path;

use crate::cli::Failure;
use crate::cli::args::{Files, Measuring, On};
use crate::cli::output::terminal::Progress;
use crate::device::{self, Catalog, ResolvedDevice};
use crate::isa::Isa;
use crate::machine::{Machine, Options, RunPolicy};

/// The word for all devices of the registry.
const ALL: &str = "all";

impl Files {
    /// Returns the registry, extended by the user's file and the given files.
    pub fn catalog(&self) -> Result<Catalog, Failure> {
        let mut catalog = Catalog::built_in();
        let own = device::configuration().filter(|path| path.exists());
        for path in own.iter().chain(&self.device_files) {
            catalog.add_file(path)?;
        }
        Ok(catalog)
    }
}

impl On {
    /// Returns the parts of every `--on`; a path may contain a comma.
    fn parts(&self) -> Vec<String> {
        let parts = |text: &String| {
            if Path::new(text).is_file() { vec![text.clone()] } else { device::split(text) }
        };
        self.on.iter().flat_map(parts).collect()
    }

    /// Returns whether all devices of the registry are requested.
    pub fn is_all(&self) -> bool {
        self.parts().iter().any(|part| part.trim() == ALL)
    }

    /// Resolves the given devices, or `default` if none is given.
    pub fn chosen(&self, catalog: &Catalog, default: &[&str]) -> Result<Vec<ResolvedDevice>, Failure> {
        let mut wanted = self.parts();
        if wanted.is_empty() {
            wanted = default.iter().map(|&name| name.to_owned()).collect();
        }
        if wanted.iter().any(|name| name.trim() == ALL) {
            if wanted.len() > 1 {
                return Err(Failure("--on all: cannot be combined with other devices".into()));
            }
            return Ok(catalog.devices().iter().map(|device| ResolvedDevice::Device(device)).collect());
        }
        wanted.iter().map(|text| Ok(catalog.choose(text)?)).collect()
    }
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
        None => Progress::with_duration(options.duration()),
    };
    Ok(Machine::this(options, |what| progress.message(&format!("measuring {what}")))?)
}

pub fn options(args: &Measuring) -> Result<Options, Failure> {
    Ok(Options {
        quick: args.quick,
        refresh: args.refresh,
        no_cache: args.no_cache,
        threads: args.threads,
        size: args.size,
        isa: args.isa.as_deref().map(Isa::from_name).transpose()?,
        effort: RunPolicy::default(),
    })
}
