//! Matrices whose weight format is known only at run time.

use super::matrix::{Matrix, Weight};
use super::thread_pool::ThreadPool;
use super::{KernelError, check_length, matmul, matvec, quantize};

/// A matrix in any weight format; see [`WeightFormat::matrix`](super::WeightFormat::matrix).
pub trait DynMatrix: Send + Sync {
    /// Number of rows, which is the length of the output.
    fn rows(&self) -> usize;

    /// Number of columns, which is the length of the input.
    fn columns(&self) -> usize;

    /// Size of the weights in bytes.
    fn bytes(&self) -> usize;

    /// Multiplies with one vector, quantizing it first if the format requires that.
    fn matvec(&self, pool: &ThreadPool, x: &[f32], out: &mut [f32]) -> Result<(), KernelError>;

    /// Multiplies with `columns` vectors; see [`matmul`].
    fn matmul(
        &self,
        pool: &ThreadPool,
        x: &[f32],
        columns: usize,
        out: &mut [f32],
    ) -> Result<(), KernelError>;
}

impl<T: Weight> DynMatrix for Matrix<'_, T> {
    fn rows(&self) -> usize {
        Matrix::rows(self)
    }

    fn columns(&self) -> usize {
        Matrix::columns(self)
    }

    fn bytes(&self) -> usize {
        Matrix::bytes(self)
    }

    fn matvec(&self, pool: &ThreadPool, x: &[f32], out: &mut [f32]) -> Result<(), KernelError> {
        check_length("activations", self.columns(), x.len())?;
        matvec(pool, *self, &quantize::<T::X>(pool.isa(), x)?, out)
    }

    fn matmul(
        &self,
        pool: &ThreadPool,
        x: &[f32],
        columns: usize,
        out: &mut [f32],
    ) -> Result<(), KernelError> {
        matmul(pool, *self, x, columns, out)
    }
}
