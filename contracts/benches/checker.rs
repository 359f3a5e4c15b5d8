//! Time to check the certificates of every shipped contract, and to find them; the macro does both.

mod timing;

use std::hint::black_box;

use roofline_checker::{Certificate, Problem, Step, check};
use roofline_contracts::certify::{certify, problem};
use roofline_contracts::contract::Contract;
use roofline_contracts::{check_in, library};
use timing::Times;

const RUNS: usize = 101;

/// The number of steps, including those in cases.
fn steps(list: &[Step]) -> usize {
    list.iter().map(|step| 1 + step.cases.iter().map(|case| steps(&case.steps)).sum::<usize>()).sum()
}

fn main() {
    let contracts: Vec<Contract> = (library::BUILT_IN.iter())
        .map(|(name, _)| {
            let source = library::built_in(name).expect("built in");
            check_in(source, None).contract.expect("valid")
        })
        .collect();
    let certificates: Vec<(Problem, Certificate)> =
        contracts.iter().map(|contract| (problem(contract), certify(contract))).collect();
    let (mut every_step, mut every_obligation) = (0, 0);
    for (problem, certificate) in &certificates {
        let verdicts = check(problem, certificate).expect("about the contract");
        let accepted = verdicts.iter().filter(|verdict| verdict.is_ok()).count();
        let count =
            certificate.proofs.iter().fold(steps(&certificate.steps), |sum, proof| sum + steps(&proof.steps));
        let times = Times::of(RUNS, || drop(black_box(check(problem, certificate))));
        println!("{:26} {accepted:4} accepted, {count:6} steps: {times}", problem.contract);
        every_step += count;
        every_obligation += accepted;
    }
    let times = Times::of(RUNS, || {
        for (problem, certificate) in &certificates {
            let _ = black_box(check(problem, certificate));
        }
    });
    println!("{:26} {every_obligation:4} accepted, {every_step:6} steps: {times}", "all shipped contracts");
    let times = Times::of(9, || contracts.iter().for_each(|contract| drop(black_box(certify(contract)))));
    println!("{:26} {times}", "finding the certificates");
}
