//! `roofline calibrate` as its users run it, and `--calibrated`.

use std::fs;

use serde_json::Value;

use crate::program::{BENCH, command, err, file, json, out, printed, refused, run};
use roofline_test_support::scratch;

/// Published speeds of an M2 Ultra, as `llama-bench -o json` prints them.
const RUNS: &str = include_str!("../fixtures/m2-ultra.json");

fn calibrated(name: &str) -> (String, String) {
    let kept = scratch::directory(name).join("calibration.json");
    (file(&format!("{name}.json"), RUNS), kept.to_str().expect("a plain path").to_owned())
}

#[test]
fn runs_of_three_models_determine_the_constants_and_are_used_by_predictions() {
    let (runs, kept) = calibrated("calibrate-three");
    let found = json(&["calibrate", &runs, "--output", &kept]);
    assert_eq!((&found["device"], &found["engine"]), (&"apple_m2_ultra".into(), &"llama.cpp-metal".into()));
    assert_eq!(found["builds"][0], "a1b2c3d");
    let share = |name: &str| found[name].as_f64().unwrap_or_else(|| panic!("{name}: {found}"));
    assert!((0.8..0.95).contains(&share("bandwidth_share")), "{found}");
    assert!((0.5..1.0).contains(&share("compute_share")), "{found}");
    assert!((100.0..400.0).contains(&share("layer_cost_us")), "{found}");
    assert!(share("condition") <= 12.0 && share("spread") < 0.3, "{found}");
    assert_eq!(fs::read_to_string(&kept).expect("kept").parse::<Value>().expect("JSON"), found);
    // A model and a size that were not among the runs.
    let of = format!("--calibrated={kept}");
    let args = ["predict", "llama-2-13b", "--quant", "f16", "--on", "apple-m2-ultra", "--context", "64", &of];
    let result = json(&args);
    let entry = &result["predictions"][0];
    let decode = &entry["expected"]["decode"];
    assert_eq!((&decode["from"], &decode["rows"]), (&"calibration".into(), &6.0.into()));
    let middle = decode["middle_tokens_per_s"].as_f64().expect("a speed");
    assert!(middle < entry["results"]["decode_ceiling"].as_f64().expect("a ceiling"), "{entry}");
    assert!((15.0..30.0).contains(&middle), "{decode}");
    assert!(entry["expected"]["prefill"]["middle_tokens_per_s"].as_f64().expect("a speed") > 100.0);
    let shown = printed(&args);
    assert!(shown.contains("calibrated with 6 runs") && shown.contains("Expected: calibrated 20"), "{shown}");
}

#[test]
fn constants_are_kept_beside_the_machine_and_found_by_the_device() {
    let (runs, _) = calibrated("calibrate-kept");
    let cache = scratch::directory("calibrate-cache");
    let program = |args: &[&str]| {
        command()
            .env("XDG_CACHE_HOME", &cache)
            .env("HOME", &cache)
            .args(args)
            .output()
            .expect("the program starts")
    };
    let output = program(&["calibrate", &runs]);
    assert!(output.status.success(), "{}", err(&output));
    assert!(err(&output).contains("calibration-apple-m2-ultra-llama.cpp-metal.json"), "{}", err(&output));
    let predict = ["predict", "llama-2-13b", "--on", "apple-m2-ultra", "--calibrated"];
    let output = program(&predict);
    assert!(out(&output).contains("calibrated with 6 runs"), "{}{}", out(&output), err(&output));
    let other = program(&["predict", "llama-2-13b", "--on", "rtx-4090", "--calibrated"]);
    assert_eq!(other.status.code(), Some(2));
    assert!(
        err(&other).contains("nothing is kept for rtx_4090; run `roofline calibrate`"),
        "{}",
        err(&other)
    );
}

#[test]
fn what_the_runs_do_not_determine_is_refused_with_what_to_run() {
    let all: Value = RUNS.parse().expect("JSON");
    let tests = all.as_array().expect("a list");
    let some = |name: &str, tests: &[Value]| file(name, Value::from(tests.to_vec()).to_string());
    let kept = scratch::directory("calibrate-refused").join("never.json");
    let kept = kept.to_str().expect("a plain path");
    let refuse = |path: &str, says: &str| refused(&["calibrate", path, "--output", kept], says);
    refuse(
        &some("calibrate-one.json", &tests[2..4]),
        "one run of decoding; run `llama-bench -p 512 -n 128 -o json`",
    );
    refuse(&some("calibrate-alike.json", &tests[..4]), "do not tell bandwidth and the cost of a layer apart");
    let mut off = tests.clone();
    off[4]["avg_ts"] = 1.5.into();
    refuse(&some("calibrate-off.json", &off), "is off by");
    off[4]["avg_ts"] = 50.0.into();
    refuse(&some("calibrate-fast.json", &off), "llama_3_1_70b F16 tg1024: faster than the device can be");
    assert!(!std::path::Path::new(kept).exists(), "nothing is kept of what is refused");
}

#[test]
fn bad_results_are_refused_with_their_place() {
    let refuse = |name: &str, text: &str, says: &str| refused(&["calibrate", &file(name, text)], says);
    refuse("calibrate-no.json", "[{}]", "calibrate-no.json:1: not the output of `llama-bench -o json`");
    refuse("calibrate-empty.json", "[]", "no test that only reads or only makes tokens");
    refuse(
        "calibrate-model.json",
        &RUNS.replace("llama 8B", "nobody 8B").replace("8030261248", "8030261249"),
        "calibrate-model.json:3: the dimensions of model",
    );
    refuse(
        "calibrate-device.json",
        &RUNS.replace("Apple M2 Ultra", "Voodoo 2"),
        "\"Voodoo 2\" is not in the registry; --on",
    );
    refuse(
        "calibrate-two.json",
        &RUNS.replacen("Apple M2 Ultra", "Apple M1 Max", 1),
        "one device is calibrated at a time",
    );
    refuse("calibrate-schema.json", r#"{"schema": "x"}"#, "schema is `x`");
    refused(&["calibrate", "nowhere.json"], "nowhere.json");
    refused(&["predict", "llama-2-7b", "--on", "t4", "--calibrated=nowhere.json"], "nowhere.json");
    let (runs, kept) = calibrated("calibrate-other");
    assert!(run(&["calibrate", &runs, "--output", &kept]).status.success());
    let of = format!("--calibrated={kept}");
    refused(&["predict", "llama-2-7b", "--on", "t4", &of], "those of apple_m2_ultra, not of t4");
}

#[test]
fn models_are_known_by_their_parameters_too() {
    let (_, kept) = calibrated("calibrate-named");
    let runs = file("calibrate-named.json", RUNS.replace("llama 70B", "nobody 70B"));
    let found = json(&["calibrate", &runs, "--output", &kept]);
    assert_eq!(found["runs"][4]["run"], "llama_3_1_70b F16 tg1024", "{found}");
    // One that is not known comes from its file.
    let config = r#"{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 33, "num_attention_heads": 32,
        "num_key_value_heads": 32, "intermediate_size": 11008, "vocab_size": 32000, "max_position_embeddings": 4096}"#;
    let config =
        scratch::files("calibrate-config", &[("config.json", config.as_bytes())]).join("config.json");
    let config = config.to_str().expect("a plain path");
    let parameters = json(&["profile", config, "--on", "t4"])["model"]["parameters"].to_string();
    let runs = RUNS.replace("llama 7B", "mine 7B").replace("6738415616", &parameters);
    let runs = file("calibrate-mine.json", runs);
    refused(&["calibrate", &runs, "--output", &kept], "--model names its file");
    let found = json(&["calibrate", &runs, "--output", &kept, "--model", config]);
    assert_eq!(found["runs"][0]["run"], "llama F16 tg128", "{found}");
}

#[test]
fn products_of_the_program_itself_have_constants_too() {
    let bench: Value = fs::read_to_string(BENCH).expect("a file").parse().expect("JSON");
    let mut one = bench.clone();
    let mut product = bench["rows"][0].clone();
    let roof = 45.0;
    (product["roof_gb_s"], product["roof_gflop_s"]) = (roof.into(), 380.0.into());
    // Nine tenths of the bandwidth, and 5 us for each product.
    let of = |bytes: f64| {
        let seconds = bytes / (0.9 * roof * 1e9) + 5e-6;
        let mut product = product.clone();
        for (name, value) in
            [("seconds", seconds), ("median_seconds", seconds), ("gb_s", bytes / seconds / 1e9)]
        {
            product[name] = value.into();
        }
        product["gflop_s"] = (1e-3 * bytes / seconds / 1e9).into();
        product
    };
    one["rows"] = [5e8, 5e7, 5e6].map(of).to_vec().into();
    let (_, kept) = calibrated("calibrate-products");
    let found = json(&["calibrate", &file("calibrate-bench.json", one.to_string()), "--output", &kept]);
    assert_eq!((&found["engine"], &found["device"]), (&"roofline-cpu".into(), &"this".into()), "{found}");
    assert!((found["bandwidth_share"].as_f64().expect("a share") - 0.9).abs() < 1e-3, "{found}");
    // Six products to a layer.
    assert!((found["layer_cost_us"].as_f64().expect("a cost") - 30.0).abs() < 0.1, "{found}");
    assert!(
        found["compute_share"].is_null() && found["missing"][0].as_str().expect("a text").contains("-p 512")
    );
    refused(&["calibrate", BENCH], "several formats; measure one");
}
