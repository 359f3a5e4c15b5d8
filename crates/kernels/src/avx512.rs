//! Kernels for AVX-512: memory kernels, which access a whole cache line per instruction, and GEMM, which is compute-bound. See
//! [`super::scalar`] for the semantics of each. Matrix-vector products use the AVX2 kernels, and multiply-add loops are in
//! [`super::multiply_add`].
//!
//! Loops are used instead of `array::map`, whose closures are not inlined unless the whole program is compiled for AVX-512.

use std::arch::x86_64::*;

use super::format::Unpack;
use super::gemm::{
    BytePanel, Column, FloatChunk, FloatColumn, PANEL_COLUMNS, PANEL_ROWS, PackedActivations, Sums,
    for_each_column_group, shares_scale,
};
use super::scalar;
use super::stream::{Position, Streams, distance, for_each_step};

/// f32 values per step of a memory stream: two cache lines.
const STEP: usize = 32;

/// Activation columns multiplied with a panel together. With two vectors of rows this gives sixteen chains of additions, enough to hide a
/// latency of five cycles at two multiply-adds per cycle, and few loads of rows.
const COLUMN_GROUP: usize = 8;

#[target_feature(enable = "avx512f")]
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

#[target_feature(enable = "avx512f")]
fn read_streams<const N: usize>(source: &[f32], prefetch: usize) -> f32 {
    let distance = distance(source.len(), 4, N, STEP);
    // Two sums per stream, so that the dependency chains are shorter than the loads.
    let mut sums = [[_mm512_setzero_ps(); 2]; N];
    for at in (0..distance).step_by(STEP) {
        for (lane, sums) in sums.iter_mut().enumerate() {
            let start = lane * distance + at;
            for (sum, start) in sums.iter_mut().zip([start, start + 16]) {
                if prefetch > 0 {
                    prefetch_line(source, start, prefetch);
                }
                *sum = _mm512_add_ps(*sum, load(source, start));
            }
        }
    }
    let total = sums.as_flattened().iter().fold(_mm512_setzero_ps(), |total, sum| _mm512_add_ps(total, *sum));
    _mm512_reduce_add_ps(total) + scalar::read(&source[N * distance..], Streams::ONE)
}

#[target_feature(enable = "avx512f")]
pub fn fill(target: &mut [f32], value: f32, streams: Streams) {
    let vector = _mm512_set1_ps(value);
    map::<false, 0>(target, [], streams, |[]| vector, |[]| value);
}

#[target_feature(enable = "avx512f")]
pub fn fill_streaming(target: &mut [f32], value: f32, streams: Streams) {
    let vector = _mm512_set1_ps(value);
    map::<true, 0>(target, [], streams, |[]| vector, |[]| value);
}

#[target_feature(enable = "avx512f")]
pub fn copy(target: &mut [f32], source: &[f32], streams: Streams) {
    map::<false, 1>(target, [source], streams, |[a]| a, |[a]| a);
}

#[target_feature(enable = "avx512f")]
pub fn copy_streaming(target: &mut [f32], source: &[f32], streams: Streams) {
    map::<true, 1>(target, [source], streams, |[a]| a, |[a]| a);
}

#[target_feature(enable = "avx512f")]
pub fn triad(target: &mut [f32], a: &[f32], b: &[f32], factor: f32, streams: Streams) {
    let factors = _mm512_set1_ps(factor);
    let vector = |[a, b]: [__m512; 2]| _mm512_add_ps(a, _mm512_mul_ps(factors, b));
    map::<false, 2>(target, [a, b], streams, vector, |[a, b]| a + factor * b);
}

#[target_feature(enable = "avx512f")]
pub fn triad_streaming(target: &mut [f32], a: &[f32], b: &[f32], factor: f32, streams: Streams) {
    let factors = _mm512_set1_ps(factor);
    let vector = |[a, b]: [__m512; 2]| _mm512_add_ps(a, _mm512_mul_ps(factors, b));
    map::<true, 2>(target, [a, b], streams, vector, |[a, b]| a + factor * b);
}

/// Computes `target = f(sources)` elementwise. Streaming stores need an aligned target, so elements before the first aligned one and
/// after the last full step are handled one by one.
#[target_feature(enable = "avx512f")]
#[inline]
fn map<const STREAMING: bool, const INPUTS: usize>(
    target: &mut [f32],
    sources: [&[f32]; INPUTS],
    streams: Streams,
    vector: impl Fn([__m512; INPUTS]) -> __m512,
    scalar: impl Fn([f32; INPUTS]) -> f32,
) {
    let length = sources.iter().fold(target.len(), |length, source| length.min(source.len()));
    let head = target.as_ptr().align_offset(64).min(length);
    for_each_step(head, length, streams.count, STEP, |piece| match piece {
        Position::Step(start) => {
            for start in [start, start + 16] {
                if streams.prefetch > 0 {
                    for source in &sources {
                        prefetch_line(source, start, streams.prefetch);
                    }
                }
                let value = vector(sources.map(|source| load(source, start)));
                if STREAMING {
                    // SAFETY: if there are steps, `target` is aligned to 64 bytes at `head`, and `start` is a multiple of 16 elements
                    // (64 bytes) after it.
                    unsafe { stream(target, start, value) }
                } else {
                    store(target, start, value);
                }
            }
        }
        Position::Element(at) => target[at] = scalar(sources.map(|source| source[at])),
    });
    if STREAMING {
        _mm_sfence();
    }
}

#[target_feature(enable = "avx512f,avx512vnni")]
pub(super) fn multiply_bytes<T: Unpack>(
    panel: &BytePanel,
    x: &PackedActivations<i8>,
    chunk: usize,
    sums: &mut [Sums],
) {
    if T::GROUP < 32 {
        // Small groups need more registers for scales.
        multiply_byte_columns::<T, 6>(panel, x, chunk, sums);
    } else {
        multiply_byte_columns::<T, COLUMN_GROUP>(panel, x, chunk, sums);
    }
}

#[target_feature(enable = "avx512f,avx512vnni")]
#[inline]
fn multiply_byte_columns<T: Unpack, const N: usize>(
    panel: &BytePanel,
    x: &PackedActivations<i8>,
    chunk: usize,
    sums: &mut [Sums],
) {
    for_each_column_group(
        sums,
        |at, sums: &mut [Sums; N]| byte_columns::<T, N>(panel, x.columns(chunk, at), sums),
        |at, sums| byte_columns::<T, 2>(panel, x.columns(chunk, at), sums),
        |at, sums| byte_columns::<T, 1>(panel, x.columns(chunk, at), sums),
    );
}

#[target_feature(enable = "avx512f,avx512vnni")]
#[inline]
fn byte_columns<T: Unpack, const N: usize>(panel: &BytePanel, x: [Column<i8>; N], sums: &mut [Sums; N]) {
    let mut totals = [[_mm512_setzero_ps(); 2]; N];
    // Minima come first, while registers are free.
    if T::HAS_MINIMA {
        for (group, minima) in panel.minima.iter().enumerate() {
            let minima = [load(minima, 0), load(minima, 16)];
            for (totals, x) in totals.iter_mut().zip(&x) {
                let sum = _mm512_set1_ps(x.sums[group]);
                totals[0] = _mm512_fmadd_ps(minima[0], sum, totals[0]);
                totals[1] = _mm512_fmadd_ps(minima[1], sum, totals[1]);
            }
        }
    }
    for (group, codes) in panel.codes[..PANEL_COLUMNS / 4].chunks_exact(T::GROUP / 4).enumerate() {
        let mut products = [[_mm512_setzero_si512(); 2]; N];
        for (products, x) in products.iter_mut().zip(&x) {
            *products = [_mm512_set1_epi32(x.bias[group]); 2];
        }
        for (at, rows) in codes.iter().enumerate() {
            let rows = load_rows(&rows.0);
            for (products, x) in products.iter_mut().zip(&x) {
                let [a, b, c, d] = x.qs.as_chunks::<4>().0[group * (T::GROUP / 4) + at];
                let adjacent = _mm512_set1_epi32(i32::from_le_bytes([a as u8, b as u8, c as u8, d as u8]));
                for (product, rows) in products.iter_mut().zip(rows) {
                    *product = _mm512_dpbusd_epi32(*product, rows, adjacent);
                }
            }
        }
        for part in 0..2 {
            let scales = load(&panel.scales[group], 16 * part);
            for ((totals, products), x) in totals.iter_mut().zip(products).zip(x) {
                let scales = if shares_scale::<T>() {
                    scales
                } else {
                    _mm512_mul_ps(scales, _mm512_set1_ps(x.scales[group]))
                };
                totals[part] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(products[part]), scales, totals[part]);
            }
        }
    }
    for ((sums, totals), x) in sums.iter_mut().zip(totals).zip(x) {
        let scale = _mm512_set1_ps(if shares_scale::<T>() { x.scales[0] } else { 1.0 });
        for (part, total) in totals.into_iter().enumerate() {
            let sum = _mm512_fmadd_ps(total, scale, load(&*sums, 16 * part));
            store(sums, 16 * part, sum);
        }
    }
}

#[target_feature(enable = "avx512f")]
pub(super) fn multiply_floats(panel: &[FloatColumn], x: &[FloatChunk], sums: &mut [Sums]) {
    for_each_column_group(
        sums,
        |at, sums: &mut [Sums; COLUMN_GROUP]| float_columns(panel, &x[at..], sums),
        |at, sums| float_columns(panel, &x[at..], sums),
        |at, sums| float_columns(panel, &x[at..], sums),
    );
}

#[target_feature(enable = "avx512f")]
#[inline]
fn float_columns<const N: usize>(panel: &[FloatColumn], x: &[FloatChunk], sums: &mut [Sums; N]) {
    let mut columns = [&x[0][..0]; N];
    let mut totals = [[_mm512_setzero_ps(); 2]; N];
    for (column, (truncated, totals)) in columns.iter_mut().zip(&mut totals).enumerate() {
        *truncated = &x[column][..panel.len()];
        *totals = [load(&sums[column], 0), load(&sums[column], 16)];
    }
    for (at, rows) in panel.iter().enumerate() {
        let rows = rows.0.as_flattened();
        let rows = [load(rows, 0), load(rows, 16)];
        for (totals, x) in totals.iter_mut().zip(columns) {
            // SAFETY: every column was truncated to the length of the panel above.
            let x = _mm512_set1_ps(*unsafe { x.get_unchecked(at) });
            for (total, rows) in totals.iter_mut().zip(rows) {
                *total = _mm512_fmadd_ps(rows, x, *total);
            }
        }
    }
    for (sums, totals) in sums.iter_mut().zip(totals) {
        store(sums, 0, totals[0]);
        store(sums, 16, totals[1]);
    }
}

/// Loads 32 bits of each of 32 rows.
#[target_feature(enable = "avx512f")]
#[inline]
fn load_rows(rows: &[[u8; 4]; PANEL_ROWS]) -> [__m512i; 2] {
    let sixteens: &[[[u8; 4]; 16]] = rows.as_chunks().0;
    // SAFETY: `sixteens[0]` is 64 readable bytes.
    let low = unsafe { _mm512_loadu_si512(sixteens[0].as_ptr().cast()) };
    // SAFETY: as above.
    let high = unsafe { _mm512_loadu_si512(sixteens[1].as_ptr().cast()) };
    [low, high]
}

/// Prefetches the cache line `ahead` bytes after element `at`, which may be out of bounds.
#[target_feature(enable = "avx512f")]
#[inline]
fn prefetch_line(slice: &[f32], at: usize, ahead: usize) {
    let place = slice.as_ptr().wrapping_add(at).wrapping_byte_add(ahead);
    // SAFETY: a prefetch is a hint and does not fault on any address.
    #[allow(unused_unsafe, reason = "older compilers count this intrinsic as unsafe")]
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(place.cast())
    }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load(slice: &[f32], at: usize) -> __m512 {
    let sixteen = &slice[at..at + 16];
    // SAFETY: `sixteen` is 64 readable bytes.
    unsafe { _mm512_loadu_ps(sixteen.as_ptr()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store(slice: &mut [f32], at: usize, value: __m512) {
    let sixteen = &mut slice[at..at + 16];
    // SAFETY: `sixteen` is 64 writable bytes.
    unsafe { _mm512_storeu_ps(sixteen.as_mut_ptr(), value) }
}

/// Stores without caching.
///
/// # Safety
///
/// `slice[at]` must be at an address that is a multiple of 64.
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn stream(slice: &mut [f32], at: usize, value: __m512) {
    let sixteen = &mut slice[at..at + 16];
    debug_assert!(sixteen.as_ptr().addr().is_multiple_of(64));
    // SAFETY: `sixteen` is 64 writable bytes, and the caller guarantees their alignment.
    unsafe { _mm512_stream_ps(sixteen.as_mut_ptr(), value) }
}
