//! Shows that proofs can fail: for each kind of harness, Kani must refute a mutant of its subject. A harness here succeeds
//! if and only if the harness that it runs fails.

use std::ops::Range;

use roofline::kernels::{BlockQ8_0, ThreadPool};
use roofline::model::FormatError;
use roofline::model::readers::Cursor;

use crate::roofline_model::{Bottleneck, Inputs};

/// Runs a harness with a function replaced by a mutant.
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
    a_domain: Inputs::accepted => always_accepted,
        crate::roofline_model::proofs::inputs_are_accepted_inside_their_domains_only, unwind 4;
    a_translation: crate::roofline_model::model_bytes => with_extra_rounding,
        crate::translation::proofs::roofline_model_model_bytes_matches_its_graph, unwind 4;
    a_kernel: roofline::kernels::scalar::dequantize_q8_0 => off_by_one,
        crate::quant_blocks::proofs::dequantize_writes_only_whole_blocks, unwind 42;
    a_product: roofline::kernels::scalar::block_sum => in_16_bits,
        crate::quant_blocks::proofs::a_block_product_never_overflows, unwind 34;
    a_reader: Cursor::seek => unchecked_seek,
        crate::file_headers::proofs::a_cursor_stays_inside_the_file, unwind 4;
    a_size: roofline::model::readers::in_blocks => wrapping,
        crate::quant_blocks::proofs::whole_blocks_have_an_exact_size, unwind 4;
    a_split: ThreadPool::share => without_remainder,
        crate::work_split::proofs::every_row_belongs_to_exactly_one_thread, unwind 6;
    a_conversion: half::f16::to_f32 => flushing_subnormals,
        crate::f16::proofs::f16_converts_to_the_same_f32, unwind 4;
}

/// `max` instead of `min`.
fn larger(bw_ceiling: f64, compute_ceiling: f64) -> f64 {
    if bw_ceiling > compute_ceiling { bw_ceiling } else { compute_ceiling }
}

fn always_compute(_: f64, _: f64) -> Bottleneck {
    Bottleneck::Compute
}

fn always_accepted(_: &Inputs) -> bool {
    true
}

/// Equal over the reals, but rounded differently.
fn with_extra_rounding(total_params: f64, bits_per_weight: f64) -> f64 {
    total_params / 3.0 * (bits_per_weight * 3.0) / 8.0
}

/// Writes one value past the last whole block.
fn off_by_one(values: &mut [f32], blocks: &[BlockQ8_0]) {
    for (index, value) in values.iter_mut().enumerate().take(33) {
        *value = f32::from(blocks[0].qs[index % 32]);
    }
}

fn in_16_bits(a: &BlockQ8_0, b: &BlockQ8_0) -> i32 {
    let sum = |sum: i16, (a, b): (&i8, &i8)| sum + i16::from(*a) * i16::from(*b);
    i32::from(a.qs.iter().zip(&b.qs).fold(0, sum))
}

/// Succeeds without moving the cursor.
fn unchecked_seek<'a>(_: &mut Cursor<'a>, _: u64, _: &str) -> Result<(), FormatError>
where
    'a: 'a,
{
    Ok(())
}

/// Wraps on overflow.
fn wrapping(elements: u64, (block, bytes): (u64, u64)) -> Option<u64> {
    (elements % block == 0).then(|| (elements / block).wrapping_mul(bytes))
}

/// Equal shares, without the remaining rows.
fn without_remainder(rows: usize, threads: usize, index: usize) -> Range<usize> {
    let length = rows / threads;
    index * length..(index + 1) * length
}

/// Flushes subnormal numbers to zero.
fn flushing_subnormals(half: half::f16) -> f32 {
    let bits = half.to_bits();
    if bits & 0x7c00 == 0 { 0.0 } else { half.to_f32_const() }
}
