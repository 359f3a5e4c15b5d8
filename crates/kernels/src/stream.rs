//! Several places in memory at once. One forward stream keeps too few cache lines under way; the kernels
//! therefore walk a few streams that lie far apart, and this is where they are laid out.

/// How a kernel walks memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    /// Streams at once, 1 to [`Streams::MOST`]; other values count as the nearest of these.
    pub count: usize,
    /// How many bytes ahead to prefetch; 0 leaves it to the hardware.
    pub prefetch: usize,
}

impl Streams {
    /// The most streams a kernel walks at once.
    pub const MOST: usize = 8;
    /// One stream, no prefetch.
    pub const ONE: Streams = Streams { count: 1, prefetch: 0 };
}

/// Streams a power of two apart fall on the same cache sets and memory banks, which costs a quarter of the
/// bandwidth. They are set apart by this many bytes less than the even share: five pages and four lines.
const SKEW: usize = 5 * 4096 + 4 * 64;

/// The distance between `count` streams over `length` elements of `size` bytes, a multiple of `step`
/// elements. What is left after `count * distance` elements is the tail.
pub fn distance(length: usize, size: usize, count: usize, step: usize) -> usize {
    let share = length / count;
    let skew = SKEW / size;
    let skewed = if count > 1 && share > 32 * skew { share - skew } else { share };
    skewed - skewed % step
}

/// Where an elementwise kernel is.
pub(super) enum Piece {
    /// At a whole step of one stream.
    Step(usize),
    /// At one element before or after the streams.
    One(usize),
}

/// Walks elements `head..length` in steps, as many streams at once as asked for, and then the others one by one. Inlined wherever
/// it is called, since the work may use instructions that only the caller may.
#[inline(always)]
pub(super) fn walk(head: usize, length: usize, count: usize, step: usize, mut work: impl FnMut(Piece)) {
    let count = count.clamp(1, Streams::MOST);
    let distance = distance(length - head, 4, count, step);
    for at in (0..distance).step_by(step) {
        for lane in 0..count {
            work(Piece::Step(head + lane * distance + at));
        }
    }
    for at in (0..head).chain(head + count * distance..length) {
        work(Piece::One(at));
    }
}

/// One dot product for each row of a matrix: of `N` rows at a time while there are enough. Inlined wherever it is called, since
/// the products may use instructions that only the caller may.
#[inline(always)]
pub(super) fn rows<T, const N: usize>(
    weights: &[T],
    out: &mut [f32],
    several: impl Fn([&[T]; N]) -> [f32; N],
    one: impl Fn(&[T]) -> f32,
) {
    let length = weights.len() / out.len().max(1);
    let row = |index: usize| &weights[index * length..(index + 1) * length];
    let out = std::cell::Cell::from_mut(out).as_slice_of_cells();
    walk_rows::<N>(
        out.len(),
        |indexes| {
            for (index, dot) in indexes.into_iter().zip(several(indexes.map(row))) {
                out[index].set(dot);
            }
        },
        |index| out[index].set(one(row(index))),
    );
}

/// Gives every row below `rows` to one of the two closures: `N` at a time while there are enough, else one.
/// The `N` are that part of all rows apart, and an odd number of them, for the reason of `SKEW`.
#[inline(always)]
fn walk_rows<const N: usize>(rows: usize, mut several: impl FnMut([usize; N]), mut one: impl FnMut(usize)) {
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

    fn each_row_once<const N: usize>() {
        for rows in 0..300 {
            let seen = std::cell::RefCell::new(vec![0; rows]);
            walk_rows::<N>(
                rows,
                |several| several.iter().for_each(|&row| seen.borrow_mut()[row] += 1),
                |one| seen.borrow_mut()[one] += 1,
            );
            assert!(seen.borrow().iter().all(|&count| count == 1), "{rows} rows: {:?}", seen.borrow());
        }
    }

    #[test]
    fn every_row_is_walked_exactly_once() {
        each_row_once::<4>();
        each_row_once::<8>();
    }

    #[test]
    fn streams_stay_inside_and_off_the_power_of_two() {
        for count in 1..=Streams::MOST {
            for length in [0, 1, 31, 32, 1000, 1 << 20, 1 << 26] {
                let distance = distance(length, 4, count, 32);
                assert!(count * distance <= length);
                assert_eq!(distance % 32, 0);
                assert!(count == 1 || length < 1 << 26 || !distance.is_power_of_two());
            }
        }
    }
}
