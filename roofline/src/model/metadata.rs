//! From the metadata keys of a GGUF file to the model's dimensions.

use super::Tensor;
use super::fault::Fault;
use super::gguf::{Metadata, Value};
use super::hyper::{Attention, Experts, FeedForward, Head, Hyper, Latent, Layer, MOST_LAYERS, Width};

/// The dimensions a GGUF file's metadata gives; none when the architecture is not one of the known
/// families or the file is not a whole model.
pub fn hyper(metadata: &Metadata, tensors: &[Tensor]) -> Result<Option<Hyper>, Fault> {
    let Some(architecture) = metadata.text("general.architecture")? else { return Ok(None) };
    let Some(family) = Family::of(architecture) else { return Ok(None) };
    let keys = Keys { metadata, architecture };
    let Some(blocks) = keys.count("block_count")? else { return Ok(None) };
    if blocks > MOST_LAYERS {
        let what = format!("must be at most {MOST_LAYERS}, but is {blocks}");
        return Err(Fault::field(keys.name("block_count"), what));
    }
    // The last blocks may predict further tokens; they are stored but not run in ordinary decoding.
    let layers = blocks.saturating_sub(keys.count("nextn_predict_layers")?.unwrap_or(0));
    let hyper = read(&keys, family, blocks, layers, tensors)?;
    hyper.check(|name| keys.name(key_of(name)))?;
    Ok(Some(hyper))
}

/// What the families differ in and no key says.
#[derive(Clone, Copy)]
struct Family {
    norms: u64,
    gated: bool,
    /// Every n-th layer sees the whole context when the file gives a window but no pattern.
    pattern: Option<u64>,
    encoder: bool,
    learned_positions: bool,
}

impl Family {
    fn of(architecture: &str) -> Option<Family> {
        let llama = Family { norms: 2, gated: true, pattern: None, encoder: false, learned_positions: false };
        Some(match architecture {
            "llama" | "mistral" | "mixtral" | "qwen2" | "qwen2moe" | "qwen3" | "qwen3moe" | "gemma"
            | "phi3" | "deepseek" | "deepseek2" => llama,
            "gemma2" => Family { norms: 4, pattern: Some(2), ..llama },
            "gemma3" => Family { norms: 4, pattern: Some(6), ..llama },
            "gpt2" => Family { gated: false, learned_positions: true, ..llama },
            "bert" => Family { gated: false, encoder: true, learned_positions: true, ..llama },
            _ => return None,
        })
    }
}

/// The key behind a dimension, for messages.
fn key_of(name: &str) -> &str {
    match name {
        "layers" => "block_count",
        "hidden" => "embedding_length",
        "vocab" => "vocab_size",
        "heads" => "attention.head_count",
        "kv_heads" => "attention.head_count_kv",
        "key_length" => "attention.key_length",
        "value_length" => "attention.value_length",
        "window" => "attention.sliding_window",
        "latent_rank" => "attention.kv_lora_rank",
        "query_rank" => "attention.q_lora_rank",
        "rope_length" => "rope.dimension_count",
        "feed_forward" => "feed_forward_length",
        "experts" => "expert_count",
        "experts_used" => "expert_used_count",
        "expert_length" => "expert_feed_forward_length",
        "shared_length" => "expert_shared_feed_forward_length",
        other => other,
    }
}

fn read(keys: &Keys, family: Family, blocks: u64, layers: u64, tensors: &[Tensor]) -> Result<Hyper, Fault> {
    let has = |end: &str| tensors.iter().any(|tensor| tensor.name.ends_with(end));
    let rows = |name: &str| tensors.iter().find(|tensor| tensor.name == name)?.dims.first().copied();
    let hidden = keys.need("embedding_length")?;
    let context_length = keys.count("context_length")?;
    let heads = keys.per_layer("attention.head_count", blocks)?;
    let heads = heads.ok_or_else(|| keys.missing("attention.head_count"))?;
    let kv_heads = keys.per_layer("attention.head_count_kv", blocks)?.unwrap_or_else(|| heads.clone());
    let windows = windows(keys, family, blocks)?;
    let feed_forward = keys.per_layer("feed_forward_length", blocks)?;
    let experts = experts(keys, has)?;
    let leading = keys.count("leading_dense_block_count")?.unwrap_or(0);
    let latent = latent(keys)?;
    let causal = keys.flag("attention.causal")?.unwrap_or(!family.encoder);
    let bias = has(".attn_q.bias") || has(".attn_qkv.bias") || has(".attn_q_a.bias");
    let output_bias = has(".attn_output.bias");
    let head_norm = has(".attn_q_norm.weight");
    let feed_forward_bias = has(".ffn_up.bias");

    let layer = |index: usize| {
        let at = |values: &[u64]| values.get(index).copied().unwrap_or(0);
        let attention = match (at(&heads), at(&kv_heads)) {
            (0, _) | (_, 0) => None,
            (heads, kv_heads) => Some(Attention {
                heads,
                kv_heads: if latent.is_some() { 1 } else { kv_heads },
                key_length: keys.head_length("key_length", hidden, heads)?,
                value_length: keys.head_length("value_length", hidden, heads)?,
                window: windows.get(index).copied().flatten(),
                causal,
                latent,
                bias,
                output_bias,
                head_norm,
            }),
        };
        let width = match experts {
            Some(experts) if index as u64 >= leading => {
                let length = match (experts.length, &feed_forward) {
                    (0, Some(dense)) => at(dense),
                    (length, _) => length,
                };
                Width::Experts(Experts { length, ..experts })
            }
            _ => Width::Dense(at(feed_forward
                .as_deref()
                .ok_or_else(|| keys.missing("feed_forward_length"))?)),
        };
        let feed_forward = FeedForward { gated: family.gated, bias: feed_forward_bias, width };
        Ok(Layer { norms: family.norms, attention, feed_forward })
    };
    let layers = (0..layers as usize).map(layer).collect::<Result<_, Fault>>()?;

    let vocab = match (keys.count("vocab_size")?, keys.metadata.get("tokenizer.ggml.tokens")) {
        (Some(vocab), _) => Some(vocab),
        (None, Some(Value::Array { length, .. })) => Some(*length),
        _ => rows("token_embd.weight"),
    };
    Ok(Hyper {
        architecture: keys.architecture.to_owned(),
        hidden,
        vocab: vocab.ok_or_else(|| keys.missing("vocab_size"))?,
        context_length,
        positions: if family.learned_positions {
            rows("position_embd.weight").or(context_length).unwrap_or(0)
        } else {
            0
        },
        token_types: rows("token_types.weight").unwrap_or(0),
        embedding_norm: has("token_embd_norm.weight"),
        output_norm: !family.encoder,
        norm_bias: has(".attn_norm.bias") || has("output_norm.bias"),
        head: if family.encoder {
            Head::None
        } else if rows("output.weight").is_some() {
            Head::Own
        } else {
            Head::Tied
        },
        layers,
    })
}

fn windows(keys: &Keys, family: Family, blocks: u64) -> Result<Vec<Option<u64>>, Fault> {
    const PATTERN: &str = "attention.sliding_window_pattern";
    let Some(window) = keys.count("attention.sliding_window")?.filter(|window| *window > 0) else {
        return Ok(vec![None; blocks as usize]);
    };
    let slides: Vec<bool> = match keys.get(PATTERN) {
        Some(Value::Array { .. }) => {
            keys.per_layer(PATTERN, blocks)?.unwrap_or_default().iter().map(|slides| *slides != 0).collect()
        }
        _ => {
            let pattern = keys.count(PATTERN)?.or(family.pattern).unwrap_or(0);
            (1..=blocks).map(|number| pattern == 0 || !number.is_multiple_of(pattern)).collect()
        }
    };
    Ok(slides.into_iter().map(|slides| slides.then_some(window)).collect())
}

fn experts(keys: &Keys, has: impl Fn(&str) -> bool) -> Result<Option<Experts>, Fault> {
    let Some(count) = keys.count("expert_count")?.filter(|count| *count > 0) else { return Ok(None) };
    let length = keys.count("expert_feed_forward_length")?.unwrap_or(0);
    let shared_length = match keys.count("expert_shared_feed_forward_length")? {
        Some(length) => length,
        None => keys
            .count("expert_shared_count")?
            .unwrap_or(0)
            .checked_mul(length)
            .ok_or_else(|| Fault::field(keys.name("expert_shared_count"), "is too large"))?,
    };
    Ok(Some(Experts {
        count,
        used: keys.need("expert_used_count")?,
        length,
        shared_length,
        shared_gate: has(".ffn_gate_inp_shexp.weight"),
        router_bias: has(".exp_probs_b.bias") || has(".exp_probs_b"),
    }))
}

fn latent(keys: &Keys) -> Result<Option<Latent>, Fault> {
    let Some(rank) = keys.count("attention.kv_lora_rank")?.filter(|rank| *rank > 0) else { return Ok(None) };
    Ok(Some(Latent {
        query_rank: keys.count("attention.q_lora_rank")?.filter(|rank| *rank > 0),
        rank,
        rope_length: keys.need("rope.dimension_count")?,
    }))
}

/// The keys of one architecture.
struct Keys<'a> {
    metadata: &'a Metadata,
    architecture: &'a str,
}

impl Keys<'_> {
    fn name(&self, key: &str) -> String {
        format!("{}.{key}", self.architecture)
    }

    fn missing(&self, key: &str) -> Fault {
        Fault::field(self.name(key), format!("is missing; the {} architecture needs it", self.architecture))
    }

    fn get(&self, key: &str) -> Option<&Value> {
        self.metadata.get(&self.name(key))
    }

    fn count(&self, key: &str) -> Result<Option<u64>, Fault> {
        self.metadata.count(&self.name(key))
    }

    fn need(&self, key: &str) -> Result<u64, Fault> {
        self.count(key)?.ok_or_else(|| self.missing(key))
    }

    fn flag(&self, key: &str) -> Result<Option<bool>, Fault> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(Fault::field(self.name(key), "must be true or false")),
        }
    }

    /// A number for each block: the same for all, or one from an array.
    fn per_layer(&self, key: &str, blocks: u64) -> Result<Option<Vec<u64>>, Fault> {
        let Some(Value::Array { length, integers }) = self.get(key) else {
            return Ok(self.count(key)?.map(|number| vec![number; blocks as usize]));
        };
        let fault = |what: String| Fault::field(self.name(key), what);
        match integers {
            Some(integers) if *length == blocks => integers
                .iter()
                .map(|number| u64::try_from(*number).map_err(|_| fault(format!("{number} is negative"))))
                .collect::<Result<_, _>>()
                .map(Some),
            Some(_) => Err(fault(format!("has {length} elements for {blocks} blocks"))),
            None => Err(fault("must be a whole number, or one for each block".to_owned())),
        }
    }

    /// A head's width: the key where there is one, and only then what the other dimensions suggest.
    fn head_length(&self, key: &str, hidden: u64, heads: u64) -> Result<u64, Fault> {
        let plain = format!("attention.{key}");
        let stated = match self.count(&format!("{plain}_mla"))? {
            Some(length) => Some(length),
            None => self.count(&plain)?,
        };
        match stated {
            Some(length) => Ok(length),
            None if hidden.is_multiple_of(heads) => Ok(hidden / heads),
            None => Err(Fault::field(
                self.name("attention.head_count"),
                format!("{heads} heads do not divide embedding_length {hidden}, and there is no {plain}"),
            )),
        }
    }
}
