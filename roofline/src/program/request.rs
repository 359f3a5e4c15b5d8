//! The model, the workload and the devices that `predict`, `choose` and `plan` are asked about.

use std::collections::BTreeSet;
use std::path::Path;

use roofline_contracts::suggest;

use crate::contracts::hardware::devices::Device;
use crate::contracts::quantization::formats;
use crate::contracts::transformer::Inputs;
use crate::device::Chosen;
use crate::model::{Hyper, KNOWN, Mix, Model, Operation, by_name};
use crate::predict::{self, MOST_POINTS, Numbers, Precision, Stored, Subject, Swept, Target};
use crate::profile;
use crate::program::name::{normal, unknown_name};
use crate::program::{Failure, cli, device};
use roofline_render::written::tokens;

/// Tokens in the cache and in the prompt when nobody says how many.
const CONTEXT: f64 = 4096.0;
const PROMPT: f64 = 512.0;

/// What is asked: a model and the work.
pub struct Asked {
    /// The model.
    pub subject: Subject,
    /// Its dimensions and the work, as the contract takes them.
    pub inputs: Inputs,
    /// How its numbers are stored.
    pub stored: Stored,
    /// Its layers; none where only the number of parameters is known.
    pub layers: Option<f64>,
}

/// What the arguments ask.
pub fn asked(args: &cli::Work, tokens_per_pass: f64, warnings: &mut Vec<String>) -> Result<Asked, Failure> {
    let (subject, inputs, mut stored, layers) = subject(args, args.model.as_deref(), args.params, warnings)?;
    let inputs = Inputs { tokens_per_pass, ..workload(args, inputs, &mut stored, &subject, warnings)? };
    Ok(Asked { subject, inputs, stored, layers })
}

/// A model by its name or its number of parameters: its dimensions as the contract takes them, how its numbers are stored, and
/// its layers.
pub fn subject(
    args: &cli::Work,
    model: Option<&str>,
    params: Option<f64>,
    warnings: &mut Vec<String>,
) -> Result<(Subject, Inputs, Stored, Option<f64>), Failure> {
    let named = |name: String, source: String, context_length| Subject {
        name,
        source,
        parameters: 0.0,
        active_parameters: 0.0,
        quant: args.quant.as_deref().map_or_else(|| "f16".into(), normal),
        bits_per_weight: 0.0,
        context_length,
    };
    let quant = args.quant.as_deref().map(|quant| written(quant, "--quant")).transpose()?;
    // What is known by its dimensions alone has all its weights in one format, or each kind of matrix in its own.
    let in_format = |subject: Subject, inputs: Inputs, operations: Option<&[Operation]>| {
        let layers = operations.map(layers);
        match (&quant, operations) {
            (Some(Written::Mix(mix)), Some(operations)) => {
                let (inputs, stored) = predict::inputs_in(mix, operations)?;
                Ok((subject, inputs, stored, layers))
            }
            (Some(written), _) => {
                let format = written.format().ok_or_else(|| {
                    Failure(format!(
                        "--quant {}: a mix gives each kind of matrix its own type, and of the model only the number of \
                         parameters is known; name one format, such as q4_k",
                        subject.quant
                    ))
                })?;
                let bits = predict::bits_per_weight(format)?;
                Ok((subject, predict::with_bits(inputs, bits), Stored::of(format), layers))
            }
            (None, _) => Ok((subject, inputs, Stored::all(Numbers::Half), layers)),
        }
    };
    match (model, params) {
        (Some(_), Some(_)) => Err(Failure("give a model or --params, not both".into())),
        (None, None) => {
            Err(Failure("name a model, or give --params; `roofline models` lists the known ones".into()))
        }
        (None, Some(params)) => {
            warnings.push(
                "only the number of parameters is known: no KV cache, no attention, no activations".into(),
            );
            let subject = named(format!("{params} parameters"), "--params".into(), None);
            in_format(subject, predict::dense(params), None)
        }
        (Some(name), None) => {
            let known = by_name(&normal(name));
            if let Some(known) = known {
                let hyper = Hyper::of_known(known).map_err(|fault| Failure(format!("{name}: {fault}")))?;
                let source = format!("{}, as of {}", known.source, known.as_of);
                let subject = named(known.name.into(), source, hyper.context_length);
                return in_format(subject, predict::inputs(&hyper)?, Some(&hyper.operations()));
            }
            let path = Path::new(name);
            if !path.exists() {
                return Err(unknown_model(name));
            }
            let model = if args.headers_only { Model::open_headers(path) } else { Model::open(path) }?;
            warnings.extend(model.warnings.iter().cloned());
            let mut subject = named(name.to_owned(), name.to_owned(), model.architecture.context_length);
            // The tensors of a file are what `profile` sees of it; a format takes the place of all of them.
            let model = match &quant {
                Some(Written::Mix(mix)) => model.mixed(mix),
                _ => model,
            };
            let (inputs, stored) = profile::inputs(&model, None)?;
            let mixed = matches!(quant, Some(Written::Mix(_))) && !model.tensors.is_empty();
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

/// The error for a name that is neither a known model nor a file.
pub fn unknown_model(name: &str) -> Failure {
    unknown_name(name, "model, nor file", "roofline models", KNOWN.iter().map(|model| model.name))
}

/// How many layers the operations of a token belong to.
pub fn layers(operations: &[Operation]) -> f64 {
    let layers: BTreeSet<u64> = operations.iter().filter_map(|operation| operation.layer).collect();
    layers.len() as f64
}

/// What numbers are stored in: one format for all, or a mix of llama.cpp.
enum Written {
    Format(&'static formats::Format),
    Mix(&'static Mix),
}

impl Written {
    /// The one format that it names: a mix may have the name of its most frequent one.
    fn format(&self) -> Option<&'static formats::Format> {
        match self {
            Written::Format(format) => Some(format),
            Written::Mix(mix) => formats::by_name(mix.name),
        }
    }
}

/// What is called so, in any spelling; `fp16` and `half` are `f16`, `fp8` is `f8_e4m3`, `int8` is `i8`.
fn written(name: &str, flag: &str) -> Result<Written, Failure> {
    let wanted = normal(name);
    let meant = match wanted.as_str() {
        "half" | "fp16" | "float16" => "f16",
        "fp32" | "float32" => "f32",
        "bfloat16" => "bf16",
        "fp8" | "f8" | "fp8_e4m3" | "e4m3" => "f8_e4m3",
        "int8" => "i8",
        other => other,
    };
    if let Some(mix) = Mix::by_name(meant) {
        return Ok(Written::Mix(mix));
    }
    formats::by_name(meant).map(Written::Format).ok_or_else(|| {
        let known: Vec<&str> = formats::ALL.iter().map(|format| format.name).chain(Mix::names()).collect();
        let near = suggest::closest(&wanted, known.iter().copied());
        let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        Failure(format!("{flag} {name}: no such format; {near}there are {}", known.join(", ")))
    })
}

/// The one format of this name.
pub fn format(name: &str, flag: &str) -> Result<&'static formats::Format, Failure> {
    let format = written(name, flag)?.format();
    format.ok_or_else(|| Failure(format!("{flag} {name}: a cache has one format, and no mix")))
}

/// The inputs with everything that the arguments say about the work.
fn workload(
    args: &cli::Work,
    mut inputs: Inputs,
    stored: &mut Stored,
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

/// Tokens in the cache and in the prompt, for a model that was made for this many.
pub fn lengths(
    context: Option<f64>,
    prompt: Option<f64>,
    longest: Option<f64>,
    warnings: &mut Vec<String>,
) -> (f64, f64) {
    let context = context.unwrap_or_else(|| longest.map_or(CONTEXT, |longest| longest.min(CONTEXT)));
    if let Some(longest) = longest.filter(|longest| context > *longest) {
        warnings.push(format!(
            "a context of {context} is longer than the {longest} tokens that the model was made for"
        ));
    }
    (context, prompt.unwrap_or_else(|| context.min(PROMPT)))
}

/// The precision of this name.
pub fn precision(name: &str) -> Result<Precision, Failure> {
    Precision::by_name(&normal(name)).ok_or_else(|| {
        let known = Precision::ALL.map(Precision::name).join(", ");
        Failure(format!("--precision {name}: no such precision; there are {known}"))
    })
}

/// The devices, each with its entry in the registry where it has one.
pub fn targets(
    args: &cli::Work,
    default: &str,
    warnings: &mut Vec<String>,
) -> Result<Vec<(Target, Option<&'static Device>)>, Failure> {
    let precision = args.ideal.precision.as_deref().map(precision).transpose()?;
    let catalog = args.devices.files.catalog()?;
    let all = args.devices.is_all() || args.devices.on.is_empty() && default == "all";
    let chosen = args.devices.chosen(&catalog, &[default])?;
    let mut found = Vec::new();
    for device in chosen {
        let device = device.measured(|| device::this(&args.measuring))?;
        let entry = if let Chosen::Device(device) = &device { Some(*device) } else { None };
        match device.target(precision) {
            Ok(target) => found.push((target, entry)),
            Err(lacks) if args.ideal.allow_fallback => {
                let target = device.target(None)?;
                warnings.push(format!("{lacks}; its estimate takes the units of the ceiling"));
                found.push((target, entry));
            }
            // Among all devices those that lack the precision are simply not candidates.
            Err(lacks) if all => warnings.push(format!("left out: {lacks}")),
            Err(lacks) => {
                let hint = "--allow-fallback takes the units of the ceiling";
                return Err(Failure(format!("{lacks}; {hint}")));
            }
        }
    }
    if found.is_empty() {
        return Err(Failure("no device has a peak for this precision".into()));
    }
    Ok(found)
}

/// Parses `batch=1,2,4..64`.
pub fn sweep(text: &str) -> Result<(Swept, Vec<f64>), Failure> {
    let (name, values) = axis(text)?;
    let swept = Swept::ALL.into_iter().find(|swept| swept.name() == name).ok_or_else(|| {
        let more = if name == "users" { "; users need --users beside" } else { "" };
        let can = Swept::ALL.map(Swept::name).join(", ");
        Failure(format!("--sweep {text}: `{name}` can't be swept; {can} can{more}"))
    })?;
    Ok((swept, values))
}

/// A name and its values: single ones, and ranges that double from one end to the other. The values ascend.
pub fn axis(text: &str) -> Result<(&str, Vec<f64>), Failure> {
    let wrong = |why: String| Failure(format!("--sweep {text}: {why}"));
    let (name, list) = text.split_once('=').ok_or_else(|| wrong("write NAME=1,2,4..64".into()))?;
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
                while value <= high && values.len() <= MOST_POINTS {
                    values.push(value);
                    value *= 2.0;
                }
            }
        }
    }
    if values.is_empty() || values.len() > MOST_POINTS {
        return Err(wrong(format!("a sweep has 1 to {MOST_POINTS} values")));
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
            ("batch", "write NAME=1,2,4..64"),
            ("speed=1", "`speed` can't be swept"),
            ("users=1", "users need --users beside"),
            ("batch=1,x", "`x` is not a number above zero"),
            ("batch=0", "`0` is not a number above zero"),
            ("batch=nan", "`nan` is not a number above zero"),
            ("batch=8..4", "a sweep has 1 to"),
        ] {
            let error = values(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
