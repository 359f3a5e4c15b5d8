//! Ceilings of published results: amounts from the contract `transformer-v1`, rates from `expectation-v1`.
//!
//! A ceiling counts only the necessary work: the experts of a single token; for serving, the KV cache and the arithmetic of each
//! generated token; for several devices, the sum of their peaks; for speculative decoding, all draft tokens accepted.

use super::device;
use super::format;
use super::model::{self, Shape};
use super::table::{Phase, Row};
use crate::predict::{stored_bits, with_bits};
use roofline_formulas::expectation;
use roofline_formulas::hardware::devices::Device;
use roofline_formulas::transformer::{Inputs, OutOfDomain, Outputs};

/// The ceiling of a row, with the figures it is computed from.
#[derive(Clone, Debug)]
pub struct RowWithCeiling {
    /// Device of the registry.
    pub device: &'static Device,
    /// Name of the model with the dimensions.
    pub model: &'static str,
    /// Amounts, bandwidth and peak of the device, and the measured rate.
    pub inputs: expectation::Inputs,
    /// Ceiling and utilization.
    pub outputs: expectation::Outputs,
    /// True if the arithmetic peak is published; otherwise the ceiling is the memory roof alone.
    pub arithmetic: bool,
    /// Features for the comparison with other rows.
    pub(super) traits: Traits,
}

/// Properties that affect the speed in addition to the amount of work.
#[derive(Clone, Debug)]
pub(super) struct Traits {
    /// Bits per weight.
    pub bits: f64,
    pub family: model::Family,
    /// Inputs of the contract for a step.
    pub step: Inputs,
}

impl RowWithCeiling {
    /// Returns the measured speed divided by the ceiling.
    pub fn share(&self) -> f64 {
        self.outputs.ceiling_share
    }

    /// Returns the ceiling, in tokens per second.
    pub fn ceiling(&self) -> f64 {
        self.outputs.ceiling
    }
}

/// Reason why a row has no ceiling.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Uncovered {
    /// The registry does not contain the device.
    #[error("device {0:?} is not in the registry")]
    Device(String),
    /// The dimensions of the model are unknown.
    #[error("model {0:?} has unknown dimensions")]
    Model(String),
    /// The name of the format is unknown.
    #[error("unknown weight format {0:?}")]
    Format(String),
    /// The row does not state the prompt length.
    #[error("missing prompt length")]
    Prompt,
    /// A value is outside the domain of the contracts.
    #[error("{0}")]
    OutOfDomain(String),
}

impl From<OutOfDomain> for Uncovered {
    fn from(error: OutOfDomain) -> Self {
        Uncovered::OutOfDomain(error.to_string())
    }
}

/// Amounts that a step must move and compute.
struct Work {
    tokens: f64,
    bytes: f64,
    flops: f64,
}

impl Row {
    /// Computes the ceiling of the row.
    ///
    /// # Errors
    /// Returns the reason if the row has no ceiling.
    pub fn with_ceiling(&self) -> Result<RowWithCeiling, Uncovered> {
        let device = device::find(&self.device).ok_or_else(|| Uncovered::Device(self.device.clone()))?;
        let shape = model::find(&self.model).ok_or_else(|| Uncovered::Model(self.model.clone()))?;
        let label = if self.format.is_empty() { format::split(&self.model).1 } else { &self.format };
        let (min_bits, numbers) = format::parse(label).ok_or_else(|| Uncovered::Format(label.to_owned()))?;
        let step = self.step(shape, min_bits)?;
        let work = self.work(&step)?;
        let peak = format::peak(device, numbers);
        let compute = peak.or_else(|| format::fastest(device)).unwrap_or(MAX_COMPUTE / self.devices);
        let mut inputs = expectation::Inputs {
            measured: self.tokens_per_s,
            layers: shape.layers,
            ..expectation::Inputs::new(
                work.tokens,
                work.bytes,
                work.flops,
                device.bandwidth * self.devices,
                compute * self.devices,
            )
        };
        let mut outputs = evaluate(&inputs)?;
        if peak.is_none() {
            // The peak is unknown, so only the memory roof limits the ceiling.
            inputs.compute = MAX_COMPUTE;
            outputs = evaluate(&inputs)?;
            inputs.compute = compute * self.devices;
        }
        let traits =
            Traits { bits: step.dense_bits, family: model::Family::from_inputs(&shape.inputs), step };
        Ok(RowWithCeiling { device, model: &shape.name, inputs, outputs, arithmetic: peak.is_some(), traits })
    }

    /// Returns the inputs of the contract for one step of the row.
    pub(super) fn step(&self, shape: &Shape, min_bits: f64) -> Result<Inputs, Uncovered> {
        let total = shape.inputs.evaluate()?.total_params + shape.unused;
        let bits = match self.bytes {
            Some(bytes) => stored_bits(bytes.round(), total)
                .map_err(|error| Uncovered::OutOfDomain(error.to_string()))?,
            None => min_bits,
        };
        Ok(Inputs {
            tokens_per_pass: 1.0 + self.drafts,
            batch: self.batch.unwrap_or(1.0),
            context: self.context.unwrap_or(1.0).max(1.0),
            prompt: self.prompt.unwrap_or(1.0),
            // Servers may use an 8-bit KV cache without stating it.
            cache_size: if self.phase == Phase::Serving { 1.0 } else { 2.0 },
            ..with_bits(shape.inputs, bits)
        })
    }

    fn work(&self, step: &Inputs) -> Result<Work, Uncovered> {
        let all: Outputs = step.evaluate()?;
        Ok(match self.phase {
            Phase::Decode | Phase::Speculative => {
                Work { tokens: all.step_tokens, bytes: all.decode_bytes, flops: all.decode_flops }
            }
            // For a large batch, the traffic of the weights per token is negligible.
            Phase::Serving => Work { tokens: 1.0, bytes: all.cache_bytes.max(1.0), flops: all.decode_flops },
            Phase::Prefill => {
                let prompt = self.prompt.ok_or(Uncovered::Prompt)?;
                let mut work =
                    Work { tokens: all.prompt_tokens, bytes: all.prefill_bytes, flops: all.prefill_flops };
                if self.depth > 0.0 {
                    // Attention to the preceding tokens: that of the full sequence minus that of the preceding tokens alone.
                    let before = Inputs { prompt: self.depth, ..*step }.evaluate()?;
                    let both = Inputs { prompt: self.depth + prompt, ..*step }.evaluate()?;
                    let attention = both.prefill_attention_flops - before.prefill_attention_flops;
                    work.bytes = both.prefill_bytes;
                    work.flops = all.prefill_matrix_flops + all.prefill_head_flops + attention;
                }
                work
            }
        })
    }
}

/// Upper limit of arithmetic peaks, in GFLOP/s.
pub(super) const MAX_COMPUTE: f64 = 1e12;

pub(super) fn evaluate(inputs: &expectation::Inputs) -> Result<expectation::Outputs, Uncovered> {
    inputs.evaluate().map_err(|error| Uncovered::OutOfDomain(error.to_string()))
}

/// Verdict on a row.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// The speed does not exceed the ceiling.
    Possible(Box<RowWithCeiling>),
    /// The speed exceeds the ceiling.
    Impossible(Box<RowWithCeiling>),
    /// The speed does not exceed the ceiling, but the row is from the same run as an impossible one.
    Doubtful(Box<RowWithCeiling>),
    /// The row has no ceiling.
    Uncovered(Uncovered),
}

impl Verdict {
    /// Returns the row with its ceiling, if it has one.
    pub fn compared(&self) -> Option<&RowWithCeiling> {
        match self {
            Verdict::Possible(compared) | Verdict::Impossible(compared) | Verdict::Doubtful(compared) => {
                Some(compared)
            }
            Verdict::Uncovered(_) => None,
        }
    }
}

/// Judges each row. An impossible row makes the other rows of its run doubtful.
pub fn judge(rows: &[Row]) -> Vec<Verdict> {
    let compared: Vec<_> = rows.iter().map(Row::with_ceiling).collect();
    let run = |row: &Row| {
        let Row { source, device, devices, engine, backend, model, format, batch, .. } = row.clone();
        let prompt = row.prompt.unwrap_or(0.0);
        (
            source,
            device,
            engine,
            backend,
            model,
            format,
            [devices, batch.unwrap_or(0.0), prompt].map(f64::to_bits),
        )
    };
    let above = |compared: &Result<RowWithCeiling, Uncovered>| {
        compared.as_ref().is_ok_and(|compared| compared.share() > 1.0)
    };
    let suspect_runs: std::collections::BTreeSet<_> =
        rows.iter().zip(&compared).filter(|(_, compared)| above(compared)).map(|(row, _)| run(row)).collect();
    let verdicts = rows.iter().zip(compared).map(|(row, compared)| match compared {
        Err(reason) => Verdict::Uncovered(reason),
        Ok(compared) if compared.share() > 1.0 => Verdict::Impossible(Box::new(compared)),
        // Rows without a source do not share a run.
        Ok(compared) if !row.source.is_empty() && suspect_runs.contains(&run(row)) => {
            Verdict::Doubtful(Box::new(compared))
        }
        Ok(compared) => Verdict::Possible(Box::new(compared)),
    });
    verdicts.collect()
}

#[cfg(test)]
mod tests {
    use super::super::rows;
    use super::*;

    /// No valid measurement exceeds a ceiling; the sources of the exceptions are wrong.
    #[test]
    fn no_published_speed_is_above_its_ceiling() {
        let mut above = Vec::new();
        for (row, verdict) in rows().iter().zip(judge(rows())) {
            if let Verdict::Impossible(compared) = verdict
                && !row.note.starts_with("SUSPECT")
            {
                above.push(format!(
                    "{}: {} {} {} {} {}: {} exceeds {:.1}",
                    row.line,
                    row.device,
                    row.engine,
                    row.model,
                    row.format,
                    row.test,
                    row.tokens_per_s,
                    compared.ceiling()
                ));
            }
        }
        assert!(above.is_empty(), "{}", above.join("\n"));
    }

    #[test]
    fn rows_with_wrong_sources_are_detected() {
        let suspect = |row: &&Row| row.note.starts_with("SUSPECT");
        let found: Vec<usize> = rows()
            .iter()
            .zip(judge(rows()))
            .filter(|(_, verdict)| matches!(verdict, Verdict::Impossible(_) | Verdict::Doubtful(_)))
            .map(|(row, _)| row.line)
            .collect();
        let expected: Vec<usize> = rows().iter().filter(suspect).map(|row| row.line).collect();
        assert_eq!(expected.len(), 4);
        assert_eq!(found, expected);
    }

    #[test]
    fn at_least_95_percent_of_the_rows_have_a_ceiling() {
        let mut reasons = std::collections::BTreeMap::new();
        for verdict in judge(rows()) {
            if let Verdict::Uncovered(reason) = verdict {
                *reasons.entry(reason.to_string()).or_insert(0) += 1;
            }
        }
        let uncovered: usize = reasons.values().sum();
        assert!(uncovered * 20 <= rows().len(), "{reasons:#?}");
        assert_eq!(uncovered, 10, "{reasons:#?}");
    }

    #[test]
    fn ceilings_match_hand_computed_values() {
        let text = "device,model,quant,phase,test,context,batch,tokens_per_s\n\
            RTX 4090,Llama-2-7B,Q8_0,tg,tg1,1000,2,1\n\
            RTX 4090,Llama-2-7B,Q8_0,pp,pp2 @ d10,,1,1\n";
        let rows = super::super::read(text).unwrap();
        // 32 layers with 4 x 4096 x 4096 and 3 x 4096 x 11008 weights and two norms, a final norm and the head, at 8.5 bits per weight.
        let body = 32.0 * (4.0 * 4096.0 * 4096.0 + 3.0 * 4096.0 * 11008.0 + 2.0 * 4096.0) + 4096.0;
        let head = 32000.0 * 4096.0;
        let weights = (body + head) * 8.5 / 8.0;
        // Keys and values with 4096 elements in 32 layers, two bytes each.
        let cached = 32.0 * 2.0 * 4096.0 * 2.0;
        let decode = rows[0].with_ceiling().unwrap();
        assert_eq!(decode.inputs.bytes, weights + 2.0 * 1000.0 * cached);
        assert_eq!(decode.inputs.flops, 2.0 * (2.0 * (body + head) + 32.0 * 4.0 * 4096.0 * 1000.0));
        assert!((decode.ceiling() - 2.0 / (decode.inputs.bytes / 1008e9)).abs() < 1e-9);
        // Two tokens after ten others: the first attends to 11 tokens, the second to 12.
        let prompt = rows[1].with_ceiling().unwrap();
        assert_eq!(prompt.inputs.flops, 2.0 * (2.0 * body + head) + 32.0 * 4.0 * 4096.0 * 23.0);
        assert_eq!(prompt.inputs.bytes, weights + 12.0 * cached);
        assert_eq!(prompt.inputs.compute, 660_600.0);
    }
}
