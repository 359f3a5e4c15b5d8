//! Inline devices: `bandwidth=256GB/s,compute=59TFLOP/s,memory=128GB,int8=118e3`.

use super::DeviceError;
use roofline_formulas::hardware::devices::{Architecture, Device, Kind, Market, Vendor};
use roofline_render::written::in_unit;

/// Key, unit and field of an attribute.
type Figure = (&'static str, &'static str, fn(&mut Device) -> &mut Option<f64>);

const FIGURES: [Figure; 17] = [
    ("compute", "Gflop/s", |device| &mut device.compute),
    ("memory", "GB", |device| &mut device.capacity),
    ("capacity", "GB", |device| &mut device.capacity),
    ("tdp", "W", |device| &mut device.tdp),
    ("power", "W", |device| &mut device.tdp),
    ("overhead", "us", |device| &mut device.overhead),
    ("price", "1", |device| &mut device.launch_price_usd),
    ("link", "GB/s", |device| &mut device.interconnect_bandwidth),
    ("fp32", "Gflop/s", |device| &mut device.fp32),
    ("tf32", "Gflop/s", |device| &mut device.tf32),
    ("fp16", "Gflop/s", |device| &mut device.fp16),
    ("bf16", "Gflop/s", |device| &mut device.bf16),
    ("fp8", "Gflop/s", |device| &mut device.fp8),
    ("fp4", "Gflop/s", |device| &mut device.fp4),
    ("int8", "Gflop/s", |device| &mut device.int8),
    ("int4", "Gflop/s", |device| &mut device.int4),
    ("cores", "core", |device| &mut device.cores),
];

/// Device without any known attribute.
pub(super) const BLANK: Device = Device {
    name: "given",
    doc: "",
    vendor: Vendor::Other,
    kind: Kind::Other,
    market: Market::Other,
    architecture: Architecture::Other,
    aliases: None,
    launch_year: None,
    launch_price_usd: None,
    fp32: None,
    tf32: None,
    fp16: None,
    fp16_fast: None,
    fp16_sparse: None,
    bf16: None,
    fp8: None,
    fp4: None,
    int8: None,
    int4: None,
    compute: None,
    bandwidth: 0.0,
    bus_width: None,
    data_rate: None,
    capacity: None,
    interconnect: None,
    interconnect_bandwidth: None,
    tdp: None,
    overhead: None,
    cores: None,
    base_clock: None,
    boost_clock: None,
    fp32_per_cycle: None,
    derived: None,
    source: "command line",
    as_of: "today",
};

/// Parses an inline device. `compute` is the 16-bit peak unless a precision is given.
pub fn parse(text: &str) -> Result<&'static Device, DeviceError> {
    let error = |why: String| DeviceError(format!("{text}: {why}"));
    let mut device = Device { doc: text.to_owned().leak(), ..BLANK };
    let mut bandwidth = None;
    for part in text.split(',') {
        let (key, value) = part
            .split_once('=')
            .ok_or_else(|| error(format!("invalid attribute `{part}`; expected NAME=FIGURE")))?;
        let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
        if key == "name" && !value.is_empty() {
            device.name = value.to_owned().leak();
            continue;
        }
        let place = match key.as_str() {
            "bandwidth" => ("GB/s", &mut bandwidth),
            key => FIGURES
                .iter()
                .find(|(name, ..)| *name == key)
                .map(|(_, unit, place)| (*unit, place(&mut device)))
                .ok_or_else(|| {
                    let known: Vec<&str> = FIGURES.iter().map(|(name, ..)| *name).collect();
                    error(format!(
                        "unknown device attribute `{key}`; expected one of bandwidth, {}, name",
                        known.join(", ")
                    ))
                })?,
        };
        let figure = in_unit(value, place.0).map_err(|why| error(format!("{key}: {why}")))?;
        let min = if key == "overhead" { 0.0 } else { f64::MIN_POSITIVE };
        if figure < min {
            return Err(error(format!("invalid {key} {figure}; expected a positive number")));
        }
        if place.1.replace(figure).is_some() {
            return Err(error(format!("duplicate attribute `{key}`")));
        }
    }
    device.bandwidth =
        bandwidth.ok_or_else(|| error("missing bandwidth; expected for example bandwidth=256GB/s".into()))?;
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

type Read = fn(&Device) -> Option<f64>;

/// Numeric attributes of the registry: name, unit and accessor.
const NUMBERS: [(&str, &str, Read); 24] = [
    ("launch_year", "1", |device| device.launch_year),
    ("launch_price_usd", "1", |device| device.launch_price_usd),
    ("fp32", "Gflop/s", |device| device.fp32),
    ("tf32", "Gflop/s", |device| device.tf32),
    ("fp16", "Gflop/s", |device| device.fp16),
    ("fp16_fast", "Gflop/s", |device| device.fp16_fast),
    ("fp16_sparse", "Gflop/s", |device| device.fp16_sparse),
    ("bf16", "Gflop/s", |device| device.bf16),
    ("fp8", "Gflop/s", |device| device.fp8),
    ("fp4", "Gflop/s", |device| device.fp4),
    ("int8", "Gflop/s", |device| device.int8),
    ("int4", "Gflop/s", |device| device.int4),
    ("compute", "Gflop/s", |device| device.compute),
    ("bandwidth", "GB/s", |device| Some(device.bandwidth)),
    ("bus_width", "bit", |device| device.bus_width),
    ("data_rate", "GHz", |device| device.data_rate),
    ("capacity", "GB", |device| device.capacity),
    ("interconnect_bandwidth", "GB/s", |device| device.interconnect_bandwidth),
    ("tdp", "W", |device| device.tdp),
    ("overhead", "us", |device| device.overhead),
    ("cores", "core", |device| device.cores),
    ("base_clock", "Gcycle/s", |device| device.base_clock),
    ("boost_clock", "Gcycle/s", |device| device.boost_clock),
    ("fp32_per_cycle", "flop/cycle/core", |device| device.fp32_per_cycle),
];

/// Returns the name and unit of each numeric attribute.
pub fn numbers() -> impl Iterator<Item = (&'static str, &'static str)> {
    NUMBERS.iter().map(|(name, unit, _)| (*name, *unit))
}

/// Returns the known numeric attributes of a device, in the registry's units.
pub fn of(device: &Device) -> impl Iterator<Item = (&'static str, f64)> {
    NUMBERS.iter().filter_map(|(name, _, of)| Some((*name, of(device)?)))
}

/// Returns the known text attributes of a device.
pub fn texts_of(device: &Device) -> impl Iterator<Item = (&'static str, &'static str)> {
    let texts = [
        ("name", Some(device.name)),
        ("vendor", Some(device.vendor.name())),
        ("kind", Some(device.kind.name())),
        ("market", Some(device.market.name())),
        ("architecture", Some(device.architecture.name())),
        ("aliases", device.aliases),
        ("interconnect", device.interconnect.map(|link| link.name())),
        ("derived", device.derived),
        ("source", Some(device.source)),
        ("as_of", Some(device.as_of)),
    ];
    texts.into_iter().filter_map(|(name, text)| Some((name, text?)))
}

/// Names of the text attributes.
pub const TEXTS: [&str; 10] = [
    "name",
    "vendor",
    "kind",
    "market",
    "architecture",
    "aliases",
    "interconnect",
    "derived",
    "source",
    "as_of",
];

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
            ("bandwidth=nan", "is not a number"),
            ("bandwidth=5,bandwidth=6", "duplicate attribute `bandwidth`"),
            ("bandwidth=5,memory=6,capacity=6", "duplicate attribute `capacity`"),
            ("bandwidth=5 W", "is in W, not in GB/s"),
            ("bandwidth=5,fast", "expected NAME=FIGURE"),
            ("bandwidth=5,compute=9,fp16=8", "compute is 9, but"),
        ] {
            let DeviceError(message) = parse(text).unwrap_err();
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}
