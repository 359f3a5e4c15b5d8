//! Compares matrix products of ggml, candle and roofline in every format that ggml and roofline support.
//!
//! Every round runs every contender on the same weights. Ratios are computed within a round, so that a machine that slows down affects
//! all contenders. Prints Markdown tables.

mod contender;
mod weights;

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

use candle_core::quantized::{GgmlType, k_quants};
use half::{bf16, f16};
use llama_cpp_sys_2 as ggml;
use roofline::isa::Isa;
use roofline::kernels::*;
use roofline::machine::{Machine, Options};

use contender::{Contender, Ggml, Ratio, assert_close, compare, dots};
use weights::{GgmlFormat, Weights};

/// Minimum size of a matrix that is read from memory.
const MIN_MEMORY_BYTES: usize = 256 << 20;
const COLUMNS: usize = 8192;
/// Prompt lengths in tokens.
const PROMPTS: [usize; 3] = [8, 64, 512];

/// State shared by all benchmarks.
struct Bench {
    isa: Isa,
    pool: ThreadPool,
    threads: usize,
    read: Streams,
    machine: Machine,
}

fn main() {
    let usage = || -> ! {
        eprintln!("usage: roofline-peers [memory|cache|prompts|busy] [THREADS]");
        std::process::exit(2);
    };
    let mut arguments = std::env::args().skip(1);
    let part = arguments.next().unwrap_or_else(|| usage());
    let threads: usize = match arguments.next().map(|text| text.parse()) {
        None => std::thread::available_parallelism().map_or(1, usize::from),
        Some(Ok(threads)) if threads > 0 => threads,
        Some(_) => usage(),
    };
    // SAFETY: no other thread is running yet. candle reads the variable when it starts its threads.
    unsafe { std::env::set_var("CANDLE_NUM_THREADS", threads.to_string()) };
    let isa = std::env::var("ROOFLINE_ISA")
        .map_or(Isa::detect(), |name| Isa::from_name(&name).expect("ROOFLINE_ISA is supported"));
    // Do not cache the roofs: the machine may be busy.
    let options = Options { threads: Some(threads), no_cache: true, quick: true, ..Options::default() };
    let machine = Machine::this(&options, |_| ()).unwrap_or_else(|error| panic!("{error}"));
    let read = machine.all.read.setting;
    let read = Streams { count: read.streams, prefetch: read.prefetch };
    let pool = ThreadPool::new(isa, threads).expect("threads can be started");
    println!("{}, {isa}, {threads} thread(s), read roof with {} streams\n", machine.cpu, read.count);
    let bench = Bench { isa, pool, threads, read, machine };
    match part.as_str() {
        "memory" => bench.memory(),
        "cache" => bench.cache(),
        "prompts" => bench.prompts(),
        "busy" => bench.busy(),
        _ => usage(),
    }
}

/// Calls a generic method for each of the given formats.
macro_rules! for_formats {
    ($bench:ident.$function:ident, $($type:ty)*) => {
        $($bench.$function::<$type>();)*
    };
}

/// Calls a generic method for every format.
macro_rules! for_every_format {
    ($bench:ident.$function:ident) => {
        for_formats!($bench.$function, BlockQ8_0 BlockQ4_0 BlockQ4_1 BlockQ5_0 BlockQ5_1 BlockQ2K BlockQ3K BlockQ4K BlockQ5K BlockQ6K
            BlockIq4Nl BlockIq4Xs BlockMxfp4 f16 bf16 f32)
    };
}

impl Bench {
    /// Matrix-vector products with weights from memory.
    fn memory(&self) {
        println!(
            "| format | matrix | roofline, GB/s | read roof, GB/s | share of the roof | 10 % .. 90 % | ggml mul_mat, GB/s | roofline / ggml | 10 % .. 90 % |"
        );
        println!("|---|---|---|---|---|---|---|---|---|");
        for_every_format!(self.from_memory);
        self.candle();
    }

    /// Number of rows of a matrix that exceeds the caches.
    fn rows<T: Weight>(&self) -> usize {
        // A level was measured with half of its capacity per thread.
        let last =
            self.machine.all.levels.iter().map(|level| 2 * self.threads * level.bytes).max().unwrap_or(0);
        let bytes = MIN_MEMORY_BYTES.max(last / 4 * 5);
        (bytes * T::WEIGHTS / size_of::<T>() / COLUMNS).next_multiple_of(1024)
    }

    fn read_bytes(&self, weights: &[f32]) {
        self.pool.run(|index| {
            let share = weights.len() / self.threads;
            black_box(read(self.isa, &weights[index * share..][..share], self.read));
        });
    }

    fn from_memory<T: GgmlFormat>(&self) {
        let rows = self.rows::<T>();
        let weights = Weights::<T>::new(rows, COLUMNS);
        let x = activations(COLUMNS);
        let mut ours = vec![0f32; rows];
        let mut theirs = Ggml::new(&weights, &x, 1, self.threads);
        let ratios = {
            let mut contenders: Vec<Contender> = vec![
                Box::new(|| {
                    let x = quantize::<T::X>(self.isa, &x).expect("columns are a multiple of the block");
                    matvec(&self.pool, weights.matrix(), &x, &mut ours).expect("shapes match");
                }),
                Box::new(|| self.read_bytes(weights.floats())),
                Box::new(|| theirs.run()),
            ];
            compare(11, weights.bytes() as f64, &mut contenders)
        };
        assert_close(T::NAME, "ggml", &ours, theirs.out());
        let [roofline, roof, ggml] = ratios.as_slice() else { unreachable!("three contenders") };
        println!(
            "| {} | {rows} x {COLUMNS} | {:.1} | {:.1} | {} | {:.1} | {} |",
            T::NAME,
            roofline.speed,
            roof.speed,
            format_ratio(roof),
            ggml.speed,
            format_ratio(ggml)
        );
    }

    /// Compares Q8_0 with candle.
    fn candle(&self) {
        let rows = self.rows::<BlockQ8_0>();
        let weights = Weights::<BlockQ8_0>::new(rows, COLUMNS);
        let x = activations(COLUMNS);
        let (mut ours, mut theirs) = (vec![0f32; rows], vec![0f32; rows]);
        let ratios = {
            let mut contenders: Vec<Contender> = vec![
                Box::new(|| {
                    let x = quantize::<BlockQ8_0>(self.isa, &x).expect("columns are a multiple of the block");
                    matvec(&self.pool, weights.matrix(), &x, &mut ours).expect("shapes match");
                }),
                Box::new(|| {
                    k_quants::matmul((1, COLUMNS, rows), &x, as_candle(weights.data()), &mut theirs)
                        .expect("shapes match");
                }),
            ];
            compare(5, weights.bytes() as f64, &mut contenders)
        };
        assert_close("q8_0", "candle", &ours, &theirs);
        println!(
            "\ncandle matmul of the same q8_0: {:.1} GB/s, roofline / candle {} (10 % .. 90 %)",
            ratios[1].speed,
            format_ratio(&ratios[1]).replace(" | ", ", ")
        );
    }

    /// Inner loops on one thread: weights in half of the L2 cache, activations already quantized.
    fn cache(&self) {
        println!(
            "| format | matrix | roofline, GB/s | cycles/block | ggml vec_dot, GB/s | cycles/block | roofline / ggml | 10 % .. 90 % |"
        );
        println!("|---|---|---|---|---|---|---|---|");
        for_every_format!(self.in_cache);
        self.candle_in_cache();
    }

    fn half_of_l2(&self) -> usize {
        self.machine
            .single
            .levels
            .iter()
            .find(|level| level.level == 2)
            .map_or(256 << 10, |level| level.bytes)
    }

    fn in_cache<T: GgmlFormat>(&self) {
        let columns = 2048;
        let rows = self.half_of_l2() * T::WEIGHTS / size_of::<T>() / columns;
        let weights = Weights::<T>::new(rows, columns);
        let (pool, values) = (ThreadPool::single(self.isa), activations(columns));
        let x = quantize::<T::X>(self.isa, &values).expect("columns are a multiple of the block");
        let (mut ours, mut theirs) = (vec![0f32; rows], vec![0f32; rows]);
        let mut ggml = dots(&weights, &values, &mut theirs);
        let ratios = {
            let mut contenders: Vec<Contender> = vec![
                Box::new(|| matvec(&pool, weights.matrix(), &x, &mut ours).expect("shapes match")),
                Box::new(|| ggml()),
            ];
            compare(25, weights.bytes() as f64, &mut contenders)
        };
        drop(ggml);
        assert_close(T::NAME, "vec_dot", &ours, &theirs);
        let clock = clock();
        // Floats are counted in groups of 32.
        let block = if T::WEIGHTS == 1 { 32 } else { 1 };
        let cycles = |speed: f64| clock * (block * size_of::<T>()) as f64 / speed;
        let [roofline, ggml] = ratios.as_slice() else { unreachable!("two contenders") };
        println!(
            "| {} | {rows} x {columns} | {:.1} | {:.1} | {:.1} | {:.1} | {} |",
            T::NAME,
            roofline.speed,
            cycles(roofline.speed),
            ggml.speed,
            cycles(ggml.speed),
            format_ratio(ggml)
        );
    }

    fn candle_in_cache(&self) {
        let columns = 2048;
        let rows = self.half_of_l2() * 32 / 34 / columns;
        let weights = Weights::<BlockQ8_0>::new(rows, columns);
        let (pool, blocks) = (ThreadPool::single(self.isa), columns / 32);
        let x = quantize::<BlockQ8_0>(self.isa, &activations(columns))
            .expect("columns are a multiple of the block");
        let (mut ours, mut theirs) = (vec![0f32; rows], vec![0f32; rows]);
        let ratios = {
            let mut contenders: Vec<Contender> = vec![
                Box::new(|| matvec(&pool, weights.matrix(), &x, &mut ours).expect("shapes match")),
                Box::new(|| {
                    for (row, out) in as_candle(weights.data()).chunks(blocks).zip(&mut theirs) {
                        *out = k_quants::BlockQ8_0::vec_dot(columns, row, as_candle(&x));
                    }
                }),
            ];
            compare(25, weights.bytes() as f64, &mut contenders)
        };
        assert_close("q8_0", "candle's vec_dot", &ours, &theirs);
        println!(
            "\ncandle vec_dot of the same q8_0: {:.1} GB/s, roofline / candle {} (10 % .. 90 %)",
            ratios[1].speed,
            format_ratio(&ratios[1]).replace(" | ", ", ")
        );
    }

    /// Matrix-matrix products.
    fn prompts(&self) {
        println!(
            "| format | columns | roofline, Gop/s | roof, Gop/s | share of the roof | 10 % .. 90 % | ggml mul_mat, Gop/s | roofline / ggml | 10 % .. 90 % |"
        );
        println!("|---|---|---|---|---|---|---|---|---|");
        for_formats!(self.prompt, BlockQ8_0 BlockQ4_0 BlockQ4K BlockQ5K BlockQ6K BlockIq4Xs BlockMxfp4 f16);
    }

    fn prompt<T: GgmlFormat>(&self) {
        let (rows, columns) = (4096, 4096);
        let weights = Weights::<T>::new(rows, columns);
        // The fastest multiply-add loop of the type, found once, is interleaved with the products.
        let fma_type = if T::WEIGHTS == 1 { FmaType::F32 } else { FmaType::Int8 };
        let roof = multiply_adds(self.isa)
            .filter(|one| one.fma_type() == fma_type)
            .max_by(|a, b| speed(a).total_cmp(&speed(b)));
        let roof = roof.expect("every instruction set has f32 and int8 loops");
        let operands = roof.operands();
        for count in PROMPTS {
            let x = activations(columns * count);
            let mut ours = vec![0f32; rows * count];
            let mut theirs = Ggml::new(&weights, &x, count, self.threads);
            let operations = 2.0 * (rows * columns * count) as f64;
            let one = roof.run(1, &operands).1 as f64;
            let iterations = (operations / 16.0 / one / self.threads as f64) as usize;
            // The loop runs a fraction of the operations of the product; its speed is extrapolated.
            let part = operations / (iterations as f64 * one * self.threads as f64);
            let ratios = {
                let mut contenders: Vec<Contender> = vec![
                    Box::new(|| {
                        matmul(&self.pool, weights.matrix(), &x, count, &mut ours).expect("shapes match")
                    }),
                    Box::new(|| {
                        self.pool.run(|_| {
                            black_box(roof.run(black_box(iterations), &operands));
                        });
                    }),
                    Box::new(|| theirs.run()),
                ];
                compare(7, operations, &mut contenders)
            };
            let transposed: Vec<f32> =
                (0..rows * count).map(|at| theirs.out()[at % count * rows + at / count]).collect();
            assert_close(T::NAME, "ggml with many columns", &ours, &transposed);
            let [roofline, roof, ggml] = ratios.as_slice() else { unreachable!("three contenders") };
            let roof = Ratio { speed: roof.speed / part, ratios: roof.ratios.map(|ratio| ratio * part) };
            println!(
                "| {} | {count} | {:.0} | {:.0} | {} | {:.0} | {} |",
                T::NAME,
                roofline.speed,
                roof.speed,
                format_ratio(&roof),
                ggml.speed,
                format_ratio(ggml)
            );
        }
    }

    /// Matrix-vector products from memory while two threads per CPU spin.
    fn busy(&self) {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 * std::thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            println!(
                "| format | matrix | roofline, GB/s | read roof, GB/s | share of the roof | 10 % .. 90 % | ggml mul_mat, GB/s | roofline / ggml | 10 % .. 90 % |"
            );
            println!("|---|---|---|---|---|---|---|---|---|");
            for_formats!(self.from_memory, BlockQ8_0 BlockQ4K f16);
            stop.store(true, Ordering::Relaxed);
        });
    }
}

/// Approximate operations per second of a multiply-add loop.
fn speed(one: &MultiplyAdd) -> f64 {
    let operands = one.operands();
    let best = |best: f64, _| {
        let start = std::time::Instant::now();
        let operations = black_box(one.run(black_box(20_000), &operands)).1;
        best.max(operations as f64 / start.elapsed().as_secs_f64())
    };
    (0..20).fold(0.0, best)
}

/// Clock frequency in GHz; dependent additions take one cycle each.
fn clock() -> f64 {
    let best = |best: f64, _| {
        let start = std::time::Instant::now();
        let additions = dependent_additions(10_000).unwrap_or(0);
        best.max(additions as f64 / start.elapsed().as_secs_f64() / 1e9)
    };
    (0..20).fold(0.0, best)
}

/// Formats the median of a ratio and the interval from 10 % to 90 %.
fn format_ratio(ratio: &Ratio) -> String {
    let [low, median, high] = ratio.ratios;
    format!("{median:.2} | {low:.2} .. {high:.2}")
}

fn activations(count: usize) -> Vec<f32> {
    (0..count).map(|at| (at as f32 * 0.37).sin()).collect()
}

fn as_candle(blocks: &[BlockQ8_0]) -> &[k_quants::BlockQ8_0] {
    assert!(blocks.as_ptr().addr().is_multiple_of(align_of::<k_quants::BlockQ8_0>()));
    // SAFETY: both types have the layout of ggml's block, an f16 and 32 bytes; the alignment was checked.
    unsafe { std::slice::from_raw_parts(blocks.as_ptr().cast(), blocks.len()) }
}

impl_ggml_format! {
    BlockQ8_0, GGML_TYPE_Q8_0, [0];
    BlockQ4_0, GGML_TYPE_Q4_0, [0];
    BlockQ4_1, GGML_TYPE_Q4_1, [0, 2];
    BlockQ5_0, GGML_TYPE_Q5_0, [0];
    BlockQ5_1, GGML_TYPE_Q5_1, [0, 2];
    BlockQ2K, GGML_TYPE_Q2_K, [80, 82];
    BlockQ3K, GGML_TYPE_Q3_K, [108];
    BlockQ4K, GGML_TYPE_Q4_K, [0, 2];
    BlockQ5K, GGML_TYPE_Q5_K, [0, 2];
    BlockQ6K, GGML_TYPE_Q6_K, [208];
    BlockIq4Nl, GGML_TYPE_IQ4_NL, [0];
    BlockIq4Xs, GGML_TYPE_IQ4_XS, [0];
}
