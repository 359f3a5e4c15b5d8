//! A row beside the ceiling of its work. The amounts are those of the contract `transformer-v1`, the rates those of
//! `expectation-v1`; this module says what a row asks of them.
//!
//! A ceiling takes no more than what must be done: of the experts those of one token, of a server the cache and the
//! arithmetic of each token it makes, of several devices the sum of their figures, of a draft all tokens accepted.

use super::device;
use super::format;
use super::model::{self, Shape};
use super::table::{Phase, Row};
use crate::predict::{stored_bits, with_bits};
use roofline_formulas::expectation;
use roofline_formulas::hardware::devices::Device;
use roofline_formulas::transformer::{Inputs, OutOfDomain, Outputs};

/// A row with what it was measured against.
#[derive(Clone, Debug)]
pub struct Beside {
    /// The device whose figures were taken.
    pub device: &'static Device,
    /// The model whose dimensions were taken.
    pub model: &'static str,
    /// The work: amounts and the device's figures, with the measured rate.
    pub inputs: expectation::Inputs,
    /// What comes of it.
    pub outputs: expectation::Outputs,
    /// Whether the arithmetic peak is published; without it only memory bounds the row.
    pub arithmetic: bool,
    /// What rows alike are told by.
    pub(super) traits: Traits,
}

/// What the speed of a row depends on beside its work.
#[derive(Clone, Debug)]
pub(super) struct Traits {
    /// Bits of a weight.
    pub bits: f64,
    /// How the model mixes.
    pub family: model::Family,
    /// The contract's inputs, for what a step is likely to read.
    pub step: Inputs,
}

impl Beside {
    /// Share of the ceiling that the row reached.
    pub fn share(&self) -> f64 {
        self.outputs.ceiling_share
    }

    /// The ceiling, in tokens per second.
    pub fn ceiling(&self) -> f64 {
        self.outputs.ceiling
    }
}

/// Why a row has no ceiling.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Uncovered {
    /// The registry has no such device.
    #[error("device {0:?} is not in the registry")]
    Device(String),
    /// The dimensions of the model are not known.
    #[error("the dimensions of model {0:?} are not known")]
    Model(String),
    /// The name of the format is not known.
    #[error("format {0:?} is not known")]
    Format(String),
    /// The row does not say how long the prompt was.
    #[error("the length of the prompt is not given")]
    Prompt,
    /// A figure is outside of what the contracts take.
    #[error("{0}")]
    OutOfDomain(String),
}

impl From<OutOfDomain> for Uncovered {
    fn from(error: OutOfDomain) -> Self {
        Uncovered::OutOfDomain(error.to_string())
    }
}

/// What a step of a row must move and compute.
struct Work {
    tokens: f64,
    bytes: f64,
    flops: f64,
}

impl Row {
    /// The row beside its ceiling.
    pub fn beside(&self) -> Result<Beside, Uncovered> {
        let device = device::of(&self.device).ok_or_else(|| Uncovered::Device(self.device.clone()))?;
        let shape = model::of(&self.model).ok_or_else(|| Uncovered::Model(self.model.clone()))?;
        let label = if self.format.is_empty() { format::split(&self.model).1 } else { &self.format };
        let (least_bits, numbers) = format::of(label).ok_or_else(|| Uncovered::Format(label.to_owned()))?;
        let step = self.step(shape, least_bits)?;
        let work = self.work(&step)?;
        let peak = format::peak(device, numbers);
        let compute = peak.or_else(|| format::fastest(device)).unwrap_or(HIGHEST / self.devices);
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
        let mut outputs = evaluated(&inputs)?;
        if peak.is_none() {
            // Nothing is known of its arithmetic but that it takes some time.
            inputs.compute = HIGHEST;
            outputs = evaluated(&inputs)?;
            inputs.compute = compute * self.devices;
        }
        let traits = Traits { bits: step.dense_bits, family: model::Family::of(&shape.inputs), step };
        Ok(Beside { device, model: &shape.name, inputs, outputs, arithmetic: peak.is_some(), traits })
    }

    /// The contract's inputs for one step of the row.
    pub(super) fn step(&self, shape: &Shape, least_bits: f64) -> Result<Inputs, Uncovered> {
        let total = shape.inputs.evaluate()?.total_params + shape.unused;
        let bits = match self.bytes {
            Some(bytes) => stored_bits(bytes.round(), total)
                .map_err(|error| Uncovered::OutOfDomain(error.to_string()))?,
            None => least_bits,
        };
        Ok(Inputs {
            tokens_per_pass: 1.0 + self.drafts,
            batch: self.batch.unwrap_or(1.0),
            context: self.context.unwrap_or(1.0).max(1.0),
            prompt: self.prompt.unwrap_or(1.0),
            // A server may keep its cache in 8 bits and does not always say so.
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
            // So many sequences that the weights count for nothing.
            Phase::Serving => Work { tokens: 1.0, bytes: all.cache_bytes.max(1.0), flops: all.decode_flops },
            Phase::Prefill => {
                let prompt = self.prompt.ok_or(Uncovered::Prompt)?;
                let mut work =
                    Work { tokens: all.prompt_tokens, bytes: all.prefill_bytes, flops: all.prefill_flops };
                if self.depth > 0.0 {
                    // What the prompt sees of the tokens before it: that of both together without that of the first.
                    let before = Inputs { prompt: self.depth, ..*step }.evaluate()?;
                    let both = Inputs { prompt: self.depth + prompt, ..*step }.evaluate()?;
                    let seen = both.prefill_attention_flops - before.prefill_attention_flops;
                    work.bytes = both.prefill_bytes;
                    work.flops = all.prefill_matrix_flops + all.prefill_head_flops + seen;
                }
                work
            }
        })
    }
}

/// More arithmetic than any device has, in GFLOP/s.
pub(super) const HIGHEST: f64 = 1e12;

pub(super) fn evaluated(inputs: &expectation::Inputs) -> Result<expectation::Outputs, Uncovered> {
    inputs.evaluate().map_err(|error| Uncovered::OutOfDomain(error.to_string()))
}

/// What can be said of a row.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Within its ceiling.
    Possible(Box<Beside>),
    /// Above its ceiling.
    Impossible(Box<Beside>),
    /// Within its ceiling, but of the same run as a row above its own.
    Doubtful(Box<Beside>),
    /// It has no ceiling.
    Uncovered(Uncovered),
}

impl Verdict {
    /// The row beside its ceiling, where it has one.
    pub fn beside(&self) -> Option<&Beside> {
        match self {
            Verdict::Possible(beside) | Verdict::Impossible(beside) | Verdict::Doubtful(beside) => {
                Some(beside)
            }
            Verdict::Uncovered(_) => None,
        }
    }
}

/// A verdict on each row. What one run printed stands and falls together.
pub fn judge(rows: &[Row]) -> Vec<Verdict> {
    let beside: Vec<_> = rows.iter().map(Row::beside).collect();
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
    let above = |beside: &Result<Beside, Uncovered>| beside.as_ref().is_ok_and(|beside| beside.share() > 1.0);
    let doubted: std::collections::BTreeSet<_> =
        rows.iter().zip(&beside).filter(|(_, beside)| above(beside)).map(|(row, _)| run(row)).collect();
    let verdicts = rows.iter().zip(beside).map(|(row, beside)| match beside {
        Err(reason) => Verdict::Uncovered(reason),
        Ok(beside) if beside.share() > 1.0 => Verdict::Impossible(Box::new(beside)),
        // Rows without a source have no run to share.
        Ok(beside) if !row.source.is_empty() && doubted.contains(&run(row)) => {
            Verdict::Doubtful(Box::new(beside))
        }
        Ok(beside) => Verdict::Possible(Box::new(beside)),
    });
    verdicts.collect()
}

#[cfg(test)]
mod tests {
    use super::super::rows;
    use super::*;

    /// The promise of every ceiling: nobody exceeds it. The rows that do are those that their sources got wrong.
    #[test]
    fn no_published_speed_is_above_its_ceiling() {
        let mut above = Vec::new();
        for (row, verdict) in rows().iter().zip(judge(rows())) {
            if let Verdict::Impossible(beside) = verdict
                && !row.note.starts_with("SUSPECT")
            {
                above.push(format!(
                    "{}: {} {} {} {} {}: {} of at most {:.1}",
                    row.line,
                    row.device,
                    row.engine,
                    row.model,
                    row.format,
                    row.test,
                    row.tokens_per_s,
                    beside.ceiling()
                ));
            }
        }
        assert!(above.is_empty(), "{}", above.join("\n"));
    }

    #[test]
    fn the_rows_that_their_source_got_wrong_are_found() {
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
    fn nineteen_rows_of_twenty_have_a_ceiling_and_the_rest_has_a_reason() {
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
    fn a_ceiling_is_worked_out_by_hand() {
        let text = "device,model,quant,phase,test,context,batch,tokens_per_s\n\
            RTX 4090,Llama-2-7B,Q8_0,tg,tg1,1000,2,1\n\
            RTX 4090,Llama-2-7B,Q8_0,pp,pp2 @ d10,,1,1\n";
        let rows = super::super::read(text).unwrap();
        // 32 layers of 4 x 4096 x 4096 and 3 x 4096 x 11008 weights and two norms, one more norm, the head: in 8.5 bits.
        let body = 32.0 * (4.0 * 4096.0 * 4096.0 + 3.0 * 4096.0 * 11008.0 + 2.0 * 4096.0) + 4096.0;
        let head = 32000.0 * 4096.0;
        let weights = (body + head) * 8.5 / 8.0;
        // Keys and values of 4096 numbers in 32 layers, two bytes each.
        let cached = 32.0 * 2.0 * 4096.0 * 2.0;
        let decode = rows[0].beside().unwrap();
        assert_eq!(decode.inputs.bytes, weights + 2.0 * 1000.0 * cached);
        assert_eq!(decode.inputs.flops, 2.0 * (2.0 * (body + head) + 32.0 * 4.0 * 4096.0 * 1000.0));
        assert!((decode.ceiling() - 2.0 / (decode.inputs.bytes / 1008e9)).abs() < 1e-9);
        // Two tokens behind ten: the first sees 11, the second 12.
        let prompt = rows[1].beside().unwrap();
        assert_eq!(prompt.inputs.flops, 2.0 * (2.0 * body + head) + 32.0 * 4.0 * 4096.0 * 23.0);
        assert_eq!(prompt.inputs.bytes, weights + 12.0 * cached);
        assert_eq!(prompt.inputs.compute, 660_600.0);
    }
}
