//! Attention kernels for NEON. Keys and values are converted to f32 once for all queries of a block.

use half::f16;

use super::super::format::BlockQ8_0;
use super::super::neon::*;
use super::kv_loop::kv_loops;
use super::{QUERY_BLOCK, Scores, scalar};

/// Elements converted to f32 together.
const BLOCK: usize = 32;

/// The scalar code, vectorized by the compiler.
#[target_feature(enable = "neon")]
pub fn exp_sum<const DOTPROD: bool>(scores: &mut [f32], max: f32) -> f32 {
    scalar::exp_sum(scores, max)
}

#[target_feature(enable = "neon")]
pub fn scores_f16<const DOTPROD: bool>(keys: &[f16], next: &[f16], queries: &[f32], scores: &mut [Scores]) {
    let length = queries.len() / scores.len();
    let blocks = |row: usize| keys[row * length..(row + 1) * length].as_chunks::<BLOCK>();
    let rest = |row: usize| blocks(row).1.iter().map(|key| key.to_f32());
    dots(
        keys.len() / length,
        next,
        queries,
        scores,
        |row| blocks(row).0,
        |block| load_block_f16(block),
        rest,
    );
}

#[target_feature(enable = "neon")]
pub fn scores_q8_0<const DOTPROD: bool>(
    keys: &[BlockQ8_0],
    next: &[BlockQ8_0],
    queries: &[f32],
    scores: &mut [Scores],
) {
    let length = queries.len() / scores.len() / BLOCK;
    let blocks = |row: usize| &keys[row * length..(row + 1) * length];
    dots(
        keys.len() / length,
        next,
        queries,
        scores,
        blocks,
        |block| load_block_q8_0(block),
        |_| [].into_iter(),
    );
}

#[target_feature(enable = "neon")]
pub fn accumulate_f16<const DOTPROD: bool>(
    values: &[f16],
    stride: usize,
    next: &[f16],
    weights: &[Scores],
    sums: &mut [f32],
) {
    let length = sums.len() / weights.len();
    let whole = length - length % BLOCK;
    let half = |row: usize, at: usize| {
        let ([a, b], [c, d]) = (
            half_to_f32(load_u16x8(values, row * stride + at)),
            half_to_f32(load_u16x8(values, row * stride + at + 8)),
        );
        [a, b, c, d]
    };
    weighted_add(values.len() / stride, next, weights, sums, half);
    for (sums, weights) in sums.chunks_mut(length).zip(weights) {
        for (weight, row) in weights.iter().zip(values.chunks(stride)) {
            for (sum, value) in sums[whole..].iter_mut().zip(&row[whole..]) {
                *sum += weight * value.to_f32();
            }
        }
    }
}

#[target_feature(enable = "neon")]
pub fn accumulate_q8_0<const DOTPROD: bool>(
    values: &[BlockQ8_0],
    stride: usize,
    next: &[BlockQ8_0],
    weights: &[Scores],
    sums: &mut [f32],
) {
    let half = |row: usize, at: usize| {
        let wide = load_block_q8_0(&values[row * stride + at / BLOCK]);
        std::array::from_fn(|part| wide[at % BLOCK / 4 + part])
    };
    weighted_add(values.len() / stride, next, weights, sums, half);
}

#[target_feature(enable = "neon")]
#[inline]
fn load_block_f16(block: &[f16; BLOCK]) -> [float32x4_t; 8] {
    let eights: [[float32x4_t; 2]; 4] = std::array::from_fn(|part| half_to_f32(load_u16x8(block, 8 * part)));
    std::array::from_fn(|part| eights[part / 2][part % 2])
}

#[target_feature(enable = "neon")]
#[inline]
fn load_block_q8_0(block: &BlockQ8_0) -> [float32x4_t; 8] {
    let scale = vdupq_n_f32(block.scale().to_f32());
    qs_f32(block).map(|qs| vmulq_f32(scale, qs))
}

#[target_feature(enable = "neon")]
#[inline]
fn zero() -> float32x4_t {
    vdupq_n_f32(0.0)
}

#[target_feature(enable = "neon")]
#[inline]
fn splat(value: f32) -> float32x4_t {
    vdupq_n_f32(value)
}

#[target_feature(enable = "neon")]
#[inline]
fn fma(sum: float32x4_t, a: float32x4_t, b: float32x4_t) -> float32x4_t {
    vfmaq_f32(sum, a, b)
}

#[target_feature(enable = "neon")]
#[inline]
fn horizontal_add(sum: float32x4_t) -> f32 {
    vaddvq_f32(sum)
}

kv_loops!("neon", float32x4_t, 4);
