//! `roofline predict`: the document.

use crate::program::json;

#[test]
fn every_result_has_a_unit() {
    let document = json(&["predict", "llama_3_1_8b", "--on", "h100_sxm"]);
    let results = document["predictions"][0]["results"].as_object().expect("results");
    let without: Vec<&String> =
        results.keys().filter(|name| document["units"].get(*name).is_none()).collect();
    assert!(results.len() > 30 && without.is_empty(), "{without:?}");
}
