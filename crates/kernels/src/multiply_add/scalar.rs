//! Portable loops, which the compiler vectorizes for the baseline of the target.

use std::hint::black_box;

use super::{Element, FmaType, Layout, MultiplyAdd, Operands};

/// Independent sums, so that additions do not wait for each other.
const SUMS: usize = 16;

pub(super) const LOOPS: [MultiplyAdd; 4] = [
    scalar(FmaType::F64, Element::F64, Element::F64, 1, || 8 * SUMS, f64),
    scalar(FmaType::F32, Element::F32, Element::F32, 1, || 4 * SUMS, f32),
    scalar(FmaType::Int8, Element::I8, Element::I32, 4, || 4 * SUMS, int8),
    scalar(FmaType::Int4, Element::I8, Element::I16, 2, || 2 * SUMS, int4),
];

const fn scalar(
    fma_type: FmaType,
    operand: Element,
    sum: Element,
    group: usize,
    bytes: fn() -> usize,
    run: fn(usize, &Operands, &mut [u8]),
) -> MultiplyAdd {
    let (extensions, layout) = (&[], Layout::Adjacent(group));
    MultiplyAdd {
        fma_type,
        extensions,
        instruction: MultiplyAdd::SCALAR,
        operand,
        sum,
        layout,
        chains: 1,
        bytes,
        run,
    }
}

/// Defines a loop over sums of one type. `black_box` hides that the operands are constant; otherwise the compiler could multiply once
/// and add repeatedly.
macro_rules! scalar_loop {
    ($name:ident, $sum:ty, $operand:ty, $group:literal, $add:expr) => {
        fn $name(iterations: usize, operands: &Operands, bytes: &mut [u8]) {
            const WIDTH: usize = size_of::<$sum>();
            let mut sums = [<$sum>::default(); SUMS];
            for (sum, bytes) in sums.iter_mut().zip(bytes.as_chunks::<WIDTH>().0) {
                *sum = <$sum>::from_le_bytes(*bytes);
            }
            for _ in 0..iterations {
                let operands = black_box(operands);
                let elements = |bytes: &[u8; Operands::BYTES]| -> [$operand; $group * SUMS] {
                    let (elements, _) = bytes.as_chunks::<{ size_of::<$operand>() }>();
                    std::array::from_fn(|at| <$operand>::from_le_bytes(elements[at]))
                };
                let (a, b) = (elements(&operands.a), elements(&operands.b));
                for (at, sum) in sums.iter_mut().enumerate() {
                    for at in $group * at..$group * (at + 1) {
                        *sum = $add(*sum, a[at], b[at]);
                    }
                }
            }
            for (sum, bytes) in sums.iter().zip(bytes.as_chunks_mut::<WIDTH>().0) {
                *bytes = sum.to_le_bytes();
            }
        }
    };
}

scalar_loop!(f64, f64, f64, 1, |sum, a, b| sum + a * b);
scalar_loop!(f32, f32, f32, 1, |sum, a, b| sum + a * b);
scalar_loop!(int8, i32, i8, 4, |sum: i32, a, b| sum.wrapping_add(i32::from(a) * i32::from(b)));
scalar_loop!(int4, i16, i8, 2, |sum: i16, a, b| sum.wrapping_add(i16::from(a) * i16::from(b)));
