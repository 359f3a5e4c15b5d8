//! From the metadata keys of a GGUF file to the model's dimensions, or at least to how its layers look back.

use std::collections::{BTreeSet, HashMap};

use super::Tensor;
use super::family::{Windows, always_sees, attends_last, fills_in, keeps_first, makes_no_tokens, windows_of};
use super::fault::Fault;
use super::gguf::{Metadata, Value};
use super::hyper::{Attention, Experts, FeedForward, Head, Hyper, Latent, Layer, MOST_LAYERS, Width};
use super::names::{self, ADAPTER};
use super::operation::State;
use super::stated::{LooksBack, Stated};

/// The end of the name of a layer's projection down to its latent vector.
const DOWN: &str = ".attn_kv_a_mqa.weight";

/// The dimensions a GGUF file's metadata gives, and what was assumed for them; none when the architecture
/// is not one whose layers are known or the file is not a whole model.
pub fn hyper(metadata: &Metadata, tensors: &[Tensor]) -> Result<Option<(Hyper, Vec<String>)>, Fault> {
    let Some(keys) = Keys::of(metadata, tensors)? else { return Ok(None) };
    let Some(family) = Family::of(keys.architecture) else { return Ok(None) };
    let mut assumed = Vec::new();
    let hyper = read(&keys, family, &mut assumed)?;
    hyper.check(|name| keys.name(key_of(name)))?;
    Ok(Some((hyper, assumed)))
}

/// What a GGUF file's metadata says of the layers of any architecture; none when it does not even say how
/// many there are.
pub fn stated(metadata: &Metadata, tensors: &[Tensor]) -> Result<Option<Stated>, Fault> {
    let Some(keys) = Keys::of(metadata, tensors)? else { return Ok(None) };
    let hidden = keys.count("embedding_length")?.unwrap_or(0);
    let Heads { heads, kv_heads, first } = keys.heads()?.unwrap_or_default();
    let beside_decoder = keys.has("dec.blk.");
    let makes_tokens = match (keys.has("enc.blk.") && !beside_decoder, keys.flag("attention.causal")?) {
        (true, _) => false,
        (false, Some(causal)) => causal,
        (false, None) => !makes_no_tokens(keys.architecture),
    };
    let mut assumed = Vec::new();
    let windows = windows(&keys, &mut assumed)?;
    let recurrent = recurrent(&keys, &mut assumed)?;
    let most_heads = heads.iter().copied().max().unwrap_or(0);
    let state = state(&keys, hidden, most_heads, recurrent.contains(&true))?;
    let uncounted = uncounted(&keys);
    let indexer = if uncounted.is_none() { indexer(&keys)? } else { None };
    let chosen = keys.count("attention.indexer.top_k")?.filter(|_| indexer.is_some());
    assumed.extend(left_out(&keys, chosen)?);
    // Layers from this one on read what an earlier one cached.
    let shared = match (keys.count("attention.shared_kv_layers")?, keeps_first(keys.architecture)) {
        (Some(shared), _) => keys.layers.saturating_sub(shared),
        (None, Some(first)) => first,
        (None, None) => keys.layers,
    };
    let latents = latents(&keys)?;
    let attention = |index: u64, causal: bool| {
        if uncounted.is_some() || recurrent.get(index as usize) == Some(&true) {
            return Ok(None);
        }
        let at = |values: &[u64]| values.get(index as usize).copied().filter(|value| *value > 0);
        let (Some(heads), Some(kv_heads)) = (at(&heads), at(&kv_heads)) else { return Ok(None) };
        let window = windows.get(index as usize).copied().flatten();
        let length = |key: &str| match (window, keys.count(&format!("attention.{key}_swa"))?) {
            (Some(_), Some(length)) => Ok(length),
            _ => keys.head_length(key, hidden, first),
        };
        let latent = latents.get(format!("blk.{index}{DOWN}").as_str()).copied();
        let kv_heads = match latent {
            Some(_) => 1,
            None if index >= shared => 0,
            None => kv_heads,
        };
        let attention = Attention::new(heads, length("key_length")?, length("value_length")?);
        Ok(Some(Attention { kv_heads, window, causal, latent, ..attention }))
    };
    let stack = |layers: u64, causal: bool, cross: bool| -> Result<Vec<LooksBack>, Fault> {
        let layer = |index| {
            let attention = attention(index, causal)?;
            let repeats = repeats(&keys, index)?;
            // A layer that is said to attend keeps no state, also where what it caches is unknown.
            let state = state.filter(|_| recurrent.get(index as usize) != Some(&false));
            Ok(LooksBack { attention, cross: attention.filter(|_| cross), state, indexer, chosen, repeats })
        };
        (0..layers).map(layer).collect()
    };
    let decoders = keys.count("decoder_block_count")?.unwrap_or(keys.layers).min(MOST_LAYERS);
    Ok(Some(Stated {
        layers: match beside_decoder {
            true => stack(decoders, true, true)?,
            false => stack(keys.layers, makes_tokens, false)?,
        },
        encoder: if beside_decoder { stack(keys.layers, false, false)? } else { Vec::new() },
        encoder_length: None,
        experts_used: keys.per_layer("expert_used_count")?.unwrap_or_default(),
        context_length: keys.count("context_length")?,
        makes_tokens,
        has_head: makes_tokens || fills_in(keys.architecture),
        uncounted,
        assumed,
    }))
}

/// The parts of the computation that are counted otherwise than an engine may run them.
fn left_out(keys: &Keys, chosen: Option<u64>) -> Result<Vec<String>, Fault> {
    let mut assumed = Vec::new();
    if let Some(most) = chosen {
        assumed.push(format!(
            "attention is counted over the whole context, as llama.cpp computes it; an engine that reads only the {most} tokens that the indexer chooses moves less"
        ));
    }
    let latent = keys.count("attention.kv_lora_rank")?.is_some_and(|rank| rank > 0);
    let told = [
        (
            fills_in(keys.architecture),
            "a whole text is filled in at once; its head counts for one token, and runs for each that is looked for",
        ),
        (
            keys.has(ADAPTER),
            "a token runs one of the adapters, or the empty one, as llama.cpp computes it; what finds out which one is left out",
        ),
        (
            latent && keys.get("attention.key_length_mla").is_none(),
            "keys and values are cached as one latent vector for a token; llama.cpp caches those of each head, as the file lacks attention.key_length_mla",
        ),
    ];
    assumed.extend(told.into_iter().filter(|(applies, _)| *applies).map(|(_, what)| what.to_owned()));
    Ok(assumed)
}

/// The latent vectors by the tensors that project down to them, which hold the rotary part of the key behind it. Found once:
/// there may be as many layers as tensors.
fn latents<'a>(keys: &Keys<'a>) -> Result<HashMap<&'a str, Latent>, Fault> {
    let Some(rank) = keys.count("attention.kv_lora_rank")?.filter(|rank| *rank > 0) else {
        return Ok(HashMap::new());
    };
    let latent = |rows: u64| Latent { query_rank: None, rank, rope_length: rows.saturating_sub(rank) };
    let down = keys.tensors.iter().filter(|tensor| tensor.name.ends_with(DOWN));
    Ok(down.filter_map(|tensor| Some((tensor.name.as_str(), latent(*tensor.dims.first()?)))).collect())
}

/// Which blocks keep a state where they might attend.
fn recurrent(keys: &Keys, assumed: &mut Vec<String>) -> Result<Vec<bool>, Fault> {
    if let Some(kept) = keys.per_layer("attention.recurrent_layers")? {
        return Ok(kept.into_iter().map(|kept| kept != 0).collect());
    }
    let stated = keys.count("full_attention_interval")?.filter(|period| *period > 0);
    let Some(period) = stated.or(attends_last(keys.architecture)) else { return Ok(Vec::new()) };
    if stated.is_none() {
        assumed.push(format!("no key says which layers attend: the last of every {period}"));
    }
    Ok((1..=keys.blocks).map(|number| !number.is_multiple_of(period)).collect())
}

/// Why nobody counts here what attention caches and reads.
fn uncounted(keys: &Keys) -> Option<&'static str> {
    let says = |key: &&str| keys.get(key).is_some();
    let blocks = ["attention.indexer.block_size", "attention.indexer.kpool"];
    if says(&"attention.compress_ratios") {
        Some("its cache is compressed, which is not counted")
    } else if blocks.iter().any(says) {
        Some("its indexer chooses blocks of tokens by keys of their own, which are not counted")
    } else {
        None
    }
}

/// What chooses the tokens that attention looks at: one key for a token, in all heads that score it.
fn indexer(keys: &Keys) -> Result<Option<Attention>, Fault> {
    let heads = keys.count("attention.indexer.head_count")?.filter(|heads| *heads > 0);
    let Some((heads, key_length)) = heads.zip(keys.count("attention.indexer.key_length")?) else {
        return Ok(None);
    };
    Ok(Some(Attention { kv_heads: 1, ..Attention::new(heads, key_length, 0) }))
}

/// Further times that a token runs through a block: as a whole, or in two stacks that take turns, of which the first runs
/// several times for each time of the second.
fn repeats(keys: &Keys, block: u64) -> Result<u64, Fault> {
    const MOST: u64 = 16;
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
        1..=MOST => Ok(times - 1),
        _ => {
            Err(Fault::field(keys.name("num_loops"), format!("must be between 1 and {MOST}, but is {times}")))
        }
    }
}

/// The state of a layer that has one. How it is updated is told by the tensors: the operations on one of
/// its numbers are a decay, what the token adds, and its part of the result.
fn state(keys: &Keys, hidden: u64, heads: u64, recurrent: bool) -> Result<Option<State>, Fault> {
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

/// What the families differ in and no key says.
#[derive(Clone, Copy)]
struct Family {
    norms: u64,
    gated: bool,
    encoder: bool,
    learned_positions: bool,
}

impl Family {
    fn of(architecture: &str) -> Option<Family> {
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

fn read(keys: &Keys, family: Family, assumed: &mut Vec<String>) -> Result<Hyper, Fault> {
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
    Ok(Hyper {
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

/// The attention of each layer that has one.
fn attentions(
    keys: &Keys,
    hidden: u64,
    causal: bool,
    assumed: &mut Vec<String>,
) -> Result<Vec<Option<Attention>>, Fault> {
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

/// The feed-forward block of each layer.
fn feed_forwards(keys: &Keys, family: Family) -> Result<Vec<FeedForward>, Fault> {
    let dense = keys.per_layer("feed_forward_length")?;
    let at = |values: &[u64], index: u64| values.get(index as usize).copied().unwrap_or(0);
    let experts = experts(keys)?;
    let leading = keys.count("leading_dense_block_count")?.unwrap_or(0);
    // The blocks with a router, if there are tensors to show it.
    let router = |tensor: &&Tensor| tensor.name.ends_with(".ffn_gate_inp.weight");
    let routed: BTreeSet<u64> =
        keys.tensors.iter().filter(router).filter_map(|tensor| names::layer(&tensor.name).1).collect();
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

/// Each block's window: the pattern is the file's where it states one, and the family's otherwise.
fn windows(keys: &Keys, assumed: &mut Vec<String>) -> Result<Vec<Option<u64>>, Fault> {
    const PATTERN: &str = "attention.sliding_window_pattern";
    let none = vec![None; keys.blocks as usize];
    let rule = windows_of(keys.architecture, keys.blocks);
    let stated = keys.count("attention.sliding_window")?;
    let Some(window) = stated.or(rule.and_then(Windows::size)).filter(|window| *window > 0) else {
        return Ok(none);
    };
    let window = always_sees(keys.architecture).unwrap_or(window);
    if keys.architecture == "llama4" {
        assumed.push(format!("its chunks of {window} tokens count as windows: a token sees at most as many"));
    }
    if rule == Some(Windows::Ignored) {
        assumed.push(format!(
            "the window of {window} tokens is not used, as llama.cpp does not: every layer sees the whole context"
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
                assumed.push(format!("no key says which layers have a window: {}", rule.told()));
            }
            let period = period.or(rule.and_then(Windows::period)).unwrap_or(0);
            let full = if full_first { 1 % period.max(1) } else { 0 };
            (1..=keys.blocks).map(|number| period == 0 || number % period != full).collect()
        }
    };
    Ok(slides.into_iter().map(|slides| slides.then_some(window)).collect())
}

fn experts(keys: &Keys) -> Result<Option<Experts>, Fault> {
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
        shared_gate: keys.has_end(".ffn_gate_inp_shexp.weight"),
        router_bias: keys.has_end(".exp_probs_b.bias") || keys.has_end(".exp_probs_b"),
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

/// The heads of each block; if their numbers differ, their width is that of the first.
#[derive(Default)]
struct Heads {
    heads: Vec<u64>,
    kv_heads: Vec<u64>,
    first: u64,
}

/// The keys of one architecture, and the tensors that tell what no key does.
struct Keys<'a> {
    metadata: &'a Metadata,
    architecture: &'a str,
    tensors: &'a [Tensor],
    /// Blocks in the file.
    blocks: u64,
    /// Blocks that a token runs through: the last may predict further tokens, which ordinary decoding does not run.
    layers: u64,
}

impl<'a> Keys<'a> {
    /// None if the file does not state its architecture and number of blocks.
    fn of(metadata: &'a Metadata, tensors: &'a [Tensor]) -> Result<Option<Keys<'a>>, Fault> {
        let Some(architecture) = metadata.text("general.architecture")? else { return Ok(None) };
        let keys = Keys { metadata, architecture, tensors, blocks: 0, layers: 0 };
        let Some(blocks) = keys.count("block_count")? else { return Ok(None) };
        if blocks > MOST_LAYERS {
            let what = format!("must be at most {MOST_LAYERS}, but is {blocks}");
            return Err(Fault::field(keys.name("block_count"), what));
        }
        let layers = blocks.saturating_sub(keys.count("nextn_predict_layers")?.unwrap_or(0));
        Ok(Some(Keys { blocks, layers, ..keys }))
    }

    fn name(&self, key: &str) -> String {
        format!("{}.{key}", self.architecture)
    }

    /// Whether the name of a tensor contains this.
    fn has(&self, part: &str) -> bool {
        self.tensors.iter().any(|tensor| tensor.name.contains(part))
    }

    fn has_end(&self, end: &str) -> bool {
        self.tensors.iter().any(|tensor| tensor.name.ends_with(end))
    }

    fn heads(&self) -> Result<Option<Heads>, Fault> {
        let Some(heads) = self.per_layer("attention.head_count")? else { return Ok(None) };
        let kv_heads = self.per_layer("attention.head_count_kv")?.unwrap_or_else(|| heads.clone());
        let first = heads.iter().copied().find(|heads| *heads > 0).unwrap_or(1);
        Ok(Some(Heads { heads, kv_heads, first }))
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
    fn per_layer(&self, key: &str) -> Result<Option<Vec<u64>>, Fault> {
        let Keys { blocks, layers, .. } = *self;
        let Some(Value::Array { length, integers }) = self.get(key) else {
            return Ok(self.count(key)?.map(|number| vec![number; blocks as usize]));
        };
        let fault = |what: String| Fault::field(self.name(key), what);
        match integers {
            // Blocks that predict further tokens may be left out.
            Some(integers) if (layers..=blocks).contains(length) => {
                let number = |number: &i128| {
                    u64::try_from(*number).map_err(|_| fault(format!("{number} is negative")))
                };
                let mut numbers = integers.iter().map(number).collect::<Result<Vec<u64>, _>>()?;
                numbers.resize(blocks as usize, numbers.last().copied().unwrap_or(0));
                Ok(Some(numbers))
            }
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
