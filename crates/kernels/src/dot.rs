//! Products of whole numbers in vectors of 32 bytes, added up in 32 bits: several steps with AVX2, one with VNNI. Processors with
//! AVX-512 and those without have VNNI in encodings of their own.

use std::arch::asm;
use std::arch::x86_64::*;

/// How products are added up.
pub trait Dot {
    /// Whether numbers without sign may have all eight bits; otherwise they have seven at most.
    const ALL_BITS: bool;

    /// Adds the products of numbers without sign with bytes, four to each sum.
    ///
    /// # Safety
    ///
    /// The processor has these instructions.
    unsafe fn bytes(sums: __m256i, numbers: __m256i, x: __m256i) -> __m256i;

    /// Adds the products of 16-bit numbers, two to each sum.
    ///
    /// # Safety
    ///
    /// The processor has these instructions.
    unsafe fn words(sums: __m256i, a: __m256i, b: __m256i) -> __m256i;
}

/// By AVX2 alone.
pub struct Steps;

impl Dot for Steps {
    const ALL_BITS: bool = false;

    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn bytes(sums: __m256i, numbers: __m256i, x: __m256i) -> __m256i {
        let pairs = _mm256_maddubs_epi16(numbers, x);
        _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn words(sums: __m256i, a: __m256i, b: __m256i) -> __m256i {
        _mm256_add_epi32(sums, _mm256_madd_epi16(a, b))
    }
}

/// One step, in an encoding. Assembly, since the functions around it are compiled for AVX2, into which the compiler inlines no
/// function of more features.
macro_rules! vnni {
    ($(#[$doc:meta])* $name:ident $encoding:literal) => {
        $(#[$doc])*
        pub struct $name;

        impl Dot for $name {
            const ALL_BITS: bool = true;

            #[target_feature(enable = "avx2")]
            #[inline]
            unsafe fn bytes(mut sums: __m256i, numbers: __m256i, x: __m256i) -> __m256i {
                // SAFETY: the caller has these instructions; registers only.
                unsafe {
                    asm!(
                        concat!($encoding, " vpdpbusd {sums:y}, {numbers:y}, {x:y}"),
                        sums = inout(ymm_reg) sums, numbers = in(ymm_reg) numbers, x = in(ymm_reg) x,
                        options(pure, nomem, nostack, preserves_flags),
                    );
                }
                sums
            }

            #[target_feature(enable = "avx2")]
            #[inline]
            unsafe fn words(mut sums: __m256i, a: __m256i, b: __m256i) -> __m256i {
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
    /// By AVX-VNNI.
    Vex "{{vex}}"
}

vnni! {
    /// By AVX-512 VNNI.
    Evex "{{evex}}"
}
