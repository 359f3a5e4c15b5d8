//! The speed to expect, from rows alike. Each row of the record says which share of both peaks an engine reached beside a
//! fixed cost for each layer; the contract `expectation-v1` has the formulas. A question is answered by the shares of
//! the rows nearest to it, and not at all where there are none.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use super::ceiling::{Beside, Verdict, evaluated, judge};
use super::model::Family;
use super::table::{Phase, Row, rows};
use crate::contracts::expectation::Inputs;
use crate::contracts::hardware::devices::{Device, Kind, Vendor};
use crate::contracts::transformer;

/// A program and what it runs on, as far as speeds differ.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Engine {
    /// The program: `llama.cpp`, `vllm`.
    pub name: String,
    /// What it runs on: `cuda`, `metal`, `rocm`, `vulkan`, `cpu`.
    pub backend: &'static str,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.backend)
    }
}

impl Engine {
    /// The engine that is meant unless another is asked for.
    pub const DEFAULT: &'static str = "llama.cpp";

    /// The engine of a row.
    fn of(row: &Row, device: &Device) -> Engine {
        let backend = row.backend.to_lowercase();
        let named = [
            ("cpu", "cpu"),
            ("metal", "metal"),
            ("vulkan", "vulkan"),
            ("rocm", "rocm"),
            ("hip", "rocm"),
            ("rocwmma", "rocm"),
            ("cuda", "cuda"),
        ];
        let backend = named.iter().find(|(word, _)| backend.contains(word)).map(|(_, backend)| *backend);
        Engine { name: program(&row.engine), backend: backend.unwrap_or_else(|| usual(device)) }
    }

    /// A program on the backend that is usual for a device.
    pub fn on(name: &str, device: &Device) -> Engine {
        Engine { name: program(name), backend: usual(device) }
    }

    /// The programs of the record.
    pub fn names() -> Vec<&'static str> {
        let mut names: Vec<&str> = SAMPLES.iter().map(|sample| sample.like.engine.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// The program of a published name: what wraps llama.cpp runs llama.cpp, and versions are left out.
fn program(name: &str) -> String {
    let name = name.to_lowercase();
    match name.split_whitespace().next() {
        Some("ollama") => "llama.cpp".into(),
        Some(first) => first.to_owned(),
        None => Engine::DEFAULT.into(),
    }
}

fn usual(device: &Device) -> &'static str {
    match (device.kind, device.vendor) {
        (Kind::Cpu | Kind::Board | Kind::Phone, _) => "cpu",
        (_, Vendor::Nvidia) => "cuda",
        (_, Vendor::Apple) => "metal",
        (_, Vendor::Amd) => "rocm",
        _ => "vulkan",
    }
}

/// What a speed is asked for, beside the work itself: rows alike are near in these.
#[derive(Clone, Debug)]
pub struct Like {
    /// The program and what it runs on.
    pub engine: Engine,
    /// Whether a prompt is read.
    pub prefill: bool,
    device: &'static Device,
    /// The CPU of a chip whose figures are those of its GPU.
    on_cpu: bool,
    model: String,
    format: String,
    bits: f64,
    family: Family,
    devices: f64,
    batch: f64,
    context: f64,
    threads: Option<f64>,
    /// The peak of the format in GFLOP/s, of all devices that run together; the fastest of all where it is not published.
    peak: f64,
    /// Least time of a step for one token of each sequence, in s.
    step_time: f64,
}

/// One row as the fit sees it.
struct Sample {
    row: &'static Row,
    like: Like,
    inputs: Inputs,
}

/// The peak that shares of arithmetic are of, in GFLOP/s: that of 16 bits for all formats, because engines reach much the
/// same rate with all of them.
fn reference(device: &Device) -> Option<f64> {
    [device.fp16, device.fp16_fast, device.bf16, device.fp32].into_iter().flatten().reduce(f64::max)
}

/// Tokens that llama.cpp reads at once.
const AT_ONCE: f64 = 512.0;

/// A row's traits, and its work with what it is likely to move; none where it is not decoding or reading a prompt.
fn sample(row: &Row, beside: &Beside) -> Option<(Like, Inputs)> {
    let prefill = match row.phase {
        Phase::Decode => false,
        Phase::Prefill => true,
        Phase::Serving | Phase::Speculative => return None,
    };
    let engine = Engine::of(row, beside.device);
    let traits = &beside.traits;
    let batch = row.batch?;
    let threads = row.backend.strip_prefix("CPU ").and_then(|rest| rest.split(' ').next()?.parse().ok());
    let mut inputs = beside.inputs;
    // Layers that are split over devices run one device at a time.
    let split = engine.name == Engine::DEFAULT && row.devices > 1.0;
    let together = if split { 1.0 } else { row.devices };
    inputs.bandwidth = beside.device.bandwidth * together;
    match reference(beside.device) {
        Some(peak) => inputs.compute = peak * together,
        // There is nothing that the time of a prompt could be a share of.
        None if prefill => return None,
        None => {}
    }
    // Weights that so many tokens read at once, each choosing its experts evenly.
    let read = |tokens: f64| {
        let step = transformer::Inputs { batch: tokens, context: 1.0, ..traits.step };
        let all = step.evaluate().ok()?;
        Some(all.decode_estimated_bytes - all.cache_bytes - all.state_bytes - all.activation_bytes)
    };
    let least = read(1.0)?;
    let more = if prefill {
        let at_once = if engine.name == Engine::DEFAULT { inputs.tokens.min(AT_ONCE) } else { inputs.tokens };
        read(at_once.min(65536.0))? * (inputs.tokens / at_once).max(1.0) - least
    } else {
        read(batch)? - least
    };
    inputs.more_bytes = more.max(0.0);
    inputs.serial = 1.0;
    let like = Like {
        engine,
        prefill,
        device: beside.device,
        on_cpu: row.backend.starts_with("CPU"),
        model: beside.model.to_owned(),
        format: row.format.clone(),
        bits: traits.bits,
        family: traits.family,
        devices: row.devices,
        batch,
        context: row.context.unwrap_or(0.0),
        threads,
        peak: beside.inputs.compute / row.devices * together,
        step_time: beside.outputs.least_time / inputs.tokens * batch,
    };
    Some((like, inputs))
}

static SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(|| {
    let judged = rows().iter().zip(judge(rows()));
    let sampled = judged.filter_map(|(row, verdict)| match verdict {
        Verdict::Possible(beside) => {
            let (like, inputs) = sample(row, &beside)?;
            Some(Sample { row, like, inputs })
        }
        _ => None,
    });
    sampled.collect()
});

/// How far two lie apart. The weights were chosen on the record for the least error on models that were left out.
fn distance(a: &Like, b: &Like) -> f64 {
    let ratio = |a: f64, b: f64| (a / b).ln().abs();
    let other_device = a.device.name != b.device.name || a.on_cpu != b.on_cpu;
    let mut far = 0.0;
    if other_device {
        far += 0.5 + ratio(a.device.bandwidth, b.device.bandwidth).min(1.0);
        far += if a.device.architecture == b.device.architecture { 0.0 } else { 0.5 };
    }
    if a.format != b.format {
        far += 0.8 * (0.3 + ratio(a.bits, b.bits)).min(1.0);
    }
    let other_family = if a.prefill { 1.2 } else { 0.7 };
    far += if a.family == b.family { 0.0 } else { other_family };
    far += if a.model == b.model { 0.0 } else { 0.3 };
    far += 0.35 * ratio(a.step_time, b.step_time);
    far += 0.5 * ratio(a.batch, b.batch);
    far += 0.36 * ratio(a.context + 256.0, b.context + 256.0);
    far += 1.4 * ratio(a.devices, b.devices);
    far + 1.4 * ratio(a.threads.unwrap_or(16.0), b.threads.unwrap_or(16.0))
}

/// A row farther than this says nothing.
const TOO_FAR: f64 = 3.0;
/// Fewer rows than this make no band.
const FEWEST: usize = 3;
/// How fast the weight of a row falls with its distance.
const REACH: f64 = 0.5;
/// How much wider than the rows the band is, in parts of the speed: for rows alike, and for each unit of distance.
const MARGIN: (f64, f64) = (0.1, 0.12);
/// Costs of a layer that are tried, in µs.
const COSTS: [f64; 10] = [0.0, 5.0, 10.0, 20.0, 30.0, 40.0, 60.0, 80.0, 120.0, 160.0];

/// A share of both peaks that nobody reaches.
const FULL: f64 = 0.95;

/// What rows alike make of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// A tenth of rows alike is slower, in token/s.
    pub low: f64,
    /// As many are slower as faster.
    pub middle: f64,
    /// A tenth is faster.
    pub high: f64,
}

/// The speed to expect, and what it comes from.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The engine.
    pub engine: Engine,
    /// The speeds.
    pub band: Band,
    /// How many rows count, as if all counted the same.
    pub rows: f64,
    /// How near the nearest is: 1 for the same setting, 0 for none.
    pub nearness: f64,
    /// The nearest row.
    pub nearest: &'static Row,
    /// Share of both peaks in the middle.
    pub share: f64,
    /// Fixed cost of a layer, in µs.
    pub layer_cost: f64,
}

/// The speed to expect of a row, whatever speed it claims; none where the record has nothing like it.
pub fn expect(row: &Row) -> Option<Expected> {
    let (like, inputs) = sample(row, &row.beside().ok()?)?;
    let pool: Vec<&Sample> = SAMPLES.iter().collect();
    let pool = alike(&like, &pool);
    answer(&like, inputs, &pool, layer_cost(&pool))
}

/// The samples that count for a question.
fn alike<'a>(like: &Like, pool: &[&'a Sample]) -> Vec<&'a Sample> {
    let same = |sample: &&&Sample| sample.like.engine == like.engine && sample.like.prefill == like.prefill;
    pool.iter().filter(same).copied().collect()
}

/// What the samples that count for a question say, with the cost of a layer that they have in common.
fn answer(like: &Like, inputs: Inputs, pool: &[&'static Sample], layer_cost: f64) -> Option<Expected> {
    if pool.len() < FEWEST {
        return None;
    }
    let mut near: Vec<(f64, &Sample)> =
        pool.iter().map(|sample| (distance(like, &sample.like), *sample)).collect();
    near.sort_by(|a, b| a.0.total_cmp(&b.0));
    let &(closest, nearest) = near.first().filter(|(distance, _)| *distance <= TOO_FAR)?;
    let mut shares: Vec<(f64, f64)> = near
        .iter()
        .filter_map(|(distance, sample)| {
            let observed = Inputs { layer_cost, ..sample.inputs }.evaluate().ok()?.observed_share;
            Some((observed, (-(distance - closest) / REACH).exp()))
        })
        .collect();
    shares.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(sum, squares), (_, w)| (sum + w, squares + w * w));
    let margin = (MARGIN.0 + MARGIN.1 * closest).exp();
    let speed = |share: f64| {
        let bandwidth_share = share.clamp(1e-6, 1.0);
        let compute_share = (share * inputs.compute / like.peak).clamp(1e-6, 1.0);
        let asked = Inputs { bandwidth_share, compute: like.peak, compute_share, layer_cost, ..inputs };
        evaluated(&asked).ok().map(|outputs| outputs.expected)
    };
    let share = quantile(&shares, 0.5);
    let band = Band {
        low: speed(quantile(&shares, 0.1) / margin)?,
        middle: speed(share)?,
        high: speed(quantile(&shares, 0.9) * margin)?,
    };
    Some(Expected {
        engine: like.engine.clone(),
        band,
        rows: sum * sum / squares,
        nearness: (-closest).exp(),
        nearest: nearest.row,
        share,
        layer_cost,
    })
}

/// The value that this part of the weight lies below; the values are in order.
fn quantile(values: &[(f64, f64)], part: f64) -> f64 {
    let total: f64 = values.iter().map(|(_, weight)| weight).sum();
    let mut before: Option<(f64, f64)> = None;
    let mut sum = 0.0;
    for &(value, weight) in values {
        let at = (sum + weight / 2.0) / total;
        if at >= part {
            return match before {
                Some((low, from)) if at > from => low + (value - low) * (part - from) / (at - from),
                _ => value,
            };
        }
        sum += weight;
        before = Some((value, at));
    }
    values.last().map_or(0.0, |(value, _)| *value)
}

/// The fixed cost of a layer that makes the shares of one device and format the most alike; of a prompt, none.
fn layer_cost(pool: &[&Sample]) -> f64 {
    let single =
        |sample: &&&Sample| sample.like.batch == 1.0 && sample.like.devices == 1.0 && !sample.like.prefill;
    let mut groups: BTreeMap<(&str, bool, &str), Vec<&Sample>> = BTreeMap::new();
    for sample in pool.iter().filter(single) {
        let Like { device, on_cpu, format, .. } = &sample.like;
        groups.entry((device.name, *on_cpu, format)).or_default().push(sample);
    }
    groups.retain(|_, samples| samples.len() >= FEWEST);
    let spread = |cost: f64| {
        let mut sum = 0.0;
        for samples in groups.values() {
            let shares = samples.iter().filter_map(|sample| {
                Some(Inputs { layer_cost: cost, ..sample.inputs }.evaluate().ok()?.observed_share.ln())
            });
            let mut shares: Vec<f64> = shares.collect();
            shares.sort_by(f64::total_cmp);
            let middle = shares.get(shares.len() / 2).copied().unwrap_or_default();
            sum += shares.iter().map(|share| (share - middle).abs()).sum::<f64>();
            // A cost that leaves no time for the work makes all shares whole, and alike for nothing.
            sum += 10.0 * shares.iter().filter(|share| **share > FULL.ln()).count() as f64;
        }
        sum
    };
    COSTS.into_iter().min_by(|a, b| spread(*a).total_cmp(&spread(*b))).unwrap_or_default()
}

/// What was expected of a row of the record by others, and what it is.
pub(super) struct LeftOutRow {
    pub prefill: bool,
    pub expected: Option<Expected>,
    pub measured: f64,
}

/// Asks the record for each of its rows, without those that `apart` keeps back for it; only rows whose device stays known
/// where that is wanted.
pub(super) fn left_out(apart: impl Fn(&Key, &Key) -> bool, device_known: bool) -> Vec<LeftOutRow> {
    let keys: Vec<Key> = SAMPLES.iter().map(Key::of).collect();
    // Rows that keep the same rows back and ask for the same engine share what is found.
    let mut pools: BTreeMap<(&Key, &Engine, bool), (Vec<&'static Sample>, f64)> = BTreeMap::new();
    let mut out = Vec::new();
    for (sample, key) in SAMPLES.iter().zip(&keys) {
        let Like { engine, prefill, device, on_cpu, .. } = &sample.like;
        let (pool, layer_cost) = pools.entry((key, engine, *prefill)).or_insert_with(|| {
            let kept = SAMPLES.iter().zip(&keys).filter(|(_, other)| !apart(key, other));
            let kept: Vec<&Sample> = kept.map(|(sample, _)| sample).collect();
            let pool = alike(&sample.like, &kept);
            let cost = layer_cost(&pool);
            (pool, cost)
        });
        let same = |other: &&Sample| other.like.device.name == device.name && other.like.on_cpu == *on_cpu;
        let known = !device_known || pool.iter().any(same);
        let expected = known.then(|| answer(&sample.like, sample.inputs, pool, *layer_cost)).flatten();
        out.push(LeftOutRow { prefill: *prefill, expected, measured: sample.row.tokens_per_s });
    }
    out
}

/// What rows are kept back by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub device: (&'static str, bool),
    pub model: String,
}

impl Key {
    fn of(sample: &Sample) -> Key {
        Key { device: (sample.like.device.name, sample.like.on_cpu), model: sample.like.model.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Row {
        let head = "device,engine,backend,model,quant,phase,test,context,batch,tokens_per_s\n";
        super::super::read(&format!("{head}{text}\n")).unwrap().remove(0)
    }

    #[test]
    fn what_is_expected_lies_within_its_ceiling() {
        let mut answered = 0;
        for row in rows().iter().step_by(7) {
            let Some(Expected { band: Band { low, middle, high }, rows, nearness, .. }) = expect(row) else {
                continue;
            };
            let ceiling = row.beside().unwrap().ceiling();
            assert!(0.0 < low && low <= middle && middle <= high, "{row:?}");
            assert!(high <= ceiling * 1.000001, "{}: {high} of {ceiling}", row.line);
            assert!(rows >= 1.0 && (0.0..=1.0).contains(&nearness));
            answered += 1;
        }
        assert!(answered > 200, "{answered}");
    }

    #[test]
    fn nothing_is_said_where_the_record_says_nothing() {
        assert!(expect(&asked("RTX 4090,nobody's engine,CUDA,Llama-2-7B,Q4_0,tg,tg128,64,1,1")).is_none());
        assert!(expect(&asked("RTX 4090,vLLM,Vulkan,Llama-2-7B,Q4_0,tg,tg128,64,1,1")).is_none());
        assert!(expect(&asked("RTX 4090,llama.cpp,CUDA,Llama-2-7B,Q4_0,serving,x,64,max,1")).is_none());
        assert!(expect(&asked("RTX 4090,llama.cpp,CUDA,Llama-2-7B,Q4_0,tg,tg128,64,1,1")).is_some());
    }

    #[test]
    fn a_quantile_lies_between_the_values_around_it() {
        let values = [(1.0, 1.0), (2.0, 1.0), (4.0, 2.0)];
        assert_eq!(quantile(&values, 0.0), 1.0);
        assert_eq!(quantile(&values, 1.0), 4.0);
        assert_eq!(quantile(&values, 0.25), 1.5);
        assert_eq!(quantile(&[(3.0, 1.0)], 0.9), 3.0);
    }

    #[test]
    fn engines_are_told_by_program_and_backend() {
        let engine = |text: &str| {
            let row = asked(text);
            Engine::of(&row, row.beside().unwrap().device).to_string()
        };
        assert_eq!(engine("RTX 4090,Ollama,,Llama-2-7B,Q4_0,tg,x,1,1,1"), "llama.cpp (cuda)");
        assert_eq!(engine("RX 7900 XTX,MLC LLM,HIP,Llama-2-7B,Q4_0,tg,x,1,1,1"), "mlc (rocm)");
        assert!(Engine::names().contains(&"vllm"));
    }
}
