//! `roofline contract diff`: the effect of a change on predictions.

use serde_json::Value;

use crate::program::{file, json, printed};

/// Changes are sorted by size, and old values are those of `roofline predict`.
#[test]
fn the_effect_of_a_formula_matches_the_generated_code() {
    let text = printed(&["contract", "list", "transformer-v1"]);
    let changed = text.replace("pass_weight_bytes + cache_bytes", "pass_weight_bytes + 2 * cache_bytes");
    assert_ne!(changed, text);
    let difference = json(&["contract", "diff", "transformer-v1", &file("transformer-v1.yaml", changed)]);
    let effect = &difference["contracts"][0]["effect"];
    let rows = effect["rows"].as_array().expect("rows");
    assert_eq!(effect["changed"], rows.len());
    let number = |row: &Value, side: &str| row[side]["numbers"]["decode_ceiling"].as_f64().expect("a number");
    let sizes: Vec<f64> = rows.iter().map(|row| number(row, "before") / number(row, "after")).collect();
    assert!(sizes.is_sorted_by(|a, b| *a >= b * (1.0 - 1e-8)));
    for (model, device, format) in [
        ("deepseek_v3", "h100_sxm", "q4_k"),
        ("gemma_2_9b", "raspberry_pi_5", "q8_0"),
        ("llama_3_1_8b", "a100_sxm_80gb", "f16"),
    ] {
        let predicted = json(&["predict", model, "--on", device, "--quant", format]);
        let row = rows
            .iter()
            .find(|row| row["model"] == model && row["device"] == device && row["format"] == format)
            .unwrap_or_else(|| panic!("{model} on {device} has changed"));
        for phase in ["decode", "prefill"] {
            let (name, bound) = (format!("{phase}_ceiling"), format!("{phase}_bound"));
            let predicted = &predicted["predictions"][0];
            assert_eq!(row["before"]["numbers"][&name], predicted["results"][&name], "{model} {name}");
            let word = row["before"]["bounds"][&bound].as_str().expect("a word");
            assert_eq!(word.to_lowercase(), predicted[&bound], "{model}");
        }
    }
}
