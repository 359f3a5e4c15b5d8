//! Errors in a `config.json`. Dimensions and further errors are in `cases/configs.yaml`.

use roofline::model::readers::config as read;
use serde_json::json;

#[test]
fn errors_name_missing_and_mistyped_fields() {
    let llama = json!({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256});
    for field in
        ["hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size"]
    {
        let mut absent = llama.clone();
        absent.as_object_mut().unwrap().remove(field);
        let with = |value| {
            let mut config = llama.clone();
            config[field] = value;
            config
        };
        let whole = "expected a non-negative integer, found";
        for (config, expected) in [
            (absent, "missing".to_owned()),
            (with(json!(null)), "missing".to_owned()),
            (with(json!("many")), format!("{whole} \"many\"")),
            (with(json!(-1)), format!("{whole} -1")),
            (with(json!(1.5)), format!("{whole} 1.5")),
            (with(json!([1])), format!("{whole} an array")),
            (with(json!(1e300)), format!("{whole} 1e+300")),
        ] {
            let fault = read(config.to_string().as_bytes()).expect_err("a bad field").to_string();
            assert_eq!(fault, format!("`{field}`: {expected}"));
        }
    }
}

#[test]
fn invalid_json_is_rejected_with_its_location() {
    for (text, expected) in [
        ("", "invalid JSON: EOF while parsing a value at line 1 column 0"),
        ("[1]", "expected a JSON object"),
        ("{\"a\": }", "invalid JSON: expected value at line 1 column 7"),
        ("{} x", "invalid JSON: trailing characters at line 1 column 4"),
    ] {
        assert_eq!(read(text.as_bytes()).unwrap_err().to_string(), expected);
    }
    let deep = format!("{}{}", "{\"a\":".repeat(100_000), "1");
    assert!(read(deep.as_bytes()).unwrap_err().to_string().contains("recursion limit"));
}
