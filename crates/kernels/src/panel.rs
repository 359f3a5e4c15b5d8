//! Products with many columns: prompts and batches. Weights are unpacked once, 32 rows and 256 columns at a time, into a panel of
//! bytes or of 16-bit numbers (or of f32), and every column is multiplied with the panel while it is in the nearest cache.
//!
//! In a panel a few neighbours of a row lie together, as many as fill 32 bits, and the rows one after the other, so that one
//! instruction multiplies the same few activations with many rows: whole numbers add up in 32 bits over a group, exactly; scales
//! follow once a group.

use super::format::{Activation, MOST_GROUPS, MOST_WEIGHTS, Quantized, Scale, Unpack};
use super::matrix::{Matrix, Weight};
use super::team::Team;
use super::{KernelError, same_length};

/// Rows of a panel.
pub(super) const ROWS: usize = 32;
/// Columns of a panel: one block of 256 weights, eight of 32.
pub(super) const CHUNK: usize = MOST_WEIGHTS;
/// Columns of a panel of f32, which are four times as large as bytes.
const CHUNK_FLOATS: usize = 128;
/// Rows that are unpacked before they are turned into a panel's columns.
pub(super) const TURNED: usize = 8;
/// Panels of a strip: sums of 256 rows and 512 columns are half a megabyte.
const STRIP: usize = 8;
/// Fewer columns than this are multiplied one by one: unpacking would take longer.
const FEW: usize = 8;
/// Rows that stay in a cache while a few columns go over them.
const NEAR: usize = 64;
/// Columns whose sums stay in the nearest cache while they are written.
const NEAR_COLUMNS: usize = 32;

/// Sums of a panel's rows for one column.
pub(super) type Sums = [f32; ROWS];

/// One column of a panel of f32.
pub(super) type Float = Few<f32, 1>;
/// Activations of one column, as many as a panel of f32 has columns.
pub(super) type Floats = [f32; CHUNK_FLOATS];

/// Weights of a block format, unpacked: numbers `E`, of which `W` fill 32 bits.
pub(super) struct Panel<E, const W: usize> {
    /// A few neighbours of each row.
    pub numbers: Vec<Few<E, W>>,
    /// The rows that come next, as they lie in a matrix.
    pub next: Vec<[E; W]>,
    /// What the numbers of each group are multiplied with.
    pub scales: Vec<[f32; ROWS]>,
    /// The minima of each group; empty where the format has none.
    pub minima: Vec<[f32; ROWS]>,
}

/// A few neighbours of each row of a panel, in whole cache lines.
#[derive(Clone)]
#[repr(C, align(64))]
pub(super) struct Few<E, const W: usize>(pub [[E; W]; ROWS]);

/// Stored numbers, as they are.
pub(super) type Bytes = Panel<u8, 4>;
/// Stored numbers less their offset.
pub(super) type Words = Panel<i16, 2>;

/// Activations of one column, as many as a panel has columns.
#[derive(Clone, Copy)]
pub(super) struct Column<'a, E> {
    /// Whole numbers.
    pub numbers: &'a [E; CHUNK],
    /// What those of each group are multiplied with.
    pub scales: &'a [f32; MOST_GROUPS],
    /// The sum of each group, its scale included unless it is [`shared`].
    pub sums: &'a [f32; MOST_GROUPS],
    /// The sum of each group times the format's offset, negative: what a sum of products of stored numbers starts from.
    pub starts: &'a [i32; MOST_GROUPS],
}

/// Whether all activations of a chunk have the same scale.
pub(super) const fn shared<T: Unpack>() -> bool {
    T::X::COUNT == CHUNK
}

/// Activations, chunk after chunk, and the columns one after the other in each.
pub(super) struct Packed<E> {
    numbers: Vec<[E; CHUNK]>,
    scales: Vec<[f32; MOST_GROUPS]>,
    sums: Vec<[f32; MOST_GROUPS]>,
    starts: Vec<[i32; MOST_GROUPS]>,
    columns: usize,
}

impl<E: From<i8> + Copy + Send> Packed<E> {
    /// Quantizes `columns` columns of `length` activations each.
    fn new<T: Unpack>(team: &Team, x: &[f32], length: usize, columns: usize) -> Packed<E> {
        let (chunks, count) = (length.div_ceil(CHUNK), T::X::COUNT);
        let mut packed = Packed {
            numbers: vec![[E::from(0); CHUNK]; chunks * columns],
            scales: vec![[0.0; MOST_GROUPS]; chunks * columns],
            sums: vec![[0.0; MOST_GROUPS]; chunks * columns],
            starts: vec![[0; MOST_GROUPS]; chunks * columns],
            columns,
        };
        let numbers = packed.numbers.chunks_mut(columns).zip(packed.scales.chunks_mut(columns));
        let sums = packed.sums.chunks_mut(columns).zip(packed.starts.chunks_mut(columns));
        let mut parts: Vec<_> = numbers.zip(sums).enumerate().collect();
        // Of a column as many chunks as a thread has are taken together: a little of each column would be read slowly.
        let share = chunks.div_ceil(team.threads()).max(1);
        team.each(parts.chunks_mut(share).collect(), |parts| {
            let mut stored = vec![T::X::ZERO; CHUNK / count];
            for (column, values) in x.chunks(length).enumerate() {
                for (chunk, ((numbers, scales), (sums, starts))) in &mut *parts {
                    let values = &values[*chunk * CHUNK..];
                    let values = &values[..values.len().min(CHUNK)];
                    stored.fill(T::X::ZERO);
                    T::X::quantize(team.isa(), &mut stored[..values.len() / count], values);
                    for (to, stored) in numbers[column].chunks_mut(count).zip(&stored) {
                        for (to, quant) in to.iter_mut().zip(stored.quants()) {
                            *to = E::from(*quant);
                        }
                    }
                    let groups = stored.iter().flat_map(|stored| {
                        stored.quants().chunks(T::GROUP).map(|group| (stored.scale().to_f32(), group))
                    });
                    for (at, (scale, group)) in groups.enumerate() {
                        let sum = group.iter().map(|quant| i32::from(*quant)).sum::<i32>();
                        scales[column][at] = scale;
                        sums[column][at] = if shared::<T>() { sum as f32 } else { scale * sum as f32 };
                        starts[column][at] = -i32::from(T::OFFSET) * sum;
                    }
                }
            }
        });
        packed
    }
}

impl<E: Copy> Packed<E> {
    /// A chunk of `N` columns from this one on.
    #[inline(always)]
    pub(super) fn columns<const N: usize>(&self, chunk: usize, start: usize) -> [Column<'_, E>; N] {
        // A loop, since closures that an array is made by are not inlined into functions of more features.
        let mut columns = [self.column(chunk, start); N];
        for (next, column) in columns.iter_mut().enumerate().skip(1) {
            *column = self.column(chunk, start + next);
        }
        columns
    }

    /// A chunk of a column.
    #[inline(always)]
    pub(super) fn column(&self, chunk: usize, column: usize) -> Column<'_, E> {
        let at = chunk * self.columns + column;
        Column {
            numbers: &self.numbers[at],
            scales: &self.scales[at],
            sums: &self.sums[at],
            starts: &self.starts[at],
        }
    }
}

impl<E: Copy + Default, const W: usize> Panel<E, W> {
    fn new<T: Unpack>() -> Panel<E, W> {
        let groups = CHUNK / T::GROUP;
        Panel {
            numbers: vec![Few([[E::default(); W]; ROWS]); CHUNK / W],
            next: vec![[E::default(); W]; TURNED * CHUNK / W],
            scales: vec![[0.0; ROWS]; groups],
            minima: vec![[0.0; ROWS]; if T::MINIMA { groups } else { 0 }],
        }
    }

    /// Unpacks the blocks of one chunk of a row among those that come next; what a chunk at the end lacks has scales of zero.
    #[inline(always)]
    pub(super) fn unpack<T: Unpack>(
        &mut self,
        row: usize,
        blocks: &[T],
        single: impl Fn(Scale) -> f32,
        choose: impl Fn(&[u8; 16], &mut [u8]),
        element: impl Fn(u8) -> E,
    ) {
        // Once, and not for each number.
        assert!(row < ROWS);
        let mut stored = [0; MOST_WEIGHTS];
        let groups = T::WEIGHTS / T::GROUP;
        let next = self.next[row % TURNED * CHUNK / W..][..CHUNK / W].as_flattened_mut();
        for (at, block) in blocks.iter().enumerate() {
            let (mut scales, mut minima) = ([0.0; MOST_GROUPS], [0.0; MOST_GROUPS]);
            block.numbers(&mut stored[..T::WEIGHTS]);
            if let Some(choice) = T::CHOICE {
                choose(choice, &mut stored[..T::WEIGHTS]);
            }
            block.group_scales(&single, &mut scales[..groups], &mut minima[..groups]);
            for (to, from) in next[at * T::WEIGHTS..][..T::WEIGHTS].iter_mut().zip(&stored) {
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

/// Gives the sums of all columns to one of the closures, with the first column: of `N` at a time while there are enough, else of
/// two or of one. Inlined for the same reason as [`super::stream::rows`].
#[inline(always)]
pub(super) fn by_columns<const N: usize>(
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

/// A matrix of blocks times columns of activations, each of as many numbers as the matrix has columns; `out` has the columns of a
/// row one after the other.
pub(super) fn blocks<T: Unpack>(
    team: &Team,
    weights: Matrix<T>,
    x: &[f32],
    columns: usize,
    out: &mut [f32],
) -> Result<(), KernelError> {
    check(&weights, x, columns, out)?;
    if columns < FEW {
        return one_by_one(team, weights, x, columns, out);
    }
    let isa = team.isa();
    if T::BITS <= super::bits_in_bytes(isa) {
        let multiply = |panel: &Bytes, x: &Packed<i8>, at, sums: &mut [Sums]| {
            super::multiply_bytes::<T>(isa, panel, x, at, sums);
        };
        let unpack = |panel: &mut Bytes, row, blocks: &[T]| super::unpack_bytes(isa, panel, row, blocks);
        panels(team, weights, x, columns, out, unpack, multiply);
    } else {
        let multiply = |panel: &Words, x: &Packed<i16>, at, sums: &mut [Sums]| {
            super::multiply_words::<T>(isa, panel, x, at, sums);
        };
        let unpack = |panel: &mut Words, row, blocks: &[T]| super::unpack_words(isa, panel, row, blocks);
        panels(team, weights, x, columns, out, unpack, multiply);
    }
    Ok(())
}

/// The walk over panels and chunks, whatever a panel holds.
fn panels<T: Unpack, E: Copy + Default + Send, X: From<i8> + Copy + Send + Sync, const W: usize>(
    team: &Team,
    weights: Matrix<T>,
    x: &[f32],
    columns: usize,
    out: &mut [f32],
    unpack: impl Fn(&mut Panel<E, W>, usize, &[T]) + Sync,
    multiply: impl Fn(&Panel<E, W>, &Packed<X>, usize, &mut [Sums]) + Sync,
) {
    let packed = Packed::<X>::new::<T>(team, x, weights.columns(), columns);
    let length = weights.columns() / T::WEIGHTS;
    let chunk = CHUNK / T::WEIGHTS;
    strips(team, weights, columns, out, |weights, sums| {
        let mut panel = Panel::new::<T>();
        for at in 0..length.div_ceil(chunk) {
            for (weights, sums) in weights.chunks(length * ROWS).zip(sums.chunks_mut(columns)) {
                for (turn, weights) in weights.chunks(length * TURNED).enumerate() {
                    for (row, blocks) in weights.chunks(length).enumerate() {
                        let blocks = &blocks[at * chunk..];
                        unpack(&mut panel, turn * TURNED + row, &blocks[..blocks.len().min(chunk)]);
                    }
                    super::turn(team.isa(), &panel.next, &mut panel.numbers, turn * TURNED);
                }
                multiply(&panel, &packed, at, sums);
            }
        }
    });
}

/// Shares the rows out to the team in strips of several panels, so that a chunk of the activations, which many columns make too
/// large for the nearest caches, is fetched once for all of them; `work` adds up the sums of each panel's columns.
fn strips<T: Weight>(
    team: &Team,
    weights: Matrix<T>,
    columns: usize,
    out: &mut [f32],
    work: impl Fn(&[T], &mut [Sums]) + Sync,
) {
    let length = weights.columns() / T::WEIGHTS;
    let panels = (weights.rows() / ROWS / team.threads() / 2).clamp(1, STRIP);
    let strips = weights.data().chunks(length * ROWS * panels).zip(out.chunks_mut(columns * ROWS * panels));
    team.each(strips.collect(), |(weights, out)| {
        let mut sums = vec![[0f32; ROWS]; columns * out.len().div_ceil(columns * ROWS)];
        work(weights, &mut sums);
        for (sums, out) in sums.chunks(columns).zip(out.chunks_mut(columns * ROWS)) {
            store(sums, columns, out);
        }
    });
}

/// As [`blocks`], for weights that are numbers of their own, which `widen` makes f32 of.
pub(super) fn numbers<T: Weight<X = f32>>(
    team: &Team,
    weights: Matrix<T>,
    x: &[f32],
    columns: usize,
    out: &mut [f32],
    widen: impl Fn(&[T], &mut [f32]) + Sync,
) -> Result<(), KernelError> {
    check(&weights, x, columns, out)?;
    if columns < FEW {
        return one_by_one(team, weights, x, columns, out);
    }
    let (isa, length) = (team.isa(), weights.columns());
    // Columns one after the other: at the distance they have in a matrix, often a power of two, they would evict each other.
    let chunks = length.div_ceil(CHUNK_FLOATS);
    let mut packed = vec![[0f32; CHUNK_FLOATS]; chunks * columns];
    let parts = packed.chunks_mut(columns).enumerate();
    team.each(parts.collect(), |(chunk, packed)| {
        for (to, x) in packed.iter_mut().zip(x.chunks(length)) {
            for (to, x) in to.iter_mut().zip(&x[chunk * CHUNK_FLOATS..]) {
                *to = *x;
            }
        }
    });
    strips(team, weights, columns, out, |weights, sums| {
        let mut panel = vec![Few([[0f32]; ROWS]); CHUNK_FLOATS];
        let mut next = [[0f32]; TURNED * CHUNK_FLOATS];
        for (packed, start) in packed.chunks(columns).zip((0..length).step_by(CHUNK_FLOATS)) {
            let end = length.min(start + CHUNK_FLOATS);
            // Whole squares to turn; what a row lacks are zeros.
            let width = (end - start).next_multiple_of(TURNED);
            let (panel, next) = (&mut panel[..width], &mut next[..TURNED * width]);
            next.fill([0.0]);
            for (weights, sums) in weights.chunks(length * ROWS).zip(sums.chunks_mut(columns)) {
                for (turn, weights) in weights.chunks(length * TURNED).enumerate() {
                    for (next, numbers) in next.chunks_mut(width).zip(weights.chunks(length)) {
                        widen(&numbers[start..end], &mut next.as_flattened_mut()[..end - start]);
                    }
                    super::turn(isa, next, panel, turn * TURNED);
                }
                super::multiply_floats(isa, panel, packed, sums);
            }
        }
    });
    Ok(())
}

fn check<T: Weight>(weights: &Matrix<T>, x: &[f32], columns: usize, out: &[f32]) -> Result<(), KernelError> {
    same_length("activations", weights.columns().saturating_mul(columns), x.len())?;
    same_length("output", weights.rows().saturating_mul(columns), out.len())
}

/// Writes the sums of a panel's rows, row by row.
fn store(sums: &[Sums], columns: usize, out: &mut [f32]) {
    for (at, sums) in sums.chunks(NEAR_COLUMNS).enumerate() {
        for (row, out) in out.chunks_mut(columns).enumerate() {
            for (out, sums) in out[at * NEAR_COLUMNS..].iter_mut().zip(sums) {
                *out = sums[row];
            }
        }
    }
}

/// A few columns, each by itself, over rows that stay near.
fn one_by_one<T: Weight>(
    team: &Team,
    weights: Matrix<T>,
    x: &[f32],
    columns: usize,
    out: &mut [f32],
) -> Result<(), KernelError> {
    if columns == 0 {
        return Ok(());
    }
    let (isa, length) = (team.isa(), weights.columns() / T::WEIGHTS);
    let x: Vec<Vec<T::X>> =
        x.chunks(weights.columns()).map(|x| super::quantized(isa, x)).collect::<Result<_, _>>()?;
    let parts = weights.data().chunks(length * NEAR).zip(out.chunks_mut(columns * NEAR));
    team.each(parts.collect(), |(weights, out)| {
        let mut sums = [0f32; NEAR];
        let rows = out.len() / columns;
        for (column, x) in x.iter().enumerate() {
            T::rows(isa, weights, x, &mut sums[..rows]);
            for (out, sum) in out.chunks_mut(columns).zip(&sums) {
                out[column] = *sum;
            }
        }
    });
    Ok(())
}
