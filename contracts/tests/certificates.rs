//! Certificates of the shipped contracts: the checker accepts them as they are, and refuses them when anything is changed.

use roofline_checker::{Certificate, Fact, Op, Rule, Step, check};
use roofline_contracts::certify::{certify, problem, verdicts};
use roofline_contracts::contract::Contract;
use roofline_contracts::sample::Random;
use roofline_contracts::source::Source;
use roofline_contracts::{check_in, library};

fn shipped(name: &str) -> Contract {
    check_in(library::built_in(name).unwrap(), None).contract.unwrap()
}

#[test]
fn nearly_every_shipped_obligation_has_a_proof_and_the_checker_accepts_each() {
    let (mut proven, mut missing) = (0, Vec::new());
    for (name, _) in library::BUILT_IN {
        let contract = shipped(name);
        let certificate = certify(&contract);
        let verdicts = check(&problem(&contract), &certificate).unwrap();
        for (obligation, verdict) in contract.obligations.iter().zip(verdicts) {
            if certificate.proofs.iter().any(|proof| proof.id == obligation.id) {
                assert_eq!(verdict, Ok(()), "{name}: {}", obligation.id);
                proven += 1;
            } else {
                missing.push(format!("{name} {}", obligation.id));
            }
        }
    }
    println!("{proven} with a certificate, {} without:\n{}", missing.len(), missing.join("\n"));
    // What counts roundings has no rule yet.
    assert!(proven >= 450 && missing.len() * 10 <= proven, "{proven} with, {} without", missing.len());
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
obligations:
  - {{id: claim, type: {kind}, formal: \"{formal}\"}}
"
    );
    let source = Source::from_bytes("one-v1.yaml", text.into_bytes()).unwrap();
    let compiled = check_in(source, None);
    compiled.contract.unwrap_or_else(|| panic!("{formal}: {:?}", compiled.mistakes))
}

#[test]
fn what_is_true_has_a_certificate_and_what_is_false_has_none() {
    for formal in [
        "sum <= 20",
        "sum increasing in x",
        "chosen >= 0",
        "share(x: 2 * x, y: 2 * y) == share",
        "x <= y implies share <= 1",
        "max(sum, share) >= min(x, share)",
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
    ] {
        assert!(verdicts(&with_obligation(formal))[0].is_err(), "{formal}");
    }
}

/// Changes one thing in one step, anywhere; whether it was a fact.
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
        0 => step.rule = Rule::ALL[random.below(Rule::ALL.len())],
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
        Fact::Absurd => Fact::Holds(node, true),
    }
}

/// Whether the whole certificate is accepted, every proof in it.
fn accepted(contract: &Contract, certificate: &Certificate) -> bool {
    check(&problem(contract), certificate).is_ok_and(|verdicts| verdicts.iter().all(Result::is_ok))
}

#[test]
fn a_certificate_with_any_other_fact_is_refused() {
    let mut random = Random(19);
    for name in ["roofline-model-v1", "inference-latency-v1", "quantization-v1"] {
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
            // The same facts may follow in another way, from another copy of a fact: nothing else is claimed.
            assert!(!(facts && accepted), "{name}: accepted: {:?}", copy.proofs.get(part));
            refused += usize::from(!accepted);
        }
        assert!(tried > 500 && refused * 100 >= tried * 97, "{name}: {refused} of {tried} refused");
    }
}

#[test]
fn a_certificate_about_something_else_is_refused() {
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
    refused(&|copy| copy.proofs[0].steps.clear());
    refused(&|copy| {
        copy.steps.pop();
    });
}
