//! The kernels that define the roofs, on every instruction set of this CPU: memory kernels touch exactly the right elements, and
//! multiply-add loops match the oracle. Small enough for an emulator.
//!
//! `ROOFLINE_EXPECT_ISA` lists the instruction sets that must be detected.

use roofline_kernels::isa::Isa;
use roofline_kernels::{self as kernels, FmaType, Streams, multiply_adds, scalar};

/// Lengths around vector and unrolling boundaries.
const LENGTHS: [usize; 18] = [0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129, 1000];

/// Long enough that the distance between streams is skewed.
const LONG: usize = 1 << 20;

/// Instruction sets with their own memory kernels.
fn memory_isas() -> impl Iterator<Item = Isa> {
    let own = ["scalar", "avx2", "avx512", "neon"];
    Isa::available().iter().copied().filter(move |isa| own.contains(&isa.name()))
}

fn values(count: usize) -> Vec<f32> {
    (0..count).map(|at| (at * 37 % 101) as f32 - 50.0).collect()
}

#[test]
fn the_expected_instruction_sets_are_detected() {
    let names: Vec<_> = Isa::available().iter().map(|isa| isa.name()).collect();
    println!("instruction sets: {}", names.join(", "));
    for isa in std::env::var("ROOFLINE_EXPECT_ISA").iter().flat_map(|expected| expected.split(',')) {
        assert!(names.contains(&isa), "expected {isa}, found {names:?}");
    }
    assert!(memory_isas().count() > 0);
}

#[test]
fn multiply_add_loops_match_the_oracle() {
    for one in multiply_adds(Isa::detect()) {
        let operands = one.operands();
        for iterations in [0, 1, 2, 7] {
            let (sums, operations) = one.run(iterations, &operands);
            let (found, expected) = (one.values(&sums), one.expected(iterations, &operands));
            assert_eq!(found, expected, "{one:?}, {iterations} iterations");
            let products = operations / 2;
            assert_eq!(products == 0, iterations == 0, "{one:?}");
            assert!(products.is_multiple_of((found.len() * iterations.max(1)) as u64), "{one:?}: {products}");
        }
        println!("{one:?}: matches the oracle");
    }
    for fma_type in [FmaType::F64, FmaType::F32, FmaType::Int8, FmaType::Int4] {
        assert!(multiply_adds(Isa::SCALAR).any(|one| one.fma_type() == fma_type), "{fma_type}");
    }
}

#[test]
fn read_sums_every_element_with_any_number_of_streams() {
    for isa in memory_isas() {
        for length in LENGTHS {
            let source = values(length);
            let expected: f32 = source.iter().sum();
            for count in 0..=Streams::MAX + 1 {
                for prefetch in [0, 256] {
                    // Small integers: exact in any order.
                    let found = kernels::read(isa, &source, Streams { count, prefetch });
                    assert_eq!(found, expected, "{isa} {length} {count}");
                }
            }
        }
        // Streams that leave a tail.
        let (source, streams) = (vec![0.5; LONG], Streams { count: 3, prefetch: 0 });
        assert_eq!(kernels::read(isa, &source, streams), LONG as f32 / 2.0, "{isa}");
    }
}

#[test]
fn fill_copy_and_triad_write_exactly_the_target() {
    for isa in memory_isas() {
        for length in LENGTHS.into_iter().chain([LONG / 4]) {
            let (a, mut b) = (values(length), values(length));
            b.reverse();
            let streams = Streams { count: 1 + length % 4, prefetch: 128 * (length % 2) };
            let mut sums = vec![0f32; length];
            scalar::triad(&mut sums, &a, &b, 1.5, streams);
            // An unaligned target between guard elements.
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
