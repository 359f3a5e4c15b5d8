//! What a tensor is for, told from its name: the names of GGUF, Hugging Face and APR files in one
//! table. What stands on the right does not depend on the family.

/// What an operation does in the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// The token's row of the embedding table.
    Embedding,
    /// The position's row of a learned table.
    PositionEmbedding,
    /// The segment's row of a learned table.
    TypeEmbedding,
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
    /// Projection of the attention's result.
    AttentionOutput,
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
    /// Dense feed-forward blocks.
    FeedForward,
    /// Routed and shared experts and their router.
    Experts,
    /// Normalization.
    Norm,
    /// The output head.
    Head,
    /// The rest.
    Other,
}

impl Kind {
    /// A short name for tables.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Embedding => "embedding",
            Kind::Attention => "attention",
            Kind::FeedForward => "feed_forward",
            Kind::Experts => "experts",
            Kind::Norm => "norm",
            Kind::Head => "head",
            Kind::Other => "other",
        }
    }
}

impl Role {
    /// The part of the model it belongs to.
    pub fn kind(self) -> Kind {
        use Role::*;
        match self {
            Embedding | PositionEmbedding | TypeEmbedding => Kind::Embedding,
            Query | Key | Value | QueryKeyValue | QueryDown | QueryUp | KeyValueDown | KeyValueUp
            | Attention | AttentionOutput => Kind::Attention,
            Gate | Up | GateUp | Down => Kind::FeedForward,
            Router | ExpertGate | ExpertUp | ExpertGateUp | ExpertDown | SharedRouter | SharedGate
            | SharedUp | SharedDown => Kind::Experts,
            Norm => Kind::Norm,
            Head | Pooler => Kind::Head,
            Constant | Unused | Other => Kind::Other,
        }
    }

    /// A short name for tables: `attn_q`, `ffn_down`.
    pub fn name(self) -> &'static str {
        use Role::*;
        match self {
            Embedding => "embedding",
            PositionEmbedding => "position_embedding",
            TypeEmbedding => "type_embedding",
            Norm => "norm",
            Query => "attn_q",
            Key => "attn_k",
            Value => "attn_v",
            QueryKeyValue => "attn_qkv",
            QueryDown => "attn_q_down",
            QueryUp => "attn_q_up",
            KeyValueDown => "attn_kv_down",
            KeyValueUp => "attn_kv_up",
            Attention => "attention",
            AttentionOutput => "attn_output",
            Gate => "ffn_gate",
            Up => "ffn_up",
            GateUp => "ffn_gate_up",
            Down => "ffn_down",
            Router => "router",
            ExpertGate => "experts_gate",
            ExpertUp => "experts_up",
            ExpertGateUp => "experts_gate_up",
            ExpertDown => "experts_down",
            SharedRouter => "shared_router",
            SharedGate => "shared_gate",
            SharedUp => "shared_up",
            SharedDown => "shared_down",
            Head => "head",
            Pooler => "pooler",
            Constant => "constant",
            Unused => "unused",
            Other => "other",
        }
    }
}

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

/// A tensor's place in the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
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
    ("token_types", Role::TypeEmbedding),
    ("embeddings.token_type_embeddings", Role::TypeEmbedding),
    ("token_embd_norm", Role::Norm),
    ("embeddings.LayerNorm", Role::Norm),
    ("output_norm", Role::Norm),
    ("norm", Role::Norm),
    ("ln_f", Role::Norm),
    ("output", Role::Head),
    ("lm_head", Role::Head),
    ("pooler.dense", Role::Pooler),
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
    ("ln_1", Role::Norm),
    ("ln_2", Role::Norm),
    ("attention.output.LayerNorm", Role::Norm),
    ("output.LayerNorm", Role::Norm),
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
    ("attn_kv_b", Role::KeyValueUp),
    ("attn_k_b", Role::KeyValueUp),
    ("attn_v_b", Role::KeyValueUp),
    ("self_attn.kv_b_proj", Role::KeyValueUp),
    ("attn_output", Role::AttentionOutput),
    ("self_attn.o_proj", Role::AttentionOutput),
    ("attn.c_proj", Role::AttentionOutput),
    ("attention.output.dense", Role::AttentionOutput),
    ("ffn_gate", Role::Gate),
    ("mlp.gate_proj", Role::Gate),
    ("ffn_up", Role::Up),
    ("mlp.up_proj", Role::Up),
    ("mlp.c_fc", Role::Up),
    ("intermediate.dense", Role::Up),
    ("mlp.gate_up_proj", Role::GateUp),
    ("ffn_down", Role::Down),
    ("mlp.down_proj", Role::Down),
    ("mlp.c_proj", Role::Down),
    ("output.dense", Role::Down),
    ("ffn_gate_inp", Role::Router),
    ("exp_probs_b", Role::Router),
    ("block_sparse_moe.gate", Role::Router),
    ("mlp.gate", Role::Router),
    ("mlp.router", Role::Router),
    ("ffn_gate_exps", Role::ExpertGate),
    ("ffn_gate.*", Role::ExpertGate),
    ("block_sparse_moe.experts.*.w1", Role::ExpertGate),
    ("mlp.experts.*.gate_proj", Role::ExpertGate),
    ("ffn_up_exps", Role::ExpertUp),
    ("ffn_up.*", Role::ExpertUp),
    ("block_sparse_moe.experts.*.w3", Role::ExpertUp),
    ("mlp.experts.*.up_proj", Role::ExpertUp),
    ("ffn_gate_up_exps", Role::ExpertGateUp),
    ("mlp.experts.gate_up_proj", Role::ExpertGateUp),
    ("ffn_down_exps", Role::ExpertDown),
    ("ffn_down.*", Role::ExpertDown),
    ("block_sparse_moe.experts.*.w2", Role::ExpertDown),
    ("mlp.experts.*.down_proj", Role::ExpertDown),
    ("mlp.experts.down_proj", Role::ExpertDown),
    ("ffn_gate_inp_shexp", Role::SharedRouter),
    ("mlp.shared_expert_gate", Role::SharedRouter),
    ("ffn_gate_shexp", Role::SharedGate),
    ("mlp.shared_expert.gate_proj", Role::SharedGate),
    ("mlp.shared_experts.gate_proj", Role::SharedGate),
    ("ffn_up_shexp", Role::SharedUp),
    ("mlp.shared_expert.up_proj", Role::SharedUp),
    ("mlp.shared_experts.up_proj", Role::SharedUp),
    ("ffn_down_shexp", Role::SharedDown),
    ("mlp.shared_expert.down_proj", Role::SharedDown),
    ("mlp.shared_experts.down_proj", Role::SharedDown),
    ("attn.bias", Role::Constant),
    ("attn.masked_bias", Role::Constant),
    ("self_attn.rotary_emb.inv_freq", Role::Constant),
];

/// The words before the model proper, which some tools write and some don't.
const PREFIXES: &[&str] = &["language_model.", "model.", "transformer.", "bert.", "roberta.", "encoder."];

/// The words before a layer's number.
const STACKS: &[&str] = &["blk.", "layers.", "layer.", "h."];

const PARTS: &[(&str, Part)] = &[
    (".weight", Part::Weight),
    (".bias", Part::Bias),
    (".gamma", Part::Weight),
    (".beta", Part::Bias),
    (".e_score_correction_bias", Part::Bias),
    (".qweight", Part::Packed),
    (".weight_packed", Part::Packed),
    (".qzeros", Part::Scale),
    (".scales", Part::Scale),
    (".g_idx", Part::Scale),
    (".weight_scale_inv", Part::Scale),
    (".weight_scale", Part::Scale),
    (".weight_shape", Part::Scale),
    (".weight_zero_point", Part::Scale),
    (".input_scale", Part::Scale),
    (".scale", Part::Scale),
];

/// The number of the layer a name belongs to, and what stands behind it; without a layer, what stands
/// behind the words that say nothing.
pub(super) fn layer(name: &str) -> (Option<u64>, &str) {
    let mut rest = name;
    while let Some(inner) = PREFIXES.iter().find_map(|prefix| rest.strip_prefix(prefix)) {
        rest = inner;
    }
    let numbered = STACKS.iter().find_map(|stack| {
        let (number, rest) = rest.strip_prefix(stack)?.split_once('.')?;
        Some((Some(number.parse().ok()?), rest))
    });
    numbered.unwrap_or((None, rest))
}

/// What a tensor of this name is for; none for a name that is not in the table.
pub(super) fn place(name: &str) -> Option<Place> {
    let (layer, rest) = layer(name);
    let table = if layer.is_some() { INSIDE } else { OUTSIDE };
    let exact = |stem: &str| table.iter().find(|(known, _)| *known == stem).map(|(_, role)| *role);
    // A name that is in the table as it stands (`attn.bias` is a mask) is not cut further.
    if let Some(role) = exact(rest) {
        return Some(Place { layer, role, part: Part::Weight, expert: None });
    }
    let (stem, part) = PARTS
        .iter()
        .find_map(|(end, part)| Some((rest.strip_suffix(end)?, *part)))
        .unwrap_or((rest, Part::Weight));
    if let Some(role) = exact(stem) {
        return Some(Place { layer, role, part, expert: None });
    }
    let (expert, starred) = star(stem)?;
    let role = table.iter().find(|(known, _)| *known == starred).map(|(_, role)| *role)?;
    Some(Place { layer, role, part, expert: Some(expert) })
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
        assert_eq!(place(name), Some(Place { layer, role, part, expert }), "{name}");
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
    fn packed_weights_and_their_scales_belong_to_the_same_operation() {
        assert_place("model.layers.0.mlp.up_proj.qweight", Some(0), Role::Up, Part::Packed, None);
        assert_place("model.layers.0.mlp.up_proj.scales", Some(0), Role::Up, Part::Scale, None);
        assert_place("model.layers.0.mlp.up_proj.weight_scale_inv", Some(0), Role::Up, Part::Scale, None);
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
