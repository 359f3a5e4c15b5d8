//! Weights as the matrix-vector kernels take them: a checked shape over a slice, or over a file's bytes.

use half::{bf16, f16};

#[cfg(target_arch = "x86_64")]
use super::avx2;
use super::format::Activation;
#[cfg(target_arch = "aarch64")]
use super::neon;
use super::panel;
use super::team::Team;
use super::{KernelError, dispatch, scalar};
use crate::isa::{Isa, Level};

/// A type that weights are stored in.
pub trait Weight: sealed::Bytes + Copy + Send + Sync + 'static {
    /// How many weights one value holds.
    const WEIGHTS: usize;
    /// Its name.
    const NAME: &'static str;
    /// What activations are stored in while these weights multiply them.
    type X: Activation;

    /// One product for each row of a matrix, on the thread that calls.
    fn rows(isa: Isa, weights: &[Self], x: &[Self::X], out: &mut [f32]);

    /// A matrix times several columns: [`super::matmul`].
    fn columns(
        team: &Team,
        weights: Matrix<Self>,
        x: &[f32],
        columns: usize,
        out: &mut [f32],
    ) -> Result<(), KernelError>;
}

pub(super) mod sealed {
    /// Types without padding, for which every bit pattern is a value.
    ///
    /// # Safety
    /// The implementor is such a type.
    pub unsafe trait Bytes {}
}

macro_rules! weight {
    ($($type:ty, $name:expr, $rows:ident, $widen:expr;)*) => {$(
        // SAFETY: plain numbers.
        unsafe impl sealed::Bytes for $type {}
        impl Weight for $type {
            const WEIGHTS: usize = 1;
            const NAME: &'static str = $name;
            type X = f32;

            fn rows(isa: Isa, weights: &[$type], x: &[f32], out: &mut [f32]) {
                dispatch!(isa, $rows(weights, x, out));
            }

            fn columns(
                team: &Team,
                weights: Matrix<$type>,
                x: &[f32],
                columns: usize,
                out: &mut [f32],
            ) -> Result<(), KernelError> {
                panel::numbers(team, weights, x, columns, out, |from, to| $widen(team.isa(), from, to))
            }
        }
    )*};
}
weight! {
    f32, "f32", matvec_f32, |_, from: &[f32], to: &mut [f32]| to.copy_from_slice(from);
    f16, "f16", matvec_f16, super::widen_f16;
    bf16, "bf16", matvec_bf16, |_, from: &[bf16], to: &mut [f32]| scalar::widen_bf16(to, from);
}

/// A row-major matrix of weights.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a, T> {
    data: &'a [T],
    rows: usize,
    columns: usize,
}

impl<'a, T: Weight> Matrix<'a, T> {
    /// A matrix over `data`, which must have exactly the length that the shape says.
    pub fn new(data: &'a [T], rows: usize, columns: usize) -> Result<Self, KernelError> {
        let expected = Self::length(rows, columns)?;
        if data.len() != expected {
            return Err(KernelError::Length { what: "weights", expected, found: data.len() });
        }
        Ok(Matrix { data, rows, columns })
    }

    /// A matrix over the bytes of a file, which must be aligned for `T`.
    pub fn from_bytes(bytes: &'a [u8], rows: usize, columns: usize) -> Result<Self, KernelError> {
        Matrix::new(cast(bytes)?, rows, columns)
    }

    /// How many values of `T` this shape needs.
    pub fn length(rows: usize, columns: usize) -> Result<usize, KernelError> {
        if rows == 0 || columns == 0 {
            return Err(KernelError::Empty { rows, columns });
        }
        if !columns.is_multiple_of(T::WEIGHTS) {
            return Err(KernelError::Multiple { what: "columns", multiple: T::WEIGHTS, found: columns });
        }
        let length = rows.checked_mul(columns / T::WEIGHTS);
        let bytes = length.and_then(|length| length.checked_mul(size_of::<T>()));
        length.filter(|_| bytes.is_some()).ok_or(KernelError::Overflow { rows, columns })
    }

    /// The values, row after row.
    pub fn data(&self) -> &'a [T] {
        self.data
    }

    /// How many rows there are; one output each.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns there are; one activation each.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The bytes of the weights, which a matrix-vector product reads once.
    pub fn bytes(&self) -> usize {
        size_of_val(self.data)
    }
}

/// These bytes as values of `T`, if their length and address fit.
pub(super) fn cast<T: Weight>(bytes: &[u8]) -> Result<&[T], KernelError> {
    if !bytes.len().is_multiple_of(size_of::<T>()) {
        return Err(KernelError::Multiple { what: "bytes", multiple: size_of::<T>(), found: bytes.len() });
    }
    if !bytes.as_ptr().addr().is_multiple_of(align_of::<T>()) {
        return Err(KernelError::Misaligned { what: T::NAME, alignment: align_of::<T>() });
    }
    // SAFETY: `Bytes` promises that any bytes are values of `T`; length and alignment were checked above.
    Ok(unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / size_of::<T>()) })
}
