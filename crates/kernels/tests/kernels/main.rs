//! Every instruction set of this CPU compared with the scalar oracle, the oracle compared with ggml, and errors for wrong shapes.
//!
//! `ROOFLINE_EXPECT_ISA` lists the instruction sets that must be detected, the best one last.

mod attention;
mod formats;

use half::{bf16, f16};
use proptest::prelude::*;
use roofline_kernels::isa::{Isa, IsaError};
use roofline_kernels::{
    self as kernels, BlockQ8_0, KernelError, Matrix, Streams, ThreadPool, Weight, scalar,
};

/// Lengths around block, vector and unrolling boundaries.
const LENGTHS: [usize; 22] =
    [0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 1000, 4099];
const BLOCKS: [usize; 10] = [1, 2, 3, 4, 5, 7, 8, 9, 31, 64];
const ROWS: [usize; 12] = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 33, 70];

/// Deterministic pseudo-random numbers.
struct Noise(u64);

impl Noise {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 32
    }
    /// Between -1 and 1.
    fn unit(&mut self) -> f32 {
        self.bits() as u32 as f32 / u32::MAX as f32 * 2.0 - 1.0
    }
    fn values(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.unit()).collect()
    }
    fn blocks(&mut self, count: usize) -> Vec<BlockQ8_0> {
        (0..count)
            .map(|_| {
                let scale = f16::from_f32(self.unit() * 0.1);
                BlockQ8_0::new(scale, std::array::from_fn(|_| self.bits() as i8))
            })
            .collect()
    }
}

/// Blocks with extreme scales and values.
fn edge_blocks() -> Vec<BlockQ8_0> {
    let scales = [
        f16::from_f32(0.01),
        f16::from_bits(0x0001),
        f16::from_bits(0x03ff),
        f16::MIN_POSITIVE,
        f16::MAX,
        -f16::MAX,
        f16::ZERO,
        f16::NEG_ZERO,
    ];
    let qs: [fn(usize) -> i8; 7] = [
        |_| 127,
        |_| -127,
        |_| -128,
        |at| if at % 2 == 0 { 127 } else { -127 },
        |at| if at % 2 == 0 { -128 } else { 127 },
        |_| 0,
        |at| (at as i8) - 16,
    ];
    scales.into_iter().flat_map(|scale| qs.map(|q| BlockQ8_0::new(scale, std::array::from_fn(q)))).collect()
}

/// Compares two sums of the same `count` terms in different order. `magnitude` is the sum of the absolute values; the error of each sum is
/// at most about `count` roundings of it.
fn assert_close(found: f32, expected: f32, magnitude: f64, count: usize, what: &str) {
    if expected.is_nan() || found.is_nan() {
        assert!(expected.is_nan() && found.is_nan(), "{what}: {found} instead of {expected}");
        return;
    }
    if expected.is_infinite() || found.is_infinite() {
        assert_eq!(found, expected, "{what}");
        return;
    }
    let bound = magnitude * (count as f64 + 8.0) * f64::from(f32::EPSILON) + 1e-37;
    let error = (f64::from(found) - f64::from(expected)).abs();
    assert!(error <= bound, "{what}: {found} instead of {expected}, off by {error:e}, allowed {bound:e}");
}

fn magnitude_q8_0(row: &[BlockQ8_0], x: &[f32]) -> f64 {
    let mut values = vec![0f32; x.len()];
    scalar::dequantize_q8_0(&mut values, row);
    values.iter().zip(x).map(|(w, x)| (f64::from(*w) * f64::from(*x)).abs()).sum()
}

fn dequantized(blocks: &[BlockQ8_0]) -> Vec<f32> {
    let mut values = vec![0f32; blocks.len() * 32];
    scalar::dequantize_q8_0(&mut values, blocks);
    values
}

#[test]
fn the_expected_instruction_sets_are_detected() {
    let names: Vec<_> = Isa::available().iter().map(|isa| isa.name()).collect();
    assert_eq!(Some(&Isa::detect().name()), names.last());
    assert_eq!(names.first(), Some(&"scalar"));
    if let Ok(expected) = std::env::var("ROOFLINE_EXPECT_ISA") {
        for isa in expected.split(',') {
            assert!(names.contains(&isa), "expected {isa}, found {names:?}");
        }
        assert_eq!(expected.split(',').next_back(), names.last().copied());
    }
}

#[test]
fn an_unsupported_instruction_set_is_an_error_with_the_alternatives() {
    let unsupported = if cfg!(target_arch = "x86_64") { "neon" } else { "avx2" };
    let error = Isa::from_name(unsupported).unwrap_err();
    assert!(
        matches!(&error, IsaError::Unsupported { name, available } if name == unsupported && available[0] == "scalar")
    );
    assert!(Isa::from_name("sse9").unwrap_err().to_string().contains("scalar, avx2, avx512, avx-vnni"));
    assert_eq!(Isa::from_name("scalar"), Ok(Isa::SCALAR));
}

#[test]
fn max_pairs_in_i16_is_the_largest_safe_number() {
    for bits in 1..=7 {
        let pair = 2 * ((1i64 << bits) - 1) * i64::from(i8::MIN).abs();
        let pairs = kernels::max_pairs_in_i16(bits) as i64;
        assert!(
            pairs >= 1 && pairs * pair <= i64::from(i16::MAX) && (pairs + 1) * pair > i64::from(i16::MAX)
        );
    }
    assert_eq!([1, 2, 4, 5, 6].map(kernels::max_pairs_in_i16), [127, 42, 8, 4, 2]);
}

#[test]
fn narrow_dot_is_exact_for_every_value() {
    let mut noise = Noise(11);
    for &isa in Isa::available() {
        for bits in 1..=7 {
            let max = (1u8 << bits) - 1;
            for length in LENGTHS.into_iter().chain([32 * 127 * 3 + 5]) {
                let any: Vec<u8> = (0..length).map(|_| noise.bits() as u8 & max).collect();
                let bytes: Vec<i8> = (0..length).map(|_| noise.bits() as i8).collect();
                let signs: Vec<i8> =
                    (0..length).map(|at| if at % 2 == 0 { i8::MIN } else { i8::MAX }).collect();
                for (weights, x) in [
                    (vec![max; length], vec![i8::MIN; length]),
                    (vec![max; length], vec![i8::MAX; length]),
                    (vec![max; length], signs),
                    (any, bytes),
                ] {
                    let exact: i64 = weights.iter().zip(&x).map(|(w, x)| i64::from(*w) * i64::from(*x)).sum();
                    let found = kernels::narrow_dot(isa, bits, &weights, &x);
                    assert_eq!(found.map(i64::from), Ok(exact), "{isa}, {bits} bits, {length} weights");
                }
            }
        }
    }
    // Signed weights as in Q4_0: subtracting the offset times the sum of the activations.
    let (weights, x): (Vec<u8>, Vec<i8>) =
        (0..4096).map(|at| ((at % 16) as u8, (at / 16) as u8 as i8)).unzip();
    let signed: i32 = weights.iter().zip(&x).map(|(w, x)| (i32::from(*w) - 8) * i32::from(*x)).sum();
    let offset = 8 * x.iter().map(|x| i32::from(*x)).sum::<i32>();
    assert_eq!(kernels::narrow_dot(Isa::detect(), 4, &weights, &x), Ok(signed + offset));
}

#[test]
fn narrow_dot_rejects_weights_that_exceed_the_bit_width() {
    let dot = |bits, weights: &[u8], x: &[i8]| kernels::narrow_dot(Isa::SCALAR, bits, weights, x);
    assert_eq!(dot(4, &[15, 16], &[1, 1]), Err(KernelError::OutOfRange { bits: 4, found: 16 }));
    for bits in [0, 8, 99] {
        assert_eq!(dot(bits, &[1], &[1]), Err(KernelError::BitWidth { found: bits }));
    }
    assert!(matches!(dot(4, &[1], &[1, 2]), Err(KernelError::Length { .. })));
}

#[test]
fn integer_products_of_q8_0_blocks_are_exact_for_every_byte() {
    let mut blocks = edge_blocks();
    blocks.extend(Noise(3).blocks(500));
    // Every byte value at every position of a block.
    let bytes: Vec<i8> = (0..=255u8).map(|byte| byte as i8).collect();
    for shift in 0..256 {
        blocks.push(BlockQ8_0::new(f16::ONE, std::array::from_fn(|at| bytes[(at * 8 + shift) % 256])));
    }
    let other: Vec<_> = blocks.iter().rev().copied().collect();
    let expected: Vec<_> =
        blocks.iter().zip(&other).map(|(block, other)| [scalar::block_sum(block, other), 0]).collect();
    for &isa in Isa::available() {
        let mut found = vec![[0; 2]; blocks.len()];
        kernels::block_products(isa, &mut found, &blocks, &other).unwrap();
        assert_eq!(found, expected, "{isa}");
    }
    let lowest = BlockQ8_0::new(f16::ONE, [-128; 32]);
    assert_eq!(scalar::block_sum(&lowest, &lowest), 32 * 128 * 128);
}

#[test]
fn products_with_minus_128_are_exact() {
    let lowest = BlockQ8_0::new(f16::ONE, [-128; 32]);
    for &isa in Isa::available() {
        let pool = ThreadPool::single(isa);
        for rows in [1, 4, 9] {
            let weights = vec![lowest; rows * 2];
            let matrix = Matrix::new(&weights, rows, 64).unwrap();
            let mut out = vec![0f32; rows];
            kernels::matvec(&pool, matrix, &[lowest; 2], &mut out).unwrap();
            assert!(out.iter().all(|&value| value == 2.0 * 524_288.0), "{isa}: {out:?}");
            kernels::matvec_q8_0(&pool, matrix, &[-128.0; 64], &mut out).unwrap();
            assert!(out.iter().all(|&value| value == 2.0 * 524_288.0), "{isa}: {out:?}");
        }
    }
}

#[test]
fn q8_0_conversions_are_bit_equal_to_the_oracle() {
    let mut noise = Noise(4);
    for &isa in Isa::available() {
        for scale in [0.0, 1e-44, 1e-38, 1e-30, 1e-7, 1.0, 127.0, 1e6, 8.4e6, 1e20, f32::MAX] {
            let mut values: Vec<f32> = noise.values(32 * 9).iter().map(|value| value * scale).collect();
            values[5] = scale;
            values[70] = -scale;
            let mut expected = vec![BlockQ8_0::ZERO; 9];
            scalar::quantize_q8_0(&mut expected, &values);
            assert_eq!(kernels::quantize::<BlockQ8_0>(isa, &values).unwrap(), expected, "{isa} {scale:e}");
        }
        // Fractions around one half.
        for bits in 0..64 {
            let near = f32::from_bits(2.5f32.to_bits() - 32 + bits);
            let values: [f32; 32] =
                std::array::from_fn(|at| if at == 0 { 127.0 } else { near * [1.0, -1.0][at % 2] });
            assert_eq!(
                kernels::quantize::<BlockQ8_0>(isa, &values).unwrap(),
                [scalar::quantize_block(&values)],
                "{isa}"
            );
        }
        let mut blocks = edge_blocks();
        blocks.extend(noise.blocks(50));
        let mut found = vec![0f32; blocks.len() * 32];
        kernels::dequantize_q8_0(isa, &mut found, &blocks).unwrap();
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&found), bits(&dequantized(&blocks)), "{isa}");
    }
}

#[test]
fn nan_and_infinity_propagate() {
    for &isa in Isa::available() {
        let pool = ThreadPool::single(isa);
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for place in [0, 13, 31, 32, 63, 95] {
                let mut x = vec![0.5f32; 96];
                x[place] = bad;
                let quantized = kernels::quantize::<BlockQ8_0>(isa, &x).unwrap();
                let mut expected = vec![BlockQ8_0::ZERO; 3];
                scalar::quantize_q8_0(&mut expected, &x);
                assert_eq!(quantized, expected, "{isa}");
                for rows in [1, 5] {
                    let weights = vec![BlockQ8_0::new(f16::ONE, [1; 32]); 3 * rows];
                    let matrix = Matrix::new(&weights, rows, 96).unwrap();
                    let mut out = vec![0f32; rows];
                    kernels::matvec(&pool, matrix, &quantized, &mut out).unwrap();
                    assert!(out.iter().all(|value| value.is_nan()), "{isa} {bad} at {place}: {out:?}");
                    kernels::matvec_q8_0(&pool, matrix, &x, &mut out).unwrap();
                    assert!(out.iter().all(|value| !value.is_finite()), "{isa} {bad} at {place}: {out:?}");
                }
            }
        }
    }
}

fn dot(isa: Isa, row: &[BlockQ8_0], x: &[BlockQ8_0]) -> f32 {
    let mut out = [0f32];
    let matrix = Matrix::new(row, 1, 32 * row.len()).unwrap();
    kernels::matvec(&ThreadPool::single(isa), matrix, x, &mut out).unwrap();
    out[0]
}

#[test]
fn dot_products_match_the_oracle() {
    let mut noise = Noise(5);
    for &isa in Isa::available() {
        for count in BLOCKS {
            let (row, x) = (noise.blocks(count), noise.values(count * 32));
            let magnitude = magnitude_q8_0(&row, &x);
            let found = kernels::dot_q8_0(isa, &row, &x).unwrap();
            assert_close(found, scalar::dot_q8_0(&row, &x), magnitude, count * 32, isa.name());
            let quantized = noise.blocks(count);
            let magnitude = magnitude_q8_0(&row, &dequantized(&quantized));
            let (found, expected) = (dot(isa, &row, &quantized), dot(Isa::SCALAR, &row, &quantized));
            assert_close(found, expected, magnitude, count * 32, isa.name());
        }
        let edges = edge_blocks();
        for (a, b) in edges.iter().zip(edges.iter().rev()) {
            let (found, expected) = (dot(isa, &[*a], &[*b]), dot(Isa::SCALAR, &[*a], &[*b]));
            assert_close(found, expected, magnitude_q8_0(&[*a], &dequantized(&[*b])), 32, isa.name());
        }
    }
}

#[test]
fn matvec_matches_the_oracle_on_one_and_three_threads() {
    let mut noise = Noise(6);
    for &isa in Isa::available() {
        for pool in [ThreadPool::single(isa), ThreadPool::new(isa, 3).unwrap()] {
            for rows in ROWS {
                for blocks in [1, 2, 5, 8] {
                    let (columns, what) = (blocks * 32, format!("{isa} {rows} x {}", blocks * 32));
                    let (weights, x) = (noise.blocks(rows * blocks), noise.values(columns));
                    let matrix = Matrix::new(&weights, rows, columns).unwrap();
                    let (mut found, mut expected) = (vec![f32::NAN; rows], vec![0f32; rows]);
                    kernels::matvec_q8_0(&pool, matrix, &x, &mut found).unwrap();
                    scalar::matvec_q8_0(&weights, &x, &mut expected);
                    for (row, (found, expected)) in weights.chunks(blocks).zip(found.iter().zip(&expected)) {
                        assert_close(*found, *expected, magnitude_q8_0(row, &x), columns, &what);
                    }
                    let x = noise.blocks(blocks);
                    kernels::matvec(&pool, matrix, &x, &mut found).unwrap();
                    scalar::matvec_blocks(&weights, &x, &mut expected);
                    for (row, (found, expected)) in weights.chunks(blocks).zip(found.iter().zip(&expected)) {
                        assert_close(
                            *found,
                            *expected,
                            magnitude_q8_0(row, &dequantized(&x)),
                            columns,
                            &what,
                        );
                    }
                }
                for columns in [1, 7, 8, 9, 31, 32, 33, 65, 100] {
                    let x = noise.values(columns);
                    let weights = noise.values(rows * columns);
                    check_floats(&pool, &weights, rows, &x, scalar::matvec_f32, |w| *w);
                    let half: Vec<_> = weights.iter().map(|&w| f16::from_f32(w)).collect();
                    check_floats(&pool, &half, rows, &x, scalar::matvec_f16, |w| w.to_f32());
                    let brain: Vec<_> = weights.iter().map(|&w| bf16::from_f32(w)).collect();
                    check_floats(&pool, &brain, rows, &x, scalar::matvec_bf16, |w| w.to_f32());
                }
            }
        }
    }
}

fn check_floats<T: Weight<X = f32>>(
    pool: &ThreadPool,
    weights: &[T],
    rows: usize,
    x: &[f32],
    oracle: fn(&[T], &[f32], &mut [f32]),
    value: impl Fn(&T) -> f32,
) {
    let (mut found, mut expected) = (vec![f32::NAN; rows], vec![0f32; rows]);
    kernels::matvec(pool, Matrix::new(weights, rows, x.len()).unwrap(), x, &mut found).unwrap();
    oracle(weights, x, &mut expected);
    for (row, (found, expected)) in weights.chunks(x.len()).zip(found.iter().zip(&expected)) {
        let magnitude = row.iter().zip(x).map(|(w, x)| f64::from((value(w) * x).abs())).sum();
        let what = format!("{} {} {rows} x {}", pool.isa(), T::NAME, x.len());
        assert_close(*found, *expected, magnitude, x.len(), &what);
    }
}

#[test]
fn special_f16_and_bf16_values_are_converted_exactly() {
    for &isa in Isa::available() {
        let pool = ThreadPool::single(isa);
        // Subnormals, zeros and the largest values, in vectors and in the tail.
        for bits in [0x0001u16, 0x03ff, 0x0400, 0x7bff, 0x8000, 0xfbff, 0x3c00] {
            for place in [0, 31, 32] {
                let mut x = vec![0f32; 33];
                x[place] = 1.0;
                let mut out = [0f32];
                let half = [f16::from_bits(bits); 33];
                kernels::matvec(&pool, Matrix::new(&half, 1, 33).unwrap(), &x, &mut out).unwrap();
                assert_eq!(out[0], f16::from_bits(bits).to_f32(), "{isa} f16 {bits:#06x}");
                let brain = [bf16::from_bits(bits); 33];
                kernels::matvec(&pool, Matrix::new(&brain, 1, 33).unwrap(), &x, &mut out).unwrap();
                assert_eq!(out[0], bf16::from_bits(bits).to_f32(), "{isa} bf16 {bits:#06x}");
            }
        }
        for x in [f32::NAN, f32::INFINITY] {
            let mut out = [0f32; 4];
            kernels::matvec(&pool, Matrix::new(&[1.0; 36], 4, 9).unwrap(), &[x; 9], &mut out).unwrap();
            assert!(out.iter().all(|value| !value.is_finite()), "{isa} {x}");
        }
    }
}

const VALUES: &[u8] = include_bytes!("../fixtures/q8_0.values.f32");
const GGML_BLOCKS: &[u8] = include_bytes!("../fixtures/q8_0.blocks");
const DEQUANTIZED: &[u8] = include_bytes!("../fixtures/q8_0.dequantized.f32");

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|&four| f32::from_le_bytes(four)).collect()
}

#[test]
fn q8_0_quantization_matches_ggml_byte_for_byte() {
    let values = floats(VALUES);
    for &isa in Isa::available() {
        let blocks = kernels::quantize::<BlockQ8_0>(isa, &values).unwrap();
        for (at, (found, expected)) in
            BlockQ8_0::to_bytes(&blocks).chunks(34).zip(GGML_BLOCKS.chunks(34)).enumerate()
        {
            assert_eq!(found, expected, "{isa} block {at}");
        }
        assert_eq!(blocks.len() * 34, GGML_BLOCKS.len());
    }
}

#[test]
fn q8_0_dequantization_matches_ggml_bit_for_bit() {
    let blocks = BlockQ8_0::from_bytes(GGML_BLOCKS).unwrap();
    for &isa in Isa::available() {
        let mut values = vec![0f32; blocks.len() * 32];
        kernels::dequantize_q8_0(isa, &mut values, blocks).unwrap();
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!(bytes, DEQUANTIZED, "{isa}");
    }
}

/// Checks the error bound of a block whose f16 scale is normal: half a quantization step, the rounding of the scale times 127, and the
/// roundings of f32.
fn check_q8_0_error(values: &[f32; 32]) {
    let block = scalar::quantize_block(values);
    let scale = values.iter().fold(0f32, |largest, value| largest.max(value.abs())) / 127.0;
    if !(f16::MIN_POSITIVE.to_f32()..=f16::MAX.to_f32()).contains(&scale) {
        return;
    }
    let bound = roofline_formulas::quantization::q8_0_error(f64::from(scale));
    for (value, restored) in values.iter().zip(dequantized(&[block])) {
        let error = (f64::from(*value) - f64::from(restored)).abs();
        assert!(error <= bound, "{value} was dequantized to {restored}: error {error:e} exceeds {bound:e}");
    }
}

proptest! {
    #[test]
    fn the_q8_0_error_is_bounded(
        values in proptest::array::uniform32(-1f32..1f32), exponent in -12i32..20,
    ) {
        check_q8_0_error(&values.map(|value| value * 2f32.powi(exponent)));
    }

    #[test]
    fn random_q8_0_products_match_the_oracle(seed: u64, rows in 1usize..12, blocks in 1usize..6) {
        let mut noise = Noise(seed);
        let (weights, x) = (noise.blocks(rows * blocks), noise.blocks(blocks));
        for &isa in Isa::available() {
            let (mut found, mut expected) = (vec![0f32; rows], vec![0f32; rows]);
            let matrix = Matrix::new(&weights, rows, blocks * 32).unwrap();
            kernels::matvec(&ThreadPool::single(isa), matrix, &x, &mut found).unwrap();
            scalar::matvec_blocks(&weights, &x, &mut expected);
            for (row, (found, expected)) in weights.chunks(blocks).zip(found.iter().zip(&expected)) {
                assert_close(*found, *expected, magnitude_q8_0(row, &dequantized(&x)), blocks * 32, isa.name());
            }
        }
    }
}

#[test]
fn half_a_quantization_step_is_not_an_error_bound_for_q8_0() {
    // The scale 1 + 2^-11 rounds down to 1 in f16. A value just below the midpoint of two steps is rounded down too, and the errors add
    // up.
    let scale = 1.0 + 1.0 / 2048.0;
    let mut values = [0f32; 32];
    values[0] = 127.0 * scale;
    values[1] = 126.49 * scale;
    let error = values[1] - dequantized(&[scalar::quantize_block(&values)])[1];
    assert!(error > 1.1 * scale / 2.0, "{error}");
    check_q8_0_error(&values);
}

#[test]
fn wrong_shapes_are_errors() {
    let blocks = [BlockQ8_0::ZERO; 4];
    let new = |rows, columns| Matrix::new(&blocks, rows, columns).map(|_| ());
    assert_eq!(new(2, 64), Ok(()));
    assert_eq!(new(0, 64), Err(KernelError::Empty { rows: 0, columns: 64 }));
    assert_eq!(new(2, 0), Err(KernelError::Empty { rows: 2, columns: 0 }));
    assert_eq!(new(2, 65), Err(KernelError::NotMultiple { what: "columns", multiple: 32, found: 65 }));
    assert_eq!(new(3, 64), Err(KernelError::Length { what: "weights", expected: 6, found: 4 }));
    for (rows, columns) in [(usize::MAX, 64), (usize::MAX / 2, 32)] {
        assert_eq!(new(rows, columns), Err(KernelError::Overflow { rows, columns }));
    }

    let pool = ThreadPool::new(Isa::detect(), 2).unwrap();
    let matrix = Matrix::new(&blocks, 2, 64).unwrap();
    let length = |what, expected, found| Err(KernelError::Length { what, expected, found });
    assert_eq!(kernels::matvec_q8_0(&pool, matrix, &[0.0; 63], &mut [0.0; 2]), length("activations", 64, 63));
    assert_eq!(kernels::matvec_q8_0(&pool, matrix, &[0.0; 64], &mut [0.0; 3]), length("output", 2, 3));
    assert_eq!(kernels::matvec(&pool, matrix, &blocks, &mut [0.0; 2]), length("activations", 2, 4));
    assert_eq!(kernels::copy(Isa::detect(), &mut [0.0; 3], &[0.0; 2], Streams::ONE), length("source", 3, 2));
    assert_eq!(
        kernels::triad(Isa::detect(), &mut [0.0; 3], &[0.0; 3], &[0.0; 2], 1.0, Streams::ONE),
        length("b", 3, 2)
    );
    assert_eq!(
        kernels::dot_q8_0(Isa::detect(), &blocks, &[0.0; 1]).map(|_| ()),
        length("activations", 128, 1)
    );
    assert_eq!(
        kernels::quantize::<BlockQ8_0>(Isa::detect(), &[0.0; 33]),
        Err(KernelError::NotMultiple { what: "values", multiple: 32, found: 33 })
    );
}

#[test]
fn bytes_of_a_file_are_checked_for_length_and_alignment() {
    let bytes = vec![0u8; 34 * 2 + 1];
    assert_eq!(BlockQ8_0::from_bytes(&bytes[1..]).map(<[_]>::len), Ok(2), "blocks have alignment 1");
    assert_eq!(
        BlockQ8_0::from_bytes(&bytes),
        Err(KernelError::NotMultiple { what: "bytes", multiple: 34, found: 69 })
    );
    let words = [0f32; 5];
    let bytes: &[u8] = &words.map(|word| word.to_le_bytes()).concat();
    let odd = bytes.as_ptr().addr() % 4;
    let start = (4 - odd) % 4;
    assert!(Matrix::<f32>::from_bytes(&bytes[start..start + 16], 2, 2).is_ok());
    assert_eq!(
        Matrix::<f32>::from_bytes(&bytes[start + 1..start + 17 - 4 * usize::from(start + 17 > 20)], 1, 3)
            .map(|_| ()),
        Err(KernelError::Misaligned { what: "f32", alignment: 4 })
    );
}
