//! The loops in plain Rust, which the compiler may turn into whatever vectors every processor of its target has.

use std::hint::black_box;

use super::{Multiplied, MultiplyAdd, Number, Operands, Shape};

/// Sums that are kept apart, so that one addition need not wait for the last.
const SUMS: usize = 16;

pub(super) const LOOPS: [MultiplyAdd; 4] = [
    plain(Multiplied::F64, Number::F64, Number::F64, 1, || 8 * SUMS, f64),
    plain(Multiplied::F32, Number::F32, Number::F32, 1, || 4 * SUMS, f32),
    plain(Multiplied::Int8, Number::Byte, Number::I32, 4, || 4 * SUMS, int8),
    plain(Multiplied::Int4, Number::Byte, Number::I16, 2, || 2 * SUMS, int4),
];

const fn plain(
    kind: Multiplied,
    number: Number,
    sum: Number,
    group: usize,
    bytes: fn() -> usize,
    run: fn(usize, &Operands, &mut [u8]),
) -> MultiplyAdd {
    let (sets, shape) = (&[], Shape::Groups(group));
    MultiplyAdd { kind, sets, instruction: MultiplyAdd::PLAIN, number, sum, shape, chains: 1, bytes, run }
}

/// A loop over sums of one type. The operands may change from round to round for all the compiler knows, so it cannot multiply
/// once and add many times.
macro_rules! plain {
    ($name:ident, $sum:ty, $number:ty, $group:literal, $add:expr) => {
        fn $name(rounds: usize, operands: &Operands, bytes: &mut [u8]) {
            const WIDTH: usize = size_of::<$sum>();
            let mut sums = [<$sum>::default(); SUMS];
            for (sum, bytes) in sums.iter_mut().zip(bytes.as_chunks::<WIDTH>().0) {
                *sum = <$sum>::from_le_bytes(*bytes);
            }
            for _ in 0..rounds {
                let operands = black_box(operands);
                let numbers = |bytes: &[u8; Operands::BYTES]| -> [$number; $group * SUMS] {
                    let (numbers, _) = bytes.as_chunks::<{ size_of::<$number>() }>();
                    std::array::from_fn(|at| <$number>::from_le_bytes(numbers[at]))
                };
                let (a, b) = (numbers(&operands.a), numbers(&operands.b));
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

plain!(f64, f64, f64, 1, |sum, a, b| sum + a * b);
plain!(f32, f32, f32, 1, |sum, a, b| sum + a * b);
plain!(int8, i32, i8, 4, |sum: i32, a, b| sum.wrapping_add(i32::from(a) * i32::from(b)));
plain!(int4, i16, i8, 2, |sum: i16, a, b| sum.wrapping_add(i16::from(a) * i16::from(b)));
