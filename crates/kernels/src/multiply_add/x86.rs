//! The loops of x86-64 processors: AVX2, AVX-512 and what came after it, and tiles.

use std::arch::asm;

use super::{Multiplied, MultiplyAdd, Number, Operands, Shape};
use crate::isa::Set;

pub(super) const LOOPS: [MultiplyAdd; 14] = [
    ymm(Multiplied::F64, &[Set::Avx2], "vfmadd231pd ymm", [Number::F64; 2], 1, fma_f64),
    ymm(Multiplied::F32, &[Set::Avx2], "vfmadd231ps ymm", [Number::F32; 2], 1, fma_f32),
    ymm(Multiplied::Int8, &[Set::Avx2], "vpmaddubsw + vpmaddwd + vpaddd ymm", BYTES, 4, maddubs_widened),
    ymm(Multiplied::Int4, &[Set::Avx2], "vpmaddubsw + vpaddw ymm", WORDS, 2, maddubs),
    zmm(Multiplied::F64, &[Set::Avx512], "vfmadd231pd zmm", [Number::F64; 2], 1, wide_fma_f64),
    zmm(Multiplied::F32, &[Set::Avx512], "vfmadd231ps zmm", [Number::F32; 2], 1, wide_fma_f32),
    zmm(
        Multiplied::Int8,
        &[Set::Avx512],
        "vpmaddubsw + vpmaddwd + vpaddd zmm",
        BYTES,
        4,
        wide_maddubs_widened,
    ),
    zmm(Multiplied::Int4, &[Set::Avx512], "vpmaddubsw + vpaddw zmm", WORDS, 2, wide_maddubs),
    ymm(Multiplied::Int8, &[Set::AvxVnni], "vpdpbusd ymm", BYTES, 4, dpbusd),
    zmm(Multiplied::Int8, &[Set::Avx512Vnni], "vpdpbusd zmm", BYTES, 4, wide_dpbusd),
    zmm(Multiplied::Bf16, &[Set::Avx512Bf16], "vdpbf16ps zmm", [Number::Bf16, Number::F32], 2, wide_dpbf16),
    zmm(Multiplied::F16, &[Set::Avx512Fp16], "vfmadd231ph zmm", [Number::F16; 2], 1, wide_fma_f16),
    tile(Multiplied::Int8, "tdpbusd", BYTES, 4, tiles_bytes),
    tile(Multiplied::Bf16, "tdpbf16ps", [Number::Bf16, Number::F32], 2, tiles_bf16),
];

const BYTES: [Number; 2] = [Number::Byte, Number::I32];
const WORDS: [Number; 2] = [Number::Byte, Number::I16];

type Run = unsafe fn(usize, &Operands, &mut [u8]);

const fn ymm(
    kind: Multiplied,
    sets: &'static [Set],
    instruction: &'static str,
    [number, sum]: [Number; 2],
    group: usize,
    run: Run,
) -> MultiplyAdd {
    // Twelve chains: enough for a latency of five cycles at two multiply-adds a cycle; four registers are left.
    let shape = Shape::Groups(group);
    MultiplyAdd { kind, sets, instruction, number, sum, shape, chains: 12, bytes: || 12 * 32, run }
}

const fn zmm(
    kind: Multiplied,
    sets: &'static [Set],
    instruction: &'static str,
    [number, sum]: [Number; 2],
    group: usize,
    run: Run,
) -> MultiplyAdd {
    let shape = Shape::Groups(group);
    MultiplyAdd { kind, sets, instruction, number, sum, shape, chains: 24, bytes: || 24 * 64, run }
}

const fn tile(
    kind: Multiplied,
    instruction: &'static str,
    [number, sum]: [Number; 2],
    group: usize,
    run: Run,
) -> MultiplyAdd {
    // Six tiles of sums: four hide the latency of 52 cycles at one instruction every sixteen.
    let (sets, shape) = (&[Set::Amx], Shape::Tile(group));
    MultiplyAdd { kind, sets, instruction, number, sum, shape, chains: 6, bytes: || 6 * 1024, run }
}

/// A loop over registers of sums, `\i` in the step. The operands are in two others, words of 1 in a third, and one is left free.
macro_rules! vectors {
    ($name:ident, $features:literal, $sums:literal, $width:literal, $register:literal, $load:literal, $store:literal,
     $ones:literal, $a:literal, $b:literal, $($step:literal),+) => {
        #[target_feature(enable = $features)]
        fn $name(rounds: usize, operands: &Operands, sums: &mut [u8]) {
            let ones = [1i16; 32];
            // SAFETY: the sums are as many registers as the list names, as `MultiplyAdd::run` makes them, and the operands and
            // the ones a register each; the instructions are those of the features above, and `rounds` is not 0.
            unsafe {
                asm!(
                    concat!($load, " ", $register, $a, ", [{a}]"),
                    concat!($load, " ", $register, $b, ", [{b}]"),
                    concat!($load, " ", $register, $ones, ", [{ones}]"),
                    concat!(".irp i,", $sums),
                    concat!($load, " ", $register, "\\i, [{sums} + ", $width, "*\\i]"),
                    ".endr",
                    "2:",
                    concat!(".irp i,", $sums),
                    $($step,)+
                    ".endr",
                    "dec rcx",
                    "jnz 2b",
                    concat!(".irp i,", $sums),
                    concat!($store, " [{sums} + ", $width, "*\\i], ", $register, "\\i"),
                    ".endr",
                    "vzeroupper",
                    a = in(reg) operands.a.as_ptr(),
                    b = in(reg) operands.b.as_ptr(),
                    ones = in(reg) ones.as_ptr(),
                    sums = in(reg) sums.as_mut_ptr(),
                    inout("rcx") rounds => _,
                    clobber_abi("sysv64"),
                    options(nostack),
                );
            }
        }
    };
}

macro_rules! ymm {
    ($name:ident, $features:literal, $($step:literal),+) => {
        vectors!($name, $features, "0,1,2,3,4,5,6,7,8,9,10,11", "32", "ymm", "vmovdqu", "vmovdqu", "14", "12", "13", $($step),+);
    };
}

macro_rules! zmm {
    ($name:ident, $features:literal, $($step:literal),+) => {
        vectors!($name, $features, "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23", "64", "zmm",
            "vmovdqu64", "vmovdqu64", "28", "30", "31", $($step),+);
    };
}

ymm!(fma_f64, "avx2,fma", "vfmadd231pd ymm\\i, ymm12, ymm13");
ymm!(fma_f32, "avx2,fma", "vfmadd231ps ymm\\i, ymm12, ymm13");
// Two products of a byte with and one without a sign saturate at 16 bits, which a roof may ignore and the test avoids.
ymm!(
    maddubs_widened,
    "avx2",
    "vpmaddubsw ymm15, ymm12, ymm13",
    "vpmaddwd ymm15, ymm15, ymm14",
    "vpaddd ymm\\i, ymm\\i, ymm15"
);
// 127 pairs of products of one bit fit before they must be widened, which takes less than a hundredth and is left out.
ymm!(maddubs, "avx2", "vpmaddubsw ymm15, ymm12, ymm13", "vpaddw ymm\\i, ymm\\i, ymm15");
ymm!(dpbusd, "avx2", "{{vex}} vpdpbusd ymm\\i, ymm12, ymm13");
zmm!(wide_fma_f64, "avx512f", "vfmadd231pd zmm\\i, zmm30, zmm31");
zmm!(wide_fma_f32, "avx512f", "vfmadd231ps zmm\\i, zmm30, zmm31");
zmm!(
    wide_maddubs_widened,
    "avx512f,avx512bw",
    "vpmaddubsw zmm29, zmm30, zmm31",
    "vpmaddwd zmm29, zmm29, zmm28",
    "vpaddd zmm\\i, zmm\\i, zmm29"
);
zmm!(wide_maddubs, "avx512f,avx512bw", "vpmaddubsw zmm29, zmm30, zmm31", "vpaddw zmm\\i, zmm\\i, zmm29");
zmm!(wide_dpbusd, "avx512f", "vpdpbusd zmm\\i, zmm30, zmm31");
zmm!(wide_dpbf16, "avx512f", "vdpbf16ps zmm\\i, zmm30, zmm31");
zmm!(wide_fma_f16, "avx512f", "vfmadd231ph zmm\\i, zmm30, zmm31");

/// What `ldtilecfg` reads: eight tiles of sixteen rows of 64 bytes.
#[repr(C, align(64))]
struct Tiles {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    bytes_a_row: [u16; 16],
    rows: [u8; 16],
}

static TILES: Tiles = {
    let (mut bytes_a_row, mut rows, mut tile) = ([0; 16], [0; 16], 0);
    while tile < 8 {
        (bytes_a_row[tile], rows[tile]) = (64, 16);
        tile += 1;
    }
    Tiles { palette: 1, start_row: 0, reserved: [0; 14], bytes_a_row, rows }
};

/// A loop over six tiles of sums, `\i` in the step; tiles 6 and 7 are the operands.
macro_rules! tiles {
    ($name:ident, $step:literal) => {
        #[target_feature(enable = "avx512f")]
        fn $name(rounds: usize, operands: &Operands, sums: &mut [u8]) {
            // SAFETY: the sums are six tiles, as `MultiplyAdd::run` makes them, the operands one each and the configuration is
            // one; `isa::amx` found the instructions and got the system's permission, and `rounds` is not 0.
            unsafe {
                asm!(
                    "ldtilecfg [{tiles}]",
                    "tileloadd tmm6, [{a} + {row}]",
                    "tileloadd tmm7, [{b} + {row}]",
                    ".irp i,0,1,2,3,4,5",
                    "tileloadd tmm\\i, [{sums} + {row} + 1024*\\i]",
                    ".endr",
                    "2:",
                    ".irp i,0,1,2,3,4,5",
                    $step,
                    ".endr",
                    "dec rcx",
                    "jnz 2b",
                    ".irp i,0,1,2,3,4,5",
                    "tilestored [{sums} + {row} + 1024*\\i], tmm\\i",
                    ".endr",
                    "tilerelease",
                    tiles = in(reg) &raw const TILES,
                    a = in(reg) operands.a.as_ptr(),
                    b = in(reg) operands.b.as_ptr(),
                    sums = in(reg) sums.as_mut_ptr(),
                    row = in(reg) 64usize,
                    inout("rcx") rounds => _,
                    clobber_abi("sysv64"),
                    options(nostack),
                );
            }
        }
    };
}

tiles!(tiles_bytes, "tdpbusd tmm\\i, tmm6, tmm7");
tiles!(tiles_bf16, "tdpbf16ps tmm\\i, tmm6, tmm7");
