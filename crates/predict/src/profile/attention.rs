//! Attention over a KV cache, as measured by `profile`: new tokens are stored, and their queries attend to the cache.

use half::f16;

use roofline_formulas::operation::Inputs;
use roofline_kernels::{
    BlockQ8_0, CacheElement, CacheFormat, KernelError, KvCache, Mask, ThreadPool, attend,
};
use roofline_render::format::figure;

/// Tokens stored at once while filling a cache.
const TOKENS_PER_STORE: usize = 256;

/// KV caches of all sequences, with the geometry of the attention.
pub struct Attention {
    caches: Box<dyn Caches>,
    geometry: Geometry,
}

/// Geometry of the attention.
#[derive(Clone, Copy)]
struct Geometry {
    format: CacheFormat,
    heads: usize,
    /// New tokens per sequence and run.
    tokens: usize,
    sequences: usize,
    mask: Mask,
    /// True if the cache belongs to an earlier layer, which has stored the tokens.
    shares_cache: bool,
}

impl Geometry {
    /// Converts the shape of `operation-v1`. A layer without its own KV heads uses `shared_kv_heads` of an earlier layer.
    fn new(shape: &Inputs, shared_kv_heads: Option<f64>) -> Result<Geometry, String> {
        let whole = |value: f64| value as usize;
        // Prefill expands latent vectors to keys and values of every head.
        let latent = shape.latent_rank > 0.0;
        let format = match latent && shape.prefill == 0.0 {
            true => CacheFormat {
                heads: 1,
                key_length: whole(shape.latent_rank + shape.rope_length),
                value_length: whole(shape.latent_rank),
                latent,
            },
            false => CacheFormat {
                heads: whole(match (latent, shape.kv_heads > 0.0) {
                    (true, _) => shape.heads,
                    (false, true) => shape.kv_heads,
                    (false, false) => {
                        shared_kv_heads.ok_or("the layer whose KV cache it shares is unknown")?
                    }
                }),
                key_length: whole(shape.key_length),
                value_length: whole(shape.value_length),
                latent: false,
            },
        };
        let heads = whole(shape.heads);
        if format.heads == 0 || !heads.is_multiple_of(format.heads) {
            return Err(format!("{heads} heads are not a multiple of {} KV heads", format.heads));
        }
        Ok(Geometry {
            format,
            heads,
            tokens: whole(shape.tokens),
            sequences: whole(shape.batch),
            mask: Mask { window: whole(shape.window), causal: shape.causal == 1.0 },
            shares_cache: !latent && shape.kv_heads == 0.0,
        })
    }
}

impl Attention {
    /// Creates caches of at max_bytes `max_bytes` in this format for the shape of `operation-v1`.
    pub fn new(
        shape: &Inputs,
        format: &str,
        shared_kv_heads: Option<f64>,
        max_bytes: usize,
    ) -> Result<Attention, String> {
        let geometry = Geometry::new(shape, shared_kv_heads)?;
        // During decode, tokens outside the window are never read.
        let length = (shape.context as usize).max(geometry.tokens);
        let length = if geometry.tokens == 1 { length.min(geometry.mask.window) } else { length };
        let caches: Box<dyn Caches> = match format {
            "f16" => Box::new(caches::<f16>(&geometry, length, max_bytes)?),
            "q8_0" => Box::new(caches::<BlockQ8_0>(&geometry, length, max_bytes)?),
            other => return Err(format!("no kernel for KV cache type {other}; supported are f16 and q8_0")),
        };
        Ok(Attention { caches, geometry })
    }

    /// Returns the size of the caches, in bytes.
    pub fn bytes(&self) -> usize {
        self.caches.bytes()
    }

    /// Returns the number of new tokens of all sequences.
    pub fn columns(&self) -> usize {
        self.geometry.sequences * self.geometry.tokens
    }

    /// Returns the length of the input. Its first elements serve as queries, keys and values.
    pub fn numbers_in(&self) -> usize {
        let CacheFormat { heads, key_length, value_length, .. } = self.geometry.format;
        self.columns().saturating_mul((self.geometry.heads * key_length).max(heads * value_length))
    }

    /// Returns the length of the output.
    pub fn numbers_out(&self) -> usize {
        self.columns().saturating_mul(self.geometry.heads * self.geometry.format.value_length)
    }

    /// Fills the caches by repeating `x`, so that all pages are resident.
    pub fn fill(&mut self, team: &ThreadPool, x: &[f32]) -> Result<(), KernelError> {
        self.caches.fill(team, &self.geometry, x)
    }

    /// Stores the new tokens and attends to the cache.
    pub fn run(&mut self, team: &ThreadPool, x: &[f32], out: &mut [f32]) -> Result<(), KernelError> {
        self.caches.run(team, &self.geometry, x, out)
    }
}

/// Creates one cache per sequence, at max_bytes `max_bytes` in total.
fn caches<T: CacheElement>(
    geometry: &Geometry,
    length: usize,
    max_bytes: usize,
) -> Result<Vec<KvCache<T>>, String> {
    let CacheFormat { heads, key_length, value_length, latent } = geometry.format;
    let width = heads * (key_length + if latent { 0 } else { value_length }) / T::WEIGHTS * size_of::<T>();
    let bytes = width as f64 * length as f64 * geometry.sequences as f64;
    if bytes > max_bytes as f64 {
        let [bytes, max_gb] = [bytes, max_bytes as f64].map(|bytes| figure(bytes / 1e9));
        return Err(format!("its KV cache takes {bytes} GB, but only {max_gb} GB are available"));
    }
    let one = |_| KvCache::new(geometry.format, length).map_err(|error| error.to_string());
    (0..geometry.sequences).map(one).collect()
}

/// Caches of any element type.
trait Caches {
    fn bytes(&self) -> usize;
    fn fill(&mut self, team: &ThreadPool, geometry: &Geometry, x: &[f32]) -> Result<(), KernelError>;
    fn run(
        &mut self,
        team: &ThreadPool,
        geometry: &Geometry,
        x: &[f32],
        out: &mut [f32],
    ) -> Result<(), KernelError>;
}

impl<T: CacheElement> Caches for Vec<KvCache<T>> {
    fn bytes(&self) -> usize {
        self.iter().map(KvCache::bytes).sum()
    }

    fn fill(&mut self, team: &ThreadPool, geometry: &Geometry, x: &[f32]) -> Result<(), KernelError> {
        let CacheFormat { heads, key_length, value_length, latent } = geometry.format;
        let numbers = |tokens: usize, length: usize| -> Vec<f32> {
            x.iter().copied().cycle().take(tokens * heads * length).collect()
        };
        let (keys, values) = (numbers(TOKENS_PER_STORE, key_length), numbers(TOKENS_PER_STORE, value_length));
        for cache in self {
            for first in (0..cache.tokens()).step_by(TOKENS_PER_STORE) {
                let tokens = TOKENS_PER_STORE.min(cache.tokens() - first);
                let values = if latent { &[][..] } else { &values[..tokens * heads * value_length] };
                cache.store(team, first, &keys[..tokens * heads * key_length], values)?;
            }
        }
        Ok(())
    }

    fn run(
        &mut self,
        team: &ThreadPool,
        geometry: &Geometry,
        x: &[f32],
        out: &mut [f32],
    ) -> Result<(), KernelError> {
        let Geometry { format, heads, tokens, mask, .. } = *geometry;
        let length = |of: usize| tokens * format.heads * of;
        for cache in self.iter_mut().filter(|_| !geometry.shares_cache) {
            let values = if format.latent { 0 } else { length(format.value_length) };
            let first = cache.tokens() - tokens;
            cache.store(team, first, &x[..length(format.key_length)], &x[..values])?;
        }
        let queries = &x[..self.len() * tokens * heads * format.key_length];
        attend(team, self, heads, tokens, mask, queries, out)
    }
}
