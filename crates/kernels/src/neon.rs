//! Kernels for NEON. See [`super::scalar`] for the semantics of each.
//!
//! Kernels that multiply bytes use the dot product instructions if `DOTPROD` is true and widening multiplication otherwise; both are
//! exact for every value. Instructions without a stable intrinsic are inline assembly in the helpers at the end.

pub(super) use std::arch::aarch64::*;
use std::arch::asm;

use half::{bf16, f16};

use super::format::{
    BlockFormat, BlockNvfp4, BlockQ8_0, BlockQ8K, QuantizedActivation, Scale, Unpack, apply_codebook,
};
use super::gemm::{
    BytePanel, Column, FloatChunk, FloatColumn, PANEL_COLUMNS, PANEL_ROWS, PackedActivations, Sums,
    WordPanel, for_each_column_group, shares_scale,
};
use super::scalar;
use super::stream::{Position, Streams, distance, dot_rows, for_each_step};

/// Prefetch distance of the matrix-vector kernels in each row, in bytes.
const PREFETCH: usize = 512;

/// f32 values per step of a memory stream: two cache lines.
const STEP: usize = 32;

#[target_feature(enable = "neon")]
pub fn read<const DOTPROD: bool>(source: &[f32], streams: Streams) -> f32 {
    match streams.count {
        0 | 1 => read_streams::<1>(source, streams.prefetch),
        2 => read_streams::<2>(source, streams.prefetch),
        3 => read_streams::<3>(source, streams.prefetch),
        4 => read_streams::<4>(source, streams.prefetch),
        5 => read_streams::<5>(source, streams.prefetch),
        6 => read_streams::<6>(source, streams.prefetch),
        7 => read_streams::<7>(source, streams.prefetch),
        _ => read_streams::<8>(source, streams.prefetch),
    }
}

#[target_feature(enable = "neon")]
fn read_streams<const N: usize>(source: &[f32], prefetch: usize) -> f32 {
    let distance = distance(source.len(), 4, N, STEP);
    let lanes: [&[[f32; STEP]]; N] =
        std::array::from_fn(|lane| source[lane * distance..(lane + 1) * distance].as_chunks().0);
    let mut sums = [vdupq_n_f32(0.0); N];
    for at in 0..distance / STEP {
        for (lane, sum) in lanes.iter().zip(&mut sums) {
            if prefetch > 0 {
                prefetch_step(lane, at, prefetch);
            }
            let step = &lane[at];
            let pairs: [float32x4_t; 4] =
                std::array::from_fn(|pair| vaddq_f32(load_f32(step, 8 * pair), load_f32(step, 8 * pair + 4)));
            let step = vaddq_f32(vaddq_f32(pairs[0], pairs[1]), vaddq_f32(pairs[2], pairs[3]));
            *sum = vaddq_f32(*sum, step);
        }
    }
    let total = sums.into_iter().fold(vdupq_n_f32(0.0), |total, sum| vaddq_f32(total, sum));
    vaddvq_f32(total) + scalar::read(&source[N * distance..], Streams::ONE)
}

#[target_feature(enable = "neon")]
pub fn fill<const DOTPROD: bool>(target: &mut [f32], value: f32, streams: Streams) {
    let vector = vdupq_n_f32(value);
    map::<false, 0>(target, [], streams, |[]| vector, |[]| value);
}

#[target_feature(enable = "neon")]
pub fn fill_streaming<const DOTPROD: bool>(target: &mut [f32], value: f32, streams: Streams) {
    let vector = vdupq_n_f32(value);
    map::<true, 0>(target, [], streams, |[]| vector, |[]| value);
}

#[target_feature(enable = "neon")]
pub fn copy<const DOTPROD: bool>(target: &mut [f32], source: &[f32], streams: Streams) {
    map::<false, 1>(target, [source], streams, |[a]| a, |[a]| a);
}

#[target_feature(enable = "neon")]
pub fn copy_streaming<const DOTPROD: bool>(target: &mut [f32], source: &[f32], streams: Streams) {
    map::<true, 1>(target, [source], streams, |[a]| a, |[a]| a);
}

#[target_feature(enable = "neon")]
pub fn triad<const DOTPROD: bool>(target: &mut [f32], a: &[f32], b: &[f32], factor: f32, streams: Streams) {
    let factors = vdupq_n_f32(factor);
    let vector = |[a, b]: [float32x4_t; 2]| vaddq_f32(a, vmulq_f32(factors, b));
    map::<false, 2>(target, [a, b], streams, vector, |[a, b]| a + factor * b);
}

#[target_feature(enable = "neon")]
pub fn triad_streaming<const DOTPROD: bool>(
    target: &mut [f32],
    a: &[f32],
    b: &[f32],
    factor: f32,
    streams: Streams,
) {
    let factors = vdupq_n_f32(factor);
    let vector = |[a, b]: [float32x4_t; 2]| vaddq_f32(a, vmulq_f32(factors, b));
    map::<true, 2>(target, [a, b], streams, vector, |[a, b]| a + factor * b);
}

/// Computes `target = f(sources)` elementwise. Elements after the last full step are handled one by one.
#[target_feature(enable = "neon")]
#[inline]
fn map<const STREAMING: bool, const INPUTS: usize>(
    target: &mut [f32],
    sources: [&[f32]; INPUTS],
    streams: Streams,
    vector: impl Fn([float32x4_t; INPUTS]) -> float32x4_t,
    scalar: impl Fn([f32; INPUTS]) -> f32,
) {
    let length = sources.iter().fold(target.len(), |length, source| length.min(source.len()));
    for_each_step(0, length, streams.count, STEP, |piece| match piece {
        Position::Step(start) => {
            if streams.prefetch > 0 {
                for source in &sources {
                    prefetch_step(source, start, streams.prefetch);
                }
            }
            for start in [start, start + 8, start + 16, start + 24] {
                let low = vector(sources.map(|source| load_f32(source, start)));
                let high = vector(sources.map(|source| load_f32(source, start + 4)));
                if STREAMING {
                    stream_f32(target, start, low, high);
                } else {
                    store_f32(target, start, low);
                    store_f32(target, start + 4, high);
                }
            }
        }
        Position::Element(at) => target[at] = scalar(sources.map(|source| source[at])),
    });
}

/// Sums up to `pairs` pairs of products in 16 bits before widening.
#[target_feature(enable = "neon")]
pub fn narrow_dot<const DOTPROD: bool>(weights: &[u8], x: &[i8], pairs: usize) -> i32 {
    let ((weights, weights_left), (x, x_left)) = (weights.as_chunks::<16>(), x.as_chunks::<16>());
    let mut sum = vdupq_n_s32(0);
    for (weights, x) in weights.chunks(pairs).zip(x.chunks(pairs)) {
        let mut word = vdupq_n_s16(0);
        for (weights, x) in weights.iter().zip(x) {
            // At most 7 bits, so the sign bit is clear.
            let weights = load_i8(&weights.map(|weight| weight as i8));
            if DOTPROD {
                sum = multiply_add::<DOTPROD>(sum, weights, load_i8(x));
            } else {
                word = add_products(word, weights, load_i8(x));
            }
        }
        sum = vpadalq_s16(sum, word);
    }
    vaddvq_s32(sum).wrapping_add(scalar::narrow_dot(weights_left, x_left, pairs))
}

/// Adds 16 products, two to each 16-bit sum.
#[target_feature(enable = "neon")]
#[inline]
fn add_products(word: int16x8_t, a: int8x16_t, b: int8x16_t) -> int16x8_t {
    vmlal_high_s8(vmlal_s8(word, vget_low_s8(a), vget_low_s8(b)), a, b)
}

/// Byte-identical to [`scalar::quantize_q8_0`].
#[target_feature(enable = "neon")]
pub fn quantize_q8_0<const DOTPROD: bool>(blocks: &mut [BlockQ8_0], values: &[f32]) {
    for (block, values) in blocks.iter_mut().zip(values.as_chunks::<32>().0) {
        let x: [float32x4_t; 8] = std::array::from_fn(|part| load_f32(values, 4 * part));
        // `vmaxq` propagates NaN, so the maximum reveals both NaN and infinity.
        let largest = x.iter().fold(vdupq_n_f32(0.0), |largest, x| vmaxq_f32(largest, vabsq_f32(*x)));
        let largest = vmaxvq_f32(largest);
        if !largest.is_finite() {
            *block = BlockQ8_0::new(f16::NAN, [0; 32]);
            continue;
        }
        let scale = largest / 127.0;
        let inverse = 1.0 / scale;
        let inverse = vdupq_n_f32(if inverse.is_finite() { inverse } else { 0.0 });
        let words: [int16x8_t; 4] = std::array::from_fn(|pair| {
            let qs = [x[2 * pair], x[2 * pair + 1]].map(|x| vcvtaq_s32_f32(vmulq_f32(x, inverse)));
            vcombine_s16(vqmovn_s32(qs[0]), vqmovn_s32(qs[1]))
        });
        let mut qs = [0i8; 32];
        for (qs, words) in qs.as_chunks_mut::<16>().0.iter_mut().zip(words.chunks_exact(2)) {
            store_i8(qs, vcombine_s8(vqmovn_s16(words[0]), vqmovn_s16(words[1])));
        }
        *block = BlockQ8_0::new(f16::from_f32(scale), qs);
    }
}

/// Bit-identical to [`scalar::dequantize_q8_0`].
#[target_feature(enable = "neon")]
pub fn dequantize_q8_0<const DOTPROD: bool>(values: &mut [f32], blocks: &[BlockQ8_0]) {
    for (values, block) in values.as_chunks_mut::<32>().0.iter_mut().zip(blocks) {
        let scale = vdupq_n_f32(block.scale().to_f32());
        for (part, qs) in qs_f32(block).into_iter().enumerate() {
            store_f32(values, 4 * part, vmulq_f32(scale, qs));
        }
    }
}

/// The code of [`scalar::quantize_q8_k`], vectorized by the compiler.
#[target_feature(enable = "neon")]
pub fn quantize_q8_k<const DOTPROD: bool>(blocks: &mut [BlockQ8K], values: &[f32]) {
    for (block, values) in blocks.iter_mut().zip(values.as_chunks::<256>().0) {
        *block = BlockQ8K::from_f32(values);
    }
}

/// NEON kernel of a block format.
pub trait BlockKernel<X>: Sized {
    /// Returns four exact partial sums of each of two dot products with activations: of the values and of the minima.
    ///
    /// # Safety
    ///
    /// The CPU must support NEON, and the dot product instructions if `DOTPROD` is true.
    unsafe fn product<const DOTPROD: bool>(&self, x: &X) -> [int32x4_t; 2];
}

#[target_feature(enable = "neon")]
pub fn block_products<const DOTPROD: bool, T: BlockFormat>(sums: &mut [[i32; 2]], blocks: &[T], x: &[T::X]) {
    for ((sums, block), x) in sums.iter_mut().zip(blocks).zip(x) {
        // SAFETY: this function is called only if the CPU supports these instructions.
        let products = unsafe { block.product::<DOTPROD>(x) };
        *sums = products.map(|lanes| vaddvq_s32(lanes));
    }
}

#[target_feature(enable = "neon")]
pub fn matvec_blocks<const DOTPROD: bool, T: BlockFormat>(weights: &[T], x: &[T::X], out: &mut [f32]) {
    let one = |row: &[T]| block_dots::<DOTPROD, T>([row; 4], x)[0];
    dot_rows(weights, out, |rows: [_; 4]| block_dots::<DOTPROD, T>(rows, x), one);
}

/// Multiplies four rows, which share the loads of the activations. One instruction converts their scales, and their integer sums are
/// reduced together until one vector holds a sum per row.
#[target_feature(enable = "neon")]
#[inline]
fn block_dots<const DOTPROD: bool, T: BlockFormat>(rows: [&[T]; 4], x: &[T::X]) -> [f32; 4] {
    let blocks = rows.iter().fold(x.len(), |blocks, row| blocks.min(row.len()));
    let (x, rows) = (&x[..blocks], rows.map(|row| &row[..blocks]));
    let mut sum = vdupq_n_f32(0.0);
    for (at, x) in x.iter().enumerate() {
        for row in &rows {
            for line in (0..size_of::<T>()).step_by(64) {
                prefetch(row, at, PREFETCH + line);
            }
        }
        let four = rows.map(|row| &row[at]);
        // SAFETY: this function is called only if the CPU supports these instructions.
        let products = four.map(|block| unsafe { block.product::<DOTPROD>(x) });
        let (scales, x_scale) = (four.map(|block| block.block_scales()), four_scales([x.scale(); 4]));
        let term = |sum, which: usize| {
            let scales = vmulq_f32(four_scales(scales.map(|scales| scales[which])), x_scale);
            let [a, b, c, d] = products.map(|products| products[which]);
            vfmaq_f32(sum, vcvtq_f32_s32(vpaddq_s32(vpaddq_s32(a, b), vpaddq_s32(c, d))), scales)
        };
        sum = term(sum, 0);
        if <T as BlockFormat>::HAS_MINIMA {
            sum = term(sum, 1);
        }
    }
    let mut dots = [0f32; 4];
    store_f32(&mut dots, 0, sum);
    dots
}

/// Converts four scales to f32.
#[target_feature(enable = "neon")]
#[inline]
fn four_scales(scales: [Scale; 4]) -> float32x4_t {
    match scales {
        [Scale::F16(a), Scale::F16(b), Scale::F16(c), Scale::F16(d)] => {
            let bits = [a, b, c, d].map(|scale| u64::from(scale.to_bits()));
            let bits = bits[0] | bits[1] << 16 | bits[2] << 32 | bits[3] << 48;
            half_to_f32(vreinterpretq_u16_u64(vdupq_n_u64(bits)))[0]
        }
        scales => load_f32(&scales.map(Scale::to_f32), 0),
    }
}

#[target_feature(enable = "neon")]
pub fn matvec_nvfp4<const DOTPROD: bool>(weights: &[BlockNvfp4], x: &[BlockQ8_0], out: &mut [f32]) {
    let x = x.as_chunks::<2>().0;
    let dot = |row: &[BlockNvfp4]| {
        let dots = row.iter().zip(x).map(|(block, x)| {
            let scales = [0, 1].map(|half| scale_to_f32(Scale::F16(x[half].scale())));
            block.partial_dot::<DOTPROD>(x, scales)
        });
        vaddvq_f32(dots.fold(vdupq_n_f32(0.0), |sum, dot| vaddq_f32(sum, dot)))
    };
    dot_rows(weights, out, |rows: [_; 4]| rows.map(&dot), dot);
}

/// The scalar code, vectorized by the compiler.
#[target_feature(enable = "neon")]
pub(super) fn unpack_bytes<const DOTPROD: bool, T: Unpack>(panel: &mut BytePanel, row: usize, blocks: &[T]) {
    panel.unpack(row, blocks, |scale| scale_to_f32(scale), apply_codebook, |code| code);
}

/// The scalar code, vectorized by the compiler.
#[target_feature(enable = "neon")]
pub(super) fn unpack_words<const DOTPROD: bool, T: Unpack>(panel: &mut WordPanel, row: usize, blocks: &[T]) {
    let element = |code| i16::from(code) - i16::from(T::OFFSET);
    panel.unpack(row, blocks, |scale| scale_to_f32(scale), apply_codebook, element);
}

#[target_feature(enable = "neon")]
#[inline]
fn scale_to_f32(scale: Scale) -> f32 {
    vgetq_lane_f32::<0>(four_scales([scale; 4]))
}

/// Requires the dot product instructions.
#[target_feature(enable = "neon")]
pub(super) fn multiply_bytes<const DOTPROD: bool, T: Unpack>(
    panel: &BytePanel,
    x: &PackedActivations<i8>,
    chunk: usize,
    sums: &mut [Sums],
) {
    for_each_column_group(
        sums,
        |at, sums: &mut [Sums; 4]| byte_columns::<T, 4>(panel, x.columns(chunk, at), sums),
        |at, sums| byte_columns::<T, 2>(panel, x.columns(chunk, at), sums),
        |at, sums| byte_columns::<T, 1>(panel, x.columns(chunk, at), sums),
    );
}

/// `sdot` multiplies signed bytes: flipping the top bit of an 8-bit code subtracts its offset of 128, and shorter codes are not negative.
#[target_feature(enable = "neon")]
#[inline]
fn byte_columns<T: Unpack, const N: usize>(panel: &BytePanel, x: [Column<i8>; N], sums: &mut [Sums; N]) {
    const { assert!(T::BITS < 8 || T::OFFSET == 128) }
    let columns = T::GROUP / 4;
    for eight in 0..PANEL_ROWS / 8 {
        let mut totals = [[vdupq_n_f32(0.0); 2]; N];
        for group in 0..PANEL_COLUMNS / T::GROUP {
            let mut products = x.map(|x| [vdupq_n_s32(if T::BITS < 8 { x.bias[group] } else { 0 }); 2]);
            for at in group * columns..(group + 1) * columns {
                let rows = load_fours(&panel.codes[at].0.as_chunks().0[eight]);
                let rows = rows.map(|rows| {
                    let sign = if T::BITS < 8 { 0 } else { 128 };
                    vreinterpretq_s8_u8(veorq_u8(rows, vdupq_n_u8(sign)))
                });
                for (products, x) in products.iter_mut().zip(x) {
                    let four = i32::from_le_bytes(x.qs.as_chunks::<4>().0[at].map(|x| x as u8));
                    let four = vreinterpretq_s8_s32(vdupq_n_s32(four));
                    for (product, rows) in products.iter_mut().zip(rows) {
                        *product = multiply_add::<true>(*product, rows, four);
                    }
                }
            }
            for ((totals, products), x) in totals.iter_mut().zip(products).zip(x) {
                for (part, (total, product)) in totals.iter_mut().zip(products).enumerate() {
                    let place = 8 * eight + 4 * part;
                    let scale = if shares_scale::<T>() { 1.0 } else { x.scales[group] };
                    let scales = vmulq_n_f32(load_f32(&panel.scales[group], place), scale);
                    *total = vfmaq_f32(*total, vcvtq_f32_s32(product), scales);
                    if T::HAS_MINIMA {
                        *total = vfmaq_n_f32(*total, load_f32(&panel.minima[group], place), x.sums[group]);
                    }
                }
            }
        }
        for ((sums, totals), x) in sums.iter_mut().zip(totals).zip(x) {
            let scale = if shares_scale::<T>() { x.scales[0] } else { 1.0 };
            for (part, total) in totals.into_iter().enumerate() {
                let place = 8 * eight + 4 * part;
                let sum = vfmaq_n_f32(load_f32(&*sums, place), total, scale);
                store_f32(sums, place, sum);
            }
        }
    }
}

/// Keeps the two products of a pair in separate sums and adds them at the end of a group.
#[target_feature(enable = "neon")]
pub(super) fn multiply_words<const DOTPROD: bool, T: Unpack>(
    panel: &WordPanel,
    x: &PackedActivations<i16>,
    chunk: usize,
    sums: &mut [Sums],
) {
    let columns = T::GROUP / 2;
    for (column, tile) in sums.iter_mut().enumerate() {
        let x = x.column(chunk, column);
        for (group, codes) in panel.codes.chunks(columns).enumerate() {
            let mut sums = [[vdupq_n_s32(0); 2]; PANEL_ROWS / 4];
            for (rows, x) in codes.iter().zip(&x.qs.as_chunks::<2>().0[group * columns..]) {
                let two = u32::from(x[0] as u16) | u32::from(x[1] as u16) << 16;
                let two = vreinterpretq_s16_u32(vdupq_n_u32(two));
                for (sums, rows) in sums.iter_mut().zip(rows.0.as_chunks::<4>().0) {
                    let rows = load_pairs(rows);
                    sums[0] = vmlal_s16(sums[0], vget_low_s16(rows), vget_low_s16(two));
                    sums[1] = vmlal_high_s16(sums[1], rows, two);
                }
            }
            let shared = if shares_scale::<T>() { x.scales[0] } else { 1.0 };
            for (part, sums) in sums.into_iter().enumerate() {
                let scales = vmulq_n_f32(load_f32(&panel.scales[group], 4 * part), x.scales[group]);
                let sums = vcvtq_f32_s32(vpaddq_s32(sums[0], sums[1]));
                let mut total = vfmaq_f32(load_f32(&*tile, 4 * part), sums, scales);
                if T::HAS_MINIMA {
                    let minima = load_f32(&panel.minima[group], 4 * part);
                    total = vfmaq_n_f32(total, minima, x.sums[group] * shared);
                }
                store_f32(tile, 4 * part, total);
            }
        }
    }
}

#[target_feature(enable = "neon")]
pub(super) fn widen_f16<const DOTPROD: bool>(to: &mut [f32], from: &[f16]) {
    let ((eights, rest), (to, to_rest)) = (from.as_chunks::<8>(), to.as_chunks_mut::<8>());
    for (to, eight) in to.iter_mut().zip(eights) {
        let [low, high] = half_to_f32(load_u16x8(eight, 0));
        store_f32(to, 0, low);
        store_f32(to, 4, high);
    }
    scalar::widen_f16(to_rest, rest);
}

#[target_feature(enable = "neon")]
pub(super) fn multiply_floats<const DOTPROD: bool>(
    panel: &[FloatColumn],
    x: &[FloatChunk],
    sums: &mut [Sums],
) {
    for (tile, x) in sums.iter_mut().zip(x) {
        let mut sums: [float32x4_t; PANEL_ROWS / 4] = std::array::from_fn(|part| load_f32(&*tile, 4 * part));
        for (rows, x) in panel.iter().zip(x) {
            for (part, sum) in sums.iter_mut().enumerate() {
                *sum = vfmaq_n_f32(*sum, load_f32(rows.0.as_flattened(), 4 * part), *x);
            }
        }
        for (part, sum) in sums.into_iter().enumerate() {
            store_f32(tile, 4 * part, sum);
        }
    }
}

/// Loads four adjacent bytes of each of eight rows.
#[target_feature(enable = "neon")]
#[inline]
fn load_fours(rows: &[[u8; 4]; 8]) -> [uint8x16_t; 2] {
    // SAFETY: each half of `rows` is 16 readable bytes.
    [0, 1].map(|part| unsafe { vld1q_u8(rows.as_chunks::<4>().0[part].as_ptr().cast()) })
}

#[target_feature(enable = "neon")]
#[inline]
fn load_pairs(pairs: &[[i16; 2]; 4]) -> int16x8_t {
    // SAFETY: `pairs` is 16 readable bytes.
    unsafe { vld1q_s16(pairs.as_ptr().cast()) }
}

#[target_feature(enable = "neon")]
pub fn dot_q8_0<const DOTPROD: bool>(row: &[BlockQ8_0], x: &[f32]) -> f32 {
    let [sum] = dots_q8_0([row], x);
    sum
}

#[target_feature(enable = "neon")]
pub fn matvec_q8_0<const DOTPROD: bool>(weights: &[BlockQ8_0], x: &[f32], out: &mut [f32]) {
    dot_rows(weights, out, |rows: [_; 4]| dots_q8_0(rows, x), |row| dots_q8_0([row], x)[0]);
}

#[target_feature(enable = "neon")]
pub fn matvec_f32<const DOTPROD: bool>(weights: &[f32], x: &[f32], out: &mut [f32]) {
    let dot = |tail: &[f32], x: &[f32]| tail.iter().zip(x).map(|(weight, x)| weight * x).sum();
    dense(weights, x, out, |row, at| [load_f32(row, at), load_f32(row, at + 4)], dot);
}

#[target_feature(enable = "neon")]
pub fn matvec_f16<const DOTPROD: bool>(weights: &[f16], x: &[f32], out: &mut [f32]) {
    let dot = |tail: &[f16], x: &[f32]| tail.iter().zip(x).map(|(weight, x)| weight.to_f32() * x).sum();
    dense(weights, x, out, |row, at| half_to_f32(load_u16x8(row, at)), dot);
}

#[target_feature(enable = "neon")]
pub fn matvec_bf16<const DOTPROD: bool>(weights: &[bf16], x: &[f32], out: &mut [f32]) {
    let dot = |tail: &[bf16], x: &[f32]| tail.iter().zip(x).map(|(weight, x)| weight.to_f32() * x).sum();
    let load = |row: &[bf16], at| {
        let eight = load_u16x8(row, at);
        let low = vshll_n_u16::<16>(vget_low_u16(eight));
        let high = vshll_n_u16::<16>(vget_high_u16(eight));
        [vreinterpretq_f32_u32(low), vreinterpretq_f32_u32(high)]
    };
    dense(weights, x, out, load, dot);
}

/// Multiplies a floating-point matrix: `load` converts eight weights to f32, `tail` multiplies the remaining ones.
#[target_feature(enable = "neon")]
#[inline]
fn dense<T>(
    weights: &[T],
    x: &[f32],
    out: &mut [f32],
    load: impl Fn(&[T], usize) -> [float32x4_t; 2],
    tail: impl Fn(&[T], &[f32]) -> f32,
) {
    let one = |row: &[T]| dots_dense([row], x, &load, &tail)[0];
    dot_rows(weights, out, |rows: [_; 4]| dots_dense(rows, x, &load, &tail), one);
}

#[target_feature(enable = "neon")]
#[inline]
fn dots_dense<T, const N: usize>(
    rows: [&[T]; N],
    x: &[f32],
    load: impl Fn(&[T], usize) -> [float32x4_t; 2],
    tail: impl Fn(&[T], &[f32]) -> f32,
) -> [f32; N] {
    let length = rows.iter().fold(x.len(), |length, row| length.min(row.len()));
    let (x, rows) = (&x[..length], rows.map(|row| &row[..length]));
    let line = 64 / size_of::<T>();
    let full = length - length % line;
    let mut sums = [[vdupq_n_f32(0.0); 2]; N];
    for start in (0..full).step_by(line) {
        for (row, sums) in rows.iter().zip(&mut sums) {
            prefetch(row, start, PREFETCH);
            for at in (start..start + line).step_by(8) {
                let weights = load(row, at);
                sums[0] = vfmaq_f32(sums[0], weights[0], load_f32(x, at));
                sums[1] = vfmaq_f32(sums[1], weights[1], load_f32(x, at + 4));
            }
        }
    }
    let mut dots = [0f32; N];
    for ((dot, row), sums) in dots.iter_mut().zip(rows).zip(sums) {
        *dot = vaddvq_f32(vaddq_f32(sums[0], sums[1])) + tail(&row[full..], &x[full..]);
    }
    dots
}

#[target_feature(enable = "neon")]
#[inline]
fn dots_q8_0<const N: usize>(rows: [&[BlockQ8_0]; N], x: &[f32]) -> [f32; N] {
    let x = x.as_chunks::<32>().0;
    let blocks = rows.iter().fold(x.len(), |blocks, row| blocks.min(row.len()));
    let (x, rows) = (&x[..blocks], rows.map(|row| &row[..blocks]));
    let mut sums = [vdupq_n_f32(0.0); N];
    for (at, x) in x.iter().enumerate() {
        for (row, sum) in rows.iter().zip(&mut sums) {
            prefetch(row, at, PREFETCH);
            let mut parts = [vdupq_n_f32(0.0); 2];
            for (part, qs) in qs_f32(&row[at]).into_iter().enumerate() {
                parts[part % 2] = vfmaq_f32(parts[part % 2], qs, load_f32(x, 4 * part));
            }
            let scale = vdupq_n_f32(row[at].scale().to_f32());
            *sum = vfmaq_f32(*sum, vaddq_f32(parts[0], parts[1]), scale);
        }
    }
    sums.map(|sum| vaddvq_f32(sum))
}

#[target_feature(enable = "neon")]
#[inline]
pub(super) fn load_qs(block: &BlockQ8_0) -> [int8x16_t; 2] {
    load_pair_i8(&block.qs)
}

/// Converts the 32 quantized values to f32.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn qs_f32(block: &BlockQ8_0) -> [float32x4_t; 8] {
    let halves = load_qs(block);
    let words = [
        vmovl_s8(vget_low_s8(halves[0])),
        vmovl_s8(vget_high_s8(halves[0])),
        vmovl_s8(vget_low_s8(halves[1])),
        vmovl_s8(vget_high_s8(halves[1])),
    ];
    std::array::from_fn(|part| {
        let words = words[part / 2];
        let four = if part % 2 == 0 { vget_low_s16(words) } else { vget_high_s16(words) };
        vcvtq_f32_s32(vmovl_s16(four))
    })
}

/// Returns four partial sums of 32 products.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn dot<const DOTPROD: bool>(a: [int8x16_t; 2], b: [int8x16_t; 2]) -> int32x4_t {
    multiply_add::<DOTPROD>(multiply_add::<DOTPROD>(vdupq_n_s32(0), a[0], b[0]), a[1], b[1])
}

/// Returns four partial sums of 32 bytes.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn sum_bytes(bytes: [int8x16_t; 2]) -> int32x4_t {
    vpaddlq_s16(vaddq_s16(vpaddlq_s8(bytes[0]), vpaddlq_s8(bytes[1])))
}

/// Puts a complete sum in lane 0.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn in_lane_0(sum: i32) -> int32x4_t {
    vsetq_lane_s32::<0>(sum, vdupq_n_s32(0))
}

/// Multiplies eight group minima with the sums of their 32 activations.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn dot_minima(minima: [u8; 8], sums: &[i16; 16]) -> int32x4_t {
    let mut total = 0;
    for (minimum, sums) in minima.into_iter().zip(sums.as_chunks::<2>().0) {
        total += i32::from(minimum) * (i32::from(sums[0]) + i32::from(sums[1]));
    }
    in_lane_0(total)
}

/// Looks up 4-bit codes in a table of bytes.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn lookup(table: &[i8; 16], codes: int8x16_t) -> int8x16_t {
    vqtbl1q_s8(load_i8(table), vreinterpretq_u8_s8(codes))
}

/// Unpacks 16 bytes into 32 codes: first the low nibbles, then the high nibbles.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn load_nibbles(bytes: &[u8; 16]) -> [int8x16_t; 2] {
    let bytes = load_u8(bytes);
    [vandq_u8(bytes, vdupq_n_u8(15)), vshrq_n_u8::<4>(bytes)].map(|half| vreinterpretq_s8_u8(half))
}

/// Expands 32 bits to 32 bytes: 16 for each bit that is set, otherwise 0.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn expand_high_bits(bits: [u8; 4]) -> [int8x16_t; 2] {
    let place = load_u8(&[1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128]);
    [[bits[0], bits[1]], [bits[2], bits[3]]].map(|two| {
        let spread = vcombine_u8(vdup_n_u8(two[0]), vdup_n_u8(two[1]));
        vreinterpretq_s8_u8(vandq_u8(vtstq_u8(spread, place), vdupq_n_u8(16)))
    })
}

/// Adds sixteen products to four sums.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn multiply_add<const DOTPROD: bool>(sum: int32x4_t, a: int8x16_t, b: int8x16_t) -> int32x4_t {
    if DOTPROD {
        let mut sum = sum;
        // SAFETY: `DOTPROD` is true only if the instruction was detected; it only accesses registers.
        unsafe {
            asm!(
                ".arch_extension dotprod",
                "sdot {sum:v}.4s, {a:v}.16b, {b:v}.16b",
                sum = inout(vreg) sum, a = in(vreg) a, b = in(vreg) b,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        return sum;
    }
    let low = vmull_s8(vget_low_s8(a), vget_low_s8(b));
    let high = vmull_s8(vget_high_s8(a), vget_high_s8(b));
    vpadalq_s16(vpadalq_s16(sum, low), high)
}

/// Converts eight f16 to f32.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn half_to_f32(eight: uint16x8_t) -> [float32x4_t; 2] {
    let (low, high);
    // SAFETY: both instructions are part of NEON and only access registers.
    unsafe {
        asm!(
            "fcvtl {low:v}.4s, {eight:v}.4h",
            "fcvtl2 {high:v}.4s, {eight:v}.8h",
            low = out(vreg) low, high = lateout(vreg) high, eight = in(vreg) eight,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    [low, high]
}

/// Prefetches the cache line `ahead` bytes after element `at`, which may be out of bounds.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn prefetch<T>(slice: &[T], at: usize, ahead: usize) {
    let place = slice.as_ptr().wrapping_add(at).wrapping_byte_add(ahead);
    // SAFETY: a prefetch is a hint and does not fault on any address.
    unsafe { asm!("prfm pldl1strm, [{}]", in(reg) place, options(nostack, preserves_flags, readonly)) }
}

/// Prefetches the two cache lines of a step.
#[target_feature(enable = "neon")]
#[inline]
fn prefetch_step<T>(slice: &[T], at: usize, ahead: usize) {
    prefetch(slice, at, ahead);
    prefetch(slice, at, ahead + 64);
}

#[target_feature(enable = "neon")]
#[inline]
pub(super) fn load_f32(slice: &[f32], at: usize) -> float32x4_t {
    let four = &slice[at..at + 4];
    // SAFETY: `four` is 16 readable bytes.
    unsafe { vld1q_f32(four.as_ptr()) }
}

#[target_feature(enable = "neon")]
#[inline]
pub(super) fn load_u16x8<T>(slice: &[T], at: usize) -> uint16x8_t {
    const { assert!(size_of::<T>() == 2) }
    let eight = &slice[at..at + 8];
    // SAFETY: `eight` is 16 readable bytes.
    unsafe { vld1q_u16(eight.as_ptr().cast()) }
}

#[target_feature(enable = "neon")]
#[inline]
pub(super) fn load_i8(sixteen: &[i8; 16]) -> int8x16_t {
    // SAFETY: `sixteen` is 16 readable bytes.
    unsafe { vld1q_s8(sixteen.as_ptr()) }
}

#[target_feature(enable = "neon")]
#[inline]
pub(super) fn load_u8(sixteen: &[u8; 16]) -> uint8x16_t {
    // SAFETY: `sixteen` is 16 readable bytes.
    unsafe { vld1q_u8(sixteen.as_ptr()) }
}

#[target_feature(enable = "neon")]
#[inline]
pub(super) fn load_pair(bytes: &[u8; 32]) -> [uint8x16_t; 2] {
    let (halves, _) = bytes.as_chunks::<16>();
    [load_u8(&halves[0]), load_u8(&halves[1])]
}

#[target_feature(enable = "neon")]
#[inline]
pub(super) fn load_pair_i8(bytes: &[i8; 32]) -> [int8x16_t; 2] {
    let (halves, _) = bytes.as_chunks::<16>();
    [load_i8(&halves[0]), load_i8(&halves[1])]
}

#[target_feature(enable = "neon")]
#[inline]
pub(super) fn store_f32(slice: &mut [f32], at: usize, value: float32x4_t) {
    let four = &mut slice[at..at + 4];
    // SAFETY: `four` is 16 writable bytes.
    unsafe { vst1q_f32(four.as_mut_ptr(), value) }
}

/// Stores two vectors with a non-temporal hint.
#[target_feature(enable = "neon")]
#[inline]
fn stream_f32(slice: &mut [f32], at: usize, low: float32x4_t, high: float32x4_t) {
    let eight = &mut slice[at..at + 8];
    // SAFETY: `eight` is 32 writable bytes.
    unsafe {
        asm!(
            "stnp {low:q}, {high:q}, [{place}]",
            low = in(vreg) low, high = in(vreg) high, place = in(reg) eight.as_mut_ptr(),
            options(nostack, preserves_flags),
        );
    }
}

#[target_feature(enable = "neon")]
#[inline]
fn store_i8(sixteen: &mut [i8; 16], value: int8x16_t) {
    // SAFETY: `sixteen` is 16 writable bytes.
    unsafe { vst1q_s8(sixteen.as_mut_ptr(), value) }
}
