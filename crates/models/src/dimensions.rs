//! Dimensions of a transformer, from a model file, a `config.json` or the table of known models. They
//! determine the operations and the number of parameters.

use super::error::FormatError;
use super::operation::{Operation, State, Work};
use super::tensor_names::Role;

/// Maximum number of layers; headers with more are rejected.
pub const MAX_LAYERS: u64 = 4096;

/// Maximum number of parameters; sums up to this limit are exact in `f64`.
const MAX_PARAMETERS: u128 = 1 << 53;

/// Dimensions of a transformer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelDims {
    /// Name of the architecture in the source: `llama`, `qwen3moe`.
    pub architecture: String,
    /// Hidden size.
    pub hidden: u64,
    /// Vocabulary size.
    pub vocab: u64,
    /// Maximum context length in tokens.
    pub context_length: Option<u64>,
    /// Rows of the learned position embedding; 0 if positions are computed.
    pub positions: u64,
    /// Rows of the token type embedding; 0 for none.
    pub token_types: u64,
    /// True if the embedding is normalized before the first layer.
    pub embedding_norm: bool,
    /// True if the output of the last layer is normalized.
    pub output_norm: bool,
    /// True if normalizations have a bias in addition to their weight.
    pub norm_bias: bool,
    /// Output head.
    pub head: Head,
    /// Layers in order of execution.
    pub layers: Vec<Layer>,
}

/// Output head of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// Separate matrix.
    Own,
    /// Tied to the embedding table.
    Tied,
    /// Dense layer over the first token, executed once per sequence.
    Pooler,
    /// No head: the result is the hidden state.
    None,
}

/// Layer of a transformer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Number of normalizations of the hidden state.
    pub norms: u64,
    /// Attention; `None` for a purely recurrent or feed-forward layer.
    pub attention: Option<Attention>,
    /// Recurrent block; `None` for a layer without state.
    pub recurrence: Option<Recurrence>,
    /// Feed-forward block.
    pub feed_forward: FeedForward,
}

/// Recurrent block of a layer, such as Mamba or linear attention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recurrence {
    /// Rows and columns of the matrices, in order of execution.
    pub matrices: Vec<(u64, u64)>,
    /// Number of elementwise parameters.
    pub vectors: u64,
    /// Recurrent state.
    pub state: State,
}

/// Attention of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attention {
    /// Number of query heads.
    pub heads: u64,
    /// Number of KV heads.
    pub kv_heads: u64,
    /// Size of a key or query per head.
    pub key_length: u64,
    /// Size of a value per head.
    pub value_length: u64,
    /// Sliding window in tokens; `None` for the whole context.
    pub window: Option<u64>,
    /// Number of tokens attended to regardless of the context, such as image patches; `None` for the context.
    pub sees: Option<u64>,
    /// True if the attention is causal.
    pub causal: bool,
    /// Multi-head latent attention: one cached latent vector per token.
    pub latent: Option<Latent>,
    /// True if the query, key and value projections have a bias.
    pub bias: bool,
    /// True if the output projection has a bias.
    pub output_bias: bool,
    /// True if queries and keys are normalized per head.
    pub head_norm: bool,
}

/// Multi-head latent attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latent {
    /// Rank of the compressed query; `None` if queries are projected directly.
    pub query_rank: Option<u64>,
    /// Rank of the cached latent vector.
    pub rank: u64,
    /// Size of the rotary part of a key, which all heads share; included in `key_length`.
    pub rope_length: u64,
}

/// Feed-forward block of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedForward {
    /// True if the up projection is multiplied by a gate.
    pub gated: bool,
    /// True if the projections have a bias.
    pub bias: bool,
    /// Inner size, dense or per expert.
    pub width: Width,
}

/// Inner size of a feed-forward block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Dense block of this inner size; 0 for none.
    Dense(u64),
    /// Mixture of experts.
    Experts(Experts),
}

/// Mixture of experts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Experts {
    /// Number of experts.
    pub count: u64,
    /// Number of experts per token.
    pub used: u64,
    /// Inner size of one expert.
    pub length: u64,
    /// Inner size of all shared experts together; 0 for none.
    pub shared_length: u64,
    /// True if a gate weights the output of the shared experts.
    pub shared_gate: bool,
    /// True if the router has a bias per expert.
    pub router_bias: bool,
}

impl ModelDims {
    /// Returns the number of parameters.
    pub fn parameters(&self) -> u64 {
        // `check` limits the sum, but may not have been called.
        u64::try_from(self.exact_parameters()).unwrap_or(u64::MAX)
    }

    /// Returns true for decoders: there is an output head, and all attention is causal.
    pub fn generates_tokens(&self) -> bool {
        let causal = |layer: &Layer| layer.attention.is_none_or(|attention| attention.causal);
        matches!(self.head, Head::Own | Head::Tied) && self.layers.iter().all(causal)
    }

    fn exact_parameters(&self) -> u128 {
        self.operations().iter().map(|operation| u128::from(operation.parameters)).sum()
    }

    /// Checks that every dimension is in range and consistent with the others.
    ///
    /// `field` maps the name of a dimension to its name in the source, for error messages.
    ///
    /// # Errors
    ///
    /// Fails at the first dimension that is out of range or inconsistent.
    pub fn check(&self, field: impl Fn(&str) -> String) -> Result<(), FormatError> {
        let range = |name: &str, value: u64, max: u64| {
            if (1..=max).contains(&value) {
                Ok(())
            } else {
                Err(FormatError::field(
                    field(name),
                    format!("out of range: expected 1 to {max}, found {value}"),
                ))
            }
        };
        range("layers", self.layers.len() as u64, MAX_LAYERS)?;
        range("hidden", self.hidden, MAX_WIDTH)?;
        range("vocab", self.vocab, 1 << 31)?;
        range("context_length", self.context_length.unwrap_or(1), 1 << 40)?;
        range("positions", self.positions.max(1), 1 << 31)?;
        range("token_types", self.token_types.max(1), 1 << 31)?;
        for (index, layer) in self.layers.iter().enumerate() {
            layer.check(&range, &field).map_err(|fault| fault.context(format_args!("layer {index}")))?;
        }
        if self.exact_parameters() > MAX_PARAMETERS {
            return Err(FormatError::file("invalid dimensions: more than 2^53 parameters"));
        }
        Ok(())
    }

    /// Lists the operations for one token, in order of execution and without tensors.
    pub fn operations(&self) -> Vec<Operation> {
        let mut out = vec![Operation::lookup(Role::Embedding, self.vocab, self.hidden)];
        if self.positions > 0 {
            out.push(Operation::lookup(Role::PositionEmbedding, self.positions, self.hidden));
        }
        if self.token_types > 0 {
            out.push(Operation::lookup(Role::TypeEmbedding, self.token_types, self.hidden));
        }
        let norm =
            |count: u64| count.saturating_mul(self.hidden).saturating_mul(1 + u64::from(self.norm_bias));
        let outside = u64::from(self.embedding_norm) + u64::from(self.output_norm);
        for (index, layer) in self.layers.iter().enumerate() {
            let start = out.len();
            out.push(Operation::vector(norm(layer.norms) + layer.attention.map_or(0, |a| a.norm_elements())));
            if let Some(attention) = layer.attention {
                attention.operations(self.hidden, &mut out);
            }
            if let Some(recurrence) = &layer.recurrence {
                recurrence.operations(&mut out);
            }
            layer.feed_forward.operations(self.hidden, &mut out);
            for operation in &mut out[start..] {
                operation.layer = Some(index as u64);
            }
        }
        if outside > 0 {
            out.push(Operation::vector(norm(outside)));
        }
        match self.head {
            Head::Own => out.push(Operation::product(Role::Head, self.vocab, self.hidden, false)),
            Head::Tied => out.push(Operation {
                parameters: 0,
                ..Operation::product(Role::Head, self.vocab, self.hidden, false)
            }),
            Head::Pooler => out.push(Operation::product(Role::Pooler, self.hidden, self.hidden, true)),
            Head::None => {}
        }
        out
    }
}

/// Maximum rows or columns of a matrix.
const MAX_WIDTH: u64 = 1 << 24;

/// Maximum number of heads or experts.
const MAX_COUNT: u64 = 1 << 16;

impl Layer {
    fn check(
        &self,
        range: &dyn Fn(&str, u64, u64) -> Result<(), FormatError>,
        field: &dyn Fn(&str) -> String,
    ) -> Result<(), FormatError> {
        if let Some(attention) = self.attention {
            let Attention { heads, kv_heads, key_length, value_length, window, latent, .. } = attention;
            range("heads", heads, MAX_COUNT)?;
            range("kv_heads", kv_heads, MAX_COUNT)?;
            range("key_length", key_length, MAX_COUNT)?;
            range("value_length", value_length, MAX_COUNT)?;
            if latent.is_none() && !heads.is_multiple_of(kv_heads) {
                let message =
                    format!("expected a divisor of the number of heads {heads}, found {kv_heads} KV heads");
                return Err(FormatError::field(field("kv_heads"), message));
            }
            range("window", window.unwrap_or(1), 1 << 40)?;
            if let Some(latent) = latent {
                range("latent_rank", latent.rank, MAX_WIDTH)?;
                range("query_rank", latent.query_rank.unwrap_or(1), MAX_WIDTH)?;
                if latent.rope_length > key_length {
                    let message = format!("{} exceeds the key length {key_length}", latent.rope_length);
                    return Err(FormatError::field(field("rope_length"), message));
                }
            }
        }
        if let Some(Recurrence { matrices, vectors, state }) = &self.recurrence {
            for (rows, cols) in matrices {
                range("state", (*rows).max(*cols), MAX_WIDTH)?;
            }
            range("state", (*vectors).max(1), 1 << 40)?;
            range("state", state.elements.max(1), 1 << 40)?;
            range("state", state.flops.max(1), 1 << 44)?;
        }
        match self.feed_forward.width {
            Width::Dense(length) => range("feed_forward", length.max(1), MAX_WIDTH),
            Width::Experts(experts) => {
                range("experts", experts.count, MAX_COUNT)?;
                range("experts_used", experts.used, experts.count)?;
                range("expert_length", experts.length, MAX_WIDTH)?;
                range("shared_length", experts.shared_length.max(1), MAX_WIDTH)
            }
        }
    }
}

impl Attention {
    /// Creates causal multi-head attention without biases, norms, window or shared KV heads.
    pub(super) fn new(heads: u64, key_length: u64, value_length: u64) -> Attention {
        Attention {
            heads,
            kv_heads: heads,
            key_length,
            value_length,
            window: None,
            sees: None,
            causal: true,
            latent: None,
            bias: false,
            output_bias: false,
            head_norm: false,
        }
    }

    fn norm_elements(&self) -> u64 {
        let heads = if self.head_norm { 2 * self.key_length } else { 0 };
        heads + self.latent.map_or(0, |latent| latent.rank + latent.query_rank.unwrap_or(0))
    }

    fn operations(&self, hidden: u64, out: &mut Vec<Operation>) {
        let keys = self.heads * self.key_length;
        let values = self.heads * self.value_length;
        match self.latent {
            None => {
                out.push(Operation::product(Role::Query, keys, hidden, self.bias));
                out.push(Operation::product(Role::Key, self.kv_heads * self.key_length, hidden, self.bias));
                out.push(Operation::product(
                    Role::Value,
                    self.kv_heads * self.value_length,
                    hidden,
                    self.bias,
                ));
            }
            Some(latent) => {
                match latent.query_rank {
                    None => out.push(Operation::product(Role::Query, keys, hidden, self.bias)),
                    Some(rank) => {
                        out.push(Operation::product(Role::QueryDown, rank, hidden, self.bias));
                        out.push(Operation::product(Role::QueryUp, keys, rank, false));
                    }
                }
                let down = latent.rank + latent.rope_length;
                out.push(Operation::product(Role::KeyValueDown, down, hidden, self.bias));
                let up = keys.saturating_sub(self.heads * latent.rope_length) + values;
                out.push(Operation::product(Role::KeyValueUp, up, latent.rank, false));
            }
        }
        out.push(Operation::attention(*self));
        out.push(Operation::product(Role::AttentionOutput, hidden, values, self.output_bias));
    }
}

impl Recurrence {
    fn operations(&self, out: &mut Vec<Operation>) {
        for (rows, cols) in &self.matrices {
            out.push(Operation::product(Role::Recurrence, *rows, *cols, false));
        }
        out.push(Operation::vector(self.vectors));
        out.push(Operation::without_parameters(Role::State, Work::State(self.state)));
    }
}

impl FeedForward {
    fn operations(&self, hidden: u64, out: &mut Vec<Operation>) {
        let mut dense = |gate, up, down, length, bias| {
            if self.gated {
                out.push(Operation::product(gate, length, hidden, bias));
            }
            out.push(Operation::product(up, length, hidden, bias));
            out.push(Operation::product(down, hidden, length, bias));
        };
        match self.width {
            Width::Dense(0) => {}
            Width::Dense(length) => dense(Role::Gate, Role::Up, Role::Down, length, self.bias),
            Width::Experts(experts) => {
                if experts.shared_length > 0 {
                    let length = experts.shared_length;
                    dense(Role::SharedGate, Role::SharedUp, Role::SharedDown, length, false);
                    if experts.shared_gate {
                        out.push(Operation::product(Role::SharedRouter, 1, hidden, false));
                    }
                }
                out.push(Operation::product(Role::Router, experts.count, hidden, experts.router_bias));
                if self.gated {
                    out.push(Operation::experts(Role::ExpertGate, experts, experts.length, hidden));
                }
                out.push(Operation::experts(Role::ExpertUp, experts, experts.length, hidden));
                out.push(Operation::experts(Role::ExpertDown, experts, hidden, experts.length));
            }
        }
    }
}
