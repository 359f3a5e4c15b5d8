//! Device names in their usual spellings: `rtx-4090`, `rtx4090`, `RTX 4090`, `GeForce RTX 4090` and `4090`.

use roofline_contracts::suggest;

use super::DeviceError;
use roofline_formulas::hardware::devices::Device;

/// Maximum number of candidates in a message.
const MAX_CANDIDATES: usize = 12;

/// Brand names that the registry omits.
const BRANDS: [&str; 8] = ["nvidia", "geforce", "amd", "radeon", "intel", "apple", "google", "qualcomm"];

/// Returns the usual spelling of a device's name in the registry: `rtx_4090` is `rtx-4090`.
pub fn display_name(name: &str) -> String {
    name.replace('_', "-")
}

/// Splits a name into runs of letters and digits: `rtx_4090ti` is `rtx`, `4090`, `ti`.
fn words(name: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut before = None;
    for character in name.chars() {
        let kind = character.is_alphanumeric().then(|| character.is_numeric());
        if let Some(digit) = kind {
            let character = character.to_lowercase();
            match found.last_mut() {
                Some(last) if before == Some(digit) => last.extend(character),
                _ => found.push(character.collect()),
            }
        }
        before = kind;
    }
    found
}

/// Returns the name and aliases of a device.
fn names(device: &Device) -> impl Iterator<Item = &'static str> {
    let aliases = device.aliases.into_iter().flat_map(|names| names.split(',').map(str::trim));
    std::iter::once(device.name).chain(aliases)
}

/// Returns the rank of a match, 0 for an exact one; `None` if the name does not match.
fn rank(name: &[String], wanted: &[String]) -> Option<usize> {
    let mut rest = name.iter();
    let ranks = [
        name == wanted,
        name.ends_with(wanted),
        name.windows(wanted.len()).any(|part| part == wanted),
        wanted.iter().all(|word| rest.any(|other| other == word)),
    ];
    ranks.iter().position(|matches| *matches)
}

/// Returns the best rank and the devices that have it.
fn best(devices: &[&'static Device], wanted: &[String]) -> (usize, Vec<&'static Device>) {
    let mut found: (usize, Vec<&'static Device>) = (usize::MAX, Vec::new());
    if wanted.is_empty() {
        return found;
    }
    for device in devices {
        let Some(rank) = names(device).filter_map(|name| rank(&words(name), wanted)).min() else { continue };
        if rank < found.0 {
            found = (rank, Vec::new());
        }
        if rank == found.0 {
            found.1.push(device);
        }
    }
    found
}

/// Finds a device by name; see [`Catalog::find`](super::Catalog::find).
pub fn find(devices: &[&'static Device], name: &str) -> Result<&'static Device, DeviceError> {
    let wanted = words(name);
    let (mut rank, mut found) = best(devices, &wanted);
    if found.is_empty() {
        let plain: Vec<String> =
            wanted.iter().filter(|word| !BRANDS.contains(&word.as_str())).cloned().collect();
        (rank, found) = best(devices, &plain);
    }
    // An exact name takes precedence over an exact alias.
    if rank == 0
        && let Some(own) = found.iter().find(|device| words(device.name) == wanted)
    {
        return Ok(own);
    }
    match found.as_slice() {
        [] => {
            let known = devices.iter().map(|device| device.name);
            let near = suggest::closest(&wanted.join("_"), known).map(display_name);
            let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
            Err(DeviceError(format!("{name}: unknown device; {near}see `roofline devices`")))
        }
        [one] => Ok(one),
        several => {
            let mut listed: Vec<String> =
                several.iter().take(MAX_CANDIDATES).map(|device| display_name(device.name)).collect();
            if several.len() > MAX_CANDIDATES {
                listed.push("…".into());
            }
            let count = several.len();
            Err(DeviceError(format!(
                "`{name}` is ambiguous; it matches {count} devices: {}",
                listed.join(", ")
            )))
        }
    }
}

/// Returns the devices that contain `text` in a name, vendor, kind, market or architecture; only exact matches if there
/// are any.
pub fn matching(devices: &[&'static Device], text: &str) -> Vec<&'static Device> {
    let wanted = words(text);
    if let (0, found) = best(devices, &wanted) {
        return found;
    }
    let wanted = wanted.concat();
    let has = |device: &&&'static Device| {
        let kinds =
            [device.vendor.name(), device.kind.name(), device.market.name(), device.architecture.name()];
        names(device).chain(kinds).any(|name| words(name).concat().contains(&wanted))
    };
    devices.iter().filter(has).copied().collect()
}

/// Splits `2x rtx-3090` into 2 and `rtx-3090`. The space is optional unless the name looks like a file.
pub fn several(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let name = rest.trim_start().strip_prefix(['x', 'X', '×', '*'])?;
    let apart = name.starts_with(char::is_whitespace) || rest.starts_with(char::is_whitespace);
    // A number that overflows exceeds the maximum number of devices anyway.
    let count = || text[..text.len() - rest.len()].parse().unwrap_or(u64::MAX);
    let device = !name.trim().is_empty() && (apart || !name.contains(['.', '/']));
    (rest.len() < text.len() && device).then(|| (count(), name.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use roofline_formulas::hardware::devices::ALL;

    fn all() -> Vec<&'static Device> {
        ALL.iter().collect()
    }

    fn found(name: &str) -> &'static str {
        find(&all(), name).unwrap_or_else(|error| panic!("{error}")).name
    }

    #[test]
    fn a_device_has_many_spellings() {
        for name in
            ["rtx_4090", "rtx-4090", "rtx4090", "RTX 4090", "4090", "GeForce RTX 4090", "NVIDIA RTX4090"]
        {
            assert_eq!(found(name), "rtx_4090", "{name}");
        }
        for (name, expected) in [
            ("m4max 40", "apple_m4_max_40c"),
            ("Apple M1", "apple_m1"),
            ("a100", "a100_sxm_80gb"),
            ("Strix Halo", "strix_halo_ryzen_ai_max_395"),
            ("RX 7900 XTX", "rx_7900_xtx"),
            ("7900xtx", "rx_7900_xtx"),
            ("raspberry pi 5", "raspberry_pi_5"),
            ("DGX Spark", "dgx_spark_gb10"),
            ("h100 sxm", "h100_sxm"),
        ] {
            assert_eq!(found(name), expected, "{name}");
        }
    }

    #[test]
    fn devices_are_found_by_name_and_alias() {
        for device in ALL {
            assert_eq!(found(device.name), device.name);
            for alias in names(device) {
                // Variants with different memory sizes may share an alias.
                match find(&all(), alias) {
                    Ok(one) => assert_eq!(one.name, device.name, "{alias}"),
                    Err(DeviceError(several)) => {
                        assert!(several.contains(&display_name(device.name)), "{several}")
                    }
                }
            }
        }
    }

    #[test]
    fn a_number_before_a_device_is_a_count() {
        for text in ["2x rtx-3090", "2xrtx-3090", "2 x rtx-3090", " 2*rtx-3090 ", "2× rtx-3090"] {
            assert_eq!(several(text), Some((2, "rtx-3090")), "{text}");
        }
        assert_eq!(several("8x3090"), Some((8, "3090")));
        for text in ["rtx-3090", "x1", "2x", "2x ", "4090", "2xfast.json", "7950x"] {
            assert_eq!(several(text), None, "{text}");
        }
    }

    #[test]
    fn an_ambiguous_name_lists_the_choices() {
        let DeviceError(message) = find(&all(), "Tesla V100 PCIe").unwrap_err();
        assert_eq!(
            message,
            "`Tesla V100 PCIe` is ambiguous; it matches 2 devices: v100-pcie-16gb, v100-pcie-32gb"
        );
        let DeviceError(message) = find(&all(), "rtx-5099").unwrap_err();
        assert!(message.contains("did you mean `rtx-509"), "{message}");
    }
}
