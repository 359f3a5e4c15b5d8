//! What the name of a format says: how many bits a weight takes at least, and which units multiply it.

use crate::contracts::hardware::devices::{Architecture, Device};
use crate::contracts::quantization::formats;
use crate::predict::{Precision, bits_per_weight};

/// The numbers that weights are stored as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbers {
    /// Whole numbers of at most 8 bits times a scale.
    Whole,
    /// Floats of 4 bits times a scale.
    Fp4,
    /// Floats of 8 bits.
    Fp8,
    /// FP16 and BF16.
    Half,
    /// FP32.
    Single,
}

/// Formats that are no ggml types, with their least bits.
const OTHERS: [(&str, f64, Numbers); 17] = [
    ("FP32", 32.0, Numbers::Single),
    ("FP16", 16.0, Numbers::Half),
    ("FP8", 8.0, Numbers::Fp8),
    ("FP4", 4.0, Numbers::Fp4),
    ("INT8", 8.0, Numbers::Whole),
    ("W8", 8.0, Numbers::Whole),
    ("INT4", 4.0, Numbers::Whole),
    ("W4", 4.0, Numbers::Whole),
    ("4-BIT", 4.0, Numbers::Whole),
    ("GPTQ", 4.0, Numbers::Whole),
    ("AWQ", 4.0, Numbers::Whole),
    ("W2", 2.0, Numbers::Whole),
    // No file stores Q8_K: labels with it are recipes around Q8_0.
    ("Q8_K", 8.5, Numbers::Whole),
    // Recipes around IQ2_S and IQ3_S.
    ("IQ2_M", 2.5625, Numbers::Whole),
    ("IQ3_M", 3.4375, Numbers::Whole),
    ("IQ3_KT", 3.125, Numbers::Whole),
    ("IQ3_K", 3.4375, Numbers::Whole),
];

/// The least bits of a weight and the kind of its numbers; none for a name that is not known. A label such as `Q4_K_M`
/// is a recipe of several types, of which it names the smallest.
pub(super) fn of(label: &str) -> Option<(f64, Numbers)> {
    let label = label.trim().to_ascii_uppercase();
    let name = ["UD-", "SMOL-"].iter().find_map(|before| label.strip_prefix(before)).unwrap_or(&label);
    // `EXL2 4.0bpw` says it outright.
    if name.starts_with("EXL") {
        let bits = name.split_whitespace().find_map(|word| word.strip_suffix("BPW")?.parse::<f64>().ok())?;
        return (1.0..=16.0).contains(&bits).then_some((bits, Numbers::Whole));
    }
    if let Some(&(_, bits, numbers)) = OTHERS.iter().find(|(other, ..)| name.starts_with(other)) {
        return Some((bits, numbers));
    }
    let types = formats::ALL.iter().filter(|format| name.starts_with(&format.name.to_ascii_uppercase()));
    let format = types.max_by_key(|format| format.name.len())?;
    let numbers = match format.name {
        "f64" | "f32" => Numbers::Single,
        "f16" | "bf16" => Numbers::Half,
        "mxfp4" | "nvfp4" => Numbers::Fp4,
        _ => Numbers::Whole,
    };
    Some((bits_per_weight(format).ok()?, numbers))
}

/// A name such as `llama 8B Q4_K - Medium` in two: the model, and the format from its first word on.
pub(super) fn split(name: &str) -> (&str, &str) {
    let starts = name.match_indices(' ').map(|(at, _)| at + 1);
    let format =
        starts.into_iter().find(|at| of(name[*at..].split(' ').next().unwrap_or_default()).is_some());
    format.map_or((name, ""), |at| (name[..at].trim_end(), &name[at..]))
}

/// The fastest published peak among the units that multiply these numbers exactly, in GFLOP/s; none where the device has
/// faster units whose rate nobody publishes.
pub(super) fn peak(device: &Device, numbers: Numbers) -> Option<f64> {
    use Precision::{Bf16, Fp4, Fp8, Fp16, Fp32, Int8, Tf32};
    let units: &[Precision] = match numbers {
        Numbers::Whole => &[Int8, Fp16, Bf16, Tf32, Fp32],
        Numbers::Fp4 => &[Fp4, Fp8, Int8, Fp16, Bf16, Tf32, Fp32],
        Numbers::Fp8 => &[Fp8, Fp16, Bf16, Tf32, Fp32],
        Numbers::Half | Numbers::Single => &[Fp16, Bf16, Tf32, Fp32],
    };
    let wide = [Architecture::Maxwell, Architecture::Volta, Architecture::Apple]
        .contains(&device.architecture)
        && !device.name.starts_with("apple_m5");
    let natural = units.first().and_then(|unit| unit.peak(device)).is_some();
    let pascal = device.architecture == Architecture::Pascal && numbers != Numbers::Whole;
    let half = device.fp16.or(device.bf16).is_some();
    // Units for narrower numbers than 16 bits are no faster than those where the architecture has none.
    let narrow = match numbers {
        Numbers::Whole => device.int8.is_some(),
        Numbers::Fp4 | Numbers::Fp8 => device.int8.is_some() || device.fp8.is_some(),
        Numbers::Half | Numbers::Single => half,
    };
    if !(natural || wide || pascal || narrow) {
        return None;
    }
    let fast = device.fp16_fast.filter(|_| numbers != Numbers::Single || half);
    units.iter().filter_map(|unit| unit.peak(device)).chain(fast).reduce(f64::max)
}

/// The fastest published peak of any units, in GFLOP/s: what an expectation is a share of where the right one is not
/// published.
pub(super) fn fastest(device: &Device) -> Option<f64> {
    Precision::of(device).filter_map(|unit| unit.peak(device)).chain(device.fp16_fast).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contracts::hardware::devices::{APPLE_M2_ULTRA, DGX_SPARK_GB10, RTX_4090};

    #[test]
    fn a_label_says_the_smallest_type_of_its_recipe() {
        for (label, bits, numbers) in [
            ("Q4_K_M", 4.5, Numbers::Whole),
            ("UD-Q8_K_XL", 8.5, Numbers::Whole),
            ("IQ4_XS - 4.25 bpw", 4.25, Numbers::Whole),
            ("bf16", 16.0, Numbers::Half),
            ("MXFP4", 4.25, Numbers::Fp4),
            ("EXL2 2.5bpw", 2.5, Numbers::Whole),
            ("int4-g32", 4.0, Numbers::Whole),
            ("smol-IQ3_K", 3.4375, Numbers::Whole),
        ] {
            assert_eq!(of(label), Some((bits, numbers)), "{label}");
        }
        assert_eq!(of("turbo"), None);
        assert_eq!(split("llama 8B Q4_K - Medium"), ("llama 8B", "Q4_K - Medium"));
        assert_eq!(split("llama 8B"), ("llama 8B", ""));
    }

    #[test]
    fn quantized_weights_run_on_the_fastest_units_that_multiply_them() {
        assert_eq!(peak(&RTX_4090, Numbers::Whole), RTX_4090.int8);
        assert_eq!(peak(&RTX_4090, Numbers::Half), RTX_4090.fp16_fast);
        assert_eq!(peak(&APPLE_M2_ULTRA, Numbers::Whole), APPLE_M2_ULTRA.fp32);
        assert_eq!(peak(&DGX_SPARK_GB10, Numbers::Half), None);
        assert_eq!(peak(&DGX_SPARK_GB10, Numbers::Fp4), DGX_SPARK_GB10.fp4);
        assert_eq!(fastest(&DGX_SPARK_GB10), DGX_SPARK_GB10.fp4);
    }
}
