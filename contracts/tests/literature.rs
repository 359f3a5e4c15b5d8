//! Models of the literature, written as in their papers, with what their authors say of them: what the language can say and the
//! prover can show. A claim whose name begins with `false` is not true in floating point, or not true at all.

use std::path::Path;

use roofline_contracts::certify::judge;
use roofline_contracts::check_in;
use roofline_contracts::contract::Verdict;
use roofline_contracts::source::Source;

/// True at all points tried, and not proven.
const UNPROVEN: &[&str] = &[
    "cache-aware: mixed-is-at-least-memory",
    "cache-aware: mixed-is-at-most-the-first-level",
    "energy-roofline: twice-the-problem-twice-the-energy",
    "little: enough-lines-are-enough-bytes",
    "ring-all-reduce: twice-the-data-at-most-twice-the-time",
    "speculative: at-most-all-and-one-more",
    "speedup: never-slower",
    "speedup: scaled-never-slower",
    "speedup: scaled-is-never-less",
    "speedup: efficiency-falls",
    "speedup: one-processor-is-no-speedup",
    "williams: left-of-the-ridge-memory-binds",
];

#[test]
fn claims_of_the_literature_are_proven_and_false_ones_refuted() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/literature");
    let mut files: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 12);
    let (mut proven, mut refuted, mut open) = (0, 0, Vec::new());
    for path in &files {
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let compiled = check_in(Source::read(path, &file).unwrap(), None);
        let shown: Vec<String> = compiled.diagnostics.iter().map(|m| m.render(&compiled.source)).collect();
        assert!(shown.is_empty(), "{}", shown.join("\n"));
        for proof in judge(&compiled.contract.expect("no mistake")) {
            let name = format!("{}: {}", file.trim_end_matches("-v1.yaml"), proof.id);
            match (proof.id.starts_with("false"), proof.verdict) {
                (true, verdict) => assert_eq!(verdict, Verdict::Refuted, "{name}"),
                (false, Verdict::Proven) => proven += 1,
                (false, verdict) => {
                    assert_eq!(verdict, Verdict::Unknown, "{name}");
                    open.push(name);
                }
            }
            refuted += usize::from(proof.id.starts_with("false"));
        }
    }
    assert_eq!(open, UNPROVEN);
    assert_eq!((proven + open.len(), refuted), (114, 12));
    assert!(proven >= 90, "only {proven} of 114 are proven");
}
