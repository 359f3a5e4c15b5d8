//! NVFP4: 64 E2M1 floats of 4 bits with an unsigned E4M3 scale per 16 weights. Because the group scales are floats, a block has four
//! exact integer products instead of one, and the format has its own row kernel.

use super::mxfp4::{E2M1_CODEBOOK, E2M1_CODEBOOK_BIASED};
use super::{BlockQ8_0, Scale, Unpack, apply_codebook};
use crate::isa::Isa;
use crate::matrix::sealed;
use crate::{KernelError, Matrix, ThreadPool, Weight, gemm};

/// 64 weights in 36 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct BlockNvfp4 {
    d: [u8; 4],
    qs: [u8; 32],
}

const _: () = assert!(size_of::<BlockNvfp4>() == 36 && align_of::<BlockNvfp4>() == 1);

// SAFETY: two byte arrays without padding.
unsafe impl sealed::Pod for BlockNvfp4 {}

impl Weight for BlockNvfp4 {
    type X = BlockQ8_0;
    const WEIGHTS: usize = 64;
    const NAME: &'static str = "nvfp4";

    fn matvec(isa: Isa, weights: &[BlockNvfp4], x: &[BlockQ8_0], out: &mut [f32]) {
        crate::matvec_nvfp4(isa, weights, x, out);
    }

    fn matmul(
        pool: &ThreadPool,
        weights: Matrix<BlockNvfp4>,
        x: &[f32],
        columns: usize,
        out: &mut [f32],
    ) -> Result<(), KernelError> {
        gemm::matmul_blocks(pool, weights, x, columns, out)
    }
}

impl Unpack for BlockNvfp4 {
    const GROUP: usize = 16;
    const BITS: u32 = 5;
    const CODEBOOK: Option<&'static [u8; 16]> = Some(&E2M1_CODEBOOK_BIASED);
    const OFFSET: u8 = 12;
    const HAS_MINIMA: bool = false;

    #[inline(always)]
    fn codes(&self, codes: &mut [u8]) {
        for (codes, bytes) in codes.as_chunks_mut::<16>().0.iter_mut().zip(self.qs.as_chunks::<8>().0) {
            let (low, high) = codes.split_at_mut(8);
            for ((low, high), byte) in low.iter_mut().zip(high).zip(bytes) {
                (*low, *high) = (byte & 15, byte >> 4);
            }
        }
    }

    #[inline(always)]
    fn f32_scales(&self, _: impl Fn(Scale) -> f32, scales: &mut [f32], _: &mut [f32]) {
        scales.copy_from_slice(&self.scales());
    }
}

/// Half of each unsigned E4M3 value. As in ggml, 0x7f, which is NaN in the standard, decodes to zero, and otherwise the sign bit is
/// ignored.
const HALF_UE4M3: [f32; 256] = {
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
    /// Scale of each group of 16 doubled values.
    #[inline(always)]
    pub(crate) fn scales(&self) -> [f32; 4] {
        self.d.map(|byte| HALF_UE4M3[usize::from(byte)])
    }

    /// Returns the scaled dot product with two blocks of activations.
    pub(crate) fn dot(&self, x: &[BlockQ8_0; 2]) -> f32 {
        let mut codes = [0; 64];
        self.codes(&mut codes);
        apply_codebook(&E2M1_CODEBOOK_BIASED, &mut codes);
        let groups = codes.as_chunks::<16>().0.iter().zip(x.iter().flat_map(|x| x.qs.as_chunks::<16>().0));
        let dots = groups.zip(self.scales()).enumerate().map(|(at, ((codes, qs), scale))| {
            let products = codes.iter().zip(qs);
            let sum: i32 = products.map(|(code, x)| (i32::from(*code) - 12) * i32::from(*x)).sum();
            scale * x[at / 2].scale().to_f32() * sum as f32
        });
        dots.sum()
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::*;
    use crate::avx2::*;

    impl BlockNvfp4 {
        /// Returns eight partial sums of the scaled dot product with two blocks of activations.
        #[target_feature(enable = "avx2,fma,f16c")]
        #[inline]
        pub(crate) fn partial_dot(&self, x: &[BlockQ8_0; 2], x_scales: [f32; 2]) -> __m256 {
            let (bytes, four) = (load_i8x32(&self.qs), _mm256_set1_epi8(15));
            let low = _mm256_and_si256(bytes, four);
            let high = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), four);
            // Groups 0 and 2, then groups 1 and 3.
            let qs = [_mm256_unpacklo_epi64(low, high), _mm256_unpackhi_epi64(low, high)];
            let scales = self.scales();
            let mut sum = _mm256_setzero_ps();
            for side in 0..2 {
                let [a, b] = [&x[0].qs, &x[1].qs];
                let x =
                    _mm256_set_m128i(load_i8x16(&b.as_chunks().0[side]), load_i8x16(&a.as_chunks().0[side]));
                let products = signed_products(lookup(&E2M1_CODEBOOK, qs[side]), x);
                let [a, b] = [scales[side] * x_scales[0], scales[2 + side] * x_scales[1]];
                let scales = _mm256_set_m128(_mm_set1_ps(b), _mm_set1_ps(a));
                sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(add_pairs(products)), scales, sum);
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
        /// Returns four partial sums of the scaled dot product with two blocks of activations.
        #[target_feature(enable = "neon")]
        #[inline]
        pub(crate) fn partial_dot<const DOTPROD: bool>(
            &self,
            x: &[BlockQ8_0; 2],
            x_scales: [f32; 2],
        ) -> float32x4_t {
            let mut sum = vdupq_n_f32(0.0);
            let scales = self.scales();
            for (half, bytes) in load_pair(&self.qs).into_iter().enumerate() {
                let (low, high) = (vandq_u8(bytes, vdupq_n_u8(15)), vshrq_n_u8::<4>(bytes));
                let (low, high) = (vreinterpretq_u64_u8(low), vreinterpretq_u64_u8(high));
                for (side, qs) in [vzip1q_u64(low, high), vzip2q_u64(low, high)].into_iter().enumerate() {
                    let qs = lookup(&E2M1_CODEBOOK, vreinterpretq_s8_u64(qs));
                    let x = load_i8(&x[half].qs.as_chunks().0[side]);
                    let products = vcvtq_f32_s32(multiply_add::<DOTPROD>(vdupq_n_s32(0), qs, x));
                    sum = vfmaq_n_f32(sum, products, scales[2 * half + side] * x_scales[half]);
                }
            }
            sum
        }
    }
}
