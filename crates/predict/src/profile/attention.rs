//! Attention as a model asks for it, over a cache that is made for it: the tokens that go through the model are stored, and look
//! back at what they see.

use half::f16;

use roofline_formulas::operation::Inputs;
use roofline_kernels::{
    BlockQ8_0, CacheElement, CacheFormat, KernelError, KvCache, Mask, ThreadPool, attend,
};
use roofline_render::number::figure;

/// Tokens that are stored at once while a cache is filled.
const AT_ONCE: usize = 256;

/// Keys and values of all sequences, and how tokens look back at them.
pub struct Attention {
    caches: Box<dyn Caches>,
    looks: Looks,
}

/// How tokens look back.
#[derive(Clone, Copy)]
struct Looks {
    kept: CacheFormat,
    heads: usize,
    /// Tokens of each sequence that go through the model at once.
    tokens: usize,
    sequences: usize,
    sees: Mask,
    /// Whether the keys and values are those of another layer, which has stored them.
    borrows: bool,
}

impl Looks {
    /// With the shape that the contract was asked about. A layer without keys and values of its own looks at so many heads of another.
    fn new(shape: &Inputs, lent: Option<f64>) -> Result<Looks, String> {
        let whole = |value: f64| value as usize;
        // A prompt expands latent vectors to keys and values of every head.
        let latent = shape.latent_rank > 0.0;
        let kept = match latent && shape.prefill == 0.0 {
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
                    (false, false) => lent.ok_or("whose keys and values it looks at is not known")?,
                }),
                key_length: whole(shape.key_length),
                value_length: whole(shape.value_length),
                latent: false,
            },
        };
        let heads = whole(shape.heads);
        if kept.heads == 0 || !heads.is_multiple_of(kept.heads) {
            return Err(format!("its {heads} heads do not share {} heads of the cache evenly", kept.heads));
        }
        Ok(Looks {
            kept,
            heads,
            tokens: whole(shape.tokens),
            sequences: whole(shape.batch),
            sees: Mask { window: whole(shape.window), causal: shape.causal == 1.0 },
            borrows: !latent && shape.kv_heads == 0.0,
        })
    }
}

impl Attention {
    /// Attention with the shape that the contract was asked about, over caches in this format of no more than so many bytes.
    pub fn new(shape: &Inputs, format: &str, lent: Option<f64>, most: usize) -> Result<Attention, String> {
        let looks = Looks::new(shape, lent)?;
        // What a window leaves behind need not be kept while one token after the other is made.
        let length = (shape.context as usize).max(looks.tokens);
        let length = if looks.tokens == 1 { length.min(looks.sees.window) } else { length };
        let caches: Box<dyn Caches> = match format {
            "f16" => Box::new(caches::<f16>(&looks, length, most)?),
            "q8_0" => Box::new(caches::<BlockQ8_0>(&looks, length, most)?),
            other => return Err(format!("no kernel for a cache in {other}; f16 and q8_0 have one")),
        };
        Ok(Attention { caches, looks })
    }

    /// Bytes of the cache.
    pub fn bytes(&self) -> usize {
        self.caches.bytes()
    }

    /// Tokens that go through the model at once.
    pub fn columns(&self) -> usize {
        self.looks.sequences * self.looks.tokens
    }

    /// Numbers that go in: queries, of which the first ones stand for keys and values too.
    pub fn numbers_in(&self) -> usize {
        let CacheFormat { heads, key_length, value_length, .. } = self.looks.kept;
        self.columns().saturating_mul((self.looks.heads * key_length).max(heads * value_length))
    }

    /// Numbers that come out.
    pub fn numbers_out(&self) -> usize {
        self.columns().saturating_mul(self.looks.heads * self.looks.kept.value_length)
    }

    /// Fills the cache with these numbers, again and again, so that all of it lies in memory and nothing in it is special.
    pub fn fill(&mut self, team: &ThreadPool, x: &[f32]) -> Result<(), KernelError> {
        self.caches.fill(team, &self.looks, x)
    }

    /// Stores what the tokens bring, and looks back.
    pub fn run(&mut self, team: &ThreadPool, x: &[f32], out: &mut [f32]) -> Result<(), KernelError> {
        self.caches.run(team, &self.looks, x, out)
    }
}

/// One cache for each sequence, of which no more than so many bytes are made.
fn caches<T: CacheElement>(looks: &Looks, length: usize, most: usize) -> Result<Vec<KvCache<T>>, String> {
    let CacheFormat { heads, key_length, value_length, latent } = looks.kept;
    let width = heads * (key_length + if latent { 0 } else { value_length }) / T::WEIGHTS * size_of::<T>();
    let bytes = width as f64 * length as f64 * looks.sequences as f64;
    if bytes > most as f64 {
        let [bytes, most] = [bytes, most as f64].map(|bytes| figure(bytes / 1e9));
        return Err(format!("its cache takes {bytes} GB, and no more than {most} GB are left for caches"));
    }
    let one = |_| KvCache::new(looks.kept, length).map_err(|error| error.to_string());
    (0..looks.sequences).map(one).collect()
}

/// Caches in any format.
trait Caches {
    fn bytes(&self) -> usize;
    fn fill(&mut self, team: &ThreadPool, looks: &Looks, x: &[f32]) -> Result<(), KernelError>;
    fn run(
        &mut self,
        team: &ThreadPool,
        looks: &Looks,
        x: &[f32],
        out: &mut [f32],
    ) -> Result<(), KernelError>;
}

impl<T: CacheElement> Caches for Vec<KvCache<T>> {
    fn bytes(&self) -> usize {
        self.iter().map(KvCache::bytes).sum()
    }

    fn fill(&mut self, team: &ThreadPool, looks: &Looks, x: &[f32]) -> Result<(), KernelError> {
        let CacheFormat { heads, key_length, value_length, latent } = looks.kept;
        let numbers = |tokens: usize, length: usize| -> Vec<f32> {
            x.iter().copied().cycle().take(tokens * heads * length).collect()
        };
        let (keys, values) = (numbers(AT_ONCE, key_length), numbers(AT_ONCE, value_length));
        for cache in self {
            for first in (0..cache.tokens()).step_by(AT_ONCE) {
                let tokens = AT_ONCE.min(cache.tokens() - first);
                let values = if latent { &[][..] } else { &values[..tokens * heads * value_length] };
                cache.store(team, first, &keys[..tokens * heads * key_length], values)?;
            }
        }
        Ok(())
    }

    fn run(
        &mut self,
        team: &ThreadPool,
        looks: &Looks,
        x: &[f32],
        out: &mut [f32],
    ) -> Result<(), KernelError> {
        let Looks { kept, heads, tokens, sees, .. } = *looks;
        let length = |of: usize| tokens * kept.heads * of;
        for cache in self.iter_mut().filter(|_| !looks.borrows) {
            let values = if kept.latent { 0 } else { length(kept.value_length) };
            let first = cache.tokens() - tokens;
            cache.store(team, first, &x[..length(kept.key_length)], &x[..values])?;
        }
        let queries = &x[..self.len() * tokens * heads * kept.key_length];
        attend(team, self, heads, tokens, sees, queries, out)
    }
}
