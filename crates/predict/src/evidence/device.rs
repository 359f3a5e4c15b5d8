//! Resolves published device names to the registry.

use roofline_formulas::hardware::devices::{ALL, Device, by_name};

/// Published names that are not in the registry, with the device that bounds them: the full chip for a part of it, the largest
/// processor for others of its socket.
const ALIASES: [(&str, &str); 12] = [
    ("a100_80gb_330_w", "a100_sxm_80gb"),
    ("apple_m1_pro_16c", "apple_m1_pro"),
    ("apple_m1_ultra_64c", "apple_m1_ultra"),
    ("apple_m2_ultra_76c", "apple_m2_ultra"),
    ("apple_m3_max_40c", "apple_m3_max"),
    ("apple_m3_ultra_60c", "apple_m3_ultra_80c"),
    ("arc_a770", "arc_a770_16gb"),
    ("m2_max", "apple_m2_max_38c"),
    ("mi250x_1_gcd", "mi250x"),
    ("ryzen_7950x", "ryzen_9_7950x_ddr5_5600"),
    ("threadripper_pro_7965wx", "threadripper_pro_7995wx"),
    ("xeon_6980p_one_socket", "xeon_6980p_mrdimm_8800"),
];

/// Words that do not distinguish devices.
const IGNORED: [&str; 9] = ["nvidia", "geforce", "amd", "intel", "gpu", "cpu", "igpu", "tm", "graphics"];

/// Prefixes that some sources omit.
const VENDOR_PREFIXES: [&str; 4] = ["", "radeon_", "tesla_", "apple_"];

/// Normalizes a name to lower-case words joined by `_`.
pub(super) fn words(name: &str) -> String {
    let words: String =
        name.chars().map(|c| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { ' ' }).collect();
    words.split_whitespace().collect::<Vec<_>>().join("_")
}

/// Looks up a device by its published name; `None` if it is not in the registry.
pub fn find(name: &str) -> Option<&'static Device> {
    let all = words(name);
    let significant: Vec<&str> = all.split('_').filter(|word| !IGNORED.contains(word)).collect();
    // Also try without a memory size, which the registry may not distinguish.
    let shorter = match significant.split_last() {
        Some((last, rest)) if last.strip_suffix("gb").is_some_and(|size| size.parse::<u32>().is_ok()) => rest,
        _ => &significant,
    };
    [significant.as_slice(), shorter].into_iter().find_map(|words| find_normalized(&words.join("_")))
}

fn find_normalized(name: &str) -> Option<&'static Device> {
    if name.is_empty() {
        return None;
    }
    let published = ALIASES.iter().find(|(known, _)| *known == name).and_then(|(_, device)| by_name(device));
    let prefixed = || VENDOR_PREFIXES.iter().find_map(|before| by_name(&format!("{before}{name}")));
    let aliased = || {
        ALL.iter().find(|device| {
            device.aliases.is_some_and(|aliases| aliases.split(',').any(|alias| words(alias) == name))
        })
    };
    published.or_else(prefixed).or_else(aliased)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_names_resolve_to_devices() {
        for (name, device) in [
            ("DGX Spark (GB10)", Some("dgx_spark_gb10")),
            ("NVIDIA GeForce RTX 4090", Some("rtx_4090")),
            ("RTX 3070 8GB", Some("rtx_3070")),
            ("RTX 3080 10GB", Some("rtx_3080_10gb")),
            ("Apple M2 Ultra 76c GPU", Some("apple_m2_ultra")),
            ("P40", Some("tesla_p40")),
            ("Strix Halo (Ryzen AI Max+ 395, iGPU)", Some("strix_halo_ryzen_ai_max_395")),
            ("Tesla K80 (one GPU)", None),
            ("GPU", None),
        ] {
            assert_eq!(find(name).map(|device| device.name), device, "{name}");
        }
        for (_, device) in ALIASES {
            assert!(by_name(device).is_some(), "{device}");
        }
    }
}
