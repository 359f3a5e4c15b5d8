//! Resolves the model, the workload and the devices of `predict`, `choose` and `plan`.

use std::collections::BTreeSet;
use std::path::Path;

use roofline_contracts::suggest;

use crate::cli::name::{normalize, unknown_name};
use crate::cli::{Failure, args, device};
use crate::contracts::hardware::devices::Device;
use crate::contracts::quantization::formats;
use crate::contracts::transformer::Inputs;
use crate::device::ResolvedDevice;
use crate::model::{KNOWN_MODELS, Model, ModelDims, Operation, QuantMix, by_name, display_name};
use crate::predict::{
    self, DeviceProfile, MAX_PREDICTIONS, Numbers, Precision, Subject, SweptInput, WeightPrecision,
};
use crate::profile;
use roofline_render::parse::tokens;

/// Default context length in tokens.
const DEFAULT_CONTEXT: f64 = 4096.0;
/// Default prompt length in tokens.
const DEFAULT_PROMPT: f64 = 512.0;

/// A model and its workload.
pub struct Request {
    pub subject: Subject,
    /// Dimensions and workload, as inputs of the contract.
    pub inputs: Inputs,
    /// Element kinds of weights and cache.
    pub stored: WeightPrecision,
    /// Number of layers, unless only the number of parameters is known.
    pub layers: Option<f64>,
}

/// Resolves the model and the workload.
pub fn resolve(
    args: &args::Work,
    tokens_per_pass: f64,
    warnings: &mut Vec<String>,
) -> Result<Request, Failure> {
    let (subject, inputs, mut stored, layers) = subject(args, args.model.as_deref(), args.params, warnings)?;
    let inputs = Inputs { tokens_per_pass, ..workload(args, inputs, &mut stored, &subject, warnings)? };
    Ok(Request { subject, inputs, stored, layers })
}

/// Resolves a model by name, file or number of parameters to its dimensions, its element kinds and its number of layers.
pub fn subject(
    args: &args::Work,
    model: Option<&str>,
    params: Option<f64>,
    warnings: &mut Vec<String>,
) -> Result<(Subject, Inputs, WeightPrecision, Option<f64>), Failure> {
    let named = |name: String, source: String, context_length| Subject {
        name,
        source,
        parameters: 0.0,
        active_parameters: 0.0,
        quant: args.quant.as_deref().map_or_else(|| "f16".into(), normalize),
        bits_per_weight: 0.0,
        context_length,
    };
    let quant = args.quant.as_deref().map(|quant| quantization(quant, "--quant")).transpose()?;
    // Without a file, all weights have one format, or each kind of matrix has the format of the mix.
    let in_format = |subject: Subject, inputs: Inputs, operations: Option<&[Operation]>| {
        let layers = operations.map(layers);
        match (&quant, operations) {
            (Some(Quantization::Mix(mix)), Some(operations)) => {
                let (inputs, stored) = predict::inputs_for_mix(mix, operations)?;
                Ok((subject, inputs, stored, layers))
            }
            (Some(quantization), _) => {
                let format = quantization.format().ok_or_else(|| {
                    Failure(format!(
                        "--quant {}: a mix needs the matrices of a model, and only the number of parameters is known; expected a \
                         format such as q4_k",
                        subject.quant
                    ))
                })?;
                let bits = predict::bits_per_weight(format)?;
                Ok((subject, predict::with_bits(inputs, bits), WeightPrecision::from_format(format), layers))
            }
            (None, _) => Ok((subject, inputs, WeightPrecision::all(Numbers::Half), layers)),
        }
    };
    match (model, params) {
        (Some(_), Some(_)) => Err(Failure("both MODEL and --params are given; expected one of them".into())),
        (None, None) => Err(Failure(
            "missing MODEL; expected a model file, a name of `roofline models`, or --params".into(),
        )),
        (None, Some(params)) => {
            warnings.push(
                "only the number of parameters is known: KV cache, attention and activations are not counted"
                    .into(),
            );
            let subject = named("unnamed model".into(), "--params".into(), None);
            in_format(subject, predict::dense(params), None)
        }
        (Some(name), None) => {
            let known = by_name(&normalize(name));
            if let Some(known) = known {
                let model_dims =
                    ModelDims::from_known(known).map_err(|fault| Failure(format!("{name}: {fault}")))?;
                let source = format!("{}, as of {}", known.source, known.as_of);
                let subject = named(display_name(known.name), source, model_dims.context_length);
                return in_format(subject, predict::inputs(&model_dims)?, Some(&model_dims.operations()));
            }
            let path = Path::new(name);
            if !path.exists() {
                return Err(unknown_model(name));
            }
            let model = if args.headers_only { Model::open_headers(path) } else { Model::open(path) }?;
            warnings.extend(model.warnings.iter().cloned());
            let mut subject = named(name.to_owned(), name.to_owned(), model.architecture.context_length);
            // --quant replaces the formats of the tensors in the file.
            let model = match &quant {
                Some(Quantization::Mix(mix)) => model.requantized(mix),
                _ => model,
            };
            let (inputs, stored) = profile::inputs(&model, None)?;
            let mixed = matches!(quant, Some(Quantization::Mix(_))) && !model.tensors.is_empty();
            if !mixed && (quant.is_some() || model.bytes().is_none_or(|bytes| bytes == 0)) {
                return in_format(subject, inputs, Some(&model.architecture.operations));
            }
            if !mixed {
                subject.quant = "as stored".into();
            }
            Ok((subject, inputs, stored, Some(layers(&model.architecture.operations))))
        }
    }
}

/// Returns the error for a name that is neither a known model nor a file.
pub fn unknown_model(name: &str) -> Failure {
    unknown_name(name, "model, nor file", "roofline models", KNOWN_MODELS.iter().map(|model| model.name))
}

/// Counts the layers of the operations.
pub fn layers(operations: &[Operation]) -> f64 {
    let layers: BTreeSet<u64> = operations.iter().filter_map(|operation| operation.layer).collect();
    layers.len() as f64
}

/// A quantization format, or a quantization mix of llama.cpp.
enum Quantization {
    Format(&'static formats::Format),
    Mix(&'static QuantMix),
}

impl Quantization {
    /// Returns the format of this name; a mix can have the name of a format.
    fn format(&self) -> Option<&'static formats::Format> {
        match self {
            Quantization::Format(format) => Some(format),
            Quantization::Mix(mix) => formats::by_name(mix.name),
        }
    }
}

/// Parses the name of a format or mix in any spelling; `fp16` and `half` are `f16`, `fp8` is `f8_e4m3`, `int8` is `i8`.
fn quantization(name: &str, flag: &str) -> Result<Quantization, Failure> {
    let wanted = normalize(name);
    let meant = match wanted.as_str() {
        "half" | "fp16" | "float16" => "f16",
        "fp32" | "float32" => "f32",
        "bfloat16" => "bf16",
        "fp8" | "f8" | "fp8_e4m3" | "e4m3" => "f8_e4m3",
        "int8" => "i8",
        other => other,
    };
    if let Some(mix) = QuantMix::by_name(meant) {
        return Ok(Quantization::Mix(mix));
    }
    formats::by_name(meant).map(Quantization::Format).ok_or_else(|| {
        let known: Vec<&str> =
            formats::ALL.iter().map(|format| format.name).chain(QuantMix::names()).collect();
        let near = suggest::closest(&wanted, known.iter().copied());
        let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        Failure(format!("{flag} {name}: unknown format; {near}expected one of {}", known.join(", ")))
    })
}

/// Parses the name of a format; mixes are invalid.
pub fn format(name: &str, flag: &str) -> Result<&'static formats::Format, Failure> {
    let format = quantization(name, flag)?.format();
    format.ok_or_else(|| {
        Failure(format!(
            "{flag} {name}: invalid cache type; expected a single format such as q8_0, not a mix"
        ))
    })
}

/// Sets the workload in the inputs.
fn workload(
    args: &args::Work,
    mut inputs: Inputs,
    stored: &mut WeightPrecision,
    subject: &Subject,
    warnings: &mut Vec<String>,
) -> Result<Inputs, Failure> {
    let cache = format(&args.cache, "--cache")?;
    (inputs.cache_size, stored.cache) = (predict::bytes_per_number(cache)?, cache.numbers);
    inputs.batch = args.batch;
    let longest = subject.context_length.map(|tokens| tokens as f64);
    (inputs.context, inputs.prompt) = lengths(args.context, args.prompt, longest, warnings);
    inputs.compute_efficiency = args.ideal.efficiency;
    inputs.bandwidth_efficiency = args.ideal.bandwidth_efficiency;
    inputs.overhead = args.ideal.overhead.unwrap_or(0.0);
    Ok(inputs)
}

/// Returns context and prompt length in tokens, for a model with a maximum context length.
pub fn lengths(
    context: Option<f64>,
    prompt: Option<f64>,
    longest: Option<f64>,
    warnings: &mut Vec<String>,
) -> (f64, f64) {
    let context =
        context.unwrap_or_else(|| longest.map_or(DEFAULT_CONTEXT, |longest| longest.min(DEFAULT_CONTEXT)));
    if let Some(longest) = longest.filter(|longest| context > *longest) {
        warnings.push(format!("the context of {context} tokens exceeds the maximum of the model, {longest}"));
    }
    (context, prompt.unwrap_or_else(|| context.min(DEFAULT_PROMPT)))
}

/// Parses the name of a precision.
pub fn precision(name: &str) -> Result<Precision, Failure> {
    Precision::by_name(&normalize(name)).ok_or_else(|| {
        let known = Precision::ALL.map(Precision::name).join(", ");
        Failure(format!("--precision {name}: unknown precision; expected one of {known}"))
    })
}

/// Resolves the devices, each with its entry in the registry, if any; `default` names them if --on is missing.
pub fn targets(
    args: &args::Work,
    default: &str,
    warnings: &mut Vec<String>,
) -> Result<Vec<(DeviceProfile, Option<&'static Device>)>, Failure> {
    let precision = args.ideal.precision.as_deref().map(precision).transpose()?;
    let catalog = args.devices.files.catalog()?;
    let all = args.devices.is_all() || args.devices.on.is_empty() && default == "all";
    let chosen = args.devices.chosen(&catalog, &[default])?;
    let (mut found, mut without_peak) = (Vec::new(), 0);
    for device in chosen {
        let device = device.measured(|| device::this(&args.measuring))?;
        let entry = if let ResolvedDevice::Device(device) = &device { Some(*device) } else { None };
        match device.target(precision) {
            Ok(target) => found.push((target, entry)),
            Err(lacks) if args.ideal.allow_fallback => {
                let target = device.target(None)?;
                warnings.push(format!("{lacks}; its ideal uses the units of the ceiling"));
                found.push((target, entry));
            }
            // Among all devices, those without a peak are not candidates.
            Err(_) if all => without_peak += 1,
            Err(lacks) => {
                let hint = "pass --allow-fallback to use the units of the ceiling";
                return Err(Failure(format!("{lacks}; {hint}")));
            }
        }
    }
    if found.is_empty() {
        return Err(Failure(
            "--precision: no device has a published peak; choose another, or pass --allow-fallback".into(),
        ));
    }
    if without_peak > 0 {
        warnings
            .push(format!("{without_peak} devices have no published peak for --precision and are not shown"));
    }
    Ok(found)
}

/// Parses `batch=1,2,4..64`.
pub fn sweep(text: &str) -> Result<(SweptInput, Vec<f64>), Failure> {
    let (name, values) = axis(text)?;
    let swept = SweptInput::ALL.into_iter().find(|swept| swept.name() == name).ok_or_else(|| {
        let more = if name == "users" { "; sweeping users requires --users" } else { "" };
        let can = SweptInput::ALL.map(SweptInput::name).join(", ");
        Failure(format!("--sweep {text}: unknown input `{name}`; expected one of {can}{more}"))
    })?;
    Ok((swept, values))
}

/// Parses a name and its values, in ascending order; `a..b` doubles from `a` up to `b`.
pub fn axis(text: &str) -> Result<(&str, Vec<f64>), Failure> {
    let wrong = |why: String| Failure(format!("--sweep {text}: {why}"));
    let (name, list) =
        text.split_once('=').ok_or_else(|| wrong("expected NAME=VALUES, such as batch=1,2,4..64".into()))?;
    let number = |text: &str| match text.trim().parse::<f64>().ok().or_else(|| tokens(text.trim()).ok()) {
        Some(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err(wrong(format!("`{}` is not a number above zero", text.trim()))),
    };
    let mut values = Vec::new();
    for part in list.split(',') {
        match part.split_once("..") {
            None => values.push(number(part)?),
            Some((low, high)) => {
                let (mut value, high) = (number(low)?, number(high)?);
                while value <= high && values.len() <= MAX_PREDICTIONS {
                    values.push(value);
                    value *= 2.0;
                }
            }
        }
    }
    if values.is_empty() || values.len() > MAX_PREDICTIONS {
        return Err(wrong(format!("expected 1 to {MAX_PREDICTIONS} values")));
    }
    values.sort_by(f64::total_cmp);
    values.dedup();
    Ok((name, values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_lists_values_and_doubles_ranges() {
        let values = |text: &str| sweep(text).map(|(_, values)| values).map_err(|failure| failure.0);
        assert_eq!(values("batch=1,2,4..64"), Ok(vec![1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]));
        assert_eq!(values("context=8,1,8"), Ok(vec![1.0, 8.0]));
        assert_eq!(values("context=1k..4k"), Ok(vec![1024.0, 2048.0, 4096.0]));
        for (text, expected) in [
            ("batch", "expected NAME=VALUES"),
            ("speed=1", "unknown input `speed`"),
            ("users=1", "sweeping users requires --users"),
            ("batch=1,x", "`x` is not a number above zero"),
            ("batch=0", "`0` is not a number above zero"),
            ("batch=nan", "`nan` is not a number above zero"),
            ("batch=8..4", "expected 1 to"),
        ] {
            let error = values(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
