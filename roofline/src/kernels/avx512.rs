//! The kernels that move memory, with AVX-512: a whole cache line in one load or store. What is multiplied in registers has a
//! room of its own, and the products use AVX2.

use std::arch::x86_64::*;

use super::scalar;
use super::stream::{Piece, Streams, distance, walk};

/// f32 values that are taken from one stream at a time: two cache lines.
const STEP: usize = 32;

/// The sum of all elements.
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
    // Two sums a stream, so that the chains are shorter than the loads take.
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

/// Fills `target` with one value.
#[target_feature(enable = "avx512f")]
pub fn fill(target: &mut [f32], value: f32, streams: Streams) {
    let vector = _mm512_set1_ps(value);
    map::<false, 0>(target, [], streams, |[]| vector, |[]| value);
}

/// Fills `target` with one value, with stores that pass the cache by.
#[target_feature(enable = "avx512f")]
pub fn fill_streaming(target: &mut [f32], value: f32, streams: Streams) {
    let vector = _mm512_set1_ps(value);
    map::<true, 0>(target, [], streams, |[]| vector, |[]| value);
}

/// Copies `source` to `target`.
#[target_feature(enable = "avx512f")]
pub fn copy(target: &mut [f32], source: &[f32], streams: Streams) {
    map::<false, 1>(target, [source], streams, |[a]| a, |[a]| a);
}

/// Copies `source` to `target` with stores that pass the cache by.
#[target_feature(enable = "avx512f")]
pub fn copy_streaming(target: &mut [f32], source: &[f32], streams: Streams) {
    map::<true, 1>(target, [source], streams, |[a]| a, |[a]| a);
}

/// `target = a + factor * b`.
#[target_feature(enable = "avx512f")]
pub fn triad(target: &mut [f32], a: &[f32], b: &[f32], factor: f32, streams: Streams) {
    let factors = _mm512_set1_ps(factor);
    let vector = |[a, b]: [__m512; 2]| _mm512_add_ps(a, _mm512_mul_ps(factors, b));
    map::<false, 2>(target, [a, b], streams, vector, |[a, b]| a + factor * b);
}

/// `target = a + factor * b` with stores that pass the cache by.
#[target_feature(enable = "avx512f")]
pub fn triad_streaming(target: &mut [f32], a: &[f32], b: &[f32], factor: f32, streams: Streams) {
    let factors = _mm512_set1_ps(factor);
    let vector = |[a, b]: [__m512; 2]| _mm512_add_ps(a, _mm512_mul_ps(factors, b));
    map::<true, 2>(target, [a, b], streams, vector, |[a, b]| a + factor * b);
}

/// `target = f(sources)`, elementwise. Streaming stores need an aligned target: what stands before the
/// first aligned element and after the last full step is done one by one.
#[target_feature(enable = "avx512f")]
#[inline]
fn map<const STREAMING: bool, const INPUTS: usize>(
    target: &mut [f32],
    sources: [&[f32]; INPUTS],
    streams: Streams,
    vector: impl Fn([__m512; INPUTS]) -> __m512,
    single: impl Fn([f32; INPUTS]) -> f32,
) {
    let length = sources.iter().fold(target.len(), |length, source| length.min(source.len()));
    let head = target.as_ptr().align_offset(64).min(length);
    walk(head, length, streams.count, STEP, |piece| match piece {
        Piece::Step(start) => {
            for start in [start, start + 16] {
                if streams.prefetch > 0 {
                    for source in &sources {
                        prefetch_line(source, start, streams.prefetch);
                    }
                }
                let value = vector(sources.map(|source| load(source, start)));
                if STREAMING {
                    // SAFETY: `target` is aligned to 64 bytes at `head`, or there would be no steps, and `start` is whole
                    // vectors after it: steps are multiples of `STEP` apart.
                    unsafe { stream(target, start, value) }
                } else {
                    store(target, start, value);
                }
            }
        }
        Piece::One(at) => target[at] = single(sources.map(|source| source[at])),
    });
    if STREAMING {
        _mm_sfence();
    }
}

/// Asks for the cache line `ahead` bytes after element `at`; never faults, wherever that is.
#[target_feature(enable = "avx512f")]
#[inline]
fn prefetch_line(slice: &[f32], at: usize, ahead: usize) {
    let place = slice.as_ptr().wrapping_add(at).wrapping_byte_add(ahead);
    // SAFETY: a prefetch is a hint and may name any address.
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

/// Stores past the cache.
///
/// # Safety
///
/// `slice[at]` must be at an address that is a multiple of 64.
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn stream(slice: &mut [f32], at: usize, value: __m512) {
    let sixteen = &mut slice[at..at + 16];
    debug_assert!(sixteen.as_ptr().addr().is_multiple_of(64));
    // SAFETY: `sixteen` is 64 writable bytes, and the caller promises their alignment.
    unsafe { _mm512_stream_ps(sixteen.as_mut_ptr(), value) }
}
