//! Block formats: decoding compared with the `gguf` Python package, integer products of every instruction set compared with the scalar
//! ones, and matrix products within an error bound that grows with the row length.

use roofline_kernels::*;

use super::{Noise, assert_close, floats};
use roofline_kernels::isa::Isa;

/// Runs a generic check for every [`BlockFormat`].
macro_rules! each_block_format {
    ($check:ident) => {{
        $check::<BlockQ4_0>(
            include_bytes!("../fixtures/formats/q4_0.blocks"),
            include_bytes!("../fixtures/formats/q4_0.f32"),
        );
        $check::<BlockQ4_1>(
            include_bytes!("../fixtures/formats/q4_1.blocks"),
            include_bytes!("../fixtures/formats/q4_1.f32"),
        );
        $check::<BlockQ5_0>(
            include_bytes!("../fixtures/formats/q5_0.blocks"),
            include_bytes!("../fixtures/formats/q5_0.f32"),
        );
        $check::<BlockQ5_1>(
            include_bytes!("../fixtures/formats/q5_1.blocks"),
            include_bytes!("../fixtures/formats/q5_1.f32"),
        );
        $check::<BlockQ8_0>(
            include_bytes!("../fixtures/q8_0.blocks"),
            include_bytes!("../fixtures/q8_0.dequantized.f32"),
        );
        $check::<BlockQ2K>(
            include_bytes!("../fixtures/formats/q2_k.blocks"),
            include_bytes!("../fixtures/formats/q2_k.f32"),
        );
        $check::<BlockQ3K>(
            include_bytes!("../fixtures/formats/q3_k.blocks"),
            include_bytes!("../fixtures/formats/q3_k.f32"),
        );
        $check::<BlockQ4K>(
            include_bytes!("../fixtures/formats/q4_k.blocks"),
            include_bytes!("../fixtures/formats/q4_k.f32"),
        );
        $check::<BlockQ5K>(
            include_bytes!("../fixtures/formats/q5_k.blocks"),
            include_bytes!("../fixtures/formats/q5_k.f32"),
        );
        $check::<BlockQ6K>(
            include_bytes!("../fixtures/formats/q6_k.blocks"),
            include_bytes!("../fixtures/formats/q6_k.f32"),
        );
        $check::<BlockIq4Nl>(
            include_bytes!("../fixtures/formats/iq4_nl.blocks"),
            include_bytes!("../fixtures/formats/iq4_nl.f32"),
        );
        $check::<BlockIq4Xs>(
            include_bytes!("../fixtures/formats/iq4_xs.blocks"),
            include_bytes!("../fixtures/formats/iq4_xs.f32"),
        );
        $check::<BlockMxfp4>(
            include_bytes!("../fixtures/formats/mxfp4.blocks"),
            include_bytes!("../fixtures/formats/mxfp4.f32"),
        );
    }};
}

/// Runs a generic check for every quantization format.
macro_rules! each_format {
    ($check:ident) => {{
        each_block_format!($check);
        $check::<BlockNvfp4>(
            include_bytes!("../fixtures/formats/nvfp4.blocks"),
            include_bytes!("../fixtures/formats/nvfp4.f32"),
        );
    }};
}

fn blocks<T: Weight>(bytes: &[u8]) -> Vec<T> {
    let blocks = bytes.len() / size_of::<T>();
    Matrix::<T>::from_bytes(bytes, 1, blocks * T::WEIGHTS).unwrap().data().to_vec()
}

/// Construction of either type of quantized activations.
trait TestActivation: QuantizedActivation {
    fn from_fn(scale: f32, q: &mut dyn FnMut(usize) -> i8) -> Self;
}

impl TestActivation for BlockQ8_0 {
    fn from_fn(scale: f32, q: &mut dyn FnMut(usize) -> i8) -> Self {
        BlockQ8_0::new(half::f16::from_f32(scale), std::array::from_fn(q))
    }
}

impl TestActivation for BlockQ8K {
    fn from_fn(scale: f32, q: &mut dyn FnMut(usize) -> i8) -> Self {
        BlockQ8K::new(scale, std::array::from_fn(q))
    }
}

#[test]
fn every_format_is_dequantized_like_gguf() {
    fn check<T: Unpack>(bytes: &[u8], expected: &[u8]) {
        let blocks = blocks::<T>(bytes);
        let mut found = vec![0f32; blocks.len() * T::WEIGHTS];
        dequantize(&mut found, &blocks).unwrap();
        assert_eq!(found.len() * 4, expected.len(), "{}", T::NAME);
        for (at, (found, expected)) in found.iter().zip(floats(expected)).enumerate() {
            // Zeros may have either sign.
            assert!(*found == expected, "{} weight {at}: {found} instead of {expected}", T::NAME);
        }
    }
    each_format!(check);
}

#[test]
fn integer_products_of_every_format_are_exact() {
    fn check<T: BlockFormat<X: TestActivation>>(bytes: &[u8], _: &[u8]) {
        let mut noise = Noise(21);
        let mut blocks = blocks::<T>(bytes);
        // Arbitrary bytes: the integers do not depend on the scales.
        for _ in 0..200 {
            let bytes: Vec<u8> = (0..size_of::<T>()).map(|_| noise.bits() as u8).collect();
            blocks.extend(self::blocks::<T>(&bytes));
        }
        let ends: [fn(usize) -> i8; 4] =
            [|_| -128, |_| 127, |at| if at % 2 == 0 { -128 } else { 127 }, |_| 0];
        for mut q in ends {
            compare(&blocks, &vec![T::X::from_fn(1.0, &mut q); blocks.len()]);
        }
        for _ in 0..4 {
            compare(&blocks, &vec![T::X::from_fn(1.0, &mut |_| noise.bits() as i8); blocks.len()]);
        }
    }
    fn compare<T: BlockFormat>(blocks: &[T], x: &[T::X]) {
        let mut expected = vec![[0; 2]; blocks.len()];
        scalar::block_products(&mut expected, blocks, x);
        for &isa in Isa::available() {
            let mut found = vec![[0; 2]; blocks.len()];
            block_products(isa, &mut found, blocks, x).unwrap();
            for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
                let expected = if <T as BlockFormat>::HAS_MINIMA { expected } else { &[expected[0], 0] };
                assert_eq!(found, expected, "{isa} {} block {at}", T::NAME);
            }
        }
    }
    each_block_format!(check);
}

#[test]
fn products_of_every_format_match_dequantized_weights() {
    fn check<T: Unpack<X: TestActivation>>(bytes: &[u8], _: &[u8]) {
        let mut noise = Noise(22);
        let stored = blocks::<T>(bytes);
        for &isa in Isa::available() {
            for pool in [ThreadPool::single(isa), ThreadPool::new(isa, 3).unwrap()] {
                for (rows, length) in [(1, 1), (3, 2), (4, 3), (9, 1), (33, 5)] {
                    let weights: Vec<T> =
                        (0..rows * length).map(|_| stored[noise.bits() as usize % stored.len()]).collect();
                    let x: Vec<T::X> = (0..length * T::WEIGHTS / T::X::ACTIVATIONS)
                        .map(|_| T::X::from_fn(noise.unit(), &mut |_| noise.bits() as i8))
                        .collect();
                    let mut dequantized = vec![0f32; T::WEIGHTS * weights.len()];
                    dequantize(&mut dequantized, &weights).unwrap();
                    let values: Vec<f32> = x
                        .iter()
                        .flat_map(|x| x.qs().iter().map(|q| x.scale().to_f32() * f32::from(*q)))
                        .collect();
                    let (mut found, mut oracle) = (vec![f32::NAN; rows], vec![f32::NAN; rows]);
                    let matrix = Matrix::new(&weights, rows, length * T::WEIGHTS).unwrap();
                    matvec(&pool, matrix, &x, &mut found).unwrap();
                    matvec(&ThreadPool::single(Isa::SCALAR), matrix, &x, &mut oracle).unwrap();
                    for (row, (found, oracle)) in
                        dequantized.chunks(values.len()).zip(found.iter().zip(&oracle))
                    {
                        let terms = row.iter().zip(&values).map(|(w, x)| f64::from(*w) * f64::from(*x));
                        let expected = terms.clone().sum::<f64>() as f32;
                        // Values and minima are summed separately, and either may exceed their total.
                        let magnitude =
                            if T::HAS_MINIMA { 40.0 } else { 1.0 } * terms.map(f64::abs).sum::<f64>();
                        let what = format!("{isa} {} {rows} x {length} blocks", T::NAME);
                        assert_close(*found, expected, magnitude, values.len(), &what);
                        assert_close(*oracle, expected, magnitude, values.len(), &what);
                    }
                }
            }
        }
    }
    each_format!(check);
}

#[test]
fn matmul_of_every_format_matches_matvec_per_column() {
    fn check<T: Unpack<X: TestActivation>>(bytes: &[u8], _: &[u8]) {
        let mut noise = Noise(24);
        let stored = blocks::<T>(bytes);
        for &isa in Isa::available() {
            for (threads, rows, length, columns) in
                [(1, 17, 256 / T::WEIGHTS, 8), (3, 35, 3, 13), (2, 65, 512 / T::WEIGHTS, 20), (2, 5, 9, 3)]
            {
                let pool = ThreadPool::new(isa, threads).unwrap();
                let weights: Vec<T> =
                    (0..rows * length).map(|_| stored[noise.bits() as usize % stored.len()]).collect();
                let matrix = Matrix::new(&weights, rows, length * T::WEIGHTS).unwrap();
                let x = noise.values(columns * matrix.columns());
                let mut found = vec![f32::NAN; rows * columns];
                matmul(&pool, matrix, &x, columns, &mut found).unwrap();
                for (column, x) in x.chunks(matrix.columns()).enumerate() {
                    let mut expected = vec![f32::NAN; rows];
                    let x = quantize::<T::X>(Isa::SCALAR, x).unwrap();
                    matvec(&ThreadPool::single(Isa::SCALAR), matrix, &x, &mut expected).unwrap();
                    for (row, expected) in expected.iter().enumerate() {
                        let blocks = &weights[row * length..(row + 1) * length];
                        let mut dequantized = vec![0f32; T::WEIGHTS * length];
                        dequantize(&mut dequantized, blocks).unwrap();
                        let values = x.iter().flat_map(|x| {
                            x.qs().iter().map(|q| f64::from(*q) * f64::from(x.scale().to_f32()))
                        });
                        let magnitude = dequantized
                            .iter()
                            .zip(values)
                            .map(|(w, x)| (f64::from(*w) * x).abs())
                            .sum::<f64>();
                        let what = format!("{isa} {} row {row}, column {column} of {columns}", T::NAME);
                        let magnitude = if T::HAS_MINIMA { 40.0 } else { 1.0 } * magnitude;
                        assert_close(
                            found[row * columns + column],
                            *expected,
                            magnitude,
                            matrix.columns(),
                            &what,
                        );
                    }
                }
            }
        }
    }
    each_format!(check);
}

#[test]
fn matmul_of_floats_matches_sums_in_f64() {
    let mut noise = Noise(25);
    for &isa in Isa::available() {
        for (threads, rows, length, columns) in
            [(1, 17, 300, 8), (3, 35, 9, 13), (2, 33, 128, 19), (2, 5, 256, 3)]
        {
            let pool = ThreadPool::new(isa, threads).unwrap();
            let (weights, x) = (noise.values(rows * length), noise.values(columns * length));
            let half: Vec<half::f16> = weights.iter().map(|value| half::f16::from_f32(*value)).collect();
            let brain: Vec<half::bf16> = weights.iter().map(|value| half::bf16::from_f32(*value)).collect();
            let exact = |value: &dyn Fn(usize) -> f32, found: &[f32], name: &str| {
                for (at, found) in found.iter().enumerate() {
                    let (row, column) = (at / columns, at % columns);
                    let terms = (0..length)
                        .map(|k| f64::from(value(row * length + k)) * f64::from(x[column * length + k]));
                    let (sum, magnitude) =
                        terms.fold((0.0, 0.0), |(sum, magnitude), term| (sum + term, magnitude + term.abs()));
                    assert_close(
                        *found,
                        sum as f32,
                        magnitude,
                        length,
                        &format!("{isa} {name} {row} {column}"),
                    );
                }
            };
            let mut found = vec![f32::NAN; rows * columns];
            matmul(&pool, Matrix::new(&weights, rows, length).unwrap(), &x, columns, &mut found).unwrap();
            exact(&|at| weights[at], &found, "f32");
            matmul(&pool, Matrix::new(&half, rows, length).unwrap(), &x, columns, &mut found).unwrap();
            exact(&|at| half[at].to_f32(), &found, "f16");
            matmul(&pool, Matrix::new(&brain, rows, length).unwrap(), &x, columns, &mut found).unwrap();
            exact(&|at| brain[at].to_f32(), &found, "bf16");
        }
    }
    let matrix = Matrix::new(&[1f32; 6], 2, 3).unwrap();
    let wrong = matmul(&ThreadPool::single(Isa::SCALAR), matrix, &[0.0; 8], 3, &mut [0.0; 6]);
    assert_eq!(wrong, Err(KernelError::Length { what: "activations", expected: 9, found: 8 }));
}

#[test]
fn q8_k_quantization_follows_ggml() {
    let mut noise = Noise(23);
    for scale in [1.0, -3e-9, 7e20, 1e-35] {
        let mut values = noise.values(512).iter().map(|value| value * scale).collect::<Vec<f32>>();
        values[300] = 1.5 * scale;
        values[301] = -1.5 * scale;
        for &isa in Isa::available() {
            let blocks = quantize::<BlockQ8K>(isa, &values).unwrap();
            assert_eq!(blocks, quantize::<BlockQ8K>(Isa::SCALAR, &values).unwrap(), "{isa}");
            for (block, values) in blocks.iter().zip(values.chunks(256)) {
                let largest = values
                    .iter()
                    .fold(0f32, |largest, value| if value.abs() > largest.abs() { *value } else { largest });
                let step = block.scale().to_f32();
                for (q, value) in block.qs().iter().zip(values) {
                    assert!(
                        *q >= -127 && (f32::from(*q) * step - value).abs() <= step.abs() * 0.5001,
                        "{isa} {value}"
                    );
                    assert!(*value != largest || *q == -127, "{isa}: the largest becomes -127");
                }
            }
        }
    }
    for &isa in Isa::available() {
        assert_eq!(quantize::<BlockQ8K>(isa, &[0.0; 256]).unwrap(), [BlockQ8K::ZERO]);
        for bad in [f32::NAN, f32::INFINITY] {
            let mut values = [1f32; 256];
            values[77] = bad;
            assert!(quantize::<BlockQ8K>(isa, &values).unwrap()[0].scale().to_f32().is_nan(), "{isa}");
        }
    }
}

#[test]
fn weight_formats_have_the_sizes_in_the_contract() {
    for weight_format in WeightFormat::ALL {
        let formats = roofline_formulas::quantization::formats::ALL;
        let format = formats.iter().find(|format| format.name == weight_format.name()).unwrap();
        assert_eq!(
            weight_format.block(),
            (format.block_weights as usize, format.block_bytes as usize),
            "{}",
            weight_format.name()
        );
        assert_eq!(WeightFormat::from_name(&weight_format.name().to_uppercase()), Some(*weight_format));
    }
}
