//! How long the compiler takes, and that it grows with the contract: `cargo bench -p roofline-contracts`.
//!
//! Prints medians and the spread of repeated runs; nothing is asserted, because machines are noisy.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use roofline_contracts::source::Source;
use roofline_contracts::{check_in, compile, emit, library, prove};

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        MOST.fetch_max(NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `GlobalAlloc::dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A contract with this many equations in chains of ten, and three obligations for each.
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
    text += "obligations:\n";
    for i in 0..equations {
        let quantity = i / 10 % 10;
        text += &format!("  - {{id: p{i}, type: bound, formal: e{i} > 0}}\n");
        text += &format!("  - {{id: f{i}, type: finiteness, formal: finite(e{i})}}\n");
        text += &format!("  - {{id: m{i}, type: monotonicity, formal: e{i} increasing in q{quantity}}}\n");
    }
    text
}

fn measure(name: &str, repetitions: usize, mut run: impl FnMut()) -> Duration {
    run();
    let base = NOW.load(Ordering::Relaxed);
    MOST.store(base, Ordering::Relaxed);
    let mut times: Vec<Duration> = (0..repetitions)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort();
    let (median, low, high) = (times[times.len() / 2], times[0], times[times.len() - 1]);
    let memory = (MOST.load(Ordering::Relaxed) - base) as f64 / 1e6;
    println!("{name:<58} {median:>10.2?}  ({low:.2?} .. {high:.2?})  {memory:>7.1} MB");
    median
}

fn main() {
    println!("{:<58} {:>10}  (fastest .. slowest)  memory", "what", "median");
    let source = library::built_in("roofline-model-v1").expect("built in");
    measure("roofline-model-v1: parse, check, emit", 101, || {
        let contract = check_in(source.clone(), None).contract.expect("valid");
        std::hint::black_box(emit::rust::items(&contract, &[]));
    });
    let contracts: Vec<_> = (library::BUILT_IN.iter())
        .map(|(file, _)| check_in(library::built_in(file).expect("built in"), None).contract.expect("valid"))
        .collect();
    measure("all shipped contracts: prove every obligation", 51, || {
        for contract in &contracts {
            std::hint::black_box(prove::prove(contract));
        }
    });
    measure("all shipped contracts: compile, proofs included", 21, || {
        for (file, _) in library::BUILT_IN {
            std::hint::black_box(compile(library::built_in(file).expect("built in")));
        }
    });
    let mut before: Option<Duration> = None;
    for equations in [1_000, 10_000] {
        // Obligations are timed apart, so the first figure is of the language alone.
        let full = generated(equations);
        let bare = full[..full.find("obligations:").expect("a section")].to_owned();
        let text = |text: &str| Source::from_bytes("generated-v1.yaml", text.into()).expect("not too large");
        let (bare, full) = (text(&bare), text(&full));
        let now = measure(&format!("{equations} equations: parse, check, emit"), 11, || {
            let contract = check_in(bare.clone(), None).contract.expect("valid");
            std::hint::black_box(emit::rust::items(&contract, &[]));
        });
        if let Some(before) = before.replace(now) {
            println!(
                "{:<58} {:>9.1}x",
                "ten times the equations cost",
                now.as_secs_f64() / before.as_secs_f64()
            );
        }
        let contract = check_in(full, None).contract.expect("valid");
        measure(&format!("{equations} equations, {} obligations: prove", 3 * equations), 5, || {
            let proofs = prove::prove(&contract);
            assert!(proofs.iter().all(|proof| proof.verdict == prove::Verdict::Proven));
        });
    }
}
