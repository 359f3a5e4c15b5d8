//! Loops for 64-bit ARM: NEON with its extensions, and SVE.

use std::arch::asm;

use super::{Element, FmaType, Layout, MultiplyAdd, Operands};
use crate::isa::Extension;

pub(super) const LOOPS: [MultiplyAdd; 15] = [
    neon(FmaType::F64, Extension::Neon, "fmla v.2d", [Element::F64; 2], Layout::Adjacent(1), fmla_f64),
    neon(FmaType::F32, Extension::Neon, "fmla v.4s", [Element::F32; 2], Layout::Adjacent(1), fmla_f32),
    neon(
        FmaType::Int8,
        Extension::Neon,
        "smull + smlal2 + sadalp",
        I8_I32,
        Layout::PairsOfHalves,
        smull_sadalp,
    ),
    neon(
        FmaType::Int4,
        Extension::Neon,
        "smlal + smlal2",
        [Element::I8, Element::I16],
        Layout::Halves,
        smlal,
    ),
    neon(FmaType::F16, Extension::NeonFp16, "fmla v.8h", [Element::F16; 2], Layout::Adjacent(1), fmla_f16),
    neon(FmaType::Int8, Extension::NeonDotprod, "sdot v.4s", I8_I32, Layout::Adjacent(4), sdot),
    neon(FmaType::Int8, Extension::NeonI8mm, "smmla v.4s", I8_I32, Layout::Matrix2x2, smmla),
    neon(FmaType::Bf16, Extension::NeonBf16, "bfdot v.4s", BF16_F32, Layout::Adjacent(2), bfdot),
    neon(FmaType::Bf16, Extension::NeonBf16, "bfmmla v.4s", BF16_F32, Layout::Matrix2x2, bfmmla),
    sve(FmaType::F64, &[Extension::Sve], "fmla z.d", [Element::F64; 2], Layout::Adjacent(1), sve_fmla_f64),
    sve(FmaType::F32, &[Extension::Sve], "fmla z.s", [Element::F32; 2], Layout::Adjacent(1), sve_fmla_f32),
    sve(FmaType::F16, &[Extension::Sve], "fmla z.h", [Element::F16; 2], Layout::Adjacent(1), sve_fmla_f16),
    sve(FmaType::Int8, &[Extension::Sve], "sdot z.s", I8_I32, Layout::Adjacent(4), sve_sdot),
    sve(
        FmaType::Int8,
        &[Extension::Sve, Extension::NeonI8mm],
        "smmla z.s",
        I8_I32,
        Layout::Matrix2x2,
        sve_smmla,
    ),
    sve(
        FmaType::Bf16,
        &[Extension::Sve, Extension::NeonBf16],
        "bfmmla z.s",
        BF16_F32,
        Layout::Matrix2x2,
        sve_bfmmla,
    ),
];

const I8_I32: [Element; 2] = [Element::I8, Element::I32];
const BF16_F32: [Element; 2] = [Element::Bf16, Element::F32];

/// Registers of sums. Hiding a latency of four cycles at four multiply-adds per cycle takes sixteen.
const CHAINS: usize = 24;

type Run = unsafe fn(usize, &Operands, &mut [u8]);

const fn neon(
    fma_type: FmaType,
    set: Extension,
    instruction: &'static str,
    [operand, sum]: [Element; 2],
    layout: Layout,
    run: Run,
) -> MultiplyAdd {
    let extensions: &'static [Extension] = match set {
        Extension::NeonFp16 => &[Extension::NeonFp16],
        Extension::NeonDotprod => &[Extension::NeonDotprod],
        Extension::NeonI8mm => &[Extension::NeonI8mm],
        Extension::NeonBf16 => &[Extension::NeonBf16],
        _ => &[Extension::Neon],
    };
    MultiplyAdd {
        fma_type,
        extensions,
        instruction,
        operand,
        sum,
        layout,
        chains: CHAINS,
        bytes: || CHAINS * 16,
        run,
    }
}

const fn sve(
    fma_type: FmaType,
    extensions: &'static [Extension],
    instruction: &'static str,
    [operand, sum]: [Element; 2],
    layout: Layout,
    run: Run,
) -> MultiplyAdd {
    let bytes = || CHAINS * vector_bytes();
    MultiplyAdd { fma_type, extensions, instruction, operand, sum, layout, chains: CHAINS, bytes, run }
}

/// Size of an SVE register, 16 to 256 bytes. Called only for SVE loops, which `multiply_adds` returns only if SVE was detected.
fn vector_bytes() -> usize {
    let bytes: usize;
    // SAFETY: the instruction only reads the vector length; SVE was detected, see above.
    unsafe {
        asm!(
            ".arch_extension sve",
            "cntb {bytes}",
            bytes = out(reg) bytes,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    bytes
}

/// Defines a loop over 24 registers of sums, `\i` in a step. Registers 8 and 9 hold the operands, 10 is scratch.
macro_rules! vector_loop {
    ($name:ident, $feature:literal, $register:literal, $start:literal $(clobbers $clobbered:tt)?, $($step:literal),+) => {
        #[target_feature(enable = $feature)]
        fn $name(iterations: usize, operands: &Operands, sums: &mut [u8]) {
            // SAFETY: `MultiplyAdd::run` passes sums for 24 registers, and the operands are larger than one. The caller guarantees the
            // instructions and that `iterations` is not 0.
            unsafe {
                asm!(
                    $start,
                    concat!("ldr ", $register, "8, [{a}]"),
                    concat!("ldr ", $register, "9, [{b}]"),
                    "mov x10, {sums}",
                    ".irp i,0,1,2,3,4,5,6,7,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
                    concat!("ldr ", $register, "\\i, [x10]"),
                    "add x10, x10, {width}",
                    ".endr",
                    "2:",
                    ".irp i,0,1,2,3,4,5,6,7,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
                    $($step,)+
                    ".endr",
                    "subs x9, x9, #1",
                    "b.ne 2b",
                    "mov x10, {sums}",
                    ".irp i,0,1,2,3,4,5,6,7,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
                    concat!("str ", $register, "\\i, [x10]"),
                    "add x10, x10, {width}",
                    ".endr",
                    a = in(reg) operands.a.as_ptr(),
                    b = in(reg) operands.b.as_ptr(),
                    sums = in(reg) sums.as_mut_ptr(),
                    width = in(reg) sums.len() / CHAINS,
                    out("x10") _,
                    inout("x9") iterations => _,
                    out("v0") _, out("v1") _, out("v2") _, out("v3") _, out("v4") _, out("v5") _,
                    out("v6") _, out("v7") _, out("v8") _, out("v9") _, out("v10") _, out("v16") _,
                    out("v17") _, out("v18") _, out("v19") _, out("v20") _, out("v21") _, out("v22") _,
                    out("v23") _, out("v24") _, out("v25") _, out("v26") _, out("v27") _, out("v28") _,
                    out("v29") _, out("v30") _, out("v31") _,
                    $(out($clobbered) _,)?
                    options(nostack),
                );
            }
        }
    };
}

macro_rules! neon {
    ($name:ident, $feature:literal, $($step:literal),+) => {
        vector_loop!($name, $feature, "q", "", $($step),+);
    };
}

macro_rules! sve {
    ($name:ident, $feature:literal, $($step:literal),+) => {
        vector_loop!($name, $feature, "z", "ptrue p0.b" clobbers "p0", $($step),+);
    };
}

neon!(fmla_f64, "neon", "fmla v\\i\\().2d, v8.2d, v9.2d");
neon!(fmla_f32, "neon", "fmla v\\i\\().4s, v8.4s, v9.4s");
neon!(fmla_f16, "fp16", "fmla v\\i\\().8h, v8.8h, v9.8h");
// Two products fit in 16 bits if one factor is never -128; quantized activations never are.
neon!(
    smull_sadalp,
    "neon",
    "smull v10.8h, v8.8b, v9.8b",
    "smlal2 v10.8h, v8.16b, v9.16b",
    "sadalp v\\i\\().4s, v10.8h"
);
// Up to 127 pairs of 1-bit products fit before widening, whose cost of less than 1 % is omitted.
neon!(smlal, "neon", "smlal v\\i\\().8h, v8.8b, v9.8b", "smlal2 v\\i\\().8h, v8.16b, v9.16b");
neon!(sdot, "dotprod", "sdot v\\i\\().4s, v8.16b, v9.16b");
neon!(smmla, "i8mm", "smmla v\\i\\().4s, v8.16b, v9.16b");
neon!(bfdot, "bf16", "bfdot v\\i\\().4s, v8.8h, v9.8h");
neon!(bfmmla, "bf16", "bfmmla v\\i\\().4s, v8.8h, v9.8h");
sve!(sve_fmla_f64, "sve", "fmla z\\i\\().d, p0/m, z8.d, z9.d");
sve!(sve_fmla_f32, "sve", "fmla z\\i\\().s, p0/m, z8.s, z9.s");
sve!(sve_fmla_f16, "sve", "fmla z\\i\\().h, p0/m, z8.h, z9.h");
sve!(sve_sdot, "sve", "sdot z\\i\\().s, z8.b, z9.b");
sve!(sve_smmla, "sve,i8mm", "smmla z\\i\\().s, z8.b, z9.b");
sve!(sve_bfmmla, "sve,bf16", "bfmmla z\\i\\().s, z8.h, z9.h");
