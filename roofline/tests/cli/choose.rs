//! `roofline choose`, and `--where`, `--sort` and `--columns` of the lists.

use serde_json::Value;

use crate::program::{command, err, json, out, printed, refused, run};
use roofline_test_support::scratch;

#[test]
fn one_command_says_which_of_five_devices_runs_a_model_fast_enough() {
    let args = [
        "choose",
        "qwen3-30b-a3b",
        "--quant",
        "q4_k_m",
        "--context",
        "32k",
        "--at-least",
        "20 token/s",
        "--on",
        "rtx-3060,rtx-4090,m4-max-40c,raspberry-pi-5,h100-sxm",
    ];
    let choice = json(&args);
    assert_eq!((&choice["context"], &choice["at_least_tokens_per_s"]), (&32_768.0.into(), &20.0.into()));
    let devices = choice["devices"].as_array().expect("a list");
    assert_eq!(devices.len(), 5);
    let of =
        |name: &str| devices.iter().find(|one| one["device"] == name).unwrap_or_else(|| panic!("{choice}"));
    assert_eq!(of("rtx_4090")["verdict"], "enough");
    assert_eq!(of("apple_m4_max_40c")["verdict"], "enough");
    assert_eq!(of("raspberry_pi_5")["verdict"], "too small");
    assert!(of("raspberry_pi_5")["missing_gb"].as_f64().unwrap() > 2.0);
    let (context, batch) = (&of("rtx_4090")["largest_context"], &of("rtx_4090")["largest_batch"]);
    assert!(context.as_f64().unwrap() >= 32_768.0 && batch.as_f64().unwrap() >= 1.0, "{context} {batch}");
    let shown = printed(&args);
    for part in ["These do", "These do not", "cheapest", "smallest", "most frugal", "speeds are ceilings"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(printed(&[&args[..], &["--format", "csv"]].concat()).lines().count(), 6);
    assert!(printed(&[&args[..], &["--format", "md"]].concat()).contains("| rtx_4090 |"));
}

#[test]
fn all_devices_are_tried_unless_some_are_named_and_a_condition_narrows_them() {
    let args = [
        "choose",
        "llama-3.1-8b",
        "--quant",
        "Q4_K_M",
        "--at-least",
        "20",
        "--where",
        "kind == \"gpu\" and capacity <= 16 [GB]",
    ];
    let choice = json(&args);
    let devices = choice["devices"].as_array().expect("a list");
    assert!(devices.len() > 40);
    assert!(devices.iter().all(|one| one["kind"] == "gpu" && one["capacity_gb"].as_f64().unwrap() <= 16.0));
    let prices: Vec<f64> = devices
        .iter()
        .filter(|one| one["verdict"] == "enough")
        .map_while(|one| one["launch_price_usd"].as_f64())
        .collect();
    assert!(prices.len() > 5 && prices.is_sorted(), "{prices:?}");
    assert_eq!(choice["best"]["cheapest"], devices[0]["device"]);
    let fastest = json(&[&args[..], &["--sort", "decode"]].concat());
    let speeds: Vec<f64> = fastest["devices"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["verdict"] == "enough")
        .map(|one| one["decode_tokens_per_s"].as_f64().unwrap())
        .collect();
    assert!(speeds.is_sorted_by(|a, b| a >= b), "{speeds:?}");
}

#[test]
fn a_choice_that_no_device_meets_ends_with_one_and_bad_input_with_two() {
    let none = run(&["choose", "llama-3.1-8b", "--on", "t4", "--at-least", "1e6 token/s"]);
    assert_eq!(none.status.code(), Some(1));
    assert!(out(&none).contains("0 of 1 devices hold it and may reach 1000000 token/s"), "{}", out(&none));
    let unknown = json(&["choose", "llama-3.1-8b", "--on", "graviton3"]);
    assert_eq!(unknown["devices"][0]["verdict"], "memory not known");
    assert_eq!(unknown["devices"][0]["largest_context"], Value::Null);
    let nothing = run(&["choose", "llama-3.1-8b", "--where", "capacity > 1e5"]);
    assert_eq!((nothing.status.code(), err(&nothing).contains("no device meets --where")), (Some(1), true));
    refused(&["choose", "llama-3.1-8b", "--at-least", "20 GB"], "is in GB, not in token/s");
    refused(&["choose", "llama-3.1-8b", "--at-least", "-1"], "below zero");
    refused(&["choose", "llama-3.1-8b", "--sweep", "batch=1,2"], "--sweep belongs to `predict`");
    refused(
        &["choose", "llama-3.1-8b", "--sort", "colour"],
        "there are price, memory, energy, watts, decode, price_per_token",
    );
    refused(&["choose", "llama-9"], "no such model");
}

#[test]
fn bars_show_tokens_per_second_by_device_as_a_picture_and_on_a_page() {
    let directory = scratch::directory("bars");
    let (svg, html) = (directory.join("bars.svg"), directory.join("bars.html"));
    let files = ["--svg", svg.to_str().unwrap(), "--html", html.to_str().unwrap()];
    let args = ["choose", "llama-3.1-8b", "--on", "t4,h100-sxm,rtx-4090", "--at-least", "30"];
    printed(&[&args[..], &files].concat());
    let picture = std::fs::read_to_string(&svg).expect("the picture");
    assert!(picture.starts_with("<svg") && picture.contains(">h100_sxm<"), "{picture}");
    let page = std::fs::read_to_string(&html).expect("the page");
    assert!(
        page.contains("\"unit\":\"token/s\",\"line\":30.0")
            && page.contains("[\"rtx_4090\",\"gpu\",\"enough\""),
        "{page}"
    );
    // The same for many predictions, where roofs would be a tangle.
    printed(&[&["predict", "llama-3.1-8b", "--all-devices"][..], &files].concat());
    let picture = std::fs::read_to_string(&svg).expect("the picture");
    assert!(picture.matches("<rect x=").count() > 150, "a bar for each device");
}

#[test]
fn in_a_narrow_terminal_devices_still_say_what_they_are_short_of_and_what_to_expect() {
    let args =
        ["choose", "llama-3.1-70b", "--quant", "q4_k_m", "--at-least", "10", "--on", "rtx-4090,h100-sxm"];
    for columns in ["60", "80", "100", "200"] {
        let shown = out(&command().args(args).env("COLUMNS", columns).output().expect("it starts"));
        let (_, others) = shown.split_once("These do not\n").unwrap_or_else(|| panic!("{columns}: {shown}"));
        assert!(others.starts_with(" device    ") && others.contains("short of"), "{columns}: {shown}");
        assert!(others.contains("expected decode") && others.contains("too small"), "{columns}: {shown}");
        let widest = shown.lines().map(|line| line.chars().count()).max();
        assert!(widest <= columns.parse().ok(), "{columns}: {shown}");
    }
    let asked = [&args[..], &["--columns", "largest context,decode", "--format", "csv"]].concat();
    assert!(
        printed(&asked).starts_with("device,decode_tokens_per_s,largest_context\r\n"),
        "{}",
        printed(&asked)
    );
    refused(&[&args[..], &["--columns", "speed"]].concat(), "no such column; there are device, kind");
}

#[test]
fn predictions_are_filtered_and_sorted_by_what_a_buyer_asks() {
    let args = [
        "predict",
        "llama-3.1-8b",
        "--quant",
        "q4_k_m",
        "--all-devices",
        "--where",
        "fits and decode_tokens_per_s >= 20",
        "--columns",
        "decode,price,price_per_token,watts,kind",
        "--format",
        "csv",
    ];
    for (sort, column) in [("price_per_token", 3), ("watts", 4), ("decode", 1)] {
        let table = printed(&[&args[..], &["--sort", sort]].concat());
        let mut lines = table.lines();
        assert_eq!(lines.next(), Some("device,decode_ceiling,launch_price_usd,price_per_speed,tdp,kind"));
        let values: Vec<f64> =
            lines.map_while(|line| line.split(',').nth(column).and_then(|cell| cell.parse().ok())).collect();
        assert!(values.len() > 20, "{sort}: {table}");
        let sorted = if sort == "decode" { values.is_sorted_by(|a, b| a >= b) } else { values.is_sorted() };
        assert!(sorted, "{sort}: {values:?}");
    }
    let none = run(&["predict", "llama-3.1-8b", "--on", "t4", "--where", "decode_tokens_per_s > 1e9"]);
    assert_eq!((none.status.code(), err(&none).contains("no prediction meets --where")), (Some(1), true));
}
