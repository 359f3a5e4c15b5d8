//! Decodes a GGUF file of Q8_0 weights with llama.cpp, and runs the same weights through roofline's kernels, in turns, beside the
//! ceiling that `roofline profile` gives for them. Prints a Markdown table.

use std::ffi::CString;
use std::time::{Duration, Instant};

use llama_cpp_sys_2 as llama;
use roofline::isa::Isa;
use roofline::model::Model;
use roofline::peaks::{Machine, Options};
use roofline::predict::{Precision, Target};
use roofline::profile::measure::measure;
use roofline::profile::{Workload, profile};

/// Rounds, each with both.
const ROUNDS: usize = 9;
/// Tokens that llama.cpp makes in a round, from an empty cache.
const TOKENS: usize = 24;

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
    // Q8_0 products are integer arithmetic, in llama.cpp and here.
    let target = Target::measured(&machine, Some(Precision::Int8)).expect("it is measured");
    let context = (TOKENS / 2) as f64;
    let workload = Workload { batch: 1.0, context, prompt: 1.0, cache_size: 2.0 };
    let mut ideal = profile(&model, &target, &workload, None).expect("an ordinary model");
    let ceiling = ideal.decode.expect("a model that makes tokens");

    let mut peer = Llama::new(&file, threads);
    let (mut theirs, mut ours, mut products) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        theirs.push(peer.tokens_per_s());
        // Its threads spin for a while after their work.
        std::thread::sleep(Duration::from_millis(5));
        measure(&model, &mut ideal.entries, &machine, Isa::detect(), Duration::ZERO, |_| true, |_, _| ())
            .expect("kernels for all weights");
        let measured = || ideal.entries.iter().filter_map(|entry| entry.measured.as_ref());
        ours.push(1.0 / measured().map(|one| one.median_s).sum::<f64>());
        products.push(1.0 / measured().map(|one| one.ideal_s).sum::<f64>());
    }
    let bytes = ceiling.bytes;
    let row = |what: &str, speeds: &[f64], ceiling: f64| {
        let (median, best) = (quantile(speeds, 0.5), quantile(speeds, 1.0));
        println!(
            "| {threads} | {what} | {ceiling:.1} | {median:.1} | {best:.1} | {:.0} % | {:.0} % | {:.1} |",
            100.0 * median / ceiling,
            100.0 * best / ceiling,
            median * bytes / 1e9
        );
    };
    println!("\nread roof {:.1} GB/s, {} of weights a token\n", machine.all.read_gb_s, megabytes(bytes));
    println!("| threads | what | ceiling, token/s | median | best | share, median | share, best | GB/s |");
    println!("|---|---|---|---|---|---|---|---|");
    row("llama.cpp, decode", &theirs, ceiling.tokens_per_s);
    row("roofline, its products in a chain", &ours, quantile(&products, 0.5));
}

fn megabytes(bytes: f64) -> String {
    format!("{:.0} MB", bytes / 1e6)
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

    fn tokens_per_s(&mut self) -> f64 {
        // SAFETY: the context lives.
        unsafe { llama::llama_memory_clear(llama::llama_get_memory(self.context), true) };
        self.decode(0);
        let start = Instant::now();
        for at in 1..=TOKENS {
            self.decode(at);
        }
        TOKENS as f64 / start.elapsed().as_secs_f64()
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
