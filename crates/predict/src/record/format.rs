//! What the name of a format says: how many bits a weight takes at least, and which units multiply it.

use crate::predict::{Numbers, Precision, Units, bits_per_weight};
use roofline_formulas::hardware::devices::Device;
use roofline_formulas::quantization::formats;

/// Formats that are no ggml types, with their least bits.
const OTHERS: [(&str, f64, Numbers); 17] = [
    ("FP32", 32.0, Numbers::Single),
    ("FP16", 16.0, Numbers::Half),
    ("FP8", 8.0, Numbers::Fp8),
    ("FP4", 4.0, Numbers::Fp4),
    ("INT8", 8.0, Numbers::Bytes),
    ("W8", 8.0, Numbers::Bytes),
    ("INT4", 4.0, Numbers::Narrow),
    ("W4", 4.0, Numbers::Narrow),
    ("4-BIT", 4.0, Numbers::Narrow),
    ("GPTQ", 4.0, Numbers::Narrow),
    ("AWQ", 4.0, Numbers::Narrow),
    ("W2", 2.0, Numbers::Narrow),
    // No file stores Q8_K: labels with it are recipes around Q8_0.
    ("Q8_K", 8.5, Numbers::Bytes),
    // Recipes around IQ2_S and IQ3_S.
    ("IQ2_M", 2.5625, Numbers::Narrow),
    ("IQ3_M", 3.4375, Numbers::Narrow),
    ("IQ3_KT", 3.125, Numbers::Narrow),
    ("IQ3_K", 3.4375, Numbers::Narrow),
];

/// The least bits of a weight and the kind of its numbers; none for a name that is not known. A label such as `Q4_K_M`
/// is a recipe of several types, of which it names the smallest.
pub(super) fn of(label: &str) -> Option<(f64, Numbers)> {
    let label = label.trim().to_ascii_uppercase();
    let name = ["UD-", "SMOL-"].iter().find_map(|before| label.strip_prefix(before)).unwrap_or(&label);
    // `EXL2 4.0bpw` says it outright.
    if name.starts_with("EXL") {
        let bits = name.split_whitespace().find_map(|word| word.strip_suffix("BPW")?.parse::<f64>().ok())?;
        return (1.0..=16.0).contains(&bits).then_some((bits, Numbers::Narrow));
    }
    if let Some(&(_, bits, numbers)) = OTHERS.iter().find(|(other, ..)| name.starts_with(other)) {
        return Some((bits, numbers));
    }
    let types = formats::ALL.iter().filter(|format| name.starts_with(&format.name.to_ascii_uppercase()));
    let format = types.max_by_key(|format| format.name.len())?;
    Some((bits_per_weight(format).ok()?, format.numbers))
}

/// A name such as `llama 8B Q4_K - Medium` in two: the model, and the format from its first word on.
pub(super) fn split(name: &str) -> (&str, &str) {
    let starts = name.match_indices(' ').map(|(at, _)| at + 1);
    let format =
        starts.into_iter().find(|at| of(name[*at..].split(' ').next().unwrap_or_default()).is_some());
    format.map_or((name, ""), |at| (name[..at].trim_end(), &name[at..]))
}

/// The fastest peak among the units that multiply these numbers exactly, in GFLOP/s; none where nobody publishes it.
pub(super) fn peak(device: &Device, numbers: Numbers) -> Option<f64> {
    Units::of(device).rate(numbers).gflop_s
}

/// The fastest published peak of any units, in GFLOP/s: what an expectation is a share of where the right one is not
/// published.
pub(super) fn fastest(device: &Device) -> Option<f64> {
    Precision::of(device).filter_map(|unit| unit.peak(device)).chain(device.fp16_fast).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use roofline_formulas::hardware::devices::{APPLE_M2_ULTRA, DGX_SPARK_GB10, RTX_4090};

    #[test]
    fn a_label_says_the_smallest_type_of_its_recipe() {
        for (label, bits, numbers) in [
            ("Q4_K_M", 4.5, Numbers::Narrow),
            ("UD-Q8_K_XL", 8.5, Numbers::Bytes),
            ("IQ4_XS - 4.25 bpw", 4.25, Numbers::Narrow),
            ("bf16", 16.0, Numbers::Half),
            ("MXFP4", 4.25, Numbers::Fp4),
            ("EXL2 2.5bpw", 2.5, Numbers::Narrow),
            ("int4-g32", 4.0, Numbers::Narrow),
            ("smol-IQ3_K", 3.4375, Numbers::Narrow),
        ] {
            assert_eq!(of(label), Some((bits, numbers)), "{label}");
        }
        assert_eq!(of("turbo"), None);
        assert_eq!(split("llama 8B Q4_K - Medium"), ("llama 8B", "Q4_K - Medium"));
        assert_eq!(split("llama 8B"), ("llama 8B", ""));
    }

    #[test]
    fn quantized_weights_run_on_the_fastest_units_that_multiply_them() {
        assert_eq!(peak(&RTX_4090, Numbers::Narrow), RTX_4090.int8);
        assert_eq!(peak(&RTX_4090, Numbers::Half), RTX_4090.fp16_fast);
        assert_eq!(peak(&APPLE_M2_ULTRA, Numbers::Narrow), APPLE_M2_ULTRA.fp32);
        assert_eq!(peak(&DGX_SPARK_GB10, Numbers::Half), None);
        assert_eq!(peak(&DGX_SPARK_GB10, Numbers::Fp4), DGX_SPARK_GB10.fp4);
        assert_eq!(fastest(&DGX_SPARK_GB10), DGX_SPARK_GB10.fp4);
    }
}
