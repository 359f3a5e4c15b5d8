//! Compares the bandwidth of matrix-vector products in each format with a plain read, using all threads.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use roofline_kernels::isa::Isa;
use roofline_kernels::{Streams, ThreadPool, WeightFormat, read};

/// Larger than the caches of most machines.
const BYTES: usize = 256 << 20;
const COLUMNS: usize = 4096;
const RUNS: usize = 5;
/// Several streams per thread keep more cache lines in flight than one.
const STREAMS: Streams = Streams { count: 4, prefetch: 0 };

/// Returns the time of the fastest run in seconds.
fn best(mut run: impl FnMut()) -> f64 {
    let timed = |_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    };
    (0..RUNS).map(timed).fold(f64::INFINITY, f64::min)
}

fn main() -> Result<(), Box<dyn Error>> {
    let pool = ThreadPool::new(Isa::detect(), std::thread::available_parallelism()?.get())?;
    let memory = vec![0.0_f32; BYTES / 4];
    let read_seconds = best(|| {
        pool.run(|index| {
            let share = ThreadPool::share(memory.len(), pool.threads(), index);
            black_box(read(pool.isa(), &memory[share], STREAMS));
        })
    });
    let roof = BYTES as f64 / read_seconds / 1e9;
    println!("{} with {} threads: read {roof:.1} GB/s", pool.isa(), pool.threads());

    let bytes = vec![0_u8; BYTES];
    let x = vec![1.0; COLUMNS];
    for &format in WeightFormat::ALL {
        let (weights, size) = format.block();
        let row = COLUMNS / weights * size;
        let rows = BYTES / row;
        let matrix = format.matrix(&bytes[..rows * row], rows, COLUMNS)?;
        let mut out = vec![0.0; rows];
        matrix.matvec(&pool, &x, &mut out)?;
        let seconds = best(|| {
            matrix.matvec(&pool, &x, &mut out).expect("the warm-up succeeded with the same arguments")
        });
        let rate = (rows * row) as f64 / seconds / 1e9;
        println!("{:8} {rate:6.1} GB/s  {:3.0} % of read", format.name(), 100.0 * rate / roof);
    }
    Ok(())
}
