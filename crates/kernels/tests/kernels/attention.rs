//! Attention over a KV cache, compared with a direct computation in f64.

use half::f16;
use roofline_kernels::isa::Isa;
use roofline_kernels::{
    BlockQ8_0, CacheElement, CacheFormat, KernelError, KvCache, Mask, ThreadPool, attend, dequantize,
};

use crate::Noise;

/// Shapes of a KV cache and of the queries.
#[derive(Clone, Debug)]
struct Case {
    format: CacheFormat,
    group: usize,
    cached: usize,
    count: usize,
    sequences: usize,
    mask: Mask,
}

const ALL: Mask = Mask { window: usize::MAX, causal: true };

impl Case {
    fn new(heads: usize, group: usize, key_length: usize, value_length: usize, cached: usize) -> Case {
        let format = CacheFormat { heads, key_length, value_length, latent: false };
        Case { format, group, cached, count: 1, sequences: 1, mask: ALL }
    }

    fn heads(&self) -> usize {
        self.format.heads * self.group
    }

    /// Returns pairs of the kernel's result and the expected one. `restore` rounds values like the cache does.
    fn run<T: CacheElement>(
        &self,
        pool: &ThreadPool,
        random: &mut impl FnMut(usize) -> Vec<f32>,
        restore: impl Fn(&[f32]) -> Vec<f32>,
    ) -> Vec<(f32, f64)> {
        let CacheFormat { heads, key_length, value_length, latent } = self.format;
        let (mut caches, mut stored) = (Vec::new(), Vec::new());
        for _ in 0..self.sequences {
            let keys = random(self.cached * heads * key_length);
            let values = if latent { Vec::new() } else { random(self.cached * heads * value_length) };
            let mut cache = KvCache::<T>::new(self.format, self.cached).unwrap();
            // Two calls, the second with the last token only.
            let (first, last) =
                (&keys[..keys.len() - heads * key_length], &keys[keys.len() - heads * key_length..]);
            let end = values.len().saturating_sub(heads * value_length);
            cache.store(pool, 0, first, &values[..end]).unwrap();
            cache.store(pool, self.cached - 1, last, &values[end..]).unwrap();
            caches.push(cache);
            let keys = restore(&keys);
            let values = match latent {
                true => keys.chunks(key_length).flat_map(|key| key[..value_length].to_vec()).collect(),
                false => restore(&values),
            };
            stored.push((keys, values));
        }
        let queries = random(self.sequences * self.count * self.heads() * key_length);
        let mut out = vec![f32::NAN; self.sequences * self.count * self.heads() * value_length];
        attend(pool, &caches, self.heads(), self.count, self.mask, &queries, &mut out).unwrap();
        let expected = self.expected(&queries, &stored);
        assert_eq!(out.len(), expected.len());
        out.into_iter().zip(expected).collect()
    }

    /// Scores, softmax and weighted sum in separate steps.
    fn expected(&self, queries: &[f32], stored: &[(Vec<f32>, Vec<f32>)]) -> Vec<f64> {
        let CacheFormat { heads, key_length, value_length, .. } = self.format;
        let mut out = Vec::new();
        for (row, query) in queries.chunks(key_length).enumerate() {
            let (head, token) = (row % self.heads(), row / self.heads());
            let (sequence, token) = (token / self.count, token % self.count);
            let (keys, values) = &stored[sequence];
            let last = if self.mask.causal { self.cached - self.count + token } else { self.cached - 1 };
            let seen = (last + 1).saturating_sub(self.mask.window)..=last;
            let place = |token: usize, length: usize| (token * heads + head / self.group) * length;
            let scores: Vec<f64> = seen
                .clone()
                .map(|token| {
                    let key = &keys[place(token, key_length)..][..key_length];
                    let dot: f64 = key.iter().zip(query).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
                    dot / (key_length as f64).sqrt()
                })
                .collect();
            let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let weights: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
            let total: f64 = weights.iter().sum();
            out.extend((0..value_length).map(|at| {
                let sum = seen.clone().zip(&weights);
                sum.map(|(token, weight)| weight * f64::from(values[place(token, value_length) + at]))
                    .sum::<f64>()
                    / total
            }));
        }
        out
    }
}

fn as_f16(values: &[f32]) -> Vec<f32> {
    values.iter().map(|value| f16::from_f32(*value).to_f32()).collect()
}

fn as_q8_0(values: &[f32]) -> Vec<f32> {
    let blocks = roofline_kernels::quantize::<BlockQ8_0>(Isa::SCALAR, values).unwrap();
    let mut out = vec![0.0; values.len()];
    dequantize(&mut out, &blocks).unwrap();
    out
}

/// Group sizes, lengths around block boundaries, windows, several tokens and sequences, and split caches.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (group, length, cached) in
        [(1, 32, 1), (2, 64, 7), (3, 96, 63), (4, 128, 64), (5, 64, 65), (8, 32, 200)]
    {
        cases.push(Case::new(2, group, length, length, cached));
    }
    let one = Case::new(1, 4, 64, 32, 1500);
    cases.push(one.clone());
    cases.push(Case { mask: Mask { window: 100, causal: true }, ..one.clone() });
    cases.push(Case { count: 70, cached: 90, ..one.clone() });
    cases.push(Case { count: 33, cached: 33, mask: Mask { window: 9, causal: true }, ..one.clone() });
    cases.push(Case { count: 12, cached: 12, mask: Mask { window: 900, causal: false }, ..one.clone() });
    cases.push(Case { sequences: 3, cached: 50, ..Case::new(2, 1, 64, 64, 1) });
    cases.push(Case { sequences: 2, count: 5, cached: 20, ..Case::new(2, 3, 32, 64, 1) });
    let latent = CacheFormat { heads: 1, key_length: 96, value_length: 64, latent: true };
    cases.push(Case { format: latent, group: 40, ..Case::new(1, 1, 1, 1, 70) });
    cases
}

/// Results may differ by the rounding of sums over the key length and the tokens.
fn assert_near(found: &[(f32, f64)], case: &Case, what: &str) {
    let terms = (case.cached + case.format.key_length) as f64;
    for (found, expected) in found {
        let error = (f64::from(*found) - expected).abs();
        assert!(
            error <= terms * 4.0 * f64::from(f32::EPSILON),
            "{what} {case:?}: {found} instead of {expected}"
        );
    }
}

#[test]
fn attention_matches_the_direct_computation() {
    for isa in Isa::available() {
        for threads in [1, 3] {
            let pool = ThreadPool::new(*isa, threads).unwrap();
            for case in cases() {
                let mut noise = Noise(7);
                let mut random = |count| noise.values(count);
                assert_near(&case.run::<f16>(&pool, &mut random, as_f16), &case, &format!("{isa} f16"));
                assert_near(
                    &case.run::<BlockQ8_0>(&pool, &mut random, as_q8_0),
                    &case,
                    &format!("{isa} q8_0"),
                );
            }
            // Lengths that are not a multiple of a block, which only f16 supports.
            for length in [1, 8, 20, 40, 80] {
                let case = Case::new(2, 3, length, length + 3, 70);
                let mut noise = Noise(length as u64);
                let mut random = |count| noise.values(count);
                assert_near(&case.run::<f16>(&pool, &mut random, as_f16), &case, &format!("{isa} f16"));
            }
        }
    }
}

#[test]
fn attention_over_integers_is_exact() {
    for isa in Isa::available() {
        let pool = ThreadPool::new(*isa, 2).unwrap();
        // Zero keys weight all values equally: the result is a mean of integers over a power of two.
        let case = Case::new(2, 4, 64, 64, 1024);
        let (mut call, mut state) = (0, 0u32);
        let mut random = |count: usize| {
            call += 1;
            let mut next = || {
                state = state.wrapping_mul(1664525).wrapping_add(1013904223);
                (state >> 24) as f32 - 128.0
            };
            (0..count).map(|_| if call % 3 == 1 { 0.0 } else { next() }).collect::<Vec<f32>>()
        };
        for (found, expected) in case.run::<f16>(&pool, &mut random, as_f16) {
            assert_eq!(f64::from(found), expected, "{isa}");
        }
        // A key with a far higher score than all others selects its value.
        let mut cache = KvCache::<f16>::new(case.format, 1024).unwrap();
        let (mut keys, values) = (vec![0.0; 1024 * 128], random(1024 * 128));
        keys[700 * 128..701 * 128].fill(64.0);
        cache.store(&pool, 0, &keys, &values).unwrap();
        let mut out = vec![0.0; 8 * 64];
        attend(&pool, &[cache], 8, 1, ALL, &vec![8.0; 8 * 64], &mut out).unwrap();
        let chosen = &values[700 * 128..701 * 128];
        for (head, out) in out.chunks(64).enumerate() {
            assert_eq!(out, &chosen[head / 4 * 64..][..64], "{isa}");
        }
    }
}

#[test]
fn nan_propagates_through_attention() {
    for isa in Isa::available() {
        let pool = ThreadPool::single(*isa);
        let format = CacheFormat { heads: 1, key_length: 32, value_length: 32, latent: false };
        let mut cache = KvCache::<f16>::new(format, 100).unwrap();
        cache.store(&pool, 50, &[f32::NAN; 32], &[1.0; 32]).unwrap();
        let mut out = vec![0.0; 32];
        attend(&pool, &[cache], 1, 1, ALL, &[1.0; 32], &mut out).unwrap();
        assert!(out.iter().all(|value| value.is_nan()), "{isa}: {out:?}");
    }
}

#[test]
fn wrong_cache_shapes_are_errors() {
    let pool = ThreadPool::single(Isa::SCALAR);
    let format = CacheFormat { heads: 2, key_length: 32, value_length: 64, latent: false };
    let wrong = |format, tokens| KvCache::<BlockQ8_0>::new(format, tokens).map(|_| ()).unwrap_err();
    assert!(matches!(
        wrong(CacheFormat { key_length: 40, ..format }, 1),
        KernelError::NotMultiple { what: "key", .. }
    ));
    assert!(matches!(wrong(CacheFormat { latent: true, ..format }, 1), KernelError::Length { .. }));
    assert!(matches!(wrong(format, usize::MAX), KernelError::Overflow { .. }));
    assert!(matches!(wrong(format, usize::MAX / 200), KernelError::Overflow { .. }));
    assert!(matches!(wrong(format, 0), KernelError::Empty { .. }));
    let mut cache = KvCache::<f16>::new(format, 4).unwrap();
    assert!(cache.store(&pool, 3, &[0.0; 128], &[0.0; 256]).is_err(), "past the end");
    assert!(cache.store(&pool, 0, &[0.0; 64], &[0.0; 64]).is_err(), "too few values");
    let caches = [cache];
    let run = |heads, count, queries: usize, out: usize| {
        attend(&pool, &caches, heads, count, ALL, &vec![0.0; queries], &mut vec![0.0; out])
    };
    assert_eq!(run(4, 1, 128, 256), Ok(()));
    assert!(matches!(run(3, 1, 96, 192), Err(KernelError::NotMultiple { what: "heads", .. })));
    assert!(matches!(run(0, 1, 0, 0), Err(KernelError::NotMultiple { what: "heads", .. })));
    assert!(matches!(run(4, 1, 127, 256), Err(KernelError::Length { what: "queries", .. })));
    assert!(matches!(run(4, 1, 128, 255), Err(KernelError::Length { what: "output", .. })));
    assert!(matches!(run(4, 5, 640, 1280), Err(KernelError::Length { what: "cache", .. })));
}
