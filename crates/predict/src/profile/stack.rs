//! Stacks of dense and convolution layers, as networks for images and small classifiers are: what each layer costs for a batch of
//! samples, by `operation-v1`. A file of weights says neither how large the input of a convolution is nor how it steps: the
//! caller does, and what nobody says is undefined.

use std::str::FromStr;

use super::cnn::{self, Flow, Kernels};
use super::{Costs, Entry, OutOfDomain, Phase, describe, evaluate, kept, kind, roofs, stored};
use crate::predict::{Numbers, Target, stored_bits};
use roofline_formulas::operation::Inputs;
use roofline_models::{Basis, Dtype, Kind, Model, Operation, Role, Runs, Work};

/// Bytes of one input or output number.
pub const ACTIVATION: f64 = 4.0;

/// What a file does not say about a convolution: `64x56x56/2/1` is 64 channels of 56 x 56 numbers, a stride of 2, a padding of 1;
/// `/t2/1` is a transposed one, whose input is what the layers before it make.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// The size in each dimension, the channels before it or not; empty for what the layers before it make.
    pub size: Vec<u64>,
    /// Whether it is transposed; told from its name and its channels where it is not said.
    pub transposed: Option<bool>,
    /// The step; 1 where it is not said.
    pub stride: Option<u64>,
    /// Zeros at both ends; so many that a stride of 1 keeps the size, where it is not said.
    pub padding: Option<u64>,
    /// The distance between taps; 1 where it is not said.
    pub dilation: Option<u64>,
    /// Zeros at one end of the output of a transposed one.
    pub extra: Option<u64>,
}

impl FromStr for Input {
    type Err = String;

    fn from_str(text: &str) -> Result<Input, String> {
        let number = |text: &str| match text.parse::<u64>() {
            Ok(number) if number <= 1_000_000 => Ok(number),
            _ => Err(format!("`{text}` is not a whole number up to 1000000")),
        };
        let mut parts = text.split('/');
        let size = match parts.next().unwrap_or_default() {
            "" if text.is_empty() => return Err("`` is not a whole number up to 1000000".into()),
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
            return Err("a size is CHANNELSxHEIGHTxWIDTH, all above zero, then /STRIDE (/tSTRIDE of a transposed one), \
                        /PADDING, /DILATION and /EXTRA"
                .into());
        }
        Ok(Input { size, transposed, stride, padding, dilation, extra })
    }
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

/// What each layer of a stack costs on a device. `network` is what goes into the first convolution, and from there the sizes are
/// carried from layer to layer; `input` is asked for what is different about a convolution, by name.
pub fn profile(
    model: &Model,
    target: &Target,
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
        entry.multiplied(target, kind(model, operation, change, Numbers::Half));
        if let Runs::Input { .. } = operation.runs {
            entry.settle(operation, batch, for_an_input(model, operation, change));
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
    // Tools that save tensors by name leave only the numbers in names to tell the order of the layers; any other order is taken
    // for theirs. What waits for an input is tried again behind the others.
    let in_order = |a: &Entry, b: &Entry| a.dtype != b.dtype || a.name <= b.name;
    if open.windows(2).all(|pair| in_order(&entries[pair[0]], &entries[pair[1]])) {
        open.sort_by_cached_key(|place| cnn::natural(&entries[*place].name));
    }
    let mut flow = Flow::new(network);
    loop {
        let before = open.len();
        open.retain(|place| {
            let entry = &mut entries[*place];
            let Some(operation) = model.architecture.operations.get(entry.operation) else { return false };
            let own = input(&entry.name);
            let blank = Inputs { batch, ..Inputs::new(1.0, 1.0) };
            let Some(shape) = layer(model, operation, &entry.name, blank, change, own, &mut flow) else {
                return true;
            };
            entry.settle(operation, batch, shape);
            false
        });
        if open.len() == before {
            break;
        }
    }
    for place in open {
        let reason = match (flow.is_empty(), &entries[place].role) {
            (false, Role::Convolution) => "no layer before it makes as many channels as it takes",
            (true, Role::Convolution) => "the size of its input is not in the file",
            _ => "works on as many numbers as the layers around it, which the file does not say",
        };
        entries[place].undefined = Some(reason.to_owned());
    }
    let overhead = target.overhead.unwrap_or(0.0);
    let pass = super::total(&mut entries, Phase::Pass, common, overhead, batch)?;
    Ok(Costs { entries, decode: None, prefill: None, pass, kept: kept(model, change), common })
}

impl Entry {
    /// Takes down what an operation costs for a batch, or why nobody can say.
    fn settle(&mut self, operation: &Operation, batch: f64, shape: Result<Inputs, String>) {
        let shape =
            shape.map(|shape| self.on_its_machine(Inputs { batch, activation_size: ACTIVATION, ..shape }));
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

/// What runs so often for each image, as the contract's inputs, or why nobody can say.
fn for_an_input(model: &Model, operation: &Operation, change: Option<Dtype>) -> Result<Inputs, String> {
    Ok(Inputs { prefill: 1.0, ..super::shape(model, operation, false, change)? })
}

/// A layer as the contract's inputs, or why nobody can say. None while what it works on is not known yet.
fn layer(
    model: &Model,
    operation: &Operation,
    name: &str,
    common: Inputs,
    change: Option<Dtype>,
    own: Option<Input>,
    flow: &mut Flow,
) -> Option<Result<Inputs, String>> {
    let Some(bits_per_weight) = weights(model, operation, change) else {
        return Some(Err("its weights are missing or of a type of unknown size".into()));
    };
    let blank = Inputs { bits_per_weight, ..common };
    let shape = match &operation.work {
        // The bias is left out, as it is of a convolution.
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
            flow.meet(&kernels, own)?.and_then(|met| met.shape(blank, &kernels))
        }
        // One number for each channel: the scale of a normalization meets them all, what goes with it is part of it.
        Work::Vector { elements } => {
            let positions = flow.positions(*elements)?;
            let meets = name.ends_with(".weight");
            Ok(Inputs {
                dense_params: *elements as f64,
                tokens: if meets { positions as f64 } else { 1.0 },
                elements: if meets { *elements as f64 } else { 0.0 },
                ..blank
            })
        }
        Work::Undefined { reason } => Err(reason.clone()),
        _ => Err("works on as many numbers as the layers around it, which the file does not say".into()),
    };
    Some(shape.and_then(|shape| {
        let outputs = evaluate(&shape)?;
        if shape.in_channels > 0.0 {
            if outputs.output_size == 0.0 {
                return Err("its kernel is larger than its input".into());
            }
            flow.made(&shape, &outputs);
        }
        Ok(shape)
    }))
}

/// Bits of one weight of the layer's matrix or kernels, as stored or in another type.
fn weights(model: &Model, operation: &Operation, change: Option<Dtype>) -> Option<f64> {
    let tensors = operation.tensors.iter().filter_map(|index| model.tensors.get(*index));
    let tensor = tensors.max_by_key(|tensor| tensor.elements())?;
    stored_bits(stored(tensor, change)? as f64, tensor.elements() as f64).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_has_a_size_and_perhaps_a_stride_and_more() {
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
