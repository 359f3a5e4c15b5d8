//! Dimensions, or at least layer properties, of a model from the metadata of a GGUF file.

use std::collections::{BTreeSet, HashMap};

use super::Tensor;
use super::declared::{DeclaredLayers, LayerMemory};
use super::dimensions::{Attention, Experts, FeedForward, Head, Latent, Layer, MAX_LAYERS, ModelDims, Width};
use super::error::FormatError;
use super::gguf::{Metadata, Value};
use super::operation::State;
use super::quirks::{
    Windows, attention_period, fixed_window, is_autoregressive, is_diffusion, layers_with_kv, window_pattern,
};
use super::tensor_names::{self, ADAPTER};

/// Name suffix of the down projection to a latent vector.
const LATENT_DOWN: &str = ".attn_kv_a_mqa.weight";

/// Returns the dimensions of a model and the assumptions behind them; `None` if the model family is unknown
/// or the file is not a complete model.
pub fn model_dims(
    metadata: &Metadata,
    tensors: &[Tensor],
) -> Result<Option<(ModelDims, Vec<String>)>, FormatError> {
    let Some(keys) = Keys::new(metadata, tensors)? else { return Ok(None) };
    let Some(family) = Family::from_name(keys.architecture) else { return Ok(None) };
    let mut assumed = Vec::new();
    let model_dims = read(&keys, family, &mut assumed)?;
    model_dims.check(|name| keys.name(key_of(name)))?;
    Ok(Some((model_dims, assumed)))
}

/// Returns the layer properties of a model of any family; `None` if the number of layers is missing.
pub fn declared_layers(
    metadata: &Metadata,
    tensors: &[Tensor],
) -> Result<Option<DeclaredLayers>, FormatError> {
    let Some(keys) = Keys::new(metadata, tensors)? else { return Ok(None) };
    let hidden = keys.count("embedding_length")?.unwrap_or(0);
    let Heads { heads, kv_heads, first } = keys.heads()?.unwrap_or_default();
    let has_decoder = keys.has("dec.blk.");
    let generates_tokens = match (keys.has("enc.blk.") && !has_decoder, keys.flag("attention.causal")?) {
        (true, _) => false,
        (false, Some(causal)) => causal,
        (false, None) => is_autoregressive(keys.architecture),
    };
    let mut assumed = Vec::new();
    let windows = windows(&keys, &mut assumed)?;
    let recurrent = recurrent(&keys, &mut assumed)?;
    let max_heads = heads.iter().copied().max().unwrap_or(0);
    let state = state(&keys, hidden, max_heads, recurrent.contains(&true))?;
    let unsupported_attention = unsupported_attention(&keys);
    let indexer = if unsupported_attention.is_none() { indexer(&keys)? } else { None };
    let selected_tokens = keys.count("attention.indexer.top_k")?.filter(|_| indexer.is_some());
    assumed.extend(simplifications(&keys, selected_tokens)?);
    // From this layer on, layers share the KV cache of an earlier one.
    let first_shared = match (keys.count("attention.shared_kv_layers")?, layers_with_kv(keys.architecture)) {
        (Some(shared), _) => keys.layers.saturating_sub(shared),
        (None, Some(first)) => first,
        (None, None) => keys.layers,
    };
    let latents = latents(&keys)?;
    let attention = |index: u64, causal: bool| {
        if unsupported_attention.is_some() || recurrent.get(index as usize) == Some(&true) {
            return Ok(None);
        }
        let at = |values: &[u64]| values.get(index as usize).copied().filter(|value| *value > 0);
        let (Some(heads), Some(kv_heads)) = (at(&heads), at(&kv_heads)) else { return Ok(None) };
        let window = windows.get(index as usize).copied().flatten();
        let length = |key: &str| match (window, keys.count(&format!("attention.{key}_swa"))?) {
            (Some(_), Some(length)) => Ok(length),
            _ => keys.head_length(key, hidden, first),
        };
        let latent = latents.get(format!("blk.{index}{LATENT_DOWN}").as_str()).copied();
        let kv_heads = match latent {
            Some(_) => 1,
            None if index >= first_shared => 0,
            None => kv_heads,
        };
        let attention = Attention::new(heads, length("key_length")?, length("value_length")?);
        Ok(Some(Attention { kv_heads, window, causal, latent, ..attention }))
    };
    let stack = |layers: u64, causal: bool, cross: bool| -> Result<Vec<LayerMemory>, FormatError> {
        let layer = |index| {
            let attention = attention(index, causal)?;
            let repeats = repeats(&keys, index)?;
            // Declared attention layers have no state, even if their cache is unsupported.
            let state = state.filter(|_| recurrent.get(index as usize) != Some(&false));
            let cross = attention.filter(|_| cross);
            Ok(LayerMemory { attention, cross, state, indexer, selected_tokens, repeats })
        };
        (0..layers).map(layer).collect()
    };
    let decoders = keys.count("decoder_block_count")?.unwrap_or(keys.layers).min(MAX_LAYERS);
    Ok(Some(DeclaredLayers {
        layers: match has_decoder {
            true => stack(decoders, true, true)?,
            false => stack(keys.layers, generates_tokens, false)?,
        },
        encoder: if has_decoder { stack(keys.layers, false, false)? } else { Vec::new() },
        encoder_length: None,
        experts_used: keys.per_layer("expert_used_count")?.unwrap_or_default(),
        context_length: keys.count("context_length")?,
        generates_tokens,
        has_head: generates_tokens || is_diffusion(keys.architecture),
        unsupported_attention,
        assumed,
    }))
}

/// Describes parts of the computation that an engine may execute differently.
fn simplifications(keys: &Keys, selected_tokens: Option<u64>) -> Result<Vec<String>, FormatError> {
    let mut assumed = Vec::new();
    if let Some(tokens) = selected_tokens {
        assumed.push(format!(
            "assuming attention over the whole context, as in llama.cpp; sparse attention over the {tokens} tokens that the indexer selects moves fewer bytes"
        ));
    }
    let latent = keys.count("attention.kv_lora_rank")?.is_some_and(|rank| rank > 0);
    let notes = [
        (
            is_diffusion(keys.architecture),
            "diffusion models predict many tokens at once; the output head is counted for a single token",
        ),
        (
            keys.has(ADAPTER),
            "assuming one LoRA adapter per token, as in llama.cpp; the selection of the adapter is not counted",
        ),
        (
            latent && keys.get("attention.key_length_mla").is_none(),
            "assuming one cached latent vector per token; llama.cpp caches keys and values per head, because the file lacks attention.key_length_mla",
        ),
    ];
    assumed.extend(notes.into_iter().filter(|(applies, _)| *applies).map(|(_, note)| note.to_owned()));
    Ok(assumed)
}

/// Maps the names of down projections to their latent vectors. The projection also contains the rotary part of the key. Computed
/// once, because there may be as many layers as tensors.
fn latents<'a>(keys: &Keys<'a>) -> Result<HashMap<&'a str, Latent>, FormatError> {
    let Some(rank) = keys.count("attention.kv_lora_rank")?.filter(|rank| *rank > 0) else {
        return Ok(HashMap::new());
    };
    let latent = |rows: u64| Latent { query_rank: None, rank, rope_length: rows.saturating_sub(rank) };
    let down = keys.tensors.iter().filter(|tensor| tensor.name.ends_with(LATENT_DOWN));
    Ok(down.filter_map(|tensor| Some((tensor.name.as_str(), latent(*tensor.dims.first()?)))).collect())
}

/// Returns for each block of a hybrid model if it is recurrent; empty for other models.
fn recurrent(keys: &Keys, assumed: &mut Vec<String>) -> Result<Vec<bool>, FormatError> {
    if let Some(flags) = keys.per_layer("attention.recurrent_layers")? {
        return Ok(flags.into_iter().map(|flag| flag != 0).collect());
    }
    let declared = keys.count("full_attention_interval")?.filter(|period| *period > 0);
    let Some(period) = declared.or(attention_period(keys.architecture)) else { return Ok(Vec::new()) };
    if declared.is_none() {
        assumed.push(format!(
            "assuming attention in the last of every {period} layers, recurrence in the others"
        ));
    }
    Ok((1..=keys.blocks).map(|number| !number.is_multiple_of(period)).collect())
}

/// Returns the reason if the cost of attention is unsupported.
fn unsupported_attention(keys: &Keys) -> Option<&'static str> {
    let has = |key: &&str| keys.get(key).is_some();
    let blocks = ["attention.indexer.block_size", "attention.indexer.kpool"];
    if has(&"attention.compress_ratios") {
        Some("attention with a compressed cache is not supported")
    } else if blocks.iter().any(has) {
        Some("attention with an indexer over blocks of tokens is not supported")
    } else {
        None
    }
}

/// Returns the indexer, whose heads share one key per token.
fn indexer(keys: &Keys) -> Result<Option<Attention>, FormatError> {
    let heads = keys.count("attention.indexer.head_count")?.filter(|heads| *heads > 0);
    let Some((heads, key_length)) = heads.zip(keys.count("attention.indexer.key_length")?) else {
        return Ok(None);
    };
    Ok(Some(Attention { kv_heads: 1, ..Attention::new(heads, key_length, 0) }))
}

/// Returns the number of additional executions of a block. Looped models repeat all layers; hierarchical models alternate between
/// two stacks, of which the first is executed several times per execution of the second.
fn repeats(keys: &Keys, block: u64) -> Result<u64, FormatError> {
    const MAX_REPEATS: u64 = 16;
    let times = match (keys.count("num_loops")?, keys.count("hrm.layers_per_stack")?) {
        (Some(loops), _) => loops,
        (None, Some(stack)) => {
            let turns = keys.count("hrm.h_cycles")?.unwrap_or(1);
            let inner = if block < stack { keys.count("hrm.l_cycles")?.unwrap_or(1) } else { 1 };
            turns.saturating_mul(inner)
        }
        (None, None) => 1,
    };
    match times {
        1..=MAX_REPEATS => Ok(times - 1),
        _ => Err(FormatError::field(
            keys.name("num_loops"),
            format!("out of range: expected 1 to {MAX_REPEATS}, found {times}"),
        )),
    }
}

/// Returns the recurrent state of a layer. The tensors determine the update rule: each element takes
/// operations for the decay, the contribution of the token and the result.
fn state(keys: &Keys, hidden: u64, heads: u64, recurrent: bool) -> Result<Option<State>, FormatError> {
    let count = |key: &str| keys.count(key);
    let has = |part: &str| keys.has(part);
    let times =
        |numbers: &[u64]| numbers.iter().fold(1u64, |product, number| product.saturating_mul(*number));
    let behind = |kernel: Option<u64>| kernel.unwrap_or(0).saturating_sub(1);
    let (matrix, shifted, each) = if let Some(width) = count("wkv.head_size")? {
        let each = match (has(".time_mix_k_k"), has(".time_mix_first")) {
            (true, _) => 9,
            (false, true) => 7,
            (false, false) => 5,
        };
        (times(&[hidden, width]), times(&[hidden, count("token_shift_count")?.unwrap_or(2)]), each)
    } else if let Some(width) = count("kda.head_dim")? {
        let kernel = behind(count("ssm.conv_kernel")?);
        (times(&[heads, width, width]), times(&[3, kernel, heads, width]), 7)
    } else if let Some(length) = count("shortconv.l_cache")? {
        (0, times(&[hidden, behind(Some(length))]), 0)
    } else if let (Some(inner), Some(size)) = (count("ssm.inner_size")?, count("ssm.state_size")?) {
        let grouped = times(&[2, count("ssm.group_count")?.unwrap_or(0), size]);
        let shifted = times(&[behind(count("ssm.conv_kernel")?), inner.saturating_add(grouped)]);
        let each = match (has(".ssm_ba.") || has(".ssm_beta."), has(".ssm_x.")) {
            (true, _) => 7,
            (false, true) => 6,
            (false, false) => 5,
        };
        (times(&[inner, size]), shifted, each)
    } else if recurrent && heads > 0 {
        let width = |key| keys.head_length(key, hidden, heads);
        (times(&[heads, width("key_length")?, width("value_length")?]), 0, 5)
    } else {
        return Ok(None);
    };
    Ok(Some(State { elements: matrix.saturating_add(shifted), flops: times(&[matrix, each]) }))
}

/// Differences between families that no key declares.
#[derive(Clone, Copy)]
struct Family {
    norms: u64,
    gated: bool,
    encoder: bool,
    learned_positions: bool,
}

impl Family {
    fn from_name(architecture: &str) -> Option<Family> {
        let llama = Family { norms: 2, gated: true, encoder: false, learned_positions: false };
        Some(match architecture {
            "llama" | "mistral" | "mixtral" | "qwen2" | "qwen2moe" | "qwen3" | "qwen3moe" | "gemma"
            | "phi3" | "deepseek" | "deepseek2" => llama,
            "gemma2" | "gemma3" => Family { norms: 4, ..llama },
            "gpt2" => Family { gated: false, learned_positions: true, ..llama },
            "bert" => Family { gated: false, encoder: true, learned_positions: true, ..llama },
            _ => return None,
        })
    }
}

/// Returns the key of a dimension, for error messages.
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

fn read(keys: &Keys, family: Family, assumed: &mut Vec<String>) -> Result<ModelDims, FormatError> {
    let rows = |name: &str| keys.tensors.iter().find(|tensor| tensor.name == name)?.dims.first().copied();
    let hidden = keys.need("embedding_length")?;
    let context_length = keys.count("context_length")?;
    let causal = keys.flag("attention.causal")?.unwrap_or(!family.encoder);
    let attentions = attentions(keys, hidden, causal, assumed)?;
    let feed_forwards = feed_forwards(keys, family)?;
    let layers = attentions.into_iter().zip(feed_forwards).map(|(attention, feed_forward)| Layer {
        norms: family.norms,
        attention,
        recurrence: None,
        feed_forward,
    });
    let vocab = match (keys.count("vocab_size")?, keys.metadata.get("tokenizer.ggml.tokens")) {
        (Some(vocab), _) => Some(vocab),
        (None, Some(Value::Array { length, .. })) => Some(*length),
        _ => rows("token_embd.weight"),
    };
    let positions = rows("position_embd.weight").or(context_length).filter(|_| family.learned_positions);
    Ok(ModelDims {
        architecture: keys.architecture.to_owned(),
        hidden,
        vocab: vocab.ok_or_else(|| keys.missing("vocab_size"))?,
        context_length,
        positions: positions.unwrap_or(0),
        token_types: rows("token_types.weight").unwrap_or(0),
        embedding_norm: keys.has_end("token_embd_norm.weight"),
        output_norm: !family.encoder,
        norm_bias: keys.has_end(".attn_norm.bias") || keys.has_end("output_norm.bias"),
        head: match (family.encoder, rows("output.weight"), causal) {
            (false, Some(_), _) => Head::Own,
            (false, None, true) => Head::Tied,
            _ => Head::None,
        },
        layers: layers.collect(),
    })
}

/// Returns the attention of each layer; `None` for layers without heads.
fn attentions(
    keys: &Keys,
    hidden: u64,
    causal: bool,
    assumed: &mut Vec<String>,
) -> Result<Vec<Option<Attention>>, FormatError> {
    let Heads { heads, kv_heads, first } =
        keys.heads()?.ok_or_else(|| keys.missing("attention.head_count"))?;
    let windows = windows(keys, assumed)?;
    let latent = latent(keys)?;
    let bias = [".attn_q.bias", ".attn_qkv.bias", ".attn_q_a.bias"].iter().any(|end| keys.has_end(end));
    let output_bias = keys.has_end(".attn_output.bias");
    let head_norm = keys.has_end(".attn_q_norm.weight");
    let attention = |index: usize| match (heads.get(index), kv_heads.get(index)) {
        (Some(&heads @ 1..), Some(&kv_heads @ 1..)) => Ok(Some(Attention {
            heads,
            kv_heads: if latent.is_some() { 1 } else { kv_heads },
            key_length: keys.head_length("key_length", hidden, first)?,
            value_length: keys.head_length("value_length", hidden, first)?,
            window: windows.get(index).copied().flatten(),
            sees: None,
            causal,
            latent,
            bias,
            output_bias,
            head_norm,
        })),
        _ => Ok(None),
    };
    (0..keys.layers as usize).map(attention).collect()
}

fn feed_forwards(keys: &Keys, family: Family) -> Result<Vec<FeedForward>, FormatError> {
    let dense = keys.per_layer("feed_forward_length")?;
    let at = |values: &[u64], index: u64| values.get(index as usize).copied().unwrap_or(0);
    let experts = experts(keys)?;
    let leading = keys.count("leading_dense_block_count")?.unwrap_or(0);
    // Blocks with a router, if there are tensors.
    let router = |tensor: &&Tensor| tensor.name.ends_with(".ffn_gate_inp.weight");
    let routed: BTreeSet<u64> =
        keys.tensors.iter().filter(router).filter_map(|tensor| tensor_names::layer(&tensor.name).1).collect();
    let routes = |block: u64| if routed.is_empty() { block >= leading } else { routed.contains(&block) };
    let bias = keys.has_end(".ffn_up.bias");
    let feed_forward = |index: u64| {
        let width = match (experts, &dense) {
            (Some(experts @ Experts { length: 0, .. }), Some(dense)) if routes(index) => {
                Width::Experts(Experts { length: at(dense, index), ..experts })
            }
            (Some(experts), _) if routes(index) => Width::Experts(experts),
            (_, Some(dense)) => Width::Dense(at(dense, index)),
            (_, None) => return Err(keys.missing("feed_forward_length")),
        };
        Ok(FeedForward { gated: family.gated, bias, width })
    };
    (0..keys.layers).map(feed_forward).collect()
}

/// Returns the sliding window of each block. A pattern in the file takes precedence over that of the family.
fn windows(keys: &Keys, assumed: &mut Vec<String>) -> Result<Vec<Option<u64>>, FormatError> {
    const PATTERN: &str = "attention.sliding_window_pattern";
    let none = vec![None; keys.blocks as usize];
    let rule = window_pattern(keys.architecture, keys.blocks);
    let declared = keys.count("attention.sliding_window")?;
    let Some(window) = declared.or(rule.and_then(Windows::size)).filter(|window| *window > 0) else {
        return Ok(none);
    };
    let window = fixed_window(keys.architecture).unwrap_or(window);
    if keys.architecture == "llama4" {
        assumed
            .push(format!("treating attention chunks of {window} tokens as sliding windows, an upper bound"));
    }
    if rule == Some(Windows::Ignored) {
        assumed.push(format!(
            "ignoring the sliding window of {window} tokens, as llama.cpp does: every layer has full attention"
        ));
        return Ok(none);
    }
    let slides: Vec<bool> = match keys.get(PATTERN) {
        Some(Value::Array { .. }) => {
            keys.per_layer(PATTERN)?.unwrap_or_default().iter().map(|slides| *slides != 0).collect()
        }
        _ => {
            let period = keys.count(PATTERN)?;
            let full_first = rule.is_some_and(Windows::full_first);
            if let (None, Some(rule)) = (period, rule) {
                assumed.push(rule.assumption());
            }
            let period = period.or(rule.and_then(Windows::period)).unwrap_or(0);
            let full = if full_first { 1 % period.max(1) } else { 0 };
            (1..=keys.blocks).map(|number| period == 0 || number % period != full).collect()
        }
    };
    Ok(slides.into_iter().map(|slides| slides.then_some(window)).collect())
}

fn experts(keys: &Keys) -> Result<Option<Experts>, FormatError> {
    let Some(count) = keys.count("expert_count")?.filter(|count| *count > 0) else { return Ok(None) };
    let length = keys.count("expert_feed_forward_length")?.unwrap_or(0);
    let shared_length = match keys.count("expert_shared_feed_forward_length")? {
        Some(length) => length,
        None => keys
            .count("expert_shared_count")?
            .unwrap_or(0)
            .checked_mul(length)
            .ok_or_else(|| FormatError::field(keys.name("expert_shared_count"), "too large"))?,
    };
    Ok(Some(Experts {
        count,
        used: keys.need("expert_used_count")?,
        length,
        shared_length,
        shared_gate: keys.has_end(".ffn_gate_inp_shexp.weight"),
        router_bias: keys.has_end(".exp_probs_b.bias") || keys.has_end(".exp_probs_b"),
    }))
}

fn latent(keys: &Keys) -> Result<Option<Latent>, FormatError> {
    let Some(rank) = keys.count("attention.kv_lora_rank")?.filter(|rank| *rank > 0) else { return Ok(None) };
    Ok(Some(Latent {
        query_rank: keys.count("attention.q_lora_rank")?.filter(|rank| *rank > 0),
        rank,
        rope_length: keys.need("rope.dimension_count")?,
    }))
}

/// Numbers of heads per block.
#[derive(Default)]
struct Heads {
    heads: Vec<u64>,
    kv_heads: Vec<u64>,
    /// First number of heads above zero, which determines the head size.
    first: u64,
}

/// Keys of one architecture, and the tensors for properties without a key.
struct Keys<'a> {
    metadata: &'a Metadata,
    architecture: &'a str,
    tensors: &'a [Tensor],
    /// Number of blocks in the file.
    blocks: u64,
    /// Number of blocks without those for multi-token prediction, which ordinary decoding does not execute.
    layers: u64,
}

impl<'a> Keys<'a> {
    /// Returns `None` if the architecture or the number of blocks is missing.
    fn new(metadata: &'a Metadata, tensors: &'a [Tensor]) -> Result<Option<Keys<'a>>, FormatError> {
        let Some(architecture) = metadata.text("general.architecture")? else { return Ok(None) };
        let keys = Keys { metadata, architecture, tensors, blocks: 0, layers: 0 };
        let Some(blocks) = keys.count("block_count")? else { return Ok(None) };
        if blocks > MAX_LAYERS {
            let message = format!("expected at most {MAX_LAYERS}, found {blocks}");
            return Err(FormatError::field(keys.name("block_count"), message));
        }
        let layers = blocks.saturating_sub(keys.count("nextn_predict_layers")?.unwrap_or(0));
        Ok(Some(Keys { blocks, layers, ..keys }))
    }

    fn name(&self, key: &str) -> String {
        format!("{}.{key}", self.architecture)
    }

    /// Returns true if the name of any tensor contains `part`.
    fn has(&self, part: &str) -> bool {
        self.tensors.iter().any(|tensor| tensor.name.contains(part))
    }

    fn has_end(&self, end: &str) -> bool {
        self.tensors.iter().any(|tensor| tensor.name.ends_with(end))
    }

    fn heads(&self) -> Result<Option<Heads>, FormatError> {
        let Some(heads) = self.per_layer("attention.head_count")? else { return Ok(None) };
        let kv_heads = self.per_layer("attention.head_count_kv")?.unwrap_or_else(|| heads.clone());
        let first = heads.iter().copied().find(|heads| *heads > 0).unwrap_or(1);
        Ok(Some(Heads { heads, kv_heads, first }))
    }

    fn missing(&self, key: &str) -> FormatError {
        FormatError::field(
            self.name(key),
            format!("missing; required for the architecture {}", self.architecture),
        )
    }

    fn get(&self, key: &str) -> Option<&Value> {
        self.metadata.get(&self.name(key))
    }

    fn count(&self, key: &str) -> Result<Option<u64>, FormatError> {
        self.metadata.count(&self.name(key))
    }

    fn need(&self, key: &str) -> Result<u64, FormatError> {
        self.count(key)?.ok_or_else(|| self.missing(key))
    }

    fn flag(&self, key: &str) -> Result<Option<bool>, FormatError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(FormatError::field(self.name(key), "expected a boolean")),
        }
    }

    /// Returns a number per block, from an array or a single number.
    fn per_layer(&self, key: &str) -> Result<Option<Vec<u64>>, FormatError> {
        let Keys { blocks, layers, .. } = *self;
        let Some(Value::Array { length, integers }) = self.get(key) else {
            return Ok(self.count(key)?.map(|number| vec![number; blocks as usize]));
        };
        let fault = |message: String| FormatError::field(self.name(key), message);
        match integers {
            // The array may omit blocks for multi-token prediction.
            Some(integers) if (layers..=blocks).contains(length) => {
                let number = |number: &i128| {
                    u64::try_from(*number)
                        .map_err(|_| fault(format!("expected non-negative integers, found {number}")))
                };
                let mut numbers = integers.iter().map(number).collect::<Result<Vec<u64>, _>>()?;
                numbers.resize(blocks as usize, numbers.last().copied().unwrap_or(0));
                Ok(Some(numbers))
            }
            Some(_) => Err(fault(format!("expected an element per block ({blocks}), found {length}"))),
            None => Err(fault("expected an integer, or an array with one per block".to_owned())),
        }
    }

    /// Returns the size of a key or value per head, by default the hidden size divided by the number of heads.
    fn head_length(&self, key: &str, hidden: u64, heads: u64) -> Result<u64, FormatError> {
        let key = format!("attention.{key}");
        let declared = match self.count(&format!("{key}_mla"))? {
            Some(length) => Some(length),
            None => self.count(&key)?,
        };
        match declared {
            Some(length) => Ok(length),
            None if hidden.is_multiple_of(heads) => Ok(hidden / heads),
            None => Err(FormatError::field(
                self.name("attention.head_count"),
                format!("expected a divisor of embedding_length {hidden}, found {heads}; or set {key}"),
            )),
        }
    }
}
