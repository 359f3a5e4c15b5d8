//! Which instructions the kernels may use. An [`Isa`] can only come from detection, so holding one is
//! the proof that its instructions exist here, and the kernels are safe to call with it.

use std::fmt;
use std::sync::OnceLock;

/// Instructions this processor has, as detected: those of its name and of every name before it in [`NAMES`] that is here too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Isa {
    set: Set,
    level: Level,
}

/// One addition to what comes before it. The features behind each are all those its kernels use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(dead_code, reason = "those of the other architectures are only names here")]
pub(crate) enum Set {
    Scalar,
    /// AVX2, FMA and F16C.
    Avx2,
    /// AVX-512 F, BW, DQ and VL.
    Avx512,
    AvxVnni,
    Avx512Vnni,
    Avx512Bf16,
    Avx512Fp16,
    /// Tiles of bytes and of bf16, which the system has to permit.
    Amx,
    Neon,
    NeonFp16,
    NeonDotprod,
    NeonI8mm,
    NeonBf16,
    Sve,
}

/// The instruction sets that the products are written for.
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

/// Every name an instruction set can have, on any processor, in their order.
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
    pub const SCALAR: Isa = Isa { set: Set::Scalar, level: Level::Scalar };

    /// The best instruction set of this processor.
    pub fn detect() -> Isa {
        Isa::available().last().copied().unwrap_or(Isa::SCALAR)
    }

    /// All instruction sets of this processor, the best one last. Detected once.
    pub fn available() -> &'static [Isa] {
        static AVAILABLE: OnceLock<Vec<Isa>> = OnceLock::new();
        AVAILABLE.get_or_init(|| {
            let sets = detected();
            let level = |at| sets[..=at].iter().rev().find_map(|set| level(*set)).unwrap_or(Level::Scalar);
            let found = sets.iter().enumerate().map(|(at, set)| Isa { set: *set, level: level(at) });
            std::iter::once(Isa::SCALAR).chain(found).collect()
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
        NAMES[self.set as usize]
    }

    /// Whether the instructions of this name are among its own.
    pub fn includes(self, name: &str) -> bool {
        Isa::available().iter().any(|isa| isa.name() == name && isa.set <= self.set)
    }

    /// The same for a set.
    pub(crate) fn has(self, set: Set) -> bool {
        self.includes(NAMES[set as usize])
    }

    /// Which kernels its products use.
    pub(crate) fn level(self) -> Level {
        self.level
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The kernels that a set brings; none where it adds nothing to the products.
fn level(set: Set) -> Option<Level> {
    match set {
        #[cfg(target_arch = "x86_64")]
        Set::Avx2 => Some(Level::Avx2),
        #[cfg(target_arch = "aarch64")]
        Set::Neon => Some(Level::Neon),
        #[cfg(target_arch = "aarch64")]
        Set::NeonDotprod => Some(Level::NeonDotprod),
        _ => None,
    }
}

/// What there is beyond scalar, in order. Kani and Miri know no vector instructions.
fn detected() -> Vec<Set> {
    #[cfg(all(target_arch = "x86_64", not(any(kani, miri))))]
    return x86();
    #[cfg(all(target_arch = "aarch64", not(any(kani, miri))))]
    return arm();
    #[cfg(any(kani, miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    Vec::new()
}

#[cfg(all(target_arch = "x86_64", not(any(kani, miri))))]
fn x86() -> Vec<Set> {
    use std::arch::is_x86_feature_detected as has;
    let avx2 = has!("avx2") && has!("fma") && has!("f16c");
    let wide = avx2 && has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl");
    let sets = [
        (Set::Avx2, avx2),
        (Set::Avx512, wide),
        (Set::AvxVnni, avx2 && has!("avxvnni")),
        (Set::Avx512Vnni, wide && has!("avx512vnni")),
        (Set::Avx512Bf16, wide && has!("avx512bf16")),
        (Set::Avx512Fp16, wide && has!("avx512fp16")),
        (Set::Amx, wide && amx::permitted()),
    ];
    sets.into_iter().filter(|(_, here)| *here).map(|(set, _)| set).collect()
}

#[cfg(all(target_arch = "aarch64", not(any(kani, miri))))]
fn arm() -> Vec<Set> {
    use std::arch::is_aarch64_feature_detected as has;
    let neon = has!("neon");
    let sets = [
        (Set::Neon, neon),
        (Set::NeonFp16, neon && has!("fp16")),
        (Set::NeonDotprod, neon && has!("dotprod")),
        (Set::NeonI8mm, neon && has!("i8mm")),
        (Set::NeonBf16, neon && has!("bf16")),
        (Set::Sve, neon && has!("sve")),
    ];
    sets.into_iter().filter(|(_, here)| *here).map(|(set, _)| set).collect()
}

/// Tiles: the standard library does not detect them, and Linux gives their registers only to a process that asks.
#[cfg(all(target_arch = "x86_64", not(any(kani, miri))))]
mod amx {
    use std::arch::x86_64::{__cpuid, __cpuid_count};

    /// Whether the processor has tiles of bytes and bf16 and the system lets this process use them.
    pub fn permitted() -> bool {
        #[allow(unused_unsafe, reason = "older compilers count this intrinsic as unsafe")]
        // SAFETY: every x86-64 processor has the instruction.
        let leaves = unsafe { __cpuid(0) }.eax;
        if leaves < 7 {
            return false;
        }
        #[allow(unused_unsafe, reason = "older compilers count this intrinsic as unsafe")]
        // SAFETY: the leaf is one that the processor says it has.
        let features = unsafe { __cpuid_count(7, 0) }.edx;
        let (bf16, tiles, int8) = (1 << 22, 1 << 24, 1 << 25);
        let all = bf16 | tiles | int8;
        features & all == all && ask()
    }

    /// `arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)`: for this process and the threads it will start.
    #[cfg(target_os = "linux")]
    fn ask() -> bool {
        const ARCH_PRCTL: i64 = 158;
        const REQUEST: i64 = 0x1023;
        const TILE_DATA: i64 = 18;
        let result: i64;
        // SAFETY: the call changes nothing but which registers the system saves; the kernel keeps all others but these three.
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
    fn ask() -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_has_its_name_and_includes_those_before_it_that_are_here() {
        let names = |isa: Isa| NAMES.into_iter().filter(|name| isa.includes(name)).collect::<Vec<_>>();
        for (at, isa) in Isa::available().iter().enumerate() {
            assert_eq!(Isa::named(isa.name()), Ok(*isa));
            let expected: Vec<_> = Isa::available()[..=at].iter().map(|isa| isa.name()).collect();
            assert_eq!(names(*isa), expected);
        }
        assert_eq!(NAMES[Set::Amx as usize], "amx");
        assert_eq!(NAMES[Set::Sve as usize], "sve");
        assert!(!Isa::SCALAR.includes("avx2") && !Isa::detect().includes("mmx"));
    }
}
