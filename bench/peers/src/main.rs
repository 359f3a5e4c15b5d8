//! The same Q8_0 products through ggml, candle and roofline, side by side in one run.
//!
//! Every round runs every contender on the same weights, one after the other; ratios are taken within a
//! round, so that a machine that slows down slows all of them. Prints a Markdown table.

use std::ffi::c_void;
use std::hint::black_box;
use std::time::{Duration, Instant};

use candle_core::quantized::{GgmlType, k_quants};
use half::f16;
use llama_cpp_sys_2 as ggml;
use roofline::isa::Isa;
use roofline::kernels::{self, BlockQ8_0, Matrix, Streams, Team};
use roofline::peaks::{Machine, Options};

/// Rounds, each with every contender.
const ROUNDS: usize = 25;
/// Seconds that one contender runs in a round.
const BURST: f64 = 0.02;

fn main() {
    let threads: usize = match std::env::args().nth(1).map(|text| text.parse()) {
        None => std::thread::available_parallelism().map_or(1, usize::from),
        Some(Ok(threads)) if threads > 0 => threads,
        Some(_) => {
            eprintln!("usage: roofline-peers [THREADS]");
            std::process::exit(2);
        }
    };
    // SAFETY: no other thread runs yet. candle reads this when it makes its threads.
    unsafe { std::env::set_var("CANDLE_NUM_THREADS", threads.to_string()) };
    let isa = Isa::detect();
    // Nothing is saved: these may be the roofs of a busy machine.
    let options = Options { threads: Some(threads), no_cache: true, quick: true, ..Options::default() };
    let machine = Machine::this(&options, |_| ()).unwrap_or_else(|error| panic!("{error}"));
    let read = machine.all.read.setting;
    let read = Streams { count: read.streams, prefetch: read.prefetch };
    let team = Team::new(isa, threads).expect("threads start");

    println!("{}, {}, {threads} thread(s), {ROUNDS} rounds, read roof with {} streams\n", machine.cpu, isa, read.count);
    println!("| product | contender | GB/s median | GB/s best | roofline / contender, median | 10 % .. 90 % |");
    println!("|---|---|---|---|---|---|");
    for (name, rows, columns) in [
        ("memory", 32768, 8192),
        ("8B gate+up", 28672, 4096),
        ("8B down_proj", 4096, 14336),
        ("1B lm_head", 128256, 2048),
    ] {
        let weights = Weights::new(rows, columns);
        let x = activations(columns);
        let mut ours = vec![0f32; rows];
        let mut theirs = Ggml::new(&weights, &x, threads);
        let mut candle = vec![0f32; rows];
        let mut contenders: Vec<Contender> = vec![
            ("roofline", Box::new(|| {
                let x = kernels::quantized::<BlockQ8_0>(isa, &x).expect("whole blocks");
                kernels::matvec(&team, weights.matrix(), &x, &mut ours).expect("shapes fit");
            })),
            ("read roof", Box::new(|| {
                team.run(|index| {
                    let source = weights.floats();
                    let share = source.len() / threads;
                    black_box(kernels::read(isa, &source[index * share..][..share], read));
                });
            })),
            ("ggml mul_mat", Box::new(|| theirs.run())),
            ("candle matmul", Box::new(|| {
                k_quants::matmul((1, columns, rows), &x, weights.candle(), &mut candle).expect("shapes fit");
            })),
        ];
        report(name, weights.bytes(), &mut contenders);
        drop(contenders);
        agree(name, "ggml", &ours, theirs.out());
        agree(name, "candle", &ours, &candle);
    }
    if threads == 1 {
        in_cache(isa, &team, read);
    }
}

/// Half of a 512 KiB cache, activations quantized before: the inner loops alone.
fn in_cache(isa: Isa, team: &Team, read: Streams) {
    let (rows, columns) = (112, 2048);
    let weights = Weights::new(rows, columns);
    let x = kernels::quantized::<BlockQ8_0>(isa, &activations(columns)).expect("whole blocks");
    let (mut ours, mut theirs, mut candle) = (vec![0f32; rows], vec![0f32; rows], vec![0f32; rows]);
    let blocks = columns / 32;
    // SAFETY: ggml's table of types has an entry for Q8_0 that lives forever.
    let vec_dot = unsafe { (*ggml::ggml_get_type_traits_cpu(ggml::GGML_TYPE_Q8_0)).vec_dot }.expect("Q8_0 has a dot");
    let mut contenders: Vec<Contender> = vec![
        ("roofline", Box::new(|| {
            kernels::matvec(team, weights.matrix(), &x, &mut ours).expect("shapes fit");
        })),
        ("read roof", Box::new(|| {
            black_box(kernels::read(isa, weights.floats(), read));
        })),
        ("ggml vec_dot", Box::new(|| {
            for (row, out) in weights.blocks.chunks(blocks).zip(&mut theirs) {
                // SAFETY: `row` and `x` are `columns` weights each, `out` one float.
                unsafe { vec_dot(columns as i32, out, 0, row.as_ptr().cast(), 0, x.as_ptr().cast(), 0, 1) };
            }
        })),
        ("candle vec_dot", Box::new(|| {
            let x = as_candle(&x);
            for (row, out) in weights.candle().chunks(blocks).zip(&mut candle) {
                *out = k_quants::BlockQ8_0::vec_dot(columns, row, x);
            }
        })),
    ];
    report("L2", weights.bytes(), &mut contenders);
    drop(contenders);
    agree("L2", "ggml", &ours, &theirs);
    agree("L2", "candle", &ours, &candle);
}

type Contender<'a> = (&'static str, Box<dyn FnMut() + 'a>);

fn report(name: &str, bytes: usize, contenders: &mut [Contender]) {
    let mut speeds = vec![Vec::new(); contenders.len()];
    for _ in 0..ROUNDS {
        for ((_, run), speeds) in contenders.iter_mut().zip(&mut speeds) {
            // The others' threads spin for a while after their work; let them fall asleep, then warm up.
            std::thread::sleep(Duration::from_millis(3));
            let start = Instant::now();
            run();
            let repeats = (BURST / start.elapsed().as_secs_f64()).clamp(2.0, 1e5) as usize;
            let start = Instant::now();
            for _ in 0..repeats {
                run();
            }
            speeds.push((repeats * bytes) as f64 / start.elapsed().as_secs_f64() / 1e9);
        }
    }
    let ours = speeds[0].clone();
    for ((contender, _), speeds) in contenders.iter().zip(&speeds) {
        let ratios: Vec<f64> = ours.iter().zip(speeds).map(|(ours, theirs)| ours / theirs).collect();
        println!(
            "| {name} | {contender} | {:.1} | {:.1} | {:.2} | {:.2} .. {:.2} |",
            quantile(speeds, 0.5),
            quantile(speeds, 1.0),
            quantile(&ratios, 0.5),
            quantile(&ratios, 0.1),
            quantile(&ratios, 0.9)
        );
    }
}

fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() - 1) as f64 * part).round() as usize]
}

/// All contenders quantize the activations, each with its own rounding.
fn agree(name: &str, contender: &str, ours: &[f32], theirs: &[f32]) {
    let largest = ours.iter().fold(0f32, |largest, value| largest.max(value.abs()));
    let error = ours.iter().zip(theirs).fold(0f32, |error, (a, b)| error.max((a - b).abs()));
    assert!(error <= 0.02 * largest, "{name}: {contender} is off by {error} of {largest}");
}

fn activations(columns: usize) -> Vec<f32> {
    (0..columns).map(|at| (at as f32 * 0.37).sin()).collect()
}

/// Q8_0 weights without a pattern, in huge pages where there are any.
struct Weights {
    blocks: &'static mut [BlockQ8_0],
    rows: usize,
    columns: usize,
}

impl Weights {
    fn new(rows: usize, columns: usize) -> Weights {
        let count = rows * columns / 32;
        let bytes = count * BlockQ8_0::BYTES;
        let layout = std::alloc::Layout::from_size_align(bytes, 2 << 20).expect("a small alignment");
        // SAFETY: the size is not zero. The memory lives until the program ends.
        let start = unsafe { std::alloc::alloc(layout) };
        assert!(!start.is_null(), "no memory for {bytes} bytes");
        // SAFETY: the range was allocated above; the advice changes no content.
        unsafe { libc::madvise(start.cast(), bytes, libc::MADV_HUGEPAGE) };
        let start = start.cast::<BlockQ8_0>();
        let mut state = 1u64;
        for at in 0..count {
            let quants = std::array::from_fn(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                ((state >> 33) % 255) as i8
            });
            let scale = f16::from_f32(0.001 + (at % 7) as f32 * 0.0001);
            // SAFETY: `at` is below the number of blocks allocated.
            unsafe { start.add(at).write(BlockQ8_0::new(scale, quants)) };
        }
        // SAFETY: all blocks were written above and nothing else refers to them.
        let blocks = unsafe { std::slice::from_raw_parts_mut(start, count) };
        Weights { blocks, rows, columns }
    }

    fn matrix(&self) -> Matrix<'_, BlockQ8_0> {
        Matrix::new(self.blocks, self.rows, self.columns).expect("the shape it was made with")
    }

    fn bytes(&self) -> usize {
        size_of_val(self.blocks)
    }

    fn floats(&self) -> &[f32] {
        // SAFETY: aligned to pages, and any bytes are floats.
        unsafe { std::slice::from_raw_parts(self.blocks.as_ptr().cast(), self.bytes() / 4) }
    }

    fn candle(&self) -> &[k_quants::BlockQ8_0] {
        as_candle(self.blocks)
    }
}

impl Drop for Weights {
    fn drop(&mut self) {
        let layout = std::alloc::Layout::from_size_align(self.bytes(), 2 << 20).expect("as in `new`");
        // SAFETY: allocated in `new` with this layout; nothing borrows it any more.
        unsafe { std::alloc::dealloc(self.blocks.as_mut_ptr().cast(), layout) };
    }
}

fn as_candle(blocks: &[BlockQ8_0]) -> &[k_quants::BlockQ8_0] {
    assert!(blocks.as_ptr().addr().is_multiple_of(align_of::<k_quants::BlockQ8_0>()));
    // SAFETY: both are ggml's block, a half and 32 bytes; the alignment was checked.
    unsafe { std::slice::from_raw_parts(blocks.as_ptr().cast(), blocks.len()) }
}

/// A graph of one product, planned once, with threads that stay.
struct Ggml {
    context: *mut ggml::ggml_context,
    graph: *mut ggml::ggml_cgraph,
    plan: ggml::ggml_cplan,
    pool: *mut ggml::ggml_threadpool,
    out: Vec<f32>,
    _work: Vec<u8>,
    _x: Vec<f32>,
}

impl Ggml {
    fn new(weights: &Weights, x: &[f32], threads: usize) -> Ggml {
        let (rows, columns) = (weights.rows as i64, weights.columns as i64);
        let (mut x, mut out) = (x.to_vec(), vec![0f32; weights.rows]);
        let params = ggml::ggml_init_params { mem_size: 16 << 20, mem_buffer: std::ptr::null_mut(), no_alloc: true };
        // SAFETY: ggml's own sequence: tensors in a context that allocates no data, data pointers to memory
        // that outlives the graph, a plan with a work buffer of the size it asks for.
        unsafe {
            ggml::ggml_cpu_init();
            let context = ggml::ggml_init(params);
            let w = ggml::ggml_new_tensor_2d(context, ggml::GGML_TYPE_Q8_0, columns, rows);
            (*w).data = weights.blocks.as_ptr().cast_mut().cast::<c_void>();
            let input = ggml::ggml_new_tensor_1d(context, ggml::GGML_TYPE_F32, columns);
            (*input).data = x.as_mut_ptr().cast();
            let product = ggml::ggml_mul_mat(context, w, input);
            (*product).data = out.as_mut_ptr().cast();
            let graph = ggml::ggml_new_graph(context);
            ggml::ggml_build_forward_expand(graph, product);
            let mut pool_params = ggml::ggml_threadpool_params_default(threads as i32);
            let pool = ggml::ggml_threadpool_new(&mut pool_params);
            let mut plan = ggml::ggml_graph_plan(graph, threads as i32, pool);
            let mut work = vec![0u8; plan.work_size];
            plan.work_data = work.as_mut_ptr();
            Ggml { context, graph, plan, pool, out, _work: work, _x: x }
        }
    }

    fn run(&mut self) {
        // SAFETY: graph and plan belong together and their memory is alive.
        let status = unsafe { ggml::ggml_graph_compute(self.graph, &mut self.plan) };
        assert_eq!(status, 0, "ggml failed");
    }

    fn out(&self) -> &[f32] {
        &self.out
    }
}

impl Drop for Ggml {
    fn drop(&mut self) {
        // SAFETY: both were made in `new` and are used no more.
        unsafe {
            ggml::ggml_threadpool_free(self.pool);
            ggml::ggml_free(self.context);
        }
    }
}
