//! Attention over a KV cache with an online softmax.
//!
//! The keys and values of a head are contiguous, token after token. All queries that share a head process the same tile of tokens and
//! keep a running maximum of their scores, so that every cached byte is read from memory once. Long caches are split into parts for
//! several threads, whose partial results are combined at the end.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod kv_loop;
mod scalar;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "aarch64")]
mod neon;

use std::ops::Range;

use half::f16;
use half::slice::HalfFloatSliceExt;

use super::format::BlockQ8_0;
use super::matrix::Weight;
use super::thread_pool::ThreadPool;
use super::{KernelError, check_length, dispatch, quantize_into};
use crate::isa::{Isa, Level};

/// Maximum number of tokens per tile, whose scores are computed before their values are added.
const MAX_TILE_TOKENS: usize = 64;
/// Bytes of keys per tile, such that keys and values fit in the L1 cache.
const TILE_KEY_BYTES: usize = 16 << 10;
/// Queries multiplied with a key together.
const QUERY_BLOCK: usize = 4;
/// Maximum number of queries per task; more would not fit in the inner caches.
const MAX_QUERIES: usize = 32;
/// Minimum number of tokens per part of a split cache.
const MIN_PART_TOKENS: usize = 256;

/// Scores of the tokens of a tile, or their softmax weights.
type Scores = [f32; MAX_TILE_TOKENS];

/// Element type of a KV cache.
pub trait CacheElement: Weight {
    /// Zero.
    const ZERO: Self;

    /// Converts `from` to this type; the lengths must match.
    fn store(isa: Isa, to: &mut [Self], from: &[f32]) -> Result<(), KernelError>;

    /// Computes the dot product of up to four queries, one after the other in `queries`, with each key, and prefetches `next`.
    #[doc(hidden)]
    fn scores(isa: Isa, keys: &[Self], next: &[Self], queries: &[f32], scores: &mut [Scores]);

    /// Adds the weighted values to the sums of up to four queries, one after the other in `sums`. Values start every `stride` elements.
    #[doc(hidden)]
    fn accumulate(
        isa: Isa,
        values: &[Self],
        stride: usize,
        next: &[Self],
        weights: &[Scores],
        sums: &mut [f32],
    );
}

impl CacheElement for f16 {
    const ZERO: f16 = f16::ZERO;

    fn store(_: Isa, to: &mut [f16], from: &[f32]) -> Result<(), KernelError> {
        check_length("values", to.len(), from.len())?;
        to.convert_from_f32_slice(from);
        Ok(())
    }

    fn scores(isa: Isa, keys: &[f16], next: &[f16], queries: &[f32], scores: &mut [Scores]) {
        dispatch!(isa, scores_f16(keys, next, queries, scores));
    }

    fn accumulate(
        isa: Isa,
        values: &[f16],
        stride: usize,
        next: &[f16],
        weights: &[Scores],
        sums: &mut [f32],
    ) {
        dispatch!(isa, accumulate_f16(values, stride, next, weights, sums));
    }
}

impl CacheElement for BlockQ8_0 {
    const ZERO: BlockQ8_0 = BlockQ8_0::ZERO;

    fn store(isa: Isa, to: &mut [BlockQ8_0], from: &[f32]) -> Result<(), KernelError> {
        quantize_into(isa, to, from)
    }

    fn scores(isa: Isa, keys: &[BlockQ8_0], next: &[BlockQ8_0], queries: &[f32], scores: &mut [Scores]) {
        dispatch!(isa, scores_q8_0(keys, next, queries, scores));
    }

    fn accumulate(
        isa: Isa,
        values: &[BlockQ8_0],
        stride: usize,
        next: &[BlockQ8_0],
        weights: &[Scores],
        sums: &mut [f32],
    ) {
        dispatch!(isa, accumulate_q8_0(values, stride, next, weights, sums));
    }
}

/// Shape of a KV cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheFormat {
    /// Number of KV heads.
    pub heads: usize,
    /// Length of a key.
    pub key_length: usize,
    /// Length of a value.
    pub value_length: usize,
    /// True if values are prefixes of keys, as in multi-head latent attention (MLA).
    pub latent: bool,
}

/// Keys and values of one layer for one sequence.
#[derive(Clone, Debug)]
pub struct KvCache<T> {
    format: CacheFormat,
    tokens: usize,
    keys: Vec<T>,
    values: Vec<T>,
}

impl<T: CacheElement> KvCache<T> {
    /// Creates a cache of `tokens` tokens, filled with zeros.
    pub fn new(format: CacheFormat, tokens: usize) -> Result<KvCache<T>, KernelError> {
        let CacheFormat { heads, key_length, value_length, latent } = format;
        if latent && value_length > key_length {
            return Err(KernelError::Length { what: "values", expected: key_length, found: value_length });
        }
        for (what, found) in [("key", key_length), ("value", value_length)] {
            if !found.is_multiple_of(T::WEIGHTS) {
                return Err(KernelError::NotMultiple { what, multiple: T::WEIGHTS, found });
            }
        }
        let elements = |length: usize| {
            let rows = heads.checked_mul(tokens);
            let length = rows.and_then(|rows| rows.checked_mul(length / T::WEIGHTS));
            let bytes = length.and_then(|length| length.checked_mul(size_of::<T>()));
            length.filter(|_| bytes.is_some_and(|bytes| isize::try_from(bytes).is_ok()))
        };
        let overflow = KernelError::Overflow { rows: tokens, columns: key_length };
        let (keys, values) = elements(key_length).zip(elements(value_length)).ok_or(overflow)?;
        if keys == 0 {
            return Err(KernelError::Empty { rows: tokens, columns: key_length });
        }
        let values = vec![T::ZERO; if latent { 0 } else { values }];
        Ok(KvCache { format, tokens, keys: vec![T::ZERO; keys], values })
    }

    /// Size of all keys and values in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(self.keys.as_slice()) + size_of_val(self.values.as_slice())
    }

    /// Number of tokens.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// Stores keys and values of consecutive tokens, starting at token `first`.
    ///
    /// `keys` and `values` hold the tokens one after the other, each with all its heads. With latent attention, `values` is empty.
    pub fn store(
        &mut self,
        pool: &ThreadPool,
        first: usize,
        keys: &[f32],
        values: &[f32],
    ) -> Result<(), KernelError> {
        let CacheFormat { heads, key_length, value_length, latent } = self.format;
        let count = keys.len() / (heads * key_length);
        check_length("keys", count * heads * key_length, keys.len())?;
        check_length("values", if latent { 0 } else { count * heads * value_length }, values.len())?;
        if first.checked_add(count).is_none_or(|end| end > self.tokens) {
            let (expected, found) = (self.tokens, first.saturating_add(count));
            return Err(KernelError::Length { what: "tokens", expected, found });
        }
        let store = |stored: &mut Vec<T>, from: &[f32], length: usize| {
            let (row, isa) = (length / T::WEIGHTS, pool.isa());
            let per_head = stored.chunks_mut((self.tokens * row).max(1)).enumerate();
            let work = |(head, stored): (usize, &mut [T])| {
                let rows = stored[first * row..].chunks_mut(row.max(1)).take(count);
                for (row, from) in rows.zip(from.chunks(heads * length)) {
                    // Cannot fail: `check_length` above checked the lengths.
                    let _ = T::store(isa, row, &from[head * length..(head + 1) * length]);
                }
            };
            // A single token is faster to store than to distribute.
            match count {
                0 | 1 => per_head.for_each(work),
                _ => pool.for_each(per_head.collect(), work),
            }
        };
        store(&mut self.keys, keys, key_length);
        if !latent {
            store(&mut self.values, values, value_length);
        }
        Ok(())
    }

    fn keys(&self, head: usize, tokens: Range<usize>) -> &[T] {
        let row = self.format.key_length / T::WEIGHTS;
        let start = head * self.tokens;
        &self.keys[(start + tokens.start) * row..(start + tokens.end) * row]
    }

    /// Values of a head, one every [`KvCache::stride`] elements.
    fn values(&self, head: usize, tokens: Range<usize>) -> &[T] {
        if self.format.latent {
            return self.keys(head, tokens);
        }
        let start = head * self.tokens;
        &self.values[(start + tokens.start) * self.stride()..(start + tokens.end) * self.stride()]
    }

    fn stride(&self) -> usize {
        let CacheFormat { key_length, value_length, latent, .. } = self.format;
        if latent { key_length / T::WEIGHTS } else { value_length / T::WEIGHTS }
    }

    fn tile_tokens(&self) -> usize {
        let row = self.format.key_length / T::WEIGHTS * size_of::<T>();
        (TILE_KEY_BYTES / row.max(1)).clamp(8, MAX_TILE_TOKENS)
    }
}

/// Attention mask of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask {
    /// Sliding window: maximum number of visible tokens.
    pub window: usize,
    /// True if a token attends only to itself and earlier tokens.
    pub causal: bool,
}

impl Mask {
    /// Tokens visible to the `at`th of the last `count` tokens of a cache.
    fn visible(self, at: usize, count: usize, tokens: usize) -> Range<usize> {
        let end = if self.causal { tokens - count + at + 1 } else { tokens };
        end.saturating_sub(self.window.max(1))..end
    }
}

/// Unnormalized softmax state of the queries of a task over a part of the cache.
struct Partial {
    maxima: Vec<f32>,
    totals: Vec<f32>,
    sums: Vec<f32>,
}

/// Computes attention of the last `count` tokens of each cache, one cache per sequence.
///
/// `queries` and `out` hold the tokens of the first sequence one after the other, each with all its heads, then those of the next
/// sequence. With grouped-query attention, consecutive query heads share a KV head. Scores are divided by the square root of the key
/// length.
pub fn attend<T: CacheElement>(
    pool: &ThreadPool,
    caches: &[KvCache<T>],
    heads: usize,
    count: usize,
    mask: Mask,
    queries: &[f32],
    out: &mut [f32],
) -> Result<(), KernelError> {
    let Some(KvCache { format, .. }) = caches.first() else { return Ok(()) };
    let (format, rows) = (*format, caches.len() * count * heads);
    if heads == 0 || !heads.is_multiple_of(format.heads) {
        return Err(KernelError::NotMultiple { what: "heads", multiple: format.heads, found: heads });
    }
    check_length("queries", rows * format.key_length, queries.len())?;
    check_length("output", rows * format.value_length, out.len())?;
    for cache in caches {
        if cache.format != format || cache.tokens < count || count == 0 {
            return Err(KernelError::Length { what: "cache", expected: count.max(1), found: cache.tokens });
        }
    }
    let group = heads / format.heads;
    // Tokens per task: one in decode, up to `MAX_QUERIES` queries in prefill.
    let tokens_per_task = (MAX_QUERIES / group).clamp(1, count);
    let blocks = count.div_ceil(tokens_per_task);
    let mut tasks: Vec<Task<T>> = Vec::with_capacity(caches.len() * blocks * format.heads);
    let mut chunks = out.chunks_mut((group * format.value_length).max(1));
    for (sequence, cache) in caches.iter().enumerate() {
        for block in 0..blocks {
            let tokens = block * tokens_per_task..((block + 1) * tokens_per_task).min(count);
            let first = tasks.len();
            tasks.extend((0..format.heads).map(|head| Task {
                cache,
                head,
                tokens: tokens.clone(),
                first_row: sequence * count,
                out: Vec::with_capacity(tokens.len()),
            }));
            for task in tokens.flat_map(|_| first..first + format.heads) {
                tasks[task].out.extend(chunks.next());
            }
        }
    }
    let call = Call { isa: pool.isa(), group, heads, count, mask, queries };
    let longest = caches.iter().map(|cache| call.visible(&(0..count), cache).len()).max().unwrap_or(0);
    let parts = (4 * pool.threads()).div_ceil(tasks.len()).clamp(1, (longest / MIN_PART_TOKENS).max(1));
    if parts == 1 {
        pool.for_each(tasks, |mut task| {
            let partial = call.attend(&task, call.visible(&task.tokens, task.cache));
            call.combine(&[partial], &mut task.out, format.value_length);
        });
        return Ok(());
    }
    let mut partials: Vec<Option<Partial>> = (0..tasks.len() * parts).map(|_| None).collect();
    let items = partials.iter_mut().enumerate().map(|(at, partial)| (at / parts, at % parts, partial));
    pool.for_each(items.collect(), |(task, part, partial)| {
        let task = &tasks[task];
        let visible = call.visible(&task.tokens, task.cache);
        let share = ThreadPool::share(visible.len(), parts, part);
        *partial = Some(call.attend(task, visible.start + share.start..visible.start + share.end));
    });
    for (task, partials) in tasks.iter_mut().zip(partials.chunks_mut(parts)) {
        let partials: Vec<Partial> = partials.iter_mut().filter_map(Option::take).collect();
        call.combine(&partials, &mut task.out, format.value_length);
    }
    Ok(())
}

/// Queries of consecutive tokens for one KV head.
struct Task<'a, T> {
    cache: &'a KvCache<T>,
    head: usize,
    tokens: Range<usize>,
    /// Index of the first token of the sequence in `queries`.
    first_row: usize,
    /// Output of the heads of each token.
    out: Vec<&'a mut [f32]>,
}

/// Arguments shared by all tasks.
struct Call<'a> {
    isa: Isa,
    group: usize,
    heads: usize,
    count: usize,
    mask: Mask,
    queries: &'a [f32],
}

impl Call<'_> {
    /// Union of the cached tokens visible to `tokens`.
    fn visible<T>(&self, tokens: &Range<usize>, cache: &KvCache<T>) -> Range<usize> {
        let visible = |at| self.mask.visible(at, self.count, cache.tokens);
        visible(tokens.start).start..visible(tokens.end.saturating_sub(1)).end
    }

    /// The scaled queries of a task, one after the other.
    fn queries<T>(&self, task: &Task<T>) -> Vec<f32> {
        let length = task.cache.format.key_length;
        let scale = 1.0 / (length as f32).sqrt();
        let rows = task.tokens.clone().flat_map(|token| {
            let start = ((task.first_row + token) * self.heads + task.head * self.group) * length;
            &self.queries[start..start + self.group * length]
        });
        rows.map(|value| value * scale).collect()
    }

    /// Processes the queries of a task over a range of cached tokens.
    fn attend<T: CacheElement>(&self, task: &Task<T>, range: Range<usize>) -> Partial {
        let Task { cache, head, .. } = *task;
        let CacheFormat { key_length, value_length, latent, .. } = cache.format;
        let queries = self.queries(task);
        let visible: Vec<Range<usize>> = task
            .tokens
            .clone()
            .flat_map(|token| {
                std::iter::repeat_n(self.mask.visible(token, self.count, cache.tokens), self.group)
            })
            .collect();
        let mut partial = Partial {
            maxima: vec![f32::NEG_INFINITY; visible.len()],
            totals: vec![0.0; visible.len()],
            sums: vec![0.0; visible.len() * value_length],
        };
        let tile = cache.tile_tokens();
        for start in range.clone().step_by(tile) {
            let tokens = start..(start + tile).min(range.end);
            let next = tokens.end..(tokens.end + tile).min(range.end);
            let (keys, values) = (cache.keys(head, tokens.clone()), cache.values(head, tokens.clone()));
            let next = cache.keys(head, next);
            for (chunk, visible) in visible.chunks(QUERY_BLOCK).enumerate() {
                let at = chunk * QUERY_BLOCK;
                // Only the first block of queries prefetches.
                let ahead = |what| if chunk == 0 { what } else { &[][..] };
                let mut scores = [[0.0; MAX_TILE_TOKENS]; QUERY_BLOCK];
                let scores = &mut scores[..visible.len()];
                let queries = &queries[at * key_length..(at + visible.len()) * key_length];
                T::scores(self.isa, keys, ahead(if latent { next } else { values }), queries, scores);
                let sums = &mut partial.sums[at * value_length..(at + visible.len()) * value_length];
                for (query, (scores, visible)) in scores.iter_mut().zip(visible).enumerate() {
                    let from = visible.start.clamp(tokens.start, tokens.end) - tokens.start;
                    let to = visible.end.clamp(tokens.start, tokens.end) - tokens.start;
                    scores[..from].fill(0.0);
                    scores[to..].fill(0.0);
                    let (maximum, total) = (&mut partial.maxima[at + query], &mut partial.totals[at + query]);
                    let max = scores[from..to].iter().fold(*maximum, |a, b| if *b > a { *b } else { a });
                    if from == to {
                        continue;
                    }
                    if max > *maximum {
                        let correction = scalar::exp(*maximum - max);
                        *total *= correction;
                        let length = value_length;
                        sums[query * length..(query + 1) * length]
                            .iter_mut()
                            .for_each(|sum| *sum *= correction);
                        *maximum = max;
                    }
                    *total += exp_sum(self.isa, &mut scores[from..to], max);
                }
                T::accumulate(
                    self.isa,
                    values,
                    cache.stride(),
                    ahead(if latent { &[] } else { next }),
                    scores,
                    sums,
                );
            }
        }
        partial
    }

    /// Combines the partial results of all parts and normalizes them.
    fn combine(&self, partials: &[Partial], out: &mut [&mut [f32]], value_length: usize) {
        for (token, out) in out.iter_mut().enumerate() {
            for (head, out) in out.chunks_mut(value_length.max(1)).enumerate() {
                let at = token * self.group + head;
                let maxima = partials.iter().map(|partial| partial.maxima[at]);
                let maximum = maxima.fold(f32::NEG_INFINITY, f32::max);
                out.fill(0.0);
                let mut total = 0.0;
                for partial in partials {
                    let weight = scalar::exp(partial.maxima[at] - maximum);
                    total += weight * partial.totals[at];
                    let sums = &partial.sums[at * value_length..(at + 1) * value_length];
                    for (out, sum) in out.iter_mut().zip(sums) {
                        *out += weight * sum;
                    }
                }
                out.iter_mut().for_each(|out| *out /= total);
            }
        }
    }
}

/// Replaces each score by `exp(score - max)` and returns their sum.
fn exp_sum(isa: Isa, scores: &mut [f32], max: f32) -> f32 {
    dispatch!(isa, exp_sum(scores, max))
}
