//! Attention over cached keys and values: scores of queries against keys, their softmax, and the sum of the values that it weighs.
//!
//! Keys and values of a head lie token after token. A few tokens at a time meet all queries that share the head, whose largest
//! score so far is kept, so that every cached byte comes from memory once. A long cache is shared out to threads in parts, which
//! are put together at the end.

mod scalar;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod walk;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "aarch64")]
mod neon;

use std::ops::Range;

use half::f16;
use half::slice::HalfFloatSliceExt;

use super::format::BlockQ8_0;
use super::matrix::Weight;
use super::team::Team;
use super::{KernelError, dispatch, quantize, same_length};
use crate::isa::{Isa, Level};

/// Tokens whose scores are computed before their values are added, at most.
const TOKENS: usize = 64;
/// Bytes of keys that are met at once: they and as many of values fit in the nearest cache.
const NEAR: usize = 16 << 10;
/// Queries that a key is multiplied with at once.
const AT_ONCE: usize = 4;
/// Queries that meet the same tokens: more would not fit in a near cache.
const QUERIES: usize = 32;
/// Tokens of a part, at least: fewer are not worth a thread.
const PART: usize = 256;

/// A score, or the weight that it becomes, for each token.
type Scores = [f32; TOKENS];

/// What keys and values may be cached in.
pub trait Cached: Weight {
    /// Nothing.
    const ZERO: Self;

    /// Stores numbers, as many as `to` holds.
    fn store(isa: Isa, to: &mut [Self], from: &[f32]) -> Result<(), KernelError>;

    /// The products of each of at most four queries, one after the other in `queries`, with each key; `next` is asked for
    /// meanwhile.
    #[doc(hidden)]
    fn scores(isa: Isa, keys: &[Self], next: &[Self], queries: &[f32], scores: &mut [Scores]);

    /// Adds the weighted values to the sums of each of at most four queries, one after the other in `sums`; a value is the
    /// first numbers of so many.
    #[doc(hidden)]
    fn weigh(isa: Isa, values: &[Self], stride: usize, next: &[Self], weights: &[Scores], sums: &mut [f32]);
}

impl Cached for f16 {
    const ZERO: f16 = f16::ZERO;

    fn store(_: Isa, to: &mut [f16], from: &[f32]) -> Result<(), KernelError> {
        same_length("values", to.len(), from.len())?;
        to.convert_from_f32_slice(from);
        Ok(())
    }

    fn scores(isa: Isa, keys: &[f16], next: &[f16], queries: &[f32], scores: &mut [Scores]) {
        dispatch!(isa, scores_f16(keys, next, queries, scores));
    }

    fn weigh(isa: Isa, values: &[f16], stride: usize, next: &[f16], weights: &[Scores], sums: &mut [f32]) {
        dispatch!(isa, weigh_f16(values, stride, next, weights, sums));
    }
}

impl Cached for BlockQ8_0 {
    const ZERO: BlockQ8_0 = BlockQ8_0::ZERO;

    fn store(isa: Isa, to: &mut [BlockQ8_0], from: &[f32]) -> Result<(), KernelError> {
        quantize(isa, to, from)
    }

    fn scores(isa: Isa, keys: &[BlockQ8_0], next: &[BlockQ8_0], queries: &[f32], scores: &mut [Scores]) {
        dispatch!(isa, scores_q8_0(keys, next, queries, scores));
    }

    fn weigh(
        isa: Isa,
        values: &[BlockQ8_0],
        stride: usize,
        next: &[BlockQ8_0],
        weights: &[Scores],
        sums: &mut [f32],
    ) {
        dispatch!(isa, weigh_q8_0(values, stride, next, weights, sums));
    }
}

/// What a layer keeps of each token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Heads with keys and values of their own.
    pub heads: usize,
    /// Width of a key.
    pub key_length: usize,
    /// Width of a value.
    pub value_length: usize,
    /// Whether the value of a token is the first part of its key, as in latent attention.
    pub latent: bool,
}

/// Keys and values of one layer and one sequence.
#[derive(Clone, Debug)]
pub struct Cache<T> {
    kept: Kept,
    tokens: usize,
    keys: Vec<T>,
    values: Vec<T>,
}

impl<T: Cached> Cache<T> {
    /// A cache of so many tokens, all zeros.
    pub fn new(kept: Kept, tokens: usize) -> Result<Cache<T>, KernelError> {
        let Kept { heads, key_length, value_length, latent } = kept;
        if latent && value_length > key_length {
            return Err(KernelError::Length { what: "values", expected: key_length, found: value_length });
        }
        for (what, found) in [("key", key_length), ("value", value_length)] {
            if !found.is_multiple_of(T::WEIGHTS) {
                return Err(KernelError::Multiple { what, multiple: T::WEIGHTS, found });
            }
        }
        let numbers = |length: usize| {
            let rows = heads.checked_mul(tokens);
            let length = rows.and_then(|rows| rows.checked_mul(length / T::WEIGHTS));
            let bytes = length.and_then(|length| length.checked_mul(size_of::<T>()));
            length.filter(|_| bytes.is_some_and(|bytes| isize::try_from(bytes).is_ok()))
        };
        let overflow = KernelError::Overflow { rows: tokens, columns: key_length };
        let (keys, values) = numbers(key_length).zip(numbers(value_length)).ok_or(overflow)?;
        if keys == 0 {
            return Err(KernelError::Empty { rows: tokens, columns: key_length });
        }
        let values = vec![T::ZERO; if latent { 0 } else { values }];
        Ok(Cache { kept, tokens, keys: vec![T::ZERO; keys], values })
    }

    /// Bytes of all keys and values.
    pub fn bytes(&self) -> usize {
        size_of_val(self.keys.as_slice()) + size_of_val(self.values.as_slice())
    }

    /// How many tokens it holds.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// Keys, or values, of the tokens from `first` on, of each head in turn, one after the other in `keys` and `values` for
    /// each token. Those of latent attention have no values of their own.
    pub fn store(
        &mut self,
        team: &Team,
        first: usize,
        keys: &[f32],
        values: &[f32],
    ) -> Result<(), KernelError> {
        let Kept { heads, key_length, value_length, latent } = self.kept;
        let count = keys.len() / (heads * key_length);
        same_length("keys", count * heads * key_length, keys.len())?;
        same_length("values", if latent { 0 } else { count * heads * value_length }, values.len())?;
        if first.checked_add(count).is_none_or(|end| end > self.tokens) {
            let (expected, found) = (self.tokens, first.saturating_add(count));
            return Err(KernelError::Length { what: "tokens", expected, found });
        }
        let put = |stored: &mut Vec<T>, from: &[f32], length: usize| {
            let (row, isa) = (length / T::WEIGHTS, team.isa());
            let of_head = stored.chunks_mut((self.tokens * row).max(1)).enumerate();
            let work = |(head, stored): (usize, &mut [T])| {
                let rows = stored[first * row..].chunks_mut(row.max(1)).take(count);
                for (row, from) in rows.zip(from.chunks(heads * length)) {
                    // Both are as long as a row is: `same_length` above.
                    let _ = T::store(isa, row, &from[head * length..(head + 1) * length]);
                }
            };
            // One token is faster stored than shared out.
            match count {
                0 | 1 => of_head.for_each(work),
                _ => team.each(of_head.collect(), work),
            }
        };
        put(&mut self.keys, keys, key_length);
        if !latent {
            put(&mut self.values, values, value_length);
        }
        Ok(())
    }

    /// Keys of a head for some tokens.
    fn keys(&self, head: usize, tokens: Range<usize>) -> &[T] {
        let row = self.kept.key_length / T::WEIGHTS;
        let start = head * self.tokens;
        &self.keys[(start + tokens.start) * row..(start + tokens.end) * row]
    }

    /// Values of a head for some tokens: the first numbers of each [`Cache::stride`].
    fn values(&self, head: usize, tokens: Range<usize>) -> &[T] {
        if self.kept.latent {
            return self.keys(head, tokens);
        }
        let start = head * self.tokens;
        &self.values[(start + tokens.start) * self.stride()..(start + tokens.end) * self.stride()]
    }

    fn stride(&self) -> usize {
        let Kept { key_length, value_length, latent, .. } = self.kept;
        if latent { key_length / T::WEIGHTS } else { value_length / T::WEIGHTS }
    }

    /// Tokens that are met at once.
    fn near(&self) -> usize {
        let row = self.kept.key_length / T::WEIGHTS * size_of::<T>();
        (NEAR / row.max(1)).clamp(8, TOKENS)
    }
}

/// What a token sees of its sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sees {
    /// At most so many tokens.
    pub window: usize,
    /// Itself and those before it alone.
    pub causal: bool,
}

impl Sees {
    /// What the `at`th of the last `count` tokens sees of a cache of so many.
    fn of(self, at: usize, count: usize, tokens: usize) -> Range<usize> {
        let end = if self.causal { tokens - count + at + 1 } else { tokens };
        end.saturating_sub(self.window.max(1))..end
    }
}

/// What some queries have seen of a part of the cache.
struct Partial {
    maxima: Vec<f32>,
    totals: Vec<f32>,
    sums: Vec<f32>,
}

/// Attention of the last `count` tokens in each cache. `queries` has those tokens of the first sequence one after the other, each with
/// its heads, then those of the next; so has `out`. The heads of a token share those of the cache evenly, the first ones the first.
/// Scores are divided by the root of the length of a key.
pub fn attend<T: Cached>(
    team: &Team,
    caches: &[Cache<T>],
    heads: usize,
    count: usize,
    sees: Sees,
    queries: &[f32],
    out: &mut [f32],
) -> Result<(), KernelError> {
    let Some(Cache { kept, .. }) = caches.first() else { return Ok(()) };
    let (kept, rows) = (*kept, caches.len() * count * heads);
    if heads == 0 || !heads.is_multiple_of(kept.heads) {
        return Err(KernelError::Multiple { what: "heads", multiple: kept.heads, found: heads });
    }
    same_length("queries", rows * kept.key_length, queries.len())?;
    same_length("output", rows * kept.value_length, out.len())?;
    for cache in caches {
        if cache.kept != kept || cache.tokens < count || count == 0 {
            return Err(KernelError::Length { what: "cache", expected: count.max(1), found: cache.tokens });
        }
    }
    let group = heads / kept.heads;
    // Tokens that go together: all of one head's queries in a step, as many as fit in a prompt.
    let together = (QUERIES / group).clamp(1, count);
    let blocks = count.div_ceil(together);
    let mut tasks: Vec<Task<T>> = Vec::with_capacity(caches.len() * blocks * kept.heads);
    let mut chunks = out.chunks_mut((group * kept.value_length).max(1));
    for (sequence, cache) in caches.iter().enumerate() {
        for block in 0..blocks {
            let tokens = block * together..((block + 1) * together).min(count);
            let first = tasks.len();
            tasks.extend((0..kept.heads).map(|head| Task {
                cache,
                head,
                tokens: tokens.clone(),
                rows: sequence * count,
                out: Vec::with_capacity(tokens.len()),
            }));
            for task in tokens.flat_map(|_| first..first + kept.heads) {
                tasks[task].out.extend(chunks.next());
            }
        }
    }
    let call = Call { isa: team.isa(), group, heads, count, sees, queries };
    let most = caches.iter().map(|cache| call.seen(&(0..count), cache).len()).max().unwrap_or(0);
    let parts = (4 * team.threads()).div_ceil(tasks.len()).clamp(1, (most / PART).max(1));
    if parts == 1 {
        team.each(tasks, |mut task| {
            let partial = call.meet(&task, call.seen(&task.tokens, task.cache));
            call.finish(&[partial], &mut task.out, kept.value_length);
        });
        return Ok(());
    }
    let mut partials: Vec<Option<Partial>> = (0..tasks.len() * parts).map(|_| None).collect();
    let items = partials.iter_mut().enumerate().map(|(at, partial)| (at / parts, at % parts, partial));
    team.each(items.collect(), |(task, part, partial)| {
        let task = &tasks[task];
        let seen = call.seen(&task.tokens, task.cache);
        let share = Team::share(seen.len(), parts, part);
        *partial = Some(call.meet(task, seen.start + share.start..seen.start + share.end));
    });
    for (task, partials) in tasks.iter_mut().zip(partials.chunks_mut(parts)) {
        let partials: Vec<Partial> = partials.iter_mut().filter_map(Option::take).collect();
        call.finish(&partials, &mut task.out, kept.value_length);
    }
    Ok(())
}

/// Tokens that meet a head of a cache.
struct Task<'a, T> {
    cache: &'a Cache<T>,
    head: usize,
    tokens: Range<usize>,
    /// The row of the sequence's first token.
    rows: usize,
    /// Where the heads of each token go.
    out: Vec<&'a mut [f32]>,
}

/// What all tasks have in common.
struct Call<'a> {
    isa: Isa,
    group: usize,
    heads: usize,
    count: usize,
    sees: Sees,
    queries: &'a [f32],
}

impl Call<'_> {
    /// What some of the tokens see together.
    fn seen<T>(&self, tokens: &Range<usize>, cache: &Cache<T>) -> Range<usize> {
        let of = |at| self.sees.of(at, self.count, cache.tokens);
        of(tokens.start).start..of(tokens.end.saturating_sub(1)).end
    }

    /// The queries of a task, scaled, one after the other.
    fn queries<T>(&self, task: &Task<T>) -> Vec<f32> {
        let length = task.cache.kept.key_length;
        let scale = 1.0 / (length as f32).sqrt();
        let rows = task.tokens.clone().flat_map(|token| {
            let start = ((task.rows + token) * self.heads + task.head * self.group) * length;
            &self.queries[start..start + self.group * length]
        });
        rows.map(|number| number * scale).collect()
    }

    /// The queries of a task over some of the cached tokens.
    fn meet<T: Cached>(&self, task: &Task<T>, range: Range<usize>) -> Partial {
        let Task { cache, head, .. } = *task;
        let Kept { key_length, value_length, latent, .. } = cache.kept;
        let queries = self.queries(task);
        let seen: Vec<Range<usize>> = task
            .tokens
            .clone()
            .flat_map(|token| std::iter::repeat_n(self.sees.of(token, self.count, cache.tokens), self.group))
            .collect();
        let mut partial = Partial {
            maxima: vec![f32::NEG_INFINITY; seen.len()],
            totals: vec![0.0; seen.len()],
            sums: vec![0.0; seen.len() * value_length],
        };
        let near = cache.near();
        for start in range.clone().step_by(near) {
            let tokens = start..(start + near).min(range.end);
            let next = tokens.end..(tokens.end + near).min(range.end);
            let (keys, values) = (cache.keys(head, tokens.clone()), cache.values(head, tokens.clone()));
            let next = cache.keys(head, next);
            for (chunk, seen) in seen.chunks(AT_ONCE).enumerate() {
                let at = chunk * AT_ONCE;
                // What comes next is asked for once.
                let ahead = |what| if chunk == 0 { what } else { &[][..] };
                let mut scores = [[0.0; TOKENS]; AT_ONCE];
                let scores = &mut scores[..seen.len()];
                let queries = &queries[at * key_length..(at + seen.len()) * key_length];
                T::scores(self.isa, keys, ahead(if latent { next } else { values }), queries, scores);
                let sums = &mut partial.sums[at * value_length..(at + seen.len()) * value_length];
                for (query, (scores, seen)) in scores.iter_mut().zip(seen).enumerate() {
                    let from = seen.start.clamp(tokens.start, tokens.end) - tokens.start;
                    let to = seen.end.clamp(tokens.start, tokens.end) - tokens.start;
                    scores[..from].fill(0.0);
                    scores[to..].fill(0.0);
                    let (maximum, total) = (&mut partial.maxima[at + query], &mut partial.totals[at + query]);
                    let largest = scores[from..to].iter().fold(*maximum, |a, b| if *b > a { *b } else { a });
                    if from == to {
                        continue;
                    }
                    if largest > *maximum {
                        let less = scalar::exp(*maximum - largest);
                        *total *= less;
                        let length = value_length;
                        sums[query * length..(query + 1) * length].iter_mut().for_each(|sum| *sum *= less);
                        *maximum = largest;
                    }
                    *total += soften(self.isa, &mut scores[from..to], largest);
                }
                T::weigh(
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

    /// The weighted means of all parts, into the heads of each token.
    fn finish(&self, partials: &[Partial], out: &mut [&mut [f32]], value_length: usize) {
        for (token, out) in out.iter_mut().enumerate() {
            for (head, out) in out.chunks_mut(value_length.max(1)).enumerate() {
                let at = token * self.group + head;
                let of_all = partials.iter().map(|partial| partial.maxima[at]);
                let maximum = of_all.fold(f32::NEG_INFINITY, f32::max);
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

/// Replaces each score by `e` to the power of what it has above the largest; the sum of all.
fn soften(isa: Isa, scores: &mut [f32], largest: f32) -> f32 {
    dispatch!(isa, soften(scores, largest))
}
