//! `roofline devices` and `models` as their users run them.

use crate::program::{json, printed, refused};

#[test]
fn devices_and_models_are_listed_with_their_sources() {
    let listed = json(&["devices"]);
    let devices = listed["devices"].as_array().expect("a list");
    assert!(devices.len() >= 240);
    assert!(devices.iter().all(|device| device["source"].as_str().is_some_and(|source| !source.is_empty())));
    assert!(printed(&["devices", "hopper"]).contains("h200_sxm"));
    assert!(printed(&["devices", "h100-sxm"]).contains("source: NVIDIA H100 data sheet"));
    assert!(printed(&["devices", "rtx-3060-ti"]).contains("derived: fp16 = 2 x fp32"));
    assert!(!printed(&["devices", "rtx-3090"]).contains("derived"));
    assert!(printed(&["devices", "Strix Halo"]).contains("strix_halo_ryzen_ai_max_395"));
    let link = json(&["devices", "a100-sxm-80gb"]);
    assert_eq!(
        (&link["devices"][0]["interconnect"], &link["devices"][0]["interconnect_gb_s"]),
        (&"nvlink_3".into(), &300.0.into())
    );
    let models = json(&["models"]);
    assert!(models["models"].as_array().expect("a list").len() >= 15);
    assert!(printed(&["models", "mixtral"]).contains("4.67e10  1.29e10"));
    refused(&["devices", "h1000"], "no such device");
    refused(&["models", "llama9"], "no such model");
}
