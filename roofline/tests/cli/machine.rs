//! `roofline machine` as its users run it: with a saved machine where the figures matter, and with real
//! measurements where only the way there does.

use std::fs;
use std::path::Path;
use std::process::Output;

use roofline::kernels::Multiplied::{Bf16, F16, Int4};
use roofline::model::Dtype::Q8_0;
use roofline::peaks::Machine;
use roofline::report::Saved;

use crate::program::{MACHINE, command, err, file, out, run};
use roofline_test_support::scratch::{self, directory};
use roofline_test_support::small::llama;

/// A saved machine, or this one with its cache in a directory.
fn machine(saved: Option<&str>, cache: &Path, args: &[&str]) -> Output {
    let mut command = command();
    command.env_remove("ROOFLINE_MACHINE").env("XDG_CACHE_HOME", cache).arg("machine").args(args);
    command.envs(saved.map(|path| ("ROOFLINE_MACHINE", path))).output().expect("the program starts")
}

#[test]
fn the_roofs_are_drawn_and_listed() {
    let output = machine(Some(MACHINE), Path::new("/"), &["--ascii"]);
    assert!(output.status.success());
    insta::assert_snapshot!(out(&output));
}

#[test]
fn markdown_and_csv_hold_the_same_figures() {
    let markdown = out(&machine(Some(MACHINE), Path::new("/"), &["--format", "md"]));
    insta::assert_snapshot!(markdown);
    let csv = out(&machine(Some(MACHINE), Path::new("/"), &["--format", "csv"]));
    assert!(csv.starts_with("roof,unit,1 thread,2 threads\r\nmemory read,GB/s,28.0,45.0\r\n"), "{csv}");
}

#[test]
fn json_reads_back_as_the_same_machine() {
    let json = out(&machine(Some(MACHINE), Path::new("/"), &["--format", "json"]));
    assert_eq!(Machine::from_json(&json), Ok(Machine::saved(Path::new(MACHINE)).unwrap()));
    assert!(json.contains("\"schema\": \"roofline.machine/1\""));
}

#[test]
fn a_requirement_names_the_roofs_of_all_threads_or_of_one() {
    let require = |condition: &str| machine(Some(MACHINE), Path::new("/"), &["--require", condition]);
    let met = require("read_gb_s >= 45 and single_f32_gflops > 90 and isa == \"scalar\"");
    assert_eq!(met.status.code(), Some(0), "{}", err(&met));
    let missed = require("single_read_gb_s >= 45");
    assert_eq!(missed.status.code(), Some(1));
    assert!(err(&missed).contains("not met: single_read_gb_s >= 45 (single_read_gb_s = 28"));
    let unknown = require("speed > 1");
    assert_eq!(unknown.status.code(), Some(2));
    assert!(err(&unknown).contains("unknown name `speed`"));
}

#[test]
fn an_old_or_busy_measurement_is_doubted_in_one_line_wherever_it_is_used() {
    let whole = fs::read_to_string(MACHINE).unwrap();
    let path = file(
        "old.json",
        whole.replacen("\"quick\"", "\"date\": \"2020-01-02\", \"load\": 0.5, \"quick\"", 1),
    );
    let model = scratch::files("machine-old", &[("m.gguf", &llama(Q8_0).build())]).join("m.gguf");
    let model = model.to_str().unwrap();
    for args in [
        &["machine"][..],
        &["predict", "llama-2-7b", "--on", "this"],
        &["predict", "llama-2-7b", "--on", &path],
        &["profile", model],
    ] {
        let output =
            command().env("ROOFLINE_MACHINE", &path).args(args).output().expect("the program starts");
        let error = err(&output);
        assert!(output.status.success(), "{error}");
        let doubts: Vec<&str> = error.lines().filter(|line| line.contains("may be too low")).collect();
        assert_eq!(doubts.len(), 1, "{args:?}: {error}");
        assert!(doubts[0].contains("days old; 50 % of the processors were busy before; measure again with"));
    }
    let shown = out(&machine(Some(&path), Path::new("/"), &[]));
    assert!(
        shown.contains("note: measured on 2020-01-02, with 50 % of the processors busy before"),
        "{shown}"
    );
    let fresh = run(&["predict", "llama-2-7b", "--on", "this"]);
    assert!(!err(&fresh).contains("may be too low"), "{}", err(&fresh));
}

#[test]
fn wrong_arguments_say_what_is_allowed() {
    let cases: [(&[&str], &str); 14] = [
        (&["--isa", "sse9"], "unknown instruction set `sse9`; known are scalar, avx2, avx512, avx-vnni"),
        (&["--isa", if cfg!(target_arch = "x86_64") { "neon" } else { "avx2" }], "this processor has no"),
        (&["--threads", "0"], "--threads 0: must be from 1 to 4096"),
        (&["--threads", "many"], "invalid value 'many'"),
        (&["--size", "lots"], "such as 512MiB"),
        (&["--size", "900000GiB"], "more than an eighth of the free memory"),
        (&["--size", "0"], "such as 512MiB"),
        (&["--size", "NaN"], "such as 512MiB"),
        (&["--types", "f8"], "[possible values: f64, f32, f16, bf16, int8, int4]"),
        (&["--types", ""], "[possible values: f64, f32, f16, bf16, int8, int4]"),
        (&["--steps", "0"], "0 is not in 1..=1000"),
        (&["--steps", "1e3"], "invalid digit found in string"),
        (&["--steps", "99999999999999999999"], "number too large"),
        (&["--warm-up", "1001"], "1001 is not in 0..=1000"),
    ];
    for (args, message) in cases {
        let output = machine(None, Path::new("/"), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let error = err(&output);
        assert!(error.contains(message), "{args:?}: {error}");
    }
}

#[test]
fn a_saved_machine_with_nonsense_is_refused_with_its_name() {
    let whole = fs::read_to_string(MACHINE).unwrap();
    let cases = [
        ("{", "EOF"),
        (&whole.replace("roofline.machine/1", "roofline.machine/9"), "schema is `roofline.machine/9`"),
        (&whole.replacen("\"read_gb_s\": 28.0", "\"read_gb_s\": -1.0", 1), "must be above zero"),
        (&whole.replacen("\"cpu\"", "\"gpu\"", 1), "unknown field `gpu`"),
        (&whole.replacen("\"quick\"", "\"date\": \"today\", \"quick\"", 1), "`date` is \"today\""),
        (&whole.replacen("\"quick\"", "\"load\": 7, \"quick\"", 1), "`load` is 7; it must be from 0 to 1"),
    ];
    for (content, message) in cases {
        let output = machine(Some(&file("saved.json", content)), Path::new("/"), &[]);
        assert_eq!(output.status.code(), Some(2));
        let error = err(&output);
        assert!(error.contains("saved.json") && error.contains(message), "{error}");
    }
}

#[test]
fn measurements_are_kept_damaged_ones_replaced_and_all_of_them_cleared() {
    let cache = directory("cache");
    let args = ["--quick", "--size", "16MiB", "--threads", "1", "--format", "json"];
    let measure = |extra: &[&str]| {
        let output = machine(None, &cache, &[&args, extra].concat());
        assert!(output.status.success(), "{}", err(&output));
        Machine::from_json(&out(&output)).unwrap()
    };
    let first = measure(&[]);
    assert_eq!(first.single, first.all);
    assert!(first.date.is_some() && first.all.int4_gops > Some(0.0), "{first:?}");
    assert!(
        first.notes.iter().any(|note| note.contains("less than eight times the last cache")),
        "{:?}",
        first.notes
    );
    assert_eq!(measure(&[]), first, "the second time nothing is measured");

    let files: Vec<_> =
        fs::read_dir(cache.join("roofline")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    fs::write(&files[0], &first.to_json()[..200]).unwrap();
    let again = measure(&[]);
    assert!(again.notes.iter().any(|note| note.contains("was replaced")), "{:?}", again.notes);
    assert_eq!(Machine::saved(&files[0]).unwrap(), again);

    measure(&["--no-cache"]);
    assert_eq!(Machine::saved(&files[0]).unwrap(), again, "--no-cache leaves the saved one alone");
    let cleared = machine(None, &cache, &["--clear-cache"]);
    assert_eq!(out(&cleared), "1 saved measurement(s) removed\n");
    assert!(fs::read_dir(cache.join("roofline")).unwrap().next().is_none());
}

#[test]
fn types_warm_up_and_steps_are_told_and_never_kept_and_nothing_builds_on_some_types() {
    let cache = directory("effort");
    let args = ["--quick", "--size", "4MiB", "--threads", "1", "--types", "bf16,f64", "--warm-up", "1"];
    let measure = |extra: &[&str]| machine(None, &cache, &[&args, extra].concat());
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
    assert!(!cache.join("roofline").exists(), "nothing is kept");

    let path = file("some-types.json", &json);
    let refused = "measured with --types=bf16,f64 --warm-up=1 --steps=2, so roofs are missing";
    let named = run(&["predict", "llama-2-7b", "--on", &path]);
    let this = command()
        .env("ROOFLINE_MACHINE", &path)
        .args(["predict", "llama-2-7b", "--on", "this"])
        .output()
        .expect("the program starts");
    for output in [named, this] {
        assert_eq!(output.status.code(), Some(2), "{}", out(&output));
        let error = err(&output);
        assert!(error.contains("some-types.json") && error.contains(refused), "{error}");
    }
    let drawn = run(&["plot", &path, "--format", "csv"]);
    assert!(drawn.status.success(), "{}", err(&drawn));

    // What every type was measured of can be built on.
    let whole =
        file("steps.json", json.replacen("\"types\": [\n      \"bf16\",\n      \"f64\"\n    ],", "", 1));
    let output = run(&["predict", "llama-2-7b", "--on", &whole]);
    assert!(output.status.success(), "{}", err(&output));
    let wrong = file("no-steps.json", json.replacen("\"steps\": 2", "\"steps\": 0", 1));
    let output = run(&["plot", &wrong]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("from 1 to 1000 steps"), "{}", err(&output));
}

#[test]
fn buffers_that_a_cache_holds_are_doubted_wherever_the_roofs_are_used() {
    let whole = fs::read_to_string(MACHINE).unwrap();
    let path = file("cached.json", whole.replacen("\"size\": 268435456", "\"size\": 33554432", 1));
    for args in [&["machine"][..], &["predict", "llama-2-7b", "--on", "this"]] {
        let output =
            command().env("ROOFLINE_MACHINE", &path).args(args).output().expect("the program starts");
        let doubt = "may be those of a cache, and too high: buffers of 32 MiB are less than twice the last cache of 32 MiB";
        assert!(err(&output).contains(doubt), "{args:?}: {}", err(&output));
    }
}

#[test]
fn more_threads_than_processors_and_forced_scalar_work_and_say_so() {
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
    let output = machine(None, Path::new("/nowhere"), &args);
    assert!(output.status.success(), "{}", err(&output));
    let machine = Machine::from_json(&out(&output)).unwrap();
    assert_eq!((machine.isa.as_str(), machine.threads), ("scalar", 2 * processors));
    assert!(machine.notes.iter().any(|note| note.contains("threads share")), "{:?}", machine.notes);
}

#[test]
fn a_cache_that_cannot_be_written_is_a_note_not_a_failure() {
    let cache = directory("blocked");
    fs::write(cache.join("roofline"), "a file where a directory should be").unwrap();
    let output = machine(None, &cache, &["--quick", "--size", "4MiB", "--threads", "1"]);
    assert!(output.status.success(), "{}", err(&output));
    assert!(out(&output).contains("note: the measurement was not saved"), "no note");
}
