//! The Q8_0 block as ggml's files store it, and slices of it over plain bytes.

use half::f16;

use super::KernelError;

/// 32 weights in 34 bytes: one f16 scale, little endian, then 32 signed bytes. The weight is
/// `scale * quant`. Alignment 1, so that a block can lie anywhere in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct BlockQ8_0 {
    scale: [u8; 2],
    /// The 32 quants.
    pub quants: [i8; 32],
}

impl BlockQ8_0 {
    /// Weights in a block.
    pub const WEIGHTS: usize = 32;
    /// Bytes of a block.
    pub const BYTES: usize = size_of::<BlockQ8_0>();
    /// A block of zeros.
    pub const ZERO: BlockQ8_0 = BlockQ8_0 { scale: [0; 2], quants: [0; 32] };

    /// A block with this scale and these quants.
    pub const fn new(scale: f16, quants: [i8; 32]) -> Self {
        BlockQ8_0 { scale: scale.to_le_bytes(), quants }
    }

    /// The factor that turns quants into weights.
    pub const fn scale(&self) -> f16 {
        f16::from_le_bytes(self.scale)
    }

    /// The blocks that these bytes of a file hold.
    pub fn from_bytes(bytes: &[u8]) -> Result<&[BlockQ8_0], KernelError> {
        super::matrix::cast(bytes)
    }

    /// The bytes of these blocks, as a file holds them.
    pub fn to_bytes(blocks: &[BlockQ8_0]) -> &[u8] {
        // SAFETY: `repr(C)` of two byte arrays: no padding, every byte is initialized, and the slice
        // covers exactly the memory of `blocks` for as long as it is borrowed.
        unsafe { std::slice::from_raw_parts(blocks.as_ptr().cast(), size_of_val(blocks)) }
    }
}

const _: () = assert!(BlockQ8_0::BYTES == 34 && align_of::<BlockQ8_0>() == 1);
