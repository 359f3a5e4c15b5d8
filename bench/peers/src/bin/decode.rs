//! Runs a GGUF file through llama.cpp, and every product and all attention of the same tokens through roofline's kernels, in turns
//! with reading alone, beside the ceiling that `roofline profile` gives at that reading speed. Prints a Markdown table.

use std::ffi::CString;
use std::hint::black_box;
use std::time::{Duration, Instant};

use llama_cpp_sys_2 as llama;
use roofline::isa::Isa;
use roofline::kernels::{self, Streams, Team};
use roofline::model::Model;
use roofline::peaks::{Machine, Options};
use roofline::predict::{Numbers, Target};
use roofline::profile::measure::{Through, measure};
use roofline::profile::{Phase, Workload, profile};

/// Rounds, each with all.
const ROUNDS: usize = 9;
/// The same for prompts, which take longer.
const PROMPT_ROUNDS: usize = 3;
/// Tokens that llama.cpp makes in a round.
const TOKENS: usize = 12;
/// Tokens of a prompt.
const PROMPT: usize = 512;
/// Tokens in the cache before the first that is made.
const DEPTHS: [usize; 2] = [0, 2048];
/// How long llama.cpp's threads look for work after the last, and some more.
const AWAKE: Duration = Duration::from_millis(300);

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
    let mut bench = Bench {
        target: Target::measured(&machine, None).expect("it is measured"),
        model,
        team: Team::new(Isa::detect(), threads).expect("threads start"),
        peer: Llama::new(&file, threads),
        // As much as the roof was measured with: more than a cache holds.
        numbers: vec![1f32; machine.size / size_of::<f32>()],
        machine,
    };
    println!(
        "\n| threads | what | ceiling, token/s | llama.cpp, token/s | 10 % .. 90 % | share | roofline, token/s | 10 % .. 90 % | share | roofline / llama.cpp |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for depth in DEPTHS {
        bench.decode(depth);
    }
    bench.prompt();
}

/// What every comparison needs.
struct Bench {
    model: Model,
    machine: Machine,
    target: Target,
    team: Team,
    peer: Llama,
    numbers: Vec<f32>,
}

impl Bench {
    /// Tokens one after the other, behind so many in the cache.
    fn decode(&mut self, depth: usize) {
        self.peer.fill(depth);
        let what = format!("decode behind {depth} tokens");
        self.compare(&what, Phase::Decode, depth + TOKENS / 2, ROUNDS, |peer| {
            let seconds = timed(|| (0..TOKENS).for_each(|_| peer.decode(1)));
            peer.forget(depth);
            TOKENS as f64 / seconds
        });
    }

    /// A prompt at once.
    fn prompt(&mut self) {
        self.compare(&format!("prompt of {PROMPT} tokens"), Phase::Prefill, PROMPT, PROMPT_ROUNDS, |peer| {
            peer.forget(0);
            PROMPT as f64 / timed(|| peer.decode(PROMPT))
        });
    }

    fn compare(
        &mut self,
        what: &str,
        phase: Phase,
        context: usize,
        rounds: usize,
        theirs: impl Fn(&mut Llama) -> f64,
    ) {
        let workload = Workload {
            batch: 1.0,
            context: context as f64,
            prompt: PROMPT as f64,
            cache_size: 2.0,
            cache: Numbers::Half,
        };
        let through = Through { phase, workload: &workload, cache: "f16" };
        let mut found = profile(&self.model, &self.target, &workload, None).expect("an ordinary model");
        let (mut reads, mut peer, mut ours) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            reads.push(self.read());
            peer.push(theirs(&mut self.peer));
            std::thread::sleep(AWAKE);
            let all = |_: &_| true;
            let passes = measure(
                &self.model,
                &mut found.entries,
                &self.machine,
                Some(through),
                Duration::ZERO,
                all,
                |_, _| (),
            )
            .expect("kernels for all weights");
            ours.push(through.tokens() / passes.expect("products").median_s);
        }
        self.target.bandwidth = quantile(&reads, 0.5);
        let found = profile(&self.model, &self.target, &workload, None).expect("an ordinary model");
        let total = if phase == Phase::Decode { found.decode } else { found.prefill };
        let ceiling = total.expect("tokens").ceiling_per_s;
        let row = |speeds: &[f64]| {
            let median = quantile(speeds, 0.5);
            format!(
                "{median:.1} | {:.1} .. {:.1} | {:.2}",
                quantile(speeds, 0.1),
                quantile(speeds, 0.9),
                median / ceiling
            )
        };
        println!(
            "| {} | {what} | {ceiling:.1} | {} | {} | {:.2} |",
            self.team.threads(),
            row(&peer),
            row(&ours),
            quantile(&ours, 0.5) / quantile(&peer, 0.5)
        );
    }

    /// The speed of reading alone, in GB/s.
    fn read(&self) -> f64 {
        let setting = self.machine.all.read.setting;
        let streams = Streams { count: setting.streams, prefetch: setting.prefetch };
        let (team, numbers) = (&self.team, &self.numbers);
        let share = numbers.len() / team.threads();
        let seconds = timed(|| {
            team.run(|index| {
                black_box(kernels::read(team.isa(), &numbers[index * share..][..share], streams));
            });
        });
        size_of_val(numbers.as_slice()) as f64 / seconds / 1e9
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
            settings.n_ctx = 4096;
            settings.n_threads = threads as i32;
            settings.n_threads_batch = threads as i32;
            let context = llama::llama_init_from_model(model, settings);
            assert!(!context.is_null(), "llama.cpp makes no context");
            let words = llama::llama_vocab_n_tokens(llama::llama_model_get_vocab(model));
            Llama { context, words }
        }
    }

    /// A cache of so many tokens, and one more to wake it up.
    fn fill(&mut self, depth: usize) {
        self.forget(0);
        for _ in 0..depth / PROMPT {
            self.decode(PROMPT);
        }
        self.decode(1);
        self.forget(depth);
    }

    /// Leaves so many tokens in the cache.
    fn forget(&mut self, depth: usize) {
        // SAFETY: the context lives.
        let memory = unsafe { llama::llama_get_memory(self.context) };
        // SAFETY: it is the memory of that context.
        let done = unsafe { llama::llama_memory_seq_rm(memory, 0, depth as i32, -1) };
        assert!(done, "llama.cpp can't forget");
    }

    /// So many tokens at once.
    fn decode(&mut self, count: usize) {
        // Any token will do: the work is the same.
        let mut tokens: Vec<i32> = (0..count).map(|at| (at as i32 * 7919) % self.words.max(1)).collect();
        // SAFETY: the batch borrows the tokens until the call returns.
        let status = unsafe {
            llama::llama_decode(self.context, llama::llama_batch_get_one(tokens.as_mut_ptr(), count as i32))
        };
        assert_eq!(status, 0, "llama.cpp can't decode");
        // SAFETY: the context lives; this waits for its work.
        unsafe { llama::llama_synchronize(self.context) };
    }
}

/// What llama.cpp says while it loads is not asked for.
unsafe extern "C" fn quiet(_: llama::ggml_log_level, _: *const std::ffi::c_char, _: *mut std::ffi::c_void) {}
