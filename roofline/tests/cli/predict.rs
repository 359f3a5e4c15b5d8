//! `roofline predict` as its users run it.

use serde_json::Value;

use crate::program::{err, file, json, printed, refused, run};
use roofline_test_support::scratch;

#[test]
fn a_model_that_makes_no_tokens_is_known_by_its_parameters_and_operations() {
    let args = ["predict", "--params", "25.6m", "--flops", "8.2e9", "--batch", "32", "--on", "t4,h100-sxm"];
    let text = printed(&args);
    assert!(
        text.starts_with("inference-latency-v1") && text.contains("throughput") && text.contains("h100_sxm"),
        "{text}"
    );
    refused(&["predict", "llama-3.1-8b", "--flops", "1e9"], "--flops");
    let text = printed(&["predict", "--params", "7e9", "--sweep", "bits=4", "--on", "h100-sxm"]);
    assert!(text.contains("4 bits") && !text.contains("parameters, f16"), "{text}");
}

#[test]
fn a_known_model_on_a_known_device_shows_what_it_needs_and_reaches() {
    let shown =
        printed(&["predict", "llama-3.1-8b", "--on", "H100-SXM", "--quant", "q8_0", "--context", "8192"]);
    for part in [
        "llama_3_1_8b: 8.03e9 parameters, q8_0",
        "8.50 bits per parameter",
        "1.07 GB  1 x 8192 tokens",
        "fits in 80.0 GB",
        "held back by memory",
        "held back by arithmetic",
    ] {
        assert!(shown.contains(part), "{part} is missing:\n{shown}");
    }
}

#[test]
fn json_has_every_result_of_the_contract_with_its_unit() {
    let result = json(&["predict", "llama_3_1_8b", "--on", "h100_sxm", "--context", "8192"]);
    assert_eq!(result["schema"], "roofline.predict/2");
    assert_eq!(result["contract"], "transformer-v1 3.0.0");
    let prediction = &result["predictions"][0];
    assert_eq!(prediction["results"]["cache_bytes"], 1_073_741_824.0);
    assert_eq!(prediction["fits"], true);
    assert_eq!(prediction["decode_bound"], "memory");
    assert_eq!(result["units"]["decode_ceiling"], "token/s");
    let names = prediction["results"].as_object().expect("an object").keys();
    assert!(names.clone().all(|name| result["units"].get(name).is_some()));
}

#[test]
fn what_a_device_does_not_publish_is_null_and_not_a_number() {
    let result = json(&["predict", "llama_3_1_8b", "--on", "graviton3"]);
    let prediction = &result["predictions"][0];
    assert_eq!(prediction["results"]["token_energy"], Value::Null);
    assert_eq!(prediction["fits"], Value::Null);
}

#[test]
fn several_devices_make_a_table_and_all_devices_make_one_row_each() {
    let csv = printed(&["predict", "llama_2_13b", "--on", "t4,a100_sxm_40gb", "--format", "csv"]);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[0].starts_with("device,units,fits,weights_gb,"), "{csv}");
    assert!(lines[1].starts_with("t4,fp16,no,") && lines[2].starts_with("a100_sxm_40gb,fp16,yes,"), "{csv}");
    let result = json(&["predict", "llama_2_7b", "--all-devices"]);
    assert!(result["predictions"].as_array().expect("a list").len() >= 30);
}

#[test]
fn this_machine_is_a_device_with_its_measured_roofs() {
    let result = json(&["predict", "tinyllama_1_1b", "--on", "this,t4", "--quant", "q8_0"]);
    let this = &result["predictions"][0];
    assert_eq!((&this["device"], &this["precision"]), (&"this".into(), &"int8".into()));
    assert_eq!((&this["bandwidth_gb_s"], &this["compute_gflop_s"]), (&45.0.into(), &380.0.into()));
    assert_eq!(this["fits"], Value::Null, "the memory of a measured machine is not known");
    let whole = json(&["predict", "tinyllama_1_1b", "--on", "this"]);
    assert_eq!(whole["predictions"][0]["compute_gflop_s"], 200.0, "what is not quantized needs floats");
    refused(&["predict", "tinyllama_1_1b", "--on", "this", "--precision", "fp16"], "it has fp32, int8");
}

#[test]
fn two_sweeps_make_a_table_one_across_the_other() {
    let args =
        ["predict", "llama-3.1-8b", "--on", "h100-sxm", "--sweep", "batch=1,64", "--sweep", "context=1k,32k"];
    let both = json(&args);
    assert_eq!((&both["swept"], &both["across"]), (&"batch".into(), &"context".into()));
    let entries = both["predictions"].as_array().unwrap();
    let places: Vec<(f64, f64)> = entries
        .iter()
        .map(|entry| (entry["at"].as_f64().unwrap(), entry["across"].as_f64().unwrap()))
        .collect();
    assert_eq!(places, [(1.0, 1024.0), (64.0, 1024.0), (1.0, 32768.0), (64.0, 32768.0)]);
    // Each is what it is alone.
    for (entry, (batch, context)) in entries.iter().zip(&places) {
        let (batch, context) = (batch.to_string(), context.to_string());
        let alone =
            json(&["predict", "llama-3.1-8b", "--on", "h100-sxm", "--batch", &batch, "--context", &context]);
        assert_eq!(entry["results"], alone["predictions"][0]["results"]);
    }
    let text = printed(&args);
    assert!(
        text.contains("batch \\ context  1024") && text.contains("in parentheses does not fit"),
        "{text}"
    );
    // Every point is asked, and one of them does not fit.
    for (batches, code) in [("batch=1,2", 0), ("batch=1,64", 1)] {
        let args =
            ["predict", "llama-3.1-8b", "--on", "h100-sxm", "--sweep", batches, "--sweep", "context=1k,32k"];
        let asked = run(&[&args[..], &["--require", "decode_ceiling >= 100"]].concat());
        assert_eq!(asked.status.code(), Some(code), "{batches}");
    }
    refused(&[&args[..], &["--sweep", "prompt=1"]].concat(), "and no more");
    refused(
        &["predict", "llama-3.1-8b", "--on", "t4", "--sweep", "batch=1", "--sweep", "batch=2"],
        "swept twice",
    );
}

#[test]
fn a_sweep_says_where_the_bound_changes() {
    let args =
        ["predict", "llama_2_7b", "--on", "h100_sxm", "--context", "1", "--sweep", "batch=1,2,4..4096"];
    let result = json(&args);
    assert_eq!(result["predictions"].as_array().expect("a list").len(), 13);
    let change = &result["changes"][0];
    assert_eq!((&change["before"], &change["after"]), (&"memory".into(), &"compute".into()));
    let from = change["from"].as_f64().expect("a number");
    let at = |batch: f64| {
        let batch = batch.to_string();
        let result =
            json(&["predict", "llama_2_7b", "--on", "h100_sxm", "--context", "1", "--batch", &batch]);
        result["predictions"][0]["decode_bound"].clone()
    };
    assert_eq!((at(from - 1.0), at(from)), ("memory".into(), "compute".into()));
}

#[test]
fn an_explanation_puts_the_numbers_into_the_formulas_and_names_their_lines() {
    let shown =
        printed(&["predict", "tinyllama-1.1b", "--on", "raspberry-pi-5", "--quant", "q4_0", "--explain"]);
    assert!(shown.contains("decode_bytes = pass_weight_bytes + cache_bytes + state_bytes"), "{shown}");
    assert!(shown.contains("    = (968976384 * 4.50262 + 65536000 * 6.5625 + 0 * 16"), "{shown}");
    assert!(shown.contains("transformer-v1.yaml:"), "{shown}");
    let result = json(&["predict", "tinyllama-1.1b", "--on", "raspberry-pi-5", "--explain"]);
    let lines = result["explanation"].as_array().expect("a list");
    let energy = lines.iter().any(|line| line["name"] == "token_energy");
    assert!(lines.len() > 30 && !energy, "the power of the device is not known");
}

#[test]
fn a_requirement_that_does_not_hold_ends_with_one() {
    let args = ["predict", "llama_2_70b", "--on", "h100_sxm,h200_sxm", "--quant", "q8_0", "--require"];
    let with = |condition: &'static str| run(&[args.as_slice(), &[condition]].concat());
    assert_eq!(with("decode_tokens_per_s >= 10").status.code(), Some(0));
    let output = with("feasibility == \"fits\" and decode_tokens_per_s >= 60");
    assert_eq!(output.status.code(), Some(1));
    let errors = err(&output);
    assert!(errors.contains("h100_sxm: not met: ") && !errors.contains("h200_sxm: not met"), "{errors}");
    assert!(!output.stdout.is_empty(), "the result is printed all the same");
    let unknown = run(&["predict", "llama_2_7b", "--on", "apple_m1", "--require", "token_energy < 100"]);
    assert_eq!(unknown.status.code(), Some(1), "what is not known does not pass");
    let args = ["predict", "llama_2_7b", "--on", "graviton3", "--require", "feasibility == \"fits\""];
    assert_eq!(run(&args).status.code(), Some(1), "nor does a text that is not known");
}

#[test]
fn a_model_file_and_a_number_of_parameters_are_models_too() {
    let config = r#"{"model_type": "llama", "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 22,
        "num_attention_heads": 32, "num_key_value_heads": 4, "vocab_size": 32000, "max_position_embeddings": 2048}"#;
    let of_file = json(&["predict", &file("predict-config.json", config), "--on", "t4"]);
    let known = json(&["predict", "tinyllama_1_1b", "--on", "t4"]);
    assert_eq!(of_file["predictions"], known["predictions"]);
    let params = json(&["predict", "--params", "7e9", "--quant", "q4_0", "--on", "apple_m1_max"]);
    assert_eq!(params["predictions"][0]["results"]["weight_bytes"], 7e9 * 4.5 / 8.0);
}

#[test]
fn bad_input_is_refused_with_what_is_allowed() {
    refused(
        &["predict", "llama_3_1_8b", "--on", "mi300"],
        "2 devices are called so; name one of mi300a, mi300x",
    );
    refused(&["predict", "llama_3_1_8b", "--on", "rtx_4099"], "did you mean `rtx_4090`?");
    refused(&["predict", "llama_3_1_9b", "--on", "t4"], "did you mean `llama_3_1_8b`?");
    refused(&["predict", "llama_3_1_8b"], "--all-devices");
    refused(&["predict", "--on", "t4"], "name a model");
    refused(&["predict", "llama_2_7b", "--params", "7e9", "--on", "t4"], "not both");
    refused(
        &["predict", "llama_2_7b", "--on", "a100_sxm_80gb", "--precision", "fp8"],
        "a100_sxm_80gb has no peak for fp8; it has fp32, tf32, fp16, bf16, int8, int4",
    );
    refused(&["predict", "llama_2_7b", "--on", "t4", "--precision", "fp17"], "no such precision");
    refused(&["predict", "llama_2_7b", "--on", "t4", "--quant", "q8_k_m"], "no such format");
    refused(&["predict", "llama_2_7b", "--on", "t4", "--batch", "0"], "batch = 0 is outside its domain");
    refused(&["predict", "llama_2_7b", "--on", "t4", "--batch", "-1"], "batch = -1 is outside its domain");
    refused(&["predict", "llama_2_7b", "--on", "t4", "--context", "nan"], "write tokens as 4096 or 128k");
    refused(&["predict", "llama_2_7b", "--on", "t4", "--prompt", "1e30"], "prompt = 1");
    refused(
        &["predict", "llama_2_7b", "--on", "t4", "--efficiency", "2"],
        "compute_efficiency = 2 is outside",
    );
    refused(&["predict", "--params", "inf", "--on", "t4"], "write parameters as 7e9, 8b or 350m");
    refused(&["predict", "--params", "1e30", "--on", "t4"], "is outside its domain");
    refused(&["predict", "llama_2_7b", "--on", "t4", "--require", "tokens > 1"], "unknown name `tokens`");
    refused(
        &["predict", "llama_2_7b", "--on", "t4", "--sweep", "batch=1..1e99"],
        "batch = 131072 is outside its domain",
    );
}

#[test]
fn a_precision_that_is_not_there_can_be_stood_in_for() {
    let result =
        json(&["predict", "llama_2_7b", "--on", "a100_sxm_80gb", "--precision", "fp8", "--allow-fallback"]);
    assert_eq!(result["predictions"][0]["precision"], "fp16");
    assert!(
        result["warnings"][0].as_str().expect("text").contains("its estimate takes the units of the ceiling")
    );
}

#[test]
fn a_configuration_with_a_wrong_field_names_it() {
    for (config, says) in [
        (r#"{"model_type": "llama", "hidden_size": 2048}"#, "num_hidden_layers"),
        (
            r#"{"model_type": "llama", "hidden_size": 2050, "num_hidden_layers": 2, "num_attention_heads": 32,
            "intermediate_size": 8, "vocab_size": 8}"#,
            "num_attention_heads",
        ),
        (r#"{"model_type": "llama", "hidden_size": "wide"}"#, "hidden_size"),
        ("[]", "not a model file"),
    ] {
        refused(&["predict", &file("predict-wrong.json", config), "--on", "t4"], says);
    }
}

#[test]
fn predictions_are_drawn_and_drawn_again_from_what_was_saved() {
    let directory = scratch::directory("predict-plot");
    let path = |name: &str| directory.join(name).display().to_string();
    for args in [&["--on", "h100_sxm,t4"][..], &["--on", "this", "--sweep", "batch=1..64"][..]] {
        let [svg, html, again] = ["fresh.svg", "page.html", "again.svg"].map(path);
        let fresh = [&["predict", "llama_3_1_8b", "--svg", &svg, "--html", &html], args].concat();
        std::fs::write(path("saved.json"), json(&fresh).to_string()).unwrap();
        printed(&["plot", &path("saved.json"), "--svg", &again]);
        let read = |name: &str| std::fs::read_to_string(name).unwrap();
        assert_eq!(read(&svg), read(&again), "{args:?}");
        // A sweep has moved already what sliders would move.
        assert_eq!(read(&html).contains("transformer_v1"), !args.contains(&"--sweep"), "{args:?}");
    }
    let shown = printed(&["predict", "llama_3_1_8b", "--on", "t4", "--chart", "--ascii"]);
    assert!(shown.contains("FLOP/byte") && shown.contains("prefill"), "{shown}");
    refused(&["predict", "llama_3_1_8b", "--on", "t4", "--svg", "/nowhere/x.svg"], "can't be written");
}

#[test]
fn a_requirement_is_asked_of_every_device_and_an_unknown_figure_does_not_pass() {
    let args = ["predict", "llama_2_7b", "--on", "h100_sxm,apple_m1", "--require", "token_energy < 1e9"];
    let output = run(&args);
    assert_eq!(output.status.code(), Some(1));
    let errors = err(&output);
    assert!(errors.contains("apple_m1: not met: token_energy < 1e9 (token_energy = not known)"), "{errors}");
    assert!(!errors.contains("h100_sxm: not met"), "{errors}");
}

#[test]
fn a_saved_prediction_is_read_with_its_old_words_and_refused_with_the_reason() {
    let mut saved = json(&["predict", "llama_3_1_8b", "--on", "t4"]);
    saved["predictions"][0]["decode_bound"] = "Memory".into();
    saved["predictions"][0].as_object_mut().expect("an object").remove("inputs");
    let shown = printed(&["plot", &file("predict-old.json", saved.to_string()), "--format", "csv"]);
    assert!(shown.contains(",memory") && !shown.contains("Memory"), "{shown}");
    let old = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/saved/corpus/predict");
    for command in ["plot", "gate"] {
        refused(&[command, old], "schema \"roofline.predict/1\" can't be");
    }
    saved["predictions"] = serde_json::json!([]);
    refused(&["plot", &file("predict-empty.json", saved.to_string())], "there must be 1 to 10000");
}
