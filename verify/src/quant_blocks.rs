//! Properties of the Q8_0 kernels and of the arithmetic of block formats, which are not part of a contract.
//!
//! They cover indices, lengths, overflow and small blocks, which a model checker decides within seconds. The error bound of
//! a whole block of arbitrary f32 values is tested with the kernels instead.

use roofline::kernels::BlockQ8_0;
use roofline::kernels::scalar;
use roofline::model::readers::in_blocks;

use crate::values::Values;

/// The largest finite f16.
const MAX_F16: f32 = 65504.0;

/// Runs a check with one of the numbers below `count`, as a constant on each path. A model checker folds constants, but
/// handles loops, divisions and products of variables poorly.
pub(crate) fn each<V: Values>(values: &mut V, count: u64, check: impl Fn(&mut V, u64)) {
    let chosen = values.below(count);
    for number in 0..count {
        if number == chosen {
            check(values, number);
        }
    }
}

/// Codes whose first and last values are symbolic, and all others the worst case.
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

/// Dequantizing writes every value of whole blocks and nothing after them, for any length.
pub fn dequantize_writes_only_whole_blocks<V: Values>(values: &mut V) {
    let block = BlockQ8_0::new(half::f16::ONE, [1; 32]);
    each(values, 2, |values, case| {
        let length = [31, 40][case as usize];
        let mut out = [0f32; 40];
        scalar::dequantize_q8_0(&mut out[..length], &[block]);
        values.cover(length > 32);
        for (index, value) in out.iter().enumerate() {
            let written = length >= 32 && index < 32;
            assert!((*value == 1.0) == written, "wrote a partial block or past the end");
        }
    });
}

/// A weight is its code times the scale of its block, at any index, and within the range of the format.
pub fn a_weight_is_its_code_times_the_scale<V: Values>(values: &mut V) {
    let Some(scale) = f16(values.bits() as u16) else { return };
    let block = BlockQ8_0::new(scale, quants(values));
    let mut out = [0f32; 32];
    scalar::dequantize_q8_0(&mut out, &[block]);
    values.cover(block.qs[31] == 127 && scale.is_sign_negative());
    for place in [0, 31] {
        let (weight, quant) = (out[place], block.qs[place]);
        assert!(weight.abs() <= MAX_F16 * 128.0, "a weight is outside the range of the format");
        let negative = (quant < 0) != scale.is_sign_negative();
        assert!(weight == 0.0 || (weight < 0.0) == negative, "a weight has the wrong sign");
        assert!((weight == 0.0) == (quant == 0 || scale == half::f16::ZERO), "a nonzero weight became zero");
    }
}

/// The integer product of two blocks does not overflow.
pub fn a_block_product_never_overflows<V: Values>(values: &mut V) {
    let (mut a, mut b) = (BlockQ8_0::ZERO, BlockQ8_0::ZERO);
    (a.qs, b.qs) = (quants(values), quants(values));
    let sum = scalar::block_sum(&a, &b);
    values.cover(sum == 32 * 128 * 128);
    assert!((-32 * 128 * 128..=32 * 128 * 128).contains(&sum));
}

/// Values up to the maximum of their block become codes from -127 to 127 with the same sign.
pub fn quantized_values_stay_within_127<V: Values>(values: &mut V) {
    let value = f32::from_bits(values.bits() as u32);
    each(values, 3, |values, case| {
        let largest = [1.0, 1e-30, f32::MAX][case as usize];
        if value.abs() <= largest {
            let quant = scalar::quantize(value, scalar::steps_per_unit(largest));
            values.cover(quant == 127);
            assert!((-127..=127).contains(&quant), "a code is outside -127 to 127");
            assert!(quant == 0 || (quant < 0) == (value < 0.0), "a code has the wrong sign");
        }
    });
}

/// The row loop of every matrix product, with scalar weights: complete rows, missing weights, no weights and no columns.
/// Reads and writes stay within the slices.
pub fn a_matrix_product_stays_within_its_slices<V: Values>(values: &mut V) {
    /// Initial value of the output.
    const UNWRITTEN: f32 = -1.0;
    // Weights, columns, rows, and the results for inputs of ones.
    const SHAPES: [(usize, usize, usize, [f32; 3]); 5] = [
        (6, 2, 3, [2.0, 2.0, 2.0]),
        (5, 2, 2, [2.0, 2.0, UNWRITTEN]),
        (2, 1, 3, [1.0, 1.0, UNWRITTEN]),
        (0, 1, 2, [UNWRITTEN; 3]),
        (4, 0, 2, [0.0, 0.0, UNWRITTEN]),
    ];
    each(values, SHAPES.len() as u64, |values, case| {
        let (weights, columns, rows, expected) = SHAPES[case as usize];
        let mut out = [UNWRITTEN; 3];
        scalar::matvec_f32(&[1.0; 6][..weights], &[1.0; 2][..columns], &mut out[..rows]);
        values.cover(rows == 3);
        for (value, expected) in out.iter().zip(expected) {
            assert!(*value == expected, "a product read or wrote the wrong number of rows");
        }
    });
}

/// Elements and bytes of representative blocks: scalars and quantized blocks. A test covers the blocks of every type.
const BLOCKS: [(u64, u64); 3] = [(1, 4), (32, 34), (256, 210)];

/// Elements of whole blocks have the size of these blocks, or none if it does not fit in 64 bits.
pub fn whole_blocks_have_an_exact_size<V: Values>(values: &mut V) {
    let blocks = values.bits();
    each(values, BLOCKS.len() as u64, |values, index| {
        let (block, bytes) = BLOCKS[index as usize];
        // Most random numbers are too large.
        let blocks = if cfg!(kani) { blocks } else { blocks >> (blocks % 16) };
        let Some(elements) = blocks.checked_mul(block) else { return };
        values.cover(block == 256 && blocks > 1);
        assert!(in_blocks(elements, (block, bytes)) == blocks.checked_mul(bytes), "a size wrapped");
    });
}

/// Elements that do not fill whole blocks have no size.
pub fn partial_blocks_have_no_size<V: Values>(values: &mut V) {
    let elements = values.bits();
    each(values, BLOCKS.len() as u64, |values, index| {
        let (block, bytes) = BLOCKS[index as usize];
        let part = elements & (block - 1) != 0;
        values.cover(part);
        assert!(!part || in_blocks(elements, (block, bytes)).is_none(), "a partial block has a size");
    });
}

drive! {
    dequantize_writes_only_whole_blocks unwind 42;
    a_weight_is_its_code_times_the_scale unwind 34;
    a_block_product_never_overflows unwind 34;
    quantized_values_stay_within_127 unwind 8;
    a_matrix_product_stays_within_its_slices unwind 8;
    whole_blocks_have_an_exact_size unwind 4;
    partial_blocks_have_no_size unwind 4;
}

#[cfg(test)]
mod table {
    use roofline::model::Dtype;

    /// The properties above for the blocks of all types, for small and large counts.
    #[test]
    fn sizes_of_all_types_are_exact_and_do_not_wrap() {
        for dtype in Dtype::all() {
            let Some((block, bytes)) = dtype.block() else { panic!("{dtype} has no size") };
            assert!(bytes * 8 >= block && block <= 256, "{dtype}");
            for blocks in (0..200).chain([1 << 16, 1 << 32]) {
                assert_eq!(dtype.bytes(blocks * block), Some(blocks * bytes), "{dtype}");
            }
            for elements in (u64::MAX - 600..=u64::MAX).filter(|elements| elements % block == 0) {
                let exact = u128::from(elements / block) * u128::from(bytes);
                assert_eq!(dtype.bytes(elements), u64::try_from(exact).ok(), "{dtype}");
            }
        }
    }
}
