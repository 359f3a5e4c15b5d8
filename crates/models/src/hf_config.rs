//! Dimensions of a model from a Hugging Face `config.json`.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::declared::{DeclaredLayers, LayerMemory};
use super::dimensions::{
    Attention, Experts, FeedForward, Head, Latent, Layer, MAX_LAYERS, ModelDims, Recurrence, Width,
};
use super::error::{FormatError, quoted};
use super::operation::State;

/// Supported values of `model_type`.
pub const MODEL_TYPES: &[&str] = &[
    "llama",
    "mistral",
    "mixtral",
    "qwen2",
    "qwen2_moe",
    "qwen3",
    "qwen3_moe",
    "gemma",
    "gemma2",
    "gemma3",
    "gemma3_text",
    "phi3",
    "deepseek_v2",
    "deepseek_v3",
    "kimi_k2",
    "gpt2",
    "bert",
    "roberta",
    "xlm-roberta",
];

/// Parses a `config.json`. Returns `None` if `model_type` is missing, or is not one of [`MODEL_TYPES`] and
/// the fields of a decoder are missing.
pub fn read(text: &[u8]) -> Result<Option<ModelDims>, FormatError> {
    let map = object(text)?;
    match model_dims(&map)? {
        Some(model_dims) => Ok(Some(model_dims)),
        None => generic(&map),
    }
}

/// Parses a JSON object.
pub(super) fn object(text: &[u8]) -> Result<Map<String, Value>, FormatError> {
    match serde_json::from_slice(text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(FormatError::file("expected a JSON object")),
        Err(error) => Err(FormatError::file(format!("invalid JSON: {error}"))),
    }
}

/// Returns the fields and model type of the language model.
fn language_model(map: &Map<String, Value>) -> Result<Option<(Fields<'_>, &str)>, FormatError> {
    let outer = Fields { map };
    let Some(model_type) = outer.text("model_type")? else { return Ok(None) };
    // Multimodal models have a separate object for the language model.
    for name in ["text_config", "llm_config", "language_config"] {
        match map.get(name) {
            None | Some(Value::Null) => {}
            Some(Value::Object(map)) => {
                let inner = Fields { map };
                let model_type = inner.text("model_type")?.unwrap_or(model_type);
                return Ok(Some((inner, model_type)));
            }
            Some(_) => return Err(FormatError::field(name, "expected an object")),
        }
    }
    Ok(Some((outer, model_type)))
}

/// Returns the dimensions of a model of one of [`MODEL_TYPES`].
pub(super) fn model_dims(map: &Map<String, Value>) -> Result<Option<ModelDims>, FormatError> {
    let Some((fields, model_type)) = language_model(map)? else { return Ok(None) };
    if !MODEL_TYPES.contains(&model_type) {
        return Ok(None);
    }
    let model_dims = match model_type {
        "gpt2" => gpt2(&fields)?,
        "bert" | "roberta" | "xlm-roberta" => encoder(&fields, model_type)?,
        _ => decoder(&fields, model_type)?,
    };
    model_dims.check(|name| field_of(name, model_type).to_owned())?;
    Ok(Some(model_dims))
}

/// Families with DeepSeek layers.
const DEEPSEEK: &[&str] = &["deepseek_v2", "deepseek_v3", "kimi_k2"];

// Synonymous fields of different families.
const HIDDEN: &[&str] = &["hidden_size", "n_embd", "d_model", "dim"];
const LAYERS: &[&str] = &["num_hidden_layers", "n_layer", "n_layers", "num_layers"];
const HEADS: &[&str] = &["num_attention_heads", "n_head", "n_heads", "num_heads"];
const KV_HEADS: &[&str] = &[
    "num_key_value_heads",
    "n_head_kv",
    "num_kv_heads",
    "multi_query_group_num",
    "n_kv_heads",
    "kv_n_heads",
];
const INNER: &[&str] = &["intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim", "d_ff", "hidden_dim"];
const CONTEXT_LENGTH: &[&str] =
    &["max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "n_ctx"];
const EXPERTS: &[&str] = &["num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"];
const EXPERTS_USED: &[&str] =
    &["num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_topk", "moe_top_k", "moe_k"];

/// Families whose layers consist of a recurrent block only.
const RECURRENT: &[&str] = &["falcon_mamba", "mamba", "mamba2"];

/// Families without a gate in feed-forward blocks, which no field declares.
const UNGATED: &[&str] = &[
    "RefinedWeb",
    "RefinedWebModel",
    "bloom",
    "codegen",
    "falcon",
    "gpt_bigcode",
    "gpt_neo",
    "gpt_neox",
    "gptj",
    "mpt",
    "nemotron",
    "nemotron_h",
    "opt",
    "phi",
    "starcoder2",
];

/// Encoders with a gate in feed-forward blocks, which no field declares.
const GATED_ENCODERS: &[&str] = &["eurobert", "modernbert", "neobert"];

/// Families with a tied head by default.
const TIED: &[&str] = &["bloom", "cohere", "cohere2", "gpt_bigcode", "mpt", "opt", "starcoder2"];

/// Families of image encoders, with or without a text encoder.
const IMAGE_ENCODERS: &[&str] = &["clip", "siglip", "vit", "dinov2"];

/// Returns the layer properties of an encoder-decoder model; `None` for other models.
pub(super) fn encoder_decoder(map: &Map<String, Value>) -> Result<Option<DeclaredLayers>, FormatError> {
    let fields = Fields { map };
    if fields.flag("is_encoder_decoder")? != Some(true) {
        return Ok(None);
    }
    let hidden = fields.any(HIDDEN)?.ok_or_else(|| fields.missing("d_model"))?;
    // Audio clips have a fixed number of frames.
    let is_audio = fields.count("num_mel_bins")?.is_some();
    let encoder_length = if is_audio { fields.count("max_source_positions")? } else { None };
    let stack = |layers: &[&str], heads: &[&str], decoder: bool| -> Result<Vec<LayerMemory>, FormatError> {
        let layers = fields.any(layers)?.ok_or_else(|| fields.missing(LAYERS[0]))?;
        if layers > MAX_LAYERS {
            return Err(FormatError::field(
                LAYERS[0],
                format!("expected at most {MAX_LAYERS}, found {layers}"),
            ));
        }
        let heads = fields.any(heads)?.ok_or_else(|| fields.missing(HEADS[0]))?;
        let length = match fields.count("d_kv")? {
            Some(length) => length,
            None => divide(hidden, heads, HEADS[0], HIDDEN[0])?,
        };
        let attention = Attention { causal: decoder, ..Attention::new(heads, length, length) };
        let cross = Attention { sees: encoder_length, causal: false, ..attention };
        let cross = decoder.then_some(cross);
        let layer = LayerMemory { attention: Some(attention), cross, ..LayerMemory::default() };
        Ok(vec![layer; layers as usize])
    };
    let own = |first: &[&'static str], rest: &[&'static str]| [first, rest].concat();
    let encoder = stack(&own(&["encoder_layers"], LAYERS), &own(&["encoder_attention_heads"], HEADS), false)?;
    let decoders = own(&["decoder_layers", "num_decoder_layers"], LAYERS);
    Ok(Some(DeclaredLayers {
        layers: stack(&decoders, &own(&["decoder_attention_heads"], HEADS), true)?,
        encoder,
        encoder_length,
        experts_used: Vec::new(),
        context_length: fields.any(&own(&["max_target_positions"], CONTEXT_LENGTH))?,
        generates_tokens: true,
        has_head: true,
        unsupported_attention: None,
        assumed: encoder_length
            .map(|frames| format!("the encoder processes {frames} audio frames"))
            .into_iter()
            .collect(),
    }))
}

/// Returns the dimensions of a decoder of any other family, from the fields that most families share;
/// `None` if they are missing. Without tensors, layers are assumed to be llama layers.
pub(super) fn generic(map: &Map<String, Value>) -> Result<Option<ModelDims>, FormatError> {
    let Some((fields, model_type)) = language_model(map)? else { return Ok(None) };
    if IMAGE_ENCODERS.iter().any(|family| model_type.starts_with(family)) {
        return Ok(None);
    }
    let (Some(hidden), Some(layers)) = (fields.any(HIDDEN)?, fields.any(LAYERS)?) else { return Ok(None) };
    let Some(layers) = Some(layers).filter(|layers| (1..=MAX_LAYERS).contains(layers)) else {
        return Err(FormatError::field(
            LAYERS[0],
            format!("out of range: expected 1 to {MAX_LAYERS}, found {layers}"),
        ));
    };
    let recurrence = recurrence(&fields, hidden)?;
    let encoder = model_type.contains("bert") || model_type.contains("electra");
    let attention = match (RECURRENT.contains(&model_type), fields.any(HEADS)?) {
        (true, _) if recurrence.is_some() => None,
        (_, Some(heads)) => Some(attention(&fields, hidden, heads, !encoder)?),
        _ => return Ok(None),
    };
    let kinds = layer_kinds(&fields, layers as usize, attention.is_none())?;
    let gated = match encoder {
        true => {
            let is_glu = fields.text("activation_function")?.is_some_and(|name| name.ends_with("glu"));
            is_glu || GATED_ENCODERS.contains(&model_type)
        }
        false => !UNGATED.contains(&model_type),
    };
    let layer = |(index, kind): (usize, &LayerKind)| {
        let window = match kind {
            LayerKind::SlidingWindow(tokens) => Some(*tokens),
            _ => None,
        };
        let has_attention = matches!(
            kind,
            LayerKind::FullAttention
                | LayerKind::SlidingWindow(_)
                | LayerKind::Parallel
                | LayerKind::OnlyAttention
        );
        let is_recurrent =
            matches!(kind, LayerKind::Recurrent | LayerKind::Parallel | LayerKind::OnlyRecurrent);
        let width = match kind {
            LayerKind::OnlyRecurrent | LayerKind::OnlyAttention => Width::Dense(0),
            _ => generic_width(&fields, hidden, index as u64)?,
        };
        Ok(Layer {
            norms: if matches!(width, Width::Dense(0)) || *kind == LayerKind::OnlyFeedForward {
                1
            } else {
                2
            },
            attention: attention.map(|attention| Attention { window, ..attention }).filter(|_| has_attention),
            recurrence: recurrence.clone().filter(|_| is_recurrent),
            feed_forward: FeedForward { gated, bias: false, width },
        })
    };
    let tied = RECURRENT.contains(&model_type) || TIED.contains(&model_type);
    let tied = fields.flag("tie_word_embeddings")?.unwrap_or(tied);
    let model_dims = ModelDims {
        architecture: model_type.to_owned(),
        hidden,
        vocab: fields
            .any(&["vocab_size", "padded_vocab_size"])?
            .ok_or_else(|| fields.missing("vocab_size"))?,
        context_length: fields.any(CONTEXT_LENGTH)?,
        positions: 0,
        token_types: 0,
        embedding_norm: false,
        output_norm: true,
        norm_bias: false,
        head: match (encoder, tied) {
            (true, _) => Head::None,
            (false, true) => Head::Tied,
            (false, false) => Head::Own,
        },
        layers: kinds.iter().enumerate().map(layer).collect::<Result<_, FormatError>>()?,
    };
    model_dims.check(|name| field_of(name, model_type).to_owned())?;
    Ok(Some(model_dims))
}

/// Returns the attention from the fields that most families share.
fn attention(fields: &Fields, hidden: u64, heads: u64, causal: bool) -> Result<Attention, FormatError> {
    let multi_query = fields.flag("multi_query")?.unwrap_or(false)
        && !fields.flag("new_decoder_architecture")?.unwrap_or(false);
    let kv_heads = if multi_query { 1 } else { fields.any(KV_HEADS)?.unwrap_or(heads) };
    let latent = latent(fields)?;
    let (key_length, value_length) = match (latent, fields.any(&["head_dim", "kv_channels", "d_kv"])?) {
        (Some(latent), _) => {
            let nope = fields.need("qk_nope_head_dim")?;
            (nope.saturating_add(latent.rope_length), fields.need("v_head_dim")?)
        }
        (None, Some(length)) => (length, length),
        (None, None) => {
            let length = divide(hidden, heads, HEADS[0], HIDDEN[0])?;
            (length, length)
        }
    };
    let kv_heads = if latent.is_some() { 1 } else { kv_heads };
    Ok(Attention { kv_heads, causal, latent, ..Attention::new(heads, key_length, value_length) })
}

/// Returns the recurrent block from the fields that most families share. As for GGUF files, each element of the state takes
/// operations for the decay, the contribution of the token and the result.
fn recurrence(fields: &Fields, hidden: u64) -> Result<Option<Recurrence>, FormatError> {
    let kernel =
        fields.any(&["linear_conv_kernel_dim", "mamba_d_conv", "conv_kernel", "d_conv"])?.unwrap_or(4);
    let times = |a: u64, b: u64| a.saturating_mul(b);
    let size = |names: &[&str]| fields.any(names);
    let (state, convolved, each, matrices, vectors);
    if let (Some(heads), Some(keys)) =
        (fields.count("linear_num_value_heads")?, fields.count("linear_num_key_heads")?)
    {
        let (key, value) = (fields.need("linear_key_head_dim")?, fields.need("linear_value_head_dim")?);
        let (key_width, value_width) = (times(keys, key), times(heads, value));
        state = times(times(heads, key), value);
        convolved = times(2, key_width).saturating_add(value_width);
        each = 7;
        let mixed = convolved.saturating_add(value_width);
        matrices = vec![(mixed, hidden), (times(2, heads), hidden), (hidden, value_width)];
        vectors = times(2, heads).saturating_add(value);
    } else if let (Some(heads), Some(width), Some(numbers)) = (
        size(&["mamba_n_heads", "mamba_num_heads", "num_heads"])?,
        size(&["mamba_d_head", "mamba_head_dim", "head_dim"])?,
        size(&["mamba_d_state", "ssm_state_size", "state_size"])?,
    ) {
        let groups = size(&["mamba_n_groups", "n_groups"])?.unwrap_or(1);
        let inner = times(heads, width);
        state = times(inner, numbers);
        convolved = inner.saturating_add(times(times(2, groups), numbers));
        each = 5;
        let mixed = convolved.saturating_add(inner).saturating_add(heads);
        matrices = vec![(mixed, hidden), (hidden, inner)];
        vectors = times(3, heads).saturating_add(inner).saturating_add(convolved);
    } else if let Some(length) = size(&["conv_L_cache"])? {
        let width = hidden;
        let elements = times(width, length.saturating_sub(1));
        return Ok(Some(Recurrence {
            matrices: vec![(times(3, width), width), (width, length), (width, width)],
            vectors: 0,
            state: State { elements, flops: 0 },
        }));
    } else if let Some(numbers) = size(&["mamba_d_state", "state_size"])? {
        let inner = match fields.any(&["mamba_expand", "expand"])? {
            Some(expand) => times(expand, hidden),
            None => fields.any(INNER)?.unwrap_or(times(2, hidden)),
        };
        // The rank may be "auto" instead of a number.
        let rank = ["mamba_dt_rank", "time_step_rank"].iter().find_map(|name| fields.get(name)?.as_u64());
        let rank = rank.unwrap_or(hidden.div_ceil(16));
        state = times(inner, numbers);
        convolved = inner;
        each = 6;
        let mixed = rank.saturating_add(times(2, numbers));
        matrices = vec![(times(2, inner), hidden), (mixed, inner), (inner, rank), (hidden, inner)];
        vectors = times(3, inner).saturating_add(state);
    } else {
        return Ok(None);
    }
    let mut matrices: Vec<(u64, u64)> = matrices;
    matrices.insert(1, (convolved, kernel));
    let elements = state.saturating_add(times(kernel.saturating_sub(1), convolved));
    Ok(Some(Recurrence { matrices, vectors, state: State { elements, flops: times(state, each) } }))
}

/// Returns the feed-forward width from the fields that most families share.
fn generic_width(fields: &Fields, hidden: u64, index: u64) -> Result<Width, FormatError> {
    let inner = fields.any(INNER)?.unwrap_or(hidden.saturating_mul(4));
    // In Llama 4, `intermediate_size` is the width of an expert.
    let dense = Width::Dense(fields.count("intermediate_size_mlp")?.unwrap_or(inner));
    let Some(count) = fields.any(EXPERTS)?.filter(|count| *count > 1) else { return Ok(dense) };
    let step = fields.any(&[
        "interleave_moe_layer_step",
        "decoder_sparse_step",
        "moe_layer_freq",
        "expert_layer_period",
    ])?;
    let step = step.unwrap_or(1);
    let leading = fields.count("first_k_dense_replace")?.unwrap_or(0);
    // By default, the last layer of each period has experts.
    let offset = fields.count("expert_layer_offset")?.unwrap_or(step.saturating_sub(1));
    if index < leading || step == 0 || index % step != offset % step {
        return Ok(dense);
    }
    let length = fields.any(&["moe_intermediate_size", "expert_intermediate_size"])?.unwrap_or(inner);
    let shared = match fields.any(&["shared_expert_intermediate_size", "shared_intermediate_size"])? {
        Some(length) => length,
        None => {
            let shared = fields.any(&["n_shared_experts", "num_shared_experts"])?;
            let shared = shared.unwrap_or(u64::from(fields.count("intermediate_size_mlp")?.is_some()));
            shared.saturating_mul(length)
        }
    };
    Ok(Width::Experts(Experts {
        count,
        used: fields.any(EXPERTS_USED)?.ok_or_else(|| fields.missing(EXPERTS_USED[0]))?,
        length,
        shared_length: shared,
        shared_gate: false,
        router_bias: false,
    }))
}

/// Token mixing of a layer. The `Only` variants lack the feed-forward block or everything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LayerKind {
    FullAttention,
    SlidingWindow(u64),
    Recurrent,
    /// Attention and recurrence in one layer.
    Parallel,
    OnlyFeedForward,
    OnlyRecurrent,
    OnlyAttention,
}

fn layer_kinds(fields: &Fields, layers: usize, only_recurrent: bool) -> Result<Vec<LayerKind>, FormatError> {
    use LayerKind::{
        FullAttention, OnlyAttention, OnlyFeedForward, OnlyRecurrent, Parallel, Recurrent, SlidingWindow,
    };
    if only_recurrent {
        return Ok(vec![OnlyRecurrent; layers]);
    }
    let off = fields.flag("use_sliding_window")? == Some(false);
    let window = fields.any(&["sliding_window", "sliding_window_size"])?.filter(|window| *window > 0 && !off);
    let windowed = window.map_or(FullAttention, SlidingWindow);
    let all = 0..layers as u64;
    const HYBRID: &str = "hybrid_override_pattern";
    if let Some(pattern) = fields.text(HYBRID)? {
        check_count(pattern.chars().count(), layers, HYBRID)?;
        let kinds =
            [('M', OnlyRecurrent), ('*', OnlyAttention), ('-', OnlyFeedForward), ('E', OnlyFeedForward)];
        return kinds_from_letters(HYBRID, pattern.chars(), &kinds);
    }
    // Attention layers are periodic or listed; the other layers are recurrent.
    let period = fields.count("attn_layer_period")?.filter(|period| *period > 0);
    let listed = fields.numbers("attn_layer_indices")?;
    if period.is_some() || !listed.is_empty() {
        let offset = fields.count("attn_layer_offset")?.unwrap_or(0);
        let attends = |index: u64| match period {
            Some(period) => index % period == offset % period,
            None => listed.contains(&index),
        };
        return Ok(all.map(|index| if attends(index) { FullAttention } else { Recurrent }).collect());
    }
    if let Some(types) = fields.get("layer_types").or(fields.get("layers_block_type")) {
        return kinds_from_types(fields, types, layers, windowed);
    }
    const SLIDING: &str = "sliding_window_pattern";
    if let Some(Value::String(pattern)) = fields.get(SLIDING) {
        return kinds_from_letters(
            SLIDING,
            pattern.chars().cycle().take(layers),
            &[('L', windowed), ('G', FullAttention)],
        );
    }
    if fields.get("global_attn_every_n_layers").is_some() {
        let period = fields.need("global_attn_every_n_layers")?.max(1);
        let local = fields.count("local_attention")?.map_or(FullAttention, SlidingWindow);
        return Ok(all.map(|index| if index % period == 0 { FullAttention } else { local }).collect());
    }
    if fields.text("model_type")? == Some("falcon_h1") {
        return Ok(vec![Parallel; layers]);
    }
    let period = fields.any(&[SLIDING, "full_attention_interval"])?;
    let others = if fields.get("full_attention_interval").is_some() { Recurrent } else { windowed };
    let attends = |index: u64, period: u64| period > 0 && (index + 1).is_multiple_of(period);
    Ok(all
        .map(|index| match period {
            Some(period) if attends(index, period) => FullAttention,
            Some(_) => others,
            None => windowed,
        })
        .collect())
}

fn check_count(found: usize, layers: usize, name: &str) -> Result<(), FormatError> {
    match found == layers {
        true => Ok(()),
        false => {
            Err(FormatError::field(name, format!("expected an element per layer ({layers}), found {found}")))
        }
    }
}

fn kinds_from_letters(
    name: &str,
    pattern: impl Iterator<Item = char>,
    kinds: &[(char, LayerKind)],
) -> Result<Vec<LayerKind>, FormatError> {
    let kind = |letter: char| {
        let found = kinds.iter().find(|(known, _)| *known == letter).map(|(_, kind)| *kind);
        found.ok_or_else(|| FormatError::field(name, format!("unknown layer kind `{letter}`")))
    };
    pattern.map(kind).collect()
}

fn kinds_from_types(
    fields: &Fields,
    types: &Value,
    layers: usize,
    windowed: LayerKind,
) -> Result<Vec<LayerKind>, FormatError> {
    const TYPES: &str = "layer_types";
    let Value::Array(types) = types else { return Err(FormatError::field(TYPES, "expected an array")) };
    check_count(types.len(), layers, TYPES)?;
    let kind = |kind: &Value| match kind.as_str() {
        Some("full_attention" | "attention") => Ok(LayerKind::FullAttention),
        Some("sliding_attention") => Ok(windowed),
        Some("chunked_attention") => {
            let size = fields.count("attention_chunk_size")?;
            Ok(size.map_or(LayerKind::FullAttention, LayerKind::SlidingWindow))
        }
        Some("linear_attention" | "mamba" | "conv" | "recurrent") => Ok(LayerKind::Recurrent),
        Some("hybrid") => Ok(LayerKind::Parallel),
        _ => Err(FormatError::field(TYPES, format!("unknown layer kind {}", describe(kind)))),
    };
    types.iter().map(kind).collect()
}

/// Returns the field of a dimension, for error messages.
fn field_of<'a>(name: &'a str, model_type: &str) -> &'a str {
    let gpt2 = model_type == "gpt2";
    match name {
        "layers" if gpt2 => "n_layer",
        "hidden" if gpt2 => "n_embd",
        "heads" if gpt2 => "n_head",
        "positions" | "context_length" if gpt2 => "n_positions",
        "feed_forward" if gpt2 => "n_inner",
        "layers" => "num_hidden_layers",
        "hidden" => "hidden_size",
        "vocab" => "vocab_size",
        "heads" => "num_attention_heads",
        "kv_heads" => "num_key_value_heads",
        "key_length" | "value_length" => "head_dim",
        "window" => "sliding_window",
        "latent_rank" => "kv_lora_rank",
        "query_rank" => "q_lora_rank",
        "rope_length" => "qk_rope_head_dim",
        "feed_forward" => "intermediate_size",
        "experts" => match model_type {
            "mixtral" => "num_local_experts",
            _ if DEEPSEEK.contains(&model_type) => "n_routed_experts",
            _ => "num_experts",
        },
        "experts_used" => "num_experts_per_tok",
        "expert_length" if model_type == "mixtral" => "intermediate_size",
        "expert_length" => "moe_intermediate_size",
        "shared_length" => "shared_expert_intermediate_size",
        "positions" | "context_length" => "max_position_embeddings",
        "token_types" => "type_vocab_size",
        "state" => "state_size",
        other => other,
    }
}

fn gpt2(fields: &Fields) -> Result<ModelDims, FormatError> {
    let hidden = fields.need("n_embd")?;
    let heads = fields.need("n_head")?;
    let positions = fields.need("n_positions")?;
    let head_length = divide(hidden, heads, "n_head", "n_embd")?;
    let inner = fields.count("n_inner")?.unwrap_or(hidden.saturating_mul(4));
    Ok(ModelDims {
        architecture: "gpt2".to_owned(),
        hidden,
        vocab: fields.need("vocab_size")?,
        context_length: Some(positions),
        positions,
        token_types: 0,
        embedding_norm: false,
        output_norm: true,
        norm_bias: true,
        head: if fields.flag("tie_word_embeddings")?.unwrap_or(true) { Head::Tied } else { Head::Own },
        layers: early_layers(fields.layers("n_layer")?, heads, head_length, inner, true),
    })
}

fn encoder(fields: &Fields, model_type: &str) -> Result<ModelDims, FormatError> {
    let hidden = fields.need("hidden_size")?;
    let heads = fields.need("num_attention_heads")?;
    let positions = fields.need("max_position_embeddings")?;
    let head_length = divide(hidden, heads, "num_attention_heads", "hidden_size")?;
    let inner = fields.need("intermediate_size")?;
    Ok(ModelDims {
        architecture: model_type.to_owned(),
        hidden,
        vocab: fields.need("vocab_size")?,
        context_length: Some(positions),
        positions,
        token_types: fields.count("type_vocab_size")?.unwrap_or(2),
        embedding_norm: true,
        output_norm: false,
        norm_bias: true,
        head: Head::Pooler,
        layers: early_layers(fields.layers("num_hidden_layers")?, heads, head_length, inner, false),
    })
}

/// Creates the layers of early transformers: multi-head attention, no gate, biases in all projections.
fn early_layers(layers: usize, heads: u64, head_length: u64, inner: u64, causal: bool) -> Vec<Layer> {
    let attention = Attention::new(heads, head_length, head_length);
    let attention = Attention { causal, bias: true, output_bias: true, ..attention };
    let feed_forward = FeedForward { gated: false, bias: true, width: Width::Dense(inner) };
    vec![Layer { norms: 2, attention: Some(attention), recurrence: None, feed_forward }; layers]
}

fn decoder(fields: &Fields, model_type: &str) -> Result<ModelDims, FormatError> {
    let gemma3 = matches!(model_type, "gemma3" | "gemma3_text");
    let gemma = gemma3 || matches!(model_type, "gemma" | "gemma2");
    let deepseek = DEEPSEEK.contains(&model_type);
    let hidden = fields.need("hidden_size")?;
    let layers = fields.layers("num_hidden_layers")?;
    // Published Gemma 3 configurations rely on the defaults of the reference code.
    let heads = fields.need_or("num_attention_heads", gemma3.then_some(8))?;
    let kv_heads = match model_type {
        "llama" | "phi3" => Some(heads),
        _ if deepseek => Some(heads),
        _ => gemma3.then_some(4),
    };
    let kv_heads = fields.need_or("num_key_value_heads", kv_heads)?;
    let bias = fields.flag("attention_bias")?.unwrap_or(false);

    let latent = if deepseek { latent(fields)? } else { None };
    let (key_length, value_length) = if latent.is_some() {
        let nope = fields.need("qk_nope_head_dim")?;
        (nope.saturating_add(fields.need("qk_rope_head_dim")?), fields.need("v_head_dim")?)
    } else {
        let length = match fields.count("head_dim")?.or(gemma.then_some(256)) {
            Some(length) => length,
            None => divide(hidden, heads, "num_attention_heads", "hidden_size")?,
        };
        (length, length)
    };
    let windows = windows(fields, model_type, layers)?;
    let dense: HashSet<u64> = fields.numbers("mlp_only_layers")?.into_iter().collect();
    let layer = |index: usize| {
        Ok(Layer {
            norms: if gemma3 || model_type == "gemma2" { 4 } else { 2 },
            attention: Some(Attention {
                kv_heads: if latent.is_some() { 1 } else { kv_heads },
                window: windows.get(index).copied().flatten(),
                latent,
                bias: bias || matches!(model_type, "qwen2" | "qwen2_moe"),
                output_bias: bias,
                head_norm: gemma3 || matches!(model_type, "qwen3" | "qwen3_moe"),
                ..Attention::new(heads, key_length, value_length)
            }),
            recurrence: None,
            feed_forward: FeedForward {
                gated: true,
                bias: fields.flag("mlp_bias")?.unwrap_or(false),
                width: width(fields, model_type, index as u64, &dense)?,
            },
        })
    };
    Ok(ModelDims {
        architecture: model_type.to_owned(),
        hidden,
        vocab: fields.need_or("vocab_size", gemma3.then_some(262_208))?,
        context_length: fields.count("max_position_embeddings")?.or(gemma3.then_some(131_072)),
        positions: 0,
        token_types: 0,
        embedding_norm: false,
        output_norm: true,
        norm_bias: false,
        head: if fields.flag("tie_word_embeddings")?.unwrap_or(gemma) { Head::Tied } else { Head::Own },
        layers: (0..layers).map(layer).collect::<Result<_, FormatError>>()?,
    })
}

fn latent(fields: &Fields) -> Result<Option<Latent>, FormatError> {
    let Some(rank) = fields.count("kv_lora_rank")? else { return Ok(None) };
    Ok(Some(Latent {
        query_rank: fields.count("q_lora_rank")?,
        rank,
        rope_length: fields.need("qk_rope_head_dim")?,
    }))
}

fn width(
    fields: &Fields,
    model_type: &str,
    index: u64,
    always_dense: &HashSet<u64>,
) -> Result<Width, FormatError> {
    let dense = || Ok(Width::Dense(fields.need("intermediate_size")?));
    let experts = match model_type {
        "mixtral" => Experts {
            count: fields.need("num_local_experts")?,
            used: fields.need("num_experts_per_tok")?,
            length: fields.need("intermediate_size")?,
            shared_length: 0,
            shared_gate: false,
            router_bias: false,
        },
        "qwen2_moe" | "qwen3_moe" => {
            let step = fields.count("decoder_sparse_step")?.unwrap_or(1);
            if step == 0 {
                return Err(FormatError::field("decoder_sparse_step", "expected at least 1, found 0"));
            }
            if !(index + 1).is_multiple_of(step) || always_dense.contains(&index) {
                return dense();
            }
            let shared_length = match model_type {
                "qwen2_moe" => fields.need("shared_expert_intermediate_size")?,
                _ => 0,
            };
            Experts {
                count: fields.need("num_experts")?,
                used: fields.need("num_experts_per_tok")?,
                length: fields.need("moe_intermediate_size")?,
                shared_length,
                shared_gate: shared_length > 0,
                router_bias: false,
            }
        }
        _ if DEEPSEEK.contains(&model_type) => {
            let Some(count) = fields.count("n_routed_experts")? else { return dense() };
            let frequency = fields.count("moe_layer_freq")?.unwrap_or(1);
            if frequency == 0 {
                return Err(FormatError::field("moe_layer_freq", "expected at least 1, found 0"));
            }
            let leading = fields.count("first_k_dense_replace")?.unwrap_or(0);
            if index < leading || !index.is_multiple_of(frequency) {
                return dense();
            }
            let length = fields.need("moe_intermediate_size")?;
            Experts {
                count,
                used: fields.need("num_experts_per_tok")?,
                length,
                shared_length: fields.count("n_shared_experts")?.unwrap_or(0).saturating_mul(length),
                shared_gate: false,
                router_bias: fields.text("topk_method")? == Some("noaux_tc"),
            }
        }
        _ => return dense(),
    };
    Ok(Width::Experts(experts))
}

/// Returns the sliding window of each layer, from `layer_types` or, in older files, from a pattern or a
/// rule of the family.
fn windows(fields: &Fields, model_type: &str, layers: usize) -> Result<Vec<Option<u64>>, FormatError> {
    let gemma3 = matches!(model_type, "gemma3" | "gemma3_text");
    let default = match model_type {
        "gemma2" => Some(4096),
        _ => gemma3.then_some(4096),
    };
    let window = fields.count("sliding_window")?.or(default).filter(|window| *window > 0);
    // Qwen declares windows that are off by default.
    let off = model_type.starts_with("qwen") && !fields.flag("use_sliding_window")?.unwrap_or(false);
    let Some(window) = window.filter(|_| !off) else { return Ok(vec![None; layers]) };

    let slides: Vec<bool> = match fields.map.get("layer_types") {
        Some(Value::Array(types)) if types.len() == layers => types
            .iter()
            .map(|kind| match kind.as_str() {
                Some("sliding_attention") => Ok(true),
                Some("full_attention") => Ok(false),
                _ => {
                    let message =
                        format!("expected \"sliding_attention\" or \"full_attention\", found {kind}");
                    Err(FormatError::field("layer_types", message))
                }
            })
            .collect::<Result<_, _>>()?,
        Some(Value::Array(types)) => {
            let message = format!("expected an element per layer ({layers}), found {}", types.len());
            return Err(FormatError::field("layer_types", message));
        }
        Some(Value::Null) | None => {
            let pattern = fields.count("sliding_window_pattern")?.or(match model_type {
                "gemma2" => Some(2),
                _ => gemma3.then_some(6),
            });
            let full_below = match model_type {
                "qwen2" | "qwen2_moe" | "qwen3" | "qwen3_moe" => {
                    fields.count("max_window_layers")?.unwrap_or(0)
                }
                _ => 0,
            };
            (0..layers as u64)
                .map(|index| match pattern {
                    Some(pattern) => !(index + 1).is_multiple_of(pattern),
                    None => index >= full_below,
                })
                .collect()
        }
        Some(_) => return Err(FormatError::field("layer_types", "expected an array")),
    };
    Ok(slides.into_iter().map(|slides| slides.then_some(window)).collect())
}

fn divide(hidden: u64, heads: u64, heads_field: &str, hidden_field: &str) -> Result<u64, FormatError> {
    if heads > 0 && hidden.is_multiple_of(heads) {
        Ok(hidden / heads)
    } else {
        let message = format!("expected a divisor of {hidden_field} {hidden}, found {heads}");
        Err(FormatError::field(heads_field, message))
    }
}

/// Fields of a JSON object.
struct Fields<'a> {
    map: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    /// Looks up a field, also in the nested objects for attention and feed-forward blocks.
    fn get(&self, name: &str) -> Option<&'a Value> {
        let inner = |object: &&str| self.map.get(*object)?.as_object()?.get(name);
        let found = self.map.get(name).or_else(|| ["attn_config", "ffn_config"].iter().find_map(inner));
        found.filter(|value| !value.is_null())
    }

    fn missing(&self, name: &str) -> FormatError {
        FormatError::field(name, "missing")
    }

    fn count(&self, name: &str) -> Result<Option<u64>, FormatError> {
        self.get(name).map(|value| number(name, value)).transpose()
    }

    /// Returns the number of the first field that is present.
    fn any(&self, names: &[&str]) -> Result<Option<u64>, FormatError> {
        names.iter().find_map(|name| self.count(name).transpose()).transpose()
    }

    fn need(&self, name: &str) -> Result<u64, FormatError> {
        self.count(name)?.ok_or_else(|| self.missing(name))
    }

    fn need_or(&self, name: &str, default: Option<u64>) -> Result<u64, FormatError> {
        self.count(name)?.or(default).ok_or_else(|| self.missing(name))
    }

    /// Returns a number of layers, at most [`MAX_LAYERS`].
    fn layers(&self, name: &str) -> Result<usize, FormatError> {
        match self.need(name)? {
            layers @ 1..=MAX_LAYERS => Ok(layers as usize),
            layers => Err(FormatError::field(
                name,
                format!("out of range: expected 1 to {MAX_LAYERS}, found {layers}"),
            )),
        }
    }

    fn numbers(&self, name: &str) -> Result<Vec<u64>, FormatError> {
        match self.get(name) {
            None => Ok(Vec::new()),
            Some(Value::Array(values)) => values.iter().map(|value| number(name, value)).collect(),
            Some(_) => Err(FormatError::field(name, "expected an array of integers")),
        }
    }

    fn flag(&self, name: &str) -> Result<Option<bool>, FormatError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(other) => {
                Err(FormatError::field(name, format!("expected a boolean, found {}", describe(other))))
            }
        }
    }

    fn text(&self, name: &str) -> Result<Option<&'a str>, FormatError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => {
                Err(FormatError::field(name, format!("expected a string, found {}", describe(other))))
            }
        }
    }
}

fn number(name: &str, value: &Value) -> Result<u64, FormatError> {
    value.as_u64().ok_or_else(|| {
        FormatError::field(name, format!("expected a non-negative integer, found {}", describe(value)))
    })
}

fn describe(value: &Value) -> String {
    match value {
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}
