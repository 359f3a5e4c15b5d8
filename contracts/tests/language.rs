//! Language features beyond formulas: requirements, which proofs assume and evaluation checks, enumerations and sums.

use std::path::Path;

use roofline_contracts::certify::judge;
use roofline_contracts::contract::{Contract, Verdict};
use roofline_contracts::prove::smt;
use roofline_contracts::range::ranges;
use roofline_contracts::source::Source;
use roofline_contracts::{check_in, compile, emit, eval, sample};

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/language").join(name);
    std::fs::read_to_string(path).expect("the fixture is there")
}

fn checked(text: &str) -> Contract {
    let source = Source::from_bytes("fixture-v1.yaml", text.into()).expect("text");
    let compiled = check_in(source, None);
    let shown: Vec<String> = compiled.diagnostics.iter().map(|m| m.render(&compiled.source)).collect();
    compiled.contract.unwrap_or_else(|| panic!("{}", shown.join("\n")))
}

fn without(text: &str, line: &str) -> String {
    assert!(text.contains(line), "{line}");
    text.replace(line, "")
}

#[test]
fn without_requirements_the_queue_is_rejected() {
    let queue = text("queue-v1.yaml");
    let source = |text: String| Source::from_bytes("queue-v1.yaml", text.into()).expect("text");
    assert!(compile(source(queue.clone())).contract.is_some());
    let unstable = compile(source(without(&queue, "  - arrival < service\n")));
    let messages: Vec<&str> =
        unstable.diagnostics.iter().map(|diagnostic| diagnostic.message.as_str()).collect();
    assert_eq!(messages, ["the divisor can be zero"]);
    let overfull = checked(&without(&queue, "  - warm_hits + cold_hits <= 1\n"));
    let refuted: Vec<String> = (judge(&overfull).into_iter())
        .filter(|proof| proof.verdict == Verdict::Refuted)
        .map(|proof| proof.id)
        .collect();
    assert_eq!(refuted, ["no-negative-misses"]);
}

#[test]
fn a_rejected_point_lists_all_violated_requirements() {
    let queue = checked(&text("queue-v1.yaml"));
    assert!(eval::evaluate(&queue, &[1.0, 2.0, 0.5, 0.5]).is_ok());
    let refused = eval::evaluate(&queue, &[2.0, 2.0, 0.5, 0.6]).unwrap_err();
    assert_eq!(refused.unmet, ["arrival < service", "warm_hits + cold_hits <= 1"]);
    assert_eq!(
        refused.to_string(),
        "the inputs violate the requirement arrival < service; the inputs violate the requirement warm_hits + cold_hits <= 1"
    );
    let outside = eval::evaluate(&queue, &[-1.0, 0.0, 0.5, 0.6]).unwrap_err();
    assert_eq!((outside.outside.len(), outside.unmet.len()), (2, 0));
}

#[test]
fn sampled_points_satisfy_the_requirements_and_reach_their_limits() {
    let queue = checked(&text("queue-v1.yaml"));
    let points: Vec<Vec<f64>> = sample::points(&queue, 1).take(2000).collect();
    assert!(points.iter().all(|point| eval::evaluate(&queue, point).is_ok()));
    let full = points.iter().filter(|point| point[2] + point[3] == 1.0).count();
    assert!(full > 20, "{full} points are at the limit");
    // An equality.
    let equal = text("queue-v1.yaml").replace("<= 1\n", "== 1\n");
    let equal = checked(&equal);
    assert_eq!(sample::points(&equal, 1).take(100).filter(|point| point[2] + point[3] == 1.0).count(), 100);
}

#[test]
fn a_counterexample_satisfies_the_requirements() {
    let queue = checked(&text("queue-v1.yaml").replace("misses >= 0", "misses > 0"));
    let proofs = judge(&queue);
    let proof = proofs.iter().find(|proof| proof.id == "no-negative-misses").expect("the obligation");
    assert_eq!(proof.verdict, Verdict::Refuted);
    let mut point = [0.0, 1.0, 0.0, 0.0];
    for input in &proof.counterexample.as_ref().expect("refuted").inputs {
        point[input.quantity] = input.value;
    }
    assert_eq!(eval::evaluate(&queue, &point).map(|outputs| outputs.equations[2]), Ok(0.0));
}

#[test]
fn requirements_are_emitted_for_smt_kani_and_javascript() {
    let queue = checked(&text("queue-v1.yaml"));
    for obligation in &queue.obligations {
        for script in smt::scripts(&queue, &ranges(&queue), obligation).expect("a script") {
            let asserted = script
                .text
                .lines()
                .filter(|line| {
                    line.starts_with("(assert n")
                        || line.starts_with("(assert (and n")
                        || line.starts_with("(assert (and a")
                })
                .count();
            assert!(asserted >= 2, "{}: {}", obligation.id, script.text);
        }
    }
    let rust = emit::rust::items(&queue, &[]).to_string();
    assert!(rust.contains("_values . assume (arrival < service)"), "{rust}");
    assert!(rust.contains("kani :: assume (condition)"));
    assert!(emit::javascript::module(&queue).contains("[\"arrival < service\", [\"arrival\", \"service\"]"));
}

#[test]
fn an_enumeration_selects_a_case() {
    let contract = checked(&text("precision-v1.yaml"));
    let open: Vec<String> = judge(&contract)
        .into_iter()
        .filter(|proof| proof.verdict != Verdict::Proven)
        .map(|proof| proof.id)
        .collect();
    assert_eq!(open, [""; 0]);
    let precision = &contract.quantities[0];
    assert_eq!(
        (precision.case("fp8"), precision.case("fp4"), precision.show(2.0)),
        (Some(1.0), None, "int4".into())
    );
    let size = |precision: f64| {
        eval::evaluate(&contract, &[precision, 1.0, 1e9, 100.0]).map(|outputs| outputs.equations[0]).ok()
    };
    assert_eq!([0.0, 1.0, 2.0, 3.0, 0.5].map(size), [Some(2.0), Some(1.0), Some(0.5), None, None]);
    let refused = eval::evaluate(&contract, &[1.0, 0.0, 1e9, 100.0]).unwrap_err();
    assert_eq!(refused.unmet, ["precision is fp8 implies kind is gpu"]);
}

#[test]
fn a_counterexample_names_the_case() {
    let wrong = text("precision-v1.yaml")
        .replace("passes(precision: int4) >= passes", "passes(precision: fp16) >= passes");
    let contract = checked(&wrong);
    let proofs = judge(&contract);
    let proof =
        proofs.iter().find(|proof| proof.id == "fewer-bits-are-never-slower").expect("the obligation");
    let counterexample = proof.counterexample.as_ref().expect("a counterexample");
    let shown = counterexample.to_string();
    assert!(shown.contains("precision = fp8\n") || shown.contains("precision = int4\n"), "{shown}");
    let test = counterexample.test(&contract, &contract.obligations[1]);
    assert!(test.contains("precision: Precision::"), "{test}");
    assert!(test.contains("Inputs { precision: Precision::Fp16, ..inputs }.evaluate()"), "{test}");
}

#[test]
fn a_table_sets_an_enumeration_with_its_type() {
    let contract = checked(&text("precision-v1.yaml"));
    let rust = emit::rust::items(&contract, &[]).to_string();
    assert!(rust.contains("pub kind : super :: Kind"), "{rust}");
    assert!(
        rust.contains("pub const fn from_array (values : [f64 ; 4]) -> :: core :: option :: Option < Self >")
    );
    assert!(rust.contains("let precision = Precision :: ALL"), "{rust}");
}

#[test]
fn a_sum_adds_the_rows_of_its_table_in_order() {
    let layers = checked(&text("layers-v1.yaml"));
    let (bandwidth, bits) = (100.0, 4.0);
    let outputs = eval::evaluate(&layers, &[bandwidth, bits]).expect("within the domains");
    let value = |name: &str| {
        let place = layers.equations.iter().position(|equation| equation.name == name).expect("the equation");
        outputs.equations[place]
    };
    let rows =
        [(32.0, 41943040.0, 0.1, 1e-6), (31.0, 1409286144.0, 0.25, 2e-6), (1.0, 525336576.0, 0.0, 0.0)];
    let [mut read, mut time] = [0.0; 2];
    for (count, weights, share, start) in rows {
        read += count * weights * share;
        time += count * weights * bits / 8.0 / 1e9 / bandwidth + start;
    }
    assert_eq!(value("params"), 32.0 * 41943040.0 + 31.0 * 1409286144.0 + 525336576.0);
    assert_eq!(value("model_bytes"), read * bits / 8.0);
    assert_eq!(value("time"), time);
    // A row whose condition is false does not divide.
    assert_eq!(value("sparse_params"), 32.0 * 41943040.0 / 0.1 + 31.0 * 1409286144.0 / 0.25);
    let offsets = -0.3 + 0.1 + 0.7;
    assert_eq!(value("correction"), 3.0 - offsets * offsets * 2.0);
    assert!(judge(&layers).iter().all(|proof| proof.verdict == Verdict::Proven));
}

#[test]
fn a_sum_over_the_table_of_a_dependency_is_imported() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/language");
    let user = "metadata: {version: 1.0.0, description: A fixture, depends_on: [layers-v1 ^1.0]}
quantities:
  copies: {unit: '1', domain: '[1, 8]'}
equations:
  all_params: {unit: param, formula: copies * params}
  layer_count: {unit: '1', formula: sum(count * copies for row in layers)}
";
    let source = Source::from_bytes("user-v1.yaml", user.into()).expect("text");
    let contract = check_in(source, Some(&directory)).contract.expect("a valid contract");
    // Names of columns are not imported.
    assert_eq!(contract.quantities.iter().map(|q| q.name.as_str()).collect::<Vec<_>>(), ["copies"]);
    let outputs = eval::evaluate(&contract, &[2.0]).expect("within the domain");
    assert_eq!(outputs.equations[..2], [91_110_768_640.0, 128.0]);
}
