//! Feed-forward models of dense and convolution layers: the cost of each layer for a batch of samples, by `operation-v1`.
//!
//! Weight files contain neither input sizes nor strides of convolutions, so the caller provides them; layers without them have
//! an unknown cost.

use std::str::FromStr;

use super::cnn::{self, Kernels, Shapes};
use super::{Costs, Entry, OutOfDomain, Phase, describe, evaluate, kind, roofs, stored, unconverted};
use crate::predict::{DeviceProfile, Numbers, stored_bits};
use roofline_formulas::operation::Inputs;
use roofline_models::{Basis, Dtype, Kind, Model, Operation, Role, Runs, Work};

/// Bytes per activation.
pub const ACTIVATION: f64 = 4.0;

/// Input of a convolution that weight files do not contain.
///
/// `64x56x56/2/1` is 64 channels of 56x56, stride 2, padding 1. `/t2/1` is a transposed convolution whose input comes from
/// preceding layers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// Size per dimension, optionally preceded by the channels; empty to use the output of preceding layers.
    pub size: Vec<u64>,
    /// True for a transposed convolution; by default inferred from its name and channels.
    pub transposed: Option<bool>,
    /// Stride; 1 by default.
    pub stride: Option<u64>,
    /// Padding at both ends; by default the size is kept at stride 1.
    pub padding: Option<u64>,
    /// Dilation; 1 by default.
    pub dilation: Option<u64>,
    /// Output padding of a transposed convolution, at one end.
    pub extra: Option<u64>,
}

impl FromStr for Input {
    type Err = String;

    fn from_str(text: &str) -> Result<Input, String> {
        let number = |text: &str| match text.parse::<u64>() {
            Ok(number) if number <= 1_000_000 => Ok(number),
            _ => Err(format!("invalid number `{text}`; expected an integer up to 1000000")),
        };
        let mut parts = text.split('/');
        let size = match parts.next().unwrap_or_default() {
            "" if text.is_empty() => return Err("missing size; expected CHANNELSxHEIGHTxWIDTH".into()),
            "" => Vec::new(),
            size => size.split('x').map(number).collect::<Result<Vec<_>, _>>()?,
        };
        let stride = parts.next();
        let transposed = stride.map(|stride| stride.starts_with('t'));
        let stride = stride.map(|stride| number(stride.strip_prefix('t').unwrap_or(stride))).transpose()?;
        let mut next = || parts.next().map(number).transpose();
        let (padding, dilation, extra) = (next()?, next()?, next()?);
        let zero = [stride, dilation].contains(&Some(0)) || size.contains(&0);
        if size.len() > 4 || zero || parts.next().is_some() {
            return Err(format!(
                "invalid size `{text}`; expected CHANNELSxHEIGHTxWIDTH[/STRIDE[/PADDING[/DILATION[/EXTRA]]]] with positive sizes, \
                 and /tSTRIDE for a transposed convolution"
            ));
        }
        Ok(Input { size, transposed, stride, padding, dilation, extra })
    }
}

/// Returns true if a model consists of dense layers, convolutions and norms, or only processes images.
pub fn is_feed_forward(model: &Model) -> bool {
    let operations = &model.architecture.operations;
    let runs_per_image = |operation: &Operation| matches!(operation.runs, Runs::Input { .. });
    if !operations.is_empty() && operations.iter().all(runs_per_image) {
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

/// Returns the costs of each layer on a device.
///
/// `network` is the input of the first convolution, whose size is propagated through the layers. `input` returns overrides for
/// a convolution by name.
pub fn profile(
    model: &Model,
    target: &DeviceProfile,
    batch: f64,
    change: Option<Dtype>,
    network: Option<&Input>,
    input: impl Fn(&str) -> Option<Input>,
) -> Result<Costs, OutOfDomain> {
    let common = Inputs { batch, activation_size: ACTIVATION, ..roofs(target) };
    common.evaluate()?;
    let mut entries = Vec::new();
    let mut open = Vec::new();
    for (index, operation) in model.architecture.operations.iter().enumerate() {
        if operation.work == Work::Unused {
            continue;
        }
        let mut entry = describe(model, operation, index, change);
        entry.set_rates(target, kind(model, operation, change, Numbers::Half));
        if let Runs::Input { .. } = operation.runs {
            entry.set_cost(operation, batch, image_operation(model, operation, change));
        } else {
            entry.role = match operation.work {
                Work::Product { .. } => Role::Dense,
                Work::Convolution { .. } => Role::Convolution,
                _ => entry.role,
            };
            entry.kind = entry.role.kind();
            open.push(entries.len());
        }
        entries.push(entry);
    }
    // Files sorted by name have lost the execution order, so order the layers by the numbers in their names. Files in any other
    // order are assumed to be in execution order. Layers that wait for an input are retried after the others.
    let in_order = |a: &Entry, b: &Entry| a.dtype != b.dtype || a.name <= b.name;
    if open.windows(2).all(|pair| in_order(&entries[pair[0]], &entries[pair[1]])) {
        open.sort_by_cached_key(|place| cnn::natural_key(&entries[*place].name));
    }
    let mut shapes = Shapes::new(network);
    loop {
        let before = open.len();
        open.retain(|place| {
            let entry = &mut entries[*place];
            let Some(operation) = model.architecture.operations.get(entry.operation) else { return false };
            let own = input(&entry.name);
            let blank = Inputs { batch, ..Inputs::new(1.0, 1.0) };
            let Some(shape) = layer(model, operation, &entry.name, blank, change, own, &mut shapes) else {
                return true;
            };
            entry.set_cost(operation, batch, shape);
            false
        });
        if open.len() == before {
            break;
        }
    }
    for place in open {
        let reason = match (shapes.is_empty(), &entries[place].role) {
            (false, Role::Convolution) => "no preceding layer has matching channels",
            (true, Role::Convolution) => "the input size is not in the file",
            _ => "its size depends on neighboring layers and is not in the file",
        };
        entries[place].undefined = Some(reason.to_owned());
    }
    let overhead = target.overhead.unwrap_or(0.0);
    let pass = super::total(&mut entries, Phase::Pass, common, overhead, batch)?;
    Ok(Costs { entries, decode: None, prefill: None, pass, kept: unconverted(model, change), common })
}

impl Entry {
    /// Sets the cost of an operation for a batch, or the reason why it is unknown.
    fn set_cost(&mut self, operation: &Operation, batch: f64, shape: Result<Inputs, String>) {
        let shape =
            shape.map(|shape| self.at_device_rates(Inputs { batch, activation_size: ACTIVATION, ..shape }));
        match shape.and_then(|shape| Ok((shape, self.cost_of(&shape)?))) {
            Err(reason) => self.undefined = Some(reason),
            Ok((shape, cost)) => {
                self.parameters = operation.parameters as f64;
                self.pass = Some(cost);
                self.shape = Some(shape);
            }
        }
    }
}

/// Inputs of `operation-v1` for an operation that runs per image, or the reason why they are unknown.
fn image_operation(model: &Model, operation: &Operation, change: Option<Dtype>) -> Result<Inputs, String> {
    Ok(Inputs { prefill: 1.0, ..super::shape(model, operation, false, change)? })
}

/// Inputs of `operation-v1` for a layer, or the reason why they are unknown; `None` if the layer still waits for its input.
fn layer(
    model: &Model,
    operation: &Operation,
    name: &str,
    common: Inputs,
    change: Option<Dtype>,
    own: Option<Input>,
    shapes: &mut Shapes,
) -> Option<Result<Inputs, String>> {
    let Some(bits_per_weight) = weights(model, operation, change) else {
        return Some(Err("a weight tensor is missing or has a type of unknown size".into()));
    };
    let blank = Inputs { bits_per_weight, ..common };
    let shape = match &operation.work {
        // Biases are not counted, here and for convolutions.
        Work::Product { rows, cols } => Ok(Inputs {
            dense_params: *rows as f64 * *cols as f64,
            in_features: *cols as f64,
            out_features: *rows as f64,
            ..blank
        }),
        Work::Convolution { outputs, inputs, kernel } => {
            let tensors = operation.tensors.iter().filter_map(|index| model.tensors.get(*index));
            let bias = tensors.map(|tensor| tensor.dims.as_slice()).find_map(|dims| match dims {
                [outputs] => Some(*outputs),
                _ => None,
            });
            let kernels = Kernels { name, first: *outputs, second: *inputs, kernel, bias };
            shapes.place(&kernels, own)?.and_then(|placed| placed.shape(blank, &kernels))
        }
        // Vectors with one element per channel: the scale of a norm is multiplied at every position; the rest belongs to it.
        Work::Vector { elements } => {
            let positions = shapes.positions(*elements)?;
            let meets = name.ends_with(".weight");
            Ok(Inputs {
                dense_params: *elements as f64,
                tokens: if meets { positions as f64 } else { 1.0 },
                elements: if meets { *elements as f64 } else { 0.0 },
                ..blank
            })
        }
        Work::Undefined { reason } => Err(reason.clone()),
        _ => Err("its size depends on neighboring layers and is not in the file".into()),
    };
    Some(shape.and_then(|shape| {
        let outputs = evaluate(&shape)?;
        if shape.in_channels > 0.0 {
            if outputs.output_size == 0.0 {
                return Err("the kernel is larger than the input".into());
            }
            shapes.record(&shape, &outputs);
        }
        Ok(shape)
    }))
}

/// Bits per weight of the largest tensor, as stored or converted.
fn weights(model: &Model, operation: &Operation, change: Option<Dtype>) -> Option<f64> {
    let tensors = operation.tensors.iter().filter_map(|index| model.tensors.get(*index));
    let tensor = tensors.max_by_key(|tensor| tensor.elements())?;
    stored_bits(stored(tensor, change)? as f64, tensor.elements() as f64).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_have_a_size_and_optional_parameters() {
        let read = |text: &str| text.parse::<Input>();
        let input = |size: &[u64]| Input { size: size.to_vec(), ..Input::default() };
        assert_eq!(read("3x224x224"), Ok(input(&[3, 224, 224])));
        let stride = |stride| Input { stride: Some(stride), transposed: Some(false), ..input(&[16000]) };
        assert_eq!(read("16000/320/5"), Ok(Input { padding: Some(5), ..stride(320) }));
        let up = Input { stride: Some(2), transposed: Some(true), padding: Some(1), ..Input::default() };
        assert_eq!(read("/t2/1"), Ok(up.clone()));
        assert_eq!(read("/t2/1/3/1"), Ok(Input { dilation: Some(3), extra: Some(1), ..up }));
        for wrong in [
            "",
            "x",
            "3x",
            "3x0x4",
            "1x1x1x1x1",
            "8/0",
            "8/1/1/0",
            "8/1/1/1/1/1",
            "-8",
            "8x8/two",
            "99999999",
            "8/tt2",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
