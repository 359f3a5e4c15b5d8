#![doc = include_str!("../README.md")]
//!
//! # Layout
//!
//! The functions at the crate root validate shapes, split the rows over the threads of a [`ThreadPool`] and dispatch to the kernel of
//! the same name in [`scalar`], `avx2`, `avx512` or `neon`.

mod affinity;
mod attention;
mod cycles;
mod dyn_matrix;
mod format;
mod gemm;
pub mod isa;
mod matrix;
mod multiply_add;
pub mod scalar;
pub mod stream;
mod thread_pool;
#[cfg(target_arch = "x86_64")]
mod vnni;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod fallback;
#[cfg(target_arch = "aarch64")]
mod neon;

#[cfg(target_arch = "x86_64")]
use crate::isa::Extension;
use crate::isa::{Isa, Level};

#[cfg(target_arch = "x86_64")]
use avx2::BlockKernel;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
use fallback::BlockKernel;
#[cfg(target_arch = "aarch64")]
use neon::BlockKernel;

pub use attention::{CacheElement, CacheFormat, KvCache, Mask, attend};
pub use cycles::dependent_additions;
pub use dyn_matrix::DynMatrix;
pub use format::*;
pub use matrix::{Matrix, Weight};
pub use multiply_add::{FmaType, MultiplyAdd, Operands, multiply_adds};
pub use stream::Streams;
pub use thread_pool::ThreadPool;

/// Invalid input to a kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KernelError {
    /// A slice whose length does not match the shape.
    #[error("{what}: expected {expected} elements, found {found}")]
    Length {
        /// Name of the argument.
        what: &'static str,
        /// Required number of elements.
        expected: usize,
        /// Actual number of elements.
        found: usize,
    },
    /// A length that is not a multiple of the block length.
    #[error("{what}: {found} is not a multiple of {multiple}")]
    NotMultiple {
        /// Name of the length.
        what: &'static str,
        /// Required divisor.
        multiple: usize,
        /// Actual length.
        found: usize,
    },
    /// A matrix with no rows or no columns.
    #[error("empty {rows} x {columns} matrix; both dimensions must be at least 1")]
    Empty {
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        columns: usize,
    },
    /// A shape whose size in bytes overflows the address space.
    #[error("a {rows} x {columns} matrix exceeds the address space")]
    Overflow {
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        columns: usize,
    },
    /// A bit width whose products cannot be summed in 16 bits.
    #[error("invalid width of {found} bits; expected 1 to 7")]
    BitWidth {
        /// The width passed.
        found: u32,
    },
    /// A weight that does not fit the declared bit width.
    #[error("weight {found} does not fit in {bits} bits")]
    OutOfRange {
        /// The declared bit width.
        bits: u32,
        /// The offending weight.
        found: u8,
    },
    /// Bytes that are not aligned for the weight type.
    #[error("misaligned {what} weights; the address must be a multiple of {alignment}")]
    Misaligned {
        /// Name of the weight type.
        what: &'static str,
        /// Required alignment in bytes.
        alignment: usize,
    },
}

/// Calls the kernel of this name in the module for `$isa`.
macro_rules! dispatch {
    ($isa:expr, $kernel:ident $(::<$type:ty>)? ($($argument:expr),* $(,)?)) => {
        dispatch!(
            $isa,
            $kernel $(::<$type>)? ($($argument),*),
            // SAFETY: `isa::detected` yields this level only if the CPU has every feature the module enables.
            unsafe { avx2::$kernel $(::<$type>)? ($($argument),*) }
        )
    };
    ($isa:expr, $kernel:ident $(::<$type:ty>)? ($($argument:expr),*), $avx2:expr) => {
        match $isa.level() {
            Level::Scalar => scalar::$kernel $(::<$type>)? ($($argument),*),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => $avx2,
            // SAFETY: as above.
            #[cfg(target_arch = "aarch64")]
            Level::Neon => unsafe { neon::$kernel::<false $(, $type)?>($($argument),*) },
            // SAFETY: as above, and the CPU has the dot product instructions.
            #[cfg(target_arch = "aarch64")]
            Level::NeonDotprod => unsafe { neon::$kernel::<true $(, $type)?>($($argument),*) },
        }
    };
}
use dispatch;

/// Like [`dispatch!`], but prefers the AVX-512 kernel if the CPU supports it.
macro_rules! dispatch_avx512 {
    ($isa:expr, $kernel:ident($($argument:expr),* $(,)?)) => {
        match $isa {
            // SAFETY: `isa::detected` found this extension, which includes the features the kernel enables.
            #[cfg(target_arch = "x86_64")]
            isa if isa.has(Extension::Avx512) => unsafe { avx512::$kernel($($argument),*) },
            isa => dispatch!(isa, $kernel($($argument),*)),
        }
    };
}

/// Like [`dispatch!`], but instantiates the AVX2 kernel with VNNI instructions if the CPU supports them.
macro_rules! dispatch_vnni {
    ($isa:expr, $kernel:ident::<$type:ty>($($argument:expr),* $(,)?)) => {
        dispatch!(
            $isa,
            $kernel::<$type>($($argument),*),
            match $isa {
                // SAFETY: `isa::detected` yields this level and each extension only if the CPU has its features.
                isa if isa.has(Extension::Avx512Vnni) => unsafe { avx2::$kernel::<vnni::Avx512Vnni, $type>($($argument),*) },
                // SAFETY: as above.
                isa if isa.has(Extension::AvxVnni) => unsafe { avx2::$kernel::<vnni::AvxVnni, $type>($($argument),*) },
                // SAFETY: as above.
                _ => unsafe { avx2::$kernel::<vnni::Maddubs, $type>($($argument),*) },
            }
        )
    };
}

fn check_length(what: &'static str, expected: usize, found: usize) -> Result<(), KernelError> {
    if expected == found { Ok(()) } else { Err(KernelError::Length { what, expected, found }) }
}

/// Returns the sum of all elements, reading every byte once.
pub fn read(isa: Isa, source: &[f32], streams: Streams) -> f32 {
    dispatch_avx512!(isa, read(source, streams))
}

/// Fills `target` with `value`, through the cache.
pub fn fill(isa: Isa, target: &mut [f32], value: f32, streams: Streams) {
    dispatch_avx512!(isa, fill(target, value, streams));
}

/// Like [`fill`], with non-temporal stores if the instruction set has them.
pub fn fill_streaming(isa: Isa, target: &mut [f32], value: f32, streams: Streams) {
    dispatch_avx512!(isa, fill_streaming(target, value, streams));
}

/// Copies `source` to `target`, through the cache.
pub fn copy(isa: Isa, target: &mut [f32], source: &[f32], streams: Streams) -> Result<(), KernelError> {
    check_length("source", target.len(), source.len())?;
    dispatch_avx512!(isa, copy(target, source, streams));
    Ok(())
}

/// Like [`copy`], with non-temporal stores if the instruction set has them.
pub fn copy_streaming(
    isa: Isa,
    target: &mut [f32],
    source: &[f32],
    streams: Streams,
) -> Result<(), KernelError> {
    check_length("source", target.len(), source.len())?;
    dispatch_avx512!(isa, copy_streaming(target, source, streams));
    Ok(())
}

/// Computes `target = a + factor * b`, rounding after the product and after the sum.
pub fn triad(
    isa: Isa,
    target: &mut [f32],
    a: &[f32],
    b: &[f32],
    factor: f32,
    streams: Streams,
) -> Result<(), KernelError> {
    check_length("a", target.len(), a.len())?;
    check_length("b", target.len(), b.len())?;
    dispatch_avx512!(isa, triad(target, a, b, factor, streams));
    Ok(())
}

/// Like [`triad`], with non-temporal stores if the instruction set has them.
pub fn triad_streaming(
    isa: Isa,
    target: &mut [f32],
    a: &[f32],
    b: &[f32],
    factor: f32,
    streams: Streams,
) -> Result<(), KernelError> {
    check_length("a", target.len(), a.len())?;
    check_length("b", target.len(), b.len())?;
    dispatch_avx512!(isa, triad_streaming(target, a, b, factor, streams));
    Ok(())
}

/// Number of product pairs `u8 * i8` that always fit in an `i16` sum if the unsigned factors have at most `bits` bits: 8 pairs for
/// 4 bits, 4 for 5, 2 for 6. Signed weights are handled by subtracting their offset times the sum of the activations.
pub const fn max_pairs_in_i16(bits: u32) -> usize {
    i16::MAX as usize / (2 * ((1 << bits) - 1) * 128)
}

/// Returns the exact dot product of weights below `2^bits`, for 1 to 7 bits, with signed bytes. Wraps around on `i32` overflow.
pub fn narrow_dot(isa: Isa, bits: u32, weights: &[u8], x: &[i8]) -> Result<i32, KernelError> {
    check_length("activations", weights.len(), x.len())?;
    if !(1..=7).contains(&bits) {
        return Err(KernelError::BitWidth { found: bits });
    }
    if let Some(&found) = weights.iter().find(|weight| **weight >> bits != 0) {
        return Err(KernelError::OutOfRange { bits, found });
    }
    Ok(dispatch!(isa, narrow_dot(weights, x, max_pairs_in_i16(bits))))
}

/// Quantizes `values` into `blocks` like ggml's reference quantizer; Q8_0 blocks are identical byte for byte.
pub fn quantize_into<X: Activation>(isa: Isa, blocks: &mut [X], values: &[f32]) -> Result<(), KernelError> {
    check_length("values", blocks.len().saturating_mul(X::ACTIVATIONS), values.len())?;
    X::quantize(isa, blocks, values);
    Ok(())
}

/// Like [`quantize_into`], but allocates the blocks.
pub fn quantize<X: Activation>(isa: Isa, values: &[f32]) -> Result<Vec<X>, KernelError> {
    if !values.len().is_multiple_of(X::ACTIVATIONS) {
        return Err(KernelError::NotMultiple {
            what: "values",
            multiple: X::ACTIVATIONS,
            found: values.len(),
        });
    }
    let mut blocks = vec![X::ZERO; values.len() / X::ACTIVATIONS];
    X::quantize(isa, &mut blocks, values);
    Ok(blocks)
}

fn quantize_blocks_q8_0(isa: Isa, blocks: &mut [BlockQ8_0], values: &[f32]) {
    dispatch!(isa, quantize_q8_0(blocks, values));
}

fn quantize_blocks_q8_k(isa: Isa, blocks: &mut [BlockQ8K], values: &[f32]) {
    dispatch!(isa, quantize_q8_k(blocks, values));
}

/// Dequantizes the weights of each block, bit for bit like the `gguf` Python package.
pub fn dequantize<T: Unpack>(values: &mut [f32], blocks: &[T]) -> Result<(), KernelError> {
    check_length("values", blocks.len().saturating_mul(T::WEIGHTS), values.len())?;
    scalar::dequantize(values, blocks);
    Ok(())
}

/// Like [`dequantize`], with vector instructions.
pub fn dequantize_q8_0(isa: Isa, values: &mut [f32], blocks: &[BlockQ8_0]) -> Result<(), KernelError> {
    check_length("values", blocks.len().saturating_mul(BlockQ8_0::WEIGHTS), values.len())?;
    dispatch!(isa, dequantize_q8_0(values, blocks));
    Ok(())
}

/// Computes two exact integer dot products per block, before scales: of the weights and of the minima, each with the activations.
pub fn block_products<T: BlockFormat>(
    isa: Isa,
    sums: &mut [[i32; 2]],
    blocks: &[T],
    x: &[T::X],
) -> Result<(), KernelError> {
    check_length("blocks", sums.len(), blocks.len())?;
    check_length("activations", sums.len(), x.len())?;
    dispatch_vnni!(isa, block_products::<T>(sums, blocks, x));
    Ok(())
}

/// Multiplies rows of blocks with quantized activations on the calling thread.
fn matvec_blocks<T: BlockFormat>(isa: Isa, weights: &[T], x: &[T::X], out: &mut [f32]) {
    dispatch_vnni!(isa, matvec_blocks::<T>(weights, x, out));
}

/// NVFP4 counterpart of [`matvec_blocks`].
fn matvec_nvfp4(isa: Isa, weights: &[BlockNvfp4], x: &[BlockQ8_0], out: &mut [f32]) {
    dispatch!(isa, matvec_nvfp4(weights, x, out));
}

/// Returns the dot product of a Q8_0 row with f32 activations.
pub fn dot_q8_0(isa: Isa, row: &[BlockQ8_0], x: &[f32]) -> Result<f32, KernelError> {
    check_length("activations", row.len().saturating_mul(BlockQ8_0::WEIGHTS), x.len())?;
    Ok(dispatch!(isa, dot_q8_0(row, x)))
}

/// Multiplies a Q8_0 matrix with f32 activations, in f32 throughout.
pub fn matvec_q8_0(
    pool: &ThreadPool,
    weights: Matrix<BlockQ8_0>,
    x: &[f32],
    out: &mut [f32],
) -> Result<(), KernelError> {
    check_length("activations", weights.columns(), x.len())?;
    split_rows(pool, weights, out, |weights, out| dispatch!(pool.isa(), matvec_q8_0(weights, x, out)))
}

/// Multiplies a matrix with activations in the type its weights require; see [`quantize`].
pub fn matvec<T: Weight>(
    pool: &ThreadPool,
    weights: Matrix<T>,
    x: &[T::X],
    out: &mut [f32],
) -> Result<(), KernelError> {
    check_length("activations", weights.columns() / T::X::ACTIVATIONS, x.len())?;
    split_rows(pool, weights, out, |weights, out| T::matvec(pool.isa(), weights, x, out))
}

/// Multiplies a matrix with `columns` activation vectors.
///
/// `x` holds the vectors one after the other, each as long as a matrix row. `out` is row-major: one row of `columns` results per
/// matrix row. Quantized weights are multiplied with quantized activations, as in [`matvec`].
pub fn matmul<T: Weight>(
    pool: &ThreadPool,
    weights: Matrix<T>,
    x: &[f32],
    columns: usize,
    out: &mut [f32],
) -> Result<(), KernelError> {
    T::matmul(pool, weights, x, columns, out)
}

/// Converts f16 to f32.
fn widen_f16(isa: Isa, from: &[half::f16], to: &mut [f32]) {
    dispatch!(isa, widen_f16(to, from));
}

/// Maximum bits per weight in a byte panel: `vpdpbusd` and `sdot` accept any byte, `vpmaddubsw` is exact only below 128.
fn max_byte_panel_bits(isa: Isa) -> u32 {
    match isa.level() {
        Level::Scalar => 8,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => {
            if isa.has(Extension::Avx512Vnni) || isa.has(Extension::AvxVnni) {
                8
            } else {
                7
            }
        }
        #[cfg(target_arch = "aarch64")]
        Level::Neon => 0,
        #[cfg(target_arch = "aarch64")]
        Level::NeonDotprod => 8,
    }
}

/// Unpacks one row of a byte panel.
fn unpack_bytes<T: Unpack>(isa: Isa, panel: &mut gemm::BytePanel, row: usize, blocks: &[T]) {
    dispatch!(isa, unpack_bytes::<T>(panel, row, blocks));
}

/// Unpacks one row of a panel of 16-bit weights.
fn unpack_words<T: Unpack>(isa: Isa, panel: &mut gemm::WordPanel, row: usize, blocks: &[T]) {
    dispatch!(isa, unpack_words::<T>(panel, row, blocks));
}

/// Transposes unpacked rows into the columns of a panel, starting at `row`.
fn transpose<E: Copy, const W: usize>(
    isa: Isa,
    rows: &[[E; W]],
    panel: &mut [gemm::Interleaved<E, W>],
    row: usize,
) {
    match isa.level() {
        // SAFETY: `isa::detected` yields this level only if the CPU has every feature the module enables.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2::transpose(rows, panel, row) },
        _ => scalar::transpose(rows, panel, row),
    }
}

/// Multiplies a byte panel with one chunk of every activation column and adds to `sums`.
fn multiply_bytes<T: Unpack>(
    isa: Isa,
    panel: &gemm::BytePanel,
    x: &gemm::PackedActivations<i8>,
    chunk: usize,
    sums: &mut [gemm::Sums],
) {
    match isa {
        // SAFETY: `isa::detected` found this extension, which includes every feature the kernel enables.
        #[cfg(target_arch = "x86_64")]
        isa if isa.has(Extension::Avx512Vnni) => unsafe {
            avx512::multiply_bytes::<T>(panel, x, chunk, sums)
        },
        isa => dispatch_vnni!(isa, multiply_bytes::<T>(panel, x, chunk, sums)),
    }
}

/// Multiplies a panel of 16-bit weights with one chunk of every activation column and adds to `sums`.
fn multiply_words<T: Unpack>(
    isa: Isa,
    panel: &gemm::WordPanel,
    x: &gemm::PackedActivations<i16>,
    chunk: usize,
    sums: &mut [gemm::Sums],
) {
    dispatch!(isa, multiply_words::<T>(panel, x, chunk, sums));
}

/// Multiplies an f32 panel with one chunk of every activation column and adds to `sums`.
fn multiply_floats(isa: Isa, panel: &[gemm::FloatColumn], x: &[gemm::FloatChunk], sums: &mut [gemm::Sums]) {
    dispatch_avx512!(isa, multiply_floats(panel, x, sums));
}

/// Minimum bytes of weights per work item, large enough to amortize scheduling.
const MIN_ITEM_BYTES: usize = 4 << 20;

/// Splits the rows into work items, the same number per thread. A thread starts with the same rows on every call, which keeps them in
/// its caches and on its NUMA node.
fn split_rows<T: Weight>(
    pool: &ThreadPool,
    weights: Matrix<T>,
    out: &mut [f32],
    kernel: impl Fn(&[T], &mut [f32]) + Sync,
) -> Result<(), KernelError> {
    check_length("output", weights.rows(), out.len())?;
    let threads = pool.threads();
    if threads == 1 {
        kernel(weights.data(), out);
        return Ok(());
    }
    let parts = threads * (weights.bytes() / threads / MIN_ITEM_BYTES).max(1);
    let length = weights.columns() / T::WEIGHTS;
    let (mut data, mut out) = (weights.data(), out);
    let mut items = Vec::with_capacity(parts);
    for index in 0..parts {
        let rows = ThreadPool::share(weights.rows(), parts, index);
        let (part, rest) = data.split_at(rows.len() * length);
        let (part_out, rest_out) = out.split_at_mut(rows.len());
        items.push((part, part_out));
        (data, out) = (rest, rest_out);
    }
    items.retain(|(_, out)| !out.is_empty());
    pool.for_each(items, |(weights, out)| kernel(weights, out));
    Ok(())
}
