//! Q8_K: what activations are quantized to for blocks of 256 weights: bytes, one f32 scale, and the sums that minima and
//! offsets are multiplied with.

use std::cmp::Ordering;

use super::{Activation, Quantized, Scale};
use crate::isa::Isa;
use crate::matrix::sealed;

/// 256 activations in 292 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct BlockQ8K {
    pub(super) scale: f32,
    pub(super) quants: [i8; 256],
    /// The sum of each 16 quants.
    pub(super) sums: [i16; 16],
}

const _: () = assert!(size_of::<BlockQ8K>() == 292);

impl BlockQ8K {
    /// A block with this scale and these quants.
    pub fn new(scale: f32, quants: [i8; 256]) -> Self {
        let mut sums = [0; 16];
        for (sum, group) in sums.iter_mut().zip(quants.as_chunks::<16>().0) {
            *sum = group.iter().map(|quant| i16::from(*quant)).sum();
        }
        BlockQ8K { scale, quants, sums }
    }
}

// SAFETY: plain numbers; 4 + 256 + 32 bytes at a multiple of 4 leave no padding.
unsafe impl sealed::Bytes for BlockQ8K {}

impl Activation for BlockQ8K {
    const COUNT: usize = 256;
    const ZERO: BlockQ8K = BlockQ8K { scale: 0.0, quants: [0; 256], sums: [0; 16] };

    fn quantize(isa: Isa, blocks: &mut [BlockQ8K], values: &[f32]) {
        crate::quantize_blocks_q8_k(isa, blocks, values);
    }
}

impl BlockQ8K {
    /// As ggml's reference does: the number of largest size, the first of several, becomes -127, and halves go to the even neighbour. NaN or infinity
    /// make the scale NaN, so that they cannot vanish.
    #[inline(always)]
    pub fn quantized(values: &[f32; 256]) -> BlockQ8K {
        let (mut most, mut least, mut finite) = (0f32, 0f32, true);
        for value in values {
            most = if *value > most { *value } else { most };
            least = if *value < least { *value } else { least };
            finite &= value.is_finite();
        }
        let largest = match most.total_cmp(&-least) {
            Ordering::Greater => most,
            Ordering::Less => least,
            Ordering::Equal => values.iter().copied().find(|value| value.abs() == most).unwrap_or(0.0),
        };
        let steps = -127.0 / largest;
        if !finite {
            return BlockQ8K { scale: f32::NAN, ..BlockQ8K::ZERO };
        }
        if !steps.is_finite() {
            return BlockQ8K::ZERO;
        }
        let mut quants = [0i8; 256];
        for (quant, value) in quants.iter_mut().zip(values) {
            *quant = (value * steps).round_ties_even() as i8;
        }
        BlockQ8K::new(1.0 / steps, quants)
    }
}

impl Quantized for BlockQ8K {
    fn quants(&self) -> &[i8] {
        &self.quants
    }

    #[inline(always)]
    fn scale(&self) -> Scale {
        Scale::Single(self.scale)
    }
}
