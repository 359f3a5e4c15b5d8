//! Block formats: one file each says what the bytes of a block mean, in plain Rust, and multiplies a block with quantized
//! activations, once for each instruction set. Walking rows and columns, scales and sums are shared, and not theirs.
//!
//! A weight is `scales[0] * quant + scales[1] * minimum`, with whole numbers for quants and minima; scales of parts of a block
//! are whole numbers too and are multiplied into them. So the product of a block is exact in integers, and rounding begins
//! with the scales.

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

use super::matrix::{Matrix, Weight, sealed};
use super::stored::Stored;
use super::{KernelError, Vector};
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

/// The most weights a block holds.
pub const MOST_WEIGHTS: usize = 256;
/// The most groups a block has.
pub const MOST_GROUPS: usize = 16;

/// What the bytes of a block mean.
pub trait Format: Weight<X: Quantized> + Vector<<Self as Weight>::X> {
    /// How many weights share a part and a minimum.
    const GROUP: usize = 32;
    /// Bits of a number.
    const BITS: u32;
    /// The numbers that stored ones choose from, where they do.
    const CHOICE: Option<&'static [u8; 16]> = None;
    /// What is taken from the stored or chosen numbers.
    const OFFSET: u8 = 0;
    /// Whether weights have a minimum beside their scale.
    const MINIMA: bool = false;

    /// The stored numbers of its weights, one for each.
    fn numbers(&self, numbers: &mut [u8]);

    /// The whole number that the numbers of each group are multiplied with.
    #[inline(always)]
    fn parts(&self, parts: &mut [i16]) {
        parts.fill(1);
    }

    /// The whole number of the minimum of each group.
    #[inline(always)]
    fn minima(&self, minima: &mut [i16]) {
        minima.fill(0);
    }

    /// The whole numbers of its weights: stored numbers less the offset, times the part of their group.
    #[inline(always)]
    fn quants(&self, quants: &mut [i16]) {
        let (mut numbers, mut parts) = ([0; MOST_WEIGHTS], [0; MOST_GROUPS]);
        self.numbers(&mut numbers[..Self::WEIGHTS]);
        if let Some(choice) = Self::CHOICE {
            choose(choice, &mut numbers[..Self::WEIGHTS]);
        }
        self.parts(&mut parts[..Self::WEIGHTS / Self::GROUP]);
        let groups = quants.chunks_exact_mut(Self::GROUP).zip(numbers.chunks_exact(Self::GROUP));
        for ((quants, numbers), part) in groups.zip(parts) {
            for (quant, number) in quants.iter_mut().zip(numbers) {
                *quant = (i16::from(*number) - i16::from(Self::OFFSET)) * part;
            }
        }
    }

    /// What quants and minima are multiplied with.
    fn scales(&self) -> [Scale; 2];
}

/// Weights as bytes and the scales of their groups, which is what panels are made of.
pub trait Unpack: Weight<X: Quantized> {
    /// How many weights share a scale and a minimum.
    const GROUP: usize;
    /// Bits of a number.
    const BITS: u32;
    /// The numbers that stored ones choose from, where they do.
    const CHOICE: Option<&'static [u8; 16]>;
    /// What is taken from the stored or chosen numbers.
    const OFFSET: u8;
    /// Whether weights have a minimum beside their scale.
    const MINIMA: bool;

    /// The stored numbers of its weights, one for each.
    fn numbers(&self, numbers: &mut [u8]);

    /// Scale and minimum of each group, by a way to widen those that are stored.
    fn group_scales(&self, single: impl Fn(Scale) -> f32, scales: &mut [f32], minima: &mut [f32]);
}

impl<T: Format> Unpack for T {
    const GROUP: usize = <T as Format>::GROUP;
    const BITS: u32 = <T as Format>::BITS;
    const CHOICE: Option<&'static [u8; 16]> = <T as Format>::CHOICE;
    const OFFSET: u8 = <T as Format>::OFFSET;
    const MINIMA: bool = <T as Format>::MINIMA;

    #[inline(always)]
    fn numbers(&self, numbers: &mut [u8]) {
        Format::numbers(self, numbers);
    }

    #[inline(always)]
    fn group_scales(&self, single: impl Fn(Scale) -> f32, scales: &mut [f32], minima: &mut [f32]) {
        let mut whole = [0; MOST_GROUPS];
        let (whole, [scale, minimum]) = (&mut whole[..scales.len()], self.scales());
        let (scale, minimum) = (single(scale), single(minimum));
        self.parts(whole);
        for (to, part) in scales.iter_mut().zip(&*whole) {
            *to = scale * f32::from(*part);
        }
        if <T as Format>::MINIMA {
            Format::minima(self, whole);
            for (to, part) in minima.iter_mut().zip(&*whole) {
                *to = minimum * f32::from(*part);
            }
        }
    }
}

/// What whole numbers are multiplied with, as it is stored: each instruction set has a way of its own to widen it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// Half precision.
    Half(f16),
    /// Single precision.
    Single(f32),
}

impl Scale {
    /// None at all.
    pub const ZERO: Scale = Scale::Half(f16::ZERO);

    /// The scale that these bytes hold.
    #[inline(always)]
    fn half(bytes: [u8; 2]) -> Scale {
        Scale::Half(f16::from_le_bytes(bytes))
    }

    /// As an f32, exactly.
    #[inline(always)]
    pub fn to_f32(self) -> f32 {
        match self {
            Scale::Half(scale) => scale.to_f32(),
            Scale::Single(scale) => scale,
        }
    }
}

impl std::ops::Neg for Scale {
    type Output = Scale;

    #[inline(always)]
    fn neg(self) -> Scale {
        match self {
            Scale::Half(scale) => Scale::Half(f16::from_bits(scale.to_bits() ^ 0x8000)),
            Scale::Single(scale) => Scale::Single(-scale),
        }
    }
}

/// What activations are stored in while they are multiplied.
pub trait Activation: sealed::Bytes + Copy + Send + Sync + 'static {
    /// How many activations one value holds.
    const COUNT: usize;
    /// Zeros.
    const ZERO: Self;

    /// Stores values, [`Activation::COUNT`] for each block.
    fn quantize(isa: Isa, blocks: &mut [Self], values: &[f32]);
}

/// Activations that are whole numbers times a scale.
pub trait Quantized: Activation {
    /// The whole numbers.
    fn quants(&self) -> &[i8];

    /// What they are multiplied with.
    fn scale(&self) -> Scale;
}

impl Activation for f32 {
    const COUNT: usize = 1;
    const ZERO: f32 = 0.0;

    fn quantize(_: Isa, blocks: &mut [f32], values: &[f32]) {
        for (block, value) in blocks.iter_mut().zip(values) {
            *block = *value;
        }
    }
}

/// Declares a block of byte arrays that lies in a file as it is written here, of so many weights.
macro_rules! block {
    ($(#[$doc:meta])* $block:ident, $name:literal, $weights:literal, $bytes:literal, $x:ty, { $($field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(C)]
        pub struct $block {
            $($field: $type,)*
        }

        const _: () = assert!(size_of::<$block>() == $bytes && align_of::<$block>() == 1);

        // SAFETY: byte arrays one after the other, without padding.
        unsafe impl $crate::matrix::sealed::Bytes for $block {}

        impl $crate::Weight for $block {
            type X = $x;
            const WEIGHTS: usize = $weights;
            const NAME: &'static str = $name;

            fn rows(isa: $crate::isa::Isa, weights: &[$block], x: &[$x], out: &mut [f32]) {
                $crate::block_rows(isa, weights, x, out);
            }

            fn columns(
                team: &$crate::Team,
                weights: $crate::Matrix<$block>,
                x: &[f32],
                columns: usize,
                out: &mut [f32],
            ) -> Result<(), $crate::KernelError> {
                $crate::panel::blocks(team, weights, x, columns, out)
            }
        }
    };
}
use block;

/// The formats by name.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $name:literal $weight:ty;)*) => {
        /// What weights are stored in.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
        #[cfg_attr(feature = "serde", schemars(rename = "Kernel"))]
        pub enum Kind {
            $(
                $(#[$doc])*
                #[cfg_attr(feature = "serde", serde(rename = $name))]
                $kind,
            )*
        }

        impl Kind {
            /// Every format that has kernels.
            pub const ALL: &[Kind] = &[$(Kind::$kind),*];

            /// Its name, as files have it, in small letters.
            pub fn name(self) -> &'static str {
                match self {
                    $(Kind::$kind => $name,)*
                }
            }

            /// Weights and bytes of a block.
            pub fn block(self) -> (usize, usize) {
                match self {
                    $(Kind::$kind => (<$weight>::WEIGHTS, size_of::<$weight>()),)*
                }
            }

            /// What the address of weights must be a multiple of.
            pub fn alignment(self) -> usize {
                match self {
                    $(Kind::$kind => align_of::<$weight>(),)*
                }
            }

            /// A matrix over the bytes of a file, which must be aligned.
            pub fn matrix(
                self,
                bytes: &[u8],
                rows: usize,
                columns: usize,
            ) -> Result<Box<dyn Stored + '_>, KernelError> {
                Ok(match self {
                    $(Kind::$kind => Box::new(Matrix::<$weight>::from_bytes(bytes, rows, columns)?),)*
                })
            }
        }

        const _: () = {
            $(assert!(same($name, <$weight>::NAME));)*
        };
    };
}

/// Whether two names are the same, at compile time.
const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

kinds! {
    /// Blocks of 32 bytes with an f16 scale; activations are quantized too.
    Q8_0 "q8_0" BlockQ8_0;
    /// Half precision.
    F16 "f16" f16;
    /// bfloat16.
    Bf16 "bf16" bf16;
    /// Single precision.
    F32 "f32" f32;
    /// 4 bits and an f16 scale for 32 weights.
    Q4_0 "q4_0" BlockQ4_0;
    /// 4 bits, an f16 scale and an f16 minimum for 32 weights.
    Q4_1 "q4_1" BlockQ4_1;
    /// 5 bits and an f16 scale for 32 weights.
    Q5_0 "q5_0" BlockQ5_0;
    /// 5 bits, an f16 scale and an f16 minimum for 32 weights.
    Q5_1 "q5_1" BlockQ5_1;
    /// 2 bits, with scales and minima of 4 bits for 16 weights.
    Q2K "q2_k" BlockQ2K;
    /// 3 bits, with scales of 6 bits for 16 weights.
    Q3K "q3_k" BlockQ3K;
    /// 4 bits, with scales and minima of 6 bits for 32 weights.
    Q4K "q4_k" BlockQ4K;
    /// 5 bits, with scales and minima of 6 bits for 32 weights.
    Q5K "q5_k" BlockQ5K;
    /// 6 bits, with scales of 8 bits for 16 weights.
    Q6K "q6_k" BlockQ6K;
    /// A choice of 16 numbers, and an f16 scale for 32 weights.
    Iq4Nl "iq4_nl" BlockIq4Nl;
    /// A choice of 16 numbers, with scales of 6 bits for 32 weights.
    Iq4Xs "iq4_xs" BlockIq4Xs;
    /// Floats of 4 bits, and a power of two for 32 weights.
    Mxfp4 "mxfp4" BlockMxfp4;
    /// Floats of 4 bits, and a float of 8 bits for 16 weights.
    Nvfp4 "nvfp4" BlockNvfp4;
}

impl Kind {
    /// The format of this name, in any case.
    pub fn from_name(name: &str) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|kind| kind.name().eq_ignore_ascii_case(name))
    }

    /// What its numbers are multiplied as.
    pub fn arithmetic(self) -> Arithmetic {
        match self {
            Kind::F16 | Kind::Bf16 | Kind::F32 => Arithmetic::Floats,
            Kind::Q8_0 => Arithmetic::Bytes,
            _ => Arithmetic::Narrow,
        }
    }
}

/// What numbers are multiplied as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// As floats of 32 bits.
    Floats,
    /// As bytes.
    Bytes,
    /// As bytes of which few bits are used, so that products may add up in 16 bits.
    Narrow,
}

/// The 16 numbers that IQ4_NL and IQ4_XS choose from.
pub(super) const NONLINEAR: [i8; 16] =
    [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];
/// The same as numbers without a sign, 128 more.
const NONLINEAR_RAISED: [u8; 16] = raised(NONLINEAR, 128);

/// Numbers with a sign, each so much more.
const fn raised(numbers: [i8; 16], offset: u8) -> [u8; 16] {
    let mut raised = [0; 16];
    let mut at = 0;
    while at < 16 {
        raised[at] = offset.wrapping_add_signed(numbers[at]);
        at += 1;
    }
    raised
}

/// Puts what each number chooses in its place.
#[inline(always)]
pub(super) fn choose(choice: &[u8; 16], numbers: &mut [u8]) {
    for number in numbers {
        *number = choice[usize::from(*number & 15)];
    }
}

/// Sixteen bytes as 32 numbers of four bits: first the low halves, then the high ones.
#[inline(always)]
fn nibbles(bytes: &[u8; 16], numbers: &mut [u8]) {
    let (low, high) = numbers.split_at_mut(16);
    for ((low, high), byte) in low.iter_mut().zip(high).zip(bytes) {
        (*low, *high) = (byte & 15, byte >> 4);
    }
}

/// Adds sixteen to each of 32 numbers whose bit is set.
#[inline(always)]
fn fifth_bits(bits: [u8; 4], numbers: &mut [u8]) {
    let bits = u32::from_le_bytes(bits);
    for (at, number) in numbers.iter_mut().enumerate() {
        *number |= ((bits >> at & 1) as u8) << 4;
    }
}

/// Eight scales and eight minima of six bits each, as Q4_K and Q5_K pack them: bytes of two words.
#[inline(always)]
fn six_bits(packed: &[u8; 12]) -> [[u8; 8]; 2] {
    let [a, b, c] =
        [0, 4, 8].map(|at| u32::from_le_bytes([packed[at], packed[at + 1], packed[at + 2], packed[at + 3]]));
    let join = |low: u32, high: u32| (u64::from(low) | u64::from(high) << 32).to_le_bytes();
    [
        join(a & 0x3f3f_3f3f, c & 0x0f0f_0f0f | a >> 2 & 0x3030_3030),
        join(b & 0x3f3f_3f3f, c >> 4 & 0x0f0f_0f0f | b >> 2 & 0x3030_3030),
    ]
}
