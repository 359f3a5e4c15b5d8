//! Timing of repeated runs.

use std::fmt;
use std::time::{Duration, Instant};

/// The times of repeated runs, shortest first.
pub struct Times(Vec<Duration>);

impl Times {
    pub fn of(turns: usize, mut run: impl FnMut()) -> Times {
        let mut times: Vec<Duration> = (0..turns)
            .map(|_| {
                let start = Instant::now();
                run();
                start.elapsed()
            })
            .collect();
        times.sort();
        Times(times)
    }

    pub fn median(&self) -> Duration {
        self.0[self.0.len() / 2]
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>9.2?} ({:.2?} .. {:.2?})", self.median(), self.0[0], self.0[self.0.len() - 1])
    }
}
