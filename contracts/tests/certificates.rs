//! The checker accepts the certificates of the shipped contracts, and rejects changed ones.

use std::path::Path;

use roofline_checker::{Certificate, Claim, Fact, Op, Problem, Proof, Rule, Step, VERSION, check, prepare};
use roofline_contracts::certify::{certify, coq, judge, judged, problem, trace, verdicts};
use roofline_contracts::contract::{Contract, Verdict};
use roofline_contracts::sample::Random;
use roofline_contracts::source::Source;
use roofline_contracts::{check_in, library};

fn shipped(name: &str) -> Contract {
    check_in(library::built_in(name).unwrap(), None).contract.unwrap()
}

#[test]
fn every_shipped_obligation_has_a_proof_that_the_checker_accepts() {
    for (name, _) in library::BUILT_IN {
        let contract = shipped(name);
        let certificate = certify(&contract);
        let verdicts = check(&problem(&contract), &certificate).unwrap();
        for (obligation, verdict) in contract.obligations.iter().zip(verdicts) {
            assert_eq!(verdict, Ok(()), "{name}: {}", obligation.id);
            assert!(!trace(&contract, &certificate, &obligation.id).is_empty(), "{name}: {}", obligation.id);
        }
    }
}

/// All rules; the match does not compile if one is missing.
fn rules() -> Vec<Rule> {
    use Rule::*;
    let all = [
        Operation,
        Meet,
        Widen,
        Narrow,
        Gap,
        Apart,
        Trans,
        Monotone,
        Choice,
        Beside,
        Reals,
        Whole,
        Inward,
        Multiple,
        Decide,
        Order,
        Part,
        Ratio,
        RatioScale,
        RatioTrans,
        RatioOf,
        RatioLe,
        Contradiction,
        Cases,
    ];
    for rule in all {
        match rule {
            Operation | Meet | Widen | Narrow | Gap | Apart | Trans | Monotone | Choice | Beside | Reals
            | Whole | Inward | Multiple | Decide | Order | Part | Ratio | RatioScale | RatioTrans
            | RatioOf | RatioLe | Contradiction | Cases => {}
        }
    }
    all.to_vec()
}

fn with_obligation(formal: &str) -> Contract {
    let kind = if formal.contains("creasing in") { "monotonicity" } else { "invariant" };
    let text = format!(
        "metadata: {{version: 1.0.0, description: One claim}}
quantities:
  x: {{unit: \"1\", domain: \"[-2, 10]\"}}
  y: {{unit: \"1\", domain: \"[1, 10]\"}}
equations:
  sum: {{unit: \"1\", formula: x + y}}
  share: {{unit: \"1\", formula: x / y}}
  chosen: {{unit: \"1\", formula: if x > 1 then y / x else 0}}
  root: {{unit: \"1\", formula: sqrt(abs(x) * y)}}
obligations:
  - {{id: claim, type: {kind}, formal: \"{formal}\"}}
"
    );
    let source = Source::from_bytes("one-v1.yaml", text.into_bytes()).unwrap();
    let compiled = check_in(source, None);
    compiled.contract.unwrap_or_else(|| panic!("{formal}: {:?}", compiled.diagnostics))
}

#[test]
fn true_claims_have_certificates_and_false_claims_do_not() {
    for formal in [
        "sum <= 20",
        "sum increasing in x",
        "chosen >= 0",
        "share(x: 2 * x, y: 2 * y) == share",
        "x <= y implies share <= 1",
        "max(sum, share) >= min(x, share)",
        "root >= 0",
        "root increasing in y",
        "abs(x) >= x",
        "x >= 1 implies abs(x) <= x",
        "x >= 1 implies x / y * y <= x * 1.000000000001",
        "x >= 1 implies x / y * y >= x * 0.999999999999",
        "x >= 1 implies x / y * y >= x * 0.9999999999999999",
        "x < y implies share < 1",
        "x < y implies 1 / (y - x) >= 0.08",
        "x >= 1 implies x / (x + y) < 1",
        "ceil(y) >= y and floor(y) <= y",
    ] {
        assert_eq!(verdicts(&with_obligation(formal)), [Ok(())], "{formal}");
    }
    for formal in [
        "sum < 20",
        "sum >= 0",
        "share decreasing in y",
        "share * y == x",
        "sum - y == x",
        "x < y implies share < 0.9",
        "share(x: 3 * x, y: 3 * y) == share",
        "chosen > 0",
        "abs(x) <= x",
        "root increasing in x",
        "root > 0",
        "x >= 1 implies x / y * y <= x",
        "x >= 1 implies x / y * y <= x * 0.999999999999",
    ] {
        assert!(verdicts(&with_obligation(formal))[0].is_err(), "{formal}");
    }
}

#[test]
fn the_checker_rejects_wrong_rules() {
    for formal in ["share * y == x", "sum - y == x", "sum >= 0", "abs(x) <= x"] {
        let contract = with_obligation(formal);
        let problem = problem(&contract);
        let Claim::Always { condition, .. } = problem.obligations[0].claim else { panic!("{formal}") };
        let ranges: Vec<Step> = (problem.nodes.iter().enumerate())
            .filter_map(|(node, op)| match *op {
                Op::Quantity(index) => Some((node, &problem.quantities[index])),
                _ => None,
            })
            .map(|(node, domain)| {
                let gives = Fact::Range(node, domain.low, domain.high);
                Step { rule: Rule::Operation, from: Vec::new(), gives, cases: Vec::new() }
            })
            .collect();
        // A wrong rule has a known name, arbitrary premises and concludes the claim.
        for rule in rules() {
            for from in [vec![], vec![0], vec![0, 1], vec![1, 0], vec![0, 1, 0]] {
                let mut steps = ranges.clone();
                steps.push(Step { rule, from, gives: Fact::Holds(condition, true), cases: Vec::new() });
                let proofs = vec![Proof { id: "claim".into(), steps }];
                let about = problem.clone();
                let certificate = Certificate { version: VERSION, about, steps: Vec::new(), proofs };
                let verdicts = check(&problem, &certificate).unwrap();
                assert!(verdicts[0].is_err(), "{formal}: {rule:?}");
            }
        }
    }
}

#[test]
fn a_claim_with_a_rejected_certificate_is_not_proven() {
    for formal in ["share * y == x", "sum >= 0", "abs(x) <= x", "root increasing in x"] {
        let contract = with_obligation(formal);
        assert_eq!(judged(&contract, &[false])[0].verdict, Verdict::Refuted, "{formal}");
    }
    let sum = with_obligation("sum <= 20");
    assert_eq!(judge(&sum)[0].verdict, Verdict::Proven);
    assert_eq!(judged(&sum, &[false])[0].verdict, Verdict::Unknown);
}

#[test]
fn proofs_assume_exactly_the_requirements() {
    let queue = |requires: &str| {
        let text = format!(
            "metadata: {{version: 1.0.0, description: A queue}}
quantities:
  arrival: {{unit: 1/s, domain: \"[0, 10]\"}}
  service: {{unit: 1/s, domain: \"[1, 10]\"}}
{requires}equations:
  wait: {{unit: s, formula: \"if arrival < service then 1 / (service - arrival) else 0 [s]\"}}
obligations:
  - {{id: some, type: bound, formal: wait > 0}}
  - {{id: grows, type: monotonicity, formal: wait increasing in arrival}}
  - {{id: slower, type: scaling, formal: \"wait(service: service + 1 [1/s]) > 0\"}}
"
        );
        let source = Source::from_bytes("queue-v1.yaml", text.into_bytes()).unwrap();
        check_in(source, None).contract.unwrap()
    };
    let accepted = |contract: &Contract| verdicts(contract).iter().map(Result::is_ok).collect::<Vec<_>>();
    let bounded = queue("requires: [arrival < service]\n");
    assert_eq!(accepted(&bounded), [true; 3]);
    assert_eq!(accepted(&queue("")), [false; 3]);
    let mut certificate = certify(&bounded);
    certificate.about.requires.clear();
    assert!(check(&problem(&bounded), &certificate).is_err());
}

/// Changes a random step; returns true if the change affects its fact.
fn changed(steps: &mut [Step], nodes: usize, random: &mut Random) -> bool {
    let position = random.below(steps.len());
    let step = &mut steps[position];
    if !step.cases.is_empty() && random.below(3) > 0 {
        let case = random.below(step.cases.len());
        let case = &mut step.cases[case];
        if !case.steps.is_empty() && random.below(4) > 0 {
            return changed(&mut case.steps, nodes, random);
        }
        case.assume[0] = other_fact(case.assume[0], nodes, random);
        return true;
    }
    match random.below(4) {
        0 => {
            let rules = rules();
            step.rule = rules[random.below(rules.len())];
        }
        1 if !step.from.is_empty() => {
            let premise = random.below(step.from.len());
            step.from[premise] = random.below(step.from[premise] + 8);
        }
        2 if !step.from.is_empty() => {
            step.from.pop();
        }
        _ => {
            step.gives = other_fact(step.gives, nodes, random);
            return true;
        }
    }
    false
}

fn other_fact(fact: Fact, nodes: usize, random: &mut Random) -> Fact {
    let which = random.below(3);
    let node = random.below(nodes);
    let near = |value: f64, up: bool| if up { value.next_up() } else { value - value.abs() / 2.0 - 1.0 };
    match fact {
        Fact::Range(a, low, high) => match which {
            0 => Fact::Range(node, low, high),
            1 => Fact::Range(a, near(low, random.below(2) == 0), high),
            _ => Fact::Range(a, low, near(high, random.below(2) == 0)),
        },
        Fact::Le(a, b) if which == 0 => Fact::Lt(a, b),
        Fact::Le(a, _) if which == 1 => Fact::Le(a, node),
        Fact::Le(_, b) => Fact::Le(node, b),
        Fact::Lt(a, b) if which == 0 => Fact::Lt(b, a),
        Fact::Lt(a, _) if which == 1 => Fact::Lt(a, node),
        Fact::Lt(_, b) => Fact::Lt(node, b),
        Fact::Holds(a, value) if which == 0 => Fact::Holds(a, !value),
        Fact::Holds(_, value) => Fact::Holds(node, value),
        Fact::Ratio(a, b, k) if which == 0 => Fact::Ratio(a, b, k + 1),
        Fact::Ratio(a, _, k) if which == 1 => Fact::Ratio(a, node, k),
        Fact::Ratio(_, b, k) => Fact::Ratio(node, b, k),
        Fact::Whole(_) if which == 0 => Fact::Range(node, 0.0, 1.0),
        Fact::Whole(_) => Fact::Whole(node),
        Fact::Absurd => Fact::Holds(node, true),
    }
}

/// True if every proof of the certificate is accepted.
fn accepted(contract: &Contract, certificate: &Certificate) -> bool {
    check(&problem(contract), certificate).is_ok_and(|verdicts| verdicts.iter().all(Result::is_ok))
}

#[test]
fn a_certificate_with_a_changed_fact_is_rejected() {
    let mut random = Random(19);
    for name in ["roofline-model-v1", "inference-latency-v1", "quantization-v1", "speculation-v1"] {
        let contract = shipped(name);
        let certificate = certify(&contract);
        assert!(accepted(&contract, &certificate), "{name}");
        let nodes = certificate.about.nodes.len();
        let (mut refused, mut tried) = (0, 0);
        for _ in 0..700 {
            let mut copy = certificate.clone();
            let part = random.below(copy.proofs.len() + 1);
            let steps = copy.proofs.get_mut(part).map_or(&mut copy.steps, |proof| &mut proof.steps);
            let facts = changed(steps, nodes, &mut random);
            if copy == certificate {
                continue;
            }
            tried += 1;
            let accepted = accepted(&contract, &copy);
            // A changed premise may be another copy of the same fact, so only most changes are rejected.
            assert!(!(facts && accepted), "{name}: accepted: {:?}", copy.proofs.get(part));
            refused += usize::from(!accepted);
        }
        assert!(tried > 500 && refused * 100 >= tried * 97, "{name}: {refused} of {tried} rejected");
    }
}

#[test]
fn zeros_of_a_certificate_have_the_signs_of_the_contract() {
    let contract = with_obligation("chosen >= 0");
    let certificate = certify(&contract);
    assert!(accepted(&contract, &certificate));
    let mut copy = certificate.clone();
    let zero = copy.about.nodes.iter_mut().find(|op| **op == Op::Number(0.0)).unwrap();
    *zero = Op::Number(-0.0);
    // Equal as numbers, but different as divisors.
    assert_eq!(copy, certificate);
    assert!(!accepted(&contract, &copy));
}

/// A contract whose theorems `.ci/coq` checks too, after a change.
fn for_coq(file: &str, from: &str, to: &str) -> Contract {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/coq").join(file);
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(from));
    let source = Source::from_bytes(file, text.replace(from, to).into_bytes()).unwrap();
    let compiled = check_in(source, None);
    compiled.contract.unwrap_or_else(|| panic!("{file}: {:?}", compiled.diagnostics))
}

#[test]
fn theorems_keep_the_sign_of_zeros_in_tables() {
    let contract = for_coq("zeros-v1.yaml", "", "");
    let certificate = certify(&contract);
    assert!(accepted(&contract, &certificate));
    let theorems = coq::theorems(&contract, &certificate);
    let (below, above) = ("mul (neg (num 0 0 (* 0.0 *))) x", "mul (num 0 0 (* 0.0 *)) x");
    assert!(theorems.contains(&format!("add ({below}) ({above}).")), "{theorems}");
}

#[test]
fn a_sum_of_values_that_are_not_both_zero_is_a_valid_divisor() {
    let domain = "integer [1, 1e6]";
    for wide in [domain, "[1, 1e6]", "[1, 1e300]", "integer >= 1"] {
        let contract = for_coq("amdahl-v1.yaml", domain, wide);
        assert_eq!(verdicts(&contract)[..3], [Ok(()), Ok(()), Ok(())], "{wide}");
    }
    // 1 divided by the largest f64 is so small that its reciprocal is infinite.
    assert!(verdicts(&for_coq("amdahl-v1.yaml", domain, ">= 1")).iter().all(Result::is_err));
}

/// Certificates of a prover with wrong rules: the range of a difference from the wrong corners, a quotient that grows with
/// its divisor, and a product by 3 as an exact power of two.
#[test]
fn wrong_rules_are_rejected_at_the_step_that_uses_them() {
    let refused = |formal: &str, wrong: &dyn Fn(&Problem) -> Vec<Step>| {
        let contract = with_obligation(formal);
        let about = problem(&contract);
        let steps = wrong(&about);
        let last = steps.len() - 1;
        let proofs = vec![Proof { id: "claim".into(), steps }];
        let certificate = Certificate { version: VERSION, about: about.clone(), steps: Vec::new(), proofs };
        let refusal = check(&about, &certificate).unwrap()[0].clone().unwrap_err();
        assert_eq!(refusal.step, [last], "{formal}: {refusal}");
    };
    let step = |rule, from: &[usize], gives| Step { rule, from: from.to_vec(), gives, cases: Vec::new() };
    let find = |problem: &Problem, wanted: &dyn Fn(Op) -> bool| {
        problem.nodes.iter().position(|&op| wanted(op)).unwrap()
    };
    refused("x - y >= -3", &|problem| {
        let [x, y] = [0, 1].map(|index| find(problem, &|op| op == Op::Quantity(index)));
        let difference = find(problem, &|op| op == Op::Sub(x, y));
        vec![
            step(Rule::Operation, &[], Fact::Range(x, -2.0, 10.0)),
            step(Rule::Operation, &[], Fact::Range(y, 1.0, 10.0)),
            step(Rule::Operation, &[0, 1], Fact::Range(difference, -3.0, 0.0)),
        ]
    });
    refused("share increasing in y", &|problem| {
        let [x, y] = [0, 1].map(|index| find(problem, &|op| op == Op::Quantity(index)));
        let share = find(problem, &|op| op == Op::Div(x, y));
        let prepared = prepare(problem, &problem.obligations[0]).unwrap();
        let (second, y2) = (prepared.twins[share], prepared.twins[y]);
        vec![
            step(Rule::Operation, &[], Fact::Range(x, -2.0, 10.0)),
            step(Rule::Operation, &[], Fact::Range(y, 1.0, 10.0)),
            step(Rule::Operation, &[], Fact::Range(y2, 1.0, 10.0)),
            step(Rule::Operation, &[1, 2], Fact::Range(share, -2.0, 10.0)),
            step(Rule::Operation, &[1, 3], Fact::Range(second, -2.0, 10.0)),
            step(Rule::Trans, &[1], Fact::Le(x, x)),
            step(Rule::Monotone, &[6, 0, 1, 2, 4, 5], Fact::Le(share, second)),
        ]
    });
    refused("3 * y >= y", &|problem| {
        let y = find(problem, &|op| op == Op::Quantity(1));
        let three = find(problem, &|op| op == Op::Number(3.0));
        let product = find(problem, &|op| op == Op::Mul(three, y));
        vec![
            step(Rule::Operation, &[], Fact::Range(y, 1.0, 10.0)),
            step(Rule::Operation, &[], Fact::Range(three, 3.0, 3.0)),
            step(Rule::Operation, &[1, 0], Fact::Range(product, 3.0, 30.0)),
            step(Rule::RatioScale, &[0, 1, 2], Fact::Ratio(product, y, 1)),
        ]
    });
}

#[test]
fn a_certificate_of_another_contract_is_rejected() {
    let contract = shipped("roofline-model-v1");
    let certificate = certify(&contract);
    let refused = |change: &dyn Fn(&mut Certificate)| {
        let mut copy = certificate.clone();
        change(&mut copy);
        assert_ne!(copy, certificate, "nothing was changed");
        assert!(!accepted(&contract, &copy));
    };
    refused(&|copy| copy.version += 1);
    refused(&|copy| copy.about.contract.push('x'));
    refused(&|copy| copy.about.sha256.replace_range(0..1, "x"));
    refused(&|copy| copy.about.quantities[0].low -= 1.0);
    refused(&|copy| copy.about.quantities[0].name.push('x'));
    refused(&|copy| copy.about.obligations[0].sha256.replace_range(0..1, "x"));
    refused(&|copy| copy.about.obligations[0].id.push('x'));
    refused(&|copy| copy.about.obligations.swap(0, 1));
    refused(&|copy| copy.about.nodes.push(Op::Bool(true)));
    refused(&|copy| copy.proofs[0].id.push('x'));
    refused(&|copy| copy.proofs.swap_remove(0).steps.clear());
    refused(&|copy| copy.proofs[1] = copy.proofs[0].clone());
    refused(&|copy| copy.proofs.swap(0, 1));
    refused(&|copy| copy.proofs[0].steps.clear());
    refused(&|copy| {
        copy.steps.pop();
    });
}
