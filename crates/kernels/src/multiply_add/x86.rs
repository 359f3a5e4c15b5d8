//! Loops for x86-64: AVX2, AVX-512 and its extensions, and AMX.

use std::arch::asm;

use super::{Element, FmaType, Layout, MultiplyAdd, Operands};
use crate::isa::Extension;

pub(super) const LOOPS: [MultiplyAdd; 14] = [
    ymm(FmaType::F64, &[Extension::Avx2], "vfmadd231pd ymm", [Element::F64; 2], 1, fma_f64),
    ymm(FmaType::F32, &[Extension::Avx2], "vfmadd231ps ymm", [Element::F32; 2], 1, fma_f32),
    ymm(FmaType::Int8, &[Extension::Avx2], "vpmaddubsw + vpmaddwd + vpaddd ymm", I8_I32, 4, maddubs_widened),
    ymm(FmaType::Int4, &[Extension::Avx2], "vpmaddubsw + vpaddw ymm", I8_I16, 2, maddubs),
    zmm(FmaType::F64, &[Extension::Avx512], "vfmadd231pd zmm", [Element::F64; 2], 1, zmm_fma_f64),
    zmm(FmaType::F32, &[Extension::Avx512], "vfmadd231ps zmm", [Element::F32; 2], 1, zmm_fma_f32),
    zmm(
        FmaType::Int8,
        &[Extension::Avx512],
        "vpmaddubsw + vpmaddwd + vpaddd zmm",
        I8_I32,
        4,
        zmm_maddubs_widened,
    ),
    zmm(FmaType::Int4, &[Extension::Avx512], "vpmaddubsw + vpaddw zmm", I8_I16, 2, zmm_maddubs),
    ymm(FmaType::Int8, &[Extension::AvxVnni], "vpdpbusd ymm", I8_I32, 4, dpbusd),
    zmm(FmaType::Int8, &[Extension::Avx512Vnni], "vpdpbusd zmm", I8_I32, 4, zmm_dpbusd),
    zmm(
        FmaType::Bf16,
        &[Extension::Avx512Bf16],
        "vdpbf16ps zmm",
        [Element::Bf16, Element::F32],
        2,
        zmm_dpbf16,
    ),
    zmm(FmaType::F16, &[Extension::Avx512Fp16], "vfmadd231ph zmm", [Element::F16; 2], 1, zmm_fma_f16),
    tile(FmaType::Int8, "tdpbusd", I8_I32, 4, tile_dpbusd),
    tile(FmaType::Bf16, "tdpbf16ps", [Element::Bf16, Element::F32], 2, tile_dpbf16),
];

const I8_I32: [Element; 2] = [Element::I8, Element::I32];
const I8_I16: [Element; 2] = [Element::I8, Element::I16];

type Run = unsafe fn(usize, &Operands, &mut [u8]);

const fn ymm(
    fma_type: FmaType,
    extensions: &'static [Extension],
    instruction: &'static str,
    [operand, sum]: [Element; 2],
    group: usize,
    run: Run,
) -> MultiplyAdd {
    // Twelve chains hide a latency of five cycles at two multiply-adds per cycle and leave four registers.
    let layout = Layout::Adjacent(group);
    MultiplyAdd {
        fma_type,
        extensions,
        instruction,
        operand,
        sum,
        layout,
        chains: 12,
        bytes: || 12 * 32,
        run,
    }
}

const fn zmm(
    fma_type: FmaType,
    extensions: &'static [Extension],
    instruction: &'static str,
    [operand, sum]: [Element; 2],
    group: usize,
    run: Run,
) -> MultiplyAdd {
    let layout = Layout::Adjacent(group);
    MultiplyAdd {
        fma_type,
        extensions,
        instruction,
        operand,
        sum,
        layout,
        chains: 24,
        bytes: || 24 * 64,
        run,
    }
}

const fn tile(
    fma_type: FmaType,
    instruction: &'static str,
    [operand, sum]: [Element; 2],
    group: usize,
    run: Run,
) -> MultiplyAdd {
    // Six tiles of sums; four hide the latency of 52 cycles at one instruction every 16 cycles.
    let (extensions, layout) = (&[Extension::Amx], Layout::Tile(group));
    MultiplyAdd {
        fma_type,
        extensions,
        instruction,
        operand,
        sum,
        layout,
        chains: 6,
        bytes: || 6 * 1024,
        run,
    }
}

/// Defines a loop over registers of sums, `\i` in a step. Three more registers hold the operands and a vector of ones; one is scratch.
macro_rules! vector_loop {
    ($name:ident, $features:literal, $sums:literal, $width:literal, $register:literal, $load:literal, $store:literal,
     $ones:literal, $a:literal, $b:literal, $($step:literal),+) => {
        #[target_feature(enable = $features)]
        fn $name(iterations: usize, operands: &Operands, sums: &mut [u8]) {
            let ones = [1i16; 32];
            // SAFETY: `MultiplyAdd::run` passes sums for all listed registers; the operands and the ones fill at least one register
            // each. The caller guarantees the instructions and that `iterations` is not 0.
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
                    inout("rcx") iterations => _,
                    clobber_abi("sysv64"),
                    options(nostack),
                );
            }
        }
    };
}

macro_rules! ymm {
    ($name:ident, $features:literal, $($step:literal),+) => {
        vector_loop!($name, $features, "0,1,2,3,4,5,6,7,8,9,10,11", "32", "ymm", "vmovdqu", "vmovdqu", "14", "12", "13", $($step),+);
    };
}

macro_rules! zmm {
    ($name:ident, $features:literal, $($step:literal),+) => {
        vector_loop!($name, $features, "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23", "64", "zmm",
            "vmovdqu64", "vmovdqu64", "28", "30", "31", $($step),+);
    };
}

ymm!(fma_f64, "avx2,fma", "vfmadd231pd ymm\\i, ymm12, ymm13");
ymm!(fma_f32, "avx2,fma", "vfmadd231ps ymm\\i, ymm12, ymm13");
// `vpmaddubsw` saturates at 16 bits; a roof may ignore that, and the test avoids it.
ymm!(
    maddubs_widened,
    "avx2",
    "vpmaddubsw ymm15, ymm12, ymm13",
    "vpmaddwd ymm15, ymm15, ymm14",
    "vpaddd ymm\\i, ymm\\i, ymm15"
);
// Up to 127 pairs of 1-bit products fit before widening, whose cost of less than 1 % is omitted.
ymm!(maddubs, "avx2", "vpmaddubsw ymm15, ymm12, ymm13", "vpaddw ymm\\i, ymm\\i, ymm15");
ymm!(dpbusd, "avx2", "{{vex}} vpdpbusd ymm\\i, ymm12, ymm13");
zmm!(zmm_fma_f64, "avx512f", "vfmadd231pd zmm\\i, zmm30, zmm31");
zmm!(zmm_fma_f32, "avx512f", "vfmadd231ps zmm\\i, zmm30, zmm31");
zmm!(
    zmm_maddubs_widened,
    "avx512f,avx512bw",
    "vpmaddubsw zmm29, zmm30, zmm31",
    "vpmaddwd zmm29, zmm29, zmm28",
    "vpaddd zmm\\i, zmm\\i, zmm29"
);
zmm!(zmm_maddubs, "avx512f,avx512bw", "vpmaddubsw zmm29, zmm30, zmm31", "vpaddw zmm\\i, zmm\\i, zmm29");
zmm!(zmm_dpbusd, "avx512f", "vpdpbusd zmm\\i, zmm30, zmm31");
zmm!(zmm_dpbf16, "avx512f", "vdpbf16ps zmm\\i, zmm30, zmm31");
zmm!(zmm_fma_f16, "avx512f", "vfmadd231ph zmm\\i, zmm30, zmm31");

/// Operand of `ldtilecfg`: eight tiles of sixteen rows of 64 bytes.
#[repr(C, align(64))]
struct TileConfig {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    bytes_per_row: [u16; 16],
    rows: [u8; 16],
}

static TILE_CONFIG: TileConfig = {
    let (mut bytes_per_row, mut rows, mut tile) = ([0; 16], [0; 16], 0);
    while tile < 8 {
        (bytes_per_row[tile], rows[tile]) = (64, 16);
        tile += 1;
    }
    TileConfig { palette: 1, start_row: 0, reserved: [0; 14], bytes_per_row, rows }
};

/// Defines a loop over six tiles of sums, `\i` in the step. Tiles 6 and 7 hold the operands.
macro_rules! tile_loop {
    ($name:ident, $step:literal) => {
        #[target_feature(enable = "avx512f")]
        fn $name(iterations: usize, operands: &Operands, sums: &mut [u8]) {
            // SAFETY: `MultiplyAdd::run` passes sums for six tiles, each operand is one tile, and the configuration is valid.
            // `isa::amx` detected the instructions and obtained permission, and `iterations` is not 0.
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
                    tiles = in(reg) &raw const TILE_CONFIG,
                    a = in(reg) operands.a.as_ptr(),
                    b = in(reg) operands.b.as_ptr(),
                    sums = in(reg) sums.as_mut_ptr(),
                    row = in(reg) 64usize,
                    inout("rcx") iterations => _,
                    clobber_abi("sysv64"),
                    options(nostack),
                );
            }
        }
    };
}

tile_loop!(tile_dpbusd, "tdpbusd tmm\\i, tmm6, tmm7");
tile_loop!(tile_dpbf16, "tdpbf16ps tmm\\i, tmm6, tmm7");
