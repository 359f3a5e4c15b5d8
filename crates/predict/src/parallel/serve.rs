//! Serving many users.

use serde::{Deserialize, Serialize};

use super::performance::reach;
use super::{DeviceSet, DraftModel, Layout, LayoutPerformance, ParallelError, SpeculativeDecoding, Work};
use crate::predict::predict;
use roofline_formulas::serving;
use roofline_formulas::transformer::Inputs;

/// Smallest memory in the contract's domain, in GB; no model fits.
const MIN_GB: f64 = 1e-3;

/// Load of a server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Users {
    /// Number of concurrent users.
    pub users: f64,
    /// Prompt length, in tokens.
    pub input: f64,
    /// Output length, in tokens.
    pub output: f64,
    /// Share of each prompt that is found in the KV cache, 0 to 1.
    pub reuse: f64,
}

/// Performance of a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ServingPerformance {
    /// Number of concurrent users.
    pub users: f64,
    /// Ceiling of the output of all users, in token/s.
    pub output_ceiling: f64,
    /// Ideal output of all users with prefill interleaved, in token/s.
    pub output_rate: f64,
    /// Ideal request rate, in 1/s.
    pub request_rate: f64,
    /// Ideal request rate with separate devices for prefill and decode in the best ratio, in 1/s.
    pub apart_request_rate: f64,
    /// Lower bound of the time per output token, in s.
    pub token_least_time: f64,
    /// Ideal time per output token, in s.
    pub token_time: f64,
    /// Lower bound of the time to first token, in s.
    pub first_token_least_time: f64,
    /// Ideal time to first token without queueing, in s.
    pub time_to_first_token: f64,
    /// Complete sequences that fit next to the weights; null if a memory capacity is unknown.
    pub largest_batch: Option<f64>,
}

impl ServingPerformance {
    /// Figures of servers, by their names in conditions.
    pub const FIGURES: [&'static str; 5] =
        ["output_ceiling", "output_rate", "request_rate", "token_least_time", "token_time"];
}

impl Users {
    /// Returns the workload of one step: all users, each with half of the output generated.
    pub fn step(&self, work: &Work) -> Work {
        let context = (self.input + self.output / 2.0).floor();
        let inputs = Inputs { batch: self.users, context, prompt: self.input, ..work.inputs };
        Work { inputs, ..work.clone() }
    }
}

/// Returns the performance of one step, of the server, and the effect of speculative decoding.
pub fn serve(
    work: &Work,
    set: &DeviceSet,
    layout: Layout,
    users: &Users,
    drafting: Option<&DraftModel>,
) -> Result<(LayoutPerformance, ServingPerformance, Option<SpeculativeDecoding>), ParallelError> {
    let copies = layout.copies as f64;
    let step = users.step(work);
    let mut reached = reach(&step, set, layout)?;
    let draft = drafting.map(|drafting| drafting.for_step(&step).reach(&step, set, &reached)).transpose()?;
    let mut draft_gb = 0.0;
    if let Some(draft) = &draft {
        reached.speed_up(draft);
        draft_gb = draft.device_gb * set.devices() as f64;
    }
    // Each copy processes one prompt at a time.
    let one = |prompt: f64| {
        reach(&Work { inputs: Inputs { batch: copies, prompt, ..step.inputs }, ..step.clone() }, set, layout)
    };
    let prompt = one(users.input)?;
    // The uncached rest of a prompt takes at least one pass over the weights.
    let fresh = 1.0 - users.reuse;
    let rest = if fresh < 1.0 { one((users.input * fresh).ceil())? } else { prompt.clone() };
    let prompt_least_time = prompt.prompt_least_time.max(rest.prompt_least_time / fresh);
    let prompt_time = prompt.prompt_time.max(rest.prompt_time / fresh);
    let whole = Inputs { batch: 1.0, context: users.input + users.output, ..step.inputs };
    let (mut peak, mut weights, mut token_bytes, mut token_flops) = (0.0, 0.0, 0.0, 1.0);
    for group in &set.groups {
        let prediction = predict(whole, &work.stored, &group.target)?;
        peak += prediction.inputs.compute * group.count as f64 / copies;
        let outputs = prediction.outputs;
        let without = Inputs { expert_params: 0.0, ..prediction.inputs }.evaluate()?;
        let repeated = layout.stage() as f64 / layout.tensor as f64;
        weights = outputs.weight_bytes + (repeated - 1.0) * without.weight_bytes;
        token_bytes = (outputs.decode_bytes - outputs.pass_weight_bytes) / whole.context;
        token_flops = outputs.token_flops;
    }
    let memory = set.capacity().map(|gb| ((gb - draft_gb) / copies).max(MIN_GB));
    let of = |prompt_time: f64, step_time: f64, prompt_share: Option<f64>| {
        serving::Inputs {
            users: users.users / copies,
            reuse: users.reuse,
            prompt_share: prompt_share.unwrap_or(0.5).clamp(0.001, 0.999),
            ..serving::Inputs::new(
                users.input,
                users.output,
                memory.unwrap_or(1e9),
                weights,
                token_bytes.max(1e-3),
                token_flops,
                peak,
                prompt_time,
                step_time,
            )
        }
        .evaluate()
    };
    let least = of(prompt_least_time, reached.step_least_time, None)?;
    let ideal = of(prompt_time, reached.step_time, None)?;
    let balanced = ideal.first_token_time / ideal.request_time;
    let apart = of(prompt_time, reached.step_time, Some(balanced))?;
    let served = ServingPerformance {
        users: users.users,
        output_ceiling: copies * least.output_ceiling,
        output_rate: copies * ideal.output_rate,
        request_rate: copies * ideal.request_rate,
        apart_request_rate: copies * apart.apart_request_rate,
        token_least_time: reached.step_least_time,
        token_time: ideal.token_time,
        first_token_least_time: least.first_token_time,
        time_to_first_token: ideal.first_token_time,
        largest_batch: memory.map(|_| copies * least.largest_batch),
    };
    Ok((reached, served, draft))
}
