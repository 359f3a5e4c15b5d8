//! `roofline plot` as its users run it.

use std::path::PathBuf;
use std::process::Output;

use crate::program::{BENCH, MACHINE, err, file, out, printed, refused, run};
use roofline_test_support::scratch;

fn plot(name: &str, json: &str, args: &[&str]) -> Output {
    run(&[&["plot", &file(&format!("plot-{name}"), json)], args].concat())
}

const CHART: &str = r#"{"schema": "roofline.chart/1", "chart": {"title": "small", "roofs": [
    {"name": "DRAM", "bandwidth_gb_s": 36.5, "compute_gflop_s": 193.6}],
    "points": [{"name": "output", "intensity_flop_byte": 1.88, "performance_gflop_s": 60.5, "bound": "memory"}]}}"#;

#[test]
fn a_saved_chart_is_drawn_again() {
    let output = plot("saved.json", CHART, &[]);
    let text = out(&output);
    assert!(output.status.success());
    assert!(text.contains("A  output          1.88     60.5  memory"), "{text}");
}

#[test]
fn json_gives_back_what_was_read_and_csv_the_operations() {
    let output = plot("again.json", CHART, &["--format", "json"]);
    let again: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(again["schema"], "roofline.chart/1");
    assert_eq!(again["chart"]["points"][0]["performance_gflop_s"], 60.5);
    let output = plot("csv.json", CHART, &["--format", "csv"]);
    let text = out(&output);
    assert_eq!(text, "name,kind,flop_per_byte,gflop_s,share,bound\r\noutput,,1.88,60.5,,memory\r\n");
}

#[test]
fn what_cannot_be_drawn_is_refused_with_the_file_the_place_and_what_is_allowed() {
    for (name, json, says) in [
        (
            "newer.json",
            r#"{"schema": "roofline.chart/2", "chart": {}}"#,
            "\"roofline.chart/2\" is newer than this program, which reads roofline.chart/1",
        ),
        (
            "other.json",
            r#"{"schema": "roofline.model/1"}"#,
            "can't be drawn; roofline.chart/1, roofline.machine/1, roofline.bench/1, roofline.profile/3, roofline.predict/2 can",
        ),
        ("none.json", "{}", "missing field `schema`"),
        ("cut.json", "{\"schema\": \"roofline.chart/1\",", "line 1 column"),
        (
            "extra.json",
            r#"{"schema": "roofline.chart/1", "chart": {"title": "", "roofs": [], "points": [], "x": 1}}"#,
            "unknown field `x`",
        ),
        ("binary.json", "\u{0}\u{1}", "line 1 column 1"),
    ] {
        let output = plot(name, json, &[]);
        let text = err(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(name) && text.contains(says), "{text}");
    }
}

#[test]
fn a_picture_is_written_whole_or_not_at_all() {
    let directory = scratch::directory("pictures");
    let svg = directory.join("chart.svg");
    let svg = svg.to_str().expect("a plain path");
    let html = directory.join("chart.html");
    let html = html.to_str().expect("a plain path");
    assert!(plot("svg.json", CHART, &["--svg", svg, "--html", html]).status.success());
    assert!(std::fs::read_to_string(svg).expect("it was written").ends_with("</svg>\n"));
    assert!(std::fs::read_to_string(html).expect("it was written").ends_with("</html>\n"));
    assert_eq!(plot("no-svg.json", "{}", &["--svg", svg]).status.code(), Some(2));
    assert_eq!(std::fs::read_dir(&directory).expect("it is there").count(), 2, "nothing else is left behind");
    for nowhere in [directory.join("no/such/chart.svg"), directory.clone(), PathBuf::from("/")] {
        let output = plot("nowhere.json", CHART, &["--svg", nowhere.to_str().expect("a plain path")]);
        let text = err(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains("can't be written"), "{text}");
        assert!(output.stdout.is_empty());
    }
}

const POINTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/points");

#[test]
fn kernels_of_ones_own_stand_under_the_roofs_of_this_machine() {
    let text = printed(&["plot", "--point", "my kernel=0.25 [flop/B],12.3 [Gflop/s]", "--title", "Mine"]);
    assert!(text.starts_with("Mine\n") && text.contains("A  my kernel"), "{text}");
    assert!(text.contains("above the memory roof, under the L3 roof: its data come from L3"), "{text}");
    assert!(text.contains("100 % is out of reach"), "{text}");
    for file in [
        "own.csv",
        "likwid-bench.txt",
        "google-benchmark.json",
        "nsight-compute.csv",
        "rocprof-compute.csv",
        "criterion",
    ] {
        let text = printed(&[
            "plot",
            "--points",
            &format!("{POINTS}/{file}"),
            "--on",
            "a100-sxm-80gb",
            "--format",
            "csv",
        ]);
        assert!(text.contains("own kernels"), "{file}: {text}");
    }
    // What criterion can't know is said by hand.
    let criterion = format!("{POINTS}/criterion");
    let text = printed(&[
        "plot",
        "--points",
        &criterion,
        "--point",
        "axpy/1048576=0.1667 [flop/B],4 [Gflop/s]",
        "--title",
        "",
    ]);
    assert!(text.contains("axpy/1048576: 4.00 GFLOP/s at 0.167 FLOP/B on this"), "{text}");
    refused(&["plot", "--point", "a=1"], "is no figure in flop/B, Gflop/s, GB/s or s");
    refused(&["plot", "--points", "/nowhere.csv"], "/nowhere.csv: No such file");
    let nothing = file(
        "plot-nothing.csv",
        "Kernel Name,Metric Name,Metric Unit,Metric Value\nk,sm__throughput.avg,%,7\n",
    );
    refused(&["plot", "--points", &nothing], "none of its kernels has a time, bytes or operations");
    // A saved machine has roofs of its own.
    let text = printed(&["plot", MACHINE, "--point", "copy=12 [GB/s]"]);
    assert!(text.contains("copy: 12.0 GB/s on Example CPU: "), "{text}");
}

#[test]
fn several_machines_share_one_chart() {
    let output = plot("with-machine.json", CHART, &[MACHINE]);
    let text = out(&output);
    assert!(output.status.success());
    assert!(text.contains("DRAM, small") && text.contains("memory, f32, Example CPU, 2 threads"), "{text}");
}

#[test]
fn a_saved_bench_is_drawn_under_the_roofs_it_was_compared_with() {
    let text = printed(&["plot", BENCH]);
    assert!(text.contains("memory, int8") && text.contains("8B lm_head"), "{text}");
}

/// Two levels of memory: a contract of a user, in units of their own.
const LEVELS: &str = r#"
metadata: {version: 1.0.0, description: Two levels of memory}
quantities:
  peak: {unit: Tflop/s, domain: "[1e-3, 1e3]"}
  memory: {unit: GB/s, domain: "[1, 1e5]"}
  cache: {unit: GB/s, domain: "[1, 1e6]"}
  intensity: {unit: flop/B, domain: "[1e-4, 1e6]"}
equations:
  ridge: {formula: "peak * 1e3 [Gflop/Tflop] / memory", unit: flop/B}
  cache_ridge: {formula: "peak * 1e3 [Gflop/Tflop] / cache", unit: flop/B}
  from_cache: {formula: "min(peak, cache * intensity / 1e3 [Gflop/Tflop])", unit: Tflop/s}
  attainable: {formula: "achieved <= min(peak, memory * intensity / 1e3 [Gflop/Tflop])", unit: Tflop/s}
classifiers:
  bound:
    cases:
      - Memory: intensity < ridge
      - Compute: otherwise
obligations:
  - {id: the-cache-is-no-slower, type: monotonicity, formal: from_cache increasing in cache}
"#;

#[test]
fn the_roofs_the_ridges_and_the_point_of_a_contract_are_drawn() {
    let contract = file("plot-levels-v1.yaml", LEVELS);
    let roofs = ["--set", "peak=2", "--set", "memory=100", "--set", "cache=1000"];
    let chart = |args: &[&str]| {
        let json = printed(&[&["plot", &contract, "--format", "json"], &roofs[..], args].concat());
        serde_json::from_str::<serde_json::Value>(&json).expect("JSON")["chart"].clone()
    };
    let alone = chart(&[]);
    assert_eq!(alone["points"].as_array().map(Vec::len), Some(0), "no intensity, no point");
    // In FLOP/byte and GFLOP/s, whatever the contract's units are, and bent exactly where it says.
    let names: Vec<_> = alone["roofs"].as_array().expect("roofs").iter().map(|roof| &roof["name"]).collect();
    assert_eq!(names, ["attainable", "from cache"]);
    for (roof, ridge) in [(0, 20.0), (1, 2.0)] {
        let curve = alone["roofs"][roof]["curve"].as_array().expect("a curve");
        assert_eq!(curve.len(), 3, "{curve:?}");
        assert_eq!(curve[1], serde_json::json!([ridge, 2000.0]));
    }
    let placed = chart(&["--set", "intensity=4", "--set", "achieved=0.3"]);
    let point = |index: usize| {
        let point = &placed["points"][index];
        [&point["intensity_flop_byte"], &point["performance_gflop_s"], &point["bound"]]
            .map(|part| part.to_string())
    };
    assert_eq!(point(0), ["4.0", "400.0", "\"memory\""]);
    assert_eq!(point(1), ["4.0", "300.0", "\"memory\""]);
    let directory = scratch::directory("plot-contract");
    let html = directory.join("page.html");
    printed(
        &[
            &["plot", &contract, "--html", html.to_str().expect("a plain path"), "--set", "intensity=4"],
            &roofs[..],
        ]
        .concat(),
    );
    let page = std::fs::read_to_string(html).expect("it was written");
    for quantity in ["peak", "memory", "cache", "intensity"] {
        assert!(page.contains(&format!("{{\"quantity\":\"{quantity}\"")), "{quantity} has no slider");
    }
}

#[test]
fn a_built_in_contract_whose_intensity_is_computed_is_drawn_too() {
    let args = ["plot", "operation-v1.yaml", "--set", "bandwidth=100", "--set", "compute=2000"];
    let point = ["--set", "other_flops=400", "--set", "other_bytes=100", "--format", "json"];
    let json = printed(&[&args[..], &point].concat());
    let chart = &serde_json::from_str::<serde_json::Value>(&json).expect("JSON")["chart"];
    assert_eq!(chart["points"][0]["performance_gflop_s"], 400.0);
    let flat = chart["roofs"][0]["curve"].as_array().and_then(|curve| curve.last()).expect("a curve");
    assert_eq!(flat[1], 2000.0);
}

#[test]
fn a_contract_without_a_roof_and_a_setting_without_a_contract_are_refused() {
    let none = LEVELS.replace("flop/B, domain", "B, domain");
    for (args, says) in [
        (vec!["plot", "choice-v1.yaml"], "nothing here is an intensity"),
        (vec!["plot", MACHINE, "--set", "peak=1"], "--set belongs to a contract"),
        (
            vec!["plot", &file("plot-short-v1.yaml", LEVELS), "--set", "peak=1"],
            "no value for memory, cache; give it with --set memory=VALUE",
        ),
        (
            vec!["plot", &file("plot-none-v1.yaml", LEVELS), "--set", "speed=1"],
            "the contract has no such quantity",
        ),
        (vec!["plot", &file("plot-units-v1.yaml", &none)], "is not a valid contract"),
    ] {
        let output = run(&args);
        let text = err(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
        assert!(text.contains(says), "{args:?}: {text}");
    }
}
