//! The loops of 64-bit ARM processors: NEON with its additions, and SVE.

use std::arch::asm;

use super::{Multiplied, MultiplyAdd, Number, Operands, Shape};
use crate::isa::Set;

pub(super) const LOOPS: [MultiplyAdd; 15] = [
    neon(Multiplied::F64, Set::Neon, "fmla v.2d", [Number::F64; 2], Shape::Groups(1), fmla_f64),
    neon(Multiplied::F32, Set::Neon, "fmla v.4s", [Number::F32; 2], Shape::Groups(1), fmla_f32),
    neon(Multiplied::Int8, Set::Neon, "smull + smlal2 + sadalp", BYTES, Shape::Halves, widened),
    neon(Multiplied::Int4, Set::Neon, "smlal + smlal2", [Number::Byte, Number::I16], Shape::Apart, words),
    neon(Multiplied::F16, Set::NeonFp16, "fmla v.8h", [Number::F16; 2], Shape::Groups(1), fmla_f16),
    neon(Multiplied::Int8, Set::NeonDotprod, "sdot v.4s", BYTES, Shape::Groups(4), sdot),
    neon(Multiplied::Int8, Set::NeonI8mm, "smmla v.4s", BYTES, Shape::Pairs, smmla),
    neon(Multiplied::Bf16, Set::NeonBf16, "bfdot v.4s", HALVES, Shape::Groups(2), bfdot),
    neon(Multiplied::Bf16, Set::NeonBf16, "bfmmla v.4s", HALVES, Shape::Pairs, bfmmla),
    sve(Multiplied::F64, &[Set::Sve], "fmla z.d", [Number::F64; 2], Shape::Groups(1), vector_fmla_f64),
    sve(Multiplied::F32, &[Set::Sve], "fmla z.s", [Number::F32; 2], Shape::Groups(1), vector_fmla_f32),
    sve(Multiplied::F16, &[Set::Sve], "fmla z.h", [Number::F16; 2], Shape::Groups(1), vector_fmla_f16),
    sve(Multiplied::Int8, &[Set::Sve], "sdot z.s", BYTES, Shape::Groups(4), vector_sdot),
    sve(Multiplied::Int8, &[Set::Sve, Set::NeonI8mm], "smmla z.s", BYTES, Shape::Pairs, vector_smmla),
    sve(Multiplied::Bf16, &[Set::Sve, Set::NeonBf16], "bfmmla z.s", HALVES, Shape::Pairs, vector_bfmmla),
];

const BYTES: [Number; 2] = [Number::Byte, Number::I32];
const HALVES: [Number; 2] = [Number::Bf16, Number::F32];

/// Registers of sums: a latency of four cycles at four multiply-adds a cycle takes sixteen.
const CHAINS: usize = 24;

type Run = unsafe fn(usize, &Operands, &mut [u8]);

const fn neon(
    kind: Multiplied,
    set: Set,
    instruction: &'static str,
    [number, sum]: [Number; 2],
    shape: Shape,
    run: Run,
) -> MultiplyAdd {
    let sets: &'static [Set] = match set {
        Set::NeonFp16 => &[Set::NeonFp16],
        Set::NeonDotprod => &[Set::NeonDotprod],
        Set::NeonI8mm => &[Set::NeonI8mm],
        Set::NeonBf16 => &[Set::NeonBf16],
        _ => &[Set::Neon],
    };
    MultiplyAdd { kind, sets, instruction, number, sum, shape, chains: CHAINS, bytes: || CHAINS * 16, run }
}

const fn sve(
    kind: Multiplied,
    sets: &'static [Set],
    instruction: &'static str,
    [number, sum]: [Number; 2],
    shape: Shape,
    run: Run,
) -> MultiplyAdd {
    let bytes = || CHAINS * vector_bytes();
    MultiplyAdd { kind, sets, instruction, number, sum, shape, chains: CHAINS, bytes, run }
}

/// How long an SVE register is: 16 to 256 bytes. Only the sums of SVE loops ask, which `multiply_adds` hands out where SVE is.
fn vector_bytes() -> usize {
    let bytes: usize;
    // SAFETY: the instruction reads a length; SVE was detected, or there would be no loop to ask for its sums.
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

/// A loop over 24 registers of sums, `\i` in the step; registers 8 and 9 are the operands, 10 is free.
macro_rules! vectors {
    ($name:ident, $feature:literal, $register:literal, $start:literal $(clobbers $clobbered:tt)?, $($step:literal),+) => {
        #[target_feature(enable = $feature)]
        fn $name(rounds: usize, operands: &Operands, sums: &mut [u8]) {
            // SAFETY: the sums are 24 registers, as `MultiplyAdd::run` makes them, and the operands longer than one; the
            // instructions are those of the feature above, and `rounds` is not 0.
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
                    inout("x9") rounds => _,
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
        vectors!($name, $feature, "q", "", $($step),+);
    };
}

macro_rules! sve {
    ($name:ident, $feature:literal, $($step:literal),+) => {
        vectors!($name, $feature, "z", "ptrue p0.b" clobbers "p0", $($step),+);
    };
}

neon!(fmla_f64, "neon", "fmla v\\i\\().2d, v8.2d, v9.2d");
neon!(fmla_f32, "neon", "fmla v\\i\\().4s, v8.4s, v9.4s");
neon!(fmla_f16, "fp16", "fmla v\\i\\().8h, v8.8h, v9.8h");
// Two products fit in 16 bits where one of the sides has no -128, as quantized activations have none.
neon!(
    widened,
    "neon",
    "smull v10.8h, v8.8b, v9.8b",
    "smlal2 v10.8h, v8.16b, v9.16b",
    "sadalp v\\i\\().4s, v10.8h"
);
// 127 pairs of products of one bit fit before they must be widened, which takes less than a hundredth and is left out.
neon!(words, "neon", "smlal v\\i\\().8h, v8.8b, v9.8b", "smlal2 v\\i\\().8h, v8.16b, v9.16b");
neon!(sdot, "dotprod", "sdot v\\i\\().4s, v8.16b, v9.16b");
neon!(smmla, "i8mm", "smmla v\\i\\().4s, v8.16b, v9.16b");
neon!(bfdot, "bf16", "bfdot v\\i\\().4s, v8.8h, v9.8h");
neon!(bfmmla, "bf16", "bfmmla v\\i\\().4s, v8.8h, v9.8h");
sve!(vector_fmla_f64, "sve", "fmla z\\i\\().d, p0/m, z8.d, z9.d");
sve!(vector_fmla_f32, "sve", "fmla z\\i\\().s, p0/m, z8.s, z9.s");
sve!(vector_fmla_f16, "sve", "fmla z\\i\\().h, p0/m, z8.h, z9.h");
sve!(vector_sdot, "sve", "sdot z\\i\\().s, z8.b, z9.b");
sve!(vector_smmla, "sve,i8mm", "smmla z\\i\\().s, z8.b, z9.b");
sve!(vector_bfmmla, "sve,bf16", "bfmmla z\\i\\().s, z8.h, z9.h");
