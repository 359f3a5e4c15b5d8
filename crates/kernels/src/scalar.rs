//! Every kernel in plain Rust: short, and the oracle that the vector kernels are compared with.
//! Lengths are checked by the callers in [`super`]; a wrong one gives a wrong sum here, never a panic.

use half::{bf16, f16};

use super::format::{
    BlockNvfp4, BlockQ8_0, BlockQ8K, Format, MOST_GROUPS, MOST_WEIGHTS, Quantized, Scale, Unpack, choose,
};
use super::panel::{Bytes, Column, Few, Float, Floats, Packed, Panel, ROWS, Sums, Words, shared};
use super::stream::Streams;

/// How many sums the loops below keep apart, so that one addition need not wait for the last.
const LANES: usize = 16;

/// The sum of all elements.
pub fn read(source: &[f32], _: Streams) -> f32 {
    let mut sums = [0f32; LANES];
    let (chunks, tail) = source.as_chunks::<LANES>();
    for chunk in chunks {
        for (sum, value) in sums.iter_mut().zip(chunk) {
            *sum += value;
        }
    }
    sums.iter().sum::<f32>() + tail.iter().sum::<f32>()
}

/// Fills `target` with one value.
pub fn fill(target: &mut [f32], value: f32, _: Streams) {
    target.fill(value);
}

/// Fills `target` with one value; plain Rust has no stores that pass the cache by.
pub fn fill_streaming(target: &mut [f32], value: f32, streams: Streams) {
    fill(target, value, streams);
}

/// Copies `source` to `target`.
pub fn copy(target: &mut [f32], source: &[f32], _: Streams) {
    for (to, from) in target.iter_mut().zip(source) {
        *to = *from;
    }
}

/// Copies `source` to `target`; plain Rust has no stores that pass the cache by.
pub fn copy_streaming(target: &mut [f32], source: &[f32], streams: Streams) {
    copy(target, source, streams);
}

/// `target = a + factor * b`.
pub fn triad(target: &mut [f32], a: &[f32], b: &[f32], factor: f32, _: Streams) {
    for ((to, a), b) in target.iter_mut().zip(a).zip(b) {
        *to = a + factor * b;
    }
}

/// `target = a + factor * b`; plain Rust has no stores that pass the cache by.
pub fn triad_streaming(target: &mut [f32], a: &[f32], b: &[f32], factor: f32, streams: Streams) {
    triad(target, a, b, factor, streams);
}

/// The exact product of small numbers with bytes; plain Rust adds up in 32 bits.
pub fn narrow_dot(weights: &[u8], x: &[i8], _: usize) -> i32 {
    let products = weights.iter().zip(x).map(|(weight, x)| i32::from(*weight) * i32::from(*x));
    products.fold(0, i32::wrapping_add)
}

/// The block that ggml's reference quantizer writes for these values: scale `max|x| / 127`, quants
/// rounded half away from zero. Values ggml leaves undefined are defined here: NaN or infinity make the
/// scale NaN, so that they cannot vanish, and a scale whose inverse overflows makes all quants zero.
pub fn quantize_block(values: &[f32; 32]) -> BlockQ8_0 {
    if values.iter().any(|value| !value.is_finite()) {
        return BlockQ8_0::new(f16::NAN, [0; 32]);
    }
    let largest = values.iter().fold(0f32, |largest, value| largest.max(value.abs()));
    let steps = steps_per_unit(largest);
    let mut quants = [0i8; 32];
    for (quant, value) in quants.iter_mut().zip(values) {
        *quant = quantize(*value, steps);
    }
    BlockQ8_0::new(f16::from_f32(largest / 127.0), quants)
}

/// The inverse of the scale of a block with this largest magnitude; zero if it overflows.
pub fn steps_per_unit(largest: f32) -> f32 {
    let inverse = 1.0 / (largest / 127.0);
    if inverse.is_finite() { inverse } else { 0.0 }
}

/// The quant of one value.
pub fn quantize(value: f32, steps_per_unit: f32) -> i8 {
    (value * steps_per_unit).round() as i8
}

/// Quantizes 32 values for each block.
pub fn quantize_q8_0(blocks: &mut [BlockQ8_0], values: &[f32]) {
    for (block, values) in blocks.iter_mut().zip(values.as_chunks::<32>().0) {
        *block = quantize_block(values);
    }
}

/// The 32 values of each block, `scale * quant`.
pub fn dequantize_q8_0(values: &mut [f32], blocks: &[BlockQ8_0]) {
    for (values, block) in values.as_chunks_mut::<32>().0.iter_mut().zip(blocks) {
        let scale = block.scale().to_f32();
        for (value, quant) in values.iter_mut().zip(&block.quants) {
            *value = scale * f32::from(*quant);
        }
    }
}

/// The exact integer product of two blocks' quants; at most 32 * 128 * 128.
pub fn block_sum(a: &BlockQ8_0, b: &BlockQ8_0) -> i32 {
    a.quants.iter().zip(&b.quants).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

/// Quantizes 256 values for each block.
pub fn quantize_q8_k(blocks: &mut [BlockQ8K], values: &[f32]) {
    for (block, values) in blocks.iter_mut().zip(values.as_chunks::<256>().0) {
        *block = BlockQ8K::quantized(values);
    }
}

/// The values of each block: `scale * quant`, and the minimum where the format has one.
pub fn dequantize<T: Unpack>(values: &mut [f32], blocks: &[T]) {
    let mut numbers = [0; MOST_WEIGHTS];
    let (mut scales, mut minima) = ([0.0; MOST_GROUPS], [0.0; MOST_GROUPS]);
    let groups = T::WEIGHTS / T::GROUP;
    for (values, block) in values.chunks_exact_mut(T::WEIGHTS).zip(blocks) {
        block.numbers(&mut numbers[..T::WEIGHTS]);
        if let Some(choice) = T::CHOICE {
            choose(choice, &mut numbers[..T::WEIGHTS]);
        }
        block.group_scales(Scale::to_f32, &mut scales[..groups], &mut minima[..groups]);
        for (at, (value, number)) in values.iter_mut().zip(numbers).enumerate() {
            *value = scales[at / T::GROUP] * (f32::from(number) - f32::from(T::OFFSET));
            if T::MINIMA {
                *value += minima[at / T::GROUP];
            }
        }
    }
}

/// The whole numbers of a block: quants and minima.
fn numbers<T: Format>(block: &T) -> ([i16; MOST_WEIGHTS], [i16; MOST_GROUPS]) {
    let (mut quants, mut minima) = ([0; MOST_WEIGHTS], [0; MOST_GROUPS]);
    block.quants(&mut quants[..T::WEIGHTS]);
    block.minima(&mut minima[..T::WEIGHTS / <T as Format>::GROUP]);
    (quants, minima)
}

/// The exact integer product of a block's quants with activations, and that of its minima.
pub fn block_product<T: Format>(block: &T, x: &T::X) -> [i32; 2] {
    let (quants, minima) = numbers(block);
    let mut sums = [0i32; 2];
    for (at, (quant, x)) in quants.iter().zip(x.quants()).enumerate() {
        sums[0] += i32::from(*quant) * i32::from(*x);
        sums[1] += i32::from(minima[at / <T as Format>::GROUP]) * i32::from(*x);
    }
    sums
}

/// [`block_product`] of each pair of blocks.
pub fn block_products<T: Format>(sums: &mut [[i32; 2]], blocks: &[T], x: &[T::X]) {
    for ((sums, block), x) in sums.iter_mut().zip(blocks).zip(x) {
        *sums = block_product(block, x);
    }
}

/// A matrix of blocks times quantized activations; one row for each element of `out`.
pub fn block_rows<T: Format>(weights: &[T], x: &[T::X], out: &mut [f32]) {
    rows(weights, out, |row| row.iter().zip(x).map(|(block, x)| term(block, x)).sum());
}

/// What a block contributes to the product of its row.
fn term<T: Format>(block: &T, x: &T::X) -> f32 {
    let ([quants, minima], [scale, minimum]) = (block_product(block, x), block.scales().map(Scale::to_f32));
    let x = x.scale().to_f32();
    let sum = scale * x * quants as f32;
    if <T as Format>::MINIMA { sum + minimum * x * minima as f32 } else { sum }
}

/// An NVFP4 matrix times quantized activations; one row for each element of `out`.
pub fn nvfp4_rows(weights: &[BlockNvfp4], x: &[BlockQ8_0], out: &mut [f32]) {
    let x = x.as_chunks::<2>().0;
    rows(weights, out, |row| row.iter().zip(x).map(|(block, x)| block.term(x)).sum());
}

/// Unpacks a chunk of a row into bytes.
pub(super) fn unpack_bytes<T: Unpack>(panel: &mut Bytes, row: usize, blocks: &[T]) {
    panel.unpack(row, blocks, Scale::to_f32, choose, |number| number);
}

/// Unpacks a chunk of a row into 16-bit numbers.
pub(super) fn unpack_words<T: Unpack>(panel: &mut Words, row: usize, blocks: &[T]) {
    panel.unpack(row, blocks, Scale::to_f32, choose, |number| i16::from(number) - i16::from(T::OFFSET));
}

/// Turns a few unpacked rows into columns of a panel, from this row on.
pub(super) fn turn<E: Copy, const W: usize>(rows: &[[E; W]], panel: &mut [Few<E, W>], row: usize) {
    for (next, numbers) in rows.chunks_exact(panel.len()).enumerate() {
        for (to, few) in panel.iter_mut().zip(numbers) {
            to.0[row + next] = *few;
        }
    }
}

/// Adds the products of a panel of bytes with a chunk of every column.
pub(super) fn multiply_bytes<T: Unpack>(panel: &Bytes, x: &Packed<i8>, chunk: usize, sums: &mut [Sums]) {
    for (column, sums) in sums.iter_mut().enumerate() {
        let x = x.column(chunk, column);
        multiply::<T, _, _, 4>(panel, x, |group| x.starts[group], sums);
    }
}

/// Adds the products of a panel of 16-bit numbers with a chunk of every column.
pub(super) fn multiply_words<T: Unpack>(panel: &Words, x: &Packed<i16>, chunk: usize, sums: &mut [Sums]) {
    for (column, sums) in sums.iter_mut().enumerate() {
        multiply::<T, _, _, 2>(panel, x.column(chunk, column), |_| 0, sums);
    }
}

fn multiply<T: Unpack, E: Into<i32> + Copy, X: Into<i32> + Copy, const W: usize>(
    panel: &Panel<E, W>,
    x: Column<X>,
    start: impl Fn(usize) -> i32,
    sums: &mut Sums,
) {
    let numbers = panel.numbers.chunks(T::GROUP / W).zip(x.numbers.chunks(T::GROUP));
    for (group, ((numbers, few), scales)) in numbers.zip(&panel.scales).enumerate() {
        let mut products = [start(group); ROWS];
        for (rows, few) in numbers.iter().zip(few.as_chunks::<W>().0) {
            for (product, row) in products.iter_mut().zip(&rows.0) {
                *product +=
                    row.iter().zip(few).map(|(number, x)| (*number).into() * (*x).into()).sum::<i32>();
            }
        }
        for ((sum, product), scale) in sums.iter_mut().zip(products).zip(scales) {
            *sum += product as f32 * (scale * x.scales[group]);
        }
    }
    let factor = if shared::<T>() { x.scales[0] } else { 1.0 };
    for (minima, total) in panel.minima.iter().zip(x.sums) {
        for (sum, minimum) in sums.iter_mut().zip(minima) {
            *sum += minimum * (total * factor);
        }
    }
}

/// f16 as f32.
pub(super) fn widen_f16(to: &mut [f32], from: &[f16]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = from.to_f32();
    }
}

/// bf16 as f32: the upper half of its bits.
pub(super) fn widen_bf16(to: &mut [f32], from: &[bf16]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = f32::from_bits(u32::from(from.to_bits()) << 16);
    }
}

/// Adds the products of a panel of f32 with columns that are `length` numbers apart.
pub(super) fn multiply_floats(panel: &[Float], x: &[Floats], sums: &mut [Sums]) {
    for (sums, x) in sums.iter_mut().zip(x) {
        for (rows, x) in panel.iter().zip(x) {
            for (sum, [row]) in sums.iter_mut().zip(rows.0) {
                *sum += row * x;
            }
        }
    }
}

/// The product of a Q8_0 row with f32 activations.
pub fn dot_q8_0(row: &[BlockQ8_0], x: &[f32]) -> f32 {
    row.iter()
        .zip(x.as_chunks::<32>().0)
        .map(|(block, x)| {
            let sum: f32 = block.quants.iter().zip(x).map(|(quant, x)| f32::from(*quant) * x).sum();
            block.scale().to_f32() * sum
        })
        .sum()
}

/// A Q8_0 matrix times f32 activations; one row for each element of `out`.
pub fn matvec_q8_0(weights: &[BlockQ8_0], x: &[f32], out: &mut [f32]) {
    rows(weights, out, |row| dot_q8_0(row, x));
}

/// An f32 matrix times f32 activations; one row for each element of `out`.
pub fn matvec_f32(weights: &[f32], x: &[f32], out: &mut [f32]) {
    rows(weights, out, |row| dot(row, x, |weight| *weight));
}

/// An f16 matrix times f32 activations; one row for each element of `out`.
pub fn matvec_f16(weights: &[f16], x: &[f32], out: &mut [f32]) {
    rows(weights, out, |row| dot(row, x, |weight| weight.to_f32()));
}

/// A bf16 matrix times f32 activations; one row for each element of `out`.
pub fn matvec_bf16(weights: &[bf16], x: &[f32], out: &mut [f32]) {
    rows(weights, out, |row| dot(row, x, |weight| weight.to_f32()));
}

fn dot<T>(row: &[T], x: &[f32], value: impl Fn(&T) -> f32) -> f32 {
    row.iter().zip(x).map(|(weight, x)| value(weight) * x).sum()
}

fn rows<T>(weights: &[T], out: &mut [f32], dot: impl Fn(&[T]) -> f32) {
    let length = (weights.len() / out.len().max(1)).max(1);
    for (row, out) in weights.chunks_exact(length).zip(out) {
        *out = dot(row);
    }
}
