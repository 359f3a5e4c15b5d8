//! The parts of attention with NEON. Numbers are widened once for all queries that share them.

use half::f16;

use super::super::format::BlockQ8_0;
use super::super::neon::*;
use super::walk::walks;
use super::{AT_ONCE, Scores, scalar};

/// Numbers that are widened together.
const BLOCK: usize = 32;

/// Replaces each score by `e` to the power of what it has above the largest: the scalar code, compiled with these instructions.
#[target_feature(enable = "neon")]
pub fn soften<const DOTPROD: bool>(scores: &mut [f32], largest: f32) -> f32 {
    scalar::soften(scores, largest)
}

#[target_feature(enable = "neon")]
pub fn scores_f16<const DOTPROD: bool>(keys: &[f16], next: &[f16], queries: &[f32], scores: &mut [Scores]) {
    let length = queries.len() / scores.len();
    let blocks = |row: usize| keys[row * length..(row + 1) * length].as_chunks::<BLOCK>();
    let rest = |row: usize| blocks(row).1.iter().map(|key| key.to_f32());
    dots(keys.len() / length, next, queries, scores, |row| blocks(row).0, |block| wide_f16(block), rest);
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
    dots(keys.len() / length, next, queries, scores, blocks, |block| wide_q8_0(block), |_| [].into_iter());
}

#[target_feature(enable = "neon")]
pub fn weigh_f16<const DOTPROD: bool>(
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
            half_to_f32(load_u16(values, row * stride + at)),
            half_to_f32(load_u16(values, row * stride + at + 8)),
        );
        [a, b, c, d]
    };
    add(values.len() / stride, next, weights, sums, half);
    for (sums, weights) in sums.chunks_mut(length).zip(weights) {
        for (weight, row) in weights.iter().zip(values.chunks(stride)) {
            for (sum, value) in sums[whole..].iter_mut().zip(&row[whole..]) {
                *sum += weight * value.to_f32();
            }
        }
    }
}

#[target_feature(enable = "neon")]
pub fn weigh_q8_0<const DOTPROD: bool>(
    values: &[BlockQ8_0],
    stride: usize,
    next: &[BlockQ8_0],
    weights: &[Scores],
    sums: &mut [f32],
) {
    let half = |row: usize, at: usize| {
        let wide = wide_q8_0(&values[row * stride + at / BLOCK]);
        std::array::from_fn(|part| wide[at % BLOCK / 4 + part])
    };
    add(values.len() / stride, next, weights, sums, half);
}

#[target_feature(enable = "neon")]
#[inline]
fn wide_f16(block: &[f16; BLOCK]) -> [float32x4_t; 8] {
    let eights: [[float32x4_t; 2]; 4] = std::array::from_fn(|part| half_to_f32(load_u16(block, 8 * part)));
    std::array::from_fn(|part| eights[part / 2][part % 2])
}

#[target_feature(enable = "neon")]
#[inline]
fn wide_q8_0(block: &BlockQ8_0) -> [float32x4_t; 8] {
    let scale = vdupq_n_f32(block.scale().to_f32());
    quants_f32(block).map(|quants| vmulq_f32(scale, quants))
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
fn fma(sum: float32x4_t, one: float32x4_t, other: float32x4_t) -> float32x4_t {
    vfmaq_f32(sum, one, other)
}

#[target_feature(enable = "neon")]
#[inline]
fn total(sum: float32x4_t) -> f32 {
    vaddvq_f32(sum)
}

walks!("neon", float32x4_t, 4);
