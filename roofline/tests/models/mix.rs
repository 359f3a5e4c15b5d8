//! Quantization mixes compared with published file sizes.

use roofline::model::{Dtype, Model, QuantMix};
use roofline::predict::{Numbers, inputs_for_mix};
use roofline::profile;

use roofline_test_support::scratch::files;
use roofline_test_support::writer::Gguf;

/// Layers, hidden size, heads, KV heads, inner size, vocabulary; the head size is 128.
type Dimensions = [u64; 6];

const LLAMA_2_7B: Dimensions = [32, 4096, 32, 32, 11008, 32000];
const LLAMA_2_13B: Dimensions = [40, 5120, 40, 40, 13824, 32000];
const LLAMA_3_8B: Dimensions = [32, 4096, 32, 8, 14336, 128_256];
const LLAMA_3_70B: Dimensions = [80, 8192, 64, 8, 28672, 128_256];
const LLAMA_3_2_3B: Dimensions = [28, 3072, 24, 8, 8192, 128_256];
const MISTRAL_7B: Dimensions = [32, 4096, 32, 8, 14336, 32000];

/// Bytes to three digits: for Llama 3 the GiB that llama-bench prints; for Llama 2 and Mistral the GB in the tables of
/// TheBloke/Llama-2-7B-GGUF, TheBloke/Llama-2-13B-GGUF and TheBloke/Mistral-7B-v0.1-GGUF.
const PUBLISHED: &[(Dimensions, bool, &str, f64)] = &[
    (LLAMA_3_8B, false, "q4_k_m", 4_917_737_553.0),
    (LLAMA_3_8B, false, "Q4_K_S", 4_681_514_352.0),
    (LLAMA_3_8B, false, "q3_k_s", 3_661_459_619.0),
    (LLAMA_3_70B, false, "q4_k_m", 42_509_438_812.0),
    (LLAMA_3_2_3B, true, "q4_k_m", 2_007_897_210.0),
    (LLAMA_2_7B, false, "q5_k_m", 4.78e9),
    (LLAMA_2_7B, false, "q3_k_m", 3.30e9),
    (LLAMA_2_7B, false, "q3_k_l", 3.60e9),
    (LLAMA_2_13B, false, "q4_k_m", 7.87e9),
    (LLAMA_2_7B, false, "q4_0", 3.83e9),
    (LLAMA_2_13B, false, "q5_0", 8.97e9),
    (MISTRAL_7B, false, "q4_k_m", 4.37e9),
    (MISTRAL_7B, false, "q4_0", 4.11e9),
];

fn open(index: usize, [layers, hidden, heads, kv_heads, inner, vocab]: Dimensions, tied: bool) -> Model {
    let keys = [
        ("block_count", layers),
        ("embedding_length", hidden),
        ("feed_forward_length", inner),
        ("attention.head_count", heads),
        ("attention.head_count_kv", kv_heads),
        ("vocab_size", vocab),
    ]
    .map(|(key, value)| (key, (value as u32).into()));
    let mut gguf = Gguf::of("llama", &keys).tensor("token_embd.weight", &[vocab, hidden], Dtype::Bf16);
    for layer in 0..layers {
        for (name, dims) in [
            ("attn_norm", &[hidden][..]),
            ("attn_q", &[hidden, hidden]),
            ("attn_k", &[kv_heads * 128, hidden]),
            ("attn_v", &[kv_heads * 128, hidden]),
            ("attn_output", &[hidden, hidden]),
            ("ffn_norm", &[hidden]),
            ("ffn_gate", &[inner, hidden]),
            ("ffn_up", &[inner, hidden]),
            ("ffn_down", &[hidden, inner]),
        ] {
            let dtype = if dims.len() > 1 { Dtype::Bf16 } else { Dtype::F32 };
            gguf = gguf.tensor(&format!("blk.{layer}.{name}.weight"), dims, dtype);
        }
    }
    gguf = gguf.tensor("output_norm.weight", &[hidden], Dtype::F32);
    if !tied {
        gguf = gguf.tensor("output.weight", &[vocab, hidden], Dtype::Bf16);
    }
    let directory = files(&format!("mix-{index}"), &[("m.gguf", &gguf.header())]);
    Model::open_headers(directory.join("m.gguf")).unwrap()
}

#[test]
fn mixes_have_their_published_sizes() {
    for (index, (dimensions, tied, name, published)) in PUBLISHED.iter().enumerate() {
        let model = open(index, *dimensions, *tied).requantized(QuantMix::by_name(name).unwrap());
        let bytes = model.bytes().unwrap() as f64;
        assert!(
            (bytes / published - 1.0).abs() < 0.005,
            "{name} of {dimensions:?}: {bytes}, not {published}"
        );
        assert!(model.data(&model.tensors[0]).is_none(), "the weights are not accessible");
    }
}

/// Bits per weight of Llama 3.1 8B in the table of llama.cpp's tools/quantize/README.md.
const LLAMA_3_1_8B: &[(&str, f64)] = &[
    ("iq1_s", 2.0042),
    ("iq1_m", 2.1460),
    ("iq2_xxs", 2.3824),
    ("iq2_xs", 2.5882),
    ("iq2_s", 2.7403),
    ("iq2_m", 2.9294),
    ("iq3_xxs", 3.2548),
    ("iq3_xs", 3.4977),
    ("iq3_s", 3.6606),
    ("iq3_m", 3.7628),
    ("iq4_xs", 4.4597),
    ("iq4_nl", 4.6818),
    ("q2_k_s", 2.9697),
    ("q2_k", 3.1593),
    ("q3_k_s", 3.6429),
    ("q3_k_m", 3.9960),
    ("q3_k_l", 4.2979),
    ("q4_k_s", 4.6672),
    ("q4_k_m", 4.8944),
    ("q5_k_s", 5.5704),
    ("q5_k_m", 5.7036),
];

#[test]
fn mixes_have_the_bits_per_weight_of_llama_cpp() {
    for (name, published) in LLAMA_3_1_8B {
        let model = open(200, LLAMA_3_8B, false).requantized(QuantMix::by_name(name).unwrap());
        let bits = 8.0 * model.bytes().unwrap() as f64 / model.parameters() as f64;
        assert!((bits - published).abs() < 1e-4, "{name}: {bits}, not {published}");
    }
}

/// GB in the table of bartowski/Mixtral-8x22B-v0.1-GGUF.
const MIXTRAL_8X22B: &[(&str, f64)] = &[
    ("q5_k_m", 99.96),
    ("q5_k_s", 96.97),
    ("q4_k_m", 85.58),
    ("q4_k_s", 80.47),
    ("q3_k_l", 72.57),
    ("q3_k_m", 67.78),
    ("q3_k_s", 61.49),
];

#[test]
fn mixes_of_eight_experts_have_their_published_sizes() {
    let (layers, hidden, inner, vocab) = (56, 6144, 16384, 32000);
    let keys = [
        ("block_count", layers),
        ("embedding_length", hidden),
        ("feed_forward_length", inner),
        ("attention.head_count", 48),
        ("attention.head_count_kv", 8),
        ("vocab_size", vocab),
        ("expert_count", 8),
        ("expert_used_count", 2),
    ]
    .map(|(key, value)| (key, (value as u32).into()));
    let mut gguf = Gguf::of("llama", &keys);
    for (name, dims) in [("token_embd", &[vocab, hidden][..]), ("output_norm", &[hidden])] {
        gguf = gguf.tensor(&format!("{name}.weight"), dims, Dtype::F16);
    }
    for layer in 0..layers {
        for (name, dims) in [
            ("attn_norm", &[hidden][..]),
            ("attn_q", &[hidden, hidden]),
            ("attn_k", &[1024, hidden]),
            ("attn_v", &[1024, hidden]),
            ("attn_output", &[hidden, hidden]),
            ("ffn_norm", &[hidden]),
            ("ffn_gate_inp", &[8, hidden]),
            ("ffn_gate_exps", &[8, inner, hidden]),
            ("ffn_up_exps", &[8, inner, hidden]),
            ("ffn_down_exps", &[8, hidden, inner]),
        ] {
            gguf = gguf.tensor(&format!("blk.{layer}.{name}.weight"), dims, Dtype::F16);
        }
    }
    gguf = gguf.tensor("output.weight", &[vocab, hidden], Dtype::F16);
    let path = files("mix-experts", &[("m.gguf", &gguf.header())]).join("m.gguf");
    for (name, published) in MIXTRAL_8X22B {
        let model = Model::open_headers(&path).unwrap().requantized(QuantMix::by_name(name).unwrap());
        let gigabytes = model.bytes().unwrap() as f64 / 1e9;
        assert!((gigabytes / published - 1.0).abs() < 5e-4, "{name}: {gigabytes}, not {published}");
    }
}

#[test]
fn mixes_differ_by_layer_and_have_a_six_bit_head() {
    let model = open(99, LLAMA_3_8B, false).requantized(QuantMix::by_name("q4_k_m").unwrap());
    let dtype = |name: &str| model.tensors.iter().find(|tensor| tensor.name == name).unwrap().dtype;
    assert_eq!(dtype("output.weight"), Dtype::Q6K);
    assert_eq!(dtype("token_embd.weight"), Dtype::Q4K);
    assert_eq!(dtype("blk.0.attn_norm.weight"), Dtype::F32);
    // Four layers at both ends, and every third layer between them.
    let more: Vec<u64> =
        (0..32).filter(|layer| dtype(&format!("blk.{layer}.ffn_down.weight")) == Dtype::Q6K).collect();
    assert_eq!(more, [0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 28, 29, 30, 31]);
    assert_eq!(dtype("blk.4.attn_v.weight"), Dtype::Q4K);
    assert_eq!(QuantMix::by_name("q4_k"), None, "a type is not a mix");
    assert_eq!(QuantMix::by_name("q8_0"), None, "a uniform type is not a mix");
}

#[test]
fn predictions_of_mixes_match_files_in_the_mix() {
    for (index, (dimensions, tied, name, _)) in PUBLISHED.iter().enumerate() {
        let mix = QuantMix::by_name(name).unwrap();
        let model = open(100 + index, *dimensions, *tied).requantized(mix);
        let (file, stored) = profile::inputs(&model, None).unwrap();
        let (predicted, kinds) = inputs_for_mix(mix, &model.architecture.operations).unwrap();
        for (name, found, expected) in [
            ("dense", predicted.dense_bits, file.dense_bits),
            ("head", predicted.head_bits, file.head_bits),
            ("lookup", predicted.lookup_bits, file.lookup_bits),
        ] {
            assert!(
                (found / expected - 1.0).abs() < 1e-9,
                "{name} of {dimensions:?}: {found}, not {expected}"
            );
        }
        assert_eq!((predicted.head_params, predicted.dense_params), (file.head_params, file.dense_params));
        assert_eq!((kinds.most(), stored.most()), (Numbers::Narrow, Numbers::Narrow));
        // The head has six bits, and the embedding is not read as a whole.
        assert_eq!(predicted.head_bits, 6.5625);
        let (all, read) = (model.bytes().unwrap() as f64, predicted.evaluate().unwrap().pass_weight_bytes);
        let [_, hidden, .., vocab] = *dimensions;
        let table = if *tied { 0.0 } else { (vocab * hidden) as f64 * file.lookup_bits / 8.0 };
        assert!(
            (read / (all - table) - 1.0).abs() < 1e-9,
            "{name} of {dimensions:?}: {read}, not {all} - {table}"
        );
    }
}
