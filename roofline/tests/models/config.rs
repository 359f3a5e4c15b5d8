//! `config.json`: dimensions of published models, and complaints that name the field.

use roofline::model::readers::config as read;
use roofline::model::{Attention, Head, Hyper, Model, Width};
use serde_json::{Value, json};

use roofline_test_support::scratch::files;

fn hyper(config: &Value) -> Hyper {
    read(config.to_string().as_bytes()).unwrap().expect("a known family")
}

fn llama() -> Value {
    json!({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
        "max_position_embeddings": 131072, "tie_word_embeddings": false})
}

fn deepseek_v3() -> Value {
    json!({"model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432,
        "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128, "vocab_size": 129280,
        "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
        "v_head_dim": 128, "n_routed_experts": 256, "num_experts_per_tok": 8, "n_shared_experts": 1,
        "moe_intermediate_size": 2048, "first_k_dense_replace": 3, "moe_layer_freq": 1,
        "topk_method": "noaux_tc", "max_position_embeddings": 163840})
}

fn gemma2() -> Value {
    json!({"model_type": "gemma2", "hidden_size": 3584, "intermediate_size": 14336, "num_hidden_layers": 42,
        "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 256, "vocab_size": 256000,
        "sliding_window": 4096, "max_position_embeddings": 8192})
}

fn qwen3_moe() -> Value {
    json!({"model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 48,
        "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 151936,
        "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768, "decoder_sparse_step": 1,
        "mlp_only_layers": [], "sliding_window": null, "use_sliding_window": false, "max_window_layers": 48})
}

fn mixtral() -> Value {
    json!({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000, "num_local_experts": 8,
        "num_experts_per_tok": 2, "sliding_window": null})
}

/// The element counts the publishers' pages state for the checkpoints' SafeTensors files.
fn active_parameters(hyper: &Hyper) -> f64 {
    roofline::predict::inputs(hyper).unwrap().evaluate().unwrap().active_params
}

#[test]
fn parameter_counts_are_those_of_the_published_checkpoints() {
    let small = |model_type: &str, hidden: u64, inner: u64, layers: u64, heads: u64, kv: u64, vocab: u64| {
        json!({"model_type": model_type, "hidden_size": hidden, "intermediate_size": inner,
            "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": kv, "vocab_size": vocab})
    };
    let with = |mut config: Value, field: &str, value: Value| {
        config[field] = value;
        config
    };
    let cases = [
        ("Llama 3.1 8B", llama(), 8_030_261_248),
        ("Llama 2 7B", small("llama", 4096, 11008, 32, 32, 32, 32000), 6_738_415_616),
        ("TinyLlama 1.1B", small("llama", 2048, 5632, 22, 32, 4, 32000), 1_100_048_384),
        ("Mistral 7B", small("mistral", 4096, 14336, 32, 32, 8, 32000), 7_241_732_096),
        ("Mixtral 8x7B", mixtral(), 46_702_792_704),
        (
            "Qwen2.5 0.5B",
            with(small("qwen2", 896, 4864, 24, 14, 2, 151936), "tie_word_embeddings", json!(true)),
            494_032_768,
        ),
        ("Qwen2.5 7B", small("qwen2", 3584, 18944, 28, 28, 4, 152064), 7_615_616_512),
        (
            "Qwen3 8B",
            with(small("qwen3", 4096, 12288, 36, 32, 8, 151936), "head_dim", json!(128)),
            8_190_735_360,
        ),
        ("Qwen3 30B-A3B", qwen3_moe(), 30_532_122_624),
        ("Gemma 2 9B", gemma2(), 9_241_705_984),
        ("Phi-3 mini", small("phi3", 3072, 8192, 32, 32, 32, 32064), 3_821_079_552),
        ("DeepSeek-V3", deepseek_v3(), 671_026_419_200),
        (
            "GPT-2",
            json!({"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024,
                "vocab_size": 50257}),
            124_439_808,
        ),
        (
            "BERT base",
            json!({"model_type": "bert", "hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 12,
                "intermediate_size": 3072, "max_position_embeddings": 512, "type_vocab_size": 2,
                "vocab_size": 30522}),
            109_482_240,
        ),
    ];
    for (name, config, parameters) in cases {
        assert_eq!(hyper(&config).parameters(), parameters, "{name}");
    }
}

#[test]
fn active_parameters_leave_out_the_experts_a_token_is_not_sent_to() {
    // Published: 12.9e9 with the embedding; 3.3e9 and 37e9, the last one without it.
    let active = |config: &Value| (active_parameters(&hyper(config)) / 1e8).round() / 10.0;
    assert_eq!(active(&mixtral()), 12.9);
    assert_eq!(active(&qwen3_moe()), 3.4);
    assert_eq!(active(&deepseek_v3()), 37.6);
    assert_eq!(active_parameters(&hyper(&llama())), hyper(&llama()).parameters() as f64);
}

/// A named field with another value, and the complaint.
#[track_caller]
fn assert_refused(mut config: Value, field: &str, value: Value, expected: &str) {
    if value == json!("absent") {
        config.as_object_mut().unwrap().remove(field);
    } else {
        config[field] = value;
    }
    let fault = read(config.to_string().as_bytes()).expect_err("a bad field").to_string();
    assert_eq!(fault, expected);
}

#[test]
fn missing_and_mistyped_fields_are_named() {
    for field in
        ["hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size"]
    {
        assert_refused(llama(), field, json!("absent"), &format!("`{field}`: is missing"));
        assert_refused(llama(), field, json!(null), &format!("`{field}`: is missing"));
        let whole = format!("`{field}`: must be a whole number, zero or more, but is");
        assert_refused(llama(), field, json!("many"), &format!("{whole} \"many\""));
        assert_refused(llama(), field, json!(-1), &format!("{whole} -1"));
        assert_refused(llama(), field, json!(1.5), &format!("{whole} 1.5"));
        assert_refused(llama(), field, json!([1]), &format!("{whole} an array"));
        assert_refused(llama(), field, json!(1e300), &format!("{whole} 1e+300"));
    }
    assert_refused(mixtral(), "num_key_value_heads", json!("absent"), "`num_key_value_heads`: is missing");
    assert_refused(mixtral(), "num_local_experts", json!("absent"), "`num_local_experts`: is missing");
    assert_refused(
        llama(),
        "tie_word_embeddings",
        json!(1),
        "`tie_word_embeddings`: must be true or false, but is 1",
    );
    assert_refused(llama(), "model_type", json!(7), "`model_type`: must be a string, but is 7");
    assert_refused(llama(), "text_config", json!(7), "`text_config`: must be an object");
}

#[test]
fn contradictions_are_named() {
    assert_refused(
        llama(),
        "num_attention_heads",
        json!(33),
        "`num_attention_heads`: 33 heads do not divide hidden_size 4096",
    );
    assert_refused(
        llama(),
        "num_attention_heads",
        json!(0),
        "`num_attention_heads`: 0 heads do not divide hidden_size 4096",
    );
    assert_refused(
        llama(),
        "num_key_value_heads",
        json!(5),
        "`num_key_value_heads`: layer 0: 32 heads can't share 5 key-value heads evenly",
    );
    assert_refused(
        mixtral(),
        "num_experts_per_tok",
        json!(9),
        "`num_experts_per_tok`: layer 0: must be between 1 and 8, but is 9",
    );
    assert_refused(
        qwen3_moe(),
        "decoder_sparse_step",
        json!(0),
        "`decoder_sparse_step`: must be at least 1, but is 0",
    );
    assert_refused(
        gemma2(),
        "layer_types",
        json!(["full_attention"]),
        "`layer_types`: has 1 elements for 42 layers",
    );
    assert_refused(
        gemma2(),
        "layer_types",
        json!(vec!["linear"; 42]),
        "`layer_types`: \"linear\" is neither \"sliding_attention\" nor \"full_attention\"",
    );
}

#[test]
fn sizes_no_model_has_are_refused() {
    assert_refused(
        llama(),
        "num_hidden_layers",
        json!(1_000_000_000),
        "`num_hidden_layers`: must be between 1 and 4096, but is 1000000000",
    );
    assert_refused(
        llama(),
        "num_hidden_layers",
        json!(0),
        "`num_hidden_layers`: must be between 1 and 4096, but is 0",
    );
    assert_refused(
        llama(),
        "vocab_size",
        json!(u64::MAX),
        "`vocab_size`: must be between 1 and 2147483648, but is 18446744073709551615",
    );
    assert_refused(
        llama(),
        "hidden_size",
        json!(0),
        "`hidden_size`: must be between 1 and 16777216, but is 0",
    );
    let mut huge = mixtral();
    huge["hidden_size"] = json!(1 << 23);
    huge["intermediate_size"] = json!(1 << 23);
    huge["num_local_experts"] = json!(65536);
    huge["head_dim"] = json!(128);
    let fault = read(huge.to_string().as_bytes()).unwrap_err().to_string();
    assert_eq!(fault, "the dimensions make more than 2^53 parameters");
}

#[test]
fn a_complaint_names_the_field_as_the_family_calls_it() {
    let gpt2 = json!({"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 4, "n_inner": 256,
        "vocab_size": 100, "n_positions": 128});
    hyper(&gpt2);
    for (field, most, value) in [
        ("n_layer", 4096, 0),
        ("n_embd", 1 << 24, 1 << 25),
        ("n_inner", 1 << 24, 1 << 25),
        ("n_positions", 1u64 << 40, 1u64 << 41),
    ] {
        let expected = format!("must be between 1 and {most}, but is {value}");
        let mut config = gpt2.clone();
        config[field] = json!(value);
        let fault = read(config.to_string().as_bytes()).unwrap_err().to_string();
        assert!(fault.starts_with(&format!("`{field}`: ")) && fault.ends_with(&expected), "{fault}");
    }
    for (config, field) in [
        (mixtral(), "num_local_experts"),
        (mixtral(), "intermediate_size"),
        (qwen3_moe(), "moe_intermediate_size"),
        (qwen3_moe(), "num_experts"),
        (deepseek_v3(), "n_routed_experts"),
        (deepseek_v3(), "kv_lora_rank"),
        (deepseek_v3(), "q_lora_rank"),
        (llama(), "intermediate_size"),
        (llama(), "num_attention_heads"),
    ] {
        let mut config = config;
        config[field] = json!(1u64 << 40);
        let fault = read(config.to_string().as_bytes()).unwrap_err().to_string();
        assert!(fault.starts_with(&format!("`{field}`: ")), "{field}: {fault}");
    }
}

#[test]
fn what_is_not_an_object_is_refused_with_its_place() {
    for (text, expected) in [
        ("", "not valid JSON: EOF while parsing a value at line 1 column 0"),
        ("[1]", "must be a JSON object"),
        ("{\"a\": }", "not valid JSON: expected value at line 1 column 7"),
        ("{} x", "not valid JSON: trailing characters at line 1 column 4"),
    ] {
        assert_eq!(read(text.as_bytes()).unwrap_err().to_string(), expected);
    }
    let deep = format!("{}{}", "{\"a\":".repeat(100_000), "1");
    assert!(read(deep.as_bytes()).unwrap_err().to_string().contains("recursion limit"));
}

fn windows(config: &Value) -> Vec<Option<u64>> {
    hyper(config).layers.iter().map(|layer| layer.attention.unwrap().window).collect()
}

#[test]
fn each_family_has_its_own_way_to_state_a_window() {
    let mut gemma = gemma2();
    assert_eq!(windows(&gemma)[..4], [Some(4096), None, Some(4096), None]);
    gemma.as_object_mut().unwrap().remove("sliding_window");
    assert_eq!(windows(&gemma)[..4], [Some(4096), None, Some(4096), None], "known without being said");
    gemma["sliding_window_pattern"] = json!(3);
    assert_eq!(windows(&gemma)[..4], [Some(4096), Some(4096), None, Some(4096)]);

    let mut mistral = llama();
    mistral["model_type"] = json!("mistral");
    assert!(windows(&mistral).iter().all(Option::is_none));
    mistral["sliding_window"] = json!(0);
    assert!(windows(&mistral).iter().all(Option::is_none));
    mistral["sliding_window"] = json!(4096);
    assert!(windows(&mistral).iter().all(|window| *window == Some(4096)));

    let mut qwen = llama();
    qwen["model_type"] = json!("qwen2");
    qwen["sliding_window"] = json!(32768);
    assert!(windows(&qwen).iter().all(Option::is_none), "stated but not used");
    qwen["use_sliding_window"] = json!(true);
    qwen["max_window_layers"] = json!(30);
    assert_eq!(windows(&qwen)[28..], [None, None, Some(32768), Some(32768)]);

    let mut types = llama();
    types["model_type"] = json!("gemma3_text");
    types["num_hidden_layers"] = json!(2);
    types["sliding_window"] = json!(512);
    types["layer_types"] = json!(["full_attention", "sliding_attention"]);
    assert_eq!(windows(&types), [None, Some(512)]);
}

#[test]
fn gemma3_keeps_its_language_model_in_an_object_of_its_own_and_leaves_much_to_defaults() {
    let config = json!({"model_type": "gemma3", "vision_config": {"hidden_size": 1152},
        "text_config": {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240,
            "num_hidden_layers": 34, "sliding_window": 1024}});
    let hyper = hyper(&config);
    let attention = hyper.layers[5].attention.unwrap();
    let Attention { heads, kv_heads, key_length, value_length, window, head_norm, .. } = attention;
    assert_eq!((heads, kv_heads, key_length, value_length, window, head_norm), (8, 4, 256, 256, None, true));
    assert_eq!(hyper.layers[4].attention.unwrap().window, Some(1024));
    assert_eq!((hyper.head, hyper.vocab), (Head::Tied, 262_208));
    // Published: 3.88e9 in the language model of Gemma 3 4B.
    assert_eq!((hyper.parameters() as f64 / 1e7).round(), 388.0);
}

#[test]
fn qwen_mixes_in_the_layers_that_it_says_beside_a_shared_expert() {
    let mut config = qwen3_moe();
    config["model_type"] = json!("qwen2_moe");
    config["shared_expert_intermediate_size"] = json!(4096);
    config["decoder_sparse_step"] = json!(2);
    config["mlp_only_layers"] = json!([3]);
    let layers = hyper(&config).layers;
    let mixed: Vec<bool> =
        layers.iter().map(|layer| matches!(layer.feed_forward.width, Width::Experts(_))).collect();
    assert_eq!(mixed[..6], [false, true, false, false, false, true]);
    let Width::Experts(experts) = layers[1].feed_forward.width else { panic!("experts") };
    assert_eq!((experts.shared_length, experts.shared_gate), (4096, true));
    let Width::Experts(experts) = hyper(&qwen3_moe()).layers[1].feed_forward.width else { panic!("experts") };
    assert_eq!((experts.shared_length, experts.shared_gate), (0, false));
}

#[test]
fn deepseek_mixes_after_its_dense_layers() {
    let hyper = hyper(&deepseek_v3());
    let widths: Vec<bool> =
        hyper.layers.iter().map(|layer| matches!(layer.feed_forward.width, Width::Experts(_))).collect();
    assert_eq!(widths[..5], [false, false, false, true, true]);
    let latent = hyper.layers[0].attention.unwrap().latent.unwrap();
    assert_eq!((latent.query_rank, latent.rank, latent.rope_length), (Some(1536), 512, 64));
}

#[test]
fn a_config_alone_is_a_model_without_weights() {
    let directory = files("config-alone", &[("config.json", llama().to_string().as_bytes())]);
    for path in [directory.clone(), directory.join("config.json")] {
        let model = Model::open(path).unwrap();
        assert_eq!(model.parameters(), 8_030_261_248);
        assert_eq!(model.warnings, Vec::<String>::new());
        assert!(model.architecture.operations.iter().all(|operation| operation.tensors.is_empty()));
    }
}

#[test]
fn a_config_alone_must_have_the_fields_of_a_decoder() {
    for (config, found) in [("{}", "is missing"), (r#"{"model_type": "rwkv"}"#, "is \"rwkv\"")] {
        let directory = files("config-unknown", &[("config.json", config.as_bytes())]);
        let message = Model::open(directory.join("config.json")).unwrap_err().to_string();
        let expected = format!(
            "config.json: `model_type`: {found}; without weights the fields of a decoder are needed, or one of these: llama, "
        );
        assert!(message.contains(&expected), "{message}");
    }
}

/// Dimensions of families that nothing but their fields describes, with the parameters they were published with.
const UNNAMED: &[(&str, f64)] = &[
    (
        r#"{"model_type": "gpt_oss", "hidden_size": 2880, "num_hidden_layers": 24, "num_attention_heads": 64,
        "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 2880, "vocab_size": 201088,
        "num_local_experts": 32, "experts_per_token": 4, "sliding_window": 128, "tie_word_embeddings": false}"#,
        20.91,
    ),
    (
        r#"{"model_type": "llama4", "text_config": {"model_type": "llama4_text", "hidden_size": 5120,
        "num_hidden_layers": 48, "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128,
        "intermediate_size": 8192, "intermediate_size_mlp": 16384, "vocab_size": 202048, "num_local_experts": 16,
        "num_experts_per_tok": 1, "interleave_moe_layer_step": 1, "attention_chunk_size": 8192}}"#,
        107.77,
    ),
    (
        r#"{"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32, "num_attention_heads": 71,
        "multi_query": true, "vocab_size": 65024}"#,
        7.22,
    ),
    (
        r#"{"model_type": "glm4_moe", "hidden_size": 4096, "num_hidden_layers": 46, "num_attention_heads": 96,
        "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 10944, "moe_intermediate_size": 1408,
        "n_routed_experts": 128, "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 1,
        "vocab_size": 151552, "tie_word_embeddings": false}"#,
        106.85,
    ),
    (
        r#"{"model_type": "gptj", "n_embd": 4096, "n_layer": 28, "n_head": 16, "vocab_size": 50400,
        "n_positions": 2048, "tie_word_embeddings": false}"#,
        6.05,
    ),
    // Fields of attention and experts in objects of their own.
    (
        r#"{"model_type": "dbrx", "d_model": 6144, "n_layers": 40, "n_heads": 48, "vocab_size": 100352,
        "attn_config": {"kv_n_heads": 8, "clip_qkv": 8},
        "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4}}"#,
        131.6,
    ),
    // The head is the embedding, which no field says.
    (
        r#"{"model_type": "cohere", "hidden_size": 8192, "num_hidden_layers": 40, "num_attention_heads": 64,
        "intermediate_size": 22528, "vocab_size": 256000}"#,
        34.98,
    ),
    (
        r#"{"model_type": "starcoder2", "hidden_size": 3072, "num_hidden_layers": 30, "num_attention_heads": 24,
        "num_key_value_heads": 2, "intermediate_size": 12288, "vocab_size": 49152}"#,
        3.03,
    ),
    // Encoders with a gate.
    (
        r#"{"model_type": "nomic_bert", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_inner": 3072,
        "activation_function": "swiglu", "vocab_size": 30528}"#,
        0.14,
    ),
];

#[test]
fn which_layers_have_a_window_is_said_in_several_ways() {
    let windows = |config: &str| -> Vec<Option<u64>> {
        let hyper = read(config.as_bytes()).unwrap().unwrap();
        hyper.layers.iter().map(|layer| layer.attention.unwrap().window).collect()
    };
    let exaone = r#"{"model_type": "exaone4", "hidden_size": 5120, "num_hidden_layers": 5,
        "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 27392,
        "vocab_size": 102400, "sliding_window": 4096, "sliding_window_pattern": "LLLG"}"#;
    let local = Some(4096);
    assert_eq!(windows(exaone), [local, local, local, None, local]);
    let modern = r#"{"model_type": "modernbert", "hidden_size": 768, "num_hidden_layers": 5,
        "num_attention_heads": 12, "intermediate_size": 1152, "vocab_size": 50368, "local_attention": 128,
        "global_attn_every_n_layers": 3}"#;
    let local = Some(128);
    assert_eq!(windows(modern), [None, local, local, None, local]);
    let wrong = exaone.replace("LLLG", "LLXG");
    let fault = read(wrong.as_bytes()).unwrap_err();
    assert_eq!(fault.to_string(), "`sliding_window_pattern`: `X` is not a known kind");
}

#[test]
fn what_reads_images_is_no_language_model() {
    let clip = r#"{"model_type": "clip", "text_config": {"model_type": "clip_text_model", "hidden_size": 768,
        "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 49408}}"#;
    assert!(read(clip.as_bytes()).unwrap().is_none());
}

#[test]
fn a_decoder_of_any_family_is_read_by_the_fields_that_families_share() {
    for (config, billions) in UNNAMED {
        let hyper = read(config.as_bytes()).unwrap().unwrap();
        let found = (hyper.parameters() as f64 / 1e7).round() / 100.0;
        assert_eq!(found, *billions, "{}", hyper.architecture);
    }
}

#[test]
fn layer_types_say_which_layers_have_a_window_a_chunk_or_a_state() {
    let config = r#"{"model_type": "new", "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
        "num_key_value_heads": 2, "vocab_size": 100, "sliding_window": 32, "attention_chunk_size": 16,
        "layer_types": ["sliding_attention", "full_attention", "chunked_attention", "linear_attention"]}"#;
    let hyper = read(config.as_bytes()).unwrap().unwrap();
    let windows: Vec<_> =
        hyper.layers.iter().map(|layer| layer.attention.map(|attention| attention.window)).collect();
    assert_eq!(windows, [Some(Some(32)), Some(None), Some(Some(16)), None]);
    assert_eq!(hyper.layers[0].attention.unwrap().kv_heads, 2);
}

#[test]
fn a_kind_of_layer_that_nobody_knows_is_named() {
    let config = r#"{"model_type": "new", "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4,
        "vocab_size": 100, "layer_types": ["telepathy"]}"#;
    let fault = read(config.as_bytes()).unwrap_err();
    assert_eq!(fault.to_string(), "`layer_types`: \"telepathy\" is not a known kind");
}

fn kimi_k2() -> Value {
    json!({"model_type": "kimi_k2", "hidden_size": 7168, "intermediate_size": 18432,
        "num_hidden_layers": 61, "num_attention_heads": 64, "num_key_value_heads": 64, "vocab_size": 163840,
        "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
        "v_head_dim": 128, "n_routed_experts": 384, "num_experts_per_tok": 8, "n_shared_experts": 1,
        "moe_intermediate_size": 2048, "first_k_dense_replace": 1, "moe_layer_freq": 1,
        "topk_method": "noaux_tc", "max_position_embeddings": 131072})
}

#[test]
fn kimi_k2_has_the_layers_of_deepseek_v3() {
    let hyper = hyper(&kimi_k2());
    assert_eq!(hyper.parameters(), 1_026_408_232_448);
    // Kimi K2 is published with 32 billion active parameters.
    assert_eq!((active_parameters(&hyper) / 1e9).floor(), 32.0);
}

/// The state of each layer that has one, and whether the layer attends.
fn layers(hyper: &Hyper) -> Vec<(Option<u64>, bool)> {
    let one = |layer: &roofline::model::Layer| {
        let state = layer.recurrence.as_ref().map(|recurrence| recurrence.state.elements);
        (state, layer.attention.is_some())
    };
    hyper.layers.iter().map(one).collect()
}

#[test]
fn layers_with_a_state_have_the_parameters_of_the_published_checkpoints() {
    let mamba = hyper(
        &json!({"model_type": "mamba", "hidden_size": 768, "num_hidden_layers": 24, "state_size": 16,
        "expand": 2, "conv_kernel": 4, "time_step_rank": 48, "intermediate_size": 1536, "vocab_size": 50280}),
    );
    assert_eq!(mamba.parameters(), 129_135_360);
    assert_eq!(layers(&mamba), [(Some(1536 * 16 + 3 * 1536), false); 24]);
    let codestral = hyper(
        &json!({"model_type": "mamba2", "hidden_size": 4096, "num_hidden_layers": 64, "num_heads": 128,
        "head_dim": 64, "state_size": 128, "n_groups": 8, "expand": 2, "conv_kernel": 4, "vocab_size": 32768,
        "tie_word_embeddings": false}),
    );
    assert_eq!(codestral.parameters(), 7_285_403_648);
    assert_eq!(layers(&codestral), [(Some(8192 * 128 + 3 * (8192 + 2 * 8 * 128)), false); 64]);
}

#[test]
fn hybrids_say_which_layers_attend_and_which_keep_a_state() {
    let next = hyper(&json!({"model_type": "qwen3_next", "hidden_size": 2048, "num_hidden_layers": 8,
        "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256, "vocab_size": 151936, "num_experts": 512,
        "num_experts_per_tok": 10, "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512,
        "full_attention_interval": 4, "linear_num_value_heads": 32, "linear_num_key_heads": 16,
        "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4}));
    let state = Some(32 * 128 * 128 + 3 * (2 * 2048 + 4096));
    let period = [(state, false), (state, false), (state, false), (None, true)];
    assert_eq!(layers(&next), [period, period].concat());

    let nemotron = json!({"model_type": "nemotron_h", "hidden_size": 4096, "num_hidden_layers": 4,
        "hybrid_override_pattern": "M-*M", "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
        "intermediate_size": 21504, "vocab_size": 131072, "mamba_num_heads": 128, "mamba_head_dim": 64,
        "ssm_state_size": 128, "n_groups": 8, "conv_kernel": 4});
    let found = hyper(&nemotron);
    let state = Some(8192 * 128 + 3 * (8192 + 2 * 8 * 128));
    assert_eq!(layers(&found), [(state, false), (None, false), (None, true), (state, false)]);
    let widths: Vec<Width> = found.layers.iter().map(|layer| layer.feed_forward.width).collect();
    assert_eq!(widths, [0, 21504, 0, 0].map(Width::Dense));

    let jamba = hyper(&json!({"model_type": "jamba", "hidden_size": 4096, "num_hidden_layers": 8,
        "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 65536,
        "attn_layer_period": 8, "attn_layer_offset": 4, "expert_layer_period": 2, "expert_layer_offset": 1,
        "num_experts": 16, "num_experts_per_tok": 2, "mamba_d_state": 16, "mamba_d_conv": 4, "mamba_expand": 2,
        "mamba_dt_rank": 256}));
    let attends: Vec<usize> = layers(&jamba)
        .iter()
        .enumerate()
        .filter(|(_, (_, attends))| *attends)
        .map(|(index, _)| index)
        .collect();
    assert_eq!(attends, [4]);
    assert_eq!(layers(&jamba)[0].0, Some(8192 * 16 + 3 * 8192));
    let routed = |layer: &roofline::model::Layer| matches!(layer.feed_forward.width, Width::Experts(_));
    assert_eq!(jamba.layers.iter().map(routed).collect::<Vec<_>>(), [false, true].repeat(4));

    let mut wrong = nemotron;
    wrong["hybrid_override_pattern"] = json!("M-*");
    let told = read(wrong.to_string().as_bytes()).unwrap_err().to_string();
    assert_eq!(told, "`hybrid_override_pattern`: has 3 elements for 4 layers");
    wrong["hybrid_override_pattern"] = json!("M-*?");
    let told = read(wrong.to_string().as_bytes()).unwrap_err().to_string();
    assert_eq!(told, "`hybrid_override_pattern`: `?` is not a known kind");
}

#[test]
fn an_encoder_beside_a_decoder_needs_its_weights() {
    let config = json!({"model_type": "t5", "is_encoder_decoder": true, "d_model": 768, "num_layers": 12, "num_heads": 12,
        "d_kv": 64, "d_ff": 2048, "vocab_size": 32128});
    let directory = files("config-t5", &[("config.json", config.to_string().as_bytes())]);
    let told = Model::open(directory).unwrap_err().to_string();
    assert!(told.contains("`is_encoder_decoder`: is true") && told.contains("its weights"), "{told}");
}
