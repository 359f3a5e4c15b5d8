//! Published names of weight formats: minimum bits per weight and element type.

use crate::predict::{Numbers, Precision, Units, bits_per_weight};
use roofline_formulas::hardware::devices::Device;
use roofline_formulas::quantization::formats;

/// Formats that are not ggml types, with their minimum bits per weight.
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
    // Files do not store Q8_K; such labels are mixes based on Q8_0.
    ("Q8_K", 8.5, Numbers::Bytes),
    // Mixes based on IQ2_S and IQ3_S.
    ("IQ2_M", 2.5625, Numbers::Narrow),
    ("IQ3_M", 3.4375, Numbers::Narrow),
    ("IQ3_KT", 3.125, Numbers::Narrow),
    ("IQ3_K", 3.4375, Numbers::Narrow),
];

/// Returns the minimum bits per weight and the element type. A label such as `Q4_K_M` is a quantization mix and contains the name of
/// its smallest type.
pub(super) fn parse(label: &str) -> Option<(f64, Numbers)> {
    let label = label.trim().to_ascii_uppercase();
    let name = ["UD-", "SMOL-"].iter().find_map(|before| label.strip_prefix(before)).unwrap_or(&label);
    // `EXL2 4.0bpw` contains the bits per weight.
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

/// Splits a name such as `llama 8B Q4_K - Medium` into model and format.
pub(super) fn split(name: &str) -> (&str, &str) {
    let starts = name.match_indices(' ').map(|(at, _)| at + 1);
    let format =
        starts.into_iter().find(|at| parse(name[*at..].split(' ').next().unwrap_or_default()).is_some());
    format.map_or((name, ""), |at| (name[..at].trim_end(), &name[at..]))
}

/// Returns the highest published peak of the units that multiply this element type exactly, in GFLOP/s.
pub(super) fn peak(device: &Device, numbers: Numbers) -> Option<f64> {
    Units::from_device(device).rate(numbers).gflop_s
}

/// Returns the highest published peak of all units, in GFLOP/s, which replaces an unpublished peak as the reference of shares.
pub(super) fn fastest(device: &Device) -> Option<f64> {
    Precision::with_peak(device).filter_map(|unit| unit.peak(device)).chain(device.fp16_fast).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use roofline_formulas::hardware::devices::{APPLE_M2_ULTRA, DGX_SPARK_GB10, RTX_4090};

    #[test]
    fn labels_denote_the_smallest_type_of_their_mix() {
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
            assert_eq!(parse(label), Some((bits, numbers)), "{label}");
        }
        assert_eq!(parse("turbo"), None);
        assert_eq!(split("llama 8B Q4_K - Medium"), ("llama 8B", "Q4_K - Medium"));
        assert_eq!(split("llama 8B"), ("llama 8B", ""));
    }

    #[test]
    fn the_peak_is_of_the_fastest_suitable_units() {
        assert_eq!(peak(&RTX_4090, Numbers::Narrow), RTX_4090.int8);
        assert_eq!(peak(&RTX_4090, Numbers::Half), RTX_4090.fp16_fast);
        assert_eq!(peak(&APPLE_M2_ULTRA, Numbers::Narrow), APPLE_M2_ULTRA.fp32);
        assert_eq!(peak(&DGX_SPARK_GB10, Numbers::Half), None);
        assert_eq!(peak(&DGX_SPARK_GB10, Numbers::Fp4), DGX_SPARK_GB10.fp4);
        assert_eq!(fastest(&DGX_SPARK_GB10), DGX_SPARK_GB10.fp4);
    }
}
