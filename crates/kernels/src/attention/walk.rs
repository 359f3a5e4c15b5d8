//! The walk over cached keys and values, written once for every instruction set: functions that carry its target features, since
//! closures and helpers without them would not be inlined.

/// `dots` and `add` for vectors of so many numbers; `zero`, `splat`, `fma` (sum, factor, factor), `total`, `load_f32` and
/// `store_f32` are those of the instruction set.
macro_rules! walks {
    ($features:literal, $vector:ty, $lanes:literal) => {
        /// The products of each query with each row of keys: its blocks, what is in them, and what is left.
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
                1 => dots_of::<1, _, _, _>(rows, next, queries, scores, blocks, load, rest),
                2 => dots_of::<2, _, _, _>(rows, next, queries, scores, blocks, load, rest),
                3 => dots_of::<3, _, _, _>(rows, next, queries, scores, blocks, load, rest),
                _ => dots_of::<AT_ONCE, _, _, _>(rows, next, queries, scores, blocks, load, rest),
            }
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn dots_of<'a, const N: usize, T, B: 'a, I: Iterator<Item = f32>>(
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
                        for (part, wide) in parts.iter().enumerate() {
                            *sum = fma(*sum, *wide, load_f32(&query[at], $lanes * part));
                        }
                    }
                }
                for ((scores, sum), (_, query)) in scores.iter_mut().zip(sums).zip(&queries) {
                    let left: f32 = rest(row).zip(*query).map(|(key, query)| key * query).sum();
                    scores[row] = total(sum) + left;
                }
            }
        }

        /// Adds the weighted rows to the sums of each query, sixteen numbers at a time, of each row by its place; whole blocks only.
        #[target_feature(enable = $features)]
        #[inline]
        fn add<T>(
            rows: usize,
            next: &[T],
            weights: &[Scores],
            sums: &mut [f32],
            half: impl Fn(usize, usize) -> [$vector; 16 / $lanes],
        ) {
            match weights.len() {
                1 => add_of::<1, _>(rows, next, weights, sums, half),
                2 => add_of::<2, _>(rows, next, weights, sums, half),
                3 => add_of::<3, _>(rows, next, weights, sums, half),
                _ => add_of::<AT_ONCE, _>(rows, next, weights, sums, half),
            }
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn add_of<const N: usize, T>(
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

pub(super) use walks;
