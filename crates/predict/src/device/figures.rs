//! Inline devices: `bandwidth=256GB/s,compute=59TFLOP/s,memory=128GB,int8=118e3`.

use super::DeviceError;
use roofline_formulas::hardware::devices::{Architecture, Device, Kind, Market, Vendor};
use roofline_render::parse::in_unit;

/// Short names of attributes, in addition to those of the registry.
const ALIASES: [(&str, &str); 4] = [
    ("memory", "capacity"),
    ("power", "tdp"),
    ("price", "launch_price_usd"),
    ("link", "interconnect_bandwidth"),
];

/// A device without figures.
pub(super) const BLANK: Device = Device {
    source: "command line",
    as_of: "today",
    ..Device::new("given", Vendor::Other, Kind::Other, Market::Other, Architecture::Other, 0.0)
};

/// Parses an inline device. `compute` is the 16-bit peak unless a precision is given.
pub fn parse(text: &str) -> Result<&'static Device, DeviceError> {
    let error = |why: String| DeviceError(format!("{text}: {why}"));
    let mut device = Device { doc: text.to_owned().leak(), ..BLANK };
    for part in text.split(',') {
        let (key, value) = part
            .split_once('=')
            .ok_or_else(|| error(format!("invalid attribute `{part}`; expected NAME=FIGURE")))?;
        let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
        if key == "name" && !value.is_empty() {
            device.name = value.to_owned().leak();
            continue;
        }
        let name = ALIASES.iter().find(|(alias, _)| *alias == key).map_or(key.as_str(), |(_, name)| *name);
        let Some((name, unit)) = Device::NUMBERS.iter().copied().find(|(known, _)| *known == name) else {
            let numbers = Device::NUMBERS.iter().map(|(name, _)| *name);
            let known: Vec<&str> = ALIASES.iter().map(|(alias, _)| *alias).chain(numbers).collect();
            return Err(error(format!(
                "unknown device attribute `{key}`; expected one of name, {}",
                known.join(", ")
            )));
        };
        let figure = in_unit(value, unit).map_err(|why| error(format!("{key}: {why}")))?;
        let min = if name == "overhead" { 0.0 } else { f64::MIN_POSITIVE };
        if figure < min {
            return Err(error(format!("invalid {key} {figure}; expected a positive number")));
        }
        if device.number(name).is_some_and(|known| known != 0.0 || name != "bandwidth") {
            return Err(error(format!("duplicate attribute `{key}`")));
        }
        device.set_number(name, figure);
    }
    if device.bandwidth == 0.0 {
        return Err(error("missing bandwidth; expected for example bandwidth=256GB/s".into()));
    }
    let general = device.fp16.or(device.bf16).or(device.fp32);
    match (device.compute, general) {
        (Some(compute), None) => device.fp16 = Some(compute),
        (Some(compute), Some(general)) if compute != general => {
            return Err(error(format!(
                "compute is {compute}, but the 16-bit or FP32 peak is {general}; pass only one"
            )));
        }
        (compute, _) => device.compute = compute.or(general),
    }
    // Static like the registry's devices, so that all share one type. Commands parse only a few.
    Ok(Box::leak(Box::new(device)))
}

/// Returns the known numeric attributes of a device, in the registry's units.
pub fn numbers_of(device: &Device) -> impl Iterator<Item = (&'static str, f64)> {
    Device::NUMBERS.iter().filter_map(|(name, _)| Some((*name, device.number(name)?)))
}

/// Returns the known text attributes of a device.
pub fn texts_of(device: &Device) -> impl Iterator<Item = (&'static str, &'static str)> {
    Device::TEXTS.iter().filter_map(|name| Some((*name, device.text(name)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_may_have_units() {
        let device = parse("bandwidth=256GB/s,compute=59 TFLOPS,memory=128GB,int8=118e3,tdp=120W").unwrap();
        assert_eq!((device.bandwidth, device.compute, device.fp16), (256.0, Some(59_000.0), Some(59_000.0)));
        assert_eq!((device.capacity, device.int8, device.tdp), (Some(128.0), Some(118_000.0), Some(120.0)));
        let device = parse("name=my box, bandwidth=50, fp32=100").unwrap();
        assert_eq!((device.name, device.compute, device.fp16), ("my box", Some(100.0), None));
    }

    #[test]
    fn invalid_attributes_are_rejected() {
        for (text, expected) in [
            ("bandwidth=0", "expected a positive number"),
            ("bandwidth=-5", "expected a positive number"),
            ("bandwidth=nan", "invalid number `nan`"),
            ("bandwidth=5,bandwidth=6", "duplicate attribute `bandwidth`"),
            ("bandwidth=5,memory=6,capacity=6", "duplicate attribute `capacity`"),
            ("bandwidth=5 W", "invalid unit `W` in `5 W`; expected GB/s"),
            ("bandwidth=5,fast", "expected NAME=FIGURE"),
            ("bandwidth=5,compute=9,fp16=8", "compute is 9, but"),
        ] {
            let DeviceError(message) = parse(text).unwrap_err();
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}
