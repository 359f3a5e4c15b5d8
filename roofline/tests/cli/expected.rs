//! The speed to expect beside ceilings and estimates, in every result that has them.

use serde_json::Value;

use crate::program::{MACHINE, file, json, printed, refused, run};
use roofline_test_support::scratch;

/// The dimensions of Llama 2 7B.
const CONFIG: &str = r#"{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 32, "intermediate_size": 11008, "vocab_size": 32000, "max_position_embeddings": 4096}"#;

const ON_4090: [&str; 6] = ["predict", "llama-2-7b", "--quant", "q4_0", "--on", "rtx-4090"];

fn number(value: &Value, name: &str) -> f64 {
    value[name].as_f64().unwrap_or_else(|| panic!("{name}: {value}"))
}

#[test]
fn a_prediction_has_a_band_of_the_record_below_its_ceiling() {
    let result = json(&[&ON_4090[..], &["--context", "64", "--prompt", "512"]].concat());
    let entry = &result["predictions"][0];
    for (phase, ceiling) in [("decode", "decode_ceiling"), ("prefill", "prefill_ceiling")] {
        let expected = &entry["expected"][phase];
        assert_eq!((&expected["engine"], &expected["from"]), (&"llama.cpp-cuda".into(), &"record".into()));
        let [low, middle, high] = ["low_tokens_per_s", "middle_tokens_per_s", "high_tokens_per_s"]
            .map(|name| number(expected, name));
        assert!(low < middle && middle < high, "{expected}");
        assert!(high <= number(&entry["results"], ceiling), "{expected}");
        assert!(number(expected, "rows") > 5.0 && number(expected, "nearness") > 0.5, "{expected}");
    }
    // Published: 186 and 189 token/s.
    let decode = &entry["expected"]["decode"];
    assert!((150.0..220.0).contains(&number(decode, "middle_tokens_per_s")), "{decode}");
    assert_eq!(entry["expected"]["missing"], Value::Null);
    let shown = printed(&ON_4090);
    assert!(shown.contains("decode, expected") && shown.contains("prefill, expected"), "{shown}");
    assert!(shown.contains("with llama.cpp-cuda, which most such devices were measured with"), "{shown}");
}

#[test]
fn an_engine_is_chosen_by_name_and_a_wrong_one_is_refused_with_those_there_are() {
    let result = json(&[&ON_4090[..], &["--engine", "llama.cpp-vulkan"]].concat());
    assert_eq!(result["predictions"][0]["expected"]["decode"]["engine"], "llama.cpp-vulkan");
    let said = result["expectations"].to_string();
    assert!(said.contains("with llama.cpp-vulkan.") && !said.contains("most such devices"), "{said}");
    refused(&[&ON_4090[..], &["--engine", "fastest"]].concat(), "there are exllamav2-cuda, ");
    let list = printed(&["predict", "--engine", "help"]);
    assert!(list.contains("llama.cpp-metal") && list.contains("vllm-cuda"), "{list}");
    for command in ["choose", "profile"] {
        assert_eq!(printed(&[command, "x", "--engine", "help"]), list);
    }
}

#[test]
fn nothing_is_expected_where_the_record_says_nothing_and_one_line_says_why() {
    for (args, why) in [
        (vec!["predict", "llama-2-7b", "--on", "tpu-v5e"], "the record has no rows of devices of this kind"),
        (vec!["predict", "--params", "7b", "--on", "t4"], "only the number of parameters is known"),
        (vec!["predict", "llama-2-7b", "--on", "t4", "--draft", "3"], "no drafted tokens"),
        (vec!["predict", "llama-2-7b", "--on", "t4", "--engine", "mlc-rocm"], "fewer than 3 such rows"),
    ] {
        let shown = printed(&args);
        let told: Vec<&str> = shown.lines().filter(|line| line.contains("xpected")).collect();
        assert!(matches!(told[..], [line] if line.contains(why)), "{args:?}: {told:?}");
        let csv = printed(&[&args[..], &["--format", "csv"]].concat());
        assert!(!csv.contains("expected"), "{csv}");
        let expected = &json(&args)["predictions"][0]["expected"];
        assert!(expected["decode"].is_null() && expected["missing"][0].as_str().unwrap().contains(why));
    }
}

#[test]
fn conditions_orders_and_columns_may_name_what_is_expected() {
    let three = [
        "predict",
        "llama-2-7b",
        "--quant",
        "q4_0",
        "--on",
        "rtx-3090,rtx-4090,tpu-v5e",
        "--sort",
        "expected",
        "--columns",
        "expected_decode,expected_prefill_low",
        "--format",
        "csv",
    ];
    let csv = printed(&three);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "device,expected_decode,expected_prefill_low");
    assert!(lines[1].starts_with("rtx_4090,") && lines[2].starts_with("rtx_3090,"), "{csv}");
    assert_eq!(lines[3], "tpu_v5e,-,-");
    let gate = |condition: &str| run(&[&ON_4090[..], &["--require", condition]].concat()).status.code();
    assert_eq!(gate("expected_decode >= 100 [token/s]"), Some(0));
    assert_eq!(gate("expected_decode_low >= 10000 [token/s]"), Some(1));
    let fast = [&three[..6], &["--where", "expected_decode > 1 [token/s]", "--format", "csv"]].concat();
    assert_eq!(printed(&fast).lines().count(), 3);
}

#[test]
fn choosing_shows_orders_and_draws_what_is_expected() {
    let picture = scratch::directory("expected-choose").join("bars.svg");
    let picture = picture.to_str().expect("a plain path");
    let choice = json(&[
        "choose",
        "llama-2-7b",
        "--quant",
        "q4_0",
        "--sort",
        "expected_decode",
        "--on",
        "rtx-3060,rtx-4090,rtx-3090",
        "--svg",
        picture,
    ]);
    let devices = choice["devices"].as_array().expect("a list");
    let order: Vec<&str> = devices.iter().filter_map(|one| one["device"].as_str()).collect();
    assert_eq!(order, ["rtx_4090", "rtx_3090", "rtx_3060_12gb"]);
    assert!(number(&devices[0]["expected"]["decode"], "middle_tokens_per_s") > 50.0);
    let drawn = std::fs::read_to_string(picture).expect("a picture");
    assert_eq!(drawn.matches("stroke-width=\"3\"/>").count(), 3, "{drawn}");
    assert!(drawn.contains(", expected "), "{drawn}");
}

#[test]
fn profiles_and_the_first_run_have_it_too() {
    let config = file("expected-config.json", CONFIG);
    let profile = json(&["profile", &config, "--on", "rtx-4090", "--as", "q4_0"]);
    assert_eq!(profile["expected"]["decode"]["engine"], "llama.cpp-cuda", "{}", profile["expectations"]);
    let shown = printed(&["profile", &config, "--on", "rtx-4090", "--as", "q4_0"]);
    assert!(shown.contains("decode, expected: "), "{shown}");
    let gate = ["profile", &config, "--on", "rtx-4090", "--require", "expected_decode < 1 [token/s]"];
    assert_eq!(run(&gate).status.code(), Some(1));
    let first = json(&[]);
    let placed = &first["models"][0];
    assert!(placed["expected"].is_object(), "{placed}");
    assert!(!first["expectations"].as_array().expect("a list").is_empty(), "{first}");
}

#[test]
fn pages_say_what_is_expected() {
    let page = scratch::directory("expected-page").join("page.html");
    let page = page.to_str().expect("a plain path");
    printed(&[&ON_4090[..], &["--html", page]].concat());
    let text = std::fs::read_to_string(page).expect("a page");
    assert!(text.contains("expected, token/s") && text.contains("; decode expected "), "{text}");
}

#[test]
fn a_machine_that_was_measured_is_expected_to_run_on_its_cpu() {
    let args = ["predict", "llama-2-7b", "--quant", "q4_0", "--context", "512", "--on", MACHINE];
    let expected = &json(&args)["predictions"][0]["expected"]["decode"];
    assert_eq!(expected["engine"], "llama.cpp-cpu");
    assert!(number(expected, "nearness") < 0.5, "{expected}");
}
