//! Integer dot products of 256-bit vectors with 32-bit sums: one instruction with VNNI, several with AVX2. VNNI has an EVEX encoding
//! (AVX-512 VNNI) and a VEX encoding (AVX-VNNI).

use std::arch::asm;
use std::arch::x86_64::*;

/// An implementation of integer dot products.
pub trait Dot {
    /// True if the unsigned factors may use all eight bits; otherwise they must be below 128.
    const FULL_RANGE: bool;

    /// Multiplies unsigned with signed bytes and adds four products to each 32-bit sum.
    ///
    /// # Safety
    ///
    /// The CPU must support the instructions.
    unsafe fn dot_u8(sums: __m256i, codes: __m256i, x: __m256i) -> __m256i;

    /// Multiplies 16-bit integers and adds two products to each 32-bit sum.
    ///
    /// # Safety
    ///
    /// The CPU must support the instructions.
    unsafe fn dot_i16(sums: __m256i, a: __m256i, b: __m256i) -> __m256i;
}

/// AVX2 without VNNI: `vpmaddubsw`, `vpmaddwd` and `vpaddd`.
pub struct Maddubs;

impl Dot for Maddubs {
    const FULL_RANGE: bool = false;

    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn dot_u8(sums: __m256i, codes: __m256i, x: __m256i) -> __m256i {
        let pairs = _mm256_maddubs_epi16(codes, x);
        _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn dot_i16(sums: __m256i, a: __m256i, b: __m256i) -> __m256i {
        _mm256_add_epi32(sums, _mm256_madd_epi16(a, b))
    }
}

/// Implements [`Dot`] in one encoding. Inline assembly, because the callers are compiled for AVX2 and the compiler does not inline
/// functions with additional target features.
macro_rules! vnni {
    ($(#[$doc:meta])* $name:ident $encoding:literal) => {
        $(#[$doc])*
        pub struct $name;

        impl Dot for $name {
            const FULL_RANGE: bool = true;

            #[target_feature(enable = "avx2")]
            #[inline]
            unsafe fn dot_u8(mut sums: __m256i, codes: __m256i, x: __m256i) -> __m256i {
                // SAFETY: the caller guarantees the instruction, which only accesses registers.
                unsafe {
                    asm!(
                        concat!($encoding, " vpdpbusd {sums:y}, {codes:y}, {x:y}"),
                        sums = inout(ymm_reg) sums, codes = in(ymm_reg) codes, x = in(ymm_reg) x,
                        options(pure, nomem, nostack, preserves_flags),
                    );
                }
                sums
            }

            #[target_feature(enable = "avx2")]
            #[inline]
            unsafe fn dot_i16(mut sums: __m256i, a: __m256i, b: __m256i) -> __m256i {
                // SAFETY: as above.
                unsafe {
                    asm!(
                        concat!($encoding, " vpdpwssd {sums:y}, {a:y}, {b:y}"),
                        sums = inout(ymm_reg) sums, a = in(ymm_reg) a, b = in(ymm_reg) b,
                        options(pure, nomem, nostack, preserves_flags),
                    );
                }
                sums
            }
        }
    };
}

vnni! {
    /// AVX-VNNI (VEX encoding).
    AvxVnni "{{vex}}"
}

vnni! {
    /// AVX-512 VNNI (EVEX encoding).
    Avx512Vnni "{{evex}}"
}
