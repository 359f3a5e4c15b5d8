//! Published speeds that refuted the ceilings of earlier versions. None exceeds its ceiling any
//! more, and all ceilings are within a given ratio of the speed.

use roofline::contracts::hardware::devices::{self, Device};
use roofline::contracts::quantization::formats::{F8_E4M3, Format, NF4, NVFP4, Q4_0, Q8_0};
use roofline::contracts::transformer::{Inputs, Outputs};
use roofline::model::Dtype::{self, Bf16, F32, Mxfp4, Q6K, Q8_0 as Q8};
use roofline::model::{Model, ModelDims, by_name};
use roofline::predict::{
    DeviceProfile, Numbers, WeightPrecision, bits_per_weight, dense, inputs, predict, with_bits,
};
use roofline::profile::{Costs, Workload, profile};

use crate::cases::{self, DECODERS, ENCODERS};
use crate::packed::mistral_in_awq_and_nf4;
use crate::predicted::assert_is_profiled;
use roofline_test_support::scratch;
use roofline_test_support::writer::Gguf;

const LLAMA_CPP_15013: &str = "https://github.com/ggml-org/llama.cpp/discussions/15013";
const TENSORRT_LLM: &str =
    "https://github.com/NVIDIA/TensorRT-LLM/blob/00f37686/docs/source/performance/perf-overview.md";
const DGX_SPARK: &str =
    "https://github.com/ggml-org/llama.cpp/blob/b21e4de745/benches/dgx-spark/dgx-spark.md";
const STRIX_HALO: &str =
    "https://github.com/kyuz0/amd-strix-halo-toolboxes/blob/d1a34be/benchmark/results-mtp/summary.json";
const AUTO_AWQ: &str = "https://github.com/casper-hansen/AutoAWQ/pull/365";

/// Published speed.
struct Row {
    what: &'static str,
    source: &'static str,
    tokens_per_s: f64,
    /// Ceiling of the same work.
    ceiling: f64,
    /// Refuted ceiling of an earlier version, if it is reproduced here.
    before: Option<f64>,
    /// Maximum ratio of ceiling to speed.
    loosest: f64,
}

fn model(name: &str, format: &Format) -> Inputs {
    let model_dims = ModelDims::from_known(by_name(name).unwrap()).unwrap();
    with_bits(inputs(&model_dims).unwrap(), bits_per_weight(format).unwrap())
}

fn on(device: &Device, inputs: Inputs, stored: &WeightPrecision) -> Outputs {
    predict(inputs, stored, &DeviceProfile::from_device(device, None).unwrap()).unwrap().outputs
}

/// Prompts of 512 tokens for Llama 2 7B in Q4_0, whose products use int8 units.
fn prompt_of_512(what: &'static str, device: &Device, tokens_per_s: f64) -> Row {
    let inputs = Inputs { prompt: 512.0, ..model("llama_2_7b", &Q4_0) };
    Row {
        what,
        source: LLAMA_CPP_15013,
        tokens_per_s,
        ceiling: on(device, inputs, &WeightPrecision::from_format(&Q4_0)).prefill_ceiling,
        before: Some(
            device.fp16.unwrap() * 1e9 * 512.0
                / on(device, inputs, &WeightPrecision::from_format(&Q4_0)).prefill_flops,
        ),
        loosest: 5.0,
    }
}

/// Output tokens of a server at full load: with enough sequences to make the weights negligible, each with its prompt and an
/// 8-bit cache.
fn served(
    what: &'static str,
    device: &Device,
    (name, format): (&str, &Format),
    [prompt, made]: [f64; 2],
    tokens_per_s: f64,
    loosest: f64,
) -> Row {
    let stored = WeightPrecision { cache: Numbers::Fp8, ..WeightPrecision::from_format(format) };
    let speed = |stored: &WeightPrecision, cache_size: f64| {
        let context = prompt + made / 2.0;
        let work = Inputs { batch: 65_536.0, context, prompt, cache_size, ..model(name, format) };
        let outputs = on(device, work, stored);
        let arithmetic = outputs.decode_compute_time / work.batch
            + prompt / made * outputs.prefill_compute_time / outputs.prompt_tokens;
        1.0 / arithmetic.max(outputs.decode_memory_time / work.batch)
    };
    // Arithmetic in 16 bits, and a cache in 16 bits.
    let before = speed(&WeightPrecision::all(Numbers::Half), 2.0);
    let ceiling = speed(&stored, 1.0);
    Row { what, source: TENSORRT_LLM, tokens_per_s, ceiling, before: Some(before), loosest }
}

/// Decode steps of Qwen3 30B A3B in Q8_0 with 528 cached tokens per sequence.
fn experts(what: &'static str, batch: f64, tokens_per_s: f64) -> Row {
    let inputs = Inputs { batch, context: 528.0, ..model("qwen3_30b_a3b", &Q8_0) };
    let outputs = on(&devices::DGX_SPARK_GB10, inputs, &WeightPrecision::from_format(&Q8_0));
    // Random routing yields an ideal time rather than a ceiling.
    Row {
        what,
        source: DGX_SPARK,
        tokens_per_s,
        ceiling: outputs.decode_ceiling,
        before: Some(outputs.decode_ideal),
        loosest: 10.0,
    }
}

fn profiled(device: &Device, model: &Model, prompt: f64) -> Costs {
    let target = DeviceProfile::from_device(device, None).unwrap();
    let workload = Workload { batch: 1.0, context: 128.0, prompt, cache_size: 2.0, cache: Numbers::Half };
    assert_is_profiled(model, &target, &workload);
    profile(model, &target, &workload, None).unwrap()
}

#[test]
fn published_speeds_do_not_exceed_their_ceilings() {
    let [awq, _] = mistral_in_awq_and_nf4("refuted");
    // Qwen3.6 27B: all weights are read once per pass of four tokens.
    let strix = |tokens_per_pass| {
        let inputs = with_bits(dense(27.32e9), bits_per_weight(&Q8_0).unwrap());
        let inputs = Inputs { tokens_per_pass, ..inputs };
        on(&devices::STRIX_HALO_RYZEN_AI_MAX_395, inputs, &WeightPrecision::from_format(&Q8_0)).decode_ceiling
    };
    let rows = [
        prompt_of_512("RTX 4090, Llama 2 7B Q4_0, pp512", &devices::RTX_4090, 14_770.63),
        prompt_of_512("RTX 3090, Llama 2 7B Q4_0, pp512", &devices::RTX_3090, 5560.06),
        served(
            "B200, Llama 3.3 70B FP4, 128/128",
            &devices::B200_HGX,
            ("llama_3_1_70b", &NVFP4),
            [128.0, 128.0],
            11_147.0,
            4.0,
        ),
        served(
            "H200, Llama 3.3 70B FP8, 128/128",
            &devices::H200_SXM,
            ("llama_3_1_70b", &F8_E4M3),
            [128.0, 128.0],
            3803.0,
            3.0,
        ),
        served(
            "H100, Llama 3.1 8B FP8, 128/4096, cache in 8 bits",
            &devices::H100_SXM,
            ("llama_3_1_8b", &F8_E4M3),
            [128.0, 4096.0],
            14_325.0,
            3.0,
        ),
        experts("DGX Spark, Qwen3 30B A3B Q8_0, batch 16", 16.0, 231.44),
        experts("DGX Spark, Qwen3 30B A3B Q8_0, batch 32", 32.0, 346.53),
        Row {
            what: "Strix Halo, Qwen3.6 27B Q8, three tokens drafted",
            source: STRIX_HALO,
            tokens_per_s: 13.5,
            ceiling: strix(4.0),
            before: Some(strix(1.0)),
            loosest: 4.0,
        },
        Row {
            what: "RTX 4090, Mistral 7B AWQ",
            source: AUTO_AWQ,
            tokens_per_s: 183.0,
            ceiling: profiled(&devices::RTX_4090, &awq, 512.0).decode.unwrap().ceiling_per_s,
            // 32-bit words were counted as parameters.
            before: Some(40.8),
            loosest: 2.0,
        },
    ];
    for Row { what, source, tokens_per_s, ceiling, before, loosest } in rows {
        assert!(tokens_per_s <= ceiling, "{what}: {tokens_per_s} of {source} exceeds the ceiling {ceiling}");
        assert!(ceiling <= loosest * tokens_per_s, "{what}: {ceiling} is too loose for {tokens_per_s}");
        assert!(before.is_none_or(|before| before < tokens_per_s), "{what}: {before:?} was not refuted");
    }
}

#[test]
fn prefill_of_nf4_files_uses_the_unpacked_matrices() {
    let [_, nf4] = mistral_in_awq_and_nf4("refuted-column");
    let found = profiled(&devices::H100_SXM, &nf4, 512.0).prefill.unwrap().ceiling_per_s;
    let inputs = Inputs { prompt: 512.0, ..model("mistral_7b", &NF4) };
    let expected = on(&devices::H100_SXM, inputs, &WeightPrecision::from_format(&NF4)).prefill_ceiling;
    // Embedding and head stay in 16 bits. An earlier version counted columns as rows and predicted 479.
    assert!((found / expected - 1.0).abs() < 0.02, "expected {expected}, found {found}");
    assert!(found > 100.0 * 479.0, "{found}");
}

#[test]
fn tokens_read_only_the_weights_they_use() {
    let (large, base, air) = (1280u64, 768u64, 4096u64);
    let attention = 2 * 96 * 128 * air + 2 * 8 * 128 * air;
    let expert = 3 * air * 1408;
    for (table, name, params) in [
        // Six attention matrices per decoder layer, since cross-attention keys and values are computed once.
        (ENCODERS, "Whisper large-v3", 32 * (6 * large * large + 2 * large * 5120) + 51_866 * large),
        (ENCODERS, "flan-t5-base", 12 * (6 * base * base + 3 * base * 2048) + 32_128 * base),
        (
            DECODERS,
            "GLM-4.5 does not execute its multi-token prediction block",
            46 * attention + 3 * air * 10_944 + 45 * (128 * air + 9 * expert) + 151_552 * air,
        ),
        (
            ENCODERS,
            "Qwen2.5-VL 7B",
            28 * (2 * 3584 * 3584 + 2 * 512 * 3584 + 3 * 3584 * 18_944) + 152_064 * 3584,
        ),
    ] {
        let model = cases::model(table, name, &format!("refuted {name}"));
        let costs = profiled(&devices::H100_SXM, &model, 16.0);
        let (found, expected) = (costs.decode.unwrap().weight_bytes, 2.0 * params as f64);
        // Vectors may or may not be counted.
        assert!((found / expected - 1.0).abs() < 1e-3, "{name}: expected {expected} bytes, found {found}");
        assert!(model.bytes().unwrap() as f64 > 1.05 * found, "{name}: the file has more");
    }
}

#[test]
fn ceilings_exclude_activations_of_large_batches() {
    for batch in [1.0, 1024.0] {
        let inputs = Inputs { batch, context: 64.0, ..model("llama_3_1_8b", &Q8_0) };
        let outputs = on(&devices::H100_SXM, inputs, &WeightPrecision::from_format(&Q8_0));
        assert_eq!(outputs.decode_bytes, outputs.pass_weight_bytes + outputs.cache_bytes);
        let estimated = outputs.decode_ideal_bytes / outputs.decode_bytes - 1.0;
        assert_eq!(estimated > 0.15, batch > 1.0, "{estimated} more with a batch of {batch}");
    }
}

/// Qwen3 30B A3B with separate types for experts, head and the rest.
fn qwen3_30b(test: &str, expert: Dtype, rest: Dtype, head: Dtype, table: Dtype) -> Model {
    let keys = [
        ("block_count", 48),
        ("context_length", 40_960),
        ("embedding_length", 2048),
        ("feed_forward_length", 6144),
        ("attention.head_count", 32),
        ("attention.head_count_kv", 4),
        ("attention.key_length", 128),
        ("attention.value_length", 128),
        ("expert_count", 128),
        ("expert_used_count", 8),
        ("expert_feed_forward_length", 768),
        ("vocab_size", 151_936),
    ]
    .map(|(key, value): (&str, u32)| (key, value.into()));
    let mut gguf = Gguf::of("qwen3moe", &keys).tensor("token_embd.weight", &[151_936, 2048], table);
    for layer in 0..48 {
        for (name, dims, dtype) in [
            ("attn_norm", &[2048][..], F32),
            ("attn_q", &[4096, 2048], rest),
            ("attn_k", &[512, 2048], rest),
            ("attn_v", &[512, 2048], rest),
            ("attn_output", &[2048, 4096], rest),
            ("ffn_norm", &[2048], F32),
            ("ffn_gate_inp", &[128, 2048], F32),
            ("ffn_gate_exps", &[128, 768, 2048], expert),
            ("ffn_up_exps", &[128, 768, 2048], expert),
            ("ffn_down_exps", &[128, 2048, 768], expert),
        ] {
            gguf = gguf.tensor(&format!("blk.{layer}.{name}.weight"), dims, dtype);
        }
    }
    gguf = gguf.tensor("output_norm.weight", &[2048], F32).tensor("output.weight", &[151_936, 2048], head);
    let directory = scratch::files(&format!("refuted-{test}"), &[("m.gguf", &gguf.header())]);
    Model::open_headers(directory.join("m.gguf")).unwrap()
}

#[test]
fn mixed_files_are_predicted_by_tensor() {
    let bits = |dtype: Dtype| {
        let (weights, bytes) = dtype.block().unwrap();
        8.0 * bytes as f64 / weights as f64
    };
    for (name, expert, rest, head, table) in [
        ("mxfp4", Mxfp4, Bf16, Bf16, Bf16),
        ("q8", Q8, Bf16, Q8, Bf16),
        ("tq1", Dtype::Tq1_0, Dtype::Q4K, Q6K, Dtype::Q4K),
    ] {
        let model = qwen3_30b(name, expert, rest, head, table);
        let decode = profiled(&devices::DGX_SPARK_GB10, &model, 16.0).decode.unwrap();
        let (experts, attention) = (8.0 * 3.0 * 768.0 * 2048.0, (2.0 * 4096.0 + 2.0 * 512.0) * 2048.0);
        let vectors = 48.0 * 2.0 * 2048.0 + 2048.0;
        let expected = (48.0 * (experts * bits(expert) + attention * bits(rest) + 128.0 * 2048.0 * 32.0)
            + 151_936.0 * 2048.0 * bits(head)
            + vectors * 32.0)
            / 8.0;
        assert!((decode.weight_bytes / expected - 1.0).abs() < 1e-9, "{name}: {}", decode.weight_bytes);
        // The experts dominate the average over the file, but a token reads few of them.
        let params = 48.0 * (experts + attention + 128.0 * 2048.0) + 151_936.0 * 2048.0 + vectors;
        let average = model.bytes().unwrap() as f64 / model.parameters() as f64;
        assert!(expected / (params * average) > 1.05, "{name}: {}", expected / (params * average));
    }
}
