//! Unreachable cases of a classifier are errors, and reachable ones are not.

use roofline_contracts::check_in;
use roofline_contracts::source::Source;

/// The errors of a classifier with these two cases before `otherwise`.
fn said(first: &str, second: &str) -> Vec<String> {
    let text = format!(
        "metadata: {{version: 1.0.0, description: Bands}}
quantities:
  x: {{unit: \"1\", domain: \"[0, 10]\"}}
  z: {{unit: \"1\", domain: \"[0, 10]\"}}
equations:
  y: {{unit: \"1\", formula: x + z}}
classifiers:
  band:
    of: y
    cases:
      - First: \"{first}\"
      - Second: \"{second}\"
      - Third: otherwise
"
    );
    let source = Source::from_bytes("bands-v1.yaml", text.into_bytes()).unwrap();
    check_in(source, None).diagnostics.into_iter().map(|diagnostic| diagnostic.message).collect()
}

#[test]
fn a_case_covered_by_an_earlier_one_is_unreachable() {
    for (first, second) in [
        ("< 5", "< 5"),
        ("< 5", "< 4"),
        ("< 5", "<= 4"),
        ("<= 5", "< 5"),
        ("<= 5", "<= 5"),
        ("> 5", "> 5"),
        ("> 5", "> 6"),
        ("> 5", ">= 6"),
        (">= 5", "> 5"),
        (">= 5", "5 < y"),
        ("5 >= y", "y < 5"),
        ("x == z", "x == z"),
    ] {
        assert_eq!(said(first, second), ["unreachable case `Second`"], "{first}, then {second}");
    }
}

#[test]
fn reachable_cases_are_accepted() {
    for (first, second) in [
        ("< 5", "<= 5"),
        ("< 5", "< 6"),
        ("< 5", "> 5"),
        ("< 5", "> 4"),
        ("> 5", ">= 5"),
        ("> 5", "> 4"),
        ("> 5", "< 6"),
        ("x < 5", "z < 4"),
        ("x == z", "x != z"),
        ("x < z", "x > z"),
    ] {
        assert_eq!(said(first, second), Vec::<String>::new(), "{first}, then {second}");
    }
}
