//! NVFP4: 64 floats of four bits (E2M1); every 16 of them have a scale of eight bits (E4M3 without a sign), a float too. So a
//! block has four products that are exact in integers, not one, and its rows are walked by a kernel of their own.

use super::mxfp4::{DOUBLED, RAISED};
use super::{BlockQ8_0, Scale, Unpack, choose};
use crate::isa::Isa;
use crate::matrix::sealed;
use crate::{KernelError, Matrix, Team, Weight, panel};

/// 64 weights in 36 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct BlockNvfp4 {
    scales: [u8; 4],
    quants: [u8; 32],
}

const _: () = assert!(size_of::<BlockNvfp4>() == 36 && align_of::<BlockNvfp4>() == 1);

// SAFETY: byte arrays one after the other, without padding.
unsafe impl sealed::Bytes for BlockNvfp4 {}

impl Weight for BlockNvfp4 {
    type X = BlockQ8_0;
    const WEIGHTS: usize = 64;
    const NAME: &'static str = "nvfp4";

    fn rows(isa: Isa, weights: &[BlockNvfp4], x: &[BlockQ8_0], out: &mut [f32]) {
        crate::nvfp4_rows(isa, weights, x, out);
    }

    fn columns(
        team: &Team,
        weights: Matrix<BlockNvfp4>,
        x: &[f32],
        columns: usize,
        out: &mut [f32],
    ) -> Result<(), KernelError> {
        panel::blocks(team, weights, x, columns, out)
    }
}

impl Unpack for BlockNvfp4 {
    const GROUP: usize = 16;
    const BITS: u32 = 5;
    const CHOICE: Option<&'static [u8; 16]> = Some(&RAISED);
    const OFFSET: u8 = 12;
    const MINIMA: bool = false;

    #[inline(always)]
    fn numbers(&self, numbers: &mut [u8]) {
        for (numbers, bytes) in numbers.as_chunks_mut::<16>().0.iter_mut().zip(self.quants.as_chunks::<8>().0)
        {
            let (low, high) = numbers.split_at_mut(8);
            for ((low, high), byte) in low.iter_mut().zip(high).zip(bytes) {
                (*low, *high) = (byte & 15, byte >> 4);
            }
        }
    }

    #[inline(always)]
    fn group_scales(&self, _: impl Fn(Scale) -> f32, scales: &mut [f32], _: &mut [f32]) {
        scales.copy_from_slice(&self.scales());
    }
}

/// Half of the float that each byte stands for. As ggml has it: 0x7f, which is NaN by the standard, is zero, and the highest bit
/// does not count, except in that.
const HALVES: [f32; 256] = {
    let mut halves = [0.0; 256];
    let mut byte = 0u32;
    while byte < 256 {
        let (exponent, fraction) = (byte >> 3 & 15, byte & 7);
        halves[byte as usize] = match exponent {
            _ if byte == 0x7f => 0.0,
            0 => fraction as f32 / 1024.0,
            _ => f32::from_bits((exponent + 119) << 23 | fraction << 20),
        };
        byte += 1;
    }
    halves
};

impl BlockNvfp4 {
    /// What each 16 doubled floats are multiplied with.
    #[inline(always)]
    pub(crate) fn scales(&self) -> [f32; 4] {
        self.scales.map(|byte| HALVES[usize::from(byte)])
    }

    /// What the block contributes to the product of its row.
    pub(crate) fn term(&self, x: &[BlockQ8_0; 2]) -> f32 {
        let mut numbers = [0; 64];
        self.numbers(&mut numbers);
        choose(&RAISED, &mut numbers);
        let groups =
            numbers.as_chunks::<16>().0.iter().zip(x.iter().flat_map(|x| x.quants.as_chunks::<16>().0));
        let terms = groups.zip(self.scales()).enumerate().map(|(at, ((numbers, quants), scale))| {
            let products = numbers.iter().zip(quants);
            let sum: i32 = products.map(|(number, x)| (i32::from(*number) - 12) * i32::from(*x)).sum();
            scale * x[at / 2].scale().to_f32() * sum as f32
        });
        terms.sum()
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::*;
    use crate::avx2::*;

    impl BlockNvfp4 {
        /// Eight partial sums of what the block contributes to the product of its row.
        #[target_feature(enable = "avx2,fma,f16c")]
        #[inline]
        pub(crate) fn terms(&self, x: &[BlockQ8_0; 2], x_scales: [f32; 2]) -> __m256 {
            let (bytes, four) = (load_bytes(&self.quants), _mm256_set1_epi8(15));
            let low = _mm256_and_si256(bytes, four);
            let high = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), four);
            // The first and the third group, then the second and the fourth.
            let quants = [_mm256_unpacklo_epi64(low, high), _mm256_unpackhi_epi64(low, high)];
            let scales = self.scales();
            let mut sum = _mm256_setzero_ps();
            for side in 0..2 {
                let [a, b] = [&x[0].quants, &x[1].quants];
                let x =
                    _mm256_set_m128i(load_half(&b.as_chunks().0[side]), load_half(&a.as_chunks().0[side]));
                let products = signed_products(look_up(&DOUBLED, quants[side]), x);
                let [a, b] = [scales[side] * x_scales[0], scales[2 + side] * x_scales[1]];
                let scales = _mm256_set_m128(_mm_set1_ps(b), _mm_set1_ps(a));
                sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(pairs(products)), scales, sum);
            }
            sum
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::*;
    use crate::neon::*;

    impl BlockNvfp4 {
        /// Four partial sums of what the block contributes to the product of its row.
        #[target_feature(enable = "neon")]
        #[inline]
        pub(crate) fn terms<const DOTPROD: bool>(
            &self,
            x: &[BlockQ8_0; 2],
            x_scales: [f32; 2],
        ) -> float32x4_t {
            let mut sum = vdupq_n_f32(0.0);
            let scales = self.scales();
            for (half, bytes) in load_pair(&self.quants).into_iter().enumerate() {
                let (low, high) = (vandq_u8(bytes, vdupq_n_u8(15)), vshrq_n_u8::<4>(bytes));
                let (low, high) = (vreinterpretq_u64_u8(low), vreinterpretq_u64_u8(high));
                for (side, quants) in [vzip1q_u64(low, high), vzip2q_u64(low, high)].into_iter().enumerate() {
                    let quants = look_up(&DOUBLED, vreinterpretq_s8_u64(quants));
                    let x = load_i8(&x[half].quants.as_chunks().0[side]);
                    let products = vcvtq_f32_s32(multiply_add::<DOTPROD>(vdupq_n_s32(0), quants, x));
                    sum = vfmaq_n_f32(sum, products, scales[2 * half + side] * x_scales[half]);
                }
            }
            sum
        }
    }
}
