//! Properties of commands that read saved results, for arbitrary bytes: the exit code is documented, and charts are written
//! completely or not at all. Shared by the fuzz target and the replay of its corpus.

use std::fs;
use std::path::Path;

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../roofline/tests/models/fixtures/llama.gguf");
/// A small contract with an obligation.
const CONTRACT: &str = "metadata: {version: 1.0.0, description: Small}
quantities: {n: {unit: \"1\", domain: \"[1, 2]\"}}
equations: {twice: {unit: \"1\", formula: 2 * n}}
obligations: [{id: grows, type: monotonicity, formal: twice increasing in n}]
";

/// Runs every command that reads a result on the bytes. `exit` runs the program and returns its exit code; files are written to
/// `directory`.
pub fn saved(data: &[u8], directory: &Path, exit: impl Fn(&[&str]) -> u8) {
    let path = |name: &str| directory.join(name).to_str().expect("a plain path").to_owned();
    let (result, svg, html) = (path("result.json"), path("chart.svg"), path("chart.html"));
    let (contract, ledger) = (path("small-v1.yaml"), path("ledger.json"));
    let run = |args: &[&str], allowed: &[u8]| {
        let code = exit(args);
        assert!(allowed.contains(&code), "{args:?} exited with {code}");
        code == 0
    };
    for old in [&svg, &html] {
        let _ = fs::remove_file(old);
    }
    for (file, bytes) in [(&result, data), (&ledger, data), (&contract, CONTRACT.as_bytes())] {
        fs::write(file, bytes).expect("the check's own directory can be written");
    }
    if run(&["plot", &result, "--svg", &svg, "--html", &html], &[0, 2]) {
        let picture = fs::read_to_string(&svg).expect("the picture is there");
        assert!(picture.trim_end().ends_with("</svg>"));
        // Invalid coordinates are not drawn, but names may contain the words.
        let names = String::from_utf8_lossy(data);
        assert!(names.contains("NaN") || !picture.contains("NaN"), "{picture}");
        assert!(names.contains("inf") || !picture.contains("\"inf"), "{picture}");
        assert!(fs::read_to_string(&html).expect("the page is there").trim_end().ends_with("</html>"));
    } else {
        assert!(!Path::new(&svg).exists() && !Path::new(&html).exists(), "an incomplete chart was written");
    }
    // A result is not worse than itself.
    run(&["gate", &result, &result, "--format", "junit"], &[0, 2]);
    run(&["profile", MODEL, "--on", "h100_sxm", "--any-model", "--llama-bench", &result], &[0, 2]);
    run(&["contract", "prove", &contract, "--kani-json", &result], &[0, 1, 2]);
    run(&["contract", "prove", &contract, "--ledger", &ledger], &[0, 1, 2]);
}
