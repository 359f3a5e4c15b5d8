//! Compile time, and its growth with the size of the contract: `cargo bench -p roofline-contracts`.
//!
//! Prints medians and the spread of repeated runs; nothing is asserted, because timings are noisy.

mod timing;

use std::time::Duration;

use roofline_contracts::source::Source;
use roofline_contracts::{check_in, compile, emit, library};
use roofline_test_support::memory::{Counting, peak};
use timing::Times;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A contract with `equations` equations in chains of ten.
fn generated(equations: usize) -> String {
    let mut text = String::from("metadata: {version: 1.0.0, description: generated}\nquantities:\n");
    for i in 0..10 {
        text += &format!("  q{i}: {{unit: GB/s, domain: '[1, 1e6]'}}\n");
    }
    text += "equations:\n";
    for i in 0..equations {
        let before = if i % 10 == 0 { format!("q{}", i / 10 % 10) } else { format!("e{}", i - 1) };
        text += &format!(
            "  e{i}:\n    unit: GB/s\n    formula: min({before} * 1.5, q{} + {before}) / 2\n",
            i % 10
        );
    }
    text
}

fn measure(name: &str, repetitions: usize, mut run: impl FnMut()) -> Duration {
    run();
    let (times, memory) = peak(|| Times::of(repetitions, run));
    println!("{name:<58} {times}  {:>7.1} MB", memory as f64 / 1e6);
    times.median()
}

fn main() {
    println!("{:<58} {:>10}  (fastest .. slowest)  memory", "what", "median");
    let source = library::built_in("roofline-model-v1").expect("built in");
    measure("roofline-model-v1: parse, check, emit", 101, || {
        let contract = check_in(source.clone(), None).contract.expect("valid");
        std::hint::black_box(emit::rust::items(&contract, &[]));
    });
    measure("roofline-model-v1: parse, check, prove, emit", 101, || {
        let contract = compile(source.clone()).contract.expect("valid");
        std::hint::black_box(emit::rust::items(&contract, &[]));
    });
    measure("all shipped contracts: compile, with proofs", 21, || {
        for (file, _) in library::BUILT_IN {
            std::hint::black_box(compile(library::built_in(file).expect("built in")));
        }
    });
    let mut before: Option<Duration> = None;
    for equations in [1_000, 10_000] {
        let source =
            Source::from_bytes("generated-v1.yaml", generated(equations).into()).expect("not too large");
        let now = measure(&format!("{equations} equations: parse, check, emit"), 11, || {
            let contract = check_in(source.clone(), None).contract.expect("valid");
            std::hint::black_box(emit::rust::items(&contract, &[]));
        });
        if let Some(before) = before.replace(now) {
            println!(
                "{:<58} {:>9.1}x",
                "ten times the equations take",
                now.as_secs_f64() / before.as_secs_f64()
            );
        }
    }
}
