//! Portable attention kernels, the oracle for the vector kernels.

use half::f16;

use super::super::format::BlockQ8_0;
use super::Scores;

/// Independent sums, so that additions do not wait for each other.
const LANES: usize = 16;

pub fn scores_f16(keys: &[f16], _: &[f16], queries: &[f32], scores: &mut [Scores]) {
    dots(keys, 1, queries, scores, |key| [key.to_f32()]);
}

pub fn scores_q8_0(keys: &[BlockQ8_0], _: &[BlockQ8_0], queries: &[f32], scores: &mut [Scores]) {
    dots(keys, 32, queries, scores, dequantize);
}

pub fn accumulate_f16(values: &[f16], stride: usize, _: &[f16], weights: &[Scores], sums: &mut [f32]) {
    weighted_add(values, stride, weights, sums, |value| [value.to_f32()]);
}

pub fn accumulate_q8_0(
    values: &[BlockQ8_0],
    stride: usize,
    _: &[BlockQ8_0],
    weights: &[Scores],
    sums: &mut [f32],
) {
    weighted_add(values, stride, weights, sums, dequantize);
}

fn dequantize(block: &BlockQ8_0) -> [f32; 32] {
    let scale = block.scale().to_f32();
    block.qs.map(|q| scale * f32::from(q))
}

/// Computes the dot product of each query with each row of keys. A key element holds `width` floats.
fn dots<T, const N: usize>(
    keys: &[T],
    width: usize,
    queries: &[f32],
    scores: &mut [Scores],
    load: impl Fn(&T) -> [f32; N],
) {
    let length = queries.len() / scores.len().max(1);
    for (scores, query) in scores.iter_mut().zip(queries.chunks(length.max(1))) {
        for (score, key) in scores.iter_mut().zip(keys.chunks((length / width).max(1))) {
            *score = key.iter().flat_map(&load).zip(query).map(|(key, query)| key * query).sum();
        }
    }
}

/// Adds the weighted rows to the sums of each query.
pub fn weighted_add<T, const N: usize>(
    values: &[T],
    stride: usize,
    weights: &[Scores],
    sums: &mut [f32],
    load: impl Fn(&T) -> [f32; N],
) {
    let length = sums.len() / weights.len().max(1);
    for (sums, weights) in sums.chunks_mut(length.max(1)).zip(weights) {
        for (weight, value) in weights.iter().zip(values.chunks(stride.max(1))) {
            for (sum, value) in sums.iter_mut().zip(value.iter().flat_map(&load)) {
                *sum += weight * value;
            }
        }
    }
}

/// Replaces each score by `exp(score - max)` and returns their sum.
#[inline(always)]
pub fn exp_sum(scores: &mut [f32], max: f32) -> f32 {
    let mut sums = [0f32; LANES];
    let (lanes, rest) = scores.as_chunks_mut::<LANES>();
    for lane in lanes {
        for (sum, score) in sums.iter_mut().zip(lane) {
            *score = exp(*score - max);
            *sum += *score;
        }
    }
    let mut total = sums.iter().sum::<f32>();
    for score in rest {
        *score = exp(*score - max);
        total += *score;
    }
    total
}

/// Returns `e^x` for `x <= 0`, accurate to three units in the last place. Values below -87 are clamped, which gives nearly zero. Free of
/// branches, so that the compiler can vectorize it.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    /// 1.5 * 2^23: adding it rounds to an integer, which is in the low bits of the sum.
    const ROUND: f32 = 12_582_912.0;
    let x = if x < -87.0 { -87.0 } else { x };
    let whole = x * std::f32::consts::LOG2_E + ROUND;
    let power = whole - ROUND;
    // ln 2 in two parts, so that the subtraction is exact.
    let x = x - power * 0.693_359_4 + power * 2.121_944_4e-4;
    let mut sum = 1.987_569_1e-4;
    for factor in [1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_65, 0.5] {
        sum = sum * x + factor;
    }
    let sum = sum * x * x + x + 1.0;
    sum * f32::from_bits((whole.to_bits() << 23).wrapping_add(1f32.to_bits()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_within_three_units_in_the_last_place() {
        for step in 0..=870_000 {
            let x = -(step as f32) / 1e4;
            let expected = f64::from(x).exp();
            let error = (f64::from(exp(x)) - expected).abs() / expected;
            assert!(error < 3.0 * f64::from(f32::EPSILON), "{x}: {error:e}");
        }
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(f32::NEG_INFINITY) < 1e-37 && exp(f32::NAN).is_nan());
    }
}
