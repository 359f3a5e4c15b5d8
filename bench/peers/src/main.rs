//! The same products through ggml, candle and roofline, side by side in one run, for every format that ggml and roofline have.
//!
//! Every round runs every contender on the same weights, one after the other; ratios are taken within a
//! round, so that a machine that slows down slows all of them. Prints Markdown tables.

mod contender;
mod weights;

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

use candle_core::quantized::{GgmlType, k_quants};
use half::{bf16, f16};
use llama_cpp_sys_2 as ggml;
use roofline::isa::Isa;
use roofline::kernels::*;
use roofline::peaks::{Machine, Options};

use contender::{Contender, Ggml, Ratio, agree, compare, dots};
use weights::{Stored, Weights};

/// Bytes of a matrix that is to come from memory, at least.
const MEMORY: usize = 256 << 20;
/// Columns of the matrices.
const COLUMNS: usize = 8192;
/// Columns of activations in prompts.
const PROMPTS: [usize; 3] = [8, 64, 512];

/// What all parts need.
struct Bench {
    isa: Isa,
    team: Team,
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
    // SAFETY: no other thread runs yet. candle reads this when it makes its threads.
    unsafe { std::env::set_var("CANDLE_NUM_THREADS", threads.to_string()) };
    let isa =
        std::env::var("ROOFLINE_ISA").map_or(Isa::detect(), |name| Isa::named(&name).expect("it is here"));
    // Nothing is saved: these may be the roofs of a busy machine.
    let options = Options { threads: Some(threads), no_cache: true, quick: true, ..Options::default() };
    let machine = Machine::this(&options, |_| ()).unwrap_or_else(|error| panic!("{error}"));
    let read = machine.all.read.setting;
    let read = Streams { count: read.streams, prefetch: read.prefetch };
    let team = Team::new(isa, threads).expect("threads start");
    println!("{}, {isa}, {threads} thread(s), read roof with {} streams\n", machine.cpu, read.count);
    let bench = Bench { isa, team, threads, read, machine };
    match part.as_str() {
        "memory" => bench.memory(),
        "cache" => bench.cache(),
        "prompts" => bench.prompts(),
        "busy" => bench.busy(),
        _ => usage(),
    }
}

/// Calls a generic function of the bench for each of these formats.
macro_rules! each {
    ($bench:ident.$function:ident, $($type:ty)*) => {
        $($bench.$function::<$type>();)*
    };
}

macro_rules! every {
    ($bench:ident.$function:ident) => {
        each!($bench.$function, BlockQ8_0 BlockQ4_0 BlockQ4_1 BlockQ5_0 BlockQ5_1 BlockQ2K BlockQ3K BlockQ4K BlockQ5K BlockQ6K
            BlockIq4Nl BlockIq4Xs BlockMxfp4 f16 bf16 f32)
    };
}

impl Bench {
    /// One column, weights from memory.
    fn memory(&self) {
        println!(
            "| format | matrix | roofline, GB/s | read roof, GB/s | share of the roof | 10 % .. 90 % | ggml mul_mat, GB/s | roofline / ggml | 10 % .. 90 % |"
        );
        println!("|---|---|---|---|---|---|---|---|---|");
        every!(self.from_memory);
        self.candle();
    }

    /// So many rows that no cache keeps them from one run to the next.
    fn rows<T: Weight>(&self) -> usize {
        // Levels were measured with half of what each thread has of them.
        let last =
            self.machine.all.levels.iter().map(|level| 2 * self.threads * level.bytes).max().unwrap_or(0);
        let bytes = MEMORY.max(last / 4 * 5);
        (bytes * T::WEIGHTS / size_of::<T>() / COLUMNS).next_multiple_of(1024)
    }

    fn read_alone(&self, weights: &[f32]) {
        self.team.run(|index| {
            let share = weights.len() / self.threads;
            black_box(read(self.isa, &weights[index * share..][..share], self.read));
        });
    }

    fn from_memory<T: Stored>(&self) {
        let rows = self.rows::<T>();
        let weights = Weights::<T>::new(rows, COLUMNS);
        let x = activations(COLUMNS);
        let mut ours = vec![0f32; rows];
        let mut theirs = Ggml::new(&weights, &x, 1, self.threads);
        let ratios = {
            let mut contenders: Vec<Contender> = vec![
                Box::new(|| {
                    let x = quantized::<T::X>(self.isa, &x).expect("whole blocks");
                    matvec(&self.team, weights.matrix(), &x, &mut ours).expect("shapes fit");
                }),
                Box::new(|| self.read_alone(weights.floats())),
                Box::new(|| theirs.run()),
            ];
            compare(11, weights.bytes() as f64, &mut contenders)
        };
        agree(T::NAME, "ggml", &ours, theirs.out());
        let [roofline, roof, ggml] = ratios.as_slice() else { unreachable!("three contenders") };
        println!(
            "| {} | {rows} x {COLUMNS} | {:.1} | {:.1} | {} | {:.1} | {} |",
            T::NAME,
            roofline.speed,
            roof.speed,
            shown(roof),
            ggml.speed,
            shown(ggml)
        );
    }

    /// candle has another way to multiply Q8_0.
    fn candle(&self) {
        let rows = self.rows::<BlockQ8_0>();
        let weights = Weights::<BlockQ8_0>::new(rows, COLUMNS);
        let x = activations(COLUMNS);
        let (mut ours, mut theirs) = (vec![0f32; rows], vec![0f32; rows]);
        let ratios = {
            let mut contenders: Vec<Contender> = vec![
                Box::new(|| {
                    let x = quantized::<BlockQ8_0>(self.isa, &x).expect("whole blocks");
                    matvec(&self.team, weights.matrix(), &x, &mut ours).expect("shapes fit");
                }),
                Box::new(|| {
                    k_quants::matmul((1, COLUMNS, rows), &x, as_candle(weights.data()), &mut theirs)
                        .expect("shapes fit");
                }),
            ];
            compare(5, weights.bytes() as f64, &mut contenders)
        };
        agree("q8_0", "candle", &ours, &theirs);
        println!(
            "\ncandle matmul of the same q8_0: {:.1} GB/s, roofline / candle {} (10 % .. 90 %)",
            ratios[1].speed,
            shown(&ratios[1]).replace(" | ", ", ")
        );
    }

    /// The inner loops alone, one thread: weights in half of the second cache, activations quantized before.
    fn cache(&self) {
        println!(
            "| format | matrix | roofline, GB/s | cycles a block | ggml vec_dot, GB/s | cycles a block | roofline / ggml | 10 % .. 90 % |"
        );
        println!("|---|---|---|---|---|---|---|---|");
        every!(self.in_cache);
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

    fn in_cache<T: Stored>(&self) {
        let columns = 2048;
        let rows = self.half_of_l2() * T::WEIGHTS / size_of::<T>() / columns;
        let weights = Weights::<T>::new(rows, columns);
        let (team, values) = (Team::single(self.isa), activations(columns));
        let x = quantized::<T::X>(self.isa, &values).expect("whole blocks");
        let (mut ours, mut theirs) = (vec![0f32; rows], vec![0f32; rows]);
        let mut ggml = dots(&weights, &values, &mut theirs);
        let ratios = {
            let mut contenders: Vec<Contender> = vec![
                Box::new(|| matvec(&team, weights.matrix(), &x, &mut ours).expect("shapes fit")),
                Box::new(|| ggml()),
            ];
            compare(25, weights.bytes() as f64, &mut contenders)
        };
        drop(ggml);
        agree(T::NAME, "vec_dot", &ours, &theirs);
        let clock = clock();
        // Plain numbers are counted in 32.
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
            shown(ggml)
        );
    }

    fn candle_in_cache(&self) {
        let columns = 2048;
        let rows = self.half_of_l2() * 32 / 34 / columns;
        let weights = Weights::<BlockQ8_0>::new(rows, columns);
        let (team, blocks) = (Team::single(self.isa), columns / 32);
        let x = quantized::<BlockQ8_0>(self.isa, &activations(columns)).expect("whole blocks");
        let (mut ours, mut theirs) = (vec![0f32; rows], vec![0f32; rows]);
        let ratios = {
            let mut contenders: Vec<Contender> = vec![
                Box::new(|| matvec(&team, weights.matrix(), &x, &mut ours).expect("shapes fit")),
                Box::new(|| {
                    for (row, out) in as_candle(weights.data()).chunks(blocks).zip(&mut theirs) {
                        *out = k_quants::BlockQ8_0::vec_dot(columns, row, as_candle(&x));
                    }
                }),
            ];
            compare(25, weights.bytes() as f64, &mut contenders)
        };
        agree("q8_0", "candle's vec_dot", &ours, &theirs);
        println!(
            "\ncandle vec_dot of the same q8_0: {:.1} GB/s, roofline / candle {} (10 % .. 90 %)",
            ratios[1].speed,
            shown(&ratios[1]).replace(" | ", ", ")
        );
    }

    /// Several columns at once.
    fn prompts(&self) {
        println!(
            "| format | columns | roofline, Gop/s | roof, Gop/s | share of the roof | 10 % .. 90 % | ggml mul_mat, Gop/s | roofline / ggml | 10 % .. 90 % |"
        );
        println!("|---|---|---|---|---|---|---|---|---|");
        each!(self.prompt, BlockQ8_0 BlockQ4_0 BlockQ4K BlockQ5K BlockQ6K BlockIq4Xs BlockMxfp4 f16);
    }

    fn prompt<T: Stored>(&self) {
        let (rows, columns) = (4096, 4096);
        let weights = Weights::<T>::new(rows, columns);
        // The fastest loop of multiply-adds for these numbers, found once, runs beside the products.
        let kind = if T::WEIGHTS == 1 { Multiplied::F32 } else { Multiplied::Int8 };
        let roof = multiply_adds(self.isa)
            .filter(|one| one.kind() == kind)
            .max_by(|a, b| speed(a).total_cmp(&speed(b)));
        let roof = roof.expect("every instruction set has one");
        let operands = roof.operands();
        for count in PROMPTS {
            let x = activations(columns * count);
            let mut ours = vec![0f32; rows * count];
            let mut theirs = Ggml::new(&weights, &x, count, self.threads);
            let operations = 2.0 * (rows * columns * count) as f64;
            let one = roof.run(1, &operands).1 as f64;
            let rounds = (operations / 16.0 / one / self.threads as f64) as usize;
            // The loop does a part of the operations; its speed counts for as many as the products have.
            let part = operations / (rounds as f64 * one * self.threads as f64);
            let ratios = {
                let mut contenders: Vec<Contender> = vec![
                    Box::new(|| {
                        matmul(&self.team, weights.matrix(), &x, count, &mut ours).expect("shapes fit")
                    }),
                    Box::new(|| {
                        self.team.run(|_| {
                            black_box(roof.run(black_box(rounds), &operands));
                        });
                    }),
                    Box::new(|| theirs.run()),
                ];
                compare(7, operations, &mut contenders)
            };
            let turned: Vec<f32> =
                (0..rows * count).map(|at| theirs.out()[at % count * rows + at / count]).collect();
            agree(T::NAME, "ggml with many columns", &ours, &turned);
            let [roofline, roof, ggml] = ratios.as_slice() else { unreachable!("three contenders") };
            let roof = Ratio { speed: roof.speed / part, ratios: roof.ratios.map(|ratio| ratio * part) };
            println!(
                "| {} | {count} | {:.0} | {:.0} | {} | {:.0} | {} |",
                T::NAME,
                roofline.speed,
                roof.speed,
                shown(&roof),
                ggml.speed,
                shown(ggml)
            );
        }
    }

    /// One column from memory while twice as many threads as processors do nothing but turn.
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
            each!(self.from_memory, BlockQ8_0 BlockQ4K f16);
            stop.store(true, Ordering::Relaxed);
        });
    }
}

/// Operations a second of a loop of multiply-adds, roughly.
fn speed(one: &MultiplyAdd) -> f64 {
    let operands = one.operands();
    let best = |best: f64, _| {
        let start = std::time::Instant::now();
        let operations = black_box(one.run(black_box(20_000), &operands)).1;
        best.max(operations as f64 / start.elapsed().as_secs_f64())
    };
    (0..20).fold(0.0, best)
}

/// The clock, in GHz: additions that wait for each other take a cycle each.
fn clock() -> f64 {
    let best = |best: f64, _| {
        let start = std::time::Instant::now();
        let additions = additions_in_line(10_000).unwrap_or(0);
        best.max(additions as f64 / start.elapsed().as_secs_f64() / 1e9)
    };
    (0..20).fold(0.0, best)
}

/// The median of a ratio, and between which most rounds lie.
fn shown(ratio: &Ratio) -> String {
    let [low, median, high] = ratio.ratios;
    format!("{median:.2} | {low:.2} .. {high:.2}")
}

fn activations(count: usize) -> Vec<f32> {
    (0..count).map(|at| (at as f32 * 0.37).sin()).collect()
}

fn as_candle(blocks: &[BlockQ8_0]) -> &[k_quants::BlockQ8_0] {
    assert!(blocks.as_ptr().addr().is_multiple_of(align_of::<k_quants::BlockQ8_0>()));
    // SAFETY: both are ggml's block, a half and 32 bytes; the alignment was checked.
    unsafe { std::slice::from_raw_parts(blocks.as_ptr().cast(), blocks.len()) }
}

impl_stored! {
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
