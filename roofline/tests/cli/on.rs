//! `--on` and `--devices`: your own device in one flag, in every command that takes one.

use serde_json::Value;

use crate::program::{MACHINE, command, err, file, json, out, printed, refused, run};
use roofline_test_support::scratch;

/// The figures that a prediction was made with.
fn figures(on: &str) -> (String, f64, f64, Value) {
    let result = json(&["predict", "llama-3.1-8b", "--on", on]);
    let entry = &result["predictions"][0];
    let number = |name: &str| entry[name].as_f64().expect("a number");
    let name = entry["device"].as_str().expect("a name").to_owned();
    (name, number("bandwidth_gb_s"), number("compute_gflop_s"), entry["capacity_gb"].clone())
}

#[test]
fn one_device_is_meant_by_every_spelling_of_its_name() {
    for name in ["rtx-4090", "rtx4090", "RTX 4090", "4090", "GeForce RTX 4090"] {
        assert_eq!(figures(name).0, "rtx_4090", "{name}");
    }
    refused(
        &["predict", "llama-3.1-8b", "--on", "Tesla V100 PCIe"],
        "name one of v100_pcie_16gb, v100_pcie_32gb",
    );
}

#[test]
fn figures_stand_for_a_device_with_and_without_units() {
    let plain = figures("bandwidth=256,compute=59000,memory=128");
    assert_eq!(plain, ("given".to_owned(), 256.0, 59_000.0, 128.0.into()));
    assert_eq!(figures("bandwidth=256GB/s,compute=59TFLOP/s,memory=128GB"), plain);
    let args =
        ["predict", "llama-3.1-8b", "--on", "name=box,bandwidth=256,fp16=59e3,int8=118e3", "--quant", "q8_0"];
    let entry = &json(&args)["predictions"][0];
    assert_eq!((&entry["device"], &entry["compute_gflop_s"]), (&"box".into(), &118_000.0.into()));
    refused(&["predict", "llama-3.1-8b", "--on", "compute=5"], "the bandwidth is missing");
    refused(&["predict", "llama-3.1-8b", "--on", "bandwidth=5GB"], "is in GB, not in GB/s");
}

#[test]
fn a_saved_machine_is_a_device() {
    assert_eq!(figures(MACHINE), ("machine".to_owned(), 45.0, 200.0, Value::Null));
    let bench = file("no-machine.json", r#"{"schema": "roofline.bench/1"}"#);
    refused(&["predict", "llama-3.1-8b", "--on", &bench], "can't be a device");
    refused(&["predict", "llama-3.1-8b", "--on", "nowhere.json"], "nowhere.json");
}

const BOX: &str = "metadata:
  version: 1.0.0
  description: My devices
  depends_on: [hardware-v1 ^2.0]
profiles:
  devices:
    extends: devices
    entries:
      my_box:
        doc: The box under the desk.
        vendor: other
        kind: other
        market: other
        architecture: other
        fp16: 59000 Gflop/s
        compute: 59000 Gflop/s
        bandwidth: 256 GB/s
        capacity: 128 GB
        source: measured
        as_of: 2026-11-17
";

#[test]
fn a_file_of_devices_is_read_by_the_rules_of_the_registry() {
    let path = file("my-devices.yaml", BOX);
    let args = ["predict", "llama-3.1-8b", "--on", "my-box,h100-sxm", "--devices", &path];
    let result = json(&args);
    let entries = result["predictions"].as_array().expect("a list");
    assert_eq!(entries.len(), 2);
    assert_eq!((&entries[0]["device"], &entries[0]["bandwidth_gb_s"]), (&"my_box".into(), &256.0.into()));
    assert!(printed(&["devices", "my box", "--devices", &path]).contains("source: measured"));
    let wrong = file("wrong-devices.yaml", BOX.replace("capacity: 128 GB", "capacity: 119.2 GB"));
    refused(
        &["devices", "--devices", &wrong],
        "wrong-devices.yaml:9:7: error: profile `my_box` breaks the rule `capacity-in-gb`",
    );
    let unit = file("unit-devices.yaml", BOX.replace("256 GB/s", "256 GB"));
    refused(&["devices", "--devices", &unit], "unit-devices.yaml:17:24: error");
    let none =
        file("no-devices.yaml", BOX.replace("    extends: devices", "    fields: {vendor: {type: text}}"));
    assert_eq!(run(&["devices", "--devices", &none]).status.code(), Some(2));
    refused(&["devices", "--devices", "nowhere.yaml"], "nowhere.yaml");
}

#[test]
fn the_configuration_directory_has_devices_too() {
    let home = scratch::directory("configuration");
    std::fs::create_dir_all(home.join("roofline")).expect("a directory");
    std::fs::write(home.join("roofline/devices.yaml"), BOX).expect("a file");
    let args = ["predict", "llama-3.1-8b", "--on", "my-box", "--format", "csv"];
    let output =
        command().env("XDG_CONFIG_HOME", &home).env("HOME", &home).args(args).output().expect("it runs");
    assert!(out(&output).contains("my_box,fp16,yes"), "{}{}", out(&output), err(&output));
}

#[test]
fn several_devices_come_from_commas_and_from_repeated_flags_in_every_command() {
    let many = ["--on", "t4,bandwidth=256,compute=59000,4090", "--on", "h100-sxm"];
    let result = json(&[&["predict", "llama-3.1-8b"][..], &many].concat());
    let names: Vec<&str> = result["predictions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["device"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["t4", "given", "rtx_4090", "h100_sxm"]);
    let config = file("several-config.json", crate::program::CONFIG);
    let profiles = json(&[&["profile", config.as_str()][..], &many].concat());
    assert_eq!(profiles["schema"], "roofline.profiles/1");
    let of = |index: usize| profiles["profiles"][index]["device"]["name"].clone();
    assert_eq!((of(0), of(1), of(3)), ("t4".into(), "given".into(), "h100_sxm".into()));
    let table = printed(&[&["profile", config.as_str(), "--format", "csv"][..], &many].concat());
    assert_eq!(table.lines().count(), 5, "{table}");
    let drawn = json(&[&["plot"][..], &many].concat());
    assert_eq!(drawn["chart"]["roofs"].as_array().unwrap().len(), 4);
}

#[test]
fn a_requirement_is_asked_on_each_of_several_devices() {
    let config = file("require-config.json", crate::program::CONFIG);
    let args = ["profile", &config, "--on", "t4,h100-sxm", "--require", "decode_ceiling >= 1e9"];
    let output = run(&args);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("h100_sxm: not met"), "{}", err(&output));
}

#[test]
fn numbers_are_read_as_people_write_them() {
    let args = [
        "predict",
        "--params",
        "8b",
        "--on",
        "t4",
        "--context",
        "128k",
        "--efficiency",
        "80%",
        "--quant",
        "NF4",
    ];
    let result = json(&args);
    assert_eq!(result["model"]["parameters"], 8e9);
    assert_eq!(result["model"]["bits_per_weight"], 4.5);
    assert_eq!(
        (&result["workload"]["context"], &result["workload"]["compute_efficiency"]),
        (&131_072.0.into(), &0.8.into())
    );
    for (name, bits) in [("fp8", 8.0), ("Q4_K", 4.5), ("mxfp4", 4.25), ("fp16", 16.0), ("int8", 8.0)] {
        let result = json(&["predict", "llama-3.1-8b", "--on", "t4", "--quant", name, "--cache", "fp8"]);
        assert_eq!(result["model"]["bits_per_weight"], bits, "{name}");
        assert_eq!(result["workload"]["cache_bytes_per_element"], 1.0);
    }
    refused(
        &["predict", "--params", "8b", "--on", "t4", "--quant", "q4_k_m"],
        "a mix gives each kind of matrix its own type",
    );
    refused(
        &["predict", "llama-3.1-8b", "--on", "t4", "--cache", "q4_k_m"],
        "a cache has one format, and no mix",
    );
    refused(&["predict", "llama-3.1-8b", "--on", "t4", "--context", "128q"], "where k is 1024");
}

#[test]
fn a_mix_takes_what_files_of_it_take() {
    // The sizes of published files in GB, without the metadata.
    let published = [("Q4_K_M", 4.92), ("q5_k_m", 5.73), ("q4_0", 4.66), ("q2_k", 3.17), ("IQ4_XS", 4.48)];
    let weight_bytes = |args: &[&str]| {
        let result = json(&[&["predict", "--on", "h100-sxm"], args].concat());
        result["predictions"][0]["results"]["weight_bytes"].as_f64().expect("a number")
    };
    for (quant, gb) in published {
        let bytes = weight_bytes(&["llama-3.1-8b", "--quant", quant]);
        assert!((bytes / 1e9 - gb).abs() < 0.02, "{quant}: {bytes}");
    }
    // Where only the number of parameters is known, and in a cache, the name is that of the type.
    assert_eq!(weight_bytes(&["--params", "8e9", "--quant", "q4_0", "--cache", "q4_0"]), 4.5e9);
}

#[test]
fn conditions_have_units_and_what_does_not_fit_fails() {
    let predict = |on: &str, condition: &str| {
        let args = ["predict", "llama-2-13b", "--on", on, "--require", condition];
        run(&args).status.code()
    };
    assert_eq!(predict("a100", "footprint <= capacity and decode_ceiling >= 5 [token/s] and fits"), Some(0));
    assert_eq!(predict("a100", "footprint <= 10 [GB]"), Some(1));
    assert_eq!(predict("t4", "decode_ceiling >= 5"), Some(1), "26 GB do not fit in 16");
    assert_eq!(predict("t4", "not fits and decode_ceiling >= 5"), Some(0));
    assert_eq!(predict("a100", "decode_ceiling >= 5 [GB]"), Some(2));
    let listed = printed(&["predict", "llama-2-13b", "--on", "t4", "--require", "help"]);
    for row in ["decode_ceiling", "token/s", "fits", "true or false", "capacity", "GB"] {
        assert!(listed.contains(row), "{listed}");
    }
    assert!(printed(&["machine", "--require", "help"]).contains("single_read_gb_s"));
}
