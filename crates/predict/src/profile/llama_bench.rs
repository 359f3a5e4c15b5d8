//! Results of `llama-bench -o json`, compared with their ceilings.

use serde::{Deserialize, Serialize};

use super::{OutOfDomain, Phase, Workload, pass_inputs, profile};
use crate::predict::DeviceProfile;
use roofline_formulas::layer_roofline;
use roofline_models::Model;

/// Fields of a `llama-bench` test that are used here.
#[derive(Clone, Debug, Deserialize)]
struct Test {
    model_n_params: u64,
    model_size: u64,
    n_prompt: u64,
    n_gen: u64,
    #[serde(default)]
    n_depth: u64,
    avg_ts: f64,
    #[serde(default)]
    stddev_ts: f64,
    #[serde(default)]
    n_threads: Option<u64>,
}

/// Measurement with its ceiling.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compared {
    /// Name in the notation of `llama-bench`: `pp512`, `tg128`.
    pub test: String,
    /// Number of threads.
    pub threads: Option<u64>,
    /// Mean speed of the repetitions, in token/s.
    pub tokens_per_s: f64,
    /// Sample standard deviation, in token/s.
    pub deviation: f64,
    /// Ceiling for the same work, in token/s; null if the work cannot be modelled.
    pub ceiling_tokens_per_s: Option<f64>,
    /// Share of the ceiling reached, 0 to 1.
    pub share: Option<f64>,
    /// Achieved bandwidth, in GB/s.
    pub gb_s: Option<f64>,
    /// Achieved compute rate, in GFLOP/s.
    pub gflop_s: Option<f64>,
}

impl Compared {
    /// Returns true for decode (tg) tests.
    pub fn decodes(&self) -> bool {
        self.test.starts_with("tg")
    }
}

/// Results of `llama-bench` that cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum LlamaBenchError {
    /// Not the output of `llama-bench -o json`.
    #[error("invalid llama-bench results: {0}; expected the output of `llama-bench -o json`")]
    Json(#[from] serde_json::Error),
    /// Invalid speed.
    #[error("test {test}: invalid avg_ts {value}; expected a positive speed")]
    Speed {
        /// Index of the test, from 1.
        test: usize,
        /// Value found.
        value: f64,
    },
    /// The test used another model.
    #[error(
        "test {test}: expected a model of {expected} parameters in {expected_bytes} bytes, found {found} in {found_bytes}; pass --any-model \
         to compare anyway"
    )]
    OtherModel {
        /// Index of the test, from 1.
        test: usize,
        /// Parameters of the tested model.
        found: u64,
        /// Size of the tested model, in bytes.
        found_bytes: u64,
        /// Parameters of the file.
        expected: u64,
        /// Size of the file's weights, in bytes.
        expected_bytes: u64,
    },
    /// An input is outside a contract's domain.
    #[error(transparent)]
    OutOfDomain(#[from] OutOfDomain),
}

/// Compares tests with their ceilings on this device. Tests of another model are an error unless `any_model` is set.
pub fn compare(
    text: &str,
    model: &Model,
    target: &DeviceProfile,
    workload: &Workload,
    any_model: bool,
) -> Result<Vec<Compared>, LlamaBenchError> {
    let tests: Vec<Test> = serde_json::from_str(text)?;
    let (expected, expected_bytes) = (model.parameters(), model.bytes().unwrap_or(0));
    let mut out = Vec::new();
    for (index, test) in tests.into_iter().enumerate() {
        let number = index + 1;
        if !(test.avg_ts.is_finite() && test.avg_ts > 0.0) {
            return Err(LlamaBenchError::Speed { test: number, value: test.avg_ts });
        }
        if !any_model && (test.model_n_params, test.model_size) != (expected, expected_bytes) {
            let (found, found_bytes) = (test.model_n_params, test.model_size);
            return Err(LlamaBenchError::OtherModel {
                test: number,
                found,
                found_bytes,
                expected,
                expected_bytes,
            });
        }
        out.push(compare_test(&test, model, target, workload)?);
    }
    Ok(out)
}

fn compare_test(
    test: &Test,
    model: &Model,
    target: &DeviceProfile,
    workload: &Workload,
) -> Result<Compared, OutOfDomain> {
    let depth = if test.n_depth > 0 { format!("@d{}", test.n_depth) } else { String::new() };
    let (name, work) = match (test.n_prompt, test.n_gen, test.n_depth) {
        (0, 0, _) => ("empty".to_owned(), None),
        (prompt, 0, depth) => {
            // The contract has no model of prefill after cached tokens.
            let work = Workload { batch: 1.0, context: prompt as f64, prompt: prompt as f64, ..*workload };
            (format!("pp{prompt}"), (depth == 0).then_some((Phase::Prefill, work, prompt as f64)))
        }
        (0, tokens, depth) => {
            // The cache grows during the run; use its mean length.
            let context = (depth as f64 + tokens as f64 / 2.0).ceil();
            let work = Workload { batch: 1.0, context, prompt: 1.0, ..*workload };
            (format!("tg{tokens}"), Some((Phase::Decode, work, 1.0)))
        }
        (prompt, tokens, _) => (format!("pp{prompt}+tg{tokens}"), None),
    };
    let mut compared = Compared {
        test: name + &depth,
        threads: test.n_threads,
        tokens_per_s: test.avg_ts,
        deviation: test.stddev_ts,
        ceiling_tokens_per_s: None,
        share: None,
        gb_s: None,
        gflop_s: None,
    };
    if let Some((phase, work, tokens)) = work
        && let Some(total) = profile(model, target, &work, None)?.total(phase)
    {
        let time = tokens / test.avg_ts;
        compared.ceiling_tokens_per_s = Some(total.ceiling_per_s);
        compared.share = Some(test.avg_ts / total.ceiling_per_s);
        // Achieved rates do not depend on the compute peak.
        let pass = pass_inputs(total.flops, total.bytes, target.bandwidth, 1.0);
        let achieved = layer_roofline::Inputs { time, ..pass }.evaluate()?;
        compared.gb_s = Some(achieved.achieved_bandwidth);
        compared.gflop_s = Some(achieved.achieved_compute);
    }
    Ok(compared)
}
