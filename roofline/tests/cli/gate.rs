//! `roofline gate` as continuous integration runs it: saved runs, and runs made again on a saved machine.

use std::fs;

use serde_json::{Value, json};

use crate::program::{BENCH, CONFIG, MACHINE, err, out, printed, run};

/// How it ends, and what it prints.
fn gate(args: &[&str]) -> (Option<i32>, String) {
    let output = run(&[&["gate"], args].concat());
    (output.status.code(), out(&output) + &err(&output))
}

fn json(path: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(path).expect("the fixture is there")).expect("JSON")
}

fn file(name: &str, value: &Value) -> String {
    crate::program::file(&format!("gate-{name}"), value.to_string())
}

/// The machine with another reading speed of all threads.
fn slower(name: &str, gb_s: f64) -> String {
    let mut machine = json(MACHINE);
    machine["all"]["read_gb_s"] = json!(gb_s);
    machine["all"]["read"]["spread"]["best"] = json!(gb_s);
    machine["all"]["read"]["spread"]["median"] = json!(gb_s * 0.99);
    file(name, &machine)
}

#[test]
fn a_run_that_is_the_same_passes() {
    let (code, shown) = gate(&[MACHINE, MACHINE]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("\npassed: 30 same; threshold 5.0 %\n"), "{shown}");
}

#[test]
fn without_a_second_file_the_command_is_run_again() {
    let (code, shown) = gate(&[&slower("faster-before.json", 60.0), "--format", "json"]);
    let found: Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(code, Some(1), "{shown}");
    let new = "roofline machine --no-cache --isa=scalar --threads=2 --size=268435456";
    assert_eq!((&found["new"], &found["passed"]), (&json!(new), &json!(false)));
    let worse: Vec<&Value> =
        found["figures"].as_array().unwrap().iter().filter(|figure| figure["verdict"] == "worse").collect();
    assert_eq!(worse.len(), 1, "{shown}");
    assert_eq!(worse[0]["name"], "memory read, 2 threads");
    let (code, shown) = gate(&[MACHINE]);
    assert_eq!(code, Some(2), "the saved machine is not compared with itself: {shown}");
    assert!(shown.contains("ROOFLINE_MACHINE is") && shown.contains("compared with itself"), "{shown}");
}

#[test]
fn what_too_much_noise_hides_does_not_pass_and_says_what_to_do() {
    let before = slower("quiet.json", 50.0);
    let mut noisy = json(&slower("noisy.json", 48.0));
    noisy["all"]["read"]["spread"]["median"] = json!(24.0);
    let (code, shown) = gate(&[&before, &file("noisy.json", &noisy)]);
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains("1 can't tell") && shown.contains("run again on a quieter machine"), "{shown}");
    assert_eq!(gate(&[&before, &file("noisy.json", &noisy), "--noise", "60%"]).0, Some(0));
}

#[test]
fn a_loss_within_the_threshold_or_the_noise_passes() {
    let (before, after) = (slower("before.json", 50.0), slower("after.json", 46.0));
    assert_eq!(gate(&[&before, &after]).0, Some(1));
    assert_eq!(gate(&[&before, &after, "--threshold", "10%"]).0, Some(0));
    assert_eq!(gate(&[&after, &before]).0, Some(0), "a gain is no loss");
    let mut noisy = json(&before);
    noisy["all"]["read"]["spread"]["median"] = json!(40.0);
    let (code, shown) = gate(&[&file("noisy.json", &noisy), &after]);
    assert_eq!(code, Some(0), "{shown}");
    let line = shown.lines().find(|line| line.contains("memory read, 2 threads")).expect("it is listed");
    assert!(line.contains("-8.0 %") && line.contains("20 %") && line.ends_with("noise"), "{line}");
}

#[test]
fn of_times_the_lower_are_better() {
    let (before, mut after) = (json(BENCH), json(BENCH));
    let seconds = before["rows"][0]["seconds"].as_f64().unwrap();
    after["rows"][0]["seconds"] = json!(seconds * 2.0);
    after["rows"][0]["median_seconds"] = json!(seconds * 2.01);
    let (before, after) = (file("bench-before.json", &before), file("bench-after.json", &after));
    let (code, shown) = gate(&[&before, &after]);
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains("+100.0 %") && shown.contains("worse"), "{shown}");
    let (code, shown) = gate(&[&after, &before]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("-50.0 %") && shown.contains("better"), "{shown}");
}

#[test]
fn what_is_missing_fails_and_what_is_new_does_not() {
    let mut fewer = json(BENCH);
    fewer["rows"].as_array_mut().unwrap().pop();
    let fewer = file("fewer.json", &fewer);
    let (code, shown) = gate(&[BENCH, &fewer]);
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains("failed: 1 missing"), "{shown}");
    let (code, shown) = gate(&[&fewer, BENCH]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("1 new"), "{shown}");
}

#[test]
fn a_profile_is_compared_by_its_ceilings_and_its_measured_times() {
    let config = crate::program::file("gate-config.json", CONFIG);
    let mut saved: Value =
        serde_json::from_str(&printed(&["profile", &config, "--format", "json"])).expect("JSON");
    let path = file("profile.json", &saved);
    let (code, shown) = gate(&[&path]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("decode, ceiling") && shown.contains("passed: 2 same"), "{shown}");
    let [fast, slow] = [("fast.json", 1.0e-6), ("slow.json", 2.0e-6)].map(|(name, median)| {
        saved["operations"][0]["measured"] = json!({
            "median_s": median, "best_s": 0.99 * median, "worst_s": median, "runs": 3, "first_s": median, "first_from_disk": null,
            "gb_s": 1.0, "gflop_s": 1.0, "utilization": 0.5, "band": "good", "least_s": 1e-7, "residual_s": 0.0, "copied": false
        });
        file(name, &saved)
    });
    let (code, shown) = gate(&[&fast, &slow]);
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains("embedding") && shown.contains("+100.0 %"), "{shown}");
}

/// A profile of a small model with a speed of `llama-bench`, on this machine with roofs that are so many times as high.
fn with_llama_bench(name: &str, speed: f64, roofs: f64) -> String {
    let mut machine = json(MACHINE);
    for set in ["single", "all"] {
        for roof in ["read_gb_s", "f32_gflops", "int8_gops", "int4_gops"] {
            machine[set][roof] = json!(machine[set][roof].as_f64().unwrap() * roofs);
        }
    }
    machine["date"] = json!(if roofs == 1.0 { "2026-11-16" } else { "2026-11-17" });
    let machine = file(&format!("machine-of-{name}"), &machine);
    let config = crate::program::file(&format!("gate-config-of-{name}"), CONFIG);
    let test = json!([{"model_n_params": 1, "model_size": 1, "n_prompt": 0, "n_gen": 128, "avg_ts": speed, "stddev_ts": 1.0}]);
    let test = file(&format!("llama-bench-of-{name}"), &test);
    let args =
        ["profile", &config, "--on", &machine, "--llama-bench", &test, "--any-model", "--format", "json"];
    crate::program::file(&format!("gate-{name}"), printed(&args))
}

#[test]
fn what_llama_bench_measured_is_compared_beside_the_roofs_of_its_machine() {
    let [fast, slow] = [("llama-fast.json", 142.0), ("llama-slow.json", 110.0)]
        .map(|(name, speed)| with_llama_bench(name, speed, 1.0));
    let (code, shown) = gate(&[&fast, &slow]);
    assert_eq!(code, Some(1), "{shown}");
    let line = shown.lines().find(|line| line.contains("llama-bench tg128")).expect("it is listed");
    assert!(
        line.contains("142") && line.contains("110") && line.contains("-22.5 %") && line.ends_with("worse"),
        "{shown}"
    );
    assert_eq!(gate(&[&fast, &fast]).0, Some(0));
    // The same loss on a machine that was found that much slower the day after is none, and not to be refused for its date.
    let elsewhere = with_llama_bench("llama-slow-machine.json", 110.0, 110.0 / 142.0);
    let (code, shown) = gate(&[&fast, &elsewhere]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("-22.5 %") && shown.contains("+0.0 %"), "{shown}");
    assert_eq!(gate(&[&fast, &elsewhere, "--absolute"]).0, Some(1));
}

#[test]
fn products_are_compared_beside_the_reading_that_ran_in_turn_with_them() {
    let with = |name: &str, slower: f64, machine: f64, noise: f64| {
        let mut bench = json(BENCH);
        for row in bench["rows"].as_array_mut().unwrap() {
            let seconds = row["seconds"].as_f64().unwrap();
            row["beside"] =
                json!({"reference": 0.8 * seconds * machine, "ratio": 1.25 * slower, "noise": noise});
            for key in ["seconds", "median_seconds"] {
                row[key] = json!(row[key].as_f64().unwrap() * slower * machine);
            }
        }
        file(name, &bench)
    };
    let before = with("beside-before.json", 1.0, 1.0, 0.02);
    let (code, shown) = gate(&[&before, &with("beside-busy.json", 1.0, 1.7, 0.02)]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains(" machine ") && shown.contains("-41.2 %"), "{shown}");
    assert_eq!(
        gate(&[&before, &with("beside-slower.json", 1.12, 0.7, 0.02)]).0,
        Some(1),
        "a loss on a faster machine"
    );
    let (code, shown) = gate(&[&before, &with("beside-noisy.json", 1.0, 1.0, 0.08)]);
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains("can't tell") && shown.contains("run again on a quieter machine"), "{shown}");
}

#[test]
fn what_is_faster_than_its_ceiling_is_called_impossible() {
    let config = crate::program::file("gate-impossible-config.json", CONFIG);
    let mut saved: Value =
        serde_json::from_str(&printed(&["profile", &config, "--format", "json"])).expect("JSON");
    saved["device"]["cache_bytes"] = json!(0.0);
    saved["operations"][1]["measured"] = json!({
        "median_s": 1.01e-6, "best_s": 1e-6, "worst_s": 2e-6, "runs": 3, "first_s": 2e-6, "first_from_disk": null,
        "gb_s": 1.0, "gflop_s": 1.0, "utilization": 1.5, "band": "good", "least_s": 3e-6, "residual_s": 0.0, "copied": false
    });
    let above = file("impossible.json", &saved);
    saved["operations"][1]["measured"]["least_s"] = json!(1e-6);
    let fine = file("possible.json", &saved);
    let (code, shown) = gate(&[&fine, &above]);
    assert_eq!(code, Some(0), "{shown}");
    let lines: Vec<&str> = shown.lines().filter(|line| line.contains("impossible:")).collect();
    assert_eq!(lines.len(), 1, "{shown}");
    assert!(lines[0].contains("gate-impossible.json: impossible: 1 operation(s)"), "{shown}");
    assert!(lines[0].contains("1.00 us where 3.00 us are the least"), "{shown}");
    assert!(lines[0].contains("busy machine") && lines[0].contains("--refresh"), "{shown}");
    let (_, shown) = gate(&[&fine, &fine]);
    assert!(!shown.contains("impossible"), "{shown}");

    let mut bench = json(BENCH);
    for row in bench["rows"].as_array_mut().unwrap() {
        row["utilization"] = json!(0.9);
    }
    let fine = file("possible-bench.json", &bench);
    let (_, shown) = gate(&[&fine, &fine]);
    assert!(!shown.contains("impossible"), "{shown}");
    bench["rows"][0]["utilization"] = json!(1.2);
    let (_, shown) = gate(&[&fine, &file("impossible-bench.json", &bench)]);
    assert!(shown.contains("gate-impossible-bench.json: impossible: 1 product(s) above 100 %"), "{shown}");
}

#[test]
fn what_other_tools_measured_is_compared_too() {
    let points = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/points");
    for name in [
        "own.csv",
        "likwid-bench.txt",
        "google-benchmark.json",
        "nsight-compute.csv",
        "rocprof-compute.csv",
        "criterion",
    ] {
        let path = format!("{points}/{name}");
        let (code, shown) = gate(&[&path, &path]);
        assert_eq!(code, Some(0), "{name}: {shown}");
    }
    let slower = fs::read_to_string(format!("{points}/google-benchmark.json")).expect("it is there");
    let slower = crate::program::file(
        "gate-slower-benchmark.json",
        slower.replace("9.0972840769198308e+02", "1.1371605096149789e+03"),
    );
    let (code, shown) = gate(&[&format!("{points}/google-benchmark.json"), &slower]);
    assert_eq!(code, Some(1), "{shown}");
    assert!(
        shown.contains("BM_axpy/1048576") && shown.contains("+25.0 %") && shown.contains("worse"),
        "{shown}"
    );
    let (code, shown) = gate(&[&slower]);
    assert_eq!(code, Some(2), "{shown}");
    assert!(shown.contains("give its new run as a second file"), "{shown}");
    // What is wrong with such a file is told as its reader has it.
    let wrong = crate::program::file("gate-wrong.csv", "name,seconds\na,fast\n");
    let (code, shown) = gate(&[&wrong, &wrong]);
    assert_eq!(code, Some(2), "{shown}");
    assert!(shown.contains("gate-wrong.csv:2: seconds is \"fast\""), "{shown}");
}

#[test]
fn another_machine_is_refused_unless_it_is_wanted() {
    let mut other = json(MACHINE);
    other["cpu"] = json!("Another CPU");
    let other = file("other.json", &other);
    let (code, shown) = gate(&[MACHINE, &other]);
    assert_eq!(code, Some(2));
    assert!(
        shown.contains("the processor was \"Example CPU\" in the baseline and is \"Another CPU\""),
        "{shown}"
    );
    let (code, shown) = gate(&[MACHINE, &other, "--across"]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("warning: the processor was"), "{shown}");
}

#[test]
fn github_gets_an_error_for_each_loss_and_no_name_ends_a_command_early() {
    let (mut before, mut after) = (json(BENCH), json(BENCH));
    for (result, factor) in [(&mut before, 1.0), (&mut after, 3.0)] {
        result["rows"][0]["name"] = json!("a,b: 100%\n::error::<x>");
        let seconds = result["rows"][0]["seconds"].as_f64().unwrap() * factor;
        result["rows"][0]["seconds"] = json!(seconds);
        result["rows"][0]["median_seconds"] = json!(seconds);
    }
    let (before, after) = (file("names-before.json", &before), file("names-after.json", &after));
    let output = run(&["gate", &before, &after, "--format", "github"]);
    assert_eq!(output.status.code(), Some(1));
    let shown = out(&output);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 2, "{shown}");
    assert!(
        lines[0].starts_with(
            "::error title=a%2Cb%3A 100%25%0A%3A%3Aerror%3A%3A<x> q8_0%2C memory is worse::a,b: 100%25%0A"
        ),
        "{shown}"
    );
    assert!(lines[1].starts_with("::notice title=roofline gate::failed: 1 worse"), "{shown}");

    let output = run(&["gate", &before, &after, "--format", "junit"]);
    let shown = out(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(shown.contains("failures=\"1\""), "{shown}");
    assert!(shown.contains("name=\"a,b: 100% ::error::&lt;x&gt; q8_0, memory\""), "{shown}");
    assert!(!shown.contains("<x>"), "{shown}");
}

#[test]
fn junit_markdown_and_csv_hold_every_figure() {
    let (before, after) = (slower("formats-before.json", 60.0), slower("formats-after.json", 45.0));
    insta::assert_snapshot!(gate(&[&before, &after]).1);
    let junit = gate(&[&before, &after, "--format", "junit"]).1;
    assert_eq!(junit.matches("<testcase ").count(), 30);
    assert_eq!(junit.matches("<failure ").count(), 1);
    let csv = gate(&[&before, &after, "--format", "csv"]).1;
    assert_eq!(csv.lines().count(), 31);
    assert!(csv.contains("\"memory read, 2 threads\",GB/s,60.0,45.0,-25.0 %,1.0 %,worse\r\n"), "{csv}");
    assert!(gate(&[&before, &after, "--format", "md"]).1.contains("| verdict |"));
}

#[test]
fn wrong_input_says_what_is_wrong_and_where() {
    let with = |name: &str, base: &str, change: &dyn Fn(&mut Value)| {
        let mut value = json(base);
        change(&mut value);
        file(name, &value)
    };
    let newer = with("newer.json", MACHINE, &|value| value["schema"] = json!("roofline.machine/2"));
    let other = with("chart.json", MACHINE, &|value| value["schema"] = json!("roofline.chart/1"));
    let null = with("null.json", BENCH, &|value| value["rows"][0]["seconds"] = Value::Null);
    let zero = with("zero.json", BENCH, &|value| value["rows"][0]["seconds"] = json!(0.0));
    let none = with("none.json", BENCH, &|value| value["rows"] = json!([]));
    let list = file("list.json", &json!([1, 2]));
    let cases: [(&[&str], &str); 10] = [
        (&[&newer, MACHINE], "newer.json: schema \"roofline.machine/2\" is newer than this program"),
        (&[MACHINE, &other], "chart.json: schema \"roofline.chart/1\" can't be compared; roofline.machine/1"),
        (&[&null], "null.json: invalid type: null"),
        (&[&zero], "zero.json: \"8B lm_head q8_0, memory\" is 0; it must be above zero"),
        (&[&none], "none.json: no figures to compare"),
        (&[&list], "list.json: "),
        (&[MACHINE, BENCH], "both must come from the same command"),
        (&["/no/such.json"], "/no/such.json: No such file"),
        (&[MACHINE, "--threshold", "5"], "write 5% or 0.05"),
        (&[MACHINE, "--format", "sarif"], "[possible values: text, json, csv, md, github, junit]"),
    ];
    for (args, says) in cases {
        let (code, shown) = gate(args);
        assert_eq!(code, Some(2), "{args:?}: {shown}");
        assert!(shown.contains(says), "{args:?}: {shown}");
    }
}

#[test]
fn predictions_are_compared_where_one_way_is_better() {
    let of = |quant: &str, name: &str| {
        let args = ["predict", "llama_3_1_8b", "--on", "t4,h100_sxm", "--quant", quant, "--format", "json"];
        crate::program::file(&format!("gate-predicted-{name}.json"), printed(&args))
    };
    let (small, large) = (of("q4_k", "small"), of("q8_0", "large"));
    let (code, shown) = gate(&[&small, &small]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("passed: 8 same"), "{shown}");
    let (code, shown) = gate(&[&small, &large]);
    assert_eq!(code, Some(2), "{shown}");
    assert!(shown.contains("the format of the weights was \"q4_k\" in the baseline"), "{shown}");
    let (code, shown) = gate(&[&small, &large, "--across"]);
    assert_eq!(code, Some(1), "{shown}");
    let line = |name: &str| shown.lines().find(|line| line.starts_with(name)).expect("it is listed");
    assert!(
        line(" decode, ceiling, t4").contains("token/s") && line(" decode, ceiling, t4").ends_with("worse"),
        "{shown}"
    );
    assert!(line(" footprint, h100_sxm").ends_with("worse"), "{shown}");
    let (code, shown) = gate(&[&small]);
    assert_eq!(code, Some(2), "{shown}");
    assert!(shown.contains("give the new one as a second file"), "{shown}");
}
