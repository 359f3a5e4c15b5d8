//! Attention kernels for AVX2, FMA and F16C. Keys and values are converted to f32 once for all queries of a block.

use half::f16;

use super::super::avx2::*;
use super::super::format::BlockQ8_0;
use super::kv_loop::kv_loops;
use super::{QUERY_BLOCK, Scores, scalar};

/// Elements converted to f32 together.
const BLOCK: usize = 32;

/// The scalar code, vectorized by the compiler.
#[target_feature(enable = "avx2,fma,f16c")]
pub fn exp_sum(scores: &mut [f32], max: f32) -> f32 {
    scalar::exp_sum(scores, max)
}

#[target_feature(enable = "avx2,fma,f16c")]
pub fn scores_f16(keys: &[f16], next: &[f16], queries: &[f32], scores: &mut [Scores]) {
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

#[target_feature(enable = "avx2,fma,f16c")]
pub fn scores_q8_0(keys: &[BlockQ8_0], next: &[BlockQ8_0], queries: &[f32], scores: &mut [Scores]) {
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

#[target_feature(enable = "avx2,fma,f16c")]
pub fn accumulate_f16(values: &[f16], stride: usize, next: &[f16], weights: &[Scores], sums: &mut [f32]) {
    let length = sums.len() / weights.len();
    let whole = length - length % BLOCK;
    let half = |row: usize, at: usize| {
        let (halves, _) = values[row * stride + at..row * stride + at + 16].as_chunks::<8>();
        [_mm256_cvtph_ps(load_u16x8(&halves[0])), _mm256_cvtph_ps(load_u16x8(&halves[1]))]
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

#[target_feature(enable = "avx2,fma,f16c")]
pub fn accumulate_q8_0(
    values: &[BlockQ8_0],
    stride: usize,
    next: &[BlockQ8_0],
    weights: &[Scores],
    sums: &mut [f32],
) {
    let half = |row: usize, at: usize| {
        let block = &values[row * stride + at / BLOCK];
        let (scale, part) = (broadcast_scale(block), at % BLOCK / 8);
        [part, part + 1].map(|part| _mm256_mul_ps(scale, qs_f32(block, part)))
    };
    weighted_add(values.len() / stride, next, weights, sums, half);
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn load_block_f16(block: &[f16; BLOCK]) -> [__m256; 4] {
    let (eights, _) = block.as_chunks::<8>();
    std::array::from_fn(|part| _mm256_cvtph_ps(load_u16x8(&eights[part])))
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn load_block_q8_0(block: &BlockQ8_0) -> [__m256; 4] {
    let scale = broadcast_scale(block);
    std::array::from_fn(|part| _mm256_mul_ps(scale, qs_f32(block, part)))
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn zero() -> __m256 {
    _mm256_setzero_ps()
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn splat(value: f32) -> __m256 {
    _mm256_set1_ps(value)
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn fma(sum: __m256, a: __m256, b: __m256) -> __m256 {
    _mm256_fmadd_ps(a, b, sum)
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn horizontal_add(sum: __m256) -> f32 {
    horizontal_sum(sum)
}

kv_loops!("avx2,fma,f16c", __m256, 8);
