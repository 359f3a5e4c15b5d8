//! `roofline evidence` as its users run it.

use crate::program::{err, file, json, out, printed, refused, run};

const HEAD: &str = "device,model,quant,phase,test,context,batch,tokens_per_s\n";

#[test]
fn rows_are_shown_with_shares_and_sources() {
    let shown = printed(&["evidence", "rtx-4090"]);
    assert!(shown.starts_with("rtx-4090: 12"), "{shown}");
    assert!(shown.contains("share of the ceiling:") && shown.contains("more; --format csv"), "{shown}");
    let found = json(&["evidence", "vllm"]);
    let rows = found["rows"].as_array().expect("a list");
    assert_eq!(rows.len(), 192);
    assert!(
        rows.iter().all(|row| row["source"].as_str().is_some_and(|source| source.starts_with("https://")))
    );
    let impossible = rows.iter().filter(|row| row["finding"] == "impossible").count();
    let doubtful = rows.iter().filter(|row| row["finding"] == "doubtful").count();
    assert_eq!((impossible, doubtful), (2, 2));
    assert_eq!(printed(&["evidence", "--format", "csv"]).lines().count(), 1747);
    assert!(printed(&["evidence", "m2-ultra", "--chart"]).contains("FLOP/byte"));
    refused(&["evidence", "no such thing"], "no row of the record has such a device");
}

#[test]
fn claims_of_a_user_are_checked() {
    // 1008 GB/s read 3.5 GB at most 288 times a second.
    let rows = "RTX 4090,Llama-2-7B,Q4_0,tg,tg128,64,1,150\nRTX 4090,Llama-2-7B,Q4_0,tg,tg128,64,1,400\n\
                Abacus,Llama-2-7B,Q4_0,tg,tg128,64,1,1\n";
    let path = file("claims.csv", format!("{HEAD}{rows}"));
    let output = run(&["evidence", "--check", &path]);
    let shown = out(&output);
    assert_eq!(output.status.code(), Some(1), "{shown}{}", err(&output));
    assert!(shown.contains("line 3: RTX 4090 Llama-2-7B Q4_0 at 400 tokens/s is impossible: 1.4"), "{shown}");
    assert!(shown.contains("1 within the ceiling, 1 impossible, 1 without a ceiling"), "{shown}");
    assert!(shown.contains("device \"Abacus\" is not in the registry"), "{shown}");
    let fine = file("fine.csv", format!("{HEAD}RTX 4090,Llama-2-7B,Q4_0,tg,tg128,64,1,150\n"));
    assert!(printed(&["evidence", "--check", &fine]).contains("1 within the ceiling"));
    let found = json(&["evidence", "--check", &fine]);
    let expected = &found["rows"][0]["expected"];
    let of = |name: &str| expected[name].as_f64().expect("the record knows this device and model");
    assert_eq!(expected["engine"], "llama.cpp-cuda");
    assert!(100.0 < of("low_tokens_per_s") && of("low_tokens_per_s") < of("middle_tokens_per_s"));
    assert!(of("middle_tokens_per_s") < of("high_tokens_per_s") && of("high_tokens_per_s") < 289.0);
    assert!(shown.contains("llama.cpp-cuda is expected to reach"), "{shown}");
    assert!(!shown.contains("line 4: llama.cpp"), "nothing is known of an abacus: {shown}");
    let bench = r#"[{"model_type": "llama 8B Q4_K - Medium", "model_size": 4912898304, "n_prompt": 512, "n_gen": 0,
        "avg_ts": 90000, "gpu_info": "NVIDIA GeForce RTX 4090", "n_gpu_layers": 99, "backends": "CUDA"}]"#;
    let bench = file("bench.json", bench);
    let output = run(&["evidence", "--check", &bench]);
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    assert!(out(&output).contains("is impossible"), "{}", out(&output));
}

#[test]
fn a_list_that_is_no_list_is_refused_at_its_line() {
    let bad = |name: &str, text: &str, says: &str| refused(&["evidence", "--check", &file(name, text)], says);
    bad("empty.csv", "", "empty.csv:1: empty");
    bad("speed.csv", &format!("{HEAD}x,y,Q4_0,tg,t,1,1,fast\n"), "speed.csv:2: `tokens_per_s` is \"fast\"");
    bad("only-head.csv", HEAD, "no rows");
    bad("bad.json", "[{}]", "bad.json:1: not the output of `llama-bench -o json`");
    refused(&["evidence", "--check", "nowhere.csv"], "nowhere.csv");
    refused(&["evidence", "--check", "a.csv", "rtx-4090"], "cannot be used with");
}
