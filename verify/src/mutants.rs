//! Proofs that can fail: for each kind of harness a mutant in the place of what it is about, which Kani must refute.
//! A harness here succeeds exactly when the one it runs does not.

use std::ops::Range;

use roofline::kernels::{BlockQ8_0, ThreadPool};
use roofline::model::Fault;
use roofline::model::readers::Cursor;

use crate::roofline_model::{Bottleneck, Inputs};

/// Runs a harness with a mutant in the place of a function.
macro_rules! refuted {
    ($($name:ident: $original:path => $mutant:path, $harness:path, unwind $bound:literal;)*) => {
        $(
            #[kani::proof]
            #[kani::should_panic]
            #[kani::stub($original, $mutant)]
            #[kani::stub(std::fmt::format, crate::no_text)]
            #[kani::unwind($bound)]
            fn $name() {
                $harness();
            }
        )*
    };
}

refuted! {
    an_obligation: crate::roofline_model::throughput_ceiling => larger,
        crate::roofline_model::proofs::throughput_within_bandwidth, unwind 4;
    a_classifier: crate::roofline_model::bottleneck => always_compute,
        crate::roofline_model::proofs::bottleneck_is_the_first_case_that_holds, unwind 4;
    a_domain: Inputs::accepted => anything_goes,
        crate::roofline_model::proofs::inputs_are_accepted_inside_their_domains_only, unwind 4;
    a_translation: crate::roofline_model::model_bytes => with_a_rounding_more,
        crate::graphs::proofs::roofline_model_model_bytes_is_its_graph, unwind 4;
    a_kernel: roofline::kernels::scalar::dequantize_q8_0 => one_too_many,
        crate::blocks::proofs::dequantize_writes_whole_blocks_only, unwind 42;
    a_product: roofline::kernels::scalar::block_sum => in_sixteen_bits,
        crate::blocks::proofs::a_block_product_never_overflows, unwind 34;
    a_reader: Cursor::seek => anywhere,
        crate::headers::proofs::a_cursor_stays_inside_the_file, unwind 4;
    a_size: roofline::model::readers::in_blocks => wrapped,
        crate::blocks::proofs::whole_blocks_take_whole_bytes, unwind 4;
    a_split: ThreadPool::share => without_the_rest,
        crate::rows::proofs::every_row_is_in_exactly_one_share, unwind 6;
    a_conversion: half::f16::to_f32 => flushed,
        crate::halves::proofs::a_half_becomes_the_f32_of_its_value, unwind 4;
}

/// `max` where the contract says `min`.
fn larger(bw_ceiling: f64, compute_ceiling: f64) -> f64 {
    if bw_ceiling > compute_ceiling { bw_ceiling } else { compute_ceiling }
}

fn always_compute(_: f64, _: f64) -> Bottleneck {
    Bottleneck::Compute
}

fn anything_goes(_: &Inputs) -> bool {
    true
}

/// The same in another order, which rounds differently.
fn with_a_rounding_more(total_params: f64, bits_per_weight: f64) -> f64 {
    total_params / 3.0 * (bits_per_weight * 3.0) / 8.0
}

/// Writes one value behind the last whole block.
fn one_too_many(values: &mut [f32], blocks: &[BlockQ8_0]) {
    for (index, value) in values.iter_mut().enumerate().take(33) {
        *value = f32::from(blocks[0].qs[index % 32]);
    }
}

fn in_sixteen_bits(a: &BlockQ8_0, b: &BlockQ8_0) -> i32 {
    let sum = |sum: i16, (a, b): (&i8, &i8)| sum + i16::from(*a) * i16::from(*b);
    i32::from(a.qs.iter().zip(&b.qs).fold(0, sum))
}

/// Moves nowhere and says that it did.
fn anywhere<'a>(_: &mut Cursor<'a>, _: u64, _: &str) -> Result<(), Fault>
where
    'a: 'a,
{
    Ok(())
}

/// Bytes that are too many start again at 0.
fn wrapped(elements: u64, (block, bytes): (u64, u64)) -> Option<u64> {
    (elements % block == 0).then(|| (elements / block).wrapping_mul(bytes))
}

/// Equal shares, and no thread takes what is left.
fn without_the_rest(rows: usize, threads: usize, index: usize) -> Range<usize> {
    let length = rows / threads;
    index * length..(index + 1) * length
}

/// Halves below the normal numbers become zero.
fn flushed(half: half::f16) -> f32 {
    let bits = half.to_bits();
    if bits & 0x7c00 == 0 { 0.0 } else { half.to_f32_const() }
}
