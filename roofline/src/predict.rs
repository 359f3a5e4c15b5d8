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

use std::fmt;

use crate::contracts::hardware::devices::Device;
use crate::contracts::quantization::{self, formats::Format};
use crate::contracts::transformer::{self, Feasibility, Inputs, OutOfDomain, Outputs};
use crate::model::{Attention, Head, Hyper, Operation, Role, Work};
use crate::peaks::Machine;

/// A number format that a device may have a peak for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are the formats'")]
pub enum Precision {
    Fp32,
    Tf32,
    Fp16,
    Bf16,
    Fp8,
    Fp4,
    Int8,
    Int4,
}

impl Precision {
    /// All of them.
    pub const ALL: [Precision; 8] = [
        Precision::Fp32,
        Precision::Tf32,
        Precision::Fp16,
        Precision::Bf16,
        Precision::Fp8,
        Precision::Fp4,
        Precision::Int8,
        Precision::Int4,
    ];

    /// The name in the device table.
    pub fn name(self) -> &'static str {
        match self {
            Precision::Fp32 => "fp32",
            Precision::Tf32 => "tf32",
            Precision::Fp16 => "fp16",
            Precision::Bf16 => "bf16",
            Precision::Fp8 => "fp8",
            Precision::Fp4 => "fp4",
            Precision::Int8 => "int8",
            Precision::Int4 => "int4",
        }
    }

    /// The precision of this name.
    pub fn by_name(name: &str) -> Option<Precision> {
        Precision::ALL.into_iter().find(|precision| precision.name() == name)
    }

    /// The device's peak, in Gflop/s.
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
    pub precision: &'static str,
    /// Operations per second, in Gflop/s.
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
        write!(f, "{} has no peak for {}; it has {}", self.device, self.precision.name(), has.join(", "))
    }
}

impl std::error::Error for NoPeak {}

impl Target {
    /// A device of the table with its peak in this precision; without one, with the peak that models run at.
    pub fn of(device: &Device, precision: Option<Precision>) -> Result<Target, NoPeak> {
        let (compute, precision) = match precision {
            Some(precision) => match precision.peak(device) {
                Some(peak) => (peak, precision.name()),
                None => {
                    let has = Precision::of(device).collect();
                    return Err(NoPeak { device: device.name, precision, has });
                }
            },
            None => {
                let of_peak = |precision: &Precision| precision.peak(device) == Some(device.compute);
                let usual = [Precision::Fp16, Precision::Bf16, Precision::Fp32].into_iter().find(of_peak);
                (device.compute, usual.map_or("", Precision::name))
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
            precision: precision.name(),
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

/// The contract's formulas for the attention of one layer: those that were compiled, or those of another version.
pub(crate) trait LayerFormulas {
    fn layer_width(&self, kv_heads: f64, key_length: f64, value_length: f64) -> f64;
    fn latent_width(&self, latent_rank: f64, rope_length: f64) -> f64;
    fn layer_mixing(&self, heads: f64, key_length: f64, value_length: f64) -> f64;
    fn latent_mixing(&self, heads: f64, latent_rank: f64, rope_length: f64) -> f64;
}

/// The formulas that the macro generated.
struct Compiled;

impl LayerFormulas for Compiled {
    fn layer_width(&self, kv_heads: f64, key_length: f64, value_length: f64) -> f64 {
        transformer::layer_width(kv_heads, key_length, value_length)
    }

    fn latent_width(&self, latent_rank: f64, rope_length: f64) -> f64 {
        transformer::latent_width(latent_rank, rope_length)
    }

    fn layer_mixing(&self, heads: f64, key_length: f64, value_length: f64) -> f64 {
        transformer::layer_mixing(heads, key_length, value_length)
    }

    fn latent_mixing(&self, heads: f64, latent_rank: f64, rope_length: f64) -> f64 {
        transformer::latent_mixing(heads, latent_rank, rope_length)
    }
}

/// The contract's inputs for a model: one sequence of one token, weights in 16 bits, and a machine of 1 GB/s and
/// 1 Gflop/s, to be replaced by the caller and by [`predict`].
pub fn inputs(hyper: &Hyper) -> Result<Inputs, Unsupported> {
    inputs_by(hyper, &Compiled)
}

/// The same with these formulas for a layer.
pub(crate) fn inputs_by(hyper: &Hyper, formulas: &impl LayerFormulas) -> Result<Inputs, Unsupported> {
    if matches!(hyper.head, Head::Pooler | Head::None) {
        return Err(Unsupported(format!("{} is an encoder and makes no tokens", hyper.architecture)));
    }
    let mut inputs = dense(0.0);
    let mut experts = None;
    let mut window = None;
    let tied = hyper.head == Head::Tied;
    for operation in hyper.operations() {
        let unlike = match operation.work {
            Work::Experts { count, used, .. } => *experts.get_or_insert((count, used)) != (count, used),
            Work::Attention(Attention { window: Some(tokens), .. }) => {
                *window.get_or_insert(tokens) != tokens
            }
            _ => false,
        };
        if unlike {
            let what = if operation.role == Role::Attention { "windows" } else { "numbers of experts" };
            return Err(Unsupported(format!("layers with different {what} are not part of the model")));
        }
        add_by(&mut inputs, &operation, tied, formulas);
    }
    Ok(inputs)
}

/// Adds what one operation brings along. A tied table is read as a whole by the head, which has no parameters of its own
/// then.
pub(crate) fn add(inputs: &mut Inputs, operation: &Operation, tied: bool) {
    add_by(inputs, operation, tied, &Compiled);
}

fn add_by(inputs: &mut Inputs, operation: &Operation, tied: bool, formulas: &impl LayerFormulas) {
    let parameters = operation.parameters as f64;
    match operation.work {
        Work::Lookup { .. } if operation.role == Role::Embedding && tied => {}
        Work::Lookup { .. } => inputs.lookup_params += parameters,
        Work::Product { rows, cols } if operation.role == Role::Head => {
            inputs.head_params += rows as f64 * cols as f64;
        }
        Work::Experts { count, used, .. } => {
            inputs.expert_params += parameters;
            (inputs.experts, inputs.experts_used) = (count as f64, used as f64);
        }
        Work::Attention(attention) => {
            mix(inputs, &attention, formulas);
            if let Some(tokens) = attention.window {
                inputs.window = tokens as f64;
            }
        }
        _ => inputs.dense_params += parameters,
    }
    inputs.activation_width += activations(operation);
}

/// The contract's inputs for a model of which only the number of parameters is known: all of them are read and used
/// for every token, and there is no cache.
pub fn dense(params: f64) -> Inputs {
    Inputs::new(params, 1.0, 1.0)
}

/// Adds a layer's attention.
fn mix(inputs: &mut Inputs, attention: &Attention, formulas: &impl LayerFormulas) {
    let Attention { heads, kv_heads, key_length, value_length, .. } = *attention;
    let (heads, kv_heads) = (heads as f64, kv_heads as f64);
    let (key, value) = (key_length as f64, value_length as f64);
    let expanded = formulas.layer_mixing(heads, key, value);
    let (width, mixing) = match attention.latent {
        None => (formulas.layer_width(kv_heads, key, value), expanded),
        Some(latent) => {
            let (rank, rope) = (latent.rank as f64, latent.rope_length as f64);
            (formulas.latent_width(rank, rope), formulas.latent_mixing(heads, rank, rope))
        }
    };
    if attention.window.is_some() {
        inputs.window_width += width;
        inputs.window_mixing += expanded;
    } else {
        inputs.full_width += width;
        inputs.full_mixing += mixing;
        inputs.prompt_mixing += expanded;
    }
}

/// Numbers that an operation on one token reads and writes beside its weights.
fn activations(operation: &Operation) -> f64 {
    let numbers = match operation.work {
        Work::Lookup { cols, .. } => u128::from(cols),
        Work::Product { rows, cols } => u128::from(rows) + u128::from(cols),
        Work::Experts { rows, cols, used, .. } => (u128::from(rows) + u128::from(cols)) * u128::from(used),
        Work::Attention(Attention { heads, key_length, value_length, .. }) => {
            u128::from(heads) * (u128::from(key_length) + u128::from(value_length))
        }
        Work::Vector { elements } => 2 * u128::from(elements),
        _ => 0,
    };
    numbers as f64
}

/// Bits that a block format stores for one weight.
pub fn bits_per_weight(format: &Format) -> f64 {
    quantization::bits_per_weight(format.block_weights, format.block_bytes)
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
        // The embedding row that a token looks up is counted among the active parameters of the literature.
        let inputs = model("mixtral_8x7b");
        let active = outputs.active_params + inputs.head_params + inputs.lookup_params;
        assert_eq!((active / 1e8).round(), 129.0);
    }

    #[test]
    fn a_larger_batch_touches_more_experts_and_one_sequence_exactly_its_own() {
        let inputs = model("mixtral_8x7b");
        let one = on(inputs, &devices::H100_SXM);
        assert_eq!(one.decode_params, inputs.dense_params + inputs.head_params + inputs.expert_params * 0.25);
        // With 2 of 8 experts a token, four tokens leave 0.75^4 of them untouched.
        let four = on(Inputs { batch: 4.0, ..inputs }, &devices::H100_SXM);
        assert_eq!(four.decode_untouched, 0.75 * 0.75 * 0.75 * 0.75);
    }

    #[test]
    fn decoding_is_worked_out_by_hand_for_llama_2_7b_on_an_a100() {
        let q8 = bits_per_weight(&formats::Q8_0);
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
        for device in devices::ALL {
            let target = Target::of(device, None).unwrap();
            assert_ne!(target.precision, "", "{}", device.name);
            assert_eq!(
                Precision::by_name(target.precision).and_then(|p| p.peak(device)),
                Some(target.compute)
            );
        }
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
            assert_eq!(predict(inputs, &target).unwrap_err().quantity, name);
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
