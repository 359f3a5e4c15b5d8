//! Instruction set detection.
//!
//! An [`Isa`] can only be obtained from detection, so a value is a witness that the CPU supports its instructions. This makes the
//! kernels safe to call.

use std::fmt;
use std::sync::OnceLock;

/// A detected instruction set: the extension it is named after and every earlier extension in [`NAMES`] that this CPU supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Isa {
    extension: Extension,
    level: Level,
}

/// An instruction set extension. Detection requires every CPU feature that its kernels use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(dead_code, reason = "extensions of other architectures are never constructed")]
pub(crate) enum Extension {
    Scalar,
    /// AVX2, FMA and F16C.
    Avx2,
    /// AVX-512 F, BW, DQ and VL.
    Avx512,
    AvxVnni,
    Avx512Vnni,
    Avx512Bf16,
    Avx512Fp16,
    /// AMX with int8 and bf16 tiles; requires permission from the operating system.
    Amx,
    Neon,
    NeonFp16,
    NeonDotprod,
    NeonI8mm,
    NeonBf16,
    Sve,
}

/// The kernel module used for an [`Isa`].
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

/// Names of all instruction sets on all architectures, each architecture in ascending order.
pub const NAMES: [&str; 14] = [
    "scalar",
    "avx2",
    "avx512",
    "avx-vnni",
    "avx512-vnni",
    "avx512-bf16",
    "avx512-fp16",
    "amx",
    "neon",
    "neon-fp16",
    "neon-dotprod",
    "neon-i8mm",
    "neon-bf16",
    "sve",
];

/// Error for an instruction set that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IsaError {
    /// No instruction set has this name.
    #[error("unknown instruction set `{name}`; expected one of {}", NAMES.join(", "))]
    Unknown {
        /// The requested name.
        name: String,
    },
    /// This CPU does not support the instruction set.
    #[error("this CPU does not support `{name}`; supported: {}", available.join(", "))]
    Unsupported {
        /// The requested name.
        name: String,
        /// Names of the supported instruction sets.
        available: Vec<&'static str>,
    },
}

impl Isa {
    /// The portable kernels without explicit vector instructions.
    pub const SCALAR: Isa = Isa { extension: Extension::Scalar, level: Level::Scalar };

    /// The best instruction set of this CPU.
    pub fn detect() -> Isa {
        Isa::available().last().copied().unwrap_or(Isa::SCALAR)
    }

    /// All instruction sets of this CPU, the best one last. Detection runs once.
    pub fn available() -> &'static [Isa] {
        static AVAILABLE: OnceLock<Vec<Isa>> = OnceLock::new();
        AVAILABLE.get_or_init(|| {
            let extensions = detected();
            let level = |at| {
                extensions[..=at]
                    .iter()
                    .rev()
                    .find_map(|extension| level(*extension))
                    .unwrap_or(Level::Scalar)
            };
            let isa = |(at, extension): (usize, &Extension)| Isa { extension: *extension, level: level(at) };
            let found = extensions.iter().enumerate().map(isa);
            std::iter::once(Isa::SCALAR).chain(found).collect()
        })
    }

    /// Looks up a supported instruction set by name.
    pub fn from_name(name: &str) -> Result<Isa, IsaError> {
        if !NAMES.contains(&name) {
            return Err(IsaError::Unknown { name: name.to_owned() });
        }
        Isa::available().iter().copied().find(|isa| isa.name() == name).ok_or_else(|| IsaError::Unsupported {
            name: name.to_owned(),
            available: Isa::available().iter().map(|isa| isa.name()).collect(),
        })
    }

    /// The name, one of [`NAMES`].
    pub fn name(self) -> &'static str {
        NAMES[self.extension as usize]
    }

    /// Returns true if this instruction set includes the named one.
    pub fn includes(self, name: &str) -> bool {
        Isa::available().iter().any(|isa| isa.name() == name && isa.extension <= self.extension)
    }

    pub(crate) fn has(self, extension: Extension) -> bool {
        self.includes(NAMES[extension as usize])
    }

    pub(crate) fn level(self) -> Level {
        self.level
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The kernel module introduced by an extension, if any.
fn level(extension: Extension) -> Option<Level> {
    match extension {
        #[cfg(target_arch = "x86_64")]
        Extension::Avx2 => Some(Level::Avx2),
        #[cfg(target_arch = "aarch64")]
        Extension::Neon => Some(Level::Neon),
        #[cfg(target_arch = "aarch64")]
        Extension::NeonDotprod => Some(Level::NeonDotprod),
        _ => None,
    }
}

/// Supported extensions in ascending order. Kani and Miri do not support vector instructions.
fn detected() -> Vec<Extension> {
    #[cfg(all(target_arch = "x86_64", not(any(kani, miri))))]
    return x86();
    #[cfg(all(target_arch = "aarch64", not(any(kani, miri))))]
    return arm();
    #[cfg(any(kani, miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    Vec::new()
}

#[cfg(all(target_arch = "x86_64", not(any(kani, miri))))]
fn x86() -> Vec<Extension> {
    use std::arch::is_x86_feature_detected as has;
    let avx2 = has!("avx2") && has!("fma") && has!("f16c");
    let wide = avx2 && has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl");
    let extensions = [
        (Extension::Avx2, avx2),
        (Extension::Avx512, wide),
        (Extension::AvxVnni, avx2 && has!("avxvnni")),
        (Extension::Avx512Vnni, wide && has!("avx512vnni")),
        (Extension::Avx512Bf16, wide && has!("avx512bf16")),
        (Extension::Avx512Fp16, wide && has!("avx512fp16")),
        (Extension::Amx, wide && amx::permitted()),
    ];
    extensions.into_iter().filter(|(_, supported)| *supported).map(|(extension, _)| extension).collect()
}

#[cfg(all(target_arch = "aarch64", not(any(kani, miri))))]
fn arm() -> Vec<Extension> {
    use std::arch::is_aarch64_feature_detected as has;
    let neon = has!("neon");
    let extensions = [
        (Extension::Neon, neon),
        (Extension::NeonFp16, neon && has!("fp16")),
        (Extension::NeonDotprod, neon && has!("dotprod")),
        (Extension::NeonI8mm, neon && has!("i8mm")),
        (Extension::NeonBf16, neon && has!("bf16")),
        (Extension::Sve, neon && has!("sve")),
    ];
    extensions.into_iter().filter(|(_, supported)| *supported).map(|(extension, _)| extension).collect()
}

/// AMX detection: not covered by the standard library, and Linux grants the tile registers only on request.
#[cfg(all(target_arch = "x86_64", not(any(kani, miri))))]
mod amx {
    use std::arch::x86_64::{__cpuid, __cpuid_count};

    /// Returns true if the CPU has int8 and bf16 tiles and the system lets this process use them.
    pub fn permitted() -> bool {
        #[allow(unused_unsafe, reason = "older compilers count this intrinsic as unsafe")]
        // SAFETY: every x86-64 CPU has `cpuid`.
        let leaves = unsafe { __cpuid(0) }.eax;
        if leaves < 7 {
            return false;
        }
        #[allow(unused_unsafe, reason = "older compilers count this intrinsic as unsafe")]
        // SAFETY: as above; the CPU reported that leaf 7 exists.
        let features = unsafe { __cpuid_count(7, 0) }.edx;
        let (bf16, tiles, int8) = (1 << 22, 1 << 24, 1 << 25);
        let all = bf16 | tiles | int8;
        features & all == all && request_permission()
    }

    /// Calls `arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)` for this process and its future threads.
    #[cfg(target_os = "linux")]
    fn request_permission() -> bool {
        const ARCH_PRCTL: i64 = 158;
        const REQUEST: i64 = 0x1023;
        const TILE_DATA: i64 = 18;
        let result: i64;
        // SAFETY: the system call only changes which registers are saved on a context switch; it clobbers rax, rcx and r11.
        unsafe {
            std::arch::asm!(
                "syscall",
                inlateout("rax") ARCH_PRCTL => result,
                in("rdi") REQUEST,
                in("rsi") TILE_DATA,
                lateout("rcx") _,
                lateout("r11") _,
                options(nostack),
            );
        }
        result == 0
    }

    #[cfg(not(target_os = "linux"))]
    fn request_permission() -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_isa_includes_every_earlier_extension_of_this_cpu() {
        let names = |isa: Isa| NAMES.into_iter().filter(|name| isa.includes(name)).collect::<Vec<_>>();
        for (at, isa) in Isa::available().iter().enumerate() {
            assert_eq!(Isa::from_name(isa.name()), Ok(*isa));
            let expected: Vec<_> = Isa::available()[..=at].iter().map(|isa| isa.name()).collect();
            assert_eq!(names(*isa), expected);
        }
        assert_eq!(NAMES[Extension::Amx as usize], "amx");
        assert_eq!(NAMES[Extension::Sve as usize], "sve");
        assert!(!Isa::SCALAR.includes("avx2") && !Isa::detect().includes("mmx"));
    }
}
