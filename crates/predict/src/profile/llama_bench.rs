//! What `llama-bench -o json` measured, beside the ceiling for the same work.

use serde::{Deserialize, Serialize};

use super::{OutOfDomain, Phase, Workload, passed, profile};
use crate::predict::Target;
use roofline_formulas::layer_roofline;
use roofline_models::Model;

/// One test of `llama-bench`, as far as it matters here.
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

/// A measured point beside its ceiling.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compared {
    /// The test as `llama-bench` calls it: `pp512`, `tg128`.
    pub test: String,
    /// Threads that it ran with.
    pub threads: Option<u64>,
    /// Tokens per second: the mean of its repetitions.
    pub tokens_per_s: f64,
    /// Their sample deviation.
    pub deviation: f64,
    /// The ceiling for the same work; none where this program has no model of it.
    pub ceiling_tokens_per_s: Option<f64>,
    /// Share of the ceiling that was reached.
    pub share: Option<f64>,
    /// Bytes that the work moves over the measured time, in GB/s.
    pub gb_s: Option<f64>,
    /// Operations of the work over the measured time, in GFLOP/s.
    pub gflop_s: Option<f64>,
}

impl Compared {
    /// Whether it made tokens, and read no prompt.
    pub fn decodes(&self) -> bool {
        self.test.starts_with("tg")
    }
}

/// Why the results can't be taken.
#[derive(Debug, thiserror::Error)]
pub enum LlamaBenchError {
    /// Not what `llama-bench -o json` writes.
    #[error("not the output of `llama-bench -o json`: {0}")]
    Json(#[from] serde_json::Error),
    /// A figure that no measurement gives.
    #[error("test {test}: avg_ts = {value} is not a speed")]
    Speed {
        /// Which test, from 1.
        test: usize,
        /// The figure.
        value: f64,
    },
    /// Measured with another model.
    #[error(
        "test {test} is of another model: {found} parameters in {found_bytes} bytes, where the file has {expected} in \
         {expected_bytes}; --any-model takes it anyway"
    )]
    OtherModel {
        /// Which test, from 1.
        test: usize,
        /// Its parameters.
        found: u64,
        /// Its bytes.
        found_bytes: u64,
        /// Those of the file.
        expected: u64,
        /// The file's bytes.
        expected_bytes: u64,
    },
    /// A figure outside the contract.
    #[error(transparent)]
    OutOfDomain(#[from] OutOfDomain),
}

/// Puts the tests beside their ceilings on this device. Tests of another model are refused unless `any_model`.
pub fn compare(
    text: &str,
    model: &Model,
    target: &Target,
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
        out.push(beside(&test, model, target, workload)?);
    }
    Ok(out)
}

fn beside(test: &Test, model: &Model, target: &Target, workload: &Workload) -> Result<Compared, OutOfDomain> {
    let deep = if test.n_depth > 0 { format!("@d{}", test.n_depth) } else { String::new() };
    let (name, asked) = match (test.n_prompt, test.n_gen, test.n_depth) {
        (0, 0, _) => ("nothing".to_owned(), None),
        (prompt, 0, depth) => {
            // Reading a prompt behind another one is not part of the contract.
            let asked = Workload { batch: 1.0, context: prompt as f64, prompt: prompt as f64, ..*workload };
            (format!("pp{prompt}"), (depth == 0).then_some((Phase::Prefill, asked, prompt as f64)))
        }
        (0, tokens, depth) => {
            // The cache grows while it runs: its middle stands for all of it.
            let context = (depth as f64 + tokens as f64 / 2.0).ceil();
            let asked = Workload { batch: 1.0, context, prompt: 1.0, ..*workload };
            (format!("tg{tokens}"), Some((Phase::Decode, asked, 1.0)))
        }
        (prompt, tokens, _) => (format!("pp{prompt}+tg{tokens}"), None),
    };
    let mut compared = Compared {
        test: name + &deep,
        threads: test.n_threads,
        tokens_per_s: test.avg_ts,
        deviation: test.stddev_ts,
        ceiling_tokens_per_s: None,
        share: None,
        gb_s: None,
        gflop_s: None,
    };
    if let Some((phase, asked, tokens)) = asked
        && let Some(total) = profile(model, target, &asked, None)?.total(phase)
    {
        let time = tokens / test.avg_ts;
        compared.ceiling_tokens_per_s = Some(total.ceiling_per_s);
        compared.share = Some(test.avg_ts / total.ceiling_per_s);
        // What was reached does not depend on the arithmetic peak.
        let pass = passed(total.flops, total.bytes, target.bandwidth, 1.0);
        let reached = layer_roofline::Inputs { time, ..pass }.evaluate()?;
        compared.gb_s = Some(reached.achieved_bandwidth);
        compared.gflop_s = Some(reached.achieved_compute);
    }
    Ok(compared)
}
