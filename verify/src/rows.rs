//! Properties of how a matrix is shared out to threads: every row is computed exactly once.

use roofline::kernels::ThreadPool;

use crate::values::Values;

/// The most rows and threads that are tried.
const MOST_ROWS: u64 = 1 << 10;
const MOST_THREADS: usize = 4;

/// Each row of any matrix is in the share of exactly one thread; shares follow each other and differ by one row at most.
pub fn every_row_is_in_exactly_one_share<V: Values>(values: &mut V) {
    let (rows, row) = (values.below(MOST_ROWS) as usize, values.below(MOST_ROWS) as usize);
    for threads in 1..=MOST_THREADS {
        let (mut owners, mut end) = (0, 0);
        for index in 0..threads {
            let share = ThreadPool::share(rows, threads, index);
            assert!(share.start == end, "a share does not begin where the one before ends");
            assert!(share.len() >= rows / threads, "a share is too short");
            assert!(share.len() <= rows / threads + 1, "a share is too long");
            owners += usize::from(share.contains(&row));
            end = share.end;
        }
        assert!(end == rows, "the shares end before or after the last row");
        assert!(owners == usize::from(row < rows), "a row has no thread, or two");
    }
    values.cover(rows % MOST_THREADS == 3 && row + 1 == rows);
}

drive! {
    every_row_is_in_exactly_one_share unwind 6;
}
