//! The bandwidth that the matrix-vector product of each format reaches with all threads, compared with reading the same bytes.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use roofline_kernels::isa::Isa;
use roofline_kernels::{Kind, Streams, Team, read};

/// Larger than the caches of most machines.
const BYTES: usize = 256 << 20;
const COLUMNS: usize = 4096;
const RUNS: usize = 5;
/// Several streams per thread keep more cache lines in flight than one.
const STREAMS: Streams = Streams { count: 4, prefetch: 0 };

/// The shortest of several runs, in seconds.
fn best(mut run: impl FnMut()) -> f64 {
    let timed = |_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    };
    (0..RUNS).map(timed).fold(f64::INFINITY, f64::min)
}

fn main() -> Result<(), Box<dyn Error>> {
    let team = Team::new(Isa::detect(), std::thread::available_parallelism()?.get())?;
    let memory = vec![0.0_f32; BYTES / 4];
    let read_seconds = best(|| {
        team.run(|index| {
            let share = Team::share(memory.len(), team.threads(), index);
            black_box(read(team.isa(), &memory[share], STREAMS));
        })
    });
    let roof = BYTES as f64 / read_seconds / 1e9;
    println!("{} with {} threads: read {roof:.1} GB/s", team.isa(), team.threads());

    let bytes = vec![0_u8; BYTES];
    let x = vec![1.0; COLUMNS];
    for &kind in Kind::ALL {
        let (weights, size) = kind.block();
        let row = COLUMNS / weights * size;
        let rows = BYTES / row;
        let matrix = kind.matrix(&bytes[..rows * row], rows, COLUMNS)?;
        let mut out = vec![0.0; rows];
        matrix.vector(&team, &x, &mut out)?;
        let seconds = best(|| matrix.vector(&team, &x, &mut out).expect("the shapes fit"));
        let rate = (rows * row) as f64 / seconds / 1e9;
        println!("{:8} {rate:6.1} GB/s  {:3.0} % of read", kind.name(), 100.0 * rate / roof);
    }
    Ok(())
}
