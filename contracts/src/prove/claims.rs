//! Claims with known verdicts: for each rule true claims that it proves, and false claims that must be refuted.

use super::Proof;
use crate::certify::{self, certify};
use crate::contract::{Contract, Verdict};
use crate::report::Severity;
use crate::source::Source;

/// Checks one claim about a small model of an accelerator.
fn judge(kind: &str, formal: &str) -> Proof {
    certify::judge(&model(kind, formal)).remove(0)
}

/// The printed steps of its proof.
fn trace(kind: &str, formal: &str) -> Vec<String> {
    let contract = model(kind, formal);
    certify::trace(&contract, &certify(&contract), "claim")
}

fn model(kind: &str, formal: &str) -> Contract {
    let text = format!(
        r#"
metadata: {{version: 1.0.0, description: test}}
quantities:
  params: {{unit: param, domain: "integer [1, 1e13]"}}
  bits: {{unit: bit/param, domain: "[0.5, 64]"}}
  bandwidth: {{unit: GB/s, domain: "[1e-3, 1e6]"}}
  peak: {{unit: Gflop/s, domain: "[1e-3, 1e9]"}}
  ai: {{unit: flop/B, domain: "[1e-6, 1e9]"}}
  rows: {{unit: "1", domain: "integer [1, 1e6]"}}
  columns: {{unit: "1", domain: "integer [1, 1e6]"}}
  share: {{unit: "1", domain: "(0, 1]"}}
  gain: {{unit: "1", domain: "[1, 100]"}}
  x: {{unit: "1"}}
  y: {{unit: "1", domain: "[-10, 10]"}}
  d: {{unit: "1", domain: "[1e-3, 1]"}}
equations:
  bytes: {{formula: "params * bits / 8 [bit/B]", unit: B}}
  bw_ceiling: {{formula: "bandwidth / (bytes / 1e9 [B/GB])", unit: 1/s}}
  ridge: {{formula: "peak / bandwidth", unit: flop/B}}
  attainable: {{formula: "min(peak, ai * bandwidth)", unit: Gflop/s}}
  utilization: {{formula: "attainable / peak", unit: "1"}}
  cells: {{formula: "rows * columns", unit: "1"}}
  part: {{formula: "share * d", unit: "1"}}
  level: {{formula: "floor(y / d + 0.5)", unit: "1"}}
  restored: {{formula: "level * d", unit: "1"}}
classifiers:
  bound:
    cases:
      - Memory: ai < ridge
      - Compute: otherwise
obligations:
  - {{id: claim, type: {kind}, formal: "{formal}"}}
"#
    );
    let source = Source::from_bytes("test.yaml", text.into_bytes()).unwrap();
    let compiled = crate::check_in(source, None);
    let diagnostics: Vec<String> = compiled.rendered(Severity::Error).collect();
    compiled.contract.unwrap_or_else(|| panic!("{formal}: {}", diagnostics.join("\n")))
}

const TRUE: &[(&str, &str)] = &[
    ("bound", "bytes > 0 [B]"),
    ("finiteness", "finite(bw_ceiling)"),
    ("bound", "attainable <= peak"),
    ("bound", "attainable <= ai * bandwidth"),
    ("bound", "utilization <= 1"),
    ("invariant", "attainable == peak or attainable == ai * bandwidth"),
    ("equivalence", "bound is Memory iff ai < ridge"),
    ("invariant", "not (bound is Memory and bound is Compute)"),
    ("invariant", "bound is Memory or bound is Compute"),
    ("monotonicity", "bw_ceiling decreasing in params"),
    ("monotonicity", "attainable increasing in ai"),
    ("monotonicity", "level increasing in y"),
    ("scaling", "bw_ceiling(params: 2 * params) == bw_ceiling / 2"),
    ("scaling", "attainable(peak: 2 * peak, bandwidth: 2 * bandwidth) == 2 * attainable"),
    ("bound", "bytes(bits: 2 * bits) >= bytes"),
    ("bound", "bw_ceiling * bytes <= bandwidth * 1e9 [B/GB] * 1.000000000001"),
    ("bound", "bw_ceiling * bytes >= bandwidth * 1e9 [B/GB] * 0.999999999999"),
    ("scaling", "bw_ceiling(params: 3 * params) * 3 <= bw_ceiling * 1.000000000001"),
    ("invariant", "ai >= ridge implies ai * bandwidth >= peak * 0.999999999999"),
    ("invariant", "(rows + 1) * columns == cells + columns"),
    ("invariant", "rows + 1 > rows"),
    ("invariant", "rows <= columns implies rows / columns <= 1"),
    ("invariant", "rows <= columns implies rows * params <= columns * params"),
    ("bound", "bytes * share <= bytes"),
    ("bound", "bytes / gain <= bytes"),
    ("invariant", "x <= y implies x - y <= 0"),
    ("invariant", "bits <= 8 [bit/param] implies bytes <= 1e13 [B]"),
    ("invariant", "utilization >= 0.9 implies utilization > 0.5"),
    ("invariant", "floor(y) <= y and y <= ceil(y)"),
    ("equivalence", "x - y < 0 iff x < y"),
    ("bound", "ceil(rows / columns) * columns >= rows"),
    ("bound", "floor(rows / columns) * columns <= rows"),
    ("bound", "rows + columns - 1 >= rows"),
    ("bound", "(rows - 1) * (columns - 1) >= 0"),
    ("invariant", "(if rows < columns then columns - rows else rows - columns) >= 0"),
];

/// Claims that look true; the comments explain why they are false in f64.
const FALSE: &[(&str, &str)] = &[
    // Rounding: neighboring inputs yield equal ceilings, so the ceiling does not decrease strictly.
    ("scaling", "bw_ceiling(bandwidth: bandwidth * 1.0000000000000002) > bw_ceiling"),
    // ridge = peak / bandwidth is rounded, so multiplying back may stay below the peak.
    ("invariant", "ai >= ridge implies ai * bandwidth >= peak"),
    // Division by three is rounded; only powers of two are exact.
    ("scaling", "bw_ceiling(params: 3 * params) == bw_ceiling / 3"),
    // The sign of a quantity without a domain.
    ("bound", "x > 0"),
    // Overflow.
    ("finiteness", "finite(x * x)"),
    ("scaling", "cells(rows: 2 * rows) == 3 * cells"),
    // Half an ulp, plus the roundings of the quotient and of the product.
    ("bound", "max(y - restored, restored - y) <= d / 2"),
    // A wrong direction.
    ("monotonicity", "bw_ceiling increasing in params"),
    // The direction of a product depends on the sign of the other factor.
    ("monotonicity", "(x * y) increasing in y"),
    // One is subtracted from a rounded sum.
    ("bound", "share + gain - 1 >= share"),
    // The share may be too small to change the sum.
    ("invariant", "gain + share > gain"),
    ("invariant", "x + 1 > x"),
    ("bound", "attainable < peak"),
    ("bound", "utilization < 1"),
    ("equivalence", "bound is Compute iff ai > ridge"),
    ("bound", "bw_ceiling * bytes <= bandwidth * 1e9 [B/GB]"),
    ("bound", "bytes / gain < bytes"),
    ("invariant", "rows <= columns implies rows / columns < 1"),
    // The products are rounded if they exceed 2^53.
    ("invariant", "params * (rows + columns) == params * rows + params * columns"),
    ("scaling", "level(y: 2 * y) == 2 * level"),
    ("invariant", "x - y <= 0 implies x < y"),
];

#[test]
fn true_claims_are_proven_with_a_trace() {
    for (kind, formal) in TRUE {
        let proof = judge(kind, formal);
        assert_eq!(proof.verdict, Verdict::Proven, "{formal}: {:?}", proof.counterexample);
        assert!(!trace(kind, formal).is_empty(), "{formal}");
    }
}

#[test]
fn claims_that_are_false_in_floating_point_are_refuted_with_their_inputs() {
    for (kind, formal) in FALSE {
        let proof = judge(kind, formal);
        assert_eq!(proof.verdict, Verdict::Refuted, "{formal}");
        let text = proof.counterexample.unwrap().to_string();
        assert!(text.contains("(0x"), "{text}");
    }
}

#[test]
fn a_trace_reads_like_an_argument() {
    let steps = trace("bound", "utilization <= 1");
    assert_eq!(
        steps,
        [
            "attainable <= peak: min is at most each of its arguments",
            "utilization is in [1e-18, 1.0]: an inequality narrows its range, as peak is in [0.001, 1000000000.0]",
            "utilization <= 1.0: the ranges do not overlap, as utilization is in [1e-18, 1.0]",
        ]
    );
    let steps = trace("invariant", "rows <= columns implies rows / columns <= 1");
    assert_eq!(steps[0], "case rows < columns:");
    assert!(steps.contains(&"case columns < rows:".to_owned()), "{steps:?}");
    let narrowed = "  rows / columns is in [1e-6, 0.9999999999999999]: an inequality narrows its range, as columns is in [2.0, 1000000.0]";
    assert!(steps.contains(&narrowed.to_owned()), "{steps:?}");
}

#[test]
fn an_unknown_direction_is_reported_with_those_of_its_operands() {
    let quantities = "  s: {unit: '1', domain: '[0, 1]'}\n  n: {unit: '1', domain: 'integer [1, 65536]'}\n";
    let equations = "  speedup: {formula: '1 / (s + (1 - s) / n)', unit: '1'}\n";
    let obligations = "  - {id: claim, type: monotonicity, formal: 'speedup decreasing in s within 1e-12'}\n";
    let proof = judge_all(quantities, equations, obligations).remove(0);
    assert_eq!(
        proof.missing.as_deref(),
        Some(
            "could not determine the direction of s + ((1.0 - s) / n) in s, given that s never decreases and (1.0 - s) / n never increases"
        )
    );
}

#[test]
fn a_quotient_that_may_be_infinite_has_no_certificate() {
    // Certificates state facts about finite values, but the quotient overflows if a and b are close.
    let quantities = "  a: {unit: '1', domain: '[0, 10]'}\n  b: {unit: '1', domain: '[0, 10]'}\n";
    let equations = "  gap: {formula: 'if a < b then 1 / (b - a) else 0', unit: '1'}\n";
    let obligations = "  - {id: claim, type: invariant, formal: 'gap >= 0'}\n";
    let proof = judge_all(quantities, equations, obligations).remove(0);
    assert_eq!(proof.verdict, Verdict::Unknown);
    assert_eq!(proof.missing.as_deref(), Some("could not bound: 1.0 / (b - a)"));
}

#[test]
fn a_counterexample_is_simple_and_exact() {
    let proof = judge("scaling", "cells(rows: 2 * rows) == 3 * cells");
    let text = proof.counterexample.unwrap().to_string();
    assert!(
        text.starts_with("rows = 1.0 (0x3ff0000000000000)\ncolumns = 1.0 (0x3ff0000000000000)\n"),
        "{text}"
    );
    assert_eq!(judge("bound", "x > 0").counterexample, judge("bound", "x > 0").counterexample);
}

#[test]
fn a_substitution_limits_a_claim_to_points_inside_the_domain() {
    // False if 2 * share exceeds 1, which is outside the domain.
    assert_eq!(judge("scaling", "part(share: 2 * share) <= d").verdict, Verdict::Proven);
    assert_eq!(judge("scaling", "part(share: 2 * share) < d").verdict, Verdict::Refuted);
    // No share is 2, so the claim applies to no point.
    assert_eq!(judge("scaling", "part(share: 1 + gain) > d").verdict, Verdict::Unknown);
}

/// Checks claims about dimensionless quantities.
pub(super) fn judge_all(quantities: &str, equations: &str, obligations: &str) -> Vec<Proof> {
    let text = format!(
        "metadata: {{version: 1.0.0, description: test}}\nquantities:\n{quantities}equations:\n{equations}obligations:\n{obligations}"
    );
    let compiled = crate::check_in(Source::from_bytes("test.yaml", text.into_bytes()).unwrap(), None);
    let diagnostics: Vec<String> = compiled.rendered(Severity::Error).collect();
    certify::judge(&compiled.contract.unwrap_or_else(|| panic!("{}", diagnostics.join("\n"))))
}

#[test]
fn integers_that_fill_the_significand_refute_a_tripling() {
    let mut quantities = String::new();
    for (name, most) in
        [("layers", 200), ("heads", 128), ("width", 1024), ("context", 1_000_000), ("batch", 4096)]
    {
        quantities += &format!("  {name}: {{unit: '1', domain: 'integer [1, {most}]'}}\n");
    }
    let equations = "  cache: {formula: '2 * layers * heads * width * context * batch', unit: '1'}\n";
    let claim = |factor: u32| {
        let formal = format!("cache(batch: {factor} * batch) == {factor} * cache");
        format!("  - {{id: claim, type: scaling, formal: '{formal}', assurance: tested}}\n")
    };
    assert_eq!(judge_all(&quantities, equations, &claim(3))[0].verdict, Verdict::Refuted);
    assert_eq!(judge_all(&quantities, equations, &claim(4))[0].verdict, Verdict::Proven);
}

#[test]
fn the_search_counts_the_multiplications_of_powers() {
    let points = |most: u32| {
        let quantities = format!(
            "  x: {{unit: '1', domain: '[0.9, 1.1]'}}\n  y: {{unit: '1', domain: '[0.9, 1.1]'}}\n  n: {{unit: '1', domain: 'integer [1, {most}]'}}\n"
        );
        let equations = "  p: {formula: 'min(pow(x, n), 1e300)', unit: '1'}\n  q: {formula: 'min(pow(y, n), 1e300)', unit: '1'}\n";
        let obligations = "  - {id: a, type: invariant, formal: 'p * q <= (p * p + q * q) * 0.6 + 1e-9'}\n  - {id: c, type: invariant, formal: 'p <= (1 + p * p) * 0.6'}\n";
        let proofs = judge_all(&quantities, equations, obligations);
        for proof in &proofs {
            assert_eq!(proof.verdict, Verdict::Unknown, "{}", proof.id);
        }
        proofs.iter().map(|proof| proof.points).sum::<usize>()
    };
    let (few, many) = (points(65_536), points(16));
    assert!(few > 1_000 && few * 4 < many, "{few} and {many} points");
    assert_eq!(few, points(65_536), "the same points every time");
}

#[test]
fn a_guarded_division_is_checked_only_under_its_condition() {
    let quantities = "  a: {unit: '1', domain: 'integer [0, 10]'}\n  b: {unit: '1', domain: 'integer [0, 10]'}\n  s: {unit: '1', domain: '[0, 1]'}\n  n: {unit: '1', domain: 'integer [1, 65536]'}\n";
    let equations = "  gap: {formula: 'if a < b then 1 / (b - a) else 0', unit: '1'}\n  part: {formula: 'if a + b > 0 then a / (a + b) else 0', unit: '1'}\n  speedup: {formula: '1 / (s + (1 - s) / n)', unit: '1'}\n";
    let mut obligations = String::new();
    let claims = [
        "gap >= 0",
        "b > 0 implies a / b >= 0",
        "b == 0 or a / b >= 0",
        "a <= b and b > 0 implies a / b <= 1",
        "part >= 0",
        "part <= 1",
        "1 - part >= 0",
        "speedup > 0",
        "finite(speedup)",
    ];
    for (i, claim) in claims.iter().enumerate() {
        obligations += &format!("  - {{id: claim-{i}, type: invariant, formal: '{claim}'}}\n");
    }
    for (proof, claim) in judge_all(quantities, equations, &obligations).iter().zip(claims) {
        assert_eq!(proof.verdict, Verdict::Proven, "{claim}: {:?}", proof.missing);
    }
}

#[test]
fn sixty_doublings_are_sixty_nodes() {
    let mut text = String::from(
        "metadata: {version: 1.0.0, description: test}\nquantities:\n  x0: {unit: '1', domain: '[1, 2]'}\nequations:\n",
    );
    for i in 1..=60 {
        text += &format!("  x{i}: {{formula: 'x{0} + x{0}', unit: '1'}}\n", i - 1);
    }
    text += "obligations:\n  - {id: a, type: bound, formal: 'x60 <= 2305843009213693952'}\n";
    text += "  - {id: b, type: monotonicity, formal: x60 increasing in x0}\n";
    text += "  - {id: c, type: scaling, formal: 'x60(x0: 2 * x0) == 2 * x60'}\n";
    text += "  - {id: d, type: bound, formal: 'x60 >= x0'}\n";
    let contract =
        crate::check_in(Source::from_bytes("t.yaml", text.into_bytes()).unwrap(), None).contract.unwrap();
    for proof in certify::judge(&contract) {
        assert_eq!(proof.verdict, Verdict::Proven, "{}", proof.id);
    }
}
