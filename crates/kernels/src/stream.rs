//! Concurrent memory streams. A single forward stream keeps too few cache lines in flight, so the kernels traverse several streams that
//! are far apart. This module computes their layout.

/// Access pattern of a memory kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    /// Number of concurrent streams, clamped to 1 to [`Streams::MAX`].
    pub count: usize,
    /// Software prefetch distance in bytes; 0 disables it.
    pub prefetch: usize,
}

impl Streams {
    /// Maximum number of concurrent streams.
    pub const MAX: usize = 8;
    /// One stream without software prefetch.
    pub const ONE: Streams = Streams { count: 1, prefetch: 0 };
}

/// Reduction of the distance between streams, in bytes: five pages and four cache lines. Streams a power of two apart map to the same
/// cache sets and memory banks, which costs a quarter of the bandwidth.
const SKEW: usize = 5 * 4096 + 4 * 64;

/// Distance in elements between `count` streams over `length` elements of `size` bytes, rounded down to a multiple of `step`. The
/// elements after `count * distance` form the tail.
pub fn distance(length: usize, size: usize, count: usize, step: usize) -> usize {
    let share = length / count;
    let skew = SKEW / size;
    let skewed = if count > 1 && share > 32 * skew { share - skew } else { share };
    skewed - skewed % step
}

/// Position of an elementwise kernel.
pub(super) enum Position {
    /// Start of a full step of one stream.
    Step(usize),
    /// Single element before or after the streams.
    Element(usize),
}

/// Visits elements `head..length` in steps, alternating between `count` streams, and then all remaining elements one by one. Always
/// inlined, because `work` may use instructions that only the caller enables.
#[inline(always)]
pub(super) fn for_each_step(
    head: usize,
    length: usize,
    count: usize,
    step: usize,
    mut work: impl FnMut(Position),
) {
    let count = count.clamp(1, Streams::MAX);
    let distance = distance(length - head, 4, count, step);
    for at in (0..distance).step_by(step) {
        for lane in 0..count {
            work(Position::Step(head + lane * distance + at));
        }
    }
    for at in (0..head).chain(head + count * distance..length) {
        work(Position::Element(at));
    }
}

/// Computes one dot product per matrix row, `N` rows at a time if possible. Always inlined, because the closures may use instructions
/// that only the caller enables.
#[inline(always)]
pub(super) fn dot_rows<T, const N: usize>(
    weights: &[T],
    out: &mut [f32],
    several: impl Fn([&[T]; N]) -> [f32; N],
    one: impl Fn(&[T]) -> f32,
) {
    let length = weights.len() / out.len().max(1);
    let row = |index: usize| &weights[index * length..(index + 1) * length];
    let out = std::cell::Cell::from_mut(out).as_slice_of_cells();
    for_each_row_group::<N>(
        out.len(),
        |indexes| {
            for (index, dot) in indexes.into_iter().zip(several(indexes.map(row))) {
                out[index].set(dot);
            }
        },
        |index| out[index].set(one(row(index))),
    );
}

/// Passes every row below `rows` to one of the closures: `N` at a time if possible, otherwise singly. The rows of a group are an `N`th
/// of all rows apart, and an odd number of rows, for the same reason as [`SKEW`].
#[inline(always)]
fn for_each_row_group<const N: usize>(
    rows: usize,
    mut several: impl FnMut([usize; N]),
    mut one: impl FnMut(usize),
) {
    let share = rows / N;
    let distance = if share > 2 && share.is_multiple_of(2) { share - 1 } else { share };
    for row in 0..distance {
        several(std::array::from_fn(|stream| row + stream * distance));
    }
    let mut row = N * distance;
    while row + N <= rows {
        several(std::array::from_fn(|next| row + next));
        row += N;
    }
    for row in row..rows {
        one(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_each_row_once<const N: usize>() {
        for rows in 0..300 {
            let seen = std::cell::RefCell::new(vec![0; rows]);
            for_each_row_group::<N>(
                rows,
                |several| several.iter().for_each(|&row| seen.borrow_mut()[row] += 1),
                |one| seen.borrow_mut()[one] += 1,
            );
            assert!(seen.borrow().iter().all(|&count| count == 1), "{rows} rows: {:?}", seen.borrow());
        }
    }

    #[test]
    fn every_row_is_visited_once() {
        check_each_row_once::<4>();
        check_each_row_once::<8>();
    }

    #[test]
    fn streams_are_in_bounds_and_not_a_power_of_two_apart() {
        for count in 1..=Streams::MAX {
            for length in [0, 1, 31, 32, 1000, 1 << 20, 1 << 26] {
                let distance = distance(length, 4, count, 32);
                assert!(count * distance <= length);
                assert_eq!(distance % 32, 0);
                assert!(count == 1 || length < 1 << 26 || !distance.is_power_of_two());
            }
        }
    }
}
