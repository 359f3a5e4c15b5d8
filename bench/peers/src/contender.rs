//! Whoever multiplies: ggml's graph of one product, its inner loops, and how contenders are compared.

use std::ffi::c_void;
use std::time::{Duration, Instant};

use llama_cpp_sys_2 as ggml;

use crate::weights::{Stored, Weights};

/// Seconds that one contender runs in a round.
const BURST: f64 = 0.02;

/// How long ggml's threads may look for work after the last: they pause six million times, which takes a fifth of a second if one
/// pause takes a hundred cycles.
pub const AWAKE: Duration = Duration::from_millis(300);

/// Does all the work once.
pub type Contender<'a> = Box<dyn FnMut() + 'a>;

/// How fast a contender was, and how much faster the first one.
pub struct Ratio {
    /// The median, in billions a second.
    pub speed: f64,
    /// The first contender's speed over this one's, in the same round: 10 %, median, 90 %.
    pub ratios: [f64; 3],
}

/// Runs all contenders in turn, so many rounds; each does an amount of work.
pub fn compare(rounds: usize, amount: f64, contenders: &mut [Contender]) -> Vec<Ratio> {
    let mut speeds = vec![Vec::new(); contenders.len()];
    for _ in 0..rounds {
        for (run, speeds) in contenders.iter_mut().zip(&mut speeds) {
            // The others' threads spin for a while after their work; let them fall asleep, then warm up.
            std::thread::sleep(AWAKE);
            let start = Instant::now();
            run();
            let repeats = (BURST / start.elapsed().as_secs_f64()).clamp(1.0, 1e5) as usize;
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

/// All contenders quantize the activations, each with its own rounding.
pub fn agree(name: &str, contender: &str, ours: &[f32], theirs: &[f32]) {
    let largest = ours.iter().fold(0f32, |largest, value| largest.max(value.abs()));
    let error = ours.iter().zip(theirs).fold(0f32, |error, (a, b)| error.max((a - b).abs()));
    assert!(error <= 0.02 * largest, "{name}: {contender} is off by {error} of {largest}");
}

/// A graph of one product, planned once, with threads that stay.
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
    /// The product of these weights, which must outlive it, with so many columns.
    pub fn new<T: Stored>(weights: &Weights<T>, x: &[f32], count: usize, threads: usize) -> Ggml {
        let (rows, columns) = (weights.rows as i64, weights.columns as i64);
        let (mut x, mut out) = (x.to_vec(), vec![0f32; weights.rows * count]);
        let params =
            ggml::ggml_init_params { mem_size: 16 << 20, mem_buffer: std::ptr::null_mut(), no_alloc: true };
        // SAFETY: ggml's own sequence: tensors in a context that allocates no data, data pointers to memory
        // that outlives the graph, a plan with a work buffer of the size it asks for.
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
        // SAFETY: graph and plan belong together and their memory is alive.
        let status = unsafe { ggml::ggml_graph_compute(self.graph, &mut self.plan) };
        assert_eq!(status, 0, "ggml failed");
    }

    pub fn out(&self) -> &[f32] {
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

/// ggml's inner loop over all rows, with activations that it stored as it likes before.
pub fn dots<'a, T: Stored>(weights: &'a Weights<T>, x: &[f32], out: &'a mut [f32]) -> Box<dyn FnMut() + 'a> {
    // SAFETY: makes the tables that the loops of some types read.
    unsafe { ggml::ggml_cpu_init() };
    // SAFETY: ggml's table of types has an entry for each that lives forever.
    let traits = unsafe { *ggml::ggml_get_type_traits_cpu(T::GGML) };
    // SAFETY: as above.
    let from_float = unsafe { (*ggml::ggml_get_type_traits_cpu(traits.vec_dot_type)).from_float };
    // Four bytes for each are enough for any type.
    let mut stored = vec![0f32; x.len() + 64];
    match from_float {
        // SAFETY: as many activations as `x` has, into more memory than they take.
        Some(store) => unsafe { store(x.as_ptr(), stored.as_mut_ptr().cast(), x.len() as i64) },
        None => stored[..x.len()].copy_from_slice(x),
    }
    let vec_dot = traits.vec_dot.expect("a type with a dot");
    let (columns, length) = (weights.columns, weights.columns / T::WEIGHTS);
    Box::new(move || {
        for (row, out) in weights.data().chunks(length).zip(&mut *out) {
            // SAFETY: `row` and `stored` are `columns` weights and activations, `out` one float.
            unsafe { vec_dot(columns as i32, out, 0, row.as_ptr().cast(), 0, stored.as_ptr().cast(), 0, 1) };
        }
    })
}
