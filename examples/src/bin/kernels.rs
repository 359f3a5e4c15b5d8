//! A matrix-vector product with a Q8_0 matrix, using the best instruction set of this CPU and one thread per CPU, compared
//! with the scalar kernel.

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

    let product = |pool: &ThreadPool| -> Result<Vec<f32>, kernels::KernelError> {
        let mut out = vec![0.0; ROWS];
        kernels::matvec_q8_0(pool, matrix, &x, &mut out)?;
        Ok(out)
    };
    let threads = std::thread::available_parallelism()?.get();
    let fast = product(&ThreadPool::new(Isa::detect(), threads)?)?;
    let scalar = product(&ThreadPool::single(Isa::SCALAR))?;
    let error = fast.iter().zip(&scalar).map(|(a, b)| (a / b - 1.0).abs()).fold(0.0, f32::max);
    println!("{} on {threads} thread(s): {} rows, {} KB", Isa::detect(), fast.len(), matrix.bytes() / 1000);
    println!("largest relative difference from the scalar kernel is below 1e-5: {}", error < 1e-5);
    Ok(())
}
