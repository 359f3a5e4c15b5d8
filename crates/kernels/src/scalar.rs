//! Portable reference implementation of every kernel: the oracle for the vector kernels.
//!
//! Callers in [`super`] validate lengths; a wrong length gives a wrong result here, never a panic.

use half::{bf16, f16};

use super::format::{
    BlockFormat, BlockNvfp4, BlockQ8_0, BlockQ8K, MAX_BLOCK_GROUPS, MAX_BLOCK_WEIGHTS, QuantizedActivation,
    Scale, Unpack, apply_codebook,
};
use super::gemm::{
    BytePanel, Column, FloatChunk, FloatColumn, Interleaved, PANEL_ROWS, PackedActivations, Panel, Sums,
    WordPanel, shares_scale,
};
use super::stream::Streams;

/// Independent sums, so that additions do not wait for each other.
const LANES: usize = 16;

/// Returns the sum of all elements.
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

/// Fills `target` with `value`.
pub fn fill(target: &mut [f32], value: f32, _: Streams) {
    target.fill(value);
}

/// Same as [`fill`]: there are no portable non-temporal stores.
pub fn fill_streaming(target: &mut [f32], value: f32, streams: Streams) {
    fill(target, value, streams);
}

/// Copies `source` to `target`.
pub fn copy(target: &mut [f32], source: &[f32], _: Streams) {
    for (to, from) in target.iter_mut().zip(source) {
        *to = *from;
    }
}

/// Same as [`copy`]: there are no portable non-temporal stores.
pub fn copy_streaming(target: &mut [f32], source: &[f32], streams: Streams) {
    copy(target, source, streams);
}

/// Computes `target = a + factor * b`.
pub fn triad(target: &mut [f32], a: &[f32], b: &[f32], factor: f32, _: Streams) {
    for ((to, a), b) in target.iter_mut().zip(a).zip(b) {
        *to = a + factor * b;
    }
}

/// Same as [`triad`]: there are no portable non-temporal stores.
pub fn triad_streaming(target: &mut [f32], a: &[f32], b: &[f32], factor: f32, streams: Streams) {
    triad(target, a, b, factor, streams);
}

/// Returns the exact dot product of unsigned with signed bytes, summed in 32 bits.
pub fn narrow_dot(weights: &[u8], x: &[i8], _: usize) -> i32 {
    let products = weights.iter().zip(x).map(|(weight, x)| i32::from(*weight) * i32::from(*x));
    products.fold(0, i32::wrapping_add)
}

/// Quantizes 32 values to Q8_0 like ggml's reference quantizer: scale `max|x| / 127`, rounding half away from zero.
///
/// Cases that ggml leaves undefined: NaN or infinity make the scale NaN, so that they propagate; if the inverse of the scale
/// overflows, all quantized values are zero.
pub fn quantize_block(values: &[f32; 32]) -> BlockQ8_0 {
    if values.iter().any(|value| !value.is_finite()) {
        return BlockQ8_0::new(f16::NAN, [0; 32]);
    }
    let largest = values.iter().fold(0f32, |largest, value| largest.max(value.abs()));
    let steps = steps_per_unit(largest);
    let mut qs = [0i8; 32];
    for (q, value) in qs.iter_mut().zip(values) {
        *q = quantize(*value, steps);
    }
    BlockQ8_0::new(f16::from_f32(largest / 127.0), qs)
}

/// Inverse scale of a block whose largest magnitude is `largest`; zero if it overflows.
pub fn steps_per_unit(largest: f32) -> f32 {
    let inverse = 1.0 / (largest / 127.0);
    if inverse.is_finite() { inverse } else { 0.0 }
}

/// Quantizes one value.
pub fn quantize(value: f32, steps_per_unit: f32) -> i8 {
    (value * steps_per_unit).round() as i8
}

/// Quantizes 32 values per block; see [`quantize_block`].
pub fn quantize_q8_0(blocks: &mut [BlockQ8_0], values: &[f32]) {
    for (block, values) in blocks.iter_mut().zip(values.as_chunks::<32>().0) {
        *block = quantize_block(values);
    }
}

/// Dequantizes the 32 values of each block.
pub fn dequantize_q8_0(values: &mut [f32], blocks: &[BlockQ8_0]) {
    for (values, block) in values.as_chunks_mut::<32>().0.iter_mut().zip(blocks) {
        let scale = block.scale().to_f32();
        for (value, q) in values.iter_mut().zip(&block.qs) {
            *value = scale * f32::from(*q);
        }
    }
}

/// Returns the exact integer dot product of two blocks without scales; at most 32 * 128 * 128.
pub fn block_sum(a: &BlockQ8_0, b: &BlockQ8_0) -> i32 {
    a.qs.iter().zip(&b.qs).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

/// Quantizes 256 values per block; see [`BlockQ8K::from_f32`].
pub fn quantize_q8_k(blocks: &mut [BlockQ8K], values: &[f32]) {
    for (block, values) in blocks.iter_mut().zip(values.as_chunks::<256>().0) {
        *block = BlockQ8K::from_f32(values);
    }
}

/// Dequantizes each block: `scale * value`, plus the minimum if the format has minima.
pub fn dequantize<T: Unpack>(values: &mut [f32], blocks: &[T]) {
    let mut codes = [0; MAX_BLOCK_WEIGHTS];
    let (mut scales, mut minima) = ([0.0; MAX_BLOCK_GROUPS], [0.0; MAX_BLOCK_GROUPS]);
    let groups = T::WEIGHTS / T::GROUP;
    for (values, block) in values.chunks_exact_mut(T::WEIGHTS).zip(blocks) {
        block.codes(&mut codes[..T::WEIGHTS]);
        if let Some(codebook) = T::CODEBOOK {
            apply_codebook(codebook, &mut codes[..T::WEIGHTS]);
        }
        block.f32_scales(Scale::to_f32, &mut scales[..groups], &mut minima[..groups]);
        for (at, (value, code)) in values.iter_mut().zip(codes).enumerate() {
            *value = scales[at / T::GROUP] * (f32::from(code) - f32::from(T::OFFSET));
            if T::HAS_MINIMA {
                *value += minima[at / T::GROUP];
            }
        }
    }
}

/// Integer values and group minima of a block.
fn integers<T: BlockFormat>(block: &T) -> ([i16; MAX_BLOCK_WEIGHTS], [i16; MAX_BLOCK_GROUPS]) {
    let (mut values, mut minima) = ([0; MAX_BLOCK_WEIGHTS], [0; MAX_BLOCK_GROUPS]);
    block.values(&mut values[..T::WEIGHTS]);
    block.group_minima(&mut minima[..T::WEIGHTS / <T as BlockFormat>::GROUP]);
    (values, minima)
}

/// Returns two exact integer dot products of a block with activations: of its values and of its minima.
pub fn block_product<T: BlockFormat>(block: &T, x: &T::X) -> [i32; 2] {
    let (values, minima) = integers(block);
    let mut sums = [0i32; 2];
    for (at, (value, x)) in values.iter().zip(x.qs()).enumerate() {
        sums[0] += i32::from(*value) * i32::from(*x);
        sums[1] += i32::from(minima[at / <T as BlockFormat>::GROUP]) * i32::from(*x);
    }
    sums
}

/// [`block_product`] of each pair of blocks.
pub fn block_products<T: BlockFormat>(sums: &mut [[i32; 2]], blocks: &[T], x: &[T::X]) {
    for ((sums, block), x) in sums.iter_mut().zip(blocks).zip(x) {
        *sums = block_product(block, x);
    }
}

/// Multiplies a matrix of blocks with quantized activations; one row per element of `out`.
pub fn matvec_blocks<T: BlockFormat>(weights: &[T], x: &[T::X], out: &mut [f32]) {
    dot_rows(weights, out, |row| row.iter().zip(x).map(|(block, x)| block_dot(block, x)).sum());
}

/// Returns the scaled dot product of a block with activations.
fn block_dot<T: BlockFormat>(block: &T, x: &T::X) -> f32 {
    let ([values, minima], [scale, min_scale]) =
        (block_product(block, x), block.block_scales().map(Scale::to_f32));
    let x = x.scale().to_f32();
    let sum = scale * x * values as f32;
    if <T as BlockFormat>::HAS_MINIMA { sum + min_scale * x * minima as f32 } else { sum }
}

/// Multiplies an NVFP4 matrix with quantized activations; one row per element of `out`.
pub fn matvec_nvfp4(weights: &[BlockNvfp4], x: &[BlockQ8_0], out: &mut [f32]) {
    let x = x.as_chunks::<2>().0;
    dot_rows(weights, out, |row| row.iter().zip(x).map(|(block, x)| block.dot(x)).sum());
}

/// Unpacks one row of a byte panel.
pub(super) fn unpack_bytes<T: Unpack>(panel: &mut BytePanel, row: usize, blocks: &[T]) {
    panel.unpack(row, blocks, Scale::to_f32, apply_codebook, |code| code);
}

/// Unpacks one row of a panel of 16-bit weights.
pub(super) fn unpack_words<T: Unpack>(panel: &mut WordPanel, row: usize, blocks: &[T]) {
    panel.unpack(row, blocks, Scale::to_f32, apply_codebook, |code| i16::from(code) - i16::from(T::OFFSET));
}

/// Transposes unpacked rows into the columns of a panel, starting at `row`.
pub(super) fn transpose<E: Copy, const W: usize>(
    rows: &[[E; W]],
    panel: &mut [Interleaved<E, W>],
    row: usize,
) {
    for (at, weights) in rows.chunks_exact(panel.len()).enumerate() {
        for (column, adjacent) in panel.iter_mut().zip(weights) {
            column.0[row + at] = *adjacent;
        }
    }
}

/// Multiplies a byte panel with one chunk of every activation column and adds to `sums`.
pub(super) fn multiply_bytes<T: Unpack>(
    panel: &BytePanel,
    x: &PackedActivations<i8>,
    chunk: usize,
    sums: &mut [Sums],
) {
    for (column, sums) in sums.iter_mut().enumerate() {
        let x = x.column(chunk, column);
        multiply::<T, _, _, 4>(panel, x, |group| x.bias[group], sums);
    }
}

/// Multiplies a panel of 16-bit weights with one chunk of every activation column and adds to `sums`.
pub(super) fn multiply_words<T: Unpack>(
    panel: &WordPanel,
    x: &PackedActivations<i16>,
    chunk: usize,
    sums: &mut [Sums],
) {
    for (column, sums) in sums.iter_mut().enumerate() {
        multiply::<T, _, _, 2>(panel, x.column(chunk, column), |_| 0, sums);
    }
}

fn multiply<T: Unpack, E: Into<i32> + Copy, X: Into<i32> + Copy, const W: usize>(
    panel: &Panel<E, W>,
    x: Column<X>,
    bias: impl Fn(usize) -> i32,
    sums: &mut Sums,
) {
    let groups = panel.codes.chunks(T::GROUP / W).zip(x.qs.chunks(T::GROUP));
    for (group, ((codes, qs), scales)) in groups.zip(&panel.scales).enumerate() {
        let mut products = [bias(group); PANEL_ROWS];
        for (rows, qs) in codes.iter().zip(qs.as_chunks::<W>().0) {
            for (product, row) in products.iter_mut().zip(&rows.0) {
                *product += row.iter().zip(qs).map(|(code, q)| (*code).into() * (*q).into()).sum::<i32>();
            }
        }
        for ((sum, product), scale) in sums.iter_mut().zip(products).zip(scales) {
            *sum += product as f32 * (scale * x.scales[group]);
        }
    }
    let factor = if shares_scale::<T>() { x.scales[0] } else { 1.0 };
    for (minima, total) in panel.minima.iter().zip(x.sums) {
        for (sum, minimum) in sums.iter_mut().zip(minima) {
            *sum += minimum * (total * factor);
        }
    }
}

/// Converts f16 to f32.
pub(super) fn widen_f16(to: &mut [f32], from: &[f16]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = from.to_f32();
    }
}

/// Converts bf16, which is the upper half of an f32, to f32.
pub(super) fn widen_bf16(to: &mut [f32], from: &[bf16]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = f32::from_bits(u32::from(from.to_bits()) << 16);
    }
}

/// Multiplies an f32 panel with one chunk of every activation column and adds to `sums`.
pub(super) fn multiply_floats(panel: &[FloatColumn], x: &[FloatChunk], sums: &mut [Sums]) {
    for (sums, x) in sums.iter_mut().zip(x) {
        for (rows, x) in panel.iter().zip(x) {
            for (sum, [row]) in sums.iter_mut().zip(rows.0) {
                *sum += row * x;
            }
        }
    }
}

/// Returns the dot product of a Q8_0 row with f32 activations.
pub fn dot_q8_0(row: &[BlockQ8_0], x: &[f32]) -> f32 {
    row.iter()
        .zip(x.as_chunks::<32>().0)
        .map(|(block, x)| {
            let sum: f32 = block.qs.iter().zip(x).map(|(q, x)| f32::from(*q) * x).sum();
            block.scale().to_f32() * sum
        })
        .sum()
}

/// Multiplies a Q8_0 matrix with f32 activations; one row per element of `out`.
pub fn matvec_q8_0(weights: &[BlockQ8_0], x: &[f32], out: &mut [f32]) {
    dot_rows(weights, out, |row| dot_q8_0(row, x));
}

/// Multiplies an f32 matrix with f32 activations; one row per element of `out`.
pub fn matvec_f32(weights: &[f32], x: &[f32], out: &mut [f32]) {
    dot_rows(weights, out, |row| dot(row, x, |weight| *weight));
}

/// Multiplies an f16 matrix with f32 activations; one row per element of `out`.
pub fn matvec_f16(weights: &[f16], x: &[f32], out: &mut [f32]) {
    dot_rows(weights, out, |row| dot(row, x, |weight| weight.to_f32()));
}

/// Multiplies a bf16 matrix with f32 activations; one row per element of `out`.
pub fn matvec_bf16(weights: &[bf16], x: &[f32], out: &mut [f32]) {
    dot_rows(weights, out, |row| dot(row, x, |weight| weight.to_f32()));
}

fn dot<T>(row: &[T], x: &[f32], value: impl Fn(&T) -> f32) -> f32 {
    row.iter().zip(x).map(|(weight, x)| value(weight) * x).sum()
}

fn dot_rows<T>(weights: &[T], out: &mut [f32], dot: impl Fn(&[T]) -> f32) {
    let length = (weights.len() / out.len().max(1)).max(1);
    for (row, out) in weights.chunks_exact(length).zip(out) {
        *out = dot(row);
    }
}
