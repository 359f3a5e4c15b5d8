//! Costs of the nodes of an ONNX graph for one pass, by `operation-v1`: convolutions, products and attention by their shapes, all
//! other nodes by the elements they read and write.

use super::{Costs, Entry, OutOfDomain, Phase, evaluate, roofs};
use crate::predict::rate::numbers_of;
use crate::predict::{DeviceProfile, Numbers, stored_bits};
use roofline_formulas::operation::Inputs;
use roofline_models::onnx::{Geometry, Heads, Inferred, Product, Step, Task};
use roofline_models::{Dtype, Model, Role};

/// Returns the costs of each node of a graph on a device.
pub fn profile(model: &Model, inferred: &Inferred, target: &DeviceProfile) -> Result<Costs, OutOfDomain> {
    let common = roofs(target);
    let mut entries = Vec::new();
    for step in inferred.steps.iter().filter(|step| !step.is_free()) {
        let mut entry = describe(model, step);
        let costs = step.task.clone().and_then(|task| {
            let kind = step.dtype.map_or(Numbers::Single, numbers_of);
            entry.set_rates(target, kind);
            let alone = Inputs { compute: target.rate(kind).compute(), resident: 0.0, ..common };
            let shape = shape(&task, alone)?;
            Ok((shape, entry.cost_of(&shape)?))
        });
        match costs {
            Err(reason) => entry.undefined = Some(reason),
            Ok((shape, cost)) => {
                entry.pass = Some(cost);
                entry.shape = Some(shape);
            }
        }
        entries.push(entry);
    }
    let overhead = target.overhead.unwrap_or(0.0);
    let pass = super::total(&mut entries, Phase::Pass, common, overhead, inferred.batch as f64)?;
    Ok(Costs { entries, decode: None, prefill: None, pass, kept: 0, common })
}

fn describe(model: &Model, step: &Step) -> Entry {
    let tensors = step.weights.iter().filter_map(|index| model.tensors.get(*index));
    let role = match step.task {
        Ok(Task::Convolution(_)) => Role::Convolution,
        Ok(Task::Product(_)) => Role::Dense,
        Ok(Task::Attention(_)) => Role::Attention,
        Ok(Task::Moves { norm: true, .. }) => Role::Norm,
        _ => Role::Other,
    };
    Entry {
        name: step.name.clone(),
        layer: None,
        role,
        kind: role.kind(),
        dtype: step.dtype.map(|dtype| dtype.to_string()),
        precision: None,
        compute_gflop_s: None,
        tensors: tensors.clone().map(|tensor| tensor.name.clone()).collect(),
        parameters: tensors.map(|tensor| tensor.elements() as f64).sum(),
        decode: None,
        prefill: None,
        pass: None,
        undefined: None,
        at_most: None,
        measured: None,
        not_measured: None,
        // Nodes of a graph are not in the model's operation list.
        operation: usize::MAX,
        shape: None,
        ideal_compute: 1.0,
        bandwidth: 1.0,
    }
}

/// Bytes per element.
fn size(dtype: Dtype) -> Result<f64, String> {
    let (block, bytes) = dtype.block().ok_or("its type has an unknown size")?;
    Ok(bytes as f64 / block as f64)
}

fn bits(stored: u64, weights: f64) -> Result<f64, String> {
    stored_bits(stored as f64, weights).map_err(|_| "its weights are empty".to_owned())
}

/// Inputs of `operation-v1` for a task.
fn shape(task: &Task, common: Inputs) -> Result<Inputs, String> {
    Ok(match task {
        Task::Free => common,
        // Intermediate results may stay in caches.
        Task::Moves { flops, bytes, .. } => {
            Inputs { other_flops: *flops as f64, extra_bytes: *bytes as f64, ..common }
        }
        Task::Product(Product { tokens, inputs, outputs, matrices, stored, dtype }) => {
            let [tokens, inputs, outputs, matrices] = [tokens, inputs, outputs, matrices].map(|n| *n as f64);
            let weights = matrices * inputs * outputs;
            if tokens * weights == 0.0 {
                return Ok(common);
            }
            Inputs {
                dense_params: weights,
                bits_per_weight: bits(*stored, weights)?,
                tokens,
                in_features: matrices * inputs,
                out_features: matrices * outputs,
                activation_size: size(*dtype)?,
                ..common
            }
        }
        Task::Convolution(geometry) => {
            let Geometry { batch, in_channels, out_channels, groups, transposed, stored, dtype, .. } =
                **geometry;
            let three = |numbers: [u64; 3]| numbers.map(|number| number as f64);
            let [input_depth, input_height, input_width] = three(geometry.input);
            let [kernel_depth, kernel_height, kernel_width] = three(geometry.kernel);
            let [stride_depth, stride_height, stride_width] = three(geometry.stride);
            let [padding_depth, padding_height, padding_width] = three(geometry.padding);
            let [dilation_depth, dilation_height, dilation_width] = three(geometry.dilation);
            let [extra_depth, extra_height, extra_width] = three(geometry.extra);
            let shape = Inputs {
                batch: batch as f64,
                in_channels: in_channels as f64,
                out_channels: out_channels as f64,
                groups: groups as f64,
                transposed: if transposed { 1.0 } else { 0.0 },
                input_depth,
                input_height,
                input_width,
                kernel_depth,
                kernel_height,
                kernel_width,
                stride_depth,
                stride_height,
                stride_width,
                padding_depth,
                padding_height,
                padding_width,
                dilation_depth,
                dilation_height,
                dilation_width,
                extra_depth,
                extra_height,
                extra_width,
                activation_size: size(dtype)?,
                ..common
            };
            let bits_per_weight = bits(stored, evaluate(&shape)?.kernel_params)?;
            Inputs { bits_per_weight, ..shape }
        }
        Task::Attention(heads) => {
            let Heads { batch, heads, kv_heads, key_length, value_length, tokens, context, causal, dtype } =
                *heads;
            Inputs {
                batch: batch as f64,
                heads: heads as f64,
                // Keys and values of a pass do not count as cache.
                extra_bytes: (batch * context * kv_heads * (key_length + value_length)) as f64 * size(dtype)?,
                key_length: key_length as f64,
                value_length: value_length as f64,
                tokens: tokens as f64,
                context: context as f64,
                // Without a causal mask, queries attend to the whole context.
                window: if causal { common.window } else { context as f64 },
                causal: if causal { 1.0 } else { 0.0 },
                prefill: 1.0,
                activation_size: size(dtype)?,
                ..common
            }
        }
    })
}
