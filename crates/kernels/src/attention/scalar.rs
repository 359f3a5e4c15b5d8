//! The parts of attention in plain Rust, which the others are compared with.

use half::f16;

use super::super::format::BlockQ8_0;
use super::Scores;

/// How many sums are kept apart.
const LANES: usize = 16;

pub fn scores_f16(keys: &[f16], _: &[f16], queries: &[f32], scores: &mut [Scores]) {
    dots(keys, 1, queries, scores, |key| [key.to_f32()]);
}

pub fn scores_q8_0(keys: &[BlockQ8_0], _: &[BlockQ8_0], queries: &[f32], scores: &mut [Scores]) {
    dots(keys, 32, queries, scores, numbers);
}

pub fn weigh_f16(values: &[f16], stride: usize, _: &[f16], weights: &[Scores], sums: &mut [f32]) {
    add(values, stride, weights, sums, |value| [value.to_f32()]);
}

pub fn weigh_q8_0(
    values: &[BlockQ8_0],
    stride: usize,
    _: &[BlockQ8_0],
    weights: &[Scores],
    sums: &mut [f32],
) {
    add(values, stride, weights, sums, numbers);
}

fn numbers(block: &BlockQ8_0) -> [f32; 32] {
    let scale = block.scale().to_f32();
    block.quants.map(|quant| scale * f32::from(quant))
}

/// The products of each query with each row of keys, of which one holds so many numbers.
fn dots<T, const N: usize>(
    keys: &[T],
    numbers: usize,
    queries: &[f32],
    scores: &mut [Scores],
    load: impl Fn(&T) -> [f32; N],
) {
    let length = queries.len() / scores.len().max(1);
    for (scores, query) in scores.iter_mut().zip(queries.chunks(length.max(1))) {
        for (score, key) in scores.iter_mut().zip(keys.chunks((length / numbers).max(1))) {
            *score = key.iter().flat_map(&load).zip(query).map(|(key, query)| key * query).sum();
        }
    }
}

/// Adds the weighted rows to the sums of each query.
pub fn add<T, const N: usize>(
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

/// Replaces each score by `e` to the power of what it has above the largest; the sum of all.
#[inline(always)]
pub fn soften(scores: &mut [f32], largest: f32) -> f32 {
    let mut sums = [0f32; LANES];
    let (lanes, rest) = scores.as_chunks_mut::<LANES>();
    for lane in lanes {
        for (sum, score) in sums.iter_mut().zip(lane) {
            *score = exp(*score - largest);
            *sum += *score;
        }
    }
    let mut total = sums.iter().sum::<f32>();
    for score in rest {
        *score = exp(*score - largest);
        total += *score;
    }
    total
}

/// `e^x` for an `x` up to 0, to about two units in the last place; what is below -87 counts as that, which is close to none. Without
/// branches, so that the compiler computes several at once.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    /// Adding it rounds to a whole number, which the lowest bits of the sum hold.
    const WHOLE: f32 = 12_582_912.0;
    let x = if x < -87.0 { -87.0 } else { x };
    let whole = x * std::f32::consts::LOG2_E + WHOLE;
    let power = whole - WHOLE;
    // ln 2 in two parts, so that the difference is exact.
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
    fn powers_of_e_are_within_three_units_in_the_last_place() {
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
