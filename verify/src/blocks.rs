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

/// A block whose scale is any finite f16 and one of whose quants is any byte; and which one that is.
fn block(values: &mut impl Values) -> Option<(BlockQ8_0, usize)> {
    let scale = f16(values.bits() as u16)?;
    let mut quants = [-128; 32];
    let at = values.below(32) as usize;
    quants[at] = values.byte();
    Some((BlockQ8_0::new(scale, quants), at))
}

/// The finite f16 with these bits.
fn f16(bits: u16) -> Option<half::f16> {
    let finite = bits & 0x7c00 != 0x7c00;
    finite.then(|| half::f16::from_bits(bits))
}

/// Dequantizing writes every value of a whole block, each within the format, and nothing after it.
pub fn dequantize_writes_whole_blocks_only<V: Values>(values: &mut V) {
    let Some((block, at)) = block(values) else { return };
    let length = values.below(41) as usize;
    let mut out = [f32::MAX; 40];
    scalar::dequantize_q8_0(&mut out[..length], &[block]);
    values.cover(length > 32 && block.quants[at] == 127);
    let weight = out[at];
    if length < 32 {
        assert!(weight == f32::MAX, "a part of a block was written");
    } else {
        assert!(weight.abs() <= LARGEST_F16 * 128.0, "a weight is outside the format");
    }
    let after = 32 + values.below(8) as usize;
    assert!(out[after] == f32::MAX, "something after the block was written");
}

/// The integer product of two blocks fits, with all other quants at their worst.
pub fn a_block_product_never_overflows<V: Values>(values: &mut V) {
    let (first, second) = (values.below(32) as usize, values.below(32) as usize);
    let (mut a, mut b) = (BlockQ8_0::ZERO, BlockQ8_0::ZERO);
    (a.quants, b.quants) = ([-128; 32], [-128; 32]);
    a.quants[first] = values.byte();
    b.quants[second] = values.byte();
    let sum = scalar::block_sum(&a, &b);
    values.cover(sum == 32 * 128 * 128);
    assert!((-32 * 128 * 128..=32 * 128 * 128).contains(&sum));
}

/// Quantizing a block of small whole numbers gives quants within 127, the largest of them exactly 127.
pub fn quantized_values_stay_within_127<V: Values>(values: &mut V) {
    let largest = 1 + values.below(15) as i32;
    let other = values.below(31) as i32 - 15;
    let at = values.below(31) as usize;
    if other.abs() > largest {
        return;
    }
    let mut block = [0f32; 32];
    block[at] = other as f32;
    block[31] = largest as f32;
    let quants = scalar::quantize_block(&block).quants;
    values.cover(quants[at] == -127);
    assert!(quants[31] == 127, "the largest value is not 127 steps");
    assert!((-127..=127).contains(&quants[at]), "a quant is outside -127 to 127");
    assert!((quants[at] < 0) == (other < 0), "a quant lost its sign");
}

/// A matrix of any length and any number of rows reads and writes within its slices.
pub fn a_matrix_product_stays_within_its_slices<V: Values>(values: &mut V) {
    let weights = [BlockQ8_0::ZERO; 4];
    let x = [BlockQ8_0::ZERO; 2];
    let mut out = [1f32; 3];
    let blocks = values.below(5) as usize;
    let columns = values.below(3) as usize;
    let rows = values.below(4) as usize;
    scalar::matvec_q8_0_q8_0(&weights[..blocks], &x[..columns], &mut out[..rows]);
    values.cover(blocks == 4 && rows == 2);
    for (row, value) in out.iter().enumerate() {
        assert!(*value == if row < rows.min(blocks) { 0.0 } else { 1.0 });
    }
}

/// Whole blocks of every ggml type take the bytes of that many blocks.
pub fn whole_blocks_take_whole_bytes<V: Values>(values: &mut V) {
    let GgmlType::Known(dtype) = Dtype::from_ggml(values.below(43) as u32) else { return };
    let Some((block, bytes)) = dtype.block() else { return };
    let blocks = values.below(1 << 16);
    values.cover(block == 256 && blocks > 1);
    assert!(dtype.bytes(blocks * block) == Some(blocks * bytes));
}

/// The bytes of tensors near the largest count are right or refused, for every ggml type; they never wrap.
pub fn bytes_of_huge_tensors_never_wrap<V: Values>(values: &mut V) {
    let GgmlType::Known(dtype) = Dtype::from_ggml(values.below(43) as u32) else { return };
    let elements = u64::MAX - values.below(1 << 9);
    let bytes = dtype.bytes(elements);
    values.cover(bytes.is_some());
    // No type is below an eighth of a byte for each element.
    assert!(bytes.is_none_or(|bytes| bytes >= elements / 8));
}
