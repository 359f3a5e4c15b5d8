//! One small file of each family, with its operations worked out by hand: shape, stored bytes, and bytes
//! of weights streamed for a token. A Q8_0 row of n elements is n / 32 x 34 bytes.

use roofline::model::{Attention, Basis, Dtype, Head, Latent, Model, Operation, Role, State, Work, readers};

use crate::scratch::files;
use crate::small::{ATTENTION, FEED_FORWARD, keys, with};
use crate::writer::{Gguf, Value, safetensors};

use Dtype::{Bf16, F16, F32, Q4K, Q8_0};

fn open(test: &str, gguf: &Gguf) -> Model {
    let directory = files(&format!("family-{test}"), &[("m.gguf", &gguf.build())]);
    Model::open(directory.join("m.gguf")).unwrap()
}

fn open_hf(test: &str, config: &str, tensors: &[(&str, &[u64], Dtype)]) -> Model {
    let test = format!("family-hf-{test}");
    let directory =
        files(&test, &[("config.json", config.as_bytes()), ("model.safetensors", &safetensors(tensors))]);
    Model::open(directory).unwrap()
}

/// Bytes of all tensors of an operation; none without tensors or when a type's size is unknown.
fn stored(model: &Model, operation: &Operation) -> Option<u64> {
    let sizes: Option<Vec<u64>> = operation.tensors.iter().map(|index| model.tensors[*index].bytes).collect();
    sizes.filter(|sizes| !sizes.is_empty()).map(|sizes| sizes.iter().sum())
}

/// Bytes of weights read for one token; none when that can't be known.
fn streamed(model: &Model, operation: &Operation) -> Option<u64> {
    let bytes = stored(model, operation);
    match operation.work {
        Work::Lookup { rows, .. } => bytes.map(|bytes| bytes / rows),
        Work::Experts { count, used, .. } => bytes.map(|bytes| bytes * used / count),
        Work::Unused => Some(0),
        Work::Undefined { .. } if operation.role != Role::Pooler => None,
        _ => bytes,
    }
}

/// One line for each operation: layer, role, work, stored bytes, streamed bytes.
fn lines(model: &Model) -> Vec<String> {
    let number = |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
    let operations = &model.architecture.operations;
    operations
        .iter()
        .map(|operation| {
            let work = match &operation.work {
                Work::Lookup { rows, cols } => format!("row of {rows}x{cols}"),
                Work::Product { rows, cols } => format!("{rows}x{cols}"),
                Work::Experts { rows, cols, count, used } => format!("{used}/{count} of {rows}x{cols}"),
                Work::Vector { elements } => format!("{elements}"),
                Work::Attention(Attention {
                    heads,
                    kv_heads,
                    key_length,
                    value_length,
                    window,
                    latent,
                    ..
                }) => {
                    let window = window.map_or(String::new(), |window| format!(" window {window}"));
                    let latent = latent.map_or(String::new(), |Latent { rank, rope_length, .. }| {
                        format!(" latent {rank}+{rope_length}")
                    });
                    format!("{heads}/{kv_heads} heads {key_length}/{value_length}{window}{latent}")
                }
                Work::Convolution { outputs, inputs, kernel } => {
                    format!("conv {outputs}x{inputs} {kernel:?}")
                }
                Work::State(State { elements, flops }) => format!("state {elements} flops {flops}"),
                Work::Unused => "unused".to_owned(),
                Work::Undefined { .. } => "undefined".to_owned(),
            };
            let (layer, role) = (number(operation.layer), operation.role.name());
            format!(
                "{layer} {role} {work}: {}, {}",
                number(stored(model, operation)),
                number(streamed(model, operation))
            )
        })
        .collect()
}

#[track_caller]
fn assert_lines(model: &Model, expected: &[&str]) {
    assert_eq!(model.warnings, Vec::<String>::new());
    assert_same(model, expected);
}

#[track_caller]
fn assert_same(model: &Model, expected: &[&str]) {
    assert_eq!(model.architecture.basis, Basis::Family);
    assert_eq!(lines(model), expected);
    let hyper = model.architecture.hyper.as_ref().unwrap();
    assert_eq!(
        hyper.parameters(),
        model.parameters(),
        "dimensions and tensors make the same number of parameters"
    );
    let stored = model
        .architecture
        .operations
        .iter()
        .map(|operation| stored(model, operation).unwrap_or(0))
        .sum::<u64>();
    let again = if hyper.head == Head::Tied { model.tensors[0].bytes.unwrap() } else { 0 };
    assert_eq!(stored, model.bytes().unwrap() + again, "every tensor is in exactly one operation");
}

#[test]
fn llama() {
    let gguf = Gguf::of("llama", &keys(1))
        .tensor("token_embd.weight", &[100, 64], Q8_0)
        .block(0, ATTENTION)
        .block(0, FEED_FORWARD)
        .tensor("output_norm.weight", &[64], F32)
        .tensor("output.weight", &[100, 64], F16);
    assert_lines(
        &open("llama", &gguf),
        &[
            "- embedding row of 100x64: 6800, 68",
            "0 norm 128: 512, 512",
            "0 attn_q 64x64: 4352, 4352",
            "0 attn_k 32x64: 2176, 2176",
            "0 attn_v 32x64: 2176, 2176",
            "0 attention 4/2 heads 16/16: -, -",
            "0 attn_output 64x64: 4352, 4352",
            "0 ffn_gate 96x64: 6528, 6528",
            "0 ffn_up 96x64: 6528, 6528",
            "0 ffn_down 64x96: 6528, 6528",
            "- norm 64: 256, 256",
            "- head 100x64: 12800, 12800",
        ],
    );
}

#[test]
fn an_absent_output_tensor_means_the_embedding_is_streamed_as_the_head() {
    let gguf = Gguf::of("llama", &keys(1))
        .tensor("token_embd.weight", &[100, 64], Q8_0)
        .block(0, ATTENTION)
        .block(0, FEED_FORWARD)
        .tensor("output_norm.weight", &[64], F32);
    let model = open("tied", &gguf);
    let lines = lines(&model);
    assert_eq!(lines.first().unwrap(), "- embedding row of 100x64: 6800, 68");
    assert_eq!(lines.last().unwrap(), "- head 100x64: 6800, 6800");
    assert_eq!(model.architecture.hyper.unwrap().head, Head::Tied);
}

/// The smallest llama with these keys, and an embedding of 100 rows.
fn small(test: &str, keys: &[(&'static str, Value)], tokens: Option<usize>) -> Model {
    let gguf = Gguf::of("llama", keys)
        .tensor("token_embd.weight", &[100, 64], Q8_0)
        .block(0, ATTENTION)
        .block(0, FEED_FORWARD)
        .tensor("output_norm.weight", &[64], F32);
    let texts = |count| Value::Texts(vec!["a".into(); count]);
    open(test, &tokens.into_iter().fold(gguf, |gguf, count| gguf.key("tokenizer.ggml.tokens", texts(count))))
}

#[test]
fn the_vocabulary_is_what_is_said_then_the_tokens_then_the_rows() {
    let unsaid: Vec<_> = keys(1).into_iter().filter(|(key, _)| *key != "vocab_size").collect();
    let vocab = |model: Model| model.architecture.hyper.unwrap().vocab;
    assert_eq!(vocab(small("vocab-said", &with(1, &[("vocab_size", 98.into())]), Some(99))), 98);
    assert_eq!(vocab(small("vocab-tokens", &unsaid, Some(99))), 99);
    assert_eq!(vocab(small("vocab-rows", &unsaid, None)), 100);
}

#[test]
fn a_window_of_zero_is_none() {
    let model = small("no-window", &with(1, &[("attention.sliding_window", 0.into())]), None);
    assert_eq!(model.architecture.hyper.unwrap().layers[0].attention.unwrap().window, None);
}

#[test]
fn rotary_factors_are_stored_but_not_streamed() {
    let gguf = Gguf::of("llama", &keys(1))
        .tensor("rope_freqs.weight", &[8], F32)
        .tensor("token_embd.weight", &[100, 64], Q8_0)
        .block(0, ATTENTION)
        .block(0, FEED_FORWARD)
        .tensor("output_norm.weight", &[64], F32);
    let model = open("rope", &gguf);
    assert_eq!(model.warnings, Vec::<String>::new());
    assert_eq!(lines(&model).last().unwrap(), "- constant unused: 32, 0");
}

#[test]
fn a_known_tensor_that_the_family_has_no_use_for_stays_undefined() {
    let gguf = Gguf::of("llama", &keys(1))
        .tensor("rope_freqs.weight", &[8], F32)
        .tensor("token_embd.weight", &[100, 64], Q8_0)
        .tensor("position_embd.weight", &[128, 64], F32)
        .block(0, ATTENTION)
        .block(0, FEED_FORWARD)
        .tensor("output_norm.weight", &[64], F32);
    let model = open("strange-tensor", &gguf);
    let told =
        "1 tensor(s) are not part of the llama family and stay undefined, the first \"position_embd.weight\"";
    assert_eq!(model.warnings, [told]);
    assert_eq!(lines(&model).last().unwrap(), "- other undefined: 32768, -");
}

#[test]
fn mistral_slides_in_every_layer_and_prefers_the_key_length() {
    let more = [("attention.sliding_window", 32.into()), ("attention.key_length", 32.into())];
    let gguf = Gguf::of("llama", &with(1, &more))
        .tensor("token_embd.weight", &[100, 64], Q8_0)
        .block(
            0,
            &[
                ("attn_norm.weight", &[64], F32),
                ("attn_q.weight", &[128, 64], Q8_0),
                ("attn_k.weight", &[64, 64], Q8_0),
                ("attn_v.weight", &[32, 64], Q8_0),
                ("attn_output.weight", &[64, 64], Q8_0),
                ("ffn_norm.weight", &[64], F32),
            ],
        )
        .block(0, FEED_FORWARD)
        .tensor("output_norm.weight", &[64], F32);
    let model = open("mistral", &gguf);
    assert_eq!(
        lines(&model)[2..7],
        [
            "0 attn_q 128x64: 8704, 8704",
            "0 attn_k 64x64: 4352, 4352",
            "0 attn_v 32x64: 2176, 2176",
            "0 attention 4/2 heads 32/16 window 32: -, -",
            "0 attn_output 64x64: 4352, 4352",
        ]
    );
    assert_eq!(model.warnings, Vec::<String>::new());
}

#[test]
fn mixtral_streams_the_used_share_of_its_experts() {
    let gguf = Gguf::of("llama", &with(1, &[("expert_count", 8.into()), ("expert_used_count", 2.into())]))
        .tensor("token_embd.weight", &[100, 64], Q8_0)
        .block(0, ATTENTION)
        .block(
            0,
            &[
                ("ffn_gate_inp.weight", &[8, 64], F32),
                ("ffn_gate_exps.weight", &[8, 96, 64], Q8_0),
                ("ffn_up_exps.weight", &[8, 96, 64], Q8_0),
                ("ffn_down_exps.weight", &[8, 64, 96], Q8_0),
            ],
        )
        .tensor("output_norm.weight", &[64], F32)
        .tensor("output.weight", &[100, 64], Q8_0);
    let model = open("mixtral", &gguf);
    assert_lines(
        &model,
        &[
            "- embedding row of 100x64: 6800, 68",
            "0 norm 128: 512, 512",
            "0 attn_q 64x64: 4352, 4352",
            "0 attn_k 32x64: 2176, 2176",
            "0 attn_v 32x64: 2176, 2176",
            "0 attention 4/2 heads 16/16: -, -",
            "0 attn_output 64x64: 4352, 4352",
            "0 router 8x64: 2048, 2048",
            "0 experts_gate 2/8 of 96x64: 52224, 13056",
            "0 experts_up 2/8 of 96x64: 52224, 13056",
            "0 experts_down 2/8 of 64x96: 52224, 13056",
            "- norm 64: 256, 256",
            "- head 100x64: 6800, 6800",
        ],
    );
    // 100 x 64 twice, 128 + 64 norms, 12288 attention, 512 router, a quarter of 147456.
    let active = roofline::predict::inputs(&model.architecture.hyper.unwrap()).unwrap().evaluate().unwrap();
    assert_eq!(active.active_params, f64::from(12_800 + 192 + 12_288 + 512 + 36_864));
}

#[test]
fn mixtral_files_with_a_tensor_for_each_expert_are_the_same_model() {
    let mut gguf =
        Gguf::of("llama", &with(1, &[("expert_count", 2.into()), ("expert_used_count", 1.into())]))
            .tensor("token_embd.weight", &[100, 64], Q8_0)
            .block(0, ATTENTION)
            .block(0, &[("ffn_gate_inp.weight", &[2, 64], F32)]);
    for expert in 0..2 {
        gguf = gguf
            .tensor(&format!("blk.0.ffn_gate.{expert}.weight"), &[96, 64], Q8_0)
            .tensor(&format!("blk.0.ffn_up.{expert}.weight"), &[96, 64], Q8_0)
            .tensor(&format!("blk.0.ffn_down.{expert}.weight"), &[64, 96], Q8_0);
    }
    let gguf = gguf.tensor("output_norm.weight", &[64], F32);
    let model = open("mixtral-old", &gguf);
    assert_eq!(model.warnings, Vec::<String>::new());
    assert_eq!(
        lines(&model)[8..11],
        [
            "0 experts_gate 1/2 of 96x64: 13056, 6528",
            "0 experts_up 1/2 of 96x64: 13056, 6528",
            "0 experts_down 1/2 of 64x96: 13056, 6528",
        ]
    );
}

#[test]
fn qwen2_has_biases_on_query_key_and_value() {
    let gguf = Gguf::of("qwen2", &keys(1))
        .tensor("token_embd.weight", &[100, 64], F16)
        .block(0, ATTENTION)
        .block(0, &[("attn_q.bias", &[64], F32), ("attn_k.bias", &[32], F32), ("attn_v.bias", &[32], F32)])
        .block(0, FEED_FORWARD)
        .tensor("output_norm.weight", &[64], F32);
    assert_lines(
        &open("qwen2", &gguf),
        &[
            "- embedding row of 100x64: 12800, 128",
            "0 norm 128: 512, 512",
            "0 attn_q 64x64: 4608, 4608",
            "0 attn_k 32x64: 2304, 2304",
            "0 attn_v 32x64: 2304, 2304",
            "0 attention 4/2 heads 16/16: -, -",
            "0 attn_output 64x64: 4352, 4352",
            "0 ffn_gate 96x64: 6528, 6528",
            "0 ffn_up 96x64: 6528, 6528",
            "0 ffn_down 64x96: 6528, 6528",
            "- norm 64: 256, 256",
            "- head 100x64: 12800, 12800",
        ],
    );
}

/// Attention with heads of 32, normalized one by one, as qwen3 and gemma3 have it.
const WIDE: &[(&str, &[u64], Dtype)] = &[
    ("attn_norm.weight", &[64], F32),
    ("attn_q.weight", &[128, 64], Q8_0),
    ("attn_k.weight", &[64, 64], Q8_0),
    ("attn_v.weight", &[64, 64], Q8_0),
    ("attn_q_norm.weight", &[32], F32),
    ("attn_k_norm.weight", &[32], F32),
    ("attn_output.weight", &[64, 128], Q8_0),
    ("ffn_norm.weight", &[64], F32),
];

#[test]
fn qwen3_normalizes_its_heads_and_states_their_width() {
    let more = [("attention.key_length", 32.into()), ("attention.value_length", 32.into())];
    let gguf = Gguf::of("qwen3", &with(1, &more))
        .tensor("token_embd.weight", &[100, 64], Q8_0)
        .block(0, WIDE)
        .block(0, FEED_FORWARD)
        .tensor("output_norm.weight", &[64], F32)
        .tensor("output.weight", &[100, 64], Q8_0);
    assert_lines(
        &open("qwen3", &gguf),
        &[
            "- embedding row of 100x64: 6800, 68",
            "0 norm 192: 768, 768",
            "0 attn_q 128x64: 8704, 8704",
            "0 attn_k 64x64: 4352, 4352",
            "0 attn_v 64x64: 4352, 4352",
            "0 attention 4/2 heads 32/32: -, -",
            "0 attn_output 64x128: 8704, 8704",
            "0 ffn_gate 96x64: 6528, 6528",
            "0 ffn_up 96x64: 6528, 6528",
            "0 ffn_down 64x96: 6528, 6528",
            "- norm 64: 256, 256",
            "- head 100x64: 6800, 6800",
        ],
    );
}

#[test]
fn qwen3moe_has_experts_of_their_own_width() {
    let more = [
        ("attention.key_length", 32.into()),
        ("attention.value_length", 32.into()),
        ("expert_count", 16.into()),
        ("expert_used_count", 4.into()),
        ("expert_feed_forward_length", 32.into()),
    ];
    let gguf = Gguf::of("qwen3moe", &with(1, &more))
        .tensor("token_embd.weight", &[100, 64], Q8_0)
        .block(0, WIDE)
        .block(
            0,
            &[
                ("ffn_gate_inp.weight", &[16, 64], F32),
                ("ffn_gate_exps.weight", &[16, 32, 64], Q8_0),
                ("ffn_up_exps.weight", &[16, 32, 64], Q8_0),
                ("ffn_down_exps.weight", &[16, 64, 32], F16),
            ],
        )
        .tensor("output_norm.weight", &[64], F32)
        .tensor("output.weight", &[100, 64], Q8_0);
    let model = open("qwen3moe", &gguf);
    assert_lines(
        &model,
        &[
            "- embedding row of 100x64: 6800, 68",
            "0 norm 192: 768, 768",
            "0 attn_q 128x64: 8704, 8704",
            "0 attn_k 64x64: 4352, 4352",
            "0 attn_v 64x64: 4352, 4352",
            "0 attention 4/2 heads 32/32: -, -",
            "0 attn_output 64x128: 8704, 8704",
            "0 router 16x64: 4096, 4096",
            "0 experts_gate 4/16 of 32x64: 34816, 8704",
            "0 experts_up 4/16 of 32x64: 34816, 8704",
            "0 experts_down 4/16 of 64x32: 65536, 16384",
            "- norm 64: 256, 256",
            "- head 100x64: 6800, 6800",
        ],
    );
}

#[test]
fn gemma2_slides_in_every_other_layer_and_has_four_norms() {
    let more = [("attention.sliding_window", 16.into())];
    let mut gguf = Gguf::of("gemma2", &with(2, &more)).tensor("token_embd.weight", &[100, 64], Q8_0);
    for layer in 0..2 {
        gguf = gguf
            .block(layer, ATTENTION)
            .block(layer, &[("post_attention_norm.weight", &[64], F32), ("post_ffw_norm.weight", &[64], F32)])
            .block(layer, FEED_FORWARD);
    }
    let layer = |layer: u64, window: &str| {
        [
            format!("{layer} norm 256: 1024, 1024"),
            format!("{layer} attn_q 64x64: 4352, 4352"),
            format!("{layer} attn_k 32x64: 2176, 2176"),
            format!("{layer} attn_v 32x64: 2176, 2176"),
            format!("{layer} attention 4/2 heads 16/16{window}: -, -"),
            format!("{layer} attn_output 64x64: 4352, 4352"),
            format!("{layer} ffn_gate 96x64: 6528, 6528"),
            format!("{layer} ffn_up 96x64: 6528, 6528"),
            format!("{layer} ffn_down 64x96: 6528, 6528"),
        ]
    };
    let mut expected = vec!["- embedding row of 100x64: 6800, 68".to_owned()];
    expected.extend(layer(0, " window 16"));
    expected.extend(layer(1, ""));
    expected.extend(["- norm 64: 256, 256".to_owned(), "- head 100x64: 6800, 6800".to_owned()]);
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    let model = open("gemma2", &gguf.tensor("output_norm.weight", &[64], F32));
    assert_eq!(
        model.warnings,
        ["no key says which layers have a window: the last of every 2 sees the whole context"]
    );
    assert_same(&model, &expected);
}

/// The window of each layer.
fn windows(model: &Model) -> Vec<Option<u64>> {
    let hyper = model.architecture.hyper.as_ref().unwrap();
    hyper.layers.iter().map(|layer| layer.attention.and_then(|attention| attention.window)).collect()
}

#[test]
fn gemma3_sees_everything_in_every_sixth_layer_unless_a_pattern_says_otherwise() {
    let model = |test: &str, more: &[(&'static str, Value)]| {
        let mut all = vec![
            ("attention.sliding_window", Value::U32(8)),
            ("attention.key_length", 32.into()),
            ("attention.value_length", 32.into()),
        ];
        all.extend(more.iter().cloned());
        let mut gguf = Gguf::of("gemma3", &with(7, &all)).tensor("token_embd.weight", &[100, 64], Q8_0);
        for layer in 0..7 {
            gguf = gguf
                .block(layer, WIDE)
                .block(
                    layer,
                    &[("post_attention_norm.weight", &[64], F32), ("post_ffw_norm.weight", &[64], F32)],
                )
                .block(layer, FEED_FORWARD);
        }
        let model = open(test, &gguf.tensor("output_norm.weight", &[64], F32));
        assert_eq!(model.warnings.len(), usize::from(more.is_empty()), "only what no key says is told");
        model
    };
    let (slides, sees) = (Some(8), None);
    let usual = model("gemma3", &[]);
    assert_eq!(windows(&usual), [slides, slides, slides, slides, slides, sees, slides]);
    let third = model("gemma3-number", &[("attention.sliding_window_pattern", 3.into())]);
    assert_eq!(windows(&third), [slides, slides, sees, slides, slides, sees, slides]);
    let flags = Value::Bools(vec![false, true, false, true, true, true, false]);
    let stated = model("gemma3-array", &[("attention.sliding_window_pattern", flags)]);
    assert_eq!(windows(&stated), [sees, slides, sees, slides, slides, slides, sees]);

    assert_eq!(
        lines(&usual)[..10],
        [
            "- embedding row of 100x64: 6800, 68",
            "0 norm 320: 1280, 1280",
            "0 attn_q 128x64: 8704, 8704",
            "0 attn_k 64x64: 4352, 4352",
            "0 attn_v 64x64: 4352, 4352",
            "0 attention 4/2 heads 32/32 window 8: -, -",
            "0 attn_output 64x128: 8704, 8704",
            "0 ffn_gate 96x64: 6528, 6528",
            "0 ffn_up 96x64: 6528, 6528",
            "0 ffn_down 64x96: 6528, 6528",
        ]
    );
    assert_eq!(usual.architecture.hyper.as_ref().unwrap().parameters(), usual.parameters());
}

#[test]
fn phi3_keeps_query_key_value_and_gate_up_in_one_matrix_each() {
    let gguf = Gguf::of("phi3", &keys(1))
        .tensor("token_embd.weight", &[100, 64], Q8_0)
        .block(
            0,
            &[
                ("attn_norm.weight", &[64], F32),
                ("attn_qkv.weight", &[128, 64], Q8_0),
                ("attn_output.weight", &[64, 64], Q8_0),
                ("ffn_norm.weight", &[64], F32),
                ("ffn_up.weight", &[192, 64], Q8_0),
                ("ffn_down.weight", &[64, 96], Q8_0),
            ],
        )
        .tensor("output_norm.weight", &[64], F32)
        .tensor("output.weight", &[100, 64], Q8_0);
    assert_lines(
        &open("phi3", &gguf),
        &[
            "- embedding row of 100x64: 6800, 68",
            "0 norm 128: 512, 512",
            "0 attn_qkv 128x64: 8704, 8704",
            "0 attention 4/2 heads 16/16: -, -",
            "0 attn_output 64x64: 4352, 4352",
            "0 ffn_up 192x64: 13056, 13056",
            "0 ffn_down 64x96: 6528, 6528",
            "- norm 64: 256, 256",
            "- head 100x64: 6800, 6800",
        ],
    );
}

/// Latent attention: keys of 32 + 16 rotary, values of 32, ranks 96 and 64, 4 heads.
fn deepseek_keys(more: &[(&'static str, Value)]) -> Vec<(&'static str, Value)> {
    let mut all = vec![
        ("attention.kv_lora_rank", Value::U32(64)),
        ("attention.q_lora_rank", 96.into()),
        ("rope.dimension_count", 16.into()),
        ("leading_dense_block_count", 1.into()),
        ("expert_count", 4.into()),
        ("expert_used_count", 2.into()),
        ("expert_shared_count", 1.into()),
        ("expert_feed_forward_length", 32.into()),
        ("attention.key_length", 48.into()),
        ("attention.value_length", 32.into()),
    ];
    all.retain(|(key, _)| !more.iter().any(|(name, _)| name == key));
    all.extend(more.iter().cloned());
    with(2, &all)
}

const LATENT: &[(&str, &[u64], Dtype)] = &[
    ("attn_norm.weight", &[64], F32),
    ("attn_q_a.weight", &[96, 64], Q8_0),
    ("attn_q_a_norm.weight", &[96], F32),
    ("attn_q_b.weight", &[192, 96], Q8_0),
    ("attn_kv_a_mqa.weight", &[80, 64], Q8_0),
    ("attn_kv_a_norm.weight", &[64], F32),
    ("attn_output.weight", &[64, 128], Q8_0),
    ("ffn_norm.weight", &[64], F32),
];

const MIXTURE: &[(&str, &[u64], Dtype)] = &[
    ("ffn_gate_inp.weight", &[4, 64], F32),
    ("exp_probs_b.bias", &[4], F32),
    ("ffn_gate_exps.weight", &[4, 32, 64], Q8_0),
    ("ffn_up_exps.weight", &[4, 32, 64], Q8_0),
    ("ffn_down_exps.weight", &[4, 64, 32], Q8_0),
    ("ffn_gate_shexp.weight", &[32, 64], Q8_0),
    ("ffn_up_shexp.weight", &[32, 64], Q8_0),
    ("ffn_down_shexp.weight", &[64, 32], Q8_0),
];

const DEEPSEEK: &[&str] = &[
    "- embedding row of 100x64: 6800, 68",
    "0 norm 288: 1152, 1152",
    "0 attn_q_down 96x64: 6528, 6528",
    "0 attn_q_up 192x96: 19584, 19584",
    "0 attn_kv_down 80x64: 5440, 5440",
    "0 attn_kv_up 256x64: 17408, 17408",
    "0 attention 4/1 heads 48/32 latent 64+16: -, -",
    "0 attn_output 64x128: 8704, 8704",
    "0 ffn_gate 96x64: 6528, 6528",
    "0 ffn_up 96x64: 6528, 6528",
    "0 ffn_down 64x96: 6528, 6528",
    "1 norm 288: 1152, 1152",
    "1 attn_q_down 96x64: 6528, 6528",
    "1 attn_q_up 192x96: 19584, 19584",
    "1 attn_kv_down 80x64: 5440, 5440",
    "1 attn_kv_up 256x64: 17408, 17408",
    "1 attention 4/1 heads 48/32 latent 64+16: -, -",
    "1 attn_output 64x128: 8704, 8704",
    "1 shared_gate 32x64: 2176, 2176",
    "1 shared_up 32x64: 2176, 2176",
    "1 shared_down 64x32: 2176, 2176",
    "1 router 4x64: 1040, 1040",
    "1 experts_gate 2/4 of 32x64: 8704, 4352",
    "1 experts_up 2/4 of 32x64: 8704, 4352",
    "1 experts_down 2/4 of 64x32: 8704, 4352",
    "- norm 64: 256, 256",
    "- head 100x64: 6800, 6800",
];

#[test]
fn deepseek2_caches_one_latent_and_mixes_shared_and_routed_experts_after_its_dense_layers() {
    let up: &[(&str, &[u64], Dtype)] = &[("attn_kv_b.weight", &[256, 64], Q8_0)];
    let gguf = Gguf::of("deepseek2", &deepseek_keys(&[]))
        .tensor("token_embd.weight", &[100, 64], Q8_0)
        .block(0, LATENT)
        .block(0, up)
        .block(0, FEED_FORWARD)
        .block(1, LATENT)
        .block(1, up)
        .block(1, MIXTURE)
        .tensor("output_norm.weight", &[64], F32)
        .tensor("output.weight", &[100, 64], Q8_0);
    assert_lines(&open("deepseek2", &gguf), DEEPSEEK);
}

#[test]
fn deepseek2_files_with_split_up_projections_and_mla_lengths_are_the_same_model() {
    let up: &[(&str, &[u64], Dtype)] =
        &[("attn_k_b.weight", &[4, 64, 32], Q8_0), ("attn_v_b.weight", &[4, 32, 64], Q8_0)];
    let lengths = [
        ("attention.head_count_kv", Value::U32(1)),
        ("attention.key_length", 80.into()),
        ("attention.value_length", 64.into()),
        ("attention.key_length_mla", 48.into()),
        ("attention.value_length_mla", 32.into()),
    ];
    let gguf = Gguf::of("deepseek2", &deepseek_keys(&lengths))
        .tensor("token_embd.weight", &[100, 64], Q8_0)
        .block(0, LATENT)
        .block(0, up)
        .block(0, FEED_FORWARD)
        .block(1, LATENT)
        .block(1, up)
        .block(1, MIXTURE)
        .tensor("output_norm.weight", &[64], F32)
        .tensor("output.weight", &[100, 64], Q8_0);
    assert_lines(&open("deepseek2-mla", &gguf), DEEPSEEK);
}

#[test]
fn a_latent_key_may_be_rotary_as_a_whole_and_no_more() {
    let hyper = |rope: u32| {
        let lengths = [("rope.dimension_count", rope.into())];
        let gguf =
            Gguf::of("deepseek2", &deepseek_keys(&lengths)).tensor("token_embd.weight", &[100, 64], Q8_0);
        readers::gguf(&gguf.build())
            .map(|header| readers::gguf_architecture(&header.metadata, &header.tensors).map(|_| ()))
    };
    assert_eq!(hyper(48).unwrap().map_err(|fault| fault.to_string()), Ok(()));
    assert!(hyper(49).unwrap().unwrap_err().to_string().contains("49 is more than the key's width 48"));
}

#[test]
fn layers_that_predict_further_tokens_are_not_run() {
    let keys = with(2, &[("nextn_predict_layers", 1.into())]);
    let gguf = Gguf::of("llama", &keys)
        .tensor("token_embd.weight", &[100, 64], Q8_0)
        .block(0, ATTENTION)
        .block(0, FEED_FORWARD)
        .block(1, ATTENTION)
        .block(1, FEED_FORWARD)
        .tensor("output_norm.weight", &[64], F32);
    let model = open("nextn", &gguf);
    assert_eq!(model.architecture.hyper.as_ref().unwrap().layers.len(), 1);
    assert_eq!(lines(&model).last().unwrap(), "- unused unused: 33152, 0");
    let message = "9 tensor(s) belong to layers that ordinary decoding does not run, the first \"blk.1.attn_norm.weight\"";
    assert_eq!(model.warnings, [message]);
}

const GPT2: &[&str] = &[
    "- embedding row of 100x64: 25600, 256",
    "- position_embedding row of 16x64: 4096, 256",
    "0 norm 256: 1024, 1024",
    "0 attn_qkv 192x64: 49920, 49920",
    "0 attention 4/4 heads 16/16: -, -",
    "0 attn_output 64x64: 16640, 16640",
    "0 ffn_up 256x64: 66560, 66560",
    "0 ffn_down 64x256: 65792, 65792",
    "- norm 128: 512, 512",
    "- head 100x64: 25600, 25600",
];

#[test]
fn gpt2_has_learned_positions_biases_and_no_gate() {
    let keys = with(1, &[("context_length", 16.into()), ("feed_forward_length", 256.into())]);
    let keys: Vec<_> = keys.into_iter().filter(|(key, _)| *key != "attention.head_count_kv").collect();
    let gguf = Gguf::of("gpt2", &keys)
        .tensor("token_embd.weight", &[100, 64], F32)
        .tensor("position_embd.weight", &[16, 64], F32)
        .block(
            0,
            &[
                ("attn_norm.weight", &[64], F32),
                ("attn_norm.bias", &[64], F32),
                ("attn_qkv.weight", &[192, 64], F32),
                ("attn_qkv.bias", &[192], F32),
                ("attn_output.weight", &[64, 64], F32),
                ("attn_output.bias", &[64], F32),
                ("ffn_norm.weight", &[64], F32),
                ("ffn_norm.bias", &[64], F32),
                ("ffn_up.weight", &[256, 64], F32),
                ("ffn_up.bias", &[256], F32),
                ("ffn_down.weight", &[64, 256], F32),
                ("ffn_down.bias", &[64], F32),
            ],
        )
        .tensor("output_norm.weight", &[64], F32)
        .tensor("output_norm.bias", &[64], F32);
    assert_lines(&open("gpt2", &gguf), GPT2);
}

#[test]
fn gpt2_from_hugging_face_stores_its_matrices_the_other_way_round() {
    let config =
        r#"{"model_type":"gpt2","n_embd":64,"n_head":4,"n_layer":1,"n_positions":16,"vocab_size":100}"#;
    let tensors: &[(&str, &[u64], Dtype)] = &[
        ("wte.weight", &[100, 64], F32),
        ("wpe.weight", &[16, 64], F32),
        ("h.0.ln_1.weight", &[64], F32),
        ("h.0.ln_1.bias", &[64], F32),
        ("h.0.attn.bias", &[1, 1, 16, 16], F32),
        ("h.0.attn.c_attn.weight", &[64, 192], F32),
        ("h.0.attn.c_attn.bias", &[192], F32),
        ("h.0.attn.c_proj.weight", &[64, 64], F32),
        ("h.0.attn.c_proj.bias", &[64], F32),
        ("h.0.ln_2.weight", &[64], F32),
        ("h.0.ln_2.bias", &[64], F32),
        ("h.0.mlp.c_fc.weight", &[64, 256], F32),
        ("h.0.mlp.c_fc.bias", &[256], F32),
        ("h.0.mlp.c_proj.weight", &[256, 64], F32),
        ("h.0.mlp.c_proj.bias", &[64], F32),
        ("ln_f.weight", &[64], F32),
        ("ln_f.bias", &[64], F32),
    ];
    let model = open_hf("gpt2", config, tensors);
    assert_eq!(model.warnings, Vec::<String>::new());
    let mut expected = GPT2.to_vec();
    expected.push("- constant unused: 1024, 0");
    assert_eq!(lines(&model), expected);
}

const BERT: &[&str] = &[
    "- embedding row of 100x64: 12800, 128",
    "- position_embedding row of 16x64: 2048, 128",
    "- type_embedding row of 2x64: 256, 128",
    "0 norm 256: 512, 512",
    "0 attn_q 64x64: 8320, 8320",
    "0 attn_k 64x64: 8320, 8320",
    "0 attn_v 64x64: 8320, 8320",
    "0 attention 4/4 heads 16/16: -, -",
    "0 attn_output 64x64: 8320, 8320",
    "0 ffn_up 256x64: 33280, 33280",
    "0 ffn_down 64x256: 32896, 32896",
    "- norm 128: 256, 256",
];

#[test]
fn bert_is_an_encoder_without_a_head() {
    let keys = with(1, &[("context_length", 16.into()), ("feed_forward_length", 256.into())]);
    let keys: Vec<_> = keys.into_iter().filter(|(key, _)| *key != "attention.head_count_kv").collect();
    let mut gguf = Gguf::of("bert", &keys)
        .tensor("token_embd.weight", &[100, 64], F16)
        .tensor("position_embd.weight", &[16, 64], F16)
        .tensor("token_types.weight", &[2, 64], F16)
        .tensor("token_embd_norm.weight", &[64], F16)
        .tensor("token_embd_norm.bias", &[64], F16);
    for name in ["attn_q", "attn_k", "attn_v", "attn_output"] {
        gguf = gguf.tensor(&format!("blk.0.{name}.weight"), &[64, 64], F16).tensor(
            &format!("blk.0.{name}.bias"),
            &[64],
            F16,
        );
    }
    for name in ["attn_output_norm", "layer_output_norm"] {
        gguf = gguf.tensor(&format!("blk.0.{name}.weight"), &[64], F16).tensor(
            &format!("blk.0.{name}.bias"),
            &[64],
            F16,
        );
    }
    let gguf = gguf
        .tensor("blk.0.ffn_up.weight", &[256, 64], F16)
        .tensor("blk.0.ffn_up.bias", &[256], F16)
        .tensor("blk.0.ffn_down.weight", &[64, 256], F16)
        .tensor("blk.0.ffn_down.bias", &[64], F16);
    let model = open("bert", &gguf);
    assert_lines(&model, BERT);
    let hyper = model.architecture.hyper.unwrap();
    assert!(hyper.layers.iter().all(|layer| !layer.attention.unwrap().causal));
}

#[test]
fn bert_from_hugging_face_has_a_pooler_that_runs_once_for_a_sequence() {
    let config = r#"{"model_type":"bert","hidden_size":64,"num_attention_heads":4,"num_hidden_layers":1,
        "intermediate_size":256,"max_position_embeddings":16,"type_vocab_size":2,"vocab_size":100}"#;
    let tensors: &[(&str, &[u64], Dtype)] = &[
        ("bert.embeddings.word_embeddings.weight", &[100, 64], Bf16),
        ("bert.embeddings.position_embeddings.weight", &[16, 64], Bf16),
        ("bert.embeddings.token_type_embeddings.weight", &[2, 64], Bf16),
        ("bert.embeddings.LayerNorm.gamma", &[64], Bf16),
        ("bert.embeddings.LayerNorm.beta", &[64], Bf16),
        ("bert.encoder.layer.0.attention.self.query.weight", &[64, 64], Bf16),
        ("bert.encoder.layer.0.attention.self.query.bias", &[64], Bf16),
        ("bert.encoder.layer.0.attention.self.key.weight", &[64, 64], Bf16),
        ("bert.encoder.layer.0.attention.self.key.bias", &[64], Bf16),
        ("bert.encoder.layer.0.attention.self.value.weight", &[64, 64], Bf16),
        ("bert.encoder.layer.0.attention.self.value.bias", &[64], Bf16),
        ("bert.encoder.layer.0.attention.output.dense.weight", &[64, 64], Bf16),
        ("bert.encoder.layer.0.attention.output.dense.bias", &[64], Bf16),
        ("bert.encoder.layer.0.attention.output.LayerNorm.gamma", &[64], Bf16),
        ("bert.encoder.layer.0.attention.output.LayerNorm.beta", &[64], Bf16),
        ("bert.encoder.layer.0.intermediate.dense.weight", &[256, 64], Bf16),
        ("bert.encoder.layer.0.intermediate.dense.bias", &[256], Bf16),
        ("bert.encoder.layer.0.output.dense.weight", &[64, 256], Bf16),
        ("bert.encoder.layer.0.output.dense.bias", &[64], Bf16),
        ("bert.encoder.layer.0.output.LayerNorm.gamma", &[64], Bf16),
        ("bert.encoder.layer.0.output.LayerNorm.beta", &[64], Bf16),
        ("bert.pooler.dense.weight", &[64, 64], Bf16),
        ("bert.pooler.dense.bias", &[64], Bf16),
    ];
    let model = open_hf("bert", config, tensors);
    let mut expected = BERT.to_vec();
    expected.push("- pooler 64x64: 8320, 8320");
    assert_lines(&model, &expected);
}

#[test]
fn llama_from_hugging_face_in_shards() {
    let config = r#"{"model_type":"llama","hidden_size":64,"num_attention_heads":4,"num_key_value_heads":2,
        "num_hidden_layers":1,"intermediate_size":96,"vocab_size":100,"max_position_embeddings":128}"#;
    let first: &[(&str, &[u64], Dtype)] = &[
        ("model.embed_tokens.weight", &[100, 64], Bf16),
        ("model.layers.0.input_layernorm.weight", &[64], Bf16),
        ("model.layers.0.self_attn.q_proj.weight", &[64, 64], Bf16),
        ("model.layers.0.self_attn.k_proj.weight", &[32, 64], Bf16),
        ("model.layers.0.self_attn.v_proj.weight", &[32, 64], Bf16),
        ("model.layers.0.self_attn.o_proj.weight", &[64, 64], Bf16),
    ];
    let second: &[(&str, &[u64], Dtype)] = &[
        ("model.layers.0.post_attention_layernorm.weight", &[64], Bf16),
        ("model.layers.0.mlp.gate_proj.weight", &[96, 64], Bf16),
        ("model.layers.0.mlp.up_proj.weight", &[96, 64], Bf16),
        ("model.layers.0.mlp.down_proj.weight", &[64, 96], Bf16),
        ("model.norm.weight", &[64], Bf16),
        ("lm_head.weight", &[100, 64], Bf16),
    ];
    let shards = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
    let map: Vec<String> = [(first, shards[0]), (second, shards[1])]
        .iter()
        .flat_map(|(tensors, shard)| tensors.iter().map(move |(name, ..)| format!(r#""{name}":"{shard}""#)))
        .collect();
    let index = format!(r#"{{"metadata":{{}},"weight_map":{{{}}}}}"#, map.join(","));
    let directory = files(
        "family-hf-llama",
        &[
            ("config.json", config.as_bytes()),
            ("model.safetensors.index.json", index.as_bytes()),
            (shards[0], &safetensors(first)),
            (shards[1], &safetensors(second)),
        ],
    );
    for path in [directory.clone(), directory.join(shards[1]), directory.join("model.safetensors.index.json")]
    {
        let model = Model::open(path).unwrap();
        assert_eq!(model.files.len(), 2);
        assert_lines(
            &model,
            &[
                "- embedding row of 100x64: 12800, 128",
                "0 norm 128: 256, 256",
                "0 attn_q 64x64: 8192, 8192",
                "0 attn_k 32x64: 4096, 4096",
                "0 attn_v 32x64: 4096, 4096",
                "0 attention 4/2 heads 16/16: -, -",
                "0 attn_output 64x64: 8192, 8192",
                "0 ffn_gate 96x64: 12288, 12288",
                "0 ffn_up 96x64: 12288, 12288",
                "0 ffn_down 64x96: 12288, 12288",
                "- norm 64: 128, 128",
                "- head 100x64: 12800, 12800",
            ],
        );
    }
}

#[test]
fn per_layer_arrays_make_layers_differ_and_no_key_value_heads_mean_no_attention() {
    let more = [
        ("attention.head_count", Value::U32s(vec![4, 2, 4])),
        ("attention.head_count_kv", Value::U32s(vec![2, 1, 0])),
        ("feed_forward_length", Value::U32s(vec![96, 32, 64])),
        ("attention.key_length", 16.into()),
        ("attention.value_length", 16.into()),
    ];
    let gguf = Gguf::of("llama", &with(3, &more))
        .tensor("token_embd.weight", &[100, 64], Q8_0)
        .block(0, ATTENTION)
        .block(0, FEED_FORWARD)
        .block(
            1,
            &[
                ("attn_norm.weight", &[64], F32),
                ("attn_q.weight", &[32, 64], Q8_0),
                ("attn_k.weight", &[16, 64], Q8_0),
                ("attn_v.weight", &[16, 64], Q8_0),
                ("attn_output.weight", &[64, 32], Q8_0),
                ("ffn_norm.weight", &[64], F32),
                ("ffn_gate.weight", &[32, 64], Q8_0),
                ("ffn_up.weight", &[32, 64], Q8_0),
                ("ffn_down.weight", &[64, 32], Q8_0),
            ],
        )
        .block(
            2,
            &[
                ("attn_norm.weight", &[64], F32),
                ("ffn_norm.weight", &[64], F32),
                ("ffn_gate.weight", &[64, 64], Q8_0),
                ("ffn_up.weight", &[64, 64], Q8_0),
                ("ffn_down.weight", &[64, 64], Q8_0),
            ],
        )
        .tensor("output_norm.weight", &[64], F32);
    let model = open("per-layer", &gguf);
    assert_eq!(model.warnings, Vec::<String>::new());
    assert_eq!(
        lines(&model)[10..],
        [
            "1 norm 128: 512, 512",
            "1 attn_q 32x64: 2176, 2176",
            "1 attn_k 16x64: 1088, 1088",
            "1 attn_v 16x64: 1088, 1088",
            "1 attention 2/1 heads 16/16: -, -",
            "1 attn_output 64x32: 2176, 2176",
            "1 ffn_gate 32x64: 2176, 2176",
            "1 ffn_up 32x64: 2176, 2176",
            "1 ffn_down 64x32: 2176, 2176",
            "2 norm 128: 512, 512",
            "2 ffn_gate 64x64: 4352, 4352",
            "2 ffn_up 64x64: 4352, 4352",
            "2 ffn_down 64x64: 4352, 4352",
            "- norm 64: 256, 256",
            "- head 100x64: 6800, 6800",
        ]
    );
    assert_eq!(model.architecture.hyper.as_ref().unwrap().parameters(), model.parameters());
}

#[test]
fn a_label_is_a_recipe_so_only_the_tensors_are_summed() {
    let more = [("embedding_length", 256.into()), ("feed_forward_length", 256.into())];
    let gguf = Gguf::of("llama", &with(1, &more))
        .key("general.file_type", 15)
        .key("general.name", "mostly Q4_K_M")
        .tensor("token_embd.weight", &[100, 256], Q4K)
        .block(
            0,
            &[
                ("attn_norm.weight", &[256], F32),
                ("attn_q.weight", &[256, 256], Q4K),
                ("attn_k.weight", &[128, 256], Q4K),
                ("attn_v.weight", &[128, 256], Dtype::Q6K),
                ("attn_output.weight", &[256, 256], Q4K),
                ("ffn_norm.weight", &[256], F32),
                ("ffn_gate.weight", &[256, 256], Q4K),
                ("ffn_up.weight", &[256, 256], Q4K),
                ("ffn_down.weight", &[256, 256], Dtype::Q6K),
            ],
        )
        .tensor("output_norm.weight", &[256], F32)
        .tensor("output.weight", &[100, 256], Dtype::Q6K);
    let model = open("recipe", &gguf);
    let q4k = 144 * (100 + 256 + 128 + 256 + 256 + 256);
    let q6k = 210 * (128 + 256 + 100);
    assert_eq!(model.bytes(), Some(q4k + q6k + 3 * 1024));
    let read: u64 = model.architecture.operations.iter().filter_map(|each| streamed(&model, each)).sum();
    assert_eq!(read, q4k - 144 * 99 + q6k + 3 * 1024);
    assert_eq!(model.summary, [("general.name".to_owned(), "mostly Q4_K_M".to_owned())]);
}

#[test]
fn an_unknown_name_counts_each_matrix_as_one_product_and_says_what_its_keys_leave_open() {
    let keys = [("block_count", 1.into()), ("expert_used_count", Value::U32(2))];
    let gguf = Gguf::of("newfangled", &keys)
        .tensor("token_embd.weight", &[100, 64], Q8_0)
        .tensor("blk.0.attn_q.weight", &[64, 64], Q8_0)
        .tensor("blk.0.attn_k.weight", &[32, 64], Q8_0)
        .tensor("blk.0.ssm_in.weight", &[128, 64], Q8_0)
        .tensor("blk.0.ffn_up_exps.weight", &[8, 32, 64], Q8_0)
        .tensor("blk.0.attn_norm.weight", &[64], F32);
    let model = open("unknown", &gguf);
    assert_eq!(model.architecture.basis, Basis::Stated);
    assert_eq!(
        model.warnings,
        ["read by its keys and the shapes of its tensors: each matrix is multiplied once for a token"]
    );
    let reasons: Vec<&str> = model
        .architecture
        .operations
        .iter()
        .filter_map(|operation| match &operation.work {
            Work::Undefined { reason } => Some(reason.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(
        reasons,
        ["the file does not say how many heads it has", "the file does not say how large its state is"]
    );
    assert_eq!(
        lines(&model),
        [
            "- embedding row of 100x64: 6800, 68",
            "0 attn_q 64x64: 4352, 4352",
            "0 attn_k 32x64: 2176, 2176",
            "0 attention undefined: -, -",
            "0 recurrence 128x64: 8704, 8704",
            "0 state undefined: -, -",
            "0 experts_up 2/8 of 32x64: 17408, 4352",
            "0 norm 64: 256, 256",
            "- head 100x64: 6800, 6800",
        ]
    );
}

#[test]
fn more_experts_used_than_there_are_make_the_work_undefined() {
    let keys = [("block_count", 1.into()), ("expert_used_count", Value::U32(9))];
    let gguf = Gguf::of("newfangled", &keys).tensor("blk.0.ffn_up_exps.weight", &[8, 32, 64], Q8_0);
    let undefined = "0 experts_up undefined: 17408, -";
    assert!(lines(&open("too-many-used", &gguf)).iter().any(|line| line == undefined));
}

#[test]
fn a_tensor_of_more_dimensions_than_a_convolution_has_is_undefined() {
    let tensors: &[(&str, &[u64], Dtype)] =
        &[("five.weight", &[2, 3, 1, 1, 1], F32), ("six.weight", &[2, 3, 1, 1, 1, 1], F32)];
    let directory = files("family-many-dimensions", &[("m.safetensors", &safetensors(tensors))]);
    let model = Model::open(directory.join("m.safetensors")).unwrap();
    let works: Vec<_> =
        model.architecture.operations.iter().map(|operation| operation.work.clone()).collect();
    let reason = "6 dimensions".to_owned();
    let convolution = Work::Convolution { outputs: 2, inputs: 3, kernel: vec![1, 1, 1] };
    assert_eq!(works, [convolution, Work::Undefined { reason }]);
}

#[test]
fn without_a_config_the_products_are_certain_and_attention_is_undefined() {
    let tensors: &[(&str, &[u64], Dtype)] = &[
        ("model.embed_tokens.weight", &[100, 64], Bf16),
        ("model.layers.0.self_attn.q_proj.weight", &[64, 64], Bf16),
        ("model.layers.0.self_attn.k_proj.weight", &[32, 64], Bf16),
        ("model.layers.0.mlp.experts.0.up_proj.weight", &[32, 64], Bf16),
        ("model.layers.0.mlp.experts.1.up_proj.weight", &[32, 64], Bf16),
        ("lm_head.weight", &[100, 64], Bf16),
    ];
    let directory = files("family-bare", &[("bare.safetensors", &safetensors(tensors))]);
    let model = Model::open(directory.join("bare.safetensors")).unwrap();
    assert_eq!(model.architecture.name, "undefined");
    assert!(model.warnings.iter().any(
        |warning| warning == "there is no config.json beside the file, which would tell the architecture"
    ));
    assert_eq!(
        lines(&model),
        [
            "- embedding row of 100x64: 12800, 128",
            "0 attn_q 64x64: 8192, 8192",
            "0 attn_k 32x64: 4096, 4096",
            "0 attention undefined: -, -",
            "0 experts_up undefined: 8192, -",
            "- head 100x64: 12800, 12800",
        ]
    );
}

#[test]
fn stacks_of_convolutions_and_dense_layers_keep_their_shapes() {
    let tensors: &[(&str, &[u64], Dtype)] = &[
        ("conv1.weight", &[8, 4, 3, 3], F32),
        ("conv1.bias", &[8], F32),
        ("fc.weight", &[10, 512], F32),
        ("fc.bias", &[10], F32),
    ];
    let directory = files("family-conv", &[("net.safetensors", &safetensors(tensors))]);
    let model = Model::open(directory.join("net.safetensors")).unwrap();
    assert_eq!(lines(&model), ["- other conv 8x4 [3, 3]: 1184, 1184", "- other 10x512: 20520, 20520",]);
}

#[test]
fn a_tensor_that_contradicts_the_metadata_is_believed_with_a_warning() {
    let gguf = Gguf::of("llama", &keys(1))
        .tensor("token_embd.weight", &[128, 64], Q8_0)
        .block(0, ATTENTION)
        .block(0, FEED_FORWARD)
        .tensor("output_norm.weight", &[64], F32)
        .tensor("mystery.weight", &[64, 64], F32);
    let model = open("contradiction", &gguf);
    assert_eq!(lines(&model)[0], "- embedding row of 128x64: 8704, 68");
    assert_eq!(
        model.warnings,
        [
            "embedding: the dimensions say 100 x 64, but \"token_embd.weight\" is 128 x 64",
            "head: the dimensions say 100 x 64, but \"token_embd.weight\" is 128 x 64",
            "1 tensor(s) are not part of the llama family and stay undefined, the first \"mystery.weight\"",
        ]
    );
}
