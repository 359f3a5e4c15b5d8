//! False alarm and detection rates of a performance gate on a shared machine, with and without the interleaved reference load of
//! `roofline bench`. Needs only the compiler:
//!
//!     rustc -O -C target-cpu=native bench/gate.rs -o /tmp/gate && /tmp/gate [GATES] [MIN_ROUNDS]
//!
//! Like `crates/machine/src/bench.rs`, every round times a matrix-vector product and a read of the same size. Like `roofline gate`, two
//! measurements are compared by the median of the ratios and its interval. The simulated regression is real work: the matrix has 1/0.9
//! times as many rows.

use std::hint::black_box;
use std::time::Instant;

const COLUMNS: usize = 2048;
const ROWS: usize = 450;
const SLOWER_ROWS: usize = 500;
const THRESHOLD: f64 = 0.05;

struct Measurement {
    best: f64,
    median: f64,
    ratio: f64,
    noise: f64,
}

fn read(source: &[f32]) -> f32 {
    let mut sums = [0f32; 64];
    for part in source.chunks_exact(64) {
        for (sum, value) in sums.iter_mut().zip(part) {
            *sum += value;
        }
    }
    sums.iter().sum()
}

fn product(matrix: &[f32], x: &[f32], out: &mut [f32]) {
    for (row, out) in matrix.chunks_exact(COLUMNS).zip(out) {
        let mut sums = [0f32; 64];
        for (part, x) in row.chunks_exact(64).zip(x.chunks_exact(64)) {
            for ((sum, a), b) in sums.iter_mut().zip(part).zip(x) {
                *sum += a * b;
            }
        }
        *out = sums.iter().sum();
    }
}

/// Median of the ratios of a round, and its relative error at 99.9 % confidence.
fn median_ratio(rounds: &[(f64, f64)]) -> (f64, f64) {
    let mut ratios: Vec<f64> = rounds.iter().map(|round| round.0 / round.1).collect();
    ratios.sort_by(f64::total_cmp);
    let middle = ratios.len() / 2;
    let away = (3.29 * (ratios.len() as f64).sqrt() / 2.0).ceil() as usize;
    let (low, high) = (ratios[middle.saturating_sub(away)], ratios[(middle + away).min(ratios.len() - 1)]);
    (ratios[middle], (high - ratios[middle]).max(ratios[middle] - low) / ratios[middle])
}

fn measure(memory: &[f32], rows: usize, min_rounds: usize) -> Measurement {
    let (length, reference) = (rows * COLUMNS, ROWS * COLUMNS);
    let x: Vec<f32> = (0..COLUMNS).map(|at| (at % 17) as f32 / 16.0 - 0.5).collect();
    let mut out = vec![0f32; rows];
    let mut rounds: Vec<(f64, f64)> = Vec::new();
    let mut at = 0;
    let mut next = |length: usize| {
        if at + length > memory.len() {
            at = 0;
        }
        at += length;
        &memory[at - length..at]
    };
    while rounds.len() < min_rounds || (rounds.len() < 2000 && (rounds.len() % 50 != 0 || median_ratio(&rounds).1 > 0.03)) {
        let source = next(length);
        let start = Instant::now();
        product(black_box(source), black_box(&x), &mut out);
        black_box(&out);
        let time = start.elapsed().as_secs_f64();
        let source = next(reference);
        let start = Instant::now();
        black_box(read(black_box(source)));
        rounds.push((time, start.elapsed().as_secs_f64()));
    }
    let mut times: Vec<f64> = rounds.iter().map(|round| round.0).collect();
    times.sort_by(f64::total_cmp);
    let (ratio, noise) = median_ratio(&rounds);
    Measurement { best: times[0], median: times[times.len() / 2], ratio, noise }
}

/// Results of three gates: relative to the reference, by the best time, and by the median time. True means failed.
fn fails(before: &Measurement, after: &Measurement) -> [bool; 3] {
    let loss = |before: f64, after: f64| 1.0 - before / after;
    let noise = before.noise.hypot(after.noise);
    let relative = loss(before.ratio, after.ratio);
    let significant = relative > THRESHOLD && relative > noise;
    [significant || noise > THRESHOLD, loss(before.best, after.best) > THRESHOLD, loss(before.median, after.median) > THRESHOLD]
}

fn main() {
    let argument = |at| std::env::args().nth(at).and_then(|text| text.parse().ok()).unwrap_or(100);
    let (gates, min_rounds): (usize, usize) = (argument(1), argument(2));
    let memory: Vec<f32> = vec![1.0; (128 << 20) / 4];
    let (mut alarms, mut detected) = ([0; 3], [0; 3]);
    let mut inconclusive = 0;
    for _ in 0..gates {
        let [before, same, slower] = [ROWS, ROWS, SLOWER_ROWS].map(|rows| measure(&memory, rows, min_rounds));
        inconclusive += usize::from(before.noise.hypot(same.noise) > THRESHOLD);
        for (count, failed) in alarms.iter_mut().zip(fails(&before, &same)) {
            *count += usize::from(failed);
        }
        for (count, failed) in detected.iter_mut().zip(fails(&before, &slower)) {
            *count += usize::from(failed);
        }
    }
    println!("{gates} gates, threshold 5 %");
    for (at, name) in ["relative to reference", "best time", "median time"].iter().enumerate() {
        println!("{name}: {} false alarms, {} of {gates} regressions of 10 % detected", alarms[at], detected[at]);
    }
    println!("relative to reference: {inconclusive} of the false alarms are inconclusive");
}
