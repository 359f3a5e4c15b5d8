//! What a model can reach on a device. The formulas are those of the contract `transformer-v1`; this module puts a
//! model's dimensions and a device's figures into its inputs.
//!
//! ```
//! use roofline::contracts::hardware::devices::H100_SXM;
//! use roofline::model::{Hyper, by_name};
//! use roofline::predict::{Target, inputs, predict};
//!
//! let model = Hyper::of_known(by_name("llama_3_1_8b").unwrap()).unwrap();
//! let target = Target::of(&H100_SXM, None).unwrap();
//! // One sequence with 8192 tokens in the cache, weights in 16 bits.
//! let inputs = roofline::contracts::transformer::Inputs { context: 8192.0, ..inputs(&model).unwrap() };
//! let prediction = predict(inputs, &target).unwrap();
//! assert_eq!(prediction.outputs.cache_bytes, (1u64 << 30) as f64);
//! assert!(prediction.outputs.decode_tokens_per_s > 150.0);
//! ```

mod report;

use std::fmt;

use crate::contracts::hardware::devices::Device;
use crate::contracts::operation;
use crate::contracts::quantization::{self, formats::Format};
use crate::contracts::transformer::{self, Feasibility, Inputs, OutOfDomain, Outputs};
use crate::model::{Architecture, Attention, Head, Hyper, Operation, Role, Runs, Work};
use crate::peaks::Machine;

pub use crate::word::Precision;
pub use report::{Change, Entry, Line, MOST_POINTS, Predicted, Subject, Swept, Workload};

impl Precision {
    /// The device's peak, in GFLOP/s.
    pub fn peak(self, device: &Device) -> Option<f64> {
        match self {
            Precision::Fp32 => device.fp32,
            Precision::Tf32 => device.tf32,
            Precision::Fp16 => device.fp16,
            Precision::Bf16 => device.bf16,
            Precision::Fp8 => device.fp8,
            Precision::Fp4 => device.fp4,
            Precision::Int8 => device.int8,
            Precision::Int4 => device.int4,
        }
    }

    /// The precisions that a device has a peak for.
    pub fn of(device: &Device) -> impl Iterator<Item = Precision> {
        Precision::ALL.into_iter().filter(|precision| precision.peak(device).is_some())
    }
}

/// A device as a prediction sees it: from the table, or measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// The precision of `compute`.
    pub precision: Precision,
    /// Operations per second, in GFLOP/s.
    pub compute: f64,
    /// Memory bandwidth, in GB/s.
    pub bandwidth: f64,
    /// Memory, in GB.
    pub capacity: Option<f64>,
    /// Power, in W.
    pub tdp: Option<f64>,
    /// Time to dispatch one step, in µs.
    pub overhead: Option<f64>,
    /// Where the figures come from.
    pub source: String,
}

/// A device without a peak for the precision asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoPeak {
    /// The device.
    pub device: &'static str,
    /// The precision.
    pub precision: Precision,
    /// What it has instead.
    pub has: Vec<Precision>,
}

impl fmt::Display for NoPeak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has: Vec<&str> = self.has.iter().map(|precision| precision.name()).collect();
        let has = if has.is_empty() { "none that anybody publishes".to_owned() } else { has.join(", ") };
        write!(f, "{} has no peak for {}; it has {has}", self.device, self.precision)
    }
}

impl std::error::Error for NoPeak {}

impl Target {
    /// A device of the table with its peak in this precision; without one, with the peak that models run at.
    pub fn of(device: &Device, precision: Option<Precision>) -> Result<Target, NoPeak> {
        let (compute, precision) = match precision {
            Some(precision) => match precision.peak(device) {
                Some(peak) => (peak, precision),
                None => {
                    let has = Precision::of(device).collect();
                    return Err(NoPeak { device: device.name, precision, has });
                }
            },
            None => {
                let usual = [Precision::Fp16, Precision::Bf16, Precision::Fp32]
                    .into_iter()
                    .find(|precision| device.compute.is_some() && precision.peak(device) == device.compute);
                match (device.compute, usual) {
                    (Some(compute), Some(precision)) => (compute, precision),
                    _ => {
                        let has = Precision::of(device).collect();
                        return Err(NoPeak { device: device.name, precision: Precision::Fp16, has });
                    }
                }
            }
        };
        Ok(Target {
            name: device.name.to_owned(),
            precision,
            compute,
            bandwidth: device.bandwidth,
            capacity: device.capacity,
            tdp: device.tdp,
            overhead: device.overhead,
            source: format!("{}, as of {}", device.source, device.as_of),
        })
    }

    /// A measured machine, all its threads; in FP32 unless INT8 is asked for. Its power is not known.
    pub fn measured(machine: &Machine, precision: Option<Precision>) -> Result<Target, NoPeak> {
        let precision = precision.unwrap_or(Precision::Fp32);
        let compute = match precision {
            Precision::Fp32 => machine.all.f32_gflops,
            Precision::Int8 => machine.all.int8_gops,
            _ => {
                let has = vec![Precision::Fp32, Precision::Int8];
                return Err(NoPeak { device: "this", precision, has });
            }
        };
        Ok(Target {
            name: "this".to_owned(),
            precision,
            compute,
            bandwidth: machine.all.read_gb_s,
            capacity: machine.memory_bytes.map(|bytes| bytes as f64 / 1e9),
            tdp: None,
            overhead: None,
            source: format!("measured, {}, {} thread(s)", machine.cpu, machine.all.threads),
        })
    }
}

/// A model that the contract does not describe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported(pub String);

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unsupported {}

/// What a model takes from one of its operations.
pub(crate) struct Brought {
    /// Numbers cached for a token.
    pub cache_width: f64,
    /// Operations for a token against one that it sees.
    pub mixing: f64,
    /// Inputs and outputs for a token.
    pub activation_width: f64,
}

fn brought(shape: operation::Inputs) -> Result<Brought, Unsupported> {
    let operation::Outputs { cache_width, mixing, activation_width, .. } =
        shape.evaluate().map_err(|error| Unsupported(error.to_string()))?;
    Ok(Brought { cache_width, mixing, activation_width })
}

/// The contract's inputs for a model: one sequence of one token, weights in 16 bits, and a machine of 1 GB/s and
/// 1 Gflop/s, to be replaced by the caller and by [`predict`].
pub fn inputs(hyper: &Hyper) -> Result<Inputs, Unsupported> {
    inputs_by(hyper, brought)
}

/// The same where another version of `operation-v1` says what an operation brings along.
pub(crate) fn inputs_by(
    hyper: &Hyper,
    brought: impl Fn(operation::Inputs) -> Result<Brought, Unsupported>,
) -> Result<Inputs, Unsupported> {
    if matches!(hyper.head, Head::Pooler | Head::None) {
        return Err(makes_no_tokens(&hyper.architecture));
    }
    summed(&hyper.operations(), hyper.head == Head::Tied, brought)
}

fn makes_no_tokens(architecture: &str) -> Unsupported {
    Unsupported(format!("{architecture} is an encoder and makes no tokens"))
}

/// The contract's inputs for a model that was read from a file.
pub fn inputs_of(architecture: &Architecture) -> Result<Inputs, Unsupported> {
    if !architecture.makes_tokens {
        return Err(makes_no_tokens(&architecture.name));
    }
    if let Some(hyper) = &architecture.hyper {
        return inputs(hyper);
    }
    let operations = &architecture.operations;
    let tied = operations.iter().any(|operation| operation.role == Role::Head && operation.parameters == 0);
    summed(operations, tied, brought)
}

/// What all operations bring along together.
fn summed(
    operations: &[Operation],
    tied: bool,
    brought: impl Fn(operation::Inputs) -> Result<Brought, Unsupported>,
) -> Result<Inputs, Unsupported> {
    let mut inputs = dense(0.0);
    let mut experts = None;
    let mut window = None;
    for operation in operations {
        let unlike = match operation.work {
            Work::Unused => continue,
            Work::Undefined { ref reason } => {
                return Err(Unsupported(format!("{} is undefined: {reason}", operation.role.name())));
            }
            Work::State(_) => Some("a state in place of a cache"),
            _ if operation.runs != Runs::Token => Some("an encoder beside the decoder"),
            Work::Experts { count, used, .. } => (*experts.get_or_insert((count, used)) != (count, used))
                .then_some("different numbers of experts"),
            Work::Attention(Attention { window: Some(tokens), latent, .. }) => {
                let unlike = *window.get_or_insert(tokens) != tokens;
                let windowed = latent.map(|_| "a window over a latent cache");
                unlike.then_some("different windows").or(windowed)
            }
            _ => None,
        };
        if let Some(what) = unlike {
            return Err(Unsupported(format!("layers with {what} are not part of the model")));
        }
        let shape = operation.inputs(tied);
        let Brought { cache_width, mixing, activation_width } = brought(shape)?;
        inputs.lookup_params += shape.lookup_params;
        inputs.expert_params += shape.expert_params;
        if operation.role == Role::Head {
            inputs.head_params += shape.dense_params;
            inputs.head_width += activation_width;
            continue;
        }
        inputs.dense_params += shape.dense_params;
        inputs.activation_width += activation_width;
        match operation.work {
            Work::Experts { .. } => {
                (inputs.experts, inputs.experts_used) = (shape.experts, shape.experts_used);
            }
            Work::Attention(Attention { window: Some(_), .. }) => {
                inputs.window = shape.window;
                inputs.window_width += cache_width;
                inputs.window_mixing += mixing;
            }
            Work::Attention(_) => {
                inputs.full_width += cache_width;
                inputs.full_mixing += mixing;
                inputs.prompt_mixing += brought(operation::Inputs { prefill: 1.0, ..shape })?.mixing;
            }
            _ => {}
        }
    }
    Ok(inputs)
}

/// The contract's inputs for a model of which only the number of parameters is known: all of them are read and used
/// for every token, and there is no cache.
pub fn dense(params: f64) -> Inputs {
    Inputs::new(params, 1.0, 1.0)
}

/// Bits that a block format stores for one weight.
pub fn bits_per_weight(format: &Format) -> Result<f64, quantization::OutOfDomain> {
    Ok(of_format(format)?.bits_per_weight)
}

/// Bytes that a block format takes for one number, scales included.
pub fn bytes_per_number(format: &Format) -> Result<f64, quantization::OutOfDomain> {
    Ok(of_format(format)?.row_bytes)
}

fn of_format(format: &Format) -> Result<quantization::Outputs, quantization::OutOfDomain> {
    let inputs = quantization::Inputs { row_weights: 1.0, ..quantization::Inputs::new(1.0, 1.0) };
    inputs.with_format(format).evaluate()
}

/// Bits that a stored weight takes on average.
pub fn stored_bits(bytes: f64, weights: f64) -> Result<f64, quantization::OutOfDomain> {
    let stored = quantization::Inputs {
        stored_bytes: bytes,
        stored_weights: weights,
        ..quantization::Inputs::new(1.0, 1.0)
    };
    Ok(stored.evaluate()?.stored_bits)
}

/// What a model can reach on a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Everything that went in.
    pub inputs: Inputs,
    /// Everything that came out. `token_energy` and `feasibility` mean nothing where the device has no figure for
    /// them; [`token_energy`](Self::token_energy) and [`fits`](Self::fits) know.
    pub outputs: Outputs,
    /// Energy of one token in J; none where the device's power is not known.
    pub token_energy: Option<f64>,
    /// Whether it fits; none where the device's memory is not known.
    pub fits: Option<bool>,
}

/// Puts a device's figures into the inputs and evaluates the contract. An overhead that the caller has set stays.
pub fn predict(inputs: Inputs, target: &Target) -> Result<Prediction, OutOfDomain> {
    let inputs = Inputs {
        compute: target.compute,
        bandwidth: target.bandwidth,
        capacity: target.capacity.unwrap_or(inputs.capacity),
        tdp: target.tdp.unwrap_or(inputs.tdp),
        overhead: if inputs.overhead > 0.0 {
            inputs.overhead
        } else {
            target.overhead.unwrap_or(inputs.overhead)
        },
        ..inputs
    };
    let outputs = inputs.evaluate()?;
    let fits = target.capacity.map(|_| outputs.feasibility == Feasibility::Fits);
    Ok(Prediction { inputs, outputs, token_energy: target.tdp.map(|_| outputs.token_energy), fits })
}

/// Where the bound of decoding changes between two values of an input, both whole numbers: the first value that has
/// the bound of `high`.
pub fn crossing(
    low: f64,
    high: f64,
    mut bound: impl FnMut(f64) -> Option<transformer::DecodeBound>,
) -> Option<f64> {
    let (mut low, mut high) = (low, high);
    let (before, after) = (bound(low)?, bound(high)?);
    if before == after {
        return None;
    }
    while high - low > 1.0 {
        let middle = ((low + high) / 2.0).floor();
        if bound(middle)? == before { low = middle } else { high = middle }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contracts::hardware::devices;
    use crate::contracts::quantization::formats;
    use crate::contracts::transformer::DecodeBound;
    use crate::model::by_name;

    fn model(name: &str) -> Inputs {
        inputs(&Hyper::of_known(by_name(name).unwrap()).unwrap()).unwrap()
    }

    fn on(inputs: Inputs, device: &Device) -> Outputs {
        predict(inputs, &Target::of(device, None).unwrap()).unwrap().outputs
    }

    const GIB: f64 = (1u64 << 30) as f64;

    #[test]
    fn the_parameters_add_up_to_those_of_the_model() {
        for known in crate::model::KNOWN {
            let hyper = Hyper::of_known(known).unwrap();
            let outputs = on(inputs(&hyper).unwrap(), &devices::H100_SXM);
            assert_eq!(outputs.total_params, hyper.parameters() as f64, "{}", known.name);
        }
    }

    #[test]
    fn the_cache_of_llama_3_1_8b_at_8192_tokens_is_one_gibibyte() {
        let inputs = Inputs { context: 8192.0, ..model("llama_3_1_8b") };
        assert_eq!(on(inputs, &devices::H100_SXM).cache_bytes, GIB);
    }

    #[test]
    fn the_cache_of_llama_2_7b_at_4096_tokens_is_two_gibibytes() {
        let inputs = Inputs { context: 4096.0, ..model("llama_2_7b") };
        assert_eq!(on(inputs, &devices::H100_SXM).cache_bytes, 2.0 * GIB);
    }

    #[test]
    fn every_second_layer_of_gemma_2_keeps_no_more_than_its_window() {
        // 42 layers, 8 heads of 256 numbers for keys and for values, 2 bytes each: 8192 bytes a layer and token.
        let inputs = Inputs { context: 8192.0, ..model("gemma_2_9b") };
        assert_eq!(on(inputs, &devices::H100_SXM).cache_bytes, 8192.0 * (21.0 * 8192.0 + 21.0 * 4096.0));
        let short = Inputs { context: 1000.0, ..inputs };
        assert_eq!(on(short, &devices::H100_SXM).cache_bytes, 8192.0 * 42.0 * 1000.0);
    }

    #[test]
    fn deepseek_v3_caches_one_latent_vector_for_all_heads() {
        // 512 + 64 numbers of 2 bytes in each of 61 layers.
        let inputs = Inputs { context: 1000.0, ..model("deepseek_v3") };
        assert_eq!(on(inputs, &devices::H200_SXM).cache_bytes, 61.0 * 576.0 * 2.0 * 1000.0);
    }

    #[test]
    fn a_token_of_mixtral_uses_12_9_of_46_7_billion_parameters() {
        let outputs = on(model("mixtral_8x7b"), &devices::H100_SXM);
        assert_eq!((outputs.total_params / 1e8).round(), 467.0);
        assert_eq!((outputs.active_params / 1e8).round(), 129.0);
    }

    #[test]
    fn the_active_parameters_are_those_that_models_are_named_after() {
        let active = |name: &str| on(model(name), &devices::H100_SXM).active_params;
        assert_eq!((active("qwen3_30b_a3b") / 1e8).round(), 34.0);
        assert_eq!((active("deepseek_v3") / 1e9).round(), 38.0);
    }

    #[test]
    fn a_larger_batch_touches_more_experts_and_one_sequence_exactly_its_own() {
        let inputs = model("mixtral_8x7b");
        let one = on(inputs, &devices::H100_SXM);
        assert_eq!(one.decode_params, inputs.dense_params + inputs.head_params + inputs.expert_params * 0.25);
        // With 2 of 8 experts a token, four tokens leave 0.75^4 of them untouched.
        let four = on(Inputs { batch: 4.0, ..inputs }, &devices::H100_SXM);
        assert_eq!(four.untouched_share, 0.75 * 0.75 * 0.75 * 0.75);
    }

    #[test]
    fn decoding_is_worked_out_by_hand_for_llama_2_7b_on_an_a100() {
        let q8 = bits_per_weight(&formats::Q8_0).unwrap();
        let inputs = Inputs { bits_per_weight: q8, context: 1024.0, ..model("llama_2_7b") };
        let outputs = on(inputs, &devices::A100_SXM_80GB);
        // All but the embedding table: 6738415616 - 32000 x 4096 parameters of 8.5 bits.
        let weights = (6_738_415_616.0 - 131_072_000.0) * 8.5 / 8.0;
        assert_eq!(outputs.decode_weight_bytes, weights);
        let cache = 524_288.0 * 1024.0;
        assert_eq!(outputs.cache_bytes, cache);
        let seconds = (weights + cache + outputs.activation_bytes) / 2039e9;
        assert!((outputs.decode_time / seconds - 1.0).abs() < 1e-12);
        assert_eq!(outputs.decode_bound, DecodeBound::Memory);
        // 2 x 32 layers x 32 heads x 256 numbers for each cached token.
        assert_eq!(outputs.decode_attention_flops, 524_288.0 * 1024.0);
    }

    #[test]
    fn a_prompt_is_worked_out_by_hand_for_tinyllama_on_a_t4() {
        let inputs = Inputs { prompt: 512.0, ..model("tinyllama_1_1b") };
        let outputs = on(inputs, &devices::T4);
        // 2 x (parameters without embedding and head) x 512, and the head once.
        let matrix = 2.0 * (1_100_048_384.0 - 2.0 * 65_536_000.0) * 512.0 + 2.0 * 65_536_000.0;
        assert_eq!(outputs.prefill_matrix_flops, matrix);
        // 22 layers x 2 x 32 heads x 128 numbers for each of 512 x 513 / 2 pairs.
        assert_eq!(outputs.prefill_attention_flops, 180_224.0 * 131_328.0);
        let seconds = (matrix + 180_224.0 * 131_328.0) / 65e12;
        assert!((outputs.time_to_first_token / seconds - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_precision_that_the_device_lacks_is_an_error_that_names_what_it_has() {
        let error = Target::of(&devices::A100_SXM_80GB, Some(Precision::Fp8)).unwrap_err();
        let expected = "a100_sxm_80gb has no peak for fp8; it has fp32, tf32, fp16, bf16, int8, int4";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn every_device_runs_models_in_a_precision_that_it_names() {
        for device in devices::ALL.iter().filter(|device| device.compute.is_some()) {
            let target = Target::of(device, None).unwrap();
            assert_eq!(target.precision.peak(device), Some(target.compute), "{}", device.name);
        }
        let error = Target::of(&devices::APPLE_M5_10C, None).unwrap_err();
        assert_eq!(
            error.to_string(),
            "apple_m5_10c has no peak for fp16; it has none that anybody publishes"
        );
        // A DGX Spark has units for 16 bits, whose rate nobody publishes: its FP32 must not stand in for a ceiling.
        assert_eq!(
            Target::of(&devices::DGX_SPARK_GB10, None).unwrap_err().has,
            [Precision::Fp32, Precision::Fp4]
        );
    }

    #[test]
    fn unknown_power_and_memory_stay_unknown() {
        let target = Target::of(&devices::GRAVITON3, None).unwrap();
        let prediction = predict(model("llama_2_7b"), &target).unwrap();
        assert_eq!((prediction.token_energy, prediction.fits), (None, None));
    }

    #[test]
    fn the_batch_at_which_decoding_becomes_compute_bound_is_found() {
        let inputs = Inputs { context: 1.0, ..model("llama_2_7b") };
        let bound = |batch: f64| Some(on(Inputs { batch, ..inputs }, &devices::H100_SXM).decode_bound);
        let batch = crossing(1.0, 65536.0, bound).unwrap();
        assert_eq!(bound(batch - 1.0), Some(DecodeBound::Memory));
        assert_eq!(bound(batch), Some(DecodeBound::Compute));
    }

    #[test]
    fn values_outside_their_domain_are_named() {
        let target = Target::of(&devices::T4, None).unwrap();
        for (inputs, name) in [
            (Inputs { batch: 0.0, ..model("llama_2_7b") }, "batch"),
            (Inputs { context: f64::NAN, ..model("llama_2_7b") }, "context"),
            (Inputs { prompt: 1.5, ..model("llama_2_7b") }, "prompt"),
            (Inputs { bits_per_weight: f64::INFINITY, ..model("llama_2_7b") }, "bits_per_weight"),
            (dense(-1.0), "dense_params"),
        ] {
            let refusal = predict(inputs, &target).unwrap_err();
            let outside: Vec<&str> = refusal.outside().map(|(quantity, _)| quantity.name).collect();
            assert_eq!(outside, [name]);
        }
    }

    #[test]
    fn an_encoder_makes_no_tokens() {
        let config =
            br#"{"model_type": "bert", "hidden_size": 768, "num_attention_heads": 12, "vocab_size": 30522,
            "num_hidden_layers": 12, "intermediate_size": 3072, "max_position_embeddings": 512}"#;
        let hyper = crate::model::readers::config(config).unwrap().unwrap();
        assert_eq!(inputs(&hyper).unwrap_err().to_string(), "bert is an encoder and makes no tokens");
    }
}
