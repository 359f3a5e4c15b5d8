//! Products with many columns: prompts and batches. Weights are unpacked once, 16 rows and 256 columns at a time, into a panel of
//! 16-bit numbers (or of f32), and every column is multiplied with the panel while it is in the nearest cache.
//!
//! In a panel two neighbours of a row lie together and the 16 rows one after the other, so that one multiply-add of pairs serves
//! eight rows: whole numbers add up in 32 bits over a block, exactly, for every byte; scales follow once a block.

use super::format::{Format, GROUP, MOST_WEIGHTS, Quantized, Scale};
use super::matrix::{Matrix, Weight};
use super::team::Team;
use super::{KernelError, same_length};

/// Rows of a panel.
pub(super) const ROWS: usize = 16;
/// Columns of a panel: one block of 256 weights, eight of 32.
pub(super) const CHUNK: usize = MOST_WEIGHTS;
/// Columns of activations that are multiplied with a panel at once.
pub(super) const AT_ONCE: usize = 4;
/// Fewer columns than this are multiplied one by one: unpacking would take longer.
const FEW: usize = 8;
/// Rows that stay in a cache while a few columns go over them.
const NEAR: usize = 64;

/// Sums of 16 rows, for each of the columns at once.
pub(super) type Tile = [[f32; ROWS]; AT_ONCE];

/// Weights of a block format, unpacked.
pub(super) struct Panel {
    /// Pairs of neighbours, of each row.
    pub quants: [[[i16; 2]; ROWS]; CHUNK / 2],
    /// What the numbers of each block are multiplied with.
    pub scales: Vec<[f32; ROWS]>,
    /// The minima of each group; empty where the format has none.
    pub minima: Vec<[f32; ROWS]>,
}

/// Activations of one column, as many as a panel has columns.
#[derive(Clone, Copy)]
pub(super) struct Column<'a> {
    /// Whole numbers.
    pub quants: &'a [i16; CHUNK],
    /// What those of each block are multiplied with.
    pub scales: &'a [f32],
    /// The sum of each group, its scale included.
    pub sums: &'a [f32; CHUNK / GROUP],
}

/// Activations, chunk after chunk, and the columns one after the other in each.
struct Packed {
    quants: Vec<[i16; CHUNK]>,
    scales: Vec<f32>,
    sums: Vec<[f32; CHUNK / GROUP]>,
    /// Columns, with those of zeros that fill up the last few.
    columns: usize,
    /// Blocks in a chunk.
    blocks: usize,
}

impl Packed {
    /// Quantizes `columns` columns of `length` activations each.
    fn new<X: Quantized>(team: &Team, x: &[f32], length: usize, columns: usize) -> Packed {
        let (chunks, blocks) = (length.div_ceil(CHUNK), CHUNK / X::COUNT);
        let padded = columns.next_multiple_of(AT_ONCE);
        let mut packed = Packed {
            quants: vec![[0; CHUNK]; chunks * padded],
            scales: vec![0.0; chunks * padded * blocks],
            sums: vec![[0.0; CHUNK / GROUP]; chunks * padded],
            columns: padded,
            blocks,
        };
        let parts = packed.quants.chunks_mut(padded).zip(packed.scales.chunks_mut(padded * blocks));
        let parts: Vec<_> = parts.zip(packed.sums.chunks_mut(padded)).enumerate().collect();
        team.each(parts, |(chunk, ((quants, scales), sums))| {
            let mut stored = vec![X::ZERO; blocks];
            for (column, values) in x.chunks(length).enumerate().take(columns) {
                let values = values.get(chunk * CHUNK..).unwrap_or_default();
                let values = &values[..values.len().min(CHUNK)];
                stored.fill(X::ZERO);
                X::quantize(team.isa(), &mut stored[..values.len() / X::COUNT], values);
                let (quants, sums) = (&mut quants[column], &mut sums[column]);
                for (at, stored) in stored.iter().enumerate() {
                    let scale = stored.scale().to_f32();
                    scales[column * blocks + at] = scale;
                    let place = at * X::COUNT;
                    for (to, from) in quants[place..place + X::COUNT].iter_mut().zip(stored.quants()) {
                        *to = i16::from(*from);
                    }
                    let groups = stored.quants().as_chunks::<GROUP>().0;
                    for (sum, group) in sums[place / GROUP..].iter_mut().zip(groups) {
                        *sum = scale * group.iter().map(|quant| f32::from(*quant)).sum::<f32>();
                    }
                }
            }
        });
        packed
    }

    fn column(&self, chunk: usize, column: usize) -> Column<'_> {
        let at = chunk * self.columns + column;
        Column {
            quants: &self.quants[at],
            scales: &self.scales[at * self.blocks..][..self.blocks],
            sums: &self.sums[at],
        }
    }
}

impl Panel {
    fn new<T: Format>() -> Panel {
        let groups = if T::MINIMA { CHUNK / GROUP } else { 0 };
        Panel {
            quants: [[[0; 2]; ROWS]; CHUNK / 2],
            scales: vec![[0.0; ROWS]; CHUNK / T::WEIGHTS],
            minima: vec![[0.0; ROWS]; groups],
        }
    }

    /// Unpacks the blocks of one chunk of a row; what a chunk at the end lacks counts as zeros.
    #[inline(always)]
    pub(super) fn unpack<T: Format>(&mut self, row: usize, blocks: &[T], single: impl Fn(Scale) -> f32) {
        let mut numbers = [0i16; MOST_WEIGHTS];
        let mut minima = [0i16; MOST_WEIGHTS / GROUP];
        for at in 0..CHUNK / T::WEIGHTS {
            let (numbers, minima) = (&mut numbers[..T::WEIGHTS], &mut minima[..T::WEIGHTS / GROUP]);
            let mut scales = [0.0; 2];
            match blocks.get(at) {
                Some(block) => {
                    block.quants(numbers);
                    block.minima(minima);
                    scales = block.scales().map(&single);
                }
                None => numbers.fill(0),
            }
            let pairs = &mut self.quants[at * T::WEIGHTS / 2..][..T::WEIGHTS / 2];
            for (to, pair) in pairs.iter_mut().zip(numbers.as_chunks::<2>().0) {
                to[row] = *pair;
            }
            self.scales[at][row] = scales[0];
            for (to, minimum) in self.minima.iter_mut().skip(at * T::WEIGHTS / GROUP).zip(&*minima) {
                to[row] = scales[1] * f32::from(*minimum);
            }
        }
    }
}

/// A matrix of blocks times columns of activations, each of as many numbers as the matrix has columns; `out` has the columns of a
/// row one after the other.
pub(super) fn blocks<T: Format>(
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
    let packed = Packed::new::<T::X>(team, x, weights.columns(), columns);
    let length = weights.columns() / T::WEIGHTS;
    let chunk = CHUNK / T::WEIGHTS;
    let panels: Vec<_> = weights.data().chunks(length * ROWS).zip(out.chunks_mut(columns * ROWS)).collect();
    team.each(panels, |(weights, out)| {
        let mut panel = Panel::new::<T>();
        let mut tiles = vec![Tile::default(); packed.columns / AT_ONCE];
        for at in 0..length.div_ceil(chunk) {
            for (row, blocks) in weights.chunks(length).enumerate() {
                let blocks = blocks.get(at * chunk..).unwrap_or_default();
                super::unpack(isa, &mut panel, row, &blocks[..blocks.len().min(chunk)]);
            }
            for (group, tile) in tiles.iter_mut().enumerate() {
                let x = std::array::from_fn(|next| packed.column(at, group * AT_ONCE + next));
                super::multiply(isa, &panel, x, tile);
            }
        }
        store(&tiles, columns, out);
    });
    Ok(())
}

/// As [`blocks`], for weights that are numbers of their own.
pub(super) fn numbers<T: Weight<X = f32>>(
    team: &Team,
    weights: Matrix<T>,
    x: &[f32],
    columns: usize,
    out: &mut [f32],
    value: impl Fn(&T) -> f32 + Sync,
) -> Result<(), KernelError> {
    check(&weights, x, columns, out)?;
    if columns < FEW {
        return one_by_one(team, weights, x, columns, out);
    }
    let (isa, length) = (team.isa(), weights.columns());
    let panels: Vec<_> = weights.data().chunks(length * ROWS).zip(out.chunks_mut(columns * ROWS)).collect();
    team.each(panels, |(weights, out)| {
        let mut panel = vec![[0f32; ROWS]; CHUNK];
        let mut tiles = vec![Tile::default(); columns.div_ceil(AT_ONCE)];
        for start in (0..length).step_by(CHUNK) {
            let panel = &mut panel[..CHUNK.min(length - start)];
            for (row, numbers) in weights.chunks(length).enumerate() {
                for (to, number) in panel.iter_mut().zip(&numbers[start..]) {
                    to[row] = value(number);
                }
            }
            for (group, tile) in tiles.iter_mut().enumerate() {
                let x = std::array::from_fn(|next| {
                    // A column too many is the last one again, and is not stored.
                    let column = (group * AT_ONCE + next).min(columns - 1);
                    &x[column * length + start..][..panel.len()]
                });
                super::multiply_floats(isa, panel, x, tile);
            }
        }
        store(&tiles, columns, out);
    });
    Ok(())
}

fn check<T: Weight>(weights: &Matrix<T>, x: &[f32], columns: usize, out: &[f32]) -> Result<(), KernelError> {
    same_length("activations", weights.columns().saturating_mul(columns), x.len())?;
    same_length("output", weights.rows().saturating_mul(columns), out.len())
}

/// Writes the sums of a panel's rows, row by row.
fn store(tiles: &[Tile], columns: usize, out: &mut [f32]) {
    for (row, out) in out.chunks_mut(columns).enumerate() {
        for (out, sums) in out.iter_mut().zip(tiles.as_flattened()) {
            *out = sums[row];
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
