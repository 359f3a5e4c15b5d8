//! Roles of tensors by name: one table for the names in GGUF, Hugging Face and APR files of all model
//! families.

use std::collections::HashMap;
use std::sync::LazyLock;

use roofline_formulas::spelled;

/// Defines the roles, each with its name and kind.
macro_rules! roles {
    ($($(#[$doc:meta])* $role:ident = $name:literal in $kind:ident,)*) => {
        /// Role of an operation in a model.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Role {
            $($(#[$doc])* $role,)*
        }

        impl Role {
            /// Returns the part of the model that the role belongs to.
            pub fn kind(self) -> Kind {
                match self {
                    $(Role::$role => Kind::$kind,)*
                }
            }
        }

        spelled!(Role { $($role = $name,)* });
    };
}

roles! {
    /// Token embedding.
    Embedding = "embedding" in Embedding,
    /// Learned position embedding.
    PositionEmbedding = "position_embedding" in Embedding,
    /// Token type embedding.
    TypeEmbedding = "type_embedding" in Embedding,
    /// Per-layer token embedding.
    LayerEmbedding = "layer_embedding" in Embedding,
    /// Normalization and other elementwise vectors.
    Norm = "norm" in Norm,
    /// Query projection.
    Query = "attn_q" in Attention,
    /// Key projection.
    Key = "attn_k" in Attention,
    /// Value projection.
    Value = "attn_v" in Attention,
    /// Fused query, key and value projection.
    QueryKeyValue = "attn_qkv" in Attention,
    /// Down projection of the query to its latent rank.
    QueryDown = "attn_q_down" in Attention,
    /// Up projection of the query from its latent rank.
    QueryUp = "attn_q_up" in Attention,
    /// Down projection of keys and values to the cached latent vector and the rotary part of the key.
    KeyValueDown = "attn_kv_down" in Attention,
    /// Up projection of keys and values from the latent vector.
    KeyValueUp = "attn_kv_up" in Attention,
    /// Scores against cached keys and weighted sum of cached values.
    Attention = "attention" in Attention,
    /// Projections of the indexer that selects tokens for sparse attention.
    Indexer = "indexer" in Attention,
    /// Scores of the indexer against its cached keys.
    IndexerScores = "indexer_scores" in Attention,
    /// Output projection of attention.
    AttentionOutput = "attn_output" in Attention,
    /// Gate of the attention output.
    AttentionGate = "attn_gate" in Attention,
    /// Query projection of cross-attention.
    CrossQuery = "cross_q" in Attention,
    /// Key projection of cross-attention.
    CrossKey = "cross_k" in Attention,
    /// Value projection of cross-attention.
    CrossValue = "cross_v" in Attention,
    /// Scores against the keys of the encoder and weighted sum of its values.
    CrossAttention = "cross_attention" in Attention,
    /// Output projection of cross-attention.
    CrossOutput = "cross_output" in Attention,
    /// Matrix of a recurrent block.
    Recurrence = "recurrence" in Recurrent,
    /// Update of a recurrent state.
    State = "state" in Recurrent,
    /// Gate projection of a feed-forward block.
    Gate = "ffn_gate" in FeedForward,
    /// Up projection of a feed-forward block.
    Up = "ffn_up" in FeedForward,
    /// Fused gate and up projection.
    GateUp = "ffn_gate_up" in FeedForward,
    /// Down projection of a feed-forward block.
    Down = "ffn_down" in FeedForward,
    /// Router of a mixture of experts.
    Router = "router" in Experts,
    /// Gate projections of the experts.
    ExpertGate = "experts_gate" in Experts,
    /// Up projections of the experts.
    ExpertUp = "experts_up" in Experts,
    /// Fused gate and up projections of the experts.
    ExpertGateUp = "experts_gate_up" in Experts,
    /// Down projections of the experts.
    ExpertDown = "experts_down" in Experts,
    /// Gate that weights the output of the shared experts.
    SharedRouter = "shared_router" in Experts,
    /// Gate projection of the shared experts.
    SharedGate = "shared_gate" in Experts,
    /// Up projection of the shared experts.
    SharedUp = "shared_up" in Experts,
    /// Down projection of the shared experts.
    SharedDown = "shared_down" in Experts,
    /// Output head.
    Head = "head" in Head,
    /// Pooler or classifier of an encoder, executed once per sequence.
    Pooler = "pooler" in Head,
    /// Constant tables, such as rotary factors and masks.
    Constant = "constant" in Other,
    /// Stored but not executed in ordinary inference, such as multi-token prediction layers.
    Unused = "unused" in Other,
    /// Vision or audio encoder of a multimodal model.
    Tower = "tower" in Other,
    /// Dense layer of a network that is not a transformer.
    Dense = "dense" in Dense,
    /// Convolution layer.
    Convolution = "convolution" in Convolution,
    /// Unclassified operation.
    Other = "other" in Other,
}

/// Part of a model, as a category of roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Embedding tables.
    Embedding,
    /// Attention and its projections.
    Attention,
    /// Recurrent blocks.
    Recurrent,
    /// Dense feed-forward blocks.
    FeedForward,
    /// Mixture of experts: routed experts, shared experts and routers.
    Experts,
    /// Normalization.
    Norm,
    /// Output head.
    Head,
    /// Dense layers of a network that is not a transformer.
    Dense,
    /// Convolution layers.
    Convolution,
    /// Unclassified operations.
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
    /// Returns true if a prefill executes it for a single token of the prompt.
    pub fn is_once_per_sequence(self) -> bool {
        matches!(self, Role::Head | Role::Pooler)
    }

    /// Returns true if it reads cached keys.
    pub fn reads_cache(self) -> bool {
        matches!(self, Role::Attention | Role::CrossAttention | Role::IndexerScores)
    }

    /// Returns true if a router selects the matrices for each token.
    pub fn is_routed(self) -> bool {
        matches!(self, Role::ExpertGate | Role::ExpertUp | Role::ExpertGateUp | Role::ExpertDown)
    }
}

/// Content of a tensor by the suffix of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Weight,
    /// Weights packed by a quantization tool; the shape is that of the packed words.
    Packed,
    Bias,
    /// Scales and zero points of packed or 8-bit weights.
    Scale,
}

/// Stack of layers that a tensor belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Stack {
    /// The only stack of a model.
    Only,
    /// Encoder of an encoder-decoder model.
    Encoder,
    /// Decoder of an encoder-decoder model.
    Decoder,
    /// Vision or audio encoder of a multimodal model.
    Tower,
    /// Multi-token prediction layers, which ordinary decoding does not execute.
    MultiToken,
}

/// Position of a tensor in the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub stack: Stack,
    pub layer: Option<u64>,
    pub role: Role,
    pub part: Part,
    pub expert: Option<u64>,
}

/// Names outside of the layers, without prefixes and suffixes.
const OUTSIDE: &[(Role, &str)] = &[
    (
        Role::Embedding,
        "token_embd embed_tokens wte embeddings.word_embeddings embed_in word_embeddings tok_embeddings \
         embeddings shared",
    ),
    (Role::PositionEmbedding, "position_embd wpe embeddings.position_embeddings embed_positions"),
    (Role::TypeEmbedding, "token_types embeddings.token_type_embeddings"),
    (Role::LayerEmbedding, "per_layer_token_embd embed_tokens_per_layer"),
    (
        Role::Norm,
        "token_embd_norm embeddings.LayerNorm output_norm norm ln_f norm_f final_layer_norm final_layernorm \
         layer_norm per_layer_proj_norm cls.norm",
    ),
    (Role::Head, "output lm_head embed_out proj_out"),
    (Role::Pooler, "pooler.dense cls cls.output dense_2 dense_3"),
    (Role::Constant, "rope_freqs rope_factors_long rope_factors_short embeddings.position_ids"),
];

/// Names inside of a layer, without prefixes and suffixes; `*` stands for the number of an expert.
const INSIDE: &[(Role, &str)] = &[
    (
        Role::Norm,
        "attn_norm attn_norm_2 attn_q_norm attn_k_norm attn_q_a_norm attn_kv_a_norm attn_output_norm \
         layer_output_norm post_attention_norm ffn_norm post_ffw_norm input_layernorm \
         post_attention_layernorm pre_feedforward_layernorm post_feedforward_layernorm self_attn.q_norm \
         self_attn.k_norm self_attn.q_a_layernorm self_attn.kv_a_layernorm self_attn.sinks ln_1 ln_2 \
         attn_sinks attn_sub_norm ffn_sub_norm ffn_norm_exps pre_ffw_norm_2 post_ffw_norm_1 post_ffw_norm_2 \
         post_norm layer_output_scale laurel_post_norm altup_router_norm altup_correct_scale \
         cross_attn_norm ssm_norm ssm_dt_norm ssm_b_norm ssm_c_norm ssm_a ssm_d time_mix_w0 time_mix_a0 \
         time_mix_v0 time_mix_k_k time_mix_k_a time_mix_r_k time_mix_lerp_x time_mix_lerp_k time_mix_lerp_v \
         time_mix_lerp_r time_mix_lerp_g time_mix_lerp_w time_mix_lerp_fused time_mix_first time_mix_decay \
         time_mix_ln channel_mix_lerp_k channel_mix_lerp_r attention.output.LayerNorm output.LayerNorm \
         layer_norm1 layer_norm2 norm1 norm2 ln1 ln2 ls1 ls2 self_attn_layer_norm encoder_attn_layer_norm \
         final_layer_norm layer.0.layer_norm layer.1.layer_norm layer.2.layer_norm mamba.A_log mamba.D \
         mamba.dt_bias mamba.norm mixer.A_log mixer.D mixer.dt_bias mixer.norm linear_attn.A_log \
         linear_attn.dt_bias linear_attn.norm indexer.k_norm indexer.q_norm",
    ),
    (
        Role::Query,
        "attn_q self_attn.q_proj attention.self.query mixer.q_proj layer.0.SelfAttention.q attn.q_proj",
    ),
    (
        Role::Key,
        "attn_k self_attn.k_proj attention.self.key mixer.k_proj layer.0.SelfAttention.k attn.k_proj",
    ),
    (
        Role::Value,
        "attn_v self_attn.v_proj attention.self.value mixer.v_proj layer.0.SelfAttention.v attn.v_proj",
    ),
    (
        Role::QueryKeyValue,
        "attn_qkv self_attn.qkv_proj attn.c_attn attention.query_key_value self_attention.query_key_value \
         self_attn.W_pack attention.wqkv",
    ),
    (Role::QueryDown, "attn_q_a self_attn.q_a_proj"),
    (Role::QueryUp, "attn_q_b self_attn.q_b_proj"),
    (Role::KeyValueDown, "attn_kv_a_mqa self_attn.kv_a_proj_with_mqa attn_kv"),
    (Role::KeyValueUp, "attn_kv_b attn_k_b attn_v_b self_attn.kv_b_proj"),
    (Role::Indexer, "indexer.proj indexer.attn_k indexer.attn_q_b indexer.k_proj indexer.q_proj"),
    (
        Role::AttentionOutput,
        "attn_output attn_o attn_out mixer.o_proj layer.0.SelfAttention.o self_attn.out_proj \
         attention.dense self_attention.dense attention.wo attn.out_proj self_attn.o_proj attn.c_proj \
         attention.output.dense",
    ),
    (Role::AttentionGate, "attn_gate"),
    (Role::CrossQuery, "cross_attn_q encoder_attn.q_proj layer.1.EncDecAttention.q"),
    (Role::CrossKey, "cross_attn_k encoder_attn.k_proj layer.1.EncDecAttention.k"),
    (Role::CrossValue, "cross_attn_v encoder_attn.v_proj layer.1.EncDecAttention.v"),
    (Role::CrossOutput, "cross_attn_o encoder_attn.out_proj layer.1.EncDecAttention.o"),
    (
        Role::Recurrence,
        "ssm_in ssm_conv1d ssm_conv1d_q ssm_conv1d_k ssm_conv1d_v ssm_x ssm_dt ssm_out ssm_alpha ssm_beta \
         ssm_ba ssm_f_a ssm_f_b ssm_g_a ssm_g_b mamba.in_proj mamba.conv1d mamba.x_proj mamba.dt_proj \
         mamba.out_proj linear_attn.in_proj_qkvz linear_attn.in_proj_qkv linear_attn.in_proj_z \
         linear_attn.in_proj_a linear_attn.in_proj_b linear_attn.in_proj_ba linear_attn.conv1d \
         linear_attn.out_proj conv.in_proj conv.conv conv.out_proj mixer.in_proj mixer.conv1d mixer.x_proj \
         mixer.dt_proj mixer.out_proj time_mix_w1 time_mix_w2 time_mix_a1 time_mix_a2 time_mix_v1 \
         time_mix_v2 time_mix_g1 time_mix_g2 time_mix_decay_w1 time_mix_decay_w2 time_mix_key \
         time_mix_value time_mix_receptance time_mix_gate time_mix_output shortconv.conv shortconv.in_proj \
         shortconv.out_proj",
    ),
    (
        Role::Gate,
        "ffn_gate mlp.gate_proj layer.1.DenseReluDense.wi_0 layer.2.DenseReluDense.wi_0 feed_forward.w1 \
         feed_forward.gate_proj channel_mix_receptance",
    ),
    (
        Role::Up,
        "ffn_up mlp.up_proj mlp.c_fc mlp.dense_h_to_4h mlp.fc_in fc1 mlp.fc1 mixer.up_proj \
         layer.1.DenseReluDense.wi layer.2.DenseReluDense.wi layer.1.DenseReluDense.wi_1 \
         layer.2.DenseReluDense.wi_1 feed_forward.w3 feed_forward.up_proj channel_mix_key \
         intermediate.dense",
    ),
    (Role::GateUp, "mlp.gate_up_proj"),
    (
        Role::Down,
        "layer.1.DenseReluDense.wo layer.2.DenseReluDense.wo ffn_down mlp.down_proj mlp.c_proj \
         mlp.dense_4h_to_h mlp.fc_out fc2 mlp.fc2 mixer.down_proj feed_forward.w2 feed_forward.down_proj \
         channel_mix_value output.dense",
    ),
    (Role::Router, "ffn_gate_inp exp_probs_b block_sparse_moe.gate mlp.gate mlp.router feed_forward.router"),
    (
        Role::ExpertGate,
        "ffn_gate_exps ffn_gate.* block_sparse_moe.experts.*.w1 mlp.experts.*.gate_proj \
         mlp.switch_mlp.gate_proj block_sparse_moe.switch_mlp.gate_proj feed_forward.experts.*.gate_proj \
         ffn_gate_chexps",
    ),
    (
        Role::ExpertUp,
        "ffn_up_exps feed_forward.experts.*.up_proj ffn_up_chexps ffn_up.* block_sparse_moe.experts.*.w3 \
         mlp.experts.*.up_proj mlp.switch_mlp.up_proj block_sparse_moe.switch_mlp.up_proj",
    ),
    (Role::ExpertGateUp, "ffn_gate_up_exps mlp.experts.gate_up_proj feed_forward.experts.gate_up_proj"),
    (
        Role::ExpertDown,
        "ffn_down_exps feed_forward.experts.*.down_proj feed_forward.experts.down_proj ffn_down_chexps \
         ffn_down.* block_sparse_moe.experts.*.w2 mlp.experts.*.down_proj mlp.switch_mlp.down_proj \
         block_sparse_moe.switch_mlp.down_proj mlp.experts.down_proj",
    ),
    (Role::SharedRouter, "ffn_gate_inp_shexp mlp.shared_expert_gate"),
    (
        Role::SharedGate,
        "ffn_gate_shexp mlp.shared_expert.gate_proj mlp.shared_experts.gate_proj \
         feed_forward.shared_expert.gate_proj",
    ),
    (
        Role::SharedUp,
        "ffn_up_shexp mlp.shared_expert.up_proj mlp.shared_experts.up_proj \
         feed_forward.shared_expert.up_proj",
    ),
    (
        Role::SharedDown,
        "ffn_down_shexp mlp.shared_expert.down_proj mlp.shared_experts.down_proj \
         feed_forward.shared_expert.down_proj",
    ),
    (
        Role::Constant,
        "attn.bias attn.masked_bias self_attn.rotary_emb.inv_freq attention.rotary_emb.inv_freq \
         attention.bias attention.masked_bias attn_rot_embd ffn_gate_tid2eid attn_rel_b cross_attn_rel_b \
         layer.0.SelfAttention.relative_attention_bias",
    ),
    // Experts for image tokens, which text tokens do not use.
    (Role::Unused, "vis_attn_qkv vis_attn_output vis_gate vis_down vis_up"),
];

static ROLES_OUTSIDE: LazyLock<HashMap<&str, Role>> = LazyLock::new(|| roles(OUTSIDE));
static ROLES_INSIDE: LazyLock<HashMap<&str, Role>> = LazyLock::new(|| roles(INSIDE));

fn roles(table: &[(Role, &'static str)]) -> HashMap<&'static str, Role> {
    table.iter().flat_map(|(role, names)| names.split(' ').map(|name| (name, *role))).collect()
}

/// Name part of stacked LoRA adapters, of which each token uses one.
pub(super) const ADAPTER: &str = ".lora_";

/// Optional name prefixes before the layers, and the stack they select.
const PREFIXES: &[(Option<Stack>, &str)] = &[
    (None, "language_model. model. thinker. llm. transformer. gpt_neox. backbone. bert. roberta."),
    (Some(Stack::MultiToken), "mtp. mtp_layers. nextn_predict_layers."),
    (Some(Stack::Encoder), "encoder. enc."),
    (Some(Stack::Decoder), "decoder. dec."),
    (
        Some(Stack::Tower),
        "v. a. mm. resampler. visual. vision_tower. vision_model. vision_encoder. vision_language_adapter. \
         multi_modal_projector. audio_tower. embed_vision. embed_audio. vision. vision_backbone. \
         vision_embed_tokens. vpm. mlp1. projector. mm_projector. connector. image_newline \
         embed_tokens_extend. audio_encoder. talker. token2wav. code2wav.",
    ),
];

/// Name prefixes before a layer number.
const LAYER_PREFIXES: &[&str] = &["blk.", "layers.", "layer.", "h.", "block.", "blocks."];

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

/// Splits a tensor name into stack, layer number and the remaining name. Names outside of the layers only
/// lose their prefixes.
pub(super) fn layer(name: &str) -> (Stack, Option<u64>, &str) {
    let (mut stack, mut rest) = (Stack::Only, name);
    while let Some((inner, selected)) = PREFIXES.iter().find_map(|(stack, words)| {
        let inner = words.split(' ').find_map(|prefix| rest.strip_prefix(prefix))?;
        Some((inner, *stack))
    }) {
        rest = inner;
        // An `encoder.` prefix inside a vision or audio encoder belongs to it.
        if !matches!(stack, Stack::Tower | Stack::MultiToken) {
            stack = selected.unwrap_or(stack);
        }
    }
    let numbered = LAYER_PREFIXES.iter().find_map(|prefix| {
        let (number, rest) = rest.strip_prefix(prefix)?.split_once('.')?;
        Some((stack, Some(number.parse().ok()?), rest))
    });
    numbered.unwrap_or((stack, None, rest))
}

/// Looks up the position of a tensor by its name.
pub(super) fn place(name: &str) -> Option<Place> {
    let (stack, layer, rest) = layer(name);
    let table = if layer.is_some() { &ROLES_INSIDE } else { &ROLES_OUTSIDE };
    let exact = |stem: &str| table.get(stem).copied();
    let place = |role, part, expert| Some(Place { stack, layer, role, part, expert });
    // Full names in the table take precedence over suffixes: `attn.bias` is a mask.
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
    let (expert, starred) = replace_number(stem)?;
    place(exact(&starred)?, part, Some(expert))
}

/// Returns the first number among the parts of a name, and the name with numbers replaced by `*`.
fn replace_number(stem: &str) -> Option<(u64, String)> {
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
    fn names_of_all_formats_map_to_roles() {
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
    fn expert_numbers_and_layer_numbers_are_distinguished() {
        let name = "model.layers.2.block_sparse_moe.experts.5.w1.weight";
        assert_place(name, Some(2), Role::ExpertGate, Part::Weight, Some(5));
        assert_place("blk.2.ffn_up.5.weight", Some(2), Role::ExpertUp, Part::Weight, Some(5));
        assert_place("blk.2.ffn_up_exps.weight", Some(2), Role::ExpertUp, Part::Weight, None);
    }

    #[test]
    fn gates_and_routers_are_distinguished() {
        assert_place("model.layers.0.mlp.gate.weight", Some(0), Role::Router, Part::Weight, None);
        assert_place("model.layers.0.mlp.gate_proj.weight", Some(0), Role::Gate, Part::Weight, None);
        assert_place("blk.0.ffn_gate_inp.weight", Some(0), Role::Router, Part::Weight, None);
        assert_place("blk.0.ffn_gate_inp_shexp.weight", Some(0), Role::SharedRouter, Part::Weight, None);
    }

    #[test]
    fn packed_weights_have_the_role_of_the_unpacked_weights() {
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
    fn names_in_the_table_are_unique() {
        for (table, roles) in [(OUTSIDE, &ROLES_OUTSIDE), (INSIDE, &ROLES_INSIDE)] {
            let names = table.iter().map(|(_, names)| names.split(' ').count());
            assert_eq!(names.sum::<usize>(), roles.len());
        }
    }

    #[test]
    fn a_causal_mask_is_not_a_bias() {
        assert_place("h.0.attn.bias", Some(0), Role::Constant, Part::Weight, None);
    }

    #[test]
    fn unknown_names_have_no_role() {
        for name in
            ["", ".", "conv1.weight", "blk.x.attn_q.weight", "vision_tower.layers.0.q.weight", "blk.0."]
        {
            assert_eq!(place(name), None, "{name}");
        }
    }
}
