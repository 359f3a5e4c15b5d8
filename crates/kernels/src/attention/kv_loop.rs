//! Loops over cached keys and values, generic over the instruction set. A macro, because functions and closures without the target
//! features of the caller would not be inlined.

/// Defines `dots` and `weighted_add` for vectors of `$lanes` floats. The calling module provides `zero`, `splat`, `fma` (sum, factor,
/// factor), `horizontal_add`, `load_f32`, `store_f32` and `prefetch`.
macro_rules! kv_loops {
    ($features:literal, $vector:ty, $lanes:literal) => {
        /// Computes the dot product of each query with each row of keys. `blocks` returns the blocks of a row, `load` converts a block to
        /// f32, and `rest` returns the elements after the last whole block.
        #[target_feature(enable = $features)]
        #[inline]
        fn dots<'a, T, B: 'a, I: Iterator<Item = f32>>(
            rows: usize,
            next: &[T],
            queries: &[f32],
            scores: &mut [Scores],
            blocks: impl Fn(usize) -> &'a [B],
            load: impl Fn(&B) -> [$vector; BLOCK / $lanes],
            rest: impl Fn(usize) -> I,
        ) {
            match scores.len() {
                1 => dots_n::<1, _, _, _>(rows, next, queries, scores, blocks, load, rest),
                2 => dots_n::<2, _, _, _>(rows, next, queries, scores, blocks, load, rest),
                3 => dots_n::<3, _, _, _>(rows, next, queries, scores, blocks, load, rest),
                _ => dots_n::<QUERY_BLOCK, _, _, _>(rows, next, queries, scores, blocks, load, rest),
            }
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn dots_n<'a, const N: usize, T, B: 'a, I: Iterator<Item = f32>>(
            rows: usize,
            next: &[T],
            queries: &[f32],
            scores: &mut [Scores],
            blocks: impl Fn(usize) -> &'a [B],
            load: impl Fn(&B) -> [$vector; BLOCK / $lanes],
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
                let mut sums = [zero(); N];
                for (at, block) in blocks(row).iter().enumerate() {
                    let parts = load(block);
                    for (sum, (query, _)) in sums.iter_mut().zip(&queries) {
                        for (part, vector) in parts.iter().enumerate() {
                            *sum = fma(*sum, *vector, load_f32(&query[at], $lanes * part));
                        }
                    }
                }
                for ((scores, sum), (_, query)) in scores.iter_mut().zip(sums).zip(&queries) {
                    let tail: f32 = rest(row).zip(*query).map(|(key, query)| key * query).sum();
                    scores[row] = horizontal_add(sum) + tail;
                }
            }
        }

        /// Adds the weighted rows to the sums of each query, whole blocks only. `half` converts the sixteen elements of a row at an index
        /// to f32.
        #[target_feature(enable = $features)]
        #[inline]
        fn weighted_add<T>(
            rows: usize,
            next: &[T],
            weights: &[Scores],
            sums: &mut [f32],
            half: impl Fn(usize, usize) -> [$vector; 16 / $lanes],
        ) {
            match weights.len() {
                1 => weighted_add_n::<1, _>(rows, next, weights, sums, half),
                2 => weighted_add_n::<2, _>(rows, next, weights, sums, half),
                3 => weighted_add_n::<3, _>(rows, next, weights, sums, half),
                _ => weighted_add_n::<QUERY_BLOCK, _>(rows, next, weights, sums, half),
            }
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn weighted_add_n<const N: usize, T>(
            rows: usize,
            next: &[T],
            weights: &[Scores],
            sums: &mut [f32],
            half: impl Fn(usize, usize) -> [$vector; 16 / $lanes],
        ) {
            let length = sums.len() / N;
            let weights: [&[f32]; N] = std::array::from_fn(|query| &weights[query][..rows]);
            for at in (0..length - length % BLOCK).step_by(16) {
                let mut parts: [[$vector; 16 / $lanes]; N] = std::array::from_fn(|query| {
                    std::array::from_fn(|part| load_f32(sums, query * length + at + $lanes * part))
                });
                for row in 0..rows {
                    let line = at / 16 * rows + row;
                    if 64 * line < size_of_val(next) {
                        prefetch(next, 0, 64 * line);
                    }
                    let values = half(row, at);
                    for (parts, weights) in parts.iter_mut().zip(weights) {
                        let weight = splat(weights[row]);
                        for (part, value) in parts.iter_mut().zip(values) {
                            *part = fma(*part, value, weight);
                        }
                    }
                }
                for (query, parts) in parts.into_iter().enumerate() {
                    for (part, value) in parts.into_iter().enumerate() {
                        store_f32(sums, query * length + at + $lanes * part, value);
                    }
                }
            }
        }
    };
}

pub(super) use kv_loops;
