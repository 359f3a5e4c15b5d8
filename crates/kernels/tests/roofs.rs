//! The kernels behind the measured roofs, on every instruction set of this processor: what moves memory moves exactly that,
//! what multiplies adds up what the oracle does. Small enough for an emulator; `ROOFLINE_EXPECT_ISA` names the instruction sets that must be there.

use roofline_kernels::isa::Isa;
use roofline_kernels::{self as kernels, Multiplied, Streams, multiply_adds, scalar};

/// Lengths around every vector and unrolling edge.
const LENGTHS: [usize; 18] = [0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129, 1000];

/// Long enough that the streams are set apart.
const LONG: usize = 1 << 20;

/// The instruction sets with kernels of their own that move memory.
fn movers() -> impl Iterator<Item = Isa> {
    let own = ["scalar", "avx2", "avx512", "neon"];
    Isa::available().iter().copied().filter(move |isa| own.contains(&isa.name()))
}

fn values(count: usize) -> Vec<f32> {
    (0..count).map(|at| (at * 37 % 101) as f32 - 50.0).collect()
}

#[test]
fn the_expected_instruction_sets_are_here() {
    let names: Vec<_> = Isa::available().iter().map(|isa| isa.name()).collect();
    println!("instruction sets: {}", names.join(", "));
    for isa in std::env::var("ROOFLINE_EXPECT_ISA").iter().flat_map(|expected| expected.split(',')) {
        assert!(names.contains(&isa), "expected {isa}, found {names:?}");
    }
    assert!(movers().count() > 0);
}

#[test]
fn every_multiply_add_of_this_processor_adds_up_what_the_oracle_does() {
    for one in multiply_adds(Isa::detect()) {
        let operands = one.operands();
        for rounds in [0, 1, 2, 7] {
            let (sums, operations) = one.run(rounds, &operands);
            let (found, expected) = (one.values(&sums), one.expected(rounds, &operands));
            assert_eq!(found, expected, "{one:?}, {rounds} rounds");
            let products = operations / 2;
            assert_eq!(products == 0, rounds == 0, "{one:?}");
            assert!(products.is_multiple_of((found.len() * rounds.max(1)) as u64), "{one:?}: {products}");
        }
        println!("{one:?}: as the oracle");
    }
    for kind in [Multiplied::F64, Multiplied::F32, Multiplied::Int8, Multiplied::Int4] {
        assert!(multiply_adds(Isa::SCALAR).any(|one| one.kind() == kind), "{kind}");
    }
}

#[test]
fn read_sums_every_element_with_any_number_of_streams() {
    for isa in movers() {
        for length in LENGTHS {
            let source = values(length);
            let expected: f32 = source.iter().sum();
            for count in 0..=Streams::MOST + 1 {
                for prefetch in [0, 256] {
                    // Small whole numbers: exact in any order.
                    let found = kernels::read(isa, &source, Streams { count, prefetch });
                    assert_eq!(found, expected, "{isa} {length} {count}");
                }
            }
        }
        // Far enough apart for streams that leave a tail.
        let (source, streams) = (vec![0.5; LONG], Streams { count: 3, prefetch: 0 });
        assert_eq!(kernels::read(isa, &source, streams), LONG as f32 / 2.0, "{isa}");
    }
}

#[test]
fn what_is_filled_copied_and_added_is_exactly_the_right_elements() {
    for isa in movers() {
        for length in LENGTHS.into_iter().chain([LONG / 4]) {
            let (a, mut b) = (values(length), values(length));
            b.reverse();
            let streams = Streams { count: 1 + length % 4, prefetch: 128 * (length % 2) };
            let mut sums = vec![0f32; length];
            scalar::triad(&mut sums, &a, &b, 1.5, streams);
            // A target that begins off the vector's alignment, between two guards.
            for offset in if length < LONG / 4 { 0..3 } else { 1..2 } {
                let check = |what: &str, expected: &[f32], kernel: &dyn Fn(&mut [f32])| {
                    let mut target = vec![7.0f32; length + 8];
                    kernel(&mut target[offset..offset + length]);
                    let (before, rest) = target.split_at(offset);
                    let (written, after) = rest.split_at(length);
                    assert_eq!(written, expected, "{isa} {what} {length} {offset}");
                    assert!(before.iter().chain(after).all(|&v| v == 7.0), "{isa} {what} {length} {offset}");
                };
                let filled = vec![2.5f32; length];
                check("fill", &filled, &|t| kernels::fill(isa, t, 2.5, streams));
                check("fill, streaming", &filled, &|t| kernels::fill_streaming(isa, t, 2.5, streams));
                check("copy", &a, &|t| kernels::copy(isa, t, &a, streams).unwrap());
                check("copy, streaming", &a, &|t| kernels::copy_streaming(isa, t, &a, streams).unwrap());
                check("triad", &sums, &|t| kernels::triad(isa, t, &a, &b, 1.5, streams).unwrap());
                check("triad, streaming", &sums, &|t| {
                    kernels::triad_streaming(isa, t, &a, &b, 1.5, streams).unwrap();
                });
            }
        }
    }
}
