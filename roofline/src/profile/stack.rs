//! Stacks of dense and convolution layers, as networks for images and small classifiers are: what each layer costs for a batch of
//! samples, by `operation-v1`. A file of weights says neither how large the input of a convolution is nor how it steps: the
//! caller does, and what nobody says is undefined.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Cost, Costs, OutOfDomain, Phase, Total, describe, evaluate, kept, roofs, stored};
use crate::contracts::operation::Inputs;
use crate::model::{Basis, Dtype, Kind, Model, Operation, Role, Runs, Work};
use crate::predict::{Target, stored_bits};
use crate::word::Bound;

/// Bytes of one input or output number.
pub const ACTIVATION: f64 = 4.0;

/// What a file does not say about a convolution: `64x56x56/2/1` is 64 channels of 56 x 56 numbers, a stride of 2, a padding of 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The size in each dimension, the channels before it or not.
    pub size: Vec<u64>,
    /// The step; 1 where it is not said.
    pub stride: Option<u64>,
    /// Zeros at both ends; so many that a stride of 1 keeps the size, where it is not said.
    pub padding: Option<u64>,
}

impl FromStr for Input {
    type Err = String;

    fn from_str(text: &str) -> Result<Input, String> {
        let number = |text: &str| match text.parse::<u64>() {
            Ok(number) if number <= 1_000_000 => Ok(number),
            _ => Err(format!("`{text}` is not a whole number up to 1000000")),
        };
        let mut parts = text.split('/');
        let size = parts.next().unwrap_or_default().split('x').map(number).collect::<Result<Vec<_>, _>>()?;
        let stride = parts.next().map(number).transpose()?;
        let padding = parts.next().map(number).transpose()?;
        if size.len() > 4 || size.contains(&0) || stride == Some(0) || parts.next().is_some() {
            return Err("a size is CHANNELSxHEIGHTxWIDTH, all above zero, then /STRIDE and /PADDING".into());
        }
        Ok(Input { size, stride, padding })
    }
}

/// What a pass of all samples through all layers costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "program", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Pass {
    /// Operations.
    pub flops: f64,
    /// Bytes of weights.
    pub weight_bytes: f64,
    /// Bytes of inputs and outputs.
    pub activation_bytes: f64,
    /// All bytes.
    pub bytes: f64,
    /// Operations for each byte.
    pub intensity: f64,
    /// The least time, in s, if moving bytes and arithmetic overlap over all layers.
    pub time_s: f64,
    /// The sum of the layers' least times, in s.
    pub in_sequence_s: f64,
    /// The ceiling in samples per second.
    pub samples_per_s: f64,
    /// What holds it back.
    pub bound: Bound,
}

/// Whether a model is nothing but dense layers, convolutions and what stands between them, or works on images alone.
pub fn is_stack(model: &Model) -> bool {
    let operations = &model.architecture.operations;
    let for_an_input = |operation: &Operation| matches!(operation.runs, Runs::Input { .. });
    if !operations.is_empty() && operations.iter().all(for_an_input) {
        return true;
    }
    model.architecture.basis == Basis::Tensors
        && operations
            .iter()
            .all(|operation| matches!(operation.role.kind(), Kind::Norm | Kind::Head | Kind::Other))
        && operations
            .iter()
            .any(|operation| matches!(operation.work, Work::Product { .. } | Work::Convolution { .. }))
}

/// What each layer of a stack costs on a device. `input` is asked for every convolution, by name.
pub fn profile(
    model: &Model,
    target: &Target,
    batch: f64,
    change: Option<Dtype>,
    input: impl Fn(&str, &Operation) -> Option<Input>,
) -> Result<Costs, OutOfDomain> {
    let mut entries = Vec::new();
    let common = Inputs { batch, activation_size: ACTIVATION, ..roofs(target) };
    common.evaluate()?;
    for (index, operation) in model.architecture.operations.iter().enumerate() {
        if operation.work == Work::Unused {
            continue;
        }
        let mut entry = describe(model, operation, index, change);
        let cost = if let Runs::Input { .. } = operation.runs {
            for_an_input(model, operation, common, change)
        } else {
            entry.role = match operation.work {
                Work::Product { .. } => Role::Dense,
                Work::Convolution { .. } => Role::Convolution,
                _ => entry.role,
            };
            entry.kind = entry.role.kind();
            let input = input(&entry.name, operation);
            layer(model, operation, common, change, input.as_ref())
        };
        match cost {
            Err(reason) => entry.undefined = Some(reason),
            Ok((shape, cost)) => {
                entry.parameters = operation.parameters as f64;
                entry.pass = Some(cost);
                entry.shape = Some(shape);
            }
        }
        entries.push(entry);
    }
    let overhead = target.overhead.unwrap_or(0.0);
    let pass = super::total(&mut entries, Phase::Pass, common, overhead, batch)?;
    let pass = pass.map(Pass::from);
    Ok(Costs { entries, decode: None, prefill: None, pass, kept: kept(model, change), common })
}

/// What runs so often for each image, as the contract's inputs, and what it costs; or why nobody can say.
fn for_an_input(
    model: &Model,
    operation: &Operation,
    common: Inputs,
    change: Option<Dtype>,
) -> Result<(Inputs, Cost), String> {
    let shape = super::shape(model, operation, common, false, change)?;
    let shape = Inputs { prefill: 1.0, activation_size: ACTIVATION, ..shape };
    Ok((shape, Cost::of(&evaluate(&shape)?)))
}

/// A layer as the contract's inputs, and what it costs; or why nobody can say.
fn layer(
    model: &Model,
    operation: &Operation,
    common: Inputs,
    change: Option<Dtype>,
    input: Option<&Input>,
) -> Result<(Inputs, Cost), String> {
    let bits_per_weight =
        weights(model, operation, change).ok_or("its weights are missing or of a type of unknown size")?;
    let blank = Inputs { bits_per_weight, ..common };
    let shape = match &operation.work {
        // The bias is left out, as it is of a convolution.
        Work::Product { rows, cols } => Inputs {
            dense_params: *rows as f64 * *cols as f64,
            in_features: *cols as f64,
            out_features: *rows as f64,
            ..blank
        },
        Work::Convolution { outputs, inputs, kernel } => {
            let input = input.ok_or("the size of its input is not in the file")?;
            placed(blank, *outputs, *inputs, kernel, input)?
        }
        Work::Undefined { reason } => return Err(reason.clone()),
        _ => {
            return Err(
                "works on as many numbers as the layers around it, which the file does not say".into()
            );
        }
    };
    let outputs = evaluate(&shape)?;
    if shape.in_channels > 0.0 && outputs.output_size == 0.0 {
        return Err("its kernel is larger than its input".into());
    }
    Ok((shape, Cost::of(&outputs)))
}

/// A convolution with the size of its input.
fn placed(blank: Inputs, outputs: u64, inputs: u64, kernel: &[u64], input: &Input) -> Result<Inputs, String> {
    let rank = kernel.len();
    let (channels, size) = match input.size.as_slice() {
        size if size.len() == rank => (inputs, size),
        [channels, size @ ..] if size.len() == rank => (*channels, size),
        other => {
            let found = other.len();
            return Err(format!(
                "its input has {rank} dimension(s) and perhaps channels, not {found} numbers"
            ));
        }
    };
    let groups = channels / inputs.max(1);
    if groups == 0 || !channels.is_multiple_of(inputs.max(1)) || !outputs.is_multiple_of(groups) {
        return Err(format!("its weights take {inputs} channels or groups of them, not {channels}"));
    }
    let stride = input.stride.unwrap_or(1) as f64;
    // Missing dimensions in front are 1.
    let of = |numbers: &[u64], back: usize, missing: u64| {
        let at = numbers.len().checked_sub(back);
        at.and_then(|at| numbers.get(at)).copied().unwrap_or(missing) as f64
    };
    let there = |back: usize| back <= rank;
    let step = |back: usize| if there(back) { stride } else { 1.0 };
    let pad = |back: usize| match input.padding {
        _ if !there(back) => 0.0,
        Some(padding) => padding as f64,
        None => ((of(kernel, back, 1) - 1.0) / 2.0).floor(),
    };
    Ok(Inputs {
        in_channels: channels as f64,
        out_channels: outputs as f64,
        groups: groups as f64,
        input_depth: of(size, 3, 1),
        input_height: of(size, 2, 1),
        input_width: of(size, 1, 1),
        kernel_depth: of(kernel, 3, 1),
        kernel_height: of(kernel, 2, 1),
        kernel_width: of(kernel, 1, 1),
        stride_depth: step(3),
        stride_height: step(2),
        stride_width: step(1),
        padding_depth: pad(3),
        padding_height: pad(2),
        padding_width: pad(1),
        ..blank
    })
}

/// Bits of one weight of the layer's matrix or kernels, as stored or in another type.
fn weights(model: &Model, operation: &Operation, change: Option<Dtype>) -> Option<f64> {
    let tensors = operation.tensors.iter().filter_map(|index| model.tensors.get(*index));
    let tensor = tensors.max_by_key(|tensor| tensor.elements())?;
    stored_bits(stored(tensor, change)? as f64, tensor.elements() as f64).ok()
}

impl From<Total> for Pass {
    fn from(total: Total) -> Pass {
        Pass {
            flops: total.flops,
            weight_bytes: total.weight_bytes,
            activation_bytes: total.activation_bytes,
            bytes: total.bytes,
            intensity: total.intensity,
            time_s: total.time_s,
            in_sequence_s: total.in_sequence_s,
            samples_per_s: total.tokens_per_s,
            bound: total.bound,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_has_a_size_and_perhaps_a_stride_and_a_padding() {
        let read = |text: &str| text.parse::<Input>();
        let input = |size: &[u64], stride, padding| Input { size: size.to_vec(), stride, padding };
        assert_eq!(read("3x224x224"), Ok(input(&[3, 224, 224], None, None)));
        assert_eq!(read("16000/320/5"), Ok(input(&[16000], Some(320), Some(5))));
        for wrong in ["", "x", "3x", "3x0x4", "1x1x1x1x1", "8/0", "8/1/1/1", "-8", "8x8/two", "99999999"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
