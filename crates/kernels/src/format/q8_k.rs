//! Q8_K: 256 activations of 8 bits with an f32 scale, and the sums needed for minima and offsets.

use std::cmp::Ordering;

use super::{Activation, QuantizedActivation, Scale};
use crate::isa::Isa;
use crate::matrix::sealed;

/// 256 activations in 292 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct BlockQ8K {
    pub(super) d: f32,
    pub(super) qs: [i8; 256],
    /// Sum of each 16 values.
    pub(super) bsums: [i16; 16],
}

const _: () = assert!(size_of::<BlockQ8K>() == 292);

impl BlockQ8K {
    /// Creates a block from a scale and quantized values.
    pub fn new(d: f32, qs: [i8; 256]) -> Self {
        let mut bsums = [0; 16];
        for (sum, group) in bsums.iter_mut().zip(qs.as_chunks::<16>().0) {
            *sum = group.iter().map(|q| i16::from(*q)).sum();
        }
        BlockQ8K { d, qs, bsums }
    }
}

// SAFETY: integers and a float; 4 + 256 + 32 bytes at alignment 4 leave no padding.
unsafe impl sealed::Pod for BlockQ8K {}

impl Activation for BlockQ8K {
    const ACTIVATIONS: usize = 256;
    const ZERO: BlockQ8K = BlockQ8K { d: 0.0, qs: [0; 256], bsums: [0; 16] };

    fn quantize(isa: Isa, blocks: &mut [BlockQ8K], values: &[f32]) {
        crate::quantize_blocks_q8_k(isa, blocks, values);
    }
}

impl BlockQ8K {
    /// Quantizes 256 values like ggml's reference quantizer: the first value of largest magnitude becomes -127, and ties round to even. NaN
    /// or infinity make the scale NaN, so that they propagate.
    #[inline(always)]
    pub fn from_f32(values: &[f32; 256]) -> BlockQ8K {
        let (mut max, mut min, mut finite) = (0f32, 0f32, true);
        for value in values {
            max = if *value > max { *value } else { max };
            min = if *value < min { *value } else { min };
            finite &= value.is_finite();
        }
        let largest = match max.total_cmp(&-min) {
            Ordering::Greater => max,
            Ordering::Less => min,
            Ordering::Equal => values.iter().copied().find(|value| value.abs() == max).unwrap_or(0.0),
        };
        let steps = -127.0 / largest;
        if !finite {
            return BlockQ8K { d: f32::NAN, ..BlockQ8K::ZERO };
        }
        if !steps.is_finite() {
            return BlockQ8K::ZERO;
        }
        let mut qs = [0i8; 256];
        for (q, value) in qs.iter_mut().zip(values) {
            *q = (value * steps).round_ties_even() as i8;
        }
        BlockQ8K::new(1.0 / steps, qs)
    }
}

impl QuantizedActivation for BlockQ8K {
    fn qs(&self) -> &[i8] {
        &self.qs
    }

    #[inline(always)]
    fn scale(&self) -> Scale {
        Scale::F32(self.d)
    }
}
