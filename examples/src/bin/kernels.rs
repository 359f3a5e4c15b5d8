//! The product of a Q8_0 matrix and a vector, with the best instructions of this processor and a thread for each of its
//! cores, compared with the plain Rust kernel.

use std::error::Error;

use roofline::isa::Isa;
use roofline::kernels::{self, BlockQ8_0, Matrix, ThreadPool};

const ROWS: usize = 256;
const COLUMNS: usize = 1024;

fn main() -> Result<(), Box<dyn Error>> {
    let weights: Vec<f32> = (0..ROWS * COLUMNS).map(|at| (at % 127) as f32).collect();
    let x: Vec<f32> = (0..COLUMNS).map(|at| (at % 3) as f32).collect();
    let blocks = kernels::quantize::<BlockQ8_0>(Isa::detect(), &weights)?;
    let matrix = Matrix::new(&blocks, ROWS, COLUMNS)?;

    let product = |team: &ThreadPool| -> Result<Vec<f32>, kernels::KernelError> {
        let mut out = vec![0.0; ROWS];
        kernels::matvec_q8_0(team, matrix, &x, &mut out)?;
        Ok(out)
    };
    let threads = std::thread::available_parallelism()?.get();
    let fast = product(&ThreadPool::new(Isa::detect(), threads)?)?;
    let plain = product(&ThreadPool::single(Isa::SCALAR))?;
    let apart = fast.iter().zip(&plain).map(|(a, b)| (a / b - 1.0).abs()).fold(0.0, f32::max);
    println!("{} on {threads} thread(s): {} rows, {} KB", Isa::detect(), fast.len(), matrix.bytes() / 1000);
    println!("largest relative difference from plain Rust is below 1e-5: {}", apart < 1e-5);
    Ok(())
}
