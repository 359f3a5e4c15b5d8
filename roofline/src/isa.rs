//! Which instructions the kernels may use. An [`Isa`] can only come from detection, so holding one is
//! the proof that its instructions exist here, and the kernels are safe to call with it.

use std::fmt;
use std::sync::OnceLock;

/// An instruction set this processor has, as detected. The features behind each name are all those its
/// kernels use: `avx2` is AVX2, FMA and F16C; `neon-dotprod` adds the dot product instructions to `neon`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Isa(Level);

/// The instruction sets compiled into this build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Level {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "aarch64")]
    Neon,
    #[cfg(target_arch = "aarch64")]
    NeonDotprod,
}

/// Every name an instruction set can have, on any processor.
pub const NAMES: [&str; 4] = ["scalar", "avx2", "neon", "neon-dotprod"];

/// An instruction set that was asked for cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IsaError {
    /// No instruction set has this name.
    #[error("unknown instruction set `{name}`; known are {}", NAMES.join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// It exists, but not on this processor.
    #[error("this processor has no `{name}`; it has {}", available.join(", "))]
    Absent {
        /// What was asked for.
        name: String,
        /// What there is.
        available: Vec<&'static str>,
    },
}

impl Isa {
    /// The plain Rust kernels, which run everywhere.
    pub const SCALAR: Isa = Isa(Level::Scalar);

    /// The best instruction set of this processor.
    pub fn detect() -> Isa {
        Isa::available().last().copied().unwrap_or(Isa::SCALAR)
    }

    /// All instruction sets of this processor, the best one last. Detected once.
    pub fn available() -> &'static [Isa] {
        static AVAILABLE: OnceLock<Vec<Isa>> = OnceLock::new();
        AVAILABLE.get_or_init(|| {
            let mut found = vec![Isa::SCALAR];
            found.extend(detected().into_iter().map(Isa));
            found
        })
    }

    /// The instruction set of this name, if this processor has it.
    pub fn named(name: &str) -> Result<Isa, IsaError> {
        if !NAMES.contains(&name) {
            return Err(IsaError::Unknown { name: name.to_owned() });
        }
        Isa::available().iter().copied().find(|isa| isa.name() == name).ok_or_else(|| IsaError::Absent {
            name: name.to_owned(),
            available: Isa::available().iter().map(|isa| isa.name()).collect(),
        })
    }

    /// Its name, one of [`NAMES`].
    pub fn name(self) -> &'static str {
        match self.0 {
            Level::Scalar => "scalar",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => "avx2",
            #[cfg(target_arch = "aarch64")]
            Level::Neon => "neon",
            #[cfg(target_arch = "aarch64")]
            Level::NeonDotprod => "neon-dotprod",
        }
    }

    pub(crate) fn level(self) -> Level {
        self.0
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What there is beyond scalar. Kani and Miri know no vector instructions.
fn detected() -> Vec<Level> {
    #[cfg(all(target_arch = "x86_64", not(any(kani, miri))))]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c")
    {
        return vec![Level::Avx2];
    }
    #[cfg(all(target_arch = "aarch64", not(any(kani, miri))))]
    if std::arch::is_aarch64_feature_detected!("neon") {
        let dotprod = std::arch::is_aarch64_feature_detected!("dotprod");
        return [Level::Neon, Level::NeonDotprod].into_iter().take(1 + usize::from(dotprod)).collect();
    }
    Vec::new()
}
