//! Kernels for AVX2, FMA and F16C. See [`super::scalar`] for the semantics of each.
//!
//! Unsafe loads and stores are confined to the helpers at the end.
//!
//! Signed bytes are widened to 16 bits and multiplied with `madd_epi16`, which is exact for every value. The shorter sequence of
//! `sign_epi8` and `maddubs` is wrong for -128 and was not faster when measured. With VNNI ([`super::vnni`]) bytes are multiplied directly.
//!
//! Loops are used instead of `array::map`, whose closures are not inlined unless the whole program is compiled for AVX2.

pub(super) use std::arch::x86_64::*;

pub(super) use super::vnni::Dot;

use half::{bf16, f16};

use super::format::{BlockFormat, BlockNvfp4, BlockQ8_0, BlockQ8K, QuantizedActivation, Scale, Unpack};
use super::gemm::{
    BytePanel, Column, FloatChunk, FloatColumn, Interleaved, PANEL_COLUMNS, PANEL_ROWS, PackedActivations,
    Panel, Sums, TRANSPOSE_ROWS, WordPanel, for_each_column_group, shares_scale,
};
use super::max_pairs_in_i16;
use super::scalar;
use super::stream::{Position, Streams, distance, dot_rows, for_each_step};

/// Prefetch distance of the block kernels in each row, in bytes.
const PREFETCH: usize = 1024;

/// Prefetch distance of the floating-point kernels in each row, in bytes.
const PREFETCH_DENSE: usize = 512;

/// f32 values per step of a memory stream: two cache lines.
const STEP: usize = 32;

#[target_feature(enable = "avx2,fma,f16c")]
pub fn read(source: &[f32], streams: Streams) -> f32 {
    match streams.count {
        0 | 1 => read_streams::<1>(source, streams.prefetch),
        2 => read_streams::<2>(source, streams.prefetch),
        3 => read_streams::<3>(source, streams.prefetch),
        4 => read_streams::<4>(source, streams.prefetch),
        5 => read_streams::<5>(source, streams.prefetch),
        6 => read_streams::<6>(source, streams.prefetch),
        7 => read_streams::<7>(source, streams.prefetch),
        _ => read_streams::<8>(source, streams.prefetch),
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
fn read_streams<const N: usize>(source: &[f32], prefetch: usize) -> f32 {
    let distance = distance(source.len(), 4, N, STEP);
    let lanes: [&[[f32; STEP]]; N] =
        std::array::from_fn(|lane| source[lane * distance..(lane + 1) * distance].as_chunks().0);
    let mut sums = [_mm256_setzero_ps(); N];
    for at in 0..distance / STEP {
        for (lane, sum) in lanes.iter().zip(&mut sums) {
            if prefetch > 0 {
                prefetch_step(lane, at, prefetch);
            }
            let step = &lane[at];
            let low = _mm256_add_ps(load_f32(step, 0), load_f32(step, 8));
            let high = _mm256_add_ps(load_f32(step, 16), load_f32(step, 24));
            // One dependent addition per step, so that the dependency chain is shorter than the loads.
            *sum = _mm256_add_ps(*sum, _mm256_add_ps(low, high));
        }
    }
    let total = sums.into_iter().fold(_mm256_setzero_ps(), |total, sum| _mm256_add_ps(total, sum));
    horizontal_sum(total) + scalar::read(&source[N * distance..], Streams::ONE)
}

#[target_feature(enable = "avx2,fma,f16c")]
pub fn fill(target: &mut [f32], value: f32, streams: Streams) {
    let vector = _mm256_set1_ps(value);
    map::<false, 0>(target, [], streams, |[]| vector, |[]| value);
}

#[target_feature(enable = "avx2,fma,f16c")]
pub fn fill_streaming(target: &mut [f32], value: f32, streams: Streams) {
    let vector = _mm256_set1_ps(value);
    map::<true, 0>(target, [], streams, |[]| vector, |[]| value);
}

#[target_feature(enable = "avx2,fma,f16c")]
pub fn copy(target: &mut [f32], source: &[f32], streams: Streams) {
    map::<false, 1>(target, [source], streams, |[a]| a, |[a]| a);
}

#[target_feature(enable = "avx2,fma,f16c")]
pub fn copy_streaming(target: &mut [f32], source: &[f32], streams: Streams) {
    map::<true, 1>(target, [source], streams, |[a]| a, |[a]| a);
}

#[target_feature(enable = "avx2,fma,f16c")]
pub fn triad(target: &mut [f32], a: &[f32], b: &[f32], factor: f32, streams: Streams) {
    let factors = _mm256_set1_ps(factor);
    let vector = |[a, b]: [__m256; 2]| _mm256_add_ps(a, _mm256_mul_ps(factors, b));
    map::<false, 2>(target, [a, b], streams, vector, |[a, b]| a + factor * b);
}

#[target_feature(enable = "avx2,fma,f16c")]
pub fn triad_streaming(target: &mut [f32], a: &[f32], b: &[f32], factor: f32, streams: Streams) {
    let factors = _mm256_set1_ps(factor);
    let vector = |[a, b]: [__m256; 2]| _mm256_add_ps(a, _mm256_mul_ps(factors, b));
    map::<true, 2>(target, [a, b], streams, vector, |[a, b]| a + factor * b);
}

/// Computes `target = f(sources)` elementwise. Streaming stores need an aligned target, so elements before the first aligned one and
/// after the last full step are handled one by one.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn map<const STREAMING: bool, const INPUTS: usize>(
    target: &mut [f32],
    sources: [&[f32]; INPUTS],
    streams: Streams,
    vector: impl Fn([__m256; INPUTS]) -> __m256,
    scalar: impl Fn([f32; INPUTS]) -> f32,
) {
    let length = sources.iter().fold(target.len(), |length, source| length.min(source.len()));
    let head = target.as_ptr().align_offset(64).min(length);
    for_each_step(head, length, streams.count, STEP, |piece| match piece {
        Position::Step(start) => {
            if streams.prefetch > 0 {
                for source in &sources {
                    prefetch_step(source, start, streams.prefetch);
                }
            }
            for start in [start, start + 8, start + 16, start + 24] {
                let value = vector(sources.map(|source| load_f32(source, start)));
                if STREAMING {
                    // SAFETY: if there are steps, `target` is aligned to 64 bytes at `head`, and `start` is a multiple of 8 elements
                    // (32 bytes) after it.
                    unsafe { stream_f32(target, start, value) }
                } else {
                    store_f32(target, start, value);
                }
            }
        }
        Position::Element(at) => target[at] = scalar(sources.map(|source| source[at])),
    });
    if STREAMING {
        _mm_sfence();
    }
}

/// Sums up to `pairs` pairs of products in 16 bits before widening.
#[target_feature(enable = "avx2,fma,f16c")]
pub fn narrow_dot(weights: &[u8], x: &[i8], pairs: usize) -> i32 {
    let ((weights, weights_left), (x, x_left)) = (weights.as_chunks::<32>(), x.as_chunks::<32>());
    let mut sum = _mm256_setzero_si256();
    for (weights, x) in weights.chunks(pairs).zip(x.chunks(pairs)) {
        let mut word = _mm256_setzero_si256();
        for (weights, x) in weights.iter().zip(x) {
            word = add_products(word, load_i8x32(weights), load_i8x32(x));
        }
        sum = add_widened(sum, word);
    }
    let left = scalar::narrow_dot(weights_left, x_left, pairs);
    store_i32x8(sum).iter().fold(left, |sum, lane| sum.wrapping_add(*lane))
}

/// Adds 32 products, two to each 16-bit sum.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn add_products(word: __m256i, weights: __m256i, x: __m256i) -> __m256i {
    _mm256_add_epi16(word, _mm256_maddubs_epi16(weights, x))
}

/// Adds 16-bit sums, two to each 32-bit sum.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn add_widened(sum: __m256i, word: __m256i) -> __m256i {
    _mm256_add_epi32(sum, _mm256_madd_epi16(word, _mm256_set1_epi16(1)))
}

/// Byte-identical to [`scalar::quantize_q8_0`].
#[target_feature(enable = "avx2,fma,f16c")]
pub fn quantize_q8_0(blocks: &mut [BlockQ8_0], values: &[f32]) {
    let sign = _mm256_set1_ps(-0.0);
    for (block, values) in blocks.iter_mut().zip(values.as_chunks::<32>().0) {
        let (mut largest, mut bad) = (_mm256_setzero_ps(), _mm256_setzero_ps());
        let infinity = _mm256_set1_ps(f32::INFINITY);
        for part in 0..4 {
            let size = _mm256_andnot_ps(sign, load_f32(values, 8 * part));
            bad = _mm256_or_ps(bad, _mm256_cmp_ps::<_CMP_NLT_UQ>(size, infinity));
            largest = _mm256_max_ps(largest, size);
        }
        if _mm256_movemask_ps(bad) != 0 {
            *block = BlockQ8_0::new(f16::NAN, [0; 32]);
            continue;
        }
        let largest = _mm_max_ps(_mm256_castps256_ps128(largest), _mm256_extractf128_ps::<1>(largest));
        let largest = _mm_max_ps(largest, _mm_movehl_ps(largest, largest));
        let scale = _mm_cvtss_f32(_mm_max_ss(largest, _mm_movehdup_ps(largest))) / 127.0;
        let inverse = 1.0 / scale;
        let inverse = _mm256_set1_ps(if inverse.is_finite() { inverse } else { 0.0 });
        let mut qs = [_mm256_setzero_si256(); 4];
        for (part, qs) in qs.iter_mut().enumerate() {
            // Round half away from zero: the fraction is exact, and it alone decides.
            let scaled = _mm256_mul_ps(load_f32(values, 8 * part), inverse);
            let whole = _mm256_round_ps::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(scaled);
            let fraction = _mm256_andnot_ps(sign, _mm256_sub_ps(scaled, whole));
            let up = _mm256_cmp_ps::<_CMP_GE_OQ>(fraction, _mm256_set1_ps(0.5));
            let one = _mm256_or_ps(_mm256_and_ps(sign, scaled), _mm256_set1_ps(1.0));
            *qs = _mm256_cvtps_epi32(_mm256_add_ps(whole, _mm256_and_ps(up, one)));
        }
        let words = [_mm256_packs_epi32(qs[0], qs[1]), _mm256_packs_epi32(qs[2], qs[3])];
        // Both packs work within 128-bit lanes; the permutation restores the order of the groups of four.
        let bytes = _mm256_permutevar8x32_epi32(
            _mm256_packs_epi16(words[0], words[1]),
            _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7),
        );
        let half = _mm_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm_set_ss(scale));
        *block = BlockQ8_0::new(f16::from_bits(_mm_extract_epi16::<0>(half) as u16), store_i8x32(bytes));
    }
}

/// Bit-identical to [`scalar::dequantize_q8_0`].
#[target_feature(enable = "avx2,fma,f16c")]
pub fn dequantize_q8_0(values: &mut [f32], blocks: &[BlockQ8_0]) {
    for (values, block) in values.as_chunks_mut::<32>().0.iter_mut().zip(blocks) {
        let scale = broadcast_scale(block);
        for part in 0..4 {
            store_f32(values, 8 * part, _mm256_mul_ps(scale, qs_f32(block, part)));
        }
    }
}

/// The code of [`scalar::quantize_q8_k`], vectorized by the compiler.
#[target_feature(enable = "avx2,fma,f16c")]
pub fn quantize_q8_k(blocks: &mut [BlockQ8K], values: &[f32]) {
    for (block, values) in blocks.iter_mut().zip(values.as_chunks::<256>().0) {
        *block = BlockQ8K::from_f32(values);
    }
}

/// AVX2 kernel of a block format.
pub trait BlockKernel<X>: Sized {
    /// Returns eight exact partial sums of each of two dot products with activations: of the values and of the minima.
    ///
    /// # Safety
    ///
    /// The CPU must support AVX2, FMA, F16C and the instructions of `D`.
    unsafe fn product<D: Dot>(&self, x: &X) -> [__m256i; 2];
}

#[target_feature(enable = "avx2,fma,f16c")]
pub fn block_products<D: Dot, T: BlockFormat>(sums: &mut [[i32; 2]], blocks: &[T], x: &[T::X]) {
    for ((sums, block), x) in sums.iter_mut().zip(blocks).zip(x) {
        // SAFETY: this function is called only if the CPU supports these instructions.
        let products = unsafe { block.product::<D>(x) };
        *sums = products.map(|lanes| store_i32x8(lanes).iter().sum());
    }
}

/// For small blocks the scales are a significant part of the work, which eight rows share. Large blocks leave no registers for that.
#[target_feature(enable = "avx2,fma,f16c")]
pub fn matvec_blocks<D: Dot, T: BlockFormat>(weights: &[T], x: &[T::X], out: &mut [f32]) {
    let one = |row: &[T]| block_dots::<D, T, 1>([row], x)[0];
    if T::WEIGHTS <= 64 {
        dot_rows(weights, out, |rows| block_dots_x8::<D, T>(rows, x), one);
    } else {
        dot_rows(weights, out, |rows| block_dots::<D, T, 4>(rows, x), one);
    }
}

/// Multiplies `N` rows, which share the loads of the activations.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn block_dots<D: Dot, T: BlockFormat, const N: usize>(rows: [&[T]; N], x: &[T::X]) -> [f32; N] {
    let blocks = rows.iter().fold(x.len(), |blocks, row| blocks.min(row.len()));
    let mut sums = [_mm256_setzero_ps(); N];
    for (at, x) in x[..blocks].iter().enumerate() {
        prefetch_blocks(&rows, at);
        let x_scale = scale_to_f32(x.scale());
        for (row, sum) in rows.iter().zip(&mut sums) {
            // SAFETY: `at` is below `blocks`, the length of the shortest row.
            let block = unsafe { row.get_unchecked(at) };
            // SAFETY: this function is called only if the CPU supports these instructions.
            let [values, minima] = unsafe { block.product::<D>(x) };
            let [scale, min_scale] = block.block_scales();
            let scale = _mm256_set1_ps(scale_to_f32(scale) * x_scale);
            *sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(values), scale, *sum);
            if <T as BlockFormat>::HAS_MINIMA {
                let min_scale = _mm256_set1_ps(scale_to_f32(min_scale) * x_scale);
                *sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(minima), min_scale, *sum);
            }
        }
    }
    horizontal_sums(sums)
}

/// Multiplies eight rows. For each four rows, one instruction converts the scales, and the integer sums are reduced together until one
/// vector holds two partial sums of each row.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn block_dots_x8<D: Dot, T: BlockFormat>(rows: [&[T]; 8], x: &[T::X]) -> [f32; 8] {
    let blocks = rows.iter().fold(x.len(), |blocks, row| blocks.min(row.len()));
    let mut sums = [_mm256_setzero_ps(); 2];
    for (at, x) in x[..blocks].iter().enumerate() {
        let x_scale = _mm256_set1_ps(scale_to_f32(x.scale()));
        for (rows, sum) in rows.as_chunks::<4>().0.iter().zip(&mut sums) {
            let (mut values, mut scales) = ([_mm256_setzero_si256(); 4], [Scale::ZERO; 4]);
            let (mut minima, mut min_scales) = (values, scales);
            for (index, row) in rows.iter().enumerate() {
                // SAFETY: `at` is below `blocks`, the length of the shortest row.
                let block = unsafe { row.get_unchecked(at) };
                // SAFETY: this function is called only if the CPU supports these instructions.
                [values[index], minima[index]] = unsafe { block.product::<D>(x) };
                [scales[index], min_scales[index]] = block.block_scales();
            }
            prefetch_blocks(rows, at);
            *sum = _mm256_fmadd_ps(reduce(values), _mm256_mul_ps(four_scales(scales), x_scale), *sum);
            if <T as BlockFormat>::HAS_MINIMA {
                // The compiler reduces once if all rows have the same minima.
                let minima = _mm256_mul_ps(reduce(minima), x_scale);
                *sum = _mm256_fmadd_ps(four_scales(min_scales), minima, *sum);
            }
        }
    }
    let mut dots = [0f32; 8];
    for (dots, sum) in dots.as_chunks_mut::<4>().0.iter_mut().zip(sums) {
        *dots = store_f32x4(_mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps::<1>(sum)));
    }
    dots
}

#[target_feature(enable = "avx2,fma,f16c")]
pub fn matvec_nvfp4(weights: &[BlockNvfp4], x: &[BlockQ8_0], out: &mut [f32]) {
    dot_rows(weights, out, |rows: [_; 4]| nvfp4_dots(rows, x), |row| nvfp4_dots([row], x)[0]);
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn nvfp4_dots<const N: usize>(rows: [&[BlockNvfp4]; N], x: &[BlockQ8_0]) -> [f32; N] {
    let x = x.as_chunks::<2>().0;
    let blocks = rows.iter().fold(x.len(), |blocks, row| blocks.min(row.len()));
    let mut sums = [_mm256_setzero_ps(); N];
    for (at, x) in x[..blocks].iter().enumerate() {
        prefetch_blocks(&rows, at);
        let scales = [scale_to_f32(Scale::F16(x[0].scale())), scale_to_f32(Scale::F16(x[1].scale()))];
        for (row, sum) in rows.iter().zip(&mut sums) {
            // SAFETY: `at` is below `blocks`, the length of the shortest row.
            let block = unsafe { row.get_unchecked(at) };
            *sum = _mm256_add_ps(*sum, block.partial_dot(x, scales));
        }
    }
    horizontal_sums(sums)
}

/// Prefetches the block [`PREFETCH`] bytes ahead in each row.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn prefetch_blocks<T>(rows: &[&[T]], at: usize) {
    for row in rows {
        for line in (0..size_of::<T>()).step_by(64) {
            prefetch(row, at, PREFETCH + line);
        }
    }
}

/// Prefetches the memory right after `slice`, of the same length. Hardware prefetchers do not follow the short row segments of panels.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn prefetch_after<T>(slice: &[T]) {
    for line in (0..size_of_val(slice)).step_by(64) {
        prefetch(slice, slice.len(), line);
    }
}

/// Converts a scale to f32.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn scale_to_f32(scale: Scale) -> f32 {
    match scale {
        Scale::F16(scale) => _mm_cvtss_f32(_mm_cvtph_ps(_mm_set1_epi16(scale.to_bits() as i16))),
        Scale::F32(scale) => scale,
    }
}

/// Reduces the sums of four rows to one vector: each 128-bit lane holds a partial sum per row.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn reduce([a, b, c, d]: [__m256i; 4]) -> __m256 {
    _mm256_cvtepi32_ps(_mm256_hadd_epi32(fold(a, b), fold(c, d)))
}

/// Returns `[a0+a2, a1+a3, b0+b2, b1+b3]` in each 128-bit lane.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn fold(a: __m256i, b: __m256i) -> __m256i {
    _mm256_add_epi32(_mm256_blend_epi32::<0b1100_1100>(a, b), _mm256_alignr_epi8::<8>(b, a))
}

/// Converts four scales to f32, repeated in both 128-bit lanes.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn four_scales(scales: [Scale; 4]) -> __m256 {
    match scales {
        [Scale::F16(a), Scale::F16(b), Scale::F16(c), Scale::F16(d)] => {
            let low = u32::from(a.to_bits()) | u32::from(b.to_bits()) << 16;
            let high = u32::from(c.to_bits()) | u32::from(d.to_bits()) << 16;
            _mm256_cvtph_ps(_mm_set1_epi64x((u64::from(low) | u64::from(high) << 32) as i64))
        }
        [a, b, c, d] => {
            let [a, b, c, d] = [scale_to_f32(a), scale_to_f32(b), scale_to_f32(c), scale_to_f32(d)];
            _mm256_setr_ps(a, b, c, d, a, b, c, d)
        }
    }
}

/// The scalar code, vectorized by the compiler.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn unpack_bytes<T: Unpack>(panel: &mut BytePanel, row: usize, blocks: &[T]) {
    prefetch_after(blocks);
    panel.unpack(
        row,
        blocks,
        |scale| scale_to_f32(scale),
        |codebook, codes| apply_codebook(codebook, codes),
        |code| code,
    );
}

/// The scalar code, vectorized by the compiler.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn unpack_words<T: Unpack>(panel: &mut WordPanel, row: usize, blocks: &[T]) {
    prefetch_after(blocks);
    let element = |code| i16::from(code) - i16::from(T::OFFSET);
    panel.unpack(
        row,
        blocks,
        |scale| scale_to_f32(scale),
        |codebook, codes| apply_codebook(codebook, codes),
        element,
    );
}

/// Replaces each code by its codebook entry; the number of codes is a multiple of 32.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn apply_codebook(codebook: &[u8; 16], codes: &mut [u8]) {
    for codes in codes.as_chunks_mut::<32>().0 {
        *codes = store_i8x32(lookup(codebook, load_i8x32(codes)));
    }
}

/// Transposes squares of 8 x 8 elements.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn transpose<E: Copy, const W: usize>(
    rows: &[[E; W]],
    panel: &mut [Interleaved<E, W>],
    row: usize,
) {
    let mut eight = [&rows[..0]; TRANSPOSE_ROWS];
    for (row, unpacked) in eight.iter_mut().zip(rows.chunks_exact(panel.len())) {
        *row = unpacked;
    }
    for (at, columns) in panel.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let mut a = [_mm256_setzero_ps(); 8];
        for (a, row) in a.iter_mut().zip(eight) {
            *a = _mm256_castsi256_ps(load_u32x8(&row.as_chunks().0[at]));
        }
        let mut b = a;
        for pair in 0..4 {
            b[2 * pair] = _mm256_unpacklo_ps(a[2 * pair], a[2 * pair + 1]);
            b[2 * pair + 1] = _mm256_unpackhi_ps(a[2 * pair], a[2 * pair + 1]);
        }
        for half in [0, 4] {
            for side in 0..2 {
                let (low, high) = (_mm256_castps_pd(b[half + side]), _mm256_castps_pd(b[half + 2 + side]));
                a[half + 2 * side] = _mm256_castpd_ps(_mm256_unpacklo_pd(low, high));
                a[half + 2 * side + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(low, high));
            }
        }
        for (column, to) in columns.iter_mut().enumerate() {
            let (low, high) = (a[column % 4], a[4 + column % 4]);
            let transposed = if column < 4 {
                _mm256_permute2f128_ps::<0x20>(low, high)
            } else {
                _mm256_permute2f128_ps::<0x31>(low, high)
            };
            store_u32x8(&mut to.0.as_chunks_mut().0[row / 8], _mm256_castps_si256(transposed));
        }
    }
}

/// The codes must be below 128 unless `D` has [`Dot::FULL_RANGE`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn multiply_bytes<D: Dot, T: Unpack>(
    panel: &BytePanel,
    x: &PackedActivations<i8>,
    chunk: usize,
    sums: &mut [Sums],
) {
    for_each_column_group(
        sums,
        |at, sums: &mut [Sums; 4]| byte_columns::<D, T, 4>(panel, x.columns(chunk, at), sums),
        |at, sums| byte_columns::<D, T, 2>(panel, x.columns(chunk, at), sums),
        |at, sums| byte_columns::<D, T, 1>(panel, x.columns(chunk, at), sums),
    );
}

/// As fast as bytes that must be widened to 32 bits after every product, which takes one more instruction, and exact for all values.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn multiply_words<T: Unpack>(
    panel: &WordPanel,
    x: &PackedActivations<i16>,
    chunk: usize,
    sums: &mut [Sums],
) {
    for_each_column_group(
        sums,
        |at, sums: &mut [Sums; 4]| word_columns::<T, 4>(panel, x.columns(chunk, at), sums),
        |at, sums| word_columns::<T, 2>(panel, x.columns(chunk, at), sums),
        |at, sums| word_columns::<T, 1>(panel, x.columns(chunk, at), sums),
    );
}

/// Without VNNI, sums products in 16 bits as long as they fit.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn byte_columns<D: Dot, T: Unpack, const N: usize>(
    panel: &BytePanel,
    x: [Column<i8>; N],
    sums: &mut [Sums; N],
) {
    let columns = T::GROUP / 4;
    let four = |x: &Column<i8>, at: usize| {
        let [a, b, c, d] = x.qs.as_chunks::<4>().0[at];
        _mm256_set1_epi32(i32::from_le_bytes([a as u8, b as u8, c as u8, d as u8]))
    };
    for half in 0..2 {
        add_groups::<T, N, _, 4>(panel, x, half, sums, |group| {
            let mut products = [[_mm256_setzero_si256(); 2]; N];
            for (products, x) in products.iter_mut().zip(&x) {
                *products = [_mm256_set1_epi32(x.bias[group]); 2];
            }
            let start = group * columns;
            if D::FULL_RANGE {
                for at in start..start + columns {
                    let rows = load_rows(&panel.codes[at].0, half);
                    for (products, x) in products.iter_mut().zip(&x) {
                        let four = four(x, at);
                        for (product, rows) in products.iter_mut().zip(rows) {
                            *product = dot_bytes::<D>(*product, rows, four);
                        }
                    }
                }
                return products;
            }
            for start in (start..start + columns).step_by(max_pairs_in_i16(T::BITS)) {
                let mut words = [[_mm256_setzero_si256(); 2]; N];
                for at in start..(start + max_pairs_in_i16(T::BITS)).min(start / columns * columns + columns)
                {
                    let rows = load_rows(&panel.codes[at].0, half);
                    for (words, x) in words.iter_mut().zip(&x) {
                        let four = four(x, at);
                        for (word, rows) in words.iter_mut().zip(rows) {
                            *word = add_products(*word, rows, four);
                        }
                    }
                }
                for (products, words) in products.iter_mut().zip(words) {
                    for (product, word) in products.iter_mut().zip(words) {
                        *product = add_widened(*product, word);
                    }
                }
            }
            products
        });
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn word_columns<T: Unpack, const N: usize>(panel: &WordPanel, x: [Column<i16>; N], sums: &mut [Sums; N]) {
    let columns = T::GROUP / 2;
    for half in 0..2 {
        add_groups::<T, N, _, 2>(panel, x, half, sums, |group| {
            let mut products = [[_mm256_setzero_si256(); 2]; N];
            for at in group * columns..(group + 1) * columns {
                let rows = load_rows(&panel.codes[at].0, half);
                for (products, x) in products.iter_mut().zip(x) {
                    let [a, b] = x.qs.as_chunks::<2>().0[at];
                    let two = _mm256_set1_epi32((u32::from(a as u16) | u32::from(b as u16) << 16) as i32);
                    for (product, rows) in products.iter_mut().zip(rows) {
                        *product = _mm256_add_epi32(*product, _mm256_madd_epi16(rows, two));
                    }
                }
            }
            products
        });
    }
}

/// Scales the integer products of half the rows of a panel, group by group, and adds them and the minima to `sums`.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn add_groups<T: Unpack, const N: usize, E, const W: usize>(
    panel: &Panel<E, W>,
    x: [Column<impl Copy>; N],
    half: usize,
    sums: &mut [Sums; N],
    products: impl Fn(usize) -> [[__m256i; 2]; N],
) {
    let place = |part: usize| PANEL_ROWS / 2 * half + 8 * part;
    let mut totals = [[_mm256_setzero_ps(); 2]; N];
    for group in 0..PANEL_COLUMNS / T::GROUP {
        let products = products(group);
        for ((totals, products), x) in totals.iter_mut().zip(products).zip(x) {
            for (part, (total, product)) in totals.iter_mut().zip(products).enumerate() {
                let scales = load_f32(&panel.scales[group], place(part));
                let scales = if shares_scale::<T>() {
                    scales
                } else {
                    _mm256_mul_ps(scales, _mm256_set1_ps(x.scales[group]))
                };
                *total = _mm256_fmadd_ps(_mm256_cvtepi32_ps(product), scales, *total);
                if T::HAS_MINIMA {
                    let minima = load_f32(&panel.minima[group], place(part));
                    *total = _mm256_fmadd_ps(minima, _mm256_set1_ps(x.sums[group]), *total);
                }
            }
        }
    }
    for ((sums, totals), x) in sums.iter_mut().zip(totals).zip(x) {
        let scale = _mm256_set1_ps(if shares_scale::<T>() { x.scales[0] } else { 1.0 });
        for (part, total) in totals.into_iter().enumerate() {
            let sum = _mm256_fmadd_ps(total, scale, load_f32(&*sums, place(part)));
            store_f32(sums, place(part), sum);
        }
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn widen_f16(to: &mut [f32], from: &[f16]) {
    prefetch_after(from);
    let ((eights, rest), (to, to_rest)) = (from.as_chunks::<8>(), to.as_chunks_mut::<8>());
    for (to, eight) in to.iter_mut().zip(eights) {
        store_f32(to, 0, _mm256_cvtph_ps(load_u16x8(eight)));
    }
    scalar::widen_f16(to_rest, rest);
}

#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn multiply_floats(panel: &[FloatColumn], x: &[FloatChunk], sums: &mut [Sums]) {
    for_each_column_group(
        sums,
        |at, sums: &mut [Sums; 4]| float_columns(panel, &x[at..], sums),
        |at, sums| float_columns(panel, &x[at..], sums),
        |at, sums| float_columns(panel, &x[at..], sums),
    );
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn float_columns<const N: usize>(panel: &[FloatColumn], x: &[FloatChunk], sums: &mut [Sums; N]) {
    let mut columns = [&x[0][..0]; N];
    for (column, truncated) in columns.iter_mut().enumerate() {
        *truncated = &x[column][..panel.len()];
    }
    for place in [0, PANEL_ROWS / 2] {
        let mut totals = [[_mm256_setzero_ps(); 2]; N];
        for (totals, sums) in totals.iter_mut().zip(&*sums) {
            *totals = [load_f32(sums, place), load_f32(sums, place + 8)];
        }
        for (at, rows) in panel.iter().enumerate() {
            let rows = rows.0.as_flattened();
            let rows = [load_f32(rows, place), load_f32(rows, place + 8)];
            for (totals, x) in totals.iter_mut().zip(columns) {
                // SAFETY: every column was truncated to the length of the panel above.
                let x = _mm256_set1_ps(*unsafe { x.get_unchecked(at) });
                for (total, rows) in totals.iter_mut().zip(rows) {
                    *total = _mm256_fmadd_ps(rows, x, *total);
                }
            }
        }
        for (sums, totals) in sums.iter_mut().zip(totals) {
            store_f32(sums, place, totals[0]);
            store_f32(sums, place + 8, totals[1]);
        }
    }
}

/// Loads 32 bits of each of sixteen rows.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn load_rows<E, const W: usize>(rows: &[[E; W]; PANEL_ROWS], half: usize) -> [__m256i; 2] {
    let eights = rows.as_chunks().0;
    [load_u32x8(&eights[2 * half]), load_u32x8(&eights[2 * half + 1])]
}

/// Loads eight elements of 32 bits.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn load_u32x8<E, const W: usize>(eight: &[[E; W]; 8]) -> __m256i {
    const { assert!(size_of::<[E; W]>() == 4) }
    // SAFETY: `eight` is 32 readable bytes.
    unsafe { _mm256_loadu_si256(eight.as_ptr().cast()) }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn store_u32x8<E: Copy, const W: usize>(eight: &mut [[E; W]; 8], value: __m256i) {
    const { assert!(size_of::<[E; W]>() == 4) }
    // SAFETY: `eight` is 32 writable bytes, and callers pass integers or floats, for which any bytes are valid.
    unsafe { _mm256_storeu_si256(eight.as_mut_ptr().cast(), value) }
}

#[target_feature(enable = "avx2,fma,f16c")]
pub fn dot_q8_0(row: &[BlockQ8_0], x: &[f32]) -> f32 {
    let [sum] = dots_q8_0([row], x);
    sum
}

#[target_feature(enable = "avx2,fma,f16c")]
pub fn matvec_q8_0(weights: &[BlockQ8_0], x: &[f32], out: &mut [f32]) {
    dot_rows(weights, out, |rows: [_; 4]| dots_q8_0(rows, x), |row| dot_q8_0(row, x));
}

#[target_feature(enable = "avx2,fma,f16c")]
pub fn matvec_f32(weights: &[f32], x: &[f32], out: &mut [f32]) {
    dense(weights, x, out, |eight| load_f32(eight, 0), |weight| *weight);
}

#[target_feature(enable = "avx2,fma,f16c")]
pub fn matvec_f16(weights: &[f16], x: &[f32], out: &mut [f32]) {
    dense(weights, x, out, |eight| _mm256_cvtph_ps(load_u16x8(eight)), |weight| weight.to_f32());
}

#[target_feature(enable = "avx2,fma,f16c")]
pub fn matvec_bf16(weights: &[bf16], x: &[f32], out: &mut [f32]) {
    let load = |eight: &[bf16; 8]| {
        _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(load_u16x8(eight))))
    };
    dense(weights, x, out, load, |weight| weight.to_f32());
}

/// Multiplies a floating-point matrix: `load` converts eight weights to f32, `value` one.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn dense<T>(
    weights: &[T],
    x: &[f32],
    out: &mut [f32],
    load: impl Fn(&[T; 8]) -> __m256,
    value: impl Fn(&T) -> f32,
) {
    let one = |row: &[T]| dots_dense([row], x, &load, &value)[0];
    dot_rows(weights, out, |rows: [_; 4]| dots_dense(rows, x, &load, &value), one);
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn dots_dense<T, const N: usize>(
    rows: [&[T]; N],
    x: &[f32],
    load: impl Fn(&[T; 8]) -> __m256,
    value: impl Fn(&T) -> f32,
) -> [f32; N] {
    // Vectors of eight weights per cache line: two or four.
    let line = 64 / size_of::<T>() / 8;
    let length = rows.iter().fold(x.len(), |length, row| length.min(row.len()));
    let lines = length / 8 / line;
    let eights = x.as_chunks::<8>().0;
    let mut sums = [_mm256_setzero_ps(); N];
    for start in (0..lines * line).step_by(line) {
        let x = &eights[start..start + line];
        for (row, sum) in rows.iter().zip(&mut sums) {
            let row = row.as_chunks::<8>().0;
            prefetch(row, start, PREFETCH_DENSE);
            for (part, x) in x.iter().enumerate() {
                // SAFETY: `start + part` is below `lines * line`, the number of whole vectors used from every row.
                let weights = load(unsafe { row.get_unchecked(start + part) });
                *sum = _mm256_fmadd_ps(weights, load_f32(x, 0), *sum);
            }
        }
    }
    let full = 8 * line * lines;
    let mut dots = [0f32; N];
    for ((dot, row), sum) in dots.iter_mut().zip(rows).zip(sums) {
        let tail = row[full..length].iter().zip(&x[full..]).map(|(weight, x)| value(weight) * x).sum::<f32>();
        *dot = horizontal_sum(sum) + tail;
    }
    dots
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn dots_q8_0<const N: usize>(rows: [&[BlockQ8_0]; N], x: &[f32]) -> [f32; N] {
    let x = x.as_chunks::<32>().0;
    let blocks = rows.iter().fold(x.len(), |blocks, row| blocks.min(row.len()));
    let (x, rows) = (&x[..blocks], rows.map(|row| &row[..blocks]));
    let mut sums = [_mm256_setzero_ps(); N];
    for (at, x) in x.iter().enumerate() {
        let x = [load_f32(x, 0), load_f32(x, 8), load_f32(x, 16), load_f32(x, 24)];
        for (row, sum) in rows.iter().zip(&mut sums) {
            prefetch(row, at, PREFETCH);
            let block = &row[at];
            let low = _mm256_fmadd_ps(qs_f32(block, 1), x[1], _mm256_mul_ps(qs_f32(block, 0), x[0]));
            let high = _mm256_fmadd_ps(qs_f32(block, 3), x[3], _mm256_mul_ps(qs_f32(block, 2), x[2]));
            *sum = _mm256_fmadd_ps(_mm256_add_ps(low, high), broadcast_scale(block), *sum);
        }
    }
    horizontal_sums(sums)
}

/// Widens 32 bytes to 16 bits.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn widen(qs: &[i8; 32]) -> [__m256i; 2] {
    let (halves, _) = qs.as_chunks::<16>();
    [_mm256_cvtepi8_epi16(load_i8x16(&halves[0])), _mm256_cvtepi8_epi16(load_i8x16(&halves[1]))]
}

/// Adds adjacent pairs of 16-bit integers.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn add_pairs(words: __m256i) -> __m256i {
    _mm256_madd_epi16(words, _mm256_set1_epi16(1))
}

/// Adds products of unsigned with signed bytes, four to each sum.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn dot_bytes<D: Dot>(sums: __m256i, codes: __m256i, x: __m256i) -> __m256i {
    // SAFETY: kernels are called with `D` only if the CPU supports its instructions.
    unsafe { D::dot_u8(sums, codes, x) }
}

/// Returns eight partial sums of the products of unsigned with signed bytes.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn dot<D: Dot>(codes: __m256i, x: __m256i) -> __m256i {
    dot_bytes::<D>(_mm256_setzero_si256(), codes, x)
}

/// Like [`dot`], with `offset` subtracted from the codes. The correction depends only on the activations and is shared by all rows.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn dot_minus_offset<D: Dot>(codes: __m256i, offset: u8, x: __m256i) -> __m256i {
    let start = _mm256_sub_epi32(_mm256_setzero_si256(), dot::<D>(_mm256_set1_epi8(offset as i8), x));
    dot_bytes::<D>(start, codes, x)
}

/// Adds products of 16-bit integers, two to each sum.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn dot_words<D: Dot>(sums: __m256i, a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: as above.
    unsafe { D::dot_i16(sums, a, b) }
}

/// Returns 16-bit sums of two products of signed bytes. The sign of `x` is moved to `qs`, which must not contain -128.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn signed_products(qs: __m256i, x: __m256i) -> __m256i {
    _mm256_maddubs_epi16(_mm256_abs_epi8(x), _mm256_sign_epi8(qs, x))
}

/// Looks up 4-bit codes in a table of bytes.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn lookup<T>(table: &[T; 16], codes: __m256i) -> __m256i {
    _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(load_i8x16(table)), codes)
}

/// Unpacks 16 bytes into 32 codes: first the low nibbles, then the high nibbles.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn load_nibbles(bytes: &[u8; 16]) -> __m256i {
    let both = _mm256_broadcastsi128_si256(load_i8x16(bytes));
    let shifted = _mm256_srlv_epi64(both, _mm256_setr_epi64x(0, 0, 4, 4));
    _mm256_and_si256(shifted, _mm256_set1_epi8(15))
}

/// Expands 32 bits to 32 bytes: 16 for each bit that is set, otherwise 0.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn expand_high_bits(bits: [u8; 4]) -> __m256i {
    let bits = _mm256_set1_epi32(i32::from_le_bytes(bits));
    let bytes = _mm256_setr_epi64x(0, 0x0101_0101_0101_0101, 0x0202_0202_0202_0202, 0x0303_0303_0303_0303);
    let place = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
    let chosen = _mm256_and_si256(_mm256_shuffle_epi8(bits, bytes), place);
    _mm256_and_si256(_mm256_cmpeq_epi8(chosen, place), _mm256_set1_epi8(16))
}

/// Broadcasts each of eight scales to a vector of 16-bit integers.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn broadcast_scales(scales: [u8; 8]) -> [__m256i; 8] {
    let scales = _mm_cvtepu8_epi16(_mm_cvtsi64_si128(i64::from_le_bytes(scales)));
    let a = _mm256_broadcastsi128_si256(_mm_unpacklo_epi16(scales, scales));
    let b = _mm256_broadcastsi128_si256(_mm_unpackhi_epi16(scales, scales));
    [
        _mm256_shuffle_epi32::<0x00>(a),
        _mm256_shuffle_epi32::<0x55>(a),
        _mm256_shuffle_epi32::<0xaa>(a),
        _mm256_shuffle_epi32::<0xff>(a),
        _mm256_shuffle_epi32::<0x00>(b),
        _mm256_shuffle_epi32::<0x55>(b),
        _mm256_shuffle_epi32::<0xaa>(b),
        _mm256_shuffle_epi32::<0xff>(b),
    ]
}

/// Multiplies eight group minima with the sums of their 32 activations.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn dot_minima(minima: [u8; 8], sums: &[i16; 16]) -> __m256i {
    let sums = load_i16x16(sums);
    let sums = _mm_hadd_epi16(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
    let minima = _mm_cvtepu8_epi16(_mm_cvtsi64_si128(i64::from_le_bytes(minima)));
    _mm256_zextsi128_si256(_mm_madd_epi16(minima, sums))
}

/// Widens sixteen scales and duplicates each. The first vector holds those of the first eight groups, even groups in the low and odd
/// groups in the high 128-bit lane, so that a doubleword shuffle yields the two scales for 32 products.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn pair_scales(scales: __m128i) -> [__m256i; 2] {
    let apart = _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
    let words = _mm256_cvtepi8_epi16(_mm_shuffle_epi8(scales, apart));
    [_mm256_unpacklo_epi16(words, words), _mm256_unpackhi_epi16(words, words)]
}

/// Converts the `part`th eight quantized values to f32.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn qs_f32(block: &BlockQ8_0, part: usize) -> __m256 {
    let eight = block.qs.as_chunks::<8>().0[part];
    let bytes = _mm_cvtsi64_si128(i64::from_le_bytes(eight.map(|q| q as u8)));
    _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes))
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn broadcast_scale(block: &BlockQ8_0) -> __m256 {
    _mm256_cvtph_ps(_mm_set1_epi16(block.scale().to_bits() as i16))
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn horizontal_sum(vector: __m256) -> f32 {
    let half = _mm_add_ps(_mm256_castps256_ps128(vector), _mm256_extractf128_ps::<1>(vector));
    let quarter = _mm_add_ps(half, _mm_movehl_ps(half, half));
    _mm_cvtss_f32(_mm_add_ss(quarter, _mm_movehdup_ps(quarter)))
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn horizontal_sums<const N: usize>(vectors: [__m256; N]) -> [f32; N] {
    let mut sums = [0f32; N];
    for (sum, vector) in sums.iter_mut().zip(vectors) {
        *sum = horizontal_sum(vector);
    }
    sums
}

/// Prefetches the cache line `ahead` bytes after element `at`, which may be out of bounds.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn prefetch<T>(slice: &[T], at: usize, ahead: usize) {
    let place = slice.as_ptr().wrapping_add(at).wrapping_byte_add(ahead);
    // SAFETY: a prefetch is a hint and does not fault on any address.
    #[allow(unused_unsafe, reason = "older compilers count this intrinsic as unsafe")]
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(place.cast())
    }
}

/// Prefetches the two cache lines of a step.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn prefetch_step<T>(slice: &[T], at: usize, ahead: usize) {
    prefetch(slice, at, ahead);
    prefetch(slice, at, ahead + 64);
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn load_f32(slice: &[f32], at: usize) -> __m256 {
    let eight = &slice[at..at + 8];
    // SAFETY: `eight` is 32 readable bytes.
    unsafe { _mm256_loadu_ps(eight.as_ptr()) }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn load_u16x8<T>(eight: &[T; 8]) -> __m128i {
    const { assert!(size_of::<T>() == 2) }
    // SAFETY: `eight` is 16 readable bytes.
    unsafe { _mm_loadu_si128(eight.as_ptr().cast()) }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn load_i8x16<T>(sixteen: &[T; 16]) -> __m128i {
    const { assert!(size_of::<T>() == 1) }
    // SAFETY: `sixteen` is 16 readable bytes.
    unsafe { _mm_loadu_si128(sixteen.as_ptr().cast()) }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn load_i8x32<T>(bytes: &[T; 32]) -> __m256i {
    const { assert!(size_of::<T>() == 1) }
    // SAFETY: `bytes` is 32 readable bytes.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn load_i16x16(words: &[i16; 16]) -> __m256i {
    // SAFETY: `words` is 32 readable bytes.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn store_f32(slice: &mut [f32], at: usize, value: __m256) {
    let eight = &mut slice[at..at + 8];
    // SAFETY: `eight` is 32 writable bytes.
    unsafe { _mm256_storeu_ps(eight.as_mut_ptr(), value) }
}

/// Stores without caching.
///
/// # Safety
///
/// `slice[at]` must be at an address that is a multiple of 32.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn stream_f32(slice: &mut [f32], at: usize, value: __m256) {
    let eight = &mut slice[at..at + 8];
    debug_assert!(eight.as_ptr().addr().is_multiple_of(32));
    // SAFETY: `eight` is 32 writable bytes, and the caller guarantees their alignment.
    unsafe { _mm256_stream_ps(eight.as_mut_ptr(), value) }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn store_i8x32<T: Copy + Default>(value: __m256i) -> [T; 32] {
    const { assert!(size_of::<T>() == 1) }
    let mut bytes = [T::default(); 32];
    // SAFETY: `bytes` is 32 writable bytes.
    unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), value) };
    bytes
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn store_f32x4(value: __m128) -> [f32; 4] {
    let mut four = [0f32; 4];
    // SAFETY: `four` is 16 writable bytes.
    unsafe { _mm_storeu_ps(four.as_mut_ptr(), value) };
    four
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn store_i32x8(value: __m256i) -> [i32; 8] {
    let mut lanes = [0i32; 8];
    // SAFETY: `lanes` is 32 writable bytes.
    unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), value) };
    lanes
}
