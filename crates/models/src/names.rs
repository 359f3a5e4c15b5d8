//! What a tensor is for, told from its name: the names of GGUF, Hugging Face and APR files in one
//! table. What stands on the right does not depend on the family.

use roofline_formulas::spelled;

/// What an operation does in the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// The token's row of the embedding table.
    Embedding,
    /// The position's row of a learned table.
    PositionEmbedding,
    /// The segment's row of a learned table.
    TypeEmbedding,
    /// The token's row of a table with a part for each layer.
    LayerEmbedding,
    /// Normalization, and other vectors applied element by element.
    Norm,
    /// Query projection.
    Query,
    /// Key projection.
    Key,
    /// Value projection.
    Value,
    /// Query, key and value in one matrix.
    QueryKeyValue,
    /// Query down to its latent rank.
    QueryDown,
    /// Query up from its latent rank.
    QueryUp,
    /// Keys and values down to the latent that is cached, with the rotary part of the key.
    KeyValueDown,
    /// Keys and values up from the latent.
    KeyValueUp,
    /// Scores against the cached keys and the weighted sum of the cached values.
    Attention,
    /// What chooses the tokens that attention looks at.
    Indexer,
    /// Scores of that choice against the keys that it keeps.
    IndexerScores,
    /// Projection of the attention's result.
    AttentionOutput,
    /// Gate of the attention's result.
    AttentionGate,
    /// Query of the attention to another stack's result.
    CrossQuery,
    /// Key projection of the other stack's result.
    CrossKey,
    /// Value projection of the other stack's result.
    CrossValue,
    /// Scores against the other stack's keys and the weighted sum of its values.
    CrossAttention,
    /// Projection of that attention's result.
    CrossOutput,
    /// A matrix around a state that takes the place of a cache.
    Recurrence,
    /// The state itself, read and written for each token.
    State,
    /// Gate of a feed-forward block.
    Gate,
    /// Up projection of a feed-forward block.
    Up,
    /// Gate and up projection in one matrix.
    GateUp,
    /// Down projection of a feed-forward block.
    Down,
    /// Choice of the experts.
    Router,
    /// Gates of the experts.
    ExpertGate,
    /// Up projections of the experts.
    ExpertUp,
    /// Gates and up projections of the experts in one tensor.
    ExpertGateUp,
    /// Down projections of the experts.
    ExpertDown,
    /// Weight of the shared experts.
    SharedRouter,
    /// Gate of the shared experts.
    SharedGate,
    /// Up projection of the shared experts.
    SharedUp,
    /// Down projection of the shared experts.
    SharedDown,
    /// The output head: from the hidden state to the vocabulary.
    Head,
    /// The layer over the first token of an encoder's result, run once for a sequence.
    Pooler,
    /// Tables that are not weights: rotary factors, masks.
    Constant,
    /// Stored but not run in ordinary use, such as layers that predict further tokens.
    Unused,
    /// What reads images or sound, apart from the tokens of text.
    Tower,
    /// A layer of a stack: a matrix.
    Dense,
    /// A layer of a stack: a convolution.
    Convolution,
    /// Anything else.
    Other,
}

/// The part of the model a role belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Look-up tables.
    Embedding,
    /// Everything around attention.
    Attention,
    /// Everything around a state that takes the place of a cache.
    Recurrent,
    /// Dense feed-forward blocks.
    FeedForward,
    /// Routed and shared experts and their router.
    Experts,
    /// Normalization.
    Norm,
    /// The output head.
    Head,
    /// Matrices of a stack of layers.
    Dense,
    /// Convolutions of a stack of layers.
    Convolution,
    /// The rest.
    Other,
}

spelled!(Kind {
    Embedding = "embedding",
    Attention = "attention",
    Recurrent = "recurrent",
    FeedForward = "feed_forward",
    Experts = "experts",
    Norm = "norm",
    Head = "head",
    Dense = "dense",
    Convolution = "convolution",
    Other = "other",
});

impl Role {
    /// Whether it meets one token of a prompt alone.
    pub fn meets_one_token(self) -> bool {
        matches!(self, Role::Head | Role::Pooler)
    }

    /// Whether it is attention over cached tokens.
    pub fn looks_back(self) -> bool {
        matches!(self, Role::Attention | Role::CrossAttention | Role::IndexerScores)
    }

    /// Whether tokens choose what they meet in it.
    pub fn is_routed(self) -> bool {
        matches!(self, Role::ExpertGate | Role::ExpertUp | Role::ExpertGateUp | Role::ExpertDown)
    }

    /// The part of the model it belongs to.
    pub fn kind(self) -> Kind {
        use Role::*;
        match self {
            Embedding | PositionEmbedding | TypeEmbedding | LayerEmbedding => Kind::Embedding,
            Query | Key | Value | QueryKeyValue | QueryDown | QueryUp | KeyValueDown | KeyValueUp
            | Attention | Indexer | IndexerScores | AttentionOutput | AttentionGate | CrossQuery
            | CrossKey | CrossValue | CrossAttention | CrossOutput => Kind::Attention,
            Recurrence | State => Kind::Recurrent,
            Gate | Up | GateUp | Down => Kind::FeedForward,
            Router | ExpertGate | ExpertUp | ExpertGateUp | ExpertDown | SharedRouter | SharedGate
            | SharedUp | SharedDown => Kind::Experts,
            Norm => Kind::Norm,
            Head | Pooler => Kind::Head,
            Dense => Kind::Dense,
            Convolution => Kind::Convolution,
            Constant | Unused | Tower | Other => Kind::Other,
        }
    }
}

spelled!(Role {
    Embedding = "embedding",
    PositionEmbedding = "position_embedding",
    TypeEmbedding = "type_embedding",
    LayerEmbedding = "layer_embedding",
    Norm = "norm",
    Query = "attn_q",
    Key = "attn_k",
    Value = "attn_v",
    QueryKeyValue = "attn_qkv",
    QueryDown = "attn_q_down",
    QueryUp = "attn_q_up",
    KeyValueDown = "attn_kv_down",
    KeyValueUp = "attn_kv_up",
    Attention = "attention",
    Indexer = "indexer",
    IndexerScores = "indexer_scores",
    AttentionOutput = "attn_output",
    AttentionGate = "attn_gate",
    CrossQuery = "cross_q",
    CrossKey = "cross_k",
    CrossValue = "cross_v",
    CrossAttention = "cross_attention",
    CrossOutput = "cross_output",
    Recurrence = "recurrence",
    State = "state",
    Gate = "ffn_gate",
    Up = "ffn_up",
    GateUp = "ffn_gate_up",
    Down = "ffn_down",
    Router = "router",
    ExpertGate = "experts_gate",
    ExpertUp = "experts_up",
    ExpertGateUp = "experts_gate_up",
    ExpertDown = "experts_down",
    SharedRouter = "shared_router",
    SharedGate = "shared_gate",
    SharedUp = "shared_up",
    SharedDown = "shared_down",
    Head = "head",
    Pooler = "pooler",
    Constant = "constant",
    Unused = "unused",
    Tower = "tower",
    Dense = "dense",
    Convolution = "convolution",
    Other = "other",
});

/// What the last part of a name says the tensor holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The weights as they are.
    Weight,
    /// Weights packed by a quantization tool: the shape is that of the packed words.
    Packed,
    /// What is added to the product.
    Bias,
    /// Scales and zero points that go with packed or 8-bit weights.
    Scale,
}

/// The stack of layers a tensor belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Stack {
    /// The only one, of models that have one.
    Only,
    /// The one that reads the input, beside a decoder.
    Encoder,
    /// The one that makes tokens, beside an encoder.
    Decoder,
    /// The one that reads images or sound, beside a language model.
    Tower,
    /// The one that predicts further tokens, which ordinary decoding does not run.
    Further,
}

/// A tensor's place in the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub stack: Stack,
    pub layer: Option<u64>,
    pub role: Role,
    pub part: Part,
    pub expert: Option<u64>,
}

const OUTSIDE: &[(&str, Role)] = &[
    ("token_embd", Role::Embedding),
    ("embed_tokens", Role::Embedding),
    ("wte", Role::Embedding),
    ("embeddings.word_embeddings", Role::Embedding),
    ("position_embd", Role::PositionEmbedding),
    ("wpe", Role::PositionEmbedding),
    ("embeddings.position_embeddings", Role::PositionEmbedding),
    ("embed_in", Role::Embedding),
    ("word_embeddings", Role::Embedding),
    ("tok_embeddings", Role::Embedding),
    ("embeddings", Role::Embedding),
    ("shared", Role::Embedding),
    ("embed_positions", Role::PositionEmbedding),
    ("token_types", Role::TypeEmbedding),
    ("per_layer_token_embd", Role::LayerEmbedding),
    ("embed_tokens_per_layer", Role::LayerEmbedding),
    ("embeddings.token_type_embeddings", Role::TypeEmbedding),
    ("token_embd_norm", Role::Norm),
    ("embeddings.LayerNorm", Role::Norm),
    ("output_norm", Role::Norm),
    ("norm", Role::Norm),
    ("ln_f", Role::Norm),
    ("norm_f", Role::Norm),
    ("final_layer_norm", Role::Norm),
    ("final_layernorm", Role::Norm),
    ("layer_norm", Role::Norm),
    ("per_layer_proj_norm", Role::Norm),
    ("cls.norm", Role::Norm),
    ("output", Role::Head),
    ("lm_head", Role::Head),
    ("embed_out", Role::Head),
    ("proj_out", Role::Head),
    ("pooler.dense", Role::Pooler),
    ("cls", Role::Pooler),
    ("cls.output", Role::Pooler),
    ("dense_2", Role::Pooler),
    ("dense_3", Role::Pooler),
    ("rope_freqs", Role::Constant),
    ("rope_factors_long", Role::Constant),
    ("rope_factors_short", Role::Constant),
    ("embeddings.position_ids", Role::Constant),
];

const INSIDE: &[(&str, Role)] = &[
    ("attn_norm", Role::Norm),
    ("attn_norm_2", Role::Norm),
    ("attn_q_norm", Role::Norm),
    ("attn_k_norm", Role::Norm),
    ("attn_q_a_norm", Role::Norm),
    ("attn_kv_a_norm", Role::Norm),
    ("attn_output_norm", Role::Norm),
    ("layer_output_norm", Role::Norm),
    ("post_attention_norm", Role::Norm),
    ("ffn_norm", Role::Norm),
    ("post_ffw_norm", Role::Norm),
    ("input_layernorm", Role::Norm),
    ("post_attention_layernorm", Role::Norm),
    ("pre_feedforward_layernorm", Role::Norm),
    ("post_feedforward_layernorm", Role::Norm),
    ("self_attn.q_norm", Role::Norm),
    ("self_attn.k_norm", Role::Norm),
    ("self_attn.q_a_layernorm", Role::Norm),
    ("self_attn.kv_a_layernorm", Role::Norm),
    ("self_attn.sinks", Role::Norm),
    ("ln_1", Role::Norm),
    ("ln_2", Role::Norm),
    ("attn_sinks", Role::Norm),
    ("attn_sub_norm", Role::Norm),
    ("ffn_sub_norm", Role::Norm),
    ("ffn_norm_exps", Role::Norm),
    ("pre_ffw_norm_2", Role::Norm),
    ("post_ffw_norm_1", Role::Norm),
    ("post_ffw_norm_2", Role::Norm),
    ("post_norm", Role::Norm),
    ("layer_output_scale", Role::Norm),
    ("laurel_post_norm", Role::Norm),
    ("altup_router_norm", Role::Norm),
    ("altup_correct_scale", Role::Norm),
    ("cross_attn_norm", Role::Norm),
    ("ssm_norm", Role::Norm),
    ("ssm_dt_norm", Role::Norm),
    ("ssm_b_norm", Role::Norm),
    ("ssm_c_norm", Role::Norm),
    ("ssm_a", Role::Norm),
    ("ssm_d", Role::Norm),
    ("time_mix_w0", Role::Norm),
    ("time_mix_a0", Role::Norm),
    ("time_mix_v0", Role::Norm),
    ("time_mix_k_k", Role::Norm),
    ("time_mix_k_a", Role::Norm),
    ("time_mix_r_k", Role::Norm),
    ("time_mix_lerp_x", Role::Norm),
    ("time_mix_lerp_k", Role::Norm),
    ("time_mix_lerp_v", Role::Norm),
    ("time_mix_lerp_r", Role::Norm),
    ("time_mix_lerp_g", Role::Norm),
    ("time_mix_lerp_w", Role::Norm),
    ("time_mix_lerp_fused", Role::Norm),
    ("time_mix_first", Role::Norm),
    ("time_mix_decay", Role::Norm),
    ("time_mix_ln", Role::Norm),
    ("channel_mix_lerp_k", Role::Norm),
    ("channel_mix_lerp_r", Role::Norm),
    ("attention.output.LayerNorm", Role::Norm),
    ("output.LayerNorm", Role::Norm),
    ("layer_norm1", Role::Norm),
    ("layer_norm2", Role::Norm),
    ("norm1", Role::Norm),
    ("norm2", Role::Norm),
    ("ln1", Role::Norm),
    ("ln2", Role::Norm),
    ("ls1", Role::Norm),
    ("ls2", Role::Norm),
    ("self_attn_layer_norm", Role::Norm),
    ("encoder_attn_layer_norm", Role::Norm),
    ("final_layer_norm", Role::Norm),
    ("layer.0.layer_norm", Role::Norm),
    ("layer.1.layer_norm", Role::Norm),
    ("layer.2.layer_norm", Role::Norm),
    ("attn_q", Role::Query),
    ("self_attn.q_proj", Role::Query),
    ("attention.self.query", Role::Query),
    ("attn_k", Role::Key),
    ("self_attn.k_proj", Role::Key),
    ("attention.self.key", Role::Key),
    ("attn_v", Role::Value),
    ("self_attn.v_proj", Role::Value),
    ("attention.self.value", Role::Value),
    ("attn_qkv", Role::QueryKeyValue),
    ("self_attn.qkv_proj", Role::QueryKeyValue),
    ("attn.c_attn", Role::QueryKeyValue),
    ("attn_q_a", Role::QueryDown),
    ("self_attn.q_a_proj", Role::QueryDown),
    ("attn_q_b", Role::QueryUp),
    ("self_attn.q_b_proj", Role::QueryUp),
    ("attn_kv_a_mqa", Role::KeyValueDown),
    ("self_attn.kv_a_proj_with_mqa", Role::KeyValueDown),
    ("attn_kv", Role::KeyValueDown),
    ("attn_kv_b", Role::KeyValueUp),
    ("attn_k_b", Role::KeyValueUp),
    ("attn_v_b", Role::KeyValueUp),
    ("self_attn.kv_b_proj", Role::KeyValueUp),
    ("attn_output", Role::AttentionOutput),
    ("attn_o", Role::AttentionOutput),
    ("attn_out", Role::AttentionOutput),
    ("mixer.q_proj", Role::Query),
    ("mixer.k_proj", Role::Key),
    ("mixer.v_proj", Role::Value),
    ("mixer.o_proj", Role::AttentionOutput),
    ("attn_gate", Role::AttentionGate),
    ("cross_attn_q", Role::CrossQuery),
    ("encoder_attn.q_proj", Role::CrossQuery),
    ("layer.1.EncDecAttention.q", Role::CrossQuery),
    ("cross_attn_k", Role::CrossKey),
    ("encoder_attn.k_proj", Role::CrossKey),
    ("layer.1.EncDecAttention.k", Role::CrossKey),
    ("cross_attn_v", Role::CrossValue),
    ("encoder_attn.v_proj", Role::CrossValue),
    ("layer.1.EncDecAttention.v", Role::CrossValue),
    ("cross_attn_o", Role::CrossOutput),
    ("encoder_attn.out_proj", Role::CrossOutput),
    ("layer.1.EncDecAttention.o", Role::CrossOutput),
    ("layer.0.SelfAttention.q", Role::Query),
    ("layer.0.SelfAttention.k", Role::Key),
    ("layer.0.SelfAttention.v", Role::Value),
    ("layer.0.SelfAttention.o", Role::AttentionOutput),
    ("self_attn.out_proj", Role::AttentionOutput),
    ("attention.query_key_value", Role::QueryKeyValue),
    ("self_attention.query_key_value", Role::QueryKeyValue),
    ("self_attn.W_pack", Role::QueryKeyValue),
    ("attention.wqkv", Role::QueryKeyValue),
    ("attention.dense", Role::AttentionOutput),
    ("self_attention.dense", Role::AttentionOutput),
    ("attention.wo", Role::AttentionOutput),
    ("attn.q_proj", Role::Query),
    ("attn.k_proj", Role::Key),
    ("attn.v_proj", Role::Value),
    ("attn.out_proj", Role::AttentionOutput),
    ("ssm_in", Role::Recurrence),
    ("ssm_conv1d", Role::Recurrence),
    ("ssm_conv1d_q", Role::Recurrence),
    ("ssm_conv1d_k", Role::Recurrence),
    ("ssm_conv1d_v", Role::Recurrence),
    ("ssm_x", Role::Recurrence),
    ("ssm_dt", Role::Recurrence),
    ("ssm_out", Role::Recurrence),
    ("ssm_alpha", Role::Recurrence),
    ("ssm_beta", Role::Recurrence),
    ("ssm_ba", Role::Recurrence),
    ("ssm_f_a", Role::Recurrence),
    ("ssm_f_b", Role::Recurrence),
    ("ssm_g_a", Role::Recurrence),
    ("ssm_g_b", Role::Recurrence),
    ("mamba.in_proj", Role::Recurrence),
    ("mamba.conv1d", Role::Recurrence),
    ("mamba.x_proj", Role::Recurrence),
    ("mamba.dt_proj", Role::Recurrence),
    ("mamba.out_proj", Role::Recurrence),
    ("mamba.A_log", Role::Norm),
    ("mamba.D", Role::Norm),
    ("mamba.dt_bias", Role::Norm),
    ("mamba.norm", Role::Norm),
    ("mixer.A_log", Role::Norm),
    ("mixer.D", Role::Norm),
    ("mixer.dt_bias", Role::Norm),
    ("mixer.norm", Role::Norm),
    ("linear_attn.in_proj_qkvz", Role::Recurrence),
    ("linear_attn.in_proj_qkv", Role::Recurrence),
    ("linear_attn.in_proj_z", Role::Recurrence),
    ("linear_attn.in_proj_a", Role::Recurrence),
    ("linear_attn.in_proj_b", Role::Recurrence),
    ("linear_attn.in_proj_ba", Role::Recurrence),
    ("linear_attn.conv1d", Role::Recurrence),
    ("linear_attn.out_proj", Role::Recurrence),
    ("linear_attn.A_log", Role::Norm),
    ("linear_attn.dt_bias", Role::Norm),
    ("linear_attn.norm", Role::Norm),
    ("conv.in_proj", Role::Recurrence),
    ("conv.conv", Role::Recurrence),
    ("conv.out_proj", Role::Recurrence),
    ("mixer.in_proj", Role::Recurrence),
    ("mixer.conv1d", Role::Recurrence),
    ("mixer.x_proj", Role::Recurrence),
    ("mixer.dt_proj", Role::Recurrence),
    ("mixer.out_proj", Role::Recurrence),
    ("time_mix_w1", Role::Recurrence),
    ("time_mix_w2", Role::Recurrence),
    ("time_mix_a1", Role::Recurrence),
    ("time_mix_a2", Role::Recurrence),
    ("time_mix_v1", Role::Recurrence),
    ("time_mix_v2", Role::Recurrence),
    ("time_mix_g1", Role::Recurrence),
    ("time_mix_g2", Role::Recurrence),
    ("time_mix_decay_w1", Role::Recurrence),
    ("time_mix_decay_w2", Role::Recurrence),
    ("time_mix_key", Role::Recurrence),
    ("time_mix_value", Role::Recurrence),
    ("time_mix_receptance", Role::Recurrence),
    ("time_mix_gate", Role::Recurrence),
    ("time_mix_output", Role::Recurrence),
    ("shortconv.conv", Role::Recurrence),
    ("shortconv.in_proj", Role::Recurrence),
    ("shortconv.out_proj", Role::Recurrence),
    ("self_attn.o_proj", Role::AttentionOutput),
    ("attn.c_proj", Role::AttentionOutput),
    ("attention.output.dense", Role::AttentionOutput),
    ("ffn_gate", Role::Gate),
    ("mlp.gate_proj", Role::Gate),
    ("ffn_up", Role::Up),
    ("mlp.up_proj", Role::Up),
    ("mlp.c_fc", Role::Up),
    ("mlp.dense_h_to_4h", Role::Up),
    ("mlp.fc_in", Role::Up),
    ("fc1", Role::Up),
    ("mlp.fc1", Role::Up),
    ("mixer.up_proj", Role::Up),
    ("layer.1.DenseReluDense.wi", Role::Up),
    ("layer.2.DenseReluDense.wi", Role::Up),
    ("layer.1.DenseReluDense.wi_1", Role::Up),
    ("layer.2.DenseReluDense.wi_1", Role::Up),
    ("layer.1.DenseReluDense.wi_0", Role::Gate),
    ("layer.2.DenseReluDense.wi_0", Role::Gate),
    ("layer.1.DenseReluDense.wo", Role::Down),
    ("layer.2.DenseReluDense.wo", Role::Down),
    ("feed_forward.w3", Role::Up),
    ("feed_forward.up_proj", Role::Up),
    ("feed_forward.w1", Role::Gate),
    ("feed_forward.gate_proj", Role::Gate),
    ("channel_mix_key", Role::Up),
    ("channel_mix_receptance", Role::Gate),
    ("intermediate.dense", Role::Up),
    ("mlp.gate_up_proj", Role::GateUp),
    ("ffn_down", Role::Down),
    ("mlp.down_proj", Role::Down),
    ("mlp.c_proj", Role::Down),
    ("mlp.dense_4h_to_h", Role::Down),
    ("mlp.fc_out", Role::Down),
    ("fc2", Role::Down),
    ("mlp.fc2", Role::Down),
    ("mixer.down_proj", Role::Down),
    ("feed_forward.w2", Role::Down),
    ("feed_forward.down_proj", Role::Down),
    ("channel_mix_value", Role::Down),
    ("output.dense", Role::Down),
    ("ffn_gate_inp", Role::Router),
    ("exp_probs_b", Role::Router),
    ("block_sparse_moe.gate", Role::Router),
    ("mlp.gate", Role::Router),
    ("mlp.router", Role::Router),
    ("feed_forward.router", Role::Router),
    ("ffn_gate_exps", Role::ExpertGate),
    ("ffn_gate.*", Role::ExpertGate),
    ("block_sparse_moe.experts.*.w1", Role::ExpertGate),
    ("mlp.experts.*.gate_proj", Role::ExpertGate),
    ("mlp.switch_mlp.gate_proj", Role::ExpertGate),
    ("block_sparse_moe.switch_mlp.gate_proj", Role::ExpertGate),
    ("feed_forward.experts.*.gate_proj", Role::ExpertGate),
    ("ffn_gate_chexps", Role::ExpertGate),
    ("ffn_up_exps", Role::ExpertUp),
    ("feed_forward.experts.*.up_proj", Role::ExpertUp),
    ("ffn_up_chexps", Role::ExpertUp),
    ("ffn_up.*", Role::ExpertUp),
    ("block_sparse_moe.experts.*.w3", Role::ExpertUp),
    ("mlp.experts.*.up_proj", Role::ExpertUp),
    ("mlp.switch_mlp.up_proj", Role::ExpertUp),
    ("block_sparse_moe.switch_mlp.up_proj", Role::ExpertUp),
    ("ffn_gate_up_exps", Role::ExpertGateUp),
    ("mlp.experts.gate_up_proj", Role::ExpertGateUp),
    ("feed_forward.experts.gate_up_proj", Role::ExpertGateUp),
    ("ffn_down_exps", Role::ExpertDown),
    ("feed_forward.experts.*.down_proj", Role::ExpertDown),
    ("feed_forward.experts.down_proj", Role::ExpertDown),
    ("ffn_down_chexps", Role::ExpertDown),
    ("ffn_down.*", Role::ExpertDown),
    ("block_sparse_moe.experts.*.w2", Role::ExpertDown),
    ("mlp.experts.*.down_proj", Role::ExpertDown),
    ("mlp.switch_mlp.down_proj", Role::ExpertDown),
    ("block_sparse_moe.switch_mlp.down_proj", Role::ExpertDown),
    ("mlp.experts.down_proj", Role::ExpertDown),
    ("ffn_gate_inp_shexp", Role::SharedRouter),
    ("mlp.shared_expert_gate", Role::SharedRouter),
    ("ffn_gate_shexp", Role::SharedGate),
    ("mlp.shared_expert.gate_proj", Role::SharedGate),
    ("mlp.shared_experts.gate_proj", Role::SharedGate),
    ("feed_forward.shared_expert.gate_proj", Role::SharedGate),
    ("ffn_up_shexp", Role::SharedUp),
    ("mlp.shared_expert.up_proj", Role::SharedUp),
    ("mlp.shared_experts.up_proj", Role::SharedUp),
    ("feed_forward.shared_expert.up_proj", Role::SharedUp),
    ("ffn_down_shexp", Role::SharedDown),
    ("mlp.shared_expert.down_proj", Role::SharedDown),
    ("mlp.shared_experts.down_proj", Role::SharedDown),
    ("feed_forward.shared_expert.down_proj", Role::SharedDown),
    ("attn.bias", Role::Constant),
    ("attn.masked_bias", Role::Constant),
    ("self_attn.rotary_emb.inv_freq", Role::Constant),
    ("attention.rotary_emb.inv_freq", Role::Constant),
    ("attention.bias", Role::Constant),
    ("attention.masked_bias", Role::Constant),
    ("attn_rot_embd", Role::Constant),
    ("ffn_gate_tid2eid", Role::Constant),
    ("attn_rel_b", Role::Constant),
    ("cross_attn_rel_b", Role::Constant),
    ("layer.0.SelfAttention.relative_attention_bias", Role::Constant),
    // Experts for the tokens of an image, which a token of text does not meet.
    ("vis_attn_qkv", Role::Unused),
    ("vis_attn_output", Role::Unused),
    ("vis_gate", Role::Unused),
    ("vis_down", Role::Unused),
    ("vis_up", Role::Unused),
    ("indexer.k_norm", Role::Norm),
    ("indexer.q_norm", Role::Norm),
    ("indexer.proj", Role::Indexer),
    ("indexer.attn_k", Role::Indexer),
    ("indexer.attn_q_b", Role::Indexer),
    ("indexer.k_proj", Role::Indexer),
    ("indexer.q_proj", Role::Indexer),
];

/// What the names of adapters have in common that are stored one behind the other, and of which a token runs one.
pub(super) const ADAPTER: &str = ".lora_";

/// The words before the model proper, which some tools write and some don't.
const PREFIXES: &[(&str, Option<Stack>)] = &[
    ("language_model.", None),
    ("model.", None),
    ("thinker.", None),
    ("llm.", None),
    ("mtp.", Some(Stack::Further)),
    ("mtp_layers.", Some(Stack::Further)),
    ("nextn_predict_layers.", Some(Stack::Further)),
    ("transformer.", None),
    ("gpt_neox.", None),
    ("backbone.", None),
    ("bert.", None),
    ("roberta.", None),
    ("encoder.", Some(Stack::Encoder)),
    ("enc.", Some(Stack::Encoder)),
    ("decoder.", Some(Stack::Decoder)),
    ("dec.", Some(Stack::Decoder)),
    ("v.", Some(Stack::Tower)),
    ("a.", Some(Stack::Tower)),
    ("mm.", Some(Stack::Tower)),
    ("resampler.", Some(Stack::Tower)),
    ("visual.", Some(Stack::Tower)),
    ("vision_tower.", Some(Stack::Tower)),
    ("vision_model.", Some(Stack::Tower)),
    ("vision_encoder.", Some(Stack::Tower)),
    ("vision_language_adapter.", Some(Stack::Tower)),
    ("multi_modal_projector.", Some(Stack::Tower)),
    ("audio_tower.", Some(Stack::Tower)),
    ("embed_vision.", Some(Stack::Tower)),
    ("embed_audio.", Some(Stack::Tower)),
    ("vision.", Some(Stack::Tower)),
    ("vision_backbone.", Some(Stack::Tower)),
    ("vision_embed_tokens.", Some(Stack::Tower)),
    ("vpm.", Some(Stack::Tower)),
    ("mlp1.", Some(Stack::Tower)),
    ("projector.", Some(Stack::Tower)),
    ("mm_projector.", Some(Stack::Tower)),
    ("connector.", Some(Stack::Tower)),
    ("image_newline", Some(Stack::Tower)),
    ("embed_tokens_extend.", Some(Stack::Tower)),
    ("audio_encoder.", Some(Stack::Tower)),
    ("talker.", Some(Stack::Tower)),
    ("token2wav.", Some(Stack::Tower)),
    ("code2wav.", Some(Stack::Tower)),
];

/// The words before a layer's number.
const STACKS: &[&str] = &["blk.", "layers.", "layer.", "h.", "block.", "blocks."];

const PARTS: &[(&str, Part)] = &[
    (".weight", Part::Weight),
    (".bias", Part::Bias),
    (".gamma", Part::Weight),
    (".beta", Part::Bias),
    (".e_score_correction_bias", Part::Bias),
    (".qweight", Part::Packed),
    (".weight_packed", Part::Packed),
    (".input_scale", Part::Scale),
    ("_blocks", Part::Packed),
    ("_bias", Part::Bias),
    (".scale", Part::Scale),
];

/// The stack and the number of the layer a name belongs to, and what stands behind it; without a layer,
/// what stands behind the words that say nothing.
pub(super) fn layer(name: &str) -> (Stack, Option<u64>, &str) {
    let (mut stack, mut rest) = (Stack::Only, name);
    while let Some((inner, named)) =
        PREFIXES.iter().find_map(|(prefix, stack)| Some((rest.strip_prefix(prefix)?, *stack)))
    {
        rest = inner;
        // The encoder of a tower is part of the tower.
        if !matches!(stack, Stack::Tower | Stack::Further) {
            stack = named.unwrap_or(stack);
        }
    }
    let numbered = STACKS.iter().find_map(|words| {
        let (number, rest) = rest.strip_prefix(words)?.split_once('.')?;
        Some((stack, Some(number.parse().ok()?), rest))
    });
    numbered.unwrap_or((stack, None, rest))
}

/// What a tensor of this name is for; none for a name that is not in the table.
pub(super) fn place(name: &str) -> Option<Place> {
    let (stack, layer, rest) = layer(name);
    let table = if layer.is_some() { INSIDE } else { OUTSIDE };
    let exact = |stem: &str| table.iter().find(|(known, _)| *known == stem).map(|(_, role)| *role);
    let place = |role, part, expert| Some(Place { stack, layer, role, part, expert });
    // A name that is in the table as it stands (`attn.bias` is a mask) is not cut further.
    if let Some(role) = exact(rest) {
        return place(role, Part::Weight, None);
    }
    let (stem, part) = PARTS
        .iter()
        .find_map(|(end, part)| Some((rest.strip_suffix(end)?, *part)))
        .unwrap_or((rest, Part::Weight));
    if let Some(role) = exact(stem) {
        return place(role, part, None);
    }
    let (expert, starred) = star(stem)?;
    let role = table.iter().find(|(known, _)| *known == starred).map(|(_, role)| *role)?;
    place(role, part, Some(expert))
}

/// The number among the words of a name, and the name with a star in its place.
fn star(stem: &str) -> Option<(u64, String)> {
    let number = stem.split('.').find_map(|word| word.parse().ok())?;
    let starred: Vec<&str> =
        stem.split('.').map(|word| if word.parse::<u64>().is_ok() { "*" } else { word }).collect();
    Some((number, starred.join(".")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_place(name: &str, layer: Option<u64>, role: Role, part: Part, expert: Option<u64>) {
        let found = place(name).map(|place| (place.layer, place.role, place.part, place.expert));
        assert_eq!(found, Some((layer, role, part, expert)), "{name}");
    }

    #[test]
    fn names_of_all_three_formats_are_understood() {
        assert_place("token_embd.weight", None, Role::Embedding, Part::Weight, None);
        assert_place("model.embed_tokens.weight", None, Role::Embedding, Part::Weight, None);
        assert_place("transformer.wte.weight", None, Role::Embedding, Part::Weight, None);
        assert_place("blk.31.ffn_down.weight", Some(31), Role::Down, Part::Weight, None);
        assert_place("model.layers.7.self_attn.q_proj.bias", Some(7), Role::Query, Part::Bias, None);
        assert_place("h.3.mlp.c_proj.weight", Some(3), Role::Down, Part::Weight, None);
        assert_place("bert.encoder.layer.2.output.dense.bias", Some(2), Role::Down, Part::Bias, None);
        assert_place(
            "model.language_model.layers.0.mlp.up_proj.weight",
            Some(0),
            Role::Up,
            Part::Weight,
            None,
        );
    }

    #[test]
    fn the_number_of_an_expert_is_not_the_number_of_a_layer() {
        let name = "model.layers.2.block_sparse_moe.experts.5.w1.weight";
        assert_place(name, Some(2), Role::ExpertGate, Part::Weight, Some(5));
        assert_place("blk.2.ffn_up.5.weight", Some(2), Role::ExpertUp, Part::Weight, Some(5));
        assert_place("blk.2.ffn_up_exps.weight", Some(2), Role::ExpertUp, Part::Weight, None);
    }

    #[test]
    fn gates_and_routers_are_told_apart() {
        assert_place("model.layers.0.mlp.gate.weight", Some(0), Role::Router, Part::Weight, None);
        assert_place("model.layers.0.mlp.gate_proj.weight", Some(0), Role::Gate, Part::Weight, None);
        assert_place("blk.0.ffn_gate_inp.weight", Some(0), Role::Router, Part::Weight, None);
        assert_place("blk.0.ffn_gate_inp_shexp.weight", Some(0), Role::SharedRouter, Part::Weight, None);
    }

    #[test]
    fn packed_weights_are_named_by_what_they_stand_for() {
        assert_place("model.layers.0.mlp.up_proj.qweight", Some(0), Role::Up, Part::Packed, None);
        assert_place("model.layers.0.mlp.up_proj.weight_packed", Some(0), Role::Up, Part::Packed, None);
        assert_place(
            "model.layers.0.mlp.experts.down_proj_blocks",
            Some(0),
            Role::ExpertDown,
            Part::Packed,
            None,
        );
    }

    #[test]
    fn a_causal_mask_is_not_a_bias() {
        assert_place("h.0.attn.bias", Some(0), Role::Constant, Part::Weight, None);
    }

    #[test]
    fn other_names_have_no_place() {
        for name in
            ["", ".", "conv1.weight", "blk.x.attn_q.weight", "vision_tower.layers.0.q.weight", "blk.0."]
        {
            assert_eq!(place(name), None, "{name}");
        }
    }
}
