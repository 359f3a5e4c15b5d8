//! A small model that writes ahead for a large one.

use serde::{Deserialize, Serialize};

use super::{Fixed, Layout, ManyError, Reached, Set, Work, reach};
use roofline_formulas::speculation;
use roofline_formulas::transformer::Inputs;

/// A draft model, and how it is used.
#[derive(Clone, Debug)]
pub struct Drafting {
    /// The small model with the work of the large one.
    pub small: Work,
    /// Chance that a drafted token is accepted.
    pub accept: f64,
    /// Tokens drafted for each pass.
    pub drafts: f64,
}

/// What a draft model brings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Draft {
    /// Estimate, the tokens that a pass makes on average.
    pub tokens_per_pass: f64,
    /// Time of one drafted token in passes of the large model.
    pub draft_cost: f64,
    /// Time of checking a draft in passes over one token.
    pub check_cost: f64,
    /// Estimate, how many times as fast it is as without.
    pub speed_up: f64,
    /// Speed-up that nothing exceeds at these costs, all drafted tokens accepted.
    pub most_speed_up: f64,
    /// Acceptance at which the draft neither gains nor loses; null where no acceptance is enough.
    pub break_even: Option<f64>,
    /// Memory that the draft model takes on the fullest device, in GB.
    pub device_gb: f64,
}

/// The highest chance that the contract takes.
const SURE: f64 = 0.999_999;

impl Drafting {
    /// The same for another step of the large model: as many sequences, as long.
    pub fn beside(&self, work: &Work) -> Drafting {
        let Inputs { batch, context, prompt, .. } = work.inputs;
        let inputs = Inputs { batch, context, prompt, ..self.small.inputs };
        Drafting { small: Work { inputs, ..self.small.clone() }, ..self.clone() }
    }

    /// What the draft brings to this step, which takes the devices so long without one.
    pub fn reach(&self, work: &Work, set: &Set, one: &Reached) -> Result<Draft, ManyError> {
        let Drafting { small, accept, drafts } = self;
        let pass = Inputs { tokens_per_pass: drafts + 1.0, ..work.inputs };
        let check = reach(&Work { inputs: pass, ..work.clone() }, set, one.layout)?;
        // The small model is dealt out as suits it best.
        let mut draft: Option<Reached> = None;
        for layout in Layout::all(set, small, Fixed::default()).map_err(ManyError)? {
            let found = reach(small, set, layout)?;
            if draft.as_ref().is_none_or(|known| found.step_time < known.step_time) {
                draft = Some(found);
            }
        }
        let draft = draft.ok_or_else(|| ManyError("there is no layout for the draft model".into()))?;
        let of = |acceptance: f64, draft: f64, check: f64, one: f64| {
            let inputs = speculation::Inputs {
                draft_cost: draft / one,
                check_cost: (check / one).max(1.0),
                ..speculation::Inputs::new(acceptance.min(SURE), *drafts)
            };
            inputs.evaluate()
        };
        let likely = |acceptance: f64| of(acceptance, draft.step_time, check.step_time, one.step_time);
        let found = likely(*accept)?;
        let least = of(*accept, draft.step_least_time, check.step_least_time, one.step_least_time)?;
        // The speed-up grows with the acceptance: halve the interval in which it passes 1.
        let (mut low, mut high) = (0.0, SURE);
        let reachable = likely(high)?.speed_up >= 1.0;
        for _ in 0..50 {
            let middle = (low + high) / 2.0;
            if likely(middle)?.speed_up >= 1.0 { high = middle } else { low = middle }
        }
        Ok(Draft {
            tokens_per_pass: found.tokens_per_pass,
            draft_cost: draft.step_time / one.step_time,
            check_cost: check.step_time / one.step_time,
            speed_up: found.speed_up,
            // Whoever has a draft model may leave it out.
            most_speed_up: least.most_speed_up.max(1.0),
            break_even: reachable.then_some(high),
            device_gb: draft.device_gb,
        })
    }
}
