//! Properties of the Q8_0 kernels and of the arithmetic of block formats, which no contract states.
//!
//! They are about indexes, lengths, overflow and small blocks: what a model checker decides within seconds. The
//! error bound of a whole block of arbitrary f32 values is tested with the kernels, not proven here.

use roofline::kernels::BlockQ8_0;
use roofline::kernels::scalar;
use roofline::model::{Dtype, GgmlType};

use crate::values::Values;

/// The largest finite f16.
const LARGEST_F16: f32 = 65504.0;

/// Runs a check with one of the numbers below `count`, a constant on each path: a model checker folds what depends on
/// it, where a variable would leave loops of unknown length, divisions and products to it.
fn each<V: Values>(values: &mut V, count: u64, check: impl Fn(&mut V, u64)) {
    let chosen = values.below(count);
    for number in 0..count {
        if number == chosen {
            check(values, number);
        }
    }
}

/// Quants of which the first and the last are any byte, and all others at their worst.
fn quants(values: &mut impl Values) -> [i8; 32] {
    let bits = values.bits();
    let mut quants = [-128; 32];
    (quants[0], quants[31]) = (bits as i8, (bits >> 8) as i8);
    quants
}

/// The finite f16 with these bits.
fn f16(bits: u16) -> Option<half::f16> {
    let finite = bits & 0x7c00 != 0x7c00;
    finite.then(|| half::f16::from_bits(bits))
}

/// Dequantizing writes every value of a whole block, each within the format, and nothing after it.
pub fn dequantize_writes_whole_blocks_only<V: Values>(values: &mut V) {
    let Some(scale) = f16(values.bits() as u16) else { return };
    let block = BlockQ8_0::new(scale, quants(values));
    each(values, 4, |values, case| {
        let length = [0, 31, 32, 40][case as usize];
        let mut out = [f32::MAX; 40];
        scalar::dequantize_q8_0(&mut out[..length], &[block]);
        values.cover(length > 32 && block.quants[31] == 127);
        let weight = out[values.below(32) as usize];
        if length < 32 {
            assert!(weight == f32::MAX, "a part of a block was written");
        } else {
            assert!(weight.abs() <= LARGEST_F16 * 128.0, "a weight is outside the format");
        }
        let after = 32 + values.below(8) as usize;
        assert!(out[after] == f32::MAX, "something after the block was written");
    });
}

/// The integer product of two blocks fits.
pub fn a_block_product_never_overflows<V: Values>(values: &mut V) {
    let (mut a, mut b) = (BlockQ8_0::ZERO, BlockQ8_0::ZERO);
    (a.quants, b.quants) = (quants(values), quants(values));
    let sum = scalar::block_sum(&a, &b);
    values.cover(sum == 32 * 128 * 128);
    assert!((-32 * 128 * 128..=32 * 128 * 128).contains(&sum));
}

/// No value up to the largest of its block becomes a quant outside -127 to 127, or one of the other sign.
pub fn quantized_values_stay_within_127<V: Values>(values: &mut V) {
    let value = f32::from_bits(values.bits() as u32);
    each(values, 3, |values, case| {
        let largest = [1.0, 1e-30, f32::MAX][case as usize];
        if value.abs() <= largest {
            let quant = scalar::quantize(value, scalar::steps_per_unit(largest));
            values.cover(quant == 127);
            assert!((-127..=127).contains(&quant), "a quant is outside -127 to 127");
            assert!(quant == 0 || (quant < 0) == (value < 0.0), "a quant lost its sign");
        }
    });
}

/// A matrix of any length and any number of rows reads and writes within its slices.
pub fn a_matrix_product_stays_within_its_slices<V: Values>(values: &mut V) {
    each(values, 5 * 3 * 4, |values, case| {
        let (blocks, columns, rows) = (case as usize % 5, case as usize / 5 % 3, case as usize / 15);
        let weights = [BlockQ8_0::ZERO; 4];
        let x = [BlockQ8_0::ZERO; 2];
        let mut out = [1f32; 3];
        scalar::matvec_q8_0_q8_0(&weights[..blocks], &x[..columns], &mut out[..rows]);
        values.cover(blocks == 4 && rows == 2);
        for (row, value) in out.iter().enumerate() {
            assert!(*value == if row < rows.min(blocks) { 0.0 } else { 1.0 });
        }
    });
}

/// Runs a check with each type that a ggml file may use.
fn each_type<V: Values>(values: &mut V, check: impl Fn(&mut V, Dtype)) {
    each(values, 43, |values, id| {
        if let GgmlType::Known(dtype) = Dtype::from_ggml(id as u32) {
            check(values, dtype);
        }
    });
}

/// Whole blocks of every ggml type take the bytes of that many blocks.
pub fn whole_blocks_take_whole_bytes<V: Values>(values: &mut V) {
    let blocks = values.below(1 << 16);
    each_type(values, |values, dtype| {
        let Some((block, bytes)) = dtype.block() else { return };
        values.cover(block == 256 && blocks > 1);
        assert!(dtype.bytes(blocks * block) == Some(blocks * bytes));
    });
}

/// The bytes of tensors near the largest count are right or refused, for every ggml type; they never wrap.
pub fn bytes_of_huge_tensors_never_wrap<V: Values>(values: &mut V) {
    let elements = u64::MAX - values.below(1 << 9);
    each_type(values, |values, dtype| {
        let bytes = dtype.bytes(elements);
        values.cover(bytes.is_some());
        // No type is below an eighth of a byte for each element.
        assert!(bytes.is_none_or(|bytes| bytes >= elements / 8));
    });
}
