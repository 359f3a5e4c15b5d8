//! What stands beside a language model or a decoder: towers of images, encoders of sound and of text, blocks that predict
//! further tokens. Real names and dimensions, costs worked out by hand; the files are sparse.

use roofline::contracts::hardware::devices::H100_SXM;
use roofline::model::{Dtype, Model, Role, Runs, Work};
use roofline::predict::{Numbers, Target};
use roofline::profile::{Costs, Workload, profile, stack};

use crate::packed::sparse;
use crate::predicted;
use roofline_test_support::scratch::files;
use roofline_test_support::writer::{Gguf, Value};

use Dtype::{Bf16, F16, F32};

fn target() -> Target {
    Target::of(&H100_SXM, None).unwrap()
}

fn profiled(model: &Model, context: u64, prompt: u64) -> Costs {
    let (context, prompt) = (context as f64, prompt as f64);
    let workload = Workload { batch: 1.0, context, prompt, cache_size: 2.0, cache: Numbers::Half };
    predicted::assert_is_profiled(model, &target(), &workload);
    profile(model, &target(), &workload, None).unwrap()
}

#[track_caller]
fn close(what: &str, found: f64, expected: u64) {
    assert!((found / expected as f64 - 1.0).abs() < 1e-3, "{what}: {found} where {expected} is expected");
}

/// A file of a tower and its way to the language model.
fn tower(
    test: &str,
    keys: &[(&str, Value)],
    layers: u64,
    layer: &[(&str, &[u64])],
    outside: &[(&str, &[u64])],
) -> Model {
    let mut gguf = Gguf::of("clip", keys);
    let dtype = |dims: &[u64]| if dims.len() > 1 { F16 } else { F32 };
    for (name, dims) in outside.iter().filter(|(name, _)| name.starts_with("v.")) {
        gguf = gguf.tensor(name, dims, dtype(dims));
    }
    for index in 0..layers {
        for (name, dims) in layer {
            gguf = gguf.tensor(&format!("v.blk.{index}.{name}"), dims, dtype(dims));
        }
    }
    for (name, dims) in outside.iter().filter(|(name, _)| !name.starts_with("v.")) {
        gguf = gguf.tensor(name, dims, dtype(dims));
    }
    let name = format!("{test}.gguf");
    let path = files(&format!("tower-{test}"), &[(&name, &gguf.header())]).join(name);
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(gguf.length()).unwrap();
    Model::open(path).unwrap()
}

#[test]
fn the_tower_of_llava_costs_what_an_image_costs() {
    // CLIP ViT-L/14 of 336 pixels without its last layer, and two matrices to a language model of 4096.
    let vision = |key: &'static str, value: u32| (key, Value::from(value));
    let model = tower(
        "llava",
        &[
            vision("vision.image_size", 336),
            vision("vision.patch_size", 14),
            vision("vision.embedding_length", 1024),
            vision("vision.feed_forward_length", 4096),
            vision("vision.block_count", 23),
            vision("vision.attention.head_count", 16),
        ],
        23,
        &[
            ("attn_q.weight", &[1024, 1024]),
            ("attn_q.bias", &[1024]),
            ("attn_k.weight", &[1024, 1024]),
            ("attn_k.bias", &[1024]),
            ("attn_v.weight", &[1024, 1024]),
            ("attn_v.bias", &[1024]),
            ("attn_out.weight", &[1024, 1024]),
            ("attn_out.bias", &[1024]),
            ("ln1.weight", &[1024]),
            ("ln1.bias", &[1024]),
            ("ffn_down.weight", &[4096, 1024]),
            ("ffn_down.bias", &[4096]),
            ("ffn_up.weight", &[1024, 4096]),
            ("ffn_up.bias", &[1024]),
            ("ln2.weight", &[1024]),
            ("ln2.bias", &[1024]),
        ],
        &[
            ("v.class_embd", &[1024]),
            ("v.patch_embd.weight", &[1024, 3, 14, 14]),
            ("v.position_embd.weight", &[577, 1024]),
            ("v.pre_ln.weight", &[1024]),
            ("v.pre_ln.bias", &[1024]),
            ("mm.0.weight", &[4096, 1024]),
            ("mm.0.bias", &[4096]),
            ("mm.2.weight", &[4096, 4096]),
            ("mm.2.bias", &[4096]),
        ],
    );
    assert!(stack::is_stack(&model));
    let costs = stack::profile(&model, &target(), 1.0, None, None, |_| None).unwrap();
    assert_eq!(costs.undefined().count(), 0);
    let layer = 577 * (4 * 1024 * 1024 + 2 * 1024 * 4096) + 577 * 577 * 2 * 1024;
    let projected = 576 * (1024 * 4096 + 4096 * 4096);
    let flops = 2 * (576 * 1024 * 3 * 14 * 14 + 23 * layer + projected);
    assert_eq!(flops / 1_000_000_000, 390);
    let pass = costs.pass.unwrap();
    close("an image", pass.flops, flops);
    // Every weight is read once for the image, but for the table of positions.
    close("bytes", pass.weight_bytes, model.bytes().unwrap() - 2 * 577 * 1024);
    assert!(
        model.warnings.contains(&"an image of 336 x 336 pixels is 576 patches".to_owned()),
        "{:?}",
        model.warnings
    );
    let two = stack::profile(&model, &target(), 2.0, None, None, |_| None).unwrap().pass.unwrap();
    assert_eq!((two.flops, two.weight_bytes), (2.0 * pass.flops, pass.weight_bytes));
}

#[test]
fn four_patches_may_become_one_token_and_most_layers_see_a_window() {
    // The tower of Qwen2.5-VL, two of its layers: 1280 wide, windows of 8 x 8 patches but in every second layer here.
    let vision = |key: &'static str, value: u32| (key, Value::from(value));
    let model = tower(
        "qwen",
        &[
            vision("vision.image_size", 560),
            vision("vision.patch_size", 14),
            vision("vision.embedding_length", 1280),
            vision("vision.block_count", 2),
            vision("vision.attention.head_count", 16),
            vision("vision.n_wa_pattern", 2),
        ],
        2,
        &[("attn_qkv.weight", &[3840, 1280]), ("attn_out.weight", &[1280, 1280])],
        &[
            ("v.patch_embd.weight", &[1280, 3, 14, 14]),
            ("v.patch_embd.weight.1", &[1280, 3, 14, 14]),
            ("mm.0.weight", &[5120, 5120]),
            ("mm.2.weight", &[3584, 5120]),
        ],
    );
    let costs = stack::profile(&model, &target(), 1.0, None, None, |_| None).unwrap();
    let layers = 2 * 1600 * (3840 * 1280 + 1280 * 1280) + 1600 * (64 + 1600) * 2 * 1280;
    let flops = 2 * (2 * 1600 * 1280 * 588 + layers + 400 * (5120 * 5120 + 3584 * 5120));
    close("an image", costs.pass.unwrap().flops, flops);
}

#[test]
fn the_tower_of_qwen3_vl_hands_three_layers_on_as_tokens_of_four_patches() {
    // Qwen3-VL 8B, one layer of its 27: 48 x 48 patches, and what is handed on after layers 8, 16 and 24 beside the result.
    let vision = |key: &'static str, value: u32| (key, Value::from(value));
    let model = tower(
        "qwen3vl",
        &[
            vision("vision.image_size", 768),
            vision("vision.patch_size", 16),
            vision("vision.embedding_length", 1152),
            vision("vision.attention.head_count", 16),
        ],
        1,
        &[
            ("attn_qkv.weight", &[3456, 1152]),
            ("attn_out.weight", &[1152, 1152]),
            ("ffn_up.weight", &[4304, 1152]),
            ("ffn_down.weight", &[1152, 4304]),
        ],
        &[
            ("v.patch_embd.weight", &[1152, 3, 16, 16]),
            ("v.patch_embd.weight.1", &[1152, 3, 16, 16]),
            ("v.deepstack.8.fc1.weight", &[4608, 4608]),
            ("v.deepstack.8.fc2.weight", &[4096, 4608]),
            ("v.deepstack.16.fc1.weight", &[4608, 4608]),
            ("v.deepstack.16.fc2.weight", &[4096, 4608]),
            ("v.deepstack.24.fc1.weight", &[4608, 4608]),
            ("v.deepstack.24.fc2.weight", &[4096, 4608]),
            ("mm.0.weight", &[4608, 4608]),
            ("mm.2.weight", &[4096, 4608]),
        ],
    );
    let costs = stack::profile(&model, &target(), 1.0, None, None, |_| None).unwrap();
    let layer = 2304 * (4 * 1152 * 1152 + 2 * 1152 * 4304) + 2304 * 2304 * 2 * 1152;
    let handed = 4 * 576 * (4608 * 4608 + 4096 * 4608);
    close("an image", costs.pass.unwrap().flops, 2 * (2 * 2304 * 1152 * 768 + layer + handed));
}

#[test]
fn patches_are_put_together_first_wherever_the_matrix_for_it_lies() {
    // The way from the tower of Mistral Small 3.1 to its language model.
    let vision = |key: &'static str, value: u32| (key, Value::from(value));
    let model = tower(
        "mistral3",
        &[
            vision("vision.image_size", 1540),
            vision("vision.patch_size", 14),
            vision("vision.embedding_length", 1024),
            vision("vision.attention.head_count", 16),
        ],
        0,
        &[],
        &[
            ("v.patch_embd.weight", &[1024, 3, 14, 14]),
            ("mm.1.weight", &[5120, 1024]),
            ("mm.2.weight", &[5120, 5120]),
            ("mm.patch_merger.weight", &[1024, 4096]),
        ],
    );
    let costs = stack::profile(&model, &target(), 1.0, None, None, |_| None).unwrap();
    let projected = 12100 / 4 * (1024 * 4096 + 5120 * 1024 + 5120 * 5120);
    close("an image", costs.pass.unwrap().flops, 2 * (12100 * 1024 * 588 + projected));
}

#[test]
fn images_and_sound_in_one_file_go_their_own_ways() {
    let mut gguf = Gguf::of(
        "clip",
        &[
            ("projector_type", "qwen2.5o".into()),
            ("vision.image_size", 28u32.into()),
            ("vision.patch_size", 14u32.into()),
            ("vision.embedding_length", 64u32.into()),
            ("vision.attention.head_count", 4u32.into()),
            ("audio.embedding_length", 32u32.into()),
            ("audio.attention.head_count", 4u32.into()),
        ],
    );
    for (name, dims) in [
        ("v.patch_embd.weight", &[64, 3, 14, 14][..]),
        ("a.position_embd.weight", &[100, 32]),
        ("mm.0.weight", &[256, 256]),
        ("mm.a.fc.weight", &[128, 32]),
    ] {
        gguf = gguf.tensor(name, dims, F16);
    }
    let path = files("tower-omni", &[("omni.gguf", &gguf.header())]).join("omni.gguf");
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(gguf.length()).unwrap();
    let model = Model::open(path).unwrap();
    let times = |name: &str| {
        let own = |one: &&roofline::model::Operation| model.tensors[one.tensors[0]].name == name;
        model.architecture.operations.iter().find(own).unwrap().runs
    };
    // Four patches are one token; the mean of two frames is one.
    assert_eq!(times("mm.0.weight"), Runs::Input { times: 1 });
    assert_eq!(times("mm.a.fc.weight"), Runs::Input { times: 50 });
}

#[test]
fn a_tower_that_resamples_is_undefined_and_its_total_a_bound() {
    let vision = |key: &'static str, value: u32| (key, Value::from(value));
    let model = tower(
        "resampler",
        &[
            vision("vision.image_size", 448),
            vision("vision.patch_size", 14),
            vision("vision.embedding_length", 64),
            vision("vision.attention.head_count", 4),
        ],
        1,
        &[("attn_q.weight", &[64, 64])],
        &[("v.patch_embd.weight", &[64, 3, 14, 14]), ("resampler.query", &[64, 96])],
    );
    let costs = stack::profile(&model, &target(), 1.0, None, None, |_| None).unwrap();
    let undefined: Vec<&str> = costs.undefined().map(|entry| entry.tensors[0].as_str()).collect();
    assert_eq!(undefined, ["resampler.query"]);
    let missing = Gguf::of("clip", &[vision("vision.patch_size", 14)]).tensor("v.pre_ln.weight", &[64], F32);
    let path = files("tower-missing", &[("m.gguf", &missing.build())]).join("m.gguf");
    let told = Model::open(path).unwrap_err().to_string();
    assert!(told.ends_with("`clip.vision.image_size`: is missing"), "{told}");
}

pub type Tensors = Vec<(String, Vec<u64>)>;

pub fn open(test: &str, config: &str, tensors: &Tensors) -> Model {
    let listed: Vec<(&str, &[u64], Dtype)> =
        tensors.iter().map(|(name, dims)| (name.as_str(), dims.as_slice(), Bf16)).collect();
    Model::open(sparse(&format!("encoder-{test}"), Some(config), &listed)).unwrap()
}

/// Whisper large-v3: 32 layers each, 1280 wide, 20 heads.
pub fn whisper(test: &str) -> Model {
    let mut tensors: Tensors = Vec::new();
    let mut add = |name: String, dims: &[u64]| tensors.push((name, dims.to_vec()));
    let linear = |add: &mut dyn FnMut(String, &[u64]), name: String, rows: u64, cols: u64, bias: bool| {
        add(format!("{name}.weight"), &[rows, cols]);
        if bias {
            add(format!("{name}.bias"), &[rows]);
        }
    };
    for (index, channels) in [(1, 128), (2, 1280)] {
        add(format!("model.encoder.conv{index}.weight"), &[1280, channels, 3]);
        add(format!("model.encoder.conv{index}.bias"), &[1280]);
    }
    add("model.encoder.embed_positions.weight".into(), &[1500, 1280]);
    add("model.decoder.embed_tokens.weight".into(), &[51866, 1280]);
    add("model.decoder.embed_positions.weight".into(), &[448, 1280]);
    for stack in ["encoder", "decoder"] {
        for layer in 0..32 {
            let prefix = format!("model.{stack}.layers.{layer}");
            let attentions: &[&str] =
                if stack == "encoder" { &["self_attn"] } else { &["self_attn", "encoder_attn"] };
            for attention in attentions {
                for (name, bias) in
                    [("q_proj", true), ("k_proj", false), ("v_proj", true), ("out_proj", true)]
                {
                    linear(&mut add, format!("{prefix}.{attention}.{name}"), 1280, 1280, bias);
                }
                linear(&mut add, format!("{prefix}.{attention}_layer_norm"), 1280, 1, true);
            }
            linear(&mut add, format!("{prefix}.fc1"), 5120, 1280, true);
            linear(&mut add, format!("{prefix}.fc2"), 1280, 5120, true);
            linear(&mut add, format!("{prefix}.final_layer_norm"), 1280, 1, true);
        }
        linear(&mut add, format!("model.{stack}.layer_norm"), 1280, 1, true);
    }
    // Weights of normalizations are vectors.
    for (_, dims) in &mut tensors {
        dims.retain(|dim| *dim != 1);
    }
    let config = r#"{"model_type": "whisper", "is_encoder_decoder": true, "d_model": 1280, "encoder_layers": 32,
        "decoder_layers": 32, "encoder_attention_heads": 20, "decoder_attention_heads": 20, "num_mel_bins": 128,
        "max_source_positions": 1500, "max_target_positions": 448, "vocab_size": 51866, "num_hidden_layers": 32}"#;
    open(test, config, &tensors)
}

#[test]
fn whisper_reads_1500_frames_once_and_a_step_runs_its_decoder_alone() {
    let model = whisper("whisper");
    assert_eq!(model.parameters(), 1_543_490_560);
    let (square, inner, table) = (1280u64 * 1280, 2 * 1280 * 5120, 51866 * 1280);
    for context in [100, 448] {
        // The prompt says nothing of how long the sound is.
        let costs = profiled(&model, context, 4);
        assert_eq!(costs.undefined().count(), 0);
        let decode = costs.decode.unwrap();
        let active = 32 * (6 * square + inner) + table;
        close("a step", decode.flops, 2 * (active + 32 * 2 * 1280 * (context + 1500)));
        assert_eq!(decode.cache_bytes, (2 * 32 * 2 * 1280 * (context + 1500)) as f64);
        close("bytes of a step", decode.weight_bytes, 2 * active);
        let read =
            1500 * (32 * (4 * square + inner) + 32 * 2 * square + 1280 * 1280 * 3) + 3000 * 1280 * 128 * 3;
        close("the sound", costs.prefill.unwrap().flops, 2 * (read + 32 * 1500 * 1500 * 2 * 1280));
    }
    let encoder = model.architecture.operations.iter().find(|one| one.role == Role::Other).unwrap();
    assert_eq!(encoder.runs, Runs::Input { times: 3000 }, "the first convolution steps through all frames");
}

/// flan-t5-base: 12 layers each, 768 wide, 12 heads of 64, gated.
pub fn t5(test: &str) -> Model {
    let mut tensors: Tensors = vec![("shared.weight".into(), vec![32128, 768])];
    for (stack, blocks) in
        [("encoder", &["SelfAttention"][..]), ("decoder", &["SelfAttention", "EncDecAttention"])]
    {
        for layer in 0..12 {
            let prefix = format!("{stack}.block.{layer}.layer");
            for (number, attention) in blocks.iter().enumerate() {
                for name in ["q", "k", "v", "o"] {
                    tensors.push((format!("{prefix}.{number}.{attention}.{name}.weight"), vec![768, 768]));
                }
                tensors.push((format!("{prefix}.{number}.layer_norm.weight"), vec![768]));
            }
            let number = blocks.len();
            for (name, dims) in [("wi_0", [2048, 768]), ("wi_1", [2048, 768]), ("wo", [768, 2048])] {
                tensors.push((format!("{prefix}.{number}.DenseReluDense.{name}.weight"), dims.to_vec()));
            }
            tensors.push((format!("{prefix}.{number}.layer_norm.weight"), vec![768]));
        }
        tensors.push((format!("{stack}.final_layer_norm.weight"), vec![768]));
    }
    tensors.push(("lm_head.weight".into(), vec![32128, 768]));
    let config = r#"{"model_type": "t5", "is_encoder_decoder": true, "d_model": 768, "d_kv": 64, "d_ff": 2048,
        "num_layers": 12, "num_decoder_layers": 12, "num_heads": 12, "vocab_size": 32128}"#;
    open(test, config, &tensors)
}

#[test]
fn t5_as_published_is_the_same_as_its_gguf_file() {
    let model = t5("t5");
    let (square, inner, table) = (768u64 * 768, 3 * 768 * 2048, 32128 * 768);
    let (context, prompt) = (100, 1000);
    let costs = profiled(&model, context, prompt);
    assert_eq!(costs.undefined().count(), 0);
    let active = 12 * (6 * square + inner) + table;
    let decode = costs.decode.unwrap();
    close("a step", decode.flops, 2 * (active + 12 * 2 * 768 * (context + prompt)));
    assert_eq!(decode.cache_bytes, (12 * 2 * 2 * 768 * (context + prompt)) as f64);
    let encoder = prompt * 12 * (6 * square + inner) + prompt * prompt * 12 * 2 * 768;
    close("the prompt", costs.prefill.unwrap().flops, 2 * (encoder + table));
}

#[test]
fn towers_and_blocks_that_predict_further_tokens_are_no_part_of_a_token() {
    let config = r#"{"model_type": "qwen2_5_vl", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 256}"#;
    let mut tensors: Tensors = vec![("model.embed_tokens.weight".into(), vec![256, 64])];
    for layer in 0..3 {
        for (name, dims) in [
            ("self_attn.q_proj", [64, 64]),
            ("self_attn.k_proj", [32, 64]),
            ("self_attn.v_proj", [32, 64]),
            ("self_attn.o_proj", [64, 64]),
            ("mlp.gate_proj", [128, 64]),
            ("mlp.up_proj", [128, 64]),
            ("mlp.down_proj", [64, 128]),
        ] {
            // The layer behind the last is one more way to say it.
            tensors.push((format!("model.layers.{layer}.{name}.weight"), dims.to_vec()));
        }
    }
    tensors.push(("lm_head.weight".into(), vec![256, 64]));
    let alone = open("alone", config, &tensors);
    for extra in [
        "visual.blocks.0.attn.qkv.weight",
        "model.visual.merger.mlp.0.weight",
        "mtp.layers.0.self_attn.q_proj.weight",
        "mtp.fc.weight",
        "model.mtp_layers.0.mlp.up_proj.weight",
        "vision_tower.encoder.layers.0.fc1.weight",
        "thinker.audio_tower.layers.0.fc1.weight",
        "talker.model.layers.0.mlp.up_proj.weight",
        "multi_modal_projector.linear_1.weight",
    ] {
        let mut more = tensors.clone();
        more.push((extra.into(), vec![4096, 4096]));
        let model = open("beside", config, &more);
        let (with, without) = (profiled(&model, 16, 16), profiled(&alone, 16, 16));
        assert_eq!(with.decode, without.decode, "{extra}");
        assert_eq!(with.prefill, without.prefill, "{extra}");
        assert_eq!(model.parameters(), alone.parameters() + 4096 * 4096, "{extra}");
    }
    let work =
        |model: &Model| model.architecture.operations.iter().filter(|one| one.work == Work::Unused).count();
    assert_eq!(work(&alone), 1, "the third layer");
}
