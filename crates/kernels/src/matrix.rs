//! Weight matrices: a validated shape over a slice of weights or the bytes of a file.

use half::{bf16, f16};

#[cfg(target_arch = "x86_64")]
use super::avx2;
use super::format::Activation;
use super::gemm;
#[cfg(target_arch = "aarch64")]
use super::neon;
use super::thread_pool::ThreadPool;
use super::{KernelError, dispatch, scalar};
use crate::isa::{Isa, Level};

/// A storage type for weights: a number or a block of quantized weights.
pub trait Weight: sealed::Pod + Copy + Send + Sync + 'static {
    /// Number of weights in one value.
    const WEIGHTS: usize;
    /// Name in lower case, such as `q4_k`.
    const NAME: &'static str;
    /// Activation type that these weights are multiplied with.
    type X: Activation;

    /// Multiplies each row with `x` on the calling thread.
    fn matvec(isa: Isa, weights: &[Self], x: &[Self::X], out: &mut [f32]);

    /// Multiplies a matrix with several columns; see [`super::matmul`].
    fn matmul(
        pool: &ThreadPool,
        weights: Matrix<Self>,
        x: &[f32],
        columns: usize,
        out: &mut [f32],
    ) -> Result<(), KernelError>;
}

pub(super) mod sealed {
    /// Plain old data.
    ///
    /// # Safety
    ///
    /// The type has no padding, and every bit pattern is a valid value.
    pub unsafe trait Pod {}
}

macro_rules! weight {
    ($($type:ty, $name:expr, $rows:ident, $widen:expr;)*) => {$(
        // SAFETY: floats have no padding, and every bit pattern is valid.
        unsafe impl sealed::Pod for $type {}
        impl Weight for $type {
            const WEIGHTS: usize = 1;
            const NAME: &'static str = $name;
            type X = f32;

            fn matvec(isa: Isa, weights: &[$type], x: &[f32], out: &mut [f32]) {
                dispatch!(isa, $rows(weights, x, out));
            }

            fn matmul(
                pool: &ThreadPool,
                weights: Matrix<$type>,
                x: &[f32],
                columns: usize,
                out: &mut [f32],
            ) -> Result<(), KernelError> {
                gemm::matmul_floats(pool, weights, x, columns, out, |from, to| $widen(pool.isa(), from, to))
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
    /// Creates a matrix over `data`, whose length must match the shape exactly.
    pub fn new(data: &'a [T], rows: usize, columns: usize) -> Result<Self, KernelError> {
        let expected = Self::length(rows, columns)?;
        if data.len() != expected {
            return Err(KernelError::Length { what: "weights", expected, found: data.len() });
        }
        Ok(Matrix { data, rows, columns })
    }

    /// Creates a matrix over the bytes of a file, which must be aligned for `T`.
    pub fn from_bytes(bytes: &'a [u8], rows: usize, columns: usize) -> Result<Self, KernelError> {
        Matrix::new(cast(bytes)?, rows, columns)
    }

    /// Number of `T` values in a matrix of this shape.
    pub fn length(rows: usize, columns: usize) -> Result<usize, KernelError> {
        if rows == 0 || columns == 0 {
            return Err(KernelError::Empty { rows, columns });
        }
        if !columns.is_multiple_of(T::WEIGHTS) {
            return Err(KernelError::NotMultiple { what: "columns", multiple: T::WEIGHTS, found: columns });
        }
        let length = rows.checked_mul(columns / T::WEIGHTS);
        let bytes = length.and_then(|length| length.checked_mul(size_of::<T>()));
        length.filter(|_| bytes.is_some()).ok_or(KernelError::Overflow { rows, columns })
    }

    /// The values in row-major order.
    pub fn data(&self) -> &'a [T] {
        self.data
    }

    /// Number of rows, which is the length of the output.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns, which is the length of the input.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Size of the weights in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(self.data)
    }
}

/// Reinterprets bytes as values of `T`, checking length and alignment.
pub(super) fn cast<T: Weight>(bytes: &[u8]) -> Result<&[T], KernelError> {
    if !bytes.len().is_multiple_of(size_of::<T>()) {
        return Err(KernelError::NotMultiple { what: "bytes", multiple: size_of::<T>(), found: bytes.len() });
    }
    if !bytes.as_ptr().addr().is_multiple_of(align_of::<T>()) {
        return Err(KernelError::Misaligned { what: T::NAME, alignment: align_of::<T>() });
    }
    // SAFETY: `T: Pod` accepts any bytes; length and alignment were checked above.
    Ok(unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / size_of::<T>()) })
}
