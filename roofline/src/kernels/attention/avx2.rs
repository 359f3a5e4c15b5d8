//! The parts of attention with AVX2, FMA and F16C. Numbers are widened once for all queries that share them.

use half::f16;

use super::super::avx2::*;
use super::super::format::BlockQ8_0;
use super::{AT_ONCE, Scores, scalar};

/// Numbers that are widened together.
const BLOCK: usize = 32;

/// Replaces each score by `e` to the power of what it has above the largest: the scalar code, compiled with these instructions.
#[target_feature(enable = "avx2,fma,f16c")]
pub fn soften(scores: &mut [f32], largest: f32) -> f32 {
    scalar::soften(scores, largest)
}

#[target_feature(enable = "avx2,fma,f16c")]
pub fn scores_f16(keys: &[f16], next: &[f16], queries: &[f32], scores: &mut [Scores]) {
    let length = queries.len() / scores.len();
    let blocks = |row: usize| keys[row * length..(row + 1) * length].as_chunks::<BLOCK>();
    let rest = |row: usize| blocks(row).1.iter().map(|key| key.to_f32());
    dots(keys.len() / length, next, queries, scores, |row| blocks(row).0, |block| wide_f16(block), rest);
}

#[target_feature(enable = "avx2,fma,f16c")]
pub fn scores_q8_0(keys: &[BlockQ8_0], next: &[BlockQ8_0], queries: &[f32], scores: &mut [Scores]) {
    let length = queries.len() / scores.len() / BLOCK;
    let blocks = |row: usize| &keys[row * length..(row + 1) * length];
    dots(keys.len() / length, next, queries, scores, blocks, |block| wide_q8_0(block), |_| [].into_iter());
}

#[target_feature(enable = "avx2,fma,f16c")]
pub fn weigh_f16(values: &[f16], stride: usize, next: &[f16], weights: &[Scores], sums: &mut [f32]) {
    let length = sums.len() / weights.len();
    let whole = length - length % BLOCK;
    let half = |row: usize, at: usize| {
        let (halves, _) = values[row * stride + at..row * stride + at + 16].as_chunks::<8>();
        [_mm256_cvtph_ps(load_u16(&halves[0])), _mm256_cvtph_ps(load_u16(&halves[1]))]
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

#[target_feature(enable = "avx2,fma,f16c")]
pub fn weigh_q8_0(
    values: &[BlockQ8_0],
    stride: usize,
    next: &[BlockQ8_0],
    weights: &[Scores],
    sums: &mut [f32],
) {
    let half = |row: usize, at: usize| {
        let block = &values[row * stride + at / BLOCK];
        let (scale, part) = (broadcast_scale(block), at % BLOCK / 8);
        [part, part + 1].map(|part| _mm256_mul_ps(scale, quants_f32(block, part)))
    };
    add(values.len() / stride, next, weights, sums, half);
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn wide_f16(block: &[f16; BLOCK]) -> [__m256; 4] {
    let (eights, _) = block.as_chunks::<8>();
    std::array::from_fn(|part| _mm256_cvtph_ps(load_u16(&eights[part])))
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn wide_q8_0(block: &BlockQ8_0) -> [__m256; 4] {
    let scale = broadcast_scale(block);
    std::array::from_fn(|part| _mm256_mul_ps(scale, quants_f32(block, part)))
}

/// The products of each query with each row of keys: its blocks, what is in them, and what is left.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn dots<'a, T, B: 'a, I: Iterator<Item = f32>>(
    rows: usize,
    next: &[T],
    queries: &[f32],
    scores: &mut [Scores],
    blocks: impl Fn(usize) -> &'a [B],
    load: impl Fn(&B) -> [__m256; 4],
    rest: impl Fn(usize) -> I,
) {
    match scores.len() {
        1 => dots_of::<1, _, _, _>(rows, next, queries, scores, blocks, load, rest),
        2 => dots_of::<2, _, _, _>(rows, next, queries, scores, blocks, load, rest),
        3 => dots_of::<3, _, _, _>(rows, next, queries, scores, blocks, load, rest),
        _ => dots_of::<AT_ONCE, _, _, _>(rows, next, queries, scores, blocks, load, rest),
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn dots_of<'a, const N: usize, T, B: 'a, I: Iterator<Item = f32>>(
    rows: usize,
    next: &[T],
    queries: &[f32],
    scores: &mut [Scores],
    blocks: impl Fn(usize) -> &'a [B],
    load: impl Fn(&B) -> [__m256; 4],
    rest: impl Fn(usize) -> I,
) {
    let length = queries.len() / N;
    let queries: [(&[[f32; BLOCK]], &[f32]); N] =
        std::array::from_fn(|query| queries[query * length..(query + 1) * length].as_chunks());
    let lines = size_of_val(next).div_ceil(64 * rows.max(1));
    for row in 0..rows {
        for line in row * lines..(row + 1) * lines {
            prefetch(next, 0, 64 * line);
        }
        let mut sums = [_mm256_setzero_ps(); N];
        for (at, block) in blocks(row).iter().enumerate() {
            let parts = load(block);
            for (sum, (query, _)) in sums.iter_mut().zip(&queries) {
                for (part, wide) in parts.iter().enumerate() {
                    *sum = _mm256_fmadd_ps(*wide, load_f32(&query[at], 8 * part), *sum);
                }
            }
        }
        for ((scores, sum), (_, query)) in scores.iter_mut().zip(sums).zip(&queries) {
            let left: f32 = rest(row).zip(*query).map(|(key, query)| key * query).sum();
            scores[row] = horizontal_sum(sum) + left;
        }
    }
}

/// Adds the weighted rows to the sums of each query, sixteen numbers at a time, of each row by its place; whole blocks only.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn add<T>(
    rows: usize,
    next: &[T],
    weights: &[Scores],
    sums: &mut [f32],
    half: impl Fn(usize, usize) -> [__m256; 2],
) {
    match weights.len() {
        1 => add_of::<1, _>(rows, next, weights, sums, half),
        2 => add_of::<2, _>(rows, next, weights, sums, half),
        3 => add_of::<3, _>(rows, next, weights, sums, half),
        _ => add_of::<AT_ONCE, _>(rows, next, weights, sums, half),
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn add_of<const N: usize, T>(
    rows: usize,
    next: &[T],
    weights: &[Scores],
    sums: &mut [f32],
    half: impl Fn(usize, usize) -> [__m256; 2],
) {
    let length = sums.len() / N;
    let weights: [&[f32]; N] = std::array::from_fn(|query| &weights[query][..rows]);
    for at in (0..length - length % BLOCK).step_by(16) {
        let mut parts: [[__m256; 2]; N] = std::array::from_fn(|query| {
            [load_f32(sums, query * length + at), load_f32(sums, query * length + at + 8)]
        });
        for row in 0..rows {
            let line = at / 16 * rows + row;
            if 64 * line < size_of_val(next) {
                prefetch(next, 0, 64 * line);
            }
            let values = half(row, at);
            for (parts, weights) in parts.iter_mut().zip(weights) {
                let weight = _mm256_set1_ps(weights[row]);
                parts[0] = _mm256_fmadd_ps(values[0], weight, parts[0]);
                parts[1] = _mm256_fmadd_ps(values[1], weight, parts[1]);
            }
        }
        for (query, parts) in parts.into_iter().enumerate() {
            store_f32(sums, query * length + at, parts[0]);
            store_f32(sums, query * length + at + 8, parts[1]);
        }
    }
}
