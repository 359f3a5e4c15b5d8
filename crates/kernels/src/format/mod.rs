//! Quantization formats. One file per format decodes its blocks in portable Rust and implements the dot product of a block with
//! quantized activations for each instruction set. Loops over rows and columns are shared by all formats.
//!
//! A weight is `scales[0] * value + scales[1] * minimum`, where values and minima are integers that include the group scale. The dot
//! product of a block is therefore exact; rounding starts with the block scales.
//!
//! Fields have ggml's names: `d` and `dmin` (or `m`) are the scales of values and minima, `qs` the quantized weights or their low bits,
//! `qh` and `hmask` their high bits, `scales` the packed group scales and minima.

mod iq4_nl;
mod iq4_xs;
mod mxfp4;
mod nvfp4;
mod q2_k;
mod q3_k;
mod q4_0;
mod q4_1;
mod q4_k;
mod q5_0;
mod q5_1;
mod q5_k;
mod q6_k;
mod q8_0;
mod q8_k;

use half::{bf16, f16};

use super::dyn_matrix::DynMatrix;
use super::matrix::{Matrix, Weight, sealed};
use super::{BlockKernel, KernelError};
use crate::isa::Isa;

pub use iq4_nl::BlockIq4Nl;
pub use iq4_xs::BlockIq4Xs;
pub use mxfp4::BlockMxfp4;
pub use nvfp4::BlockNvfp4;
pub use q2_k::BlockQ2K;
pub use q3_k::BlockQ3K;
pub use q4_0::BlockQ4_0;
pub use q4_1::BlockQ4_1;
pub use q4_k::BlockQ4K;
pub use q5_0::BlockQ5_0;
pub use q5_1::BlockQ5_1;
pub use q5_k::BlockQ5K;
pub use q6_k::BlockQ6K;
pub use q8_0::BlockQ8_0;
pub use q8_k::BlockQ8K;

/// Maximum number of weights per block.
pub const MAX_BLOCK_WEIGHTS: usize = 256;
/// Maximum number of scale groups per block.
pub const MAX_BLOCK_GROUPS: usize = 16;

/// A block format whose group scales are integers, so that the dot product of a block is exact.
pub trait BlockFormat: Weight<X: QuantizedActivation> + BlockKernel<<Self as Weight>::X> {
    /// Number of weights that share a scale and a minimum.
    const GROUP: usize = 32;
    /// Bits per code, after the codebook.
    const BITS: u32;
    /// Table that maps stored 4-bit codes to bytes.
    const CODEBOOK: Option<&'static [u8; 16]> = None;
    /// Value subtracted from the codes, after the codebook.
    const OFFSET: u8 = 0;
    /// True if groups have a minimum in addition to a scale.
    const HAS_MINIMA: bool = false;

    /// Unpacks the stored codes, one per weight.
    fn codes(&self, codes: &mut [u8]);

    /// Unpacks the integer scale of each group.
    #[inline(always)]
    fn group_scales(&self, scales: &mut [i16]) {
        scales.fill(1);
    }

    /// Unpacks the integer minimum of each group.
    #[inline(always)]
    fn group_minima(&self, minima: &mut [i16]) {
        minima.fill(0);
    }

    /// Computes the integer value of each weight: the code minus the offset, times the group scale.
    #[inline(always)]
    fn values(&self, values: &mut [i16]) {
        let (mut codes, mut scales) = ([0; MAX_BLOCK_WEIGHTS], [0; MAX_BLOCK_GROUPS]);
        self.codes(&mut codes[..Self::WEIGHTS]);
        if let Some(codebook) = Self::CODEBOOK {
            apply_codebook(codebook, &mut codes[..Self::WEIGHTS]);
        }
        self.group_scales(&mut scales[..Self::WEIGHTS / Self::GROUP]);
        let groups = values.chunks_exact_mut(Self::GROUP).zip(codes.chunks_exact(Self::GROUP));
        for ((values, codes), scale) in groups.zip(scales) {
            for (value, code) in values.iter_mut().zip(codes) {
                *value = (i16::from(*code) - i16::from(Self::OFFSET)) * scale;
            }
        }
    }

    /// Scales of the integer values and of the minima.
    fn block_scales(&self) -> [Scale; 2];
}

/// Weights that unpack into byte codes and f32 group scales, as GEMM panels need them.
pub trait Unpack: Weight<X: QuantizedActivation> {
    /// Number of weights that share a scale and a minimum.
    const GROUP: usize;
    /// Bits per code, after the codebook.
    const BITS: u32;
    /// Table that maps stored 4-bit codes to bytes.
    const CODEBOOK: Option<&'static [u8; 16]>;
    /// Value subtracted from the codes, after the codebook.
    const OFFSET: u8;
    /// True if groups have a minimum in addition to a scale.
    const HAS_MINIMA: bool;

    /// Unpacks the stored codes, one per weight.
    fn codes(&self, codes: &mut [u8]);

    /// Computes the scale and minimum of each group; `to_f32` converts a stored scale.
    fn f32_scales(&self, to_f32: impl Fn(Scale) -> f32, scales: &mut [f32], minima: &mut [f32]);
}

impl<T: BlockFormat> Unpack for T {
    const GROUP: usize = <T as BlockFormat>::GROUP;
    const BITS: u32 = <T as BlockFormat>::BITS;
    const CODEBOOK: Option<&'static [u8; 16]> = <T as BlockFormat>::CODEBOOK;
    const OFFSET: u8 = <T as BlockFormat>::OFFSET;
    const HAS_MINIMA: bool = <T as BlockFormat>::HAS_MINIMA;

    #[inline(always)]
    fn codes(&self, codes: &mut [u8]) {
        BlockFormat::codes(self, codes);
    }

    #[inline(always)]
    fn f32_scales(&self, to_f32: impl Fn(Scale) -> f32, scales: &mut [f32], minima: &mut [f32]) {
        let mut integers = [0; MAX_BLOCK_GROUPS];
        let (integers, [scale, min_scale]) = (&mut integers[..scales.len()], self.block_scales());
        let (scale, min_scale) = (to_f32(scale), to_f32(min_scale));
        self.group_scales(integers);
        for (to, integer) in scales.iter_mut().zip(&*integers) {
            *to = scale * f32::from(*integer);
        }
        if <T as BlockFormat>::HAS_MINIMA {
            self.group_minima(integers);
            for (to, integer) in minima.iter_mut().zip(&*integers) {
                *to = min_scale * f32::from(*integer);
            }
        }
    }
}

/// A scale as stored. The conversion to f32 depends on the instruction set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// Half precision.
    F16(f16),
    /// Single precision.
    F32(f32),
}

impl Scale {
    /// Zero.
    pub const ZERO: Scale = Scale::F16(f16::ZERO);

    /// Reads a little-endian f16.
    #[inline(always)]
    fn from_f16_bytes(bytes: [u8; 2]) -> Scale {
        Scale::F16(f16::from_le_bytes(bytes))
    }

    /// Converts to f32, exactly.
    #[inline(always)]
    pub fn to_f32(self) -> f32 {
        match self {
            Scale::F16(scale) => scale.to_f32(),
            Scale::F32(scale) => scale,
        }
    }
}

impl std::ops::Neg for Scale {
    type Output = Scale;

    #[inline(always)]
    fn neg(self) -> Scale {
        match self {
            Scale::F16(scale) => Scale::F16(f16::from_bits(scale.to_bits() ^ 0x8000)),
            Scale::F32(scale) => Scale::F32(-scale),
        }
    }
}

/// A storage type for activations.
pub trait Activation: sealed::Pod + Copy + Send + Sync + 'static {
    /// Number of activations in one value.
    const ACTIVATIONS: usize;
    /// All activations zero.
    const ZERO: Self;

    /// Quantizes `values`, [`Activation::ACTIVATIONS`] per block.
    fn quantize(isa: Isa, blocks: &mut [Self], values: &[f32]);
}

/// A block of integer activations with a scale.
pub trait QuantizedActivation: Activation {
    /// The quantized values.
    fn qs(&self) -> &[i8];

    /// Scale of the quantized values.
    fn scale(&self) -> Scale;
}

impl Activation for f32 {
    const ACTIVATIONS: usize = 1;
    const ZERO: f32 = 0.0;

    fn quantize(_: Isa, blocks: &mut [f32], values: &[f32]) {
        for (block, value) in blocks.iter_mut().zip(values) {
            *block = *value;
        }
    }
}

/// Declares a block format: type, name, weights per block, bytes per block, activation type, and fields in file order.
macro_rules! block {
    ($(#[$doc:meta])* $block:ident, $name:literal, $weights:literal, $bytes:literal, $x:ty, { $($field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(C)]
        pub struct $block {
            $($field: $type,)*
        }

        const _: () = assert!(size_of::<$block>() == $bytes && align_of::<$block>() == 1);

        // SAFETY: bytes and byte arrays without padding, as the assertion above checks.
        unsafe impl $crate::matrix::sealed::Pod for $block {}

        impl $crate::Weight for $block {
            type X = $x;
            const WEIGHTS: usize = $weights;
            const NAME: &'static str = $name;

            fn matvec(isa: $crate::isa::Isa, weights: &[$block], x: &[$x], out: &mut [f32]) {
                $crate::matvec_blocks(isa, weights, x, out);
            }

            fn matmul(
                pool: &$crate::ThreadPool,
                weights: $crate::Matrix<$block>,
                x: &[f32],
                columns: usize,
                out: &mut [f32],
            ) -> Result<(), $crate::KernelError> {
                $crate::gemm::matmul_blocks(pool, weights, x, columns, out)
            }
        }
    };
}
use block;

/// Declares [`WeightFormat`] with the weight type of each format.
macro_rules! weight_formats {
    ($($(#[$doc:meta])* $kind:ident $name:literal $weight:ty;)*) => {
        /// A weight format with kernels.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
        #[cfg_attr(feature = "serde", schemars(rename = "Kernel"))]
        pub enum WeightFormat {
            $(
                $(#[$doc])*
                #[cfg_attr(feature = "serde", serde(rename = $name))]
                $kind,
            )*
        }

        impl WeightFormat {
            /// All formats.
            pub const ALL: &[WeightFormat] = &[$(WeightFormat::$kind),*];

            /// Name in lower case, such as `q4_k`.
            pub fn name(self) -> &'static str {
                match self {
                    $(WeightFormat::$kind => $name,)*
                }
            }

            /// Number of weights and of bytes per block.
            pub fn block(self) -> (usize, usize) {
                match self {
                    $(WeightFormat::$kind => (<$weight>::WEIGHTS, size_of::<$weight>()),)*
                }
            }

            /// Required alignment of the weights in bytes.
            pub fn alignment(self) -> usize {
                match self {
                    $(WeightFormat::$kind => align_of::<$weight>(),)*
                }
            }

            /// Creates a matrix over the bytes of a file, which must be [aligned](WeightFormat::alignment).
            pub fn matrix(
                self,
                bytes: &[u8],
                rows: usize,
                columns: usize,
            ) -> Result<Box<dyn DynMatrix + '_>, KernelError> {
                Ok(match self {
                    $(WeightFormat::$kind => Box::new(Matrix::<$weight>::from_bytes(bytes, rows, columns)?),)*
                })
            }
        }

        const _: () = {
            $(assert!(const_str_eq($name, <$weight>::NAME));)*
        };
    };
}

/// Compares strings at compile time.
const fn const_str_eq(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

weight_formats! {
    /// 8 bits, an f16 scale per 32 weights.
    Q8_0 "q8_0" BlockQ8_0;
    /// IEEE half precision.
    F16 "f16" f16;
    /// bfloat16.
    Bf16 "bf16" bf16;
    /// IEEE single precision.
    F32 "f32" f32;
    /// 4 bits, an f16 scale per 32 weights.
    Q4_0 "q4_0" BlockQ4_0;
    /// 4 bits, an f16 scale and minimum per 32 weights.
    Q4_1 "q4_1" BlockQ4_1;
    /// 5 bits, an f16 scale per 32 weights.
    Q5_0 "q5_0" BlockQ5_0;
    /// 5 bits, an f16 scale and minimum per 32 weights.
    Q5_1 "q5_1" BlockQ5_1;
    /// 2 bits, a 4-bit scale and minimum per 16 weights.
    Q2K "q2_k" BlockQ2K;
    /// 3 bits, a 6-bit scale per 16 weights.
    Q3K "q3_k" BlockQ3K;
    /// 4 bits, a 6-bit scale and minimum per 32 weights.
    Q4K "q4_k" BlockQ4K;
    /// 5 bits, a 6-bit scale and minimum per 32 weights.
    Q5K "q5_k" BlockQ5K;
    /// 6 bits, an 8-bit scale per 16 weights.
    Q6K "q6_k" BlockQ6K;
    /// 4 bits with a codebook, an f16 scale per 32 weights.
    Iq4Nl "iq4_nl" BlockIq4Nl;
    /// 4 bits with a codebook, a 6-bit scale per 32 weights.
    Iq4Xs "iq4_xs" BlockIq4Xs;
    /// E2M1 floats, a power-of-two scale per 32 weights.
    Mxfp4 "mxfp4" BlockMxfp4;
    /// E2M1 floats, an E4M3 scale per 16 weights.
    Nvfp4 "nvfp4" BlockNvfp4;
}

impl WeightFormat {
    /// Looks up a format by name, ignoring case.
    pub fn from_name(name: &str) -> Option<WeightFormat> {
        WeightFormat::ALL.iter().copied().find(|kind| kind.name().eq_ignore_ascii_case(name))
    }

    /// Arithmetic of the kernels for this format.
    pub fn arithmetic(self) -> Arithmetic {
        match self {
            WeightFormat::F16 | WeightFormat::Bf16 | WeightFormat::F32 => Arithmetic::F32,
            WeightFormat::Q8_0 => Arithmetic::Int8,
            _ => Arithmetic::Int4,
        }
    }
}

/// Arithmetic used to multiply weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// 32-bit floats.
    F32,
    /// 8-bit integers.
    Int8,
    /// Integers of fewer bits, whose products can be summed in 16 bits.
    Int4,
}

/// Codebook of IQ4_NL and IQ4_XS.
pub(super) const IQ4_CODEBOOK: [i8; 16] =
    [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];
/// [`IQ4_CODEBOOK`] plus 128, as unsigned bytes.
const IQ4_CODEBOOK_BIASED: [u8; 16] = biased(IQ4_CODEBOOK, 128);

/// Adds `offset` to each value.
const fn biased(codes: [i8; 16], offset: u8) -> [u8; 16] {
    let mut biased = [0; 16];
    let mut at = 0;
    while at < 16 {
        biased[at] = offset.wrapping_add_signed(codes[at]);
        at += 1;
    }
    biased
}

/// Replaces each code by its codebook entry.
#[inline(always)]
pub(super) fn apply_codebook(codebook: &[u8; 16], codes: &mut [u8]) {
    for code in codes {
        *code = codebook[usize::from(*code & 15)];
    }
}

/// Unpacks 16 bytes into 32 codes: first the low nibbles, then the high nibbles.
#[inline(always)]
fn unpack_nibbles(bytes: &[u8; 16], codes: &mut [u8]) {
    let (low, high) = codes.split_at_mut(16);
    for ((low, high), byte) in low.iter_mut().zip(high).zip(bytes) {
        (*low, *high) = (byte & 15, byte >> 4);
    }
}

/// Sets bit 4 of each code whose bit in `qh` is set.
#[inline(always)]
fn or_high_bits(qh: [u8; 4], codes: &mut [u8]) {
    let qh = u32::from_le_bytes(qh);
    for (at, code) in codes.iter_mut().enumerate() {
        *code |= ((qh >> at & 1) as u8) << 4;
    }
}

/// Unpacks eight 6-bit scales and eight 6-bit minima of Q4_K and Q5_K.
#[inline(always)]
fn unpack_scales_and_minima(packed: &[u8; 12]) -> [[u8; 8]; 2] {
    let [a, b, c] =
        [0, 4, 8].map(|at| u32::from_le_bytes([packed[at], packed[at + 1], packed[at + 2], packed[at + 3]]));
    let join = |low: u32, high: u32| (u64::from(low) | u64::from(high) << 32).to_le_bytes();
    [
        join(a & 0x3f3f_3f3f, c & 0x0f0f_0f0f | a >> 2 & 0x3030_3030),
        join(b & 0x3f3f_3f3f, c >> 4 & 0x0f0f_0f0f | b >> 2 & 0x3030_3030),
    ]
}
