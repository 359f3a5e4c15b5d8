//! Profiles of model files: hand-computed costs, sums compared with the contract's totals, and the command.

use std::path::{Path, PathBuf};
use std::process::Output;

use roofline::contracts::hardware::devices::H100_SXM;
use roofline::contracts::transformer::Inputs;
use roofline::model::Dtype::{self, F16, F32, Q8_0};
use roofline::model::{Architecture, Format, KNOWN_MODELS, Model, ModelDims};
use roofline::predict::{DeviceProfile, Numbers, WeightPrecision, inputs, predict};
use roofline::profile::{By, Cost, Costs, Phase, Profile, Workload, profile};
use roofline::report::{Report, Saved, TextValue};
use roofline::vocabulary::Bound;

use crate::program::{command, err, out};
use roofline_test_support::scratch;
use roofline_test_support::small::{self, llama};
use roofline_test_support::writer::{Gguf, safetensors};

fn file(test: &str, gguf: &Gguf) -> PathBuf {
    scratch::files(&format!("profile-{test}"), &[("m.gguf", &gguf.build())]).join("m.gguf")
}

const WORK: Workload =
    Workload { batch: 1.0, context: 100.0, prompt: 10.0, cache_size: 2.0, cache: Numbers::Half };

fn on_h100(model: &Model, workload: &Workload, change: Option<Dtype>) -> Costs {
    profile(model, &DeviceProfile::from_device(&H100_SXM, None).unwrap(), workload, change).unwrap()
}

fn decode<'a>(profile: &'a Costs, name: &str) -> &'a Cost {
    let entry = profile.entries.iter().find(|entry| entry.name == name).unwrap();
    entry.decode.as_ref().unwrap()
}

#[test]
fn costs_of_a_small_llama_match_hand_computed_values() {
    let model = Model::open(file("hand", &llama(Q8_0))).unwrap();
    let profile = on_h100(&model, &WORK, None);
    // 64 x 64 weights with 2 FLOPs each; a row has 2 blocks of 34 bytes; 64 inputs and outputs of 2 bytes each.
    let query = decode(&profile, "0.attn_q");
    assert_eq!((query.flops, query.weight_bytes, query.activation_bytes), (8192.0, 4352.0, 256.0));
    // Activations may stay in caches, so only the ideal time includes them.
    assert_eq!((query.bytes, query.intensity, query.bound), (4352.0, 8192.0 / 4352.0, Bound::Memory));
    assert_eq!((query.least_s, query.ideal_s), (4352.0 / 3350e9, 4608.0 / 3350e9));
    // 4 heads of 16 + 16 elements with 2 FLOPs each, 100 tokens; 2 KV heads of 32 elements of 2 bytes.
    let attention = decode(&profile, "0.attention");
    assert_eq!((attention.flops, attention.weight_bytes, attention.cache_bytes), (25_600.0, 0.0, 12_800.0));
    // An embedding lookup has no FLOPs: only its 64 elements count.
    let embedding = decode(&profile, "embedding");
    assert_eq!((embedding.flops, embedding.weight_bytes, embedding.activation_bytes), (0.0, 0.0, 128.0));
    let head = decode(&profile, "head");
    assert_eq!((head.flops, head.weight_bytes), (12_800.0, 6800.0));
    // Ten tokens with causal attention: 55 pairs of 256 FLOPs.
    let entry = profile.entries.iter().find(|entry| entry.name == "0.attention").unwrap();
    assert_eq!(entry.prefill.unwrap().flops, 14_080.0);
    let total = profile.decode.unwrap();
    assert_eq!(total.weight_bytes, 4352.0 * 2.0 + 2176.0 * 2.0 + 6528.0 * 3.0 + 6800.0 + 768.0);
    let shares: f64 = profile.entries.iter().filter_map(|entry| Some(entry.decode?.share)).sum();
    assert!((shares - 1.0).abs() < 1e-12, "{shares}");
}

#[test]
fn costs_of_operations_add_up_to_the_totals_of_the_contract() {
    let target = DeviceProfile::from_device(&H100_SXM, None).unwrap();
    for known in KNOWN_MODELS {
        let model_dims = ModelDims::from_known(known).unwrap();
        let inputs = inputs(&model_dims).unwrap();
        let model = Model {
            format: Format::Config,
            files: Vec::new(),
            tensors: Vec::new(),
            architecture: Architecture::for_family(model_dims, &[]),
            graph: None,
            summary: Vec::new(),
            warnings: Vec::new(),
        };
        for workload in [
            WORK,
            Workload { batch: 1.0, context: 8192.0, prompt: 8192.0, ..WORK },
            Workload { batch: 4.0, context: 5000.0, prompt: 777.0, ..WORK },
            Workload { batch: 1.0, context: 1.0, prompt: 1.0, ..WORK },
            Workload { batch: 64.0, context: 4096.0, prompt: 512.0, ..WORK },
        ] {
            let Workload { batch, context, prompt, cache_size, .. } = workload;
            let asked = Inputs { batch, context, prompt, cache_size, ..inputs };
            let whole = predict(asked, &WeightPrecision::all(Numbers::Half), &target).unwrap();
            let outputs = whole.outputs;
            let found = on_h100(&model, &workload, None);
            assert_eq!(found.undefined().count(), 0, "{}", known.name);
            let parameters: f64 = found.entries.iter().map(|entry| entry.parameters).sum();
            let model_dims = model.architecture.model_dims.as_ref().unwrap();
            assert_eq!(parameters, model_dims.parameters() as f64, "{}", known.name);
            let (decode, prefill) = (found.decode.unwrap(), found.prefill.unwrap());
            let pairs = [
                ("decode_flops", decode.flops, outputs.decode_flops),
                ("decode_weight_bytes", decode.weight_bytes, outputs.pass_weight_bytes),
                ("cache_bytes", decode.cache_bytes, outputs.cache_bytes),
                ("activation_bytes", decode.activation_bytes, outputs.activation_bytes),
                ("decode_bytes", decode.bytes, outputs.decode_bytes),
                ("decode_intensity", decode.intensity, outputs.decode_intensity),
                ("decode_least_time", decode.least_s, outputs.decode_least_time),
                ("decode_ceiling", decode.ceiling_per_s, outputs.decode_ceiling),
                ("decode_ideal_bytes", decode.ideal_bytes, outputs.decode_ideal_bytes),
                ("decode_ideal", decode.ideal_per_s, outputs.decode_ideal),
                ("prefill_flops", prefill.flops, outputs.prefill_flops),
                ("prefill_weight_bytes", prefill.weight_bytes, outputs.pass_weight_bytes),
                ("prefill_cache_bytes", prefill.cache_bytes, outputs.prefill_cache_bytes),
                ("prefill_activation_bytes", prefill.activation_bytes, outputs.prefill_activation_bytes),
                ("prefill_intensity", prefill.intensity, outputs.prefill_intensity),
                ("prefill_least_time", prefill.least_s, outputs.prefill_least_time),
                ("prefill_bytes", prefill.bytes, outputs.prefill_bytes),
                ("prefill_ceiling", prefill.ceiling_per_s, outputs.prefill_ceiling),
                ("prefill_ideal", prefill.ideal_per_s, outputs.prefill_ideal),
            ];
            // Rounding differs: per operation here, once for all in the contract.
            for (name, sum, total) in pairs {
                let apart = (sum / total - 1.0).abs();
                assert!(apart < 1e-12, "{name} of {} at {workload:?}: {sum} and {total}", known.name);
            }
        }
    }
}

#[test]
fn rows_group_all_operations() {
    let model = Model::open(file("rows", &llama(F16))).unwrap();
    let target = DeviceProfile::from_device(&H100_SXM, None).unwrap();
    let found = on_h100(&model, &WORK, None);
    for (by, names) in [
        (By::Layer, vec!["embedding", "layer 0", "norm", "head"]),
        (By::Kind, vec!["embedding", "norm", "attention", "feed_forward", "head"]),
    ] {
        let rows = found.rows(by, Phase::Decode, &target).unwrap();
        assert_eq!(rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), names);
        let sum = |of: fn(&Cost) -> f64| rows.iter().filter_map(|row| row.cost.as_ref().map(of)).sum::<f64>();
        let all = found.decode.unwrap();
        assert_eq!(sum(|cost| cost.flops), all.flops);
        assert_eq!(sum(|cost| cost.bytes), all.bytes);
        assert_eq!(sum(|cost| cost.weight_bytes), all.weight_bytes);
        assert_eq!(sum(|cost| cost.activation_bytes), all.activation_bytes);
        assert_eq!(sum(|cost| cost.cache_bytes), all.cache_bytes);
        let times: f64 = found.entries.iter().filter_map(|entry| Some(entry.decode.as_ref()?.least_s)).sum();
        assert!((sum(|cost| cost.least_s) / times - 1.0).abs() < 1e-12);
        assert!((sum(|cost| cost.share) - 1.0).abs() < 1e-12);
        assert_eq!(rows.iter().map(|row| row.operations).sum::<usize>(), found.entries.len());
    }
    assert_eq!(found.rows(By::Operation, Phase::Prefill, &target).unwrap().len(), found.entries.len());
}

#[test]
fn quant_changes_matrices_but_not_vectors() {
    let model = Model::open(file("as", &llama(F32))).unwrap();
    let found = on_h100(&model, &WORK, Some(Q8_0));
    assert_eq!(decode(&found, "0.attn_q").weight_bytes, 4352.0);
    assert_eq!(decode(&found, "0.norm").weight_bytes, 512.0);
    assert_eq!(found.kept, 0);
    // Rows of 64 and 96 weights are not a multiple of the block size of 256.
    let found = on_h100(&model, &WORK, Some(Dtype::Q4K));
    assert_eq!((decode(&found, "0.attn_q").weight_bytes, found.kept), (16_384.0, 9));
}

#[test]
fn an_encoder_has_prefill_only() {
    let config = r#"{"model_type":"bert","hidden_size":64,"num_hidden_layers":1,"num_attention_heads":4,
        "intermediate_size":128,"vocab_size":100,"max_position_embeddings":32,"type_vocab_size":2}"#;
    let directory = scratch::files("profile-encoder", &[("config.json", config.as_bytes())]);
    let model = Model::open(directory.join("config.json")).unwrap();
    let found = on_h100(&model, &WORK, None);
    assert_eq!(found.decode, None);
    let attention = found.entries.iter().find(|entry| entry.name == "0.attention").unwrap();
    // Ten tokens with full attention: 100 pairs of 2 x 4 heads x 32 elements.
    assert_eq!((attention.decode, attention.prefill.unwrap().flops), (None, 25_600.0));
}

fn run(args: &[&str], file: &Path) -> Output {
    command().arg("profile").arg(file).args(args).output().expect("the program starts")
}

/// A convolution, a dense layer and a normalization.
const STACK: &[(&str, &[u64], Dtype)] = &[
    ("conv.weight", &[8, 4, 3, 3], F32),
    ("conv.bias", &[8], F32),
    ("bn.weight", &[8], F32),
    ("fc.weight", &[32, 64], F32),
    ("fc.bias", &[32], F32),
];

#[test]
fn misaligned_weights_are_copied_with_a_warning() {
    for (dtype, alignment) in [(F32, 4), (F16, 2), (Dtype::Bf16, 2)] {
        let tensors: Vec<_> = STACK.iter().map(|(name, dims, _)| (*name, *dims, dtype)).collect();
        let before = safetensors(&tensors);
        // Each space in the header shifts all weights by one byte.
        let length = u64::from_le_bytes(before[..8].try_into().unwrap()) as usize;
        for offset in 0..4 {
            let mut bytes = ((length + offset) as u64).to_le_bytes().to_vec();
            bytes.extend(&before[8..8 + length]);
            bytes.extend(std::iter::repeat_n(b' ', offset));
            bytes.extend(&before[8 + length..]);
            let directory =
                scratch::files(&format!("profile-offset-{dtype}-{offset}"), &[("m.safetensors", &bytes)]);
            let args = ["--format", "json", "--measure", "--quick", "--input", "4x8x8"];
            let output = run(&args, &directory.join("m.safetensors"));
            assert!(output.status.success(), "{}", err(&output));
            let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            let copied = !(8 + length + offset).is_multiple_of(alignment);
            for (name, measured) in [("conv.weight", dtype == F32), ("fc.weight", true), ("bn.weight", false)]
            {
                let operations = result["operations"].as_array().unwrap();
                let operation = operations.iter().find(|operation| operation["name"] == name).unwrap();
                assert_eq!(operation["measured"].is_object(), measured, "{operation}");
                assert_eq!(operation["not_measured"].is_string(), !measured, "{operation}");
                if measured {
                    assert_eq!(operation["measured"]["copied"], copied, "{operation}");
                }
            }
            let warned = err(&output).contains("operation(s) ran from copies of their weights");
            assert_eq!(warned, copied);
        }
    }
}

fn json(args: &[&str], file: &Path) -> serde_json::Value {
    let output = run(&[&["--format", "json"], args].concat(), file);
    assert!(output.status.success(), "{}", err(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn matrix_products_are_measured_and_others_have_a_reason() {
    for dtype in [Q8_0, F32, F16, Dtype::Bf16] {
        let file = file(&format!("measure-{dtype}"), &llama(dtype));
        let result = json(&["--measure", "--quick"], &file);
        for operation in result["operations"].as_array().unwrap() {
            let (name, measured) = (&operation["name"], &operation["measured"]);
            if ["embedding", "0.norm", "norm"].contains(&name.as_str().unwrap()) {
                assert_eq!(operation["not_measured"], "not a matrix product", "{name}");
                continue;
            }
            let figure = |name: &str| measured[name].as_f64().unwrap();
            assert!(figure("median_s") > 0.0 && figure("first_s") > 0.0, "{operation}");
            assert!(figure("best_s") <= figure("median_s") && figure("median_s") <= figure("worst_s"));
            assert_eq!(figure("residual_s"), figure("median_s") - figure("least_s"));
            assert!(figure("runs") >= 3.0);
            assert_moved(operation);
        }
    }
}

#[test]
fn the_measured_token_covers_products_and_attention() {
    let file = file("measure-whole", &llama(Q8_0));
    let run_with = |args: &[&str]| json(&[&["--measure", "--quick"], args].concat(), &file);
    for (args, phase, tokens) in [
        (&["--context", "300"][..], "decode", 1.0),
        (&["--batch", "3"][..], "decode", 3.0),
        (&["--prompt", "40", "--batch", "2"][..], "prefill", 80.0),
    ] {
        let result = run_with(args);
        let whole = &result["whole"];
        let figure = |name: &str| whole[name].as_f64().unwrap();
        assert_eq!((whole["phase"].as_str(), figure("tokens")), (Some(phase), tokens), "{whole}");
        assert_eq!(figure("tokens_per_s"), tokens / figure("median_s"));
        assert_eq!(figure("best_tokens_per_s"), tokens / figure("best_s"));
        assert_eq!(figure("ceiling_tokens_per_s"), result[phase]["ceiling_per_s"].as_f64().unwrap());
        assert_eq!(figure("share"), figure("tokens_per_s") / figure("ceiling_tokens_per_s"));
        assert!(figure("attention") > 0.0 && figure("attention") < 1.0, "{whole}");
        let operations = result["operations"].as_array().unwrap();
        let attention = operations.iter().find(|operation| operation["name"] == "0.attention").unwrap();
        let measured = |name: &str| attention["measured"][name].as_f64().unwrap();
        let flops = attention[phase]["flops"].as_f64().unwrap();
        assert!((measured("gflop_s") * measured("median_s") * 1e9 / flops - 1.0).abs() < 1e-9, "{attention}");
    }
    let output =
        run(&["--measure", "--quick", "--require", "decode_measured > 0 and decode_share > 0"], &file);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let words = out(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("(comparable to tg of llama-bench)"), "{words}");
    assert!(words.contains("Not included: embedding lookups, norms, rotary embeddings"), "{words}");
    let rejected = run(&["--require", "decode_measured > 0"], &file);
    assert!(err(&rejected).contains("cannot check measured values"), "{}", err(&rejected));
}

#[test]
fn each_token_of_a_prompt_is_routed_to_its_own_experts() {
    let keys = small::with(1, &[("expert_count", 8.into()), ("expert_used_count", 2.into())]);
    let gguf = Gguf::of("llama", &keys).tensor("token_embd.weight", &[100, 64], Q8_0).tensor(
        "blk.0.ffn_up_exps.weight",
        &[8, 96, 64],
        Q8_0,
    );
    let result = json(&["--measure", "--quick", "--prompt", "24"], &file("measure-routes", &gguf));
    let operations = result["operations"].as_array().unwrap();
    let experts = operations.iter().find(|operation| operation["name"] == "0.experts_up").unwrap();
    let measured = |name: &str| experts["measured"][name].as_f64().unwrap();
    assert_eq!(measured("columns"), 24.0);
    let flops = measured("gflop_s") * measured("median_s") * 1e9;
    assert!((flops / (24 * 2 * 2 * 96 * 64) as f64 - 1.0).abs() < 1e-9, "{experts}");
    // 24 tokens use nearly all experts, and read each at most once.
    let bytes = measured("gb_s") * measured("median_s") * 1e9;
    let one = (96 * 64 / 32 * 34) as f64;
    assert!(bytes > 3.9 * one && bytes < 8.1 * one, "{bytes}");
}

/// Checks that the measured rates are the amounts of the operation divided by the median time.
fn assert_moved(operation: &serde_json::Value) {
    let measured = |name: &str| operation["measured"][name].as_f64().unwrap();
    let ceiling = |name: &str| operation["decode"][name].as_f64().unwrap();
    let flops = measured("gflop_s") * measured("median_s") * 1e9;
    assert!((flops / ceiling("flops") - 1.0).abs() < 1e-9, "{flops}: {operation}");
    let bytes = measured("gb_s") * measured("median_s") * 1e9;
    let weights = ceiling("weight_bytes");
    assert!(bytes > 0.999 * weights && bytes < 2.0 * ceiling("bytes"), "{bytes}: {operation}");
}

#[test]
fn only_the_experts_of_a_token_are_measured() {
    let keys = small::with(1, &[("expert_count", 8.into()), ("expert_used_count", 2.into())]);
    let gguf = Gguf::of("llama", &keys).tensor("token_embd.weight", &[100, 64], Q8_0).tensor(
        "blk.0.ffn_up_exps.weight",
        &[8, 96, 64],
        Q8_0,
    );
    let result = json(&["--measure", "--quick"], &file("measure-experts", &gguf));
    let operations = result["operations"].as_array().unwrap();
    let experts =
        operations.iter().find(|operation| operation["name"] == "0.experts_up").expect("it is there");
    assert_eq!(experts["decode"]["flops"], (2 * 2 * 96 * 64) as f64);
    assert_moved(experts);
}

#[test]
fn prompts_and_batches_are_measured_with_all_their_tokens() {
    let file = file("measure-prompt", &llama(Q8_0));
    let of = |args: &[&str], name: &str| {
        let result = json(&[&["--measure", "--quick"], args].concat(), &file);
        let operations = result["operations"].as_array().unwrap().clone();
        operations.into_iter().find(|operation| operation["name"] == name).unwrap()["measured"].clone()
    };
    let one = of(&[], "0.ffn_up");
    assert_eq!(one.get("columns"), None, "one token");
    let prompt = of(&["--prompt", "16", "--batch", "2"], "0.ffn_up");
    assert_eq!(prompt["columns"], 32);
    let operations = |measured: &serde_json::Value| {
        measured["gflop_s"].as_f64().unwrap() * measured["median_s"].as_f64().unwrap()
    };
    assert!((operations(&prompt) / operations(&one) - 32.0).abs() < 1e-6, "{prompt} {one}");
    assert_eq!(of(&["--batch", "8"], "0.ffn_up")["columns"], 8);
    assert_eq!(
        of(&["--prompt", "16", "--batch", "2"], "head")["columns"],
        2,
        "the head runs for the last token only"
    );
    let output = run(&["--measure", "--quick", "--prompt", "16", "--ops", "ffn_up"], &file);
    assert!(out(&output).contains("Measured on 16 tokens at once"), "{}", out(&output));
    let output = run(&["--measure", "--quick", "--prompt", "100000"], &file);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("exceed the maximum of 4096"), "{}", err(&output));
}

/// Returns the data of a page.
fn data(page: &str) -> serde_json::Value {
    let (_, rest) = page.split_once(r#"id="data">"#).expect("the page contains data");
    let (data, _) = rest.split_once("</script>").expect("the data ends");
    serde_json::from_str(data).expect("the data is JSON")
}

#[test]
fn sliders_of_the_page_cover_operations_with_known_cost() {
    let directory = scratch::files("profile-html", &[("m.gguf", &llama(Q8_0).build())]);
    let (file, page) = (directory.join("m.gguf"), directory.join("page.html"));
    let pages = page.to_str().unwrap();
    assert!(run(&["--on", "h100_sxm", "--html", pages], &file).status.success());
    let shown = data(&std::fs::read_to_string(&page).unwrap());
    assert_eq!(shown["chart"]["points"].as_array().unwrap().len(), 12);
    let what_if = &shown["what_if"];
    assert_eq!(what_if["operations"].as_array().unwrap().len(), 12);
    let sliders: Vec<&str> = what_if["sliders"]
        .as_array()
        .unwrap()
        .iter()
        .map(|slider| slider["quantity"].as_str().unwrap())
        .collect();
    assert_eq!(sliders, ["batch", "context", "bandwidth", "compute", "bits_per_weight", "cache_size"]);
    // Common inputs are listed once; the head has its own parameters.
    let head = &what_if["operations"][11]["inputs"];
    assert_eq!(
        (&head["dense_params"], head.get("batch"), head.get("bandwidth")),
        (&6400.0.into(), None, None)
    );
    assert!(run(&["--on", "h100_sxm", "--phase", "prefill", "--html", pages], &file).status.success());
    let shown = data(&std::fs::read_to_string(&page).unwrap());
    assert_eq!(shown["what_if"]["sliders"][1]["quantity"], "prompt");
    // Measured times have no sliders.
    assert!(run(&["--measure", "--quick", "--html", pages], &file).status.success());
    assert!(data(&std::fs::read_to_string(&page).unwrap())["what_if"].is_null());
}

#[test]
fn two_thousand_operations_make_a_page_under_two_megabytes() {
    let config = r#"{"model_type":"llama","hidden_size":4096,"num_hidden_layers":224,"num_attention_heads":32,
        "num_key_value_heads":8,"intermediate_size":14336,"vocab_size":128256,"max_position_embeddings":131072}"#;
    let directory = scratch::files("profile-many", &[("config.json", config.as_bytes())]);
    let page = directory.join("page.html");
    let output = run(&["--on", "h100_sxm", "--html", page.to_str().unwrap()], &directory.join("config.json"));
    assert!(output.status.success(), "{}", err(&output));
    let page = std::fs::read_to_string(&page).unwrap();
    let operations = data(&page)["chart"]["points"].as_array().unwrap().len();
    assert!(operations >= 2000 && page.len() < 2_000_000, "{operations} operations, {} bytes", page.len());
}

#[test]
fn sliders_do_not_change_attention_to_an_encoder_output() {
    let mut gguf = Gguf::of(
        "t5",
        &[
            ("block_count", 1.into()),
            ("decoder_block_count", 1.into()),
            ("embedding_length", 64.into()),
            ("attention.head_count", 4.into()),
        ],
    )
    .tensor("token_embd.weight", &[64, 64], Q8_0);
    for name in [
        "enc.blk.0.attn_q",
        "enc.blk.0.attn_k",
        "dec.blk.0.attn_q",
        "dec.blk.0.attn_k",
        "dec.blk.0.cross_attn_q",
    ] {
        gguf = gguf.tensor(&format!("{name}.weight"), &[64, 64], Q8_0);
    }
    let file = file("sliders", &gguf);
    let page = file.with_extension("html");
    let page_name = page.to_str().unwrap();
    assert_eq!(
        run(&["--prompt", "77", "--context", "33", "--html", page_name], &file).status.code(),
        Some(0)
    );
    let html = std::fs::read_to_string(page).unwrap();
    // Recipes with the context slider, for weights, head and cache, precede those without.
    assert!(html.contains(r#""compute":"compute","context":"context"}"#), "{html}");
    assert!(html.contains(r#""context":77"#), "length of the encoder output");
    let fixed = html.split(r#""recipe":5"#).nth(1).unwrap();
    assert!(fixed[..fixed.find('}').unwrap()].contains(r#""context":77"#), "{fixed}");
}

#[test]
fn a_saved_profile_is_read_back_unchanged() {
    let file = file("read-back", &llama(Q8_0));
    for args in [
        &["--on", "h100_sxm"][..],
        &["--on", "h100_sxm", "--by", "kind", "--top", "2", "--quant", "q4_0", "--require", "batch == 1"],
        &["--measure", "--quick", "--ops", "ffn_up"],
    ] {
        let written = json(args, &file);
        let read = Profile::from_json(&written.to_string()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), written, "{args:?}");
    }
}

#[test]
fn older_profiles_are_read_and_invalid_values_rejected() {
    let old = include_str!("saved/corpus/profile");
    assert!(old.contains(r#""bound": "Memory""#));
    let read = Profile::from_json(old).unwrap();
    assert_eq!(read.decode.unwrap().bound, Bound::Memory);
    for (wrong, reason) in [
        (old.replace(r#""bound": "Memory""#, r#""bound": "Disk""#), "unknown variant `Disk`"),
        (old.replace(r#""phase": "decode""#, r#""phase": "thought""#), "unknown variant `thought`"),
        (old.replace(r#""kind": "embedding""#, r#""kind": "magic""#), "unknown variant `magic`"),
        (old.replace("roofline.profile/3", "roofline.profile/9"), "unknown schema `roofline.profile/9`"),
    ] {
        let error = Profile::from_json(&wrong).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn measured_figures_have_their_noise() {
    let mut saved: serde_json::Value = serde_json::from_str(include_str!("saved/corpus/profile")).unwrap();
    saved["llama_bench"] = serde_json::json!([{
        "test": "tg128", "threads": 2, "tokens_per_s": 50.0, "deviation": 5.0,
        "ceiling_tokens_per_s": 100.0, "share": 0.5, "gb_s": 1.0, "gflop_s": 1.0
    }]);
    saved["operations"][1]["measured"] = serde_json::json!({
        "median_s": 3.0, "best_s": 2.0, "worst_s": 4.0, "runs": 3, "first_s": 9.0, "first_from_disk": null, "gb_s": 1.0,
        "gflop_s": 1.0, "utilization": 0.95, "band": "NearOptimal", "least_s": 1.0, "residual_s": 2.0, "copied": false
    });
    let profile = Profile::from_json(&saved.to_string()).unwrap();
    let name = saved["operations"][1]["name"].as_str().unwrap();
    let figures = profile.figures();
    let noise = |label: &str| figures.iter().find(|figure| figure.label == label).unwrap().noise;
    assert_eq!(noise("llama-bench tg128, threads: 2"), Some(0.1));
    assert_eq!(noise(name), Some(0.5));
    assert_eq!(noise("decode, ceiling"), None);
    let band = profile.texts().into_iter().find(|text| text.name == "utilization_band").unwrap();
    assert_eq!((band.of.as_str(), band.value), (name, TextValue::Words("near optimal".into())));
}
