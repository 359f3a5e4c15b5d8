//! Matrix-matrix products (GEMM) for prompts and batches. Weights are unpacked once, 32 rows and 256 columns at a time, into a packed
//! panel of bytes, 16-bit integers or f32. Every activation column is multiplied with the panel while it is in the L1 cache.
//!
//! A panel interleaves its rows: adjacent weights that fill 32 bits (four bytes, two words or one float) are stored row after row, so
//! that one instruction multiplies the same activations with many rows. Integer products are summed exactly in 32 bits over a scale
//! group; scales are applied once per group.

use super::format::{Activation, MAX_BLOCK_GROUPS, MAX_BLOCK_WEIGHTS, QuantizedActivation, Scale, Unpack};
use super::matrix::{Matrix, Weight};
use super::thread_pool::ThreadPool;
use super::{KernelError, check_length};

/// Rows per panel.
pub(super) const PANEL_ROWS: usize = 32;
/// Weights per panel row: one block of 256 or eight blocks of 32.
pub(super) const PANEL_COLUMNS: usize = MAX_BLOCK_WEIGHTS;
/// Weights per row of an f32 panel, which takes four times the space of a byte panel.
const FLOAT_PANEL_COLUMNS: usize = 128;
/// Rows that are unpacked and then transposed together.
pub(super) const TRANSPOSE_ROWS: usize = 8;
/// Maximum panels per strip. The sums of 256 rows and 512 columns take half a megabyte.
const STRIP_PANELS: usize = 8;
/// Minimum number of columns for packed panels; below, unpacking costs more than it saves.
const MIN_GEMM_COLUMNS: usize = 8;
/// Rows per tile that stay cached while a few columns are multiplied one by one.
const GEMV_TILE_ROWS: usize = 64;
/// Columns whose sums stay in the L1 cache while they are written.
const STORE_TILE_COLUMNS: usize = 32;

/// Sums of the rows of a panel for one activation column.
pub(super) type Sums = [f32; PANEL_ROWS];

/// One column of an f32 panel.
pub(super) type FloatColumn = Interleaved<f32, 1>;
/// Activations of one column for one f32 panel.
pub(super) type FloatChunk = [f32; FLOAT_PANEL_COLUMNS];

/// Unpacked weights of a block format with elements `E`, of which `W` fill 32 bits.
pub(super) struct Panel<E, const W: usize> {
    /// The packed panel.
    pub codes: Vec<Interleaved<E, W>>,
    /// Unpacked rows before transposition, row-major.
    pub staging: Vec<[E; W]>,
    /// Scale of each group and row.
    pub scales: Vec<[f32; PANEL_ROWS]>,
    /// Minimum of each group and row; empty if the format has no minima.
    pub minima: Vec<[f32; PANEL_ROWS]>,
}

/// `W` adjacent weights of each row of a panel, in whole cache lines.
#[derive(Clone)]
#[repr(C, align(64))]
pub(super) struct Interleaved<E, const W: usize>(pub [[E; W]; PANEL_ROWS]);

/// Panel of codes, including the format's offset.
pub(super) type BytePanel = Panel<u8, 4>;
/// Panel of codes minus the format's offset.
pub(super) type WordPanel = Panel<i16, 2>;

/// Activations of one column for one panel.
#[derive(Clone, Copy)]
pub(super) struct Column<'a, E> {
    /// Quantized activations.
    pub qs: &'a [E; PANEL_COLUMNS],
    /// Scale of each group.
    pub scales: &'a [f32; MAX_BLOCK_GROUPS],
    /// Sum of each group, scaled unless the column [shares one scale](shares_scale).
    pub sums: &'a [f32; MAX_BLOCK_GROUPS],
    /// Initial value of the integer sum of each group, which cancels the offset of the codes: `-OFFSET` times the sum of the group.
    pub bias: &'a [i32; MAX_BLOCK_GROUPS],
}

/// True if all activations of a chunk have the same scale.
pub(super) const fn shares_scale<T: Unpack>() -> bool {
    T::X::ACTIVATIONS == PANEL_COLUMNS
}

/// Quantized activations in chunks of [`PANEL_COLUMNS`], with the columns of a chunk one after the other.
pub(super) struct PackedActivations<E> {
    qs: Vec<[E; PANEL_COLUMNS]>,
    scales: Vec<[f32; MAX_BLOCK_GROUPS]>,
    sums: Vec<[f32; MAX_BLOCK_GROUPS]>,
    bias: Vec<[i32; MAX_BLOCK_GROUPS]>,
    columns: usize,
}

impl<E: From<i8> + Copy + Send> PackedActivations<E> {
    /// Quantizes `columns` columns of `length` activations each.
    fn new<T: Unpack>(pool: &ThreadPool, x: &[f32], length: usize, columns: usize) -> PackedActivations<E> {
        let (chunks, count) = (length.div_ceil(PANEL_COLUMNS), T::X::ACTIVATIONS);
        let mut packed = PackedActivations {
            qs: vec![[E::from(0); PANEL_COLUMNS]; chunks * columns],
            scales: vec![[0.0; MAX_BLOCK_GROUPS]; chunks * columns],
            sums: vec![[0.0; MAX_BLOCK_GROUPS]; chunks * columns],
            bias: vec![[0; MAX_BLOCK_GROUPS]; chunks * columns],
            columns,
        };
        let qs = packed.qs.chunks_mut(columns).zip(packed.scales.chunks_mut(columns));
        let sums = packed.sums.chunks_mut(columns).zip(packed.bias.chunks_mut(columns));
        let mut parts: Vec<_> = qs.zip(sums).enumerate().collect();
        // A thread takes consecutive chunks of a column, because short reads from each column would be slow.
        let share = chunks.div_ceil(pool.threads()).max(1);
        pool.for_each(parts.chunks_mut(share).collect(), |parts| {
            let mut blocks = vec![T::X::ZERO; PANEL_COLUMNS / count];
            for (column, values) in x.chunks(length).enumerate() {
                for (chunk, ((qs, scales), (sums, bias))) in &mut *parts {
                    let values = &values[*chunk * PANEL_COLUMNS..];
                    let values = &values[..values.len().min(PANEL_COLUMNS)];
                    blocks.fill(T::X::ZERO);
                    T::X::quantize(pool.isa(), &mut blocks[..values.len() / count], values);
                    for (to, block) in qs[column].chunks_mut(count).zip(&blocks) {
                        for (to, q) in to.iter_mut().zip(block.qs()) {
                            *to = E::from(*q);
                        }
                    }
                    let groups = blocks.iter().flat_map(|block| {
                        block.qs().chunks(T::GROUP).map(|group| (block.scale().to_f32(), group))
                    });
                    for (at, (scale, group)) in groups.enumerate() {
                        let sum = group.iter().map(|q| i32::from(*q)).sum::<i32>();
                        scales[column][at] = scale;
                        sums[column][at] = if shares_scale::<T>() { sum as f32 } else { scale * sum as f32 };
                        bias[column][at] = -i32::from(T::OFFSET) * sum;
                    }
                }
            }
        });
        packed
    }
}

impl<E: Copy> PackedActivations<E> {
    /// One chunk of `N` consecutive columns.
    #[inline(always)]
    pub(super) fn columns<const N: usize>(&self, chunk: usize, start: usize) -> [Column<'_, E>; N] {
        // A loop, because `array::from_fn` is not inlined into functions with additional target features.
        let mut columns = [self.column(chunk, start); N];
        for (next, column) in columns.iter_mut().enumerate().skip(1) {
            *column = self.column(chunk, start + next);
        }
        columns
    }

    /// One chunk of one column.
    #[inline(always)]
    pub(super) fn column(&self, chunk: usize, column: usize) -> Column<'_, E> {
        let at = chunk * self.columns + column;
        Column { qs: &self.qs[at], scales: &self.scales[at], sums: &self.sums[at], bias: &self.bias[at] }
    }
}

impl<E: Copy + Default, const W: usize> Panel<E, W> {
    fn new<T: Unpack>() -> Panel<E, W> {
        let groups = PANEL_COLUMNS / T::GROUP;
        Panel {
            codes: vec![Interleaved([[E::default(); W]; PANEL_ROWS]); PANEL_COLUMNS / W],
            staging: vec![[E::default(); W]; TRANSPOSE_ROWS * PANEL_COLUMNS / W],
            scales: vec![[0.0; PANEL_ROWS]; groups],
            minima: vec![[0.0; PANEL_ROWS]; if T::HAS_MINIMA { groups } else { 0 }],
        }
    }

    /// Unpacks the blocks of one chunk of a row into the staging rows. If the chunk is short, the missing scales and minima are zero.
    #[inline(always)]
    pub(super) fn unpack<T: Unpack>(
        &mut self,
        row: usize,
        blocks: &[T],
        to_f32: impl Fn(Scale) -> f32,
        apply_codebook: impl Fn(&[u8; 16], &mut [u8]),
        element: impl Fn(u8) -> E,
    ) {
        // Lifts the bounds checks out of the loops.
        assert!(row < PANEL_ROWS);
        let mut codes = [0; MAX_BLOCK_WEIGHTS];
        let groups = T::WEIGHTS / T::GROUP;
        let staging =
            self.staging[row % TRANSPOSE_ROWS * PANEL_COLUMNS / W..][..PANEL_COLUMNS / W].as_flattened_mut();
        for (at, block) in blocks.iter().enumerate() {
            let (mut scales, mut minima) = ([0.0; MAX_BLOCK_GROUPS], [0.0; MAX_BLOCK_GROUPS]);
            block.codes(&mut codes[..T::WEIGHTS]);
            if let Some(codebook) = T::CODEBOOK {
                apply_codebook(codebook, &mut codes[..T::WEIGHTS]);
            }
            block.f32_scales(&to_f32, &mut scales[..groups], &mut minima[..groups]);
            for (to, from) in staging[at * T::WEIGHTS..][..T::WEIGHTS].iter_mut().zip(&codes) {
                *to = element(*from);
            }
            for (to, scale) in self.scales[at * groups..].iter_mut().zip(&scales[..groups]) {
                to[row] = *scale;
            }
            for (to, minimum) in self.minima.iter_mut().skip(at * groups).zip(&minima[..groups]) {
                to[row] = *minimum;
            }
        }
        for rest in [&mut self.scales, &mut self.minima] {
            for to in rest.iter_mut().skip(blocks.len() * groups) {
                to[row] = 0.0;
            }
        }
    }
}

/// Passes the sums of all columns to one of the closures, with the index of the first column: `N` columns at a time if possible, then two,
/// then one. Always inlined, like [`super::stream::dot_rows`].
#[inline(always)]
pub(super) fn for_each_column_group<const N: usize>(
    sums: &mut [Sums],
    several: impl Fn(usize, &mut [Sums; N]),
    two: impl Fn(usize, &mut [Sums; 2]),
    one: impl Fn(usize, &mut [Sums; 1]),
) {
    let (many, rest) = sums.as_chunks_mut::<N>();
    let (pairs, rest) = rest.as_chunks_mut::<2>();
    let mut at = 0;
    for sums in many {
        several(at, sums);
        at += N;
    }
    for sums in pairs {
        two(at, sums);
        at += 2;
    }
    for sums in rest.as_chunks_mut::<1>().0 {
        one(at, sums);
    }
}

/// Implements [`super::matmul`] for block formats.
pub(super) fn matmul_blocks<T: Unpack>(
    pool: &ThreadPool,
    weights: Matrix<T>,
    x: &[f32],
    columns: usize,
    out: &mut [f32],
) -> Result<(), KernelError> {
    check_shapes(&weights, x, columns, out)?;
    if columns < MIN_GEMM_COLUMNS {
        return matmul_by_column(pool, weights, x, columns, out);
    }
    let isa = pool.isa();
    if T::BITS <= super::max_byte_panel_bits(isa) {
        let multiply = |panel: &BytePanel, x: &PackedActivations<i8>, at, sums: &mut [Sums]| {
            super::multiply_bytes::<T>(isa, panel, x, at, sums);
        };
        let unpack = |panel: &mut BytePanel, row, blocks: &[T]| super::unpack_bytes(isa, panel, row, blocks);
        multiply_panels(pool, weights, x, columns, out, unpack, multiply);
    } else {
        let multiply = |panel: &WordPanel, x: &PackedActivations<i16>, at, sums: &mut [Sums]| {
            super::multiply_words::<T>(isa, panel, x, at, sums);
        };
        let unpack = |panel: &mut WordPanel, row, blocks: &[T]| super::unpack_words(isa, panel, row, blocks);
        multiply_panels(pool, weights, x, columns, out, unpack, multiply);
    }
    Ok(())
}

/// Loop over panels and chunks, generic over the panel type.
fn multiply_panels<T: Unpack, E: Copy + Default + Send, X: From<i8> + Copy + Send + Sync, const W: usize>(
    pool: &ThreadPool,
    weights: Matrix<T>,
    x: &[f32],
    columns: usize,
    out: &mut [f32],
    unpack: impl Fn(&mut Panel<E, W>, usize, &[T]) + Sync,
    multiply: impl Fn(&Panel<E, W>, &PackedActivations<X>, usize, &mut [Sums]) + Sync,
) {
    let packed = PackedActivations::<X>::new::<T>(pool, x, weights.columns(), columns);
    let length = weights.columns() / T::WEIGHTS;
    let chunk = PANEL_COLUMNS / T::WEIGHTS;
    for_each_strip(pool, weights, columns, out, |weights, sums| {
        let mut panel = Panel::new::<T>();
        for at in 0..length.div_ceil(chunk) {
            for (weights, sums) in weights.chunks(length * PANEL_ROWS).zip(sums.chunks_mut(columns)) {
                for (tile, weights) in weights.chunks(length * TRANSPOSE_ROWS).enumerate() {
                    for (row, blocks) in weights.chunks(length).enumerate() {
                        let blocks = &blocks[at * chunk..];
                        unpack(&mut panel, tile * TRANSPOSE_ROWS + row, &blocks[..blocks.len().min(chunk)]);
                    }
                    super::transpose(pool.isa(), &panel.staging, &mut panel.codes, tile * TRANSPOSE_ROWS);
                }
                multiply(&panel, &packed, at, sums);
            }
        }
    });
}

/// Splits the rows into strips of several panels. The panels of a strip share each chunk of the activations, which does not fit in the
/// inner caches if there are many columns. `work` computes the sums of a strip, panel by panel.
fn for_each_strip<T: Weight>(
    pool: &ThreadPool,
    weights: Matrix<T>,
    columns: usize,
    out: &mut [f32],
    work: impl Fn(&[T], &mut [Sums]) + Sync,
) {
    let length = weights.columns() / T::WEIGHTS;
    let panels = (weights.rows() / PANEL_ROWS / pool.threads() / 2).clamp(1, STRIP_PANELS);
    let strips = weights
        .data()
        .chunks(length * PANEL_ROWS * panels)
        .zip(out.chunks_mut(columns * PANEL_ROWS * panels));
    pool.for_each(strips.collect(), |(weights, out)| {
        let mut sums = vec![[0f32; PANEL_ROWS]; columns * out.len().div_ceil(columns * PANEL_ROWS)];
        work(weights, &mut sums);
        for (sums, out) in sums.chunks(columns).zip(out.chunks_mut(columns * PANEL_ROWS)) {
            store(sums, columns, out);
        }
    });
}

/// Implements [`super::matmul`] for floating-point weights, which `widen` converts to f32.
pub(super) fn matmul_floats<T: Weight<X = f32>>(
    pool: &ThreadPool,
    weights: Matrix<T>,
    x: &[f32],
    columns: usize,
    out: &mut [f32],
    widen: impl Fn(&[T], &mut [f32]) + Sync,
) -> Result<(), KernelError> {
    check_shapes(&weights, x, columns, out)?;
    if columns < MIN_GEMM_COLUMNS {
        return matmul_by_column(pool, weights, x, columns, out);
    }
    let (isa, length) = (pool.isa(), weights.columns());
    // Packed, because columns at a distance of a power of two, common in matrices, would evict each other.
    let chunks = length.div_ceil(FLOAT_PANEL_COLUMNS);
    let mut packed = vec![[0f32; FLOAT_PANEL_COLUMNS]; chunks * columns];
    let parts = packed.chunks_mut(columns).enumerate();
    pool.for_each(parts.collect(), |(chunk, packed)| {
        for (to, x) in packed.iter_mut().zip(x.chunks(length)) {
            for (to, x) in to.iter_mut().zip(&x[chunk * FLOAT_PANEL_COLUMNS..]) {
                *to = *x;
            }
        }
    });
    for_each_strip(pool, weights, columns, out, |weights, sums| {
        let mut panel = vec![Interleaved([[0f32]; PANEL_ROWS]); FLOAT_PANEL_COLUMNS];
        let mut staging = [[0f32]; TRANSPOSE_ROWS * FLOAT_PANEL_COLUMNS];
        for (packed, start) in packed.chunks(columns).zip((0..length).step_by(FLOAT_PANEL_COLUMNS)) {
            let end = length.min(start + FLOAT_PANEL_COLUMNS);
            // Whole squares to transpose, padded with zeros.
            let width = (end - start).next_multiple_of(TRANSPOSE_ROWS);
            let (panel, staging) = (&mut panel[..width], &mut staging[..TRANSPOSE_ROWS * width]);
            staging.fill([0.0]);
            for (weights, sums) in weights.chunks(length * PANEL_ROWS).zip(sums.chunks_mut(columns)) {
                for (tile, weights) in weights.chunks(length * TRANSPOSE_ROWS).enumerate() {
                    for (row, weights) in staging.chunks_mut(width).zip(weights.chunks(length)) {
                        widen(&weights[start..end], &mut row.as_flattened_mut()[..end - start]);
                    }
                    super::transpose(isa, staging, panel, tile * TRANSPOSE_ROWS);
                }
                super::multiply_floats(isa, panel, packed, sums);
            }
        }
    });
    Ok(())
}

fn check_shapes<T: Weight>(
    weights: &Matrix<T>,
    x: &[f32],
    columns: usize,
    out: &[f32],
) -> Result<(), KernelError> {
    check_length("activations", weights.columns().saturating_mul(columns), x.len())?;
    check_length("output", weights.rows().saturating_mul(columns), out.len())
}

/// Writes the sums of a panel to the output, row by row.
fn store(sums: &[Sums], columns: usize, out: &mut [f32]) {
    for (at, sums) in sums.chunks(STORE_TILE_COLUMNS).enumerate() {
        for (row, out) in out.chunks_mut(columns).enumerate() {
            for (out, sums) in out[at * STORE_TILE_COLUMNS..].iter_mut().zip(sums) {
                *out = sums[row];
            }
        }
    }
}

/// Multiplies a few columns one by one, in tiles of rows that stay cached.
fn matmul_by_column<T: Weight>(
    pool: &ThreadPool,
    weights: Matrix<T>,
    x: &[f32],
    columns: usize,
    out: &mut [f32],
) -> Result<(), KernelError> {
    if columns == 0 {
        return Ok(());
    }
    let (isa, length) = (pool.isa(), weights.columns() / T::WEIGHTS);
    let x: Vec<Vec<T::X>> =
        x.chunks(weights.columns()).map(|x| super::quantize(isa, x)).collect::<Result<_, _>>()?;
    let parts = weights.data().chunks(length * GEMV_TILE_ROWS).zip(out.chunks_mut(columns * GEMV_TILE_ROWS));
    pool.for_each(parts.collect(), |(weights, out)| {
        let mut sums = [0f32; GEMV_TILE_ROWS];
        let rows = out.len() / columns;
        for (column, x) in x.iter().enumerate() {
            T::matvec(isa, weights, x, &mut sums[..rows]);
            for (out, sum) in out.chunks_mut(columns).zip(&sums) {
                out[column] = *sum;
            }
        }
    });
    Ok(())
}
