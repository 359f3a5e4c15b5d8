//! Decodes a GGUF file of Q8_0 weights with llama.cpp, and runs the same weights through roofline's kernels, in turns with reading
//! alone, beside the ceiling that `roofline profile` gives for them at that reading speed. Prints a Markdown table.

use std::ffi::CString;
use std::hint::black_box;
use std::time::{Duration, Instant};

use llama_cpp_sys_2 as llama;
use roofline::isa::Isa;
use roofline::kernels::{self, Streams, Team};
use roofline::model::Model;
use roofline::peaks::{Machine, Options};
use roofline::predict::{Numbers, Target};
use roofline::profile::measure::measure;
use roofline::profile::{Workload, profile};

/// Rounds, each with all.
const ROUNDS: usize = 9;
/// Tokens that llama.cpp makes in a round, from an empty cache.
const TOKENS: usize = 12;
/// Numbers that reading alone goes through: far more than a cache holds.
const NUMBERS: usize = 64 << 20;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), threads) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: decode FILE.gguf [THREADS]");
        std::process::exit(2);
    };
    let threads: usize = threads.map_or_else(
        || std::thread::available_parallelism().map_or(1, usize::from),
        |text| text.parse().expect("a number of threads"),
    );
    let model = Model::open(&file).unwrap_or_else(|error| panic!("{error}"));
    let options = Options { threads: Some(threads), no_cache: true, quick: true, ..Options::default() };
    let machine = Machine::this(&options, |_| ()).unwrap_or_else(|error| panic!("{error}"));
    let mut target = Target::measured(&machine, None).expect("it is measured");
    let workload =
        Workload { batch: 1.0, context: (TOKENS / 2) as f64, prompt: 1.0, cache_size: 2.0, cache: Numbers::Half };
    let mut found = profile(&model, &target, &workload, None).expect("an ordinary model");

    let setting = machine.all.read.setting;
    let streams = Streams { count: setting.streams, prefetch: setting.prefetch };
    let isa = Isa::detect();
    let team = Team::new(isa, threads).expect("threads start");
    let numbers = vec![1f32; NUMBERS];
    let share = numbers.len() / threads;
    let mut peer = Llama::new(&file, threads);
    let (mut theirs, mut ours, mut reads) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let seconds = timed(|| {
            team.run(|index| {
                black_box(kernels::read(isa, &numbers[index * share..][..share], streams));
            });
        });
        reads.push(size_of_val(numbers.as_slice()) as f64 / seconds / 1e9);
        peer.start();
        theirs.push(TOKENS as f64 / timed(|| (1..=TOKENS).for_each(|at| peer.decode(at))));
        // Its threads spin for a while after their work.
        std::thread::sleep(Duration::from_millis(5));
        let passes = measure(&model, &mut found.entries, &machine, None, Duration::ZERO, |_| true, |_, _| ())
            .expect("kernels for all weights");
        ours.push(1.0 / passes.expect("products").median_s);
    }
    target.bandwidth = quantile(&reads, 0.5);
    let ceiling = profile(&model, &target, &workload, None).expect("an ordinary model").decode.expect("tokens");
    println!(
        "\n{} thread(s): reading alone {:.1} GB/s, {:.0} MB a token, a ceiling of {:.1} token/s\n",
        threads,
        target.bandwidth,
        ceiling.bytes / 1e6,
        ceiling.ceiling_per_s
    );
    println!("| threads | what | token/s, median | 10 % .. 90 % | GB/s | share of the ceiling, median | 10 % .. 90 % |");
    println!("|---|---|---|---|---|---|---|");
    for (what, speeds) in [("llama.cpp, decode", &theirs), ("roofline, the products of a token", &ours)] {
        // Within a round, as far as reading goes.
        let shares: Vec<f64> =
            speeds.iter().zip(&reads).map(|(speed, read)| speed * ceiling.bytes / 1e9 / read).collect();
        let median = quantile(speeds, 0.5);
        println!(
            "| {threads} | {what} | {median:.1} | {:.1} .. {:.1} | {:.1} | {:.0} % | {:.0} .. {:.0} % |",
            quantile(speeds, 0.1),
            quantile(speeds, 0.9),
            median * ceiling.bytes / 1e9,
            100.0 * quantile(&shares, 0.5),
            100.0 * quantile(&shares, 0.1),
            100.0 * quantile(&shares, 0.9)
        );
    }
}

/// Seconds that the work takes.
fn timed(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() - 1) as f64 * part).round() as usize]
}

/// A model that llama.cpp has loaded, with its best settings for this machine.
struct Llama {
    context: *mut llama::llama_context,
    words: i32,
}

impl Llama {
    fn new(file: &str, threads: usize) -> Llama {
        let path = CString::new(file).expect("a path without zeros");
        // SAFETY: llama.cpp's own sequence: parameters with their defaults, a model from a path that ends in a zero, a context of
        // that model. Both live until the program ends.
        unsafe {
            llama::llama_log_set(Some(quiet), std::ptr::null_mut());
            llama::llama_backend_init();
            let model = llama::llama_model_load_from_file(path.as_ptr(), llama::llama_model_default_params());
            assert!(!model.is_null(), "llama.cpp can't load {file}");
            let mut settings = llama::llama_context_default_params();
            settings.n_ctx = 512;
            settings.n_threads = threads as i32;
            settings.n_threads_batch = threads as i32;
            let context = llama::llama_init_from_model(model, settings);
            assert!(!context.is_null(), "llama.cpp makes no context");
            let words = llama::llama_vocab_n_tokens(llama::llama_model_get_vocab(model));
            Llama { context, words }
        }
    }

    /// An empty cache, and one token to wake it up.
    fn start(&mut self) {
        // SAFETY: the context lives.
        unsafe { llama::llama_memory_clear(llama::llama_get_memory(self.context), true) };
        self.decode(0);
    }

    fn decode(&mut self, at: usize) {
        // Any token will do: the work is the same.
        let mut token = (at as i32 * 7919) % self.words.max(1);
        // SAFETY: the batch borrows the token until the call returns.
        let status = unsafe { llama::llama_decode(self.context, llama::llama_batch_get_one(&mut token, 1)) };
        assert_eq!(status, 0, "llama.cpp can't decode");
        // SAFETY: the context lives; this waits for its work.
        unsafe { llama::llama_synchronize(self.context) };
    }
}

/// What llama.cpp says while it loads is not asked for.
unsafe extern "C" fn quiet(_: llama::ggml_log_level, _: *const std::ffi::c_char, _: *mut std::ffi::c_void) {}
