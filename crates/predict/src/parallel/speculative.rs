//! Speculative decoding with a draft model.

use serde::{Deserialize, Serialize};

use super::{DeviceSet, Layout, LayoutConstraints, LayoutPerformance, ParallelError, Work, reach};
use roofline_formulas::speculation;
use roofline_formulas::transformer::Inputs;

/// Draft model and its use.
#[derive(Clone, Debug)]
pub struct DraftModel {
    /// Draft model with the workload of the target model.
    pub small: Work,
    /// Probability that a draft token is accepted.
    pub accept: f64,
    /// Draft tokens per pass.
    pub drafts: f64,
}

/// Effect of speculative decoding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SpeculativeDecoding {
    /// Ideal mean number of tokens per pass.
    pub tokens_per_pass: f64,
    /// Time of one draft token, in passes of the target model.
    pub draft_cost: f64,
    /// Time of verifying a draft, in passes over one token.
    pub check_cost: f64,
    /// Ideal speedup over decoding without drafts.
    pub speed_up: f64,
    /// Upper bound of the speedup, with all draft tokens accepted.
    pub most_speed_up: f64,
    /// Acceptance rate at which the speedup is 1; null if no rate suffices.
    pub break_even: Option<f64>,
    /// Memory of the draft model on the fullest device, in GB.
    pub device_gb: f64,
}

/// Largest acceptance rate in the contract's domain.
const MAX_ACCEPTANCE: f64 = 0.999_999;

impl DraftModel {
    /// Returns the draft model with the batch size and lengths of `work`.
    pub fn for_step(&self, work: &Work) -> DraftModel {
        let Inputs { batch, context, prompt, .. } = work.inputs;
        let inputs = Inputs { batch, context, prompt, ..self.small.inputs };
        DraftModel { small: Work { inputs, ..self.small.clone() }, ..self.clone() }
    }

    /// Evaluates speculative decoding for a step whose performance without drafts is `plain`.
    pub fn reach(
        &self,
        work: &Work,
        set: &DeviceSet,
        plain: &LayoutPerformance,
    ) -> Result<SpeculativeDecoding, ParallelError> {
        let DraftModel { small, accept, drafts } = self;
        let pass = Inputs { tokens_per_pass: drafts + 1.0, ..work.inputs };
        let check = reach(&Work { inputs: pass, ..work.clone() }, set, plain.layout)?;
        // The draft model uses its own fastest layout.
        let mut draft: Option<LayoutPerformance> = None;
        for layout in Layout::all(set, small, LayoutConstraints::default()).map_err(ParallelError)? {
            let found = reach(small, set, layout)?;
            if draft.as_ref().is_none_or(|known| found.step_time < known.step_time) {
                draft = Some(found);
            }
        }
        let draft =
            draft.ok_or_else(|| ParallelError("the draft model has no layout on these devices".into()))?;
        let of = |acceptance: f64, draft: f64, check: f64, one: f64| {
            let inputs = speculation::Inputs {
                draft_cost: draft / one,
                check_cost: (check / one).max(1.0),
                ..speculation::Inputs::new(acceptance.min(MAX_ACCEPTANCE), *drafts)
            };
            inputs.evaluate()
        };
        let ideal = |acceptance: f64| of(acceptance, draft.step_time, check.step_time, plain.step_time);
        let found = ideal(*accept)?;
        let least = of(*accept, draft.step_least_time, check.step_least_time, plain.step_least_time)?;
        // The speedup grows with the acceptance rate, so bisect for 1.
        let (mut low, mut high) = (0.0, MAX_ACCEPTANCE);
        let reachable = ideal(high)?.speed_up >= 1.0;
        for _ in 0..50 {
            let middle = (low + high) / 2.0;
            if ideal(middle)?.speed_up >= 1.0 { high = middle } else { low = middle }
        }
        Ok(SpeculativeDecoding {
            tokens_per_pass: found.tokens_per_pass,
            draft_cost: draft.step_time / plain.step_time,
            check_cost: check.step_time / plain.step_time,
            speed_up: found.speed_up,
            // Drafting is optional, so the ceiling never drops.
            most_speed_up: least.most_speed_up.max(1.0),
            break_even: reachable.then_some(high),
            device_gb: draft.device_gb,
        })
    }
}
