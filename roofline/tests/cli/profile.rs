//! Profiles of model files: amounts worked out by hand, sums against the contract's totals, and the command as its users run it.

use std::path::{Path, PathBuf};
use std::process::Output;

use roofline::contracts::hardware::devices::H100_SXM;
use roofline::contracts::transformer::Inputs;
use roofline::model::Dtype::{self, F16, F32, Q8_0};
use roofline::model::{Architecture, Format, Hyper, KNOWN, Model};
use roofline::predict::{Numbers, Stored, Target, inputs, predict};
use roofline::profile::{By, Cost, Costs, Phase, Profile, Workload, profile};
use roofline::report::{Report, Saved, TextValue};
use roofline::word::Bound;

use crate::program::{command, err, out, printed};
use roofline_test_support::graph::{FLOAT, Graph, Says};
use roofline_test_support::scratch;
use roofline_test_support::small::{self, llama};
use roofline_test_support::writer::{Gguf, safetensors};

fn file(test: &str, gguf: &Gguf) -> PathBuf {
    scratch::files(&format!("profile-{test}"), &[("m.gguf", &gguf.build())]).join("m.gguf")
}

const WORK: Workload =
    Workload { batch: 1.0, context: 100.0, prompt: 10.0, cache_size: 2.0, cache: Numbers::Half };

fn on_h100(model: &Model, workload: &Workload, change: Option<Dtype>) -> Costs {
    profile(model, &Target::of(&H100_SXM, None).unwrap(), workload, change).unwrap()
}

fn decode<'a>(profile: &'a Costs, name: &str) -> &'a Cost {
    let entry = profile.entries.iter().find(|entry| entry.name == name).unwrap();
    entry.decode.as_ref().unwrap()
}

#[test]
fn the_operations_of_a_small_llama_worked_out_by_hand() {
    let model = Model::open(file("hand", &llama(Q8_0))).unwrap();
    let profile = on_h100(&model, &WORK, None);
    // 64 x 64 weights, two operations each; a row is 2 blocks of 34 bytes; 64 numbers in and out, 2 bytes each.
    let query = decode(&profile, "0.attn_q");
    assert_eq!((query.flops, query.weight_bytes, query.activation_bytes), (8192.0, 4352.0, 256.0));
    // Numbers that go in and come out may stay in caches: only the estimate moves them.
    assert_eq!((query.bytes, query.intensity, query.bound), (4352.0, 8192.0 / 4352.0, Bound::Memory));
    assert_eq!((query.least_s, query.estimate_s), (4352.0 / 3350e9, 4608.0 / 3350e9));
    // 4 heads of 16 + 16 numbers, two operations each, against 100 tokens; 2 heads of 32 numbers of 2 bytes in the cache.
    let attention = decode(&profile, "0.attention");
    assert_eq!((attention.flops, attention.weight_bytes, attention.cache_bytes), (25_600.0, 0.0, 12_800.0));
    // One row of the embedding is no product: only its 64 numbers count.
    let embedding = decode(&profile, "embedding");
    assert_eq!((embedding.flops, embedding.weight_bytes, embedding.activation_bytes), (0.0, 0.0, 128.0));
    let head = decode(&profile, "head");
    assert_eq!((head.flops, head.weight_bytes), (12_800.0, 6800.0));
    // Ten tokens, each sees itself and those before it: 55 pairs of 256 operations.
    let entry = profile.entries.iter().find(|entry| entry.name == "0.attention").unwrap();
    assert_eq!(entry.prefill.unwrap().flops, 14_080.0);
    let total = profile.decode.unwrap();
    assert_eq!(total.weight_bytes, 4352.0 * 2.0 + 2176.0 * 2.0 + 6528.0 * 3.0 + 6800.0 + 768.0);
    let shares: f64 = profile.entries.iter().filter_map(|entry| Some(entry.decode?.share)).sum();
    assert!((shares - 1.0).abs() < 1e-12, "{shares}");
}

#[test]
fn the_sum_over_operations_is_the_total_of_the_contract() {
    let target = Target::of(&H100_SXM, None).unwrap();
    for known in KNOWN {
        let hyper = Hyper::of_known(known).unwrap();
        let inputs = inputs(&hyper).unwrap();
        let model = Model {
            format: Format::Config,
            files: Vec::new(),
            tensors: Vec::new(),
            architecture: Architecture::of_family(hyper, &[]),
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
            let whole = predict(asked, &Stored::all(Numbers::Half), &target).unwrap();
            let outputs = whole.outputs;
            let found = on_h100(&model, &workload, None);
            assert_eq!(found.undefined().count(), 0, "{}", known.name);
            let parameters: f64 = found.entries.iter().map(|entry| entry.parameters).sum();
            let hyper = model.architecture.hyper.as_ref().unwrap();
            assert_eq!(parameters, hyper.parameters() as f64, "{}", known.name);
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
                ("decode_estimated_bytes", decode.estimate_bytes, outputs.decode_estimated_bytes),
                ("decode_estimate", decode.estimate_per_s, outputs.decode_estimate),
                ("prefill_flops", prefill.flops, outputs.prefill_flops),
                ("prefill_weight_bytes", prefill.weight_bytes, outputs.pass_weight_bytes),
                ("prefill_cache_bytes", prefill.cache_bytes, outputs.prefill_cache_bytes),
                ("prefill_activation_bytes", prefill.activation_bytes, outputs.prefill_activation_bytes),
                ("prefill_intensity", prefill.intensity, outputs.prefill_intensity),
                ("prefill_least_time", prefill.least_s, outputs.prefill_least_time),
                ("prefill_bytes", prefill.bytes, outputs.prefill_bytes),
                ("prefill_ceiling", prefill.ceiling_per_s, outputs.prefill_ceiling),
                ("prefill_estimate", prefill.estimate_per_s, outputs.prefill_estimate),
            ];
            // Times are rounded, and so is the share of the experts: here for each operation, there for all at once.
            for (name, sum, total) in pairs {
                let apart = (sum / total - 1.0).abs();
                assert!(apart < 1e-12, "{name} of {} at {workload:?}: {sum} and {total}", known.name);
            }
        }
    }
}

#[test]
fn rows_put_operations_together_and_lose_nothing() {
    let model = Model::open(file("rows", &llama(F16))).unwrap();
    let target = Target::of(&H100_SXM, None).unwrap();
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
fn matrices_in_another_type_move_its_bytes_and_vectors_stay() {
    let model = Model::open(file("as", &llama(F32))).unwrap();
    let found = on_h100(&model, &WORK, Some(Q8_0));
    assert_eq!(decode(&found, "0.attn_q").weight_bytes, 4352.0);
    assert_eq!(decode(&found, "0.norm").weight_bytes, 512.0);
    assert_eq!(found.kept, 0);
    // Rows of 64 and 96 weights do not fill blocks of 256.
    let found = on_h100(&model, &WORK, Some(Dtype::Q4K));
    assert_eq!((decode(&found, "0.attn_q").weight_bytes, found.kept), (16_384.0, 9));
}

#[test]
fn an_encoder_has_a_prompt_and_no_steps() {
    let config = r#"{"model_type":"bert","hidden_size":64,"num_hidden_layers":1,"num_attention_heads":4,
        "intermediate_size":128,"vocab_size":100,"max_position_embeddings":32,"type_vocab_size":2}"#;
    let directory = scratch::files("profile-encoder", &[("config.json", config.as_bytes())]);
    let model = Model::open(directory.join("config.json")).unwrap();
    let found = on_h100(&model, &WORK, None);
    assert_eq!(found.decode, None);
    let attention = found.entries.iter().find(|entry| entry.name == "0.attention").unwrap();
    // Ten tokens see ten tokens each: 100 pairs of 2 x 4 heads x 32 numbers.
    assert_eq!((attention.decode, attention.prefill.unwrap().flops), (None, 25_600.0));
}

fn run(args: &[&str], file: &Path) -> Output {
    command().arg("profile").arg(file).args(args).output().expect("the program starts")
}

#[test]
fn the_text_has_ceilings_layers_a_chart_and_advice() {
    let file = file("text", &llama(Q8_0));
    let output = run(&["--ascii"], &file);
    assert!(output.status.success(), "{}", err(&output));
    let shown = out(&output);
    for part in
        ["GGUF llama", "45.0 GB/s", "decode", "prefill", "layer 0", "head", "few bits a number already"]
    {
        assert!(shown.contains(part), "{part} is not in\n{shown}");
    }
    let plain = out(&run(&["--ascii", "--no-advice"], &file));
    assert!(!plain.contains("few bits a number already"), "{plain}");
}

#[test]
fn json_has_every_operation_and_says_which_contract_computed_it() {
    let output = run(&["--on", "h100_sxm", "--format", "json"], &file("json", &llama(Q8_0)));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["schema"], "roofline.profile/3");
    assert_eq!(json["operations"].as_array().unwrap().len(), 12);
    assert_eq!(json["operations"][2]["decode"]["weight_bytes"], 4352.0);
    assert_eq!(json["sources"]["flops"], "operation-v1 flops");
}

#[test]
fn csv_and_markdown_hold_the_rows() {
    let file = file("csv", &llama(Q8_0));
    let csv = out(&run(&["--by", "op", "--top", "2", "--format", "csv"], &file));
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 3, "{csv}");
    assert!(lines[0].starts_with("operation,operations,mflop,"), "{csv}");
    assert!(lines[1].starts_with("0.attention,1,"), "{csv}");
    let markdown = out(&run(&["--by", "kind", "--format", "md"], &file));
    assert!(markdown.contains("| feed_forward | 3 |"), "{markdown}");
}

#[test]
fn undefined_operations_are_told_and_not_counted_as_nothing() {
    let tensors: &[(&str, &[u64], Dtype)] =
        &[("conv.weight", &[8, 4, 3, 3], F32), ("fc.weight", &[10, 8], F32)];
    let directory = scratch::files("profile-conv", &[("m.safetensors", &safetensors(tensors))]);
    let output = run(&["--by", "op", "--format", "csv"], &directory.join("m.safetensors"));
    let (csv, told) = (out(&output), err(&output));
    assert!(csv.contains(",undefined,-,-,-\r\n"), "{csv}");
    assert!(told.contains("1 operation(s) are undefined and missing from the totals"), "{told}");
    assert!(told.contains("--input, here conv.weight (4xHxW)"), "{told}");
}

/// A convolution of the published profiler's example, a dense layer of the other's, and a normalization.
const STACK: &[(&str, &[u64], Dtype)] = &[
    ("conv.weight", &[8, 4, 3, 3], F32),
    ("conv.bias", &[8], F32),
    ("bn.weight", &[8], F32),
    ("fc.weight", &[32, 64], F32),
    ("fc.bias", &[32], F32),
];

fn stack(test: &str, tensors: &[(&str, &[u64], Dtype)]) -> PathBuf {
    scratch::files(&format!("profile-stack-{test}"), &[("m.safetensors", &safetensors(tensors))])
        .join("m.safetensors")
}

#[test]
fn a_stack_of_layers_costs_what_the_layer_contract_says() {
    let file = stack("cost", STACK);
    let of = |batch: &str, name: &str| {
        let result = json(&["--on", "t4", "--batch", batch, "--input", "4x8x8"], &file);
        assert_eq!(
            (&result["phase"], &result["workload"]),
            (
                &"pass".into(),
                &serde_json::json!({"batch": batch.parse::<f64>().unwrap(), "input": ["4x8x8"]})
            )
        );
        let operations = result["operations"].as_array().unwrap().clone();
        operations.into_iter().find(|operation| operation["name"] == name).unwrap()
    };
    // 4 -> 8 channels, 3 x 3, a padding that keeps 8 x 8 numbers.
    let convolution = of("1", "conv.weight");
    assert_eq!(convolution["pass"]["flops"], 36_864.0);
    assert_eq!(
        (&convolution["pass"]["estimate_bytes"], &convolution["pass"]["bytes"]),
        (&4224.0.into(), &1152.0.into())
    );
    // 64 -> 32, eight samples.
    let dense = of("8", "fc.weight");
    assert_eq!(
        (&dense["pass"]["flops"], &dense["pass"]["estimate_bytes"]),
        (&32_768.0.into(), &11_264.0.into())
    );
    assert_eq!((&dense["kind"], &dense["tensors"][1]), (&"dense".into(), &"fc.bias".into()));
    // The scale of a normalization meets 8 channels of 8 x 8 numbers.
    assert_eq!(of("1", "bn.weight")["pass"]["flops"], 1024.0);
    let result = json(&["--on", "t4", "--input", "4x8x8"], &file);
    assert_eq!(result["pass"]["flops"], 36_864.0 + 1024.0 + 4096.0);
    let alone = json(&["--on", "t4"], &file);
    let reason = alone["operations"][1]["undefined"].as_str().unwrap();
    assert!(reason.contains("which the file does not say"), "{reason}");
    let time = result["pass"]["least_s"].as_f64().unwrap();
    assert_eq!(result["pass"]["ceiling_per_s"], 1.0 / time);
}

#[test]
fn weights_without_a_number_are_a_sentence_and_no_nan() {
    let file = stack("empty", &[("none.weight", &[0, 4], F32), ("some.weight", &[4, 4], F32)]);
    let result = json(&["--on", "t4"], &file);
    let reason = "its weights are missing or of a type of unknown size";
    assert_eq!(result["operations"][0]["undefined"], reason);
    let output = run(&["--on", "t4"], &file);
    let told = out(&output) + &err(&output);
    assert!(!told.contains("NaN") && told.contains(reason), "{told}");
}

#[test]
fn the_weights_of_a_stack_take_the_bytes_of_their_type() {
    let halves: Vec<_> = STACK.iter().map(|(name, dims, _)| (*name, *dims, F16)).collect();
    let result = json(&["--on", "t4", "--input", "4x8x8"], &stack("halves", &halves));
    let bytes = |at: usize| result["operations"][at]["pass"]["weight_bytes"].as_f64().unwrap();
    let read = |at: usize| result["operations"][at]["pass"]["estimate_bytes"].as_f64().unwrap();
    assert_eq!((bytes(0), read(0)), (576.0, 4224.0 - 576.0));
}

#[test]
fn a_convolution_in_three_dimensions_moves_its_kernel_along_all_of_them() {
    let file = stack("volume", &[("conv.weight", &[8, 4, 3, 5, 7], F32)]);
    let result = json(&["--on", "t4", "--input", "4x6x8x10/1/0"], &file);
    // 6 - 3 + 1, 8 - 5 + 1 and 10 - 7 + 1 positions.
    assert_eq!(result["operations"][0]["pass"]["flops"], (2 * 8 * (4 * 4 * 4) * 4 * (3 * 5 * 7)) as f64);
    let result = json(&["--on", "t4", "--input", "4x7x9x11/2/1"], &file);
    // Padded by one on each side, every second position: (7 + 2 - 3) / 2 + 1 = 4, then 4, then 4.
    assert_eq!(result["operations"][0]["pass"]["flops"], (2 * 8 * (4 * 4 * 4) * 4 * (3 * 5 * 7)) as f64);
}

#[test]
fn a_file_of_an_unknown_family_still_makes_tokens() {
    let gguf = Gguf::of("newfangled", &[("block_count", 1.into())])
        .tensor("token_embd.weight", &[100, 64], Q8_0)
        .tensor("blk.0.attn_q.weight", &[64, 64], Q8_0);
    let result = json(&["--on", "t4"], &file("newfangled", &gguf));
    assert_eq!((&result["phase"], &result["pass"]), (&"decode".into(), &serde_json::Value::Null));
}

#[test]
fn sizes_strides_paddings_and_groups_are_given_by_name() {
    let tensors: &[(&str, &[u64], Dtype)] = &[
        ("stem.weight", &[16, 3, 7, 7], F32),
        ("depthwise.weight", &[16, 1, 3, 3], F32),
        ("point.weight", &[32, 16, 1, 1], F32),
    ];
    let file = stack("names", tensors);
    let args = ["--on", "t4", "--input", "3x32x32/2/3", "--input", "^(depth|point)=16x16x16/1"];
    let result = json(&args, &file);
    let flops = |at: usize| result["operations"][at]["pass"]["flops"].as_f64().unwrap();
    // 32 + 2 x 3 - 7 halved and one more: 16 x 16 positions.
    assert_eq!(flops(0), 2.0 * 16.0 * 256.0 * 147.0);
    assert_eq!(flops(1), 2.0 * 16.0 * 256.0 * 9.0);
    assert_eq!(flops(2), 2.0 * 32.0 * 256.0 * 16.0);
    // Sixteen groups of one channel: 16 channels go in and out.
    assert_eq!(result["operations"][1]["pass"]["estimate_bytes"], 4.0 * (144.0 + 2.0 * 16.0 * 256.0));
    for (wrong, expected) in [
        ("5x32x32", "no convolution takes this; some are stem.weight (3xHxW)"),
        ("stomach=3x3", "no convolution takes this"),
        ("3x32x32/0", "a size is CHANNELSxHEIGHTxWIDTH"),
        ("st(em=3x3", "--input st(em: found open group without closing"),
        ("threexthree", "`three` is not a whole number"),
    ] {
        let output = run(&["--on", "t4", "--input", wrong], &file);
        let told = err(&output);
        assert_eq!(output.status.code(), Some(2), "{wrong}: {told}");
        assert!(told.contains(expected), "{wrong}: {told}");
    }
    let channels = json(&["--on", "t4", "--input", "^stem=4x32x32"], &file);
    let reason = "its weights take 3 channels or groups of them, not 4";
    assert_eq!(channels["operations"][0]["undefined"], reason);
    let output = run(&["--on", "t4", "--context", "5"], &file);
    assert!(err(&output).contains("takes samples, not tokens"));
}

#[test]
fn the_size_of_one_input_goes_through_all_layers() {
    let tensors: &[(&str, &[u64], Dtype)] = &[
        ("conv1.weight", &[64, 3, 7, 7], F32),
        ("layer1.conv1.weight", &[64, 64, 3, 3], F32),
        ("layer10.dw.weight", &[128, 1, 3, 3], F32),
        ("layer2.conv1.weight", &[128, 64, 3, 3], F32),
        ("layer2.conv2.weight", &[128, 128, 3, 3], F32),
        ("layer2.downsample.weight", &[128, 64, 1, 1], F32),
        ("up.deconv.weight", &[128, 32, 2, 2], F32),
        ("up.out.weight", &[32, 8, 4, 4], F32),
        ("up.wide.weight", &[16, 8, 3, 3], F32),
    ];
    let file = stack("carried", tensors);
    let args = [
        "--on",
        "t4",
        "--input",
        "3x32x32/2/3",
        "--input",
        "layer2.conv1=/2/1",
        "--input",
        "downsample=/2/0",
    ];
    let more = ["--input", "wide=/1/2/2"];
    let result = json(&[&args[..], &more].concat(), &file);
    let found: Vec<f64> = result["operations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["pass"]["flops"].as_f64().unwrap_or_else(|| panic!("{one}")))
        .collect();
    let expected = [
        64 * 147 * 256,
        64 * 64 * 9 * 256,
        // One kernel for each of the 128 channels that the second layer makes.
        128 * 9 * 64,
        128 * 64 * 9 * 64,
        128 * 128 * 9 * 64,
        128 * 64 * 64,
        // Each input of a transposed one meets every tap: 8 x 8 become 16 x 16, and those 32 x 32.
        128 * 32 * 4 * 64,
        32 * 8 * 16 * 256,
        // Taps that lie two apart, and zeros that keep the size.
        16 * 8 * 9 * 1024,
    ];
    assert_eq!(found, expected.map(|taps| 2.0 * f64::from(taps)));
    assert_eq!(result["pass"]["flops"], found.iter().sum::<f64>());
    // The same said by hand.
    let spread = json(&["--on", "t4", "--input", "deconv=128x8x8/t2/0"], &file);
    assert_eq!(spread["operations"][6]["pass"]["flops"], found[6]);
    let reason = &spread["operations"][0]["undefined"];
    assert_eq!(reason, "no layer before it makes as many channels as it takes");
    let measured = run(&["--measure", "--quick", "--ops", "deconv", "--input", "deconv=128x8x8/t2/0"], &file);
    assert!(err(&measured).contains("no kernel for a convolution that is transposed"), "{}", err(&measured));
}

#[test]
fn layers_that_are_not_saved_by_name_run_in_the_order_of_the_file() {
    let tensors: &[(&str, &[u64], Dtype)] = &[
        ("down.weight", &[64, 3, 3, 3], F32),
        ("wide.weight", &[128, 64, 3, 3], F32),
        ("up.weight", &[128, 64, 2, 2], F32),
        ("up.bias", &[64], F32),
        ("out.weight", &[3, 64, 1, 1], F32),
    ];
    let result = json(&["--on", "t4", "--input", "3x64x64"], &stack("order", tensors));
    let flops = |at: usize| result["operations"][at]["pass"]["flops"].as_f64().unwrap();
    // The last one works on what the transposed one made, which is twice as high and wide.
    let expected = [64 * 27 * 4096, 128 * 64 * 9 * 4096, 128 * 64 * 4 * 4096, 3 * 64 * 16384];
    assert_eq!([0, 1, 2, 3].map(flops), expected.map(|taps| 2.0 * f64::from(taps)));
}

#[test]
fn a_stack_is_measured_and_what_lies_askew_in_the_file_is_copied_and_told() {
    for (dtype, alignment) in [(F32, 4), (F16, 2), (Dtype::Bf16, 2)] {
        let tensors: Vec<_> = STACK.iter().map(|(name, dims, _)| (*name, *dims, dtype)).collect();
        let before = safetensors(&tensors);
        // One more space in the header moves all weights by one byte.
        let length = u64::from_le_bytes(before[..8].try_into().unwrap()) as usize;
        for askew in 0..4 {
            let mut bytes = ((length + askew) as u64).to_le_bytes().to_vec();
            bytes.extend(&before[8..8 + length]);
            bytes.extend(std::iter::repeat_n(b' ', askew));
            bytes.extend(&before[8 + length..]);
            let directory =
                scratch::files(&format!("profile-askew-{dtype}-{askew}"), &[("m.safetensors", &bytes)]);
            let args = ["--format", "json", "--measure", "--quick", "--input", "4x8x8"];
            let output = run(&args, &directory.join("m.safetensors"));
            assert!(output.status.success(), "{}", err(&output));
            let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            let copied = !(8 + length + askew).is_multiple_of(alignment);
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
            let told = err(&output).contains("operation(s) ran from copies of their weights");
            assert_eq!(told, copied);
        }
    }
}

#[test]
fn wrong_input_ends_with_two_and_names_what_is_allowed() {
    let file = file("wrong", &llama(Q8_0));
    for (args, expected) in [
        (&["--as", "q4_kk"][..], "did you mean `q4_k`"),
        (&["--batch", "0"][..], "batch = 0 is outside its domain"),
        (&["--context", "nan"][..], "write tokens as 4096 or 128k"),
        (&["--on", "h100sxn"][..], "no such device"),
        (&["--top", "0"][..], "at least one row"),
        (&["--precision", "fp7"][..], "there are fp32"),
        (&["--on", "t4", "--precision", "bf16"][..], "t4 has no peak for bf16"),
        (&["--require", "speed > 1"][..], "speed"),
        (&["--require", "utilization > 1"][..], "known only with --measure"),
        (&["--measure", "--ops", "ffn_(up"][..], "--ops ffn_(up: found open group without closing"),
    ] {
        let output = run(args, &file);
        let told = err(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {told}");
        assert!(told.contains(expected), "{args:?}: {told}");
    }
    assert_eq!(run(&[], Path::new("/nowhere/m.gguf")).status.code(), Some(2));
}

fn json(args: &[&str], file: &Path) -> serde_json::Value {
    let output = run(&[&["--format", "json"], args].concat(), file);
    assert!(output.status.success(), "{}", err(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn stored_weights_run_through_the_kernels_and_the_rest_says_why_not() {
    for dtype in [Q8_0, F32, F16, Dtype::Bf16] {
        let file = file(&format!("measure-{dtype}"), &llama(dtype));
        let result = json(&["--measure", "--quick"], &file);
        for operation in result["operations"].as_array().unwrap() {
            let (name, measured) = (&operation["name"], &operation["measured"]);
            if ["embedding", "0.norm", "norm"].contains(&name.as_str().unwrap()) {
                assert_eq!(operation["not_measured"], "no matrix product", "{name}");
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
fn a_whole_token_is_every_product_and_attention_beside_its_ceiling() {
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
    assert!(words.contains("what llama.cpp calls tg, "), "{words}");
    assert!(words.contains("Not run are only rows of the embedding, norms, rotary positions"), "{words}");
    let refused = run(&["--require", "decode_measured > 0"], &file);
    assert!(err(&refused).contains("known only with --measure"), "{}", err(&refused));
}

#[test]
fn a_token_that_is_not_whole_is_not_called_one() {
    let small = file("measure-part", &llama(Q8_0));
    // Some operations are asked for, keys of 16 numbers fill no block, and a format has no kernel.
    for (args, reason) in [
        (&["--ops", "ffn"][..], None),
        (&["--cache", "q8_0"][..], Some("key: 16 is not a multiple of 32")),
        (&["--cache", "q4_0"][..], Some("no kernel for a cache in q4_0; f16 and q8_0 have one")),
    ] {
        let output = run(&[&["--measure", "--quick", "--format", "json"], args].concat(), &small);
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result.get("whole"), None, "{args:?}");
        assert!(result["passes"].is_object(), "{args:?}");
        if let Some(reason) = reason {
            assert!(err(&output).contains("1 operation(s) are not measured, the first 0.attention: "));
            assert!(err(&output).contains(reason), "{}", err(&output));
        }
    }
}

#[test]
fn tokens_of_a_prompt_choose_experts_of_their_own() {
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
    // 24 tokens leave hardly an expert out, and read no more than there are.
    let bytes = measured("gb_s") * measured("median_s") * 1e9;
    let one = (96 * 64 / 32 * 34) as f64;
    assert!(bytes > 3.9 * one && bytes < 8.1 * one, "{bytes}");
}

/// What was measured is what the step of this operation reads and computes, in the median time.
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
fn of_the_experts_only_those_that_a_token_uses_are_run() {
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
fn requirements_on_the_whole_and_on_each_measured_operation_make_a_gate() {
    let file = file("require", &llama(Q8_0));
    let code = |args: &[&str]| run(args, &file).status.code();
    assert_eq!(code(&["--require", r#"decode_bound == "compute" and decode_tokens_per_s > 1"#]), Some(0));
    let output = run(&["--require", "decode_ceiling > 1e12", "--on", "h100_sxm"], &file);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("not met: decode_ceiling > 1e12 (decode_ceiling = "));
    let result =
        json(&["--measure", "--quick", "--ops", "^0.ffn_(up|down)$", "--require", "time > 0"], &file);
    let required = result["requirements"].as_array().unwrap();
    let of: Vec<&str> = required.iter().map(|checked| checked["of"].as_str().unwrap()).collect();
    assert_eq!(of, ["0.ffn_up", "0.ffn_down"]);
    // Nothing was measured: nothing holds.
    let output = run(&["--measure", "--quick", "--ops", "norm", "--require", "time > 0"], &file);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("not met: time > 0 (time = not known)"), "{}", err(&output));
}

#[test]
fn the_numbers_choose_the_peak_and_a_precision_that_of_the_estimate() {
    let peak = |dtype: Dtype| {
        let device = &json(&["--on", "h100_sxm"], &file(&format!("peak-{dtype}"), &llama(dtype)))["device"];
        (device["precision"].clone(), device["compute_gflop_s"].as_f64().unwrap())
    };
    assert_eq!(peak(Q8_0), ("int8".into(), H100_SXM.int8.unwrap()));
    assert_eq!(peak(F16), ("fp16".into(), H100_SXM.fp16.unwrap()));
    let file = file("precision", &llama(Q8_0));
    let prefill = |args: &[&str]| {
        // A long prompt has more arithmetic than numbers that go in and out.
        let long = ["--on", "h100_sxm", "--batch", "64", "--prompt", "2048"];
        let prefill = &json(&[&long, args].concat(), &file)["prefill"];
        ["ceiling_per_s", "estimate_s", "flops"].map(|name| prefill[name].as_f64().unwrap())
    };
    let ([plain, fast, flops], [same, slow, _]) = (prefill(&[]), prefill(&["--precision", "fp32"]));
    assert_eq!(plain, same);
    assert!(slow > 2.0 * fast, "{fast} {slow}");
    assert!((slow / (flops / (H100_SXM.fp32.unwrap() * 1e9)) - 1.0).abs() < 1e-9, "{slow}");
}

#[test]
fn a_type_without_a_kernel_is_not_measured() {
    let file = file("no-kernel", &llama(Dtype::Q8_1));
    let result = json(&["--measure", "--quick", "--ops", "ffn_down"], &file);
    let operations = result["operations"].as_array().unwrap();
    let down = operations.iter().find(|operation| operation["name"] == "0.ffn_down").unwrap();
    assert_eq!(down["not_measured"], "no kernel for Q8_1");
    let query = operations.iter().find(|operation| operation["name"] == "0.attn_q").unwrap();
    assert_eq!((query.get("measured"), query.get("not_measured")), (None, None), "it was not asked for");
}

#[test]
fn prompts_and_batches_are_measured_as_many_tokens_at_once() {
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
    assert_eq!(of(&["--prompt", "16", "--batch", "2"], "head")["columns"], 2, "logits are of the last token");
    let output = run(&["--measure", "--quick", "--prompt", "16", "--ops", "ffn_up"], &file);
    assert!(out(&output).contains("Measured on 16 tokens at once"), "{}", out(&output));
    let output = run(&["--measure", "--quick", "--prompt", "100000"], &file);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("at most 4096 tokens at once"), "{}", err(&output));
}

#[test]
fn only_this_machine_and_known_operations_can_be_measured() {
    let file = file("measure-wrong", &llama(Q8_0));
    for (args, expected) in [
        (&["--measure", "--on", "h100_sxm"][..], "runs on this machine"),
        (&["--measure", "--ops", "nothing"][..], "there is no operation with such a name"),
        (&["--measure", "--as", "q4_0"][..], "cannot be used with"),
    ] {
        let output = run(args, &file);
        let told = err(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {told}");
        assert!(told.contains(expected), "{args:?}: {told}");
    }
}

/// Results of `llama-bench` for a model of these sizes.
fn bench(parameters: u64, bytes: u64) -> String {
    let test = |prompt: u32, tokens: u32, speed: f64| {
        format!(
            r#"{{"model_n_params":{parameters},"model_size":{bytes},"n_prompt":{prompt},"n_gen":{tokens},"n_depth":0,
            "avg_ts":{speed},"stddev_ts":1.5,"n_threads":2,"build_number":1}}"#
        )
    };
    format!("[{},{}]", test(64, 0, 2000.0), test(0, 20, 1000.0))
}

#[test]
fn results_of_llama_bench_stand_beside_their_ceilings() {
    let file = file("llama-bench", &llama(Q8_0));
    let model = Model::open(&file).unwrap();
    let right = bench(model.parameters(), model.bytes().unwrap());
    let other = bench(model.parameters() + 1, model.bytes().unwrap());
    let directory = scratch::files(
        "profile-llama-bench-json",
        &[("right.json", right.as_bytes()), ("other.json", other.as_bytes()), ("bad.json", b"{}")],
    );
    let path = |name: &str| directory.join(name).display().to_string();
    let result = json(&["--on", "h100_sxm", "--llama-bench", &path("right.json")], &file);
    let points = result["llama_bench"].as_array().unwrap();
    assert_eq!((&points[0]["test"], &points[1]["test"]), (&"pp64".into(), &"tg20".into()));
    // Twenty tokens from an empty cache: ten of them on average.
    let step = on_h100(&model, &Workload { context: 10.0, prompt: 1.0, ..WORK }, None).decode.unwrap();
    assert_eq!(points[1]["ceiling_tokens_per_s"], step.ceiling_per_s);
    assert_eq!(points[1]["share"], 1000.0 / step.ceiling_per_s);
    assert_eq!(points[1]["gb_s"], step.bytes / 0.001 / 1e9);
    for (name, expected) in [("other.json", "another model"), ("bad.json", "not the output of `llama-bench")]
    {
        let output = run(&["--on", "h100_sxm", "--llama-bench", &path(name)], &file);
        let told = err(&output);
        assert_eq!(output.status.code(), Some(2), "{name}: {told}");
        assert!(told.contains(expected), "{name}: {told}");
    }
    let args = ["--on", "h100_sxm", "--any-model", "--llama-bench", &path("other.json")];
    assert_eq!(json(&args, &file)["llama_bench"].as_array().unwrap().len(), 2);
}

#[test]
fn what_llama_bench_measured_above_its_ceiling_is_called_impossible() {
    let file = file("impossible", &llama(Q8_0));
    let model = Model::open(&file).unwrap();
    let fast = bench(model.parameters(), model.bytes().unwrap()).replace("1000", "1e12");
    let path = crate::program::file("profile-impossible.json", fast);
    for (device, causes) in [
        ("h100_sxm", ["another device", "--on, --as and --cache"]),
        ("this", ["busy machine", "measure again with --refresh"]),
    ] {
        let told = err(&run(&["--on", device, "--llama-bench", &path], &file));
        let lines: Vec<&str> = told.lines().filter(|line| line.contains("impossible:")).collect();
        assert_eq!(lines.len(), 1, "the prompt is possible: {told}");
        assert!(lines[0].contains("llama-bench tg20: 1.00e12 token/s where the ceiling is"), "{told}");
        assert!(
            lines[0].contains("a draft") && causes.iter().all(|cause| lines[0].contains(cause)),
            "{told}"
        );
    }
}

#[test]
fn operations_that_are_faster_than_their_least_time_are_called_impossible() {
    let file = file("impossible-measure", &llama(Q8_0));
    let mut machine: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(crate::program::MACHINE).unwrap()).unwrap();
    let told = |machine: &serde_json::Value| {
        let saved = crate::program::file("profile-slow-machine.json", machine.to_string());
        let args = ["profile", file.to_str().unwrap(), "--measure", "--quick"];
        let output = command().env("ROOFLINE_MACHINE", saved).args(args).output().unwrap();
        assert!(output.status.success(), "{}", err(&output));
        err(&output)
    };
    // A megabyte a second: whatever runs here is faster.
    for set in ["single", "all"] {
        machine[set]["read_gb_s"] = 0.001.into();
    }
    assert!(!told(&machine).contains("impossible"), "the weights fit in the caches");
    machine["caches"] = serde_json::json!([]);
    let shown = told(&machine);
    let lines: Vec<&str> = shown.lines().filter(|line| line.contains("impossible:")).collect();
    assert_eq!(lines.len(), 1, "{shown}");
    assert!(lines[0].contains("operation(s) took less than their least time, the first 0.attn_q"), "{shown}");
    assert!(lines[0].contains("busy machine") && lines[0].contains("--refresh"), "{shown}");
}

/// The data inside a page.
fn data(page: &str) -> serde_json::Value {
    let (_, rest) = page.split_once(r#"id="data">"#).expect("the page has data");
    let (data, _) = rest.split_once("</script>").expect("which ends");
    serde_json::from_str(data).expect("and is JSON")
}

#[test]
fn the_page_has_every_operation_and_moves_those_whose_cost_is_known() {
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
    // The head has its own parameters, and what all have in common is said once.
    let head = &what_if["operations"][11]["inputs"];
    assert_eq!(
        (&head["dense_params"], head.get("batch"), head.get("bandwidth")),
        (&6400.0.into(), None, None)
    );
    assert!(run(&["--on", "h100_sxm", "--phase", "prefill", "--html", pages], &file).status.success());
    let shown = data(&std::fs::read_to_string(&page).unwrap());
    assert_eq!(shown["what_if"]["sliders"][1]["quantity"], "prompt");
    // Times that were measured do not move.
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
fn a_saved_profile_is_drawn_as_the_fresh_one_was() {
    let files: &[(&str, &[u8])] = &[("m.gguf", &llama(Q8_0).build()), ("s.safetensors", &safetensors(STACK))];
    let directory = scratch::files("profile-plot", files);
    let path = |name: &str| directory.join(name).display().to_string();
    for (file, args) in [
        ("m.gguf", &["--by", "op"][..]),
        ("m.gguf", &["--phase", "prefill"][..]),
        ("m.gguf", &["--measure", "--quick"][..]),
        ("s.safetensors", &["--input", "4x8x8"][..]),
    ] {
        let fresh =
            run(&[&["--svg", &path("fresh.svg"), "--format", "json"], args].concat(), &directory.join(file));
        std::fs::write(path("saved.json"), &fresh.stdout).unwrap();
        printed(&["plot", &path("saved.json"), "--svg", &path("again.svg")]);
        let read = |name: &str| std::fs::read_to_string(path(name)).unwrap();
        assert_eq!(read("fresh.svg"), read("again.svg"), "{file} {args:?}");
    }
}

#[test]
fn the_chart_goes_to_standard_error_beside_a_document() {
    let file = file("chart", &llama(Q8_0));
    let output = run(&["--chart", "--ascii", "--format", "json"], &file);
    assert!(err(&output).contains("FLOP/byte"));
    serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("standard output holds JSON alone");
    let plain = out(&run(&["--ascii"], &file));
    assert_eq!(plain, out(&run(&["--chart", "--ascii"], &file)), "the text has its chart once");
}

#[test]
fn a_file_that_is_cut_short_is_an_error_unless_its_headers_are_asked_for() {
    let header = llama(Q8_0).header();
    let file = scratch::files("profile-cut", &[("m.gguf", &header)]).join("m.gguf");
    let refused = run(&[], &file);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("the file is cut short"));
    assert_eq!(run(&["--headers-only"], &file).status.code(), Some(0));
}

#[test]
fn a_requirement_on_a_total_with_an_undefined_part_fails_with_the_reason() {
    // Attention without a number of heads: the cache is missing from every total.
    let gguf = Gguf::of("newfangled", &[("block_count", 1.into())])
        .tensor("token_embd.weight", &[64, 64], Q8_0)
        .tensor("blk.0.attn_q.weight", &[64, 64], Q8_0)
        .tensor("blk.0.attn_k.weight", &[64, 64], Q8_0);
    let file = scratch::files("profile-bound", &[("m.gguf", &gguf.build())]).join("m.gguf");
    let gate = run(&["--require", "decode_ceiling >= 1", "--require", "batch == 1"], &file);
    assert_eq!(gate.status.code(), Some(1));
    let told = String::from_utf8_lossy(&gate.stderr).into_owned();
    let reason = "not met: decode_ceiling >= 1 (decode_ceiling = not known: 0.attention is undefined, \
                  the file does not say how many heads it has)";
    assert!(told.contains(reason), "{told}");
    assert!(!told.contains("not met: batch"), "{told}");
    // Every table says what is a bound.
    let text = out(&run(&[], &file));
    assert!(text.contains("Bounds") && !text.contains("Ceilings"), "{text}");
    let decode = text.lines().find(|line| line.trim_start().starts_with("decode ")).unwrap();
    assert!(decode.contains("< ") && decode.contains("> ") && decode.contains("undefined"), "{decode}");
    let layer = out(&run(&["--by", "layer", "--format", "csv"], &file));
    assert!(layer.lines().any(|line| line.starts_with("layer 0,3,> ")), "{layer}");
}

#[test]
fn a_requirement_on_a_total_that_may_be_less_fails_with_the_reason() {
    // An indexer chooses 16 tokens, and attention counts them all.
    let keys = [
        ("block_count", 1.into()),
        ("embedding_length", 64.into()),
        ("attention.head_count", 2.into()),
        ("attention.indexer.head_count", 2.into()),
        ("attention.indexer.key_length", 32.into()),
        ("attention.indexer.top_k", 16.into()),
    ];
    let gguf = Gguf::of("newfangled", &keys)
        .tensor("token_embd.weight", &[64, 64], Q8_0)
        .tensor("blk.0.attn_q.weight", &[64, 64], Q8_0)
        .tensor("blk.0.indexer.attn_k.weight", &[32, 64], Q8_0);
    let file = scratch::files("profile-most", &[("m.gguf", &gguf.build())]).join("m.gguf");
    let asked = ["--require", "decode_ceiling >= 1", "--require", "decode_estimate >= 1"];
    let gate = run(&asked, &file);
    assert_eq!(gate.status.code(), Some(1));
    let told = String::from_utf8_lossy(&gate.stderr).into_owned();
    let reason = "not met: decode_ceiling >= 1 (decode_ceiling = not known: 0.attention may cost less, \
                  only the 16 tokens that its indexer chooses need be read, and all are counted)";
    assert!(told.contains(reason), "{told}");
    assert!(!told.contains("not met: decode_estimate"), "{told}");
    // The rate is a bound from below, and the work one from above.
    let text = out(&run(&[], &file));
    assert!(text.contains("Bounds") && !text.contains("Ceilings"), "{text}");
    let decode = text.lines().find(|line| line.trim_start().starts_with("decode ")).unwrap();
    assert!(decode.find("> ") < decode.find("< ") && decode.contains("undefined"), "{decode}");
    let layer = out(&run(&["--by", "layer", "--format", "csv"], &file));
    assert!(layer.lines().any(|line| line.starts_with("layer 0,4,< ")), "{layer}");
    // A context that is chosen as a whole leaves nothing out.
    let short = run(&[&asked[..], &["--context", "16", "--prompt", "16"]].concat(), &file);
    assert_eq!(short.status.code(), Some(0), "{}", String::from_utf8_lossy(&short.stderr));
}

#[test]
fn sliders_move_no_attention_to_what_an_encoder_made() {
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
    // Recipes that a slider of the context moves, for weights, head and cache, and then those that it does not.
    assert!(html.contains(r#""compute":"compute","context":"context"}"#), "{html}");
    assert!(html.contains(r#""context":77"#), "what the encoder made of the prompt");
    let fixed = html.split(r#""recipe":5"#).nth(1).unwrap();
    assert!(fixed[..fixed.find('}').unwrap()].contains(r#""context":77"#), "{fixed}");
}

#[test]
fn a_tower_is_profiled_for_each_image() {
    let keys = ["image_size", "patch_size", "embedding_length", "attention.head_count"];
    let keys: Vec<(String, u32)> =
        keys.iter().zip([28, 14, 64, 4]).map(|(key, value)| (format!("vision.{key}"), value)).collect();
    let keys: Vec<(&str, roofline_test_support::writer::Value)> =
        keys.iter().map(|(key, value)| (key.as_str(), (*value).into())).collect();
    let gguf = Gguf::of("clip", &keys)
        .tensor("v.patch_embd.weight", &[64, 3, 14, 14], F16)
        .tensor("v.blk.0.attn_qkv.weight", &[192, 64], F16)
        .tensor("mm.0.weight", &[32, 64], F16);
    let result = json(&["--on", "t4"], &file("tower", &gguf));
    // Four patches: the matrices, and 16 pairs of 4 heads of 16 twice.
    let flops = 2.0 * (4.0 * (64.0 * 588.0 + 192.0 * 64.0 + 32.0 * 64.0) + 16.0 * 128.0);
    assert_eq!(result["pass"]["flops"], flops);
    assert_eq!((&result["phase"], &result["decode"]), (&"pass".into(), &serde_json::Value::Null));
}

#[test]
fn an_onnx_graph_is_profiled_node_by_node_for_the_inputs_it_is_given() {
    let graph = Graph::default()
        .input("image", &["N", "3", "H", "W"])
        .weight("w", &[8, 3, 3, 3], FLOAT)
        .node("Conv", &["image", "w"], &["a"], &[("pads", Says::List(&[1, 1, 1, 1]))])
        .node("Relu", &["a"], &["b"], &[]);
    let file = scratch::files("profile-onnx", &[("m.onnx", &graph.build())]).join("m.onnx");
    let result = json(&["--on", "t4", "--by", "op", "--input", "image=2x3x16x16"], &file);
    assert_eq!((&result["model"]["format"], &result["phase"]), (&"ONNX".into(), &"pass".into()));
    assert_eq!(result["workload"], serde_json::json!({"batch": 2.0, "input": ["image=2x3x16x16"]}));
    let flops: Vec<f64> =
        result["rows"].as_array().unwrap().iter().map(|row| row["cost"]["flops"].as_f64().unwrap()).collect();
    // Two pictures of 16 x 16: 8 channels meet 27 taps each, and then one operation.
    assert_eq!(flops, [2.0 * 2.0 * 8.0 * 27.0 * 256.0, 2.0 * 8.0 * 256.0]);
    let rate = result["pass"]["ceiling_per_s"].as_f64().unwrap();
    assert!((rate * result["pass"]["least_s"].as_f64().unwrap() - 2.0).abs() < 1e-9);
    assert_eq!(run(&["--input", "3x16x16"], &file).status.code(), Some(2));
    for (args, told) in [
        (&["--on", "t4"][..], "\"image\": its shape is \"N\"x3x\"H\"x\"W\": give it as NAME=1x3x224x224"),
        (
            &["--on", "t4", "--input", "image=0x3"],
            "a shape is NAME=1x3x224x224, up to 8 numbers, all above zero",
        ),
        (
            &["--on", "t4", "--batch", "4", "--input", "image=2x3x8x8"],
            "--batch 4: the inputs have a batch of 2",
        ),
        (
            &["--on", "t4", "--as", "q8_0", "--input", "2x3x8x8"],
            "--as: the weights of an ONNX file are not read",
        ),
    ] {
        let output = run(args, &file);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(err(&output).contains(told), "{}", err(&output));
    }
}

#[test]
fn a_profile_is_read_back_as_it_was_written() {
    let file = file("read-back", &llama(Q8_0));
    for args in [
        &["--on", "h100_sxm"][..],
        &["--on", "h100_sxm", "--by", "kind", "--top", "2", "--as", "q4_0", "--require", "batch == 1"],
        &["--measure", "--quick", "--ops", "ffn_up"],
    ] {
        let written = json(args, &file);
        let read = Profile::from_json(&written.to_string()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), written, "{args:?}");
    }
}

#[test]
fn a_profile_of_an_older_version_is_read_with_its_words_and_what_is_wrong_in_one_is_named() {
    let old = include_str!("saved/corpus/profile");
    assert!(old.contains(r#""bound": "Memory""#));
    let read = Profile::from_json(old).unwrap();
    assert_eq!(read.decode.unwrap().bound, Bound::Memory);
    for (wrong, reason) in [
        (old.replace(r#""bound": "Memory""#, r#""bound": "Disk""#), "unknown variant `Disk`"),
        (old.replace(r#""phase": "decode""#, r#""phase": "thought""#), "unknown variant `thought`"),
        (old.replace(r#""kind": "embedding""#, r#""kind": "magic""#), "unknown variant `magic`"),
        (old.replace("roofline.profile/3", "roofline.profile/9"), "schema is `roofline.profile/9`"),
    ] {
        let told = Profile::from_json(&wrong).unwrap_err();
        assert!(told.contains(reason), "{told}");
    }
}

#[test]
fn what_was_measured_is_a_figure_with_its_noise() {
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
