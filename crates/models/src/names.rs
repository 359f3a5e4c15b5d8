//! What a tensor is for, told from its name: the names of GGUF, Hugging Face and APR files in one
//! table. What stands on the right does not depend on the family.

use std::collections::HashMap;
use std::sync::LazyLock;

use roofline_formulas::spelled;

/// Defines the roles, each with its word and the part of the model it belongs to.
macro_rules! roles {
    ($($(#[$doc:meta])* $role:ident = $name:literal in $kind:ident,)*) => {
        /// What an operation does in the model.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Role {
            $($(#[$doc])* $role,)*
        }

        impl Role {
            /// The part of the model it belongs to.
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
    /// The token's row of the embedding table.
    Embedding = "embedding" in Embedding,
    /// The position's row of a learned table.
    PositionEmbedding = "position_embedding" in Embedding,
    /// The segment's row of a learned table.
    TypeEmbedding = "type_embedding" in Embedding,
    /// The token's row of a table with a part for each layer.
    LayerEmbedding = "layer_embedding" in Embedding,
    /// Normalization, and other vectors applied element by element.
    Norm = "norm" in Norm,
    /// Query projection.
    Query = "attn_q" in Attention,
    /// Key projection.
    Key = "attn_k" in Attention,
    /// Value projection.
    Value = "attn_v" in Attention,
    /// Query, key and value in one matrix.
    QueryKeyValue = "attn_qkv" in Attention,
    /// Query down to its latent rank.
    QueryDown = "attn_q_down" in Attention,
    /// Query up from its latent rank.
    QueryUp = "attn_q_up" in Attention,
    /// Keys and values down to the latent that is cached, with the rotary part of the key.
    KeyValueDown = "attn_kv_down" in Attention,
    /// Keys and values up from the latent.
    KeyValueUp = "attn_kv_up" in Attention,
    /// Scores against the cached keys and the weighted sum of the cached values.
    Attention = "attention" in Attention,
    /// What chooses the tokens that attention looks at.
    Indexer = "indexer" in Attention,
    /// Scores of that choice against the keys that it keeps.
    IndexerScores = "indexer_scores" in Attention,
    /// Projection of the attention's result.
    AttentionOutput = "attn_output" in Attention,
    /// Gate of the attention's result.
    AttentionGate = "attn_gate" in Attention,
    /// Query of the attention to another stack's result.
    CrossQuery = "cross_q" in Attention,
    /// Key projection of the other stack's result.
    CrossKey = "cross_k" in Attention,
    /// Value projection of the other stack's result.
    CrossValue = "cross_v" in Attention,
    /// Scores against the other stack's keys and the weighted sum of its values.
    CrossAttention = "cross_attention" in Attention,
    /// Projection of that attention's result.
    CrossOutput = "cross_output" in Attention,
    /// A matrix around a state that takes the place of a cache.
    Recurrence = "recurrence" in Recurrent,
    /// The state itself, read and written for each token.
    State = "state" in Recurrent,
    /// Gate of a feed-forward block.
    Gate = "ffn_gate" in FeedForward,
    /// Up projection of a feed-forward block.
    Up = "ffn_up" in FeedForward,
    /// Gate and up projection in one matrix.
    GateUp = "ffn_gate_up" in FeedForward,
    /// Down projection of a feed-forward block.
    Down = "ffn_down" in FeedForward,
    /// Choice of the experts.
    Router = "router" in Experts,
    /// Gates of the experts.
    ExpertGate = "experts_gate" in Experts,
    /// Up projections of the experts.
    ExpertUp = "experts_up" in Experts,
    /// Gates and up projections of the experts in one tensor.
    ExpertGateUp = "experts_gate_up" in Experts,
    /// Down projections of the experts.
    ExpertDown = "experts_down" in Experts,
    /// Weight of the shared experts.
    SharedRouter = "shared_router" in Experts,
    /// Gate of the shared experts.
    SharedGate = "shared_gate" in Experts,
    /// Up projection of the shared experts.
    SharedUp = "shared_up" in Experts,
    /// Down projection of the shared experts.
    SharedDown = "shared_down" in Experts,
    /// The output head: from the hidden state to the vocabulary.
    Head = "head" in Head,
    /// The layer over the first token of an encoder's result, run once for a sequence.
    Pooler = "pooler" in Head,
    /// Tables that are not weights: rotary factors, masks.
    Constant = "constant" in Other,
    /// Stored but not run in ordinary use, such as layers that predict further tokens.
    Unused = "unused" in Other,
    /// What reads images or sound, apart from the tokens of text.
    Tower = "tower" in Other,
    /// A layer of a stack: a matrix.
    Dense = "dense" in Dense,
    /// A layer of a stack: a convolution.
    Convolution = "convolution" in Convolution,
    /// Anything else.
    Other = "other" in Other,
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

/// Names outside of the layers.
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

/// Names inside of a layer; `*` stands for the number of an expert.
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
    // Experts for the tokens of an image, which a token of text does not meet.
    (Role::Unused, "vis_attn_qkv vis_attn_output vis_gate vis_down vis_up"),
];

static ROLES_OUTSIDE: LazyLock<HashMap<&str, Role>> = LazyLock::new(|| roles(OUTSIDE));
static ROLES_INSIDE: LazyLock<HashMap<&str, Role>> = LazyLock::new(|| roles(INSIDE));

fn roles(table: &[(Role, &'static str)]) -> HashMap<&'static str, Role> {
    table.iter().flat_map(|(role, names)| names.split(' ').map(|name| (name, *role))).collect()
}

/// What the names of adapters have in common that are stored one behind the other, and of which a token runs one.
pub(super) const ADAPTER: &str = ".lora_";

/// The words before the model proper, which some tools write and some don't.
const PREFIXES: &[(Option<Stack>, &str)] = &[
    (None, "language_model. model. thinker. llm. transformer. gpt_neox. backbone. bert. roberta."),
    (Some(Stack::Further), "mtp. mtp_layers. nextn_predict_layers."),
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
    while let Some((inner, named)) = PREFIXES.iter().find_map(|(stack, words)| {
        let inner = words.split(' ').find_map(|prefix| rest.strip_prefix(prefix))?;
        Some((inner, *stack))
    }) {
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
    let table = if layer.is_some() { &ROLES_INSIDE } else { &ROLES_OUTSIDE };
    let exact = |stem: &str| table.get(stem).copied();
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
    place(exact(&starred)?, part, Some(expert))
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
    fn a_name_has_one_role() {
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
    fn other_names_have_no_place() {
        for name in
            ["", ".", "conv1.weight", "blk.x.attn_q.weight", "vision_tower.layers.0.q.weight", "blk.0."]
        {
            assert_eq!(place(name), None, "{name}");
        }
    }
}
