//! ggml's graph of one product, ggml's inner loops, and the comparison of contenders.

use std::ffi::c_void;
use std::time::{Duration, Instant};

use llama_cpp_sys_2 as ggml;

use crate::weights::{GgmlFormat, Weights};

/// Run time of a contender per round, in seconds.
const BURST_S: f64 = 0.02;

/// Time until ggml's idle threads stop spinning: six million pauses, which take a fifth of a second at 100 cycles each.
pub const SPIN_TIMEOUT: Duration = Duration::from_millis(300);

/// Runs the work once.
pub type Contender<'a> = Box<dyn FnMut() + 'a>;

/// Speed of a contender, and the ratio of the first contender to it.
pub struct Ratio {
    /// Median in billions per second.
    pub speed: f64,
    /// Speed of the first contender divided by this one in the same round: 10 %, median, 90 %.
    pub ratios: [f64; 3],
}

/// Runs all contenders in interleaved rounds. `amount` is the work of one run, in bytes or operations.
pub fn compare(rounds: usize, amount: f64, contenders: &mut [Contender]) -> Vec<Ratio> {
    let mut speeds = vec![Vec::new(); contenders.len()];
    for _ in 0..rounds {
        for (run, speeds) in contenders.iter_mut().zip(&mut speeds) {
            // Threads of other contenders spin after their work. Wait until they sleep, then warm up.
            std::thread::sleep(SPIN_TIMEOUT);
            let start = Instant::now();
            run();
            let repeats = (BURST_S / start.elapsed().as_secs_f64()).clamp(1.0, 1e5) as usize;
            let start = Instant::now();
            for _ in 0..repeats {
                run();
            }
            speeds.push(repeats as f64 * amount / start.elapsed().as_secs_f64() / 1e9);
        }
    }
    let first = speeds[0].clone();
    let ratio = |speeds: Vec<f64>| {
        let ratios: Vec<f64> = first.iter().zip(&speeds).map(|(first, speed)| first / speed).collect();
        Ratio { speed: quantile(&speeds, 0.5), ratios: [0.1, 0.5, 0.9].map(|part| quantile(&ratios, part)) }
    };
    speeds.into_iter().map(ratio).collect()
}

fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() - 1) as f64 * part).round() as usize]
}

/// Compares results up to the quantization error of the activations, which each contender rounds differently.
pub fn assert_close(name: &str, contender: &str, ours: &[f32], theirs: &[f32]) {
    let largest = ours.iter().fold(0f32, |largest, value| largest.max(value.abs()));
    let error = ours.iter().zip(theirs).fold(0f32, |error, (a, b)| error.max((a - b).abs()));
    assert!(error <= 0.02 * largest, "{name}: {contender} differs by {error}, largest value {largest}");
}

/// A ggml graph of one product with its own thread pool, planned once.
pub struct Ggml {
    context: *mut ggml::ggml_context,
    graph: *mut ggml::ggml_cgraph,
    plan: ggml::ggml_cplan,
    pool: *mut ggml::ggml_threadpool,
    out: Vec<f32>,
    _work: Vec<u8>,
    _x: Vec<f32>,
}

impl Ggml {
    /// Creates the product of `weights`, which must outlive it, with `count` columns.
    pub fn new<T: GgmlFormat>(weights: &Weights<T>, x: &[f32], count: usize, threads: usize) -> Ggml {
        let (rows, columns) = (weights.rows as i64, weights.columns as i64);
        let (mut x, mut out) = (x.to_vec(), vec![0f32; weights.rows * count]);
        let params =
            ggml::ggml_init_params { mem_size: 16 << 20, mem_buffer: std::ptr::null_mut(), no_alloc: true };
        // SAFETY: follows ggml's protocol: tensors in a context that allocates no data, data pointers to memory that outlives the graph,
        // and a plan with a work buffer of the requested size.
        unsafe {
            ggml::ggml_cpu_init();
            let context = ggml::ggml_init(params);
            let w = ggml::ggml_new_tensor_2d(context, T::GGML, columns, rows);
            (*w).data = weights.data().as_ptr().cast_mut().cast::<c_void>();
            let input = ggml::ggml_new_tensor_2d(context, ggml::GGML_TYPE_F32, columns, count as i64);
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

    pub fn run(&mut self) {
        // SAFETY: the plan was made for the graph, and their memory is alive.
        let status = unsafe { ggml::ggml_graph_compute(self.graph, &mut self.plan) };
        assert_eq!(status, 0, "ggml failed");
    }

    pub fn out(&self) -> &[f32] {
        &self.out
    }
}

impl Drop for Ggml {
    fn drop(&mut self) {
        // SAFETY: both were created in `new` and are not used afterwards.
        unsafe {
            ggml::ggml_threadpool_free(self.pool);
            ggml::ggml_free(self.context);
        }
    }
}

/// Returns ggml's inner loop over all rows, with activations already converted to the type it requires.
pub fn dots<'a, T: GgmlFormat>(
    weights: &'a Weights<T>,
    x: &[f32],
    out: &'a mut [f32],
) -> Box<dyn FnMut() + 'a> {
    // SAFETY: initializes tables that some loops read; may be called repeatedly.
    unsafe { ggml::ggml_cpu_init() };
    // SAFETY: ggml has a static table with an entry for each type.
    let traits = unsafe { *ggml::ggml_get_type_traits_cpu(T::GGML) };
    // SAFETY: as above.
    let from_float = unsafe { (*ggml::ggml_get_type_traits_cpu(traits.vec_dot_type)).from_float };
    // Four bytes per activation are enough for any type.
    let mut activations = vec![0f32; x.len() + 64];
    match from_float {
        // SAFETY: converts the elements of `x` into a buffer that is large enough.
        Some(convert) => unsafe { convert(x.as_ptr(), activations.as_mut_ptr().cast(), x.len() as i64) },
        None => activations[..x.len()].copy_from_slice(x),
    }
    let vec_dot = traits.vec_dot.expect("the type has a vec_dot");
    let (columns, length) = (weights.columns, weights.columns / T::WEIGHTS);
    Box::new(move || {
        for (row, out) in weights.data().chunks(length).zip(&mut *out) {
            // SAFETY: `row` and `activations` hold `columns` elements each, `out` is one float.
            unsafe {
                vec_dot(columns as i32, out, 0, row.as_ptr().cast(), 0, activations.as_ptr().cast(), 0, 1)
            };
        }
    })
}
