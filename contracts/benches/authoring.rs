//! Time to format 1,000 contracts, and to compile them with proofs:
//! `cargo bench -p roofline-contracts --features authoring --bench authoring`

mod timing;

use std::hint::black_box;

use roofline_contracts::Compiler;
use roofline_contracts::authoring::format::format;
use roofline_contracts::library::built_in;
use roofline_contracts::source::Source;
use timing::Times;

const CONTRACTS: usize = 1_000;
const TURNS: usize = 7;

/// Copies of the smallest shipped machine model under different names.
fn contracts() -> Vec<Source> {
    let text = built_in("roofline-model-v1").expect("built in").text;
    let named = |index: usize| {
        let text = text.replace("  version: 1.0.0", &format!("  id: model-{index}\n  version: 1.0.0"));
        Source::from_bytes(&format!("model-{index}.yaml"), text.into_bytes()).expect("not too large")
    };
    (0..CONTRACTS).map(named).collect()
}

fn measure(name: &str, run: impl FnMut()) {
    println!("{name:40} {}", Times::of(TURNS, run));
}

fn main() {
    let contracts = contracts();
    let bytes: usize = contracts.iter().map(|source| source.text.len()).sum();
    println!(
        "{CONTRACTS} contracts of {} lines, {:.1} MB",
        contracts[0].text.lines().count(),
        bytes as f64 / 1e6
    );
    measure("fmt", || {
        for source in &contracts {
            black_box(format(source).expect("a contract"));
        }
    });
    measure("check, with dependencies and proofs", || {
        let mut compiler = Compiler::default();
        for source in &contracts {
            assert!(compiler.compile_in(source.clone(), None).contract.is_some());
        }
    });
}
