//! The dimensions of a transformer, whoever states them: a model file, a `config.json` or a table of
//! known models. From them come the list of operations and the number of parameters.

use super::fault::Fault;
use super::names::Role;
use super::operation::{Operation, State, Work};

/// More layers than any model has; a header that claims more is wrong.
pub const MOST_LAYERS: u64 = 4096;

/// More parameters than this are not a model, and up to here every sum is exact, also as a float.
const MOST_PARAMETERS: u128 = 1 << 53;

/// The dimensions of a transformer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hyper {
    /// The architecture's name as the source gives it: `llama`, `qwen3moe`.
    pub architecture: String,
    /// Width of the hidden state.
    pub hidden: u64,
    /// Rows of the embedding table.
    pub vocab: u64,
    /// The longest context the model was made for.
    pub context_length: Option<u64>,
    /// Rows of a learned table of positions; 0 when positions are computed.
    pub positions: u64,
    /// Rows of a learned table of segments; 0 when there is none.
    pub token_types: u64,
    /// Whether the embedding is normalized before the first layer.
    pub embedding_norm: bool,
    /// Whether a normalization stands between the last layer and the head.
    pub output_norm: bool,
    /// Whether normalizations have a bias beside their weight.
    pub norm_bias: bool,
    /// What turns the last hidden state into the result.
    pub head: Head,
    /// The layers, from the first to the last.
    pub layers: Vec<Layer>,
}

/// What turns the last hidden state into the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// A matrix of its own.
    Own,
    /// The embedding table, used a second time.
    Tied,
    /// A dense layer over the first token, once for a sequence.
    Pooler,
    /// Nothing: the hidden state is the result.
    None,
}

/// One layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Number of normalizations of the hidden state in this layer.
    pub norms: u64,
    /// None for a layer without attention.
    pub attention: Option<Attention>,
    /// None for a layer without a state.
    pub recurrence: Option<Recurrence>,
    /// The feed-forward block.
    pub feed_forward: FeedForward,
}

/// What a layer with a state does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recurrence {
    /// Rows and columns of its matrices, in the order a token meets them.
    pub matrices: Vec<(u64, u64)>,
    /// Numbers that are applied element by element.
    pub vectors: u64,
    /// The state.
    pub state: State,
}

/// One layer's attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attention {
    /// Query heads.
    pub heads: u64,
    /// Key and value heads.
    pub kv_heads: u64,
    /// Width of a key and of a query, per head.
    pub key_length: u64,
    /// Width of a value, per head.
    pub value_length: u64,
    /// A token sees at most this many tokens; none for the whole context.
    pub window: Option<u64>,
    /// Tokens that it sees whatever the context is, such as the patches of an image; none for the context.
    pub sees: Option<u64>,
    /// Whether a token sees only those before it.
    pub causal: bool,
    /// Keys and values are kept as one latent vector for a token.
    pub latent: Option<Latent>,
    /// Whether query, key and value projections have a bias.
    pub bias: bool,
    /// Whether the output projection has a bias.
    pub output_bias: bool,
    /// Whether each head's query and key are normalized.
    pub head_norm: bool,
}

/// Multi-head latent attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latent {
    /// Rank the query is brought down to first; none when it is projected directly.
    pub query_rank: Option<u64>,
    /// Rank of the cached latent.
    pub rank: u64,
    /// Width of the rotary part of a key, cached once for all heads; part of `key_length`.
    pub rope_length: u64,
}

/// One layer's feed-forward block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedForward {
    /// Whether a gate is multiplied with the up projection.
    pub gated: bool,
    /// Whether the projections have a bias.
    pub bias: bool,
    /// Dense or routed.
    pub width: Width,
}

/// How wide a feed-forward block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// One block of this inner width for every token; 0 for none.
    Dense(u64),
    /// A router chooses some of many.
    Experts(Experts),
}

/// A mixture of experts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Experts {
    /// Experts to choose from.
    pub count: u64,
    /// Experts a token uses.
    pub used: u64,
    /// Inner width of one expert.
    pub length: u64,
    /// Inner width of all shared experts together; 0 for none.
    pub shared_length: u64,
    /// Whether the shared experts are weighted by a gate of their own.
    pub shared_gate: bool,
    /// Whether the router has a bias for each expert.
    pub router_bias: bool,
}

impl Hyper {
    /// The number of parameters these dimensions make.
    pub fn parameters(&self) -> u64 {
        // `check` keeps the sum in range; a struct filled by hand may not have gone through it.
        u64::try_from(self.exact_parameters()).unwrap_or(u64::MAX)
    }

    /// Whether tokens are made one after the other: there is a head, and no token sees those after it.
    pub fn makes_tokens(&self) -> bool {
        let causal = |layer: &Layer| layer.attention.is_none_or(|attention| attention.causal);
        matches!(self.head, Head::Own | Head::Tied) && self.layers.iter().all(causal)
    }

    fn exact_parameters(&self) -> u128 {
        self.operations().iter().map(|operation| u128::from(operation.parameters)).sum()
    }

    /// Checks that every dimension is in range and fits the others. `field` says what the source calls
    /// it, for the message.
    pub fn check(&self, field: impl Fn(&str) -> String) -> Result<(), Fault> {
        let range = |name: &str, value: u64, most: u64| {
            if (1..=most).contains(&value) {
                Ok(())
            } else {
                Err(Fault::field(field(name), format!("must be between 1 and {most}, but is {value}")))
            }
        };
        range("layers", self.layers.len() as u64, MOST_LAYERS)?;
        range("hidden", self.hidden, WIDE)?;
        range("vocab", self.vocab, 1 << 31)?;
        range("context_length", self.context_length.unwrap_or(1), 1 << 40)?;
        range("positions", self.positions.max(1), 1 << 31)?;
        range("token_types", self.token_types.max(1), 1 << 31)?;
        for (index, layer) in self.layers.iter().enumerate() {
            layer
                .check(&range, &field)
                .map_err(|fault| Fault { what: format!("layer {index}: {}", fault.what), ..fault })?;
        }
        if self.exact_parameters() > MOST_PARAMETERS {
            return Err(Fault::file("the dimensions make more than 2^53 parameters"));
        }
        Ok(())
    }

    /// The operations of one token's way through the model, without tensors.
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

/// The widest matrix, and the most heads or experts.
const WIDE: u64 = 1 << 24;
const MANY: u64 = 1 << 16;

impl Layer {
    fn check(
        &self,
        range: &dyn Fn(&str, u64, u64) -> Result<(), Fault>,
        field: &dyn Fn(&str) -> String,
    ) -> Result<(), Fault> {
        if let Some(attention) = self.attention {
            let Attention { heads, kv_heads, key_length, value_length, window, latent, .. } = attention;
            range("heads", heads, MANY)?;
            range("kv_heads", kv_heads, MANY)?;
            range("key_length", key_length, MANY)?;
            range("value_length", value_length, MANY)?;
            if latent.is_none() && !heads.is_multiple_of(kv_heads) {
                let what = format!("{heads} heads can't share {kv_heads} key-value heads evenly");
                return Err(Fault::field(field("kv_heads"), what));
            }
            range("window", window.unwrap_or(1), 1 << 40)?;
            if let Some(latent) = latent {
                range("latent_rank", latent.rank, WIDE)?;
                range("query_rank", latent.query_rank.unwrap_or(1), WIDE)?;
                if latent.rope_length > key_length {
                    let what = format!("{} is more than the key's width {key_length}", latent.rope_length);
                    return Err(Fault::field(field("rope_length"), what));
                }
            }
        }
        if let Some(Recurrence { matrices, vectors, state }) = &self.recurrence {
            for (rows, cols) in matrices {
                range("state", (*rows).max(*cols), WIDE)?;
            }
            range("state", (*vectors).max(1), 1 << 40)?;
            range("state", state.elements.max(1), 1 << 40)?;
            range("state", state.flops.max(1), 1 << 44)?;
        }
        match self.feed_forward.width {
            Width::Dense(length) => range("feed_forward", length.max(1), WIDE),
            Width::Experts(experts) => {
                range("experts", experts.count, MANY)?;
                range("experts_used", experts.used, experts.count)?;
                range("expert_length", experts.length, WIDE)?;
                range("shared_length", experts.shared_length.max(1), WIDE)
            }
        }
    }
}

impl Attention {
    /// Heads of this width over all tokens before one, each with its own key and value, without biases and norms.
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
        out.push(Operation::of(Role::State, Work::State(self.state)));
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
