//! Many users of one model.

use serde::{Deserialize, Serialize};

use super::performance::reach;
use super::{Draft, Drafting, Layout, ManyError, Reached, Set, Work};
use crate::predict::predict;
use roofline_formulas::serving;
use roofline_formulas::transformer::Inputs;

/// The least memory that the contract takes, in GB: none that a model fits in.
const LEAST_GB: f64 = 1e-3;

/// What users ask for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Users {
    /// How many are answered at once.
    pub users: f64,
    /// Tokens of each prompt.
    pub input: f64,
    /// Tokens of each answer.
    pub output: f64,
    /// Share of each prompt whose cache is still there.
    pub reuse: f64,
}

/// What a server reaches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Served {
    /// Users that are answered at once.
    pub users: f64,
    /// Tokens of answers per second, of all users, that nothing exceeds.
    pub output_ceiling: f64,
    /// Estimate, the tokens of answers per second, prompts read between the steps.
    pub output_rate: f64,
    /// Estimate, the requests per second.
    pub request_rate: f64,
    /// Estimate, the same with some devices for prompts and the others for answers, as many as balance both.
    pub apart_request_rate: f64,
    /// Seconds between two tokens of a user that nothing beats.
    pub token_least_time: f64,
    /// Estimate, the seconds between two tokens of a user.
    pub token_time: f64,
    /// Seconds to the first token that nothing beats.
    pub first_token_least_time: f64,
    /// Estimate, the seconds to the first token of a user who waits for nobody.
    pub time_to_first_token: f64,
    /// Whole sequences that fit beside the weights; null where the memory of a device is not known.
    pub largest_batch: Option<f64>,
}

impl Served {
    /// The figures that only a server has, as conditions name them.
    pub const FIGURES: [&'static str; 5] =
        ["output_ceiling", "output_rate", "request_rate", "token_least_time", "token_time"];
}

impl Users {
    /// The work of one step: all users, half of their answers written.
    pub fn step(&self, work: &Work) -> Work {
        let context = (self.input + self.output / 2.0).floor();
        let inputs = Inputs { batch: self.users, context, prompt: self.input, ..work.inputs };
        Work { inputs, ..work.clone() }
    }
}

/// What the users get from these devices in this layout, the step behind it, and what a draft model brings to that.
pub fn serve(
    work: &Work,
    set: &Set,
    layout: Layout,
    users: &Users,
    drafting: Option<&Drafting>,
) -> Result<(Reached, Served, Option<Draft>), ManyError> {
    let copies = layout.copies as f64;
    let step = users.step(work);
    let mut reached = reach(&step, set, layout)?;
    let draft = drafting.map(|drafting| drafting.beside(&step).reach(&step, set, &reached)).transpose()?;
    let mut beside = 0.0;
    if let Some(draft) = &draft {
        reached.speed_up(draft);
        beside = draft.device_gb * set.devices() as f64;
    }
    // Each copy reads one prompt at a time.
    let one = |prompt: f64| {
        reach(&Work { inputs: Inputs { batch: copies, prompt, ..step.inputs }, ..step.clone() }, set, layout)
    };
    let prompt = one(users.input)?;
    // What must be read of a prompt takes a pass over the weights, however little it is.
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
    let memory = set.capacity().map(|gb| ((gb - beside) / copies).max(LEAST_GB));
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
    let likely = of(prompt_time, reached.step_time, None)?;
    let balanced = likely.first_token_time / likely.request_time;
    let apart = of(prompt_time, reached.step_time, Some(balanced))?;
    let served = Served {
        users: users.users,
        output_ceiling: copies * least.output_ceiling,
        output_rate: copies * likely.output_rate,
        request_rate: copies * likely.request_rate,
        apart_request_rate: copies * apart.apart_request_rate,
        token_least_time: reached.step_least_time,
        token_time: likely.token_time,
        first_token_least_time: least.first_token_time,
        time_to_first_token: likely.first_token_time,
        largest_batch: memory.map(|_| copies * least.largest_batch),
    };
    Ok((reached, served, draft))
}
