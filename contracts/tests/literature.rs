//! Models from the literature in their published form, with the claims of their authors. Claims whose name starts with
//! `false` do not hold in floating point, or not at all.

use std::path::Path;

use roofline_contracts::certify::judge;
use roofline_contracts::check_in;
use roofline_contracts::contract::Verdict;
use roofline_contracts::source::Source;

/// Claims that are true at all points tried but not proven.
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
fn claims_from_the_literature_are_proven_or_refuted() {
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
        for proof in judge(&compiled.contract.expect("a valid contract")) {
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
