//! A matrix whose format is known only when the program runs.

use super::matrix::{Matrix, Weight};
use super::team::Team;
use super::{KernelError, matmul, matvec, quantized, same_length};

/// A matrix in any format.
pub trait Stored: Send + Sync {
    /// How many rows there are; one output each.
    fn rows(&self) -> usize;

    /// How many columns there are; one activation each.
    fn columns(&self) -> usize;

    /// The bytes of the weights.
    fn bytes(&self) -> usize;

    /// Its product with one vector, which is quantized first if the format wants that.
    fn vector(&self, team: &Team, x: &[f32], out: &mut [f32]) -> Result<(), KernelError>;

    /// Its product with several vectors: [`matmul`].
    fn vectors(&self, team: &Team, x: &[f32], count: usize, out: &mut [f32]) -> Result<(), KernelError>;
}

impl<T: Weight> Stored for Matrix<'_, T> {
    fn rows(&self) -> usize {
        Matrix::rows(self)
    }

    fn columns(&self) -> usize {
        Matrix::columns(self)
    }

    fn bytes(&self) -> usize {
        Matrix::bytes(self)
    }

    fn vector(&self, team: &Team, x: &[f32], out: &mut [f32]) -> Result<(), KernelError> {
        same_length("activations", self.columns(), x.len())?;
        matvec(team, *self, &quantized::<T::X>(team.isa(), x)?, out)
    }

    fn vectors(&self, team: &Team, x: &[f32], count: usize, out: &mut [f32]) -> Result<(), KernelError> {
        matmul(team, *self, x, count, out)
    }
}
