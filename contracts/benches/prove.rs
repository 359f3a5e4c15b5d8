//! Time to prove every obligation of each shipped contract, and of chains of equations of growing length.

mod timing;

use std::hint::black_box;

use roofline_contracts::certify::judge;
use roofline_contracts::check_in;
use roofline_contracts::contract::{Contract, Verdict};
use roofline_contracts::library::BUILT_IN;
use roofline_contracts::source::Source;
use timing::Times;

const RUNS: usize = 9;

fn contract(name: &str, text: &str) -> Option<Contract> {
    check_in(Source::from_bytes(name, text.as_bytes().to_vec()).ok()?, None).contract
}

/// A contract with a chain of equations and three obligations per equation.
fn chain(equations: usize) -> String {
    let mut text = String::from(
        "metadata: {version: 1.0.0, description: a chain}\nquantities:\n  x: {unit: '1', domain: '[1, 2]'}\nequations:\n  e0: {formula: x, unit: '1'}\n",
    );
    for i in 1..equations {
        text += &format!("  e{i}: {{formula: 'min(e{0} * 0.75 + x / 4, 1000)', unit: '1'}}\n", i - 1);
    }
    text += "obligations:\n";
    for i in 0..equations {
        text += &format!("  - {{id: positive-{i}, type: bound, formal: e{i} > 0}}\n");
        text += &format!("  - {{id: finite-{i}, type: finiteness, formal: finite(e{i})}}\n");
        text += &format!("  - {{id: rises-{i}, type: monotonicity, formal: e{i} increasing in x}}\n");
    }
    text
}

fn report(name: &str, contract: &Contract) {
    let proofs = judge(contract);
    let proven = proofs.iter().filter(|proof| proof.verdict == Verdict::Proven).count();
    let times = Times::of(RUNS, || {
        black_box(judge(contract));
    });
    println!("{name:26} {:5} obligations, {proven:5} proven: {times}", proofs.len());
}

fn main() {
    let shipped: Vec<(&str, Contract)> =
        BUILT_IN.iter().filter_map(|(name, text)| Some((*name, contract(name, text)?))).collect();
    for (name, contract) in &shipped {
        report(name, contract);
    }
    let times = Times::of(RUNS, || {
        for (_, contract) in &shipped {
            black_box(judge(contract));
        }
    });
    println!("{:58} {times}", "all shipped contracts:");
    for equations in [250, 500, 1000, 2000] {
        match contract("chain.yaml", &chain(equations)) {
            Some(contract) => report(&format!("chain of {equations}"), &contract),
            None => println!("chain of {equations}: invalid contract"),
        }
    }
}
