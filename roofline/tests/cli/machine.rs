//! `roofline machine` with measurements.

use std::fs;
use std::path::Path;
use std::process::Output;

use roofline::kernels::FmaType::{Bf16, F16, Int4};
use roofline::machine::Machine;
use roofline::report::Saved;

use crate::program::{command, err, file, out, run};
use roofline_test_support::scratch::directory;

/// Runs `roofline machine` with its cache in a directory.
fn machine(cache: &Path, args: &[&str]) -> Output {
    let mut command = command();
    command.env_remove("ROOFLINE_MACHINE").env("XDG_CACHE_HOME", cache).arg("machine").args(args);
    command.output().expect("the program starts")
}

#[test]
fn measurements_are_cached_replaced_if_damaged_and_cleared() {
    let cache = directory("cache");
    let args = ["--quick", "--size", "16MiB", "--threads", "1", "--format", "json"];
    let measure = |extra: &[&str]| {
        let output = machine(&cache, &[&args, extra].concat());
        assert!(output.status.success(), "{}", err(&output));
        Machine::from_json(&out(&output)).unwrap()
    };
    let first = measure(&[]);
    assert_eq!(first.single, first.all);
    assert!(first.date.is_some() && first.all.int4_gops > Some(0.0), "{first:?}");
    assert!(
        first.notes.iter().any(|note| note.contains("less than eight times the last-level cache")),
        "{:?}",
        first.notes
    );
    assert_eq!(measure(&[]), first, "the second run reads the cache");

    let files: Vec<_> =
        fs::read_dir(cache.join("roofline")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    fs::write(&files[0], &first.to_json()[..200]).unwrap();
    let again = measure(&[]);
    assert!(
        again.notes.iter().any(|note| note.contains("replaced the unusable cached measurement")),
        "{:?}",
        again.notes
    );
    assert_eq!(Machine::saved(&files[0]).unwrap(), again);

    measure(&["--no-cache"]);
    assert_eq!(Machine::saved(&files[0]).unwrap(), again, "--no-cache does not change the cache");
    let cleared = machine(&cache, &["--clear-cache"]);
    assert_eq!(out(&cleared), "removed 1 saved measurement(s)\n");
    assert!(fs::read_dir(cache.join("roofline")).unwrap().next().is_none());
}

#[test]
fn partial_measurements_are_not_cached_and_cannot_be_used() {
    let cache = directory("effort");
    let args = ["--quick", "--size", "4MiB", "--threads", "1", "--types", "bf16,f64", "--warm-up", "1"];
    let measure = |extra: &[&str]| machine(&cache, &[&args, extra].concat());
    let output = measure(&["--steps", "2", "--format", "json"]);
    assert!(output.status.success(), "{}", err(&output));
    let json = out(&output);
    let measured = Machine::from_json(&json).unwrap();
    assert_eq!(measured.effort.arguments(), ["--types=bf16,f64", "--warm-up=1", "--steps=2"]);
    assert!(measured.effort.types.iter().all(|kind| measured.all.computed(*kind).is_some() || *kind == Bf16));
    assert_eq!((measured.all.computed(F16), measured.all.computed(Int4)), (None, None));
    assert_eq!((measured.all.int4_gops, measured.all.int4), (None, None));
    let runs = [measured.all.read.spread.runs, measured.all.f32.runs, measured.all.int8.runs];
    assert_eq!(runs, [2; 3]);
    assert!(!cache.join("roofline").exists(), "the result is not cached");

    let path = file("some-types.json", &json);
    let reason = "incomplete measurement with --types=bf16,f64 --warm-up=1 --steps=2";
    let named = run(&["predict", "llama-2-7b", "--on", &path]);
    let this = command()
        .env("ROOFLINE_MACHINE", &path)
        .args(["predict", "llama-2-7b", "--on", "this"])
        .output()
        .expect("the program starts");
    for output in [named, this] {
        assert_eq!(output.status.code(), Some(2), "{}", out(&output));
        let error = err(&output);
        assert!(error.contains("some-types.json") && error.contains(reason), "{error}");
    }
    let drawn = run(&["plot", &path, "--format", "csv"]);
    assert!(drawn.status.success(), "{}", err(&drawn));

    // A measurement of every type can be used.
    let whole =
        file("steps.json", json.replacen("\"types\": [\n      \"bf16\",\n      \"f64\"\n    ],", "", 1));
    let output = run(&["predict", "llama-2-7b", "--on", &whole]);
    assert!(output.status.success(), "{}", err(&output));
    let wrong = file("no-steps.json", json.replacen("\"steps\": 2", "\"steps\": 0", 1));
    let output = run(&["plot", &wrong]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("1 to 1000 steps"), "{}", err(&output));
}

#[test]
fn oversubscribed_threads_and_the_scalar_isa_work_with_a_note() {
    let processors = std::thread::available_parallelism().unwrap().get();
    let threads = (2 * processors).to_string();
    let args = [
        "--quick",
        "--size",
        "16MiB",
        "--no-cache",
        "--isa",
        "scalar",
        "--threads",
        &threads,
        "--format",
        "json",
    ];
    let output = machine(Path::new("/nowhere"), &args);
    assert!(output.status.success(), "{}", err(&output));
    let machine = Machine::from_json(&out(&output)).unwrap();
    assert_eq!((machine.isa.as_str(), machine.threads), ("scalar", 2 * processors));
    assert!(machine.notes.iter().any(|note| note.contains("threads share")), "{:?}", machine.notes);
}

#[test]
fn an_unwritable_cache_causes_a_note() {
    let cache = directory("blocked");
    fs::write(cache.join("roofline"), "a file where a directory should be").unwrap();
    let output = machine(&cache, &["--quick", "--size", "4MiB", "--threads", "1"]);
    assert!(output.status.success(), "{}", err(&output));
    assert!(out(&output).contains("cannot cache the measurement"), "missing note");
}
