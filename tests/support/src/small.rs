//! A minimal language model, for tests that compute its costs by hand.

use roofline_models::Dtype::{self, F32, Q8_0};

use crate::writer::{Gguf, Value};

/// Keys of a model with width 64, 4 heads, 2 KV heads and feed-forward width 96.
pub fn keys(layers: u32) -> Vec<(&'static str, Value)> {
    vec![
        ("block_count", layers.into()),
        ("context_length", 128.into()),
        ("embedding_length", 64.into()),
        ("feed_forward_length", 96.into()),
        ("attention.head_count", 4.into()),
        ("attention.head_count_kv", 2.into()),
        ("vocab_size", 100.into()),
    ]
}

/// [`keys`], with replaced and additional keys.
pub fn with(layers: u32, more: &[(&'static str, Value)]) -> Vec<(&'static str, Value)> {
    let mut keys = keys(layers);
    keys.retain(|(key, _)| !more.iter().any(|(name, _)| name == key));
    keys.extend(more.iter().cloned());
    keys
}

impl Gguf {
    pub fn block(self, layer: u64, tensors: &[(&str, &[u64], Dtype)]) -> Gguf {
        tensors
            .iter()
            .fold(self, |gguf, (name, dims, dtype)| gguf.tensor(&format!("blk.{layer}.{name}"), dims, *dtype))
    }
}

pub const ATTENTION: &[(&str, &[u64], Dtype)] = &[
    ("attn_norm.weight", &[64], F32),
    ("attn_q.weight", &[64, 64], Q8_0),
    ("attn_k.weight", &[32, 64], Q8_0),
    ("attn_v.weight", &[32, 64], Q8_0),
    ("attn_output.weight", &[64, 64], Q8_0),
    ("ffn_norm.weight", &[64], F32),
];

pub const FEED_FORWARD: &[(&str, &[u64], Dtype)] = &[
    ("ffn_gate.weight", &[96, 64], Q8_0),
    ("ffn_up.weight", &[96, 64], Q8_0),
    ("ffn_down.weight", &[64, 96], Q8_0),
];

/// The model with matrices of this type.
pub fn llama(dtype: Dtype) -> Gguf {
    let block: Vec<_> = [ATTENTION, FEED_FORWARD]
        .concat()
        .into_iter()
        .map(|(name, dims, stored)| (name, dims, if stored == Q8_0 { dtype } else { stored }))
        .collect();
    Gguf::of("llama", &keys(1))
        .tensor("token_embd.weight", &[100, 64], dtype)
        .block(0, &block)
        .tensor("output_norm.weight", &[64], F32)
        .tensor("output.weight", &[100, 64], dtype)
}
