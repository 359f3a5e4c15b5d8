//! Names of devices as people write them: `rtx-4090`, `rtx4090`, `RTX 4090`, `GeForce RTX 4090` and `4090` are one.

use roofline_contracts::suggest;

use super::DeviceError;
use roofline_formulas::hardware::devices::Device;

/// More than anyone reads.
const LISTED: usize = 12;

/// Words that a name has in advertising, and not in the registry.
const BRANDS: [&str; 8] = ["nvidia", "geforce", "amd", "radeon", "intel", "apple", "google", "qualcomm"];

/// The runs of letters and of digits: `rtx_4090ti` is `rtx`, `4090`, `ti`.
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

/// Every name of a device.
fn names(device: &Device) -> impl Iterator<Item = &'static str> {
    let aliases = device.aliases.into_iter().flat_map(|names| names.split(',').map(str::trim));
    std::iter::once(device.name).chain(aliases)
}

/// How well a name answers to what was asked for; lower is better.
fn answer(name: &[String], wanted: &[String]) -> Option<usize> {
    let mut rest = name.iter();
    let ways = [
        name == wanted,
        name.ends_with(wanted),
        name.windows(wanted.len()).any(|part| part == wanted),
        wanted.iter().all(|word| rest.any(|other| other == word)),
    ];
    ways.iter().position(|way| *way)
}

/// The devices that answer best, and how well.
fn best(devices: &[&'static Device], wanted: &[String]) -> (usize, Vec<&'static Device>) {
    let mut found: (usize, Vec<&'static Device>) = (usize::MAX, Vec::new());
    if wanted.is_empty() {
        return found;
    }
    for device in devices {
        let Some(way) = names(device).filter_map(|name| answer(&words(name), wanted)).min() else { continue };
        if way < found.0 {
            found = (way, Vec::new());
        }
        if way == found.0 {
            found.1.push(device);
        }
    }
    found
}

/// The device of this name.
pub fn find(devices: &[&'static Device], name: &str) -> Result<&'static Device, DeviceError> {
    let wanted = words(name);
    let (mut way, mut found) = best(devices, &wanted);
    if found.is_empty() {
        let plain: Vec<String> =
            wanted.iter().filter(|word| !BRANDS.contains(&word.as_str())).cloned().collect();
        (way, found) = best(devices, &plain);
    }
    // One that is called exactly so by its own name wins over one that has it as an alias.
    if way == 0
        && let Some(own) = found.iter().find(|device| words(device.name) == wanted)
    {
        return Ok(own);
    }
    match found.as_slice() {
        [] => {
            let known = devices.iter().map(|device| device.name);
            let near = suggest::closest(&wanted.join("_"), known);
            let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
            Err(DeviceError(format!("{name}: no such device; {near}`roofline devices` lists them")))
        }
        [one] => Ok(one),
        several => {
            let mut listed: Vec<&str> = several.iter().take(LISTED).map(|device| device.name).collect();
            if several.len() > LISTED {
                listed.push("…");
            }
            let count = several.len();
            Err(DeviceError(format!(
                "{name}: {count} devices are called so; name one of {}",
                listed.join(", ")
            )))
        }
    }
}

/// Those with the text somewhere; the one that is called exactly so, alone.
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

/// The 2 and the `rtx-3090` of `2x rtx-3090`, which may be written without the space; what may be a file needs it.
pub fn several(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let name = rest.trim_start().strip_prefix(['x', 'X', '×', '*'])?;
    let apart = name.starts_with(char::is_whitespace) || rest.starts_with(char::is_whitespace);
    // A number with too many digits is one of too many devices.
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
    fn one_device_has_many_spellings() {
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
    fn every_device_is_found_by_its_name_and_by_each_alias() {
        for device in ALL {
            assert_eq!(found(device.name), device.name);
            for alias in names(device) {
                // Two sizes of memory may share one.
                match find(&all(), alias) {
                    Ok(one) => assert_eq!(one.name, device.name, "{alias}"),
                    Err(DeviceError(several)) => assert!(several.contains(device.name), "{several}"),
                }
            }
        }
    }

    #[test]
    fn a_number_before_a_device_is_one_of_several() {
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
            "Tesla V100 PCIe: 2 devices are called so; name one of v100_pcie_16gb, v100_pcie_32gb"
        );
        let DeviceError(message) = find(&all(), "rtx-5099").unwrap_err();
        assert!(message.contains("did you mean `rtx_509"), "{message}");
    }
}
