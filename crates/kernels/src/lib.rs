#![doc = include_str!("../README.md")]
//!
//! # Layout
//!
//! The functions here check shapes and lengths, share the rows out to the threads of a [`Team`], and call
//! the kernel of the same name in [`scalar`], `avx2` or `neon`.

mod attention;
mod cycles;
#[cfg(target_arch = "x86_64")]
mod dot;
mod format;
pub mod isa;
mod matrix;
mod multiply_add;
mod panel;
pub mod scalar;
mod seat;
mod stored;
pub mod stream;
mod team;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod plain;

#[cfg(target_arch = "x86_64")]
use crate::isa::Set;
use crate::isa::{Isa, Level};

#[cfg(target_arch = "x86_64")]
use avx2::Vector;
#[cfg(target_arch = "aarch64")]
use neon::Vector;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
use plain::Vector;

pub use attention::{Cache, Cached, Kept, Sees, attend};
pub use cycles::additions_in_line;
pub use format::*;
pub use matrix::{Matrix, Weight};
pub use multiply_add::{Multiplied, MultiplyAdd, Operands, multiply_adds};
pub use stored::Stored;
pub use stream::Streams;
pub use team::Team;

/// Input that a kernel cannot work on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KernelError {
    /// A slice is not as long as another argument says.
    #[error("{what}: {found} elements where the shape needs {expected}")]
    Length {
        /// Which argument.
        what: &'static str,
        /// How long it must be.
        expected: usize,
        /// How long it is.
        found: usize,
    },
    /// A length is not a multiple of the block.
    #[error("{what}: {found} is not a multiple of {multiple}")]
    Multiple {
        /// Which length.
        what: &'static str,
        /// What it must be a multiple of.
        multiple: usize,
        /// What it is.
        found: usize,
    },
    /// A matrix without rows or columns.
    #[error("a {rows} x {columns} matrix is empty; both must be at least 1")]
    Empty {
        /// Its rows.
        rows: usize,
        /// Its columns.
        columns: usize,
    },
    /// A shape with more bytes than there are addresses.
    #[error("a {rows} x {columns} matrix is larger than memory can be")]
    Overflow {
        /// Its rows.
        rows: usize,
        /// Its columns.
        columns: usize,
    },
    /// Numbers of so many bits don't add up in 16.
    #[error("numbers of {found} bits; 1 to 7 add up in 16 bits")]
    Bits {
        /// How many bits.
        found: u32,
    },
    /// A number of more bits than it should have.
    #[error("the weight {found} has more than {bits} bits")]
    Wide {
        /// How many bits it may have.
        bits: u32,
        /// The weight.
        found: u8,
    },
    /// Bytes at an address that does not suit the type.
    #[error("the bytes of {what} weights must start at a multiple of {alignment}; copy them first")]
    Misaligned {
        /// The type.
        what: &'static str,
        /// What the address must be a multiple of.
        alignment: usize,
    },
}

/// Calls the kernel of this name, for a type where one is given, in the module of the instruction set.
macro_rules! dispatch {
    ($isa:expr, $kernel:ident $(::<$type:ty>)? ($($argument:expr),* $(,)?)) => {
        dispatch!(
            $isa,
            $kernel $(::<$type>)? ($($argument),*),
            // SAFETY: this level exists only where `isa::detected` found every feature the module enables.
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
            // SAFETY: as above, and the dot product instructions were found too.
            #[cfg(target_arch = "aarch64")]
            Level::NeonDotprod => unsafe { neon::$kernel::<true $(, $type)?>($($argument),*) },
        }
    };
}
use dispatch;

/// Calls a kernel that moves memory: in whole cache lines where there are vectors of that width.
macro_rules! moving {
    ($isa:expr, $kernel:ident($($argument:expr),* $(,)?)) => {
        match $isa {
            // SAFETY: the set is one of those that `isa::detected` found, with the feature the module enables.
            #[cfg(target_arch = "x86_64")]
            isa if isa.has(Set::Avx512) => unsafe { avx512::$kernel($($argument),*) },
            isa => dispatch!(isa, $kernel($($argument),*)),
        }
    };
}

/// Calls a kernel that multiplies whole numbers: in one step a vector where there are instructions for it.
macro_rules! multiplying {
    ($isa:expr, $kernel:ident::<$type:ty>($($argument:expr),* $(,)?)) => {
        dispatch!(
            $isa,
            $kernel::<$type>($($argument),*),
            match $isa {
                // SAFETY: this level, and each of the sets, is there only where `isa::detected` found its features.
                isa if isa.has(Set::Avx512Vnni) => unsafe { avx2::$kernel::<dot::Evex, $type>($($argument),*) },
                // SAFETY: as above.
                isa if isa.has(Set::AvxVnni) => unsafe { avx2::$kernel::<dot::Vex, $type>($($argument),*) },
                // SAFETY: as above.
                _ => unsafe { avx2::$kernel::<dot::Steps, $type>($($argument),*) },
            }
        )
    };
}

fn same_length(what: &'static str, expected: usize, found: usize) -> Result<(), KernelError> {
    if expected == found { Ok(()) } else { Err(KernelError::Length { what, expected, found }) }
}

/// The sum of all elements: every byte is read once.
pub fn read(isa: Isa, source: &[f32], streams: Streams) -> f32 {
    moving!(isa, read(source, streams))
}

/// Fills `target` with one value, through the cache.
pub fn fill(isa: Isa, target: &mut [f32], value: f32, streams: Streams) {
    moving!(isa, fill(target, value, streams));
}

/// Fills `target` with one value, with stores that pass the cache by, where there are such.
pub fn fill_streaming(isa: Isa, target: &mut [f32], value: f32, streams: Streams) {
    moving!(isa, fill_streaming(target, value, streams));
}

/// Copies `source` to `target` through the cache.
pub fn copy(isa: Isa, target: &mut [f32], source: &[f32], streams: Streams) -> Result<(), KernelError> {
    same_length("source", target.len(), source.len())?;
    moving!(isa, copy(target, source, streams));
    Ok(())
}

/// Copies `source` to `target` with stores that pass the cache by, where there are such.
pub fn copy_streaming(
    isa: Isa,
    target: &mut [f32],
    source: &[f32],
    streams: Streams,
) -> Result<(), KernelError> {
    same_length("source", target.len(), source.len())?;
    moving!(isa, copy_streaming(target, source, streams));
    Ok(())
}

/// `target = a + factor * b`, rounded after the product and after the sum.
pub fn triad(
    isa: Isa,
    target: &mut [f32],
    a: &[f32],
    b: &[f32],
    factor: f32,
    streams: Streams,
) -> Result<(), KernelError> {
    same_length("a", target.len(), a.len())?;
    same_length("b", target.len(), b.len())?;
    moving!(isa, triad(target, a, b, factor, streams));
    Ok(())
}

/// [`triad`] with stores that pass the cache by, where there are such.
pub fn triad_streaming(
    isa: Isa,
    target: &mut [f32],
    a: &[f32],
    b: &[f32],
    factor: f32,
    streams: Streams,
) -> Result<(), KernelError> {
    same_length("a", target.len(), a.len())?;
    same_length("b", target.len(), b.len())?;
    moving!(isa, triad_streaming(target, a, b, factor, streams));
    Ok(())
}

/// Pairs of products of a byte and a number without sign, of so many bits, that add up in 16 bits whatever their values: 8 for
/// 4 bits, 4 for 5, 2 for 6. Numbers with a sign get one by subtracting the sum of the bytes.
pub const fn pairs_in_16_bits(bits: u32) -> usize {
    i16::MAX as usize / (2 * ((1 << bits) - 1) * 128)
}

/// The exact product of numbers below `2^bits`, of 1 to 7 bits, with bytes; a sum beyond 32 bits wraps around.
pub fn narrow_dot(isa: Isa, bits: u32, weights: &[u8], x: &[i8]) -> Result<i32, KernelError> {
    same_length("activations", weights.len(), x.len())?;
    if !(1..=7).contains(&bits) {
        return Err(KernelError::Bits { found: bits });
    }
    if let Some(&found) = weights.iter().find(|weight| **weight >> bits != 0) {
        return Err(KernelError::Wide { bits, found });
    }
    Ok(dispatch!(isa, narrow_dot(weights, x, pairs_in_16_bits(bits))))
}

/// Quantizes values for each block, as ggml's reference does: byte for byte for Q8_0.
pub fn quantize<X: Activation>(isa: Isa, blocks: &mut [X], values: &[f32]) -> Result<(), KernelError> {
    same_length("values", blocks.len().saturating_mul(X::COUNT), values.len())?;
    X::quantize(isa, blocks, values);
    Ok(())
}

/// [`quantize`] into blocks of its own.
pub fn quantized<X: Activation>(isa: Isa, values: &[f32]) -> Result<Vec<X>, KernelError> {
    if !values.len().is_multiple_of(X::COUNT) {
        return Err(KernelError::Multiple { what: "values", multiple: X::COUNT, found: values.len() });
    }
    let mut blocks = vec![X::ZERO; values.len() / X::COUNT];
    X::quantize(isa, &mut blocks, values);
    Ok(blocks)
}

fn quantize_blocks_q8_0(isa: Isa, blocks: &mut [BlockQ8_0], values: &[f32]) {
    dispatch!(isa, quantize_q8_0(blocks, values));
}

fn quantize_blocks_q8_k(isa: Isa, blocks: &mut [BlockQ8K], values: &[f32]) {
    dispatch!(isa, quantize_q8_k(blocks, values));
}

/// The weights of each block, exactly as PyPI's `gguf` restores them.
pub fn dequantize<T: Unpack>(values: &mut [f32], blocks: &[T]) -> Result<(), KernelError> {
    same_length("values", blocks.len().saturating_mul(T::WEIGHTS), values.len())?;
    scalar::dequantize(values, blocks);
    Ok(())
}

/// The 32 values of each block.
pub fn dequantize_q8_0(isa: Isa, values: &mut [f32], blocks: &[BlockQ8_0]) -> Result<(), KernelError> {
    same_length("values", blocks.len().saturating_mul(BlockQ8_0::WEIGHTS), values.len())?;
    dispatch!(isa, dequantize_q8_0(values, blocks));
    Ok(())
}

/// The exact integer product of each block's quants with activations, and that of its minima; without the scales.
pub fn block_products<T: Format>(
    isa: Isa,
    sums: &mut [[i32; 2]],
    blocks: &[T],
    x: &[T::X],
) -> Result<(), KernelError> {
    same_length("blocks", sums.len(), blocks.len())?;
    same_length("activations", sums.len(), x.len())?;
    multiplying!(isa, block_products::<T>(sums, blocks, x));
    Ok(())
}

/// Products of rows of blocks with quantized activations, on the thread that calls.
fn block_rows<T: Format>(isa: Isa, weights: &[T], x: &[T::X], out: &mut [f32]) {
    multiplying!(isa, block_rows::<T>(weights, x, out));
}

/// The same for NVFP4.
fn nvfp4_rows(isa: Isa, weights: &[BlockNvfp4], x: &[BlockQ8_0], out: &mut [f32]) {
    dispatch!(isa, nvfp4_rows(weights, x, out));
}

/// The product of a Q8_0 row with f32 activations.
pub fn dot_q8_0(isa: Isa, row: &[BlockQ8_0], x: &[f32]) -> Result<f32, KernelError> {
    same_length("activations", row.len().saturating_mul(BlockQ8_0::WEIGHTS), x.len())?;
    Ok(dispatch!(isa, dot_q8_0(row, x)))
}

/// A Q8_0 matrix times f32 activations, in f32 throughout.
pub fn matvec_q8_0(
    team: &Team,
    weights: Matrix<BlockQ8_0>,
    x: &[f32],
    out: &mut [f32],
) -> Result<(), KernelError> {
    same_length("activations", weights.columns(), x.len())?;
    by_rows(team, weights, out, |weights, out| dispatch!(team.isa(), matvec_q8_0(weights, x, out)))
}

/// A matrix times activations, in the form that its weights want: [`quantized`] makes them.
pub fn matvec<T: Weight>(
    team: &Team,
    weights: Matrix<T>,
    x: &[T::X],
    out: &mut [f32],
) -> Result<(), KernelError> {
    same_length("activations", weights.columns() / T::X::COUNT, x.len())?;
    by_rows(team, weights, out, |weights, out| T::rows(team.isa(), weights, x, out))
}

/// A matrix times several columns of activations, one after the other in `x`, each of as many numbers as the matrix has columns;
/// `out` has the columns of a row one after the other. Quantized weights are multiplied with quantized activations, as in
/// [`matvec`].
pub fn matmul<T: Weight>(
    team: &Team,
    weights: Matrix<T>,
    x: &[f32],
    columns: usize,
    out: &mut [f32],
) -> Result<(), KernelError> {
    T::columns(team, weights, x, columns, out)
}

/// f16 as f32.
fn widen_f16(isa: Isa, from: &[half::f16], to: &mut [f32]) {
    dispatch!(isa, widen_f16(to, from));
}

/// Bits of the weights that panels of bytes may hold: `vpdpbusd` and `sdot` multiply any byte, `vpmaddubsw` only those below 128.
fn bits_in_bytes(isa: Isa) -> u32 {
    match isa.level() {
        Level::Scalar => 8,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => {
            if isa.has(Set::Avx512Vnni) || isa.has(Set::AvxVnni) {
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

/// Unpacks a chunk of a row into a panel of bytes.
fn unpack_bytes<T: Unpack>(isa: Isa, panel: &mut panel::Bytes, row: usize, blocks: &[T]) {
    dispatch!(isa, unpack_bytes::<T>(panel, row, blocks));
}

/// Unpacks a chunk of a row into a panel of 16-bit numbers.
fn unpack_words<T: Unpack>(isa: Isa, panel: &mut panel::Words, row: usize, blocks: &[T]) {
    dispatch!(isa, unpack_words::<T>(panel, row, blocks));
}

/// Turns a few unpacked rows into columns of a panel, from this row on.
fn turn<E: Copy, const W: usize>(isa: Isa, rows: &[[E; W]], panel: &mut [panel::Few<E, W>], row: usize) {
    match isa.level() {
        // SAFETY: this level exists only where `isa::detected` found every feature the module enables.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2::turn(rows, panel, row) },
        _ => scalar::turn(rows, panel, row),
    }
}

/// Adds the products of a panel of bytes with a chunk of every column.
fn multiply_bytes<T: Unpack>(
    isa: Isa,
    panel: &panel::Bytes,
    x: &panel::Packed<i8>,
    chunk: usize,
    sums: &mut [panel::Sums],
) {
    match isa {
        // SAFETY: the set is one of those that `isa::detected` found, with every feature the function enables.
        #[cfg(target_arch = "x86_64")]
        isa if isa.has(Set::Avx512Vnni) => unsafe { avx512::multiply_bytes::<T>(panel, x, chunk, sums) },
        isa => multiplying!(isa, multiply_bytes::<T>(panel, x, chunk, sums)),
    }
}

/// Adds the products of a panel of 16-bit numbers with a chunk of every column.
fn multiply_words<T: Unpack>(
    isa: Isa,
    panel: &panel::Words,
    x: &panel::Packed<i16>,
    chunk: usize,
    sums: &mut [panel::Sums],
) {
    dispatch!(isa, multiply_words::<T>(panel, x, chunk, sums));
}

/// Adds the products of a panel of f32 with a chunk of every column.
fn multiply_floats(isa: Isa, panel: &[panel::Float], x: &[panel::Floats], sums: &mut [panel::Sums]) {
    moving!(isa, multiply_floats(panel, x, sums));
}

/// Bytes of weights that a thread takes at a time, at least: far more than taking them costs.
const PART: usize = 4 << 20;

/// Shares the rows out to the team, in parts of which every thread has the same number, so that a thread meets the same rows, in
/// its own cache and memory, every time, unless it is late.
fn by_rows<T: Weight>(
    team: &Team,
    weights: Matrix<T>,
    out: &mut [f32],
    kernel: impl Fn(&[T], &mut [f32]) + Sync,
) -> Result<(), KernelError> {
    same_length("output", weights.rows(), out.len())?;
    let threads = team.threads();
    if threads == 1 {
        kernel(weights.data(), out);
        return Ok(());
    }
    let parts = threads * (weights.bytes() / threads / PART).max(1);
    let length = weights.columns() / T::WEIGHTS;
    let (mut data, mut out) = (weights.data(), out);
    let mut items = Vec::with_capacity(parts);
    for index in 0..parts {
        let rows = Team::share(weights.rows(), parts, index);
        let (part, rest) = data.split_at(rows.len() * length);
        let (part_out, rest_out) = out.split_at_mut(rows.len());
        items.push((part, part_out));
        (data, out) = (rest, rest_out);
    }
    items.retain(|(_, out)| !out.is_empty());
    team.each(items, |(weights, out)| kernel(weights, out));
    Ok(())
}
