//! How often a gate on a shared machine cries wolf, and how often it misses a loss of a tenth: with the references that
//! `roofline bench` runs in turn with each product, and without. Needs nothing but the compiler:
//!
//!     rustc -O -C target-cpu=native bench/gate.rs -o /tmp/gate && /tmp/gate 100
//!
//! A second number says how many rounds each figure gets at least.
//!
//! A product of a matrix and a vector is timed in turn with reading as many bytes, round by round, as `crates/machine/src/bench.rs`
//! does, and compared as `gate` does: by the median of the ratios, which `paired.rs` says how far may be off. The loss is real:
//! a tenth more rows, or rather 1/0.9 of them.

use std::hint::black_box;
use std::time::Instant;

const COLUMNS: usize = 2048;
const ROWS: usize = 450;
const LOST_ROWS: usize = 500;
const THRESHOLD: f64 = 0.05;

struct Figure {
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

fn paired(rounds: &[(f64, f64)]) -> (f64, f64) {
    let mut ratios: Vec<f64> = rounds.iter().map(|round| round.0 / round.1).collect();
    ratios.sort_by(f64::total_cmp);
    let middle = ratios.len() / 2;
    let away = (3.29 * (ratios.len() as f64).sqrt() / 2.0).ceil() as usize;
    let (low, high) = (ratios[middle.saturating_sub(away)], ratios[(middle + away).min(ratios.len() - 1)]);
    (ratios[middle], (high - ratios[middle]).max(ratios[middle] - low) / ratios[middle])
}

fn measure(memory: &[f32], rows: usize, least: usize) -> Figure {
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
    while rounds.len() < least || (rounds.len() < 2000 && (rounds.len() % 50 != 0 || paired(&rounds).1 > 0.03)) {
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
    let (ratio, noise) = paired(&rounds);
    Figure { best: times[0], median: times[times.len() / 2], ratio, noise }
}

/// Whether the gate fails beside references, by the best time as it is, and by the median time as it is.
fn fails(before: &Figure, after: &Figure) -> [bool; 3] {
    let loss = |before: f64, after: f64| 1.0 - before / after;
    let noise = before.noise.hypot(after.noise);
    let lost = loss(before.ratio, after.ratio);
    let shown = lost > THRESHOLD && lost > noise;
    [shown || noise > THRESHOLD, loss(before.best, after.best) > THRESHOLD, loss(before.median, after.median) > THRESHOLD]
}

fn main() {
    let number = |at| std::env::args().nth(at).and_then(|text| text.parse().ok()).unwrap_or(100);
    let (gates, least): (usize, usize) = (number(1), number(2));
    let memory: Vec<f32> = vec![1.0; (128 << 20) / 4];
    let (mut alarms, mut found) = ([0; 3], [0; 3]);
    let mut unclear = 0;
    for _ in 0..gates {
        let [before, same, slower] = [ROWS, ROWS, LOST_ROWS].map(|rows| measure(&memory, rows, least));
        unclear += usize::from(before.noise.hypot(same.noise) > THRESHOLD);
        for (count, failed) in alarms.iter_mut().zip(fails(&before, &same)) {
            *count += usize::from(failed);
        }
        for (count, failed) in found.iter_mut().zip(fails(&before, &slower)) {
            *count += usize::from(failed);
        }
    }
    println!("{gates} gates, threshold 5 %");
    for (at, name) in ["beside references", "best time", "median time"].iter().enumerate() {
        println!("{name}: {} false alarms, {} of {gates} losses of 10 % found", alarms[at], found[at]);
    }
    println!("beside references, of the false alarms {unclear} say that nothing can be told");
}
