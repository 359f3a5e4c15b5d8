//! Properties of the work split: each row of a matrix is computed by exactly one thread.

use roofline::kernels::ThreadPool;

use crate::values::Values;

/// Maximum number of rows and threads.
const MAX_ROWS: u64 = 1 << 10;
const MAX_THREADS: usize = 4;

/// Each row belongs to exactly one thread; the shares are contiguous and differ by at most one row.
pub fn every_row_belongs_to_exactly_one_thread<V: Values>(values: &mut V) {
    let (rows, row) = (values.below(MAX_ROWS) as usize, values.below(MAX_ROWS) as usize);
    for threads in 1..=MAX_THREADS {
        let (mut owners, mut end) = (0, 0);
        for index in 0..threads {
            let share = ThreadPool::share(rows, threads, index);
            assert!(share.start == end, "the shares are not contiguous");
            assert!(share.len() >= rows / threads, "a share is too short");
            assert!(share.len() <= rows / threads + 1, "a share is too long");
            owners += usize::from(share.contains(&row));
            end = share.end;
        }
        assert!(end == rows, "the shares do not end at the last row");
        assert!(owners == usize::from(row < rows), "a row does not belong to exactly one thread");
    }
    values.cover(rows % MAX_THREADS == 3 && row + 1 == rows);
}

drive! {
    every_row_belongs_to_exactly_one_thread unwind 6;
}
